/* SPDX-License-Identifier: Apache-2.0
 *
 * random_mixed: kernels of two or three trip counts that combine conditions, indices,
 * synchronisation and places at random.
 *
 * A pipeline, or one program, runs through nested loops; conditions leave rounds out, in both
 * agents alike or nearly. Every agent also has tensors of its own, which it writes and reads under
 * conditions of their own. Many conditions change their answer at thresholds up to `most` only, and
 * at several of them at once, so that small shapes are right and larger ones are not. The same seed
 * gives the same text on every machine.
 */
#ifndef SPAD_TEST_RANDOM_MIXED_H
#define SPAD_TEST_RANDOM_MIXED_H

#include <stdint.h>

#include "support/random_kernel.h"

/* Thresholds of conditions. */
enum { RANDOM_MIXED_THRESHOLDS = 32 };

typedef struct random_mixed {
    char text[RANDOM_KERNEL_TEXT];
    int params; /* T, N and M, in this order; at least 2 */
    int thresholds[RANDOM_MIXED_THRESHOLDS];
    int threshold_count;
} random_mixed;

void random_mixed_make(random_mixed *out, uint64_t seed, int most);

#endif
