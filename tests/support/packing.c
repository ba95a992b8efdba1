/* SPDX-License-Identifier: Apache-2.0
 *
 * Perfect packings: start from one rectangle of time x bytes; take one of the
 * rectangles at random, the larger of two, and cut it in two at a random place,
 * across the longer side more often. What comes out is a tiling, in an order
 * that says nothing about how it was made.
 */
#include "support/packing.h"

#include <stdlib.h>

#include "base/random.h"

typedef struct tile {
    int64_t lower, upper, lo, hi;
} tile;

static int64_t area(const tile *t) {
    return (t->upper - t->lower) * (t->hi - t->lo);
}

/* Cuts a tile in two; false: it is too small for that. */
static bool cut(tile *t, tile *other, spad__random *random) {
    const int64_t wide = t->upper - t->lower;
    const int64_t high = t->hi - t->lo;
    if (wide < 2 && high < 2) return false;
    *other = *t;
    const bool in_time = high < 2 || (wide >= 2 && spad__random_below(random, 2) == 0);
    if (in_time)
        t->upper = other->lower = spad__random_in(random, t->lower + 1, t->upper - 1);
    else
        t->hi = other->lo = spad__random_in(random, t->lo + 1, t->hi - 1);
    return true;
}

static spad_status add(spad_plan *plan, int64_t lower, int64_t upper, int64_t size,
                       spad_error *error) {
    const spad_plan_buffer b = {.lower = lower, .upper = upper, .size = size};
    return spad_plan_add(NULL, plan, &b, error);
}

spad_status packing_perfect(spad_plan *plan, int32_t count, int64_t height, uint64_t seed,
                            spad_error *error) {
    spad__random random = {seed};
    tile *tiles = malloc((size_t)count * sizeof *tiles);
    if (tiles == NULL) return SPAD_ERR_HOST_MEMORY;
    tiles[0] = (tile){0, height, 0, height};
    int32_t made = 1;
    while (made < count) {
        const uint64_t a = spad__random_below(&random, (uint64_t)made);
        const uint64_t b = spad__random_below(&random, (uint64_t)made);
        tile *t = area(&tiles[a]) >= area(&tiles[b]) ? &tiles[a] : &tiles[b];
        if (cut(t, &tiles[made], &random)) made++;
    }
    for (int32_t i = count - 1; i > 0; i--) {
        const uint64_t k = spad__random_below(&random, (uint64_t)i + 1);
        const tile swap = tiles[i];
        tiles[i] = tiles[k];
        tiles[k] = swap;
    }
    spad_status status = SPAD_OK;
    for (int32_t i = 0; i < count && status == SPAD_OK; i++)
        status = add(plan, tiles[i].lower, tiles[i].upper, tiles[i].hi - tiles[i].lo, error);
    free(tiles);
    return status;
}

/* Between 2^low and 2^high, each power alike. */
static int64_t any_size(spad__random *random, int64_t low, int64_t high) {
    const int64_t power = spad__random_in(random, low, high - 1);
    return spad__random_in(random, INT64_C(1) << power, (INT64_C(2) << power) - 1);
}

/* Calls nest: a walk goes down and up; a buffer lives from its call to the return. */
static spad_status add_stack(spad_plan *plan, int32_t count, spad__random *random,
                             spad_error *error) {
    enum { DEEPEST = 400 };
    int64_t since[DEEPEST];
    int32_t depth = 0;
    int64_t time = 0;
    spad_status status = SPAD_OK;
    for (int32_t made = 0; made < count && status == SPAD_OK; time++) {
        const bool down = depth < 2 || (depth < DEEPEST && spad__random_below(random, 2) == 0);
        if (down) {
            since[depth++] = time;
        } else {
            status = add(plan, since[--depth], time, 64 * any_size(random, 0, 10), error);
            made++;
        }
    }
    return status;
}

static spad_status add_random(spad_plan *plan, int32_t count, spad__random *random,
                              spad_error *error) {
    spad_status status = SPAD_OK;
    for (int32_t i = 0; i < count && status == SPAD_OK; i++) {
        const int64_t lower = spad__random_in(random, 0, 2 * (int64_t)count);
        const int64_t life = any_size(random, 0, 12);
        status = add(plan, lower, lower + life, 64 * any_size(random, 0, 12), error);
    }
    return status;
}

/* Layer k has an activation that lives until its backward step, weights of the whole
 * run now and then, and short-lived workspace around both steps. */
static spad_status add_training(spad_plan *plan, int32_t count, spad__random *random,
                                spad_error *error) {
    spad_status status = SPAD_OK;
    const int64_t layers = count / 8 + 1;
    const int64_t end = 4 * layers;
    for (int32_t i = 0; i < count && status == SPAD_OK; i++) {
        const int64_t layer = spad__random_in(random, 0, layers - 1);
        const int64_t back = end - 2 * layer - 1;
        switch (i % 8) {
        case 0: status = add(plan, 2 * layer, back + 1, 64 * any_size(random, 2, 8), error); break;
        case 1: status = add(plan, 0, end, 64 * any_size(random, 0, 4), error); break;
        case 2:
        case 3:
            status = add(plan, back, back + spad__random_in(random, 1, 8),
                         256 * any_size(random, 4, 12), error);
            break;
        default:
            status = add(plan, 2 * layer, 2 * layer + spad__random_in(random, 1, 8),
                         256 * any_size(random, 4, 12), error);
            break;
        }
    }
    return status;
}

spad_status packing_shaped(spad_plan *plan, packing_shape shape, int32_t count, uint64_t seed,
                           spad_error *error) {
    spad__random random = {seed};
    switch (shape) {
    case PACKING_STACK: return add_stack(plan, count, &random, error);
    case PACKING_RANDOM: return add_random(plan, count, &random, error);
    case PACKING_TRAINING: return add_training(plan, count, &random, error);
    }
    return SPAD_ERR_ARGUMENT;
}
