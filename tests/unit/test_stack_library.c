/* SPDX-License-Identifier: Apache-2.0
 *
 * The two library behaviours against addresses that the public library gives:
 * nki-library, allocator.py of April 2026 and the version after it. */
#include "spad/experimental/stack_queries.h"
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "spad/stack.h"

/* ---- short hands: u8 tensors of so many bytes -------------------------------------- */

static spad_stack *make(spad_stack_behaviour behaviour, int64_t lower, int64_t upper) {
    const spad_target *target;
    spad_stack *stack;
    spad_error error;
    const spad_stack_options options = {.behaviour = behaviour};
    assert_ok(spad_target_find(&target, "trn2", &error), &error);
    assert_ok(spad_stack_create(&stack, target, "sbuf", lower, upper, &options, &error), &error);
    return stack;
}

static spad_stack *april(int64_t lower, int64_t upper) {
    return make(SPAD_STACK_LIBRARY_2026_04, lower, upper);
}

static spad_stack *later(int64_t lower, int64_t upper) {
    return make(SPAD_STACK_LIBRARY_LATER, lower, upper);
}

static int64_t alloc(spad_stack *stack, spad_mode mode, int64_t bytes, int64_t align,
                     spad_dtype dtype) {
    spad_rect rect;
    spad_error error;
    const spad_stack_place place = {.align = align};
    const spad_shape shape = SPAD_SHAPE(128, bytes);
    assert_ok(mode == SPAD_MODE_STACK
                  ? spad_stack_alloc_stack(&rect, stack, shape, dtype, NULL, &place, &error)
                  : spad_stack_alloc_heap(&rect, stack, shape, dtype, NULL, &place, &error),
              &error);
    assert_ok(spad_stack_check(stack, &error), &error);
    return rect.byte;
}

static int64_t put(spad_stack *stack, int64_t bytes) {
    return alloc(stack, SPAD_MODE_STACK, bytes, SPAD_ALIGN_DEFAULT, SPAD_UINT8);
}

static int64_t heap(spad_stack *stack, int64_t bytes) {
    return alloc(stack, SPAD_MODE_HEAP, bytes, SPAD_ALIGN_DEFAULT, SPAD_UINT8);
}

static int64_t heap_aligned(spad_stack *stack, int64_t bytes, int64_t align) {
    return alloc(stack, SPAD_MODE_HEAP, bytes, align, SPAD_UINT8);
}

static void open(spad_stack *stack, int64_t degree) {
    spad_error error;
    assert_ok(spad_stack_open_scope(stack, degree, NULL, &error), &error);
}

static void close(spad_stack *stack) {
    spad_error error;
    assert_ok(spad_stack_close_scope(stack, &error), &error);
}

static void increment(spad_stack *stack) {
    spad_error error;
    assert_ok(spad_stack_increment_section(stack, &error), &error);
}

static int64_t pop(spad_stack *stack) {
    spad_error error;
    int64_t address;
    assert_ok(spad_stack_pop_heap(stack, &error), &error);
    if (spad_stack_is_automatic(stack)) {
        return spad_stack_get_free_space(stack); /* with an empty stack at 0: the heap address */
    }
    assert_ok(spad_stack_get_heap_address(&address, stack, &error), &error);
    return address;
}

static int64_t sp(const spad_stack *stack) {
    spad_error error;
    int64_t address;
    assert_ok(spad_stack_get_address(&address, stack, &error), &error);
    return address;
}

static int64_t hp(const spad_stack *stack) {
    spad_error error;
    int64_t address;
    assert_ok(spad_stack_get_heap_address(&address, stack, &error), &error);
    return address;
}

static spad_status try_put(spad_stack *stack, int64_t bytes, spad_error *error) {
    spad_rect rect;
    return spad_stack_alloc_stack(&rect, stack, SPAD_SHAPE(128, bytes), SPAD_UINT8, NULL, NULL,
                                  error);
}

/* ---- April 2026 -------------------------------------------------------------------- */

static void overflow_is_tested_before_alignment(void **state) {
    (void)state;
    spad_stack *stack = april(0, 100);
    spad_error error;
    open(stack, 1);
    assert_int_equal(put(stack, 1), 0);
    assert_int_equal(alloc(stack, SPAD_MODE_STACK, 99, 32, SPAD_UINT8), 32);
    assert_int_equal(sp(stack), 131);
    assert_int_equal(spad_stack_get_free_space(stack), -31);
    assert_int_equal(try_put(stack, 0, &error), SPAD_ERR_NO_FIT); /* even for no bytes */
    spad_stack_destroy(stack);

    stack = april(0, 100);
    open(stack, 1);
    assert_int_equal(put(stack, 100), 0); /* an exact fit is one */
    assert_int_equal(try_put(stack, 1, &error), SPAD_ERR_NO_FIT);
    assert_int_equal(error.needed, 1);
    assert_int_equal(error.available, 0);
    spad_stack_destroy(stack);

    stack = april(0, 100); /* the heap can fall below the region */
    assert_int_equal(heap_aligned(stack, 100, 32), -4);
    spad_stack_destroy(stack);
}

static void heap_alignment_is_that_of_the_end(void **state) {
    (void)state;
    spad_stack *stack = april(0, 212984);
    assert_int_equal(heap_aligned(stack, 100, 32), 212860);
    spad_stack_destroy(stack);

    stack = april(0, 212984); /* no default alignment; only the cursor is floored */
    assert_int_equal(heap(stack, 3), 212981);
    assert_int_equal(hp(stack), 212980);
    spad_stack_destroy(stack);

    stack = april(0, 101);
    assert_int_equal(alloc(stack, SPAD_MODE_HEAP, 1, SPAD_ALIGN_DEFAULT, SPAD_FLOAT32), 97);
    spad_stack_destroy(stack);
}

static void pops_do_not_restore(void **state) {
    (void)state;
    spad_stack *stack = april(0, 100);
    assert_int_equal(heap(stack, 3), 97);
    assert_int_equal(hp(stack), 96);
    assert_int_equal(heap(stack, 5), 91);
    assert_int_equal(hp(stack), 88);
    assert_int_equal(heap(stack, 6), 82);
    assert_int_equal(hp(stack), 80);
    assert_int_equal(pop(stack), 84);
    assert_int_equal(pop(stack), 88);
    assert_int_equal(pop(stack), 88);
    spad_stack_destroy(stack);

    stack = april(0, 100);
    assert_int_equal(heap_aligned(stack, 40, 32), 56);
    assert_int_equal(heap_aligned(stack, 12, 32), 20);
    assert_int_equal(pop(stack), 32);
    assert_int_equal(pop(stack), 72);
    spad_stack_destroy(stack);

    stack = april(0, 101);
    alloc(stack, SPAD_MODE_HEAP, 1, SPAD_ALIGN_DEFAULT, SPAD_FLOAT32);
    assert_int_equal(pop(stack), 100);
    spad_stack_destroy(stack);
}

static void default_alignment_is_the_size_of_the_element(void **state) {
    (void)state;
    spad_stack *stack = april(0, 1000);
    static const struct {
        spad_dtype dtype;
        int64_t address;
    } rows[] = {
        {SPAD_UINT8, 0},  {SPAD_BFLOAT16, 2},
        {SPAD_UINT8, 4},  {SPAD_FLOAT32, 8},
        {SPAD_UINT8, 12}, {SPAD_FLOAT4_E2M1FN_X4, 14},
        {SPAD_UINT8, 16}, {SPAD_FLOAT8_E4M3FN_X4, 20},
    };
    open(stack, 1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(alloc(stack, SPAD_MODE_STACK, 1, SPAD_ALIGN_DEFAULT, rows[i].dtype),
                         rows[i].address);
    }
    assert_int_equal(sp(stack), 24);
    spad_stack_destroy(stack);
}

static void aligning_the_stack_does_not_outlast_a_section(void **state) {
    (void)state;
    spad_stack *stack = april(0, 1000);
    spad_error error;
    open(stack, 2);
    put(stack, 5);
    assert_ok(spad_stack_align(stack, 32, &error), &error);
    assert_int_equal(sp(stack), 32);
    increment(stack);
    assert_int_equal(sp(stack), 5);
    spad_stack_destroy(stack);
}

static void unequal_sections_overlap_across_a_wrap(void **state) {
    (void)state;
    spad_stack *stack = april(0, 1000);
    static const int64_t sizes[] = {50, 50, 100, 50};
    static const int64_t addresses[] = {0, 50, 0, 100};
    open(stack, 2);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(put(stack, sizes[i]), addresses[i]);
        increment(stack);
    }
    assert_int_equal(spad_stack_overlap_count(stack), 1); /* the third and the second */
    const spad_stack_overlap *overlap = spad_stack_get_overlap(stack, 0);
    assert_int_equal(overlap->newer, 2);
    assert_int_equal(overlap->older, 1);
    assert_int_equal(overlap->newer_rect.bytes, 100);
    assert_int_equal(overlap->older_rect.byte, 50);
    assert_null(spad_stack_get_overlap(stack, 1));
    spad_stack_destroy(stack);
}

static void sections_skip_what_inner_scopes_used(void **state) {
    (void)state;
    spad_stack *stack = april(0, 10000);
    open(stack, 1); /* the same section reuses the bytes of a closed scope */
    open(stack, 1);
    assert_int_equal(put(stack, 100), 0);
    close(stack);
    assert_int_equal(put(stack, 10), 0);
    close(stack);
    static const int64_t outer[] = {0, 130, 0, 130};
    static const int64_t inner[] = {100, 230, 100, 230};
    open(stack, 2);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(put(stack, 100), outer[i]);
        open(stack, 1);
        assert_int_equal(put(stack, 30), inner[i]);
        close(stack);
        increment(stack);
    }
    close(stack);
    spad_stack_destroy(stack);
}

static void sections_nest(void **state) {
    (void)state;
    spad_stack *stack = april(0, 10000);
    static const int64_t outer[] = {0, 112, 0};
    static const int64_t inner[][5] = {
        {64, 80, 96, 64, 80}, {176, 192, 208, 176, 192}, {64, 80, 96, 64, 80}};
    open(stack, 2);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(put(stack, 64), outer[i]);
        open(stack, 3);
        for (int j = 0; j < 5; j++) {
            assert_int_equal(put(stack, 16), inner[i][j]);
            increment(stack);
        }
        close(stack);
        increment(stack);
    }
    close(stack);
    spad_stack_destroy(stack);
}

static void automatic_cursors_move_below_zero(void **state) {
    (void)state;
    spad_stack *stack = april(0, 100);
    spad_stack_set_automatic(stack, true);
    assert_int_equal(heap(stack, 107), SPAD_NO_BYTE);
    assert_int_equal(spad_stack_get_free_space(stack), -8);
    heap_aligned(stack, 10, 32);
    assert_int_equal(spad_stack_get_free_space(stack), -44);
    assert_int_equal(pop(stack), -36);
    assert_int_equal(pop(stack), 68);
    spad_stack_set_automatic(stack, false);
    assert_int_equal(hp(stack), 68); /* switching keeps the cursors */
    spad_stack_destroy(stack);
}

static void degrees_below_one_never_wrap(void **state) {
    (void)state;
    spad_stack *stack = april(0, 1000);
    open(stack, 0);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(put(stack, 10), 10 * i);
        increment(stack);
    }
    close(stack);
    open(stack, -3);
    put(stack, 10);
    increment(stack);
    assert_int_equal(put(stack, 10), 10);
    spad_stack_destroy(stack);
}

static void a_full_region_is_noticed_before_a_missing_scope(void **state) {
    (void)state;
    spad_stack *stack = april(0, 10);
    spad_error error;
    assert_int_equal(try_put(stack, 11, &error), SPAD_ERR_NO_FIT);
    assert_int_equal(try_put(stack, 10, &error), SPAD_ERR_NO_SCOPE);
    assert_int_equal(spad_stack_close_scope(stack, &error), SPAD_ERR_NO_SCOPE);
    assert_int_equal(spad_stack_increment_section(stack, &error), SPAD_ERR_NO_SCOPE);
    spad_stack_destroy(stack);
}

static void the_library_knows_fewer_types(void **state) {
    (void)state;
    spad_stack *stack = april(0, 1000);
    spad_rect rect;
    spad_error error;
    static const spad_dtype unknown[] = {SPAD_BOOL, SPAD_TFLOAT32, SPAD_FLOAT8_E8M0FNU, SPAD_INT64,
                                         SPAD_INT4};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        assert_int_equal(
            spad_stack_alloc_heap(&rect, stack, SPAD_SHAPE(1, 4), unknown[i], NULL, NULL, &error),
            SPAD_ERR_DTYPE);
    }
    assert_string_equal(error.message,
                        "the library behaviours do not support the element type int4");
    spad_stack_destroy(stack);
}

/* ---- the later version ------------------------------------------------------------- */

static void later_heap_bases_are_aligned(void **state) {
    (void)state;
    static const struct {
        int64_t upper, bytes, align, address;
    } rows[] = {
        {212984, 3, SPAD_ALIGN_DEFAULT, 212980},
        {212984, 100, 32, 212864},
        {212984, 40, 32, 212928},
        {212984, 6, 2, 212978},
        {101, 4, SPAD_ALIGN_DEFAULT, 96},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        spad_stack *stack = later(0, rows[i].upper);
        assert_int_equal(heap_aligned(stack, rows[i].bytes, rows[i].align), rows[i].address);
        assert_int_equal(pop(stack), rows[i].upper); /* exactly restored */
        spad_stack_destroy(stack);
    }
}

/* ---- what the library prints ------------------------------------------------------- */

static void logs_are_those_of_the_library(void **state) {
    (void)state;
    const spad_target *target;
    spad_trace *trace;
    spad_stack *stack;
    spad_error error;
    spad_rect rect;
    test_text text;
    test_text_init(&text);
    assert_ok(spad_target_find(&target, "trn2", &error), &error);
    assert_ok(spad_trace_create(&trace, target, NULL, &error), &error);
    const spad_stack_options options = {.behaviour = SPAD_STACK_LIBRARY_2026_04, .trace = trace};
    assert_ok(spad_stack_create(&stack, target, "sbuf", 0, 1000, &options, &error), &error);
    assert_ok(spad_stack_set_prefix(stack, "L0_", &error), &error);
    assert_ok(
        spad_stack_alloc_heap(&rect, stack, SPAD_SHAPE(128, 3), SPAD_UINT8, "w", NULL, &error),
        &error);
    assert_ok(spad_stack_open_scope(stack, 2, "outer", &error), &error);
    assert_ok(
        spad_stack_alloc_stack(&rect, stack, SPAD_SHAPE(128, 5), SPAD_BFLOAT16, "", NULL, &error),
        &error);
    assert_ok(spad_stack_open_scope(stack, 1, NULL, &error), &error);
    assert_ok(
        spad_stack_alloc_stack(&rect, stack, SPAD_SHAPE(64), SPAD_FLOAT32, NULL, NULL, &error),
        &error);
    close(stack);
    increment(stack);
    increment(stack);
    pop(stack);
    close(stack);
    assert_ok(spad_stack_flush_log(stack, &text.sink, &error), &error);
    assert_ok(spad_stack_write_stats(stack, &text.sink, &error), &error);
    assert_string_equal(
        text.bytes, "[SBM] Allocations:\n"
                    "    [HEAP+] L0_w: 3 B @ 996 (128, 3) uint8\n"
                    "    ▶ SCOPE 'outer' [interleave=2] @ 0\n"
                    "    ├── L0_: 10 B @ 0 (128, 5) bfloat16\n"
                    "    ├── ▶ SCOPE (unnamed) [interleave=1] @ 10\n"
                    "    │   └── (unnamed): 4 B @ 12 (64,) float32\n"
                    "    ├── ◀ END (unnamed) freed=6 B\n"
                    "    ├── ↳ section: 1/2 @ 16\n"
                    "    ├── ↻ section: 0/2 @ 0\n"
                    "    └── [HEAP-] FREE L0_w: 3 B, remaining=0\n"
                    "    ◀ END 'outer' freed=0 B\n"
                    "[SBM] SB memory statistics: max_usage=20 B (2%), free=980 B, stack=16 B (2 "
                    "allocs), heap=4 B (1 allocs)\n");
    test_text_clear(&text);
    assert_ok(spad_stack_flush_log(stack, &text.sink, &error), &error);
    assert_string_equal(text.bytes, ""); /* nothing new */
    assert_ok(spad_stack_open_scope(stack, 1, "s", &error), &error);
    assert_ok(
        spad_stack_alloc_heap(&rect, stack, SPAD_SHAPE(128, 4), SPAD_UINT8, "h", NULL, &error),
        &error); /* at the depth of the open scopes, as everything */
    assert_ok(spad_stack_flush_log(stack, &text.sink, &error), &error);
    assert_string_equal(text.bytes, "[SBM] Allocations:\n"
                                    "    ▶ SCOPE 's' [interleave=1] @ 0\n"
                                    "    └── [HEAP+] L0_h: 4 B @ 992 (128, 4) uint8\n");
    test_text_free(&text);
    spad_stack_destroy(stack);
    spad_trace_destroy(trace);
}

/* The manual's tree with the addresses of the library, and shapes as Python writes lists. */
static void the_log_of_the_manual(void **state) {
    (void)state;
    const spad_target *target;
    spad_trace *trace;
    spad_stack *stack;
    spad_error error;
    spad_rect rect;
    test_text text;
    test_text_init(&text);
    assert_ok(spad_target_find(&target, "trn2", &error), &error);
    assert_ok(spad_trace_create(&trace, target, NULL, &error), &error);
    const spad_stack_options options = {
        .behaviour = SPAD_STACK_LIBRARY_2026_04, .manual_log = true, .trace = trace};
    assert_ok(spad_stack_create(&stack, target, "sbuf", 0, 1000, &options, &error), &error);
    const spad_stack_place list = {.list_shape = true};
    assert_ok(spad_stack_open_scope(stack, 2, "s", &error), &error);
    for (int i = 0; i < 2; i++) {
        const spad_shape shape = SPAD_SHAPE(128, 3, 2);
        assert_ok(spad_stack_alloc_stack(&rect, stack, shape, SPAD_UINT8, "w",
                                         i == 0 ? &list : NULL, &error),
                  &error);
        increment(stack);
    }
    close(stack);
    assert_ok(spad_stack_alloc_heap(&rect, stack, SPAD_SHAPE(64), SPAD_UINT8, NULL, &list, &error),
              &error);
    assert_ok(spad_stack_flush_log(stack, &text.sink, &error), &error);
    assert_string_equal(text.bytes, "[SBM] Allocations:\n"
                                    "    ▶ SCOPE 's' [interleave=2] @ 0\n"
                                    "    ├── w: 6 B @ 0 [128, 3, 2] uint8\n"
                                    "    ├── ↳ section: 1/2 @ 6\n"
                                    "    └── w: 6 B @ 6 (128, 3, 2) uint8\n"
                                    "    ◀ END 's' freed=12 B\n"
                                    "    [HEAP+] (unnamed): 1 B @ 996 [64] uint8\n");
    test_text_free(&text);
    spad_stack_destroy(stack);
    spad_trace_destroy(trace);
}

/* ---- strict: the library's address, or an error ------------------------------------- */

static spad_stack *strict(spad_stack_behaviour behaviour, int64_t lower, int64_t upper) {
    const spad_target *target;
    spad_stack *stack;
    spad_error error;
    const spad_stack_options options = {.behaviour = behaviour, .strict = true};
    assert_ok(spad_target_find(&target, "trn2", &error), &error);
    assert_ok(spad_stack_create(&stack, target, "sbuf", lower, upper, &options, &error), &error);
    return stack;
}

static spad_status try_alloc(spad_stack *stack, spad_mode mode, spad_shape shape, const char *name,
                             const spad_stack_place *place, spad_error *error) {
    spad_rect rect;
    const int64_t free_space = spad_stack_get_free_space(stack);
    const spad_status status =
        mode == SPAD_MODE_STACK
            ? spad_stack_alloc_stack(&rect, stack, shape, SPAD_UINT8, name, place, error)
            : spad_stack_alloc_heap(&rect, stack, shape, SPAD_UINT8, name, place, error);
    if (status != SPAD_OK) assert_int_equal(spad_stack_get_free_space(stack), free_space);
    assert_ok(spad_stack_check(stack, NULL), error);
    return status;
}

static void strict_managers_keep_the_contract(void **state) {
    (void)state;
    spad_error error;
    const spad_stack_place by_32 = {.align = 32};
    const spad_stack_place lane_33 = {.base_lane = 33};
    spad_stack *s = strict(SPAD_STACK_LIBRARY_2026_04, 0, 4096);
    assert_int_equal(heap_aligned(s, 96, 32), 4000); /* as the library: its end is 4096 */
    assert_int_equal(try_alloc(s, SPAD_MODE_HEAP, SPAD_SHAPE(128, 100), NULL, &by_32, &error),
                     SPAD_ERR_ALIGNMENT);
    assert_string_equal(error.message,
                        "the library puts this heap tensor of 100 B at 3,900, not at a multiple of "
                        "32: it aligns the end of heap tensors; make the size a multiple of 32 B, "
                        "use the behaviour 'exact', or strict=False for the library's address");
    assert_int_equal(try_alloc(s, SPAD_MODE_HEAP, SPAD_SHAPE(32, 4), NULL, &lane_33, &error),
                     SPAD_ERR_LANES);
    assert_int_equal(try_alloc(s, SPAD_MODE_HEAP, SPAD_SHAPE(129, 4), NULL, NULL, &error),
                     SPAD_ERR_LANES);
    assert_ok(try_alloc(s, SPAD_MODE_HEAP, SPAD_SHAPE(32, 4), "w", NULL, &error), &error);
    assert_int_equal(try_alloc(s, SPAD_MODE_HEAP, SPAD_SHAPE(32, 4), "w", NULL, &error),
                     SPAD_ERR_NAME);
    for (int i = 0; i < 2; i++) /* an empty name is none */
        assert_ok(try_alloc(s, SPAD_MODE_HEAP, SPAD_SHAPE(32, 4), "", NULL, &error), &error);
    assert_int_equal(spad_stack_open_scope(s, 0, NULL, &error), SPAD_ERR_ARGUMENT);
    spad_stack_destroy(s);
}

static void strict_managers_stay_in_their_region(void **state) {
    (void)state;
    spad_error error;
    const spad_stack_place by_32 = {.align = 32};
    for (int i = 0; i < 2; i++) {
        spad_stack *s =
            strict(i == 0 ? SPAD_STACK_LIBRARY_2026_04 : SPAD_STACK_LIBRARY_LATER, 0, 100);
        assert_int_equal(try_alloc(s, SPAD_MODE_HEAP, SPAD_SHAPE(128, 100), NULL, &by_32, &error),
                         i == 0 ? SPAD_ERR_NO_FIT : SPAD_OK);
        if (i == 1) assert_ok(spad_stack_pop_heap(s, &error), &error);
        open(s, 1);
        put(s, 1);
        assert_int_equal(try_alloc(s, SPAD_MODE_STACK, SPAD_SHAPE(128, 99), NULL, &by_32, &error),
                         SPAD_ERR_NO_FIT);
        assert_int_equal(error.needed, 99);
        assert_int_equal(error.available, 68);
        assert_int_equal(try_alloc(s, SPAD_MODE_HEAP, SPAD_SHAPE(128, 96), NULL, &by_32, &error),
                         SPAD_ERR_NO_FIT);
        assert_int_equal(spad_stack_align(s, 128, &error), SPAD_ERR_NO_FIT);
        spad_stack_set_automatic(s, true); /* no addresses, so nothing to keep */
        assert_ok(try_alloc(s, SPAD_MODE_HEAP, SPAD_SHAPE(128, 100), NULL, &by_32, &error), &error);
        spad_stack_destroy(s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overflow_is_tested_before_alignment),
        cmocka_unit_test(heap_alignment_is_that_of_the_end),
        cmocka_unit_test(pops_do_not_restore),
        cmocka_unit_test(default_alignment_is_the_size_of_the_element),
        cmocka_unit_test(aligning_the_stack_does_not_outlast_a_section),
        cmocka_unit_test(unequal_sections_overlap_across_a_wrap),
        cmocka_unit_test(sections_skip_what_inner_scopes_used),
        cmocka_unit_test(sections_nest),
        cmocka_unit_test(automatic_cursors_move_below_zero),
        cmocka_unit_test(degrees_below_one_never_wrap),
        cmocka_unit_test(a_full_region_is_noticed_before_a_missing_scope),
        cmocka_unit_test(the_library_knows_fewer_types),
        cmocka_unit_test(later_heap_bases_are_aligned),
        cmocka_unit_test(strict_managers_keep_the_contract),
        cmocka_unit_test(strict_managers_stay_in_their_region),
        cmocka_unit_test(logs_are_those_of_the_library),
        cmocka_unit_test(the_log_of_the_manual),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
