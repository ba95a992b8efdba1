/* SPDX-License-Identifier: Apache-2.0
 *
 * Decides which buffers may share bytes.
 *
 * Two buffers may share bytes if every access to one happens before every access to the other. The
 * tensor order (tensor_order.h) answers that for single ring slots; this file lifts the answer to
 * buffers. A buffer stands for its tensor and all replicas of it (tensors declared `like` another,
 * one per block of a cluster), and the weakest answer among the replicas counts.
 *
 * Cost per pair: O(replicas of one x replicas of the other).
 */
#include "kernel/kernel.h"
#include "layout/layout.h"
#include "layout/tensor_order.h"

/* The slots of the tensor order that a buffer, or its replica `tensor`, stands for. A pinned tensor
 * is one unit: all of its slots. */
static spad__order_range slots_in_order(const spad_layout *layout, const spad_layout_buffer *buffer,
                                        int64_t tensor) {
    const spad_tensor_order *order = layout->options.order;
    if (tensor < 0) return spad__tensor_order_sync(order, buffer->sync);
    const bool planned = buffer->mode == SPAD_MODE_AUTO;
    return spad__tensor_order_slots(order, tensor, buffer->slot, planned ? buffer->slots : 0);
}

/* The weakest sharing over all pairs of replicas in the same memory. */
static spad__sharing sharing_of_replicas(const spad_layout *layout, const spad_layout_buffer *a,
                                         const spad_layout_buffer *b) {
    const spad_kernel_tensor *tensors = layout->kernel->tensors.items;
    const spad_tensor_order *order = layout->options.order;
    spad__sharing sharing = spad__tensor_order_sharing(order, slots_in_order(layout, a, a->tensor),
                                                       slots_in_order(layout, b, b->tensor));
    for (int64_t i = layout->next_replica[a->tensor]; i >= 0; i = layout->next_replica[i]) {
        for (int64_t j = layout->next_replica[b->tensor]; j >= 0; j = layout->next_replica[j]) {
            if (tensors[i].space != tensors[j].space) continue;
            const spad__sharing more = spad__tensor_order_sharing(
                order, slots_in_order(layout, a, i), slots_in_order(layout, b, j));
            if (more < sharing) sharing = more;
        }
    }
    return sharing;
}

/* An mbarrier has elements in every replica. */
static spad__sharing sharing_of_barrier(const spad_layout *layout,
                                        const spad_layout_buffer *barrier,
                                        const spad_layout_buffer *other) {
    const spad_tensor_order *order = layout->options.order;
    const bool region = barrier->sync < 0 || (other->tensor < 0 && other->sync < 0);
    spad__sharing sharing = SPAD__SHARE_ALL;
    if (region) return SPAD__SHARE_NONE; /* what is in it at which time is not known */
    const spad__order_range own = slots_in_order(layout, barrier, -1);
    if (other->tensor < 0)
        return spad__tensor_order_sharing(order, own, slots_in_order(layout, other, -1));
    for (int64_t i = other->tensor; i >= 0; i = layout->next_replica[i]) {
        const spad__sharing more =
            spad__tensor_order_sharing(order, own, slots_in_order(layout, other, i));
        if (more < sharing) sharing = more;
    }
    return sharing;
}

spad__sharing spad__layout_sharing(const spad_layout *layout, const spad_layout_buffer *a,
                                   const spad_layout_buffer *b) {
    if (layout->options.order == NULL) return SPAD__SHARE_NONE;
    if (a->tensor < 0) return sharing_of_barrier(layout, a, b);
    if (b->tensor < 0) return sharing_of_barrier(layout, b, a);
    return sharing_of_replicas(layout, a, b);
}

static bool share_all(const spad_layout *layout, const spad_layout_buffer *a,
                      const spad_layout_buffer *b) {
    return spad__layout_sharing(layout, a, b) == SPAD__SHARE_ALL;
}

/* True if the buffer holds a value at some point of the analysed run. */
static bool is_used_in_run(const spad_layout *layout, const spad_layout_buffer *buffer) {
    return spad__tensor_order_uses(layout->options.order,
                                   slots_in_order(layout, buffer, buffer->tensor));
}

bool spad__layout_keeps_apart(const spad_layout *layout, const spad_layout_buffer *a,
                              const spad_layout_buffer *b) {
    const spad_tensor_order *order = layout->options.order;
    if (order == NULL || !order->strict || a->tensor < 0 || b->tensor < 0) return false;
    return a->tensor != b->tensor && is_used_in_run(layout, a) && is_used_in_run(layout, b) &&
           !share_all(layout, a, b);
}

bool spad__layout_may_share(const spad_layout *layout, const spad_layout_buffer *a,
                            const spad_layout_buffer *b) {
    const bool tensors = a->tensor >= 0 && b->tensor >= 0;
    return share_all(layout, a, b) && (tensors || layout->options.order->barriers);
}
