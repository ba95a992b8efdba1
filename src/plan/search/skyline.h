/* SPDX-License-Identifier: Apache-2.0
 *
 * Greedy first answers for boxes; see skyline.c.
 */
#ifndef SPAD_PLAN_SEARCH_SKYLINE_H
#define SPAD_PLAN_SEARCH_SKYLINE_H

#include "plan/problem/stop.h"
#include "plan/search/boxes.h"

typedef struct spad__skyline spad__skyline;

/* The preferences of a pass, per binary logarithm in 1/256. */
typedef struct spad__preference {
    int32_t size;
    int32_t width;
    int32_t noise;
} spad__preference;

/* boxes are borrowed. NULL: no memory. */
spad__skyline *spad__skyline_create(const spad__boxes *boxes, const spad_host *host);
void spad__skyline_destroy(spad__skyline *skyline);

/* One pass. Returns the height in units, or -1 as soon as it is known to be above
 * `limit`. offset: per box. fixed: offsets of pinned boxes, -1 for the others;
 * NULL: all are free. The pinned ones must be a plan by themselves, else it is -1. stop: ends the
 * pass with -1; NULL: nothing does. */
int64_t spad__skyline_pass(spad__skyline *skyline, const spad__preference *preference,
                           uint64_t seed, const int64_t *fixed, int64_t limit, spad__stop *stop,
                           int64_t *offset);

#endif
