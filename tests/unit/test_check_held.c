/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes of mbarriers (`mbarrier full count 1 at 64`): nothing else has them from the init to the
 * invalidate, and a tile that was there before is gone.
 */
#include <stdio.h>
#include <string.h>

#include "kernel/kernel_builder.h"
#include "spad/spad.h"
#include "support/kernels.h"
#include "support/support.h"

#define HEAD                                                                              \
    "kernel k on sm_90\nparam N = 4\nunit cp on copy free\nunit tma on copy free proxy\n" \
    "group g\nbarrier b count 1\nbarrier two count 2\nmbarrier m count 1 at 64\n"         \
    "mbarrier n[2] count 1 at 128\nmbarrier free count 1\n"                               \
    "tensor in : global u8 (32) input\ntensor o : global u8 (32) output\n"                \
    "tensor x : shared u8 (32) at 48\ntensor y : shared u8 (32) at 132\n"                 \
    "tensor far : shared u8 (32) at 256\ntensor s : shared u8 (4, 16) at 256\n"           \
    "tensor h : shared u8 [4] (32) ring 2\n"
#define LAST "simt last writes o\n"
#define LIFE "init m\narrive m\nwait m parity 0\ninvalidate m\n"
#define USE "simt fill writes x\nsimt use reads x\n"
#define LOAD "tma load reads in writes x in g\ncommit g\nwait g pending 0\nsimt use reads x\n"

#define BYTES SPAD_FINDING_MBARRIER_BYTES
#define FENCE SPAD_FINDING_MISSING_FENCE
#define SYNC SPAD_FINDING_MISSING_SYNC
#define ALIVE SPAD_FINDING_MBARRIER_LIFE
#define UNSET SPAD_FINDING_UNINITIALISED_READ

#define TWO_AT_ONCE                                                              \
    "kernel k on sm_90\nmbarrier m count 1 at 64\nmbarrier n[2] count 1 at 56\n" \
    "init m\ninit n[1]\n"

typedef struct sample {
    const char *text;
    int errors;
    int doubts; /* warnings */
    spad_finding_code code;
} sample;

static const sample samples[] = {
    /* one agent: before, after, in between */
    {HEAD USE LIFE LAST, 0, 0, 0},
    {HEAD LIFE USE LAST, 0, 0, 0},
    {HEAD USE LIFE USE LAST, 0, 0, 0},
    {HEAD "init m\n" USE "arrive m\nwait m parity 0\ninvalidate m\n" LAST, 2, 0, BYTES},
    {HEAD "init m\narrive m\nwait m parity 0\n" USE LAST, 2, 0, BYTES},
    {HEAD USE LIFE LIFE USE LIFE LAST, 0, 0, 0},
    {HEAD USE LIFE "init m\n" USE "invalidate m\n" LAST, 2, 0, BYTES},
    /* a tile that was there before is gone, but not what no init touched */
    {HEAD "simt fill writes x\n" LIFE "simt use reads x\n" LAST, 1, 0, BYTES},
    {HEAD "simt fill writes x\n" LIFE "simt use reads x(0..16), x(24..32)\n" LAST, 0, 0, 0},
    {HEAD "simt fill writes x\n" LIFE "simt half writes x(16..20)\nsimt use reads x(16..20)\n" LAST,
     0, 0, 0},
    {HEAD "simt fill writes x\n" LIFE "simt half writes x(16..20)\nsimt use reads x\n" LAST, 1, 0,
     BYTES},
    {HEAD "simt fill writes x\n" LIFE "simt half updates x(16..20)\n" LAST, 1, 0, BYTES},
    {HEAD "simt fill writes x\n" LIFE "simt again writes x\nsimt use reads x\n" LAST, 0, 0, 0},
    {HEAD LIFE "simt use reads x\n" LAST, 2, 0, UNSET},
    /* elements are 8 bytes apart, and the last byte counts */
    {HEAD "init n[0]\nsimt fill writes y(12..32)\nsimt use reads y(12..32)\n" LAST, 0, 0, 0},
    {HEAD "init n[1]\nsimt fill writes y(12..32)\nsimt use reads y(12..32)\n" LAST, 0, 0, 0},
    {HEAD "init n[1]\nsimt fill writes y(11..32)\n" LAST, 1, 0, BYTES},
    {HEAD "init n[0]\nsimt fill writes y(3..32)\n" LAST, 1, 0, BYTES},
    {HEAD "init n[0]\nsimt fill writes y(4..32)\nsimt use reads y(4..32)\n" LAST, 0, 0, 0},
    /* pieces of a tile with room between them */
    {"kernel k on sm_90\nmbarrier m count 1 at 16\ntensor s : shared u8 (4, 32) at 0 input\n"
     "init m\nsimt left reads s(.., 0..16)\n",
     0, 0, 0},
    {"kernel k on sm_90\nmbarrier m count 1 at 80\ntensor s : shared u8 (4, 32) at 0 input\n"
     "init m\nsimt left reads s(.., 0..16)\n",
     0, 0, 0},
    {"kernel k on sm_90\nmbarrier m count 1 at 72\ntensor s : shared u8 (4, 32) at 0 input\n"
     "init m\nsimt left reads s(.., 0..16)\n",
     1, 0, BYTES},
    {"kernel k on sm_90\nmbarrier m count 1 at 8\ntensor s : shared u8 (4, 32) at 0 input\n"
     "init m\nsimt left reads s(.., 0..16)\n",
     1, 0, BYTES},
    /* what has no place is nowhere: a tile, and another mbarrier */
    {HEAD "init m\nsimt fill writes h[0]\nsimt use reads h[0]\n" LAST, 0, 0, 0},
    {HEAD "init free\n" USE "arrive free\nwait free parity 0\ninvalidate free\n" LAST, 0, 0, 0},
    /* copies that are under way */
    {HEAD "fence\n" LOAD LIFE LAST, 0, 0, 0},
    {HEAD "tma load reads in writes x in g\ncommit g\n" LIFE "wait g pending 0\n" LAST, 1, 0,
     BYTES},
    {HEAD LIFE "fence\n" LOAD LAST, 0, 0, 0},
    {HEAD LIFE LOAD LAST, 1, 0, FENCE},
    {HEAD LIFE
     "cp load reads in writes x in g\ncommit g\nwait g pending 0\nsimt use reads x\n" LAST,
     0, 0, 0},
    {HEAD "simt fill writes x\nfence\ntma store reads x writes o in g\ncommit g\n"
          "wait g pending 0 reads\n" LIFE "wait g pending 0\n",
     0, 0, 0},
    {HEAD "simt fill writes x\nfence\ntma store reads x writes o in g\ncommit g\n" LIFE
          "wait g pending 0\n",
     1, 0, BYTES},
    /* agents */
    {HEAD USE "agent p { sync two\n" LIFE "}\nagent q { sync two }\n" LAST, 0, 0, 0},
    {HEAD "agent p { sync two\n" LIFE "}\nagent q {\n" USE "sync two }\n" LAST, 0, 0, 0},
    {HEAD "agent p { " LIFE "sync two }\nagent q {\n" USE "sync two }\n" LAST, 2, 0, BYTES},
    {HEAD "agent p { " LIFE "sync two }\nagent q { sync two\n" USE "}\n" LAST, 0, 0, 0},
    {HEAD "agent p { init m\narrive m\nwait m parity 0\nsync two\ninvalidate m }\n"
          "agent q { sync two\n" USE "}\n" LAST,
     2, 0, BYTES},
    /* two mbarriers with bytes in common */
    {"kernel k on sm_90\nmbarrier m count 1 at 64\nmbarrier n[2] count 1 at 56\n"
     "init n[1]\ninvalidate n[1]\ninit m\ninit n[0]\n",
     0, 0, 0},
    {"kernel k on sm_90\nmbarrier m count 1 at 64\nmbarrier n[2] count 1 at 56\n"
     "init n[1]\ninit m\ninvalidate n[1]\ninvalidate m\n",
     1, 0, BYTES},
    {"kernel k on sm_90\nmbarrier m count 1 at 64\nmbarrier n[2] count 1 at 56\n"
     "init m\ninit n[1]\n",
     1, 0, BYTES},
    {"kernel k on sm_90\nmbarrier m count 1 at 64\nmbarrier n count 1 at 64\nbarrier two count 2\n"
     "agent p { init m\ninvalidate m\nsync two }\nagent q { sync two\ninit n\ninvalidate n }\n"
     "init m\n",
     0, 0, 0},
    {"kernel k on sm_90\nmbarrier m count 1 at 64\nmbarrier n count 1 at 64\nbarrier two count 2\n"
     "agent p { init m\ninvalidate m\nsync two }\nagent q { init n\ninvalidate n\nsync two }\n",
     1, 0, BYTES},
    /* lives of one mbarrier by two agents */
    {"kernel k on sm_90\nmbarrier m count 1\nbarrier two count 2\n"
     "agent p { init m\ninvalidate m\nsync two }\nagent q { sync two\ninit m\ninvalidate m }\n",
     0, 0, 0},
    {"kernel k on sm_90\nmbarrier m count 1\nbarrier two count 2\n"
     "tensor x : shared u8 (8)\ninit m\nagent p { invalidate m\nsync two }\n"
     "agent q { simt w writes x\nsimt r reads x\ninit m\nsync two }\n",
     1, 0, ALIVE},
    /* an output, and an input that is one */
    {"kernel k on sm_90\nmbarrier m count 1 at 64\ntensor x : shared u8 (32) at 48 output\n"
     "simt fill writes x\ninit m\n",
     1, 0, BYTES},
    {"kernel k on sm_90\nmbarrier m count 1 at 64\ntensor x : shared u8 (32) at 48 output\n"
     "init m\ninvalidate m\nsimt fill writes x\n",
     0, 0, 0},
    {"kernel k on sm_90\nmbarrier m count 1 at 64\n"
     "tensor x : shared u8 [4] (16) at 32 input output\ninit m\n",
     1, 0, BYTES},
    {"kernel k on sm_90\nmbarrier m count 1 at 64\n"
     "tensor x : shared u8 [2] (16) at 32 input output\ninit m\n",
     0, 0, 0},
    {"kernel k on sm_90\nmbarrier m count 1 at 64\ntensor x : shared u8 (32) at 48\n"
     "tensor v : shared u8 (32) alias of x output\nsimt fill writes x\ninit m\n",
     1, 0, BYTES},
    {"kernel k on sm_90\nmbarrier m count 1 at 64\ntensor x : shared u8 (32) at 48 input\n"
     "tensor v : shared u8 (32) alias of x input output\ninit m\n",
     1, 0, BYTES},
    {"kernel k on sm_90\nmbarrier m count 1 at 64\ntensor auto : shared u8 (32) input output\n"
     "tensor above : shared u8 (32) at 96 input output\n"
     "tensor below : shared u8 (32) at 0 input output\ninit m\n",
     0, 0, 0},
    /* threads of an agent: one of them begins and ends a life */
    {HEAD "simt fill writes x spread all\nsimt use reads x spread one\n" LIFE LAST, 4, 0, SYNC},
    {HEAD "simt fill writes x spread one\nsimt use reads x spread one\ninit m\nsync b\narrive m\n"
          "wait m parity 0\nsync b\ninvalidate m\nsimt again writes x spread one\n"
          "simt use reads x spread one\n" LAST,
     0, 0, 0},
    {HEAD "init m\nsync b\narrive m\nwait m parity 0\nsync b\ninvalidate m\n"
          "simt fill writes x spread all\nsync b\nsimt use reads x spread one\n" LAST,
     1, 0, SYNC},
    {HEAD "init m\nsync b\narrive m\nwait m parity 0\nsync b\ninvalidate m\nsync b\n"
          "simt fill writes x spread all\nsync b\nsimt use reads x spread one\n" LAST,
     0, 0, 0},
    {HEAD "init m\nsync b\narrive m\nwait m parity 0\nsync b\ninvalidate m\n"
          "simt fill writes x spread a\nsync b\nsimt use reads x spread one\n" LAST,
     0, 1, SYNC},
    {HEAD "simt fill writes x spread a\nsimt use reads x spread a\ninit m\nsync b\narrive m\n"
          "wait m parity 0\n" LAST,
     0, 2, SYNC},
    {HEAD "simt fill writes x spread a\nsimt use reads x spread a\nsync b\ninit m\nsync b\n"
          "arrive m\nwait m parity 0\n" LAST,
     0, 0, 0},
    {"kernel k on sm_90\nbarrier own count 64\nmbarrier m count 1 at 64\n"
     "tensor x : shared u8 (32) at 48 input\nagent c of 64 threads {\nsimt use reads x\n"
     "sync own by 64\ninit m\nsimt one reads x(0..8) elected\n}\n",
     0, 0, 0},
    {"kernel k on sm_90\nbarrier own count 64\nmbarrier m count 1 at 64\n"
     "tensor x : shared u8 (32) at 48 input\nagent c of 64 threads {\nsimt use reads x\n"
     "init m\nsimt one reads x(0..8) elected\n}\n",
     1, 0, SYNC},
    {"kernel k on sm_90\nbarrier own count 64\nmbarrier m count 1 at 64\n"
     "tensor x : shared u8 (32) at 48\nagent c of 64 threads {\ninit m\ninvalidate m\n"
     "sync own by 64\nsimt fill writes x\nsync own by 64\nsimt one reads x(0..8) elected\n}\n",
     0, 0, 0},
    {"kernel k on sm_90\nbarrier own count 64\nmbarrier m count 1 at 64\n"
     "tensor x : shared u8 (32) at 48\nagent c of 64 threads {\ninit m\ninvalidate m\n"
     "simt fill writes x\nsync own by 64\nsimt one reads x(0..8) elected\n}\n",
     1, 0, SYNC},
    /* places that an mbarrier cannot have */
    {"kernel k on sm_90\nmbarrier m count 1 at 68\ninit m\n", 1, 0, SPAD_FINDING_MISALIGNED},
    {"kernel k on sm_90\nmbarrier m count 1 at 68\nmbarrier n count 1 at 84\ninit m\ninit n\n", 2,
     0, SPAD_FINDING_MISALIGNED},
    {"kernel k on sm_90\nmbarrier m[2] count 1 at 232440\ninit m[0]\n", 1, 0,
     SPAD_FINDING_OUT_OF_SPACE},
    {"kernel k on sm_90\nmbarrier m count 1 at 232441\ninit m\n", 2, 0, SPAD_FINDING_OUT_OF_SPACE},
    {"kernel k on sm_90\nmbarrier m count 1 at 232440\ninit m\n", 0, 0, 0},
};

static spad_check *check_of(const spad_kernel *kernel) {
    spad_check *check;
    spad_error error;
    assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
    return check;
}

/* Findings that count here: not those about what is written in vain. */
static bool counts(const spad_finding *f) {
    return f->severity == SPAD_SEVERITY_ERROR || f->code == SYNC;
}

static void each_access_is_before_or_after(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        spad_kernel *kernel = test_parse(samples[i].text);
        spad_check *check = check_of(kernel);
        int errors = 0, doubts = 0;
        bool found = samples[i].code == 0;
        for (size_t k = 0; k < spad_check_finding_count(check); k++) {
            const spad_finding *f = spad_check_get_finding(check, k);
            if (!counts(f)) continue;
            errors += f->severity == SPAD_SEVERITY_ERROR;
            doubts += f->severity == SPAD_SEVERITY_WARNING;
            found = found || f->code == samples[i].code;
        }
        if (errors != samples[i].errors || doubts != samples[i].doubts || !found) {
            print_error("%s\n%d errors, %d warnings\n", samples[i].text, errors, doubts);
            for (size_t k = 0; k < spad_check_finding_count(check); k++)
                print_error("%s\n", spad_check_get_finding(check, k)->message);
        }
        assert_int_equal(errors, samples[i].errors);
        assert_int_equal(doubts, samples[i].doubts);
        assert_true(found);
        if (doubts > 0) assert_int_equal(spad_check_get_verdict(check), SPAD_VERDICT_UNKNOWN);
        spad_check_destroy(check);
        spad_kernel_destroy(kernel);
    }
}

static void checks_run_out_of_memory(void **state) {
    (void)state;
    static const char *const texts[] = {
        HEAD "simt fill writes x\n" LIFE "simt use reads x\n" LAST,
        HEAD "agent p { " LIFE "sync two }\nagent q {\n" USE "sync two }\n" LAST,
        HEAD LIFE LOAD LAST,
        HEAD USE LIFE "for i in 0..N {\n" USE "}\n" LAST,
        TWO_AT_ONCE,
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        spad_kernel *kernel = test_parse(texts[i]);
        test_check_without_memory(kernel);
        spad_kernel_destroy(kernel);
    }
}

/* A life before a loop that has its bytes, or after it, is proved for every trip count. What is
 * wrong for some is not. */
static void loops_are_proved(void **state) {
    (void)state;
    static const struct {
        const char *text;
        spad_verdict verdict;
    } loops[] = {
        {HEAD LIFE "for i in 0..N {\n" USE "}\n" LAST, SPAD_VERDICT_PROVED_ALL},
        {HEAD "for i in 0..N {\n" USE "}\n" LIFE LAST, SPAD_VERDICT_PROVED_ALL},
        {HEAD "init m\nfor i in 0..N {\narrive m\nwait m parity i % 2\nsimt at updates far\n}\n"
              "invalidate m\nsimt again writes far\n" USE LAST,
         SPAD_VERDICT_WRONG}, /* far is never written before */
        {HEAD "simt fill writes x\n" LIFE "for i in 0..N {\nsimt again writes x\n}\n"
              "simt use reads x\n" LAST,
         SPAD_VERDICT_PROVED_SHAPE}, /* not with N = 0 */
        {HEAD "for i in 0..N {\nif i > 2 {\n" USE "}\nif i == 0 {\ninit m\n}\n"
              "if i == 2 {\ninvalidate m\n}\n}\n" LAST,
         SPAD_VERDICT_PROVED_ALL}, /* one life, of the first rounds */
        {HEAD "for i in 0..N {\n" USE LIFE "}\n" LAST, SPAD_VERDICT_PROVED_ALL},
        {HEAD "simt fill writes x\nfor i in 0..N {\nif i > 5 {\n" LIFE
              "}\nsimt use reads x\n}\n" LAST,
         SPAD_VERDICT_PROVED_SHAPE}, /* not with N = 7 */
    };
    for (size_t i = 0; i < sizeof loops / sizeof loops[0]; i++) {
        spad_kernel *kernel = test_parse(loops[i].text);
        spad_check *check = check_of(kernel);
        if (spad_check_get_verdict(check) != loops[i].verdict) {
            print_error("%s\n%s\n", loops[i].text, spad_check_get_reason(check));
        }
        assert_int_equal(spad_check_get_verdict(check), loops[i].verdict);
        spad_check_destroy(check);
        spad_kernel_destroy(kernel);
    }
}

static void a_write_that_may_come_is_in_doubt(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(HEAD "simt fill writes x\n" LIFE
                                          "simt some may writes x\nsimt use reads x\n" LAST);
    spad_check *check = check_of(kernel);
    assert_int_equal(spad_check_get_counts(check).errors, 0);
    assert_int_equal(spad_check_get_verdict(check), SPAD_VERDICT_UNKNOWN);
    assert_non_null(strstr(spad_check_get_reason(check), "an mbarrier had"));
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
}

static void messages_name_both(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *message;
    } said[] = {
        {HEAD "init m\nsimt fill writes x\n" LAST,
         "fill writes 'x' in bytes [64, 72) of shared memory, which m has: it is initialised, and "
         "never invalidated; place one of them elsewhere"},
        {HEAD "agent p { " LIFE "sync two }\nagent q {\n" USE "sync two }\n" LAST,
         "fill (q) writes 'x' in bytes [64, 72) of shared memory, which m has: it is initialised, "
         "and may not be invalidated yet; wait for the invalidate before it"},
        {HEAD "simt fill writes x\n" LIFE "simt use reads x\n" LAST,
         "use reads 'x', and the init of m has written over its bytes [64, 72); place the mbarrier "
         "elsewhere, or write the tile again"},
        {HEAD "tma load reads in writes x in g\ncommit g\n" LIFE "wait g pending 0\n" LAST,
         "load writes 'x' in bytes [64, 72) of shared memory, and the init of m there may come "
         "before that is over; wait for the end of load before the init"},
        {HEAD LIFE LOAD LAST,
         "load writes 'x' through the async proxy to bytes that m had, and no fence comes between "
         "it and the invalidate"},
        {"kernel k on sm_90\nmbarrier m count 1\nbarrier two count 2\n"
         "tensor x : shared u8 (8)\ninit m\nagent p { invalidate m\nsync two }\n"
         "agent q { simt w writes x\nsimt r reads x\ninit m\nsync two }\n",
         "init m (q) may come before m is invalidated; a barrier in between orders them"},
        {"kernel k on sm_90\nmbarrier m count 1 at 64\nmbarrier n[2] count 1 at 56\n"
         "init m\ninit n[1]\n",
         "init n[1] writes bytes from 64 of shared memory on, where m is initialised, and never "
         "invalidated; invalidate it before, or place one of them elsewhere"},
    };
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        test_check_says(said[i].text, said[i].message);
    }
}

/* ---- the language ------------------------------------------------------------------ */

static void they_are_written_and_read(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse("kernel k on sm_90\nparam S = 3\n"
                                     "mbarrier m[S] count 2 at S * 8 + 40\nmbarrier n count 1\n");
    const spad_kernel_sync *sync = spad_kernel_get_sync(kernel, 0);
    assert_true(sync->placed);
    assert_int_equal(sync->byte.value, 64);
    assert_false(spad_kernel_get_sync(kernel, 1)->placed);
    test_text once;
    test_text_init(&once);
    assert_int_equal(spad_kernel_write_text(kernel, &once.sink, NULL), SPAD_OK);
    assert_non_null(
        strstr(once.bytes, "mbarrier m[S] count 2 at S * 8 + 40\nmbarrier n count 1\n"));
    test_text_free(&once);
    spad_kernel_destroy(kernel);
}

static void faults_are_named(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *message;
    } faults[] = {
        {"kernel k on trn2\nmbarrier m count 1 at 64\n",
         "target 'trn2' has no memory 'shared', where an mbarrier could be"},
        {"kernel k on sm_90\nmbarrier m count 1 at 0 - 8\n",
         "an mbarrier at byte -8; it starts at 0"},
        {"kernel k on sm_90\nmbarrier m[4] count 1 at 9223372036854775800\n",
         "4 mbarriers do not fit 64 bits"},
        {"kernel k on sm_90\nbarrier b count 1 at 64\n", NULL},
        {"kernel k on sm_90\nmbarrier m count 1 at\n", NULL},
    };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        spad_kernel *kernel;
        spad_error error;
        assert_int_not_equal(spad_kernel_parse(&kernel, faults[i].text, strlen(faults[i].text), "k",
                                               NULL, NULL, &error),
                             SPAD_OK);
        if (faults[i].message != NULL) assert_string_equal(error.message, faults[i].message);
        assert_null(kernel);
    }
    spad__kernel_builder *builder;
    spad_error error;
    int64_t number;
    const spad_target *target;
    assert_ok(spad_target_find(&target, "sm_90", &error), &error);
    assert_ok(spad__kernel_builder_create(&builder, "k", NULL, target, NULL, &error), &error);
    assert_ok(spad__kernel_builder_sync(&number, builder, SPAD_SYNC_BARRIER, "b", (spad_amounts){0},
                                        (spad_amount){.value = 1}, &error),
              &error);
    for (int64_t n = -1; n < 2; n++) {
        assert_int_equal(spad__kernel_builder_sync_at(builder, n, (spad_amount){0}, &error),
                         SPAD_ERR_UNKNOWN);
        assert_string_equal(error.message, "no such mbarrier");
    }
    spad__kernel_builder_destroy(builder);
}

/* ---- the layout -------------------------------------------------------------------- */

/* What the planner places is in no byte of an mbarrier, with a place or without one. */
static void the_planner_keeps_them_apart(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(
        "kernel k on sm_90\nmbarrier m[2] count 1 at 64\nmbarrier n count 1\nmbarrier far count 1 "
        "at "
        "4096\ntensor x : shared u8 (100)\ntensor y : shared u8 (60)\n"
        "init m[0]\ninvalidate m[0]\ninit m[1]\ninit n\ninit far\nsimt fill writes x, y\n"
        "simt use reads x, y\n");
    spad_layout *layout;
    spad_error error;
    assert_ok(spad_layout_create(&layout, kernel, NULL, &error), &error);
    size_t barriers = 0;
    for (size_t i = 0; i < spad_layout_buffer_count(layout); i++) {
        const spad_layout_buffer *a = spad_layout_get_buffer(layout, i);
        barriers += a->sync >= 0;
        if (a->sync == 0) assert_int_equal(a->rect.byte, 64);
        if (a->sync == 0 || a->sync == 2) assert_int_equal(a->mode, SPAD_MODE_AT);
        for (size_t k = 0; k < i; k++) {
            const spad_layout_buffer *b = spad_layout_get_buffer(layout, k);
            assert_true(a->rect.byte + a->taken <= b->rect.byte ||
                        b->rect.byte + b->taken <= a->rect.byte);
        }
    }
    assert_int_equal(barriers, 3);
    const spad_check_options options = {.layout = layout};
    spad_check *check;
    assert_ok(spad_check_create(&check, kernel, &options, &error), &error);
    assert_int_equal(spad_check_get_counts(check).errors, 0);
    spad_check_destroy(check);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_access_is_before_or_after),
        cmocka_unit_test(checks_run_out_of_memory),
        cmocka_unit_test(loops_are_proved),
        cmocka_unit_test(a_write_that_may_come_is_in_doubt),
        cmocka_unit_test(messages_name_both),
        cmocka_unit_test(they_are_written_and_read),
        cmocka_unit_test(faults_are_named),
        cmocka_unit_test(the_planner_keeps_them_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
