/* SPDX-License-Identifier: Apache-2.0
 *
 * The scoped manager as its own files see it.
 *
 * Words
 *   sp, hp    stack_address and heap_address: the stack owns [lower, sp) and the
 *             heap [hp, upper)
 *   record    one live tensor
 *   section   one of the parts of a scope; holds a list of records, newest first
 *   round     from one wrap of a scope to the next. After a wrap the sections
 *             after the current one still hold tensors of the round before
 *   shadow    the bytes that such older tensors may touch: a stack tensor that
 *             is put there is an overlap; a heap tensor must stay above them
 *
 * Invariants (exact behaviour; checked by spad_stack_check)
 *   lower <= sp <= hp <= upper, unless automatic mode was on
 *   scope.start <= scope.next_section <= scope.high, start of a scope <= sp
 *   every stack record of the current round ends at or below sp, every other one
 *   is in its scope's shadow; heap records are in [hp, upper), newest lowest
 *   sections[scope.first_section .. + scope.entered) are the sections of a scope,
 *   scopes in order, so that both arrays are stacks
 */
#ifndef SPAD_ALLOC_STACK_STACK_H
#define SPAD_ALLOC_STACK_STACK_H

#include "base/assert.h"
#include "base/memory.h"
#include "base/names.h"
#include "spad/experimental/stack_queries.h"
#include "spad/stack.h"

typedef struct stack_record {
    int64_t next;   /* older record of the section, or next free one; -1: none */
    int64_t number; /* in order of allocation; what is undone keeps its number */
    int64_t traced; /* number of the tensor in the trace; -1: no trace */
    const char *name;
    spad_rect rect; /* byte is SPAD_NO_BYTE in automatic mode */
} stack_record;

/* An empty span has low > high; a union is then a minimum and a maximum. */
typedef struct stack_span {
    int64_t low;
    int64_t high;
} stack_span;

typedef struct stack_section {
    int64_t newest;  /* record; -1: none */
    int64_t oldest;  /* the end of the list; undefined when it is empty */
    stack_span tail; /* set at a wrap: bytes of its records and of the sections after it */
} stack_section;

typedef struct stack_scope {
    const char *name;              /* in scope_texts; NULL: unnamed */
    spad__arena_mark texts_before; /* scope_texts without it, if it has a name */
    int64_t start;
    int64_t degree;
    int64_t section;      /* the current one */
    int64_t next_section; /* where the next section would begin */
    int64_t high;         /* highest sp so far, closed inner scopes included */
    size_t first_section;
    size_t entered;   /* sections that exist so far */
    bool wrapped;     /* the sections after the current one are of the round before */
    stack_span outer; /* shadow of the scopes around it */
    stack_span shadow;
    int64_t traced; /* number of the scope in the trace; -1: no trace */
    uint64_t serial;
    uint64_t increments;
} stack_scope;

typedef struct stack_heap_entry {
    int64_t record;
    int64_t before; /* hp without it */
    int64_t bytes;
} stack_heap_entry;

struct spad_stack {
    spad_host host;
    const spad_target *target;
    const spad_space *space;
    size_t space_number;
    spad_stack_behaviour behaviour;
    bool strict;           /* exact, or a library behaviour that refuses what breaks its contract */
    spad_tree_style style; /* of the log */
    bool automatic;
    bool default_heap;
    int64_t everyday_lanes; /* tiles of up to so many lanes at lane 0 need no further check and
                               no log; 0: every request goes the general way */
    int64_t end; /* of what the space offers; the region of an automatic manager may pass it */
    int64_t lower;
    int64_t upper;
    int64_t sp;
    int64_t hp;
    SPAD_ARRAY(stack_scope) scopes;
    spad__arena scope_texts;
    SPAD_ARRAY(stack_section) sections;
    SPAD_ARRAY(stack_record) records;
    int64_t free_record; /* list through stack_record.next; -1: none */
    SPAD_ARRAY(stack_heap_entry) heap;
    spad__names names;
    spad__names prefixes; /* all there were: a borrowed one stays valid */
    const char *prefix;
    spad_stack_stats stats;
    int64_t tensor_count; /* numbers given out; never goes back */
    int64_t quiet_top;    /* stack allocations that end at or below it raise no peak */
    uint64_t scope_serial;
    SPAD_ARRAY(spad_stack_overlap) overlaps;
    int64_t overlap_count;
    spad_trace *trace;
    size_t logged; /* events that flush_log has written */
};

/* Cursors and bounds stay within +-2^60, so that every difference of two fits. */
#define STACK_ADDRESS_LIMIT (INT64_C(1) << 60)

#define STACK_EMPTY_SPAN ((stack_span){.low = INT64_MAX, .high = INT64_MIN})

static inline stack_scope *spad__stack_top(const spad_stack *stack) {
    return stack->scopes.count > 0 ? &stack->scopes.items[stack->scopes.count - 1] : NULL;
}

static inline stack_section *spad__stack_section(const spad_stack *stack,
                                                 const stack_scope *scope) {
    spad__assert(scope->section >= 0 && (size_t)scope->section < scope->entered);
    spad__assert(scope->first_section + scope->entered <= stack->sections.count);
    return &stack->sections.items[scope->first_section + (size_t)scope->section];
}

/* The peaks may rise again at any address: after the heap came down without an
 * allocation, or the statistics went back. */
static inline void spad__stack_expect_peaks(spad_stack *stack) {
    stack->quiet_top = INT64_MIN;
}

/* Fails in automatic mode, where `what` has no answer. */
spad_status spad__stack_refuse_automatic(const spad_stack *stack, const char *what,
                                         spad_error *error);

/* Fills *error for a tensor of `bytes` that does not fit although `available` are free. */
spad_status spad__stack_no_fit(const spad_stack *stack, spad_mode mode, const char *name,
                               int64_t bytes, int64_t align, int64_t available, spad_error *error);

/* Ends the newest records of a section until `until` is the newest. */
void spad__stack_end_records(spad_stack *stack, stack_section *section, int64_t until);

/* Takes the innermost scope or the newest heap tensor away. */
void spad__stack_drop_scope(spad_stack *stack);
void spad__stack_drop_heap(spad_stack *stack);

/* For assertions: what spad_stack_check examines. O(live tensors + scopes). */
bool spad__stack_is_valid(const spad_stack *stack);

#endif
