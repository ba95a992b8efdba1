/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes off the chip that meet late.
 *
 * A tensor off the chip that is only written is no part of the state, since its tiles come one
 * after another. Where the order is examined, two writes of one tile can still be a race: those of
 * `out[i]` and `out[i + 60]` meet once the loop has 61 iterations. Let runs repeat themselves from
 * n iterations on. Two writes that may come in any order are then at most n iterations apart, or
 * one of their agents waits for nothing that the other does; and what is true of a pair of them
 * that are d iterations apart is true of all such pairs from iteration n on. So it is enough that
 * the shapes that are run have n + d iterations (trip_counts.c). Indices are sums, and so d is at
 * most the distance of what does not move in them.
 *
 * Places that move at different rates meet in ever different pairs: `out[100 * i]` and
 * `out[101 * i + 1]` first at iterations 100 and 99. For these there is no proof. An index that
 * wraps, such as `out[i % 70]`, meets itself.
 */
#include "base/checked.h"
#include "induction/induction.h"
#include "kernel/kernel.h"

/* Off-chip tensors that are only read or only written, and share their bytes with none, have no
 * index at which a read is wrong. */
void spad__induction_find_tracked(spad__induction *induction, const spad_kernel *kernel) {
    const spad_target *target = spad_kernel_get_target(kernel);
    bool *tracked = induction->tracked;
    uint8_t *kinds = induction->kinds;
    for (size_t i = 0; i < spad_kernel_tensor_count(kernel); i++) kinds[i] = 0;
    for (size_t a = 0; a < spad_kernel_access_count(kernel); a++) {
        const spad_kernel_access *access = spad_kernel_get_access(kernel, a);
        kinds[access->tensor] |= (uint8_t)(access->kind & SPAD_ACCESS_UPDATE);
    }
    for (size_t i = 0; i < spad_kernel_tensor_count(kernel); i++) {
        const spad_kernel_tensor *t = spad_kernel_get_tensor(kernel, i);
        tracked[i] = kinds[i] == SPAD_ACCESS_UPDATE || t->mode != SPAD_MODE_AUTO ||
                     !target->spaces[t->space].off_chip;
    }
    for (size_t i = 0; i < spad_kernel_tensor_count(kernel); i++) {
        const spad_kernel_tensor *t = spad_kernel_get_tensor(kernel, i);
        if (t->mode == SPAD_MODE_ALIAS) tracked[t->home] = true;
    }
    for (size_t i = 0; i < spad_kernel_tensor_count(kernel); i++) {
        tracked[i] = tracked[i] && !induction->left_out[i];
    }
}

/* Does a row count as a write? Reads, and tensors that are part of the state, do not. */
static bool counts_as_write(const spad__induction *induction, const spad_kernel_access *access,
                            int64_t tensor) {
    return access->tensor == tensor && (access->kind & SPAD_ACCESS_WRITE) != 0 &&
           !induction->tracked[tensor] && !induction->left_out[tensor];
}

static bool is_same_index(const spad_kernel *kernel, spad_expr left, spad_expr right) {
    const spad_expr_info one = spad_kernel_get_expr(kernel, left);
    const spad_expr_info two = spad_kernel_get_expr(kernel, right);
    if (one.node_count != two.node_count) return false;
    for (size_t i = 0; i < one.node_count; i++) {
        if (one.nodes[i].op != two.nodes[i].op || one.nodes[i].value != two.nodes[i].value) {
            return false;
        }
    }
    return true;
}

/* No value of the parameter is large enough. */
static const int64_t never = INT64_C(1) << 40;

static void raise_least(spad__induction *induction, int64_t least) {
    induction->least = spad__max(induction->least, spad__min(least, never));
}

/* After how many steps an index is back where it was, or moves on evenly. */
static void add_period(spad__induction *induction, const spad_kernel *kernel, size_t statement,
                       spad_expr index) {
    spad__affine affine;
    int64_t period;
    if (index == 0) return;
    if (!spad__induction_period(induction, kernel, index, true, induction->inside[statement],
                                &affine, &period)) {
        raise_least(induction, never);
    } else if (period > 1) { /* it may meet itself */
        raise_least(induction, 2 * period * induction->step);
    }
}

/* What of an index does not move: its value in the first iterations of all loops, without the part
 * that comes from the parameter. False: that is not known. */
static bool still_part(const spad__induction *induction, const spad_kernel *kernel, spad_expr index,
                       const int64_t *begins, int64_t *out, int64_t *shift) {
    const int64_t value = spad_kernel_get_param(kernel, induction->param)->value;
    spad__affine affine;
    int64_t moved;
    *out = *shift = 0;
    if (index == 0) return true;
    if (!spad__induction_affine(induction, kernel, index, true, -1, &affine) ||
        !spad__affine_value(&affine, begins, shift)) {
        return false;
    }
    *out = spad_kernel_evaluate(kernel, index, begins);
    return spad__mul(*shift, value / induction->step, &moved) && spad__sub(*out, moved, out);
}

/* By how much an index moves with the growing loop around its statement; without one it stays.
 * False: not evenly. */
static bool rate_of(const spad__induction *induction, const spad_kernel *kernel, size_t statement,
                    spad_expr index, spad__affine *rate) {
    const int32_t loop = induction->inside[statement];
    *rate = (spad__affine){.constant = 0};
    return loop < 0 || spad__induction_affine(induction, kernel, index, false, loop, rate);
}

/* How far loops inside of the growing one move an index. False: not evenly. */
static bool inner_reach(const spad__induction *induction, const spad_kernel *kernel,
                        size_t statement, spad_expr index, int64_t *reach) {
    const int64_t growing = induction->inside[statement];
    int64_t number = spad_kernel_get_statement(kernel, statement)->loop;
    *reach = 0;
    while (growing >= 0 && number != growing) {
        const spad_kernel_loop *loop = spad_kernel_get_loop(kernel, (size_t)number);
        const spad__moves moves = {.kernel = kernel, .param = -1, .loop = number, .loop_step = 1};
        spad__affine step;
        int64_t period, more;
        if (spad__affine_of(&moves, index, &step, &period, NULL) != SPAD__EVEN || period != 1 ||
            step.count > 0 ||
            !spad__mul(step.constant, spad__max(loop->end.value - loop->begin.value - 1, 0),
                       &more) ||
            more == INT64_MIN || !spad__add(*reach, more < 0 ? -more : more, reach)) {
            return false;
        }
        number = loop->outer;
    }
    return true;
}

/* One index of an access, and its statement. */
typedef struct written_place {
    size_t statement;
    spad_expr index;
} written_place;

/* How far two indices are apart where nothing moves; what a step moves one more than the other is
 * added for the part of a step, and what loops inside of the growing one add. False: not known. */
static bool distance_of(const spad__induction *induction, const spad_kernel *kernel,
                        written_place left, written_place right, const int64_t *begins,
                        int64_t *distance) {
    int64_t one, two, shift, other, apart;
    return still_part(induction, kernel, left.index, begins, &one, &shift) &&
           still_part(induction, kernel, right.index, begins, &two, &other) &&
           spad__sub(spad__max(one, two), spad__min(one, two), distance) &&
           spad__sub(spad__max(shift, other), spad__min(shift, other), &apart) &&
           spad__add(*distance, apart, distance) &&
           inner_reach(induction, kernel, left.statement, left.index, &apart) &&
           spad__add(*distance, apart, distance) &&
           inner_reach(induction, kernel, right.statement, right.index, &apart) &&
           spad__add(*distance, apart, distance);
}

/* When two indices meet. */
static void add_distance(spad__induction *induction, const spad_kernel *kernel, written_place left,
                         written_place right, const int64_t *begins) {
    spad__affine rate, other;
    int64_t distance;
    if (is_same_index(kernel, left.index, right.index)) return;
    const bool even = rate_of(induction, kernel, left.statement, left.index, &rate) &&
                      rate_of(induction, kernel, right.statement, right.index, &other);
    const bool drifts = even && !spad__affine_is_zero(&rate) && !spad__affine_is_zero(&other) &&
                        !spad__affine_equal(&rate, &other);
    if (drifts || !distance_of(induction, kernel, left, right, begins, &distance)) distance = never;
    raise_least(induction, distance);
}

/* The operation with an access: at or after statement `from`. */
static size_t statement_of_access(const spad_kernel *kernel, size_t access, size_t from) {
    for (size_t i = from;; i++) {
        const spad_statement *s = spad_kernel_get_statement(kernel, i);
        if (s->kind == SPAD_STATEMENT_OPERATION && access >= s->first_access &&
            access < s->first_access + s->access_count) {
            return i;
        }
    }
}

/* A row and the rows before it. */
static void add_row(spad__induction *induction, const spad_kernel *kernel, size_t statement,
                    size_t row, const int64_t *begins) {
    const spad_kernel_access *access = spad_kernel_get_access(kernel, row);
    for (size_t d = 0; d < access->index_count; d++) {
        add_period(induction, kernel, statement, access->index[d]);
    }
    size_t before = 0; /* statement of the other row */
    for (size_t i = 0; i < row; i++) {
        const spad_kernel_access *other = spad_kernel_get_access(kernel, i);
        if (!counts_as_write(induction, other, access->tensor)) continue;
        before = statement_of_access(kernel, i, before);
        if (spad__induction_never_same(kernel, access, other)) continue;
        for (size_t d = 0; d < access->index_count && d < other->index_count; d++) {
            add_distance(induction, kernel, (written_place){statement, access->index[d]},
                         (written_place){before, other->index[d]}, begins);
        }
    }
}

void spad__induction_find_write_collisions(spad__induction *induction, const spad_kernel *kernel,
                                           int64_t *begins) {
    if (spad_kernel_is_implicit(kernel)) return;
    for (size_t i = 0; i < spad_kernel_loop_count(kernel); i++) {
        begins[i] = spad_kernel_get_loop(kernel, i)->begin.value;
    }
    for (size_t i = 0; i < spad_kernel_cursor_count(kernel); i++) {
        begins[spad_kernel_loop_count(kernel) + i] = 0;
    }
    for (size_t s = 0; s < spad_kernel_statement_count(kernel); s++) {
        const spad_statement *row = spad_kernel_get_statement(kernel, s);
        if (row->kind != SPAD_STATEMENT_OPERATION) continue;
        for (size_t a = row->first_access; a < row->first_access + row->access_count; a++) {
            const spad_kernel_access *access = spad_kernel_get_access(kernel, a);
            if (counts_as_write(induction, access, access->tensor))
                add_row(induction, kernel, s, a, begins);
        }
    }
}
