/* SPDX-License-Identifier: Apache-2.0
 *
 * Instructions that combine values of several lanes. Those with a mask wait until all lanes of it
 * have come; lanes that never come are named in a remark, and their values are not known.
 *
 * Reference: PTX ISA 9.0, sections 9.7.9.6 (shfl.sync), 9.7.13.9 to 9.7.13.15 (vote, match,
 * activemask, redux, elect).
 */
#include <string.h>

#include "frontend/ptx/run/ptx_warp.h"

/* ---- masks -------------------------------------------------------------------------------------
 */

void spad__ptx_check_mask(spad__ptx_machine *m, const spad__ptx_warp *w,
                          const spad__ptx_value *masks, uint32_t lanes) {
    for (uint32_t rest = lanes & masks->known & ~m->maybe; rest != 0; rest &= rest - 1) {
        const int l = __builtin_ctz(rest);
        if ((masks->lanes[l] >> l & 1) != 0) continue;
        spad__ptx_remark_at(m, w, SPAD__PTX_BAD_MASK, l, 0, 0, "lane %d, mask 0x%x", l,
                            (unsigned)masks->lanes[l]);
        return;
    }
}

/* The mask that the first lane gives; all the lanes that any mask names must have come. */
static spad__ptx_outcome meet(spad__ptx_machine *m, spad__ptx_warp *w,
                              const spad__ptx_operand *operand, uint32_t lanes,
                              spad__ptx_value *masks) {
    spad__ptx_get(m, w, operand, SPAD__PTX_B32, masks);
    uint32_t needed = 0;
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        const int l = __builtin_ctz(rest);
        if ((masks->known >> l & 1) == 0) {
            spad__ptx_remark_at(m, w, SPAD__PTX_UNKNOWN_OPERAND, l, 0, 0, "%s",
                                "the mask of lanes is not known: taken as those that are here");
            masks->lanes[l] = lanes;
        }
        needed |= (uint32_t)masks->lanes[l];
    }
    const uint32_t missing = needed & spad__ptx_alive(w) & ~lanes;
    if (missing == 0) {
        spad__ptx_check_mask(m, w, masks, lanes);
        return SPAD__PTX_DONE;
    }
    if (!m->endless) return SPAD__PTX_BLOCKED;
    spad__ptx_remark_at(m, w, SPAD__PTX_DIVERGED, __builtin_ctz(missing), 0, 0,
                        "the mask names lanes 0x%x, which never come here", (unsigned)missing);
    m->ended = true;
    return SPAD__PTX_DONE;
}

/* The last operand of instructions with .sync. Others (before sm_70) take the lanes that came. */
static spad__ptx_outcome meet_last(spad__ptx_machine *m, spad__ptx_warp *w,
                                   const spad__ptx_instruction *i, uint32_t lanes,
                                   spad__ptx_value *masks) {
    if (spad__ptx_has(i, SPAD__PTX_WORD_SYNC) || i->op == SPAD__PTX_OP_REDUX_SYNC ||
        i->op == SPAD__PTX_OP_ELECT_SYNC) {
        return meet(m, w, spad__ptx_operand_at(m, i, i->count - 1), lanes, masks);
    }
    for (int l = 0; l < SPAD__PTX_LANES; l++) masks->lanes[l] = lanes;
    masks->known = UINT32_MAX;
    return SPAD__PTX_DONE;
}

static void set_also(spad__ptx_machine *m, spad__ptx_warp *w, const spad__ptx_operand *operand,
                     uint32_t lanes, const spad__ptx_value *value) {
    if (operand != NULL && operand->also >= 0)
        spad__ptx_set_register(m, w, operand->also, lanes, value);
}

/* ---- shfl --------------------------------------------------------------------------------------
 */

/* The lane that a value comes from. *inside: it is in the segment. */
static uint32_t source_lane(const spad__ptx_instruction *i, uint32_t lane, uint32_t b, uint32_t c,
                            bool *inside) {
    const uint32_t segment = c >> 8 & 31;
    const uint32_t clamp = c & 31;
    const uint32_t first = lane & segment;
    const uint32_t last = first | (clamp & ~segment);
    b &= 31;
    int64_t from;
    if (spad__ptx_has(i, SPAD__PTX_WORD_UP)) {
        from = (int64_t)lane - (int64_t)b;
        *inside = from >= (int64_t)last;
    } else {
        if (spad__ptx_has(i, SPAD__PTX_WORD_DOWN)) {
            from = (int64_t)lane + (int64_t)b;
        } else if (spad__ptx_has(i, SPAD__PTX_WORD_BFLY)) {
            from = (int64_t)(lane ^ b);
        } else {
            from = (int64_t)(first | (b & ~segment));
        }
        *inside = from <= (int64_t)last;
    }
    return *inside ? (uint32_t)from & 31 : lane;
}

static spad__ptx_outcome run_shfl(spad__ptx_machine *m, spad__ptx_warp *w,
                                  const spad__ptx_instruction *i, uint32_t lanes) {
    spad__ptx_value a;
    spad__ptx_value b;
    spad__ptx_value c;
    spad__ptx_value out = {{0}, 0};
    spad__ptx_value inside = {{0}, 0};
    spad__ptx_get(m, w, spad__ptx_operand_at(m, i, 1), SPAD__PTX_B32, &a);
    spad__ptx_get(m, w, spad__ptx_operand_at(m, i, 2), SPAD__PTX_B32, &b);
    spad__ptx_get(m, w, spad__ptx_operand_at(m, i, 3), SPAD__PTX_B32, &c);
    for (uint32_t rest = lanes & b.known & c.known; rest != 0; rest &= rest - 1) {
        const uint32_t l = (uint32_t)__builtin_ctz(rest);
        bool in_segment;
        const uint32_t from =
            source_lane(i, l, (uint32_t)b.lanes[l], (uint32_t)c.lanes[l], &in_segment);
        inside.lanes[l] = in_segment;
        inside.known |= UINT32_C(1) << l;
        out.lanes[l] = a.lanes[from];
        if ((a.known & lanes) >> from & 1) out.known |= UINT32_C(1) << l;
    }
    const spad__ptx_operand *to = spad__ptx_operand_at(m, i, 0);
    spad__ptx_set(m, w, to, lanes, &out);
    set_also(m, w, to, lanes, &inside);
    return SPAD__PTX_DONE;
}

/* ---- vote --------------------------------------------------------------------------------------
 */

typedef struct ballot {
    uint32_t yes;
    uint32_t no;
    uint32_t unknown;
} ballot;

static ballot count_votes(const spad__ptx_value *votes, uint32_t lanes) {
    ballot out = {.unknown = lanes & ~votes->known};
    for (uint32_t rest = lanes & votes->known; rest != 0; rest &= rest - 1) {
        const int l = __builtin_ctz(rest);
        out.yes |= (uint32_t)(votes->lanes[l] & 1) << l;
    }
    out.no = lanes & ~out.yes & ~out.unknown;
    return out;
}

/* The result of a vote. False: it depends on votes that are not known. */
static bool decide_vote(const spad__ptx_instruction *i, const ballot *b, uint64_t *out) {
    if (spad__ptx_has(i, SPAD__PTX_WORD_BALLOT)) {
        *out = b->yes;
        return b->unknown == 0;
    }
    if (spad__ptx_has(i, SPAD__PTX_WORD_ANY)) {
        *out = b->yes != 0;
        return b->yes != 0 || b->unknown == 0;
    }
    if (spad__ptx_has(i, SPAD__PTX_WORD_ALL)) {
        *out = b->no == 0;
        return b->no != 0 || b->unknown == 0;
    }
    *out = b->yes == 0 || b->no == 0;
    return (b->yes != 0 && b->no != 0) || b->unknown == 0;
}

static spad__ptx_outcome run_vote(spad__ptx_machine *m, spad__ptx_warp *w,
                                  const spad__ptx_instruction *i, uint32_t lanes,
                                  const spad__ptx_value *masks) {
    spad__ptx_value votes;
    spad__ptx_value out = {{0}, 0};
    spad__ptx_get(m, w, spad__ptx_operand_at(m, i, 1), SPAD__PTX_PRED, &votes);
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        const int l = __builtin_ctz(rest);
        const ballot b = count_votes(&votes, lanes & (uint32_t)masks->lanes[l]);
        if (decide_vote(i, &b, &out.lanes[l])) out.known |= UINT32_C(1) << l;
    }
    spad__ptx_set(m, w, spad__ptx_operand_at(m, i, 0), lanes, &out);
    return SPAD__PTX_DONE;
}

/* ---- match -------------------------------------------------------------------------------------
 */

static uint32_t lanes_like(const spad__ptx_value *a, uint32_t lanes, int lane) {
    uint32_t out = 0;
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        const int l = __builtin_ctz(rest);
        if (a->lanes[l] == a->lanes[lane]) out |= UINT32_C(1) << l;
    }
    return out;
}

static spad__ptx_outcome run_match(spad__ptx_machine *m, spad__ptx_warp *w,
                                   const spad__ptx_instruction *i, uint32_t lanes,
                                   const spad__ptx_value *masks) {
    const bool all = spad__ptx_has(i, SPAD__PTX_WORD_ALL);
    spad__ptx_value a;
    spad__ptx_value out = {{0}, 0};
    spad__ptx_value equal = {{0}, 0};
    spad__ptx_get(m, w, spad__ptx_operand_at(m, i, 1), (spad__ptx_type)i->types[0], &a);
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        const int l = __builtin_ctz(rest);
        const uint32_t among = lanes & (uint32_t)masks->lanes[l];
        if ((a.known & among) != among) continue;
        const uint32_t same = lanes_like(&a, among, l);
        equal.lanes[l] = same == among;
        out.lanes[l] = all && same != among ? 0 : same;
        out.known |= UINT32_C(1) << l;
    }
    equal.known = out.known;
    const spad__ptx_operand *to = spad__ptx_operand_at(m, i, 0);
    spad__ptx_set(m, w, to, lanes, &out);
    set_also(m, w, to, lanes, &equal);
    return SPAD__PTX_DONE;
}

/* ---- redux, elect, activemask -------------------------------------------------------------------
 */

static uint64_t reduce_two(const spad__ptx_instruction *i, uint32_t a, uint32_t b) {
    const bool is_signed = i->types[0] == SPAD__PTX_S32;
    const bool less = is_signed ? (int32_t)a < (int32_t)b : a < b;
    if (spad__ptx_has(i, SPAD__PTX_WORD_ADD)) return (uint32_t)(a + b);
    if (spad__ptx_has(i, SPAD__PTX_WORD_MIN)) return less ? a : b;
    if (spad__ptx_has(i, SPAD__PTX_WORD_MAX)) return less ? b : a;
    if (spad__ptx_has(i, SPAD__PTX_WORD_AND)) return a & b;
    if (spad__ptx_has(i, SPAD__PTX_WORD_OR)) return a | b;
    return a ^ b;
}

static spad__ptx_outcome run_redux(spad__ptx_machine *m, spad__ptx_warp *w,
                                   const spad__ptx_instruction *i, uint32_t lanes,
                                   const spad__ptx_value *masks) {
    const bool integer = !spad__ptx_type_is_float((spad__ptx_type)i->types[0]);
    spad__ptx_value a;
    spad__ptx_value out = {{0}, 0};
    spad__ptx_get(m, w, spad__ptx_operand_at(m, i, 1), SPAD__PTX_B32, &a);
    for (uint32_t rest = lanes; integer && rest != 0; rest &= rest - 1) {
        const int l = __builtin_ctz(rest);
        uint32_t among = lanes & (uint32_t)masks->lanes[l];
        if (among == 0 || (a.known & among) != among) continue;
        uint64_t value = a.lanes[__builtin_ctz(among)];
        for (among &= among - 1; among != 0; among &= among - 1) {
            value = reduce_two(i, (uint32_t)value, (uint32_t)a.lanes[__builtin_ctz(among)]);
        }
        out.lanes[l] = value;
        out.known |= UINT32_C(1) << l;
    }
    spad__ptx_set(m, w, spad__ptx_operand_at(m, i, 0), lanes, &out);
    return SPAD__PTX_DONE;
}

static spad__ptx_outcome run_elect(spad__ptx_machine *m, spad__ptx_warp *w,
                                   const spad__ptx_instruction *i, uint32_t lanes,
                                   const spad__ptx_value *masks) {
    spad__ptx_value leader = {{0}, lanes};
    spad__ptx_value is_leader = {{0}, lanes};
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        const int l = __builtin_ctz(rest);
        const uint32_t among = lanes & (uint32_t)masks->lanes[l];
        leader.lanes[l] = (uint64_t)__builtin_ctz(among != 0 ? among : lanes);
        is_leader.lanes[l] = leader.lanes[l] == (uint64_t)l;
    }
    const spad__ptx_operand *to = spad__ptx_operand_at(m, i, 0);
    spad__ptx_set(m, w, to, lanes, &leader);
    set_also(m, w, to, lanes, &is_leader);
    return SPAD__PTX_DONE;
}

static spad__ptx_outcome run_activemask(spad__ptx_machine *m, spad__ptx_warp *w,
                                        const spad__ptx_instruction *i, uint32_t lanes) {
    spad__ptx_value out = {{0}, UINT32_MAX};
    for (int l = 0; l < SPAD__PTX_LANES; l++) out.lanes[l] = lanes;
    spad__ptx_set(m, w, spad__ptx_operand_at(m, i, 0), lanes, &out);
    return SPAD__PTX_DONE;
}

spad__ptx_outcome spad__ptx_run_lanes(spad__ptx_machine *m, spad__ptx_warp *w,
                                      const spad__ptx_instruction *i, uint32_t lanes) {
    spad__ptx_value masks;
    if (i->op == SPAD__PTX_OP_ACTIVEMASK) return run_activemask(m, w, i, lanes);
    const spad__ptx_outcome outcome = meet_last(m, w, i, lanes, &masks);
    if (outcome != SPAD__PTX_DONE) return outcome;
    switch (i->op) {
    case SPAD__PTX_OP_SHFL: return run_shfl(m, w, i, lanes);
    case SPAD__PTX_OP_VOTE: return run_vote(m, w, i, lanes, &masks);
    case SPAD__PTX_OP_MATCH: return run_match(m, w, i, lanes, &masks);
    case SPAD__PTX_OP_REDUX_SYNC: return run_redux(m, w, i, lanes, &masks);
    default: return run_elect(m, w, i, lanes, &masks);
    }
}
