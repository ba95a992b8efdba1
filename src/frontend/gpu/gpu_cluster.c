/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of a cluster that touch each other's memory. See gpu_cluster.h.
 */
#include "frontend/gpu/gpu_cluster.h"

#include <assert.h>

#include "frontend/gpu/gpu_program.h"

uint32_t spad__gpu_peers(const spad__gpu *g, uint32_t bits) {
    uint32_t peers = 0;
    for (int block = 0; block < g->cluster.count; block++) {
        if ((((uint32_t)block ^ (uint32_t)g->cluster.block) & ~bits) == 0)
            peers |= UINT32_C(1) << block;
    }
    return peers;
}

bool spad__gpu_leads(const spad__gpu *g, uint32_t bits) {
    return g->cluster.count < 2 || ((uint32_t)g->cluster.block & bits) == 0;
}

void spad__gpu_add_accesses(spad__gpu *g, int32_t buffer, const spad__gpu_view *view, unsigned kind,
                            uint32_t blocks, int32_t threads) {
    for (int block = 0; block < g->cluster.count; block++) {
        if ((blocks >> block & 1) == 0) continue;
        const size_t before = g->records.accesses.count;
        spad__gpu_add_access(g, buffer, view, kind);
        spad__gpu_set_threads(g, threads);
        if (g->records.accesses.count == before) continue;
        g->records.accesses.items[before].block = block;
        if (block != g->cluster.block) g->memory.buffers.items[buffer].remote = true;
    }
}

void spad__gpu_set_arrival_blocks(spad__gpu *g, spad__gpu_record *record, uint32_t blocks) {
    record->blocks = blocks;
    if (blocks != spad__gpu_peers(g, 0)) g->memory.buffers.items[record->buffer].remote = true;
}

void spad__gpu_add_cluster_barrier(spad__gpu *g, bool relaxed) {
    if (g->dry) return;
    if (relaxed && !g->cluster.init_released) return;
    g->cluster.unannounced = false;
    if (g->cluster.count > 1 && g->records.stream >= SPAD__STREAM_PARTITION) {
        spad__gpu_fail(g, "blocks of a cluster meet in a partition of warps: not known");
        return;
    }
    if (g->cluster.count > 1) spad__gpu_add_record(g, SPAD__RECORD_CLUSTER_BARRIER);
}

spad__gpu_buffer *spad__gpu_buffer_in(spad__gpu *g, int32_t buffer, int of, int block) {
    return &g->memory.buffers.items[(size_t)buffer - g->cluster.first_buffer[of] +
                                    g->cluster.first_buffer[block]];
}

/* Adds the facts of one buffer to another one. */
static void share_facts(spad__gpu_buffer *to, const spad__gpu_buffer *from) {
    assert(to->site == from->site && to->space == from->space);
    if (from->role == SPAD__GPU_MBARRIER) to->role = SPAD__GPU_MBARRIER;
    to->accessed |= from->accessed;
    to->remote |= from->remote;
    to->invalidated |= from->invalidated;
    to->repeats |= from->repeats;
}

/* First the facts of all blocks meet in the buffers of the first block, then they go to all others.
 */
void spad__gpu_align_blocks(spad__gpu *g) {
    spad__gpu_buffer *buffers = g->memory.buffers.items;
    const size_t count = g->cluster.first_buffer[1];
    for (int block = 1; block < g->cluster.count; block++) {
        /* which block leads matters for accesses and arrivals only: all allocate the same */
        assert(g->cluster.first_buffer[block + 1] - g->cluster.first_buffer[block] == count);
    }
    for (size_t i = count; i < g->memory.buffers.count; i++) {
        spad__gpu_buffer *first = &buffers[i % count];
        share_facts(first, &buffers[i]);
        if (first->count == 0) first->count = buffers[i].count;
    }
    for (size_t i = count; i < g->memory.buffers.count; i++) {
        share_facts(&buffers[i], &buffers[i % count]);
    }
}
