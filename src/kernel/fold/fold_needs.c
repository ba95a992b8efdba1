/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes that a folded kernel needs. Tiles of one tensor that the planner places are needed in
 * the whole of a loop, but the tensors of a straight kernel only from their first use to their
 * last. (A declaration in the loop would be as short, but its rounds would wait for each other.) So
 * both kernels get a layout, and the folded one loses if it does not fit where the straight one
 * does, or takes more bytes. Then the tensors that the planner places are no families, and
 * operations on them stay straight; if it still loses, nothing is folded.
 *
 * Mostly the load of the folded kernel alone is more than the straight layout has: then it loses
 * without a layout, which would be a hard problem of all tiles at once. O(slots log slots), and the
 * cost of the layouts, whose search is limited by its work.
 */
#include "base/checked.h"
#include "kernel/fold/fold.h"
#include "kernel/place.h"
#include "layout/layout.h"

static bool is_planned_family(const spad__folder *f, const spad__family *family) {
    return family->of < 0 && family->used &&
           spad__is_planned(f->kernel, &f->kernel->tensors.items[family->first]);
}

/* ---- what it needs ----------------------------------------------------------------- */

/* Search steps for the layouts that are compared: the answer must not depend on a clock. A step may
 * go through all pairs of slots, so there are fewer where these are many. */
enum { FOLD_NODES = 2000, FOLD_NODES_LEAST = 20, FOLD_WORK = 20000000 };

/* Slots that the planner places. */
static int64_t count_planned(const spad_kernel *k) {
    int64_t slots = 0;
    for (size_t i = 0; i < k->tensors.count; i++) {
        const spad_kernel_tensor *tensor = &k->tensors.items[i];
        if (!spad__is_planned(k, tensor)) continue;
        if (!spad__add(slots, tensor->slots, &slots)) return INT64_MAX;
    }
    return slots;
}

static int64_t fold_nodes(int64_t slots) {
    const int64_t nodes = FOLD_WORK / slots / slots;
    return nodes > FOLD_NODES ? FOLD_NODES : nodes < FOLD_NODES_LEAST ? FOLD_NODES_LEAST : nodes;
}

spad_status spad__fold_measure(spad_layout **out, const spad_kernel *kernel, const spad_host *host,
                               spad_error *error) {
    const int64_t slots = count_planned(kernel);
    *out = NULL;
    if (slots == 0) return SPAD_OK;
    const spad_layout_options options = {
        .timeout_ns = INT64_MAX / 4, .node_limit = fold_nodes(slots), .host = host};
    spad_error reason;
    const spad_status status = spad_layout_create(out, kernel, &options, &reason);
    if (status != SPAD_ERR_HOST_MEMORY) return SPAD_OK; /* it has no layout */
    return spad__fail_host_memory(error);
}

spad_status spad__fold_overloads(bool *out, const spad_layout *straight, const spad_kernel *folded,
                                 const spad_host *host, spad_error *error) {
    const size_t spaces = folded->target->space_count;
    int64_t *loads = spad__new_array(host, spaces, sizeof *loads);
    spad_status status = loads != NULL ? spad__layout_loads(loads, folded, host, error)
                                       : spad__fail_host_memory(error);
    *out = false;
    for (size_t i = 0; status == SPAD_OK && i < spad_layout_space_count(straight); i++) {
        const spad_layout_space *space = spad_layout_get_space(straight, i);
        *out = *out || (space->planned_count > 0 && loads[space->space] > space->height);
    }
    spad__free(host, loads, spaces * sizeof *loads);
    return status;
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
