/* SPDX-License-Identifier: Apache-2.0
 *
 * Which warps touch which bytes. See gpu_threads.h.
 */
#include "frontend/gpu/gpu_threads.h"

#include <assert.h>
#include <string.h>

#include "base/checked.h"
#include "frontend/gpu/gpu_program.h"

/* ---- spaces of bit vectors ----------------------------------------------------------- */

/* A vector modulo the space of rows whose highest bits differ. */
static uint64_t reduced_vector(const uint64_t *rows, int count, uint64_t vector) {
    for (int i = 0; i < count; i++) {
        if ((vector ^ rows[i]) < vector) vector ^= rows[i];
    }
    return vector;
}

/* Adds a vector to the rows, which stay fully reduced and sorted from high to low, so that each
 * space has one set of rows. False: it is in the space already. */
static bool add_vector(uint64_t *rows, int *count, uint64_t vector) {
    vector = reduced_vector(rows, *count, vector);
    if (vector == 0) return false;
    int at = *count;
    for (int i = 0; i < *count; i++) {
        if ((rows[i] ^ vector) < rows[i]) rows[i] ^= vector;
    }
    for (; at > 0 && rows[at - 1] < vector; at--) rows[at] = rows[at - 1];
    rows[at] = vector;
    ++*count;
    return true;
}

/* A row of a layout as bits of the number of an element. Bits beyond the shape move nothing. */
static uint64_t vector_of(const spad__gpu_layout *p, const int64_t *row, const int *shift) {
    uint64_t vector = 0;
    for (int d = 0; d < p->rank; d++) {
        vector |= (uint64_t)(row[d] & (p->shape[d] - 1)) << shift[d];
    }
    return vector;
}

/* Fills the space of warp 0. Bits that no row moves are registers: a layout that is smaller than
 * the tensor repeats. */
static void add_own(const spad__gpu_layout *p, const int *shift, spad__gpu_thread_map *map) {
    for (int i = 0; i < 2; i++) {
        for (size_t k = 0; k < p->own[i].count; k++) {
            add_vector(map->own, &map->own_count, vector_of(p, p->own[i].rows[k], shift));
        }
    }
    uint64_t all[SPAD__GPU_MAP_BITS];
    int count = map->own_count;
    memcpy(all, map->own, sizeof all);
    for (size_t k = 0; k < p->warps.count; k++) {
        add_vector(all, &count, vector_of(p, p->warps.rows[k], shift));
    }
    for (int bit = 0; bit < map->bits; bit++) {
        const uint64_t vector = UINT64_C(1) << bit;
        if (add_vector(all, &count, vector)) add_vector(map->own, &map->own_count, vector);
    }
}

/* Where the bits of each dimension begin in the number of an element: the last dimension of the
 * memory first. */
static bool place_dimensions(const spad__gpu_layout *layout, const int *order, int *shift,
                             int *bits) {
    int used[SPAD__GPU_RANK] = {0};
    *bits = 0;
    for (int d = 0; d < layout->rank; d++) {
        assert(order[d] >= 0 && order[d] < layout->rank);
        if (!spad__is_pow2(layout->shape[d])) return false;
        while (INT64_C(1) << used[order[d]] < layout->shape[d]) used[order[d]]++;
    }
    for (int d = layout->rank - 1; d >= 0; d--) {
        int of = 0;
        while (order[of] != d && of + 1 < layout->rank) of++;
        if (order[of] != d) return false;
        shift[of] = *bits;
        *bits += used[d];
    }
    return *bits <= SPAD__GPU_MAP_BITS;
}

bool spad__gpu_map_of_layout(const spad__gpu_layout *layout, const int *order,
                             spad__gpu_thread_map *map) {
    int shift[SPAD__GPU_RANK] = {0}; /* an order that names a dimension twice leaves one out */
    memset(map, 0, sizeof *map);     /* with its padding, as maps are compared by their bytes */
    if (!place_dimensions(layout, order, shift, &map->bits)) return false;
    add_own(layout, shift, map);
    uint64_t all[SPAD__GPU_MAP_BITS];
    int count = map->own_count;
    memcpy(all, map->own, sizeof all);
    map->warp_bits = (int)layout->warps.count;
    for (int k = 0; k < map->warp_bits; k++) {
        const uint64_t vector = vector_of(layout, layout->warps.rows[k], shift);
        map->warps[k] = reduced_vector(map->own, map->own_count, vector);
        if (!add_vector(all, &count, vector)) map->repeats = true;
    }
    return true;
}

/* ---- accesses ------------------------------------------------------------------------ */

/* The position of a map + 1; 0: no memory. */
static int32_t number_of_map(spad__gpu *g, const spad__gpu_thread_map *map) {
    for (size_t i = 0; i < g->records.thread_maps.count; i++) {
        if (memcmp(&g->records.thread_maps.items[i], map, sizeof *map) == 0) return (int32_t)i + 1;
    }
    if (!spad__array_reserve(g->host, &g->records.thread_maps, 1)) {
        spad__gpu_no_memory(g);
        return 0;
    }
    g->records.thread_maps.items[g->records.thread_maps.count++] = *map;
    return (int32_t)g->records.thread_maps.count;
}

int32_t spad__gpu_threads_of_map(spad__gpu *g, const spad__gpu_thread_map *map) {
    if (INT64_C(1) << map->warp_bits != spad__gpu_warps(g)) return SPAD__GPU_THREADS_UNKNOWN;
    return map->repeats ? SPAD__GPU_THREADS_REPEATED : number_of_map(g, map);
}

/* A warp accesses the quarter of the lanes that its number modulo 4 selects [PTX ISA, tcgen05,
 * access restrictions]. */
bool spad__gpu_is_by_lanes(const spad__gpu *g, int32_t buffer) {
    return spad__gpu_warps(g) == SPAD__GPU_GROUP_WARPS &&
           g->memory.buffers.items[buffer].space == SPAD__GPU_TMEM;
}

int32_t spad__gpu_threads_of_groups(const spad__gpu *g) {
    return spad__gpu_warps(g) > SPAD__GPU_GROUP_WARPS ? SPAD__GPU_THREADS_ALL
                                                      : SPAD__GPU_THREADS_TOGETHER;
}
