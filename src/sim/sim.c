/* SPDX-License-Identifier: Apache-2.0
 *
 * A simulation: one block of a kernel (block.c), again for the blocks of a unit in the waves of its
 * grid, and answers to questions.
 */
#include "sim/sim.h"
#include "sim/sim_report.h"
#include "spad/experimental/kernel_rows.h"

#include <stdlib.h>

#include "base/checked.h"
#include "base/compare.h"
#include "kernel/kernel.h"
#include "kernel/origin.h"

const char *spad__wait_kind_name(spad__wait_kind kind) {
    static const char *const names[SPAD__WAIT_KINDS] = {
        "none", "engine", "data", "reader", "writer", "port", "startup", "window", "sync", "issue"};
    return kind < SPAD__WAIT_KINDS ? names[kind] : "?";
}

/* ---- the grid ----------------------------------------------------------------------- */

/* At least as long as blocks take that do the same at the same time. Side by side, one block copies
 * while another one multiplies, as if neither knew of the other. Measured with copies by threads
 * (docs/results/calibrate.md), those of one block can take 2.4 times as long while another one
 * multiplies. In all, a step takes about as long as if each did its part of it at the same time as
 * the others. Waiting for memory off chip does not hinder the others, so that here none is waited
 * for: what a block does then is in the simulation side by side. The longer time counts. */
static spad_status run_in_step(spad_sim *wave, spad_error *error) {
    spad_sim *steady = NULL;
    if (wave->together <= 1) return SPAD_OK;
    spad_status status = spad__sim_again(&steady, wave, error);
    if (status == SPAD_OK) {
        steady->active_units = wave->active_units;
        steady->in_step = wave->together;
        status = spad__sim_block(steady, error);
    }
    if (status == SPAD_OK) wave->in_step_time = steady->totals.makespan;
    spad_sim_destroy(steady);
    return status;
}

enum { UNIT_ROUNDS = 3 }; /* of the blocks of a unit that are simulated */

static spad_status fail_long_grid(spad_error *error) {
    return spad__fail(error, SPAD_ERR_OVERFLOW,
                      "the grid takes more than 2^63 picoseconds; use a smaller one");
}

/* The blocks of a unit in a wave, side by side; NULL: no such wave, or `sim` is that
 * simulation. Without synchronisation a block is simulated alone: grid.c has what several take. */
static spad_status run_wave(spad_sim **out, const spad_sim *sim, spad__wave wave,
                            spad_error *error) {
    const int64_t together = spad_kernel_is_implicit(sim->kernel) ? 1 : wave.blocks;
    *out = NULL;
    if (wave.blocks == 0 || (wave.units == sim->active_units && together == 1)) return SPAD_OK;
    spad_status status = spad__sim_again(out, sim, error);
    if (status != SPAD_OK) return status;
    (*out)->active_units = wave.units;
    (*out)->together = together;
    status = spad__sim_find_load(*out, error);
    if (status == SPAD_OK) status = spad__sim_block(*out, error);
    return status == SPAD_OK ? run_in_step(*out, error) : status;
}

/* The time of a unit that has `blocks` of the grid in all, as many at a time as the full wave. */
static spad_status run_blocks(const spad_sim *full, int64_t blocks, int64_t *out,
                              spad_error *error) {
    spad_sim *unit = NULL;
    spad_status status = spad__sim_again(&unit, full, error);
    if (status == SPAD_OK) {
        unit->active_units = full->active_units;
        unit->together = full->together;
        unit->load = full->load;
        unit->blocks = blocks;
        status = spad__sim_block(unit, error);
    }
    if (status == SPAD_OK) *out = unit->totals.makespan;
    spad_sim_destroy(unit);
    return status;
}

/* The unit that has most of the grid: blocks begin as soon as others end, so that the end of one
 * and the beginning of the next lie beside the steps of others. A few rounds are simulated; what
 * the last of them adds, each of those that are left out adds as well. */
static spad_status run_unit_rounds(const spad_sim *sim, const spad_sim *full, int64_t *out,
                                   spad_error *error) {
    const spad__sim_grid *g = &sim->grid;
    const int64_t all = g->blocks / g->units + (g->blocks % g->units != 0);
    const int64_t left_out = spad__max(all / g->per_unit - UNIT_ROUNDS, 0);
    const int64_t some = all - left_out * g->per_unit;
    int64_t before = 0;
    *out = 0;
    if (full == NULL || full->together <= 1 || all <= g->per_unit) return SPAD_OK;
    spad_status status = run_blocks(full, some, out, error);
    if (status == SPAD_OK && left_out > 0) {
        status = run_blocks(full, some - g->per_unit, &before, error);
    }
    if (status != SPAD_OK || left_out == 0) return status;
    int64_t more;
    const bool fits = spad__mul(*out - before, left_out, &more) && spad__add(*out, more, out);
    return fits ? SPAD_OK : fail_long_grid(error);
}

static bool is_same_wave(spad__wave a, spad__wave b) {
    return a.blocks == b.blocks && a.units == b.units;
}

static spad_status run_waves(spad_sim *sim, spad_error *error) {
    const spad__wave waves[2] = {spad__grid_full_wave(sim), spad__grid_last_wave(sim)};
    spad_sim *full = NULL;
    spad_sim *last = NULL;
    spad_status status = run_wave(&full, sim, waves[0], error);
    const bool again = !is_same_wave(waves[0], waves[1]);
    if (status == SPAD_OK && again) status = run_wave(&last, sim, waves[1], error);
    int64_t rounds = 0;
    if (status == SPAD_OK) status = run_unit_rounds(sim, full, &rounds, error);
    if (status == SPAD_OK && !spad__grid_finish(sim, full, again ? last : full, rounds)) {
        status = fail_long_grid(error);
    }
    spad_sim_destroy(full);
    spad_sim_destroy(last);
    return status;
}

static spad_status run_grid(spad_sim *sim, spad_error *error) {
    spad_status status = spad__grid_start(sim, error);
    if (status == SPAD_OK) status = spad__sim_find_load(sim, error);
    if (status == SPAD_OK) status = spad__sim_block(sim, error);
    if (status != SPAD_OK) return status;
    sim->totals.time = sim->totals.makespan;
    return sim->is_stuck || sim->grid.units == 0 ? SPAD_OK : run_waves(sim, error);
}

spad_status spad_sim_create(spad_sim **out, const spad_kernel *kernel,
                            const spad_sim_options *options, spad_error *error) {
    *out = NULL;
    spad_sim_options filled = options != NULL ? *options : (spad_sim_options){0};
    spad__limit limit;
    spad_status status = spad__limit_start(&limit, filled.timeout_ns, filled.watch, error);
    if (status != SPAD_OK) return status;
    if (filled.operation_limit < 0 || filled.repeat_after < 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a limit of %lld operations is negative",
                          (long long)spad__min(filled.operation_limit, filled.repeat_after));
    }
    const spad_status match = spad__match_layout(kernel, filled.layout, error);
    if (match != SPAD_OK) return match;
    if (filled.repeat_after == 0) filled.repeat_after = SPAD_SIM_REPEAT_AFTER;
    if (filled.operation_limit == 0) filled.operation_limit = SPAD_SIM_OPERATIONS;
    spad_sim *sim;
    status = spad__sim_make(&sim, kernel, &filled, limit, error);
    if (status == SPAD_OK) status = run_grid(sim, error);
    if (status != SPAD_OK) {
        spad_sim_destroy(sim);
        return status;
    }
    *out = sim;
    return SPAD_OK;
}

/* ---- questions --------------------------------------------------------------------- */

spad_sim_totals spad_sim_get_totals(const spad_sim *sim) {
    return sim->totals;
}

const char *spad_sim_get_stuck(const spad_sim *sim) {
    return sim->is_stuck ? sim->stuck : NULL;
}

spad__sim_engine spad__sim_get_engine(const spad_sim *sim, size_t number) {
    return number < sim->target->engine_count ? sim->engines[number] : (spad__sim_engine){0};
}

spad__sim_engine spad__sim_get_engine_path(const spad_sim *sim, size_t engine, size_t path) {
    if (engine >= sim->target->engine_count || path >= sim->target->engines[engine].path_count) {
        return (spad__sim_engine){0};
    }
    return sim->parts[sim->first_path[engine] + path];
}

size_t spad__sim_row_count(const spad_sim *sim) {
    return sim->rows.count;
}

spad__sim_row spad__sim_get_row(const spad_sim *sim, size_t number) {
    if (number >= sim->rows.count) {
        return (spad__sim_row){.statement = -1,
                               .agent = -1,
                               .engine = -1,
                               .cause = -1,
                               .blocker = -1,
                               .tensor = -1,
                               .slot = -1,
                               .object = -1,
                               .element = -1,
                               .path = -1};
    }
    spad__sim_row row = sim->rows.items[number];
    if (row.value_count > 0) row.values = sim->values.items + sim->first_values.items[number];
    return row;
}

size_t spad__sim_path_count(const spad_sim *sim) {
    return sim->path.count;
}

size_t spad__sim_get_path(const spad_sim *sim, size_t number) {
    return number < sim->path.count ? sim->path.items[number] : SIZE_MAX;
}
