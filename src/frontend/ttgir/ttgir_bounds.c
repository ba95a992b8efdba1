/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops whose end data decides, and everything that depends on it.
 *
 * A pipelined loop asks in front of it, and in its rounds, whether as many rounds follow: `0 < n`,
 * `i < n - 64`, where data decides n and the loop ends at n - 64. With n = start + step * T, and
 * any number T of rounds, these are comparisons with T: start + step * r < n is r < T for every n,
 * if T is (n - start) / step, rounded up. What else depends on n, or on a start that data decides,
 * sees whole steps from 0 on, which spad_ttgir_info names.
 */
#include "base/checked.h"
#include "frontend/ttgir/ttgir.h"

/* ---- bounds ------------------------------------------------------------------------ */

/* What the operation that makes the value takes away from another one: "arith.subi %n, %c64". */
static int32_t less_number(const spad__ttgir *t, int32_t value) {
    const int32_t op = t->uses.givers.items[value];
    if (op < 0) return value;
    const spad__mlir_op *o = &t->m->ops.items[op];
    if (!spad__mlir_named(t->m, o, "arith.subi") || o->operand_count != 2) return value;
    const int32_t right = t->uses.givers.items[t->m->operands.items[o->first_operand + 1].value];
    if (right < 0 || !spad__mlir_named(t->m, &t->m->ops.items[right], "arith.constant")) {
        return value;
    }
    return t->m->operands.items[o->first_operand].value;
}

/* By value: a loop ends there (its number + 1), or begins there (-1); 0: none. */
bool spad__ttgir_find_bounds(spad__ttgir *t) {
    const size_t count = t->m->values.count;
    t->bounds.count = 0;
    if (!spad__array_reserve(t->g->host, &t->bounds, count)) return false;
    for (size_t i = 0; i < count; i++) t->bounds.items[i] = 0;
    t->bounds.count = count;
    for (size_t i = 0; i < t->m->ops.count; i++) {
        const spad__mlir_op *op = &t->m->ops.items[i];
        if (!spad__mlir_named(t->m, op, "scf.for") || op->operand_count < 3) continue;
        const spad__mlir_operand *operands = &t->m->operands.items[op->first_operand];
        int32_t *start = &t->bounds.items[operands[0].value];
        int32_t *end = &t->bounds.items[less_number(t, operands[1].value)];
        if (*start == 0) *start = -1;
        if (*end <= 0) *end = (int32_t)i + 1;
    }
    return true;
}

static bool is_data_value(const spad__ttgir *t, const spad__ttgir_value *value) {
    if (value->kind == SPAD__TTGIR_NOTHING) return true;
    return value->kind == SPAD__TTGIR_SCALAR &&
           (value->scalar < 0 ||
            spad__scalar_get(&t->g->scalars, value->scalar)->op == SPAD__SCALAR_DATA);
}

/* The end of a loop: start + step * T. */
static void set_end(spad__ttgir *t, int32_t loop, spad__ttgir_value *value) {
    spad__scalars *s = &t->g->scalars;
    const spad__mlir_op *op = &t->m->ops.items[loop];
    const spad__ttgir_value *from = spad__ttgir_operand(t, op, 0);
    int64_t start, step;
    if (from->kind != SPAD__TTGIR_SCALAR || !spad__scalar_is_number(s, from->scalar, &start)) {
        return;
    }
    if (!spad__scalar_known(s, spad__ttgir_scalar(t, op, 2), &step) || step < 1) return;
    const spad__scalar rounds =
        spad__scalar_argument(s, SPAD__GPU_TRIPS + loop, SPAD__GPU_STEPS_OF_DATA);
    const spad__scalar moved =
        spad__scalar_make(s, SPAD__SCALAR_MUL, rounds, spad__scalar_number(s, step));
    *value = spad__ttgir_of_scalar(spad__scalar_plus(s, moved, start));
    if (t->g->records.depth > 0) spad__gpu_assume(t->g, SPAD__ASSUME_TRIPS, loop);
    if (step > 1) spad__gpu_assume(t->g, SPAD__ASSUME_WHOLE_STEPS, loop);
}

/* Ends that come before the start of their loop, which is known now. `replaced`: data decides the
 * start. */
static void set_ends_from(spad__ttgir *t, int32_t start, bool replaced) {
    for (size_t i = 0; i < t->m->ops.count; i++) {
        const spad__mlir_op *op = &t->m->ops.items[i];
        if (!spad__mlir_named(t->m, op, "scf.for") || op->operand_count < 3) continue;
        if (t->m->operands.items[op->first_operand].value != start) continue;
        if (replaced) spad__gpu_assume(t->g, SPAD__ASSUME_WHOLE_STEPS, (int32_t)i);
        for (size_t v = 0; v < t->bounds.count; v++) {
            if (t->bounds.items[v] != (int32_t)i + 1 || !is_data_value(t, &t->values.items[v]))
                continue;
            set_end(t, (int32_t)i, &t->values.items[v]);
        }
    }
}

static void set_bound(spad__ttgir *t, int32_t number) {
    const int32_t bound = t->bounds.items[number];
    spad__ttgir_value *value = &t->values.items[number];
    if (value->kind == SPAD__TTGIR_SCALAR) value->scalar = spad__gpu_in_steps(t->g, value->scalar);
    if (bound == 0) return;
    if (bound > 0 && is_data_value(t, value)) set_end(t, bound - 1, value);
    const bool replaced = bound < 0 && is_data_value(t, value);
    if (replaced) *value = spad__ttgir_of_scalar(spad__scalar_number(&t->g->scalars, 0));
    set_ends_from(t, number, replaced);
}

void spad__ttgir_set_bounds(spad__ttgir *t, const spad__mlir_op *op) {
    for (int32_t i = 0; t->g->mode == SPAD__GPU_WHOLE_STEPS && i < op->result_count; i++) {
        set_bound(t, op->first_result + i);
    }
}

/* ---- what a predicated product has written ------------------------------------------- */

spad__scalar spad__ttgir_only_where(spad__ttgir *t, int32_t buffer) {
    const spad__gpu_buffer *b = &t->g->memory.buffers.items[buffer];
    if (t->g->dry) return SPAD__NO_SCALAR;
    if (b->skipped && (b->accessed & SPAD_ACCESS_WRITE) == 0) {
        spad__gpu_assume(t->g, SPAD__ASSUME_LOAD_UNREAD, t->g->site);
        return spad__scalar_number(&t->g->scalars, 0);
    }
    const spad__scalar where = spad__gpu_written_where(t->g, buffer);
    if (where < 0) return SPAD__NO_SCALAR;
    if (t->g->mode == SPAD__GPU_WHOLE_STEPS) {
        spad__gpu_assume(t->g, SPAD__ASSUME_LOAD_UNREAD, t->g->site);
        return where;
    }
    const spad__mlir_op *load = &t->m->ops.items[t->g->site];
    const bool unused = spad__mlir_named(t->m, load, "ttng.tmem_load") &&
                        spad__ttgir_is_unused_unless(t, load, where);
    return unused ? where : SPAD__NO_SCALAR;
}
