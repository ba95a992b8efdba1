/* SPDX-License-Identifier: Apache-2.0 */
#include "support/faults.h"

#include <stdio.h>

#include "support/support.h"

static void check_fault(test_reader read, const char *before, const char *after,
                        const test_fault *wanted) {
    char text[4096];
    spad_diagnostics *diagnostics;
    spad_error error;
    snprintf(text, sizeof text, "%s%s%s", before, wanted->text, after);
    assert_int_equal(spad_diagnostics_create(&diagnostics, NULL, NULL), SPAD_OK);
    const spad_status status = read(text, "file", diagnostics, &error);
    if (spad_diagnostics_count(diagnostics) != 1) {
        const spad_sink sink = spad_sink_file(stderr);
        spad_diagnostics_write(diagnostics, SPAD_FORMAT_TEXT, &sink, NULL);
        print_error("not one fault in: %s\n", wanted->text);
    }
    assert_int_equal(status, SPAD_ERR_SYNTAX);
    assert_int_equal(spad_diagnostics_count(diagnostics), 1);
    const spad_diagnostic *fault = spad_diagnostics_get(diagnostics, 0);
    assert_string_equal(fault->message, wanted->message);
    assert_string_equal(error.message, wanted->message);
    assert_string_equal(error.file, "file");
    int line = wanted->line;
    for (const char *c = before; *c != '\0'; c++) line += *c == '\n';
    assert_int_equal(fault->line, line);
    assert_int_equal(fault->column, wanted->column);
    assert_int_equal(fault->width, wanted->width);
    spad_diagnostics_destroy(diagnostics);
}

void test_check_faults(test_reader read, const char *before, const char *after,
                       const test_fault *cases, size_t count) {
    for (size_t i = 0; i < count; i++) check_fault(read, before, after, &cases[i]);
}
