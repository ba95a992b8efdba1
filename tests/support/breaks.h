/* SPDX-License-Identifier: Apache-2.0
 * For tests of the walks that assertions use. */
#ifndef TESTS_SUPPORT_BREAKS_H
#define TESTS_SUPPORT_BREAKS_H

#include "support/support.h"

/* The walk is false while `field` has another value, and true again afterwards. */
#define BREAKS(walk, field, wrong)                     \
    do {                                               \
        __typeof__(field) const right = (field);       \
        assert_true(walk);                             \
        (field) = (__typeof__(field))(wrong);          \
        if (walk) fail_msg("%s = %s", #field, #wrong); \
        (field) = right;                               \
        assert_true(walk);                             \
    } while (0)

#endif
