/* SPDX-License-Identifier: Apache-2.0
 *
 * Agents that share nothing.
 *
 * Two agents are in one set if they may touch the same bytes, one of them writing, or use the same
 * synchronisation object, whatever the trip counts are; sets are closed under that. Between the
 * start and the end of the agents nothing passes from one set to another: an event of one set is
 * ordered with an event of another set in no execution, its waits end by events of its own set, and
 * its reads find what its own set or the main program has written. So a kernel is right if and only
 * if it is right with the agents of each set alone, and a proof for all trip counts may be found
 * set by set.
 */
#ifndef SPAD_INDUCTION_AGENT_SETS_H
#define SPAD_INDUCTION_AGENT_SETS_H

#include "base/memory.h"
#include "spad/experimental/kernel_rows.h"
#include "spad/layout.h"

typedef struct spad__agent_sets {
    spad_host host;
    size_t agents;
    int32_t *of; /* per agent: the number of its set, from 0; of the main program: -1 */
    int32_t count;
} spad__agent_sets;

/* tracked: per tensor, does its content matter (induction.h)? Of the others, which are off chip and
 * only read or only written, writes that meet are found by the races of the shapes that are run
 * (induction_writes.c). A kernel that is too large to look at is one set. layout: of the kernel, or
 * NULL. Freed with spad__agent_sets_free, also after a failure. SPAD_ERR_HOST_MEMORY. O(uses x log
 * uses + tensors^2 x slots) */
spad_status spad__agent_sets_find(spad__agent_sets *sets, const spad_kernel *kernel,
                                  const spad_layout *layout, const bool *tracked,
                                  const spad_host *host, spad_error *error);
void spad__agent_sets_free(spad__agent_sets *sets);

#endif
