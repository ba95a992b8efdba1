/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of a random kernel while it is put together, with the random numbers for it. */
#ifndef SPAD_TEST_RANDOM_PAGE_H
#define SPAD_TEST_RANDOM_PAGE_H

#include <stdio.h>

#include "base/error.h"
#include "base/random.h"
#include "support/support.h"

typedef struct page {
    char text[8192];
    size_t used;
    spad__random random;
} page;

/* 0 to count - 1. */
static inline int pick(page *p, int count) {
    return (int)spad__random_in(&p->random, 0, count - 1);
}

SPAD_PRINTF(2, 3) static inline void put(page *p, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    p->used += (size_t)vsnprintf(p->text + p->used, sizeof p->text - p->used, format, arguments);
    va_end(arguments);
    assert_true(p->used < sizeof p->text);
}

/* One time in `rarely` another number. */
static inline int nearly(page *p, int usual, int other, int rarely) {
    return pick(p, rarely) == 0 ? other : usual;
}

#endif
