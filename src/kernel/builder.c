/* SPDX-License-Identifier: Apache-2.0
 *
 * The builder: its life, and plain declarations. Tensors are in builder_tensor.c, blocks in
 * builder_blocks.c, the other statements in builder_statement.c, expressions in expr.c. The reader
 * of kernel text (reader.c) makes kernels with these calls too, so the rules of a kernel are here
 * and nowhere else.
 *
 * Each call checks, reserves room for all it adds, and then adds it, so that a
 * failed call changes nothing that can be seen. O(1) amortised per thing added.
 */
#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "base/options.h"
#include "base/text.h"
#include "kernel/kernel.h"
#include "kernel/place.h"
#include "target/target.h"

/* ---- life -------------------------------------------------------------------------- */

static const char *keep_text(spad_kernel *kernel, const char *text) {
    return spad__arena_copy(&kernel->arena, text, strlen(text));
}

static bool keep_given(spad_kernel *kernel, spad__given *kept, const spad_define *given,
                       size_t count) {
    for (size_t i = 0; i < count; i++) {
        kept[i] = (spad__given){keep_text(kernel, given[i].name), given[i].value, false};
        if (kept[i].name == NULL) return false;
    }
    return true;
}

static bool keep_defines(spad__kernel_builder *builder, const spad_kernel_options *options) {
    if (!spad__array_reserve(&builder->host, &builder->defines, options->define_count) ||
        !spad__array_reserve(&builder->host, &builder->rings, options->ring_count)) {
        return false;
    }
    builder->defines.count = options->define_count;
    builder->rings.count = options->ring_count;
    return keep_given(builder->kernel, builder->defines.items, options->defines,
                      options->define_count) &&
           keep_given(builder->kernel, builder->rings.items, options->rings, options->ring_count);
}

/* The main program, and expression number 0, which stands for none. */
static bool add_first_rows(spad_kernel *kernel) {
    if (!spad__array_reserve(&kernel->host, &kernel->agents, 1) ||
        !spad__array_reserve(&kernel->host, &kernel->exprs, 1)) {
        return false;
    }
    kernel->agents.items[kernel->agents.count++] = (spad_kernel_agent){.name = "main"};
    kernel->exprs.items[kernel->exprs.count++] = (spad__expr){0};
    return true;
}

spad_status spad__kernel_builder_create(spad__kernel_builder **out, const char *name,
                                        const char *about, const spad_target *target,
                                        const spad_kernel_options *options, spad_error *error) {
    spad_kernel_options o;
    *out = NULL;
    spad_status status = SPAD__COPY_OPTIONS(&o, options, error);
    if (status != SPAD_OK) return status;
    if (o.target != NULL) target = o.target;
    if (target == NULL || target->space_count == 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a kernel needs a target with memory spaces");
    }
    status = spad__check_name(name, error);
    if (status != SPAD_OK) return status;
    const spad_host host = spad__host_or_default(o.host);
    spad__kernel_builder *builder = spad__new(&host, sizeof *builder);
    if (builder == NULL) return spad__fail_host_memory(error);
    builder->host = host;
    builder->loop = -1;
    builder->source = -1;
    spad_kernel *kernel = builder->kernel = spad__new(&host, sizeof *kernel);
    if (kernel != NULL) {
        kernel->host = kernel->arena.host = host;
        kernel->target = target;
        kernel->name = keep_text(kernel, name);
        kernel->about = keep_text(kernel, about != NULL ? about : "");
        kernel->assumption = "";
        kernel->undecided = "";
        kernel->uncounted = "";
        kernel->compiler = "";
    }
    if (kernel == NULL || kernel->name == NULL || kernel->about == NULL ||
        !add_first_rows(kernel) || !keep_defines(builder, &o)) {
        spad__kernel_builder_destroy(builder);
        return spad__fail_host_memory(error);
    }
    *out = builder;
    return SPAD_OK;
}

void spad__kernel_builder_destroy(spad__kernel_builder *builder) {
    if (builder == NULL) return;
    const spad_host host = builder->host;
    spad_kernel_destroy(builder->kernel);
    spad__array_free(&host, &builder->symbols);
    spad__array_free(&host, &builder->blocks);
    spad__array_free(&host, &builder->defines);
    spad__array_free(&host, &builder->rings);
    spad__index_free(&builder->symbol_index, &host);
    spad__free(&host, builder, sizeof *builder);
}

void spad__kernel_builder_at(spad__kernel_builder *builder, spad_location location) {
    builder->location = location;
}

/* ---- helpers ----------------------------------------------------------------------- */

spad_status spad__keep_amounts(spad__kernel_builder *builder, spad_amounts *list, int64_t least,
                               const char *what, spad_error *error) {
    if (list->count == 0) {
        list->items = NULL;
        return SPAD_OK;
    }
    if (list->count > SPAD_RANK_MAX) {
        return spad__fail(error, SPAD_ERR_SHAPE, "%zu dimensions are too many: at most %d",
                          list->count, SPAD_RANK_MAX);
    }
    spad_amount *kept = spad__arena_array(&builder->kernel->arena, list->count, sizeof *kept);
    if (kept == NULL) return spad__fail_host_memory(error);
    for (size_t i = 0; i < list->count; i++) {
        kept[i] = list->items[i];
        const spad_status status = spad__fold_amount(builder, &kept[i], error);
        if (status != SPAD_OK) return status;
        if (kept[i].value < least) {
            return spad__fail(error, SPAD_ERR_SHAPE, "%s of %lld; it must be at least %lld", what,
                              (long long)kept[i].value, (long long)least);
        }
    }
    list->items = kept;
    return SPAD_OK;
}

static bool multiply_amounts(spad_amounts list, int64_t *product) {
    *product = 1;
    for (size_t i = 0; i < list.count; i++) {
        if (!spad__mul(*product, list.items[i].value, product)) return false;
    }
    return true;
}

/* ---- declarations ------------------------------------------------------------------ */

spad_status spad__need_top(const spad__kernel_builder *builder, const char *what,
                           spad_error *error) {
    if (builder->blocks.count == 0) return SPAD_OK;
    return spad__fail(error, SPAD_ERR_ARGUMENT,
                      "%s is declared outside of all blocks, at the top of the kernel", what);
}

spad_status spad__kernel_builder_param(spad_expr *out, spad__kernel_builder *builder,
                                       const char *name, spad_amount preset, spad_error *error) {
    spad_kernel *kernel = builder->kernel;
    *out = 0;
    spad_status status = spad__need_top(builder, "a parameter", error);
    if (status == SPAD_OK) status = spad__fold_amount(builder, &preset, error);
    if (status != SPAD_OK) return status;
    if (!spad__array_reserve(&kernel->host, &kernel->params, 1)) {
        return spad__fail_host_memory(error);
    }
    spad_kernel_param param = {
        .preset = preset, .value = preset.value, .location = builder->location};
    const int64_t number = (int64_t)kernel->params.count;
    const size_t symbols = builder->symbols.count;
    status = spad__add_symbol(builder, name, SPAD__SYMBOL_PARAM, number, &param.name, error);
    if (status != SPAD_OK) return status;
    for (size_t i = 0; i < builder->defines.count; i++) { /* the last one counts */
        if (strcmp(builder->defines.items[i].name, name) != 0) continue;
        param.value = builder->defines.items[i].value;
        builder->defines.items[i].used = true;
    }
    kernel->params.items[kernel->params.count++] = param;
    status = spad__kernel_builder_name(out, builder, name, error);
    if (status == SPAD_OK) return SPAD_OK;
    kernel->params.count--;
    spad__drop_symbols(builder, symbols);
    return status;
}

static spad_status find_param(spad_kernel_param **out, spad__kernel_builder *builder,
                              const char *name, spad_error *error) {
    *out = NULL;
    const spad__symbol *symbol = spad__find_symbol(builder, name);
    if (symbol == NULL || symbol->kind != SPAD__SYMBOL_PARAM) {
        return spad__fail_unknown(builder, "parameter", name, SPAD__SYMBOL_PARAM, error);
    }
    *out = &builder->kernel->params.items[symbol->number];
    return SPAD_OK;
}

spad_status spad__kernel_builder_fix(spad__kernel_builder *builder, const char *param,
                                     spad_error *error) {
    spad_kernel_param *found;
    const spad_status status = find_param(&found, builder, param, error);
    if (status != SPAD_OK) return status;
    spad__assert(found != NULL);
    if (found->value != found->preset.value) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "'%s' is fixed at %lld: the kernel was made for that value, not for %lld",
                          param, (long long)found->preset.value, (long long)found->value);
    }
    found->fixed = true;
    return SPAD_OK;
}

spad_status spad__kernel_builder_any(spad__kernel_builder *builder, const char *param,
                                     spad_error *error) {
    spad_kernel_param *found;
    const spad_status status = find_param(&found, builder, param, error);
    if (status != SPAD_OK) return status;
    spad__assert(found != NULL);
    found->any = true;
    return SPAD_OK;
}

/* Sets a text that a kernel has at most once. `what` names it in messages: "an assumption". */
static spad_status set_text(const char **out, spad__kernel_builder *builder, const char *what,
                            const char *text, spad_error *error) {
    const spad_status status = spad__need_top(builder, what, error);
    if (status != SPAD_OK) return status;
    if ((*out)[0] != '\0') {
        return spad__fail(error, SPAD_ERR_NAME,
                          "%s is stated a second time: a kernel states it once", what);
    }
    const char *kept = keep_text(builder->kernel, text);
    if (kept == NULL) return spad__fail_host_memory(error);
    *out = kept;
    return SPAD_OK;
}

spad_status spad__kernel_builder_assume(spad__kernel_builder *builder, const char *assumption,
                                        spad_error *error) {
    return set_text(&builder->kernel->assumption, builder, "an assumption", assumption, error);
}

spad_status spad__kernel_builder_undecided(spad__kernel_builder *builder, const char *why,
                                           spad_error *error) {
    return set_text(&builder->kernel->undecided, builder, "why nothing is proved", why, error);
}

spad_status spad__kernel_builder_fault(spad__kernel_builder *builder, const char *message,
                                       int64_t times, spad_error *error) {
    spad_kernel *kernel = builder->kernel;
    const spad_status status = spad__need_top(builder, "an error of the program", error);
    if (status != SPAD_OK) return status;
    if (message == NULL || message[0] == '\0' || times < 1)
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "an error has a text, and was seen once or more");
    const char *kept = keep_text(kernel, message);
    if (kept == NULL || !spad__array_reserve(&kernel->host, &kernel->faults, 1))
        return spad__fail_host_memory(error);
    kernel->faults.items[kernel->faults.count++] =
        (spad__kernel_fault){kept, times, builder->source, builder->location};
    return SPAD_OK;
}

spad_status spad__kernel_builder_uncounted(spad__kernel_builder *builder, const char *work,
                                           spad_error *error) {
    return set_text(&builder->kernel->uncounted, builder, "uncounted work", work, error);
}

spad_status spad__kernel_builder_compiler(spad__kernel_builder *builder, const char *compiler,
                                          spad_error *error) {
    const spad_status status =
        set_text(&builder->kernel->compiler, builder, "a compiler", compiler, error);
    if (status == SPAD_OK) builder->kernel->compiled = true;
    return status;
}

spad_status spad__kernel_builder_grid(spad__kernel_builder *builder, spad_amount blocks,
                                      spad_error *error) {
    spad_status status = spad__need_top(builder, "a grid", error);
    if (status == SPAD_OK) status = spad__fold_amount(builder, &blocks, error);
    if (status != SPAD_OK) return status;
    if (builder->kernel->grid.value != 0) {
        return spad__fail(error, SPAD_ERR_NAME, "a second grid: a kernel has one");
    }
    if (blocks.value < 1) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a grid of %lld blocks: it has at least one",
                          (long long)blocks.value);
    }
    builder->kernel->grid = blocks;
    return SPAD_OK;
}

spad_status spad__kernel_builder_cluster(spad__kernel_builder *builder, spad_amount blocks,
                                         spad_error *error) {
    spad_status status = spad__need_top(builder, "a cluster", error);
    if (status == SPAD_OK) status = spad__fold_amount(builder, &blocks, error);
    if (status != SPAD_OK) return status;
    if (builder->kernel->cluster.value != 0) {
        return spad__fail(error, SPAD_ERR_NAME, "a second cluster: a kernel has one");
    }
    if (blocks.value < 1 || blocks.value > SPAD_SPACES_MAX) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a cluster of %lld blocks: it has 1 to %d",
                          (long long)blocks.value, SPAD_SPACES_MAX);
    }
    builder->kernel->cluster = blocks;
    return SPAD_OK;
}

spad_status spad__kernel_builder_each_block(spad__kernel_builder *builder, spad_error *error) {
    spad_kernel *kernel = builder->kernel;
    spad_kernel_sync *sync =
        kernel->syncs.count > 0 ? &kernel->syncs.items[kernel->syncs.count - 1] : NULL;
    if (sync == NULL || sync->kind != SPAD_SYNC_MBARRIER) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "'each block' is only valid on mbarriers");
    }
    if (sync->dims.count == 0 || sync->dims.items[0].value != kernel->cluster.value) {
        return spad__fail(error, SPAD_ERR_SHAPE,
                          "'each block' needs a cluster that is declared above, and its number of "
                          "blocks as the first extent of '%s'",
                          sync->name);
    }
    sync->each_block = true;
    return SPAD_OK;
}

spad_status spad__kernel_builder_region(spad__kernel_builder *builder, size_t space,
                                        spad_amount lower, spad_amount upper,
                                        spad_stack_behaviour behaviour, spad_error *error) {
    spad_kernel *kernel = builder->kernel;
    spad_status status = spad__need_top(builder, "a region", error);
    if (status == SPAD_OK) status = spad__fold_amount(builder, &lower, error);
    if (status == SPAD_OK) status = spad__fold_amount(builder, &upper, error);
    if (status != SPAD_OK) return status;
    if (space >= kernel->target->space_count || (unsigned)behaviour > SPAD_STACK_LIBRARY_LATER) {
        return spad__fail(error, SPAD_ERR_UNKNOWN, "no such space or behaviour");
    }
    const int64_t usable = spad_space_get_usable(&kernel->target->spaces[space]);
    if (lower.value < 0 || lower.value > upper.value || upper.value > usable) {
        spad__fail(error, SPAD_ERR_BOUNDS,
                   "the region [%s, %s) is outside the %s usable bytes of '%s'",
                   spad__grouped(lower.value).text, spad__grouped(upper.value).text,
                   spad__grouped(usable).text, kernel->target->spaces[space].name);
        spad__fact_amounts(error, upper.value, usable, SPAD_NO_FACT);
        return SPAD_ERR_BOUNDS;
    }
    for (size_t i = 0; i < kernel->regions.count; i++) {
        if (kernel->regions.items[i].space != space) continue;
        return spad__fail(error, SPAD_ERR_NAME, "a second region of '%s'",
                          kernel->target->spaces[space].name);
    }
    if (!spad__array_reserve(&kernel->host, &kernel->regions, 1)) {
        return spad__fail_host_memory(error);
    }
    kernel->regions.items[kernel->regions.count++] =
        (spad_kernel_region){.space = space,
                             .lower = lower,
                             .upper = upper,
                             .behaviour = behaviour,
                             .location = builder->location};
    return SPAD_OK;
}

/* Units are written in front of all operations: one with the name of an engine that an operation
 * has run on would take that operation over. */
static spad_status check_not_engine(const spad_kernel *kernel, const char *name,
                                    spad_error *error) {
    size_t engine;
    if (name == NULL || spad__target_find_engine(&engine, kernel->target, name, NULL) != SPAD_OK) {
        return SPAD_OK;
    }
    for (size_t i = 0; i < kernel->statements.count; i++) {
        const spad_statement *s = &kernel->statements.items[i];
        if (s->kind != SPAD_STATEMENT_OPERATION || s->unit >= 0 || s->engine != (int64_t)engine) {
            continue;
        }
        spad__fail(error, SPAD_ERR_NAME,
                   "'%s' is the engine of an operation above: declare the unit before it", name);
        spad__fact_names(error, name, NULL);
        return SPAD_ERR_NAME;
    }
    return SPAD_OK;
}

spad_status spad__kernel_builder_unit(int64_t *out, spad__kernel_builder *builder, const char *name,
                                      size_t engine, spad_unit_order order, bool proxy,
                                      spad_error *error) {
    spad_kernel *kernel = builder->kernel;
    *out = -1;
    spad_status status = spad__need_top(builder, "a unit", error);
    if (status != SPAD_OK) return status;
    if (engine >= kernel->target->engine_count || (unsigned)order >= SPAD_UNIT_ORDERS) {
        return spad__fail(error, SPAD_ERR_UNKNOWN, "no such engine or order");
    }
    status = check_not_engine(kernel, name, error);
    if (status != SPAD_OK) return status;
    if (!spad__array_reserve(&kernel->host, &kernel->units, 1)) {
        return spad__fail_host_memory(error);
    }
    spad_kernel_unit unit = {.engine = engine,
                             .order = order,
                             .proxy = proxy,
                             .fence = -1,
                             .location = builder->location};
    const int64_t number = (int64_t)kernel->units.count;
    status = spad__add_symbol(builder, name, SPAD__SYMBOL_UNIT, number, &unit.name, error);
    if (status != SPAD_OK) return status;
    kernel->units.items[kernel->units.count++] = unit;
    kernel->is_explicit = true;
    *out = number;
    return SPAD_OK;
}

spad_status spad__kernel_builder_unit_fence(spad__kernel_builder *builder, int64_t unit,
                                            size_t fence, spad_error *error) {
    spad_kernel *kernel = builder->kernel;
    const spad_target *target = kernel->target;
    if (unit < 0 || (size_t)unit >= kernel->units.count || fence >= target->fence_count) {
        return spad__fail(error, SPAD_ERR_UNKNOWN, "no such unit or fence");
    }
    const spad_fence_rule *rule = &target->fences[fence];
    const spad_engine *engine = &target->engines[kernel->units.items[unit].engine];
    if (rule->kind == SPAD_FENCE_PROXY) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "'%s' is a proxy fence: a unit that needs it has `proxy`", rule->name);
    }
    if (rule->kind == SPAD_FENCE_INIT) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "'%s' is a fence for mbarriers, which no operation of a unit needs",
                          rule->name);
    }
    if (((engine->reads | engine->writes) & rule->spaces) == 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "engine '%s' does not reach the memory of fence '%s'", engine->name,
                          rule->name);
    }
    kernel->units.items[unit].fence = (int64_t)fence;
    return SPAD_OK;
}

spad_status spad__kernel_builder_sync(int64_t *out, spad__kernel_builder *builder,
                                      spad_sync_kind kind, const char *name, spad_amounts dims,
                                      spad_amount count, spad_error *error) {
    spad_kernel *kernel = builder->kernel;
    *out = -1;
    spad_status status = spad__need_top(builder, "a barrier, counter or group", error);
    if (status == SPAD_OK) status = spad__keep_amounts(builder, &dims, 1, "an extent", error);
    if (status == SPAD_OK) status = spad__fold_amount(builder, &count, error);
    if (status != SPAD_OK) return status;
    const bool counted = kind == SPAD_SYNC_BARRIER || kind == SPAD_SYNC_MBARRIER;
    spad_kernel_sync sync = {
        .kind = kind, .dims = dims, .count = count, .location = builder->location};
    if ((unsigned)kind >= SPAD_SYNC_KINDS || (kind == SPAD_SYNC_GROUP && dims.count > 0)) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "not a kind of synchronisation, or an array "
                          "of groups");
    }
    if (count.value < (counted ? 1 : 0)) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a count of %lld; it must be at least %d",
                          (long long)count.value, counted ? 1 : 0);
    }
    if (!multiply_amounts(dims, &sync.elements)) {
        return spad__fail(error, SPAD_ERR_OVERFLOW, "the number of objects does not fit 64 bits");
    }
    if (!spad__array_reserve(&kernel->host, &kernel->syncs, 1)) {
        return spad__fail_host_memory(error);
    }
    const int64_t number = (int64_t)kernel->syncs.count;
    status = spad__add_symbol(builder, name, SPAD__SYMBOL_SYNC, number, &sync.name, error);
    if (status != SPAD_OK) return status;
    kernel->syncs.items[kernel->syncs.count++] = sync;
    kernel->is_explicit = true;
    *out = number;
    return SPAD_OK;
}

spad_status spad__kernel_builder_sync_at(spad__kernel_builder *builder, int64_t number,
                                         spad_amount byte, spad_error *error) {
    spad_kernel *kernel = builder->kernel;
    size_t space;
    int64_t end;
    if (number < 0 || (size_t)number >= kernel->syncs.count ||
        kernel->syncs.items[number].kind != SPAD_SYNC_MBARRIER) {
        return spad__fail(error, SPAD_ERR_UNKNOWN, "no such mbarrier");
    }
    spad_kernel_sync *sync = &kernel->syncs.items[number];
    if (!spad__barrier_space(kernel, &space)) {
        return spad__fail(error, SPAD_ERR_UNKNOWN,
                          "target '%s' has no memory 'shared', where an mbarrier could be",
                          kernel->target->name);
    }
    const spad_status status = spad__fold_amount(builder, &byte, error);
    if (status != SPAD_OK) return status;
    if (byte.value < 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "an mbarrier at byte %lld; it starts at 0",
                          (long long)byte.value);
    }
    if (!spad__mul(sync->elements, SPAD_MBARRIER_BYTES, &end) ||
        !spad__add(end, byte.value, &end)) {
        return spad__fail(error, SPAD_ERR_OVERFLOW, "%lld mbarriers do not fit 64 bits",
                          (long long)sync->elements);
    }
    sync->placed = true;
    sync->byte = byte;
    return SPAD_OK;
}

enum { UNKNOWNS_MAX = 1 << 16 };

int64_t *spad__unknown_values(spad_kernel *kernel, size_t unknown) {
    union {
        const int64_t *kept;
        int64_t *items;
    } own = {.kept = kernel->unknowns.items[unknown].values};
    return own.items;
}

static spad_status check_unknown(const spad_kernel_unknown *row, const int64_t *values,
                                 size_t count, spad_error *error) {
    if (row->dims.count > 1 || row->elements > UNKNOWNS_MAX) {
        return spad__fail(error, SPAD_ERR_SHAPE,
                          "unknown values have one dimension at most, and no more than %d elements",
                          UNKNOWNS_MAX);
    }
    if (row->end.value <= row->least.value) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "no value is in %lld..%lld",
                          (long long)row->least.value, (long long)row->end.value);
    }
    if (count > (size_t)row->elements) {
        return spad__fail(error, SPAD_ERR_SHAPE, "%zu values are given, and there are %lld", count,
                          (long long)row->elements);
    }
    for (size_t i = 0; i < count; i++) {
        if (values[i] >= row->least.value && values[i] < row->end.value) continue;
        return spad__fail(error, SPAD_ERR_ARGUMENT, "%lld is not in %lld..%lld",
                          (long long)values[i], (long long)row->least.value,
                          (long long)row->end.value);
    }
    return SPAD_OK;
}

spad_status spad__kernel_builder_unknown(int64_t *out, spad__kernel_builder *builder,
                                         const char *name, spad_amounts dims, spad_amount least,
                                         spad_amount end, const int64_t *values, size_t value_count,
                                         spad_error *error) {
    spad_kernel *kernel = builder->kernel;
    *out = -1;
    spad_status status = spad__need_top(builder, "an unknown value", error);
    if (status == SPAD_OK) status = spad__keep_amounts(builder, &dims, 1, "an extent", error);
    if (status == SPAD_OK) status = spad__fold_amount(builder, &least, error);
    if (status == SPAD_OK) status = spad__fold_amount(builder, &end, error);
    if (status != SPAD_OK) return status;
    spad_kernel_unknown row = {
        .dims = dims, .least = least, .end = end, .elements = 1, .location = builder->location};
    if (dims.count > 0) row.elements = dims.items[0].value;
    status = check_unknown(&row, values, value_count, error);
    if (status != SPAD_OK) return status;
    int64_t *kept = spad__arena_array(&kernel->arena, (size_t)row.elements, sizeof *kept);
    if (kept == NULL || !spad__array_reserve(&kernel->host, &kernel->unknowns, 1)) {
        return spad__fail_host_memory(error);
    }
    for (size_t i = 0; i < (size_t)row.elements; i++) {
        kept[i] = i < value_count ? values[i] : least.value;
    }
    row.values = kept;
    const int64_t number = (int64_t)kernel->unknowns.count;
    status = spad__add_symbol(builder, name, SPAD__SYMBOL_UNKNOWN, number, &row.name, error);
    if (status != SPAD_OK) return status;
    kernel->unknowns.items[kernel->unknowns.count++] = row;
    *out = number;
    return SPAD_OK;
}
