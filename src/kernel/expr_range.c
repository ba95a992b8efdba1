/* SPDX-License-Identifier: Apache-2.0
 *
 * Arithmetic of ranges. Expressions that are not followed, or do not fit 64 bits, have no bound.
 */
#include "kernel/expr_range.h"

#include "base/assert.h"
#include "base/checked.h"
#include "kernel/kernel.h"

typedef spad__expr_range expr_range;

static const expr_range any_number = {INT64_MIN, INT64_MAX};

static bool is_one_number(expr_range a) {
    return a.least == a.most;
}

/* The sum of two bounds of one side; `none` without a bound. */
static int64_t add_bounds(int64_t a, int64_t b, int64_t none) {
    int64_t sum;
    return a == none || b == none || !spad__add(a, b, &sum) ? none : sum;
}

/* INT64_MAX is a number as a least value, and none as a most. */
static expr_range negate_range(expr_range a) {
    expr_range result = any_number;
    if (a.most != INT64_MAX && a.most != INT64_MIN) result.least = -a.most;
    if (a.least != INT64_MIN) result.most = -a.least;
    return result;
}

static expr_range add_ranges(expr_range a, expr_range b) {
    return (expr_range){add_bounds(a.least, b.least, INT64_MIN),
                        add_bounds(a.most, b.most, INT64_MAX)};
}

/* factor >= 0 */
static expr_range range_of_multiple(expr_range a, int64_t factor) {
    expr_range result = any_number;
    int64_t bound;
    if (factor == 0) return (expr_range){0, 0};
    if (a.least != INT64_MIN && spad__mul(a.least, factor, &bound)) result.least = bound;
    if (a.most != INT64_MAX && spad__mul(a.most, factor, &bound)) result.most = bound;
    return result;
}

static expr_range range_of_product(expr_range a, expr_range b) {
    if (!is_one_number(b) && !is_one_number(a)) return any_number;
    const expr_range values = is_one_number(b) ? a : b;
    const int64_t factor = is_one_number(b) ? b.least : a.least;
    if (factor == INT64_MIN) return any_number;
    return factor >= 0 ? range_of_multiple(values, factor)
                       : range_of_multiple(negate_range(values), -factor);
}

/* Rounded down, as in kernels. */
static expr_range range_of_quotient(expr_range a, expr_range by) {
    expr_range result = any_number;
    if (!is_one_number(by) || by.least < 1) return any_number;
    if (a.least != INT64_MIN) result.least = spad__floor_div(a.least, by.least);
    if (a.most != INT64_MAX) result.most = spad__floor_div(a.most, by.least);
    return result;
}

static expr_range range_of_rest(expr_range a, expr_range by) {
    if (!is_one_number(by) || by.least < 1) return any_number;
    const int64_t rest = spad__floor_mod(a.least, by.least);
    return is_one_number(a) ? (expr_range){rest, rest} : (expr_range){0, by.least - 1};
}

static expr_range combine_ranges(spad_expr_op op, expr_range a, expr_range b) {
    switch (op) {
    case SPAD_EXPR_ADD: return add_ranges(a, b);
    case SPAD_EXPR_SUB: return add_ranges(a, negate_range(b));
    case SPAD_EXPR_MUL: return range_of_product(a, b);
    case SPAD_EXPR_DIV: return range_of_quotient(a, b);
    case SPAD_EXPR_MOD: return range_of_rest(a, b);
    case SPAD_EXPR_SMALLER:
        return (expr_range){spad__min(a.least, b.least), spad__min(a.most, b.most)};
    default:
        spad__assert(op == SPAD_EXPR_LARGER);
        return (expr_range){spad__max(a.least, b.least), spad__max(a.most, b.most)};
    }
}

static expr_range range_of_amount(const spad_kernel *k, spad_amount amount) {
    if (amount.expr == 0) return (expr_range){amount.value, amount.value};
    return spad__expr_range_of(k, amount.expr);
}

/* The bounds of a loop are made of loops around it. Of one whose bounds change with these, or with
 * a step, `begin` and `end` are those of one shape. */
static expr_range range_of_variable(const spad_kernel *k, const spad_kernel_loop *loop) {
    if (loop->from != 0) return any_number;
    const expr_range end = range_of_amount(k, loop->end);
    const bool bounded = end.most != INT64_MAX && end.most != INT64_MIN;
    const expr_range values = {range_of_amount(k, loop->begin).least,
                               bounded ? end.most - 1 : INT64_MAX};
    return values.least <= values.most ? values : any_number; /* without rounds */
}

static expr_range range_of_leaf(const spad_kernel *k, spad_expr_node node) {
    if (node.op == SPAD_EXPR_NUMBER) return (expr_range){node.value, node.value};
    if (node.op == SPAD_EXPR_VARIABLE) return range_of_variable(k, &k->loops.items[node.value]);
    if (node.op != SPAD_EXPR_PARAM) return any_number; /* stages and phases */
    const spad_kernel_param *param = spad_kernel_get_param(k, (size_t)node.value);
    const bool known = param->fixed && !param->any;
    return known ? (expr_range){param->value, param->value} : any_number;
}

spad__expr_range spad__expr_range_of(const spad_kernel *kernel, spad_expr expr) {
    const spad_expr_info info = spad_kernel_get_expr(kernel, expr);
    expr_range stack[SPAD_EXPR_MAX];
    size_t count = 0;
    for (size_t i = 0; i < info.node_count; i++) {
        const spad_expr_node node = info.nodes[i];
        if (node.op < SPAD_EXPR_ADD) {
            stack[count++] = range_of_leaf(kernel, node);
        } else if (node.op == SPAD_EXPR_UNKNOWN) {
            return any_number;
        } else if (node.op == SPAD_EXPR_NEGATE) {
            spad__assert(count >= 1);
            stack[count - 1] = negate_range(stack[count - 1]);
        } else {
            spad__assert(count >= 2);
            count--;
            stack[count - 1] = combine_ranges(node.op, stack[count - 1], stack[count]);
        }
    }
    spad__assert(count == 1);
    return stack[0];
}
