/* SPDX-License-Identifier: Apache-2.0
 *
 * Layouts between the fewest bytes and the least time, for kernels without synchronisation.
 *
 * A schedule (the starts and ends of a simulation) says when each slot is in use. If slots share
 * bytes only where one is over before the other begins, in the program and in this schedule, then
 * every wait that sharing adds is over when the schedule starts the operation. So the simulation of
 * that layout has the same schedule, or an earlier one: the makespan is no longer. (Transfers that
 * become ready earlier may overtake others, which is why every layout is simulated.) Hence
 *   - the schedule in which nothing is shared gives a layout that takes no longer than any;
 *   - the schedule of a layout by hand gives one that takes no longer and, as that layout obeys the
 *     same constraints, no more bytes if the planner finds the lowest.
 *
 * Less bytes. Uses are cut short in steps. First their beginnings: a load that the schedule starts
 * long before its first use may start as late as that use allows. Then all of it, until only
 * program order is left. Each layout has a schedule of its own, which is no later than needed for
 * what the layout shares; planning with it once more often saves bytes.
 *
 * A point is kept if no other is as good in time and bytes. One layout and one simulation per try,
 * at most 2 x STEPS + 3 of them.
 */
#include "sim/frontier.h"
#include "spad/experimental/kernel_rows.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/checked.h"
#include "sim/tune.h"
#include "sim/uses.h"
#include "spad/check.h"

enum {
    FULL = 8, /* eighths: a use as it is */
    STEPS = 11,
    PLAN_NODES = 1000 /* of one question to the planner with uses */
};

/* How much of the time from `begin` to `late` is kept, and of the rest of the use; eighths. */
typedef struct cut_uses {
    int64_t early;
    int64_t all;
} cut_uses;

static const cut_uses uncut = {FULL, FULL};

/* ---- one layout -------------------------------------------------------------------- */

/* Simulates every operation, with the places of a layout or without. */
static spad_status simulate_rows(spad_frontier *f, const spad_kernel *kernel,
                                 const spad_layout *layout, spad_sim **out, spad_error *error) {
    const spad_sim_options options = {.layout = layout,
                                      .no_repeat = true,
                                      .timeout_ns = spad__limit_left(&f->limit),
                                      .watch = f->limit.watch,
                                      .host = &f->host};
    return spad_sim_create(out, kernel, &options, error);
}

static int64_t cut_begin(const spad__use *use, cut_uses cut) {
    const int64_t begin = use->begin + (use->late - use->begin) / FULL * (FULL - cut.early);
    return begin + (use->end - begin) / FULL * (FULL - cut.all);
}

/* A layout in which slots share bytes only where the uses are apart; NULL uses: where program order
 * allows it. *out is NULL if it does not fit. */
static spad_status lay_out_uses(spad_frontier *f, const spad_kernel *kernel, const spad__uses *uses,
                                cut_uses cut, spad_layout **out, spad_error *error) {
    const size_t count = uses != NULL ? uses->count : 0;
    spad_layout_use *rows = spad__new_array(&f->host, count + 1, sizeof *rows);
    *out = NULL;
    if (rows == NULL) return spad__fail_host_memory(error);
    for (size_t i = 0; i < count; i++) {
        const spad__use *use = &uses->items[i];
        rows[i] = (spad_layout_use){use->tensor, use->slot, cut_begin(use, cut), use->end};
    }
    const spad_layout_options options = {
        .timeout_ns = spad__min(spad__limit_left(&f->limit), SPAD_LAYOUT_TIMEOUT),
        .watch = f->limit.watch,
        .seed = f->options.seed,
        .uses = uses != NULL ? rows : NULL,
        .use_count = count,
        .node_limit = uses != NULL ? PLAN_NODES : 0,
        .host = &f->host};
    f->totals.layouts++;
    spad_error failure;
    spad_status status = spad_layout_create(out, kernel, &options, &failure);
    spad__free(&f->host, rows, (count + 1) * sizeof *rows);
    if (status == SPAD_ERR_NO_FIT) return SPAD_OK;
    if (status != SPAD_OK && error != NULL) *error = failure;
    if (status == SPAD_OK && !spad_layout_fits(*out)) {
        spad_layout_destroy(*out);
        *out = NULL;
    }
    return status;
}

/* Takes the layout over. */
static spad_status keep_layout(spad_frontier *f, spad_layout *layout, int64_t makespan,
                               spad_error *error) {
    if (!spad__array_reserve(&f->host, &f->points, 1) ||
        !spad__array_reserve(&f->host, &f->layouts, 1)) {
        spad_layout_destroy(layout);
        return spad__fail_host_memory(error);
    }
    f->layouts.items[f->layouts.count++] = layout;
    f->points.items[f->points.count++] =
        (spad_frontier_point){makespan, spad__tune_placed(layout), layout};
    return SPAD_OK;
}

/* Lays out, simulates and adds a point. `next`: NULL, or becomes the uses in its schedule; none if
 * it does not fit. */
static spad_status try_uses(spad_frontier *f, const spad__uses *uses, cut_uses cut,
                            spad__uses *next, spad_error *error) {
    const spad_kernel *kernel = spad_frontier_get_kernel(f);
    spad_layout *layout;
    spad_sim *sim;
    if (next != NULL) next->count = 0;
    spad_status status = lay_out_uses(f, kernel, uses, cut, &layout, error);
    if (status != SPAD_OK || layout == NULL) return status;
    status = simulate_rows(f, kernel, layout, &sim, error);
    if (status != SPAD_OK) {
        spad_layout_destroy(layout);
        return status;
    }
    if (next != NULL) status = spad__uses_find(next, kernel, sim, &f->host, error);
    const int64_t makespan = spad_sim_get_totals(sim).makespan;
    spad_sim_destroy(sim);
    if (status != SPAD_OK) {
        spad_layout_destroy(layout);
        return status;
    }
    return keep_layout(f, layout, makespan, error);
}

/* ---- the search -------------------------------------------------------------------- */

/* The layout with the addresses of the kernel, and the uses in its schedule. */
static spad_status try_written(spad_frontier *f, spad__uses *uses, spad_error *error) {
    spad_layout *layout;
    spad_sim *sim;
    uses->count = 0;
    spad_status status = lay_out_uses(f, f->given, NULL, uncut, &layout, error);
    if (status != SPAD_OK || layout == NULL) return status;
    status = simulate_rows(f, f->given, layout, &sim, error);
    if (status == SPAD_OK) {
        f->totals.written = spad_sim_get_totals(sim).makespan;
        f->totals.written_bytes = spad__tune_placed(layout);
        status = spad__uses_find(uses, spad_frontier_get_kernel(f), sim, &f->host, error);
        spad_sim_destroy(sim);
    }
    if (status != SPAD_OK || f->released != NULL) {
        spad_layout_destroy(layout);
        return status;
    }
    return keep_layout(f, layout, f->totals.written, error);
}

/* Is there a point that is as good as this one in both? */
static bool is_matched(const spad_frontier *f, int64_t makespan, int64_t bytes) {
    for (size_t i = 0; i < f->points.count; i++)
        if (f->points.items[i].makespan <= makespan && f->points.items[i].bytes <= bytes)
            return true;
    return false;
}

/* Uses cut shorter and shorter, until nothing is left to gain. */
static spad_status try_cuts(spad_frontier *f, const spad__uses *apart, spad__uses *next,
                            spad_error *error) {
    static const cut_uses steps[STEPS] = {{6, 8}, {4, 8}, {2, 8}, {0, 8}, {0, 7}, {0, 6},
                                          {0, 5}, {0, 4}, {0, 3}, {0, 2}, {0, 1}};
    int64_t fewest = INT64_MAX;
    for (size_t i = 0; i < f->points.count; i++)
        fewest = spad__min(fewest, f->points.items[i].bytes);
    for (size_t k = 0; k < STEPS; k++) {
        if (is_matched(f, f->totals.apart, fewest)) return SPAD_OK;
        if (spad__limit_reached(&f->limit)) return SPAD_ERR_TIME;
        spad_status status = try_uses(f, apart, steps[k], next, error);
        if (status == SPAD_OK && next->count > 0) status = try_uses(f, next, uncut, NULL, error);
        if (status != SPAD_OK) return status;
    }
    return SPAD_OK;
}

static spad_status try_all(spad_frontier *f, const spad__uses *apart, spad__uses *other,
                           spad_error *error) {
    spad_status status = try_written(f, other, error);
    if (status == SPAD_OK) status = try_uses(f, apart, uncut, NULL, error);
    if (status == SPAD_OK && f->released != NULL && other->count > 0)
        status = try_uses(f, other, uncut, NULL, error);
    if (status == SPAD_OK && f->released != NULL) status = try_uses(f, NULL, uncut, other, error);
    if (status == SPAD_OK && other->count > 0) status = try_uses(f, other, uncut, NULL, error);
    return status == SPAD_OK ? try_cuts(f, apart, other, error) : status;
}

static spad_status fail_costs(const spad_frontier *f, spad_error *error) {
    const spad_sim_totals *s = &f->totals.simulated;
    return spad__fail(error, SPAD_ERR_ARGUMENT,
                      "%s of %s operations have no cost on '%s', so no layout can be called "
                      "faster; write `cost N ns` in the kernel, use a target file with figures, or "
                      "ask for an answer in steps (--steps)",
                      spad__grouped(s->unknown + s->unclocked).text,
                      spad__grouped(s->operations).text, spad_kernel_get_target(f->given)->name);
}

/* The schedule in which nothing is shared. */
static spad_status simulate_unshared(spad_frontier *f, spad__uses *uses, spad_error *error) {
    const spad_kernel *kernel = spad_frontier_get_kernel(f);
    spad_sim *sim;
    spad_status status = simulate_rows(f, kernel, NULL, &sim, error);
    if (status != SPAD_OK) return status;
    f->totals.simulated = spad_sim_get_totals(sim);
    f->totals.apart = f->totals.simulated.makespan;
    const spad_time_unit unit = f->totals.simulated.unit;
    if (!f->options.steps && (unit == SPAD_TIME_STEPS || unit == SPAD_TIME_MIXED))
        status = fail_costs(f, error);
    if (status == SPAD_OK) status = spad__uses_find(uses, kernel, sim, &f->host, error);
    spad_sim_destroy(sim);
    return status;
}

static spad_status search_frontier(spad_frontier *f, spad_error *error) {
    spad__uses apart = {0};
    spad__uses other = {0};
    spad_error failure;
    spad_status status = simulate_unshared(f, &apart, &failure);
    const bool simulated = status == SPAD_OK;
    if (simulated) status = try_all(f, &apart, &other, &failure);
    spad__array_free(&f->host, &apart);
    spad__array_free(&f->host, &other);
    if (status == SPAD_OK && f->points.count == 0 && f->released != NULL &&
        f->totals.written != SPAD_UNBOUNDED) {
        /* a slot is needed in all of a loop; by hand, slots may take turns within an iteration */
        spad_kernel_destroy(f->released);
        f->released = NULL;
        return search_frontier(f, error);
    }
    f->totals.cut = simulated && status == SPAD_ERR_TIME;
    if (f->totals.cut) return SPAD_OK;
    if (status != SPAD_OK && error != NULL) *error = failure;
    return status;
}

/* With synchronisation there is one layout. */
static spad_status lay_out_synchronised(spad_frontier *f, spad_error *error) {
    const spad_layout_options options = {
        .seed = f->options.seed, .watch = f->limit.watch, .host = &f->host};
    const spad_check_options checks = {.no_advice = true,
                                       .timeout_ns = spad__limit_left(&f->limit),
                                       .watch = f->limit.watch,
                                       .host = &f->host};
    const spad_sim_options timed = {
        .timeout_ns = spad__limit_left(&f->limit), .watch = f->limit.watch, .host = &f->host};
    spad_layout *layout;
    spad_sim *sim;
    spad_status status = spad_sim_create(&sim, f->given, &timed, error);
    if (status != SPAD_OK) return status;
    f->totals.simulated = spad_sim_get_totals(sim);
    const bool stuck = spad_sim_get_stuck(sim) != NULL;
    const spad_time_unit unit = f->totals.simulated.unit;
    spad_sim_destroy(sim);
    if (stuck)
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "kernel '%s' is deadlocked; `spad sim` shows where",
                          spad_kernel_get_name(f->given));
    if (!f->options.steps && (unit == SPAD_TIME_STEPS || unit == SPAD_TIME_MIXED))
        return fail_costs(f, error);
    status = spad_layout_create_checked(&layout, NULL, f->given, &options, &checks, error);
    if (status != SPAD_OK) return status;
    f->totals.layouts = 1;
    f->totals.apart = f->totals.simulated.makespan;
    if (!spad_layout_fits(layout)) {
        spad_layout_destroy(layout);
        return SPAD_OK;
    }
    f->totals.written = f->totals.apart;
    f->totals.written_bytes = spad__tune_placed(layout);
    return keep_layout(f, layout, f->totals.apart, error);
}

/* ---- the result -------------------------------------------------------------------- */

static int compare_points(const void *left, const void *right) {
    const spad_frontier_point *a = left;
    const spad_frontier_point *b = right;
    if (a->bytes != b->bytes) return a->bytes < b->bytes ? -1 : 1;
    return (a->makespan > b->makespan) - (a->makespan < b->makespan);
}

/* Keeps those that are faster than all with fewer bytes. */
static void keep_best(spad_frontier *f) {
    size_t kept = 0;
    if (f->points.count > 0)
        qsort(f->points.items, f->points.count, sizeof *f->points.items, compare_points);
    for (size_t i = 0; i < f->points.count; i++) {
        const spad_frontier_point *point = &f->points.items[i];
        if (kept > 0 && point->makespan >= f->points.items[kept - 1].makespan) continue;
        f->points.items[kept++] = *point;
    }
    f->points.count = kept;
}

spad_status spad_frontier_create(spad_frontier **out, const spad_kernel *kernel,
                                 const spad_frontier_options *options, spad_error *error) {
    const spad_frontier_options filled = options != NULL ? *options : (spad_frontier_options){0};
    spad__limit limit;
    *out = NULL;
    spad_status status = spad__limit_start(
        &limit, filled.timeout_ns != 0 ? filled.timeout_ns : SPAD_FRONTIER_TIMEOUT, filled.watch,
        error);
    if (status != SPAD_OK) return status;
    const spad_host host = spad__host_or_default(filled.host);
    spad_frontier *f = spad__new(&host, sizeof *f);
    if (f == NULL) return spad__fail_host_memory(error);
    f->host = host;
    f->given = kernel;
    f->options = filled;
    f->limit = limit;
    f->totals = (spad_frontier_totals){.apart = SPAD_UNBOUNDED, .written = SPAD_UNBOUNDED};
    const bool implicit = spad_kernel_is_implicit(kernel);
    if (filled.release && implicit)
        status = spad_kernel_release(&f->released, kernel, &f->host, error);
    if (status == SPAD_OK)
        status = implicit ? search_frontier(f, error) : lay_out_synchronised(f, error);
    if (status != SPAD_OK) {
        spad_frontier_destroy(f);
        return status;
    }
    keep_best(f);
    *out = f;
    return SPAD_OK;
}

void spad_frontier_destroy(spad_frontier *frontier) {
    if (frontier == NULL) return;
    const spad_host host = frontier->host;
    for (size_t i = 0; i < frontier->layouts.count; i++)
        spad_layout_destroy(frontier->layouts.items[i]);
    spad__array_free(&host, &frontier->layouts);
    spad__array_free(&host, &frontier->points);
    spad_kernel_destroy(frontier->released);
    spad__free(&host, frontier, sizeof *frontier);
}

spad_frontier_totals spad_frontier_get_totals(const spad_frontier *frontier) {
    return frontier->totals;
}

const spad_kernel *spad_frontier_get_kernel(const spad_frontier *frontier) {
    return frontier->released != NULL ? frontier->released : frontier->given;
}

size_t spad_frontier_point_count(const spad_frontier *frontier) {
    return frontier->points.count;
}

const spad_frontier_point *spad_frontier_get_point(const spad_frontier *frontier, size_t number) {
    return number < frontier->points.count ? &frontier->points.items[number] : NULL;
}

const spad_frontier_point *spad_frontier_choose(const spad_frontier *frontier,
                                                spad_frontier_goal goal) {
    if (frontier->points.count == 0) return NULL;
    return &frontier->points.items[goal == SPAD_FOR_BYTES ? 0 : frontier->points.count - 1];
}
