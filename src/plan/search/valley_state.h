/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of the valley search: floors, slack and parts, and the moves that change them; see
 * valley_state.c. Private to valley.c and valley_state.c.
 */
#ifndef SPAD_PLAN_SEARCH_VALLEY_STATE_H
#define SPAD_PLAN_SEARCH_VALLEY_STATE_H

#include "base/assert.h"
#include "base/checked.h"
#include "plan/search/failures.h"
#include "plan/search/tally.h"
#include "plan/search/valley.h"

#define SPAD__NO_WALL INT64_MAX

enum { SPAD__NOT_A_VALLEY = INT32_MAX };

/* A maximal run [l, r) of sections with one floor, kept at its two ends:
 *   runs[l].end = r,  runs[r - 1].begin = l;
 *   runs[l] has its floor, section and rank. */
typedef struct spad__floor_run {
    int64_t floor;
    int32_t end;
    int32_t begin;
    int32_t section; /* where to branch */
    int32_t rank;    /* low: branch here first; SPAD__NOT_A_VALLEY: a neighbour is lower */
} spad__floor_run;

typedef struct spad__saved_run {
    int32_t at;
    spad__floor_run value;
} spad__saved_run;

/* Sections [lo, hi). */
typedef struct spad__section_span {
    int32_t lo;
    int32_t hi;
} spad__section_span;

/* Sections [lo, hi) that only `left` unplaced boxes cover, connected by them.
 * Boxes at or above `top` are placed. */
typedef struct spad__valley_part {
    int32_t lo;
    int32_t hi;
    int32_t left;
    int32_t next;    /* the part to solve afterwards, or -1 */
    int32_t creator; /* the frame whose choice made it, or -1 */
    int64_t top;
    spad__section_span origin; /* the sections cut off, before spanning boxes were lifted out */
    spad__search_key key;
} spad__valley_part;

/* A stretch that is being cut: up to this section, under this top. */
typedef struct spad__valley_level {
    int32_t end;
    int64_t top;
} spad__valley_level;

/* `by` bytes given up in each of the sections [begin, end). */
typedef struct spad__valley_raise {
    int32_t begin;
    int32_t end;
    int64_t by;
} spad__valley_raise;

typedef struct spad__valley_option {
    int32_t box;
    int32_t score;
} spad__valley_option;

/* A choice: the options are tried in turn, then the raise. */
typedef struct spad__valley_frame {
    spad__search_key key; /* of the part before the choice */
    int64_t raise_by;     /* 0: not possible, or done */
    int32_t part;
    int32_t left;
    int32_t back; /* the frame to continue with when this one fails */
    int32_t valley;
    int32_t section;
    int32_t run_mark; /* lengths of the trails before the choice */
    int32_t placed_mark;
    int32_t raise_mark;
    int32_t part_mark;
    int32_t option_first;
    int32_t option_next;
    int32_t option_end;
    spad__section_span changed; /* by the option that is tried */
    spad__section_span cause;   /* of the failures of its options so far */
} spad__valley_frame;

/*
 * Invariants
 *   crossing[s] = number of unplaced boxes with begin < s < end
 *   bit i of unplaced is set exactly when box i is in no part's past
 *   slack[s] = top of the part - floor of s - sizes of unplaced boxes over s >= 0
 *   slack_key[s] = hash of (s, slack[s])
 *   key of a part = sum of box_key over its unplaced boxes and of slack_key over its sections
 */
struct spad__valley {
    spad_host host;
    spad__arena arena;
    const spad__boxes *boxes;
    int64_t capacity;
    spad__profile profile;
    spad__floor_run *runs;
    spad__tallies tallies; /* with the unplaced boxes */
    int64_t *slack;
    spad__search_key *slack_key;
    int32_t *crossing;
    spad__search_key *box_key;
    int32_t *weight; /* static part of the score of an option */
    int64_t *offset;
    spad__valley_level *levels; /* where a part is being cut */
    int64_t *guide;             /* offset of a box in a known plan, or -1 */
    /* trails, undone from the end */
    SPAD_ARRAY(spad__saved_run) saved;
    SPAD_ARRAY(int32_t) placed;
    SPAD_ARRAY(spad__valley_raise) raises;
    SPAD_ARRAY(spad__valley_part) parts;
    SPAD_ARRAY(spad__valley_frame) frames;
    SPAD_ARRAY(spad__valley_option) options;
    /* the state at hand */
    int32_t part; /* -1: nothing is left */
    int32_t left;
    int32_t back;
    spad__search_key key;
    spad__section_span changed; /* by the choice that is made */
    spad__section_span cause;   /* of the last dead end */
    bool hollow;                /* the run just counted is a valley that no box fits into */
    spad__failures failures;
    int64_t nodes;
    int64_t deepest;
};

/* ---- causes ------------------------------------------------------------------------ */

static inline spad__section_span spad__one_wider(int32_t lo, int32_t hi) {
    return (spad__section_span){lo - 1, hi + 1};
}

static inline spad__section_span spad__span_hull(spad__section_span a, spad__section_span b) {
    return (spad__section_span){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}

/* Records the sections on which a dead end depends. Returns false. */
static inline bool spad__dead_end(spad__valley *v, int32_t lo, int32_t hi) {
    v->cause = spad__one_wider(lo, hi);
    return false;
}

/* ---- walls ------------------------------------------------------------------------- */

static inline int64_t spad__left_wall(const spad__valley *v, const spad__valley_part *p,
                                      int32_t l) {
    spad__assert(p->lo <= l && l < p->hi);
    return l > p->lo ? v->runs[v->runs[l - 1].begin].floor : SPAD__NO_WALL;
}

static inline int64_t spad__right_wall(const spad__valley *v, const spad__valley_part *p,
                                       int32_t r) {
    spad__assert(p->lo < r && r <= p->hi);
    return r < p->hi ? v->runs[r].floor : SPAD__NO_WALL;
}

/* ---- moves; undone in reverse by spad__valley_undo ----------------------------------- */

/* Lifts the sections [a, b) of the run at l to a new floor and joins them with a neighbour of that
 * floor. Returns the begin of the new run. */
int32_t spad__valley_carve(spad__valley *v, const spad__valley_part *p, int32_t l, int32_t a,
                           int32_t b, int64_t floor);

/* Marks a box as placed; true if some border is no longer crossed. */
bool spad__valley_take(spad__valley *v, int32_t i, int64_t offset);

/* Gives up `by` bytes over [begin, end); false: not enough slack, nothing done. */
bool spad__valley_give_up(spad__valley *v, int32_t begin, int32_t end, int64_t by);

/* Counts the options of the run at l and its neighbours again, and fills hollow valleys. False: a
 * dead end. */
bool spad__valley_recount(spad__valley *v, const spad__valley_part *p, int32_t l);

/* Cuts the sections of a part; the first of the new parts comes next. False: a dead end. */
bool spad__valley_split(spad__valley *v, const spad__valley_part *p, int32_t creator);

/* Takes back everything since a frame. */
void spad__valley_undo(spad__valley *v, const spad__valley_frame *f);

/* For assertions: the part at hand holds the invariants. O(boxes x sections). */
bool spad__valley_part_is_valid(const spad__valley *v, const spad__valley_part *p);

#endif
