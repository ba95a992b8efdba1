/* SPDX-License-Identifier: Apache-2.0
 *
 * Motions are found on the stack of an expression in postfix form, node by node. O(nodes).
 */
#include "kernel/motion.h"

#include "base/checked.h"

/* ---- sums of motions --------------------------------------------------------------- */

int64_t spad__motion_rounds(int64_t step, int64_t around) {
    const int64_t rest = spad__floor_mod(step, around);
    return rest == 0 ? 1 : around / spad__gcd(rest, around);
}

static spad__evenness stretch(spad__motion *m, int64_t factor) {
    if (factor > SPAD__PERIOD_MAX / m->period) return SPAD__TOO_LONG;
    m->period *= factor;
    return spad__mul(m->step, factor, &m->step) ? SPAD__EVEN : SPAD__UNEVEN;
}

/* Both get the least common multiple of their periods. */
static spad__evenness align(spad__motion *left, spad__motion *right) {
    if (left->period == right->period) return SPAD__EVEN;
    const int64_t common = spad__gcd(left->period, right->period);
    const int64_t factor = right->period / common;
    const int64_t other = left->period / common;
    const spad__evenness even = stretch(left, factor);
    return even == SPAD__EVEN ? stretch(right, other) : even;
}

spad__evenness spad__motion_join(spad__motion *left, const spad__motion *right, int64_t sign) {
    spad__motion other = *right;
    const spad__evenness even = align(left, &other);
    if (even != SPAD__EVEN) return even;
    const bool fits = sign < 0 ? spad__sub(left->step, other.step, &left->step)
                               : spad__add(left->step, other.step, &left->step);
    return fits ? SPAD__EVEN : SPAD__UNEVEN;
}

/* ---- expressions ------------------------------------------------------------------- */

/* A part of an expression: how it moves and, without a loop in it, its value now. */
typedef struct term {
    spad__motion motion;
    bool constant;
    int64_t value;
    size_t first; /* its first node; the last is in front of what comes next */
} term;

/* An expression, and the node that is examined. */
typedef struct spot {
    const spad__moves *moves;
    const spad_expr_node *nodes;
    size_t node;
    bool divides;
} spot;

/* A factor or divisor that is the same after every period. */
static bool is_fixed(const term *t) {
    return t->constant && t->motion.step == 0;
}

static void rely_on_nodes(const spad__moves *moves, const spad_expr_node *nodes, size_t from,
                          size_t to) {
    for (size_t i = from; moves->relies != NULL && i < to; i++) {
        if (nodes[i].op == SPAD_EXPR_PARAM) moves->relies[nodes[i].value] = true;
    }
}

static term leaf(const spot *at) {
    const spad__moves *moves = at->moves;
    const spad_expr_node *node = &at->nodes[at->node];
    term t = {.motion = {1, 0}, .constant = true, .value = node->value, .first = at->node};
    if (node->op == SPAD_EXPR_PARAM) {
        t.value = spad_kernel_get_param(moves->kernel, (size_t)node->value)->value;
        if (node->value == moves->param) t.motion.step = moves->param_step;
    } else if (node->op == SPAD_EXPR_VARIABLE) {
        t.constant = false;
        if (node->value == moves->loop) t.motion.step = moves->loop_step;
    }
    return t;
}

static spad__evenness add_motion_terms(term *a, const term *b, bool minus) {
    a->constant = a->constant && b->constant;
    const bool fits = !a->constant || (minus ? spad__sub(a->value, b->value, &a->value)
                                             : spad__add(a->value, b->value, &a->value));
    return fits ? spad__motion_join(&a->motion, &b->motion, minus ? -1 : 1) : SPAD__UNEVEN;
}

static spad__evenness multiply_terms(const spot *at, term *a, const term *b) {
    const bool right = is_fixed(b);
    if (!right && !is_fixed(a)) return SPAD__UNEVEN; /* a loop variable times what moves */
    if (a->motion.step != 0) rely_on_nodes(at->moves, at->nodes, b->first, at->node);
    if (b->motion.step != 0) rely_on_nodes(at->moves, at->nodes, a->first, b->first);
    const int64_t factor = right ? b->value : a->value;
    spad__motion moving = right ? a->motion : b->motion;
    spad__motion fixed = right ? b->motion : a->motion;
    const spad__evenness even = align(&moving, &fixed);
    if (even != SPAD__EVEN) return even;
    a->motion = moving;
    a->constant = a->constant && b->constant;
    if (!spad__mul(moving.step, factor, &a->motion.step)) return SPAD__UNEVEN;
    if (!a->constant) return SPAD__EVEN;
    return spad__mul(a->value, b->value, &a->value) ? SPAD__EVEN : SPAD__UNEVEN;
}

static spad__evenness divide(spot *at, term *a, const term *b, bool rest) {
    if (!is_fixed(b) || b->value < 1) return SPAD__UNEVEN;
    if (a->motion.step != 0) {
        rely_on_nodes(at->moves, at->nodes, b->first, at->node);
        at->divides = true;
    }
    spad__motion fixed = b->motion;
    spad__evenness even = align(&a->motion, &fixed);
    if (even == SPAD__EVEN) {
        even = stretch(&a->motion, spad__motion_rounds(a->motion.step, b->value));
    }
    if (even != SPAD__EVEN) return even;
    a->motion.step = rest ? 0 : a->motion.step / b->value;
    if (a->constant) {
        a->value = rest ? spad__floor_mod(a->value, b->value) : spad__floor_div(a->value, b->value);
    }
    return SPAD__EVEN;
}

static spad__evenness negate(term *a) {
    const term one = *a;
    *a = (term){.motion = {1, 0}, .constant = one.constant, .first = one.first};
    return add_motion_terms(a, &one, true);
}

/* The smaller or larger of two is the same one after every period if both move alike. */
static spad__evenness choose_term(term *a, const term *b, bool larger) {
    spad__motion other = b->motion;
    const spad__evenness even = align(&a->motion, &other);
    if (even != SPAD__EVEN) return even;
    if (a->motion.step != other.step) return SPAD__UNEVEN;
    a->constant = a->constant && b->constant;
    a->value = larger ? spad__max(a->value, b->value) : spad__min(a->value, b->value);
    return SPAD__EVEN;
}

static spad__evenness apply_to_terms(spot *at, term *a, const term *b) {
    switch (at->nodes[at->node].op) {
    case SPAD_EXPR_ADD: return add_motion_terms(a, b, false);
    case SPAD_EXPR_SUB: return add_motion_terms(a, b, true);
    case SPAD_EXPR_MUL: return multiply_terms(at, a, b);
    case SPAD_EXPR_DIV: return divide(at, a, b, false);
    case SPAD_EXPR_MOD: return divide(at, a, b, true);
    case SPAD_EXPR_SMALLER: return choose_term(a, b, false);
    case SPAD_EXPR_LARGER: return choose_term(a, b, true);
    default: return SPAD__UNEVEN;
    }
}

spad__evenness spad__motion_of(const spad__moves *moves, spad_expr expr, spad__motion *out,
                               bool *divides) {
    *out = (spad__motion){1, 0};
    if (divides != NULL) *divides = false;
    const spad_expr_info info =
        spad_kernel_get_expr(moves->kernel, expr); /* no nodes where it is 0 */
    if (info.node_count == 0 || (info.constant && moves->param < 0)) return SPAD__EVEN;
    spot at = {.moves = moves, .nodes = info.nodes};
    term stack[SPAD_EXPR_MAX];
    size_t top = 0;
    for (; at.node < info.node_count; at.node++) {
        const spad_expr_op op = info.nodes[at.node].op;
        spad__evenness even = SPAD__EVEN;
        if (op == SPAD_EXPR_STAGE || op == SPAD_EXPR_PHASE) {
            stack[top] = (term){.motion = {1, 0}, .first = at.node};
            even = spad__cursor_period(moves, info.nodes[at.node].value, &stack[top].motion.period);
            top++;
        } else if (op < SPAD_EXPR_ADD) {
            stack[top++] = leaf(&at);
        } else if (op == SPAD_EXPR_UNKNOWN) { /* another element is another value */
            if (stack[top - 1].motion.step != 0 || stack[top - 1].motion.period != 1) {
                return SPAD__UNEVEN;
            }
            stack[top - 1].constant = false;
        } else if (op == SPAD_EXPR_NEGATE) {
            even = negate(&stack[top - 1]);
        } else {
            top--;
            even = apply_to_terms(&at, &stack[top - 1], &stack[top]);
        }
        if (divides != NULL) *divides = at.divides;
        if (even != SPAD__EVEN) return even;
    }
    *out = stack[0].motion;
    return SPAD__EVEN;
}

/* ---- cursors ----------------------------------------------------------------------- */

bool spad__loop_breaks(const spad_kernel *kernel, int64_t loop) {
    for (size_t i = 0; i < spad_kernel_statement_count(kernel); i++) {
        const spad_statement *s = spad_kernel_get_statement(kernel, i);
        if (s->kind == SPAD_STATEMENT_BREAK && s->loop == loop) return true;
    }
    return false;
}

/* The condition that ends a loop whose bounds change: it holds up to some iteration, and not from
 * there on. */
static bool bounds_loop(const spad_kernel *kernel, const spad_statement *s, int64_t loop) {
    if ((s->flags & SPAD_IF_OF_LOOP) == 0 || s->parent < 0) return false;
    const spad_statement *around = spad_kernel_get_statement(kernel, (size_t)s->parent);
    return around->kind == SPAD_STATEMENT_FOR && around->item == loop;
}

/* How often a statement runs in one iteration of a loop around it that its bounds let pass; -1:
 * that is not known, 0: it is not in the loop. */
static int64_t times_in_iteration(const spad_kernel *kernel, size_t number, int64_t loop) {
    int64_t times = 1;
    int64_t at = spad_kernel_get_statement(kernel, number)->parent;
    bool known = true;
    for (; at >= 0; at = spad_kernel_get_statement(kernel, (size_t)at)->parent) {
        const spad_statement *s = spad_kernel_get_statement(kernel, (size_t)at);
        if (s->kind == SPAD_STATEMENT_FOR && s->item == loop) return known ? times : -1;
        if (s->kind == SPAD_STATEMENT_ELSE) known = false;
        if (s->kind == SPAD_STATEMENT_IF && !bounds_loop(kernel, s, loop)) known = false;
        if (s->kind != SPAD_STATEMENT_FOR) continue;
        const spad_kernel_loop *row = spad_kernel_get_loop(kernel, (size_t)s->item);
        const int64_t trips = row->end.value - row->begin.value;
        if (spad__loop_breaks(kernel, s->item) || !spad__mul(times, trips, &times)) known = false;
    }
    return 0;
}

/* Adds what one iteration of a loop advances a cursor by. False: it is not always the same. */
static bool sum_advances(const spad__moves *moves, int64_t cursor, int64_t loop, int64_t *sum) {
    *sum = 0;
    for (size_t i = 0; i < spad_kernel_statement_count(moves->kernel); i++) {
        const spad_statement *s = spad_kernel_get_statement(moves->kernel, i);
        const bool resets = s->kind == SPAD_STATEMENT_CURSOR;
        if ((!resets && s->kind != SPAD_STATEMENT_ADVANCE) || s->item != cursor) continue;
        const int64_t times = times_in_iteration(moves->kernel, i, loop);
        if (times == 0) continue;
        if (resets || times < 0) return false;
        const spad_expr_info amount = spad_kernel_get_expr(moves->kernel, s->amount);
        int64_t stages;
        if (amount.node_count != 1 || amount.nodes[0].op != SPAD_EXPR_NUMBER ||
            !spad__mul(times, amount.least, &stages) || !spad__add(*sum, stages, sum)) {
            return false;
        }
    }
    return true;
}

spad__evenness spad__cursor_period(const spad__moves *moves, int64_t cursor, int64_t *period) {
    const spad_kernel_cursor *row = spad_kernel_get_cursor(moves->kernel, (size_t)cursor);
    *period = 1;
    if (moves->extra == NULL) return SPAD__UNEVEN;
    const spad_expr_info count = spad_kernel_get_expr(moves->kernel, row->count.expr);
    for (size_t n = 0; n < count.node_count; n++) {
        if (count.nodes[n].op == SPAD_EXPR_PARAM && count.nodes[n].value == moves->param) {
            return SPAD__UNEVEN;
        }
    }
    for (size_t l = 0; l < spad_kernel_loop_count(moves->kernel); l++) {
        const int64_t moved = (int64_t)l == moves->loop ? moves->loop_step
                              : moves->param >= 0       ? moves->extra[l]
                                                        : 0;
        int64_t stages;
        if (moved == 0) continue;
        if (!sum_advances(moves, cursor, (int64_t)l, &stages) ||
            !spad__mul(stages, moved, &stages)) {
            return SPAD__UNEVEN;
        }
        const int64_t rounds = spad__motion_rounds(stages, 2 * row->count.value);
        if (!spad__lcm(*period, rounds, period) || *period > SPAD__PERIOD_MAX) {
            return SPAD__TOO_LONG;
        }
    }
    if (moves->relies != NULL) spad__moves_rely(moves, row->count.expr);
    return SPAD__EVEN;
}

void spad__moves_rely(const spad__moves *moves, spad_expr expr) {
    const spad_expr_info info = spad_kernel_get_expr(moves->kernel, expr);
    rely_on_nodes(moves, info.nodes, 0, info.node_count);
}

/* ---- tiles ------------------------------------------------------------------------- */

bool spad__tile_step(const spad_kernel_tensor *t, const int64_t *steps, int64_t *step) {
    *step = 0;
    for (size_t d = 0; d < t->blocks.count; d++) {
        if (!spad__mul(*step, t->blocks.items[d].value, step) ||
            !spad__add(*step, steps[d], step)) {
            return false;
        }
    }
    return true;
}

static bool is_still(const spad_kernel_tensor *t, const int64_t *steps) {
    for (size_t d = 0; d < t->blocks.count; d++) {
        if (steps[d] != 0) return false;
    }
    return true;
}

/* Each index comes round at its own count. */
static spad__return return_by_index(const spad__moves *moves, spad_amounts counts,
                                    const int64_t *steps, int64_t *rounds) {
    for (size_t d = 0; d < counts.count; d++) {
        spad__moves_rely(moves, counts.items[d].expr);
        const int64_t more = spad__motion_rounds(steps[d], counts.items[d].value);
        if (!spad__lcm(*rounds, more, rounds)) return SPAD__TOO_FAR;
    }
    return SPAD__RETURNS;
}

/* The number of the tile comes round at the count of the ring. */
static spad__return return_by_number(const spad__moves *moves, const spad_kernel_tensor *t,
                                     const int64_t *steps, int64_t *rounds) {
    int64_t step;
    spad__moves_rely(moves, t->ring.items[0].expr);
    for (size_t d = 1; d < t->blocks.count; d++) spad__moves_rely(moves, t->blocks.items[d].expr);
    if (!spad__tile_step(t, steps, &step)) return SPAD__TOO_FAR;
    *rounds = spad__motion_rounds(step, t->ring.items[0].value);
    return SPAD__RETURNS;
}

/* An alias tile for tile has the bytes, and the block dimensions, of the other tensor; one inside
 * of a tile has slots of its own there. */
spad__return spad__tile_return(const spad__moves *moves, const spad_kernel_tensor *t,
                               const int64_t *steps, int64_t *rounds) {
    *rounds = 1;
    if (is_still(t, steps)) return SPAD__RETURNS;
    while (t->mode == SPAD_MODE_ALIAS && t->ring.count == 0 && t->alias_tile < 0) {
        t = spad_kernel_get_tensor(moves->kernel, (size_t)t->alias_of);
    }
    if (t->ring.count == 1) return return_by_number(moves, t, steps, rounds);
    if (t->ring.count > 1) return return_by_index(moves, t->ring, steps, rounds);
    if (t->mode != SPAD_MODE_MOD) return SPAD__MOVES_ON;
    const spad_amounts lists[] = {t->free, t->par, t->banks};
    spad__return way = SPAD__RETURNS;
    for (size_t i = 0; i < 3 && way == SPAD__RETURNS; i++) {
        way = return_by_index(moves, lists[i], steps, rounds);
    }
    return way;
}
