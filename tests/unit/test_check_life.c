/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules, lifetimes, hygiene and advice of the checker: every finding with its whole message,
 * the examples of the NKI direct allocation guide, and the kernels that we ship.
 */
#include "support/kernels.h"
#include "support/places.h"
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spad/check.h"
#include "support/files.h"

/* ---- help -------------------------------------------------------------------------- */

/* Of the prelude `out` most kernels here write a tile or two. */
static bool is_left_out(const spad_finding *f) {
    return f->code == SPAD_FINDING_UNWRITTEN_OUTPUT && strcmp(f->subject, "out") == 0;
}

/* "line:column CODE xcount: message", and notes after it, one per line. */
static void describe(const spad_check *check, char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        const spad_finding *f = spad_check_get_finding(check, i);
        if (is_left_out(f)) continue;
        used +=
            (size_t)snprintf(text + used, size - used, "%d:%d %s x%lld: %s\n", f->line, f->column,
                             spad_finding_name(f->code), (long long)f->count, f->message);
        for (size_t n = 0; n < f->note_count; n++) {
            used += (size_t)snprintf(text + used, size - used, "  %d:%d %s\n", f->notes[n].line,
                                     f->notes[n].column, f->notes[n].message);
        }
    }
    assert_true(used < size);
}

static void expect_kernel(const spad_kernel *kernel, const spad_check_options *options,
                          const char *expectation) {
    char found[8192];
    spad_check *check;
    spad_error error;
    assert_ok(spad_check_create(&check, kernel, options, &error), &error);
    describe(check, found, sizeof found);
    assert_string_equal(found, expectation);
    const spad_check_counts counts = spad_check_get_counts(check);
    assert_int_equal(spad_check_get_verdict(check),
                     counts.errors > 0 ? SPAD_VERDICT_WRONG : SPAD_VERDICT_PROVED_SHAPE);
    spad_check_destroy(check);
}

static void expect_with(const char *text, const spad_check_options *options,
                        const char *expectation) {
    spad_kernel *kernel = test_parse(text);
    expect_kernel(kernel, options, expectation);
    spad_kernel_destroy(kernel);
}

static void expect(const char *text, const char *expectation) {
    expect_with(text, NULL, expectation);
}

#define IN_OUT                                     \
    "kernel k on trn2\n"                           \
    "tensor in  : hbm bf16 [8] (128, 512) input\n" \
    "tensor out : hbm bf16 [8] (128, 512) output\n"

/* ---- the guide --------------------------------------------------------------------- */

static void the_guide_overlapping_tensors(void **state) {
    (void)state;
    expect(IN_OUT "tensor t0 : sbuf bf16 [4] (128, 512) mod base 0 free 2\n"
                  "tensor t1 : sbuf bf16 [4] (128, 512) mod base 1024 free 2\n"
                  "for i in 0..2 { dma load0 reads in[i] writes t0[i] }\n"
                  "for i in 0..2 { dma load1 reads in[i] writes t1[i] }\n"
                  "for i in 0..2 { vector add reads t0[i], t1[i] writes t0[i] }\n"
                  "for i in 0..2 { dma store reads t0[i] writes out[i] }\n",
           "8:34 SPAD-LIFETIME-CONFLICT x1: add reads 't0[1]' (i = 1), but bytes [1024, 2048) of "
           "lanes [0, 128) of sbuf hold 't1[0]', written by load1 (i = 0); place them apart, or "
           "read it earlier\n"
           "  7:17 load1 writes 't1[0]' here (i = 0)\n");
    /* 1024 bytes higher they do not touch */
    expect(IN_OUT "tensor t0 : sbuf bf16 [4] (128, 512) mod base 0 free 2\n"
                  "tensor t1 : sbuf bf16 [4] (128, 512) mod base 2048 free 2\n"
                  "for i in 0..2 { dma load0 reads in[i] writes t0[i] }\n"
                  "for i in 0..2 { dma load1 reads in[i] writes t1[i] }\n"
                  "for i in 0..2 { vector add reads t0[i], t1[i] writes t0[i] }\n"
                  "for i in 0..2 { dma store reads t0[i] writes out[i] }\n",
           "");
}

static void the_guide_too_few_tiles(void **state) {
    (void)state;
    expect(
        IN_OUT "tensor t1 : sbuf bf16 [8] (128, 512) mod base 0 free 2\n"
               "tensor y  : sbuf bf16 [8] (128, 512) mod base 4096 free 2\n"
               "for i in 0..8 parallel { dma load reads in[i] writes t1[i] }\n"
               "for i in 0..8 parallel {\n"
               "    scalar exp  reads t1[i] writes y[i]\n"
               "    dma   store reads y[i] writes out[i]\n"
               "}\n",
        "8:23 SPAD-LIFETIME-CONFLICT x6: exp reads 't1[0]' (i = 0), but bytes [0, 1024) of lanes "
        "[0, 128) of sbuf hold 't1[6]', written by load (i = 6); read it earlier, or give it "
        "more slots\n"
        "  6:26 load writes 't1[6]' here (i = 6)\n"
        "  4:8 't1' has 2 slots and needs 8: so many of its tiles are alive at once\n");
    /* the correct way of the guide */
    expect(IN_OUT "tensor y  : sbuf bf16 [8] (128, 512) mod base 4096 free 2\n"
                  "for o in 0..4 parallel {\n"
                  "    tensor t1 : sbuf bf16 [2] (128, 512) mod base 0 free 2\n"
                  "    for i in 0..2 parallel {\n"
                  "        dma    load  reads in[2 * o + i] writes t1[i]\n"
                  "        scalar exp   reads t1[i] writes y[2 * o + i]\n"
                  "        dma    store reads y[2 * o + i] writes out[2 * o + i]\n"
                  "    }\n"
                  "}\n",
           "");
    /* and the number that the note gives is enough */
    expect(IN_OUT "tensor t1 : sbuf bf16 [8] (128, 512) mod base 0 free 8\n"
                  "tensor y  : sbuf bf16 [8] (128, 512) mod base 8192 free 2\n"
                  "for i in 0..8 parallel { dma load reads in[i] writes t1[i] }\n"
                  "for i in 0..8 parallel {\n"
                  "    scalar exp  reads t1[i] writes y[i]\n"
                  "    dma   store reads y[i] writes out[i]\n"
                  "}\n",
           "");
}

static void the_guide_hoisting(void **state) {
    (void)state;
    expect(IN_OUT "for i in 0..8 parallel {\n"
                  "    tensor t : sbuf bf16 (128, 512) mod base 0\n"
                  "    tensor y : sbuf bf16 [2] (128, 512) mod base 1024 free 2\n"
                  "    dma    load  reads in[i] writes t\n"
                  "    scalar exp   reads t writes y[i % 2]\n"
                  "    dma    store reads y[i % 2] writes out[i]\n"
                  "}\n",
           "5:12 SPAD-SERIAL-TENSOR x1: 't' is declared in loop 'i' and has one place, so an "
           "iteration waits for the one before; declare it outside with a block dimension and two "
           "or more slots\n");
    expect(IN_OUT "tensor t : sbuf bf16 [8] (128, 512) mod base 0 free 8\n"
                  "tensor y : sbuf bf16 [8] (128, 512) mod base 8192 free 2\n"
                  "for i in 0..8 parallel {\n"
                  "    dma    load  reads in[i] writes t[i]\n"
                  "    scalar exp   reads t[i] writes y[i]\n"
                  "    dma    store reads y[i] writes out[i]\n"
                  "}\n",
           "");
}

static void the_guide_common_errors(void **state) {
    (void)state;
    expect(IN_OUT "tensor x : sbuf bf16 (128, 512)\n"
                  "tensor y : sbuf bf16 (128, 512) at 0\n"
                  "tensor s : hbm bf16 (128, 512)\n"
                  "dma load  reads in[0] writes x\n"
                  "dma spill reads x writes s\n"
                  "dma fetch reads s writes y\n"
                  "dma store reads y writes out[0]\n",
           "4:8 SPAD-MIXED-PLACEMENT x1: 'x' in sbuf is placed automatically, while 'y' is placed "
           "directly: rejected before NKI 0.2; place all tensors or none\n"
           "6:8 SPAD-OFF-CHIP-NOT-OUTPUT x1: 's' in hbm is neither input nor output, while 'y' is "
           "placed directly: rejected before NKI 0.2; make it an output, or keep it on chip\n");
}

/* ---- lifetimes --------------------------------------------------------------------- */

static void stale_reads(void **state) {
    (void)state;
    expect(IN_OUT "tensor x : sbuf bf16 [8] (128, 512) ring 2\n"
                  "dma load reads in[0] writes x[0]\n"
                  "dma store reads x[2] writes out[2]\n"
                  "dma store reads x[0] writes out[0]\n",
           "6:17 SPAD-STALE-READ x1: store reads 'x[2]', but bytes [0, 1024) of lanes [0, 128) of "
           "its slot still hold 'x[0]', written by load; write it before it is read\n"
           "  5:1 load writes 'x[0]' here\n");
    expect(
        IN_OUT "for i in 0..3 {\n"
               "    tensor x : sbuf bf16 (128, 512)\n"
               "    if i == 0 { dma load reads in[0] writes x }\n"
               "    dma store reads x writes out[i]\n"
               "}\n",
        "7:21 SPAD-STALE-READ x2: store reads 'x' (i = 1), but bytes [0, 1024) of lanes [0, 128) "
        "of its slot still hold an earlier life of it, written by load (i = 0); a declaration "
        "in a loop makes a new tensor each time: write it first, or declare it outside\n"
        "  6:17 load writes 'x' here (i = 0)\n");
}

static void reads_of_nothing(void **state) {
    (void)state;
    /* only the part that is missing */
    expect(IN_OUT "tensor x : sbuf bf16 (128, 512)\n"
                  "dma load reads in[0](0..64, ..) writes x(0..64, ..)\n"
                  "dma load reads in[0](64..128, 0..256) writes x(64..128, 0..256)\n"
                  "dma store reads x writes out[0]\n",
           "7:17 SPAD-UNINITIALISED-READ x1: store reads 'x', but nothing has written bytes [512, "
           "1024) of lanes [64, 128) of its slot; write it first, or declare it as input\n"
           "  4:8 declared here\n");
    expect(
        "kernel k on sm_80\n"
        "tensor g : global f32 (4) output\n"
        "tensor s : shared f32 (16) at 64\n"
        "simt a updates s(4..8)\n"
        "simt b reads s(4..8) writes g\n",
        "4:16 SPAD-UNINITIALISED-READ x1: a reads 's', but nothing has written bytes [80, 96) of "
        "shared; write it first, or declare it as input\n"
        "  3:8 declared here\n");
}

static void strided_parts(void **state) {
    (void)state;
    /* columns of rows: what is between them is not touched */
    expect("kernel k on sm_80\n"
           "tensor g : global f32 (4, 8) output\n"
           "tensor s : shared f32 (4, 8) at 0\n"
           "simt a writes s(.., 0..4)\n"
           "simt b writes s(.., 4..8)\n"
           "simt c reads s writes g\n",
           "");
    expect(
        "kernel k on sm_80\n"
        "tensor g : global f32 (4, 8) output\n"
        "tensor s : shared f32 (4, 8) at 0\n"
        "simt a writes s(.., 0..4)\n"
        "simt b writes s(.., 5..8)\n"
        "simt c reads s writes g\n",
        "6:14 SPAD-UNINITIALISED-READ x4: c reads 's', but nothing has written bytes [16, 20) of "
        "shared; write it first, or declare it as input\n"
        "  3:8 declared here\n");
}

static void lanes_are_a_dimension(void **state) {
    (void)state;
    /* the same bytes of other lanes are something else */
    expect(IN_OUT "tensor a : sbuf bf16 (32, 512) at 0\n"
                  "tensor b : sbuf bf16 (32, 512) at 0 lane 32\n"
                  "dma load reads in[0](0..32, ..) writes a\n"
                  "dma load reads in[0](32..64, ..) writes b\n"
                  "dma store reads a writes out[0](0..32, ..)\n"
                  "dma store reads b writes out[0](32..64, ..)\n",
           "");
    expect(IN_OUT "tensor a : sbuf bf16 (64, 512) at 0\n"
                  "tensor b : sbuf bf16 (32, 512) at 512 lane 32\n"
                  "dma load reads in[0](0..64, ..) writes a\n"
                  "dma load reads in[0](32..64, ..) writes b\n"
                  "dma store reads a writes out[0](0..64, ..)\n"
                  "dma store reads b writes out[0](32..64, ..)\n",
           "8:17 SPAD-LIFETIME-CONFLICT x1: store reads 'a', but bytes [512, 1024) of lanes [32, "
           "64) of sbuf hold 'b', written by load; place them apart, or read it earlier\n"
           "  7:1 load writes 'b' here\n");
}

static void aliases(void **state) {
    (void)state;
    /* two names that are both written: each sees its own */
    expect(
        "kernel k on sm_80\n"
        "tensor g : global f32 (64) output\n"
        "tensor q : shared f32 (64)\n"
        "tensor o : shared f32 (64) alias of q\n"
        "simt a writes q\n"
        "simt b reads q writes o\n"
        "simt c reads q writes g\n"
        "simt d reads o writes g\n",
        "7:14 SPAD-ALIAS-CLASH x1: c reads 'q', but bytes [0, 256) of its slot hold 'o', written "
        "by b; read it before the other name is written, or give it bytes of its own\n"
        "  6:1 b writes 'o' here\n");
    /* a name that is never written is a view: in pieces, or as a whole */
    expect("kernel k on sm_80\n"
           "tensor g : global f32 (64) output\n"
           "tensor q : shared f32 (64)\n"
           "tensor h : shared f32 [2] (32) alias of q\n"
           "simt a writes q\n"
           "simt b reads h[0], h[1] writes g\n",
           "");
    expect("kernel k on sm_80\n"
           "tensor g : global f32 (64) output\n"
           "tensor q : shared f32 (64)\n"
           "tensor h : shared f32 [2] (32) alias of q\n"
           "simt a writes h[0]\n"
           "simt b writes h[1]\n"
           "simt c reads q writes g\n",
           "");
    /* but not a window through which another tile can be seen */
    expect("kernel k on sm_80\n"
           "tensor g : global f32 (64) output\n"
           "tensor q : shared f32 [4] (64) ring 2\n"
           "tensor v : shared u32 [4] (64) alias of q\n"
           "for i in 0..4 { simt a writes q[i] }\n"
           "simt b reads v[1], v[3] writes g\n",
           "6:14 SPAD-ALIAS-CLASH x1: b reads 'v[1]', but bytes [0, 256) of its slot hold 'q[3]', "
           "written by a (i = 3); read it before the other name is written, or give it bytes of "
           "its own\n"
           "  5:17 a writes 'q[3]' here (i = 3)\n");
    /* a view of what was there before the kernel */
    expect("kernel k on sm_80\n"
           "tensor g : global f32 (64) output\n"
           "tensor q : shared f32 (64) input\n"
           "tensor v : shared u32 (64) alias of q\n"
           "simt b reads v writes g\n",
           "");
}

/* An output that is only written under other names has what they write, and is read, too. */
static void outputs_under_other_names(void **state) {
    (void)state;
    expect(
        "kernel k on sm_80\n"
        "tensor g : global f32 (64) input\n"
        "tensor q : shared f32 (64) at 0 output\n"
        "tensor f : shared f32 (64) alias of q\n"
        "tensor s : shared f32 (64) at 128\n"
        "simt a reads g writes f\n"
        "simt b reads g writes s\n"
        "simt c reads s\n",
        "3:8 SPAD-LIFETIME-CONFLICT x1: the caller of the kernel reads 'q', but bytes [128, 256) "
        "of shared hold 's', written by b; place them apart, or read it earlier\n"
        "  7:1 b writes 's' here\n");
    expect("kernel k on sm_80\n"
           "tensor g : global f32 [3] (64) input\n"
           "tensor q : shared f32 [3] (64) ring 2\n"
           "tensor f : shared f32 [3] (64) alias of q output\n"
           "for i in 0..3 { simt a reads g[i] writes q[i] }\n"
           "simt b reads f[1]\n",
           "4:8 SPAD-ALIAS-CLASH x1: the caller of the kernel reads 'f[0]', but bytes [0, 256) of "
           "its slot hold 'q[2]', written by a (i = 2); read it before the other name is written, "
           "or give it bytes of its own\n"
           "  5:17 a writes 'q[2]' here (i = 2)\n");
    /* one byte after the output is none of its own */
    expect("kernel k on sm_80\n"
           "tensor g : global u8 (8) input\n"
           "tensor h : shared u8 (8) at 0\n"
           "tensor q : shared u8 (4) alias of h output\n"
           "tensor s : shared u8 (4) at 0\n"
           "simt a reads g writes s\n"
           "simt b reads s\n"
           "simt c writes h(4..8)\n",
           "4:8 SPAD-UNWRITTEN-OUTPUT x1: 'q' is an output, and nothing writes 'q'; write all of "
           "it, or declare less\n");
    expect(
        "kernel k on sm_80\n" /* never touched at all */
        "tensor g : global u8 (8) input\n"
        "tensor q : global u8 [4] (8) output\n"
        "tensor s : shared u8 (8) output\n"
        "tensor t : shared u8 (8)\n"
        "simt a reads g writes s\n",
        "3:8 SPAD-UNWRITTEN-OUTPUT x1: 'q' is an output, and nothing writes any of it; write it, "
        "or leave it out\n"
        "5:8 SPAD-NEVER-USED x1: 't' is never used; leave it out\n");
}

static void outputs_are_read_at_the_end(void **state) {
    (void)state;
    expect(
        "kernel k on sm_80\n"
        "tensor g : global f32 (64) input\n"
        "tensor q : shared f32 (64) at 0 output\n"
        "tensor s : shared f32 (64) at 128\n"
        "simt a reads g writes q\n"
        "simt b reads g writes s\n"
        "simt c reads s\n",
        "3:8 SPAD-LIFETIME-CONFLICT x1: the caller of the kernel reads 'q', but bytes [128, 256) "
        "of shared hold 's', written by b; place them apart, or read it earlier\n"
        "  6:1 b writes 's' here\n");
    /* a part that was never written is not an uninitialised read */
    expect("kernel k on sm_80\n"
           "tensor g : global f32 (64) input\n"
           "tensor q : shared f32 (64) at 0 output\n"
           "simt a reads g writes q(0..8)\n",
           "3:8 SPAD-UNWRITTEN-OUTPUT x1: 'q' is an output, and nothing writes bytes [32, 256) of "
           "'q'; write all of it, or declare less\n");
}

static void outputs_that_nobody_writes(void **state) {
    (void)state;
    expect(
        "kernel k on trn2\n" /* whole tiles */
        "tensor in : hbm u8 [8] (128, 8) input\n"
        "tensor o  : hbm u8 [8] (128, 8) output\n"
        "for i in 0..8 { if i != 2 and i < 7 { dma copy reads in[i] writes o[i] } }\n",
        "3:8 SPAD-UNWRITTEN-OUTPUT x1: 'o' is an output, and nothing writes 'o[2]', and 1 more of "
        "its 8 tiles are incomplete; write all of it, or declare less\n");
    expect(
        "kernel k on trn2\n" /* a part, in a space with lanes */
        "tensor o : sbuf u8 [2] (128, 8) at 64 output\n"
        "vector a writes o[0](.., 0..4)\n"
        "vector b writes o[0](.., 4..8)\n"
        "vector c writes o[1](64..128, ..)\n"
        "vector d writes o[1](0..32, 2..8)\n",
        "2:8 SPAD-UNWRITTEN-OUTPUT x1: 'o' is an output, and nothing writes bytes [0, 2) of lanes "
        "[0, 32) of 'o[1]'; write all of it, or declare less\n");
    expect(
        "kernel k on sm_80\n" /* other names of a storage that is never written as itself */
        "tensor o : shared u8 (2, 4) output\n"
        "tensor l : shared u8 (4) alias of o\n"
        "tensor h : shared u8 (4) alias of o + 4\n"
        "simt a writes l\n"
        "simt b writes h(0..3)\n",
        "2:8 SPAD-UNWRITTEN-OUTPUT x1: 'o' is an output, and nothing writes bytes [7, 8) of 'o'; "
        "write all of it, or declare less\n");
    expect(
        "kernel k on sm_80\n" /* filled before the start; in a ring every tile counts */
        "tensor a : shared u8 [2] (8) persistent\n"
        "tensor b : shared u8 [2] (8) ring 1 output\n"
        "simt step writes a[0], b[0]\n",
        "3:8 SPAD-UNWRITTEN-OUTPUT x1: 'b' is an output, and nothing writes 'b[1]'; write all of "
        "it, or declare less\n");
}

static void inputs_can_be_written_over(void **state) {
    (void)state;
    expect("kernel k on sm_80\n"
           "tensor g : global f32 (64) output\n"
           "tensor q : shared f32 (64) at 0 input\n"
           "tensor s : shared f32 (64) at 0\n"
           "simt a reads q writes s\n"
           "simt b reads q, s writes g\n",
           "6:14 SPAD-LIFETIME-CONFLICT x1: b reads 'q', but bytes [0, 256) of shared hold 's', "
           "written by a; place them apart, or read it earlier\n"
           "  5:1 a writes 's' here\n");
}

/* ---- what is not alive ------------------------------------------------------------- */

static void inputs_that_share_bytes(void **state) {
    (void)state;
    expect("kernel k on sm_80\n" /* a ring: the last tiles are there; tile 1 is not read */
           "tensor a : shared u8 [4] (8) ring 2 input\n"
           "simt x reads a[0]\n"
           "simt y reads a[2], a[3]\n",
           "3:14 SPAD-LIFETIME-CONFLICT x1: x reads 'a[0]', but bytes [0, 8) of its slot hold "
           "'a[2]', an input that was put there before the start, over this one; give inputs bytes "
           "of their own\n"
           "  2:8 'a[2]' is declared here\n");
    expect("kernel k on sm_80\n" /* places that overlap */
           "tensor a : shared u8 (8) at 0 input\n"
           "tensor b : shared u8 (8) at 4 input\n"
           "simt x reads b, a(0..4)\n"
           "simt y reads a\n",
           "5:14 SPAD-LIFETIME-CONFLICT x1: y reads 'a', but bytes [4, 8) of shared hold 'b', an "
           "input that was put there before the start, over this one; give inputs bytes of their "
           "own\n"
           "  3:8 'b' is declared here\n");
    expect("kernel k on sm_80\n" /* two names of one storage */
           "tensor a : shared u8 (8) input\n"
           "tensor b : shared u8 (4) alias of a + 4 input\n"
           "simt x reads b\n"
           "simt y reads a\n",
           "5:14 SPAD-ALIAS-CLASH x1: y reads 'a', but bytes [4, 8) of its slot hold 'b', an input "
           "that was put there before the start, over this one; give inputs bytes of their own\n"
           "  3:8 'b' is declared here\n");
    expect("kernel k on sm_80\n" /* no input, and not written */
           "tensor a : shared u8 (8) at 0 input\n"
           "tensor b : shared u8 (8) at 0\n"
           "simt x reads a\n"
           "simt y reads b\n",
           "5:14 SPAD-LIFETIME-CONFLICT x1: y reads 'b', but bytes [0, 8) of shared hold 'a', an "
           "input that was put there before the start; write it before it is read\n"
           "  2:8 'a' is declared here\n");
    expect("kernel k on sm_80\n" /* what is kept must be there at the end */
           "tensor a : shared u8 (8) at 0 persistent\n"
           "tensor b : shared u8 (8) at 4\n"
           "simt x reads a writes b\n"
           "simt y reads b\n",
           "2:8 SPAD-LIFETIME-CONFLICT x1: the caller of the kernel reads 'a', but bytes [4, 8) of "
           "shared hold 'b', written by x; place them apart, or read it earlier\n"
           "  4:1 x writes 'b' here\n");
}

static void scopes_and_sections(void **state) {
    (void)state;
    expect(IN_OUT "scope s {\n"
                  "    tensor x : sbuf bf16 (128, 512) stack\n"
                  "    dma load reads in[0] writes x\n"
                  "}\n"
                  "dma store reads x writes out[0]\n",
           "8:17 SPAD-USE-AFTER-SCOPE x1: store reads 'x', but scope 's' has closed; move it into "
           "the scope, or declare the tensor outside\n"
           "  5:12 'x' is declared here\n");
    expect(IN_OUT "scope s sections 2 {\n"
                  "    tensor x : sbuf bf16 (128, 512) stack\n"
                  "    dma load reads in[0] writes x\n"
                  "    next section\n"
                  "    dma store reads x writes out[0]\n"
                  "    next section\n"
                  "    dma store reads x writes out[0]\n"
                  "}\n",
           "10:21 SPAD-SECTION-OVER x1: store reads 'x', but scope 's' has returned to its "
           "section; give the scope more sections, or use it earlier\n"
           "  5:12 'x' is declared here\n");
}

static void alloc_and_free(void **state) {
    (void)state;
    expect(
        "kernel k on sm_100\n" /* what was there before the second alloc is gone */
        "tensor o : global f32 [2] (128, 128) output\n"
        "tensor t : tmem f32 [2] (128, 128)\n"
        "alloc t\n"
        "simt a writes t[0], t[1]\n"
        "free t[0]\n"
        "alloc t[0]\n"
        "simt b reads t[0] writes o[0]\n"
        "simt c reads t[1] writes o[1]\n"
        "free t\n",
        "8:14 SPAD-STALE-READ x1: b reads 't[0]', but bytes [0, 512) of lanes [0, 128) of its "
        "slot still hold an earlier life of it, written by a; `alloc` makes a new tile: write it "
        "first\n"
        "  5:1 a writes 't[0]' here\n");
    expect(
        "kernel k on sm_100\n"
        "tensor g : global f32 (128, 64) output\n"
        "tensor a : tmem f32 [2] (128, 64) at 0\n"
        "simt first writes a[0]\n"
        "alloc a\n"
        "alloc a[1]\n"
        "simt second writes a[0]\n"
        "simt store reads a[0] writes g\n"
        "free a[0]\n"
        "free a[0]\n"
        "simt third reads a[0] writes g\n",
        "4:19 SPAD-USE-AFTER-FREE x1: first writes 'a[0]', which is not allocated now; free it "
        "later, or allocate it first\n"
        "  3:8 'a' is declared here\n"
        "6:1 SPAD-ALLOCATION-ORDER x1: 'a[1]' is allocated, but is allocated already; free it in "
        "between\n"
        "10:1 SPAD-DOUBLE-FREE x1: 'a[0]' is freed, but is not allocated; free it once\n"
        "11:18 SPAD-USE-AFTER-FREE x1: third reads 'a[0]', which is not allocated now; free it "
        "later, or allocate it first\n"
        "  3:8 'a' is declared here\n"
        "3:8 SPAD-LEAK x1: 'a' is still allocated when the kernel ends; free it before\n");
    expect(IN_OUT "for i in 0..2 {\n"
                  "    tensor x : sbuf bf16 (128, 512) heap\n"
                  "    dma load reads in[i] writes x\n"
                  "    dma store reads x writes out[i]\n"
                  "}\n",
           "5:12 SPAD-LEAK x2: 'x' is still allocated when it is declared again; free it before\n");
    expect(IN_OUT "tensor x : sbuf bf16 (128, 512) heap\n"
                  "tensor y : sbuf bf16 (128, 512) heap\n"
                  "dma load reads in[0] writes x, y\n"
                  "dma store reads x, y writes out[0]\n"
                  "free x\n",
           "8:1 SPAD-ALLOCATION-ORDER x1: 'x' is not the newest heap tensor; 'y' is, and the heap "
           "is freed newest first\n");
    expect(IN_OUT "tensor x : sbuf bf16 (128, 512) heap\n"
                  "dma load reads in[0] writes x\n"
                  "dma store reads x writes out[0]\n"
                  "free x\n"
                  "free x\n",
           "8:1 SPAD-DOUBLE-FREE x1: 'x' is freed, but is not allocated; free it once\n");
}

/* ---- hygiene ----------------------------------------------------------------------- */

static void dead_writes(void **state) {
    (void)state;
    expect(
        IN_OUT "tensor x : sbuf bf16 [8] (128, 512) ring 2\n"
               "for i in 0..8 {\n"
               "    gpsimd clear writes x[i]\n"
               "    dma load reads in[i] writes x[i]\n"
               "    dma store reads x[i] writes out[i]\n"
               "}\n"
               "gpsimd clear writes x[7]\n",
        "6:5 SPAD-DEAD-WRITE x8: clear writes 'x[0]' (i = 0), and nothing reads it; leave the "
        "write out, or declare the tensor as output\n"
        "10:1 SPAD-DEAD-WRITE x1: clear writes 'x[7]', and nothing reads it; leave the write out, "
        "or declare the tensor as output\n");
    /* the last value of what a loop carries on, also in a loop around it */
    expect(IN_OUT "tensor m : sbuf bf16 (128, 512)\n"
                  "for t in 0..2 {\n"
                  "    gpsimd clear writes m\n"
                  "    for i in 0..4 {\n"
                  "        dma store reads m writes out[t * 4 + i]\n"
                  "        dma next reads in[i] writes m\n"
                  "    }\n"
                  "}\n",
           "");
    /* but not a tile of its own that is one too many, or a value that is never carried on */
    expect(IN_OUT "tensor x : sbuf bf16 [9] (128, 512) ring 2\n"
                  "gpsimd clear writes x[0]\n"
                  "for i in 0..8 {\n"
                  "    dma next reads in[i] writes x[i + 1]\n"
                  "    dma store reads x[i] writes out[i]\n"
                  "}\n",
           "7:5 SPAD-DEAD-WRITE x1: next writes 'x[8]' (i = 7), and nothing reads it; leave the "
           "write out, or declare the tensor as output\n");
    /* a byte that is read is enough */
    expect(IN_OUT "tensor x : sbuf bf16 (128, 512)\n"
                  "gpsimd clear writes x\n"
                  "dma load reads in[0](.., 0..511) writes x(.., 0..511)\n"
                  "dma store reads x writes out[0]\n",
           "");
}

static void parallel_loops(void **state) {
    (void)state;
    expect(
        "kernel k on sm_80\n" /* sums in any order, reads, slots of a ring, lives */
        "tensor a : shared u8 [4] (8) ring 2 output\n"
        "tensor s : shared u8 (8) output\n"
        "tensor c : shared u8 (8) input\n"
        "simt clear writes s\n"
        "for i in 0..4 parallel {\n"
        "    tensor t : shared u8 (8)\n"
        "    simt x reads c writes a[i], t\n"
        "    simt y reads c, t updates s\n"
        "}\n",
        "2:8 SPAD-LIFETIME-CONFLICT x2: the caller of the kernel reads 'a[0]', but bytes [0, 8) of "
        "its slot hold 'a[2]', written by x (i = 2); read it earlier, or give it more slots\n"
        "  8:5 x writes 'a[2]' here (i = 2)\n"
        "  2:8 'a' has 2 slots and needs 4: so many of its tiles are alive at once\n");
    expect(
        "kernel k on sm_80\n" /* all of them write it; parts of it are their own */
        "tensor t : shared u8 (8) output\n"
        "tensor p : shared u8 (8) output\n"
        "for i in 0..4 parallel { simt x writes t, p(2 * i..2 * i + 2) }\n",
        "4:26 SPAD-PARALLEL-DEPENDENCE x3: x writes 't' (i = 1), and x writes it in another "
        "iteration (i = 0) of the parallel loop, which may run before or after; leave `parallel` "
        "out, or give each iteration a tile of its own\n"
        "  4:26 x writes it here\n");
    expect(
        "kernel k on sm_80\n" /* two have read it, one of them writes it; each run is its own */
        "tensor t : shared u8 [2] (8) persistent\n"
        "for o in 0..2 { for i in 0..2 parallel {\n"
        "simt x reads t[o]\n"
        "if i == 1 { simt y writes t[o] }\n"
        "} }\n",
        "5:13 SPAD-PARALLEL-DEPENDENCE x2: y writes 't[0]' (i = 1), and x reads it in another "
        "iteration (i = 0) of the parallel loop, which may run before or after; leave `parallel` "
        "out, or give each iteration a tile of its own\n"
        "  4:1 x reads it here\n");
    expect(
        "kernel k on sm_80\n" /* what is added to is not read yet */
        "tensor s : shared u8 (8) persistent\n"
        "for i in 0..2 parallel {\n"
        "simt x updates s\n"
        "simt y reads s\n"
        "}\n",
        "4:1 SPAD-PARALLEL-DEPENDENCE x1: x updates 's' (i = 1), and y reads it in another "
        "iteration (i = 0) of the parallel loop, which may run before or after; leave `parallel` "
        "out, or give each iteration a tile of its own\n"
        "  5:1 y reads it here\n");
}

static void unused_tensors(void **state) {
    (void)state;
    expect(IN_OUT "tensor x : sbuf bf16 (128, 512)\n"
                  "tensor y : sbuf bf16 (128, 512)\n"
                  "dma load reads in[0] writes x\n"
                  "dma copy reads in[0] writes out[0]\n",
           "4:8 SPAD-NEVER-READ x1: 'x' is written and never read; leave it out, or declare it as "
           "output\n"
           "5:8 SPAD-NEVER-USED x1: 'y' is never used; leave it out\n");
}

/* ---- rules ------------------------------------------------------------------------- */

static void places_of_tiles(void **state) {
    (void)state;
    expect(
        IN_OUT "tensor x : sbuf bf16 [2] (128, 512) at 212000\n"
               "dma load reads in[0] writes x[0]\n"
               "dma store reads x[0] writes out[0]\n",
        "4:8 SPAD-OUT-OF-SPACE x2: 'x[0]' takes bytes [212000, 213024) of sbuf, which has 212984 "
        "for tensors and reserves 16392 after them; move it, make it smaller, or use fewer "
        "slots\n");
    /* 10^9 tiles with the step of a slot: the last one */
    expect("kernel k on sm_80\n"
           "tensor g : global f32 (1) output\n"
           "tensor s : shared f32 [1000000000] (1) at 0\n"
           "simt a writes s[0]\n"
           "simt b reads s[0] writes g\n",
           "3:8 SPAD-OUT-OF-SPACE x1: 's[999999999]' takes bytes [3999999996, 4000000000) of "
           "shared, which has 166912 for tensors and reserves 1024 after them; move it, make it "
           "smaller, or use fewer slots\n");
    expect(
        "kernel k on sm_80\n"
        "tensor g : global f32 (4) output\n"
        "tensor s : shared f32 [4] (4) at 0 step 18\n"
        "simt a writes s[0]\n"
        "simt b reads s[0] writes g\n",
        "3:8 SPAD-MISALIGNED x2: 's[1]' starts at byte 18 of shared, which is not a multiple of 4; "
        "try 20\n");
    /* the third tile of 1536 bytes in banks of 2048 is the first that crosses */
    expect("kernel k on trn2\n"
           "tensor o : sbuf f32 (128, 192) at 0 output\n"
           "tensor p : psum f32 [3] (128, 192) at 0\n"
           "vector a writes p[0]\n"
           "vector b reads p[0] writes o\n",
           "3:8 SPAD-BANK-CROSSED x1: 'p[2]' takes bytes [1536, 2304) of psum and crosses the "
           "boundary of a bank "
           "of 2048; start it at a bank, or cut it in pieces of at most 2048 "
           "bytes\n");
    expect("kernel k on trn2\n"
           "tensor o : sbuf f32 (128, 600) output\n"
           "tensor p : psum f32 (128, 600)\n"
           "vector a writes p\n"
           "vector b reads p writes o\n",
           "3:8 SPAD-BANK-CROSSED x1: 'p' takes bytes [0, 2400) of psum and crosses the boundary "
           "of a bank "
           "of 2048; start it at a bank, or cut it in pieces of at most 2048 bytes\n");
}

/* A planner that puts everything at one place. */
static bool place_there(void *context, int64_t tensor, int64_t slot, spad_rect *rect) {
    const spad_rect *there = context;
    (void)tensor;
    rect->lane = there->lane;
    rect->byte = there->byte + slot * 1024;
    return true;
}

static void expect_there(const char *text, spad_rect there, const char *expectation) {
    spad_kernel *kernel = test_parse(text);
    spad_layout *layout = test_layout_with(kernel, place_there, &there);
    expect_kernel(kernel, &(spad_check_options){.layout = layout}, expectation);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
}

/* What a planner has put into the bytes of a tensor that is never written does not matter. */
static void reads_of_what_nobody_writes(void **state) {
    (void)state;
    spad_rect there = {0};
    expect_there(
        "kernel k on sm_80\n"
        "tensor g : global f32 (64) output\n"
        "tensor x : shared f32 (64)\n"
        "tensor u : shared f32 (64)\n"
        "simt a writes x\n"
        "simt b reads x writes g\n"
        "simt c reads u\n",
        there,
        "7:14 SPAD-UNINITIALISED-READ x1: c reads 'u', but nothing writes it anywhere; write it "
        "first, or declare it as input\n"
        "  4:8 declared here\n");
}

static void places_of_the_planner(void **state) {
    (void)state;
    static const char text[] = IN_OUT "tensor x : sbuf bf16 [8] (64, 512) ring 2\n"
                                      "for i in 0..8 {\n"
                                      "    dma load reads in[i](0..64, ..) writes x[i]\n"
                                      "    dma store reads x[i] writes out[i](0..64, ..)\n"
                                      "}\n";
    spad_rect there = {.lane = 64, .byte = 0};
    expect_there(text, there, "");
    there.lane = 32;
    expect_there(text, there,
                 "4:8 SPAD-START-LANE x2: 'x[0]': a tile of 64 lanes cannot start at lane 32 of "
                 "'sbuf'; 33 to 64 lanes start at 0 or 64\n");
    there = (spad_rect){.lane = 64, .byte = -1024};
    expect_there(
        text, there,
        "4:8 SPAD-OUT-OF-SPACE x1: 'x[0]' takes bytes [-1024, 0) of sbuf, which has 212984 "
        "for tensors and reserves 16392 after them; move it, make it smaller, or use "
        "fewer slots\n");
}

static void planned_tensors_can_clash(void **state) {
    (void)state;
    static const char text[] = IN_OUT "tensor x : sbuf bf16 (128, 512)\n"
                                      "tensor y : sbuf bf16 (128, 512)\n"
                                      "dma load reads in[0] writes x\n"
                                      "dma load reads in[1] writes y\n"
                                      "vector add reads x updates y\n"
                                      "dma store reads y writes out[0]\n";
    spad_rect there = {0};
    expect(text, "");
    expect_there(text, there,
                 "8:18 SPAD-LIFETIME-CONFLICT x1: add reads 'x', but bytes [0, 1024) of lanes [0, "
                 "128) of sbuf hold 'y', written by load; place them apart, or read it earlier\n"
                 "  7:1 load writes 'y' here\n");
}

static void walks_that_fail(void **state) {
    (void)state;
    expect(IN_OUT "tensor x : sbuf bf16 [8] (128, 512) ring 2\n"
                  "for i in 0..8 {\n"
                  "    if i < 8 { dma load reads in[i] writes x[i + 1] }\n"
                  "    if i > 0 { dma store reads x[i] writes out[i] }\n"
                  "}\n",
           "6:44 SPAD-INDEX-OUTSIDE x1: index 8 is outside 'x', which has 8; iteration i = 7\n");
    expect(
        IN_OUT "region sbuf 0..4096 as exact\n"
               "scope s {\n"
               "    for i in 0..8 {\n"
               "        tensor x : sbuf bf16 (128, 512) stack\n"
               "        dma load reads in[i] writes x\n"
               "        dma store reads x writes out[i]\n"
               "    }\n"
               "}\n",
        "7:16 SPAD-DOES-NOT-FIT x1: stack: x.4.0 needs 1024 B per lane at alignment 2, 0 of 4096 "
        "B are free; largest live: x 1024 B, (unnamed) 1024 B, (unnamed) 1024 B; close a scope, "
        "pop the heap or use smaller tiles\n");
}

/* ---- advice ------------------------------------------------------------------------ */

static void advice_can_be_left_out(void **state) {
    (void)state;
    static const char text[] = IN_OUT "tensor x : sbuf bf16 [2] (128, 32) ring 4\n"
                                      "dma load reads in[0](.., 0..32) writes x[0]\n"
                                      "dma store reads x[0] writes out[0](.., 0..32)\n";
    expect(text,
           "4:8 SPAD-DEEP-RING x1: 'x' has 4 slots for 2 tiles; the others are never used\n"
           "5:1 SPAD-SHORT-ROW x1: load moves 64 bytes per lane of 'x' at a time; transfers are "
           "slow below 512: move several tiles at once\n"
           "6:1 SPAD-SHORT-ROW x1: store moves 64 bytes per lane of 'x' at a time; transfers are "
           "slow below 512: move several tiles at once\n");
    const spad_check_options options = {.no_advice = true};
    expect_with(text, &options, "");
}

static void groups_in_one_bank(void **state) {
    (void)state;
    static const char text[] = "kernel k on trn2\n"
                               "tensor a : sbuf bf16 (128, 128) at 0 input\n"
                               "tensor o : sbuf f32 [2] (128, 256) at 4096 output\n"
                               "tensor p : psum f32 (128, 256) at 0\n"
                               "tensor q : psum f32 (128, 256) at %s\n"
                               "tensor m reads a writes p\n"
                               "tensor m reads a writes q\n"
                               "tensor m reads a updates p\n"
                               "vector e reads p writes o[0]\n"
                               "vector e reads q writes o[1]\n";
    char kernel[1024];
    snprintf(kernel, sizeof kernel, text, "1024");
    expect(kernel,
           "8:1 SPAD-SHARED-BANK x1: m adds to 'p' in bank 0 of psum, where 'q' was written "
           "in between; give the two groups banks of their own\n"
           "  7:1 'q' is written here\n");
    snprintf(kernel, sizeof kernel, text, "2048");
    expect(kernel, "");
}

/* ---- limits ------------------------------------------------------------------------ */

static void limits_leave_the_verdict_open(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(IN_OUT "tensor x : sbuf bf16 [8] (128, 512) ring 2\n"
                                            "for i in 0..8 {\n"
                                            "    dma load reads in[i] writes x[i]\n"
                                            "    dma store reads x[i] writes out[i]\n"
                                            "}\n");
    const spad_check_options few = {.event_limit = 10};
    spad_check *check;
    spad_error error;
    assert_ok(spad_check_create(&check, kernel, &few, &error), &error);
    assert_int_equal(spad_check_get_verdict(check), SPAD_VERDICT_UNKNOWN);
    assert_string_equal(spad_check_get_reason(check), "the kernel has more events than the limit");
    assert_int_equal(spad_check_get_counts(check).events, 10);
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
}

static void findings_can_be_limited(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(IN_OUT "tensor x : sbuf bf16 [3] (128, 512)\n"
                                            "dma a reads x[0] writes out[0]\n"
                                            "dma b reads x[1] writes out[1]\n"
                                            "dma c reads x[2] writes out[2]\n");
    const spad_check_options few = {.finding_limit = 2};
    spad_check *check;
    spad_error error;
    assert_ok(spad_check_create(&check, kernel, &few, &error), &error);
    assert_int_equal(spad_check_finding_count(check), 2);
    assert_int_equal(spad_check_get_verdict(check), SPAD_VERDICT_WRONG);
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
    /* warnings that come first do not hide an error: nothing is proved then */
    kernel = test_parse("kernel k on trn2\ntensor w : sbuf bf16 (128, 4) at 0\n"
                        "tensor a : sbuf bf16 (128, 4)\ntensor b : sbuf bf16 (128, 4)\n"
                        "tensor c : sbuf bf16 (128, 4)\nvector set writes w, a, b\n"
                        "vector use reads w, a, b, c\n");
    assert_ok(spad_check_create(&check, kernel, &few, &error), &error);
    assert_int_equal(spad_check_finding_count(check), 2);
    assert_int_equal(spad_check_get_counts(check).errors, 1);
    assert_int_equal(spad_check_get_counts(check).warnings, 1);
    assert_int_equal(spad_check_get_finding(check, 0)->code, SPAD_FINDING_UNINITIALISED_READ);
    assert_int_equal(spad_check_get_verdict(check), SPAD_VERDICT_WRONG);
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
}

/* ---- what we ship ------------------------------------------------------------------ */

static void check_shipped(const char *name) {
    char path[512];
    snprintf(path, sizeof path, TEST_KERNELS "/%s", name);
    char *text = test_read_file(path);
    spad_kernel *kernel = test_parse(text);
    spad_check *check;
    spad_error error;
    char found[8192];
    assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
    describe(check, found, sizeof found);
    if (spad_check_get_counts(check).errors > 0) print_error("%s: %s\n", name, found);
    assert_int_equal(spad_check_get_counts(check).errors, 0);
    if (spad_kernel_is_implicit(kernel)) {
        assert_true(spad_check_get_verdict(check) == SPAD_VERDICT_PROVED_SHAPE ||
                    spad_check_get_verdict(check) == SPAD_VERDICT_PROVED_ALL);
    }
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
    free(text);
}

static void shipped_kernels_have_no_errors(void **state) {
    (void)state;
    test_files files;
    test_list_kernels(&files, TEST_KERNELS);
    assert_true(files.count >= 24);
    for (size_t i = 0; i < files.count; i++) check_shipped(files.names[i]);
}

/* ---- memory ------------------------------------------------------------------------ */

static spad_status check_with(const spad_host *host, void *context) {
    const spad_check_options options = {.host = host};
    spad_check *check;
    const spad_status status = spad_check_create(&check, context, &options, NULL);
    spad_check_destroy(check);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    static const char *const texts[] = {
        /* findings of many kinds, parts of tiles, aliases, scopes, alloc */
        IN_OUT "tensor t1 : sbuf bf16 [8] (128, 512) mod base 0 free 2\n"
               "tensor u : sbuf bf16 [3] (64, 512) at 8192\n"
               "tensor v : sbuf bf16 [2] (128, 256)\n"
               "alloc v\n"
               "for i in 0..8 {\n"
               "    for j in 0..2 { dma load reads in[i](j * 64..j * 64 + 64, ..) writes t1[i](j * "
               "64..j * 64 + 64, ..) }\n"
               "    dma half reads in[i](0..64, 0..9) writes u[i % 3](.., 0..9)\n"
               "    vector step reads u[i % 3] updates v[i % 2](.., i * 9..i * 9 + 4)\n"
               "}\n"
               "for i in 0..8 { dma store reads t1[i] writes out[i] }\n",
        IN_OUT "tensor x : sbuf bf16 [8] (128, 512) ring 2 input\n"
               "for i in 0..8 parallel {\n"
               "    dma load reads in[i](0..64, ..) writes x[i / 2](0..64, ..), out[0](0..64, ..)\n"
               "    dma store reads x[i] writes out[i](.., i..i + 9)\n"
               "}\n",
        IN_OUT "scope s sections 2 {\n"
               "    for i in 0..8 {\n"
               "        tensor x : sbuf bf16 (128, 512) stack\n"
               "        tensor y : sbuf bf16 (128, 512) heap\n"
               "        dma load reads in[i] writes x, y\n"
               "        dma store reads x, y writes out[i]\n"
               "        free y\n"
               "        next section\n"
               "    }\n"
               "    tensor z : sbuf bf16 (128, 512) stack\n"
               "    dma load reads in[0] writes z\n"
               "}\n"
               "dma store reads z writes out[0]\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        spad_kernel *kernel = test_parse(texts[i]);
        test_fail_each_allocation(check_with, kernel);
        spad_kernel_destroy(kernel);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_guide_overlapping_tensors),
        cmocka_unit_test(the_guide_too_few_tiles),
        cmocka_unit_test(the_guide_hoisting),
        cmocka_unit_test(the_guide_common_errors),
        cmocka_unit_test(stale_reads),
        cmocka_unit_test(reads_of_nothing),
        cmocka_unit_test(strided_parts),
        cmocka_unit_test(lanes_are_a_dimension),
        cmocka_unit_test(aliases),
        cmocka_unit_test(outputs_are_read_at_the_end),
        cmocka_unit_test(outputs_under_other_names),
        cmocka_unit_test(reads_of_what_nobody_writes),
        cmocka_unit_test(outputs_that_nobody_writes),
        cmocka_unit_test(inputs_can_be_written_over),
        cmocka_unit_test(inputs_that_share_bytes),
        cmocka_unit_test(scopes_and_sections),
        cmocka_unit_test(alloc_and_free),
        cmocka_unit_test(dead_writes),
        cmocka_unit_test(parallel_loops),
        cmocka_unit_test(unused_tensors),
        cmocka_unit_test(places_of_tiles),
        cmocka_unit_test(places_of_the_planner),
        cmocka_unit_test(planned_tensors_can_clash),
        cmocka_unit_test(walks_that_fail),
        cmocka_unit_test(advice_can_be_left_out),
        cmocka_unit_test(groups_in_one_bank),
        cmocka_unit_test(limits_leave_the_verdict_open),
        cmocka_unit_test(findings_can_be_limited),
        cmocka_unit_test(shipped_kernels_have_no_errors),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
