/* SPDX-License-Identifier: Apache-2.0
 *
 * Unusual kernels with a parameter N: what is proved for all trip counts is right for each
 * of the first ones, and what is wrong is wrong for the one that was checked. */
#include <stdio.h>
#include <string.h>

#include "spad/spad.h"
#include "support/kernels.h"
#include "support/support.h"

#define TRN "kernel k on trn2\nparam N = 12\n"
#define SM "kernel k on sm_90\nparam N = 12\n"
#define X "tensor x : sbuf bf16 [N] (128, 16) ring 2\n"
#define USE "vector w writes x[i]\nscalar r reads x[i] "
#define O(blocks) "tensor o : hbm u8 " blocks " (128, 4) output\n"

enum {
    WRONG = SPAD_VERDICT_WRONG,
    SHAPE = SPAD_VERDICT_PROVED_SHAPE,
    ALL = SPAD_VERDICT_PROVED_ALL,
    UNKNOWN = SPAD_VERDICT_UNKNOWN
};

static const struct {
    const char *text;
    int verdict;
} cases[] = {
    /* outputs; one that is not written is a warning */
    {TRN O("[2 * N]") "for i in 0..N { dma s writes o[2 * i]\ndma s writes o[2 * i + 1] }\n", ALL},
    {TRN O("[2 * N]") "for i in 0..N { dma s writes o[i]\ndma s writes o[N + i] }\n", ALL},
    {TRN O("[2 * N]") "for i in 0..N { dma s writes o[i] }\n", ALL},
    {TRN O("[N]") "for i in 0..N { dma s writes o[N - 1 - i] }\n", ALL},
    {TRN O("[N + 2]") "for i in 0..N { dma s writes o[i] }\ndma s writes o[N]\ndma s writes o[N + "
                      "1]\n",
     ALL},
    {TRN O("[N, N]") "for i in 0..N { for j in 0..N { dma s writes o[i, j] } }\n", SHAPE},
    {TRN O("[4]") "for i in 0..N { dma s writes o[i % 4] }\n", ALL},
    {TRN O("[4]") "for i in 0..N { dma s writes o[i / 3] }\n", SHAPE},
    {TRN O("[N]") "for i in 0..N { if i != 5 { dma s writes o[i] } }\ndma t writes o[5]\n", ALL},
    {TRN O(
         "[N]") "tensor v : hbm u8 [N] (128, 4) alias of o\nfor i in 0..N { dma s writes v[i] }\n",
     SHAPE},
    {TRN O(
         "[N]") "for i in 0..N { dma s writes o[i](0..64, ..)\ndma s writes o[i](64..128, ..) }\n",
     ALL},
    {TRN O("[N]") "for i in 0..N { dma s writes o[i](0..64, ..) }\n", ALL},
    {TRN O("[N]") "for i in 0..N / 2 { dma s writes o[2 * i]\ndma s writes o[2 * i + 1] }\n", ALL},
    /* costs, conditions, sizes and indices */
    {TRN X "for i in 0..N { " USE "cost 1000 - i ns }\n", SHAPE},
    {TRN X "for i in 0..N { " USE "cost N - i ns }\n", ALL},
    {TRN X "for i in 0..N { " USE "cost i + N ns }\n", ALL},
    {TRN X "for i in 0..N { " USE "cost i % 3 ns }\n", ALL},
    {TRN X "for i in 0..N { " USE "\nif N == 12 { vector z } }\n", ALL},
    {TRN X "for i in 0..N { " USE "\nif i < N - 2 { scalar r reads x[i] } }\n", ALL},
    {TRN X "for i in 0..N { " USE "\nif i == 7 and N > 3 { scalar r reads x[i] } }\n", ALL},
    {TRN X "for i in 0..N { " USE "\nif i != N - 1 and i >= 1 { scalar r reads x[i - 1] } }\n",
     ALL},
    {TRN "tensor x : sbuf bf16 [N] (128, N)\nfor i in 0..N { " USE " }\n", SHAPE},
    {TRN "tensor x : sbuf bf16 [N] (128, 8) mod base 64 free N\nfor i in 0..N { " USE " }\n",
     SHAPE},
    {TRN "tensor x : sbuf bf16 [N] (128, 8) mod base 64 free 3\nfor i in 0..N { " USE " }\n", ALL},
    {TRN "tensor x : sbuf bf16 [N] (32, 8) mod base 64 par 4\nfor i in 0..N { " USE " }\n", ALL},
    {TRN "tensor x : sbuf bf16 [N] (128, 8) at N\nfor i in 0..N { " USE " }\n", SHAPE},
    {TRN "tensor x : sbuf bf16 [N] (128, 40) ring 2\nfor i in 0..N { vector w writes x[i](.., "
         "0..N)\nscalar r reads x[i](.., 0..N) }\n",
     SHAPE},
    {TRN "tensor x : sbuf bf16 [N] (128, 40) ring 2\nfor i in 0..N { vector w writes x[i](.., i..i "
         "+ 4)\nscalar r reads x[i](.., i..i + 4) }\n",
     SHAPE},
    {TRN "tensor x : sbuf bf16 [N] (128, 8) input\nfor i in 0..N { scalar r reads x[i] }\n", SHAPE},
    {TRN "tensor x : sbuf bf16 [N] (128, 8) input\nfor i in 0..N { scalar r reads x[N - 1 - i] }\n",
     SHAPE},
    {TRN "tensor x : sbuf bf16 [3 * N] (128, 8) ring 3\nfor i in 0..3 * N { " USE " }\n", ALL},
    {TRN "tensor x : sbuf bf16 [N] (128, 8) ring 3\nfor i in 0..N % 7 { " USE " }\n", SHAPE},
    {TRN "tensor x : sbuf bf16 [N + 4] (128, 8) ring 3\nfor i in N..N + 4 { " USE " }\n", SHAPE},
    {TRN "tensor x : sbuf bf16 [N] (128, 8) ring 3\nfor i in 0..N { " USE " }\nfor i in 0..N { " USE
         " }\n",
     ALL},
    {TRN X "for i in 0..N { vector w writes x[i]\nif i >= 2 { scalar r reads x[i - 2] } }\n",
     WRONG},
    /* memory that is allocated */
    {TRN "tensor t : sbuf bf16 [N] (128, 16)\nfor i in 0..N {\nalloc t[i]\nvector w writes "
         "t[i]\nscalar r reads t[i]\nfree t[i] }\n",
     SHAPE},
    {TRN "tensor t : sbuf bf16 [4] (128, 16)\nfor i in 0..N {\nalloc t[i % 4]\nvector w writes t[i "
         "% 4]\nscalar r reads t[i % 4]\nfree t[i % 4] }\n",
     ALL},
    {TRN "tensor t : sbuf bf16 [N] (128, 16)\nfor i in 0..N {\nalloc t[i]\nvector w writes "
         "t[i]\nscalar r reads t[i] }\nfor i in 0..N { free t[i] }\n",
     SHAPE},
    {TRN "region sbuf 0..64 KiB as exact\nfor i in 0..N { scope s {\ntensor t : sbuf bf16 (128, "
         "16) stack\nvector w writes t\nscalar r reads t } }\n",
     ALL},
    {TRN "region sbuf 0..64 KiB as exact\nscope s {\ntensor t : sbuf bf16 (128, 16) stack\nfor i "
         "in 0..N { vector w writes t\nscalar r reads t } }\n",
     ALL},
    {TRN "region sbuf 0..64 KiB as exact\nscope s sections 2 {\nfor i in 0..N {\ntensor t : sbuf "
         "bf16 (128, 16) stack\nvector w writes t\nscalar r reads t\nnext section } }\n",
     SHAPE},
    {TRN "region sbuf 0..64 KiB as exact\nfor i in 0..N { scope s { vector z } }\n", ALL},
    {TRN "tensor t : sbuf bf16 [N, 2] (128, 16)\nfor i in 0..N {\nalloc t[i, 0]\nvector w writes "
         "t[i, 0]\nscalar r reads t[i, 0]\nfree t[i, 0] }\n",
     SHAPE},
    {TRN "tensor t : sbuf bf16 [2, 2] (128, 16)\nfor i in 0..N {\nalloc t[i % 2, 0]\nvector w "
         "writes t[i % 2, 0]\nscalar r reads t[i % 2, 0]\nfree t[i % 2, 0] }\n",
     ALL},
    {TRN "tensor t : sbuf bf16 [2, N] (128, 16)\nalloc t[0, 0]\nvector w writes t[0, 0]\n"
         "for i in 1..N {\nalloc t[0, i]\nvector w writes t[0, i]\nscalar r reads t[0, i - 1]\n"
         "free t[0, i - 1] }\n",
     SHAPE},
    /* conditions and indices that come again late, or in steps */
    {TRN X "for i in 0..N { " USE "\nif i % 1000003 == 5 { vector z } }\n", SHAPE},
    {TRN X "for i in 0..N { " USE "\nif i / 2 == 3 { vector z } }\n", ALL},
    {TRN X "for i in 0..N { " USE "\nif N / 5 > i { vector z } }\n", SHAPE},
    {TRN X "for i in 0..N { " USE "\nif N % 5 > i { vector z } }\n", ALL},
    {TRN X "for i in 0..N { " USE "\nif 2 * i <= N { vector z }\nif i + 3 > N { vector y } }\n",
     SHAPE},
    {TRN O("[N / 2 + 1]") "for i in 0..N { dma s writes o[i / 2] }\n", ALL},
    {TRN O("[N % 5 + 1]") "for i in 0..N % 5 + 1 { dma s writes o[i] }\n", SHAPE},
    {TRN O("[N]") "for i in 0..N { dma s writes o[i] }\nfor i in 0..N { dma s writes o[N - 1 - i] "
                  "}\n",
     ALL},
    {TRN O("[2 * N, 2]") "for i in 0..N { dma s writes o[2 * i, 0]\ndma s writes o[i, 1] }\n", ALL},
    /* agents */
    {SM "tensor x : shared u8 [2] (64)\ncounter c\nagent p { for i in 0..N { simt w writes "
        "x[0]\nsignal c } }\nagent q { wait c >= N\nsimt r reads x[0] }\n",
     SHAPE},
    {SM "tensor x : shared u8 (64)\ncounter c\ncounter d\nagent p { for i in 0..N { simt w writes "
        "x\nsignal c by 2\ntake d } }\nagent q { for i in 0..N { take c by 2\nsimt r reads "
        "x\nsignal d } }\n",
     ALL},
    {SM "tensor x : shared u8 (64)\ncounter c[2]\ncounter d[2]\nagent p { for i in 0..N { simt w "
        "writes x\nsignal c[i % 2]\ntake d[i % 2] } }\nagent q { for i in 0..N { take c[i % "
        "2]\nsimt r reads x\nsignal d[i % 2] } }\n",
     ALL},
    {SM "tensor x : shared u8 (64)\nmbarrier m[2, 2] count 1\nagent p { for i in 0..2 { init m[0, "
        "i] count 1 }\nsimt w writes x\narrive m[0, 1] }\nagent q { wait m[0, 1] parity 0\nsimt r "
        "reads x }\n",
     WRONG},
    {SM "tensor x : shared u8 [4] (64) ring 2\nagent p { alloc x[0]\nsimt w writes x[0]\nfree x[0] "
        "}\nagent q { alloc x[2]\nsimt w writes x[2]\nfree x[2] }\n",
     WRONG},
};

/* False: there is no such kernel, because an index would be outside. */
static bool check_with(const char *text, int64_t n, bool one_shape, spad_verdict *verdict,
                       int64_t *errors) {
    const spad_define define = {"N", n};
    const spad_kernel_options shape = {.defines = &define, .define_count = 1};
    const spad_check_options options = {.one_shape = one_shape};
    spad_check *check;
    spad_error error;
    spad_kernel *kernel;
    if (spad_kernel_parse(&kernel, text, strlen(text), NULL, &shape, NULL, &error) != SPAD_OK) {
        assert_non_null(strstr(error.message, " is outside '"));
        return false;
    }
    assert_ok(spad_check_create(&check, kernel, &options, &error), &error);
    *verdict = spad_check_get_verdict(check);
    *errors = spad_check_get_counts(check).errors;
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
    return true;
}

static void a_proof_holds_for_each_trip_count(void **state) {
    (void)state;
    bool failed = false;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t errors;
        spad_verdict verdict;
        assert_true(check_with(cases[i].text, 12, false, &verdict, &errors));
        if ((int)verdict != cases[i].verdict) {
            print_error("%s, not %s:\n%s", spad_verdict_name(verdict),
                        spad_verdict_name((spad_verdict)cases[i].verdict), cases[i].text);
            failed = true;
        }
        assert_int_equal(verdict == SPAD_VERDICT_WRONG, errors > 0);
        if (verdict != SPAD_VERDICT_PROVED_ALL) continue;
        for (int64_t n = 1; n <= 30; n++) {
            spad_verdict one;
            if (!check_with(cases[i].text, n, true, &one, &errors)) continue;
            if (errors > 0) print_error("N = %d:\n%s", (int)n, cases[i].text);
            assert_int_equal(one, SPAD_VERDICT_PROVED_SHAPE);
        }
    }
    assert_false(failed);
}

/* ---- parities ---------------------------------------------------------------------- */

/* A ring of S stages in which the consumer waits with `parity`; the loops of both have `head`. */
#define PIPE(stages, dims, element, head, tail, parity)                                           \
    "kernel k on sm_90\nparam S = 2\nparam N = 6\nunit tma on copy free proxy\n"                  \
    "mbarrier full[" dims "] count 1\nmbarrier empty[" dims "] count 1\n"                         \
    "tensor in : global f32 [N + 1] (64) input\ntensor x : shared f32 [N + 1] (64) ring " stages  \
    "\nfor s in 0..2 { init full[" element("s") "]\ninit empty[" element(                         \
        "s") "] }\nfence\n"                                                                       \
             "agent p { " head " wait empty[" element(                                            \
                 "k % 2") "] parity (k / 2 + 1) % 2\n"                                            \
                          "arrive full[" element(                                                 \
                              "k % 2") "] expect 256\n"                                           \
                                       "tma load reads in[k] writes x[k] delivers full[" element( \
                                           "k % 2") "] } " tail "}\n"                             \
                                                    "agent c { " head " wait full[" element(      \
                                                        "k % 2") "] parity " parity "\n"          \
                                                                 "simt use reads x[k]\narrive "   \
                                                                 "empty[" element(                \
                                                                     "k % 2") "] } " tail "}\n"
#define ONE(e) e
#define NTH "with parity n % 2 here (n: waits on the same element before it) the kernel is right"
#define TWO(e) "0, " e

/* What the finding of a wait with the wrong parity proposes. */
static void parities_are_proposed(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *note; /* NULL: nothing is wrong */
    } pipes[] = {
        {PIPE("S", "S", ONE, "for k in 0..N {", "", "k / 2 % 2"), NULL},
        {PIPE("S", "S", ONE, "for k in 0..N {", "", "(k / 2 + 1) % 2"), "k / S % 2"},
        {PIPE("2", "2", ONE, "for k in 0..N {", "", "(k / 2 + 1) % 2"), "k / 2 % 2"},
        {PIPE("2", "S + 0", ONE, "for k in 0..N {", "", "(k / 2 + 1) % 2"), "k / 2 % 2"},
        {PIPE("2", "1, 2", TWO, "for k in 0..N {", "", "(k / 2 + 1) % 2"), NTH},
        {PIPE("2", "2", ONE, "for j in 0..1 { for k in 0..N {", "} ", "(k / 2 + 1) % 2"), NTH},
    };
    for (size_t i = 0; i < sizeof pipes / sizeof pipes[0]; i++) {
        spad_check *check;
        spad_error error;
        bool found = false;
        spad_kernel *kernel = test_parse(pipes[i].text);
        assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
        assert_int_equal(spad_check_get_counts(check).errors > 0, pipes[i].note != NULL);
        for (size_t f = 0; pipes[i].note != NULL && f < spad_check_finding_count(check); f++) {
            const spad_finding *finding = spad_check_get_finding(check, f);
            found = found || strstr(finding->message, pipes[i].note) != NULL;
            for (size_t n = 0; n < finding->note_count; n++) {
                found = found || strstr(finding->notes[n].message, pipes[i].note) != NULL;
            }
        }
        if (pipes[i].note != NULL && !found) print_error("%zu\n", i);
        assert_int_equal(found, pipes[i].note != NULL);
        spad_check_destroy(check);
        spad_kernel_destroy(kernel);
    }
}

/* ---- more than is examined --------------------------------------------------------- */

#define LOOP(p) "for a in 0.." p " { simt w reads x }\n"
#define PARAM(p) "param " p " = 3\n"
#define CHIP "kernel k on sm_90\n"

static void limits_are_named(void **state) {
    (void)state;
    static const struct {
        const char *text;
        spad_verdict verdict;
        const char *reason;
    } limits[] = {
        {CHIP "tensor x : global u8 [20000000] (1)\nalloc x[0]\nsimt w writes x[0]\n"
              "simt r reads x[0]\nfree x[0]\n",
         SPAD_VERDICT_UNKNOWN, "a tensor with alloc and free has more than 2^24 tiles"},
        {CHIP "tensor x : global u8 [20000000] (1) input\nsimt r reads x[0]\n",
         SPAD_VERDICT_PROVED_SHAPE, "every event of the kernel was checked"},
        {CHIP "tensor x : shared u8 [100000] (1) at 0 input\ntensor y : shared u8 (4) at 8\n"
              "simt w writes y\nsimt r reads x[0], y\n",
         SPAD_VERDICT_UNKNOWN, "an input has more tiles than the check distinguishes"},
        {CHIP "tensor x : global u8 [20000000] (1) output\nsimt w writes x[0]\n",
         SPAD_VERDICT_PROVED_SHAPE, "every event of the kernel was checked"},
        {CHIP "tensor x : shared u8 [100000] (1) mod base 0 free 100000\nsimt w writes x[0]\n"
              "simt r reads x[0]\n",
         SPAD_VERDICT_UNKNOWN, "a tensor has more places than the rule check covers"},
        {CHIP "tensor x : shared u8 [100000, 2] (1) mod base 0 free [70001, 2]\n"
              "simt w writes x[0, 0]\nsimt r reads x[0, 0]\n",
         SPAD_VERDICT_UNKNOWN, "a tensor has more places than the rule check covers"},
        {CHIP PARAM("A") PARAM("B") PARAM("C") PARAM("D") PARAM("E") PARAM("F") PARAM("G")
             PARAM("H") "tensor x : shared u8 (4) input\n" LOOP("A") LOOP("B") LOOP("C") LOOP("D")
                 LOOP("E") LOOP("F") LOOP("G") LOOP("H"),
         SPAD_VERDICT_PROVED_SHAPE,
         "for all A, B, C, D, E, F; G is fixed at 3: there are too many of them"},
        {"kernel k on trn2\nfor i in 0..1 {\ntensor o : sbuf u8 (128, 4) output\n"
         "tensor n : sbuf u8 (128, 4) input\nvector w writes o\nscalar r reads n, o\n}\n",
         SPAD_VERDICT_PROVED_SHAPE, "every event of the kernel was checked"},
        {CHIP
         "tensor x : shared u8 [2, 2] (4) at 0\ntensor y : shared u8 [4] (4) mod base 64 free 2\n"
         "tensor z : shared u8 [4] (4)\n"
         "agent p { alloc x[0, 1]\nsimt w writes x[0, 1]\nfree x[0, 1]\nalloc y\n"
         "simt w writes y[1]\nfree y\nalloc z\nsimt w writes z[1]\nfree z }\n"
         "agent q { alloc x\nsimt w writes x[0, 1]\nfree x\nalloc y[3]\nsimt w writes y[3]\n"
         "free y[3]\nalloc z\nsimt w writes z[1]\nfree z }\n",
         SPAD_VERDICT_WRONG, ""},
    };
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        spad_check *check;
        spad_error error;
        spad_kernel *kernel = test_parse(limits[i].text);
        assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
        const char *reason = spad_check_get_reason(check);
        const spad_verdict verdict = spad_check_get_verdict(check);
        if (verdict != limits[i].verdict || !strstr(reason, limits[i].reason))
            print_error("%zu: %s: %s\n", i, spad_verdict_name(verdict), reason);
        assert_int_equal(verdict, limits[i].verdict);
        assert_non_null(strstr(reason, limits[i].reason));
        spad_check_destroy(check);
        spad_kernel_destroy(kernel);
    }
    assert_string_equal(spad_verdict_name((spad_verdict)99), "?");
}

/* ---- a chip with odd banks --------------------------------------------------------- */

static const spad_space odd_spaces[] = {
    {.name = "endless",
     .lanes = 1,
     .bytes = SPAD_UNBOUNDED,
     .bank_bytes = 8,
     .alignment = 1,
     .granule = 1},
    {.name = "fine", .lanes = 1, .bytes = 4096, .bank_bytes = 1, .alignment = 1, .granule = 1},
    {.name = "none",
     .lanes = 1,
     .bytes = 4096,
     .alignment = 1,
     .granule = 1,
     .banks_exclusive = true},
};
static const spad_engine odd_engines[] = {
    {.name = "e", .about = "", .count = 1, .reads = 7, .writes = 1},
    {.name = "f", .about = "", .count = 1, .reads = 7, .writes = 2},
    {.name = "g", .about = "", .count = 1, .reads = 7, .writes = 4},
};
static const spad_target odd_target = {.name = "odd",
                                       .about = "",
                                       .family = "",
                                       .space_count = 3,
                                       .spaces = odd_spaces,
                                       .engine_count = 3,
                                       .engines = odd_engines};

/* Advice about banks is for those that are counted, the first 256; no bank is crossed where there
 * are none. */
static void banks_are_those_that_are_counted(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t shared; /* findings that a bank is shared */
    } banks[] = {
        {"tensor x : fine u8 (1) at 9\ntensor y : fine u8 (1) at 9\nf a writes x\nf b updates y\n",
         1},
        {"tensor x : fine u8 (1) at 900\ntensor y : fine u8 (1) at 900\nf a writes x\n"
         "f b updates y\n",
         0},
        {"tensor x : endless u8 (1) at 90000\ntensor y : endless u8 (1) at 90000\ne a writes x\n"
         "e b updates y\n",
         0},
        {"tensor x : none u8 [4] (9) at 0\ntensor y : none u8 [4] (9) mod base 90 free 4\n"
         "g a writes x[1], y[1]\ng b updates y[1]\n",
         0},
    };
    const spad_kernel_options options = {.target = &odd_target};
    for (size_t i = 0; i < sizeof banks / sizeof banks[0]; i++) {
        char text[300];
        spad_check *check;
        spad_error error;
        size_t shared = 0;
        snprintf(text, sizeof text, "kernel k on odd\n%s", banks[i].text);
        spad_kernel *kernel = test_parse_with(text, &options);
        assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
        for (size_t f = 0; f < spad_check_finding_count(check); f++) {
            const spad_finding_code code = spad_check_get_finding(check, f)->code;
            assert_int_not_equal(code, SPAD_FINDING_BANK_CROSSED);
            shared += code == SPAD_FINDING_SHARED_BANK;
        }
        if (shared != banks[i].shared) print_error("case %zu\n", i);
        assert_int_equal(shared, banks[i].shared);
        spad_check_destroy(check);
        spad_kernel_destroy(kernel);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_proof_holds_for_each_trip_count),
                                       cmocka_unit_test(parities_are_proposed),
                                       cmocka_unit_test(banks_are_those_that_are_counted),
                                       cmocka_unit_test(limits_are_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
