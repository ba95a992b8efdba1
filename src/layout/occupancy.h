/* SPDX-License-Identifier: Apache-2.0
 *
 * Occupancy as a value of a larger JSON text.
 */
#ifndef SPAD_LAYOUT_OCCUPANCY_H
#define SPAD_LAYOUT_OCCUPANCY_H

#include "base/text.h"
#include "spad/experimental/occupancy.h"

/* An object, or null where the target does not say that blocks share a unit. */
void spad__json_occupancy(spad__json *json, const spad_kernel *kernel, const spad_layout *layout);

#endif
