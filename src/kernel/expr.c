/* SPDX-License-Identifier: Apache-2.0
 *
 * Expressions: building them, bounding them, evaluating them, and their text.
 *
 * An expression is a run of postfix nodes; a new one copies the runs of its
 * operands, which is cheap because a run is short (SPAD_EXPR_MAX).
 *
 * Bounds are found with interval arithmetic. They are sound, so an expression
 * whose bounds fit 64 bits at every node cannot overflow when it is evaluated.
 * They are also exact where that can be seen: in sums of terms that share no
 * loop, in multiples and quotients, and in a rest if the values below it are so
 * close together (`gap`) that none of its values is left out. An index whose exact
 * bounds leave its dimension is outside for certain.
 */
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "kernel/evaluate.h"
#include "kernel/kernel.h"

/* ---- building ---------------------------------------------------------------------- */

spad__expr_mark spad__mark_exprs(const spad_kernel *kernel) {
    return (spad__expr_mark){kernel->exprs.count, kernel->nodes.count};
}

void spad__drop_exprs(spad_kernel *kernel, spad__expr_mark mark) {
    kernel->exprs.count = mark.exprs;
    kernel->nodes.count = mark.nodes;
}

/* Appends an expression whose nodes are there already. */
static spad_status add_expr(spad_expr *out, spad_kernel *kernel, spad__expr expr,
                            spad_error *error) {
    if (!spad__array_reserve(&kernel->host, &kernel->exprs, 1)) {
        return spad__fail_host_memory(error);
    }
    kernel->nodes.count = expr.first + expr.count;
    *out = (spad_expr)kernel->exprs.count;
    kernel->exprs.items[kernel->exprs.count++] = expr;
    return SPAD_OK;
}

/* Room for the nodes of a new expression, and for the expression. */
static spad_status reserve_nodes(spad_kernel *kernel, size_t nodes, spad_error *error) {
    if (kernel->exprs.count >= INT32_MAX) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "too many expressions in one kernel");
    }
    if (!spad__array_reserve(&kernel->host, &kernel->nodes, nodes) ||
        !spad__array_reserve(&kernel->host, &kernel->exprs, 1)) {
        return spad__fail_host_memory(error);
    }
    return SPAD_OK;
}

static spad_status add_leaf(spad_expr *out, spad_kernel *kernel, spad_expr_op op, int64_t value,
                            spad__expr bounds, spad_error *error) {
    const spad_status status = reserve_nodes(kernel, 1, error);
    if (status != SPAD_OK) return status;
    bounds.first = kernel->nodes.count;
    bounds.count = 1;
    bounds.exact = !bounds.moving;
    kernel->nodes.items[bounds.first] = (spad_expr_node){op, value};
    return add_expr(out, kernel, bounds, error);
}

static spad__expr constant(int64_t value) {
    return (spad__expr){.least = value, .most = value};
}

spad_status spad__kernel_builder_number(spad_expr *out, spad__kernel_builder *builder,
                                        int64_t value, spad_error *error) {
    *out = 0;
    return add_leaf(out, builder->kernel, SPAD_EXPR_NUMBER, value, constant(value), error);
}

static spad_status add_state(spad_expr *out, spad_kernel *kernel, bool phase, int64_t number,
                             spad_error *error) {
    const int64_t count = kernel->cursors.items[number].count.value;
    const spad__expr bounds = {.most = phase ? 1 : count - 1, .gap = 1, .moving = true};
    return add_leaf(out, kernel, phase ? SPAD_EXPR_PHASE : SPAD_EXPR_STAGE, number, bounds, error);
}

/* The variable of a loop: every whole number of its range, or only the first if
 * the loop does not run. */
static spad__expr loop_bounds(const spad_kernel *kernel, int64_t number) {
    const spad_kernel_loop *loop = &kernel->loops.items[number];
    const bool runs = loop->begin.value < loop->end.value;
    size_t depth = 0;
    for (int64_t outer = loop->outer; outer >= 0; depth++) outer = kernel->loops.items[outer].outer;
    return (spad__expr){.least = loop->begin.value,
                        .most = runs ? loop->end.value - 1 : loop->begin.value,
                        .gap = 1,
                        .loops = UINT64_C(1) << depth};
}

spad_status spad__kernel_builder_name(spad_expr *out, spad__kernel_builder *builder,
                                      const char *name, spad_error *error) {
    spad_kernel *kernel = builder->kernel;
    *out = 0;
    const spad__symbol *symbol = spad__find_symbol(builder, name);
    if (symbol != NULL && symbol->kind == SPAD__SYMBOL_PARAM) {
        const int64_t value = kernel->params.items[symbol->number].value;
        return add_leaf(out, kernel, SPAD_EXPR_PARAM, symbol->number, constant(value), error);
    }
    if (symbol != NULL &&
        (symbol->kind == SPAD__SYMBOL_STAGE || symbol->kind == SPAD__SYMBOL_PHASE)) {
        if (kernel->cursors.items[symbol->number].agent != builder->agent) {
            return spad__fail(error, SPAD_ERR_UNKNOWN,
                              "'%s' is a cursor of the main program, and every agent has its own "
                              "place: declare a cursor in the agent",
                              name);
        }
        return add_state(out, kernel, symbol->kind == SPAD__SYMBOL_PHASE, symbol->number, error);
    }
    if (symbol != NULL && symbol->kind == SPAD__SYMBOL_VALUE) {
        *out = (spad_expr)symbol->number;
        return SPAD_OK;
    }
    if (symbol != NULL && symbol->kind == SPAD__SYMBOL_LOOP &&
        kernel->loops.items[symbol->number].value != 0) {
        return spad__expr_as_leaf(out, kernel, kernel->loops.items[symbol->number].value,
                                  SPAD_EXPR_VARIABLE, symbol->number, error);
    }
    if (symbol != NULL && symbol->kind == SPAD__SYMBOL_LOOP) {
        return add_leaf(out, kernel, SPAD_EXPR_VARIABLE, symbol->number,
                        loop_bounds(kernel, symbol->number), error);
    }
    if (symbol != NULL && symbol->kind != SPAD__SYMBOL_BROKEN) {
        return spad__fail(error, SPAD_ERR_UNKNOWN, "'%s' is %s, not a number", name,
                          spad__symbol_phrase(symbol->kind));
    }
    return spad__fail_unknown(builder, "parameter or loop variable", name, SPAD__SYMBOL_LOOP,
                              error);
}

/* ---- bounds ------------------------------------------------------------------------ */

/* The sum of two ranges. Between two neighbours of b are a whole a range and what
 * is left of the gap; and the other way round. */
static bool bound_sum(const spad__expr *a, const spad__expr *b, spad__expr *sum) {
    int64_t width_a;
    int64_t width_b;
    if (!spad__add(a->least, b->least, &sum->least) || !spad__add(a->most, b->most, &sum->most)) {
        return false;
    }
    sum->exact = a->exact && b->exact && (a->loops & b->loops) == 0;
    sum->gap = spad__max(a->gap, b->gap);
    if (spad__sub(a->most, a->least, &width_a)) {
        sum->gap = spad__min(sum->gap, spad__max(a->gap, b->gap - spad__min(b->gap, width_a)));
    }
    if (spad__sub(b->most, b->least, &width_b)) {
        sum->gap = spad__min(sum->gap, spad__max(b->gap, a->gap - spad__min(a->gap, width_b)));
    }
    return true;
}

static bool bound_negation(const spad__expr *a, spad__expr *result) {
    result->exact = a->exact;
    result->gap = a->gap;
    return spad__sub(0, a->most, &result->least) && spad__sub(0, a->least, &result->most);
}

static bool bound_difference(const spad__expr *a, const spad__expr *b, spad__expr *result) {
    /* -(least) alone may not fit where the difference does */
    int64_t least;
    int64_t most;
    if (!spad__sub(a->least, b->most, &least) || !spad__sub(a->most, b->least, &most)) return false;
    const spad__expr mirrored = {
        .least = 0, .most = 0, .gap = b->gap, .loops = b->loops, .exact = b->exact};
    if (!bound_sum(a, &mirrored, result)) return false;
    result->gap = spad__max(a->gap, b->gap);
    result->least = least;
    result->most = most;
    return true;
}

/* a times the constant c. */
static bool bound_multiple(const spad__expr *a, int64_t c, spad__expr *result) {
    int64_t first;
    int64_t second;
    if (!spad__mul(a->least, c, &first) || !spad__mul(a->most, c, &second)) return false;
    if (!spad__mul(a->gap, c < 0 ? (c == INT64_MIN ? INT64_MAX : -c) : c, &result->gap)) {
        result->gap = INT64_MAX;
    }
    result->least = spad__min(first, second);
    result->most = spad__max(first, second);
    result->exact = a->exact;
    return true;
}

static void bound_quotient(const spad__expr *a, int64_t c, spad__expr *result) {
    result->least = spad__floor_div(a->least, c);
    result->most = spad__floor_div(a->most, c);
    result->exact = a->exact;
    result->gap = a->gap / c + (a->gap % c != 0);
}

static void bound_rest(const spad__expr *a, int64_t c, spad__expr *result) {
    if (spad__floor_div(a->least, c) == spad__floor_div(a->most, c)) {
        result->least = spad__floor_mod(a->least, c);
        result->most = spad__floor_mod(a->most, c);
        result->exact = a->exact;
        result->gap = a->gap;
        return;
    }
    int64_t width;
    const bool wraps = !spad__sub(a->most, a->least, &width) || width >= c - 1;
    result->least = 0;
    result->most = c - 1;
    /* a border is crossed, so both of its sides are met if nothing is left out */
    result->exact = a->exact && a->gap <= 1;
    result->gap = wraps ? 1 : c;
}

/* The smaller or the larger of two. Of ranges that share no loop each value of one up to the
 * smaller end (down to the larger one) is met, so no gap is wider than those of the two. */
static void bound_choice(const spad__expr *a, const spad__expr *b, bool larger,
                         spad__expr *result) {
    result->least = larger ? spad__max(a->least, b->least) : spad__min(a->least, b->least);
    result->most = larger ? spad__max(a->most, b->most) : spad__min(a->most, b->most);
    result->exact = a->exact && b->exact && (a->loops & b->loops) == 0;
    result->gap = spad__max(a->gap, b->gap);
}

static const char *const op_signs[SPAD_EXPR_OPS] = {
    [SPAD_EXPR_ADD] = "+",       [SPAD_EXPR_SUB] = "-",      [SPAD_EXPR_MUL] = "*",
    [SPAD_EXPR_DIV] = "/",       [SPAD_EXPR_MOD] = "%",      [SPAD_EXPR_NEGATE] = "-",
    [SPAD_EXPR_SMALLER] = "min", [SPAD_EXPR_LARGER] = "max", [SPAD_EXPR_UNKNOWN] = "[]",
};

static bool is_unary(spad_expr_op op) {
    return op == SPAD_EXPR_NEGATE || op == SPAD_EXPR_UNKNOWN;
}

static bool is_function(spad_expr_op op) {
    return op == SPAD_EXPR_SMALLER || op == SPAD_EXPR_LARGER;
}

static bool is_constant(const spad__expr *expr) {
    return expr->loops == 0 && !expr->moving;
}

/* The bounds of a op b. */
static spad_status bound(spad_expr_op op, const spad__expr *a, const spad__expr *b,
                         spad__expr *result, spad_error *error) {
    bool fits = true;
    result->loops = a->loops | b->loops;
    result->moving = a->moving || b->moving;
    if (op == SPAD_EXPR_ADD) {
        fits = bound_sum(a, b, result);
    } else if (op == SPAD_EXPR_SUB) {
        fits = bound_difference(a, b, result);
    } else if (op == SPAD_EXPR_NEGATE) {
        fits = bound_negation(a, result);
    } else if (is_function(op)) {
        bound_choice(a, b, op == SPAD_EXPR_LARGER, result);
    } else if (op == SPAD_EXPR_MUL) {
        if (!is_constant(a) && !is_constant(b)) {
            return spad__fail(error, SPAD_ERR_ARGUMENT,
                              "a product of two loop variables is not affine; one side must have "
                              "no loop variables");
        }
        fits = is_constant(b) ? bound_multiple(a, b->least, result)
                              : bound_multiple(b, a->least, result);
    } else {
        if (!is_constant(b)) {
            return spad__fail(error, SPAD_ERR_ARGUMENT,
                              "'%s' needs a number or a parameter on its right side", op_signs[op]);
        }
        if (b->least <= 0) {
            return spad__fail(error, SPAD_ERR_ARGUMENT, "'%s' by %lld; it must be at least 1",
                              op_signs[op], (long long)b->least);
        }
        if (op == SPAD_EXPR_DIV) {
            bound_quotient(a, b->least, result);
        } else {
            bound_rest(a, b->least, result);
        }
    }
    result->exact = result->exact && !result->moving;
    if (fits) return SPAD_OK;
    return spad__fail(error, SPAD_ERR_OVERFLOW, "the result of '%s' does not fit 64 bits%s",
                      op_signs[op], result->loops != 0 ? " in every iteration" : "");
}

static const spad__expr *find_expr(const spad_kernel *kernel, spad_expr expr) {
    if (expr <= 0 || (size_t)expr >= kernel->exprs.count) return NULL;
    return &kernel->exprs.items[expr];
}

/* A run of nodes. */
typedef struct node_run {
    size_t first;
    size_t count;
} node_run;

static node_run nodes_of(const spad__expr *expr) {
    return (node_run){expr->first, expr->count};
}

static node_run text_of(const spad__expr *expr) {
    return expr->text_count > 0 ? (node_run){expr->text_first, expr->text_count} : nodes_of(expr);
}

/* Appends "a b op"; room is reserved. */
static node_run append_nodes(spad_kernel *kernel, node_run a, node_run b, spad_expr_op op) {
    spad_expr_node *nodes = kernel->nodes.items;
    const node_run all = {kernel->nodes.count, a.count + b.count + 1};
    memcpy(&nodes[all.first], &nodes[a.first], a.count * sizeof *nodes);
    memcpy(&nodes[all.first + a.count], &nodes[b.first], b.count * sizeof *nodes);
    nodes[all.first + all.count - 1] = (spad_expr_node){.op = op};
    kernel->nodes.count += all.count;
    return all;
}

static spad_status fail_too_long(spad_error *error) {
    return spad__fail(error, SPAD_ERR_ARGUMENT,
                      "the expression is too long: at most %d numbers, names and operators",
                      SPAD_EXPR_MAX);
}

spad_status spad__kernel_builder_apply(spad_expr *out, spad__kernel_builder *builder,
                                       spad_expr_op op, spad_expr left, spad_expr right,
                                       spad_error *error) {
    static const spad__expr none = {0};
    spad_kernel *kernel = builder->kernel;
    *out = 0;
    const spad__expr *a = find_expr(kernel, left);
    const spad__expr *b = op == SPAD_EXPR_NEGATE ? &none : find_expr(kernel, right);
    if (op < SPAD_EXPR_ADD || op >= SPAD_EXPR_UNKNOWN || a == NULL || b == NULL) {
        return spad__fail(error, SPAD_ERR_UNKNOWN, "no such operation or expression");
    }
    if (op == SPAD_EXPR_NEGATE && a->count == 1 && a->least > INT64_MIN) {
        const spad_expr_node *leaf = &kernel->nodes.items[a->first];
        if (leaf->op == SPAD_EXPR_NUMBER) { /* "-5" is a number */
            return spad__kernel_builder_number(out, builder, -leaf->value, error);
        }
    }
    spad__expr result = {.count = a->count + b->count + 1};
    const bool text = a->text_count > 0 || b->text_count > 0;
    const size_t text_count = text ? text_of(a).count + text_of(b).count + 1 : 0;
    if (result.count > SPAD_EXPR_MAX || text_count > SPAD_EXPR_MAX) return fail_too_long(error);
    spad_status status = bound(op, a, b, &result, error);
    if (status == SPAD_OK) status = reserve_nodes(kernel, result.count + text_count, error);
    if (status != SPAD_OK) return status;
    a = find_expr(kernel, left); /* the tables may have moved */
    b = op == SPAD_EXPR_NEGATE ? &none : find_expr(kernel, right);
    if (text) {
        const node_run run = append_nodes(kernel, text_of(a), text_of(b), op);
        result.text_first = run.first;
        result.text_count = run.count;
    }
    result.first = append_nodes(kernel, nodes_of(a), nodes_of(b), op).first;
    return add_expr(out, kernel, result, error);
}

spad_status spad__kernel_builder_value(spad_expr *out, spad__kernel_builder *builder,
                                       int64_t unknown, spad_expr element, spad_error *error) {
    spad_kernel *kernel = builder->kernel;
    *out = 0;
    if (unknown < 0 || (size_t)unknown >= kernel->unknowns.count) {
        return spad__fail(error, SPAD_ERR_UNKNOWN, "no such unknown value");
    }
    const spad_kernel_unknown *row = &kernel->unknowns.items[unknown];
    const spad__expr_mark mark = spad__mark_exprs(kernel);
    if (element == 0) {
        const spad_status status = spad__kernel_builder_number(&element, builder, 0, error);
        if (status != SPAD_OK) return status;
    }
    const spad__expr *index = find_expr(kernel, element);
    if (index == NULL) return spad__fail(error, SPAD_ERR_UNKNOWN, "no such expression");
    if (index->least < 0 || index->most >= row->elements) {
        spad__fail(error, SPAD_ERR_BOUNDS, "an element of '%s' reaches %lld, and it has %lld",
                   row->name, (long long)(index->least < 0 ? index->least : index->most),
                   (long long)row->elements);
        spad__drop_exprs(kernel, mark);
        return SPAD_ERR_BOUNDS;
    }
    spad__expr result = {.count = index->count + 1,
                         .least = row->least.value,
                         .most = row->end.value - 1,
                         .gap = 1,
                         .loops = index->loops,
                         .moving = true};
    const bool text = index->text_count > 0;
    const size_t text_count = text ? index->text_count + 1 : 0;
    spad_status status = result.count > SPAD_EXPR_MAX || text_count > SPAD_EXPR_MAX
                             ? fail_too_long(error)
                             : reserve_nodes(kernel, result.count + text_count, error);
    if (status != SPAD_OK) {
        spad__drop_exprs(kernel, mark);
        return status;
    }
    index = find_expr(kernel, element);
    const node_run none = {0, 0};
    if (text) {
        const node_run run = append_nodes(kernel, text_of(index), none, SPAD_EXPR_UNKNOWN);
        kernel->nodes.items[run.first + run.count - 1].value = unknown;
        result.text_first = run.first;
        result.text_count = run.count;
    }
    const node_run run = append_nodes(kernel, nodes_of(index), none, SPAD_EXPR_UNKNOWN);
    kernel->nodes.items[run.first + run.count - 1].value = unknown;
    result.first = run.first;
    return add_expr(out, kernel, result, error);
}

spad_status spad__expr_as_leaf(spad_expr *out, spad_kernel *kernel, spad_expr expr, spad_expr_op op,
                               int64_t value, spad_error *error) {
    *out = 0;
    const spad_status status = reserve_nodes(kernel, 1, error);
    if (status != SPAD_OK) return status;
    spad__expr result = *find_expr(kernel, expr);
    result.text_first = kernel->nodes.count;
    result.text_count = 1;
    kernel->nodes.items[kernel->nodes.count++] = (spad_expr_node){op, value};
    *out = (spad_expr)kernel->exprs.count;
    kernel->exprs.items[kernel->exprs.count++] = result;
    return SPAD_OK;
}

bool spad__expr_has(const spad_kernel *kernel, spad_expr expr, spad_expr_op op, int64_t value) {
    const spad__expr *found = find_expr(kernel, expr);
    for (size_t i = 0; found != NULL && i < found->count; i++) {
        const spad_expr_node *node = &kernel->nodes.items[found->first + i];
        if (node->op == op && (value < 0 || node->value == value)) return true;
    }
    return false;
}

bool spad__amounts_use_param(const spad_kernel *kernel, spad_amounts list, int64_t param) {
    for (size_t i = 0; i < list.count; i++) {
        if (spad__expr_has(kernel, list.items[i].expr, SPAD_EXPR_PARAM, param)) return true;
    }
    return false;
}

bool spad__expr_equal(const spad_kernel *kernel, spad_expr left, spad_expr right) {
    const spad_expr_info a = spad_kernel_get_expr(kernel, left);
    const spad_expr_info b = spad_kernel_get_expr(kernel, right);
    if (a.node_count != b.node_count) return false;
    for (size_t i = 0; i < a.node_count; i++) {
        if (a.nodes[i].op != b.nodes[i].op || a.nodes[i].value != b.nodes[i].value) return false;
    }
    return true;
}

bool spad__amounts_equal(spad_amounts left, spad_amounts right) {
    if (left.count != right.count) return false;
    for (size_t i = 0; i < left.count; i++) {
        if (left.items[i].value != right.items[i].value) return false;
    }
    return true;
}

spad_status spad__expr_variable(spad_expr *out, spad__kernel_builder *builder, int64_t loop,
                                spad_error *error) {
    *out = 0;
    return add_leaf(out, builder->kernel, SPAD_EXPR_VARIABLE, loop,
                    loop_bounds(builder->kernel, loop), error);
}

/* A leaf with the bounds that it has in this kernel. */
static spad_status repeat_leaf(spad_expr *out, spad__kernel_builder *builder, spad_expr_node node,
                               spad_error *error) {
    spad_kernel *kernel = builder->kernel;
    switch (node.op) {
    case SPAD_EXPR_PARAM:
        return add_leaf(out, kernel, node.op, node.value,
                        constant(kernel->params.items[node.value].value), error);
    case SPAD_EXPR_VARIABLE:
        return add_leaf(out, kernel, node.op, node.value, loop_bounds(kernel, node.value), error);
    case SPAD_EXPR_STAGE:
    case SPAD_EXPR_PHASE:
        return add_state(out, kernel, node.op == SPAD_EXPR_PHASE, node.value, error);
    default: return spad__kernel_builder_number(out, builder, node.value, error);
    }
}

/* Applies the node of an operator to the expressions on top of a stack. */
static spad_status apply_node(spad_expr *stack, size_t *top, spad__kernel_builder *builder,
                              spad_expr_node node, spad_error *error) {
    if (node.op == SPAD_EXPR_UNKNOWN) {
        return spad__kernel_builder_value(&stack[*top - 1], builder, node.value, stack[*top - 1],
                                          error);
    }
    spad_expr right = 0;
    if (node.op != SPAD_EXPR_NEGATE) right = stack[--*top];
    return spad__kernel_builder_apply(&stack[*top - 1], builder, node.op, stack[*top - 1], right,
                                      error);
}

spad_status spad__expr_copy(spad_expr *out, spad__kernel_builder *builder,
                            const spad_expr_node *written, size_t count, spad_error *error) {
    spad_kernel *kernel = builder->kernel;
    spad_expr stack[SPAD_EXPR_MAX];
    size_t top = 0;
    *out = 0;
    for (size_t i = 0; i < count; i++) {
        const spad_expr_node node = written[i];
        const bool steps = node.op == SPAD_EXPR_VARIABLE && /* its variable is not its counter */
                           kernel->loops.items[node.value].value != 0;
        const spad_status status =
            steps ? spad__expr_as_leaf(&stack[top++], kernel, kernel->loops.items[node.value].value,
                                       SPAD_EXPR_VARIABLE, node.value, error)
            : node.op < SPAD_EXPR_ADD ? repeat_leaf(&stack[top++], builder, node, error)
                                      : apply_node(stack, &top, builder, node, error);
        if (status != SPAD_OK) return status;
    }
    *out = stack[0];
    return SPAD_OK;
}

spad_status spad__expr_replace(spad_expr *out, spad__kernel_builder *builder, spad_expr expr,
                               spad_expr_op op, int64_t value, spad_expr with, spad_error *error) {
    spad_kernel *kernel = builder->kernel;
    const spad__expr *found = find_expr(kernel, expr);
    spad__assert(found != NULL);
    const spad__expr old = *found; /* the array grows */
    spad_expr stack[SPAD_EXPR_MAX];
    size_t top = 0;
    for (size_t i = 0; i < old.count; i++) {
        const spad_expr_node node = kernel->nodes.items[old.first + i];
        spad_status status = SPAD_OK;
        if (node.op == op && node.value == value) {
            stack[top++] = with;
        } else if (node.op < SPAD_EXPR_ADD) {
            status = repeat_leaf(&stack[top++], builder, node, error);
        } else {
            status = apply_node(stack, &top, builder, node, error);
        }
        if (status != SPAD_OK) return status;
    }
    *out = stack[0];
    if (*out == with) { /* it has a text of its own */
        const spad_status status = reserve_nodes(kernel, 0, error);
        if (status != SPAD_OK) return status;
        const spad__expr same = *find_expr(kernel, with);
        *out = (spad_expr)kernel->exprs.count;
        kernel->exprs.items[kernel->exprs.count++] = same;
    }
    spad__expr *made = &kernel->exprs.items[*out];
    const node_run text = text_of(&old);
    made->text_first = text.first;
    made->text_count = text.count;
    return SPAD_OK;
}

/* ---- using ------------------------------------------------------------------------- */

spad_status spad__check_expr(const spad__kernel_builder *builder, spad_expr expr,
                             spad_error *error) {
    const spad_kernel *kernel = builder->kernel;
    const spad__expr *found = find_expr(kernel, expr);
    if (found == NULL) return spad__fail(error, SPAD_ERR_UNKNOWN, "no such expression");
    for (size_t i = 0; i < found->count; i++) {
        const spad_expr_node *node = &kernel->nodes.items[found->first + i];
        if (node->op == SPAD_EXPR_STAGE || node->op == SPAD_EXPR_PHASE) {
            const spad_kernel_cursor *cursor = &kernel->cursors.items[node->value];
            if (!spad__is_visible(builder, cursor->stage, SPAD__SYMBOL_STAGE, node->value) ||
                cursor->agent != builder->agent) {
                return spad__fail(error, SPAD_ERR_UNKNOWN,
                                  "the block that declares the cursor '%s' is closed",
                                  cursor->stage);
            }
        }
        if (node->op != SPAD_EXPR_VARIABLE) continue;
        int64_t open = builder->loop;
        while (open >= 0 && open != node->value) open = kernel->loops.items[open].outer;
        if (open < 0) {
            return spad__fail(error, SPAD_ERR_UNKNOWN, "the loop of '%s' is closed",
                              kernel->loops.items[node->value].name);
        }
    }
    return SPAD_OK;
}

spad_status spad__fold_amount(const spad__kernel_builder *builder, spad_amount *amount,
                              spad_error *error) {
    if (amount->expr == 0) return SPAD_OK;
    const spad__expr *found = find_expr(builder->kernel, amount->expr);
    if (found == NULL) return spad__fail(error, SPAD_ERR_UNKNOWN, "no such expression");
    if (!is_constant(found)) {
        char text[128];
        spad__expr_text(builder->kernel, amount->expr, text, sizeof text);
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "'%s' changes with a loop; a number or parameters are expected here",
                          text);
    }
    amount->value = found->least;
    return SPAD_OK;
}

spad_expr_info spad_kernel_get_expr(const spad_kernel *kernel, spad_expr expr) {
    const spad__expr *found = find_expr(kernel, expr);
    if (found == NULL) return (spad_expr_info){0};
    const node_run text = text_of(found);
    return (spad_expr_info){.nodes = &kernel->nodes.items[found->first],
                            .node_count = found->count,
                            .written = &kernel->nodes.items[text.first],
                            .written_count = text.count,
                            .least = found->least,
                            .most = found->most,
                            .exact = found->exact,
                            .constant = is_constant(found)};
}

/* The stage or the phase of a cursor. */
static int64_t state_of(const spad_kernel *kernel, const spad_expr_node *node,
                        const int64_t *values) {
    const int64_t count = kernel->cursors.items[node->value].count.value;
    const int64_t at = values[kernel->loops.count + (size_t)node->value];
    return node->op == SPAD_EXPR_STAGE ? at % count : at / count;
}

static int64_t evaluate_nodes(const spad_kernel *kernel, const spad_expr_node *node, size_t count,
                              const int64_t *values) {
    int64_t stack[SPAD_EXPR_MAX] SPAD__FILLED_BY_LOOP;
    size_t top = 0;
    for (const spad_expr_node *end = node + count; node < end; node++) {
        if (node->op == SPAD_EXPR_VARIABLE) {
            stack[top++] = values[node->value];
        } else if (node->op == SPAD_EXPR_STAGE || node->op == SPAD_EXPR_PHASE) {
            stack[top++] = state_of(kernel, node, values);
        } else if (node->op == SPAD_EXPR_NUMBER) {
            stack[top++] = node->value;
        } else if (node->op == SPAD_EXPR_PARAM) {
            stack[top++] = kernel->params.items[node->value].value;
        } else if (node->op == SPAD_EXPR_NEGATE) {
            stack[top - 1] = -stack[top - 1];
        } else if (node->op == SPAD_EXPR_UNKNOWN) {
            stack[top - 1] = kernel->unknowns.items[node->value].values[stack[top - 1]];
        } else {
            const int64_t right = stack[--top];
            int64_t *left = &stack[top - 1];
            switch (node->op) {
            case SPAD_EXPR_ADD: *left += right; break;
            case SPAD_EXPR_SUB: *left -= right; break;
            case SPAD_EXPR_MUL: *left *= right; break;
            case SPAD_EXPR_DIV: *left = spad__floor_div(*left, right); break;
            case SPAD_EXPR_SMALLER: *left = spad__min(*left, right); break;
            case SPAD_EXPR_LARGER: *left = spad__max(*left, right); break;
            default: *left = spad__floor_mod(*left, right); break;
            }
        }
    }
    return stack[0];
}

int64_t spad__kernel_evaluate(const spad_kernel *kernel, spad_expr expr, const int64_t *values) {
    const spad__expr *found = &kernel->exprs.items[expr];
    if (is_constant(found)) return found->least;
    const spad_expr_node *node = &kernel->nodes.items[found->first];
    if (found->count == 1 && node->op == SPAD_EXPR_VARIABLE) { /* most indices are */
        return values[node->value];
    }
    return evaluate_nodes(kernel, node, found->count, values);
}

static size_t loop_depth(const spad_kernel *kernel, int64_t loop) {
    size_t depth = 0;
    while ((loop = kernel->loops.items[loop].outer) >= 0) depth++;
    return depth;
}

int64_t spad__loop_value(const spad_kernel *kernel, int64_t loop, const int64_t *by_depth) {
    const spad_expr expr = kernel->loops.items[loop].value;
    if (expr == 0) return by_depth[loop_depth(kernel, loop)];
    const spad__expr *found = &kernel->exprs.items[expr];
    spad_expr_node nodes[SPAD_EXPR_MAX];
    for (size_t i = 0; i < found->count; i++) {
        nodes[i] = kernel->nodes.items[found->first + i];
        if (nodes[i].op != SPAD_EXPR_VARIABLE) continue;
        nodes[i] = (spad_expr_node){SPAD_EXPR_NUMBER, by_depth[loop_depth(kernel, nodes[i].value)]};
    }
    return evaluate_nodes(kernel, nodes, found->count, NULL);
}

/* ---- text -------------------------------------------------------------------------- */

static int priority(spad_expr_op op) {
    if (op == SPAD_EXPR_UNKNOWN) return 4;
    if (op == SPAD_EXPR_ADD || op == SPAD_EXPR_SUB) return 1;
    if (op == SPAD_EXPR_MUL || op == SPAD_EXPR_DIV || op == SPAD_EXPR_MOD) return 2;
    return op == SPAD_EXPR_NEGATE ? 3 : 4;
}

typedef struct expr_text {
    char *field;
    size_t size;
    size_t used;
} expr_text;

static void put_piece(expr_text *text, const char *piece) {
    const size_t length = strlen(piece);
    for (size_t i = 0; i < length && text->used + 1 < text->size; i++) {
        text->field[text->used++] = piece[i];
    }
}

static void put_leaf(const spad_kernel *kernel, expr_text *text, const spad_expr_node *node) {
    char number[32];
    if (node->op == SPAD_EXPR_PARAM) {
        put_piece(text, kernel->params.items[node->value].name);
    } else if (node->op == SPAD_EXPR_VARIABLE) {
        put_piece(text, kernel->loops.items[node->value].name);
    } else if (node->op == SPAD_EXPR_STAGE) {
        put_piece(text, kernel->cursors.items[node->value].stage);
    } else if (node->op == SPAD_EXPR_PHASE) {
        put_piece(text, kernel->cursors.items[node->value].phase);
    } else if (node->value == INT64_MIN) { /* its digits alone do not fit */
        put_piece(text, "(-9223372036854775807 - 1)");
    } else {
        snprintf(number, sizeof number, "%lld", (long long)node->value);
        put_piece(text, number);
    }
}

/* One thing that is still to be written: a node with all below it, or a piece. */
typedef struct expr_task {
    const char *piece; /* NULL: the node */
    size_t node;
    int outer; /* parentheses below this priority */
} expr_task;

/* The priority of a leaf as text: a negative number starts with a sign. */
static int leaf_priority(const spad_expr_node *node) {
    return node->op == SPAD_EXPR_NUMBER && node->value < 0 ? priority(SPAD_EXPR_NEGATE)
                                                           : priority(node->op);
}

void spad__expr_text(const spad_kernel *kernel, spad_expr expr, char *field, size_t size) {
    const node_run run = text_of(&kernel->exprs.items[expr]);
    const spad_expr_node *nodes = &kernel->nodes.items[run.first];
    size_t first[SPAD_EXPR_MAX] SPAD__FILLED_BY_LOOP; /* where the run of each node begins */
    for (size_t i = 0; i < run.count; i++) {
        const int operands = nodes[i].op < SPAD_EXPR_ADD ? 0 : is_unary(nodes[i].op) ? 1 : 2;
        first[i] = operands == 0 ? i : operands == 1 ? first[i - 1] : first[first[i - 1] - 1];
    }
    expr_text text = {.field = field, .size = size};
    expr_task tasks[4 * SPAD_EXPR_MAX];
    size_t left = 0;
    tasks[left++] = (expr_task){.node = run.count - 1};
    while (left > 0) {
        const expr_task task = tasks[--left];
        if (task.piece != NULL) {
            put_piece(&text, task.piece);
            continue;
        }
        const spad_expr_node *node = &nodes[task.node];
        const bool leaf = node->op < SPAD_EXPR_ADD;
        const int own = leaf ? leaf_priority(node) : priority(node->op);
        const bool wrapped = own < task.outer;
        if (wrapped) put_piece(&text, "(");
        if (wrapped) tasks[left++] = (expr_task){.piece = ")"};
        if (leaf) {
            put_leaf(kernel, &text, node);
        } else if (node->op == SPAD_EXPR_NEGATE) {
            tasks[left++] = (expr_task){.node = task.node - 1, .outer = own + 1};
            put_piece(&text, "-");
        } else if (node->op == SPAD_EXPR_UNKNOWN) {
            const spad_kernel_unknown *unknown = &kernel->unknowns.items[node->value];
            put_piece(&text, unknown->name);
            if (unknown->dims.count == 0) continue;
            put_piece(&text, "[");
            tasks[left++] = (expr_task){.piece = "]"};
            tasks[left++] = (expr_task){.node = task.node - 1};
        } else if (is_function(node->op)) {
            put_piece(&text, op_signs[node->op]);
            put_piece(&text, "(");
            tasks[left++] = (expr_task){.piece = ")"};
            tasks[left++] = (expr_task){.node = task.node - 1};
            tasks[left++] = (expr_task){.piece = ", "};
            tasks[left++] = (expr_task){.node = first[task.node - 1] - 1};
        } else {
            tasks[left++] = (expr_task){.node = task.node - 1, .outer = own + 1};
            tasks[left++] = (expr_task){.piece = " "};
            tasks[left++] = (expr_task){.piece = op_signs[node->op]};
            tasks[left++] = (expr_task){.piece = " "};
            tasks[left++] = (expr_task){.node = first[task.node - 1] - 1, .outer = own};
        }
    }
    field[text.used] = '\0';
}
