/* SPDX-License-Identifier: Apache-2.0
 *
 * spad sweep: every combination of files, parameters and chips. Python runs it: it has the
 * processes, the cluster and the page (docs/sweep.md).
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"

static const char usage[] =
    "usage: spad sweep FILE... [--vary NAME=VALUES]... [--target CHIP,...] [-o OUT]... [options]\n"
    "\n"
    "Checks, places and simulates every combination of files, values and chips, on all cores, and\n"
    "shows the frontier of bytes and time of every file. FILE is a kernel, .ttgir, .csv of "
    "buffers,\n"
    ".json of TileLang, FILE.py:KERNEL or package.module:KERNEL for NKI, Triton and TileLang, or "
    "a\n"
    "pattern such as 'kernels/*.spad'. Runs 'python3 -m spad sweep', with the Python of "
    "SPAD_PYTHON\n"
    "if that is set; the package spad must be installed in it.\n"
    "\n"
    "  --vary NAME=VALUES        a parameter: S=1..6 (both ends), BM=64,128, N=32..256*2,\n"
    "                            N=0..12+4; a file without it is not varied by it\n"
    "  --ring TENSOR=VALUES      the same for the depth of a ring\n"
    "  --target CHIP,...         chips to use instead of the kernel's; names or files\n"
    "  --arg NAME=VALUE          an argument of a program, such as x=bf16[512,512]\n"
    "  --signature NAME=TYPE,... types of the arguments of a Triton kernel\n"
    "  --space SPACE             the memory whose bytes count; default: all on chip. For a CSV\n"
    "                            file: the memory of the chip that it is planned for\n"
    "  -o, --output OUT          OUT.html: a page, OUT.csv or OUT.json: all rows; again for more\n"
    "  --json                    all rows on stdout\n"
    "  --results FOLDER          where results are kept and found; default: .spad-sweep\n"
    "  --fresh                   make all results again\n"
    "  -j, --jobs N              processes; default: one for each core\n"
    "  --dask ADDRESS            the workers of a cluster of Dask instead\n"
    "  --timeout SECONDS         for each combination\n"
    "  --stop-after N            after N new combinations, or a time such as 90s, 10m, 2h\n"
    "\n"
    "Ctrl-C ends it with what is there; the same command goes on.\n"
    "exit status: 0 some combination of every file is fine, 1 not so, 2 bad input, 3 an output\n"
    "could not be written, 130 Ctrl-C; see docs/sweep.md\n";

static cli_exit run(const cli_command *command, int count, char **words) {
    for (int i = 0; i < count; i++) {
        if (strcmp(words[i], "--help") == 0 || strcmp(words[i], "-h") == 0) {
            fputs(command->usage, stdout);
            return CLI_FINE;
        }
    }
    return cli_run_python(command->name, "'spad sweep'", count, words);
}

const cli_command cli_sweep = {
    .name = "sweep",
    .about = "try every combination of parameters and chips, on all cores",
    .usage = usage,
    .run = run,
};
