/* SPDX-License-Identifier: Apache-2.0
 *
 * Warps of a partition: which of them access which bytes of shared and tensor memory, and where
 * they meet.
 *
 * Triton's passes `membar`, for shared memory, and `tmem_barrier_insertion` put barriers between
 * the warps of a partition, after addresses are known. Where the text has both, the kernel has a
 * `sync` for each barrier, for those of the text and for those that are part of an operation, and
 * each access to shared memory says which warps make it:
 *
 *     ttg.local_load, ttg.local_store, ttg.local_alloc with a value, ttg.async_copy_...
 *                              by the layout of the tensor in registers
 *     ttng.warp_group_dot      a group of four warps together; all where there are several groups
 *     TMA copies, tcgen05      one thread
 *     ttng.tmem_load, ttng.tmem_store, ttng.tmem_alloc with a value
 *                              by lanes where there are four warps, else by the layout
 *     scratch memory           by the layouts of a conversion; a number that is the result of a
 *                              reduction or of an atomic operation is read by all, and so is the
 *                              first element of a reduction to a tensor, because its layout is that
 *                              of the operand without the axis, which several warps share, and
 *                              what the warps of a scan hand on; a descriptor is made by the first
 *                              warp, whose threads issue TMA copies too
 *
 * Everything else is unknown, including parts of a tile. Operations that meet (BarrierOpToLLVM.cpp
 * and Membar.cpp of Triton 3.9): arrivals and expectations, before they arrive; tcgen05.commit; a
 * wait for products of several groups of warps, unless it is for the own group alone; atomic
 * operations by their order; those with scratch memory, between the write and the read, unless a
 * conversion moves nothing between warps.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "read/ttgir.h"

enum { GROUP_WARPS = 4 };

/* ---- meetings ------------------------------------------------------------------------- */

bool spad__ttgir_is_barrier(const spad__mlir *m, const spad__mlir_op *op) {
    if (spad__mlir_named(m, op, "gpu.barrier") || spad__mlir_named(m, op, "ttng.cluster_barrier")) {
        return true;
    }
    assert(spad__mlir_named(m, op, "ttg.barrier"));
    return spad__mlir_mentions(m, op, "local") || spad__mlir_mentions(m, op, "all");
}

bool spad__ttgir_has_barriers(const spad__ttgir *t, const spad__mlir_op *module) {
    if (t->shared_bytes < 0) return false;
    if (spad__mlir_has(t->m, module, "spad.barriers")) return true;
    for (size_t i = 0; i < t->m->ops.count; i++) {
        const spad__mlir_op *op = &t->m->ops.items[i];
        if (spad__mlir_named(t->m, op, "ttg.barrier") && spad__ttgir_is_barrier(t->m, op))
            return true;
    }
    return false;
}

/* Of the partition that is run. */
static int64_t warps_here(const spad__ttgir *t) {
    const int agent = t->stream - SPAD__STREAM_DEFAULT;
    assert(agent < 0 || (size_t)agent < t->agents.count);
    return agent >= 0 ? t->agents.items[agent].warps : t->warps;
}

void spad__ttgir_note_meet(spad__ttgir *t) {
    if (t->meets && warps_here(t) > 1) spad__ttgir_note_add(t, SPAD__NOTE_MEET);
}

static bool is_alone(const spad__ttgir *t, const spad__mlir_op *op) {
    return spad__mlir_has(t->m, op, "spad.alone");
}

void spad__ttgir_note_own_meet(spad__ttgir *t, const spad__mlir_op *op) {
    if (!is_alone(t, op)) spad__ttgir_note_meet(t);
}

unsigned spad__ttgir_flags_of_arrival(const spad__ttgir *t, const spad__mlir_op *op) {
    return t->meets && is_alone(t, op) ? SPAD_BY_ONE : 0;
}

/* ---- accesses ------------------------------------------------------------------------- */

void spad__ttgir_note_spread(spad__ttgir *t, int32_t spread) {
    if (!t->meets || t->dry || t->failed || warps_here(t) == 1) return;
    assert(t->notes.count > 0 && t->notes.items[t->notes.count - 1].access_count > 0);
    spad__ttgir_access *access = &t->accesses.items[t->accesses.count - 1];
    spad__ttgir_buffer *b = &t->buffers.items[access->buffer];
    assert(b->space == SPAD__TTGIR_SHARED || b->space == SPAD__TTGIR_TMEM);
    access->spread = spread;
    if (spread == SPAD__SPREAD_REPEATED && (access->kind & SPAD_ACCESS_WRITE) != 0) {
        b->repeats = true;
    }
}

/* The number of a map, from 1 on; 0: no memory. */
static int32_t number_of_map(spad__ttgir *t, const spad__ttgir_map *map) {
    for (size_t i = 0; i < t->maps.count; i++) {
        if (memcmp(&t->maps.items[i], map, sizeof *map) == 0) return (int32_t)i + 1;
    }
    if (!spad__array_reserve(t->host, &t->maps, 1)) {
        spad__ttgir_no_memory(t);
        return 0;
    }
    t->maps.items[t->maps.count++] = *map;
    return (int32_t)t->maps.count;
}

static int32_t spread_of_map(spad__ttgir *t, const spad__ttgir_map *map) {
    if (INT64_C(1) << map->warp_bits != warps_here(t)) return SPAD__SPREAD_UNKNOWN;
    return map->repeats ? SPAD__SPREAD_REPEATED : number_of_map(t, map);
}

/* A warp accesses a quarter of the lanes of tensor memory, by its number modulo 4 [PTX ISA,
 * tcgen05, access restrictions]: of four warps each has its own, whatever the layout. */
static bool is_by_lanes(const spad__ttgir *t, const spad__ttgir_value *view) {
    return warps_here(t) == GROUP_WARPS && t->buffers.items[view->buffer].space == SPAD__TTGIR_TMEM;
}

/* Is the view all of its tile, in the shape of the type? */
static bool is_whole_tile(const spad__ttgir *t, const spad__ttgir_type *type,
                          const spad__ttgir_value *view) {
    const spad__ttgir_buffer *b = &t->buffers.items[view->buffer];
    int64_t split[SPAD__TTGIR_RANK];
    if (b->folded || view->view.reshaped || view->view.bits != 0) return false;
    if (b->rank != type->rank || view->view.rank != type->rank) return false;
    spad__ttgir_split(t, type->encoding, type->rank, split);
    for (int d = 0; d < type->rank; d++) {
        const int own = view->view.order[d];
        if (view->view.length[own] != 0 || b->dims[own] != type->dims[d] / split[d]) return false;
    }
    return true;
}

/* A part of a tile has no map of the tile; but where the warps repeat one another, they do so with
 * each element. */
static int32_t spread_of_type(spad__ttgir *t, const spad__ttgir_type *type,
                              const spad__ttgir_value *view) {
    static const int order[SPAD__TTGIR_RANK] = {0, 1, 2, 3, 4, 5};
    spad__ttgir_map map;
    const bool whole = is_whole_tile(t, type, view);
    if (!spad__ttgir_read_map(t, type, whole ? view->view.order : order, &map)) {
        return SPAD__SPREAD_UNKNOWN;
    }
    return whole || map.repeats ? spread_of_map(t, &map) : SPAD__SPREAD_UNKNOWN;
}

int32_t spad__ttgir_spread_of(spad__ttgir *t, uint32_t at, const spad__ttgir_value *view) {
    spad__ttgir_type type;
    assert(view->kind == SPAD__TTGIR_VIEW);
    if (!t->meets || t->dry) return SPAD__SPREAD_NONE;
    if (is_by_lanes(t, view)) return SPAD__SPREAD_LANES;
    if (at == 0 || !spad__ttgir_read_type(t, at, t->m->ops.items[t->op].end, &type)) {
        return SPAD__SPREAD_UNKNOWN;
    }
    return spread_of_type(t, &type, view);
}

int32_t spad__ttgir_spread_of_pointers(spad__ttgir *t, const spad__mlir_op *op,
                                       const spad__ttgir_value *view) {
    spad__ttgir_type type;
    assert(view->kind == SPAD__TTGIR_VIEW && !t->dry);
    if (!t->meets) return SPAD__SPREAD_NONE;
    if (!spad__ttgir_read_pointers(t, op, &type)) return SPAD__SPREAD_UNKNOWN;
    return spread_of_type(t, &type, view);
}

int32_t spad__ttgir_spread_of_groups(const spad__ttgir *t) {
    return warps_here(t) > GROUP_WARPS ? SPAD__SPREAD_ALL : SPAD__SPREAD_TOGETHER;
}

/* ---- scratch memory --------------------------------------------------------------------- */

static bool read_tensor_map(spad__ttgir *t, const spad__mlir_op *op, bool result,
                            spad__ttgir_map *map) {
    static const int order[SPAD__TTGIR_RANK] = {0, 1, 2, 3, 4, 5};
    spad__ttgir_type type;
    return spad__ttgir_nth_type(t, op, 0, result, &type) &&
           spad__ttgir_read_map(t, &type, order, map);
}

/* Each byte holds an element while it is converted: it is written by a warp that has the element
 * before, and read by those that have it after. */
static spad__ttgir_exchange exchange_of_layouts(spad__ttgir *t, const spad__mlir_op *op) {
    spad__ttgir_exchange out = {
        .writes = SPAD__SPREAD_UNKNOWN, .reads = SPAD__SPREAD_UNKNOWN, .meets = true};
    spad__ttgir_map from, to;
    if (!read_tensor_map(t, op, false, &from) || !read_tensor_map(t, op, true, &to)) return out;
    out.meets = from.repeats || to.repeats || memcmp(&from, &to, sizeof from) != 0;
    if (t->specialised) return out; /* several operations have one buffer */
    out.writes = from.repeats ? SPAD__SPREAD_UNKNOWN : spread_of_map(t, &from);
    out.reads = to.repeats ? SPAD__SPREAD_ALL : spread_of_map(t, &to);
    return out;
}

static bool gives_number(const spad__ttgir *t, const spad__mlir_op *op) {
    return spad__ttgir_nth_tensor(t, op, 0, true) == 0;
}

/* Scratch memory is for values that go from warp to warp along the axis: the warps of a reduction
 * have the same elements of the result, each in all warps that differ along the axis, and those of
 * a scan read what all of them have written [ReduceOpToLLVM.cpp, ScanOpToLLVM.cpp]. It is known
 * where element 0 is: at the first byte. */
static void exchange_along_axis(spad__ttgir *t, const spad__mlir_op *op,
                                spad__ttgir_exchange *out) {
    const spad_shape one = {0};
    spad__ttgir_type type;
    spad__ttgir_layout layout;
    int64_t axis;
    if (!spad__ttgir_read_axis(t, op, &type, &layout, &axis) || layout.warps[axis] < 2) return;
    if (spad__mlir_named(t->m, op, "tt.scan")) {
        out->reads = SPAD__SPREAD_ALL;
    } else {
        const spad_status status = spad_shape_bytes(&out->certain, one, type.dtype, NULL);
        assert(status == SPAD_OK); /* one element */
        (void)status;
    }
}

spad__ttgir_exchange spad__ttgir_exchange_of(spad__ttgir *t, const spad__mlir_op *op) {
    spad__ttgir_exchange out = {
        .writes = SPAD__SPREAD_UNKNOWN, .reads = SPAD__SPREAD_UNKNOWN, .meets = true};
    if (spad__mlir_named(t->m, op, "ttg.convert_layout")) return exchange_of_layouts(t, op);
    if (spad__mlir_named(t->m, op, "ttng.tensormap_create")) { /* by the first warp alone */
        return (spad__ttgir_exchange){.writes = SPAD__SPREAD_ONE, .reads = SPAD__SPREAD_ONE};
    }
    const bool reduces = spad__mlir_named(t->m, op, "tt.reduce");
    const bool atomic =
        spad__mlir_named(t->m, op, "tt.atomic_rmw") || spad__mlir_named(t->m, op, "tt.atomic_cas");
    if ((reduces || atomic) && gives_number(t, op)) {
        out.reads = SPAD__SPREAD_ALL;
    } else if (reduces || spad__mlir_named(t->m, op, "tt.scan")) {
        exchange_along_axis(t, op, &out);
    }
    if (atomic) {
        /* "atomic_rmw fadd, acq_rel, gpu, %p, %x" */
        const bool both = spad__mlir_mentions(t->m, op, "acq_rel");
        out.first = both || spad__mlir_mentions(t->m, op, "release");
        out.last = both || spad__mlir_mentions(t->m, op, "acquire");
    }
    return out;
}

/* ---- words ---------------------------------------------------------------------------- */

const char *spad__ttgir_spread_word(const spad__ttgir *t, const spad__ttgir_access *access,
                                    char *name, size_t size) {
    switch (access->spread) {
    case SPAD__SPREAD_NONE: return NULL;
    case SPAD__SPREAD_ALL: return "all";
    case SPAD__SPREAD_ONE: return "one";
    case SPAD__SPREAD_TOGETHER: return "together";
    case SPAD__SPREAD_LANES: return "lanes";
    case SPAD__SPREAD_UNKNOWN: return "unknown";
    case SPAD__SPREAD_REPEATED:
        /* where several warps write the same elements, each of them has what it reads of them */
        return t->buffers.items[access->buffer].repeats ? "unknown" : "all";
    default: snprintf(name, size, "map%d", (int)access->spread); return name;
    }
}
