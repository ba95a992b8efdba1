/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensors with figures at the ends of 64 bits: each sum and product that does not fit is refused
 * with its name. On a chip without limits of its own, so that nothing else is in the way. */
#include <stdio.h>
#include <string.h>

#include "spad/spad.h"
#include "support/support.h"

static const spad_space spaces[] = {
    {.name = "flat", .lanes = 1, .bytes = SPAD_UNBOUNDED, .alignment = 1, .granule = 1},
    {.name = "wide",
     .lanes = INT64_MAX,
     .bytes = SPAD_UNBOUNDED,
     .bank_bytes = INT64_C(1) << 40,
     .alignment = 1,
     .granule = 1},
};
static const spad_engine engines[] = {{.name = "e", .about = "", .count = 1}};
static const spad_target target = {.name = "far",
                                   .about = "",
                                   .family = "",
                                   .space_count = 2,
                                   .spaces = spaces,
                                   .engine_count = 1,
                                   .engines = engines};

#define MOST "9223372036854775807"
#define HALF "4611686018427387904" /* 2^62 */
#define ROOT "4294967296"          /* 2^32 */

static void sums_that_do_not_fit_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *tensor;
        const char *message; /* NULL: it is fine */
    } cases[] = {
        /* sizes */
        {"flat u8 [" ROOT ", 4] (4)", NULL},
        {"flat u8 [" ROOT ", " ROOT "] (4)", "the size of the tensor"},
        {"flat u8 [" ROOT "] (" ROOT ")", "the size of the tensor"},
        {"wide u8 [2] (" ROOT ", " ROOT ")", "the size of the tensor"},
        {"wide u8 [2] (" HALF ", 1)", "the size of the tensor"},
        {"flat u8 [4] (1) ring " MOST, NULL},
        {"flat u8 [4] (2) ring " MOST, "the size of the ring"},
        {"flat u8 [4, 4] (1) ring [" ROOT ", " ROOT "]", "the size of the ring"},
        /* places one by one */
        {"flat u8 [4] (1) at 0 step 8", NULL},
        {"flat u8 [4] (1) at 0 step " MOST, "the address of the last tile"},
        {"flat u8 [4] (1) at " MOST, "the address of the last tile"},
        {"flat u8 [1] (8) at 9223372036854775795", "the address of the last tile"},
        {"wide u8 [4] (1, 1) at 0 bank " HALF, "a bank"},
        {"wide u8 [2] (1, 1) at 0 bank 8388607 step " HALF, "the address of the last tile"},
        /* rings of places */
        {"flat u8 [4] (1) mod base 0 free 4", NULL},
        {"flat u8 [4, 4] (1) mod base 0 free [" ROOT ", " ROOT "]",
         "the number of tiles in a ring"},
        {"wide u8 [4, 4] (1, 1) mod base 0 par [" ROOT ", " ROOT "]",
         "the number of tiles in a ring"},
        {"wide u8 [4, 4] (1, 1) mod base 0 banks [" ROOT ", " ROOT "]",
         "the number of tiles in a ring"},
        {"wide u8 [4] (1, 1) mod base 0 bank " MOST " banks 2", "the number of tiles in a ring"},
        {"wide u8 [4] (1, 1) mod base 0 bank " HALF " banks 2", "a bank"},
        {"flat u8 [4] (2) mod base 0 free " MOST, "the address of the last tile"},
        {"wide u8 [4] (1, 1) mod base 0 bank 8388607 free " MOST, "the address of the last tile"},
        {"flat u8 [4] (1) mod base 8 free " MOST, "the address of the last tile"},
        {"wide u8 [4] (" ROOT ", 1) mod base 0 par " HALF, "a start lane"},
        {"wide u8 [4] (2, 1) mod base 0 par " HALF " lane " MOST, "a start lane"},
    };
    const spad_kernel_options options = {.target = &target};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[300];
        spad_error error = {0};
        spad_kernel *kernel;
        const int length =
            snprintf(text, sizeof text, "kernel k on far\ntensor t : %s\n", cases[i].tensor);
        const spad_status status =
            spad_kernel_parse(&kernel, text, (size_t)length, NULL, &options, NULL, &error);
        const bool fine = cases[i].message == NULL
                              ? status == SPAD_OK
                              : status != SPAD_OK && strstr(error.message, cases[i].message);
        if (!fine) print_error("%s: %s\n", cases[i].tensor, error.message);
        assert_true(fine);
        assert_true((status == SPAD_OK) == (kernel != NULL));
        spad_kernel_destroy(kernel);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums_that_do_not_fit_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
