/* SPDX-License-Identifier: Apache-2.0
 *
 * Lowering a plan of boxes by taking boxes out and putting them in again; see eject.c.
 */
#ifndef SPAD_PLAN_EJECT_H
#define SPAD_PLAN_EJECT_H

#include "plan/pack.h"

enum { SPAD__EJECT_LOOKS = 4 * 1000 * 1000 }; /* good to begin with: 0.2 s or so */

/* Lowers the plan of a pack without given offsets as far as it gets with so many examinations of
 * boxes for every target. False: no memory. */
bool spad__eject(spad__pack *pack, int64_t looks);

#endif
