/* SPDX-License-Identifier: Apache-2.0
 *
 * When each slot of a kernel is in use, as a simulation has it; see uses.c.
 */
#ifndef SPAD_SIM_USES_H
#define SPAD_SIM_USES_H

#include "base/memory.h"
#include "sim/sim.h"
#include "spad/layout.h"

/* A slot that an operation touches at least. */
typedef struct spad__use {
    int64_t tensor;
    int64_t slot;
    int64_t begin; /* of the first that touches it, with its start-up */
    int64_t late;  /* when that one could begin so as to end where the next one begins; at least
                      `begin` */
    int64_t end;   /* of the last */
} spad__use;

typedef SPAD_ARRAY(spad__use) spad__uses;

/* The slots that the planner places in `kernel`. The simulation is of the same statements, with
 * other addresses maybe, and has a row for every operation that ran. SPAD_ERR_HOST_MEMORY, statuses
 * of spad_walk_next. */
spad_status spad__uses_find(spad__uses *uses, const spad_kernel *kernel, const spad_sim *sim,
                            const spad_host *host, spad_error *error);

#endif
