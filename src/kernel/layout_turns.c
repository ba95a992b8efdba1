/* SPDX-License-Identifier: Apache-2.0
 *
 * Which buffers take turns with their bytes, by an order of the caller: two slots may share bytes
 * if they, and those like them, may in each instance. O(slots like one x those like the other) for
 * a pair.
 */
#include "kernel/kernel.h"
#include "kernel/layout.h"
#include "kernel/tensor_order.h"

/* What a buffer is in the order: for a tensor like its own, the same slots. What the kernel has
 * placed is all of its tensor. */
static spad__order_range members_of_buffer(const spad_layout *layout,
                                           const spad_layout_buffer *buffer, int64_t tensor) {
    const spad_tensor_order *order = layout->options.order;
    if (tensor < 0) return spad__tensor_order_sync(order, buffer->sync);
    const bool planned = buffer->mode == SPAD_MODE_AUTO;
    return spad__tensor_order_slots(order, tensor, buffer->slot, planned ? buffer->slots : 0);
}

/* Slots of a tensor, and of those like it, take turns with those of another one. */
static spad__turns turns_of_likes(const spad_layout *layout, const spad_layout_buffer *a,
                                  const spad_layout_buffer *b) {
    const spad_kernel_tensor *tensors = layout->kernel->tensors.items;
    const spad_tensor_order *order = layout->options.order;
    spad__turns turns = spad__tensor_order_turns(order, members_of_buffer(layout, a, a->tensor),
                                                 members_of_buffer(layout, b, b->tensor));
    for (int64_t i = layout->next_like[a->tensor]; i >= 0; i = layout->next_like[i]) {
        for (int64_t j = layout->next_like[b->tensor]; j >= 0; j = layout->next_like[j]) {
            if (tensors[i].space != tensors[j].space) continue;
            const spad__turns more = spad__tensor_order_turns(
                order, members_of_buffer(layout, a, i), members_of_buffer(layout, b, j));
            if (more < turns) turns = more;
        }
    }
    return turns;
}

/* An mbarrier is in all instances that it has elements in. */
static spad__turns turns_of_barrier(const spad_layout *layout, const spad_layout_buffer *barrier,
                                    const spad_layout_buffer *other) {
    const spad_tensor_order *order = layout->options.order;
    const bool region = barrier->sync < 0 || (other->tensor < 0 && other->sync < 0);
    spad__turns turns = SPAD__TURNS_ALL;
    if (region) return SPAD__TURNS_NONE; /* what is in it at which time is not known */
    const spad__order_range own = members_of_buffer(layout, barrier, -1);
    if (other->tensor < 0)
        return spad__tensor_order_turns(order, own, members_of_buffer(layout, other, -1));
    for (int64_t i = other->tensor; i >= 0; i = layout->next_like[i]) {
        const spad__turns more =
            spad__tensor_order_turns(order, own, members_of_buffer(layout, other, i));
        if (more < turns) turns = more;
    }
    return turns;
}

spad__turns spad__layout_turns(const spad_layout *layout, const spad_layout_buffer *a,
                               const spad_layout_buffer *b) {
    if (layout->options.order == NULL) return SPAD__TURNS_NONE;
    if (a->tensor < 0) return turns_of_barrier(layout, a, b);
    if (b->tensor < 0) return turns_of_barrier(layout, b, a);
    return turns_of_likes(layout, a, b);
}

bool spad__layout_in_turns(const spad_layout *layout, const spad_layout_buffer *a,
                           const spad_layout_buffer *b) {
    return spad__layout_turns(layout, a, b) == SPAD__TURNS_ALL;
}

/* Has a buffer values in the run? */
static bool is_used_in_run(const spad_layout *layout, const spad_layout_buffer *buffer) {
    return spad__tensor_order_uses(layout->options.order,
                                   members_of_buffer(layout, buffer, buffer->tensor));
}

bool spad__layout_keeps_apart(const spad_layout *layout, const spad_layout_buffer *a,
                              const spad_layout_buffer *b) {
    const spad_tensor_order *order = layout->options.order;
    if (order == NULL || !order->strict || a->tensor < 0 || b->tensor < 0) return false;
    return a->tensor != b->tensor && is_used_in_run(layout, a) && is_used_in_run(layout, b) &&
           !spad__layout_in_turns(layout, a, b);
}

bool spad__layout_may_share(const spad_layout *layout, const spad_layout_buffer *a,
                            const spad_layout_buffer *b) {
    const bool tensors = a->tensor >= 0 && b->tensor >= 0;
    return spad__layout_in_turns(layout, a, b) && (tensors || layout->options.order->barriers);
}
