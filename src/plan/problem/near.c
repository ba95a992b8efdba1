/* SPDX-License-Identifier: Apache-2.0
 * Items by time; the idea is in near.h. */
#include "plan/problem/near.h"

#include "base/assert.h"
#include "plan/problem/shapes.h"

static int32_t width_class(int32_t width) {
    spad__assert(width > 0);
    int32_t c = 0;
    while (width >> (c + 1) > 0) c++;
    return c;
}

bool spad__near_start(spad__near *near, const spad__model *m, spad__arena *arena) {
    *near = (spad__near){.model = m};
    while (near->classes < SPAD__NEAR_CLASSES && m->section_count >> near->classes > 0) {
        const int32_t c = near->classes++;
        near->first[c + 1] = near->first[c] + (m->section_count >> c) + 1;
    }
    const size_t lists = (size_t)near->first[near->classes] + 1;
    near->head = spad__arena_array(arena, lists, sizeof *near->head);
    near->next = spad__arena_array(arena, (size_t)m->item_count + 1, sizeof *near->next);
    if (near->head == NULL || near->next == NULL) return false;
    spad__near_clear(near);
    return true;
}

void spad__near_clear(spad__near *near) {
    for (int32_t k = 0; k < near->first[near->classes]; k++) near->head[k] = -1;
}

void spad__near_put(spad__near *near, int32_t i) {
    const spad__item *item = &near->model->items[i];
    const int32_t c = width_class(item->end - item->begin);
    spad__assert(c < near->classes && item->begin >= 0);
    int32_t *head = &near->head[near->first[c] + (item->begin >> c)];
    near->next[i] = *head;
    *head = i;
}

/* Goes to the first list of class c that may hold an item over the walk's sections. */
static void enter_class(spad__near_walk *w, int32_t c) {
    const int64_t from = (int64_t)w->begin - (INT64_C(2) << c) + 1;
    w->class_number = c;
    w->list = from > 0 ? (int32_t)(from >> c) : 0;
    w->item = c < w->near->classes ? w->near->head[w->near->first[c] + w->list] : -1;
}

spad__near_walk spad__near_of(const spad__near *near, int32_t item) {
    spad__near_walk w = {
        .near = near, .begin = near->model->items[item].begin, .end = near->model->items[item].end};
    enter_class(&w, w.begin < w.end ? 0 : near->classes);
    return w;
}

int32_t spad__near_next(spad__near_walk *w) {
    const spad__near *near = w->near;
    while (w->class_number < near->classes) {
        while (w->item >= 0) {
            const int32_t i = w->item;
            spad__assert(i < near->model->item_count);
            w->item = near->next[i];
            const spad__item *item = &near->model->items[i];
            if (item->begin < w->end && w->begin < item->end) return i;
        }
        const int32_t c = w->class_number;
        if (w->list < (w->end - 1) >> c)
            w->item = near->head[near->first[c] + ++w->list];
        else
            enter_class(w, c + 1);
    }
    return -1;
}

bool spad__conflict_holds(const spad__conflict *c, const spad_plan_place *a,
                          const spad_plan_place *b) {
    const int64_t d = b->offset - a->offset;
    const int64_t lanes = b->lane - a->lane;
    if (c->in_place && d == c->same && lanes == 0) return false;
    return d < c->above && -d < c->below && lanes < c->lanes_a && -lanes < c->lanes_b;
}

bool spad__items_collide(const spad__model *m, int32_t i, int32_t j, const spad_plan_place *place) {
    const spad__item *a = &m->items[i];
    const spad__item *b = &m->items[j];
    for (int32_t k = 0; k < a->piece_count; k++) {
        const spad__piece *p = &m->pieces[a->piece_first + k];
        for (int32_t l = 0; l < b->piece_count; l++) {
            const spad__piece *q = &m->pieces[b->piece_first + l];
            if (!spad__pieces_overlap(p, q)) continue;
            const spad__conflict c = spad__conflict_of(m, i, p, j, q);
            if (spad__conflict_holds(&c, &place[i], &place[j])) return true;
        }
    }
    return false;
}
