/* SPDX-License-Identifier: Apache-2.0
 * The clock behind deadlines. */
#define _POSIX_C_SOURCE 200809L
#include "plan/stop.h"

#include <time.h>

int64_t spad__clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

bool spad__stopped(spad__stop *stop) {
    if (atomic_load_explicit(&stop->now, memory_order_relaxed)) return true;
    if (stop->deadline == INT64_MAX || spad__clock() < stop->deadline) return false;
    spad__stop_now(stop);
    return true;
}
