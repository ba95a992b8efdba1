/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls of a library that stands in for a driver's: a lock, a count, and the one that fails.
 * One file of a library includes it after FAIL_CODE, the code of a call that fails as long as a
 * test sets no other. So every such library has the functions below; a test finds them with
 * device/stand_in.h.
 */
#ifndef SPAD_FAKE_CALLS_H
#define SPAD_FAKE_CALLS_H

#include <pthread.h>
#include <stdbool.h>

typedef int result;
enum { SUCCESS = 0 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long calls;
static long fail_at;
static long live; /* what was made and not given back */
static result fail_code = FAIL_CODE;

static bool fails(void) {
    return ++calls == fail_at;
}

/* The call with this number, from 1, fails. */
void fake_fail_at(long call);
void fake_fail_at(long call) {
    calls = 0;
    fail_at = call;
}

long fake_calls(void);
long fake_calls(void) {
    return calls;
}

long fake_live(void);
long fake_live(void) {
    return live;
}

/* The code of calls that fail. */
void fake_set_code(int code);
void fake_set_code(int code) {
    fail_code = code;
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

#endif
