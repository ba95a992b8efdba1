/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds loads whose value decides a branch, as a flag, a lock or a count does.
 */
#ifndef SPAD_FRONTEND_PTX_DECIDES_H
#define SPAD_FRONTEND_PTX_DECIDES_H

#include "frontend/ptx/run/ptx_state.h"

/* Does the first operand of the instruction that runs, which it loads, decide a branch? */
bool spad__ptx_decides(spad__ptx_machine *m, const spad__ptx_warp *w,
                       const spad__ptx_instruction *i);
/* ACQUIRE, RELEASE and CTA_SCOPE, as the instruction says. */
unsigned spad__ptx_order_of(const spad__ptx_instruction *i);

#endif
