/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that a program uses. See memory_objects.h.
 */
#include "frontend/gpu/memory_objects.h"

#include <stdio.h>
#include <string.h>

#include "frontend/gpu/gpu_program.h"

enum {
    RETIRED_MAX = 20000, /* of a run: more would make kernels that are too long to check */
    REGISTER_TILE_BYTES = 160 << 10 /* of all tiles: the rest of the registers is left to others */
};

/* ---- buffers ------------------------------------------------------------------------- */

int32_t spad__gpu_find_buffer(spad__gpu *g, uint64_t key, bool *fresh) {
    spad__gpu_memory *memory = &g->memory;
    spad__probe probe = spad__index_probe(&memory->index, key);
    *fresh = false;
    for (size_t i; (i = spad__probe_next(&probe)) != SPAD__NO_ITEM;) {
        if (memory->buffers.items[i].key == key) return (int32_t)i;
    }
    if (!spad__array_reserve(g->host, &memory->buffers, 1) ||
        !spad__index_reserve(&memory->index, g->host, 1)) {
        spad__gpu_no_memory(g);
        return -1;
    }
    *fresh = true;
    spad__index_add(&memory->index, key, memory->buffers.count);
    memory->buffers.items[memory->buffers.count] =
        (spad__gpu_buffer){.key = key, .site = -1, .offset = -1, .row = -1};
    return (int32_t)memory->buffers.count++;
}

void spad__gpu_retire_buffer(spad__gpu *g, int32_t buffer) {
    const spad__gpu_buffer *b = &g->memory.buffers.items[buffer];
    if (!spad__gpu_is_concrete(g) || g->dry || g->records.has_partitions) return;
    if (b->role == SPAD__GPU_MBARRIER || b->space != SPAD__GPU_SHARED) return;
    if (g->memory.retired == RETIRED_MAX) return;
    g->memory.retired++;
    spad__index_remove(&g->memory.index, b->key, (size_t)buffer);
}

static bool is_same_register_tile(const spad__gpu_buffer *a, const spad__gpu_buffer *b) {
    return a->role == SPAD__GPU_REGISTER_TILE && b->role == SPAD__GPU_REGISTER_TILE &&
           a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->dims, b->dims, sizeof a->dims) == 0;
}

int32_t spad__gpu_find_register_tile(spad__gpu *g, const spad__gpu_buffer *like) {
    spad__gpu_memory *memory = &g->memory;
    const spad_shape shape = {(size_t)like->rank, like->dims};
    int64_t bytes;
    for (size_t i = 0; i < memory->buffers.count; i++) {
        if (is_same_register_tile(&memory->buffers.items[i], like)) return (int32_t)i;
    }
    if (spad_shape_bytes(&bytes, shape, like->dtype, NULL) != SPAD_OK) return -1;
    if (bytes > REGISTER_TILE_BYTES - memory->register_bytes) return -1;
    if (!spad__array_reserve(g->host, &memory->buffers, 1)) {
        spad__gpu_no_memory(g);
        return -1;
    }
    memory->register_bytes += bytes;
    spad__gpu_buffer *tile = &memory->buffers.items[memory->buffers.count];
    *tile = *like;
    snprintf(tile->name, sizeof tile->name, "tile");
    return (int32_t)memory->buffers.count++;
}

/* ---- views --------------------------------------------------------------------------- */

spad__gpu_view spad__gpu_whole_view(const spad__gpu *g, int32_t buffer) {
    spad__gpu_view view = {.stage = -1, .rank = g->memory.buffers.items[buffer].rank};
    for (int d = 0; d < view.rank; d++) view.order[d] = d;
    return view;
}

void spad__gpu_cut_view(spad__gpu *g, spad__gpu_view *view, int d, spad__scalar from,
                        int64_t length) {
    if (view->length[d] > 0) {
        from = spad__scalar_make(&g->scalars, SPAD__SCALAR_ADD, view->from[d], from);
    }
    view->from[d] = from;
    view->length[d] = length;
}

spad_status spad__gpu_view_bytes(const spad__gpu *g, int32_t buffer, const spad__gpu_view *view,
                                 int64_t *bytes, spad_error *error) {
    const spad__gpu_buffer *b = &g->memory.buffers.items[buffer];
    int64_t dims[SPAD__GPU_RANK];
    for (int d = 0; d < b->rank; d++) dims[d] = spad__gpu_extent(b, view, d);
    return spad_shape_bytes(bytes, (spad_shape){(size_t)b->rank, dims}, b->dtype, error);
}
