/* SPDX-License-Identifier: Apache-2.0
 *
 * The exact search for boxes; see valley.c.
 */
#ifndef SPAD_PLAN_SEARCH_VALLEY_H
#define SPAD_PLAN_SEARCH_VALLEY_H

#include "plan/problem/stop.h"
#include "plan/search/boxes.h"
#include "plan/search/priority_profile.h"

typedef struct spad__valley spad__valley;

typedef enum spad__verdict {
    SPAD__FOUND,    /* a plan */
    SPAD__NONE,     /* proved: no plan exists */
    SPAD__CUT,      /* node limit, deadline or cancelled */
    SPAD__NO_MEMORY /* the host has no more */
} spad__verdict;

/* boxes are borrowed, at least one. NULL: no memory. */
spad__valley *spad__valley_create(const spad__boxes *boxes, const spad_host *host);
void spad__valley_destroy(spad__valley *search);

/* Sets the capacity in units, at least the largest load. */
void spad__valley_capacity(spad__valley *search, int64_t capacity);

/* A plan to stay near; the search keeps a copy. */
void spad__valley_guide(spad__valley *search, const int64_t *offset);

/* One run from the root with at most node_limit nodes. offset: per box, in units,
 * written when found. Failures learned are kept for the next run. */
spad__verdict spad__valley_run(spad__valley *search, const spad__profile *profile, uint64_t seed,
                               int64_t node_limit, spad__stop *stop, int64_t *offset);

int64_t spad__valley_nodes(const spad__valley *search); /* over all runs */
int64_t spad__valley_depth(const spad__valley *search); /* most boxes placed in the last run */

#endif
