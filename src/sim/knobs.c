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
#include "sim/tune.h"
#include "spad/check.h"

/* What the checker cannot decide within that many events counts as right. Proofs for all trip
 * counts are cheap without synchronisation; with it one shape must be enough. */
enum { CHECK_EVENTS = 1000000, CHECK_EVENTS_ORDERED = 20000 };

/* ---- shapes ------------------------------------------------------------------------ */

spad_status spad__tune_shape(spad_kernel **out, const spad_tune *tune, const int64_t *values,
                             spad_error *error) {
    const size_t count = tune->knobs.count;
    spad_define *defines = spad__new(&tune->host, (count + 1) * sizeof *defines);
    spad_define *rings = spad__new(&tune->host, (count + 1) * sizeof *rings);
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

spad_status spad__tune_is_right(const spad_tune *tune, const spad_kernel *kernel, bool *right,
                                spad_error *error) {
    const bool implicit = spad_kernel_is_implicit(kernel);
    const spad_check_options options = {.no_advice = true,
                                        .one_shape = !implicit,
                                        .event_limit =
                                            implicit ? CHECK_EVENTS : CHECK_EVENTS_ORDERED,
                                        .host = &tune->host};
    spad_check *check = NULL;
    const spad_status status = spad_check_kernel(&check, kernel, &options, error);
    *right = status == SPAD_OK && spad_check_verdict(check) != SPAD_VERDICT_WRONG;
    spad_check_destroy(check);
    return status;
}

/* Is the kernel right with that value of the last knob, and all others as written? A shape
 * that does not exist is not. */
static spad_status is_right(spad_tune *tune, int64_t value, bool *right, spad_error *error) {
    int64_t *values = spad__new(&tune->host, tune->knobs.count * sizeof *values);
    spad_kernel *kernel = NULL;
    *right = false;
    if (values == NULL) return spad__fail_host_memory(error);
    for (size_t i = 0; i < tune->knobs.count; i++) values[i] = tune->knobs.items[i].written;
    values[tune->knobs.count - 1] = value;
    spad_status status = spad__tune_shape(&kernel, tune, values, NULL);
    spad__free(&tune->host, values, tune->knobs.count * sizeof *values);
    if (status != SPAD_OK) return spad__attempted(status, error);
    status = spad__tune_is_right(tune, kernel, right, error);
    spad_kernel_destroy(kernel);
    return status;
}

/* ---- rings ------------------------------------------------------------------------- */

/* Depths are multiples of this: of the inner dimensions that a ring keeps whole. 0: the
 * ring is none that one number can describe. */
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
    const spad_target *target = spad_kernel_target(tune->base);
    return t->mode == SPAD_MODE_AUTO && t->blocks.count > 0 && t->tiles > 1 &&
           !target->spaces[t->space].off_chip && ring_step(t) > 0;
}

/* ---- parameters -------------------------------------------------------------------- */

static bool expr_uses(const spad_kernel *kernel, spad_expr expr, size_t param) {
    const spad_expr_info info = spad_kernel_expr(kernel, expr);
    for (size_t i = 0; i < info.node_count; i++) {
        if (info.nodes[i].op == SPAD_EXPR_PARAM && info.nodes[i].value == (int64_t)param) {
            return true;
        }
    }
    return false;
}

/* A parameter that rings depend on, and no tile: then it is a depth and no size. */
static bool is_depth(const spad_kernel *kernel, size_t param) {
    bool in_ring = false;
    for (size_t i = 0; i < spad_kernel_tensor_count(kernel); i++) {
        const spad_kernel_tensor *t = spad_kernel_get_tensor(kernel, i);
        for (size_t k = 0; k < t->ring.count; k++) {
            in_ring |= expr_uses(kernel, t->ring.items[k].expr, param);
        }
        for (size_t k = 0; k < t->dims.count; k++) {
            if (expr_uses(kernel, t->dims.items[k].expr, param)) return false;
        }
        for (size_t k = 0; k < t->blocks.count; k++) {
            if (expr_uses(kernel, t->blocks.items[k].expr, param)) return false;
        }
    }
    return in_ring;
}

/* ---- values ------------------------------------------------------------------------ */

/* Allowed values of the knob that was added last: the right ones of the multiples of `step`,
 * and what the kernel says. */
static spad_status find_values(spad_tune *tune, int64_t step, int64_t most, spad_error *error) {
    const size_t number = tune->knobs.count - 1;
    const int64_t written = tune->knobs.items[number].written;
    const int64_t count = most / step;
    int64_t *values = spad__arena_new(&tune->arena, (size_t)(count + 2) * sizeof *values);
    size_t used = 0;
    if (values == NULL) return spad__fail_host_memory(error);
    for (int64_t i = 1; i <= count; i++) {
        const int64_t value = i * step;
        bool right = value == written;
        if (!right) {
            const spad_status status = is_right(tune, value, &right, error);
            if (status != SPAD_OK) return status;
        }
        if (written < value && (used == 0 || values[used - 1] < written)) values[used++] = written;
        if (right) values[used++] = value;
    }
    if (used == 0 || values[used - 1] < written) values[used++] = written;
    tune->knobs.items[number].values = values;
    tune->knobs.items[number].value_count = used;
    return SPAD_OK;
}

static spad_status add_knob(spad_tune *tune, const spad_tune_knob *knob, int64_t step, int64_t most,
                            spad_error *error) {
    if (tune->knobs.count == SPAD_TUNE_KNOBS) {
        tune->totals.left++;
        return SPAD_OK;
    }
    if (!spad__array_reserve(&tune->host, &tune->knobs, 1)) return spad__fail_host_memory(error);
    tune->knobs.items[tune->knobs.count++] = *knob;
    return find_values(tune, step, most, error);
}

static spad_status find_rings(spad_tune *tune, spad_error *error) {
    for (size_t i = 0; i < spad_kernel_tensor_count(tune->base); i++) {
        if (!is_ring(tune, i)) continue;
        const spad_kernel_tensor *t = spad_kernel_get_tensor(tune->base, i);
        const int64_t step = ring_step(t);
        int64_t most;
        if (!spad__mul(step, tune->options.depth_most, &most)) most = INT64_MAX;
        const spad_tune_knob knob = {
            .kind = SPAD_KNOB_RING, .name = t->name, .tensor = (int64_t)i, .written = t->slots};
        const spad_status status = add_knob(tune, &knob, step, spad__min(most, t->tiles), error);
        if (status != SPAD_OK) return status;
    }
    return SPAD_OK;
}

static spad_status find_depths(spad_tune *tune, spad_error *error) {
    for (size_t i = 0; i < spad_kernel_param_count(tune->base); i++) {
        if (!is_depth(tune->base, i)) continue;
        const spad_kernel_param *param = spad_kernel_get_param(tune->base, i);
        const spad_tune_knob knob = {
            .kind = SPAD_KNOB_PARAM, .name = param->name, .tensor = -1, .written = param->value};
        const spad_status status = add_knob(tune, &knob, 1, tune->options.depth_most, error);
        if (status != SPAD_OK) return status;
    }
    return SPAD_OK;
}

spad_status spad__tune_find_knobs(spad_tune *tune, spad_error *error) {
    return spad_kernel_is_implicit(tune->base) ? find_rings(tune, error) : find_depths(tune, error);
}
