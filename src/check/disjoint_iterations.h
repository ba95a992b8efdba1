/* SPDX-License-Identifier: Apache-2.0
 *
 * Which tensors the iterations of a loop cannot meet in.
 */
#ifndef SPAD_CHECK_DISJOINT_ITERATIONS_H
#define SPAD_CHECK_DISJOINT_ITERATIONS_H

#include <stdbool.h>

#include "spad/experimental/kernel_rows.h"

/* Is it known from its indices that no two iterations of one run of a loop depend on each other
 * through a tensor: they all read it, all add to it, or touch different parts of it? True: for
 * every run. False: maybe. */
bool spad__iterations_apart(const spad_kernel *kernel, int64_t loop, int64_t tensor);

#endif
