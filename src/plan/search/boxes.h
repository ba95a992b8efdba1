/* SPDX-License-Identifier: Apache-2.0
 *
 * boxes: the plain problem that the fast searches work on. A box is a run of
 * sections [begin, end) times a height; a search gives it an offset. Heights
 * are counted in units, the common divisor of all sizes.
 */
#ifndef SPAD_PLAN_SEARCH_BOXES_H
#define SPAD_PLAN_SEARCH_BOXES_H

#include "plan/problem/model.h"

/*
 * Invariants
 *   boxes are sorted by (begin, end, size descending, item)
 *   0 <= begin[i] < end[i] <= sections,  size[i] > 0
 *   first[s] = number of boxes with begin < s, for s in [0, sections]
 *   load[s] = sum of size[i] over begin[i] <= s < end[i], and > 0
 *   twin[i]: box i - 1 has the same begin, end and size
 */
typedef struct spad__boxes {
    spad__arena arena;
    int32_t count;
    int32_t sections;
    int64_t unit;     /* bytes in one unit of height */
    int64_t max_load; /* largest load, in units */
    int32_t peak;     /* first section that has it */
    bool exact;       /* plans of the boxes are the plans of the items */
    int32_t *begin;
    int32_t *end;
    int64_t *size; /* in units */
    int64_t *trim; /* bytes that rounding added to the box */
    int32_t *item;
    int32_t *first;
    int64_t *load;
    bool *twin;
} spad__boxes;

/* Makes boxes of the items of a boxable model: their hull in time, their size rounded
 * up to an alignment that suits all. *suits: false when no such alignment exists.
 * SPAD_ERR_HOST_MEMORY, SPAD_ERR_OVERFLOW. Free in every case. */
spad_status spad__boxes_build(spad__boxes *boxes, const spad__model *model, bool *suits,
                              spad_error *error);
void spad__boxes_free(spad__boxes *boxes);

/* How many boxes are over some of the sections [begin, end). */
int32_t spad__boxes_over(const spad__boxes *boxes, int32_t begin, int32_t end);

/* Whether every section has at least this load: a plan of that height wastes no byte. */
bool spad__boxes_are_tight(const spad__boxes *boxes, int64_t height);

/* The arrays that all boxes have, from their arena; false: no memory. `first` and `load` have room
 * for one section more. */
bool spad__boxes_take(spad__boxes *boxes, size_t count, size_t sections);

/* For assertions: the invariants above. O(boxes + sections). */
bool spad__boxes_is_valid(const spad__boxes *boxes);

#endif
