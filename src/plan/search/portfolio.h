/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver for boxes: first answers, then the exact search in restarts over
 * a ladder of heights, in one thread or several; see portfolio.c.
 */
#ifndef SPAD_PLAN_SEARCH_PORTFOLIO_H
#define SPAD_PLAN_SEARCH_PORTFOLIO_H

#include "plan/problem/stop.h"
#include "plan/search/boxes.h"

enum { SPAD__EXACT_BOXES = 8192 }; /* beyond it no exact search */

/* The goal of a search and its results; heights in units. */
typedef struct spad__portfolio {
    const spad__boxes *boxes;
    const spad_host *host;
    const spad_plan_options *options;
    spad__stop *stop;
    int64_t enough;     /* a plan of this height ends the search */
    int64_t capacity;   /* plans above it are of use only as a first answer */
    int64_t low;        /* no plan is lower: proved */
    int64_t height;     /* of the best plan; INT64_MAX: none */
    int64_t node_limit; /* 0: none */
    int64_t *offset;    /* of the best plan, per box; owned by the caller */
    int64_t nodes;
    int64_t restarts;
} spad__portfolio;

/* False: no host memory. */
bool spad__portfolio_run(spad__portfolio *portfolio);

#endif
