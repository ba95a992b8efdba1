/* SPDX-License-Identifier: Apache-2.0
 *
 * Why it does not fit: two buffers whose rules exclude each other; or the moment of the
 * largest load, who is live then, which capacity would do, and which single changes would
 * help. A change is only named after a plan with it was found: the problem is solved again with
 * one buffer changed, for the largest buffers of that moment (or of all, if that moment fits),
 * until the time for it is spent; where no single change is enough, sets of buffers (spill.c).
 * A quarter of the time goes to a low plan without the capacity;
 * if it is within the capacity after all, it is the answer.
 */
#include <string.h>

#include "base/checked.h"
#include "plan/explain/why.h"
#include "plan/problem/problem.h"
#include "plan/problem/sort.h"
#include "plan/problem/stop.h"

enum { MOST_CHANGES = 8, MOST_TRIED = 24, CAPACITY_SHARE = 4, SET_SHARE = 3 };

/* ---- who is live ------------------------------------------------------------------ */

/* Is it one of those that need the most together? */
static bool is_in_peak_set(const spad__explorer *x, size_t number) {
    const spad_plan_result *r = x->result;
    if (r->together_count == 0) return spad__is_live(&x->plan->buffers.items[number], r->peak_time);
    for (size_t k = 0; k < r->together_count; k++)
        if (r->together[k] == number) return true;
    return false;
}

/* Buffers with bytes, largest first: all, or those live at the peak. NULL: no memory. */
static size_t *list_buffers(spad__explorer *x, bool all, size_t *count) {
    const size_t n = x->plan->buffers.count;
    spad__row *rows = spad__new_array(&x->plan->host, n + 1, 2 * sizeof *rows);
    size_t *list = spad__arena_array(&x->out->arena, n + 1, sizeof *list);
    *count = 0;
    for (size_t i = 0; rows != NULL && list != NULL && i < n; i++) {
        const spad_plan_buffer *b = &x->plan->buffers.items[i];
        if (all ? b->size > 0 : is_in_peak_set(x, i))
            rows[(*count)++] = (spad__row){~spad__sort_key(b->size), (int32_t)i};
    }
    if (rows != NULL) spad__sort_rows(rows, rows + n + 1, *count);
    for (size_t k = 0; k < *count; k++) list[k] = (size_t)rows[k].value;
    const bool ok = rows != NULL;
    spad__free(&x->plan->host, rows, 2 * (n + 1) * sizeof *rows);
    return ok ? list : NULL;
}

/* Where the peak fits, any buffer may be the one in the way. */
static bool list_candidates(spad__explorer *x) {
    spad_plan_reason *reason = &x->out->reason;
    size_t *live = list_buffers(x, false, &reason->live_count);
    reason->live = live;
    x->tried = live;
    x->tried_count = reason->live_count;
    if (live != NULL && reason->load <= x->plan->capacity)
        x->tried = list_buffers(x, true, &x->tried_count);
    if (x->tried_count > MOST_TRIED) x->tried_count = MOST_TRIED;
    return x->tried != NULL;
}

/* ---- what would help --------------------------------------------------------------- */

/* Adds a change after which there is a plan. */
static spad_status keep_plan_change(spad__explorer *x, spad_plan_change change,
                                    const spad_plan_result *result, spad_error *error) {
    const spad_status status = spad__keep_places(x, result, &change.places, error);
    if (status == SPAD_OK) x->changes[x->out->reason.change_count++] = change;
    return status;
}

/* Solves with one change, and adds it if a plan within the capacity was found. */
static spad_status offer(spad__explorer *x, spad_plan_change change, spad_error *error) {
    if (x->out->reason.change_count == MOST_CHANGES) return SPAD_OK;
    spad_plan_buffer *buffer = &x->changed.buffers.items[change.buffer];
    const spad_plan_buffer before = *buffer;
    spad_plan_result *found;
    spad__plan_apply_change(buffer, &change);
    spad_status status = spad__attempt(x, &found, error);
    *buffer = before;
    if (found != NULL && status == SPAD_OK) status = keep_plan_change(x, change, found, error);
    spad_plan_result_destroy(found);
    return status;
}

/* The highest of the lower alignments, each half the one before, that is enough. */
static spad_status offer_alignment(spad__explorer *x, size_t i, spad_error *error) {
    const spad_plan_buffer *b = &x->plan->buffers.items[i];
    int64_t alignment = b->alignment;
    const int64_t least = x->plan->space != NULL ? x->plan->space->alignment : 1;
    const size_t before = x->out->reason.change_count;
    spad_status status = SPAD_OK;
    while (!b->pinned && alignment != least && status == SPAD_OK) {
        alignment = alignment / 2 % least == 0 && alignment % 2 == 0 ? alignment / 2 : least;
        status = offer(x, (spad_plan_change){SPAD_PLAN_ALIGN, i, alignment, false, NULL}, error);
        if (x->out->reason.change_count > before) break;
    }
    return status;
}

/* Ends the lifetime at the peak, or begins it just after. */
static spad_status offer_shorter(spad__explorer *x, size_t i, spad_error *error) {
    const int64_t time = x->out->reason.time;
    const spad_plan_buffer *b = &x->plan->buffers.items[i];
    if (b->gap_count > 0 || b->clock_count > 0 || !spad__is_live(b, time)) return SPAD_OK;
    spad_status status = SPAD_OK;
    if (b->lower < time) {
        status = offer(x, (spad_plan_change){SPAD_PLAN_SHORTEN, i, time, false, NULL}, error);
    }
    if (status == SPAD_OK && b->upper > time + 1) {
        status = offer(x, (spad_plan_change){SPAD_PLAN_SHORTEN, i, time + 1, true, NULL}, error);
    }
    return status;
}

static spad_status offer_spill(spad__explorer *x, size_t i, spad_error *error) {
    const int64_t bytes = x->plan->buffers.items[i].size;
    return offer(x, (spad_plan_change){SPAD_PLAN_SPILL, i, bytes, false, NULL}, error);
}

/* Small changes first: alignments, lifetimes, then buffers, each from the smallest that
 * can be enough. */
static spad_status find_helpful_changes(spad__explorer *x, spad_error *error) {
    spad_status status = SPAD_OK;
    for (size_t k = x->tried_count; k-- > 0 && status == SPAD_OK;)
        status = offer_alignment(x, x->tried[k], error);
    for (size_t k = x->tried_count; k-- > 0 && status == SPAD_OK;)
        status = offer_shorter(x, x->tried[k], error);
    for (size_t k = x->tried_count; k-- > 0 && status == SPAD_OK;)
        status = offer_spill(x, x->tried[k], error);
    return status;
}

/* ---- a capacity that would do ------------------------------------------------------ */

/* The lowest plan without the capacity, if it is lower than the one at hand. One within the
 * capacity is kept, with what was spent before. */
static spad_status find_capacity(spad__explorer *x, const spad_plan_result *before, int64_t time,
                                 spad_error *error) {
    spad_plan_reason *reason = &x->out->reason;
    spad_plan unlimited = *x->plan;
    unlimited.capacity = SPAD_UNBOUNDED;
    const spad_plan_options options = {.goal = SPAD_PLAN_MINIMIZE,
                                       .timeout_ns = time / CAPACITY_SHARE + 1,
                                       .node_limit = SPAD__ATTEMPT_NODES * MOST_TRIED,
                                       .progress =
                                           x->limit.watch.cancel != NULL ? spad__attempt_ask : NULL,
                                       .context = &x->limit};
    spad_plan_result *result;
    spad_status status = spad_plan_solve(&result, &unlimited, &options, error);
    if (status != SPAD_OK) return status;
    status = spad__attempt_goes_on(x, error);
    if (status != SPAD_OK) {
        spad_plan_result_destroy(result);
        return status;
    }
    if (result->height <= reason->works_at) {
        reason->works_at = result->height;
        reason->works_best = result->verdict == SPAD_PLAN_OPTIMAL;
    }
    if (result->height <= x->plan->capacity && result->height != SPAD_UNBOUNDED) {
        result->fingerprint = before->fingerprint; /* it is an answer with the capacity, too */
        result->nodes += before->nodes;
        result->restarts += before->restarts;
        result->nanoseconds += before->nanoseconds;
        reason->found = x->out->found = result;
        return SPAD_OK;
    }
    spad_plan_result_destroy(result);
    return SPAD_OK;
}

static spad_status explore(spad__explorer *x, spad_error *error) {
    const size_t n = x->plan->buffers.count;
    x->changes = spad__arena_array(&x->out->arena, MOST_CHANGES, sizeof *x->changes);
    x->changed = *x->plan;
    x->changed.buffers.items =
        spad__arena_array(&x->out->arena, n + 1, sizeof *x->changed.buffers.items);
    if (x->changes == NULL || x->changed.buffers.items == NULL || !list_candidates(x))
        return spad__fail_host_memory(error);
    if (n > 0)
        memcpy(x->changed.buffers.items, x->plan->buffers.items,
               n * sizeof *x->plan->buffers.items);
    x->out->reason.changes = x->changes;
    const spad_status status = find_helpful_changes(x, error);
    if (status != SPAD_OK || x->out->reason.change_count > 0) return status;
    x->reserve = 0;
    return spad__find_spills(x, error);
}

/* A proof by search only says that the capacity is too small, not by how much. */
static int64_t missing(const spad_plan *plan, const spad_plan_result *result,
                       const spad_plan_reason *reason) {
    if (result->bound > plan->capacity && result->proof != SPAD_PLAN_BY_SEARCH)
        return result->bound - plan->capacity;
    return reason->works_at != SPAD_UNBOUNDED && reason->works_at > plan->capacity
               ? reason->works_at - plan->capacity
               : 0;
}

spad_status spad_plan_explain(spad_plan_reason **out, const spad_plan *plan,
                              const spad_plan_result *result, int64_t timeout_ns,
                              const spad_watch *watch, spad_error *error) {
    *out = NULL;
    const spad_status match = spad_plan_match(plan, result, error);
    if (match != SPAD_OK) return match;
    if (result->verdict != SPAD_PLAN_INFEASIBLE && result->verdict != SPAD_PLAN_UNKNOWN) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "the plan fits; there is nothing to explain");
    }
    spad__why *h = spad__new(&plan->host, sizeof *h);
    if (h == NULL) return spad__fail_host_memory(error);
    h->arena.host = plan->host;
    h->reason = (spad_plan_reason){.count = result->count,
                                   .fingerprint = result->fingerprint,
                                   .proved = result->verdict == SPAD_PLAN_INFEASIBLE,
                                   .clash = result->clash,
                                   .clash_first = result->clash_first,
                                   .clash_second = result->clash_second,
                                   .time = result->peak_time,
                                   .load = spad__max(result->peak_load, result->together_bytes),
                                   .works_at = result->height,
                                   .works_best = result->height == result->bound,
                                   .owned = h};
    const int64_t time = timeout_ns > 0 ? timeout_ns : 1000000000;
    spad__explorer x = {.plan = plan, .result = result, .out = h, .reserve = time / SET_SHARE};
    spad_status status =
        spad__limit_start(&x.limit, time, watch != NULL ? *watch : (spad_watch){0}, error);
    if (status == SPAD_OK && spad__limit_cancelled(&x.limit))
        status = spad__attempt_goes_on(&x, error);
    if (status == SPAD_OK && result->clash == SPAD_PLAN_NO_CLASH) {
        if (!h->reason.works_best) status = find_capacity(&x, result, time, error);
        h->reason.over = missing(plan, result, &h->reason);
        if (status == SPAD_OK && h->found == NULL) status = explore(&x, error);
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
    spad__why *h = reason->owned;
    const spad_host host = h->arena.host;
    spad_plan_result_destroy(h->found);
    spad__arena_free(&h->arena);
    spad__free(&host, h, sizeof *h);
}
