/* SPDX-License-Identifier: Apache-2.0
 *
 * A check and its findings.
 */
#include "check/check.h"

#include <stdlib.h>
#include <string.h>

#include "check/prove.h"
#include "plan/stop.h"

const char *spad_verdict_name(spad_verdict verdict) {
    switch (verdict) {
    case SPAD_VERDICT_WRONG: return "wrong";
    case SPAD_VERDICT_PROVED_SHAPE: return "proved for this shape";
    case SPAD_VERDICT_PROVED_ALL: return "proved for all trip counts";
    case SPAD_VERDICT_UNKNOWN: return "unknown";
    }
    return "?";
}

/* ---- findings ---------------------------------------------------------------------- */

static spad__found *find_same(spad_check *check, spad_finding_code code, int64_t statement,
                              int64_t other) {
    for (size_t i = 0; i < check->found.count; i++) {
        spad__found *found = &check->found.items[i];
        if (found->finding.code == code && found->statement == statement && found->other == other) {
            return found;
        }
    }
    return NULL;
}

static spad_location location_of(const spad_kernel *kernel, int64_t statement) {
    if (statement < 0) return (spad_location){0};
    return spad_kernel_get_statement(kernel, (size_t)statement)->location;
}

void spad__point_finding(spad_finding *finding, spad_location location) {
    finding->line = location.line;
    finding->column = location.column;
    finding->width = location.width;
}

void spad__point_note(spad_note *note, spad_location location) {
    note->line = location.line;
    note->column = location.column;
    note->width = location.width;
}

static void fill_places(spad_finding *finding, const spad_kernel *kernel, int64_t statement,
                        int64_t other) {
    const char *file = spad_kernel_get_file(kernel);
    if (file != NULL) spad__copy_cut(finding->file, sizeof finding->file, file);
    if (finding->line == 0) {
        const spad_location location = location_of(kernel, statement);
        spad__point_finding(finding, location);
    }
    if (finding->note_count > 0 && finding->notes[0].line == 0) {
        const spad_location location = location_of(kernel, other);
        spad__point_note(&finding->notes[0], location);
    }
}

static void count_finding(spad_check_counts *counts, spad_severity severity) {
    switch (severity) {
    case SPAD_SEVERITY_ERROR: counts->errors++; break;
    case SPAD_SEVERITY_WARNING: counts->warnings++; break;
    case SPAD_SEVERITY_ADVICE: counts->advice++; break;
    }
}

bool spad__count_finding(spad__run *run, spad_finding_code code, int64_t statement, int64_t other) {
    spad__found *same = find_same(run->check, code, statement, other);
    if (same != NULL) same->finding.count++;
    return same != NULL;
}

spad_status spad__add_finding(spad__run *run, spad_finding *finding, int64_t statement,
                              int64_t other, spad_error *error) {
    spad_check *check = run->check;
    if (spad__count_finding(run, finding->code, statement, other)) return SPAD_OK;
    if (check->found.count >= run->options->finding_limit) {
        check->full = true;
        return SPAD_OK;
    }
    if (!spad__array_reserve(&check->host, &check->found, 1)) return spad__fail_host_memory(error);
    fill_places(finding, run->kernel, statement, other);
    if (finding->count == 0) finding->count = 1;
    check->found.items[check->found.count++] = (spad__found){*finding, statement, other};
    count_finding(&check->counts, finding->severity);
    return SPAD_OK;
}

spad_status spad__add_about(spad__run *run, spad_finding *finding, int64_t tensor,
                            spad_error *error) {
    const spad_kernel_tensor *row = spad_kernel_get_tensor(run->kernel, (size_t)tensor);
    spad__copy_cut(finding->subject, sizeof finding->subject, row->name);
    finding->number = tensor;
    return spad__add_finding(run, finding, (int64_t)row->statement, -1, error);
}

static int compare_numbers(int64_t a, int64_t b) {
    return (a > b) - (a < b);
}

/* Errors first, then the order of the text. */
static int compare_found(const void *left, const void *right) {
    const spad__found *a = left;
    const spad__found *b = right;
    int order = compare_numbers((int64_t)a->finding.severity, (int64_t)b->finding.severity);
    if (order == 0) order = compare_numbers(a->statement, b->statement);
    if (order == 0) order = compare_numbers((int64_t)a->finding.code, (int64_t)b->finding.code);
    if (order == 0) order = compare_numbers(a->other, b->other);
    return order;
}

void spad__sort_findings(spad_check *check) {
    if (check->found.count == 0) return;
    qsort(check->found.items, check->found.count, sizeof check->found.items[0], compare_found);
}

/* ---- time -------------------------------------------------------------------------- */

const char spad__time_is_up[] = "time was up before everything was checked";

bool spad__is_late(const spad__run *run) {
    return spad__limit_reached(run->limit);
}

/* ---- the whole check --------------------------------------------------------------- */

static spad_status fill_options(spad_check_options *options, spad_error *error) {
    if (options->event_limit < 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "event limit %lld is negative",
                          (long long)options->event_limit);
    }
    if (options->event_limit == 0) options->event_limit = SPAD_CHECK_EVENTS;
    if (options->finding_limit == 0) options->finding_limit = SPAD_CHECK_FINDINGS;
    return SPAD_OK;
}

spad_status spad_check_create(spad_check **out, const spad_kernel *kernel,
                              const spad_check_options *options, spad_error *error) {
    *out = NULL;
    spad_check_options filled = options != NULL ? *options : (spad_check_options){0};
    spad_status status = fill_options(&filled, error);
    if (status == SPAD_OK) status = spad__match_layout(kernel, filled.layout, error);
    spad__limit limit;
    if (status == SPAD_OK) {
        status = spad__limit_start(&limit, filled.timeout_ns, filled.watch, error);
    }
    if (status != SPAD_OK) return status;
    const spad_host host = spad__host_or_default(filled.host);
    filled.host = &host;
    spad_check *check = spad__new(&host, sizeof *check);
    if (check == NULL) return spad__fail_host_memory(error);
    check->host = host;
    check->origin = spad__origin_of(kernel);

    spad__run run = {.kernel = kernel, .options = &filled, .check = check, .limit = &limit};
    status = spad__check_parallel(&run, error);
    if (status == SPAD_OK) status = spad__prove(&run, error);
    if (status == SPAD_OK && !filled.no_advice) status = spad__check_advice(&run, error);
    if (status == SPAD_OK && limit.status == SPAD_ERR_CANCELLED) {
        status = spad__limit_fail(&limit, check->counts.events, "events", error);
    }
    if (status != SPAD_OK) {
        spad_check_destroy(check);
        return status;
    }
    spad__sort_findings(check);
    *out = check;
    return SPAD_OK;
}

void spad_check_destroy(spad_check *check) {
    if (check == NULL) return;
    const spad_host host = check->host;
    spad__array_free(&host, &check->found);
    spad__free(&host, check, sizeof *check);
}

spad_verdict spad_check_get_verdict(const spad_check *check) {
    return check->verdict;
}

const char *spad_check_get_reason(const spad_check *check) {
    return check->reason;
}

spad_check_counts spad_check_get_counts(const spad_check *check) {
    return check->counts;
}

size_t spad_check_finding_count(const spad_check *check) {
    return check->found.count;
}

const spad_finding *spad_check_get_finding(const spad_check *check, size_t number) {
    return number < check->found.count ? &check->found.items[number].finding : NULL;
}
