/* SPDX-License-Identifier: Apache-2.0
 *
 * Hashes the content of a finished kernel: what its text says, the rows that its statements refer
 * to, and all locations. Two kernels with equal hashes are taken for the same kernel (origin.c).
 *
 * The hash is computed once, by spad__kernel_builder_finish, from the tables. Only what a caller
 * stated goes into it: fields that the builder computes follow from that and from the target. An
 * expression goes in as it was written, so the hash distinguishes what the text distinguishes,
 * apart from comments. Every text and every list is preceded by its length, so no two sequences of
 * rows feed the hash the same numbers. It is the same on every machine: no pointers, no padding.
 *
 * O(rows + expression nodes).
 */
#include <string.h>

#include "base/hash.h"
#include "kernel/kernel.h"

typedef struct content_hasher {
    const spad_kernel *kernel;
    uint64_t hash;
} content_hasher;

/* ---- values ------------------------------------------------------------------------ */

static void mix_number(content_hasher *c, int64_t value) {
    c->hash = spad__hash_add(c->hash, value);
}

/* NULL, which some names may be, differs from "". */
static void mix_text(content_hasher *c, const char *text) {
    const size_t length = text != NULL ? strlen(text) : 0;
    mix_number(c, text != NULL ? (int64_t)length : -1);
    mix_number(c, (int64_t)spad__hash_text(text, length));
}

static void mix_location(content_hasher *c, spad_location location) {
    mix_number(c, location.line);
    mix_number(c, location.column);
    mix_number(c, location.width);
}

static void mix_expr(content_hasher *c, spad_expr expr) {
    const spad_expr_info info = spad_kernel_get_expr(c->kernel, expr);
    mix_number(c, (int64_t)info.written_count); /* 0: no expression */
    for (size_t i = 0; i < info.written_count; i++) {
        mix_number(c, info.written[i].op);
        mix_number(c, info.written[i].value);
    }
}

static void mix_index(content_hasher *c, const spad_expr *index, size_t count) {
    mix_number(c, (int64_t)count);
    for (size_t i = 0; i < count; i++) mix_expr(c, index[i]);
}

/* A plain number and an expression that is this number have the same text, so the same hash. */
static void mix_amount(content_hasher *c, spad_amount amount) {
    if (amount.expr != 0) {
        mix_expr(c, amount.expr);
        return;
    }
    mix_number(c, 1);
    mix_number(c, SPAD_EXPR_NUMBER);
    mix_number(c, amount.value);
}

static void mix_amounts(content_hasher *c, spad_amounts list) {
    mix_number(c, (int64_t)list.count);
    for (size_t i = 0; i < list.count; i++) mix_amount(c, list.items[i]);
}

/* ---- declarations ------------------------------------------------------------------ */

/* The value in effect counts: a define and the same value in the text are one kernel. */
static void mix_param(content_hasher *c, const spad_kernel_param *param) {
    const bool defined = param->value != param->preset.value;
    mix_text(c, param->name);
    mix_amount(c, defined ? (spad_amount){.value = param->value} : param->preset);
    mix_number(c, param->fixed);
    mix_number(c, param->any);
    mix_location(c, param->location);
}

static void mix_region(content_hasher *c, const spad_kernel_region *region) {
    mix_number(c, (int64_t)region->space);
    mix_amount(c, region->lower);
    mix_amount(c, region->upper);
    mix_number(c, region->behaviour);
    mix_location(c, region->location);
}

static void mix_unit(content_hasher *c, const spad_kernel_unit *unit) {
    mix_text(c, unit->name);
    mix_number(c, (int64_t)unit->engine);
    mix_number(c, unit->order);
    mix_number(c, unit->proxy);
    mix_number(c, unit->fence);
    mix_location(c, unit->location);
}

static void mix_sync(content_hasher *c, const spad_kernel_sync *sync) {
    mix_text(c, sync->name);
    mix_number(c, sync->kind);
    mix_amounts(c, sync->dims);
    mix_amount(c, sync->count);
    mix_number(c, sync->placed);
    mix_amount(c, sync->byte);
    mix_number(c, sync->each_block);
    mix_location(c, sync->location);
}

static void mix_unknown(content_hasher *c, const spad_kernel_unknown *unknown) {
    mix_text(c, unknown->name);
    mix_amounts(c, unknown->dims);
    mix_amount(c, unknown->least);
    mix_amount(c, unknown->end);
    for (int64_t i = 0; i < unknown->elements; i++) mix_number(c, unknown->values[i]);
    mix_location(c, unknown->location);
}

static void mix_source(content_hasher *c, const spad_kernel_source *source) {
    mix_text(c, source->file);
    mix_number(c, source->line);
    mix_text(c, source->code);
    mix_number(c, source->caller);
}

static void mix_fault(content_hasher *c, const spad__kernel_fault *fault) {
    mix_text(c, fault->message);
    mix_number(c, fault->times);
    mix_number(c, fault->source);
    mix_location(c, fault->location);
}

static void mix_agent(content_hasher *c, const spad_kernel_agent *agent) {
    mix_text(c, agent->name);
    mix_amount(c, agent->threads);
    mix_amount(c, agent->registers);
    mix_location(c, agent->location);
}

static void mix_cursor(content_hasher *c, const spad_kernel_cursor *cursor) {
    mix_text(c, cursor->stage);
    mix_text(c, cursor->phase);
    mix_amount(c, cursor->count);
    mix_location(c, cursor->location);
}

static void mix_loop(content_hasher *c, const spad_kernel_loop *loop) {
    mix_text(c, loop->name);
    if (loop->from != 0) {
        mix_expr(c, loop->from);
        mix_expr(c, loop->to);
    } else {
        mix_amount(c, loop->begin);
        mix_amount(c, loop->end);
    }
    mix_amount(c, loop->step);
    mix_number(c, loop->parallel);
    mix_location(c, loop->location);
}

static void mix_placement(content_hasher *c, const spad_kernel_tensor *t) {
    mix_number(c, t->mode);
    mix_number(c, t->like);
    if (t->like == 0) mix_amounts(c, t->ring); /* else that of the other tensor */
    mix_amount(c, t->byte);
    mix_amount(c, t->lane);
    mix_amount(c, t->bank);
    mix_amount(c, t->step);
    mix_amounts(c, t->steps);
    mix_amounts(c, t->free);
    mix_amounts(c, t->par);
    mix_amounts(c, t->banks);
    if (t->mode != SPAD_MODE_ALIAS) return;
    mix_number(c, t->alias_of);
    mix_number(c, t->alias_tile);
}

static void mix_tensor(content_hasher *c, const spad_kernel_tensor *t) {
    mix_text(c, t->name);
    mix_number(c, (int64_t)t->space);
    mix_number(c, t->dtype);
    mix_amounts(c, t->blocks);
    mix_amounts(c, t->dims);
    mix_placement(c, t);
    mix_amount(c, t->align);
    mix_number(c, t->flags);
    mix_amount(c, t->reuse);
    mix_amount(c, t->near);
    mix_amount(c, t->cached);
    mix_amount(c, t->cached_of);
    mix_amount(c, t->pieces);
    mix_location(c, t->location);
}

/* ---- statements -------------------------------------------------------------------- */

static void mix_access(content_hasher *c, const spad_kernel_access *access) {
    mix_number(c, access->tensor);
    mix_number(c, access->kind);
    mix_index(c, access->index, access->index_count);
    mix_number(c, (int64_t)access->range_count);
    for (size_t i = 0; i < access->range_count; i++) {
        mix_expr(c, access->ranges[i].from);
        mix_expr(c, access->ranges[i].to);
        mix_expr(c, access->ranges[i].step);
    }
    mix_expr(c, access->moves);
    mix_text(c, access->spread);
    mix_location(c, access->location);
}

static void mix_completion(content_hasher *c, const spad_kernel_completion *completion) {
    mix_number(c, completion->kind);
    mix_number(c, completion->object);
    mix_index(c, completion->index, completion->index_count);
    mix_expr(c, completion->amount);
    mix_number(c, completion->flags);
    mix_location(c, completion->location);
}

static void mix_cost(content_hasher *c, const spad_statement *s) {
    mix_number(c, s->cost_kind);
    mix_expr(c, s->cost);
    mix_number(c, s->latency_kind);
    mix_amount(c, s->latency);
    for (int work = 0; work < SPAD_WORKS; work++) mix_amount(c, s->work[work]);
}

/* `end` stands for the blocks: with it, the list of statements is a tree. */
static void mix_statement(content_hasher *c, const spad_statement *s) {
    mix_number(c, s->kind);
    mix_location(c, s->location);
    mix_number(c, s->source);
    mix_number(c, (int64_t)s->end);
    mix_text(c, s->name);
    mix_number(c, s->item);
    mix_index(c, s->index, s->index_count);
    mix_expr(c, s->amount);
    mix_expr(c, s->expect);
    mix_number(c, s->unit);
    mix_number(c, s->engine);
    mix_number(c, s->flags);
    mix_number(c, (int64_t)s->access_count);
    mix_number(c, (int64_t)s->completion_count);
    mix_number(c, s->group);
    mix_number(c, s->fence);
    mix_cost(c, s);
    mix_number(c, (int64_t)s->comparison_count);
    for (size_t i = 0; i < s->comparison_count; i++) {
        mix_expr(c, s->comparisons[i].left);
        mix_number(c, s->comparisons[i].relation);
        mix_expr(c, s->comparisons[i].right);
        mix_number(c, s->comparisons[i].alternative);
    }
}

/* ---- the whole --------------------------------------------------------------------- */

#define MIX_TABLE(c, row, table)                                            \
    do {                                                                    \
        mix_number((c), (int64_t)(c)->kernel->table.count);                 \
        for (size_t mix_i = 0; mix_i < (c)->kernel->table.count; mix_i++) { \
            mix_##row((c), &(c)->kernel->table.items[mix_i]);               \
        }                                                                   \
    } while (0)

uint64_t spad__kernel_hash(const spad_kernel *kernel) {
    content_hasher hasher = {.kernel = kernel, .hash = SPAD__HASH_OF_NOTHING};
    content_hasher *c = &hasher;
    mix_text(c, kernel->name);
    mix_text(c, kernel->about);
    mix_text(c, kernel->target->name);
    mix_text(c, kernel->assumption);
    mix_text(c, kernel->undecided);
    mix_text(c, kernel->uncounted);
    mix_text(c, kernel->compiler);
    mix_amount(c, kernel->grid);
    mix_amount(c, kernel->cluster);
    MIX_TABLE(c, param, params);
    MIX_TABLE(c, region, regions);
    MIX_TABLE(c, unit, units);
    MIX_TABLE(c, sync, syncs);
    MIX_TABLE(c, unknown, unknowns);
    MIX_TABLE(c, source, sources);
    MIX_TABLE(c, fault, faults);
    MIX_TABLE(c, agent, agents);
    MIX_TABLE(c, cursor, cursors);
    MIX_TABLE(c, loop, loops);
    MIX_TABLE(c, tensor, tensors);
    MIX_TABLE(c, statement, statements);
    MIX_TABLE(c, access, accesses);
    MIX_TABLE(c, completion, completions);
    return spad__hash_finish(hasher.hash);
}
