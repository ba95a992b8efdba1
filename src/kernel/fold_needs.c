/* SPDX-License-Identifier: Apache-2.0
 *
 * What a folded kernel needs. Tiles of one tensor that the planner places are needed in the whole
 * of a loop, but the tensors of a straight kernel only from their first use to their last. (A
 * declaration in the loop would be as short, but its rounds would wait for each other.) So both
 * kernels get a layout, and the folded one loses if it does not fit where the straight one does, or
 * takes more bytes. Then the tensors that the planner places are no families, and operations on
 * them stay straight; if it still loses, nothing is folded. O(tensors) and the cost of the layouts.
 */
#include "kernel/fold.h"
#include "kernel/layout.h"

static bool is_planned_family(const spad__folder *f, const spad__family *family) {
    return family->of < 0 && family->used &&
           spad__is_planned(f->kernel, &f->kernel->tensors.items[family->first]);
}

/* ---- what it needs ----------------------------------------------------------------- */

/* Search steps for the layouts that are compared: the answer must not depend on a clock. A step
 * goes through the tensors, so there are fewer where these are many. */
enum { FOLD_NODES = 2000, FOLD_NODES_LEAST = 20, FOLD_WORK = 200000 };

static int64_t fold_nodes(size_t tensors) {
    const int64_t nodes = FOLD_WORK / ((int64_t)tensors + 1);
    return nodes > FOLD_NODES ? FOLD_NODES : nodes < FOLD_NODES_LEAST ? FOLD_NODES_LEAST : nodes;
}

spad_status spad__fold_measure(spad_layout **out, const spad_kernel *kernel, const spad_host *host,
                               spad_error *error) {
    const spad_layout_options options = {
        .timeout_ns = INT64_MAX / 4, .node_limit = fold_nodes(kernel->tensors.count), .host = host};
    *out = NULL;
    bool planned = false;
    for (size_t i = 0; i < kernel->tensors.count && !planned; i++) {
        planned = spad__is_planned(kernel, &kernel->tensors.items[i]);
    }
    if (!planned) return SPAD_OK;
    spad_error reason;
    const spad_status status = spad_layout_create(out, kernel, &options, &reason);
    if (status != SPAD_ERR_HOST_MEMORY) return SPAD_OK; /* it has no layout */
    return spad__fail_host_memory(error);
}

bool spad__fold_loses(const spad_layout *straight, const spad_layout *folded) {
    if (straight == NULL) return false;
    if (folded == NULL) return true;
    if (spad_layout_fits(straight) && !spad_layout_fits(folded)) return true;
    for (size_t i = 0; i < spad_layout_space_count(straight); i++) {
        const spad_layout_space *a = spad_layout_get_space(straight, i);
        const spad_layout_space *b = spad_layout_get_space(folded, i);
        if (b == NULL || a->planned_count == 0) continue;
        const bool alone = a->planned_count == a->buffer_count;
        if (b->height > a->height || (alone && b->peak_bytes > a->peak_bytes)) return true;
    }
    return false;
}

/* ---- without them ------------------------------------------------------------------ */

bool spad__fold_retreat(spad__folder *f) {
    bool changed = false;
    for (size_t i = 0; i < f->kernel->tensors.count; i++) {
        const int64_t family = f->family[i];
        if (family < 0 || !is_planned_family(f, &f->families.items[family])) continue;
        f->alone[i] = changed = true;
    }
    return changed;
}
