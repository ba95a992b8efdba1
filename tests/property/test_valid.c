/* SPDX-License-Identifier: Apache-2.0
 *
 * The walks that assertions use: true along random histories, at any size, and false as soon as
 * one field is wrong. A walk that cannot fail would be worth nothing.
 */
#include <stdio.h>

#include "alloc/stack/stack.h"
#include "base/names.h"
#include "base/random.h"
#include "plan/search/boxes.h"
#include "spad/experimental/stack_queries.h"
#include "support/breaks.h"
#include "support/packing.h"
#include "trace/trace.h"

/* ---- base -------------------------------------------------------------------------- */

static void names(void **state) {
    (void)state;
    const spad_host host = spad__host_or_default(NULL);
    spad__names set;
    spad__random random = {1};
    spad__names_init(&set, &host);
    for (int i = 0; i < 1000; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d", (int)spad__random_below(&random, 500));
        if (spad__names_index(&set, "", name) == SPAD__NO_NAME) {
            assert_non_null(spad__names_add(&set, "", name));
        } else if (spad__random_below(&random, 20) == 0) {
            spad__names_truncate(&set, spad__random_below(&random, set.names.count));
        }
        assert_true(spad__names_is_valid(&set));
        assert_true(spad__arena_is_valid(&set.texts));
    }
    assert_true(set.names.count > 20);
    BREAKS(spad__names_is_valid(&set), set.names.count, set.names.count - 1);
    BREAKS(spad__names_is_valid(&set), set.names.items[7].hash, set.names.items[7].hash + 1);
    size_t used = 0;
    while (set.index.slots[used].number == 0) used++;
    BREAKS(spad__names_is_valid(&set), set.index.slots[used].number, 0);
    BREAKS(spad__names_is_valid(&set), set.index.count, set.index.count + 1);
    BREAKS(spad__names_is_valid(&set), set.names.capacity, 1);
    spad__names_free(&set);
}

/* ---- plan -------------------------------------------------------------------------- */

static void models(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        spad_plan *plan;
        spad__model m;
        spad__boxes b;
        spad_error error;
        bool suits;
        assert_ok(spad_plan_create(&plan, NULL, &error), &error);
        assert_ok(packing_shaped(plan, PACKING_RANDOM, 400, seed, &error), &error);
        assert_ok(spad__model_build(&m, plan, &error), &error);
        assert_ok(spad__boxes_build(&b, &m, &suits, &error), &error);
        assert_true(suits && m.section_count > 3 && b.count > 10);
        BREAKS(spad__model_is_valid(&m), m.items[1].begin, m.items[1].begin + 1);
        BREAKS(spad__model_is_valid(&m), m.items[1].size, 0);
        BREAKS(spad__model_is_valid(&m), m.items[1].alignment, 0);
        BREAKS(spad__model_is_valid(&m), m.pieces[m.items[2].piece_first].lanes, 7);
        BREAKS(spad__model_is_valid(&m), m.moment[1], m.moment[2]);
        BREAKS(spad__model_is_valid(&m), m.item_of[3], 5);
        BREAKS(spad__model_is_valid(&m), m.item_count, m.item_count - 1);
        BREAKS(spad__boxes_is_valid(&b), b.begin[4], b.end[4]);
        BREAKS(spad__boxes_is_valid(&b), b.size[4], b.size[4] + 1);
        BREAKS(spad__boxes_is_valid(&b), b.load[1], b.load[1] + 1);
        BREAKS(spad__boxes_is_valid(&b), b.first[2], b.count);
        BREAKS(spad__boxes_is_valid(&b), b.twin[0], true);
        BREAKS(spad__boxes_is_valid(&b), b.max_load, b.max_load - 1);
        spad__boxes_free(&b);
        spad__model_free(&m);
        spad_plan_destroy(plan);
    }
}

/* ---- stack and trace --------------------------------------------------------------- */

static void random_step(spad_stack *stack, spad__random *random) {
    spad_rect rect;
    const spad_shape shape = SPAD_SHAPE(128, spad__random_in(random, 1, 64));
    switch (spad__random_below(random, 8)) {
    case 0:
        if (spad_stack_scope_count(stack) < 40)
            spad_stack_open_scope(stack, spad__random_in(random, 1, 3), "s", NULL);
        break;
    case 1: spad_stack_close_scope(stack, NULL); break;
    case 2: spad_stack_increment_section(stack, NULL); break;
    case 3: spad_stack_pop_heap(stack, NULL); break;
    case 4: spad_stack_alloc_heap(&rect, stack, shape, SPAD_FLOAT32, NULL, NULL, NULL); break;
    default: spad_stack_alloc_stack(&rect, stack, shape, SPAD_FLOAT32, NULL, NULL, NULL); break;
    }
}

static void stacks_and_traces(void **state) {
    (void)state;
    const spad_target *target;
    spad_error error;
    spad_trace *trace;
    spad_stack *stack;
    spad__random random = {4};
    assert_ok(spad_target_find(&target, "trn2", &error), &error);
    assert_ok(spad_trace_create(&trace, target, NULL, &error), &error);
    const spad_stack_options options = {.trace = trace};
    assert_ok(spad_stack_create(&stack, target, "sbuf", 0, SPAD_STACK_TO_THE_TOP, &options, &error),
              &error);
    for (int i = 0; i < 1500; i++) {
        random_step(stack, &random);
        assert_true(spad__stack_is_valid(stack));
        assert_true(spad__trace_is_valid(trace));
    }
    while (stack->scopes.count < 2) random_step(stack, &random);
    while (trace->tensors.items[trace->tensors.count - 1].t_end != SPAD_OPEN_END) {
        random_step(stack, &random);
    }
    BREAKS(spad__stack_is_valid(stack), stack->scopes.items[1].start, -1);
    BREAKS(spad__stack_is_valid(stack), stack->scopes.items[0].high, -1);
    BREAKS(spad__stack_is_valid(stack), stack->scopes.items[1].first_section, 0);
    BREAKS(spad__stack_is_valid(stack), stack->sections.count, stack->sections.count - 1);
    BREAKS(spad__stack_is_valid(stack), stack->records.count, stack->records.count - 1);
    BREAKS(spad__stack_is_valid(stack), stack->tensor_count, 1);
    spad_tensor *tensor = &trace->tensors.items[trace->tensors.count - 1];
    BREAKS(spad__trace_is_valid(trace), tensor->t_begin, tensor->t_begin - 1);
    BREAKS(spad__trace_is_valid(trace), tensor->t_end, 0);
    BREAKS(spad__trace_is_valid(trace), tensor->rect.bytes, tensor->rect.bytes + 1);
    BREAKS(spad__trace_is_valid(trace), trace->owed, trace->owed + 1);
    BREAKS(spad__trace_is_valid(trace), trace->scopes.items[1].parent, 1);
    spad_stack_destroy(stack);
    spad_trace_destroy(trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(names), cmocka_unit_test(models),
                                       cmocka_unit_test(stacks_and_traces)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
