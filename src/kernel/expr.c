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

#include "base/checked.h"
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
    bounds.exact = true;
    kernel->nodes.items[bounds.first] = (spad_expr_node){op, value};
    return add_expr(out, kernel, bounds, error);
}

static spad__expr constant(int64_t value) {
    return (spad__expr){.least = value, .most = value};
}

spad_status spad_kernel_builder_number(spad_expr *out, spad_kernel_builder *builder, int64_t value,
                                       spad_error *error) {
    *out = 0;
    return add_leaf(out, builder->kernel, SPAD_EXPR_NUMBER, value, constant(value), error);
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

spad_status spad_kernel_builder_name(spad_expr *out, spad_kernel_builder *builder, const char *name,
                                     spad_error *error) {
    spad_kernel *kernel = builder->kernel;
    *out = 0;
    const spad__symbol *symbol = spad__find_symbol(builder, name);
    if (symbol != NULL && symbol->kind == SPAD__SYMBOL_PARAM) {
        const int64_t value = kernel->params.items[symbol->number].value;
        return add_leaf(out, kernel, SPAD_EXPR_PARAM, symbol->number, constant(value), error);
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

static const char *const op_signs[] = {
    [SPAD_EXPR_ADD] = "+", [SPAD_EXPR_SUB] = "-", [SPAD_EXPR_MUL] = "*",
    [SPAD_EXPR_DIV] = "/", [SPAD_EXPR_MOD] = "%", [SPAD_EXPR_NEGATE] = "-",
};

static bool is_constant(const spad__expr *expr) {
    return expr->loops == 0;
}

/* The bounds of a op b. */
static spad_status bound(spad_expr_op op, const spad__expr *a, const spad__expr *b,
                         spad__expr *result, spad_error *error) {
    bool fits = true;
    result->loops = a->loops | b->loops;
    if (op == SPAD_EXPR_ADD) {
        fits = bound_sum(a, b, result);
    } else if (op == SPAD_EXPR_SUB) {
        fits = bound_difference(a, b, result);
    } else if (op == SPAD_EXPR_NEGATE) {
        fits = bound_negation(a, result);
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
    if (fits) return SPAD_OK;
    return spad__fail(error, SPAD_ERR_OVERFLOW, "the result of '%s' does not fit 64 bits%s",
                      op_signs[op], result->loops != 0 ? " in every iteration" : "");
}

static const spad__expr *find_expr(const spad_kernel *kernel, spad_expr expr) {
    if (expr <= 0 || (size_t)expr >= kernel->exprs.count) return NULL;
    return &kernel->exprs.items[expr];
}

static void copy_nodes(spad_kernel *kernel, size_t to, const spad__expr *from) {
    memcpy(&kernel->nodes.items[to], &kernel->nodes.items[from->first],
           from->count * sizeof *kernel->nodes.items);
}

spad_status spad_kernel_builder_apply(spad_expr *out, spad_kernel_builder *builder, spad_expr_op op,
                                      spad_expr left, spad_expr right, spad_error *error) {
    static const spad__expr none = {0};
    spad_kernel *kernel = builder->kernel;
    *out = 0;
    const spad__expr *a = find_expr(kernel, left);
    const spad__expr *b = op == SPAD_EXPR_NEGATE ? &none : find_expr(kernel, right);
    if (op < SPAD_EXPR_ADD || op > SPAD_EXPR_NEGATE || a == NULL || b == NULL) {
        return spad__fail(error, SPAD_ERR_UNKNOWN, "no such operation or expression");
    }
    if (op == SPAD_EXPR_NEGATE && a->count == 1 && a->least > INT64_MIN) {
        const spad_expr_node *leaf = &kernel->nodes.items[a->first];
        if (leaf->op == SPAD_EXPR_NUMBER) { /* "-5" is a number */
            return spad_kernel_builder_number(out, builder, -leaf->value, error);
        }
    }
    spad__expr result = {.count = a->count + b->count + 1};
    if (result.count > SPAD_EXPR_MAX) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "the expression is too long: at most %d numbers, names and operators",
                          SPAD_EXPR_MAX);
    }
    spad_status status = bound(op, a, b, &result, error);
    if (status == SPAD_OK) status = reserve_nodes(kernel, result.count, error);
    if (status != SPAD_OK) return status;
    a = find_expr(kernel, left); /* the tables may have moved */
    b = op == SPAD_EXPR_NEGATE ? &none : find_expr(kernel, right);
    result.first = kernel->nodes.count;
    copy_nodes(kernel, result.first, a);
    if (b->count > 0) copy_nodes(kernel, result.first + a->count, b);
    kernel->nodes.items[result.first + result.count - 1] = (spad_expr_node){.op = op};
    return add_expr(out, kernel, result, error);
}

/* ---- using ------------------------------------------------------------------------- */

spad_status spad__check_expr(const spad_kernel_builder *builder, spad_expr expr,
                             spad_error *error) {
    const spad_kernel *kernel = builder->kernel;
    const spad__expr *found = find_expr(kernel, expr);
    if (found == NULL) return spad__fail(error, SPAD_ERR_UNKNOWN, "no such expression");
    for (size_t i = 0; i < found->count; i++) {
        const spad_expr_node *node = &kernel->nodes.items[found->first + i];
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

spad_status spad__fold_amount(const spad_kernel_builder *builder, spad_amount *amount,
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
    return (spad_expr_info){.nodes = &kernel->nodes.items[found->first],
                            .node_count = found->count,
                            .least = found->least,
                            .most = found->most,
                            .exact = found->exact,
                            .constant = is_constant(found)};
}

int64_t spad_kernel_evaluate(const spad_kernel *kernel, spad_expr expr, const int64_t *values) {
    const spad__expr *found = &kernel->exprs.items[expr];
    if (is_constant(found)) return found->least;
    const spad_expr_node *node = &kernel->nodes.items[found->first];
    if (found->count == 1) return values[node->value]; /* a variable: most indices are */
    int64_t stack[SPAD_EXPR_MAX];
    size_t top = 0;
    for (const spad_expr_node *end = node + found->count; node < end; node++) {
        if (node->op == SPAD_EXPR_VARIABLE) {
            stack[top++] = values[node->value];
        } else if (node->op == SPAD_EXPR_NUMBER) {
            stack[top++] = node->value;
        } else if (node->op == SPAD_EXPR_PARAM) {
            stack[top++] = kernel->params.items[node->value].value;
        } else if (node->op == SPAD_EXPR_NEGATE) {
            stack[top - 1] = -stack[top - 1];
        } else {
            const int64_t right = stack[--top];
            int64_t *left = &stack[top - 1];
            switch (node->op) {
            case SPAD_EXPR_ADD: *left += right; break;
            case SPAD_EXPR_SUB: *left -= right; break;
            case SPAD_EXPR_MUL: *left *= right; break;
            case SPAD_EXPR_DIV: *left = spad__floor_div(*left, right); break;
            default: *left = spad__floor_mod(*left, right); break;
            }
        }
    }
    return stack[0];
}

/* ---- text -------------------------------------------------------------------------- */

static int priority(spad_expr_op op) {
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
    const spad__expr *found = &kernel->exprs.items[expr];
    const spad_expr_node *nodes = &kernel->nodes.items[found->first];
    size_t first[SPAD_EXPR_MAX]; /* where the run of each node begins */
    for (size_t i = 0; i < found->count; i++) {
        const int operands = nodes[i].op < SPAD_EXPR_ADD       ? 0
                             : nodes[i].op == SPAD_EXPR_NEGATE ? 1
                                                               : 2;
        first[i] = operands == 0 ? i : operands == 1 ? first[i - 1] : first[first[i - 1] - 1];
    }
    expr_text text = {.field = field, .size = size};
    expr_task tasks[4 * SPAD_EXPR_MAX];
    size_t left = 0;
    tasks[left++] = (expr_task){.node = found->count - 1};
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
