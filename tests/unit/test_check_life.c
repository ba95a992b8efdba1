/* SPDX-License-Identifier: Apache-2.0
 *
 * Lifetimes and hygiene of the checker: every finding with its whole message, and the examples of
 * the NKI direct allocation guide.
 */
#include "check_life_fixture.h"

/* ---- the guide --------------------------------------------------------------------- */

static void the_guide_overlapping_tensors(void **state) {
    (void)state;
    expect(IN_OUT "tensor t0 : sbuf bf16 [4] (128, 512) mod base 0 free 2\n"
                  "tensor t1 : sbuf bf16 [4] (128, 512) mod base 1024 free 2\n"
                  "for i in 0..2 { dma load0 reads in[i] writes t0[i] }\n"
                  "for i in 0..2 { dma load1 reads in[i] writes t1[i] }\n"
                  "for i in 0..2 { vector add reads t0[i], t1[i] writes t0[i] }\n"
                  "for i in 0..2 { dma store reads t0[i] writes out[i] }\n",
           "8:34 SPAD-LIFETIME-CONFLICT x1: add reads 't0[1]' (i = 1), but bytes [1,024, 2,048) of "
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
        "8:23 SPAD-LIFETIME-CONFLICT x6: exp reads 't1[0]' (i = 0), but bytes [0, 1,024) of lanes "
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

/* Two accumulators in one bank of PSUM, alive at the same time. */
static void conflicts_in_psum(void **state) {
    (void)state;
    static const char text[] = "kernel k on trn2\n"
                               "tensor out : hbm bf16 (128, 512) output\n"
                               "tensor s : sbuf bf16 (128, 512) at 0\n"
                               "tensor p : psum f32 (128, 512) at 0\n"
                               "tensor q : psum f32 (128, 512) at %d\n"
                               "vector one writes p\n"
                               "vector two writes q\n"
                               "vector use reads p, q writes s\n"
                               "dma store reads s writes out\n";
    char kernel[1024];
    snprintf(kernel, sizeof kernel, text, 0);
    expect(
        kernel,
        "8:18 SPAD-LIFETIME-CONFLICT x1: use reads 'p', but bytes [0, 2,048) of lanes [0, 128) of "
        "psum hold 'q', written by two; place them apart, or read it earlier\n"
        "  7:1 two writes 'q' here\n");
    snprintf(kernel, sizeof kernel, text, 2048);
    expect(kernel, "");
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
           "6:17 SPAD-STALE-READ x1: store reads 'x[2]', but bytes [0, 1,024) of lanes [0, 128) of "
           "its slot still hold 'x[0]', written by load; write it before it is read\n"
           "  5:1 load writes 'x[0]' here\n");
    expect(
        IN_OUT "for i in 0..3 {\n"
               "    tensor x : sbuf bf16 (128, 512)\n"
               "    if i == 0 { dma load reads in[0] writes x }\n"
               "    dma store reads x writes out[i]\n"
               "}\n",
        "7:21 SPAD-STALE-READ x2: store reads 'x' (i = 1), but bytes [0, 1,024) of lanes [0, 128) "
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
           "1,024) of lanes [64, 128) of its slot; write it first, or declare it as input\n"
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
           "8:17 SPAD-LIFETIME-CONFLICT x1: store reads 'a', but bytes [512, 1,024) of lanes [32, "
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
    /* one byte after the output does not belong to it */
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
int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_guide_overlapping_tensors),
        cmocka_unit_test(the_guide_too_few_tiles),
        cmocka_unit_test(the_guide_hoisting),
        cmocka_unit_test(conflicts_in_psum),
        cmocka_unit_test(the_guide_common_errors),
        cmocka_unit_test(stale_reads),
        cmocka_unit_test(reads_of_nothing),
        cmocka_unit_test(strided_parts),
        cmocka_unit_test(lanes_are_a_dimension),
        cmocka_unit_test(aliases),
        cmocka_unit_test(outputs_are_read_at_the_end),
        cmocka_unit_test(outputs_under_other_names),
        cmocka_unit_test(outputs_that_nobody_writes),
        cmocka_unit_test(inputs_can_be_written_over),
        cmocka_unit_test(inputs_that_share_bytes),
        cmocka_unit_test(scopes_and_sections),
        cmocka_unit_test(alloc_and_free),
        cmocka_unit_test(dead_writes),
        cmocka_unit_test(parallel_loops),
        cmocka_unit_test(unused_tensors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
