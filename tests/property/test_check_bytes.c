/* SPDX-License-Identifier: Apache-2.0
 * Whether two accesses meet, and whether one covers the other, against maps of their bytes. */
#include "support/support.h"

#include <string.h>

#include "base/random.h"
#include "check/bytes.h"

enum { LANES = 6, BYTES = 40, PAIRS = 200000 };

typedef struct map {
    bool set[LANES][BYTES];
} map;

static spad_walk_access any_access(spad__random *random) {
    const int64_t runs = spad__random_in(random, 1, 4);
    const int64_t bytes = spad__random_in(random, 1, 4);
    const int64_t stride = bytes + spad__random_in(random, 0, 4);
    const int64_t lane = spad__random_in(random, 0, LANES - 1);
    const int64_t last = BYTES - (runs - 1) * stride - bytes;
    return (spad_walk_access){
        .runs = runs,
        .stride = stride,
        .rect = {.lane = lane,
                 .lanes = spad__random_in(random, 1, LANES - lane),
                 .byte = spad__random_in(random, 0, last < 8 ? last : 8),
                 .bytes = bytes},
    };
}

static map map_of(const spad_walk_access *access) {
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

static void accesses_meet_and_cover(void **state) {
    (void)state;
    spad__random random = {.state = 5};
    int64_t meets = 0;
    int64_t covers = 0;
    for (int i = 0; i < PAIRS; i++) {
        const spad_walk_access a = any_access(&random);
        spad_walk_access b = any_access(&random);
        if (i % 4 == 0) { /* a part of the same runs */
            b = a;
            b.rect.bytes = spad__random_in(&random, 1, a.rect.bytes);
            b.rect.lanes = spad__random_in(&random, 1, a.rect.lanes);
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
        assert_int_equal(spad__access_overlaps(&a, &b), both);
        assert_int_equal(spad__access_overlaps(&b, &a), both);
        /* several runs are compared run by run only: then true is certain, and false is not */
        const bool said = spad__access_covers(&a, &b);
        if (said || a.runs == 1) assert_int_equal(said, all);
        assert_true(spad__access_covers(&a, &a));
        meets += both;
        covers += said;
    }
    assert_true(meets * 4 > PAIRS && meets < PAIRS);
    assert_true(covers * 5 > PAIRS && covers < meets);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(accesses_meet_and_cover)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
