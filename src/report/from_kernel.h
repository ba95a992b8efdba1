/* SPDX-License-Identifier: Apache-2.0
 *
 * Times of a simulation for the operations of a walk.
 */
#ifndef SPAD_REPORT_FROM_KERNEL_H
#define SPAD_REPORT_FROM_KERNEL_H

#include "base/index.h"
#include "report/report.h"
#include "spad/experimental/sim.h"
#include "spad/experimental/walk.h"

/* Loops around a statement whose variables are compared: more than any real kernel nests. */
enum { SPAD__SIM_LOOPS = 64 };

typedef struct spad__sim_times {
    spad_host host;
    const spad_sim *sim;
    const spad_kernel *kernel;
    spad__index index; /* of the rows, by statement and loop variables */
    int64_t scale;     /* picoseconds in the unit of the report */
    size_t *bars;      /* per row: number of its bar, or SPAD__NO_ITEM */
} spad__sim_times;

spad_status spad__sim_times_start(spad__sim_times *times, const spad_sim *sim,
                                  const spad_kernel *kernel, const spad_host *host,
                                  spad_error *error);
void spad__sim_times_end(spad__sim_times *times);

/* When an operation runs, in the unit of the report, and its bar, or SPAD__NO_ITEM. */
typedef struct spad__sim_time {
    int64_t begin;
    int64_t end;
    size_t bar;
} spad__sim_time;

/* False: the simulation has skipped the operation of the event. */
bool spad__sim_times_find(const spad__sim_times *times, const spad_walk *walk,
                          const spad_walk_event *event, spad__sim_time *out);

/* The unit of the report becomes the simulation's, with a badge where it is not time. */
spad_status spad__take_sim_unit(spad_report *report, const spad_sim *sim, spad_error *error);

/* Every row of the simulation as a bar, with what it waited for. */
spad_status spad__add_sim_bars(spad_report *report, const spad__sim_times *times,
                               spad_error *error);

/* Other places of the planner's buffers in one space; some are in another memory. */
typedef struct spad__placing {
    size_t space;
    const spad_plan_place *places; /* per buffer that the planner places */
    const size_t *spilled;
    size_t spilled_count;
} spad__placing;

/* The buffers of a layout over the statements of its kernel, with other places if there are any. */
spad_status spad__report_add_placing(spad_report *report, const spad_layout *layout,
                                     const spad__placing *with, spad_error *error);

#endif
