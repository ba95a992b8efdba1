/* SPDX-License-Identifier: Apache-2.0
 *
 * A plan of a large problem, from its peak outwards; see spread.c.
 */
#ifndef SPAD_PLAN_SPREAD_H
#define SPAD_PLAN_SPREAD_H

#include "plan/pack.h"

typedef struct spad__spread spad__spread;

/* The pack, which has a plan, is borrowed. NULL: no memory. */
spad__spread *spad__spread_create(spad__pack *pack);
void spad__spread_destroy(spad__spread *spread);

/* Looks for a lower plan: about so many boxes are examined for the peak, and at most as many where
 * the rest does not fit at once. A plan that is found goes to the pack. False: no memory. */
bool spad__spread_round(spad__spread *spread, int64_t looks);

#endif
