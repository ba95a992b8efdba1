/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel of the notes, through its builder.
 *
 * How often a loop runs is a parameter where it depends on sizes: K / 64 rounds become K_tiles
 * rounds, and every other use of that expression follows it, so that a proof for all K_tiles is one
 * for all K. A size that is also used by itself, as a number, makes the parameter `fixed`: then
 * nothing is said of other values.
 */
#include <inttypes.h>
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

static spad_status expr_of(spad__ttgir *t, spad__scalar n, spad_expr *out, spad_error *error);

static spad_status unclear(spad__ttgir *t, const char *why, spad_error *error) {
    spad__ttgir_unclear(t, why);
    return spad__fail(error, SPAD_ERR_ARGUMENT, "%s", why);
}

static spad_status number_expr(spad__ttgir *t, int64_t value, spad_expr *out, spad_error *error) {
    return spad_kernel_builder_number(out, t->builder, value, error);
}

static spad_status ttgir_apply(spad__ttgir *t, spad_expr_op op, spad_expr a, spad_expr b,
                               spad_expr *out, spad_error *error) {
    return spad_kernel_builder_apply(out, t->builder, op, a, b, error);
}

static spad_status apply_number(spad__ttgir *t, spad_expr_op op, spad_expr a, int64_t b,
                                spad_expr *out, spad_error *error) {
    spad_expr number;
    TRY(number_expr(t, b, &number, error));
    return ttgir_apply(t, op, a, number, out, error);
}

/* a + b without a sum of 0 or a negative number. */
static spad_status ttgir_add_number(spad__ttgir *t, spad_expr a, int64_t b, spad_expr *out,
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
    for (size_t i = 0; i < t->params.count; i++) all |= t->params.items[i].arguments;
    return (spad__scalar_get(&t->scalars, n)->arguments & all) != 0;
}

static spad__scalar moved_by(spad__ttgir *t, spad__scalar n, int64_t by) {
    return spad__scalar_make(&t->scalars, SPAD__SCALAR_ADD, n,
                             spad__scalar_number(&t->scalars, by));
}

/* Stage (c + n) % S, where c is a number from -1 on. */
static spad_status ring_expr(spad__ttgir *t, const spad__scalar_node *node, spad_expr *out,
                             spad_error *error) {
    int64_t start, all;
    spad_expr on, count;
    if (!spad__scalar_known(&t->scalars, node->a, &start) ||
        !spad__scalar_known(&t->scalars, node->c, &all) || start < -1 || start >= all) {
        return unclear(t, "the first stage of a ring", error);
    }
    TRY(expr_of(t, moved_by(t, node->b, start), &on, error));
    TRY(expr_of(t, node->c, &count, error));
    return ttgir_apply(t, SPAD_EXPR_MOD, on, count, out, error);
}

/* Phase (p + (c + n) / S) % 2; before the first stage, at -1, it is p. */
static spad_status phase_expr(spad__ttgir *t, const spad__scalar_node *node, spad_expr *out,
                              spad_error *error) {
    const spad__scalars *s = &t->scalars;
    int64_t start, phase, all;
    spad_expr on, count;
    if (!spad__scalar_known(s, node->b, &start) || !spad__scalar_known(s, node->a, &phase) ||
        !spad__scalar_known(s, node->d, &all) || start < -1 || start >= all || phase < 0 ||
        phase > 1) {
        return unclear(t, "the first phase of a ring", error);
    }
    TRY(expr_of(t, moved_by(t, node->c, start), &on, error));
    TRY(expr_of(t, node->d, &count, error));
    if (start < 0 && spad__scalar_get(s, node->c)->least < 1) {
        TRY(apply_number(t, SPAD_EXPR_LARGER, on, 0, &on, error));
    }
    TRY(ttgir_apply(t, SPAD_EXPR_DIV, on, count, &on, error));
    TRY(ttgir_add_number(t, on, phase, &on, error));
    return apply_number(t, SPAD_EXPR_MOD, on, 2, out, error);
}

static spad_status sum_expr(spad__ttgir *t, const spad__scalar_node *node, spad_expr *out,
                            spad_error *error) {
    const spad__scalar_node *right = spad__scalar_get(&t->scalars, node->b);
    const spad__scalar_node *left = spad__scalar_get(&t->scalars, node->a);
    const bool minus = right->op == SPAD__SCALAR_MUL && spad__scalar_is(&t->scalars, right->b, -1);
    const bool swapped = left->op == SPAD__SCALAR_MUL && spad__scalar_is(&t->scalars, left->b, -1);
    spad_expr a, b;
    if (swapped && !minus) {
        TRY(expr_of(t, node->b, &a, error));
        TRY(expr_of(t, left->a, &b, error));
        return ttgir_apply(t, SPAD_EXPR_SUB, a, b, out, error);
    }
    TRY(expr_of(t, node->a, &a, error));
    if (right->op == SPAD__SCALAR_NUMBER) return ttgir_add_number(t, a, right->now, out, error);
    TRY(expr_of(t, minus ? right->a : node->b, &b, error));
    return ttgir_apply(t, minus ? SPAD_EXPR_SUB : SPAD_EXPR_ADD, a, b, out, error);
}

static spad_status expr_of(spad__ttgir *t, spad__scalar n, spad_expr *out, spad_error *error) {
    static const spad_expr_op ops[] = {[SPAD__SCALAR_MUL] = SPAD_EXPR_MUL,
                                       [SPAD__SCALAR_DIV] = SPAD_EXPR_DIV,
                                       [SPAD__SCALAR_MOD] = SPAD_EXPR_MOD,
                                       [SPAD__SCALAR_MIN] = SPAD_EXPR_SMALLER,
                                       [SPAD__SCALAR_MAX] = SPAD_EXPR_LARGER};
    if (n < 0) return unclear(t, "a number", error);
    const spad__scalar_node node = *spad__scalar_get(&t->scalars, n);
    int64_t step;
    const spad__ttgir_param *param = param_of(t, n, &step);
    spad_expr a, b;
    if (param != NULL) {
        *out = param->expr;
        if (step == 1) return SPAD_OK;
        return apply_number(t, SPAD_EXPR_MUL, param->expr, step, out, error);
    }
    if (node.known && !node.moves && (node.op == SPAD__SCALAR_ARGUMENT || !ttgir_has_param(t, n))) {
        t->used_arguments |= node.arguments;
        return number_expr(t, node.now, out, error);
    }
    if ((node.op == SPAD__SCALAR_DIV || node.op == SPAD__SCALAR_MOD) &&
        spad__scalar_get(&t->scalars, node.a)->least < 0) {
        return unclear(t, "the quotient of something that may be below 0", error);
    }
    switch (node.op) {
    case SPAD__SCALAR_ROUND: *out = t->rounds.items[node.value]; return SPAD_OK;
    case SPAD__SCALAR_ADD: return sum_expr(t, &node, out, error);
    case SPAD__SCALAR_DIV:
    case SPAD__SCALAR_MOD:
    case SPAD__SCALAR_MUL:
    case SPAD__SCALAR_MIN:
    case SPAD__SCALAR_MAX:
        TRY(expr_of(t, node.a, &a, error));
        TRY(expr_of(t, node.b, &b, error));
        return ttgir_apply(t, ops[node.op], a, b, out, error);
    case SPAD__SCALAR_XOR:
        if (!spad__scalar_get(&t->scalars, node.a)->bit ||
            !spad__scalar_get(&t->scalars, node.b)->bit) {
            return unclear(t, "bits of a number", error);
        }
        TRY(expr_of(t, node.a, &a, error));
        TRY(expr_of(t, node.b, &b, error));
        TRY(ttgir_apply(t, SPAD_EXPR_ADD, a, b, &a, error));
        return apply_number(t, SPAD_EXPR_MOD, a, 2, out, error);
    case SPAD__SCALAR_RING: return ring_expr(t, &node, out, error);
    case SPAD__SCALAR_PHASE: return phase_expr(t, &node, out, error);
    default: return unclear(t, "a value that changes in a way without an expression", error);
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
        TRY(expr_of(t, n, &out->left, error));
        return number_expr(t, 0, &out->right, error);
    }
    TRY(expr_of(t, node.a, &out->left, error));
    return expr_of(t, node.b, &out->right, error);
}

static spad_status emit_if(spad__ttgir *t, const spad__ttgir_note *note, spad_error *error) {
    spad_comparison list[TERMS * ATOMS + 1];
    spad__ttgir_terms terms;
    size_t count = 0;
    if (note->scalar < 0 || !terms_of(&t->scalars, note->scalar, false, &terms)) {
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
        TRY(number_expr(t, 0, &zero, error));
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
    int64_t step, rest, now;
    param->trips = param->node = trips;
    param->step = 1;
    if (node->op != SPAD__SCALAR_DIV || !spad__scalar_known(s, node->b, &step) ||
        spad__scalar_get(s, node->b)->arguments != 0) {
        return;
    }
    const spad__scalar_node *sum = spad__scalar_get(s, node->a);
    if (sum->op != SPAD__SCALAR_ADD || !spad__scalar_is(s, sum->b, step - 1)) return;
    if (!spad__scalar_known(s, sum->a, &now) || now % step != 0) return;
    rest = now / step;
    param->node = sum->a;
    param->step = step;
    param->value = rest;
}

/* A number of rounds without the number that is added at its end: K / 64 - 1. */
static spad__scalar without_number(const spad__ttgir *t, spad__scalar trips, int64_t *added) {
    const spad__scalar_node *node = spad__scalar_get(&t->scalars, trips);
    *added = 0;
    if (node->op != SPAD__SCALAR_ADD || node->moves) return trips;
    const spad__scalar_node *last = spad__scalar_get(&t->scalars, node->b);
    if (last->op != SPAD__SCALAR_NUMBER) return trips;
    *added = last->now;
    return node->a;
}

/* The parameter of a loop: NULL where the number of its rounds is the same for all sizes. */
static spad_status param_for(spad__ttgir *t, spad__scalar trips, const spad__ttgir_param **out,
                             spad_error *error) {
    const spad__scalar_node *node = spad__scalar_get(&t->scalars, trips);
    spad__ttgir_param param = {.value = node->now, .arguments = node->arguments};
    *out = NULL;
    if (node->data && !t->any_rounds) {
        return unclear(t, "how often a loop runs is decided by data", error);
    }
    if (node->data || (node->op == SPAD__SCALAR_ARGUMENT && node->value >= SPAD__TTGIR_ARGUMENTS)) {
        param =
            (spad__ttgir_param){.value = 3, .any = true, .trips = trips, .node = trips, .step = 1};
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

static spad_status emit_params(spad__ttgir *t, spad_error *error) {
    const spad__ttgir_param *param;
    for (size_t i = 0; i < t->notes.count; i++) {
        const spad__ttgir_note *note = &t->notes.items[i];
        if (note->kind != SPAD__NOTE_FOR) continue;
        int64_t added;
        if (note->scalar < 0) return unclear(t, "how often a loop runs", error);
        TRY(param_for(t, without_number(t, note->scalar, &added), &param, error));
    }
    return SPAD_OK;
}

/* A size that is used as a number, outside of what stands for it. */
static spad_status fix_params(spad__ttgir *t, spad_error *error) {
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

/* ---- declarations -------------------------------------------------------------------- */

static const char *const unit_names[] = {"", "cp", "tma", "wgmma", "tc5"};
static const char *const group_names[] = {"", "loads", "stores", "mmas", "done"};

typedef struct spad__ttgir_rows {
    int64_t units[SPAD__TTGIR_UNITS];
    int64_t groups[SPAD__TTGIR_GROUPS];
    int64_t join;
    int64_t meet; /* where the warps of the main program meet; -1: not yet made */
    int64_t fence;
    int64_t last_source;
    uint32_t last_location;
    spad__scalar stage; /* to compare with */
} spad__ttgir_rows;

static spad_status emit_units(spad__ttgir *t, spad__ttgir_rows *rows, spad_error *error) {
    static const struct {
        const char *engine;
        spad_unit_order order;
        bool proxy;
    } kinds[] = {{"", SPAD_UNIT_FREE, false},
                 {"copy", SPAD_UNIT_FREE, false},
                 {"copy", SPAD_UNIT_FREE, true},
                 {"tensor", SPAD_UNIT_SAME, true},
                 {"tensor", SPAD_UNIT_SAME, true}};
    const spad_amount none = {0};
    const spad_amounts no_dims = {0};
    bool units[SPAD__TTGIR_UNITS] = {false}, groups[SPAD__TTGIR_GROUPS] = {false};
    for (size_t i = 0; i < t->notes.count; i++) {
        units[t->notes.items[i].unit] = true;
        groups[t->notes.items[i].group] = true;
    }
    for (size_t i = 1; i < SPAD__TTGIR_UNITS; i++) {
        size_t engine;
        rows->units[i] = -1;
        if (!units[i]) continue;
        TRY(spad_target_find_engine(&engine, t->target, kinds[i].engine, error));
        TRY(spad_kernel_builder_unit(&rows->units[i], t->builder, unit_names[i], engine,
                                     kinds[i].order, kinds[i].proxy, error));
    }
    for (size_t i = 1; i < SPAD__TTGIR_GROUPS; i++) {
        if (!groups[i]) continue;
        TRY(spad_kernel_builder_sync(&rows->groups[i], t->builder, SPAD_SYNC_GROUP, group_names[i],
                                     no_dims, none, error));
    }
    if (t->regions > 1) {
        const spad_amount count = {.value = (int64_t)t->agents.count};
        TRY(spad_kernel_builder_sync(&rows->join, t->builder, SPAD_SYNC_BARRIER, "join", no_dims,
                                     count, error));
    }
    return SPAD_OK;
}

/* Where the warps of the stream of a note meet: a barrier of its own, which one agent takes part
 * in.
 */
static spad_status emit_meet(spad__ttgir *t, spad__ttgir_rows *rows, int stream,
                             spad_error *error) {
    const int agent = stream - SPAD__STREAM_DEFAULT;
    int64_t *row = agent < 0 ? &rows->meet : &t->agents.items[agent].meet;
    const spad_amount one = {.value = 1};
    const spad_amounts no_dims = {0};
    char name[SPAD__TTGIR_NAME] = "meet";
    if (*row >= 0) return SPAD_OK;
    if (agent == 0) strcpy(name, "meet_default");
    if (agent > 0) snprintf(name, sizeof name, "meet_partition%d", agent - 1);
    if (!spad__ttgir_unique(t, name, "")) return spad__fail_host_memory(error);
    return spad_kernel_builder_sync(row, t->builder, SPAD_SYNC_BARRIER, name, no_dims, one, error);
}

static spad_status emit_meets(spad__ttgir *t, spad__ttgir_rows *rows, spad_error *error) {
    for (size_t i = 0; i < t->notes.count; i++) {
        const spad__ttgir_note *note = &t->notes.items[i];
        if (note->kind == SPAD__NOTE_MEET) TRY(emit_meet(t, rows, note->stream, error));
    }
    return SPAD_OK;
}

static spad_status source_at(spad__ttgir *t, uint32_t at, int64_t *out, int depth,
                             spad_error *error) {
    const spad__ttgir_place place = spad__ttgir_place_at(t, at);
    char file[512];
    int64_t caller = -1;
    *out = -1;
    if (place.call != 0 && depth < 8) TRY(source_at(t, place.call, &caller, depth + 1, error));
    const size_t length = place.file != 0 ? t->m->tokens.items[place.file].length : 0;
    if (length < 3 || length - 2 >= sizeof file) {
        *out = caller;
        return SPAD_OK;
    }
    memcpy(file, spad__mlir_text(t->m, place.file) + 1, length - 2);
    file[length - 2] = '\0';
    const spad_kernel *kernel = t->builder->kernel;
    for (size_t i = 0; i < kernel->sources.count; i++) {
        const spad_kernel_source *row = &kernel->sources.items[i];
        if (row->line == place.line && row->caller == caller && strcmp(row->file, file) == 0) {
            *out = (int64_t)i;
            return SPAD_OK;
        }
    }
    return spad_kernel_builder_source(out, t->builder, file, place.line, NULL, caller, error);
}

/* What is added next is at this operation. */
static spad_status go_to(spad__ttgir *t, int32_t number, spad_error *error) {
    int64_t source = -1;
    if (number < 0) return SPAD_OK;
    const spad__mlir_op *op = &t->m->ops.items[number];
    const spad__mlir_token *name = &t->m->tokens.items[op->name];
    const uint32_t at = spad__mlir_location(t->m, op);
    spad_kernel_builder_at(t->builder, (spad_location){.line = name->line,
                                                       .column = spad__mlir_column(t->m, op->name),
                                                       .width = (int32_t)name->length});
    if (at != 0) TRY(source_at(t, at + 1, &source, 0, error));
    return spad_kernel_builder_from(t->builder, source, error);
}

static spad_status emit_tensor(spad__ttgir *t, spad__ttgir_buffer *b, spad_error *error) {
    static const char *const spaces[] = {"shared", "tmem", "global", "registers"};
    spad_amount dims[SPAD__TTGIR_RANK];
    const spad_amount stages = {.value = b->stages};
    spad_kernel_tensor tensor = {.name = b->name,
                                 .dtype = b->dtype,
                                 .mode = b->offset >= 0 ? SPAD_MODE_AT : SPAD_MODE_AUTO,
                                 .alias_of = -1,
                                 .alias_tile = -1};
    if (b->rank < 1) return SPAD_OK;
    TRY(spad_target_find_space(&tensor.space, t->target, spaces[b->space], error));
    for (int d = 0; d < b->rank; d++) dims[d] = (spad_amount){.value = b->dims[d]};
    tensor.dims = (spad_amounts){(size_t)b->rank, dims};
    if (b->stages > 0) tensor.blocks = (spad_amounts){1, &stages};
    if (b->offset >= 0) tensor.byte.value = b->offset;
    if (b->space == SPAD__TTGIR_SHARED) tensor.align.value = b->align;
    if (b->space == SPAD__TTGIR_GLOBAL) {
        tensor.flags = b->written ? SPAD_TENSOR_PERSISTENT : SPAD_TENSOR_INPUT;
    }
    if (b->space == SPAD__TTGIR_REGISTERS) {
        tensor.flags = b->written ? SPAD_TENSOR_PERSISTENT : SPAD_TENSOR_INPUT;
    }
    return spad_kernel_builder_tensor(&b->row, t->builder, &tensor, error);
}

static spad_status emit_buffer(spad__ttgir *t, spad__ttgir_buffer *b, spad_error *error) {
    const spad_amount stages = {.value = b->stages};
    const spad_amount count = {.value = b->count > 0 ? b->count : 1};
    const spad_amounts dims = {b->stages > 0 ? 1 : 0, &stages};
    const char *suffix = b->barrier                          ? "_bar"
                         : b->scratch                        ? "_scratch"
                         : b->space == SPAD__TTGIR_REGISTERS ? "_r"
                                                             : "";
    TRY(go_to(t, b->op, error));
    if (!spad__ttgir_unique(t, b->name, suffix)) return spad__fail_host_memory(error);
    if (!b->barrier) return emit_tensor(t, b, error);
    return spad_kernel_builder_sync(&b->row, t->builder, SPAD_SYNC_MBARRIER, b->name, dims, count,
                                    error);
}

static spad_status emit_buffers(spad__ttgir *t, spad_error *error) {
    for (size_t i = 0; i < t->buffers.count; i++) {
        spad__ttgir_buffer *b = &t->buffers.items[i];
        if ((!b->barrier && !b->read && !b->written) || b->local) continue;
        TRY(emit_buffer(t, b, error));
    }
    return SPAD_OK;
}

static spad_status emit_local_buffers(spad__ttgir *t, const spad__ttgir_note *note,
                                      spad_error *error) {
    for (uint32_t i = 0; i < note->access_count; i++) {
        spad__ttgir_buffer *b = &t->buffers.items[t->accesses.items[note->first_access + i].buffer];
        if (b->row < 0 && b->local) TRY(emit_buffer(t, b, error));
    }
    return SPAD_OK;
}

/* ---- statements ---------------------------------------------------------------------- */

static spad_status emit_for(spad__ttgir *t, const spad__ttgir_note *note, spad_error *error) {
    const spad__ttgir_param *param;
    const spad_amount zero = {0};
    char name[SPAD__TTGIR_NAME] = "i";
    spad_amount end = {0};
    spad_expr *round = &t->rounds.items[note->loop];
    if (!spad__ttgir_unique(t, name, "")) return spad__fail_host_memory(error);
    int64_t added;
    TRY(param_for(t, without_number(t, note->scalar, &added), &param, error));
    if (param != NULL) {
        end.expr = param->expr;
        if (added > 0) TRY(ttgir_add_number(t, param->expr, added, &end.expr, error));
    } else if (!spad__scalar_get(&t->scalars, note->scalar)->moves) {
        end.value = spad__scalar_get(&t->scalars, note->scalar)->now;
    } else {
        const spad_amount one = {.value = 1};
        spad_expr from, to;
        TRY(number_expr(t, 0, &from, error));
        TRY(expr_of(t, note->scalar, &to, error));
        return spad_kernel_builder_range(round, t->builder, name, from, to, one, false, error);
    }
    TRY(spad_kernel_builder_for(round, t->builder, name, zero, end, false, error));
    if (param == NULL || added >= 0) return SPAD_OK;
    /* K_tiles - 1 rounds are none for 0 and 1: the last ones are left out instead */
    spad_comparison inside = {.left = *round, .relation = SPAD_LESS};
    TRY(ttgir_add_number(t, param->expr, added, &inside.right, error));
    t->shorter[t->depth] = true;
    return spad_kernel_builder_if(t->builder, &inside, 1, error);
}

/* Blocks are as deep as regions; a loop with its condition is one. */
static spad_status emit_end(spad__ttgir *t, spad_error *error) {
    if (t->shorter[t->depth--]) TRY(spad_kernel_builder_end(t->builder, error));
    return spad_kernel_builder_end(t->builder, error);
}

static spad_status begin_block(spad__ttgir *t, spad_error *error) {
    if (t->depth + 1 == (int)(sizeof t->shorter / sizeof *t->shorter)) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "blocks are nested too deep");
    }
    t->shorter[++t->depth] = false;
    return SPAD_OK;
}

/* One access, or one for each stage where it is to all of them. */
static spad_status emit_access(spad__ttgir *t, const spad__ttgir_access *access,
                               spad_error *error) {
    const spad__ttgir_buffer *b = &t->buffers.items[access->buffer];
    spad_expr_range ranges[SPAD__TTGIR_RANK] = {{0}};
    char spread[SPAD__TTGIR_NAME];
    spad_kernel_access row = {.tensor = b->row,
                              .kind = access->kind,
                              .spread = spad__ttgir_spread_word(t, access, spread, sizeof spread)};
    bool part = false;
    if (b->row < 0) return SPAD_OK; /* nothing is known of what a pointer leads to */
    for (int d = 0; d < b->rank && d < access->view.rank; d++) {
        if (access->view.length[d] == 0) continue;
        TRY(expr_of(t, access->view.from[d], &ranges[d].from, error));
        TRY(expr_of(t, moved_by(t, access->view.from[d], access->view.length[d]), &ranges[d].to,
                    error));
        part = true;
    }
    if (part) {
        row.range_count = (size_t)b->rank;
        row.ranges = ranges;
    }
    const bool all = b->stages > 0 && access->view.stage < 0;
    for (int64_t stage = 0; stage < (all ? b->stages : 1); stage++) {
        spad_expr index;
        if (b->stages > 0) {
            if (all) {
                TRY(number_expr(t, stage, &index, error));
            } else {
                TRY(expr_of(t, access->view.stage, &index, error));
            }
            row.index_count = 1;
            row.index = &index;
        }
        TRY(spad_kernel_builder_access(t->builder, &row, error));
    }
    return SPAD_OK;
}

static spad_status barrier_index(spad__ttgir *t, const spad__ttgir_note *note, spad_expr *index,
                                 size_t *count, spad_error *error) {
    const spad__ttgir_buffer *b = &t->buffers.items[note->buffer];
    *count = 0;
    if (b->stages == 0) return SPAD_OK;
    *count = 1;
    if (note->stage < 0) return number_expr(t, 0, index, error);
    return expr_of(t, note->stage, index, error);
}

static spad_status emit_operation(spad__ttgir *t, const spad__ttgir_rows *rows,
                                  const spad__ttgir_note *note, spad_error *error) {
    char name[SPAD__TTGIR_NAME + 16], user[SPAD__TTGIR_NAME];
    TRY(emit_local_buffers(t, note, error));
    spad__ttgir_name(t, &t->m->ops.items[note->op], user);
    if (strcmp(user, SPAD__TTGIR_NO_NAME) == 0) {
        snprintf(name, sizeof name, "%s", note->name);
    } else {
        snprintf(name, sizeof name, "%s_%.30s", note->name, user);
    }
    const char *runner = note->unit != SPAD__TTGIR_NO_UNIT ? unit_names[note->unit]
                         : note->matrix                    ? "tensor"
                                                           : "simt";
    TRY(spad_kernel_builder_operation(t->builder, runner, name, error));
    for (uint32_t i = 0; i < note->access_count; i++) {
        TRY(emit_access(t, &t->accesses.items[note->first_access + i], error));
    }
    if (note->group != SPAD__TTGIR_NO_GROUP) {
        TRY(spad_kernel_builder_group(t->builder, rows->groups[note->group], error));
    }
    if (note->buffer < 0) return SPAD_OK;
    spad_expr index = 0;
    spad_kernel_completion completion = {.kind = SPAD_COMPLETION_DELIVER,
                                         .object = t->buffers.items[note->buffer].row,
                                         .index = &index};
    TRY(barrier_index(t, note, &index, &completion.index_count, error));
    return spad_kernel_builder_completion(t->builder, &completion, error);
}

static spad_status emit_statement(spad__ttgir *t, const spad__ttgir_rows *rows,
                                  const spad__ttgir_note *note, spad_error *error) {
    spad_statement statement = spad_statement_of(note->statement, -1);
    spad_expr index = 0;
    if (note->group != SPAD__TTGIR_NO_GROUP) statement.item = rows->groups[note->group];
    if (note->buffer >= 0) {
        statement.item = t->buffers.items[note->buffer].row;
        statement.index = &index;
        TRY(barrier_index(t, note, &index, &statement.index_count, error));
    }
    if (note->scalar >= 0) TRY(expr_of(t, note->scalar, &statement.amount, error));
    if (note->expect >= 0) TRY(expr_of(t, note->expect, &statement.expect, error));
    if (note->unit != SPAD__TTGIR_NO_UNIT) statement.unit = rows->units[note->unit];
    if (note->statement == SPAD_STATEMENT_FENCE) statement.fence = rows->fence;
    statement.flags = note->flags;
    return spad_kernel_builder_statement(t->builder, &statement, error);
}

static spad_status emit_note(spad__ttgir *t, const spad__ttgir_rows *rows,
                             const spad__ttgir_note *note, spad_error *error) {
    if (note->kind == SPAD__NOTE_FOR || note->kind == SPAD__NOTE_IF) TRY(begin_block(t, error));
    switch (note->kind) {
    case SPAD__NOTE_FOR: return emit_for(t, note, error);
    case SPAD__NOTE_IF: return emit_if(t, note, error);
    case SPAD__NOTE_ELSE: return spad_kernel_builder_else(t->builder, error);
    case SPAD__NOTE_END: return emit_end(t, error);
    case SPAD__NOTE_OPERATION: return emit_operation(t, rows, note, error);
    case SPAD__NOTE_ALLOCATE: {
        spad__ttgir_buffer *b = &t->buffers.items[note->buffer];
        const bool now = b->local && b->row < 0 && (b->read || b->written);
        return now ? emit_buffer(t, b, error) : SPAD_OK;
    }
    case SPAD__NOTE_JOIN: {
        const spad_statement join = spad_statement_of(SPAD_STATEMENT_SYNC, rows->join);
        return t->regions > 1 ? spad_kernel_builder_statement(t->builder, &join, error) : SPAD_OK;
    }
    case SPAD__NOTE_MEET: {
        const int agent = note->stream - SPAD__STREAM_DEFAULT;
        const spad_statement meet = spad_statement_of(
            SPAD_STATEMENT_SYNC, agent < 0 ? rows->meet : t->agents.items[agent].meet);
        return spad_kernel_builder_statement(t->builder, &meet, error);
    }
    default: return emit_statement(t, rows, note, error);
    }
}

/* mbarrier.init is a write of threads, and a copy signals through the async proxy: the fence
 * between them is left to the machine code of the compiler, so it is put after a run of inits. */
static spad_status emit_fence(spad__ttgir *t, spad_error *error) {
    spad_statement fence = spad_statement_of(SPAD_STATEMENT_FENCE, -1);
    return spad_kernel_builder_statement(t->builder, &fence, error);
}

static spad_status emit_stream(spad__ttgir *t, const spad__ttgir_rows *rows, int stream,
                               spad_error *error) {
    bool inits = false;
    for (size_t i = 0; i < t->notes.count; i++) {
        const spad__ttgir_note *note = &t->notes.items[i];
        if (note->stream != stream) continue;
        const bool init =
            note->kind == SPAD__NOTE_STATEMENT && note->statement == SPAD_STATEMENT_INIT;
        TRY(go_to(t, note->op, error));
        if (inits && !init) TRY(emit_fence(t, error));
        inits = init;
        t->op = note->op;
        TRY(emit_note(t, rows, note, error));
    }
    return inits ? emit_fence(t, error) : SPAD_OK;
}

static spad_status emit_agents(spad__ttgir *t, const spad__ttgir_rows *rows, spad_error *error) {
    for (size_t i = 0; i < t->agents.count; i++) {
        const spad__ttgir_agent *agent = &t->agents.items[i];
        char name[SPAD__TTGIR_NAME];
        if (i == 0) {
            strcpy(name, "default_warps");
        } else {
            snprintf(name, sizeof name, "partition%zu", i - 1);
        }
        TRY(spad_kernel_builder_agent(t->builder, name, error));
        const spad_amount threads = {.value = agent->warps * 32};
        const spad_amount registers = {.value = agent->registers};
        TRY(spad_kernel_builder_threads(t->builder, threads, registers, error));
        TRY(emit_stream(t, rows, SPAD__STREAM_DEFAULT + (int)i, error));
        TRY(spad_kernel_builder_end(t->builder, error));
    }
    return SPAD_OK;
}

static spad_status emit_all(spad__ttgir *t, spad_error *error) {
    spad__ttgir_rows rows = {.fence = -1, .join = -1, .meet = -1};
    size_t fence;
    if (spad_target_find_fence(&fence, t->target, "shared", NULL) == SPAD_OK) {
        rows.fence = (int64_t)fence;
    }
    TRY(emit_params(t, error));
    TRY(emit_units(t, &rows, error));
    TRY(emit_meets(t, &rows, error));
    TRY(spad__ttgir_find_local(t, error));
    TRY(emit_buffers(t, error));
    TRY(emit_stream(t, &rows, SPAD__STREAM_BEFORE, error));
    TRY(emit_agents(t, &rows, error));
    TRY(emit_stream(t, &rows, SPAD__STREAM_AFTER, error));
    return fix_params(t, error);
}

spad_status spad__ttgir_emit(spad__ttgir *t, spad_kernel **out, const char *file,
                             spad_error *error) {
    spad_kernel *kernel = t->builder->kernel;
    if (!spad__array_reserve(t->host, &t->rounds, t->m->ops.count)) {
        return spad__fail_host_memory(error);
    }
    memset(t->rounds.items, 0, t->m->ops.count * sizeof *t->rounds.items);
    t->rounds.count = t->m->ops.count;
    TRY(emit_all(t, error));
    kernel->file = spad__arena_copy(&kernel->arena, file, strlen(file));
    if (kernel->file == NULL) return spad__fail_host_memory(error);
    return spad_kernel_builder_finish(out, t->builder, error);
}
