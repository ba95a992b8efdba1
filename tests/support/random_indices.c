/* SPDX-License-Identifier: Apache-2.0
 *
 * Indices of random loop_programs, with polynomials of the parameters that bound them.
 */
#include "support/loops_maker.h"
#include "support/support.h"

/* ---- expressions ------------------------------------------------------------------------ */

int loops_new_node(loops_maker *m, loop_op op, int64_t value, int left, int right) {
    assert_true(m->p->node_count < LOOP_NODES);
    m->p->nodes[m->p->node_count] = (loop_node){op, value, left, right};
    return m->p->node_count++;
}

int loops_number(loops_maker *m, int64_t value) {
    if (value < 0) return loops_new_node(m, OP_SUB, 0, loops_number(m, 0), loops_number(m, -value));
    return loops_new_node(m, OP_NUMBER, value, 0, 0);
}

int loops_param(loops_maker *m, int which) {
    return loops_new_node(m, OP_PARAM, which, 0, 0);
}

int loops_variable(loops_maker *m, int which) {
    return loops_new_node(m, OP_VARIABLE, which, 0, 0);
}

int loops_two(loops_maker *m, loop_op op, int left, int right) {
    return loops_new_node(m, op, 0, left, right);
}

int loops_times(loops_maker *m, int node, int64_t factor) {
    return factor == 1 ? node : loops_two(m, OP_MUL, loops_number(m, factor), node);
}

int loops_plus(loops_maker *m, int left, int right) {
    return left < 0 ? right : loops_two(m, OP_ADD, left, right);
}

void loops_add_poly(poly *sum, const poly *other, int64_t factor) {
    for (int i = 0; i < MONOMIALS; i++) sum->of[i] += factor * other->of[i];
}

int loops_poly_node(loops_maker *m, const poly *of) {
    static const int pairs[3][2] = {{0, 1}, {0, 2}, {1, 2}};
    int sum = -1;
    for (int i = 1; i < MONOMIALS; i++) {
        if (of->of[i] == 0) continue;
        const int term = i <= 3 ? loops_param(m, i - 1)
                                : loops_two(m, OP_MUL, loops_param(m, pairs[i - 4][0]),
                                            loops_param(m, pairs[i - 4][1]));
        sum = loops_plus(m, sum, loops_times(m, term, of->of[i]));
    }
    if (of->of[0] != 0 || sum < 0) sum = loops_plus(m, sum, loops_number(m, of->of[0]));
    return sum;
}

int64_t loops_threshold(loops_maker *m) {
    static const int64_t usual[] = {1, 2, 3, 5, 7, 10, 12, 16, 20, 25, 30, 42, 45, 60, 61, 80};
    int most = 15;
    while (most > 0 && usual[most] > m->far) most--;
    const int64_t value = chance(m, 70) ? usual[pick(m, 0, most)] : pick(m, 0, m->far);
    if (m->p->threshold_count < LOOP_THRESHOLDS) m->p->thresholds[m->p->threshold_count++] = value;
    return value;
}

static int64_t factor(loops_maker *m) {
    static const int64_t usual[] = {1,   1,   1, 1, 2,  2,  3,  10, 11,
                                    100, 101, 8, 7, -1, -1, -2, -3, -10};
    return usual[pick(m, 0, 17)];
}

/* A sum of variables, parameters and a constant, at least 0. */
static bounded affine(loops_maker *m, const scope *in, bool small) {
    poly below = {{0}};
    bounded out = {.node = -1};
    const int terms = pick(m, in->count > 0, in->count > 2 ? 3 : in->count);
    for (int i = 0; i < terms; i++) {
        const int v =
            in->variables[i == 0 && chance(m, 75) ? in->count - 1 : pick(m, 0, in->count - 1)];
        const int64_t by = small ? pick(m, 1, 2) : factor(m);
        loops_add_poly(by > 0 ? &out.most : &below, &m->most[v], by > 0 ? by : -by);
        out.node = out.node < 0 && by > 0 ? loops_times(m, loops_variable(m, v), by)
                   : by > 0 ? loops_plus(m, out.node, loops_times(m, loops_variable(m, v), by))
                            : loops_two(m, OP_SUB, out.node < 0 ? loops_number(m, 0) : out.node,
                                        loops_times(m, loops_variable(m, v), -by));
    }
    if (chance(m, small ? 8 : 22)) {
        const int which = pick(m, 0, m->p->params - 1);
        const int64_t by = pick(m, 1, chance(m, 50) ? 1 : 3);
        out.node = loops_plus(m, out.node, loops_times(m, loops_param(m, which), by));
        out.most.of[1 + which] += by;
    }
    if (out.node < 0 || chance(m, 50)) {
        const int64_t value = small ? pick(m, 0, 3) : loops_threshold(m);
        out.node = loops_plus(m, out.node, loops_number(m, value));
        out.most.of[0] += value;
    }
    bool negative = false;
    for (int i = 0; i < MONOMIALS; i++) negative = negative || below.of[i] != 0;
    if (negative) {
        out.node = loops_plus(m, out.node, loops_poly_node(m, &below));
        loops_add_poly(&out.most, &below, 1);
    }
    return out;
}

static int64_t divisor(loops_maker *m) {
    static const int64_t usual[] = {2, 2, 3, 3, 4, 5, 7, 8, 13, 16, 31, 40, 70};
    const int64_t value = usual[pick(m, 0, m->far > 40 ? 12 : 9)];
    if (m->p->threshold_count < LOOP_THRESHOLDS) m->p->thresholds[m->p->threshold_count++] = value;
    return value;
}

bounded loops_rest_of(loops_maker *m, const scope *in) {
    bounded out = affine(m, in, chance(m, 70));
    const int64_t by = divisor(m);
    out.node = loops_two(m, OP_MOD, out.node, loops_number(m, by));
    out.most = (poly){{by - 1}};
    return out;
}

static bounded quotient(loops_maker *m, const scope *in) {
    bounded out = affine(m, in, chance(m, 70));
    out.node = loops_two(m, OP_DIV, out.node, loops_number(m, divisor(m)));
    return out;
}

/* v x P + w of a loop of P iterations: blocks that are counted. */
static bool count_blocks(loops_maker *m, const scope *in, bounded *out) {
    if (in->count == 0) return false;
    const int v = in->variables[pick(m, 0, in->count - 1)];
    const int w = in->variables[in->count - 1];
    const int which = pick(m, 0, m->p->params - 1);
    poly all = {{0}};
    for (int i = 0; i < MONOMIALS; i++) {
        if (m->most[v].of[i] == 0) continue;
        if (i > 3 || i == which + 1) return false;
        all.of[i == 0 ? which + 1 : 2 + i + which] += m->most[v].of[i]; /* i - 1 + which + 3 */
    }
    out->node = loops_two(m, OP_MUL, loops_variable(m, v), loops_param(m, which));
    out->most = all;
    if (w != v && chance(m, 80)) {
        out->node = loops_plus(m, out->node, loops_variable(m, w));
        loops_add_poly(&out->most, &m->most[w], 1);
    }
    if (chance(m, 30)) {
        const int64_t value = loops_threshold(m);
        out->node = loops_plus(m, out->node, loops_number(m, value));
        out->most.of[0] += value;
    }
    return true;
}

static bounded index_of(loops_maker *m, const scope *in) {
    bounded a = {.node = -1};
    const int kind = pick(m, 0, 99);
    if (kind < 64) return affine(m, in, false);
    if (kind < 75) return loops_rest_of(m, in);
    if (kind < 81) return quotient(m, in);
    if (kind < 88 && count_blocks(m, in, &a)) return a;
    if (kind < 91) { /* min with a number */
        a = affine(m, in, chance(m, 60));
        const int64_t value = loops_threshold(m);
        a.node = loops_two(m, OP_MIN, a.node, loops_number(m, value));
        a.most = (poly){{value}};
        return a;
    }
    if (kind < 94) {
        a = affine(m, in, chance(m, 60));
        const int64_t value = loops_threshold(m);
        a.node = loops_two(m, OP_MAX, a.node, loops_number(m, value));
        a.most.of[0] += value;
        return a;
    }
    a = loops_rest_of(m, in); /* rests and quotients together */
    const bounded b = chance(m, 50) ? quotient(m, in) : affine(m, in, true);
    const int64_t one = pick(m, 1, chance(m, 50) ? 2 : 11);
    const int64_t other = pick(m, 1, chance(m, 50) ? 2 : 7);
    const int sum = loops_plus(m, loops_times(m, a.node, one), loops_times(m, b.node, other));
    bounded out = {.node = sum};
    loops_add_poly(&out.most, &a.most, one);
    loops_add_poly(&out.most, &b.most, other);
    return out;
}

/* rate x v, a little of another loop, of a parameter, and a number. */
static bounded usual_sum(loops_maker *m, const scope *in, int64_t rate) {
    const int v = in->variables[m->level < in->count ? m->level : in->count - 1];
    if (m->theme == WRITES && chance(m, 12)) rate++; /* meets the others in ever different pairs */
    bounded out = {.node = loops_times(m, loops_variable(m, v), rate)};
    loops_add_poly(&out.most, &m->most[v], rate);
    const int w = in->variables[pick(m, 0, in->count - 1)];
    if (w != v && chance(m, 60)) {
        const int64_t by = pick(m, 1, chance(m, 60) ? 2 : 60);
        out.node = loops_plus(m, out.node, loops_times(m, loops_variable(m, w), by));
        loops_add_poly(&out.most, &m->most[w], by);
    }
    if (chance(m, 25)) {
        const int which = pick(m, 0, m->p->params - 1);
        const int64_t by = chance(m, 50) ? rate : pick(m, 1, 3);
        const int kind = pick(m, 0, 9);
        const int64_t divisor_of = kind < 3 ? pick(m, 2, 7) : 1;
        int node = loops_param(m, which);
        if (kind < 3)
            node = loops_two(m, kind == 0 ? OP_DIV : OP_MOD, node, loops_number(m, divisor_of));
        const int64_t more = kind < 3 && chance(m, 50) ? 20 * by : by;
        out.node = loops_plus(m, out.node, loops_times(m, node, more));
        out.most.of[kind == 1 || kind == 2 ? 0 : 1 + which] +=
            kind == 1 || kind == 2 ? more * divisor_of : more;
    }
    if (chance(m, 60)) {
        const int64_t value = loops_threshold(m);
        out.node = loops_plus(m, out.node, loops_number(m, value));
        out.most.of[0] += value;
    }
    if (chance(m, 12)) { /* from the end */
        const poly most = out.most;
        out.node = loops_two(m, OP_SUB, loops_poly_node(m, &most), out.node);
    }
    return out;
}

/* An index of one dimension, mostly of its habit. */
bounded loops_usual_index(loops_maker *m, const scope *in, int tensor, int dim) {
    const habit usual = m->habits[tensor][dim];
    const int64_t by = m->divisors[tensor][dim];
    if (m->p->cursors[m->agent] > 0 && in->count > 0 && m->p->tensors[tensor].place != OFF_CHIP &&
        chance(m, 40)) {
        const int64_t most = m->p->cursors[m->agent] - 1;
        return (bounded){.node = loops_new_node(m, OP_STAGE, 0, 0, 0), .most = {{most}}};
    }
    if (usual == FREE || in->count == 0 || chance(m, 10)) return index_of(m, in);
    if (usual == STAY) {
        const int64_t value = m->theme == WRITES ? loops_threshold(m) : pick(m, 0, 3);
        return (bounded){.node = loops_number(m, value), .most = {{value}}};
    }
    bounded out = usual_sum(m, in, m->rates[tensor][dim]);
    if (usual == REST) {
        out.node = loops_two(m, OP_MOD, out.node, loops_number(m, by));
        out.most = (poly){{by - 1}};
    }
    if (usual == QUOTIENT) out.node = loops_two(m, OP_DIV, out.node, loops_number(m, by));
    return out;
}

void loops_choose_habits(loops_maker *m, int tensor) {
    static const int64_t rates[] = {1, 1, 1, 1, 2, 3, 10, 7, 30, 50};
    const loop_tensor *t = &m->p->tensors[tensor];
    for (int d = 0; d < t->dims; d++) {
        const int kind = pick(m, 0, 99);
        habit usual = kind < 22   ? FREE
                      : kind < 60 ? RATE
                      : kind < 78 ? REST
                      : kind < 90 ? QUOTIENT
                                  : STAY;
        if (t->place != OFF_CHIP && d > 0) usual = kind < 20 ? FREE : kind < 80 ? REST : STAY;
        if (t->place == ON_CHIP) usual = kind < 85 ? REST : STAY;
        m->habits[tensor][d] = usual;
        m->rates[tensor][d] = rates[pick(m, 0, t->place == OFF_CHIP ? 9 : 4)];
        m->divisors[tensor][d] = t->place == OFF_CHIP ? divisor(m) : pick(m, 1, 5);
    }
}
