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
        spad_diagnostics_write(faults, SPAD_FORMAT_TEXT, &sink, NULL);
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

/* ---- without memory ---------------------------------------------------------------------- */

typedef struct text_use {
    const char *text;
    test_kernel_use *use;
} text_use;

static spad_status read_and_use(const spad_host *host, void *context) {
    const text_use *given = context;
    const spad_kernel_options options = {.host = host};
    spad_kernel *kernel;
    spad_status status = spad_kernel_parse(&kernel, given->text, strlen(given->text), "k.spad",
                                           &options, NULL, NULL);
    if (status == SPAD_OK && given->use != NULL) status = given->use(kernel, host);
    spad_kernel_destroy(kernel);
    return status;
}

void test_read_without_memory(const char *text, test_kernel_use *use) {
    text_use given = {text, use};
    test_fail_each_allocation(read_and_use, &given);
}

spad_status test_use_check(const spad_kernel *kernel, const spad_host *host) {
    const spad_check_options options = {.host = host};
    spad_check *check;
    const spad_status status = spad_check_create(&check, kernel, &options, NULL);
    spad_check_destroy(check);
    return status;
}

spad_status test_use_layout(const spad_kernel *kernel, const spad_host *host) {
    const spad_layout_options options = {.host = host};
    spad_layout *layout;
    const spad_status status = spad_layout_create(&layout, kernel, &options, NULL);
    spad_layout_destroy(layout);
    return status;
}

spad_status test_use_checked_layout(const spad_kernel *kernel, const spad_host *host) {
    const spad_layout_options options = {.host = host};
    const spad_check_options checks = {.host = host};
    spad_layout *layout;
    spad_check *check;
    const spad_status status =
        spad_layout_create_checked(&layout, &check, kernel, &options, &checks, NULL);
    spad_check_destroy(check);
    spad_layout_destroy(layout);
    return status;
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

/* ---- layouts and checks ------------------------------------------------------------------- */

test_laid_out test_lay_out(const char *text) {
    test_laid_out placed = {.kernel = test_parse(text)};
    spad_error error;
    assert_ok(spad_layout_create_checked(&placed.layout, &placed.check, placed.kernel, NULL, NULL,
                                         &error),
              &error);
    placed.row = spad_layout_get_space(placed.layout, 0);
    return placed;
}

void test_laid_out_free(test_laid_out *placed) {
    spad_check_destroy(placed->check);
    spad_layout_destroy(placed->layout);
    spad_kernel_destroy(placed->kernel);
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
