/* SPDX-License-Identifier: Apache-2.0
 *
 * Which problem a result was made from. A fingerprint covers all that places and a verdict depend
 * on: buffers with their names, gaps and clocks, aliases, slices, outputs in place, buffers kept
 * apart, capacity and lanes. It is taken from the problem as it is and kept in nothing but results,
 * so no call that changes a problem can forget to update it. Code that reads places together
 * with a problem starts here. O(n).
 */
#include "base/hash.h"
#include "plan/problem/problem.h"

#include <string.h>

/* Of one buffer alone: the hashes of several do not wait for each other. */
static uint64_t hash_of_buffer(const spad_plan_buffer *b) {
    uint64_t hash = 0;
    const int64_t present = (int64_t)b->gap_count << 3 | (b->name != NULL) << 2 |
                            (int64_t)b->pinned << 1 | (int64_t)b->hinted;
    const int64_t numbers[] = {present,      b->lower, b->upper, b->size,
                               b->alignment, b->lanes, b->bank};
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        hash = spad__hash_add(hash, numbers[k]);
    if (b->pinned) hash = spad__hash_add(spad__hash_add(hash, b->offset), b->lane);
    if (b->hinted) hash = spad__hash_add(hash, b->hint);
    if (b->name != NULL)
        hash = spad__hash_add(hash, (int64_t)spad__hash_text(b->name, strlen(b->name)));
    for (size_t k = 0; k < b->gap_count; k++) {
        hash = spad__hash_add(spad__hash_add(hash, b->gaps[k].lower), b->gaps[k].upper);
        hash =
            spad__hash_add(spad__hash_add(hash, b->gaps[k].window_lower), b->gaps[k].window_upper);
    }
    for (size_t k = 0; k < b->clock_count; k++)
        hash = spad__hash_add(spad__hash_add(hash, b->lower_clock[k]), b->upper_clock[k]);
    return hash;
}

static uint64_t mix_pairs(uint64_t hash, const spad__pair *pairs, size_t count) {
    hash = spad__hash_add(hash, (int64_t)count);
    for (size_t k = 0; k < count; k++)
        hash = spad__hash_add(spad__hash_add(hash, pairs[k].a), pairs[k].b);
    return hash;
}

static uint64_t mix_slices(uint64_t hash, const spad_plan *plan) {
    hash = spad__hash_add(hash, -(int64_t)plan->slices.count);
    for (size_t k = 0; k < plan->slices.count; k++) {
        const spad__slice *s = &plan->slices.items[k];
        hash = spad__hash_add(spad__hash_add(spad__hash_add(hash, s->slice), s->whole), s->at);
    }
    return hash;
}

/* Start lanes are the one rule of a space that is not in the buffers already. */
static uint64_t mix_lane_rules(uint64_t hash, const spad_space *space) {
    for (size_t k = 0; k < space->lane_rule_count; k++) {
        const spad_lane_rule *rule = &space->lane_rules[k];
        hash = spad__hash_add(spad__hash_add(hash, rule->lanes_min), rule->lanes_max);
        for (size_t i = 0; i < rule->start_count; i++) hash = spad__hash_add(hash, rule->starts[i]);
    }
    return hash;
}

uint64_t spad_plan_get_fingerprint(const spad_plan *plan) {
    uint64_t hash = spad__hash_add(spad__hash_add(0, plan->capacity), plan->lanes);
    if (plan->space != NULL) hash = mix_lane_rules(hash, plan->space);
    for (size_t i = 0; i < plan->buffers.count; i++)
        hash = spad__hash_add(hash, (int64_t)hash_of_buffer(&plan->buffers.items[i]));
    hash = mix_pairs(hash, plan->aliases.items, plan->aliases.count);
    hash = mix_pairs(hash, plan->aparts.items, plan->aparts.count);
    if (plan->slices.count > 0) hash = mix_slices(hash, plan);
    if (plan->in_places.count > 0)
        hash = mix_pairs(hash, plan->in_places.items, plan->in_places.count);
    return hash;
}

/* `what`: "result" or "reason". */
static spad_status fail_stale(const char *what, const spad_plan *plan, size_t count,
                              spad_error *error) {
    const size_t now = plan->buffers.count;
    if (count == now) {
        spad__fail(error, SPAD_ERR_STALE,
                   "this %s was made from another plan, or from this one before its buffers, rules "
                   "or capacity changed: solve again",
                   what);
    } else {
        spad__fail(error, SPAD_ERR_STALE,
                   "this %s was made from another plan, or from this one before it changed ("
                   "buffers: %zu then, %zu now): solve again",
                   what, count, now);
    }
    spad__fact_amounts(error, (int64_t)now, (int64_t)count, SPAD_NO_FACT);
    return SPAD_ERR_STALE;
}

spad_status spad_plan_match(const spad_plan *plan, const spad_plan_result *result,
                            spad_error *error) {
    if (result->count == plan->buffers.count &&
        result->fingerprint == spad_plan_get_fingerprint(plan))
        return SPAD_OK;
    return fail_stale("result", plan, result->count, error);
}

spad_status spad__plan_match_reason(const spad_plan *plan, const spad_plan_result *result,
                                    const spad_plan_reason *reason, spad_error *error) {
    const spad_status status = spad_plan_match(plan, result, error);
    if (status != SPAD_OK || reason == NULL) return status;
    if (reason->fingerprint == result->fingerprint) return SPAD_OK;
    return fail_stale("reason", plan, reason->count, error);
}

spad_status spad__plan_places(const spad_plan_place **out, const spad_plan *plan,
                              const spad_plan_result *result, spad_error *error) {
    *out = NULL;
    const spad_status status = spad_plan_match(plan, result, error);
    if (status != SPAD_OK) return status;
    if (result->places == NULL) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "the result has no places: no plan was found (%s)",
                          spad_plan_verdict_name(result->verdict));
    }
    *out = result->places;
    return SPAD_OK;
}
