/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports that take too long, or that are not wanted any more: the caller is asked in a bounded
 * number of boxes and bytes, a call that ends early adds nothing, and says why it ended.
 */
#include "support/support.h"

#include <string.h>

#include "spad/spad.h"
#include "support/kernels.h"

typedef struct asked {
    long count;
    long cancel_at; /* 0: never */
} asked;

static int ask(void *context) {
    asked *a = context;
    return ++a->count == a->cancel_at;
}

static spad_report *make_report(asked *a, int64_t timeout_ns, const spad_host *host) {
    const spad_report_options options = {.timeout_ns = timeout_ns, .watch = {ask, a}, .host = host};
    const spad_target *target;
    spad_report *report;
    spad_error error;
    assert_ok(spad_target_find(&target, "trn2", &error), &error);
    assert_ok(spad_report_create(&report, target, &options, &error), &error);
    return report;
}

static spad_status add_boxes(spad_report *report, int64_t count, spad_error *error) {
    spad_status status = SPAD_OK;
    for (int64_t i = 0; i < count && status == SPAD_OK; i++) {
        const spad_report_box box = {.name = "t",
                                     .rect = {0, 1, i * 8, 8},
                                     .begin = i,
                                     .end = i + 2,
                                     .family = SPAD_NO_FAMILY};
        status = spad_report_add_box(report, &box, error);
    }
    return status;
}

static void boxes_are_asked_about(void **state) {
    (void)state;
    asked a = {.cancel_at = 3};
    spad_error error;
    spad_report *report = make_report(&a, 0, NULL);
    assert_int_equal(add_boxes(report, 5000, &error), SPAD_ERR_CANCELLED);
    assert_int_equal(spad_report_box_count(report), 3 * SPAD_REPORT_LOOK - 1);
    assert_int_equal(a.count, 3);
    spad_report_destroy(report);
}

static const spad_format forms[] = {SPAD_FORMAT_TEXT, SPAD_FORMAT_SVG,   SPAD_FORMAT_HTML,
                                    SPAD_FORMAT_JSON, SPAD_FORMAT_TRACE, SPAD_FORMAT_LIGHT};

/* Cancelled at the k-th question, no more than k times as much was written; a report that was not
 * written is as it was, and can be written again. */
static void writers_are_asked_about(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        test_host host;
        test_host_init(&host);
        asked a = {0};
        spad_error error;
        spad_report *report = make_report(&a, 0, &host.host);
        assert_ok(add_boxes(report, 1000, &error), &error);
        test_text whole;
        test_text_init(&whole);
        a.count = 0;
        assert_ok(spad_report_write(report, forms[i], &whole.sink, &error), &error);
        const long questions = a.count;
        assert_true(questions >= 2);
        assert_true(whole.count <= (size_t)questions * 17 * 1024); /* 16 KiB, and one buffer */
        for (long k = 1; k <= questions; k++) {
            test_text text;
            test_text_init(&text);
            a = (asked){.cancel_at = k};
            assert_int_equal(spad_report_write(report, forms[i], &text.sink, &error),
                             SPAD_ERR_CANCELLED);
            assert_int_equal(a.count, k);
            assert_true(text.count < whole.count);
            test_text_free(&text);
        }
        test_text_free(&whole);
        spad_report_destroy(report);
        test_host_assert_clean(&host);
    }
}

/* A kernel that is walked for its picture, and drawn: all of it or nothing. */
static void kernels_are_asked_about(void **state) {
    (void)state;
    static const char text[] = "kernel k on trn2\ntensor x : sbuf bf16 [3000] (128, 8) ring 4\n"
                               "for i in 0..3000 { dma load writes x[i]\n vector op reads x[i] }\n";
    spad_kernel *kernel = test_parse(text);
    spad_layout *layout;
    spad_error error;
    assert_ok(spad_layout_create(&layout, kernel, NULL, &error), &error);
    long k = 0;
    spad_status status = SPAD_ERR_CANCELLED;
    while (status == SPAD_ERR_CANCELLED) {
        test_host host;
        test_host_init(&host);
        asked a = {.cancel_at = ++k};
        spad_report *report = make_report(&a, 0, &host.host);
        status = spad_report_add_layout(report, layout, NULL, 0, &error);
        if (status == SPAD_ERR_CANCELLED) assert_int_equal(spad_report_box_count(report), 0);
        spad_report_destroy(report);
        test_host_assert_clean(&host);
    }
    assert_ok(status, &error);
    assert_true(k > 2);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
}

static void time_is_a_limit(void **state) {
    (void)state;
    asked a = {0};
    spad_error error;
    spad_report *report = make_report(&a, 1, NULL);
    assert_int_equal(add_boxes(report, 5000, &error), SPAD_ERR_TIME);
    assert_int_equal(spad_report_box_count(report), SPAD_REPORT_LOOK - 1);
    assert_string_equal(error.message, "time is up after 1023 boxes; allow more, or define smaller "
                                       "parameters");
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        test_text text;
        test_text_init(&text);
        assert_int_equal(spad_report_write(report, forms[i], &text.sink, &error), SPAD_ERR_TIME);
        assert_int_equal(text.count, 0);
        test_text_free(&text);
    }
    spad_report_destroy(report);
    const spad_report_options negative = {.timeout_ns = -1};
    const spad_target *target;
    assert_ok(spad_target_find(&target, "trn2", &error), &error);
    assert_int_equal(spad_report_create(&report, target, &negative, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "a timeout of -1 ns is negative");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_are_asked_about),
        cmocka_unit_test(writers_are_asked_about),
        cmocka_unit_test(kernels_are_asked_about),
        cmocka_unit_test(time_is_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
