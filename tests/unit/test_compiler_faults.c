/* SPDX-License-Identifier: Apache-2.0
 *
 * Known faults of compilers are recognised, and faults of the user are never taken for one.
 */
#include <stdio.h>
#include <string.h>

#include "order_fixture.h"

#define HEAD "kernel k on sm_90\n"
#define TILES                                                     \
    "unit cp on copy free\nunit wgmma on tensor same proxy\n"     \
    "group loads\ngroup mmas\ntensor a : global f16 (64) input\n" \
    "tensor x : shared f16 [2] (64)\ntensor s : registers f16 (64)\n"
#define FENCE                                                             \
    TILES "cp load reads a writes x[0] in loads\ncommit loads\n"          \
          "wait loads pending 0\nwgmma dot reads x[0] writes s in mmas\n" \
          "commit mmas\nwait mmas pending 0\nsimt use reads s\n"
/* the copy of the next round comes before the wait for the product */
#define LATE_WAIT                                                                \
    TILES "cp load reads a writes x[0] in loads\ncommit loads\n"                 \
          "wait loads pending 0\nfence\nwgmma dot reads x[0] writes s in mmas\n" \
          "commit mmas\ncp next reads a writes x[0] in loads\ncommit loads\n"    \
          "wait mmas pending 0\nwait loads pending 0\nsimt use reads s\nsimt end reads x[0]\n"

/* The fault of the first finding of a code; "": none, NULL: there is no such finding. */
static void fault_of(char name[64], const char *head, const char *body, spad_finding_code code) {
    char text[2048];
    snprintf(text, sizeof text, "%s%s", head, body);
    spad_check *check = check_text(text);
    const spad_finding *finding = find(check, code);
    assert_non_null(finding);
    snprintf(name, 64, "%s", finding->fault != NULL ? finding->fault->name : "");
    assert_int_equal(finding->severity == SPAD_SEVERITY_COMPILER, finding->fault != NULL);
    assert_int_equal(spad_check_get_verdict(check), SPAD_VERDICT_WRONG);
    assert_int_equal(spad_check_passes(check), finding->fault != NULL &&
                                                   !finding->fault->wrong_results &&
                                                   spad_check_get_counts(check).errors == 0);
    spad_check_destroy(check);
}

static void a_fault_is_of_its_compiler_and_version(void **state) {
    (void)state;
    static const struct {
        const char *compiler, *fence, *race;
    } cases[] = {
        {"", "", ""},
        {"compiler \"Triton\"\n", "triton-missing-proxy-fence", "triton-ring-slot-race"},
        {"compiler \"Triton 3.6.0\"\n", "triton-missing-proxy-fence", "triton-ring-slot-race"},
        {"compiler \"Triton 3.9.0\"\n", "", "triton-ring-slot-race"},
        {"compiler \"Triton 4.0\"\n", "", "triton-ring-slot-race"},
        {"compiler \"Tritonic 3.6\"\n", "", ""},
        {"compiler \"NKI\"\n", "", ""},
        {"compiler \"TileLang 0.1.15\"\n", "", ""}, /* no T.copy is known */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char head[128], name[64];
        snprintf(head, sizeof head, HEAD "%s", cases[i].compiler);
        fault_of(name, head, FENCE, SPAD_FINDING_MISSING_FENCE);
        assert_string_equal(name, cases[i].fence);
        fault_of(name, head, LATE_WAIT, SPAD_FINDING_RACE);
        assert_string_equal(name, cases[i].race);
    }
}

static void a_copy_by_hand_is_no_fault_of_tilelang(void **state) {
    (void)state;
    static const char *const lines[] = {"T.copy(A[i], x)", "T.ptx_cp_async(x, A[i])",
                                        "T.async_copy(A[i], x)"};
    for (int i = 0; i < 3; i++) {
        char head[640], name[64];
        snprintf(head, sizeof head,
                 HEAD "compiler \"TileLang 0.1.15\"\nsource 0 \"k.py\" 3 \"%s\"\n" TILES
                      "cp load reads a writes x[0] in loads from 0\n",
                 lines[i]);
        fault_of(name, head,
                 "commit loads\nwait loads pending 0\nwgmma dot reads x[0] writes s in mmas\n"
                 "commit mmas\nwait mmas pending 0\nsimt use reads s\n",
                 SPAD_FINDING_MISSING_FENCE);
        assert_string_equal(name, i == 0 ? "tilelang-missing-proxy-fence" : "");
    }
}

/* Stores of threads, and copies of another agent, are not the fault that is known. */
static void other_statements_are_no_known_fault(void **state) {
    (void)state;
    char name[64];
    fault_of(name, HEAD "compiler \"Triton 3.6.0\"\n",
             TILES "simt store writes x[0]\nwgmma dot reads x[0] writes s in mmas\n"
                   "commit mmas\nwait mmas pending 0\nsimt use reads s\n",
             SPAD_FINDING_MISSING_FENCE);
    assert_string_equal(name, "");
    fault_of(name, HEAD "compiler \"Triton 3.6.0\"\n",
             TILES
             "mbarrier full count 1\ninit full\nagent p { cp load reads a writes x[0] in "
             "loads\ncommit loads\nwait loads pending 0\narrive full }\nagent c { wait full "
             "parity 0\nwgmma dot reads x[0] writes s in mmas\ncommit mmas\nwait mmas pending "
             "0 }\n",
             SPAD_FINDING_MISSING_FENCE);
    assert_string_equal(name, "");
}

static void a_policy_decides_what_fails(void **state) {
    (void)state;
    static const struct {
        spad_compiler_policy policy;
        bool passes;
        int64_t shown;
    } cases[] = {{SPAD_COMPILER_FAULTS_KNOWN, false, 1},
                 {SPAD_COMPILER_FAULTS_ERROR, false, 1},
                 {SPAD_COMPILER_FAULTS_WARNING, true, 1},
                 {SPAD_COMPILER_FAULTS_IGNORE, true, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const spad_check_policy policy = {.compiler_faults = cases[i].policy};
        const spad_check_options options = {.policy = &policy, .no_advice = true};
        spad_check *check = check_with(HEAD "compiler \"Triton 3.9.0\"\n" LATE_WAIT, &options);
        const spad_check_counts counts = spad_check_get_counts(check);
        assert_int_equal(spad_check_passes(check), cases[i].passes);
        assert_int_equal(counts.compiler_faults, cases[i].shown);
        assert_int_equal(counts.hidden, 1 - cases[i].shown);
        assert_int_equal(spad_check_get_verdict(check), SPAD_VERDICT_WRONG);
        spad_check_destroy(check);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fault_is_of_its_compiler_and_version),
        cmocka_unit_test(a_copy_by_hand_is_no_fault_of_tilelang),
        cmocka_unit_test(other_statements_are_no_known_fault),
        cmocka_unit_test(a_policy_decides_what_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
