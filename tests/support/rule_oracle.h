/* SPDX-License-Identifier: Apache-2.0
 *
 * The lowest height and the least cost of a small problem with any rules, by trying every offset
 * and lane of every buffer. It shares no code with the planner. */
#ifndef SPAD_TEST_RULE_ORACLE_H
#define SPAD_TEST_RULE_ORACLE_H

#include "support/rule_problem.h"

enum { RULE_TALLEST = 52, RULE_IMPOSSIBLE = -1, RULE_TOO_TALL = -2 };

typedef struct rule_oracle {
    const rule_problem *p;
    spad_plan_buffer buffer[RULE_BUFFERS]; /* with the defaults and roundings of the space */
    uint64_t bytes[RULE_BUFFERS][RULE_MOMENTS];
    int lanes;
    int group[RULE_BUFFERS]; /* of what is tied by aliases and slices: the lowest buffer in it */
    int64_t delta[RULE_BUFFERS];                   /* from the lowest byte of its group */
    bool contradiction;                            /* two distances for one pair */
    bool near[RULE_BUFFERS][RULE_BUFFERS];         /* groups with a rule between them */
    bool meets[RULE_BUFFERS][RULE_BUFFERS];        /* buffers that may never share a byte */
    bool may_share[RULE_BUFFERS][RULE_BUFFERS];    /* one may be in the place of the other */
    int64_t pair_cost[RULE_BUFFERS][RULE_BUFFERS]; /* if they share a byte */
    int64_t move_cost[RULE_BUFFERS];
    spad_plan_place place[RULE_BUFFERS];
    bool placed[RULE_BUFFERS];
    int64_t limit;
    int64_t least;
} rule_oracle;

void rule_oracle_start(rule_oracle *o, const rule_problem *p);

/* RULE_IMPOSSIBLE: whatever the capacity. */
int64_t rule_oracle_lowest(rule_oracle *o);

/* The least cost of a plan within the limit, which is at least the lowest height. */
int64_t rule_oracle_least(rule_oracle *o, int64_t limit);

/* Does a plan obey all rules? Then its cost is in *cost and its top in *height. */
bool rule_oracle_accepts(rule_oracle *o, const spad_plan_place *places, int64_t *height,
                         int64_t *cost);

#endif
