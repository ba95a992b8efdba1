/* SPDX-License-Identifier: Apache-2.0
 *
 * What can be chosen in a kernel.
 *
 * Without synchronisation: the ring of every auto tensor on chip that has several tiles. Its
 * depth is a multiple of the inner block dimensions that it keeps whole. With
 * synchronisation depths are part of the protocol, so only a parameter that a ring
 * depends on is a knob: barriers that depend on it come along.
 *
 * Values that make the kernel wrong are left out: lifetimes, and where the kernel has
 * synchronisation races and deadlocks, by the checker.
 */
#include <string.h>

#include "base/checked.h"
#include "kernel/kernel.h"
#include "prove/compare_shapes.h"
#include "sim/tune.h"
#include "spad/check.h"

/* What the checker cannot decide within that many events counts as right. Proofs for all trip
 * counts are cheap without synchronisation, unless rings are deep: their loops repeat late, so one
 * shape is examined first. With synchronisation one shape must be enough. */
enum { KNOB_EVENTS = 1000000, CHECK_EVENTS_DEEP = 100000, CHECK_EVENTS_ORDERED = 20000 };

/* ---- limits ------------------------------------------------------------------------ */

spad_status spad__tune_check_limit(spad_tune *tune, bool *late, spad_error *error) {
    *late = spad__limit_reached(&tune->limit);
    if (!*late) return SPAD_OK;
    if (tune->limit.status == SPAD_ERR_CANCELLED) {
        return spad__limit_fail(&tune->limit, tune->totals.simulations, "simulations", error);
    }
    tune->totals.cut = true;
    return SPAD_OK;
}

/* ---- shapes ------------------------------------------------------------------------ */

spad_status spad__tune_shape(spad_kernel **out, const spad_tune *tune, const int64_t *values,
                             spad_error *error) {
    const size_t count = tune->knobs.count;
    spad_define *defines = spad__new_array(&tune->host, count + 1, sizeof *defines);
    spad_define *rings = spad__new_array(&tune->host, count + 1, sizeof *rings);
    spad_kernel_options options = {.defines = defines, .rings = rings, .host = &tune->host};
    spad_status status = SPAD_OK;
    *out = NULL;
    if (defines == NULL || rings == NULL) status = spad__fail_host_memory(error);
    for (size_t i = 0; i < count && status == SPAD_OK; i++) {
        const spad_tune_knob *knob = &tune->knobs.items[i];
        if (values[i] == knob->written) continue;
        const spad_define value = {knob->name, values[i]};
        if (knob->kind == SPAD_KNOB_RING) {
            rings[options.ring_count++] = value;
        } else {
            defines[options.define_count++] = value;
        }
    }
    if (status == SPAD_OK) status = spad_kernel_reshape(out, tune->base, &options, error);
    spad__free(&tune->host, defines, (count + 1) * sizeof *defines);
    spad__free(&tune->host, rings, (count + 1) * sizeof *rings);
    return status;
}

/* The verdict of the checker. Running out of time is not a proof: wrong. */
static spad_status find_verdict(spad_tune *tune, const spad_kernel *kernel, bool one_shape,
                                int64_t event_limit, spad_verdict *verdict, spad_error *error) {
    const spad_check_options options = {.no_advice = true,
                                        .one_shape = one_shape,
                                        .event_limit = event_limit,
                                        .timeout_ns = spad__limit_left(&tune->limit),
                                        .watch = tune->limit.watch,
                                        .host = &tune->host};
    spad_check *check = NULL;
    bool late;
    spad_status status = spad_check_create(&check, kernel, &options, error);
    *verdict = status == SPAD_OK ? spad_check_get_verdict(check) : SPAD_VERDICT_WRONG;
    spad_check_destroy(check);
    if (status == SPAD_OK) status = spad__tune_check_limit(tune, &late, error);
    if (status == SPAD_OK && late) *verdict = SPAD_VERDICT_WRONG;
    return status;
}

/* "for all N" of a kernel in the arena; "": its proof does not cover all trip counts. */
static spad_status find_claim(spad_tune *tune, const spad_kernel *kernel, const char **claim,
                              spad_error *error) {
    const spad_check_options options = {.no_advice = true,
                                        .timeout_ns = spad__limit_left(&tune->limit),
                                        .watch = tune->limit.watch,
                                        .host = &tune->host};
    spad_check *check = NULL;
    const char *reason = "";
    const spad_status status = spad_check_create(&check, kernel, &options, error);
    if (status != SPAD_OK) return status;
    if (spad_check_get_verdict(check) == SPAD_VERDICT_PROVED_ALL) {
        reason = spad_check_get_reason(check);
    }
    *claim = spad__arena_copy(&tune->arena, reason, strlen(reason));
    spad_check_destroy(check);
    return *claim != NULL ? SPAD_OK : spad__fail_host_memory(error);
}

/* Is the kernel as right as the given one at other shapes? Where it is not known to be, the same
 * proof for all trip counts is enough: such shapes differ in numbers that neither proof covers. */
static spad_status agrees_at_shapes(spad_tune *tune, const spad_kernel *kernel, bool *kept,
                                    spad_error *error) {
    spad__agreement agreement;
    spad_status status =
        spad__compare_shapes(&agreement, tune->kernel, kernel, &tune->limit, &tune->host, error);
    const char *claim = "";
    *kept = status == SPAD_OK && agreement.agrees && agreement.covers;
    if (status != SPAD_OK || *kept) return status;
    if (tune->claim == NULL) status = find_claim(tune, tune->kernel, &tune->claim, error);
    if (status != SPAD_OK || tune->claim[0] == '\0') return status;
    status = find_claim(tune, kernel, &claim, error);
    *kept = status == SPAD_OK && strcmp(claim, tune->claim) == 0;
    return status;
}

spad_status spad__tune_is_right(spad_tune *tune, const spad_kernel *kernel, bool deep, bool *right,
                                spad_error *error) {
    const bool implicit = spad_kernel_is_implicit(kernel);
    const int64_t events = implicit ? KNOB_EVENTS : CHECK_EVENTS_ORDERED;
    spad_verdict verdict = SPAD_VERDICT_UNKNOWN;
    spad_status status = SPAD_OK;
    if (implicit && deep) {
        status = find_verdict(tune, kernel, true, CHECK_EVENTS_DEEP, &verdict, error);
    }
    if (status == SPAD_OK && verdict == SPAD_VERDICT_UNKNOWN) {
        status = find_verdict(tune, kernel, !implicit, events, &verdict, error);
    }
    *right = status == SPAD_OK && verdict != SPAD_VERDICT_WRONG;
    return *right ? agrees_at_shapes(tune, kernel, right, error) : status;
}

/* ---- depths ------------------------------------------------------------------------ */

enum { EACH_MOST = 16, PART = 4 }; /* beyond the first, steps grow with the depth */

int64_t spad__tune_next(int64_t tiles) {
    const int64_t more = tiles < EACH_MOST ? 1 : tiles / PART;
    return tiles <= INT64_MAX - more ? tiles + more : INT64_MAX;
}

int64_t spad__tune_room(const spad_kernel *kernel, const spad_kernel_tensor *tensor) {
    const spad_space *space = &spad_kernel_get_target(kernel)->spaces[tensor->space];
    int64_t bytes, tile;
    if (space->bytes == SPAD_UNBOUNDED || !spad__mul(space->lanes, space->bytes, &bytes) ||
        !spad__mul(tensor->tile_lanes, tensor->tile_bytes, &tile) || tile <= 0) {
        return INT64_MAX;
    }
    return bytes / tile;
}

/* ---- rings ------------------------------------------------------------------------- */

/* Depths are multiples of this: of the inner dimensions that a ring keeps whole. 0: one number
 * cannot describe the ring. */
static int64_t ring_step(const spad_kernel_tensor *t) {
    if (t->ring.count <= 1) return 1;
    int64_t step = 1;
    size_t whole = t->ring.count; /* dimensions [whole, count) are */
    while (whole > 0 && t->ring.items[whole - 1].value == t->blocks.items[whole - 1].value) {
        step *= t->blocks.items[--whole].value;
    }
    for (size_t i = 0; i + 1 < whole; i++) {
        if (t->ring.items[i].value != 1) return 0;
    }
    return step;
}

static bool is_ring(const spad_tune *tune, size_t number) {
    const spad_kernel_tensor *t = spad_kernel_get_tensor(tune->base, number);
    const spad_target *target = spad_kernel_get_target(tune->base);
    return t->mode == SPAD_MODE_AUTO && t->blocks.count > 0 && t->tiles > 1 &&
           !target->spaces[t->space].off_chip && ring_step(t) > 0;
}

/* ---- parameters -------------------------------------------------------------------- */

static bool uses_param(const spad_kernel *kernel, spad_expr expr, size_t param) {
    return spad__expr_has(kernel, expr, SPAD_EXPR_PARAM, (int64_t)param);
}

/* Is the expression that parameter, and nothing else? */
static bool is_param(const spad_kernel *kernel, spad_expr expr, size_t param) {
    return spad_kernel_get_expr(kernel, expr).node_count == 1 && uses_param(kernel, expr, param);
}

/* `[S] ... ring S`: the tiles are the slots themselves, and there are as many as the depth says. */
static bool is_slot_count(const spad_kernel *kernel, const spad_kernel_tensor *t, size_t dimension,
                          size_t param) {
    return dimension < t->ring.count && dimension < t->blocks.count &&
           is_param(kernel, t->blocks.items[dimension].expr, param) &&
           is_param(kernel, t->ring.items[dimension].expr, param);
}

/* A parameter that rings depend on, and no tile: then it is a depth and no size. */
static bool is_depth(const spad_kernel *kernel, size_t param) {
    bool in_ring = false;
    for (size_t i = 0; i < spad_kernel_tensor_count(kernel); i++) {
        const spad_kernel_tensor *t = spad_kernel_get_tensor(kernel, i);
        in_ring |= spad__amounts_use_param(kernel, t->ring, (int64_t)param);
        if (spad__amounts_use_param(kernel, t->dims, (int64_t)param)) return false;
        for (size_t k = 0; k < t->blocks.count; k++) {
            if (uses_param(kernel, t->blocks.items[k].expr, param) &&
                !is_slot_count(kernel, t, k, param)) {
                return false;
            }
        }
    }
    return in_ring;
}

/* ---- values ------------------------------------------------------------------------ */

/* Is the ring of a tensor as deep as it can be of use: a slot for every tile, unless the tiles are
 * its slots, or more than its space holds? */
static bool is_deepest(const spad_kernel *kernel, const spad_kernel_tensor *t,
                       bool tiles_are_slots) {
    return (!tiles_are_slots && t->slots >= t->tiles) || t->slots > spad__tune_room(kernel, t);
}

/* The same of all rings that depend on a parameter. */
static bool are_deepest(const spad_tune *tune, const spad_kernel *kernel, size_t param) {
    for (size_t i = 0; i < spad_kernel_tensor_count(kernel); i++) {
        const spad_kernel_tensor *t = spad_kernel_get_tensor(kernel, i);
        bool depends = false;
        bool slots = false;
        for (size_t k = 0; k < t->ring.count; k++) {
            const spad_kernel_tensor *written = spad_kernel_get_tensor(tune->base, i);
            depends |= uses_param(tune->base, written->ring.items[k].expr, param);
            slots |= is_slot_count(tune->base, written, k, param);
        }
        if (depends && !is_deepest(kernel, t, slots)) return false;
    }
    return true;
}

/* What can be chosen for one knob. */
typedef struct range {
    int64_t step; /* values are multiples of it */
    int64_t most;
    int64_t param;          /* -1: a ring */
    spad__kernel_work work; /* of the kernel, where it is a parameter */
} range;

/* Does a kernel with another value of a parameter compute the same? Of a run that is too long this
 * is taken for granted. */
static spad_status keeps_work(const spad_tune *tune, const range *r, const spad_kernel *kernel,
                              bool *kept, spad_error *error) {
    spad__kernel_work work;
    *kept = true;
    if (!r->work.known) return SPAD_OK;
    const spad_status status = spad__find_work(kernel, &tune->host, &work, error);
    *kept = status == SPAD_OK && work.known && work.sum == r->work.sum;
    return status;
}

/* Is the kernel right with that value of the last knob, and all others as written? A shape
 * that does not exist is not. *deepest: larger values are of no use. */
static spad_status is_value_right(spad_tune *tune, const range *r, int64_t value, bool *right,
                                  bool *deepest, spad_error *error) {
    int64_t *values = spad__new_array(&tune->host, tune->knobs.count, sizeof *values);
    spad_kernel *kernel = NULL;
    *right = false;
    if (values == NULL) return spad__fail_host_memory(error);
    for (size_t i = 0; i < tune->knobs.count; i++) values[i] = tune->knobs.items[i].written;
    values[tune->knobs.count - 1] = value;
    spad_status status = spad__tune_shape(&kernel, tune, values, NULL);
    spad__free(&tune->host, values, tune->knobs.count * sizeof *values);
    if (status != SPAD_OK) return spad__attempted(status, error);
    if (r->param >= 0) *deepest = are_deepest(tune, kernel, (size_t)r->param);
    status = keeps_work(tune, r, kernel, right, error);
    if (*right)
        status = spad__tune_is_right(tune, kernel, value / r->step > SPAD_TUNE_DEPTH, right, error);
    spad_kernel_destroy(kernel);
    return status;
}

/* Copies the values, and adds the kernel's own at the end where all are smaller. */
static spad_status keep_values(spad_tune *tune, spad_tune_knob *knob, const int64_t *found,
                               size_t count, spad_error *error) {
    int64_t *values = spad__arena_array(&tune->arena, count + 1, sizeof *values);
    if (values == NULL) return spad__fail_host_memory(error);
    for (size_t i = 0; i < count; i++) values[i] = found[i];
    if (count == 0 || values[count - 1] < knob->written) values[count++] = knob->written;
    knob->values = values;
    knob->value_count = count;
    return SPAD_OK;
}

/* Allowed values of the knob that was added last: the right ones of the multiples of the step,
 * and that of the kernel. Where there are many, only some are examined, the largest too. */
static spad_status find_values(spad_tune *tune, const range *r, spad_error *error) {
    SPAD_ARRAY(int64_t) found = {0};
    spad_tune_knob *knob = &tune->knobs.items[tune->knobs.count - 1];
    const int64_t count = r->most / r->step;
    bool deepest = false;
    bool late = false;
    spad_status status = SPAD_OK;
    for (int64_t i = 1; i <= count && !late && status == SPAD_OK;) {
        const int64_t value = i * r->step;
        bool right = value == knob->written;
        if (!right) status = is_value_right(tune, r, value, &right, &deepest, error);
        if (status == SPAD_OK) status = spad__tune_check_limit(tune, &late, error);
        if (status == SPAD_OK && !spad__array_reserve(&tune->host, &found, 3)) {
            status = spad__fail_host_memory(error);
        }
        if (status != SPAD_OK) break;
        if (knob->written < value &&
            (found.count == 0 || found.items[found.count - 1] < knob->written)) {
            found.items[found.count++] = knob->written;
        }
        if (right) found.items[found.count++] = value;
        const bool enough = deepest && i >= SPAD_TUNE_DEPTH;
        const int64_t next = spad__tune_next(i);
        tune->totals.sampled |= next > i + 1 && i < count && !enough;
        if (i == count || enough) break;
        i = spad__min(next, count);
    }
    if (status == SPAD_OK) status = keep_values(tune, knob, found.items, found.count, error);
    spad__array_free(&tune->host, &found);
    return status;
}

static spad_status add_knob(spad_tune *tune, const spad_tune_knob *knob, const range *r,
                            spad_error *error) {
    if (tune->knobs.count == SPAD_TUNE_KNOBS) {
        tune->totals.left++;
        return SPAD_OK;
    }
    if (!spad__array_reserve(&tune->host, &tune->knobs, 1)) return spad__fail_host_memory(error);
    tune->knobs.items[tune->knobs.count++] = *knob;
    return find_values(tune, r, error);
}

/* Slots beyond which a deeper ring is of no use: one for every tile, or one more than the space
 * holds. What more memory would give is shown up to the usual depth. */
static int64_t useful_slots(const spad_kernel *kernel, const spad_kernel_tensor *t, int64_t step) {
    int64_t usual;
    int64_t room = spad__tune_room(kernel, t);
    if (room < INT64_MAX) room++;
    if (!spad__mul(step, SPAD_TUNE_DEPTH, &usual)) usual = INT64_MAX;
    return spad__min(t->tiles, spad__max(room, usual));
}

static spad_status find_rings(spad_tune *tune, spad_error *error) {
    for (size_t i = 0; i < spad_kernel_tensor_count(tune->base); i++) {
        if (!is_ring(tune, i)) continue;
        const spad_kernel_tensor *t = spad_kernel_get_tensor(tune->base, i);
        range r = {.step = ring_step(t), .param = -1};
        if (!spad__mul(r.step, tune->options.depth_most, &r.most)) r.most = INT64_MAX;
        r.most = spad__min(r.most, useful_slots(tune->base, t, r.step));
        const spad_tune_knob knob = {
            .kind = SPAD_KNOB_RING, .name = t->name, .tensor = (int64_t)i, .written = t->slots};
        const spad_status status = add_knob(tune, &knob, &r, error);
        if (status != SPAD_OK) return status;
    }
    return SPAD_OK;
}

static spad_status find_knob_depths(spad_tune *tune, spad_error *error) {
    spad__kernel_work work;
    spad_status status = spad__find_work(tune->base, &tune->host, &work, error);
    for (size_t i = 0; i < spad_kernel_param_count(tune->base) && status == SPAD_OK; i++) {
        if (!is_depth(tune->base, i)) continue;
        const spad_kernel_param *param = spad_kernel_get_param(tune->base, i);
        const spad_tune_knob knob = {
            .kind = SPAD_KNOB_PARAM, .name = param->name, .tensor = -1, .written = param->value};
        const range r = {
            .step = 1, .most = tune->options.depth_most, .param = (int64_t)i, .work = work};
        status = add_knob(tune, &knob, &r, error);
    }
    return status;
}

spad_status spad__tune_find_knobs(spad_tune *tune, spad_error *error) {
    return spad_kernel_is_implicit(tune->base) ? find_rings(tune, error)
                                               : find_knob_depths(tune, error);
}
