/* SPDX-License-Identifier: Apache-2.0
 *
 * Random problems of the planner in which every two rules of a CSV file meet, in small numbers:
 * what a rule is, the problem, its text. */
#ifndef SPAD_TEST_RULE_PROBLEM_H
#define SPAD_TEST_RULE_PROBLEM_H

#include "base/random.h"
#include "spad/experimental/soft_constraints.h"

/* Columns of a file, what is said about a whole problem, and rules of a space of a chip. */
#define RULE_LIST(R)            \
    R(END, "end")               \
    R(CLOCK, "clocks")          \
    R(EMPTY, "size 0")          \
    R(ALIGNMENT, "alignment")   \
    R(HINT, "hint")             \
    R(GAP, "gap")               \
    R(WINDOW, "window")         \
    R(OFFSET, "offset")         \
    R(LANE, "lane")             \
    R(LANES, "lanes")           \
    R(BANK, "bank")             \
    R(ALIAS, "alias")           \
    R(SLICE, "slice")           \
    R(APART, "apart")           \
    R(INSIDE, "apart inside")   \
    R(IN_PLACE, "in_place")     \
    R(AVOID, "avoid")           \
    R(PREVIOUS, "previous")     \
    R(REUSE, "reuse")           \
    R(SLACK, "slack")           \
    R(CAPACITY, "capacity")     \
    R(DECIDE, "decide")         \
    R(STARTS, "start lanes")    \
    R(GRANULE, "granule")       \
    R(POWER, "power of two")    \
    R(BANKS, "exclusive banks") \
    R(ALIGNED, "aligned space") \
    R(SPACE, "space")

typedef enum rule {
#define RULE_NAME(name, text) RULE_##name,
    RULE_LIST(RULE_NAME)
#undef RULE_NAME
        RULES
} rule;

#define RULE_BIT(rule) (UINT32_C(1) << (rule))

extern const char *const rule_names[RULES];

/* Why two rules cannot be in one problem; NULL: they can. */
const char *rule_obstacle(rule a, rule b);

enum {
    RULE_BUFFERS = 5,
    RULE_GAPS = 2,
    RULE_CLOCKS = 2,
    RULE_PAIRS = 4,
    RULE_MOMENTS = 6,
    RULE_LANE_COUNT = 4,
    RULE_TEXT = 4096
};

typedef struct rule_pair {
    int a, b;
    int64_t cost;
} rule_pair;

typedef struct rule_problem {
    uint32_t wanted; /* rules that it should have */
    int count;
    spad_plan_buffer buffer[RULE_BUFFERS]; /* as it is given: zeros are defaults */
    spad_plan_gap gaps[RULE_BUFFERS][RULE_GAPS];
    int64_t clocks[RULE_BUFFERS][2][RULE_CLOCKS];
    int alias[RULE_BUFFERS]; /* the first buffer of its label */
    int whole[RULE_BUFFERS]; /* of which it is a slice; -1: of none */
    int64_t at[RULE_BUFFERS];
    int apart_count, in_place_count, avoid_count;
    rule_pair apart[RULE_PAIRS];
    rule_pair in_place[RULE_PAIRS]; /* output, input */
    rule_pair avoid[RULE_PAIRS];
    bool in_space;
    spad_space space;
    spad_plan_place previous[RULE_BUFFERS]; /* offset -1: nowhere */
    spad_soft_constraints constraints;
    int64_t capacity;
    spad_plan_goal goal;
} rule_problem;

/* Two rules that can be in one problem, and a few more that suit them. */
uint32_t rule_choose(spad__random *random);

/* Only what spad_plan_add and its kin take is in it. No capacity yet. */
void rule_problem_make(rule_problem *p, uint32_t wanted, spad__random *random);

/* The rules that a buffer has; those of the whole problem are not in it. */
uint32_t rule_problem_of_buffer(const rule_problem *p, const int *group, int i);

/* Those of the whole problem. */
uint32_t rule_problem_of_all(const rule_problem *p);

/* Two problems at most, each in a memory of its own: "m0", "m1", with the column `space`. */
typedef struct rule_text {
    char bytes[RULE_TEXT];
    size_t used;
} rule_text;

void rule_problem_write(rule_text *text, const rule_problem *problems, int count);

/* The earlier plan as a text. */
void rule_problem_write_previous(rule_text *text, const rule_problem *p);

#endif
