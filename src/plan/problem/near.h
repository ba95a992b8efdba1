/* SPDX-License-Identifier: Apache-2.0
 *
 * Items by time: which of those put in so far may be in use together with a
 * given one, without looking at all of them.
 *
 * Items of a width (of their hull, in sections) in [2^c, 2^(c+1)) are in class c, in
 * lists by begin / 2^c. An item that overlaps [begin, end) begins less than 2^(c+1)
 * before it, so few lists of every class are examined. Putting in: O(1); a walk: O(items found
 * + log sections + width of what is asked for).
 */
#ifndef SPAD_PLAN_PROBLEM_NEAR_H
#define SPAD_PLAN_PROBLEM_NEAR_H

#include "plan/problem/model.h"

enum { SPAD__NEAR_CLASSES = 31 };

typedef struct spad__near {
    const spad__model *model;
    int32_t classes;                       /* in use */
    int32_t first[SPAD__NEAR_CLASSES + 1]; /* list k of class c is head[first[c] + k] */
    int32_t *head;                         /* an item, or -1 */
    int32_t *next;                         /* per item: the next one of its list, or -1 */
} spad__near;

/* Empty. The memory is the arena's; false: none exists. */
bool spad__near_start(spad__near *near, const spad__model *model, spad__arena *arena);
void spad__near_clear(spad__near *near);

/* Puts in an item with pieces. */
void spad__near_put(spad__near *near, int32_t item);

/* A walk over the items whose hull overlaps the hull of another one, itself included. */
typedef struct spad__near_walk {
    const spad__near *near;
    int32_t begin;
    int32_t end;
    int32_t class_number;
    int32_t list;
    int32_t item;
} spad__near_walk;

spad__near_walk spad__near_of(const spad__near *near, int32_t item);

/* The next item, or -1. */
int32_t spad__near_next(spad__near_walk *walk);

/* Whether two items share a byte at these places. */
bool spad__items_collide(const spad__model *model, int32_t i, int32_t j,
                         const spad_plan_place *place);

/* Whether a and b of a conflict do. */
bool spad__conflict_holds(const spad__conflict *conflict, const spad_plan_place *a,
                          const spad_plan_place *b);

#endif
