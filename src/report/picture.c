/* SPDX-License-Identifier: Apache-2.0
 *
 * The picture of a report: per space its boxes in order, live bytes over time,
 * the peak and what it is made of, and who is in whose way.
 *
 * A space is examined lane by lane, but only at lanes at which some box starts: if
 * two boxes share a lane they share the later of their first lanes, and where the most
 * boxes are one of them starts. Chips have few such lanes. More than LANES_MOST of them
 * (which no chip has) are sampled, and the facts say so.
 *
 * O(start lanes x n log n), memory O(n).
 */
#include <stdlib.h>

#include "base/checked.h"
#include "base/compare.h"
#include "base/error.h"
#include "base/interval.h"
#include "report/report.h"
#include "spad/experimental/report_parts.h"

enum { LANES_MOST = 256 };

/* ---- order ------------------------------------------------------------------------- */

typedef struct entry {
    size_t space;
    int64_t begin;
    int64_t byte;
    int64_t lane;
    size_t number;
} entry;

static int compare_entries(const void *left, const void *right) {
    const entry *a = left;
    const entry *b = right;
    int order = spad__compare((int64_t)a->space, (int64_t)b->space);
    if (order == 0) order = spad__compare(a->begin, b->begin);
    if (order == 0) order = spad__compare(a->byte, b->byte);
    if (order == 0) order = spad__compare(a->lane, b->lane);
    if (order == 0) order = spad__compare((int64_t)a->number, (int64_t)b->number);
    return order;
}

static spad_status sort_picture_boxes(spad__picture *p, spad_error *error) {
    const size_t size = p->count * sizeof(entry);
    entry *entries = spad__new_array(&p->host, p->count, sizeof *entries);
    p->order = spad__new_array(&p->host, p->count, sizeof *p->order);
    p->partner = spad__new_array(&p->host, p->count, sizeof *p->partner);
    if (entries == NULL || p->order == NULL || p->partner == NULL) {
        spad__free(&p->host, entries, size);
        return spad__fail_host_memory(error);
    }
    for (size_t i = 0; i < p->count; i++) {
        const spad_report_box *box = &p->report->boxes.items[i];
        entries[i] = (entry){.space = box->space,
                             .begin = box->begin,
                             .byte = box->rect.byte,
                             .lane = box->rect.lane,
                             .number = i};
        p->partner[i] = -1;
    }
    qsort(entries, p->count, sizeof *entries, compare_entries);
    for (size_t i = 0; i < p->count; i++) p->order[i] = entries[i].number;
    spad__free(&p->host, entries, size);
    return SPAD_OK;
}

/* The time axis: all boxes and bars. */
static void find_time_axis(spad__picture *p) {
    const spad_report *report = p->report;
    p->begin = INT64_MAX;
    p->end = INT64_MIN;
    for (size_t i = 0; i < report->boxes.count; i++) {
        p->begin = spad__min(p->begin, report->boxes.items[i].begin);
        p->end = spad__max(p->end, report->boxes.items[i].end);
    }
    for (size_t i = 0; i < report->bars.count; i++) {
        p->begin = spad__min(p->begin, report->bars.items[i].bar.ready);
        p->end = spad__max(p->end, report->bars.items[i].bar.end);
    }
    if (p->begin > 0 && p->begin < p->end / 2) p->begin = 0; /* a start near 0 is meant */
    if (p->begin >= p->end) {
        p->begin = 0;
        p->end = 1;
    }
    int64_t unused; /* times at both ends of 64 bits: half of them is enough to draw */
    if (!spad__sub(p->end, p->begin, &unused)) p->begin = p->end - INT64_MAX;
}

/* ---- edges and lanes of one space -------------------------------------------------- */

typedef struct pass {
    spad__picture *picture;
    spad__view *view;
    spad__moment *edges;
    size_t edge_count;
    int64_t *lanes; /* at which boxes start; sorted, different */
    size_t lane_count;
    int64_t *most; /* live bytes after each different time */
    int64_t *here; /* the same for one lane */
} pass;

/* Sorted, different, and not more than LANES_MOST. */
static void thin_lanes(pass *s) {
    qsort(s->lanes, s->lane_count, sizeof *s->lanes, spad__compare_int64);
    size_t kept = s->lane_count > 0;
    for (size_t i = 1; i < s->lane_count; i++) {
        if (s->lanes[i] != s->lanes[kept - 1]) s->lanes[kept++] = s->lanes[i];
    }
    s->lane_count = kept;
    if (kept <= LANES_MOST) return;
    s->view->facts.sampled = true;
    for (size_t i = 0; i < LANES_MOST; i++) s->lanes[i] = s->lanes[i * kept / LANES_MOST];
    s->lane_count = LANES_MOST;
}

static bool start_pass(pass *s) {
    const spad_host *host = &s->picture->host;
    const size_t boxes = s->view->facts.boxes;
    s->edges = spad__new_array(host, boxes, 2 * sizeof *s->edges);
    s->lanes = spad__new_array(host, boxes, sizeof *s->lanes);
    s->most = spad__new_array(host, boxes, 2 * sizeof *s->most);
    s->here = spad__new_array(host, boxes, 2 * sizeof *s->here);
    if (s->edges == NULL || s->lanes == NULL || s->most == NULL || s->here == NULL) return false;
    for (size_t i = 0; i < boxes; i++) {
        const size_t number = s->picture->order[s->view->first + i];
        const spad_report_box *box = &s->picture->report->boxes.items[number];
        s->edges[s->edge_count++] = (spad__moment){box->begin, number, true};
        s->edges[s->edge_count++] = (spad__moment){box->end, number, false};
        if (spad__is_drawn(box) && box->rect.lanes > 0) s->lanes[s->lane_count++] = box->rect.lane;
    }
    spad__sort_moments(s->edges, s->edge_count);
    if (s->lane_count == 0) s->lanes[s->lane_count++] = 0; /* only boxes without an address */
    thin_lanes(s);
    return true;
}

static void end_pass(pass *s) {
    const spad_host *host = &s->picture->host;
    const size_t boxes = s->view->facts.boxes;
    spad__free(host, s->edges, 2 * boxes * sizeof *s->edges);
    spad__free(host, s->lanes, boxes * sizeof *s->lanes);
    spad__free(host, s->most, 2 * boxes * sizeof *s->most);
    spad__free(host, s->here, 2 * boxes * sizeof *s->here);
}

/* ---- facts of one space ------------------------------------------------------------ */

static void find_extent(pass *s) {
    spad_report_space *facts = &s->view->facts;
    facts->usable = spad_space_get_usable(&s->picture->report->target->spaces[s->view->space]);
    for (size_t i = 0; i < facts->boxes; i++) {
        const spad_report_box *box =
            &s->picture->report->boxes.items[s->picture->order[s->view->first + i]];
        facts->padding += box->padding; /* at most the sum of all bytes */
        s->view->has_heap = s->view->has_heap || box->mode == SPAD_MODE_HEAP;
        if (!spad__is_drawn(box)) continue;
        facts->low = spad__min(facts->low, box->rect.byte);
        facts->top = spad__max(facts->top, box->rect.byte + box->rect.bytes);
    }
    int64_t unused;
    if (!spad__sub(facts->top, facts->low, &unused)) facts->low = facts->top - INT64_MAX;
}

/* Live bytes of every lane, the most of them at each time, the peak and its lane. */
static spad_status find_live(pass *s, int64_t *peak_lane, spad_error *error) {
    spad_report_space *facts = &s->view->facts;
    facts->peak_bytes = -1;
    for (size_t l = 0; l < s->lane_count; l++) {
        const spad__report_lane lane = {s->picture->report, s->lanes[l], s->edges, s->edge_count};
        for (size_t k = 0; k < s->edge_count; k++) s->here[k] = 0;
        spad_status status = spad__lane_live(s->here, &lane, error);
        if (status == SPAD_OK) status = spad__lane_conflicts(s->picture->partner, &lane, error);
        if (status != SPAD_OK) return status;
        size_t k = 0;
        for (size_t i = 0; i < s->edge_count; i++) {
            if (i + 1 < s->edge_count && s->edges[i + 1].time == s->edges[i].time) continue;
            s->most[k] = spad__max(s->most[k], s->here[k]);
            const bool higher =
                s->here[k] > facts->peak_bytes ||
                (s->here[k] == facts->peak_bytes && s->edges[i].time < facts->peak_time);
            if (higher) {
                facts->peak_bytes = s->here[k];
                facts->peak_time = s->edges[i].time;
                *peak_lane = s->lanes[l];
            }
            k++;
        }
    }
    return SPAD_OK;
}

/* The curve: a step wherever the live bytes change. */
static spad_status find_steps(pass *s, spad_error *error) {
    spad__view *view = s->view;
    if (!spad__array_reserve(&s->picture->host, &view->steps, s->edge_count)) {
        return spad__fail_host_memory(error);
    }
    size_t k = 0;
    for (size_t i = 0; i < s->edge_count; i++) {
        if (i + 1 < s->edge_count && s->edges[i + 1].time == s->edges[i].time) continue;
        const int64_t live = s->most[k++];
        if (view->steps.count > 0 && view->steps.items[view->steps.count - 1].live == live)
            continue;
        view->steps.items[view->steps.count++] = (spad__step){s->edges[i].time, live};
    }
    return SPAD_OK;
}

/* What lives in the lane of the peak at that time, and the room beside it. */
static spad_status find_view_peak(pass *s, int64_t lane, spad_error *error) {
    spad__view *view = s->view;
    const spad_host *host = &s->picture->host;
    const size_t boxes = view->facts.boxes;
    spad__sized *live_boxes = spad__new_array(host, boxes, sizeof *live_boxes);
    spad__interval *used = spad__new_array(host, boxes, sizeof *used);
    size_t count = 0;
    size_t used_count = 0;
    const bool failed =
        live_boxes == NULL || used == NULL || !spad__array_reserve(host, &view->peak, boxes);
    for (size_t i = 0; i < boxes && !failed; i++) {
        const size_t number = s->picture->order[view->first + i];
        const spad_report_box *box = &s->picture->report->boxes.items[number];
        const bool live = box->begin <= view->facts.peak_time && view->facts.peak_time < box->end;
        if (!live || !spad__in_lane(box, lane)) continue;
        live_boxes[count++] = (spad__sized){box->rect.bytes, number};
        if (!spad__is_drawn(box)) continue;
        used[used_count++] = (spad__interval){box->rect.byte, box->rect.byte + box->rect.bytes};
    }
    if (!failed) {
        if (count > 0) qsort(live_boxes, count, sizeof *live_boxes, spad__compare_sized);
        for (size_t i = 0; i < count; i++)
            view->peak.items[view->peak.count++] = live_boxes[i].number;
        const bool bounded = view->facts.usable != SPAD_UNBOUNDED;
        const int64_t upper = bounded ? view->facts.usable : view->facts.top;
        int64_t at;
        int64_t room;
        view->facts.largest_hole = spad__largest_gap(&at, used, used_count, view->facts.low, upper);
        if (!spad__sub(upper, view->facts.low, &room)) room = INT64_MAX;
        view->facts.peak_free = spad__max(room - view->facts.peak_bytes, 0);
        view->facts.peak_free = spad__max(view->facts.peak_free, view->facts.largest_hole);
    }
    spad__free(host, live_boxes, boxes * sizeof *live_boxes);
    spad__free(host, used, boxes * sizeof *used);
    return failed ? spad__fail_host_memory(error) : SPAD_OK;
}

static spad_status measure_space(spad__picture *p, spad__view *view, spad_error *error) {
    pass s = {.picture = p, .view = view};
    int64_t peak_lane = 0;
    spad_status status = start_pass(&s) ? SPAD_OK : spad__fail_host_memory(error);
    if (status == SPAD_OK) {
        find_extent(&s);
        status = find_live(&s, &peak_lane, error);
    }
    if (status == SPAD_OK) status = find_steps(&s, error);
    if (status == SPAD_OK) status = find_view_peak(&s, peak_lane, error);
    for (size_t i = 0; status == SPAD_OK && i < view->facts.boxes; i++) {
        view->facts.conflicts += p->partner[p->order[view->first + i]] >= 0;
    }
    end_pass(&s);
    return status;
}

/* ---- the whole --------------------------------------------------------------------- */

static spad_status measure_spaces(spad__picture *p, spad_error *error) {
    spad_status status = SPAD_OK;
    for (size_t i = 0; status == SPAD_OK && i < p->count;) {
        const size_t space = p->report->boxes.items[p->order[i]].space;
        spad__view *view = &p->views[p->view_count++];
        view->space = space;
        view->first = i;
        while (i < p->count && p->report->boxes.items[p->order[i]].space == space) i++;
        view->facts.boxes = i - view->first;
        status = measure_space(p, view, error);
    }
    return status;
}

spad_status spad__picture_make(spad__picture *p, const spad_report *report, spad_error *error) {
    *p = (spad__picture){.host = report->host, .report = report, .count = report->boxes.count};
    spad_status status = spad__report_check_limit(report, &p->limit, error);
    if (status != SPAD_OK) return status;
    find_time_axis(p);
    if (p->count == 0) return SPAD_OK;
    p->views = spad__new_array(&p->host, report->target->space_count, sizeof *p->views);
    status = p->views != NULL ? SPAD_OK : spad__fail_host_memory(error);
    if (status == SPAD_OK) status = sort_picture_boxes(p, error);
    if (status == SPAD_OK) status = measure_spaces(p, error);
    if (status != SPAD_OK) spad__picture_free(p);
    return status;
}

void spad__picture_free(spad__picture *p) {
    for (size_t i = 0; i < p->view_count; i++) {
        spad__array_free(&p->host, &p->views[i].steps);
        spad__array_free(&p->host, &p->views[i].peak);
    }
    spad__free(&p->host, p->views, p->report->target->space_count * sizeof *p->views);
    spad__free(&p->host, p->order, p->count * sizeof *p->order);
    spad__free(&p->host, p->partner, p->count * sizeof *p->partner);
    *p = (spad__picture){.host = p->host, .report = p->report};
}

spad_status spad_report_get_space(spad_report_space *out, const spad_report *report, size_t space,
                                  spad_error *error) {
    *out = (spad_report_space){0};
    if (space >= report->target->space_count) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "target %s has no space number %zu",
                          report->target->name, space);
    }
    spad__picture picture;
    const spad_status status = spad__picture_make(&picture, report, error);
    if (status != SPAD_OK) return status;
    out->usable = spad_space_get_usable(&report->target->spaces[space]);
    for (size_t i = 0; i < picture.view_count; i++) {
        if (picture.views[i].space == space) *out = picture.views[i].facts;
    }
    spad__picture_free(&picture);
    return SPAD_OK;
}
