/* SPDX-License-Identifier: Apache-2.0
 *
 * Parameters and unknown values of the kernel that is emitted, and its names.
 *
 * Trip counts that depend on sizes become parameters (gpu_emission.h says why), and conditions that
 * data decides become unknown values. All are declared before the first statement, since every
 * other expression may use them.
 */
#ifndef SPAD_FRONTEND_GPU_KERNEL_PARAMS_H
#define SPAD_FRONTEND_GPU_KERNEL_PARAMS_H

#include "frontend/gpu/gpu_program.h"

/* Makes a name of SPAD__GPU_NAME bytes one that nothing else in the kernel has. False: no memory.
 */
bool spad__gpu_unique(spad__gpu *g, char *name, const char *suffix);
/* The parameter for the trips of a loop, and what is added to it; NULL where the trips are the same
 * for all sizes. */
spad_status spad__gpu_trips_param(spad__gpu *g, spad__scalar trips, const spad__gpu_param **out,
                                  int64_t *added, spad_error *error);
/* Declares the unknown values, and the parameters of all loops. */
spad_status spad__gpu_emit_params(spad__gpu *g, spad_error *error);
/* After all statements: fixes parameters of a size that is also used as a number, or by another
 * parameter. */
spad_status spad__gpu_fix_params(spad__gpu *g, spad_error *error);

#endif
