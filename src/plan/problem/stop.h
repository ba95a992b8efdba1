/* SPDX-License-Identifier: Apache-2.0
 *
 * When to stop: a deadline, a cancelled call, or an answer from another
 * thread. Searches ask now and then, and that is when the caller hears how far things are;
 * the clock is only a cut and never steers.
 */
#ifndef SPAD_PLAN_PROBLEM_STOP_H
#define SPAD_PLAN_PROBLEM_STOP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/limit.h"
#include "spad/plan.h"

/* The caller's ear. Only the calling thread has one. */
typedef struct spad__listener {
    const spad_plan_options *options;
    int64_t started; /* of spad__clock */
    int64_t next;    /* when to report again */
    spad_plan_progress progress;
    pthread_mutex_t *host_mutex; /* held during the callback, which may use the host; NULL:
                                    there are no other threads */
    bool cancelled;
} spad__listener;

typedef struct spad__stop {
    int64_t deadline;         /* of spad__clock; INT64_MAX: none */
    atomic_bool *now;         /* shared by threads */
    spad__listener *listener; /* NULL: no listener here */
} spad__stop;

/* True once the deadline has passed, `now` was set, or the caller cancelled. */
bool spad__stopped(spad__stop *stop);

static inline void spad__stop_now(spad__stop *stop) {
    atomic_store_explicit(stop->now, true, memory_order_relaxed);
}

/* Refuses a timeout or a number of search steps below 0. */
spad_status spad__check_effort(int64_t timeout_ns, int64_t node_limit, spad_error *error);

#endif
