/* SPDX-License-Identifier: Apache-2.0
 *
 * --fix of spad check and spad plan: changes of a kernel that keep its proof, and the kernel that
 * has them.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"

static spad_status write_changed(const spad_sink *sink, const void *advice, spad_error *error) {
    return spad_kernel_write_text(spad_advice_get_kernel(advice), sink, error);
}

static cli_exit show_changes(const spad_advice *advice, const char *output, bool json) {
    const bool proved = spad_advice_get_totals(advice).proved;
    const bool to_stdout = output != NULL && strcmp(output, "-") == 0;
    const spad_sink sink = cli_sink(to_stdout ? stderr : stdout, json);
    spad_error error;
    const spad_status status = json ? spad_advice_write(advice, SPAD_FORMAT_JSON, &sink, &error)
                                    : spad_advice_write(advice, SPAD_FORMAT_TEXT, &sink, &error);
    if (status != SPAD_OK) return cli_fail(&error);
    if (!proved && output != NULL) {
        cli_message("'%s' is not written; 'spad check' and 'spad plan' show why", output);
    }
    if (!proved) return CLI_FINDINGS;
    return output != NULL ? cli_write_file(output, write_changed, advice) : CLI_FINE;
}

cli_exit cli_fix(const cli_kernel *input, const char *output, const spad_advice_options *options,
                 bool json) {
    spad_advice *advice;
    spad_error error;
    if (spad_advice_create(&advice, input->kernel, options, &error) != SPAD_OK) {
        return cli_fail_kernel(&error, input->path, json);
    }
    const cli_exit exit = show_changes(advice, output, json);
    spad_advice_destroy(advice);
    return exit;
}
