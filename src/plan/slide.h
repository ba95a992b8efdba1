/* SPDX-License-Identifier: Apache-2.0
 *
 * Putting boxes in between others that slide apart; see slide.c.
 */
#ifndef SPAD_PLAN_SLIDE_H
#define SPAD_PLAN_SLIDE_H

#include "base/memory.h"
#include "base/random.h"
#include "plan/stop.h"

typedef struct spad__slider spad__slider;

/* Heights of a slider are 32-bit: one unit is so many of the caller's, and sizes are rounded up. */
enum { SPAD__SLIDE_MOST = 1 << 30, SPAD__SLIDE_BURDEN = 16 };

/* A box over sections [begin, end) of a window. */
typedef struct spad__slide_box {
    int32_t box; /* number of the caller */
    int32_t begin;
    int32_t end;
    int64_t size;
    int64_t offset; /* a multiple of the unit; -1: it is out */
    bool fixed;     /* it stays at its offset, and in place */
    int32_t burden; /* as another slider left it (spad__slider_burdens); 0: none did */
} spad__slide_box;

/* Room for a window of so many boxes and sections. random and stop are borrowed. NULL: no
 * memory. */
spad__slider *spad__slider_create(const spad_host *host, int32_t boxes, int32_t sections,
                                  spad__random *random, spad__stop *stop);
void spad__slider_destroy(spad__slider *slider);

/* A window without boxes. target: no box may end above it, at most SPAD__SLIDE_MOST units. */
void spad__slider_clear(spad__slider *slider, int32_t sections, int64_t unit, int64_t target);

/* Adds a box. Those that are in place must be a plan of themselves below the target; boxes are
 * added first, then the slider is started. */
void spad__slider_add(spad__slider *slider, const spad__slide_box *box);
void spad__slider_start(spad__slider *slider);

/* Another target: what is above a lower one is taken out. A fixed box must not be. */
void spad__slider_aim(spad__slider *slider, int64_t target);

/* Puts boxes in until none is out (true), `looks` boxes were examined, or a box has no place at all
 * beside the fixed ones. May be called again to continue. */
bool spad__slider_run(spad__slider *slider, int64_t looks);

/* For tests: does without wide instructions, to the same result. */
void spad__slider_narrow(spad__slider *slider);

int64_t spad__slider_looks(const spad__slider *slider); /* over all windows and runs */

/* Writes how hard boxes were to place, by the number of the caller: their weight by now, in parts
 * of the first one (1 / SPAD__SLIDE_BURDEN). Another slider, of a window with other sections,
 * begins with it. */
void spad__slider_burdens(const spad__slider *slider, int32_t *burden);

/* Writes the offsets, by the number of the caller, when no box is out. */
void spad__slider_read(const spad__slider *slider, int64_t *offset);

#endif
