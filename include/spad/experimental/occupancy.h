/* SPDX-License-Identifier: Apache-2.0
 *
 * occupancy: how many blocks of a kernel a unit of the chip (an SM) has at a time, and what the
 * tensors of an agent take of the registers of its threads.
 *
 * Blocks share the memory of a unit, its registers and its threads; what runs out first decides
 * (CUDA programming guide, occupancy). Functions only read; nothing is owned.
 */
#ifndef SPAD_OCCUPANCY_H
#define SPAD_OCCUPANCY_H

#ifndef SPAD_EXPERIMENTAL
#error "spad/experimental/occupancy.h may change in any version: define SPAD_EXPERIMENTAL"
#endif

#include <stddef.h>
#include <stdint.h>

#include "spad/experimental/kernel_rows.h"
#include "spad/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Writes a line about blocks and one about every agent with tensors in registers. Nothing where
 * the target does not say that blocks share a unit. */
SPAD_API spad_status spad_occupancy_write_text(const spad_kernel *kernel, const spad_layout *layout,
                                               const spad_sink *sink, spad_error *error);

/** Writes the same as a JSON object; null where the target does not say that blocks share a unit.
 */
SPAD_API spad_status spad_occupancy_write_json(const spad_kernel *kernel, const spad_layout *layout,
                                               const spad_sink *sink, spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
