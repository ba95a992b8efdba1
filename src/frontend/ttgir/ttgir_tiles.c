/* SPDX-License-Identifier: Apache-2.0
 *
 * Which blocks of a grid load the same tiles: where the first load through each argument begins,
 * for one block after another. The numbers of a block are plain values here, and a tensor of
 * numbers or pointers stands for its first element. What is computed from data has no place, and
 * loops are entered once: what a loop carries is what it begins with. O(blocks x operations).
 */
#include <string.h>

#include "frontend/ttgir/ttgir.h"

enum {
    TILE_BLOCKS = 4096,
    TILE_CALLS = 256, /* that are followed in a block */
    TILE_CALLS_DEEP = 8
};

/* Elements from the start of the memory on, or the corner of a descriptor. */
typedef struct first_place {
    int rank; /* 0: not known */
    int64_t at[SPAD__GPU_RANK];
} first_place;

typedef struct tile_finder {
    spad__ttgir *t;
    first_place *places; /* of the block, by argument */
    int64_t *steps;      /* by argument, from the first block; 0: not known */
    bool first;          /* it is the first block */
    int calls;           /* of functions so far, in the block */
    int depth;           /* of calls */
} tile_finder;

static bool number_in(const tile_finder *f, const spad__ttgir_value *value, int64_t *out) {
    return value->kind == SPAD__TTGIR_SCALAR && value->scalar >= 0 &&
           spad__scalar_is_number(&f->t->g->scalars, value->scalar, out);
}

/* A pointer that is followed has its argument as its buffer. */
static bool pointer_at(const tile_finder *f, const spad__ttgir_value *value, int64_t *place) {
    return value->kind == SPAD__TTGIR_POINTER && value->place >= 0 &&
           spad__scalar_is_number(&f->t->g->scalars, value->place, place);
}

static void keep_step(tile_finder *f, int32_t argument, int64_t from, int64_t to) {
    int64_t *step = &f->steps[argument];
    if (f->first && *step == 0) *step = (int64_t)((uint64_t)to - (uint64_t)from);
}

/* ---- loads --------------------------------------------------------------------------- */

static void note_pointer_load(tile_finder *f, const spad__mlir_op *op) {
    const spad__ttgir_value *pointer = spad__ttgir_operand(f->t, op, 0);
    int64_t at;
    if (!pointer_at(f, pointer, &at)) return;
    first_place *place = &f->places[pointer->buffer];
    if (place->rank > 0 && place->at[0] != at) keep_step(f, pointer->buffer, place->at[0], at);
    if (place->rank == 0) *place = (first_place){.rank = 1, .at = {at}};
}

/* "%desc[%x, %y] %to, %barrier, %condition" */
static void note_descriptor_load(tile_finder *f, const spad__mlir_op *op) {
    const spad__mlir *m = f->t->m;
    const spad__ttgir_value *descriptor = spad__ttgir_operand(f->t, op, 0);
    first_place corner = {0};
    int64_t unused;
    if (!pointer_at(f, descriptor, &unused) || f->places[descriptor->buffer].rank > 0) return;
    uint32_t at = m->operands.items[op->first_operand].token + 1;
    if (!spad__mlir_is_mark(m, at, '[')) return;
    while (at < op->end && !spad__mlir_is_mark(m, at, ']')) at++;
    for (uint32_t i = 1; i < op->operand_count; i++) {
        if (m->operands.items[op->first_operand + i].token > at) break;
        if (corner.rank == SPAD__GPU_RANK) return;
        if (!number_in(f, spad__ttgir_operand(f->t, op, i), &corner.at[corner.rank])) return;
        corner.rank++;
    }
    f->places[descriptor->buffer] = corner;
}

/* ---- values -------------------------------------------------------------------------- */

static const char *const same_elements[] = {"tt.splat", "tt.expand_dims", "tt.broadcast",
                                            "tt.trans", "tt.reshape",     "ttg.convert_layout"};

static void set_number(tile_finder *f, const spad__mlir_op *op, int64_t value) {
    spad__ttgir_set(f->t, op, 0,
                    spad__ttgir_of_scalar(spad__scalar_number(&f->t->g->scalars, value)));
}

/* The first element of "arith.constant dense<5> : tensor<...>". */
static bool dense_constant(const spad__ttgir *t, const spad__mlir_op *op, int64_t *value) {
    const uint32_t at = spad__ttgir_constant(t, op);
    return spad__mlir_named(t->m, op, "arith.constant") && at + 2 < op->end &&
           spad__mlir_is(t->m, at, "dense") && spad__mlir_number(t->m, at + 2, value);
}

static void move_pointer(tile_finder *f, const spad__mlir_op *op) {
    spad__ttgir_value pointer = *spad__ttgir_operand(f->t, op, 0);
    int64_t from, by;
    if (!pointer_at(f, &pointer, &from) || !number_in(f, spad__ttgir_operand(f->t, op, 1), &by))
        return;
    pointer.place =
        spad__scalar_number(&f->t->g->scalars, (int64_t)((uint64_t)from + (uint64_t)by));
    spad__ttgir_set(f->t, op, 0, pointer);
}

/* The result of an operation, as far as it is a number or a pointer of this block. */
static void compute_first(tile_finder *f, const spad__mlir_op *op) {
    const spad__mlir *m = f->t->m;
    spad__scalar scalar;
    int64_t value;
    if (dense_constant(f->t, op, &value)) {
        set_number(f, op, value);
    } else if (spad__ttgir_arithmetic(f->t, op, &scalar)) {
        if (scalar >= 0 && spad__scalar_is_number(&f->t->g->scalars, scalar, &value))
            set_number(f, op, value);
    } else if (spad__mlir_named(m, op, "tt.get_program_id")) {
        set_number(f, op, f->t->g->grid.block[spad__ttgir_axis_of(f->t, op)]);
    } else if (spad__mlir_named(m, op, "tt.make_range")) {
        if (spad__mlir_number_of(m, op, "start", &value)) set_number(f, op, value);
    } else if (spad__mlir_named(m, op, "tt.addptr")) {
        move_pointer(f, op);
    }
    for (size_t i = 0; i < sizeof same_elements / sizeof *same_elements; i++) {
        if (spad__mlir_named(m, op, same_elements[i]))
            spad__ttgir_set(f->t, op, 0, *spad__ttgir_operand(f->t, op, 0));
    }
}

/* ---- one block ----------------------------------------------------------------------- */

/* A loop begins with its variable at the lower bound, and with what it carries. */
static void enter_tile_loop(tile_finder *f, const spad__mlir_op *op) {
    enum { BOUNDS = 3 };
    const spad__mlir_region *r = spad__ttgir_region(f->t, op->first_region);
    for (uint32_t i = 0; i < r->argument_count; i++) {
        const uint32_t operand = i == 0 ? 0 : BOUNDS + i - 1;
        if (operand >= op->operand_count) break;
        spad__ttgir_set_argument(f->t, op->first_region, i,
                                 *spad__ttgir_operand(f->t, op, operand));
    }
}

/* A pointer that is carried has moved when the round ends. */
static void end_tile_round(tile_finder *f, const spad__mlir_region *r, const spad__mlir_op *yield) {
    for (uint32_t i = 0; i < yield->operand_count && i + 1 < r->argument_count; i++) {
        const int32_t argument = f->t->m->arguments.items[r->first_argument + i + 1];
        const spad__ttgir_value *before = &f->t->values.items[argument];
        const spad__ttgir_value *after = spad__ttgir_operand(f->t, yield, i);
        int64_t from, to;
        if (!pointer_at(f, before, &from) || !pointer_at(f, after, &to)) continue;
        if (before->buffer == after->buffer) keep_step(f, before->buffer, from, to);
    }
}

static void look_for_tiles(tile_finder *f, int32_t region, bool is_loop);

static void follow_call(tile_finder *f, const spad__mlir_op *op) {
    const spad__mlir_op *function = spad__ttgir_function_named(f->t, spad__ttgir_symbol(f->t, op));
    if (function == NULL || f->depth == TILE_CALLS_DEEP || f->calls++ >= TILE_CALLS) return;
    const uint32_t count = spad__ttgir_region(f->t, function->first_region)->argument_count;
    for (uint32_t i = 0; i < op->operand_count && i < count; i++) {
        spad__ttgir_set_argument(f->t, function->first_region, i,
                                 *spad__ttgir_operand(f->t, op, i));
    }
    f->depth++;
    look_for_tiles(f, function->first_region, false);
    f->depth--;
}

static void look_for_tiles(tile_finder *f, int32_t region, bool is_loop) {
    const spad__mlir *m = f->t->m;
    const spad__mlir_region *r = spad__ttgir_region(f->t, region);
    for (int32_t number = r->first_op; number >= 0; number = m->ops.items[number].next) {
        const spad__mlir_op *op = &m->ops.items[number];
        const bool for_loop = spad__mlir_named(m, op, "scf.for") && op->first_region >= 0;
        compute_first(f, op);
        if (spad__mlir_named(m, op, "tt.load") ||
            spad__mlir_named(m, op, "ttg.async_copy_global_to_local")) {
            note_pointer_load(f, op);
        } else if (spad__mlir_named(m, op, "ttng.async_tma_copy_global_to_local")) {
            note_descriptor_load(f, op);
        } else if (is_loop && spad__mlir_named(m, op, "scf.yield")) {
            end_tile_round(f, r, op);
        } else if (for_loop) {
            enter_tile_loop(f, op);
        } else if (spad__mlir_named(m, op, "tt.call")) {
            follow_call(f, op);
        }
        for (int32_t inner = op->first_region; inner >= 0; inner = m->regions.items[inner].next)
            look_for_tiles(f, inner, for_loop);
    }
}

static void begin_tile_block(tile_finder *f, int64_t block) {
    spad__ttgir *t = f->t;
    const int32_t body = t->m->ops.items[t->function].first_region;
    const spad__mlir_region *r = spad__ttgir_region(t, body);
    spad__gpu_begin_pass(t->g, SPAD__GPU_CONCRETE);
    t->g->grid.block[0] = block;
    f->first = block == 0;
    f->calls = 0;
    for (size_t i = 0; i < t->values.count; i++) t->values.items[i] = spad__ttgir_nothing;
    for (uint32_t i = 0; i < r->argument_count; i++) {
        const spad__gpu_argument *argument = &t->g->arguments.items[i];
        const spad__scalar number =
            spad__scalar_number(&t->g->scalars, argument->integer ? argument->value : 0);
        spad__ttgir_value value = spad__ttgir_of_scalar(number);
        if (!argument->integer) {
            value = spad__ttgir_nothing;
            value.kind = SPAD__TTGIR_POINTER;
            value.place = number;
            value.buffer = (int32_t)i;
        }
        spad__ttgir_set_argument(t, body, i, value);
    }
}

/* ---- all blocks ---------------------------------------------------------------------- */

static bool is_same_place(const first_place *a, const first_place *b) {
    return a->rank == b->rank && memcmp(a->at, b->at, sizeof a->at) == 0;
}

/* Half of a block is left out where the number of blocks that have it is even. */
static int64_t rounded_share(int64_t blocks, int64_t different) {
    const int64_t whole = blocks / different, twice = 2 * (blocks % different);
    return whole + (twice > different || (twice == different && whole % 2 == 1) ? 1 : 0);
}

/* How many of `count` blocks have one place, and how many of them are neighbours. */
static void compare_blocks(spad_ttgir_tile *tile, const first_place *places, size_t stride,
                           int64_t count) {
    int64_t different = 0, run = 0;
    for (int64_t i = 0; i < count; i++) {
        const first_place *place = &places[(size_t)i * stride];
        bool known = false;
        for (int64_t k = 0; k < i && !known; k++)
            known = is_same_place(&places[(size_t)k * stride], place);
        if (!known) different++;
        run = i > 0 && is_same_place(place - stride, place) ? run + 1 : 1;
        if (run > tile->near) tile->near = run;
    }
    tile->reused = rounded_share(count, different);
    if (tile->reused < 1) tile->reused = 1;
}

static bool is_known_everywhere(const first_place *places, size_t stride, int64_t blocks) {
    for (int64_t i = 0; i < blocks; i++)
        if (places[(size_t)i * stride].rank == 0) return false;
    return true;
}

spad_status spad__ttgir_find_tiles(spad__ttgir *t, int64_t blocks, spad_ttgir_tile *tiles,
                                   size_t room, size_t *count, spad_error *error) {
    spad__arena arena = {.host = *t->g->host};
    const size_t arguments = t->g->arguments.count;
    const int32_t body = t->m->ops.items[t->function].first_region;
    const uint32_t first = spad__ttgir_region(t, body)->first_argument;
    if (blocks < 1 || blocks > TILE_BLOCKS) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "%lld blocks: 1 to %d are compared",
                          (long long)blocks, TILE_BLOCKS);
    }
    first_place *places =
        spad__arena_array(&arena, (arguments + 1) * (size_t)blocks, sizeof *places);
    tile_finder f = {.t = t, .steps = spad__arena_array(&arena, arguments + 1, sizeof *f.steps)};
    if (places == NULL || f.steps == NULL ||
        !spad__array_reserve(t->g->host, &t->values, t->m->values.count)) {
        spad__arena_free(&arena);
        return spad__fail_host_memory(error);
    }
    t->values.count = t->m->values.count;
    bool fine = true;
    for (int64_t i = 0; i < blocks && fine; i++) {
        f.places = places + (size_t)i * arguments;
        begin_tile_block(&f, i);
        look_for_tiles(&f, body, false);
        fine = !t->g->scalars.out_of_memory;
    }
    for (size_t a = 0; fine && a < arguments && *count < room; a++) {
        if (!is_known_everywhere(places + a, arguments, blocks)) continue;
        spad_ttgir_tile *tile = &tiles[(*count)++];
        *tile = (spad_ttgir_tile){.step = f.steps[a]};
        spad__ttgir_word_name(t, t->m->values.items[t->m->arguments.items[first + a]].token,
                              tile->name);
        compare_blocks(tile, places + a, arguments, blocks);
    }
    spad__arena_free(&arena);
    return fine ? SPAD_OK : spad__fail_host_memory(error);
}
