/* SPDX-License-Identifier: Apache-2.0
 *
 * A clock for fuzz targets that is a count: every look at it is 20 ms later than the one before.
 * Deadlines are then limits of steps, so that runs are short and the same everywhere. The linker
 * puts it in place of clock_gettime (--wrap).
 */
#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <time.h>

int __real_clock_gettime(clockid_t id, struct timespec *now);
int __wrap_clock_gettime(clockid_t id, struct timespec *now);

int __wrap_clock_gettime(clockid_t id, struct timespec *now) {
    static int64_t looks;
    if (id != CLOCK_MONOTONIC) return __real_clock_gettime(id, now); /* of the fuzzer itself */
    looks++;
    now->tv_sec = (time_t)(looks / 50);
    now->tv_nsec = (long)(looks % 50 * 20000000);
    return 0;
}
