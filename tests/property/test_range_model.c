/* SPDX-License-Identifier: Apache-2.0
 *
 * A range along a random history: every invariant holds after every step, and the walk that says so
 * sees each field that is wrong.
 */
#include "base/random.h"
#include "device/range.h"
#include "support/breaks.h"

static void ranges(void **state) {
    (void)state;
    enum { HELD = 300 };
    const spad_host host = spad__host_or_default(NULL);
    spad__range range;
    spad__random random = {2};
    uint32_t held[HELD] = {0};
    spad__range_init(&range, 64, &host);
    assert_int_not_equal(spad__range_add(&range, 1 << 20, 1 << 16), 0);
    assert_int_not_equal(spad__range_add(&range, 1 << 22, 5 * 64), 0);
    for (int i = 0; i < 5000; i++) {
        uint32_t *one = &held[spad__random_below(&random, HELD)];
        assert_true(spad__range_reserve(&range, 1));
        if (*one != 0) {
            spad__range_free(&range, *one);
            *one = 0;
        } else {
            *one = spad__range_hold(&range, spad__random_in(&random, 1, 9) * 64,
                                    INT64_C(1) << spad__random_below(&random, 10));
        }
        assert_true(spad__range_is_valid(&range));
    }
    uint32_t hole = 1;
    uint32_t in_use = 1;
    while (!range.pieces.items[hole].is_free) hole++;
    while (range.pieces.items[in_use].is_free || range.pieces.items[in_use].after == 0) in_use++;
    spad__range_piece *free_piece = &range.pieces.items[hole];
    spad__range_piece *held_piece = &range.pieces.items[in_use];
    BREAKS(spad__range_is_valid(&range), free_piece->is_free, false);
    BREAKS(spad__range_is_valid(&range), held_piece->is_free, true);
    BREAKS(spad__range_is_valid(&range), held_piece->bytes, held_piece->bytes + 64);
    BREAKS(spad__range_is_valid(&range), held_piece->address, held_piece->address + 64);
    BREAKS(spad__range_is_valid(&range), held_piece->after, in_use);
    BREAKS(spad__range_is_valid(&range), range.levels, range.levels ^ 1);
    BREAKS(spad__range_is_valid(&range), range.subs[3], range.subs[3] ^ 1);
    BREAKS(spad__range_is_valid(&range), range.free_bytes, range.free_bytes + 64);
    BREAKS(spad__range_is_valid(&range), range.held_bytes, range.held_bytes - 64);
    BREAKS(spad__range_is_valid(&range), range.holes, range.holes + 1);
    BREAKS(spad__range_is_valid(&range), range.spare_count, range.spare_count + 1);
    spad__range_deinit(&range);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
