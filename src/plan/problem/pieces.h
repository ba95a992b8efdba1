/* SPDX-License-Identifier: Apache-2.0
 *
 * Fewer pieces for the same item; see pieces.c.
 */
#ifndef SPAD_PLAN_PROBLEM_PIECES_H
#define SPAD_PLAN_PROBLEM_PIECES_H

#include "plan/problem/model.h"

/* Joins pieces of items; those of buffers that may be in place of another one stay as they
 * are. The pieces of an item are then in the order of their begins. */
void spad__pieces_join(spad__model *model);

#endif
