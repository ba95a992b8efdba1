/* SPDX-License-Identifier: Apache-2.0
 *
 * Hints: offsets that buffers would like; see hint.c.
 */
#ifndef SPAD_PLAN_HINT_H
#define SPAD_PLAN_HINT_H

#include "plan/model.h"

/* Moves items of a plan to the offsets their buffers hint at, where that breaks no rule
 * and keeps the height. place: per item. */
void spad__hint_apply(const spad__model *model, spad_plan_place *place, int64_t height);

#endif
