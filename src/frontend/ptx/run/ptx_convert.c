/* SPDX-License-Identifier: Apache-2.0
 *
 * Instructions that move and convert values: mov with packing, cvt between all types, selections.
 *
 * Reference: PTX ISA 9.0, sections 9.7.9.22 (cvt), 9.7.9.5 (mov), 9.7.6 (selp, slct), 9.7.1
 * (cvt.pack).
 */
#include <string.h>

#include "frontend/ptx/run/ptx_arithmetic.h"
#include "frontend/ptx/run/ptx_real.h"

/* ---- mov ---------------------------------------------------------------------------------------
 */

/* d = {a, b, ...}: the first item in the lowest bits. */
static void pack_items(spad__ptx_machine *m, const spad__ptx_warp *w,
                       const spad__ptx_operand *vector, unsigned bits, spad__ptx_value halves[2]) {
    memset(halves, 0, 2 * sizeof *halves);
    halves[0].known = halves[1].known = UINT32_MAX;
    if (vector->count == 0) return;
    const unsigned width = bits / (unsigned)vector->count;
    for (unsigned n = 0; n < (unsigned)vector->count; n++) {
        spad__ptx_value item;
        spad__ptx_get(m, w, spad__ptx_item(m, vector, (int32_t)n), SPAD__PTX_NO_TYPE, &item);
        spad__ptx_value *half = &halves[n * width / 64 & 1];
        const uint64_t mask = spad__ptx_mask(width);
        SPAD__PTX_EACH_LANE half->lanes[l] |= (item.lanes[l] & mask) << (n * width % 64);
        half->known &= item.known;
    }
}

static void unpack_items(spad__ptx_machine *m, spad__ptx_warp *w, const spad__ptx_operand *vector,
                         unsigned bits, uint32_t lanes, const spad__ptx_value halves[2]) {
    if (vector->count == 0) return;
    const unsigned width = bits / (unsigned)vector->count;
    for (unsigned n = 0; n < (unsigned)vector->count; n++) {
        const spad__ptx_value *half = &halves[n * width / 64 & 1];
        spad__ptx_value item = {.known = half->known};
        const uint64_t mask = spad__ptx_mask(width);
        SPAD__PTX_EACH_LANE item.lanes[l] = half->lanes[l] >> (n * width % 64) & mask;
        spad__ptx_set(m, w, spad__ptx_item(m, vector, (int32_t)n), lanes, &item);
    }
}

static spad__ptx_outcome run_mov(spad__ptx_machine *m, spad__ptx_warp *w,
                                 const spad__ptx_instruction *i, uint32_t lanes) {
    const spad__ptx_operand *to = spad__ptx_operand_at(m, i, 0);
    const spad__ptx_operand *from = spad__ptx_operand_at(m, i, 1);
    const spad__ptx_type type = (spad__ptx_type)i->types[0];
    const unsigned bits = spad__ptx_bits(type);
    spad__ptx_value halves[2];
    if (from->kind != SPAD__PTX_VECTOR && to->kind != SPAD__PTX_VECTOR && bits <= 64) {
        spad__ptx_set(m, w, to, lanes, spad__ptx_read(m, w, from, type, &halves[0]));
        return SPAD__PTX_DONE;
    }
    if (from->kind == SPAD__PTX_VECTOR) {
        pack_items(m, w, from, bits, halves);
    } else {
        spad__ptx_get(m, w, from, bits > 64 ? SPAD__PTX_NO_TYPE : type, &halves[0]);
        spad__ptx_get_high(m, w, from, &halves[1]);
    }
    if (to->kind == SPAD__PTX_VECTOR) {
        unpack_items(m, w, to, bits, lanes, halves);
    } else {
        spad__ptx_set(m, w, to, lanes, &halves[0]);
        if (bits > 64) spad__ptx_set_high(m, w, to, lanes, &halves[1]);
    }
    return SPAD__PTX_DONE;
}

/* ---- selections --------------------------------------------------------------------------------
 */

/* d = c ? a : b, where c is 0 or 1. */
static void select_lanes(const spad__ptx_value *a, const spad__ptx_value *b,
                         const spad__ptx_value *c, spad__ptx_value *out) {
    uint32_t chosen = 0;
    uint32_t equal = 0;
    SPAD__PTX_EACH_LANE {
        const uint64_t take = UINT64_C(0) - (c->lanes[l] & 1);
        out->lanes[l] = (a->lanes[l] & take) | (b->lanes[l] & ~take);
        chosen |= (uint32_t)(c->lanes[l] & 1) << l;
        equal |= (uint32_t)(a->lanes[l] == b->lanes[l]) << l;
    }
    out->known =
        (c->known & ((chosen & a->known) | (~chosen & b->known))) | (equal & a->known & b->known);
}

static spad__ptx_outcome run_select(spad__ptx_machine *m, spad__ptx_warp *w,
                                    const spad__ptx_instruction *i, uint32_t lanes) {
    const spad__ptx_type type = (spad__ptx_type)i->types[0];
    spad__ptx_value space[2];
    spad__ptx_value c;
    spad__ptx_value out;
    if (i->count < 4) return spad__ptx_unsupported(m, i, "an operand is missing");
    const spad__ptx_value *a = spad__ptx_read(m, w, spad__ptx_operand_at(m, i, 1), type, &space[0]);
    const spad__ptx_value *b = spad__ptx_read(m, w, spad__ptx_operand_at(m, i, 2), type, &space[1]);
    if (i->op == SPAD__PTX_OP_SELP) {
        spad__ptx_get(m, w, spad__ptx_operand_at(m, i, 3), SPAD__PTX_PRED, &c);
    } else {
        /* slct: c >= 0, and a float -0 is. */
        const spad__ptx_type of = (spad__ptx_type)i->types[1];
        spad__ptx_get(m, w, spad__ptx_operand_at(m, i, 3), of, &c);
        SPAD__PTX_EACH_LANE {
            const bool minus_zero = of == SPAD__PTX_F32 && c.lanes[l] == UINT32_C(1) << 31;
            const bool nan = of == SPAD__PTX_F32 && (c.lanes[l] & INT32_MAX) > 0x7f800000;
            c.lanes[l] = !nan && ((c.lanes[l] >> 31 & 1) == 0 || minus_zero);
        }
    }
    select_lanes(a, b, &c, &out);
    spad__ptx_set(m, w, spad__ptx_operand_at(m, i, 0), lanes, &out);
    return SPAD__PTX_DONE;
}

/* ---- cvt ---------------------------------------------------------------------------------------
 */

typedef struct conversion {
    const spad__ptx_instruction *i;
    spad__ptx_type to;
    spad__ptx_type from;
    const spad__ptx_format *to_format; /* NULL: an integer */
    const spad__ptx_format *from_format;
    unsigned to_bits;
    unsigned from_bits;
    bool to_signed;
    bool from_signed;
    bool flush;
    bool saturate;
    bool finite;
    bool relu;
    bool whole; /* a float rounded to an integer, as a float */
    spad__ptx_rounding rounding;
} conversion;

static void find_rounding(conversion *c) {
    static const struct {
        spad__ptx_word word;
        spad__ptx_rounding rounding;
        bool whole;
    } modes[] = {{SPAD__PTX_WORD_RN, SPAD__PTX_TO_NEAREST, false},
                 {SPAD__PTX_WORD_RZ, SPAD__PTX_TO_ZERO, false},
                 {SPAD__PTX_WORD_RM, SPAD__PTX_TO_MINUS, false},
                 {SPAD__PTX_WORD_RP, SPAD__PTX_TO_PLUS, false},
                 {SPAD__PTX_WORD_RNA, SPAD__PTX_TO_AWAY, false},
                 {SPAD__PTX_WORD_RNI, SPAD__PTX_TO_NEAREST, true},
                 {SPAD__PTX_WORD_RZI, SPAD__PTX_TO_ZERO, true},
                 {SPAD__PTX_WORD_RMI, SPAD__PTX_TO_MINUS, true},
                 {SPAD__PTX_WORD_RPI, SPAD__PTX_TO_PLUS, true}};
    for (size_t n = 0; n < sizeof modes / sizeof modes[0]; n++) {
        if (!spad__ptx_has(c->i, modes[n].word)) continue;
        c->rounding = modes[n].rounding;
        c->whole = modes[n].whole;
        return;
    }
}

static uint64_t clamp_integer(const conversion *c, uint64_t value) {
    const int64_t number = c->from_signed ? spad__ptx_signed(value, c->from_bits) : (int64_t)value;
    const bool huge = !c->from_signed && number < 0; /* beyond 2^63 */
    const uint64_t all = spad__ptx_mask(c->to_bits);
    const uint64_t most = c->to_signed ? all >> 1 : all;
    if (huge || (number > 0 && (uint64_t)number > most)) return most;
    if (number >= 0) return (uint64_t)number;
    if (!c->to_signed) return 0;
    const int64_t least = -(int64_t)most - 1;
    return (uint64_t)(number < least ? least : number) & all;
}

static uint64_t float_to_float(conversion *c, uint64_t value) {
    spad__ptx_real real = spad__ptx_unpack(value, c->from_format, c->flush);
    if (c->whole) real = spad__ptx_real_whole(real, c->rounding);
    const bool nan = real.kind == SPAD__PTX_NOT_A_NUMBER;
    if (c->saturate && (nan || real.negative)) return 0;
    if (c->saturate && real.kind != SPAD__PTX_ZERO && real.exponent >= 0) {
        real = spad__ptx_real_of_integer(1, false);
    }
    if (c->relu && real.negative && !nan) return 0;
    if (c->finite) return spad__ptx_pack_finite(real, c->to_format, c->rounding);
    return spad__ptx_pack(real, c->to_format, c->rounding, c->flush);
}

/* A NaN gives 0, or from f64 or to 64 bits the lowest number. */
static uint64_t float_to_integer(const conversion *c, uint64_t value) {
    const spad__ptx_real real = spad__ptx_unpack(value, c->from_format, c->flush);
    if (real.kind == SPAD__PTX_NOT_A_NUMBER && (c->from_bits == 64 || c->to_bits == 64)) {
        return UINT64_C(1) << (c->to_bits - 1);
    }
    return spad__ptx_real_to_integer(real, c->rounding, c->to_bits, c->to_signed);
}

static uint64_t convert_value(conversion *c, uint64_t value) {
    if (c->from_format != NULL) {
        return c->to_format != NULL ? float_to_float(c, value) : float_to_integer(c, value);
    }
    if (c->to_format == NULL && c->saturate) return clamp_integer(c, value);
    if (c->from_signed) value = (uint64_t)spad__ptx_signed(value, c->from_bits);
    if (c->to_format == NULL) return value & spad__ptx_mask(c->to_bits);
    const spad__ptx_real real = spad__ptx_real_of_integer(value, c->from_signed);
    return spad__ptx_pack(real, c->to_format, c->rounding, false);
}

/* Integers are extended to the register of the result. */
static uint64_t extend_result(const conversion *c, uint64_t value) {
    const bool extends = c->to_format == NULL && c->to_signed;
    return extends ? (uint64_t)spad__ptx_signed(value, c->to_bits) : value;
}

static void find_conversion(conversion *c, const spad__ptx_instruction *i) {
    *c = (conversion){.i = i,
                      .to = (spad__ptx_type)i->types[0],
                      .from = (spad__ptx_type)i->types[1],
                      .flush = spad__ptx_has(i, SPAD__PTX_WORD_FTZ),
                      .saturate = spad__ptx_has(i, SPAD__PTX_WORD_SAT),
                      .finite = spad__ptx_has(i, SPAD__PTX_WORD_SATFINITE),
                      .relu = spad__ptx_has(i, SPAD__PTX_WORD_RELU)};
    c->to_format = spad__ptx_format_of(c->to);
    c->from_format = spad__ptx_format_of(c->from);
    c->to_bits = spad__ptx_bits(c->to);
    c->from_bits = spad__ptx_bits(c->from);
    c->to_signed = spad__ptx_type_is_signed(c->to);
    c->from_signed = spad__ptx_type_is_signed(c->from);
    find_rounding(c);
}

static bool is_understood(const conversion *c) {
    const bool to_float = spad__ptx_type_is_float(c->to);
    const bool from_float = spad__ptx_type_is_float(c->from);
    return (!to_float || c->to_format != NULL) && (!from_float || c->from_format != NULL) &&
           !spad__ptx_has(c->i, SPAD__PTX_WORD_RS) && !spad__ptx_has(c->i, SPAD__PTX_WORD_SCALED);
}

static spad__ptx_outcome convert_one(spad__ptx_machine *m, spad__ptx_warp *w, conversion *c,
                                     uint32_t lanes) {
    spad__ptx_value v;
    spad__ptx_get(m, w, spad__ptx_operand_at(m, c->i, 1), c->from, &v);
    for (uint32_t rest = lanes & v.known; rest != 0; rest &= rest - 1) {
        const int l = __builtin_ctz(rest);
        v.lanes[l] = extend_result(c, convert_value(c, v.lanes[l]));
    }
    spad__ptx_set(m, w, spad__ptx_operand_at(m, c->i, 0), lanes, &v);
    return SPAD__PTX_DONE;
}

/* Two sources to two parts: the first source is the upper part. */
static void join_two(spad__ptx_machine *m, const spad__ptx_warp *w, conversion *c, unsigned part,
                     spad__ptx_value *out) {
    spad__ptx_value high;
    spad__ptx_get(m, w, spad__ptx_operand_at(m, c->i, 1), c->from, &high);
    spad__ptx_get(m, w, spad__ptx_operand_at(m, c->i, 2), c->from, out);
    out->known &= high.known;
    SPAD__PTX_EACH_LANE out->lanes[l] =
        convert_value(c, high.lanes[l]) << part | convert_value(c, out->lanes[l]);
}

/* One packed source to a packed result. */
static void convert_parts(spad__ptx_machine *m, const spad__ptx_warp *w, conversion *c,
                          unsigned part, unsigned from_part, spad__ptx_value *out) {
    spad__ptx_value v;
    spad__ptx_get(m, w, spad__ptx_operand_at(m, c->i, 1), c->from, &v);
    out->known = v.known;
    const unsigned parts = c->to_bits / part;
    SPAD__PTX_EACH_LANE {
        out->lanes[l] = 0;
        for (unsigned n = 0; n < parts; n++) {
            const uint64_t value = v.lanes[l] >> n * from_part & spad__ptx_mask(from_part);
            out->lanes[l] |= convert_value(c, value) << n * part;
        }
    }
}

static spad__ptx_outcome convert_packed(spad__ptx_machine *m, spad__ptx_warp *w, conversion *c,
                                        uint32_t lanes) {
    const spad__ptx_operand *to = spad__ptx_operand_at(m, c->i, 0);
    const unsigned part = c->to_format->bits;
    const unsigned from_part = c->from_format != NULL ? c->from_format->bits : 0;
    spad__ptx_value out;
    if (c->to_bits == 2 * part && c->from_bits == from_part && c->i->count == 3) {
        join_two(m, w, c, part, &out);
    } else if (from_part != 0 && c->to_bits / part == c->from_bits / from_part &&
               c->i->count == 2) {
        convert_parts(m, w, c, part, from_part, &out);
    } else {
        out.known = 0;
    }
    spad__ptx_set(m, w, to, lanes, &out);
    return SPAD__PTX_DONE;
}

static spad__ptx_outcome run_cvt(spad__ptx_machine *m, spad__ptx_warp *w,
                                 const spad__ptx_instruction *i, uint32_t lanes) {
    conversion c;
    find_conversion(&c, i);
    if (i->type_count < 2 || !is_understood(&c)) {
        spad__ptx_forget(m, w, spad__ptx_operand_at(m, i, 0), lanes);
        return SPAD__PTX_DONE;
    }
    const unsigned item = c.to_format != NULL ? c.to_format->bits + c.to_format->shift : c.to_bits;
    return c.to_bits > item ? convert_packed(m, w, &c, lanes) : convert_one(m, w, &c, lanes);
}

/* cvt.pack.sat.u8.s32.b32 d, a, b, c: the packed a and b below the bits of c. */
static spad__ptx_outcome run_pack(spad__ptx_machine *m, spad__ptx_warp *w,
                                  const spad__ptx_instruction *i, uint32_t lanes) {
    conversion c;
    find_conversion(&c, i);
    c.saturate = true;
    c.from_signed = true;
    if (c.to_bits > 16 || c.to_format != NULL || i->count < 3) {
        spad__ptx_forget(m, w, spad__ptx_operand_at(m, i, 0), lanes);
        return SPAD__PTX_DONE;
    }
    spad__ptx_value a;
    spad__ptx_value b;
    spad__ptx_value rest = {{0}, UINT32_MAX};
    spad__ptx_get(m, w, spad__ptx_operand_at(m, i, 1), SPAD__PTX_S32, &a);
    spad__ptx_get(m, w, spad__ptx_operand_at(m, i, 2), SPAD__PTX_S32, &b);
    if (i->count > 3) spad__ptx_get(m, w, spad__ptx_operand_at(m, i, 3), SPAD__PTX_B32, &rest);
    SPAD__PTX_EACH_LANE {
        const uint64_t both =
            clamp_integer(&c, a.lanes[l]) << c.to_bits | clamp_integer(&c, b.lanes[l]);
        rest.lanes[l] = rest.lanes[l] << 2 * c.to_bits | both;
    }
    rest.known &= a.known & b.known;
    spad__ptx_set(m, w, spad__ptx_operand_at(m, i, 0), lanes, &rest);
    return SPAD__PTX_DONE;
}

spad__ptx_outcome spad__ptx_run_convert(spad__ptx_machine *m, spad__ptx_warp *w,
                                        const spad__ptx_instruction *i, uint32_t lanes) {
    if (i->count < 2) return spad__ptx_unsupported(m, i, "an operand is missing");
    switch (i->op) {
    case SPAD__PTX_OP_MOV: return run_mov(m, w, i, lanes);
    case SPAD__PTX_OP_CVT: return run_cvt(m, w, i, lanes);
    case SPAD__PTX_OP_CVT_PACK: return run_pack(m, w, i, lanes);
    default: return run_select(m, w, i, lanes);
    }
}
