/* SPDX-License-Identifier: Apache-2.0
 *
 * A partial plan, completed window by window; see window_fill.c.
 */
#ifndef SPAD_PLAN_SEARCH_WINDOW_FILL_H
#define SPAD_PLAN_SEARCH_WINDOW_FILL_H

#include "plan/problem/sort.h"
#include "plan/search/greedy_passes.h"

/* Sections [lo, hi). */
typedef struct spad__section_window {
    int32_t lo;
    int32_t hi;
    bool core; /* boxes placed before stay where they are, also outside the window */
} spad__section_window;

typedef struct spad__partial_plan {
    const spad__pack *pack; /* borrowed */
    spad__arena arena;
    int64_t unit;
    int64_t looks;   /* boxes examined so far */
    int64_t *offset; /* per box; -1: not placed yet */
    /* of the window that is being filled */
    int32_t lo;
    int32_t hi;
    int32_t *all; /* its boxes, */
    int32_t all_count;
    int32_t *list; /* and the boxes of the present level */
    int32_t count;
    bool *stays;      /* per box of the window: it was placed before, and may not slide */
    int32_t *busy;    /* per section: sections before it that have the load of the level */
    int32_t *covered; /* per section: sections before it over which boxes of the list may move */
    int32_t *section; /* per section: its number in the order ejector */
    int32_t *burden;  /* per box, as the order ejectors left it */
    bool *begins;
    bool *ends;
    spad__row *rows;
} spad__partial_plan;

/* A partial plan with no box placed. False: no memory. End it in both cases. */
bool spad__partial_plan_start(spad__partial_plan *partial, const spad__pack *pack);
void spad__partial_plan_end(spad__partial_plan *partial);

/* Takes all boxes out. */
void spad__partial_plan_clear(spad__partial_plan *partial);

/* Places all boxes over a window, below *target. After `looks` boxes examined in vain the target
 * goes up, and again, as long as it is below `most`. *found: whether all are placed; if not, the
 * partial plan must be cleared. False: no memory. */
bool spad__window_fill(spad__partial_plan *partial, const spad__section_window *window,
                       int64_t looks, int64_t most, int64_t *target, bool *found);

#endif
