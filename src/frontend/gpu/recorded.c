/* SPDX-License-Identifier: Apache-2.0
 *
 * The operations of the program, in order. See recorded.h.
 */
#include "frontend/gpu/recorded.h"

#include <assert.h>
#include <string.h>

#include "base/checked.h"
#include "frontend/gpu/gpu_program.h"
#include "kernel/kernel_builder.h"
#include "spad/experimental/kernel_rows.h"

enum { BLOCKS_AROUND = 64 }; /* loops and conditions that a record is looked for in */

/* True while records are neither added nor changed. */
static bool is_silent(const spad__gpu *g) {
    return g->dry || g->outcome == SPAD__GPU_FAILED;
}

/* ---- records ------------------------------------------------------------------------- */

static spad__gpu_record *append_record(spad__gpu *g, spad__gpu_record_kind kind) {
    if (g->records.all.count == SPAD__GPU_RECORDS_MAX) {
        spad__gpu_fail(g, "more than %d statements: give smaller sizes", SPAD__GPU_RECORDS_MAX);
        return NULL;
    }
    if (!spad__array_reserve(g->host, &g->records.all, 1)) {
        spad__gpu_no_memory(g);
        return NULL;
    }
    spad__gpu_record *record = &g->records.all.items[g->records.all.count++];
    *record = (spad__gpu_record){.kind = kind,
                                 .stream = g->records.stream,
                                 .block = g->cluster.block,
                                 .blocks = UINT32_C(1) << g->cluster.block,
                                 .site = g->site,
                                 .name = "",
                                 .scalar = SPAD__NO_SCALAR,
                                 .expect = SPAD__NO_SCALAR,
                                 .stage = SPAD__NO_SCALAR,
                                 .buffer = -1,
                                 .first_access = (uint32_t)g->records.accesses.count};
    return record;
}

void spad__gpu_end_work(spad__gpu *g) {
    const spad__gpu_work work = g->records.work;
    if (!work.any) return;
    g->records.work = (spad__gpu_work){0};
    spad__gpu_record *record = append_record(g, SPAD__RECORD_OPERATION);
    if (record == NULL) return;
    record->name = "compute";
    record->stream = work.stream;
    record->site = work.site;
    memcpy(record->work, work.amount, sizeof record->work);
}

spad__gpu_record *spad__gpu_add_record(spad__gpu *g, spad__gpu_record_kind kind) {
    if (is_silent(g)) return NULL;
    spad__gpu_end_work(g);
    return append_record(g, kind);
}

void spad__gpu_add_work(spad__gpu *g, spad_work work, int64_t amount) {
    if (is_silent(g) || amount == 0) return;
    spad__gpu_work *w = &g->records.work;
    if (w->stream != g->records.stream) spad__gpu_end_work(g);
    if (!w->any) *w = (spad__gpu_work){true, g->records.stream, g->site, {0}};
    w->amount[work] = spad__add_clamped(w->amount[work], amount);
}

spad__gpu_record *spad__gpu_add_statement(spad__gpu *g, spad_statement_kind statement) {
    spad__gpu_record *record = spad__gpu_add_record(g, SPAD__RECORD_STATEMENT);
    if (record != NULL) record->statement = statement;
    return record;
}

spad__gpu_record *spad__gpu_add_operation(spad__gpu *g, const char *name, spad__gpu_unit unit) {
    spad__gpu_record *record = spad__gpu_add_record(g, SPAD__RECORD_OPERATION);
    if (record != NULL) {
        record->name = name;
        record->unit = unit;
    }
    return record;
}

/* ---- accesses ------------------------------------------------------------------------ */

void spad__gpu_add_access(spad__gpu *g, int32_t buffer, const spad__gpu_view *view, unsigned kind) {
    if (is_silent(g)) return;
    if (!spad__array_reserve(g->host, &g->records.accesses, 1)) {
        spad__gpu_no_memory(g);
        return;
    }
    spad__gpu_access *access = &g->records.accesses.items[g->records.accesses.count++];
    *access = (spad__gpu_access){.buffer = buffer, .block = g->cluster.block, .kind = kind};
    access->view = view != NULL ? *view : (spad__gpu_view){.stage = -1};
    access->view.stage = spad__gpu_resolve(g, access->view.stage, "a stage of a ring");
    for (int d = 0; d < access->view.rank; d++) {
        if (access->view.length[d] > 0) {
            access->view.from[d] = spad__gpu_resolve(g, access->view.from[d], "a part of a buffer");
        }
    }
    g->memory.buffers.items[buffer].accessed |= kind & (SPAD_ACCESS_READ | SPAD_ACCESS_WRITE);
    g->records.all.items[g->records.all.count - 1].access_count++;
}

void spad__gpu_add_register_tile(spad__gpu *g, int32_t buffer, const spad__gpu_view *view,
                                 unsigned kind) {
    if (is_silent(g) || g->registers == SPAD__GPU_NO_REGISTERS || buffer < 0) return;
    if (g->records.stream > SPAD__STREAM_AFTER || g->cluster.count > 1) return;
    const spad__gpu_buffer *b = &g->memory.buffers.items[buffer];
    if (b->rank == 0 || b->space == SPAD__GPU_TMEM) return;
    spad__gpu_buffer like = {.space = SPAD__GPU_REGISTERS,
                             .role = SPAD__GPU_REGISTER_TILE,
                             .site = g->site,
                             .dtype = b->dtype,
                             .rank = b->rank,
                             .offset = -1,
                             .row = -1};
    for (int d = 0; d < b->rank; d++) {
        like.dims[d] = view != NULL ? spad__gpu_extent(b, view, d) : b->dims[d];
    }
    const int32_t tile = spad__gpu_find_register_tile(g, &like);
    if (tile < 0) return;
    const spad__gpu_view whole = spad__gpu_whole_view(g, tile);
    spad__gpu_add_access(g, tile, &whole, kind);
}

void spad__gpu_set_threads(spad__gpu *g, int32_t threads) {
    if (!g->records.has_barriers || is_silent(g) || spad__gpu_warps(g) == 1) return;
    assert(g->records.all.count > 0 &&
           g->records.all.items[g->records.all.count - 1].access_count > 0);
    spad__gpu_access *access = &g->records.accesses.items[g->records.accesses.count - 1];
    spad__gpu_buffer *b = &g->memory.buffers.items[access->buffer];
    assert(b->space == SPAD__GPU_SHARED || b->space == SPAD__GPU_TMEM);
    access->threads = threads;
    if (threads == SPAD__GPU_THREADS_REPEATED && (access->kind & SPAD_ACCESS_WRITE) != 0) {
        b->repeats = true;
    }
}

/* ---- certain conditions -------------------------------------------------------------- */

/* Continues the IF that was closed last, if it has the same condition. */
static bool reopen_if(spad__gpu *g, spad__scalar condition) {
    size_t at = g->records.all.count;
    int depth = 0;
    if (at == 0 || g->records.work.any || g->records.all.items[at - 1].kind != SPAD__RECORD_END ||
        g->records.all.items[at - 1].stream != g->records.stream ||
        g->records.all.items[at - 1].block != g->cluster.block) {
        return false;
    }
    while (at > 0) {
        const spad__gpu_record *record = &g->records.all.items[--at];
        if (record->stream != g->records.stream || record->block != g->cluster.block) return false;
        if (record->kind == SPAD__RECORD_END) depth++;
        if (record->kind == SPAD__RECORD_ELSE && depth == 1) return false;
        if (record->kind == SPAD__RECORD_FOR || record->kind == SPAD__RECORD_IF) {
            if (--depth > 0) continue;
            if (record->kind != SPAD__RECORD_IF || record->scalar != condition) return false;
            g->records.all.count--;
            return true;
        }
    }
    return false;
}

bool spad__gpu_open_if(spad__gpu *g, spad__scalar condition, bool *open) {
    int64_t value;
    *open = false;
    if (condition < 0) return true;
    condition = spad__gpu_resolve(g, condition, "a condition");
    if (condition < 0) return true;
    const spad__scalar_node *node = spad__scalar_get(&g->scalars, condition);
    if (!node->arguments && spad__scalar_known(&g->scalars, condition, &value)) return value != 0;
    *open = true;
    if (!g->dry && reopen_if(g, condition)) return true;
    spad__gpu_record *record = spad__gpu_add_record(g, SPAD__RECORD_IF);
    if (record != NULL) record->scalar = condition;
    return true;
}

void spad__gpu_close_if(spad__gpu *g, bool open) {
    if (open) spad__gpu_add_record(g, SPAD__RECORD_END);
}

/* ---- agents and barriers ------------------------------------------------------------- */

int64_t spad__gpu_warps(const spad__gpu *g) {
    const int agent = g->records.stream - SPAD__STREAM_DEFAULT;
    assert(agent < 0 || (size_t)agent < g->records.agents.count);
    return agent >= 0 ? g->records.agents.items[agent].warps : g->records.warps;
}

bool spad__gpu_add_agent(spad__gpu *g, int64_t warps, int64_t registers) {
    if (!spad__array_reserve(g->host, &g->records.agents, 1)) return spad__gpu_no_memory(g);
    g->records.agents.items[g->records.agents.count++] = (spad__gpu_agent){warps, registers, -1};
    return true;
}

void spad__gpu_add_warp_barrier(spad__gpu *g) {
    if (!g->records.has_barriers || spad__gpu_warps(g) == 1) return;
    spad__gpu_add_record(g, SPAD__RECORD_WARP_BARRIER);
}

void spad__gpu_add_agent_barrier(spad__gpu *g) {
    const int stream = g->records.stream;
    for (size_t i = 0; i < g->records.agents.count; i++) {
        g->records.stream = SPAD__STREAM_DEFAULT + (int)i;
        spad__gpu_add_record(g, SPAD__RECORD_AGENT_BARRIER);
    }
    g->records.stream = stream;
}

/* ---- where a buffer is written ------------------------------------------------------- */

/* The records that open the blocks around a record. */
typedef struct spad__gpu_around {
    size_t open[BLOCKS_AROUND];
    size_t count;
} spad__gpu_around;

/* Enters or leaves a block. False: blocks are nested too deep. */
static bool step_around(const spad__gpu_record *record, size_t number, spad__gpu_around *around) {
    if (record->kind == SPAD__RECORD_FOR || record->kind == SPAD__RECORD_IF) {
        if (around->count == BLOCKS_AROUND) return false;
        around->open[around->count++] = number;
    } else if (record->kind == SPAD__RECORD_ELSE) {
        around->open[around->count - 1] = number;
    } else if (record->kind == SPAD__RECORD_END) {
        around->count--;
    }
    return true;
}

static bool writes_buffer(const spad__gpu *g, const spad__gpu_record *record, int32_t buffer) {
    if (record->kind != SPAD__RECORD_OPERATION) return false;
    for (uint32_t k = 0; k < record->access_count; k++) {
        const spad__gpu_access *access = &g->records.accesses.items[record->first_access + k];
        if (access->buffer == buffer && (access->kind & ~(unsigned)SPAD_ACCESS_READ) != 0) {
            return true;
        }
    }
    return false;
}

/* The condition of a record that is in an IF directly inside the block `here`; below 0: it is
 * elsewhere. */
static spad__scalar condition_around(const spad__gpu *g, const spad__gpu_around *record,
                                     const spad__gpu_around *here) {
    if (record->count != here->count + 1) return SPAD__NO_SCALAR;
    for (size_t i = 0; i < here->count; i++) {
        if (record->open[i] != here->open[i]) return SPAD__NO_SCALAR;
    }
    const spad__gpu_record *open = &g->records.all.items[record->open[here->count]];
    return open->kind == SPAD__RECORD_IF ? open->scalar : SPAD__NO_SCALAR;
}

spad__scalar spad__gpu_written_where(const spad__gpu *g, int32_t buffer) {
    spad__gpu_around here = {.count = 0}, around = {.count = 0};
    spad__scalar where = SPAD__NO_SCALAR;
    for (size_t i = 0; i < g->records.all.count; i++) {
        if (!step_around(&g->records.all.items[i], i, &here)) return SPAD__NO_SCALAR;
    }
    for (size_t i = 0; i < g->records.all.count; i++) {
        step_around(&g->records.all.items[i], i, &around);
        if (!writes_buffer(g, &g->records.all.items[i], buffer)) continue;
        const spad__scalar condition = condition_around(g, &around, &here);
        if (condition < 0 || (where >= 0 && condition != where)) return SPAD__NO_SCALAR;
        where = condition;
    }
    return where;
}
