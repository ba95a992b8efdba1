/* SPDX-License-Identifier: Apache-2.0
 *
 * Checked arithmetic against the same operations in 128 bits, where nothing overflows.
 */
#include "base/checked.h"
#include "proof.h"

typedef __int128 wide;

static bool fits(wide value) {
    return value >= INT64_MIN && value <= INT64_MAX;
}

static void sums_are_exact_or_refused(void) {
    const int64_t a = nondet_int64();
    const int64_t b = nondet_int64();
    const int64_t before = nondet_int64();
    int64_t out = before;
    PROVE(spad__add(a, b, &out) == fits((wide)a + b));
    PROVE(out == (fits((wide)a + b) ? (int64_t)((wide)a + b) : before));
    out = before;
    PROVE(spad__sub(a, b, &out) == fits((wide)a - b));
    PROVE(out == (fits((wide)a - b) ? (int64_t)((wide)a - b) : before));
}

/* One factor of 64 bits and one of four: two of 64 are beyond a SAT solver. */
static void products_are_exact_or_refused(void) {
    const int64_t a = nondet_int64();
    const int64_t b = (int64_t)(nondet_uint8() & 15) - 8;
    const int64_t before = nondet_int64();
    const wide product = (wide)a * b;
    int64_t out = before;
    PROVE(spad__mul(a, b, &out) == fits(product));
    PROVE(out == (fits(product) ? (int64_t)product : before));
}

static void powers_of_two_are_known(void) {
    const int64_t value = nondet_int64();
    const uint32_t bit = nondet_uint32();
    ASSUME(bit <= 62);
    PROVE(spad__is_pow2(INT64_C(1) << bit));
    if (spad__is_pow2(value))
        PROVE(value > 0 && (uint64_t)value << __builtin_clzll(value) == UINT64_C(1) << 63);
}

/* Down and up to a power of two, for every value. */
static void powers_of_two_align(void) {
    const int64_t value = nondet_int64();
    const uint32_t bit = nondet_uint32();
    ASSUME(bit <= 62);
    const int64_t align = INT64_C(1) << bit;
    int64_t down;
    int64_t up;
    PROVE(spad__align_down(value, align, &down)); /* INT64_MIN is a multiple of all of them */
    PROVE(down <= value && (wide)value - down < align && (down & (align - 1)) == 0);
    const wide next = (wide)value == down ? (wide)down : (wide)down + align;
    PROVE(spad__align_up(value, align, &up) == fits(next));
    if (fits(next)) {
        PROVE(up == (int64_t)next);
        if (value >= 0 && value <= INT64_MAX - align)
            PROVE(spad__align_up_fits(value, align) == up);
    }
}

int main(void) {
#if defined(SUMS)
    sums_are_exact_or_refused();
    powers_of_two_are_known();
    powers_of_two_align();
#else
    products_are_exact_or_refused();
#endif
    return 0;
}
