/* SPDX-License-Identifier: Apache-2.0
 *
 * Putting a report together. Everything is copied into the report's arena, and
 * every addition either happens or leaves the report as it was.
 */
#include "report/report.h"
#include "finding/findings.h"
#include "spad/experimental/report_parts.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/options.h"

/* ---- life -------------------------------------------------------------------------- */

static const char *copy_text(spad_report *report, const char *text) {
    return spad__arena_copy(&report->texts, text, strlen(text));
}

spad_status spad_report_create(spad_report **out, const spad_target *target,
                               const spad_report_options *options, spad_error *error) {
    *out = NULL;
    if (target == NULL || target->space_count == 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a report needs a target with memory spaces");
    }
    spad_report_options o;
    spad__limit limit;
    spad_status status = SPAD__COPY_OPTIONS(&o, options, error);
    if (status == SPAD_OK) status = spad__limit_start(&limit, o.timeout_ns, o.watch, error);
    if (status != SPAD_OK) return status;
    const spad_host host = spad__host_or_default(o.host);
    spad_report *report = spad__new(&host, sizeof *report);
    if (report == NULL) return spad__fail_host_memory(error);
    report->host = host;
    report->texts.host = host;
    spad__names_init(&report->program.words, &report->host);
    report->limit = limit;
    report->target = target;
    report->title = copy_text(report, o.title != NULL ? o.title : target->name);
    report->is_titled = o.title != NULL;
    report->time_unit = copy_text(report, o.time_unit != NULL ? o.time_unit : "event");
    if (report->title == NULL || report->time_unit == NULL) {
        spad_report_destroy(report);
        return spad__fail_host_memory(error);
    }
    *out = report;
    return SPAD_OK;
}

/* Changes from number `count` on. */
static void drop_changes(spad_report *report, size_t count) {
    while (report->changes.count > count) {
        spad_report_destroy(report->changes.items[--report->changes.count].with);
    }
}

void spad_report_destroy(spad_report *report) {
    if (report == NULL) return;
    const spad_host host = report->host;
    spad__array_free(&host, &report->boxes);
    spad__array_free(&host, &report->in_places);
    spad__array_free(&host, &report->rows);
    spad__array_free(&host, &report->bars);
    spad__array_free(&host, &report->roofs);
    drop_changes(report, 0);
    spad__array_free(&host, &report->changes);
    spad__array_free(&host, &report->findings);
    spad__array_free(&host, &report->witnesses);
    spad__report_drop_program(report);
    spad__names_free(&report->program.words);
    spad__arena_free(&report->texts);
    spad__free(&host, report, sizeof *report);
}

/* ---- limits ------------------------------------------------------------------------ */

spad_status spad__report_step(spad_report *report, spad_error *error) {
    if (++report->steps < SPAD_REPORT_LOOK) return SPAD_OK;
    report->steps = 0;
    if (!spad__limit_reached(&report->limit)) return SPAD_OK;
    return spad__limit_fail(&report->limit, (int64_t)report->boxes.count, "boxes", error);
}

spad_status spad__report_check_limit(const spad_report *report, spad__limit *limit,
                                     spad_error *error) {
    *limit = report->limit;
    if (!spad__limit_reached(limit)) return SPAD_OK;
    return spad__limit_fail(limit, (int64_t)report->boxes.count, "boxes", error);
}

/* ---- boxes ------------------------------------------------------------------------- */

bool spad__is_drawn(const spad_report_box *box) {
    return box->rect.byte != SPAD_NO_BYTE;
}

static spad_status check_box(const spad_report *report, const spad_report_box *box,
                             spad_error *error) {
    if (box->space >= report->target->space_count) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "target %s has no space number %zu",
                          report->target->name, box->space);
    }
    if (box->begin >= box->end) {
        spad__fail(error, SPAD_ERR_ARGUMENT,
                   "a box lives from %lld to %lld: that is not a time range", (long long)box->begin,
                   (long long)box->end);
        spad__fact_names(error, box->name, NULL);
        return SPAD_ERR_ARGUMENT;
    }
    if (box->rect.bytes < 0 || box->rect.lanes < 0 || box->padding < 0 || box->rounding < 0 ||
        box->alignment < 0 || box->padding > box->rect.bytes || box->shape.rank > SPAD_RANK_MAX ||
        box->slots < 0 || (unsigned)box->mode >= SPAD_MODE_COUNT || box->family < SPAD_NO_FAMILY ||
        box->family > INT32_MAX) {
        spad__fail(error, SPAD_ERR_ARGUMENT,
                   "a box of %lld lanes and %lld bytes, %lld of them padding, cannot be drawn",
                   (long long)box->rect.lanes, (long long)box->rect.bytes, (long long)box->padding);
        spad__fact_names(error, box->name, NULL);
        return SPAD_ERR_ARGUMENT;
    }
    int64_t unused;
    if ((spad__is_drawn(box) && !spad__add(box->rect.byte, box->rect.bytes, &unused)) ||
        !spad__add(box->rect.lane, box->rect.lanes, &unused) ||
        !spad__add(report->total_bytes, box->rect.bytes, &unused) ||
        !spad__sub(box->end, box->begin, &unused)) {
        spad__fail(error, SPAD_ERR_OVERFLOW, "the sizes or times of the boxes do not fit 64 bits");
        spad__fact_names(error, box->name, NULL);
        return SPAD_ERR_OVERFLOW;
    }
    return SPAD_OK;
}

/* Name and dims of a box, moved into the arena. */
static bool copy_box_texts(spad_report *report, spad_report_box *box) {
    if (box->name != NULL && (box->name = copy_text(report, box->name)) == NULL) return false;
    if (box->shape.rank == 0) {
        box->shape.dims = NULL;
        return true;
    }
    const size_t size = box->shape.rank * sizeof *box->shape.dims;
    int64_t *dims = spad__arena_array(&report->texts, box->shape.rank, sizeof *dims);
    if (dims == NULL) return false;
    memcpy(dims, box->shape.dims, size);
    box->shape.dims = dims;
    return true;
}

spad_status spad_report_add_box(spad_report *report, const spad_report_box *box,
                                spad_error *error) {
    spad_status status = check_box(report, box, error);
    if (status == SPAD_OK) status = spad__report_step(report, error);
    if (status != SPAD_OK) return status;
    const spad__arena_mark mark = spad__arena_here(&report->texts);
    spad_report_box copy = *box;
    if (!spad__array_reserve(&report->host, &report->boxes, 1) || !copy_box_texts(report, &copy)) {
        spad__arena_rewind(&report->texts, mark);
        return spad__fail_host_memory(error);
    }
    report->total_bytes += copy.rect.bytes;
    report->boxes.items[report->boxes.count++] = copy;
    return SPAD_OK;
}

size_t spad_report_box_count(const spad_report *report) {
    return report->boxes.count;
}

const spad_report_box *spad_report_get_box(const spad_report *report, size_t number) {
    return number < report->boxes.count ? &report->boxes.items[number] : NULL;
}

/* ---- boxes in place of others -------------------------------------------------- */

/* The first pair that is not before (output, input). */
static size_t find_in_place(const spad_report *report, size_t output, size_t input) {
    size_t low = 0;
    size_t high = report->in_places.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const spad__in_place_boxes *pair = &report->in_places.items[middle];
        if (pair->output < output || (pair->output == output && pair->input < input))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t spad__report_input_of(const spad_report *report, size_t box) {
    const size_t k = find_in_place(report, box, 0);
    if (k == report->in_places.count || report->in_places.items[k].output != box) return -1;
    return (int64_t)report->in_places.items[k].input;
}

static bool is_in_place_of(const spad_report *report, size_t output, size_t input) {
    const size_t k = find_in_place(report, output, input);
    return k < report->in_places.count && report->in_places.items[k].output == output &&
           report->in_places.items[k].input == input;
}

bool spad__report_in_place(const spad_report *report, size_t a, size_t b) {
    return is_in_place_of(report, a, b) || is_in_place_of(report, b, a);
}

/* ---- the rest ---------------------------------------------------------------------- */

/* The number of the row, or how many there are: rows are few. */
static size_t find_row(const spad_report *report, const char *name) {
    size_t row = 0;
    while (row < report->rows.count && strcmp(report->rows.items[row], name) != 0) row++;
    return row;
}

static bool copy_bar_texts(spad_report *report, spad_report_bar *bar, bool new_row) {
    if (new_row && (bar->row = copy_text(report, bar->row)) == NULL) return false;
    if (bar->name != NULL && (bar->name = copy_text(report, bar->name)) == NULL) return false;
    return bar->wait == NULL || (bar->wait = copy_text(report, bar->wait)) != NULL;
}

spad_status spad_report_add_bar(spad_report *report, const spad_report_bar *bar,
                                spad_error *error) {
    int64_t unused;
    if (bar->row == NULL || bar->begin >= bar->end || bar->ready > bar->begin ||
        !spad__sub(bar->end, bar->ready, &unused)) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "a bar that is ready at %lld and runs from %lld to %lld cannot be drawn",
                          (long long)bar->ready, (long long)bar->begin, (long long)bar->end);
    }
    if (bar->reads < 0 || bar->writes < 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a bar cannot read %lld and write %lld bytes",
                          (long long)bar->reads, (long long)bar->writes);
    }
    const spad__arena_mark mark = spad__arena_here(&report->texts);
    const size_t row = find_row(report, bar->row);
    const bool new_row = row == report->rows.count;
    spad_report_bar copy = *bar;
    if (!spad__array_reserve(&report->host, &report->bars, 1) ||
        !spad__array_reserve(&report->host, &report->rows, 1) ||
        !copy_bar_texts(report, &copy, new_row)) {
        spad__arena_rewind(&report->texts, mark);
        return spad__fail_host_memory(error);
    }
    if (new_row) report->rows.items[report->rows.count++] = copy.row;
    copy.row = report->rows.items[row];
    report->bars.items[report->bars.count++] = (spad__bar){row, copy};
    return SPAD_OK;
}

spad_status spad_report_add_finding(spad_report *report, const spad_finding *finding,
                                    spad_error *error) {
    if (!spad__array_reserve(&report->host, &report->findings, 1)) {
        return spad__fail_host_memory(error);
    }
    report->findings.items[report->findings.count++] = *finding;
    return SPAD_OK;
}

spad_status spad__report_take_origin(spad_report *report, const char *word,
                                     const spad__origin *origin, spad_error *error) {
    if (report->origin.known)
        return spad__match_origins("report", &report->origin, word, origin, error);
    report->origin = *origin;
    return SPAD_OK;
}

spad_status spad_report_add_check(spad_report *report, const spad_check *check, spad_error *error) {
    const spad__mark before = spad__report_mark(report);
    spad_status status = spad__report_take_origin(report, "check", &check->origin, error);
    for (size_t i = 0; i < check->found.count && status == SPAD_OK; i++) {
        const spad_finding *finding = &check->found.items[i].finding;
        if (finding->hidden == SPAD_HIDDEN_NOT)
            status = spad_report_add_finding(report, finding, error);
    }
    for (size_t i = 0; i < check->witnesses.count && status == SPAD_OK; i++) {
        if (!spad__array_reserve(&report->host, &report->witnesses, 1)) {
            status = spad__fail_host_memory(error);
        } else {
            report->witnesses.items[report->witnesses.count++] = check->witnesses.items[i];
        }
    }
    if (status != SPAD_OK) spad__report_restore(report, before);
    return status;
}

spad_status spad_report_set_source(spad_report *report, const char *file, const char *text,
                                   size_t length, spad_error *error) {
    const spad__arena_mark mark = spad__arena_here(&report->texts);
    const char *name = copy_text(report, file != NULL ? file : "");
    const char *copy = spad__arena_copy(&report->texts, text, length);
    if (name == NULL || copy == NULL) {
        spad__arena_rewind(&report->texts, mark);
        return spad__fail_host_memory(error);
    }
    report->file = name;
    report->source = copy;
    return SPAD_OK;
}

spad_status spad_report_add_note(spad_report *report, const char *note, spad_error *error) {
    if (report->note_count == SPAD__NOTES) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a report has at most %d notes", SPAD__NOTES);
    }
    const char *copy = copy_text(report, note);
    if (copy == NULL) return spad__fail_host_memory(error);
    report->in_tables[report->note_count] = false;
    report->notes[report->note_count++] = copy;
    return SPAD_OK;
}

void spad__report_note_in_tables(spad_report *report) {
    if (report->note_count > 0) report->in_tables[report->note_count - 1] = true;
}

/* ---- taking back ------------------------------------------------------------------- */

spad__mark spad__report_mark(const spad_report *report) {
    return (spad__mark){.boxes = report->boxes.count,
                        .in_places = report->in_places.count,
                        .bars = report->bars.count,
                        .rows = report->rows.count,
                        .roofs = report->roofs.count,
                        .changes = report->changes.count,
                        .findings = report->findings.count,
                        .witnesses = report->witnesses.count,
                        .notes = report->note_count,
                        .total_bytes = report->total_bytes,
                        .title = report->title,
                        .time_unit = report->time_unit,
                        .badge = report->badge,
                        .costs = report->costs,
                        .bound = report->bound,
                        .file = report->file,
                        .source = report->source,
                        .origin = report->origin,
                        .has_program = report->program.taken};
}

void spad__report_restore(spad_report *report, spad__mark before) {
    report->boxes.count = before.boxes;
    report->in_places.count = before.in_places;
    report->bars.count = before.bars;
    report->rows.count = before.rows;
    report->roofs.count = before.roofs;
    drop_changes(report, before.changes);
    report->findings.count = before.findings;
    report->witnesses.count = before.witnesses;
    report->note_count = before.notes;
    report->total_bytes = before.total_bytes;
    report->title = before.title;
    report->time_unit = before.time_unit;
    report->badge = before.badge;
    report->costs = before.costs;
    report->bound = before.bound;
    report->file = before.file;
    report->source = before.source;
    report->origin = before.origin;
    if (!before.has_program) spad__report_drop_program(report);
}
