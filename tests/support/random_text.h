/* SPDX-License-Identifier: Apache-2.0
 *
 * A text of a few kilobytes that a test puts together, and random numbers for it. */
#ifndef SPAD_TEST_RANDOM_TEXT_H
#define SPAD_TEST_RANDOM_TEXT_H

#include <stdio.h>

#include "base/error.h"
#include "base/random.h"
#include "support/support.h"

enum { TEXT = 4096 };

typedef struct text {
    char bytes[TEXT];
    size_t used;
} text;

SPAD_PRINTF(2, 3) static inline void put(text *t, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int more = vsnprintf(t->bytes + t->used, TEXT - t->used, format, arguments);
    va_end(arguments);
    assert_true(more >= 0 && (size_t)more < TEXT - t->used);
    t->used += (size_t)more;
}

/* 0 to bound - 1. */
static inline int below(spad__random *random, int bound) {
    return (int)spad__random_below(random, (uint64_t)bound);
}

#endif
