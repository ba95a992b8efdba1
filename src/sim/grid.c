/* SPDX-License-Identifier: Apache-2.0
 *
 * The time of a grid from the time of one block.
 *
 * The blocks that a unit has are simulated side by side, with the share of the chip's memory rate
 * that is left when all units of the chip work: they begin together, fill each other's waiting, and
 * share the engines. Where a unit has several at a time, a later block begins when one ends (sim.c
 * simulates some rounds of that); otherwise the grid takes one wave after the other. The last wave
 * has fewer blocks, on fewer units if there are not enough for all, which then have a larger share.
 * Of a kernel without synchronisation one block is simulated. b of them then take the longer of its
 * time and of b times its busiest engine or path.
 */
#include "base/assert.h"
#include "base/checked.h"
#include "kernel/kernel.h"
#include "layout/occupancy.h"
#include "sim/sim.h"
#include "sim/sim_report.h"

spad_status spad__grid_start(spad_sim *sim, spad_error *error) {
    spad__sim_grid *g = &sim->grid;
    if (sim->options.grid < 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a grid of %lld blocks: it has at least one",
                          (long long)sim->options.grid);
    }
    const int64_t blocks =
        sim->options.grid > 0 ? sim->options.grid : spad__kernel_get_grid(sim->kernel);
    if (blocks == 0) return SPAD_OK;
    g->blocks = blocks;
    g->units = sim->target->units;
    g->occupancy = spad__occupancy_get(sim->kernel, sim->options.layout);
    g->per_unit = spad__max(g->occupancy.blocks, 1);
    if (g->units == 0) return SPAD_OK;
    /* no more than the grid has */
    g->per_unit = spad__min(g->per_unit, g->blocks / g->units + (g->blocks % g->units != 0));
    int64_t wave;
    if (!spad__mul(g->units, g->per_unit, &wave)) wave = INT64_MAX;
    g->waves = g->blocks / wave;
    g->tail = g->blocks % wave;
    spad__assert(sim->active_units == 0);
    sim->active_units = spad__min(g->units, g->blocks);
    return SPAD_OK;
}

spad__wave spad__grid_full_wave(const spad_sim *sim) {
    return (spad__wave){sim->grid.per_unit, sim->active_units};
}

spad__wave spad__grid_last_wave(const spad_sim *sim) {
    const spad__sim_grid *g = &sim->grid;
    return (spad__wave){g->tail / g->units + (g->tail % g->units != 0),
                        spad__min(g->units, g->tail)};
}

/* The time of a wave from a simulation of all blocks of a unit, or of one of them. */
static bool wave_time(const spad_sim *sim, int64_t blocks, int64_t *out) {
    int64_t work = 0;
    if (sim->together <= 1 && !spad__mul(sim->totals.bound, blocks, &work)) return false;
    *out = spad__max(spad__max(sim->totals.makespan, sim->in_step_time), work);
    return true;
}

/* Of waves one after the other, each with the start of its blocks; the launch has that of the
 * first. */
static bool waves_time(const spad_sim *sim, int64_t wave, int64_t tail, int64_t *out) {
    const spad__sim_grid *g = &sim->grid;
    const int64_t later = g->waves + (g->tail > 0) - 1;
    int64_t starts;
    return spad__mul(wave, g->waves, out) && spad__add(*out, tail, out) &&
           spad__mul(sim->target->block_ns, 1000, &starts) && spad__mul(starts, later, &starts) &&
           spad__add(*out, starts, out);
}

bool spad__grid_finish(spad_sim *sim, const spad_sim *full, const spad_sim *last, int64_t rounds) {
    spad__sim_grid *g = &sim->grid;
    const int64_t rest = spad__grid_last_wave(sim).blocks;
    if (!wave_time(full != NULL ? full : sim, g->per_unit, &g->wave_time)) return false;
    if (rest > 0 && !wave_time(last != NULL ? last : sim, rest, &g->tail_time)) return false;
    int64_t launch;
    int64_t all;
    if (rounds > 0) { /* no shorter than blocks that do the same at the same time */
        const int64_t tail = rest > 0 && last != NULL ? last->in_step_time : 0;
        if (!waves_time(sim, full->in_step_time, tail, &all)) return false;
        all = spad__max(all, rounds);
    } else if (!waves_time(sim, g->wave_time, g->tail_time, &all)) {
        return false;
    }
    return spad__mul(sim->target->launch_ns, 1000, &launch) &&
           spad__add(all, launch, &sim->totals.time);
}

spad__sim_grid spad__sim_get_grid(const spad_sim *sim) {
    return sim->grid;
}
