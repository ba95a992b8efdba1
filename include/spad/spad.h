/* SPDX-License-Identifier: Apache-2.0
 *
 * spad: decides, checks and shows where the buffers of accelerator kernels
 * live on chip. This header includes all others of libspad, in the order of the model; real memory
 * is a library of its own, with spad/device.h.
 */
#ifndef SPAD_SPAD_H
#define SPAD_SPAD_H

/* clang-format off */
#include "spad/api.h"
#include "spad/status.h"
#include "spad/host.h"
#include "spad/dtype.h"
#include "spad/source.h"
#include "spad/target.h"
#include "spad/tensor_order.h"
#include "spad/trace.h"
#include "spad/log.h"
#include "spad/plan.h"
#include "spad/graph.h"
#include "spad/tiers.h"
#include "spad/spaces.h"
#include "spad/wishes.h"
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
#include "spad/ttgir.h"
#include "spad/check.h"
#include "spad/layout.h"
#include "spad/occupancy.h"
#include "spad/fit.h"
#include "spad/sim.h"
#include "spad/frontier.h"
#include "spad/tune.h"
#include "spad/analysis.h"
#include "spad/advice.h"
#include "spad/report.h"
#include "spad/emit.h"
/* clang-format on */

#endif
