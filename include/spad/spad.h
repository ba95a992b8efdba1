/* SPDX-License-Identifier: Apache-2.0
 *
 * spad: decides, checks and shows where the buffers of accelerator kernels live on chip. This
 * header includes all stable ones of libspad, in the order of the model, and the experimental ones
 * if SPAD_EXPERIMENTAL is defined: those may change in any version (docs/api.md). Real memory is a
 * library of its own, with spad/device.h.
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
#include "spad/trace.h"
#include "spad/plan.h"
#include "spad/graph.h"
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
#include "spad/check.h"
#include "spad/layout.h"
#include "spad/analysis.h"
#include "spad/report.h"
#if defined(SPAD_EXPERIMENTAL)
#include "spad/experimental/advice.h"
#include "spad/experimental/emit.h"
#include "spad/experimental/fit.h"
#include "spad/experimental/frontier.h"
#include "spad/experimental/kernel_builder.h"
#include "spad/experimental/kernel_rows.h"
#include "spad/experimental/log.h"
#include "spad/experimental/occupancy.h"
#include "spad/experimental/ptx.h"
#include "spad/experimental/sim.h"
#include "spad/experimental/soft_constraints.h"
#include "spad/experimental/spaces.h"
#include "spad/experimental/tensor_order.h"
#include "spad/experimental/tiers.h"
#include "spad/experimental/ttgir.h"
#include "spad/experimental/tune.h"
#include "spad/experimental/walk.h"
#endif
/* clang-format on */

#endif
