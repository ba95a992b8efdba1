/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops whose trip count only data decides.
 *
 * A pipelined loop asks in front of it, and in its iterations, whether as many iterations follow:
 * `0 < n`, `i < n - 64`, where data decides n and the loop ends at n - 64. With n = start + step *
 * T, for any trip count T, these are comparisons with T: start + step * r < n iff r < T, if T is (n
 * - start) / step rounded up. So T is an argument of its own (numbered from SPAD__GPU_TRIPS), and
 * everything else that depends on n sees whole steps from 0.
 */
#ifndef SPAD_FRONTEND_GPU_DATA_ITERATIONS_H
#define SPAD_FRONTEND_GPU_DATA_ITERATIONS_H

#include "frontend/gpu/gpu_program.h"

enum {
    SPAD__GPU_TRIPS = 1 << 20,   /* arguments from here on are trip counts that data decides */
    SPAD__GPU_TRIPS_OF_DATA = 3, /* of a loop that data ends, if no number is given */
    SPAD__GPU_STEPS_OF_DATA = 8  /* the same with whole steps: more than a pipeline is deep */
};
/* The last bit of `arguments`: trip counts that data decides, and arguments of the program from the
 * 63rd on. */
#define SPAD__GPU_TRIPS_BIT (UINT64_C(1) << 63)

/* True if n is the trip count of a loop that data ends. */
static inline bool spad__gpu_is_trip_count(const spad__gpu *g, spad__scalar n) {
    const spad__scalar_node *node = spad__scalar_get(&g->scalars, n);
    return node->op == SPAD__SCALAR_ARGUMENT && node->value >= SPAD__GPU_TRIPS;
}
/* True if n depends on such a trip count: its value at the given sizes is only one of many. */
static inline bool spad__gpu_has_trip_count(const spad__gpu *g, spad__scalar n) {
    return g->mode == SPAD__GPU_WHOLE_STEPS &&
           (spad__scalar_get(&g->scalars, n)->arguments & SPAD__GPU_TRIPS_BIT) != 0;
}
/* Rewrites a comparison with the end of such a loop as a comparison with its trip count; other
 * numbers stay. */
spad__scalar spad__gpu_in_steps(spad__gpu *g, spad__scalar n);
/* Trips of a loop from `start` below `stop`: data if the step may not be positive, 0 if `stop` is
 * below `start`. */
spad__scalar spad__gpu_count_trips(spad__gpu *g, spad__scalar start, spad__scalar stop,
                                   spad__scalar step);

#endif
