/* SPDX-License-Identifier: Apache-2.0
 *
 * What a plan costs by its wishes.
 */
#include "plan/wishes.h"

static bool wish_shares_bytes(const spad_plan *plan, size_t a, size_t b,
                              const spad_plan_place *places) {
    const spad_plan_buffer *x = &plan->buffers.items[a];
    const spad_plan_buffer *y = &plan->buffers.items[b];
    return places[a].offset < places[b].offset + y->size &&
           places[b].offset < places[a].offset + x->size &&
           places[a].lane < places[b].lane + y->lanes && places[b].lane < places[a].lane + x->lanes;
}

bool spad__wish_holds(const spad__wishes *wishes, const spad__wish *wish,
                      const spad_plan_place *places) {
    if (wish->b != SIZE_MAX) return !wish_shares_bytes(wishes->plan, wish->a, wish->b, places);
    return places[wish->a].offset == wishes->previous[wish->a].offset &&
           places[wish->a].lane == wishes->previous[wish->a].lane;
}

int64_t spad__wishes_cost(const spad__wishes *wishes, const spad_plan_place *places) {
    int64_t cost = 0;
    for (size_t k = 0; k < wishes->count; k++)
        if (!spad__wish_holds(wishes, &wishes->items[k], places)) cost += wishes->items[k].cost;
    return cost;
}
