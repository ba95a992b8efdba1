/* SPDX-License-Identifier: Apache-2.0
 *
 * Compares two steps, and computes the tiles that they lead to. Steps of expressions are found in
 * affine.c.
 */
#include "kernel/affine_step.h"

#include "base/checked.h"

int64_t spad__moves_until_multiple(int64_t step, int64_t around) {
    const int64_t rest = spad__floor_mod(step, around);
    return rest == 0 ? 1 : around / spad__gcd(rest, around);
}

bool spad__affine_step_alike(const spad__affine_step *left, const spad__affine_step *right) {
    int64_t one, other;
    return spad__mul(left->step, right->period, &one) &&
           spad__mul(right->step, left->period, &other) && one == other;
}

void spad__moves_rely_on(const spad__moves *moves, const spad_expr_node *nodes, size_t count) {
    for (size_t i = 0; moves->relies != NULL && i < count; i++) {
        if (nodes[i].op == SPAD_EXPR_PARAM) moves->relies[nodes[i].value] = true;
    }
}

void spad__moves_rely(const spad__moves *moves, spad_expr expr) {
    const spad_expr_info info = spad_kernel_get_expr(moves->kernel, expr);
    spad__moves_rely_on(moves, info.nodes, info.node_count);
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
    if (moves->cursors_held) return SPAD__EVEN;
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
        const int64_t moves_needed = spad__moves_until_multiple(stages, 2 * row->count.value);
        if (!spad__lcm(*period, moves_needed, period) || *period > SPAD__PERIOD_MAX) {
            return SPAD__TOO_LONG;
        }
    }
    if (moves->relies != NULL) spad__moves_rely(moves, row->count.expr);
    return SPAD__EVEN;
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

/* Each index wraps modulo its own extent. */
static spad__return return_by_index(const spad__moves *moves, spad_amounts counts,
                                    const int64_t *steps, int64_t *moves_needed) {
    for (size_t d = 0; d < counts.count; d++) {
        spad__moves_rely(moves, counts.items[d].expr);
        const int64_t more = spad__moves_until_multiple(steps[d], counts.items[d].value);
        if (!spad__lcm(*moves_needed, more, moves_needed)) return SPAD__TOO_FAR;
    }
    return SPAD__RETURNS;
}

/* Tile indices wrap modulo the ring depth. */
static spad__return return_by_number(const spad__moves *moves, const spad_kernel_tensor *t,
                                     const int64_t *steps, int64_t *moves_needed) {
    int64_t step;
    spad__moves_rely(moves, t->ring.items[0].expr);
    for (size_t d = 1; d < t->blocks.count; d++) spad__moves_rely(moves, t->blocks.items[d].expr);
    if (!spad__tile_step(t, steps, &step)) return SPAD__TOO_FAR;
    *moves_needed = spad__moves_until_multiple(step, t->ring.items[0].value);
    return SPAD__RETURNS;
}

/* An alias tile for tile has the bytes, and the block dimensions, of the other tensor; one inside
 * of a tile has slots of its own there. */
spad__return spad__tile_return(const spad__moves *moves, const spad_kernel_tensor *t,
                               const int64_t *steps, int64_t *moves_needed) {
    *moves_needed = 1;
    if (is_still(t, steps)) return SPAD__RETURNS;
    while (t->mode == SPAD_MODE_ALIAS && t->ring.count == 0 && t->alias_tile < 0) {
        t = spad_kernel_get_tensor(moves->kernel, (size_t)t->alias_of);
    }
    if (t->ring.count == 1) return return_by_number(moves, t, steps, moves_needed);
    if (t->ring.count > 1) return return_by_index(moves, t->ring, steps, moves_needed);
    if (t->mode != SPAD_MODE_MOD) return SPAD__MOVES_ON;
    const spad_amounts lists[] = {t->free, t->par, t->banks};
    spad__return way = SPAD__RETURNS;
    for (size_t i = 0; i < 3 && way == SPAD__RETURNS; i++) {
        way = return_by_index(moves, lists[i], steps, moves_needed);
    }
    return way;
}
