/* SPDX-License-Identifier: Apache-2.0
 *
 * The value of an expression where parameters and loops have other values than in the kernel.
 */
#ifndef SPAD_KERNEL_EVALUATE_H
#define SPAD_KERNEL_EVALUATE_H

#include "spad/experimental/kernel_rows.h"

/* The value of a parameter, a variable, a stage or a phase. False: it is not known. */
typedef bool spad__leaf(const void *context, const spad_expr_node *node, int64_t *out);

/* Evaluates `count` nodes in postfix order. False: a leaf is not known, the value is beyond 64
 * bits, a divisor is not positive, or there is no such element of an unknown value. O(count). */
bool spad__evaluate_with(const spad_kernel *kernel, const spad_expr_node *nodes, size_t count,
                         spad__leaf *leaf, const void *context, int64_t *out);

/* The value of an expression, where values[l] is what loop l counts, followed by the advances of
 *  each cursor that is not even, modulo twice its stages. Must be an expression of the kernel, and
 *  every value must occur in its loop. O(nodes). */
int64_t spad__kernel_evaluate(const spad_kernel *kernel, spad_expr expr, const int64_t *values);

#endif
