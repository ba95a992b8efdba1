/* SPDX-License-Identifier: Apache-2.0
 *
 * Buffers with lifetimes in, offsets out: the lowest plan, then whether there is one within a
 * capacity, and by how much there is not.
 */
#include <stdio.h>

#include "spad/spad.h"

static const spad_plan_buffer buffers[] = {
    {.name = "input", .lower = 0, .upper = 3, .size = 4096},
    {.name = "conv", .lower = 1, .upper = 5, .size = 8192, .alignment = 256},
    {.name = "pool", .lower = 4, .upper = 7, .size = 2048},
    {.name = "dense", .lower = 6, .upper = 9, .size = 6144},
};

/* Solves for a capacity and prints the offsets, or by how much it does not fit. */
static spad_status solve(spad_plan *plan, int64_t capacity, spad_error *error) {
    spad_plan_result *result = NULL;
    spad_plan_reason *reason = NULL;
    spad_status status = spad_plan_set_capacity(plan, capacity, error);
    if (!status) status = spad_plan_solve(&result, plan, NULL, error);
    if (!status && result->verdict == SPAD_PLAN_INFEASIBLE) {
        status = spad_plan_explain(&reason, plan, result, 0, NULL, error);
        if (!status)
            printf("%lld B are too few by %lld B\n", (long long)capacity, (long long)reason->over);
    } else if (!status) {
        printf("%s, %lld B\n", spad_plan_verdict_name(result->verdict), (long long)result->height);
        for (size_t i = 0; i < spad_plan_count(plan); i++) {
            printf("%-6s at %lld\n", spad_plan_get(plan, i)->name,
                   (long long)result->places[i].offset);
        }
    }
    spad_plan_reason_destroy(reason);
    spad_plan_result_destroy(result);
    return status;
}

int main(void) {
    spad_plan *plan = NULL;
    spad_error error;
    spad_status status = spad_plan_create(&plan, NULL, &error);
    for (size_t i = 0; !status && i < sizeof buffers / sizeof buffers[0]; i++) {
        status = spad_plan_add(NULL, plan, &buffers[i], &error);
    }
    if (!status) status = solve(plan, SPAD_UNBOUNDED, &error);
    if (!status) status = solve(plan, 10000, &error);
    if (status) fprintf(stderr, "%s\n", error.message);
    spad_plan_destroy(plan);
    return status ? 1 : 0;
}
