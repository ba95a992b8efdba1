/* SPDX-License-Identifier: Apache-2.0
 *
 * Which options of `spad plan` go with which input, and with each other.
 */
#ifndef SPAD_CLI_PLAN_OPTIONS_H
#define SPAD_CLI_PLAN_OPTIONS_H

#include "cli.h"

/* Kinds of input, as bits of a set. */
typedef enum plan_input {
    PLAN_KERNEL = 1,
    PLAN_ROWS = 2,   /* a CSV file of one memory */
    PLAN_SPACES = 4, /* a CSV file of several memories */
    PLAN_MODEL = 8   /* a file of another compiler */
} plan_input;

/* True if the given options go with the input and with each other. False: the reason was
 * printed. */
bool cli_plan_options_fit(const cli_option *options, plan_input input, const char *path);

#endif
