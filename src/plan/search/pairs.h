/* SPDX-License-Identifier: Apache-2.0
 *
 * The exact search for items of any shape; see pairs.c.
 */
#ifndef SPAD_PLAN_SEARCH_PAIRS_H
#define SPAD_PLAN_SEARCH_PAIRS_H

#include "plan/problem/model.h"
#include "plan/problem/stop.h"

enum { SPAD__EXACT_ITEMS = 1024 };

typedef struct spad__pairs {
    const spad__model *model;
    spad__stop *stop;
    int64_t step_limit;     /* nodes and raised values */
    int64_t enough;         /* a plan of this height ends the search */
    int64_t height;         /* in: only plans lower than this; out: of the best plan */
    int64_t capacity;       /* only plans of at most this height */
    spad_plan_place *place; /* per item, written when a plan is found */
    bool complete;          /* out: no plan is lower than `height`, or none exists below it */
    bool too_large;         /* out: more conflicts than it takes */
    int64_t nodes;          /* in: of earlier searches; out: including this one */
} spad__pairs;

/* SPAD_ERR_HOST_MEMORY. */
spad_status spad__pairs_run(spad__pairs *pairs);

#endif
