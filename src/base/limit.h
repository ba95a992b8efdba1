/* SPDX-License-Identifier: Apache-2.0
 *
 * How long a call may take: a deadline and a cancellation by the caller. Work asks once in many
 * steps; what was answered once stays, so every part of a call ends in the same way.
 */
#ifndef SPAD_BASE_LIMIT_H
#define SPAD_BASE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "spad/host.h"

/* Nanoseconds of a clock that only goes forward. */
int64_t spad__clock(void);

/* The clock after that time; 0: never, INT64_MAX. */
int64_t spad__deadline(int64_t timeout_ns);

typedef struct spad__limit {
    int64_t deadline; /* of spad__clock; INT64_MAX: none */
    spad_watch watch;
    spad_status status; /* SPAD_OK: continue; SPAD_ERR_TIME, SPAD_ERR_CANCELLED: why not */
} spad__limit;

/* From now on. 0: no deadline. SPAD_ERR_ARGUMENT: a negative time. */
spad_status spad__limit_start(spad__limit *limit, int64_t timeout_ns, spad_watch watch,
                              spad_error *error);

/* Asks the caller only: for calls that have a result when time is up. */
bool spad__limit_cancelled(spad__limit *limit);

/* Asks the clock and the caller: is it time to end? */
bool spad__limit_reached(spad__limit *limit);

/* What is left for a call inside this one, as its timeout_ns: 0 where there is no deadline, else
 * 1 at least. */
int64_t spad__limit_left(const spad__limit *limit);

/* Fails for a limit that was reached: "time is up after 3 simulations; allow more". */
spad_status spad__limit_fail(const spad__limit *limit, int64_t count, const char *things,
                             spad_error *error);

#endif
