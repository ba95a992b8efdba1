/* SPDX-License-Identifier: Apache-2.0
 *
 * A plan of a large problem, from its peaks outwards; see peaks_first.c.
 */
#ifndef SPAD_PLAN_SEARCH_PEAKS_FIRST_H
#define SPAD_PLAN_SEARCH_PEAKS_FIRST_H

#include "plan/search/greedy_passes.h"

/* Boxes that live together at a peak which is worth the effort. */
enum { SPAD__MANY_LIVE = 128 };

typedef struct spad__peaks_first spad__peaks_first;

/* The pack, which has a plan, is borrowed. variant: several for one problem should differ in it.
 * NULL: no memory. */
spad__peaks_first *spad__peaks_first_create(spad__pack *pack, uint32_t variant);
void spad__peaks_first_destroy(spad__peaks_first *peaks);

/* Looks for lower plans, as long as each comes as low as it should. At each of some levels `looks`
 * boxes are examined before a part of the plan is given up and gets higher. Plans that are found go
 * to the pack. False: no memory. */
bool spad__peaks_first_round(spad__peaks_first *peaks, int64_t looks);

#endif
