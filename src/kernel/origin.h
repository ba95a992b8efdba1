/* SPDX-License-Identifier: Apache-2.0
 *
 * Which kernel an object was made from; see origin.c.
 */
#ifndef SPAD_KERNEL_ORIGIN_H
#define SPAD_KERNEL_ORIGIN_H

#include "kernel/kernel.h"
#include "spad/experimental/walk.h"

/* Outlives its kernel. Zeroed: of no kernel. */
typedef struct spad__origin {
    bool known;
    uint64_t content;          /* hash of the kernel */
    const spad_target *target; /* compared, never followed */
    char name[SPAD_NAME_FACT_MAX];
    char label[SPAD_NAME_FACT_MAX * 3]; /* "'rows' (N = 8) on trn2" */
} spad__origin;

/* O(1): a finished kernel has its hash. */
spad__origin spad__origin_of(const spad_kernel *kernel);

/* Are two objects made from the same kernel? `first` and `second` are the words for them:
 * "layout", "check". SPAD_ERR_ARGUMENT with both kernels in the message. */
spad_status spad__match_origins(const char *first, const spad__origin *a, const char *second,
                                const spad__origin *b, spad_error *error);

/* The same for objects whose kernels are at hand. O(1) for one and the same kernel. */
spad_status spad__match_kernels(const char *first, const spad_kernel *a, const char *second,
                                const spad_kernel *b, spad_error *error);

/* Is the layout (NULL: none) one of this kernel? */
spad_status spad__match_layout(const spad_kernel *kernel, const spad_layout *layout,
                               spad_error *error);

/* spad_walk_create without that question, for a check: it also walks smaller shapes of a kernel,
 * with the layout of that kernel. */
spad_status spad__walk_create(spad_walk **out, const spad_kernel *kernel,
                              const spad_walk_options *options, spad_error *error);

#endif
