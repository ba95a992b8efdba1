/* SPDX-License-Identifier: Apache-2.0
 *
 * First fit for items of any shape; see fit.c.
 */
#ifndef SPAD_PLAN_SEARCH_FIRST_FIT_H
#define SPAD_PLAN_SEARCH_FIRST_FIT_H

#include "plan/problem/model.h"
#include "plan/problem/stop.h"

/* Looks for low plans until one is at most `enough` high, the rounds are over or it
 * is stopped. place: per item, the best plan; *height: its height, SPAD_UNBOUNDED
 * when none exists. SPAD_ERR_HOST_MEMORY. */
spad_status spad__fit_run(const spad__model *model, uint64_t seed, int64_t enough, spad__stop *stop,
                          spad_plan_place *place, int64_t *height);

#endif
