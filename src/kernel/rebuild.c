/* SPDX-License-Identifier: Apache-2.0
 *
 * Rebuilds a kernel from its rows: declarations first, then the statements in order, one builder
 * call for each row. An expression is copied as it was written, so that the builder finds its
 * bounds for the new parameter values. The rules of a kernel stay in one place, the builder.
 *
 * Rows keep their numbers, except tensors whose declaration moves and synchronisation objects after
 * one that is left out; `tensors` and `syncs` map old numbers to new ones. O(rows + expression
 * nodes); O(statements^2) with an edit that moves statements.
 */
#include "kernel/rebuild.h"
#include "target/target.h"

#include <string.h>

#include "base/checked.h"
#include "base/text.h"
#include "kernel/place.h"

/* `status` is sticky: after a failure the calls below do nothing. */
typedef struct rebuilder {
    const spad_kernel *from;
    spad__kernel_builder *builder;
    const spad__rebuild *change;
    spad__arena scratch; /* maps, and lists of one call */
    int64_t *tensors;    /* per row of `from`: its new number */
    int64_t *syncs;
    size_t loop_count; /* around the hoisted tensor */
    int64_t loops[SPAD__LOOPS_DEEP];
    spad_status status;
    spad_error latest; /* of the latest call */
    spad_error *error; /* of the caller; may be NULL */
} rebuilder;

/* Keeps the first failure: arguments of a call are copied first, and their message counts. */
static bool is_fine(rebuilder *r, spad_status status) {
    if (r->status != SPAD_OK || status == SPAD_OK) return r->status == SPAD_OK;
    r->status = status;
    if (r->error != NULL) *r->error = r->latest;
    return false;
}

#define BUILD(r, call, ...)                                                       \
    do {                                                                          \
        if ((r)->status == SPAD_OK)                                               \
            is_fine((r), spad__kernel_builder_##call(__VA_ARGS__, &(r)->latest)); \
    } while (0)

static void *rebuild_list(rebuilder *r, size_t count, size_t size) {
    void *list = spad__arena_array(&r->scratch, count + 1, size);
    if (list == NULL) is_fine(r, spad__fail_host_memory(&r->latest));
    return list;
}

/* ---- expressions --------------------------------------------------------------------- */

static spad_expr copy_expr(rebuilder *r, spad_expr expr) {
    spad_expr copy = 0;
    if (expr == 0 || r->status != SPAD_OK) return 0;
    const spad_expr_info info = spad_kernel_get_expr(r->from, expr);
    is_fine(r, spad__expr_copy(&copy, r->builder, info.written, info.written_count, &r->latest));
    return copy;
}

static spad_amount copy_amount(rebuilder *r, spad_amount amount) {
    return (spad_amount){.value = amount.value, .expr = copy_expr(r, amount.expr)};
}

static const spad_expr *copy_index(rebuilder *r, const spad_expr *index, size_t count) {
    spad_expr *copy = rebuild_list(r, count, sizeof *copy);
    for (size_t i = 0; i < count && r->status == SPAD_OK; i++) copy[i] = copy_expr(r, index[i]);
    return copy;
}

static spad_amounts copy_amounts(rebuilder *r, spad_amounts list) {
    spad_amount *copy = rebuild_list(r, list.count, sizeof *copy);
    for (size_t i = 0; i < list.count && r->status == SPAD_OK; i++) {
        copy[i] = copy_amount(r, list.items[i]);
    }
    return (spad_amounts){list.count, copy};
}

static spad_expr make_number(rebuilder *r, int64_t value) {
    spad_expr out = 0;
    BUILD(r, number, &out, r->builder, value);
    return out;
}

static spad_expr make_expr(rebuilder *r, spad_expr_op op, spad_expr left, spad_expr right) {
    spad_expr out = 0;
    BUILD(r, apply, &out, r->builder, op, left, right);
    return out;
}

/* An amount as an expression. */
static spad_expr expr_of(rebuilder *r, spad_amount amount) {
    return amount.expr != 0 ? copy_expr(r, amount.expr) : make_number(r, amount.value);
}

/* ---- names of the target ------------------------------------------------------------- */

/* Another target may have the same space, engine or fence under another number. */

static bool is_same_target(const rebuilder *r) {
    return r->from->target == r->builder->kernel->target;
}

static size_t copy_space(rebuilder *r, size_t space) {
    if (r->status != SPAD_OK || is_same_target(r)) return space;
    size_t found = 0;
    is_fine(r, spad_target_find_space(&found, r->builder->kernel->target,
                                      r->from->target->spaces[space].name, &r->latest));
    return found;
}

static size_t copy_engine(rebuilder *r, size_t engine) {
    if (r->status != SPAD_OK || is_same_target(r)) return engine;
    size_t found = 0;
    is_fine(r, spad__target_find_engine(&found, r->builder->kernel->target,
                                        r->from->target->engines[engine].name, &r->latest));
    return found;
}

static int64_t copy_fence(rebuilder *r, int64_t fence) {
    if (r->status != SPAD_OK || fence < 0 || is_same_target(r)) return fence;
    size_t found = 0;
    is_fine(r, spad__target_find_fence(&found, r->builder->kernel->target,
                                       r->from->target->fences[fence].name, &r->latest));
    return (int64_t)found;
}

/* ---- declarations -------------------------------------------------------------------- */

static void at(rebuilder *r, spad_location location) {
    spad__kernel_builder_at(r->builder, location);
}

static void copy_params(rebuilder *r) {
    for (size_t i = 0; i < r->from->params.count && r->status == SPAD_OK; i++) {
        const spad_kernel_param *param = &r->from->params.items[i];
        const bool defined = param->value != param->preset.value;
        const spad_amount preset = defined ? (spad_amount){.value = param->value} : param->preset;
        spad_expr unused;
        at(r, param->location);
        BUILD(r, param, &unused, r->builder, param->name, copy_amount(r, preset));
        if (param->fixed) BUILD(r, fix, r->builder, param->name);
        if (param->any) BUILD(r, any, r->builder, param->name);
    }
}

static void copy_regions(rebuilder *r) {
    for (size_t i = 0; i < r->from->regions.count && r->status == SPAD_OK; i++) {
        const spad_kernel_region *region = &r->from->regions.items[i];
        at(r, region->location);
        BUILD(r, region, r->builder, copy_space(r, region->space), copy_amount(r, region->lower),
              copy_amount(r, region->upper), region->behaviour);
    }
}

static void copy_units(rebuilder *r) {
    for (size_t i = 0; i < r->from->units.count && r->status == SPAD_OK; i++) {
        const spad_kernel_unit *unit = &r->from->units.items[i];
        int64_t number;
        at(r, unit->location);
        BUILD(r, unit, &number, r->builder, unit->name, copy_engine(r, unit->engine), unit->order,
              unit->proxy);
        const int64_t fence = copy_fence(r, unit->fence);
        if (fence >= 0) BUILD(r, unit_fence, r->builder, number, (size_t)fence);
    }
}

static void copy_syncs(rebuilder *r) {
    const spad__edit *edit = r->change->edit;
    for (size_t i = 0; i < r->from->syncs.count && r->status == SPAD_OK; i++) {
        const spad_kernel_sync *sync = &r->from->syncs.items[i];
        if (edit != NULL && edit->without_sync == (int64_t)i) continue;
        at(r, sync->location);
        BUILD(r, sync, &r->syncs[i], r->builder, sync->kind, sync->name,
              copy_amounts(r, sync->dims), copy_amount(r, sync->count));
        if (sync->placed && !r->change->released) {
            BUILD(r, sync_at, r->builder, r->syncs[i], copy_amount(r, sync->byte));
        }
        if (sync->each_block) BUILD(r, each_block, r->builder);
    }
}

static void copy_unknowns(rebuilder *r) {
    for (size_t i = 0; i < r->from->unknowns.count && r->status == SPAD_OK; i++) {
        const spad_kernel_unknown *unknown = &r->from->unknowns.items[i];
        size_t given = (size_t)unknown->elements; /* what is not given is the least */
        while (given > 0 && unknown->values[given - 1] == unknown->least.value) given--;
        int64_t number;
        at(r, unknown->location);
        BUILD(r, unknown, &number, r->builder, unknown->name, copy_amounts(r, unknown->dims),
              copy_amount(r, unknown->least), copy_amount(r, unknown->end), unknown->values, given);
    }
}

static void copy_sources(rebuilder *r) {
    for (size_t i = 0; i < r->from->sources.count && r->status == SPAD_OK; i++) {
        const spad_kernel_source *source = &r->from->sources.items[i];
        int64_t number;
        BUILD(r, source, &number, r->builder, source->file, source->line, source->code,
              source->caller);
        if (r->status == SPAD_OK) r->builder->kernel->sources.items[i].column = source->column;
    }
    r->builder->kernel->compiled = r->from->compiled;
}

static void copy_faults(rebuilder *r) {
    for (size_t i = 0; i < r->from->faults.count && r->status == SPAD_OK; i++) {
        const spad__kernel_fault *fault = &r->from->faults.items[i];
        at(r, fault->location);
        BUILD(r, from, r->builder, fault->source);
        BUILD(r, fault, r->builder, fault->message, fault->times);
    }
    BUILD(r, from, r->builder, -1);
}

static void copy_threads(rebuilder *r, const spad_kernel_agent *agent) {
    if (agent->threads.value == 0 && agent->registers.value == 0) return;
    BUILD(r, threads, r->builder, copy_amount(r, agent->threads), copy_amount(r, agent->registers));
}

static void copy_declarations(rebuilder *r) {
    const spad_kernel *from = r->from;
    copy_params(r);
    if (from->assumption[0] != '\0') BUILD(r, assume, r->builder, from->assumption);
    if (from->undecided[0] != '\0') BUILD(r, undecided, r->builder, from->undecided);
    if (from->uncounted[0] != '\0') BUILD(r, uncounted, r->builder, from->uncounted);
    if (from->compiler[0] != '\0') BUILD(r, compiler, r->builder, from->compiler);
    if (from->grid.value != 0) BUILD(r, grid, r->builder, copy_amount(r, from->grid));
    if (from->cluster.value != 0) BUILD(r, cluster, r->builder, copy_amount(r, from->cluster));
    at(r, from->agents.items[0].location);
    copy_threads(r, &from->agents.items[0]);
    copy_regions(r);
    copy_units(r);
    copy_syncs(r);
    copy_unknowns(r);
    copy_sources(r);
    copy_faults(r);
}

/* ---- tensors ------------------------------------------------------------------------- */

static bool is_hoisted(const rebuilder *r, int64_t tensor) {
    return r->change->hoisted >= 0 && tensor == r->change->hoisted;
}

static bool is_flat(const rebuilder *r, int64_t tensor) {
    return r->change->edit != NULL && r->change->edit->flat == tensor;
}

static bool is_literal(const rebuilder *r, spad_amount amount) {
    const spad_expr_info info = spad_kernel_get_expr(r->from, amount.expr);
    return info.node_count == 0 || (info.node_count == 1 && info.nodes[0].op == SPAD_EXPR_NUMBER);
}

/* Iterations of a loop around the hoisted tensor. One more where a parameter decides, because a
 * loop may then have no iteration while a tensor has at least one tile; the ring says how many of
 * them have a place. */
static spad_amount iterations_of(rebuilder *r, const spad_kernel_loop *loop) {
    int64_t more = is_literal(r, loop->begin) && is_literal(r, loop->end) ? 0 : 1;
    spad_expr count = expr_of(r, loop->end);
    if (!is_literal(r, loop->begin) || !spad__sub(more, loop->begin.value, &more)) {
        count = make_expr(r, SPAD_EXPR_SUB, count, expr_of(r, loop->begin));
    }
    if (more > 0) count = make_expr(r, SPAD_EXPR_ADD, count, make_number(r, more));
    if (more < 0) count = make_expr(r, SPAD_EXPR_SUB, count, make_number(r, -more));
    return (spad_amount){.expr = count};
}

/* A block dimension for each loop around the hoisted tensor; the innermost uses `tiles` slots. */
static void hoist_tensor(rebuilder *r, const spad_kernel_tensor *from, spad_kernel_tensor *tensor) {
    const size_t count = r->loop_count + from->blocks.count;
    const spad_amounts own = from->ring.count > 0 ? from->ring : from->blocks;
    spad_amount *blocks = rebuild_list(r, count, sizeof *blocks);
    spad_amount *ring = rebuild_list(r, count, sizeof *ring);
    for (size_t i = 0; i < count && r->status == SPAD_OK; i++) {
        if (i >= r->loop_count) {
            blocks[i] = copy_amount(r, from->blocks.items[i - r->loop_count]);
            ring[i] = copy_amount(r, own.items[i - r->loop_count]);
        } else {
            blocks[i] = iterations_of(r, &r->from->loops.items[r->loops[i]]);
            ring[i].value = i + 1 == r->loop_count ? r->change->tiles : 1;
        }
    }
    tensor->blocks = (spad_amounts){count, blocks};
    tensor->ring = (spad_amounts){count, ring};
}

/* The tile that an alias is in keeps its index, not its number. */
static void copy_alias(rebuilder *r, const spad_kernel_tensor *from, spad_kernel_tensor *tensor) {
    const spad_kernel_tensor *other = &r->from->tensors.items[from->alias_of];
    tensor->alias_of = r->tensors[from->alias_of];
    if (other->blocks.count == 0 || from->alias_tile < 0 || r->status != SPAD_OK) return;
    const spad_kernel_tensor *made = &r->builder->kernel->tensors.items[tensor->alias_of];
    int64_t index[SPAD_RANK_MAX];
    spad__tile_index(other, from->alias_tile, index);
    tensor->alias_tile = 0;
    for (size_t i = 0; i < made->blocks.count; i++) {
        const int64_t extent = made->blocks.items[i].value;
        if (index[i] >= extent) {
            is_fine(r, spad__fail(&r->latest, SPAD_ERR_BOUNDS,
                                  "index %lld is outside '%s', which has %lld", (long long)index[i],
                                  made->name, (long long)extent));
            return;
        }
        tensor->alias_tile = tensor->alias_tile * extent + index[i];
    }
}

/* Puts a tensor into the first tile of another one, or tile by tile into it. */
static void make_alias(rebuilder *r, spad_kernel_tensor *tensor) {
    const spad__edit *edit = r->change->edit;
    tensor->mode = SPAD_MODE_ALIAS;
    tensor->alias_of = r->tensors[edit->alias_of];
    tensor->alias_tile = edit->alias_tiles ? -1 : 0;
    tensor->byte = (spad_amount){0};
    if (edit->alias_tiles) tensor->ring = (spad_amounts){0};
}

/* The ring that repeats as the addresses of a modulo tensor do, where that is a small number. */
static spad_amounts ring_of_modulo(rebuilder *r, const spad_kernel_tensor *t) {
    const spad_amounts *lists[] = {&t->par, &t->free, &t->banks};
    spad_amount *ring = rebuild_list(r, t->blocks.count, sizeof *ring);
    for (size_t d = 0; d < t->blocks.count && r->status == SPAD_OK; d++) {
        int64_t repeat = 1;
        for (size_t i = 0; i < 3; i++) {
            if (lists[i]->count == 0) continue;
            if (!spad__lcm(repeat, lists[i]->items[d].value, &repeat)) {
                repeat = t->blocks.items[d].value;
            }
        }
        ring[d].value = spad__min(repeat, t->blocks.items[d].value);
    }
    return (spad_amounts){t->blocks.count, ring};
}

/* Leaves the placement to the planner. */
static void release_tensor(rebuilder *r, const spad_kernel_tensor *from,
                           spad_kernel_tensor *tensor) {
    if (from->mode == SPAD_MODE_MOD) tensor->ring = ring_of_modulo(r, from);
    tensor->mode = SPAD_MODE_AUTO;
    tensor->byte = tensor->lane = tensor->bank = tensor->step = (spad_amount){0};
    tensor->steps = tensor->free = tensor->par = tensor->banks = (spad_amounts){0};
}

static bool is_released(const rebuilder *r, const spad_kernel_tensor *tensor) {
    return r->change->released && (tensor->mode == SPAD_MODE_AT || tensor->mode == SPAD_MODE_MOD) &&
           !r->from->target->spaces[tensor->space].off_chip;
}

static void rebuild_numbers(rebuilder *r, const spad_kernel_tensor *from,
                            spad_kernel_tensor *tensor) {
    tensor->space = copy_space(r, from->space);
    tensor->blocks = copy_amounts(r, from->blocks);
    tensor->dims = copy_amounts(r, from->dims);
    tensor->ring = copy_amounts(r, from->ring);
    tensor->byte = copy_amount(r, from->byte);
    tensor->lane = copy_amount(r, from->lane);
    tensor->bank = copy_amount(r, from->bank);
    tensor->step = copy_amount(r, from->step);
    tensor->steps = copy_amounts(r, from->steps);
    tensor->free = copy_amounts(r, from->free);
    tensor->par = copy_amounts(r, from->par);
    tensor->banks = copy_amounts(r, from->banks);
    tensor->align = copy_amount(r, from->align);
    tensor->reuse = copy_amount(r, from->reuse);
    tensor->near = copy_amount(r, from->near);
    tensor->cached = copy_amount(r, from->cached);
    tensor->cached_of = copy_amount(r, from->cached_of);
    tensor->pieces = copy_amount(r, from->pieces);
}

static void rebuild_tensor(rebuilder *r, int64_t number) {
    const spad_kernel_tensor *from = &r->from->tensors.items[number];
    const bool becomes_alias = r->change->edit != NULL && r->change->edit->alias == number;
    spad_kernel_tensor tensor = *from;
    rebuild_numbers(r, from, &tensor);
    if (is_released(r, from)) release_tensor(r, from, &tensor);
    if (from->mode == SPAD_MODE_ALIAS && !becomes_alias) copy_alias(r, from, &tensor);
    if (becomes_alias) make_alias(r, &tensor);
    if (is_hoisted(r, number)) hoist_tensor(r, from, &tensor);
    if (from->like > 0) { /* it has the ring of the other tensor */
        tensor.like = r->tensors[from->like - 1] + 1;
        tensor.ring = (spad_amounts){0};
    }
    if (is_flat(r, number)) tensor.blocks = tensor.ring = (spad_amounts){0};
    BUILD(r, tensor, &r->tensors[number], r->builder, &tensor);
}

/* ---- operations ---------------------------------------------------------------------- */

/* The index of an access to the hoisted tensor: one more for each loop around its declaration. */
static const spad_expr *hoist_index(rebuilder *r, const spad_kernel_access *access) {
    const size_t count = r->loop_count + access->index_count;
    spad_expr *index = rebuild_list(r, count, sizeof *index);
    for (size_t i = 0; i < count && r->status == SPAD_OK; i++) {
        if (i >= r->loop_count) {
            index[i] = copy_expr(r, access->index[i - r->loop_count]);
            continue;
        }
        const spad_kernel_loop *loop = &r->from->loops.items[r->loops[i]];
        is_fine(r, spad__expr_variable(&index[i], r->builder, r->loops[i], &r->latest));
        if (loop->begin.value != 0 || !is_literal(r, loop->begin)) {
            index[i] = make_expr(r, SPAD_EXPR_SUB, index[i], expr_of(r, loop->begin));
        }
    }
    return index;
}

static void copy_access(rebuilder *r, const spad_kernel_access *from) {
    spad_kernel_access access = *from;
    spad_expr_range *ranges = rebuild_list(r, from->range_count, sizeof *ranges);
    access.tensor = r->tensors[from->tensor];
    if (is_flat(r, from->tensor)) {
        access.index_count = 0;
    } else if (is_hoisted(r, from->tensor)) {
        access.index = hoist_index(r, from);
        access.index_count += r->loop_count;
    } else {
        access.index = copy_index(r, from->index, from->index_count);
    }
    for (size_t i = 0; i < from->range_count && r->status == SPAD_OK; i++) {
        ranges[i].from = copy_expr(r, from->ranges[i].from);
        ranges[i].to = copy_expr(r, from->ranges[i].to);
        ranges[i].step = copy_expr(r, from->ranges[i].step);
    }
    access.ranges = ranges;
    access.moves = copy_expr(r, from->moves);
    at(r, from->location);
    BUILD(r, access, r->builder, &access);
}

static void copy_completion(rebuilder *r, const spad_kernel_completion *from) {
    spad_kernel_completion completion = *from;
    completion.object = r->syncs[from->object];
    completion.index = copy_index(r, from->index, from->index_count);
    completion.amount = copy_expr(r, from->amount);
    at(r, from->location);
    BUILD(r, completion, r->builder, &completion);
}

static void copy_operation(rebuilder *r, const spad_statement *s) {
    const spad_kernel *from = r->from;
    const char *runner =
        s->unit >= 0 ? from->units.items[s->unit].name : from->target->engines[s->engine].name;
    BUILD(r, operation, r->builder, runner, s->name);
    for (size_t i = 0; i < s->access_count; i++) {
        copy_access(r, &from->accesses.items[s->first_access + i]);
    }
    if ((s->flags & SPAD_BY_ONE) != 0) BUILD(r, elect, r->builder);
    if (s->group >= 0) BUILD(r, group, r->builder, r->syncs[s->group]);
    for (size_t i = 0; i < s->completion_count; i++) {
        copy_completion(r, &from->completions.items[s->first_completion + i]);
    }
    if (s->cost_kind != SPAD_COST_TARGET) {
        BUILD(r, cost, r->builder, s->cost_kind, copy_expr(r, s->cost));
    }
    if (s->latency_kind != SPAD_COST_TARGET) {
        BUILD(r, latency, r->builder, s->latency_kind, copy_amount(r, s->latency));
    }
    for (int work = 0; work < SPAD_WORKS; work++) {
        if (s->work[work].value == 0) continue;
        BUILD(r, work, r->builder, (spad_work)work, copy_amount(r, s->work[work]));
    }
}

/* ---- statements ---------------------------------------------------------------------- */

static void copy_loop(rebuilder *r, const spad_kernel_loop *loop) {
    spad_expr variable;
    if (loop->from != 0) {
        BUILD(r, range, &variable, r->builder, loop->name, copy_expr(r, loop->from),
              copy_expr(r, loop->to), copy_amount(r, loop->step), loop->parallel);
    } else {
        BUILD(r, for, &variable, r->builder, loop->name, copy_amount(r, loop->begin),
              copy_amount(r, loop->end), loop->parallel);
    }
}

static void copy_if(rebuilder *r, const spad_statement *s) {
    spad_comparison *list = rebuild_list(r, s->comparison_count, sizeof *list);
    for (size_t i = 0; i < s->comparison_count && r->status == SPAD_OK; i++) {
        list[i] = s->comparisons[i];
        list[i].left = copy_expr(r, s->comparisons[i].left);
        list[i].right = copy_expr(r, s->comparisons[i].right);
    }
    BUILD(r, if, r->builder, list, s->comparison_count);
}

static void copy_agent(rebuilder *r, const spad_kernel_agent *agent) {
    BUILD(r, agent, r->builder, agent->name);
    copy_threads(r, agent);
}

static bool names_tensor(spad_statement_kind kind) {
    return kind == SPAD_STATEMENT_ALLOC || kind == SPAD_STATEMENT_FREE;
}

static bool names_sync(spad_statement_kind kind) {
    return kind >= SPAD_STATEMENT_SYNC && kind <= SPAD_STATEMENT_WAIT_GROUP;
}

/* Synchronisation, alloc and free, advance, break, next section. `moved`: a parity wait is then for
 * the first phase. */
static void copy_plain(rebuilder *r, const spad_statement *s, bool moved) {
    spad_statement row = spad__statement_of(s->kind, s->item);
    if (names_tensor(s->kind)) row.item = r->tensors[s->item];
    if (names_sync(s->kind)) row.item = r->syncs[s->item];
    row.index = copy_index(r, s->index, s->index_count);
    row.index_count = s->index_count;
    if ((s->flags & SPAD_SYNC_NEXT) != 0) {
        row.amount = 0; /* the builder finds it again */
    } else if (moved && s->kind == SPAD_STATEMENT_WAIT_PARITY) {
        row.amount = make_number(r, 0);
    } else {
        row.amount = copy_expr(r, s->amount);
    }
    row.expect = copy_expr(r, s->expect);
    row.unit = s->unit;
    row.fence = copy_fence(r, s->fence);
    row.flags = s->flags;
    BUILD(r, statement, r->builder, &row);
}

static void copy_statement(rebuilder *r, const spad_statement *s, bool moved) {
    const spad_kernel *from = r->from;
    int64_t number;
    at(r, s->location);
    BUILD(r, from, r->builder, s->source);
    switch (s->kind) {
    case SPAD_STATEMENT_TENSOR: rebuild_tensor(r, s->item); break;
    case SPAD_STATEMENT_FOR: copy_loop(r, &from->loops.items[s->item]); break;
    case SPAD_STATEMENT_IF: copy_if(r, s); break;
    case SPAD_STATEMENT_ELSE:
        if (r->status == SPAD_OK) is_fine(r, spad__kernel_builder_else(r->builder, &r->latest));
        break;
    case SPAD_STATEMENT_SCOPE:
        BUILD(r, scope, r->builder, s->name, (spad_amount){.expr = copy_expr(r, s->amount)});
        break;
    case SPAD_STATEMENT_AGENT: copy_agent(r, &from->agents.items[s->item]); break;
    case SPAD_STATEMENT_OPERATION: copy_operation(r, s); break;
    case SPAD_STATEMENT_CURSOR: {
        const spad_kernel_cursor *cursor = &from->cursors.items[s->item];
        BUILD(r, cursor, &number, r->builder, cursor->stage, cursor->phase,
              copy_amount(r, cursor->count));
        break;
    }
    default: copy_plain(r, s, moved); break;
    }
}

/* The blocks that are open, by statement; an else replaces its if. */
typedef struct open_blocks {
    size_t depth;
    size_t items[SPAD__BLOCKS_DEEP];
} open_blocks;

static void end_blocks(rebuilder *r, open_blocks *open, size_t before) {
    while (open->depth > 0 &&
           r->from->statements.items[open->items[open->depth - 1]].end == before) {
        open->depth--;
        if (r->status == SPAD_OK) is_fine(r, spad__kernel_builder_end(r->builder, &r->latest));
    }
}

/* Statements that move in front of statement `before`, in their own order. */
static void copy_moved(rebuilder *r, size_t before) {
    const spad__edit *edit = r->change->edit;
    if (edit == NULL || edit->to == NULL) return;
    for (size_t i = 0; i < r->from->statements.count; i++) {
        if (edit->to[i] == (int64_t)before) {
            copy_statement(r, &r->from->statements.items[i], true);
        }
    }
}

static bool keeps_its_place(const rebuilder *r, size_t statement) {
    const spad__edit *edit = r->change->edit;
    return edit == NULL || edit->to == NULL || edit->to[statement] == SPAD__STAYS;
}

static void copy_statements(rebuilder *r) {
    const spad_kernel *from = r->from;
    const int64_t hoisted = r->change->hoisted;
    open_blocks open = {.depth = 0};
    for (size_t i = 0; i < from->statements.count && r->status == SPAD_OK; i++) {
        const spad__arena_mark mark = spad__arena_here(&r->scratch);
        const spad_statement *s = &from->statements.items[i];
        end_blocks(r, &open, i);
        copy_moved(r, i);
        const bool of_loop = (s->flags & SPAD_IF_OF_LOOP) != 0 && s->kind == SPAD_STATEMENT_IF;
        if (!keeps_its_place(r, i) || of_loop) continue; /* the loop makes its own guard */
        if (hoisted >= 0 && i == from->tensors.items[hoisted].statement) continue;
        if (hoisted >= 0 && i == from->loops.items[r->loops[0]].statement) {
            copy_statement(r, &from->statements.items[from->tensors.items[hoisted].statement],
                           true);
        }
        if (s->kind == SPAD_STATEMENT_ELSE) open.depth--;
        copy_statement(r, s, false);
        if (spad__is_block(s->kind)) open.items[open.depth++] = i;
        spad__arena_rewind(&r->scratch, mark);
    }
    end_blocks(r, &open, from->statements.count);
}

/* ---- the call ------------------------------------------------------------------------ */

static void copy_file(rebuilder *r) {
    spad_kernel *made = r->builder->kernel;
    if (r->from->file == NULL || r->status != SPAD_OK) return;
    made->file = spad__arena_copy(&made->arena, r->from->file, strlen(r->from->file));
    if (made->file == NULL) is_fine(r, spad__fail_host_memory(&r->latest));
}

/* They are found by the lines of the rows, which stay. */
static void copy_comments(rebuilder *r) {
    spad_kernel *made = r->builder->kernel;
    const size_t count = r->from->comments.count;
    if (r->status != SPAD_OK) return;
    bool fine = spad__array_reserve(&made->host, &made->comments, count);
    for (size_t i = 0; fine && i < count; i++) {
        spad__comment comment = r->from->comments.items[i];
        comment.text = spad__arena_copy(&made->arena, comment.text, strlen(comment.text));
        fine = comment.text != NULL;
        if (fine) made->comments.items[made->comments.count++] = comment;
    }
    if (!fine) is_fine(r, spad__fail_host_memory(&r->latest));
}

static void make_maps(rebuilder *r) {
    r->tensors = rebuild_list(r, r->from->tensors.count, sizeof *r->tensors);
    r->syncs = rebuild_list(r, r->from->syncs.count, sizeof *r->syncs);
    if (r->status != SPAD_OK) return;
    for (size_t i = 0; i < r->from->tensors.count; i++) r->tensors[i] = -1;
    for (size_t i = 0; i < r->from->syncs.count; i++) r->syncs[i] = -1;
    if (r->change->hoisted < 0) return;
    const size_t statement = r->from->tensors.items[r->change->hoisted].statement;
    r->loop_count = spad__loops_around(r->from, (int64_t)statement, r->loops);
}

spad_status spad__kernel_rebuild(spad_kernel **out, const spad_kernel *kernel,
                                 const spad__rebuild *change, const spad_kernel_options *options,
                                 spad_error *error) {
    *out = NULL;
    rebuilder r = {.from = kernel, .change = change, .error = error};
    r.scratch.host = spad__host_or_default(options->host);
    const spad_status status = spad__kernel_builder_create(&r.builder, kernel->name, kernel->about,
                                                           kernel->target, options, error);
    if (status != SPAD_OK) return status;
    make_maps(&r);
    if (r.status == SPAD_OK) copy_declarations(&r);
    if (r.status == SPAD_OK) copy_statements(&r);
    copy_file(&r);
    copy_comments(&r);
    if (r.status == SPAD_OK) is_fine(&r, spad__kernel_builder_finish(out, r.builder, &r.latest));
    spad__kernel_builder_destroy(r.builder);
    spad__arena_free(&r.scratch);
    return r.status;
}
