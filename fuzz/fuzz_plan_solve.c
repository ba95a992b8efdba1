/* SPDX-License-Identifier: Apache-2.0
 * Bytes as a problem with every rule: whatever the solver returns must pass the
 * validator, and a verdict must agree with the height and the bound. */
#include <stdint.h>
#include <stdlib.h>

#include "spad/plan.h"

typedef struct bytes {
    const uint8_t *at;
    const uint8_t *end;
} bytes;

static int64_t take(bytes *b, int64_t below) {
    return b->at < b->end ? *b->at++ % below : 0;
}

static void add_buffer(spad_plan *plan, bytes *b) {
    spad_error error;
    spad_plan_gap gap;
    spad_plan_buffer x = {.lower = take(b, 32), .size = take(b, 64), .lanes = 1 + take(b, 4)};
    x.upper = x.lower + 1 + take(b, 16);
    x.alignment = INT64_C(1) << take(b, 4);
    const int64_t kind = take(b, 16);
    if (kind == 1) x.bank = 64;
    if (kind == 2) {
        x.pinned = true;
        x.offset = x.alignment * take(b, 32);
    }
    if (kind == 3) {
        x.hinted = true;
        x.hint = take(b, 200);
    }
    if (kind == 4) {
        gap.lower = x.lower + take(b, x.upper - x.lower);
        gap.upper = gap.lower + 1;
        gap.window_lower = take(b, x.size + 1);
        gap.window_upper = gap.window_lower + take(b, x.size - gap.window_lower + 1);
        x.gap_count = 1;
        x.gaps = &gap;
    }
    (void)spad_plan_add(NULL, plan, &x, &error);
}

static void judge(const spad_plan *plan, const spad_plan_result *r) {
    const bool fits = r->verdict <= SPAD_PLAN_FEASIBLE;
    if (fits != (r->places != NULL && r->height <= spad_plan_capacity(plan))) abort();
    if (r->places != NULL && r->height < r->bound) abort();
    if (r->verdict == SPAD_PLAN_OPTIMAL && r->height != r->bound) abort();
    int64_t height;
    spad_error error;
    if (fits && (spad_plan_check(&height, plan, r->places, r->count, &error) != SPAD_OK ||
                 height != r->height))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bytes b = {data, data + size};
    spad_plan *plan;
    spad_error error;
    const spad_space space = {
        .name = "fuzz", .lanes = 4, .bytes = SPAD_UNBOUNDED, .alignment = 1, .granule = 1};
    if (spad_plan_create(&plan, NULL, &error) != SPAD_OK) return 0;
    if (take(&b, 2) == 1) (void)spad_plan_set_space(plan, &space, &error);
    const spad_plan_goal goal = take(&b, 2) == 1 ? SPAD_PLAN_DECIDE : SPAD_PLAN_MINIMIZE;
    const int64_t capacity = take(&b, 256) * 4;
    const int64_t pairs = take(&b, 4);
    while (b.at < b.end && spad_plan_count(plan) < 40) add_buffer(plan, &b);
    for (int64_t k = 0; k < pairs; k++) {
        (void)spad_plan_alias(plan, (size_t)take(&b, 40), (size_t)take(&b, 40), &error);
        (void)spad_plan_apart(plan, (size_t)k, (size_t)k + 1, &error);
    }
    if (goal == SPAD_PLAN_DECIDE) (void)spad_plan_set_capacity(plan, capacity, &error);
    const spad_plan_options options = {.goal = goal, .node_limit = 2000, .seed = 1};
    spad_plan_result *result;
    if (spad_plan_solve(&result, plan, &options, &error) == SPAD_OK) {
        judge(plan, result);
        spad_plan_result_destroy(result);
    }
    spad_plan_destroy(plan);
    return 0;
}
