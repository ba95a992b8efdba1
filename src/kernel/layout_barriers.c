/* SPDX-License-Identifier: Apache-2.0
 *
 * How long the bytes of an mbarrier are needed, from the text alone.
 *
 * An mbarrier that the main program initialises and invalidates is needed from the first `init` of
 * its elements to the last `invalidate`, if
 *   - every element has one of each, and all of them are in the same block, which is no half of an
 *     `if`: so whoever passes the first passes the last;
 *   - no `break` leaves that block in between;
 *   - all uses are in between.
 * A use that the text puts there and that happens later is an error (SPAD-MBARRIER-LIFE), which
 * the check finds. In a loop that holds all of it such an mbarrier has a new life in every
 * iteration, as a tensor that is declared there. Any other mbarrier is needed all the time.
 *
 * The bytes are shared with other mbarriers only: what a unit writes over one needs a proxy fence
 * after `invalidate`, and no check examines that.
 *
 * O(statements + completions) for each mbarrier.
 */
#include "kernel/kernel.h"
#include "kernel/layout.h"

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

/* Does a `break` end the loop that the block is, or one around it? */
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
