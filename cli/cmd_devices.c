/* SPDX-License-Identifier: Apache-2.0
 *
 * spad devices: lists the devices whose memory can be used here.
 */
#include <stdio.h>

#include "cli.h"

static const char usage[] =
    "usage: spad devices [--json]    list the devices of this computer\n"
    "\n"
    "  --json                    the list as JSON\n"
    "\n"
    "Opens the drivers of CUDA (libcuda.so.1), OpenCL (libOpenCL.so.1), Ascend (libascendcl.so)\n"
    "and Neuron (libnrt.so.1), and lists those that are missing as well. See docs/device.md\n";

static cli_exit run(const cli_command *command, int count, char **words) {
    bool json = false;
    const cli_option options[] = {{.name = "--json", .flag = &json}, {.name = NULL}};
    cli_exit exit;
    if (!cli_take_options(command, options, &count, words, &exit)) return exit;
    if (count > 0) {
        cli_message("'spad devices' takes no arguments, such as '%s'", words[0]);
        return CLI_USAGE;
    }
    const spad_sink results = spad_sink_file(stdout);
    spad_error error;
    const spad_status status = json ? spad_device_write_list_json(&results, NULL, &error)
                                    : spad_device_write_list(&results, NULL, &error);
    return status == SPAD_OK ? CLI_FINE : cli_fail(&error);
}

const cli_command cli_devices = {
    .name = "devices",
    .about = "list the devices whose memory can be used",
    .usage = usage,
    .run = run,
};
