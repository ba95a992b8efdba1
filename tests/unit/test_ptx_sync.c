/* SPDX-License-Identifier: Apache-2.0
 *
 * Synchronisation of PTX kernels: barriers, mbarriers, fences, clusters, and runs that never end.
 */
#include "unit/ptx_events.h"

/* Registers, the thread's number %r1, lane %r2 and warp %r3, the address of 256 bytes in %r4. */
#define REGISTERS                                                                   \
    ".reg .b32 %r<20>;\n.reg .pred %p<10>;\n.reg .b64 %d<10>;\n.reg .b16 %h<4>;\n"  \
    ".shared .align 128 .b8 s[256];\nmov.u32 %r1, %tid.x;\nand.b32 %r2, %r1, 31;\n" \
    "shr.u32 %r3, %r1, 5;\nmov.u32 %r4, s;\nsetp.eq.u32 %p1, %r1, 0;\n"             \
    "setp.eq.u32 %p2, %r3, 0;\nsetp.eq.u32 %p3, %r2, 0;\n"
#define K PTX_HEAD REGISTERS
#define INIT(count) \
    "@!%p1 bra INITED;\nmbarrier.init.shared.b64 [%r4], " count ";\nINITED:\nbar.sync 0;\n"
/* As CUTLASS has it. */
#define WAIT(n, parity)                                                                       \
    "W" n ":\nmbarrier.try_wait.parity.shared::cta.b64 %p9, [%r4], " parity ";\n@%p9 bra D" n \
    ";\nbra W" n ";\nD" n ":\n"

static const ptx_run one_warp = {.threads = 32};
static const ptx_run two_warps = {.threads = 64};

/* ---- barriers ------------------------------------------------------------------------------- */

static void barriers_of_a_block(void **state) {
    (void)state;
    ptx_expect(two_warps, K "bar.sync 0;\nbarrier.sync 3;\nret;\n}\n",
               "0.0 sync 0:0 32/64\n"
               "0.0 sync 0:3 32/64\n"
               "0.1 sync 0:0 32/64\n"
               "0.1 sync 0:3 32/64\n");
    /* a producer arrives, a consumer waits */
    ptx_expect(two_warps,
               K "@%p2 bra A;\nbarrier.cta.sync.aligned 1, 64;\nret;\nA:\n"
                 "barrier.cta.arrive.aligned 1, 64;\nret;\n}\n",
               "0.0 arrive-barrier 0:1 32/64\n"
               "0.1 sync 0:1 32/64\n");
    /* the threads that have exited are not waited for */
    ptx_expect(two_warps, K "@!%p2 exit;\nbar.sync 0;\nret;\n}\n", "0.0 sync 0:0 32/32\n");
    /* the last warp has 8 threads */
    ptx_expect((ptx_run){.threads = 40}, K "bar.sync 0;\nbar.sync 1, 64;\nret;\n}\n",
               "0.0 sync 0:0 32/64\n"
               "0.0 sync 0:1 32/64\n"
               "0.1 sync 0:0 32/64\n"
               "0.1 sync 0:1 32/64\n");
}

static void a_diverged_warp_arrives_in_parts(void **state) {
    (void)state;
    const char *branches = K "setp.lt.u32 %p4, %r2, 8;\n@%p4 bra A;\nbarrier.sync 2;\nret;\n"
                             "A:\nbarrier.sync 2;\nret;\n}\n";
    ptx_expect(one_warp, branches, "0.0 sync 0:2 32/32\n");
    /* aligned barriers need the whole warp */
    const char *aligned = K "setp.lt.u32 %p4, %r2, 8;\n@%p4 bra A;\nbar.sync 2;\nret;\n"
                            "A:\nbar.sync 2;\nret;\n}\n";
    ptx_run run = one_warp;
    run.only = "!";
    ptx_expect(run, aligned,
               "! diverged: only 24 of 32 threads of the warp are here\n"
               "! diverged: only 8 of 32 threads of the warp are here\n");
}

static void wrong_barriers(void **state) {
    (void)state;
    ptx_run run = two_warps;
    run.only = "!";
    ptx_expect(run, K "bar.sync 0, 40;\nret;\n}\n",
               "! bad-barrier: a count of 40 threads: use a multiple of 32 up to 1024\n");
    ptx_expect(run, K "@%p2 bra A;\nbar.sync 1, 64;\nret;\nA:\nbar.sync 1, 96;\nret;\n}\n",
               "! bad-barrier: barrier 1 is for 64 threads here, and 96 threads elsewhere\n");
    ptx_expect(run, K "mov.u32 %r5, 17;\nbar.sync %r5;\nret;\n}\n",
               "! bad-barrier: barrier 17: a CTA has 0 to 15\n");
}

static void a_barrier_that_nobody_completes(void **state) {
    (void)state;
    ptx_run run = {.threads = 64};
    ptx_expect(run, K "bar.sync 1, 96;\nbar.sync 0;\nret;\n}\n",
               "0.0 sync 0:1 32/96 endless\n"
               "0.0 sync 0:0 32/64\n"
               "0.1 sync 0:1 32/96 endless\n"
               "0.1 sync 0:0 32/64\n");
}

static void reductions(void **state) {
    (void)state;
    /* threads 0 to 9 of each warp: the count decides about a branch */
    const char *text = K "setp.lt.u32 %p4, %r2, 10;\nbar.red.popc.u32 %r5, 0, %p4;\n"
                         "bar.red.and.pred %p5, 1, %p4;\nbar.red.or.pred %p6, 2, 64, !%p4;\n"
                         "setp.eq.u32 %p7, %r5, 20;\n@%p5 bra E;\n@!%p6 bra E;\n@!%p7 bra E;\n"
                         "bar.sync 7;\nE:\nret;\n}\n";
    ptx_run run = {.threads = 64, .only = "0.0"};
    ptx_expect(run, text,
               "0.0 sync 0:0 32/64\n"
               "0.0 sync 0:1 32/64\n"
               "0.0 sync 0:2 32/64\n"
               "0.0 sync 0:7 32/64\n");
}

static void barriers_of_a_warp(void **state) {
    (void)state;
    ptx_expect(one_warp,
               K "setp.lt.u32 %p4, %r2, 16;\n@%p4 bra A;\nbar.warp.sync 0xffffffff;\nbra B;\n"
                 "A:\nbar.warp.sync 0xffff;\nbar.warp.sync 0xffffffff;\nB:\nret;\n}\n",
               "0.0 warp-sync ffff\n"
               "0.0 warp-sync ffffffff\n");
}

static void barriers_of_a_cluster(void **state) {
    (void)state;
    const ptx_run pair = {.threads = 32, .ctas = 2};
    ptx_expect(pair,
               K "barrier.cluster.arrive.release.aligned;\nfence.mbarrier_init.release.cluster;\n"
                 "barrier.cluster.wait.acquire.aligned;\nbarrier.cluster.arrive.relaxed.aligned;\n"
                 "barrier.cluster.wait.aligned;\nret;\n}\n",
               "0.0 cluster-arrive 32/0\n"
               "0.0 fence-init\n"
               "0.0 cluster-wait 32/0\n"
               "0.0 cluster-arrive 32/0 relaxed\n"
               "0.0 cluster-wait 32/0\n"
               "1.0 cluster-arrive 32/0\n"
               "1.0 fence-init\n"
               "1.0 cluster-wait 32/0\n"
               "1.0 cluster-arrive 32/0 relaxed\n"
               "1.0 cluster-wait 32/0\n");
    /* one block leaves: the other does not wait for it */
    ptx_expect(pair,
               K "mov.u32 %r5, %cluster_ctarank;\nsetp.eq.u32 %p4, %r5, 1;\n@%p4 exit;\n"
                 "barrier.cluster.arrive;\nbarrier.cluster.wait;\nret;\n}\n",
               "0.0 cluster-arrive 32/0\n"
               "0.0 cluster-wait 32/0\n");
    ptx_run run = pair;
    run.only = "!";
    ptx_expect(run, K "barrier.cluster.wait.aligned;\nret;\n}\n",
               "! bad-barrier: barrier.cluster.wait without an arrive before it\n");
}

static void fences(void **state) {
    (void)state;
    ptx_expect(one_warp,
               K "fence.proxy.async;\nfence.proxy.async.shared::cta;\n"
                 "fence.proxy.async.global;\nfence.acq_rel.cluster;\nmembar.cta;\n"
                 "fence.proxy.alias;\nnanosleep.u32 20;\ngriddepcontrol.wait;\n"
                 "setmaxnreg.dec.sync.aligned.u32 24;\nsetmaxnreg.inc.sync.aligned.u32 240;\n"
                 "ret;\n}\n",
               "0.0 fence-proxy\n"
               "0.0 fence-proxy-shared\n"
               "0.0 fence-proxy-global\n"
               "0.0 fence-threads\n"
               "0.0 fence-threads\n"
               "0.0 registers -1/24\n"
               "0.0 registers 1/240\n");
}

/* ---- mbarriers ------------------------------------------------------------------------------ */

static void phases_of_an_mbarrier(void **state) {
    (void)state;
    ptx_expect(
        two_warps,
        K INIT("64") "mbarrier.arrive.shared.b64 %d1, [%r4];\n" WAIT(
            "1", "0") "mbarrier.arrive.shared::cta.b64 %d1, [%r4];\n" WAIT("2", "1") "ret;\n}\n",
        "0.0 init 0:0 0/64\n"
        "0.0 sync 0:0 32/64\n"
        "0.0 arrive 0:0 32/0\n"
        "0.0 wait 0:0 p0\n"
        "0.0 arrive 0:0 32/0\n"
        "0.0 wait 0:0 p1\n"
        "0.1 sync 0:0 32/64\n"
        "0.1 arrive 0:0 32/0\n"
        "0.1 wait 0:0 p0\n"
        "0.1 arrive 0:0 32/0\n"
        "0.1 wait 0:0 p1\n");
    /* a wait for the phase before the first one is over at once */
    ptx_expect(one_warp, K INIT("1") WAIT("1", "1") "mbarrier.inval.shared.b64 [%r4];\nret;\n}\n",
               "0.0 init 0:0 0/1\n"
               "0.0 sync 0:0 32/32\n"
               "0.0 wait 0:0 p1\n"
               "0.0 inval 0:0\n");
}

static void bytes_of_an_mbarrier(void **state) {
    (void)state;
    ptx_expect(one_warp,
               K INIT("1") "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r4], 96;\n"
                           "@%p1 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r4], 32;\n"
                           "@%p1 mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r4], "
                           "128;\n" WAIT("1", "0") "ret;\n}\n",
               "0.0 init 0:0 0/1\n"
               "0.0 sync 0:0 32/32\n"
               "0.0 arrive 0:0 1/0 +96\n"
               "0.0 expect 0:0 +32 relaxed\n"
               "0.0 complete 0:0 +128 relaxed\n"
               "0.0 wait 0:0 p0\n");
}

static void states_of_an_mbarrier(void **state) {
    (void)state;
    const char *text =
        K INIT("64") "mbarrier.arrive.shared.b64 %d1, [%r4];\n"
                     "mbarrier.pending_count.b64 %r5, %d1;\n"
                     "W:\nmbarrier.test_wait.shared.b64 %p4, [%r4], %d1;\n@!%p4 bra W;\n"
                     "mbarrier.arrive_drop.shared.b64 %d2, [%r4];\n"
                     "V:\nmbarrier.test_wait.shared.b64 %p4, [%r4], %d2;\n@!%p4 bra V;\n"
                     "sub.u32 %r6, 64, %r1;\nsetp.ne.u32 %p5, %r5, %r6;\n@%p5 bra E;\n"
                     "bar.warp.sync 0xffffffff;\nE:\nret;\n}\n";
    ptx_run run = {.threads = 64, .only = "0.1"};
    /* warp 1 is the first to arrive: its threads find 64 to 33 arrivals pending */
    ptx_expect(run, text,
               "0.1 sync 0:0 32/64\n"
               "0.1 arrive 0:0 32/0\n"
               "0.1 wait 0:0 p0\n"
               "0.1 arrive 0:0 32/0 drop\n"
               "0.1 wait 0:0 p1\n");
}

static void mbarriers_of_other_blocks(void **state) {
    (void)state;
    const char *text =
        K "@!%p1 bra A;\nmbarrier.init.shared.b64 [%r4], 2;\nA:\n"
          "barrier.cluster.arrive;\nbarrier.cluster.wait;\n@!%p1 bra B;\n"
          "mapa.shared::cluster.u32 %r5, %r4, 0;\n"
          "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5];\nB:\n"
          "mov.u32 %r6, %cluster_ctarank;\nsetp.ne.u32 %p4, %r6, 0;\n@%p4 bra E;\n" WAIT(
              "1", "0") "E:\nret;\n}\n";
    const ptx_run first = {.threads = 32, .ctas = 2, .only = "0."};
    const ptx_run second = {.threads = 32, .ctas = 2, .only = "1."};
    ptx_expect(first, text,
               "0.0 init 0:0 0/2\n"
               "0.0 cluster-arrive 32/0\n"
               "0.0 cluster-wait 32/0\n"
               "0.0 arrive 0:0 1/0\n"
               "0.0 wait 0:0 p0\n");
    ptx_expect(second, text,
               "1.0 init 1:0 0/2\n"
               "1.0 cluster-arrive 32/0\n"
               "1.0 cluster-wait 32/0\n"
               "1.0 arrive 0:0 1/0\n");
}

static void one_instruction_for_several_mbarriers(void **state) {
    (void)state;
    const char *text = K "setp.lt.u32 %p4, %r2, 2;\nshl.b32 %r5, %r2, 3;\nadd.u32 %r5, %r4, %r5;\n"
                         "@%p4 mbarrier.init.shared.b64 [%r5], 1;\nbar.warp.sync 0xffffffff;\n"
                         "@%p4 mbarrier.arrive.shared.b64 _, [%r5];\nret;\n}\n";
    ptx_expect(one_warp, text,
               "0.0 init 0:0 0/1\n"
               "0.0 init 0:8 0/1\n"
               "0.0 warp-sync ffffffff\n"
               "0.0 arrive 0:0 1/0\n"
               "0.0 arrive 0:8 1/0\n");
}

/* ---- waits: loops and peeks ----------------------------------------------------------------- */

static void a_wait_that_never_ends(void **state) {
    (void)state;
    ptx_run run = one_warp;
    ptx_expect(run, K INIT("1") WAIT("1", "0") "fence.proxy.async;\nret;\n}\n",
               "0.0 init 0:0 0/1\n"
               "0.0 sync 0:0 32/32\n"
               "0.0 wait 0:0 p0 endless\n"
               "0.0 fence-proxy\n");
}

/* Loops in the forms in which compilers print them: none is a choice. */
/* A wait that lanes of a warp never leave, while the others are at the barrier of the cluster that
 * needs all of them: the run ends, and says so once. */
static void lanes_that_wait_for_a_cluster_alone(void **state) {
    (void)state;
    ptx_run run = {.threads = 32, .ctas = 2};
    run.only = "!";
    ptx_expect(
        run,
        K INIT("1") "mov.u32 %r5, %cluster_ctarank;\nsetp.ne.u32 %p4, %r5, 0;\n@%p4 bra OUT;\n"
                    "@!%p1 bra OUT;\n" WAIT("1", "0") "OUT:\n"
                                                      "barrier.cluster.arrive.aligned;\nbarrier."
                                                      "cluster.wait.aligned;\nret;\n}\n",
        "! diverged: only 31 of 32 threads of the warp are here\n");
}

static void forms_of_loops(void **state) {
    static const char *const loops[] = {
        "L:\nmbarrier.try_wait.parity.shared.b64 %p4, [%r4], 0;\n@!%p4 bra L;\n",
        "L:\nmbarrier.try_wait.parity.shared.b64 %p4, [%r4], 0, 1000;\nselp.b32 %r5, 1, 0, %p4;\n"
        "setp.eq.s32 %p5, %r5, 0;\n@%p5 bra L;\n",
        "L:\nmbarrier.try_wait.parity.shared.b64 %p4, [%r4], 0;\nselp.u32 %r5, 1, 0, %p4;\n"
        "setp.ne.s32 %p5, %r5, 0;\n@%p5 bra D;\nnanosleep.u32 20;\nbra.uni L;\nD:\n",
        /* turned: a first wait in front of the loop */
        "mbarrier.try_wait.parity.shared.b64 %p4, [%r4], 0;\n@%p4 bra D;\nL:\n"
        "mbarrier.try_wait.parity.shared.b64 %p5, [%r4], 0;\n@!%p5 bra L;\nD:\n",
        /* as libcu++ has it */
        "mbarrier.try_wait.parity.shared.b64 %p4, [%r4], 0;\nselp.b32 %r5, 1, 0, %p4;\n"
        "setp.ne.s32 %p5, %r5, 0;\n@%p5 bra D;\nmov.u32 %r6, 0;\nL:\n"
        "setp.lt.s32 %p6, %r6, 16;\n@%p6 bra C;\nbra.uni A;\nC:\nadd.s32 %r6, %r6, 1;\n"
        "bra.uni B;\nA:\nmov.u64 %d2, %globaltimer;\nsub.s64 %d3, %d2, %d1;\n"
        "setp.lt.s64 %p7, %d3, 4000;\n@%p7 bra S;\nnanosleep.u32 1000;\nbra.uni B;\nS:\n"
        "shr.s64 %d4, %d3, 2;\ncvt.u32.u64 %r7, %d4;\nnanosleep.u32 %r7;\nB:\n"
        "mbarrier.try_wait.parity.shared.b64 %p8, [%r4], 0;\nselp.b32 %r8, 1, 0, %p8;\n"
        "setp.eq.s32 %p9, %r8, 0;\n@%p9 bra L;\nD:\n",
        /* its operands are set in each turn */
        "mov.u32 %r6, 0;\nL:\nmov.u32 %r6, 0;\n"
        "mbarrier.try_wait.parity.shared.b64 %p4, [%r4], %r6;\n@!%p4 bra L;\n",
        /* with a limit of time */
        "mov.u64 %d2, %clock64;\nL:\nmbarrier.test_wait.parity.shared.b64 %p4, [%r4], 0;\n"
        "@%p4 bra D;\nmov.u64 %d3, %clock64;\nsub.s64 %d4, %d3, %d2;\n"
        "setp.lt.s64 %p5, %d4, 1000000;\n@%p5 bra L;\ntrap;\nD:\n",
    };
    (void)state;
    for (size_t n = 0; n < sizeof loops / sizeof *loops; n++) {
        char text[4096];
        snprintf(text, sizeof text, "%s%s%s%s", K INIT("1") "bar.sync 0;\n@!%p2 bra ARRIVE;\n",
                 loops[n], "ret;\nARRIVE:\n@%p3 mbarrier.arrive.shared.b64 _, [%r4];\n",
                 "ret;\n}\n");
        const ptx_run run = {.threads = 64, .only = "0.0 wait"};
        ptx_expect(run, text, "0.0 wait 0:0 p0\n");
        const ptx_run remarks = {.threads = 64, .only = "!"};
        ptx_expect(remarks, text, "");
    }
}

/* A peek, work, and a wait if the peek said no. */
#define PEEK                                                                               \
    K INIT("1") "@!%p2 bra P;\nmbarrier.try_wait.parity.shared.b64 %p4, [%r4], 0;\n"       \
                "selp.b32 %r5, 1, 0, %p4;\nfence.proxy.async;\nsetp.ne.s32 %p5, %r5, 0;\n" \
                "@%p5 bra E;\n" WAIT(                                                      \
                    "1", "0") "E:\nmembar.cta;\nret;\n"                                    \
                              "P:\n@%p3 mbarrier.arrive.shared.b64 _, [%r4];\nret;\n}\n"

static void peeks(void **state) {
    (void)state;
    ptx_run run = {.threads = 64, .answer = true, .only = "0.0"};
    ptx_expect(run, PEEK,
               "0.0 init 0:0 0/1\n"
               "0.0 sync 0:0 32/64\n"
               "0.0 wait 0:0 p0\n"
               "0.0 fence-proxy\n"
               "0.0 fence-threads\n");
    run.answer = false;
    ptx_expect(run, PEEK,
               "0.0 init 0:0 0/1\n"
               "0.0 sync 0:0 32/64\n"
               "0.0 fence-proxy\n"
               "0.0 wait 0:0 p0\n"
               "0.0 fence-threads\n");
    run.only = "!";
    ptx_expect(run, PEEK, "! peek: the answer is a choice\n");
}

/* A peek that can only be true if the warp goes on gives up. */
static void a_peek_does_not_block_its_own_end(void **state) {
    (void)state;
    const char *text =
        K INIT("32") "mbarrier.try_wait.parity.shared.b64 %p4, [%r4], 0;\n"
                     "selp.b32 %r5, 1, 0, %p4;\nfence.proxy.async;\n"
                     "mbarrier.arrive.shared.b64 _, [%r4];\n" WAIT("1", "0") "ret;\n}\n";
    const ptx_run run = {.threads = 32, .answer = true, .only = "0.0"};
    ptx_expect(run, text,
               "0.0 init 0:0 0/32\n"
               "0.0 sync 0:0 32/32\n"
               "0.0 fence-proxy\n"
               "0.0 arrive 0:0 32/0\n"
               "0.0 wait 0:0 p0\n");
}

/* A loop that waits for two objects is left when both phases are complete, whatever the first
 * answers are. */
static void one_loop_for_two_mbarriers(void **state) {
    (void)state;
    const char *text =
        K "@%p3 mbarrier.init.shared.b64 [%r4], 1;\n@%p3 mbarrier.init.shared.b64 [%r4+8], 1;\n"
          "bar.sync 0;\n@!%p2 bra P;\nL:\n"
          "mbarrier.try_wait.parity.shared.b64 %p4, [%r4], 0;\nselp.b32 %r5, 1, 0, %p4;\n"
          "mbarrier.try_wait.parity.shared.b64 %p5, [%r4+8], 0;\nselp.b32 %r6, 1, 0, %p5;\n"
          "and.b32 %r7, %r5, %r6;\nsetp.eq.u32 %p6, %r7, 0;\n@%p6 bra L;\nfence.proxy.async;\n"
          "ret;\nP:\n@%p3 mbarrier.arrive.shared.b64 _, [%r4];\nmembar.cta;\n"
          "@%p3 mbarrier.arrive.shared.b64 _, [%r4+8];\nret;\n}\n";
    ptx_run run = {.threads = 64, .answer = false, .only = "0.0 f"};
    ptx_expect(run, text, "0.0 fence-proxy\n");
    run.only = "0.0 wait";
    ptx_expect(run, text, "0.0 wait 0:0 p0\n0.0 wait 0:8 p0\n");
}

/* Some tries, and then something else: no loop that waits. */
static void tries_that_are_counted(void **state) {
    (void)state;
    const char *text = K INIT("1") "mov.u32 %r5, 0;\nL:\n"
                                   "mbarrier.try_wait.parity.shared.b64 %p4, [%r4], 0;\n"
                                   "@%p4 bra D;\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p5, %r5, 4;\n"
                                   "@%p5 bra L;\nfence.proxy.async;\nD:\nret;\n}\n";
    const ptx_run run = {.threads = 32, .answer = false, .only = "0.0 f"};
    ptx_expect(run, text, "0.0 fence-proxy\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(barriers_of_a_block),
        cmocka_unit_test(a_diverged_warp_arrives_in_parts),
        cmocka_unit_test(wrong_barriers),
        cmocka_unit_test(a_barrier_that_nobody_completes),
        cmocka_unit_test(reductions),
        cmocka_unit_test(barriers_of_a_warp),
        cmocka_unit_test(barriers_of_a_cluster),
        cmocka_unit_test(fences),
        cmocka_unit_test(phases_of_an_mbarrier),
        cmocka_unit_test(bytes_of_an_mbarrier),
        cmocka_unit_test(states_of_an_mbarrier),
        cmocka_unit_test(mbarriers_of_other_blocks),
        cmocka_unit_test(one_instruction_for_several_mbarriers),
        cmocka_unit_test(a_wait_that_never_ends),
        cmocka_unit_test(lanes_that_wait_for_a_cluster_alone),
        cmocka_unit_test(forms_of_loops),
        cmocka_unit_test(peeks),
        cmocka_unit_test(a_peek_does_not_block_its_own_end),
        cmocka_unit_test(one_loop_for_two_mbarriers),
        cmocka_unit_test(tries_that_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
