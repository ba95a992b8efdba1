/* SPDX-License-Identifier: Apache-2.0
 *
 * The bump allocator of rings: addresses and cursors of NKI's ModularAllocator, and what it
 * refuses. That its rings can be declared directly is tested with direct placement. */
#include "support/support.h"

#include "spad/experimental/modular.h"

static void modular_follows_the_library(void **state) {
    (void)state;
    spad_error error;
    spad_modular m = {.cursor = 5};
    spad_modular_tensor t;
    assert_ok(spad_modular_alloc(&t, &m,
                                 &(spad_modular_request){.shape = SPAD_SHAPE(128, 3),
                                                         .dtype = SPAD_UINT8,
                                                         .block = SPAD_SHAPE(3, 4),
                                                         .free_tiles = SPAD_SHAPE(2, 3),
                                                         .align_to = 8},
                                 &error),
              &error);
    static const int64_t rows[3][4] = {{8, 11, 14, 8}, {17, 20, 23, 17}, {8, 11, 14, 8}};
    for (int64_t i = 0; i < 3; i++) {
        for (int64_t j = 0; j < 4; j++) {
            int64_t address;
            assert_ok(spad_modular_get_address(&address, &t, (int64_t[]){i, j}, &error), &error);
            assert_int_equal(address, rows[i][j]);
        }
    }
    assert_int_equal(m.cursor, 26);
    assert_ok(spad_modular_alloc(&t, &m,
                                 &(spad_modular_request){.shape = SPAD_SHAPE(128, 3),
                                                         .dtype = SPAD_UINT8,
                                                         .block = SPAD_SHAPE(2),
                                                         .free_tiles = SPAD_SHAPE(4)},
                                 &error),
              &error);
    int64_t address;
    assert_ok(spad_modular_get_address(&address, &t, (int64_t[]){1}, &error), &error);
    assert_int_equal(address, 29);
    assert_int_equal(m.cursor, 38);
    /* one tile; without counts, as many tiles as the block */
    assert_ok(spad_modular_alloc(
                  &t, &m, &(spad_modular_request){.shape = SPAD_SHAPE(128), .dtype = SPAD_FLOAT32},
                  &error),
              &error);
    assert_ok(spad_modular_get_address(&address, &t, NULL, &error), &error);
    assert_int_equal(address, 38);
    assert_int_equal(m.cursor, 42);
    assert_ok(spad_modular_alloc(&t, &m,
                                 &(spad_modular_request){.shape = SPAD_SHAPE(128, 2),
                                                         .dtype = SPAD_UINT8,
                                                         .block = SPAD_SHAPE(3)},
                                 &error),
              &error);
    assert_int_equal(m.cursor, 48);
    m.cursor = -3; /* floor arithmetic, as in Python */
    assert_ok(spad_modular_alloc(&t, &m,
                                 &(spad_modular_request){.shape = SPAD_SHAPE(128, 2),
                                                         .dtype = SPAD_UINT8,
                                                         .align_to = 2},
                                 &error),
              &error);
    assert_int_equal(t.base, -2);
}

static void modular_refuses(void **state) {
    (void)state;
    spad_error error;
    spad_modular m = {.cursor = 5};
    spad_modular_tensor t;
    const spad_modular_request good = {
        .shape = SPAD_SHAPE(128, 3), .dtype = SPAD_UINT8, .block = SPAD_SHAPE(2, 2)};
    spad_modular_request bad = good;
    bad.free_tiles = SPAD_SHAPE(2, 0);
    assert_int_equal(spad_modular_alloc(&t, &m, &bad, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "free_tiles[1] is 0; it must be at least 1");
    bad.free_tiles = SPAD_SHAPE(2);
    assert_int_equal(spad_modular_alloc(&t, &m, &bad, &error), SPAD_ERR_SHAPE);
    assert_string_equal(error.message,
                        "free_tiles has 1 counts for 2 block dims; give one for each, or none");
    bad = good;
    bad.block = SPAD_SHAPE(0, 2);
    assert_int_equal(spad_modular_alloc(&t, &m, &bad, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "block[0] is 0; it must be at least 1");
    bad.block = (spad_shape){17, (int64_t[17]){0}};
    assert_int_equal(spad_modular_alloc(&t, &m, &bad, &error), SPAD_ERR_SHAPE);
    assert_string_equal(error.message, "17 block dims; at most 16 are possible");
    bad = good;
    bad.align_to = -1;
    assert_int_equal(spad_modular_alloc(&t, &m, &bad, &error), SPAD_ERR_ALIGNMENT);
    assert_string_equal(error.message, "align_to is -1 B; it must be at least 1, or 0 for none");
    bad = good;
    bad.free_tiles = SPAD_SHAPE(INT64_MAX, 1);
    assert_int_equal(spad_modular_alloc(&t, &m, &bad, &error), SPAD_ERR_OVERFLOW);
    assert_string_equal(error.message,
                        "9223372036854775807 tiles of 3 B from address 5 do not fit 64 bits");
    bad = good;
    bad.dtype = SPAD_DTYPE_NONE;
    assert_int_equal(spad_modular_alloc(&t, &m, &bad, &error), SPAD_ERR_DTYPE);
    assert_int_equal(m.cursor, 5);
    assert_ok(spad_modular_alloc(&t, &m, &good, &error), &error);
    int64_t address;
    assert_int_equal(spad_modular_get_address(&address, &t, (int64_t[]){0, 2}, &error),
                     SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "index 2 in block dim 1, which has 2");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modular_follows_the_library),
        cmocka_unit_test(modular_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
