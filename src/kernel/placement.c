/* SPDX-License-Identifier: Apache-2.0
 *
 * The places of a layout. The walk asks for them, and layouts are made by walking the kernel:
 * so the answers have a file of their own.
 */
#include "kernel/placement.h"

#include "kernel/place.h"

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

int64_t spad__layout_alias_slots(const spad_layout *layout, const spad_kernel_tensor *alias) {
    const spad_kernel_tensor *home = &layout->kernel->tensors.items[alias->home];
    const bool inside = alias->home_tile >= 0;
    return inside || alias->slots < home->slots ? alias->slots : home->slots;
}

bool spad__layout_alias_place(spad_rect *out, const spad_layout *layout,
                              const spad_kernel_tensor *alias, int64_t slot) {
    const spad_kernel *kernel = layout->kernel;
    const spad_kernel_tensor *home = &kernel->tensors.items[alias->home];
    const bool inside = alias->home_tile >= 0; /* all slots are in one tile of the home */
    const int64_t tile = inside ? alias->home_tile : slot;
    int64_t index[SPAD_RANK_MAX];
    spad_rect place = {0};
    spad__tile_index(home, tile, index);
    if (!spad__tile_place(kernel, home, tile, index, &place) &&
        !spad_layout_get_place(&place, layout, alias->home, spad__tile_slot(home, tile, index)))
        return false;
    const int64_t offset = alias->home_byte + (inside ? slot * alias->home_step : 0);
    *out = (spad_rect){place.lane, alias->tile_lanes, place.byte + offset, alias->tile_bytes};
    return true;
}

bool spad_layout_get_alias_place(spad_rect *out, const spad_layout *layout, int64_t tensor,
                                 int64_t slot) {
    if (tensor < 0 || (size_t)tensor >= layout->kernel->tensors.count || slot < 0) return false;
    const spad_kernel_tensor *alias = &layout->kernel->tensors.items[tensor];
    return alias->mode == SPAD_MODE_ALIAS && slot < spad__layout_alias_slots(layout, alias) &&
           spad__layout_alias_place(out, layout, alias, slot);
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
