/* SPDX-License-Identifier: Apache-2.0
 *
 * Several memories with many buffers: a bound and assignments by prices; see tier_relax.c.
 */
#ifndef SPAD_PLAN_TIERS_TIER_RELAX_H
#define SPAD_PLAN_TIERS_TIER_RELAX_H

#include "base/limit.h"
#include "plan/tiers/tiers.h"

typedef struct spad__relax spad__relax;

/* Phases are those of the search: of buffer b, [first[b], first[b + 1]). effort: steps of each
 * kind, at most. NULL: no memory. All arguments must outlive it. */
spad__relax *spad__relax_create(const spad__tiers *tiers, const spad__phase *phases,
                                const int32_t *first, int32_t moment_count, int64_t effort,
                                spad__limit *limit);
void spad__relax_free(spad__relax *relax);

/* Looks for the best prices; no plan costs less than what is returned. */
int64_t spad__relax_bound(spad__relax *relax);

/* Assigns memories to phases so that the bytes at every moment are within `room` (per memory), and
 * improves that. *cost: what it costs. False: nothing was found. */
bool spad__relax_assign(spad__relax *relax, const int64_t *room, int32_t *memory, int64_t *cost);

/* The assignment was placed at these offsets (per phase). Where something is above the capacity of
 * its memory, that memory has less room from now on, and what is too much there goes elsewhere. The
 * rest as spad__relax_assign. */
bool spad__relax_repair(spad__relax *relax, const int64_t *offset, int32_t *memory, int64_t *cost);

#endif
