/* SPDX-License-Identifier: Apache-2.0
 *
 * Views of memory: operations that give a part of a buffer, or all of it in another shape or order.
 * They touch no memory. A view that is not a part along the dimensions of its buffer is refused.
 */
#include <string.h>

#include "base/checked.h"
#include "frontend/ttgir/ttgir.h"

enum { TMEM_COLUMNS = 1 }; /* the dimension of tensor memory after its lanes */

/* Parts of memory that has another shape than it was allocated with are not known. */
static bool is_reshaped(spad__ttgir *t, const spad__ttgir_value *value) {
    if (!value->view.reshaped) return false;
    spad__gpu_fail(t->g, "a part of memory whose shape was changed is not known");
    return true;
}

void spad__ttgir_index(spad__ttgir *t, const spad__mlir_op *op) {
    spad__ttgir_value value = *spad__ttgir_operand(t, op, 0);
    const spad__gpu_buffer *b = &t->g->memory.buffers.items[value.buffer];
    const spad__scalar index = spad__ttgir_scalar(t, op, 1);
    if (is_reshaped(t, &value)) return;
    if (b->stages > 0 && value.view.stage < 0) {
        value.view.stage = index;
    } else if (value.view.rank > 1 && !b->folded) { /* one element of its first dimension */
        spad__gpu_cut_view(t->g, &value.view, value.view.order[0], index, 1);
        memmove(value.view.order, value.view.order + 1,
                (size_t)(value.view.rank - 1) * sizeof *value.view.order);
    }
    spad__ttgir_set(t, op, 0, value);
}

/* What one block has of the type of a view, the stages of a ring among it. */
static void view_dims(const spad__ttgir *t, const spad__ttgir_type *type, int64_t *dims) {
    spad__ttgir_dims_in_block(t, type, spad__ttgir_stage_dims(t, type), dims);
}

/* A number of elements of the view in elements of the buffer; false: it is not a whole number. */
static bool in_own_elements(const spad__gpu_buffer *b, const spad__gpu_view *view,
                            int64_t *number) {
    int64_t bits;
    if (!spad__mul(*number, view->bits, &bits)) return false;
    *number = bits / spad_dtype_bits(b->dtype);
    return bits % spad_dtype_bits(b->dtype) == 0;
}

/* Narrows dimension d of the view to that of dimension `of` of the type, from `from` on. False: a
 * fault. */
static bool narrow(spad__ttgir *t, spad__ttgir_value *value, int d, int64_t from,
                   const spad__ttgir_type *type, int of) {
    const spad__gpu_buffer *b = &t->g->memory.buffers.items[value->buffer];
    const int own = value->view.order[d];
    const int64_t before = spad__gpu_extent(b, &value->view, own);
    int64_t dims[SPAD__GPU_RANK];
    view_dims(t, type, dims);
    const bool divided = dims[of] != type->dims[of];
    int64_t length = dims[of];
    if (b->folded) return true;
    if (value->view.bits != 0 && own == TMEM_COLUMNS &&
        (!in_own_elements(b, &value->view, &from) || !in_own_elements(b, &value->view, &length))) {
        spad__gpu_fail(t->g, "a part of tensor memory that begins or ends inside of an element");
        return false;
    }
    if (from == 0 && length == before) return true;
    if (divided) {
        spad__gpu_fail(t->g, "a part of a dimension that the blocks of the cluster divide");
        return false;
    }
    spad__gpu_cut_view(t->g, &value->view, own, spad__scalar_number(&t->g->scalars, from), length);
    return true;
}

/* The type that a view gets; false: a fault. */
static bool read_view_type(spad__ttgir *t, const spad__mlir_op *op, spad__ttgir_type *type) {
    const uint32_t to = spad__ttgir_last_memdesc(t, op);
    if (to != 0 && spad__ttgir_read_type(t, to, op->end, type)) return true;
    spad__gpu_fail(t->g, "a type of memory that is not known");
    return false;
}

/* Does the view have the stages of a ring as its first dimension? */
static bool is_whole_ring(const spad__ttgir *t, const spad__ttgir_value *value) {
    return t->g->memory.buffers.items[value->buffer].stages > 0 && value->view.stage < 0;
}

/* "memdesc_subslice %x[0, 32] : from -> to"; of a ring "%x[0, 0, 32]", with all of its stages */
void spad__ttgir_subslice(spad__ttgir *t, const spad__mlir_op *op) {
    spad__ttgir_value value = *spad__ttgir_operand(t, op, 0);
    spad__ttgir_type type;
    int64_t from;
    if (!read_view_type(t, op, &type) || is_reshaped(t, &value)) return;
    uint32_t at = t->m->operands.items[op->first_operand].token + 2;
    const int ring = is_whole_ring(t, &value) ? 1 : 0;
    if (ring && (!spad__mlir_number(t->m, at, &from) || from != 0 ||
                 type.dims[0] != t->g->memory.buffers.items[value.buffer].stages)) {
        spad__gpu_fail(t->g, "some of the stages of a ring: only one or all of them are known");
        return;
    }
    for (int d = ring; d < value.view.rank + ring && d < type.rank; d++) {
        const uint32_t place = at + 2 * (uint32_t)d;
        if (place >= op->end || !spad__mlir_number(t->m, place, &from)) break;
        if (!narrow(t, &value, d - ring, from, &type, d)) return;
    }
    spad__ttgir_set(t, op, 0, value);
}

/* "tmem_subslice %x {N = 64 : i32}": columns; from 3.9 on "{offset = 64 : i32}", and
 * "{offset = 64 : i32, dim = 0 : i32}" where it is another dimension than the second. */
void spad__ttgir_tmem_subslice(spad__ttgir *t, const spad__mlir_op *op) {
    spad__ttgir_value value = *spad__ttgir_operand(t, op, 0);
    spad__ttgir_type type;
    int64_t from = 0;
    if (!read_view_type(t, op, &type) || is_reshaped(t, &value)) return;
    int64_t dim = type.rank - 1;
    if (spad__mlir_number_of(t->m, op, "offset", &from)) {
        dim = 1;
        spad__mlir_number_of(t->m, op, "dim", &dim);
    } else if (!spad__mlir_number_of(t->m, op, "N", &from) &&
               !spad__ttgir_number_after(t, op, 0, &from)) {
        spad__gpu_fail(t->g, "columns of tensor memory that are not known");
        return;
    }
    const int64_t own = dim - (type.rank - value.view.rank); /* without the stages of a ring */
    if (own < 0 || own >= value.view.rank || dim >= type.rank) {
        spad__gpu_fail(t->g, "a part of tensor memory in dimension %lld", (long long)dim);
        return;
    }
    if (value.view.rank > 1 && !narrow(t, &value, (int)own, from, &type, (int)dim)) return;
    spad__ttgir_set(t, op, 0, value);
}

/* The numbers of "order = array<i32: 1, 0>". False: they are no order of `rank` dimensions. */
static bool read_order(const spad__ttgir *t, const spad__mlir_op *op, int rank, int *order) {
    uint32_t at = spad__mlir_attribute(t->m, op, "order");
    unsigned seen = 0;
    int count = 0;
    for (; at != 0 && at < op->end && !spad__mlir_is_mark(t->m, at, '>'); at++) {
        int64_t number;
        if (!spad__mlir_number(t->m, at, &number)) continue;
        if (number < 0 || number >= rank || (seen >> number & 1) != 0) return false;
        seen |= 1U << number;
        order[count++] = (int)number;
    }
    return count == rank;
}

/* "memdesc_trans %x {order = array<i32: 1, 0>}"; the stages of a ring stay its first dimension */
void spad__ttgir_trans(spad__ttgir *t, const spad__mlir_op *op) {
    spad__ttgir_value value = *spad__ttgir_operand(t, op, 0);
    const spad__ttgir_value before = value;
    const int ring = is_whole_ring(t, &value) ? 1 : 0;
    int order[SPAD__GPU_RANK] = {0};
    if (!read_order(t, op, value.view.rank + ring, order)) {
        value.view.reshaped = true; /* all of it, in an order that is not known */
    } else if (ring == 1 && order[0] != 0) {
        spad__gpu_fail(t->g, "the stages of a ring in another place than the first");
        return;
    }
    for (int d = 0; d < value.view.rank && !value.view.reshaped; d++) {
        value.view.order[d] = before.view.order[order[d + ring] - ring];
    }
    spad__ttgir_set(t, op, 0, value);
}

/* Bytes that one block has of the type, with all stages of a ring. */
static bool type_bytes(const spad__ttgir *t, const spad__ttgir_type *type, int64_t *bytes) {
    int64_t dims[SPAD__GPU_RANK];
    view_dims(t, type, dims);
    if (type->rank == 2 && spad__ttgir_has_scales(t, type) && !spad__ttgir_fold_scales(dims))
        return false;
    const spad_shape shape = {(size_t)type->rank, dims};
    return spad_shape_bytes(bytes, shape, type->dtype, NULL) == SPAD_OK;
}

/* Is a tile of the view of that type already? */
static bool is_view_of(const spad__ttgir *t, const spad__ttgir_value *value,
                       const spad__ttgir_type *type, int ring) {
    const spad__gpu_buffer *b = &t->g->memory.buffers.items[value->buffer];
    int64_t dims[SPAD__GPU_RANK];
    if (type->rank - ring != b->rank || type->dtype != b->dtype || b->folded) return false;
    view_dims(t, type, dims);
    for (int d = 0; d < b->rank; d++) {
        if (dims[d + ring] != spad__gpu_extent(b, &value->view, value->view.order[d])) return false;
    }
    return true;
}

/* The type that memory had before the operation; false: it is not known. */
static bool read_type_before(spad__ttgir *t, const spad__mlir_op *op, spad__ttgir_type *type) {
    for (uint32_t at = op->name + 1; at < op->end; at = spad__mlir_after(t->m, op, at)) {
        if (spad__mlir_is(t->m, at, "!ttg.memdesc"))
            return spad__ttgir_read_type(t, at, op->end, type);
    }
    return false;
}

/* Is it tensor memory with the same lanes in both types, and its elements side by side in each?
 * Then a part of its columns is known in either. */
static bool has_other_columns(spad__ttgir *t, const spad__mlir_op *op,
                              const spad__ttgir_value *value, const spad__ttgir_type *type,
                              int ring) {
    enum { LANES = 128 };
    const spad__gpu_buffer *b = &t->g->memory.buffers.items[value->buffer];
    int64_t dims[SPAD__GPU_RANK];
    spad__ttgir_type before;
    if (b->space != SPAD__GPU_TMEM || b->rank != 2 || type->rank - ring != 2) return false;
    if (b->folded || value->view.reshaped || !read_type_before(t, op, &before)) return false;
    if (spad__ttgir_column_stride(t, &before) != 1 || spad__ttgir_column_stride(t, type) != 1)
        return false;
    spad__ttgir_dims_in_block(t, type, ring, dims);
    return b->dims[0] == LANES && value->view.length[0] == 0 && dims[ring] == LANES;
}

/* Other shapes of the same bytes. From here on it is all of them, except in tensor memory with
 * other elements in the same lanes. A type without the stages of a ring means its first tile. */
void spad__ttgir_reshape(spad__ttgir *t, const spad__mlir_op *op) {
    spad__ttgir_value value = *spad__ttgir_operand(t, op, 0);
    const spad__gpu_buffer *b = &t->g->memory.buffers.items[value.buffer];
    spad__ttgir_type type;
    int64_t had, has, all;
    if (!read_view_type(t, op, &type)) return;
    int ring = is_whole_ring(t, &value) && type.rank > 1 && type.dims[0] == b->stages ? 1 : 0;
    if (is_view_of(t, &value, &type, ring)) {
        if (ring == 0 && is_whole_ring(t, &value))
            value.view.stage = spad__scalar_number(&t->g->scalars, 0);
        value.view.bits = 0;
        spad__ttgir_set(t, op, 0, value);
        return;
    }
    if (b->folded) { /* bytes that are kept several times: it is all of them */
        value.view.reshaped = true;
        spad__ttgir_set(t, op, 0, value);
        return;
    }
    if (spad__gpu_view_bytes(t->g, value.buffer, &value.view, &had, NULL) != SPAD_OK ||
        !type_bytes(t, &type, &has) ||
        !spad__mul(had, is_whole_ring(t, &value) ? b->stages : 1, &all)) {
        spad__gpu_fail(t->g, "a type of memory that is not known");
        return;
    }
    if (has_other_columns(t, op, &value, &type, ring)) {
        value.view.bits = spad_dtype_bits(type.dtype);
    } else {
        value.view.reshaped = true;
    }
    if (has == had && is_whole_ring(t, &value)) {
        value.view.stage = spad__scalar_number(&t->g->scalars, 0);
    } else if (has != all) {
        spad__gpu_fail(t->g, "%lld bytes of memory as %lld: only all of them are known",
                       (long long)all, (long long)has);
        return;
    }
    spad__ttgir_set(t, op, 0, value);
}
