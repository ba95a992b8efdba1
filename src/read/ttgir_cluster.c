/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of a cluster that touch the memory of one another.
 *
 * Where no block does, the kernel is that of one block. Otherwise the function is run once for each
 * block, and the kernel has the agents, tensors and mbarriers of all of them. What a block does is
 * that of the instructions of Triton 3.9 (BarrierOpToLLVM.cpp, LoadStoreOpToLLVM.cpp, MMAv5.cpp,
 * Utility.cpp):
 *
 *     a bit of a block's number that moves nothing in the layout of a buffer (CGALayout): blocks
 *     that differ in it have the same elements. The one without the bit is the first of them.
 *
 *     mbarrier with such a bit     is that of the first block, which alone initialises it,
 *                                  invalidates it and waits; all arrive there, and the count in
 *                                  the text is that of one of them
 *     multicast copy               is issued by the first of the blocks that have the same
 *                                  elements, writes the same bytes in each, and delivers to the
 *                                  mbarrier of each
 *     arrival with fromCTA         by the first of the blocks that differ in the other bits, at
 *                                  each
 *     arrival with multicastCTA    at each of the blocks that differ in these bits
 *     product of two blocks        is issued by the even one of a pair, reads and writes the memory
 *                                  of both, and arrives at the mbarriers of both
 *     product with multicast       arrives at all blocks that have the same elements of an operand
 *     conversion, reduction        writes to the own scratch memory; the blocks meet; and reads
 *                                  that of others
 */
#include <assert.h>
#include <string.h>

#include "read/ttgir.h"

/* ---- which blocks ----------------------------------------------------------------------- */

uint32_t spad__ttgir_same_bits(const spad__ttgir *t, const spad__ttgir_type *type, int rank) {
    spad__ttgir_bases bases;
    uint32_t bits = 0;
    if (t->blocks < 2) return 0;
    spad__ttgir_read_blocks(t, type->encoding, rank, &bases);
    for (size_t i = 0; i < bases.count; i++) {
        bool moves = false;
        for (int d = 0; d < rank; d++) moves = moves || bases.rows[i][d] != 0;
        if (!moves) bits |= UINT32_C(1) << i;
    }
    return bits & (uint32_t)(t->blocks - 1);
}

uint32_t spad__ttgir_peers(const spad__ttgir *t, uint32_t bits) {
    uint32_t peers = 0;
    for (int block = 0; block < t->ranks; block++) {
        if ((((uint32_t)block ^ (uint32_t)t->rank) & ~bits) == 0) peers |= UINT32_C(1) << block;
    }
    return peers;
}

bool spad__ttgir_leads(const spad__ttgir *t, uint32_t bits) {
    return t->ranks < 2 || ((uint32_t)t->rank & bits) == 0;
}

uint32_t spad__ttgir_joined(const spad__ttgir *t, const spad__ttgir_value *barrier) {
    const bool known = barrier->kind == SPAD__TTGIR_VIEW && t->shared_barriers && t->ranks > 1;
    return known ? t->buffers.items[barrier->buffer].same : 0;
}

bool spad__ttgir_arrivals(const spad__ttgir *t, const spad__mlir_op *op, uint32_t *blocks) {
    int64_t mask;
    *blocks = spad__ttgir_peers(t, 0);
    if (t->ranks < 2) return true;
    if (spad__mlir_number_of(t->m, op, "multicastCTA", &mask) && mask > 0) {
        *blocks = spad__ttgir_peers(t, (uint32_t)mask);
    } else if (spad__mlir_number_of(t->m, op, "fromCTA", &mask)) {
        const uint32_t others = (uint32_t)(t->ranks - 1) & ~(uint32_t)mask;
        *blocks = spad__ttgir_peers(t, others);
        return spad__ttgir_leads(t, others);
    }
    return true;
}

/* ---- notes ------------------------------------------------------------------------------- */

void spad__ttgir_note_accesses(spad__ttgir *t, const spad__ttgir_value *value, unsigned kind,
                               uint32_t blocks, int32_t spread) {
    const int32_t buffer = value->buffer;
    for (int block = 0; block < t->ranks; block++) {
        if ((blocks >> block & 1) == 0) continue;
        const size_t before = t->accesses.count;
        spad__ttgir_note_access(t, value, kind);
        spad__ttgir_note_spread(t, spread);
        if (t->accesses.count == before) continue;
        t->accesses.items[before].block = block;
        if (block != t->rank) t->buffers.items[buffer].remote = true;
    }
}

void spad__ttgir_arrive_at(spad__ttgir *t, spad__ttgir_note *note, uint32_t blocks) {
    note->blocks = blocks;
    if (blocks != spad__ttgir_peers(t, 0)) t->buffers.items[note->buffer].remote = true;
}

/* "clc_try_cancel %result, %barrier": the first block asks, and all of them get the answer. */
void spad__ttgir_try_cancel(spad__ttgir *t, const spad__mlir_op *op) {
    const spad__ttgir_value *to = spad__ttgir_operand(t, op, 0);
    const spad__ttgir_value *barrier = spad__ttgir_operand(t, op, 1);
    const uint32_t all = (uint32_t)t->ranks - 1;
    if (!spad__ttgir_leads(t, all)) return;
    const spad__scalar stage = spad__ttgir_clear(t, barrier->view.stage, "which mbarrier");
    spad__ttgir_note *note = spad__ttgir_note_operation(t, "try_cancel", SPAD__TTGIR_TMA);
    if (note == NULL) return;
    t->buffers.items[barrier->buffer].barrier = true;
    note->buffer = barrier->buffer;
    note->stage = stage;
    spad__ttgir_arrive_at(t, note, spad__ttgir_peers(t, all));
    spad__ttgir_note_accesses(t, to, SPAD_ACCESS_WRITE, note->blocks, SPAD__SPREAD_ONE);
}

/* What the answer says is data. */
void spad__ttgir_answer(spad__ttgir *t, const spad__mlir_op *op) {
    spad__ttgir_set(t, op, 0, spad__ttgir_of_scalar(spad__scalar_data(&t->scalars)));
}

void spad__ttgir_note_cluster(spad__ttgir *t, bool relaxed) {
    if (t->dry) return;
    /* a relaxed one orders no memory, except for mbarriers that a fence has released */
    if (relaxed && !t->released) return;
    t->began = false;
    if (t->ranks > 1 && t->stream >= SPAD__STREAM_PARTITION) {
        SPAD__TTGIR_FAULT(t, "blocks of a cluster meet in a partition of warps: not known");
        return;
    }
    if (t->ranks > 1) spad__ttgir_note_add(t, SPAD__NOTE_CLUSTER);
}

void spad__ttgir_meet_blocks(spad__ttgir *t, const spad__mlir_op *op) {
    static const char *const others[] = {"ttng.init_barrier", "ttng.fence_async_shared"};
    const char *name = spad__mlir_text(t->m, op->name);
    const size_t length = t->m->tokens.items[op->name].length;
    if (!t->began || t->dry || t->ranks < 2 || t->meets || t->stream != SPAD__STREAM_BEFORE) return;
    if (op->first_region < 0 && (length < 5 || memcmp(name, "ttng.", 5) != 0)) return;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (spad__mlir_named(t->m, op, others[i])) return;
    }
    spad__ttgir_note_cluster(t, false);
}

/* ---- what goes from block to block --------------------------------------------------------- */

/* Where the blocks are in the first tensor of the operands, or of the results. */
static bool blocks_of(spad__ttgir *t, const spad__mlir_op *op, bool result, int *rank,
                      spad__ttgir_bases *out) {
    spad__ttgir_type type;
    if (!spad__ttgir_nth_type(t, op, 0, result, &type)) return false;
    *rank = type.rank;
    return spad__ttgir_read_blocks(t, type.encoding, type.rank, out);
}

/* Does a value go from one block to another? A conversion where blocks have other parts before than
 * after, a reduction where they have parts of the axis, and the old value of an atomic operation.
 * *known: by layouts that are.
 */
static bool is_between_blocks(spad__ttgir *t, const spad__mlir_op *op, bool *known) {
    spad__ttgir_bases from, to;
    int rank, other;
    int64_t axis;
    *known = false;
    if (spad__mlir_named(t->m, op, "ttg.convert_layout")) {
        if (!blocks_of(t, op, false, &rank, &from) || !blocks_of(t, op, true, &other, &to)) {
            return true;
        }
        if (rank != other || from.count != to.count) return true;
        *known = true;
        for (size_t i = 0; i < from.count; i++) {
            if (memcmp(from.rows[i], to.rows[i], (size_t)rank * sizeof **from.rows) != 0)
                return true;
        }
        return false;
    }
    if (spad__mlir_named(t->m, op, "tt.atomic_rmw") ||
        spad__mlir_named(t->m, op, "tt.atomic_cas")) {
        return op->result_count > 0 && t->used.items[op->first_result];
    }
    if (!spad__mlir_named(t->m, op, "tt.reduce") && !spad__mlir_named(t->m, op, "tt.scan") &&
        !spad__mlir_named(t->m, op, "tt.gather")) {
        return false;
    }
    if (!blocks_of(t, op, false, &rank, &from) || !spad__mlir_number_of(t->m, op, "axis", &axis) ||
        axis < 0 || axis >= rank) {
        return true;
    }
    *known = spad__mlir_named(t->m, op, "tt.reduce");
    for (size_t i = 0; i < from.count; i++) {
        if (from.rows[i][axis] != 0) return true;
    }
    return false;
}

bool spad__ttgir_crosses(spad__ttgir *t, const spad__mlir_op *op) {
    bool known;
    return t->ranks > 1 && is_between_blocks(t, op, &known) && known;
}

/* Operations that are read where they touch memory of other blocks, with the attribute that says
 * so. */
static bool is_read_remote(const spad__ttgir *t, const spad__mlir_op *op, const char *word) {
    static const char *const known[][2] = {
        {"ttng.async_tma_copy_global_to_local", "multicast"},
        {"ttng.arrive_barrier", "multicastCTA"},
        {"ttng.arrive_barrier", "fromCTA"},
        {"ttng.barrier_expect", "fromCTA"},
        {"ttng.tc_gen5_mma", "multicast"},
        {"ttng.tc_gen5_mma", "two_ctas"},
        {"ttng.tc_gen5_mma_scaled", "multicast"},
        {"ttng.tc_gen5_mma_scaled", "two_ctas"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (spad__mlir_named(t->m, op, known[i][0]) && strcmp(known[i][1], word) == 0) return true;
    }
    return false;
}

/* Is the attribute there, and says something? */
static bool has_remote_word(const spad__ttgir *t, const spad__mlir_op *op, const char *word) {
    int64_t value = 1;
    const uint32_t at = spad__mlir_attribute(t->m, op, word);
    if (at == 0 ? !spad__mlir_has(t->m, op, word) : spad__mlir_is(t->m, at, "false")) return false;
    /* the mask 0 of fromCTA is block 0, for all */
    return at == 0 || strcmp(word, "fromCTA") == 0 || !spad__mlir_number(t->m, at, &value) ||
           value != 0;
}

const char *spad__ttgir_remote(spad__ttgir *t, const spad__mlir_op *op) {
    static const char *const words[] = {"multicast", "multicastCTA", "fromCTA", "two_ctas"};
    bool known;
    if (spad__mlir_named(t->m, op, "ttng.map_to_remote_buffer")) {
        return "is memory of another block of the cluster";
    }
    if (t->blocks < 2) return NULL;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!has_remote_word(t, op, words[i])) continue;
        if (t->ranks > 1 && is_read_remote(t, op, words[i])) continue;
        return "accesses memory of other blocks of the cluster";
    }
    if (!is_between_blocks(t, op, &known) || (t->ranks > 1 && known)) return NULL;
    return "moves values between the blocks of the cluster";
}

/* ---- which kernels ------------------------------------------------------------------------ */

bool spad__ttgir_joins(spad__ttgir *t, const spad__mlir_op *op) {
    const uint32_t at = spad__ttgir_last_memdesc(t, op);
    spad__ttgir_type type;
    if (spad__mlir_named(t->m, op, "ttng.clc_try_cancel")) return true;
    if (!t->shared_barriers || !spad__mlir_named(t->m, op, "ttng.init_barrier")) return false;
    if (at == 0 || !spad__ttgir_read_type(t, at, op->end, &type)) return false;
    return spad__ttgir_same_bits(t, &type, type.rank) != 0;
}

int spad__ttgir_count_ranks(spad__ttgir *t) {
    bool touches = t->pairs;
    if (t->blocks < 2 || t->blocks > SPAD__TTGIR_BLOCKS) return 1;
    for (size_t i = 0; i < t->m->ops.count && !touches; i++) {
        const spad__mlir_op *op = &t->m->ops.items[i];
        touches = spad__ttgir_joins(t, op) || spad__ttgir_remote(t, op) != NULL;
    }
    return touches ? (int)t->blocks : 1;
}

/* ---- buffers ------------------------------------------------------------------------------- */

spad__ttgir_buffer *spad__ttgir_buffer_in(spad__ttgir *t, int32_t buffer, int of, int block) {
    return &t->buffers.items[(size_t)buffer - t->first_buffers[of] + t->first_buffers[block]];
}

void spad__ttgir_align_blocks(spad__ttgir *t) {
    const size_t count = t->first_buffers[1];
    for (int block = 1; block < t->ranks; block++) {
        const size_t first = t->first_buffers[block];
        /* which blocks lead matters for accesses and arrivals only: all allocate the same */
        assert(t->first_buffers[block + 1] - first == count);
        for (size_t i = 0; i < count; i++) {
            const spad__ttgir_buffer *b = &t->buffers.items[first + i];
            spad__ttgir_buffer *all = &t->buffers.items[i];
            assert(all->op == b->op && all->space == b->space);
            all->barrier |= b->barrier;
            all->read |= b->read;
            all->written |= b->written;
            all->remote |= b->remote;
            all->ended |= b->ended;
            all->repeats |= b->repeats;
            if (all->count == 0) all->count = b->count;
        }
    }
    for (size_t i = count; i < t->buffers.count; i++) {
        spad__ttgir_buffer *b = &t->buffers.items[i];
        const spad__ttgir_buffer *all = &t->buffers.items[i % count];
        b->barrier = all->barrier;
        b->read = all->read;
        b->written = all->written;
        b->remote = all->remote;
        b->ended = all->ended;
        b->repeats = all->repeats;
    }
}
