/* SPDX-License-Identifier: Apache-2.0
 *
 * Hints: offsets that buffers would like; see hint.c.
 */
#ifndef SPAD_PLAN_SEARCH_HINT_H
#define SPAD_PLAN_SEARCH_HINT_H

#include "plan/problem/model.h"
#include "plan/problem/stop.h"

/* Moves items of a plan to the offsets their buffers hint at, where that breaks no rule
 * and keeps the height. place: per item. False: no memory. */
bool spad__hint_apply(spad__model *model, spad_plan_place *place, int64_t height, spad__stop *stop);

#endif
