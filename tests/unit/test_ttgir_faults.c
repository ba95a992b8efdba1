/* SPDX-License-Identifier: Apache-2.0
 *
 * The numbers of a program at the ends of what they can be, values that are no rings, loops whose
 * values have no closed form; and texts of all kinds with no host memory.
 */
#include <string.h>

#include "frontend/gpu/scalar.h"
#include "spad/spad.h"
#include "support/support.h"

typedef spad__scalar scalar;
enum { NO = SPAD__NO_SCALAR };

static scalar num(spad__scalars *s, int64_t value) {
    return spad__scalar_number(s, value);
}

static scalar two(spad__scalars *s, spad__scalar_op op, scalar a, scalar b) {
    return spad__scalar_make(s, op, a, b);
}

static bool is_data(const spad__scalars *s, scalar n) {
    return n >= 0 && spad__scalar_get(s, n)->data;
}

static int64_t value_of(const spad__scalars *s, scalar n) {
    int64_t value = -99;
    assert_true(spad__scalar_known(s, n, &value));
    return value;
}

/* ---- expressions ------------------------------------------------------------------------ */

static void folded(void **state) {
    (void)state;
    test_host counted;
    test_host_init(&counted);
    spad__scalars s = {.host = &counted.host};
    const scalar round = spad__scalar_iteration(&s, 1), other = spad__scalar_iteration(&s, 2);
    assert_int_equal(value_of(&s, two(&s, SPAD__SCALAR_AND, num(&s, 6), num(&s, 3))), 2);
    assert_int_equal(value_of(&s, two(&s, SPAD__SCALAR_OR, num(&s, 6), num(&s, 3))), 7);
    assert_int_equal(value_of(&s, two(&s, SPAD__SCALAR_XOR, num(&s, 6), num(&s, 3))), 5);
    assert_true(is_data(&s, two(&s, SPAD__SCALAR_RING, num(&s, 6), num(&s, 3))));
    assert_true(is_data(&s, two(&s, SPAD__SCALAR_DIV, num(&s, -6), num(&s, 4))));
    assert_true(is_data(&s, two(&s, SPAD__SCALAR_MOD, num(&s, -6), num(&s, 4))));
    assert_true(is_data(&s, two(&s, SPAD__SCALAR_MOD, num(&s, 6), num(&s, 0))));
    assert_true(is_data(&s, two(&s, SPAD__SCALAR_DIV, num(&s, 6), round)));
    assert_true(is_data(&s, two(&s, SPAD__SCALAR_MUL, num(&s, INT64_MAX), num(&s, 3))));
    const scalar below = spad__scalar_argument(&s, 1, -INT64_MAX);
    assert_true(is_data(&s, two(&s, SPAD__SCALAR_ADD, below, spad__scalar_argument(&s, 2, -2))));
    /* of bits with themselves, with 0 and with 1 */
    const scalar bit = two(&s, SPAD__SCALAR_LESS, round, other);
    const scalar not = spad__scalar_not(&s, bit);
    const scalar zero = num(&s, 0), one = num(&s, 1);
    assert_int_equal(two(&s, SPAD__SCALAR_AND, bit, bit), bit);
    assert_int_not_equal(two(&s, SPAD__SCALAR_XOR, bit, bit), bit);
    assert_int_equal(two(&s, SPAD__SCALAR_AND, bit, zero), zero);
    assert_int_equal(two(&s, SPAD__SCALAR_OR, zero, bit), bit);
    assert_int_equal(two(&s, SPAD__SCALAR_XOR, bit, zero), bit);
    assert_int_equal(two(&s, SPAD__SCALAR_AND, one, bit), bit);
    assert_int_equal(two(&s, SPAD__SCALAR_OR, bit, one), one);
    assert_int_equal(two(&s, SPAD__SCALAR_XOR, one, bit), not );
    assert_int_equal(two(&s, SPAD__SCALAR_XOR, one, not ), bit);
    const scalar mixed = two(&s, SPAD__SCALAR_XOR, bit, two(&s, SPAD__SCALAR_LESS, other, round));
    assert_int_equal(spad__scalar_get(&s, spad__scalar_not(&s, mixed))->a, mixed);
    assert_int_equal(spad__scalar_select(&s, bit, one, zero), bit);
    assert_int_equal(spad__scalar_select(&s, bit, zero, one), not );
    /* whether a rest is a bit */
    const scalar carried = spad__scalar_carried(&s, 1, 0);
    assert_true(spad__scalar_get(&s, two(&s, SPAD__SCALAR_MOD, round, num(&s, 2)))->bit);
    assert_false(spad__scalar_get(&s, two(&s, SPAD__SCALAR_MOD, round, num(&s, 3)))->bit);
    assert_false(spad__scalar_get(&s, two(&s, SPAD__SCALAR_MOD, carried, num(&s, 2)))->bit);
    /* of no number */
    assert_int_equal(spad__scalar_not(&s, NO), NO);
    assert_int_equal(spad__scalar_sub(&s, NO, one), NO);
    assert_int_equal(two(&s, SPAD__SCALAR_ADD, one, NO), NO);
    assert_int_equal(spad__scalar_resolve(&s, NO), NO);
    assert_int_equal(spad__scalar_select(&s, NO, one, one), NO);
    assert_int_equal(spad__scalar_select(&s, bit, NO, one), NO);
    assert_int_equal(spad__scalar_select(&s, bit, one, NO), NO);
    assert_false(spad__scalar_is(&s, NO, 0));
    spad__scalars_free(&s);
    test_host_assert_clean(&counted);
}

/* Deeper than 120 is data. */
static void deep(void **state) {
    (void)state;
    test_host counted;
    test_host_init(&counted);
    spad__scalars s = {.host = &counted.host};
    const scalar round = spad__scalar_iteration(&s, 1), one = num(&s, 1), three = num(&s, 3);
    scalar at = round;
    for (int i = 0; i < 120; i++) at = two(&s, SPAD__SCALAR_MIN, at, num(&s, 1000 + i));
    assert_false(is_data(&s, at));
    assert_true(is_data(&s, two(&s, SPAD__SCALAR_MAX, at, one)));
    assert_true(is_data(&s, spad__scalar_ring(&s, at, one, three)));
    assert_true(is_data(&s, spad__scalar_select(&s, round, at, one)));
    assert_true(is_data(&s, spad__scalar_select(&s, round, spad__scalar_data(&s), one)));
    spad__scalars_free(&s);
    test_host_assert_clean(&counted);
}

/* ---- rings ------------------------------------------------------------------------------- */

static void rings_that_are_none(void **state) {
    (void)state;
    test_host counted;
    test_host_init(&counted);
    spad__scalars s = {.host = &counted.host};
    int64_t ignored;
    const scalar zero = num(&s, 0), one = num(&s, 1), three = num(&s, 3), back = num(&s, -1);
    const scalar carried = spad__scalar_carried(&s, 1, 0), last = spad__scalar_carried(&s, 1, 1);
    /* stages as numbers */
    assert_int_equal(spad__scalar_ring(&s, NO, one, three), NO);
    assert_int_equal(spad__scalar_ring(&s, one, NO, three), NO);
    assert_int_equal(spad__scalar_ring(&s, one, one, NO), NO);
    assert_int_equal(spad__scalar_ring(&s, one, zero, three), one);
    assert_int_equal(value_of(&s, spad__scalar_ring(&s, back, one, three)), 0);
    assert_true(is_data(&s, spad__scalar_ring(&s, num(&s, -2), one, three)));
    assert_true(is_data(&s, spad__scalar_ring(&s, three, one, three)));
    assert_true(is_data(&s, spad__scalar_ring(&s, spad__scalar_data(&s), one, three)));
    assert_false(spad__scalar_known(&s, spad__scalar_ring(&s, back, back, three), &ignored));
    assert_false(spad__scalar_known(&s, spad__scalar_ring(&s, one, one, carried), &ignored));
    assert_false(spad__scalar_known(&s, spad__scalar_ring(&s, carried, one, three), &ignored));
    /* as sizes, which may be anything */
    const struct {
        int64_t from, on, wanted;
    } sizes[] = {{1, 4, 2}, {-1, 1, 0}, {-2, 1, -9}, {3, 1, -9}, {1, 0, -9}, {1, INT64_MAX, -9}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const scalar from = spad__scalar_argument(&s, (int64_t)i, sizes[i].from);
        const scalar on = spad__scalar_argument(&s, (int64_t)i + 20, sizes[i].on);
        int64_t found = -9;
        spad__scalar_known(&s, spad__scalar_ring(&s, from, on, three), &found);
        assert_int_equal(found, sizes[i].wanted);
        found = -9;
        spad__scalar_known(&s, spad__scalar_phase(&s, zero, from, on, three), &found);
        assert_int_equal(found, sizes[i].wanted < 0 ? -9 : (sizes[i].from + sizes[i].on) / 3);
    }
    for (int64_t bit = -1; bit <= 2; bit++) {
        int64_t found = -9;
        const scalar phase = spad__scalar_argument(&s, 40 + bit, bit);
        spad__scalar_known(&s, spad__scalar_phase(&s, phase, one, three, three), &found);
        assert_int_equal(found, bit < 0 || bit > 1 ? -9 : 1 - bit);
    }
    /* phases */
    assert_int_equal(spad__scalar_phase(&s, NO, one, one, three), NO);
    assert_int_equal(spad__scalar_phase(&s, one, NO, one, three), NO);
    assert_int_equal(spad__scalar_phase(&s, one, one, NO, three), NO);
    assert_int_equal(spad__scalar_phase(&s, one, one, one, NO), NO);
    assert_int_equal(spad__scalar_phase(&s, one, one, zero, three), one);
    assert_true(is_data(&s, spad__scalar_phase(&s, zero, num(&s, -2), one, three)));
    assert_true(is_data(&s, spad__scalar_phase(&s, zero, three, one, three)));
    assert_true(is_data(&s, spad__scalar_phase(&s, back, one, one, three)));
    assert_true(is_data(&s, spad__scalar_phase(&s, three, one, one, three)));
    assert_true(is_data(&s, spad__scalar_phase(&s, zero, one, num(&s, INT64_MAX), three)));
    assert_false(spad__scalar_known(&s, spad__scalar_phase(&s, zero, back, back, three), &ignored));
    assert_false(spad__scalar_known(&s, spad__scalar_phase(&s, zero, one, one, last), &ignored));
    /* two moves are one only for the same ring */
    const scalar phase = spad__scalar_phase(&s, zero, carried, one, three);
    const scalar moved = spad__scalar_ring(&s, carried, one, three);
    const scalar both = spad__scalar_phase(&s, phase, moved, one, three);
    assert_int_equal(spad__scalar_get(&s, both)->a, zero);
    assert_int_equal(value_of(&s, spad__scalar_get(&s, both)->c), 2);
    const scalar others[] = {
        spad__scalar_phase(&s, phase, carried, one, three),
        spad__scalar_phase(&s, phase, moved, one, num(&s, 4)),
        spad__scalar_phase(&s, phase, spad__scalar_ring(&s, last, one, three), one, three),
        spad__scalar_phase(&s, phase, spad__scalar_ring(&s, carried, three, three), one, three)};
    for (size_t i = 0; i < 4; i++) assert_int_equal(spad__scalar_get(&s, others[i])->a, phase);
    /* phase ^ (stage + 1 == count), where the count is one */
    const scalar next = two(&s, SPAD__SCALAR_ADD, carried, one);
    const scalar counts[] = {three, zero, num(&s, INT64_MAX)};
    for (size_t i = 0; i < 3; i++) {
        const scalar wrap = two(&s, SPAD__SCALAR_EQUAL, next, counts[i]);
        const scalar turned = two(&s, SPAD__SCALAR_XOR, last, wrap);
        assert_int_equal(spad__scalar_get(&s, turned)->op,
                         i == 0 ? SPAD__SCALAR_PHASE : SPAD__SCALAR_XOR);
    }
    assert_int_equal(spad__scalar_get(&s, two(&s, SPAD__SCALAR_XOR, last,
                                              two(&s, SPAD__SCALAR_EQUAL, carried, back)))
                         ->op,
                     SPAD__SCALAR_XOR);
    spad__scalars_free(&s);
    test_host_assert_clean(&counted);
}

/* ---- loops ------------------------------------------------------------------------------- */

enum { LOOP = 1, VALUES = 3, FORMS = 22 };

/* What the loop carries, by form: which of the values have a closed one. */
static unsigned solve_form(spad__scalars *s, int form, scalar *lasts) {
    const scalar zero = num(s, 0), one = num(s, 1), two_ = num(s, 2), three = num(s, 3);
    const scalar a = spad__scalar_carried(s, LOOP, 0), b = spad__scalar_carried(s, LOOP, 1);
    const scalar outer = spad__scalar_carried(s, 2, 0), round = spad__scalar_iteration(s, LOOP);
    const scalar trips = num(s, 10), more = two(s, SPAD__SCALAR_LESS, round, num(s, 9));
    const scalar ring = spad__scalar_ring(s, a, one, three);
    scalar inits[VALUES] = {zero, zero, zero}, nexts[VALUES] = {ring, b, zero};
    switch (form) {
    case 0: nexts[1] = spad__scalar_phase(s, b, a, one, three); break;
    case 1: nexts[1] = spad__scalar_phase(s, b, a, two_, three); break;
    case 2: nexts[1] = spad__scalar_phase(s, b, a, one, num(s, 4)); break;
    case 3: nexts[1] = spad__scalar_phase(s, b, outer, one, three); break;
    case 4: nexts[1] = spad__scalar_phase(s, b, one, one, outer); break;
    case 5: nexts[1] = spad__scalar_phase(s, b, a, round, three); break;
    case 6:
        inits[0] = NO;
        nexts[1] = spad__scalar_phase(s, b, a, one, three);
        break;
    case 7: inits[0] = num(s, 5); break;
    case 8: inits[0] = num(s, -2); break;
    case 9: nexts[0] = spad__scalar_ring(s, a, one, outer); break;
    case 10: nexts[0] = spad__scalar_ring(s, a, round, three); break;
    case 11: inits[0] = spad__scalar_ring(s, outer, one, num(s, 4)); break;
    case 12: inits[0] = spad__scalar_ring(s, outer, one, three); break;
    case 13: inits[0] = outer; break;
    case 14: nexts[1] = two(s, SPAD__SCALAR_XOR, b, two_); break;
    case 15:
        inits[1] = two_;
        nexts[1] = spad__scalar_not(s, b);
        break;
    case 16: nexts[1] = spad__scalar_select(s, more, two(s, SPAD__SCALAR_ADD, b, two_), b); break;
    case 17: nexts[1] = spad__scalar_select(s, more, two(s, SPAD__SCALAR_MUL, b, two_), b); break;
    case 18: nexts[1] = spad__scalar_not(s, a); break;
    case 19: nexts[1] = spad__scalar_select(s, more, two(s, SPAD__SCALAR_MUL, b, two_), a); break;
    case 20:
        nexts[0] = spad__scalar_ring(s, b, one, three);
        nexts[1] = spad__scalar_phase(s, b, a, one, three);
        break;
    default: nexts[1] = NO; break;
    }
    spad__scalar_solve(s, LOOP, trips, more, VALUES, inits, nexts, lasts);
    unsigned closed = 0;
    for (int k = 0; k < VALUES; k++) {
        const scalar carried = spad__scalar_carried(s, LOOP, k);
        if (carried >= 0 && spad__scalar_get(s, carried)->closed >= 0) closed |= 1U << k;
    }
    return closed;
}

static void closed_forms(void **state) {
    (void)state;
    static const unsigned wanted[FORMS] = {7, 5, 5, 5, 5, 5, 4, 6, 6, 6, 6,
                                           6, 7, 7, 5, 5, 7, 5, 7, 5, 4, 5};
    for (int form = 0; form < FORMS; form++) {
        test_host counted;
        test_host_init(&counted);
        spad__scalars s = {.host = &counted.host};
        scalar lasts[VALUES];
        const unsigned closed = solve_form(&s, form, lasts);
        if (closed != wanted[form]) print_error("form %d\n", form);
        assert_int_equal(closed, wanted[form]);
        for (int k = 0; k < VALUES; k++) assert_int_equal(lasts[k] >= 0, closed >> k & 1);
        if (form == 0) assert_int_equal(value_of(&s, lasts[0]), 10 % 3);
        if (form == 0) assert_int_equal(value_of(&s, lasts[1]), 10 / 3 % 2);
        if (form == 16) assert_int_equal(value_of(&s, lasts[1]), 18);
        spad__scalars_free(&s);
        test_host_assert_clean(&counted);
    }
}

static void no_loop(void **state) {
    (void)state;
    test_host counted;
    test_host_init(&counted);
    spad__scalars s = {.host = &counted.host};
    const scalar init = num(&s, 0);
    scalar last;
    spad__scalar_solve(&s, LOOP, NO, NO, 1, &init, &init, &last);
    assert_int_equal(last, NO);
    spad__scalars_free(&s);
    test_host_assert_clean(&counted);
}

/* ---- host memory -------------------------------------------------------------------------- */

static spad_status scalar_scenario(const spad_host *host, void *context) {
    spad__scalars s = {.host = host};
    scalar lasts[VALUES];
    solve_form(&s, *(int *)context, lasts);
    /* sums and products of sums and products, in which each part may have no memory */
    const scalar round = spad__scalar_iteration(&s, 3);
    scalar at = round;
    for (int i = 2; i < 24; i++) {
        at = two(&s, i % 3 ? SPAD__SCALAR_ADD : SPAD__SCALAR_MUL, at, num(&s, i));
        at = two(&s, SPAD__SCALAR_ADD, at, spad__scalar_iteration(&s, i));
        at = spad__scalar_not(&s, spad__scalar_sub(&s, at, num(&s, 1)));
        at = spad__scalar_select(&s, two(&s, SPAD__SCALAR_LESS, round, at), at, round);
        at = spad__scalar_resolve(&s, at);
    }
    const bool bad = s.out_of_memory;
    spad__scalars_free(&s);
    return bad ? SPAD_ERR_HOST_MEMORY : SPAD_OK;
}

static void no_host_memory_for_numbers(void **state) {
    (void)state;
    int forms[] = {0, 16};
    for (size_t i = 0; i < 2; i++) test_fail_each_allocation(scalar_scenario, &forms[i]);
}

#define HEAD(chip)                                                                               \
    "#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 64}>\n#smem = #ttg.shared_memory\n"       \
    "#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>\n"           \
    "module attributes {ttg.target = \"cuda:" chip "\"} {\n"                                     \
    "  tt.func public @f(%p: !tt.ptr<f16>, %d: !tt.tensordesc<64x64xf16>, %K: i32, %L: i32) {\n" \
    "    %c0 = arith.constant 0 : i32\n    %c1 = arith.constant 1 : i32\n"                       \
    "    %c2 = arith.constant 2 : i32\n    %true = arith.constant true\n"                        \
    "    %x = ttg.local_alloc : () -> !ttg.memdesc<3x64x64xf16, #shared, #smem>\n"               \
    "    %b = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #smem>\n"                              \
    "    ttng.init_barrier %b, 1 : i32\n    ttng.init_barrier %b, 1 : i32\n"
#define CLOSE "    tt.return\n  }\n}\n"
#define LOOP_OF(text) "    scf.for %i = %c0 to %K step %c1  : i32 {\n" text "    }\n"

static const char *const texts[] = {
    HEAD("90") "    ttg.local_store %p, %x : i32\n"
               "    ttng.async_tma_copy_global_to_local %d[%c0] %x, %b, %true : i32\n"
               "    ttng.async_tma_copy_local_to_global %d[%c0] %x : i32\n"
               "    ttg.async_copy_global_to_local %p, %x : i32\n"
               "    %r = ttng.warp_group_dot %x, %x, %p : i32\n" CLOSE,
    HEAD("90") LOOP_OF("      %q = arith.cmpi slt, %i, %c2 : i32\n"
                       "      %o = arith.select %q, %q, %q : i1\n"
                       "      ttng.arrive_barrier %b, 2, %q : i32\n"
                       "      ttng.barrier_expect %b, 64, %q : i32\n"
                       "      ttng.wait_barrier %b, %c0, %q : i32\n") CLOSE,
    HEAD("90") LOOP_OF("      %e = arith.xori %c1, %i : i32\n"
                       "      %g = arith.remsi %i, %c2 : i32\n      %h = arith.xori %g, %c1 : i32\n"
                       "      %y = ttg.memdesc_index %x[%h] : i32\n"
                       "      %z = ttg.memdesc_index %y[%g] : i32\n"
                       "      ttg.local_store %p, %z : i32\n") CLOSE,
    HEAD("90") "    %n = arith.subi %K, %c2 : i32\n    %o = arith.addi %L, %c2 : i32\n"
               "    scf.for %i = %c0 to %n step %c1 : i32 {\n"
               "      scf.for %j = %c0 to %i step %c1 : i32 {\n"
               "        ttg.local_store %p, %x : i32\n      }\n    }\n"
               "    scf.for %i = %c0 to %o step %c1 : i32 {\n"
               "      ttg.local_store %p, %x : i32\n    }\n" CLOSE,
    HEAD("90") "    %v = tt.load %p : !tt.ptr<i1>\n"
               "    %r = scf.while (%s = %c0) : (i32) -> i32 {\n"
               "      %w = tt.load %p : !tt.ptr<i1>\n      scf.condition(%w) %s : i32\n    } do {\n"
               "    ^bb0(%s: i32):\n      ttg.local_store %p, %x : i32\n"
               "      scf.yield %s : i32\n    }\n" CLOSE,
    HEAD("90") "    scf.for %i = %c0 to %c2 step %c1 : i32 {\n    ttg.warp_specialize(%x)\n"
               "    default {\n      ttg.local_store %p, %x : i32\n    }\n"
               "    partition0(%q: i32) num_warps(4) {\n      ttg.local_load %q : i32\n    }\n"
               "    partition1(%q: i32) num_warps(4) {\n      ttg.local_load %q : i32\n    }\n"
               "    }\n" CLOSE,
    HEAD("100") "    %a = ttng.tmem_alloc : () -> !ttg.memdesc<128x64xf32, #tmem, "
                "#ttng.tensor_memory>\n" LOOP_OF(
                    "      %q = arith.cmpi slt, %i, %c2 : i32\n"
                    "      ttng.tc_gen5_mma %x, %x, %a, %q, %q, %b[%q] {is_async} : i32\n"
                    "      ttng.tc_gen5_mma %x, %x, %a, %q, %true : i32\n") CLOSE,
    HEAD("80") "    %r = tt.dot %p, %p, %p : tensor<64x64xf16> * tensor<64x64xf16> -> "
               "tensor<64x64xf32> loc(callsite(\"a.py\":1:2 at \"b.py\":3:4))\n"
               "    %u = scf.if %true -> (i32) {\n      scf.yield %c1 : i32\n    }\n"
               "    foo.bar {\n    ^bb0(%e: i32):\n      foo.baz %e\n    ^bb1(%g: i32, %g1: i32, "
               "%g2: i32, %g3: i32, %g4: i32, %g5: i32, %g6: i32, %g7: i32, %g8: i32, %g9: i32, "
               "%h0: i32, %h1: i32, %h2: i32, %h3: i32, %h4: i32, %h5: i32, %h6: i32, %h7: i32, "
               "%h8: i32, %h9: i32, %i0: i32, %i1: i32, %i2: i32, %i3: i32, %i4: i32, %i5: i32, "
               "%i6: i32, %i7: i32, %i8: i32, %i9: i32, %j0: i32, %j1: i32, %j2: i32, %j3: i32):\n "
               "   "
               "}\n" CLOSE,
};

static spad_status text_scenario(const spad_host *host, void *context) {
    const char *text = context;
    const spad_kernel_options options = {.host = host};
    spad_kernel *kernel = NULL;
    const spad_status status =
        spad_kernel_read_ttgir(&kernel, NULL, text, strlen(text), "k", &options, NULL, NULL);
    spad_kernel_destroy(kernel);
    return status;
}

static void no_host_memory_for_texts(void **state) {
    (void)state;
    char text[4096];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_true(strlen(texts[i]) < sizeof text);
        strcpy(text, texts[i]);
        if (text_scenario(NULL, text) != SPAD_OK) print_error("text %zu\n", i);
        assert_int_equal(text_scenario(NULL, text), SPAD_OK);
        test_fail_each_allocation(text_scenario, text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folded),
        cmocka_unit_test(deep),
        cmocka_unit_test(rings_that_are_none),
        cmocka_unit_test(closed_forms),
        cmocka_unit_test(no_loop),
        cmocka_unit_test(no_host_memory_for_numbers),
        cmocka_unit_test(no_host_memory_for_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
