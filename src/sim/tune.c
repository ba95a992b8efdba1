/* SPDX-License-Identifier: Apache-2.0
 *
 * The search for depths.
 *
 * Where there are few combinations, all are simulated. Otherwise a descent: from all
 * knobs at their largest, always one knob goes to its next smaller value, the one that
 * costs the least time, and of equal ones the one that gives back the most bytes. So it
 * gives up for nothing what gives nothing, and then buys bytes with time; its way is the
 * frontier. With k knobs of v values that is O(v k^2) simulations instead of v^k. Where
 * operations run in order, deeper rings are never slower, so its first makespan is a
 * lower bound for all combinations.
 *
 * Then the planner: of what was examined, the fastest that fits, with its places. Tensors
 * that share bytes wait for one another, so a time without places is a lower bound (but for
 * Graham's anomalies): the fastest come first, and what cannot be faster than the best is
 * not placed.
 *
 * Then tensors go in front of their loops. A kernel that has been changed so has other
 * rings, so the search starts again with it, until nothing is hoisted; every round but the
 * last hoists one tensor at least. The kernel that a round starts with is one of its
 * choices, so no round makes it worse.
 */
#include "sim/tune.h"
#include "sim/sim_report.h"
#include "spad/experimental/kernel_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/compare.h"
#include "spad/check.h"

/* Choices that fit: the fastest with its places is taken. */
enum { PLACED_MOST = 64 };

/* ---- limits ------------------------------------------------------------------------ */

/* Time that a layout may take. */
static int64_t layout_time(const spad_tune *tune) {
    const int64_t left = spad__limit_left(&tune->limit);
    return left == 0 ? SPAD_LAYOUT_TIMEOUT : spad__min(left, SPAD_LAYOUT_TIMEOUT);
}

/* ---- one combination --------------------------------------------------------------- */

/* The layout that an analysis of the kernel has, too. */
static spad_status lay_out_checked(spad_tune *tune, const spad_kernel *kernel, spad_layout **out,
                                   spad_error *error) {
    const spad_layout_options options = {
        .timeout_ns = layout_time(tune), .watch = tune->limit.watch, .host = &tune->host};
    const spad_check_options checks = {.no_advice = true,
                                       .timeout_ns = spad__limit_left(&tune->limit),
                                       .watch = tune->limit.watch,
                                       .host = &tune->host};
    return spad_layout_create_checked(out, NULL, kernel, &options, &checks, error);
}

/* Bytes that a layout takes of all memories on chip. */
int64_t spad__tune_placed(const spad_layout *layout) {
    const spad_target *target = spad_kernel_get_target(spad_layout_get_kernel(layout));
    int64_t total = 0;
    for (size_t i = 0; i < spad_layout_space_count(layout); i++) {
        const spad_layout_space *row = spad_layout_get_space(layout, i);
        const spad_space *space = &target->spaces[row->space];
        int64_t bytes;
        if (space->off_chip) continue;
        if (!spad__mul(row->height, space->lanes, &bytes) || !spad__add(total, bytes, &total)) {
            return INT64_MAX;
        }
    }
    return total;
}

/* The bytes of each space; stays at the limit of 64 bits. NULL: no memory. */
static const int64_t *placed_in_spaces(spad_tune *tune, const spad_layout *layout) {
    const spad_target *target = spad_kernel_get_target(tune->kernel);
    int64_t *bytes = spad__arena_array(&tune->arena, target->space_count, sizeof *bytes);
    if (bytes == NULL) return NULL;
    for (size_t i = 0; i < target->space_count; i++) bytes[i] = 0;
    for (size_t i = 0; i < spad_layout_space_count(layout); i++) {
        const spad_layout_space *row = spad_layout_get_space(layout, i);
        const spad_space *space = &target->spaces[row->space];
        if (space->off_chip) continue;
        if (!spad__mul(row->height, space->lanes, &bytes[row->space])) {
            bytes[row->space] = INT64_MAX;
        }
    }
    return bytes;
}

/* Does it fit? The one place that asks the planner; fills in `planned`, `placed` and `fits` of the
 * point. SPAD_ERR_TIME: time was up before that was known. */
static spad_status test_fit(spad_tune *tune, const spad_kernel *kernel, spad__tune_point *point,
                            spad_error *error) {
    spad_layout *layout;
    bool *fits = &point->fits;
    *fits = false;
    point->planned = SPAD_UNBOUNDED;
    point->placed = 0;
    point->spaces = NULL;
    spad_error failure;
    spad_status status = lay_out_checked(tune, kernel, &layout, &failure);
    if (status == SPAD_ERR_NO_FIT) return SPAD_OK;
    if (status != SPAD_OK) {
        if (error != NULL) *error = failure;
        return status;
    }
    *fits = spad_layout_fits(layout);
    if (*fits) {
        point->placed = spad__tune_placed(layout);
        point->spaces = placed_in_spaces(tune, layout);
        if (point->spaces == NULL) {
            spad_layout_destroy(layout);
            return spad__fail_host_memory(error);
        }
        const spad_sim_options with_places = {.layout = layout,
                                              .timeout_ns = spad__limit_left(&tune->limit),
                                              .watch = tune->limit.watch,
                                              .host = &tune->host};
        spad_sim *sim;
        status = spad_sim_create(&sim, kernel, &with_places, error);
        if (status == SPAD_OK) {
            if (spad_sim_get_stuck(sim) == NULL) point->planned = spad_sim_get_totals(sim).time;
            spad_sim_destroy(sim);
        }
    }
    spad_layout_destroy(layout);
    bool late = false;
    if (status == SPAD_OK && !*fits) status = spad__tune_check_limit(tune, &late, error);
    if (late)
        status = spad__limit_fail(&tune->limit, tune->totals.simulations, "simulations", error);
    if (status != SPAD_OK) *fits = false;
    return status;
}

/* The product of a list of counts, at most `most`. */
static int64_t product_of(spad_amounts list, int64_t most) {
    int64_t product = 1;
    for (size_t i = 0; i < list.count; i++) {
        if (!spad__mul(product, list.items[i].value, &product)) return most;
    }
    return spad__min(product, most);
}

/* Places that the tiles of a tensor share. */
static int64_t tensor_places(const spad_kernel_tensor *t) {
    if (t->mode != SPAD_MODE_MOD) return t->slots;
    int64_t places;
    if (!spad__mul(product_of(t->free, t->tiles), product_of(t->par, t->tiles), &places) ||
        !spad__mul(places, product_of(t->banks, t->tiles), &places)) {
        return t->tiles;
    }
    return spad__min(places, t->tiles);
}

int64_t spad__tune_bytes(const spad_kernel *kernel) {
    const spad_target *target = spad_kernel_get_target(kernel);
    int64_t total = 0;
    for (size_t i = 0; i < spad_kernel_tensor_count(kernel); i++) {
        const spad_kernel_tensor *t = spad_kernel_get_tensor(kernel, i);
        int64_t bytes;
        if (t->home != (int64_t)i || target->spaces[t->space].off_chip) continue;
        if (!spad__mul(t->tile_bytes * t->tile_lanes, tensor_places(t), &bytes) ||
            !spad__add(total, bytes, &total)) {
            return INT64_MAX;
        }
    }
    return total;
}

/* Simulates; *makespan is SPAD_UNBOUNDED for a kernel that is stuck. SPAD_ERR_TIME. */
static spad_status simulate(spad_tune *tune, const spad_kernel *kernel,
                            const spad_sim_options *options, int64_t *makespan, spad_error *error) {
    spad_sim_options filled = options != NULL ? *options : (spad_sim_options){0};
    spad_sim *sim;
    filled.host = &tune->host;
    filled.timeout_ns = spad__limit_left(&tune->limit);
    filled.watch = tune->limit.watch;
    const spad_status status = spad_sim_create(&sim, kernel, &filled, error);
    if (status != SPAD_OK) return status;
    const spad_sim_totals totals = spad_sim_get_totals(sim);
    *makespan = spad_sim_get_stuck(sim) == NULL ? totals.time : SPAD_UNBOUNDED;
    if (tune->totals.simulations++ == 0) {
        tune->totals.bound = totals.bound;
        tune->totals.simulated = totals;
    }
    if (totals.unit != tune->totals.simulated.unit) tune->totals.simulated.unit = SPAD_TIME_MIXED;
    tune->totals.operations += (int64_t)spad__sim_row_count(sim);
    if (tune->totals.operations >= tune->options.operations_most) tune->totals.cut = true;
    spad_sim_destroy(sim);
    return SPAD_OK;
}

/* Time is up: what was asked about is not known, and the search is cut. */
static spad_status cut(spad_tune *tune) {
    tune->totals.cut = true;
    return SPAD_OK;
}

/* A point that was not run to its end for lack of time has no makespan. */
static spad_status evaluate_point(spad_tune *tune, const int64_t *values, spad__tune_point *out,
                                  spad_error *error) {
    spad_kernel *kernel;
    spad_status status = spad__tune_shape(&kernel, tune, values, error);
    if (status != SPAD_OK) return status;
    *out = (spad__tune_point){
        .makespan = SPAD_UNBOUNDED, .values = values, .bytes = spad__tune_bytes(kernel)};
    status = simulate(tune, kernel, NULL, &out->makespan, error);
    spad_kernel_destroy(kernel);
    return status == SPAD_ERR_TIME ? cut(tune) : status;
}

/* Keeps a point, with its own copy of the values. */
static bool keep(spad_tune *tune, const spad__tune_point *point) {
    const size_t size = tune->knobs.count * sizeof *point->values;
    int64_t *values = spad__arena_array(&tune->arena, tune->knobs.count + 1, sizeof *values);
    if (values == NULL || !spad__array_reserve(&tune->host, &tune->looked, 1)) return false;
    memcpy(values, point->values, size);
    tune->looked.items[tune->looked.count] = *point;
    tune->looked.items[tune->looked.count++].values = values;
    return true;
}

/* ---- all combinations -------------------------------------------------------------- */

/* Counts on: the next combination, false after the last. */
static bool next_combination(const spad_tune *tune, size_t *at) {
    for (size_t i = tune->knobs.count; i-- > 0;) {
        if (++at[i] < tune->knobs.items[i].value_count) return true;
        at[i] = 0;
    }
    return false;
}

static void read_values(const spad_tune *tune, const size_t *at, int64_t *values) {
    for (size_t i = 0; i < tune->knobs.count; i++) values[i] = tune->knobs.items[i].values[at[i]];
}

static spad_status evaluate_all(spad_tune *tune, size_t *at, int64_t *values, spad_error *error) {
    do {
        spad__tune_point point;
        read_values(tune, at, values);
        const spad_status status = evaluate_point(tune, values, &point, error);
        if (status != SPAD_OK) return status;
        if (!keep(tune, &point)) return spad__fail_host_memory(error);
    } while (!tune->totals.cut && next_combination(tune, at));
    return SPAD_OK;
}

/* ---- descent ----------------------------------------------------------------------- */

static bool is_better_step(const spad__tune_point *a, const spad__tune_point *b) {
    if (a->makespan != b->makespan) return a->makespan < b->makespan;
    return a->bytes < b->bytes;
}

static spad_status descend(spad_tune *tune, size_t *at, int64_t *values, spad_error *error) {
    for (size_t i = 0; i < tune->knobs.count; i++) at[i] = tune->knobs.items[i].value_count - 1;
    for (;;) {
        spad__tune_point point;
        read_values(tune, at, values);
        spad_status status = evaluate_point(tune, values, &point, error);
        if (status != SPAD_OK) return status;
        if (!keep(tune, &point)) return spad__fail_host_memory(error);

        size_t best = SIZE_MAX;
        spad__tune_point best_point = {0};
        for (size_t i = 0; i < tune->knobs.count; i++) {
            if (at[i] == 0) continue;
            if (tune->totals.cut) return SPAD_OK;
            values[i] = tune->knobs.items[i].values[at[i] - 1];
            status = evaluate_point(tune, values, &point, error);
            if (status != SPAD_OK) return status;
            values[i] = tune->knobs.items[i].values[at[i]];
            if (best == SIZE_MAX || is_better_step(&point, &best_point)) {
                best = i;
                best_point = point;
            }
        }
        if (best == SIZE_MAX) return SPAD_OK;
        at[best]--;
    }
}

/* ---- the choice -------------------------------------------------------------------- */

/* Time, then bytes, then the order in which they were examined. */
typedef struct ranked {
    int64_t makespan;
    int64_t bytes;
    size_t number;
} ranked;

static int compare_ranked(const void *left, const void *right) {
    const ranked *a = left;
    const ranked *b = right;
    int order = spad__compare(a->makespan, b->makespan);
    if (order == 0) order = spad__compare(a->bytes, b->bytes);
    if (order == 0) order = spad__compare((int64_t)a->number, (int64_t)b->number);
    return order;
}

/* Asks the planner, if it has not been asked; not once time is up. */
static spad_status place(spad_tune *tune, spad__tune_point *point, spad_error *error) {
    spad_kernel *kernel;
    bool late;
    if (point->planned != 0) return SPAD_OK;
    spad_status status = spad__tune_check_limit(tune, &late, error);
    if (status != SPAD_OK || late) return status;
    status = spad__tune_shape(&kernel, tune, point->values, error);
    if (status != SPAD_OK) return status;
    status = test_fit(tune, kernel, point, error);
    spad_kernel_destroy(kernel);
    if (status == SPAD_ERR_TIME) {
        point->planned = 0;
        return cut(tune);
    }
    return status;
}

static bool is_better(const spad__tune_point *a, const spad__tune_point *b) {
    if (a->planned != b->planned) return a->planned < b->planned;
    return a->bytes < b->bytes;
}

static spad_status choose_point(spad_tune *tune, const spad__tune_point *point, spad_error *error) {
    const spad_status status = spad__tune_shape(&tune->chosen, tune, point->values, error);
    if (status != SPAD_OK) return status;
    tune->totals.makespan = point->makespan;
    tune->totals.planned = point->planned;
    tune->totals.bytes = point->bytes;
    tune->totals.placed = point->placed;
    tune->totals.spaces = point->spaces;
    for (size_t k = 0; k < tune->knobs.count; k++) {
        tune->knobs.items[k].chosen = point->values[k];
    }
    return SPAD_OK;
}

/* Takes the fastest point with places, of equal ones the one with the fewest bytes. The first
 * one that was examined is what the round started with: nothing worse is taken. */
static spad_status choose(spad_tune *tune, const ranked *order, spad_error *error) {
    const spad__tune_point *best = &tune->looked.items[0];
    if (!best->fits) best = NULL;
    int placed = 0;
    for (size_t i = 0; i < tune->looked.count && placed < PLACED_MOST; i++) {
        spad__tune_point *point = &tune->looked.items[order[i].number];
        if (point->makespan == SPAD_UNBOUNDED) break;
        if (best != NULL && point->makespan > best->planned) break;
        if (best != NULL && point->makespan == best->planned && point->bytes >= best->bytes) {
            continue;
        }
        const spad_status status = place(tune, point, error);
        if (status != SPAD_OK) return status;
        if (!point->fits) continue;
        placed++;
        if (best == NULL || is_better(point, best)) best = point;
    }
    return best != NULL ? choose_point(tune, best, error) : SPAD_OK;
}

/* Asks the planner about the points that nothing with as few bytes beats without places. */
static spad_status place_frontier(spad_tune *tune, const ranked *order, spad_error *error) {
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < tune->looked.count; i++) { /* the fastest first: bytes must go down */
        spad__tune_point *point = &tune->looked.items[order[i].number];
        if (point->makespan == SPAD_UNBOUNDED || point->bytes >= least) continue;
        least = point->bytes;
        const spad_status status = place(tune, point, error);
        if (status != SPAD_OK) return status;
    }
    return SPAD_OK;
}

/* Keeps, of those that the planner was asked about, the points that nothing with as few bytes
 * beats, fewest bytes first. What does not fit beats nothing that does. */
static spad_status keep_frontier(spad_tune *tune, ranked *order, spad_error *error) {
    int64_t least[2] = {INT64_MAX, INT64_MAX}; /* of all; of those that fit */
    size_t count = 0;
    for (size_t i = 0; i < tune->looked.count; i++) {
        const spad__tune_point *p = &tune->looked.items[i];
        if (p->planned == 0 || p->makespan == SPAD_UNBOUNDED) continue;
        order[count++] = (ranked){p->fits ? p->planned : p->makespan, p->bytes, i};
    }
    qsort(order, count, sizeof *order, compare_ranked);
    for (size_t i = 0; i < count; i++) {
        const spad__tune_point *point = &tune->looked.items[order[i].number];
        if (point->bytes >= least[point->fits]) continue;
        least[0] = spad__min(least[0], point->bytes);
        if (point->fits) least[1] = point->bytes;
        if (!spad__array_reserve(&tune->host, &tune->points, 1)) {
            return spad__fail_host_memory(error);
        }
        tune->points.items[tune->points.count++] = *point;
    }
    for (size_t i = 0; i < tune->points.count / 2; i++) {
        const size_t other = tune->points.count - 1 - i;
        const spad__tune_point kept = tune->points.items[i];
        tune->points.items[i] = tune->points.items[other];
        tune->points.items[other] = kept;
    }
    return SPAD_OK;
}

static spad_status rank_and_choose(spad_tune *tune, spad_error *error) {
    const size_t count = tune->looked.count;
    ranked *order = spad__new_array(&tune->host, count + 1, sizeof *order);
    if (order == NULL) return spad__fail_host_memory(error);
    for (size_t i = 0; i < count; i++) {
        order[i] = (ranked){tune->looked.items[i].makespan, tune->looked.items[i].bytes, i};
    }
    qsort(order, count, sizeof *order, compare_ranked);
    spad_status status = choose(tune, order, error);
    if (status == SPAD_OK) status = place_frontier(tune, order, error);
    if (status == SPAD_OK) status = keep_frontier(tune, order, error);
    spad__free(&tune->host, order, (count + 1) * sizeof *order);
    return status;
}

/* ---- hoisting ---------------------------------------------------------------------- */

static bool can_be_hoisted(const spad_kernel *kernel, size_t number) {
    const spad_kernel_tensor *t = spad_kernel_get_tensor(kernel, number);
    const spad_statement *s = spad_kernel_get_statement(kernel, t->statement);
    const spad_space *space = &spad_kernel_get_target(kernel)->spaces[t->space];
    return s->loop >= 0 && t->home == (int64_t)number && !space->off_chip &&
           t->mode != SPAD_MODE_STACK && t->mode != SPAD_MODE_HEAP;
}

/* Bytes of this many tiles in each slot, over all lanes; INT64_MAX: more than that. */
static int64_t tensor_bytes(const spad_kernel_tensor *t, int64_t tiles) {
    int64_t bytes;
    if (!spad__mul(t->tile_bytes, t->tile_lanes, &bytes) || !spad__mul(bytes, t->slots, &bytes) ||
        !spad__mul(bytes, tiles, &bytes)) {
        return INT64_MAX;
    }
    return bytes;
}

/* Tiles that can be of use in front of its loops: one for every iteration, and no more than the
 * space holds. */
static int64_t most_tiles(const spad_tune *tune, const spad_kernel *kernel,
                          const spad_kernel_tensor *t) {
    int64_t iterations = 1;
    int64_t loop = spad_kernel_get_statement(kernel, t->statement)->loop;
    for (; loop >= 0; loop = spad_kernel_get_loop(kernel, (size_t)loop)->outer) {
        const spad_kernel_loop *l = spad_kernel_get_loop(kernel, (size_t)loop);
        int64_t trips;
        if (!spad__sub(l->end.value, l->begin.value, &trips) ||
            !spad__mul(iterations, spad__max(trips, 1), &iterations)) {
            iterations = INT64_MAX;
        }
    }
    const int64_t room = spad__tune_room(kernel, t) / spad__max(t->slots, 1) + 1;
    const int64_t useful = spad__min(iterations, room);
    return spad__min(tune->options.depth_most, spad__max(useful, SPAD_TUNE_DEPTH));
}

/* The fewest tiles, up to the deepest ring, that give the best makespan; *helps: that is better
 * than one. The tensor is that of the kernel. */
static spad_status try_hoist(spad_tune *tune, const spad_kernel *kernel, size_t number,
                             spad__tune_hoist *best, bool *helps, spad_error *error) {
    const spad_kernel_tensor *t = spad_kernel_get_tensor(kernel, number);
    const int64_t most = most_tiles(tune, kernel, t);
    int64_t before = SPAD_UNBOUNDED;
    *best = (spad__tune_hoist){.tensor = (int64_t)number, .tiles = 1, .makespan = SPAD_UNBOUNDED};
    for (int64_t tiles = 1; tiles <= most && !tune->totals.cut; tiles = spad__tune_next(tiles)) {
        const spad_define hoist = {t->name, tiles};
        const spad_sim_options options = {.hoists = &hoist, .hoist_count = 1};
        int64_t makespan = SPAD_UNBOUNDED;
        spad_status status = simulate(tune, kernel, &options, &makespan, error);
        if (status == SPAD_ERR_TIME) status = cut(tune);
        if (status != SPAD_OK) return status;
        if (tiles == 1) before = makespan;
        if (makespan < best->makespan) {
            best->makespan = makespan;
            best->tiles = tiles;
        }
    }
    best->bytes = tensor_bytes(t, best->tiles - 1);
    *helps = best->makespan < before;
    return SPAD_OK;
}

/* The number that a tensor of the tuned kernel has in the one that was given. */
static int64_t number_in_given(const spad_tune *tune, const char *name) {
    size_t i = 0;
    while (strcmp(spad_kernel_get_tensor(tune->kernel, i)->name, name) != 0) i++;
    return (int64_t)i;
}

static spad_status keep_hoist(spad_tune *tune, const spad_kernel *kernel, spad__tune_hoist hoist,
                              spad_error *error) {
    const spad_kernel_tensor *t = spad_kernel_get_tensor(kernel, (size_t)hoist.tensor);
    hoist.tensor = number_in_given(tune, t->name);
    if (!spad__array_reserve(&tune->host, &tune->hoists, 1)) return spad__fail_host_memory(error);
    tune->hoists.items[tune->hoists.count++] = hoist;
    return SPAD_OK;
}

/* Hoists in the chosen kernel, if that can be written, is right, fits, and is faster there. */
static spad_status apply_hoist(spad_tune *tune, spad__tune_hoist *hoist, spad_error *error) {
    spad_kernel *kernel;
    int64_t makespan = SPAD_UNBOUNDED;
    spad__tune_point point = {.planned = SPAD_UNBOUNDED};
    bool good = false;
    spad_status status =
        spad_kernel_hoist(&kernel, tune->chosen, hoist->tensor, hoist->tiles, &tune->host, NULL);
    if (status != SPAD_OK) return spad__attempted(status, error);
    status = spad__tune_is_right(tune, kernel, hoist->tiles > SPAD_TUNE_DEPTH, &good, error);
    if (status == SPAD_OK && good) status = test_fit(tune, kernel, &point, error);
    good = good && point.fits;
    if (status == SPAD_OK && good) status = simulate(tune, kernel, NULL, &makespan, error);
    if (status != SPAD_OK || !good || point.planned >= tune->totals.planned) {
        spad_kernel_destroy(kernel);
        return status == SPAD_ERR_TIME ? cut(tune) : status;
    }
    hoist->applied = true;
    hoist->makespan = point.planned;
    status = keep_hoist(tune, tune->chosen, *hoist, error);
    spad_kernel_destroy(tune->chosen);
    tune->chosen = kernel;
    tune->totals.makespan = makespan;
    tune->totals.planned = point.planned;
    tune->totals.placed = point.placed;
    tune->totals.spaces = point.spaces;
    tune->totals.bytes = spad__tune_bytes(kernel);
    return status;
}

/* The best of what helps in a kernel; *found: there is something. Those that were tried in vain
 * are left out. */
static spad_status find_hoist(spad_tune *tune, const spad_kernel *kernel, const bool *vain,
                              spad__tune_hoist *best, bool *found, spad_error *error) {
    *found = false;
    for (size_t i = 0; i < spad_kernel_tensor_count(kernel); i++) {
        spad__tune_hoist hoist;
        bool helps;
        if (!can_be_hoisted(kernel, i) || tune->totals.cut) continue;
        if (vain[number_in_given(tune, spad_kernel_get_tensor(kernel, i)->name)]) continue;
        const spad_status status = try_hoist(tune, kernel, i, &hoist, &helps, error);
        if (status != SPAD_OK) return status;
        if (!helps || (*found && hoist.makespan >= best->makespan)) continue;
        *best = hoist;
        *found = true;
    }
    return SPAD_OK;
}

/* Always the best one first, and then again with the kernel that has it. What cannot be done is
 * advice. */
static spad_status find_hoists(spad_tune *tune, spad_error *error) {
    const size_t count = spad_kernel_tensor_count(tune->kernel) + 1;
    if (!spad_kernel_is_implicit(tune->kernel)) return SPAD_OK;
    bool *vain = spad__new_array(&tune->host, count, sizeof *vain);
    if (vain == NULL) return spad__fail_host_memory(error);
    spad_status status = SPAD_OK;
    bool found = true;
    while (status == SPAD_OK && found) {
        const spad_kernel *kernel = tune->chosen != NULL ? tune->chosen : tune->kernel;
        spad__tune_hoist hoist;
        status = find_hoist(tune, kernel, vain, &hoist, &found, error);
        if (status != SPAD_OK || !found) break;
        vain[number_in_given(tune, spad_kernel_get_tensor(kernel, (size_t)hoist.tensor)->name)] =
            true;
        if (tune->chosen != NULL) status = apply_hoist(tune, &hoist, error);
        if (status == SPAD_OK && !hoist.applied) status = keep_hoist(tune, kernel, hoist, error);
    }
    spad__free(&tune->host, vain, count * sizeof *vain);
    return status;
}

/* ---- the whole --------------------------------------------------------------------- */

static int64_t count_combinations(const spad_tune *tune) {
    int64_t product = 1;
    for (size_t i = 0; i < tune->knobs.count; i++) {
        if (!spad__mul(product, (int64_t)tune->knobs.items[i].value_count, &product)) {
            return INT64_MAX;
        }
    }
    return product;
}

static spad_status search_points(spad_tune *tune, spad_error *error) {
    const size_t count = tune->knobs.count + 1;
    size_t *at = spad__new_array(&tune->host, count, sizeof *at);
    int64_t *values = spad__new_array(&tune->host, count, sizeof *values);
    spad_status status = SPAD_OK;
    spad__tune_point deepest = {0};
    if (at == NULL || values == NULL) status = spad__fail_host_memory(error);
    if (status == SPAD_OK) {
        tune->totals.combinations = count_combinations(tune);
        tune->totals.exhaustive = tune->totals.combinations <= tune->options.exhaustive_most;
        for (size_t i = 0; i + 1 < count; i++) {
            values[i] = tune->knobs.items[i].values[tune->knobs.items[i].value_count - 1];
        }
        status = evaluate_point(tune, values, &deepest, error);
        tune->totals.deepest = deepest.makespan;
    }
    if (status == SPAD_OK) { /* the starting point of the round always counts, and comes first */
        for (size_t i = 0; i + 1 < count; i++) values[i] = tune->knobs.items[i].written;
        tune->start.values = values;
        if (!keep(tune, &tune->start)) status = spad__fail_host_memory(error);
    }
    if (status == SPAD_OK) {
        status = tune->totals.exhaustive ? evaluate_all(tune, at, values, error)
                                         : descend(tune, at, values, error);
    }
    spad__free(&tune->host, at, count * sizeof *at);
    spad__free(&tune->host, values, count * sizeof *values);
    return status;
}

/* Depths that are chosen from assumed costs would be taken for depths that are good on the chip. */
static spad_status check_costs(const spad_tune *tune, spad_error *error) {
    const spad_sim_totals *s = &tune->totals.simulated;
    const bool assumed = s->unit == SPAD_TIME_STEPS || s->unit == SPAD_TIME_MIXED;
    if (!assumed || tune->options.steps) return SPAD_OK;
    const spad_kernel *kernel = tune->kernel;
    spad__fail(error, SPAD_ERR_ARGUMENT,
               "%s of %s operations have no cost on '%s', so no depth can be called faster; "
               "write `cost N ns` in the kernel, use a target file with figures, or ask for an "
               "answer in steps (--steps)",
               spad__grouped(s->unknown + s->unclocked).text, spad__grouped(s->operations).text,
               spad_kernel_get_target(kernel)->name);
    spad__fact_names(error, spad_kernel_get_name(kernel), NULL);
    spad__fact_amounts(error, s->operations, s->operations - s->unknown - s->unclocked,
                       SPAD_NO_FACT);
    return SPAD_ERR_ARGUMENT;
}

static spad_status evaluate_written(spad_tune *tune, spad_error *error) {
    spad_tune_totals *t = &tune->totals;
    t->makespan = t->planned = t->written_planned = SPAD_UNBOUNDED;
    t->written_bytes = spad__tune_bytes(tune->kernel);
    const spad_status status = simulate(tune, tune->kernel, NULL, &t->written, error);
    if (status != SPAD_OK) return status;
    if (t->written == SPAD_UNBOUNDED) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "kernel '%s' is deadlocked; `spad sim` shows where",
                          spad_kernel_get_name(tune->kernel));
    }
    const spad_status known = check_costs(tune, error);
    if (known != SPAD_OK) return known;
    spad__tune_point point;
    const spad_status placed = test_fit(tune, tune->kernel, &point, error);
    t->written_fits = point.fits;
    t->written_planned = point.planned;
    t->written_placed = point.placed;
    t->written_spaces = point.spaces;
    return placed;
}

/* ---- rounds ------------------------------------------------------------------------ */

/* Starts with what the last round chose. Advice is given again where it still holds. */
static void start_from_last_round(spad_tune *tune) {
    size_t applied = 0;
    for (size_t i = 0; i < tune->hoists.count; i++) {
        if (tune->hoists.items[i].applied) tune->hoists.items[applied++] = tune->hoists.items[i];
    }
    tune->hoists.count = applied;
    tune->knobs.count = tune->looked.count = tune->points.count = 0;
    tune->totals.left = 0;
    spad_kernel_destroy(tune->owned);
    tune->base = tune->owned = tune->chosen;
    tune->chosen = NULL;
}

static spad_status run_round(spad_tune *tune, spad_error *error) {
    spad_status status = spad__tune_find_knobs(tune, error);
    if (status == SPAD_OK) status = search_points(tune, error);
    if (status == SPAD_OK) status = rank_and_choose(tune, error);
    if (status == SPAD_OK) status = find_hoists(tune, error);
    return status;
}

static size_t count_applied(const spad_tune *tune) {
    size_t count = 0;
    for (size_t i = 0; i < tune->hoists.count; i++) count += tune->hoists.items[i].applied;
    return count;
}

static spad_status run_rounds(spad_tune *tune, spad_error *error) {
    const spad_tune_totals *t = &tune->totals;
    tune->start = (spad__tune_point){.makespan = t->written,
                                     .planned = t->written_planned,
                                     .bytes = t->written_bytes,
                                     .placed = t->written_placed,
                                     .spaces = t->written_spaces,
                                     .fits = t->written_fits};
    spad_status status = run_round(tune, error);
    for (size_t before = 0; status == SPAD_OK && count_applied(tune) > before;) {
        before = count_applied(tune);
        start_from_last_round(tune);
        tune->start = (spad__tune_point){.makespan = t->makespan,
                                         .planned = t->planned,
                                         .bytes = t->bytes,
                                         .placed = t->placed,
                                         .spaces = t->spaces,
                                         .fits = true};
        status = run_round(tune, error);
    }
    return status;
}

/* Knobs and hoists in terms of the kernel that was given, with the depths at the end. */
static void name_rows(spad_tune *tune) {
    if (tune->base == tune->kernel) return;
    for (size_t i = 0; i < tune->knobs.count; i++) {
        spad_tune_knob *knob = &tune->knobs.items[i];
        knob->tensor = number_in_given(tune, knob->name);
        const spad_kernel_tensor *t = spad_kernel_get_tensor(tune->kernel, (size_t)knob->tensor);
        knob->name = t->name;
        knob->written = t->slots;
        for (size_t k = 0; k < tune->hoists.count; k++) {
            spad__tune_hoist *hoist = &tune->hoists.items[k];
            if (!hoist->applied || hoist->tensor != knob->tensor) continue;
            hoist->tiles = knob->chosen / t->slots;
            hoist->bytes = tensor_bytes(t, hoist->tiles - 1);
        }
    }
}

static spad_status fill_tune_options(spad_tune_options *options, spad_error *error) {
    const int64_t least = spad__min(spad__min(options->depth_most, options->operations_most),
                                    options->exhaustive_most == -1 ? 0 : options->exhaustive_most);
    if (least < 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a limit of %lld is negative",
                          (long long)least);
    }
    if (options->operations_most == 0) options->operations_most = SPAD_TUNE_OPERATIONS;
    if (options->depth_most == 0) options->depth_most = SPAD_TUNE_DEPTH;
    if (options->exhaustive_most == 0) options->exhaustive_most = SPAD_TUNE_EXHAUSTIVE;
    return SPAD_OK;
}

spad_status spad_tune_create(spad_tune **out, const spad_kernel *kernel,
                             const spad_tune_options *options, spad_error *error) {
    *out = NULL;
    spad_tune_options filled = options != NULL ? *options : (spad_tune_options){0};
    spad_status status = fill_tune_options(&filled, error);
    if (status != SPAD_OK) return status;
    spad__limit limit;
    status = spad__limit_start(&limit, filled.timeout_ns, filled.watch, error);
    if (status != SPAD_OK) return status;
    const spad_host host = spad__host_or_default(filled.host);
    spad_tune *tune = spad__new(&host, sizeof *tune);
    if (tune == NULL) return spad__fail_host_memory(error);
    tune->host = host;
    tune->arena.host = host;
    tune->kernel = tune->base = kernel;
    tune->options = filled;
    tune->limit = limit;
    tune->limit.watch = spad__tune_watch(tune);
    status = evaluate_written(tune, error);
    if (status == SPAD_OK) status = run_rounds(tune, error);
    if (status != SPAD_OK) {
        spad_tune_destroy(tune);
        return status;
    }
    name_rows(tune);
    tune->totals.exhaustive &= !tune->totals.cut;
    *out = tune;
    return SPAD_OK;
}

void spad_tune_destroy(spad_tune *tune) {
    if (tune == NULL) return;
    const spad_host host = tune->host;
    spad_kernel_destroy(tune->chosen);
    spad_kernel_destroy(tune->owned);
    spad__array_free(&host, &tune->knobs);
    spad__array_free(&host, &tune->looked);
    spad__array_free(&host, &tune->points);
    spad__array_free(&host, &tune->hoists);
    spad__arena_free(&tune->arena);
    spad__free(&host, tune, sizeof *tune);
}

/* ---- questions --------------------------------------------------------------------- */

spad_tune_totals spad_tune_get_totals(const spad_tune *tune) {
    return tune->totals;
}

const spad_kernel *spad_tune_get_chosen(const spad_tune *tune) {
    return tune->chosen;
}

size_t spad_tune_knob_count(const spad_tune *tune) {
    return tune->knobs.count;
}

const spad_tune_knob *spad_tune_get_knob(const spad_tune *tune, size_t number) {
    return number < tune->knobs.count ? &tune->knobs.items[number] : NULL;
}
