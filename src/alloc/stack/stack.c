/* SPDX-License-Identifier: Apache-2.0
 *
 * The scoped manager: construction, scopes and sections.
 *
 * The rules are those of the NKI library's SbufManager (allocator.py):
 *   open       a scope starts at sp
 *   alloc      sp rises; next_section of the scope rises with it
 *   increment  sp = next_section; at the wrap sp = start, and next_section, before
 *              it falls back to start, is handed to the scope around it
 *   close      sp = start; next_section is handed to the scope around it
 * so that a section never begins below what inner scopes of the section before
 * have used. alloc.c places tensors, stack_query.c answers questions, undo.c goes back to
 * checkpoints.
 */
#include "alloc/stack/stack.h"
#include "spad/experimental/trace_queries.h"
#include "target/target.h"

#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/options.h"

/* ---- life -------------------------------------------------------------------------- */

static int64_t end_of_space(const spad_space *space, const spad_stack_options *options) {
    return options->use_reserved ? space->bytes : spad_space_get_usable(space);
}

static spad_status check_bounds(const spad_space *space, int64_t lower, int64_t upper,
                                const spad_stack_options *options, spad_error *error) {
    if (lower < -STACK_ADDRESS_LIMIT || lower > STACK_ADDRESS_LIMIT ||
        upper < -STACK_ADDRESS_LIMIT || upper > STACK_ADDRESS_LIMIT) {
        return spad__fail(error, SPAD_ERR_BOUNDS, "the region [%lld, %lld) is beyond 2^60",
                          (long long)lower, (long long)upper);
    }
    /* the library takes anything; and bounds mean nothing while there are no addresses */
    if (options->behaviour != SPAD_STACK_EXACT || options->automatic) return SPAD_OK;
    const int64_t end = end_of_space(space, options);
    if (lower < 0 || upper < lower || upper > end) {
        const bool in_reserve =
            lower >= 0 && lower <= upper && end < upper && upper <= space->bytes;
        spad__fail(error, SPAD_ERR_BOUNDS,
                   "the region [%lld, %lld) is outside [0, %lld), the bytes of space %s%s",
                   (long long)lower, (long long)upper, (long long)end, space->name,
                   in_reserve ? "; set use_reserved to include the reserved bytes" : "");
        spad__fact_names(error, space->name, NULL);
        spad__fact_amounts(error, upper, end, SPAD_NO_FACT);
        return SPAD_ERR_BOUNDS;
    }
    return SPAD_OK;
}

static spad_status check_choices(const spad_space *space, const spad_stack_options *options,
                                 spad_error *error) {
    if ((unsigned)options->behaviour > SPAD_STACK_LIBRARY_LATER) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "%d is not a behaviour of the manager",
                          (int)options->behaviour);
    }
    return spad__space_check(space, error);
}

/* See spad_stack.everyday_lanes. */
static int64_t everyday_lanes(const spad_stack *stack) {
    const spad_space *space = stack->space;
    if (stack->behaviour != SPAD_STACK_EXACT || stack->trace != NULL || space->alignment != 1 ||
        space->granule != 1 || space->power_of_two || space->banks_exclusive || stack->lower < 0 ||
        stack->upper > stack->end) {
        return 0;
    }
    enum { FEW = 128 }; /* as many as the chips have; wider tiles take the general way */
    int64_t lanes = 0;
    while (lanes < FEW && spad_space_check_lanes(space, 0, lanes + 1, NULL) == SPAD_OK) lanes++;
    return lanes;
}

spad_status spad_stack_create(spad_stack **out, const spad_target *target, const char *space_name,
                              int64_t lower, int64_t upper, const spad_stack_options *options,
                              spad_error *error) {
    spad_stack_options o;
    *out = NULL;
    spad_status status = SPAD__COPY_OPTIONS(&o, options, error);
    if (status != SPAD_OK) return status;
    if (target == NULL) return spad__fail(error, SPAD_ERR_ARGUMENT, "a manager needs a target");
    size_t number;
    status = spad_target_find_space(&number, target, space_name, error);
    if (status != SPAD_OK) return status;
    const spad_space *space = &target->spaces[number];
    status = check_choices(space, &o, error);
    if (status != SPAD_OK) return status;
    if (upper == SPAD_STACK_TO_THE_TOP) {
        upper = end_of_space(space, &o);
        if (upper > STACK_ADDRESS_LIMIT) upper = STACK_ADDRESS_LIMIT; /* a space without a size */
    }
    status = check_bounds(space, lower, upper, &o, error);
    if (status != SPAD_OK) return status;
    if (o.trace != NULL && spad_trace_get_target(o.trace) != target) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "the trace was made for target %s, not for %s",
                          spad_trace_get_target(o.trace)->name, target->name);
    }

    const spad_host host = spad__host_or_default(o.host);
    spad_stack *stack = spad__new(&host, sizeof *stack);
    if (stack == NULL) return spad__fail_host_memory(error);
    stack->host = host;
    stack->target = target;
    stack->space = space;
    stack->space_number = number;
    stack->behaviour = o.behaviour;
    stack->strict = o.strict || o.behaviour == SPAD_STACK_EXACT;
    stack->style =
        o.behaviour == SPAD_STACK_EXACT || o.manual_log ? SPAD_TREE_EXACT : SPAD_TREE_LIBRARY;
    stack->automatic = o.automatic;
    stack->default_heap = o.default_heap;
    stack->end = end_of_space(space, &o);
    stack->lower = stack->sp = lower;
    stack->upper = stack->hp = upper;
    stack->scope_texts.host = host;
    stack->free_record = -1;
    stack->trace = o.trace;
    stack->logged = o.trace != NULL ? spad_trace_event_count(o.trace) : 0;
    spad__names_init(&stack->names, &host);
    spad__names_init(&stack->prefixes, &host);
    stack->prefix = "";
    stack->everyday_lanes = everyday_lanes(stack);
    spad__stack_expect_peaks(stack);
    *out = stack;
    return SPAD_OK;
}

spad_status spad_stack_create_auto(spad_stack **out, const spad_target *target, const char *space,
                                   const spad_stack_options *options, spad_error *error) {
    spad_stack_options automatic;
    *out = NULL;
    const spad_status status = SPAD__COPY_OPTIONS(&automatic, options, error);
    if (status != SPAD_OK) return status;
    automatic.automatic = true;
    return spad_stack_create(out, target, space, 0, SPAD_STACK_TO_THE_TOP, &automatic, error);
}

void spad_stack_destroy(spad_stack *stack) {
    if (stack == NULL) return;
    const spad_host host = stack->host;
    spad__array_free(&host, &stack->scopes);
    spad__array_free(&host, &stack->sections);
    spad__array_free(&host, &stack->records);
    spad__array_free(&host, &stack->heap);
    spad__array_free(&host, &stack->overlaps);
    spad__arena_free(&stack->scope_texts);
    spad__names_free(&stack->names);
    spad__names_free(&stack->prefixes);
    spad__free(&host, stack, sizeof *stack);
}

/* ---- records ----------------------------------------------------------------------- */

/* Gives a record back. */
static void end_record(spad_stack *stack, int64_t number, int64_t heap_left) {
    spad__assert(number >= 0 && (size_t)number < stack->records.count);
    stack_record *record = &stack->records.items[number];
    if (stack->trace != NULL) {
        const stack_scope *top = spad__stack_top(stack);
        spad_trace_free(stack->trace, record->traced, top != NULL ? top->traced : -1, heap_left,
                        NULL);
    }
    record->next = stack->free_record;
    stack->free_record = number;
}

void spad__stack_end_records(spad_stack *stack, stack_section *section, int64_t until) {
    spad__assert(section->newest == -1 || (size_t)section->newest < stack->records.count);
    if (stack->trace == NULL && until == -1 && section->newest != -1) { /* all at once */
        stack->records.items[section->oldest].next = stack->free_record;
        stack->free_record = section->newest;
        section->newest = -1;
        return;
    }
    while (section->newest != until) {
        spad__assert(section->newest != -1); /* `until` is on the list */
        const int64_t newest = section->newest;
        section->newest = stack->records.items[newest].next;
        end_record(stack, newest, 0);
    }
}

/* ---- spans ------------------------------------------------------------------------- */

static stack_span span_union(stack_span a, stack_span b) {
    return (stack_span){.low = spad__min(a.low, b.low), .high = spad__max(a.high, b.high)};
}

/* What the sections after the current one hold from the round before. */
static stack_span later_sections(const spad_stack *stack, const stack_scope *scope) {
    spad__assert(scope->section >= 0 &&
                 scope->first_section + scope->entered <= stack->sections.count);
    const size_t next = (size_t)scope->section + 1;
    if (!scope->wrapped || next >= scope->entered) return STACK_EMPTY_SPAN;
    return stack->sections.items[scope->first_section + next].tail;
}

static void update_shadow(const spad_stack *stack, stack_scope *scope) {
    scope->shadow = span_union(scope->outer, later_sections(stack, scope));
}

/* At a wrap: tails from the last section to the first. O(sections and
 * tensors), paid for by the increments and allocations of the round. */
static void set_tails(spad_stack *stack, const stack_scope *scope) {
    stack_span tail = STACK_EMPTY_SPAN;
    for (size_t i = scope->entered; i-- > 0;) {
        stack_section *section = &stack->sections.items[scope->first_section + i];
        spad__assert(scope->first_section + i < stack->sections.count);
        for (int64_t r = section->newest; r != -1; r = stack->records.items[r].next) {
            const spad_rect rect = stack->records.items[r].rect;
            if (rect.byte == SPAD_NO_BYTE) continue;
            tail = span_union(tail, (stack_span){rect.byte, rect.byte + rect.bytes});
        }
        section->tail = tail;
    }
}

/* ---- scopes ------------------------------------------------------------------------ */

static spad_status no_stack_scope(const char *what, spad_error *error) {
    return spad__fail(error, SPAD_ERR_NO_SCOPE, "%s needs an open scope; open one first", what);
}

static stack_section new_section(void) {
    return (stack_section){.newest = -1, .tail = STACK_EMPTY_SPAN};
}

static spad_status name_scope(stack_scope *scope, spad_stack *stack, const char *name,
                              spad_error *error) {
    scope->name = NULL;
    if (name == NULL || *name == '\0') return SPAD_OK;
    scope->texts_before = spad__arena_here(&stack->scope_texts);
    scope->name = spad__arena_copy(&stack->scope_texts, name, strlen(name));
    return scope->name != NULL ? SPAD_OK : spad__fail_host_memory(error);
}

static void forget_scope_name(spad_stack *stack, const stack_scope *scope) {
    if (scope->name != NULL) spad__arena_rewind(&stack->scope_texts, scope->texts_before);
}

spad_status spad_stack_open_scope(spad_stack *stack, int64_t interleave, const char *name,
                                  spad_error *error) {
    if (stack->strict && interleave < 1) {
        spad__fail(error, SPAD_ERR_ARGUMENT,
                   "a scope of %lld sections; it needs at least 1 (1 for no multi-buffering)",
                   (long long)interleave);
        spad__fact_names(error, name, NULL);
        return SPAD_ERR_ARGUMENT;
    }
    if (!spad__array_reserve(&stack->host, &stack->scopes, 1) ||
        !spad__array_reserve(&stack->host, &stack->sections, 1)) {
        return spad__fail_host_memory(error);
    }
    const stack_scope *parent = spad__stack_top(stack);
    stack_scope *scope = &stack->scopes.items[stack->scopes.count];
    spad_status status = name_scope(scope, stack, name, error);
    if (status != SPAD_OK) return status;
    scope->traced = -1;
    if (stack->trace != NULL) {
        status = spad_trace_open_scope(&scope->traced, stack->trace, stack->space_number,
                                       scope->name, interleave,
                                       parent != NULL ? parent->traced : -1, stack->sp, error);
        if (status != SPAD_OK) {
            forget_scope_name(stack, scope);
            return status;
        }
    }
    scope->start = scope->next_section = scope->high = stack->sp;
    scope->degree = interleave;
    scope->section = 0;
    scope->first_section = stack->sections.count;
    scope->entered = 1;
    scope->wrapped = false;
    scope->outer = scope->shadow = parent != NULL ? parent->shadow : STACK_EMPTY_SPAN;
    scope->serial = ++stack->scope_serial;
    scope->increments = 0;
    stack->sections.items[stack->sections.count++] = new_section();
    stack->scopes.count++;
    spad__assert_valid(stack->records.count + stack->scopes.count > SPAD__FEW ||
                       spad__stack_is_valid(stack));
    return SPAD_OK;
}

/* Hands what a scope has used to the scope around it. */
static void update_parent(spad_stack *stack, const stack_scope *scope) {
    spad__assert(scope == spad__stack_top(stack) && scope->next_section <= scope->high);
    if (scope == stack->scopes.items) return;
    stack_scope *parent = &stack->scopes.items[scope - stack->scopes.items - 1];
    spad__assert(parent->start <= scope->start);
    parent->next_section = spad__max(parent->next_section, scope->next_section);
    parent->high = spad__max(parent->high, scope->high);
}

void spad__stack_drop_scope(spad_stack *stack) {
    const stack_scope *top = spad__stack_top(stack);
    spad__assert(top != NULL && top->first_section + top->entered == stack->sections.count);
    for (size_t i = top->entered; i-- > 0;) {
        spad__stack_end_records(stack, &stack->sections.items[top->first_section + i], -1);
    }
    const int64_t held = top->high - top->start;
    spad__assert(held >= 0);
    if (stack->trace != NULL) {
        const int64_t freed = stack->behaviour == SPAD_STACK_EXACT ? held : stack->sp - top->start;
        spad_trace_close_scope(stack->trace, top->traced, freed, held, NULL);
    }
    stack->sp = top->start;
    stack->sections.count = top->first_section;
    forget_scope_name(stack, top);
    stack->scopes.count--;
}

spad_status spad_stack_close_scope(spad_stack *stack, spad_error *error) {
    const stack_scope *top = spad__stack_top(stack);
    if (top == NULL) return no_stack_scope("close_scope", error);
    update_parent(stack, top);
    spad__stack_drop_scope(stack);
    spad__assert_valid(stack->records.count + stack->scopes.count > SPAD__FEW ||
                       spad__stack_is_valid(stack));
    return SPAD_OK;
}

/* ---- sections ---------------------------------------------------------------------- */

spad_status spad_stack_increment_section(spad_stack *stack, spad_error *error) {
    stack_scope *top = spad__stack_top(stack);
    if (top == NULL) return no_stack_scope("increment_section", error);
    const bool wraps = top->section + 1 == top->degree;
    const int64_t next = wraps ? 0 : top->section + 1;
    const bool is_new = (size_t)next >= top->entered;
    spad__assert((size_t)next <= top->entered); /* sections are entered one after the other */
    if (is_new && !spad__array_reserve(&stack->host, &stack->sections, 1)) {
        return spad__fail_host_memory(error);
    }
    const int64_t start = wraps ? top->start : top->next_section;
    if (stack->trace != NULL) {
        const spad_status status =
            spad_trace_section(stack->trace, top->traced, next, start, error);
        if (status != SPAD_OK) return status;
    }
    spad__assert(!(is_new && wraps)); /* a wrap leads to section 0, which is always there */
    if (is_new) {
        stack->sections.items[stack->sections.count++] = new_section();
        top->entered++;
    }
    if (wraps) {
        set_tails(stack, top);
        top->wrapped = true;
        update_parent(stack, top);
        top->next_section = start;
    }
    stack->sp = start;
    top->section = next;
    top->increments++;
    stack_section *section = spad__stack_section(stack, top);
    spad__stack_end_records(stack, section, -1);
    update_shadow(stack, top);
    spad__assert_valid(stack->records.count + stack->scopes.count > SPAD__FEW ||
                       spad__stack_is_valid(stack));
    return SPAD_OK;
}

/* ---- the heap's other end ---------------------------------------------------------- */

/* The cursor of the April 2026 library does not come back to where it was: it
 * rises by the bytes of the tensor and is floored to 4. */
static int64_t heap_after_pop(const spad_stack *stack, const stack_heap_entry *newest) {
    if (stack->behaviour != SPAD_STACK_LIBRARY_2026_04) return newest->before;
    const int64_t raised = stack->hp + newest->bytes;
    return raised - spad__floor_mod(raised, 4);
}

void spad__stack_drop_heap(spad_stack *stack) {
    spad__assert(stack->heap.count > 0);
    const stack_heap_entry *newest = &stack->heap.items[--stack->heap.count];
    stack->hp = heap_after_pop(stack, newest);
    spad__stack_expect_peaks(stack);
    end_record(stack, newest->record, (int64_t)stack->heap.count);
}

spad_status spad_stack_pop_heap(spad_stack *stack, spad_error *error) {
    if (stack->heap.count == 0) {
        return spad__fail(error, SPAD_ERR_HEAP_EMPTY,
                          "pop_heap on an empty heap; every heap tensor has been freed already");
    }
    spad__stack_drop_heap(stack);
    return SPAD_OK;
}
