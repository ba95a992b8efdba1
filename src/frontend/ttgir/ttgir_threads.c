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

#include "frontend/ttgir/ttgir.h"

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
    if (t->module.shared_bytes < 0) return false;
    if (spad__mlir_has(t->m, module, "spad.barriers")) return true;
    for (size_t i = 0; i < t->m->ops.count; i++) {
        const spad__mlir_op *op = &t->m->ops.items[i];
        if (spad__mlir_named(t->m, op, "ttg.barrier") && spad__ttgir_is_barrier(t->m, op))
            return true;
    }
    return false;
}

static bool is_alone(const spad__ttgir *t, const spad__mlir_op *op) {
    return spad__mlir_has(t->m, op, "spad.alone");
}

void spad__ttgir_add_own_barrier(spad__ttgir *t, const spad__mlir_op *op) {
    if (!is_alone(t, op)) spad__gpu_add_warp_barrier(t->g);
}

unsigned spad__ttgir_flags_of_arrival(const spad__ttgir *t, const spad__mlir_op *op) {
    return t->g->records.has_barriers && is_alone(t, op) ? SPAD_BY_ONE : 0;
}

/* ---- accesses ------------------------------------------------------------------------- */

/* Is the view all of its tile, in the shape of the type? */
static bool is_whole_tile(const spad__ttgir *t, const spad__ttgir_type *type,
                          const spad__ttgir_value *view) {
    const spad__gpu_buffer *b = &t->g->memory.buffers.items[view->buffer];
    int64_t split[SPAD__GPU_RANK];
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
static int32_t threads_of_type(spad__ttgir *t, const spad__ttgir_type *type,
                               const spad__ttgir_value *view) {
    static const int order[SPAD__GPU_RANK] = {0, 1, 2, 3, 4, 5};
    spad__gpu_thread_map map;
    const bool whole = is_whole_tile(t, type, view);
    if (!spad__ttgir_read_map(t, type, whole ? view->view.order : order, &map)) {
        return SPAD__GPU_THREADS_UNKNOWN;
    }
    return whole || map.repeats ? spad__gpu_threads_of_map(t->g, &map) : SPAD__GPU_THREADS_UNKNOWN;
}

int32_t spad__ttgir_threads_of(spad__ttgir *t, uint32_t at, const spad__ttgir_value *view) {
    spad__ttgir_type type;
    assert(view->kind == SPAD__TTGIR_VIEW);
    if (!t->g->records.has_barriers || t->g->dry) return SPAD__GPU_THREADS_NONE;
    if (spad__gpu_is_by_lanes(t->g, view->buffer)) return SPAD__GPU_THREADS_LANES;
    if (at == 0 || !spad__ttgir_read_type(t, at, t->m->ops.items[t->g->site].end, &type)) {
        return SPAD__GPU_THREADS_UNKNOWN;
    }
    return threads_of_type(t, &type, view);
}

int32_t spad__ttgir_threads_of_pointers(spad__ttgir *t, const spad__mlir_op *op,
                                        const spad__ttgir_value *view) {
    spad__ttgir_type type;
    assert(view->kind == SPAD__TTGIR_VIEW && !t->g->dry);
    if (!t->g->records.has_barriers) return SPAD__GPU_THREADS_NONE;
    if (!spad__ttgir_read_pointers(t, op, &type)) return SPAD__GPU_THREADS_UNKNOWN;
    return threads_of_type(t, &type, view);
}

/* ---- scratch memory --------------------------------------------------------------------- */

static bool read_tensor_map(spad__ttgir *t, const spad__mlir_op *op, bool result,
                            spad__gpu_thread_map *map) {
    static const int order[SPAD__GPU_RANK] = {0, 1, 2, 3, 4, 5};
    spad__ttgir_type type;
    return spad__ttgir_nth_type(t, op, 0, result, &type) &&
           spad__ttgir_read_map(t, &type, order, map);
}

/* Each byte holds an element while it is converted: it is written by a warp that has the element
 * before, and read by those that have it after. */
static spad__ttgir_exchange exchange_of_layouts(spad__ttgir *t, const spad__mlir_op *op) {
    spad__ttgir_exchange out = {
        .writes = SPAD__GPU_THREADS_UNKNOWN, .reads = SPAD__GPU_THREADS_UNKNOWN, .meets = true};
    spad__gpu_thread_map from, to;
    if (!read_tensor_map(t, op, false, &from) || !read_tensor_map(t, op, true, &to)) return out;
    out.meets = from.repeats || to.repeats || memcmp(&from, &to, sizeof from) != 0;
    if (t->g->records.has_partitions) return out; /* several operations have one buffer */
    out.writes = from.repeats ? SPAD__GPU_THREADS_UNKNOWN : spad__gpu_threads_of_map(t->g, &from);
    out.reads = to.repeats ? SPAD__GPU_THREADS_ALL : spad__gpu_threads_of_map(t->g, &to);
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
        out->reads = SPAD__GPU_THREADS_ALL;
    } else {
        const spad_status status = spad_shape_bytes(&out->certain, one, type.dtype, NULL);
        assert(status == SPAD_OK); /* one element */
        (void)status;
    }
}

spad__ttgir_exchange spad__ttgir_exchange_of(spad__ttgir *t, const spad__mlir_op *op) {
    spad__ttgir_exchange out = {
        .writes = SPAD__GPU_THREADS_UNKNOWN, .reads = SPAD__GPU_THREADS_UNKNOWN, .meets = true};
    if (spad__mlir_named(t->m, op, "ttg.convert_layout")) return exchange_of_layouts(t, op);
    if (spad__mlir_named(t->m, op, "ttng.tensormap_create")) { /* by the first warp alone */
        return (spad__ttgir_exchange){.writes = SPAD__GPU_THREADS_ONE,
                                      .reads = SPAD__GPU_THREADS_ONE};
    }
    const bool reduces = spad__mlir_named(t->m, op, "tt.reduce");
    const bool atomic =
        spad__mlir_named(t->m, op, "tt.atomic_rmw") || spad__mlir_named(t->m, op, "tt.atomic_cas");
    if ((reduces || atomic) && gives_number(t, op)) {
        out.reads = SPAD__GPU_THREADS_ALL;
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
