/* SPDX-License-Identifier: Apache-2.0
 *
 * Accesses that state which threads of an agent make them (`spread`): the threads meet between
 * those of two threads to the same bytes.
 */
#include <stdio.h>
#include <string.h>

#include "spad/spad.h"
#include "support/kernels.h"
#include "support/support.h"

#define HEAD                                                                              \
    "kernel k on sm_90\nparam N = 4\nunit cp on copy free\nunit tma on copy free proxy\n" \
    "unit mma on tensor same proxy\ngroup g\nbarrier b count 1\nmbarrier m count 1\n"     \
    "tensor in : global f32 (64) input\ntensor o : global f32 (64) output\n"              \
    "tensor x : shared f32 (64) at 0\ntensor z : shared f32 (32) at 0\n"                  \
    "tensor w : shared f32 (64) at 0\ntensor r : registers f32 (64) input\n"              \
    "tensor big : shared f32 (128) at 0\n"
#define FILL "simt fill reads r writes x spread a\n"
#define LAST "simt last writes o\n"

#define TENSOR                                                                                   \
    "kernel k on sm_100\nunit mma on tensor same proxy\nbarrier b count 1\nmbarrier m count 1\n" \
    "tensor o : global f32 (64) output\ntensor a : shared f32 (64) input\n"                      \
    "tensor acc : tmem f32 (128, 64) at 0\ntensor next : tmem f32 (128, 64) at 0\n"              \
    "init m\nsync b\n"

typedef struct sample {
    const char *text;
    int errors;
    int doubts;
} sample;

static const sample samples[] = {
    /* by lanes: those of tensor memory are of the same threads for all tensors */
    {TENSOR "simt fill writes acc spread lanes\nsimt use reads acc spread lanes\n" LAST, 0, 0},
    {TENSOR "simt fill writes acc spread lanes\nsimt use reads acc(.., 0..8) spread lanes\n"
            "simt more writes next spread lanes\nsimt use reads next spread lanes\n" LAST,
     0, 0},
    {TENSOR "simt fill writes acc spread lanes\nmma dot reads a updates acc spread one\n"
            "arrive m on mma\nwait m parity 0\n" LAST,
     1, 0},
    {TENSOR "simt fill writes acc spread lanes\nsync b\nmma dot reads a updates acc spread one\n"
            "arrive m on mma\nwait m parity 0\nsimt use reads acc spread lanes\n" LAST,
     0, 0},
    {TENSOR "simt fill writes acc spread lanes\nmma dot reads a updates acc(.., 0..8) spread one\n"
            "arrive m on mma\nwait m parity 0\n" LAST,
     1, 0},
    {TENSOR "simt fill writes acc spread lanes\nmma dot reads a updates acc(0..32, ..) spread one\n"
            "arrive m on mma\nwait m parity 0\n" LAST,
     0, 1},
    {TENSOR "simt fill writes acc(0..32, ..) spread one\nsimt use reads acc(0..32, ..) spread "
            "lanes\n" LAST,
     1, 0},
    {TENSOR "simt fill writes acc spread lanes\nsimt use reads acc spread all\n" LAST, 1, 0},
    {TENSOR "simt fill writes acc spread lanes\nsimt use reads acc spread a\n" LAST, 0, 1},
    {TENSOR "simt fill writes acc spread lanes\nsimt use reads acc spread unknown\n" LAST, 0, 1},
    /* of some bytes it is certain, of others it is not */
    {HEAD "simt fill writes x spread unknown\nsync b\n"
          "simt use reads x(0..4) spread all, x(4..64) spread unknown\n"
          "simt next writes w spread unknown\nsync b\nsimt use reads w spread all\n" LAST,
     1, 0},
    /* by divisions */
    {HEAD FILL "simt use reads x spread a\n" LAST, 0, 0},
    {HEAD FILL "simt use reads x spread b\n" LAST, 1, 0},
    {HEAD FILL "sync b\nsimt use reads x spread b\n" LAST, 0, 0},
    {HEAD "sync b\n" FILL "simt use reads x spread b\n" LAST, 1, 0},
    {HEAD FILL "sync b\nsimt use reads x spread b\nsimt again writes x spread a\n" LAST, 1, 0},
    {HEAD FILL "sync b\nsimt use reads x spread b\nsimt again writes x spread b\n" LAST, 0, 0},
    {HEAD FILL "sync b\nsimt use reads x spread b\nsimt look reads x spread a\n" LAST, 0, 0},
    /* who accesses what is not stated of one of them */
    {HEAD FILL "simt use reads x\n" LAST, 0, 0},
    {HEAD "simt fill writes x\nsimt use reads x spread b\n" LAST, 0, 0},
    /* several threads access each byte, and one thread all of them */
    {HEAD FILL "simt use reads x spread all\n" LAST, 1, 0},
    {HEAD "simt fill writes x spread one\nsimt use reads x spread all\n" LAST, 1, 0},
    {HEAD "simt fill writes x spread one\nsimt use reads x spread one\n" LAST, 0, 0},
    {HEAD FILL "simt use reads x spread one\n" LAST, 1, 0},
    {HEAD "simt fill writes x spread one\nsimt use reads x spread a\n" LAST, 1, 0},
    {HEAD "simt fill writes x spread unknown\nsimt use reads x spread all\n" LAST, 1, 0},
    /* not known */
    {HEAD FILL "simt use reads x spread unknown\n" LAST, 0, 1},
    {HEAD FILL "sync b\nsimt use reads x spread unknown\n" LAST, 0, 0},
    {HEAD "simt fill writes x spread one\nsimt use reads x spread unknown\n" LAST, 0, 1},
    /* another tensor in the same bytes has other divisions, and one thread has others' bytes where
     * it has all */
    {HEAD FILL "simt next writes w spread a\nsimt use reads w spread a\n" LAST, 0, 1},
    {HEAD FILL "simt next writes w spread one\nsimt use reads w spread one\n" LAST, 1, 0},
    {HEAD FILL "simt next writes z spread one\nsimt use reads z spread one\n" LAST, 0, 1},
    {HEAD
     "simt fill writes z spread one\nsimt next writes x spread a\nsimt use reads x spread a\n" LAST,
     0, 1},
    {HEAD "simt fill writes big spread one\nsimt next writes x spread a\n"
          "simt use reads x spread a\n" LAST,
     1, 0},
    /* copies: each thread waits for its own */
    {HEAD "cp load reads in writes x spread a in g\ncommit g\nwait g pending 0\n"
          "simt use reads x spread a\n" LAST,
     0, 0},
    {HEAD "cp load reads in writes x spread a in g\ncommit g\nwait g pending 0\n"
          "simt use reads x spread b\n" LAST,
     1, 0},
    {HEAD "cp load reads in writes x spread a in g\ncommit g\nwait g pending 0\nsync b\n"
          "simt use reads x spread b\n" LAST,
     0, 0},
    {HEAD "cp load reads in writes x spread a in g\ncommit g\nsync b\nwait g pending 0\n"
          "simt use reads x spread b\n" LAST,
     1, 0},
    /* or all arrive when their part is done */
    {HEAD "init m\nsync b\ncp load reads in writes x spread a\narrive m on cp\nwait m parity 0\n"
          "simt use reads x spread b\n" LAST,
     0, 0},
    {HEAD "init m\nsync b\ncp load reads in writes x spread a in g\ncommit g\narrive m on cp\n"
          "wait m parity 0\nsimt use reads x spread b\n" LAST,
     0, 0},
    {HEAD "init m\nsync b\narrive m on cp\ncp load reads in writes x spread a in g\ncommit g\n"
          "wait m parity 0\nwait g pending 0\nsimt use reads x spread b\n" LAST,
     1, 0},
    {HEAD "init m\nsync b\ncp load reads in writes x spread a in g\ncommit g\narrive m on cp\n"
          "wait g pending 0\nsimt use reads x spread b\nwait m parity 0\n" LAST,
     1, 0},
    {HEAD
     "init m\nsync b\ncp load reads in writes x spread a in g\ncommit g\n"
     "arrive m on cp elected\nwait m parity 0\nwait g pending 0\nsimt use reads x spread b\n" LAST,
     1, 0},
    /* one thread issues, and all learn of the end from an mbarrier; of a group it alone does */
    {HEAD "init m\nfence\nsync b\narrive m expect 256\n"
          "tma load reads in writes x spread one delivers m\nwait m parity 0\n"
          "simt use reads x spread a\n" LAST,
     0, 0},
    {HEAD FILL "fence\nsync b\ntma store reads x spread one writes o in g\ncommit g\n"
               "wait g pending 0\n" FILL,
     1, 0},
    {HEAD FILL "fence\nsync b\ntma store reads x spread one writes o in g\ncommit g\n"
               "wait g pending 0\nsync b\n" FILL,
     0, 0},
    {HEAD FILL "fence\ntma store reads x spread one writes o in g\ncommit g\nwait g pending 0\n", 1,
     0},
    /* all threads together: they meet before it, and each waits for all of it */
    {HEAD FILL "fence\nmma dot reads x spread together in g\ncommit g\nwait g pending 0\n" LAST, 1,
     0},
    {HEAD FILL
     "fence\nsync b\nmma dot reads x spread together in g\ncommit g\nwait g pending 0\n" FILL LAST,
     0, 0},
    {HEAD FILL
     "fence\nsync b\nmma dot reads x spread all in g\ncommit g\nwait g pending 0\n" FILL LAST,
     1, 0},
    /* loops */
    {HEAD "for i in 0..N {\n" FILL "sync b\nsimt use reads x spread b\n}\n" LAST, 1, 0},
    {HEAD "for i in 0..N {\n" FILL "sync b\nsimt use reads x spread b\nsync b\n}\n" LAST, 0, 0},
    {HEAD "for i in 0..N {\n" FILL "sync b\nsimt use reads x spread b\nif i % 2 == 0 { sync b }\n}"
          "\n" LAST,
     1, 0},
    /* mbarriers: one thread initialises and invalidates, all wait */
    {HEAD FILL "init m\narrive m\nwait m parity 0\nsimt use reads x spread a\n" LAST, 1, 0},
    {HEAD FILL
     "init m\nsync b\narrive m\nwait m parity 0\ninvalidate m\nsimt use reads x spread a\n" LAST,
     1, 0},
    {HEAD FILL "init m\nsync b\narrive m\nwait m parity 0\nsync b\ninvalidate m\n"
               "simt use reads x spread a\n" LAST,
     0, 0},
    {HEAD
     "init m\narrive m\nwait m parity 0\ninvalidate m\nsimt fill writes x\nsimt use reads x\n" LAST,
     0, 0}, /* nothing states a spread */
    /* agents: each of them by itself, and those of one warp have nothing to wait for */
    {HEAD "agent c of 128 threads {\n" FILL "simt use reads x spread b\n}\n" LAST, 1, 0},
    {HEAD "agent c of 128 threads {\n" FILL "sync b\nsimt use reads x spread b\n}\n" LAST, 0, 0},
    {HEAD "barrier c count 128\nagent d of 128 threads {\n" FILL
          "sync c by 64\nsimt use reads x spread b\n}\nagent e { sync c by 64 }\n" LAST,
     1, 0},
    {HEAD "agent c of 32 threads {\ninit m\narrive m\nwait m parity 0\ninvalidate m\n}\n" FILL
          "simt use reads x spread a\n" LAST,
     0, 0},
    {HEAD "agent c of 64 threads {\ninit m\narrive m\nwait m parity 0\n}\n" FILL
          "simt use reads x spread a\n" LAST,
     1, 0},
    {HEAD "agent c of 64 threads {\ninit m\narrive m elected\nwait m parity 0 elected\n}\n" FILL
          "simt use reads x spread a\n" LAST,
     0, 0},
    /* the main program meets where agents begin and end */
    {HEAD FILL "agent c { sync b }\nsimt use reads x spread b\n" LAST, 0, 0},
};

static void count_findings(const spad_check *check, int *errors, int *doubts) {
    *errors = *doubts = 0;
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        const spad_finding *f = spad_check_get_finding(check, i);
        if (f->code == SPAD_FINDING_DEAD_WRITE) continue;
        *errors += f->severity == SPAD_SEVERITY_ERROR;
        *doubts += f->code == SPAD_FINDING_MISSING_SYNC && f->severity == SPAD_SEVERITY_WARNING;
        if (f->severity == SPAD_SEVERITY_ERROR) {
            assert_int_equal(f->code, SPAD_FINDING_MISSING_SYNC);
        }
    }
}

static void threads_meet_between_their_accesses(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        const sample *s = &samples[i];
        spad_kernel *kernel = test_parse(s->text);
        spad_check *check;
        spad_error error;
        int errors, doubts;
        assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
        count_findings(check, &errors, &doubts);
        const spad_verdict verdict = spad_check_get_verdict(check);
        const bool unknown = verdict == SPAD_VERDICT_UNKNOWN;
        if (errors != s->errors || doubts != s->doubts || unknown != (doubts > 0)) {
            print_error("sample %zu: %d errors, %d doubts, %s\n%s", i, errors, doubts,
                        spad_check_get_reason(check), s->text);
        }
        assert_int_equal(errors, s->errors);
        assert_int_equal(doubts, s->doubts);
        assert_true(unknown == (doubts > 0));
        spad_check_destroy(check);
        spad_kernel_destroy(kernel);
    }
}

static void checks_run_out_of_memory(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i += 7) {
        spad_kernel *kernel = test_parse(samples[i].text);
        test_check_without_memory(kernel);
        spad_kernel_destroy(kernel);
    }
}

static void a_loop_is_proved_for_every_n(void **state) {
    (void)state;
    test_check_ends(HEAD "for i in 0..N {\n" FILL
                         "sync b\nsimt use reads x spread b\nsync b\n}\n" LAST,
                    SPAD_VERDICT_PROVED_ALL);
}

static void messages_name_both_accesses(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *message;
    } said[] = {
        {HEAD FILL "simt use reads x spread b\n" LAST,
         "use accesses 'x': bytes that fill has accessed in another thread, and no sync of all "
         "threads comes between"},
        {HEAD FILL "simt use reads x spread unknown\n" LAST,
         "use accesses 'x': bytes that fill has accessed in another thread, perhaps, and no sync "
         "of all threads comes between"},
        {HEAD FILL "init m\narrive m\nwait m parity 0\nsimt use reads x spread a\n" LAST,
         "wait m comes when one thread may not have run init m yet, and no sync of all threads "
         "comes between"},
        {HEAD FILL "init m\nsync b\narrive m\nwait m parity 0\ninvalidate m\n"
                   "simt use reads x spread a\n" LAST,
         "invalidate m comes when other threads may still be in wait m, and no sync of all threads "
         "comes between"},
    };
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        test_check_says(said[i].text, said[i].message);
    }
}

/* The text of a kernel has them, and is read again as it was. */
static void they_are_written_and_read(void **state) {
    (void)state;
    static const char text[] = HEAD FILL "simt use reads x(0..8) spread one, z spread all\n" LAST;
    spad_kernel *kernel = test_parse(text);
    test_text once, twice;
    test_text_init(&once);
    test_text_init(&twice);
    assert_int_equal(spad_kernel_write_text(kernel, &once.sink, NULL), SPAD_OK);
    assert_non_null(strstr(once.bytes, "writes x spread a"));
    assert_non_null(strstr(once.bytes, "reads x(0..8) spread one, z spread all"));
    spad_kernel *again = test_parse(once.bytes);
    assert_int_equal(spad_kernel_write_text(again, &twice.sink, NULL), SPAD_OK);
    assert_string_equal(once.bytes, twice.bytes);
    test_text_free(&once);
    test_text_free(&twice);
    spad_kernel_destroy(again);
    spad_kernel_destroy(kernel);
    spad_error error;
    assert_int_equal(spad_kernel_parse(&kernel, HEAD "simt fill writes x spread\n",
                                       sizeof HEAD "simt fill writes x spread\n" - 1, "k", NULL,
                                       NULL, &error),
                     SPAD_ERR_SYNTAX);
    assert_int_equal(spad_kernel_parse(&kernel, HEAD "simt fill writes x spread 4\n",
                                       sizeof HEAD "simt fill writes x spread 4\n" - 1, "k", NULL,
                                       NULL, &error),
                     SPAD_ERR_SYNTAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_meet_between_their_accesses),
        cmocka_unit_test(checks_run_out_of_memory),
        cmocka_unit_test(a_loop_is_proved_for_every_n),
        cmocka_unit_test(messages_name_both_accesses),
        cmocka_unit_test(they_are_written_and_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
