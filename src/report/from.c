/* SPDX-License-Identifier: Apache-2.0
 *
 * Boxes from what allocates: a trace, a log, or a plan with its places. Linear.
 *
 * A failed call takes back the boxes and bars that it added; what it copied to
 * the arena stays until the report goes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "plan/problem/problem.h"
#include "report/report.h"
#include "spad/experimental/log.h"
#include "spad/experimental/report_parts.h"
#include "spad/experimental/trace_queries.h"

enum { ROWS_MOST = 32 }; /* of the timeline, for the scopes of one space */

/* ---- trace ------------------------------------------------------------------------- */

/* Bytes per lane beyond what shape and type need; 0 where that is not known. */
static int64_t padding_of(const spad_tensor *tensor, const spad_space *space) {
    int64_t lanes = 1;
    int64_t bytes;
    if (tensor->shape.rank == 0 || tensor->dtype == SPAD_DTYPE_NONE) return 0;
    const spad_status status =
        space->lanes == 1 ? spad_shape_bytes(&bytes, tensor->shape, tensor->dtype, NULL)
                          : spad_tile_bytes(&lanes, &bytes, tensor->shape, tensor->dtype, NULL);
    if (status != SPAD_OK || bytes > tensor->rect.bytes) return 0;
    return tensor->rect.bytes - bytes;
}

spad_status spad__report_add_tensor(spad_report *report, const spad_trace *trace,
                                    const spad_tensor *tensor, spad_error *error) {
    const int64_t end = (int64_t)spad_trace_event_count(trace);
    const bool open = tensor->t_end == SPAD_OPEN_END;
    spad_report_box box = {.name = tensor->name,
                           .shape = tensor->shape,
                           .dtype = tensor->dtype,
                           .mode = tensor->mode,
                           .space = tensor->space,
                           .rect = tensor->rect,
                           .padding = padding_of(tensor, &report->target->spaces[tensor->space]),
                           .begin = tensor->t_begin,
                           .end = open ? end : tensor->t_end,
                           .open = open,
                           .family = SPAD_NO_FAMILY};
    if (box.rect.lanes < 0) box.rect.lanes = 0;
    if (tensor->scope >= 0) {
        const spad_scope *scope = spad_trace_get_scope(trace, (size_t)tensor->scope);
        if (scope->degree > 1 && tensor->mode == SPAD_MODE_STACK) {
            box.slot = tensor->section;
            box.slots = scope->degree;
        }
    }
    return spad_report_add_box(report, &box, error);
}

static spad_status add_scope(spad_report *report, const spad_trace *trace, const spad_scope *scope,
                             spad_error *error) {
    char row[96];
    const int64_t end = (int64_t)spad_trace_event_count(trace);
    const bool deep = scope->depth >= ROWS_MOST; /* these share one row */
    snprintf(row, sizeof row, "%.48s scope %ld%s", report->target->spaces[scope->space].name,
             deep ? (long)ROWS_MOST : (long)scope->depth, deep ? "+" : "");
    const spad_report_bar bar = {.row = row,
                                 .name = scope->name,
                                 .begin = scope->t_begin,
                                 .end = spad__min(scope->t_end, end),
                                 .ready = scope->t_begin};
    return spad_report_add_bar(report, &bar, error);
}

spad_status spad_report_add_trace(spad_report *report, const spad_trace *trace, spad_error *error) {
    if (spad_trace_get_target(trace) != report->target) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "the trace is of another target than '%s'",
                          report->target->name);
    }
    const spad__mark before = spad__report_mark(report);
    spad_status status = SPAD_OK;
    for (size_t i = 0; status == SPAD_OK && i < spad_trace_tensor_count(trace); i++) {
        status = spad__report_add_tensor(report, trace, spad_trace_get_tensor(trace, i), error);
    }
    for (size_t i = 0; status == SPAD_OK && i < spad_trace_scope_count(trace); i++) {
        status = add_scope(report, trace, spad_trace_get_scope(trace, i), error);
    }
    if (status != SPAD_OK) spad__report_restore(report, before);
    return status;
}

/* ---- log --------------------------------------------------------------------------- */

/* Rows about no block have no number. */
static bool allocates(const spad_log_row *row) {
    return row->action == SPAD_LOG_ALLOCATE && row->allocation >= 0;
}

static int64_t lowest_address(const spad_log *log) {
    int64_t lowest = INT64_MAX;
    for (size_t i = 0; i < spad_log_count(log); i++) {
        const spad_log_row *row = spad_log_get(log, i);
        if (allocates(row)) lowest = spad__min(lowest, row->address);
    }
    return lowest;
}

static spad_status add_allocation(spad_report *report, const spad_log_row *row, size_t begin,
                                  size_t count, size_t space, int64_t lowest, spad_error *error) {
    char name[64];
    snprintf(name, sizeof name, "stream %lld[%lld]", (long long)row->stream,
             (long long)row->allocation);
    const spad_report_box box = {.name = name,
                                 .mode = SPAD_MODE_POOL,
                                 .space = space,
                                 .rect = {0, 1, row->address - lowest, row->bytes},
                                 .begin = (int64_t)begin,
                                 .end = (int64_t)count,
                                 .open = true,
                                 .family = SPAD_NO_FAMILY};
    return spad_report_add_box(report, &box, error);
}

/* The boxes of the log stand one after the other, in the order of their numbers. */
spad_status spad_report_add_log(spad_report *report, const spad_log *log, size_t space,
                                spad_error *error) {
    const spad__mark before = spad__report_mark(report);
    const size_t count = spad_log_count(log);
    const int64_t lowest = lowest_address(log);
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < count && status == SPAD_OK; i++) {
        const spad_log_row *row = spad_log_get(log, i);
        if (allocates(row)) {
            status = add_allocation(report, row, i, count, space, lowest, error);
        } else if (row->action == SPAD_LOG_FREE && row->allocation >= 0) {
            spad_report_box *box = &report->boxes.items[before.boxes + (size_t)row->allocation];
            box->end = (int64_t)i;
            box->open = false;
        }
    }
    if (status != SPAD_OK) spad__report_restore(report, before);
    return status;
}

/* ---- plan -------------------------------------------------------------------------- */

static size_t find_alias_root(size_t *parents, size_t i) {
    while (parents[i] != i) i = parents[i] = parents[parents[i]];
    return i;
}

/* parents[i] leads to the lowest buffer among the aliases of i; shares[i]: it has some. */
static void join_alias_groups(size_t *parents, bool *shares, const spad_plan *plan) {
    for (size_t i = 0; i < plan->buffers.count; i++) parents[i] = i;
    for (size_t k = 0; k < plan->aliases.count; k++) {
        const size_t a = find_alias_root(parents, (size_t)plan->aliases.items[k].a);
        const size_t b = find_alias_root(parents, (size_t)plan->aliases.items[k].b);
        parents[a > b ? a : b] = a > b ? b : a;
        shares[plan->aliases.items[k].a] = shares[plan->aliases.items[k].b] = true;
    }
    for (size_t k = 0; k < plan->slices.count; k++) {
        const size_t a = find_alias_root(parents, (size_t)plan->slices.items[k].whole);
        const size_t b = find_alias_root(parents, (size_t)plan->slices.items[k].slice);
        parents[a > b ? a : b] = a > b ? b : a;
        shares[plan->slices.items[k].whole] = shares[plan->slices.items[k].slice] = true;
    }
}

int64_t spad__next_family(const spad_report *report) {
    int64_t next = 0;
    for (size_t i = 0; i < report->boxes.count; i++) {
        next = spad__max(next, report->boxes.items[i].family + 1);
    }
    return next;
}

/* The lifetime without its gaps, and the windows in them, box by box. */
static spad_status add_pieces(spad_report *report, spad_report_box *box,
                              const spad_plan_buffer *buffer, spad_error *error) {
    const spad_rect whole = box->rect;
    spad_status status = SPAD_OK;
    int64_t from = buffer->lower;
    for (size_t k = 0; status == SPAD_OK && k <= buffer->gap_count; k++) {
        const spad_plan_gap *gap = k < buffer->gap_count ? &buffer->gaps[k] : NULL;
        box->begin = from;
        box->end = gap != NULL ? gap->lower : buffer->upper;
        box->rect = whole;
        if (box->begin < box->end) status = spad_report_add_box(report, box, error);
        if (gap == NULL) break;
        from = gap->upper;
        if (status != SPAD_OK || gap->window_lower == gap->window_upper) continue;
        box->begin = gap->lower;
        box->end = gap->upper;
        box->rect.byte = whole.byte + gap->window_lower;
        box->rect.bytes = gap->window_upper - gap->window_lower;
        status = spad_report_add_box(report, box, error);
    }
    return status;
}

/* A plan on its way into a report. */
typedef struct plan_boxes {
    spad_report *report;
    const spad_plan *plan;
    const spad_plan_place *places; /* NULL: pins only */
    size_t space;
    size_t *parents; /* see join_alias_groups */
    bool *shares;
    size_t *first; /* per buffer: its first box; one more: the end of the last */
} plan_boxes;

static spad_plan_place place_of_buffer(const plan_boxes *p, size_t buffer) {
    const spad_plan_buffer *b = &p->plan->buffers.items[buffer];
    return p->places != NULL ? p->places[buffer] : (spad_plan_place){b->offset, b->lane};
}

/* Boxes of all buffers that have a place: those of the result, or of pins where it has none. */
static spad_status add_buffers(plan_boxes *p, spad_error *error) {
    const int64_t family = spad__next_family(p->report);
    spad_status status = SPAD_OK;
    for (size_t i = 0; status == SPAD_OK && i < p->plan->buffers.count; i++) {
        const spad_plan_buffer *buffer = &p->plan->buffers.items[i];
        p->first[i] = p->first[i + 1] = p->report->boxes.count;
        if (p->places == NULL && !buffer->pinned) continue;
        const spad_plan_place place = place_of_buffer(p, i);
        spad_report_box box = {
            .name = buffer->name,
            .mode = buffer->pinned ? SPAD_MODE_AT : SPAD_MODE_AUTO,
            .space = p->space,
            .rect = {place.lane, spad__max(buffer->lanes, 1), place.offset, buffer->size},
            .alignment = buffer->alignment,
            .family =
                p->shares[i] ? family + (int64_t)find_alias_root(p->parents, i) : SPAD_NO_FAMILY};
        status = add_pieces(p->report, &box, buffer, error);
        p->first[i + 1] = p->report->boxes.count;
    }
    return status;
}

/* The box of a buffer that is live at a moment, or -1: a buffer has one at a time. */
static int64_t box_live_at(const plan_boxes *p, size_t buffer, int64_t moment) {
    for (size_t k = p->first[buffer]; k < p->first[buffer + 1]; k++) {
        const spad_report_box *box = &p->report->boxes.items[k];
        if (box->begin <= moment && moment < box->end) return (int64_t)k;
    }
    return -1;
}

static int compare_box_pairs(const void *x, const void *y) {
    const spad__in_place_boxes *a = x;
    const spad__in_place_boxes *b = y;
    if (a->output != b->output) return a->output < b->output ? -1 : 1;
    return (a->input > b->input) - (a->input < b->input);
}

/* The pairs of the problem that do share a place, as pairs of boxes: the rule of
 * spad_plan_in_place, as the check of a plan applies it. Boxes of this plan have higher numbers
 * than those before, so the list stays sorted. */
static spad_status add_in_places(const plan_boxes *p, spad_error *error) {
    spad_report *report = p->report;
    const size_t before = report->in_places.count;
    if (!spad__array_reserve(&report->host, &report->in_places, p->plan->in_places.count))
        return spad__fail_host_memory(error);
    for (size_t k = 0; k < p->plan->in_places.count; k++) {
        const size_t output = (size_t)p->plan->in_places.items[k].a;
        const size_t input = (size_t)p->plan->in_places.items[k].b;
        const spad_plan_place to = place_of_buffer(p, output);
        const spad_plan_place from = place_of_buffer(p, input);
        const spad_plan_buffer *born = &p->plan->buffers.items[output];
        if (to.offset != from.offset || to.lane != from.lane) continue;
        if (!spad__dies_at(&p->plan->buffers.items[input], born)) continue;
        const int64_t a = box_live_at(p, output, born->lower);
        const int64_t b = box_live_at(p, input, born->lower);
        if (a < 0 || b < 0) continue;
        report->in_places.items[report->in_places.count++] =
            (spad__in_place_boxes){(size_t)a, (size_t)b};
    }
    if (report->in_places.count > before)
        qsort(report->in_places.items + before, report->in_places.count - before,
              sizeof *report->in_places.items, compare_box_pairs);
    return SPAD_OK;
}

spad_status spad_report_add_plan(spad_report *report, const spad_plan *plan,
                                 const spad_plan_result *result, size_t space, spad_error *error) {
    const size_t count = plan->buffers.count;
    if (space >= report->target->space_count) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "target %s has no space number %zu",
                          report->target->name, space);
    }
    spad_status status = spad_plan_match(plan, result, error);
    if (status != SPAD_OK || count == 0) return status;
    const spad_host *host = &report->host;
    plan_boxes p = {.report = report,
                    .plan = plan,
                    .places = result->places,
                    .space = space,
                    .parents = spad__new_array(host, count, sizeof *p.parents),
                    .shares = spad__new_array(host, count, sizeof *p.shares),
                    .first = spad__new_array(host, count + 1, sizeof *p.first)};
    if (p.parents == NULL || p.shares == NULL || p.first == NULL) {
        status = spad__fail_host_memory(error);
    } else {
        const spad__mark before = spad__report_mark(report);
        join_alias_groups(p.parents, p.shares, plan);
        status = add_buffers(&p, error);
        if (status == SPAD_OK) status = add_in_places(&p, error);
        if (status == SPAD_OK) report->plan_space = space;
        if (status != SPAD_OK) spad__report_restore(report, before);
    }
    spad__free(host, p.parents, count * sizeof *p.parents);
    spad__free(host, p.shares, count * sizeof *p.shares);
    spad__free(host, p.first, (count + 1) * sizeof *p.first);
    return status;
}
