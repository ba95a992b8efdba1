/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks at their limits: sums that do not fit 64 bits, tables that would be too large, tensors
 * that overlap in unusual ways, loops too long to be run. Each kernel with its verdict, the reason
 * and the place, code and count of every finding.
 */
#include "support/kernels.h"
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "spad/check.h"
#include "spad/experimental/fit.h"
#include "spad/target.h"

typedef struct corner {
    const char *text;
    spad_verdict verdict;
    const char *reason;
    const char *findings; /* "line CODE xcount", one per line */
} corner;

static void list_findings(const spad_check *check, char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        const spad_finding *f = spad_check_get_finding(check, i);
        used += (size_t)snprintf(text + used, size - used, "%d %s x%lld\n", f->line,
                                 spad_finding_name(f->code), (long long)f->count);
        assert_true(used < size);
    }
}

static void run_corner(const corner *c, const spad_kernel_options *how,
                       const spad_check_options *options) {
    char found[2048];
    spad_kernel *kernel = test_parse_with(c->text, how);
    spad_check *check;
    spad_error error;
    assert_ok(spad_check_create(&check, kernel, options, &error), &error);
    list_findings(check, found, sizeof found);
    if (strcmp(found, c->findings) != 0) print_error("%s", c->text);
    assert_string_equal(found, c->findings);
    assert_string_equal(spad_check_get_reason(check), c->reason);
    assert_int_equal(spad_check_get_verdict(check), c->verdict);
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
}

static void run_corners(const corner *corners, size_t count) {
    const spad_check_options options = {.no_advice = true};
    for (size_t i = 0; i < count; i++) run_corner(&corners[i], NULL, &options);
}

/* Accesses with the same first bytes and other strides are not the same; a tensor that is cut too
 * often, and tables that are too large, are gaps. */
static void cuts_of_tensors(void **state) {
    (void)state;
    static const corner corners[] = {
        /* two strides */
        {"kernel k on sm_90\n"
         "counter c\n"
         "tensor x : shared f32 (8, 8)\n"
         "tensor y : shared f32 (16, 4) alias of x\n"
         "agent a { simt w writes x(.., 0..2)\n"
         "signal c }\n"
         "agent b { take c\n"
         "simt q writes y(0..8, 0..2) }\n"
         "agent d { simt z writes y(0..8, 0..2) }\n",
         SPAD_VERDICT_WRONG, "",
         "8 SPAD-RACE x1\n"
         "9 SPAD-RACE x1\n"
         "3 SPAD-NEVER-READ x1\n"},
        /* more runs than pieces */
        {"kernel k on sm_90\n"
         "counter c\n"
         "tensor x : global u8 (20000000, 2)\n"
         "agent a { simt w writes x(.., 0..1)\n"
         "signal c }\n"
         "agent b { take c\n"
         "simt q writes x(.., 0..1) }\n",
         SPAD_VERDICT_UNKNOWN, "accesses cut a tensor into too many pieces",
         "3 SPAD-NEVER-READ x1\n"},
        /* objects of two arrays */
        {"kernel k on sm_90\n"
         "counter c[900000]\n"
         "counter d[900000]\n"
         "agent a { signal c[0]\n"
         "signal d[1] }\n"
         "agent b { take c[0]\n"
         "take d[1] }\n",
         SPAD_VERDICT_UNKNOWN,
         "there are more than 1000000 synchronisation objects; define a smaller parameter", ""},
        /* flags */
        {"kernel k on 910b\n"
         "counter c[5000]\n"
         "tensor x : ub u8 (64)\n"
         "mte2 l writes x\n"
         "signal c[0]\n"
         "take c[0]\n"
         "vector v reads x\n",
         SPAD_VERDICT_UNKNOWN, "there are more flags than are counted", ""},
        /* tiles of an alloc */
        {"kernel k on sm_90\n"
         "counter c\n"
         "tensor x : global u8 [3000000000] (1)\n"
         "agent a { alloc x\n"
         "simt w writes x[0]\n"
         "simt r reads x[0]\n"
         "free x\n"
         "signal c }\n"
         "agent b { take c }\n",
         SPAD_VERDICT_UNKNOWN, "there are more events than the limit; define a smaller parameter",
         ""},
        /* events of three loops: more than 64 bits */
        {"kernel k on trn2\n"
         "param N = 3000000000\n"
         "tensor x : sbuf u8 (128, 8) input\n"
         "for a in 0..N { for b in 0..N { for c in 0..N { vector r reads x } } }\n"
         "for a in 0..N { for b in 0..N { vector r reads x } }\n"
         "for a in 0..N { for b in 0..N { vector r reads x } }\n",
         SPAD_VERDICT_UNKNOWN, "the kernel has more events than the limit", ""},
        /* ways of unknown values */
        {"kernel k on trn2\n"
         "unknown b[12]\n"
         "tensor x : sbuf u8 (128, 8) input\n"
         "for i in 0..12 { if b[i] == 1 { vector r reads x } }\n",
         SPAD_VERDICT_UNKNOWN, "unknown values can be in more ways than were run, which is 1024",
         ""},
        /* writes of one slot */
        {"kernel k on sm_80\n"
         "tensor x : shared u8 (5000)\n"
         "for i in 0..5000 { simt w writes x(i..i+1) }\n"
         "simt r reads x\n",
         SPAD_VERDICT_PROVED_SHAPE, "every event of the kernel was checked", ""},
    };
    run_corners(corners, sizeof corners / sizeof corners[0]);
}

/* Steps for each dimension; granules of a tensor when another one is allocated. */
static void places_of_tiles(void **state) {
    (void)state;
    static const corner corners[] = {
        {"kernel k on trn2\n"
         "tensor x : sbuf u8 [300, 300] (1, 1) at 0 step [300, 1]\n"
         "vector w writes x[0, 0]\n"
         "vector r reads x[0, 0]\n",
         SPAD_VERDICT_UNKNOWN, "a tensor has more places than the rule check covers", ""},
        {"kernel k on trn2\n"
         "tensor x : sbuf u8 [2000000000, 2000000000, 2] (1, 1) at 0 step [0, 0, 1]\n"
         "vector w writes x[0, 0, 0]\n"
         "vector r reads x[0, 0, 0]\n",
         SPAD_VERDICT_UNKNOWN, "a tensor has more places than the rule check covers", ""},
        {"kernel k on 910b\n"
         "tensor x : ub u8 (40)\n"
         "tensor y : ub u8 (64)\n"
         "alloc y\n"
         "vector w writes x, y\n"
         "vector r reads x, y\n"
         "free y\n",
         SPAD_VERDICT_PROVED_SHAPE, "every event of the kernel was checked", ""},
        {"kernel k on 910b\n"
         "tensor x : ub u8 [2, 2] (40) at 0 step [128, 32]\n"
         "vector w writes x[0, 0]\n"
         "vector r reads x[0, 0]\n",
         SPAD_VERDICT_WRONG, "", "2 SPAD-GRANULE x1\n"},
    };
    run_corners(corners, sizeof corners / sizeof corners[0]);
}

/* Counters and bytes whose sums do not fit 64 bits; many late expectations. */
static void sums_beyond_64_bits(void **state) {
    (void)state;
    static const corner corners[] = {
        {"kernel k on sm_90\n"
         "counter c\n"
         "tensor x : shared u8 (64)\n"
         "agent a { signal c by 9000000000000000000\n"
         "simt w writes x\n"
         "signal c by 9000000000000000000 }\n"
         "agent b { wait c >= 9200000000000000000\n"
         "simt r reads x }\n",
         SPAD_VERDICT_PROVED_SHAPE, "every event of the kernel was checked", ""},
        /* the first signal is enough: the write is not ordered */
        {"kernel k on sm_90\n"
         "counter c\n"
         "tensor x : shared u8 (64)\n"
         "agent a { signal c by 9000000000000000000\n"
         "simt w writes x\n"
         "signal c by 9000000000000000000 }\n"
         "agent b { wait c >= 8000000000000000000\n"
         "simt r reads x }\n",
         SPAD_VERDICT_WRONG, "", "8 SPAD-RACE x1\n"},
        {"kernel k on sm_90\n"
         "counter c\n"
         "agent a { signal c by 9000000000000000000\n"
         "signal c by 9000000000000000000 }\n"
         "agent b { take c by 9000000000000000000\n"
         "take c by 9000000000000000000\n"
         "take c by 1 }\n",
         SPAD_VERDICT_WRONG, "", "7 SPAD-DEADLOCK x1\n"},
        {"kernel k on sm_90\n"
         "mbarrier m count 1\n"
         "tensor x : shared u8 (64) input\n"
         "init m\n"
         "agent p { arrive m expect 8; expect m by 4; simt op reads x delivers m by 4 }\n"
         "agent q { for i in 0..14 { simt op reads x delivers m by 4 } }\n",
         SPAD_VERDICT_WRONG, "",
         "5 SPAD-LATE-EXPECT x1\n"
         "6 SPAD-MIXED-PHASES x12\n"},
        {"kernel k on sm_90\n"
         "mbarrier m count 1\n"
         "tensor x : shared u8 (64) input\n"
         "init m\n"
         "agent p { arrive m expect 9000000000000000000; expect m by 9000000000000000000; simt op "
         "reads x delivers m by 9000000000000000000 }\n"
         "agent q { simt op reads x delivers m by 9000000000000000000 }\n",
         SPAD_VERDICT_WRONG, "",
         "5 SPAD-MBARRIER-LIMIT x1\n"
         "5 SPAD-MIXED-PHASES x1\n"
         "5 SPAD-MBARRIER-LIMIT x1\n"
         "5 SPAD-MIXED-PHASES x1\n"},
    };
    run_corners(corners, sizeof corners / sizeof corners[0]);
}

/* More agents that are stuck and more races than are drawn. */
static void many_at_once(void **state) {
    (void)state;
    static const corner corners[] = {
        {"kernel k on sm_90\n"
         "counter c[16]\n"
         "agent a0 { take c[0]\n"
         "signal c[1] }\n"
         "agent a1 { take c[1]\n"
         "signal c[2] }\n"
         "agent a2 { take c[2]\n"
         "signal c[3] }\n"
         "agent a3 { take c[3]\n"
         "signal c[4] }\n"
         "agent a4 { take c[4]\n"
         "signal c[5] }\n"
         "agent a5 { take c[5]\n"
         "signal c[6] }\n"
         "agent a6 { take c[6]\n"
         "signal c[7] }\n"
         "agent a7 { take c[7]\n"
         "signal c[8] }\n"
         "agent a8 { take c[8]\n"
         "signal c[9] }\n"
         "agent a9 { take c[9]\n"
         "signal c[10] }\n"
         "agent a10 { take c[10]\n"
         "signal c[11] }\n"
         "agent a11 { take c[11]\n"
         "signal c[12] }\n"
         "agent a12 { take c[12]\n"
         "signal c[13] }\n"
         "agent a13 { take c[13]\n"
         "signal c[14] }\n"
         "agent a14 { take c[14]\n"
         "signal c[0] }\n",
         SPAD_VERDICT_WRONG, "", "3 SPAD-DEADLOCK x1\n"},
        {"kernel k on sm_90\n"
         "tensor x0 : shared u8 (64)\n"
         "tensor x1 : shared u8 (64)\n"
         "tensor x2 : shared u8 (64)\n"
         "tensor x3 : shared u8 (64)\n"
         "tensor x4 : shared u8 (64)\n"
         "tensor x5 : shared u8 (64)\n"
         "tensor x6 : shared u8 (64)\n"
         "agent a {\n"
         "simt w writes x0\n"
         "simt w writes x1\n"
         "simt w writes x2\n"
         "simt w writes x3\n"
         "simt w writes x4\n"
         "simt w writes x5\n"
         "simt w writes x6\n"
         "}\n"
         "agent b {\n"
         "simt r reads x0\n"
         "simt r reads x1\n"
         "simt r reads x2\n"
         "simt r reads x3\n"
         "simt r reads x4\n"
         "simt r reads x5\n"
         "simt r reads x6\n"
         "}\n",
         SPAD_VERDICT_WRONG, "",
         "19 SPAD-RACE x1\n"
         "20 SPAD-RACE x1\n"
         "21 SPAD-RACE x1\n"
         "22 SPAD-RACE x1\n"
         "23 SPAD-RACE x1\n"
         "24 SPAD-RACE x1\n"
         "25 SPAD-RACE x1\n"},
    };
    run_corners(corners, sizeof corners / sizeof corners[0]);
}

/* Stack tensors of different scopes, and with tensors that have an address; tiles that are
 * allocated in loops. */
static void scopes_and_lives(void **state) {
    (void)state;
    static const corner corners[] = {
        /* inputs and outputs that are not there for the whole kernel */
        {"kernel k on trn2\n"
         "tensor z : sbuf u8 (128, 8) heap input output\n"
         "vector r reads z\n"
         "vector w writes z\n"
         "free z\n"
         "scope s {\n"
         "tensor x : sbuf u8 (128, 8) stack input\n"
         "tensor y : sbuf u8 (128, 8) stack output\n"
         "vector r reads x writes y\n"
         "}\n"
         "for i in 0..2 {\n"
         "tensor v : sbuf u8 (128, 8) input\n"
         "vector r reads v\n"
         "}\n",
         SPAD_VERDICT_WRONG, "",
         "2 SPAD-USE-AFTER-FREE x1\n"
         "8 SPAD-SECTION-OVER x1\n"},
        {"kernel k on trn2\n"
         "scope s {\n"
         "tensor x : sbuf u8 (128, 8) stack\n"
         "vector w writes x\n"
         "}\n"
         "scope t {\n"
         "tensor y : sbuf u8 (128, 8) stack\n"
         "vector r reads y\n"
         "}\n",
         SPAD_VERDICT_WRONG, "",
         "8 SPAD-LIFETIME-CONFLICT x1\n"
         "3 SPAD-NEVER-READ x1\n"},
        {"kernel k on trn2\n"
         "tensor a : sbuf u8 (128, 8) at 0\n"
         "vector w writes a\n"
         "scope t {\n"
         "tensor y : sbuf u8 (128, 8) stack\n"
         "vector w writes y\n"
         "vector r reads y\n"
         "}\n"
         "vector r reads a\n"
         "scope u {\n"
         "tensor q : sbuf u8 (128, 8) stack\n"
         "vector w writes q\n"
         "vector z writes a\n"
         "vector r reads q\n"
         "}\n",
         SPAD_VERDICT_WRONG, "",
         "9 SPAD-LIFETIME-CONFLICT x1\n"
         "14 SPAD-LIFETIME-CONFLICT x1\n"},
        {"kernel k on trn2\n"
         "tensor z : sbuf u8 [2] (128, 8) heap\n"
         "tensor y : sbuf u8 [2] (128, 8) heap\n"
         "vector w writes z[0], y[1]\n"
         "vector r reads z[0], y[1]\n"
         "free y\n"
         "free z\n"
         "vector r reads z[0]\n",
         SPAD_VERDICT_WRONG, "", "8 SPAD-USE-AFTER-FREE x1\n"},
        {"kernel k on trn2\n"
         "tensor z : sbuf u8 (128, 8) heap\n"
         "vector w writes z\n"
         "vector r reads z\n"
         "free z\n"
         "free z\n",
         SPAD_VERDICT_WRONG, "", "6 SPAD-DOUBLE-FREE x1\n"},
        {"kernel k on trn2\n"
         "param N = 6\n"
         "tensor x : sbuf u8 (128, 8)\n"
         "tensor y : sbuf u8 [2] (128, 8)\n"
         "for i in 0..N { alloc x\n"
         "vector w writes x\n"
         "vector r reads x\n"
         "free x\n"
         "alloc y[i % 2]\n"
         "vector w writes y[i % 2]\n"
         "vector r reads y[i % 2]\n"
         "free y[i % 2]\n"
         "}\n",
         SPAD_VERDICT_PROVED_ALL, "for all N", ""},
        {"kernel k on trn2\n"
         "param N = 6\n"
         "tensor y : sbuf u8 [N + 1] (128, 8) ring 2\n"
         "alloc y[0]\n"
         "for i in 0..N {\n"
         "vector w writes y[i]\n"
         "vector r reads y[i]\n"
         "alloc y[i + 1]\n"
         "free y[i]\n"
         "}\n"
         "free y[N]\n",
         SPAD_VERDICT_PROVED_SHAPE,
         "N is fixed at 6: its loop did not return to the same state; N = 0, 1, 2, 3, 4, 5, 7, 8 "
         "are right, too",
         ""},
        {"kernel k on trn2\n"
         "param N = 6\n"
         "tensor y : sbuf u8 [4] (128, 8)\n"
         "alloc y[0]\n"
         "vector w writes y[0]\n"
         "for i in 0..N {\n"
         "vector r reads y[0]\n"
         "}\n"
         "free y[0]\n",
         SPAD_VERDICT_PROVED_ALL, "for all N", ""},
    };
    run_corners(corners, sizeof corners / sizeof corners[0]);
}

/* Writes that do not reach an output that is a part of another tensor. */
static void outputs_under_other_names(void **state) {
    (void)state;
    static const corner corners[] = {
        {"kernel k on trn2\n"
         "tensor h : hbm u8 (64, 64)\n"
         "tensor o : hbm u8 (32, 16) alias of h output\n"
         "dma w writes h(.., 48..64)\n"
         "dma w writes h(32..64, 0..8)\n"
         "dma w writes h(.., 0..4)\n",
         SPAD_VERDICT_PROVED_SHAPE, "every event of the kernel was checked",
         "3 SPAD-UNWRITTEN-OUTPUT x1\n"},
        {"kernel k on trn2\n"
         "tensor h : sbuf u8 (128, 64)\n"
         "tensor o : sbuf u8 (32, 16) alias of h output\n"
         "vector w may writes h(.., 0..8)\n"
         "vector w may writes h(64..128, 0..8)\n"
         "vector w may writes h(.., 20..28)\n"
         "vector r reads o\n",
         SPAD_VERDICT_WRONG, "",
         "7 SPAD-UNINITIALISED-READ x1\n"
         "3 SPAD-UNWRITTEN-OUTPUT x1\n"
         "7 SPAD-UNINITIALISED-READ x1\n"},
    };
    run_corners(corners, sizeof corners / sizeof corners[0]);
}

/* What is contributed differs from one iteration to the next. */
static void barriers_by_iteration(void **state) {
    (void)state;
    static const corner corners[] = {
        {"kernel k on sm_90\n"
         "barrier b count 64\n"
         "barrier d count 2\n"
         "agent a of 32 threads { for i in 0..2 { sync b by 32 + 32 * i }\n"
         "sync d }\n"
         "agent e of 32 threads { sync b by 32\n"
         "sync d }\n",
         SPAD_VERDICT_PROVED_SHAPE, "every event of the kernel was checked", ""},
    };
    run_corners(corners, sizeof corners / sizeof corners[0]);
}

/* Loops that are not run to their end: a smaller shape shows what is missing. */
static void long_loops(void **state) {
    (void)state;
    static const corner corners[] = {
        {"kernel k on trn2\n"
         "param N = 9000\n"
         "tensor x : sbuf u8 (128, 8) input\n"
         "tensor o : hbm u8 [N + 5] (128, 8) output\n"
         "for i in 0..N { dma s reads x writes o[i] }\n"
         "dma s reads x writes o[N + 3]\n",
         SPAD_VERDICT_PROVED_ALL, "for all N", "4 SPAD-UNWRITTEN-OUTPUT x1\n"},
        {"kernel k on trn2\n"
         "param N = 9000\n"
         "param M = 9000\n"
         "tensor x : sbuf u8 (128, 8) input\n"
         "tensor o : hbm u8 [N + M] (128, 8) output\n"
         "for i in 0..N { if i < M { dma s reads x writes o[i] } }\n"
         "for i in 0..M { dma s reads x writes o[N + i] }\n",
         SPAD_VERDICT_PROVED_SHAPE,
         "with N = 10, M = 9 it does not return to the same state; N = 8999, 9001, 9002 are right, "
         "too; no other M could be tried",
         ""},
        {"kernel k on trn2\n"
         "param N = 9000\n"
         "tensor x : sbuf u8 (128, 8) input\n"
         "tensor h : hbm u8 [N] (128, 8)\n"
         "tensor o : hbm u8 [N] (128, 8) alias of h output\n"
         "for i in 0..N { dma s reads x writes o[i] }\n",
         SPAD_VERDICT_PROVED_SHAPE,
         "N is fixed at 9000: 'o' is read and written off the chip, at one tile after another; N = "
         "8999, 9001, 9002 are right, too",
         ""},
        {"kernel k on trn2\n"
         "param N = 9000\n"
         "tensor x : sbuf u8 (128, 8) input\n"
         "tensor o : hbm u8 [N] (128, 8) output\n"
         "for i in 0..N { dma s reads x writes o[N - 1 - i] }\n",
         SPAD_VERDICT_PROVED_ALL, "for all N >= 1; outputs were checked with small values only",
         ""},
        {"kernel k on trn2\n"
         "param N = 9000\n"
         "tensor x : sbuf u8 (128, 8) input\n"
         "tensor o : hbm u8 [2 * N, 3] (128, 8) output\n"
         "for i in 0..N { dma s reads x writes o[i, i % 3]\n"
         "dma s reads x writes o[2 * i, 1] }\n",
         SPAD_VERDICT_PROVED_ALL, "for all N >= 1", "4 SPAD-UNWRITTEN-OUTPUT x1\n"},
        {"kernel k on trn2\n"
         "param N = 9000\n"
         "param M = 9000\n"
         "tensor x : sbuf u8 (128, 8) input\n"
         "tensor o : hbm u8 [N, M] (128, 8) output\n"
         "for i in 0..N { if i > M - 5 { dma s reads x writes o[i, 0] } }\n"
         "for i in 0..M { dma s reads x writes o[0, i] }\n",
         SPAD_VERDICT_PROVED_SHAPE,
         "with N = 8, M = 11 it does not return to the same state; N = 8999, 9001, 9002 are right, "
         "too; no other M could be tried",
         ""},
        {"kernel k on trn2\n"
         "param N = 9000\n"
         "tensor x : sbuf u8 (128, 8) input\n"
         "tensor o : hbm u8 [4] (128, 8) output\n"
         "tensor q : hbm u8 (128, 8) output\n"
         "for i in 0..N { dma s reads x writes o[i % 4]\n"
         "dma s reads o[2] writes q }\n",
         SPAD_VERDICT_WRONG, "", "7 SPAD-UNINITIALISED-READ x2\n"},
        {"kernel k on trn2\n"
         "param N = 9000\n"
         "tensor x : sbuf u8 [N] (128, 8) ring 2\n"
         "for i in 0..N { vector w writes x[i]\n"
         "if i > 1 { vector r reads x[i - 2] } }\n",
         SPAD_VERDICT_WRONG, "", "5 SPAD-LIFETIME-CONFLICT x8998\n"},
        {"kernel k on trn2\n"
         "param N = 9000\n"
         "tensor x : sbuf u8 (128, 8)\n"
         "for i in 0..N { if i == 8999 { vector r reads x }\n"
         "vector w writes x }\n"
         "vector r reads x\n",
         SPAD_VERDICT_PROVED_SHAPE,
         "N is fixed at 9000: its loop did not return to the same state; N = 8999, 9001, 9002 are "
         "right, too",
         "5 SPAD-DEAD-WRITE x8998\n"},
        {"kernel k on trn2\n"
         "param N = 9000\n"
         "tensor x : sbuf u8 (128, 8)\n"
         "vector r reads x\n"
         "for i in 0..N { vector w writes x\n"
         "vector r reads x }\n",
         SPAD_VERDICT_WRONG, "", "4 SPAD-UNINITIALISED-READ x1\n"},
    };
    run_corners(corners, sizeof corners / sizeof corners[0]);
}

/* More of them than are listed; rings that are proved apart. */
static void shapes_without_a_kernel(void **state) {
    (void)state;
    static const corner corners[] = {
        {"kernel k on trn2\n"
         "param N = 23\n"
         "param M = 23\n"
         "tensor g : hbm bf16 [(N + 7) / 8 - N / 8 + (M + 7) / 8 - M / 8] (128, 8) input\n"
         "tensor x : sbuf bf16 (128, 8)\n"
         "for i in 0..N { dma w writes x\n"
         "vector r reads x }\n"
         "for i in 0..M { dma w writes x\n"
         "vector r reads x }\n",
         SPAD_VERDICT_PROVED_ALL,
         "for all N, M; there is no kernel with N = 0, M = 0 or N = 8, M = 0 or N = 16, M = 0 or "
         "N = 24, M = 0 or N = 0, M = 8 or N = 8, M = 8, and so on",
         "4 SPAD-NEVER-USED x1\n"},
        {"kernel k on trn2\n"
         "param N = 40\n"
         "tensor a : sbuf u8 [N] (128, 8) ring 8\n"
         "tensor b : sbuf u8 [N] (128, 8) ring 9\n"
         "tensor c : sbuf u8 [N] (128, 8) ring 5\n"
         "tensor d : sbuf u8 [N] (128, 8) ring 7\n"
         "tensor e : sbuf u8 [N] (128, 8) ring 11\n"
         "tensor f : sbuf u8 [N] (128, 8) ring 13\n"
         "tensor g : sbuf u8 [N] (128, 8) ring 17\n"
         "tensor h : sbuf u8 [N] (128, 8) ring 19\n"
         "tensor i0 : sbuf u8 [N] (128, 8) ring 23\n"
         "tensor j : sbuf u8 [N] (128, 8) ring 29\n"
         "for i in 0..N { vector w writes a[i], b[i], c[i], d[i]\n"
         "vector w writes e[i], f[i], g[i], h[i]\n"
         "vector w writes i0[i], j[i] }\n",
         SPAD_VERDICT_PROVED_SHAPE,
         "N is fixed at 40: the kernel repeats itself only after too many iterations; N = 1, 2, 4, "
         "5, 6, 7, 8, 9, 10, 11, 12, 14, 15, 16, 17, 18, 19, 22, 23, 38, 39, 41, 42 are right, too",
         "3 SPAD-NEVER-READ x1\n"
         "4 SPAD-NEVER-READ x1\n"
         "5 SPAD-NEVER-READ x1\n"
         "6 SPAD-NEVER-READ x1\n"
         "7 SPAD-NEVER-READ x1\n"
         "8 SPAD-NEVER-READ x1\n"
         "9 SPAD-NEVER-READ x1\n"
         "10 SPAD-NEVER-READ x1\n"
         "11 SPAD-NEVER-READ x1\n"
         "12 SPAD-NEVER-READ x1\n"},
        {"kernel k on trn2\n"
         "param N = 40\n"
         "tensor a : sbuf u8 [N] (32, 8) at 0 ring 31\n"
         "tensor b : sbuf u8 [N] (32, 8) at 0 lane 32 ring 29\n"
         "tensor c : sbuf u8 [N] (32, 8) at 4000 lane 32 ring 23\n"
         "tensor d : sbuf u8 [N] (32, 8) at 0 lane 0 ring 19\n"
         "for i in 0..N { vector w writes a[i], b[i], c[i]\n"
         "vector r reads a[i], b[i], c[i] }\n",
         SPAD_VERDICT_PROVED_SHAPE,
         "N is fixed at 40: the kernel repeats itself only after too many iterations; N = 1, 2, "
         "18, 19, 20, 22, 23, 24, 28, 29, 30, 31, 32, 38, 39, 41, 42, 46, 47, 58, 59, 62, 63 are "
         "right, too",
         "6 SPAD-NEVER-USED x1\n"},
        {"kernel k on trn2\n"
         "param A = 2\n"
         "param B = 2\n"
         "param C = 2\n"
         "param D = 2\n"
         "param E = 2\n"
         "param F = 2\n"
         "param G = 2\n"
         "param H = 2\n"
         "param I = 2\n"
         "param J = 2\n"
         "tensor x : sbuf u8 [40] (128, 8) ring 7\n"
         "for a in 0..A { vector w writes x[a * A % 40] }\n"
         "for a in 0..B { vector w writes x[a * B % 40] }\n"
         "for a in 0..C { vector w writes x[a * C % 40] }\n"
         "for a in 0..D { vector w writes x[a * D % 40] }\n"
         "for a in 0..E { vector w writes x[a * E % 40] }\n"
         "for a in 0..F { vector w writes x[a * F % 40] }\n"
         "for a in 0..G { vector w writes x[a * G % 40] }\n"
         "for a in 0..H { vector w writes x[a * H % 40] }\n"
         "for a in 0..I { vector w writes x[a * I % 40] }\n"
         "for a in 0..J { vector w writes x[a * J % 40] }\n",
         SPAD_VERDICT_PROVED_SHAPE,
         "A is fixed at 2: an index does not advance in even steps; A = 0, 1, 3, 4, 6, 7, 8, 14, "
         "15 are right, too; values of B, C, D, E, F, G, H that were tried are right, too; "
         "other values of I, J were not tried",
         "12 SPAD-NEVER-READ x1\n"},
    };
    run_corners(corners, sizeof corners / sizeof corners[0]);
}

/* Neighbours of a parameter that is nearly the largest number, and of a size that nearly fits. */
static void values_nearby(void **state) {
    (void)state;
    static const char *const names[] = {"D"};
    static const corner corners[] = {
        {"kernel k on trn2\nparam D = 9223372036854775806\ntensor x : sbuf u8 [3] (128, 8)\n"
         "vector w writes x[D % 3]\nvector r reads x[D % 3]\n",
         SPAD_VERDICT_PROVED_SHAPE,
         "every event of the kernel was checked; D = 9223372036854775804, "
         "9223372036854775805, 9223372036854775807 are right, too",
         ""},
        {"kernel k on trn2\nparam D = 3\nscope t {\ntensor y : sbuf u8 (128, D * 60000) stack\n"
         "vector w writes y\nvector r reads y\n}\n",
         SPAD_VERDICT_PROVED_SHAPE,
         "every event of the kernel was checked; D = 1, 2 are right, too; there is no kernel with "
         "D = 4, 5",
         ""},
    };
    const spad_check_options options = {.no_advice = true, .vary = names, .vary_count = 1};
    for (size_t i = 0; i < 2; i++) run_corner(&corners[i], NULL, &options);
}

/* Banks of a memory with more places than are looked at before they repeat. */
static void banks_that_are_long(void **state) {
    (void)state;
    static const char text[] = "target own\nspace s {\n bytes 4 MiB\n bank 1 MiB exclusive\n}\n"
                               "engine e { reads s; writes s }\n";
    static const corner corners[] = {
        {"kernel k on own\ntensor x : s u8 [70000] (1) at 0\ne w writes x[0]\ne r reads x[0]\n",
         SPAD_VERDICT_UNKNOWN, "a tensor has more places than the rule check covers", ""},
        {"kernel k on own\ntensor x : s u8 [60000] (1) at 0\ne w writes x[0]\ne r reads x[0]\n",
         SPAD_VERDICT_PROVED_SHAPE, "every event of the kernel was checked", ""},
    };
    spad_target *target;
    spad_error error;
    assert_ok(spad_target_parse(&target, text, strlen(text), "own", NULL, NULL, &error), &error);
    const spad_kernel_options how = {.target = target};
    const spad_check_options options = {.no_advice = true};
    for (size_t i = 0; i < 2; i++) run_corner(&corners[i], &how, &options);
    spad_target_destroy(target);
}

static void expect_fit(const char *text, const char *expected) {
    spad_layout *layout;
    spad_fit *fit;
    test_text out;
    spad_error error;
    spad_kernel *kernel = test_parse(text);
    assert_ok(spad_layout_create(&layout, kernel, NULL, &error), &error);
    assert_ok(spad_fit_create(&fit, layout, NULL, &error), &error);
    test_text_init(&out);
    assert_ok(spad_fit_write(fit, layout, SPAD_FORMAT_TEXT, &out.sink, &error), &error);
    assert_string_equal(out.bytes, expected);
    test_text_free(&out);
    spad_fit_destroy(fit);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
}

/* Two memories are too small; agents whose order is not known to the layout. */
static void memories_that_are_too_small(void **state) {
    (void)state;
    expect_fit("kernel k on trn2\nparam N = 9\ntensor x : sbuf u8 [N] (128, 60000) ring 5\n"
               "tensor y : psum f32 [N] (128, 512) ring 9\n"
               "for i in 0..N { vector w writes x[i], y[i]\nvector r reads x[i], y[i] }\n",
               "sbuf is 87,016 B (85 KiB) too small: 300,000 B are needed together (proved)\n"
               "  fits with --ring x=3 instead of 5, which saves 120,000 B\n"
               "  fits if 'x' is moved to another memory, which saves 300,000 B\n"
               "psum is 2,048 B (2 KiB) too small: 18,432 B are needed together (proved)\n"
               "  fits with --ring y=8 instead of 9, which saves 2,048 B\n"
               "  fits if 'y' is moved to another memory, which saves 2,048 B\n");
    expect_fit("kernel k on sm_90\ntensor x : shared u8 (200000)\ntensor y : shared u8 (200000)\n"
               "agent a { simt w writes x\nsimt r reads x }\n"
               "agent b { simt w writes y\nsimt r reads y }\n",
               "shared is 167,552 B (163.6 KiB) too small: 400,000 B are taken with all tiles of "
               "agents apart; a lower "
               "layout may exist\n"
               "  fits if 'x' is moved to another memory, which saves 200,000 B\n"
               "  fits if 'y' is moved to another memory, which saves 200,000 B\n");
}

/* A parameter that is also a size is no depth; a ring that would be wrong is not offered. */
static void depths_that_are_not_offered(void **state) {
    (void)state;
    expect_fit("kernel k on sm_90\nparam D = 4\ntensor x : shared u8 [9] (D * 20000) ring D\n"
               "for i in 0..9 { simt w writes x[i]\nsimt r reads x[i] }\n",
               "shared is 87,552 B (85.5 KiB) too small: 320,000 B are needed together (proved)\n"
               "  fits if 'x' is moved to another memory, which saves 320,000 B\n");
    expect_fit("kernel k on sm_90\ntensor x : shared u8 [5] (60000)\n"
               "for i in 0..5 { simt w writes x[i] }\nfor i in 0..5 { simt r reads x[i] }\n",
               "shared is 67,552 B (66 KiB) too small: 300,000 B are needed together (proved)\n"
               "  fits if 'x' is moved to another memory, which saves 300,000 B\n");
}

/* The name of the number of a wait means nothing else in the kernel. */
static void names_of_waits(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(
        "kernel k on sm_90\nmbarrier m count 1\nbarrier n count 2\ntensor w : shared u8 (64)\n"
        "param nth = 3\ninit m\n"
        "agent p { for t in 0..2 { for k in 0..nth { simt fill writes w; arrive m; sync n } } }\n"
        "agent q { for t in 0..2 { for k in 0..nth { wait m parity k % 2; simt use reads w; "
        "sync n } } }\n");
    spad_check *check;
    spad_error error;
    assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
    const spad_finding *f = spad_check_get_finding(check, 0);
    assert_int_equal(f->code, SPAD_FINDING_LAPPED_WAIT);
    assert_true(f->note_count > 0);
    assert_string_equal(f->notes[f->note_count - 1].message,
                        "with parity wait_number % 2 here (wait_number: waits on the same element "
                        "before it) the kernel is right");
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
}

/* More writes of one slot than are remembered: unused work is not reported. More
 * events than are run: not all unknown values are tried. */
static void work_that_is_cut(void **state) {
    (void)state;
    static const corner corners[] = {
        {"kernel k on sm_80\ntensor x : shared u8 (5000)\ntensor y : shared u8 (8)\n"
         "tensor z : shared u8 (8)\nfor i in 0..5000 { simt w writes x(i..i+1) }\n"
         "simt r reads x\nsimt a writes y\nsimt b reads y writes z\nsimt c reads z writes y\n"
         "simt d reads y writes z\n",
         SPAD_VERDICT_PROVED_SHAPE, "every event of the kernel was checked",
         "10 SPAD-DEAD-WRITE x1\n"},
        {"kernel k on trn2\nunknown b[6]\ntensor x : sbuf u8 (128, 8) input\n"
         "for i in 0..6 { if b[i] == 1 { vector r reads x } }\n",
         SPAD_VERDICT_UNKNOWN, "unknown values can be in more ways than were run, which is 10", ""},
    };
    run_corner(&corners[0], NULL, NULL);
    run_corner(&corners[1], NULL, &(spad_check_options){.event_limit = 100});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuts_of_tensors),
        cmocka_unit_test(places_of_tiles),
        cmocka_unit_test(sums_beyond_64_bits),
        cmocka_unit_test(many_at_once),
        cmocka_unit_test(scopes_and_lives),
        cmocka_unit_test(outputs_under_other_names),
        cmocka_unit_test(barriers_by_iteration),
        cmocka_unit_test(long_loops),
        cmocka_unit_test(shapes_without_a_kernel),
        cmocka_unit_test(values_nearby),
        cmocka_unit_test(banks_that_are_long),
        cmocka_unit_test(memories_that_are_too_small),
        cmocka_unit_test(depths_that_are_not_offered),
        cmocka_unit_test(names_of_waits),
        cmocka_unit_test(work_that_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
