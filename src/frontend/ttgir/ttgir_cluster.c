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

#include "frontend/ttgir/ttgir.h"

/* ---- which blocks ----------------------------------------------------------------------- */

uint32_t spad__ttgir_same_bits(const spad__ttgir *t, const spad__ttgir_type *type, int rank) {
    spad__gpu_bases bases;
    uint32_t bits = 0;
    if (t->g->cluster.declared < 2) return 0;
    spad__ttgir_read_blocks(t, type->encoding, rank, &bases);
    for (size_t i = 0; i < bases.count; i++) {
        bool moves = false;
        for (int d = 0; d < rank; d++) moves = moves || bases.rows[i][d] != 0;
        if (!moves) bits |= UINT32_C(1) << i;
    }
    return bits & (uint32_t)(t->g->cluster.declared - 1);
}

uint32_t spad__ttgir_joined(const spad__ttgir *t, const spad__ttgir_value *barrier) {
    const bool known =
        barrier->kind == SPAD__TTGIR_VIEW && t->g->cluster.joint && t->g->cluster.count > 1;
    return known ? t->g->memory.buffers.items[barrier->buffer].same : 0;
}

bool spad__ttgir_arrivals(const spad__ttgir *t, const spad__mlir_op *op, uint32_t *blocks) {
    int64_t mask;
    *blocks = spad__gpu_peers(t->g, 0);
    if (t->g->cluster.count < 2) return true;
    if (spad__mlir_number_of(t->m, op, "multicastCTA", &mask) && mask > 0) {
        *blocks = spad__gpu_peers(t->g, (uint32_t)mask);
    } else if (spad__mlir_number_of(t->m, op, "fromCTA", &mask)) {
        const uint32_t others = (uint32_t)(t->g->cluster.count - 1) & ~(uint32_t)mask;
        *blocks = spad__gpu_peers(t->g, others);
        return spad__gpu_leads(t->g, others);
    }
    return true;
}

/* ---- notes ------------------------------------------------------------------------------- */

/* "clc_try_cancel %result, %barrier": the first block asks, and all of them get the answer. */
void spad__ttgir_try_cancel(spad__ttgir *t, const spad__mlir_op *op) {
    const spad__ttgir_value *to = spad__ttgir_operand(t, op, 0);
    const spad__ttgir_value *barrier = spad__ttgir_operand(t, op, 1);
    const uint32_t all = (uint32_t)t->g->cluster.count - 1;
    if (!spad__gpu_leads(t->g, all)) return;
    const spad__scalar stage = spad__gpu_resolve(t->g, barrier->view.stage, "which mbarrier");
    spad__gpu_record *record = spad__gpu_add_operation(t->g, "try_cancel", SPAD__GPU_TMA);
    if (record == NULL) return;
    t->g->memory.buffers.items[barrier->buffer].role = SPAD__GPU_MBARRIER;
    record->buffer = barrier->buffer;
    record->stage = stage;
    spad__gpu_set_arrival_blocks(t->g, record, spad__gpu_peers(t->g, all));
    spad__ttgir_add_accesses(t, to, SPAD_ACCESS_WRITE, record->blocks, SPAD__GPU_THREADS_ONE);
}

/* What the answer says is data. */
void spad__ttgir_answer(spad__ttgir *t, const spad__mlir_op *op) {
    spad__ttgir_set(t, op, 0, spad__ttgir_of_scalar(spad__scalar_data(&t->g->scalars)));
}

void spad__ttgir_sync_blocks(spad__ttgir *t, const spad__mlir_op *op) {
    static const char *const others[] = {"ttng.init_barrier", "ttng.fence_async_shared"};
    const char *name = spad__mlir_text(t->m, op->name);
    const size_t length = t->m->tokens.items[op->name].length;
    if (!t->g->cluster.unannounced || t->g->dry || t->g->cluster.count < 2 ||
        t->g->records.has_barriers || t->g->records.stream != SPAD__STREAM_BEFORE)
        return;
    if (op->first_region < 0 && (length < 5 || memcmp(name, "ttng.", 5) != 0)) return;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (spad__mlir_named(t->m, op, others[i])) return;
    }
    spad__gpu_add_cluster_barrier(t->g, false);
}

/* ---- what goes from block to block --------------------------------------------------------- */

/* Where the blocks are in the first tensor of the operands, or of the results. */
static bool blocks_of(spad__ttgir *t, const spad__mlir_op *op, bool result, int *rank,
                      spad__gpu_bases *out) {
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
    spad__gpu_bases from, to;
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
        return op->result_count > 0 && t->uses.used.items[op->first_result] > 0;
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
    return t->g->cluster.count > 1 && is_between_blocks(t, op, &known) && known;
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
    if (t->g->cluster.declared < 2) return NULL;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!has_remote_word(t, op, words[i])) continue;
        if (t->g->cluster.count > 1 && is_read_remote(t, op, words[i])) continue;
        return "accesses memory of other blocks of the cluster";
    }
    if (!is_between_blocks(t, op, &known) || (t->g->cluster.count > 1 && known)) return NULL;
    return "moves values between the blocks of the cluster";
}

/* ---- which kernels ------------------------------------------------------------------------ */

bool spad__ttgir_joins(spad__ttgir *t, const spad__mlir_op *op) {
    const uint32_t at = spad__ttgir_last_memdesc(t, op);
    spad__ttgir_type type;
    if (spad__mlir_named(t->m, op, "ttng.clc_try_cancel")) return true;
    if (!t->g->cluster.joint || !spad__mlir_named(t->m, op, "ttng.init_barrier")) return false;
    if (at == 0 || !spad__ttgir_read_type(t, at, op->end, &type)) return false;
    return spad__ttgir_same_bits(t, &type, type.rank) != 0;
}

int spad__ttgir_count_ranks(spad__ttgir *t) {
    bool touches = t->g->cluster.pairs;
    if (t->g->cluster.declared < 2 || t->g->cluster.declared > SPAD__GPU_BLOCKS) return 1;
    for (size_t i = 0; i < t->m->ops.count && !touches; i++) {
        const spad__mlir_op *op = &t->m->ops.items[i];
        touches = spad__ttgir_joins(t, op) || spad__ttgir_remote(t, op) != NULL;
    }
    return touches ? (int)t->g->cluster.declared : 1;
}

/* ---- buffers ------------------------------------------------------------------------------- */
