/* SPDX-License-Identifier: Apache-2.0
 *
 * spad plan for a kernel; cmd_plan.c has the command line.
 */
#ifndef SPAD_CLI_PLAN_KERNEL_H
#define SPAD_CLI_PLAN_KERNEL_H

#include "cli.h"

typedef struct plan_kernel_words {
    spad_layout_options layout; /* its progress has a cli_progress as context */
    const char *output;         /* placements as CSV; NULL: none */
    cli_pictures pictures;
    bool json;
    const char *goal; /* "time" or "bytes": places by simulated overlap; NULL: by program order */
    bool frontier;    /* only show the layouts between the two */
    bool release;     /* place what has an address, too */
    bool steps;       /* even if costs are assumed */
    bool fix;         /* changes of the kernel instead; `output` is the changed kernel */
} plan_kernel_words;

cli_exit cli_plan_kernel(const cli_kernel *input, const plan_kernel_words *words);

#endif
