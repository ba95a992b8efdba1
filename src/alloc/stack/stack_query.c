/* SPDX-License-Identifier: Apache-2.0
 *
 * The scoped manager: questions, settings, the log, and the check of its
 * invariants. Nothing here moves a tensor.
 */
#include <string.h>

#include "alloc/stack/stack.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/largest.h"
#include "base/text.h"
#include "spad/experimental/stack_queries.h"

/* ---- space and addresses ----------------------------------------------------------- */

int64_t spad_stack_get_total_space(const spad_stack *stack) {
    return stack->upper - stack->lower;
}

int64_t spad_stack_get_free_space(const spad_stack *stack) {
    return stack->hp - stack->sp;
}

int64_t spad_stack_get_used_space(const spad_stack *stack) {
    return spad_stack_get_total_space(stack) - spad_stack_get_free_space(stack);
}

spad_status spad__stack_refuse_automatic(const spad_stack *stack, const char *what,
                                         spad_error *error) {
    if (!stack->automatic) return SPAD_OK;
    return spad__fail(error, SPAD_ERR_NO_ADDRESS,
                      "%s is undefined in automatic mode: addresses come from the planner", what);
}

spad_status spad_stack_get_address(int64_t *out, const spad_stack *stack, spad_error *error) {
    *out = SPAD_NO_BYTE;
    const spad_status status = spad__stack_refuse_automatic(stack, "the stack address", error);
    if (status == SPAD_OK) *out = stack->sp;
    return status;
}

spad_status spad_stack_get_heap_address(int64_t *out, const spad_stack *stack, spad_error *error) {
    *out = SPAD_NO_BYTE;
    const spad_status status = spad__stack_refuse_automatic(stack, "the heap address", error);
    if (status == SPAD_OK) *out = stack->hp;
    return status;
}

/* ---- settings ---------------------------------------------------------------------- */

spad_status spad_stack_set_prefix(spad_stack *stack, const char *prefix, spad_error *error) {
    const char *stored = "";
    if (prefix != NULL && *prefix != '\0') {
        stored = spad__names_find(&stack->prefixes, "", prefix);
        if (stored == NULL) stored = spad__names_add(&stack->prefixes, "", prefix);
        if (stored == NULL) return spad__fail_host_memory(error);
    }
    stack->prefix = stored;
    return SPAD_OK;
}

const char *spad_stack_get_prefix(const spad_stack *stack) {
    return stack->prefix;
}

void spad_stack_set_automatic(spad_stack *stack, bool automatic) {
    stack->automatic = automatic;
}

bool spad_stack_is_automatic(const spad_stack *stack) {
    return stack->automatic;
}

/* ---- scopes, statistics, overlaps -------------------------------------------------- */

size_t spad_stack_scope_count(const spad_stack *stack) {
    return stack->scopes.count;
}

spad_status spad_stack_get_scope(spad_stack_scope *out, const spad_stack *stack, size_t depth,
                                 spad_error *error) {
    memset(out, 0, sizeof *out);
    if (depth >= stack->scopes.count) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "scope number %zu of %zu open ones", depth,
                          stack->scopes.count);
    }
    const stack_scope *scope = &stack->scopes.items[depth];
    int64_t high = scope->high;
    for (size_t d = depth + 1; d < stack->scopes.count; d++) {
        high = spad__max(high, stack->scopes.items[d].high);
    }
    *out = (spad_stack_scope){
        .name = scope->name,
        .start = scope->start,
        .interleave = scope->degree,
        .section = scope->section,
        .high_water = high - scope->start,
    };
    return SPAD_OK;
}

spad_stack_stats spad_stack_get_stats(const spad_stack *stack) {
    return stack->stats;
}

int64_t spad_stack_overlap_count(const spad_stack *stack) {
    return stack->overlap_count;
}

const spad_stack_overlap *spad_stack_get_overlap(const spad_stack *stack, size_t index) {
    return index < stack->overlaps.count ? &stack->overlaps.items[index] : NULL;
}

/* ---- live tensors ------------------------------------------------------------------ */

/* Calls visit for every live record, scopes from the outside in, then the heap. */
static void for_each_record(const spad_stack *stack,
                            void (*visit)(void *context, const stack_record *record,
                                          spad_mode mode),
                            void *context) {
    for (size_t i = 0; i < stack->sections.count; i++) {
        int64_t r = stack->sections.items[i].newest;
        for (; r >= 0; r = stack->records.items[r].next) {
            visit(context, &stack->records.items[r], SPAD_MODE_STACK);
        }
    }
    for (size_t i = 0; i < stack->heap.count; i++) {
        visit(context, &stack->records.items[stack->heap.items[i].record], SPAD_MODE_HEAP);
    }
}

static bool larger_first(const void *context, const void *a, const void *b) {
    (void)context;
    const spad_stack_tensor *x = a;
    const spad_stack_tensor *y = b;
    return x->rect.bytes != y->rect.bytes ? x->rect.bytes > y->rect.bytes : x->number < y->number;
}

typedef struct live_list {
    spad__largest largest;
    size_t count;
} live_list;

static void add_live(void *context, const stack_record *record, spad_mode mode) {
    live_list *list = context;
    const spad_stack_tensor tensor = {
        .number = record->number, .name = record->name, .rect = record->rect, .mode = mode};
    list->count++;
    spad__largest_offer(&list->largest, &tensor);
}

size_t spad_stack_list_live(spad_stack_tensor *out, size_t capacity, const spad_stack *stack) {
    live_list list = {.largest = {.items = (char *)out,
                                  .item_size = sizeof *out,
                                  .capacity = capacity,
                                  .before = larger_first}};
    for_each_record(stack, add_live, &list);
    spad__largest_finish(&list.largest);
    return list.count;
}

/* ---- the log ----------------------------------------------------------------------- */

spad_status spad_stack_flush_log(spad_stack *stack, const spad_sink *sink, spad_error *error) {
    if (stack->trace == NULL) return SPAD_OK;
    const size_t count = spad_trace_event_count(stack->trace);
    const spad_status status = spad_trace_write_tree(
        stack->trace, stack->space_number, stack->logged, count, stack->style, sink, error);
    if (status == SPAD_OK) stack->logged = count;
    return status;
}

/* The percentage is floored as in the library: usage can be anything there. */
static int64_t percent(int64_t part, int64_t total) {
    int64_t scaled;
    if (total <= 0 || !spad__mul(part, 100, &scaled)) return 0;
    return spad__floor_div(scaled, total);
}

spad_status spad_stack_write_stats(const spad_stack *stack, const spad_sink *sink,
                                   spad_error *error) {
    const spad_stack_stats *stats = &stack->stats;
    const int64_t total = spad_stack_get_total_space(stack);
    spad__out out;
    spad__out_start_text(&out, sink);
    spad__out_format(&out,
                     "[SBM] SB memory statistics: max_usage=%lld B (%lld%%), free=%lld B, "
                     "stack=%lld B (%lld allocs), heap=%lld B (%lld allocs)\n",
                     (long long)stats->peak_combined,
                     (long long)percent(stats->peak_combined, total),
                     (long long)(total - stats->peak_combined), (long long)stats->peak_stack,
                     (long long)stats->stack_allocations, (long long)stats->peak_heap,
                     (long long)stats->heap_allocations);
    return spad__out_finish(&out, error);
}

/* ---- invariants -------------------------------------------------------------------- */

static spad_status broken(const char *what, spad_error *error) {
    return spad__fail(error, SPAD_ERR_INTERNAL, "stack invariant does not hold: %s", what);
}

static spad_status check_scopes(const spad_stack *stack, spad_error *error) {
    size_t next_section = 0;
    int64_t start = INT64_MIN;
    for (size_t d = 0; d < stack->scopes.count; d++) {
        const stack_scope *scope = &stack->scopes.items[d];
        if (scope->first_section != next_section) return broken("sections are contiguous", error);
        if (scope->section < 0 || (size_t)scope->section >= scope->entered) {
            return broken("the current section has been entered", error);
        }
        if (scope->start < start || scope->next_section < scope->start ||
            scope->high < scope->next_section) {
            return broken("start <= next_section <= high, starts ascend", error);
        }
        next_section += scope->entered;
        start = scope->start;
    }
    if (next_section != stack->sections.count) return broken("every section has a scope", error);
    if (stack->scopes.count > 0 && stack->sp < start) return broken("start <= sp", error);
    return SPAD_OK;
}

typedef struct placed_tensor {
    const spad_stack *stack;
    size_t live;
    const char *violation;
} placed_tensor;

static void check_record(void *context, const stack_record *record, spad_mode mode) {
    placed_tensor *state = context;
    const spad_stack *stack = state->stack;
    const spad_rect rect = record->rect;
    state->live++;
    if (record->number >= stack->tensor_count) state->violation = "numbers are below the count";
    if (rect.byte == SPAD_NO_BYTE || !stack->strict) return;
    if (rect.byte < stack->lower || rect.byte + rect.bytes > stack->upper) {
        state->violation = "tensors are in the region";
    }
    if (mode == SPAD_MODE_HEAP && rect.byte < stack->hp) {
        state->violation = "heap tensors are above the heap address";
    }
    const stack_scope *top = spad__stack_top(stack);
    if (mode == SPAD_MODE_STACK && rect.byte + rect.bytes > stack->sp &&
        rect.byte + rect.bytes > top->shadow.high) {
        state->violation = "stack tensors are below the stack address or in the shadow";
    }
}

static spad_status check_free_records(const spad_stack *stack, size_t live, spad_error *error) {
    size_t free_count = 0;
    for (int64_t r = stack->free_record; r >= 0; r = stack->records.items[r].next) {
        if (++free_count > stack->records.count) return broken("the free list ends", error);
    }
    if (free_count + live != stack->records.count) {
        return broken("every record is live or free", error);
    }
    return SPAD_OK;
}

spad_status spad_stack_check(const spad_stack *stack, spad_error *error) {
    spad_status status = check_scopes(stack, error);
    if (status != SPAD_OK) return status;
    placed_tensor state = {.stack = stack};
    for_each_record(stack, check_record, &state);
    if (state.violation != NULL) return broken(state.violation, error);
    return check_free_records(stack, state.live, error);
}

bool spad__stack_is_valid(const spad_stack *stack) {
    return spad__array_is_valid(&stack->scopes) && spad__array_is_valid(&stack->sections) &&
           spad__array_is_valid(&stack->records) && spad__array_is_valid(&stack->heap) &&
           spad_stack_check(stack, NULL) == SPAD_OK;
}
