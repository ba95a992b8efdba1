/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations and synchronisation: which objects a statement may name, and what
 * can be known about its numbers before the kernel runs.
 */
#include <string.h>

#include "base/checked.h"
#include "base/text.h"
#include "kernel/kernel.h"
#include "target/target.h"

/* ---- indices ----------------------------------------------------------------------- */

/* Is an index outside [0, last] for certain? Then in every iteration, or in one that
 * is reached. */
static bool is_outside(const spad__kernel_builder *builder, spad_expr expr, int64_t last) {
    const spad_expr_info info = spad_kernel_get_expr(builder->kernel, expr);
    const bool inside = info.least >= 0 && info.most <= last;
    const bool never = info.most < 0 || info.least > last;
    return !inside && !builder->guarded && (never || info.exact);
}

static spad_status fail_outside(const spad__kernel_builder *builder, const char *name,
                                spad_expr expr, int64_t extent, spad_error *error) {
    const spad_expr_info info = spad_kernel_get_expr(builder->kernel, expr);
    const int64_t worst = info.most >= extent ? info.most : info.least;
    char text[96];
    spad__expr_text(builder->kernel, expr, text, sizeof text);
    if (info.constant) {
        spad__fail(error, SPAD_ERR_BOUNDS, "index %lld is outside '%s', which has %lld",
                   (long long)worst, name, (long long)extent);
    } else {
        spad__fail(error, SPAD_ERR_BOUNDS, "index '%s' reaches %lld and '%s' has only %lld", text,
                   (long long)worst, name, (long long)extent);
    }
    spad__fact_names(error, name, NULL);
    spad__fact_amounts(error, worst, extent, SPAD_NO_FACT);
    return SPAD_ERR_BOUNDS;
}

/* An index of a tensor or a sync object: as many as dims, none of them outside for certain.
 * *kept: a copy in the arena. */
static spad_status keep_index(spad__kernel_builder *builder, const char *what, const char *name,
                              spad_amounts dims, const spad_expr *index, size_t count,
                              const spad_expr **kept, spad_error *error) {
    *kept = NULL;
    if (count != dims.count) {
        return spad__fail(error, SPAD_ERR_SHAPE, "%s '%s' has block rank %zu; indices given: %zu",
                          what, name, dims.count, count);
    }
    for (size_t i = 0; i < count; i++) {
        const spad_status status = spad__check_expr(builder, index[i], error);
        if (status != SPAD_OK) return status;
        if (is_outside(builder, index[i], dims.items[i].value - 1)) {
            return fail_outside(builder, name, index[i], dims.items[i].value, error);
        }
    }
    if (count == 0) return SPAD_OK;
    spad_expr *copy = spad__arena_array(&builder->kernel->arena, count, sizeof *copy);
    if (copy == NULL) return spad__fail_host_memory(error);
    memcpy(copy, index, count * sizeof *copy);
    *kept = copy;
    return SPAD_OK;
}

/* ---- operations -------------------------------------------------------------------- */

static spad_status fail_no_runner(const spad__kernel_builder *builder, const char *name,
                                  spad_error *error) {
    const spad_target *target = builder->kernel->target;
    spad__nearest nearest;
    char hint[192];
    spad__nearest_start(&nearest, name);
    for (size_t i = 0; i < builder->kernel->units.count; i++) {
        spad__nearest_offer(&nearest, builder->kernel->units.items[i].name);
    }
    for (size_t i = 0; i < target->engine_count; i++) {
        spad__nearest_offer(&nearest, target->engines[i].name);
    }
    for (int kind = 0; kind < SPAD_STATEMENT_KINDS; kind++) {
        const char *word = spad_statement_kind_name((spad_statement_kind)kind);
        if (strcmp(word, name) != 0) spad__nearest_offer(&nearest, word);
    }
    spad__nearest_phrase(&nearest, hint, sizeof hint);
    spad__fail(error, SPAD_ERR_UNKNOWN, "'%s' is not a statement, unit or engine of %s%s", name,
               target->name, hint);
    spad__fact_names(error, name, target->name);
    return SPAD_ERR_UNKNOWN;
}

spad_status spad__kernel_builder_operation(spad__kernel_builder *builder, const char *runner,
                                           const char *name, spad_error *error) {
    spad_kernel *kernel = builder->kernel;
    const spad__symbol *symbol = spad__find_symbol(builder, runner);
    int64_t unit = -1;
    size_t engine = kernel->target->engine_count;
    if (symbol != NULL && symbol->kind == SPAD__SYMBOL_UNIT) {
        unit = symbol->number;
        engine = kernel->units.items[unit].engine;
    } else if (spad__target_find_engine(&engine, kernel->target, runner, NULL) != SPAD_OK) {
        return fail_no_runner(builder, runner, error);
    }
    const spad_status status = spad__check_name(name, error);
    if (status != SPAD_OK) return status;
    const char *kept = spad__arena_copy(&kernel->arena, name, strlen(name));
    spad_statement *statement =
        kept != NULL ? spad__new_statement(builder, SPAD_STATEMENT_OPERATION) : NULL;
    if (statement == NULL) return spad__fail_host_memory(error);
    statement->name = kept;
    statement->unit = unit;
    statement->engine = (int64_t)engine;
    spad__add_statement(builder);
    return SPAD_OK;
}

/* The statement that clauses are added to. */
static spad_status last_operation(spad_statement **out, spad__kernel_builder *builder,
                                  spad_error *error) {
    spad_kernel *kernel = builder->kernel;
    const size_t count = kernel->statements.count;
    *out = count > 0 ? &kernel->statements.items[count - 1] : NULL;
    if (*out != NULL && (*out)->kind == SPAD_STATEMENT_OPERATION) return SPAD_OK;
    return spad__fail(error, SPAD_ERR_ARGUMENT, "there is no operation to add this to");
}

/* An update counts as a write: accumulators are not read over the data path. */
static spad_status check_reach(const spad_kernel *kernel, const spad_statement *statement,
                               const spad_kernel_tensor *tensor, unsigned kind, spad_error *error) {
    const spad_engine *engine = &kernel->target->engines[statement->engine];
    const uint64_t bit = UINT64_C(1) << tensor->space;
    const bool writes = (kind & SPAD_ACCESS_WRITE) != 0;
    if (((writes ? engine->writes : engine->reads) & bit) != 0) return SPAD_OK;
    spad__fail(error, SPAD_ERR_SPACE, "engine '%s' of %s cannot %s '%s', where '%s' is",
               engine->name, kernel->target->name, writes ? "write to" : "read from",
               kernel->target->spaces[tensor->space].name, tensor->name);
    spad__fact_names(error, engine->name, tensor->name);
    return SPAD_ERR_SPACE;
}

/* The step of a range. Lanes that an engine touches are next to each other. */
static spad_status check_step(const spad__kernel_builder *builder, const char *name,
                              spad_expr_range range, bool lanes, spad_error *error) {
    if (range.step == 0) return SPAD_OK;
    const spad_status status = spad__check_expr(builder, range.step, error);
    if (status != SPAD_OK) return status;
    const spad_expr_info step = spad_kernel_get_expr(builder->kernel, range.step);
    if (!step.constant || step.least < 1) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "the step of a range of '%s' is not a constant of at least 1", name);
    }
    if (range.from != 0 && range.to == 0) {
        return spad__fail(error, SPAD_ERR_SHAPE, "one element of '%s' has no step", name);
    }
    if (lanes && step.least > 1) {
        return spad__fail(error, SPAD_ERR_LANES,
                          "the first dimension of '%s' runs across lanes, which have no step",
                          name);
    }
    return SPAD_OK;
}

/* One dimension of a sub-range: [from, to), or the one element `from`. */
static spad_status check_range(const spad__kernel_builder *builder, const char *name,
                               spad_expr_range range, int64_t extent, spad_error *error) {
    if (range.from == 0 && range.to == 0) return SPAD_OK;
    spad_status status = spad__check_expr(builder, range.from, error);
    if (status == SPAD_OK && range.to != 0) status = spad__check_expr(builder, range.to, error);
    if (status != SPAD_OK) return status;
    if (is_outside(builder, range.from, extent - 1)) {
        return fail_outside(builder, name, range.from, extent, error);
    }
    if (range.to == 0) return SPAD_OK;
    if (is_outside(builder, range.to, extent)) {
        const spad_expr_info end = spad_kernel_get_expr(builder->kernel, range.to);
        spad__fail(error, SPAD_ERR_BOUNDS,
                   "the range ends at %lld and this dimension of '%s' at %lld", (long long)end.most,
                   name, (long long)extent);
        spad__fact_names(error, name, NULL);
        spad__fact_amounts(error, end.most, extent, SPAD_NO_FACT);
        return SPAD_ERR_BOUNDS;
    }
    const spad_expr_info from = spad_kernel_get_expr(builder->kernel, range.from);
    const spad_expr_info to = spad_kernel_get_expr(builder->kernel, range.to);
    if (to.most <= from.least) {
        return spad__fail(error, SPAD_ERR_BOUNDS, "the range of '%s' is empty", name);
    }
    return SPAD_OK;
}

static spad_status keep_ranges(spad__kernel_builder *builder, const spad_kernel_tensor *tensor,
                               spad_kernel_access *row, spad_error *error) {
    if (row->range_count == 0) {
        row->ranges = NULL;
        return SPAD_OK;
    }
    if (row->range_count != tensor->dims.count) {
        return spad__fail(error, SPAD_ERR_SHAPE, "a tile of '%s' has rank %zu; ranges given: %zu",
                          tensor->name, tensor->dims.count, row->range_count);
    }
    const bool lanes = builder->kernel->target->spaces[tensor->space].lanes > 1;
    for (size_t i = 0; i < row->range_count; i++) {
        spad_status status =
            check_range(builder, tensor->name, row->ranges[i], tensor->dims.items[i].value, error);
        if (status == SPAD_OK) {
            status = check_step(builder, tensor->name, row->ranges[i], lanes && i == 0, error);
        }
        if (status != SPAD_OK) return status;
    }
    spad_expr_range *copy =
        spad__arena_array(&builder->kernel->arena, row->range_count, sizeof *copy);
    if (copy == NULL) return spad__fail_host_memory(error);
    memcpy(copy, row->ranges, row->range_count * sizeof *copy);
    row->ranges = copy;
    return SPAD_OK;
}

/* The storage of a tensor on chip must suit the engine that accesses it through the proxy. The
 * multiples are powers of two on every chip; the largest serves all. */
static void note_proxy(const spad_kernel *kernel, const spad_statement *statement,
                       spad_kernel_tensor *home) {
    if (statement->unit < 0 || !kernel->units.items[statement->unit].proxy) return;
    if (kernel->target->spaces[home->space].off_chip) return;
    const int64_t align = kernel->target->engines[statement->engine].proxy_align;
    home->proxy_align = spad__max(home->proxy_align, align);
}

/* Bytes apart from the size of the part. */
static spad_status check_moves(const spad__kernel_builder *builder,
                               const spad_kernel_access *access, spad_error *error) {
    if (access->moves == 0) return SPAD_OK;
    if ((access->kind & SPAD_ACCESS_MAY) == 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "'moves' is for an access that 'may' touch a part; any other one moves "
                          "all of it");
    }
    return spad__check_expr(builder, access->moves, error);
}

spad_status spad__kernel_builder_access(spad__kernel_builder *builder,
                                        const spad_kernel_access *access, spad_error *error) {
    spad_kernel *kernel = builder->kernel;
    spad_statement *statement;
    spad_status status = last_operation(&statement, builder, error);
    if (status != SPAD_OK) return status;
    status = spad__check_visible(builder, access->tensor, error);
    if (status != SPAD_OK) return status;
    unsigned kind = access->kind & ~(unsigned)SPAD_ACCESS_MAY;
    if (access->kind == (SPAD_ACCESS_WRITE | SPAD_ACCESS_AGREED)) kind = SPAD_ACCESS_WRITE;
    if ((kind < SPAD_ACCESS_READ || kind > SPAD_ACCESS_UPDATE) && kind != SPAD_ACCESS_ADD) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "no such kind of access");
    }
    status = check_moves(builder, access, error);
    if (status == SPAD_OK && access->spread != NULL) {
        status = spad__check_name(access->spread, error);
    }
    if (status != SPAD_OK) return status;
    const spad_kernel_tensor *tensor = &kernel->tensors.items[access->tensor];
    spad_kernel_access row = *access;
    row.location = builder->location;
    status = check_reach(kernel, statement, tensor, row.kind, error);
    if (status == SPAD_OK) {
        status = keep_index(builder, "tensor", tensor->name, tensor->blocks, access->index,
                            access->index_count, &row.index, error);
    }
    if (status == SPAD_OK) status = keep_ranges(builder, tensor, &row, error);
    if (status != SPAD_OK) return status;
    if (access->spread != NULL) {
        row.spread = spad__arena_copy(&kernel->arena, access->spread, strlen(access->spread));
        if (row.spread == NULL) return spad__fail_host_memory(error);
    }
    if (!spad__array_reserve(&kernel->host, &kernel->accesses, 1)) {
        return spad__fail_host_memory(error);
    }
    kernel->accesses.items[kernel->accesses.count++] = row;
    statement->access_count++;
    note_proxy(kernel, statement, &kernel->tensors.items[tensor->home]);
    return SPAD_OK;
}

/* A sync object of one of two kinds; *wanted names them. */
static spad_status find_sync(const spad_kernel_sync **out, const spad_kernel *kernel,
                             int64_t number, spad_sync_kind kind, spad_sync_kind other,
                             spad_error *error) {
    static const char *const names[SPAD_SYNC_KINDS] = {
        [SPAD_SYNC_BARRIER] = "a barrier",
        [SPAD_SYNC_COUNTER] = "a counter",
        [SPAD_SYNC_MBARRIER] = "an mbarrier",
        [SPAD_SYNC_GROUP] = "a group",
    };
    if (number < 0 || (size_t)number >= kernel->syncs.count) {
        return spad__fail(error, SPAD_ERR_UNKNOWN, "no such barrier, counter or group");
    }
    *out = &kernel->syncs.items[number];
    if ((*out)->kind == kind || (*out)->kind == other) return SPAD_OK;
    return spad__fail(error, SPAD_ERR_ARGUMENT, "'%s' is %s; %s%s%s is expected here", (*out)->name,
                      names[(*out)->kind], names[kind], kind != other ? " or " : "",
                      kind != other ? names[other] : "");
}

/* An amount that is at least `least` and at most `most` in some iteration; 0: none. */
static spad_status check_amount(const spad__kernel_builder *builder, spad_expr amount,
                                int64_t least, int64_t most, const char *what, spad_error *error) {
    if (amount == 0) return SPAD_OK;
    const spad_status status = spad__check_expr(builder, amount, error);
    if (status != SPAD_OK) return status;
    const spad_expr_info info = spad_kernel_get_expr(builder->kernel, amount);
    const bool fine = info.least >= least && info.most <= most;
    if (fine || builder->guarded || !info.exact) return SPAD_OK;
    const int64_t worst = info.least < least ? info.least : info.most;
    return spad__fail(error, SPAD_ERR_ARGUMENT, "%s of %lld; it is at least %lld%s", what,
                      (long long)worst, (long long)least, most == 1 ? " and at most 1" : "");
}

spad_status spad__kernel_builder_completion(spad__kernel_builder *builder,
                                            const spad_kernel_completion *completion,
                                            spad_error *error) {
    spad_kernel *kernel = builder->kernel;
    spad_statement *statement;
    const spad_kernel_sync *sync;
    spad_kernel_completion row = *completion;
    const spad_sync_kind kind =
        row.kind == SPAD_COMPLETION_SIGNAL ? SPAD_SYNC_COUNTER : SPAD_SYNC_MBARRIER;
    spad_status status = last_operation(&statement, builder, error);
    if (status == SPAD_OK && (unsigned)row.kind > SPAD_COMPLETION_SIGNAL) {
        status = spad__fail(error, SPAD_ERR_ARGUMENT, "no such kind of completion");
    }
    if (status == SPAD_OK) status = find_sync(&sync, kernel, row.object, kind, kind, error);
    if (status == SPAD_OK) {
        status = keep_index(builder, "array", sync->name, sync->dims, row.index, row.index_count,
                            &row.index, error);
    }
    if (status == SPAD_OK) {
        status = check_amount(builder, row.amount, 1, INT64_MAX, "an amount", error);
    }
    if (status != SPAD_OK) return status;
    if (!spad__array_reserve(&kernel->host, &kernel->completions, 1)) {
        return spad__fail_host_memory(error);
    }
    row.location = builder->location;
    kernel->completions.items[kernel->completions.count++] = row;
    statement->completion_count++;
    return SPAD_OK;
}

spad_status spad__kernel_builder_elect(spad__kernel_builder *builder, spad_error *error) {
    spad_statement *statement;
    const spad_status status = last_operation(&statement, builder, error);
    if (status == SPAD_OK) statement->flags |= SPAD_BY_ONE;
    return status;
}

spad_status spad__kernel_builder_group(spad__kernel_builder *builder, int64_t group,
                                       spad_error *error) {
    spad_statement *statement;
    const spad_kernel_sync *sync;
    spad_status status = last_operation(&statement, builder, error);
    if (status == SPAD_OK) {
        status = find_sync(&sync, builder->kernel, group, SPAD_SYNC_GROUP, SPAD_SYNC_GROUP, error);
    }
    if (status != SPAD_OK) return status;
    if (statement->unit < 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "only an operation on a unit belongs to a group; declare one for engine "
                          "'%s'",
                          builder->kernel->target->engines[statement->engine].name);
    }
    statement->group = group;
    return SPAD_OK;
}

spad_status spad__kernel_builder_cost(spad__kernel_builder *builder, spad_cost_kind kind,
                                      spad_expr cost, spad_error *error) {
    spad_statement *statement;
    spad_status status = last_operation(&statement, builder, error);
    if (status == SPAD_OK && kind != SPAD_COST_CYCLES && kind != SPAD_COST_NS) {
        status = spad__fail(error, SPAD_ERR_ARGUMENT, "a cost is in cycles or in ns");
    }
    if (status == SPAD_OK) status = spad__check_expr(builder, cost, error);
    if (status == SPAD_OK) status = check_amount(builder, cost, 0, INT64_MAX, "a cost", error);
    if (status != SPAD_OK) return status;
    statement->cost_kind = kind;
    statement->cost = cost;
    return SPAD_OK;
}

spad_status spad__kernel_builder_latency(spad__kernel_builder *builder, spad_cost_kind kind,
                                         spad_amount latency, spad_error *error) {
    spad_statement *statement;
    spad_status status = last_operation(&statement, builder, error);
    if (status == SPAD_OK && kind != SPAD_COST_CYCLES && kind != SPAD_COST_NS) {
        status = spad__fail(error, SPAD_ERR_ARGUMENT, "a latency is in cycles or in ns");
    }
    if (status == SPAD_OK) status = spad__fold_amount(builder, &latency, error);
    if (status == SPAD_OK && latency.value < 0) {
        status = spad__fail(error, SPAD_ERR_ARGUMENT, "a latency is negative: %lld",
                            (long long)latency.value);
    }
    if (status != SPAD_OK) return status;
    statement->latency_kind = kind;
    statement->latency = latency;
    return SPAD_OK;
}

spad_status spad__kernel_builder_work(spad__kernel_builder *builder, spad_work work,
                                      spad_amount amount, spad_error *error) {
    spad_statement *statement;
    spad_status status = last_operation(&statement, builder, error);
    if (status == SPAD_OK) status = spad__fold_amount(builder, &amount, error);
    if (status != SPAD_OK) return status;
    if ((int)work <= (int)SPAD_WORK_MAC || work >= SPAD_WORKS) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "work per element is fma, exp, convert or reduce");
    }
    if (amount.value < 1) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "work of %lld per element: at least 1",
                          (long long)amount.value);
    }
    statement->work[work] = amount;
    return SPAD_OK;
}

/* ---- the other statements ---------------------------------------------------------- */

/* The forms of statements on sync objects. */
typedef struct form {
    spad_sync_kind kind;
    spad_sync_kind other; /* a second kind that is also fine */
    int64_t least;        /* of the amount */
    int64_t most;
    bool needs_amount;
    bool on_unit;
    unsigned flags;
} form;

static const form forms[SPAD_STATEMENT_KINDS] = {
    [SPAD_STATEMENT_SYNC] = {.kind = SPAD_SYNC_BARRIER,
                             .other = SPAD_SYNC_BARRIER,
                             .least = 1,
                             .most = INT64_MAX},
    [SPAD_STATEMENT_ARRIVE] = {.kind = SPAD_SYNC_MBARRIER,
                               .other = SPAD_SYNC_BARRIER,
                               .least = 1,
                               .most = INT64_MAX,
                               .on_unit = true,
                               .flags = SPAD_SYNC_RELAXED | SPAD_SYNC_DROP | SPAD_BY_ONE},
    [SPAD_STATEMENT_SIGNAL] = {.kind = SPAD_SYNC_COUNTER,
                               .other = SPAD_SYNC_COUNTER,
                               .least = 1,
                               .most = INT64_MAX,
                               .on_unit = true,
                               .flags = SPAD_SYNC_RELAXED},
    [SPAD_STATEMENT_WAIT_VALUE] = {.kind = SPAD_SYNC_COUNTER,
                                   .other = SPAD_SYNC_COUNTER,
                                   .most = INT64_MAX,
                                   .needs_amount = true,
                                   .on_unit = true,
                                   .flags = SPAD_SYNC_RELAXED},
    [SPAD_STATEMENT_TAKE] = {.kind = SPAD_SYNC_COUNTER,
                             .other = SPAD_SYNC_COUNTER,
                             .least = 1,
                             .most = INT64_MAX,
                             .on_unit = true,
                             .flags = SPAD_SYNC_RELAXED},
    [SPAD_STATEMENT_INIT] = {.kind = SPAD_SYNC_MBARRIER,
                             .other = SPAD_SYNC_MBARRIER,
                             .least = 1,
                             .most = INT64_MAX},
    [SPAD_STATEMENT_EXPECT] = {.kind = SPAD_SYNC_MBARRIER,
                               .other = SPAD_SYNC_MBARRIER,
                               .most = INT64_MAX,
                               .needs_amount = true,
                               .flags = SPAD_SYNC_RELAXED},
    [SPAD_STATEMENT_WAIT_PARITY] = {.kind = SPAD_SYNC_MBARRIER,
                                    .other = SPAD_SYNC_MBARRIER,
                                    .most = 1,
                                    .needs_amount = true,
                                    .flags = SPAD_SYNC_RELAXED | SPAD_SYNC_NEXT | SPAD_BY_ONE},
    [SPAD_STATEMENT_INVALIDATE] = {.kind = SPAD_SYNC_MBARRIER, .other = SPAD_SYNC_MBARRIER},
    [SPAD_STATEMENT_COMMIT] = {.kind = SPAD_SYNC_GROUP, .other = SPAD_SYNC_GROUP},
    [SPAD_STATEMENT_WAIT_GROUP] = {.kind = SPAD_SYNC_GROUP,
                                   .other = SPAD_SYNC_GROUP,
                                   .most = INT64_MAX,
                                   .needs_amount = true,
                                   .flags = SPAD_SYNC_READS},
};

/* The clauses of a statement are those that its kind may have. */
static spad_status check_clauses(const spad_statement *row, const spad_kernel_sync *sync,
                                 spad_error *error) {
    const form *f = &forms[row->kind];
    const bool plain = sync->kind == SPAD_SYNC_BARRIER; /* an arrive without extras */
    const unsigned flags = plain ? 0 : f->flags;
    const struct {
        const char *word;
        bool given;
        bool fits;
    } clauses[] = {
        {"by", row->amount != 0, f->most > 0 && (row->flags & SPAD_SYNC_NEXT) == 0},
        {"next", (row->flags & SPAD_SYNC_NEXT) != 0, (flags & SPAD_SYNC_NEXT) != 0},
        {"expect", row->expect != 0, row->kind == SPAD_STATEMENT_ARRIVE && !plain},
        {"on", row->unit >= 0, f->on_unit && !plain},
        {"relaxed", (row->flags & SPAD_SYNC_RELAXED) != 0, (flags & SPAD_SYNC_RELAXED) != 0},
        {"drop", (row->flags & SPAD_SYNC_DROP) != 0, (flags & SPAD_SYNC_DROP) != 0},
        {"reads", (row->flags & SPAD_SYNC_READS) != 0, (flags & SPAD_SYNC_READS) != 0},
        {"elected", (row->flags & SPAD_BY_ONE) != 0, (flags & SPAD_BY_ONE) != 0},
    };
    for (size_t i = 0; i < sizeof clauses / sizeof clauses[0]; i++) {
        if (!clauses[i].given || clauses[i].fits) continue;
        return spad__fail(error, SPAD_ERR_ARGUMENT, "'%s %s' has no '%s'",
                          spad_statement_kind_name(row->kind), sync->name, clauses[i].word);
    }
    const bool next = (row->flags & SPAD_SYNC_NEXT) != 0;
    if (row->amount == 0 && f->needs_amount && !next) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "'%s %s' needs an amount: by and a number",
                          spad_statement_kind_name(row->kind), sync->name);
    }
    return SPAD_OK;
}

static spad_status check_sync(spad__kernel_builder *builder, spad_statement *row,
                              spad_error *error) {
    const form *f = &forms[row->kind];
    const bool parity = row->kind == SPAD_STATEMENT_WAIT_PARITY;
    const spad_kernel_sync *sync;
    spad_status status = find_sync(&sync, builder->kernel, row->item, f->kind, f->other, error);
    if (status == SPAD_OK) {
        status = keep_index(builder, "array", sync->name, sync->dims, row->index, row->index_count,
                            &row->index, error);
    }
    if (status == SPAD_OK) status = check_clauses(row, sync, error);
    if (status == SPAD_OK) {
        status = check_amount(builder, row->amount, f->least, f->most,
                              parity ? "a parity" : "an amount", error);
    }
    if (status == SPAD_OK) {
        status = check_amount(builder, row->expect, 0, INT64_MAX, "an expectation", error);
    }
    return status;
}

static spad_status check_tile(spad__kernel_builder *builder, spad_statement *row,
                              spad_error *error) {
    const spad_status status = spad__check_visible(builder, row->item, error);
    if (status != SPAD_OK) return status;
    const spad_kernel_tensor *tensor = &builder->kernel->tensors.items[row->item];
    const char *word = spad_statement_kind_name(row->kind);
    const bool heap_free = tensor->mode == SPAD_MODE_HEAP && row->kind == SPAD_STATEMENT_FREE;
    if (tensor->mode == SPAD_MODE_STACK || tensor->mode == SPAD_MODE_ALIAS ||
        (tensor->mode == SPAD_MODE_HEAP && !heap_free)) {
        return spad__fail(
            error, SPAD_ERR_ARGUMENT,
            "'%s %s': this statement cannot control the lifetime of a tensor that is %s", word,
            tensor->name, spad_mode_name(tensor->mode));
    }
    if (row->index_count == 0) return SPAD_OK; /* all tiles */
    if (heap_free) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a heap tensor is freed as a whole");
    }
    return keep_index(builder, "tensor", tensor->name, tensor->blocks, row->index, row->index_count,
                      &row->index, error);
}

/* Leaves what the last kinds use: the unit of a drain. */
static void clear(spad_statement *row) {
    const int64_t unit = row->kind == SPAD_STATEMENT_DRAIN ? row->unit : -1;
    *row = spad__statement_of(row->kind, -1);
    row->unit = unit;
}

static spad_status check_advance(spad__kernel_builder *builder, spad_statement *row,
                                 spad_error *error) {
    const spad_kernel *kernel = builder->kernel;
    const spad_expr amount = row->amount;
    if (row->item < 0 || (size_t)row->item >= kernel->cursors.count) {
        return spad__fail(error, SPAD_ERR_UNKNOWN, "no such cursor");
    }
    const spad_kernel_cursor *cursor = &kernel->cursors.items[row->item];
    if (!spad__is_visible(builder, cursor->stage, SPAD__SYMBOL_STAGE, row->item)) {
        return spad__fail(error, SPAD_ERR_UNKNOWN,
                          "the block that declares the cursor '%s' is closed", cursor->stage);
    }
    if (cursor->agent != builder->agent) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "'%s' is a cursor of the main program, and every agent has its own "
                          "place: declare a cursor in the agent",
                          cursor->stage);
    }
    *row = spad__statement_of(row->kind, row->item);
    row->amount = amount;
    if (amount == 0) return spad__kernel_builder_number(&row->amount, builder, 1, error);
    spad_amount by = {.expr = amount};
    const spad_status status = spad__fold_amount(builder, &by, error);
    if (status != SPAD_OK || by.value >= 0) return status;
    return spad__fail(error, SPAD_ERR_ARGUMENT, "a cursor advances by %lld; it goes forward",
                      (long long)by.value);
}

/* A break leaves conditions on its way, and nothing else. */
static spad_status check_break(const spad__kernel_builder *builder, spad_error *error) {
    if (builder->loop < 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a break without a loop around it");
    }
    if (builder->kernel->loops.items[builder->loop].parallel) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "the iterations of a parallel loop do not depend on each other, and a "
                          "break would end those after it");
    }
    const size_t loop = builder->kernel->loops.items[builder->loop].statement;
    for (size_t i = 0; i < builder->blocks.count; i++) {
        const size_t around = builder->blocks.items[i].statement;
        if (around > loop &&
            builder->kernel->statements.items[around].kind == SPAD_STATEMENT_SCOPE) {
            return spad__fail(error, SPAD_ERR_ARGUMENT, "a break would leave an open scope");
        }
    }
    return SPAD_OK;
}

/* A fence between threads is before or after they meet; others are neither. */
static spad_status check_fence_statement(spad__kernel_builder *builder, spad_statement *row,
                                         spad_error *error) {
    const spad_target *target = builder->kernel->target;
    const int64_t fence = row->fence;
    const unsigned when = row->flags & (SPAD_FENCE_BEFORE | SPAD_FENCE_AFTER);
    if (fence < -1 || fence >= (int64_t)target->fence_count) {
        return spad__fail(error, SPAD_ERR_UNKNOWN, "no such fence");
    }
    const bool threads = fence >= 0 && target->fences[fence].kind == SPAD_FENCE_THREADS;
    if (threads && when != SPAD_FENCE_BEFORE && when != SPAD_FENCE_AFTER) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "fence '%s' is 'before' or 'after'",
                          target->fences[fence].name);
    }
    if (!threads && when != 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "this fence has no 'before' and no 'after'");
    }
    clear(row);
    row->fence = fence;
    row->flags = when;
    return SPAD_OK;
}

static spad_status check_statement(spad__kernel_builder *builder, spad_statement *row,
                                   spad_error *error) {
    const int64_t units = (int64_t)builder->kernel->units.count;
    if (row->unit < -1 || row->unit >= units) {
        return spad__fail(error, SPAD_ERR_UNKNOWN, "no such unit");
    }
    switch (row->kind) {
    case SPAD_STATEMENT_ADVANCE: return check_advance(builder, row, error);
    case SPAD_STATEMENT_BREAK: clear(row); return check_break(builder, error);
    case SPAD_STATEMENT_ALLOC:
    case SPAD_STATEMENT_FREE: return check_tile(builder, row, error);
    case SPAD_STATEMENT_DRAIN: clear(row); return SPAD_OK;
    case SPAD_STATEMENT_FENCE: return check_fence_statement(builder, row, error);
    case SPAD_STATEMENT_SECTION:
        clear(row);
        for (size_t i = 0; i < builder->blocks.count; i++) {
            const size_t around = builder->blocks.items[i].statement;
            if (builder->kernel->statements.items[around].kind == SPAD_STATEMENT_SCOPE) {
                return SPAD_OK;
            }
        }
        return spad__fail(error, SPAD_ERR_NO_SCOPE, "'next section' must be in a scope");
    default:
        if ((unsigned)row->kind < SPAD_STATEMENT_KINDS && row->kind >= SPAD_STATEMENT_SYNC) {
            return check_sync(builder, row, error);
        }
        return spad__fail(error, SPAD_ERR_ARGUMENT, "this kind of statement has a call of its own");
    }
}

/* Amounts that may be left out. */
static spad_status fill_amount(spad__kernel_builder *builder, spad_statement *row,
                               spad_error *error) {
    const bool counted = row->kind >= SPAD_STATEMENT_SYNC && row->kind < SPAD_STATEMENT_DRAIN &&
                         forms[row->kind].most > 1 && !forms[row->kind].needs_amount;
    if (row->amount != 0 || !counted) return SPAD_OK;
    const bool init = row->kind == SPAD_STATEMENT_INIT;
    const spad_amount count = builder->kernel->syncs.items[row->item].count;
    if (init && count.expr != 0) {
        row->amount = count.expr;
        return SPAD_OK;
    }
    return spad__kernel_builder_number(&row->amount, builder, init ? count.value : 1, error);
}

spad_status spad__kernel_builder_statement(spad__kernel_builder *builder,
                                           const spad_statement *statement, spad_error *error) {
    spad_statement row = *statement;
    const spad__expr_mark mark = spad__mark_exprs(builder->kernel);
    spad_status status = check_statement(builder, &row, error);
    if (status == SPAD_OK) status = fill_amount(builder, &row, error);
    if (status != SPAD_OK) return status;
    spad_statement *added = spad__new_statement(builder, row.kind);
    if (added == NULL) {
        spad__drop_exprs(builder->kernel, mark);
        return spad__fail_host_memory(error);
    }
    added->item = row.item;
    added->index_count = row.index_count;
    added->index = row.index;
    added->amount = row.amount;
    added->expect = row.expect;
    added->unit = row.unit;
    added->fence = row.fence;
    added->flags = row.flags;
    spad__add_statement(builder);
    if (row.kind >= SPAD_STATEMENT_SYNC) builder->kernel->is_explicit = true;
    return SPAD_OK;
}
