/* SPDX-License-Identifier: Apache-2.0
 * Every analysis of the kernels that we ship, right and wrong ones, without enough memory: each
 * call reports it, frees what it made, and leaves what it was given as it was. Small scenarios fail
 * at each allocation, large ones at some hundred of them, evenly spaced. */
#include "emit/emit.h"
#include "spad/experimental/kernel_rows.h"
#include "spad/experimental/report_parts.h"
#include "support/files.h"
#include "support/kernels.h"
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spad/check.h"
#include "spad/experimental/emit.h"
#include "spad/experimental/fit.h"
#include "spad/experimental/sim.h"
#include "spad/layout.h"
#include "spad/report.h"

enum { RUNS = 80 };

/* What a scenario reads; only its results come from the host that fails. */
typedef struct input {
    const char *text;
    const spad_kernel *kernel;
    const spad_layout *layout; /* NULL: none */
    const spad_sim *sim;
    const spad_check *check;
} input;

typedef spad_status scenario(const spad_host *host, const input *in);

static void fail_often(scenario *run, const input *in, const char *name) {
    test_host host;
    test_host_init(&host);
    const spad_status whole = run(&host.host, in);
    const long calls = host.calls;
    test_host_assert_clean(&host);
    assert_int_not_equal(whole, SPAD_ERR_HOST_MEMORY);
    for (long n = 1; n <= calls; n += 1 + calls / test_effort(RUNS)) {
        test_host_init(&host);
        host.fail_at = n;
        const spad_status status = run(&host.host, in);
        if (status != SPAD_ERR_HOST_MEMORY) {
            print_error("%s: allocation %ld of %ld\n", name, n, calls);
        }
        assert_int_equal(status, SPAD_ERR_HOST_MEMORY);
        test_host_assert_clean(&host);
    }
}

/* ---- scenarios --------------------------------------------------------------------- */

static spad_status parse(const spad_host *host, const input *in) {
    const spad_kernel_options options = {.host = host};
    spad_kernel *kernel;
    const spad_status status =
        spad_kernel_parse(&kernel, in->text, strlen(in->text), "k", &options, NULL, NULL);
    if (status != SPAD_OK) assert_null(kernel);
    spad_kernel_destroy(kernel);
    return status;
}

static spad_status reshape(const spad_host *host, const input *in) {
    const spad_kernel_options options = {.host = host};
    spad_kernel *kernel;
    const spad_status status = spad_kernel_reshape(&kernel, in->kernel, &options, NULL);
    if (status != SPAD_OK) assert_null(kernel);
    spad_kernel_destroy(kernel);
    return status;
}

static spad_status lay_out(const spad_host *host, const input *in) {
    const spad_layout_options options = {.host = host};
    spad_layout *layout;
    const spad_status status = spad_layout_create(&layout, in->kernel, &options, NULL);
    if (status == SPAD_ERR_HOST_MEMORY) assert_null(layout);
    spad_layout_destroy(layout);
    return status;
}

static spad_status check_one_shape(const spad_host *host, const input *in) {
    const spad_check_options options = {.one_shape = true, .host = host};
    spad_check *check;
    const spad_status status = spad_check_create(&check, in->kernel, &options, NULL);
    if (status != SPAD_OK) assert_null(check);
    spad_check_destroy(check);
    return status;
}

static spad_status check_all_shapes(const spad_host *host, const input *in) {
    const spad_check_options options = {.event_limit = 2000, .host = host};
    spad_check *check;
    const spad_status status = spad_check_create(&check, in->kernel, &options, NULL);
    if (status != SPAD_OK) assert_null(check);
    spad_check_destroy(check);
    return status;
}

static spad_status find_fit(const spad_host *host, const input *in) {
    const spad_fit_options options = {.host = host};
    spad_fit *fit;
    const spad_status status = spad_fit_create(&fit, in->layout, &options, NULL);
    if (status != SPAD_OK) assert_null(fit);
    spad_fit_destroy(fit);
    return status;
}

static spad_status emit(const spad_host *host, const input *in) {
    spad_emit *table;
    spad_status status =
        spad_emit_create(&table, spad_kernel_get_target(in->kernel), "k", host, NULL);
    if (status != SPAD_OK) return status;
    status = spad_emit_add_layout(table, in->layout, NULL);
    if (status != SPAD_OK) assert_int_equal(table->rows.count, 0);
    spad_emit_destroy(table);
    return status;
}

/* Adds everything there is to a report; what was added before a failure stays whole. */
static spad_status fill(spad_report *report, const input *in) {
    spad_status status = spad_report_add_layout(report, in->layout, in->sim, 0, NULL);
    if (status != SPAD_OK) assert_int_equal(spad_report_box_count(report), 0);
    for (size_t i = 0; status == SPAD_OK && i < spad_check_finding_count(in->check); i++) {
        status = spad_report_add_finding(report, spad_check_get_finding(in->check, i), NULL);
    }
    if (status == SPAD_OK)
        status = spad_report_set_source(report, "k.spad", in->text, strlen(in->text), NULL);
    if (status == SPAD_OK) status = spad_report_add_note(report, "a note", NULL);
    return status;
}

static spad_status draw(const spad_host *host, const input *in) {
    static const spad_format forms[] = {SPAD_FORMAT_TEXT, SPAD_FORMAT_SVG,   SPAD_FORMAT_HTML,
                                        SPAD_FORMAT_JSON, SPAD_FORMAT_TRACE, SPAD_FORMAT_LIGHT};
    const spad_report_options options = {.title = "t", .host = host};
    spad_report *report;
    spad_status status =
        spad_report_create(&report, spad_kernel_get_target(in->kernel), &options, NULL);
    if (status != SPAD_OK) return status;
    status = fill(report, in);
    test_text text;
    test_text_init(&text);
    for (size_t i = 0; status == SPAD_OK && i < sizeof forms / sizeof forms[0]; i++) {
        status = spad_report_write(report, forms[i], &text.sink, NULL);
        if (status == SPAD_OK) assert_true(text.count > 0);
    }
    test_text_free(&text);
    spad_report_destroy(report);
    return status;
}

/* The difference to an empty report. */
static spad_status compare(const spad_host *host, const input *in) {
    spad_report *before;
    spad_report *after;
    spad_report_diff *diff = NULL;
    const spad_target *target = spad_kernel_get_target(in->kernel);
    assert_int_equal(spad_report_create(&before, target, NULL, NULL), SPAD_OK);
    assert_int_equal(spad_report_create(&after, target, NULL, NULL), SPAD_OK);
    assert_int_equal(spad_report_add_buffers(after, in->layout, NULL), SPAD_OK);
    const spad_status status = spad_report_diff_create(&diff, before, after, host, NULL);
    if (status == SPAD_OK) {
        assert_int_equal(spad_report_diff_count(diff), spad_report_box_count(after));
    }
    spad_report_diff_destroy(diff);
    spad_report_destroy(before);
    spad_report_destroy(after);
    return status;
}

/* ---- the kernels ------------------------------------------------------------------- */

static void fail_layout(input *in, const char *name) {
    spad_layout *layout;
    spad_sim *sim = NULL;
    if (spad_layout_create(&layout, in->kernel, NULL, NULL) != SPAD_OK) return;
    const spad_sim_options options = {.layout = layout};
    if (spad_layout_fits(layout)) spad_sim_create(&sim, in->kernel, &options, NULL);
    in->layout = layout;
    fail_often(draw, in, name);
    in->sim = sim;
    if (sim != NULL) fail_often(draw, in, name);
    fail_often(compare, in, name);
    if (spad_layout_fits(layout)) {
        fail_often(emit, in, name);
    } else {
        fail_often(find_fit, in, name);
    }
    spad_sim_destroy(sim);
    spad_layout_destroy(layout);
}

static void fail_kernel(const char *folder, const char *name, bool whole) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    char *text = test_read_file(path);
    spad_kernel *kernel;
    input in = {.text = text};
    if (spad_kernel_parse(&kernel, text, strlen(text), name, NULL, NULL, NULL) == SPAD_OK) {
        const spad_check_options options = {.one_shape = true};
        spad_check *check;
        assert_int_equal(spad_check_create(&check, kernel, &options, NULL), SPAD_OK);
        in.kernel = kernel;
        in.check = check;
        fail_often(parse, &in, name);
        fail_often(check_one_shape, &in, name);
        if (whole) {
            fail_often(reshape, &in, name);
            fail_often(check_all_shapes, &in, name);
            fail_often(lay_out, &in, name);
            fail_layout(&in, name);
        }
        spad_check_destroy(check);
    }
    spad_kernel_destroy(kernel);
    free(text);
}

static void wrong_kernels(void **state) {
    (void)state;
    test_files files;
    test_list_kernels(&files, TEST_KERNELS "/wrong");
    assert_true(files.count > 0);
    for (size_t i = 0; i < files.count; i++) {
        /* a stack leaves the largest hole out of its message where it has no memory to find it */
        if (strstr(files.names[i], "does_not_fit") != NULL) continue;
        fail_kernel(TEST_KERNELS "/wrong", files.names[i], false);
    }
}

static void right_kernels(void **state) {
    (void)state;
    static const char *const names[] = {"01_exp_rows.spad", "02_matmul_2_hoisted.spad",
                                        "11_add_flags.spad", "08_gemm_sm90.spad"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        fail_kernel(TEST_KERNELS, names[i], true);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(wrong_kernels),
                                       cmocka_unit_test(right_kernels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
