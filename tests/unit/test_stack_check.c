/* SPDX-License-Identifier: Apache-2.0
 *
 * spad_stack_check notices every invariant of stack.h that does not hold: each is broken from
 * outside in a manager that was sound, and mended again. */
#include <string.h>

#include "alloc/stack/stack.h"
#include "spad/experimental/stack_queries.h"
#include "support/support.h"

/* Two scopes, the inner one with a section of the round before, and two heap tensors. */
static spad_stack *make(void) {
    spad_error error;
    spad_rect rect;
    spad_stack *stack;
    const spad_target *target;
    assert_ok(spad_target_find(&target, "trn2", &error), &error);
    assert_ok(spad_stack_create(&stack, target, "sbuf", 100, 1000, NULL, &error), &error);
    assert_ok(spad_stack_open_scope(stack, 1, "outer", &error), &error);
    assert_ok(
        spad_stack_alloc_stack(&rect, stack, SPAD_SHAPE(1, 50), SPAD_UINT8, "a", NULL, &error),
        &error);
    assert_ok(spad_stack_open_scope(stack, 2, "inner", &error), &error);
    for (int i = 0; i < 3; i++) {
        assert_ok(
            spad_stack_alloc_stack(&rect, stack, SPAD_SHAPE(1, 20), SPAD_UINT8, NULL, NULL, &error),
            &error);
        assert_ok(spad_stack_increment_section(stack, &error), &error);
    }
    for (int i = 0; i < 2; i++) {
        assert_ok(
            spad_stack_alloc_heap(&rect, stack, SPAD_SHAPE(1, 30), SPAD_UINT8, NULL, NULL, &error),
            &error);
    }
    assert_ok(spad_stack_pop_heap(stack, &error), &error); /* so that a record is free */
    return stack;
}

static stack_record *first_record(spad_stack *stack) {
    return &stack->records.items[stack->sections.items[0].newest];
}

static stack_record *heap_record(spad_stack *stack) {
    return &stack->records.items[stack->heap.items[0].record];
}

/* Each breaks one thing. */
static void shift_sections(spad_stack *s) {
    s->scopes.items[1].first_section = 0;
}
static void enter_no_section(spad_stack *s) {
    s->scopes.items[1].section = -1;
}
static void enter_a_late_section(spad_stack *s) {
    s->scopes.items[1].section = 2;
}
static void start_before_the_outer(spad_stack *s) {
    s->scopes.items[1].start = 99;
}
static void begin_a_section_before_its_scope(spad_stack *s) {
    s->scopes.items[1].next_section = s->scopes.items[1].start - 1;
}
static void lower_the_water(spad_stack *s) {
    s->scopes.items[1].high = s->scopes.items[1].next_section - 1;
}
static void lose_a_section(spad_stack *s) {
    s->sections.count--;
}
static void lower_the_stack(spad_stack *s) {
    s->sp = s->scopes.items[1].start - 1;
}
static void forget_numbers(spad_stack *s) {
    s->tensor_count = 0;
}
static void leave_the_region_below(spad_stack *s) {
    first_record(s)->rect.byte = 99;
}
static void leave_the_region_above(spad_stack *s) {
    heap_record(s)->rect.bytes = 1000;
}
static void sink_a_heap_tensor(spad_stack *s) {
    heap_record(s)->rect.byte = s->hp - 1;
}
static void raise_a_stack_tensor(spad_stack *s) {
    first_record(s)->rect.byte = s->hp - 50;
}
static void tie_the_free_list(spad_stack *s) {
    s->records.items[s->free_record].next = s->free_record;
}
static void lose_the_free_list(spad_stack *s) {
    s->free_record = -1;
}

static void each_broken_invariant_is_named(void **state) {
    (void)state;
    static const struct {
        void (*damage)(spad_stack *);
        const char *what;
    } cases[] = {
        {shift_sections, "sections are contiguous"},
        {enter_no_section, "the current section has been entered"},
        {enter_a_late_section, "the current section has been entered"},
        {start_before_the_outer, "start <= next_section <= high, starts ascend"},
        {begin_a_section_before_its_scope, "start <= next_section <= high, starts ascend"},
        {lower_the_water, "start <= next_section <= high, starts ascend"},
        {lose_a_section, "every section has a scope"},
        {lower_the_stack, "start <= sp"},
        {forget_numbers, "numbers are below the count"},
        {leave_the_region_below, "tensors are in the region"},
        {leave_the_region_above, "tensors are in the region"},
        {sink_a_heap_tensor, "heap tensors are above the heap address"},
        {raise_a_stack_tensor, "stack tensors are below the stack address or in the shadow"},
        {tie_the_free_list, "the free list ends"},
        {lose_the_free_list, "every record is live or free"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_error error = {0};
        spad_stack *stack = make();
        const spad_stack whole = *stack;
        stack_record records[8];
        stack_scope scopes[2];
        assert_true(stack->records.count <= 8 && stack->scopes.count == 2);
        memcpy(records, stack->records.items, stack->records.count * sizeof *records);
        memcpy(scopes, stack->scopes.items, sizeof scopes);
        assert_ok(spad_stack_check(stack, &error), &error);
        cases[i].damage(stack);
        assert_int_equal(spad_stack_check(stack, &error), SPAD_ERR_INTERNAL);
        const char *shown = strstr(error.message, "stack invariant does not hold: ");
        assert_ptr_equal(shown, error.message);
        assert_string_equal(shown + strlen("stack invariant does not hold: "), cases[i].what);
        *stack = whole;
        memcpy(stack->records.items, records, stack->records.count * sizeof *records);
        memcpy(stack->scopes.items, scopes, sizeof scopes);
        assert_ok(spad_stack_check(stack, &error), &error);
        spad_stack_destroy(stack);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_broken_invariant_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
