/* SPDX-License-Identifier: Apache-2.0
 *
 * The search for changes.
 *
 * Kinds come one after another, and a kind is tried again with the kernel that has its last change
 * until it gives nothing more. Every changed kernel is analysed as a whole, and compared with the
 * one before: a change that loses a part of the proof, adds a warning or takes more time is not
 * kept. So the last kernel is as good as the first in all of these, and the effects of the changes
 * add up.
 *
 * It ends: a load leaves a loop, a ring becomes faster or smaller, an alias is one more, and no
 * change undoes another: none that adds slots is kept unless it is faster, and none is slower.
 * Cost: one analysis for each trial.
 */
#include "analysis/advice.h"
#include "spad/experimental/advice.h"
#include "spad/experimental/kernel_rows.h"
#include "spad/experimental/tensor_order.h"

const char *spad_advice_kind_name(spad_advice_kind kind) {
    switch (kind) {
    case SPAD_ADVICE_LOAD: return "load";
    case SPAD_ADVICE_DEEPER: return "deeper";
    case SPAD_ADVICE_SHORTER: return "shorter";
    case SPAD_ADVICE_ALIAS: return "alias";
    case SPAD_ADVICE_KINDS: break;
    }
    return "?";
}

/* Makes an edit and tries it. What cannot be read is no change. */
static spad_status try_edit(spad_advice *a, const spad__edit *edit,
                            const spad_advice_change *change, bool *taken, spad_error *error) {
    spad_kernel *changed;
    *taken = false;
    const spad_status status =
        spad__kernel_edit(&changed, spad__advice_kernel(a), edit, &a->host, NULL);
    if (status != SPAD_OK) return spad__attempted(status, error);
    return spad__advice_try(a, changed, change, taken, error);
}

/* ---- loads ------------------------------------------------------------------------- */

static spad_status try_loads(spad_advice *a, bool *taken, spad_error *error) {
    const spad_kernel *k = spad__advice_kernel(a);
    const size_t count = k->statements.count;
    int64_t *to = spad__new_array(&a->host, count + 1, sizeof *to);
    spad_status status = to != NULL ? SPAD_OK : spad__fail_host_memory(error);
    *taken = false;
    for (size_t i = 0; i < count && status == SPAD_OK && !*taken; i++) {
        spad__load load;
        if (!spad__find_load(k, i, to, &load)) continue;
        const spad_advice_change change = {.kind = SPAD_ADVICE_LOAD,
                                           .name = k->tensors.items[load.tensor].name,
                                           .other = k->loops.items[load.loop].name,
                                           .operation = k->statements.items[i].name,
                                           .location = k->statements.items[i].location};
        status = try_edit(a, &load.edit, &change, taken, error);
    }
    spad__free(&a->host, to, (count + 1) * sizeof *to);
    return status;
}

/* ---- aliases ----------------------------------------------------------------------- */

/* Does all of the tensor fit in a tile of the ring? */
static bool fits_in_tile(const spad_kernel_tensor *t, const spad_kernel_tensor *ring) {
    return t->space == ring->space && ring->slots > 1 && t->tile_lanes <= ring->tile_lanes &&
           t->tile_bytes <= ring->tile_bytes / t->slots;
}

static spad_status try_alias(spad_advice *a, const spad_tensor_order *order, size_t tensor,
                             int64_t *to, bool *taken, spad_error *error) {
    const spad_kernel *k = spad__advice_kernel(a);
    const spad_kernel_tensor *t = &k->tensors.items[tensor];
    spad_status status = SPAD_OK;
    if (!spad__has_own_place(k, tensor) || spad__is_home(k, tensor)) return SPAD_OK;
    for (size_t i = 0; i < k->tensors.count && status == SPAD_OK && !*taken; i++) {
        const spad_kernel_tensor *ring = &k->tensors.items[i];
        if (i == tensor || !spad__has_own_place(k, i) || !fits_in_tile(t, ring) ||
            !spad_tensor_order_may_share(order, (int64_t)tensor, (int64_t)i)) {
            continue;
        }
        const spad_advice_change change = {.kind = SPAD_ADVICE_ALIAS,
                                           .name = t->name,
                                           .other = ring->name,
                                           .operation = "",
                                           .location = t->location};
        const spad__edit edit = spad__edit_alias(k, tensor, i, to);
        status = try_edit(a, &edit, &change, taken, error);
    }
    return status;
}

/* Only with synchronisation: without it the compiler would have to know that the two are one. */
static spad_status try_aliases(spad_advice *a, bool *taken, spad_error *error) {
    const spad_kernel *k = spad__advice_kernel(a);
    const spad_tensor_order_options options = {
        .timeout_ns = spad__limit_left(&a->limit), .watch = a->limit.watch, .host = &a->host};
    const size_t count = k->statements.count;
    const size_t tensors = k->tensors.count;
    spad_tensor_order *order;
    *taken = false;
    if (!k->is_explicit) return SPAD_OK;
    spad_status status = spad_tensor_order_create(&order, k, &options, error);
    if (status != SPAD_OK) return status;
    int64_t *to = spad__new_array(&a->host, count + 1, sizeof *to);
    if (to == NULL) status = spad__fail_host_memory(error);
    for (size_t i = 0; i < tensors && status == SPAD_OK && !*taken; i++) {
        status = try_alias(a, order, i, to, taken, error);
    }
    spad__free(&a->host, to, (count + 1) * sizeof *to);
    spad_tensor_order_destroy(order);
    return status;
}

/* ---- all --------------------------------------------------------------------------- */

static spad_status try_kind(spad_advice *a, spad_advice_kind kind, bool *taken, spad_error *error) {
    switch (kind) {
    case SPAD_ADVICE_LOAD: return try_loads(a, taken, error);
    case SPAD_ADVICE_ALIAS: return try_aliases(a, taken, error);
    default: return spad__advice_try_depths(a, kind, taken, error);
    }
}

static spad_status search_changes(spad_advice *a, spad_error *error) {
    spad_status status = spad__advice_measure(a, a->given, &a->now, error);
    if (status != SPAD_OK) return status;
    a->totals.proved = a->now.fine;
    a->totals.simulated = a->now.simulated;
    a->totals.before = a->now.cost;
    for (int kind = 0; kind < SPAD_ADVICE_KINDS && a->now.fine; kind++) {
        bool again = (a->options.skip & 1u << kind) == 0;
        while (status == SPAD_OK && again) {
            bool over;
            status = spad__advice_check_limit(a, &over, error);
            if (status != SPAD_OK || over) break;
            status = try_kind(a, (spad_advice_kind)kind, &again, error);
        }
        if (status != SPAD_OK) return status;
    }
    a->totals.after = a->now.cost;
    return status;
}

static spad_status fill_advice_options(spad_advice_options *options, spad_error *error) {
    if (options->depth_most < 0 || options->trials_most < 0) {
        const int64_t least = options->depth_most < 0 ? options->depth_most : options->trials_most;
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a limit of %lld is negative",
                          (long long)least);
    }
    if (options->depth_most == 0) options->depth_most = SPAD_ADVICE_DEPTH;
    if (options->trials_most == 0) options->trials_most = SPAD_ADVICE_TRIALS;
    return SPAD_OK;
}

spad_status spad_advice_create(spad_advice **out, const spad_kernel *kernel,
                               const spad_advice_options *options, spad_error *error) {
    spad_advice_options filled = options != NULL ? *options : (spad_advice_options){0};
    spad__limit limit;
    *out = NULL;
    spad_status status = fill_advice_options(&filled, error);
    if (status == SPAD_OK) {
        status = spad__limit_start(&limit, filled.timeout_ns, filled.watch, error);
    }
    if (status != SPAD_OK) return status;
    const spad_host host = spad__host_or_default(filled.host);
    spad_advice *advice = spad__new(&host, sizeof *advice);
    if (advice == NULL) return spad__fail_host_memory(error);
    advice->host = host;
    advice->arena.host = host;
    advice->given = kernel;
    advice->options = filled;
    advice->limit = limit;
    status = search_changes(advice, error);
    if (status != SPAD_OK) {
        spad_advice_destroy(advice);
        return status;
    }
    *out = advice;
    return SPAD_OK;
}

void spad_advice_destroy(spad_advice *advice) {
    if (advice == NULL) return;
    const spad_host host = advice->host;
    spad_kernel_destroy(advice->owned);
    spad__array_free(&host, &advice->changes);
    spad__arena_free(&advice->arena);
    spad__free(&host, advice, sizeof *advice);
}

spad_advice_totals spad_advice_get_totals(const spad_advice *advice) {
    return advice->totals;
}

size_t spad_advice_count(const spad_advice *advice) {
    return advice->changes.count;
}

const spad_advice_change *spad_advice_get(const spad_advice *advice, size_t number) {
    return number < advice->changes.count ? &advice->changes.items[number] : NULL;
}

const spad_kernel *spad_advice_get_kernel(const spad_advice *advice) {
    return spad__advice_kernel(advice);
}
