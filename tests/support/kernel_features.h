/* SPDX-License-Identifier: Apache-2.0
 *
 * kernel_features: which features a kernel has, and which pairs of them meet in many kernels. A
 * random comparison only finds a mistake in a combination that it makes.
 */
#ifndef SPAD_TEST_KERNEL_FEATURES_H
#define SPAD_TEST_KERNEL_FEATURES_H

#include <stdint.h>

enum { FEATURES_MAX = 64 };

typedef struct feature_pairs {
    long kernels; /* that the reader accepts */
    long met[FEATURES_MAX][FEATURES_MAX];
} feature_pairs;

/* A text that the reader refuses is left out. */
void feature_pairs_add(feature_pairs *pairs, const char *text);

/* How many pairs are in fewer than `least` kernels; prints them. */
long feature_pairs_missing(const feature_pairs *pairs, long least);

/* Writes the table of docs/pairs.md. */
void feature_pairs_write(const feature_pairs *pairs);

#endif
