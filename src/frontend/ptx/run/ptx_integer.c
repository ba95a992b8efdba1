/* SPDX-License-Identifier: Apache-2.0
 *
 * Integer and bitwise arithmetic. An operation is a loop over all 32 lanes of its sources, so that
 * the compiler makes vector code of it; which lanes are written is decided afterwards.
 *
 * Reference: PTX ISA 9.0, sections 9.7.1 (integer), 9.7.2 (extended precision), 9.7.6 (comparison),
 * 9.7.8 (logic and shifts).
 */
#include "frontend/ptx/run/ptx_integer.h"

#include <string.h>

/* ---- operations ---------------------------------------------------------------------------------
 */

/* One loop with sources a, b, c, d. */
#define INTEGER_OPERATION(name, expression)                 \
    static void name(const spad__ptx_integers *x) {         \
        SPAD__PTX_EACH_LANE {                               \
            const uint64_t a = x->a[l];                     \
            const uint64_t b = x->b[l];                     \
            const uint64_t c = x->c[l];                     \
            x->out[l] = (uint64_t)(expression)&x->out_mask; \
            (void)a, (void)b, (void)c;                      \
        }                                                   \
    }
#define WITH_SIGN(value) spad__ptx_signed(value, x->bits)

static uint64_t clamp32(int64_t value) {
    if (value > INT32_MAX) return INT32_MAX;
    return value < INT32_MIN ? (uint64_t)(int64_t)INT32_MIN : (uint64_t)value;
}

INTEGER_OPERATION(int_add, a + b)
INTEGER_OPERATION(int_sub, a - b)
INTEGER_OPERATION(int_add_sat, clamp32(WITH_SIGN(a) + WITH_SIGN(b)))
INTEGER_OPERATION(int_sub_sat, clamp32(WITH_SIGN(a) - WITH_SIGN(b)))
INTEGER_OPERATION(int_mul, a *b)
INTEGER_OPERATION(int_mad, a *b + c)
INTEGER_OPERATION(int_mul_wide_s, (uint64_t)WITH_SIGN(a) * (uint64_t)WITH_SIGN(b))
INTEGER_OPERATION(int_mad_wide_s, (uint64_t)WITH_SIGN(a) * (uint64_t)WITH_SIGN(b) + c)
INTEGER_OPERATION(int_and, a &b)
INTEGER_OPERATION(int_or, a | b)
INTEGER_OPERATION(int_xor, a ^ b)
INTEGER_OPERATION(int_not, ~a)
INTEGER_OPERATION(int_cnot, a == 0)
INTEGER_OPERATION(int_neg, UINT64_C(0) - a)
INTEGER_OPERATION(int_abs, WITH_SIGN(a) < 0 ? UINT64_C(0) - a : a)
INTEGER_OPERATION(int_min_u, a < b ? a : b)
INTEGER_OPERATION(int_max_u, a > b ? a : b)
INTEGER_OPERATION(int_min_s, WITH_SIGN(a) < WITH_SIGN(b) ? a : b)
INTEGER_OPERATION(int_max_s, WITH_SIGN(a) > WITH_SIGN(b) ? a : b)
INTEGER_OPERATION(int_min_relu, WITH_SIGN(a) < WITH_SIGN(b) ? (WITH_SIGN(a) < 0 ? 0 : a)
                                                            : (WITH_SIGN(b) < 0 ? 0 : b))
INTEGER_OPERATION(int_max_relu, WITH_SIGN(a) > WITH_SIGN(b) ? (WITH_SIGN(a) < 0 ? 0 : a)
                                                            : (WITH_SIGN(b) < 0 ? 0 : b))
INTEGER_OPERATION(int_sad_u, c + (a < b ? b - a : a - b))
INTEGER_OPERATION(int_sad_s, c + (WITH_SIGN(a) < WITH_SIGN(b) ? b - a : a - b))
INTEGER_OPERATION(int_shl, b >= x->bits ? 0 : a << b)
INTEGER_OPERATION(int_shr_u, b >= x->bits ? 0 : a >> b)
INTEGER_OPERATION(int_shr_s, WITH_SIGN(a) >> (b >= x->bits ? x->bits - 1 : b))
INTEGER_OPERATION(int_div_u, b == 0 ? 0 : a / b)
INTEGER_OPERATION(int_rem_u, b == 0 ? 0 : a % b)
/* Division of the lowest number by -1 wraps. */
INTEGER_OPERATION(int_div_s, b == 0               ? 0
                             : WITH_SIGN(b) == -1 ? UINT64_C(0) - a
                                                  : (uint64_t)(WITH_SIGN(a) / WITH_SIGN(b)))
INTEGER_OPERATION(int_rem_s,
                  b == 0 || WITH_SIGN(b) == -1 ? 0 : (uint64_t)(WITH_SIGN(a) % WITH_SIGN(b)))
INTEGER_OPERATION(int_mul_hi, spad__ptx_product_high(x, a, b))
INTEGER_OPERATION(int_mad_hi, spad__ptx_product_high(x, a, b) + c)
INTEGER_OPERATION(int_mad_hi_sat,
                  clamp32(WITH_SIGN(spad__ptx_product_high(x, a, b)) + WITH_SIGN(c)))

/* mul24: 24-bit sources, the low or high 32 of 48 bits. */
static uint64_t product24(const spad__ptx_integers *x, uint64_t a, uint64_t b) {
    const uint64_t product = x->is_signed ? (uint64_t)spad__ptx_signed(a & 0xffffff, 24) *
                                                (uint64_t)spad__ptx_signed(b & 0xffffff, 24)
                                          : (a & 0xffffff) * (b & 0xffffff);
    return (spad__ptx_has(x->i, SPAD__PTX_WORD_HI) ? product >> 16 : product) & UINT32_MAX;
}
INTEGER_OPERATION(int_mul24, product24(x, a, b))
INTEGER_OPERATION(int_mad24, product24(x, a, b) + c)

uint64_t spad__ptx_product_high(const spad__ptx_integers *x, uint64_t a, uint64_t b) {
    __extension__ typedef __int128 wide_signed;
    __extension__ typedef unsigned __int128 wide;
    if (!x->is_signed) return (uint64_t)((wide)a * b >> x->bits);
    const wide_signed product = (wide_signed)WITH_SIGN(a) * WITH_SIGN(b);
    return (uint64_t)((wide)product >> x->bits);
}

/* ---- choice of an operation
 * ---------------------------------------------------------------------- */

typedef spad__ptx_integer_operation *choice(const spad__ptx_instruction *i, bool is_signed);

static bool has_word(const spad__ptx_instruction *i, spad__ptx_word word) {
    return spad__ptx_has(i, word);
}

static spad__ptx_integer_operation *choose_add(const spad__ptx_instruction *i, bool is_signed) {
    (void)is_signed;
    return has_word(i, SPAD__PTX_WORD_SAT) ? int_add_sat : int_add;
}
static spad__ptx_integer_operation *choose_sub(const spad__ptx_instruction *i, bool is_signed) {
    (void)is_signed;
    return has_word(i, SPAD__PTX_WORD_SAT) ? int_sub_sat : int_sub;
}
static spad__ptx_integer_operation *choose_mul(const spad__ptx_instruction *i, bool is_signed) {
    if (has_word(i, SPAD__PTX_WORD_HI)) return int_mul_hi;
    return has_word(i, SPAD__PTX_WORD_WIDE) && is_signed ? int_mul_wide_s : int_mul;
}
static spad__ptx_integer_operation *choose_mad(const spad__ptx_instruction *i, bool is_signed) {
    if (has_word(i, SPAD__PTX_WORD_HI))
        return has_word(i, SPAD__PTX_WORD_SAT) ? int_mad_hi_sat : int_mad_hi;
    return has_word(i, SPAD__PTX_WORD_WIDE) && is_signed ? int_mad_wide_s : int_mad;
}
static spad__ptx_integer_operation *choose_min(const spad__ptx_instruction *i, bool is_signed) {
    if (has_word(i, SPAD__PTX_WORD_RELU)) return int_min_relu;
    return is_signed ? int_min_s : int_min_u;
}
static spad__ptx_integer_operation *choose_max(const spad__ptx_instruction *i, bool is_signed) {
    if (has_word(i, SPAD__PTX_WORD_RELU)) return int_max_relu;
    return is_signed ? int_max_s : int_max_u;
}

/* Widths of sources. */
enum { TYPED, WORD, AS_RESULT };

typedef struct integer_rule {
    spad__ptx_integer_operation *run[2]; /* unsigned, signed */
    choice *choose;                      /* or this */
    uint8_t sources;
    uint8_t widths[4];
    bool count; /* the result has 32 bits */
} integer_rule;

#define BOTH_SIGNS(operation) \
    { operation, operation }
static const integer_rule integer_rules[SPAD__PTX_OP_COUNT] = {
    [SPAD__PTX_OP_ADD] = {.choose = choose_add, .sources = 2},
    [SPAD__PTX_OP_SUB] = {.choose = choose_sub, .sources = 2},
    [SPAD__PTX_OP_MUL] = {.choose = choose_mul, .sources = 2},
    [SPAD__PTX_OP_MAD] = {.choose = choose_mad, .sources = 3, .widths = {TYPED, TYPED, AS_RESULT}},
    [SPAD__PTX_OP_MUL24] = {.run = BOTH_SIGNS(int_mul24), .sources = 2},
    [SPAD__PTX_OP_MAD24] = {.run = BOTH_SIGNS(int_mad24), .sources = 3},
    [SPAD__PTX_OP_DIV] = {.run = {int_div_u, int_div_s}, .sources = 2},
    [SPAD__PTX_OP_REM] = {.run = {int_rem_u, int_rem_s}, .sources = 2},
    [SPAD__PTX_OP_AND] = {.run = BOTH_SIGNS(int_and), .sources = 2},
    [SPAD__PTX_OP_OR] = {.run = BOTH_SIGNS(int_or), .sources = 2},
    [SPAD__PTX_OP_XOR] = {.run = BOTH_SIGNS(int_xor), .sources = 2},
    [SPAD__PTX_OP_NOT] = {.run = BOTH_SIGNS(int_not), .sources = 1},
    [SPAD__PTX_OP_CNOT] = {.run = BOTH_SIGNS(int_cnot), .sources = 1},
    [SPAD__PTX_OP_NEG] = {.run = BOTH_SIGNS(int_neg), .sources = 1},
    [SPAD__PTX_OP_ABS] = {.run = BOTH_SIGNS(int_abs), .sources = 1},
    [SPAD__PTX_OP_MIN] = {.choose = choose_min, .sources = 2},
    [SPAD__PTX_OP_MAX] = {.choose = choose_max, .sources = 2},
    [SPAD__PTX_OP_SAD] = {.run = {int_sad_u, int_sad_s}, .sources = 3},
    [SPAD__PTX_OP_SHL] = {.run = BOTH_SIGNS(int_shl), .sources = 2, .widths = {TYPED, WORD}},
    [SPAD__PTX_OP_SHR] = {.run = {int_shr_u, int_shr_s}, .sources = 2, .widths = {TYPED, WORD}},
    [SPAD__PTX_OP_SHF] = {.run = BOTH_SIGNS(spad__ptx_shf),
                          .sources = 3,
                          .widths = {WORD, WORD, WORD}},
    [SPAD__PTX_OP_PRMT] = {.run = BOTH_SIGNS(spad__ptx_prmt),
                           .sources = 3,
                           .widths = {WORD, WORD, WORD}},
    [SPAD__PTX_OP_LOP3] = {.run = BOTH_SIGNS(spad__ptx_lop3),
                           .sources = 4,
                           .widths = {WORD, WORD, WORD, WORD}},
    [SPAD__PTX_OP_BFE] = {.run = {spad__ptx_bfe_u, spad__ptx_bfe_s},
                          .sources = 3,
                          .widths = {TYPED, WORD, WORD}},
    [SPAD__PTX_OP_BFI] = {.run = BOTH_SIGNS(spad__ptx_bfi),
                          .sources = 4,
                          .widths = {TYPED, TYPED, WORD, WORD}},
    [SPAD__PTX_OP_BFIND] = {.run = BOTH_SIGNS(spad__ptx_bfind), .sources = 1, .count = true},
    [SPAD__PTX_OP_CLZ] = {.run = BOTH_SIGNS(spad__ptx_clz), .sources = 1, .count = true},
    [SPAD__PTX_OP_POPC] = {.run = BOTH_SIGNS(spad__ptx_popc), .sources = 1, .count = true},
    [SPAD__PTX_OP_BREV] = {.run = BOTH_SIGNS(spad__ptx_brev), .sources = 1},
    [SPAD__PTX_OP_FNS] = {.run = BOTH_SIGNS(spad__ptx_fns),
                          .sources = 3,
                          .widths = {WORD, WORD, WORD}},
    [SPAD__PTX_OP_BMSK] = {.run = BOTH_SIGNS(spad__ptx_bmsk), .sources = 2, .widths = {WORD, WORD}},
    [SPAD__PTX_OP_SZEXT] = {.run = BOTH_SIGNS(spad__ptx_szext),
                            .sources = 2,
                            .widths = {TYPED, WORD}},
    [SPAD__PTX_OP_DP4A] = {.run = BOTH_SIGNS(spad__ptx_dp4a),
                           .sources = 3,
                           .widths = {WORD, WORD, WORD}},
    [SPAD__PTX_OP_DP2A] = {.run = BOTH_SIGNS(spad__ptx_dp2a),
                           .sources = 3,
                           .widths = {WORD, WORD, WORD}},
};

/* ---- running
 * ------------------------------------------------------------------------------------- */

static uint32_t lanes_with(const uint64_t *lanes, uint64_t value) {
    uint32_t out = 0;
    SPAD__PTX_EACH_LANE out |= (uint32_t)(lanes[l] == value) << l;
    return out;
}

/* Results that one source alone decides: 0 times anything, and so on. Lanes that are not known hold
 * zeros, so the operation has put the right result there. */
static uint32_t decided_lanes(const spad__ptx_integers *x, const spad__ptx_value *a,
                              const spad__ptx_value *b) {
    uint64_t decisive = 0;
    switch (x->i->op) {
    case SPAD__PTX_OP_MUL:
    case SPAD__PTX_OP_AND: break;
    case SPAD__PTX_OP_OR: decisive = x->mask; break;
    default: return 0;
    }
    return (a->known & lanes_with(x->a, decisive)) | (b->known & lanes_with(x->b, decisive));
}

static spad__ptx_type source_type(const spad__ptx_integers *x, uint8_t width, spad__ptx_type type) {
    if (width == WORD) return SPAD__PTX_B32;
    if (width == TYPED || x->out_bits == x->bits) return type;
    return x->out_bits == 64 ? SPAD__PTX_B64 : SPAD__PTX_B32;
}

/* Packed 16-bit numbers: one half after the other. */
static void run_halves(spad__ptx_integer_operation *run, const spad__ptx_integers *whole) {
    spad__ptx_integers x = *whole;
    uint64_t parts[3][SPAD__PTX_LANES];
    uint64_t out[SPAD__PTX_LANES];
    uint64_t joined[SPAD__PTX_LANES] = {0};
    x.a = parts[0];
    x.b = parts[1];
    x.c = parts[2];
    x.out = out;
    x.bits = x.out_bits = 16;
    x.mask = x.out_mask = 0xffff;
    for (unsigned shift = 0; shift < 32; shift += 16) {
        SPAD__PTX_EACH_LANE {
            parts[0][l] = whole->a[l] >> shift & 0xffff;
            parts[1][l] = whole->b[l] >> shift & 0xffff;
            parts[2][l] = whole->c[l] >> shift & 0xffff;
        }
        run(&x);
        SPAD__PTX_EACH_LANE joined[l] |= out[l] << shift;
    }
    memcpy(whole->out, joined, sizeof joined);
}

static bool is_packed(spad__ptx_type type) {
    return type == SPAD__PTX_U16X2 || type == SPAD__PTX_S16X2;
}

static bool is_signed_type(spad__ptx_type type) {
    return type == SPAD__PTX_S16X2 || spad__ptx_type_is_signed(type);
}

/* lop3 d|p: p = (d != 0) and or or q. */
static void finish_lop3(spad__ptx_machine *m, spad__ptx_warp *w, const spad__ptx_instruction *i,
                        uint32_t lanes, const spad__ptx_value *out) {
    const spad__ptx_operand *to = spad__ptx_operand_at(m, i, 0);
    const spad__ptx_operand *with = spad__ptx_operand_at(m, i, 5);
    if (to == NULL || to->also < 0 || with == NULL) return;
    spad__ptx_value p = *out;
    spad__ptx_value q;
    spad__ptx_get(m, w, with, SPAD__PTX_PRED, &q);
    const bool both = has_word(i, SPAD__PTX_WORD_AND);
    SPAD__PTX_EACH_LANE {
        const uint64_t any = p.lanes[l] != 0;
        p.lanes[l] = both ? any & q.lanes[l] : any | q.lanes[l];
    }
    p.known &= q.known;
    spad__ptx_set_register(m, w, to->also, lanes, &p);
}

static spad__ptx_outcome run_rule(spad__ptx_machine *m, spad__ptx_warp *w,
                                  const spad__ptx_instruction *i, uint32_t lanes,
                                  const integer_rule *r) {
    const spad__ptx_type type = (spad__ptx_type)i->types[0];
    const bool is_signed = is_signed_type(type);
    const unsigned bits = spad__ptx_bits(type);
    spad__ptx_value space[4];
    const spad__ptx_value *sources[4] = {NULL};
    spad__ptx_value out;
    spad__ptx_integers x = {.i = i, .is_signed = is_signed, .bits = bits, .out_bits = bits};
    if (has_word(i, SPAD__PTX_WORD_WIDE)) x.out_bits = 2 * bits;
    if (r->count) x.out_bits = 32;
    x.mask = spad__ptx_mask(bits);
    x.out_mask = spad__ptx_mask(x.out_bits);
    out.known = UINT32_MAX;
    for (int k = 0; k < 4; k++) {
        if (k >= r->sources) {
            sources[k] = sources[0];
            continue;
        }
        const spad__ptx_operand *operand = spad__ptx_operand_at(m, i, k + 1);
        if (operand == NULL) return spad__ptx_unsupported(m, i, "an operand is missing");
        sources[k] = spad__ptx_read(m, w, operand, source_type(&x, r->widths[k], type), &space[k]);
        out.known &= sources[k]->known;
    }
    x.a = sources[0]->lanes;
    x.b = sources[1]->lanes;
    x.c = sources[2]->lanes;
    x.d = sources[3]->lanes;
    x.out = out.lanes;
    spad__ptx_integer_operation *run =
        r->choose != NULL ? r->choose(i, is_signed) : r->run[is_signed];
    if (is_packed(type)) {
        run_halves(run, &x);
    } else {
        run(&x);
    }
    if ((lanes & ~out.known) != 0) out.known |= decided_lanes(&x, sources[0], sources[1]);
    if (i->op == SPAD__PTX_OP_DIV || i->op == SPAD__PTX_OP_REM) {
        out.known &= ~lanes_with(x.b, 0); /* what a division by 0 gives is not specified */
    }
    spad__ptx_set(m, w, spad__ptx_operand_at(m, i, 0), lanes, &out);
    if (i->op == SPAD__PTX_OP_LOP3) finish_lop3(m, w, i, lanes, &out);
    return SPAD__PTX_DONE;
}

/* ---- carries
 * ------------------------------------------------------------------------------------- */

/* x + y + carry, or x - y - carry; the carry (or borrow) out. */
static bool add_carry(uint64_t *x, uint64_t y, bool carry, bool subtract, unsigned bits) {
    const uint64_t mask = spad__ptx_mask(bits);
    __extension__ typedef unsigned __int128 wide;
    const wide sum = subtract ? (wide)*x - y - carry : (wide)*x + y + carry;
    *x = (uint64_t)sum & mask;
    return (sum >> bits & 1) != 0;
}

static bool uses_carry(spad__ptx_op op) {
    return op == SPAD__PTX_OP_ADDC || op == SPAD__PTX_OP_SUBC || op == SPAD__PTX_OP_MADC;
}

static spad__ptx_outcome run_carry(spad__ptx_machine *m, spad__ptx_warp *w,
                                   const spad__ptx_instruction *i, uint32_t lanes) {
    const spad__ptx_type type = (spad__ptx_type)i->types[0];
    const bool product = i->op == SPAD__PTX_OP_MAD || i->op == SPAD__PTX_OP_MADC;
    const bool subtract = i->op == SPAD__PTX_OP_SUB || i->op == SPAD__PTX_OP_SUBC;
    spad__ptx_value a;
    spad__ptx_value b;
    spad__ptx_value c;
    spad__ptx_get(m, w, spad__ptx_operand_at(m, i, 1), type, &a);
    spad__ptx_get(m, w, spad__ptx_operand_at(m, i, 2), type, &b);
    a.known &= b.known;
    if (product) {
        const unsigned bits = spad__ptx_bits(type);
        const spad__ptx_integers x = {.i = i,
                                      .a = a.lanes,
                                      .b = b.lanes,
                                      .c = b.lanes,
                                      .out = a.lanes,
                                      .is_signed = spad__ptx_type_is_signed(type),
                                      .bits = bits,
                                      .mask = spad__ptx_mask(bits),
                                      .out_mask = spad__ptx_mask(bits)};
        if (spad__ptx_operand_at(m, i, 3) == NULL) {
            return spad__ptx_unsupported(m, i, "an operand is missing");
        }
        (has_word(i, SPAD__PTX_WORD_HI) ? int_mul_hi : int_mul)(&x);
        spad__ptx_get(m, w, spad__ptx_operand_at(m, i, 3), type, &c);
        a.known &= c.known;
    }
    const uint32_t in = uses_carry(i->op) ? w->carry : 0;
    if (uses_carry(i->op)) a.known &= w->carry_known;
    uint32_t carry = 0;
    SPAD__PTX_EACH_LANE {
        const bool one = add_carry(&a.lanes[l], product ? c.lanes[l] : b.lanes[l],
                                   (in >> l & 1) != 0, subtract, spad__ptx_bits(type));
        carry |= (uint32_t)one << l;
    }
    if (has_word(i, SPAD__PTX_WORD_CC)) {
        w->carry = (w->carry & ~lanes) | (carry & lanes);
        w->carry_known = (w->carry_known & ~lanes) | (a.known & lanes);
    }
    spad__ptx_set(m, w, spad__ptx_operand_at(m, i, 0), lanes, &a);
    return SPAD__PTX_DONE;
}

/* ---- comparisons
 * --------------------------------------------------------------------------------- */

INTEGER_OPERATION(int_eq, a == b)
INTEGER_OPERATION(int_ne, a != b)
INTEGER_OPERATION(int_lt_u, a < b)
INTEGER_OPERATION(int_le_u, a <= b)
INTEGER_OPERATION(int_gt_u, a > b)
INTEGER_OPERATION(int_ge_u, a >= b)
INTEGER_OPERATION(int_lt_s, WITH_SIGN(a) < WITH_SIGN(b))
INTEGER_OPERATION(int_le_s, WITH_SIGN(a) <= WITH_SIGN(b))
INTEGER_OPERATION(int_gt_s, WITH_SIGN(a) > WITH_SIGN(b))
INTEGER_OPERATION(int_ge_s, WITH_SIGN(a) >= WITH_SIGN(b))

static const struct {
    spad__ptx_word word;
    spad__ptx_integer_operation *run[2]; /* unsigned, signed */
} integer_comparisons[] = {
    {SPAD__PTX_WORD_EQ, BOTH_SIGNS(int_eq)},   {SPAD__PTX_WORD_NE, BOTH_SIGNS(int_ne)},
    {SPAD__PTX_WORD_LT, {int_lt_u, int_lt_s}}, {SPAD__PTX_WORD_LE, {int_le_u, int_le_s}},
    {SPAD__PTX_WORD_GT, {int_gt_u, int_gt_s}}, {SPAD__PTX_WORD_GE, {int_ge_u, int_ge_s}},
    {SPAD__PTX_WORD_LO, BOTH_SIGNS(int_lt_u)}, {SPAD__PTX_WORD_LS, BOTH_SIGNS(int_le_u)},
    {SPAD__PTX_WORD_HI, BOTH_SIGNS(int_gt_u)}, {SPAD__PTX_WORD_HS, BOTH_SIGNS(int_ge_u)},
};

static spad__ptx_outcome run_int_compare(spad__ptx_machine *m, spad__ptx_warp *w,
                                         const spad__ptx_instruction *i, uint32_t lanes) {
    const int of_type = i->op == SPAD__PTX_OP_SET && i->type_count > 1 ? 1 : 0;
    const spad__ptx_type type = (spad__ptx_type)i->types[of_type];
    const bool is_signed = is_signed_type(type);
    spad__ptx_value space[2];
    spad__ptx_value out;
    if (i->count < 3) return spad__ptx_unsupported(m, i, "an operand is missing");
    const spad__ptx_value *a = spad__ptx_read(m, w, spad__ptx_operand_at(m, i, 1), type, &space[0]);
    const spad__ptx_value *b = spad__ptx_read(m, w, spad__ptx_operand_at(m, i, 2), type, &space[1]);
    const spad__ptx_integers x = {.i = i,
                                  .a = a->lanes,
                                  .b = b->lanes,
                                  .c = b->lanes,
                                  .out = out.lanes,
                                  .is_signed = is_signed,
                                  .bits = spad__ptx_bits(type),
                                  .out_mask = 1};
    for (size_t n = 0; n < sizeof integer_comparisons / sizeof integer_comparisons[0]; n++) {
        if (!has_word(i, integer_comparisons[n].word)) continue;
        integer_comparisons[n].run[is_signed](&x);
        out.known = a->known & b->known;
        return spad__ptx_finish_compare(m, w, i, lanes, &out);
    }
    return spad__ptx_unsupported(m, i, "the comparison is not known");
}

/* One combination of a comparison with the third source. */
static void combine_compared(const spad__ptx_instruction *i, const spad__ptx_value *compared,
                             const spad__ptx_value *with, uint64_t flip, spad__ptx_value *out) {
    uint32_t decided = 0;
    if (has_word(i, SPAD__PTX_WORD_AND)) {
        SPAD__PTX_EACH_LANE out->lanes[l] = (compared->lanes[l] ^ flip) & with->lanes[l];
        decided = (compared->known & lanes_with(compared->lanes, flip)) |
                  (with->known & lanes_with(with->lanes, 0));
    } else if (has_word(i, SPAD__PTX_WORD_OR)) {
        SPAD__PTX_EACH_LANE out->lanes[l] = (compared->lanes[l] ^ flip) | with->lanes[l];
        decided = (compared->known & lanes_with(compared->lanes, 1 ^ flip)) |
                  (with->known & lanes_with(with->lanes, 1));
    } else {
        SPAD__PTX_EACH_LANE out->lanes[l] = compared->lanes[l] ^ flip ^ with->lanes[l];
    }
    SPAD__PTX_EACH_LANE {
        /* A lane that only one source decides: the other one is not known, and holds a 0. */
        if (decided >> l & 1) out->lanes[l] = has_word(i, SPAD__PTX_WORD_OR);
    }
    out->known = (compared->known & with->known) | decided;
}

/* set gives all ones, or 1.0. */
static void spread_result(const spad__ptx_instruction *i, spad__ptx_value *out) {
    const spad__ptx_type type = (spad__ptx_type)i->types[0];
    uint64_t yes = spad__ptx_mask(spad__ptx_bits(type));
    if (type == SPAD__PTX_F32) yes = 0x3f800000;
    if (type == SPAD__PTX_F16) yes = 0x3c00;
    if (type == SPAD__PTX_BF16) yes = 0x3f80;
    SPAD__PTX_EACH_LANE out->lanes[l] = out->lanes[l] != 0 ? yes : 0;
}

spad__ptx_outcome spad__ptx_finish_compare(spad__ptx_machine *m, spad__ptx_warp *w,
                                           const spad__ptx_instruction *i, uint32_t lanes,
                                           const spad__ptx_value *compared) {
    const spad__ptx_operand *to = spad__ptx_operand_at(m, i, 0);
    const spad__ptx_operand *third = spad__ptx_operand_at(m, i, 3);
    spad__ptx_value with;
    spad__ptx_value out = *compared;
    spad__ptx_value other = *compared;
    if (third != NULL) {
        spad__ptx_get(m, w, third, SPAD__PTX_PRED, &with);
        combine_compared(i, compared, &with, 0, &out);
        combine_compared(i, compared, &with, 1, &other);
    } else {
        SPAD__PTX_EACH_LANE other.lanes[l] = compared->lanes[l] ^ 1;
    }
    if (i->op == SPAD__PTX_OP_SET) spread_result(i, &out);
    spad__ptx_set(m, w, to, lanes, &out);
    if (to->also >= 0) spad__ptx_set_register(m, w, to->also, lanes, &other);
    return SPAD__PTX_DONE;
}

spad__ptx_outcome spad__ptx_run_integer(spad__ptx_machine *m, spad__ptx_warp *w,
                                        const spad__ptx_instruction *i, uint32_t lanes) {
    if (i->op == SPAD__PTX_OP_SETP || i->op == SPAD__PTX_OP_SET) {
        return run_int_compare(m, w, i, lanes);
    }
    if (i->count < 2) return spad__ptx_unsupported(m, i, "an operand is missing");
    if (has_word(i, SPAD__PTX_WORD_CC) || uses_carry(i->op)) {
        return i->count < 3 ? spad__ptx_unsupported(m, i, "an operand is missing")
                            : run_carry(m, w, i, lanes);
    }
    const integer_rule *r = &integer_rules[i->op];
    if (r->sources == 0) return spad__ptx_unsupported(m, i, "its type is not known");
    return run_rule(m, w, i, lanes, r);
}
