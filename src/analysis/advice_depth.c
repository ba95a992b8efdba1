/* SPDX-License-Identifier: Apache-2.0
 *
 * Depths of rings, one at a time: fewer slots for fewer bytes, more slots for less time.
 *
 * A depth is the ring of a tensor, or, where the kernel has synchronisation, a parameter that rings
 * or tiles on the chip depend on, so that barriers come along. A parameter might also decide what
 * is computed; so the operations of both kernels are compared: the same ones on the same parts of
 * memory off the chip, in any order (a sum of hashes over the run of the shape).
 *
 * Simulations without places come first, because they are cheap: a depth that is slower is not
 * laid out. Then spad__advice_try decides.
 */
#include <string.h>

#include "analysis/advice.h"
#include "base/assert.h"
#include "base/checked.h"
#include "sim/same_work.h"
#include "spad/experimental/kernel_rows.h"
#include "spad/experimental/walk.h"

enum { SLOTS_LESS = 16 };

/* Least gain of a deeper ring: one part of so many. */
enum { GAIN_PART = 100 };

typedef struct ring_depth {
    bool param;
    const char *name;
    int64_t value;
    spad_location location;
} ring_depth;

typedef SPAD_ARRAY(ring_depth) ring_depths;

/* ---- what can be changed ----------------------------------------------------------- */

static bool mentions_param(const spad_kernel *k, spad_amounts list, size_t param) {
    for (size_t i = 0; i < list.count; i++) {
        const spad_expr_info info = spad_kernel_get_expr(k, list.items[i].expr);
        for (size_t n = 0; n < info.node_count; n++) {
            const spad_expr_node *node = &info.nodes[n];
            if (node->op == SPAD_EXPR_PARAM && node->value == (int64_t)param) return true;
        }
    }
    return false;
}

/* Do slots on the chip depend on it, and no size? */
static bool is_depth_param(const spad_kernel *k, size_t param) {
    bool slots = false;
    for (size_t i = 0; i < k->tensors.count; i++) {
        const spad_kernel_tensor *t = &k->tensors.items[i];
        const bool whole = k->target->spaces[t->space].off_chip || t->flags != 0;
        const bool blocks = mentions_param(k, t->blocks, param);
        if (mentions_param(k, t->dims, param) || (blocks && whole)) return false;
        slots = slots || blocks || mentions_param(k, t->ring, param);
    }
    return slots && !k->params.items[param].fixed && !k->params.items[param].any;
}

static bool has_own_name(const spad_kernel *k, size_t tensor) {
    for (size_t i = 0; i < k->tensors.count; i++) {
        if (i == tensor) continue;
        if (strcmp(k->tensors.items[i].name, k->tensors.items[tensor].name) == 0) return false;
    }
    return true;
}

/* A ring with one number, or tiles that could have one. With synchronisation only a ring that is
 * there: tiles are counted by it. */
static bool has_own_depth(const spad_kernel *k, size_t tensor) {
    const spad_kernel_tensor *t = &k->tensors.items[tensor];
    if (t->mode != SPAD_MODE_AUTO || t->tiles < 2 || t->flags != 0 || t->ring.count > 1 ||
        k->target->spaces[t->space].off_chip || !has_own_name(k, tensor)) {
        return false;
    }
    if (t->ring.count == 0) return !k->is_explicit;
    for (size_t i = 0; i < k->params.count; i++) {
        if (k->is_explicit && mentions_param(k, t->ring, i)) return false;
    }
    return true;
}

static bool list_depths(const spad_host *host, const spad_kernel *k, ring_depths *list) {
    if (!spad__array_reserve(host, list, k->tensors.count + k->params.count)) return false;
    for (size_t i = 0; i < k->tensors.count; i++) {
        const spad_kernel_tensor *t = &k->tensors.items[i];
        if (!has_own_depth(k, i)) continue;
        list->items[list->count++] = (ring_depth){false, t->name, t->slots, t->location};
    }
    for (size_t i = 0; i < k->params.count && k->is_explicit; i++) {
        const spad_kernel_param *p = &k->params.items[i];
        if (!is_depth_param(k, i)) continue;
        list->items[list->count++] = (ring_depth){true, p->name, p->value, p->location};
    }
    return true;
}

/* ---- what is computed -------------------------------------------------------------- */

static spad_status is_same_work(const spad_advice *a, const spad_kernel *changed, bool *same,
                                spad_error *error) {
    spad__kernel_work before, after;
    *same = false;
    spad_status status = spad__find_work(spad__advice_kernel(a), &a->host, &before, error);
    if (status == SPAD_OK) status = spad__find_work(changed, &a->host, &after, error);
    if (status == SPAD_OK) *same = before.known && after.known && before.sum == after.sum;
    return status;
}

/* ---- trying ------------------------------------------------------------------------ */

/* The kernel with another depth; NULL: none exists, or it computes something else. */
static spad_status reshape_depth(const spad_advice *a, const ring_depth *d, int64_t value,
                                 spad_kernel **out, spad_error *error) {
    const spad_define define = {d->name, value};
    const spad_kernel_options options = {.defines = &define,
                                         .define_count = d->param ? 1 : 0,
                                         .rings = &define,
                                         .ring_count = d->param ? 0 : 1,
                                         .host = &a->host};
    bool same = true;
    *out = NULL;
    spad_status status = spad_kernel_reshape(out, spad__advice_kernel(a), &options, NULL);
    if (status != SPAD_OK) return spad__attempted(status, error);
    if (d->param) status = is_same_work(a, *out, &same, error);
    if (status != SPAD_OK || !same) {
        spad_kernel_destroy(*out);
        *out = NULL;
    }
    return status;
}

/* The makespan with another depth as if no tensors shared bytes; SPAD_UNBOUNDED: none exists. */
static spad_status simulate_depth(const spad_advice *a, const ring_depth *d, int64_t value,
                                  int64_t *makespan, spad_error *error) {
    const spad_sim_options options = {
        .timeout_ns = spad__limit_left(&a->limit), .watch = a->limit.watch, .host = &a->host};
    spad_kernel *kernel;
    spad_sim *sim;
    *makespan = SPAD_UNBOUNDED;
    spad_status status = reshape_depth(a, d, value, &kernel, error);
    if (status != SPAD_OK || kernel == NULL) return status;
    status = spad_sim_create(&sim, kernel, &options, NULL);
    if (status == SPAD_OK) {
        if (spad_sim_get_stuck(sim) == NULL) *makespan = spad_sim_get_totals(sim).makespan;
        spad_sim_destroy(sim);
    }
    spad_kernel_destroy(kernel);
    return spad__attempted(status, error);
}

static spad_status try_depth(spad_advice *a, spad_advice_kind kind, const ring_depth *d,
                             int64_t value, bool *taken, spad_error *error) {
    const spad_advice_change change = {.kind = kind,
                                       .name = d->name,
                                       .other = "",
                                       .operation = "",
                                       .param = d->param,
                                       .from = d->value,
                                       .to = value,
                                       .location = d->location};
    spad_kernel *kernel;
    const spad_status status = reshape_depth(a, d, value, &kernel, error);
    if (status != SPAD_OK) return status;
    spad__assert(kernel != NULL); /* it was simulated */
    return spad__advice_try(a, kernel, &change, taken, error);
}

/* The fewest slots that take no more time: down while that is so, then the least that is proved. */
static spad_status try_shorter(spad_advice *a, const ring_depth *d, bool *taken,
                               spad_error *error) {
    const int64_t least = spad__max(1, d->value - SLOTS_LESS);
    int64_t low = d->value;
    spad_status status = SPAD_OK;
    while (status == SPAD_OK && low > least) {
        int64_t makespan;
        status = simulate_depth(a, d, low - 1, &makespan, error);
        if (status != SPAD_OK || makespan > a->now.cost.makespan) break;
        low--;
    }
    for (int64_t value = low; status == SPAD_OK && value < d->value && !*taken; value++) {
        status = try_depth(a, SPAD_ADVICE_SHORTER, d, value, taken, error);
    }
    return status;
}

/* The fewest slots that are fastest, then the next best. */
static spad_status try_deeper(spad_advice *a, const ring_depth *d, bool *taken, spad_error *error) {
    int64_t times[64];
    const int64_t most = spad__min(a->options.depth_most, d->value + 63);
    const int64_t count = spad__max(0, most - d->value);
    spad_status status = SPAD_OK;
    for (int64_t i = 0; i < count && status == SPAD_OK; i++) {
        status = simulate_depth(a, d, d->value + 1 + i, &times[i], error);
    }
    while (status == SPAD_OK && !*taken) {
        int64_t best = -1;
        for (int64_t i = 0; i < count; i++) {
            if (best < 0 || times[i] < times[best]) best = i;
        }
        const int64_t now = a->now.cost.makespan;
        if (best < 0 || times[best] > now - now / GAIN_PART - 1) return SPAD_OK;
        status = try_depth(a, SPAD_ADVICE_DEEPER, d, d->value + 1 + best, taken, error);
        times[best] = SPAD_UNBOUNDED;
    }
    return status;
}

spad_status spad__advice_try_depths(spad_advice *advice, spad_advice_kind kind, bool *taken,
                                    spad_error *error) {
    ring_depths list = {0};
    const spad_time_unit unit = advice->now.simulated.unit;
    const bool known = unit == SPAD_TIME_REAL || unit == SPAD_TIME_CYCLES;
    *taken = false;
    if (!known && (kind == SPAD_ADVICE_DEEPER || !advice->options.steps)) return SPAD_OK;
    spad_status status = SPAD_OK;
    if (!list_depths(&advice->host, spad__advice_kernel(advice), &list)) {
        status = spad__fail_host_memory(error);
    }
    for (size_t i = 0; i < list.count && status == SPAD_OK && !*taken; i++) {
        bool over;
        status = spad__advice_check_limit(advice, &over, error);
        if (status != SPAD_OK || over) break;
        status = kind == SPAD_ADVICE_DEEPER ? try_deeper(advice, &list.items[i], taken, error)
                                            : try_shorter(advice, &list.items[i], taken, error);
    }
    spad__array_free(&advice->host, &list);
    return status;
}
