/* SPDX-License-Identifier: Apache-2.0
 *
 * Asynchronous work of PTX kernels: copies, tensor copies, matrices, wgmma, tensor memory.
 */
#include "unit/ptx_events.h"

#define BODY                                                                              \
    ".reg .b32 %r<40>;\n.reg .pred %p<10>;\n.reg .b64 %d<20>;\n.reg .f32 %f<20>;\n"       \
    ".reg .b128 %q<2>;\n.shared .align 1024 .b8 s[32768];\n.shared .align 8 .b8 b[64];\n" \
    "mov.u32 %r1, %tid.x;\nand.b32 %r2, %r1, 31;\nmov.u32 %r4, s;\nmov.u32 %r5, b;\n"     \
    "setp.eq.u32 %p1, %r1, 0;\nmov.u64 %d1, 0x10000;\nshl.b32 %r6, %r2, 4;\n"             \
    "add.u32 %r6, %r4, %r6;\n"
#define K PTX_HEAD BODY
#define K100 PTX_100 BODY
#define INIT "@%p1 mbarrier.init.shared.b64 [%r5], 1;\nbar.warp.sync 0xffffffff;\n"

static const ptx_run one_warp = {.threads = 32, .only = "0."};

/* The events of a run after the lines of INIT. */
static void expect_after_init(ptx_run run, const char *text, const char *expected) {
    char all[2048];
    snprintf(all, sizeof all, "0.0 init 0:32768 0/1\n0.0 warp-sync ffffffff\n%s", expected);
    ptx_expect(run, text, all);
}

/* ---- cp.async and bulk copies -----------------------------------------------------------------
 */

static void copies_of_threads(void **state) {
    (void)state;
    ptx_expect(one_warp,
               K "cp.async.cg.shared.global [%r6], [%d1], 16;\ncp.async.commit_group;\n"
                 "cp.async.ca.shared.global [%r6+1024], [%d1], 4, 0;\n"
                 "cp.async.wait_group 1;\ncp.async.wait_all;\nret;\n}\n",
               "0.0 cp.async wr 0:0-512 grouped\n0.0 commit\n"
               "0.0 cp.async wr 0:1024-1028,1040-1044,1056-1060,1072-1076,...32 grouped\n"
               "0.0 wait-group 1/0\n0.0 commit\n0.0 wait-group\n");
    expect_after_init(one_warp,
                      K INIT "cp.async.cg.shared.global [%r6], [%d1], 16;\n"
                             "cp.async.mbarrier.arrive.noinc.shared.b64 [%r5];\n"
                             "cp.async.mbarrier.arrive.shared.b64 [%r5];\nret;\n}\n",
                      "0.0 cp.async wr 0:0-512 grouped\n0.0 arrive 0:32768 32/0 unit1\n"
                      "0.0 arrive 0:32768 32/32 unit1\n");
}

/* Zero fill makes contents known, so a branch on them needs no choice. */
static void zero_fill(void **state) {
    (void)state;
    const char *text = K "setp.ne.u32 %p2, %r1, 99;\n"
                         "cp.async.ca.shared.global [%r6], [%d1], 16, %p2;\n"
                         "cp.async.wait_all;\nld.shared.u32 %r7, [%r6+8];\n"
                         "setp.eq.u32 %p3, %r7, 0;\n@%p3 bar.warp.sync 0xffffffff;\nret;\n}\n";
    ptx_run run = one_warp;
    run.only = "0.0 warp";
    ptx_expect(run, text, "0.0 warp-sync ffffffff\n");
    run.only = "!";
    ptx_expect(run, text, "");
}

static void bulk_copies(void **state) {
    (void)state;
    expect_after_init(
        one_warp,
        K INIT
        "@!%p1 bra E;\nmbarrier.arrive.expect_tx.shared.b64 _, [%r5], 4096;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%d1], "
        "4096, [%r5];\nW:\nmbarrier.try_wait.parity.shared.b64 %p2, [%r5], 0;\n@!%p2 bra W;\n"
        "cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r4], 2048;\n"
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%d1], [%r4+2048], 64;\n"
        "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;\nE:\nret;\n}\n",
        "0.0 arrive 0:32768 1/0 +4096\n0.0 bulk wr 0:0-4096 ->0:32768 +4096\n"
        "0.0 wait 0:32768 p0\n0.0 bulk rd 0:0-2048 grouped\n0.0 bulk rd 0:2048-2112 grouped\n"
        "0.0 commit\n0.0 wait-group reads\n");
    ptx_run run = one_warp;
    run.only = "!";
    ptx_expect(run,
               K INIT "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                      "[%r4+8], [%d1], 40960, [%r5];\nret;\n}\n",
               "! misaligned: the address of a copy is no multiple of 16 bytes\n"
               "! out-of-shared: a copy of 40960 bytes reaches beyond shared memory\n"
               "! out-of-global: outside of what was allocated\n");
}

static void copies_in_a_cluster(void **state) {
    (void)state;
    const char *text =
        K "@%p1 mbarrier.init.shared.b64 [%r5], 1;\nbarrier.cluster.arrive;\n"
          "barrier.cluster.wait;\nmov.u32 %r7, %cluster_ctarank;\nsetp.ne.u32 %p2, %r7, 0;\n"
          "@%p2 bra W;\n@!%p1 bra W;\nmov.b16 %h1, 3;\n"
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
          "[%r4], [%d1], 512, [%r5], %h1;\nmapa.shared::cluster.u32 %r8, %r4, 1;\n"
          "mapa.shared::cluster.u32 %r9, %r5, 1;\n"
          "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r8+1024], "
          "[%r4], 256, [%r9];\n"
          "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r8+2048], %r7, [%r9];\n"
          "W:\nret;\n}\n";
    char with_h[4096];
    snprintf(with_h, sizeof with_h, "%s.reg .b16 %%h<2>;\n%s", PTX_HEAD, text + strlen(PTX_HEAD));
    const ptx_run run = {.threads = 32, .ctas = 2, .only = "0."};
    ptx_expect(run, with_h,
               "0.0 init 0:32768 0/1\n0.0 cluster-arrive 32/0\n0.0 cluster-wait 32/0\n"
               "0.0 bulk wr 0:0-512 ->0:32768 +512\n0.0 bulk wr 1:0-512 ->1:32768 +512\n"
               "0.0 bulk rd 0:0-256 wr 1:1024-1280 ->1:32768 +256\n"
               "0.0 remote wr 1:2048-2052 ->1:32768 +4\n");
}

/* ---- tensor copies ----------------------------------------------------------------------------
 */

static const spad__ptx_mapped map = {.address = 0x40000,
                                     .map = {.dims = 2,
                                             .element_bits = 16,
                                             .size = {100, 50},
                                             .box = {64, 32},
                                             .swizzle = SPAD__SWIZZLE_128}};

static void tensor_copies(void **state) {
    (void)state;
    const ptx_run run = {.threads = 32, .maps = &map, .map_count = 1, .only = "0."};
    expect_after_init(
        run,
        K INIT "@!%p1 bra E;\nmov.u64 %d2, 0x40000;\nmov.u32 %r7, 64;\nmov.u32 %r8, 32;\n"
               "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
               "[%r4], [%d2, {%r7, %r8}], [%r5];\n"
               "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%d2, {%r7, %r8}], "
               "[%r4];\n"
               "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%d2, "
               "{0, 0}], [%r4];\nE:\nret;\n}\n",
        "0.0 bulk wr 0:0-4096 ->0:32768 +4096\n"
        "0.0 bulk rd 0:0-72,128-192,208-216,256-320,...31 grouped\n"
        "0.0 bulk rd 0:0-4096 grouped\n");
    /* without a map: what the mbarrier waits for */
    ptx_run unknown = run;
    unknown.map_count = 0;
    expect_after_init(unknown,
                      K INIT
                      "@!%p1 bra E;\nmov.u64 %d2, 0x40000;\n"
                      "mbarrier.arrive.expect_tx.shared.b64 _, [%r5], 8192;\n"
                      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                      "[%r4], [%d2, {0, 0}], [%r5];\nE:\nret;\n}\n",
                      "0.0 arrive 0:32768 1/0 +8192\n0.0 bulk wr 0:0-8192 ->0:32768 +8192\n");
}

/* ---- matrices ---------------------------------------------------------------------------------
 */

static void matrices_of_a_warp(void **state) {
    (void)state;
    ptx_expect(one_warp,
               K "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r7, %r8, %r9, %r10}, [%r6];\n"
                 "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r7}, [%r6];\n"
                 "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r6+1024], {%r7, %r8};\n"
                 "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r11, %r12, %r13, %r14, %r15, "
                 "%r16, %r17, %r18}, [%r4], 64;\n"
                 "wmma.store.d.sync.aligned.col.m16n16k16.shared.f32 [%r4], {%f1, %f2, %f3, %f4, "
                 "%f5, %f6, %f7, %f8}, 16;\nret;\n}\n",
               "0.0 own rd 0:0-512\n0.0 own rd 0:0-128\n0.0 own wr 0:1024-1280\n"
               "0.0 own rd 0:0-32,128-160,256-288,384-416,...16\n0.0 own wr 0:0-1024\n");
}

/* Numbers that go through stmatrix and ldmatrix come back: lane n has (2 n, 2 n + 1). */
static void matrices_keep_numbers(void **state) {
    (void)state;
    const char *text = K "shl.b32 %r7, %r2, 1;\nadd.u32 %r8, %r7, 1;\nshl.b32 %r8, %r8, 16;\n"
                         "or.b32 %r7, %r7, %r8;\n"
                         "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r6], {%r7};\n"
                         "bar.warp.sync 0xffffffff;\n"
                         "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r9}, [%r6];\n"
                         /* lane n has rows 2 (n % 4) and the next one of column n / 4 */
                         "and.b32 %r10, %r2, 3;\nshl.b32 %r10, %r10, 4;\nshr.u32 %r11, %r2, 2;\n"
                         "add.u32 %r10, %r10, %r11;\nadd.u32 %r12, %r10, 8;\n"
                         "shl.b32 %r12, %r12, 16;\nor.b32 %r10, %r10, %r12;\n"
                         "setp.eq.u32 %p2, %r9, %r10;\n@%p2 bar.warp.sync 0xffffffff;\nret;\n}\n";
    ptx_run run = one_warp;
    run.only = "0.0 warp";
    ptx_expect(run, text, "0.0 warp-sync ffffffff\n0.0 warp-sync ffffffff\n");
    run.only = "!";
    ptx_expect(run, text, "");
}

static void products_of_a_warpgroup(void **state) {
    (void)state;
    /* A: 64 x 16, K-major, swizzle of 128 bytes, at 0; B: 64 columns, the same, at 16 KiB */
    const ptx_run run = {.threads = 128, .only = "0.3"};
    ptx_expect(run,
               K "mov.u64 %d2, 0x4000004000010000;\nadd.u64 %d3, %d2, 1024;\n"
                 "wgmma.fence.sync.aligned;\n"
                 "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %d2, "
                 "%d3, 1, 1, 1, 0, 0;\nwgmma.commit_group.sync.aligned;\n"
                 "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, "
                 "{%r7, %r8, %r9, %r10}, %d3, 1, 1, 1, 1;\n"
                 "wgmma.wait_group.sync.aligned 1;\nret;\n}\n",
               "0.3 fence-wgmma\n"
               "0.3 wgmma rd 0:0-32,128-160,288-320,416-448,...57 rd "
               "0:16384-16416,16512-16544,16672-16704,16800-16832,...8 grouped\n"
               "0.3 commit\n0.3 wgmma rd 0:16384-16400,16528-16544,16672-16688,16816-16832,...15 "
               "grouped\n0.3 wait-group 1/0\n");
}

/* ---- tensor memory ----------------------------------------------------------------------------
 */

static void tensor_memory(void **state) {
    (void)state;
    const ptx_run run = {.threads = 32, .only = "0."};
    expect_after_init(
        run,
        K100 INIT
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r5+8], 128;\n"
        "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n"
        "ld.shared.u32 %r7, [%r5+8];\ntcgen05.fence::after_thread_sync;\n@!%p1 bra E;\n"
        /* M = 128, N = 64, F32 of F16 */
        "mov.u32 %r8, 0x08100010;\nmov.u64 %d2, 0x4000404000010000;\nadd.u64 %d3, %d2, 1024;\n"
        "setp.ne.u32 %p2, %r1, 0;\n"
        "tcgen05.mma.cta_group::1.kind::f16 [%r7], %d2, %d3, %r8, {0, 0, 0, 0}, %p2;\n"
        "tcgen05.mma.cta_group::1.kind::f16 [%r7], %d2, %d3, %r8, 1;\n"
        "tcgen05.cp.cta_group::1.32x128b.warpx4 [%r7], %d2;\n"
        /* as Triton has it: no space, and the shared address */
        "cvt.u64.u32 %d4, %r5;\ntcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%d4];\nE:\n"
        "bar.warp.sync 0xffffffff;\n"
        "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r9, %r10}, [%r7+32];\n"
        "tcgen05.ld.sync.aligned.16x256b.x1.b32 {%r9, %r10, %r11, %r12}, [%r7];\n"
        "tcgen05.wait::ld.sync.aligned;\n"
        "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r7], {%r9};\ntcgen05.wait::st.sync.aligned;\n"
        "tcgen05.fence::before_thread_sync;\n"
        "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r7, 128;\nret;\n}\n",
        "0.0 tmem-alloc wr-tmem 0:0-512@0+128\n0.0 own wr 0:32776-32780\n0.0 own rd "
        "0:32776-32780\n0.0 fence-after\n"
        "0.0 tcgen05 rd 0:0-32,128-160,288-320,416-448,...113 rd "
        "0:16384-16416,16512-16544,16672-16704,16800-16832,...57 wr-tmem 0:0-256@0+128\n"
        "0.0 tcgen05 rd 0:0-32,128-160,288-320,416-448,...113 rd "
        "0:16384-16416,16512-16544,16672-16704,16800-16832,...57 up-tmem 0:0-256@0+128\n"
        "0.0 tcgen05 rd 0:0-16,144-160,288-304,432-448,...29 wr-tmem 0:0-16@0+128\n"
        "0.0 arrive 0:32768 1/0 unit4\n0.0 warp-sync ffffffff\n"
        "0.0 tcgen05 rd-tmem 0:128-136@0+32\n0.0 tcgen05 rd-tmem 0:0-32@0+16\n0.0 wait-loads\n"
        "0.0 tcgen05 wr-tmem 0:0-4@0+32\n0.0 wait-stores\n0.0 fence-before\n"
        "0.0 tmem-free wr-tmem 0:0-512@0+128\n");
}

/* Two blocks multiply together: the second one's copies signal the first one's mbarrier. */
static void products_of_a_pair(void **state) {
    (void)state;
    const char *text =
        K100 "@%p1 mbarrier.init.shared.b64 [%r5], 1;\n"
             "tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%r5+8], 64;\n"
             "barrier.cluster.arrive;\nbarrier.cluster.wait;\nld.shared.u32 %r7, [%r5+8];\n"
             "mov.u32 %r8, %cluster_ctarank;\nsetp.eq.u32 %p2, %r8, 0;\n@!%p1 bra E;\n"
             "and.b32 %r9, %r5, 0xfeffffff;\nmov.u64 %d2, 0x40000;\n"
             "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
             ".cta_group::2 [%r4], [%d2, {0, 0}], [%r9];\n@!%p2 bra E;\n"
             /* M = 256, N = 64 */
             "mov.u32 %r10, 0x10100010;\nmov.u64 %d3, 0x4000404000010000;\n"
             "add.u64 %d4, %d3, 1024;\n"
             "tcgen05.mma.cta_group::2.kind::f16 [%r7], %d3, %d4, %r10, 0;\n"
             "mov.b16 %h1, 3;\n"
             "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster"
             ".multicast::cluster.b64 [%r5], %h1;\nE:\nret;\n}\n";
    char with_h[4096];
    snprintf(with_h, sizeof with_h, "%s.reg .b16 %%h<2>;\n%s", PTX_100, text + strlen(PTX_100));
    ptx_run run = {.threads = 32, .ctas = 2, .maps = &map, .map_count = 1, .only = "0.0 "};
    ptx_expect(run, with_h,
               "0.0 init 0:32768 0/1\n0.0 tmem-alloc wr-tmem 0:0-256@0+128\n"
               "0.0 own wr 0:32776-32780\n0.0 cluster-arrive 32/0\n0.0 cluster-wait 32/0\n"
               "0.0 own rd 0:32776-32780\n0.0 bulk wr 0:0-4096 ->0:32768 +4096\n"
               "0.0 tcgen05 rd 0:0-32,128-160,288-320,416-448,...113 rd "
               "0:16384-16416,16512-16544,16672-16704,16800-16832,...29 wr-tmem 0:0-256@0+128 "
               "rd 1:0-32,128-160,288-320,416-448,...113 rd "
               "1:16384-16416,16512-16544,16672-16704,16800-16832,...29 wr-tmem 1:0-256@0+128\n"
               "0.0 arrive 0:32768 1/0 unit4\n0.0 arrive 1:32768 1/0 unit4\n");
    run.only = "1.0 b";
    ptx_expect(run, with_h, "1.0 bulk wr 1:0-4096 ->0:32768 +4096\n");
}

/* ---- cluster launch control -------------------------------------------------------------------
 */

/* Asks for another block until all have run; a barrier's number names the block. */
#define ASK                                                                                       \
    K100 INIT                                                                                     \
        "mov.u32 %r7, 0;\nL:\n@!%p1 bra W;\nmbarrier.arrive.expect_tx.shared.b64 _, [%r5], 16;\n" \
        "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 "    \
        "[%r4], "                                                                                 \
        "[%r5];\nW:\nmbarrier.try_wait.parity.shared.b64 %p2, [%r5], %r7;\n@!%p2 bra W;\n"        \
        "xor.b32 %r7, %r7, 1;\nld.shared.b128 %q1, [%r4];\n"                                      \
        "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p3, %q1;\n@!%p3 bra E;\n"       \
        "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r8, %r9, %r10, _}, "     \
        "%q1;\n"                                                                                  \
        "bar.sync %r8;\nbra L;\nE:\nret;\n}\n"

static void more_work_for_a_cluster(void **state) {
    (void)state;
    ptx_run run = {.threads = 32, .answer = true, .only = "0.0 s"};
    ptx_expect(run, ASK, "0.0 sync 0:1 32/32\n0.0 sync 0:2 32/32\n0.0 sync 0:3 32/32\n");
    run.answer = false;
    ptx_expect(run, ASK, "");
    run.only = "0.";
    expect_after_init(run, ASK,
                      "0.0 arrive 0:32768 1/0 +16\n0.0 bulk wr 0:0-16 ->0:32768 +16\n"
                      "0.0 wait 0:32768 p0\n0.0 own rd 0:0-16\n");
}

/* ---- memory that is not there -----------------------------------------------------------------
 */

static spad_status run_all_kinds(const spad_host *host, void *context) {
    (void)context;
    static const char *const texts[] = {
        K INIT "@!%p1 bra E;\nmbarrier.arrive.expect_tx.shared.b64 _, [%r5], 4096;\n"
               "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%d1], "
               "4096, [%r5];\nW:\nmbarrier.try_wait.parity.shared.b64 %p2, [%r5], 0;\n"
               "@!%p2 bra W;\nE:\nbar.sync 0;\nmov.u64 %d2, 0x4000004000010000;\n"
               "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %d2, "
               "%d2, 1, 1, 1, 0, 0;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r7}, [%r6];\n"
               "ret;\n}\n",
        ASK};
    for (int n = 0; n < 2; n++) {
        ptx_run run = {.threads = 64, .answer = true};
        spad_error error = {0};
        test_text_init(&run.text);
        const spad_status status = ptx_execute(&run, texts[n], host, &error);
        test_text_free(&run.text);
        if (status != SPAD_OK) return status;
    }
    return SPAD_OK;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    test_fail_each_allocation(run_all_kinds, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_of_threads),
        cmocka_unit_test(zero_fill),
        cmocka_unit_test(bulk_copies),
        cmocka_unit_test(copies_in_a_cluster),
        cmocka_unit_test(tensor_copies),
        cmocka_unit_test(matrices_of_a_warp),
        cmocka_unit_test(matrices_keep_numbers),
        cmocka_unit_test(products_of_a_warpgroup),
        cmocka_unit_test(tensor_memory),
        cmocka_unit_test(products_of_a_pair),
        cmocka_unit_test(more_work_for_a_cluster),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
