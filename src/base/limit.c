/* SPDX-License-Identifier: Apache-2.0
 * The clock that deadlines are of, and the end of calls that take too long. */
#define _POSIX_C_SOURCE 200809L
#include "base/limit.h"

#include <time.h>

int64_t spad__clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t spad__deadline(int64_t timeout_ns) {
    const int64_t now = spad__clock();
    return timeout_ns == 0 || timeout_ns > INT64_MAX - now ? INT64_MAX : now + timeout_ns;
}

spad_status spad__limit_start(spad__limit *limit, int64_t timeout_ns, spad_watch watch,
                              spad_error *error) {
    *limit = (spad__limit){.deadline = INT64_MAX};
    if (timeout_ns < 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a timeout of %lld ns is negative",
                          (long long)timeout_ns);
    }
    *limit = (spad__limit){.deadline = spad__deadline(timeout_ns), .watch = watch};
    return SPAD_OK;
}

bool spad__limit_cancelled(spad__limit *limit) {
    const spad_watch *watch = &limit->watch;
    if (limit->status == SPAD_ERR_CANCELLED) return true;
    if (watch->cancel == NULL || watch->cancel(watch->context) == 0) return false;
    limit->status = SPAD_ERR_CANCELLED;
    return true;
}

bool spad__limit_reached(spad__limit *limit) {
    if (limit->status != SPAD_OK || spad__limit_cancelled(limit)) return true;
    if (limit->deadline == INT64_MAX || spad__clock() < limit->deadline) return false;
    limit->status = SPAD_ERR_TIME;
    return true;
}

int64_t spad__limit_left(const spad__limit *limit) {
    if (limit->deadline == INT64_MAX) return 0;
    const int64_t left = limit->deadline - spad__clock();
    return left > 0 ? left : 1;
}

spad_status spad__limit_fail(const spad__limit *limit, int64_t count, const char *things,
                             spad_error *error) {
    const bool late = limit->status == SPAD_ERR_TIME;
    return spad__fail(error, limit->status, "%s after %lld %s%s",
                      late ? "time is up" : "the call was cancelled", (long long)count, things,
                      late ? "; allow more, or define smaller parameters" : "");
}
