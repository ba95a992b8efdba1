/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs through a function: scalars become expressions, partitions of warps are agents, and
 * each other operation goes to the file that knows it.
 */
#include <stdio.h>
#include <string.h>

#include "frontend/ttgir/ttgir.h"

static bool run_region(spad__ttgir *t, int32_t region, const spad__mlir_op **end);

/* ---- partitions ---------------------------------------------------------------------- */

int64_t spad__ttgir_warps_of(const spad__ttgir *t, const spad__mlir_op *op, size_t which) {
    int64_t warps = 1, value;
    size_t seen = 0;
    for (uint32_t at = op->name + 1; at + 2 < op->end; at = spad__mlir_after(t->m, op, at)) {
        if (!spad__mlir_is(t->m, at, "num_warps") || seen++ != which) continue;
        if (spad__mlir_number(t->m, at + 2, &value) && value > 0 && value <= 64) warps = value;
    }
    return warps;
}

/* Number `which` of "requestedRegisters = array<i32: 24, 24>", or what a later pass made of it:
 * "actualRegisters = array<i32: 200, 24, 24>", the default warps first. */
static int64_t registers_of(const spad__ttgir *t, const spad__mlir_op *op, size_t which) {
    uint32_t at = spad__mlir_attribute(t->m, op, "actualRegisters");
    size_t seen = 0;
    int64_t value = 0;
    if (at != 0) {
        which++;
    } else {
        at = spad__mlir_attribute(t->m, op, "requestedRegisters");
    }
    for (; at != 0 && at < op->end && !spad__mlir_is_mark(t->m, at, '>'); at++) {
        if (spad__mlir_number(t->m, at, &value) && seen++ == which) return value;
    }
    return 0;
}

static bool run_partition(spad__ttgir *t, const spad__mlir_op *op, int32_t region, size_t which) {
    const spad__mlir_op *end;
    t->g->records.stream = SPAD__STREAM_PARTITION + (int)which;
    if (which + 1 >= t->g->records.agents.count) {
        if (!spad__gpu_add_agent(t->g, spad__ttgir_warps_of(t, op, which),
                                 registers_of(t, op, which)))
            return false;
        const int joins = 2 * t->g->records.partitioned + (t->g->cluster.count > 1 ? 1 : 0);
        for (int i = 0; i < joins; i++) spad__gpu_add_record(t->g, SPAD__RECORD_AGENT_BARRIER);
    }
    for (uint32_t i = 0; i < op->operand_count; i++) {
        spad__ttgir_set_argument(t, region, i, *spad__ttgir_operand(t, op, i));
    }
    return run_region(t, region, &end);
}

static void do_warp_specialize(spad__ttgir *t, const spad__mlir_op *op) {
    const int32_t self = t->g->site;
    const spad__mlir_op *end = NULL;
    size_t which = 0;
    if (!t->g->dry && t->g->records.depth > 0)
        spad__gpu_unresolved(t->g, "partitions of warps inside of a block");
    if (!t->g->dry) {
        spad__ttgir_hand_over(t, op);
        if (t->g->records.agents.count == 0 && !spad__gpu_add_agent(t->g, t->g->records.warps, 0))
            return;
        for (size_t i = 0; t->g->records.partitioned > 0 && i < t->g->records.all.count; i++) {
            spad__gpu_record *record = &t->g->records.all.items[i];
            if (record->stream == SPAD__STREAM_AFTER && record->block == t->g->cluster.block) {
                record->stream = SPAD__STREAM_DEFAULT;
            }
        }
        if (t->g->records.partitioned > 0 || t->g->cluster.count > 1)
            spad__gpu_add_agent_barrier(t->g);
        t->g->records.stream = SPAD__STREAM_DEFAULT;
    }
    if (!run_region(t, op->first_region, &end)) return;
    spad__ttgir_set_results(t, op, end);
    if (t->g->dry) return;
    for (int32_t region = spad__ttgir_region(t, op->first_region)->next; region >= 0;
         region = spad__ttgir_region(t, region)->next) {
        t->g->site = self;
        if (!run_partition(t, op, region, which++)) return;
    }
    t->g->site = self;
    spad__gpu_add_agent_barrier(t->g);
    t->g->records.partitioned++;
    t->g->records.stream = SPAD__STREAM_AFTER;
}

/* ---- operations ---------------------------------------------------------------------- */

/* "tt.load" and "tt.store" of threads. */
static void do_global(spad__ttgir *t, const spad__mlir_op *op, bool writes) {
    const spad__ttgir_value *pointer = spad__ttgir_operand(t, op, 0);
    spad__ttgir_type type;
    if (pointer->kind != SPAD__TTGIR_POINTER || pointer->buffer < 0 || t->g->dry) return;
    spad__gpu_buffer *b = &t->g->memory.buffers.items[pointer->buffer];
    if (b->rank == 0) {
        if (!spad__ttgir_read_pointers(t, op, &type)) return;
        spad__ttgir_take_part(t, &type);
        b->rank = type.rank;
        b->dtype = type.dtype;
        memcpy(b->dims, type.dims, sizeof b->dims);
    }
    spad__gpu_add_operation(t->g, writes ? "store" : "load", SPAD__GPU_NO_UNIT);
    if (writes) spad__ttgir_add_register_tile(t, pointer, SPAD_ACCESS_READ);
    spad__ttgir_add_access(t, pointer, writes ? SPAD_ACCESS_ADD : SPAD_ACCESS_READ);
    if (!writes) spad__ttgir_add_register_tile(t, pointer, SPAD_ACCESS_WRITE);
}

/* A mask is what a condition for the whole tensor was made into: "tt.splat", and "arith.andi" with
 * other masks. False: no mask. */
static bool do_mask(spad__ttgir *t, const spad__mlir_op *op) {
    const spad__ttgir_value a = *spad__ttgir_operand(t, op, 0);
    const spad__ttgir_value b = *spad__ttgir_operand(t, op, 1);
    spad__ttgir_value mask = spad__ttgir_nothing;
    mask.kind = SPAD__TTGIR_MASK;
    if (spad__mlir_named(t->m, op, "tt.splat") && spad__ttgir_is_bit(t, op)) {
        mask.scalar = a.kind == SPAD__TTGIR_SCALAR ? a.scalar : SPAD__NO_SCALAR;
    } else if (spad__mlir_named(t->m, op, "arith.andi") &&
               (a.kind == SPAD__TTGIR_MASK || b.kind == SPAD__TTGIR_MASK)) {
        mask.scalar = a.kind != SPAD__TTGIR_MASK ? b.scalar
                      : b.kind != SPAD__TTGIR_MASK
                          ? a.scalar
                          : spad__scalar_make(&t->g->scalars, SPAD__SCALAR_AND, a.scalar, b.scalar);
    } else if ((spad__mlir_named(t->m, op, "ttg.convert_layout") ||
                spad__mlir_named(t->m, op, "tt.broadcast")) &&
               a.kind == SPAD__TTGIR_MASK) {
        mask.scalar = a.scalar;
    } else {
        return false;
    }
    spad__ttgir_set(t, op, 0, mask);
    return true;
}

/* "arith.select %condition, %x, %y : !ttg.memdesc<...>". False: of something else. */
static bool choose_memory(spad__ttgir *t, const spad__mlir_op *op) {
    const spad__ttgir_value a = *spad__ttgir_operand(t, op, 1);
    const spad__ttgir_value b = *spad__ttgir_operand(t, op, 2);
    if (!spad__mlir_named(t->m, op, "arith.select")) return false;
    if (a.kind != SPAD__TTGIR_VIEW && b.kind != SPAD__TTGIR_VIEW) return false;
    const spad__scalar condition = spad__ttgir_scalar(t, op, 0);
    if (condition >= 0) spad__ttgir_set(t, op, 0, spad__ttgir_either(t, condition, a, b));
    return true;
}

/* Is there memory on chip, or a synchronisation, in what is not known? */
static bool ttgir_matters(const spad__ttgir *t, const spad__mlir_op *op) {
    for (uint32_t i = 0; i < op->operand_count; i++) {
        if (spad__ttgir_operand(t, op, i)->kind == SPAD__TTGIR_VIEW) return true;
    }
    return spad__mlir_mentions(t->m, op, "!ttg.memdesc");
}

int spad__ttgir_axis_of(const spad__ttgir *t, const spad__mlir_op *op) {
    const uint32_t at = op->name + 1 < op->end ? op->name + 1 : op->name;
    return spad__mlir_is(t->m, at, "y") ? 1 : spad__mlir_is(t->m, at, "z") ? 2 : 0;
}

static void refuse_op(spad__ttgir *t, const spad__mlir_op *op, const char *why) {
    const spad__mlir_token *name = &t->m->tokens.items[op->name];
    spad__gpu_fail(t->g, "'%.*s' %s", (int)(name->length < 60 ? name->length : 60),
                   spad__mlir_text(t->m, op->name), why);
}

/* Blocks of a cluster are read as blocks on their own. */
static bool is_remote(spad__ttgir *t, const spad__mlir_op *op) {
    char why[160];
    const char *does = spad__ttgir_remote(t, op);
    if (does == NULL && t->g->cluster.declared > SPAD__GPU_BLOCKS && spad__ttgir_joins(t, op))
        does = "has an mbarrier of several blocks of a cluster of more than 16, and works";
    if (does == NULL) return false;
    snprintf(why, sizeof why, "%s in a way that is not known; compile with num_ctas=1", does);
    refuse_op(t, op, why);
    return true;
}

static void set_scalar(spad__ttgir *t, const spad__mlir_op *op, spad__scalar scalar) {
    spad__ttgir_set(t, op, 0, spad__ttgir_of_scalar(scalar));
}

static void do_program_id(spad__ttgir *t, const spad__mlir_op *op) {
    set_scalar(t, op,
               spad__scalar_number(&t->g->scalars, t->g->grid.block[spad__ttgir_axis_of(t, op)]));
}

static void do_num_programs(spad__ttgir *t, const spad__mlir_op *op) {
    set_scalar(t, op, spad__scalar_number(&t->g->scalars, t->g->grid.size));
}

static void do_global_load(spad__ttgir *t, const spad__mlir_op *op) {
    int64_t value;
    do_global(t, op, false);
    spad__ttgir_set(t, op, 0, spad__ttgir_nothing);
    const spad__scalar loaded = spad__ttgir_loaded(t, op, &value)
                                    ? spad__scalar_number(&t->g->scalars, value)
                                    : spad__ttgir_same_load(t, op);
    if (loaded >= 0) set_scalar(t, op, loaded);
}

static void do_global_store(spad__ttgir *t, const spad__mlir_op *op) {
    do_global(t, op, true);
}

static const struct {
    const char *name;
    void (*act)(spad__ttgir *t, const spad__mlir_op *op);
    bool region; /* it has one; without, it is not known */
} actions[] = {
    {"scf.for", spad__ttgir_for, true},
    {"scf.while", spad__ttgir_while, true},
    {"scf.if", spad__ttgir_if, true},
    {"ttg.warp_specialize", do_warp_specialize, true},
    {"tt.call", spad__ttgir_call, false},
    {"tt.get_program_id", do_program_id, false},
    {"tt.get_num_programs", do_num_programs, false},
    {"tt.load", do_global_load, false},
    {"tt.store", do_global_store, false},
};

/* The result of an operation on a pointer leads to the same memory. */
static spad__ttgir_value moved_pointer(spad__ttgir *t, const spad__mlir_op *op,
                                       spad__ttgir_value pointer) {
    const spad__ttgir_value *by = spad__ttgir_operand(t, op, 1);
    const bool moves = spad__mlir_named(t->m, op, "tt.addptr") && by->kind == SPAD__TTGIR_SCALAR;
    pointer.place =
        moves ? spad__scalar_make(&t->g->scalars, SPAD__SCALAR_ADD, pointer.place, by->scalar)
              : SPAD__NO_SCALAR;
    return pointer;
}

static void run_op(spad__ttgir *t, const spad__mlir_op *op) {
    spad__scalar scalar;
    for (int32_t i = 0; i < op->result_count; i++) spad__ttgir_set(t, op, i, spad__ttgir_nothing);
    if (is_remote(t, op)) return;
    spad__ttgir_sync_blocks(t, op);
    spad__ttgir_scratch(t, op);
    spad__ttgir_record_reads(t, op);
    spad__ttgir_count_work(t, op);
    if (do_mask(t, op)) return;
    if (choose_memory(t, op)) return;
    if (spad__ttgir_arithmetic(t, op, &scalar)) {
        if (scalar >= 0) set_scalar(t, op, scalar);
        return;
    }
    const spad__ttgir_value first = *spad__ttgir_operand(t, op, 0);
    if (first.kind == SPAD__TTGIR_POINTER && op->result_count == 1) {
        spad__ttgir_set(t, op, 0, moved_pointer(t, op, first));
    }
    if (spad__ttgir_memory(t, op)) return;
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        if (!spad__mlir_named(t->m, op, actions[i].name)) continue;
        if (actions[i].region && op->first_region < 0) continue;
        actions[i].act(t, op);
        return;
    }
    if (ttgir_matters(t, op)) {
        refuse_op(t, op, "is not known, and memory on chip may depend on it");
    }
}

static bool is_end(const spad__ttgir *t, const spad__mlir_op *op) {
    return spad__mlir_named(t->m, op, "scf.yield") || spad__mlir_named(t->m, op, "tt.return") ||
           spad__mlir_named(t->m, op, "ttg.warp_yield") ||
           spad__mlir_named(t->m, op, "ttg.warp_return") ||
           spad__mlir_named(t->m, op, "scf.condition");
}

static bool run_ops(spad__ttgir *t, int32_t first, int32_t end) {
    for (int32_t number = first; number >= 0 && number != end;
         number = t->m->ops.items[number].next) {
        t->g->site = number;
        run_op(t, &t->m->ops.items[number]);
        spad__ttgir_set_bounds(t, &t->m->ops.items[number]);
        if (t->g->scalars.out_of_memory) return spad__gpu_no_memory(t->g);
        if (t->g->outcome == SPAD__GPU_FAILED) return false;
        if (t->g->outcome == SPAD__GPU_UNRESOLVED && !t->g->dry) return false;
    }
    return true;
}

/* False: stop. *end: the operation that ends the region; NULL: none does. */
static bool run_region(spad__ttgir *t, int32_t region, const spad__mlir_op **end) {
    const spad__mlir_region *r = spad__ttgir_region(t, region);
    *end = NULL;
    if (r->blocks > 0) return spad__ttgir_branches_run(t, region, end);
    int32_t last = r->first_op;
    while (last >= 0 && !is_end(t, &t->m->ops.items[last])) last = t->m->ops.items[last].next;
    if (!run_ops(t, r->first_op, last)) return false;
    if (last >= 0) {
        t->g->site = last;
        *end = &t->m->ops.items[last];
    }
    return true;
}

/* ---- the function -------------------------------------------------------------------- */

static bool set_arguments(spad__ttgir *t, int32_t region) {
    const spad__mlir_region *r = spad__ttgir_region(t, region);
    for (uint32_t i = 0; i < r->argument_count; i++) {
        const int32_t number = t->m->arguments.items[r->first_argument + i];
        const spad__mlir_value *value = &t->m->values.items[number];
        const spad__gpu_argument *argument = &t->g->arguments.items[i];
        t->values.items[number] = spad__ttgir_nothing;
        if (argument->integer) {
            t->values.items[number] =
                spad__ttgir_of_scalar(spad__scalar_argument(&t->g->scalars, i, argument->value));
        } else if (spad__mlir_is(t->m, value->type, "!tt.ptr") ||
                   spad__mlir_is(t->m, value->type, "!tt.tensordesc")) {
            bool fresh;
            const int32_t buffer = spad__ttgir_buffer_of(t, value->token, &fresh);
            if (buffer < 0) return false;
            t->g->memory.buffers.items[buffer].space = SPAD__GPU_GLOBAL;
            spad__ttgir_word_name(t, value->token, t->g->memory.buffers.items[buffer].name);
            t->values.items[number].kind = SPAD__TTGIR_POINTER;
            t->values.items[number].place = spad__scalar_number(&t->g->scalars, 0);
            t->values.items[number].buffer = buffer;
        }
    }
    return true;
}

bool spad__ttgir_find_uses(spad__ttgir *t) {
    const size_t count = t->m->values.count;
    if (!spad__array_reserve(t->g->host, &t->uses.used, count)) return false;
    if (!spad__array_reserve(t->g->host, &t->uses.givers, count)) return false;
    for (size_t i = 0; i < count; i++) t->uses.used.items[i] = 0;
    for (size_t i = 0; i < count; i++) t->uses.givers.items[i] = -1;
    for (size_t i = 0; i < t->m->operands.count; i++) {
        t->uses.used.items[t->m->operands.items[i].value]++;
    }
    for (size_t i = 0; i < t->m->ops.count; i++) {
        const spad__mlir_op *op = &t->m->ops.items[i];
        for (int32_t r = 0; r < op->result_count; r++) {
            t->uses.givers.items[op->first_result + r] = (int32_t)i;
        }
    }
    t->uses.used.count = t->uses.givers.count = count;
    return true;
}

/* No value is known. */
static bool reset_values(spad__ttgir *t) {
    const size_t count = t->m->values.count;
    t->values.count = 0;
    if (!spad__array_reserve(t->g->host, &t->values, count)) return false;
    for (size_t i = 0; i < count; i++) t->values.items[i] = spad__ttgir_nothing;
    t->values.count = count;
    t->g->records.has_partitions = t->g->cluster.count > 1;
    for (size_t i = 0; i < t->m->ops.count && !t->g->records.has_partitions; i++) {
        t->g->records.has_partitions =
            spad__mlir_named(t->m, &t->m->ops.items[i], "ttg.warp_specialize");
    }
    return true;
}

/* One block of the cluster. */
static bool run_block(spad__ttgir *t, int rank) {
    const spad__mlir_op *function = &t->m->ops.items[t->function];
    const spad__mlir_op *end;
    t->g->cluster.block = rank;
    t->g->site = t->function;
    t->g->records.stream = SPAD__STREAM_BEFORE;
    t->run_region = run_region;
    t->run_ops = run_ops;
    t->g->records.partitioned = t->g->records.depth = t->calls.depth = 0;
    t->calls.current = 0;
    t->calls.shared_base = 0;
    t->g->cluster.unannounced = t->g->cluster.init_released = false;
    t->g->records.agents.count = 0;
    t->g->cluster.first_buffer[rank] = t->g->memory.buffers.count;
    spad__index_clear(&t->g->memory.index);
    if (!reset_values(t)) return spad__gpu_no_memory(t->g);
    if (!set_arguments(t, function->first_region)) return false;
    if (!run_region(t, function->first_region, &end)) return false;
    spad__gpu_end_work(t->g);
    t->g->site = t->function;
    if (t->g->records.partitioned > 0) spad__ttgir_end_partitions(t);
    t->g->cluster.first_buffer[rank + 1] = t->g->memory.buffers.count;
    return t->g->outcome == SPAD__GPU_GOOD;
}

bool spad__ttgir_run(spad__ttgir *t) {
    for (int rank = 0; rank < t->g->cluster.count; rank++) {
        if (!run_block(t, rank)) return false;
    }
    if (t->g->cluster.count > 1) spad__gpu_align_blocks(t->g);
    return true;
}
