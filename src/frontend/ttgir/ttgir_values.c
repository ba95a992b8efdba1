/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of the text, and what operations do with the memory that they stand for.
 */
#include "frontend/ttgir/ttgir.h"

/* ---- values -------------------------------------------------------------------------- */

const spad__ttgir_value spad__ttgir_nothing = {
    .kind = SPAD__TTGIR_NOTHING, .scalar = -1, .place = -1, .buffer = -1};

const spad__ttgir_value *spad__ttgir_operand(const spad__ttgir *t, const spad__mlir_op *op,
                                             uint32_t number) {
    if (number >= op->operand_count) return &spad__ttgir_nothing;
    return &t->values.items[t->m->operands.items[op->first_operand + number].value];
}

spad__scalar spad__ttgir_scalar(spad__ttgir *t, const spad__mlir_op *op, uint32_t number) {
    const spad__ttgir_value *value = spad__ttgir_operand(t, op, number);
    if (value->kind == SPAD__TTGIR_SCALAR && value->scalar >= 0) return value->scalar;
    return spad__scalar_data(&t->g->scalars);
}

void spad__ttgir_set(spad__ttgir *t, const spad__mlir_op *op, int32_t result,
                     spad__ttgir_value value) {
    if (result < op->result_count) t->values.items[op->first_result + result] = value;
}

void spad__ttgir_set_results(spad__ttgir *t, const spad__mlir_op *op, const spad__mlir_op *end) {
    for (int32_t i = 0; end != NULL && i < op->result_count; i++) {
        spad__ttgir_set(t, op, i, *spad__ttgir_operand(t, end, (uint32_t)i));
    }
}

void spad__ttgir_set_argument(spad__ttgir *t, int32_t region, uint32_t number,
                              spad__ttgir_value value) {
    const spad__mlir_region *r = &t->m->regions.items[region];
    if (number >= r->argument_count) return;
    t->values.items[t->m->arguments.items[r->first_argument + number]] = value;
}

spad__ttgir_value spad__ttgir_of_scalar(spad__scalar scalar) {
    spad__ttgir_value value = spad__ttgir_nothing;
    value.kind = SPAD__TTGIR_SCALAR;
    value.scalar = scalar;
    return value;
}

/* ---- memory -------------------------------------------------------------------------- */

int32_t spad__ttgir_buffer_of(spad__ttgir *t, uint32_t token, bool *fresh) {
    return spad__gpu_find_buffer(t->g, (uint64_t)t->calls.current << 32 | token, fresh);
}

spad__ttgir_value spad__ttgir_whole(const spad__ttgir *t, int32_t buffer) {
    return (spad__ttgir_value){.kind = SPAD__TTGIR_VIEW,
                               .scalar = -1,
                               .buffer = buffer,
                               .view = spad__gpu_whole_view(t->g, buffer)};
}

/* The view of a value; NULL: all of what a pointer leads to. */
static const spad__gpu_view *view_of(const spad__ttgir_value *value) {
    return value->kind == SPAD__TTGIR_VIEW ? &value->view : NULL;
}

/* True if an access to the value is to be recorded. */
static bool is_accessible(spad__ttgir *t, const spad__ttgir_value *value) {
    if (t->g->dry || t->g->outcome == SPAD__GPU_FAILED) return false;
    if (value->buffer < 0 || value->kind < SPAD__TTGIR_POINTER) return false;
    const spad__gpu_buffer *b = &t->g->memory.buffers.items[value->buffer];
    if (b->freed) spad__gpu_fail(t->g, "'%s' is used after its 'ttg.local_dealloc'", b->name);
    return !b->freed;
}

void spad__ttgir_add_access(spad__ttgir *t, const spad__ttgir_value *value, unsigned kind) {
    if (!is_accessible(t, value)) return;
    spad__gpu_add_access(t->g, value->buffer, view_of(value), kind);
}

void spad__ttgir_add_accesses(spad__ttgir *t, const spad__ttgir_value *value, unsigned kind,
                              uint32_t blocks, int32_t threads) {
    if (!is_accessible(t, value)) return;
    spad__gpu_add_accesses(t->g, value->buffer, view_of(value), kind, blocks, threads);
}

void spad__ttgir_add_register_tile(spad__ttgir *t, const spad__ttgir_value *tile, unsigned kind) {
    spad__gpu_add_register_tile(t->g, tile->buffer, view_of(tile), kind);
}

void spad__ttgir_shape_like(spad__ttgir *t, const spad__ttgir_value *pointer,
                            const spad__ttgir_value *view) {
    if (pointer->kind != SPAD__TTGIR_POINTER || pointer->buffer < 0 || t->g->dry) return;
    spad__gpu_buffer *to = &t->g->memory.buffers.items[pointer->buffer];
    const spad__gpu_buffer *from = &t->g->memory.buffers.items[view->buffer];
    if (to->rank > 0) return;
    to->rank = from->rank;
    to->dtype = from->dtype;
    for (int d = 0; d < from->rank; d++) to->dims[d] = spad__gpu_extent(from, &view->view, d);
}
