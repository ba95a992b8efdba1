/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of the builder: loops, the halves of an `if`, scopes and agents, from the call that opens
 * one to the call that ends it. builder_loop.c has loops whose bounds change.
 *
 * Each call checks, reserves room for all it adds, and then adds it, as in builder.c.
 */
#include <string.h>

#include "base/checked.h"
#include "base/text.h"
#include "kernel/kernel.h"

spad_statement *spad__new_statement(spad__kernel_builder *builder, spad_statement_kind kind) {
    spad_kernel *kernel = builder->kernel;
    if (!spad__array_reserve(&kernel->host, &kernel->statements, 1)) return NULL;
    const size_t depth = builder->blocks.count;
    spad_statement *statement = &kernel->statements.items[kernel->statements.count];
    *statement = spad__statement_of(kind, -1);
    statement->location = builder->location;
    statement->source = builder->source;
    statement->end = kernel->statements.count + 1;
    statement->parent = depth > 0 ? (int64_t)builder->blocks.items[depth - 1].statement : -1;
    statement->agent = builder->agent;
    statement->loop = builder->loop;
    statement->guarded = builder->guarded;
    statement->first_access = kernel->accesses.count;
    statement->first_completion = kernel->completions.count;
    return statement;
}

void spad__add_statement(spad__kernel_builder *builder) {
    if (builder->blocks.count == 0 && builder->kernel->agents.count > 1) {
        const size_t last = builder->kernel->statements.count;
        builder->agents_over = builder->kernel->statements.items[last].kind != SPAD_STATEMENT_AGENT;
    }
    builder->kernel->statements.count++;
}

void spad__open_block(spad__kernel_builder *builder, size_t symbols) {
    spad_kernel *kernel = builder->kernel;
    const size_t depth = builder->blocks.count;
    spad__add_statement(builder);
    builder->blocks.items[builder->blocks.count++] =
        (spad__block){.statement = kernel->statements.count - 1,
                      .symbols = symbols,
                      .loop = builder->loop,
                      .guarded = builder->guarded};
    if (depth + 1 > kernel->blocks_deep) kernel->blocks_deep = depth + 1;
}

spad_status spad__new_block(spad_statement **out, spad__kernel_builder *builder,
                            spad_statement_kind kind, spad_error *error) {
    if (builder->blocks.count >= SPAD__BLOCKS_DEEP) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "blocks are nested too deep: at most %d",
                          SPAD__BLOCKS_DEEP);
    }
    *out = spad__array_reserve(&builder->host, &builder->blocks, 1)
               ? spad__new_statement(builder, kind)
               : NULL;
    return *out != NULL ? SPAD_OK : spad__fail_host_memory(error);
}

/* Is there a parameter in it that may have any value? */
static bool depends_on_any(const spad_kernel *kernel, spad_expr expr) {
    for (size_t i = 0; i < kernel->params.count; i++) {
        if (kernel->params.items[i].any &&
            spad__expr_has(kernel, expr, SPAD_EXPR_PARAM, (int64_t)i)) {
            return true;
        }
    }
    return false;
}

spad_status spad__kernel_builder_for(spad_expr *variable, spad__kernel_builder *builder,
                                     const char *name, spad_amount begin, spad_amount end,
                                     bool parallel, spad_error *error) {
    spad_kernel *kernel = builder->kernel;
    *variable = 0;
    int64_t trips;
    spad_status status = spad__fold_amount(builder, &begin, error);
    if (status == SPAD_OK) status = spad__fold_amount(builder, &end, error);
    if (status != SPAD_OK) return status;
    if (end.value < begin.value &&
        (depends_on_any(kernel, begin.expr) || depends_on_any(kernel, end.expr))) {
        end.value = begin.value; /* the data of this run ask for no rounds */
    }
    if (end.value < begin.value) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "the loop runs from %lld down to %lld",
                          (long long)begin.value, (long long)end.value);
    }
    if (!spad__sub(end.value, begin.value, &trips)) {
        return spad__fail(error, SPAD_ERR_OVERFLOW,
                          "the trip count from %lld to %lld does not "
                          "fit 64 bits",
                          (long long)begin.value, (long long)end.value);
    }
    if (builder->loop_depth >= SPAD__LOOPS_DEEP) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "loops are nested too deep: at most %d",
                          SPAD__LOOPS_DEEP);
    }
    spad_statement *statement;
    status = spad__new_block(&statement, builder, SPAD_STATEMENT_FOR, error);
    if (status != SPAD_OK) return status;
    if (!spad__array_reserve(&kernel->host, &kernel->loops, 1)) {
        return spad__fail_host_memory(error);
    }
    spad_kernel_loop loop = {.begin = begin,
                             .end = end,
                             .step = {.value = 1},
                             .parallel = parallel,
                             .outer = builder->loop,
                             .statement = kernel->statements.count,
                             .location = builder->location};
    const size_t symbols = builder->symbols.count;
    const int64_t number = (int64_t)kernel->loops.count;
    status = spad__add_symbol(builder, name, SPAD__SYMBOL_LOOP, number, &loop.name, error);
    if (status != SPAD_OK) return status;
    kernel->loops.items[kernel->loops.count++] = loop;
    status = spad__kernel_builder_name(variable, builder, name, error);
    if (status != SPAD_OK) {
        kernel->loops.count--;
        spad__drop_symbols(builder, symbols);
        return status;
    }
    statement->item = number;
    spad__open_block(builder, symbols);
    builder->loop = number;
    builder->loop_depth++;
    builder->guarded = builder->guarded || trips == 0;
    return SPAD_OK;
}

spad_status spad__kernel_builder_if(spad__kernel_builder *builder,
                                    const spad_comparison *comparisons, size_t count,
                                    spad_error *error) {
    for (size_t i = 0; i < count; i++) {
        spad_status status = spad__check_expr(builder, comparisons[i].left, error);
        if (status == SPAD_OK) status = spad__check_expr(builder, comparisons[i].right, error);
        if (status != SPAD_OK) return status;
        if ((unsigned)comparisons[i].relation >= SPAD_RELATIONS) {
            return spad__fail(error, SPAD_ERR_ARGUMENT, "no such relation");
        }
    }
    if (count == 0) return spad__fail(error, SPAD_ERR_ARGUMENT, "an if needs a comparison");
    spad_comparison *kept = spad__arena_array(&builder->kernel->arena, count, sizeof *kept);
    if (kept == NULL) return spad__fail_host_memory(error);
    memcpy(kept, comparisons, count * sizeof *kept);
    kept[0].alternative = false;
    spad_statement *statement;
    const spad_status status = spad__new_block(&statement, builder, SPAD_STATEMENT_IF, error);
    if (status != SPAD_OK) return status;
    statement->comparisons = kept;
    statement->comparison_count = count;
    spad__open_block(builder, builder->symbols.count);
    builder->guarded = true;
    return SPAD_OK;
}

spad_status spad__kernel_builder_else(spad__kernel_builder *builder, spad_error *error) {
    spad_kernel *kernel = builder->kernel;
    const size_t depth = builder->blocks.count;
    const size_t around = depth > 0 ? builder->blocks.items[depth - 1].statement : 0;
    if (depth == 0 || kernel->statements.items[around].kind != SPAD_STATEMENT_IF ||
        builder->blocks.items[depth - 1].of_loop || kernel->statements.items[around].item >= 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "an else without its if");
    }
    spad_statement *statement;
    const spad_status status = spad__new_block(&statement, builder, SPAD_STATEMENT_ELSE, error);
    if (status != SPAD_OK) return status;
    spad__drop_symbols(builder, builder->blocks.items[depth - 1].symbols);
    kernel->statements.items[around].item = (int64_t)kernel->statements.count;
    spad__open_block(builder, builder->symbols.count);
    return SPAD_OK;
}

static spad_status refuse_agents_and_scopes(spad_error *error) {
    return spad__fail(error, SPAD_ERR_ARGUMENT,
                      "a kernel has either agents or scopes: agents run concurrently, and the "
                      "order of scoped allocations would be "
                      "undefined; use auto, ring, mod or at");
}

spad_status spad__kernel_builder_scope(spad__kernel_builder *builder, const char *name,
                                       spad_amount sections, spad_error *error) {
    spad_kernel *kernel = builder->kernel;
    spad_status status = spad__fold_amount(builder, &sections, error);
    if (status != SPAD_OK) return status;
    if (sections.value < 1) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "%lld sections; a scope has at least 1",
                          (long long)sections.value);
    }
    if (kernel->agents.count > 1) return refuse_agents_and_scopes(error);
    status = spad__check_name(name, error);
    if (status != SPAD_OK) return status;
    const char *kept = spad__arena_copy(&kernel->arena, name, strlen(name));
    if (kept == NULL) return spad__fail_host_memory(error);
    const spad__expr_mark mark = spad__mark_exprs(kernel);
    spad_expr amount = sections.expr;
    if (amount == 0) status = spad__kernel_builder_number(&amount, builder, sections.value, error);
    if (status != SPAD_OK) return status;
    spad_statement *statement;
    status = spad__new_block(&statement, builder, SPAD_STATEMENT_SCOPE, error);
    if (status != SPAD_OK) {
        spad__drop_exprs(kernel, mark);
        return status;
    }
    statement->name = kept;
    statement->amount = amount;
    spad__open_block(builder, builder->symbols.count);
    kernel->is_scoped = true;
    return SPAD_OK;
}

spad_status spad__kernel_builder_agent(spad__kernel_builder *builder, const char *name,
                                       spad_error *error) {
    spad_kernel *kernel = builder->kernel;
    spad_status status = spad__need_top(builder, "an agent", error);
    if (status != SPAD_OK) return status;
    if (kernel->is_scoped) return refuse_agents_and_scopes(error);
    if (builder->agents_over) {
        return spad__fail(
            error, SPAD_ERR_ARGUMENT,
            "agents must be adjacent: a statement of the main program is between them");
    }
    spad_statement *statement;
    status = spad__new_block(&statement, builder, SPAD_STATEMENT_AGENT, error);
    if (status != SPAD_OK) return status;
    if (!spad__array_reserve(&kernel->host, &kernel->agents, 1)) {
        return spad__fail_host_memory(error);
    }
    spad_kernel_agent agent = {.statement = kernel->statements.count,
                               .location = builder->location};
    const int64_t number = (int64_t)kernel->agents.count;
    status = spad__add_symbol(builder, name, SPAD__SYMBOL_AGENT, number, &agent.name, error);
    if (status != SPAD_OK) return status;
    kernel->agents.items[kernel->agents.count++] = agent;
    kernel->is_explicit = true;
    statement->item = number;
    statement->name = agent.name;
    statement->agent = number;
    spad__open_block(builder, builder->symbols.count);
    builder->agent = number;
    return SPAD_OK;
}

/* Whether threads may be stated here: of an agent directly after its begin, of the main program
 * once and before the agents. */
static spad_status check_threads_place(const spad__kernel_builder *builder, spad_error *error) {
    const spad_kernel *kernel = builder->kernel;
    if (builder->agent > 0) {
        const size_t last = kernel->statements.count - 1;
        if (kernel->statements.items[last].kind == SPAD_STATEMENT_AGENT) return SPAD_OK;
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "threads are stated directly after the begin of an agent");
    }
    const spad_status status = spad__need_top(builder, "the threads of the main program", error);
    if (status != SPAD_OK) return status;
    if (kernel->agents.count > 1) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "the threads of the main program are stated before the agents");
    }
    if (kernel->agents.items[0].threads.value != 0) {
        return spad__fail(error, SPAD_ERR_NAME, "the threads of the main program are stated twice");
    }
    return SPAD_OK;
}

spad_status spad__kernel_builder_threads(spad__kernel_builder *builder, spad_amount threads,
                                         spad_amount registers, spad_error *error) {
    spad_kernel *kernel = builder->kernel;
    spad_status status = check_threads_place(builder, error);
    if (status == SPAD_OK) status = spad__fold_amount(builder, &threads, error);
    if (status == SPAD_OK) status = spad__fold_amount(builder, &registers, error);
    if (status != SPAD_OK) return status;
    spad_kernel_agent *agent = &kernel->agents.items[builder->agent];
    const bool stated = builder->agent == 0 || threads.expr != 0 || threads.value != 0;
    const bool limited = registers.expr != 0 || registers.value != 0;
    if ((stated && threads.value < 1) || (limited && registers.value < 1)) {
        return spad__fail(
            error, SPAD_ERR_ARGUMENT, "'%s' has %lld %s; at least 1", agent->name,
            (long long)(stated && threads.value < 1 ? threads.value : registers.value),
            stated && threads.value < 1 ? "threads" : "registers");
    }
    agent->threads = threads;
    agent->registers = registers;
    if (builder->agent == 0) agent->location = builder->location;
    return SPAD_OK;
}

spad_status spad__kernel_builder_end(spad__kernel_builder *builder, spad_error *error) {
    spad_kernel *kernel = builder->kernel;
    if (builder->blocks.count == 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "there is no open block to end");
    }
    spad_statement_kind kind;
    bool more;
    do { /* an else ends together with its if, and what stands for the bounds of a loop with it */
        const spad__block block = builder->blocks.items[--builder->blocks.count];
        spad_statement *statement = &kernel->statements.items[block.statement];
        kind = statement->kind;
        statement->end = kernel->statements.count;
        if (kind == SPAD_STATEMENT_SCOPE) {
            for (size_t i = block.symbols; i < builder->symbols.count; i++) {
                builder->symbols.items[i].closed = true;
            }
        } else {
            spad__drop_symbols(builder, block.symbols);
        }
        more = kind == SPAD_STATEMENT_ELSE || block.of_loop;
        if (kind == SPAD_STATEMENT_FOR) builder->loop_depth--;
        if (kind == SPAD_STATEMENT_AGENT) builder->agent = 0;
        builder->loop = block.loop;
        builder->guarded = block.guarded;
    } while (more);
    return SPAD_OK;
}
