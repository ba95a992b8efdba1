/* SPDX-License-Identifier: Apache-2.0
 *
 * Solving a problem: build the model, send it to the search that suits it,
 * and turn what came out into places and a verdict.
 */
#include <string.h>

#include "base/checked.h"
#include "plan/hunt.h"
#include "plan/model.h"

const char *spad_plan_verdict_name(spad_plan_verdict verdict) {
    switch (verdict) {
    case SPAD_PLAN_OPTIMAL: return "optimal";
    case SPAD_PLAN_FEASIBLE: return "feasible";
    case SPAD_PLAN_INFEASIBLE: return "infeasible";
    case SPAD_PLAN_UNKNOWN: return "unknown";
    }
    return "unknown";
}

typedef struct solver {
    const spad_plan *plan;
    const spad_plan_options *options;
    spad_plan_result *result;
    spad__model model;
    spad__stop stop;
    int64_t started;
} solver;

/* ---- results ---------------------------------------------------------------------- */

static spad_status result_create(spad_plan_result **out, const spad_plan *plan, spad_error *error) {
    spad_plan_result *result = spad__new(&plan->host, sizeof *result);
    spad_host *host = spad__new(&plan->host, sizeof *host);
    if (result == NULL || host == NULL) {
        spad__free(&plan->host, result, sizeof *result);
        spad__free(&plan->host, host, sizeof *host);
        return spad__fail_host_memory(error);
    }
    *host = plan->host;
    result->owned = host;
    result->count = plan->buffers.count;
    result->height = SPAD_UNBOUNDED;
    *out = result;
    return SPAD_OK;
}

void spad_plan_result_destroy(spad_plan_result *result) {
    if (result == NULL) return;
    const spad_host host = *(const spad_host *)result->owned;
    spad__free(&host, result->owned, sizeof(spad_host));
    spad__free(&host, result->places, (result->count + 1) * sizeof *result->places);
    spad__free(&host, result, sizeof *result);
}

static void find_peak(solver *s) {
    const spad__model *m = &s->model;
    (void)m;
}

/* ---- boxes ----------------------------------------------------------------------------- */

static spad_status place_boxes(solver *s, const spad__boxes *b, const int64_t *offset,
                               spad_error *error) {
    spad_plan_result *r = s->result;
    const spad__model *m = &s->model;
    int64_t *item_offset =
        spad__new(&s->plan->host, ((size_t)m->item_count + 1) * sizeof *item_offset);
    r->places = spad__new(&s->plan->host, (r->count + 1) * sizeof *r->places);
    if (item_offset == NULL || r->places == NULL) {
        spad__free(&s->plan->host, item_offset, ((size_t)m->item_count + 1) * sizeof *item_offset);
        return spad__fail_host_memory(error);
    }
    r->height = 0;
    for (int32_t i = 0; i < b->count; i++) {
        item_offset[b->item[i]] = offset[i] * b->unit;
        r->height = spad__max(r->height, (offset[i] + b->size[i]) * b->unit - b->trim[i]);
    }
    for (size_t i = 0; i < r->count; i++) {
        r->places[i].offset = item_offset[m->item_of[i]];
        r->places[i].lane = spad__item_next_lane(m, &m->items[m->item_of[i]], 0);
    }
    spad__free(&s->plan->host, item_offset, ((size_t)m->item_count + 1) * sizeof *item_offset);
    return SPAD_OK;
}

static spad_status solve_boxes(solver *s, const spad__boxes *b, spad_error *error) {
    spad_plan_result *r = s->result;
    r->bound = b->bound;
    r->peak_time = b->count > 0 ? s->model.moment[b->peak] : 0;
    r->peak_load = b->max_load * b->unit;
    const size_t room = ((size_t)b->count + 1) * sizeof(int64_t);
    int64_t *offset = spad__new(&s->plan->host, room);
    if (offset == NULL) return spad__fail_host_memory(error);
    const int64_t capacity =
        s->plan->capacity == SPAD_UNBOUNDED ? INT64_MAX : s->plan->capacity / spad__max(b->unit, 1);
    spad__hunt hunt = {.boxes = b,
                       .host = &s->plan->host,
                       .options = s->options,
                       .stop = &s->stop,
                       .started = s->started,
                       .low = b->max_load,
                       .height = INT64_MAX,
                       .offset = offset,
                       .enough = s->options->goal == SPAD_PLAN_DECIDE ? capacity : b->max_load};
    spad_status status = SPAD_OK;
    if (b->count == 0)
        hunt.height = 0;
    else if (!spad__hunt_run(&hunt))
        status = spad__fail_host_memory(error);
    if (status == SPAD_OK && hunt.height != INT64_MAX) status = place_boxes(s, b, offset, error);
    if (b->exact && hunt.low > b->max_load) r->bound = hunt.low * b->unit;
    r->nodes = hunt.nodes;
    r->restarts = hunt.restarts;
    spad__free(&s->plan->host, offset, room);
    return status;
}

/* ---- the verdict ------------------------------------------------------------------------- */

static spad_plan_verdict judge(const solver *s) {
    const spad_plan_result *r = s->result;
    if (r->places != NULL && r->height <= s->plan->capacity)
        return r->height <= r->bound ? SPAD_PLAN_OPTIMAL : SPAD_PLAN_FEASIBLE;
    return r->bound > s->plan->capacity ? SPAD_PLAN_INFEASIBLE : SPAD_PLAN_UNKNOWN;
}

spad_status spad_plan_solve(spad_plan_result **out, const spad_plan *plan,
                            const spad_plan_options *options, spad_error *error) {
    static const spad_plan_options defaults = {.goal = SPAD_PLAN_MINIMIZE};
    *out = NULL;
    solver s = {
        .plan = plan, .options = options != NULL ? options : &defaults, .started = spad__clock()};
    s.stop.deadline = INT64_MAX;
    if (s.options->deadline_ns > 0 &&
        !spad__add(s.started, s.options->deadline_ns, &s.stop.deadline))
        s.stop.deadline = INT64_MAX;
    spad_status status = result_create(&s.result, plan, error);
    if (status != SPAD_OK) return status;
    status = spad__model_build(&s.model, plan, error);
    if (status == SPAD_OK && spad__boxes_suit(&s.model)) {
        spad__boxes boxes;
        status = spad__boxes_build(&boxes, &s.model, error);
        if (status == SPAD_OK) status = solve_boxes(&s, &boxes, error);
        spad__boxes_free(&boxes);
    }
    find_peak(&s);
    spad__model_free(&s.model);
    if (status != SPAD_OK) {
        spad_plan_result_destroy(s.result);
        return status;
    }
    s.result->verdict = judge(&s);
    s.result->nanoseconds = spad__clock() - s.started;
    *out = s.result;
    return SPAD_OK;
}
