/* SPDX-License-Identifier: Apache-2.0
 * Searches that end in time, and report their progress. */
#include "plan/problem/stop.h"

#include "base/error.h"

enum { PROGRESS_NS = 100000000 };

/* Tells the caller, if it is time to. */
static void report_progress(spad__listener *listener, int64_t now) {
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
    if (stop->listener != NULL) report_progress(stop->listener, now);
    if (now < stop->deadline && (stop->listener == NULL || !stop->listener->cancelled))
        return false;
    spad__stop_now(stop);
    return true;
}

spad_status spad__check_effort(int64_t timeout_ns, int64_t node_limit, spad_error *error) {
    if (timeout_ns >= 0 && node_limit >= 0) return SPAD_OK;
    return spad__fail(error, SPAD_ERR_ARGUMENT,
                      "a deadline of %lld ns and %lld nodes: neither may be negative",
                      (long long)timeout_ns, (long long)node_limit);
}
