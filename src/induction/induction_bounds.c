/* SPDX-License-Identifier: Apache-2.0
 *
 * Indices that need no look at how they move: their bounds are inside whatever the trip counts are,
 * as those of `(t * N + n) % S`, `min(i, 8)` and `i % 7 + i % 5`. Other ones leave their tensor at
 * some value, where no kernel exists or it is wrong, unless they move as its extent does
 * (induction.c).
 */
#include "base/assert.h"
#include "base/checked.h"
#include "induction/induction.h"
#include "kernel/kernel.h"

/* Numbers of an expression; INT64_MIN and INT64_MAX are no bounds. */
typedef struct far_range {
    int64_t least;
    int64_t most;
} far_range;

static const far_range anywhere = {INT64_MIN, INT64_MAX};

static bool has_op(const spad_kernel *kernel, spad_expr expr, spad_expr_op op) {
    const spad_expr_info info = spad_kernel_get_expr(kernel, expr);
    for (size_t i = 0; i < info.node_count; i++) {
        if (info.nodes[i].op == op) return true;
    }
    return false;
}

/* A parameter that bounds a loop, or is computed from others, may be any number. */
static far_range far_range_of_param(const spad_kernel *kernel, size_t number) {
    const spad_kernel_param *param = spad_kernel_get_param(kernel, number);
    bool varies = has_op(kernel, param->preset.expr, SPAD_EXPR_PARAM);
    for (size_t i = 0; i < spad_kernel_loop_count(kernel) && !varies; i++) {
        const spad_kernel_loop *loop = spad_kernel_get_loop(kernel, i);
        varies = spad__expr_has(kernel, loop->begin.expr, SPAD_EXPR_PARAM, (int64_t)number) ||
                 spad__expr_has(kernel, loop->end.expr, SPAD_EXPR_PARAM, (int64_t)number);
    }
    return varies ? anywhere : (far_range){param->value, param->value};
}

static far_range far_range_of_loop(const spad_kernel *kernel, size_t number) {
    const spad_kernel_loop *loop = spad_kernel_get_loop(kernel, number);
    far_range r = anywhere;
    if (!has_op(kernel, loop->begin.expr, SPAD_EXPR_PARAM)) r.least = loop->begin.value;
    if (!has_op(kernel, loop->end.expr, SPAD_EXPR_PARAM)) {
        r.most = spad__max(loop->end.value - 1, loop->begin.value);
    }
    return r;
}

static far_range far_range_of_sum(far_range a, far_range b) {
    far_range sum = anywhere;
    const bool low = a.least == INT64_MIN || b.least == INT64_MIN;
    const bool high = a.most == INT64_MAX || b.most == INT64_MAX;
    if (low || !spad__add(a.least, b.least, &sum.least)) sum.least = INT64_MIN;
    if (high || !spad__add(a.most, b.most, &sum.most)) sum.most = INT64_MAX;
    return sum;
}

/* By a number that is at least 1; a divisor that varies says nothing. */
static far_range far_range_of_division(spad_expr_op op, far_range a, far_range by) {
    if (by.least != by.most || by.least < 1) return anywhere;
    if (op == SPAD_EXPR_MOD) return (far_range){0, by.least - 1};
    if (a.least != INT64_MIN) a.least = spad__floor_div(a.least, by.least);
    if (a.most != INT64_MAX) a.most = spad__floor_div(a.most, by.least);
    return a;
}

static far_range far_range_of_two(spad_expr_op op, far_range a, far_range b) {
    switch (op) {
    case SPAD_EXPR_ADD: return far_range_of_sum(a, b);
    case SPAD_EXPR_DIV:
    case SPAD_EXPR_MOD: return far_range_of_division(op, a, b);
    case SPAD_EXPR_SMALLER:
        return (far_range){spad__min(a.least, b.least), spad__min(a.most, b.most)};
    case SPAD_EXPR_LARGER:
        return (far_range){spad__max(a.least, b.least), spad__max(a.most, b.most)};
    default: return anywhere; /* products and differences: not worth it */
    }
}

static far_range far_range_of_leaf(const spad_kernel *kernel, const spad_expr_node *node) {
    switch (node->op) {
    case SPAD_EXPR_NUMBER: return (far_range){node->value, node->value};
    case SPAD_EXPR_PARAM: return far_range_of_param(kernel, (size_t)node->value);
    case SPAD_EXPR_VARIABLE: return far_range_of_loop(kernel, (size_t)node->value);
    default: return anywhere;
    }
}

/* The bounds of an expression whatever the trip counts are. */
static far_range far_range_of(const spad_kernel *kernel, spad_expr expr) {
    const spad_expr_info info = spad_kernel_get_expr(kernel, expr);
    far_range stack[SPAD_EXPR_MAX + 1] SPAD__FILLED_BY_LOOP;
    size_t top = 0;
    for (size_t i = 0; i < info.node_count; i++) {
        const spad_expr_op op = info.nodes[i].op;
        if (op == SPAD_EXPR_NEGATE || op == SPAD_EXPR_UNKNOWN) {
            stack[top - 1] = anywhere;
        } else if (op < SPAD_EXPR_ADD) {
            stack[top++] = far_range_of_leaf(kernel, &info.nodes[i]);
        } else {
            top--;
            stack[top - 1] = far_range_of_two(op, stack[top - 1], stack[top]);
        }
    }
    spad__assert(top == 1);
    return stack[0];
}

/* The least value of an extent, which is 1 or more where a kernel has been made. */
static int64_t least_extent(const spad_kernel *kernel, spad_amount extent) {
    return extent.expr == 0 ? extent.value : far_range_of(kernel, extent.expr).least;
}

bool spad__induction_extent_settled(const spad_kernel *kernel, spad_amount extent) {
    return least_extent(kernel, extent) >= 1;
}

bool spad__induction_index_settled(const spad_kernel *kernel, spad_expr index, spad_amount extent) {
    const far_range at = far_range_of(kernel, index);
    return at.least >= 0 && at.most < least_extent(kernel, extent);
}

void spad__induction_index_range(const spad_kernel *kernel, spad_expr index, int64_t *least,
                                 int64_t *most) {
    const far_range range = far_range_of(kernel, index);
    *least = range.least;
    *most = range.most;
}

bool spad__induction_never_same(const spad_kernel *kernel, const spad_kernel_access *left,
                                const spad_kernel_access *right) {
    for (size_t d = 0; d < left->index_count && d < right->index_count; d++) {
        if (left->index[d] == 0 || right->index[d] == 0) continue;
        const far_range a = far_range_of(kernel, left->index[d]);
        const far_range b = far_range_of(kernel, right->index[d]);
        if (a.most < b.least || b.most < a.least) return true;
    }
    return false;
}
