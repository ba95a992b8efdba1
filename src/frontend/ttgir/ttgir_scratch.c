/* SPDX-License-Identifier: Apache-2.0
 *
 * Scratch memory: shared memory that an operation on registers needs while it runs, because its
 * values go from one warp to another.
 *
 * The compiler's allocation pass gives it an address ('allocation.offset'), and since 3.9 its size
 * is in the text as well ('allocation.size'). Without a size it follows from the layouts:
 *
 *     tt.reduce     elements of the tensor, with one for each warp along the axis; none where one
 *                   warp has all of the axis. (3.9 needs less where registers can be moved one
 *                   after the other: then this is an upper bound.)
 *     tt.scan       one value for each warp, lane and register beside the axis, and for each time
 *                   that the layout is repeated; none where one warp has all of the axis
 *     tt.histogram  the bins, at least as many as a warp has lanes
 *     tt.atomic_... the result, where threads that do not take part need it
 *     ttng.tensormap_create   128 bytes
 *     ttg.warp_specialize     the values that are handed over, one after the other
 *     tt.func                 a byte for each warp of the partitions
 *
 * What ttg.convert_layout and tt.gather need depends on where each element is: without the
 * compiler's pass it is not known, and spad_ttgir_info says so. With an address but no size it is
 * at most the tensor, and at most what is left up to the end of the compiler's layout.
 *
 * In the kernel it is a buffer that is written and then read. How the threads of the operation wait
 * for one another between is part of the instructions it becomes (ttgir_threads.c).
 */
#include <string.h>

#include "base/checked.h"
#include "frontend/ttgir/ttgir.h"
#include "spad/experimental/kernel_rows.h"
#include "spad/experimental/ttgir.h"

enum { SCRATCH_ALIGN = 128, CAPTURE_ALIGN = 8, WARP_LANES = 32, TENSORMAP_BYTES = 128 };
enum { SCRATCH_UNKNOWN = -1 };

/* ---- sizes ---------------------------------------------------------------------------- */

static int64_t scratch_bytes(const int64_t *dims, int rank, spad_dtype dtype) {
    const spad_shape shape = {(size_t)rank, dims};
    int64_t bytes;
    return spad_shape_bytes(&bytes, shape, dtype, NULL) == SPAD_OK ? bytes : SCRATCH_UNKNOWN;
}

/* Bytes of an element of each operand: several are reduced together. */
static int64_t element_bytes(spad__ttgir *t, const spad__mlir_op *op) {
    spad__ttgir_type type;
    int64_t sum = 0;
    for (int n = 0; spad__ttgir_nth_type(t, op, n, false, &type); n++) {
        const int64_t bytes = scratch_bytes(NULL, 0, type.dtype);
        if (bytes < 0 || !spad__add(sum, bytes, &sum)) return SCRATCH_UNKNOWN;
    }
    return sum;
}

static int64_t scratch_product(const int64_t *factors, int count) {
    int64_t product = 1;
    for (int d = 0; d < count; d++) {
        if (!spad__mul(product, factors[d], &product)) return SCRATCH_UNKNOWN;
    }
    return product;
}

static int64_t scratch_times(int64_t a, int64_t b) {
    int64_t product;
    if (a < 0 || b < 0 || !spad__mul(a, b, &product)) return SCRATCH_UNKNOWN;
    return product;
}

static int64_t reduce_bytes(spad__ttgir *t, const spad__mlir_op *op) {
    spad__ttgir_type type;
    spad__ttgir_layout l;
    int64_t axis;
    if (!spad__ttgir_read_axis(t, op, &type, &l, &axis)) return SCRATCH_UNKNOWN;
    if (l.warps[axis] == 1) return 0;
    l.shape[axis] = l.warps[axis];
    return scratch_times(scratch_product(l.shape, l.rank), element_bytes(t, op));
}

static int64_t scan_bytes(spad__ttgir *t, const spad__mlir_op *op) {
    spad__ttgir_type type;
    spad__ttgir_layout l;
    int64_t axis, count = 1;
    if (!spad__ttgir_read_axis(t, op, &type, &l, &axis) || !l.whole) return SCRATCH_UNKNOWN;
    if (l.warps[axis] == 1) return 0;
    for (int d = 0; d < l.rank; d++) {
        const int64_t once = scratch_times(l.elements[d], scratch_times(l.lanes[d], l.warps[d]));
        count = scratch_times(count, l.shape[d] / once); /* no more than the shape, by its reader */
        count = scratch_times(count, l.warps[d]);
        if (d != axis) count = scratch_times(count, scratch_times(l.lanes[d], l.elements[d]));
    }
    return scratch_times(count, element_bytes(t, op));
}

static int64_t histogram_bytes(spad__ttgir *t, const spad__mlir_op *op) {
    spad__ttgir_type type;
    if (!spad__ttgir_nth_type(t, op, 0, true, &type)) return SCRATCH_UNKNOWN;
    if (type.dims[0] < WARP_LANES) type.dims[0] = WARP_LANES;
    return scratch_bytes(type.dims, type.rank, type.dtype);
}

/* The token after "->"; op->end: none. */
static uint32_t after_arrow(const spad__ttgir *t, const spad__mlir_op *op) {
    uint32_t found = op->end;
    for (uint32_t at = op->name + 1; at + 1 < op->end; at = spad__mlir_after(t->m, op, at)) {
        if (t->m->tokens.items[at].arrow) found = at + 1;
    }
    return found;
}

/* Bytes of a number in shared memory; a bit is a byte, and a pointer is 8. */
static int64_t number_bytes(const spad__ttgir *t, uint32_t at) {
    static const struct {
        const char *name;
        int64_t bytes;
    } types[] = {{"i1", 1},    {"i8", 1},       {"i16", 2},     {"i32", 4},           {"i64", 8},
                 {"f16", 2},   {"f32", 4},      {"f64", 8},     {"bf16", 2},          {"f8E5M2", 1},
                 {"index", 8}, {"f8E4M3FN", 1}, {"!tt.ptr", 8}, {"!tt.tensordesc", 8}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (spad__mlir_is(t->m, at, types[i].name)) return types[i].bytes;
    }
    return SCRATCH_UNKNOWN;
}

/* The result of one element is handed to all threads; that of a tensor where some threads have the
 * elements of others. Nothing is where the result is not used. */
static int64_t atomic_bytes(spad__ttgir *t, const spad__mlir_op *op) {
    spad__ttgir_type type;
    spad__ttgir_layout layout;
    if (op->result_count != 1 || t->uses.used.items[op->first_result] == 0) return 0;
    const uint32_t at = after_arrow(t, op);
    if (at == op->end) return SCRATCH_UNKNOWN;
    if (!spad__mlir_is(t->m, at, "tensor")) return number_bytes(t, at);
    if (!spad__ttgir_read_type(t, at, op->end, &type) ||
        !spad__ttgir_read_layout(t, &type, &layout)) {
        return SCRATCH_UNKNOWN;
    }
    if (!layout.repeats) return layout.whole ? 0 : SCRATCH_UNKNOWN;
    return scratch_bytes(layout.shape, layout.rank, type.dtype);
}

static int64_t tensormap_bytes(spad__ttgir *t, const spad__mlir_op *op) {
    (void)t;
    (void)op;
    return TENSORMAP_BYTES;
}

/* With an address: at most all of the first operand. */
static int64_t moved_bytes(spad__ttgir *t, const spad__mlir_op *op) {
    spad__ttgir_type type;
    if (t->module.shared_bytes < 0 || !spad__ttgir_nth_type(t, op, 0, false, &type))
        return SCRATCH_UNKNOWN;
    spad__ttgir_take_part(t, &type);
    return scratch_bytes(type.dims, type.rank, type.dtype);
}

static const struct {
    const char *name;
    const char *word; /* of its statements */
    int64_t (*bytes)(spad__ttgir *t, const spad__mlir_op *op);
} scratch_ops[] = {
    {"tt.reduce", "reduce", reduce_bytes},
    {"tt.scan", "scan", scan_bytes},
    {"tt.histogram", "histogram", histogram_bytes},
    {"tt.atomic_rmw", "atomic", atomic_bytes},
    {"tt.atomic_cas", "atomic", atomic_bytes},
    {"tt.gather", "gather", moved_bytes},
    {"ttg.convert_layout", "convert", moved_bytes},
    {"ttng.tensormap_create", "tensormap", tensormap_bytes},
};

/* ---- notes ---------------------------------------------------------------------------- */

/* Knowledge about the size. */
typedef struct spad__ttgir_size {
    int64_t bytes; /* 0: it needs no memory; SCRATCH_UNKNOWN: it needs some, or may */
    bool computed; /* from layouts: the text has no size */
} spad__ttgir_size;

static spad__ttgir_size scratch_size(spad__ttgir *t, const spad__mlir_op *op, int64_t offset,
                                     int64_t (*bytes)(spad__ttgir *t, const spad__mlir_op *op)) {
    spad__ttgir_size size = {0};
    if (spad__mlir_number_of(t->m, op, "allocation.size", &size.bytes)) {
        if (size.bytes < 0) size.bytes = 0;
        return size;
    }
    if (t->module.shared_bytes >= 0 && offset < 0) return size; /* its pass gave it none */
    size = (spad__ttgir_size){bytes(t, op), true};
    if (spad__ttgir_crosses(t, op)) size.bytes = SCRATCH_UNKNOWN; /* with parts of other blocks */
    const int64_t left = offset >= 0 ? t->module.shared_bytes - offset : -1;
    if (left > 0 && (size.bytes < 0 || size.bytes > left)) size.bytes = left;
    return size;
}

/* The buffer of an operation, by one of its tokens; -1: none. One without a size that is known is
 * kept, but nothing accesses it, so it is not in the kernel. */
static int32_t scratch_buffer(spad__ttgir *t, uint32_t token, spad__ttgir_size size, int64_t offset,
                              int64_t align, const char *name) {
    bool fresh;
    if (t->g->dry || t->g->outcome == SPAD__GPU_FAILED || size.bytes == 0) return -1;
    const int32_t buffer = spad__ttgir_buffer_of(t, token, &fresh);
    if (buffer < 0) return -1;
    spad__gpu_buffer *b = &t->g->memory.buffers.items[buffer];
    if (fresh) {
        b->space = SPAD__GPU_SHARED;
        b->site = t->g->site;
        b->stream = t->g->records.stream;
        b->role = SPAD__GPU_SCRATCH;
        b->computed = size.computed;
        b->dtype = SPAD_UINT8;
        b->rank = size.bytes > 0 ? 1 : 0;
        b->dims[0] = size.bytes;
        b->offset = offset;
        b->align = align;
        memcpy(b->name, name, strlen(name) + 1);
        if (offset >= 0) t->g->memory.placed = true;
    }
    return b->rank > 0 ? buffer : -1;
}

/* An agent no longer needs the scratch memory of an operation when it begins the next one, and
 * kernels with agents have no scopes to say so: its operations share one buffer, where they have
 * one address. -1: none so far. */
static int32_t common_buffer(spad__ttgir *t, int64_t size, int64_t offset) {
    for (size_t i = t->g->cluster.first_buffer[t->g->cluster.block];
         t->g->records.has_partitions && size > 0 && i < t->g->memory.buffers.count; i++) {
        spad__gpu_buffer *b = &t->g->memory.buffers.items[i];
        if (b->role != SPAD__GPU_SCRATCH || b->rank == 0 || b->align != SCRATCH_ALIGN ||
            b->stream != t->g->records.stream || b->offset != offset) {
            continue;
        }
        if (b->dims[0] < size) b->dims[0] = size;
        return (int32_t)i;
    }
    return -1;
}

/* Bytes [from, to) of a buffer, of these blocks of the cluster as bits; `to` 0: all of it. */
static void note_part(spad__ttgir *t, int32_t buffer, int64_t from, int64_t to, unsigned kind,
                      int32_t spread, uint32_t blocks) {
    spad__ttgir_value value = spad__ttgir_whole(t, buffer);
    if (to > 0) {
        value.view.from[0] = spad__scalar_number(&t->g->scalars, from);
        value.view.length[0] = to - from;
    }
    spad__ttgir_add_accesses(t, &value, kind, blocks, spread);
}

static void note_scratch_of(spad__ttgir *t, int32_t buffer, int64_t size, const char *word,
                            unsigned kind, int32_t spread, uint32_t blocks) {
    if (buffer < 0) return;
    if (spad__gpu_add_operation(t->g, word, SPAD__GPU_NO_UNIT) == NULL) return;
    note_part(t, buffer, 0, t->g->records.has_partitions && size > 0 ? size : 0, kind, spread,
              blocks);
}

static void note_scratch(spad__ttgir *t, int32_t buffer, int64_t size, const char *word,
                         unsigned kind, int32_t spread) {
    note_scratch_of(t, buffer, size, word, kind, spread, spad__gpu_peers(t->g, 0));
}

/* The bytes that an operation reads again; some are known to be read by several warps. */
static void note_result(spad__ttgir *t, int32_t buffer, int64_t size, const char *word,
                        const spad__ttgir_exchange *by) {
    const uint32_t own = spad__gpu_peers(t->g, 0);
    if (buffer < 0) return;
    if (!t->g->records.has_barriers || by->certain <= 0 || by->certain >= size) {
        note_scratch(t, buffer, size, word, SPAD_ACCESS_READ,
                     by->certain > 0 ? SPAD__GPU_THREADS_ALL : by->reads);
        return;
    }
    if (spad__gpu_add_operation(t->g, word, SPAD__GPU_NO_UNIT) == NULL) return;
    note_part(t, buffer, 0, by->certain, SPAD_ACCESS_READ, SPAD__GPU_THREADS_ALL, own);
    note_part(t, buffer, by->certain, size, SPAD_ACCESS_READ, by->reads, own);
}

void spad__ttgir_scratch(spad__ttgir *t, const spad__mlir_op *op) {
    char name[SPAD__GPU_NAME];
    if (t->g->dry) return;
    for (size_t i = 0; i < sizeof scratch_ops / sizeof *scratch_ops; i++) {
        if (!spad__mlir_named(t->m, op, scratch_ops[i].name)) continue;
        const int64_t offset = spad__ttgir_offset(t, op);
        const spad__ttgir_size size = scratch_size(t, op, offset, scratch_ops[i].bytes);
        spad__ttgir_name(t, op, name);
        if (strcmp(name, SPAD__TTGIR_NO_NAME) == 0) strcpy(name, scratch_ops[i].word);
        int32_t buffer = common_buffer(t, size.bytes, offset);
        if (buffer < 0) buffer = scratch_buffer(t, op->name, size, offset, SCRATCH_ALIGN, name);
        const spad__ttgir_exchange by = spad__ttgir_exchange_of(t, op);
        if (by.first) spad__gpu_add_warp_barrier(t->g);
        note_scratch(t, buffer, size.bytes, scratch_ops[i].word, SPAD_ACCESS_WRITE, by.writes);
        if (buffer >= 0 && spad__ttgir_crosses(t, op)) {
            const uint32_t all = (UINT32_C(1) << t->g->cluster.count) - 1;
            spad__gpu_add_warp_barrier(t->g);
            spad__gpu_add_cluster_barrier(t->g, false);
            note_scratch_of(t, buffer, size.bytes, scratch_ops[i].word, SPAD_ACCESS_READ, by.reads,
                            all);
            return;
        }
        if (buffer >= 0 && by.meets) spad__gpu_add_warp_barrier(t->g);
        note_result(t, buffer, size.bytes, scratch_ops[i].word, &by);
        if (buffer < 0 && by.last) spad__gpu_add_warp_barrier(t->g);
        if (buffer >= 0) spad__gpu_retire_buffer(t->g, buffer);
        return;
    }
}

/* ---- partitions ------------------------------------------------------------------------ */

/* Values in a row, without gaps: a memory descriptor is an address and a number for each dimension.
 */
static int64_t bytes_of_captures(spad__ttgir *t, const spad__mlir_op *op) {
    const int32_t first = t->m->regions.items[op->first_region].next;
    int64_t sum = 0;
    if (first < 0) return 0;
    const spad__mlir_region *region = &t->m->regions.items[first];
    for (uint32_t i = 0; i < region->argument_count; i++) {
        const uint32_t at =
            t->m->values.items[t->m->arguments.items[region->first_argument + i]].type;
        spad__ttgir_type type;
        int64_t bytes = number_bytes(t, at);
        if (spad__mlir_is(t->m, at, "!ttg.memdesc")) {
            if (!spad__ttgir_read_type(t, at, region->close, &type)) return SCRATCH_UNKNOWN;
            bytes = type.tensor_memory ? 8 : 8 + 4 * (int64_t)type.rank;
        }
        if (bytes < 0 || !spad__add(sum, bytes, &sum)) return SCRATCH_UNKNOWN;
    }
    return sum;
}

/* Warps of all partitions of one operation, by "num_warps(4)". */
static int64_t partition_warps(const spad__ttgir *t, const spad__mlir_op *op) {
    int64_t sum = 0, warps;
    for (uint32_t at = op->name + 1; at + 2 < op->end; at = spad__mlir_after(t->m, op, at)) {
        if (!spad__mlir_is(t->m, at, "num_warps")) continue;
        if (spad__mlir_number(t->m, at + 2, &warps) && warps > 0 && warps <= 64) sum += warps;
    }
    return sum;
}

/* The largest number of warps that a warp_specialize of the function has. */
static int64_t states_bytes(const spad__ttgir *t) {
    int64_t most = 0;
    for (size_t i = 0; i < t->m->ops.count; i++) {
        const spad__mlir_op *op = &t->m->ops.items[i];
        if (!spad__mlir_named(t->m, op, "ttg.warp_specialize")) continue;
        const int64_t warps = partition_warps(t, op);
        if (warps > most) most = warps;
    }
    return most;
}

/* Which of the partitions' code each warp runs. */
static int32_t states_buffer(spad__ttgir *t) {
    const spad__mlir_op *function = &t->m->ops.items[t->function];
    const int64_t offset = spad__ttgir_offset(t, function);
    if (t->module.shared_bytes >= 0 && offset < 0) return -1;
    const spad__ttgir_size size = {states_bytes(t), t->module.shared_bytes < 0};
    return scratch_buffer(t, function->name, size, offset, 0, "warps");
}

static int32_t captures_buffer(spad__ttgir *t, const spad__mlir_op *op) {
    const int64_t offset = spad__ttgir_offset(t, op);
    return scratch_buffer(t, op->name, scratch_size(t, op, offset, bytes_of_captures), offset,
                          CAPTURE_ALIGN, "captures");
}

/* The partitions have read what they are handed before any of them goes on: all warps meet twice.
 */
void spad__ttgir_hand_over(spad__ttgir *t, const spad__mlir_op *op) {
    const int32_t captures = captures_buffer(t, op), states = states_buffer(t);
    note_scratch(t, captures, 0, "hand_over", SPAD_ACCESS_WRITE, SPAD__GPU_THREADS_NONE);
    note_scratch(t, states, 0, "start", SPAD_ACCESS_WRITE, SPAD__GPU_THREADS_NONE);
    note_scratch(t, states, 0, "start", SPAD_ACCESS_READ, SPAD__GPU_THREADS_NONE);
    note_scratch(t, captures, 0, "take_over", SPAD_ACCESS_READ, SPAD__GPU_THREADS_NONE);
    if (captures >= 0 && t->module.shared_bytes < 0) {
        spad__gpu_add_statement(t->g, SPAD_STATEMENT_FENCE);
    }
}

void spad__ttgir_end_partitions(spad__ttgir *t) {
    note_scratch(t, states_buffer(t), 0, "end", SPAD_ACCESS_WRITE, SPAD__GPU_THREADS_NONE);
    note_scratch(t, states_buffer(t), 0, "end", SPAD_ACCESS_READ, SPAD__GPU_THREADS_NONE);
}
