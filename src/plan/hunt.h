/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver for boxes: first answers, then the exact search in restarts over
 * a ladder of heights, in one thread or several; see hunt.c.
 */
#ifndef SPAD_PLAN_HUNT_H
#define SPAD_PLAN_HUNT_H

#include "plan/boxes.h"
#include "plan/stop.h"

enum { SPAD__EXACT_BOXES = 8192 }; /* beyond it no exact search */

/* What is looked for and what was found; heights in units. */
typedef struct spad__hunt {
    const spad__boxes *boxes;
    const spad_host *host;
    const spad_plan_options *options;
    spad__stop *stop;
    int64_t enough;     /* a plan of this height ends the hunt */
    int64_t capacity;   /* plans above it are of use only as a first answer */
    int64_t low;        /* no plan is lower: proved */
    int64_t height;     /* of the best plan; INT64_MAX: none */
    int64_t node_limit; /* 0: none */
    int64_t *offset;    /* of the best plan, per box; owned by the caller */
    int64_t nodes;
    int64_t restarts;
} spad__hunt;

/* False: no host memory. */
bool spad__hunt_run(spad__hunt *hunt);

#endif
