/* SPDX-License-Identifier: Apache-2.0
 *
 * A finished kernel: its tables by number, and its end.
 */
#include "kernel/kernel.h"
#include "spad/experimental/kernel_rows.h"

const char *spad_statement_kind_name(spad_statement_kind kind) {
    static const char *const words[SPAD_STATEMENT_KINDS] = {
        [SPAD_STATEMENT_TENSOR] = "tensor",
        [SPAD_STATEMENT_FOR] = "for",
        [SPAD_STATEMENT_IF] = "if",
        [SPAD_STATEMENT_ELSE] = "else",
        [SPAD_STATEMENT_SCOPE] = "scope",
        [SPAD_STATEMENT_SECTION] = "next section",
        [SPAD_STATEMENT_AGENT] = "agent",
        [SPAD_STATEMENT_OPERATION] = "operation",
        [SPAD_STATEMENT_ALLOC] = "alloc",
        [SPAD_STATEMENT_FREE] = "free",
        [SPAD_STATEMENT_SYNC] = "sync",
        [SPAD_STATEMENT_ARRIVE] = "arrive",
        [SPAD_STATEMENT_SIGNAL] = "signal",
        [SPAD_STATEMENT_WAIT_VALUE] = "wait",
        [SPAD_STATEMENT_TAKE] = "take",
        [SPAD_STATEMENT_INIT] = "init",
        [SPAD_STATEMENT_EXPECT] = "expect",
        [SPAD_STATEMENT_WAIT_PARITY] = "wait",
        [SPAD_STATEMENT_INVALIDATE] = "invalidate",
        [SPAD_STATEMENT_COMMIT] = "commit",
        [SPAD_STATEMENT_WAIT_GROUP] = "wait",
        [SPAD_STATEMENT_DRAIN] = "drain",
        [SPAD_STATEMENT_FENCE] = "fence",
        [SPAD_STATEMENT_CURSOR] = "cursor",
        [SPAD_STATEMENT_ADVANCE] = "advance",
        [SPAD_STATEMENT_BREAK] = "break",
    };
    return (unsigned)kind < SPAD_STATEMENT_KINDS ? words[kind] : "?";
}

spad_statement spad__statement_of(spad_statement_kind kind, int64_t item) {
    return (spad_statement){.kind = kind,
                            .item = item,
                            .parent = -1,
                            .loop = -1,
                            .source = -1,
                            .unit = -1,
                            .engine = -1,
                            .group = -1,
                            .fence = -1};
}

bool spad__is_block(spad_statement_kind kind) {
    return kind == SPAD_STATEMENT_FOR || kind == SPAD_STATEMENT_IF || kind == SPAD_STATEMENT_ELSE ||
           kind == SPAD_STATEMENT_SCOPE || kind == SPAD_STATEMENT_AGENT;
}

/* ---- tables ------------------------------------------------------------------------ */

const char *spad_kernel_get_name(const spad_kernel *kernel) {
    return kernel->name;
}

const char *spad_kernel_get_about(const spad_kernel *kernel) {
    return kernel->about;
}

const char *spad__kernel_get_assumption(const spad_kernel *kernel) {
    return kernel->assumption;
}

const char *spad__kernel_get_compiler(const spad_kernel *kernel) {
    return kernel->compiler;
}

const char *spad__kernel_get_uncounted(const spad_kernel *kernel) {
    return kernel->uncounted;
}

const char *spad_kernel_get_file(const spad_kernel *kernel) {
    return kernel->file;
}

const spad_target *spad_kernel_get_target(const spad_kernel *kernel) {
    return kernel->target;
}

int64_t spad__kernel_get_grid(const spad_kernel *kernel) {
    return kernel->grid.value;
}

int64_t spad__kernel_get_cluster(const spad_kernel *kernel) {
    return kernel->cluster.value > 1 ? kernel->cluster.value : 1;
}

bool spad_kernel_is_implicit(const spad_kernel *kernel) {
    return !kernel->is_explicit;
}

#define TABLE(row, type, table)                                                    \
    size_t spad_kernel_##row##_count(const spad_kernel *kernel) {                  \
        return kernel->table.count;                                                \
    }                                                                              \
    const type *spad_kernel_get_##row(const spad_kernel *kernel, size_t number) {  \
        return number < kernel->table.count ? &kernel->table.items[number] : NULL; \
    }

TABLE(param, spad_kernel_param, params)
TABLE(tensor, spad_kernel_tensor, tensors)
TABLE(region, spad_kernel_region, regions)
TABLE(unit, spad_kernel_unit, units)
TABLE(sync, spad_kernel_sync, syncs)
TABLE(agent, spad_kernel_agent, agents)
TABLE(loop, spad_kernel_loop, loops)
TABLE(cursor, spad_kernel_cursor, cursors)
TABLE(unknown, spad_kernel_unknown, unknowns)
TABLE(source, spad_kernel_source, sources)
TABLE(statement, spad_statement, statements)

const spad_kernel_access *spad_kernel_get_access(const spad_kernel *kernel, size_t number) {
    return number < kernel->accesses.count ? &kernel->accesses.items[number] : NULL;
}

size_t spad__kernel_access_count(const spad_kernel *kernel) {
    return kernel->accesses.count;
}

const spad_kernel_completion *spad_kernel_get_completion(const spad_kernel *kernel, size_t number) {
    return number < kernel->completions.count ? &kernel->completions.items[number] : NULL;
}

size_t spad__loops_around(const spad_kernel *kernel, int64_t statement, int64_t *loops) {
    const int64_t inner = kernel->statements.items[statement].loop;
    size_t depth = 0;
    for (int64_t l = inner; l >= 0; l = kernel->loops.items[l].outer) depth++;
    size_t at = depth;
    for (int64_t l = inner; loops != NULL && l >= 0; l = kernel->loops.items[l].outer) {
        loops[--at] = l;
    }
    return depth;
}

void spad__fact_kernel(const spad_kernel *kernel, spad_location location, spad_error *error) {
    if (location.line == 0) return;
    spad__fact_location(error, kernel->file, location.line, location.column);
}

void spad__write_params(spad__out *out, const spad_kernel *kernel) {
    for (size_t i = 0; i < kernel->params.count; i++) {
        const spad_kernel_param *param = &kernel->params.items[i];
        spad__out_string(out, i == 0 ? " (" : ", ");
        spad__out_one_line(out, param->name);
        spad__out_format(out, " = %lld", (long long)param->value);
    }
    if (kernel->params.count > 0) spad__out_string(out, ")");
}

void spad__json_kernel(spad__json *json, const spad_kernel *kernel) {
    spad__json_key_string(json, "kernel", kernel->name);
    spad__json_key_string(json, "file", kernel->file);
    spad__json_key_string(json, "target", kernel->target->name);
    spad__json_key(json, "params");
    spad__json_open(json, '{');
    for (size_t i = 0; i < kernel->params.count; i++) {
        const spad_kernel_param *param = &kernel->params.items[i];
        spad__json_key_int(json, param->name, param->value);
    }
    spad__json_close(json, '}');
}

/* ---- end --------------------------------------------------------------------------- */

void spad_kernel_destroy(spad_kernel *kernel) {
    if (kernel == NULL) return;
    const spad_host host = kernel->host;
    spad__array_free(&host, &kernel->params);
    spad__array_free(&host, &kernel->tensors);
    spad__array_free(&host, &kernel->regions);
    spad__array_free(&host, &kernel->units);
    spad__array_free(&host, &kernel->syncs);
    spad__array_free(&host, &kernel->agents);
    spad__array_free(&host, &kernel->loops);
    spad__array_free(&host, &kernel->cursors);
    spad__array_free(&host, &kernel->unknowns);
    spad__array_free(&host, &kernel->sources);
    spad__array_free(&host, &kernel->programs);
    spad__array_free(&host, &kernel->faults);
    spad__array_free(&host, &kernel->statements);
    spad__array_free(&host, &kernel->accesses);
    spad__array_free(&host, &kernel->completions);
    spad__array_free(&host, &kernel->nodes);
    spad__array_free(&host, &kernel->exprs);
    spad__array_free(&host, &kernel->comments);
    spad__arena_free(&kernel->arena);
    spad__free(&host, kernel, sizeof *kernel);
}
