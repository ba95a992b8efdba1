/* SPDX-License-Identifier: Apache-2.0
 *
 * Which buffers are declared in a loop.
 *
 * A buffer that is declared outside a loop is live in all of it; one that is declared inside shares
 * its bytes with what is used before and after it in the same iteration. So a buffer that is
 * allocated in a block, once, and accessed only there is declared there, and scratch memory is
 * declared where it is used. Kernels with agents have no scopes, and a concrete run may allocate a
 * buffer several times: there, all buffers are declared at the start.
 */
#ifndef SPAD_FRONTEND_GPU_BUFFER_SCOPES_H
#define SPAD_FRONTEND_GPU_BUFFER_SCOPES_H

#include "frontend/gpu/gpu_program.h"

/* Sets `local` of all buffers. O(records). */
spad_status spad__gpu_find_scopes(spad__gpu *g, spad_error *error);

#endif
