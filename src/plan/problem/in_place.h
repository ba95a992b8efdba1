/* SPDX-License-Identifier: Apache-2.0
 *
 * Outputs that may be in the places of their inputs; see in_place.c.
 */
#ifndef SPAD_PLAN_PROBLEM_IN_PLACE_H
#define SPAD_PLAN_PROBLEM_IN_PLACE_H

#include "plan/problem/model.h"
#include "plan/problem/sort.h"

/* Lists those pairs of the plan that have an effect. False: no memory. */
bool spad__in_place_list(spad__model *model);

/* May one of the two be in place of the other? O(log pairs). */
bool spad__in_place_find(const spad__model *model, int32_t a, int32_t b);

/* Is a buffer of the item an output or an input of such a pair? */
bool spad__in_place_takes_part(const spad__model *model, const spad__item *item);

/* What in each section may be counted twice in the load, at most: the bytes of pieces that another
 * one may be in place of, times their lanes unless `flat`, rounded up. saved and scratch:
 * zeroed, one more than sections; rows: room for two of each pair. False: more than 64 bits hold.
 */
bool spad__in_place_save(const spad__model *model, int64_t rounding, bool flat, spad__row *rows,
                         int64_t *saved, int64_t *scratch);

/* As many outputs in the places of inputs as possible, the largest first, so that all can be there
 * together. merges: room for every pair of the model. False: no memory. */
bool spad__in_place_choose(const spad__model *model, spad__pair *merges, size_t *count);

#endif
