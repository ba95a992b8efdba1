/* SPDX-License-Identifier: Apache-2.0
 *
 * random_kernel: texts of small kernels, small enough to visit all their executions.
 *
 * Families: lists of operations on tensors that overlap (rings, fixed places, aliases, parts,
 * lives, scopes); pipelines of every kind of synchronisation, right when they are made and then
 * often with a mistake or two (support/mutate.h); and soups of statements. The same seed gives
 * the same text on every machine.
 */
#ifndef SPAD_TEST_RANDOM_KERNEL_H
#define SPAD_TEST_RANDOM_KERNEL_H

#include <stddef.h>
#include <stdint.h>

enum { RANDOM_KERNEL_TEXT = 1 << 14, RANDOM_KERNEL_FAMILIES = 25 };

/* Writes the text (with a NUL) and returns the number of its family. */
int random_kernel(uint64_t seed, char text[RANDOM_KERNEL_TEXT]);

const char *random_kernel_family(int family);

#endif
