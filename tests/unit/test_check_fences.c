/* SPDX-License-Identifier: Apache-2.0
 *
 * Fences by kind: each pair of accesses needs the fence of its memory, of the right agent, at the
 * right place; no other one will do.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/kernel_builder.h"
#include "spad/spad.h"
#include "support/kernels.h"
#include "support/support.h"
#include "target/target.h"

/* wgmma: an accumulator in registers. */
#define MMA                                                                   \
    "kernel k on sm_90\nunit mma on tensor same proxy fence wgmma\ngroup g\n" \
    "tensor x : shared f32 (64) input\ntensor r : registers f32 (64)\n"       \
    "tensor q : registers f32 (64)\ntensor o : global f32 (64) output\nagent c {\n"
#define CLEAR "simt clear writes r\n"
#define FENCE "fence wgmma\n"
#define MUL "mma mul reads x updates r in g\n"
#define WAIT "commit g\nwait g pending 0\n"
#define OUT "simt out reads r writes o\n}\n"

#define ALL_OF                                                                \
    "kernel k on sm_90\nunit mma on tensor same proxy fence wgmma\ngroup g\n" \
    "tensor x : shared f32 (64) input\ntensor r : registers f32 (64)\n"       \
    "tensor o : global f32 (64) output\n"

/* tcgen05: an accumulator in tensor memory. */
#define TMEM                                                                        \
    "kernel k on sm_100\nunit mma on tensor same proxy fence tcgen05\n"             \
    "mbarrier full count 1\nmbarrier empty count 1\ninit full\ninit empty\nfence\n" \
    "tensor x : shared f32 (128, 32) input\ntensor t : tmem f32 (128, 32)\n"        \
    "tensor o : global f32 [2] (128, 32) output\n"
#define ISSUER "agent issuer {\nmma mul reads x writes t\narrive full on mma\n"
#define AFTER "fence tcgen05 after\n"
#define BEFORE "fence tcgen05 before\n"
#define AGAIN "mma mul reads x writes t\narrive full on mma\n}\n"
#define READER "agent reader {\nwait full parity 0\n"
#define LD "simt ld reads t writes o[0]\n"
#define LAST "arrive empty\nwait full parity 1\n" AFTER "simt ld reads t writes o[1]\n}\n"

/* Proxy fences by memory. */
#define STORE                                                                               \
    "kernel k on sm_90\nunit tma on copy free proxy\ngroup g\ntensor x : shared f32 (64)\n" \
    "tensor y : global f32 (64)\ntensor o : global f32 (64) output\nsimt fill writes x, y\n"
#define COPY "tma store reads x writes o in g\ncommit g\nwait g pending 0\n"
#define FETCH \
    "tma load reads y writes x in g\ncommit g\nwait g pending 0\nsimt out reads x writes o\n"

static const struct {
    const char *text;
    int64_t count;    /* of findings */
    const char *part; /* of the first message */
} cases[] = {
    {MMA CLEAR FENCE MUL WAIT OUT, 0, NULL},
    {MMA CLEAR MUL WAIT OUT, 1, "no `fence wgmma` of c comes between"},
    {MMA FENCE CLEAR MUL WAIT OUT, 1, "mul (c) accesses bytes [0, 256) of r after clear (c)"},
    {MMA CLEAR "fence\n" MUL WAIT OUT, 1, NULL},
    {MMA CLEAR "fence shared\n" MUL WAIT OUT, 1, NULL},
    /* one after another on the unit */
    {MMA CLEAR FENCE MUL MUL WAIT OUT, 0, NULL},
    {MMA CLEAR FENCE MUL WAIT MUL WAIT OUT, 0, NULL},
    /* threads use the registers between, also if they only read them */
    {MMA CLEAR FENCE MUL WAIT "simt scale updates r\n" MUL WAIT OUT, 1, NULL},
    {MMA CLEAR FENCE MUL WAIT "simt look reads r\n" MUL WAIT OUT, 1, NULL},
    {MMA CLEAR FENCE MUL WAIT "simt scale updates r\n" FENCE MUL WAIT OUT, 0, NULL},
    /* other registers */
    {MMA CLEAR FENCE "simt clear writes q\n" MUL WAIT OUT, 0, NULL},
    /* the first operation needs one, although it finds nothing in the registers */
    {MMA "mma mul reads x writes r in g\n" WAIT OUT, 1, "is the first that needs `fence wgmma`"},
    {MMA FENCE "mma mul reads x writes r in g\n" WAIT OUT, 0, NULL},

    {TMEM ISSUER "wait empty parity 0\n" AFTER AGAIN READER AFTER LD BEFORE LAST, 0, NULL},
    {TMEM ISSUER "wait empty parity 0\n" AFTER AGAIN READER LD BEFORE LAST, 1,
     "no `fence tcgen05 after` of reader comes between"},
    {TMEM ISSUER "wait empty parity 0\n" AGAIN READER AFTER LD BEFORE LAST, 1,
     "no `fence tcgen05 after` of issuer comes between"},
    {TMEM ISSUER "wait empty parity 0\n" AFTER AGAIN READER AFTER LD LAST, 1,
     "no `fence tcgen05 before` of reader comes between"},
    /* a fence after an arrival on the unit comes before the operations are done, and changes
       nothing */
    {TMEM ISSUER BEFORE "wait empty parity 0\n" AFTER
                        "mma mul reads x writes t\narrive full on mma\n" BEFORE
                        "}\n" READER AFTER LD BEFORE LAST,
     0, NULL},
    {TMEM ISSUER BEFORE "wait empty parity 0\n" AFTER
                        "mma mul reads x writes t\narrive full on mma\n" BEFORE
                        "}\n" READER LD BEFORE LAST,
     1, "no `fence tcgen05 after` of reader comes between"},
    /* too early, or too late */
    {TMEM ISSUER "wait empty parity 0\n" AFTER AGAIN READER AFTER BEFORE LD LAST, 1, NULL},
    {TMEM ISSUER AFTER "wait empty parity 0\n" AGAIN READER AFTER LD BEFORE LAST, 1, NULL},
    {TMEM ISSUER "wait empty parity 0\n" AFTER AGAIN READER AFTER LD "arrive empty\n" BEFORE
                 "wait full parity 1\n" AFTER "simt ld reads t writes o[1]\n}\n",
     1, NULL},
    /* one agent needs none; the end of an operation has the first */
    {TMEM "agent issuer {\nmma mul reads x writes t arrives full\nwait full parity 0\n" LD "}\n", 0,
     NULL},
    {TMEM "agent issuer {\nmma mul reads x writes t arrives full\n}\n" READER AFTER LD "}\n", 0,
     NULL},
    {TMEM "agent issuer {\nmma mul reads x writes t arrives full\n}\n" READER LD "}\n", 1, NULL},

    {STORE "fence\n" COPY, 0, NULL},
    {STORE "fence shared\n" COPY, 0, NULL},
    {STORE "fence global\n" COPY, 1,
     "after fill accessed them through the generic proxy, with no `fence` or `fence shared` in"},
    {STORE "fence shared\n" FETCH, 1, NULL},
    {STORE "fence global; fence shared\n" FETCH, 0, NULL},
    {STORE COPY, 1, NULL},
    /* the main program before the agents is all of them */
    {ALL_OF "simt clear writes r\nfence wgmma\nagent c {\n" MUL WAIT OUT, 0, NULL},
    {ALL_OF "fence wgmma\nsimt clear writes r\nagent c {\n" MUL WAIT OUT, 1, NULL},
    {ALL_OF "simt clear writes r\nagent c {\n" MUL WAIT OUT, 1, NULL},
    /* a signal on the unit has the first fence, too */
    {TMEM "counter n\nagent issuer {\nmma mul reads x writes t\nsignal n on mma\n}\n"
          "agent reader {\nwait n >= 1\n" AFTER LD "}\n",
     0, NULL},
    {TMEM "counter n\nagent issuer {\nmma mul reads x writes t\nsignal n on mma\n}\n"
          "agent reader {\nwait n >= 1\n" LD "}\n",
     1, NULL},
    /* a target without fences of its own */
    {"kernel k on sm_80\nunit u on copy free proxy\ngroup g\ntensor x : shared f32 (4)\n"
     "tensor y : global f32 (4)\nsimt fill writes y\nu load reads y writes x in g\n",
     1, "after fill accessed them through the generic proxy, with no fence in"},
    {"kernel k on sm_80\nunit u on copy free proxy\ngroup g\ntensor x : shared f32 (4)\n"
     "tensor y : global f32 (4)\nsimt fill writes y\nfence\nu load reads y writes x in g\n",
     0, NULL},
    /* an mbarrier is on the chip */
    {"kernel k on sm_90\nunit tma on copy free proxy\nmbarrier m count 1\ninit m\nfence shared\n"
     "tensor x : shared f32 (4)\ntensor a : global f32 (4) input\narrive m expect 16\n"
     "tma load reads a writes x delivers m\nwait m parity 0\nsimt look reads x\n",
     0, NULL},
    {"kernel k on sm_90\nunit tma on copy free proxy\nmbarrier m count 1\ninit m\nfence global\n"
     "tensor x : shared f32 (4)\ntensor a : global f32 (4) input\narrive m expect 16\n"
     "tma load reads a writes x delivers m\nwait m parity 0\nsimt look reads x\n",
     0, NULL}, /* advice */
    /* a fence for mbarriers is for them alone */
    {"kernel k on sm_90\nunit tma on copy free proxy\nmbarrier m count 1\ninit m\nfence mbarrier\n"
     "tensor x : shared f32 (4)\ntensor a : global f32 (4) input\narrive m expect 16\n"
     "tma load reads a writes x delivers m\nwait m parity 0\nsimt look reads x\n",
     0, NULL},
    {STORE "fence mbarrier\n" COPY, 1,
     "after fill accessed them through the generic proxy, with no fence in"},
    /* a fence of another agent between the two accesses does not count */
    {"kernel k on sm_90\nunit mma on tensor same proxy fence wgmma\ngroup g\ncounter n\ncounter m\n"
     "tensor x : shared f32 (64) input\ntensor r : registers f32 (64)\n"
     "tensor o : global f32 (64) output\n"
     "agent d {\nwait n >= 1\nfence wgmma\nsignal m\n}\n"
     "agent c {\nsimt clear writes r\nsignal n\nwait m >= 1\n" MUL WAIT OUT,
     1, "no `fence wgmma` of c comes between"},
};

static int64_t count_fences(const spad_check *check, const char **first) {
    int64_t count = 0;
    *first = "";
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        const spad_finding *f = spad_check_get_finding(check, i);
        if (f->code != SPAD_FINDING_MISSING_FENCE || f->severity != SPAD_SEVERITY_ERROR) continue;
        if (count++ == 0) *first = f->message;
    }
    return count;
}

/* Some of the texts end without a wait. */
static int64_t count_unfinished(const spad_check *check) {
    int64_t count = 0;
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        count += spad_check_get_finding(check, i)->code == SPAD_FINDING_UNFINISHED;
    }
    return count;
}

/* `part`: of the first message; NULL: any. */
static void expect_fences(const spad_kernel *kernel, int64_t expected, const char *part,
                          const char *text) {
    const spad_check_options options = {.one_shape = true};
    spad_check *check;
    spad_error error;
    const char *first;
    assert_ok(spad_check_create(&check, kernel, &options, &error), &error);
    const int64_t count = count_fences(check, &first);
    const bool says = part == NULL || strstr(first, part) != NULL;
    if (count != expected || !says) print_error("%lld:\n%s%s\n", (long long)count, text, first);
    assert_int_equal(count, expected);
    assert_true(says);
    assert_int_equal(spad_check_get_counts(check).errors - count_unfinished(check), expected);
    spad_check_destroy(check);
}

static void each_pair_needs_its_fence(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_kernel *kernel = test_parse(cases[i].text);
        expect_fences(kernel, cases[i].count, cases[i].part, cases[i].text);
        spad_kernel_destroy(kernel);
    }
}

/* Each fence of a target once as its first one: number 0 is a fence like any other. */
static void the_order_of_fences_in_a_target_does_not_matter(void **state) {
    (void)state;
    enum { FENCES_MAX = 8 };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_kernel *named = test_parse(cases[i].text);
        const spad_target *target = spad_kernel_get_target(named);
        const size_t count = target->fence_count;
        assert_true(count <= FENCES_MAX);
        for (size_t first = 1; first < count; first++) {
            spad_fence_rule fences[FENCES_MAX];
            for (size_t f = 0; f < count; f++) fences[f] = target->fences[(first + f) % count];
            spad_target rotated = *target;
            rotated.fences = fences;
            const spad_kernel_options options = {.target = &rotated};
            spad_kernel *kernel = test_parse_with(cases[i].text, &options);
            expect_fences(kernel, cases[i].count, NULL, cases[i].text);
            spad_kernel_destroy(kernel);
        }
        spad_kernel_destroy(named);
    }
}

static void fences_read_back(void **state) {
    (void)state;
    const size_t picked[] = {0, 13, 27};
    for (size_t i = 0; i < sizeof picked / sizeof picked[0]; i++) {
        spad_kernel *kernel = test_parse(cases[picked[i]].text);
        test_text once;
        test_text twice;
        test_text_init(&once);
        test_text_init(&twice);
        assert_int_equal(spad_kernel_write_text(kernel, &once.sink, NULL), SPAD_OK);
        spad_kernel *again = test_parse(once.bytes);
        assert_int_equal(spad_kernel_write_text(again, &twice.sink, NULL), SPAD_OK);
        assert_string_equal(once.bytes, twice.bytes);
        assert_non_null(strstr(once.bytes, "fence "));
        test_text_free(&once);
        test_text_free(&twice);
        spad_kernel_destroy(again);
        spad_kernel_destroy(kernel);
    }
}

static void a_target_has_its_fences(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *message;
    } rows[] = {
        {"kernel k on sm_90\nfence tcgen05 after\n",
         "target 'sm_90' has no fence 'tcgen05'; it has shared, global, wgmma, mbarrier"},
        {"kernel k on sm_80\nfence shared\n",
         "target 'sm_80' has no fence 'shared'; it has no fences"},
        {"kernel k on sm_90\nfence wgmma before\n", "this fence has no 'before' and no 'after'"},
        {"kernel k on sm_100\nfence tcgen05\n", "fence 'tcgen05' is 'before' or 'after'"},
        {"kernel k on sm_90\nunit u on tensor same proxy fence shared\n",
         "'shared' is a proxy fence: a unit that needs it has `proxy`"},
        {"kernel k on sm_90\nunit u on tensor same proxy fence mbarrier\n",
         "'mbarrier' is a fence for mbarriers, which no operation of a unit needs"},
        {"kernel k on sm_90\nunit u on copy free proxy fence wgmma\n",
         "engine 'copy' does not reach the memory of fence 'wgmma'"},
        {"kernel k on sm_90\nunit u on tensor same fence\n", "expected the name of a fence"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        spad_kernel *kernel;
        spad_error error;
        assert_int_equal(
            spad_kernel_parse(&kernel, rows[i].text, strlen(rows[i].text), "k", NULL, NULL, &error),
            SPAD_ERR_SYNTAX);
        if (strstr(error.message, rows[i].message) == NULL) print_error("%s\n", error.message);
        assert_non_null(strstr(error.message, rows[i].message));
    }
}

static void the_builder_refuses_other_fences(void **state) {
    (void)state;
    spad__kernel_builder *b;
    spad_error error;
    const spad_target *target;
    size_t fence;
    int64_t unit;
    assert_ok(spad_target_find(&target, "sm_90", &error), &error);
    assert_int_equal(spad__target_find_fence(&fence, target, "nothing", &error), SPAD_ERR_UNKNOWN);
    assert_ok(spad__target_find_fence(&fence, target, "wgmma", &error), &error);
    assert_ok(spad__kernel_builder_create(&b, "k", "", target, NULL, &error), &error);
    assert_ok(spad__kernel_builder_unit(&unit, b, "u", 1, SPAD_UNIT_SAME, true, &error), &error);
    assert_int_equal(spad__kernel_builder_unit_fence(b, 1, fence, &error), SPAD_ERR_UNKNOWN);
    assert_int_equal(spad__kernel_builder_unit_fence(b, -1, fence, &error), SPAD_ERR_UNKNOWN);
    assert_int_equal(spad__kernel_builder_unit_fence(b, unit, 4, &error), SPAD_ERR_UNKNOWN);
    assert_ok(spad__kernel_builder_unit_fence(b, unit, fence, &error), &error);
    spad_statement s = spad__statement_of(SPAD_STATEMENT_FENCE, -1);
    s.fence = 4;
    assert_int_equal(spad__kernel_builder_statement(b, &s, &error), SPAD_ERR_UNKNOWN);
    s.fence = -2;
    assert_int_equal(spad__kernel_builder_statement(b, &s, &error), SPAD_ERR_UNKNOWN);
    s.fence = (int64_t)fence;
    assert_ok(spad__kernel_builder_statement(b, &s, &error), &error);
    spad__kernel_builder_destroy(b);
}

/* Every allocation fails once. */
static void memory_that_runs_out_is_reported(void **state) {
    (void)state;
    const size_t picked[] = {1, 11, 14};
    for (size_t i = 0; i < sizeof picked / sizeof picked[0]; i++) {
        spad_kernel *kernel = test_parse(cases[picked[i]].text);
        test_check_without_memory(kernel);
        spad_kernel_destroy(kernel);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_pair_needs_its_fence),
        cmocka_unit_test(the_order_of_fences_in_a_target_does_not_matter),
        cmocka_unit_test(fences_read_back),
        cmocka_unit_test(a_target_has_its_fences),
        cmocka_unit_test(the_builder_refuses_other_fences),
        cmocka_unit_test(memory_that_runs_out_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
