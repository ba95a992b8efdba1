/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the check.
 *
 * One `spad__run` is one look at a kernel of one shape. The parts (rules, lifetimes, order, advice)
 * each take a run and add findings to it (findings.h). Files use others in one direction only:
 * tests/check_cycles examines what their objects define and use.
 */
#ifndef SPAD_CHECK_CHECK_H
#define SPAD_CHECK_CHECK_H

#include "check/findings.h"

/* The parts. Each returns SPAD_OK whatever it finds. */
spad_status spad__check_rules(spad__run *run, spad_error *error);
spad_status spad__check_limits(spad__run *run, spad_error *error);
spad_status spad__check_lifetimes(spad__run *run, spad_error *error);
spad_status spad__check_order(spad__run *run, spad_error *error);
/* Errors were found in the run that is shown: notes about rings that are one slot too short. */
spad_status spad__mend_rings(spad__run *run, spad_error *error);
spad_status spad__check_parallel(spad__run *run, spad_error *error);
spad_status spad__check_advice(spad__run *run, spad_error *error);

/* A check as one value of a larger document; kernel NULL: of a text that cannot be read. */
void spad__json_check(spad__json *json, const spad_check *check, const spad_kernel *kernel);

#endif
