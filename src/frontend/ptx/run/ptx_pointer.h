/* SPDX-License-Identifier: Apache-2.0
 *
 * Which variable a register points into, as far as the text says so: for accesses whose address
 * depends on data.
 */
#ifndef SPAD_FRONTEND_PTX_POINTER_H
#define SPAD_FRONTEND_PTX_POINTER_H

#include "frontend/ptx/run/ptx_state.h"

/* The one variable of shared memory that the address of the instruction that runs is computed from:
 * a number as in operands. -1: none, several, or no memory (see the machine's status). Found once
 * for each instruction; O(instructions of the function x registers that lead to the address). */
int32_t spad__ptx_pointed_variable(spad__ptx_machine *m, const spad__ptx_warp *w, int32_t reg);
void spad__ptx_pointers_free(spad__ptx_machine *m);

#endif
