/* SPDX-License-Identifier: Apache-2.0
 *
 * spad: decides, checks and shows where the buffers of accelerator kernels
 * live on chip. This header includes all others, in the order of the model.
 */
#ifndef SPAD_SPAD_H
#define SPAD_SPAD_H

/* clang-format off */
#include "spad/analysis.h"
#include "spad/api.h"
#include "spad/status.h"
#include "spad/host.h"
#include "spad/dtype.h"
#include "spad/source.h"
#include "spad/target.h"
#include "spad/trace.h"
#include "spad/finding.h"
#include "spad/stack.h"
#include "spad/direct.h"
#include "spad/modular.h"
#include "spad/registry.h"
#include "spad/launch.h"
#include "spad/value.h"
#include "spad/tmem.h"
#include "spad/block.h"
#include "spad/kernel.h"
#include "spad/walk.h"
#include "spad/check.h"
#include "spad/layout.h"
#include "spad/fit.h"
#include "spad/sim.h"
#include "spad/tune.h"
#include "spad/report.h"
#include "spad/emit.h"
#include "spad/memory.h"
#include "spad/pool.h"
#include "spad/log.h"
#include "spad/backend.h"
#include "spad/device.h"
#include "spad/buffer.h"
#include "spad/stream.h"
#include "spad/torch.h"
/* clang-format on */

#include "spad/plan.h"

#endif
