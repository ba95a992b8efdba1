/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers and conditions of a program as expressions of the kernel that is emitted.
 *
 * A number has an expression if it is made of iterations, parameters and constants. Anything else
 * makes the pass unresolved and returns SPAD_ERR_ARGUMENT. A size that is used here by itself is
 * noted in emission.used_arguments.
 */
#ifndef SPAD_FRONTEND_GPU_KERNEL_EXPR_H
#define SPAD_FRONTEND_GPU_KERNEL_EXPR_H

#include "frontend/gpu/gpu_program.h"
#include "kernel/kernel_builder.h"
#include "spad/experimental/kernel_rows.h"

#define SPAD__GPU_TRY(call)                           \
    do {                                              \
        const spad_status try_status = (call);        \
        if (try_status != SPAD_OK) return try_status; \
    } while (0)

spad_status spad__gpu_expr(spad__gpu *g, spad__scalar n, spad_expr *out, spad_error *error);
spad_status spad__gpu_number_expr(spad__gpu *g, int64_t value, spad_expr *out, spad_error *error);
/* a + b, without adding 0 or a negative number. */
spad_status spad__gpu_add_number(spad__gpu *g, spad_expr a, int64_t b, spad_expr *out,
                                 spad_error *error);
/* Begins an `if` of the kernel. */
spad_status spad__gpu_emit_if(spad__gpu *g, spad__scalar condition, spad_error *error);

#endif
