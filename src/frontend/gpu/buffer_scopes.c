/* SPDX-License-Identifier: Apache-2.0
 *
 * Where buffers are declared. See buffer_scopes.h.
 */
#include "frontend/gpu/buffer_scopes.h"

enum { BLOCKS_DEEP = 256, NOT_ALLOCATED = -1 };

typedef struct spad__gpu_scopes {
    int32_t stack[BLOCKS_DEEP]; /* blocks that are open, by number */
    int depth;
    SPAD_ARRAY(bool) open;     /* by block */
    SPAD_ARRAY(int32_t) where; /* by buffer: the block that allocates it */
} spad__gpu_scopes;

static bool open_block(const spad__gpu *g, spad__gpu_scopes *s) {
    if (!spad__array_reserve(g->host, &s->open, 1)) return false;
    s->stack[s->depth++] = (int32_t)s->open.count;
    s->open.items[s->open.count++] = true;
    return true;
}

static void close_block(spad__gpu_scopes *s) {
    s->open.items[s->stack[--s->depth]] = false;
}

static void see_allocation(spad__gpu *g, spad__gpu_scopes *s, int32_t buffer) {
    spad__gpu_buffer *b = &g->memory.buffers.items[buffer];
    const bool again = s->where.items[buffer] != NOT_ALLOCATED;
    s->where.items[buffer] = s->stack[s->depth - 1];
    b->local = !again && b->role != SPAD__GPU_MBARRIER;
}

static void see_accesses(spad__gpu *g, const spad__gpu_scopes *s, const spad__gpu_record *record) {
    for (uint32_t i = 0; i < record->access_count; i++) {
        const int32_t buffer = g->records.accesses.items[record->first_access + i].buffer;
        const int32_t block = s->where.items[buffer];
        if (block != NOT_ALLOCATED && !s->open.items[block])
            g->memory.buffers.items[buffer].local = false;
    }
}

/* False: no memory, or nested too deep. */
static bool see_records(spad__gpu *g, spad__gpu_scopes *s) {
    for (size_t i = 0; i < g->records.all.count; i++) {
        const spad__gpu_record *record = &g->records.all.items[i];
        if (record->kind == SPAD__RECORD_END || record->kind == SPAD__RECORD_ELSE) close_block(s);
        if (record->kind == SPAD__RECORD_FOR || record->kind == SPAD__RECORD_IF ||
            record->kind == SPAD__RECORD_ELSE) {
            if (s->depth == BLOCKS_DEEP || !open_block(g, s)) return false;
        }
        if (record->kind == SPAD__RECORD_ALLOCATE) see_allocation(g, s, record->buffer);
        see_accesses(g, s, record);
    }
    return true;
}

static bool begin_scopes(const spad__gpu *g, spad__gpu_scopes *s) {
    if (!spad__array_reserve(g->host, &s->where, g->memory.buffers.count)) return false;
    for (size_t i = 0; i < g->memory.buffers.count; i++) s->where.items[i] = NOT_ALLOCATED;
    s->where.count = g->memory.buffers.count;
    return open_block(g, s); /* the function */
}

spad_status spad__gpu_find_scopes(spad__gpu *g, spad_error *error) {
    spad__gpu_scopes scopes = {0};
    if (g->records.agents.count > 0 || spad__gpu_is_concrete(g) || g->cluster.count > 1)
        return SPAD_OK;
    const bool good = begin_scopes(g, &scopes) && see_records(g, &scopes);
    const bool deep = scopes.depth == BLOCKS_DEEP;
    spad__array_free(g->host, &scopes.open);
    spad__array_free(g->host, &scopes.where);
    for (size_t i = 0; good && i < g->memory.buffers.count; i++) {
        if (g->memory.buffers.items[i].role == SPAD__GPU_SCRATCH)
            g->memory.buffers.items[i].local = true;
    }
    if (!good && deep) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "blocks are nested too deep");
    }
    return good ? SPAD_OK : spad__fail_host_memory(error);
}
