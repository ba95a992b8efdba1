/* SPDX-License-Identifier: Apache-2.0
 *
 * Registers that wgmma uses in the background.
 */
#ifndef SPAD_FRONTEND_PTX_PRODUCTS_H
#define SPAD_FRONTEND_PTX_PRODUCTS_H

#include "frontend/ptx/run/ptx_state.h"

/* A wgmma.mma_async is issued: its accumulators are in `d`, and the fragments of A in `a` (NULL: A
 * is in shared memory). False: out of memory, which is the machine's status. */
bool spad__ptx_products_issue(spad__ptx_machine *m, spad__ptx_warp *w,
                              const spad__ptx_instruction *i, const spad__ptx_operand *d,
                              const spad__ptx_operand *a);
bool spad__ptx_products_fence(spad__ptx_machine *m, spad__ptx_warp *w);
void spad__ptx_products_commit(spad__ptx_warp *w);
void spad__ptx_products_wait(spad__ptx_warp *w, int64_t pending);
/* Any other instruction, of a warp that has products. */
void spad__ptx_products_see(spad__ptx_machine *m, spad__ptx_warp *w,
                            const spad__ptx_instruction *i);
void spad__ptx_products_free(const spad__ptx_machine *m, spad__ptx_warp *w);

#endif
