/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes off the chip that meet late.
 *
 * A tensor off the chip that is only written is no part of the state, since its tiles come one
 * after another. Where the order is examined, two writes of one tile can still be a race: those of
 * `out[i]` and `out[i + 60]` meet once the loop has 61 iterations. Two operations further apart
 * have all the syncs between them that nearer ones have, so it is enough that the shapes that are
 * run reach the value from which on places meet. Indices are sums, and so that is at most the
 * distance of what does not move in them. One that comes round, such as `out[i % 70]`, meets
 * itself.
 */
#include "base/checked.h"
#include "check/growth.h"
#include "kernel/kernel.h"

/* Off-chip tensors that are only read or only written, and share their bytes with none, have no
 * index at which a read is wrong. */
void spad__growth_find_tracked(spad__growth *growth, const spad_kernel *kernel) {
    const spad_target *target = spad_kernel_get_target(kernel);
    bool *tracked = growth->tracked;
    for (size_t i = 0; i < spad_kernel_tensor_count(kernel); i++) {
        const spad_kernel_tensor *t = spad_kernel_get_tensor(kernel, i);
        unsigned kinds = 0;
        for (size_t a = 0; a < spad_kernel_access_count(kernel); a++) {
            const spad_kernel_access *access = spad_kernel_get_access(kernel, a);
            if (access->tensor == (int64_t)i) kinds |= access->kind & SPAD_ACCESS_UPDATE;
        }
        tracked[i] = kinds == SPAD_ACCESS_UPDATE || t->mode != SPAD_MODE_AUTO ||
                     !target->spaces[t->space].off_chip;
    }
    for (size_t i = 0; i < spad_kernel_tensor_count(kernel); i++) {
        const spad_kernel_tensor *t = spad_kernel_get_tensor(kernel, i);
        if (t->mode == SPAD_MODE_ALIAS) tracked[t->home] = true;
    }
    for (size_t i = 0; i < spad_kernel_tensor_count(kernel); i++) {
        tracked[i] = tracked[i] && !growth->left_out[i];
    }
}

/* Does a row count as a write? Reads, and tensors that are part of the state, do not. */
static bool counts_as_write(const spad__growth *growth, const spad_kernel_access *access,
                            int64_t tensor) {
    return access->tensor == tensor && (access->kind & SPAD_ACCESS_WRITE) != 0 &&
           !growth->tracked[tensor] && !growth->left_out[tensor];
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

static void raise_least(spad__growth *growth, int64_t least) {
    growth->least = spad__max(growth->least, spad__min(least, never));
}

/* After how many steps an index is back where it was, or moves on evenly. */
static void add_period(spad__growth *growth, const spad_kernel *kernel, size_t statement,
                       spad_expr index) {
    spad__form form;
    int64_t period;
    if (index == 0) return;
    if (!spad__growth_period(growth, kernel, index, true, growth->inside[statement], &form,
                             &period)) {
        raise_least(growth, never);
    } else if (period > 1) { /* it may meet itself */
        raise_least(growth, 2 * period * growth->step);
    }
}

/* What of an index does not move: its value in the first iterations of all loops, without the part
 * that comes from the parameter. False: that is not known. */
static bool still_part(const spad__growth *growth, const spad_kernel *kernel, spad_expr index,
                       const int64_t *begins, int64_t *out, int64_t *shift) {
    const int64_t value = spad_kernel_get_param(kernel, growth->param)->value;
    spad__form form;
    int64_t moved;
    *out = *shift = 0;
    if (index == 0) return true;
    if (!spad__growth_form(growth, kernel, index, true, -1, &form) ||
        !spad__form_value(&form, begins, shift)) {
        return false;
    }
    *out = spad_kernel_evaluate(kernel, index, begins);
    return spad__mul(*shift, value / growth->step, &moved) && spad__sub(*out, moved, out);
}

/* How far two indices are apart where nothing moves; what a step moves one more than the other is
 * added for the part of a step. */
static void add_distance(spad__growth *growth, const spad_kernel *kernel, spad_expr left,
                         spad_expr right, const int64_t *begins) {
    int64_t one, two, shift, other, distance, apart;
    if (is_same_index(kernel, left, right)) return;
    if (!still_part(growth, kernel, left, begins, &one, &shift) ||
        !still_part(growth, kernel, right, begins, &two, &other) ||
        !spad__sub(spad__max(one, two), spad__min(one, two), &distance) ||
        !spad__sub(spad__max(shift, other), spad__min(shift, other), &apart) ||
        !spad__add(distance, apart, &distance)) {
        raise_least(growth, never);
        return;
    }
    raise_least(growth, distance);
}

/* A row and the rows before it. */
static void add_row(spad__growth *growth, const spad_kernel *kernel, size_t statement, size_t row,
                    const int64_t *begins) {
    const spad_kernel_access *access = spad_kernel_get_access(kernel, row);
    for (size_t d = 0; d < access->index_count; d++) {
        add_period(growth, kernel, statement, access->index[d]);
    }
    for (size_t i = 0; i < row; i++) {
        const spad_kernel_access *other = spad_kernel_get_access(kernel, i);
        if (!counts_as_write(growth, other, access->tensor)) continue;
        for (size_t d = 0; d < access->index_count && d < other->index_count; d++) {
            add_distance(growth, kernel, access->index[d], other->index[d], begins);
        }
    }
}

void spad__growth_find_meetings(spad__growth *growth, const spad_kernel *kernel, int64_t *begins) {
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
            if (counts_as_write(growth, access, access->tensor))
                add_row(growth, kernel, s, a, begins);
        }
    }
}
