/* SPDX-License-Identifier: Apache-2.0
 *
 * What the reports of simulator, tuner and analysis share.
 */
#ifndef SPAD_SIM_REPORT_H
#define SPAD_SIM_REPORT_H

#include "base/text.h"
#include "spad/sim.h"

/* "41.2 %" of a whole that is above 0. */
const char *spad__share_text(int64_t part, int64_t whole, char field[SPAD_TIME_TEXT]);

/* The key "costs": how many come from where. */
void spad__json_costs(spad__json *json, const spad_sim_totals *totals);

/* The keys "unknown", "assumed" and "unit": whether the times of a result are times. */
void spad__json_unit(spad__json *json, const spad_sim_totals *totals);

#endif
