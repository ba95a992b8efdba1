/* SPDX-License-Identifier: Apache-2.0
 * Whether two sets of runs meet, and whether one covers the other, against maps of their bytes.
 * Every fourth pair is a part of the same runs, and every fourth has the same stride. */
#include "support/support.h"

#include <string.h>

#include "base/random.h"
#include "kernel/touched_bytes.h"

enum { LANES = 6, BYTES = 40, PAIRS = 200000 };

typedef struct map {
    bool set[LANES][BYTES];
} map;

static spad__bytes any_bytes(spad__random *random) {
    const int64_t runs = spad__random_in(random, 1, 4);
    const int64_t bytes = spad__random_in(random, 1, 4);
    const int64_t stride = bytes + spad__random_in(random, 0, 4);
    const int64_t lane = spad__random_in(random, 0, LANES - 1);
    const int64_t last = BYTES - (runs - 1) * stride - bytes;
    return (spad__bytes){
        .runs = runs,
        .stride = stride,
        .rect = {.lane = lane,
                 .lanes = spad__random_in(random, 1, LANES - lane),
                 .byte = spad__random_in(random, 0, last < 8 ? last : 8),
                 .bytes = bytes},
    };
}

static map map_of(const spad__bytes *access) {
    map m;
    memset(&m, 0, sizeof m);
    for (int64_t lane = 0; lane < access->rect.lanes; lane++) {
        for (int64_t i = 0; i < access->runs * access->rect.bytes; i++) {
            const int64_t run = i / access->rect.bytes;
            const int64_t byte = access->rect.byte + run * access->stride + i % access->rect.bytes;
            m.set[access->rect.lane + lane][byte] = true;
        }
    }
    return m;
}

static void runs_meet_and_cover(void **state) {
    (void)state;
    spad__random random = {.state = 5};
    int64_t meets = 0;
    int64_t covers = 0;
    for (int i = 0; i < PAIRS; i++) {
        const spad__bytes a = any_bytes(&random);
        spad__bytes b = any_bytes(&random);
        if (i % 4 == 0) { /* a part of the same runs */
            b = a;
            b.rect.bytes = spad__random_in(&random, 1, a.rect.bytes);
            b.rect.lanes = spad__random_in(&random, 1, a.rect.lanes);
        } else if (i % 4 == 1 && b.rect.bytes <= a.stride &&
                   b.rect.byte + (b.runs - 1) * a.stride + b.rect.bytes <= BYTES) {
            b.stride = a.stride;
        }
        const map in_a = map_of(&a);
        const map in_b = map_of(&b);
        bool both = false;
        bool all = true;
        for (int at = 0; at < LANES * BYTES; at++) {
            const bool left = in_a.set[at / BYTES][at % BYTES];
            const bool right = in_b.set[at / BYTES][at % BYTES];
            both = both || (left && right);
            all = all && (left || !right);
        }
        assert_int_equal(spad__bytes_overlap(&a, &b), both);
        assert_int_equal(spad__bytes_overlap(&b, &a), both);
        /* several runs are compared run by run only: then true is certain, and false is not */
        const bool said = spad__bytes_cover(&a, &b);
        if (said || a.runs == 1) assert_int_equal(said, all);
        assert_true(spad__bytes_cover(&a, &a) && spad__bytes_equal(&a, &a));
        if (spad__bytes_equal(&a, &b)) assert_true(both && all && spad__bytes_cover(&b, &a));
        meets += both;
        covers += said;
    }
    assert_true(meets * 4 > PAIRS && meets < PAIRS);
    assert_true(covers * 5 > PAIRS && covers < meets);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(runs_meet_and_cover)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
