/* SPDX-License-Identifier: Apache-2.0
 *
 * Floating-point instructions. A result is known if IEEE 754 determines it; approximations (ex2,
 * rcp.approx, div.full) are not, because their last bits are the hardware's. NaNs are canonical
 * ones: kernels ask whether a number is a NaN, and not which.
 *
 * Reference: PTX ISA 9.0, sections 9.7.3 (floating point), 9.7.4 (half precision), 9.7.5 (mixed
 * precision), 9.7.6 (comparison).
 */
#include <string.h>

#include "frontend/ptx/run/ptx_arithmetic.h"
#include "frontend/ptx/run/ptx_real.h"

/* One instruction: what it needs for each lane. */
typedef struct float_step {
    const spad__ptx_instruction *i;
    const spad__ptx_format *format;
    spad__ptx_rounding rounding;
    bool flush;
} float_step;

typedef uint64_t float_operation(float_step *s, const uint64_t *sources, int count);

static bool float_has(const float_step *s, spad__ptx_word word) {
    return spad__ptx_has(s->i, word);
}

static spad__ptx_real unpack(const float_step *s, uint64_t bits) {
    return spad__ptx_unpack(bits, s->format, s->flush);
}

static uint64_t sign_of(const float_step *s) {
    return UINT64_C(1) << (s->format->bits - 1);
}

static bool is_nan(const float_step *s, uint64_t bits) {
    return unpack(s, bits).kind == SPAD__PTX_NOT_A_NUMBER;
}

/* .sat and .relu, then the format. */
static uint64_t finish_float(float_step *s, spad__ptx_real value) {
    if (float_has(s, SPAD__PTX_WORD_SAT)) {
        if (value.kind == SPAD__PTX_NOT_A_NUMBER || value.negative) return 0;
        const bool beyond = value.kind == SPAD__PTX_INFINITY ||
                            (value.kind == SPAD__PTX_FINITE && value.exponent >= 0);
        if (beyond) value = spad__ptx_real_of_integer(1, false);
    }
    if (float_has(s, SPAD__PTX_WORD_RELU) && value.negative &&
        value.kind != SPAD__PTX_NOT_A_NUMBER) {
        return 0;
    }
    return spad__ptx_pack(value, s->format, s->rounding, s->flush);
}

/* ---- operations --------------------------------------------------------------------------------
 */

static uint64_t float_add(float_step *s, const uint64_t *x, int count) {
    (void)count;
    return finish_float(s, spad__ptx_real_add(unpack(s, x[0]), unpack(s, x[1]), s->rounding));
}

static uint64_t float_sub(float_step *s, const uint64_t *x, int count) {
    (void)count;
    spad__ptx_real b = unpack(s, x[1]);
    b.negative = !b.negative;
    return finish_float(s, spad__ptx_real_add(unpack(s, x[0]), b, s->rounding));
}

static uint64_t float_mul(float_step *s, const uint64_t *x, int count) {
    (void)count;
    return finish_float(s, spad__ptx_real_mul(unpack(s, x[0]), unpack(s, x[1])));
}

static uint64_t float_fma(float_step *s, const uint64_t *x, int count) {
    (void)count;
    return finish_float(
        s, spad__ptx_real_fma(unpack(s, x[0]), unpack(s, x[1]), unpack(s, x[2]), s->rounding));
}

static uint64_t float_div(float_step *s, const uint64_t *x, int count) {
    (void)count;
    return finish_float(s, spad__ptx_real_div(unpack(s, x[0]), unpack(s, x[1])));
}

static uint64_t float_rcp(float_step *s, const uint64_t *x, int count) {
    (void)count;
    return finish_float(s,
                        spad__ptx_real_div(spad__ptx_real_of_integer(1, false), unpack(s, x[0])));
}

static uint64_t float_sqrt(float_step *s, const uint64_t *x, int count) {
    (void)count;
    return finish_float(s, spad__ptx_real_sqrt(unpack(s, x[0])));
}

static uint64_t float_neg(float_step *s, const uint64_t *x, int count) {
    (void)count;
    const bool zero = unpack(s, x[0]).kind == SPAD__PTX_ZERO;
    return (zero ? x[0] & sign_of(s) : x[0]) ^ sign_of(s);
}

static uint64_t float_abs(float_step *s, const uint64_t *x, int count) {
    (void)count;
    return unpack(s, x[0]).kind == SPAD__PTX_ZERO ? 0 : x[0] & ~sign_of(s);
}

/* copysign d, a, b: b with the sign of a. */
static uint64_t float_copysign(float_step *s, const uint64_t *x, int count) {
    (void)count;
    return (x[1] & ~sign_of(s)) | (x[0] & sign_of(s));
}

static uint64_t extreme(float_step *s, const uint64_t *x, int count, int better) {
    const bool magnitudes = float_has(s, SPAD__PTX_WORD_XORSIGN);
    uint64_t best = s->format->nan;
    uint64_t signs = 0;
    for (int k = 0; k < count; k++) {
        uint64_t next = x[k];
        signs ^= next & sign_of(s);
        if (float_has(s, SPAD__PTX_WORD_ABS_WORD)) next &= ~sign_of(s);
        if (is_nan(s, next)) {
            if (float_has(s, SPAD__PTX_WORD_NAN)) return s->format->nan;
            continue;
        }
        if (unpack(s, next).kind == SPAD__PTX_ZERO) next &= sign_of(s);
        const int order =
            is_nan(s, best) ? better : spad__ptx_compare(next, best, s->format, s->flush);
        /* -0 is below +0. */
        const bool negative = (next & sign_of(s)) != 0;
        const bool wins = order == better || (order == 0 && negative == (better < 0));
        if (wins) best = next;
    }
    if (is_nan(s, best)) return best;
    if (float_has(s, SPAD__PTX_WORD_RELU) && (best & sign_of(s)) != 0) return 0;
    return magnitudes ? (best & ~sign_of(s)) | signs : best;
}

static uint64_t float_min(float_step *s, const uint64_t *x, int count) {
    return extreme(s, x, count, -1);
}

static uint64_t float_max(float_step *s, const uint64_t *x, int count) {
    return extreme(s, x, count, 1);
}

static uint64_t float_testp(float_step *s, const uint64_t *x, int count) {
    (void)count;
    const spad__ptx_class kind = unpack(s, x[0]).kind;
    const bool nan = kind == SPAD__PTX_NOT_A_NUMBER;
    const bool infinite = kind == SPAD__PTX_INFINITY;
    const uint64_t magnitude = x[0] & ~sign_of(s);
    const bool small = magnitude >> s->format->fraction == 0;
    if (float_has(s, SPAD__PTX_WORD_FINITE)) return !nan && !infinite;
    if (float_has(s, SPAD__PTX_WORD_INFINITE)) return infinite;
    if (float_has(s, SPAD__PTX_WORD_NUMBER)) return !nan;
    if (float_has(s, SPAD__PTX_WORD_NOTANUMBER)) return nan;
    if (float_has(s, SPAD__PTX_WORD_NORMAL)) return !nan && !infinite && !small;
    return small && magnitude != 0;
}

/* ---- running -----------------------------------------------------------------------------------
 */

static const struct {
    float_operation *run; /* NULL: an approximation */
    uint8_t sources;
    bool more;    /* a further source may follow */
    bool rounded; /* exact only with a rounding mode */
} float_rules[SPAD__PTX_OP_COUNT] = {
    [SPAD__PTX_OP_ADD] = {float_add, 2, false, false},
    [SPAD__PTX_OP_SUB] = {float_sub, 2, false, false},
    [SPAD__PTX_OP_MUL] = {float_mul, 2, false, false},
    [SPAD__PTX_OP_FMA] = {float_fma, 3, false, false},
    [SPAD__PTX_OP_MAD] = {float_fma, 3, false, false},
    [SPAD__PTX_OP_DIV] = {float_div, 2, false, true},
    [SPAD__PTX_OP_RCP] = {float_rcp, 1, false, true},
    [SPAD__PTX_OP_SQRT] = {float_sqrt, 1, false, true},
    [SPAD__PTX_OP_NEG] = {float_neg, 1, false, false},
    [SPAD__PTX_OP_ABS] = {float_abs, 1, false, false},
    [SPAD__PTX_OP_COPYSIGN] = {float_copysign, 2, false, false},
    [SPAD__PTX_OP_MIN] = {float_min, 2, true, false},
    [SPAD__PTX_OP_MAX] = {float_max, 2, true, false},
    [SPAD__PTX_OP_TESTP] = {float_testp, 1, false, false},
};

static bool float_rounding(const spad__ptx_instruction *i, spad__ptx_rounding *out) {
    static const struct {
        spad__ptx_word word;
        spad__ptx_rounding rounding;
    } modes[] = {{SPAD__PTX_WORD_RN, SPAD__PTX_TO_NEAREST},
                 {SPAD__PTX_WORD_RZ, SPAD__PTX_TO_ZERO},
                 {SPAD__PTX_WORD_RM, SPAD__PTX_TO_MINUS},
                 {SPAD__PTX_WORD_RP, SPAD__PTX_TO_PLUS}};
    *out = SPAD__PTX_TO_NEAREST;
    for (size_t n = 0; n < sizeof modes / sizeof modes[0]; n++) {
        if (!spad__ptx_has(i, modes[n].word)) continue;
        *out = modes[n].rounding;
        return true;
    }
    return false;
}

/* All parts of a register in one lane. */
static uint64_t run_lane(float_step *s, float_operation *run, unsigned bits,
                         const uint64_t *sources, int count) {
    const unsigned part = s->format->bits;
    uint64_t out = 0;
    for (unsigned shift = 0; shift < bits; shift += part) {
        uint64_t parts[4] = {0};
        for (int k = 0; k < count; k++) parts[k] = sources[k] >> shift & spad__ptx_mask(part);
        out |= run(s, parts, count) << shift;
    }
    return out;
}

static spad__ptx_outcome run_exact(spad__ptx_machine *m, spad__ptx_warp *w,
                                   const spad__ptx_instruction *i, uint32_t lanes, float_step *s,
                                   int count) {
    const spad__ptx_type type = (spad__ptx_type)i->types[0];
    const spad__ptx_value *sources[4];
    spad__ptx_value space[4];
    spad__ptx_value out = {{0}, UINT32_MAX};
    for (int k = 0; k < count; k++) {
        const spad__ptx_operand *operand = spad__ptx_operand_at(m, i, k + 1);
        if (operand == NULL) return spad__ptx_unsupported(m, i, "an operand is missing");
        sources[k] = spad__ptx_read(m, w, operand, type, &space[k]);
        out.known &= sources[k]->known;
    }
    uint64_t parts[4] = {0};
    int last = -1; /* a lane with the same sources, often: scalars are the same everywhere */
    for (uint32_t rest = out.known & lanes; rest != 0; rest &= rest - 1) {
        const int l = __builtin_ctz(rest);
        bool same = last >= 0;
        for (int k = 0; k < count; k++) {
            same = same && parts[k] == sources[k]->lanes[l];
            parts[k] = sources[k]->lanes[l];
        }
        out.lanes[l] =
            same ? out.lanes[last]
                 : run_lane(s, float_rules[i->op].run, spad__ptx_bits(type), parts, count);
        last = l;
    }
    spad__ptx_set(m, w, spad__ptx_operand_at(m, i, 0), lanes, &out);
    return SPAD__PTX_DONE;
}

/* ---- comparisons -------------------------------------------------------------------------------
 */

enum { LESS = 1, EQUAL = 2, GREATER = 4, UNORDERED = 8 };

static const struct {
    spad__ptx_word word;
    unsigned holds;
} float_comparisons[] = {
    {SPAD__PTX_WORD_EQ, EQUAL},
    {SPAD__PTX_WORD_NE, LESS | GREATER},
    {SPAD__PTX_WORD_LT, LESS},
    {SPAD__PTX_WORD_LE, LESS | EQUAL},
    {SPAD__PTX_WORD_GT, GREATER},
    {SPAD__PTX_WORD_GE, GREATER | EQUAL},
    {SPAD__PTX_WORD_EQU, EQUAL | UNORDERED},
    {SPAD__PTX_WORD_NEU, LESS | GREATER | UNORDERED},
    {SPAD__PTX_WORD_LTU, LESS | UNORDERED},
    {SPAD__PTX_WORD_LEU, LESS | EQUAL | UNORDERED},
    {SPAD__PTX_WORD_GTU, GREATER | UNORDERED},
    {SPAD__PTX_WORD_GEU, GREATER | EQUAL | UNORDERED},
    {SPAD__PTX_WORD_NUM, LESS | EQUAL | GREATER},
    {SPAD__PTX_WORD_NAN_TEST, UNORDERED},
};

static unsigned holds_for(const spad__ptx_instruction *i) {
    for (size_t n = 0; n < sizeof float_comparisons / sizeof float_comparisons[0]; n++) {
        if (spad__ptx_has(i, float_comparisons[n].word)) return float_comparisons[n].holds;
    }
    return 0;
}

static uint64_t compare_part(const float_step *s, unsigned holds, uint64_t a, uint64_t b) {
    static const unsigned outcome[] = {LESS, EQUAL, GREATER, UNORDERED};
    const int order = spad__ptx_compare(a, b, s->format, s->flush);
    return (holds & outcome[order + 1]) != 0;
}

/* Packed numbers: the low one decides the first destination, the high one the second. */
static spad__ptx_outcome compare_packed(spad__ptx_machine *m, spad__ptx_warp *w,
                                        const spad__ptx_instruction *i, uint32_t lanes,
                                        const float_step *s, const spad__ptx_value *a,
                                        const spad__ptx_value *b) {
    const spad__ptx_operand *to = spad__ptx_operand_at(m, i, 0);
    if (to == NULL || i->op != SPAD__PTX_OP_SETP || i->count > 3) {
        spad__ptx_forget(m, w, to, lanes);
        return SPAD__PTX_DONE;
    }
    const unsigned part = s->format->bits;
    spad__ptx_value low = {{0}, a->known & b->known};
    spad__ptx_value high = low;
    for (int l = 0; l < SPAD__PTX_LANES; l++) {
        const uint64_t mask = spad__ptx_mask(part);
        const unsigned holds = holds_for(i);
        low.lanes[l] = compare_part(s, holds, a->lanes[l] & mask, b->lanes[l] & mask);
        high.lanes[l] = compare_part(s, holds, a->lanes[l] >> part, b->lanes[l] >> part);
    }
    spad__ptx_set(m, w, to, lanes, &low);
    if (to->also >= 0) spad__ptx_set_register(m, w, to->also, lanes, &high);
    return SPAD__PTX_DONE;
}

static spad__ptx_outcome run_float_compare(spad__ptx_machine *m, spad__ptx_warp *w,
                                           const spad__ptx_instruction *i, uint32_t lanes,
                                           float_step *s) {
    const int of_type = i->op == SPAD__PTX_OP_SET && i->type_count > 1 ? 1 : 0;
    const spad__ptx_type type = (spad__ptx_type)i->types[of_type];
    spad__ptx_value a;
    spad__ptx_value b;
    s->format = spad__ptx_format_of(type);
    if (i->count < 3 || s->format == NULL) {
        return spad__ptx_unsupported(m, i, "its type is not known");
    }
    spad__ptx_get(m, w, spad__ptx_operand_at(m, i, 1), type, &a);
    spad__ptx_get(m, w, spad__ptx_operand_at(m, i, 2), type, &b);
    if (spad__ptx_bits(type) > s->format->bits) return compare_packed(m, w, i, lanes, s, &a, &b);
    const unsigned holds = holds_for(i);
    a.known &= b.known;
    for (int l = 0; l < SPAD__PTX_LANES; l++) {
        a.lanes[l] = (a.known >> l & 1) != 0 ? compare_part(s, holds, a.lanes[l], b.lanes[l]) : 0;
    }
    return spad__ptx_finish_compare(m, w, i, lanes, &a);
}

spad__ptx_outcome spad__ptx_run_float(spad__ptx_machine *m, spad__ptx_warp *w,
                                      const spad__ptx_instruction *i, uint32_t lanes) {
    float_step s = {.i = i, .flush = spad__ptx_has(i, SPAD__PTX_WORD_FTZ)};
    if (i->op == SPAD__PTX_OP_SETP || i->op == SPAD__PTX_OP_SET) {
        return run_float_compare(m, w, i, lanes, &s);
    }
    const bool rounds = float_rounding(i, &s.rounding);
    int count = float_rules[i->op].sources;
    if (float_rules[i->op].more && i->count > count + 1) count++;
    s.format = spad__ptx_format_of((spad__ptx_type)i->types[0]);
    const bool mixed = i->type_count > 1;
    if (float_rules[i->op].run == NULL || s.format == NULL || mixed ||
        (float_rules[i->op].rounded && !rounds) || i->count < count + 1) {
        spad__ptx_forget(m, w, spad__ptx_operand_at(m, i, 0), lanes);
        return SPAD__PTX_DONE;
    }
    return run_exact(m, w, i, lanes, &s, count);
}
