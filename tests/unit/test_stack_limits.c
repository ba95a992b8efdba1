/* SPDX-License-Identifier: Apache-2.0
 *
 * The scoped manager at its limits: addresses near 2^60, alignments that do not divide a bank,
 * spaces that round sizes, and what the messages keep when names and numbers are long. */
#include <string.h>

#include "spad/experimental/stack_queries.h"
#include "spad/stack.h"
#include "support/support.h"

#define LIMIT (INT64_C(1) << 60)

static const spad_space spaces[] = {
    {.name = "plain", .lanes = 4, .bytes = SPAD_UNBOUNDED, .alignment = 1, .granule = 1},
    {.name = "even", .lanes = 4, .bytes = SPAD_UNBOUNDED, .alignment = 64, .granule = 1},
    {.name = "bank16",
     .lanes = 4,
     .bytes = SPAD_UNBOUNDED,
     .alignment = 1,
     .granule = 1,
     .bank_bytes = 16,
     .banks_exclusive = true},
    {.name = "bank24",
     .lanes = 4,
     .bytes = SPAD_UNBOUNDED,
     .alignment = 1,
     .granule = 1,
     .bank_bytes = 24,
     .banks_exclusive = true},
    {.name = "bank128",
     .lanes = 4,
     .bytes = SPAD_UNBOUNDED,
     .alignment = 1,
     .granule = 1,
     .bank_bytes = 128,
     .banks_exclusive = true},
    {.name = "bank1m",
     .lanes = 4,
     .bytes = SPAD_UNBOUNDED,
     .alignment = 1,
     .granule = 1,
     .bank_bytes = 1 << 20,
     .banks_exclusive = true},
    {.name = "grains", .lanes = 4, .bytes = 1 << 20, .alignment = 1, .granule = 24},
    {.name = "powers",
     .lanes = 4,
     .bytes = SPAD_UNBOUNDED,
     .alignment = 1,
     .granule = 1,
     .power_of_two = true},
    {.name = "few", .lanes = 4, .bytes = 1000, .reserved = 100, .alignment = 1, .granule = 1},
    {.name = "far",
     .lanes = 1,
     .bytes = SPAD_UNBOUNDED,
     .alignment = 1,
     .granule = 1,
     .off_chip = true},
};
static const spad_target target = {
    .name = "odd", .about = "", .space_count = sizeof spaces / sizeof spaces[0], .spaces = spaces};

static spad_stack *make(const char *space, int64_t lower, int64_t upper,
                        const spad_stack_options *options) {
    spad_error error;
    spad_stack *stack;
    assert_ok(spad_stack_create(&stack, &target, space, lower, upper, options, &error), &error);
    assert_ok(spad_stack_open_scope(stack, 1, NULL, &error), &error);
    return stack;
}

static spad_status put(spad_rect *rect, spad_stack *stack, spad_mode mode, int64_t bytes,
                       int64_t align, spad_error *error) {
    const spad_stack_place place = {.align = align};
    return (mode == SPAD_MODE_STACK ? spad_stack_alloc_stack : spad_stack_alloc_heap)(
        rect, stack, SPAD_SHAPE(1, bytes), SPAD_UINT8, NULL, &place, error);
}

/* ---- addresses --------------------------------------------------------------------- */

typedef struct far_case {
    const char *space;
    spad_stack_options options;
    int64_t lower;
    int64_t upper;
    spad_mode mode;
    int64_t bytes;
    int64_t align;
    int before; /* tensors of these bytes that are there already */
} far_case;

static void addresses_beyond_the_limit_are_refused(void **state) {
    (void)state;
    static const spad_stack_options automatic = {.automatic = true};
    static const spad_stack_options april = {.behaviour = SPAD_STACK_LIBRARY_2026_04,
                                             .automatic = true};
    static const spad_stack_options later = {.behaviour = SPAD_STACK_LIBRARY_LATER,
                                             .automatic = true};
    const int64_t top = SPAD_STACK_TO_THE_TOP;
    const far_case cases[] = {
        /* the alignment alone leads there */
        {"plain", {0}, 1, top, SPAD_MODE_STACK, 8, LIMIT * 2, 0},
        {"plain", automatic, 0, 1, SPAD_MODE_HEAP, 8, LIMIT * 2, 0},
        /* the alignments of the tile and of the space have no common multiple in 64 bits */
        {"even", {0}, 0, top, SPAD_MODE_STACK, 8, INT64_MAX, 0},
        {"even", {0}, 0, top, SPAD_MODE_HEAP, 8, INT64_MAX, 0},
        /* tensors of automatic mode pile up */
        {"plain", automatic, 0, top, SPAD_MODE_STACK, LIMIT, 1, 1},
        {"plain", automatic, 0, top, SPAD_MODE_HEAP, LIMIT, 1, 2},
        /* the next bank begins beyond it, or the next multiple in that bank does */
        {"bank24", {0}, LIMIT - 8, LIMIT, SPAD_MODE_STACK, 24, 1, 0},
        {"bank16", {0}, LIMIT - 8, LIMIT, SPAD_MODE_STACK, 16, 3, 0},
        {"bank24", automatic, 0, 16, SPAD_MODE_HEAP, 24, LIMIT, 0},
        /* a bank's start that the alignment allows too is too far away */
        {"bank1m", {0}, 1, top, SPAD_MODE_STACK, 1 << 20, (INT64_C(1) << 53) + 1, 0},
        {"bank1m", {0}, 0, top, SPAD_MODE_HEAP, 1 << 20, (INT64_C(1) << 53) + 1, 0},
        /* the library's ways */
        {"plain", april, 1, LIMIT, SPAD_MODE_STACK, 8, LIMIT * 2, 0},
        {"plain", april, 0, LIMIT, SPAD_MODE_STACK, LIMIT, 1, 1},
        {"plain", april, 0, LIMIT, SPAD_MODE_HEAP, LIMIT, 1, 2},
        {"plain", later, 0, LIMIT, SPAD_MODE_HEAP, LIMIT, 1, 2},
        {"plain", later, 0, 1, SPAD_MODE_HEAP, 8, LIMIT * 2, 0},
        {"plain", {0}, 0, top, SPAD_MODE_STACK, LIMIT + 1, 1, 0}, /* whatever the place */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const far_case *c = &cases[i];
        spad_error error = {0};
        spad_rect rect;
        spad_stack *stack = make(c->space, c->lower, c->upper, &c->options);
        for (int n = 0; n < c->before; n++) {
            assert_ok(put(&rect, stack, c->mode, c->bytes, c->align, &error), &error);
        }
        const int64_t used = spad_stack_get_used_space(stack);
        assert_int_equal(put(&rect, stack, c->mode, c->bytes, c->align, &error), SPAD_ERR_OVERFLOW);
        assert_non_null(strstr(error.message, "lead to an address beyond 2^60"));
        assert_int_equal(rect.byte, SPAD_NO_BYTE);
        assert_int_equal(spad_stack_get_used_space(stack), used);
        assert_ok(spad_stack_check(stack, &error), &error);
        spad_stack_destroy(stack);
    }
}

static void regions_beyond_the_limit_are_refused(void **state) {
    (void)state;
    static const struct {
        int64_t lower, upper;
    } cases[] = {{-LIMIT - 1, 0}, {LIMIT + 1, LIMIT}, {0, -LIMIT - 1}, {0, LIMIT + 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_error error = {0};
        spad_stack *stack;
        const spad_stack_options options = {.behaviour = SPAD_STACK_LIBRARY_LATER};
        assert_int_equal(spad_stack_create(&stack, &target, "plain", cases[i].lower, cases[i].upper,
                                           &options, &error),
                         SPAD_ERR_BOUNDS);
        assert_non_null(strstr(error.message, "is beyond 2^60"));
        assert_null(stack);
    }
}

/* use_reserved is only advised where it would help. */
static void a_region_in_the_reserve_differs_from_others(void **state) {
    (void)state;
    static const struct {
        int64_t lower, upper;
        bool helps;
    } cases[] = {{0, 901, true},   {0, 1000, true},   {950, 960, true}, {0, 1001, false},
                 {-1, 950, false}, {960, 950, false}, {20, 10, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_error error = {0};
        spad_stack *stack;
        assert_int_equal(
            spad_stack_create(&stack, &target, "few", cases[i].lower, cases[i].upper, NULL, &error),
            SPAD_ERR_BOUNDS);
        assert_int_equal(strstr(error.message, "use_reserved") != NULL, cases[i].helps);
        const spad_stack_options options = {.use_reserved = true};
        const spad_status status = spad_stack_create(&stack, &target, "few", cases[i].lower,
                                                     cases[i].upper, &options, &error);
        assert_int_equal(status == SPAD_OK, cases[i].helps);
        spad_stack_destroy(stack);
    }
}

static void aligning_the_stack_has_limits(void **state) {
    (void)state;
    spad_error error = {0};
    int64_t address;
    const spad_stack_options options = {.behaviour = SPAD_STACK_LIBRARY_LATER};
    spad_stack *stack = make("plain", 1, 100, &options);
    assert_int_equal(spad_stack_align(stack, LIMIT * 2, &error), SPAD_ERR_OVERFLOW);
    assert_string_equal(error.message, "aligning 1 to 2305843009213693952 leads to an address "
                                       "beyond 2^60");
    assert_ok(spad_stack_align(stack, 1024, &error), &error); /* the library goes on */
    assert_ok(spad_stack_get_address(&address, stack, &error), &error);
    assert_int_equal(address, 1024);
    spad_stack_destroy(stack);
    stack = make("plain", 1, 100, NULL);
    assert_int_equal(spad_stack_align(stack, 1024, &error), SPAD_ERR_NO_FIT);
    assert_string_equal(error.subject, "alignment padding");
    assert_ok(spad_stack_get_address(&address, stack, &error), &error);
    assert_int_equal(address, 1);
    spad_stack_destroy(stack);
}

/* ---- banks and sizes --------------------------------------------------------------- */

/* 127 and 128 have their first common multiple at 16256: after so many banks without a place
 * the tile goes to the start of one. */
static void an_alignment_that_fits_no_bank_soon_ends_at_the_start_of_one(void **state) {
    (void)state;
    spad_error error;
    spad_rect rect;
    spad_stack *stack = make("bank128", 1, 1 << 20, NULL);
    assert_ok(put(&rect, stack, SPAD_MODE_STACK, 128, 127, &error), &error);
    assert_int_equal(rect.byte, 127 * 128);
    assert_ok(put(&rect, stack, SPAD_MODE_HEAP, 128, 127, &error), &error);
    assert_int_equal(rect.byte, (1 << 20) / (127 * 128) * (127 * 128));
    /* a smaller one finds a place on the way */
    assert_ok(put(&rect, stack, SPAD_MODE_STACK, 100, 127, &error), &error);
    assert_int_equal(rect.byte % 127, 0);
    assert_true(rect.byte % 128 <= 28);
    /* nothing crosses a bank when it has no bytes */
    assert_ok(put(&rect, stack, SPAD_MODE_STACK, 0, 127, &error), &error);
    assert_int_equal(rect.bytes, 0);
    spad_stack_destroy(stack);
}

static void room_is_counted_in_a_few_banks(void **state) {
    (void)state;
    spad_error error = {0};
    spad_rect rect;
    spad_stack *stack = make("bank16", 1, 1 << 18, NULL);
    assert_int_equal(put(&rect, stack, SPAD_MODE_STACK, 16, 1 << 20, &error), SPAD_ERR_NO_FIT);
    assert_int_equal(error.available, 0); /* at that alignment */
    assert_int_equal(error.largest_hole, (1 << 18) - 1);
    spad_stack_destroy(stack);
}

static void spaces_round_sizes(void **state) {
    (void)state;
    static const struct {
        const char *space;
        int64_t bytes;
        int64_t rounded;
    } cases[] = {{"grains", 1, 24}, {"grains", 48, 48}, {"powers", 5, 8}, {"powers", 64, 64}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int heap = 0; heap < 2; heap++) {
            spad_error error;
            spad_rect rect;
            const spad_stack_options options = {.default_heap = heap != 0};
            spad_stack *stack = make(cases[i].space, 0, 1 << 20, &options);
            assert_ok(spad_stack_alloc(&rect, stack, SPAD_SHAPE(2, cases[i].bytes), SPAD_UINT8,
                                       NULL, NULL, &error),
                      &error);
            assert_int_equal(rect.bytes, cases[i].rounded);
            assert_int_equal(spad_stack_get_used_space(stack), cases[i].rounded);
            spad_stack_destroy(stack);
        }
    }
}

/* ---- what a refusal keeps ---------------------------------------------------------- */

static void a_long_list_of_tensors_is_cut(void **state) {
    (void)state;
    spad_error error = {0};
    spad_rect rect;
    static const char *const names[] = {"activations of the first layer, all of them",
                                        "activations of the second layer, as many",
                                        "activations of the third layer, no fewer"};
    spad_stack *stack = make("plain", 0, SPAD_STACK_TO_THE_TOP, NULL);
    for (int i = 0; i < 3; i++) {
        assert_ok(spad_stack_alloc_stack(&rect, stack, SPAD_SHAPE(1, LIMIT / 4), SPAD_UINT8,
                                         names[i], NULL, &error),
                  &error);
    }
    assert_int_equal(put(&rect, stack, SPAD_MODE_STACK, LIMIT / 2, 1, &error), SPAD_ERR_NO_FIT);
    /* two of them whole; the third would have lost the end of its number */
    assert_non_null(strstr(error.message,
                           "; largest live: activations of the first... 288,230,376,151,711,744 B, "
                           "activations of the secon... 288,230,376,151,711,744 B; close a scope"));
    assert_int_equal(error.available, LIMIT / 4);
    spad_stack_destroy(stack);
}

static void a_long_prefix_fills_the_name(void **state) {
    (void)state;
    spad_error error = {0};
    spad_rect rect;
    char prefix[SPAD_NAME_FACT_MAX * 2];
    memset(prefix, 'p', sizeof prefix - 1);
    prefix[sizeof prefix - 1] = '\0';
    spad_stack *stack = make("plain", 0, 100, NULL);
    assert_ok(spad_stack_set_prefix(stack, prefix, &error), &error);
    assert_int_equal(
        spad_stack_alloc_stack(&rect, stack, SPAD_SHAPE(1, 101), SPAD_UINT8, "x", NULL, &error),
        SPAD_ERR_NO_FIT);
    assert_int_equal(strspn(error.subject, "p") > 20, true);
    assert_null(strchr(error.subject, 'x'));
    /* the same without a prefix, set as NULL or as an empty text; and without an error */
    assert_ok(spad_stack_set_prefix(stack, NULL, &error), &error);
    assert_string_equal(spad_stack_get_prefix(stack), "");
    assert_int_equal(
        spad_stack_alloc_stack(&rect, stack, SPAD_SHAPE(1, 101), SPAD_UINT8, "x", NULL, &error),
        SPAD_ERR_NO_FIT);
    assert_string_equal(error.subject, "x");
    assert_ok(spad_stack_set_prefix(stack, "", &error), &error);
    assert_string_equal(spad_stack_get_prefix(stack), "");
    assert_int_equal(
        spad_stack_alloc_stack(&rect, stack, SPAD_SHAPE(1, 101), SPAD_UINT8, "x", NULL, NULL),
        SPAD_ERR_NO_FIT);
    spad_stack_destroy(stack);
}

/* The largest hole is looked for in host memory; without that it is not known, and the refusal
 * is the same. Tensors of automatic mode have no address and leave no mark in it. */
static void the_largest_hole_may_be_unknown(void **state) {
    (void)state;
    spad_error error = {0};
    spad_rect rect;
    test_host host;
    test_host_init(&host);
    const spad_stack_options options = {.host = &host.host, .automatic = true};
    spad_stack *stack = make("plain", 0, 1000, &options);
    assert_ok(put(&rect, stack, SPAD_MODE_HEAP, 100, 1, &error), &error);
    spad_stack_set_automatic(stack, false);
    assert_ok(put(&rect, stack, SPAD_MODE_STACK, 200, 1, &error), &error);
    assert_int_equal(put(&rect, stack, SPAD_MODE_STACK, 900, 1, &error), SPAD_ERR_NO_FIT);
    assert_int_equal(error.largest_hole, 800);
    host.fail_at = host.calls + 1;
    assert_int_equal(put(&rect, stack, SPAD_MODE_STACK, 900, 1, &error), SPAD_ERR_NO_FIT);
    assert_int_equal(error.largest_hole, SPAD_NO_FACT);
    assert_int_equal(error.available, 700);
    host.fail_at = 0;
    spad_stack_destroy(stack);
    test_host_assert_clean(&host);
}

/* ---- names and spaces -------------------------------------------------------------- */

static void the_library_lets_names_return(void **state) {
    (void)state;
    spad_error error = {0};
    spad_rect rect;
    for (int b = SPAD_STACK_EXACT; b <= SPAD_STACK_LIBRARY_LATER; b++) {
        const spad_stack_options options = {.behaviour = (spad_stack_behaviour)b};
        spad_stack *stack = make("plain", 0, 100, &options);
        const spad_status wanted = b == SPAD_STACK_EXACT ? SPAD_ERR_NAME : SPAD_OK;
        for (int i = 0; i < 2; i++) {
            assert_int_equal(spad_stack_alloc_stack(&rect, stack, SPAD_SHAPE(1, 8), SPAD_UINT8,
                                                    "again", NULL, &error),
                             i == 0 ? SPAD_OK : wanted);
        }
        spad_stack_destroy(stack);
    }
}

/* A manager of an off-chip space places its own tensors; in another space they only have a
 * name. */
static void an_off_chip_manager_places_its_own(void **state) {
    (void)state;
    spad_error error = {0};
    spad_rect rect;
    const spad_stack_place own = {.align = 8, .space = "far"};
    spad_stack *stack = make("far", 0, 100, NULL);
    assert_ok(spad_stack_alloc(&rect, stack, SPAD_SHAPE(1, 8), SPAD_UINT8, "a", &own, &error),
              &error);
    assert_int_equal(rect.byte, 0);
    spad_stack_destroy(stack);
    stack = make("plain", 0, 100, NULL);
    assert_ok(spad_stack_alloc(&rect, stack, SPAD_SHAPE(1, 8), SPAD_UINT8, "a", &own, &error),
              &error);
    assert_int_equal(rect.byte, SPAD_NO_BYTE);
    assert_int_equal(
        spad_stack_alloc(&rect, stack, SPAD_SHAPE(1, -8), SPAD_UINT8, "b", &own, &error),
        SPAD_ERR_SHAPE);
    assert_int_equal(
        spad_stack_alloc(&rect, stack, SPAD_SHAPE(1, 8), SPAD_UINT8, "a", &own, &error),
        SPAD_ERR_NAME);
    assert_int_equal(spad_stack_get_used_space(stack), 0);
    spad_stack_destroy(stack);
}

static void an_automatic_manager_takes_options(void **state) {
    (void)state;
    spad_error error = {0};
    spad_rect rect;
    spad_stack *stack;
    const spad_stack_options options = {.default_heap = true};
    assert_ok(spad_stack_create_auto(&stack, &target, "few", &options, &error), &error);
    assert_true(spad_stack_is_automatic(stack));
    assert_ok(spad_stack_alloc(&rect, stack, SPAD_SHAPE(1, 8), SPAD_UINT8, NULL, NULL, &error),
              &error); /* on the heap, so no scope is missed */
    assert_int_equal(rect.byte, SPAD_NO_BYTE);
    assert_int_equal(spad_stack_get_stats(stack).heap_allocations, 1);
    spad_stack_destroy(stack);
}

static void statistics_of_an_empty_region_have_no_share(void **state) {
    (void)state;
    spad_error error = {0};
    test_text text;
    test_text_init(&text);
    spad_stack *stack = make("plain", 7, 7, NULL);
    assert_ok(spad_stack_write_stats(stack, &text.sink, &error), &error);
    assert_non_null(strstr(text.bytes, "max_usage=0 B (0%), free=0 B"));
    spad_stack_destroy(stack);
    test_text_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_beyond_the_limit_are_refused),
        cmocka_unit_test(regions_beyond_the_limit_are_refused),
        cmocka_unit_test(a_region_in_the_reserve_differs_from_others),
        cmocka_unit_test(aligning_the_stack_has_limits),
        cmocka_unit_test(an_alignment_that_fits_no_bank_soon_ends_at_the_start_of_one),
        cmocka_unit_test(room_is_counted_in_a_few_banks),
        cmocka_unit_test(spaces_round_sizes),
        cmocka_unit_test(a_long_list_of_tensors_is_cut),
        cmocka_unit_test(a_long_prefix_fills_the_name),
        cmocka_unit_test(the_largest_hole_may_be_unknown),
        cmocka_unit_test(the_library_lets_names_return),
        cmocka_unit_test(an_off_chip_manager_places_its_own),
        cmocka_unit_test(an_automatic_manager_takes_options),
        cmocka_unit_test(statistics_of_an_empty_region_have_no_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
