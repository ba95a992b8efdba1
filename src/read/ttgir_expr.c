/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers and conditions of a function as expressions of the kernel, and the parameters that they
 * are made of.
 *
 * How often a loop runs is a parameter where it depends on sizes: K / 64 rounds become K_tiles
 * rounds, and every other use of that expression follows it, so that a proof for all K_tiles is one
 * for all K. A size that is also used by itself, as a number, makes the parameter `fixed`: then
 * there is no claim about other values.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/text.h"
#include "kernel/kernel.h"
#include "read/ttgir.h"

#define TRY(call)                                     \
    do {                                              \
        const spad_status try_status = (call);        \
        if (try_status != SPAD_OK) return try_status; \
    } while (0)

/* ---- expressions --------------------------------------------------------------------- */

static spad_status unclear(spad__ttgir *t, const char *why, spad_error *error) {
    spad__ttgir_unclear(t, why);
    return spad__fail(error, SPAD_ERR_ARGUMENT, "%s", why);
}

spad_status spad__ttgir_number_expr(spad__ttgir *t, int64_t value, spad_expr *out,
                                    spad_error *error) {
    return spad_kernel_builder_number(out, t->builder, value, error);
}

static spad_status ttgir_apply(spad__ttgir *t, spad_expr_op op, spad_expr a, spad_expr b,
                               spad_expr *out, spad_error *error) {
    return spad_kernel_builder_apply(out, t->builder, op, a, b, error);
}

static spad_status apply_number(spad__ttgir *t, spad_expr_op op, spad_expr a, int64_t b,
                                spad_expr *out, spad_error *error) {
    spad_expr number;
    TRY(spad__ttgir_number_expr(t, b, &number, error));
    return ttgir_apply(t, op, a, number, out, error);
}

spad_status spad__ttgir_add_number(spad__ttgir *t, spad_expr a, int64_t b, spad_expr *out,
                                   spad_error *error) {
    *out = a;
    if (b == 0) return SPAD_OK;
    if (b == INT64_MIN) return unclear(t, "a number that does not fit", error);
    return apply_number(t, b < 0 ? SPAD_EXPR_SUB : SPAD_EXPR_ADD, a, b < 0 ? -b : b, out, error);
}

/* A parameter that stands for the expression, as it is or times *step. */
static const spad__ttgir_param *param_of(const spad__ttgir *t, spad__scalar n, int64_t *step) {
    for (size_t i = 0; i < t->params.count; i++) {
        const spad__ttgir_param *param = &t->params.items[i];
        if (param->node != n && param->trips != n) continue;
        *step = param->trips == n ? 1 : param->step;
        return param;
    }
    return NULL;
}

static bool ttgir_has_param(const spad__ttgir *t, spad__scalar n) {
    uint64_t all = 0;
    for (size_t i = 0; i < t->params.count; i++) {
        all |= t->params.items[i].any ? SPAD__TTGIR_ROUNDS_BIT : t->params.items[i].arguments;
    }
    return (spad__scalar_get(&t->scalars, n)->arguments & all) != 0;
}

/* The sizes in it are used as numbers. False: rounds that data ends are among them, of which no
 * number is known. */
static bool use_sizes(spad__ttgir *t, spad__scalar n) {
    if (spad__ttgir_has_rounds(t, n)) return false;
    assert(!spad__ttgir_is_rounds(t, n)); /* else a parameter is it */
    t->used_arguments |= spad__scalar_get(&t->scalars, n)->arguments;
    return true;
}

/* Stage (c + n) % S, where c is a number from -1 on. */
static spad_status ring_expr(spad__ttgir *t, const spad__scalar_node *node, spad_expr *out,
                             spad_error *error) {
    int64_t start, all;
    spad_expr on, count;
    const bool counted = spad__scalar_known(&t->scalars, node->c, &all);
    assert(counted); /* else it is no RING */
    (void)counted;
    if (!spad__scalar_known(&t->scalars, node->a, &start) || start < -1 || start >= all ||
        !use_sizes(t, node->a)) {
        return unclear(t, "the first stage of a ring", error);
    }
    TRY(spad__ttgir_expr(t, spad__scalar_plus(&t->scalars, node->b, start), &on, error));
    TRY(spad__ttgir_expr(t, node->c, &count, error));
    return ttgir_apply(t, SPAD_EXPR_MOD, on, count, out, error);
}

/* Phase (p + (c + n) / S) % 2; before the first stage, at -1, it is p. */
static spad_status phase_expr(spad__ttgir *t, const spad__scalar_node *node, spad_expr *out,
                              spad_error *error) {
    const spad__scalars *s = &t->scalars;
    int64_t start, phase, all;
    spad_expr on, count;
    const bool counted = spad__scalar_known(s, node->d, &all);
    assert(counted); /* else it is no PHASE */
    (void)counted;
    if (!spad__scalar_known(s, node->b, &start) || !spad__scalar_known(s, node->a, &phase) ||
        start < -1 || start >= all || phase < 0 || phase > 1 || !use_sizes(t, node->a) ||
        !use_sizes(t, node->b)) {
        return unclear(t, "the first phase of a ring", error);
    }
    TRY(spad__ttgir_expr(t, spad__scalar_plus(&t->scalars, node->c, start), &on, error));
    TRY(spad__ttgir_expr(t, node->d, &count, error));
    if (start < 0 && spad__scalar_get(s, node->c)->least < 1) {
        TRY(apply_number(t, SPAD_EXPR_LARGER, on, 0, &on, error));
    }
    TRY(ttgir_apply(t, SPAD_EXPR_DIV, on, count, &on, error));
    TRY(spad__ttgir_add_number(t, on, phase, &on, error));
    return apply_number(t, SPAD_EXPR_MOD, on, 2, out, error);
}

/* Is y + n at least 0 where the condition holds? */
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

/* Is it at least 0 by a condition around it? The rounds of a loop that ended, as K_tiles - 1 where
 * K_tiles is above 0. */
static bool is_implied(const spad__ttgir *t, spad__scalar n) {
    const spad__scalars *s = &t->scalars;
    const spad__scalar_node *node = spad__scalar_get(s, n);
    int64_t added = 0;
    if (node->op == SPAD__SCALAR_ADD && spad__scalar_is_number(s, node->b, &added)) n = node->a;
    for (int i = 1; i <= t->depth; i++) {
        if (t->conditions[i] >= 0 && scalar_implies(s, t->conditions[i], n, added)) return true;
    }
    return false;
}

static spad_status sum_expr(spad__ttgir *t, const spad__scalar_node *node, spad_expr *out,
                            spad_error *error) {
    const spad__scalar_node *right = spad__scalar_get(&t->scalars, node->b);
    const spad__scalar_node *left = spad__scalar_get(&t->scalars, node->a);
    const bool minus = right->op == SPAD__SCALAR_MUL && spad__scalar_is(&t->scalars, right->b, -1);
    const bool swapped = left->op == SPAD__SCALAR_MUL && spad__scalar_is(&t->scalars, left->b, -1);
    spad_expr a, b;
    if (swapped && !minus) {
        TRY(spad__ttgir_expr(t, node->b, &a, error));
        TRY(spad__ttgir_expr(t, left->a, &b, error));
        return ttgir_apply(t, SPAD_EXPR_SUB, a, b, out, error);
    }
    TRY(spad__ttgir_expr(t, node->a, &a, error));
    if (right->op == SPAD__SCALAR_NUMBER)
        return spad__ttgir_add_number(t, a, right->now, out, error);
    TRY(spad__ttgir_expr(t, minus ? right->a : node->b, &b, error));
    return ttgir_apply(t, minus ? SPAD_EXPR_SUB : SPAD_EXPR_ADD, a, b, out, error);
}

/* The exclusive or of two bits. */
static spad_status xor_expr(spad__ttgir *t, const spad__scalar_node *node, spad_expr *out,
                            spad_error *error) {
    spad_expr a, b;
    if (!spad__scalar_get(&t->scalars, node->a)->bit ||
        !spad__scalar_get(&t->scalars, node->b)->bit) {
        return unclear(t, "bits of a number", error);
    }
    TRY(spad__ttgir_expr(t, node->a, &a, error));
    TRY(spad__ttgir_expr(t, node->b, &b, error));
    TRY(ttgir_apply(t, SPAD_EXPR_ADD, a, b, &a, error));
    return apply_number(t, SPAD_EXPR_MOD, a, 2, out, error);
}

/* A quotient, rest, product, or the smaller or larger one. */
static spad_status two_expr(spad__ttgir *t, const spad__scalar_node *node, spad_expr *out,
                            spad_error *error) {
    static const spad_expr_op ops[] = {[SPAD__SCALAR_MUL] = SPAD_EXPR_MUL,
                                       [SPAD__SCALAR_DIV] = SPAD_EXPR_DIV,
                                       [SPAD__SCALAR_MOD] = SPAD_EXPR_MOD,
                                       [SPAD__SCALAR_MIN] = SPAD_EXPR_SMALLER,
                                       [SPAD__SCALAR_MAX] = SPAD_EXPR_LARGER};
    const bool divides = node->op == SPAD__SCALAR_DIV || node->op == SPAD__SCALAR_MOD;
    spad_expr a, b;
    if (divides && spad__scalar_get(&t->scalars, node->a)->least < 0) {
        return unclear(t, "the quotient of something that may be below 0", error);
    }
    if (node->op == SPAD__SCALAR_MAX && spad__scalar_is(&t->scalars, node->b, 0) &&
        is_implied(t, node->a)) {
        return spad__ttgir_expr(t, node->a, out, error);
    }
    TRY(spad__ttgir_expr(t, node->a, &a, error));
    TRY(spad__ttgir_expr(t, node->b, &b, error));
    return ttgir_apply(t, ops[node->op], a, b, out, error);
}

/* A condition that data decides. */
static spad_status unknown_expr(spad__ttgir *t, spad__scalar n, spad_expr *out, spad_error *error) {
    for (size_t i = 0; i < t->unknown_count; i++) {
        if (t->unknowns[i].scalars[t->rank] != n) continue;
        *out = t->unknowns[i].expr;
        return SPAD_OK;
    }
    return unclear(t, "a value that data decides", error);
}

spad_status spad__ttgir_expr(spad__ttgir *t, spad__scalar n, spad_expr *out, spad_error *error) {
    if (n < 0) return unclear(t, "a number", error);
    const spad__scalar_node node = *spad__scalar_get(&t->scalars, n);
    int64_t step;
    const spad__ttgir_param *param = param_of(t, n, &step);
    if (param != NULL) {
        *out = param->expr;
        if (step == 1) return SPAD_OK;
        return apply_number(t, SPAD_EXPR_MUL, param->expr, step, out, error);
    }
    if (node.known && !node.moves && (node.op == SPAD__SCALAR_ARGUMENT || !ttgir_has_param(t, n))) {
        if (!use_sizes(t, n)) return unclear(t, "a number of rounds that data ends", error);
        return spad__ttgir_number_expr(t, node.now, out, error);
    }
    switch (node.op) {
    case SPAD__SCALAR_ROUND: *out = t->rounds.items[node.value]; return SPAD_OK;
    case SPAD__SCALAR_ADD: return sum_expr(t, &node, out, error);
    case SPAD__SCALAR_DIV:
    case SPAD__SCALAR_MOD:
    case SPAD__SCALAR_MUL:
    case SPAD__SCALAR_MIN:
    case SPAD__SCALAR_MAX: return two_expr(t, &node, out, error);
    case SPAD__SCALAR_XOR: return xor_expr(t, &node, out, error);
    case SPAD__SCALAR_DATA: return unknown_expr(t, n, out, error);
    case SPAD__SCALAR_RING: return ring_expr(t, &node, out, error);
    case SPAD__SCALAR_PHASE: return phase_expr(t, &node, out, error);
    default: return unclear(t, "a value that changes irregularly", error);
    }
}

/* ---- conditions ---------------------------------------------------------------------- */

enum { TERMS = 8, ATOMS = 8 };

typedef struct spad__ttgir_term {
    size_t count;
    spad__scalar nodes[ATOMS];
    bool negated[ATOMS];
} spad__ttgir_term;

/* A condition as "and" lists with "or" between them. */
typedef struct spad__ttgir_terms {
    size_t count;
    spad__ttgir_term items[TERMS];
} spad__ttgir_terms;

static bool any_of(const spad__ttgir_terms *a, const spad__ttgir_terms *b, spad__ttgir_terms *out) {
    *out = *a;
    if (a->count + b->count > TERMS) return false;
    for (size_t i = 0; i < b->count; i++) out->items[out->count++] = b->items[i];
    return true;
}

static bool all_of(const spad__ttgir_terms *a, const spad__ttgir_terms *b, spad__ttgir_terms *out) {
    out->count = 0;
    for (size_t i = 0; i < a->count; i++) {
        for (size_t j = 0; j < b->count; j++) {
            if (out->count == TERMS || a->items[i].count + b->items[j].count > ATOMS) return false;
            spad__ttgir_term *term = &out->items[out->count++];
            *term = a->items[i];
            for (size_t k = 0; k < b->items[j].count; k++) {
                term->nodes[term->count] = b->items[j].nodes[k];
                term->negated[term->count++] = b->items[j].negated[k];
            }
        }
    }
    return true;
}

static bool terms_of(const spad__scalars *s, spad__scalar n, bool negated, spad__ttgir_terms *out) {
    const spad__scalar_node *node = spad__scalar_get(s, n);
    spad__ttgir_terms a, b;
    if (node->op == SPAD__SCALAR_NUMBER) {
        *out = (spad__ttgir_terms){.count = (node->now != 0) != negated ? 1 : 0};
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
        spad__ttgir_terms yes, no;
        if (!terms_of(s, node->a, false, &a) || !terms_of(s, node->b, negated, &b)) return false;
        if (!all_of(&a, &b, &yes)) return false;
        if (!terms_of(s, node->a, true, &a) || !terms_of(s, node->c, negated, &b)) return false;
        return all_of(&a, &b, &no) && any_of(&yes, &no, out);
    }
    *out = (spad__ttgir_terms){.count = 1, .items = {{.count = 1, .nodes = {n}}}};
    out->items[0].negated[0] = negated;
    return true;
}

static spad_status comparison_of(spad__ttgir *t, spad__scalar n, bool negated, spad_comparison *out,
                                 spad_error *error) {
    const spad__scalar_node node = *spad__scalar_get(&t->scalars, n);
    switch (node.op) {
    case SPAD__SCALAR_EQUAL: out->relation = negated ? SPAD_NOT_EQUAL : SPAD_EQUAL; break;
    case SPAD__SCALAR_LESS: out->relation = negated ? SPAD_GREATER_EQUAL : SPAD_LESS; break;
    case SPAD__SCALAR_AT_MOST: out->relation = negated ? SPAD_GREATER : SPAD_LESS_EQUAL; break;
    default:
        out->relation = negated ? SPAD_EQUAL : SPAD_NOT_EQUAL;
        TRY(spad__ttgir_expr(t, n, &out->left, error));
        return spad__ttgir_number_expr(t, 0, &out->right, error);
    }
    TRY(spad__ttgir_expr(t, node.a, &out->left, error));
    return spad__ttgir_expr(t, node.b, &out->right, error);
}

spad_status spad__ttgir_emit_if(spad__ttgir *t, const spad__ttgir_note *note, spad_error *error) {
    spad_comparison list[TERMS * ATOMS + 1];
    spad__ttgir_terms terms;
    size_t count = 0;
    assert(note->scalar >= 0); /* it is below 0 where there is no memory: nothing is emitted then */
    if (!terms_of(&t->scalars, note->scalar, false, &terms)) {
        return unclear(t, "a condition", error);
    }
    for (size_t i = 0; i < terms.count; i++) {
        for (size_t k = 0; k < terms.items[i].count; k++) {
            list[count] = (spad_comparison){.alternative = k == 0 && i > 0};
            TRY(comparison_of(t, terms.items[i].nodes[k], terms.items[i].negated[k], &list[count],
                              error));
            count++;
        }
    }
    if (count == 0) { /* never, or always */
        spad_expr zero;
        TRY(spad__ttgir_number_expr(t, 0, &zero, error));
        list[count++] =
            (spad_comparison){zero, terms.count > 0 ? SPAD_EQUAL : SPAD_NOT_EQUAL, zero, false};
    }
    return spad_kernel_builder_if(t->builder, list, count, error);
}

/* ---- parameters ---------------------------------------------------------------------- */

static void param_name(const spad__ttgir *t, uint64_t arguments, char *name) {
    strcpy(name, "trips");
    for (size_t i = 0; i < t->arguments.count && i < 63; i++) {
        if (arguments != UINT64_C(1) << i) continue;
        char word[SPAD__TTGIR_NAME];
        spad__ttgir_word_name(t, t->arguments.items[i].name, word);
        snprintf(name, SPAD__TTGIR_NAME, "%.30s_tiles", word[0] != '\0' ? word : "size");
    }
}

/* (x + step - 1) / step rounds: for an x that is a multiple of step, x is rounds * step. */
static void find_multiple(const spad__ttgir *t, spad__scalar trips, spad__ttgir_param *param) {
    const spad__scalars *s = &t->scalars;
    const spad__scalar_node *node = spad__scalar_get(s, trips);
    int64_t step, now;
    param->trips = param->node = trips;
    param->step = 1;
    if (node->op != SPAD__SCALAR_DIV || spad__scalar_get(s, node->b)->arguments != 0) return;
    step = spad__scalar_get(s, node->b)->now;
    assert(spad__scalar_get(s, node->b)->known && step > 0); /* else it is no DIV */
    const spad__scalar_node *sum = spad__scalar_get(s, node->a);
    if (sum->op != SPAD__SCALAR_ADD || !spad__scalar_is(s, sum->b, step - 1)) return;
    assert(spad__scalar_get(s, sum->a)->known); /* as the rounds are */
    now = spad__scalar_get(s, sum->a)->now;
    if (now % step != 0) return;
    param->node = sum->a;
    param->step = step;
    param->value = now / step;
}

/* A number of rounds without the number that is added at its end: K / 64 - 1. */
static spad__scalar without_number(const spad__ttgir *t, spad__scalar trips, int64_t *added) {
    const spad__scalar_node *node = spad__scalar_get(&t->scalars, trips);
    *added = 0;
    if (node->op != SPAD__SCALAR_ADD || node->moves) return trips;
    return spad__scalar_is_number(&t->scalars, node->b, added) ? node->a : trips;
}

static spad_status param_for(spad__ttgir *t, spad__scalar trips, const spad__ttgir_param **out,
                             spad_error *error) {
    const spad__scalar_node *node = spad__scalar_get(&t->scalars, trips);
    spad__ttgir_param param = {.value = node->now, .arguments = node->arguments};
    *out = NULL;
    if (node->data && !t->any_rounds) {
        return unclear(t, "how often a loop runs is decided by data", error);
    }
    if (node->data || spad__ttgir_is_rounds(t, trips)) {
        param = (spad__ttgir_param){.value = node->data ? SPAD__TTGIR_ROUNDS_OF_DATA : node->now,
                                    .any = true,
                                    .trips = trips,
                                    .node = trips,
                                    .step = 1};
    } else if (node->moves || node->arguments == 0) {
        return SPAD_OK;
    } else if (!node->known) {
        return unclear(t, "how often a loop runs", error);
    } else {
        find_multiple(t, trips, &param);
    }
    for (size_t i = 0; i < t->params.count; i++) {
        if (t->params.items[i].node == param.node && t->params.items[i].step == param.step) {
            *out = &t->params.items[i];
            return SPAD_OK;
        }
    }
    if (!spad__array_reserve(t->host, &t->params, 1)) return spad__fail_host_memory(error);
    param_name(t, param.arguments, param.name);
    if (!spad__ttgir_unique(t, param.name, "")) return spad__fail_host_memory(error);
    const spad_amount preset = {.value = param.value};
    TRY(spad_kernel_builder_param(&param.expr, t->builder, param.name, preset, error));
    if (param.any) TRY(spad_kernel_builder_any(t->builder, param.name, error));
    t->params.items[t->params.count++] = param;
    *out = &t->params.items[t->params.count - 1];
    return SPAD_OK;
}

spad_status spad__ttgir_rounds_param(spad__ttgir *t, spad__scalar trips,
                                     const spad__ttgir_param **out, int64_t *added,
                                     spad_error *error) {
    return param_for(t, without_number(t, trips, added), out, error);
}

static spad_status emit_unknown(spad__ttgir *t, spad__ttgir_unknown *unknown, spad_error *error) {
    char name[SPAD__TTGIR_NAME];
    const spad_amount least = {.value = 0}, end = {.value = 2};
    const int64_t taken = 1;
    int64_t number;
    spad_expr first;
    spad__ttgir_word_name(t, unknown->name, name);
    if (name[0] == '\0') strcpy(name, "decided");
    if (!spad__ttgir_unique(t, name, "")) return spad__fail_host_memory(error);
    TRY(spad_kernel_builder_unknown(&number, t->builder, name, (spad_amounts){0}, least, end,
                                    &taken, 1, error));
    TRY(spad__ttgir_number_expr(t, 0, &first, error));
    return spad_kernel_builder_value(&unknown->expr, t->builder, number, first, error);
}

spad_status spad__ttgir_emit_params(spad__ttgir *t, spad_error *error) {
    const spad__ttgir_param *param;
    for (size_t i = 0; i < t->unknown_count; i++) TRY(emit_unknown(t, &t->unknowns[i], error));
    for (size_t i = 0; i < t->notes.count; i++) {
        const spad__ttgir_note *note = &t->notes.items[i];
        if (note->kind != SPAD__NOTE_FOR) continue;
        int64_t added;
        assert(note->scalar >= 0); /* as that of a condition */
        TRY(spad__ttgir_rounds_param(t, note->scalar, &param, &added, error));
    }
    return SPAD_OK;
}

spad_status spad__ttgir_fix_params(spad__ttgir *t, spad_error *error) {
    for (size_t i = 0; i < t->params.count; i++) {
        const spad__ttgir_param *param = &t->params.items[i];
        bool fixed = (param->arguments & t->used_arguments) != 0;
        for (size_t k = 0; k < t->params.count; k++) { /* of one size, and not of one another */
            if (k != i && (t->params.items[k].arguments & param->arguments) != 0) fixed = true;
        }
        if (fixed) TRY(spad_kernel_builder_fix(t->builder, param->name, error));
    }
    return SPAD_OK;
}
