/* SPDX-License-Identifier: Apache-2.0
 *
 * Any sequence of calls of the scoped manager, in any behaviour: the invariants
 * hold after each, in the exact one no two live tensors share a byte unless the
 * overlap was recorded, and a refused call changes nothing.
 *
 * Input: one byte of configuration, then calls: an operation byte and up to
 * three bytes of arguments each.
 */
#include "fuzz.h"
#include "spad/experimental/stack_queries.h"
#include "spad/stack.h"

enum { REGION = 512, LIVE = 64 };

static const spad_space spaces[] = {
    {.name = "plain", .lanes = 128, .bytes = REGION, .alignment = 1, .granule = 1},
    {.name = "banked",
     .lanes = 1,
     .bytes = REGION,
     .alignment = 4,
     .granule = 8,
     .bank_bytes = 64,
     .banks_exclusive = true},
    {.name = "far",
     .lanes = 1,
     .bytes = SPAD_UNBOUNDED,
     .alignment = 1,
     .granule = 1,
     .off_chip = true},
};
static const spad_target target = {.name = "toy", .space_count = 3, .spaces = spaces};

/* Overlaps between live tensors are counted; each was recorded when it arose. */
static void check_sharing(const spad_stack *stack) {
    spad_stack_tensor live[LIVE];
    const size_t count = spad_stack_list_live(live, LIVE, stack);
    int64_t shared = 0;
    for (size_t a = 0; a < count && a < LIVE; a++) {
        for (size_t b = a + 1; b < count && b < LIVE; b++) {
            if (live[a].rect.byte == SPAD_NO_BYTE || live[b].rect.byte == SPAD_NO_BYTE) continue;
            shared += spad_rect_overlaps(live[a].rect, live[b].rect);
        }
    }
    REQUIRE(shared <= spad_stack_overlap_count(stack));
}

static spad_status call_alloc(spad_stack *stack, fuzz_input *in, int op, spad_error *error) {
    static const spad_dtype dtypes[] = {SPAD_UINT8,    SPAD_BFLOAT16, SPAD_FLOAT32,
                                        SPAD_UINT4,    SPAD_INT64,    SPAD_FLOAT8_E4M3FN_X4,
                                        (spad_dtype)77};
    static const char *const names[] = {NULL, "a", "b", "c", "", NULL, "d", NULL};
    const int how = fuzz_next(in);
    const int64_t extent = fuzz_next(in) * (how & 128 ? 3 : 1) - (how == 255 ? 1000 : 0);
    const spad_stack_place place = {.align = (how & 7) == 7 ? -1 : (how & 7) * 5,
                                    .base_lane = (how >> 3) & 1,
                                    .space = (how & 96) == 96 ? "far" : NULL};
    const spad_stack_place *wish = how & 16 ? &place : NULL;
    const spad_shape shape = SPAD_SHAPE(1, extent);
    const spad_dtype dtype = dtypes[(how >> 2) % 7];
    const char *name = names[how % 8];
    spad_rect rect;
    if (op == 0) return spad_stack_alloc(&rect, stack, shape, dtype, name, wish, error);
    if (op == 1) return spad_stack_alloc_heap(&rect, stack, shape, dtype, name, wish, error);
    return spad_stack_alloc_stack(&rect, stack, shape, dtype, name, wish, error);
}

enum { MARKS = 4 };

static spad_status call(spad_stack *stack, fuzz_input *in, spad_stack_checkpoint *marks,
                        spad_error *error) {
    const int op = fuzz_next(in) % 14;
    switch (op) {
    case 3: return spad_stack_open_scope(stack, fuzz_next(in) % 5 - 1, "s", error);
    case 4: return spad_stack_close_scope(stack, error);
    case 5:
    case 6: return spad_stack_increment_section(stack, error);
    case 7: return spad_stack_pop_heap(stack, error);
    case 8: return spad_stack_align(stack, fuzz_next(in), error);
    case 9: return spad_stack_set_prefix(stack, fuzz_next(in) & 1 ? "p_" : NULL, error);
    case 10: marks[fuzz_next(in) % MARKS] = spad_stack_mark(stack); return SPAD_OK;
    case 11: return spad_stack_rollback(stack, &marks[fuzz_next(in) % MARKS], error);
    case 12:
        if (fuzz_next(in) % 8 == 0)
            spad_stack_set_automatic(stack, !spad_stack_is_automatic(stack));
        return SPAD_OK;
    default: return call_alloc(stack, in, op, error);
    }
}

static int discard(void *context, const char *bytes, size_t count) {
    (void)context;
    (void)bytes;
    (void)count;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_input in = {data, size};
    const int config = fuzz_next(&in);
    spad_error error;
    spad_trace *trace = NULL;
    spad_stack *stack;
    if (config & 4) REQUIRE(spad_trace_create(&trace, &target, NULL, &error) == SPAD_OK);
    const spad_stack_options options = {.behaviour = (spad_stack_behaviour)(config % 3),
                                        .automatic = (config & 8) != 0,
                                        .default_heap = (config & 16) != 0,
                                        .trace = trace};
    REQUIRE(spad_stack_create(&stack, &target, config & 32 ? "banked" : "plain",
                              config & 64 ? 7 : 0, REGION - (config & 64 ? 3 : 0), &options,
                              &error) == SPAD_OK);
    spad_stack_checkpoint marks[MARKS];
    for (int i = 0; i < MARKS; i++) marks[i] = spad_stack_mark(stack);
    const bool exact = options.behaviour == SPAD_STACK_EXACT;
    bool always_placed = !options.automatic;
    while (in.size > 0) {
        const int64_t free_before = spad_stack_get_free_space(stack);
        const size_t live_before = spad_stack_list_live(NULL, 0, stack);
        const size_t events = trace != NULL ? spad_trace_event_count(trace) : 0;
        const spad_status status = call(stack, &in, marks, &error);
        if (status != SPAD_OK) {
            REQUIRE(spad_stack_get_free_space(stack) == free_before);
            REQUIRE(spad_stack_list_live(NULL, 0, stack) == live_before);
            REQUIRE(trace == NULL || spad_trace_event_count(trace) == events);
            REQUIRE(error.code == status && error.message[0] != '\0');
        }
        if (spad_stack_is_automatic(stack)) always_placed = false;
        if (exact && always_placed) {
            REQUIRE(spad_stack_check(stack, &error) == SPAD_OK);
            check_sharing(stack);
        }
    }
    const spad_sink sink = {.write = discard};
    REQUIRE(spad_stack_flush_log(stack, &sink, &error) == SPAD_OK);
    spad_stack_destroy(stack);
    spad_trace_destroy(trace);
    return 0;
}
