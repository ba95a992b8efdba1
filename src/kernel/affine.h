/* SPDX-License-Identifier: Apache-2.0
 *
 * Affine sums: a constant and multiples of some loop variables.
 *
 * When N grows by Q, the running index t * N + n of a tile grows by t * Q: not by a number, but by
 * an affine sum. What kernel/affine_step.h says of steps by a number holds for affine sums, as long
 * as only one factor of a product moves: a product with an affine sum that does not move, a
 * quotient or a rest if every number of the sum is divisible.
 */
#ifndef SPAD_KERNEL_AFFINE_H
#define SPAD_KERNEL_AFFINE_H

#include "kernel/affine_step.h"

/* Loops of an affine sum, at most; deeper ones are not worth it. */
enum { SPAD__AFFINE_LOOPS = 4 };

typedef struct spad__affine {
    int64_t constant;
    size_t count;
    int64_t loops[SPAD__AFFINE_LOOPS];   /* ascending */
    int64_t factors[SPAD__AFFINE_LOOPS]; /* none is 0 */
} spad__affine;

/* sum += factor x other. False: beyond 64 bits, or too many loops. */
bool spad__affine_add(spad__affine *sum, const spad__affine *other, int64_t factor);

/* Adds a multiple of a loop variable. */
bool spad__affine_add_loop(spad__affine *sum, int64_t loop, int64_t factor);

bool spad__affine_equal(const spad__affine *left, const spad__affine *right);
bool spad__affine_is_zero(const spad__affine *affine);

/* Its value; values: one per loop. False: beyond 64 bits. */
bool spad__affine_value(const spad__affine *affine, const int64_t *values, int64_t *value);

/* The least and the most that it can be in loops that run. False: beyond 64 bits. */
bool spad__affine_range(const spad__affine *affine, const spad_kernel *kernel, int64_t *least,
                        int64_t *most);

/* The step of an expression, as spad__affine_step_of: after *period moves it is larger by *step.
 * *divides becomes true if something that moves is divided on the way; may be NULL. */
spad__evenness spad__affine_of(const spad__moves *moves, spad_expr expr, spad__affine *step,
                               int64_t *period, bool *divides);

#endif
