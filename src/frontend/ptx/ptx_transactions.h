/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits that never end because a copy brings other bytes than its mbarrier expects.
 */
#ifndef SPAD_FRONTEND_PTX_TRANSACTIONS_H
#define SPAD_FRONTEND_PTX_TRANSACTIONS_H

#include "frontend/ptx/ptx_log.h"
#include "frontend/ptx/run/ptx_machine.h"

/* Adds a remark for each instruction that expects bytes in a phase that its copies cannot complete.
 * O(events) for each mbarrier with such a wait. */
spad_status spad__ptx_compare_transactions(spad__ptx_result *result, const spad__ptx_log *log,
                                           const spad__ptx_module *module,
                                           const spad__ptx_launch *launch, const spad_host *host,
                                           spad_error *error);

#endif
