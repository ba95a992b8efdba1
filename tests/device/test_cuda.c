/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA on the library of our own (fake/cuda.c): what is reported when a call of the driver fails.
 * The back end's table is called directly, so that each call of the driver is one of the test. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "device/backend.h"
#include "device/stand_in.h"
#include "support/support.h"

static stand_in fake;

static const spad_backend *const cuda = &spad__backend_cuda;

static int open_fake(void **state) {
    (void)state;
    assert_true(stand_in_open(&fake, "libcuda.so.1"));
    return 0;
}

static int close_fake(void **state) {
    (void)state;
    return dlclose(fake.library);
}

typedef struct scene {
    void *driver;
    void *devices[2];
    int64_t blocks[2];
} scene;

static scene new_scene(void) {
    spad_error error;
    const spad_host host = spad__host_or_default(NULL);
    scene s;
    assert_ok(cuda->load(&s.driver, &host, &error), &error);
    for (int i = 0; i < 2; i++) {
        assert_ok(cuda->open(&s.devices[i], s.driver, i, &error), &error);
        assert_ok(cuda->alloc(&s.blocks[i], s.devices[i], 256, &error), &error);
    }
    return s;
}

static void free_scene(scene *s) {
    spad_error error;
    for (int i = 0; i < 2; i++) {
        assert_ok(cuda->free(s->devices[i], s->blocks[i], &error), &error);
        cuda->close(s->devices[i]);
    }
    cuda->unload(s->driver);
    assert_int_equal(fake.live(), 0);
}

static void errors_have_the_names_of_the_driver(void **state) {
    (void)state;
    static const struct {
        int code;
        spad_status status;
        const char *message;
    } cases[] = {
        {719, SPAD_ERR_DEVICE, "cuMemAlloc failed with CUDA_ERROR_LAUNCH_FAILED (719)"},
        {9001, SPAD_ERR_DEVICE, "cuMemAlloc failed with an unknown error (9001)"},
        {9002, SPAD_ERR_DEVICE, "cuMemAlloc failed with an unknown error (9002)"},
        {100, SPAD_ERR_NO_DEVICE, "cuda has no device (CUDA_ERROR_NO_DEVICE)"},
        {1, SPAD_ERR_NO_FIT, "the cuda device has no 1000 B left; request less"},
        {2, SPAD_ERR_NO_FIT, "the cuda device has no 1000 B left; request less"},
    };
    scene s = new_scene();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        /* the call that allocates is among the first few: those around it set the context */
        bool seen = false;
        fake.set_code(cases[i].code);
        for (long n = 1; n <= 4 && !seen; n++) {
            spad_error error = {0};
            int64_t address;
            fake.fail_at(n);
            const spad_status status = cuda->alloc(&address, s.devices[0], 1000, &error);
            fake.fail_at(0);
            if (status == SPAD_OK) {
                assert_ok(cuda->free(s.devices[0], address, &error), &error);
                continue;
            }
            assert_int_equal(address, 0);
            seen = status == cases[i].status && strcmp(error.message, cases[i].message) == 0;
        }
        if (!seen) print_error("case %zu\n", i);
        assert_true(seen);
    }
    fake.set_code(719);
    free_scene(&s);
}

/* Rows from one device to another, with each call of the driver failing in turn. */
static void copies_between_devices_may_fail_at_each_call(void **state) {
    (void)state;
    scene s = new_scene();
    const spad_transfer rows = {.direction = SPAD_ON_DEVICE,
                                .to = s.blocks[1],
                                .to_pitch = 32,
                                .from = s.blocks[0],
                                .from_pitch = 16,
                                .width = 8,
                                .rows = 4};
    long failed = 0;
    for (long n = 1;; n++) {
        spad_error error = {0};
        const long live = fake.live();
        fake.fail_at(n);
        const spad_status status =
            cuda->copy_between(s.devices[1], s.devices[0], NULL, &rows, &error);
        const long made = fake.calls();
        fake.fail_at(0);
        assert_int_equal(fake.live(), live); /* the context of the thread is as before */
        if (made < n) {
            assert_int_equal(status, SPAD_OK);
            break;
        }
        if (status != SPAD_OK) {
            assert_int_equal(status, SPAD_ERR_DEVICE);
            assert_non_null(strstr(error.message, "CUDA_ERROR_LAUNCH_FAILED (719)"));
            failed++;
        }
    }
    assert_true(failed >= 6); /* a context, four rows, the wait */
    free_scene(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_have_the_names_of_the_driver),
        cmocka_unit_test(copies_between_devices_may_fail_at_each_call),
    };
    return cmocka_run_group_tests(tests, open_fake, close_fake);
}
