/* SPDX-License-Identifier: Apache-2.0
 * Blocks: numbers at the ends of 64 bits, and requests that contradict themselves. */
#include <string.h>

#include "block_fixture.h"

/* A message has room for two of these; the third would have lost the end of its number. */
static void a_long_list_of_buffers_is_cut(void **state) {
    (void)state;
    fixture f = make("sm_90");
    for (int i = 0; i < 3; i++) {
        put(&f, (spad_block_request){.name = i == 0   ? "the first of three, a long name"
                                             : i == 1 ? "the second of three, a long name"
                                                      : "the third of three, a long name",
                                     .scope = "shared.dyn",
                                     .shape = SPAD_SHAPE(1000000000000 + i),
                                     .dtype = SPAD_UINT8,
                                     .stages = 900000});
    }
    assert_false(plan(&f).fits);
    assert_int_equal(spad_block_check_fit(f.block, &f.error), SPAD_ERR_NO_FIT);
    const char *list = strstr(f.error.message, "; largest: ");
    assert_non_null(list);
    assert_ptr_equal(strstr(list, "; largest: the third of three, a lo 9000"), list);
    assert_non_null(strstr(list, " B in 900000 stages, the second of three, a l 9000"));
    assert_non_null(strstr(list, " B in 900000 stages; use fewer stages"));
    assert_null(strstr(list, "the first of three"));
    done(&f);
}

static void sizes_that_do_not_fit_are_refused(void **state) {
    (void)state;
    static const struct {
        int64_t count;
        int64_t stages;
        int64_t align;
    } cases[] = {
        {INT64_MAX, 1, 0},
        {INT64_MAX / 8, 1, 0},                   /* the bytes */
        {INT64_C(1) << 40, INT64_C(1) << 40, 0}, /* of all stages */
        {INT64_MAX / 16, 2, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture f = make("sm_90");
        const spad_block_request request = {.name = "x",
                                            .scope = "shared.dyn",
                                            .shape = SPAD_SHAPE(cases[i].count, 4),
                                            .dtype = SPAD_FLOAT32,
                                            .stages = cases[i].stages,
                                            .align = cases[i].align};
        const spad_status status = refused(&f, request);
        assert_true(status == SPAD_ERR_OVERFLOW || status == SPAD_ERR_SHAPE);
        done(&f);
    }
}

static void requests_that_contradict_themselves_are_refused(void **state) {
    (void)state;
    static const int64_t arrivals[] = {1};
    static const struct {
        spad_block_request request;
        spad_status status;
    } cases[] = {
        /* a barrier without arrivals, or of another type than theirs */
        {{.name = "b", .scope = "shared.barrier"}, SPAD_ERR_ARGUMENT},
        {{.name = "b", .scope = "shared.barrier", .arrival_count = 1}, SPAD_ERR_ARGUMENT},
        {{.name = "b",
          .scope = "shared.barrier",
          .arrival_count = 1,
          .arrivals = arrivals,
          .dtype = SPAD_FLOAT32},
         SPAD_ERR_DTYPE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture f = make("sm_90");
        assert_int_equal(refused(&f, cases[i].request), cases[i].status);
        done(&f);
    }
}

static void numbers_of_nothing_are_refused(void **state) {
    (void)state;
    fixture f = make("sm_90");
    spad_block_buffer info;
    bytes(&f, "x", "shared.dyn", 16);
    static const int64_t numbers[] = {-1, 1, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        assert_int_equal(spad_block_get(&info, f.block, numbers[i], &f.error), SPAD_ERR_ARGUMENT);
    }
    done(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_list_of_buffers_is_cut),
        cmocka_unit_test(sizes_that_do_not_fit_are_refused),
        cmocka_unit_test(requests_that_contradict_themselves_are_refused),
        cmocka_unit_test(numbers_of_nothing_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
