/* SPDX-License-Identifier: Apache-2.0
 *
 * What the libraries that stand in for a driver's share: one lock, and calls that are counted and
 * of which one can be made to fail. To be included once, after FAKE is defined as the name in the
 * functions for the tests, `result` as the type of a call's result, and DEFAULT_CODE as the code
 * of one that fails:
 *
 *   fake_NAME_fail_at(n)    the n-th call from now on fails; 0: none
 *   fake_NAME_set_code(c)   with this code; at first DEFAULT_CODE
 *   fake_NAME_calls()       calls since fail_at
 *   fake_NAME_live()        what was made and not given back
 */
#ifndef SPAD_FAKE_FAKE_H
#define SPAD_FAKE_FAKE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "later.h"

#define FAKE_JOIN(a, b, c) a##b##c
#define FAKE_NAMED(a, b, c) FAKE_JOIN(a, b, c)
#define FAKE_FUNCTION(verb) FAKE_NAMED(fake_, FAKE, verb)

enum { SUCCESS = 0 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long calls;
static long fail_at;
static result fail_code = DEFAULT_CODE;
static long live;

static bool fails(void) {
    return ++calls == fail_at;
}

/* Every call: the lock, and the one that fails. */
#define CALL(body)                \
    pthread_mutex_lock(&mutex);   \
    result call_result = SUCCESS; \
    if (fails()) {                \
        call_result = fail_code;  \
    } else {                      \
        body;                     \
    }                             \
    pthread_mutex_unlock(&mutex); \
    return call_result

/* A call that gives something back: it does so even when it fails. */
#define CLOSING_CALL(body)                                    \
    pthread_mutex_lock(&mutex);                               \
    const result call_result = fails() ? fail_code : SUCCESS; \
    body;                                                     \
    pthread_mutex_unlock(&mutex);                             \
    return call_result

void FAKE_FUNCTION(_fail_at)(long call);
void FAKE_FUNCTION(_fail_at)(long call) {
    calls = 0;
    fail_at = call;
}

void FAKE_FUNCTION(_set_code)(int code);
void FAKE_FUNCTION(_set_code)(int code) {
    fail_code = code;
}

long FAKE_FUNCTION(_calls)(void);
long FAKE_FUNCTION(_calls)(void) {
    return calls;
}

long FAKE_FUNCTION(_live)(void);
long FAKE_FUNCTION(_live)(void) {
    return live;
}

#endif
