/* SPDX-License-Identifier: Apache-2.0
 * Rows in several memories: each named, or one of several; what is refused; rows out and in again.
 */
#include <string.h>

#include "spad/experimental/spaces.h"
#include "support/support.h"

static spad_spaces *new_spaces(void) {
    spad_error error;
    spad_spaces *spaces;
    assert_ok(spad_spaces_create(&spaces, NULL, &error), &error);
    return spaces;
}

static void add(spad_spaces *spaces, const char *name, int64_t capacity, int64_t cost) {
    spad_error error;
    const spad_tier memory = {.name = name, .capacity = capacity, .cost = cost};
    assert_ok(spad_spaces_add_memory(NULL, spaces, &memory, &error), &error);
}

static void read_text(spad_spaces *spaces, const char *text) {
    spad_error error;
    assert_ok(spad_spaces_read_csv(spaces, text, strlen(text), "t.csv", NULL, &error), &error);
}

static spad_spaces_result *solve(const spad_spaces *spaces) {
    spad_error error;
    spad_spaces_result *r;
    const spad_plan_options options = {.goal = SPAD_PLAN_DECIDE, .timeout_ns = 60000000000};
    assert_ok(spad_spaces_solve(&r, spaces, &options, &error), &error);
    return r;
}

static void check_rows(const spad_spaces *spaces, const spad_spaces_result *r, const char *text,
                       const char *wanted) {
    spad_error error;
    test_text sink;
    test_text_init(&sink);
    assert_ok(spad_spaces_write_csv(spaces, r, text, strlen(text), &sink.sink, &error), &error);
    assert_string_equal(sink.bytes, wanted);
    test_text_free(&sink);
}

/* All rules of a plan, references and labels within each memory. */
static void each_row_names_its_memory(void **state) {
    (void)state;
    const char *text = "id,start,end,size,space,alias,slice,note\n"
                       "a,0,3,10,sbuf,,,\"p, q\"\n"
                       "b,0,3,4,psum,g,,\n"
                       "c,2,4,10,sbuf,g,,\n"
                       "d,1,2,4,sbuf,g,,\n"
                       "\n"
                       "e,1,2,2,psum,,b@2,z\n";
    spad_spaces *spaces = new_spaces();
    add(spaces, "sbuf", 20, 0);
    add(spaces, "psum", SPAD_UNBOUNDED, 0);
    read_text(spaces, text);
    assert_int_equal(spad_spaces_count(spaces), 2);
    assert_string_equal(spad_spaces_get(spaces, 1)->name, "psum");
    assert_null(spad_spaces_get(spaces, 2));
    assert_null(spad_spaces_get_space(spaces, 2));
    spad_spaces_result *r = solve(spaces);
    assert_true(r->verdict <= SPAD_PLAN_FEASIBLE && r->tiers == NULL && r->count == 2);
    assert_int_equal(r->parts[0].result->height, 20);
    assert_int_equal(r->parts[1].result->height, 4);
    check_rows(spaces, r, text,
               "id,start,end,size,space,alias,slice,note,offset\n"
               "a,0,3,10,sbuf,,,\"p, q\",0\n"
               "b,0,3,4,psum,g,,,0\n"
               "c,2,4,10,sbuf,g,,,10\n"
               "d,1,2,4,sbuf,g,,,10\n"
               "e,1,2,2,psum,,b@2,z,2\n");
    spad_spaces_result_destroy(r);
    spad_spaces_destroy(spaces);
}

/* Pairs that should not share bytes are soft constraints in each memory. */
static void rows_avoid_others_of_their_memory(void **state) {
    (void)state;
    const char *text = "id,lower,upper,size,space,avoid\n"
                       "a,0,1,4,m,\nb,1,2,4,m,a\nc,0,2,1,m,\nd,2,3,9,m,\ne,0,1,3,n,\n";
    spad_spaces *spaces = new_spaces();
    read_text(spaces, text);
    spad_spaces_result *r = solve(spaces);
    const spad_plan_result *m = r->parts[0].result;
    assert_int_equal(m->height, 9);
    assert_true(m->places[0].offset >= m->places[1].offset + 4 ||
                m->places[1].offset >= m->places[0].offset + 4);
    spad_spaces_result_destroy(r);
    spad_spaces_destroy(spaces);
}

/* The output of a plan with moves is a text in which every row names one memory. */
static void a_row_that_may_choose_moves(void **state) {
    (void)state;
    const char *text = "id;lower;end;size;space;uses;home;kept;constant\n"
                       "\"x\";0;9;60;fast|slow;0 9;;;\n"
                       "y;3;4;90;fast;;;no;\n"
                       "x.2;3;4;1;slow;;;;\n"
                       "w;5;5;30;;;slow;yes;no\n";
    spad_spaces *spaces = new_spaces();
    add(spaces, "fast", 100, 0);
    add(spaces, "slow", SPAD_UNBOUNDED, 1);
    read_text(spaces, text);
    spad_spaces_result *r = solve(spaces);
    assert_int_equal(r->verdict, SPAD_PLAN_OPTIMAL);
    assert_int_equal(r->tiers->cost, 2 * 60 + 2 + 30);
    assert_int_equal(r->tiers->moved, 120);
    assert_int_equal(r->parts[0].result->count, 3);
    spad_error error;
    test_text sink;
    test_text_init(&sink);
    assert_ok(spad_spaces_write_csv(spaces, r, text, strlen(text), &sink.sink, &error), &error);
    spad_spaces *again = new_spaces();
    add(again, "fast", 100, 0);
    add(again, "slow", SPAD_UNBOUNDED, 1);
    read_text(again, sink.bytes);
    spad_spaces_result *same = solve(again);
    assert_int_equal(same->verdict, SPAD_PLAN_OPTIMAL);
    check_rows(again, same, sink.bytes, sink.bytes);
    static const char *const rows[] = {
        "id;lower;end;size;space;uses;home;kept;constant;offset\n\"x\";0;0;60;fast;0 9;;;;",
        "\n\"x..2\";1;8;60;slow;0 9;;;;",
        "\n\"x.3\";9;9;60;fast;0 9;;;;",
        "\ny;3;4;90;fast;;;no;;",
        "\nx.2;3;4;1;slow;;;;;",
        "\nw;5;5;30;slow;;slow;yes;no;"};
    for (size_t k = 0; k < 6; k++) assert_non_null(strstr(sink.bytes, rows[k]));
    test_text_free(&sink);
    spad_spaces_result_destroy(same);
    spad_spaces_destroy(again);
    spad_spaces_result_destroy(r);
    spad_spaces_destroy(spaces);
}

static void names_of_the_text_are_memories(void **state) {
    (void)state;
    const char *text = "lower,upper,size,space\n0,2,8,a\n0,2,8,b\n1,3,8,a\n";
    assert_true(spad_spaces_in_csv(text, strlen(text)));
    assert_false(spad_spaces_in_csv("lower,upper,size\n", 17));
    spad_spaces *spaces = new_spaces();
    read_text(spaces, text);
    spad_spaces_result *r = solve(spaces);
    assert_int_equal(r->verdict, SPAD_PLAN_OPTIMAL);
    assert_int_equal(r->parts[0].result->height, 16);
    check_rows(spaces, r, text, "lower,upper,size,space,offset\n0,2,8,a,0\n0,2,8,b,0\n1,3,8,a,8\n");
    spad_spaces_result_destroy(r);
    spad_spaces_destroy(spaces);
}

/* Without the column all rows may be anywhere; without an id stays have no names. */
static void rows_without_a_name_may_be_anywhere(void **state) {
    (void)state;
    const char *text = "lower,upper,size\n0,2,8\n0,2,8\n";
    spad_spaces *spaces = new_spaces();
    add(spaces, "a", 8, 0);
    add(spaces, "b", 8, 1);
    read_text(spaces, text);
    spad_spaces_result *r = solve(spaces);
    assert_int_equal(r->tiers->cost, 16);
    check_rows(spaces, r, text, "lower,upper,size,space,offset\n0,2,8,b,0\n0,2,8,a,0\n");
    spad_spaces_result_destroy(r);
    spad_spaces_destroy(spaces);
}

static void a_target_has_the_rules(void **state) {
    (void)state;
    const char *text = "id,lower,upper,size,lanes,space\na,0,2,8,128,psum\nb,0,2,8,32,sbuf\n";
    spad_error error;
    const spad_target *target;
    assert_ok(spad_target_find(&target, "trn2", &error), &error);
    spad_spaces *spaces = new_spaces();
    spad_spaces_set_target(spaces, target);
    read_text(spaces, text);
    assert_string_equal(spad_spaces_get_space(spaces, 1)->name, "sbuf");
    spad_spaces_result *r = solve(spaces);
    assert_true(r->verdict <= SPAD_PLAN_FEASIBLE);
    check_rows(spaces, r, text,
               "id,lower,upper,size,lanes,space,offset,lane\n"
               "a,0,2,8,128,psum,0,0\nb,0,2,8,32,sbuf,0,0\n");
    spad_spaces_result_destroy(r);
    spad_spaces_destroy(spaces);
    spaces = new_spaces();
    spad_spaces_set_target(spaces, target);
    const spad_tier large = {.name = "psum", .capacity = INT64_C(1) << 40};
    assert_int_equal(spad_spaces_add_memory(NULL, spaces, &large, &error), SPAD_ERR_BOUNDS);
    const char *choice = "lower,upper,size,space\n0,2,8,sbuf|psum\n";
    assert_int_equal(spad_spaces_read_csv(spaces, choice, strlen(choice), "t", NULL, &error),
                     SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_spaces_count(spaces), 0);
    spad_spaces_destroy(spaces);
}

/* Rows may choose, and one of the memories has rules: its alignment is that of the rows. */
static void rules_of_one_lane_are_joined(void **state) {
    (void)state;
    const spad_space rows[] = {
        {.name = "near", .about = "", .lanes = 1, .bytes = 64, .alignment = 4, .granule = 6}};
    const spad_target target = {
        .name = "t", .about = "", .family = "host", .space_count = 1, .spaces = rows};
    const char *text = "lower,upper,size,space\n0,2,8,near|far\n0,2,8,near|far\n0,2,8,far\n";
    spad_spaces *spaces = new_spaces();
    spad_spaces_set_target(spaces, &target);
    add(spaces, "near", SPAD_UNBOUNDED, 0);
    add(spaces, "far", SPAD_UNBOUNDED, 1);
    read_text(spaces, text);
    assert_int_equal(spad_spaces_get(spaces, 0)->capacity, 64);
    spad_spaces_result *r = solve(spaces);
    assert_int_equal(r->tiers->cost, 16);
    assert_int_equal(r->tiers->stays[0].offset + r->tiers->stays[1].offset, 12);
    spad_spaces_result_destroy(r);
    spad_spaces_destroy(spaces);
}

static void what_does_not_fit_has_a_reason(void **state) {
    (void)state;
    const char *text = "lower,upper,size,space\n0,2,8,a\n0,2,8,b\n1,3,8,b\n";
    spad_error error;
    spad_spaces *spaces = new_spaces();
    add(spaces, "a", 8, 0);
    add(spaces, "b", 15, 1);
    read_text(spaces, text);
    spad_spaces_result *r = solve(spaces);
    assert_int_equal(r->verdict, SPAD_PLAN_INFEASIBLE);
    assert_null(r->parts[0].reason);
    assert_int_equal(r->parts[1].reason->over, 1);
    test_text sink;
    test_text_init(&sink);
    assert_int_equal(spad_spaces_write_csv(spaces, r, text, strlen(text), &sink.sink, &error),
                     SPAD_ERR_ARGUMENT);
    assert_ok(spad_spaces_write(spaces, r, SPAD_FORMAT_TEXT, &sink.sink, &error), &error);
    assert_non_null(strstr(sink.bytes, "\nspace     b, 15 B\n"));
    assert_ok(spad_spaces_write(spaces, r, SPAD_FORMAT_JSON, &sink.sink, &error), &error);
    assert_non_null(strstr(sink.bytes, "\"why\""));
    test_text_free(&sink);
    spad_spaces_result_destroy(r);
    spad_spaces_destroy(spaces);
    spaces = new_spaces();
    add(spaces, "a", 8, 0);
    add(spaces, "b", 15, 1);
    read_text(spaces, "lower,upper,size\n0,2,16\n");
    r = solve(spaces);
    assert_int_equal(r->verdict, SPAD_PLAN_INFEASIBLE);
    assert_null(r->parts[0].result);
    test_text_init(&sink);
    assert_int_equal(spad_spaces_write_csv(spaces, r, text, strlen(text), &sink.sink, &error),
                     SPAD_ERR_ARGUMENT);
    assert_ok(spad_spaces_write(spaces, r, SPAD_FORMAT_JSON, &sink.sink, &error), &error);
    assert_null(strstr(sink.bytes, "\"plan\""));
    test_text_free(&sink);
    spad_spaces_result_destroy(r);
    spad_spaces_destroy(spaces);
}

static void memories_that_cannot_be_are_refused(void **state) {
    (void)state;
    spad_error error;
    spad_spaces *spaces = new_spaces();
    spad_spaces_result *r;
    const spad_tier bad[] = {{.capacity = 1}, {.name = ""}, {"x", -1, 0}, {"x", 0, -1}};
    for (size_t k = 0; k < 4; k++)
        assert_int_equal(spad_spaces_add_memory(NULL, spaces, &bad[k], &error), SPAD_ERR_ARGUMENT);
    for (int k = 0; k < SPAD_TIERS_MEMORIES; k++) {
        const char name[] = {(char)('a' + k), '\0'};
        add(spaces, name, 5, 0);
    }
    const spad_tier more = {"more", 1, 0};
    const spad_tier taken = {"a", 1, 0};
    assert_int_equal(spad_spaces_add_memory(NULL, spaces, &more, &error), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_spaces_add_memory(NULL, spaces, &taken, &error), SPAD_ERR_NAME);
    assert_int_equal(spad_spaces_solve(&r, spaces, NULL, &error), SPAD_ERR_ARGUMENT);
    read_text(spaces, "lower,upper,size,space\n");
    assert_int_equal(spad_spaces_add_memory(NULL, spaces, &more, &error), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_spaces_read_csv(spaces, "", 0, "t", NULL, &error), SPAD_ERR_ARGUMENT);
    const spad_plan_options wrong = {.node_limit = -1};
    assert_int_equal(spad_spaces_solve(&r, spaces, &wrong, &error), SPAD_ERR_ARGUMENT);
    spad_spaces_destroy(spaces);
    spad_spaces_destroy(NULL);
    spad_spaces_result_destroy(NULL);
}

/* The status, and what its message has; nothing is left behind. */
static void refuse(const char *text, spad_status status, const char *words) {
    spad_error error;
    spad_spaces *spaces = new_spaces();
    add(spaces, "a", 100, 0);
    add(spaces, "b", SPAD_UNBOUNDED, 1);
    assert_int_equal(spad_spaces_read_csv(spaces, text, strlen(text), "t", NULL, &error), status);
    if (strstr(error.message, words) == NULL) assert_string_equal(error.message, words);
    assert_int_equal(spad_spaces_read_csv(spaces, text, strlen(text), "t", NULL, NULL), status);
    spad_diagnostics *faults;
    assert_ok(spad_diagnostics_create(&faults, NULL, &error), &error);
    const spad_plan_csv_options all = {.diagnostics = faults};
    assert_int_equal(spad_spaces_read_csv(spaces, text, strlen(text), "t", &all, &error), status);
    assert_true(spad_diagnostics_count(faults) > 0);
    spad_diagnostics_destroy(faults);
    read_text(spaces, "lower,upper,size,space\n0,1,1,a\n");
    spad_spaces_destroy(spaces);
}

static void rows_that_cannot_be_are_refused(void **state) {
    (void)state;
    refuse("lower,upper,size,space\n0,1,1,c\n", SPAD_ERR_UNKNOWN, "no memory 'c'");
    refuse("lower,upper,size,space\n0,1,1,a|c\n", SPAD_ERR_UNKNOWN, "no memory 'c'");
    refuse("lower,upper,size,spce\n0,1,1,a\n", SPAD_ERR_UNKNOWN, "space");
    refuse("lower,upper,size,space,use\n0,1,1,a,\n", SPAD_ERR_UNKNOWN, "uses");
    refuse("lower,upper,space\n0,1,a\n", SPAD_ERR_SYNTAX, "no column 'size'");
    refuse("lower,upper,size,space,gaps\n0,9,1,a|b,1-2\n", SPAD_ERR_ARGUMENT, "column 'gaps'");
    refuse("lower,upper,size,space,offset\n0,9,1,a|b,-1\n0,9,1,a,0\n", SPAD_ERR_ARGUMENT,
           "column 'offset'");
    refuse("lower,upper,size,space\n0:0,9:1,1,a|b\n", SPAD_ERR_ARGUMENT, "vector clocks");
    refuse("lower,upper,size,space,uses\n0,9,1,a|b,x\n", SPAD_ERR_SYNTAX, "use 'x'");
    refuse("lower,upper,size,space,uses\n0,9,1,a|b,9\n", SPAD_ERR_SYNTAX, "use '9'");
    refuse("lower,upper,size,space,uses\n1,9,1,a|b,0\n", SPAD_ERR_SYNTAX, "use '0'");
    refuse("lower,upper,size,space,uses\n0,9,1,a|b,3 3\n", SPAD_ERR_SYNTAX, "use '3'");
    refuse("lower,upper,size,space,kept\n0,9,1,a|b,si\n", SPAD_ERR_SYNTAX, "kept is yes or no");
    refuse("lower,upper,size,space,kept\n0,9,1,a|b,1\n", SPAD_ERR_ARGUMENT, "needs a home");
    refuse("lower,upper,size,space,home\n0,9,1,a|b,c\n", SPAD_ERR_UNKNOWN, "home");
    refuse("lower,upper,size,space\n0,9,9223372036854775806,a|b\n", SPAD_ERR_OVERFLOW, "64 bits");
    spad_error error;
    spad_spaces *spaces = new_spaces();
    const char *text = "lower,upper,size,space\n0,1,1,\n";
    assert_int_equal(spad_spaces_read_csv(spaces, text, strlen(text), "t", NULL, &error),
                     SPAD_ERR_ARGUMENT);
    const spad_target *target;
    assert_ok(spad_target_find(&target, "trn2", &error), &error);
    spad_spaces_set_target(spaces, target);
    const char *unknown = "lower,upper,size,space\n0,1,1,\n0,1,1,x\n";
    assert_int_equal(spad_spaces_read_csv(spaces, unknown, strlen(unknown), "t", NULL, &error),
                     SPAD_ERR_UNKNOWN);
    spad_spaces_destroy(spaces);
    spaces = new_spaces(); /* 17 names */
    const char *many = "lower,upper,size,space\n0,1,1,a|b|c|d|e|f|g|h|i|j|k|l|m|n|o|p|q\n";
    assert_int_equal(spad_spaces_read_csv(spaces, many, strlen(many), "t", NULL, &error),
                     SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_spaces_count(spaces), 0);
    spad_spaces_destroy(spaces);
}

/* Alignments whose common multiple is too large. */
/* The name of a memory ends at a zero byte, so the second pass would not find it again. */
static void names_with_a_zero_byte_are_refused(void **state) {
    (void)state;
    static const char text[] = "id,lower,upper,size,space\nc,2,4,10,sq\0\0\0\n";
    spad_error error;
    spad_spaces *spaces = new_spaces();
    for (int turn = 0; turn < 2; turn++) {
        assert_int_equal(spad_spaces_read_csv(spaces, text, sizeof text - 1, "t.csv", NULL, &error),
                         SPAD_ERR_NAME);
        assert_non_null(strstr(error.message, "zero byte"));
    }
    read_text(spaces, "lower,upper,size,space\n0,1,1,sq\n");
    spad_spaces_destroy(spaces);
}

static void alignments_without_a_multiple(void **state) {
    (void)state;
    spad_error error;
    const spad_space rows[] = {{.name = "near",
                                .about = "",
                                .lanes = 1,
                                .bytes = SPAD_UNBOUNDED,
                                .alignment = (INT64_C(1) << 40) + 1,
                                .granule = 1}};
    const spad_target target = {
        .name = "t", .about = "", .family = "host", .space_count = 1, .spaces = rows};
    const char *text = "lower,upper,size,alignment,space\n0,2,0,1099511627776,near|far\n";
    spad_spaces *spaces = new_spaces();
    spad_spaces_set_target(spaces, &target);
    add(spaces, "far", SPAD_UNBOUNDED, 1);
    assert_int_equal(spad_spaces_read_csv(spaces, text, strlen(text), "t", NULL, &error),
                     SPAD_ERR_OVERFLOW);
    spad_spaces_destroy(spaces);
}

static void another_text_is_not_written(void **state) {
    (void)state;
    const char *text = "lower,upper,size,space\n0,2,8,a\n";
    const char *longer = "lower,upper,size,space\n0,2,8,a\n0,2,8,a\n";
    spad_error error;
    test_text sink;
    test_text_init(&sink);
    spad_spaces *spaces = new_spaces();
    read_text(spaces, text);
    spad_spaces_result *r = solve(spaces);
    assert_int_equal(spad_spaces_write_csv(spaces, r, longer, strlen(longer), &sink.sink, &error),
                     SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_spaces_write_csv(spaces, r, "x", 1, &sink.sink, &error), SPAD_ERR_SYNTAX);
    test_text_free(&sink);
    spad_spaces_result_destroy(r);
    spad_spaces_destroy(spaces);
}

static int discard(void *context, const char *bytes, size_t count) {
    (void)context;
    (void)bytes;
    (void)count;
    return 0;
}

static spad_status run_all(const spad_host *host, const char *text, bool collect) {
    spad_error error;
    spad_spaces *spaces;
    spad_spaces_result *r = NULL;
    spad_diagnostics *faults = NULL;
    const spad_tier memories[] = {{"a", 100, 0}, {"b", SPAD_UNBOUNDED, 1}};
    const spad_sink sink = {discard, NULL};
    spad_status status = spad_spaces_create(&spaces, host, &error);
    for (size_t k = 0; k < 2 && status == SPAD_OK; k++)
        status = spad_spaces_add_memory(NULL, spaces, &memories[k], &error);
    if (collect && status == SPAD_OK) status = spad_diagnostics_create(&faults, host, &error);
    const spad_plan_csv_options options = {.diagnostics = faults};
    if (status == SPAD_OK)
        status = spad_spaces_read_csv(spaces, text, strlen(text), "t", &options, &error);
    if (status == SPAD_OK) status = spad_spaces_solve(&r, spaces, NULL, &error);
    if (status == SPAD_OK && r->verdict <= SPAD_PLAN_FEASIBLE)
        status = spad_spaces_write_csv(spaces, r, text, strlen(text), &sink, &error);
    spad_diagnostics_destroy(faults);
    spad_spaces_result_destroy(r);
    spad_spaces_destroy(spaces);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    static const char *const texts[] = {
        ("id,lower,upper,size,space,alias,apart,gaps\n"
         "a,0,9,60,a,g,,1-2\nb,0,2,90,b,g,,\nc,3,9,30,a,,a,\n"),
        "id,lower,upper,size,space,uses,home,kept\nx,0,10,60,a|b,0 9,b,yes\ny,3,5,90,a,,,\n",
        "lower,upper,size,space\n0,9,60,a\n0,9,60,a\n0,9,60,b\n", /* does not fit */
        "lower,upper,size,space\n0,9,60,c\n0,9,60,a\n",
        "id,lower,upper,size,space,avoid\na,0,1,40,a,\nb,1,2,40,a,a\nc,0,1,9,b,\n"};
    static const spad_status ends[] = {SPAD_OK, SPAD_OK, SPAD_OK, SPAD_ERR_UNKNOWN, SPAD_OK};
    for (size_t k = 0; k < 5; k++) {
        for (long n = 1;; n++) {
            test_host host;
            test_host_init(&host);
            host.fail_at = n;
            const spad_status status = run_all(&host.host, texts[k], n % 2 == 0);
            const bool ended = host.calls < n;
            test_host_assert_clean(&host);
            assert_int_equal(status, ended ? ends[k] : SPAD_ERR_HOST_MEMORY);
            if (ended) break;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_row_names_its_memory),
                                       cmocka_unit_test(rows_avoid_others_of_their_memory),
                                       cmocka_unit_test(a_row_that_may_choose_moves),
                                       cmocka_unit_test(names_of_the_text_are_memories),
                                       cmocka_unit_test(rows_without_a_name_may_be_anywhere),
                                       cmocka_unit_test(a_target_has_the_rules),
                                       cmocka_unit_test(rules_of_one_lane_are_joined),
                                       cmocka_unit_test(what_does_not_fit_has_a_reason),
                                       cmocka_unit_test(memories_that_cannot_be_are_refused),
                                       cmocka_unit_test(rows_that_cannot_be_are_refused),
                                       cmocka_unit_test(names_with_a_zero_byte_are_refused),
                                       cmocka_unit_test(alignments_without_a_multiple),
                                       cmocka_unit_test(another_text_is_not_written),
                                       cmocka_unit_test(every_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
