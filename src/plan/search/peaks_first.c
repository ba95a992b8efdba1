/* SPDX-License-Identifier: Apache-2.0
 *
 * Decomposition by load: places the boxes at the peaks first, then the rest outwards from them.
 *
 * A problem with many lifetimes of random lengths is hard near its peaks: some hundred boxes,
 * most of them live there together. So the boxes over the highest peak and its slopes (a core)
 * come first, then the boxes over the other high peaks. All are placed
 * below targets that come closer and closer to the bound (window_fill.c).
 *
 * The rest is then added window by window, outwards from the cores; between two of them the windows
 * meet where the load is least. Where load is lower there is slack, and most boxes have room at
 * once. A window that does not fit in its share of the time gets a higher target, and all after it.
 * All is steered by the number of boxes examined.
 */
#include "plan/search/peaks_first.h"

#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "plan/search/order_eject.h"
#include "plan/search/window_fill.h"

enum {
    MOST_CORES = 32,
    WINDOW_PERCENT = 88, /* of the largest load: a window ends below it, or has many boxes */
    CORE_STEP = 3,       /* per cent more where a core is too large: more boxes than */
    CORE_LIVE = 6,       /* times the boxes live at the peak, */
    CORE_MORE = 256,     /* and this many */
    JOINED_LIVE = 8,     /* times the boxes live at the peak: no more for two peaks as one core */
    JOINED_THROUGH = 8,  /* part of those: they live through the time between such peaks */
    PEAK_MILLE = 985,    /* of the largest load, at the peak of another core */
    STAY_PERCENT = 98,   /* of the largest load: such a peak of many boxes stays as it is */
    FIRST_GAP = 200,     /* part of the bound: at most this far above it is the first target */
    LAST_GAP = 2048,     /* part of the bound: below it the bound is the target */
    LEAST_NEW = 96,      /* boxes of a window, */
    MOST_ABOUT = 6       /* times as many as usual where a peak would be cut */
};

/* Of the largest load, over a core. No size suits all problems, so each round has another one. */
static const int64_t core_percent[] = {88, 90, 86, 84};

struct spad__peaks_first {
    spad__pack *pack;
    spad__partial_plan partial;
    spad__section_window cores[MOST_CORES]; /* the highest peak first */
    int32_t core_count;
    uint32_t round;
    int32_t live;   /* at the peak */
    int32_t *ended; /* per section: boxes with end <= it */
    bool *in_core;  /* per section */
};

/* ---- cores --------------------------------------------------------------------------- */

static int64_t share_of_peak(const spad__boxes *b, int64_t percent) {
    return b->max_load / 100 * percent;
}

/* The section with the largest load that is in no core. */
static int32_t next_peak(const spad__peaks_first *s) {
    const spad__boxes *b = s->pack->boxes;
    int32_t peak = -1;
    for (int32_t k = 0; k < b->sections; k++)
        if (!s->in_core[k] && (peak < 0 || b->load[k] > b->load[peak])) peak = k;
    return peak;
}

/* The run of sections around a peak with a load, up to the next core. */
static spad__section_window run_around(const spad__peaks_first *s, int32_t peak, int64_t load) {
    const spad__boxes *b = s->pack->boxes;
    spad__section_window w = {peak, peak + 1, true};
    while (w.lo > 0 && !s->in_core[w.lo - 1] && b->load[w.lo - 1] >= load) w.lo--;
    while (w.hi < b->sections && !s->in_core[w.hi] && b->load[w.hi] >= load) w.hi++;
    return w;
}

static spad__section_window core_around(const spad__peaks_first *s, int32_t peak) {
    const spad__boxes *b = s->pack->boxes;
    const int32_t most = CORE_LIVE * s->live + CORE_MORE;
    spad__section_window w = {peak, peak + 1, true};
    const uint32_t kinds = sizeof core_percent / sizeof *core_percent;
    for (int64_t percent = core_percent[s->round % kinds]; percent < 100; percent += CORE_STEP) {
        w = run_around(s, peak, share_of_peak(b, percent));
        if (spad__boxes_over(b, w.lo, w.hi) <= most) break;
    }
    return w;
}

/* The time in which boxes over a window live. */
static spad__section_window life_of(const spad__boxes *b, const spad__section_window *w) {
    spad__section_window life = *w;
    for (int32_t i = 0; i < b->first[w->hi]; i++) {
        if (b->end[i] <= w->lo) continue;
        life.lo = b->begin[i] < life.lo ? b->begin[i] : life.lo;
        life.hi = b->end[i] > life.hi ? b->end[i] : life.hi;
    }
    return life;
}

/* Whether no box of a window lives together with one of a core. */
static bool stands_alone(const spad__peaks_first *s, const spad__section_window *w) {
    const spad__boxes *b = s->pack->boxes;
    const spad__section_window life = life_of(b, w);
    for (int32_t k = 0; k < s->core_count; k++) {
        const spad__section_window other = life_of(b, &s->cores[k]);
        if (life.lo < other.hi && other.lo < life.hi) return false;
    }
    return true;
}

/* How many boxes live through all sections between two windows. */
static int32_t count_through(const spad__boxes *b, const spad__section_window *v,
                             const spad__section_window *w) {
    const spad__section_window *left = v->lo < w->lo ? v : w;
    const spad__section_window *right = v->lo < w->lo ? w : v;
    int32_t count = 0;
    for (int32_t i = 0; i < b->first[left->hi]; i++) count += b->end[i] > right->lo;
    return count;
}

/* Joins a window to a core with which it has many boxes in common. */
static bool join_core(spad__peaks_first *s, const spad__section_window *w) {
    const spad__boxes *b = s->pack->boxes;
    for (int32_t k = 0; k < s->core_count; k++) {
        spad__section_window *const core = &s->cores[k];
        if (count_through(b, core, w) <= s->live / JOINED_THROUGH) continue;
        const spad__section_window both = {core->lo < w->lo ? core->lo : w->lo,
                                           core->hi > w->hi ? core->hi : w->hi, true};
        if (spad__boxes_over(b, both.lo, both.hi) > JOINED_LIVE * s->live) continue;
        *core = both;
        return true;
    }
    return false;
}

static void mark_core(spad__peaks_first *s, const spad__section_window *w) {
    memset(s->in_core + w->lo, true, (size_t)(w->hi - w->lo) * sizeof *s->in_core);
}

/* The highest peak, and others nearly as high at other times. */
static void choose_cores(spad__peaks_first *s) {
    const spad__boxes *b = s->pack->boxes;
    s->core_count = 0;
    memset(s->in_core, false, (size_t)b->sections * sizeof *s->in_core);
    while (s->core_count < MOST_CORES) {
        const int32_t peak = next_peak(s);
        if (peak < 0 || b->load[peak] < b->max_load / 1000 * PEAK_MILLE) break;
        const spad__section_window w = core_around(s, peak);
        mark_core(s, &w);
        if (join_core(s, &w)) continue;
        if (stands_alone(s, &w)) s->cores[s->core_count++] = w;
    }
    memset(s->in_core, false, (size_t)b->sections * sizeof *s->in_core);
    for (int32_t k = 0; k < s->core_count; k++) mark_core(s, &s->cores[k]);
}

/* All cores. */
static bool fill_cores(spad__peaks_first *s, int64_t looks, int64_t *target, bool *found) {
    bool ok = true;
    for (int32_t k = 0; ok && *found && k < s->core_count; k++)
        ok = spad__window_fill(&s->partial, &s->cores[k], looks, s->pack->height, target, found);
    return ok;
}

/* ---- windows ------------------------------------------------------------------------- */

/* Whether a window should go on at a section: it has too few boxes, or is within a peak and has not
 * too many. */
static bool window_goes_on(const spad__boxes *b, int32_t section, int32_t boxes, int32_t about) {
    if (boxes < about) return true;
    return boxes < MOST_ABOUT * about && b->load[section] >= share_of_peak(b, WINDOW_PERCENT);
}

/* Whether the boxes already placed over a section stay: at a peak, where many live together. */
static bool stays(const spad__peaks_first *s, int32_t section) {
    const spad__boxes *b = s->pack->boxes;
    return s->live >= SPAD__MANY_LIVE && b->load[section] >= share_of_peak(b, STAY_PERCENT);
}

/* The window after a frontier, up to `end`: some new boxes, and up to as many begun before it that
 * may slide; but no peak is opened again. */
static spad__section_window window_right(const spad__peaks_first *s, int32_t frontier, int32_t end,
                                         int32_t about) {
    const spad__boxes *b = s->pack->boxes;
    const int32_t before = b->first[frontier];
    spad__section_window w = {frontier, frontier + 1, false};
    while (w.hi < end && window_goes_on(b, w.hi, b->first[w.hi] - before, about)) w.hi++;
    while (w.lo > 0 && before - b->first[w.lo] < about && !stays(s, w.lo - 1)) w.lo--;
    return w;
}

static spad__section_window window_left(const spad__peaks_first *s, int32_t frontier, int32_t end,
                                        int32_t about) {
    const spad__boxes *b = s->pack->boxes;
    const int32_t before = s->ended[frontier];
    spad__section_window w = {frontier - 1, frontier, false};
    while (w.lo > end && window_goes_on(b, w.lo - 1, before - s->ended[w.lo], about)) w.lo--;
    while (w.hi < b->sections && s->ended[w.hi] - before < about && !stays(s, w.hi)) w.hi++;
    return w;
}

/* Sections [lo, hi) between two cores, from both ends to where the load is least; at an end of the
 * problem, from the other end only. */
static bool fill_gap(spad__peaks_first *s, int32_t lo, int32_t hi, int64_t looks, int64_t *target,
                     bool *found) {
    const spad__boxes *b = s->pack->boxes;
    const int32_t about = s->live / 2 > LEAST_NEW ? s->live / 2 : LEAST_NEW;
    int32_t valley = lo;
    for (int32_t k = lo; k < hi; k++) valley = b->load[k] < b->load[valley] ? k : valley;
    valley = lo == 0 ? lo : hi == b->sections ? hi : valley;
    bool ok = true;
    for (int32_t f = lo; ok && *found && f < valley;) {
        const spad__section_window w = window_right(s, f, valley, about);
        ok = spad__window_fill(&s->partial, &w, looks, s->pack->height, target, found);
        f = w.hi;
    }
    for (int32_t f = hi; ok && *found && f > valley;) {
        const spad__section_window w = window_left(s, f, valley, about);
        ok = spad__window_fill(&s->partial, &w, looks, s->pack->height, target, found);
        f = w.lo;
    }
    return ok;
}

/* All that is between the cores. */
static bool fill_gaps(spad__peaks_first *s, int64_t looks, int64_t *target, bool *found) {
    const spad__boxes *b = s->pack->boxes;
    bool ok = true;
    for (int32_t lo = 0; ok && *found && lo < b->sections;) {
        int32_t hi = lo;
        while (hi < b->sections && !s->in_core[hi]) hi++;
        if (hi > lo) ok = fill_gap(s, lo, hi, looks, target, found);
        while (hi < b->sections && s->in_core[hi]) hi++;
        lo = hi;
    }
    return ok;
}

static void take_plan(spad__peaks_first *s) {
    const spad__boxes *b = s->pack->boxes;
    const int64_t *const offset = s->partial.offset;
    int64_t height = 0;
    for (int32_t i = 0; i < b->count; i++) {
        spad__assert(offset[i] >= 0);
        height = spad__max(height, offset[i] + b->size[i]);
    }
    if (height >= s->pack->height) return;
    s->pack->height = height;
    memcpy(s->pack->offset, offset, (size_t)b->count * sizeof *offset);
}

/* Half of the way that is left, and in the end the bound. */
static int64_t next_target(const spad__pack *p) {
    const int64_t gap = spad__min((p->height - p->enough) / 2, p->enough / FIRST_GAP);
    return gap < p->enough / LAST_GAP ? p->enough : p->enough + gap;
}

bool spad__peaks_first_round(spad__peaks_first *s, int64_t looks) {
    spad__pack *const p = s->pack;
    bool reached = true;
    choose_cores(s);
    while (reached && p->height > p->enough && !spad__stopped(p->stop)) {
        const int64_t aim = next_target(p);
        int64_t target = aim;
        bool found = true;
        spad__partial_plan_clear(&s->partial);
        if (!fill_cores(s, looks, &target, &found)) return false;
        if (!fill_gaps(s, looks, &target, &found)) return false;
        if (found) take_plan(s);
        reached = found && target == aim;
    }
    s->round++;
    return true;
}

/* ---- life ---------------------------------------------------------------------------- */

static void count_ended(spad__peaks_first *s) {
    const spad__boxes *b = s->pack->boxes;
    for (int32_t i = 0; i < b->count; i++) s->ended[b->end[i]]++;
    for (int32_t k = 1; k <= b->sections; k++) s->ended[k] += s->ended[k - 1];
}

static bool allocate_peaks_first(spad__peaks_first *s) {
    spad__arena *const arena = &s->partial.arena;
    if (!spad__partial_plan_start(&s->partial, s->pack)) return false;
    const size_t sections = (size_t)s->pack->boxes->sections + 1;
    s->ended = spad__arena_array(arena, sections, sizeof *s->ended);
    s->in_core = spad__arena_array(arena, sections, sizeof *s->in_core);
    return s->ended != NULL && s->in_core != NULL;
}

spad__peaks_first *spad__peaks_first_create(spad__pack *p, uint32_t variant) {
    spad__assert(p->height > p->enough && p->height != INT64_MAX && p->fixed == NULL);
    spad__peaks_first *s = spad__new(p->host, sizeof *s);
    if (s == NULL) return NULL;
    *s = (spad__peaks_first){.pack = p, .round = variant};
    if (!allocate_peaks_first(s)) {
        spad__peaks_first_destroy(s);
        return NULL;
    }
    count_ended(s);
    s->live = spad__boxes_over(p->boxes, p->boxes->peak, p->boxes->peak + 1);
    return s;
}

void spad__peaks_first_destroy(spad__peaks_first *s) {
    if (s == NULL) return;
    spad__partial_plan_end(&s->partial);
    spad__free(s->pack->host, s, sizeof *s);
}
