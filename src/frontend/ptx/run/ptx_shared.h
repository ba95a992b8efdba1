/* SPDX-License-Identifier: Apache-2.0
 *
 * Where variables of a module lie in their spaces, for one kernel.
 *
 * ptxas places only what a kernel refers to, in an order of its own. Ours is the order of the text,
 * variables of the module first, so that a run is the same everywhere.
 *
 * Reference: PTX ISA 9.0, sections 5.1 (state spaces) and 5.4 (variables).
 */
#ifndef SPAD_FRONTEND_PTX_SHARED_H
#define SPAD_FRONTEND_PTX_SHARED_H

#include "frontend/ptx/run/ptx_machine.h"

/* What one function needs for a call. */
typedef struct spad__ptx_needs {
    int64_t parameters; /* bytes of .param variables: for a kernel, without its parameters */
    int64_t stack;      /* bytes of .local variables */
    int64_t registers;  /* with one more for each b128 register */
    bool used;          /* the kernel, or reached from it */
} spad__ptx_needs;

typedef struct spad__ptx_layout {
    int64_t *module_at; /* offset of each variable of the module in its space; -1: not used */
    int64_t *local_at;  /* the same of each row of `locals` */
    int32_t *high_at;   /* of each row of `registers`: the high half of a b128, as a register of its
                           function; -1: none */
    spad__ptx_needs *needs; /* of each function */
    int64_t static_shared;  /* bytes */
    int64_t dynamic_at;     /* where dynamic shared memory begins */
    int64_t dynamic_align;
    bool asks_reserved; /* the kernel reads %reserved_smem_offset_...: cooperative groups do */
    int64_t const_bytes;
    int64_t global_bytes;
} spad__ptx_layout;

/* kernel NULL: only .const and .global variables. O(size of the module). False: no memory, and out
 * is zeroed. */
bool spad__ptx_lay_out(spad__ptx_layout *out, const spad__ptx_module *module,
                       const spad__ptx_function *kernel, const spad_host *host);
void spad__ptx_layout_free(spad__ptx_layout *layout, const spad__ptx_module *module,
                           const spad_host *host);
/* Static and dynamic shared memory of a block, and where that of the system begins, if the kernel
 * asks for it. Hardware sets that aside for each block: it is no part of what a kernel can have. A
 * gap is between them. */
int64_t spad__ptx_shared_bytes(const spad__ptx_layout *layout, int64_t dynamic_bytes);
int64_t spad__ptx_system_at(const spad__ptx_layout *layout, int64_t dynamic_bytes);

/* The variable of shared memory that has a byte; NULL: dynamic, or none. */
const spad__ptx_variable *spad__ptx_shared_variable(const spad__ptx_layout *layout,
                                                    const spad__ptx_module *module, int64_t byte,
                                                    int64_t *offset);

/* Bytes for the system in each block, from sm_80 on. */
#define SPAD__PTX_SYSTEM_SHARED INT64_C(1024)

/* Addresses in .param space: a kernel's parameters from 0, other .param variables from here. */
#define SPAD__PTX_FRAME_PARAM (INT64_C(1) << 20)

#endif
