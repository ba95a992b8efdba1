/* SPDX-License-Identifier: Apache-2.0
 *
 * From one shape to all trip counts.
 */
#ifndef SPAD_PROVE_PROVE_H
#define SPAD_PROVE_PROVE_H

#include "finding/findings.h"

/* Checks the kernel of `run`, in this shape and, where the options ask for it, in all: fills in
 * findings, verdict and reason. */
spad_status spad__prove(spad__run *run, spad_error *error);

#endif
