/* SPDX-License-Identifier: Apache-2.0
 *
 * The exact search for boxes; see valley.c.
 */
#ifndef SPAD_PLAN_VALLEY_H
#define SPAD_PLAN_VALLEY_H

#include "plan/boxes.h"
#include "plan/stop.h"

typedef struct spad__valley spad__valley;

typedef enum spad__verdict {
    SPAD__FOUND,    /* a plan */
    SPAD__NONE,     /* proved: there is no plan */
    SPAD__CUT,      /* node limit, deadline or cancelled */
    SPAD__NO_MEMORY /* the host has no more */
} spad__verdict;

/* Which section to branch on, after dead ends and forced moves. */
typedef enum spad__branching {
    SPAD__FEW_FIRST,   /* few options, then little slack */
    SPAD__TIGHT_FIRST, /* no slack, then as above */
    SPAD__SLACK_FIRST  /* little slack in tenths of the capacity, then few options */
} spad__branching;

/* How one run orders its options. Weights are per binary logarithm in 1/256. */
typedef struct spad__taste {
    int32_t width; /* weight of log2(sections of the box) */
    int32_t size;  /* weight of log2(size) */
    int32_t noise; /* largest random addition */
    int32_t edge;  /* bonus per side that touches a wall of the valley */
    int32_t flush; /* bonus per wall whose height the top meets exactly */
    int32_t guide; /* bonus for resting where the guide (below) has it */
    spad__branching rule;
    int64_t slack_step; /* set by the run */
} spad__taste;

/* boxes are borrowed, at least one. NULL: no memory. */
spad__valley *spad__valley_create(const spad__boxes *boxes, const spad_host *host);
void spad__valley_destroy(spad__valley *search);

/* Sets the capacity in units, at least the largest load. */
void spad__valley_capacity(spad__valley *search, int64_t capacity);

/* A plan to stay near; the search keeps a copy. */
void spad__valley_guide(spad__valley *search, const int64_t *offset);

/* One run from the root with at most node_limit nodes. offset: per box, in units,
 * written when found. Failures learned are kept for the next run. */
spad__verdict spad__valley_run(spad__valley *search, const spad__taste *taste, uint64_t seed,
                               int64_t node_limit, spad__stop *stop, int64_t *offset);

int64_t spad__valley_nodes(const spad__valley *search); /* over all runs */
int64_t spad__valley_depth(const spad__valley *search); /* most boxes placed in the last run */

#endif
