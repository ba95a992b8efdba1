/* SPDX-License-Identifier: Apache-2.0
 *
 * Outputs: is every byte of them written?
 *
 * The order of writes does not matter for that, so one walk over all agents shows it.
 */
#ifndef SPAD_CHECK_OUTPUTS_H
#define SPAD_CHECK_OUTPUTS_H

#include "finding/findings.h"
#include "induction/induction.h"

typedef struct spad__outputs spad__outputs;

/* *out is NULL where the kernel has no output to look at. SPAD_ERR_HOST_MEMORY. */
spad_status spad__outputs_create(spad__outputs **out, const spad_kernel *kernel,
                                 const spad_host *host, spad_error *error);
void spad__outputs_destroy(spad__outputs *outputs);

/* An operation of a walk. SPAD_ERR_HOST_MEMORY. */
spad_status spad__outputs_operation(spad__outputs *outputs, const spad_walk *walk,
                                    const spad_walk_event *event, spad_error *error);

/* The walk is over: one finding for each output that lacks something. */
spad_status spad__outputs_report(const spad__outputs *outputs, spad__run *run, spad_error *error);

/* A kernel in a small shape, with what happens when each of its trip counts grows: does every
 * larger shape, or at least the given one, lack something of an output if and only if this one
 * does? windows: of the loops, per trip count. False: that is not known. */
bool spad__outputs_settled(const spad_kernel *kernel, const spad_kernel *given,
                           const spad__induction *const *growths, spad__window *const *windows,
                           size_t count);

#endif
