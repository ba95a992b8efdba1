/* SPDX-License-Identifier: Apache-2.0
 *
 * spad nki, spad triton and spad tilelang: kernels that are Python programs, so Python runs the
 * command.
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
    "is set; the package spad must be installed in it. The kernel may be package.module:KERNEL as\n"
    "well (docs/programs.md). See docs/nki-trace.md\n";

static const char triton_usage[] =
    "usage: spad triton COMMAND FILE.py:KERNEL [--signature NAME=TYPE,...] "
    "[--constexprs NAME=VALUE,...]\n"
    "                   [--target CHIP] [--stages N..M] [--warps N] [-D NAME=N]... [-o FILE]\n"
    "\n"
    "Compiles a Triton kernel, without a GPU, and shows what spad says about it. COMMAND is "
    "check,\n"
    "plan, sim, report, compare, text or ttgir. Runs 'python3 -m spad triton', with the Python of\n"
    "SPAD_PYTHON if that is set; the packages spad and triton must be installed in it. TTGIR that\n"
    "was printed needs neither: spad check kernel.ttgir. The kernel may be package.module:KERNEL "
    "as\n"
    "well (docs/programs.md). See docs/triton.md\n";

static const char tilelang_usage[] =
    "usage: spad tilelang COMMAND FILE.py:KERNEL [--arg NAME=VALUE]... [--vary NAME=V,V] "
    "[--target CHIP]\n"
    "                     [--name FUNCTION] [-D NAME=N]... [-o FILE]\n"
    "       spad tilelang COMMAND FILE.json\n"
    "\n"
    "Lowers a TileLang kernel, without a GPU, and shows what spad says about it. COMMAND is "
    "check,\n"
    "plan, sim, report, compare, text or tree; tree writes what was lowered, and needs no "
    "TileLang\n"
    "to be read again. Runs 'python3 -m spad tilelang', with the Python of SPAD_PYTHON if that is\n"
    "set; the packages spad and tilelang must be installed in it. The kernel may be\n"
    "package.module:KERNEL as well (docs/programs.md). See docs/tilelang-load.md\n";

static cli_exit run(const cli_command *command, int count, char **words) {
    if (count == 1 && (strcmp(words[0], "--help") == 0 || strcmp(words[0], "-h") == 0)) {
        fputs(command->usage, stdout);
        return CLI_FINE;
    }
    char needed[32];
    snprintf(needed, sizeof needed, "'spad %s'", command->name);
    return cli_run_python(command->name, needed, count, words);
}

const cli_command cli_nki = {
    .name = "nki",
    .about = "trace an NKI kernel, and check, plan or simulate it",
    .usage = usage,
    .run = run,
};

const cli_command cli_triton = {
    .name = "triton",
    .about = "compile a Triton kernel, and check, plan or simulate it",
    .usage = triton_usage,
    .run = run,
};

const cli_command cli_tilelang = {
    .name = "tilelang",
    .about = "lower a TileLang kernel, and check, plan or simulate it",
    .usage = tilelang_usage,
    .run = run,
};
