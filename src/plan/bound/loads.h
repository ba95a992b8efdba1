/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads of the sections of a model, in weights of the caller; see loads.c.
 */
#ifndef SPAD_PLAN_BOUND_LOADS_H
#define SPAD_PLAN_BOUND_LOADS_H

#include "plan/problem/model.h"
#include "plan/problem/sort.h"

/* The weight of a piece, at least 0. False: more than 64 bits hold. */
typedef bool spad__weigh(void *context, const spad__model *model, const spad__piece *piece,
                         int64_t *out);

/* Are two pieces of the item in use at a common moment? Then it is an alias group. */
bool spad__item_is_group(const spad__model *model, const spad__item *item);

/* loads[s] becomes the sum of the weights in section s; an alias group counts the bytes that
 * any of its pieces has, each piece up to a multiple of `rounding` (which divides every `lo`).
 * False: all weights together do not fit 64 bits. loads: zeroed, one more than sections; rows:
 * three times as many as the most pieces of one item, and three. */
bool spad__loads_sum(const spad__model *model, spad__weigh *weigh, void *context, int64_t rounding,
                     spad__row *rows, int64_t *loads);

/* largest[s] becomes the largest weight in section s of the n pieces whose numbers are the values
 * of the first rows; there is room for three times as many rows. `largest` as above. */
bool spad__loads_largest(const spad__model *model, spad__weigh *weigh, void *context,
                         spad__row *rows, size_t n, int64_t *largest);

#endif
