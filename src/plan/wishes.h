/* SPDX-License-Identifier: Apache-2.0
 *
 * Wishes of a plan as one list, for the exact search and for the improvement of large plans.
 */
#ifndef SPAD_PLAN_WISHES_H
#define SPAD_PLAN_WISHES_H

#include "base/limit.h"
#include "plan/problem.h"
#include "spad/wishes.h"

/* A buffer that stays (b is SIZE_MAX), or two that share no byte. */
typedef struct spad__wish {
    size_t a;
    size_t b;
    int64_t cost;
} spad__wish;

typedef struct spad__wishes {
    const spad_plan *plan;
    const spad_plan_place *previous; /* NULL: none */
    int64_t limit;                   /* of the height */
    size_t count;
    const spad__wish *items;
    spad__limit *time;
} spad__wishes;

bool spad__wish_holds(const spad__wishes *wishes, const spad__wish *wish,
                      const spad_plan_place *places);
int64_t spad__wishes_cost(const spad__wishes *wishes, const spad_plan_place *places);

/* The least cost of a plan within the limit, by search. places: a plan of cost *best, replaced by
 * better ones. *bound: no plan costs less. */
spad_status spad__wishes_search(const spad__wishes *wishes, spad_plan_place *places, int64_t *best,
                                int64_t *bound);

/* Improves a plan place by place. */
spad_status spad__wishes_improve(const spad__wishes *wishes, spad_plan_place *places,
                                 int64_t *best);

#endif
