/* SPDX-License-Identifier: Apache-2.0
 *
 * spad::device, the library of real memory: devices, pools, buffers, streams and copies
 * (docs/device.md). This header includes all headers of spad/device; spad/spad.h includes none of
 * them, because the functions are in a library of their own: link spad_device as well as spad.
 */
#ifndef SPAD_DEVICE_H
#define SPAD_DEVICE_H

#include "spad/device/backend.h"
#include "spad/device/buffer.h"
#include "spad/device/device.h"
#include "spad/device/memory.h"
#include "spad/device/pool.h"
#include "spad/device/replay.h"
#include "spad/device/stream.h"
#include "spad/device/torch.h"
#include "spad/device/zstd.h"

#endif
