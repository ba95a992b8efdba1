/* SPDX-License-Identifier: Apache-2.0
 *
 * What TTGIR means, to the bit: arithmetic in the width of its types against C's own, copies that a
 * mask leaves out, views in other shapes, memory that a condition selects and memory that was
 * freed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "spad/spad.h"
#include "support/support.h"
#include "support/ttgir.h"

/* ---- arithmetic -------------------------------------------------------------------------- */

typedef enum type { I1, I8, I32, I64, TYPES } type;
static const char *const type_names[] = {"i1", "i8", "i32", "i64"};
static const int type_bits[] = {1, 8, 32, 64};

/* With its sign; that of true is -1. */
static int64_t cut(type t, uint64_t value) {
    switch (t) {
    case I1: return (value & 1) != 0 ? -1 : 0;
    case I8: return (int8_t)(uint8_t)value;
    case I32: return (int32_t)(uint32_t)value;
    default: return (int64_t)value;
    }
}

static uint64_t bare(type t, int64_t value) {
    return t == I64 ? (uint64_t)value : (uint64_t)value & ((UINT64_C(1) << type_bits[t]) - 1);
}

static const char *const operations[] = {"addi",       "subi",      "muli",      "divsi", "divui",
                                         "floordivsi", "ceildivsi", "ceildivui", "remsi", "remui",
                                         "minsi",      "minui",     "maxsi",     "maxui", "andi",
                                         "ori",        "xori",      "shli",      "shrsi", "shrui"};
enum { OPERATIONS = sizeof operations / sizeof *operations };

/* False: the program has no such result. */
static bool result_of(int op, type t, int64_t a, int64_t b, int64_t *out) {
    const uint64_t x = bare(t, a), y = bare(t, b);
    const bool divides = op >= 3 && op <= 9, shifts = op >= 17;
    if (divides && b == 0) return false;
    if (divides && b == -1 && a == INT64_MIN) return false;
    if (shifts && y >= (uint64_t)type_bits[t]) return false;
    uint64_t r = 0;
    switch (op) {
    case 0: r = x + y; break;
    case 1: r = x - y; break;
    case 2: r = x * y; break;
    case 3: r = (uint64_t)(a / b); break;
    case 4: r = x / y; break;
    case 5: r = (uint64_t)(a / b) - (a % b != 0 && (a < 0) != (b < 0)); break;
    case 6: r = (uint64_t)(a / b) + (a % b != 0 && (a < 0) == (b < 0)); break;
    case 7: r = x / y + (x % y != 0); break;
    case 8: r = (uint64_t)(a % b); break;
    case 9: r = x % y; break;
    case 10: r = a < b ? x : y; break;
    case 11: r = x < y ? x : y; break;
    case 12: r = a > b ? x : y; break;
    case 13: r = x > y ? x : y; break;
    case 14: r = x & y; break;
    case 15: r = x | y; break;
    case 16: r = x ^ y; break;
    case 17: r = x << y; break;
    case 18: /* bit by bit */
        r = (uint64_t)a;
        for (uint64_t i = 0; i < y; i++) r = r >> 1 | (r & (UINT64_C(1) << 63));
        break;
    default: r = x >> y; break;
    }
    *out = cut(t, r);
    return true;
}

static const char *const relations[] = {"eq",  "ne",  "slt", "sle", "sgt",
                                        "sge", "ult", "ule", "ugt", "uge"};
enum { RELATIONS = sizeof relations / sizeof *relations };

static bool holds(int relation, type t, int64_t a, int64_t b) {
    const uint64_t x = bare(t, a), y = bare(t, b);
    const bool all[] = {a == b, a != b, a<b, a <= b, a> b, a >= b, x<y, x <= y, x> y, x >= y};
    return all[relation];
}

typedef struct maker {
    test_text text;
    int count;
} maker;

static void put_constant(maker *m, const char *name, type t, int64_t value) {
    if (t == I1) {
        test_text_put(&m->text, "%%%s%d = arith.constant %s\n", name, m->count,
                      value != 0 ? "true" : "false");
    } else {
        test_text_put(&m->text, "%%%s%d = arith.constant %" PRId64 " : %s\n", name, m->count, value,
                      type_names[t]);
    }
}

/* Writes x[0] where the bit %e is set, and else x[1]. */
static void put_verdict(maker *m) {
    const int n = m->count++;
    test_text_put(&m->text, "%%s%d = arith.select %%e%d, %%c0, %%c1 : i32\n", n, n);
    test_text_put(&m->text, "%%y%d = ttg.memdesc_index %%x[%%s%d] : " S3 " -> " S2 "\n", n, n);
    test_text_put(&m->text, "ttg.local_store %%p, %%y%d : " S2 "\n", n);
}

static void put_result(maker *m, int op, type t, int64_t a, int64_t b) {
    const int n = m->count;
    int64_t result;
    if (!result_of(op, t, a, b, &result)) return;
    if (result == INT64_MIN) return; /* no constant that is read */
    put_constant(m, "a", t, a);
    put_constant(m, "b", t, b);
    put_constant(m, "r", t, result);
    test_text_put(&m->text, "%%z%d = arith.%s %%a%d, %%b%d {note = 1 : i16} : %s\n", n,
                  operations[op], n, n, type_names[t]);
    test_text_put(&m->text, "%%e%d = arith.cmpi eq, %%z%d, %%r%d : %s\n", n, n, n, type_names[t]);
    put_verdict(m);
}

static void put_relation(maker *m, int relation, type t, int64_t a, int64_t b) {
    const int n = m->count;
    put_constant(m, "a", t, a);
    put_constant(m, "b", t, b);
    put_constant(m, "r", I1, holds(relation, t, a, b));
    test_text_put(&m->text, "%%z%d = arith.cmpi %s, %%a%d, %%b%d : %s\n", n, relations[relation], n,
                  n, type_names[t]);
    test_text_put(&m->text, "%%e%d = arith.cmpi eq, %%z%d, %%r%d : i1\n", n, n, n);
    put_verdict(m);
}

static void put_cast(maker *m, type from, type to, bool sign, int64_t a) {
    const int n = m->count;
    const bool narrow = to < from;
    put_constant(m, "a", from, a);
    put_constant(m, "r", to, narrow || sign ? cut(to, (uint64_t)a) : cut(to, bare(from, a)));
    test_text_put(&m->text, "%%z%d = arith.%s %%a%d : %s to %s\n", n,
                  narrow ? "trunci"
                  : sign ? "extsi"
                         : "extui",
                  n, type_names[from], type_names[to]);
    test_text_put(&m->text, "%%e%d = arith.cmpi eq, %%z%d, %%r%d : %s\n", n, n, n, type_names[to]);
    put_verdict(m);
}

static const int64_t values[TYPES][11] = {
    {0, -1, 0, -1, 0, -1, 0, -1, 0, -1, 0},
    {0, 1, -1, 2, -2, 7, -7, 127, -128, 64, 3},
    {0, 1, -1, 2, -7, 31, -30000, INT32_MAX, INT32_MIN, 65536, 1000003},
    {0, 1, -1, 63, -7, 40, INT64_MAX, INT64_MIN + 1, INT64_C(1) << 32, -(INT64_C(1) << 31), 9}};

static void put_all(maker *m, type t) {
    const int count = t == I1 ? 2 : 11;
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < count; k++) {
            const int64_t a = values[t][i], b = values[t][k];
            for (int op = 0; op < OPERATIONS; op++) put_result(m, op, t, a, b);
            for (int r = 0; r < RELATIONS; r++) put_relation(m, r, t, a, b);
        }
        for (type to = I1; to < TYPES; to++) {
            if (to == t) continue;
            put_cast(m, t, to, true, values[t][i]);
            if (to > t) put_cast(m, t, to, false, values[t][i]);
        }
    }
}

static long count_of(const char *text, const char *word) {
    long count = 0;
    for (; (text = strstr(text, word)) != NULL; text += strlen(word)) count++;
    return count;
}

static void numbers_are_as_wide_as_their_types(void **state) {
    (void)state;
    for (type t = I1; t < TYPES; t++) {
        maker m = {0};
        test_text_init(&m.text);
        test_text_put(&m.text, "%s", HEAD("90") ALLOC_R);
        put_all(&m, t);
        test_text_put(&m.text, "%s", CLOSE);
        char *kernel = test_ttgir_text(m.text.bytes, 64, NULL);
        assert_true(m.count > 100);
        assert_int_equal(count_of(kernel, "writes x[0]"), m.count);
        free(kernel);
        test_text_free(&m.text);
    }
}

/* The same with a size in place of a number, which is an expression; and with the rounds of a loop.
 */
static void expressions_are_exact_or_run(void **state) {
    (void)state;
    static const struct {
        const char *op;
        int64_t size;
        const char *wanted;
    } list[] = {
        {"%q = arith.muli %K, %K : i32\n    %e = arith.cmpi slt, %q, %c0 : i32\n", 65535, "x[1]"},
        {"%q = arith.muli %K, %K : i32\n    %e = arith.cmpi slt, %q, %c0 : i32\n", 46341, "x[1]"},
        {"%q = arith.muli %K, %K : i32\n    %e = arith.cmpi slt, %q, %c0 : i32\n", 46340, "x[0]"},
        {"%q = arith.subi %c0, %K : i32\n    %e = arith.cmpi ult, %q, %c3 : i32\n", 4, "x[0]"},
        {"%q = arith.subi %c0, %K : i32\n    %e = arith.cmpi ult, %c3, %q : i32\n", 4, "x[1]"},
        /* -4 without its sign is larger than 3 */
        {"%q = arith.subi %c0, %K : i32\n    %m = arith.minui %q, %c3 : i32\n"
         "    %e = arith.cmpi eq, %m, %c3 : i32\n",
         4, "x[1]"},
        {"%q = arith.subi %c0, %K : i32\n    %m = arith.maxui %c3, %q : i32\n"
         "    %e = arith.cmpi slt, %m, %c0 : i32\n",
         4, "x[1]"},
        {"%q = arith.subi %c0, %K : i32\n    %m = arith.maxui %q, %q : i32\n"
         "    %e = arith.cmpi slt, %m, %c0 : i32\n",
         4, "x[1]"},
        {"%q = arith.subi %c0, %K : i32\n    %u = arith.extui %q : i32 to i64\n"
         "    %z = arith.constant 4294967292 : i64\n    %e = arith.cmpi eq, %u, %z : i64\n",
         4, "x[1]"},
        {"%q = arith.trunci %K : i32 to i8\n    %z = arith.constant -1 : i8\n"
         "    %e = arith.cmpi eq, %q, %z : i8\n",
         255, "x[1]"},
        {"%q = arith.shli %c1, %K : i32\n    %z = arith.constant 16 : i32\n"
         "    %e = arith.cmpi eq, %q, %z : i32\n",
         4, "x[1]"},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        maker m = {0};
        test_text_init(&m.text);
        test_text_put(&m.text, "%s    %s", HEAD("90") ALLOC_R, list[i].op);
        test_text_put(&m.text, "    %%s = arith.extui %%e : i1 to i32\n%s", AT("%s") CLOSE);
        char *kernel = test_ttgir_text(m.text.bytes, list[i].size, NULL);
        if (strstr(kernel, list[i].wanted) == NULL) print_error("%zu: %s", i, kernel);
        assert_non_null(strstr(kernel, list[i].wanted));
        free(kernel);
        test_text_free(&m.text);
    }
    static const test_ttgir_sample loops[] = {
        /* i - 1 is no small number without its sign in the first round */
        {HEAD("90") ALLOC_R LOOP "      %a = arith.subi %i, %c1 : i32\n"
                                 "      %e = arith.cmpi ult, %a, %c3 : i32\n"
                                 "      scf.if %e {\n" AT("%c0") "      }\n    }\n" CLOSE,
         {"if 0 <= i - 1 and i - 1 < 3"}},
        /* a number that a size decides is no number of bits for all sizes */
        {HEAD("90") ALLOC_R "    %n = arith.remsi %K, %c3 : i32\n" LOOP
                            "      %a = arith.shrsi %i, %n : i32\n"
                            "      %r = arith.remsi %a, %c3 : i32\n" AT("%r") "    }\n" CLOSE,
         {"without loops"}},
    };
    spad_ttgir_info info;
    CHECK_SAMPLES((test_ttgir_sample[]){loops[0]});
    free(test_ttgir_text(loops[1].text, 10, &info));
    assert_true(info.unrolled);
}

/* ---- masked copies ------------------------------------------------------------------------ */

#define PLACED_HEAD                                                                             \
    "#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false}>\n"              \
    "#smem = #ttg.shared_memory\nmodule attributes {\"ttg.num-warps\" = 1 : i32, ttg.shared = " \
    "24576 : i32, ttg.target = \"cuda:80\"} {\n  tt.func public @f(%p: "                        \
    "tensor<64x64x!tt.ptr<f16>>, %K: i32) {\n    %c0 = arith.constant 0 : i32\n"                \
    "    %c1 = arith.constant 1 : i32\n    %c2 = arith.constant 2 : i32\n"                      \
    "    %c3 = arith.constant 3 : i32\n"
/* Copies of a ring of 3; those of the last two rounds are masked. */
#define MASKED_LOOP                                                                             \
    "    %x = ttg.local_alloc {allocation.offset = 0 : i32} : () -> " S3 "\n"                   \
    "    %n = arith.subi %K, %c2 : i32\n"                                                       \
    "    %r = scf.for %i = %c0 to %K step %c1 iter_args(%s = %c0) -> (i32)  : i32 {\n"          \
    "      %m = arith.cmpi slt, %i, %n : i32\n"                                                 \
    "      %b = tt.splat %m : i1 -> tensor<64x64xi1>\n"                                         \
    "      %y = ttg.memdesc_index %x[%s] : " S3 " -> " S2 "\n"                                  \
    "      %t = ttg.async_copy_global_to_local %p, %y mask %b : tensor<64x64x!tt.ptr<f16>> -> " \
    "<64x64xf16, #shared, #smem, mutable>\n      %g = ttg.async_commit_group tokens %t\n"       \
    "      %w = ttg.async_wait %g {num = 2 : i32}\n      %a = arith.addi %s, %c1 : i32\n"       \
    "      %e = arith.cmpi sge, %a, %c3 : i32\n      %o = arith.select %e, %c0, %a : i32\n"     \
    "      scf.yield %o : i32\n    }\n"
#define AFTER_LOOP                                                          \
    "    %z = ttg.local_alloc {allocation.offset = 8192 : i32} : () -> " S2 \
    "\n    ttg.local_store %p, %z : " S2 "\n    %l = ttg.local_load %z : " S2 " -> f16\n" CLOSE

/* A masked cp.async has a source of 0 bytes: it fills its tile with zeros. */
static void masked_copies_write_zeros(void **state) {
    (void)state;
    static const char wrong[] = PLACED_HEAD MASKED_LOOP AFTER_LOOP;
    static const char right[] =
        PLACED_HEAD MASKED_LOOP "    %v = ttg.async_wait {num = 0 : i32}\n" AFTER_LOOP;
    assert_int_equal(test_ttgir_verdict(wrong, 8), SPAD_VERDICT_WRONG);
    assert_int_equal(test_ttgir_verdict(right, 8), SPAD_VERDICT_PROVED_ALL);
    char *kernel = test_ttgir_text(right, 8, NULL);
    assert_non_null(strstr(kernel, "cp load_t writes x[i % 3] in loads"));
    assert_non_null(strstr(kernel, "cp zeros_t writes x[i % 3] in loads cost 0 ns"));
    free(kernel);
    /* read before any copy is done: zeros are there */
    static const char none[] = PLACED_HEAD
        "    %x = ttg.local_alloc {allocation.offset = 0 : i32} : () -> " S2
        "\n    %m = arith.cmpi slt, %c0, %K : i32\n    %b = tt.splat %m : i1 -> tensor<64x64xi1>\n"
        "    %t = ttg.async_copy_global_to_local %p, %x mask %b : tensor<64x64x!tt.ptr<f16>> -> "
        "<64x64xf16, #shared, #smem, mutable>\n    %g = ttg.async_commit_group tokens %t\n"
        "    %w = ttg.async_wait %g {num = 0 : i32}\n    %l = ttg.local_load %x : " S2
        " -> f16\n" CLOSE;
    assert_int_equal(test_ttgir_verdict(none, 0), SPAD_VERDICT_PROVED_SHAPE);
}

/* ---- claims -------------------------------------------------------------------------------- */

#define FIRST_ROUND(stage)                                                                       \
    "      %q = arith.cmpi eq, %i, %c0 : i32\n      scf.if %q {\n"                               \
    "      %y = ttg.memdesc_index %x[" stage "] : " S3 " -> " S2                                 \
    "\n      %l = ttg.local_load %y : " S2 " -> f16\n      }\n      %a = arith.addi %s0, %c1 : " \
    "i32\n      %e = arith.cmpi sge, %a, %c3 : i32\n      %o = arith.select %e, %c0, %a : i32\n"
#define FILLED(stage)                                          \
    "    %z = ttg.memdesc_index %x[" stage "] : " S3 " -> " S2 \
    "\n    ttg.local_store %p, %z : " S2 "\n"
#define READ_X2 "      %l2 = ttg.local_load %x2 : " S2 " -> f16\n    }\n"
#define TWO_LOOPS(range)                                                                  \
    HEAD("90")                                                                            \
    ALLOC_S "    %x2 = ttg.local_alloc : () -> " S2 "\n    ttg.local_store %p, %x2 : " S2 \
            "\n    scf.for %j = " range " : i32 {\n      %l = ttg.local_load %x : " S2    \
            " -> f16\n    }\n" LOOP READ_X2 CLOSE

/* A size that decides something else beside the rounds of a loop: nothing is said of other sizes.
 */
static void other_sizes_are_not_promised(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t size;
    } list[] = {
        /* the first stage of a ring, and the first phase */
        {HEAD("90")
             ALLOC_R FILLED("%c2") "    %r = scf.for %i = %c0 to %K step %c1 iter_args(%s0 = "
                                   "%K) -> (i32)  : i32 {\n" FIRST_ROUND(
                                       "%s0") "      scf.yield %o : i32\n    }\n" CLOSE,
         2},
        {HEAD("90") ALLOC_R FILLED("%c1") "    %r:2 = scf.for %i = %c0 to %K step %c1 "
                                          "iter_args(%s0 = %c0, %h = %K) -> (i32, "
                                          "i32)  : i32 {\n" FIRST_ROUND(
                                              "%h") "      %g = arith.xori %h, %c1 : i32\n"
                                                    "      %n = arith.select %e, %g, %h : i32\n    "
                                                    "  scf.yield %o, %n : i32, i32\n    }\n" CLOSE,
         1},
        /* loops without rounds at this size, which read what is never written */
        {TWO_LOOPS("%c3 to %K step %c1"), 2},
        {TWO_LOOPS("%c3 to %K step %c2"), 2},
        {TWO_LOOPS("%K to %c3 step %c1"), 4},
        /* a step of 1 that is a size */
        {HEAD("90") ALLOC_R FILLED("%c0") "    scf.for %j = %c0 to %c3 step %K : i32 {\n" AT(
             "%j") "    }\n    %z2 = ttg.memdesc_index %x[%c2] : " S3 " -> " S2 "\n" LOOP
                   "      %l2 = ttg.local_load %z2 : " S2 " -> f16\n    }\n" CLOSE,
         1},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        const spad_verdict verdict = test_ttgir_verdict(list[i].text, list[i].size);
        if (verdict != SPAD_VERDICT_PROVED_SHAPE) print_error("%zu\n", i);
        assert_int_equal(verdict, SPAD_VERDICT_PROVED_SHAPE);
    }
}

/* ---- views --------------------------------------------------------------------------------- */

#define HALF "!ttg.memdesc<32x64xf16, #shared, #smem, mutable>"
#define TWO "!ttg.memdesc<2x32x64xf16, #shared, #smem, mutable>"
#define FLAT "!ttg.memdesc<4096xf16, #flat, #smem, mutable>"
#define CUBE(shape) "!ttg.memdesc<" shape "xf16, #cube, #smem, mutable>"
#define SCALES(shape) "!ttg.memdesc<" shape "xi8, #scales, #ttng.tensor_memory, mutable>"
#define WIDE "!ttg.memdesc<64x32xf32, #shared, #smem, mutable>"

static void other_shapes_are_all_of_it(void **state) {
    (void)state;
    static const test_ttgir_sample list[] = {
        {HEAD("90") ALLOC_S "    %y = ttg.memdesc_reshape %x : " S2 " -> " FLAT
                            "\n    %z = ttg.memdesc_trans %y {order = array<i32: 0>} : " FLAT
                            " -> " FLAT "\n    ttg.local_store %p, %z : " FLAT "\n" CLOSE,
         {"simt store writes x\n"}},
        {HEAD("90") ALLOC_S "    %y = ttg.memdesc_reinterpret %x : " S2 " -> " WIDE
                            "\n    ttg.local_store %p, %y : " WIDE "\n" CLOSE,
         {"simt store writes x\n"}},
        /* the type that it has: parts are parts */
        {HEAD("90") ALLOC_S "    %y = ttg.memdesc_reinterpret %x : " S2 " -> " S2
                            "\n    %z = ttg.memdesc_subslice %y[32, 0] : " S2 " -> " HALF
                            "\n    ttg.local_store %p, %z : " HALF "\n" CLOSE,
         {"simt store writes x(32..64, ..)\n"}},
        /* a ring as a tile: the first one */
        {HEAD("90") ALLOC_R "    %y = ttg.memdesc_reinterpret %x : " S3 " -> " S2
                            "\n    ttg.local_store %p, %y : " S2 "\n" CLOSE,
         {"simt store writes x[0]\n"}},
        {HEAD("90") ALLOC_R "    %y = ttg.memdesc_reinterpret %x : " S3 " -> " FLAT
                            "\n    ttg.local_store %p, %y : " FLAT "\n" CLOSE,
         {"simt store writes x[0]\n"}},
        {HEAD("90") ALLOC_R "    %y = ttg.memdesc_reinterpret %x : " S3 " -> " S3
                            "\n    %z = ttg.memdesc_index %y[%c2] : " S3 " -> " S2
                            "\n    ttg.local_store %p, %z : " S2 "\n" CLOSE,
         {"simt store writes x[2]\n"}},
        /* all stages of a ring keep their parts and their order */
        {HEAD("90") ALLOC_R "    %y = ttg.memdesc_subslice %x[0, 32, 0] : " S3
                            " -> !ttg.memdesc<3x32x64xf16, #shared, #smem, mutable>\n"
                            "    %t = ttg.memdesc_trans %y {order = array<i32: 0, 2, 1>} : " S3
                            " -> " S3 "\n    %z = ttg.memdesc_index %t[%c1] : " S3 " -> " S2
                            "\n    %u = ttg.memdesc_subslice %z[16, 0] : " S2
                            " -> !ttg.memdesc<48x32xf16, #shared, #smem, mutable>\n"
                            "    ttg.local_store %p, %u : " S2 "\n" CLOSE,
         {"simt store writes x[1](32..64, 16..64)\n"}},
        /* a part as it is, and in other shapes */
        {HEAD("90") ALLOC_S "    %y = ttg.memdesc_subslice %x[32, 0] : " S2 " -> " HALF
                            "\n    %z = ttg.memdesc_reinterpret %y : " HALF " -> " HALF
                            "\n    ttg.local_store %p, %z : " HALF "\n" CLOSE,
         {"simt store writes x(32..64, ..)\n"}},
        {HEAD("90") ALLOC_S "    %y = ttg.memdesc_subslice %x[32, 0] : " S2 " -> " HALF
                            "\n    %z = ttg.memdesc_reshape %y : " HALF
                            " -> !ttg.memdesc<2048xf16, #flat, #smem, mutable>\n"
                            "    ttg.local_store %p, %z : " HALF "\n" CLOSE,
         {"simt store writes x(32..64, ..)\n"}},
        {HEAD("90") ALLOC_S "    %y = ttg.memdesc_reshape %x : " S2
                            " -> !ttg.memdesc<32x128xf16, #shared, #smem, mutable>\n"
                            "    ttg.local_store %p, %y : " S2 "\n" CLOSE,
         {"simt store writes x\n"}},
        /* three dimensions of a tile, which are no stages */
        {"#cube = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, rank = "
         "3}>\n" HEAD("90") "    %x = ttg.local_alloc : () -> " CUBE(
             "2x64x64") "\n    %y = "
                        "ttg.memdesc_"
                        "subslice %x[1, 0, "
                        "0] : " CUBE("2x64x"
                                     "64") " -> " CUBE("1x64x64") "\n "
                                                                  "   "
                                                                  "ttg"
                                                                  ".lo"
                                                                  "cal"
                                                                  "_st"
                                                                  "ore"
                                                                  " %"
                                                                  "p, "
                                                                  "%y "
                                                                  ":"
                                                                  " " CUBE("1x64x64") "\n" CLOSE,
         {"tensor x : shared float16 (2, 64, 64)", "simt store writes x(1..2, .., ..)\n"}},
        {"#cube = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, rank = "
         "3}>\n" HEAD("90") "    %x = ttg.local_alloc : () -> " CUBE(
             "2x1x64x64") "\n    %y = "
                          "ttg.memdesc_"
                          "index %x[%c1] "
                          ": " CUBE("2x1x64"
                                    "x64") " -> " CUBE("1x64x64") "\n    ttg.local_store %p, %y "
                                                                  ": " CUBE("1x64x64") "\n" CLOSE,
         {"tensor x : shared float16 [2] (1, 64, 64)", "simt store writes x[1]\n"}},
        /* scales of a product: all of them, in whatever shape */
        {"#scales = #ttng.tensor_memory_scales_encoding<>\n" HEAD(
             "100") "    %x = ttng.tmem_alloc "
                    ": () -> " SCALES("128x4") "\n    %y = ttg.memdesc_reshape %x : " SCALES(
                        "128x4") " -> " SCALES("64x8") "\n    %z = "
                                                       "ttng.tmem_"
                                                       "subslice %x "
                                                       "{offset = 0 "
                                                       ": i32} "
                                                       ": " SCALES(
                                                           "1"
                                                           "2"
                                                           "8"
                                                           "x"
                                                           "4") " -> " SCALES("128x2") "\n    "
                                                                                       "ttng.tmem_"
                                                                                       "store %p, "
                                                                                       "%y, %true "
                                                                                       ": i32\n"
                                                                                       "    "
                                                                                       "ttng.tmem_"
                                                                                       "store %p, "
                                                                                       "%z, %true "
                                                                                       ": "
                                                                                       "i32"
                                                                                       "\n" CLOSE,
         {"tensor x : tmem int8 (128, 16)", "simt store writes x\nsimt store writes x\n"}},
        /* numbers that end with the operation */
        {HEAD("90") ALLOC_S "    %y = ttg.memdesc_subslice " HALF
                            " %x[32]\n    ttg.local_store %p, %y : " HALF "\n" CLOSE,
         {"simt store writes x(32..64, ..)\n"}},
    };
    static const test_ttgir_fault faults[] = {
        /* in a loop it is the same */
        {HEAD("90") ALLOC_S "    %y = ttg.memdesc_reshape %x : " S2 " -> " FLAT "\n" LOOP
                            "    %z = ttg.memdesc_subslice %y[0] : " FLAT
                            " -> !ttg.memdesc<64xf16, #flat, #smem, mutable>\n    }\n" CLOSE,
         "a part of memory whose shape was changed is not known"},
        {HEAD("90") ALLOC_R LOOP "    %y = ttg.memdesc_subslice %x[1, 0, 0] : " S3
                                 " -> !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>\n"
                                 "    }\n" CLOSE,
         "some of the stages of a ring: only one or all of them are known"},
        {HEAD("90") ALLOC_R "    %y = ttg.memdesc_subslice %x[0, 0, 0] : " S3
                            " -> !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>\n" CLOSE,
         "some of the stages of a ring: only one or all of them are known"},
        {HEAD("90") ALLOC_R "    %y = ttg.memdesc_subslice %x[%c0, 0, 0] : " S3 " -> " S3
                            "\n" CLOSE,
         "some of the stages of a ring: only one or all of them are known"},
        {HEAD("90") ALLOC_R LOOP "    %y = ttg.memdesc_trans %x {order = array<i32: 1, 0, 2>} : " S3
                                 " -> " S3 "\n    }\n" CLOSE,
         "the stages of a ring in another place than the first"},
        {HEAD("90") ALLOC_S LOOP "    %y = ttg.memdesc_reinterpret %x : " S2 " -> " HALF
                                 "\n    }\n" CLOSE,
         "8192 bytes of memory as 4096: only all of them are known"},
        {HEAD("90") ALLOC_S "    %y = ttg.memdesc_reinterpret %x : i32 -> i32\n" CLOSE,
         "a type of memory that is not known"},
        /* more bytes than there are numbers for */
        {HEAD("90") ALLOC_S LOOP "    %y = ttg.memdesc_reinterpret %x : " S2
                                 " -> !ttg.memdesc<9223372036854775807x2xf16, #shared, #smem>\n"
                                 "    }\n" CLOSE,
         "a type of memory that is not known"},
        /* an order that is no permutation: no part of it is known */
        {HEAD("90") ALLOC_S "    %y = ttg.memdesc_trans %x {order = array<i32: 0, 0>} : " S2
                            " -> " S2 "\n    %z = ttg.memdesc_subslice %y[32, 0] : " S2 " -> " HALF
                            "\n" CLOSE,
         "a part of memory whose shape was changed is not known"},
        {HEAD("90") ALLOC_S "    %y = ttg.memdesc_reinterpret %x : " S2 " -> " TWO
                            "\n    %z = ttg.memdesc_index %y[%c0] : " TWO " -> " HALF "\n" CLOSE,
         "a part of memory whose shape was changed is not known"},
        {HEAD("90") ALLOC_S "    %y = ttg.memdesc_reshape %x : " S2 " -> " FLAT
                            "\n    %z = ttg.memdesc_subslice %y[0] : " FLAT
                            " -> !ttg.memdesc<64xf16, #flat, #smem, mutable>\n" CLOSE,
         "a part of memory whose shape was changed is not known"},
        {HEAD("90") ALLOC_S "    %y = ttg.memdesc_reinterpret %x : " S2 " -> " HALF "\n" CLOSE,
         "8192 bytes of memory as 4096: only all of them are known"},
        {HEAD("90") ALLOC_S "    %y = ttg.memdesc_reinterpret %x : " S2
                            " -> !ttg.memdesc<0xf16>\n" CLOSE,
         "a type of memory that is not known"},
        {HEAD("90") ALLOC_R "    %y = ttg.memdesc_subslice %x[1, 0, 0] : " S3
                            " -> !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>\n" CLOSE,
         "some of the stages of a ring: only one or all of them are known"},
        {HEAD("90") ALLOC_R "    %y = ttg.memdesc_trans %x {order = array<i32: 1, 0, 2>} : " S3
                            " -> " S3 "\n" CLOSE,
         "the stages of a ring in another place than the first"},
    };
    CHECK_SAMPLES(list);
    CHECK_FAULTS(faults);
}

#define TYPED(lanes, columns, dtype, encoding) \
    "!ttg.memdesc<" lanes "x" columns "x" dtype ", " encoding ", #ttng.tensor_memory, mutable>"
#define TYPED_AS(type) "    %y = ttg.memdesc_reinterpret %a : " T2 " -> " type "\n"
#define COLUMNS_OF(from, type) \
    "    %z = ttng.tmem_subslice %y {offset = " from " : i32} : i32 -> " type "\n"
#define HALVES TYPED("128", "128", "f16", "#tmem")
#define STORE_Z "    ttng.tmem_store %p, %z, %true : i32\n"

/* A column of tensor memory has two elements of 16 bits: where they are is known as long as lanes
 * and columns are the same. */
static void other_types_have_columns(void **state) {
    (void)state;
    static const test_ttgir_sample list[] = {
        {HEAD("100") ALLOC_T TYPED_AS(HALVES) COLUMNS_OF("64", TYPED("128", "64", "f16", "#tmem"))
             STORE_Z CLOSE,
         {"simt store writes a(.., 32..64)\n"}},
        /* of a part, and as it was again */
        {HEAD("100") ALLOC_T TYPED_AS(HALVES)
             COLUMNS_OF("64", TYPED("128", "64", "f16",
                                    "#tmem")) "    %u = "
                                              "ttg.memdesc_reinterpret %z "
                                              ": " TYPED("128", "64", "f16", "#tmem") " -> " TYPED(
                                                  "128", "32", "f32",
                                                  "#tmem") "\n    %v2 = "
                                                           "ttng.tmem_subslice "
                                                           "%u {offset = 8 : "
                                                           "i32} : "
                                                           "i32 -> " TYPED("128", "8", "f32",
                                                                           "#tmem") "\n"
                                                                                    "    "
                                                                                    "ttng."
                                                                                    "tmem_"
                                                                                    "store "
                                                                                    "%p, "
                                                                                    "%v2, "
                                                                                    "%true "
                                                                                    ": "
                                                                                    "i32"
                                                                                    "\n" CLOSE,
         {"simt store writes a(.., 40..48)\n"}},
        {HEAD("100") ALLOC_T TYPED_AS(HALVES) "    ttng.tmem_store %p, %y, %true : i32\n" CLOSE,
         {"simt store writes a\n"}},
    };
    static const test_ttgir_sample scales[] = {
        /* 256 rows of 8 bytes: 64 bytes in each lane */
        {"#scales = #ttng.tensor_memory_scales_encoding<>\n" HEAD("100") ALLOC_T
         "    %y = ttng.tmem_subslice %a {offset = 16 : i32} : i32 "
         "-> " TYPED("128", "16", "f32",
                     "#tmem") "\n    %z = ttg.memdesc_reinterpret %y "
                              ": " TYPED("128", "16", "f32", "#tmem") " -> " TYPED(
                                  "256", "8", "i8", "#scales") "\n" STORE_Z CLOSE,
         {"simt store writes a(.., 16..32)\n"}},
    };
    static const test_ttgir_fault faults[] = {
        {"#scales = #ttng.tensor_memory_scales_encoding<>\n" HEAD("100")
             ALLOC_T TYPED_AS(TYPED("256", "8", "i8", "#scales")) CLOSE,
         "32768 bytes of memory as 8192: only all of them are known"},
        {HEAD("100") ALLOC_T TYPED_AS(HALVES) COLUMNS_OF("1", TYPED("128", "2", "f16", "#tmem"))
             CLOSE,
         "a part of tensor memory that begins or ends inside of an element"},
        {HEAD("100") ALLOC_T TYPED_AS(HALVES) COLUMNS_OF("2", TYPED("128", "1", "f16", "#tmem"))
             CLOSE,
         "a part of tensor memory that begins or ends inside of an element"},
        /* elements with room between them, other lanes, and an encoding that is not known */
        {"#apart = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 2>\n" HEAD(
             "100") ALLOC_T TYPED_AS(TYPED("128", "128", "f16", "#apart"))
             COLUMNS_OF("64", TYPED("128", "64", "f16", "#apart")) CLOSE,
         "a part of memory whose shape was changed is not known"},
        {HEAD("100") ALLOC_T TYPED_AS(TYPED("64", "256", "f16", "#tmem"))
             COLUMNS_OF("64", TYPED("64", "64", "f16", "#tmem")) CLOSE,
         "a part of memory whose shape was changed is not known"},
        {"#half = #ttng.tensor_memory_encoding<blockM = 64, blockN = 64, colStride = 1>\n" HEAD(
             "100") ALLOC_T TYPED_AS(TYPED("128", "128", "f16", "#half"))
             COLUMNS_OF("64", TYPED("128", "64", "f16", "#half")) CLOSE,
         "a part of memory whose shape was changed is not known"},
        {HEAD("100") ALLOC_T TYPED_AS(TYPED("128", "128", "f16", "#none"))
             COLUMNS_OF("64", TYPED("128", "64", "f16", "#none")) CLOSE,
         "a part of memory whose shape was changed is not known"},
    };
    CHECK_SAMPLES(list);
    CHECK_SAMPLES(scales);
    CHECK_FAULTS(faults);
}

#define TWO_TILES ALLOC_S "    %x2 = ttg.local_alloc : () -> " S2 "\n"

/* Which memory it is must be known: what data selects is refused, and never passed over. */
static void memory_is_selected(void **state) {
    (void)state;
    static const test_ttgir_sample list[] = {
        {HEAD("90") TWO_TILES
         "    %f0 = arith.constant false\n    %y = arith.select %f0, %x, %x2 : " S2
         "\n    ttg.local_store %p, %y : " S2 "\n" CLOSE,
         {"simt store writes x2\n"}},
        {HEAD("90") TWO_TILES "    %e = arith.cmpi sgt, %K, %c2 : i32\n"
                              "    %y = arith.select %e, %x, %x2 : " S2
                              "\n    ttg.local_store %p, %y : " S2 "\n" CLOSE,
         {"simt store writes x\n"}},
        {HEAD("90") ALLOC_R "    %y = ttg.memdesc_index %x[%c1] : " S3 " -> " S2
                            "\n    %z = ttg.memdesc_index %x[%c2] : " S3 " -> " S2
                            "\n    %e = arith.cmpi slt, %K, %c2 : i32\n"
                            "    %u = arith.select %e, %y, %z : " S2
                            "\n    ttg.local_store %p, %u : " S2 "\n" CLOSE,
         {"simt store writes x[2]\n"}},
    };
#define UNKNOWN_MEMORY(op) \
    { HEAD("90") op CLOSE, "memory on chip that is not known" }
    static const test_ttgir_fault faults[] = {
        {HEAD("90") TWO_TILES "    %y = arith.select %w, %x, %x2 : " S2
                              "\n    ttg.local_store %p, %y : " S2 "\n" CLOSE,
         "only a run on the device knows it"},
        UNKNOWN_MEMORY(ALLOC_S "    %y = arith.select %w, %x, %v : " S2
                               "\n    ttg.local_load %y : " S2 "\n"),
        UNKNOWN_MEMORY("    ttg.local_load %p : i32\n"),
        UNKNOWN_MEMORY("    ttg.local_store %p, %p : i32\n"),
        UNKNOWN_MEMORY("    ttg.local_scatter %p[%p], %p : i32\n"),
        UNKNOWN_MEMORY("    ttg.local_dealloc %p : i32\n"),
        /* memory among the operands, but not where it has to be */
        UNKNOWN_MEMORY(ALLOC_S "    %y = ttg.memdesc_index %v[%x] : " S2 "\n"),
        UNKNOWN_MEMORY(ALLOC_S "    %y = ttg.memdesc_subslice %p[0, 0], %x : " S2 " -> " S2 "\n"),
        UNKNOWN_MEMORY(ALLOC_S "    %y = ttg.memdesc_trans %v, %x {order = array<i32: 1, 0>} : " S2
                               "\n"),
        UNKNOWN_MEMORY(ALLOC_S "    %y = ttg.memdesc_reshape %v, %x : " S2 " -> " S2 "\n"),
        UNKNOWN_MEMORY(ALLOC_S "    %y = ttng.tmem_subslice %v, %x {offset = 0 : i32} : " S2
                               " -> " S2 "\n"),
        UNKNOWN_MEMORY(ALLOC_S "    ttg.local_dealloc %v, %x : " S2 "\n"),
        UNKNOWN_MEMORY(ALLOC_S ALLOC_B "    ttng.clc_try_cancel %v, %x, %b : " S2 ", " B1 "\n"),
        UNKNOWN_MEMORY("    ttg.async_copy_global_to_local %p, %p : i32\n"),
        UNKNOWN_MEMORY(ALLOC_B "    ttng.async_tma_copy_global_to_local %d[%c0] %p, %b, %true : "
                               "i32\n"),
        UNKNOWN_MEMORY("    ttng.async_tma_copy_local_to_global %d[%c0] %p : i32\n"),
        UNKNOWN_MEMORY(ALLOC_S "    ttng.tmem_copy %x, %p : i32\n"),
        UNKNOWN_MEMORY("    %y = ttg.memdesc_subslice %p[0, 0] : " S2 " -> " S2 "\n"),
        UNKNOWN_MEMORY("    %y = ttg.memdesc_index %p[%c0] : i32\n"),
    };
    CHECK_SAMPLES(list);
    CHECK_FAULTS(faults);
}

static void freed_memory_is_not_used(void **state) {
    (void)state;
    static const test_ttgir_fault faults[] = {
        {HEAD("90") ALLOC_S "    ttg.local_dealloc %x : " S2 "\n    ttg.local_store %p, %x : " S2
                            "\n" CLOSE,
         "'x' is used after its 'ttg.local_dealloc'"},
        {HEAD("90") LOOP ALLOC_S "    ttg.local_dealloc %x : " S2
                                 "\n    ttg.local_store %p, %x : " S2 "\n    }\n" CLOSE,
         "'x' is used after its 'ttg.local_dealloc'"},
    };
    static const test_ttgir_sample list[] = {
        {HEAD("90") LOOP ALLOC_S "    ttg.local_store %p, %x : " S2
                                 "\n    ttg.local_dealloc %x : " S2 "\n    }\n" CLOSE,
         {"simt store writes x\n"}},
        /* in a branch: the other one may be taken */
        {HEAD("90") ALLOC_S LOOP "    %e = arith.cmpi slt, %i, %c0 : i32\n    scf.if %c {\n"
                                 "    ttg.local_dealloc %x : " S2
                                 "\n    }\n    ttg.local_store %p, %x : " S2 "\n    }\n" CLOSE,
         {"simt store writes x\n"}},
    };
    CHECK_FAULTS(faults);
    CHECK_SAMPLES(list);
}

/* The parity of a phase is its lowest bit, also where an i1 was widened with its sign. */
static void phases_are_bits(void **state) {
    (void)state;
    static const test_ttgir_sample list[] = {
        {HEAD("90") ALLOC_B LOOP "    %e = arith.remsi %i, %c2 : i32\n"
                                 "    %q = arith.trunci %e : i32 to i1\n"
                                 "    %s1 = arith.extsi %q : i1 to i32\n"
                                 "    ttng.wait_barrier %b, %s1 : " B1 "\n    }\n" CLOSE,
         {"wait b_bar parity i % 2\n"}},
        {HEAD("90") ALLOC_B "    ttng.wait_barrier %b, %m1 : " B1 "\n" CLOSE,
         {"wait b_bar parity 1\n"}},
    };
    CHECK_SAMPLES(list);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_as_wide_as_their_types),
        cmocka_unit_test(expressions_are_exact_or_run),
        cmocka_unit_test(masked_copies_write_zeros),
        cmocka_unit_test(other_sizes_are_not_promised),
        cmocka_unit_test(other_shapes_are_all_of_it),
        cmocka_unit_test(other_types_have_columns),
        cmocka_unit_test(memory_is_selected),
        cmocka_unit_test(freed_memory_is_not_used),
        cmocka_unit_test(phases_are_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
