/* SPDX-License-Identifier: Apache-2.0
 *
 * The preferences of one run of the exact search: the section to branch on and the order of its
 * options.
 * Every profile comes to the same verdict, if it is given the time.
 */
#ifndef SPAD_PLAN_SEARCH_PRIORITY_PROFILE_H
#define SPAD_PLAN_SEARCH_PRIORITY_PROFILE_H

#include "base/assert.h"
#include "base/checked.h"
#include "plan/search/boxes.h"

/* Which section to branch on, after dead ends and forced moves. */
typedef enum spad__branching {
    SPAD__FEW_FIRST,   /* few options, then little slack */
    SPAD__TIGHT_FIRST, /* no slack, then as above */
    SPAD__SLACK_FIRST  /* little slack in tenths of the capacity, then few options */
} spad__branching;

/* How one run orders its options. Weights are per binary logarithm in 1/256. */
typedef struct spad__profile {
    int32_t width; /* weight of log2(sections of the box) */
    int32_t size;  /* weight of log2(size) */
    int32_t noise; /* largest random addition */
    int32_t edge;  /* bonus per side that touches a wall of the valley */
    int32_t flush; /* bonus per wall whose height equals the top of the box */
    int32_t guide; /* bonus for resting where the guide of the search has it */
    spad__branching rule;
    int64_t slack_step; /* set by the run */
} spad__profile;

/* The static part of the score of each box. */
void spad__profile_weigh(const spad__profile *profile, const spad__boxes *boxes, uint64_t seed,
                         int32_t *weight);

/* How urgent a section is: dead ends and forced moves first, the others by the rule. */
static inline int32_t spad__profile_rank(const spad__profile *profile, int32_t options,
                                         int64_t slack) {
    spad__assert(options > 0 && slack >= 0);
    enum { SLACK_STEPS = 4096, MOST_OPTIONS = 2047, LATER = (MOST_OPTIONS + 1) * SLACK_STEPS };
    const int32_t few = options < MOST_OPTIONS ? options : MOST_OPTIONS;
    const int32_t rank = few * SLACK_STEPS + (int32_t)spad__min(slack, SLACK_STEPS - 1);
    if (options < 2 || slack == 0 || profile->rule == SPAD__FEW_FIRST) return rank;
    if (profile->rule == SPAD__TIGHT_FIRST) return LATER + rank;
    return LATER + (int32_t)(slack / profile->slack_step) * (MOST_OPTIONS + 1) + few;
}

#endif
