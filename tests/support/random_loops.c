/* SPDX-License-Identifier: Apache-2.0
 *
 * Random loop_programs: indices that move with loops and parameters, evenly or not, in programs
 * without agents, or in agents that share nothing, meet at barriers, hand over tokens, or do not
 * wait for their stores. Extents are large enough for every value: a bound is a polynomial of the
 * parameters.
 */
#include <string.h>

#include "support/loops_maker.h"
#include "support/support.h"

/* ---- statements ------------------------------------------------------------------------- */

static loop_statement *add(loops_maker *m, loop_kind kind) {
    assert_true(m->p->statement_count < LOOP_STATEMENTS);
    loop_statement *s = &m->p->statements[m->p->statement_count++];
    *s = (loop_statement){.kind = kind, .step = 1};
    return s;
}

static int small_expression(loops_maker *m, const scope *in) {
    if (m->p->unknown > 0 && chance(m, 25)) return loops_new_node(m, OP_UNKNOWN, 0, 0, 0);
    if (m->p->cursors[m->agent] > 0 && chance(m, 4)) return loops_new_node(m, OP_PHASE, 0, 0, 0);
    if (in->count > 0 && chance(m, 65)) {
        const int v = loops_variable(m, in->variables[pick(m, 0, in->count - 1)]);
        switch (pick(m, 0, 9)) {
        case 0: return loops_two(m, OP_MOD, v, loops_number(m, pick(m, 2, 5)));
        case 1: return loops_two(m, OP_DIV, v, loops_number(m, pick(m, 2, 4)));
        case 2: return loops_two(m, OP_SUB, loops_param(m, pick(m, 0, m->p->params - 1)), v);
        case 3:
            return loops_two(m, OP_ADD, v,
                             loops_variable(m, in->variables[pick(m, 0, in->count - 1)]));
        case 4:
            return loops_two(m, OP_MIN, v,
                             loops_variable(m, in->variables[pick(m, 0, in->count - 1)]));
        default: return v;
        }
    }
    return loops_param(m, pick(m, 0, m->p->params - 1));
}

static bool is_small(const loops_maker *m, int node) {
    const loop_op op = m->p->nodes[node].op;
    return op == OP_MOD || op == OP_UNKNOWN || op == OP_PHASE;
}

static void add_if(loops_maker *m, const scope *in) {
    loop_statement *s = add(m, DO_IF);
    s->comparison_count = pick(m, 1, chance(m, 70) ? 1 : 3);
    for (int i = 0; i < s->comparison_count; i++) {
        static const loop_relation usual[] = {IS_LESS,  IS_LESS, IS_LEAST, IS_OTHER,
                                              IS_OTHER, IS_MOST, IS_MORE,  IS_EQUAL};
        loop_comparison *c = &s->comparisons[i];
        c->left = small_expression(m, in);
        c->relation = usual[pick(m, 0, 7)];
        c->right = chance(m, 70)
                       ? loops_number(m, is_small(m, c->left) ? pick(m, 0, 3) : loops_threshold(m))
                       : loops_two(m, OP_SUB, loops_param(m, pick(m, 0, m->p->params - 1)),
                                   loops_number(m, pick(m, 0, 4)));
        c->alternative = i > 0 && chance(m, 50);
    }
}

static void grow_extent(loops_maker *m, int tensor, int d, const poly *most) {
    for (int i = 0; i < MONOMIALS; i++) {
        const int64_t need = most->of[i] + (i == 0);
        int64_t *extent = &m->extent[tensor][d].of[i];
        if (*extent < need) *extent = need;
    }
}

static bool is_same_scope(const scope *a, const scope *b) {
    return a->count == b->count &&
           memcmp(a->variables, b->variables, sizeof(int) * (size_t)a->count) == 0;
}

/* A write whose indices are those of the write before it, one of them a little different. */
static void make_similar(loops_maker *m, loop_statement *s) {
    const int d = pick(m, 0, m->p->tensors[s->tensor].dims - 1);
    memcpy(s->index, m->last[s->tensor].index, sizeof s->index);
    if (chance(m, 60)) {
        const int64_t value = m->theme == WRITES ? loops_threshold(m) : pick(m, 1, 3);
        s->index[d] = loops_plus(m, s->index[d], loops_number(m, value));
        m->extent[s->tensor][d].of[0] += value;
    } else {
        const int which = pick(m, 0, m->p->params - 1);
        s->index[d] = loops_plus(m, s->index[d], loops_param(m, which));
        m->extent[s->tensor][d].of[1 + which] += 1;
    }
}

/* A read of what was written, or of what was written a few iterations before. */
static void make_read(loops_maker *m, loop_statement *s) {
    const int d = pick(m, 0, m->p->tensors[s->tensor].dims - 1);
    memcpy(s->index, m->last[s->tensor].index, sizeof s->index);
    if (chance(m, 88)) return;
    if (chance(m, 20)) {
        make_similar(m, s);
        return;
    }
    const int before =
        loops_two(m, OP_SUB, s->index[d],
                  loops_number(m, chance(m, 80) ? pick(m, 1, 3) : loops_threshold(m)));
    s->index[d] = loops_two(m, OP_MAX, before, loops_number(m, 0));
}

static void choose_part(loops_maker *m, const scope *in, loop_statement *s) {
    s->part.kind = pick(m, 0, LOOP_PARTS - 1);
    if (s->part.kind != LOOP_ONE) return;
    s->part.at = loops_rest_of(m, in).node;
    if (m->p->nodes[m->p->nodes[s->part.at].right].value > 64) s->part.kind = LOOP_WHOLE;
}

static void add_access(loops_maker *m, const scope *in, int tensor, bool reads) {
    const bool guarded = chance(m, m->theme == WRITES || (m->theme == PROGRAM && reads) ? 14 : 4);
    if (guarded) add_if(m, in);
    const bool whole = m->p->tensors[tensor].place == ALIAS;
    loop_statement *s = add(m, reads ? DO_READ : DO_WRITE);
    s->async = m->scheme == STORES && !reads;
    s->tensor = tensor;
    bool known = m->has_last[tensor] && is_same_scope(in, &m->last_scope[tensor]);
    if (whole && !known && m->has_last[tensor - 1] &&
        is_same_scope(in, &m->last_scope[tensor - 1])) {
        m->last[tensor] = m->last[tensor - 1];
        known = true;
    }
    if (known && reads && chance(m, 90)) {
        make_read(m, s);
    } else if (known && !reads && chance(m, 45)) {
        make_similar(m, s);
    } else {
        for (int d = 0; d < m->p->tensors[tensor].dims; d++) {
            const bounded index = loops_usual_index(m, in, tensor, d);
            s->index[d] = index.node;
            grow_extent(m, tensor, d, &index.most);
        }
    }
    if (known && reads && chance(m, 85)) {
        s->part = m->last[tensor].part;
    } else if (!whole && chance(m, 12)) {
        choose_part(m, in, s);
    }
    if (m->theme != WRITES && !reads && chance(m, known ? 8 : 2))
        s->kind = chance(m, 50) ? DO_UPDATE : DO_ADD;
    if (!reads) {
        m->last[tensor] = *s;
        m->has_last[tensor] = true;
        m->last_scope[tensor] = *in;
    }
    if (guarded) add(m, DO_END);
}

/* Scopes of other agents have other variables: an access there has the same indices with its own.
 */
static int with_variables(loops_maker *m, int node, const scope *from, const scope *to) {
    const loop_node n = m->p->nodes[node];
    if (n.op == OP_VARIABLE) {
        for (int i = 0; i < from->count; i++) {
            if (from->variables[i] == n.value) return loops_variable(m, to->variables[i]);
        }
    }
    if (n.op < OP_ADD) return node;
    const int left = with_variables(m, n.left, from, to);
    const int right = with_variables(m, n.right, from, to);
    return left == n.left && right == n.right ? node : loops_two(m, n.op, left, right);
}

static void take_over_writes(loops_maker *m, const scope *in) {
    for (int t = 0; t < m->p->tensor_count; t++) {
        scope *before = &m->last_scope[t];
        if (!m->has_last[t] || before->count != in->count || is_same_scope(before, in)) continue;
        for (int d = 0; d < m->p->tensors[t].dims; d++) {
            m->last[t].index[d] = with_variables(m, m->last[t].index[d], before, in);
        }
        *before = *in;
    }
}

static bool has_write(const loops_maker *m, const scope *in, int tensor) {
    return m->has_last[tensor] && is_same_scope(in, &m->last_scope[tensor]);
}

static void add_accesses(loops_maker *m, const scope *in) {
    const int count = m->theme == PROGRAM ? pick(m, 2, 4) : pick(m, 1, m->scheme == STORES ? 3 : 2);
    for (int i = 0; i < count; i++) {
        const int tensor = pick(m, 0, m->p->tensor_count - 1);
        const bool off_chip = m->p->tensors[tensor].place == OFF_CHIP;
        if (m->theme == WRITES || (off_chip && chance(m, 85))) {
            add_access(m, in, tensor, false);
        } else if (m->theme == PROGRAM) {
            if (chance(m, 94)) add_access(m, in, tensor, false);
            if (chance(m, has_write(m, in, tensor) ? 75 : 4)) add_access(m, in, tensor, true);
        } else if (m->agent == 0) {
            add_access(m, in, tensor, chance(m, 4));
        } else if (has_write(m, in, tensor) || chance(m, 5)) {
            add_access(m, in, tensor, chance(m, 96));
        }
    }
}

/* A loop; false: its variable is bounded by a number. */
static void open_loop(loops_maker *m, scope *in, int shape, int which, int count, int step) {
    poly most = {{0}};
    const int v = m->p->variables++;
    assert_true(v < LOOP_VARIABLES && in->count < 8);
    int begin = loops_number(m, 0);
    int end = loops_param(m, which);
    most.of[1 + which] = 1;
    const int outer = in->count > 0 ? in->variables[in->count - 1] : -1;
    switch (shape) {
    case 0: /* a fixed number */
        end = loops_number(m, count);
        most = (poly){{count}};
        break;
    case 1: /* later */
        begin = loops_number(m, m->loops.add);
        end = loops_plus(m, end, loops_number(m, m->loops.add));
        most.of[0] += m->loops.add;
        break;
    case 2: /* more slowly */ end = loops_two(m, OP_DIV, end, loops_number(m, m->loops.by)); break;
    case 3: /* starts later */
        end = loops_two(m, OP_SUB, end, loops_number(m, m->loops.add));
        break;
    case 4: /* moved by the loop around */
        if (outer < 0) break;
        begin = loops_variable(m, outer);
        end = loops_plus(m, end, loops_variable(m, outer));
        loops_add_poly(&most, &m->most[outer], 1);
        break;
    case 5: /* triangles */
        if (outer < 0) break;
        end = loops_plus(m, loops_variable(m, outer), loops_number(m, 1));
        most = m->most[outer];
        break;
    case 6: /* faster */
        end = loops_times(m, end, 2);
        most.of[1 + which] = 2;
        break;
    case 7:
        end = loops_plus(m, end, loops_number(m, m->loops.add)), most.of[0] += m->loops.add;
        break;
    case 9: /* triangles that fall */
        if (outer >= 0) end = loops_two(m, OP_SUB, end, loops_variable(m, outer));
        break;
    default: break;
    }
    loop_statement *s = add(m, DO_FOR);
    s->variable = v;
    s->begin = begin;
    s->end = end;
    s->step = step;
    m->most[v] = most;
    in->variables[in->count++] = v;
}

static void close_loop(loops_maker *m, scope *in) {
    add(m, DO_END);
    in->count--;
}

/* ---- agents ------------------------------------------------------------------------------ */

static void before_write(loops_maker *m, int agent, const scope *in) {
    switch (m->scheme) {
    case IN_STEP:
        add(m, DO_SYNC);
        if (m->theme == SHARED && agent > 0) add(m, DO_SYNC);
        break;
    case TURNS: add(m, DO_TAKE)->object = agent; break;
    case AHEAD:
        if (agent > 0) add(m, DO_TAKE)->object = agent;
        break;
    case REACHES:
        if (agent > 0) {
            loop_statement *s = add(m, DO_REACH);
            s->object = agent;
            s->amount =
                loops_plus(m, loops_variable(m, in->variables[in->count - 1]), loops_number(m, 1));
        }
        break;
    default: break;
    }
}

static void after_write(loops_maker *m, int agent) {
    switch (m->scheme) {
    case IN_STEP:
        if (m->theme == SHARED && agent == 0) add(m, DO_SYNC);
        break;
    case TURNS: add(m, DO_SIGNAL)->object = (agent + 1) % m->p->agents; break;
    case AHEAD:
    case REACHES:
        if (agent + 1 < m->p->agents) add(m, DO_SIGNAL)->object = agent + 1;
        break;
    case STORES:
        if (m->pending < 0) break;
        add(m, DO_COMMIT);
        add(m, DO_PENDING)->amount = loops_number(m, m->pending);
        break;
    default: break;
    }
}

static void choose_loops(loops_maker *m) {
    m->loops.shape = chance(m, 65) ? 8 : pick(m, 0, 7);
    if (m->loops.shape == 0) m->loops.shape = 8;
    m->loops.nested = chance(m, 40);
    m->loops.outer_param = pick(m, 0, m->p->params - 1);
    m->loops.inner_param = pick(m, 0, m->p->params - 1);
    if (m->loops.nested && m->loops.inner_param == m->loops.outer_param && chance(m, 80)) {
        m->loops.inner_param = (m->loops.outer_param + 1) % m->p->params;
    }
    m->loops.outer_count = chance(m, m->p->params == 1 ? 90 : 50) ? pick(m, 1, 4) : 0;
    m->loops.inner_step = chance(m, 88) ? 1 : chance(m, 50) ? -1 : pick(m, 2, 3);
    m->loops.outer_step = chance(m, 92) ? 1 : -1;
    if (m->theme != WRITES && chance(m, 10)) { /* causal */
        m->loops.nested = true;
        m->loops.outer_count = 0;
        m->loops.inner_param = m->loops.outer_param;
        m->loops.shape = chance(m, 50) ? 5 : 9;
    }
    m->loops.add = pick(m, 1, chance(m, 80) ? 6 : 50);
    m->loops.by = pick(m, 2, 4);
}

static void put_loops(loops_maker *m, int agent, bool synced) {
    scope in = {.count = 0};
    if (m->loops.nested)
        open_loop(m, &in, m->loops.outer_count > 0 ? 0 : 8, m->loops.outer_param,
                  m->loops.outer_count, m->loops.outer_step);
    if (m->loops.nested && chance(m, 15))
        add_access(m, &in, pick(m, 0, m->p->tensor_count - 1), m->theme != WRITES && chance(m, 50));
    const bool swapped = m->loops.nested && m->loops.outer_count > 0 && chance(m, 50);
    open_loop(m, &in, m->loops.shape, m->loops.inner_param, 0, m->loops.inner_step);
    if (swapped && m->scheme != IN_STEP && m->theme != SHARED)
        open_loop(m, &in, 0, 0, pick(m, 1, 4), 1);
    if (chance(m, 5)) {
        add_if(m, &in);
        add(m, DO_BREAK);
        add(m, DO_END);
    }
    if (synced) before_write(m, agent, &in);
    if (m->theme == SHARED) take_over_writes(m, &in);
    add_accesses(m, &in);
    if (synced) after_write(m, agent);
    if (m->p->cursors[agent] > 0) {
        const bool guarded = chance(m, 15);
        if (guarded) add_if(m, &in);
        add(m, DO_ADVANCE);
        if (guarded) add(m, DO_END);
    }
    while (in.count > 0) close_loop(m, &in);
}

/* Something before or after the loops. */
static void put_outside(loops_maker *m, bool before) {
    const scope none = {.count = 0};
    const int tensor = pick(m, 0, m->p->tensor_count - 1);
    const bool reads = m->theme != WRITES && !before && chance(m, 70);
    if (m->theme == WRITES && !chance(m, before ? 6 : 4)) return;
    if (m->theme != WRITES && !chance(m, before ? 40 : 20)) return;
    if (m->theme == SHARED && m->agent > 0 && !chance(m, 8)) return;
    if (before && m->theme != WRITES && m->p->tensors[tensor].dims == 1 && chance(m, 70)) {
        scope in = {.count = 0};
        const poly most = {{pick(m, 1, 5)}};
        open_loop(m, &in, 0, 0, (int)most.of[0], 1);
        loop_statement *s = add(m, DO_WRITE);
        s->tensor = tensor;
        s->index[0] = loops_variable(m, in.variables[0]);
        grow_extent(m, tensor, 0, &most);
        close_loop(m, &in);
    } else {
        add_access(m, &none, tensor, reads);
    }
}

static void put_agent(loops_maker *m, int agent) {
    m->agent = agent;
    put_outside(m, true);
    if (m->scheme == ALONE || m->scheme == STORES) choose_loops(m);
    put_loops(m, agent, true);
    if (chance(m, m->theme == PROGRAM ? 30 : 12)) { /* another loop behind it */
        if (m->scheme == STORES && chance(m, 40)) {
            add(m, DO_COMMIT);
            add(m, DO_PENDING)->amount = loops_number(m, 0);
        }
        const loop_shape before = m->loops;
        choose_loops(m);
        put_loops(m, agent, m->scheme == STORES || m->scheme == ALONE);
        m->loops = before;
    }
    put_outside(m, false);
    if (m->scheme == STORES) {
        add(m, DO_COMMIT);
        add(m, DO_PENDING)->amount = loops_number(m, 0);
    }
}

static void declare_order(loops_maker *m) {
    loop_program *p = m->p;
    if (m->scheme == IN_STEP) p->barrier_count = p->agents;
    if (m->scheme != TURNS && m->scheme != AHEAD && m->scheme != REACHES) return;
    p->counters = p->agents;
    if (m->scheme == TURNS)
        p->counter_start[0] = pick(m, 1, chance(m, 60) ? 1 : m->theme == SHARED ? 2 : 16);
}

static void declare_tensors(loops_maker *m) {
    loop_program *p = m->p;
    p->tensor_count = m->theme == WRITES ? 1 : pick(m, 1, 3);
    for (int i = 0; i < p->tensor_count; i++) {
        loop_tensor *t = &p->tensors[i];
        t->place =
            m->theme == WRITES || chance(m, 15) ? OFF_CHIP : (loop_place)pick(m, ON_CHIP, AT_BYTE);
        const bool small = t->place != OFF_CHIP;
        t->dims = chance(m, small ? 70 : 45) ? 1 : chance(m, 80) ? 2 : 3;
        for (int d = 0; d < LOOP_DIMS; d++) t->ring[d] = pick(m, 1, 5);
        t->byte = (chance(m, 30) ? 64 : 1024) * i + 32 * chance(m, 25);
        loops_choose_habits(m, i);
        if (i > 0 && t[-1].place != ALIAS && t[-1].place != OFF_CHIP && chance(m, 25)) {
            *t = (loop_tensor){.place = ALIAS, .dims = t[-1].dims, .byte = 32 * pick(m, 0, 1)};
            memcpy(m->habits[i], m->habits[i - 1], sizeof m->habits[i]);
            memcpy(m->rates[i], m->rates[i - 1], sizeof m->rates[i]);
            memcpy(m->divisors[i], m->divisors[i - 1], sizeof m->divisors[i]);
        }
    }
}

/* A name that nothing writes would be a view of the other one: its first read becomes a write. */
static void make_written(loops_maker *m, int tensor) {
    loop_statement *first = NULL;
    for (int i = m->p->statement_count; i-- > 0;) {
        loop_statement *s = &m->p->statements[i];
        const bool access = s->kind >= DO_WRITE && s->kind <= DO_ADD;
        if (!access || s->tensor != tensor) continue;
        if (s->kind != DO_READ) return;
        first = s;
    }
    if (first != NULL) first->kind = DO_WRITE;
}

/* An alias has the extents of its tensor. */
static void settle_alias(loops_maker *m, int number) {
    for (int d = 0; d < m->p->tensors[number].dims; d++) {
        poly *one = &m->extent[number - 1][d];
        poly *other = &m->extent[number][d];
        for (int k = 0; k < MONOMIALS; k++) {
            if (one->of[k] < other->of[k]) one->of[k] = other->of[k];
        }
        *other = *one;
    }
    make_written(m, number - 1);
    make_written(m, number);
}

/* Now and then too small: from some value of a parameter on an index leaves the tensor. */
static void make_tight(loops_maker *m, poly *extent) {
    const int k = pick(m, 0, MONOMIALS - 1);
    const int64_t least = k == 0;
    extent->of[k] -= k == 0 ? pick(m, 1, 12) : 1;
    if (extent->of[k] < least) extent->of[k] = least;
}

/* Tiles of their own on the chip must be few, whatever the parameters are. */
static void set_extents(loops_maker *m) {
    for (int i = 1; i < m->p->tensor_count; i++) {
        if (m->p->tensors[i].place == ALIAS) settle_alias(m, i);
    }
    const int tight = chance(m, 8) ? pick(m, 0, m->p->tensor_count - 1) : -1;
    for (int i = 0; i < m->p->tensor_count; i++) {
        loop_tensor *t = &m->p->tensors[i];
        int64_t tiles = 1;
        for (int d = 0; d < t->dims; d++) {
            poly *extent = &m->extent[i][d];
            extent->of[0] += extent->of[0] == 0;
            if (i == tight && t->place != ALIAS) make_tight(m, extent);
            if (t->place == ALIAS) *extent = m->extent[i - 1][d];
            t->extent[d] = loops_poly_node(m, extent);
            tiles *= extent->of[0];
            for (int k = 1; k < MONOMIALS; k++) tiles += extent->of[k] > 0 ? 1000 : 0;
        }
        if (t->place == ON_CHIP && tiles > 500) t->place = IN_RING;
    }
}

void random_loops(loop_program *p, uint64_t seed) {
    *p = (loop_program){.params = 1};
    loops_maker m = {.random = {seed}, .p = p};
    spad__random_next(&m.random);
    m.theme = chance(&m, 45) ? WRITES : chance(&m, 50) ? PROGRAM : SHARED;
    p->params = chance(&m, 50) ? 1 : chance(&m, 75) ? 2 : 3;
    for (int i = 0; i < p->params; i++)
        p->given[i] = pick(&m, chance(&m, 15) ? 0 : 1, chance(&m, 85) ? 6 : 12);
    p->any = chance(&m, 5);
    p->unknown = chance(&m, 6) ? pick(&m, 2, 3) : 0;
    m.far = chance(&m, 40) ? 12 : chance(&m, 50) ? 30 : 80;
    m.scheme = m.theme == PROGRAM  ? ALONE
               : m.theme == SHARED ? (scheme)pick(&m, IN_STEP, chance(&m, 75) ? TURNS : REACHES)
                                   : (scheme)pick(&m, 0, SCHEMES - 1);
    p->main = m.theme == PROGRAM;
    p->async = m.scheme == STORES;
    p->agents = p->main              ? 1
                : m.scheme == STORES ? (chance(&m, 70) ? 1 : 2)
                : chance(&m, 85)     ? 2
                                     : 3;
    for (int a = 0; a < p->agents; a++)
        p->cursors[a] = m.theme != WRITES && chance(&m, 25) ? pick(&m, 1, 4) : 0;
    m.pending = chance(&m, 50) ? -1 : pick(&m, 0, 3);
    m.level = pick(&m, 0, 1);
    declare_tensors(&m);
    choose_loops(&m);
    if (m.scheme == REACHES)
        m.loops = (loop_shape){
            .shape = 8, .inner_step = 1, .add = 1, .by = 2, .inner_param = m.loops.inner_param};
    declare_order(&m);
    for (int a = 0; a < p->agents; a++) {
        p->first[a] = p->statement_count;
        put_agent(&m, a);
    }
    p->first[p->agents] = p->statement_count;
    set_extents(&m);
}
