/* SPDX-License-Identifier: Apache-2.0
 *
 * Compares the places of two tensors: the box around all slots of one with that of the other.
 */
#include "layout/overlap.h"

#include "base/checked.h"
#include "kernel/kernel.h"

static bool do_overlap(spad_rect a, spad_rect b) {
    return a.lane < b.lane + b.lanes && b.lane < a.lane + a.lanes && a.byte < b.byte + b.bytes &&
           b.byte < a.byte + a.bytes;
}

/* The bytes of all slots that a layout gives to a tensor; false: it gives none. */
static bool surround(const spad_layout *layout, const spad_kernel_tensor *t, int64_t number,
                     spad_rect *all) {
    bool any = false;
    for (int64_t slot = 0; slot < t->slots; slot++) {
        spad_rect r;
        if (!spad_layout_get_place(&r, layout, number, slot)) continue;
        if (!any) *all = r;
        const int64_t lane_end = spad__max(all->lane + all->lanes, r.lane + r.lanes);
        const int64_t byte_end = spad__max(all->byte + all->bytes, r.byte + r.bytes);
        all->lane = spad__min(all->lane, r.lane);
        all->byte = spad__min(all->byte, r.byte);
        all->lanes = lane_end - all->lane;
        all->bytes = byte_end - all->byte;
        any = true;
    }
    return any;
}

bool spad__tensors_may_share(const spad_kernel *k, const spad_layout *layout, int64_t a,
                             int64_t b) {
    const spad_kernel_tensor *left = &k->tensors.items[a];
    const spad_kernel_tensor *right = &k->tensors.items[b];
    spad_rect all, others;
    if (left->space != right->space) return false;
    const bool placed = left->mode != SPAD_MODE_AUTO || right->mode != SPAD_MODE_AUTO;
    const bool both = left->mode != SPAD_MODE_AUTO && right->mode != SPAD_MODE_AUTO;
    if (layout == NULL || k->target->spaces[left->space].off_chip) return both;
    if (placed) return true;
    return surround(layout, left, a, &all) && surround(layout, right, b, &others) &&
           do_overlap(all, others);
}
