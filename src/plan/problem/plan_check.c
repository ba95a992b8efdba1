/* SPDX-License-Identifier: Apache-2.0
 *
 * The validator: is this plan right? It shares no code with the solver: it
 * reads the problem as the caller gave it and nothing that was derived from it.
 *
 * Rules of single buffers first. Then overlaps: every buffer is cut at its
 * gaps into rectangles of time x bytes. For every lane, take the rectangles
 * of that lane in the order of their lowest byte and keep, over time, the
 * highest top so far (a tree of range maxima): a rectangle overlaps an earlier
 * one exactly when the highest top over its time is above its lowest byte.
 * Lanes between two borders of tiles are alike, so only one of each kind is
 * walked. O(n log n) per kind of lane; aliases, slices and outputs in the places of their inputs,
 * which may overlap each other, are settled by looking at all earlier rectangles.
 */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "base/compare.h"
#include "plan/problem/problem.h"

typedef struct rect {
    int64_t lower, upper; /* time */
    int64_t lo, hi;       /* bytes */
    int32_t from, until;  /* the same times as numbers of moments */
    int32_t buffer;
} rect;

typedef struct checker {
    const spad_plan *plan;
    const spad_plan_place *places;
    spad__arena arena;
    rect *rects;
    size_t rect_count;
    int64_t *moments; /* all times, sorted, different */
    int32_t moment_count;
    int64_t *highest;     /* range maxima over the moments: leaves at [moment_count, 2 x) */
    int64_t *whole;       /* tops that hold for a whole subtree */
    int32_t *group;       /* alias group of a buffer */
    spad__pair *in_place; /* output and input, sorted */
    size_t in_place_count;
} checker;

/* ---- rules of one buffer ----------------------------------------------------------- */

static spad_status check_place(const checker *c, size_t i, spad_error *error) {
    const spad_plan_buffer *b = &c->plan->buffers.items[i];
    const spad_plan_place *p = &c->places[i];
    char label[SPAD_NAME_FACT_MAX + 16];
    spad__plan_label(c->plan, i, label, sizeof label);
    int64_t top;
    spad_status status = SPAD_OK;
    if (p->offset < 0 || !spad__add(p->offset, b->size, &top) || top > c->plan->capacity) {
        status = spad__fail(error, SPAD_ERR_BOUNDS,
                            "buffer %s at offset %s with %s B leaves the capacity of %s B", label,
                            spad__grouped(p->offset).text, spad__grouped(b->size).text,
                            spad__grouped(c->plan->capacity).text);
    } else if (p->offset % b->alignment != 0) {
        status = spad__fail(error, SPAD_ERR_ALIGNMENT,
                            "offset %lld of buffer %s is not a multiple of its alignment %lld",
                            (long long)p->offset, label, (long long)b->alignment);
    } else if (b->bank > 0 && p->offset / b->bank != (p->offset + b->size - 1) / b->bank) {
        status = spad__fail(error, SPAD_ERR_BOUNDS,
                            "buffer %s at offset %s with %s B crosses a bank of %s B", label,
                            spad__grouped(p->offset).text, spad__grouped(b->size).text,
                            spad__grouped(b->bank).text);
    } else if (b->pinned && (p->offset != b->offset || p->lane != b->lane)) {
        status = spad__fail(error, SPAD_ERR_NO_FIT,
                            "buffer %s is pinned at %lld, lane %lld, but placed at %lld, lane %lld",
                            label, (long long)b->offset, (long long)b->lane, (long long)p->offset,
                            (long long)p->lane);
    }
    if (status != SPAD_OK) spad__fact_names(error, b->name, NULL);
    return status;
}

static bool lane_is_legal(const spad_plan *plan, int64_t lane, int64_t lanes) {
    if (lane < 0 || lane > plan->lanes - lanes) return false;
    if (plan->space == NULL || plan->space->lane_rule_count == 0) return true;
    for (size_t i = 0; i < plan->space->lane_rule_count; i++) {
        const spad_lane_rule *rule = &plan->space->lane_rules[i];
        if (lanes < rule->lanes_min || lanes > rule->lanes_max) continue;
        for (size_t k = 0; k < rule->start_count; k++)
            if (rule->starts[k] == lane) return true;
        return false;
    }
    return false;
}

static spad_status check_buffer_lane(const checker *c, size_t i, spad_error *error) {
    const spad_plan_buffer *b = &c->plan->buffers.items[i];
    if (lane_is_legal(c->plan, c->places[i].lane, b->lanes)) return SPAD_OK;
    char label[SPAD_NAME_FACT_MAX + 16];
    spad__fail(error, SPAD_ERR_LANES, "buffer %s of %lld lanes may not start at lane %lld",
               spad__plan_label(c->plan, i, label, sizeof label), (long long)b->lanes,
               (long long)c->places[i].lane);
    spad__fact_names(error, b->name, NULL);
    return SPAD_ERR_LANES;
}

/* ---- rules of pairs ---------------------------------------------------------------- */

static spad_status fail_pair(const checker *c, spad_status code, int32_t a, int32_t b,
                             const char *what, spad_error *error) {
    char first[SPAD_NAME_FACT_MAX + 16];
    char second[SPAD_NAME_FACT_MAX + 16];
    spad__fail(error, code, "buffers %s at %lld and %s at %lld %s",
               spad__plan_label(c->plan, (size_t)a, first, sizeof first),
               (long long)c->places[a].offset,
               spad__plan_label(c->plan, (size_t)b, second, sizeof second),
               (long long)c->places[b].offset, what);
    spad__fact_names(error, c->plan->buffers.items[a].name, c->plan->buffers.items[b].name);
    return code;
}

static bool share_bytes(const checker *c, size_t i, size_t j) {
    const spad_plan_buffer *a = &c->plan->buffers.items[i];
    const spad_plan_buffer *b = &c->plan->buffers.items[j];
    const spad_plan_place *p = &c->places[i];
    const spad_plan_place *q = &c->places[j];
    return a->size > 0 && b->size > 0 && p->offset < q->offset + b->size &&
           q->offset < p->offset + a->size && p->lane < q->lane + b->lanes &&
           q->lane < p->lane + a->lanes;
}

static spad_status check_pairs(const checker *c, spad_error *error) {
    const spad_plan *plan = c->plan;
    for (size_t k = 0; k < plan->aliases.count; k++) {
        const spad__pair pair = plan->aliases.items[k];
        if (c->places[pair.a].offset != c->places[pair.b].offset ||
            c->places[pair.a].lane != c->places[pair.b].lane)
            return fail_pair(c, SPAD_ERR_NO_FIT, pair.a, pair.b,
                             "are aliases but not in the same place", error);
    }
    for (size_t k = 0; k < plan->slices.count; k++) {
        const spad__slice *s = &plan->slices.items[k];
        if (c->places[s->slice].offset - c->places[s->whole].offset != s->at ||
            c->places[s->slice].lane != c->places[s->whole].lane)
            return fail_pair(c, SPAD_ERR_NO_FIT, s->slice, s->whole,
                             "are a slice and its whole but not where they must be", error);
    }
    for (size_t k = 0; k < plan->aparts.count; k++) {
        const spad__pair pair = plan->aparts.items[k];
        if (share_bytes(c, (size_t)pair.a, (size_t)pair.b))
            return fail_pair(c, SPAD_ERR_OVERLAP, pair.a, pair.b,
                             "must be kept apart but share bytes", error);
    }
    return SPAD_OK;
}

/* Vector clocks: two that share bytes are ordered, or in one alias group. */
static spad_status check_unordered(const checker *c, spad_error *error) {
    const spad_plan *plan = c->plan;
    const size_t n = plan->buffers.count;
    if (n == 0 || plan->buffers.items[0].clock_count == 0) return SPAD_OK;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i + 1; j < n; j++) {
            const spad_plan_buffer *a = &plan->buffers.items[i];
            const spad_plan_buffer *b = &plan->buffers.items[j];
            if (!share_bytes(c, i, j) || spad__is_before(a, b) || spad__is_before(b, a)) continue;
            if (c->group[i] != c->group[j])
                return fail_pair(c, SPAD_ERR_OVERLAP, (int32_t)i, (int32_t)j,
                                 "share bytes, and their clocks do not order them", error);
        }
    }
    return SPAD_OK;
}

/* ---- rectangles -------------------------------------------------------------------- */

static void add_rect(checker *c, int32_t buffer, int64_t lower, int64_t upper, int64_t lo,
                     int64_t hi) {
    if (lower >= upper || lo >= hi) return;
    const int64_t offset = c->places[buffer].offset;
    spad__assert(offset >= 0 && offset <= INT64_MAX - hi); /* check_place has looked */
    c->rects[c->rect_count++] = (rect){
        .lower = lower, .upper = upper, .lo = offset + lo, .hi = offset + hi, .buffer = buffer};
}

static void cut_at_gaps(checker *c, int32_t i) {
    const spad_plan_buffer *b = &c->plan->buffers.items[i];
    int64_t from = b->lower;
    for (size_t k = 0; k < b->gap_count; k++) {
        const spad_plan_gap *gap = &b->gaps[k];
        add_rect(c, i, from, gap->lower, 0, b->size);
        add_rect(c, i, gap->lower, gap->upper, gap->window_lower, gap->window_upper);
        from = gap->upper;
    }
    add_rect(c, i, from, b->upper, 0, b->size);
}

static int by_lowest_byte(const void *x, const void *y) {
    const rect *a = x;
    const rect *b = y;
    if (a->lo != b->lo) return a->lo < b->lo ? -1 : 1;
    if (a->buffer != b->buffer) return a->buffer < b->buffer ? -1 : 1;
    return (a->lower > b->lower) - (a->lower < b->lower);
}

static int32_t moment_of(const checker *c, int64_t time) {
    const int64_t *found = bsearch(&time, c->moments, (size_t)c->moment_count, sizeof *c->moments,
                                   spad__compare_int64);
    spad__assert(found != NULL); /* the moments are those of the rectangles */
    return (int32_t)(found - c->moments);
}

static bool cut_rects(checker *c) {
    size_t room = 1;
    const size_t n = c->plan->buffers.count;
    for (size_t i = 0; i < n; i++) room += 2 * c->plan->buffers.items[i].gap_count + 1;
    c->rects = spad__arena_array(&c->arena, room, sizeof *c->rects);
    c->moments = spad__arena_array(&c->arena, room, 2 * sizeof *c->moments);
    c->highest = spad__arena_array(&c->arena, room, 4 * sizeof *c->highest);
    c->whole = spad__arena_array(&c->arena, room, 4 * sizeof *c->whole);
    if (c->rects == NULL || c->moments == NULL || c->highest == NULL || c->whole == NULL)
        return false;
    for (size_t i = 0; i < n; i++) cut_at_gaps(c, (int32_t)i);
    size_t count = 0;
    for (size_t k = 0; k < c->rect_count; k++) {
        c->moments[count++] = c->rects[k].lower;
        c->moments[count++] = c->rects[k].upper;
    }
    qsort(c->moments, count, sizeof *c->moments, spad__compare_int64);
    for (size_t k = 0; k < count; k++)
        if (k == 0 || c->moments[k] != c->moments[k - 1])
            c->moments[c->moment_count++] = c->moments[k];
    qsort(c->rects, c->rect_count, sizeof *c->rects, by_lowest_byte);
    for (size_t k = 0; k < c->rect_count; k++) {
        c->rects[k].from = moment_of(c, c->rects[k].lower);
        c->rects[k].until = moment_of(c, c->rects[k].upper);
    }
    return true;
}

/* ---- range maxima: highest[k] is over the whole subtree of k, whole[k] holds
 * for each of its moments ------------------------------------------------------------- */

static int64_t highest_top(const checker *c, int32_t from, int32_t until) {
    spad__assert(0 <= from && from < until && until < c->moment_count);
    int64_t top = INT64_MIN;
    int32_t a = from + c->moment_count;
    int32_t b = until + c->moment_count;
    const int32_t first = a;
    const int32_t last = b - 1;
    for (; a < b; a /= 2, b /= 2) {
        if (a & 1) top = spad__max(top, c->highest[a++]);
        if (b & 1) top = spad__max(top, c->highest[--b]);
    }
    for (int32_t k = first / 2; k >= 1; k /= 2) top = spad__max(top, c->whole[k]);
    for (int32_t k = last / 2; k >= 1; k /= 2) top = spad__max(top, c->whole[k]);
    return top;
}

static void lift_top(checker *c, int32_t from, int32_t until, int64_t top) {
    spad__assert(0 <= from && from < until && until < c->moment_count);
    int32_t a = from + c->moment_count;
    int32_t b = until + c->moment_count;
    const int32_t first = a;
    const int32_t last = b - 1;
    for (; a < b; a /= 2, b /= 2) {
        if (a & 1) {
            c->highest[a] = spad__max(c->highest[a], top);
            c->whole[a] = spad__max(c->whole[a], top);
            a++;
        }
        if (b & 1) {
            --b;
            c->highest[b] = spad__max(c->highest[b], top);
            c->whole[b] = spad__max(c->whole[b], top);
        }
    }
    for (int32_t k = first / 2; k >= 1; k /= 2) c->highest[k] = spad__max(c->highest[k], top);
    for (int32_t k = last / 2; k >= 1; k /= 2) c->highest[k] = spad__max(c->highest[k], top);
}

static int by_output(const void *x, const void *y) {
    const spad__pair *a = x;
    const spad__pair *b = y;
    if (a->a != b->a) return a->a < b->a ? -1 : 1;
    return (a->b > b->b) - (a->b < b->b);
}

static bool sort_in_places(checker *c) {
    const size_t n = c->plan->in_places.count;
    if (n == 0) return true;
    c->in_place = spad__arena_array(&c->arena, n, sizeof *c->in_place);
    if (c->in_place == NULL) return false;
    memcpy(c->in_place, c->plan->in_places.items, n * sizeof *c->in_place);
    qsort(c->in_place, n, sizeof *c->in_place, by_output);
    c->in_place_count = n;
    return true;
}

/* ---- overlaps ---------------------------------------------------------------------- */

static bool on_lane(const checker *c, int32_t buffer, int64_t lane) {
    const int64_t start = c->places[buffer].lane;
    return start <= lane && lane < start + c->plan->buffers.items[buffer].lanes;
}

/* Is one of two buffers an output in place of the other, an input that dies there? */
static bool is_in_place(const checker *c, int32_t i, int32_t j) {
    const spad_plan_place *p = &c->places[i];
    const spad_plan_place *q = &c->places[j];
    if (c->in_place_count == 0 || p->offset != q->offset || p->lane != q->lane) return false;
    const spad__pair both[2] = {{i, j}, {j, i}};
    for (int32_t k = 0; k < 2; k++) {
        const spad_plan_buffer *output = &c->plan->buffers.items[both[k].a];
        const spad_plan_buffer *input = &c->plan->buffers.items[both[k].b];
        if (output->lower < input->lower || input->upper > output->lower + 1) continue;
        if (bsearch(&both[k], c->in_place, c->in_place_count, sizeof both[k], by_output) != NULL)
            return true;
    }
    return false;
}

/* The buffer of an earlier rectangle that really overlaps, or -1. */
static int32_t find_culprit(const checker *c, size_t before, int64_t lane) {
    const rect *r = &c->rects[before];
    for (size_t k = 0; k < before; k++) {
        const rect *q = &c->rects[k];
        if (q->buffer != r->buffer && c->group[q->buffer] != c->group[r->buffer] && q->hi > r->lo &&
            q->lower < r->upper && r->lower < q->upper && on_lane(c, q->buffer, lane) &&
            !is_in_place(c, q->buffer, r->buffer))
            return q->buffer;
    }
    return -1;
}

static spad_status check_one_lane(checker *c, int64_t lane, spad_error *error) {
    for (int32_t k = 0; k < 2 * c->moment_count; k++) c->highest[k] = c->whole[k] = INT64_MIN;
    for (size_t k = 0; k < c->rect_count; k++) {
        const rect *r = &c->rects[k];
        if (!on_lane(c, r->buffer, lane)) continue;
        if (highest_top(c, r->from, r->until) > r->lo) {
            const int32_t culprit = find_culprit(c, k, lane);
            if (culprit >= 0)
                return fail_pair(c, SPAD_ERR_OVERLAP, culprit, r->buffer,
                                 "share bytes while both are live", error);
        }
        lift_top(c, r->from, r->until, r->hi);
    }
    return SPAD_OK;
}

/* Walks the first lane of every group of lanes that no tile border cuts. */
static spad_status check_overlaps(checker *c, spad_error *error) {
    for (int64_t lane = 0; lane < c->plan->lanes;) {
        const spad_status status = check_one_lane(c, lane, error);
        if (status != SPAD_OK) return status;
        int64_t next = c->plan->lanes;
        for (size_t i = 0; i < c->plan->buffers.count; i++) {
            const int64_t start = c->places[i].lane;
            const int64_t end = start + c->plan->buffers.items[i].lanes;
            if (start > lane) next = spad__min(next, start);
            if (end > lane) next = spad__min(next, end);
        }
        spad__assert(next > lane);
        lane = next;
    }
    return SPAD_OK;
}

/* The first buffer of a group, through ever shorter chains. */
static int32_t group_of(int32_t *group, int32_t i) {
    for (; group[i] != i; i = group[i]) group[i] = group[group[i]];
    return i;
}

/* Labels alias groups with their lowest buffer. */
static bool label_groups(checker *c) {
    const spad_plan *plan = c->plan;
    const int32_t n = (int32_t)plan->buffers.count;
    c->group = spad__arena_array(&c->arena, (size_t)n + 1, sizeof *c->group);
    if (c->group == NULL) return false;
    for (int32_t i = 0; i < n; i++) c->group[i] = i;
    for (size_t k = 0; k < plan->aliases.count; k++) {
        const int32_t a = group_of(c->group, plan->aliases.items[k].a);
        const int32_t b = group_of(c->group, plan->aliases.items[k].b);
        c->group[a < b ? b : a] = a < b ? a : b;
    }
    for (size_t k = 0; k < plan->slices.count; k++) {
        const int32_t a = group_of(c->group, plan->slices.items[k].whole);
        const int32_t b = group_of(c->group, plan->slices.items[k].slice);
        c->group[a < b ? b : a] = a < b ? a : b;
    }
    for (int32_t i = 0; i < n; i++) c->group[i] = group_of(c->group, i);
    return true;
}

spad_status spad_plan_check(int64_t *height, const spad_plan *plan, const spad_plan_place *places,
                            size_t count, spad_error *error) {
    if (count != plan->buffers.count) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a plan of %lld places for %lld buffers",
                          (long long)count, (long long)plan->buffers.count);
    }
    checker c = {.plan = plan, .places = places, .arena.host = plan->host};
    int64_t top = 0;
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < count && status == SPAD_OK; i++) {
        status = check_place(&c, i, error);
        if (status == SPAD_OK) status = check_buffer_lane(&c, i, error);
        if (status == SPAD_OK) top = spad__max(top, places[i].offset + plan->buffers.items[i].size);
    }
    if (status == SPAD_OK) status = check_pairs(&c, error);
    if (status == SPAD_OK) {
        if (label_groups(&c) && sort_in_places(&c) && cut_rects(&c)) {
            status = check_unordered(&c, error);
            if (status == SPAD_OK) status = check_overlaps(&c, error);
        } else
            status = spad__fail_host_memory(error);
    }
    spad__arena_free(&c.arena);
    if (status == SPAD_OK && height != NULL) *height = top;
    return status;
}
