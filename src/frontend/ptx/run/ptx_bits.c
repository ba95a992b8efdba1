/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations on bits and bytes within a register: fields, funnel shifts, permutations, dot
 * products.
 *
 * Reference: PTX ISA 9.0, sections 9.7.1 (bfe, bfi, clz, dp4a, ...), 9.7.8 (shf, lop3), 9.7.9.7
 * (prmt).
 */
#include "frontend/ptx/run/ptx_integer.h"

static bool bits_have(const spad__ptx_integers *x, spad__ptx_word word) {
    return spad__ptx_has(x->i, word);
}

/* ---- shifts and selections ---------------------------------------------------------------------
 */

void spad__ptx_shf(const spad__ptx_integers *x) {
    const bool left = bits_have(x, SPAD__PTX_WORD_L);
    const bool wrap = bits_have(x, SPAD__PTX_WORD_WRAP);
    SPAD__PTX_EACH_LANE {
        const uint64_t both = x->b[l] << 32 | x->a[l];
        const uint64_t n = wrap ? x->c[l] & 31 : x->c[l] > 32 ? 32 : x->c[l];
        x->out[l] = (left ? both << n >> 32 : both >> n) & UINT32_MAX;
    }
}

void spad__ptx_lop3(const spad__ptx_integers *x) {
    SPAD__PTX_EACH_LANE {
        uint64_t out = 0;
        for (unsigned row = 0; row < 8; row++) {
            if ((x->d[l] >> row & 1) == 0) continue;
            const uint64_t a = (row & 4) != 0 ? x->a[l] : ~x->a[l];
            const uint64_t b = (row & 2) != 0 ? x->b[l] : ~x->b[l];
            const uint64_t c = (row & 1) != 0 ? x->c[l] : ~x->c[l];
            out |= a & b & c;
        }
        x->out[l] = out & UINT32_MAX;
    }
}

/* The selectors of the modes of prmt, for each value of the two low bits of c. */
static uint32_t selector(const spad__ptx_integers *x, uint64_t c) {
    static const struct {
        spad__ptx_word word;
        uint16_t of[4];
    } modes[] = {
        {SPAD__PTX_WORD_F4E, {0x3210, 0x4321, 0x5432, 0x6543}},
        {SPAD__PTX_WORD_B4E, {0x5670, 0x6701, 0x7012, 0x0123}},
        {SPAD__PTX_WORD_RC8, {0x0000, 0x1111, 0x2222, 0x3333}},
        {SPAD__PTX_WORD_ECL, {0x3210, 0x3211, 0x3222, 0x3333}},
        {SPAD__PTX_WORD_ECR, {0x0000, 0x1110, 0x2210, 0x3210}},
        {SPAD__PTX_WORD_RC16, {0x1010, 0x3232, 0x1010, 0x3232}},
    };
    for (size_t n = 0; n < sizeof modes / sizeof modes[0]; n++) {
        if (bits_have(x, modes[n].word)) return modes[n].of[c & 3];
    }
    return (uint32_t)(c & 0xffff);
}

void spad__ptx_prmt(const spad__ptx_integers *x) {
    SPAD__PTX_EACH_LANE {
        const uint64_t both = x->b[l] << 32 | x->a[l];
        const uint32_t selectors = selector(x, x->c[l]);
        uint64_t out = 0;
        for (unsigned n = 0; n < 4; n++) {
            const uint32_t s = selectors >> 4 * n & 15;
            uint64_t byte = both >> 8 * (s & 7) & 0xff;
            if ((s & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
            out |= byte << 8 * n;
        }
        x->out[l] = out;
    }
}

/* ---- fields ------------------------------------------------------------------------------------
 */

void spad__ptx_bfe_u(const spad__ptx_integers *x) {
    SPAD__PTX_EACH_LANE {
        const uint64_t at = x->b[l] & 0xff;
        const uint64_t bits = x->c[l] & 0xff;
        const uint64_t rest = at >= x->bits ? 0 : x->a[l] >> at;
        x->out[l] = rest & spad__ptx_mask((unsigned)bits);
    }
}

/* Bits beyond the field, and beyond the register, are copies of the field's last bit, or of the
 * register's where the field ends behind it. */
void spad__ptx_bfe_s(const spad__ptx_integers *x) {
    const uint64_t last = x->bits - 1;
    SPAD__PTX_EACH_LANE {
        const uint64_t at = x->b[l] & 0xff;
        const uint64_t bits = x->c[l] & 0xff;
        const uint64_t end = at + bits - 1 < last ? at + bits - 1 : last;
        if (bits == 0) {
            x->out[l] = 0;
            continue;
        }
        const bool negative = (x->a[l] >> (end > last ? last : end) & 1) != 0;
        const uint64_t rest = at > last ? 0 : x->a[l] >> at;
        const uint64_t kept = at > last ? 0 : end - at + 1;
        const uint64_t field = rest & spad__ptx_mask((unsigned)kept);
        x->out[l] = (negative ? field | ~spad__ptx_mask((unsigned)kept) : field) & x->mask;
    }
}

void spad__ptx_bfi(const spad__ptx_integers *x) {
    SPAD__PTX_EACH_LANE {
        const uint64_t at = x->c[l] & 0xff;
        const uint64_t bits = x->d[l] & 0xff;
        const uint64_t field = at >= 64 ? 0 : spad__ptx_mask((unsigned)bits) << at & x->mask;
        const uint64_t inserted = at >= 64 ? 0 : x->a[l] << at;
        x->out[l] = (x->b[l] & ~field) | (inserted & field);
    }
}

void spad__ptx_bmsk(const spad__ptx_integers *x) {
    const bool wrap = bits_have(x, SPAD__PTX_WORD_WRAP);
    SPAD__PTX_EACH_LANE {
        const uint64_t at = wrap ? x->a[l] & 31 : x->a[l];
        const uint64_t bits = wrap ? x->b[l] & 31 : x->b[l];
        const uint64_t field = spad__ptx_mask(bits > 32 ? 32 : (unsigned)bits);
        x->out[l] = at >= 32 ? 0 : field << at & UINT32_MAX;
    }
}

void spad__ptx_szext(const spad__ptx_integers *x) {
    const bool wrap = bits_have(x, SPAD__PTX_WORD_WRAP);
    SPAD__PTX_EACH_LANE {
        const uint64_t bits = wrap ? x->b[l] & 31 : x->b[l];
        uint64_t out = x->a[l] & spad__ptx_mask(bits > 32 ? 32 : (unsigned)bits);
        const bool negative = bits > 0 && bits < 32 && (out >> (bits - 1) & 1) != 0;
        if (x->is_signed && negative) out |= ~spad__ptx_mask((unsigned)bits);
        x->out[l] = out & UINT32_MAX;
    }
}

/* ---- counting ----------------------------------------------------------------------------------
 */

static uint64_t leading_zeros(uint64_t value, unsigned bits) {
    return value == 0 ? bits : (uint64_t)__builtin_clzll(value) - (64 - bits);
}

void spad__ptx_clz(const spad__ptx_integers *x) {
    SPAD__PTX_EACH_LANE x->out[l] = leading_zeros(x->a[l], x->bits);
}

void spad__ptx_popc(const spad__ptx_integers *x) {
    SPAD__PTX_EACH_LANE x->out[l] = (uint64_t)__builtin_popcountll(x->a[l]);
}

/* The highest bit that differs from the sign; all ones if there is none. */
void spad__ptx_bfind(const spad__ptx_integers *x) {
    const bool amount = bits_have(x, SPAD__PTX_WORD_SHIFTAMT);
    SPAD__PTX_EACH_LANE {
        const bool flip = x->is_signed && (x->a[l] >> (x->bits - 1) & 1) != 0;
        const uint64_t value = (flip ? ~x->a[l] : x->a[l]) & x->mask;
        const uint64_t zeros = leading_zeros(value, x->bits);
        x->out[l] = value == 0 ? UINT32_MAX : amount ? zeros : x->bits - 1 - zeros;
    }
}

void spad__ptx_brev(const spad__ptx_integers *x) {
    SPAD__PTX_EACH_LANE {
        uint64_t out = 0;
        for (unsigned n = 0; n < x->bits; n++) out |= (x->a[l] >> n & 1) << (x->bits - 1 - n);
        x->out[l] = out;
    }
}

/* The bit of a that is c set bits away from bit b; c = 0: bit b itself. */
static uint64_t find_nth(uint32_t mask, uint32_t base, int32_t offset) {
    if (offset == 0) return base < 32 && (mask >> base & 1) != 0 ? base : UINT32_MAX;
    const int step = offset > 0 ? 1 : -1;
    int64_t left = offset > 0 ? (int64_t)offset : -(int64_t)offset;
    for (int64_t bit = base; bit >= 0 && bit < 32; bit += step) {
        if ((mask >> bit & 1) != 0 && --left == 0) return (uint64_t)bit;
    }
    return UINT32_MAX;
}

void spad__ptx_fns(const spad__ptx_integers *x) {
    SPAD__PTX_EACH_LANE {
        x->out[l] = find_nth((uint32_t)x->a[l], (uint32_t)x->b[l], (int32_t)(uint32_t)x->c[l]);
    }
}

/* ---- dot products ------------------------------------------------------------------------------
 */

static int64_t bit_part(uint64_t value, unsigned at, unsigned bits, bool is_signed) {
    const uint64_t field = value >> at & spad__ptx_mask(bits);
    return is_signed ? spad__ptx_signed(field, bits) : (int64_t)field;
}

static bool is_signed_source(const spad__ptx_integers *x, int n) {
    return spad__ptx_type_is_signed((spad__ptx_type)x->i->types[n]);
}

void spad__ptx_dp4a(const spad__ptx_integers *x) {
    SPAD__PTX_EACH_LANE {
        int64_t sum = 0;
        for (unsigned n = 0; n < 4; n++) {
            sum += bit_part(x->a[l], 8 * n, 8, is_signed_source(x, 0)) *
                   bit_part(x->b[l], 8 * n, 8, is_signed_source(x, 1));
        }
        x->out[l] = (x->c[l] + (uint64_t)sum) & UINT32_MAX;
    }
}

void spad__ptx_dp2a(const spad__ptx_integers *x) {
    const unsigned first = bits_have(x, SPAD__PTX_WORD_HI) ? 16 : 0;
    SPAD__PTX_EACH_LANE {
        int64_t sum = 0;
        for (unsigned n = 0; n < 2; n++) {
            sum += bit_part(x->a[l], 16 * n, 16, is_signed_source(x, 0)) *
                   bit_part(x->b[l], first + 8 * n, 8, is_signed_source(x, 1));
        }
        x->out[l] = (x->c[l] + (uint64_t)sum) & UINT32_MAX;
    }
}
