/* SPDX-License-Identifier: Apache-2.0
 *
 * The scoped manager's bump and sections, for any region, cursors, element types and extents.
 *
 * bump: a tensor that the quick way places is where the general way would put it, aligned, above
 * the stack and below the heap, and the cursor is at its end.
 * sections: in a scope of two sections a tensor of one shares no byte with that of the other, in
 * the first round and, unless the quick way leaves it to the general one, after the wrap; closing
 * the scope brings the cursor back.
 */
#include "alloc/stack/alloc.c"
#include "proof.h"

static stack_scope scopes[2];
static stack_section sections[3];
static stack_record records[4];
static const spad_space space = {.name = "space", .lanes = 128, .alignment = 1, .granule = 1};

/* Any manager whose region and cursors are in order, with room for a few records. */
static void make(spad_stack *stack) {
    *stack = (spad_stack){.space = &space, .everyday_lanes = 128, .prefix = ""};
    stack->lower = nondet_int64();
    stack->sp = nondet_int64();
    stack->hp = nondet_int64();
    stack->upper = nondet_int64();
    ASSUME(0 <= stack->lower && stack->lower <= stack->sp && stack->sp <= stack->hp &&
           stack->hp <= stack->upper && stack->upper <= STACK_ADDRESS_LIMIT);
    stack->scopes.items = scopes;
    stack->scopes.capacity = 2;
    stack->sections.items = sections;
    stack->sections.capacity = 3;
    stack->records.items = records;
    stack->records.count = stack->records.capacity = 4;
    for (int i = 0; i < 4; i++) records[i].next = i < 3 ? i + 1 : -1;
    spad__stack_expect_peaks(stack);
}

static spad_dtype any_dtype(void) {
    switch (nondet_uint8() & 3) {
    case 0: return SPAD_UINT8;
    case 1: return SPAD_BFLOAT16;
    case 2: return SPAD_FLOAT32;
    default: return SPAD_INT64;
    }
}

/* One tensor by the quick way, of any extents; false: it is left to the general way. */
static bool place(spad_rect *out, spad_stack *stack, spad_dtype dtype) {
    const int64_t dims[2] = {nondet_int64(), nondet_int64()};
    const int64_t sp = stack->sp;
    const int64_t hp = stack->hp;
    const int64_t element = spad__dtype_whole_bytes(dtype);
    if (!place_everyday(out, stack, (spad_shape){2, dims}, dtype)) {
        PROVE(stack->sp == sp && stack->hp == hp);
        return false;
    }
    PROVE(out->lane == 0 && out->lanes == dims[0] && dims[0] >= 1 && dims[0] <= 128);
    PROVE(out->byte >= sp && out->byte - sp < element && (out->byte & (element - 1)) == 0);
    PROVE(out->bytes >= 0 && out->byte + out->bytes == stack->sp);
    PROVE(stack->sp <= stack->hp && stack->hp == hp);
    return true;
}

static void prove_bump(void) {
    spad_stack stack;
    make(&stack);
    PROVE(spad_stack_open_scope(&stack, 1, NULL, NULL) == SPAD_OK);
    const spad_stack before = stack;
    spad_rect rect;
    const spad_dtype dtype = any_dtype();
    if (!place(&rect, &stack, dtype)) return;
    const stack_request request = {
        .bytes = rect.bytes, .align = spad__dtype_whole_bytes(dtype), .mode = SPAD_MODE_STACK};
    stack_spot spot;
    PROVE(exact_stack_spot(&spot, &before, &request, NULL) == SPAD_OK);
    PROVE(spot.address == rect.byte && spot.sp == stack.sp && spot.hp == stack.hp);
}

static bool apart(spad_rect a, spad_rect b) {
    return a.byte + a.bytes <= b.byte || b.byte + b.bytes <= a.byte;
}

static void prove_sections(void) {
    spad_stack stack;
    spad_rect first;
    spad_rect second;
    spad_rect third;
    make(&stack);
    const int64_t start = stack.sp;
    PROVE(spad_stack_open_scope(&stack, 2, NULL, NULL) == SPAD_OK);
    if (!place(&first, &stack, any_dtype())) return;
    PROVE(spad_stack_increment_section(&stack, NULL) == SPAD_OK);
    PROVE(stack.sp == first.byte + first.bytes);
    if (!place(&second, &stack, any_dtype())) return;
    PROVE(apart(first, second));
    PROVE(spad_stack_increment_section(&stack, NULL) == SPAD_OK); /* the wrap */
    PROVE(stack.sp == start);
    if (place(&third, &stack, any_dtype()))
        PROVE(second.bytes == 0 || third.bytes == 0 || apart(second, third));
    PROVE(spad_stack_close_scope(&stack, NULL) == SPAD_OK);
    PROVE(stack.sp == start && stack.scopes.count == 0 && stack.sections.count == 0);
}

int main(void) {
#if defined(BUMP)
    prove_bump();
#else
    prove_sections();
#endif
    return 0;
}
