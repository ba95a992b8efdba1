/* SPDX-License-Identifier: Apache-2.0
 *
 * Shares as text, for the reports of simulator and tuner.
 */
#ifndef SPAD_SIM_REPORT_H
#define SPAD_SIM_REPORT_H

#include "base/text.h"
#include "spad/sim.h"

/* "41.2 %" of a whole that is above 0. */
const char *spad__share_text(int64_t part, int64_t whole, char field[SPAD_TIME_TEXT]);

#endif
