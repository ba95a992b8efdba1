/* SPDX-License-Identifier: Apache-2.0
 *
 * A plan in the making, filled window by window; see draft.c.
 */
#ifndef SPAD_PLAN_DRAFT_H
#define SPAD_PLAN_DRAFT_H

#include "plan/pack.h"
#include "plan/sort.h"

/* Sections [lo, hi). */
typedef struct spad__draft_window {
    int32_t lo;
    int32_t hi;
    bool core; /* what was placed before stays where it is, also beyond the window */
} spad__draft_window;

typedef struct spad__draft {
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
    int32_t *list; /* and those of the present level */
    int32_t count;
    bool *stays;      /* per box of the window: it was placed before, and may not slide */
    int32_t *busy;    /* per section: sections before it that have the load of the level */
    int32_t *covered; /* per section: sections before it over which boxes of the list may move */
    int32_t *section; /* per section: its number among those of the slider */
    int32_t *burden;  /* per box, as the sliders left it */
    bool *begins;
    bool *ends;
    spad__row *rows;
} spad__draft;

/* A draft with no box placed. False: no memory. End it in both cases. */
bool spad__draft_start(spad__draft *draft, const spad__pack *pack);
void spad__draft_end(spad__draft *draft);

/* Takes all boxes out. */
void spad__draft_clear(spad__draft *draft);

/* Places all boxes over a window, below *target. After so many looks in vain the target goes up,
 * and again, as long as it is below `most`. *found: whether all are placed; if not, the draft has
 * to be cleared. False: no memory. */
bool spad__draft_fill(spad__draft *draft, const spad__draft_window *window, int64_t looks,
                      int64_t most, int64_t *target, bool *found);

#endif
