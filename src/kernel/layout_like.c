/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensors that have the same bytes in several instances of a space (`like`): the planner places the
 * first of them, for all.
 *
 * Its slots are needed as long as one of them is; where their times differ nothing is said of lower
 * layouts. By an order of the caller two slots may share bytes if they, and those like them, may
 * in each instance. O(slots like one x those like the other) for a pair.
 */
#include "base/assert.h"
#include "base/checked.h"
#include "kernel/kernel.h"
#include "kernel/layout.h"
#include "kernel/tensor_order.h"

/* One of them needs its bytes: so all do. */
static void join_lives(spad_layout *layout, size_t number, size_t other) {
    const size_t slots = layout->first_slots[number + 1] - layout->first_slots[number];
    for (size_t s = 0; s < slots; s++) {
        spad__slot_life *all = &layout->lives[layout->first_slots[other] + s];
        const spad__slot_life *one = &layout->lives[layout->first_slots[number] + s];
        if (one->begin == one->end) continue;
        layout->widened = layout->widened || one->begin != all->begin || one->end != all->end;
        spad__slot_need(all, *one);
    }
}

spad_status spad__layout_join_likes(spad_layout *layout, spad_error *error) {
    const spad_kernel *k = layout->kernel;
    layout->next_like = spad__new_array(&layout->host, k->tensors.count + 1, sizeof(int64_t));
    if (layout->next_like == NULL) return spad__fail_host_memory(error);
    for (size_t i = 0; i < k->tensors.count; i++) layout->next_like[i] = -1;
    for (size_t i = 0; i < k->tensors.count; i++) {
        const spad_kernel_tensor *tensor = &k->tensors.items[i];
        if (tensor->like == 0) continue;
        const size_t other = (size_t)tensor->like - 1;
        spad__assert(k->tensors.items[other].slots ==
                     tensor->slots); /* it has the ring of the other */
        layout->next_like[i] = layout->next_like[other];
        layout->next_like[other] = (int64_t)i;
        join_lives(layout, i, other);
    }
    return SPAD_OK;
}

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

/* ---- what is claimed ----------------------------------------------------------------- */

const spad__layout_space *spad__layout_first_instance(const spad_layout *layout, size_t space) {
    const spad_space *rules = &layout->kernel->target->spaces[space];
    for (size_t i = 0; rules->instance > 0 && i < layout->space_count; i++)
        if (layout->spaces[i].row.space == rules->instance_of) return &layout->spaces[i];
    return NULL;
}

/* Has the planner placed a tensor that others, needed at other times, are like? */
static bool has_widened(const spad_layout *layout, const spad_layout_space *row) {
    if (!layout->widened) return false;
    for (size_t i = 0; i < row->planned_count; i++) {
        const int64_t tensor = layout->buffers.items[row->first_buffer + i].tensor;
        if (tensor >= 0 && layout->next_like[tensor] >= 0) return true;
    }
    return false;
}

/* Has it buffers whose places the planner has chosen in the first instance? */
static bool has_copies(const spad_layout *layout, const spad_layout_space *row) {
    for (size_t i = row->planned_count; i < row->buffer_count; i++)
        if (layout->buffers.items[row->first_buffer + i].mode == SPAD_MODE_AUTO) return true;
    return false;
}

/* Is all of a buffer of the first instance in another one as well? */
static bool has_copy(const spad_layout *layout, const spad_layout_buffer *buffer,
                     int64_t instance) {
    const spad_kernel *k = layout->kernel;
    if (buffer->tensor < 0) {
        const spad_kernel_sync *sync = &k->syncs.items[buffer->sync];
        return sync->each_block && instance < sync->dims.items[0].value;
    }
    int64_t like = layout->next_like[buffer->tensor];
    while (like >= 0 && k->target->spaces[k->tensors.items[like].space].instance != instance)
        like = layout->next_like[like];
    for (int64_t s = 0; like >= 0 && s < buffer->slots; s++) {
        const spad__slot_life *life =
            &layout->lives[layout->first_slots[like] + (size_t)(buffer->slot + s)];
        if (life->begin == life->end) return false;
    }
    return like >= 0;
}

/* An instance that has all buffers of the first one is as high, but for what these are rounded up
 * by. 0: it has not all. */
static int64_t bound_of_first(const spad_layout *layout, const spad_layout_space *row) {
    const spad__layout_space *first = spad__layout_first_instance(layout, row->space);
    const int64_t instance = layout->kernel->target->spaces[row->space].instance;
    int64_t padding = 0;
    for (size_t i = 0; first != NULL && i < first->row.buffer_count; i++) {
        const spad_layout_buffer *buffer = &layout->buffers.items[first->row.first_buffer + i];
        if (!has_copy(layout, buffer, instance)) return 0;
        padding = spad__max(padding, buffer->padding);
    }
    return first != NULL ? first->row.bound - padding : 0;
}

void spad__layout_weaken_likes(const spad_layout *layout, spad_layout_space *row) {
    const int64_t certain = spad__layout_certain_bytes(layout, row);
    if (row->height <= certain) return;
    if (has_widened(layout, row)) spad__layout_lower_bound(layout, row, certain);
    if (has_copies(layout, row))
        spad__layout_lower_bound(layout, row, spad__max(certain, bound_of_first(layout, row)));
}
