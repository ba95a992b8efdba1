/* SPDX-License-Identifier: Apache-2.0
 *
 * The scoped manager in its exact behaviour: what it promises, every error a
 * user can meet, checkpoints, guards, and failing host memory. */
#include "spad/experimental/stack_queries.h"
#include "spad/experimental/trace_queries.h"
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "spad/stack.h"

typedef struct fixture {
    const spad_target *target;
    spad_trace *trace;
    spad_stack *stack;
    spad_error error;
} fixture;

static fixture make_in(const char *target, const char *space, int64_t lower, int64_t upper) {
    fixture f;
    assert_ok(spad_target_find(&f.target, target, &f.error), &f.error);
    assert_ok(spad_trace_create(&f.trace, f.target, NULL, &f.error), &f.error);
    const spad_stack_options options = {.trace = f.trace};
    assert_ok(spad_stack_create(&f.stack, f.target, space, lower, upper, &options, &f.error),
              &f.error);
    return f;
}

static fixture make(int64_t upper) {
    return make_in("trn2", "sbuf", 0, upper);
}

static void done(fixture *f) {
    assert_ok(spad_stack_check(f->stack, &f->error), &f->error);
    spad_stack_destroy(f->stack);
    spad_trace_destroy(f->trace);
}

static void open(fixture *f, int64_t degree, const char *name) {
    assert_ok(spad_stack_open_scope(f->stack, degree, name, &f->error), &f->error);
}

static void close(fixture *f) {
    assert_ok(spad_stack_close_scope(f->stack, &f->error), &f->error);
}

static void increment(fixture *f) {
    assert_ok(spad_stack_increment_section(f->stack, &f->error), &f->error);
}

static int64_t put(fixture *f, int64_t bytes, const char *name) {
    spad_rect rect;
    assert_ok(spad_stack_alloc_stack(&rect, f->stack, SPAD_SHAPE(128, bytes), SPAD_UINT8, name,
                                     NULL, &f->error),
              &f->error);
    assert_ok(spad_stack_check(f->stack, &f->error), &f->error);
    return rect.byte;
}

static int64_t heap(fixture *f, int64_t bytes, const char *name) {
    spad_rect rect;
    assert_ok(spad_stack_alloc_heap(&rect, f->stack, SPAD_SHAPE(128, bytes), SPAD_UINT8, name, NULL,
                                    &f->error),
              &f->error);
    return rect.byte;
}

static spad_status try_put(fixture *f, spad_shape shape, spad_dtype dtype, const char *name,
                           const spad_stack_place *place) {
    spad_rect rect = {1, 1, 1, 1};
    const spad_status status =
        spad_stack_alloc_stack(&rect, f->stack, shape, dtype, name, place, &f->error);
    if (status != SPAD_OK) assert_int_equal(rect.byte, SPAD_NO_BYTE); /* a defined null value */
    return status;
}

/* ---- construction ------------------------------------------------------------------ */

static void bounds_are_those_of_the_space(void **state) {
    (void)state;
    fixture f;
    spad_stack *stack;
    assert_ok(spad_target_find(&f.target, "trn3", &f.error), &f.error);
    assert_ok(spad_stack_create(&stack, f.target, "sbuf", 0, SPAD_STACK_TO_THE_TOP, NULL, &f.error),
              &f.error);
    assert_int_equal(spad_stack_get_total_space(stack), 245752);
    spad_stack_destroy(stack);

    assert_int_equal(spad_stack_create(&stack, f.target, "sbuf", 0, 262144, NULL, &f.error),
                     SPAD_ERR_BOUNDS);
    assert_null(stack);
    assert_string_equal(f.error.message,
                        "the region [0, 262144) is outside [0, 245752), the bytes of space sbuf; "
                        "set use_reserved to include the reserved bytes");
    const spad_stack_options whole = {.use_reserved = true};
    assert_ok(spad_stack_create(&stack, f.target, "sbuf", 0, 262144, &whole, &f.error), &f.error);
    spad_stack_destroy(stack);
    assert_int_equal(spad_stack_create(&stack, f.target, "sbuf", 0, 262145, &whole, &f.error),
                     SPAD_ERR_BOUNDS);
    assert_int_equal(spad_stack_create(&stack, f.target, "sbuf", -1, 10, NULL, &f.error),
                     SPAD_ERR_BOUNDS);
    assert_int_equal(spad_stack_create(&stack, f.target, "sbuf", 20, 10, NULL, &f.error),
                     SPAD_ERR_BOUNDS);
    assert_int_equal(spad_stack_create(&stack, f.target, "sbuf", 0, INT64_MAX, NULL, &f.error),
                     SPAD_ERR_BOUNDS);
    assert_int_equal(spad_stack_create(&stack, f.target, "smem", 0, 10, NULL, &f.error),
                     SPAD_ERR_UNKNOWN);
    assert_int_equal(spad_stack_create(&stack, NULL, "sbuf", 0, 10, NULL, &f.error),
                     SPAD_ERR_ARGUMENT);

    const spad_target *other;
    assert_ok(spad_target_find(&other, "trn1", &f.error), &f.error);
    assert_ok(spad_trace_create(&f.trace, other, NULL, &f.error), &f.error);
    const spad_stack_options wrong = {.trace = f.trace};
    assert_int_equal(spad_stack_create(&stack, f.target, "sbuf", 0, 10, &wrong, &f.error),
                     SPAD_ERR_ARGUMENT);
    assert_string_equal(f.error.message, "the trace was made for target trn1, not for trn3");
    spad_trace_destroy(f.trace);
    spad_stack_destroy(NULL);
}

static void odd_choices_are_refused(void **state) {
    (void)state;
    const spad_target *target;
    spad_stack *stack;
    spad_error error;
    assert_ok(spad_target_find(&target, "trn2", &error), &error);
    const spad_stack_options strange = {.behaviour = (spad_stack_behaviour)9};
    assert_int_equal(spad_stack_create(&stack, target, "sbuf", 0, 10, &strange, &error),
                     SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "9 is not a behaviour of the manager");
    assert_int_equal(spad_stack_create(&stack, target, NULL, 0, 10, NULL, &error),
                     SPAD_ERR_UNKNOWN);
    const spad_space broken = {.name = "hand made", .lanes = 1, .bytes = 10, .granule = 1};
    const spad_target by_hand = {.name = "toy", .space_count = 1, .spaces = &broken};
    assert_int_equal(spad_stack_create(&stack, &by_hand, "hand made", 0, 10, NULL, &error),
                     SPAD_ERR_ARGUMENT); /* alignment 0 */
    assert_int_equal(spad_stack_create(&stack, target, "sbuf", -5, 10, NULL, &error),
                     SPAD_ERR_BOUNDS);
    assert_string_equal(
        error.message,
        "the region [-5, 10) is outside [0, 212984), the bytes of space sbuf"); /* not a matter of
                                                                                   the reserve */
}

/* A space without a size: the manager stops at 2^60. */
static void unbounded_spaces_have_a_last_address(void **state) {
    (void)state;
    fixture f = make_in("trn2", "hbm", 0, SPAD_STACK_TO_THE_TOP);
    spad_rect rect;
    const int64_t huge = INT64_C(1) << 60;
    assert_int_equal(spad_stack_get_total_space(f.stack), huge);
    const spad_stack_place own = {.space = "hbm"};
    assert_ok(spad_stack_alloc_heap(&rect, f.stack, SPAD_SHAPE(1, huge), SPAD_UINT8, NULL, &own,
                                    &f.error),
              &f.error);
    assert_int_equal(rect.byte, 0);
    assert_int_equal(spad_stack_alloc_heap(&rect, f.stack, SPAD_SHAPE(1, huge + 1), SPAD_UINT8,
                                           NULL, NULL, &f.error),
                     SPAD_ERR_OVERFLOW);
    done(&f);
}

/* ---- promises ---------------------------------------------------------------------- */

static void the_same_program_gives_the_same_addresses(void **state) {
    (void)state;
    int64_t seen[2][3];
    for (int run = 0; run < 2; run++) {
        fixture f = make(4096);
        open(&f, 1, NULL);
        seen[run][0] = put(&f, 100, "a");
        seen[run][1] = put(&f, 50, NULL);
        seen[run][2] = heap(&f, 70, "b");
        done(&f);
    }
    assert_memory_equal(seen[0], seen[1], sizeof seen[0]);
}

static void the_region_is_never_overrun(void **state) {
    (void)state;
    fixture f = make(100);
    const spad_stack_place by_32 = {.align = 32};
    open(&f, 1, NULL);
    put(&f, 1, NULL);
    /* 99 B fit before alignment, not after it: the library would overrun here */
    assert_int_equal(try_put(&f, SPAD_SHAPE(128, 99), SPAD_UINT8, "big", &by_32), SPAD_ERR_NO_FIT);
    assert_int_equal(f.error.needed, 99);
    assert_int_equal(f.error.available, 68);
    assert_int_equal(f.error.largest_hole, 99);
    assert_ok(try_put(&f, SPAD_SHAPE(128, 68), SPAD_UINT8, NULL, &by_32), &f.error);
    done(&f);
}

static void heap_bases_are_aligned_and_restored(void **state) {
    (void)state;
    fixture f = make(212984);
    spad_rect rect;
    const spad_stack_place by_32 = {.align = 32};
    assert_ok(spad_stack_alloc_heap(&rect, f.stack, SPAD_SHAPE(128, 100), SPAD_UINT8, NULL, &by_32,
                                    &f.error),
              &f.error);
    assert_int_equal(rect.byte, 212864);
    assert_ok(spad_stack_alloc_heap(&rect, f.stack, SPAD_SHAPE(128, 3), SPAD_FLOAT32, NULL, NULL,
                                    &f.error),
              &f.error);
    assert_int_equal(rect.byte, 212852);
    assert_int_equal(heap(&f, 3, NULL), 212849);
    int64_t address;
    static const int64_t before[] = {212852, 212864, 212984};
    for (int i = 0; i < 3; i++) {
        assert_ok(spad_stack_pop_heap(f.stack, &f.error), &f.error);
        assert_ok(spad_stack_get_heap_address(&address, f.stack, &f.error), &f.error);
        assert_int_equal(address, before[i]);
    }
    assert_int_equal(spad_stack_pop_heap(f.stack, &f.error), SPAD_ERR_HEAP_EMPTY);
    assert_string_equal(f.error.message,
                        "pop_heap on an empty heap; every heap tensor has been freed already");
    done(&f);
}

/* After a wrap sp is back at the start, but the second section still holds its
 * tensor: the heap must not come down onto it. */
static void the_heap_keeps_off_sections_of_the_round_before(void **state) {
    (void)state;
    fixture f = make(100);
    open(&f, 2, NULL);
    put(&f, 40, NULL);
    increment(&f);
    put(&f, 40, NULL);
    increment(&f);
    spad_rect rect;
    assert_int_equal(spad_stack_alloc_heap(&rect, f.stack, SPAD_SHAPE(128, 21), SPAD_UINT8, NULL,
                                           NULL, &f.error),
                     SPAD_ERR_NO_FIT);
    assert_int_equal(f.error.available, 20);
    assert_int_equal(heap(&f, 20, NULL), 80);
    increment(&f); /* now that section is free */
    assert_ok(spad_stack_pop_heap(f.stack, &f.error), &f.error);
    assert_int_equal(heap(&f, 60, NULL), 40);
    close(&f);
    done(&f);
}

static void available_counts_what_alignment_and_banks_leave(void **state) {
    (void)state;
    fixture f = make(100);
    spad_rect rect;
    const spad_stack_place by_64 = {.align = 64};
    open(&f, 1, NULL);
    put(&f, 1, NULL);
    assert_int_equal(spad_stack_alloc_heap(&rect, f.stack, SPAD_SHAPE(128, 90), SPAD_UINT8, "h",
                                           &by_64, &f.error),
                     SPAD_ERR_NO_FIT);
    assert_int_equal(f.error.available, 36); /* at 64 */
    done(&f);
    f = make_in("trn2", "psum", 1000, 4000);
    assert_int_equal(spad_stack_alloc_heap(&rect, f.stack, SPAD_SHAPE(128, 2000), SPAD_UINT8, "h",
                                           NULL, &f.error),
                     SPAD_ERR_NO_FIT);
    assert_int_equal(f.error.available, 1952); /* the second bank, from 2048 */
    done(&f);
}

static void overlaps_across_a_wrap_are_recorded(void **state) {
    (void)state;
    fixture f = make(1000);
    open(&f, 2, NULL);
    open(&f, 1, "inner"); /* also when the bytes grow inside an inner scope */
    close(&f);
    put(&f, 50, NULL);
    increment(&f);
    put(&f, 50, NULL);
    increment(&f);
    put(&f, 30, NULL);
    assert_int_equal(spad_stack_overlap_count(f.stack), 0);
    open(&f, 1, NULL);
    assert_int_equal(put(&f, 40, "grown"), 30);
    assert_int_equal(spad_stack_overlap_count(f.stack), 1);
    assert_string_equal(spad_stack_get_overlap(f.stack, 0)->newer_name, "grown");
    assert_null(spad_stack_get_overlap(f.stack, 0)->older_name);
    assert_int_equal(spad_stack_get_overlap(f.stack, 0)->newer, 3);
    assert_int_equal(spad_stack_get_overlap(f.stack, 0)->older, 1);
    close(&f);
    close(&f);
    done(&f);
}

/* A zeroed place asks for what a NULL place gets: the alignment of the element. */
static void a_zeroed_place_is_the_default(void **state) {
    (void)state;
    fixture f = make(1000);
    const spad_stack_place zeroed = {0};
    spad_rect with;
    spad_rect without;
    open(&f, 1, NULL);
    put(&f, 1, NULL);
    assert_ok(spad_stack_alloc_stack(&with, f.stack, SPAD_SHAPE(128, 1), SPAD_FLOAT32, NULL,
                                     &zeroed, &f.error),
              &f.error);
    put(&f, 1, NULL);
    assert_ok(spad_stack_alloc_stack(&without, f.stack, SPAD_SHAPE(128, 1), SPAD_FLOAT32, NULL,
                                     NULL, &f.error),
              &f.error);
    assert_int_equal(with.byte, 4);
    assert_int_equal(without.byte, 12);
    done(&f);
}

static void lanes_obey_the_start_lane_table(void **state) {
    (void)state;
    fixture f = make(1000);
    open(&f, 1, NULL);
    const spad_stack_place place = {.base_lane = 32};
    assert_ok(try_put(&f, SPAD_SHAPE(32, 4), SPAD_UINT8, NULL, &place), &f.error);
    assert_int_equal(try_put(&f, SPAD_SHAPE(64, 4), SPAD_UINT8, "x", &place), SPAD_ERR_LANES);
    assert_string_equal(f.error.subject, "x");
    assert_int_equal(try_put(&f, SPAD_SHAPE(129, 4), SPAD_UINT8, "x", NULL), SPAD_ERR_LANES);
    assert_int_equal(try_put(&f, SPAD_SHAPE(0, 4), SPAD_UINT8, "x", NULL), SPAD_ERR_LANES);
    done(&f);
}

static void tiles_stay_in_their_bank(void **state) {
    (void)state;
    fixture f = make_in("trn2", "psum", 0, SPAD_STACK_TO_THE_TOP);
    spad_rect rect;
    open(&f, 1, NULL);
    assert_int_equal(put(&f, 1500, NULL), 0);
    assert_int_equal(put(&f, 1000, NULL), 2048); /* would cross into the second bank */
    assert_int_equal(heap(&f, 1024, NULL), 15360);
    assert_int_equal(heap(&f, 512, NULL), 14848);
    assert_int_equal(heap(&f, 1024, NULL), 13312); /* below the border at 14336 */
    assert_int_equal(try_put(&f, SPAD_SHAPE(128, 2049), SPAD_UINT8, "wide", NULL), SPAD_ERR_BOUNDS);
    assert_string_equal(f.error.message,
                        "a tile of 2049 B per lane does not fit a bank of psum, which has 2048 B");
    const spad_stack_place wide = {.align = 1536};
    for (int i = 0; i < 3; i++) { /* the lowest multiples that cross no border */
        static const int64_t expected[] = {3072, 4608, 6144};
        assert_ok(spad_stack_alloc_stack(&rect, f.stack, SPAD_SHAPE(128, 1024), SPAD_UINT8, NULL,
                                         &wide, &f.error),
                  &f.error);
        assert_int_equal(rect.byte, expected[i]);
    }
    const spad_stack_place odd = {.align = 24};
    assert_ok(spad_stack_alloc_heap(&rect, f.stack, SPAD_SHAPE(128, 2040), SPAD_UINT8, NULL, &odd,
                                    &f.error),
              &f.error);
    assert_int_equal(rect.byte % 24, 0);
    assert_int_equal(rect.byte / 2048, (rect.byte + 2039) / 2048);
    done(&f);
}

/* ---- names ------------------------------------------------------------------------- */

static void names_are_unique_with_their_prefix(void **state) {
    (void)state;
    fixture f = make(1000);
    open(&f, 1, NULL);
    put(&f, 1, "x");
    assert_int_equal(try_put(&f, SPAD_SHAPE(128, 1), SPAD_UINT8, "x", NULL), SPAD_ERR_NAME);
    assert_string_equal(f.error.message,
                        "a tensor named 'x' exists or has existed; names are unique in a kernel, "
                        "so number it or set a prefix");
    assert_ok(spad_stack_set_prefix(f.stack, "L3_", &f.error), &f.error);
    assert_string_equal(spad_stack_get_prefix(f.stack), "L3_");
    put(&f, 1, "x");
    const char *saved = spad_stack_get_prefix(f.stack); /* save and restore, as sub-kernels do */
    assert_ok(spad_stack_set_prefix(f.stack, "sub_", &f.error), &f.error);
    assert_ok(spad_stack_set_prefix(f.stack, saved, &f.error), &f.error);
    assert_string_equal(spad_stack_get_prefix(f.stack), "L3_");
    assert_int_equal(try_put(&f, SPAD_SHAPE(128, 1000), SPAD_UINT8, "big", NULL), SPAD_ERR_NO_FIT);
    assert_string_equal(f.error.subject, "L3_big");
    assert_ok(spad_stack_set_prefix(f.stack, NULL, &f.error), &f.error);
    assert_string_equal(spad_stack_get_prefix(f.stack), "");
    put(&f, 1, ""); /* unnamed */
    put(&f, 1, "");
    assert_int_equal(try_put(&f, SPAD_SHAPE(128, 1), SPAD_UINT8, "L3_x", NULL), SPAD_ERR_NAME);
    close(&f);
    open(&f, 1, NULL); /* a name stays taken when its tensor is gone */
    assert_int_equal(try_put(&f, SPAD_SHAPE(128, 1), SPAD_UINT8, "x", NULL), SPAD_ERR_NAME);
    char name[32];
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof name, "t%d", i);
        put(&f, 1, name);
    }
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof name, "t%d", i);
        assert_int_equal(try_put(&f, SPAD_SHAPE(128, 1), SPAD_UINT8, name, NULL), SPAD_ERR_NAME);
    }
    done(&f);
}

/* ---- automatic mode ---------------------------------------------------------------- */

/* Bounds mean nothing without addresses; with them, nothing is outside of the space. */
static void automatic_bounds_may_pass_the_space(void **state) {
    (void)state;
    const spad_target *target;
    spad_stack *stack;
    spad_error error;
    spad_rect rect;
    const spad_stack_options options = {.automatic = true};
    assert_ok(spad_target_find(&target, "trn2", &error), &error);
    assert_ok(spad_stack_create(&stack, target, "sbuf", -8, 528384, &options, &error), &error);
    assert_ok(spad_stack_open_scope(stack, 1, NULL, &error), &error);
    spad_stack_set_automatic(stack, false);
    const spad_shape tile = SPAD_SHAPE(128, 8);
    assert_int_equal(spad_stack_alloc_heap(&rect, stack, tile, SPAD_UINT8, "h", NULL, &error),
                     SPAD_ERR_NO_FIT);
    assert_int_equal(error.available, 212984);
    assert_int_equal(spad_stack_alloc_stack(&rect, stack, tile, SPAD_UINT8, NULL, NULL, &error),
                     SPAD_ERR_NO_FIT); /* at -8 */
    assert_ok(spad_stack_align(stack, 16, &error), &error);
    assert_ok(spad_stack_alloc_stack(&rect, stack, tile, SPAD_UINT8, NULL, NULL, &error), &error);
    assert_int_equal(rect.byte, 0);
    assert_int_equal(spad_stack_alloc_stack(&rect, stack, SPAD_SHAPE(128, 212977), SPAD_UINT8, NULL,
                                            NULL, &error),
                     SPAD_ERR_NO_FIT);
    assert_ok(spad_stack_alloc_stack(&rect, stack, SPAD_SHAPE(128, 212976), SPAD_UINT8, NULL, NULL,
                                     &error),
              &error);
    spad_stack_destroy(stack);
}

static void automatic_mode_gives_no_addresses(void **state) {
    (void)state;
    fixture f;
    spad_rect rect;
    int64_t address;
    assert_ok(spad_target_find(&f.target, "trn2", &f.error), &f.error);
    assert_ok(spad_trace_create(&f.trace, f.target, NULL, &f.error), &f.error);
    const spad_stack_options options = {.trace = f.trace};
    assert_ok(spad_stack_create_auto(&f.stack, f.target, "sbuf", &options, &f.error), &f.error);
    assert_true(spad_stack_is_automatic(f.stack));
    open(&f, 2, "loop");
    for (int i = 0; i < 4; i++) { /* more than the space holds: no overflow here */
        assert_ok(spad_stack_alloc_stack(&rect, f.stack, SPAD_SHAPE(128, 200000), SPAD_UINT8, NULL,
                                         NULL, &f.error),
                  &f.error);
        assert_int_equal(rect.byte, SPAD_NO_BYTE);
        assert_int_equal(rect.bytes, 200000);
    }
    assert_int_equal(heap(&f, 300000, "w"), SPAD_NO_BYTE);
    assert_int_equal(spad_stack_get_address(&address, f.stack, &f.error), SPAD_ERR_NO_ADDRESS);
    assert_int_equal(address, SPAD_NO_BYTE);
    assert_string_equal(f.error.message, "the stack address is undefined in automatic mode: "
                                         "addresses come from the planner");
    assert_int_equal(spad_stack_get_heap_address(&address, f.stack, &f.error), SPAD_ERR_NO_ADDRESS);
    assert_int_equal(spad_stack_align(f.stack, 32, &f.error), SPAD_ERR_NO_ADDRESS);
    assert_int_equal(spad_stack_get_total_space(f.stack), 212984);
    close(&f);
    test_text text;
    test_text_init(&text);
    assert_ok(spad_stack_flush_log(f.stack, &text.sink, &f.error), &f.error);
    assert_non_null(strstr(text.bytes, "(unnamed): 200000 B @ auto (128, 200000) uint8"));
    assert_non_null(strstr(text.bytes, "[HEAP+] w: 300000 B @ auto"));
    test_text_free(&text);
    done(&f);
}

static void off_chip_tensors_are_only_named(void **state) {
    (void)state;
    fixture f = make(1000);
    spad_rect rect;
    const spad_stack_place hbm = {.space = "hbm"};
    const spad_stack_place psum = {.space = "psum"};
    const spad_stack_place nowhere = {.space = "sbuff"};
    assert_ok(spad_stack_alloc(&rect, f.stack, SPAD_SHAPE(4096, 4096), SPAD_FLOAT32, "out", &hbm,
                               &f.error),
              &f.error);
    assert_int_equal(rect.byte, SPAD_NO_BYTE);
    assert_int_equal(rect.bytes, 4096 * 4096 * 4);
    assert_int_equal(spad_stack_get_used_space(f.stack), 0);
    assert_int_equal(
        spad_stack_alloc(&rect, f.stack, SPAD_SHAPE(1, 1), SPAD_FLOAT32, "out", &hbm, &f.error),
        SPAD_ERR_NAME);
    assert_int_equal(
        spad_stack_alloc(&rect, f.stack, SPAD_SHAPE(128, 4), SPAD_FLOAT32, "p", &psum, &f.error),
        SPAD_ERR_SPACE);
    assert_string_equal(f.error.message, "alloc_stack works in sbuf only, not in psum");
    assert_int_equal(try_put(&f, SPAD_SHAPE(128, 4), SPAD_FLOAT32, "p", &hbm), SPAD_ERR_SPACE);
    assert_int_equal(
        spad_stack_alloc(&rect, f.stack, SPAD_SHAPE(1), SPAD_FLOAT32, NULL, &nowhere, &f.error),
        SPAD_ERR_UNKNOWN);
    done(&f);
}

static void alloc_follows_the_default(void **state) {
    (void)state;
    const spad_target *target;
    spad_error error;
    spad_rect rect;
    assert_ok(spad_target_find(&target, "trn2", &error), &error);
    for (int on_heap = 0; on_heap < 2; on_heap++) {
        spad_stack *stack;
        const spad_stack_options options = {.default_heap = on_heap != 0};
        assert_ok(spad_stack_create(&stack, target, "sbuf", 0, 1000, &options, &error), &error);
        assert_ok(spad_stack_open_scope(stack, 1, NULL, &error), &error);
        assert_ok(
            spad_stack_alloc(&rect, stack, SPAD_SHAPE(128, 100), SPAD_UINT8, NULL, NULL, &error),
            &error);
        assert_int_equal(rect.byte, on_heap ? 900 : 0);
        spad_stack_destroy(stack);
    }
}

/* ---- running out ------------------------------------------------------------------- */

static void no_fit_says_who_holds_the_memory(void **state) {
    (void)state;
    fixture f = make(1000);
    heap(&f, 300, "weights");
    open(&f, 1, NULL);
    put(&f, 100, "a");
    put(&f, 200, "b");
    put(&f, 200, NULL);
    const size_t events = spad_trace_event_count(f.trace);
    assert_int_equal(try_put(&f, SPAD_SHAPE(128, 150), SPAD_FLOAT32, "c", NULL), SPAD_ERR_NO_FIT);
    assert_string_equal(f.error.message,
                        "stack: c needs 600 B per lane at alignment 4, 200 of 1,000 B are free; "
                        "largest live: weights 300 B, b 200 B, (unnamed) 200 B; close a scope, pop "
                        "the heap or use smaller tiles");
    assert_string_equal(f.error.subject, "c");
    assert_int_equal(f.error.needed, 600);
    assert_int_equal(f.error.available, 200);
    assert_int_equal(f.error.largest_hole, 200);
    assert_int_equal(f.error.time, events);
    /* nothing has changed, and the whole list can be asked for */
    assert_int_equal(spad_trace_event_count(f.trace), events);
    assert_int_equal(spad_stack_get_free_space(f.stack), 200);
    spad_stack_tensor live[10];
    assert_int_equal(spad_stack_list_live(live, 10, f.stack), 4);
    assert_string_equal(live[0].name, "weights");
    assert_int_equal(live[0].mode, SPAD_MODE_HEAP);
    assert_string_equal(live[1].name, "b");
    assert_null(live[2].name);
    assert_int_equal(live[2].number, 3);
    assert_string_equal(live[3].name, "a");
    assert_int_equal(spad_stack_list_live(live, 2, f.stack), 4); /* the two largest */
    assert_string_equal(live[1].name, "b");
    put(&f, 100, "c"); /* the name was not taken by the failed call */
    done(&f);
}

static void bad_requests_are_refused(void **state) {
    (void)state;
    fixture f = make(1000);
    const spad_stack_place negative = {.align = -4};
    const spad_stack_place huge = {.align = INT64_MAX};
    assert_int_equal(try_put(&f, SPAD_SHAPE(128, 1), SPAD_UINT8, "x", NULL), SPAD_ERR_NO_SCOPE);
    assert_string_equal(f.error.message,
                        "alloc_stack needs an open scope; open one, or use alloc_heap");
    assert_int_equal(spad_stack_close_scope(f.stack, &f.error), SPAD_ERR_NO_SCOPE);
    assert_string_equal(f.error.message, "close_scope needs an open scope; open one first");
    assert_int_equal(spad_stack_increment_section(f.stack, &f.error), SPAD_ERR_NO_SCOPE);
    assert_int_equal(spad_stack_open_scope(f.stack, 0, "loop", &f.error), SPAD_ERR_ARGUMENT);
    assert_string_equal(f.error.message,
                        "a scope of 0 sections; it needs at least 1 (1 for no multi-buffering)");
    assert_int_equal(spad_stack_open_scope(f.stack, -1, NULL, NULL), SPAD_ERR_ARGUMENT);
    open(&f, 1, NULL);
    put(&f, 1, NULL);
    assert_int_equal(try_put(&f, SPAD_SHAPE(128, -4), SPAD_UINT8, "x", NULL), SPAD_ERR_SHAPE);
    assert_int_equal(try_put(&f, SPAD_SHAPE(128, INT64_MAX, 2), SPAD_UINT8, "x", NULL),
                     SPAD_ERR_OVERFLOW);
    assert_int_equal(try_put(&f, SPAD_SHAPE(128, INT64_MAX), SPAD_UINT8, "x", NULL),
                     SPAD_ERR_OVERFLOW);
    assert_int_equal(try_put(&f, (spad_shape){0, NULL}, SPAD_UINT8, "x", NULL), SPAD_ERR_SHAPE);
    assert_int_equal(try_put(&f, SPAD_SHAPE(128, 1), (spad_dtype)1000, "x", NULL), SPAD_ERR_DTYPE);
    assert_int_equal(try_put(&f, SPAD_SHAPE(128, 1), SPAD_UINT8, "x", &negative),
                     SPAD_ERR_ALIGNMENT);
    assert_string_equal(f.error.message, "an alignment of -4 B; it must be at least 1 "
                                         "(SPAD_ALIGN_DEFAULT for that of the element type)");
    assert_int_equal(try_put(&f, SPAD_SHAPE(128, 1), SPAD_UINT8, "x", &huge), SPAD_ERR_OVERFLOW);
    assert_int_equal(spad_stack_align(f.stack, 0, &f.error), SPAD_ERR_ALIGNMENT);
    assert_int_equal(spad_stack_align(f.stack, 4096, &f.error), SPAD_ERR_NO_FIT);
    assert_int_equal(spad_stack_get_used_space(f.stack), 1);
    put(&f, 999, "x");
    done(&f);
}

static void a_million_nested_scopes(void **state) {
    (void)state;
    enum { MANY = 1000000 };
    const spad_target *target;
    spad_stack *stack;
    spad_error error;
    spad_rect rect;
    assert_ok(spad_target_find(&target, "trn2", &error), &error);
    assert_ok(spad_stack_create(&stack, target, "sbuf", 0, 1000, NULL, &error), &error);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(spad_stack_open_scope(stack, 1 + i % 3, NULL, &error), SPAD_OK);
        if (i % 1000 == 0) {
            assert_int_equal(spad_stack_alloc_stack(&rect, stack, SPAD_SHAPE(128, 1), SPAD_UINT8,
                                                    NULL, NULL, &error),
                             SPAD_OK);
            assert_int_equal(rect.byte, i / 1000);
        }
    }
    assert_int_equal(spad_stack_scope_count(stack), MANY);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(spad_stack_close_scope(stack, &error), SPAD_OK);
    }
    assert_int_equal(spad_stack_get_used_space(stack), 0);
    spad_stack_destroy(stack);
}

/* ---- high-water marks, checkpoints, guards ----------------------------------------- */

static void scopes_know_their_high_water(void **state) {
    (void)state;
    fixture f = make(1000);
    spad_stack_scope scope;
    open(&f, 1, "outer");
    put(&f, 100, NULL);
    open(&f, 2, "inner");
    put(&f, 50, NULL);
    increment(&f);
    put(&f, 70, NULL);
    increment(&f);
    assert_ok(spad_stack_get_scope(&scope, f.stack, 0, &f.error), &f.error);
    assert_string_equal(scope.name, "outer");
    assert_int_equal(scope.high_water, 220); /* the inner scope counts */
    assert_ok(spad_stack_get_scope(&scope, f.stack, 1, &f.error), &f.error);
    assert_int_equal(scope.high_water, 120);
    assert_int_equal(scope.start, 100);
    assert_int_equal(scope.interleave, 2);
    assert_int_equal(scope.section, 0);
    assert_int_equal(spad_stack_get_scope(&scope, f.stack, 2, &f.error), SPAD_ERR_ARGUMENT);
    close(&f);
    put(&f, 10, NULL);
    close(&f);
    assert_int_equal(spad_trace_get_scope(f.trace, 0)->high_water, 220);
    assert_int_equal(spad_trace_get_scope(f.trace, 1)->high_water, 120);
    assert_int_equal(spad_stack_get_stats(f.stack).peak_stack, 220);
    done(&f);
}

static void rollback_undoes_everything(void **state) {
    (void)state;
    fixture f = make(1000);
    open(&f, 2, "outer");
    put(&f, 10, "a");
    heap(&f, 10, "h");
    const spad_stack_checkpoint mark = spad_stack_mark(f.stack);
    const spad_stack_stats stats = spad_stack_get_stats(f.stack);
    for (int round = 0; round < 3; round++) {
        put(&f, 20, "b");
        heap(&f, 30, "c");
        open(&f, 2, "inner");
        put(&f, 40, "d");
        increment(&f);
        put(&f, 40, "e");
        assert_ok(spad_stack_rollback(f.stack, &mark, &f.error), &f.error);
        assert_ok(spad_stack_check(f.stack, &f.error), &f.error);
        const spad_stack_stats now = spad_stack_get_stats(f.stack);
        assert_memory_equal(&now, &stats, sizeof now);
        assert_int_equal(spad_stack_scope_count(f.stack), 1);
        assert_int_equal(spad_stack_get_free_space(f.stack), 980);
        spad_stack_tensor live[4];
        assert_int_equal(spad_stack_list_live(live, 4, f.stack), 2);
    }
    spad_stack_scope scope;
    assert_ok(spad_stack_get_scope(&scope, f.stack, 0, &f.error), &f.error);
    assert_int_equal(scope.high_water, 10);
    spad_space_stats in_trace;
    assert_ok(spad_trace_get_stats(&in_trace, f.trace, 0, &f.error), &f.error);
    assert_int_equal(in_trace.live_tensors, 2); /* the trace saw it happen and end */
    assert_int_equal(in_trace.total_tensors, 14);
    increment(&f);
    assert_int_equal(put(&f, 5, NULL), 10); /* the next section begins where it would have */
    assert_int_equal(spad_stack_rollback(f.stack, &mark, &f.error), SPAD_ERR_STALE);
    assert_string_equal(f.error.message,
                        "the checkpoint is stale: its scope has moved to another section");
    done(&f);
}

static void stale_checkpoints_are_refused(void **state) {
    (void)state;
    fixture f = make(1000);
    const spad_stack_checkpoint empty = spad_stack_mark(f.stack);
    open(&f, 1, NULL);
    spad_stack_checkpoint mark = spad_stack_mark(f.stack);
    close(&f);
    assert_int_equal(spad_stack_rollback(f.stack, &mark, &f.error), SPAD_ERR_STALE);
    assert_string_equal(f.error.message,
                        "the checkpoint is stale: a scope that was open then is closed");
    open(&f, 1, NULL); /* another scope at the same depth */
    assert_int_equal(spad_stack_rollback(f.stack, &mark, &f.error), SPAD_ERR_STALE);
    heap(&f, 1, NULL);
    mark = spad_stack_mark(f.stack);
    assert_ok(spad_stack_pop_heap(f.stack, &f.error), &f.error);
    assert_int_equal(spad_stack_rollback(f.stack, &mark, &f.error), SPAD_ERR_STALE);
    assert_string_equal(
        f.error.message,
        "the checkpoint is stale: a heap tensor that was live then has been popped");
    heap(&f, 1, NULL); /* another tensor at the same height */
    assert_int_equal(spad_stack_rollback(f.stack, &mark, &f.error), SPAD_ERR_STALE);
    assert_ok(spad_stack_rollback(f.stack, &empty, &f.error), &f.error);
    assert_int_equal(spad_stack_get_used_space(f.stack), 0);
    assert_int_equal(spad_stack_scope_count(f.stack), 0);
    done(&f);
}

/* A checkpoint whose own time was undone must not bring anything of it back. */
static void undone_checkpoints_are_stale(void **state) {
    (void)state;
    for (int on_heap = 0; on_heap < 2; on_heap++) {
        for (int refill = 0; refill < 2; refill++) {
            fixture f = make(1000);
            open(&f, 1, NULL);
            const spad_stack_checkpoint first = spad_stack_mark(f.stack);
            if (on_heap)
                heap(&f, 10, NULL);
            else
                put(&f, 10, NULL);
            const spad_stack_checkpoint second = spad_stack_mark(f.stack);
            assert_ok(spad_stack_rollback(f.stack, &first, &f.error), &f.error);
            if (refill && on_heap)
                heap(&f, 200, NULL);
            else if (refill)
                put(&f, 200, NULL);
            assert_int_equal(spad_stack_rollback(f.stack, &second, &f.error), SPAD_ERR_STALE);
            assert_string_equal(
                f.error.message,
                on_heap ? "the checkpoint is stale: a heap tensor that was live then has been "
                          "popped"
                        : "the checkpoint is stale: a tensor that was live then has been undone");
            done(&f);
        }
    }
    fixture f = make(1000);
    const spad_stack_checkpoint empty = spad_stack_mark(f.stack);
    open(&f, 1, NULL);
    put(&f, 500, NULL);
    close(&f);
    const spad_stack_checkpoint later = spad_stack_mark(f.stack);
    assert_ok(spad_stack_rollback(f.stack, &empty, &f.error), &f.error);
    assert_ok(spad_stack_rollback(f.stack, &later, &f.error), &f.error); /* the same state */
    assert_int_equal(spad_stack_get_stats(f.stack).peak_stack, 0);       /* no peak comes back */
    fixture other = make(1000);
    assert_int_equal(spad_stack_rollback(other.stack, &empty, &other.error), SPAD_ERR_STALE);
    assert_string_equal(other.error.message, "the checkpoint is stale: it is from another manager");
    done(&other);
    done(&f);
}

static spad_status guarded(spad_stack *stack, bool fail, spad_error *error) {
    SPAD_STACK_SCOPE(guard, stack, 1, "guarded", error);
    if (guard.status != SPAD_OK) return guard.status;
    spad_rect rect;
    spad_status status =
        spad_stack_alloc_stack(&rect, stack, SPAD_SHAPE(128, 10), SPAD_UINT8, NULL, NULL, error);
    if (status != SPAD_OK) return status;
    status = spad_stack_open_scope(stack, 1, "left open", error);
    if (status != SPAD_OK || fail) return status;
    return spad_stack_close_scope(stack, error);
}

static void guards_close_on_every_way_out(void **state) {
    (void)state;
    fixture f = make(1000);
    assert_ok(guarded(f.stack, false, &f.error), &f.error);
    assert_int_equal(spad_stack_scope_count(f.stack), 0);
    assert_ok(guarded(f.stack, true, &f.error), &f.error);
    assert_int_equal(spad_stack_scope_count(f.stack), 0);
    assert_int_equal(spad_stack_get_used_space(f.stack), 0);
    { /* closed by hand, and another one opened: not the guard's business */
        SPAD_STACK_SCOPE(guard, f.stack, 1, "mine", &f.error);
        assert_ok(guard.status, &f.error);
        close(&f);
        open(&f, 1, "another");
    }
    assert_int_equal(spad_stack_scope_count(f.stack), 1);
    close(&f);
    spad_stack_guard refused = spad_stack_enter(f.stack, 0, NULL, &f.error);
    assert_int_equal(refused.status, SPAD_ERR_ARGUMENT);
    spad_stack_leave(&refused); /* nothing to close */
    done(&f);
}

/* ---- the log ----------------------------------------------------------------------- */

static void nested_scopes_draw_bars(void **state) {
    (void)state;
    fixture f = make(1000);
    test_text text;
    test_text_init(&text);
    heap(&f, 8, "w");
    open(&f, 1, "outer");
    put(&f, 10, "a");
    open(&f, 2, "inner");
    put(&f, 20, "b");
    increment(&f);
    increment(&f);
    close(&f);
    close(&f);
    assert_ok(spad_stack_pop_heap(f.stack, &f.error), &f.error);
    assert_ok(spad_stack_flush_log(f.stack, &text.sink, &f.error), &f.error);
    assert_string_equal(text.bytes, "[SBM] Allocations:\n"
                                    "    [HEAP+] w: 8 B @ 992 (128, 8) uint8\n"
                                    "    ▶ SCOPE 'outer' [interleave=1] @ 0\n"
                                    "    ├── a: 10 B @ 0 (128, 10) uint8\n"
                                    "    ├── ▶ SCOPE 'inner' [interleave=2] @ 10\n"
                                    "    │   └── b: 20 B @ 10 (128, 20) uint8\n"
                                    "    └── ◀ END 'inner' freed=20 B\n"
                                    "    ◀ END 'outer' freed=30 B\n"
                                    "    [HEAP-] FREE w: 8 B, remaining=0\n");
    test_text_free(&text);
    done(&f);
}

/* Two managers, one trace: each log shows its own space, at its own depth. */
static void managers_can_share_a_trace(void **state) {
    (void)state;
    fixture f = make(1000);
    test_text text;
    test_text_init(&text);
    const spad_stack_options options = {.trace = f.trace};
    spad_stack *psum;
    spad_rect rect;
    assert_ok(spad_stack_create(&psum, f.target, "psum", 0, 2048, &options, &f.error), &f.error);
    open(&f, 1, "sb");
    assert_ok(spad_stack_open_scope(psum, 1, "ps", &f.error), &f.error);
    put(&f, 10, "x");
    assert_ok(spad_stack_alloc_stack(&rect, psum, SPAD_SHAPE(128, 4), SPAD_FLOAT32, "acc", NULL,
                                     &f.error),
              &f.error);
    close(&f); /* not in the order of opening */
    assert_ok(spad_stack_close_scope(psum, &f.error), &f.error);
    assert_ok(spad_stack_flush_log(f.stack, &text.sink, &f.error), &f.error);
    assert_ok(spad_stack_flush_log(psum, &text.sink, &f.error), &f.error);
    assert_string_equal(text.bytes, "[SBM] Allocations:\n"
                                    "    ▶ SCOPE 'sb' [interleave=1] @ 0\n"
                                    "    └── x: 10 B @ 0 (128, 10) uint8\n"
                                    "    ◀ END 'sb' freed=10 B\n"
                                    "[SBM] Allocations:\n"
                                    "    ▶ SCOPE 'ps' [interleave=1] @ 0\n"
                                    "    └── acc: 16 B @ 0 (128, 4) float32\n"
                                    "    ◀ END 'ps' freed=16 B\n");
    spad_stack_destroy(psum);
    test_text_free(&text);
    done(&f);
}

/* ---- host memory ------------------------------------------------------------------- */

static spad_status scenario(const spad_host *host, void *context) {
    spad_error error;
    spad_rect rect;
    const spad_target *target;
    spad_trace *trace = NULL;
    spad_stack *stack = NULL;
    const bool traced = *(bool *)context;
    char name[32];
    test_text text;
    test_text_init(&text);
    spad_status status = spad_target_find(&target, "trn2", &error);
    if (traced && status == SPAD_OK) status = spad_trace_create(&trace, target, host, &error);
    const spad_stack_options options = {.trace = trace, .host = host};
    if (status == SPAD_OK) {
        status = spad_stack_create(&stack, target, "sbuf", 0, 100000, &options, &error);
    }
    const spad_stack_checkpoint start =
        stack != NULL ? spad_stack_mark(stack) : (spad_stack_checkpoint){0};
    if (status == SPAD_OK) status = spad_stack_set_prefix(stack, "p_", &error);
    for (int i = 0; status == SPAD_OK && i < 30; i++) {
        snprintf(name, sizeof name, "tensor%d", i);
        if (i % 5 == 0) status = spad_stack_open_scope(stack, 2, name, &error);
        if (status == SPAD_OK) {
            status = spad_stack_alloc_stack(&rect, stack, SPAD_SHAPE(128, 10 * i), SPAD_UINT8, name,
                                            NULL, &error);
        }
        if (status == SPAD_OK && i % 3 == 0) status = spad_stack_increment_section(stack, &error);
        if (status == SPAD_OK && i % 4 == 0) {
            status = spad_stack_alloc_heap(&rect, stack, SPAD_SHAPE(128, 7), SPAD_UINT8, NULL, NULL,
                                           &error);
        }
        if (status == SPAD_OK && i % 8 == 0) status = spad_stack_pop_heap(stack, &error);
        assert_int_equal(spad_stack_check(stack, &error), SPAD_OK);
    }
    if (stack != NULL) { /* closing needs no memory */
        while (spad_stack_scope_count(stack) > 1) {
            assert_int_equal(spad_stack_close_scope(stack, &error), SPAD_OK);
        }
    }
    if (status == SPAD_OK) status = spad_stack_flush_log(stack, &text.sink, &error);
    if (status == SPAD_OK) status = spad_stack_rollback(stack, &start, &error);
    if (status == SPAD_OK) assert_int_equal(spad_stack_get_used_space(stack), 0);
    spad_stack_destroy(stack);
    spad_trace_destroy(trace);
    test_text_free(&text);
    return status;
}

static void every_host_allocation_may_fail(void **state) {
    (void)state;
    bool traced = false;
    test_fail_each_allocation(scenario, &traced);
    traced = true;
    test_fail_each_allocation(scenario, &traced);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_are_those_of_the_space),
        cmocka_unit_test(odd_choices_are_refused),
        cmocka_unit_test(unbounded_spaces_have_a_last_address),
        cmocka_unit_test(the_same_program_gives_the_same_addresses),
        cmocka_unit_test(the_region_is_never_overrun),
        cmocka_unit_test(available_counts_what_alignment_and_banks_leave),
        cmocka_unit_test(heap_bases_are_aligned_and_restored),
        cmocka_unit_test(the_heap_keeps_off_sections_of_the_round_before),
        cmocka_unit_test(overlaps_across_a_wrap_are_recorded),
        cmocka_unit_test(a_zeroed_place_is_the_default),
        cmocka_unit_test(lanes_obey_the_start_lane_table),
        cmocka_unit_test(tiles_stay_in_their_bank),
        cmocka_unit_test(names_are_unique_with_their_prefix),
        cmocka_unit_test(automatic_mode_gives_no_addresses),
        cmocka_unit_test(automatic_bounds_may_pass_the_space),
        cmocka_unit_test(off_chip_tensors_are_only_named),
        cmocka_unit_test(alloc_follows_the_default),
        cmocka_unit_test(no_fit_says_who_holds_the_memory),
        cmocka_unit_test(bad_requests_are_refused),
        cmocka_unit_test(a_million_nested_scopes),
        cmocka_unit_test(scopes_know_their_high_water),
        cmocka_unit_test(rollback_undoes_everything),
        cmocka_unit_test(stale_checkpoints_are_refused),
        cmocka_unit_test(undone_checkpoints_are_stale),
        cmocka_unit_test(guards_close_on_every_way_out),
        cmocka_unit_test(nested_scopes_draw_bars),
        cmocka_unit_test(managers_can_share_a_trace),
        cmocka_unit_test(every_host_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
