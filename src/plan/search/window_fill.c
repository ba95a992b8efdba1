/* SPDX-License-Identifier: Apache-2.0
 *
 * Decomposition over time: completes a partial plan window by window.
 *
 * The order ejection search (order_eject.c) places the boxes over a window level by level: first
 * those over sections with nearly the largest load, then those over less loaded ones. Each level
 * begins with the order of the previous one and with its box weights, which tell which boxes are
 * hard to place. Nearly all of the difficulty is in the highest levels, which have few boxes.
 *
 * At the highest levels most boxes live through all sections of the level. They are left
 * out and go to the bottom without loss: a box over all sections that is in the middle of a plan
 * may change places with everything below it. (An order ejector does not know this, and such a
 * box between two others wastes the free bytes directly below it.)
 *
 * A window has boxes that are new, placed ones that may slide, and placed ones that stay, because
 * they live together with one that is placed and not in the window. So the windows together are a
 * plan. A window that is a core has no boxes that slide: its surroundings are far away.
 *
 * An order ejector needs sections only for the largest sets of boxes that live together, so
 * sections are numbered again for each.
 */
#include "plan/search/window_fill.h"

#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "plan/search/order_eject.h"

enum { LEAST_RISE = 2048 /* part of the bound: targets go up by so much, and half of the gap */ };

/* Parts of the largest load, per mille. */
static const int64_t levels[] = {995, 990, 980, 970, 960, 940, 0};

/* ---- boxes of a window --------------------------------------------------------------- */

static bool over(const spad__boxes *b, int32_t i, int32_t lo, int32_t hi) {
    return b->begin[i] < hi && b->end[i] > lo;
}

/* Where placed boxes that are not over the window end, on its left, and begin, on its right. */
static void find_outside(const spad__partial_plan *d, int32_t *left, int32_t *right) {
    const spad__boxes *b = d->pack->boxes;
    *left = 0;
    *right = b->sections;
    for (int32_t i = 0; i < b->count; i++) {
        if (d->offset[i] < 0 || over(b, i, d->lo, d->hi)) continue;
        if (b->end[i] <= d->lo)
            *left = b->end[i] > *left ? b->end[i] : *left;
        else
            *right = b->begin[i] < *right ? b->begin[i] : *right;
    }
}

/* Widens the window until no new box of it lives together with a placed one that is not over it. */
static void widen_window(spad__partial_plan *d, int32_t *left, int32_t *right) {
    const spad__boxes *b = d->pack->boxes;
    int32_t lo;
    int32_t hi;
    do {
        find_outside(d, left, right);
        lo = d->lo;
        hi = d->hi;
        for (int32_t i = 0; i < b->first[hi]; i++) {
            if (d->offset[i] >= 0 || !over(b, i, lo, hi)) continue;
            if (b->begin[i] < *left && b->begin[i] < d->lo) d->lo = b->begin[i];
            if (b->end[i] > *right && b->end[i] > d->hi) d->hi = b->end[i];
        }
    } while (d->lo < lo || d->hi > hi);
}

static void list_box(spad__partial_plan *d, int32_t i, bool stays) {
    d->all[d->all_count++] = i;
    d->stays[i] = stays;
}

static void list_window(spad__partial_plan *d, const spad__section_window *w) {
    const spad__boxes *b = d->pack->boxes;
    int32_t left;
    int32_t right;
    d->lo = w->lo;
    d->hi = w->hi;
    widen_window(d, &left, &right);
    d->all_count = 0;
    for (int32_t i = 0; i < b->first[d->hi]; i++)
        if (over(b, i, d->lo, d->hi))
            list_box(d, i, d->offset[i] >= 0 && (b->begin[i] < left || b->end[i] > right));
}

/* The new boxes over a window, with the whole of their lives, and all placed ones at that time. */
static void list_core(spad__partial_plan *d, const spad__section_window *w) {
    const spad__boxes *b = d->pack->boxes;
    d->lo = w->lo;
    d->hi = w->hi;
    for (int32_t i = 0; i < b->first[w->hi]; i++) {
        if (d->offset[i] >= 0 || !over(b, i, w->lo, w->hi)) continue;
        d->lo = b->begin[i] < d->lo ? b->begin[i] : d->lo;
        d->hi = b->end[i] > d->hi ? b->end[i] : d->hi;
    }
    d->all_count = 0;
    for (int32_t i = 0; i < b->first[d->hi]; i++) {
        const bool placed = d->offset[i] >= 0;
        if (placed ? over(b, i, d->lo, d->hi) : over(b, i, w->lo, w->hi)) list_box(d, i, placed);
    }
}

static int32_t begin_within(const spad__partial_plan *d, int32_t i) {
    const int32_t begin = d->pack->boxes->begin[i];
    return begin > d->lo ? begin : d->lo;
}

static int32_t end_within(const spad__partial_plan *d, int32_t i) {
    const int32_t end = d->pack->boxes->end[i];
    return end < d->hi ? end : d->hi;
}

/* ---- a level ------------------------------------------------------------------------- */

static void mark_busy(spad__partial_plan *d, int64_t load) {
    const spad__boxes *b = d->pack->boxes;
    d->busy[d->lo] = 0;
    for (int32_t k = d->lo; k < d->hi; k++) d->busy[k + 1] = d->busy[k] + (b->load[k] >= load);
}

static bool is_busy(const spad__partial_plan *d, int32_t i) {
    return d->busy[end_within(d, i)] > d->busy[begin_within(d, i)];
}

static void mark_covered(spad__partial_plan *d) {
    const size_t sections = (size_t)(d->hi - d->lo) + 1;
    int32_t *const change = d->section;
    memset(change + d->lo, 0, sections * sizeof *change);
    for (int32_t k = 0; k < d->count; k++) {
        change[begin_within(d, d->list[k])]++;
        change[end_within(d, d->list[k])]--;
    }
    int32_t live = 0;
    d->covered[d->lo] = 0;
    for (int32_t k = d->lo; k < d->hi; k++) {
        live += change[k];
        d->covered[k + 1] = d->covered[k] + (live > 0);
    }
}

static bool is_covered(const spad__partial_plan *d, int32_t i) {
    return d->covered[end_within(d, i)] > d->covered[begin_within(d, i)];
}

/* Lists the new boxes over sections with a load, those that may slide, and those that stay
 * and live together with one of these. Returns whether a new one is among them. */
static bool list_level(spad__partial_plan *d, int64_t load) {
    bool fresh = false;
    mark_busy(d, load);
    d->count = 0;
    for (int32_t k = 0; k < d->all_count; k++) {
        const int32_t i = d->all[k];
        if (d->stays[i] || (d->offset[i] < 0 && !is_busy(d, i))) continue;
        fresh |= d->offset[i] < 0;
        d->list[d->count++] = i;
    }
    if (!fresh) return false;
    mark_covered(d);
    for (int32_t k = 0; k < d->all_count; k++)
        if (d->stays[d->all[k]] && is_covered(d, d->all[k])) d->list[d->count++] = d->all[k];
    return true;
}

/* Numbers the sections: one for each largest set of boxes that live together. Such a set is
 * complete when a box ends after one has begun. Returns the count. */
static int32_t number_cliques(spad__partial_plan *d) {
    const size_t sections = (size_t)(d->hi - d->lo) + 1;
    memset(d->begins + d->lo, 0, sections * sizeof *d->begins);
    memset(d->ends + d->lo, 0, sections * sizeof *d->ends);
    for (int32_t k = 0; k < d->count; k++) {
        d->begins[begin_within(d, d->list[k])] = true;
        d->ends[end_within(d, d->list[k])] = true;
    }
    int32_t number = -1;
    bool ended = true;
    for (int32_t k = d->lo; k < d->hi; k++) {
        ended |= d->ends[k];
        if (d->begins[k] && ended) {
            number++;
            ended = false;
        }
        d->section[k] = number;
    }
    return number + 1;
}

/* Puts the boxes over all sections at the bottom, those that live longest first, and takes them off
 * the list. Returns the height of their stack. */
static int64_t lay_ground(spad__partial_plan *d, int32_t sections) {
    const spad__boxes *b = d->pack->boxes;
    for (int32_t k = 0; k < d->count; k++)
        if (d->stays[d->list[k]]) return 0;
    size_t full = 0;
    int32_t kept = 0;
    for (int32_t k = 0; k < d->count; k++) {
        const int32_t i = d->list[k];
        if (d->section[begin_within(d, i)] == 0 && d->section[end_within(d, i) - 1] == sections - 1)
            d->rows[full++] = (spad__row){(uint64_t)(b->sections - (b->end[i] - b->begin[i])), i};
        else
            d->list[kept++] = i;
    }
    d->count = kept;
    spad__sort_rows(d->rows, d->rows + b->count, full);
    int64_t top = 0;
    for (size_t k = 0; k < full; k++) {
        const int32_t i = d->rows[k].value;
        d->offset[i] = top;
        top += (b->size[i] + d->unit - 1) / d->unit * d->unit;
    }
    return top;
}

static void add_list(const spad__partial_plan *d, spad__order_ejector *ejector) {
    const spad__boxes *b = d->pack->boxes;
    for (int32_t k = 0; k < d->count; k++) {
        const int32_t i = d->list[k];
        const spad__order_box box = {.box = i,
                                     .begin = d->section[begin_within(d, i)],
                                     .end = d->section[end_within(d, i) - 1] + 1,
                                     .size = b->size[i],
                                     .offset = d->offset[i],
                                     .burden = d->burden[i],
                                     .fixed = d->stays[i]};
        spad__order_ejector_add(ejector, &box);
    }
    spad__order_ejector_start(ejector);
}

static void read_ejector(spad__partial_plan *d, const spad__order_ejector *ejector,
                         int64_t ground) {
    spad__order_ejector_read(ejector, d->offset);
    if (ground == 0) return;
    for (int32_t k = 0; k < d->count; k++) d->offset[d->list[k]] += ground;
}

/* A higher target. False: it would not be below `most`. */
static bool rise(const spad__partial_plan *d, int64_t most, int64_t *target) {
    const int64_t bound = d->pack->enough;
    *target += (*target - bound) / 2 + bound / LEAST_RISE + d->unit;
    return *target < most;
}

static bool fill_level(spad__partial_plan *d, int64_t looks, int64_t most, int64_t *target,
                       bool *found) {
    const spad__pack *p = d->pack;
    const int32_t sections = number_cliques(d);
    const int64_t ground = lay_ground(d, sections);
    const int64_t least = d->count > 0 ? ground + 1 : ground;
    *found = true;
    while (*found && least > *target) /* possible because sizes are rounded up */
        *found = rise(d, most, target);
    if (d->count == 0 || !*found) return true;
    spad__order_ejector *ejector =
        spad__order_ejector_create(p->host, d->count, sections, p->random, p->stop);
    if (ejector == NULL) return false;
    spad__order_ejector_clear(ejector, sections, d->unit, *target - ground);
    add_list(d, ejector);
    while (!(*found = spad__order_ejector_run(ejector, looks)) && !spad__stopped(p->stop)) {
        if (!rise(d, most, target)) break;
        spad__order_ejector_aim(ejector, *target - ground);
    }
    d->looks += spad__order_ejector_looks(ejector);
    spad__order_ejector_burdens(ejector, d->burden);
    if (*found) read_ejector(d, ejector, ground);
    spad__order_ejector_destroy(ejector);
    return true;
}

/* ---- a partial plan -------------------------------------------------------------------- */

bool spad__window_fill(spad__partial_plan *d, const spad__section_window *w, int64_t looks,
                       int64_t most, int64_t *target, bool *found) {
    spad__assert(w->lo >= 0 && w->lo < w->hi && w->hi <= d->pack->boxes->sections);
    if (w->core)
        list_core(d, w);
    else
        list_window(d, w);
    *found = true;
    for (size_t k = 0; *found && k < sizeof levels / sizeof *levels; k++) {
        if (!list_level(d, d->pack->boxes->max_load / 1000 * levels[k])) continue;
        if (!fill_level(d, looks, most, target, found)) return false;
    }
    return true;
}

void spad__partial_plan_clear(spad__partial_plan *d) {
    for (int32_t i = 0; i < d->pack->boxes->count; i++) d->offset[i] = -1;
}

bool spad__partial_plan_start(spad__partial_plan *d, const spad__pack *p) {
    const size_t n = (size_t)p->boxes->count;
    const size_t sections = (size_t)p->boxes->sections + 1;
    *d = (spad__partial_plan){
        .pack = p, .arena.host = *p->host, .unit = p->height / SPAD__ORDER_HEIGHT_MAX + 1};
    d->offset = spad__arena_array(&d->arena, n, sizeof *d->offset);
    d->burden = spad__arena_array(&d->arena, n, sizeof *d->burden);
    d->all = spad__arena_array(&d->arena, n, sizeof *d->all);
    d->list = spad__arena_array(&d->arena, n, sizeof *d->list);
    d->stays = spad__arena_array(&d->arena, n, sizeof *d->stays);
    d->rows = spad__arena_array(&d->arena, n, 2 * sizeof *d->rows);
    d->busy = spad__arena_array(&d->arena, sections, sizeof *d->busy);
    d->covered = spad__arena_array(&d->arena, sections, sizeof *d->covered);
    d->section = spad__arena_array(&d->arena, sections, sizeof *d->section);
    d->begins = spad__arena_array(&d->arena, sections, sizeof *d->begins);
    d->ends = spad__arena_array(&d->arena, sections, sizeof *d->ends);
    if (d->offset == NULL || d->burden == NULL || d->all == NULL || d->list == NULL ||
        d->stays == NULL || d->rows == NULL || d->busy == NULL || d->covered == NULL ||
        d->section == NULL || d->begins == NULL || d->ends == NULL)
        return false;
    spad__partial_plan_clear(d);
    return true;
}

void spad__partial_plan_end(spad__partial_plan *d) {
    spad__arena_free(&d->arena);
}
