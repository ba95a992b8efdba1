/* SPDX-License-Identifier: Apache-2.0
 *
 * Between which numbers the values of an expression are, for all values of the parameters.
 */
#ifndef SPAD_KERNEL_EXPR_RANGE_H
#define SPAD_KERNEL_EXPR_RANGE_H

#include "spad/experimental/kernel_rows.h"

/* INT64_MIN and INT64_MAX: unbounded. */
typedef struct spad__expr_range {
    int64_t least;
    int64_t most;
} spad__expr_range;

/* A parameter that is not fixed has any value, a variable those of its loop. O(nodes) for each loop
 * that it depends on. */
spad__expr_range spad__expr_range_of(const spad_kernel *kernel, spad_expr expr);

#endif
