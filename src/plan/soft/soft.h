/* SPDX-License-Identifier: Apache-2.0
 *
 * Soft constraints of a plan as one list, for the exact search and for local search in large plans.
 */
#ifndef SPAD_PLAN_SOFT_SOFT_H
#define SPAD_PLAN_SOFT_SOFT_H

#include "base/limit.h"
#include "plan/problem/problem.h"
#include "spad/experimental/soft_constraints.h"

/* A buffer that stays (b is SIZE_MAX), or two that share no byte. */
typedef struct spad__soft_constraint {
    size_t a;
    size_t b;
    int64_t cost;
} spad__soft_constraint;

typedef struct spad__soft_list {
    const spad_plan *plan;
    const spad_plan_place *previous; /* NULL: none */
    int64_t limit;                   /* of the height */
    size_t count;
    const spad__soft_constraint *items;
    spad__limit *time;
} spad__soft_list;

bool spad__soft_holds(const spad__soft_list *constraints, const spad__soft_constraint *constraint,
                      const spad_plan_place *places);
int64_t spad__soft_cost(const spad__soft_list *constraints, const spad_plan_place *places);

/* The least cost of a plan within the limit, by search. places: a plan of cost *best, replaced by
 * better ones. *bound: no plan costs less. */
spad_status spad__soft_search(const spad__soft_list *constraints, spad_plan_place *places,
                              int64_t *best, int64_t *bound);

/* Improves a plan place by place. */
spad_status spad__soft_improve(const spad__soft_list *constraints, spad_plan_place *places,
                               int64_t *best);

#endif
