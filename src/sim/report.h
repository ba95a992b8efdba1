/* SPDX-License-Identifier: Apache-2.0
 *
 * Times as text, for the reports of simulator and tuner.
 */
#ifndef SPAD_SIM_REPORT_H
#define SPAD_SIM_REPORT_H

#include "base/text.h"

enum { SPAD__TIME_TEXT = 64 };

/* "12.345 us": the unit in which it has one to three digits in front of the point; what is
 * behind the third decimal is cut. */
const char *spad__time_text(int64_t time, char field[SPAD__TIME_TEXT]);

/* "41.2 %" of a whole that is above 0. */
const char *spad__share_text(int64_t part, int64_t whole, char field[SPAD__TIME_TEXT]);

#endif
