/* SPDX-License-Identifier: Apache-2.0
 *
 * Expressions of whole numbers, each once (hash-consed), with constants folded.
 *
 * A pipelined loop keeps its place in a ring in a value that it carries: c' = c + 1 == S ? 0 : c +
 * 1, and the phase of the ring in another one that changes where c' is 0. select() finds both forms
 * and writes them as RING and PHASE, which say how far the ring has moved; then n moves in a row, a
 * loop of moves and a loop of loops of moves are one RING each, and its stage is (c + n) % S.
 * spad__scalar_solve does this for every value that a loop carries, and for sums, for values that
 * change every round and for those of the round before.
 *
 * Expressions are at most SCALAR_DEEPEST deep; what would be deeper is data.
 */
#include "frontend/gpu/scalar.h"

#include "base/checked.h"

enum { SCALAR_DEEPEST = 120, ARGUMENT_BITS = 63, SCALAR_OPS = SPAD__SCALAR_PHASE + 1 };

/* ---- nodes ------------------------------------------------------------------------- */

static uint64_t node_hash(const spad__scalar_node *n) {
    uint64_t hash = spad__hash_add(0, (int64_t)n->op);
    hash = spad__hash_add(spad__hash_add(hash, n->a), n->b);
    hash = spad__hash_add(spad__hash_add(hash, n->c), n->d);
    return spad__hash_add(hash, n->value);
}

static bool same_node(const spad__scalar_node *x, const spad__scalar_node *y) {
    return x->op == y->op && x->a == y->a && x->b == y->b && x->c == y->c && x->d == y->d &&
           x->value == y->value;
}

static spad__scalar keep_node(spad__scalars *s, spad__scalar_node node) {
    const uint64_t hash = node_hash(&node);
    spad__probe probe = spad__index_probe(&s->index, hash);
    for (size_t at; (at = spad__probe_next(&probe)) != SPAD__NO_ITEM;) {
        if (same_node(&s->nodes.items[at], &node)) return (spad__scalar)at;
    }
    if (s->nodes.count >= INT32_MAX / 2 || !spad__array_reserve(s->host, &s->nodes, 1) ||
        !spad__index_reserve(&s->index, s->host, 1)) {
        s->out_of_memory = true;
        return SPAD__NO_SCALAR;
    }
    node.closed = SPAD__NO_SCALAR;
    spad__index_add(&s->index, hash, s->nodes.count);
    s->nodes.items[s->nodes.count] = node;
    return (spad__scalar)s->nodes.count++;
}

void spad__scalars_free(spad__scalars *s) {
    spad__array_free(s->host, &s->nodes);
    spad__index_free(&s->index, s->host);
}

#define NONE \
    { .a = SPAD__NO_SCALAR, .b = SPAD__NO_SCALAR, .c = SPAD__NO_SCALAR, .d = SPAD__NO_SCALAR }

static spad__scalar leaf(spad__scalars *s, spad__scalar_op op, int64_t value) {
    spad__scalar_node node = NONE;
    node.op = op;
    node.value = value;
    node.least = INT64_MIN;
    if (op == SPAD__SCALAR_NUMBER) {
        node.known = true;
        node.now = node.least = value;
        node.bit = value == 0 || value == 1;
    } else if (op == SPAD__SCALAR_ITERATION) {
        node.moves = true;
        node.least = 0;
    } else {
        node.data = true;
    }
    return keep_node(s, node);
}

spad__scalar spad__scalar_number(spad__scalars *s, int64_t value) {
    return leaf(s, SPAD__SCALAR_NUMBER, value);
}

spad__scalar spad__scalar_data(spad__scalars *s) {
    return leaf(s, SPAD__SCALAR_DATA, s->data_count++);
}

/* Data that follows from the operands, which are data or numbers: the same for the same ones.
 * `which` is below 0, to be none of spad__scalar_data. */
static spad__scalar data_of(spad__scalars *s, int64_t which, spad__scalar a, spad__scalar b,
                            spad__scalar c) {
    const spad__scalar_node node = {.op = SPAD__SCALAR_DATA,
                                    .a = a,
                                    .b = b,
                                    .c = c,
                                    .d = SPAD__NO_SCALAR,
                                    .value = which,
                                    .least = INT64_MIN,
                                    .data = true};
    return keep_node(s, node);
}

spad__scalar spad__scalar_loaded(spad__scalars *s, int64_t from, spad__scalar at) {
    if (at < 0) return SPAD__NO_SCALAR;
    return data_of(s, -SCALAR_OPS - 1 - from, at, SPAD__NO_SCALAR, SPAD__NO_SCALAR);
}

spad__scalar spad__scalar_iteration(spad__scalars *s, int64_t loop) {
    return leaf(s, SPAD__SCALAR_ITERATION, loop);
}

spad__scalar spad__scalar_argument(spad__scalars *s, int64_t which, int64_t now) {
    if (s->run) return spad__scalar_number(s, now);
    spad__scalar_node node = NONE;
    node.op = SPAD__SCALAR_ARGUMENT;
    node.value = which;
    node.known = true;
    node.now = now;
    node.least = now < 0 ? now : 0; /* of other sizes as well */
    node.arguments = UINT64_C(1) << (which < ARGUMENT_BITS ? which : ARGUMENT_BITS);
    return keep_node(s, node);
}

spad__scalar spad__scalar_carried(spad__scalars *s, int64_t loop, int32_t which) {
    spad__scalar_node node = NONE;
    node.op = SPAD__SCALAR_CARRIED;
    node.value = loop;
    node.b = which; /* no operand */
    node.moves = true;
    node.least = INT64_MIN;
    return keep_node(s, node);
}

bool spad__scalar_known(const spad__scalars *s, spad__scalar n, int64_t *value) {
    if (n < 0 || !s->nodes.items[n].known) return false;
    *value = s->nodes.items[n].now;
    return true;
}

static bool is_op(const spad__scalars *s, spad__scalar n, spad__scalar_op op) {
    return n >= 0 && s->nodes.items[n].op == op;
}

bool spad__scalar_is_number(const spad__scalars *s, spad__scalar n, int64_t *value) {
    return is_op(s, n, SPAD__SCALAR_NUMBER) && spad__scalar_known(s, n, value);
}

bool spad__scalar_is(const spad__scalars *s, spad__scalar n, int64_t value) {
    return is_op(s, n, SPAD__SCALAR_NUMBER) && s->nodes.items[n].now == value;
}

/* ---- values ------------------------------------------------------------------------ */

static bool scalar_value_of(spad__scalar_op op, int64_t a, int64_t b, int64_t *out) {
    switch (op) {
    case SPAD__SCALAR_ADD: return spad__add(a, b, out);
    case SPAD__SCALAR_MUL: return spad__mul(a, b, out);
    case SPAD__SCALAR_DIV: return a >= 0 && b > 0 && (*out = a / b, true);
    case SPAD__SCALAR_MOD: return a >= 0 && b > 0 && (*out = a % b, true);
    case SPAD__SCALAR_MIN: *out = a < b ? a : b; return true;
    case SPAD__SCALAR_MAX: *out = a > b ? a : b; return true;
    case SPAD__SCALAR_EQUAL: *out = a == b; return true;
    case SPAD__SCALAR_LESS: *out = a < b; return true;
    case SPAD__SCALAR_AT_MOST: *out = a <= b; return true;
    case SPAD__SCALAR_AND: *out = a & b; return true;
    case SPAD__SCALAR_OR: *out = a | b; return true;
    case SPAD__SCALAR_XOR: *out = a ^ b; return true;
    default: return false;
    }
}

static int64_t least_of(spad__scalar_op op, int64_t a, int64_t b) {
    int64_t least = INT64_MIN;
    const bool both = a != INT64_MIN && b != INT64_MIN;
    if (op == SPAD__SCALAR_ADD && both && !spad__add(a, b, &least)) least = INT64_MIN;
    if (op == SPAD__SCALAR_MUL && a >= 0 && b >= 0 && !spad__mul(a, b, &least)) least = INT64_MIN;
    if (op == SPAD__SCALAR_MIN && both) least = a < b ? a : b;
    if (op == SPAD__SCALAR_MAX) least = a > b ? a : b;
    if ((op == SPAD__SCALAR_MOD || op == SPAD__SCALAR_DIV) && a >= 0) least = 0;
    if (op >= SPAD__SCALAR_EQUAL && op <= SPAD__SCALAR_OR) least = 0;
    if (op == SPAD__SCALAR_XOR && a >= 0 && b >= 0) least = 0;
    return least;
}

/* Properties that a node inherits from an operand. */
static void inherit(const spad__scalars *s, spad__scalar_node *node, spad__scalar operand) {
    const spad__scalar_node *from = &s->nodes.items[operand];
    node->moves = node->moves || from->moves;
    node->data = node->data || from->data;
    node->arguments |= from->arguments;
    if (from->depth >= node->depth) node->depth = (uint16_t)(from->depth + 1);
}

static bool is_bit_op(spad__scalar_op op) {
    return op == SPAD__SCALAR_EQUAL || op == SPAD__SCALAR_LESS || op == SPAD__SCALAR_AT_MOST;
}

/* What rounds change is new data each time, because that of another round is another one. */
static spad__scalar keep_or_data(spad__scalars *s, spad__scalar_node node) {
    if (node.data && !node.moves) return data_of(s, -1 - (int64_t)node.op, node.a, node.b, node.c);
    if (node.data || node.depth > SCALAR_DEEPEST) return spad__scalar_data(s);
    return keep_node(s, node);
}

static spad__scalar keep_two(spad__scalars *s, spad__scalar_op op, spad__scalar a, spad__scalar b) {
    if (a < 0 || b < 0) return SPAD__NO_SCALAR; /* no memory for an operand */
    spad__scalar_node node = {.op = op, .a = a, .b = b, .c = SPAD__NO_SCALAR, .d = SPAD__NO_SCALAR};
    const spad__scalar_node *left = spad__scalar_get(s, a);
    const spad__scalar_node *right = spad__scalar_get(s, b);
    inherit(s, &node, a);
    inherit(s, &node, b);
    node.least = least_of(op, left->least, right->least);
    node.bit = is_bit_op(op) ||
               (op == SPAD__SCALAR_MOD && right->known && right->now <= 2 && left->least >= 0) ||
               (left->bit && right->bit && op != SPAD__SCALAR_ADD);
    if (left->known && right->known) {
        node.known = scalar_value_of(op, left->now, right->now, &node.now);
        if (!node.known) return spad__scalar_data(s);
        if ((!node.arguments && !node.moves) || s->run) return spad__scalar_number(s, node.now);
    }
    return keep_or_data(s, node);
}

/* ---- two operands ------------------------------------------------------------------ */

/* Constants go to the right and up, so that equal sums are the same node. */
static spad__scalar make_sum(spad__scalars *s, spad__scalar a, spad__scalar b) {
    if (a < 0 || b < 0) return SPAD__NO_SCALAR;
    if (is_op(s, a, SPAD__SCALAR_NUMBER) || (b > a && !is_op(s, b, SPAD__SCALAR_NUMBER))) {
        const spad__scalar other = a;
        a = b;
        b = other;
    }
    if (spad__scalar_is(s, b, 0)) return a;
    const spad__scalar_node left = *spad__scalar_get(s, a);
    const spad__scalar_node right = *spad__scalar_get(s, b);
    if (left.op == SPAD__SCALAR_ADD && is_op(s, left.b, SPAD__SCALAR_NUMBER)) {
        if (right.op == SPAD__SCALAR_NUMBER) {
            return make_sum(s, left.a, keep_two(s, SPAD__SCALAR_ADD, left.b, b));
        }
        return make_sum(s, make_sum(s, left.a, b), left.b);
    }
    if (right.op == SPAD__SCALAR_ADD && is_op(s, right.b, SPAD__SCALAR_NUMBER)) {
        return make_sum(s, make_sum(s, a, right.a), right.b);
    }
    if (left.op == SPAD__SCALAR_MUL && left.a == b && spad__scalar_is(s, left.b, -1)) {
        return spad__scalar_number(s, 0);
    }
    if (right.op == SPAD__SCALAR_MUL && right.a == a && spad__scalar_is(s, right.b, -1)) {
        return spad__scalar_number(s, 0);
    }
    return keep_two(s, SPAD__SCALAR_ADD, a, b);
}

static spad__scalar make_product(spad__scalars *s, spad__scalar a, spad__scalar b) {
    if (a < 0 || b < 0) return SPAD__NO_SCALAR;
    if (is_op(s, a, SPAD__SCALAR_NUMBER) || (b > a && !is_op(s, b, SPAD__SCALAR_NUMBER))) {
        const spad__scalar other = a;
        a = b;
        b = other;
    }
    if (spad__scalar_is(s, b, 0)) return b;
    if (spad__scalar_is(s, b, 1)) return a;
    const spad__scalar_node left = *spad__scalar_get(s, a);
    if (left.op == SPAD__SCALAR_MUL && is_op(s, left.b, SPAD__SCALAR_NUMBER) &&
        is_op(s, b, SPAD__SCALAR_NUMBER)) {
        return make_product(s, left.a, keep_two(s, SPAD__SCALAR_MUL, left.b, b));
    }
    return keep_two(s, SPAD__SCALAR_MUL, a, b);
}

/* By a number above 0 that no loop changes; else only a run knows it. */
static spad__scalar make_quotient(spad__scalars *s, spad__scalar_op op, spad__scalar a,
                                  spad__scalar b) {
    const spad__scalar_node left = *spad__scalar_get(s, a);
    const spad__scalar_node right = *spad__scalar_get(s, b);
    const bool rest = op == SPAD__SCALAR_MOD;
    if (!right.known || right.now < 1) return spad__scalar_data(s);
    if (spad__scalar_is(s, b, 1)) return rest ? spad__scalar_number(s, 0) : a;
    if (rest && left.op == SPAD__SCALAR_MOD && left.b == b) return a;
    return keep_two(s, op, a, b);
}

static spad__scalar make_logic(spad__scalars *s, spad__scalar_op op, spad__scalar a,
                               spad__scalar b) {
    if (a == b && op != SPAD__SCALAR_XOR) return a;
    for (int swap = 0; swap < 2; swap++) {
        const spad__scalar one = swap ? b : a;
        const spad__scalar other = swap ? a : b;
        if (spad__scalar_is(s, one, 0)) return op == SPAD__SCALAR_AND ? one : other;
        if (spad__scalar_is(s, one, 1) && op == SPAD__SCALAR_AND) return other;
        if (spad__scalar_is(s, one, 1) && op == SPAD__SCALAR_OR) return one;
        if (spad__scalar_is(s, one, 1) && is_op(s, other, SPAD__SCALAR_XOR) &&
            spad__scalar_is(s, spad__scalar_get(s, other)->b, 1)) {
            return spad__scalar_get(s, other)->a;
        }
    }
    if (is_op(s, a, SPAD__SCALAR_NUMBER)) return keep_two(s, op, b, a);
    return keep_two(s, op, a, b);
}

static bool wraps(const spad__scalars *s, spad__scalar condition, spad__scalar *stage,
                  spad__scalar *count, spad__scalars *maker);

/* Is `zero` 0, and n never below it? Other numbers are left: a ring of one stage wraps each time,
 * and its form is found by the comparison. */
static bool is_not_below(const spad__scalars *s, spad__scalar n, spad__scalar zero) {
    return spad__scalar_is(s, zero, 0) && spad__scalar_get(s, n)->least >= 0;
}

spad__scalar spad__scalar_make(spad__scalars *s, spad__scalar_op op, spad__scalar a,
                               spad__scalar b) {
    spad__scalar stage, count;
    if (a < 0 || b < 0) return SPAD__NO_SCALAR;
    switch (op) {
    case SPAD__SCALAR_ADD: return make_sum(s, a, b);
    case SPAD__SCALAR_MUL: return make_product(s, a, b);
    case SPAD__SCALAR_DIV:
    case SPAD__SCALAR_MOD: return make_quotient(s, op, a, b);
    case SPAD__SCALAR_XOR: /* phase ^ (stage + 1 == count) */
        if (wraps(s, b, &stage, &count, s)) {
            return spad__scalar_phase(s, a, stage, spad__scalar_number(s, 1), count);
        }
        return make_logic(s, op, a, b);
    case SPAD__SCALAR_AND:
    case SPAD__SCALAR_OR: return make_logic(s, op, a, b);
    case SPAD__SCALAR_AT_MOST:
        if (a == b || is_not_below(s, b, a)) return spad__scalar_number(s, 1);
        return keep_two(s, op, a, b);
    case SPAD__SCALAR_EQUAL:
        if (a == b) return spad__scalar_number(s, 1);
        return keep_two(s, op, a, b);
    case SPAD__SCALAR_MAX:
        if (is_not_below(s, a, b)) return a;
        return keep_two(s, op, a, b);
    case SPAD__SCALAR_LESS:
        if (is_not_below(s, a, b)) return spad__scalar_number(s, 0);
        return keep_two(s, op, a, b);
    default: return keep_two(s, op, a, b);
    }
}

spad__scalar spad__scalar_plus(spad__scalars *s, spad__scalar n, int64_t by) {
    return spad__scalar_make(s, SPAD__SCALAR_ADD, n, spad__scalar_number(s, by));
}

spad__scalar spad__scalar_sub(spad__scalars *s, spad__scalar a, spad__scalar b) {
    const spad__scalar below =
        spad__scalar_make(s, SPAD__SCALAR_MUL, b, spad__scalar_number(s, -1));
    return spad__scalar_make(s, SPAD__SCALAR_ADD, a, below);
}

spad__scalar spad__scalar_ceil_div(spad__scalars *s, spad__scalar a, spad__scalar b) {
    const spad__scalar sum = spad__scalar_make(s, SPAD__SCALAR_ADD, a, spad__scalar_plus(s, b, -1));
    return spad__scalar_make(s, SPAD__SCALAR_DIV, sum, b);
}

spad__scalar spad__scalar_not(spad__scalars *s, spad__scalar a) {
    if (a < 0) return SPAD__NO_SCALAR;
    return make_logic(s, SPAD__SCALAR_XOR, a, spad__scalar_number(s, 1));
}

/* ---- rings ------------------------------------------------------------------------- */

/* Something that may be the stage of a ring, or the one after it: it is carried, or has moved. */
static bool is_stage(const spad__scalars *s, spad__scalar n) {
    const spad__scalar_node *node = spad__scalar_get(s, n);
    return node->moves || node->op == SPAD__SCALAR_RING ||
           (node->op == SPAD__SCALAR_ADD && is_op(s, node->a, SPAD__SCALAR_RING));
}

/* A ring has at least one stage, and fewer than 2^31, so that sums of stages fit. */
static bool is_count(const spad__scalars *s, spad__scalar n) {
    int64_t all;
    return spad__scalar_known(s, n, &all) && all >= 1 && all <= INT32_MAX;
}

/* Does the condition hold where stage + 1 reaches count? For a stage below count, that is
 * count <= stage + 1, stage + 1 == count and stage == count - 1. */
static bool wraps(const spad__scalars *s, spad__scalar condition, spad__scalar *stage,
                  spad__scalar *count, spad__scalars *maker) {
    const spad__scalar_node node = *spad__scalar_get(s, condition);
    if (node.op != SPAD__SCALAR_AT_MOST && node.op != SPAD__SCALAR_EQUAL) return false;
    for (int swap = 0; swap < 2; swap++) {
        const spad__scalar one = swap ? node.a : node.b; /* stage + 1 */
        const spad__scalar other = swap ? node.b : node.a;
        if (swap && node.op == SPAD__SCALAR_AT_MOST) break;
        if (spad__scalar_get(s, other)->moves || !is_stage(s, one)) continue;
        if (is_op(s, one, SPAD__SCALAR_ADD) && spad__scalar_is(s, spad__scalar_get(s, one)->b, 1)) {
            *stage = spad__scalar_get(s, one)->a;
            *count = other;
            return is_count(s, *count);
        }
        if (node.op == SPAD__SCALAR_EQUAL) {
            *stage = one;
            *count = spad__scalar_plus(maker, other, 1);
            return is_count(s, *count);
        }
    }
    return false;
}

/* Its value at the given sizes. */
static void know_ring(const spad__scalars *s, spad__scalar_node *node) {
    const bool phase = node->op == SPAD__SCALAR_PHASE;
    int64_t bit = 0, from, on, all, sum;
    if (phase && !spad__scalar_known(s, node->a, &bit)) return;
    if (!spad__scalar_known(s, phase ? node->b : node->a, &from) ||
        !spad__scalar_known(s, phase ? node->c : node->b, &on) ||
        !spad__scalar_known(s, phase ? node->d : node->c, &all)) {
        return;
    }
    if (from < -1 || from >= all || on < 1 || bit < 0 || bit > 1 || !spad__add(from, on, &sum))
        return;
    node->known = true;
    node->now = phase ? (bit + (sum / all & 1)) % 2 : sum % all;
}

static spad__scalar scalar_keep_ring(spad__scalars *s, spad__scalar_node node) {
    const spad__scalar operands[] = {node.a, node.b, node.c, node.d};
    for (size_t i = 0; i < 4; i++) {
        if (operands[i] >= 0) inherit(s, &node, operands[i]);
    }
    node.least = node.op == SPAD__SCALAR_PHASE || spad__scalar_get(s, node.b)->least > 0 ||
                         spad__scalar_get(s, node.a)->least >= 0
                     ? 0
                     : INT64_MIN;
    node.bit = node.op == SPAD__SCALAR_PHASE && spad__scalar_get(s, node.a)->bit;
    if (node.data || node.depth > SCALAR_DEEPEST) return spad__scalar_data(s);
    know_ring(s, &node);
    return keep_node(s, node);
}

spad__scalar spad__scalar_ring(spad__scalars *s, spad__scalar stage, spad__scalar on,
                               spad__scalar count) {
    int64_t from, moved, all;
    if (stage < 0 || on < 0 || count < 0) return SPAD__NO_SCALAR;
    if (spad__scalar_is(s, on, 0)) return stage;
    const spad__scalar_node before = *spad__scalar_get(s, stage);
    if (before.op == SPAD__SCALAR_RING && before.c == count) {
        return spad__scalar_ring(s, before.a, spad__scalar_make(s, SPAD__SCALAR_ADD, before.b, on),
                                 count);
    }
    if (spad__scalar_is_number(s, stage, &from) && spad__scalar_is_number(s, on, &moved) &&
        spad__scalar_is_number(s, count, &all) && (from >= 0 || moved > 0)) {
        if (from < -1 || from >= all) return spad__scalar_data(s); /* in no ring */
        return spad__scalar_number(s, (from + moved % all + all) % all);
    }
    return scalar_keep_ring(
        s, (spad__scalar_node){
               .op = SPAD__SCALAR_RING, .a = stage, .b = on, .c = count, .d = SPAD__NO_SCALAR});
}

spad__scalar spad__scalar_phase(spad__scalars *s, spad__scalar phase, spad__scalar stage,
                                spad__scalar on, spad__scalar count) {
    if (phase < 0 || stage < 0 || on < 0 || count < 0) return SPAD__NO_SCALAR;
    if (spad__scalar_is(s, on, 0)) return phase;
    const spad__scalar_node before = *spad__scalar_get(s, phase);
    const spad__scalar_node at = *spad__scalar_get(s, stage);
    const bool moved = at.op == SPAD__SCALAR_RING && at.c == count;
    int64_t first, from, steps, all;
    if (spad__scalar_is_number(s, phase, &first) && spad__scalar_is_number(s, stage, &from) &&
        spad__scalar_is_number(s, on, &steps) && spad__scalar_is_number(s, count, &all) &&
        (from >= 0 || steps > 0)) {
        if (from < -1 || from >= all || first < 0 || first > 1 || !spad__add(from, steps, &from)) {
            return spad__scalar_data(s);
        }
        return spad__scalar_number(s, (first + (spad__floor_div(from, all) & 1)) % 2);
    }
    if (before.op == SPAD__SCALAR_PHASE && before.d == count &&
        (moved ? before.b == at.a && before.c == at.b : false)) {
        return spad__scalar_phase(s, before.a, at.a,
                                  spad__scalar_make(s, SPAD__SCALAR_ADD, at.b, on), count);
    }
    return scalar_keep_ring(
        s,
        (spad__scalar_node){.op = SPAD__SCALAR_PHASE, .a = phase, .b = stage, .c = on, .d = count});
}

/* The forms of rings and phases, with `yes` where the condition holds. */
static spad__scalar select_ring(spad__scalars *s, spad__scalar condition, spad__scalar yes,
                                spad__scalar no) {
    spad__scalar stage, count;
    if (!wraps(s, condition, &stage, &count, s)) return SPAD__NO_SCALAR;
    const spad__scalar one = spad__scalar_number(s, 1);
    if (spad__scalar_is(s, yes, 0) && no == spad__scalar_make(s, SPAD__SCALAR_ADD, stage, one)) {
        return spad__scalar_ring(s, stage, one, count);
    }
    if (yes == spad__scalar_not(s, no)) return spad__scalar_phase(s, no, stage, one, count);
    return SPAD__NO_SCALAR;
}

static spad__scalar keep_select(spad__scalars *s, spad__scalar a, spad__scalar b, spad__scalar c) {
    spad__scalar_node node = {
        .op = SPAD__SCALAR_SELECT, .a = a, .b = b, .c = c, .d = SPAD__NO_SCALAR};
    inherit(s, &node, a);
    inherit(s, &node, b);
    inherit(s, &node, c);
    const int64_t x = spad__scalar_get(s, b)->least, y = spad__scalar_get(s, c)->least;
    node.least = x < y ? x : y;
    node.bit = spad__scalar_get(s, b)->bit && spad__scalar_get(s, c)->bit;
    if (spad__scalar_get(s, a)->known) {
        const spad__scalar_node *taken =
            spad__scalar_get(s, spad__scalar_get(s, a)->now != 0 ? b : c);
        node.known = taken->known;
        node.now = taken->now;
    }
    return keep_or_data(s, node);
}

spad__scalar spad__scalar_select(spad__scalars *s, spad__scalar a, spad__scalar b, spad__scalar c) {
    if (a < 0 || b < 0 || c < 0) return SPAD__NO_SCALAR;
    if (b == c) return b;
    if (is_op(s, a, SPAD__SCALAR_NUMBER)) return spad__scalar_is(s, a, 0) ? c : b;
    const spad__scalar ring = select_ring(s, a, b, c);
    if (ring >= 0) return ring;
    if (is_op(s, a, SPAD__SCALAR_LESS)) { /* not (x < y) is y <= x */
        const spad__scalar_node less = *spad__scalar_get(s, a);
        const spad__scalar not_less = keep_two(s, SPAD__SCALAR_AT_MOST, less.b, less.a);
        if (not_less < 0) return SPAD__NO_SCALAR;
        const spad__scalar other = select_ring(s, not_less, c, b);
        if (other >= 0) return other;
    }
    if (spad__scalar_is(s, b, 1) && spad__scalar_is(s, c, 0)) return a;
    if (spad__scalar_is(s, b, 0) && spad__scalar_is(s, c, 1)) return spad__scalar_not(s, a);
    return keep_select(s, a, b, c);
}

/* ---- replacing --------------------------------------------------------------------- */

static spad__scalar make_again(spad__scalars *s, const spad__scalar_node *node, spad__scalar a,
                               spad__scalar b, spad__scalar c, spad__scalar d) {
    switch (node->op) {
    case SPAD__SCALAR_SELECT: return spad__scalar_select(s, a, b, c);
    case SPAD__SCALAR_RING: return spad__scalar_ring(s, a, b, c);
    case SPAD__SCALAR_PHASE: return spad__scalar_phase(s, a, b, c, d);
    default: return spad__scalar_make(s, node->op, a, b);
    }
}

static spad__scalar rebuild(spad__scalars *s, spad__scalar n) {
    if (n < 0) return SPAD__NO_SCALAR;
    if (n == s->from) return s->to;
    const spad__scalar_node node = *spad__scalar_get(s, n);
    if (!node.moves || node.op == SPAD__SCALAR_ITERATION) return n;
    if (node.stamp == s->stamp) return node.memo;
    spad__scalar result = n;
    if (node.op == SPAD__SCALAR_CARRIED) {
        if (node.closed >= 0) result = rebuild(s, node.closed);
    } else {
        const spad__scalar a = rebuild(s, node.a);
        const spad__scalar b = rebuild(s, node.b);
        const spad__scalar c = node.c < 0 ? SPAD__NO_SCALAR : rebuild(s, node.c);
        const spad__scalar d = node.d < 0 ? SPAD__NO_SCALAR : rebuild(s, node.d);
        result = make_again(s, &node, a, b, c, d);
    }
    s->nodes.items[n].stamp = s->stamp;
    s->nodes.items[n].memo = result;
    return result;
}

spad__scalar spad__scalar_replace(spad__scalars *s, spad__scalar n, spad__scalar from,
                                  spad__scalar to) {
    s->stamp++;
    s->from = from;
    s->to = to;
    const spad__scalar result = rebuild(s, n);
    s->from = SPAD__NO_SCALAR - 1;
    return result;
}

spad__scalar spad__scalar_resolve(spad__scalars *s, spad__scalar n) {
    return spad__scalar_replace(s, n, SPAD__NO_SCALAR - 1, SPAD__NO_SCALAR);
}

/* ---- loops ------------------------------------------------------------------------- */

typedef struct spad__scalar_loop {
    int64_t loop;
    spad__scalar round;
    spad__scalar trips;
    spad__scalar more; /* another round follows */
    size_t count;
    const spad__scalar *inits;
    const spad__scalar *nexts;
} spad__scalar_loop;

/* Does it change with the rounds of the loop? O(size) without a memo is avoided: a value that stays
 * the same when the round and the carried values are replaced does not. */
static bool changes(spad__scalars *s, const spad__scalar_loop *l, spad__scalar n) {
    const spad__scalar zero = spad__scalar_number(s, 0);
    if (spad__scalar_replace(s, n, l->round, zero) != n) return true;
    for (size_t k = 0; k < l->count; k++) {
        const spad__scalar carried = spad__scalar_carried(s, l->loop, (int32_t)k);
        if (spad__scalar_get(s, carried)->closed >= 0) continue;
        if (spad__scalar_replace(s, n, carried, zero) != n) return true;
    }
    return false;
}

/* Which value of this loop is it? -1: none. */
static int32_t carried_by(const spad__scalars *s, const spad__scalar_loop *l, spad__scalar n) {
    if (!is_op(s, n, SPAD__SCALAR_CARRIED) || spad__scalar_get(s, n)->value != l->loop) return -1;
    return spad__scalar_get(s, n)->b;
}

static spad__scalar times(spad__scalars *s, spad__scalar a, spad__scalar b) {
    return spad__scalar_make(s, SPAD__SCALAR_MUL, a, b);
}

/* A stage starts at -1 to count - 1; one that another loop carries, or that moved before, does when
 * that one does. */
static bool starts_in_ring(const spad__scalars *s, spad__scalar init, spad__scalar count) {
    int64_t first, all;
    if (!spad__scalar_known(s, count, &all)) return false;
    if (spad__scalar_known(s, init, &first)) return first >= -1 && first < all;
    return is_op(s, init, SPAD__SCALAR_CARRIED) ||
           (is_op(s, init, SPAD__SCALAR_RING) && spad__scalar_get(s, init)->c == count);
}

/* Does this loop advance the ring whose stage is `ring` by the same amount in each iteration? */
static bool moves_with(const spad__scalars *s, const spad__scalar_loop *l, int32_t ring,
                       spad__scalar on, spad__scalar count) {
    const spad__scalar next = l->nexts[ring];
    if (!is_op(s, next, SPAD__SCALAR_RING)) return false;
    const spad__scalar_node *node = spad__scalar_get(s, next);
    return carried_by(s, l, node->a) == ring && node->b == on && node->c == count;
}

/* The value after `rounds` rounds, where one round gives `next`, as far as its form tells. */
static spad__scalar after_rounds(spad__scalars *s, const spad__scalar_loop *l, size_t k,
                                 spad__scalar next, spad__scalar rounds) {
    const spad__scalar self = spad__scalar_carried(s, l->loop, (int32_t)k);
    const spad__scalar init = l->inits[k];
    const spad__scalar_node node = *spad__scalar_get(s, next);
    if (next == self) return init;
    if (node.op == SPAD__SCALAR_ADD && (node.a == self || node.b == self)) {
        const spad__scalar step = node.a == self ? node.b : node.a;
        if (changes(s, l, step)) return SPAD__NO_SCALAR;
        return spad__scalar_make(s, SPAD__SCALAR_ADD, init, times(s, rounds, step));
    }
    if (node.op == SPAD__SCALAR_RING && node.a == self) {
        if (changes(s, l, node.b) || !starts_in_ring(s, init, node.c)) return SPAD__NO_SCALAR;
        return spad__scalar_ring(s, init, times(s, rounds, node.b), node.c);
    }
    if (node.op == SPAD__SCALAR_PHASE && node.a == self) {
        const int32_t ring = carried_by(s, l, node.b);
        if (ring < 0 || changes(s, l, node.c) || l->inits[ring] < 0) return SPAD__NO_SCALAR;
        if (!moves_with(s, l, ring, node.c, node.d)) return SPAD__NO_SCALAR;
        if (!starts_in_ring(s, l->inits[ring], node.d)) return SPAD__NO_SCALAR;
        return spad__scalar_phase(s, init, l->inits[ring], times(s, rounds, node.c), node.d);
    }
    if (node.op == SPAD__SCALAR_XOR && node.a == self && spad__scalar_is(s, node.b, 1) &&
        spad__scalar_get(s, init)->bit) {
        return spad__scalar_make(s, SPAD__SCALAR_MOD,
                                 spad__scalar_make(s, SPAD__SCALAR_ADD, rounds, init),
                                 spad__scalar_number(s, 2));
    }
    return SPAD__NO_SCALAR;
}

/* A value that the round before has made: the first one is the init, which may be of the same form.
 */
static spad__scalar of_round_before(spad__scalars *s, const spad__scalar_loop *l, size_t k,
                                    spad__scalar next, spad__scalar rounds) {
    const spad__scalar zero = spad__scalar_number(s, 0);
    for (size_t j = 0; j < l->count; j++) {
        const spad__scalar carried = spad__scalar_carried(s, l->loop, (int32_t)j);
        if (spad__scalar_replace(s, next, carried, zero) != next) return SPAD__NO_SCALAR;
    }
    const spad__scalar before = spad__scalar_plus(s, rounds, -1);
    const spad__scalar value = spad__scalar_replace(s, next, l->round, before);
    const spad__scalar first = spad__scalar_replace(s, next, l->round, spad__scalar_number(s, -1));
    if (first == l->inits[k]) return value;
    const spad__scalar later = spad__scalar_make(s, SPAD__SCALAR_LESS, zero, rounds);
    return spad__scalar_select(s, later, value, l->inits[k]);
}

/* A phase is solved with the stage of its ring, so forms are found before anything is replaced. */
static bool solve_one(spad__scalars *s, const spad__scalar_loop *l, size_t k, spad__scalar next,
                      spad__scalar *last) {
    const spad__scalar carried = spad__scalar_carried(s, l->loop, (int32_t)k);
    if (next < 0 || carried < 0 || l->inits[k] < 0) return false;
    spad__scalar rounds = l->trips;
    const spad__scalar_node node = *spad__scalar_get(s, next);
    if (node.op == SPAD__SCALAR_SELECT && node.a == l->more && node.c == carried) {
        /* not changed in the last round, which no round sees */
        const spad__scalar less = spad__scalar_plus(s, l->trips, -1);
        rounds = spad__scalar_make(s, SPAD__SCALAR_MAX, less, spad__scalar_number(s, 0));
        next = node.b;
    }
    spad__scalar closed = rounds < 0 ? SPAD__NO_SCALAR : after_rounds(s, l, k, next, l->round);
    if (closed >= 0) {
        *last = after_rounds(s, l, k, next, rounds);
    } else if (rounds != l->trips) {
        return false;
    } else {
        const spad__scalar solved = spad__scalar_resolve(s, next);
        if (solved < 0) return false;
        closed = of_round_before(s, l, k, solved, l->round);
        if (closed < 0) return false;
        *last = of_round_before(s, l, k, solved, l->trips);
    }
    if (spad__scalar_get(s, closed)->data) return false;
    s->nodes.items[carried].closed = closed;
    return true;
}

void spad__scalar_solve(spad__scalars *s, int64_t loop, spad__scalar trips, spad__scalar more,
                        size_t count, const spad__scalar *inits, const spad__scalar *nexts,
                        spad__scalar *lasts) {
    const spad__scalar_loop l = {.loop = loop,
                                 .round = spad__scalar_iteration(s, loop),
                                 .trips = trips,
                                 .more = more,
                                 .count = count,
                                 .inits = inits,
                                 .nexts = nexts};
    for (size_t k = 0; k < count; k++) {
        const spad__scalar carried = spad__scalar_carried(s, loop, (int32_t)k);
        if (carried >= 0) s->nodes.items[carried].closed = SPAD__NO_SCALAR;
        lasts[k] = SPAD__NO_SCALAR;
    }
    if (l.round < 0 || trips < 0) return;
    for (bool again = true; again && !s->out_of_memory;) {
        again = false;
        for (size_t k = 0; k < count; k++) {
            const spad__scalar carried = spad__scalar_carried(s, loop, (int32_t)k);
            if (carried < 0) return;
            if (s->nodes.items[carried].closed >= 0) continue;
            if (solve_one(s, &l, k, nexts[k], &lasts[k])) again = true;
        }
    }
}
