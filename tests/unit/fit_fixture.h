/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel, its layout, and what would make it fit, for the tests of these changes. */
#ifndef SPAD_TEST_FIT_FIXTURE_H
#define SPAD_TEST_FIT_FIXTURE_H

#include "support/kernels.h"
#include "support/support.h"

#include "spad/check.h"
#include "spad/experimental/fit.h"

typedef struct fixture {
    spad_kernel *kernel;
    spad_layout *layout;
    spad_fit *fit;
    test_text text;
} fixture;

static inline void set_up(fixture *f, const char *text) {
    spad_error error;
    f->kernel = test_parse(text);
    assert_ok(spad_layout_create_checked(&f->layout, NULL, f->kernel, NULL, NULL, &error), &error);
    assert_ok(spad_fit_create(&f->fit, f->layout, NULL, &error), &error);
    test_text_init(&f->text);
    assert_ok(spad_fit_write(f->fit, f->layout, SPAD_FORMAT_TEXT, &f->text.sink, &error), &error);
}

static inline void tear_down(fixture *f) {
    test_text_free(&f->text);
    spad_fit_destroy(f->fit);
    spad_layout_destroy(f->layout);
    spad_kernel_destroy(f->kernel);
}

static inline void expect(const char *kernel, const char *text) {
    fixture f;
    set_up(&f, kernel);
    assert_string_equal(f.text.bytes, text);
    tear_down(&f);
}

#endif
