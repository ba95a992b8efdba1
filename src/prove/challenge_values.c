/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of a parameter around which something in a kernel changes its outcome.
 *
 * A decision is a comparison of an `if`, the emptiness of a loop, a `min` or `max`, or a quotient
 * or remainder. Its outcome is a number: the sign of left - right, or the quotient. While the
 * parameter grows the outcome is evaluated at each of the first values, then at values that grow by
 * half, and where it has changed between two of them the place is found by halving; so a change is
 * found wherever the outcome is monotone, and close to where it began wherever it is not. Loops
 * stand at their last iteration, at their first one, or one of them at its last and the others at
 * their first. Other parameters have their given values; and where several are in one decision,
 * they also grow together. Values next to a change are taken as well. Depths of rings and numbers
 * of objects give their multiples.
 *
 * Costs O(expressions) to find the decisions, at most DECISIONS_MAX different ones, and for each at
 * most about 70 evaluations per parameter and position of its loops.
 */
#include <string.h>

#include "base/checked.h"
#include "kernel/evaluate.h"
#include "kernel/kernel.h"
#include "prove/challenge.h"

enum {
    DECISIONS_MAX = 64,
    DECISION_LOOPS = 4, /* positions of further ones are not combined */
    DENSE = 40,         /* values that are all evaluated */
    CHANGES_MAX = 3     /* of one decision at one position */
};

/* Values beyond are not worth a run. */
static const int64_t farthest = INT64_C(1) << 24;

/* A value that no evaluation returns. */
static const int64_t no_outcome = INT64_MIN;

typedef struct shape_decision {
    bool quotient;
    const spad_expr_node *left;
    size_t left_count;
    const spad_expr_node *right;
    size_t right_count;
    size_t loops[DECISION_LOOPS]; /* that are in it */
    size_t loop_count;
} shape_decision;

typedef struct shape_decisions {
    shape_decision items[DECISIONS_MAX];
    size_t count;
} shape_decisions;

/* Where a decision is evaluated. */
typedef struct point {
    const spad_kernel *kernel;
    int64_t *params; /* per parameter: its value */
    int64_t last;    /* the loop that is at its last iteration; ALL_LAST, ALL_FIRST */
} point;

enum { ALL_LAST = -1, ALL_FIRST = -2 };

/* ---- decisions ----------------------------------------------------------------------- */

/* The first node of the operand that ends in front of node `end`. */
static size_t begin_of_operand(const spad_expr_node *nodes, size_t end) {
    size_t wanted = 1; /* operands that are still to come */
    while (wanted > 0) {
        const spad_expr_op op = nodes[--end].op;
        if (op <= SPAD_EXPR_PHASE) {
            wanted--;
        } else if (op != SPAD_EXPR_NEGATE && op != SPAD_EXPR_UNKNOWN) {
            wanted++;
        }
    }
    return end;
}

static bool same_nodes(const spad_expr_node *a, size_t a_count, const spad_expr_node *b,
                       size_t b_count) {
    if (a_count != b_count) return false;
    for (size_t i = 0; i < a_count; i++) {
        if (a[i].op != b[i].op || a[i].value != b[i].value) return false;
    }
    return true;
}

/* Lists the loops of an operand; false: nothing in it can change. */
static bool add_loops(shape_decision *d, const spad_expr_node *nodes, size_t count) {
    bool changes = false;
    for (size_t i = 0; i < count; i++) {
        changes = changes || nodes[i].op == SPAD_EXPR_PARAM || nodes[i].op == SPAD_EXPR_VARIABLE;
        if (nodes[i].op != SPAD_EXPR_VARIABLE || d->loop_count == DECISION_LOOPS) continue;
        bool known = false;
        for (size_t l = 0; l < d->loop_count; l++) {
            known = known || d->loops[l] == (size_t)nodes[i].value;
        }
        if (!known) d->loops[d->loop_count++] = (size_t)nodes[i].value;
    }
    return changes;
}

static void add_decision(shape_decisions *all, shape_decision d) {
    if (all->count == DECISIONS_MAX || d.left_count == 0 || d.right_count == 0) return;
    for (size_t i = 0; i < all->count; i++) {
        const shape_decision *old = &all->items[i];
        if (old->quotient == d.quotient &&
            same_nodes(old->left, old->left_count, d.left, d.left_count) &&
            same_nodes(old->right, old->right_count, d.right, d.right_count)) {
            return;
        }
    }
    const bool left = add_loops(&d, d.left, d.left_count);
    const bool right = add_loops(&d, d.right, d.right_count);
    if (left || right) all->items[all->count++] = d;
}

static void add_comparison(shape_decisions *all, const spad_kernel *kernel, spad_expr left,
                           spad_expr right) {
    const spad_expr_info a = spad_kernel_get_expr(kernel, left);
    const spad_expr_info b = spad_kernel_get_expr(kernel, right);
    add_decision(all, (shape_decision){.left = a.nodes,
                                       .left_count = a.node_count,
                                       .right = b.nodes,
                                       .right_count = b.node_count});
}

/* Decisions inside of an expression. */
static void add_operators(shape_decisions *all, const spad_expr_node *nodes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const spad_expr_op op = nodes[i].op;
        const bool quotient = op == SPAD_EXPR_DIV || op == SPAD_EXPR_MOD;
        if (!quotient && op != SPAD_EXPR_SMALLER && op != SPAD_EXPR_LARGER) continue;
        const size_t right = begin_of_operand(nodes, i);
        const size_t left = begin_of_operand(nodes, right);
        add_decision(all, (shape_decision){.quotient = quotient,
                                           .left = nodes + left,
                                           .left_count = right - left,
                                           .right = nodes + right,
                                           .right_count = i - right});
    }
}

/* Conditions come first, then the decisions of other expressions. */
static void find_decisions(shape_decisions *all, const spad_kernel *kernel) {
    for (size_t i = 0; i < spad_kernel_statement_count(kernel); i++) {
        const spad_statement *s = spad_kernel_get_statement(kernel, i);
        for (size_t c = 0; c < s->comparison_count; c++) {
            add_comparison(all, kernel, s->comparisons[c].left, s->comparisons[c].right);
        }
    }
    for (size_t i = 0; i < spad_kernel_loop_count(kernel); i++) {
        const spad_kernel_loop *loop = spad_kernel_get_loop(kernel, i);
        add_comparison(all, kernel, loop->begin.expr, loop->end.expr);
    }
    for (size_t i = 1; i < kernel->exprs.count; i++) {
        const spad_expr_info info = spad_kernel_get_expr(kernel, (spad_expr)i);
        add_operators(all, info.nodes, info.node_count);
    }
}

/* ---- outcomes ------------------------------------------------------------------------ */

static bool leaf_at(const void *context, const spad_expr_node *node, int64_t *out);

static bool amount_at(const point *at, spad_amount amount, int64_t *out) {
    const spad_expr_info info = spad_kernel_get_expr(at->kernel, amount.expr);
    *out = amount.value;
    return info.node_count == 0 ||
           spad__evaluate_with(at->kernel, info.nodes, info.node_count, leaf_at, at, out);
}

/* Bounds of loops have parameters only, so this ends. */
static bool leaf_at(const void *context, const spad_expr_node *node, int64_t *out) {
    const point *at = context;
    if (node->op == SPAD_EXPR_PARAM) {
        *out = at->params[node->value];
        return true;
    }
    if (node->op != SPAD_EXPR_VARIABLE) return false;
    const spad_kernel_loop *loop = spad_kernel_get_loop(at->kernel, (size_t)node->value);
    if (at->last != ALL_LAST && at->last != node->value) return amount_at(at, loop->begin, out);
    return amount_at(at, loop->end, out) && spad__sub(*out, 1, out);
}

static int64_t outcome_at(const point *at, const shape_decision *d) {
    int64_t left, right;
    if (!spad__evaluate_with(at->kernel, d->left, d->left_count, leaf_at, at, &left) ||
        !spad__evaluate_with(at->kernel, d->right, d->right_count, leaf_at, at, &right)) {
        return no_outcome;
    }
    if (!d->quotient) return (left > right) - (left < right);
    return right < 1 ? no_outcome : spad__floor_div(left, right);
}

/* ---- one decision -------------------------------------------------------------------- */

typedef struct value_scan {
    point at;
    const shape_decision *d;
    size_t param;
    int64_t from; /* values below are of no interest */
    bool *moves;  /* per parameter: it grows together with `param` */
    spad__challenge_values *out;
} value_scan;

static int64_t outcome_of(const value_scan *s, int64_t value) {
    for (size_t i = 0; i < spad_kernel_param_count(s->at.kernel); i++) {
        const spad_kernel_param *row = spad_kernel_get_param(s->at.kernel, i);
        const bool defined = row->value != row->preset.value;
        if (i == s->param || s->moves[i]) {
            s->at.params[i] = value;
        } else if (defined) {
            s->at.params[i] = row->value;
        } else if (!amount_at(&s->at, row->preset, &s->at.params[i])) { /* from those in front */
            return no_outcome;
        }
    }
    return outcome_at(&s->at, s->d);
}

static void add_scanned(const value_scan *s, int64_t value) {
    spad__challenge_values *list = s->out;
    if (value < s->from || value > farthest || list->count == SPAD__CHALLENGE_VALUES) return;
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i] == value) return;
    }
    list->items[list->count++] = value;
}

static void add_around(const value_scan *s, int64_t value) {
    for (int64_t d = -1; d <= 1; d++) add_scanned(s, value + d);
}

/* The outcome differs between low and high: where it first does. */
static int64_t find_change(const value_scan *s, int64_t low, int64_t before, int64_t high) {
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (outcome_of(s, middle) == before) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return high;
}

static void scan_values(const value_scan *s) {
    int64_t value = spad__max(s->from - 1, 0);
    int64_t outcome = outcome_of(s, value);
    int changes = 0;
    while (value < farthest && changes < CHANGES_MAX) {
        const int64_t next = value - s->from < DENSE ? value + 1 : value + value / 2;
        const int64_t then = outcome_of(s, next);
        if (then != outcome) {
            add_around(s, find_change(s, value, outcome, next));
            changes++;
        }
        value = next;
        outcome = then;
    }
}

/* Is a parameter in an operand, or in what decides how far its loops and parameters go? */
static bool operand_has_param(const spad_kernel *kernel, const spad_expr_node *nodes, size_t count,
                              size_t param) {
    for (size_t i = 0; i < count; i++) {
        const size_t number = (size_t)nodes[i].value;
        spad_expr from[2] = {0, 0};
        if (nodes[i].op == SPAD_EXPR_PARAM) {
            if (number == param) return true;
            from[0] = spad_kernel_get_param(kernel, number)->preset.expr;
        } else if (nodes[i].op == SPAD_EXPR_VARIABLE) {
            const spad_kernel_loop *loop = spad_kernel_get_loop(kernel, number);
            from[0] = loop->begin.expr;
            from[1] = loop->end.expr;
        }
        for (size_t e = 0; e < 2; e++) {
            const spad_expr_info info = spad_kernel_get_expr(kernel, from[e]);
            if (operand_has_param(kernel, info.nodes, info.node_count, param)) return true;
        }
    }
    return false;
}

static bool depends_on(const spad_kernel *kernel, const shape_decision *d, size_t param) {
    return operand_has_param(kernel, d->left, d->left_count, param) ||
           operand_has_param(kernel, d->right, d->right_count, param);
}

/* All positions of the loops, with the parameter alone, and together with others. */
static void scan_decision(value_scan *s) {
    const spad_kernel *kernel = s->at.kernel;
    bool others = false;
    for (int together = 0; together <= (int)others; together++) {
        for (size_t i = 0; i < spad_kernel_param_count(kernel); i++) {
            const bool in_it = i != s->param && depends_on(kernel, s->d, i);
            s->moves[i] = together != 0 && in_it;
            others = others || in_it;
        }
        s->at.last = ALL_LAST;
        scan_values(s);
        if (s->d->loop_count == 0) continue;
        s->at.last = ALL_FIRST;
        scan_values(s);
        for (size_t l = 0; l < s->d->loop_count && s->d->loop_count > 1; l++) {
            s->at.last = (int64_t)s->d->loops[l];
            scan_values(s);
        }
    }
}

/* ---- rings --------------------------------------------------------------------------- */

/* Small ones only: they come last, and are many. */
static void add_multiples(const value_scan *s, spad_amounts amounts) {
    for (size_t i = 0; i < amounts.count; i++) {
        const int64_t depth = amounts.items[i].value;
        if (depth < 2 || depth > DENSE) continue;
        add_around(s, depth);
        add_around(s, 2 * depth);
    }
}

static void add_depths(const value_scan *s) {
    const spad_kernel *kernel = s->at.kernel;
    for (size_t i = 0; i < spad_kernel_tensor_count(kernel); i++) {
        add_multiples(s, spad_kernel_get_tensor(kernel, i)->ring);
    }
    for (size_t i = 0; i < spad_kernel_sync_count(kernel); i++) {
        add_multiples(s, spad_kernel_get_sync(kernel, i)->dims);
    }
    for (size_t i = 0; i < spad_kernel_cursor_count(kernel); i++) {
        add_multiples(s, (spad_amounts){1, &spad_kernel_get_cursor(kernel, i)->count});
    }
}

/* ---- all ----------------------------------------------------------------------------- */

spad_status spad__challenge_find_values(spad__challenge_values *out, const spad_kernel *kernel,
                                        size_t param, int64_t from, const spad_host *host,
                                        spad_error *error) {
    const size_t params = spad_kernel_param_count(kernel);
    shape_decisions *all = spad__new(host, sizeof *all);
    value_scan s = {.at = {.kernel = kernel}, .param = param, .from = from, .out = out};
    s.at.params = spad__new_array(host, params, sizeof *s.at.params);
    s.moves = spad__new_array(host, params, sizeof *s.moves);
    *out = (spad__challenge_values){.count = 0};
    const bool fine = all != NULL && s.at.params != NULL && s.moves != NULL;
    if (fine) find_decisions(all, kernel);
    for (size_t i = 0; fine && i < all->count; i++) {
        s.d = &all->items[i];
        if (depends_on(kernel, s.d, param)) scan_decision(&s);
    }
    if (fine) add_depths(&s);
    spad__free(host, all, sizeof *all);
    spad__free(host, s.at.params, params * sizeof *s.at.params);
    spad__free(host, s.moves, params * sizeof *s.moves);
    return fine ? SPAD_OK : spad__fail_host_memory(error);
}
