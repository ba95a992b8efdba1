/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules that exclude each other at any capacity; see clash.c.
 */
#ifndef SPAD_PLAN_PROBLEM_CLASH_H
#define SPAD_PLAN_PROBLEM_CLASH_H

#include "plan/problem/model.h"

/* Fills in model->clash; the rest of the model is complete. False: no memory. */
bool spad__clash_find(spad__model *model);

#endif
