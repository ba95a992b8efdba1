/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations of TTGIR that touch shared or tensor memory, and those that synchronise.
 *
 * What each of them does is that of the instructions it becomes: a copy without a commit or a
 * barrier of its own is issued to a unit; a wait for groups, an arrival and a wait for a phase are
 * the statements of the same name. `barrier_expect` is mbarrier.arrive.expect_tx, one arrival. A
 * product on tensor memory ends with tcgen05.commit for each of its barriers. Threads of one
 * partition are one agent; where the text has the barriers between them, so has the kernel
 * (ttgir_threads.c).
 */
#include <string.h>

#include "base/checked.h"
#include "read/ttgir.h"

/* ---- operands ------------------------------------------------------------------------ */

/* The number that follows an operand: "init_barrier %b, 1". */
static bool number_after(const spad__ttgir *t, const spad__mlir_op *op, uint32_t operand,
                         int64_t *out) {
    if (operand >= op->operand_count) return false;
    const uint32_t at = t->m->operands.items[op->first_operand + operand].token;
    return at + 2 < op->end && spad__mlir_is_mark(t->m, at + 1, ',') &&
           spad__mlir_number(t->m, at + 2, out);
}

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
    return spad__add(offset, t->call_base, &offset) ? offset : -1;
}

/* Scales of rows x columns bytes: 32 rows at a time, side by side, the same in each quarter of the
 * lanes. Parts of them are all of them here. */
static void fold_scales(spad__ttgir_buffer *b) {
    enum { LANES = 128, ROWS = 32 };
    const int64_t groups = b->dims[0] > ROWS ? b->dims[0] / ROWS : 1;
    if (!spad__mul(groups, b->dims[1], &b->dims[1])) return;
    b->dims[0] = LANES;
    b->folded = true;
}

static void fill_buffer(spad__ttgir *t, const spad__mlir_op *op, const spad__ttgir_type *type,
                        spad__ttgir_space space, spad__ttgir_buffer *b) {
    int rank;
    spad__ttgir_read_encoding(t, type, &rank, &b->align);
    if (rank == 0) rank = type->rank > 2 ? type->rank - 1 : type->rank;
    const int ring = type->rank > rank || (space == SPAD__TTGIR_TMEM && type->rank > 2) ? 1 : 0;
    b->space = space;
    b->op = t->op;
    b->dtype = type->dtype;
    b->stages = ring ? type->dims[0] : 0;
    b->rank = type->rank - ring;
    int64_t split[SPAD__TTGIR_RANK];
    spad__ttgir_split(t, type->encoding, b->rank, split);
    for (int d = 0; d < b->rank; d++) {
        b->dims[d] = type->dims[d + ring] / split[d] > 0 ? type->dims[d + ring] / split[d] : 1;
    }
    if (space == SPAD__TTGIR_TMEM && b->rank == 2 && spad__ttgir_has_scales(t, type))
        fold_scales(b);
    b->offset = space == SPAD__TTGIR_SHARED ? spad__ttgir_offset(t, op) : -1;
    if (b->offset >= 0) t->has_offsets = true;
    spad__ttgir_name(t, op, b->name);
}

/* A buffer of its own, written where the operation has something to put into it. */
static void do_alloc(spad__ttgir *t, const spad__mlir_op *op) {
    const uint32_t at = spad__ttgir_last_memdesc(t, op);
    spad__ttgir_type type;
    bool fresh;
    if (at == 0 || !spad__ttgir_read_type(t, at, op->end, &type)) {
        SPAD__TTGIR_FAULT(t, "a type of memory that is not known");
        return;
    }
    int32_t buffer = spad__ttgir_buffer_of(t, op->name, &fresh);
    if (buffer >= 0 && !fresh) {
        spad__ttgir_retire(t, buffer);
        buffer = spad__ttgir_buffer_of(t, op->name, &fresh);
    }
    if (buffer < 0) return;
    if (fresh) {
        fill_buffer(t, op, &type, type.tensor_memory ? SPAD__TTGIR_TMEM : SPAD__TTGIR_SHARED,
                    &t->buffers.items[buffer]);
    }
    const spad__ttgir_value value = spad__ttgir_whole(t, buffer);
    spad__ttgir_set(t, op, 0, value);
    if (t->loops > 0) {
        spad__ttgir_note *note = spad__ttgir_note_add(t, SPAD__NOTE_ALLOCATE);
        if (note != NULL) note->buffer = buffer;
    }
    if (op->operand_count == 0) return;
    spad__ttgir_note_operation(t, "store", SPAD__TTGIR_NO_UNIT);
    spad__ttgir_note_access(t, &value, SPAD_ACCESS_WRITE);
    spad__ttgir_note_spread(
        t, spad__ttgir_spread_of(t, spad__ttgir_nth_tensor(t, op, 0, false), &value));
}

/* ---- views --------------------------------------------------------------------------- */

static void do_index(spad__ttgir *t, const spad__mlir_op *op) {
    spad__ttgir_value value = *spad__ttgir_operand(t, op, 0);
    if (value.kind != SPAD__TTGIR_VIEW) return;
    const spad__ttgir_buffer *b = &t->buffers.items[value.buffer];
    const spad__scalar index = spad__ttgir_scalar(t, op, 1);
    if (b->stages > 0 && value.view.stage < 0) {
        value.view.stage = index;
    } else if (value.view.rank > 1 && !b->folded) { /* one element of its first dimension */
        const int d = value.view.order[0];
        value.view.from[d] =
            value.view.length[d] > 0
                ? spad__scalar_make(&t->scalars, SPAD__SCALAR_ADD, value.view.from[d], index)
                : index;
        value.view.length[d] = 1;
        memmove(value.view.order, value.view.order + 1,
                (size_t)(value.view.rank - 1) * sizeof *value.view.order);
    }
    spad__ttgir_set(t, op, 0, value);
}

/* Narrows dimension d of the view to `length` elements from `from` on. */
static void narrow(spad__ttgir *t, spad__ttgir_value *value, int d, int64_t from, int64_t length) {
    const spad__ttgir_buffer *b = &t->buffers.items[value->buffer];
    const int own = value->view.order[d];
    if (b->folded) return;
    if (from == 0 && value->view.length[own] == 0 && length == b->dims[own]) return;
    const spad__scalar start = spad__scalar_number(&t->scalars, from);
    value->view.from[own] =
        value->view.length[own] > 0
            ? spad__scalar_make(&t->scalars, SPAD__SCALAR_ADD, value->view.from[own], start)
            : start;
    value->view.length[own] = length;
}

/* "memdesc_subslice %x[0, 32] : from -> to" */
static void do_subslice(spad__ttgir *t, const spad__mlir_op *op) {
    spad__ttgir_value value = *spad__ttgir_operand(t, op, 0);
    const uint32_t to = spad__ttgir_last_memdesc(t, op);
    spad__ttgir_type type;
    if (value.kind != SPAD__TTGIR_VIEW || to == 0) return;
    if (!spad__ttgir_read_type(t, to, op->end, &type)) {
        SPAD__TTGIR_FAULT(t, "a type of memory that is not known");
        return;
    }
    uint32_t at = t->m->operands.items[op->first_operand].token + 2;
    for (int d = 0; d < value.view.rank && d < type.rank; d++) {
        int64_t from;
        if (at >= op->end || !spad__mlir_number(t->m, at, &from)) break;
        narrow(t, &value, d, from, type.dims[d]);
        at += 2;
    }
    spad__ttgir_set(t, op, 0, value);
}

/* "tmem_subslice %x {N = 64 : i32}": columns; from 3.9 on "{offset = 64 : i32}", and
 * "{offset = 64 : i32, dim = 0 : i32}" where it is another dimension than the second. */
static void do_tmem_subslice(spad__ttgir *t, const spad__mlir_op *op) {
    spad__ttgir_value value = *spad__ttgir_operand(t, op, 0);
    const uint32_t to = spad__ttgir_last_memdesc(t, op);
    spad__ttgir_type type;
    int64_t from = 0;
    if (value.kind != SPAD__TTGIR_VIEW || to == 0) return;
    if (!spad__ttgir_read_type(t, to, op->end, &type)) {
        SPAD__TTGIR_FAULT(t, "a type of memory that is not known");
        return;
    }
    int64_t dim = type.rank - 1;
    if (spad__mlir_number_of(t->m, op, "offset", &from)) {
        dim = 1;
        spad__mlir_number_of(t->m, op, "dim", &dim);
    } else if (!spad__mlir_number_of(t->m, op, "N", &from) && !number_after(t, op, 0, &from)) {
        SPAD__TTGIR_FAULT(t, "columns of tensor memory that are not known");
        return;
    }
    const int64_t own = dim - (type.rank - value.view.rank); /* without the stages of a ring */
    if (own < 0 || own >= value.view.rank || dim >= type.rank) {
        SPAD__TTGIR_FAULT(t, "a part of tensor memory in dimension %lld", (long long)dim);
        return;
    }
    if (value.view.rank > 1) narrow(t, &value, (int)own, from, type.dims[dim]);
    spad__ttgir_set(t, op, 0, value);
}

static void do_trans(spad__ttgir *t, const spad__mlir_op *op) {
    spad__ttgir_value value = *spad__ttgir_operand(t, op, 0);
    const spad__ttgir_value before = value;
    uint32_t at = spad__mlir_attribute(t->m, op, "order");
    int d = 0;
    for (; at != 0 && at < op->end && d < value.view.rank; at++) {
        int64_t from;
        if (spad__mlir_is_mark(t->m, at, '>')) break;
        if (!spad__mlir_number(t->m, at, &from) || from < 0 || from >= value.view.rank) continue;
        value.view.order[d++] = before.view.order[from];
    }
    spad__ttgir_set(t, op, 0, value);
}

/* Other shapes of the same bytes: all of them, whatever the shape. */
static void do_same(spad__ttgir *t, const spad__mlir_op *op) {
    spad__ttgir_set(t, op, 0, *spad__ttgir_operand(t, op, 0));
}

/* "warp_group_dot_wait %a, %b {pendings = 1}" gives back what it is given. */
static void do_dot_wait(spad__ttgir *t, const spad__mlir_op *op) {
    int64_t pending = 0;
    spad__mlir_number_of(t->m, op, "pendings", &pending);
    for (int32_t i = 0; i < op->result_count && (uint32_t)i < op->operand_count; i++) {
        spad__ttgir_set(t, op, i, *spad__ttgir_operand(t, op, (uint32_t)i));
    }
    spad__ttgir_note *note = spad__ttgir_note_statement(t, SPAD_STATEMENT_WAIT_GROUP);
    if (note == NULL) return;
    note->group = SPAD__TTGIR_MMAS;
    note->scalar = spad__scalar_number(&t->scalars, pending);
    if (spad__ttgir_spread_of_groups(t) == SPAD__SPREAD_ALL &&
        !spad__mlir_has(t->m, op, "warpGroupLocal")) {
        spad__ttgir_note_meet(t);
    }
}

/* ---- reads and writes of threads ------------------------------------------------------ */

static void do_load(spad__ttgir *t, const spad__mlir_op *op) {
    const spad__ttgir_value *from = view_operand(t, op, 0, NULL);
    if (from == NULL) return;
    const uint32_t type =
        spad__mlir_named(t->m, op, "ttg.local_load") ? spad__ttgir_nth_tensor(t, op, 0, true) : 0;
    spad__ttgir_note_operation(t, "load", SPAD__TTGIR_NO_UNIT);
    spad__ttgir_note_access(t, from, SPAD_ACCESS_READ);
    spad__ttgir_note_spread(t, spad__ttgir_spread_of(t, type, from));
}

/* "local_store %x, %to", "tmem_store %x, %to, %condition" */
static void do_store(spad__ttgir *t, const spad__mlir_op *op) {
    uint32_t which;
    bool open;
    const spad__ttgir_value *to = view_operand(t, op, 0, &which);
    if (to == NULL) return;
    const spad__scalar condition =
        spad__mlir_named(t->m, op, "ttng.tmem_store") && op->operand_count > which + 1
            ? spad__ttgir_scalar(t, op, op->operand_count - 1)
            : SPAD__NO_SCALAR;
    if (!spad__ttgir_note_if(t, condition, &open)) return;
    spad__ttgir_note_operation(t, "store", SPAD__TTGIR_NO_UNIT);
    spad__ttgir_note_access(t, to, SPAD_ACCESS_WRITE);
    spad__ttgir_note_spread(t,
                            spad__ttgir_spread_of(t, spad__ttgir_nth_tensor(t, op, 0, false), to));
    spad__ttgir_note_end(t, open);
}

static void do_scatter(spad__ttgir *t, const spad__mlir_op *op) {
    const spad__ttgir_value *to = view_operand(t, op, 0, NULL);
    if (to == NULL) return;
    spad__ttgir_note_operation(t, "scatter", SPAD__TTGIR_NO_UNIT);
    spad__ttgir_note_access(t, to, SPAD_ACCESS_WRITE | SPAD_ACCESS_MAY);
    spad__ttgir_note_spread(t, SPAD__SPREAD_UNKNOWN);
}

/* ---- groups --------------------------------------------------------------------------- */

static void note_group(spad__ttgir *t, spad_statement_kind kind, spad__ttgir_group group,
                       int64_t pending, unsigned flags) {
    spad__ttgir_note *note = spad__ttgir_note_statement(t, kind);
    if (note == NULL) return;
    note->group = group;
    note->flags = flags;
    if (kind == SPAD_STATEMENT_WAIT_GROUP) {
        note->scalar = spad__scalar_number(&t->scalars, pending);
    }
}

/* "%from, %to mask %bits other %x": it writes all of its buffer, zeros too, or nothing. */
static void do_copy(spad__ttgir *t, const spad__mlir_op *op) {
    const spad__ttgir_value *to = view_operand(t, op, 0, NULL);
    spad__scalar condition = SPAD__NO_SCALAR;
    bool open;
    if (to == NULL) return;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const spad__ttgir_value *value = spad__ttgir_operand(t, op, i);
        if (value->kind != SPAD__TTGIR_MASK) continue;
        condition = value->scalar;
        if (condition < 0 && !t->dry && t->masked_op < 0) t->masked_op = t->op;
    }
    if (!spad__ttgir_note_if(t, condition, &open)) return;
    spad__ttgir_note *note = spad__ttgir_note_operation(t, "load", SPAD__TTGIR_CP);
    if (note == NULL) return;
    note->group = SPAD__TTGIR_LOADS;
    spad__ttgir_shape_like(t, spad__ttgir_operand(t, op, 0), to);
    spad__ttgir_note_access(t, spad__ttgir_operand(t, op, 0), SPAD_ACCESS_READ);
    spad__ttgir_note_access(t, to, SPAD_ACCESS_WRITE);
    spad__ttgir_note_spread(t, spad__ttgir_spread_of_pointers(t, op, to));
    spad__ttgir_note_end(t, open);
}

static void do_commit(spad__ttgir *t, const spad__mlir_op *op) {
    (void)op;
    note_group(t, SPAD_STATEMENT_COMMIT, SPAD__TTGIR_LOADS, 0, 0);
}

static void do_wait(spad__ttgir *t, const spad__mlir_op *op) {
    int64_t pending = 0;
    spad__mlir_number_of(t->m, op, "num", &pending);
    note_group(t, SPAD_STATEMENT_WAIT_GROUP, SPAD__TTGIR_LOADS, pending, 0);
}

static void do_store_wait(spad__ttgir *t, const spad__mlir_op *op) {
    int64_t pending = 0;
    spad__mlir_number_of(t->m, op, "pendings", &pending);
    note_group(t, SPAD_STATEMENT_WAIT_GROUP, SPAD__TTGIR_STORES, pending, SPAD_SYNC_READS);
}

/* ---- mbarriers ------------------------------------------------------------------------ */

static spad__ttgir_note *on_barrier(spad__ttgir *t, const spad__ttgir_value *barrier,
                                    spad_statement_kind kind) {
    if (barrier == NULL || barrier->kind != SPAD__TTGIR_VIEW) {
        if (!t->dry) SPAD__TTGIR_FAULT(t, "a barrier that is no memory that was allocated");
        return NULL;
    }
    if (!t->dry) t->buffers.items[barrier->buffer].barrier = true;
    const spad__scalar stage = spad__ttgir_clear(t, barrier->view.stage, "which mbarrier");
    spad__ttgir_note *note = spad__ttgir_note_statement(t, kind);
    if (note == NULL) return NULL;
    note->buffer = barrier->buffer;
    note->stage = stage;
    return note;
}

/* In the memory of one block, for others too: a bit of the block's number that moves nothing. */
static bool is_for_blocks(spad__ttgir *t, const spad__mlir_op *op) {
    const uint32_t at = spad__ttgir_last_memdesc(t, op);
    spad__ttgir_type type;
    spad__ttgir_bases bases;
    if (t->blocks < 2 || !t->shared_barriers || at == 0) return false;
    if (!spad__ttgir_read_type(t, at, op->end, &type)) return false;
    spad__ttgir_read_blocks(t, type.encoding, type.rank, &bases);
    for (size_t i = 0; i < bases.count; i++) {
        if (bases.rows[i][0] == 0) return true;
    }
    return false;
}

static void do_init(spad__ttgir *t, const spad__mlir_op *op) {
    int64_t count = 1;
    if (is_for_blocks(t, op)) {
        SPAD__TTGIR_FAULT(t, "an mbarrier for several blocks of the cluster: only kernels whose "
                             "blocks use their own memory are read; compile with num_ctas=1");
        return;
    }
    const spad__ttgir_value *barrier = spad__ttgir_operand(t, op, 0);
    spad__ttgir_note *note = on_barrier(t, barrier, SPAD_STATEMENT_INIT);
    if (note == NULL) return;
    number_after(t, op, 0, &count);
    if (t->buffers.items[barrier->buffer].count == 0) {
        t->buffers.items[barrier->buffer].count = count;
    }
    note->scalar = spad__scalar_number(&t->scalars, count);
}

static void do_invalidate(spad__ttgir *t, const spad__mlir_op *op) {
    on_barrier(t, spad__ttgir_operand(t, op, 0), SPAD_STATEMENT_INVALIDATE);
}

static void do_expect(spad__ttgir *t, const spad__mlir_op *op) {
    int64_t bytes = 0;
    bool open;
    if (!number_after(t, op, 0, &bytes)) SPAD__TTGIR_FAULT(t, "expected a number of bytes");
    spad__ttgir_note_meet(t);
    if (!spad__ttgir_note_if(t, condition_at(t, op, 1, op->operand_count), &open)) return;
    spad__ttgir_note *note = on_barrier(t, spad__ttgir_operand(t, op, 0), SPAD_STATEMENT_ARRIVE);
    if (note != NULL) note->expect = spad__scalar_number(&t->scalars, bytes);
    spad__ttgir_note_end(t, open);
}

static void do_arrive(spad__ttgir *t, const spad__mlir_op *op) {
    int64_t count = 1;
    bool open;
    number_after(t, op, 0, &count);
    spad__ttgir_note_meet(t);
    if (!spad__ttgir_note_if(t, condition_at(t, op, 1, op->operand_count), &open)) return;
    spad__ttgir_note *note = on_barrier(t, spad__ttgir_operand(t, op, 0), SPAD_STATEMENT_ARRIVE);
    if (note != NULL && count != 1) note->scalar = spad__scalar_number(&t->scalars, count);
    spad__ttgir_note_end(t, open);
}

static void do_wait_barrier(spad__ttgir *t, const spad__mlir_op *op) {
    const uint32_t count = operands_before(t, op, "deps");
    bool open;
    if (!spad__ttgir_note_if(t, condition_at(t, op, 2, count), &open)) return;
    const spad__scalar phase =
        spad__ttgir_clear(t, spad__ttgir_scalar(t, op, 1), "the phase of a wait");
    spad__ttgir_note *note =
        on_barrier(t, spad__ttgir_operand(t, op, 0), SPAD_STATEMENT_WAIT_PARITY);
    if (note != NULL) note->scalar = phase;
    spad__ttgir_note_end(t, open);
}

/* "async_copy_mbarrier_arrive %b {noIncrement}": when the copies so far are done */
static void do_copy_arrive(spad__ttgir *t, const spad__mlir_op *op) {
    if (!spad__mlir_has(t->m, op, "noIncrement")) {
        SPAD__TTGIR_FAULT(t, "an arrival after copies without 'noIncrement' is not known");
        return;
    }
    spad__ttgir_note *note = on_barrier(t, spad__ttgir_operand(t, op, 0), SPAD_STATEMENT_ARRIVE);
    if (note != NULL) note->unit = SPAD__TTGIR_CP;
}

static void do_fence(spad__ttgir *t, const spad__mlir_op *op) {
    (void)op;
    spad__ttgir_note_statement(t, SPAD_STATEMENT_FENCE);
}

/* ---- TMA ------------------------------------------------------------------------------ */

/* Gathers and scatters of rows are issued by several warps. */
static int32_t spread_of_tma(const spad__ttgir *t, const spad__mlir_op *op) {
    return spad__mlir_named(t->m, op, "ttng.async_tma_gather") ||
                   spad__mlir_named(t->m, op, "ttng.async_tma_scatter")
               ? SPAD__SPREAD_NONE
               : SPAD__SPREAD_ONE;
}

/* "%desc[%x, %y] %to, %barrier, %condition" */
static void do_tma_load(spad__ttgir *t, const spad__mlir_op *op) {
    uint32_t which = 0;
    bool open;
    const spad__ttgir_value *to = view_operand(t, op, 0, NULL);
    const spad__ttgir_value *barrier = view_operand(t, op, 1, &which);
    if (to == NULL || barrier == NULL) return;
    if (!spad__ttgir_note_if(t, condition_at(t, op, which + 1, op->operand_count), &open)) return;
    const spad__scalar stage = spad__ttgir_clear(t, barrier->view.stage, "which mbarrier");
    spad__ttgir_note *note = spad__ttgir_note_operation(t, "load", SPAD__TTGIR_TMA);
    if (note == NULL) return;
    t->buffers.items[barrier->buffer].barrier = true;
    note->buffer = barrier->buffer;
    note->stage = stage;
    spad__ttgir_shape_like(t, spad__ttgir_operand(t, op, 0), to);
    spad__ttgir_note_access(t, spad__ttgir_operand(t, op, 0), SPAD_ACCESS_READ);
    spad__ttgir_note_access(t, to, SPAD_ACCESS_WRITE);
    spad__ttgir_note_spread(t, spread_of_tma(t, op));
    spad__ttgir_note_end(t, open);
}

static void do_tma_store(spad__ttgir *t, const spad__mlir_op *op) {
    const spad__ttgir_value *from = view_operand(t, op, 0, NULL);
    const bool adds = spad__mlir_named(t->m, op, "ttng.async_tma_reduce");
    if (from == NULL) return;
    spad__ttgir_note *note =
        spad__ttgir_note_operation(t, adds ? "reduce" : "store", SPAD__TTGIR_TMA);
    if (note == NULL) return;
    note->group = SPAD__TTGIR_STORES;
    spad__ttgir_shape_like(t, spad__ttgir_operand(t, op, 0), from);
    spad__ttgir_note_access(t, from, SPAD_ACCESS_READ);
    spad__ttgir_note_spread(t, spread_of_tma(t, op));
    spad__ttgir_note_access(t, spad__ttgir_operand(t, op, 0), SPAD_ACCESS_ADD);
    note_group(t, SPAD_STATEMENT_COMMIT, SPAD__TTGIR_STORES, 0, 0);
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
    if (t->dry || !t->matrix_registers || at == 0) return;
    if (!spad__ttgir_read_type(t, at, op->end, &type)) return;
    const spad_shape shape = {(size_t)type.rank, type.dims};
    if (spad_shape_bytes(&bytes, shape, type.dtype, NULL) != SPAD_OK) return;
    const int32_t buffer = spad__ttgir_buffer_of(t, at, &fresh);
    if (buffer < 0) return;
    spad__ttgir_buffer *b = &t->buffers.items[buffer];
    if (fresh) {
        b->space = SPAD__TTGIR_REGISTERS;
        b->op = t->op;
        spad__ttgir_name(t, op, b->name);
        if (bytes <= REGISTER_BYTES - t->register_bytes) {
            t->register_bytes += bytes;
            b->rank = type.rank;
            b->dtype = type.dtype;
            memcpy(b->dims, type.dims, sizeof b->dims);
        }
    }
    if (b->rank == 0) return;
    const spad__ttgir_value value = spad__ttgir_whole(t, buffer);
    spad__ttgir_note_access(t, &value, which < 2 ? SPAD_ACCESS_READ : SPAD_ACCESS_WRITE);
}

/* mma of a warp: operands and result in registers. */
static void do_dot(spad__ttgir *t, const spad__mlir_op *op) {
    if (!t->matrix_registers || spad__ttgir_tensor_type(t, op, 2) == 0) return;
    spad__ttgir_note *note = spad__ttgir_note_operation(t, "dot", SPAD__TTGIR_NO_UNIT);
    if (note == NULL) return;
    note->matrix = true;
    for (int which = 0; which < 3; which++) note_registers(t, op, which);
}

static void do_warp_group_dot(spad__ttgir *t, const spad__mlir_op *op) {
    const uint32_t at = spad__mlir_attribute(t->m, op, "isAsync");
    const bool async = at != 0 && spad__mlir_is(t->m, at, "true");
    spad__ttgir_note *note = spad__ttgir_note_operation(t, "dot", SPAD__TTGIR_WGMMA);
    if (note == NULL) return;
    note->group = SPAD__TTGIR_MMAS;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const spad__ttgir_value *value = spad__ttgir_operand(t, op, i);
        if (value->kind != SPAD__TTGIR_VIEW) continue;
        spad__ttgir_note_access(t, value, SPAD_ACCESS_READ);
        spad__ttgir_note_spread(t, spad__ttgir_spread_of_groups(t));
    }
    for (int which = 0; which < 3; which++) note_registers(t, op, which);
    note_group(t, SPAD_STATEMENT_COMMIT, SPAD__TTGIR_MMAS, 0, 0);
    if (!async) note_group(t, SPAD_STATEMENT_WAIT_GROUP, SPAD__TTGIR_MMAS, 0, 0);
}

/* One product, with the accumulator written or updated. */
static void note_product(spad__ttgir *t, const spad__ttgir_value *const *reads, size_t count,
                         const spad__ttgir_value *to, bool updates, bool waits) {
    spad__ttgir_note *note = spad__ttgir_note_operation(t, "dot", SPAD__TTGIR_TC5);
    if (note == NULL) return;
    note->group = waits ? SPAD__TTGIR_DONE : SPAD__TTGIR_NO_GROUP;
    for (size_t i = 0; i < count; i++) {
        spad__ttgir_note_access(t, reads[i], SPAD_ACCESS_READ);
        spad__ttgir_note_spread(t, SPAD__SPREAD_ONE);
    }
    spad__ttgir_note_access(t, to, updates ? SPAD_ACCESS_UPDATE : SPAD_ACCESS_WRITE);
}

/* "%a, %b, %d[%token], %use, %condition, %barrier[%its_condition], ... {is_async}"; with scales
 * after %d */
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

static void note_commits(spad__ttgir *t, const spad__mlir_op *op, uint32_t first) {
    for (uint32_t i = first; i < op->operand_count; i++) {
        const spad__ttgir_value *barrier = spad__ttgir_operand(t, op, i);
        bool open;
        if (barrier->kind != SPAD__TTGIR_VIEW || in_brackets(t, op, i)) continue;
        const bool has = i + 1 < op->operand_count && in_brackets(t, op, i + 1);
        const spad__scalar condition = has ? spad__ttgir_scalar(t, op, i + 1) : SPAD__NO_SCALAR;
        if (!spad__ttgir_note_if(t, condition, &open)) continue;
        spad__ttgir_note *note = on_barrier(t, barrier, SPAD_STATEMENT_ARRIVE);
        if (note != NULL) note->unit = SPAD__TTGIR_TC5;
        spad__ttgir_note_end(t, open);
    }
}

static void do_product(spad__ttgir *t, const spad__mlir_op *op) {
    const bool scaled = spad__mlir_named(t->m, op, "ttng.tc_gen5_mma_scaled");
    const bool waits = !spad__mlir_has(t->m, op, "is_async");
    spad__ttgir_product p;
    bool open, updates;
    if (t->dry) return;
    if (!ttgir_read_product(t, op, scaled, &p)) {
        SPAD__TTGIR_FAULT(t, "operands of a product that are not known");
        return;
    }
    if (p.barriers < op->operand_count) spad__ttgir_note_meet(t);
    if (!spad__ttgir_note_if(t, p.condition, &open)) return;
    const bool first = spad__ttgir_note_if(t, spad__scalar_not(&t->scalars, p.use), &updates);
    if (first) note_product(t, p.reads, p.read_count, p.to, false, waits);
    if (updates) {
        spad__ttgir_note_add(t, SPAD__NOTE_ELSE);
        note_product(t, p.reads, p.read_count, p.to, true, waits);
        spad__ttgir_note_end(t, true);
    } else if (!first) {
        note_product(t, p.reads, p.read_count, p.to, true, waits);
    }
    if (waits) {
        note_group(t, SPAD_STATEMENT_COMMIT, SPAD__TTGIR_DONE, 0, 0);
        note_group(t, SPAD_STATEMENT_WAIT_GROUP, SPAD__TTGIR_DONE, 0, 0);
    }
    note_commits(t, op, p.barriers);
    spad__ttgir_note_end(t, open);
}

static void do_tc5_commit(spad__ttgir *t, const spad__mlir_op *op) {
    bool open;
    spad__ttgir_note_meet(t);
    if (!spad__ttgir_note_if(t, condition_at(t, op, 1, op->operand_count), &open)) return;
    spad__ttgir_note *note = on_barrier(t, spad__ttgir_operand(t, op, 0), SPAD_STATEMENT_ARRIVE);
    if (note != NULL) note->unit = SPAD__TTGIR_TC5;
    spad__ttgir_note_end(t, open);
}

/* "tmem_copy %from, %to, %barrier": tcgen05.cp, in the order of the products */
static void do_tmem_copy(spad__ttgir *t, const spad__mlir_op *op) {
    const spad__ttgir_value *from = view_operand(t, op, 0, NULL);
    const spad__ttgir_value *to = view_operand(t, op, 1, NULL);
    uint32_t which;
    if (from == NULL || to == NULL) return;
    if (spad__ttgir_note_operation(t, "copy", SPAD__TTGIR_TC5) == NULL) return;
    spad__ttgir_note_access(t, from, SPAD_ACCESS_READ);
    spad__ttgir_note_spread(t, SPAD__SPREAD_ONE);
    spad__ttgir_note_access(t, to, SPAD_ACCESS_WRITE);
    if (view_operand(t, op, 2, &which) != NULL) note_commits(t, op, which);
}

/* "ttg.barrier local", and a barrier of all blocks of a cluster */
static void do_barrier(spad__ttgir *t, const spad__mlir_op *op) {
    if (spad__ttgir_is_barrier(t->m, op)) spad__ttgir_note_meet(t);
}

/* ---- the table ------------------------------------------------------------------------- */

static void do_nothing(spad__ttgir *t, const spad__mlir_op *op) {
    (void)t;
    (void)op;
}

static const struct {
    const char *name;
    void (*act)(spad__ttgir *t, const spad__mlir_op *op);
} known[] = {
    {"ttg.local_alloc", do_alloc},
    {"ttng.tmem_alloc", do_alloc},
    {"ttg.memdesc_index", do_index},
    {"ttg.memdesc_subslice", do_subslice},
    {"ttng.tmem_subslice", do_tmem_subslice},
    {"ttg.memdesc_trans", do_trans},
    {"ttg.memdesc_reshape", do_same},
    {"ttg.memdesc_reinterpret", do_same},
    {"ttg.local_load", do_load},
    {"ttg.local_gather", do_load},
    {"ttng.tmem_load", do_load},
    {"ttg.local_store", do_store},
    {"ttng.tmem_store", do_store},
    {"ttg.local_scatter", do_scatter},
    {"ttg.local_dealloc", do_nothing},
    {"ttg.async_copy_global_to_local", do_copy},
    {"ttg.async_commit_group", do_commit},
    {"ttg.async_wait", do_wait},
    {"tt.dot", do_dot},
    {"ttng.warp_group_dot", do_warp_group_dot},
    {"ttng.warp_group_dot_wait", do_dot_wait},
    {"ttng.init_barrier", do_init},
    {"ttng.inval_barrier", do_invalidate},
    {"ttng.barrier_expect", do_expect},
    {"ttng.arrive_barrier", do_arrive},
    {"ttng.wait_barrier", do_wait_barrier},
    {"ttng.async_copy_mbarrier_arrive", do_copy_arrive},
    {"ttng.fence_async_shared", do_fence},
    {"ttng.async_tma_copy_global_to_local", do_tma_load},
    {"ttng.async_tma_gather", do_tma_load},
    {"ttng.async_tma_copy_local_to_global", do_tma_store},
    {"ttng.async_tma_scatter", do_tma_store},
    {"ttng.async_tma_reduce", do_tma_store},
    {"ttng.async_tma_store_wait", do_store_wait},
    {"ttng.tc_gen5_mma", do_product},
    {"ttng.tc_gen5_mma_scaled", do_product},
    {"ttng.tc_gen5_commit", do_tc5_commit},
    {"ttng.tmem_copy", do_tmem_copy},
    {"ttg.barrier", do_barrier},
    {"gpu.barrier", do_barrier},
    {"ttng.cluster_barrier", do_barrier},
};

bool spad__ttgir_memory(spad__ttgir *t, const spad__mlir_op *op) {
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!spad__mlir_named(t->m, op, known[i].name)) continue;
        known[i].act(t, op);
        return true;
    }
    return false;
}
