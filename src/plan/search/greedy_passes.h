/* SPDX-License-Identifier: Apache-2.0
 *
 * Greedy passes over boxes, some of them at pinned offsets; see greedy_passes.c.
 */
#ifndef SPAD_PLAN_SEARCH_GREEDY_PASSES_H
#define SPAD_PLAN_SEARCH_GREEDY_PASSES_H

#include "base/random.h"
#include "plan/problem/stop.h"
#include "plan/search/skyline.h"

/* The boxes to pack and the best plan so far. All but the skyline is borrowed. */
typedef struct spad__pack {
    const spad__boxes *boxes;
    const int64_t *fixed; /* per box: its pinned offset, or -1; NULL: all are free */
    const spad_host *host;
    spad__random *random;
    spad__stop *stop;
    int64_t enough;  /* a plan of this height is all that is asked for */
    int64_t height;  /* of the best plan, once there is one; only lower plans are of use */
    int64_t *offset; /* of the best, per box */
    int64_t *trial;  /* room for another plan */
    int32_t passes;  /* plain ones so far */
    spad__skyline *skyline;
} spad__pack;

/* Fill in all but the skyline first. False: no memory. */
bool spad__pack_start(spad__pack *pack);
void spad__pack_end(spad__pack *pack);

/* One pass with the next preference. The first one, without which there would be no plan
 * at all, is not cut by `stop` while `height` is INT64_MAX. */
void spad__pack_pass(spad__pack *pack);

/* Packs the core (narrow_peak.c) first, then the rest around it. False: no memory. */
bool spad__pack_core(spad__pack *pack);

#endif
