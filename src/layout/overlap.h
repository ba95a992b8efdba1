/* SPDX-License-Identifier: Apache-2.0
 *
 * Which tensors may have bytes in common.
 */
#ifndef SPAD_LAYOUT_OVERLAP_H
#define SPAD_LAYOUT_OVERLAP_H

#include "spad/experimental/kernel_rows.h"
#include "spad/layout.h"

/* May two tensors that own their storage have bytes in common, by their places or by a layout
 * (NULL: none)? The bytes around all slots of a tensor count as its bytes. O(slots) */
bool spad__tensors_may_share(const spad_kernel *kernel, const spad_layout *layout, int64_t a,
                             int64_t b);

#endif
