/* SPDX-License-Identifier: Apache-2.0 */
#include "support/kernel_features.h"
#include "kernel/kernel.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "spad/experimental/kernel_rows.h"
#include "support/rarest_pairs.h"

typedef enum feature {
    NESTED_LOOPS,
    OTHER_LOOPS,
    ELSE,
    NESTED_IFS,
    BREAK,
    SCOPE,
    AND,
    OR,
    JOINT,
    EQUALITY,
    REST_IN_IF,
    LEAST_IN_IF,
    UNKNOWN,
    CONSTANT_INDEX,
    REST_INDEX,
    QUOTIENT_INDEX,
    LEAST_INDEX,
    PRODUCT_INDEX,
    CURSOR,
    UPDATE,
    PART,
    MAY,
    COUNTER,
    MBARRIER,
    DELIVERY,
    BARRIER,
    GROUP,
    UNIT,
    FENCE,
    RING,
    FIXED,
    MODULO,
    ALIAS,
    INPUT,
    ALLOC,
    ANY,
    FEATURES
} feature;

static const char *const feature_names[FEATURES] = {
    [NESTED_LOOPS] = "loop in a loop",
    [OTHER_LOOPS] = "step or moving bounds",
    [ELSE] = "else",
    [NESTED_IFS] = "if in an if",
    [BREAK] = "break",
    [SCOPE] = "scope",
    [AND] = "and",
    [OR] = "or",
    [JOINT] = "if on two trip counts",
    [EQUALITY] = "== or !=",
    [REST_IN_IF] = "% in if",
    [LEAST_IN_IF] = "min, max in if",
    [UNKNOWN] = "unknown",
    [CONSTANT_INDEX] = "constant index",
    [REST_INDEX] = "% in index",
    [QUOTIENT_INDEX] = "/ in index",
    [LEAST_INDEX] = "min, max in index",
    [PRODUCT_INDEX] = "product in index",
    [CURSOR] = "cursor",
    [UPDATE] = "update or add",
    [PART] = "part of a tile",
    [MAY] = "may",
    [COUNTER] = "counter",
    [MBARRIER] = "mbarrier",
    [DELIVERY] = "delivered bytes",
    [BARRIER] = "barrier",
    [GROUP] = "group",
    [UNIT] = "unit",
    [FENCE] = "fence",
    [RING] = "ring",
    [FIXED] = "fixed place",
    [MODULO] = "modulo",
    [ALIAS] = "alias",
    [INPUT] = "input on chip",
    [ALLOC] = "alloc, free",
    [ANY] = "any",
};

/* ---- one kernel ---------------------------------------------------------------------- */

typedef struct found {
    const spad_kernel *kernel;
    bool has[FEATURES];
} found;

static bool has_op(const found *f, spad_expr expr, spad_expr_op op) {
    const spad_expr_info info = spad_kernel_get_expr(f->kernel, expr);
    for (size_t n = 0; n < info.written_count; n++) {
        if (info.written[n].op == op) return true;
    }
    return false;
}

static bool has_least(const found *f, spad_expr expr) {
    return has_op(f, expr, SPAD_EXPR_SMALLER) || has_op(f, expr, SPAD_EXPR_LARGER);
}

/* Marks the parameters that an expression depends on, directly or by the bounds of its loops. */
static unsigned params_of(const found *f, spad_expr expr) {
    const spad_expr_info info = spad_kernel_get_expr(f->kernel, expr);
    unsigned params = 0;
    for (size_t n = 0; n < info.node_count; n++) {
        const spad_expr_node *node = &info.nodes[n];
        if (node->op == SPAD_EXPR_PARAM) params |= 1U << (unsigned)node->value % 32;
        if (node->op != SPAD_EXPR_VARIABLE) continue;
        params |= params_of(f, spad_kernel_get_loop(f->kernel, (size_t)node->value)->end.expr);
    }
    return params;
}

static void look_at_condition(found *f, const spad_statement *s) {
    unsigned params = 0;
    if ((s->flags & SPAD_IF_OF_LOOP) != 0) return;
    for (size_t i = 0; i < s->comparison_count; i++) {
        const spad_comparison *c = &s->comparisons[i];
        params |= params_of(f, c->left) | params_of(f, c->right);
        if (i > 0) f->has[c->alternative ? OR : AND] = true;
        if (c->relation <= SPAD_NOT_EQUAL) f->has[EQUALITY] = true;
        if (has_op(f, c->left, SPAD_EXPR_MOD)) f->has[REST_IN_IF] = true;
        if (has_least(f, c->left) || has_least(f, c->right)) f->has[LEAST_IN_IF] = true;
    }
    if ((params & (params - 1)) != 0) f->has[JOINT] = true;
    for (int64_t up = s->parent; up >= 0;) {
        const spad_statement *outer = spad_kernel_get_statement(f->kernel, (size_t)up);
        const bool of_text =
            outer->kind == SPAD_STATEMENT_IF && (outer->flags & SPAD_IF_OF_LOOP) == 0;
        if (of_text) f->has[NESTED_IFS] = true;
        up = outer->parent;
    }
}

static void look_at_index(found *f, spad_expr index) {
    const spad_expr_info info = spad_kernel_get_expr(f->kernel, index);
    if (info.constant) f->has[CONSTANT_INDEX] = true;
    if (has_op(f, index, SPAD_EXPR_MOD)) f->has[REST_INDEX] = true;
    if (has_op(f, index, SPAD_EXPR_DIV)) f->has[QUOTIENT_INDEX] = true;
    if (has_op(f, index, SPAD_EXPR_MUL)) f->has[PRODUCT_INDEX] = true;
    if (has_least(f, index)) f->has[LEAST_INDEX] = true;
}

static void look_at_statement(found *f, const spad_statement *s) {
    switch (s->kind) {
    case SPAD_STATEMENT_IF: look_at_condition(f, s); break;
    case SPAD_STATEMENT_ELSE: f->has[ELSE] = true; break;
    case SPAD_STATEMENT_BREAK: f->has[BREAK] = true; break;
    case SPAD_STATEMENT_SCOPE: f->has[SCOPE] = true; break;
    case SPAD_STATEMENT_ALLOC:
    case SPAD_STATEMENT_FREE: f->has[ALLOC] = true; break;
    case SPAD_STATEMENT_SYNC: f->has[BARRIER] = true; break;
    case SPAD_STATEMENT_SIGNAL:
    case SPAD_STATEMENT_WAIT_VALUE:
    case SPAD_STATEMENT_TAKE: f->has[COUNTER] = true; break;
    case SPAD_STATEMENT_WAIT_PARITY: f->has[MBARRIER] = true; break;
    case SPAD_STATEMENT_COMMIT: f->has[GROUP] = true; break;
    case SPAD_STATEMENT_FENCE: f->has[FENCE] = true; break;
    case SPAD_STATEMENT_ADVANCE: f->has[CURSOR] = true; break;
    case SPAD_STATEMENT_OPERATION: f->has[UNIT] = f->has[UNIT] || s->unit >= 0; break;
    default: break;
    }
}

static void look_at_access(found *f, const spad_kernel_access *a) {
    if ((a->kind & SPAD_ACCESS_ADD) == SPAD_ACCESS_UPDATE ||
        (a->kind & SPAD_ACCESS_ADD) == SPAD_ACCESS_ADD) {
        f->has[UPDATE] = true;
    }
    if ((a->kind & SPAD_ACCESS_MAY) != 0) f->has[MAY] = true;
    if (a->range_count > 0) f->has[PART] = true;
    for (size_t i = 0; i < a->index_count; i++) look_at_index(f, a->index[i]);
}

static void look_at_tensor(found *f, const spad_kernel_tensor *t) {
    const bool off_chip = spad_kernel_get_target(f->kernel)->spaces[t->space].off_chip;
    if (t->ring.count > 0) f->has[RING] = true;
    if (t->mode == SPAD_MODE_AT) f->has[FIXED] = true;
    if (t->mode == SPAD_MODE_MOD) f->has[MODULO] = true;
    if (t->mode == SPAD_MODE_ALIAS) f->has[ALIAS] = true;
    if (!off_chip && (t->flags & SPAD_TENSOR_INPUT) != 0) f->has[INPUT] = true;
}

static void find_features(found *f) {
    const spad_kernel *k = f->kernel;
    for (size_t i = 0; i < spad_kernel_param_count(k); i++) {
        f->has[ANY] |= spad_kernel_get_param(k, i)->any;
    }
    for (size_t i = 0; i < spad_kernel_tensor_count(k); i++) {
        look_at_tensor(f, spad_kernel_get_tensor(k, i));
    }
    for (size_t i = 0; i < spad_kernel_loop_count(k); i++) {
        const spad_kernel_loop *loop = spad_kernel_get_loop(k, i);
        if (loop->outer >= 0) f->has[NESTED_LOOPS] = true;
        if (loop->from != 0) f->has[OTHER_LOOPS] = true;
    }
    for (size_t i = 0; i < spad_kernel_statement_count(k); i++) {
        look_at_statement(f, spad_kernel_get_statement(k, i));
    }
    for (size_t i = 0; i < spad__kernel_access_count(k); i++) {
        look_at_access(f, spad_kernel_get_access(k, i));
    }
    for (size_t i = 0; i < k->completions.count; i++) {
        if (spad_kernel_get_completion(k, i)->kind == SPAD_COMPLETION_DELIVER) {
            f->has[DELIVERY] = true;
        }
    }
    f->has[UNKNOWN] = spad_kernel_unknown_count(k) > 0;
}

/* ---- pairs --------------------------------------------------------------------------- */

void feature_pairs_add(feature_pairs *pairs, const char *text) {
    spad_kernel *kernel;
    if (spad_kernel_parse(&kernel, text, strlen(text), "k", NULL, NULL, NULL) != SPAD_OK) return;
    found f = {.kernel = kernel};
    find_features(&f);
    pairs->kernels++;
    for (int a = 0; a < FEATURES; a++) {
        for (int b = 0; b <= a; b++) pairs->met[a][b] += f.has[a] && f.has[b];
    }
    spad_kernel_destroy(kernel);
}

long feature_pairs_missing(const feature_pairs *pairs, long least) {
    long missing = 0;
    for (int a = 0; a < FEATURES; a++) {
        for (int b = 0; b < a; b++) {
            if (pairs->met[a][b] >= least) continue;
            printf("'%s' and '%s' meet in %ld kernels\n", feature_names[b], feature_names[a],
                   pairs->met[a][b]);
            missing++;
        }
    }
    return missing;
}

static int64_t features_met(int a, int b, const void *context) {
    const feature_pairs *pairs = context;
    return a > b ? pairs->met[a][b] : pairs->met[b][a];
}

void feature_pairs_write(const feature_pairs *pairs) {
    printf("Result: %ld kernels.\n\n", pairs->kernels);
    write_rarest_pairs("feature", feature_names, FEATURES, features_met, pairs);
}
