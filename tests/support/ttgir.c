/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts of TTGIR that are read, and those that are refused. */
#include "support/ttgir.h"

#include <string.h>

#include "spad/spad.h"
#include "support/support.h"

static spad_status read_one(spad_kernel **kernel, const char *text, spad_ttgir_info *info,
                            spad_diagnostics *faults, spad_error *error) {
    const spad_status status =
        spad_kernel_read_ttgir(kernel, info, text, strlen(text), "k", NULL, faults, error);
    assert_int_equal(status == SPAD_OK, *kernel != NULL);
    return status;
}

static spad_status read_scenario(const spad_host *host, void *context) {
    const test_ttgir_sample *s = context;
    const spad_kernel_options options = {.host = host};
    spad_kernel *kernel;
    const spad_status status =
        spad_kernel_read_ttgir(&kernel, NULL, s->text, strlen(s->text), "k", &options, NULL, NULL);
    spad_kernel_destroy(kernel);
    return status;
}

void test_ttgir_read(const test_ttgir_sample *s) {
    spad_kernel *kernel;
    spad_ttgir_info info;
    spad_error error;
    test_text shown;
    test_text_init(&shown);
    const spad_status status = read_one(&kernel, s->text, &info, NULL, &error);
    if (status != SPAD_OK) print_error("%s\nof %s", error.message, strstr(s->text, "tt.func"));
    assert_ok(status, &error);
    assert_ok(spad_kernel_write_text(kernel, &shown.sink, &error), &error);
    for (size_t i = 0; i < 4 && s->wanted[i] != NULL; i++) {
        if (strstr(shown.bytes, s->wanted[i]) == NULL) {
            print_error("no '%s' in\n%s", s->wanted[i], shown.bytes);
        }
        assert_non_null(strstr(shown.bytes, s->wanted[i]));
    }
    spad_kernel_destroy(kernel);
    test_text_free(&shown);
    test_ttgir_sample copy = *s;
    if (!info.unrolled) test_fail_each_allocation(read_scenario, &copy);
}

void test_ttgir_refuse(const test_ttgir_fault *f) {
    spad_kernel *kernel;
    spad_error error;
    spad_diagnostics *faults;
    bool found = false;
    assert_ok(spad_diagnostics_create(&faults, NULL, &error), &error);
    const spad_status status = read_one(&kernel, f->text, NULL, faults, &error);
    if (status == SPAD_OK) print_error("no fault in %s", strstr(f->text, "tt.func"));
    assert_int_equal(status, SPAD_ERR_SYNTAX);
    for (size_t i = 0; i < spad_diagnostics_count(faults); i++) {
        if (strstr(spad_diagnostics_get(faults, i)->message, f->message) != NULL) found = true;
    }
    if (!found) print_error("'%s', not '%s'\n", error.message, f->message);
    assert_true(found);
    spad_diagnostics_destroy(faults);
}

char *test_ttgir_text(const char *text, int64_t size, spad_ttgir_info *info) {
    const spad_define define = {"K", size};
    const spad_kernel_options options = {.defines = &define, .define_count = 1};
    spad_kernel *kernel;
    spad_error error;
    test_text shown;
    const spad_status status =
        spad_kernel_read_ttgir(&kernel, info, text, strlen(text), "k", &options, NULL, &error);
    if (status != SPAD_OK) print_error("%s\n%s\n", error.message, strstr(text, "tt.func"));
    assert_ok(status, &error);
    test_text_init(&shown);
    assert_ok(spad_kernel_write_text(kernel, &shown.sink, &error), &error);
    spad_kernel_destroy(kernel);
    return shown.bytes;
}

spad_verdict test_ttgir_verdict(const char *text, int64_t size) {
    const spad_define define = {"K", size};
    const spad_kernel_options options = {.defines = &define, .define_count = 1};
    spad_kernel *kernel;
    spad_check *check;
    spad_error error;
    assert_ok(
        spad_kernel_read_ttgir(&kernel, NULL, text, strlen(text), "k", &options, NULL, &error),
        &error);
    assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
    const spad_verdict verdict = spad_check_get_verdict(check);
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
    return verdict;
}
