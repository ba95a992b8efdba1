/* SPDX-License-Identifier: Apache-2.0
 *
 * Forms: numbers that depend on loops, a constant and a multiple of some of their variables.
 *
 * When N grows by Q, the running index t * N + n of a tile grows by t * Q: not by a number, but by
 * a form. What kernel/motion.h says of motions holds with forms in place of steps, as long as only
 * one factor of a product moves: a product with a form that does not move, a quotient or a rest if
 * every number of the form is divisible.
 */
#ifndef SPAD_KERNEL_FORM_H
#define SPAD_KERNEL_FORM_H

#include "kernel/motion.h"

/* Loops that a form has at most; deeper ones are not worth it. */
enum { SPAD__FORM_LOOPS = 4 };

typedef struct spad__form {
    int64_t constant;
    size_t count;
    int64_t loops[SPAD__FORM_LOOPS];   /* ascending */
    int64_t factors[SPAD__FORM_LOOPS]; /* none is 0 */
} spad__form;

/* sum += factor x other. False: beyond 64 bits, or too many loops. */
bool spad__form_add(spad__form *sum, const spad__form *other, int64_t factor);

/* Adds a multiple of a loop variable. */
bool spad__form_add_loop(spad__form *sum, int64_t loop, int64_t factor);

bool spad__form_equal(const spad__form *left, const spad__form *right);
bool spad__form_is_zero(const spad__form *form);

/* Its value; values: one per loop. False: beyond 64 bits. */
bool spad__form_value(const spad__form *form, const int64_t *values, int64_t *value);

/* The least and the most that it can be in loops that run. False: beyond 64 bits. */
bool spad__form_range(const spad__form *form, const spad_kernel *kernel, int64_t *least,
                      int64_t *most);

/* The motion of an expression, as spad__motion_of: after *period moves it is larger by *step.
 * *divides becomes true if something that moves is divided on the way; may be NULL. */
spad__evenness spad__form_of(const spad__moves *moves, spad_expr expr, spad__form *step,
                             int64_t *period, bool *divides);

#endif
