/* SPDX-License-Identifier: Apache-2.0
 *
 * A plan of a large problem, from its peak outwards.
 *
 * What is hard about a problem with many lifetimes of random lengths is near its peak: some
 * hundred boxes, most of which live there together. So the boxes over a window around the peak
 * (the core) come first, and nothing else is in their way: a slider (slide.c) puts them in below
 * targets that come closer and closer to the bound. It keeps its order and its weights from round
 * to round.
 *
 * The rest is then added window by window, to the right of the core and to its left. A window
 * has boxes that are new, boxes that may still slide, and boxes that reach into what is further
 * back, which are fixed. Where load is lower there is slack, and most boxes have room at once.
 * A window that does not fit in its share of the time gets a higher target, and all after it.
 *
 * Two boxes that live together are both in the core, or in the window in which the later one of
 * them was added, and a box slides only where all that live together with it are in the window:
 * so the windows together are a plan. All is steered by the number of boxes examined.
 */
#include "plan/spread.h"

#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "plan/slide.h"

enum {
    CORE_PERCENT = 86, /* of the largest load, in the core */
    CORE_STEP = 3,     /* per cent more where the core is too large, */
    CORE_ALIVE = 4,    /* which is so many times the boxes alive at the peak, */
    CORE_MORE = 256,   /* and these */
    FIRST_GAP = 32,    /* part of the bound: the first target is no further above it */
    LAST_GAP = 2048,   /* part of the bound: below it the bound is the target */
    PEAK_PERCENT = 94, /* of the largest load, */
    MANY_ALIVE = 128,  /* boxes */
    LEAST_NEW = 96,    /* boxes of a window, */
    MOST_ABOUT = 6,    /* times as many as usual where a peak would be cut */
    PATIENCE = 2       /* part of the effort for the core, for a window before its target rises */
};

struct spad__spread {
    spad__pack *pack;
    int64_t unit;
    int32_t begin; /* of the core */
    int32_t end;
    int32_t core_count;
    int32_t alive; /* at the peak */
    spad__slider *core;
    int64_t target;     /* of the core, not reached yet */
    int64_t reached;    /* INT64_MAX: no target */
    int64_t *core_plan; /* per box; -1: not in the core */
    int64_t *offset;    /* of the plan that is made; -1: not placed yet */
    int32_t *ended;     /* per section: boxes with end <= it */
};

/* Sections [lo, hi) with new boxes on one side. */
typedef struct spread_window {
    int32_t lo;
    int32_t hi;
    bool leftwards;
} spread_window;

/* ---- the core ------------------------------------------------------------------------ */

/* The run of sections around the peak with a share of its load. */
static void find_core_run(const spad__boxes *b, int64_t percent, int32_t *begin, int32_t *end) {
    const int64_t busy = b->max_load / 100 * percent;
    *begin = b->peak;
    *end = b->peak + 1;
    while (*begin > 0 && b->load[*begin - 1] >= busy) (*begin)--;
    while (*end < b->sections && b->load[*end] >= busy) (*end)++;
}

static int32_t count_over(const spad__boxes *b, int32_t begin, int32_t end) {
    int32_t count = 0;
    for (int32_t i = 0; i < b->first[end]; i++) count += b->end[i] > begin;
    return count;
}

static void choose_core(spad__spread *s) {
    const spad__boxes *b = s->pack->boxes;
    s->alive = count_over(b, b->peak, b->peak + 1);
    const int32_t most = CORE_ALIVE * s->alive + CORE_MORE;
    for (int64_t percent = CORE_PERCENT; percent <= 100; percent += CORE_STEP) {
        find_core_run(b, percent, &s->begin, &s->end);
        s->core_count = count_over(b, s->begin, s->end);
        if (s->core_count <= most) break;
    }
}

/* Adds a box to a window of a slider, cut down to it. */
static void add_cut(spad__slider *slider, const spad__boxes *b, int32_t i, const spread_window *w,
                    int64_t offset) {
    spad__slide_box box = {.box = i,
                           .begin = (b->begin[i] > w->lo ? b->begin[i] : w->lo) - w->lo,
                           .end = (b->end[i] < w->hi ? b->end[i] : w->hi) - w->lo,
                           .size = b->size[i],
                           .offset = offset};
    box.fixed = offset >= 0 && (w->leftwards ? b->end[i] > w->hi : b->begin[i] < w->lo);
    spad__slider_add(slider, &box);
}

static void start_core(spad__spread *s) {
    const spad__boxes *b = s->pack->boxes;
    const spread_window w = {s->begin, s->end, false};
    spad__slider_clear(s->core, s->end - s->begin, s->unit, s->target);
    for (int32_t i = 0; i < b->first[s->end]; i++)
        if (b->end[i] > s->begin) add_cut(s->core, b, i, &w, -1);
    spad__slider_start(s->core);
}

/* Seven tenths of the way that is left, and in the end the bound. */
static int64_t next_target(const spad__pack *p, int64_t from) {
    const int64_t gap = (from - p->enough) / 10 * 7;
    return gap < p->enough / LAST_GAP ? p->enough : p->enough + gap;
}

/* Lowers the core as far as it gets. */
static void lower_core(spad__spread *s, int64_t looks) {
    const int64_t until = spad__slider_looks(s->core) + looks;
    while (s->reached > s->pack->enough) {
        const int64_t left = until - spad__slider_looks(s->core);
        if (left <= 0 || !spad__slider_run(s->core, left)) return;
        spad__slider_read(s->core, s->core_plan);
        s->reached = s->target;
        s->target = next_target(s->pack, s->reached);
        if (s->target < s->reached) spad__slider_aim(s->core, s->target);
    }
}

/* ---- windows ------------------------------------------------------------------------- */

static bool in_window(const spad__boxes *b, int32_t i, const spread_window *w) {
    return b->begin[i] < w->hi && b->end[i] > w->lo;
}

/* Whether a window should go on at a section: it has too few boxes, or is within a peak and has not
 * too many. */
static bool window_goes_on(const spad__boxes *b, int32_t section, int32_t boxes, int32_t about) {
    if (boxes < about) return true;
    return boxes < MOST_ABOUT * about && b->load[section] >= b->max_load / 100 * CORE_PERCENT;
}

/* Whether what is already placed over a section stays: a peak, where many boxes live together. */
static bool stays(const spad__spread *s, int32_t section) {
    const spad__boxes *b = s->pack->boxes;
    return s->alive >= MANY_ALIVE && b->load[section] >= b->max_load / 100 * PEAK_PERCENT;
}

/* The window after a frontier: some new boxes, and up to as many begun before it that may slide;
 * but no peak is opened again. */
static spread_window window_right(const spad__spread *s, int32_t frontier, int32_t about) {
    const spad__boxes *b = s->pack->boxes;
    const int32_t before = b->first[frontier];
    spread_window w = {frontier, frontier + 1, false};
    while (w.hi < b->sections && window_goes_on(b, w.hi, b->first[w.hi] - before, about)) w.hi++;
    while (w.lo > 0 && before - b->first[w.lo] < about && !stays(s, w.lo - 1)) w.lo--;
    return w;
}

static spread_window window_left(const spad__spread *s, int32_t frontier, int32_t about) {
    const spad__boxes *b = s->pack->boxes;
    const int32_t before = s->ended[frontier];
    spread_window w = {frontier - 1, frontier, true};
    while (w.lo > 0 && window_goes_on(b, w.lo - 1, before - s->ended[w.lo], about)) w.lo--;
    while (w.hi < b->sections && s->ended[w.hi] - before < about && !stays(s, w.hi)) w.hi++;
    return w;
}

/* Puts the boxes of a window in; *target goes up where that is necessary, but stays below the best
 * plan. *found: whether there is a plan. False: no memory. */
static bool fill_window(spad__spread *s, const spread_window *w, int64_t looks, int64_t *target,
                        bool *found) {
    const spad__boxes *b = s->pack->boxes;
    int32_t count = 0;
    for (int32_t i = 0; i < b->first[w->hi]; i++) count += in_window(b, i, w);
    *found = true;
    if (count == 0) return true;
    spad__slider *slider =
        spad__slider_create(s->pack->host, count, w->hi - w->lo, s->pack->random, s->pack->stop);
    if (slider == NULL) return false;
    spad__slider_clear(slider, w->hi - w->lo, s->unit, *target);
    for (int32_t i = 0; i < b->first[w->hi]; i++)
        if (in_window(b, i, w)) add_cut(slider, b, i, w, s->offset[i]);
    spad__slider_start(slider);
    while (!(*found = spad__slider_run(slider, looks)) && !spad__stopped(s->pack->stop)) {
        *target += (*target - s->pack->enough) / 4 + s->pack->enough / LAST_GAP + s->unit;
        if (*target >= s->pack->height) break;
        spad__slider_aim(slider, *target);
    }
    if (*found) spad__slider_read(slider, s->offset);
    spad__slider_destroy(slider);
    return true;
}

/* The core and all windows around it. *found: whether there is a plan lower than the best. */
static bool grow(spad__spread *s, int64_t looks, bool *found) {
    const spad__boxes *b = s->pack->boxes;
    const int32_t about = s->alive * 2 / 3 > LEAST_NEW ? s->alive * 2 / 3 : LEAST_NEW;
    int64_t target = s->reached;
    memcpy(s->offset, s->core_plan, (size_t)b->count * sizeof *s->offset);
    bool ok = true;
    *found = true;
    for (int32_t f = s->end; ok && *found && f < b->sections;) {
        const spread_window w = window_right(s, f, about);
        ok = fill_window(s, &w, looks, &target, found);
        f = w.hi;
    }
    for (int32_t f = s->begin; ok && *found && f > 0;) {
        const spread_window w = window_left(s, f, about);
        ok = fill_window(s, &w, looks, &target, found);
        f = w.lo;
    }
    return ok;
}

static void take_plan(spad__spread *s) {
    const spad__boxes *b = s->pack->boxes;
    int64_t height = 0;
    for (int32_t i = 0; i < b->count; i++) {
        spad__assert(s->offset[i] >= 0);
        height = spad__max(height, s->offset[i] + b->size[i]);
    }
    if (height >= s->pack->height) return;
    s->pack->height = height;
    memcpy(s->pack->offset, s->offset, (size_t)b->count * sizeof *s->offset);
}

bool spad__spread_round(spad__spread *s, int64_t looks) {
    lower_core(s, looks);
    if (s->reached >= s->pack->height || spad__stopped(s->pack->stop)) return true;
    bool found;
    if (!grow(s, looks / PATIENCE, &found)) return false;
    if (found) take_plan(s);
    return true;
}

/* ---- life ---------------------------------------------------------------------------- */

static void count_ended(spad__spread *s) {
    const spad__boxes *b = s->pack->boxes;
    for (int32_t i = 0; i < b->count; i++) s->ended[b->end[i]]++;
    for (int32_t k = 1; k <= b->sections; k++) s->ended[k] += s->ended[k - 1];
}

static bool allocate_spread(spad__spread *s) {
    const spad__pack *p = s->pack;
    const size_t n = (size_t)p->boxes->count;
    s->core_plan = spad__new_array(p->host, n, sizeof *s->core_plan);
    s->offset = spad__new_array(p->host, n, sizeof *s->offset);
    s->ended = spad__new_array(p->host, (size_t)p->boxes->sections + 1, sizeof *s->ended);
    s->core = spad__slider_create(p->host, s->core_count, s->end - s->begin, p->random, p->stop);
    return s->core_plan != NULL && s->offset != NULL && s->ended != NULL && s->core != NULL;
}

spad__spread *spad__spread_create(spad__pack *p) {
    spad__assert(p->height > p->enough && p->height != INT64_MAX && p->fixed == NULL);
    spad__spread *s = spad__new(p->host, sizeof *s);
    if (s == NULL) return NULL;
    *s = (spad__spread){.pack = p, .reached = INT64_MAX, .unit = p->height / SPAD__SLIDE_MOST + 1};
    choose_core(s);
    if (!allocate_spread(s)) {
        spad__spread_destroy(s);
        return NULL;
    }
    count_ended(s);
    for (int32_t i = 0; i < p->boxes->count; i++) s->core_plan[i] = -1;
    s->target = p->enough + spad__min(p->height - 1 - p->enough, p->enough / FIRST_GAP);
    start_core(s);
    return s;
}

void spad__spread_destroy(spad__spread *s) {
    if (s == NULL) return;
    const spad__pack *p = s->pack;
    const size_t n = (size_t)p->boxes->count;
    spad__slider_destroy(s->core);
    spad__free(p->host, s->core_plan, n * sizeof *s->core_plan);
    spad__free(p->host, s->offset, n * sizeof *s->offset);
    spad__free(p->host, s->ended, ((size_t)p->boxes->sections + 1) * sizeof *s->ended);
    spad__free(p->host, s, sizeof *s);
}
