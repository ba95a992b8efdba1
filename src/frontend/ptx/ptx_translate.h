/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel of one executed launch: a straight line of statements for each warp.
 *
 *     warp                        an agent of 32 threads
 *     connected bytes             a tensor at its address (ptx_tensors.h)
 *     mbarrier                    an mbarrier at its address, with dims [CTAs] in a cluster
 *     named barrier               a barrier for each number and thread count
 *     phase of the cluster barrier  a counter: arrivals signal it, waits wait for all of them
 *     cp.async, TMA, tcgen05      a unit; groups and mbarriers as in the program
 *     wgmma                       an agent for each warpgroup, because four warps issue one product
 *                                 and each of them may wait for it
 *     end of a CTA                an agent that waits for its warps, and frees what others access
 *
 * The agent of a warpgroup takes a signal from each of its warps, issues the product on the unit
 * `wgmma`, and signals each warp when a committed group is complete. So what any of the warps did
 * before it issued the product happens before it, and it happens before what any warp does after
 * its wait.
 */
#ifndef SPAD_FRONTEND_PTX_TRANSLATE_H
#define SPAD_FRONTEND_PTX_TRANSLATE_H

#include "frontend/ptx/ptx_log.h"
#include "frontend/ptx/run/ptx_machine.h"
#include "spad/kernel.h"

/* An error of the program that the execution has found. */
typedef struct spad__ptx_fault {
    int32_t instruction;
    int64_t times;
    char message[200];
} spad__ptx_fault;

typedef struct spad__ptx_executed {
    const spad__ptx_module *module;
    const spad__ptx_launch *launch;
    const spad__ptx_log *log;
    const spad__source *source; /* the PTX text */
    const char *assumption;     /* what a proof rests on; "": nothing */
    const char *undecided;      /* why there can be no proof; "": there can */
    const spad__ptx_fault *faults;
    size_t fault_count;
} spad__ptx_executed;

spad_status spad__ptx_translate(spad_kernel **out, const spad__ptx_executed *run,
                                const spad_kernel_options *options, spad_error *error);

#endif
