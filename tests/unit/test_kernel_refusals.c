/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels from calls: what the builder, the walk, hoisting and the analysis refuse, with the
 * message of each. A refused call adds nothing: the kernel is what it would be without it. */
#include <string.h>

#include "kernel/kernel_builder.h"
#include "spad/spad.h"
#include "support/kernels.h"
#include "support/support.h"

static spad__kernel_builder *new_builder(const char *target) {
    spad_error error;
    const spad_target *chip;
    spad__kernel_builder *builder;
    assert_ok(spad_target_find(&chip, target, &error), &error);
    assert_ok(spad__kernel_builder_create(&builder, "k", NULL, chip, NULL, &error), &error);
    return builder;
}

/* The kernel as text; the builder is gone. */
static test_text finish(spad__kernel_builder *builder) {
    spad_error error;
    spad_kernel *kernel;
    test_text text;
    test_text_init(&text);
    assert_ok(spad__kernel_builder_finish(&kernel, builder, &error), &error);
    assert_ok(spad_kernel_write_text(kernel, &text.sink, &error), &error);
    spad_kernel_destroy(kernel);
    spad__kernel_builder_destroy(builder);
    return text;
}

static spad_expr number(spad__kernel_builder *b, int64_t value) {
    spad_error error;
    spad_expr expr;
    assert_ok(spad__kernel_builder_number(&expr, b, value, &error), &error);
    return expr;
}

#define REFUSED(call, status, words)                   \
    do {                                               \
        assert_int_equal(call, status);                \
        assert_int_equal(error.code, status);          \
        assert_non_null(strstr(error.message, words)); \
    } while (0)

/* ---- operations and their clauses -------------------------------------------------- */

static void clauses_need_an_operation(void **state) {
    (void)state;
    static const char words[] = "there is no operation to add this to";
    spad_error error = {0};
    spad__kernel_builder *b = new_builder("trn2");
    const spad_kernel_completion completion = {.kind = SPAD_COMPLETION_SIGNAL};
    for (int round = 0; round < 2; round++) { /* of an empty kernel, and after another statement */
        REFUSED(spad__kernel_builder_cost(b, SPAD_COST_NS, number(b, 1), &error), SPAD_ERR_ARGUMENT,
                words);
        REFUSED(spad__kernel_builder_group(b, 0, &error), SPAD_ERR_ARGUMENT, words);
        REFUSED(spad__kernel_builder_completion(b, &completion, &error), SPAD_ERR_ARGUMENT, words);
        REFUSED(spad__kernel_builder_access(b, &(spad_kernel_access){0}, &error), SPAD_ERR_ARGUMENT,
                words);
        const spad_statement fence = spad__statement_of(SPAD_STATEMENT_FENCE, -1);
        if (round == 0) assert_ok(spad__kernel_builder_statement(b, &fence, &error), &error);
    }
    test_text text = finish(b);
    assert_string_equal(text.bytes, "kernel k on trn2\nfence\n");
    test_text_free(&text);
}

static void clauses_that_are_wrong_are_refused(void **state) {
    (void)state;
    spad_error error = {0};
    int64_t group;
    int64_t counter;
    spad__kernel_builder *b = new_builder("trn2");
    assert_ok(spad__kernel_builder_sync(&group, b, SPAD_SYNC_GROUP, "g", (spad_amounts){0},
                                        (spad_amount){0}, &error),
              &error);
    assert_ok(spad__kernel_builder_sync(&counter, b, SPAD_SYNC_COUNTER, "c", (spad_amounts){0},
                                        (spad_amount){0}, &error),
              &error);
    assert_ok(spad__kernel_builder_operation(b, "vector", "op", &error), &error);
    REFUSED(spad__kernel_builder_cost(b, (spad_cost_kind)77, number(b, 1), &error),
            SPAD_ERR_ARGUMENT, "a cost is in cycles or in ns");
    REFUSED(spad__kernel_builder_cost(b, SPAD_COST_NS, 12345, &error), SPAD_ERR_UNKNOWN,
            "expression");
    REFUSED(spad__kernel_builder_group(b, group, &error), SPAD_ERR_ARGUMENT,
            "only an operation on a unit belongs to a group; declare one for engine 'vector'");
    spad_kernel_completion completion = {.kind = (spad_completion_kind)77, .object = counter};
    REFUSED(spad__kernel_builder_completion(b, &completion, &error), SPAD_ERR_ARGUMENT,
            "no such kind of completion");
    completion.kind = SPAD_COMPLETION_ARRIVE; /* at a counter */
    assert_int_not_equal(spad__kernel_builder_completion(b, &completion, &error), SPAD_OK);
    test_text text = finish(b);
    assert_non_null(strstr(text.bytes, "\nvector op\n"));
    test_text_free(&text);
}

/* ---- declarations and blocks ------------------------------------------------------- */

static void regions_lie_in_their_space(void **state) {
    (void)state;
    static const struct {
        size_t space;
        int64_t lower, upper;
        int behaviour;
        spad_status status;
    } cases[] = {
        {99, 0, 10, SPAD_STACK_EXACT, SPAD_ERR_UNKNOWN},
        {1, 0, 10, 77, SPAD_ERR_UNKNOWN},
        {1, -1, 10, SPAD_STACK_EXACT, SPAD_ERR_BOUNDS},
        {1, 11, 10, SPAD_STACK_EXACT, SPAD_ERR_BOUNDS},
        {1, 0, INT64_MAX, SPAD_STACK_EXACT, SPAD_ERR_BOUNDS},
    };
    spad_error error = {0};
    spad__kernel_builder *b = new_builder("trn2");
    const spad_target *target;
    size_t sbuf;
    assert_ok(spad_target_find(&target, "trn2", &error), &error);
    assert_ok(spad_target_find_space(&sbuf, target, "sbuf", &error), &error);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const spad_amount lower = {.value = cases[i].lower};
        const spad_amount upper = {.value = cases[i].upper};
        assert_int_equal(
            spad__kernel_builder_region(b, cases[i].space == 1 ? sbuf : cases[i].space, lower,
                                        upper, (spad_stack_behaviour)cases[i].behaviour, &error),
            cases[i].status);
    }
    test_text text = finish(b);
    assert_null(strstr(text.bytes, "region"));
    test_text_free(&text);
}

static void an_else_follows_its_if(void **state) {
    (void)state;
    spad_error error = {0};
    spad_expr i;
    spad__kernel_builder *b = new_builder("trn2");
    REFUSED(spad__kernel_builder_else(b, &error), SPAD_ERR_ARGUMENT, "an else without its if");
    assert_ok(spad__kernel_builder_for(&i, b, "i", (spad_amount){0}, (spad_amount){.value = 4},
                                       false, &error),
              &error);
    REFUSED(spad__kernel_builder_else(b, &error), SPAD_ERR_ARGUMENT, "an else without its if");
    const spad_comparison less = {.left = i, .right = number(b, 2), .relation = SPAD_LESS};
    assert_ok(spad__kernel_builder_if(b, &less, 1, &error), &error);
    assert_ok(spad__kernel_builder_else(b, &error), &error);
    REFUSED(spad__kernel_builder_else(b, &error), SPAD_ERR_ARGUMENT, "an else without its if");
    assert_ok(spad__kernel_builder_end(b, &error), &error);
    assert_ok(spad__kernel_builder_end(b, &error), &error);
    assert_int_not_equal(spad__kernel_builder_end(b, &error), SPAD_OK);
    test_text text = finish(b);
    assert_non_null(strstr(text.bytes, "if i < 2 {"));
    test_text_free(&text);
}

static void names_are_words(void **state) {
    (void)state;
    char longest[65];
    memset(longest, 'n', 64);
    longest[64] = '\0';
    const char *const wrong[] = {NULL, "", "9x", "-x", "a b", "a:", longest};
    spad_error error = {0};
    spad__kernel_builder *b = new_builder("trn2");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        spad_expr expr;
        const spad_amount one = {.value = 1};
        assert_int_equal(spad__kernel_builder_param(&expr, b, wrong[i], one, &error),
                         SPAD_ERR_NAME);
        assert_int_equal(spad__kernel_builder_scope(b, wrong[i], one, &error), SPAD_ERR_NAME);
    }
    test_text text = finish(b);
    assert_string_equal(text.bytes, "kernel k on trn2\n");
    test_text_free(&text);
}

/* ---- hoisting and walks ------------------------------------------------------------ */

static void what_cannot_be_hoisted_is_refused(void **state) {
    (void)state;
    static const char words[] = "only an auto tensor that is declared in a loop";
    static const struct {
        const char *body;
        int64_t tensor;
        int64_t tiles;
        bool hoisted;
    } cases[] = {
        {"tensor t : sbuf bf16 (128, 8)\nvector op writes t", 0, 2, true},
        {"tensor t : sbuf bf16 (128, 8)\nvector op writes t", 0, 0, false},
        {"tensor t : sbuf bf16 (128, 8)\nvector op writes t", -1, 2, false},
        {"tensor t : sbuf bf16 (128, 8)\nvector op writes t", 1, 2, false},
        {"tensor t : sbuf bf16 (128, 8)\ntensor a : sbuf bf16 (128, 4) alias of t\n"
         "vector op writes a",
         0, 2, false},
        {"tensor t : sbuf bf16 (128, 8)\nvector op writes t\nfree t", 0, 2, false},
        {"tensor t : sbuf bf16 (128, 8)\nalloc t\nvector op writes t", 0, 2, false},
        {"tensor t : sbuf bf16 [4] (128, 8) ring 2\nvector op writes t[i]", 0, 2, true},
        {"tensor t : sbuf bf16 [4, 2] (128, 8) ring 2\nvector op writes t[i, 0]", 0, 2, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_error error = {0};
        char text[500];
        spad_kernel *hoisted = NULL;
        snprintf(text, sizeof text, "kernel k on trn2\nfor i in 0..4 {\n%s\n}\n", cases[i].body);
        spad_kernel *kernel = test_parse(text);
        const spad_status status =
            spad_kernel_hoist(&hoisted, kernel, cases[i].tensor, cases[i].tiles, NULL, &error);
        assert_int_equal(status, cases[i].hoisted ? SPAD_OK : SPAD_ERR_ARGUMENT);
        if (!cases[i].hoisted) assert_non_null(strstr(error.message, words));
        assert_int_equal(hoisted != NULL, cases[i].hoisted);
        spad_kernel_destroy(hoisted);
        spad_kernel_destroy(kernel);
    }
}

static void walks_start_at_agents_that_exist(void **state) {
    (void)state;
    spad_error error = {0};
    spad_walk *walk;
    spad_kernel *kernel = test_parse("kernel k on trn2\nfor i in 0..4 { vector op }\n");
    static const int64_t agents[] = {INT64_MIN, SPAD_WALK_ALL - 1, 1, 7};
    for (size_t i = 0; i < sizeof agents / sizeof agents[0]; i++) {
        const spad_walk_options options = {.agent = agents[i]};
        REFUSED(spad_walk_create(&walk, kernel, &options, &error), SPAD_ERR_ARGUMENT,
                "kernel 'k' has 1 agents, no number ");
        assert_null(walk);
    }
    /* a jump starts at an iteration */
    assert_ok(spad_walk_create(&walk, kernel, NULL, &error), &error);
    REFUSED(spad_walk_jump(walk, 2, &error), SPAD_ERR_ARGUMENT,
            "a jump starts at an iteration event of a loop");
    spad_walk_destroy(walk);
    spad_kernel_destroy(kernel);
}

/* ---- layouts ----------------------------------------------------------------------- */

/* Each space has a region of its own, in whatever order they are declared. */
static void regions_belong_to_their_space(void **state) {
    (void)state;
    spad_error error = {0};
    spad_layout *layout;
    test_text text;
    test_text_init(&text);
    spad_kernel *kernel = test_parse("kernel k on trn2\n"
                                     "region psum 2048..16384 as exact\n"
                                     "region sbuf 4096..65536 as exact\n"
                                     "scope s {\n"
                                     "tensor a : sbuf f32 (128, 64) stack\n"
                                     "tensor b : psum f32 (128, 64) stack\n"
                                     "vector op writes a, b\nvector end reads a, b\n}\n");
    assert_ok(spad_layout_create(&layout, kernel, NULL, &error), &error);
    assert_ok(spad_layout_write(layout, SPAD_FORMAT_CSV, &text.sink, &error), &error);
    assert_non_null(strstr(text.bytes, "4096"));
    assert_non_null(strstr(text.bytes, "2048"));
    test_text_free(&text);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
    kernel = NULL;
    static const char twice[] = "kernel k on trn2\nregion psum 0..2048 as exact\n"
                                "region sbuf 0..4096 as exact\nregion sbuf 0..64 as exact\n";
    assert_int_equal(spad_kernel_parse(&kernel, twice, strlen(twice), "k.spad", NULL, NULL, &error),
                     SPAD_ERR_SYNTAX);
    assert_int_equal(error.line, 4);
    assert_null(kernel);
}

static void layouts_that_do_not_fit_64_bits_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *words;
    } cases[] = {
        {"kernel k on sm_90\nmbarrier m[2305843009213693951] count 1\ninit m[0]\n",
         "2305843009213693951 mbarriers do not fit 64 bits"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_error error = {0};
        spad_layout *layout;
        spad_kernel *kernel = test_parse(cases[i].text);
        const spad_status status = spad_layout_create(&layout, kernel, NULL, &error);
        if (status != SPAD_ERR_OVERFLOW) print_error("case %zu: %s\n", i, error.message);
        assert_int_equal(status, SPAD_ERR_OVERFLOW);
        assert_non_null(strstr(error.message, cases[i].words));
        assert_null(layout);
        spad_kernel_destroy(kernel);
    }
}

/* ---- names ------------------------------------------------------------------------- */

static void notes_and_verdicts_have_words(void **state) {
    (void)state;
    assert_string_equal(spad_analysis_note_name(SPAD_ANALYSIS_DOES_NOT_FIT), "does-not-fit");
    assert_string_equal(spad_analysis_note_name(SPAD_ANALYSIS_TOO_SMALL), "too-small");
    assert_string_equal(spad_analysis_note_name(SPAD_ANALYSIS_PEAK), "peak");
    assert_string_equal(spad_analysis_note_name(SPAD_ANALYSIS_VERDICT), "verdict");
    assert_string_equal(spad_analysis_note_name((spad_analysis_note_code)99), "?");
    assert_string_equal(spad_layout_verdict_phrase(SPAD_PLAN_OPTIMAL),
                        "fits; provably the smallest layout");
    assert_string_equal(spad_layout_verdict_phrase(SPAD_PLAN_FEASIBLE), "fits");
    assert_string_equal(spad_layout_verdict_phrase(SPAD_PLAN_INFEASIBLE), "does not fit");
    assert_string_equal(spad_layout_verdict_phrase(SPAD_PLAN_UNKNOWN),
                        "no layout that fits was found, nor a proof that none exists");
    assert_string_equal(spad_layout_verdict_phrase((spad_plan_verdict)99), "?");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clauses_need_an_operation),
        cmocka_unit_test(clauses_that_are_wrong_are_refused),
        cmocka_unit_test(regions_lie_in_their_space),
        cmocka_unit_test(an_else_follows_its_if),
        cmocka_unit_test(names_are_words),
        cmocka_unit_test(what_cannot_be_hoisted_is_refused),
        cmocka_unit_test(walks_start_at_agents_that_exist),
        cmocka_unit_test(regions_belong_to_their_space),
        cmocka_unit_test(layouts_that_do_not_fit_64_bits_are_refused),
        cmocka_unit_test(notes_and_verdicts_have_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
