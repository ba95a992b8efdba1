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
#include "spad/finding.h"
#include "spad/stack.h"
#include "spad/direct.h"
#include "spad/registry.h"
#include "spad/value.h"
#include "spad/block.h"
#include "spad/kernel.h"
#include "spad/check.h"
#include "spad/layout.h"
#include "spad/analysis.h"
#include "spad/report.h"
#if defined(SPAD_EXPERIMENTAL)
#include "spad/experimental/advice.h"
#include "spad/experimental/analysis_notes.h"
#include "spad/experimental/emit.h"
#include "spad/experimental/fit.h"
#include "spad/experimental/frontier.h"
#include "spad/experimental/graph.h"
#include "spad/experimental/kernel_rows.h"
#include "spad/experimental/launch.h"
#include "spad/experimental/log.h"
#include "spad/experimental/modular.h"
#include "spad/experimental/occupancy.h"
#include "spad/experimental/ptx.h"
#include "spad/experimental/registry_parts.h"
#include "spad/experimental/report_parts.h"
#include "spad/experimental/sim.h"
#include "spad/experimental/soft_constraints.h"
#include "spad/experimental/spaces.h"
#include "spad/experimental/stack_queries.h"
#include "spad/experimental/tensor_order.h"
#include "spad/experimental/tmem.h"
#include "spad/experimental/trace_queries.h"
#include "spad/experimental/ttgir.h"
#include "spad/experimental/tune.h"
#include "spad/experimental/walk.h"
#endif
/* clang-format on */

#endif
