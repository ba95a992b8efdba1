/* SPDX-License-Identifier: Apache-2.0
 * CSV of buffers: what is read, what is written, what is refused and where. */
#include <string.h>

#include "spad/plan.h"
#include "support/support.h"

static spad_plan *read_text(const char *text, spad_status *status, spad_error *error) {
    spad_plan *plan;
    assert_ok(spad_plan_create(&plan, NULL, error), error);
    *status = spad_plan_read_csv(plan, text, strlen(text), "in.csv", error);
    return plan;
}

static void every_column_is_read(void **state) {
    (void)state;
    spad_error error;
    spad_status status;
    spad_plan *plan =
        read_text("size, id ,lower,upper,alignment,hint,gaps,offset,bank,alias,apart\r\n"
                  "\n"
                  "64,a,0,9,32,-1,2-4@0:16 5-6,,128,g,c\r\n"
                  "8,b,1,3,1,40,,0,,,\n"
                  "8,c,1,3,1,,,-1,,g,",
                  &status, &error);
    assert_ok(status, &error);
    assert_int_equal(spad_plan_count(plan), 3);
    const spad_plan_buffer *a = spad_plan_get(plan, 0);
    assert_string_equal(a->name, "a");
    assert_int_equal(a->size, 64);
    assert_int_equal(a->alignment, 32);
    assert_int_equal(a->bank, 128);
    assert_false(a->pinned || a->hinted);
    assert_int_equal(a->gap_count, 2);
    assert_int_equal(a->gaps[0].upper, 4);
    assert_int_equal(a->gaps[0].window_upper, 16);
    assert_int_equal(a->gaps[1].lower, 5);
    const spad_plan_buffer *b = spad_plan_get(plan, 1);
    assert_true(b->pinned && b->hinted);
    assert_int_equal(b->hint, 40);
    spad_plan_result *result;
    assert_ok(spad_plan_solve(&result, plan, NULL, &error), &error);
    assert_int_equal(result->verdict, SPAD_PLAN_INFEASIBLE); /* apart from its own alias */
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

static void end_is_the_last_moment(void **state) {
    (void)state;
    spad_error error;
    spad_status status;
    spad_plan *plan = read_text("buffer_id,start,end,size,gaps\na,0,4,1,1-2\n", &status, &error);
    assert_ok(status, &error);
    assert_int_equal(spad_plan_get(plan, 0)->upper, 5);
    assert_int_equal(spad_plan_get(plan, 0)->gaps[0].upper, 3);
    spad_plan_destroy(plan);
}

static void faults_have_a_place(void **state) {
    (void)state;
    static const struct {
        const char *text;
        spad_status status;
        int line, column;
        const char *message;
    } cases[] = {
        {"", SPAD_ERR_SYNTAX, 1, 1,
         "the header has no column 'lower'; it needs lower, upper and "
         "size"},
        {"id,lower,uper,size\n", SPAD_ERR_UNKNOWN, 1, 10,
         "unknown column 'uper'; did you mean 'upper'?"},
        {"lower,size,size\n", SPAD_ERR_NAME, 1, 12, "column 'size' appears twice"},
        {"lower,upper,size\n1,2,x\n", SPAD_ERR_SYNTAX, 2, 5, "size 'x' is not a whole number"},
        {"lower,upper,size\n1,2,99999999999999999999\n", SPAD_ERR_OVERFLOW, 2, 5,
         "size '99999999999999999999' does not fit 64 bits"},
        {"lower,upper,size\n1,2\n", SPAD_ERR_SYNTAX, 2, 3, "the row has 2 cells, the header has 3"},
        {"lower,upper,size\n1,2,3,4\n", SPAD_ERR_SYNTAX, 2, 7,
         "the row has more cells than the 3 of the header"},
        {"id,lower,upper,size\n\nä,5,5,1\n", SPAD_ERR_ARGUMENT, 3, 5,
         "buffer 'ä' lives from 5 to 5: upper must be above lower"},
        {"id,lower,upper,size\na,0,1,1\na,0,1,1\n", SPAD_ERR_NAME, 3, 1,
         "there is already a buffer 'a'"},
        {"id,lower,upper,size\n,0,1,1\n", SPAD_ERR_NAME, 2, 1, "an id is empty"},
        {"lower,upper,size,alignment\n0,1,1,0\n", SPAD_ERR_ALIGNMENT, 2, 7,
         "an alignment of 0; use 1 for none"},
        {"lower,upper,size,gaps\n0,9,1,2-3 4\n", SPAD_ERR_SYNTAX, 2, 11,
         "gap '4' is not of the form 7-9 or 7-9@0:64"},
        {"id,lower,upper,size,apart\na,0,9,1,b\n", SPAD_ERR_UNKNOWN, 2, 9,
         "apart: there is no buffer 'b'"},
        {"id,lower,upper,size,apart\na,0,9,1,a\n", SPAD_ERR_ARGUMENT, 2, 9,
         "apart: buffer 'a' cannot be kept apart from itself"},
        {"lower,upper,size,apart\n0,9,1,\n", SPAD_ERR_SYNTAX, 1, 18,
         "column 'apart' names ids, but there is no column 'id'"},
        {"lower,upper,size\n0,1,9223372036854775807\n", SPAD_ERR_OVERFLOW, 2, 5,
         "buffer number 0 has a size of 9223372036854775807 B; the most is 9223372036854775806 B"},
        {"lower,upper,size\n0,1,-\n", SPAD_ERR_SYNTAX, 2, 5, "size '-' is not a whole number"},
        {"lower,upper,size\n0,1,-7\n", SPAD_ERR_ARGUMENT, 2, 5,
         "buffer number 0 has a negative size of -7 B"},
        {"lower,upper,size,bank\n0,1,4,-8\n", SPAD_ERR_ARGUMENT, 2, 7,
         "buffer number 0 has banks of -8 B; use 0 for none"},
        {"lower,upper,size,bank\n0,1,9,8\n", SPAD_ERR_NO_FIT, 2, 7,
         "buffer number 0 of 9 B does not fit a bank of 8 B"},
        {"lower,upper,size,offset\n0,1,4,-2\n", SPAD_ERR_BOUNDS, 2, 7,
         "offset -2 is negative; use -1 for none"},
        {"lower,upper,size,hint\n0,1,4,-2\n", SPAD_ERR_BOUNDS, 2, 7,
         "hint -2 is negative; use -1 for none"},
        {"lower,upper,size,offset,alignment\n0,1,4,6,4\n", SPAD_ERR_ALIGNMENT, 2, 7,
         "buffer number 0 is pinned at 6, which is not a multiple of its alignment 4"},
        {"lower,upper,size,lane\n0,1,4,0\n", SPAD_ERR_ARGUMENT, 2, 7,
         "lane 0 without an offset; a pin needs both"},
        {"lower,upper,size,offset,lane\n0,1,4,0,3\n", SPAD_ERR_LANES, 2, 9,
         "buffer number 0 of 1 lanes is pinned at lane 3, which is not a start lane for it"},
        {"lower,upper,size,lanes\n0,1,4,2\n", SPAD_ERR_LANES, 2, 7,
         "buffer number 0 takes 2 lanes; no start lane allows that on 1 lanes"},
        {"lower,upper,size,gaps\n0,9,4,1-2 4-4\n", SPAD_ERR_ARGUMENT, 2, 11,
         "gap 4-4 of buffer number 0 is empty, outside the lifetime or not after the gap before "
         "it"},
        {"lower,upper,size,gaps\n0,9,4,1-2@0:5\n", SPAD_ERR_BOUNDS, 2, 7,
         "window 0:5 of a gap of buffer number 0 is outside its 4 B"},
        {"lower,upper,size,bank,alias\n0,9,4,6,g\n0,9,4,8,g\n", SPAD_ERR_ALIGNMENT, 3, 9,
         "aliases number 0 and number 1 have banks of 6 and 8 B; one must divide the other"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spad_error error;
        spad_status status;
        spad_plan *plan = read_text(cases[i].text, &status, &error);
        assert_string_equal(error.message, cases[i].message);
        assert_int_equal(status, cases[i].status);
        assert_int_equal(error.line, cases[i].line);
        assert_int_equal(error.column, cases[i].column);
        assert_string_equal(error.file, "in.csv");
        assert_int_equal(spad_plan_count(plan), 0); /* nothing was added */
        spad_plan_destroy(plan);
    }
}

static void rows_come_back_with_their_offsets(void **state) {
    (void)state;
    static const char text[] = "id,offset,lower,upper,size\nb1,,0,3,4\n\nb2,-1,3,9,4\nb3,8,0,9,4";
    spad_error error;
    spad_status status;
    spad_plan *plan = read_text(text, &status, &error);
    assert_ok(status, &error);
    spad_plan_place places[3] = {{0, 0}, {4, 0}, {8, 0}};
    const spad_plan_result mine = {
        .count = 3, .fingerprint = spad_plan_get_fingerprint(plan), .places = places};
    test_text out;
    test_text_init(&out);
    assert_ok(spad_plan_write_csv(plan, 0, &mine, text, strlen(text), &out.sink, &error), &error);
    assert_string_equal(out.bytes,
                        "id,lower,upper,size,offset\nb1,0,3,4,0\nb2,3,9,4,4\nb3,0,9,4,8\n");
    test_text_clear(&out);
    out.fail_after = 10;
    assert_int_equal(spad_plan_write_csv(plan, 0, &mine, text, strlen(text), &out.sink, &error),
                     SPAD_ERR_IO);
    test_text_free(&out);
    spad_plan_destroy(plan);
}

/* A plan may have had buffers before the text was read. */
static void rows_begin_where_the_text_was_read(void **state) {
    (void)state;
    static const char text[] = "\xEF\xBB\xBFid,lower,upper,size\nx,0,3,4\n";
    spad_plan *plan;
    spad_error error;
    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    const spad_plan_buffer earlier = {.lower = 0, .upper = 9, .size = 4};
    assert_ok(spad_plan_add(NULL, plan, &earlier, &error), &error);
    assert_ok(spad_plan_read_csv(plan, text, strlen(text), "in.csv", &error), &error);
    assert_string_equal(spad_plan_get(plan, 1)->name, "x");
    spad_plan_place places[2] = {{0, 0}, {4, 0}};
    spad_plan_result mine = {
        .count = 2, .fingerprint = spad_plan_get_fingerprint(plan), .places = places};
    test_text out;
    test_text_init(&out);
    assert_ok(spad_plan_write_csv(plan, 1, &mine, text, strlen(text), &out.sink, &error), &error);
    assert_string_equal(out.bytes, "id,lower,upper,size,offset\nx,0,3,4,4\n");
    assert_int_equal(spad_plan_write_csv(plan, 2, &mine, text, strlen(text), &out.sink, &error),
                     SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message,
                        "the text does not have the rows of buffers 2 to 1 of the plan");
    mine.places = NULL;
    mine.verdict = SPAD_PLAN_UNKNOWN;
    assert_int_equal(spad_plan_write_csv(plan, 1, &mine, text, strlen(text), &out.sink, &error),
                     SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "the result has no places: no plan was found (unknown)");
    test_text_free(&out);
    spad_plan_destroy(plan);
}

static spad_status read_under(const spad_host *host, void *context) {
    const char *text = context;
    spad_plan *plan;
    spad_error error;
    spad_status status = spad_plan_create(&plan, host, &error);
    if (status != SPAD_OK) return status;
    status = spad_plan_read_csv(plan, text, strlen(text), "in.csv", &error);
    if (status != SPAD_OK) assert_int_equal(spad_plan_count(plan), 0);
    spad_plan_destroy(plan);
    return status;
}

static void reading_survives_failing_allocations(void **state) {
    (void)state;
    char text[] = "id,lower,upper,size,gaps,alias,apart\n"
                  "a,0,9,1,1-2,g,b\nb,0,9,1,,,\nc,0,9,1,,g,\nd,0,9,1,,h,\n";
    test_fail_each_allocation(read_under, text);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_column_is_read),
                                       cmocka_unit_test(end_is_the_last_moment),
                                       cmocka_unit_test(faults_have_a_place),
                                       cmocka_unit_test(rows_come_back_with_their_offsets),
                                       cmocka_unit_test(rows_begin_where_the_text_was_read),
                                       cmocka_unit_test(reading_survives_failing_allocations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
