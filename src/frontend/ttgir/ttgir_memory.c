/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations of TTGIR that touch shared or tensor memory, and those that synchronise.
 *
 * What each of them does is what the instructions do that it becomes: a copy without a commit or a
 * barrier of its own is issued to a unit; a wait for groups, an arrival and a wait for a phase are
 * the statements of the same name. `barrier_expect` is mbarrier.arrive.expect_tx, one arrival. A
 * product on tensor memory ends with tcgen05.commit for each of its barriers. Threads of one
 * partition are one agent; where the text has the barriers between them, the kernel has them as
 * well (ttgir_threads.c).
 */
#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "frontend/ttgir/ttgir.h"
#include "kernel/kernel_builder.h"
#include "spad/experimental/kernel_rows.h"

/* ---- operands ------------------------------------------------------------------------ */

/* The n-th operand that is a view; its number in *which. */
static const spad__ttgir_value *view_operand(const spad__ttgir *t, const spad__mlir_op *op,
                                             uint32_t n, uint32_t *which) {
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const spad__ttgir_value *value = spad__ttgir_operand(t, op, i);
        if (value->kind != SPAD__TTGIR_VIEW || n-- > 0) continue;
        if (which != NULL) *which = i;
        return value;
    }
    return NULL;
}

/* A view that the operation has, by the table of operations below. */
static const spad__ttgir_value *known_view(const spad__ttgir *t, const spad__mlir_op *op,
                                           uint32_t n, uint32_t *which) {
    const spad__ttgir_value *view = view_operand(t, op, n, which);
    spad__assert(view != NULL);
    return view;
}

/* How many operands are in front of a word, as "deps". */
static uint32_t operands_before(const spad__ttgir *t, const spad__mlir_op *op, const char *word) {
    uint32_t stop = op->end;
    for (uint32_t at = op->name + 1; at < op->end && stop == op->end;
         at = spad__mlir_after(t->m, op, at)) {
        if (spad__mlir_is(t->m, at, word)) stop = at;
    }
    uint32_t count = 0;
    while (count < op->operand_count &&
           t->m->operands.items[op->first_operand + count].token < stop) {
        count++;
    }
    return count;
}

/* Is the operand in the brackets after another one? Then it is a token or a condition of that. */
static bool in_brackets(const spad__ttgir *t, const spad__mlir_op *op, uint32_t operand) {
    const uint32_t at = t->m->operands.items[op->first_operand + operand].token;
    return spad__mlir_is_mark(t->m, at - 1, '[');
}

static spad__scalar condition_at(spad__ttgir *t, const spad__mlir_op *op, uint32_t operand,
                                 uint32_t count) {
    return operand < count ? spad__ttgir_scalar(t, op, operand) : SPAD__NO_SCALAR;
}

/* ---- buffers ------------------------------------------------------------------------- */

int64_t spad__ttgir_offset(const spad__ttgir *t, const spad__mlir_op *op) {
    int64_t offset;
    if (!spad__mlir_number_of(t->m, op, "allocation.offset", &offset) || offset < 0) return -1;
    return spad__add(offset, t->calls.shared_base, &offset) ? offset : -1;
}

static void fill_buffer(spad__ttgir *t, const spad__mlir_op *op, const spad__ttgir_type *type,
                        spad__gpu_space space, spad__gpu_buffer *b) {
    int rank;
    const int ring = spad__ttgir_stage_dims(t, type);
    spad__ttgir_read_encoding(t, type, &rank, &b->align);
    b->space = space;
    b->site = t->g->site;
    b->dtype = type->dtype;
    b->stages = ring ? type->dims[0] : 0;
    b->rank = type->rank - ring;
    int64_t dims[SPAD__GPU_RANK];
    spad__ttgir_dims_in_block(t, type, ring, dims);
    b->same = spad__ttgir_same_bits(t, type, b->rank);
    for (int d = 0; d < b->rank; d++) b->dims[d] = dims[d + ring];
    if (space == SPAD__GPU_TMEM && b->rank == 2 && spad__ttgir_has_scales(t, type))
        b->folded = spad__ttgir_fold_scales(b->dims);
    b->offset = space == SPAD__GPU_SHARED ? spad__ttgir_offset(t, op) : -1;
    if (b->offset >= 0) t->g->memory.placed = true;
    spad__ttgir_name(t, op, b->name);
}

/* A buffer of its own, written where the operation has something to put into it. */
static void do_alloc(spad__ttgir *t, const spad__mlir_op *op) {
    const uint32_t at = spad__ttgir_last_memdesc(t, op);
    spad__ttgir_type type;
    bool fresh;
    if (at == 0 || !spad__ttgir_read_type(t, at, op->end, &type)) {
        spad__gpu_fail(t->g, "a type of memory that is not known");
        return;
    }
    int32_t buffer = spad__ttgir_buffer_of(t, op->name, &fresh);
    if (buffer >= 0 && !fresh) {
        spad__gpu_retire_buffer(t->g, buffer);
        buffer = spad__ttgir_buffer_of(t, op->name, &fresh);
    }
    if (buffer < 0) return;
    if (fresh) {
        fill_buffer(t, op, &type, type.tensor_memory ? SPAD__GPU_TMEM : SPAD__GPU_SHARED,
                    &t->g->memory.buffers.items[buffer]);
    }
    if (!t->g->dry) {
        t->g->memory.buffers.items[buffer].freed = false;
        t->g->memory.buffers.items[buffer].depth = t->g->records.depth;
    }
    const spad__ttgir_value value = spad__ttgir_whole(t, buffer);
    spad__ttgir_set(t, op, 0, value);
    if (t->g->records.depth > 0) {
        spad__gpu_record *record = spad__gpu_add_record(t->g, SPAD__RECORD_ALLOCATE);
        if (record != NULL) record->buffer = buffer;
    }
    if (op->operand_count == 0) return;
    spad__gpu_add_operation(t->g, "store", SPAD__GPU_NO_UNIT);
    spad__ttgir_add_access(t, &value, SPAD_ACCESS_WRITE);
    spad__gpu_set_threads(
        t->g, spad__ttgir_threads_of(t, spad__ttgir_nth_tensor(t, op, 0, false), &value));
}

/* From here on its bytes are for others. Only what is freed where it was allocated: in a block of
 * its own another execution may not come here. */
static void do_dealloc(spad__ttgir *t, const spad__mlir_op *op) {
    spad__gpu_buffer *b = &t->g->memory.buffers.items[spad__ttgir_operand(t, op, 0)->buffer];
    const bool program =
        t->g->records.stream == SPAD__STREAM_BEFORE || t->g->records.stream == SPAD__STREAM_AFTER;
    if (!t->g->dry && program && b->depth == t->g->records.depth) b->freed = true;
}

/* ---- reads and writes of threads ------------------------------------------------------ */

static void do_load(spad__ttgir *t, const spad__mlir_op *op) {
    const spad__ttgir_value *from = known_view(t, op, 0, NULL);
    const uint32_t type =
        spad__mlir_named(t->m, op, "ttg.local_load") || spad__mlir_named(t->m, op, "ttng.tmem_load")
            ? spad__ttgir_nth_tensor(t, op, 0, true)
            : 0;
    bool open;
    if (!spad__gpu_open_if(t->g, spad__ttgir_only_where(t, from->buffer), &open)) return;
    spad__gpu_add_operation(t->g, "load", SPAD__GPU_NO_UNIT);
    spad__ttgir_add_access(t, from, SPAD_ACCESS_READ);
    spad__gpu_set_threads(t->g, spad__ttgir_threads_of(t, type, from));
    spad__gpu_close_if(t->g, open);
}

/* "local_store %x, %to", "tmem_store %x, %to, %condition" */
static void do_store(spad__ttgir *t, const spad__mlir_op *op) {
    uint32_t which = 0;
    bool open;
    const spad__ttgir_value *to = view_operand(t, op, 0, &which);
    const spad__scalar condition =
        spad__mlir_named(t->m, op, "ttng.tmem_store") && op->operand_count > which + 1
            ? spad__ttgir_scalar(t, op, op->operand_count - 1)
            : SPAD__NO_SCALAR;
    if (!spad__gpu_open_if(t->g, condition, &open)) return;
    spad__gpu_add_operation(t->g, "store", SPAD__GPU_NO_UNIT);
    spad__ttgir_add_access(t, to, SPAD_ACCESS_WRITE);
    spad__gpu_set_threads(t->g,
                          spad__ttgir_threads_of(t, spad__ttgir_nth_tensor(t, op, 0, false), to));
    spad__gpu_close_if(t->g, open);
}

static void do_scatter(spad__ttgir *t, const spad__mlir_op *op) {
    const spad__ttgir_value *to = view_operand(t, op, 0, NULL);
    spad__gpu_add_operation(t->g, "scatter", SPAD__GPU_NO_UNIT);
    spad__ttgir_add_access(t, to, SPAD_ACCESS_WRITE | SPAD_ACCESS_MAY);
    spad__gpu_set_threads(t->g, SPAD__GPU_THREADS_UNKNOWN);
}

/* ---- groups --------------------------------------------------------------------------- */

static void note_group(spad__ttgir *t, spad_statement_kind kind, spad__gpu_group group,
                       int64_t pending, unsigned flags) {
    spad__gpu_record *record = spad__gpu_add_statement(t->g, kind);
    if (record == NULL) return;
    record->group = group;
    record->flags = flags;
    if (kind == SPAD_STATEMENT_WAIT_GROUP) {
        record->scalar = spad__scalar_number(&t->g->scalars, pending);
    }
}

/* A copy, or the zeros in its place: cp.async of no bytes fills what it does not copy. */
static void note_copy(spad__ttgir *t, const spad__mlir_op *op, bool zeros) {
    const spad__ttgir_value *from = spad__ttgir_operand(t, op, 0);
    const spad__ttgir_value *to = view_operand(t, op, 0, NULL);
    spad__gpu_record *record =
        spad__gpu_add_operation(t->g, zeros ? "zeros" : "load", SPAD__GPU_CP);
    if (record == NULL) return;
    record->group = SPAD__GPU_LOADS;
    record->no_time = zeros;
    spad__ttgir_shape_like(t, from, to);
    if (!zeros) spad__ttgir_add_access(t, from, SPAD_ACCESS_READ);
    spad__ttgir_add_access(t, to, SPAD_ACCESS_WRITE);
    spad__gpu_set_threads(t->g, spad__ttgir_threads_of_pointers(t, op, to));
}

/* "%from, %to mask %bits other %x": it writes all of its buffer in any case. A mask for all of it,
 * where it is a number, decides about the time alone. */
static void do_copy(spad__ttgir *t, const spad__mlir_op *op) {
    spad__scalar condition = SPAD__NO_SCALAR;
    bool open;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const spad__ttgir_value *value = spad__ttgir_operand(t, op, i);
        if (value->kind == SPAD__TTGIR_MASK) condition = value->scalar;
    }
    if (condition >= 0) condition = spad__scalar_resolve(&t->g->scalars, condition);
    if (condition >= 0 && spad__scalar_get(&t->g->scalars, condition)->data)
        condition = SPAD__NO_SCALAR;
    const bool copies = spad__gpu_open_if(t->g, condition, &open);
    note_copy(t, op, !copies);
    if (!open) return;
    spad__gpu_add_record(t->g, SPAD__RECORD_ELSE);
    note_copy(t, op, true);
    spad__gpu_close_if(t->g, true);
}

static void do_commit(spad__ttgir *t, const spad__mlir_op *op) {
    (void)op;
    note_group(t, SPAD_STATEMENT_COMMIT, SPAD__GPU_LOADS, 0, 0);
}

static void do_wait(spad__ttgir *t, const spad__mlir_op *op) {
    int64_t pending = 0;
    spad__mlir_number_of(t->m, op, "num", &pending);
    note_group(t, SPAD_STATEMENT_WAIT_GROUP, SPAD__GPU_LOADS, pending, 0);
}

static void do_store_wait(spad__ttgir *t, const spad__mlir_op *op) {
    int64_t pending = 0;
    spad__mlir_number_of(t->m, op, "pendings", &pending);
    note_group(t, SPAD_STATEMENT_WAIT_GROUP, SPAD__GPU_STORES, pending, SPAD_SYNC_READS);
}

/* "warp_group_dot_wait %a, %b {pendings = 1}" gives back what it is given. */
static void do_dot_wait(spad__ttgir *t, const spad__mlir_op *op) {
    int64_t pending = 0;
    spad__mlir_number_of(t->m, op, "pendings", &pending);
    spad__ttgir_set_results(t, op, op);
    note_group(t, SPAD_STATEMENT_WAIT_GROUP, SPAD__GPU_MMAS, pending, 0);
    if (spad__gpu_threads_of_groups(t->g) == SPAD__GPU_THREADS_ALL &&
        !spad__mlir_has(t->m, op, "warpGroupLocal")) {
        spad__ttgir_add_own_barrier(t, op);
    }
    spad__ttgir_record_results(t, op, pending);
}

/* ---- mbarriers ------------------------------------------------------------------------ */

static spad__gpu_record *on_barrier(spad__ttgir *t, const spad__ttgir_value *barrier,
                                    spad_statement_kind kind) {
    if (barrier->kind != SPAD__TTGIR_VIEW) {
        spad__gpu_fail(t->g, "a barrier that is not in allocated memory");
        return NULL;
    }
    if (!t->g->dry) t->g->memory.buffers.items[barrier->buffer].role = SPAD__GPU_MBARRIER;
    const spad__scalar stage = spad__gpu_resolve(t->g, barrier->view.stage, "which mbarrier");
    spad__gpu_record *record = spad__gpu_add_statement(t->g, kind);
    if (record == NULL) return NULL;
    record->buffer = barrier->buffer;
    record->stage = stage;
    record->joined = spad__ttgir_joined(t, barrier);
    if (!spad__gpu_leads(t->g, record->joined))
        t->g->memory.buffers.items[barrier->buffer].remote = true;
    return record;
}

static void do_init(spad__ttgir *t, const spad__mlir_op *op) {
    int64_t count = 1;
    const spad__ttgir_value *barrier = spad__ttgir_operand(t, op, 0);
    t->g->cluster.unannounced = true;
    t->g->cluster.init_released = false;
    if (!spad__gpu_leads(t->g, spad__ttgir_joined(t, barrier))) return;
    spad__gpu_record *record = on_barrier(t, barrier, SPAD_STATEMENT_INIT);
    if (record == NULL) return;
    spad__ttgir_number_after(t, op, 0, &count);
    for (uint32_t bits = record->joined; bits != 0; bits &= bits - 1) {
        if (!spad__mul(count, 2, &count)) count = 1; /* more than an mbarrier counts */
    }
    if (t->g->memory.buffers.items[barrier->buffer].count == 0) {
        t->g->memory.buffers.items[barrier->buffer].count = count;
    }
    record->scalar = spad__scalar_number(&t->g->scalars, count);
}

static void do_invalidate(spad__ttgir *t, const spad__mlir_op *op) {
    const spad__ttgir_value *barrier = spad__ttgir_operand(t, op, 0);
    if (!spad__gpu_leads(t->g, spad__ttgir_joined(t, barrier))) return;
    if (on_barrier(t, barrier, SPAD_STATEMENT_INVALIDATE) == NULL) return;
    t->g->memory.buffers.items[barrier->buffer].invalidated = true;
}

/* An arrival of threads: so many times (below 0: once), with bytes to expect (below 0: none). */
static void note_arrival(spad__ttgir *t, const spad__mlir_op *op, spad__scalar count,
                         spad__scalar bytes) {
    bool open;
    uint32_t blocks;
    spad__ttgir_add_own_barrier(t, op);
    if (!spad__ttgir_arrivals(t, op, &blocks)) return;
    if (!spad__gpu_open_if(t->g, condition_at(t, op, 1, op->operand_count), &open)) return;
    spad__gpu_record *record = on_barrier(t, spad__ttgir_operand(t, op, 0), SPAD_STATEMENT_ARRIVE);
    if (record != NULL) {
        record->scalar = count;
        record->expect = bytes;
        record->flags = spad__ttgir_flags_of_arrival(t, op);
        spad__gpu_set_arrival_blocks(t->g, record, blocks);
    }
    spad__gpu_close_if(t->g, open);
}

static void do_expect(spad__ttgir *t, const spad__mlir_op *op) {
    int64_t bytes = 0;
    if (!spad__ttgir_number_after(t, op, 0, &bytes))
        spad__gpu_fail(t->g, "expected a number of bytes");
    note_arrival(t, op, SPAD__NO_SCALAR, spad__scalar_number(&t->g->scalars, bytes));
}

static void do_arrive(spad__ttgir *t, const spad__mlir_op *op) {
    int64_t count = 1;
    spad__ttgir_number_after(t, op, 0, &count);
    note_arrival(t, op, count == 1 ? SPAD__NO_SCALAR : spad__scalar_number(&t->g->scalars, count),
                 SPAD__NO_SCALAR);
}

static void do_wait_barrier(spad__ttgir *t, const spad__mlir_op *op) {
    const uint32_t count = operands_before(t, op, "deps");
    bool open;
    if (!spad__gpu_leads(t->g, spad__ttgir_joined(t, spad__ttgir_operand(t, op, 0)))) return;
    if (!spad__gpu_open_if(t->g, condition_at(t, op, 2, count), &open)) return;
    const spad__scalar phase = spad__gpu_resolve(
        t->g, spad__ttgir_low_bit(t, spad__ttgir_scalar(t, op, 1)), "the phase of a wait");
    spad__gpu_record *record =
        on_barrier(t, spad__ttgir_operand(t, op, 0), SPAD_STATEMENT_WAIT_PARITY);
    if (record != NULL) record->scalar = phase;
    spad__gpu_close_if(t->g, open);
}

/* "async_copy_mbarrier_arrive %b {noIncrement}": when the copies so far are done */
static void do_copy_arrive(spad__ttgir *t, const spad__mlir_op *op) {
    if (!spad__mlir_has(t->m, op, "noIncrement")) {
        spad__gpu_fail(t->g, "an arrival after copies without 'noIncrement' is not known");
        return;
    }
    spad__gpu_record *record = on_barrier(t, spad__ttgir_operand(t, op, 0), SPAD_STATEMENT_ARRIVE);
    if (record != NULL) record->unit = SPAD__GPU_CP;
}

static void do_fence(spad__ttgir *t, const spad__mlir_op *op) {
    (void)op;
    spad__gpu_add_statement(t->g, SPAD_STATEMENT_FENCE);
}

/* ---- TMA ------------------------------------------------------------------------------ */

/* Gathers and scatters of rows are issued by several warps. */
static int32_t threads_of_tma(const spad__ttgir *t, const spad__mlir_op *op) {
    return spad__mlir_named(t->m, op, "ttng.async_tma_gather") ||
                   spad__mlir_named(t->m, op, "ttng.async_tma_scatter")
               ? SPAD__GPU_THREADS_NONE
               : SPAD__GPU_THREADS_ONE;
}

/* "%desc[%x, %y] %to, %barrier, %condition"; with "multicast" one block copies to all that have the
 * same elements. */
static void do_tma_load(spad__ttgir *t, const spad__mlir_op *op) {
    uint32_t which = 0;
    bool open;
    const spad__ttgir_value *to = known_view(t, op, 0, NULL);
    const spad__ttgir_value *barrier = known_view(t, op, 1, &which);
    const uint32_t same =
        spad__mlir_has(t->m, op, "multicast") ? t->g->memory.buffers.items[to->buffer].same : 0;
    const uint32_t blocks = spad__gpu_peers(t->g, same);
    if (!spad__gpu_leads(t->g, same)) return;
    if (!spad__gpu_open_if(t->g, condition_at(t, op, which + 1, op->operand_count), &open)) return;
    const spad__scalar stage = spad__gpu_resolve(t->g, barrier->view.stage, "which mbarrier");
    spad__gpu_record *record = spad__gpu_add_operation(t->g, "load", SPAD__GPU_TMA);
    if (record == NULL) return;
    t->g->memory.buffers.items[barrier->buffer].role = SPAD__GPU_MBARRIER;
    record->buffer = barrier->buffer;
    record->stage = stage;
    record->joined = spad__ttgir_joined(t, barrier);
    spad__gpu_set_arrival_blocks(t->g, record, blocks);
    spad__ttgir_shape_like(t, spad__ttgir_operand(t, op, 0), to);
    spad__ttgir_add_access(t, spad__ttgir_operand(t, op, 0), SPAD_ACCESS_READ);
    spad__ttgir_add_accesses(t, to, SPAD_ACCESS_WRITE, blocks, threads_of_tma(t, op));
    spad__gpu_close_if(t->g, open);
}

static void do_tma_store(spad__ttgir *t, const spad__mlir_op *op) {
    const spad__ttgir_value *from = view_operand(t, op, 0, NULL);
    const bool adds = spad__mlir_named(t->m, op, "ttng.async_tma_reduce");
    spad__gpu_record *record =
        spad__gpu_add_operation(t->g, adds ? "reduce" : "store", SPAD__GPU_TMA);
    if (record == NULL) return;
    record->group = SPAD__GPU_STORES;
    spad__ttgir_shape_like(t, spad__ttgir_operand(t, op, 0), from);
    spad__ttgir_add_access(t, from, SPAD_ACCESS_READ);
    spad__gpu_set_threads(t->g, threads_of_tma(t, op));
    spad__ttgir_add_access(t, spad__ttgir_operand(t, op, 0), SPAD_ACCESS_ADD);
    note_group(t, SPAD_STATEMENT_COMMIT, SPAD__GPU_STORES, 0, 0);
}

/* ---- products -------------------------------------------------------------------------- */

/* A factor or the result of a product that is in registers. Only its size matters, for the time, so
 * one that would fill the registers is left out. */
static void note_registers(spad__ttgir *t, const spad__mlir_op *op, int which) {
    enum { REGISTER_BYTES = 192 << 10 };
    const uint32_t at = spad__ttgir_tensor_type(t, op, which);
    spad__ttgir_type type;
    int64_t bytes;
    bool fresh;
    if (t->g->dry || t->g->registers != SPAD__GPU_MATRIX_REGISTERS || at == 0) return;
    if (!spad__ttgir_read_type(t, at, op->end, &type)) return;
    spad__ttgir_take_part(t, &type);
    const spad_shape shape = {(size_t)type.rank, type.dims};
    if (spad_shape_bytes(&bytes, shape, type.dtype, NULL) != SPAD_OK) return;
    const int32_t buffer = spad__ttgir_buffer_of(t, at, &fresh);
    if (buffer < 0) return;
    spad__gpu_buffer *b = &t->g->memory.buffers.items[buffer];
    if (fresh) {
        b->space = SPAD__GPU_REGISTERS;
        b->site = t->g->site;
        spad__ttgir_name(t, op, b->name);
        if (bytes <= REGISTER_BYTES - t->g->memory.register_bytes) {
            t->g->memory.register_bytes += bytes;
            b->rank = type.rank;
            b->dtype = type.dtype;
            memcpy(b->dims, type.dims, sizeof b->dims);
        }
    }
    if (b->rank == 0) return;
    const spad__ttgir_value value = spad__ttgir_whole(t, buffer);
    spad__ttgir_add_access(t, &value, which < 2 ? SPAD_ACCESS_READ : SPAD_ACCESS_WRITE);
}

/* mma of a warp: operands and result in registers. */
static void do_dot(spad__ttgir *t, const spad__mlir_op *op) {
    if (t->g->registers != SPAD__GPU_MATRIX_REGISTERS || spad__ttgir_tensor_type(t, op, 2) == 0)
        return;
    spad__gpu_record *record = spad__gpu_add_operation(t->g, "dot", SPAD__GPU_NO_UNIT);
    if (record == NULL) return;
    record->matrix = true;
    for (int which = 0; which < 3; which++) note_registers(t, op, which);
}

static void do_warp_group_dot(spad__ttgir *t, const spad__mlir_op *op) {
    const uint32_t at = spad__mlir_attribute(t->m, op, "isAsync");
    const bool async = at != 0 && spad__mlir_is(t->m, at, "true");
    spad__gpu_record *record = spad__gpu_add_operation(t->g, "dot", SPAD__GPU_WGMMA);
    if (record == NULL) return;
    record->group = SPAD__GPU_MMAS;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const spad__ttgir_value *value = spad__ttgir_operand(t, op, i);
        if (value->kind != SPAD__TTGIR_VIEW) continue;
        spad__ttgir_add_access(t, value, SPAD_ACCESS_READ);
        spad__gpu_set_threads(t->g, spad__gpu_threads_of_groups(t->g));
    }
    for (int which = 0; which < 3; which++) note_registers(t, op, which);
    note_group(t, SPAD_STATEMENT_COMMIT, SPAD__GPU_MMAS, 0, 0);
    if (!async) note_group(t, SPAD_STATEMENT_WAIT_GROUP, SPAD__GPU_MMAS, 0, 0);
}

/* The bit in which the two blocks of a pair differ; 0: products are of one block. */
static uint32_t pair_bits(const spad__ttgir *t) {
    return t->g->cluster.pairs ? 1 : 0;
}

/* One product, with the accumulator written or updated. */
static void note_product(spad__ttgir *t, const spad__ttgir_value *const *reads, size_t count,
                         const spad__ttgir_value *to, bool updates) {
    spad__gpu_record *record = spad__gpu_add_operation(t->g, "dot", SPAD__GPU_TC5);
    if (record == NULL) return;
    const uint32_t blocks = spad__gpu_peers(t->g, pair_bits(t));
    for (size_t i = 0; i < count; i++) {
        spad__ttgir_add_accesses(t, reads[i], SPAD_ACCESS_READ, blocks, SPAD__GPU_THREADS_ONE);
    }
    spad__ttgir_add_accesses(t, to, updates ? SPAD_ACCESS_UPDATE : SPAD_ACCESS_WRITE, blocks,
                             SPAD__GPU_THREADS_ONE);
}

/* "%a, %b, %d[%token], %use, %condition, %barrier[%its_condition], ... {is_async}"; with scales
 * after %d. What needs its end waits for a barrier: the pass that lets one without is_async wait
 * (MMALowering.cpp) has run before what Triton prints last, and Gluon does not run it. */
typedef struct spad__ttgir_product {
    const spad__ttgir_value *reads[4];
    size_t read_count;
    const spad__ttgir_value *to;
    spad__scalar use;
    spad__scalar condition;
    uint32_t barriers; /* operands from here on */
} spad__ttgir_product;

static bool ttgir_read_product(spad__ttgir *t, const spad__mlir_op *op, bool scaled,
                               spad__ttgir_product *out) {
    uint32_t at = 0;
    *out = (spad__ttgir_product){.use = SPAD__NO_SCALAR, .condition = SPAD__NO_SCALAR};
    for (; at < op->operand_count && out->condition < 0; at++) {
        const spad__ttgir_value *value = spad__ttgir_operand(t, op, at);
        if (in_brackets(t, op, at)) continue;
        const size_t views = out->read_count + (out->to != NULL ? 1 : 0);
        if (value->kind == SPAD__TTGIR_VIEW && views == 2) {
            out->to = value;
        } else if (value->kind == SPAD__TTGIR_VIEW && views < (scaled ? 5U : 2U)) {
            out->reads[out->read_count++] = value;
        } else if (value->kind == SPAD__TTGIR_SCALAR && out->use < 0) {
            out->use = value->scalar;
        } else if (out->to != NULL && out->use >= 0 && value->kind != SPAD__TTGIR_VIEW) {
            out->condition = spad__ttgir_scalar(t, op, at); /* data where it is not known */
        } else {
            return false;
        }
    }
    out->barriers = at;
    return out->to != NULL && out->condition >= 0;
}

/* Arrives when the products so far are done, at the mbarrier of each of these blocks. */
static void commit_to(spad__ttgir *t, const spad__mlir_op *op, const spad__ttgir_value *barrier,
                      uint32_t blocks) {
    spad__gpu_record *record = on_barrier(t, barrier, SPAD_STATEMENT_ARRIVE);
    if (record == NULL) return;
    record->unit = SPAD__GPU_TC5;
    record->joined = 0;
    record->flags = spad__ttgir_flags_of_arrival(t, op);
    spad__gpu_set_arrival_blocks(t->g, record, blocks);
}

/* Blocks that a product arrives at: those of its pair, and those that have the same elements of one
 * of these buffers. */
static uint32_t commit_blocks(const spad__ttgir *t, const spad__ttgir_value *const *buffers,
                              size_t count) {
    uint32_t blocks = spad__gpu_peers(t->g, pair_bits(t));
    for (size_t i = 0; i < count; i++) {
        if (buffers[i]->kind != SPAD__TTGIR_VIEW) continue;
        blocks |= spad__gpu_peers(t->g, pair_bits(t) |
                                            t->g->memory.buffers.items[buffers[i]->buffer].same);
    }
    return blocks;
}

static void note_commits(spad__ttgir *t, const spad__mlir_op *op, uint32_t first, uint32_t blocks) {
    for (uint32_t i = first; i < op->operand_count; i++) {
        const spad__ttgir_value *barrier = spad__ttgir_operand(t, op, i);
        bool open;
        if (barrier->kind != SPAD__TTGIR_VIEW || in_brackets(t, op, i)) continue;
        const bool has = i + 1 < op->operand_count && in_brackets(t, op, i + 1);
        const spad__scalar condition = has ? spad__ttgir_scalar(t, op, i + 1) : SPAD__NO_SCALAR;
        if (!spad__gpu_open_if(t->g, condition, &open)) continue;
        commit_to(t, op, barrier, blocks);
        spad__gpu_close_if(t->g, open);
    }
}

static void do_product(spad__ttgir *t, const spad__mlir_op *op) {
    const bool scaled = spad__mlir_named(t->m, op, "ttng.tc_gen5_mma_scaled");
    spad__ttgir_product p;
    bool open, updates;
    if (t->g->dry) return;
    if (!ttgir_read_product(t, op, scaled, &p)) {
        spad__gpu_fail(t->g, "operands of a product that are not known");
        return;
    }
    if (p.barriers < op->operand_count) spad__ttgir_add_own_barrier(t, op);
    if (!spad__gpu_leads(t->g, pair_bits(t))) return;
    if (!spad__gpu_open_if(t->g, p.condition, &open)) {
        t->g->memory.buffers.items[p.to->buffer].skipped = true;
        return;
    }
    const bool first = spad__gpu_open_if(t->g, spad__scalar_not(&t->g->scalars, p.use), &updates);
    if (first) note_product(t, p.reads, p.read_count, p.to, false);
    if (updates) {
        spad__gpu_add_record(t->g, SPAD__RECORD_ELSE);
        note_product(t, p.reads, p.read_count, p.to, true);
        spad__gpu_close_if(t->g, true);
    } else if (!first) {
        note_product(t, p.reads, p.read_count, p.to, true);
    }
    const bool multicast = spad__mlir_has(t->m, op, "multicast");
    note_commits(t, op, p.barriers, commit_blocks(t, p.reads, multicast ? p.read_count : 0));
    spad__gpu_close_if(t->g, open);
}

static void do_tc5_commit(spad__ttgir *t, const spad__mlir_op *op) {
    const uint32_t count = operands_before(t, op, "descs");
    uint32_t blocks = commit_blocks(t, NULL, 0);
    bool open;
    spad__ttgir_add_own_barrier(t, op);
    if (!spad__gpu_leads(t->g, pair_bits(t))) return;
    if (!spad__gpu_open_if(t->g, condition_at(t, op, 1, count), &open)) return;
    for (uint32_t i = count; i < op->operand_count; i++) {
        const spad__ttgir_value *buffer = spad__ttgir_operand(t, op, i);
        blocks |= commit_blocks(t, &buffer, 1);
    }
    commit_to(t, op, spad__ttgir_operand(t, op, 0), blocks);
    spad__gpu_close_if(t->g, open);
}

/* "tmem_copy %from, %to, %barrier": tcgen05.cp, in the order of the products */
static void do_tmem_copy(spad__ttgir *t, const spad__mlir_op *op) {
    const spad__ttgir_value *from = view_operand(t, op, 0, NULL);
    const spad__ttgir_value *to = view_operand(t, op, 1, NULL);
    uint32_t which;
    const uint32_t blocks = spad__gpu_peers(t->g, pair_bits(t));
    if (!spad__gpu_leads(t->g, pair_bits(t))) return;
    if (spad__gpu_add_operation(t->g, "copy", SPAD__GPU_TC5) == NULL) return;
    spad__ttgir_add_accesses(t, from, SPAD_ACCESS_READ, blocks, SPAD__GPU_THREADS_ONE);
    spad__ttgir_add_accesses(t, to, SPAD_ACCESS_WRITE, blocks, SPAD__GPU_THREADS_ONE);
    if (view_operand(t, op, 2, &which) != NULL) note_commits(t, op, which, blocks);
}

/* "ttg.barrier local", and a barrier of all blocks of a cluster */
static void do_barrier(spad__ttgir *t, const spad__mlir_op *op) {
    if (spad__ttgir_is_barrier(t->m, op)) spad__gpu_add_warp_barrier(t->g);
    if (!spad__mlir_named(t->m, op, "ttng.cluster_barrier")) return;
    const uint32_t relaxed = spad__mlir_attribute(t->m, op, "relaxed");
    spad__gpu_add_cluster_barrier(t->g, relaxed != 0 && spad__mlir_is(t->m, relaxed, "true"));
}

/* fence.mbarrier_init.release.cluster */
static void do_release(spad__ttgir *t, const spad__mlir_op *op) {
    (void)op;
    t->g->cluster.init_released = true;
}

/* ---- the table ------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*act)(spad__ttgir *t, const spad__mlir_op *op);
    uint32_t views; /* operands that are memory, at least: `act` is called only where it has them */
    bool first;     /* they are its first ones */
} known[] = {
    {"ttg.local_alloc", do_alloc, 0, false},
    {"ttng.tmem_alloc", do_alloc, 0, false},
    {"ttg.memdesc_index", spad__ttgir_index, 1, true},
    {"ttg.memdesc_subslice", spad__ttgir_subslice, 1, true},
    {"ttng.tmem_subslice", spad__ttgir_tmem_subslice, 1, true},
    {"ttg.memdesc_trans", spad__ttgir_trans, 1, true},
    {"ttg.memdesc_reshape", spad__ttgir_reshape, 1, true},
    {"ttg.memdesc_reinterpret", spad__ttgir_reshape, 1, true},
    {"ttg.local_load", do_load, 1, false},
    {"ttg.local_gather", do_load, 1, false},
    {"ttng.tmem_load", do_load, 1, false},
    {"ttg.local_store", do_store, 1, false},
    {"ttng.tmem_store", do_store, 1, false},
    {"ttg.local_scatter", do_scatter, 1, false},
    {"ttg.local_dealloc", do_dealloc, 1, true},
    {"ttg.async_copy_global_to_local", do_copy, 1, false},
    {"ttg.async_commit_group", do_commit, 0, false},
    {"ttg.async_wait", do_wait, 0, false},
    {"tt.dot", do_dot, 0, false},
    {"ttng.warp_group_dot", do_warp_group_dot, 1, false},
    {"ttng.warp_group_dot_wait", do_dot_wait, 0, false},
    {"ttng.init_barrier", do_init, 0, false},
    {"ttng.inval_barrier", do_invalidate, 0, false},
    {"ttng.barrier_expect", do_expect, 0, false},
    {"ttng.arrive_barrier", do_arrive, 0, false},
    {"ttng.wait_barrier", do_wait_barrier, 0, false},
    {"ttng.async_copy_mbarrier_arrive", do_copy_arrive, 0, false},
    {"ttng.fence_async_shared", do_fence, 0, false},
    {"ttng.async_tma_copy_global_to_local", do_tma_load, 2, false},
    {"ttng.async_tma_gather", do_tma_load, 2, false},
    {"ttng.async_tma_copy_local_to_global", do_tma_store, 1, false},
    {"ttng.async_tma_scatter", do_tma_store, 1, false},
    {"ttng.async_tma_reduce", do_tma_store, 1, false},
    {"ttng.async_tma_store_wait", do_store_wait, 0, false},
    {"ttng.tc_gen5_mma", do_product, 0, false},
    {"ttng.tc_gen5_mma_scaled", do_product, 0, false},
    {"ttng.tc_gen5_commit", do_tc5_commit, 0, false},
    {"ttng.tmem_copy", do_tmem_copy, 2, false},
    {"ttng.clc_try_cancel", spad__ttgir_try_cancel, 2, true},
    {"ttng.clc_load_result", do_load, 1, false},
    {"ttng.clc_is_canceled", spad__ttgir_answer, 0, false},
    {"ttng.clc_get_program_id", spad__ttgir_answer, 0, false},
    {"ttg.barrier", do_barrier, 0, false},
    {"gpu.barrier", do_barrier, 0, false},
    {"ttng.cluster_barrier", do_barrier, 0, false},
    {"ttng.fence_mbarrier_init_release_cluster", do_release, 0, false},
};

/* Has the operation as many views among its operands, or as its first ones? */
static bool has_views(const spad__ttgir *t, const spad__mlir_op *op, uint32_t views, bool first) {
    uint32_t which;
    if (views == 0) return true;
    return view_operand(t, op, views - 1, &which) != NULL && (!first || which == views - 1);
}

bool spad__ttgir_memory(spad__ttgir *t, const spad__mlir_op *op) {
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!spad__mlir_named(t->m, op, known[i].name)) continue;
        if (!has_views(t, op, known[i].views, known[i].first)) {
            spad__gpu_fail(t->g, "memory on chip that is not known: data decides which one");
        } else {
            known[i].act(t, op);
        }
        return true;
    }
    return false;
}
