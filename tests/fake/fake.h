/* SPDX-License-Identifier: Apache-2.0
 *
 * What the libraries that stand in for a driver's share: one lock, and calls that are counted and
 * of which one can be made to fail. To be included once, after `result` is defined as the type of
 * a call's result, and DEFAULT_CODE as the code of one that fails. A test finds the functions with
 * device/stand_in.h:
 *
 *   fake_fail_at(n)    the n-th call from now on fails; 0: none
 *   fake_set_code(c)   with this code; at first DEFAULT_CODE
 *   fake_calls()       calls since fail_at
 *   fake_live()        what was made and not given back
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

void fake_fail_at(long call);
void fake_fail_at(long call) {
    calls = 0;
    fail_at = call;
}

void fake_set_code(int code);
void fake_set_code(int code) {
    fail_code = code;
}

long fake_calls(void);
long fake_calls(void) {
    return calls;
}

long fake_live(void);
long fake_live(void) {
    return live;
}

#endif
