/* SPDX-License-Identifier: Apache-2.0
 *
 * A plan of a large problem, from its peaks outwards; see spread.c.
 */
#ifndef SPAD_PLAN_SPREAD_H
#define SPAD_PLAN_SPREAD_H

#include "plan/pack.h"

/* Boxes that live together at a peak which is worth the effort. */
enum { SPAD__MANY_ALIVE = 128 };

typedef struct spad__spread spad__spread;

/* The pack, which has a plan, is borrowed. variant: several for one problem should differ in it.
 * NULL: no memory. */
spad__spread *spad__spread_create(spad__pack *pack, uint32_t variant);
void spad__spread_destroy(spad__spread *spread);

/* Looks for lower plans, as long as each comes as low as it should: with so many boxes examined, at
 * each of some levels, before a part of the plan is given up and gets higher. Plans that are
 * found go to the pack. False: no memory. */
bool spad__spread_round(spad__spread *spread, int64_t looks);

#endif
