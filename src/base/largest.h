/* SPDX-License-Identifier: Apache-2.0
 *
 * The first k of n items in some order, collected in the caller's array
 * without further memory: a heap with the last of them at its root, sorted in
 * place at the end. O(n log k).
 */
#ifndef SPAD_BASE_LARGEST_H
#define SPAD_BASE_LARGEST_H

#include <stdbool.h>
#include <stddef.h>

/* Does item a come before item b? Must be a total order. */
typedef bool (*spad__before)(const void *context, const void *a, const void *b);

typedef struct spad__largest {
    char *items;
    size_t item_size; /* at most 128 */
    size_t capacity;
    size_t kept;
    spad__before before;
    const void *context;
} spad__largest;

void spad__largest_offer(spad__largest *list, const void *item);
void spad__largest_finish(spad__largest *list);

#endif
