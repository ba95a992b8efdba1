/* SPDX-License-Identifier: Apache-2.0
 *
 * tensor_order: which tensors of a kernel may share bytes, because of every two of their values one
 * is used for the last time before the other is written, in every execution of its shape. Program
 * order, barriers, waits and the completion of asynchronous operations decide (docs/check-how.md);
 * so tensors share bytes also in a kernel with agents (spad_layout_options.order).
 *
 * An order never changes after it was made; const functions may run concurrently.
 */
#ifndef SPAD_TENSOR_ORDER_H
#define SPAD_TENSOR_ORDER_H

#ifndef SPAD_EXPERIMENTAL
#error "spad/experimental/tensor_order.h may change in any version: define SPAD_EXPERIMENTAL"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spad/experimental/kernel_rows.h"
#include "spad/host.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spad_tensor_order spad_tensor_order;

/** Zeroed is the default. */
typedef struct spad_tensor_order_options {
    int64_t event_limit; /**< a longer run has no order; 0: SPAD_TENSOR_ORDER_EVENTS */
    int64_t timeout_ns;  /**< after this time the order is not available; 0: no limit */
    spad_watch watch;    /**< a cancelled call has no result */
    const spad_host *host;
} spad_tensor_order_options;

#define SPAD_TENSOR_ORDER_EVENTS INT64_C(32768)

/**
 * Finds out which tensors may share bytes. A value of a tile lasts from a write of the whole tile,
 * or of the first of its pieces, to the last use before the next one. The order is a proposal for
 * this shape: of tensors with many values, and of statements that are executed often, only the
 * first and the last few are compared. A check of a layout that was made with it is the proof
 * (spad_layout_create_checked does both). In a kernel that gets stuck or is too long no tensors may
 * share bytes. SPAD_ERR_HOST_MEMORY, SPAD_ERR_ARGUMENT: bad options, SPAD_ERR_CANCELLED.
 */
SPAD_API spad_status spad_tensor_order_create(spad_tensor_order **out, const spad_kernel *kernel,
                                              const spad_tensor_order_options *options,
                                              spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_tensor_order_destroy(spad_tensor_order *order);

/** May the two share bytes? Aliases count as the tensor whose bytes they use. False beyond the
 *  number of tensors, and for a tensor and itself. */
SPAD_API bool spad_tensor_order_may_share(const spad_tensor_order *order, int64_t a, int64_t b);

#ifdef __cplusplus
}
#endif
#endif
