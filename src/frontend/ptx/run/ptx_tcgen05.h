/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files for tensor memory.
 */
#ifndef SPAD_FRONTEND_PTX_TCGEN05_H
#define SPAD_FRONTEND_PTX_TCGEN05_H

#include "frontend/ptx/run/ptx_copy.h"
#include "frontend/ptx/run/ptx_descriptor.h"

spad__ptx_runs spad__ptx_run_tensor_mma;     /* ptx_tensor_mma.c */
spad__ptx_runs spad__ptx_run_tensor_move;    /* the same: tcgen05.cp, tcgen05.shift */
spad__ptx_runs spad__ptx_run_launch_control; /* ptx_launch_control.c */

/* Adds to the access columns from `column` on, in lanes from `lane` on, both counted from an
 * address of tensor memory (lane << 16 | column). Anything beyond lane 127 or column 511 is left
 * out. */
void spad__ptx_add_columns(spad__ptx_machine *m, uint32_t address, int64_t lane, int64_t lanes,
                           int64_t column, int64_t columns);
/* The address that an operand has in all lanes; false, with a remark: not known. */
bool spad__ptx_tensor_address(spad__ptx_machine *m, spad__ptx_warp *w,
                              const spad__ptx_operand *operand, uint32_t lanes, uint32_t *out);
/* The CTAs that an instruction works on, one bit each: with .cta_group::2 both of the pair. */
uint32_t spad__ptx_tensor_ctas(const spad__ptx_machine *m, const spad__ptx_warp *w,
                               const spad__ptx_instruction *i);

#endif
