/* SPDX-License-Identifier: Apache-2.0
 *
 * A long problem with lifetimes that are short against it has many peaks, far from each
 * other, and no preference of a greedy pass suits all of them. So time is cut into strips
 * of some thousand boxes, where the load is least. They are packed one by one, those with the
 * highest load first, each with a few passes if it needs them. A box that reaches into a strip
 * packed before has its offset there already; two boxes that are live together are so in some
 * strip, so the strips together are a plan. It is a first plan, for eject.c to lower.
 *
 * Most strips have far less load than the highest one and need one pass. O(n log n), and
 * less than a pass over the whole since a strip fits the cache; O(n) memory.
 */
#include "plan/search/strips.h"

#include "base/assert.h"
#include "base/checked.h"
#include "plan/problem/sort.h"

enum {
    HOT_PERCENT = 88,             /* of the largest load: a peak */
    PASSES = 3,                   /* over one strip, */
    STRIP_PASSES_BEFORE_CORE = 2, /* and before the last its core */
    ENOUGH_ABOVE = 256            /* part of the bound: a strip at most this far above it will do */
};

/* The boxes over sections [begin, end) of the whole, cut down to them. */
typedef struct strip {
    spad__boxes boxes;
    int32_t begin;
    int32_t end;
    int32_t *origin; /* number in the whole */
    int64_t *fixed;  /* pinned offset, or -1 */
    int64_t *offset;
    int64_t *trial;
} strip;

/* crossing: for every cut the boxes with sections on both sides of it. */
typedef struct walk {
    spad__pack *whole;
    int64_t *offset; /* of the plan that is made; -1: not placed yet */
    int64_t height;
    int32_t count; /* strips: strip k has sections [cut[k], cut[k + 1]) */
    SPAD_ARRAY(int32_t) cut;
    SPAD_ARRAY(int32_t) crossing;
    SPAD_ARRAY(int32_t) crossing_first; /* per cut, into crossing */
} walk;

/* ---- cutting ----------------------------------------------------------------------- */

static int32_t least_load(const spad__boxes *b, int32_t begin, int32_t end) {
    spad__assert(begin < end && end <= b->sections);
    int32_t least = begin;
    for (int32_t s = begin + 1; s < end; s++)
        if (b->load[s] < b->load[least]) least = s;
    return least;
}

/* Where the strip from `begin` ends. Among the sections that make it about as large as it
 * should be, peaks should be far: the longest run without one, and the least load in its middle
 * third. */
static int32_t find_strip_cut(const spad__boxes *b, int32_t begin, int32_t about) {
    const int32_t before = b->first[begin];
    const int64_t hot = b->max_load / 100 * HOT_PERCENT;
    int32_t run = begin + 1;
    int32_t best = begin + 1;
    int32_t best_end = begin + 1;
    for (int32_t s = begin + 1; s < b->sections; s++) {
        const int32_t boxes = b->first[s] - before;
        if (boxes < about / 2 || b->load[s] >= hot) run = s + 1;
        if (s + 1 - run > best_end - best) {
            best = run;
            best_end = s + 1;
        }
        if (boxes <= about + about / 2) continue;
        if (best == best_end) return s; /* all are hot */
        const int32_t third = (best_end - best) / 3;
        return least_load(b, best + third, best_end - third);
    }
    return b->sections; /* the rest is small enough */
}

/* The boxes over a cut: those over the one before, or begun since, that live on. */
static bool list_crossing(walk *w, int32_t from, int32_t cut) {
    spad__assert(from <= cut && cut <= w->whole->boxes->sections);
    const spad_host *host = w->whole->host;
    const spad__boxes *b = w->whole->boxes;
    const size_t k = w->crossing_first.count;
    const size_t old_begin = k > 0 ? (size_t)w->crossing_first.items[k - 1] : 0;
    const size_t old_end = w->crossing.count;
    const size_t most = old_end - old_begin + (size_t)(b->first[cut] - b->first[from]);
    if (!spad__array_reserve(host, &w->crossing_first, 1) ||
        !spad__array_reserve(host, &w->crossing, most))
        return false;
    w->crossing_first.items[w->crossing_first.count++] = (int32_t)old_end;
    for (size_t i = old_begin; i < old_end; i++)
        if (b->end[w->crossing.items[i]] > cut)
            w->crossing.items[w->crossing.count++] = w->crossing.items[i];
    for (int32_t i = b->first[from]; i < b->first[cut]; i++)
        if (b->end[i] > cut) w->crossing.items[w->crossing.count++] = i;
    return true;
}

/* *suits: false when boxes cross so many cuts that a strip is as large as the whole problem. */
static bool make_cuts(walk *w, bool *suits) {
    const spad__boxes *b = w->whole->boxes;
    /* a strip that is hard may not be one with other cuts */
    const int32_t about =
        (int32_t)spad__random_in(w->whole->random, SPAD__STRIP_BOXES / 2, SPAD__STRIP_BOXES * 2);
    int32_t from = 0;
    for (int32_t cut = 0;; cut = find_strip_cut(b, cut, about)) {
        if (!spad__array_reserve(w->whole->host, &w->cut, 1) || !list_crossing(w, from, cut))
            return false;
        w->cut.items[w->cut.count++] = cut;
        spad__assert(w->cut.count == w->crossing_first.count && (cut > from || w->cut.count == 1));
        from = cut;
        *suits = w->crossing.count <= (size_t)b->count / 4;
        if (cut == b->sections || !*suits) break;
    }
    w->count = (int32_t)w->cut.count - 1;
    return true;
}

static bool strip_allocate(strip *t, size_t n) {
    spad__arena *arena = &t->boxes.arena;
    if (!spad__boxes_take(&t->boxes, n, (size_t)t->boxes.sections)) return false;
    t->origin = spad__arena_array(arena, n + 1, sizeof *t->origin);
    t->fixed = spad__arena_array(arena, n + 1, sizeof *t->fixed);
    t->offset = spad__arena_array(arena, n + 1, sizeof *t->offset);
    t->trial = spad__arena_array(arena, n + 1, sizeof *t->trial);
    return t->origin != NULL && t->fixed != NULL && t->offset != NULL && t->trial != NULL;
}

static void strip_add(strip *t, const spad__boxes *whole, int32_t box, int64_t fixed) {
    spad__boxes *b = &t->boxes;
    const int32_t k = b->count++;
    b->begin[k] = (whole->begin[box] > t->begin ? whole->begin[box] : t->begin) - t->begin;
    b->end[k] = (whole->end[box] < t->end ? whole->end[box] : t->end) - t->begin;
    spad__assert(b->begin[k] < b->end[k] && b->end[k] <= b->sections);
    spad__assert(k == 0 || b->begin[k - 1] <= b->begin[k]);
    b->size[k] = whole->size[box];
    b->first[b->begin[k] + 1]++;
    t->origin[k] = box;
    t->fixed[k] = fixed;
}

/* Builds the strip [begin, end) of a plan. crossing: the boxes over its left border, which come
 * first since they all begin with the strip. pinned: per box of the whole its offset, or -1. */
static bool strip_build(strip *t, const spad__pack *p, int32_t begin, int32_t end,
                        const int32_t *crossing, int32_t carried, const int64_t *pinned) {
    const spad__boxes *whole = p->boxes;
    spad__boxes *b = &t->boxes;
    *t = (strip){.begin = begin, .end = end};
    b->arena.host = *p->host;
    b->sections = end - begin;
    b->unit = whole->unit;
    const int32_t from = whole->first[begin];
    const int32_t until = whole->first[end];
    if (!strip_allocate(t, (size_t)carried + (size_t)(until - from))) return false;
    for (int32_t i = 0; i < carried; i++) strip_add(t, whole, crossing[i], pinned[crossing[i]]);
    for (int32_t i = from; i < until; i++) strip_add(t, whole, i, pinned[i]);
    for (int32_t s = 0; s < b->sections; s++) {
        b->first[s + 1] += b->first[s];
        b->load[s] = whole->load[begin + s];
        if (b->load[s] <= b->max_load) continue;
        b->max_load = b->load[s];
        b->peak = s;
    }
    return true;
}

/* ---- packing ----------------------------------------------------------------------- */

/* Packs one strip; it need not be lower than the rest of the plan. *found: whether there is a
 * plan around the boxes whose offsets are pinned. False: no memory. */
static bool strip_pack(strip *t, const spad__pack *whole, int64_t rest, bool *found) {
    const int64_t low = whole->enough + whole->enough / ENOUGH_ABOVE;
    spad__pack p = {.boxes = &t->boxes,
                    .fixed = t->fixed,
                    .host = whole->host,
                    .random = whole->random,
                    .stop = whole->stop,
                    .enough = spad__max(low, rest),
                    .height = INT64_MAX,
                    .offset = t->offset,
                    .trial = t->trial};
    if (!spad__pack_start(&p)) return false;
    bool ok = true;
    for (int32_t k = 0; ok && k < PASSES && p.height > p.enough; k++) {
        if (p.height != INT64_MAX && spad__stopped(p.stop)) break;
        if (k == STRIP_PASSES_BEFORE_CORE) ok = spad__pack_core(&p);
        if (ok && p.height > p.enough) spad__pack_pass(&p);
    }
    spad__pack_end(&p);
    *found = p.height != INT64_MAX;
    return ok;
}

static void strip_take(const strip *t, int64_t *offset, int64_t *height) {
    for (int32_t k = 0; k < t->boxes.count; k++) {
        offset[t->origin[k]] = t->offset[k];
        spad__assert(t->fixed[k] < 0 || t->fixed[k] == t->offset[k]);
        *height = spad__max(*height, t->offset[k] + t->boxes.size[k]);
    }
}

/* ---- one strip after the other ----------------------------------------------------- */

/* *found: whether there is a plan of strip k. False: no memory. */
static bool do_strip(walk *w, int32_t k, bool *found) {
    strip t;
    const int32_t carried = w->crossing_first.items[k + 1] - w->crossing_first.items[k];
    const bool ok =
        strip_build(&t, w->whole, w->cut.items[k], w->cut.items[k + 1],
                    w->crossing.items + w->crossing_first.items[k], carried, w->offset) &&
        strip_pack(&t, w->whole, w->height, found);
    if (ok && *found) strip_take(&t, w->offset, &w->height);
    spad__arena_free(&t.boxes.arena);
    return ok;
}

/* Strips by their largest load, highest first. rows: room for twice as many. */
static void order_strips(const walk *w, spad__row *rows) {
    const int64_t *load = w->whole->boxes->load;
    for (int32_t k = 0; k < w->count; k++) {
        int64_t most = 0;
        for (int32_t s = w->cut.items[k]; s < w->cut.items[k + 1]; s++)
            most = spad__max(most, load[s]);
        rows[k] = (spad__row){~spad__sort_key(most), k};
    }
    spad__sort_rows(rows, rows + w->count, (size_t)w->count);
}

/* The strips with the highest peaks come first, when nothing is pinned yet that would be in
 * the way; the strips between them have room to go around. *found: whether all have a plan. */
static bool walk_strips(walk *w, bool *found) {
    const spad__pack *p = w->whole;
    for (int32_t i = 0; i < p->boxes->count; i++) w->offset[i] = -1;
    const size_t room = 2 * (size_t)w->count * sizeof(spad__row);
    spad__row *rows = spad__new_array(p->host, (size_t)w->count, 2 * sizeof *rows);
    bool ok = rows != NULL;
    if (ok) order_strips(w, rows);
    *found = true;
    for (int32_t k = 0; ok && *found && k < w->count; k++) ok = do_strip(w, rows[k].value, found);
    spad__free(p->host, rows, room);
    return ok;
}

bool spad__strips_pass(spad__pack *p, bool *found) {
    walk w = {.whole = p, .offset = p->offset};
    bool ok = make_cuts(&w, found);
    if (ok && *found) ok = walk_strips(&w, found);
    spad__array_free(p->host, &w.cut);
    spad__array_free(p->host, &w.crossing);
    spad__array_free(p->host, &w.crossing_first);
    if (ok && *found) p->height = w.height;
    return ok;
}
