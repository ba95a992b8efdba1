/* SPDX-License-Identifier: Apache-2.0
 * Parts of tiles: ranges with a step, and accesses that may touch a part; text, walk, check and
 * cost. */
#include "support/kernels.h"
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "kernel/kernel_builder.h"
#include "spad/check.h"
#include "spad/experimental/sim.h"
#include "spad/experimental/walk.h"

#define START                                      \
    "kernel k on trn2\n"                           \
    "tensor in  : hbm bf16 (128, 64) input\n"      \
    "tensor out : hbm bf16 (128, 64) output\n"     \
    "tensor x : sbuf bf16 (128, 64) at 0\n"        \
    "tensor y : sbuf bf16 (128, 64) at 0\n"        \
    "tensor i : sbuf u32 (128, 1) at 4096 input\n" \
    "tensor z : sbuf bf16 (128, 64) at 8192\n"

/* "CODE: message" of the first finding of a severity; without one, the kernel is proved. */
static void first_finding(const char *text, spad_severity severity, const char *expected) {
    spad_kernel *kernel = test_parse(text);
    spad_check *check;
    spad_error error;
    assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
    char found[512] = "";
    for (size_t i = spad_check_finding_count(check); i-- > 0;) {
        const spad_finding *f = spad_check_get_finding(check, i);
        if (f->severity != severity) continue;
        const bool is_read = f->code == SPAD_FINDING_UNINITIALISED_READ ||
                             f->code == SPAD_FINDING_LIFETIME_CONFLICT ||
                             f->code == SPAD_FINDING_ALIAS_CLASH;
        if (severity == SPAD_SEVERITY_WARNING && !is_read) continue;
        snprintf(found, sizeof found, "%s: %s", spad_finding_name(f->code), f->message);
    }
    assert_string_equal(found, expected);
    const spad_verdict verdict =
        severity == SPAD_SEVERITY_ERROR ? SPAD_VERDICT_WRONG : SPAD_VERDICT_UNKNOWN;
    assert_int_equal(spad_check_get_verdict(check),
                     expected[0] == '\0' ? SPAD_VERDICT_PROVED_SHAPE : verdict);
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
}

static void first_error(const char *text, const char *expected) {
    first_finding(text, SPAD_SEVERITY_ERROR, expected);
}

/* It may be right: nothing is proved, and it is no error. */
static void first_doubt(const char *text, const char *expected) {
    first_finding(text, SPAD_SEVERITY_WARNING, expected);
}

static void written_again(const char *text) {
    spad_kernel *kernel = test_parse(text);
    test_text once;
    test_text twice;
    spad_error error;
    test_text_init(&once);
    test_text_init(&twice);
    assert_ok(spad_kernel_write_text(kernel, &once.sink, &error), &error);
    spad_kernel *again = test_parse(once.bytes);
    assert_ok(spad_kernel_write_text(again, &twice.sink, &error), &error);
    assert_string_equal(once.bytes, twice.bytes);
    assert_string_equal(once.bytes, text);
    test_text_free(&once);
    test_text_free(&twice);
    spad_kernel_destroy(again);
    spad_kernel_destroy(kernel);
}

/* ---- text -------------------------------------------------------------------------- */

static void steps_and_possible_accesses_are_written_and_read(void **state) {
    (void)state;
    written_again(
        "kernel k on trn2\n"
        "param S = 2\n"
        "tensor in : hbm bfloat16 [3] (128, 64) input\n"
        "tensor x : sbuf bfloat16 (128, 8, 8)\n"
        "for n in 0..3 {\n"
        "    dma gather may reads in[n](.., n..64 by S) moves 128 + n, in[0] writes "
        "x(.., .., .. by 4)\n"
        "    dma scatter reads x(.., 0..8 by S * 2, 1) may writes x(.., 7, 1..7 by 3) may "
        "updates x moves 5 may adds x\n"
        "    dma fill agreed writes x, x(.., 0, 1) writes x\n"
        "}\n");
}

static void wrong_steps_and_bytes_are_refused(void **state) {
    (void)state;
    static const char *const wrong[][2] = {
        {"dma a reads x(.., 0..8 by 0)", "the step of a range of 'x' is not a constant"},
        {"for n in 1..4 { dma a reads x(.., 0..8 by n) }", "is not a constant of at least 1"},
        {"dma a reads x(.., 3 by 2)", "',' or ')'"},
        {"dma a reads x(0..8 by 2, ..)", "lanes, which have no step"},
        {"dma a reads x moves 4", "'moves' is for an access that 'may' touch a part"},
        {"dma a may x", "'reads', 'writes', 'updates' or 'adds'"},
        {"dma a may reads x moves n", "'n'"},
        {"dma a agreed reads x", "expected 'writes'"},
        {"dma a reads x(.., 0..8 by n)", "'n'"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char text[1024];
        spad_kernel *kernel;
        spad_error error;
        snprintf(text, sizeof text, START "%s\n", wrong[i][0]);
        assert_int_equal(
            spad_kernel_parse(&kernel, text, strlen(text), "k.spad", NULL, NULL, &error),
            SPAD_ERR_SYNTAX);
        if (strstr(error.message, wrong[i][1]) == NULL) print_error("%s\n", error.message);
        assert_non_null(strstr(error.message, wrong[i][1]));
    }
}

static void calls_refuse_them_as_well(void **state) {
    (void)state;
    spad_error error;
    spad__kernel_builder *b;
    spad_expr one;
    spad_expr two;
    int64_t tensor;
    const spad_target *target;
    const spad_amount dims[] = {{.value = 128}, {.value = 64}};
    assert_ok(spad_target_find(&target, "trn2", &error), &error);
    assert_ok(spad__kernel_builder_create(&b, "k", "", target, NULL, &error), &error);
    assert_ok(spad__kernel_builder_number(&one, b, 1, &error), &error);
    assert_ok(spad__kernel_builder_number(&two, b, 2, &error), &error);
    assert_ok(spad__kernel_builder_tensor(
                  &tensor, b,
                  &(spad_kernel_tensor){
                      .name = "x", .space = 0, .dtype = SPAD_BFLOAT16, .dims = {2, dims}},
                  &error),
              &error);
    assert_ok(spad__kernel_builder_operation(b, "dma", "a", &error), &error);
    spad_expr_range ranges[2] = {{0}, {.from = one, .step = two}};
    spad_kernel_access access = {
        .tensor = tensor, .kind = SPAD_ACCESS_READ, .range_count = 2, .ranges = ranges};
    assert_int_equal(spad__kernel_builder_access(b, &access, &error), SPAD_ERR_SHAPE);
    ranges[1] = (spad_expr_range){.step = 77};
    assert_int_equal(spad__kernel_builder_access(b, &access, &error), SPAD_ERR_UNKNOWN);
    ranges[1] = (spad_expr_range){.step = two};
    access.kind = SPAD_ACCESS_MAY;
    assert_int_equal(spad__kernel_builder_access(b, &access, &error), SPAD_ERR_ARGUMENT);
    access.kind = SPAD_ACCESS_READ | SPAD_ACCESS_MAY;
    access.moves = 77;
    assert_int_equal(spad__kernel_builder_access(b, &access, &error), SPAD_ERR_UNKNOWN);
    access.moves = one;
    assert_ok(spad__kernel_builder_access(b, &access, &error), &error);
    spad__kernel_builder_destroy(b);
}

/* ---- which bytes ------------------------------------------------------------------- */

enum { ROWS = 4, MIDDLE = 6, WIDTH = 5 };

typedef struct cut {
    int from, to, step;
} cut;

/* Elements of the tile (4, 6, 5) in a lane that ranges name. */
static size_t named(const cut *cuts, bool *elements) {
    size_t count = 0;
    memset(elements, 0, ROWS * MIDDLE * WIDTH * sizeof *elements);
    for (int a = cuts[0].from; a < cuts[0].to; a += cuts[0].step)
        for (int b = cuts[1].from; b < cuts[1].to; b += cuts[1].step)
            for (int c = cuts[2].from; c < cuts[2].to; c += cuts[2].step, count++)
                elements[(a * MIDDLE + b) * WIDTH + c] = true;
    return count;
}

/* The walk gives the elements that the ranges name, or says that they are not even. */
static void steps_name_their_elements(void **state) {
    (void)state;
    spad__random random = {7};
    static const int extents[] = {ROWS, MIDDLE, WIDTH};
    int even = 0;
    for (int round = 0; round < 3000; round++) {
        cut cuts[3];
        char text[300];
        for (int d = 0; d < 3; d++) {
            cuts[d].from = (int)spad__random_below(&random, (uint64_t)extents[d]);
            cuts[d].to = cuts[d].from + 1 +
                         (int)spad__random_below(&random, (uint64_t)(extents[d] - cuts[d].from));
            cuts[d].step = 1 + (int)spad__random_below(&random, 3);
        }
        snprintf(text, sizeof text,
                 "kernel k on sm_90\ntensor x : shared u16 (4, 6, 5) at 64 input\n"
                 "simt a reads x(%d..%d by %d, %d..%d by %d, %d..%d by %d)\n",
                 cuts[0].from, cuts[0].to, cuts[0].step, cuts[1].from, cuts[1].to, cuts[1].step,
                 cuts[2].from, cuts[2].to, cuts[2].step);
        spad_kernel *kernel = test_parse(text);
        spad_walk *walk;
        spad_error error;
        const spad_walk_event *event;
        assert_ok(spad_walk_create(&walk, kernel, NULL, &error), &error);
        assert_ok(spad_walk_next(&event, walk, &error), &error);
        const spad_status status = spad_walk_next(&event, walk, &error);
        bool elements[ROWS * MIDDLE * WIDTH];
        const size_t count = named(cuts, elements);
        if (status == SPAD_OK) {
            const spad_walk_access *a = &event->accesses[0];
            even++;
            assert_int_equal(a->runs * a->rect.bytes, 2 * count);
            assert_int_equal(a->moved, 2 * count);
            for (int64_t run = 0; run < a->runs; run++)
                for (int64_t byte = 0; byte < a->rect.bytes; byte++)
                    assert_true(elements[(a->rect.byte - 64 + run * a->stride + byte) / 2]);
        } else {
            assert_int_equal(status, SPAD_ERR_SHAPE);
        }
        spad_walk_destroy(walk);
        spad_kernel_destroy(kernel);
    }
    assert_true(even > 1000 && even < 3000);
}

/* ---- the check --------------------------------------------------------------------- */

static void steps_are_exact_in_the_check(void **state) {
    (void)state;
    /* two names for the same bytes, interleaved: no conflict */
    first_error(START "dma a reads in(.., 0..64 by 2) writes x(.., 0..64 by 2)\n"
                      "dma b reads in(.., 0..64 by 2) writes y(.., 1..64 by 2)\n"
                      "dma c reads x(.., 0..64 by 2) writes out(.., 0..64 by 2)\n"
                      "dma d reads y(.., 1..64 by 2) writes out(.., 1..64 by 2)\n",
                "");
    first_error(START "dma a reads in(.., 0..64 by 2) writes x(.., 0..64 by 2)\n"
                      "dma b reads in writes y(.., 0..64 by 3)\n"
                      "dma c reads x(.., 0..64 by 2) writes out(.., 0..64 by 2)\n",
                "SPAD-LIFETIME-CONFLICT: c reads 'x', but bytes [0, 2) of lanes [0, 128) of sbuf "
                "hold 'y', written by b; place them apart, or read it earlier");
    first_error(START "dma a reads in(.., 0..64 by 2) writes x(.., 0..64 by 2)\n"
                      "dma c reads x writes out\n",
                "SPAD-UNINITIALISED-READ: c reads 'x', but nothing has written bytes [2, 4) of "
                "lanes [0, 128) of sbuf; write it first, or declare it as input");
}

static void what_may_be_written_is_not_certain(void **state) {
    (void)state;
    /* it does not initialise */
    first_doubt(START "dma a reads in may writes x moves 512\n"
                      "dma c reads x writes out\n",
                "SPAD-UNINITIALISED-READ: c reads 'x', but it is not certain that a, which may "
                "write 'x', has written bytes [0, 128) of lanes [0, 128) of sbuf; write all of it "
                "first, or declare it as input");
    /* what is there stays the tile's own */
    first_error(START "dma a reads in writes x\n"
                      "dma b reads in, i may writes x(.., 8..64)\n"
                      "dma c reads x writes out\n",
                "");
    /* and of another tile it is overwritten */
    first_doubt(START "dma a reads in writes x\n"
                      "dma b reads in may writes y(.., 0..8)\n"
                      "dma c reads x writes out\n",
                "SPAD-LIFETIME-CONFLICT: c reads 'x', but bytes [0, 16) of lanes [0, 128) of sbuf "
                "may hold 'y', written by b; place them apart, or read it earlier");
    /* written for certain afterwards */
    first_error(START "dma a reads in may writes x\n"
                      "dma b reads in writes x\n"
                      "dma c reads x writes out\n",
                "");
    /* an update wants what is there */
    first_error(START "dma a reads in may updates x\n"
                      "dma b reads in writes out\n",
                "SPAD-UNINITIALISED-READ: a may read 'x', but nothing has written bytes [0, 128) "
                "of lanes [0, 128) of sbuf; write it first, or declare it as input");
}

static void what_may_be_read_must_be_there(void **state) {
    (void)state;
    first_error(START "dma a reads in writes x\n"
                      "dma c may reads x moves 4 KiB writes z\n"
                      "dma d reads z writes out\n",
                "");
    first_doubt(START "dma a reads in(.., 0..32) writes x(.., 0..32)\n"
                      "dma c may reads x writes z\n"
                      "dma d reads z writes out\n",
                "SPAD-UNINITIALISED-READ: c may read 'x', but nothing has written bytes [64, 128) "
                "of lanes [0, 128) of sbuf; write it first, or declare it as input");
    first_doubt(START "dma a reads in writes x\n"
                      "dma b reads in(.., 0..9) writes y(.., 0..9)\n"
                      "dma c may reads x writes z\n"
                      "dma d reads z writes out\n",
                "SPAD-LIFETIME-CONFLICT: c may read 'x', but bytes [0, 18) of lanes [0, 128) of "
                "sbuf hold 'y', written by b; place them apart, or read it earlier");
}

/* Outputs need not be written in all places for certain; names that are never written show what
 * all names of a storage have left. */
static void possible_writes_of_outputs_and_under_other_names(void **state) {
    (void)state;
    first_error(START "dma a reads in may writes out\n", "");
    first_error(START "tensor v : sbuf bf16 (128, 32) alias of x\n"
                      "tensor w : sbuf bf16 (128, 64) alias of x\n"
                      "dma a reads in writes x\n"
                      "dma b reads in may writes v moves 64\n"
                      "dma c reads w writes out\n",
                "");
    first_doubt(START "tensor v : sbuf bf16 (128, 32) alias of x\n"
                      "tensor w : sbuf bf16 (128, 64) alias of x\n"
                      "dma a reads in writes x\n"
                      "dma b reads in may writes v moves 64\n"
                      "dma c reads x writes out\n",
                "SPAD-ALIAS-CLASH: c reads 'x', but bytes [0, 64) of lanes [0, 128) of sbuf may "
                "hold 'v', written by b; read it before the other name is written, or give it "
                "bytes of its own");
    first_doubt(START "tensor v : sbuf bf16 (128, 32) alias of x\n"
                      "tensor w : sbuf bf16 (128, 64) alias of x\n"
                      "dma a reads in(.., 0..32) writes x(.., 32..64)\n"
                      "dma b reads in may writes v\n"
                      "dma c reads w writes out\n",
                "SPAD-UNINITIALISED-READ: c reads 'w', but it is not certain that b, which may "
                "write 'v', has written bytes [0, 64) of lanes [0, 128) of sbuf; write all of it "
                "first, or declare it as input");
}

/* Two agents: writes of one value may come in any order, and conflict with all others. */
static void agreed_writes_do_not_race(void **state) {
    (void)state;
    static const struct {
        const char *other;
        int64_t errors;
        int64_t warnings;
    } rows[] = {{"agreed writes s", 0, 1}, {"writes s", 1, 0}, {"reads s", 1, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "kernel k on sm_90\nbarrier b count 2\ntensor s : shared f32 (64) input\n"
                 "tensor o : global f32 (64) output\n"
                 "agent p { simt one agreed writes s; sync b }\n"
                 "agent q { simt two %s; sync b; simt three reads s writes o }\n",
                 rows[i].other);
        spad_kernel *kernel = test_parse(text);
        spad_check *check;
        spad_error error;
        assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
        assert_int_equal(spad_check_get_counts(check).errors, rows[i].errors);
        assert_int_equal(spad_check_get_counts(check).warnings, rows[i].warnings);
        spad_check_destroy(check);
        spad_kernel_destroy(kernel);
    }
}

/* Two agents: a possible access conflicts like one of the whole part; adds do not among
 * themselves. */
static void possible_accesses_race(void **state) {
    (void)state;
    static const char *const accesses[][2] = {
        {"may writes s", "SPAD-RACE"}, {"may reads s", ""}, {"may adds s", "SPAD-RACE"}};
    for (size_t i = 0; i < 3; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "kernel k on sm_90\nbarrier b count 2\n"
                 "tensor s : shared f32 (64) input\n"
                 "agent p { simt one %s; sync b }\nagent q { simt two may reads s; sync b }\n",
                 accesses[i][0]);
        spad_kernel *kernel = test_parse(text);
        spad_check *check;
        spad_error error;
        assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
        const bool races = accesses[i][1][0] != '\0';
        assert_int_equal(spad_check_get_counts(check).errors, 0);
        assert_int_equal(spad_check_get_verdict(check),
                         races ? SPAD_VERDICT_UNKNOWN : SPAD_VERDICT_PROVED_SHAPE);
        for (size_t k = 0; races && k < spad_check_finding_count(check); k++) {
            const spad_finding *f = spad_check_get_finding(check, k);
            if (f->severity != SPAD_SEVERITY_WARNING) continue;
            assert_string_equal(spad_finding_name(f->code), accesses[i][1]);
        }
        spad_check_destroy(check);
        spad_kernel_destroy(kernel);
    }
    spad_kernel *kernel = test_parse("kernel k on sm_90\nbarrier b count 2\n"
                                     "tensor s : shared f32 (64) input\n"
                                     "agent p { simt one may adds s; sync b }\n"
                                     "agent q { simt two adds s; sync b }\n");
    spad_check *check;
    spad_error error;
    assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
    assert_int_equal(spad_check_get_counts(check).errors, 0);
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
}

/* A loop of them is proved for every trip count. */
static void proofs_cover_possible_writes(void **state) {
    (void)state;
    test_check_ends("kernel k on trn2\nparam N = 9\n"
                    "tensor in : hbm bf16 [N] (128, 64) input\n"
                    "tensor out : hbm bf16 [N] (128, 64) output\n"
                    "tensor x : sbuf bf16 [N] (128, 64) ring 2\n"
                    "for n in 0..N {\n"
                    "    dma a reads in[n] writes x[n]\n"
                    "    dma b reads in[n](.., 0..64 by 8) may writes x[n] moves 1 KiB\n"
                    "    dma c reads x[n] writes out[n]\n}\n",
                    SPAD_VERDICT_PROVED_ALL);
}

/* ---- cost -------------------------------------------------------------------------- */

static int64_t makespan(const char *line) {
    char text[512];
    snprintf(text, sizeof text,
             "kernel k on trn2\ntensor in : hbm bf16 (128, 65536) input\n"
             "tensor x : sbuf bf16 (128, 4096) input\n%s\n",
             line);
    spad_kernel *kernel = test_parse(text);
    spad_sim *sim;
    spad_error error;
    assert_ok(spad_sim_create(&sim, kernel, NULL, &error), &error);
    const int64_t time = spad_sim_get_totals(sim).makespan;
    spad_sim_destroy(sim);
    spad_kernel_destroy(kernel);
    return time;
}

static void moved_bytes_decide_the_time(void **state) {
    (void)state;
    const int64_t exact = makespan("dma a reads in(.., 0..4096) writes x");
    assert_int_equal(makespan("dma a may reads in moves 1 MiB writes x"), exact);
    assert_true(makespan("dma a may reads in writes x") > 8 * exact);
    assert_true(makespan("vector a may reads x moves 16 KiB may writes x moves 16 KiB") <
                makespan("vector a may reads x may writes x moves 16 KiB"));
    spad_kernel *kernel = test_parse("kernel k on trn2\ntensor x : sbuf bf16 (128, 64) input\n"
                                     "for n in 0..2 { dma a may reads x moves 0 - n * 5 }\n");
    spad_walk *walk;
    spad_error error;
    const spad_walk_event *event;
    spad_status status = SPAD_OK;
    assert_ok(spad_walk_create(&walk, kernel, NULL, &error), &error);
    for (int i = 0; i < 6 && status == SPAD_OK; i++) status = spad_walk_next(&event, walk, &error);
    assert_int_equal(status, SPAD_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "bytes moved of -5; iteration n = 1"));
    spad_walk_destroy(walk);
    spad_kernel_destroy(kernel);
}

/* ---- memory ------------------------------------------------------------------------ */

static void every_allocation_may_fail(void **state) {
    (void)state;
    test_read_without_memory(START "dma a reads in(.., 0..64 by 2) writes x(.., 0..64 by 2)\n"
                                   "dma b reads in may writes y(.., 0..64 by 3)\n"
                                   "dma e reads in may writes x\n"
                                   "dma c may reads x moves 64 writes out\n",
                             test_use_check);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_and_possible_accesses_are_written_and_read),
        cmocka_unit_test(wrong_steps_and_bytes_are_refused),
        cmocka_unit_test(calls_refuse_them_as_well),
        cmocka_unit_test(steps_name_their_elements),
        cmocka_unit_test(steps_are_exact_in_the_check),
        cmocka_unit_test(what_may_be_written_is_not_certain),
        cmocka_unit_test(what_may_be_read_must_be_there),
        cmocka_unit_test(possible_writes_of_outputs_and_under_other_names),
        cmocka_unit_test(agreed_writes_do_not_race),
        cmocka_unit_test(possible_accesses_race),
        cmocka_unit_test(proofs_cover_possible_writes),
        cmocka_unit_test(moved_bytes_decide_the_time),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
