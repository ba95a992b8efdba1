/* SPDX-License-Identifier: Apache-2.0
 *
 * tensor_order: which tensors of a kernel are used for the last time before others are used for the
 * first time, in every execution of its shape. Program order, barriers, waits and the completion
 * of asynchronous operations decide (docs/check.md). Two tensors of which one is before the
 * other may share bytes, also in a kernel with agents (spad_layout_options.order).
 *
 * An order never changes after it was made; const functions may run concurrently.
 */
#ifndef SPAD_TENSOR_ORDER_H
#define SPAD_TENSOR_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spad/host.h"
#include "spad/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spad_tensor_order spad_tensor_order;

/** Zeroed is the default. */
typedef struct spad_tensor_order_options {
    int64_t event_limit; /**< a longer run has no order; 0: SPAD_TENSOR_ORDER_EVENTS */
    int64_t timeout_ns;  /**< then there is no order; 0: none */
    spad_watch watch;    /**< a cancelled call has no result */
    const spad_host *host;
} spad_tensor_order_options;

#define SPAD_TENSOR_ORDER_EVENTS INT64_C(32768)

/**
 * Finds the order of the tensors of a kernel. It is a proposal for this shape: of every statement
 * only the first and the last execution are compared. A check of a layout that was made with it
 * is the proof (spad_analysis does both). A kernel that gets stuck or is too long has no ordered
 * tensors. SPAD_ERR_HOST_MEMORY, SPAD_ERR_ARGUMENT: bad options, SPAD_ERR_CANCELLED.
 */
SPAD_API spad_status spad_tensor_order_create(spad_tensor_order **out, const spad_kernel *kernel,
                                              const spad_tensor_order_options *options,
                                              spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_tensor_order_destroy(spad_tensor_order *order);

/** Is tensor `a` used for the last time before `b` is used for the first time? Aliases count as
 *  the tensor whose bytes they use. False beyond the number of tensors. */
SPAD_API bool spad_tensor_order_is_before(const spad_tensor_order *order, int64_t a, int64_t b);

/** Number of pairs for which it is so. */
SPAD_API size_t spad_tensor_order_pair_count(const spad_tensor_order *order);

#ifdef __cplusplus
}
#endif
#endif
