/* SPDX-License-Identifier: Apache-2.0
 * The clock behind deadlines and progress. */
#define _POSIX_C_SOURCE 200809L
#include "plan/stop.h"

#include <time.h>

enum { PROGRESS_NS = 100000000 };

int64_t spad__clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t spad__deadline(int64_t timeout_ns) {
    const int64_t now = spad__clock();
    return timeout_ns == 0 || timeout_ns > INT64_MAX - now ? INT64_MAX : now + timeout_ns;
}

/* Tells the caller, if it is time to. */
static void tell(spad__listener *listener, int64_t now) {
    if (listener->cancelled || now < listener->next) return;
    const spad_plan_options *options = listener->options;
    listener->next = now + PROGRESS_NS;
    listener->progress.nanoseconds = now - listener->started;
    if (listener->host_mutex != NULL) pthread_mutex_lock(listener->host_mutex);
    listener->cancelled = options->progress(options->context, &listener->progress) != 0;
    if (listener->host_mutex != NULL) pthread_mutex_unlock(listener->host_mutex);
}

bool spad__stopped(spad__stop *stop) {
    if (atomic_load_explicit(stop->now, memory_order_relaxed)) return true;
    if (stop->deadline == INT64_MAX && stop->listener == NULL) return false;
    const int64_t now = spad__clock();
    if (stop->listener != NULL) tell(stop->listener, now);
    if (now < stop->deadline && (stop->listener == NULL || !stop->listener->cancelled))
        return false;
    spad__stop_now(stop);
    return true;
}
