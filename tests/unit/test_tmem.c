/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensor memory: the allocation protocol, and the packing vectors of TileLang's
 * test_tilelang_transform_tmem_arena_packing.py with some of our own. */
#include "support/support.h"

#include <string.h>

#include "spad/experimental/tmem.h"

/* ---- the protocol ------------------------------------------------------------------ */

static spad_tmem make(void) {
    spad_tmem tmem;
    const spad_target *target;
    spad_error e;
    assert_ok(spad_target_find(&target, "sm_100", &e), &e);
    assert_ok(spad_tmem_init(&tmem, target, &e), &e);
    return tmem;
}

static void sizes_are_powers_of_two(void **state) {
    (void)state;
    static const int64_t refused[] = {-32, 0, 1, 16, 31, 48, 96, 513, 1024};
    spad_error e;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        spad_tmem tmem = make();
        int64_t column;
        assert_int_equal(spad_tmem_alloc(&column, &tmem, refused[i], 0, &e), SPAD_ERR_ARGUMENT);
        assert_int_equal(column, -1);
    }
    assert_string_equal(e.message, "an allocation of 1024 columns of tensor memory; it must be a "
                                   "power of two from 32 to 512");
    for (int64_t columns = 32; columns <= 512; columns *= 2) {
        spad_tmem tmem = make();
        int64_t column;
        assert_ok(spad_tmem_alloc(&column, &tmem, columns, 0, &e), &e);
        assert_int_equal(column, 0);
    }
}

static void the_order_of_a_block(void **state) {
    (void)state;
    spad_tmem tmem = make();
    spad_error e;
    int64_t a, b, c;
    assert_ok(spad_tmem_finish(&tmem, &e), &e);
    assert_ok(spad_tmem_alloc(&a, &tmem, 256, 2, &e), &e);
    assert_ok(spad_tmem_alloc(&b, &tmem, 128, 2, &e), &e);
    assert_int_equal(b, 256);
    assert_int_equal(spad_tmem_alloc(&c, &tmem, 256, 2, &e), SPAD_ERR_LIFE_CYCLE);
    assert_string_equal(e.message, "256 columns of tensor memory after an allocation of 128; later "
                                   "ones may not be larger, so allocate the largest first");
    assert_ok(spad_tmem_free(&tmem, a, 256, 2, &e), &e);
    assert_int_equal(spad_tmem_free(&tmem, a, 256, 2, &e), SPAD_ERR_NOT_LIVE);
    assert_string_equal(e.message, "no allocation of tensor memory begins at column 0");
    assert_int_equal(spad_tmem_free(&tmem, b, 64, 2, &e), SPAD_ERR_ARGUMENT);
    assert_string_equal(e.message, "64 columns of tensor memory are freed at column 256, 128 were "
                                   "allocated there");
    assert_int_equal(spad_tmem_free(&tmem, b, 128, 0, &e), SPAD_ERR_LIFE_CYCLE);
    assert_string_equal(e.message, "warp 0 frees the tensor memory at column 256 that warp 2 "
                                   "allocated; the same warp must do both");
    /* a freed one still bounds the later ones; its columns can be had again */
    assert_int_equal(spad_tmem_alloc(&c, &tmem, 256, 2, &e), SPAD_ERR_LIFE_CYCLE);
    assert_ok(spad_tmem_alloc(&c, &tmem, 128, 2, &e), &e);
    assert_int_equal(c, 0);
    assert_int_equal(spad_tmem_finish(&tmem, &e), SPAD_ERR_LIFE_CYCLE);
    assert_string_equal(e.message,
                        "the block ends with 256 columns of tensor memory not freed, the "
                        "first at column 0 by warp 2; free every allocation");
    spad_tmem_relinquish(&tmem);
    assert_int_equal(spad_tmem_alloc(&a, &tmem, 32, 2, &e), SPAD_ERR_LIFE_CYCLE);
    assert_string_equal(e.message, "32 columns of tensor memory are requested after the permit to "
                                   "allocate was relinquished; allocate first");
    assert_ok(spad_tmem_free(&tmem, b, 128, 2, &e), &e);
    assert_ok(spad_tmem_free(&tmem, c, 128, 2, &e), &e);
    assert_ok(spad_tmem_finish(&tmem, &e), &e);
}

static void more_than_there_is(void **state) {
    (void)state;
    spad_tmem tmem = make();
    spad_error e;
    int64_t c;
    assert_ok(spad_tmem_alloc(&c, &tmem, 256, 0, &e), &e);
    assert_ok(spad_tmem_alloc(&c, &tmem, 128, 0, &e), &e);
    assert_ok(spad_tmem_alloc(&c, &tmem, 64, 0, &e), &e);
    assert_ok(spad_tmem_alloc(&c, &tmem, 32, 0, &e), &e);
    assert_ok(spad_tmem_alloc(&c, &tmem, 32, 0, &e), &e);
    assert_int_equal(c, 480);
    assert_int_equal(spad_tmem_alloc(&c, &tmem, 32, 0, &e), SPAD_ERR_NO_FIT);
    assert_string_equal(e.message, "32 columns of tensor memory do not fit: 0 of 512 are free on "
                                   "sm_100, the largest run has 0; free some first, the hardware "
                                   "would wait forever");
    assert_int_equal(e.needed, 32);
    assert_int_equal(e.available, 0);
    const spad_target *target;
    assert_ok(spad_target_find(&target, "sm_90", &e), &e);
    assert_int_equal(spad_tmem_init(&tmem, target, &e), SPAD_ERR_CAPABILITY);
    assert_string_equal(e.message, "sm_90 has no tensor memory; sm_100, sm_103 and sm_110 have it");
    const spad_space huge = {
        .name = "tmem", .lanes = 128, .bytes = 1 << 20, .alignment = 1, .granule = 1};
    const spad_target chip = {.name = "huge", .space_count = 1, .spaces = &huge};
    assert_int_equal(spad_tmem_init(&tmem, &chip, &e), SPAD_ERR_ARGUMENT);
    assert_string_equal(e.message,
                        "huge has 262144 columns of tensor memory; up to 2048 can be followed");
}

/* ---- packing ----------------------------------------------------------------------- */

enum { MANY = 16 };

typedef struct packed {
    spad_tmem_totals totals;
    spad_tmem_place places[MANY];
    int64_t sizes[MANY];
} packed;

static packed pack(const spad_tmem_tensor *tensors, size_t count, spad_tmem_packing packing) {
    packed p;
    spad_error e;
    assert_ok(spad_tmem_pack(&p.totals, p.places, p.sizes, tensors, count, packing, NULL, &e), &e);
    return p;
}

/* Tensors of 128 lanes that live together; columns end with 0. */
static packed pack_columns(const int64_t *columns, spad_tmem_packing packing) {
    spad_tmem_tensor tensors[MANY];
    size_t count = 0;
    for (; columns[count] != 0; count++) {
        tensors[count] =
            (spad_tmem_tensor){.lanes = 128, .columns = columns[count], .begin = 0, .end = 1};
    }
    return pack(tensors, count, packing);
}

static void assert_allocs(const packed *p, const int64_t *sizes) {
    int64_t total = 0;
    for (size_t i = 0; sizes[i] != 0; total += sizes[i], i++) {
        assert_true(i < p->totals.allocs);
        assert_int_equal(p->sizes[i], sizes[i]);
        assert_int_equal(sizes[i + 1] == 0, i + 1 == p->totals.allocs);
    }
    assert_int_equal(p->totals.columns, total);
}

static void assert_place(const packed *p, size_t tensor, size_t alloc, int64_t column) {
    assert_int_equal(p->places[tensor].alloc, alloc);
    assert_int_equal(p->places[tensor].column, column);
    assert_int_equal(p->places[tensor].lane, 0);
}

#define COLUMNS(...) ((const int64_t[]){__VA_ARGS__, 0})

static void vectors_of_tilelang(void **state) {
    (void)state;
    packed p = pack_columns(COLUMNS(384, 4, 4, 4), SPAD_TMEM_TILELANG);
    assert_allocs(&p, COLUMNS(512));
    assert_place(&p, 0, 0, 0);
    assert_place(&p, 1, 0, 384);
    assert_place(&p, 2, 0, 388);
    assert_place(&p, 3, 0, 392);

    p = pack_columns(COLUMNS(128, 4, 4), SPAD_TMEM_TILELANG);
    assert_allocs(&p, COLUMNS(128, 32));
    assert_place(&p, 1, 1, 0);
    assert_place(&p, 2, 1, 4);

    /* 128 fp32, 128 fp16, 128 fp32 */
    p = pack_columns(COLUMNS(128, 64, 128), SPAD_TMEM_TILELANG);
    assert_allocs(&p, COLUMNS(128, 128, 64));
    assert_place(&p, 1, 2, 0);

    p = pack_columns(COLUMNS(160, 96), SPAD_TMEM_TILELANG);
    assert_allocs(&p, COLUMNS(256));
    assert_place(&p, 1, 0, 160);

    p = pack_columns(COLUMNS(320, 100, 60), SPAD_TMEM_TILELANG);
    assert_allocs(&p, COLUMNS(512));
    assert_place(&p, 1, 0, 320);
    assert_place(&p, 2, 0, 448);

    p = pack_columns(COLUMNS(200, 40), SPAD_TMEM_TILELANG);
    assert_allocs(&p, COLUMNS(256, 64));

    p = pack_columns(COLUMNS(4, 4, 4, 4, 4, 4, 4, 4, 4), SPAD_TMEM_TILELANG);
    assert_allocs(&p, COLUMNS(32, 32));
    assert_place(&p, 7, 0, 28);
    assert_place(&p, 8, 1, 0);

    p = pack_columns(COLUMNS(32, 32, 32, 32, 32), SPAD_TMEM_TILELANG);
    assert_allocs(&p, COLUMNS(32, 32, 32, 32, 32));

    p = pack_columns(COLUMNS(384, 384), SPAD_TMEM_TILELANG);
    assert_allocs(&p, COLUMNS(512, 512)); /* 1024 columns: see test_block */

    const spad_tmem_tensor freed[] = {
        {.lanes = 128, .columns = 384, .begin = 0, .end = 9},
        {.lanes = 128, .columns = 4, .begin = 0, .end = 5, .freed_by_hand = true},
    };
    p = pack(freed, 2, SPAD_TMEM_TILELANG);
    assert_allocs(&p, COLUMNS(512, 32));
}

static void ours_uses_time_lanes_and_sizes(void **state) {
    (void)state;
    /* sizes chosen together: TileLang takes 128 + 128 + 64 */
    packed p = pack_columns(COLUMNS(96, 96, 64), SPAD_TMEM_BEST);
    assert_allocs(&p, COLUMNS(256));
    assert_int_equal(pack_columns(COLUMNS(96, 96, 64), SPAD_TMEM_TILELANG).totals.columns, 320);
    /* 200 and 40 do not share 256: 40 columns start at a multiple of 32 */
    p = pack_columns(COLUMNS(200, 40), SPAD_TMEM_BEST);
    assert_allocs(&p, COLUMNS(256, 64));

    const spad_tmem_tensor in_turn[] = {
        {.lanes = 128, .columns = 384, .begin = 0, .end = 5},
        {.lanes = 128, .columns = 384, .begin = 5, .end = 9},
    };
    p = pack(in_turn, 2, SPAD_TMEM_BEST);
    assert_allocs(&p, COLUMNS(512));
    assert_place(&p, 1, 0, 0);
    assert_int_equal(pack(in_turn, 2, SPAD_TMEM_TILELANG).totals.columns, 1024);

    /* triton-lang/triton issue 9268: 64-lane tensors side by side in the lanes */
    const spad_tmem_tensor halves[] = {
        {.lanes = 64, .columns = 256, .begin = 0, .end = 9},
        {.lanes = 64, .columns = 256, .begin = 0, .end = 9},
        {.lanes = 128, .columns = 128, .begin = 0, .end = 9},
    };
    p = pack(halves, 3, SPAD_TMEM_BEST);
    assert_allocs(&p, COLUMNS(256, 128));
    assert_int_equal(p.places[0].lane + p.places[1].lane, 64);
    assert_int_equal(p.places[0].column, p.places[1].column);

    p = pack_columns(COLUMNS(384, 384), SPAD_TMEM_BEST);
    assert_allocs(&p, COLUMNS(512, 512));
    assert_int_equal(pack(NULL, 0, SPAD_TMEM_BEST).totals.columns, 0);
}

/* Thousands of tensors, far more than a chip has, still take about a second. */
static void many_tensors(void **state) {
    (void)state;
    enum { TENSORS = 2000 };
    static spad_tmem_tensor tensors[TENSORS];
    static spad_tmem_place places[TENSORS];
    static int64_t sizes[TENSORS];
    spad_tmem_totals ours, theirs;
    spad_error e;
    for (int64_t i = 0; i < TENSORS; i++) {
        tensors[i] = (spad_tmem_tensor){
            .lanes = 128, .columns = 36 + i % 200, .begin = i / 2, .end = i / 2 + 900};
    }
    assert_ok(
        spad_tmem_pack(&theirs, places, sizes, tensors, TENSORS, SPAD_TMEM_TILELANG, NULL, &e), &e);
    assert_ok(spad_tmem_pack(&ours, places, sizes, tensors, TENSORS, SPAD_TMEM_BEST, NULL, &e), &e);
    assert_true(ours.columns < theirs.columns);
    for (size_t i = 0; i < TENSORS; i++) {
        assert_true(places[i].alloc < ours.allocs);
        assert_true(places[i].column + tensors[i].columns <= sizes[places[i].alloc]);
    }
}

static void tensors_that_cannot_be(void **state) {
    (void)state;
    spad_tmem_totals totals;
    spad_tmem_place place;
    int64_t size;
    spad_error e;
    spad_tmem_tensor t = {.name = "acc", .lanes = 129, .columns = 32, .begin = 0, .end = 1};
    assert_int_equal(spad_tmem_pack(&totals, &place, &size, &t, 1, SPAD_TMEM_BEST, NULL, &e),
                     SPAD_ERR_ARGUMENT);
    assert_string_equal(e.message, "tensor acc (number 0) has 129 lanes; 1 to 128 exist");
    assert_string_equal(e.subject, "acc");
    t.lanes = 128;
    t.columns = 513;
    assert_int_equal(spad_tmem_pack(&totals, &place, &size, &t, 1, SPAD_TMEM_BEST, NULL, &e),
                     SPAD_ERR_ARGUMENT);
    assert_string_equal(e.message, "tensor acc (number 0) has 513 columns; 1 to 512 are possible");
    t.columns = 512;
    t.end = 0;
    assert_int_equal(spad_tmem_pack(&totals, &place, &size, &t, 1, SPAD_TMEM_BEST, NULL, &e),
                     SPAD_ERR_ARGUMENT);
    assert_string_equal(e.message, "tensor acc (number 0) lives in [0, 0), which is empty");
}

static spad_status scenario(const spad_host *host, void *context) {
    (void)context;
    const spad_tmem_tensor t[] = {{.lanes = 128, .columns = 200, .begin = 0, .end = 9},
                                  {.lanes = 64, .columns = 40, .begin = 0, .end = 9}};
    spad_tmem_totals totals;
    spad_tmem_place places[2];
    int64_t sizes[2];
    return spad_tmem_pack(&totals, places, sizes, t, 2, SPAD_TMEM_BEST, host, NULL);
}

static void every_host_allocation_may_fail(void **state) {
    (void)state;
    test_fail_each_allocation(scenario, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_powers_of_two),
        cmocka_unit_test(the_order_of_a_block),
        cmocka_unit_test(more_than_there_is),
        cmocka_unit_test(vectors_of_tilelang),
        cmocka_unit_test(ours_uses_time_lanes_and_sizes),
        cmocka_unit_test(many_tensors),
        cmocka_unit_test(tensors_that_cannot_be),
        cmocka_unit_test(every_host_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
