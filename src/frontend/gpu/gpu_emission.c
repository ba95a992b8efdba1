/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel of the records, through its builder: units, barriers and buffers first, then the
 * statements of each stream, for the whole kernel or for an agent. See gpu_emission.h.
 */
#include "frontend/gpu/gpu_emission.h"
#include "target/target.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "frontend/gpu/buffer_scopes.h"
#include "frontend/gpu/kernel_expr.h"
#include "frontend/gpu/kernel_params.h"
#include "kernel/kernel.h"
#include "kernel/kernel_builder.h"
#include "spad/experimental/kernel_rows.h"

/* ---- declarations -------------------------------------------------------------------- */

static const char *const unit_names[] = {"", "cp", "tma", "wgmma", "tc5"};
static const char *const group_names[] = {"", "loads", "stores", "mmas"};

/* Rows of the kernel that all statements use. */
typedef struct spad__gpu_rows {
    int64_t units[SPAD__GPU_UNITS];
    int64_t groups[SPAD__GPU_GROUPS];
    int64_t agent_barrier; /* of the agents of a block; these barriers are -1 until they are made */
    int64_t warp_barrier;  /* of the warps of the main program */
    int64_t cluster_barrier; /* of the blocks of a cluster */
    int64_t fence;           /* of shared memory; -1: the chip has none */
    int64_t init_fence;      /* of mbarriers; -1: the chip has none */
} spad__gpu_rows;

static spad_status emit_units(spad__gpu *g, spad__gpu_rows *rows, spad_error *error) {
    static const struct {
        const char *engine;
        spad_unit_order order;
        bool proxy;
    } kinds[] = {{"", SPAD_UNIT_FREE, false},
                 {"copy", SPAD_UNIT_FREE, false},
                 {"copy", SPAD_UNIT_FREE, true},
                 {"tensor", SPAD_UNIT_SAME, true},
                 {"tensor", SPAD_UNIT_SAME, true}};
    const spad_amount none = {0};
    const spad_amounts no_dims = {0};
    bool units[SPAD__GPU_UNITS] = {false}, groups[SPAD__GPU_GROUPS] = {false};
    for (size_t i = 0; i < g->records.all.count; i++) {
        units[g->records.all.items[i].unit] = true;
        groups[g->records.all.items[i].group] = true;
    }
    for (size_t i = 1; i < SPAD__GPU_UNITS; i++) {
        size_t engine;
        rows->units[i] = -1;
        if (!units[i]) continue;
        SPAD__GPU_TRY(spad__target_find_engine(&engine, g->target, kinds[i].engine, error));
        SPAD__GPU_TRY(spad__kernel_builder_unit(&rows->units[i], g->emission.builder, unit_names[i],
                                                engine, kinds[i].order, kinds[i].proxy, error));
    }
    for (size_t i = 1; i < SPAD__GPU_GROUPS; i++) {
        if (!groups[i]) continue;
        SPAD__GPU_TRY(spad__kernel_builder_sync(&rows->groups[i], g->emission.builder,
                                                SPAD_SYNC_GROUP, group_names[i], no_dims, none,
                                                error));
    }
    return SPAD_OK;
}

/* A barrier of this name, for each block of a cluster where the kernel has several. */
static spad_status emit_barrier(spad__gpu *g, const char *name, int64_t count, int64_t *row,
                                spad_error *error) {
    const spad_amount blocks = {.value = g->cluster.count}, all = {.value = count};
    const spad_amounts dims = {g->cluster.count > 1 ? 1 : 0, &blocks};
    return spad__kernel_builder_sync(row, g->emission.builder, SPAD_SYNC_BARRIER, name, dims, all,
                                     error);
}

/* The barriers of all agents of a block, and of all blocks. */
static spad_status emit_agent_barriers(spad__gpu *g, spad__gpu_rows *rows, spad_error *error) {
    const spad_amount blocks = {.value = g->cluster.count};
    const spad_amounts no_dims = {0};
    if (g->records.partitioned > (g->cluster.count > 1 ? 0 : 1)) {
        SPAD__GPU_TRY(
            emit_barrier(g, "join", (int64_t)g->records.agents.count, &rows->agent_barrier, error));
    }
    if (g->cluster.count < 2) return SPAD_OK;
    SPAD__GPU_TRY(spad__kernel_builder_cluster(g->emission.builder, blocks, error));
    return spad__kernel_builder_sync(&rows->cluster_barrier, g->emission.builder, SPAD_SYNC_BARRIER,
                                     "cluster", no_dims, blocks, error);
}

/* The barrier of the warps of a stream: one agent takes part in it. */
static spad_status emit_warp_barrier(spad__gpu *g, spad__gpu_rows *rows, int stream,
                                     spad_error *error) {
    const int agent = stream - SPAD__STREAM_DEFAULT;
    int64_t *row = agent < 0 ? &rows->warp_barrier : &g->records.agents.items[agent].barrier;
    char name[SPAD__GPU_NAME] = "meet";
    if (*row >= 0) return SPAD_OK;
    if (agent == 0) strcpy(name, "meet_default");
    if (agent > 0) snprintf(name, sizeof name, "meet_partition%d", agent - 1);
    if (!spad__gpu_unique(g, name, "")) return spad__fail_host_memory(error);
    return emit_barrier(g, name, 1, row, error);
}

static spad_status emit_warp_barriers(spad__gpu *g, spad__gpu_rows *rows, spad_error *error) {
    for (size_t i = 0; i < g->records.all.count; i++) {
        const spad__gpu_record *record = &g->records.all.items[i];
        if (record->kind == SPAD__RECORD_WARP_BARRIER)
            SPAD__GPU_TRY(emit_warp_barrier(g, rows, record->stream, error));
    }
    return SPAD_OK;
}

/* Rows that are added next come from this site. */
static spad_status go_to_site(spad__gpu *g, int32_t site, spad_error *error) {
    if (site < 0) return SPAD_OK;
    return g->text.go_to(g->text.context, g->emission.builder, site, error);
}

static spad_status emit_tensor(spad__gpu *g, spad__gpu_buffer *b, spad_error *error) {
    static const char *const spaces[] = {"shared", "tmem", "global", "registers"};
    spad_amount dims[SPAD__GPU_RANK];
    const spad_amount stages = {.value = b->stages};
    spad_kernel_tensor tensor = {.name = b->name,
                                 .dtype = b->dtype,
                                 .mode = b->offset >= 0 ? SPAD_MODE_AT : SPAD_MODE_AUTO,
                                 .alias_of = -1,
                                 .alias_tile = -1};
    char space[32];
    if (b->rank < 1) return SPAD_OK;
    snprintf(space, sizeof space, "%s", spaces[b->space]);
    if (g->cluster.block > 0 && b->space <= SPAD__GPU_TMEM) {
        snprintf(space, sizeof space, "%s[%d]", spaces[b->space], g->cluster.block);
    }
    SPAD__GPU_TRY(spad_target_find_space(&tensor.space, g->target, space, error));
    for (int d = 0; d < b->rank; d++) dims[d] = (spad_amount){.value = b->dims[d]};
    tensor.dims = (spad_amounts){(size_t)b->rank, dims};
    if (b->stages > 0) tensor.blocks = (spad_amounts){1, &stages};
    if (b->offset >= 0) {
        tensor.byte.value = b->offset;
    } else if (g->cluster.block > 0 &&
               b->space <= SPAD__GPU_TMEM) { /* one program: the same bytes */
        const int32_t number = (int32_t)(b - g->memory.buffers.items);
        tensor.like = spad__gpu_buffer_in(g, number, g->cluster.block, 0)->row + 1;
    }
    if (b->space == SPAD__GPU_SHARED) tensor.align.value = b->align;
    if (b->space == SPAD__GPU_GLOBAL || b->space == SPAD__GPU_REGISTERS) {
        tensor.flags =
            (b->accessed & SPAD_ACCESS_WRITE) != 0 ? SPAD_TENSOR_PERSISTENT : SPAD_TENSOR_INPUT;
    }
    return spad__kernel_builder_tensor(&b->row, g->emission.builder, &tensor, error);
}

/* An mbarrier that the compiler has put where an earlier one is; -1: none. To the chip the two are
 * one object, which is to be invalidated before it is initialised again. */
static int64_t same_barrier(const spad__gpu *g, const spad__gpu_buffer *b) {
    for (const spad__gpu_buffer *o = g->memory.buffers.items; o < b && b->offset >= 0; o++) {
        if (o->role == SPAD__GPU_MBARRIER && o->row >= 0 && o->offset == b->offset &&
            o->stages == b->stages)
            return o->row;
    }
    return -1;
}

/* The name of what is in a block has the number of the block. False: no memory. */
static bool name_buffer(spad__gpu *g, spad__gpu_buffer *b, const char *suffix) {
    char word[16], name[SPAD__GPU_NAME];
    if (g->cluster.count < 2 || b->role == SPAD__GPU_MBARRIER || b->space == SPAD__GPU_GLOBAL) {
        return spad__gpu_unique(g, b->name, suffix);
    }
    snprintf(name, sizeof name, "%.15s%s", b->name, suffix);
    snprintf(word, sizeof word, "_block%d", g->cluster.block);
    memcpy(b->name, name, sizeof name);
    return spad__gpu_unique(g, b->name, word);
}

/* An object that all blocks of a cluster share has the row of the first block. */
static bool is_of_cluster(const spad__gpu *g, const spad__gpu_buffer *b) {
    return g->cluster.count > 1 && (b->role == SPAD__GPU_MBARRIER || b->space == SPAD__GPU_GLOBAL);
}

static spad_status emit_buffer(spad__gpu *g, spad__gpu_buffer *b, spad_error *error) {
    const spad_amount extents[] = {{.value = g->cluster.count}, {.value = b->stages}};
    const spad_amount count = {.value = b->count > 0 ? b->count : 1};
    const size_t first = g->cluster.count > 1 ? 0 : 1;
    const spad_amounts dims = {(b->stages > 0 ? 2 : 1) - first, extents + first};
    const char *suffix = b->role == SPAD__GPU_MBARRIER     ? "_bar"
                         : b->role == SPAD__GPU_SCRATCH    ? "_scratch"
                         : b->space == SPAD__GPU_REGISTERS ? "_r"
                                                           : "";
    if (b->role == SPAD__GPU_MBARRIER) b->row = same_barrier(g, b);
    if (b->role == SPAD__GPU_MBARRIER && b->row >= 0) return SPAD_OK;
    SPAD__GPU_TRY(go_to_site(g, b->site, error));
    if (!name_buffer(g, b, suffix)) return spad__fail_host_memory(error);
    if (b->role != SPAD__GPU_MBARRIER) return emit_tensor(g, b, error);
    SPAD__GPU_TRY(spad__kernel_builder_sync(&b->row, g->emission.builder, SPAD_SYNC_MBARRIER,
                                            b->name, dims, count, error));
    if (b->offset >= 0) {
        SPAD__GPU_TRY(spad__kernel_builder_sync_at(g->emission.builder, b->row,
                                                   (spad_amount){.value = b->offset}, error));
    }
    return g->cluster.count > 1 ? spad__kernel_builder_each_block(g->emission.builder, error)
                                : SPAD_OK;
}

static spad_status emit_buffers(spad__gpu *g, spad_error *error) {
    for (size_t i = g->cluster.first_buffer[g->cluster.block];
         i < g->cluster.first_buffer[g->cluster.block + 1]; i++) {
        spad__gpu_buffer *b = &g->memory.buffers.items[i];
        if ((b->role != SPAD__GPU_MBARRIER && b->accessed == 0) || b->local) continue;
        if (g->cluster.block > 0 && is_of_cluster(g, b)) {
            b->row = spad__gpu_buffer_in(g, (int32_t)i, g->cluster.block, 0)->row;
        } else {
            SPAD__GPU_TRY(emit_buffer(g, b, error));
        }
    }
    return SPAD_OK;
}

static spad_status emit_local_buffers(spad__gpu *g, const spad__gpu_record *record,
                                      spad_error *error) {
    for (uint32_t i = 0; i < record->access_count; i++) {
        spad__gpu_buffer *b =
            &g->memory.buffers.items[g->records.accesses.items[record->first_access + i].buffer];
        if (b->row < 0 && b->local) SPAD__GPU_TRY(emit_buffer(g, b, error));
    }
    return SPAD_OK;
}

/* ---- statements ---------------------------------------------------------------------- */

static spad_status emit_for(spad__gpu *g, const spad__gpu_record *record, spad_error *error) {
    const spad__gpu_param *param;
    const spad_amount zero = {0};
    char name[SPAD__GPU_NAME] = "i";
    spad_amount end = {0};
    spad_expr *variable = &g->emission.iterations.items[record->loop];
    if (!spad__gpu_unique(g, name, "")) return spad__fail_host_memory(error);
    int64_t added;
    SPAD__GPU_TRY(spad__gpu_trips_param(g, record->scalar, &param, &added, error));
    if (param != NULL) {
        end.expr = param->expr;
        if (added > 0) SPAD__GPU_TRY(spad__gpu_add_number(g, param->expr, added, &end.expr, error));
    } else if (!spad__scalar_get(&g->scalars, record->scalar)->moves) {
        end.value = spad__scalar_get(&g->scalars, record->scalar)->now;
    } else {
        const spad_amount one = {.value = 1};
        spad_expr from, to;
        SPAD__GPU_TRY(spad__gpu_number_expr(g, 0, &from, error));
        SPAD__GPU_TRY(spad__gpu_expr(g, record->scalar, &to, error));
        return spad__kernel_builder_range(variable, g->emission.builder, name, from, to, one, false,
                                          error);
    }
    SPAD__GPU_TRY(
        spad__kernel_builder_for(variable, g->emission.builder, name, zero, end, false, error));
    if (param == NULL || added >= 0) return SPAD_OK;
    /* K_tiles - 1 iterations are none for K_tiles = 0, too: a condition leaves out the last ones
     * instead */
    spad_comparison inside = {.left = *variable, .relation = SPAD_LESS};
    SPAD__GPU_TRY(spad__gpu_add_number(g, param->expr, added, &inside.right, error));
    g->emission.open[g->emission.depth].shortened = true;
    return spad__kernel_builder_if(g->emission.builder, &inside, 1, error);
}

/* A loop with a condition for its last iterations is one open block, and two of the kernel. */
static spad_status emit_end(spad__gpu *g, spad_error *error) {
    if (g->emission.open[g->emission.depth--].shortened)
        SPAD__GPU_TRY(spad__kernel_builder_end(g->emission.builder, error));
    return spad__kernel_builder_end(g->emission.builder, error);
}

static spad_status begin_block(spad__gpu *g, spad_error *error) {
    if (g->emission.depth + 1 == SPAD__GPU_DEPTH) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "blocks are nested too deep");
    }
    g->emission.open[++g->emission.depth].shortened = false;
    g->emission.open[g->emission.depth].condition = SPAD__NO_SCALAR;
    return SPAD_OK;
}

/* Which warps make the access, as a word of the kernel; NULL: not stated. */
static const char *threads_word(const spad__gpu *g, const spad__gpu_access *access, char *name,
                                size_t size) {
    switch (access->threads) {
    case SPAD__GPU_THREADS_NONE: return NULL;
    case SPAD__GPU_THREADS_ALL: return "all";
    case SPAD__GPU_THREADS_ONE: return "one";
    case SPAD__GPU_THREADS_TOGETHER: return "together";
    case SPAD__GPU_THREADS_LANES: return "lanes";
    case SPAD__GPU_THREADS_UNKNOWN: return "unknown";
    case SPAD__GPU_THREADS_REPEATED:
        /* where several warps write the same elements, each finds its own copy of what it reads */
        return g->memory.buffers.items[access->buffer].repeats ? "unknown" : "all";
    default: snprintf(name, size, "map%d", (int)access->threads); return name;
    }
}

/* One access, or one for each stage where it is to all of them. */
static spad_status emit_access(spad__gpu *g, const spad__gpu_access *access, spad_error *error) {
    const spad__gpu_buffer *b =
        spad__gpu_buffer_in(g, access->buffer, g->cluster.block, access->block);
    spad_expr_range ranges[SPAD__GPU_RANK] = {{0}};
    char threads[SPAD__GPU_NAME];
    spad_kernel_access row = {.tensor = b->row,
                              .kind = access->kind,
                              .spread = threads_word(g, access, threads, sizeof threads)};
    bool part = false;
    if (b->row < 0) return SPAD_OK; /* nothing is known of what a pointer leads to */
    for (int d = 0; d < b->rank && d < access->view.rank; d++) {
        if (access->view.length[d] == 0) continue;
        const spad__scalar from = access->view.from[d];
        const spad__scalar to = spad__scalar_plus(&g->scalars, from, access->view.length[d]);
        SPAD__GPU_TRY(spad__gpu_expr(g, from, &ranges[d].from, error));
        SPAD__GPU_TRY(spad__gpu_expr(g, to, &ranges[d].to, error));
        part = true;
    }
    if (part) {
        row.range_count = (size_t)b->rank;
        row.ranges = ranges;
    }
    const bool all = b->stages > 0 && access->view.stage < 0;
    for (int64_t stage = 0; stage < (all ? b->stages : 1); stage++) {
        spad_expr index;
        if (b->stages > 0) {
            if (all) {
                SPAD__GPU_TRY(spad__gpu_number_expr(g, stage, &index, error));
            } else {
                SPAD__GPU_TRY(spad__gpu_expr(g, access->view.stage, &index, error));
            }
            row.index_count = 1;
            row.index = &index;
        }
        SPAD__GPU_TRY(spad__kernel_builder_access(g->emission.builder, &row, error));
    }
    return SPAD_OK;
}

/* The mbarrier of a note for what happens in this block: index[2]. */
static spad_status barrier_index(spad__gpu *g, const spad__gpu_record *record, int block,
                                 spad_expr *index, size_t *count, spad_error *error) {
    const spad__gpu_buffer *b = &g->memory.buffers.items[record->buffer];
    *count = 0;
    if (g->cluster.count > 1) {
        const int64_t owner = (int64_t)((uint32_t)block & ~record->joined);
        SPAD__GPU_TRY(spad__gpu_number_expr(g, owner, &index[(*count)++], error));
    }
    if (b->stages == 0) return SPAD_OK;
    if (record->stage < 0) return spad__gpu_number_expr(g, 0, &index[(*count)++], error);
    return spad__gpu_expr(g, record->stage, &index[(*count)++], error);
}

/* Bytes written in a block are delivered to the mbarrier of that block. */
static spad_status emit_deliveries(spad__gpu *g, const spad__gpu_record *record,
                                   spad_error *error) {
    const bool several = (record->blocks & (record->blocks - 1)) != 0;
    for (int block = 0; block < g->cluster.count; block++) {
        spad_expr index[2] = {0};
        spad_kernel_completion completion = {.kind = SPAD_COMPLETION_DELIVER,
                                             .object = g->memory.buffers.items[record->buffer].row,
                                             .index = index};
        int64_t bytes;
        if ((record->blocks >> block & 1) == 0) continue;
        SPAD__GPU_TRY(barrier_index(g, record, block, index, &completion.index_count, error));
        if (several) {
            const spad__gpu_access *last = /* as those to the other blocks */
                &g->records.accesses.items[record->first_access + record->access_count - 1];
            SPAD__GPU_TRY(spad__gpu_view_bytes(g, last->buffer, &last->view, &bytes, error));
            SPAD__GPU_TRY(spad__gpu_number_expr(g, bytes, &completion.amount, error));
        }
        SPAD__GPU_TRY(spad__kernel_builder_completion(g->emission.builder, &completion, error));
    }
    return SPAD_OK;
}

/* The operation that was added last takes no time. */
static spad_status emit_no_time(spad__gpu *g, spad_error *error) {
    const spad_amount none = {0};
    spad_expr zero;
    SPAD__GPU_TRY(spad__gpu_number_expr(g, 0, &zero, error));
    SPAD__GPU_TRY(spad__kernel_builder_cost(g->emission.builder, SPAD_COST_NS, zero, error));
    return spad__kernel_builder_latency(g->emission.builder, SPAD_COST_NS, none, error);
}

static spad_status emit_operation(spad__gpu *g, const spad__gpu_rows *rows,
                                  const spad__gpu_record *record, spad_error *error) {
    char name[SPAD__GPU_NAME + 16], user[SPAD__GPU_NAME];
    SPAD__GPU_TRY(emit_local_buffers(g, record, error));
    g->text.name_site(g->text.context, record->site, user);
    if (user[0] == '\0') {
        snprintf(name, sizeof name, "%s", record->name);
    } else {
        snprintf(name, sizeof name, "%s_%.30s", record->name, user);
    }
    const char *runner = record->unit != SPAD__GPU_NO_UNIT ? unit_names[record->unit]
                         : record->matrix                  ? "tensor"
                                                           : "simt";
    SPAD__GPU_TRY(spad__kernel_builder_operation(g->emission.builder, runner, name, error));
    for (uint32_t i = 0; i < record->access_count; i++) {
        SPAD__GPU_TRY(emit_access(g, &g->records.accesses.items[record->first_access + i], error));
    }
    if (record->group != SPAD__GPU_NO_GROUP) {
        SPAD__GPU_TRY(
            spad__kernel_builder_group(g->emission.builder, rows->groups[record->group], error));
    }
    if (record->no_time) SPAD__GPU_TRY(emit_no_time(g, error));
    for (int kind = 0; kind < SPAD_WORKS; kind++) {
        if (record->work[kind] == 0) continue;
        const spad_amount amount = {.value = record->work[kind]};
        SPAD__GPU_TRY(
            spad__kernel_builder_work(g->emission.builder, (spad_work)kind, amount, error));
    }
    return record->buffer < 0 ? SPAD_OK : emit_deliveries(g, record, error);
}

/* `block`: whose mbarrier it is. */
static spad_status emit_one_statement(spad__gpu *g, const spad__gpu_rows *rows,
                                      const spad__gpu_record *record, int block,
                                      spad_error *error) {
    spad_statement statement = spad__statement_of(record->statement, -1);
    spad_expr index[2] = {0};
    if (record->group != SPAD__GPU_NO_GROUP) statement.item = rows->groups[record->group];
    if (record->buffer >= 0) {
        statement.item = g->memory.buffers.items[record->buffer].row;
        statement.index = index;
        SPAD__GPU_TRY(barrier_index(g, record, block, index, &statement.index_count, error));
    }
    if (record->scalar >= 0)
        SPAD__GPU_TRY(spad__gpu_expr(g, record->scalar, &statement.amount, error));
    if (record->expect >= 0)
        SPAD__GPU_TRY(spad__gpu_expr(g, record->expect, &statement.expect, error));
    if (record->unit != SPAD__GPU_NO_UNIT) statement.unit = rows->units[record->unit];
    if (record->statement == SPAD_STATEMENT_FENCE) statement.fence = rows->fence;
    statement.flags = record->flags;
    return spad__kernel_builder_statement(g->emission.builder, &statement, error);
}

/* One tcgen05.commit for blocks beyond the pair: all of them have the arrival at the same time. So
 * it is one operation, which waits for the products before it. */
static spad_status emit_commit(spad__gpu *g, const spad__gpu_rows *rows,
                               const spad__gpu_record *record, spad_error *error) {
    spad_statement drain = spad__statement_of(SPAD_STATEMENT_DRAIN, -1);
    spad_expr cost;
    drain.unit = rows->units[record->unit];
    SPAD__GPU_TRY(spad__kernel_builder_statement(g->emission.builder, &drain, error));
    SPAD__GPU_TRY(spad__kernel_builder_operation(g->emission.builder, unit_names[record->unit],
                                                 "commit", error));
    for (int block = 0; block < g->cluster.count; block++) {
        spad_expr index[2] = {0};
        spad_kernel_completion arrival = {.kind = SPAD_COMPLETION_ARRIVE,
                                          .object = g->memory.buffers.items[record->buffer].row,
                                          .index = index};
        if ((record->blocks >> block & 1) == 0) continue;
        SPAD__GPU_TRY(barrier_index(g, record, block, index, &arrival.index_count, error));
        SPAD__GPU_TRY(spad__kernel_builder_completion(g->emission.builder, &arrival, error));
    }
    SPAD__GPU_TRY(spad__gpu_number_expr(g, 0, &cost, error));
    return spad__kernel_builder_cost(g->emission.builder, SPAD_COST_CYCLES, cost, error);
}

static spad_status emit_statement(spad__gpu *g, const spad__gpu_rows *rows,
                                  const spad__gpu_record *record, spad_error *error) {
    const uint32_t pair = spad__gpu_peers(g, g->cluster.pairs ? 1 : 0);
    if (record->buffer >= 0 && record->unit == SPAD__GPU_TC5 && (record->blocks & ~pair) != 0) {
        return emit_commit(g, rows, record, error);
    }
    if (record->buffer < 0) return emit_one_statement(g, rows, record, g->cluster.block, error);
    for (int block = 0; block < g->cluster.count; block++) {
        if (record->blocks >> block & 1)
            SPAD__GPU_TRY(emit_one_statement(g, rows, record, block, error));
    }
    return SPAD_OK;
}

/* A barrier of the block. */
static spad_status emit_sync(spad__gpu *g, int64_t row, spad_error *error) {
    spad_statement sync = spad__statement_of(SPAD_STATEMENT_SYNC, row);
    spad_expr block = 0;
    if (g->cluster.count > 1) {
        SPAD__GPU_TRY(spad__gpu_number_expr(g, g->cluster.block, &block, error));
        sync.index = &block;
        sync.index_count = 1;
    }
    return spad__kernel_builder_statement(g->emission.builder, &sync, error);
}

static spad_status emit_record(spad__gpu *g, const spad__gpu_rows *rows,
                               const spad__gpu_record *record, spad_error *error) {
    if (record->kind == SPAD__RECORD_FOR || record->kind == SPAD__RECORD_IF)
        SPAD__GPU_TRY(begin_block(g, error));
    switch (record->kind) {
    case SPAD__RECORD_FOR: return emit_for(g, record, error);
    case SPAD__RECORD_IF:
        SPAD__GPU_TRY(spad__gpu_emit_if(g, record->scalar, error));
        g->emission.open[g->emission.depth].condition = record->scalar;
        return SPAD_OK;
    case SPAD__RECORD_ELSE:
        g->emission.open[g->emission.depth].condition = SPAD__NO_SCALAR;
        return spad__kernel_builder_else(g->emission.builder, error);
    case SPAD__RECORD_END: return emit_end(g, error);
    case SPAD__RECORD_OPERATION: return emit_operation(g, rows, record, error);
    case SPAD__RECORD_ALLOCATE: {
        spad__gpu_buffer *b = &g->memory.buffers.items[record->buffer];
        const bool now = b->local && b->row < 0 && b->accessed != 0;
        return now ? emit_buffer(g, b, error) : SPAD_OK;
    }
    case SPAD__RECORD_AGENT_BARRIER:
        return rows->agent_barrier >= 0 ? emit_sync(g, rows->agent_barrier, error) : SPAD_OK;
    case SPAD__RECORD_WARP_BARRIER: {
        const int agent = record->stream - SPAD__STREAM_DEFAULT;
        return emit_sync(g, agent < 0 ? rows->warp_barrier : g->records.agents.items[agent].barrier,
                         error);
    }
    case SPAD__RECORD_CLUSTER_BARRIER: {
        const spad_statement all = spad__statement_of(SPAD_STATEMENT_SYNC, rows->cluster_barrier);
        return spad__kernel_builder_statement(g->emission.builder, &all, error);
    }
    default: return emit_statement(g, rows, record, error);
    }
}

/* An index that leaves its buffer is a fault of the operation that has it. */
static spad_status emit_record_at(spad__gpu *g, const spad__gpu_rows *rows,
                                  const spad__gpu_record *record, spad_error *error) {
    spad_error own;
    if (error == NULL) error = &own;
    const spad_status status = emit_record(g, rows, record, error);
    if (status != SPAD_ERR_BOUNDS) return status;
    spad__gpu_fail(g, "%s", error->message);
    return SPAD_ERR_SYNTAX;
}

/* Has a thread, or a copy through the generic proxy, written shared memory before this note? */
static bool is_written_before(const spad__gpu *g, size_t end) {
    for (size_t i = 0; i < end; i++) {
        const spad__gpu_record *record = &g->records.all.items[i];
        if (record->kind != SPAD__RECORD_OPERATION ||
            (record->unit != SPAD__GPU_NO_UNIT && record->unit != SPAD__GPU_CP)) {
            continue;
        }
        for (uint32_t k = 0; k < record->access_count; k++) {
            const spad__gpu_access *access = &g->records.accesses.items[record->first_access + k];
            if ((access->kind & SPAD_ACCESS_WRITE) != 0 &&
                g->memory.buffers.items[access->buffer].space == SPAD__GPU_SHARED) {
                return true;
            }
        }
    }
    return false;
}

/* mbarrier.init is a write of threads, and a copy signals through the async proxy: the fence
 * between them is left to the machine code of the compiler, so it is put after a run of inits. It
 * is one for mbarriers only, where another one would hide that tiles lack theirs. */
static spad_status emit_init_fence(spad__gpu *g, const spad__gpu_rows *rows, bool only,
                                   spad_error *error) {
    spad_statement fence = spad__statement_of(SPAD_STATEMENT_FENCE, -1);
    if (only) fence.fence = rows->init_fence;
    return spad__kernel_builder_statement(g->emission.builder, &fence, error);
}

static spad_status emit_stream(spad__gpu *g, const spad__gpu_rows *rows, int stream,
                               spad_error *error) {
    bool inits = false, only = false;
    int depth = 0; /* of loops and conditions: what is written there may come before as well */
    for (size_t i = 0; i < g->records.all.count; i++) {
        const spad__gpu_record *record = &g->records.all.items[i];
        if (record->stream != stream || record->block != g->cluster.block) continue;
        const bool init =
            record->kind == SPAD__RECORD_STATEMENT && record->statement == SPAD_STATEMENT_INIT;
        SPAD__GPU_TRY(go_to_site(g, record->site, error));
        if (inits && !init) SPAD__GPU_TRY(emit_init_fence(g, rows, only, error));
        if (init && !inits) only = depth > 0 || is_written_before(g, i);
        inits = init;
        if (record->kind == SPAD__RECORD_FOR || record->kind == SPAD__RECORD_IF) depth++;
        if (record->kind == SPAD__RECORD_END) depth--;
        g->site = record->site;
        SPAD__GPU_TRY(emit_record_at(g, rows, record, error));
    }
    return inits ? emit_init_fence(g, rows, only, error) : SPAD_OK;
}

static spad_status begin_agent(spad__gpu *g, const char *name, int64_t warps, int64_t registers,
                               spad_error *error) {
    const spad_amount threads = {.value = warps * SPAD__GPU_WARP};
    const spad_amount each = {.value = registers};
    SPAD__GPU_TRY(spad__kernel_builder_agent(g->emission.builder, name, error));
    return spad__kernel_builder_threads(g->emission.builder, threads, each, error);
}

static spad_status emit_agent(spad__gpu *g, const spad__gpu_rows *rows, size_t number,
                              const char *name, spad_error *error) {
    const spad__gpu_agent *agent = &g->records.agents.items[number];
    SPAD__GPU_TRY(begin_agent(g, name, agent->warps, agent->registers, error));
    SPAD__GPU_TRY(emit_stream(g, rows, SPAD__STREAM_DEFAULT + (int)number, error));
    return spad__kernel_builder_end(g->emission.builder, error);
}

static spad_status emit_agents(spad__gpu *g, const spad__gpu_rows *rows, spad_error *error) {
    for (size_t i = 0; i < g->records.agents.count; i++) {
        char name[SPAD__GPU_NAME];
        if (i == 0) {
            strcpy(name, "default_warps");
        } else {
            snprintf(name, sizeof name, "partition%zu", i - 1);
        }
        SPAD__GPU_TRY(emit_agent(g, rows, i, name, error));
    }
    return SPAD_OK;
}

/* ---- blocks of a cluster -------------------------------------------------------------- */

/* Does the block end without a wait for its last stores? That is reported (SPAD-UNFINISHED), so
 * that what else uses their bytes is not reported as well. */
static bool has_open_stores(const spad__gpu *g) {
    bool open = false;
    for (size_t i = 0; i < g->records.all.count; i++) {
        const spad__gpu_record *record = &g->records.all.items[i];
        if (record->block != g->cluster.block || record->group != SPAD__GPU_STORES) continue;
        open = record->kind != SPAD__RECORD_STATEMENT ||
               record->statement != SPAD_STATEMENT_WAIT_GROUP ||
               !spad__scalar_is(&g->scalars, record->scalar, 0);
    }
    return open;
}

/* When a block ends, its memory is gone: all accesses of other blocks must have ended. */
static spad_status emit_exit(spad__gpu *g, const spad__gpu_rows *rows, spad_error *error) {
    if (!g->records.has_barriers) return SPAD_OK; /* the text has no barriers */
    const bool stores = has_open_stores(g);
    for (size_t i = g->cluster.first_buffer[g->cluster.block];
         i < g->cluster.first_buffer[g->cluster.block + 1]; i++) {
        const spad__gpu_buffer *b = &g->memory.buffers.items[i];
        const uint32_t joined = g->cluster.joint ? b->same : 0;
        if (!b->remote || b->row < 0 || b->space == SPAD__GPU_GLOBAL) continue;
        if (b->role != SPAD__GPU_MBARRIER && stores) continue;
        if (b->role != SPAD__GPU_MBARRIER) {
            const spad_statement end = spad__statement_of(SPAD_STATEMENT_FREE, b->row);
            SPAD__GPU_TRY(spad__kernel_builder_statement(g->emission.builder, &end, error));
            continue;
        }
        if (b->invalidated || !spad__gpu_leads(g, joined)) continue;
        for (int64_t stage = 0; stage < (b->stages > 0 ? b->stages : 1); stage++) {
            const spad__gpu_record end = {.statement = SPAD_STATEMENT_INVALIDATE,
                                          .scalar = SPAD__NO_SCALAR,
                                          .expect = SPAD__NO_SCALAR,
                                          .buffer = (int32_t)i,
                                          .stage = spad__scalar_number(&g->scalars, stage)};
            SPAD__GPU_TRY(emit_one_statement(g, rows, &end, g->cluster.block, error));
        }
    }
    return SPAD_OK;
}

/* The main program of a block, with its default warps, and its partitions. */
static spad_status emit_block(spad__gpu *g, const spad__gpu_rows *rows, spad_error *error) {
    char name[SPAD__GPU_NAME];
    snprintf(name, sizeof name, "block%d", g->cluster.block);
    SPAD__GPU_TRY(begin_agent(g, name, g->records.warps, 0, error));
    SPAD__GPU_TRY(emit_stream(g, rows, SPAD__STREAM_BEFORE, error));
    if (g->records.agents.count > 0)
        SPAD__GPU_TRY(emit_stream(g, rows, SPAD__STREAM_DEFAULT, error));
    SPAD__GPU_TRY(emit_stream(g, rows, SPAD__STREAM_AFTER, error));
    SPAD__GPU_TRY(emit_exit(g, rows, error));
    SPAD__GPU_TRY(spad__kernel_builder_end(g->emission.builder, error));
    for (size_t i = 1; i < g->records.agents.count; i++) {
        snprintf(name, sizeof name, "block%d_partition%zu", g->cluster.block, i - 1);
        SPAD__GPU_TRY(emit_agent(g, rows, i, name, error));
    }
    return SPAD_OK;
}

static spad_status emit_cluster(spad__gpu *g, const spad__gpu_rows *rows, spad_error *error) {
    for (g->cluster.block = 0; g->cluster.block < g->cluster.count; g->cluster.block++)
        SPAD__GPU_TRY(emit_buffers(g, error));
    for (g->cluster.block = 0; g->cluster.block < g->cluster.count; g->cluster.block++)
        SPAD__GPU_TRY(emit_block(g, rows, error));
    g->cluster.block = 0;
    return SPAD_OK;
}

/* ---- the kernel ------------------------------------------------------------------------ */

static spad_status emit_all(spad__gpu *g, spad_error *error) {
    spad__gpu_rows rows = {.fence = -1,
                           .init_fence = -1,
                           .agent_barrier = -1,
                           .warp_barrier = -1,
                           .cluster_barrier = -1};
    size_t fence;
    if (spad__target_find_fence(&fence, g->target, "shared", NULL) == SPAD_OK) {
        rows.fence = (int64_t)fence;
    }
    if (spad__target_find_fence(&fence, g->target, "mbarrier", NULL) == SPAD_OK) {
        rows.init_fence = (int64_t)fence;
    }
    g->cluster.block = 0;
    SPAD__GPU_TRY(spad__gpu_emit_params(g, error));
    SPAD__GPU_TRY(emit_units(g, &rows, error));
    SPAD__GPU_TRY(emit_agent_barriers(g, &rows, error));
    SPAD__GPU_TRY(emit_warp_barriers(g, &rows, error));
    SPAD__GPU_TRY(spad__gpu_find_scopes(g, error));
    if (g->cluster.count > 1) {
        SPAD__GPU_TRY(emit_cluster(g, &rows, error));
    } else {
        SPAD__GPU_TRY(emit_buffers(g, error));
        SPAD__GPU_TRY(emit_stream(g, &rows, SPAD__STREAM_BEFORE, error));
        SPAD__GPU_TRY(emit_agents(g, &rows, error));
        SPAD__GPU_TRY(emit_stream(g, &rows, SPAD__STREAM_AFTER, error));
    }
    return spad__gpu_fix_params(g, error);
}

spad_status spad__gpu_emit(spad__gpu *g, spad_kernel **out, size_t loops, const char *file,
                           spad_error *error) {
    spad_kernel *kernel = g->emission.builder->kernel;
    if (!spad__array_reserve(g->host, &g->emission.iterations, loops)) {
        return spad__fail_host_memory(error);
    }
    memset(g->emission.iterations.items, 0, loops * sizeof *g->emission.iterations.items);
    g->emission.iterations.count = loops;
    SPAD__GPU_TRY(emit_all(g, error));
    kernel->compiled = true;
    kernel->file = spad__arena_copy(&kernel->arena, file, strlen(file));
    if (kernel->file == NULL) return spad__fail_host_memory(error);
    return spad__kernel_builder_finish(out, g->emission.builder, error);
}
