/* SPDX-License-Identifier: Apache-2.0
 *
 * What the reports of simulator, tuner and analysis share.
 */
#ifndef SPAD_SIM_SIM_REPORT_H
#define SPAD_SIM_SIM_REPORT_H

#include "base/text.h"
#include "spad/experimental/sim.h"

/* "41.2 %" of a whole that is above 0. */
const char *spad__share_text(int64_t part, int64_t whole, char field[SPAD_TIME_TEXT]);

/* The part of spad_sim_badge_text that is about costs; NULL: none. Returns the field. */
const char *spad__costs_badge(const spad_sim_totals *totals, char field[SPAD_BADGE_TEXT]);

/* The key "costs": how many come from where. */
void spad__json_costs(spad__json *json, const spad_sim_totals *totals);

/* The keys "unknown", "assumed", "unit" and "uncounted": whether the times of a result are times,
 * and what they leave out. */
void spad__json_unit(spad__json *json, const spad_sim_totals *totals);

#endif
