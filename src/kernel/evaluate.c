/* SPDX-License-Identifier: Apache-2.0
 *
 * Evaluates postfix nodes with a stack, with checked arithmetic: the bounds that the builder
 * has shown hold for the values of the kernel only.
 */
#include "kernel/evaluate.h"

#include "base/assert.h"
#include "base/checked.h"

static bool apply_op(spad_expr_op op, int64_t left, int64_t right, int64_t *out) {
    switch (op) {
    case SPAD_EXPR_ADD: return spad__add(left, right, out);
    case SPAD_EXPR_SUB: return spad__sub(left, right, out);
    case SPAD_EXPR_MUL: return spad__mul(left, right, out);
    case SPAD_EXPR_SMALLER: *out = spad__min(left, right); return true;
    case SPAD_EXPR_LARGER: *out = spad__max(left, right); return true;
    case SPAD_EXPR_DIV:
    case SPAD_EXPR_MOD:
        if (right < 1) return false;
        *out = op == SPAD_EXPR_DIV ? spad__floor_div(left, right) : spad__floor_mod(left, right);
        return true;
    default: return false;
    }
}

static bool pick_unknown(const spad_kernel *kernel, int64_t number, int64_t *value) {
    const spad_kernel_unknown *row = spad_kernel_get_unknown(kernel, (size_t)number);
    if (*value < 0 || *value >= row->elements) return false;
    *value = row->values[*value];
    return true;
}

bool spad__evaluate_with(const spad_kernel *kernel, const spad_expr_node *nodes, size_t count,
                         spad__leaf *leaf, const void *context, int64_t *out) {
    int64_t stack[SPAD_EXPR_MAX + 1] SPAD__FILLED_BY_LOOP;
    size_t top = 0;
    for (size_t i = 0; i < count; i++) {
        const spad_expr_node *node = &nodes[i];
        bool fine = true;
        switch (node->op) {
        case SPAD_EXPR_NUMBER: stack[top++] = node->value; break;
        case SPAD_EXPR_PARAM:
        case SPAD_EXPR_VARIABLE:
        case SPAD_EXPR_STAGE:
        case SPAD_EXPR_PHASE: fine = leaf(context, node, &stack[top++]); break;
        case SPAD_EXPR_NEGATE: fine = spad__sub(0, stack[top - 1], &stack[top - 1]); break;
        case SPAD_EXPR_UNKNOWN: fine = pick_unknown(kernel, node->value, &stack[top - 1]); break;
        default: top--; fine = apply_op(node->op, stack[top - 1], stack[top], &stack[top - 1]);
        }
        if (!fine) return false;
    }
    spad__assert(top == 1);
    *out = stack[0];
    return true;
}
