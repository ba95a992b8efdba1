/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads whose value only counts where a condition holds.
 *
 * In front of a pipelined loop the compiler issues the first product under a predicate: the loop
 * has rounds. The load of its result has no predicate, and neither have the operations on the
 * value. What becomes of it has: it is stored under the predicate, or used in an `if`, or a select
 * takes another value. If all uses are of this kind, nothing depends on the value where the
 * predicate does not hold, and the kernel has the load under it. Then it is no read of what nothing
 * has written.
 *
 * A use is followed through operations without side effects, selects, conditions, loops, and tiles
 * that are allocated with the value; any other one counts. At most USES_SEEN values are followed,
 * each once: O(values x operations).
 */
#include <string.h>

#include "base/checked.h"
#include "frontend/ttgir/ttgir.h"

enum {
    USES_SEEN = 128,
    SUMS_DEEP = 8,
    TERMS_MOST = 8,
    LOOP_BOUNDS = 3 /* of a loop: start, end and step come before what it carries */
};

typedef struct unused_search {
    spad__ttgir *t;
    spad__scalar condition;
    int32_t seen[USES_SEEN];
    size_t count;
} unused_search;

static bool value_counts(unused_search *s, int32_t value);

static int32_t unused_operand(const spad__ttgir *t, const spad__mlir_op *op, uint32_t number) {
    return t->m->operands.items[op->first_operand + number].value;
}

/* Is a value the condition, or a tensor of it? Values of later operations are not known yet: only
 * what stands for the condition already is compared. */
static bool is_condition(const unused_search *s, int32_t value) {
    spad__ttgir *t = s->t;
    const spad__ttgir_value *known = &t->values.items[value];
    if (known->kind == SPAD__TTGIR_SCALAR && known->scalar >= 0) {
        return spad__scalar_resolve(&t->g->scalars, known->scalar) == s->condition;
    }
    const int32_t giver = t->uses.givers.items[value];
    if (giver < 0 || !spad__mlir_named(t->m, &t->m->ops.items[giver], "tt.splat")) return false;
    return is_condition(s, unused_operand(t, &t->m->ops.items[giver], 0));
}

/* A sum: a constant, and atoms with factors. */
typedef struct linear_sum {
    int64_t constant;
    spad__scalar atoms[TERMS_MOST];
    int64_t factors[TERMS_MOST];
    size_t count;
} linear_sum;

static bool add_atom(linear_sum *sum, spad__scalar atom, int64_t factor) {
    size_t at = 0;
    while (at < sum->count && sum->atoms[at] != atom) at++;
    if (at == TERMS_MOST) return false;
    if (at == sum->count) {
        sum->atoms[sum->count++] = atom;
        sum->factors[at] = 0;
    }
    return spad__add(sum->factors[at], factor, &sum->factors[at]);
}

/* Adds a number that is known, times a factor. False: too large. */
static bool add_scalar(linear_sum *sum, const spad__scalars *s, spad__scalar n, int64_t factor,
                       int depth) {
    const spad__scalar_node *node = spad__scalar_get(s, n);
    int64_t part;
    if (depth == SUMS_DEEP) return add_atom(sum, n, factor);
    if (node->op == SPAD__SCALAR_NUMBER) {
        return spad__mul(node->value, factor, &part) &&
               spad__add(sum->constant, part, &sum->constant);
    }
    if (node->op == SPAD__SCALAR_ADD) {
        const spad__scalar b = node->b;
        return add_scalar(sum, s, node->a, factor, depth + 1) &&
               add_scalar(sum, s, b, factor, depth + 1);
    }
    if (node->op == SPAD__SCALAR_MUL && spad__scalar_get(s, node->b)->op == SPAD__SCALAR_NUMBER) {
        return spad__mul(spad__scalar_get(s, node->b)->value, factor, &part) &&
               add_scalar(sum, s, node->a, part, depth + 1);
    }
    return add_atom(sum, n, factor);
}

/* Adds a value, also one that is computed later in the text, by sums. False: it is another one. */
static bool add_value_to_sum(linear_sum *sum, spad__ttgir *t, int32_t value, int64_t factor,
                             int depth) {
    const spad__ttgir_value *known = &t->values.items[value];
    if (known->kind == SPAD__TTGIR_SCALAR && known->scalar >= 0) {
        const spad__scalar solved = spad__scalar_resolve(&t->g->scalars, known->scalar);
        return solved >= 0 && add_scalar(sum, &t->g->scalars, solved, factor, 0);
    }
    const int32_t giver = t->uses.givers.items[value];
    if (giver < 0 || depth == SUMS_DEEP) return false;
    const spad__mlir_op *op = &t->m->ops.items[giver];
    const bool adds = spad__mlir_named(t->m, op, "arith.addi");
    if (!adds && !spad__mlir_named(t->m, op, "arith.subi")) return false;
    return add_value_to_sum(sum, t, unused_operand(t, op, 0), factor, depth + 1) &&
           add_value_to_sum(sum, t, unused_operand(t, op, 1), adds ? factor : -factor, depth + 1);
}

/* Does a loop have no rounds where the condition does not hold? The condition is a < b, and the
 * loop goes from `first` to `end`: (b - a) - (end - first) is a number and at least 0. */
static bool loop_needs_condition(const unused_search *s, const spad__mlir_op *loop) {
    const spad__scalars *scalars = &s->t->g->scalars;
    const spad__scalar_node less = *spad__scalar_get(scalars, s->condition);
    linear_sum sum = {.constant = 0};
    if (less.op != SPAD__SCALAR_LESS || !add_scalar(&sum, scalars, less.b, 1, 0) ||
        !add_scalar(&sum, scalars, less.a, -1, 0) ||
        !add_value_to_sum(&sum, s->t, unused_operand(s->t, loop, 1), -1, 0) ||
        !add_value_to_sum(&sum, s->t, unused_operand(s->t, loop, 0), 1, 0)) {
        return false;
    }
    for (size_t i = 0; i < sum.count; i++) {
        if (sum.factors[i] != 0) return false;
    }
    return sum.constant >= 0;
}

/* Is an operation inside of the `if` of the condition, or of a loop that has no rounds without it?
 */
static bool is_guarded(const unused_search *s, const spad__mlir_op *use) {
    const spad__mlir *m = s->t->m;
    for (size_t i = 0; i < m->ops.count; i++) {
        const spad__mlir_op *op = &m->ops.items[i];
        if (op->first >= use->first) break; /* they are in the order of the text */
        if (op->end < use->end) continue;
        if (spad__mlir_named(m, op, "scf.for") && loop_needs_condition(s, op)) return true;
        if (!spad__mlir_named(m, op, "scf.if")) continue;
        const spad__mlir_region *then = &m->regions.items[op->first_region];
        const bool inside = use->first > then->open && use->first < then->close;
        if (inside && is_condition(s, unused_operand(s->t, op, 0))) return true;
    }
    return false;
}

/* Operations whose results are all that they do. */
static bool is_pure(const spad__mlir *m, const spad__mlir_op *op) {
    static const char *const names[] = {
        "tt.splat",   "tt.expand_dims",  "tt.broadcast",    "tt.trans",
        "tt.reshape", "tt.reduce",       "tt.scan",         "tt.fp_to_fp",
        "tt.bitcast", "tt.join",         "tt.split",        "tt.cat",
        "tt.clampf",  "tt.precise_sqrt", "tt.precise_divf", "ttg.convert_layout"};
    const spad__mlir_token *name = &m->tokens.items[op->name];
    const char *text = spad__mlir_text(m, op->name);
    if (name->length > 6 && memcmp(text, "arith.", 6) == 0) return true;
    if (name->length > 5 && memcmp(text, "math.", 5) == 0) return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (spad__mlir_named(m, op, names[i])) return true;
    }
    return false;
}

static bool results_count(unused_search *s, const spad__mlir_op *op) {
    for (int32_t r = 0; r < op->result_count; r++) {
        if (value_counts(s, op->first_result + r)) return true;
    }
    return false;
}

/* Does what a region hands on count: in the next round of the loop around it, or after it? */
static bool handed_on_counts(unused_search *s, const spad__mlir_op *yield, uint32_t number) {
    const spad__mlir *m = s->t->m;
    const spad__mlir_op *around = NULL;
    for (size_t i = 0; i < m->ops.count && m->ops.items[i].first < yield->first; i++) {
        if (m->ops.items[i].first_region >= 0 && m->ops.items[i].end >= yield->end) {
            around = &m->ops.items[i];
        }
    }
    if (around == NULL || (int32_t)number >= around->result_count) return true;
    if (value_counts(s, around->first_result + (int32_t)number)) return true;
    if (spad__mlir_named(m, around, "scf.if")) return false;
    const spad__mlir_region *region = &m->regions.items[around->first_region];
    return !spad__mlir_named(m, around, "scf.for") || number + 1 >= region->argument_count ||
           value_counts(s, m->arguments.items[region->first_argument + number + 1]);
}

/* Does a loop count that begins with the value: in its rounds, or after it? */
static bool begun_counts(unused_search *s, const spad__mlir_op *loop, uint32_t number) {
    const spad__mlir_region *region = &s->t->m->regions.items[loop->first_region];
    if (number < LOOP_BOUNDS || number - LOOP_BOUNDS + 1 >= region->argument_count) return true;
    const uint32_t which = number - LOOP_BOUNDS;
    return value_counts(s, s->t->m->arguments.items[region->first_argument + which + 1]) ||
           (int32_t)which >= loop->result_count ||
           value_counts(s, loop->first_result + (int32_t)which);
}

/* A tile that is allocated with the value, and other views of it: what reads these counts. */
static bool makes_view(const spad__mlir *m, const spad__mlir_op *op) {
    static const char *const names[] = {"ttng.tmem_alloc",      "ttg.local_alloc",
                                        "ttg.memdesc_trans",    "ttg.memdesc_index",
                                        "ttg.memdesc_subslice", "ttg.memdesc_reshape"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (spad__mlir_named(m, op, names[i])) return true;
    }
    return false;
}

/* A product under the condition reads the tile as one of its factors. */
static bool is_factor(const unused_search *s, const spad__mlir_op *op, uint32_t number) {
    enum { FACTORS = 2, PREDICATE = 4 }; /* a, b, the result, whether it is added to */
    return spad__mlir_named(s->t->m, op, "ttng.tc_gen5_mma") && number < FACTORS &&
           op->operand_count > PREDICATE && is_condition(s, unused_operand(s->t, op, PREDICATE));
}

/* Does operand `number` count where the condition does not hold? */
static bool use_counts(unused_search *s, const spad__mlir_op *op, uint32_t number) {
    const spad__mlir *m = s->t->m;
    if (is_guarded(s, op)) return false;
    if (spad__mlir_named(m, op, "ttng.tmem_store")) {
        const uint32_t last = op->operand_count - 1;
        return last == number || !is_condition(s, unused_operand(s->t, op, last));
    }
    if (spad__mlir_named(m, op, "arith.select") && number == 1 &&
        is_condition(s, unused_operand(s->t, op, 0))) {
        return false;
    }
    if (is_factor(s, op, number) || spad__mlir_named(m, op, "ttng.wait_barrier") ||
        spad__mlir_named(m, op, "ttg.local_dealloc")) {
        return false; /* a wait names what its product reads, and reads nothing */
    }
    if (makes_view(m, op)) return results_count(s, op);
    if (spad__mlir_named(m, op, "scf.yield")) return handed_on_counts(s, op, number);
    if (spad__mlir_named(m, op, "scf.for")) return begun_counts(s, op, number);
    return !is_pure(m, op) || results_count(s, op);
}

static bool value_counts(unused_search *s, int32_t value) {
    const spad__mlir *m = s->t->m;
    for (size_t i = 0; i < s->count; i++) {
        if (s->seen[i] == value) return false;
    }
    if (s->count == USES_SEEN) return true;
    s->seen[s->count++] = value;
    for (size_t i = 0; i < m->ops.count; i++) {
        const spad__mlir_op *op = &m->ops.items[i];
        for (uint32_t k = 0; k < op->operand_count; k++) {
            if (unused_operand(s->t, op, k) == value && use_counts(s, op, k)) return true;
        }
    }
    return false;
}

bool spad__ttgir_is_unused_unless(spad__ttgir *t, const spad__mlir_op *load,
                                  spad__scalar condition) {
    unused_search search = {.t = t, .condition = spad__scalar_resolve(&t->g->scalars, condition)};
    if (search.condition < 0 || spad__scalar_get(&t->g->scalars, search.condition)->data)
        return false;
    return !results_count(&search, load);
}
