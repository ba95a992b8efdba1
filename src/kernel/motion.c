/* SPDX-License-Identifier: Apache-2.0
 *
 * Two motions, and the tiles that they lead to. Motions of expressions are found in form.c.
 */
#include "kernel/motion.h"

#include "base/checked.h"

int64_t spad__motion_rounds(int64_t step, int64_t around) {
    const int64_t rest = spad__floor_mod(step, around);
    return rest == 0 ? 1 : around / spad__gcd(rest, around);
}

bool spad__motion_alike(const spad__motion *left, const spad__motion *right) {
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
