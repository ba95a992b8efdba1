/* SPDX-License-Identifier: Apache-2.0
 *
 * How long the bytes of an mbarrier are needed, from the text alone.
 *
 * An mbarrier that the main program initialises and invalidates is needed from the first `init` of
 * its elements to the last `invalidate`, if
 *   - every element has one of each, all in one block that is not a branch of an `if`: control that
 *     passes the first passes the last;
 *   - no `break` leaves that block in between;
 *   - all uses are in between.
 * A use that the text puts there and that happens later is an error (SPAD-MBARRIER-LIFE), which
 * the check finds. In a loop that holds all of it such an mbarrier has a new life in every
 * iteration, as a tensor that is declared there. Any other mbarrier is needed all the time.
 *
 * The bytes are shared with other mbarriers only: what a unit writes over one needs a proxy fence
 * after `invalidate`, which the kernel may not have. The check finds that
 * (check/mbarrier_live_ranges.c).
 *
 * So a kernel that places an mbarrier over a tile, before its first `init` or after its last
 * `invalidate`, may have a lower layout: nothing lower is excluded where that is possible.
 *
 * O(statements + completions) for each mbarrier.
 */
#include "base/assert.h"
#include "base/checked.h"
#include "kernel/kernel.h"
#include "layout/layout.h"
#include "layout/tensor_order.h"

enum { FOLLOWED_ELEMENTS_MAX = 64 };

typedef struct barrier_life {
    const spad_kernel *kernel;
    int64_t sync;
    int64_t block;  /* of the first init; -1: the program */
    uint64_t begun; /* elements, as bits */
    uint64_t ended;
    size_t first; /* statements */
    size_t last;
    bool fails;
} barrier_life;

/* The element that an index of numbers names, as a bit; 0: it is not known. */
static uint64_t element_bit(const barrier_life *b, const spad_statement *s) {
    const spad_kernel_sync *sync = &b->kernel->syncs.items[b->sync];
    int64_t element = 0;
    for (size_t i = 0; i < s->index_count; i++) {
        const spad_expr_info info = spad_kernel_get_expr(b->kernel, s->index[i]);
        if (info.node_count != 1 || info.nodes[0].op != SPAD_EXPR_NUMBER) return 0;
        element = element * sync->dims.items[i].value + info.least;
    }
    const bool known =
        element >= 0 && element < sync->elements && (s->index_count > 0 || sync->elements == 1);
    return known ? (uint64_t)1 << element : 0;
}

static void add_end(barrier_life *b, size_t number, const spad_statement *s) {
    const uint64_t bit = element_bit(b, s);
    const bool init = s->kind == SPAD_STATEMENT_INIT;
    uint64_t *seen = init ? &b->begun : &b->ended;
    if (b->begun == 0) {
        b->block = s->parent;
        b->first = number;
    }
    b->last = number;
    b->fails = b->fails || bit == 0 || (*seen & bit) != 0 || s->agent != 0 ||
               s->parent != b->block || (!init && (b->begun & bit) == 0);
    *seen |= bit;
}

static bool is_completed(const barrier_life *b, const spad_statement *s) {
    for (size_t i = 0; i < s->completion_count; i++) {
        const spad_kernel_completion *c = &b->kernel->completions.items[s->first_completion + i];
        if (c->kind != SPAD_COMPLETION_SIGNAL && c->object == b->sync) return true;
    }
    return false;
}

static bool is_barrier_use(const barrier_life *b, const spad_statement *s) {
    switch (s->kind) {
    case SPAD_STATEMENT_ARRIVE:
    case SPAD_STATEMENT_EXPECT:
    case SPAD_STATEMENT_WAIT_PARITY: return s->item == b->sync;
    case SPAD_STATEMENT_OPERATION: return is_completed(b, s);
    default: return false;
    }
}

/* True if a `break` ends the loop of the block, or a loop around it. */
static bool leaves_block(const barrier_life *b, const spad_statement *s) {
    return s->kind == SPAD_STATEMENT_BREAK &&
           (s->loop < 0 || (int64_t)b->kernel->loops.items[s->loop].statement <= b->block);
}

static bool is_plain_block(const spad_kernel *k, int64_t block) {
    return block < 0 || k->statements.items[block].kind == SPAD_STATEMENT_FOR;
}

spad__slot_life spad__barrier_life(const spad_layout *layout, size_t sync) {
    const spad_kernel *k = layout->kernel;
    const spad__slot_life all = {0, layout->end};
    const int64_t elements = k->syncs.items[sync].elements;
    barrier_life b = {.kernel = k, .sync = (int64_t)sync, .block = -1};
    if (elements > FOLLOWED_ELEMENTS_MAX) return all;
    for (size_t i = 0; i < k->statements.count && !b.fails; i++) {
        const spad_statement *s = &k->statements.items[i];
        const bool over = b.ended != 0 && b.ended == b.begun;
        const bool end = s->kind == SPAD_STATEMENT_INIT || s->kind == SPAD_STATEMENT_INVALIDATE;
        if (end && s->item == b.sync) {
            add_end(&b, i, s);
        } else if (b.begun == 0 || over) {
            b.fails = is_barrier_use(&b, s);
        } else {
            b.fails = leaves_block(&b, s);
        }
    }
    const uint64_t every = elements == 64 ? UINT64_MAX : ((uint64_t)1 << elements) - 1;
    if (b.fails || b.begun != every || b.ended != every || !is_plain_block(k, b.block)) return all;
    return (spad__slot_life){(int64_t)b.first, (int64_t)b.last + 1};
}

/* ---- what lower layouts could share ------------------------------------------------------ */

/* Slots and mbarriers whose sums are compared. */
enum { SUMMED_MAX = 1024, CHOSEN_MAX = 64 };

/* The statements of the outermost block that a statement is in; itself, where it is in no block. */
static spad__slot_life block_around(const spad_kernel *k, size_t number) {
    size_t first = number;
    size_t after = number + 1;
    while (k->statements.items[first].parent >= 0)
        first = (size_t)k->statements.items[first].parent;
    while (after < k->statements.count && k->statements.items[after].parent >= 0) after++;
    return (spad__slot_life){(int64_t)first,
                             first == number ? (int64_t)number + 1 : (int64_t)after};
}

/* After the last `init` of an mbarrier and before its first `invalidate` all of it is in use. Empty
 * where the text does not say when that is: agents begin or end a life, or rounds of a loop do. */
static spad__slot_life certain_life(const spad_layout *layout, int64_t sync) {
    const spad_kernel *k = layout->kernel;
    const spad__slot_life brief = spad__barrier_life(layout, (size_t)sync);
    const bool in_block = brief.begin > 0 || brief.end < layout->end;
    spad__slot_life life = {0, layout->end};
    for (size_t i = 0; i < k->statements.count; i++) {
        const spad_statement *s = &k->statements.items[i];
        const bool init = s->kind == SPAD_STATEMENT_INIT;
        if ((!init && s->kind != SPAD_STATEMENT_INVALIDATE) || s->item != sync) continue;
        if (s->agent != 0) return (spad__slot_life){0, 0};
        const spad__slot_life block = block_around(k, i);
        if (init) life.begin = in_block ? (int64_t)i + 1 : spad__max(life.begin, block.end);
        if (!init) life.end = spad__min(life.end, in_block ? (int64_t)i : block.begin);
    }
    return life.begin < life.end ? life : (spad__slot_life){0, 0};
}

static bool is_needed_at(const spad__slot_life *life, int64_t statement) {
    return life->begin <= statement && statement < life->end;
}

/* Is every slot of every tensor of the space needed in some moment of the life of an mbarrier, by
 * the text and by the order? And every other mbarrier, by the order? */
static bool meets_all(const spad_layout *layout, const spad_layout_space *row,
                      const spad_layout_buffer *barrier, const spad__slot_life *life) {
    for (size_t i = 0; i < row->buffer_count; i++) {
        const spad_layout_buffer *buffer = &layout->buffers.items[row->first_buffer + i];
        const int64_t tensor = buffer->tensor;
        if (spad__layout_sharing(layout, barrier, buffer) != SPAD__SHARE_NONE) return false;
        if (tensor < 0) continue;
        for (size_t s = layout->first_slots[tensor]; s < layout->first_slots[tensor + 1]; s++) {
            const spad__slot_life *slot = &layout->lives[s];
            if (slot->begin == slot->end) continue;
            if (slot->begin >= life->end || slot->end <= life->begin) return false;
        }
    }
    return true;
}

/* Bytes of the slots of a buffer that the planner places: places that are given may overlap. */
static int64_t bytes_needed_at(const spad_layout *layout, const spad_layout_buffer *buffer,
                               int64_t statement) {
    const size_t first = layout->first_slots[buffer->tensor] + (size_t)buffer->slot;
    int64_t sum = 0;
    if (buffer->mode != SPAD_MODE_AUTO) return 0;
    spad__assert(first + (size_t)buffer->slots <= layout->first_slots[buffer->tensor + 1]);
    for (int64_t s = 0; s < buffer->slots; s++)
        if (is_needed_at(&layout->lives[first + (size_t)s], statement)) sum += buffer->rect.bytes;
    return sum;
}

/* Buffers that are pairwise kept apart by the order of the caller. */
typedef struct chosen_buffers {
    const spad_layout_buffer *items[CHOSEN_MAX];
    size_t count;
} chosen_buffers;

/* Of several mbarriers under one name the order says what one of them needs: they are left out. */
static bool add_chosen(const spad_layout *layout, chosen_buffers *chosen,
                       const spad_layout_buffer *buffer) {
    if (layout->options.order == NULL) return true;
    if (chosen->count == CHOSEN_MAX || (buffer->tensor < 0 && buffer->slots > 1)) return false;
    for (size_t i = 0; i < chosen->count; i++)
        if (spad__layout_sharing(layout, buffer, chosen->items[i]) != SPAD__SHARE_NONE)
            return false;
    chosen->items[chosen->count++] = buffer;
    return true;
}

/* Bytes that any layout has at a statement; barriers: their certain lives. */
static int64_t load_at(const spad_layout *layout, const spad_layout_space *row,
                       const spad__slot_life *barriers, int64_t statement) {
    chosen_buffers chosen = {.count = 0};
    int64_t sum = 0;
    for (size_t i = 0; i < row->buffer_count; i++) {
        const spad_layout_buffer *buffer = &layout->buffers.items[row->first_buffer + i];
        const bool barrier = buffer->tensor < 0;
        int64_t bytes = 0;
        if (!barrier) bytes = bytes_needed_at(layout, buffer, statement);
        if (barrier && is_needed_at(&barriers[i], statement)) bytes = buffer->taken;
        if (bytes > 0 && add_chosen(layout, &chosen, buffer)) sum += bytes;
    }
    return sum;
}

/* The largest of these sums; the largest slot where agents run concurrently or there are too many
 * slots. Pinned buffers are in every layout. */
static int64_t certain_load(const spad_layout *layout, const spad_layout_space *row,
                            const spad__slot_life *barriers) {
    size_t count = row->buffer_count;
    int64_t most = spad__layout_certain_bytes(layout, row);
    if (spad_kernel_agent_count(layout->kernel) > 1) return most;
    for (size_t i = 0; i < row->buffer_count && count <= SUMMED_MAX; i++) {
        const int64_t tensor = layout->buffers.items[row->first_buffer + i].tensor;
        if (tensor >= 0) count += layout->first_slots[tensor + 1] - layout->first_slots[tensor];
    }
    for (size_t i = 0; i < row->buffer_count && count <= SUMMED_MAX; i++) {
        const int64_t tensor = layout->buffers.items[row->first_buffer + i].tensor;
        if (tensor < 0) {
            most = spad__max(most, load_at(layout, row, barriers, barriers[i].begin));
            continue;
        }
        for (size_t s = layout->first_slots[tensor]; s < layout->first_slots[tensor + 1]; s++)
            most = spad__max(most, load_at(layout, row, barriers, layout->lives[s].begin));
    }
    return most;
}

/* Has the planner been told exactly what may share bytes with an mbarrier? Of several under one
 * name one may leave its bytes before another one. */
static bool is_exact(const spad_layout *layout, const spad_layout_buffer *barrier) {
    const spad_tensor_order *order = layout->options.order;
    return order != NULL && order->known && order->barriers && !order->coarse &&
           !order->uneven[spad__tensor_order_sync(order, barrier->sync).first] &&
           barrier->mode == SPAD_MODE_AUTO;
}

/* Bytes by which a layout with mbarriers over tiles may be lower than one of ours. Without these
 * mbarriers it is a layout of the rest, and with them on top of that, aligned, it is one of ours.
 */
static int64_t less_with_tiles(const spad_layout *layout, const spad_layout_space *row,
                               const spad__slot_life *barriers) {
    int64_t less = 0;
    for (size_t i = 0; i < row->buffer_count; i++) {
        const spad_layout_buffer *buffer = &layout->buffers.items[row->first_buffer + i];
        if (buffer->sync < 0 || is_exact(layout, buffer)) continue;
        if (meets_all(layout, row, buffer, &barriers[i])) continue;
        if (i >= row->planned_count)
            return row->bound; /* one with a place is in the way anywhere */
        less = spad__min(less + buffer->taken, row->bound);
    }
    return less == 0 ? 0 : spad__min(less + SPAD_MBARRIER_BYTES - 1, row->bound);
}

spad_status spad__layout_weaken_barriers(const spad_layout *layout, spad_layout_space *row,
                                         spad_error *error) {
    const size_t room = row->buffer_count + 1;
    spad__slot_life *barriers = spad__new_array(&layout->host, room, sizeof *barriers);
    if (barriers == NULL) return spad__fail_host_memory(error);
    for (size_t i = 0; i < row->buffer_count; i++) {
        const int64_t sync = layout->buffers.items[row->first_buffer + i].sync;
        if (sync >= 0) barriers[i] = certain_life(layout, sync);
    }
    const int64_t less = less_with_tiles(layout, row, barriers);
    const int64_t load = less > 0 ? certain_load(layout, row, barriers) : 0;
    spad__free(&layout->host, barriers, room * sizeof *barriers);
    if (less == 0) return SPAD_OK;
    spad__layout_lower_bound(layout, row, spad__max(row->bound - less, load));
    return SPAD_OK;
}
