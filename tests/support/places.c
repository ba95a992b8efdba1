/* SPDX-License-Identifier: Apache-2.0 */
#include "support/places.h"

#include <stdlib.h>

#include "base/memory.h"
#include "kernel/kernel.h"
#include "kernel/place.h"
#include "layout/layout.h"
#include "support/support.h"

/* Slots of a tensor in the tables of a layout. */
static size_t slots_of(const spad_kernel *kernel, const spad_kernel_tensor *tensor) {
    return spad__is_planned(kernel, tensor) ? (size_t)tensor->slots : 1;
}

static void place_tensor(spad_layout *layout, size_t tensor, test_place place, void *context) {
    const spad_kernel_tensor *t = &layout->kernel->tensors.items[tensor];
    for (size_t slot = 0; slot < slots_of(layout->kernel, t); slot++) {
        const size_t number = layout->first_slots[tensor] + slot;
        spad_rect rect = {.lanes = t->tile_lanes, .bytes = t->tile_bytes};
        const bool placed = spad__is_planned(layout->kernel, t) &&
                            place(context, (int64_t)tensor, (int64_t)slot, &rect);
        layout->bytes[number] = placed ? rect.byte : SPAD_NO_BYTE;
        layout->lanes[number] = rect.lane;
    }
}

spad_layout *test_layout_with(const spad_kernel *kernel, test_place place, void *context) {
    const spad_host host = spad__host_or_default(NULL);
    const size_t tensors = kernel->tensors.count;
    spad_layout *layout = spad__new(&host, sizeof *layout);
    assert_non_null(layout);
    layout->host = host;
    layout->kernel = kernel;
    layout->first_slots = spad__new_array(&host, tensors + 1, sizeof *layout->first_slots);
    assert_non_null(layout->first_slots);
    for (size_t i = 0; i < tensors; i++)
        layout->first_slots[i + 1] =
            layout->first_slots[i] + slots_of(kernel, &kernel->tensors.items[i]);
    layout->slot_count = layout->first_slots[tensors];
    layout->bytes = spad__new_array(&host, layout->slot_count, sizeof *layout->bytes);
    layout->lanes = spad__new_array(&host, layout->slot_count, sizeof *layout->lanes);
    assert_true(tensors == 0 || (layout->bytes != NULL && layout->lanes != NULL));
    for (size_t i = 0; i < tensors; i++) place_tensor(layout, i, place, context);
    return layout;
}
