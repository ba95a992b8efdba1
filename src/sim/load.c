/* SPDX-License-Identifier: Apache-2.0
 *
 * How much of its share of the chip's memory a unit uses.
 *
 * The more of it all units use, the longer a transfer waits for those of others (a queue; see
 * cost_rates.c). And the longer they wait, the less a unit uses. So the use that a simulation is
 * given must be the one that comes out of it: the point is found by bisection, since the one falls
 * as the other rises.
 */
#include "base/checked.h"
#include "sim/sim.h"

enum { CLOSE_ENOUGH = 4 }; /* thousandths */

/* Does a memory of the chip make transfers wait? */
static bool has_queue(const spad_target *target) {
    for (size_t i = 0; i < target->space_count; i++) {
        if (target->spaces[i].off_chip && target->spaces[i].queue_permille > 0) return true;
    }
    return false;
}

/* Thousandths of the time in which the memory, or its cache, works for its blocks: for all that
 * they read and write. */
static int64_t memory_use(const spad_sim *sim) {
    int64_t busy = 0;
    for (size_t i = sim->first_memory; i < sim->part_count; i++) {
        busy = spad__max(busy, sim->parts[i].busy);
    }
    int64_t part;
    if (sim->totals.makespan == 0) return 0;
    return spad__scale_up(busy, 1000, sim->totals.makespan, &part) ? part : 1000;
}

/* The rate that the blocks of a unit use if transfers wait as if `load` of the share were in use.
 */
static spad_status try_load(const spad_sim *sim, int64_t load, int64_t *use, spad_error *error) {
    spad_sim *trial;
    spad_status status = spad__sim_again(&trial, sim, error);
    if (status == SPAD_OK) {
        trial->active_units = sim->active_units;
        trial->together = sim->together;
        trial->load = load;
        status = spad__sim_block(trial, error);
        if (status == SPAD_OK) *use = memory_use(trial);
    }
    spad_sim_destroy(trial);
    return status;
}

spad_status spad__sim_find_load(spad_sim *sim, spad_error *error) {
    if (sim->active_units == 0 || !has_queue(sim->target)) return SPAD_OK;
    int64_t low = 0; /* invariant: a unit uses more than `low`, and at most `high` */
    int64_t high = 0;
    spad_status status = try_load(sim, 0, &high, error);
    high = spad__min(high, SPAD__LOAD_MOST);
    while (status == SPAD_OK && high - low > CLOSE_ENOUGH) {
        const int64_t middle = low + (high - low) / 2;
        int64_t use = 0;
        status = try_load(sim, middle, &use, error);
        if (use > middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    sim->load = low;
    return status;
}
