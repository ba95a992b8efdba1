/* SPDX-License-Identifier: Apache-2.0
 *
 * The scoped manager against a slow model, 10^5 random sequences of operations
 * for each behaviour.
 *
 * The model is a literal reading of the rules with plain lists: a tensor is
 * live or not, addresses are found by counting, sharing is found by painting
 * bytes. It has no code in common with the manager. After every step the two
 * are compared in all that can be asked; a refused step must change nothing. */
#include "alloc/stack/stack.h"
#include "spad/experimental/stack_queries.h"
#include "spad/experimental/trace_queries.h"
#include "support/support.h"
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "spad/stack.h"

enum { SEQUENCES = TEST_RUNS(100000), STEPS = 24, MAX_TENSORS = 32, MAX_SCOPES = 32, REGION = 256 };

/* ---- the model --------------------------------------------------------------------- */

typedef struct model_tensor {
    bool live;
    bool on_heap;
    bool has_address;
    int64_t address;
    int64_t bytes;
    int64_t heap_before;
    int scope;   /* depth, from 0 */
    int section; /* in which section of its scope */
} model_tensor;

typedef struct model_scope {
    int64_t start, degree, section, next, high;
    int increments;
    int serial;
} model_scope;

typedef struct model {
    spad_stack_behaviour behaviour;
    const spad_space *space;
    bool automatic;
    int64_t lower, upper, sp, hp;
    model_scope scopes[MAX_SCOPES];
    int depth;
    model_tensor tensors[MAX_TENSORS]; /* in order of allocation */
    int count;
    int64_t overlaps;
    spad_stack_stats stats;
    int serials; /* scopes opened so far */
} model;

/* Multiples of align, found by counting: the numbers are small. */
static int64_t count_up(int64_t value, int64_t align) {
    while (value % align != 0) value++;
    return value;
}

static int64_t count_down(int64_t value, int64_t align) {
    while (value % align != 0) value--;
    return value;
}

static bool one_bank(const spad_space *space, int64_t address, int64_t bytes) {
    if (!space->banks_exclusive) return true;
    for (int64_t b = address; b < address + bytes; b++) {
        if (b % space->bank_bytes == 0 && b != address) return false;
    }
    return true;
}

/* The lowest address from the stack up, and the highest from the heap down, at
 * which a tile may be. */
static bool is_legal(const model *m, int64_t address, int64_t bytes, int64_t align) {
    return address % align == 0 && address % m->space->alignment == 0 &&
           one_bank(m->space, address, bytes);
}

static int64_t exact_up(const model *m, int64_t bytes, int64_t align) {
    int64_t address = m->sp;
    while (!is_legal(m, address, bytes, align)) address++;
    return address;
}

static int64_t exact_down(const model *m, int64_t bytes, int64_t align) {
    int64_t address = m->hp - bytes;
    while (!is_legal(m, address, bytes, align)) address--;
    return address;
}

static int64_t round_size(const model *m, int64_t bytes) {
    return m->behaviour == SPAD_STACK_EXACT ? count_up(bytes, m->space->granule) : bytes;
}

static bool shares_bytes(const model_tensor *a, const model_tensor *b) {
    static bool painted[4 * REGION]; /* addresses from -2 * REGION */
    bool shared = false;
    if (!a->has_address || !b->has_address) return false;
    for (int64_t i = 0; i < a->bytes; i++) painted[a->address + i + 2 * REGION] = true;
    for (int64_t i = 0; i < b->bytes; i++) shared |= painted[b->address + i + 2 * REGION];
    for (int64_t i = 0; i < a->bytes; i++) painted[a->address + i + 2 * REGION] = false;
    return shared;
}

/* The new tensor is the last one of the list. Only stack tensors of another
 * section of an open scope can share its bytes in the exact behaviour. */
static int64_t sharers(const model *m) {
    int64_t found = 0;
    const model_tensor *newest = &m->tensors[m->count - 1];
    for (int i = 0; i < m->count - 1; i++) {
        const model_tensor *t = &m->tensors[i];
        if (t->live && shares_bytes(t, newest)) {
            found++;
            if (m->behaviour != SPAD_STACK_EXACT) continue;
            assert_false(t->on_heap || newest->on_heap);
            assert_true(t->section > m->scopes[t->scope].section);
        }
    }
    return found;
}

/* In the library behaviours a stack tensor can also run into the heap; the
 * manager counts only sections. */
static int64_t section_sharers(const model *m) {
    int64_t found = 0;
    const model_tensor *newest = &m->tensors[m->count - 1];
    for (int i = 0; i < m->count - 1; i++) {
        const model_tensor *t = &m->tensors[i];
        if (t->live && !t->on_heap && t->section > m->scopes[t->scope].section) {
            found += shares_bytes(t, newest);
        }
    }
    return found;
}

static void model_stats(model *m) {
    const int64_t on_stack = m->sp - m->lower;
    const int64_t on_heap = m->upper - m->hp;
    if (on_stack > m->stats.peak_stack) m->stats.peak_stack = on_stack;
    if (on_heap > m->stats.peak_heap) m->stats.peak_heap = on_heap;
    if (on_stack + on_heap > m->stats.peak_combined) m->stats.peak_combined = on_stack + on_heap;
}

static spad_status model_align(model *m, int64_t align) {
    if (m->automatic) return SPAD_ERR_NO_ADDRESS;
    const int64_t address = count_up(m->sp, align);
    if (m->behaviour == SPAD_STACK_EXACT && address > m->hp) return SPAD_ERR_NO_FIT;
    m->sp = address;
    return SPAD_OK;
}

static spad_status model_put(model *m, int64_t bytes, int64_t align, int64_t element) {
    const bool exact = m->behaviour == SPAD_STACK_EXACT;
    if (align == SPAD_ALIGN_DEFAULT) align = element;
    if (exact && m->space->banks_exclusive && bytes > m->space->bank_bytes) return SPAD_ERR_BOUNDS;
    const int64_t address = exact ? exact_up(m, bytes, align) : count_up(m->sp, align);
    const int64_t tested_end = exact ? address + bytes : m->sp + bytes;
    if (!m->automatic && tested_end > m->hp) return SPAD_ERR_NO_FIT;
    if (m->depth == 0) return SPAD_ERR_NO_SCOPE;
    model_scope *top = &m->scopes[m->depth - 1];
    m->tensors[m->count++] = (model_tensor){.live = true,
                                            .has_address = !m->automatic,
                                            .address = address,
                                            .bytes = bytes,
                                            .scope = m->depth - 1,
                                            .section = (int)top->section};
    m->sp = address + bytes;
    if (m->sp > top->next) top->next = m->sp;
    if (m->sp > top->high) top->high = m->sp;
    m->stats.stack_allocations++;
    model_stats(m);
    sharers(m);
    m->overlaps += section_sharers(m);
    return SPAD_OK;
}

static spad_status model_heap(model *m, int64_t bytes, int64_t align, int64_t element) {
    const int64_t before = m->hp;
    int64_t address;
    if (m->behaviour == SPAD_STACK_EXACT) {
        if (align == SPAD_ALIGN_DEFAULT) align = element;
        if (m->space->banks_exclusive && bytes > m->space->bank_bytes) return SPAD_ERR_BOUNDS;
        address = exact_down(m, bytes, align);
        if (!m->automatic && address < m->sp) return SPAD_ERR_NO_FIT;
        /* nothing that is live may be at or above the base */
        for (int i = 0; i < m->count; i++) {
            const model_tensor *t = &m->tensors[i];
            if (!m->automatic && t->live && !t->on_heap && t->has_address &&
                address < t->address + t->bytes && t->section > m->scopes[t->scope].section) {
                return SPAD_ERR_NO_FIT;
            }
        }
        m->hp = address;
    } else {
        if (!m->automatic && m->sp + bytes > m->hp) return SPAD_ERR_NO_FIT;
        if (m->behaviour == SPAD_STACK_LIBRARY_2026_04) {
            if (align != SPAD_ALIGN_DEFAULT) m->hp = count_down(m->hp, align);
            address = m->hp - bytes;
            m->hp = count_down(address, 4);
        } else {
            address = m->hp = count_down(m->hp - bytes, align == SPAD_ALIGN_DEFAULT ? 4 : align);
        }
    }
    m->tensors[m->count++] = (model_tensor){.live = true,
                                            .on_heap = true,
                                            .has_address = !m->automatic,
                                            .address = address,
                                            .bytes = bytes,
                                            .heap_before = before};
    m->stats.heap_allocations++;
    model_stats(m);
    if (m->behaviour == SPAD_STACK_EXACT) assert_int_equal(sharers(m), 0);
    return SPAD_OK;
}

static spad_status model_pop(model *m) {
    for (int i = m->count - 1; i >= 0; i--) {
        model_tensor *t = &m->tensors[i];
        if (!t->live || !t->on_heap) continue;
        t->live = false;
        m->hp = m->behaviour == SPAD_STACK_LIBRARY_2026_04 ? count_down(m->hp + t->bytes, 4)
                                                           : t->heap_before;
        return SPAD_OK;
    }
    return SPAD_ERR_HEAP_EMPTY;
}

static spad_status model_open(model *m, int64_t degree) {
    if (m->behaviour == SPAD_STACK_EXACT && degree < 1) return SPAD_ERR_ARGUMENT;
    m->scopes[m->depth++] = (model_scope){
        .start = m->sp, .degree = degree, .next = m->sp, .high = m->sp, .serial = ++m->serials};
    return SPAD_OK;
}

/* section < 0: all of them */
static void model_end(model *m, int scope, int section) {
    for (int i = 0; i < m->count; i++) {
        model_tensor *t = &m->tensors[i];
        if (!t->on_heap && t->scope == scope && (section < 0 || t->section == section)) {
            t->live = false;
        }
    }
}

static spad_status model_close(model *m) {
    if (m->depth == 0) return SPAD_ERR_NO_SCOPE;
    const model_scope closed = m->scopes[--m->depth];
    model_end(m, m->depth, -1);
    m->sp = closed.start;
    if (m->depth > 0) {
        model_scope *parent = &m->scopes[m->depth - 1];
        if (closed.next > parent->next) parent->next = closed.next;
        if (closed.high > parent->high) parent->high = closed.high;
    }
    return SPAD_OK;
}

static spad_status model_increment(model *m) {
    if (m->depth == 0) return SPAD_ERR_NO_SCOPE;
    model_scope *top = &m->scopes[m->depth - 1];
    top->section++;
    top->increments++;
    if (top->section == top->degree) {
        top->section = 0;
        m->sp = top->start;
        if (m->depth > 1) {
            model_scope *parent = &m->scopes[m->depth - 2];
            if (top->next > parent->next) parent->next = top->next;
            if (top->high > parent->high) parent->high = top->high;
        }
        top->next = top->start;
    } else {
        m->sp = top->next;
    }
    model_end(m, m->depth - 1, (int)top->section);
    return SPAD_OK;
}

/* ---- comparison -------------------------------------------------------------------- */

static void compare(const model *m, const spad_stack *stack, const spad_trace *trace) {
    spad_error error;
    spad_stack_tensor live[MAX_TENSORS];
    const size_t count = spad_stack_list_live(live, MAX_TENSORS, stack);
    size_t expected = 0;
    for (int i = 0; i < m->count; i++) expected += m->tensors[i].live;
    assert_int_equal(count, expected);
    for (size_t i = 0; i < count; i++) {
        const model_tensor *t = &m->tensors[live[i].number];
        assert_true(t->live);
        assert_int_equal(live[i].rect.byte, t->has_address ? t->address : SPAD_NO_BYTE);
        assert_int_equal(live[i].rect.bytes, t->bytes);
        assert_int_equal(live[i].mode, t->on_heap ? SPAD_MODE_HEAP : SPAD_MODE_STACK);
        if (i > 0) assert_true(live[i].rect.bytes <= live[i - 1].rect.bytes);
    }
    assert_int_equal(spad_stack_get_free_space(stack), m->hp - m->sp);
    assert_int_equal(spad_stack_scope_count(stack), m->depth);
    assert_int_equal(spad_stack_overlap_count(stack), m->overlaps);
    const spad_stack_stats stack_stats = spad_stack_get_stats(stack);
    assert_memory_equal(&stack_stats, &m->stats, sizeof stack_stats);
    int64_t high = INT64_MIN;
    for (int d = m->depth - 1; d >= 0; d--) {
        spad_stack_scope scope;
        assert_int_equal(spad_stack_get_scope(&scope, stack, (size_t)d, &error), SPAD_OK);
        if (m->scopes[d].high > high) high = m->scopes[d].high;
        assert_int_equal(scope.high_water, high - m->scopes[d].start);
        assert_int_equal(scope.section, m->scopes[d].section);
    }
    assert_ok(spad_stack_check(stack, &error), &error);
    assert_true(spad__stack_is_valid(stack));
    if (trace == NULL) return;
    assert_true(spad__trace_is_valid(trace));
    spad_space_stats stats;
    assert_int_equal(spad_trace_get_stats(&stats, trace, 0, &error), SPAD_OK);
    assert_int_equal(stats.live_tensors, expected);
    assert_int_equal(stats.total_tensors, m->count);
}

/* ---- random sequences -------------------------------------------------------------- */

static const spad_space spaces[] = {
    {.name = "plain", .lanes = 1, .bytes = REGION, .alignment = 1, .granule = 1},
    {.name = "strict", .lanes = 1, .bytes = REGION, .alignment = 4, .granule = 8},
    {.name = "banked",
     .lanes = 1,
     .bytes = REGION,
     .alignment = 1,
     .granule = 1,
     .bank_bytes = 64,
     .banks_exclusive = true},
};
/* The trace examines space 0 of its target. */
static const spad_target targets[] = {
    {.name = "plain", .space_count = 1, .spaces = &spaces[0]},
    {.name = "strict", .space_count = 1, .spaces = &spaces[1]},
    {.name = "banked", .space_count = 1, .spaces = &spaces[2]},
};

static const spad_dtype dtypes[] = {SPAD_UINT8, SPAD_BFLOAT16, SPAD_FLOAT32};

static spad_status step_alloc(spad__random *random, model *m, spad_stack *stack) {
    static const int64_t aligns[] = {SPAD_ALIGN_DEFAULT, SPAD_ALIGN_DEFAULT, 1, 3, 8, 24, 32};
    const bool on_heap = spad__random_below(random, 3) == 0;
    const spad_dtype dtype = dtypes[spad__random_below(random, 3)];
    const int64_t element = spad_dtype_bytes(dtype);
    const int64_t extent = spad__random_in(random, 0, spad__random_below(random, 5) == 0 ? 40 : 12);
    const spad_stack_place place = {.align = aligns[spad__random_below(random, 7)]};
    const int64_t bytes = round_size(m, extent * element);
    spad_rect rect;
    spad_error error;
    const spad_status expected = on_heap ? model_heap(m, bytes, place.align, element)
                                         : model_put(m, bytes, place.align, element);
    const spad_shape shape = SPAD_SHAPE(1, extent);
    const bool plain = place.align == SPAD_ALIGN_DEFAULT && extent % 2 == 0;
    const spad_stack_place *wish = plain ? NULL : &place;
    const spad_status status =
        on_heap ? spad_stack_alloc_heap(&rect, stack, shape, dtype, NULL, wish, &error)
                : spad_stack_alloc_stack(&rect, stack, shape, dtype, NULL, wish, &error);
    assert_int_equal(status, expected);
    if (status == SPAD_ERR_NO_FIT && m->behaviour == SPAD_STACK_EXACT) {
        assert_true(error.available < error.needed || error.needed == 0);
    }
    if (status == SPAD_OK && !m->automatic) {
        assert_int_equal(rect.byte, m->tensors[m->count - 1].address);
    }
    return status;
}

static spad_status step(spad__random *random, model *m, spad_stack *stack) {
    spad_error error;
    spad_status expected;
    spad_status status;
    switch (spad__random_below(random, 13)) {
    case 0:
    case 1: {
        const int64_t degree = spad__random_in(random, -1, 4);
        expected = model_open(m, degree);
        status = spad_stack_open_scope(stack, degree, NULL, &error);
        break;
    }
    case 2:
        expected = model_close(m);
        status = spad_stack_close_scope(stack, &error);
        break;
    case 3:
    case 4:
    case 5:
        expected = model_increment(m);
        status = spad_stack_increment_section(stack, &error);
        break;
    case 6:
        expected = model_pop(m);
        status = spad_stack_pop_heap(stack, &error);
        break;
    case 7: {
        const int64_t align = spad__random_in(random, 1, 32);
        expected = model_align(m, align);
        status = spad_stack_align(stack, align, &error);
        break;
    }
    default: return step_alloc(random, m, stack);
    }
    assert_int_equal(status, expected);
    return status;
}

/* Checkpoints are kept, and returned to in any order. One is stale when a
 * scope of then was closed or moved on, or a tensor of then was popped or undone. */
enum { MARKS = 3 };

typedef struct kept_mark {
    bool used;
    spad_stack_checkpoint mark;
    model then;
} kept_mark;

static bool is_stale(const model *m, const model *then) {
    if (m->depth < then->depth) return true;
    if (then->depth > 0) {
        const model_scope *scope = &m->scopes[then->depth - 1];
        const model_scope *before = &then->scopes[then->depth - 1];
        if (scope->serial != before->serial || scope->increments != before->increments) return true;
    }
    for (int t = 0; t < then->count; t++) {
        const model_tensor *tensor = &then->tensors[t];
        const bool matters =
            tensor->on_heap || (tensor->scope == then->depth - 1 &&
                                tensor->section == (int)then->scopes[then->depth - 1].section);
        if (tensor->live && matters && !m->tensors[t].live) return true;
    }
    return false;
}

/* Back to then, but numbers, serials and the trace continue. */
static void model_rollback(model *m, const model *then) {
    model back = *then;
    back.count = m->count;
    back.serials = m->serials;
    for (int t = then->count; t < m->count; t++) {
        back.tensors[t] = m->tensors[t];
        back.tensors[t].live = false;
    }
    back.stats = then->stats;
    if (m->stats.peak_stack < back.stats.peak_stack) back.stats.peak_stack = m->stats.peak_stack;
    if (m->stats.peak_heap < back.stats.peak_heap) back.stats.peak_heap = m->stats.peak_heap;
    if (m->stats.peak_combined < back.stats.peak_combined) {
        back.stats.peak_combined = m->stats.peak_combined;
    }
    if (m->stats.stack_allocations < back.stats.stack_allocations) {
        back.stats.stack_allocations = m->stats.stack_allocations;
    }
    if (m->stats.heap_allocations < back.stats.heap_allocations) {
        back.stats.heap_allocations = m->stats.heap_allocations;
    }
    if (m->overlaps < back.overlaps) back.overlaps = m->overlaps;
    *m = back;
}

static void mark_or_return(spad__random *random, model *m, spad_stack *stack, kept_mark *marks) {
    kept_mark *kept = &marks[spad__random_below(random, MARKS)];
    if (!kept->used || spad__random_below(random, 2) == 0) {
        *kept = (kept_mark){.used = true, .mark = spad_stack_mark(stack), .then = *m};
        return;
    }
    spad_error error;
    const bool stale = is_stale(m, &kept->then);
    assert_int_equal(spad_stack_rollback(stack, &kept->mark, &error),
                     stale ? SPAD_ERR_STALE : SPAD_OK);
    if (!stale) model_rollback(m, &kept->then);
}

static void run(spad_stack_behaviour behaviour, uint64_t seed) {
    spad__random random = {seed};
    const size_t kind = behaviour == SPAD_STACK_EXACT ? spad__random_below(&random, 3) : 0;
    const spad_target *target = &targets[kind];
    spad_error error;
    spad_trace *trace = NULL; /* for half of the sequences */
    spad_stack *stack;
    model m = {.behaviour = behaviour,
               .space = target->spaces,
               .lower = spad__random_in(&random, 0, 20),
               .upper = spad__random_in(&random, 60, REGION)};
    m.automatic = spad__random_below(&random, 10) == 0;
    m.sp = m.lower;
    m.hp = m.upper;
    if (spad__random_below(&random, 2) == 0) {
        assert_ok(spad_trace_create(&trace, target, NULL, &error), &error);
    }
    const spad_stack_options options = {
        .behaviour = behaviour, .automatic = m.automatic, .trace = trace};
    assert_ok(spad_stack_create(&stack, target, target->name, m.lower, m.upper, &options, &error),
              &error);
    const bool with_undo = spad__random_below(&random, 4) == 0;
    kept_mark marks[MARKS] = {{0}};
    for (int i = 0; i < STEPS && m.depth < MAX_SCOPES - 4; i++) {
        const model before = m;
        const size_t events = trace != NULL ? spad_trace_event_count(trace) : 0;
        if (step(&random, &m, stack) != SPAD_OK) {
            assert_memory_equal(&m, &before, sizeof m);
            if (trace != NULL) assert_int_equal(spad_trace_event_count(trace), events);
        }
        compare(&m, stack, trace);
        if (with_undo && spad__random_below(&random, 3) == 0) {
            mark_or_return(&random, &m, stack, marks);
            compare(&m, stack, trace);
        }
    }
    spad_stack_destroy(stack);
    spad_trace_destroy(trace);
}

static void exact_agrees_with_the_model(void **state) {
    (void)state;
    for (uint64_t i = 0; i < SEQUENCES; i++) run(SPAD_STACK_EXACT, i);
}

static void april_2026_agrees_with_the_model(void **state) {
    (void)state;
    for (uint64_t i = 0; i < SEQUENCES; i++) run(SPAD_STACK_LIBRARY_2026_04, i);
}

static void later_agrees_with_the_model(void **state) {
    (void)state;
    for (uint64_t i = 0; i < SEQUENCES; i++) run(SPAD_STACK_LIBRARY_LATER, i);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_agrees_with_the_model),
        cmocka_unit_test(april_2026_agrees_with_the_model),
        cmocka_unit_test(later_agrees_with_the_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
