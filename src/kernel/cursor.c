/* SPDX-License-Identifier: Apache-2.0
 *
 * Cursors: a position in a ring of stages that a program moves on by itself, with the phase that
 * changes every time round.
 *
 * A walk can keep one as a number that `advance` raises. But where advances come in even steps, the
 * number of advances so far is an expression of the loops around, which is what proofs for all
 * trip counts and the simulator can look at. With `advance` once in the body of a loop over n
 * in a loop over t it is t * N + n, so the stage is (t * N + n) % S and the phase
 * (t * N + n) / S % 2. That is how it is done: when a kernel is finished, stages and phases of a
 * cursor are replaced by such expressions if every block advances it by a constant number of stages
 * whenever it runs. An IF that advances it (and so a loop whose bounds change) leaves the cursor
 * to the walk. The text stays as it was written.
 *
 * One pass backwards finds the advances of every block, one forwards the advances before every
 * statement. O(statements) per cursor.
 */
#include <string.h>

#include "base/checked.h"
#include "kernel/kernel.h"

/* ---- declaring --------------------------------------------------------------------- */

/* Twice this many must be counted in 64 bits; no ring is near it. */
static const int64_t stages_max = INT64_C(1) << 31;

spad_status spad__kernel_builder_cursor(int64_t *out, spad__kernel_builder *builder,
                                        const char *stage, const char *phase, spad_amount count,
                                        spad_error *error) {
    spad_kernel *kernel = builder->kernel;
    *out = -1;
    spad_status status = spad__fold_amount(builder, &count, error);
    if (status != SPAD_OK) return status;
    if (count.value < 1 || count.value > stages_max) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "a cursor over %lld stages; 1 to %lld are possible",
                          (long long)count.value, (long long)stages_max);
    }
    if (!spad__array_reserve(&kernel->host, &kernel->cursors, 1)) {
        return spad__fail_host_memory(error);
    }
    spad_statement *statement = spad__new_statement(builder, SPAD_STATEMENT_CURSOR);
    if (statement == NULL) return spad__fail_host_memory(error);
    spad_kernel_cursor cursor = {.count = count,
                                 .agent = builder->agent,
                                 .statement = kernel->statements.count,
                                 .location = builder->location};
    const size_t symbols = builder->symbols.count;
    const int64_t number = (int64_t)kernel->cursors.count;
    status = spad__add_symbol(builder, stage, SPAD__SYMBOL_STAGE, number, &cursor.stage, error);
    if (status == SPAD_OK && phase != NULL) {
        status = spad__add_symbol(builder, phase, SPAD__SYMBOL_PHASE, number, &cursor.phase, error);
    }
    if (status != SPAD_OK) {
        spad__drop_symbols(builder, symbols);
        return status;
    }
    kernel->cursors.items[kernel->cursors.count++] = cursor;
    statement->item = number;
    spad__add_statement(builder);
    *out = number;
    return SPAD_OK;
}

/* ---- how many advances ------------------------------------------------------------- */

/* Numbers of advances are constant expressions; 0 means no expression. */
typedef struct resolver {
    spad__kernel_builder *builder;
    spad_kernel *kernel;
    int64_t cursor;
    int64_t object;    /* waits for its next phase are counted instead; -1: none */
    int64_t agent;     /* whose waits */
    int64_t first;     /* its declaration, or what it is counted in; -1: the kernel */
    size_t end;        /* of the block that it is declared in */
    spad_expr *inside; /* per statement: advances whenever it runs */
    spad_expr *before; /* per statement: advances of the statements before it in its block */
    spad_error *error;
    spad_status status;
    bool uneven;
} resolver;

/* An expression that cannot be made (too long, too large) leaves the cursor to the walk. */
static spad_expr cursor_made(resolver *r, spad_status status, spad_expr out) {
    if (status == SPAD_ERR_HOST_MEMORY) {
        r->status = status;
    } else if (status != SPAD_OK) {
        r->uneven = true;
    }
    return status == SPAD_OK ? out : 0;
}

static bool is_even_so_far(const resolver *r) {
    return r->status == SPAD_OK && !r->uneven;
}

static spad_expr cursor_apply(resolver *r, spad_expr_op op, spad_expr left, spad_expr right) {
    spad_expr out = 0;
    if (!is_even_so_far(r)) return 0;
    const spad_status status =
        spad__kernel_builder_apply(&out, r->builder, op, left, right, r->error);
    return cursor_made(r, status, out);
}

static spad_expr cursor_number(resolver *r, int64_t value) {
    spad_expr out = 0;
    if (!is_even_so_far(r)) return 0;
    const spad_status status = spad__kernel_builder_number(&out, r->builder, value, r->error);
    return cursor_made(r, status, out);
}

static spad_expr cursor_add(resolver *r, spad_expr a, spad_expr b) {
    return a == 0 ? b : b == 0 ? a : cursor_apply(r, SPAD_EXPR_ADD, a, b);
}

static bool is_one(const resolver *r, spad_expr expr) {
    const spad_expr_info info = spad_kernel_get_expr(r->kernel, expr);
    return info.node_count == 1 && info.nodes[0].op == SPAD_EXPR_NUMBER && info.least == 1;
}

static spad_expr cursor_times(resolver *r, spad_expr a, spad_expr b) {
    return is_one(r, b) ? a : is_one(r, a) ? b : cursor_apply(r, SPAD_EXPR_MUL, a, b);
}

static spad_expr cursor_amount(resolver *r, spad_amount amount) {
    return amount.expr != 0 ? amount.expr : cursor_number(r, amount.value);
}

static bool starts_at_0(const resolver *r, spad_amount amount) {
    const spad_expr_info info = spad_kernel_get_expr(r->kernel, amount.expr);
    return amount.value == 0 &&
           (info.node_count == 0 || (info.node_count == 1 && info.nodes[0].op == SPAD_EXPR_NUMBER));
}

static spad_expr less_begin(resolver *r, spad_expr expr, const spad_kernel_loop *loop) {
    return starts_at_0(r, loop->begin)
               ? expr
               : cursor_apply(r, SPAD_EXPR_SUB, expr, cursor_amount(r, loop->begin));
}

static bool is_next(const spad_statement *s) {
    return s->kind == SPAD_STATEMENT_WAIT_PARITY && (s->flags & SPAD_SYNC_NEXT) != 0;
}

/* Is it what is counted: an advance of the cursor, or a wait for the next phase of the object? */
static bool counts(const resolver *r, const spad_statement *s) {
    if (r->object >= 0) return is_next(s) && s->item == r->object && s->agent == r->agent;
    return s->kind == SPAD_STATEMENT_ADVANCE && s->item == r->cursor;
}

/* The statement on its own, when those that it holds are summed up. */
static void close_statement(resolver *r, size_t number) {
    const spad_statement *s = &r->kernel->statements.items[number];
    spad_expr *inside = &r->inside[number];
    if (counts(r, s)) {
        *inside = s->kind == SPAD_STATEMENT_ADVANCE ? s->amount : cursor_number(r, 1);
    } else if (s->kind == SPAD_STATEMENT_BREAK) { /* how often the loop runs is unknown */
        r->uneven = true;
    } else if (s->kind == SPAD_STATEMENT_IF && *inside != 0) {
        r->uneven = true;
    } else if (s->kind == SPAD_STATEMENT_FOR && *inside != 0) {
        const spad_kernel_loop loop = r->kernel->loops.items[s->item];
        const spad_expr trips = less_begin(r, cursor_amount(r, loop.end), &loop);
        *inside = cursor_times(r, trips, *inside);
    }
}

static void sum_up(resolver *r) {
    for (size_t i = r->end; (int64_t)i-- > r->first + 1 && is_even_so_far(r);) {
        close_statement(r, i);
        const int64_t parent = r->kernel->statements.items[i].parent;
        if (parent > r->first) {
            r->inside[parent] = cursor_add(r, r->inside[i], r->inside[parent]);
        }
    }
    for (size_t i = (size_t)(r->first + 1); i < r->end && is_even_so_far(r); i++) {
        const spad_statement *s = &r->kernel->statements.items[i];
        const size_t next = s->end; /* its sibling, or the end of the block */
        if (next < r->end && r->kernel->statements.items[next].parent == s->parent) {
            r->before[next] = cursor_add(r, r->before[i], r->inside[i]);
        }
    }
}

/* The body of a loop, once. */
static spad_expr inside_body(resolver *r, size_t loop) {
    spad_expr sum = 0;
    const size_t end = r->kernel->statements.items[loop].end;
    for (size_t i = loop + 1; i < end; i = r->kernel->statements.items[i].end) {
        sum = cursor_add(r, sum, r->inside[i]);
    }
    return sum;
}

/* Advances in the rounds of a loop before this one. */
static spad_expr advances_of_rounds(resolver *r, size_t statement) {
    const int64_t number_of_loop = r->kernel->statements.items[statement].item;
    const spad_kernel_loop loop = r->kernel->loops.items[number_of_loop];
    const spad_expr once = inside_body(r, statement);
    if (once == 0 || !is_even_so_far(r)) return 0;
    spad_expr variable;
    const spad_status status = spad__expr_variable(&variable, r->builder, number_of_loop, r->error);
    const spad_expr round = less_begin(r, cursor_made(r, status, variable), &loop);
    return cursor_times(r, round, once);
}

/* All advances from the declaration to a statement; 0: none. */
static spad_expr advances_at(resolver *r, size_t statement) {
    spad_expr sum = 0;
    int64_t at = (int64_t)statement;
    while (at > r->first && is_even_so_far(r)) {
        sum = cursor_add(r, r->before[at], sum);
        at = r->kernel->statements.items[at].parent;
        if (at <= r->first) break;
        if (r->kernel->statements.items[at].kind == SPAD_STATEMENT_FOR) {
            sum = cursor_add(r, advances_of_rounds(r, (size_t)at), sum);
        }
    }
    return sum;
}

/* ---- replacing --------------------------------------------------------------------- */

/* Stage and phase at a statement, made when they are asked for. */
typedef struct cursor_place {
    size_t statement;
    spad_expr stage;
    spad_expr phase;
} cursor_place;

static void find_cursor_place(resolver *r, cursor_place *at) {
    if (at->stage != 0) return;
    const spad_expr sum = advances_at(r, at->statement);
    if (sum == 0) {
        at->stage = at->phase = cursor_number(r, 0);
        return;
    }
    const spad_expr count = cursor_amount(r, r->kernel->cursors.items[r->cursor].count);
    at->stage = cursor_apply(r, SPAD_EXPR_MOD, sum, count);
    at->phase = cursor_apply(r, SPAD_EXPR_MOD, cursor_apply(r, SPAD_EXPR_DIV, sum, count),
                             cursor_number(r, 2));
}

static void replace_state(resolver *r, cursor_place *at, spad_expr *expr) {
    static const spad_expr_op ops[] = {SPAD_EXPR_STAGE, SPAD_EXPR_PHASE};
    for (size_t i = 0; i < 2; i++) {
        if (!is_even_so_far(r) || !spad__expr_has(r->kernel, *expr, ops[i], r->cursor)) continue;
        find_cursor_place(r, at);
        if (!is_even_so_far(r)) return;
        spad_expr out = *expr;
        const spad_expr with = i == 0 ? at->stage : at->phase;
        const spad_status status =
            spad__expr_replace(&out, r->builder, *expr, ops[i], r->cursor, with, r->error);
        out = cursor_made(r, status, out);
        if (out != 0) *expr = out;
    }
}

/* The lists are in the arena of the kernel, which is still being made. */
static void replace_list(resolver *r, cursor_place *at, const spad_expr *list, size_t count) {
    union {
        const spad_expr *kept;
        spad_expr *items;
    } own = {.kept = list};
    for (size_t i = 0; i < count; i++) replace_state(r, at, &own.items[i]);
}

static void replace_in_accesses(resolver *r, cursor_place *at, const spad_statement *s) {
    for (size_t i = 0; i < s->access_count; i++) {
        const spad_kernel_access *a = &r->kernel->accesses.items[s->first_access + i];
        union {
            const spad_expr_range *kept;
            spad_expr_range *items;
        } ranges = {.kept = a->ranges};
        replace_list(r, at, a->index, a->index_count);
        for (size_t k = 0; k < a->range_count; k++) {
            replace_state(r, at, &ranges.items[k].from);
            replace_state(r, at, &ranges.items[k].to);
        }
        replace_state(r, at, &r->kernel->accesses.items[s->first_access + i].moves);
    }
    for (size_t i = 0; i < s->completion_count; i++) {
        spad_kernel_completion *c = &r->kernel->completions.items[s->first_completion + i];
        replace_list(r, at, c->index, c->index_count);
        replace_state(r, at, &c->amount);
    }
}

static void replace_in_statement(resolver *r, size_t number) {
    cursor_place at = {.statement = number};
    spad_statement *s = &r->kernel->statements.items[number];
    union {
        const spad_comparison *kept;
        spad_comparison *items;
    } comparisons = {.kept = s->comparisons};
    replace_list(r, &at, s->index, s->index_count);
    replace_state(r, &at, &s->amount);
    replace_state(r, &at, &s->expect);
    replace_state(r, &at, &s->cost);
    for (size_t i = 0; i < s->comparison_count; i++) {
        replace_state(r, &at, &comparisons.items[i].left);
        replace_state(r, &at, &comparisons.items[i].right);
    }
    replace_in_accesses(r, &at, s);
}

static bool is_use(const resolver *r, size_t number) {
    const spad_statement *s = &r->kernel->statements.items[number];
    const bool moves = s->kind == SPAD_STATEMENT_CURSOR || s->kind == SPAD_STATEMENT_ADVANCE;
    return !moves || s->item != r->cursor;
}

static void start_counting(resolver *r) {
    r->uneven = false;
    memset(r->inside, 0, r->kernel->statements.count * sizeof *r->inside);
    memset(r->before, 0, r->kernel->statements.count * sizeof *r->before);
}

/* Is an index the number of waits before it, modulo the elements? Then each is waited for in
 * turn. */
static bool goes_round(const resolver *r, const spad_statement *s, spad_expr stage) {
    if (s->index_count == 0) return true;
    return s->index_count == 1 && spad__expr_equal(r->kernel, s->index[0], stage);
}

/* The parity of a wait for the next phase: the waits before it, divided by the elements. */
static void resolve_wait(resolver *r, size_t number) {
    const spad_kernel_sync sync = r->kernel->syncs.items[r->object];
    const spad_expr sum = advances_at(r, number);
    const spad_expr waits = sum != 0 ? sum : cursor_number(r, 0);
    spad_expr rounds = waits;
    if (sync.dims.count > 0) {
        const spad_expr elements = cursor_amount(r, sync.dims.items[0]);
        const spad_expr stage = cursor_apply(r, SPAD_EXPR_MOD, waits, elements);
        if (!is_even_so_far(r) || !goes_round(r, &r->kernel->statements.items[number], stage)) {
            r->uneven = true;
            return;
        }
        rounds = cursor_apply(r, SPAD_EXPR_DIV, waits, elements);
    }
    const spad_expr parity = cursor_apply(r, SPAD_EXPR_MOD, rounds, cursor_number(r, 2));
    if (is_even_so_far(r)) r->kernel->statements.items[number].amount = parity;
}

/* All waits of an agent for the next phases of an object, or none: one that a walk counts counts
 * the others as well. */
static void resolve_waits(resolver *r, size_t number) {
    const spad_statement *s = &r->kernel->statements.items[number];
    if (!is_next(s) || s->amount != 0) return;
    r->object = s->item;
    r->agent = s->agent;
    r->first = s->agent > 0 ? (int64_t)r->kernel->agents.items[s->agent].statement : -1;
    r->end = s->agent > 0 ? r->kernel->statements.items[r->first].end : r->kernel->statements.count;
    start_counting(r);
    sum_up(r);
    for (size_t i = (size_t)(r->first + 1); i < r->end && is_even_so_far(r); i++) {
        if (counts(r, &r->kernel->statements.items[i])) resolve_wait(r, i);
    }
    for (size_t i = (size_t)(r->first + 1); i < r->end && !is_even_so_far(r); i++) {
        spad_statement *other = &r->kernel->statements.items[i];
        if (counts(r, other)) other->amount = 0;
    }
    r->object = -1;
}

static void resolve_cursor(resolver *r) {
    spad_kernel_cursor *cursor = &r->kernel->cursors.items[r->cursor];
    const int64_t parent = r->kernel->statements.items[cursor->statement].parent;
    r->first = (int64_t)cursor->statement;
    r->end = parent >= 0 ? r->kernel->statements.items[parent].end : r->kernel->statements.count;
    start_counting(r);
    sum_up(r);
    for (size_t i = (size_t)(r->first + 1); i < r->end && is_even_so_far(r); i++) {
        if (is_use(r, i)) replace_in_statement(r, i);
    }
    cursor->even = is_even_so_far(r);
}

spad_status spad__resolve_cursors(spad__kernel_builder *builder, spad_error *error) {
    spad_kernel *kernel = builder->kernel;
    const size_t count = kernel->statements.count;
    bool any = kernel->cursors.count > 0;
    for (size_t i = 0; i < count && !any; i++) any = is_next(&kernel->statements.items[i]);
    if (!any) return SPAD_OK;
    spad_error unused;
    resolver r = {.builder = builder, .kernel = kernel, .object = -1, .error = &unused};
    r.inside = spad__new_array(&builder->host, count, sizeof *r.inside);
    r.before = spad__new_array(&builder->host, count, sizeof *r.before);
    if (r.inside == NULL || r.before == NULL) r.status = SPAD_ERR_HOST_MEMORY;
    for (size_t i = 0; i < kernel->cursors.count && r.status == SPAD_OK; i++) {
        r.cursor = (int64_t)i;
        resolve_cursor(&r);
    }
    for (size_t i = 0; i < count && r.status == SPAD_OK; i++) resolve_waits(&r, i);
    spad__free(&builder->host, r.inside, count * sizeof *r.inside);
    spad__free(&builder->host, r.before, count * sizeof *r.before);
    return r.status == SPAD_OK ? SPAD_OK : spad__fail_host_memory(error);
}
