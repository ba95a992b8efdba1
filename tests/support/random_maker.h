/* SPDX-License-Identifier: Apache-2.0
 *
 * What the families of random kernels are made with: numbers, words and lines.
 */
#ifndef SPAD_TEST_RANDOM_MAKER_H
#define SPAD_TEST_RANDOM_MAKER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "base/random.h"
#include "support/random_kernel.h"
#include "support/support.h"

typedef struct maker {
    spad__random random;
    char *text;
    char *at;
} maker;

static inline int pick(maker *m, int low, int high) {
    return (int)spad__random_in(&m->random, low, high);
}

static inline bool chance(maker *m, int percent) {
    return pick(m, 1, 100) <= percent;
}

static inline const char *any(maker *m, const char *const *words, int count) {
    return words[pick(m, 0, count - 1)];
}

SPAD_PRINTF(2, 3) static inline void put(maker *m, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    m->at += vsnprintf(m->at, (size_t)(m->text + RANDOM_KERNEL_TEXT - m->at), format, arguments);
    va_end(arguments);
    assert_true(m->at < m->text + RANDOM_KERNEL_TEXT - 1);
}

/* random_threads.c: agents of several threads, fences by kind, macros. */
void random_epilogue(maker *m);
void random_threads(maker *m);
void random_copies(maker *m);
void random_releases(maker *m);
void random_registers(maker *m);
void random_handover(maker *m);
void random_macros(maker *m);

/* random_held.c: mbarriers with a place, and tiles in their bytes; lives in the rounds of a loop.
 */
void random_held(maker *m);
void random_lives(maker *m);

#endif
