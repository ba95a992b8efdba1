/* SPDX-License-Identifier: Apache-2.0
 * CSV of buffers: what is read, what is written, what is refused and where. */
#include <string.h>

#include "spad/plan.h"
#include "support/support.h"

static spad_plan *read_text(const char *text, spad_status *status, spad_error *error) {
    spad_plan *plan;
    assert_ok(spad_plan_create(&plan, NULL, error), error);
    *status = spad_plan_read_csv(plan, text, strlen(text), "in.csv", NULL, error);
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
         "the header has no column 'lower' or 'start'; it needs lower, upper and "
         "size"},
        {"id,lower,uper,size\n", SPAD_ERR_UNKNOWN, 1, 10,
         "unknown column 'uper'; did you mean 'upper'?"},
        {"lower,size,size\n", SPAD_ERR_NAME, 1, 12, "column 'size' appears twice"},
        {"lower,upper,size\n1,2,x\n", SPAD_ERR_SYNTAX, 2, 5,
         "size 'x' is not a whole number such as 4096, 0x1000 or 4KiB"},
        {"lower,upper,size\n1,2,99999999999999999999\n", SPAD_ERR_OVERFLOW, 2, 5,
         "size '99999999999999999999' does not fit 64 bits"},
        {"lower,upper,size\n1,2\n", SPAD_ERR_SYNTAX, 2, 3, "the row has 2 cells, the header has 3"},
        {"lower,upper,size\n1,2,3,4\n", SPAD_ERR_SYNTAX, 2, 7,
         "the row has more cells than the 3 of the header"},
        {"id,start,end,size\na,5,3,1\n", SPAD_ERR_ARGUMENT, 2, 5,
         "the end 3, which is the last time, is before the start 5"},
        {"Id,Start,END,Sise\n", SPAD_ERR_UNKNOWN, 1, 14,
         "unknown column 'Sise'; did you mean 'size' or 'slice'?"},
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
         "buffer number 0 has a size of 9,223,372,036,854,775,807 B; the most is "
         "9,223,372,036,854,775,806 B"},
        {"lower,upper,size\n0,1,-\n", SPAD_ERR_SYNTAX, 2, 5,
         "size '-' is not a whole number such as 4096, 0x1000 or 4KiB"},
        {"lower,upper,size\n0,1,4KB\n", SPAD_ERR_SYNTAX, 2, 5,
         "size '4KB' is not a whole number such as 4096, 0x1000 or 4KiB"},
        {"lower,upper,size\n4KiB,9,1\n", SPAD_ERR_SYNTAX, 2, 1,
         "lower '4KiB' is not a whole number"},
        {"lower,upper,size,alignmnt\n0,1,4,8\n", SPAD_ERR_UNKNOWN, 1, 18,
         "unknown column 'alignmnt'; did you mean 'alignment'?"},
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
    assert_ok(spad_plan_read_csv(plan, text, strlen(text), "in.csv", NULL, &error), &error);
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
    status = spad_plan_read_csv(plan, text, strlen(text), "in.csv", NULL, &error);
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

/* Reads a text that is right, solves it, and writes its rows. */
static void assert_rows(const char *text, size_t count, const char *written) {
    spad_error error;
    spad_status status;
    spad_plan *plan = read_text(text, &status, &error);
    assert_ok(status, &error);
    assert_int_equal(spad_plan_count(plan), count);
    spad_plan_result *result;
    test_text out;
    test_text_init(&out);
    assert_ok(spad_plan_solve(&result, plan, NULL, &error), &error);
    assert_ok(spad_plan_write_csv(plan, 0, result, text, strlen(text), &out.sink, &error), &error);
    assert_string_equal(out.bytes, written);
    test_text_free(&out);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

static void other_columns_are_left_alone(void **state) {
    (void)state;
    assert_rows("name,lower,upper,size,dtype,offset\na,0,2,4,bf16,\nb,1,3,2,,\n", 2,
                "name,lower,upper,size,dtype,offset\na,0,2,4,bf16,0\nb,1,3,2,,4\n");
}

static void cells_may_be_in_quotes(void **state) {
    (void)state;
    static const char text[] = "\"id\",lower,upper,size,note\n"
                               "\"a,b\",0,2, \"4\" ,\"he said \"\"no\"\"\"\n"
                               "\"c\"\"d\",0,2,4,\"open\nx\"y,0,2,4,\n";
    assert_rows(text, 3,
                "\"id\",lower,upper,size,note,offset\n"
                "\"a,b\",0,2,\"4\",\"he said \"\"no\"\"\",0\n"
                "\"c\"\"d\",0,2,4,\"open,4\nx\"y,0,2,4,,8\n");
    spad_error error;
    spad_status status;
    spad_plan *plan = read_text(text, &status, &error);
    assert_string_equal(spad_plan_get(plan, 0)->name, "a,b");
    assert_string_equal(spad_plan_get(plan, 1)->name, "c\"d");
    assert_string_equal(spad_plan_get(plan, 2)->name, "x\"y");
    spad_plan_destroy(plan);
}

static void semicolons_and_tabs_divide_cells(void **state) {
    (void)state;
    assert_rows("id;lower;upper;size\na,b;0;2;4\n", 1, "id;lower;upper;size;offset\na,b;0;2;4;0\n");
    assert_rows("id\tlower\tupper\tsize\tapart\na\t0\t2\t4\tb c\nb\t 3 \t4\t1\t\nc\t5\t6\t1\t\n", 3,
                "id\tlower\tupper\tsize\tapart\toffset\na\t0\t2\t4\tb c\t0\nb\t3\t4\t1\t\t4\n"
                "c\t5\t6\t1\t\t4\n");
}

static void bytes_have_units(void **state) {
    (void)state;
    spad_error error;
    spad_status status;
    spad_plan *plan = read_text("lower,upper,size,alignment,offset,hint\n"
                                "0,2,4KiB,0x40,,\n0,2,1 MiB,1,0x2000,2GiB\n",
                                &status, &error);
    assert_ok(status, &error);
    assert_int_equal(spad_plan_get(plan, 0)->size, 4096);
    assert_int_equal(spad_plan_get(plan, 0)->alignment, 64);
    assert_int_equal(spad_plan_get(plan, 1)->size, 1 << 20);
    assert_int_equal(spad_plan_get(plan, 1)->offset, 0x2000);
    assert_int_equal(spad_plan_get(plan, 1)->hint, INT64_C(2) << 30);
    spad_plan_destroy(plan);
}

static void bytes_are_parsed_or_refused(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t bytes;
    } cases[] = {{"0", 0},
                 {"64B", 64},
                 {"1TiB", INT64_C(1) << 40},
                 {"0XfF", 255},
                 {"4,096", 4096},
                 {"163,840 B", 163840},
                 {"1,048,576", 1048576},
                 {"1,024KiB", 1048576},
                 {",096", -1},
                 {"4096,000", -1},
                 {"4,09", -1},
                 {"4,0960", -1},
                 {"4,096,", -1},
                 {"0x4,096", -1},
                 {"9223372036854775807", INT64_MAX},
                 {"0x7fffffffffffffff", INT64_MAX},
                 {"", -1},
                 {"0x", -1},
                 {"KiB", -1},
                 {"4 ", -1},
                 {"4  KiB", -1},
                 {"0x10KiB", -1},
                 {"-4", -1},
                 {"4kib", -1},
                 {"8GiBs", -1},
                 {"9223372036854775808", -1},
                 {"9007199254740992KiB", -1},
                 {"0x8000000000000000", -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t bytes = -1;
        const bool fine = spad_bytes_parse(&bytes, cases[i].text, strlen(cases[i].text));
        assert_int_equal(bytes, cases[i].bytes); /* unchanged if it is refused */
        assert_int_equal(fine, cases[i].bytes >= 0);
    }
}

static void every_row_that_is_wrong_is_reported(void **state) {
    (void)state;
    static const char text[] = "id,lower,upper,end\n";
    static const char rows[] = "id,lower,end,size\na,0,1,x\nb,0,1,4\nc,5,1,4\nd,0,1\ne,0,1,4,5\n"
                               "b,0,1,4\n";
    spad_error error;
    spad_plan *plan;
    spad_diagnostics *faults;
    bool inclusive = false;
    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    assert_ok(spad_diagnostics_create(&faults, NULL, &error), &error);
    spad_plan_csv_options options = {.diagnostics = faults, .end_inclusive = &inclusive};
    assert_int_equal(spad_plan_read_csv(plan, rows, strlen(rows), "in.csv", &options, &error),
                     SPAD_ERR_SYNTAX);
    assert_string_equal(error.message,
                        "size 'x' is not a whole number such as 4096, 0x1000 or 4KiB");
    assert_int_equal(spad_plan_count(plan), 0);
    assert_true(inclusive);
    static const int lines[] = {2, 4, 5, 6, 7}, columns[] = {7, 5, 5, 9, 1};
    assert_int_equal(spad_diagnostics_count(faults), 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(spad_diagnostics_get(faults, i)->line, lines[i]);
        assert_int_equal(spad_diagnostics_get(faults, i)->column, columns[i]);
    }
    /* without a header there are no rows to look at */
    assert_int_equal(spad_plan_read_csv(plan, text, strlen(text), "in.csv", &options, &error),
                     SPAD_ERR_NAME);
    assert_int_equal(spad_diagnostics_count(faults), 1);
    /* no more than the collection has room for */
    char many[1024] = "lower,upper,size\n";
    for (int i = 0; i < 50; i++) strcat(many, "1,1,1\n");
    assert_int_equal(spad_plan_read_csv(plan, many, strlen(many), "in.csv", &options, &error),
                     SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_diagnostics_count(faults), SPAD_DIAGNOSTICS_MAX);
    options.end_exclusive = true;
    static const char right[] = "lower,end,size\n0,1,4\n";
    assert_ok(spad_plan_read_csv(plan, right, strlen(right), "in.csv", &options, &error), &error);
    assert_int_equal(spad_plan_get(plan, 0)->upper, 1);
    assert_false(inclusive);
    assert_int_equal(spad_diagnostics_count(faults), 0);
    spad_diagnostics_destroy(faults);
    spad_plan_destroy(plan);
}

static void there_is_a_limit_to_columns(void **state) {
    (void)state;
    char text[4096] = "lower,upper,size";
    for (int i = 0; i < 300; i++) strcat(text, ",xyzzy");
    spad_error error;
    spad_status status;
    spad_plan *plan = read_text(text, &status, &error);
    assert_string_equal(error.message, "more than 256 columns");
    assert_int_equal(status, SPAD_ERR_SYNTAX);
    spad_plan_destroy(plan);
}

static spad_status collect_under(const spad_host *host, void *context) {
    const char *text = context;
    spad_plan *plan;
    spad_diagnostics *faults;
    spad_error error;
    spad_status status = spad_plan_create(&plan, NULL, &error);
    assert_ok(status, &error);
    status = spad_diagnostics_create(&faults, host, &error);
    if (status == SPAD_OK) {
        const spad_plan_csv_options options = {.diagnostics = faults};
        status = spad_plan_read_csv(plan, text, strlen(text), "in.csv", &options, &error);
        if (status == SPAD_ERR_SYNTAX) status = SPAD_OK; /* as it should be */
        spad_diagnostics_destroy(faults);
    }
    spad_plan_destroy(plan);
    return status;
}

static void faults_survive_failing_allocations(void **state) {
    (void)state;
    char text[] = "id,lower,upper,size\na,0,9,x\nb,0,9,y\n";
    test_fail_each_allocation(collect_under, text);
}

/* A quote at the very end of the text, closed and not. */
static void quotes_end_with_the_text(void **state) {
    (void)state;
    spad_error error;
    spad_status status;
    spad_plan *plan = read_text("lower,upper,size\n0,2,\"4\"", &status, &error);
    assert_ok(status, &error);
    assert_int_equal(spad_plan_get(plan, 0)->size, 4);
    spad_plan_destroy(plan);
    plan = read_text("lower,upper,size\n0,2,\"4", &status, &error);
    assert_int_equal(status, SPAD_ERR_SYNTAX);
    assert_int_equal(error.column, 5);
    spad_plan_destroy(plan);
}

/* Words that are too long for a message are cut. */
static void long_words_are_cut(void **state) {
    (void)state;
#define LONG "abcdefghijklmnopqrstuvwxyzabcdefghijklmn"
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"id,lower,upper,size,slice\na,0,1,4,\nb,0,1,2," LONG "xx\n",
         "slice '" LONG "' is not of the form id@64"},
        {"id,lower,upper,size,apart\na,0,1,4," LONG "xx\n", "apart: there is no buffer '" LONG "'"},
        {"id,lower,upper,size,apart\n" LONG "xx,0,1,4," LONG "xx\n",
         "apart: buffer '" LONG "' cannot be kept apart from itself"},
        {"lower,upper,size\n0:1,0:" LONG ",4\n",
         "upper '0:abcdefghijklmnopqrstuvwxyzabcdefghijkl' is not a vector clock such as 2:1"},
        {"lower,upper,size\n0,1:1,4\n", "lower has 1 numbers and upper has 2"},
        {"lower,end,size,gaps\n0,9,4,1-9223372036854775807\n",
         "gap '1-9223372036854775807' is not of the form 7-9 or 7-9@0:64"}};
#undef LONG
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spad_error error;
        spad_status status;
        spad_plan *plan = read_text(cases[i].text, &status, &error);
        assert_string_equal(error.message, cases[i].message);
        assert_true(status != SPAD_OK);
        assert_int_equal(spad_plan_count(plan), 0);
        spad_plan_destroy(plan);
    }
}

static const spad_space lanes_of_banks = {.name = "pad",
                                          .lanes = 4,
                                          .bytes = 4096,
                                          .alignment = 1,
                                          .granule = 1,
                                          .bank_bytes = 64,
                                          .banks_exclusive = true};

/* Rules of the space have no column: the size is what breaks them. */
static void rules_of_the_space_blame_the_size(void **state) {
    (void)state;
    static const char text[] = "lower,upper,size\n0,1,4\n0,1,65\n";
    spad_plan *plan;
    spad_error error;
    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    assert_ok(spad_plan_set_space(plan, &lanes_of_banks, &error), &error);
    assert_int_equal(spad_plan_read_csv(plan, text, strlen(text), "in.csv", NULL, &error),
                     SPAD_ERR_NO_FIT);
    assert_string_equal(error.message, "buffer number 1 of 65 B does not fit a bank of 64 B");
    assert_int_equal(error.line, 3);
    assert_int_equal(error.column, 5);
    spad_plan_destroy(plan);
}

static void lanes_are_written(void **state) {
    (void)state;
    static const char text[] = "lane,lower,upper,size,lanes,offset\n2,0,1,4,2,8\n,0,1,4,2,\n";
    static const char short_rows[] = "lane,lower,upper,size,lanes,offset\n2,0\n,0,1\n";
    spad_plan *plan;
    spad_error error;
    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    assert_ok(spad_plan_set_space(plan, &lanes_of_banks, &error), &error);
    assert_ok(spad_plan_read_csv(plan, text, strlen(text), "in.csv", NULL, &error), &error);
    assert_int_equal(spad_plan_get(plan, 0)->lane, 2);
    spad_plan_place places[2] = {{8, 2}, {16, 1}};
    const spad_plan_result mine = {
        .count = 2, .fingerprint = spad_plan_get_fingerprint(plan), .places = places};
    test_text out;
    test_text_init(&out);
    assert_ok(spad_plan_write_csv(plan, 0, &mine, text, strlen(text), &out.sink, &error), &error);
    assert_string_equal(out.bytes,
                        "lower,upper,size,lanes,offset,lane\n0,1,4,2,8,2\n0,1,4,2,16,1\n");
    test_text_clear(&out); /* rows may have fewer cells than the header */
    assert_ok(
        spad_plan_write_csv(plan, 0, &mine, short_rows, strlen(short_rows), &out.sink, &error),
        &error);
    assert_string_equal(out.bytes, "lower,upper,size,lanes,offset,lane\n0,8,2\n0,1,16,1\n");
    test_text_free(&out);
    spad_plan_destroy(plan);
}

/* No memory is no fault of the text, and ends the reading. */
static spad_status read_with_faults(const spad_host *host, void *context) {
    const char *text = context;
    spad_plan *plan;
    spad_diagnostics *faults;
    spad_error error;
    assert_ok(spad_diagnostics_create(&faults, NULL, &error), &error);
    spad_status status = spad_plan_create(&plan, host, &error);
    if (status == SPAD_OK) {
        const spad_plan_csv_options options = {.diagnostics = faults};
        status = spad_plan_read_csv(plan, text, strlen(text), "in.csv", &options, &error);
        assert_int_equal(spad_diagnostics_count(faults), 0);
        spad_plan_destroy(plan);
    }
    spad_diagnostics_destroy(faults);
    return status;
}

static void no_memory_is_no_fault_of_the_text(void **state) {
    (void)state;
    char text[] = "id,lower,upper,size,gaps,alias,slice\n"
                  "a,0,9,8,1-2,g,\nb,0,9,1,,,a@4\nc,0,9,1,,g,\n";
    test_fail_each_allocation(read_with_faults, text);
    char clocks[] = "lower,upper,size\n0:0,1:0,4\n0:1,1:2,4\n";
    test_fail_each_allocation(read_with_faults, clocks);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_column_is_read),
                                       cmocka_unit_test(other_columns_are_left_alone),
                                       cmocka_unit_test(quotes_end_with_the_text),
                                       cmocka_unit_test(long_words_are_cut),
                                       cmocka_unit_test(rules_of_the_space_blame_the_size),
                                       cmocka_unit_test(lanes_are_written),
                                       cmocka_unit_test(no_memory_is_no_fault_of_the_text),
                                       cmocka_unit_test(cells_may_be_in_quotes),
                                       cmocka_unit_test(semicolons_and_tabs_divide_cells),
                                       cmocka_unit_test(bytes_have_units),
                                       cmocka_unit_test(bytes_are_parsed_or_refused),
                                       cmocka_unit_test(every_row_that_is_wrong_is_reported),
                                       cmocka_unit_test(there_is_a_limit_to_columns),
                                       cmocka_unit_test(faults_survive_failing_allocations),
                                       cmocka_unit_test(end_is_the_last_moment),
                                       cmocka_unit_test(faults_have_a_place),
                                       cmocka_unit_test(rows_come_back_with_their_offsets),
                                       cmocka_unit_test(rows_begin_where_the_text_was_read),
                                       cmocka_unit_test(reading_survives_failing_allocations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
