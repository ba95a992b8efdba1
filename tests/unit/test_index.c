/* SPDX-License-Identifier: Apache-2.0
 * The hash index against an array that is searched from its start. */
#include "support/support.h"

#include "base/index.h"
#include "base/random.h"

enum { ITEMS = 400, STEPS = 20000, NUMBERS_MAX = 64 };

typedef struct model {
    bool used;
    uint64_t hash;
} model;

/* How often the index gives a number for a hash; others that it gives have the same tag. */
static size_t count_found(const spad__index *index, const model *items, uint64_t hash,
                          size_t number) {
    size_t found = 0;
    spad__probe probe = spad__index_probe(index, hash);
    for (size_t i; (i = spad__probe_next(&probe)) != SPAD__NO_ITEM;) {
        assert_true(items[i].used);
        assert_int_equal(spad__index_tag(items[i].hash), spad__index_tag(hash));
        found += i == number;
    }
    return found;
}

static void check_all(const spad__index *index, const model *items) {
    size_t used = 0;
    for (size_t i = 0; i < ITEMS; i++) {
        used += items[i].used;
        assert_int_equal(count_found(index, items, items[i].hash, i), items[i].used);
    }
    assert_int_equal(index->count, used);
    assert_true(spad__index_is_valid(index));
}

/* Few hashes, so that runs are long, wrap around and are torn apart. */
static void numbers_come_and_go(void **state) {
    (void)state;
    const spad_host host = spad__host_or_default(NULL);
    for (uint64_t seed = 0; seed < 8; seed++) {
        spad__random random = {.state = seed};
        spad__index index = {0};
        model items[ITEMS] = {0};
        for (int step = 0; step < STEPS; step++) {
            const size_t i = (size_t)spad__random_below(&random, ITEMS);
            if (items[i].used) {
                spad__index_remove(&index, items[i].hash, i);
                items[i].used = false;
            } else {
                assert_true(spad__index_reserve(&index, &host, 1));
                items[i].hash =
                    spad__hash_add(0, spad__random_in(&random, 0, seed < 4 ? 40 : 4000));
                spad__index_add(&index, items[i].hash, i);
                items[i].used = true;
            }
            if (step % 500 == 0) check_all(&index, items);
        }
        check_all(&index, items);
        assert_true(index.count <= index.capacity - index.capacity / 4);
        spad__index_clear(&index);
        for (size_t i = 0; i < ITEMS; i++) items[i].used = false;
        check_all(&index, items);
        spad__index_free(&index, &host);
    }
}

static void an_empty_index_has_nothing(void **state) {
    (void)state;
    spad__index index = {0};
    spad__probe probe = spad__index_probe(&index, 7);
    assert_true(spad__probe_next(&probe) == SPAD__NO_ITEM);
    spad__index_clear(&index);
}

/* Numbers have 32 bits less one for "empty"; more than that is refused before memory is asked for.
 */
static void too_many_items_are_refused(void **state) {
    (void)state;
    const spad_host host = spad__host_or_default(NULL);
    spad__index index = {0};
    assert_false(spad__index_reserve(&index, &host, SIZE_MAX));
    assert_false(spad__index_reserve(&index, &host, UINT32_MAX));
    assert_null(index.slots);
}

static spad_status fill(const spad_host *host, void *payload) {
    (void)payload;
    spad__index index = {0};
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < NUMBERS_MAX && status == SPAD_OK; i++) {
        if (!spad__index_reserve(&index, host, 1)) {
            assert_int_equal(index.count, i); /* what was there is still there */
            status = SPAD_ERR_HOST_MEMORY;
        } else {
            spad__index_add(&index, i, i);
        }
    }
    spad__index_free(&index, host);
    return status;
}

static void memory_may_run_out(void **state) {
    (void)state;
    test_fail_each_allocation(fill, NULL);
}

/* Keys that follow each other, as names and addresses do, do not form long runs. */
static void neighbours_are_spread(void **state) {
    (void)state;
    const spad_host host = spad__host_or_default(NULL);
    spad__index index = {0};
    enum { COUNT = 3000 };
    assert_true(spad__index_reserve(&index, &host, COUNT));
    for (size_t i = 0; i < COUNT; i++) spad__index_add(&index, i << 20, i);
    size_t steps = 0;
    for (size_t i = 0; i < COUNT; i++) {
        size_t at = spad__index_tag(i << 20);
        while (index.slots[at & (index.capacity - 1)].number != i + 1) {
            at++;
            steps++;
        }
    }
    assert_true(steps < 4 * COUNT);
    spad__index_free(&index, &host);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_come_and_go),        cmocka_unit_test(an_empty_index_has_nothing),
        cmocka_unit_test(too_many_items_are_refused), cmocka_unit_test(memory_may_run_out),
        cmocka_unit_test(neighbours_are_spread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
