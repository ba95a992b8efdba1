/* SPDX-License-Identifier: Apache-2.0
 *
 * Guided ejection search over an order of boxes; see order_eject.c.
 */
#ifndef SPAD_PLAN_SEARCH_ORDER_EJECT_H
#define SPAD_PLAN_SEARCH_ORDER_EJECT_H

#include "base/memory.h"
#include "base/random.h"
#include "plan/problem/stop.h"

typedef struct spad__order_ejector spad__order_ejector;

/* Heights of an order ejector are 32-bit: one unit is a number of the caller's units, and sizes
 * are rounded up. */
enum { SPAD__ORDER_HEIGHT_MAX = 1 << 30, SPAD__ORDER_BURDEN = 16 };

/* A box over sections [begin, end) of a window. */
typedef struct spad__order_box {
    int32_t box; /* number of the caller */
    int32_t begin;
    int32_t end;
    int64_t size;
    int64_t offset; /* a multiple of the unit; -1: it is out */
    bool fixed;     /* it stays at its offset, and in place */
    int32_t
        burden; /* as another order ejector left it (spad__order_ejector_burdens); 0: none did */
} spad__order_box;

/* Allocates an ejector for windows of at most `boxes` boxes and `sections` sections. random and
 * stop are borrowed. NULL: no memory. */
spad__order_ejector *spad__order_ejector_create(const spad_host *host, int32_t boxes,
                                                int32_t sections, spad__random *random,
                                                spad__stop *stop);
void spad__order_ejector_destroy(spad__order_ejector *ejector);

/* A window without boxes. target: no box may end above it, at most SPAD__ORDER_HEIGHT_MAX units. */
void spad__order_ejector_clear(spad__order_ejector *ejector, int32_t sections, int64_t unit,
                               int64_t target);

/* Adds a box. Those that are in place must be a plan of themselves below the target; boxes are
 * added first, then the order ejector is started. */
void spad__order_ejector_add(spad__order_ejector *ejector, const spad__order_box *box);
void spad__order_ejector_start(spad__order_ejector *ejector);

/* Sets another target and takes out the boxes above a lower one, none of which may be fixed. */
void spad__order_ejector_aim(spad__order_ejector *ejector, int64_t target);

/* Puts boxes in until none is out (true), `looks` boxes were examined, or the fixed boxes leave no
 * place for a box. May be called again to continue. */
bool spad__order_ejector_run(spad__order_ejector *ejector, int64_t looks);

/* For tests: does without wide instructions, to the same result. */
void spad__order_ejector_narrow(spad__order_ejector *ejector);

int64_t
spad__order_ejector_looks(const spad__order_ejector *ejector); /* over all windows and runs */

/* Writes how hard boxes were to place, by the number of the caller: their weight by now, in parts
 * of the first one (1 / SPAD__ORDER_BURDEN). Another ejector, of a window with other sections,
 * begins with it. */
void spad__order_ejector_burdens(const spad__order_ejector *ejector, int32_t *burden);

/* Writes the offsets, by the number of the caller, when no box is out. */
void spad__order_ejector_read(const spad__order_ejector *ejector, int64_t *offset);

#endif
