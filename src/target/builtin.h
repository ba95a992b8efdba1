/* SPDX-License-Identifier: Apache-2.0
 *
 * The built-in chips, one table per vendor. Every number carries its source in
 * a comment next to it.
 */
#ifndef SPAD_TARGET_BUILTIN_H
#define SPAD_TARGET_BUILTIN_H

#include "spad/target.h"

typedef struct spad__target_list {
    size_t count;
    const spad_target *targets;
} spad__target_list;

extern const spad__target_list spad__targets_neuron;
extern const spad__target_list spad__targets_nvidia;
extern const spad__target_list spad__targets_ascend;
extern const spad__target_list spad__targets_host;

/* The words for kinds of fences in a target file. */
extern const char *const spad__fence_words[SPAD_FENCE_KINDS];

/* An array and its length, for tables: .space_count, .spaces and so on. */
#define SPAD__COUNT(array) (sizeof(array) / sizeof((array)[0]))
/* The bit of a space number, for the reads and writes of an engine. */
#define SPAD__SPACE(number) (UINT64_C(1) << (number))

/* The products of a target, all from one source. */
#define SPAD__PRODUCTS(table) .product_count = SPAD__COUNT(table), .products = (table)

#endif
