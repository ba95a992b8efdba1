/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops of executed launches: what they are, which argument decides the trip counts, and that a
 * kernel with loops has the verdict of its straight line, also with one synchronising instruction
 * of the program left out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/kernel.h"
#include "spad/check.h"
#include "spad/experimental/kernel_rows.h"
#include "spad/experimental/ptx.h"
#include "support/files.h"
#include "support/support.h"

enum { WORDS = 4 };

typedef struct fixture {
    const char *file;
    const char *kernel;
    uint32_t threads;
    uint32_t cluster;
    int64_t shared;
    const char *words[WORDS];
} fixture;

static const fixture ring = {
    "copies.ptx", "ring_sum", 160, 1, 0, {"in=f32[9,256]", "out=f32[128]", "tiles=9"}};
static const fixture early = {
    "copies.ptx", "ring_sum_early", 160, 1, 0, {"in=f32[9,256]", "out=f32[128]", "tiles=9"}};
static const fixture peers = {
    "ring.ptx", "ring", 64,
    2,          4096,   {"map=tensormap:f32[64,256],box[1,256]", "out=f32[64]", "tiles=11"}};
static const fixture pipeline = {"pipeline.ptx",
                                 "pipeline",
                                 288,
                                 1,
                                 61000,
                                 {"a=tensormap:bf16[128,1024],box[128,64],swizzle128",
                                  "b=tensormap:bf16[16,1024],box[8,64],swizzle128",
                                  "c=tensormap:bf16[128,16],box[64,16]", "steps=14"}};
static const fixture pair = {"pipeline.ptx",
                             "pipeline",
                             288,
                             2,
                             61000,
                             {"a=tensormap:bf16[256,1024],box[128,64],swizzle128",
                              "b=tensormap:bf16[16,1024],box[8,64],swizzle128",
                              "c=tensormap:bf16[256,16],box[64,16]", "steps=14"}};

static char *text_of(const fixture *f) {
    char path[128];
    snprintf(path, sizeof path, "tests/ptx/%s", f->file);
    return test_read_file(path);
}

static spad_status run_text(spad_ptx_run **out, spad_ptx **ptx, const fixture *f, const char *text,
                            bool straight, const spad_host *host) {
    const spad_kernel_options options = {.host = host};
    spad_ptx_launch launch = {.grid = {f->cluster, 1, 1},
                              .block = {f->threads, 1, 1},
                              .cluster = {f->cluster, 1, 1},
                              .dynamic_shared_bytes = f->shared,
                              .arguments = f->words,
                              .straight = straight,
                              .most_steps = 1000000};
    *out = NULL;
    *ptx = NULL;
    while (launch.argument_count < WORDS && f->words[launch.argument_count] != NULL)
        launch.argument_count++;
    spad_status status = spad_ptx_create(ptx, text, strlen(text), f->file, host, NULL, NULL);
    if (status == SPAD_OK) status = spad_ptx_find_kernel(&launch.kernel, *ptx, f->kernel, NULL);
    return status == SPAD_OK ? spad_ptx_run_create(out, *ptx, &launch, &options, NULL) : status;
}

/* A launch that can be executed. */
typedef struct launched {
    spad_ptx *ptx;
    spad_ptx_run *run;
    spad_kernel *kernel;
    spad_check *check;
} launched;

static bool launch_text(launched *out, const fixture *f, const char *text, bool straight) {
    const spad_check_options options = {.no_advice = true, .one_shape = true};
    *out = (launched){0};
    if (run_text(&out->run, &out->ptx, f, text, straight, NULL) != SPAD_OK) return false;
    out->kernel = spad_ptx_run_take_kernel(out->run);
    return spad_check_create(&out->check, out->kernel, &options, NULL) == SPAD_OK;
}

static void launched_free(launched *l) {
    spad_check_destroy(l->check);
    spad_kernel_destroy(l->kernel);
    spad_ptx_run_destroy(l->run);
    spad_ptx_destroy(l->ptx);
}

static launched launch_of(const fixture *f) {
    launched out;
    char *text = text_of(f);
    assert_true(launch_text(&out, f, text, false));
    free(text);
    return out;
}

/* ---- loops and parameters ------------------------------------------------------------- */

static void an_argument_decides_trip_counts(void **state) {
    (void)state;
    launched l = launch_of(&ring);
    assert_int_equal(spad_kernel_param_count(l.kernel), 1);
    assert_string_equal(spad_kernel_get_param(l.kernel, 0)->name, "tiles");
    assert_int_equal(spad_kernel_get_param(l.kernel, 0)->value, 9);
    assert_string_equal(spad_ptx_run_get_folding(l.run),
                        "5 loops; the trip counts follow from argument 'tiles': launches with "
                        "10 and 16 instead of 9 repeat the same iterations");
    assert_int_equal(spad_ptx_run_get_counts(l.run).loops, 5);
    assert_non_null(strstr(spad__kernel_get_assumption(l.kernel),
                           ", and 'tiles' is at least 1, and for values other than 1, 2, 3, 4, 9, "
                           "10 and 16 the warps repeat the same iterations"));
    spad_check *all;
    assert_int_equal(spad_check_create(&all, l.kernel, NULL, NULL), SPAD_OK);
    assert_int_equal(spad_check_get_verdict(all), SPAD_VERDICT_PROVED_ALL);
    spad_check_destroy(all);
    launched_free(&l);
}

/* A text with an instruction after the one that loads the number of tiles. */
static char *text_with(const fixture *f, const char *instruction) {
    static const char load[] = "ld.param.u32 \t%r31, [ring_sum_param_2];";
    char *text = text_of(f);
    const size_t size = strlen(text) + strlen(instruction) + 1;
    char *changed = malloc(size);
    char *at = strstr(text, load);
    assert_non_null(at);
    assert_non_null(changed);
    snprintf(changed, size, "%.*s%s%s%s", (int)(at - text), text, load, instruction,
             at + sizeof load - 1);
    free(text);
    return changed;
}

/* A program that divides its argument by four: a trip count more is four more of the argument. */
static void a_part_of_an_argument_is_called_trips(void **state) {
    (void)state;
    fixture divided = ring;
    char *text = text_with(&ring, " shr.u32 %r31, %r31, 2;");
    divided.words[2] = "tiles=36";
    launched l;
    assert_true(launch_text(&l, &divided, text, false));
    assert_int_equal(spad_kernel_param_count(l.kernel), 0); /* 40 needs ten rows of `in` */
    launched_free(&l);
    divided.words[0] = "in=f32[64,256]";
    assert_true(launch_text(&l, &divided, text, false));
    assert_int_equal(spad_kernel_param_count(l.kernel), 1);
    assert_string_equal(spad_kernel_get_param(l.kernel, 0)->name, "trips");
    assert_int_equal(spad_kernel_get_param(l.kernel, 0)->value, 9);
    assert_non_null(
        strstr(spad__kernel_get_assumption(l.kernel),
               "'tiles' is at least 4 and a multiple of 4, and for values other than 4, "
               "8, 12, 16, 36, 40 and 64 the"));
    launched_free(&l);
    free(text);
}

/* A program with three iterations at least, which the loops have not for one and two. */
static void an_assumption_begins_after_other_short_loops(void **state) {
    (void)state;
    char *text = text_with(&ring, " max.u32 %r31, %r31, 3;");
    fixture wide = ring;
    wide.words[0] = "in=f32[64,256]";
    launched l;
    assert_true(launch_text(&l, &wide, text, false));
    assert_int_equal(spad_kernel_param_count(l.kernel), 1);
    assert_non_null(strstr(spad__kernel_get_assumption(l.kernel),
                           "'tiles' is at least 3, and for values other than 3, 4, 9, 10 and 16 "));
    launched_free(&l);
    free(text);
}

/* Two blocks with barriers of their own. */
static void clusters_have_parameters(void **state) {
    (void)state;
    launched l = launch_of(&pair);
    assert_int_equal(spad_kernel_param_count(l.kernel), 1);
    assert_string_equal(spad_kernel_get_param(l.kernel, 0)->name, "steps");
    launched_free(&l);
}

static void what_no_argument_decides_has_numbers(void **state) {
    (void)state;
    fixture fixed = ring;
    fixed.words[2] = "tiles=0x9"; /* a number in another form is not changed */
    launched l = launch_of(&fixed);
    assert_int_equal(spad_kernel_param_count(l.kernel), 0);
    assert_true(spad_kernel_loop_count(l.kernel) > 0);
    assert_string_equal(spad_ptx_run_get_folding(l.run),
                        "5 loops; no argument is known to decide the trip counts");
    assert_null(strstr(spad__kernel_get_assumption(l.kernel), "iterations"));
    assert_int_equal(spad_check_get_verdict(l.check), SPAD_VERDICT_PROVED_SHAPE);
    launched_free(&l);
    fixed.words[2] = "tiles=2";
    l = launch_of(&fixed);
    assert_int_equal(spad_kernel_loop_count(l.kernel), 0);
    assert_string_equal(spad_ptx_run_get_folding(l.run),
                        "no loops: no warp repeats anything three times");
    launched_free(&l);
}

/* The next tile would be outside of the buffer, which has two rows for each. */
static void launches_with_faults_are_no_evidence(void **state) {
    (void)state;
    fixture narrow = ring;
    narrow.words[0] = "in=f32[2304]";
    launched l = launch_of(&narrow);
    assert_int_equal(spad_kernel_param_count(l.kernel), 0);
    launched_free(&l);
}

/* ---- verdicts ------------------------------------------------------------------------- */

static void expect_same_verdict(const fixture *f, const char *text, int *errors, int *loops) {
    launched straight, folded;
    const bool one = launch_text(&straight, f, text, true);
    const bool two = launch_text(&folded, f, text, false);
    assert_int_equal(one, two);
    if (one) {
        const bool wrong = spad_check_get_counts(straight.check).errors > 0;
        assert_int_equal(spad_check_get_counts(folded.check).errors > 0, wrong);
        assert_int_equal(spad_check_get_verdict(folded.check),
                         spad_check_get_verdict(straight.check));
        assert_int_equal(spad_kernel_loop_count(straight.kernel), 0);
        *errors += wrong;
        *loops += spad_kernel_loop_count(folded.kernel) > 0;
    }
    launched_free(&folded);
    launched_free(&straight);
}

static bool is_sync_line(const char *line, size_t length) {
    static const char *const words[] = {"mbarrier.arrive",   "mbarrier.try_wait",
                                        "mbarrier.init",     "fence.",
                                        "bar.sync",          "barrier.",
                                        "wgmma.fence",       "wgmma.commit",
                                        "wgmma.wait",        "cp.async.bulk.commit",
                                        "cp.async.bulk.wait"};
    char copy[256];
    snprintf(copy, sizeof copy, "%.*s", (int)(length < 255 ? length : 255), line);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strstr(copy, words[i]) != NULL) return true;
    }
    return false;
}

/* Each synchronising line of the kernel left out. */
static void mutants_have_the_verdict_of_their_straight_line(const fixture *f, int least) {
    char *text = text_of(f);
    char entry[64];
    int errors = 0, loops = 0, mutants = 0;
    snprintf(entry, sizeof entry, ".entry %s(", f->kernel);
    char *at = strstr(text, entry);
    assert_non_null(at);
    expect_same_verdict(f, text, &errors, &loops);
    assert_int_equal(loops, 1);
    while (*at != '\0' && *at != '}') {
        char *end = strchr(at, '\n');
        if (end == NULL) break;
        if (is_sync_line(at, (size_t)(end - at))) {
            char kept[2] = {at[0], at[1]};
            at[0] = at[1] = '/';
            expect_same_verdict(f, text, &errors, &loops);
            mutants++;
            memcpy(at, kept, sizeof kept);
        }
        at = end + 1;
        if (strncmp(at, "\n.", 2) == 0) break; /* the next function */
    }
    assert_true(mutants > 3);
    assert_true(errors >= least);
    free(text);
}

static void mutants_of_a_ring(void **state) {
    (void)state;
    mutants_have_the_verdict_of_their_straight_line(&ring, 2);
    mutants_have_the_verdict_of_their_straight_line(&early, 2);
}

static void mutants_of_a_cluster(void **state) {
    (void)state;
    mutants_have_the_verdict_of_their_straight_line(&peers, 2);
}

static void mutants_of_a_product(void **state) {
    (void)state;
    mutants_have_the_verdict_of_their_straight_line(&pipeline, 2);
}

/* ---- without memory -------------------------------------------------------------------- */

static spad_status one_run(const spad_host *host, void *context) {
    spad_ptx *ptx;
    spad_ptx_run *run;
    const spad_status status = run_text(&run, &ptx, &ring, context, false, host);
    spad_ptx_run_destroy(run);
    spad_ptx_destroy(ptx);
    return status;
}

static void every_allocation_can_fail(void **state) {
    (void)state;
    char *text = text_of(&ring);
    test_fail_each_allocation(one_run, text);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_argument_decides_trip_counts),
        cmocka_unit_test(a_part_of_an_argument_is_called_trips),
        cmocka_unit_test(an_assumption_begins_after_other_short_loops),
        cmocka_unit_test(clusters_have_parameters),
        cmocka_unit_test(what_no_argument_decides_has_numbers),
        cmocka_unit_test(launches_with_faults_are_no_evidence),
        cmocka_unit_test(mutants_of_a_ring),
        cmocka_unit_test(mutants_of_a_cluster),
        cmocka_unit_test(mutants_of_a_product),
        cmocka_unit_test(every_allocation_can_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
