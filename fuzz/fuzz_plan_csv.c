/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a CSV of buffers: read, solve a little, check, write, read again. */
#include <stdint.h>
#include <stdlib.h>

#include "spad/experimental/soft_constraints.h"

static int collect(void *context, const char *bytes, size_t count) {
    size_t *sum = context;
    for (size_t i = 0; i < count; i++) *sum += (unsigned char)bytes[i];
    return 0;
}

/* The same text as an earlier plan; the costs of its soft constraints are those that are counted.
 */
static void solve_with_soft_constraints(const spad_plan *plan, const char *text, size_t size) {
    const size_t count = spad_plan_count(plan);
    spad_plan_place *places = calloc(count + 1, sizeof *places);
    spad_error error;
    spad_soft_result *r;
    if (places == NULL) abort();
    const bool previous =
        spad_plan_read_places(places, count, plan, text, size, "old.csv", &error) == SPAD_OK;
    const spad_soft_constraints constraints = {.slack = 3,
                                               .previous = previous ? places : NULL,
                                               .move_byte_cost = 1,
                                               .reuse_steps = 2,
                                               .reuse_cost = 1};
    const spad_plan_options options = {.node_limit = 300, .timeout_ns = 20000000};
    if (count <= 64 && spad_plan_solve_soft(&r, plan, &constraints, &options, &error) == SPAD_OK) {
        if (r->plan->verdict <= SPAD_PLAN_FEASIBLE &&
            (r->bound > r->cost || r->plan->height > r->limit ||
             spad_plan_check(NULL, plan, r->plan->places, count, &error) != SPAD_OK))
            abort();
        spad_soft_result_destroy(r);
    }
    free(places);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *text = (const char *)data;
    spad_plan *plan;
    spad_error error;
    if (spad_plan_create(&plan, NULL, &error) != SPAD_OK) return 0;
    spad_diagnostics *faults;
    if (spad_diagnostics_create(&faults, NULL, &error) != SPAD_OK) abort();
    const spad_plan_csv_options collects = {.diagnostics = faults};
    const spad_status all = spad_plan_read_csv(plan, text, size, "fuzz.csv", &collects, &error);
    if ((all == SPAD_OK) != (spad_diagnostics_count(faults) == 0)) abort();
    spad_diagnostics_destroy(faults);
    spad_plan_destroy(plan);
    if (spad_plan_create(&plan, NULL, &error) != SPAD_OK) return 0;
    const spad_status status = spad_plan_read_csv(plan, text, size, "fuzz.csv", NULL, &error);
    if (status != all) abort(); /* the first fault is the same */
    if (status != SPAD_OK) {
        if (error.message[0] == '\0' || spad_plan_count(plan) != 0) abort();
    } else {
        const spad_plan_options options = {.node_limit = 300, .seed = 1};
        spad_plan_result *result;
        solve_with_soft_constraints(plan, text, size);
        if (spad_plan_solve(&result, plan, &options, &error) == SPAD_OK) {
            if (result->places != NULL) {
                size_t sum = 0;
                const spad_sink sink = {collect, &sum};
                if (spad_plan_check(NULL, plan, result->places, result->count, &error) != SPAD_OK)
                    abort();
                if (spad_plan_write_csv(plan, 0, result, text, size, &sink, &error) != SPAD_OK)
                    abort();
            }
            spad_plan_result_destroy(result);
        }
    }
    spad_plan_destroy(plan);
    return 0;
}
