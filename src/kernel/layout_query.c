/* SPDX-License-Identifier: Apache-2.0
 *
 * What a layout answers. The walk asks it for places, and what makes a layout walks the kernel:
 * so the answers have a file of their own.
 */
#include "kernel/kernel.h"
#include "kernel/layout.h"

bool spad_layout_get_place(spad_rect *out, const spad_layout *layout, int64_t tensor,
                           int64_t slot) {
    if (tensor < 0 || (size_t)tensor >= layout->kernel->tensors.count || slot < 0) return false;
    const spad_kernel_tensor *t = &layout->kernel->tensors.items[tensor];
    if (!spad__is_planned(layout->kernel, t) || slot >= t->slots) return false;
    const size_t number = layout->first_slots[tensor] + (size_t)slot;
    if (layout->bytes[number] == SPAD_NO_BYTE) return false;
    *out = (spad_rect){layout->lanes[number], t->tile_lanes, layout->bytes[number], t->tile_bytes};
    return true;
}

bool spad_layout_fits(const spad_layout *layout) {
    for (size_t i = 0; i < layout->space_count; i++) {
        const spad_plan_verdict verdict = layout->spaces[i].row.verdict;
        if (verdict != SPAD_PLAN_OPTIMAL && verdict != SPAD_PLAN_FEASIBLE) return false;
    }
    return true;
}

const spad_kernel *spad_layout_get_kernel(const spad_layout *layout) {
    return layout->kernel;
}

size_t spad_layout_space_count(const spad_layout *layout) {
    return layout->space_count;
}

const spad_layout_space *spad_layout_get_space(const spad_layout *layout, size_t number) {
    return number < layout->space_count ? &layout->spaces[number].row : NULL;
}

size_t spad_layout_buffer_count(const spad_layout *layout) {
    return layout->buffers.count;
}

const spad_layout_buffer *spad_layout_get_buffer(const spad_layout *layout, size_t number) {
    return number < layout->buffers.count ? &layout->buffers.items[number] : NULL;
}
