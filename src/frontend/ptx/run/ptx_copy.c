/* SPDX-License-Identifier: Apache-2.0
 *
 * Asynchronous copies: cp.async, bulk copies, their groups, asynchronous stores.
 *
 * The executor moves the data at once; the event says that the unit may do it later. Each lane that
 * issues a bulk copy makes one event for each CTA that the copy writes to, since each of them
 * delivers to an mbarrier of its own.
 *
 * Reference: PTX ISA 9.0, section 9.7.9.25 (asynchronous copies), 9.7.9.12 (st.async), 9.7.13.7
 * (red.async).
 */
#include "frontend/ptx/run/ptx_copy.h"

enum { COPY_PIECE = 256, COPY_BULK_ALIGN = 16, COPY_TENSOR_MAP_BYTES = 128, COPY_MOST_VECTOR = 8 };

/* ---- data ------------------------------------------------------------------------------------ */

void spad__ptx_move_bytes(spad__ptx_machine *m, spad__ptx_warp *w, spad__ptx_place from,
                          spad__ptx_place to, int64_t bytes, int64_t from_source) {
    for (int64_t done = 0; done < bytes;) {
        uint8_t data[COPY_PIECE] = {0};
        uint8_t known[COPY_PIECE];
        const bool reads = done < from_source;
        int64_t count = (reads ? from_source : bytes) - done;
        if (count > COPY_PIECE) count = COPY_PIECE;
        for (int n = 0; n < COPY_PIECE; n++) known[n] = !reads;
        if (reads) (void)spad__ptx_peek_bytes(m, w, from, data, known, count);
        (void)spad__ptx_poke_bytes(m, w, to, data, known, count);
        from.offset = (int64_t)((uint64_t)from.offset + (uint64_t)count); /* may be any number */
        to.offset = (int64_t)((uint64_t)to.offset + (uint64_t)count);
        done += count;
    }
}

int64_t spad__ptx_check_copy(spad__ptx_machine *m, spad__ptx_warp *w, int lane,
                             spad__ptx_place place, int64_t align, int64_t bytes) {
    if (place.offset % align != 0) {
        spad__ptx_remark_at(m, w, SPAD__PTX_MISALIGNED, lane, (uint64_t)place.offset, align,
                            "the address of a copy is no multiple of %lld bytes", (long long)align);
    }
    const int64_t there = m->ctas[place.cta].shared_bytes - place.offset;
    if (bytes <= there) return bytes;
    spad__ptx_remark_at(m, w, SPAD__PTX_OUT_OF_SHARED, lane, (uint64_t)place.offset, bytes,
                        "a copy of %lld bytes reaches beyond shared memory", (long long)bytes);
    return there;
}

/* The number of one lane; false: not known. */
static bool copy_lane_number(const spad__ptx_machine *m, const spad__ptx_warp *w,
                             const spad__ptx_operand *operand, int lane, int64_t *out) {
    spad__ptx_value value;
    if (operand == NULL) return false;
    spad__ptx_get(m, w, operand, SPAD__PTX_U32, &value);
    *out = (int64_t)(value.lanes[lane] & UINT32_MAX);
    return (value.known >> lane & 1) != 0;
}

/* ---- cp.async -------------------------------------------------------------------------------- */

/* Bytes that a lane reads of its source: all, or what the operand after the size says. */
static int64_t copy_source_bytes(spad__ptx_machine *m, spad__ptx_warp *w,
                                 const spad__ptx_instruction *i, int lane, int64_t bytes) {
    const spad__ptx_operand *operand = spad__ptx_operand_at(m, i, 3);
    int64_t number = bytes;
    const int32_t last = i->count - (spad__ptx_has(i, SPAD__PTX_WORD_L2_CACHE_HINT) ? 1 : 0);
    if (operand == NULL || last < 4) return bytes;
    if (!copy_lane_number(m, w, operand, lane, &number)) return -1;
    const spad__ptx_function *f = w->frame->function;
    const bool ignores =
        operand->kind == SPAD__PTX_REGISTER &&
        m->module->registers.items[f->first_register + operand->reg].type == SPAD__PTX_PRED;
    if (ignores) return number != 0 ? 0 : bytes;
    return number < bytes ? number : bytes;
}

static spad__ptx_outcome copy_run_cp_async(spad__ptx_machine *m, spad__ptx_warp *w,
                                           const spad__ptx_instruction *i, uint32_t lanes) {
    spad__ptx_places to;
    spad__ptx_places from;
    const int64_t bytes =
        spad__ptx_number(m, w, spad__ptx_operand_at(m, i, 2), lanes, 16, "the size");
    spad__ptx_get_shared(m, w, spad__ptx_operand_at(m, i, 0), SPAD__PTX_SHARED, lanes, bytes, &to);
    spad__ptx_get_places(m, w, spad__ptx_operand_at(m, i, 1), SPAD__PTX_GLOBAL, lanes, &from);
    spad__ptx_event *event = spad__ptx_begin_event(m, w, lanes, SPAD__PTX_ACCESS);
    event->unit = SPAD__PTX_CP_ASYNC;
    event->group = SPAD__PTX_GROUP_CP_ASYNC;
    if (to.known != 0) spad__ptx_add_access(m, SPAD__PTX_WRITE, false, w->cta);
    for (uint32_t left = to.known; left != 0; left &= left - 1) {
        const int lane = spad__ptx_first_lane(left);
        const int64_t read = copy_source_bytes(m, w, i, lane, bytes);
        (void)spad__ptx_check_copy(m, w, lane, to.at[lane], bytes > 0 ? bytes : 1, bytes);
        spad__ptx_add_place(m, to.at[lane], bytes);
        if (read < 0 || (read > 0 && (from.known >> lane & 1) == 0)) {
            spad__ptx_forget_bytes(m, to.at[lane], bytes);
        } else {
            spad__ptx_move_bytes(m, w, from.at[lane], to.at[lane], bytes, read);
        }
    }
    return spad__ptx_end_event(m);
}

/* ---- deliveries ------------------------------------------------------------------------------ */

uint32_t spad__ptx_copy_ctas(spad__ptx_machine *m, spad__ptx_warp *w,
                             const spad__ptx_instruction *i, const spad__ptx_operand *mask,
                             int lane, int32_t own) {
    int64_t bits;
    const uint32_t all = (UINT32_C(1) << m->cta_count) - 1;
    if (!spad__ptx_has(i, SPAD__PTX_WORD_MULTICAST_CLUSTER) || mask == NULL) {
        return UINT32_C(1) << own;
    }
    if (!copy_lane_number(m, w, mask, lane, &bits)) {
        spad__ptx_remark_at(m, w, SPAD__PTX_UNKNOWN_OPERAND, lane, 0, 0,
                            "the mask of a multicast copy is not known: taken as this CTA");
        return UINT32_C(1) << own;
    }
    if (((uint32_t)bits & 0xffff & ~all) != 0) {
        spad__ptx_remark_at(m, w, SPAD__PTX_BAD_DESCRIPTOR, lane, 0, 0,
                            "a multicast copy to CTAs that the cluster does not have: mask 0x%x",
                            (unsigned)bits & 0xffff);
    }
    return (uint32_t)bits & all;
}

spad__ptx_place spad__ptx_signalled(const spad__ptx_delivery *d, int32_t cta) {
    spad__ptx_place place = d->barrier;
    const bool multicast = (d->ctas & (d->ctas - 1)) != 0 || cta != d->to.cta;
    if (d->pair) {
        place.cta = (cta & ~1) | (d->barrier.cta & 1);
    } else if (multicast) {
        place.cta = cta;
    }
    return place;
}

int64_t spad__ptx_outstanding(spad__ptx_machine *m, const spad__ptx_delivery *d) {
    const spad__ptx_mbarrier *b = spad__ptx_find_mbarrier(m, d->barrier.cta, d->barrier.offset);
    return b == NULL || b->bytes < 0 ? 0 : b->bytes;
}

spad__ptx_outcome spad__ptx_end_delivery(spad__ptx_machine *m, const spad__ptx_delivery *d,
                                         int32_t cta) {
    const spad__ptx_place place = spad__ptx_signalled(d, cta);
    spad__ptx_mbarrier *b = spad__ptx_find_mbarrier(m, place.cta, place.offset);
    m->event.object = spad__ptx_object_at(place);
    m->event.bytes = d->bytes;
    if (b != NULL) spad__ptx_deliver(m, b, d->bytes);
    return spad__ptx_end_event(m);
}

/* ---- bulk copies ----------------------------------------------------------------------------- */

static bool copy_is_shared(unsigned space) {
    return space == SPAD__PTX_SHARED || space == SPAD__PTX_SHARED_CLUSTER;
}

static bool copy_is_reduction(const spad__ptx_instruction *i) {
    return i->op == SPAD__PTX_OP_CP_REDUCE_ASYNC_BULK;
}

/* One lane's copy to shared memory. */
typedef struct copy_bulk {
    spad__ptx_delivery to;
    spad__ptx_place from;
    bool from_known;
    bool from_shared;
} copy_bulk;

static spad__ptx_outcome copy_to_cta(spad__ptx_machine *m, spad__ptx_warp *w,
                                     const spad__ptx_instruction *i, const copy_bulk *b,
                                     int32_t cta) {
    const spad__ptx_delivery *d = &b->to;
    spad__ptx_place to = d->to;
    to.cta = cta;
    if (b->from_known && !copy_is_reduction(i)) {
        spad__ptx_move_bytes(m, w, b->from, to, d->there, d->there);
    } else {
        spad__ptx_forget_bytes(m, to, d->there);
    }
    spad__ptx_begin_event(m, w, UINT32_C(1) << d->lane, SPAD__PTX_ACCESS)->unit = SPAD__PTX_BULK;
    if (b->from_shared && b->from_known) {
        spad__ptx_add_access(m, SPAD__PTX_READ, false, b->from.cta);
        spad__ptx_add_place(m, b->from, d->there);
    }
    spad__ptx_add_access(
        m, copy_is_reduction(i) ? SPAD__PTX_ADD | SPAD__PTX_ATOMIC : SPAD__PTX_WRITE, false, cta);
    spad__ptx_add_place(m, to, d->there);
    return spad__ptx_end_delivery(m, d, cta);
}

static spad__ptx_outcome copy_bulk_to_shared(spad__ptx_machine *m, spad__ptx_warp *w,
                                             const spad__ptx_instruction *i, uint32_t lanes) {
    spad__ptx_places to;
    spad__ptx_places from;
    spad__ptx_places barriers;
    const bool from_shared = copy_is_shared(i->second_space);
    /* [to], [from], size, [barrier], mask: with .ignore_oob two more numbers after the size */
    const int32_t barrier = spad__ptx_find_operand(m, i, SPAD__PTX_ADDRESS, 2);
    if (barrier < 0) return spad__ptx_unsupported(m, i, "it has no mbarrier");
    spad__ptx_get_shared(m, w, spad__ptx_operand_at(m, i, 0), SPAD__PTX_SHARED_CLUSTER, lanes, 1,
                         &to);
    spad__ptx_get_places(m, w, spad__ptx_operand_at(m, i, 1), (spad__ptx_space)i->second_space,
                         lanes, &from);
    spad__ptx_get_shared(m, w, spad__ptx_operand_at(m, i, barrier), SPAD__PTX_SHARED_CLUSTER, lanes,
                         8, &barriers);
    for (uint32_t left = to.known & barriers.known; left != 0; left &= left - 1) {
        const int lane = spad__ptx_first_lane(left);
        copy_bulk b = {.to = {.lane = lane, .to = to.at[lane], .barrier = barriers.at[lane]},
                       .from = from.at[lane],
                       .from_known = (from.known >> lane & 1) != 0,
                       .from_shared = from_shared};
        if (!copy_lane_number(m, w, spad__ptx_operand_at(m, i, 2), lane, &b.to.bytes)) {
            b.to.bytes = spad__ptx_outstanding(m, &b.to);
            spad__ptx_remark_at(m, w, SPAD__PTX_UNKNOWN_OPERAND, lane, 0, b.to.bytes,
                                "the size of a copy is not known: taken as what its mbarrier "
                                "waits for");
        }
        b.to.there = spad__ptx_check_copy(m, w, lane, b.to.to, COPY_BULK_ALIGN, b.to.bytes);
        if (from_shared && b.from_known) {
            b.to.there = spad__ptx_check_copy(m, w, lane, b.from, COPY_BULK_ALIGN, b.to.there);
        }
        b.to.ctas = spad__ptx_copy_ctas(m, w, i, spad__ptx_operand_at(m, i, barrier + 1), lane,
                                        b.to.to.cta);
        for (uint32_t ctas = b.to.ctas; ctas != 0; ctas &= ctas - 1) {
            if (copy_to_cta(m, w, i, &b, spad__ptx_first_lane(ctas)) != SPAD__PTX_DONE) {
                return SPAD__PTX_FAILED;
            }
        }
    }
    return SPAD__PTX_DONE;
}

static spad__ptx_outcome copy_bulk_to_global(spad__ptx_machine *m, spad__ptx_warp *w,
                                             const spad__ptx_instruction *i, uint32_t lanes) {
    spad__ptx_places to;
    spad__ptx_places from;
    spad__ptx_get_places(m, w, spad__ptx_operand_at(m, i, 0), SPAD__PTX_GLOBAL, lanes, &to);
    spad__ptx_get_shared(m, w, spad__ptx_operand_at(m, i, 1), SPAD__PTX_SHARED, lanes, 1, &from);
    for (uint32_t left = from.known; left != 0; left &= left - 1) {
        const int lane = spad__ptx_first_lane(left);
        int64_t bytes = 0;
        if (!copy_lane_number(m, w, spad__ptx_operand_at(m, i, 2), lane, &bytes)) {
            spad__ptx_remark_at(m, w, SPAD__PTX_UNKNOWN_OPERAND, lane, 0, 0,
                                "the size of a copy is not known: its reads are left out");
        }
        bytes = spad__ptx_check_copy(m, w, lane, from.at[lane], COPY_BULK_ALIGN, bytes);
        if ((to.known >> lane & 1) != 0 && copy_is_reduction(i)) {
            spad__ptx_forget_bytes(m, to.at[lane], bytes);
        } else if ((to.known >> lane & 1) != 0) {
            spad__ptx_move_bytes(m, w, from.at[lane], to.at[lane], bytes, bytes);
        }
        spad__ptx_event *event = spad__ptx_begin_event(m, w, UINT32_C(1) << lane, SPAD__PTX_ACCESS);
        event->unit = SPAD__PTX_BULK;
        event->group = SPAD__PTX_GROUP_BULK;
        spad__ptx_add_access(m, SPAD__PTX_READ, false, from.at[lane].cta);
        spad__ptx_add_place(m, from.at[lane], bytes);
        if (spad__ptx_end_event(m) != SPAD__PTX_DONE) return SPAD__PTX_FAILED;
    }
    return SPAD__PTX_DONE;
}

/* ---- asynchronous stores --------------------------------------------------------------------- */

/* The value that a lane stores, as bytes. */
static void copy_store_value(spad__ptx_machine *m, spad__ptx_warp *w,
                             const spad__ptx_instruction *i, int lane, spad__ptx_place place,
                             int64_t each) {
    spad__ptx_value value;
    const spad__ptx_operand *operand = spad__ptx_operand_at(m, i, 1);
    for (int32_t n = 0; n < COPY_MOST_VECTOR; n++) {
        uint8_t data[8];
        uint8_t known[8];
        const spad__ptx_operand *item = spad__ptx_item(m, operand, n);
        if (item == NULL) return;
        spad__ptx_get(m, w, item, (spad__ptx_type)i->types[0], &value);
        for (int64_t k = 0; k < each && k < 8; k++) {
            data[k] = (uint8_t)(value.lanes[lane] >> 8 * k);
            known[k] = (value.known >> lane & 1) != 0;
        }
        (void)spad__ptx_poke_bytes(m, w, place, data, known, each < 8 ? each : 8);
        place.offset += each;
    }
}

static spad__ptx_outcome copy_run_async_store(spad__ptx_machine *m, spad__ptx_warp *w,
                                              const spad__ptx_instruction *i, uint32_t lanes) {
    const bool adds = i->op == SPAD__PTX_OP_RED_ASYNC;
    const int64_t each = spad__ptx_type_bits((spad__ptx_type)i->types[0]) / 8;
    const int64_t bytes = each * (i->vector == 0 ? 1 : i->vector);
    spad__ptx_places to;
    spad__ptx_places barriers;
    spad__ptx_get_shared(m, w, spad__ptx_operand_at(m, i, 0), SPAD__PTX_SHARED_CLUSTER, lanes,
                         bytes, &to);
    if (i->count < 3) return spad__ptx_unsupported(m, i, "it has no mbarrier");
    spad__ptx_get_shared(m, w, spad__ptx_operand_at(m, i, 2), SPAD__PTX_SHARED_CLUSTER, lanes, 8,
                         &barriers);
    for (uint32_t left = to.known & barriers.known; left != 0;) {
        const int first = spad__ptx_first_lane(left);
        const uint32_t same = spad__ptx_take_same(&barriers, &left);
        const spad__ptx_place at = barriers.at[first];
        const spad__ptx_delivery d = {.lane = first,
                                      .ctas = UINT32_C(1) << at.cta,
                                      .to = to.at[first],
                                      .barrier = at,
                                      .bytes = bytes * spad__ptx_lane_count(same)};
        spad__ptx_begin_event(m, w, same, SPAD__PTX_ACCESS)->unit = SPAD__PTX_REMOTE;
        spad__ptx_add_access(m, adds ? SPAD__PTX_ADD | SPAD__PTX_ATOMIC : SPAD__PTX_WRITE, false,
                             to.at[first].cta);
        for (uint32_t rest = same; rest != 0; rest &= rest - 1) {
            const int lane = spad__ptx_first_lane(rest);
            spad__ptx_add_place(m, to.at[lane], bytes);
            if (adds) spad__ptx_forget_bytes(m, to.at[lane], bytes);
            if (!adds) copy_store_value(m, w, i, lane, to.at[lane], each);
        }
        if (spad__ptx_end_delivery(m, &d, d.to.cta) != SPAD__PTX_DONE) return SPAD__PTX_FAILED;
    }
    return SPAD__PTX_DONE;
}

/* ---- stores of a range, and tensor maps in shared memory ------------------------------------- */

static spad__ptx_outcome copy_access_range(spad__ptx_machine *m, spad__ptx_warp *w, unsigned kind,
                                           const spad__ptx_places *places, int64_t bytes) {
    if (places->known == 0) return SPAD__PTX_DONE;
    (void)spad__ptx_begin_event(m, w, places->known, SPAD__PTX_ACCESS);
    spad__ptx_add_access(m, kind, false, places->at[spad__ptx_first_lane(places->known)].cta);
    for (uint32_t left = places->known; left != 0; left &= left - 1) {
        const spad__ptx_place place = places->at[spad__ptx_first_lane(left)];
        spad__ptx_add_place(m, place, bytes);
        if (kind != SPAD__PTX_READ) spad__ptx_forget_bytes(m, place, bytes);
    }
    return spad__ptx_end_event(m);
}

static spad__ptx_outcome copy_run_range(spad__ptx_machine *m, spad__ptx_warp *w,
                                        const spad__ptx_instruction *i, uint32_t lanes) {
    spad__ptx_places places;
    int64_t bytes = COPY_TENSOR_MAP_BYTES;
    unsigned kind = SPAD__PTX_UPDATE;
    int32_t at = 0;
    if (i->op == SPAD__PTX_OP_ST_BULK) {
        kind = SPAD__PTX_WRITE;
        bytes = spad__ptx_number(m, w, spad__ptx_operand_at(m, i, 1), lanes, 0, "the size");
    } else if (i->op == SPAD__PTX_OP_TENSORMAP_CP_FENCEPROXY) {
        kind = SPAD__PTX_READ;
        at = 1; /* copies from shared to global memory */
    } else if (i->space == SPAD__PTX_GLOBAL) {
        return SPAD__PTX_DONE;
    }
    const spad__ptx_space space = i->op == SPAD__PTX_OP_TENSORMAP_CP_FENCEPROXY
                                      ? SPAD__PTX_SHARED
                                      : (spad__ptx_space)i->space;
    spad__ptx_get_shared(m, w, spad__ptx_operand_at(m, i, at), space, lanes, bytes, &places);
    return copy_access_range(m, w, kind, &places, bytes);
}

/* ---- groups ---------------------------------------------------------------------------------- */

static spad__ptx_outcome copy_run_wait(spad__ptx_machine *m, spad__ptx_warp *w,
                                       const spad__ptx_instruction *i, uint32_t lanes) {
    const bool bulk_group = i->op == SPAD__PTX_OP_CP_ASYNC_BULK_WAIT;
    const spad__ptx_group group = bulk_group ? SPAD__PTX_GROUP_BULK : SPAD__PTX_GROUP_CP_ASYNC;
    const int64_t pending = spad__ptx_number(m, w, spad__ptx_operand_at(m, i, 0), lanes, 0,
                                             "the number of pending groups");
    return spad__ptx_wait_event(m, w, lanes, group, pending,
                                bulk_group && spad__ptx_has(i, SPAD__PTX_WORD_READ));
}

static spad__ptx_outcome copy_run_wait_all(spad__ptx_machine *m, spad__ptx_warp *w,
                                           uint32_t lanes) {
    if (spad__ptx_commit_event(m, w, lanes, SPAD__PTX_GROUP_CP_ASYNC) != SPAD__PTX_DONE) {
        return SPAD__PTX_FAILED;
    }
    return spad__ptx_wait_event(m, w, lanes, SPAD__PTX_GROUP_CP_ASYNC, 0, false);
}

spad__ptx_outcome spad__ptx_run_copy(spad__ptx_machine *m, spad__ptx_warp *w,
                                     const spad__ptx_instruction *i, uint32_t lanes) {
    switch (i->op) {
    case SPAD__PTX_OP_CP_ASYNC: return copy_run_cp_async(m, w, i, lanes);
    case SPAD__PTX_OP_CP_ASYNC_COMMIT:
        return spad__ptx_commit_event(m, w, lanes, SPAD__PTX_GROUP_CP_ASYNC);
    case SPAD__PTX_OP_CP_ASYNC_BULK_COMMIT:
        return spad__ptx_commit_event(m, w, lanes, SPAD__PTX_GROUP_BULK);
    case SPAD__PTX_OP_CP_ASYNC_WAIT:
    case SPAD__PTX_OP_CP_ASYNC_BULK_WAIT: return copy_run_wait(m, w, i, lanes);
    case SPAD__PTX_OP_CP_ASYNC_WAIT_ALL: return copy_run_wait_all(m, w, lanes);
    case SPAD__PTX_OP_CP_ASYNC_MBARRIER_ARRIVE: return spad__ptx_run_mbarrier(m, w, i, lanes);
    case SPAD__PTX_OP_CP_ASYNC_BULK:
    case SPAD__PTX_OP_CP_REDUCE_ASYNC_BULK:
        return copy_is_shared(i->space) ? copy_bulk_to_shared(m, w, i, lanes)
                                        : copy_bulk_to_global(m, w, i, lanes);
    case SPAD__PTX_OP_ST_ASYNC:
    case SPAD__PTX_OP_RED_ASYNC: return copy_run_async_store(m, w, i, lanes);
    case SPAD__PTX_OP_ST_BULK:
    case SPAD__PTX_OP_TENSORMAP_REPLACE:
    case SPAD__PTX_OP_TENSORMAP_CP_FENCEPROXY: return copy_run_range(m, w, i, lanes);
    default: return SPAD__PTX_DONE; /* prefetches */
    }
}
