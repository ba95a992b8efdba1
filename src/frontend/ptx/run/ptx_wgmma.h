/* SPDX-License-Identifier: Apache-2.0
 *
 * Accesses that matrix descriptors name, for wgmma and tcgen05.
 */
#ifndef SPAD_FRONTEND_PTX_WGMMA_H
#define SPAD_FRONTEND_PTX_WGMMA_H

#include "frontend/ptx/run/ptx_descriptor.h"
#include "frontend/ptx/run/ptx_state.h"

/* Adds a read of chunks of a CTA's shared memory to the event. */
void spad__ptx_add_chunks(spad__ptx_machine *m, spad__ptx_warp *w, int32_t cta,
                          const spad__ptx_chunks *chunks);

#endif
