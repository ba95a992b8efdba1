/* SPDX-License-Identifier: Apache-2.0
 *
 * Replicas: tensors that have the same bytes in several instances of a space (`like`). The planner
 * places the first one, and the others follow it.
 *
 * The slots of the first are live as long as those of any replica. That keeps more apart than each
 * replica alone needs, so no lower bound is claimed where the live ranges differ.
 */
#include "base/assert.h"
#include "base/checked.h"
#include "kernel/kernel.h"
#include "layout/layout.h"
#include "layout/tensor_order.h"

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

spad_status spad__layout_join_replicas(spad_layout *layout, spad_error *error) {
    const spad_kernel *k = layout->kernel;
    layout->next_replica = spad__new_array(&layout->host, k->tensors.count + 1, sizeof(int64_t));
    if (layout->next_replica == NULL) return spad__fail_host_memory(error);
    for (size_t i = 0; i < k->tensors.count; i++) layout->next_replica[i] = -1;
    for (size_t i = 0; i < k->tensors.count; i++) {
        const spad_kernel_tensor *tensor = &k->tensors.items[i];
        if (tensor->like == 0) continue;
        const size_t other = (size_t)tensor->like - 1;
        spad__assert(k->tensors.items[other].slots ==
                     tensor->slots); /* it has the ring of the other */
        layout->next_replica[i] = layout->next_replica[other];
        layout->next_replica[other] = (int64_t)i;
        join_lives(layout, i, other);
    }
    return SPAD_OK;
}

/* ---- claims --------------------------------------------------------------------------- */

const spad__layout_space *spad__layout_first_instance(const spad_layout *layout, size_t space) {
    const spad_space *rules = &layout->kernel->target->spaces[space];
    for (size_t i = 0; rules->instance > 0 && i < layout->space_count; i++)
        if (layout->spaces[i].row.space == rules->instance_of) return &layout->spaces[i];
    return NULL;
}

/* True if the planner placed a tensor with a replica of other live ranges. */
static bool has_widened(const spad_layout *layout, const spad_layout_space *row) {
    if (!layout->widened) return false;
    for (size_t i = 0; i < row->planned_count; i++) {
        const int64_t tensor = layout->buffers.items[row->first_buffer + i].tensor;
        if (tensor >= 0 && layout->next_replica[tensor] >= 0) return true;
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
    int64_t like = layout->next_replica[buffer->tensor];
    while (like >= 0 && k->target->spaces[k->tensors.items[like].space].instance != instance)
        like = layout->next_replica[like];
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

void spad__layout_weaken_replicas(const spad_layout *layout, spad_layout_space *row) {
    const int64_t certain = spad__layout_certain_bytes(layout, row);
    if (row->height <= certain) return;
    if (has_widened(layout, row)) spad__layout_lower_bound(layout, row, certain);
    if (has_copies(layout, row))
        spad__layout_lower_bound(layout, row, spad__max(certain, bound_of_first(layout, row)));
}
