/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies of boxes of tensors: cp.async.bulk.tensor, cp.reduce.async.bulk.tensor.
 *
 * A copy to shared memory always writes and delivers the whole box: elements outside of the tensor
 * are filled, and taken as unknown. A copy to global memory reads what the tensor has of its box.
 * Data is moved for boxes of whole bytes whose coordinates are known; what another copy writes is
 * unknown afterwards.
 *
 * Reference: PTX ISA 9.0, sections 5.5 (tensors), 9.7.9.27 (tensor copies).
 */
#include "frontend/ptx/run/ptx_copy.h"
#include "frontend/ptx/run/ptx_memory.h"

enum { TENSOR_COPY_TENSOR_ALIGN = 128, TENSOR_COPY_GATHERED_ROWS = 4 };

/* ---- maps ------------------------------------------------------------------------------------ */

static const spad__tensor_map *tensor_copy_find_map(const spad__ptx_machine *m,
                                                    spad__ptx_place place) {
    const spad__ptx_launch *launch = m->launch;
    for (size_t n = 0; n < launch->map_count; n++) {
        const uint64_t address = launch->maps[n].address;
        const bool is_parameter = place.space == SPAD__PTX_PARAM;
        if (is_parameter ? address == SPAD__PTX_PARAM_BASE + (uint64_t)place.offset
                         : address == (uint64_t)place.offset) {
            return &launch->maps[n].map;
        }
    }
    return NULL;
}

/* The map of a lane. NULL: none, or one that no copy can use; a remark says why. */
static const spad__tensor_map *tensor_copy_get_map(spad__ptx_machine *m, spad__ptx_warp *w,
                                                   const spad__ptx_places *places, int lane) {
    if ((places->known >> lane & 1) == 0) return NULL;
    const spad__ptx_place place = places->at[lane];
    const spad__tensor_map *map = tensor_copy_find_map(m, place);
    if (map == NULL) {
        spad__ptx_remark_at(m, w, SPAD__PTX_UNKNOWN_OPERAND, lane, (uint64_t)place.offset, 0,
                            "no tensor map is known at this address: taken as what the mbarrier "
                            "waits for");
        return NULL;
    }
    const char *fault = spad__tensor_map_fault(map);
    if (fault == NULL) return map;
    spad__ptx_remark_at(m, w, SPAD__PTX_BAD_DESCRIPTOR, lane, (uint64_t)place.offset, 0,
                        "the tensor map %s", fault);
    return NULL;
}

static int tensor_copy_dims_of(const spad__ptx_instruction *i) {
    static const spad__ptx_word words[] = {SPAD__PTX_WORD_ND1, SPAD__PTX_WORD_ND2,
                                           SPAD__PTX_WORD_ND3, SPAD__PTX_WORD_ND4,
                                           SPAD__PTX_WORD_ND5};
    for (int n = 0; n < SPAD__TENSOR_MAP_DIMS; n++) {
        if (spad__ptx_has(i, words[n])) return n + 1;
    }
    return 0;
}

static bool tensor_copy_is_gathered(const spad__ptx_instruction *i) {
    return spad__ptx_has(i, SPAD__PTX_WORD_TILE_GATHER4) ||
           spad__ptx_has(i, SPAD__PTX_WORD_TILE_SCATTER4);
}

static bool tensor_copy_is_tile(const spad__ptx_instruction *i) {
    return !tensor_copy_is_gathered(i) && !spad__ptx_has(i, SPAD__PTX_WORD_IM2COL) &&
           !spad__ptx_has(i, SPAD__PTX_WORD_IM2COL_W) &&
           !spad__ptx_has(i, SPAD__PTX_WORD_IM2COL_W_128) &&
           !spad__ptx_has(i, SPAD__PTX_WORD_IM2COL_NO_OFFS);
}

/* The box that a copy moves: of a gather, four rows. */
static spad__tensor_map tensor_copy_box_of(spad__ptx_machine *m, spad__ptx_warp *w,
                                           const spad__ptx_instruction *i,
                                           const spad__tensor_map *map, int lane) {
    spad__tensor_map box = *map;
    if (tensor_copy_is_gathered(i) && box.dims == 2) box.box[1] = TENSOR_COPY_GATHERED_ROWS;
    if (tensor_copy_is_tile(i) && tensor_copy_dims_of(i) != map->dims) {
        spad__ptx_remark_at(m, w, SPAD__PTX_BAD_DESCRIPTOR, lane, 0, 0,
                            "the copy is of %d dimensions, and the tensor map of %d",
                            tensor_copy_dims_of(i), map->dims);
    }
    if (!tensor_copy_is_tile(i)) {
        spad__ptx_remark_at(m, w, SPAD__PTX_APPROXIMATED, lane, 0, 0,
                            "the bytes of an im2col, gather or scatter copy are those of its box");
    }
    return box;
}

static void tensor_copy_add_run(void *context, int64_t begin, int64_t end) {
    spad__ptx_machine *m = context;
    spad__ptx_add_run(m, begin, end);
}

/* ---- data ------------------------------------------------------------------------------------ */

/* The coordinates of a lane; false: not all are known. */
static bool tensor_copy_get_coordinates(const spad__ptx_machine *m, const spad__ptx_warp *w,
                                        const spad__ptx_operand *operand, int lane, int dims,
                                        int64_t *out) {
    if (operand == NULL || operand->count < dims) return false;
    for (int d = 0; d < dims; d++) {
        spad__ptx_value value;
        spad__ptx_get(m, w, &m->module->operands.items[operand->first + d], SPAD__PTX_S32, &value);
        if ((value.known >> lane & 1) == 0) return false;
        out[d] = (int32_t)(uint32_t)value.lanes[lane];
    }
    return true;
}

/* Where in its tensor a plain box begins. False: not known, or the copy has no such box. */
static bool tensor_copy_get_box(const spad__ptx_machine *m, const spad__ptx_warp *w,
                                const spad__ptx_instruction *i, const spad__ptx_operand *operand,
                                int lane, const spad__tensor_map *box, int64_t *out) {
    return tensor_copy_is_tile(i) && !box->interleaved && box->element_bits % 8 == 0 &&
           tensor_copy_get_coordinates(m, w, operand, lane, box->dims, out);
}

/* A copy whose data is moved. */
typedef struct tensor_copy_moved {
    spad__ptx_machine *machine;
    spad__ptx_warp *warp;
    int32_t cta;
    bool loads;
    bool adds; /* a reduction: its result is not known */
} tensor_copy_moved;

static void tensor_copy_move_piece(void *context, int64_t begin, int64_t end, uint64_t address) {
    const tensor_copy_moved *c = context;
    const spad__ptx_place shared = {SPAD__PTX_SHARED, c->cta, begin};
    const spad__ptx_place global = {SPAD__PTX_GLOBAL, 0, (int64_t)address};
    const int64_t bytes = end - begin;
    if (c->adds || !spad__ptx_is_shared(c->machine, shared, bytes)) {
        spad__ptx_forget_bytes(c->machine, c->loads ? shared : global, bytes);
    } else if (spad__ptx_find(c->machine, c->warp, 0, global, bytes).bytes != NULL) {
        spad__ptx_move_bytes(c->machine, c->warp, c->loads ? global : shared,
                             c->loads ? shared : global, bytes, bytes);
    }
}

/* Does the launch give contents to the tensor of a map? */
static bool tensor_copy_has_data(spad__ptx_machine *m, const spad__ptx_warp *w,
                                 const spad__tensor_map *map) {
    const spad__ptx_place first = {SPAD__PTX_GLOBAL, 0, (int64_t)map->address};
    return spad__ptx_find(m, w, 0, first, 1).bytes != NULL;
}

/* ---- copies to shared memory ----------------------------------------------------------------- */

/* from NULL: the coordinates are not known, or the copy is not of a plain box. */
static spad__ptx_outcome tensor_copy_load_to_cta(spad__ptx_machine *m, spad__ptx_warp *w,
                                                 const spad__ptx_delivery *d,
                                                 const spad__tensor_map *box, const int64_t *from,
                                                 int32_t cta) {
    spad__ptx_place to = d->to;
    int64_t rows = 1;
    to.cta = cta;
    spad__ptx_begin_event(m, w, UINT32_C(1) << d->lane, SPAD__PTX_ACCESS)->unit = SPAD__PTX_BULK;
    spad__ptx_add_access(m, SPAD__PTX_WRITE, false, cta);
    if (box == NULL || d->there < d->bytes) {
        spad__ptx_add_place(m, to, d->there);
        spad__ptx_forget_bytes(m, to, d->there);
    } else {
        const int64_t span = spad__tensor_map_span(box);
        for (int n = 1; n < box->dims; n++) rows *= box->box[n];
        spad__tensor_map_runs(box, to.offset, NULL, tensor_copy_add_run, m);
        spad__ptx_forget_bytes(m, to, span > 0 ? rows * span : d->bytes);
        tensor_copy_moved moved = {.machine = m, .warp = w, .cta = cta, .loads = true};
        if (from != NULL && tensor_copy_has_data(m, w, box))
            spad__tensor_map_pieces(box, to.offset, from, tensor_copy_move_piece, &moved);
    }
    return spad__ptx_end_delivery(m, d, cta);
}

static spad__ptx_outcome tensor_copy_load_one(spad__ptx_machine *m, spad__ptx_warp *w,
                                              const spad__ptx_instruction *i, spad__ptx_delivery *d,
                                              const spad__tensor_map *map) {
    const bool has_offsets =
        i->count > 3 && spad__ptx_operand_at(m, i, 3)->kind == SPAD__PTX_VECTOR;
    const spad__ptx_operand *mask = spad__ptx_operand_at(m, i, has_offsets ? 4 : 3);
    spad__tensor_map box = {0};
    int64_t at[SPAD__TENSOR_MAP_DIMS];
    bool plain = false;
    if (map != NULL) {
        box = tensor_copy_box_of(m, w, i, map, d->lane);
        plain = tensor_copy_get_box(m, w, i, spad__ptx_operand_at(m, i, 1), d->lane, &box, at);
        d->bytes = spad__tensor_map_box_bytes(&box);
    } else {
        d->bytes = spad__ptx_outstanding(m, d);
    }
    d->ctas = spad__ptx_copy_ctas(m, w, i, mask, d->lane, d->to.cta);
    d->pair = spad__ptx_has(i, SPAD__PTX_WORD_CTA_GROUP_2);
    d->there = spad__ptx_check_copy(m, w, d->lane, d->to, TENSOR_COPY_TENSOR_ALIGN, d->bytes);
    for (uint32_t ctas = d->ctas; ctas != 0; ctas &= ctas - 1) {
        const int32_t cta = spad__ptx_first_lane(ctas);
        if (tensor_copy_load_to_cta(m, w, d, map == NULL ? NULL : &box, plain ? at : NULL, cta) !=
            SPAD__PTX_DONE) {
            return SPAD__PTX_FAILED;
        }
    }
    return SPAD__PTX_DONE;
}

static spad__ptx_outcome tensor_copy_run_load(spad__ptx_machine *m, spad__ptx_warp *w,
                                              const spad__ptx_instruction *i, uint32_t lanes) {
    spad__ptx_places to;
    spad__ptx_places maps;
    spad__ptx_places barriers;
    spad__ptx_get_shared(m, w, spad__ptx_operand_at(m, i, 0), SPAD__PTX_SHARED_CLUSTER, lanes, 1,
                         &to);
    spad__ptx_get_places(m, w, spad__ptx_operand_at(m, i, 1), SPAD__PTX_NO_SPACE, lanes, &maps);
    spad__ptx_get_shared(m, w, spad__ptx_operand_at(m, i, 2), SPAD__PTX_SHARED_CLUSTER, lanes, 8,
                         &barriers);
    for (uint32_t left = to.known & barriers.known; left != 0; left &= left - 1) {
        const int lane = spad__ptx_first_lane(left);
        spad__ptx_delivery d = {.lane = lane, .to = to.at[lane], .barrier = barriers.at[lane]};
        if (tensor_copy_load_one(m, w, i, &d, tensor_copy_get_map(m, w, &maps, lane)) !=
            SPAD__PTX_DONE) {
            return SPAD__PTX_FAILED;
        }
    }
    return SPAD__PTX_DONE;
}

/* ---- copies to global memory ----------------------------------------------------------------- */

static spad__ptx_outcome tensor_copy_store_one(spad__ptx_machine *m, spad__ptx_warp *w,
                                               const spad__ptx_instruction *i, int lane,
                                               spad__ptx_place from, const spad__tensor_map *map) {
    int64_t at[SPAD__TENSOR_MAP_DIMS];
    spad__tensor_map box = {0};
    bool forgotten = true;
    if (map != NULL) box = tensor_copy_box_of(m, w, i, map, lane);
    spad__ptx_check_copy(m, w, lane, from, TENSOR_COPY_TENSOR_ALIGN,
                         map != NULL ? spad__tensor_map_box_bytes(&box) : 0);
    spad__ptx_event *event = spad__ptx_begin_event(m, w, UINT32_C(1) << lane, SPAD__PTX_ACCESS);
    event->unit = SPAD__PTX_BULK;
    event->group = SPAD__PTX_GROUP_BULK;
    if (map == NULL) {
        forgotten = spad__ptx_forget_global(m);
    } else {
        const spad__ptx_operand *operand = spad__ptx_operand_at(m, i, 0);
        const bool clipped = tensor_copy_is_tile(i) &&
                             tensor_copy_get_coordinates(m, w, operand, lane, box.dims, at);
        spad__ptx_add_access(m, SPAD__PTX_READ, false, from.cta);
        spad__tensor_map_runs(&box, from.offset, clipped ? at : NULL, tensor_copy_add_run, m);
        tensor_copy_moved moved = {.machine = m,
                                   .warp = w,
                                   .cta = from.cta,
                                   .adds = i->op != SPAD__PTX_OP_CP_ASYNC_BULK_TENSOR};
        if (!tensor_copy_get_box(m, w, i, operand, lane, &box, at)) {
            forgotten = spad__ptx_forget_global(m);
        } else if (tensor_copy_has_data(m, w, &box)) {
            spad__tensor_map_pieces(&box, from.offset, at, tensor_copy_move_piece, &moved);
        }
    }
    return forgotten ? spad__ptx_end_event(m) : SPAD__PTX_FAILED;
}

static spad__ptx_outcome tensor_copy_run_store(spad__ptx_machine *m, spad__ptx_warp *w,
                                               const spad__ptx_instruction *i, uint32_t lanes) {
    spad__ptx_places from;
    spad__ptx_places maps;
    spad__ptx_get_places(m, w, spad__ptx_operand_at(m, i, 0), SPAD__PTX_NO_SPACE, lanes, &maps);
    spad__ptx_get_shared(m, w, spad__ptx_operand_at(m, i, 1), SPAD__PTX_SHARED, lanes, 1, &from);
    for (uint32_t left = from.known; left != 0; left &= left - 1) {
        const int lane = spad__ptx_first_lane(left);
        if (tensor_copy_store_one(m, w, i, lane, from.at[lane],
                                  tensor_copy_get_map(m, w, &maps, lane)) != SPAD__PTX_DONE) {
            return SPAD__PTX_FAILED;
        }
    }
    return SPAD__PTX_DONE;
}

spad__ptx_outcome spad__ptx_run_tensor_copy(spad__ptx_machine *m, spad__ptx_warp *w,
                                            const spad__ptx_instruction *i, uint32_t lanes) {
    const bool loads = i->space == SPAD__PTX_SHARED || i->space == SPAD__PTX_SHARED_CLUSTER;
    return loads ? tensor_copy_run_load(m, w, i, lanes) : tensor_copy_run_store(m, w, i, lanes);
}
