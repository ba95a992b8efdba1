/* SPDX-License-Identifier: Apache-2.0
 *
 * How expressions move.
 *
 * When a parameter or the variable of a loop moves on by a step again and again, a quasi-affine
 * expression e has a period p and a step s: after p moves it is e + s, wherever it started. A sum
 * has the least common multiple of the periods; a product with what does not move the multiple of
 * the step; e / d the multiple of the period that makes the step divisible by d, and e % d the
 * same with step 0. The period is the least one that follows from the form of the expression.
 *
 * Proofs for all trip counts (induction/induction.c) ask for steps of period 1 and raise their
 * step until all are; the simulator (sim/repeat.c) takes the common period of the body of a loop.
 */
#ifndef SPAD_KERNEL_AFFINE_STEP_H
#define SPAD_KERNEL_AFFINE_STEP_H

#include "spad/experimental/kernel_rows.h"

/* No longer period is worth waiting for. */
enum { SPAD__PERIOD_MAX = 1 << 16 };

/* What moves on, and by how much at a time. */
typedef struct spad__moves {
    const spad_kernel *kernel;
    int64_t param; /* -1: none */
    int64_t param_step;
    int64_t loop; /* -1: none; other loops stay where they are */
    int64_t loop_step;
    bool *relies; /* per parameter: set where a step holds for its value only; may be NULL */
    const int64_t *extra; /* per loop: iterations that it has more when the parameter moves on;
                             NULL: not known, and cursors that a walk keeps are uneven */
    bool cursors_held;    /* such cursors are where they were after every move: the caller
                             ensures it by comparing their places (induction/recurrence.h) */
} spad__moves;

/* e after `period` moves is e + step. */
typedef struct spad__affine_step {
    int64_t period;
    int64_t step;
} spad__affine_step;

typedef enum spad__evenness {
    SPAD__EVEN,
    SPAD__TOO_LONG, /* a period beyond SPAD__PERIOD_MAX */
    SPAD__UNEVEN    /* a product of two things that move, or numbers beyond 64 bits */
} spad__evenness;

/* The step of an expression; 0, no expression, stays. It is uneven where the step depends on the
 * variable of another loop, for which spad__affine_of finds an affine sum (kernel/affine.h). */
spad__evenness spad__affine_step_of(const spad__moves *moves, spad_expr expr,
                                    spad__affine_step *out);

/* Do both change by as much in the same number of moves, a multiple of their periods? */
bool spad__affine_step_alike(const spad__affine_step *left, const spad__affine_step *right);

/* The period of the stage and phase of a cursor that a walk keeps. When a loop moves on, such a
 * cursor advances by a fixed number of stages if every iteration advances it as often: no condition
 * is around an advance in the loop, and no loop around it is left early. The bounds of the loop may
 * change with those around it: a period that conditions allow to be repeated
 * (induction/induction.h: window) is inside of them, or beyond them, since they end the loop once
 * and for all. When the parameter moves on, every run of a growing loop that is over has advanced
 * it by so many stages more; how many runs there are need not be known. After *period moves all of
 * them are whole turns with both phases. */
spad__evenness spad__cursor_period(const spad__moves *moves, int64_t cursor, int64_t *period);

/* Is there a `break` that ends the loop? */
bool spad__loop_breaks(const spad_kernel *kernel, int64_t loop);

/* How often a step must be made to be a multiple of `around`, at least 1. */
int64_t spad__moves_until_multiple(int64_t step, int64_t around);

/* The parameters in these nodes, or in an expression, count as relied on. */
void spad__moves_rely_on(const spad__moves *moves, const spad_expr_node *nodes, size_t count);
void spad__moves_rely(const spad__moves *moves, spad_expr expr);

/* What becomes of the bytes of a tile whose index moves by steps[] (one per block dimension). */
typedef enum spad__return {
    SPAD__RETURNS,  /* to the same bytes after *moves_needed such moves */
    SPAD__MOVES_ON, /* every tile has its own bytes */
    SPAD__TOO_FAR   /* numbers beyond 64 bits */
} spad__return;
spad__return spad__tile_return(const spad__moves *moves, const spad_kernel_tensor *tensor,
                               const int64_t *steps, int64_t *moves_needed);

/* By how much the number of the tile moves, row-major. False: beyond 64 bits. */
bool spad__tile_step(const spad_kernel_tensor *tensor, const int64_t *steps, int64_t *step);

#endif
