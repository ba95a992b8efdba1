/* SPDX-License-Identifier: Apache-2.0
 *
 * Solves a problem: builds the model, sends it to the searches that suit it,
 * and turns their plan into places and a verdict.
 *
 *   boxes       portfolio.c: greedy passes, then the exact valley search
 *   the rest    fit.c: first fit, then pairs.c: exact for every rule; they take turns, each
 *               turn twice as long and first fit with other orders, so that neither an unlucky
 *               order nor an unlucky tree takes all the time, and a proof comes after at
 *               most about twice the nodes it needs
 * A problem that is not a set of boxes but fits into boxes (hulls in time, rounded
 * sizes) tries those first: good plans, but no proof.
 */
#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "base/options.h"
#include "plan/bound/bound.h"
#include "plan/problem/in_place.h"
#include "plan/problem/model.h"
#include "plan/search/first_fit.h"
#include "plan/search/hint.h"
#include "plan/search/pairs.h"
#include "plan/search/portfolio.h"

enum {
    HULL_NODES = 200,       /* per box, where boxes are only hulls */
    FIRST_TURN_STEPS = 4096 /* of the exact search, before first fit tries other orders */
};

/* Heights are bytes. place: per item, of the best plan so far. */
typedef struct solver {
    const spad_plan *plan;
    const spad_plan_options *options;
    spad_plan_result *result;
    spad__model model;
    spad__bound bound;
    spad__stop stop;
    atomic_bool now;
    spad__listener listener;
    spad_plan_place *place;
    int64_t height; /* SPAD_UNBOUNDED: no plan yet */
    int64_t low;    /* no plan is lower: proved, by `proof` */
    spad_plan_proof proof;
    bool exact_boxes; /* the problem is one of boxes */
    bool impossible;  /* no plan at any height: proved */
    bool variant;     /* a part of the plans of another problem: only its plans are of interest */
} solver;

/* ---- results ----------------------------------------------------------------------- */

/* A result and the host that frees it. */
typedef struct owned_result {
    spad_plan_result result;
    spad_host host;
} owned_result;

static spad_status result_create(spad_plan_result **out, const spad_plan *plan, spad_error *error) {
    owned_result *own = spad__new(&plan->host, sizeof *own);
    if (own == NULL) return spad__fail_host_memory(error);
    own->host = plan->host;
    own->result.owned = own;
    own->result.count = plan->buffers.count;
    own->result.fingerprint = spad_plan_get_fingerprint(plan);
    own->result.height = SPAD_UNBOUNDED;
    *out = &own->result;
    return SPAD_OK;
}

void spad_plan_result_destroy(spad_plan_result *result) {
    if (result == NULL) return;
    owned_result *own = result->owned;
    const spad_host host = own->host;
    spad__free(&host, result->places, (result->count + 1) * sizeof *result->places);
    spad__free(&host, result->together, (result->together_count + 1) * sizeof *result->together);
    spad__free(&host, own, sizeof *own);
}

/* ---- limits ------------------------------------------------------------------------ */

/* A plan of this height is all that is asked for. */
static int64_t enough(const solver *s) {
    if (s->options->goal == SPAD_PLAN_MINIMIZE) return s->low;
    return spad__max(spad__min(s->plan->capacity, SPAD_UNBOUNDED - 1), s->low);
}

static bool is_plan_settled(const solver *s) {
    return s->height <= enough(s) || s->low > s->plan->capacity;
}

static void prove(solver *s, int64_t low) {
    spad__assert(s->height == SPAD_UNBOUNDED ||
                 low <= s->height); /* a bound is never above a plan */
    if (low <= s->low) return;
    s->low = low;
    s->proof = SPAD_PLAN_BY_SEARCH;
}

/* Nodes left of the limit; 0: no limit, -1: none left. */
static int64_t solver_nodes_left(const solver *s) {
    if (s->options->node_limit == 0) return 0;
    return s->result->nodes < s->options->node_limit ? s->options->node_limit - s->result->nodes
                                                     : -1;
}

/* ---- boxes ------------------------------------------------------------------------- */

static void take_boxes(solver *s, const spad__boxes *b, const int64_t *offset) {
    const spad__model *m = &s->model;
    for (int32_t i = 0; i < m->item_count; i++)
        s->place[i] = (spad_plan_place){0, spad__item_next_lane(m, &m->items[i], 0)};
    for (int32_t i = 0; i < b->count; i++) s->place[b->item[i]].offset = offset[i] * b->unit;
    s->height = spad__items_height(m, s->place);
}

static int64_t capacity_in_units(const solver *s, const spad__boxes *b) {
    return s->plan->capacity == SPAD_UNBOUNDED ? INT64_MAX : s->plan->capacity / b->unit;
}

static spad_status search_boxes(solver *s, const spad__boxes *b, spad_error *error) {
    int64_t *offset = spad__arena_array(&s->model.arena, (size_t)b->count + 1, sizeof *offset);
    if (offset == NULL) return spad__fail_host_memory(error);
    const bool decide = s->options->goal == SPAD_PLAN_DECIDE;
    /* boxes that are only hulls are worth some effort, not all of it */
    int64_t node_limit = solver_nodes_left(s);
    if ((!b->exact || s->variant) &&
        (node_limit == 0 || node_limit > HULL_NODES * (int64_t)b->count))
        node_limit = HULL_NODES * (int64_t)b->count;
    spad__portfolio portfolio = {.boxes = b,
                                 .host = &s->plan->host,
                                 .options = s->options,
                                 .stop = &s->stop,
                                 .capacity = capacity_in_units(s, b),
                                 .enough = decide
                                               ? spad__min(capacity_in_units(s, b), INT64_MAX - 1)
                                               : b->max_load, /* less than no plan */
                                 .low = b->max_load,
                                 .height = INT64_MAX,
                                 .node_limit = node_limit,
                                 .offset = offset};
    spad_status status = SPAD_OK;
    if (!spad__portfolio_run(&portfolio)) status = spad__fail_host_memory(error);
    if (status == SPAD_OK && portfolio.height != INT64_MAX) take_boxes(s, b, offset);
    if (b->exact) prove(s, portfolio.low * b->unit);
    s->result->nodes += portfolio.nodes;
    s->result->restarts += portfolio.restarts;
    return status;
}

static spad_status solve_boxes(solver *s, spad_error *error) {
    spad__boxes boxes;
    bool suits;
    spad_status status = spad__boxes_build(&boxes, &s->model, &suits, error);
    if (status == SPAD_OK && suits && boxes.count > 0) {
        s->exact_boxes = boxes.exact;
        status = search_boxes(s, &boxes, error);
    }
    spad__boxes_free(&boxes);
    return status;
}

/* ---- any shape --------------------------------------------------------------------- */

/* First fit; every turn has orders of its own. */
static spad_status fit_items(solver *s, uint64_t turn, spad_error *error) {
    const size_t room = ((size_t)s->model.item_count + 1) * sizeof(spad_plan_place);
    spad_plan_place *place =
        spad__new_array(&s->plan->host, (size_t)s->model.item_count + 1, sizeof *place);
    if (place == NULL) return spad__fail_host_memory(error);
    int64_t height;
    const spad_status status = spad__fit_run(&s->model, s->options->seed + (turn << 32), enough(s),
                                             &s->stop, place, &height);
    if (status == SPAD_OK && height < s->height) {
        s->height = height;
        memcpy(s->place, place, room);
    }
    spad__free(&s->plan->host, place, room);
    return status == SPAD_OK ? SPAD_OK : spad__fail_host_memory(error);
}

/* Runs the exact search for at most `steps` steps. *over: continuing is of no use. */
static spad_status search_pairs(solver *s, int64_t steps, bool *over, spad_error *error) {
    spad__pairs pairs = {.model = &s->model,
                         .stop = &s->stop,
                         .step_limit = steps,
                         .enough = enough(s),
                         .height = s->height,
                         .capacity = s->plan->capacity,
                         .place = s->place,
                         .nodes = s->result->nodes};
    if (spad__pairs_run(&pairs) != SPAD_OK) return spad__fail_host_memory(error);
    s->height = pairs.height;
    s->result->nodes = pairs.nodes;
    *over = pairs.complete || pairs.too_large;
    if (!pairs.complete) return SPAD_OK;
    /* nothing is lower than the best plan, or than the capacity */
    if (s->plan->capacity < s->height && s->plan->capacity != SPAD_UNBOUNDED)
        prove(s, s->plan->capacity + 1);
    else if (s->height == SPAD_UNBOUNDED)
        s->impossible = true;
    else
        prove(s, s->height);
    return SPAD_OK;
}

/* Runs first fit `times` times, each time with other orders. */
static spad_status fit_again(solver *s, int64_t times, uint64_t *turn, spad_error *error) {
    spad_status status = SPAD_OK;
    while (times-- > 0 && status == SPAD_OK && !is_plan_settled(s) && !spad__stopped(&s->stop)) {
        s->result->restarts++;
        s->listener.progress.restarts++;
        status = fit_items(s, ++*turn, error);
    }
    return status;
}

/* The exact search and first fit in turns. */
static spad_status search_items(solver *s, spad_error *error) {
    int64_t left = solver_nodes_left(s) == 0 ? INT64_MAX : solver_nodes_left(s);
    bool over = s->model.item_count > SPAD__EXACT_ITEMS;
    uint64_t turn = 0;
    spad_status status = SPAD_OK;
    for (int64_t share = 1; !over && left > 0 && status == SPAD_OK; share *= 2) {
        const int64_t steps = spad__min(left, share * FIRST_TURN_STEPS);
        left -= steps;
        status = search_pairs(s, steps, &over, error);
        if (status == SPAD_OK && !over) status = fit_again(s, share, &turn, error);
        over = over || is_plan_settled(s) || spad__stopped(&s->stop);
    }
    return status;
}

/* ---- outputs in the places of inputs ----------------------------------------------- */

/* Takes the plan of a problem with the same buffers in other items. */
static void take_variant(solver *s, const solver *v) {
    for (size_t b = 0; b < s->plan->buffers.count; b++) {
        spad_plan_place *place = &s->place[s->model.item_of[b]];
        *place = v->place[v->model.item_of[b]];
        place->offset += spad__delta(&v->model, b) - spad__delta(&s->model, b);
    }
    s->height = v->height;
}

/* A plan with these outputs in the places of their inputs and no others. Boxes are worth some
 * effort there; whether that choice was the best one is not known. */
static spad_status try_merges(solver *s, const spad__pair *merges, size_t count,
                              spad_error *error) {
    solver v = {.plan = s->plan,
                .options = s->options,
                .result = s->result,
                .stop = s->stop,
                .height = SPAD_UNBOUNDED,
                .low = s->low,
                .variant = true};
    spad_status status = spad__model_build_merged(&v.model, s->plan, merges, count, NULL);
    const bool sound = status == SPAD_OK && v.model.clash.kind == SPAD_PLAN_NO_CLASH;
    if (sound) {
        v.place =
            spad__arena_array(&v.model.arena, (size_t)v.model.item_count + 1, sizeof *v.place);
        if (v.place == NULL) status = SPAD_ERR_HOST_MEMORY;
        if (status == SPAD_OK && v.model.boxable && solver_nodes_left(s) >= 0)
            status = solve_boxes(&v, NULL);
        if (status == SPAD_OK && !(v.height <= enough(s)) && !v.exact_boxes)
            status = fit_items(&v, 0, NULL);
        if (status == SPAD_OK && v.height < s->height) take_variant(s, &v);
    }
    spad__model_free(&v.model);
    /* rules that exclude each other only after merging do not matter */
    return status == SPAD_ERR_HOST_MEMORY ? spad__fail_host_memory(error) : SPAD_OK;
}

/* First as many as possible in place, then none. */
static spad_status solve_in_place(solver *s, spad_error *error) {
    const size_t room = ((size_t)s->model.in_place_count + 1) * sizeof(spad__pair);
    spad__pair *merges = spad__new(&s->plan->host, room);
    size_t count;
    spad_status status = SPAD_ERR_HOST_MEMORY;
    if (merges != NULL && spad__in_place_choose(&s->model, merges, &count)) {
        status = try_merges(s, merges, count, error);
        if (status == SPAD_OK && !is_plan_settled(s)) status = try_merges(s, NULL, 0, error);
    } else {
        spad__fail_host_memory(error);
    }
    spad__free(&s->plan->host, merges, room);
    return status;
}

/* ---- places and the verdict -------------------------------------------------------- */

static spad_status write_places(solver *s, spad_error *error) {
    spad_plan_result *r = s->result;
    if (s->height == SPAD_UNBOUNDED) return SPAD_OK;
    r->places = spad__new_array(&s->plan->host, r->count + 1, sizeof *r->places);
    if (r->places == NULL) return spad__fail_host_memory(error);
    if (!spad__hint_apply(&s->model, s->place, s->height, &s->stop))
        return spad__fail_host_memory(error);
    s->height = spad__items_height(&s->model, s->place); /* a hint may lower the topmost item */
    for (size_t i = 0; i < r->count; i++) {
        r->places[i] = s->place[s->model.item_of[i]];
        r->places[i].offset += spad__delta(&s->model, i);
    }
    r->height = s->height;
    return SPAD_OK;
}

static spad_plan_verdict verdict_of_plan(const solver *s) {
    if (s->height <= s->plan->capacity && s->height != SPAD_UNBOUNDED)
        return s->height <= s->low ? SPAD_PLAN_OPTIMAL : SPAD_PLAN_FEASIBLE;
    return s->impossible || s->low > s->plan->capacity ? SPAD_PLAN_INFEASIBLE : SPAD_PLAN_UNKNOWN;
}

/* The peak, which does not depend on there being a plan. */
static void write_peak(const solver *s) {
    const spad__bound *b = &s->bound;
    s->result->peak_load = b->load;
    s->result->peak_lanes = s->model.boxable ? 1 : s->plan->lanes;
    if (b->peak >= 0) s->result->peak_time = s->model.moment[b->peak];
}

/* Of aliases the largest, and of equal ones the first, stands for its item. */
static bool is_largest_alias(const solver *s, size_t number) {
    const spad_plan_buffer *buffers = s->plan->buffers.items;
    for (size_t i = 0; i < s->plan->buffers.count; i++) {
        if (s->model.item_of[i] != s->model.item_of[number]) continue;
        if (buffers[i].size > buffers[number].size) return false;
        if (buffers[i].size == buffers[number].size && i < number) return false;
    }
    return true;
}

/* The buffers of the clique, if there is one. */
static spad_status write_together(const solver *s, spad_error *error) {
    const spad__bound *b = &s->bound;
    spad_plan_result *r = s->result;
    if (b->clique_count == 0) return SPAD_OK;
    r->together = spad__new_array(&s->plan->host, (size_t)b->clique_count + 1, sizeof *r->together);
    if (r->together == NULL) return spad__fail_host_memory(error);
    r->together_count = (size_t)b->clique_count;
    r->together_bytes = b->clique_bytes;
    size_t count = 0;
    for (size_t i = 0; i < r->count; i++) {
        for (int32_t k = 0; k < b->clique_count; k++)
            if (b->clique[k] == s->model.item_of[i] && is_largest_alias(s, i))
                r->together[count++] = i;
    }
    spad__assert(count == r->together_count);
    return SPAD_OK;
}

/* Bound and peak as the caller sees them. */
static void write_bound(const solver *s) {
    const spad__bound *b = &s->bound;
    spad_plan_result *r = s->result;
    r->bound = s->low;
    r->proof = s->proof;
    write_peak(s);
    if (b->section >= 0) r->bound_time = s->model.moment[b->section];
    r->bound_buffer = SIZE_MAX;
    int64_t highest = 0;
    for (size_t i = 0; i < r->count; i++) {
        const spad_plan_buffer *buffers = s->plan->buffers.items;
        if (s->model.item_of[i] != b->item) continue;
        /* of aliases the one with the top */
        const int64_t top = buffers[i].size + spad__delta(&s->model, i);
        if (r->bound_buffer != SIZE_MAX && top <= highest) continue;
        r->bound_buffer = i;
        highest = top;
    }
}

static spad_status solve_model(solver *s, spad_error *error) {
    spad_status status = spad__bound_find(&s->bound, &s->model, &s->stop, error);
    if (status != SPAD_OK) return status;
    if (s->model.clash.kind != SPAD_PLAN_NO_CLASH) {
        s->impossible = true;
        write_peak(s);
        s->result->clash = s->model.clash.kind;
        s->result->clash_first = s->model.clash.a;
        s->result->clash_second = s->model.clash.b;
        return SPAD_OK;
    }
    status = write_together(s, error);
    if (status != SPAD_OK) return status;
    s->low = s->listener.progress.bound = s->bound.height;
    s->proof = s->bound.proof;
    s->place =
        spad__arena_array(&s->model.arena, (size_t)s->model.item_count + 1, sizeof *s->place);
    if (s->place == NULL) return spad__fail_host_memory(error);
    if (s->model.boxable) status = solve_boxes(s, error);
    if (status == SPAD_OK && s->model.in_place_count > 0) status = solve_in_place(s, error);
    if (status == SPAD_OK && !s->exact_boxes && !(s->height <= enough(s)))
        status = fit_items(s, 0, error);
    if (status == SPAD_OK && !s->exact_boxes && !is_plan_settled(s))
        status = search_items(s, error);
    write_bound(s);
    return status == SPAD_OK ? write_places(s, error) : status;
}

/* ---- options ----------------------------------------------------------------------- */

static spad_status check_options(const spad_plan_options *o, spad_error *error) {
    if (o->goal != SPAD_PLAN_MINIMIZE && o->goal != SPAD_PLAN_DECIDE)
        return spad__fail(error, SPAD_ERR_ARGUMENT, "goal %d is not a goal of a plan",
                          (int)o->goal);
    if (o->timeout_ns >= 0 && o->node_limit >= 0 && o->threads >= 0) return SPAD_OK;
    return spad__fail(error, SPAD_ERR_ARGUMENT,
                      "a deadline of %lld ns, %lld nodes and %d threads: none of them may be "
                      "negative; 0 is no limit",
                      (long long)o->timeout_ns, (long long)o->node_limit, (int)o->threads);
}

static void start_clock(solver *s) {
    const int64_t now = spad__clock();
    s->listener =
        (spad__listener){.options = s->options, .started = now, .progress.height = SPAD_UNBOUNDED};
    s->stop = (spad__stop){.deadline = INT64_MAX, .now = &s->now};
    if (s->options->progress != NULL) s->stop.listener = &s->listener;
    int64_t deadline;
    if (s->options->timeout_ns > 0 && spad__add(now, s->options->timeout_ns, &deadline))
        s->stop.deadline = deadline;
}

spad_status spad_plan_solve(spad_plan_result **out, const spad_plan *plan,
                            const spad_plan_options *options, spad_error *error) {
    spad_plan_options o;
    *out = NULL;
    solver s = {.plan = plan, .options = &o, .height = SPAD_UNBOUNDED};
    spad_status status = SPAD__COPY_OPTIONS(&o, options, error);
    if (status == SPAD_OK) status = check_options(&o, error);
    if (status != SPAD_OK) return status;
    start_clock(&s);
    status = result_create(&s.result, plan, error);
    if (status != SPAD_OK) return status;
    status = spad__model_build(&s.model, plan, error);
    if (status == SPAD_OK) status = solve_model(&s, error);
    spad__model_free(&s.model);
    if (status != SPAD_OK) {
        spad_plan_result_destroy(s.result);
        return status;
    }
    s.result->verdict = verdict_of_plan(&s);
    s.result->nanoseconds = spad__clock() - s.listener.started;
    *out = s.result;
    return SPAD_OK;
}
