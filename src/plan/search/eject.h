/* SPDX-License-Identifier: Apache-2.0
 *
 * Lowering a plan of boxes by taking boxes out and putting them in again; see eject.c.
 */
#ifndef SPAD_PLAN_SEARCH_EJECT_H
#define SPAD_PLAN_SEARCH_EJECT_H

#include "plan/search/greedy_passes.h"

enum { SPAD__EJECT_LOOKS = 4 * 1000 * 1000 }; /* good to begin with: 0.2 s or so */

typedef struct spad__ejector spad__ejector;

typedef enum spad__eject_style {
    SPAD__EJECT_STEADY, /* to lower a plan a little */
    SPAD__EJECT_ROAMING /* to find a plan at a height that is hard to reach */
} spad__eject_style;

/* All is borrowed but the boxes, which are copied. NULL: no memory. */
spad__ejector *spad__ejector_create(const spad__boxes *boxes, const spad_host *host,
                                    spad__eject_style style, spad__random *random,
                                    spad__stop *stop);
void spad__ejector_destroy(spad__ejector *ejector);

/* Takes out the boxes of a plan that are above a target, or all of them without a plan (NULL).
 * Weights stay as they are. */
void spad__ejector_start(spad__ejector *ejector, const int64_t *offset, int64_t target);

/* The weights as they were at first. */
void spad__ejector_forget(spad__ejector *ejector);

/* A run ends before it goes beyond one of these. */
typedef struct spad__eject_limits {
    int64_t looks; /* boxes examined */
    int64_t steps; /* boxes put in; holds exactly */
    int32_t out;   /* boxes out at the same time */
} spad__eject_limits;

/* Puts boxes in below a target, at least as high as each of them, until none is out (true) or a
 * limit is reached. May be called again to continue. */
bool spad__ejector_run(spad__ejector *ejector, int64_t target, const spad__eject_limits *limits);

int64_t spad__ejector_steps(const spad__ejector *ejector); /* over all runs */

/* Writes the plan, when no box is out, and returns its height. */
int64_t spad__ejector_plan(const spad__ejector *ejector, int64_t *offset);

/* Lowers the plan of a pack without pinned offsets as far as possible, examining at most `looks`
 * boxes for every target. False: no memory. */
bool spad__eject(spad__pack *pack, int64_t looks);

#endif
