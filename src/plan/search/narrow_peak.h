/* SPDX-License-Identifier: Apache-2.0
 *
 * The core of a large problem: the boxes near its peak; see narrow_peak.c.
 */
#ifndef SPAD_PLAN_SEARCH_NARROW_PEAK_H
#define SPAD_PLAN_SEARCH_NARROW_PEAK_H

#include "plan/search/boxes.h"

/* Boxes over the window around the peak in which the load is at least `percent` of the
 * largest, cut down to that window, whose sections are renumbered. origin: per box of the core,
 * its number in the whole. They are sorted by begin only and have no twins. */
typedef struct spad__core {
    spad__boxes boxes;
    int32_t *origin;
} spad__core;

/* False: no memory. Free in every case. */
bool spad__core_build(spad__core *core, const spad__boxes *whole, int64_t percent);
void spad__core_free(spad__core *core);

#endif
