/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops whose trip count only data decides. See data_iterations.h.
 */
#include "frontend/gpu/data_iterations.h"

#include "base/checked.h"

/* a * factor + added. For a plain number a is below 0. */
typedef struct spad__gpu_linear {
    spad__scalar a;
    int64_t factor;
    int64_t added;
} spad__gpu_linear;

static spad__gpu_linear linear_of(const spad__scalars *s, spad__scalar n) {
    spad__gpu_linear out = {.a = n, .factor = 1};
    const spad__scalar_node *node = spad__scalar_get(s, n);
    if (spad__scalar_is_number(s, n, &out.added)) {
        out.a = SPAD__NO_SCALAR;
        return out;
    }
    if (node->op == SPAD__SCALAR_ADD && spad__scalar_is_number(s, node->b, &out.added)) {
        out.a = node->a;
        node = spad__scalar_get(s, node->a);
    }
    if (node->op == SPAD__SCALAR_MUL && spad__scalar_is_number(s, node->b, &out.factor)) {
        out.a = node->a;
    }
    return out;
}

/* left < T * factor + added, divided by the factor: floor((left - added) / factor) < T, because T
 * is whole. The left side is a number, or moves by the same factor. */
spad__scalar spad__gpu_in_steps(spad__gpu *g, spad__scalar n) {
    spad__scalars *s = &g->scalars;
    if (g->mode != SPAD__GPU_WHOLE_STEPS || n < 0) return n;
    const spad__scalar_node node = *spad__scalar_get(s, n);
    if (node.op != SPAD__SCALAR_LESS) return n;
    const spad__gpu_linear left = linear_of(s, node.a), right = linear_of(s, node.b);
    int64_t more;
    if (right.a < 0 || right.factor < 1 || !spad__gpu_is_trip_count(g, right.a)) return n;
    if (left.a >= 0 && left.factor != right.factor) return n;
    if (!spad__sub(left.added, right.added, &more)) return n;
    const int64_t by = spad__floor_div(more, right.factor);
    const spad__scalar from =
        left.a < 0 ? spad__scalar_number(s, by) : spad__scalar_plus(s, left.a, by);
    return spad__scalar_make(s, SPAD__SCALAR_LESS, from, right.a);
}

/* The trip count of a loop over this distance, if it is one of whole steps; else below 0. */
static spad__scalar find_whole_steps(spad__gpu *g, spad__scalar distance, int64_t step) {
    spad__scalars *s = &g->scalars;
    if (g->mode != SPAD__GPU_WHOLE_STEPS || distance < 0) return SPAD__NO_SCALAR;
    const spad__gpu_linear l = linear_of(s, distance);
    if (l.a < 0 || l.factor != step || !spad__gpu_is_trip_count(g, l.a)) return SPAD__NO_SCALAR;
    /* cannot overflow: the distance itself, SPAD__GPU_STEPS_OF_DATA steps more, fits */
    return spad__scalar_plus(s, l.a, spad__floor_div(l.added + (step - 1), step));
}

spad__scalar spad__gpu_count_trips(spad__gpu *g, spad__scalar start, spad__scalar stop,
                                   spad__scalar step) {
    spad__scalars *s = &g->scalars;
    int64_t value;
    if (!spad__scalar_known(s, step, &value) || value < 1) return spad__scalar_data(s);
    spad__scalar trips = spad__scalar_sub(s, stop, start);
    const spad__scalar whole = find_whole_steps(g, trips, value);
    if (whole >= 0) return whole;
    int64_t distance;
    if (spad__scalar_known(s, trips, &distance) &&
        distance < 0) { /* none at these sizes, perhaps some at others */
        trips = spad__scalar_make(s, SPAD__SCALAR_MAX, trips, spad__scalar_number(s, 0));
    }
    return spad__scalar_is(s, step, 1) ? trips : spad__scalar_ceil_div(s, trips, step);
}
