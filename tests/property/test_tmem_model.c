/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensor memory against maps of columns and lanes, 10^5 random cases.
 *
 * TileLang's packing is done again from its description with plain lists; every
 * packing is checked by painting cells (lane half x column) at every moment, and
 * its allocations are issued and freed through the protocol. */
#include "support/support.h"

#include <string.h>

#include "base/random.h"
#include "spad/experimental/tmem.h"

enum { CASES = TEST_RUNS(100000), TENSORS = 10, MOMENTS = 8 };

static int64_t pow2_at_least(int64_t columns) {
    int64_t size = 32;
    while (size < columns) size += size;
    return size;
}

static int64_t count_up(int64_t value, int64_t step) {
    while (value % step != 0) value++;
    return value;
}

static size_t random_tensors(spad__random *random, spad_tmem_tensor *tensors) {
    static const int64_t usual[] = {4, 8, 16, 32, 64, 96, 128, 160, 256};
    const size_t count = (size_t)spad__random_in(random, 1, TENSORS);
    for (size_t i = 0; i < count; i++) {
        const int64_t begin = spad__random_in(random, 0, MOMENTS - 1);
        tensors[i] = (spad_tmem_tensor){
            .lanes = spad__random_below(random, 2) ? 128 : spad__random_in(random, 1, 128),
            .columns = spad__random_below(random, 4) ? usual[spad__random_below(random, 9)]
                                                     : spad__random_in(random, 1, 512),
            .begin = begin,
            .end = spad__random_in(random, begin + 1, MOMENTS),
            .freed_by_hand = spad__random_below(random, 8) == 0,
        };
    }
    return count;
}

/* ---- TileLang's packing, from its description -------------------------------------- */

typedef struct arena {
    int64_t size, used;
    bool closed;
} arena;

static int64_t tilelang_total(const spad_tmem_tensor *tensors, size_t count) {
    arena arenas[TENSORS];
    size_t opened = 0;
    bool taken[TENSORS] = {false};
    for (size_t n = 0; n < count; n++) {
        size_t widest = count; /* the first of the widest */
        for (size_t i = 0; i < count; i++) {
            if (!taken[i] && (widest == count || tensors[i].columns > tensors[widest].columns))
                widest = i;
        }
        taken[widest] = true;
        const int64_t columns = tensors[widest].columns;
        int64_t cheapest = pow2_at_least(columns);
        arena *best = NULL;
        for (size_t a = 0; a < opened && !tensors[widest].freed_by_hand; a++) {
            const int64_t at = count_up(arenas[a].used, columns >= 32 ? 32 : 4);
            if (arenas[a].closed || at + columns > 512) continue;
            const int64_t cost = pow2_at_least(at + columns) - arenas[a].size;
            if (cost >= cheapest) continue;
            cheapest = cost;
            best = &arenas[a];
        }
        if (best == NULL) {
            best = &arenas[opened++];
            *best = (arena){0, 0, tensors[widest].freed_by_hand};
        }
        best->used = count_up(best->used, columns >= 32 ? 32 : 4) + columns;
        best->size += cheapest;
    }
    int64_t total = 0;
    for (size_t a = 0; a < opened; a++) total += arenas[a].size;
    return total;
}

/* ---- what every packing must keep -------------------------------------------------- */

/* A cell is one column in one half of the lanes: what begins at lane 0 or 64 and has more
 * than 64 lanes, or not, shares lanes exactly if it shares a half. */
static void assert_cells_are_not_shared(const spad_tmem_tensor *tensors, size_t count,
                                        const spad_tmem_place *places, bool over_time) {
    static char cells[TENSORS][2][512];
    for (int64_t moment = 0; moment < (over_time ? MOMENTS : 1); moment++) {
        memset(cells, 0, sizeof cells[0] * count);
        for (size_t i = 0; i < count; i++) {
            const spad_tmem_tensor *t = &tensors[i];
            if (over_time && (moment < t->begin || moment >= t->end)) continue;
            for (int64_t half = places[i].lane / 64; half * 64 < places[i].lane + t->lanes;
                 half++) {
                char *row = &cells[places[i].alloc][half][places[i].column];
                assert_null(memchr(row, 1, (size_t)t->columns));
                memset(row, 1, (size_t)t->columns);
            }
        }
    }
}

static void assert_legal(const spad_tmem_tensor *tensors, size_t count,
                         const spad_tmem_place *places, const int64_t *sizes,
                         spad_tmem_totals totals) {
    int64_t sum = 0;
    bool used[TENSORS] = {false};
    for (size_t i = 0; i < count; i++) {
        assert_true(places[i].alloc < totals.allocs);
        used[places[i].alloc] = true;
        assert_int_equal(places[i].column % (tensors[i].columns >= 32 ? 32 : 4), 0);
        assert_true(places[i].column + tensors[i].columns <= sizes[places[i].alloc]);
        assert_true(places[i].lane == 0 || (places[i].lane == 64 && tensors[i].lanes <= 64));
    }
    for (size_t a = 0; a < totals.allocs; a++) {
        assert_true(used[a]);
        sum += sizes[a];
    }
    assert_int_equal(sum, totals.columns);
}

/* The allocations go through the protocol in the order of issue. */
static void assert_issuable(const spad_target *target, const int64_t *sizes, size_t count) {
    spad_tmem tmem;
    int64_t columns[TENSORS];
    spad_error e;
    assert_ok(spad_tmem_init(&tmem, target, &e), &e);
    for (size_t i = 0; i < count; i++) {
        assert_ok(spad_tmem_alloc(&columns[i], &tmem, sizes[i], 0, &e), &e);
    }
    for (size_t i = 0; i < count; i++) {
        assert_ok(spad_tmem_free(&tmem, columns[i], sizes[i], 0, &e), &e);
    }
    assert_ok(spad_tmem_finish(&tmem, &e), &e);
}

static void packing_agrees_with_the_column_map(void **state) {
    (void)state;
    const spad_target *target;
    spad_error e;
    int64_t better = 0;
    assert_ok(spad_target_find(&target, "sm_100", &e), &e);
    for (uint64_t seed = 0; seed < CASES; seed++) {
        spad__random random = {seed};
        spad_tmem_tensor tensors[TENSORS];
        spad_tmem_place places[TENSORS];
        int64_t sizes[TENSORS];
        spad_tmem_totals theirs, ours;
        const size_t count = random_tensors(&random, tensors);
        assert_ok(
            spad_tmem_pack(&theirs, places, sizes, tensors, count, SPAD_TMEM_TILELANG, NULL, &e),
            &e);
        assert_legal(tensors, count, places, sizes, theirs);
        assert_cells_are_not_shared(tensors, count, places, false);
        assert_int_equal(theirs.columns, tilelang_total(tensors, count));
        int64_t separate = 0; /* what TileLang's own tests promise */
        for (size_t i = 0; i < count; i++) separate += pow2_at_least(tensors[i].columns);
        assert_true(theirs.columns <= separate);

        assert_ok(spad_tmem_pack(&ours, places, sizes, tensors, count, SPAD_TMEM_BEST, NULL, &e),
                  &e);
        assert_legal(tensors, count, places, sizes, ours);
        assert_cells_are_not_shared(tensors, count, places, true);
        assert_true(ours.columns <= theirs.columns);
        better += ours.columns < theirs.columns;
        if (ours.columns <= 512) assert_issuable(target, sizes, ours.allocs);
    }
    assert_true(better > CASES / 2);
}

/* ---- the protocol against a map of columns ----------------------------------------- */

static void the_protocol_agrees_with_a_map(void **state) {
    (void)state;
    const spad_target *target;
    spad_error e;
    assert_ok(spad_target_find(&target, "sm_100", &e), &e);
    for (uint64_t seed = 0; seed < CASES; seed++) {
        spad__random random = {seed};
        spad_tmem tmem;
        char owner[512] = {0}; /* 0: free, else 1 + warp, upper case of the first column */
        int64_t size_at[512] = {0};
        int64_t smallest = 512;
        assert_ok(spad_tmem_init(&tmem, target, &e), &e);
        for (int i = 0; i < 12; i++) {
            const int64_t warp = spad__random_in(&random, 0, 1);
            const int64_t columns = INT64_C(16) << spad__random_below(&random, 6);
            if (spad__random_below(&random, 3) != 0) {
                int64_t column, expected = -1;
                for (int64_t c = 0; c + columns <= 512 && expected < 0; c++) {
                    bool is_free = true;
                    for (int64_t k = c; k < c + columns; k++) is_free = is_free && owner[k] == 0;
                    if (is_free) expected = c;
                }
                const spad_status status = spad_tmem_alloc(&column, &tmem, columns, warp, &e);
                if (columns < 32) {
                    assert_int_equal(status, SPAD_ERR_ARGUMENT);
                } else if (columns > smallest) {
                    assert_int_equal(status, SPAD_ERR_LIFE_CYCLE);
                } else if (expected < 0) {
                    assert_int_equal(status, SPAD_ERR_NO_FIT);
                } else {
                    assert_int_equal(status, SPAD_OK);
                    assert_int_equal(column, expected);
                    memset(owner + column, (int)(1 + warp), (size_t)columns);
                    size_at[column] = columns;
                    smallest = columns;
                }
            } else {
                const int64_t column = 32 * spad__random_in(&random, 0, 15);
                const spad_status status = spad_tmem_free(&tmem, column, columns, warp, &e);
                if (size_at[column] == 0) {
                    assert_int_equal(status, SPAD_ERR_NOT_LIVE);
                } else if (size_at[column] != columns) {
                    assert_int_equal(status, SPAD_ERR_ARGUMENT);
                } else if (owner[column] != 1 + warp) {
                    assert_int_equal(status, SPAD_ERR_LIFE_CYCLE);
                } else {
                    assert_int_equal(status, SPAD_OK);
                    memset(owner + column, 0, (size_t)columns);
                    size_at[column] = 0;
                }
            }
        }
        bool held = false;
        for (int c = 0; c < 512; c++) held = held || owner[c] != 0;
        assert_int_equal(spad_tmem_finish(&tmem, &e), held ? SPAD_ERR_LIFE_CYCLE : SPAD_OK);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packing_agrees_with_the_column_map),
        cmocka_unit_test(the_protocol_agrees_with_a_map),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
