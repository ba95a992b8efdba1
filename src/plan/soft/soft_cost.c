/* SPDX-License-Identifier: Apache-2.0
 *
 * The cost of a plan: the sum over its violated soft constraints.
 */
#include "plan/soft/soft.h"

static bool soft_shares_bytes(const spad_plan *plan, size_t a, size_t b,
                              const spad_plan_place *places) {
    const spad_plan_buffer *x = &plan->buffers.items[a];
    const spad_plan_buffer *y = &plan->buffers.items[b];
    return places[a].offset < places[b].offset + y->size &&
           places[b].offset < places[a].offset + x->size &&
           places[a].lane < places[b].lane + y->lanes && places[b].lane < places[a].lane + x->lanes;
}

bool spad__soft_holds(const spad__soft_list *constraints, const spad__soft_constraint *constraint,
                      const spad_plan_place *places) {
    if (constraint->b != SIZE_MAX)
        return !soft_shares_bytes(constraints->plan, constraint->a, constraint->b, places);
    return places[constraint->a].offset == constraints->previous[constraint->a].offset &&
           places[constraint->a].lane == constraints->previous[constraint->a].lane;
}

int64_t spad__soft_cost(const spad__soft_list *constraints, const spad_plan_place *places) {
    int64_t cost = 0;
    for (size_t k = 0; k < constraints->count; k++)
        if (!spad__soft_holds(constraints, &constraints->items[k], places))
            cost += constraints->items[k].cost;
    return cost;
}
