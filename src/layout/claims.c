/* SPDX-License-Identifier: Apache-2.0
 *
 * Decides what a layout claims about all layouts of its kernel: the lower bound `bound`, and the
 * verdicts *no layout is lower* and *no layout fits*, which rest on it.
 *
 * The planner proves things about the problem that it was given. Where that problem keeps buffers
 * apart that some layout may let overlap, its bound is too high: it is lowered (here for agents, in
 * replicas.c and mbarrier_bytes.c for the others), and verdicts that rested on it are withdrawn.
 * Pinned buffers are in every layout, so one outside of the space proves that no layout fits.
 * O(buffers) each.
 */
#include "base/checked.h"
#include "kernel/kernel.h"
#include "layout/layout.h"
#include "layout/tensor_order.h"

static int64_t buffer_top(const spad_layout_buffer *buffer) {
    return buffer->rect.byte + buffer->taken;
}

static bool is_buffer_outside(const spad_layout_space *row, const spad_layout_buffer *buffer) {
    return buffer->rect.byte < 0 || buffer_top(buffer) > row->capacity;
}

void spad__layout_claim_given(const spad_layout *layout, spad_layout_space *row) {
    for (size_t i = row->planned_count; i < row->buffer_count; i++) {
        const spad_layout_buffer *buffer = &layout->buffers.items[row->first_buffer + i];
        row->height = spad__max(row->height, buffer_top(buffer));
        if (is_buffer_outside(row, buffer)) row->verdict = SPAD_PLAN_INFEASIBLE;
        if (buffer->mode != SPAD_MODE_AUTO && buffer->begin < buffer->end)
            row->bound = spad__max(row->bound, buffer_top(buffer));
    }
}

/* True if all pinned buffers are inside the space. */
static bool given_fits(const spad_layout *layout, const spad_layout_space *row) {
    for (size_t i = row->planned_count; i < row->buffer_count; i++)
        if (is_buffer_outside(row, &layout->buffers.items[row->first_buffer + i])) return false;
    return true;
}

int64_t spad__layout_certain_bytes(const spad_layout *layout, const spad_layout_space *row) {
    int64_t certain = 0;
    for (size_t i = 0; i < row->buffer_count; i++) {
        const spad_layout_buffer *buffer = &layout->buffers.items[row->first_buffer + i];
        const bool chosen = buffer->mode == SPAD_MODE_AUTO;
        if (buffer->begin < buffer->end)
            certain = spad__max(certain, chosen ? buffer->rect.bytes : buffer_top(buffer));
    }
    return certain;
}

void spad__layout_lower_bound(const spad_layout *layout, spad_layout_space *row, int64_t bound) {
    row->bound = spad__min(row->bound, bound);
    if (row->verdict == SPAD_PLAN_OPTIMAL && row->bound < row->height)
        row->verdict = SPAD_PLAN_FEASIBLE;
    if (row->verdict == SPAD_PLAN_INFEASIBLE && row->bound <= row->capacity &&
        given_fits(layout, row))
        row->verdict = SPAD_PLAN_UNKNOWN;
}

/* ---- agents ------------------------------------------------------------------------ */

/* Is the buffer needed from fork to join, as it is if an agent touches it? Without agents: to the
 * end, because the text alone does not say when a unit is done with it? */
static bool is_of_agents(const spad_layout *layout, const spad_layout_buffer *buffer) {
    const spad_kernel *k = layout->kernel;
    if (k->agents.count < 2) {
        return k->units.count > 0 && buffer->tensor >= 0 && buffer->end >= layout->end &&
               (k->tensors.items[buffer->tensor].flags & SPAD_TENSOR_OUTPUT) == 0;
    }
    const size_t last = k->agents.items[k->agents.count - 1].statement;
    return buffer->begin <= (int64_t)k->agents.items[1].statement &&
           buffer->end >= (int64_t)k->statements.items[last].end;
}

/* True if the order decides for each slot what it may share bytes with. A pinned tensor is compared
 * as a whole, so it must not differ between its slots: another one could overlap some of them. */
static bool is_exact_order(const spad_layout *layout, const spad_layout_space *row) {
    if (layout->options.order->coarse) return false;
    for (size_t i = row->planned_count; i < row->buffer_count; i++) {
        const spad_layout_buffer *given = &layout->buffers.items[row->first_buffer + i];
        for (size_t j = 0; j < row->planned_count && given->tensor >= 0; j++) {
            const spad_layout_buffer *planned = &layout->buffers.items[row->first_buffer + j];
            if (spad__layout_sharing(layout, planned, given) == SPAD__SHARE_SOME) return false;
        }
    }
    return true;
}

void spad__layout_weaken_agents(const spad_layout *layout, spad_layout_space *row, bool loose) {
    const spad_tensor_order *order = layout->options.order;
    const int64_t certain = spad__layout_certain_bytes(layout, row);
    bool of_agents = false;
    int64_t slots = 0;
    for (size_t i = 0; i < row->buffer_count; i++) {
        const spad_layout_buffer *buffer = &layout->buffers.items[row->first_buffer + i];
        const bool planned = i < row->planned_count;
        of_agents = of_agents || (planned && is_of_agents(layout, buffer));
        if (planned || buffer->tensor >= 0) slots += buffer->slots;
    }
    if (!of_agents || slots < 2 || row->height <= certain) return;
    row->agents_ordered = order != NULL && order->known && row->buffer_count <= SPAD__ORDERED_MAX;
    row->agents_apart = !row->agents_ordered;
    if (row->agents_apart || loose || !is_exact_order(layout, row))
        spad__layout_lower_bound(layout, row, certain);
}
