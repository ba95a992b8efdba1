/* SPDX-License-Identifier: Apache-2.0
 *
 * Packing a long problem strip after strip; see strips.c.
 */
#ifndef SPAD_PLAN_SEARCH_STRIPS_H
#define SPAD_PLAN_SEARCH_STRIPS_H

#include "plan/search/greedy_passes.h"

enum { SPAD__STRIP_BOXES = 8192 }; /* of a strip, about */

/* A first plan of pack->boxes from strips. *found: false when none exists, as too many boxes
 * reach from strip to strip. False: no memory. */
bool spad__strips_pass(spad__pack *pack, bool *found);

#endif
