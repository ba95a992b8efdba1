/* SPDX-License-Identifier: Apache-2.0
 *
 * spad nki: traces NKI kernels. The kernels are Python programs, so Python runs the command.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"

static const char usage[] =
    "usage: spad nki COMMAND FILE.py:KERNEL [--arg NAME=VALUE]... [--target CHIP] [-o FILE]\n"
    "\n"
    "Traces an NKI kernel as it is, and shows what spad says about it. COMMAND is check, plan, "
    "sim,\n"
    "tune, report, emit or text. Runs 'python3 -m spad nki', with the Python of SPAD_PYTHON if "
    "that\n"
    "is set; the package spad must be installed in it. See docs/nki-trace.md\n";

static cli_exit run(const cli_command *command, int count, char **words) {
    if (count == 1 && (strcmp(words[0], "--help") == 0 || strcmp(words[0], "-h") == 0)) {
        fputs(command->usage, stdout);
        return CLI_FINE;
    }
    return cli_run_python("nki", "'spad nki'", count, words);
}

const cli_command cli_nki = {
    .name = "nki",
    .about = "trace an NKI kernel, and check, plan or simulate it",
    .usage = usage,
    .run = run,
};
