/* SPDX-License-Identifier: Apache-2.0
 *
 * Findings: added once, counted again, sorted at the end. A list, searched from its start: its
 * length is bounded by the finding limit.
 *
 * A kernel that was run without its loops has a statement for each iteration of one place in the
 * text, and a compiler makes several statements of one line. A finding about several of them is one
 * finding, seen several times.
 */
#include "finding/findings.h"
#include "kernel/kernel.h"
#include "spad/experimental/kernel_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/hash.h"
#include "kernel/kernel.h"

/* Are two statements one of the user's: different iterations of a loop that was run, the statements
 * that a compiler makes of one expression, or agents that run one line, as warps do? -1: none. */
static bool are_one_for_the_user(const spad_kernel *kernel, int64_t a, int64_t b) {
    if (a == b) return true;
    if (a < 0 || b < 0) return false;
    const spad_statement *one = spad_kernel_get_statement(kernel, (size_t)a);
    const spad_statement *other = spad_kernel_get_statement(kernel, (size_t)b);
    if (one->kind != other->kind) return false;
    if (kernel->compiled && one->source >= 0 && one->source == other->source) return true;
    return one->agent == other->agent && one->location.line > 0 &&
           one->location.line == other->location.line &&
           one->location.column == other->location.column;
}

static spad__found *find_same(const spad__run *run, spad_finding_code code, spad_severity severity,
                              int64_t statement, int64_t other) {
    for (size_t i = 0; i < run->check->found.count; i++) {
        spad__found *found = &run->check->found.items[i];
        if (found->finding.code == code && found->finding.severity == severity &&
            are_one_for_the_user(run->kernel, found->statement, statement) &&
            are_one_for_the_user(run->kernel, found->other, other)) {
            return found;
        }
    }
    return NULL;
}

static uint64_t hash_statements(int64_t statement, int64_t other) {
    return spad__hash_finish(spad__hash_add((uint64_t)statement, other));
}

static spad_location place_of(const spad_kernel *kernel, int64_t statement) {
    if (statement < 0) return (spad_location){0};
    return spad_kernel_get_statement(kernel, (size_t)statement)->location;
}

static void json_location(spad__json *json, spad_location location) {
    if (location.line == 0) return;
    spad__json_key_int(json, "line", location.line);
    if (location.column >= 0) spad__json_key_int(json, "column", location.column);
    if (location.width >= 0) spad__json_key_int(json, "width", location.width);
}

void spad__json_lines(spad__json *json, const spad_program_line *program, spad_location location) {
    if (program->line == 0) {
        json_location(json, location);
        return;
    }
    spad__json_key_string(json, "file", program->file);
    spad__json_key_int(json, "line", program->line);
    if (program->column > 0) spad__json_key_int(json, "column", program->column);
    spad__json_key(json, "from");
    spad__json_open(json, '{');
    json_location(json, location);
    spad__json_close(json, '}');
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

/* Faults of the program have statements from here on, downwards. */
enum { FIRST_FAULT = -2 };

static size_t fault_of(int64_t statement) {
    return (size_t)(FIRST_FAULT - statement);
}

/* The user's own lines. */
static void fill_sources(spad_finding *finding, const spad_kernel *kernel, int64_t statement,
                         int64_t other) {
    int64_t source = spad__kernel_find_source(kernel, finding->line);
    if (source < 0 && statement >= 0) {
        source = spad_kernel_get_statement(kernel, (size_t)statement)->source;
    }
    if (finding->code == SPAD_FINDING_EXECUTION)
        source = kernel->faults.items[fault_of(statement)].source;
    spad__source_text(kernel, source, finding->place, sizeof finding->place);
    spad__program_line(kernel, source, &finding->program);
    for (size_t i = 0; i < finding->note_count; i++) {
        spad_note *note = &finding->notes[i];
        source = spad__kernel_find_source(kernel, note->line);
        if (source < 0 && i == 0 && other >= 0 && note->line == 0) {
            source = spad_kernel_get_statement(kernel, (size_t)other)->source;
        }
        spad__source_text(kernel, source, note->place, sizeof note->place);
        spad__program_line(kernel, source, &note->program);
    }
}

void spad__locate_finding(spad_finding *finding, const spad_kernel *kernel, int64_t statement,
                          int64_t other) {
    const char *file = spad_kernel_get_file(kernel);
    if (file != NULL) spad__copy_cut(finding->file, sizeof finding->file, file);
    if (finding->line == 0) {
        const spad_location location = place_of(kernel, statement);
        spad__point_finding(finding, location);
    }
    if (finding->note_count > 0 && finding->notes[0].line == 0) {
        const spad_location location = place_of(kernel, other);
        spad__point_note(&finding->notes[0], location);
    }
    if (spad_kernel_source_count(kernel) > 0) fill_sources(finding, kernel, statement, other);
}

void spad__count_severity(spad_check_counts *counts, spad_severity severity, int64_t more) {
    switch (severity) {
    case SPAD_SEVERITY_ERROR: counts->errors += more; break;
    case SPAD_SEVERITY_WARNING: counts->warnings += more; break;
    case SPAD_SEVERITY_ADVICE: counts->advice += more; break;
    case SPAD_SEVERITY_COMPILER: counts->compiler_faults += more; break;
    }
}

/* Of a full list the last finding of a lower severity gives way: the verdict depends on errors, and
 * they must not be left out for warnings. */
static bool make_room_for(spad_check *check, spad_severity severity) {
    size_t worst = SIZE_MAX;
    for (size_t i = 0; i < check->found.count; i++) {
        const spad_severity own = check->found.items[i].finding.severity;
        if (own <= severity) continue;
        if (worst == SIZE_MAX || own >= check->found.items[worst].finding.severity) worst = i;
    }
    if (worst == SIZE_MAX) return false;
    spad__count_severity(&check->counts, check->found.items[worst].finding.severity, -1);
    check->found.items[worst] = check->found.items[--check->found.count];
    return true;
}

bool spad__has_finding(const spad__run *run, spad_finding_code code, int64_t statement,
                       int64_t other) {
    return find_same(run, code, SPAD_SEVERITY_ERROR, statement, other) != NULL ||
           find_same(run, code, SPAD_SEVERITY_WARNING, statement, other) != NULL;
}

bool spad__count_finding(spad__run *run, spad_finding_code code, spad_severity severity,
                         int64_t statement, int64_t other) {
    spad__found *same = find_same(run, code, severity, statement, other);
    if (same == NULL) return false;
    same->finding.count++;
    same->pairs += hash_statements(statement, other);
    return true;
}

void spad__leave_open(spad__run *run, spad_finding *finding) {
    run->gap = "only the device knows which bytes an access touches that may touch them";
    if (finding->severity == SPAD_SEVERITY_ERROR) finding->severity = SPAD_SEVERITY_WARNING;
}

spad_status spad__add_finding(spad__run *run, spad_finding *finding, int64_t statement,
                              int64_t other, spad_error *error) {
    spad_check *check = run->check;
    if (spad__count_finding(run, finding->code, finding->severity, statement, other))
        return SPAD_OK;
    if (check->found.count >= run->options->finding_limit) {
        check->full = true;
        if (!make_room_for(check, finding->severity)) return SPAD_OK;
    }
    if (!spad__array_reserve(&check->host, &check->found, 1)) return spad__fail_host_memory(error);
    spad__locate_finding(finding, run->kernel, statement, other);
    if (finding->count == 0) finding->count = 1;
    check->found.items[check->found.count++] =
        (spad__found){.finding = *finding,
                      .statement = statement,
                      .other = other,
                      .pairs = hash_statements(statement, other)};
    spad__count_severity(&check->counts, finding->severity, 1);
    return SPAD_OK;
}

spad_status spad__add_about(spad__run *run, spad_finding *finding, int64_t tensor,
                            spad_error *error) {
    const spad_kernel_tensor *row = spad_kernel_get_tensor(run->kernel, (size_t)tensor);
    spad__copy_cut(finding->subject, sizeof finding->subject, row->name);
    finding->number = tensor;
    return spad__add_finding(run, finding, (int64_t)row->statement, -1, error);
}

spad_status spad__add_about_sync(spad__run *run, spad_finding *finding, size_t sync,
                                 spad_error *error) {
    const spad_kernel_sync *row = spad_kernel_get_sync(run->kernel, sync);
    spad__finding_set_names(finding, row->name, NULL);
    spad__point_finding(finding, row->location);
    finding->number = (int64_t)sync;
    return spad__add_finding(run, finding, -2 - (int64_t)sync, -1, error);
}

spad_status spad__add_faults(spad__run *run, spad_error *error) {
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < run->kernel->faults.count && status == SPAD_OK; i++) {
        const spad__kernel_fault *fault = &run->kernel->faults.items[i];
        spad_finding finding;
        spad__finding_init(&finding, SPAD_FINDING_EXECUTION, "%s", fault->message);
        finding.count = fault->times > 1 ? fault->times : 0;
        spad__point_finding(&finding, fault->location);
        status = spad__add_finding(run, &finding, FIRST_FAULT - (int64_t)i, -1, error);
    }
    if (run->kernel->faults.count > 0) {
        run->check->verdict = SPAD_VERDICT_WRONG;
        run->check->reason[0] = '\0';
    }
    return status;
}

spad_status spad__add_of_shape(spad__run *run, const spad_check *other, const char *shape,
                               spad_severity severity, spad_error *error) {
    enum { SHOWN_MAX = 3 };
    char text[SPAD_MESSAGE_MAX * 2];
    spad_status status = SPAD_OK;
    size_t shown = 0;
    for (size_t i = 0; i < other->found.count && shown < SHOWN_MAX && status == SPAD_OK; i++) {
        const spad__found *found = &other->found.items[i];
        if (found->finding.severity != SPAD_SEVERITY_ERROR) continue;
        if (found->finding.code == SPAD_FINDING_INDEX_OUTSIDE) continue;
        spad_finding finding = found->finding;
        finding.severity = severity;
        snprintf(text, sizeof text, "with %s: %s", shape, found->finding.message);
        spad__copy_cut(finding.message, sizeof finding.message, text);
        status = spad__add_finding(run, &finding, found->statement, found->other, error);
        shown++;
    }
    return status;
}

/* Errors, faults of the compiler, warnings, advice. */
static int64_t rank_of(spad_severity severity) {
    return severity == SPAD_SEVERITY_COMPILER ? 1 : 2 * (int64_t)severity;
}

/* Errors first, then the order of the text. */
static int compare_found(const void *left, const void *right) {
    const spad__found *a = left;
    const spad__found *b = right;
    int order = spad__compare(rank_of(a->finding.severity), rank_of(b->finding.severity));
    if (order == 0) order = spad__compare(a->statement, b->statement);
    if (order == 0) order = spad__compare((int64_t)a->finding.code, (int64_t)b->finding.code);
    if (order == 0) order = spad__compare(a->other, b->other);
    return order;
}

void spad__sort_findings(spad_check *check) {
    if (check->found.count == 0) return;
    qsort(check->found.items, check->found.count, sizeof check->found.items[0], compare_found);
}

/* ---- time -------------------------------------------------------------------------- */

const char spad__time_is_up[] =
    "time was up before everything was checked; allow more (--timeout, timeout_ns)";
const char spad__no_time_for_proof[] =
    "time was up before other trip counts were proved; allow more (--timeout, timeout_ns)";

bool spad__is_late(const spad__run *run) {
    return spad__limit_reached(run->limit);
}

void spad__drop_findings(spad_check *check) {
    spad__array_free(&check->host, &check->found);
    spad__array_free(&check->host, &check->witnesses);
}
