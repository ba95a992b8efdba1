/* SPDX-License-Identifier: Apache-2.0
 * Kernels from texts that must be right. */
#include "support/kernels.h"

#include <stdio.h>
#include <string.h>

#include "spad/check.h"
#include "spad/source.h"
#include "support/support.h"

spad_kernel *test_parse_named(const char *text, const char *name,
                              const spad_kernel_options *options) {
    spad_diagnostics *faults;
    spad_kernel *kernel;
    spad_error error;
    assert_ok(spad_diagnostics_create(&faults, NULL, &error), &error);
    const spad_status status =
        spad_kernel_parse(&kernel, text, strlen(text), name, options, faults, &error);
    if (status != SPAD_OK) {
        const spad_sink sink = spad_sink_file(stderr);
        spad_diagnostics_write_text(faults, &sink, NULL);
    }
    spad_diagnostics_destroy(faults);
    assert_ok(status, &error);
    return kernel;
}

spad_kernel *test_parse_with(const char *text, const spad_kernel_options *options) {
    return test_parse_named(text, "k.spad", options);
}

spad_kernel *test_parse(const char *text) {
    return test_parse_with(text, NULL);
}

static spad_status check_one_shape(const spad_host *host, void *context) {
    const spad_kernel *const *kernel = context;
    const spad_check_options options = {.host = host, .one_shape = true};
    spad_check *check;
    const spad_status status = spad_check_create(&check, *kernel, &options, NULL);
    spad_check_destroy(check);
    return status;
}

void test_check_without_memory(const spad_kernel *kernel) {
    test_fail_each_allocation(check_one_shape, &kernel);
}

void test_check_says(const char *text, const char *message) {
    spad_kernel *kernel = test_parse(text);
    spad_check *check;
    spad_error error;
    bool found = false;
    assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
    for (size_t i = 0; i < spad_check_finding_count(check) && !found; i++) {
        found = strcmp(spad_check_get_finding(check, i)->message, message) == 0;
        if (!found) print_message("%s\n", spad_check_get_finding(check, i)->message);
    }
    assert_true(found);
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
}

void test_check_ends(const char *text, spad_verdict verdict) {
    spad_kernel *kernel = test_parse(text);
    spad_check *check;
    spad_error error;
    assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
    assert_int_equal(spad_check_get_verdict(check), verdict);
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
}
