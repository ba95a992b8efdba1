/* SPDX-License-Identifier: Apache-2.0
 *
 * When to stop: a deadline, a cancelled call, or an answer from another
 * thread. Searches ask now and then; the clock is only a cut and never steers.
 */
#ifndef SPAD_PLAN_STOP_H
#define SPAD_PLAN_STOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct spad__stop {
    int64_t deadline; /* of spad__clock; INT64_MAX: none */
    atomic_bool now;
} spad__stop;

/* Nanoseconds of a clock that only goes forward. */
int64_t spad__clock(void);

/* True once the deadline has passed or somebody set `now`. */
bool spad__stopped(spad__stop *stop);

static inline void spad__stop_now(spad__stop *stop) {
    atomic_store_explicit(&stop->now, true, memory_order_relaxed);
}

#endif
