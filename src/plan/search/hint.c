/* SPDX-License-Identifier: Apache-2.0
 *
 * Hints are constraints, not rules: the plan is made without them, then every item
 * with a hint moves there if nothing is in the way. In the order of buffers, so
 * that the result is the same every time. For a hint O(items that live together with it, and
 * pairs kept apart), until the time is over.
 */
#include "plan/search/hint.h"

#include "plan/problem/near.h"

enum { HINTS_PER_CLOCK_CHECK = 64 };

static bool is_free(const spad__near *near, int32_t i, const spad_plan_place *place) {
    const spad__model *m = near->model;
    spad__near_walk walk = spad__near_of(near, i);
    for (int32_t j = spad__near_next(&walk); j >= 0; j = spad__near_next(&walk))
        if (j != i && spad__items_collide(m, i, j, place)) return false;
    for (int32_t k = 0; k < m->apart_count; k++) {
        const spad__conflict *c = &m->aparts[k];
        if ((c->a == i || c->b == i) && spad__conflict_holds(c, &place[c->a], &place[c->b]))
            return false;
    }
    return true;
}

/* Whether a buffer has a hint that its item may follow. */
static bool is_legal(const spad__model *m, size_t number, int64_t height) {
    const spad_plan_buffer *b = &m->plan->buffers.items[number];
    const spad__item *item = &m->items[m->item_of[number]];
    int64_t offset;
    if (!b->hinted || item->pinned || b->hint < 0) return false;
    const int64_t wanted = b->hint - spad__delta(m, number);
    if (wanted < 0 || wanted > height - item->size) return false;
    return spad__item_next_offset(m, item, wanted, &offset) && offset == wanted;
}

static bool any_hint(const spad_plan *plan) {
    for (size_t n = 0; n < plan->buffers.count; n++)
        if (plan->buffers.items[n].hinted) return true;
    return false;
}

bool spad__hint_apply(spad__model *m, spad_plan_place *place, int64_t height, spad__stop *stop) {
    if (!any_hint(m->plan)) return true;
    spad__near near;
    if (!spad__near_start(&near, m, &m->arena)) return false;
    for (int32_t i = 0; i < m->item_count; i++)
        if (m->items[i].piece_count > 0) spad__near_put(&near, i);
    for (size_t n = 0, tried = 0; n < m->plan->buffers.count; n++) {
        const int32_t i = m->item_of[n];
        if (!is_legal(m, n, height)) continue;
        if (++tried % HINTS_PER_CLOCK_CHECK == 0 && spad__stopped(stop)) break;
        const spad_plan_place before = place[i];
        place[i].offset = m->plan->buffers.items[n].hint - spad__delta(m, n);
        if (!is_free(&near, i, place)) place[i] = before;
    }
    return true;
}
