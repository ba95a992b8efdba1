/* SPDX-License-Identifier: Apache-2.0
 *
 * The executor of the tests (support/executor.h) on kernels whose answer is known: the rules
 * one by one, and the classic mistakes of ring pipelines.
 */
#include "support/kernels.h"
#include "support/support.h"

#include <string.h>

#include "spad/experimental/kernel_rows.h"
#include "support/executor.h"

/* What all kernels here begin with. */
static const char prelude[] = "kernel k on sm_90\n"
                              "unit uf on simt free\n"
                              "unit uq on simt fifo\n"
                              "unit us on simt serial\n"
                              "unit um on simt same\n"
                              "unit up on simt free proxy\n"
                              "counter c\n"
                              "counter d[2] = 1\n"
                              "barrier r count 2\n"
                              "mbarrier m count 1\n"
                              "group g\n"
                              "tensor x : shared u8 [4] (8) ring 2\n"
                              "tensor y : shared u8 (8) at 64 input\n"
                              "tensor z : shared u8 (8) at 68\n"
                              "tensor w : shared u8 (8)\n"
                              "tensor v : shared u8 (8) alias of w\n"
                              "tensor o : global u8 [4] (8) output\n";

static executor_result run(const char *statements) {
    char text[4096];
    strcpy(text, prelude);
    strcat(text, statements);
    spad_kernel *kernel = test_parse(text);
    const executor_result plain = executor_run(kernel, &(executor_options){.plain = true});
    const executor_result result = executor_run(kernel, NULL);
    assert_true(result.decided && plain.decided);
    assert_int_equal(result.wrong == 0, plain.wrong == 0);
    spad_kernel_destroy(kernel);
    return result;
}

static void expect(unsigned wrong, const char *statements) {
    const executor_result result = run(statements);
    if (result.wrong != wrong) {
        print_error("%s is %s (%s), not %s\n", statements, executor_word(result.wrong),
                    result.about, executor_word(wrong));
    }
    assert_int_equal(result.wrong, wrong);
}

static void contents_of_memory(void **state) {
    (void)state;
    expect(0, "simt a writes x[0]; simt b reads x[0]");
    expect(0, "simt a reads y"); /* an input */
    expect(EXECUTOR_UNWRITTEN, "simt a reads w");
    expect(EXECUTOR_UNWRITTEN, "simt a writes w(0..4); simt b reads w");
    expect(0, "simt a writes w(0..4); simt b writes w(4..8); simt c2 reads w");
    expect(EXECUTOR_STALE, "simt a writes x[0]; simt b writes x[2]; simt c2 reads x[0]");
    expect(0, "simt a writes x[0]; simt b writes x[1]; simt c2 reads x[0]");
    expect(EXECUTOR_STALE, "simt a writes z; simt b reads y"); /* bytes 68 to 71 */
    expect(0, "simt a writes z; simt b reads y(0..4)");
    expect(0, "simt a writes w; simt b reads v"); /* never written itself: a view */
    expect(EXECUTOR_STALE, "simt a writes w; simt b reads v; simt c2 writes v; simt d2 reads w");
    expect(EXECUTOR_STALE, "for i in 0..2 { tensor t : shared u8 (4)\n"
                           "if i == 0 { simt a writes t }\nsimt b reads t }");
    expect(EXECUTOR_UNWRITTEN, "simt a updates w");
    expect(EXECUTOR_FREED, "alloc w; simt a writes w; free w; simt b reads w");
    expect(EXECUTOR_FREED, "alloc w; free w; free w");
    expect(EXECUTOR_FREED, "simt a writes w; alloc w");
    expect(EXECUTOR_OUTPUT, "tensor p : shared u8 [2] (8) ring 1 output\n"
                            "simt a writes p[0]; simt b writes p[1]");
}

static void units_and_groups(void **state) {
    (void)state;
    expect(EXECUTOR_RACE, "uf a writes w; simt b reads w");
    expect(0, "uf a writes w in g; commit g; wait g pending 0; simt b reads w");
    expect(EXECUTOR_RACE, "uf a writes w in g; commit g; wait g pending 1; simt b reads w");
    expect(EXECUTOR_RACE, "uf a writes w in g; wait g pending 0; simt b reads w");
    expect(EXECUTOR_RACE, "uf a writes w in g; commit g; wait g pending 0 reads; simt b reads w");
    expect(0, "uf a reads y in g; commit g; wait g pending 0 reads; simt b writes y");
    expect(EXECUTOR_RACE, "uf a writes w; uf b reads w");
    expect(EXECUTOR_RACE, "uq a writes w; uq b reads w");
    expect(0, "us a writes w; us b reads w; drain all");
    expect(0, "um a writes w; um b updates w; drain all");
    expect(EXECUTOR_RACE, "us a writes w; us b reads w; simt c2 writes w");
    expect(0, "uq a writes w; drain uq; uq b reads w; drain all");
    expect(EXECUTOR_RACE, "uq a writes w; drain uq; simt b reads w");
    expect(0, "uq a writes w; drain all; simt b reads w");
    expect(0, "uf a writes w signals c; wait c >= 1; simt b reads w");
    expect(EXECUTOR_RACE,
           "uf a reads y writes w signals c after reads; wait c >= 1; simt b reads w");
    expect(0,
           "uf a reads y writes w signals c after reads; wait c >= 1; simt b writes y; drain all");
    expect(0, "uf a writes w; signal c on uf; wait c >= 1; simt b reads w");
    expect(EXECUTOR_RACE, "uf a writes w; signal c on uq; wait c >= 1; simt b reads w");
    expect(0, "uq a writes w signals c; wait c >= 1 on us; us b reads w; drain all");
}

static void agents_and_counters(void **state) {
    (void)state;
    expect(EXECUTOR_RACE, "agent a { simt a writes w }\nagent b { simt b writes w }");
    expect(0, "agent a { simt a writes w; signal c }\nagent b { wait c >= 1; simt b reads w }");
    expect(EXECUTOR_STUCK, "agent a { signal c }\nagent b { wait c >= 2 }");
    expect(0, "simt a writes w\nagent a { simt b reads w }\nagent b { simt c2 reads w }\n"
              "simt d2 writes w");
    expect(EXECUTOR_RACE,
           "agent a { uf a writes w }\nsimt b reads w"); /* join waits for none of them */
    /* two signals are needed and there are two: both come before; one of three does not */
    expect(0, "agent a { simt a writes w; signal c }\nagent b { signal c }\n"
              "agent e { wait c >= 2; simt b reads w }");
    expect(EXECUTOR_RACE, "agent a { simt a writes w; signal c }\nagent b { signal c; signal c }\n"
                          "agent e { wait c >= 2; simt b reads w }");
    /* slots that are taken and given back */
    expect(0, "agent a { for i in 0..3 { take d[0]; simt a writes x[0]; signal c } }\n"
              "agent b { for i in 0..3 { wait c >= i + 1; simt b reads x[0]; signal d[0] } }");
    expect(EXECUTOR_RACE, "agent a { for i in 0..3 { simt a writes x[0]; signal c } }\n"
                          "agent b { for i in 0..3 { wait c >= i + 1; simt b reads x[0] } }");
    assert_true(run("agent a { take d[1] }\nagent b { signal d[1]; take d[1] }").takers);
    assert_true(run("take d[0]; signal d[0] on uf; signal d[0]").leftover);
}

static void barriers(void **state) {
    (void)state;
    expect(0, "agent a { simt a writes w; sync r }\nagent b { sync r; simt b reads w }");
    expect(0, "agent a { simt a writes w; arrive r }\nagent b { sync r; simt b reads w }");
    expect(EXECUTOR_RACE,
           "agent a { simt a writes w; sync r }\nagent b { arrive r; simt b reads w }"
           "\n");
    expect(EXECUTOR_RACE, "agent a { sync r; simt a writes w }\nagent b { sync r; simt b reads y\n"
                          "simt c2 writes w }");
    expect(EXECUTOR_RACE, "agent a { uf a writes w; sync r }\nagent b { sync r; simt b reads w }");
    expect(EXECUTOR_STUCK, "agent a { sync r }\nagent b { simt a reads y }");
    expect(EXECUTOR_BARRIER, "agent a { arrive r; arrive r }");
    expect(EXECUTOR_BARRIER, "agent a { arrive r }\nagent b { sync r by 2 }");
}

static void mbarriers(void **state) {
    (void)state;
    expect(0, "init m\nagent a { simt a writes w; arrive m }\nagent b { wait m parity 0\n"
              "simt b reads w }");
    expect(0, "init m; wait m parity 1"); /* a fresh barrier: the phase before has parity 1 */
    expect(EXECUTOR_STUCK, "init m; wait m parity 0");
    expect(EXECUTOR_STUCK, "init m\nagent a { arrive m }\nagent b { wait m parity 1 }");
    expect(EXECUTOR_STUCK, "init m\nagent a { arrive m; arrive m }\nagent b { wait m parity 0 }");
    expect(EXECUTOR_PARITY, "init m\nagent a { arrive m; arrive m }\nagent b { wait m parity 1 }");
    expect(EXECUTOR_MBARRIER, "arrive m");
    expect(EXECUTOR_MBARRIER, "init m; init m");
    expect(EXECUTOR_MBARRIER, "init m; invalidate m; wait m parity 1");
    expect(EXECUTOR_MBARRIER, "init m\nagent a { arrive m }\nagent b { invalidate m }");
    expect(0, "init m; invalidate m; init m count 2; arrive m; arrive m; wait m parity 0");
    expect(EXECUTOR_MBARRIER, "init m count 2; arrive m by 3");
    /* bytes: before or after the arrival that expects them */
    expect(0, "init m; fence; arrive m expect 8; up a writes w delivers m; wait m parity 0\n"
              "simt b reads w");
    expect(0, "init m; fence; up a writes w delivers m; arrive m expect 8; wait m parity 0\n"
              "simt b reads w");
    expect(EXECUTOR_STUCK, "init m; arrive m expect 9; uf a writes w delivers m; wait m parity 0");
    expect(EXECUTOR_MBARRIER, "init m\nagent a { expect m by 8 }\nagent b { arrive m }");
    expect(0, "init m\nagent a { uf a writes w; arrive m on uf }\n"
              "agent b { wait m parity 0; simt b reads w }");
    expect(EXECUTOR_RACE, "init m\nagent a { uf a writes w; arrive m }\n"
                          "agent b { wait m parity 0; simt b reads w }");
}

static void fences(void **state) {
    (void)state;
    expect(EXECUTOR_FENCE, "simt a writes w; up b reads w");
    expect(0, "simt a writes w; fence; up b reads w; drain all");
    expect(0, "up a writes w in g; commit g; wait g pending 0; simt b reads w");
    expect(0, "agent a { simt a writes w; fence; arrive r }\n"
              "agent b { sync r; up b reads w; drain all }");
    expect(EXECUTOR_FENCE, "agent a { fence; simt a writes w; arrive r }\n"
                           "agent b { sync r; up b reads w }");
    expect(0, "init m; arrive m expect 8; up a writes w delivers m; wait m parity 0");
    assert_true(run("simt a reads y; up b writes y; drain all").read_to_async);
}

/* The memory of a block must not be in use on a unit when its agents have ended. */
static void ends_of_blocks(void **state) {
    (void)state;
    expect(EXECUTOR_UNFINISHED, "up a writes w");
    expect(0, "uf a writes w"); /* into its own block, where nobody reads it */
    expect(EXECUTOR_UNFINISHED, "uf a reads y");
    expect(0, "uf a writes w; drain all");
    expect(EXECUTOR_UNFINISHED, "up a writes w; drain up");
    expect(0, "uf a writes o[0]"); /* off the chip */
    /* what comes later on the unit is no wait of an agent */
    expect(EXECUTOR_UNFINISHED, "us a writes w; us b reads w");
    expect(EXECUTOR_UNFINISHED, "uf a writes w signals c; wait c >= 1 on us");
    expect(0, "uf a writes w signals c; wait c >= 1");
    expect(EXECUTOR_UNFINISHED, "uf a writes w signals c; signal c; wait c >= 1");
    expect(0, "uf a writes w signals c; signal c; wait c >= 2");
    expect(EXECUTOR_UNFINISHED, "up a writes w in g; commit g; wait g pending 1");
    expect(EXECUTOR_UNFINISHED, "up a writes w in g; commit g; wait g pending 0 reads");
    expect(0, "uf a reads y writes o[0] in g; commit g; wait g pending 0 reads");
    expect(0, "agent a { uf a writes w signals c }\nagent b { wait c >= 1 }");
    expect(EXECUTOR_UNFINISHED, "agent a { up a writes w }\nagent b { drain all }");
}

/* A ring of two slots, six times around; `empty` and `full` as in the tutorials. */
static const char ring[] = "mbarrier full[2] count 1\n"
                           "mbarrier empty[2] count 1\n"
                           "tensor a : global u8 [6] (8) input\n"
                           "tensor s : shared u8 [6] (8) ring %s\n"
                           "for i in 0..2 { init full[i]; init empty[i] }\n"
                           "fence\n"
                           "agent producer { for k in 0..6 {\n"
                           "    wait empty[k %% 2] parity %s\n"
                           "    arrive full[k %% 2] expect %s\n"
                           "    up load reads a[k] writes s[k] delivers full[k %% 2]\n"
                           "} }\n"
                           "agent consumer { for k in 0..6 {\n"
                           "    wait full[k %% 2] parity %s\n"
                           "    um mma reads s[k] in g\n"
                           "    commit g\n"
                           "    wait g pending %s\n"
                           "    arrive empty[k %% 2]\n"
                           "} }\n";

static void expect_ring(unsigned wrong, const char *depth, const char *empty, const char *bytes,
                        const char *full, const char *pending) {
    char text[2048];
    snprintf(text, sizeof text, ring, depth, empty, bytes, full, pending);
    expect(wrong, text);
}

static void classic_mistakes_of_a_ring(void **state) {
    (void)state;
    const char *e = "(k / 2 + 1) % 2";
    const char *f = "k / 2 % 2";
    expect_ring(0, "2", e, "8", f, "0");
    expect_ring(0, "3", e, "8", f, "0");
    expect_ring(EXECUTOR_RACE, "1", e, "8", f, "0");
    expect_ring(EXECUTOR_STUCK, "2", f, "8", f, "0");
    expect_ring(EXECUTOR_STUCK, "2", e, "16", f, "0");
    expect_ring(EXECUTOR_RACE, "2", e, "8", f, "1"); /* released while it is read */
    assert_int_not_equal(
        run("init m\nagent a { arrive m; arrive m }\nagent b { wait m parity 1 }").wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contents_of_memory),  cmocka_unit_test(units_and_groups),
        cmocka_unit_test(agents_and_counters), cmocka_unit_test(barriers),
        cmocka_unit_test(mbarriers),           cmocka_unit_test(fences),
        cmocka_unit_test(ends_of_blocks),      cmocka_unit_test(classic_mistakes_of_a_ring),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
