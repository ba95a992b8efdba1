/* SPDX-License-Identifier: Apache-2.0
 *
 * Where an item may be: the next offset and the next lane that its rules allow.
 */
#include "base/assert.h"
#include "base/checked.h"
#include "plan/problem/model.h"

bool spad__item_next_offset(const spad__model *m, const spad__item *item, int64_t from,
                            int64_t *out) {
    spad__assert(item->alignment > 0);
    if (item->pinned) {
        *out = item->offset;
        return from <= item->offset;
    }
    int64_t offset = spad__max(from, 0);
    for (bool moved = true; moved;) {
        moved = false;
        if (!spad__align_up(offset, item->alignment, &offset)) return false;
        for (int32_t k = 0; item->banked && k < item->rule_count; k++) {
            const spad__rule *rule = &m->rules[item->rule_first + k];
            if (rule->bank == 0 || offset % rule->bank <= rule->bank - rule->size) continue;
            if (!spad__align_up(offset, rule->bank, &offset)) return false;
            moved = true;
        }
    }
    spad__assert(offset >= from && offset % item->alignment == 0);
    *out = offset;
    return true;
}

int64_t spad__item_next_lane(const spad__model *m, const spad__item *item, int64_t from) {
    if (item->pinned) return from <= item->lane ? item->lane : -1;
    if (item->rule_count == 0) return spad__plan_start_lane(m->plan, item->lanes, from);
    int64_t lane = from;
    for (bool moved = true; moved;) {
        moved = false;
        for (int32_t k = 0; k < item->rule_count; k++) {
            const int64_t lanes = m->rules[item->rule_first + k].lanes;
            const int64_t next = spad__plan_start_lane(m->plan, lanes, lane);
            if (next < 0) return -1;
            if (next != lane) moved = true;
            lane = next;
        }
    }
    return lane;
}

int64_t spad__items_height(const spad__model *m, const spad_plan_place *place) {
    int64_t height = 0;
    for (int32_t i = 0; i < m->item_count; i++)
        height = spad__max(height, place[i].offset + m->items[i].size);
    return height;
}
