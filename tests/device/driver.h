/* SPDX-License-Identifier: Apache-2.0
 *
 * For tests of one back end on the library that stands in for its driver's (fake/): how to
 * make one of its calls fail, and sweeps over the calls that a piece of work makes. To be
 * included once.
 */
#ifndef SPAD_TEST_DRIVER_H
#define SPAD_TEST_DRIVER_H

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "device/backend.h"
#include "device/stand_in.h"
#include "support/support.h"

static stand_in fake;

/* A function of the library that only it has. */
static void load(void *out, const char *name) {
    if (stand_in_find(out, fake.library, name)) return;
    print_error("no function %s\n", name);
    fail();
}

static void open_fake(const char *file) {
    assert_true(stand_in_open(&fake, file));
}

static int close_fake(void **state) {
    (void)state;
    return dlclose(fake.library);
}

typedef spad_status (*work)(void *context, spad_error *error);

/* Does the work with each call of the library failing in turn, until it makes fewer calls. Returns
 * how many of these failures the work reported, each as SPAD_ERR_DEVICE; nothing may
 * leak. */
static long fail_each_call(work w, void *context) {
    long reported = 0;
    for (long n = 1;; n++) {
        spad_error error = {0};
        const long live = fake.live();
        fake.fail_at(n);
        const spad_status status = w(context, &error);
        const long made = fake.calls();
        fake.fail_at(0);
        assert_int_equal(fake.live(), live);
        if (made < n) {
            assert_ok(status, &error);
            return reported;
        }
        if (status == SPAD_OK) continue;
        assert_int_equal(status, SPAD_ERR_DEVICE);
        assert_true(error.message[0] != '\0');
        reported++;
    }
}

#endif
