/* SPDX-License-Identifier: Apache-2.0
 *
 * The passes of the check. One `spad__run` is one look at a kernel of one shape; each pass takes a
 * run and adds findings to it (finding/findings.h).
 */
#ifndef SPAD_CHECK_PASSES_H
#define SPAD_CHECK_PASSES_H

#include "finding/findings.h"

/* Each returns SPAD_OK whatever it finds. */
spad_status spad__check_rules(spad__run *run, spad_error *error);
spad_status spad__check_limits(spad__run *run, spad_error *error);
spad_status spad__check_lifetimes(spad__run *run, spad_error *error);
spad_status spad__check_order(spad__run *run, spad_error *error);
/* Errors were found in the run that is shown: notes about rings that are one slot too short. */
spad_status spad__repair_rings(spad__run *run, spad_error *error);
spad_status spad__check_parallel(spad__run *run, spad_error *error);
spad_status spad__check_advice(spad__run *run, spad_error *error);

#endif
