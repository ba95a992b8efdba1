/* SPDX-License-Identifier: Apache-2.0
 * Bytes as a problem with every rule: whatever the solver returns must pass the
 * validator, and a verdict must agree with the height and the bound. */
#include <stdint.h>
#include <stdlib.h>

#include "spad/plan.h"

static const int64_t any[] = {0};

typedef struct bytes {
    const uint8_t *at;
    const uint8_t *end;
} bytes;

static int64_t take(bytes *b, int64_t below) {
    return b->at < b->end ? *b->at++ % below : 0;
}

/* How times and bytes of a problem are moved and stretched. */
typedef struct scale {
    int64_t base;
    int64_t step;
    int64_t byte;
} scale;

static void add_buffer(spad_plan *plan, bytes *b, const scale *s) {
    static const int64_t alignments[] = {1, 2, 4, 8, 3, 5, 6, 12};
    static const int64_t banks[] = {64, 96, 100, 128};
    spad_error error;
    spad_plan_gap gaps[3];
    spad_plan_buffer x = {.lower = take(b, 32), .size = take(b, 64), .lanes = 1 + take(b, 4)};
    const int64_t life = 1 + take(b, 16);
    x.alignment = alignments[take(b, 8)];
    const int64_t kind = take(b, 64);
    if (kind & 1) x.bank = banks[take(b, 4)] * s->byte;
    if (kind & 2 && kind & 16) {
        x.pinned = true;
        x.offset = x.alignment * take(b, 32) * s->byte;
        x.lane = take(b, 4);
    }
    if (kind & 4) {
        x.hinted = true;
        x.hint = take(b, 200) * s->byte;
    }
    int64_t from = x.lower;
    while (kind & 8 && x.gap_count < 3 && from < x.lower + life) {
        spad_plan_gap *gap = &gaps[x.gap_count++];
        gap->lower = from + take(b, x.lower + life - from);
        gap->upper = gap->lower + 1 + take(b, x.lower + life - gap->lower);
        from = gap->upper;
        gap->window_lower = take(b, x.size + 1) * s->byte;
        gap->window_upper = gap->window_lower + take(b, x.size + 1) * s->byte;
        gap->lower = s->base + gap->lower * s->step;
        gap->upper = s->base + gap->upper * s->step;
    }
    x.gaps = gaps;
    x.upper = s->base + (x.lower + life) * s->step;
    x.lower = s->base + x.lower * s->step;
    x.size *= s->byte;
    x.alignment *= s->byte;
    (void)spad_plan_add(NULL, plan, &x, &error); /* one that breaks its own rules is left out */
}

static void judge(const spad_plan *plan, const spad_plan_result *r) {
    const bool fits = r->verdict <= SPAD_PLAN_FEASIBLE;
    if (fits != (r->places != NULL && r->height <= spad_plan_get_capacity(plan))) abort();
    if ((r->clash != SPAD_PLAN_NO_CLASH) != (r->places == NULL)) abort();
    if (r->places != NULL && r->height < r->bound) abort();
    if (r->verdict == SPAD_PLAN_OPTIMAL && r->height != r->bound) abort();
    int64_t height;
    spad_error error;
    if (fits && (spad_plan_check(&height, plan, r->places, r->count, &error) != SPAD_OK ||
                 height != r->height))
        abort();
}

static void explain(const spad_plan *plan, const spad_plan_result *r) {
    spad_error error;
    spad_plan_reason *reason;
    if (r->verdict <= SPAD_PLAN_FEASIBLE) return;
    if (spad_plan_explain(&reason, plan, r, 1000000, NULL, &error) != SPAD_OK) abort();
    if (reason->clash != r->clash) abort();
    if (r->clash == SPAD_PLAN_NO_CLASH &&
        (reason->found != NULL) != (reason->works_at <= spad_plan_get_capacity(plan)))
        abort();
    spad_plan_reason_destroy(reason);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bytes b = {data, data + size};
    spad_plan *plan;
    spad_error error;
    static const int64_t starts[] = {1, 3, 2};
    static const spad_lane_rule rules[] = {{1, 1, 3, starts}, {2, 2, 1, starts}, {3, 4, 1, any}};
    const int64_t space_kind = take(&b, 3);
    const spad_space space = {.name = "fuzz",
                              .lanes = 4,
                              .bytes = SPAD_UNBOUNDED,
                              .alignment = 1,
                              .granule = 1,
                              .lane_rule_count = space_kind == 2 ? 3 : 0,
                              .lane_rules = rules};
    const int64_t how = take(&b, 8);
    scale s = {0, 1, 1};
    if (how & 1) s.step = INT64_C(1) << 50;
    if (how & 2) s.base = -20 * s.step;
    if (how & 4) s.byte = INT64_C(1) << 40 | 1;
    if (spad_plan_create(&plan, NULL, &error) != SPAD_OK) return 0;
    if (space_kind > 0) (void)spad_plan_set_space(plan, &space, &error);
    const spad_plan_goal goal = take(&b, 2) == 1 ? SPAD_PLAN_DECIDE : SPAD_PLAN_MINIMIZE;
    const int64_t capacity = take(&b, 256) * 4 * s.byte;
    const int64_t pairs = take(&b, 4);
    while (b.at < b.end && spad_plan_count(plan) < 40) add_buffer(plan, &b, &s);
    for (int64_t k = 0; k < pairs; k++) {
        (void)spad_plan_alias(plan, (size_t)take(&b, 40), (size_t)take(&b, 40), &error);
        (void)spad_plan_apart(plan, (size_t)k, (size_t)k + 1, &error);
        (void)spad_plan_slice(plan, (size_t)take(&b, 40), (size_t)take(&b, 40),
                              take(&b, 16) * s.byte, &error);
        (void)spad_plan_in_place(plan, (size_t)take(&b, 40), (size_t)take(&b, 40), &error);
    }
    if (goal == SPAD_PLAN_DECIDE) (void)spad_plan_set_capacity(plan, capacity, &error);
    const spad_plan_options options = {.goal = goal, .node_limit = 2000, .seed = 1};
    spad_plan_result *result;
    if (spad_plan_solve(&result, plan, &options, &error) == SPAD_OK) {
        judge(plan, result);
        explain(plan, result);
        spad_plan_result_destroy(result);
    }
    spad_plan_destroy(plan);
    return 0;
}
