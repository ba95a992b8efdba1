/* SPDX-License-Identifier: Apache-2.0
 *
 * Helpers of synchronisation and asynchronous work: lanes that wait for each other, operands, and
 * events without accesses.
 */
#include "frontend/ptx/run/ptx_async.h"

void spad__ptx_mark_lanes(spad__ptx_warp *w, uint32_t lanes, uint64_t ticket) {
    w->arrived |= lanes;
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
        w->ticket[spad__ptx_first_lane(left)] = ticket;
    }
}

bool spad__ptx_gives_up(spad__ptx_machine *m) {
    if (m->endless) return true;
    if (!m->stalled) return false;
    m->stalled = false;
    m->progress++;
    return true;
}

spad__ptx_outcome spad__ptx_gather(spad__ptx_machine *m, spad__ptx_warp *w, uint32_t lanes) {
    const uint32_t missing = spad__ptx_live(w) & ~lanes;
    if (missing == 0) return SPAD__PTX_DONE;
    if (!spad__ptx_gives_up(m)) return SPAD__PTX_BLOCKED;
    spad__ptx_remark_at(m, w, SPAD__PTX_DIVERGED, spad__ptx_first_lane(lanes), 0, 0,
                        "only %d of %d threads of the warp are here",
                        (int)spad__ptx_lane_count(lanes),
                        (int)spad__ptx_lane_count(spad__ptx_live(w)));
    return SPAD__PTX_DONE;
}

spad__ptx_outcome spad__ptx_release(const spad__ptx_machine *m, spad__ptx_warp *w, uint32_t lanes,
                                    uint32_t released) {
    w->arrived &= ~released;
    if (released == lanes) return SPAD__PTX_DONE;
    if (released == 0) return SPAD__PTX_BLOCKED;
    for (uint32_t left = released; left != 0; left &= left - 1) {
        w->pc[spad__ptx_first_lane(left)] = m->at + 1;
    }
    return SPAD__PTX_JUMPED;
}

/* ---- operands ------------------------------------------------------------------------------- */

void spad__ptx_get_places(spad__ptx_machine *m, spad__ptx_warp *w, const spad__ptx_operand *operand,
                          spad__ptx_space space, uint32_t lanes, spad__ptx_places *out) {
    spad__ptx_value value;
    *out = (spad__ptx_places){0};
    if (operand == NULL) return;
    spad__ptx_get(m, w, operand, SPAD__PTX_NO_TYPE, &value);
    out->known = value.known & lanes;
    for (uint32_t left = out->known; left != 0; left &= left - 1) {
        const int lane = spad__ptx_first_lane(left);
        out->at[lane] = spad__ptx_resolve(m, w, space, value.lanes[lane]);
    }
    const uint32_t unknown = lanes & ~value.known;
    if (unknown != 0) {
        spad__ptx_remark_at(m, w, SPAD__PTX_LEFT_OUT, spad__ptx_first_lane(unknown), 0, 0,
                            "the address is not known: what the instruction does is left out");
    }
}

bool spad__ptx_is_shared(const spad__ptx_machine *m, spad__ptx_place place, int64_t bytes) {
    if (place.space != SPAD__PTX_SHARED && place.space != SPAD__PTX_SHARED_CLUSTER) return false;
    if (place.cta < 0 || place.cta >= m->cta_count) return false;
    const int64_t all = m->ctas[place.cta].shared_bytes;
    return place.offset >= 0 && bytes <= all && place.offset <= all - bytes;
}

void spad__ptx_get_shared(spad__ptx_machine *m, spad__ptx_warp *w, const spad__ptx_operand *operand,
                          spad__ptx_space space, uint32_t lanes, int64_t bytes,
                          spad__ptx_places *out) {
    spad__ptx_get_places(m, w, operand, space, lanes, out);
    for (uint32_t left = out->known; left != 0; left &= left - 1) {
        const int lane = spad__ptx_first_lane(left);
        if (spad__ptx_is_shared(m, out->at[lane], bytes)) continue;
        out->known &= ~(UINT32_C(1) << lane);
        spad__ptx_remark_at(m, w, SPAD__PTX_OUT_OF_SHARED, lane, (uint64_t)out->at[lane].offset,
                            bytes, "is beyond shared memory");
    }
}

uint32_t spad__ptx_take_same(const spad__ptx_places *places, uint32_t *left) {
    const spad__ptx_place *first = &places->at[spad__ptx_first_lane(*left)];
    uint32_t same = 0;
    for (uint32_t rest = *left; rest != 0; rest &= rest - 1) {
        const int lane = spad__ptx_first_lane(rest);
        const spad__ptx_place *place = &places->at[lane];
        if (place->cta == first->cta && place->offset == first->offset) same |= 1u << lane;
    }
    *left &= ~same;
    return same;
}

int64_t spad__ptx_number(spad__ptx_machine *m, spad__ptx_warp *w, const spad__ptx_operand *operand,
                         uint32_t lanes, int64_t assumed, const char *what) {
    spad__ptx_value value;
    uint64_t number;
    if (operand == NULL) return assumed;
    spad__ptx_get(m, w, operand, SPAD__PTX_U32, &value);
    if (spad__ptx_same(&value, lanes, &number)) return (int64_t)(number & UINT32_MAX);
    spad__ptx_remark_at(m, w, SPAD__PTX_UNKNOWN_OPERAND, spad__ptx_first_lane(lanes), 0, 0,
                        "%s is not known, or not the same in all lanes: taken as %lld", what,
                        (long long)assumed);
    return assumed;
}

int32_t spad__ptx_find_operand(const spad__ptx_machine *m, const spad__ptx_instruction *i,
                               spad__ptx_operand_kind kind, int32_t from) {
    for (int32_t n = from; n < i->count; n++) {
        if (spad__ptx_operand_at(m, i, n)->kind == kind) return n;
    }
    return -1;
}

/* ---- events --------------------------------------------------------------------------------- */

spad__ptx_outcome spad__ptx_fence_event(spad__ptx_machine *m, const spad__ptx_warp *w,
                                        uint32_t lanes, spad__ptx_fence fence) {
    spad__ptx_begin_event(m, w, lanes, SPAD__PTX_FENCE)->fence = fence;
    return spad__ptx_end_event(m);
}

spad__ptx_outcome spad__ptx_commit_event(spad__ptx_machine *m, const spad__ptx_warp *w,
                                         uint32_t lanes, spad__ptx_group group) {
    spad__ptx_begin_event(m, w, lanes, SPAD__PTX_COMMIT)->group = group;
    return spad__ptx_end_event(m);
}

spad__ptx_outcome spad__ptx_wait_event(spad__ptx_machine *m, const spad__ptx_warp *w,
                                       uint32_t lanes, spad__ptx_group group, int64_t pending,
                                       bool reads) {
    spad__ptx_event *event = spad__ptx_begin_event(m, w, lanes, SPAD__PTX_WAIT_GROUP);
    event->group = group;
    event->amount = pending;
    event->reads = reads;
    return spad__ptx_end_event(m);
}

int64_t spad__ptx_live_threads(const spad__ptx_machine *m, int32_t cta) {
    int64_t count = 0;
    for (size_t n = 0; n < m->warps.count; n++) {
        const spad__ptx_warp *w = &m->warps.items[n];
        if (cta < 0 || w->cta == cta) count += spad__ptx_lane_count(spad__ptx_live(w));
    }
    return count;
}

void spad__ptx_add_place(spad__ptx_machine *m, spad__ptx_place place, int64_t bytes) {
    spad__ptx_add_run(m, place.offset, place.offset + bytes);
}

spad__ptx_object spad__ptx_object_at(spad__ptx_place place) {
    return (spad__ptx_object){.cta = place.cta, .byte = place.offset};
}
