/* SPDX-License-Identifier: Apache-2.0
 *
 * Why it does not fit: two buffers whose rules exclude each other; or the moment of the
 * largest load, who is alive then, which capacity would do, and which single changes would
 * help. A change is only named after a plan with it was found: the problem is solved again with
 * one buffer changed, for the largest buffers of that moment, until the time for it is spent.
 * A quarter of the time goes to a low plan without the capacity.
 */
#include <string.h>

#include "base/checked.h"
#include "plan/problem.h"
#include "plan/sort.h"
#include "plan/stop.h"

enum { MOST_CHANGES = 8, MOST_TRIED = 24, NODES_PER_TRY = 20000, CAPACITY_SHARE = 4 };

/* The reason and all its parts. */
typedef struct holder {
    spad_plan_reason reason;
    spad__arena arena;
} holder;

typedef struct explorer {
    const spad_plan *plan;
    holder *out;
    spad_plan changed; /* shares everything with the problem but the buffers */
    spad_plan_change *changes;
    int64_t deadline;
} explorer;

/* ---- who is alive ------------------------------------------------------------------ */

static bool is_alive(const spad_plan_buffer *b, int64_t time) {
    if (b->size == 0 || time < b->lower || time >= b->upper) return false;
    for (size_t k = 0; k < b->gap_count; k++)
        if (b->gaps[k].lower <= time && time < b->gaps[k].upper)
            return b->gaps[k].window_lower < b->gaps[k].window_upper;
    return true;
}

static bool list_alive(explorer *x) {
    const size_t n = x->plan->buffers.count;
    spad_plan_reason *reason = &x->out->reason;
    spad__row *rows = spad__new(&x->plan->host, 2 * (n + 1) * sizeof *rows);
    size_t *alive = spad__arena_new(&x->out->arena, (n + 1) * sizeof *alive);
    if (rows == NULL || alive == NULL) {
        spad__free(&x->plan->host, rows, 2 * (n + 1) * sizeof *rows);
        return false;
    }
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const spad_plan_buffer *b = &x->plan->buffers.items[i];
        if (is_alive(b, reason->time))
            rows[count++] = (spad__row){~spad__sort_key(b->size), (int32_t)i};
    }
    spad__sort_rows(rows, rows + n + 1, count);
    for (size_t k = 0; k < count; k++) alive[k] = (size_t)rows[k].value;
    reason->alive = alive;
    reason->alive_count = count;
    spad__free(&x->plan->host, rows, 2 * (n + 1) * sizeof *rows);
    return true;
}

/* ---- what would help --------------------------------------------------------------- */

/* Solves with buffer `number` replaced; *fits: a plan within the capacity was found. */
static spad_status try_buffer(explorer *x, size_t number, const spad_plan_buffer *other, bool *fits,
                              spad_error *error) {
    *fits = false;
    const int64_t left = x->deadline - spad__clock();
    if (left <= 0) return SPAD_OK;
    const spad_plan_options options = {
        .goal = SPAD_PLAN_DECIDE, .deadline_ns = left, .node_limit = NODES_PER_TRY};
    spad_plan_result *result;
    const spad_plan_buffer before = x->changed.buffers.items[number];
    x->changed.buffers.items[number] = *other;
    const spad_status status = spad_plan_solve(&result, &x->changed, &options, error);
    x->changed.buffers.items[number] = before;
    /* a change that breaks a rule does not help; only a lack of memory is an error */
    if (status != SPAD_OK) return status == SPAD_ERR_HOST_MEMORY ? status : SPAD_OK;
    *fits = result->verdict == SPAD_PLAN_OPTIMAL || result->verdict == SPAD_PLAN_FEASIBLE;
    spad_plan_result_destroy(result);
    return SPAD_OK;
}

static spad_status offer(explorer *x, spad_plan_change change, const spad_plan_buffer *other,
                         spad_error *error) {
    spad_plan_reason *reason = &x->out->reason;
    if (reason->change_count == MOST_CHANGES) return SPAD_OK;
    bool fits;
    const spad_status status = try_buffer(x, change.buffer, other, &fits, error);
    if (status == SPAD_OK && fits) x->changes[reason->change_count++] = change;
    return status;
}

/* The highest of the lower alignments, each half the one before, that is enough. */
static spad_status offer_alignment(explorer *x, size_t i, spad_error *error) {
    spad_plan_buffer b = x->plan->buffers.items[i];
    const int64_t least = x->plan->space != NULL ? x->plan->space->alignment : 1;
    const size_t before = x->out->reason.change_count;
    spad_status status = SPAD_OK;
    while (!b.pinned && b.alignment != least && status == SPAD_OK) {
        b.alignment =
            b.alignment / 2 % least == 0 && b.alignment % 2 == 0 ? b.alignment / 2 : least;
        status = offer(x, (spad_plan_change){SPAD_PLAN_ALIGN, i, b.alignment, false}, &b, error);
        if (x->out->reason.change_count > before) break;
    }
    return status;
}

/* Ends the lifetime at the peak, or begins it just after. */
static spad_status offer_shorter(explorer *x, size_t i, spad_error *error) {
    const int64_t time = x->out->reason.time;
    spad_plan_buffer b = x->plan->buffers.items[i];
    if (b.gap_count > 0) return SPAD_OK;
    spad_status status = SPAD_OK;
    if (b.lower < time) {
        b.upper = time;
        status = offer(x, (spad_plan_change){SPAD_PLAN_SHORTEN, i, time, false}, &b, error);
    }
    b = x->plan->buffers.items[i];
    if (status == SPAD_OK && b.upper > time + 1) {
        b.lower = time + 1;
        status = offer(x, (spad_plan_change){SPAD_PLAN_SHORTEN, i, time + 1, true}, &b, error);
    }
    return status;
}

static spad_status offer_spill(explorer *x, size_t i, spad_error *error) {
    spad_plan_buffer b = x->plan->buffers.items[i];
    const int64_t bytes = b.size;
    b.size = 0;
    b.bank = 0;
    b.gap_count = 0;
    return offer(x, (spad_plan_change){SPAD_PLAN_SPILL, i, bytes, false}, &b, error);
}

/* Small changes first: alignments, lifetimes, then buffers, each from the smallest that
 * can be enough. */
static spad_status find_changes(explorer *x, spad_error *error) {
    const spad_plan_reason *reason = &x->out->reason;
    const size_t tried = reason->alive_count < MOST_TRIED ? reason->alive_count : MOST_TRIED;
    spad_status status = SPAD_OK;
    for (size_t k = tried; k-- > 0 && status == SPAD_OK;)
        status = offer_alignment(x, reason->alive[k], error);
    for (size_t k = tried; k-- > 0 && status == SPAD_OK;)
        status = offer_shorter(x, reason->alive[k], error);
    for (size_t k = tried; k-- > 0 && status == SPAD_OK;)
        status = offer_spill(x, reason->alive[k], error);
    return status;
}

/* ---- a capacity that would do ------------------------------------------------------ */

/* The lowest plan without the capacity, if it is lower than the one at hand. */
static spad_status find_capacity(explorer *x, int64_t time, spad_error *error) {
    spad_plan_reason *reason = &x->out->reason;
    spad_plan unlimited = *x->plan;
    unlimited.capacity = SPAD_UNBOUNDED;
    const spad_plan_options options = {.goal = SPAD_PLAN_MINIMIZE,
                                       .deadline_ns = time / CAPACITY_SHARE + 1,
                                       .node_limit = NODES_PER_TRY * MOST_TRIED};
    spad_plan_result *result;
    const spad_status status = spad_plan_solve(&result, &unlimited, &options, error);
    if (status != SPAD_OK) return status;
    if (result->height <= reason->works_at) {
        reason->works_at = result->height;
        reason->works_best = result->verdict == SPAD_PLAN_OPTIMAL;
    }
    spad_plan_result_destroy(result);
    return SPAD_OK;
}

static spad_status explore(explorer *x, spad_error *error) {
    const size_t n = x->plan->buffers.count;
    x->changes = spad__arena_new(&x->out->arena, MOST_CHANGES * sizeof *x->changes);
    x->changed = *x->plan;
    x->changed.buffers.items =
        spad__arena_new(&x->out->arena, (n + 1) * sizeof *x->changed.buffers.items);
    if (x->changes == NULL || x->changed.buffers.items == NULL || !list_alive(x))
        return spad__fail_host_memory(error);
    if (n > 0)
        memcpy(x->changed.buffers.items, x->plan->buffers.items,
               n * sizeof *x->plan->buffers.items);
    x->out->reason.changes = x->changes;
    return find_changes(x, error);
}

spad_status spad_plan_explain(spad_plan_reason **out, const spad_plan *plan,
                              const spad_plan_result *result, int64_t deadline_ns,
                              spad_error *error) {
    *out = NULL;
    if (result->verdict != SPAD_PLAN_INFEASIBLE && result->verdict != SPAD_PLAN_UNKNOWN) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "the plan fits; there is nothing to explain");
    }
    holder *h = spad__new(&plan->host, sizeof *h);
    if (h == NULL) return spad__fail_host_memory(error);
    h->arena.host = plan->host;
    h->reason = (spad_plan_reason){.proved = result->verdict == SPAD_PLAN_INFEASIBLE,
                                   .clash = result->clash,
                                   .clash_first = result->clash_first,
                                   .clash_second = result->clash_second,
                                   .time = result->peak_time,
                                   .load = result->peak_load,
                                   .works_at = result->height,
                                   .works_best = result->height == result->bound,
                                   .owned = h};
    if (result->bound > plan->capacity)
        h->reason.over = result->bound - plan->capacity;
    else if (result->height != SPAD_UNBOUNDED)
        h->reason.over = result->height - plan->capacity;
    explorer x = {.plan = plan, .out = h};
    const int64_t time = deadline_ns > 0 ? deadline_ns : 1000000000;
    if (!spad__add(spad__clock(), time, &x.deadline)) x.deadline = INT64_MAX;
    spad_status status = SPAD_OK;
    if (result->clash == SPAD_PLAN_NO_CLASH) {
        if (!h->reason.works_best) status = find_capacity(&x, time, error);
        if (status == SPAD_OK) status = explore(&x, error);
    }
    if (status != SPAD_OK) {
        spad_plan_reason_destroy(&h->reason);
        return status;
    }
    *out = &h->reason;
    return SPAD_OK;
}

void spad_plan_reason_destroy(spad_plan_reason *reason) {
    if (reason == NULL) return;
    holder *h = reason->owned;
    const spad_host host = h->arena.host;
    spad__arena_free(&h->arena);
    spad__free(&host, h, sizeof *h);
}
