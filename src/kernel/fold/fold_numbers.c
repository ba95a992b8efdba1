/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of folded nodes as expressions: sums of a constant, a multiple of each loop variable
 * around them, and multiples of the parameter.
 */
#include "base/checked.h"
#include "kernel/fold/fold_build.h"

spad_expr spad__fold_constant(spad__fold_maker *m, int64_t value) {
    spad_expr expr = 0;
    if (spad__fold_fine(m)) m->status = spad__kernel_builder_number(&expr, m->b, value, m->error);
    return expr;
}

spad_expr spad__fold_apply(spad__fold_maker *m, spad_expr_op op, spad_expr left, spad_expr right) {
    spad_expr expr = 0;
    if (spad__fold_fine(m))
        m->status = spad__kernel_builder_apply(&expr, m->b, op, left, right, m->error);
    return expr;
}

/* value + slope x (the parameter - its value). */
static spad_expr fold_param_number(spad__fold_maker *m, int64_t value, int64_t slope) {
    int64_t moved, base = 0;
    if (slope == 0 || m->param == 0) return spad__fold_constant(m, value);
    if (!spad__mul(slope, m->param_value, &moved) || !spad__sub(value, moved, &base)) {
        if (spad__fold_fine(m))
            m->status = spad__fail(m->error, SPAD_ERR_OVERFLOW, "a number of a loop overflows");
        return 0;
    }
    spad_expr term = m->param;
    if (slope != 1) term = spad__fold_apply(m, SPAD_EXPR_MUL, spad__fold_constant(m, slope), term);
    if (base == 0) return term;
    const bool less = base < 0 && base != INT64_MIN;
    return spad__fold_apply(m, less ? SPAD_EXPR_SUB : SPAD_EXPR_ADD, term,
                            spad__fold_constant(m, less ? -base : base));
}

/* A step that grows with the parameter: (a + b x parameter) x variable. */
static spad_expr fold_param_term(spad__fold_maker *m, int64_t step, int64_t slope, size_t depth) {
    return spad__fold_apply(m, SPAD_EXPR_MUL, fold_param_number(m, step, slope),
                            m->variables[depth]);
}

spad_expr spad__fold_number_from(spad__fold_maker *m, int64_t first, const int64_t *moving,
                                 size_t at) {
    const int64_t slope = m->param != 0 ? moving[at + m->moving_slopes] : 0;
    spad_expr sum = slope != 0 ? fold_param_number(m, first, slope) : 0;
    if (slope != 0) first = 0;
    for (size_t d = 0; d < m->depth; d++) {
        const int64_t step = m->steps[d][at];
        const int64_t grown = m->param != 0 ? m->steps[d][at + m->fixed_slopes] : 0;
        if (step == 0 && grown == 0) continue;
        const int64_t size = step == INT64_MIN || step > 0 ? step : -step;
        spad_expr term = m->variables[d];
        if (grown != 0) {
            term = fold_param_term(m, step, grown, d);
        } else if (size != 1) {
            term = spad__fold_apply(m, SPAD_EXPR_MUL, spad__fold_constant(m, size), term);
        }
        const bool adds = grown != 0 || size == step;
        if (sum == 0 && (first != 0 || !adds)) {
            sum = spad__fold_constant(m, first);
            first = 0;
        }
        sum =
            sum == 0 ? term : spad__fold_apply(m, adds ? SPAD_EXPR_ADD : SPAD_EXPR_SUB, sum, term);
    }
    return sum != 0 ? sum : spad__fold_constant(m, first);
}

spad_expr spad__fold_number(spad__fold_maker *m, const int64_t *moving, size_t at) {
    return spad__fold_number_from(m, moving[at], moving, at);
}

bool spad__fold_depends(const spad__fold_maker *m, const int64_t *moving, size_t at) {
    if (m->param == 0) return false;
    bool depends = moving[at + m->moving_slopes] != 0;
    for (size_t d = 0; d < m->depth; d++) depends |= m->steps[d][at + m->fixed_slopes] != 0;
    return depends;
}
