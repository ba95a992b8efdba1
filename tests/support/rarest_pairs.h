/* SPDX-License-Identifier: Apache-2.0
 *
 * rarest_pairs: with which other feature each feature is combined least often, as a table of
 * docs/pairs.md. Whoever counts a pair asserts a least number for every one.
 */
#ifndef SPAD_TEST_RAREST_PAIRS_H
#define SPAD_TEST_RAREST_PAIRS_H

#include <stdint.h>

/* In how many problems features a and b are together; -1: they cannot be combined. */
typedef int64_t pair_count(int a, int b, const void *context);

void write_rarest_pairs(const char *heading, const char *const *names, int count, pair_count *met,
                        const void *context);

#endif
