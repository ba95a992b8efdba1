/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops of which data decides where they end, and what else depends on it.
 *
 * A pipelined loop asks in front of it, and in its rounds, whether as many rounds follow: `0 < n`,
 * `i < n - 64`, where data decides n and the loop ends at n - 64. With n = start + step * T, and
 * any number T of rounds, these are comparisons with T: start + step * r < n is r < T for every n,
 * if T is (n - start) / step, rounded up. What else depends on n, or on a start that data decides,
 * sees whole steps from 0 on, which spad_ttgir_info names.
 */
#include "base/checked.h"
#include "read/ttgir.h"

/* More than a pipeline is deep, so that its loop has rounds with this number. */
enum { STEPS_OF_DATA = 8 };

/* a * factor + added, where a is no number; a is below 0 for a number. */
typedef struct spad__ttgir_linear {
    spad__scalar a;
    int64_t factor;
    int64_t added;
} spad__ttgir_linear;

static spad__ttgir_linear linear_of(const spad__scalars *s, spad__scalar n) {
    spad__ttgir_linear out = {.a = n, .factor = 1};
    const spad__scalar_node *node = spad__scalar_get(s, n);
    if (spad__scalar_is_number(s, n, &out.added)) {
        out.a = SPAD__NO_SCALAR;
        return out;
    }
    if (node->op == SPAD__SCALAR_ADD && spad__scalar_is_number(s, node->b, &out.added)) {
        out.a = node->a;
        node = spad__scalar_get(s, node->a);
    }
    if (node->op == SPAD__SCALAR_MUL && spad__scalar_is_number(s, node->b, &out.factor)) {
        out.a = node->a;
    }
    return out;
}

/* b < T * factor + added, divided by the factor: T more than a number, or more than a round. */
spad__scalar spad__ttgir_in_steps(spad__ttgir *t, spad__scalar n) {
    spad__scalars *s = &t->scalars;
    if (!t->whole_steps || n < 0) return n;
    const spad__scalar_node node = *spad__scalar_get(s, n);
    if (node.op != SPAD__SCALAR_LESS) return n;
    const spad__ttgir_linear left = linear_of(s, node.a), right = linear_of(s, node.b);
    int64_t more;
    if (right.a < 0 || right.factor < 1 || !spad__ttgir_is_rounds(t, right.a)) return n;
    if (left.a >= 0 && left.factor != right.factor) return n;
    if (!spad__sub(left.added, right.added, &more)) return n;
    const int64_t by = spad__floor_div(more, right.factor);
    const spad__scalar from =
        left.a < 0 ? spad__scalar_number(s, by) : spad__scalar_plus(s, left.a, by);
    return spad__scalar_make(s, SPAD__SCALAR_LESS, from, right.a);
}

spad__scalar spad__ttgir_whole_steps(spad__ttgir *t, spad__scalar distance, int64_t step) {
    spad__scalars *s = &t->scalars;
    if (!t->whole_steps || distance < 0) return SPAD__NO_SCALAR;
    const spad__ttgir_linear l = linear_of(s, distance);
    if (l.a < 0 || l.factor != step || !spad__ttgir_is_rounds(t, l.a)) return SPAD__NO_SCALAR;
    /* it fits, as the distance does, which is STEPS_OF_DATA steps more */
    return spad__scalar_plus(s, l.a, spad__floor_div(l.added + (step - 1), step));
}

/* ---- bounds ------------------------------------------------------------------------ */

/* What the operation that makes the value takes away from another one: "arith.subi %n, %c64". */
static int32_t less_number(const spad__ttgir *t, int32_t value) {
    const int32_t op = t->givers.items[value];
    if (op < 0) return value;
    const spad__mlir_op *o = &t->m->ops.items[op];
    if (!spad__mlir_named(t->m, o, "arith.subi") || o->operand_count != 2) return value;
    const int32_t right = t->givers.items[t->m->operands.items[o->first_operand + 1].value];
    if (right < 0 || !spad__mlir_named(t->m, &t->m->ops.items[right], "arith.constant")) {
        return value;
    }
    return t->m->operands.items[o->first_operand].value;
}

/* By value: a loop ends there (its number + 1), or begins there (-1); 0: none. */
bool spad__ttgir_find_bounds(spad__ttgir *t) {
    const size_t count = t->m->values.count;
    t->whole_steps = true;
    t->bounds.count = 0;
    if (!spad__array_reserve(t->host, &t->bounds, count)) return false;
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
            spad__scalar_get(&t->scalars, value->scalar)->op == SPAD__SCALAR_DATA);
}

/* The end of a loop: start + step * T. */
static void set_end(spad__ttgir *t, int32_t loop, spad__ttgir_value *value) {
    spad__scalars *s = &t->scalars;
    const spad__mlir_op *op = &t->m->ops.items[loop];
    const spad__ttgir_value *from = spad__ttgir_operand(t, op, 0);
    int64_t start, step;
    if (from->kind != SPAD__TTGIR_SCALAR || !spad__scalar_is_number(s, from->scalar, &start)) {
        return;
    }
    if (!spad__scalar_known(s, spad__ttgir_scalar(t, op, 2), &step) || step < 1) return;
    const spad__scalar rounds =
        spad__scalar_argument(s, SPAD__TTGIR_ARGUMENTS + loop, STEPS_OF_DATA);
    const spad__scalar moved =
        spad__scalar_make(s, SPAD__SCALAR_MUL, rounds, spad__scalar_number(s, step));
    *value = spad__ttgir_of_scalar(spad__scalar_plus(s, moved, start));
    if (t->dry) return;
    if (t->loops > 0 && t->inner_op < 0) t->inner_op = loop;
    if (step > 1 && t->steps_op < 0) t->steps_op = loop;
}

/* Ends that come before the start of their loop, which is known now. `replaced`: data decides the
 * start. */
static void set_ends_from(spad__ttgir *t, int32_t start, bool replaced) {
    for (size_t i = 0; i < t->m->ops.count; i++) {
        const spad__mlir_op *op = &t->m->ops.items[i];
        if (!spad__mlir_named(t->m, op, "scf.for") || op->operand_count < 3) continue;
        if (t->m->operands.items[op->first_operand].value != start) continue;
        if (replaced && !t->dry && t->steps_op < 0) t->steps_op = (int32_t)i;
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
    if (value->kind == SPAD__TTGIR_SCALAR) value->scalar = spad__ttgir_in_steps(t, value->scalar);
    if (bound == 0) return;
    if (bound > 0 && is_data_value(t, value)) set_end(t, bound - 1, value);
    const bool replaced = bound < 0 && is_data_value(t, value);
    if (replaced) *value = spad__ttgir_of_scalar(spad__scalar_number(&t->scalars, 0));
    set_ends_from(t, number, replaced);
}

void spad__ttgir_set_bounds(spad__ttgir *t, const spad__mlir_op *op) {
    for (int32_t i = 0; t->whole_steps && i < op->result_count; i++) {
        set_bound(t, op->first_result + i);
    }
}

/* ---- what a predicated product has written ------------------------------------------- */

enum { ROUNDS_DEEP = 64 };

/* Blocks around a note, as the notes that open them. */
typedef struct spad__ttgir_around {
    size_t open[ROUNDS_DEEP];
    size_t count;
} spad__ttgir_around;

static bool step_around(const spad__ttgir_note *note, size_t number, spad__ttgir_around *around) {
    if (note->kind == SPAD__NOTE_FOR || note->kind == SPAD__NOTE_IF) {
        if (around->count == ROUNDS_DEEP) return false;
        around->open[around->count++] = number;
    } else if (note->kind == SPAD__NOTE_ELSE) {
        around->open[around->count - 1] = number;
    } else if (note->kind == SPAD__NOTE_END) {
        around->count--;
    }
    return true;
}

static bool note_writes(const spad__ttgir *t, const spad__ttgir_note *note, int32_t buffer) {
    if (note->kind != SPAD__NOTE_OPERATION) return false;
    for (uint32_t k = 0; k < note->access_count; k++) {
        const spad__ttgir_access *access = &t->accesses.items[note->first_access + k];
        if (access->buffer == buffer && (access->kind & ~(unsigned)SPAD_ACCESS_READ) != 0) {
            return true;
        }
    }
    return false;
}

/* The condition of the `if`, in the block of the newest note, that a note is in; below 0: it is not
 * in one. */
static spad__scalar condition_around(const spad__ttgir *t, const spad__ttgir_around *note,
                                     const spad__ttgir_around *here) {
    if (note->count != here->count + 1) return SPAD__NO_SCALAR;
    for (size_t i = 0; i < here->count; i++) {
        if (note->open[i] != here->open[i]) return SPAD__NO_SCALAR;
    }
    const spad__ttgir_note *open = &t->notes.items[note->open[here->count]];
    return open->kind == SPAD__NOTE_IF ? open->scalar : SPAD__NO_SCALAR;
}

/* In front of a loop without rounds its first product does not happen, and the load of the result
 * reads what is not used: it is left out where all that writes the buffer so far is. */
spad__scalar spad__ttgir_only_where(spad__ttgir *t, int32_t buffer) {
    spad__ttgir_around here = {.count = 0}, around = {.count = 0};
    spad__scalar only = SPAD__NO_SCALAR;
    if (t->dry) return SPAD__NO_SCALAR;
    if (t->buffers.items[buffer].skipped && !t->buffers.items[buffer].written) {
        if (t->unread_op < 0) t->unread_op = t->op;
        return spad__scalar_number(&t->scalars, 0);
    }
    if (!t->whole_steps) return SPAD__NO_SCALAR;
    for (size_t i = 0; i < t->notes.count; i++) {
        if (!step_around(&t->notes.items[i], i, &here)) return SPAD__NO_SCALAR;
    }
    for (size_t i = 0; i < t->notes.count; i++) {
        step_around(&t->notes.items[i], i, &around);
        if (!note_writes(t, &t->notes.items[i], buffer)) continue;
        const spad__scalar condition = condition_around(t, &around, &here);
        if (condition < 0 || (only >= 0 && condition != only)) return SPAD__NO_SCALAR;
        only = condition;
    }
    if (only >= 0 && t->unread_op < 0) t->unread_op = t->op;
    return only;
}
