/* SPDX-License-Identifier: Apache-2.0
 *
 * Hints are wishes, not rules: the plan is made without them, then every item
 * with a hint moves there if nobody is in the way. In the order of buffers, so
 * that the result is the same every time. O(n) per hint.
 */
#include "plan/hint.h"

#include "plan/shapes.h"

enum { MOST_ITEMS = 20000 }; /* beyond it hints would cost more than they are worth */

static bool share_bytes(const spad__conflict *c, const spad_plan_place *a,
                        const spad_plan_place *b) {
    const int64_t d = b->offset - a->offset;
    const int64_t lanes = b->lane - a->lane;
    return d < c->above && -d < c->below && lanes < c->lanes_a && -lanes < c->lanes_b;
}

static bool items_collide(const spad__model *m, int32_t i, int32_t j,
                          const spad_plan_place *place) {
    const spad__item *a = &m->items[i];
    const spad__item *b = &m->items[j];
    for (int32_t k = 0; k < a->piece_count; k++) {
        const spad__piece *p = &m->pieces[a->piece_first + k];
        for (int32_t l = 0; l < b->piece_count; l++) {
            const spad__piece *q = &m->pieces[b->piece_first + l];
            if (!spad__pieces_meet(p, q)) continue;
            const spad__conflict c = spad__conflict_of(i, p, j, q);
            if (share_bytes(&c, &place[i], &place[j])) return true;
        }
    }
    return false;
}

static bool is_free(const spad__model *m, int32_t i, const spad_plan_place *place) {
    for (int32_t j = 0; j < m->item_count; j++)
        if (j != i && items_collide(m, i, j, place)) return false;
    for (int32_t k = 0; k < m->apart_count; k++) {
        const spad__conflict *c = &m->aparts[k];
        if ((c->a == i || c->b == i) && share_bytes(c, &place[c->a], &place[c->b])) return false;
    }
    return true;
}

void spad__hint_apply(const spad__model *m, spad_plan_place *place, int64_t height) {
    if (m->item_count > MOST_ITEMS) return;
    for (size_t n = 0; n < m->plan->buffers.count; n++) {
        const spad_plan_buffer *b = &m->plan->buffers.items[n];
        const int32_t i = m->item_of[n];
        const spad__item *item = &m->items[i];
        int64_t offset;
        if (!b->hinted || item->pinned || b->hint < 0 || b->hint > height - item->size) continue;
        if (!spad__item_next_offset(m, item, b->hint, &offset) || offset != b->hint) continue;
        const spad_plan_place before = place[i];
        place[i].offset = b->hint;
        if (!is_free(m, i, place)) place[i] = before;
    }
}
