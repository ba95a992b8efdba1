/* SPDX-License-Identifier: Apache-2.0
 *
 * What is written about a result and its reason: every proof, clash and change, with the sentence
 * that belongs to it. Results and reasons are filled in by hand, as a program may do. */
#include <string.h>

#include "spad/plan.h"
#include "support/support.h"

typedef struct written {
    test_text text;
    test_text json;
} written;

static written write_both(const spad_plan *plan, spad_plan_result *result,
                          spad_plan_reason *reason) {
    spad_error error;
    written w;
    result->count = spad_plan_count(plan);
    result->fingerprint = spad_plan_get_fingerprint(plan);
    if (reason != NULL) {
        reason->count = result->count;
        reason->fingerprint = result->fingerprint;
    }
    test_text_init(&w.text);
    test_text_init(&w.json);
    assert_ok(spad_plan_write(plan, result, reason, SPAD_FORMAT_TEXT, &w.text.sink, &error),
              &error);
    assert_ok(spad_plan_write(plan, result, reason, SPAD_FORMAT_JSON, &w.json.sink, &error),
              &error);
    return w;
}

static void done(written *w) {
    test_text_free(&w->text);
    test_text_free(&w->json);
}

static void assert_holds(const test_text *text, const char *piece) {
    if (strstr(text->bytes, piece) == NULL) {
        print_error("no \"%s\" in\n%s\n", piece, text->bytes);
        fail();
    }
}

static spad_plan *new_plan(int64_t capacity) {
    spad_error error;
    spad_plan *plan;
    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    assert_ok(spad_plan_set_capacity(plan, capacity, &error), &error);
    return plan;
}

static void add(spad_plan *plan, spad_plan_buffer buffer) {
    spad_error error;
    assert_ok(spad_plan_add(NULL, plan, &buffer, &error), &error);
}

/* ---- bounds ------------------------------------------------------------------------ */

static void each_proof_has_its_words(void **state) {
    (void)state;
    static const struct {
        spad_plan_proof proof;
        int64_t bound;
        int64_t peak_load;
        int64_t bound_time;
        int64_t lanes;
        const char *bound_words;
        const char *why; /* with a capacity of 100 */
        const char *json;
    } cases[] = {
        {SPAD_PLAN_BY_LOAD, 120, 120, 3, 1, "bound     120 B (largest load at time 3)\n",
         "why: at time 3 120 B are live, capacity 100 B, over by 20 B\n", "\"load\""},
        {SPAD_PLAN_BY_LOAD, 128, 120, 3, 1,
         "bound     128 B (largest load at time 3, rounded to the alignment)\n",
         "why: at time 3 120 B are live, 128 B rounded to the alignment, capacity 100 B",
         "\"load\""},
        {SPAD_PLAN_BY_LOAD, 128, 120, 7, 1,
         "bound     128 B (largest load at time 7, rounded to the alignment)\n",
         "why: at time 7 sizes rounded to the alignment take 128 B, capacity 100 B", "\"load\""},
        {SPAD_PLAN_BY_LOAD, 120, 120, 3, 4, "bound     120 B (largest load at time 3)\n",
         "why: at time 3 120 B are live on average over 4 lanes, capacity 100 B", "\"load\""},
        {SPAD_PLAN_BY_BUFFER, 120, 80, 3, 1, "bound     120 B (top of 'tall')\n",
         "why: 'tall' alone reaches 120 B, capacity 100 B", "\"buffer\""},
        {SPAD_PLAN_BY_BANKS, 120, 80, 5, 1, "bound     120 B (banks needed at time 5)\n",
         "why: the banks needed at time 5 reach 120 B, capacity 100 B", "\"banks\""},
        {SPAD_PLAN_BY_LANES, 120, 80, 5, 4, "bound     120 B (lanes needed at time 5)\n",
         "why: the lanes needed at time 5 reach 120 B, capacity 100 B", "\"lanes\""},
        {SPAD_PLAN_BY_SEARCH, 120, 80, 3, 1, "bound     120 B (proved by search)\n",
         "why: at time 3 80 B are live, which would fit in 100 B, but no plan does", "\"search\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_plan *plan = new_plan(100);
        add(plan, (spad_plan_buffer){.name = "low", .upper = 9, .size = 8});
        add(plan, (spad_plan_buffer){.name = "tall", .upper = 9, .size = 8});
        spad_plan_result result = {.verdict = SPAD_PLAN_INFEASIBLE,
                                   .height = SPAD_UNBOUNDED,
                                   .bound = cases[i].bound,
                                   .proof = cases[i].proof,
                                   .bound_time = cases[i].bound_time,
                                   .bound_buffer = 1,
                                   .peak_time = 3,
                                   .peak_load = cases[i].peak_load,
                                   .peak_lanes = cases[i].lanes};
        spad_plan_reason reason = {.proved = true, .over = 20, .works_at = SPAD_UNBOUNDED};
        written w = write_both(plan, &result, &reason);
        assert_holds(&w.text, cases[i].bound_words);
        assert_holds(&w.text, cases[i].why);
        assert_holds(&w.text, "verdict   infeasible (proved)\n");
        assert_holds(&w.json, cases[i].json);
        done(&w);
        spad_plan_destroy(plan);
    }
}

/* ---- what is in the way ------------------------------------------------------------ */

static void each_rule_in_the_way_is_named(void **state) {
    (void)state;
    static const spad_plan_gap gap = {2, 4, 0, 0};
    static const spad_space wide = {
        .name = "wide", .lanes = 4, .bytes = 1000, .alignment = 1, .granule = 1};
    static const struct {
        spad_plan_buffer first;
        const spad_space *space;
        bool alias, apart;
        const char *words;
    } cases[] = {
        {{.size = 8}, NULL, false, false, "; the lifetimes interlock"},
        {{.size = 8, .alignment = 4}, NULL, false, false, "; in the way: alignments\n"},
        {{.size = 8, .bank = 16}, NULL, false, false, "; in the way: banks\n"},
        {{.size = 8, .gaps = &gap, .gap_count = 1},
         NULL,
         false,
         false,
         "; in the way: gaps and windows\n"},
        {{.size = 8}, &wide, false, false, "; in the way: lanes\n"},
        {{.size = 8}, NULL, true, false, "; in the way: aliases\n"},
        {{.size = 8}, NULL, false, true, "; in the way: buffers kept apart\n"},
        {{.size = 8, .pinned = true, .offset = 16, .alignment = 2},
         NULL,
         false,
         true,
         "; in the way: 'a' pinned at 16, buffers kept apart, alignments\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_error error;
        spad_plan *plan = new_plan(SPAD_UNBOUNDED);
        if (cases[i].space != NULL)
            assert_ok(spad_plan_set_space(plan, cases[i].space, &error), &error);
        spad_plan_buffer first = cases[i].first;
        first.name = "a";
        first.upper = 9;
        add(plan, first);
        add(plan, (spad_plan_buffer){.name = "b", .upper = 9, .size = 8});
        if (cases[i].alias) assert_ok(spad_plan_alias(plan, 0, 1, &error), &error);
        if (cases[i].apart) assert_ok(spad_plan_apart(plan, 0, 1, &error), &error);
        spad_plan_result result = {.verdict = SPAD_PLAN_UNKNOWN,
                                   .height = SPAD_UNBOUNDED,
                                   .proof = SPAD_PLAN_BY_SEARCH,
                                   .peak_lanes = 1};
        spad_plan_reason reason = {.works_at = SPAD_UNBOUNDED};
        written w = write_both(plan, &result, &reason);
        assert_holds(&w.text, cases[i].words);
        assert_holds(&w.text, ", but no plan was found");
        assert_holds(&w.text, "verdict   unknown (not found in time, no proof)\n");
        assert_holds(&w.text, "height    no plan\n");
        done(&w);
        spad_plan_destroy(plan);
    }
}

static void many_pins_are_counted(void **state) {
    (void)state;
    spad_plan *plan = new_plan(1000);
    for (int i = 0; i < 12; i++) {
        add(plan, (spad_plan_buffer){.upper = 9, .size = 8, .pinned = true, .offset = 8 * i});
    }
    spad_plan_result result = {
        .verdict = SPAD_PLAN_INFEASIBLE, .proof = SPAD_PLAN_BY_SEARCH, .peak_lanes = 1};
    spad_plan_reason reason = {.proved = true, .works_at = SPAD_UNBOUNDED};
    written w = write_both(plan, &result, &reason);
    assert_holds(&w.text, " pinned at 0, ");
    assert_holds(&w.text, " more pins\n");
    done(&w);
    spad_plan_destroy(plan);
}

/* ---- clashes and changes ----------------------------------------------------------- */

static void each_clash_has_its_words(void **state) {
    (void)state;
    static const struct {
        spad_plan_clash clash;
        const char *words;
    } cases[] = {
        {SPAD_PLAN_CLASH_PINS, " are pinned and share bytes while both are live\n"},
        {SPAD_PLAN_CLASH_APART_PINS,
         " are pinned so that they share bytes, but must be kept apart\n"},
        {SPAD_PLAN_CLASH_ALIAS_PINS, " are aliases, but pinned at different offsets\n"},
        {SPAD_PLAN_CLASH_ALIAS_RULE,
         " are aliases, and the pin of the first breaks the alignment, bank or lanes of the "
         "second\n"},
        {SPAD_PLAN_CLASH_ALIAS_APART,
         " share bytes as aliases or slices, but must be kept apart\n"},
        {SPAD_PLAN_CLASH_ALIAS_LANES, " are aliases, but have no start lane in common\n"},
        {SPAD_PLAN_CLASH_SLICES, " are at two different distances by their slices and aliases\n"},
    };
    spad_error error;
    static const spad_space wide = {
        .name = "wide", .lanes = 4, .bytes = 1000, .alignment = 1, .granule = 1};
    spad_plan *plan = new_plan(SPAD_UNBOUNDED);
    assert_ok(spad_plan_set_space(plan, &wide, &error), &error);
    add(plan, (spad_plan_buffer){
                  .name = "a", .lower = 1, .upper = 9, .size = 8, .pinned = true, .lane = 2});
    add(plan, (spad_plan_buffer){.name = "b", .upper = 5, .size = 16});
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_plan_result result = {.verdict = SPAD_PLAN_INFEASIBLE,
                                   .height = SPAD_UNBOUNDED,
                                   .clash = cases[i].clash,
                                   .clash_second = 1};
        spad_plan_reason reason = {
            .proved = true, .clash = cases[i].clash, .clash_second = 1, .works_at = SPAD_UNBOUNDED};
        written w = write_both(plan, &result, &reason);
        assert_holds(&w.text, "why: 'a' (8 B, from 1 to 9, offset 0, lane 2) and "
                              "'b' (16 B, from 0 to 5)");
        assert_holds(&w.text, cases[i].words);
        assert_null(strstr(w.text.bytes, "bound "));
        done(&w);
    }
    spad_plan_destroy(plan);
}

static void changes_that_help_are_listed(void **state) {
    (void)state;
    static const spad_plan_change changes[] = {
        {.kind = SPAD_PLAN_SHORTEN, .buffer = 0, .amount = 4},
        {.kind = SPAD_PLAN_SHORTEN, .buffer = 0, .amount = 6, .late = true},
        {.kind = SPAD_PLAN_SPILL, .buffer = 1, .amount = 16},
        {.kind = SPAD_PLAN_ALIGN, .buffer = 1, .amount = 4},
    };
    static const char *const names[] = {"\"shorten\"", "\"shorten\"", "\"spill\"", "\"align\""};
    static const char *const words[] = {"fits if 'a' (live 1 to 9) ends at 4\n",
                                        "fits if 'a' (live 1 to 9) begins at 6\n",
                                        "fits if 'b' (16 B) is moved to another memory\n",
                                        "fits if alignment 32 of 'b' becomes 4\n"};
    spad_plan *plan = new_plan(20);
    add(plan, (spad_plan_buffer){.name = "a", .lower = 1, .upper = 9, .size = 8});
    add(plan, (spad_plan_buffer){.name = "b", .upper = 5, .size = 16, .alignment = 32});
    spad_plan_result result = {.verdict = SPAD_PLAN_INFEASIBLE,
                               .proof = SPAD_PLAN_BY_SEARCH,
                               .height = SPAD_UNBOUNDED,
                               .peak_lanes = 1};
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        /* with and without a capacity that works */
        for (int known = 0; known < 2; known++) {
            spad_plan_reason reason = {.proved = true,
                                       .over = 4,
                                       .works_at = known != 0 ? 24 : SPAD_UNBOUNDED,
                                       .changes = &changes[i],
                                       .change_count = 1};
            written w = write_both(plan, &result, &reason);
            assert_holds(&w.text, words[i]);
            assert_holds(&w.json, names[i]);
            assert_int_equal(
                strstr(w.text.bytes, "smallest capacity known to work: 24 B, 4 B more\n") != NULL,
                known);
            done(&w);
        }
    }
    spad_plan_destroy(plan);
}

/* A plan has a height and a distance from its bound, whose share is rounded up. */
static void a_plan_has_a_gap(void **state) {
    (void)state;
    spad_plan *plan = new_plan(SPAD_UNBOUNDED);
    spad_plan_place places[] = {{0, 0}, {8, 0}};
    add(plan, (spad_plan_buffer){.name = "a", .upper = 9, .size = 8});
    add(plan, (spad_plan_buffer){.name = "b", .upper = 9, .size = 8});
    spad_plan_result result = {.verdict = SPAD_PLAN_FEASIBLE,
                               .places = places,
                               .height = 16,
                               .bound = 12,
                               .peak_lanes = 1};
    written w = write_both(plan, &result, NULL);
    assert_holds(&w.text, "height    16 B\n");
    assert_holds(&w.text, "gap       4 B (33.334 %)\n");
    assert_holds(&w.text, "verdict   feasible\n");
    assert_holds(&w.json, "\"gap\": 4");
    done(&w);
    spad_plan_destroy(plan);
}

static void times_are_in_the_unit_that_suits(void **state) {
    (void)state;
    static const struct {
        int64_t nanoseconds;
        const char *words;
    } cases[] = {{9999000, "9999 us"},    {10000000, "10.0 ms"}, {50850000, "50.8 ms"},
                 {999999999, "999.9 ms"}, {1000000000, "1.0 s"}, {INT64_C(20370000000), "20.3 s"}};
    spad_plan *plan = new_plan(SPAD_UNBOUNDED);
    spad_plan_place places[] = {{0, 0}};
    add(plan, (spad_plan_buffer){.upper = 9, .size = 8});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spad_plan_result result = {
            .places = places, .height = 8, .bound = 8, .nanoseconds = cases[i].nanoseconds};
        written w = write_both(plan, &result, NULL);
        assert_holds(&w.text, cases[i].words);
        done(&w);
    }
    spad_plan_destroy(plan);
}

/* A proof by pairs whose bytes are rounded up, and a reason that names no buffer. */
static void pairs_are_rounded(void **state) {
    (void)state;
    spad_plan *plan = new_plan(20);
    add(plan, (spad_plan_buffer){.upper = 9, .size = 12});
    add(plan, (spad_plan_buffer){.upper = 9, .size = 12});
    size_t both[] = {0, 1};
    spad_plan_result result = {.verdict = SPAD_PLAN_INFEASIBLE,
                               .proof = SPAD_PLAN_BY_PAIRS,
                               .bound = 32,
                               .together = both,
                               .together_count = 2,
                               .together_bytes = 24,
                               .clash = SPAD_PLAN_CLASH_PINS,
                               .clash_second = 1,
                               .height = SPAD_UNBOUNDED};
    spad_plan_reason reason = {.clash = SPAD_PLAN_CLASH_PINS, .clash_second = 1};
    written w = write_both(plan, &result, &reason);
    assert_holds(&w.json, "\"buffer\": 1,\n        \"size\": 12\n");
    done(&w);
    result.clash = SPAD_PLAN_NO_CLASH;
    w = write_both(plan, &result, NULL);
    assert_holds(&w.text, "2 buffers of which no two may share bytes, rounded to the alignment)\n");
    done(&w);
    result.bound = 24;
    w = write_both(plan, &result, NULL);
    assert_holds(&w.text, "2 buffers of which no two may share bytes)\n");
    done(&w);
    spad_plan_destroy(plan);
}

/* Numbers that are no verdict, proof, clash or change have no words, and do no harm. */
static void numbers_that_mean_nothing_have_no_words(void **state) {
    (void)state;
    spad_plan *plan = new_plan(20);
    const spad_plan_change change = {.kind = (spad_plan_change_kind)99};
    add(plan, (spad_plan_buffer){.name = "a", .upper = 9, .size = 8});
    spad_plan_result result = {.verdict = (spad_plan_verdict)99,
                               .proof = (spad_plan_proof)99,
                               .bound = 30,
                               .height = SPAD_UNBOUNDED};
    spad_plan_reason reason = {.works_at = 30, .over = 10, .changes = &change, .change_count = 1};
    assert_string_equal(spad_plan_verdict_name((spad_plan_verdict)99), "unknown");
    written w = write_both(plan, &result, &reason);
    assert_holds(&w.text, "bound     30 B ()\n");
    assert_holds(&w.text, "why: , capacity 20 B, over by 10 B\n");
    assert_holds(&w.text, "smallest capacity known to work: 30 B\n  fits if \n");
    done(&w);
    reason.clash = result.clash = (spad_plan_clash)99;
    w = write_both(plan, &result, &reason);
    assert_holds(&w.text, "why: 'a' (8 B, from 0 to 9) and 'a' (8 B, from 0 to 9) \n");
    done(&w);
    spad_plan_destroy(plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_proof_has_its_words),
        cmocka_unit_test(times_are_in_the_unit_that_suits),
        cmocka_unit_test(pairs_are_rounded),
        cmocka_unit_test(each_rule_in_the_way_is_named),
        cmocka_unit_test(many_pins_are_counted),
        cmocka_unit_test(each_clash_has_its_words),
        cmocka_unit_test(changes_that_help_are_listed),
        cmocka_unit_test(a_plan_has_a_gap),
        cmocka_unit_test(numbers_that_mean_nothing_have_no_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
