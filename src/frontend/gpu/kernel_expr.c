/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers and conditions as expressions of the kernel. See kernel_expr.h.
 */
#include "frontend/gpu/kernel_expr.h"

#include <assert.h>

#include "base/checked.h"
#include "frontend/gpu/data_iterations.h"
#include "kernel/kernel_builder.h"
#include "spad/experimental/kernel_rows.h"

/* ---- expressions --------------------------------------------------------------------- */

static spad_status refuse_expr(spad__gpu *g, const char *why, spad_error *error) {
    spad__gpu_unresolved(g, why);
    return spad__fail(error, SPAD_ERR_ARGUMENT, "%s", why);
}

spad_status spad__gpu_number_expr(spad__gpu *g, int64_t value, spad_expr *out, spad_error *error) {
    return spad__kernel_builder_number(out, g->emission.builder, value, error);
}

static spad_status apply_exprs(spad__gpu *g, spad_expr_op op, spad_expr a, spad_expr b,
                               spad_expr *out, spad_error *error) {
    return spad__kernel_builder_apply(out, g->emission.builder, op, a, b, error);
}

static spad_status apply_number(spad__gpu *g, spad_expr_op op, spad_expr a, int64_t b,
                                spad_expr *out, spad_error *error) {
    spad_expr number;
    SPAD__GPU_TRY(spad__gpu_number_expr(g, b, &number, error));
    return apply_exprs(g, op, a, number, out, error);
}

spad_status spad__gpu_add_number(spad__gpu *g, spad_expr a, int64_t b, spad_expr *out,
                                 spad_error *error) {
    *out = a;
    if (b == 0) return SPAD_OK;
    if (b == INT64_MIN) return refuse_expr(g, "a number that does not fit", error);
    return apply_number(g, b < 0 ? SPAD_EXPR_SUB : SPAD_EXPR_ADD, a, b < 0 ? -b : b, out, error);
}

/* The parameter that stands for an expression, as it is or times *step; NULL: none. */
static const spad__gpu_param *param_of(const spad__gpu *g, spad__scalar n, int64_t *step) {
    for (size_t i = 0; i < g->emission.params.count; i++) {
        const spad__gpu_param *param = &g->emission.params.items[i];
        if (param->node != n && param->trips != n) continue;
        *step = param->trips == n ? 1 : param->step;
        return param;
    }
    return NULL;
}

static bool depends_on_param(const spad__gpu *g, spad__scalar n) {
    uint64_t all = 0;
    for (size_t i = 0; i < g->emission.params.count; i++) {
        all |= g->emission.params.items[i].any ? SPAD__GPU_TRIPS_BIT
                                               : g->emission.params.items[i].arguments;
    }
    return (spad__scalar_get(&g->scalars, n)->arguments & all) != 0;
}

/* Notes that sizes are used as numbers. False: a trip count that data decides is among them, which
 * has no number. */
static bool use_sizes(spad__gpu *g, spad__scalar n) {
    if (spad__gpu_has_trip_count(g, n)) return false;
    assert(!spad__gpu_is_trip_count(g, n)); /* these have parameters */
    g->emission.used_arguments |= spad__scalar_get(&g->scalars, n)->arguments;
    return true;
}

/* Stage (c + n) % S, where c is a number from -1 on. */
static spad_status ring_expr(spad__gpu *g, const spad__scalar_node *node, spad_expr *out,
                             spad_error *error) {
    int64_t start, all;
    spad_expr on, count;
    const bool counted = spad__scalar_known(&g->scalars, node->c, &all);
    assert(counted); /* RING is only made with a known count */
    (void)counted;
    if (!spad__scalar_known(&g->scalars, node->a, &start) || start < -1 || start >= all ||
        !use_sizes(g, node->a)) {
        return refuse_expr(g, "the first stage of a ring", error);
    }
    SPAD__GPU_TRY(spad__gpu_expr(g, spad__scalar_plus(&g->scalars, node->b, start), &on, error));
    SPAD__GPU_TRY(spad__gpu_expr(g, node->c, &count, error));
    return apply_exprs(g, SPAD_EXPR_MOD, on, count, out, error);
}

/* Phase (p + (c + n) / S) % 2; before the first stage, at -1, it is p. */
static spad_status phase_expr(spad__gpu *g, const spad__scalar_node *node, spad_expr *out,
                              spad_error *error) {
    const spad__scalars *s = &g->scalars;
    int64_t start, phase, all;
    spad_expr on, count;
    const bool counted = spad__scalar_known(s, node->d, &all);
    assert(counted); /* PHASE is only made with a known count */
    (void)counted;
    if (!spad__scalar_known(s, node->b, &start) || !spad__scalar_known(s, node->a, &phase) ||
        start < -1 || start >= all || phase < 0 || phase > 1 || !use_sizes(g, node->a) ||
        !use_sizes(g, node->b)) {
        return refuse_expr(g, "the first phase of a ring", error);
    }
    SPAD__GPU_TRY(spad__gpu_expr(g, spad__scalar_plus(&g->scalars, node->c, start), &on, error));
    SPAD__GPU_TRY(spad__gpu_expr(g, node->d, &count, error));
    if (start < 0 && spad__scalar_get(s, node->c)->least < 1) {
        SPAD__GPU_TRY(apply_number(g, SPAD_EXPR_LARGER, on, 0, &on, error));
    }
    SPAD__GPU_TRY(apply_exprs(g, SPAD_EXPR_DIV, on, count, &on, error));
    SPAD__GPU_TRY(spad__gpu_add_number(g, on, phase, &on, error));
    return apply_number(g, SPAD_EXPR_MOD, on, 2, out, error);
}

/* True if the condition implies y + n >= 0. */
static bool scalar_implies(const spad__scalars *s, spad__scalar condition, spad__scalar y,
                           int64_t n) {
    const spad__scalar_node *node = spad__scalar_get(s, condition);
    int64_t least;
    if (node->op == SPAD__SCALAR_AND)
        return scalar_implies(s, node->a, y, n) || scalar_implies(s, node->b, y, n);
    if (node->op != SPAD__SCALAR_LESS && node->op != SPAD__SCALAR_AT_MOST) return false;
    return node->b == y && spad__scalar_is_number(s, node->a, &least) &&
           spad__add(least, node->op == SPAD__SCALAR_LESS, &least) && spad__add(least, n, &least) &&
           least >= 0;
}

/* True if an open condition implies n >= 0, as for the K_tiles - 1 iterations of a loop where
 * K_tiles > 0. */
static bool is_implied(const spad__gpu *g, spad__scalar n) {
    const spad__scalars *s = &g->scalars;
    const spad__scalar_node *node = spad__scalar_get(s, n);
    int64_t added = 0;
    if (node->op == SPAD__SCALAR_ADD && spad__scalar_is_number(s, node->b, &added)) n = node->a;
    for (int i = 1; i <= g->emission.depth; i++) {
        if (g->emission.open[i].condition >= 0 &&
            scalar_implies(s, g->emission.open[i].condition, n, added))
            return true;
    }
    return false;
}

static spad_status sum_expr(spad__gpu *g, const spad__scalar_node *node, spad_expr *out,
                            spad_error *error) {
    const spad__scalar_node *right = spad__scalar_get(&g->scalars, node->b);
    const spad__scalar_node *left = spad__scalar_get(&g->scalars, node->a);
    const bool minus = right->op == SPAD__SCALAR_MUL && spad__scalar_is(&g->scalars, right->b, -1);
    const bool swapped = left->op == SPAD__SCALAR_MUL && spad__scalar_is(&g->scalars, left->b, -1);
    spad_expr a, b;
    if (swapped && !minus) {
        SPAD__GPU_TRY(spad__gpu_expr(g, node->b, &a, error));
        SPAD__GPU_TRY(spad__gpu_expr(g, left->a, &b, error));
        return apply_exprs(g, SPAD_EXPR_SUB, a, b, out, error);
    }
    SPAD__GPU_TRY(spad__gpu_expr(g, node->a, &a, error));
    if (right->op == SPAD__SCALAR_NUMBER) return spad__gpu_add_number(g, a, right->now, out, error);
    SPAD__GPU_TRY(spad__gpu_expr(g, minus ? right->a : node->b, &b, error));
    return apply_exprs(g, minus ? SPAD_EXPR_SUB : SPAD_EXPR_ADD, a, b, out, error);
}

/* The exclusive or of two bits. */
static spad_status xor_expr(spad__gpu *g, const spad__scalar_node *node, spad_expr *out,
                            spad_error *error) {
    spad_expr a, b;
    if (!spad__scalar_get(&g->scalars, node->a)->bit ||
        !spad__scalar_get(&g->scalars, node->b)->bit) {
        return refuse_expr(g, "bits of a number", error);
    }
    SPAD__GPU_TRY(spad__gpu_expr(g, node->a, &a, error));
    SPAD__GPU_TRY(spad__gpu_expr(g, node->b, &b, error));
    SPAD__GPU_TRY(apply_exprs(g, SPAD_EXPR_ADD, a, b, &a, error));
    return apply_number(g, SPAD_EXPR_MOD, a, 2, out, error);
}

/* A quotient, remainder, product, minimum or maximum. */
static spad_status two_expr(spad__gpu *g, const spad__scalar_node *node, spad_expr *out,
                            spad_error *error) {
    static const spad_expr_op ops[] = {[SPAD__SCALAR_MUL] = SPAD_EXPR_MUL,
                                       [SPAD__SCALAR_DIV] = SPAD_EXPR_DIV,
                                       [SPAD__SCALAR_MOD] = SPAD_EXPR_MOD,
                                       [SPAD__SCALAR_MIN] = SPAD_EXPR_SMALLER,
                                       [SPAD__SCALAR_MAX] = SPAD_EXPR_LARGER};
    const bool divides = node->op == SPAD__SCALAR_DIV || node->op == SPAD__SCALAR_MOD;
    spad_expr a, b;
    if (divides && spad__scalar_get(&g->scalars, node->a)->least < 0) {
        return refuse_expr(g, "the quotient of something that may be below 0", error);
    }
    if (node->op == SPAD__SCALAR_MAX && spad__scalar_is(&g->scalars, node->b, 0) &&
        is_implied(g, node->a)) {
        return spad__gpu_expr(g, node->a, out, error);
    }
    SPAD__GPU_TRY(spad__gpu_expr(g, node->a, &a, error));
    SPAD__GPU_TRY(spad__gpu_expr(g, node->b, &b, error));
    return apply_exprs(g, ops[node->op], a, b, out, error);
}

/* A condition that data decides, or a flag that a loop carries. */
static spad_status unknown_expr(spad__gpu *g, spad__scalar n, spad_expr *out, spad_error *error) {
    for (size_t i = 0; i < g->unknowns.count; i++) {
        if (g->unknowns.items[i].scalars[g->cluster.block] != n) continue;
        *out = g->unknowns.items[i].expr;
        return SPAD_OK;
    }
    const bool carried = spad__scalar_get(&g->scalars, n)->op == SPAD__SCALAR_CARRIED;
    return refuse_expr(
        g, carried ? "a value that changes irregularly" : "a value that data decides", error);
}

spad_status spad__gpu_expr(spad__gpu *g, spad__scalar n, spad_expr *out, spad_error *error) {
    if (n < 0) return refuse_expr(g, "a number", error);
    const spad__scalar_node node = *spad__scalar_get(&g->scalars, n);
    int64_t step;
    const spad__gpu_param *param = param_of(g, n, &step);
    if (param != NULL) {
        *out = param->expr;
        if (step == 1) return SPAD_OK;
        return apply_number(g, SPAD_EXPR_MUL, param->expr, step, out, error);
    }
    if (node.known && !node.moves &&
        (node.op == SPAD__SCALAR_ARGUMENT || !depends_on_param(g, n))) {
        if (!use_sizes(g, n)) return refuse_expr(g, "a number of rounds that data ends", error);
        return spad__gpu_number_expr(g, node.now, out, error);
    }
    switch (node.op) {
    case SPAD__SCALAR_ITERATION: *out = g->emission.iterations.items[node.value]; return SPAD_OK;
    case SPAD__SCALAR_ADD: return sum_expr(g, &node, out, error);
    case SPAD__SCALAR_DIV:
    case SPAD__SCALAR_MOD:
    case SPAD__SCALAR_MUL:
    case SPAD__SCALAR_MIN:
    case SPAD__SCALAR_MAX: return two_expr(g, &node, out, error);
    case SPAD__SCALAR_XOR: return xor_expr(g, &node, out, error);
    case SPAD__SCALAR_CARRIED:
    case SPAD__SCALAR_DATA: return unknown_expr(g, n, out, error);
    case SPAD__SCALAR_RING: return ring_expr(g, &node, out, error);
    case SPAD__SCALAR_PHASE: return phase_expr(g, &node, out, error);
    default: return refuse_expr(g, "a value that changes irregularly", error);
    }
}

/* ---- conditions ---------------------------------------------------------------------- */

enum { TERMS_MOST_OF_IF = 8, ATOMS_MOST = 8 };

typedef struct spad__gpu_term {
    size_t count;
    spad__scalar nodes[ATOMS_MOST];
    bool negated[ATOMS_MOST];
} spad__gpu_term;

/* A condition in disjunctive normal form. */
typedef struct spad__gpu_terms {
    size_t count;
    spad__gpu_term items[TERMS_MOST_OF_IF];
} spad__gpu_terms;

static bool any_of(const spad__gpu_terms *a, const spad__gpu_terms *b, spad__gpu_terms *out) {
    *out = *a;
    if (a->count + b->count > TERMS_MOST_OF_IF) return false;
    for (size_t i = 0; i < b->count; i++) out->items[out->count++] = b->items[i];
    return true;
}

static bool all_of(const spad__gpu_terms *a, const spad__gpu_terms *b, spad__gpu_terms *out) {
    out->count = 0;
    for (size_t i = 0; i < a->count; i++) {
        for (size_t j = 0; j < b->count; j++) {
            if (out->count == TERMS_MOST_OF_IF ||
                a->items[i].count + b->items[j].count > ATOMS_MOST)
                return false;
            spad__gpu_term *term = &out->items[out->count++];
            *term = a->items[i];
            for (size_t k = 0; k < b->items[j].count; k++) {
                term->nodes[term->count] = b->items[j].nodes[k];
                term->negated[term->count++] = b->items[j].negated[k];
            }
        }
    }
    return true;
}

static bool terms_of(const spad__scalars *s, spad__scalar n, bool negated, spad__gpu_terms *out) {
    const spad__scalar_node *node = spad__scalar_get(s, n);
    spad__gpu_terms a, b;
    if (node->op == SPAD__SCALAR_NUMBER) {
        *out = (spad__gpu_terms){.count = (node->now != 0) != negated ? 1 : 0};
        return true;
    }
    if (node->op == SPAD__SCALAR_XOR && spad__scalar_is(s, node->b, 1)) {
        return terms_of(s, node->a, !negated, out);
    }
    if (node->op == SPAD__SCALAR_AND || node->op == SPAD__SCALAR_OR) {
        if (!terms_of(s, node->a, negated, &a) || !terms_of(s, node->b, negated, &b)) return false;
        return (node->op == SPAD__SCALAR_AND) != negated ? all_of(&a, &b, out)
                                                         : any_of(&a, &b, out);
    }
    if (node->op == SPAD__SCALAR_SELECT) {
        spad__gpu_terms yes, no;
        if (!terms_of(s, node->a, false, &a) || !terms_of(s, node->b, negated, &b)) return false;
        if (!all_of(&a, &b, &yes)) return false;
        if (!terms_of(s, node->a, true, &a) || !terms_of(s, node->c, negated, &b)) return false;
        return all_of(&a, &b, &no) && any_of(&yes, &no, out);
    }
    *out = (spad__gpu_terms){.count = 1, .items = {{.count = 1, .nodes = {n}}}};
    out->items[0].negated[0] = negated;
    return true;
}

static spad_status comparison_of(spad__gpu *g, spad__scalar n, bool negated, spad_comparison *out,
                                 spad_error *error) {
    const spad__scalar_node node = *spad__scalar_get(&g->scalars, n);
    switch (node.op) {
    case SPAD__SCALAR_EQUAL: out->relation = negated ? SPAD_NOT_EQUAL : SPAD_EQUAL; break;
    case SPAD__SCALAR_LESS: out->relation = negated ? SPAD_GREATER_EQUAL : SPAD_LESS; break;
    case SPAD__SCALAR_AT_MOST: out->relation = negated ? SPAD_GREATER : SPAD_LESS_EQUAL; break;
    default:
        out->relation = negated ? SPAD_EQUAL : SPAD_NOT_EQUAL;
        SPAD__GPU_TRY(spad__gpu_expr(g, n, &out->left, error));
        return spad__gpu_number_expr(g, 0, &out->right, error);
    }
    SPAD__GPU_TRY(spad__gpu_expr(g, node.a, &out->left, error));
    return spad__gpu_expr(g, node.b, &out->right, error);
}

spad_status spad__gpu_emit_if(spad__gpu *g, spad__scalar condition, spad_error *error) {
    spad_comparison list[TERMS_MOST_OF_IF * ATOMS_MOST + 1];
    spad__gpu_terms terms;
    size_t count = 0;
    assert(condition >= 0); /* below 0 only without host memory, and then nothing is emitted */
    if (!terms_of(&g->scalars, condition, false, &terms)) {
        return refuse_expr(g, "a condition", error);
    }
    for (size_t i = 0; i < terms.count; i++) {
        for (size_t k = 0; k < terms.items[i].count; k++) {
            list[count] = (spad_comparison){.alternative = k == 0 && i > 0};
            SPAD__GPU_TRY(comparison_of(g, terms.items[i].nodes[k], terms.items[i].negated[k],
                                        &list[count], error));
            count++;
        }
    }
    if (count == 0) { /* never, or always */
        spad_expr zero;
        SPAD__GPU_TRY(spad__gpu_number_expr(g, 0, &zero, error));
        list[count++] =
            (spad_comparison){zero, terms.count > 0 ? SPAD_EQUAL : SPAD_NOT_EQUAL, zero, false};
    }
    return spad__kernel_builder_if(g->emission.builder, list, count, error);
}
