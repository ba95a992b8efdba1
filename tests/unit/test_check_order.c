/* SPDX-License-Identifier: Apache-2.0
 *
 * The order check: the classic mistakes in the kernels that we ship, what is right, and what
 * happens without memory.
 * tests/property/test_order_model.c compares it with all interleavings.
 */
#include "order_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/files.h"
#include "support/places.h"

/* ---- the files --------------------------------------------------------------------- */

/* Every wrong file of this part gives the codes that its comment names, and no other. */
static void test_wrong_kernels(void **unused) {
    (void)unused;
    static const char *const names[] = {
        "40_race",          "41_missing_fence", "42_deadlock",      "43_stale_parity",
        "44_lapped_wait",   "45_mixed_phases",  "46_late_expect",   "47_unwatched_phase",
        "48_mbarrier_life", "49_mixed_barrier", "50_barrier_count", "51_several_takers",
        "52_leftover",      "53_unfinished",    "54_free_in_use"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[128];
        snprintf(path, sizeof path, "examples/kernels/wrong/%s.spad", names[i]);
        char *text = test_read_file(path);
        const char *gives = strstr(text, "# gives:");
        assert_non_null(gives);
        const size_t length = strcspn(gives, "\n");
        char line[256] = "";
        memcpy(line, gives, length);
        strcat(line, " ");
        spad_check *check = check_text(text);
        size_t found = 0;
        for (size_t f = 0; f < spad_check_finding_count(check); f++) {
            const spad_finding *finding = spad_check_get_finding(check, f);
            if (!is_order(finding->code)) continue;
            char word[64];
            snprintf(word, sizeof word, " %s ", spad_finding_name(finding->code));
            if (strstr(line, word) == NULL) print_error("%s: %s\n", path, finding->message);
            assert_non_null(strstr(line, word));
            found++;
        }
        size_t named = 0;
        for (const char *at = strstr(line, "SPAD-"); at != NULL; at = strstr(at + 1, "SPAD-")) {
            named++;
        }
        if (found < named) print_error("%s\n", path);
        assert_true(found >= named);
        spad_check_destroy(check);
        free(text);
    }
}

/* The block of a section of the manual gives the finding that it is about, and with the diff
 * nothing. */
static void test_manual(void **unused) {
    (void)unused;
    char *text = test_read_file("docs/findings.md");
    int sections = 0;
    for (int code = SPAD_FINDING_RACE; code <= SPAD_FINDING_FREE_IN_USE; code++) {
        const char *name = spad_finding_name((spad_finding_code)code);
        char heading[96];
        snprintf(heading, sizeof heading, "\n### %s\n", name);
        char *at = strstr(text, heading);
        if (at == NULL) print_error("no section %s\n", name);
        assert_non_null(at);
        char *begin = strstr(at, "```spad\n");
        assert_non_null(begin);
        begin += strlen("```spad\n");
        char *end = strstr(begin, "\n```\n");
        assert_non_null(end);
        const char *diff = strstr(end, "```diff\n");
        assert_non_null(diff);
        diff += strlen("```diff\n");
        end[1] = '\0';
        spad_check *check = check_text(begin);
        if (find(check, (spad_finding_code)code) == NULL) print_error("%s:\n", name);
        if (find(check, (spad_finding_code)code) == NULL) print_findings(check);
        assert_non_null(find(check, (spad_finding_code)code));
        spad_check_destroy(check);
        char *right = test_apply_diff(begin, diff, (size_t)(strstr(diff, "```") - diff));
        check = check_text(right);
        assert_no_order_finding(check, name);
        spad_check_destroy(check);
        free(right);
        end[1] = '`';
        sections++;
    }
    assert_int_equal(sections, 15);
    free(text);
}

/* ---- classic mistakes -------------------------------------------------------------- */

/* The text with one piece replaced everywhere; freed by the caller. */
static char *change(char *text, const char *from, const char *to) {
    const size_t room = strlen(text) * (1 + strlen(to)) + 1;
    char *changed = calloc(1, room);
    assert_non_null(changed);
    size_t used = 0;
    int times = 0;
    for (const char *at = text; *at != '\0';) {
        if (strncmp(at, from, strlen(from)) == 0) {
            used += (size_t)snprintf(changed + used, room - used, "%s", to);
            at += strlen(from);
            times++;
        } else {
            changed[used++] = *at++;
        }
    }
    if (times == 0) print_error("nothing like '%s'\n", from);
    assert_true(times > 0);
    free(text);
    return changed;
}

static void test_classic_mistakes(void **unused) {
    (void)unused;
    static const struct {
        const char *file;
        const char *from;
        const char *to;
        spad_finding_code code;
    } cases[] = {
        /* commit groups: one pending too many; no barrier before others read; none before a refill
         */
        {"07_gemm_sm80", "wait loads pending S - 2", "wait loads pending S - 1", SPAD_FINDING_RACE},
        {"07_gemm_sm80", "    wait loads pending S - 2\n    sync cta by 64\n    for",
         "    wait loads pending S - 2\n    for", SPAD_FINDING_RACE},
        {"07_gemm_sm80", "        sync cta by 64\n    }", "    }", SPAD_FINDING_RACE},
        {"09_flash_attention_2", "        wait loads pending 0\n        sync cta by 64\n        if",
         "        wait loads pending 0\n        if", SPAD_FINDING_RACE},
        /* full and empty */
        {"08_gemm_sm90", "        wait empty[k % S] parity (k / S + 1) % 2\n", "",
         SPAD_FINDING_MIXED_PHASES},
        {"08_gemm_sm90", "(k / S + 1) % 2", "k / S % 2", SPAD_FINDING_DEADLOCK},
        {"08_gemm_sm90", "parity k / S % 2", "parity k % 2", SPAD_FINDING_DEADLOCK},
        {"08_gemm_sm90", "pending 1", "pending 2", SPAD_FINDING_RACE},
        {"08_gemm_sm90", "mbarrier empty[S] count 1", "mbarrier empty[S] count 2",
         SPAD_FINDING_DEADLOCK},
        {"08_gemm_sm90", "expect 32768", "expect 65536", SPAD_FINDING_DEADLOCK},
        {"08_gemm_sm90", "expect 32768", "expect 16384", SPAD_FINDING_MIXED_PHASES},
        {"08_gemm_sm90", "\nfence\n", "\n", SPAD_FINDING_INIT_FENCE},
        {"08_gemm_sm90", "    wait mmas pending 0\n", "", SPAD_FINDING_RACE},
        /* the store of O must have left before V is loaded; its bytes need a fence */
        {"09_flash_attention_3", "            if n == 0 { wait o_done parity (t + 1) % 2 }\n", "",
         SPAD_FINDING_RACE},
        {"09_flash_attention_3", "        fence\n", "", SPAD_FINDING_MISSING_FENCE},
        {"09_flash_attention_3", "        wait stores pending 0 reads\n", "", SPAD_FINDING_RACE},
        {"09_flash_attention_3", "        sync consumers by 128 # V is no longer read\n", "",
         SPAD_FINDING_RACE},
        {"14_flash_attention_3_causal", "        wait o_done parity (t + 1) % 2\n", "",
         SPAD_FINDING_RACE},
        {"14_flash_attention_3_causal", "            sync turn[w] by 128\n", "",
         SPAD_FINDING_BARRIER_COUNT},
        {"14_flash_attention_3_causal", "    if w == 0 { arrive turn[0] by 128 } # mma_init\n", "",
         SPAD_FINDING_DEADLOCK},
        {"14_flash_attention_3_causal", "            wait mmas pending 1\n", "", SPAD_FINDING_RACE},
        {"14_flash_attention_3_causal", "        sync v_read by 128\n", "", SPAD_FINDING_RACE},
        {"14_flash_attention_3_causal", "            sync epilogue by 32\n", "",
         SPAD_FINDING_MIXED_BARRIER},
        {"16_gemm_grouped",
         "            if w == 0 { wait stores pending 0 reads } # of the block before\n", "",
         SPAD_FINDING_RACE},
        /* scales that are read late, by threads that the one which arrives does not wait for */
        {"16_gemm_grouped",
         "                simt read_scales reads ssfa[stage](64 * w..64 * w + 64) writes scale\n"
         "                fence # not in the source: the next load of the stage writes through the "
         "async proxy\n"
         "                fence wgmma\n"
         "                wgmma mma reads sa[stage](64 * w..64 * w + 64, ..), sb[stage] writes acc "
         "in mmas\n"
         "                commit mmas\n"
         "                wait mmas pending 0\n"
         "                arrive empty[stage] by 4",
         "                fence wgmma\n"
         "                wgmma mma reads sa[stage](64 * w..64 * w + 64, ..), sb[stage] writes acc "
         "in mmas\n"
         "                commit mmas\n"
         "                wait mmas pending 0\n"
         "                simt read_scales reads ssfa[stage](64 * w..64 * w + 64) writes scale\n"
         "                fence\n"
         "                arrive empty[stage] by 4 elected",
         SPAD_FINDING_MISSING_SYNC},
        {"16_gemm_grouped", "rows[g] {\n            for k", "rows[0] {\n            for k",
         SPAD_FINDING_DEADLOCK},
        {"15_split_k", "adds d", "updates d", SPAD_FINDING_RACE},
        {"15_split_k", "adds d", "writes d", SPAD_FINDING_RACE},
        {"15_split_k", "min(p * F + F, KT)", "p * F + F - 1", SPAD_FINDING_DEADLOCK},
        {"17_gemm_clc",
         "    simt next reads answer[stage]\n    fence shared\n"
         "    arrive clc_empty[stage] by threads\n",
         "    fence shared\n    arrive clc_empty[stage] by threads\n"
         "    simt next reads answer[stage]\n",
         SPAD_FINDING_RACE},
        {"17_gemm_clc",
         "    for s in 0..2 {\n        wait acc_empty[into] parity 1 - into_phase\n"
         "        advance into\n    }\n    free acc",
         "    free acc", SPAD_FINDING_FREE_IN_USE},
        /* released when issued, not when done */
        {"10_attention_sm100", "arrive kv_free[2 * n % 3] on mma", "arrive kv_free[2 * n % 3]",
         SPAD_FINDING_RACE},
        {"10_attention_sm100", "arrive s_full[g] on mma", "arrive s_full[g]", SPAD_FINDING_RACE},
        {"10_gemm_sm100", "arrive acc_full[i % 2] on mma", "arrive acc_full[i % 2]",
         SPAD_FINDING_RACE},
        {"10_gemm_sm100", "            wait stores pending 0 reads\n", "", SPAD_FINDING_RACE},
        /* flags: one missing, one too many, the wrong pipe, a literal that fits one size */
        {"11_add_flags", "    take loaded[m % 2] on vector\n", "", SPAD_FINDING_RACE},
        {"11_add_flags", "        take stored[(m + 1) % 2] on mte2\n", "", SPAD_FINDING_RACE},
        {"11_add_flags", "for s in 0..2 { signal stored[s] on mte3 }", "", SPAD_FINDING_DEADLOCK},
        {"11_add_flags", "for s in 0..2 { take stored[s] on mte2 }", "", SPAD_FINDING_LEFTOVER},
        {"11_add_flags", "signal loaded[0] on mte2", "signal loaded[0] on mte3", SPAD_FINDING_RACE},
        {"11_add_queues", "counter in_free = DEPTH", "counter in_free = DEPTH + 1",
         SPAD_FINDING_RACE},
        {"12_gemm_cube", "if kk == R - 1", "if kk == 2", SPAD_FINDING_RACE},
        {"12_gemm_cube", "if kk == R - 1", "if kk == R", SPAD_FINDING_DEADLOCK},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[128];
        snprintf(path, sizeof path, "examples/kernels/%s.spad", cases[i].file);
        char *text = change(test_read_file(path), cases[i].from, cases[i].to);
        spad_check *check = check_text(text);
        if (find(check, cases[i].code) == NULL) {
            print_error("%s, '%s': no %s\n", path, cases[i].from, spad_finding_name(cases[i].code));
            print_findings(check);
        }
        assert_non_null(find(check, cases[i].code));
        spad_check_destroy(check);
        free(text);
    }
}

/* ---- what is right ----------------------------------------------------------------- */

static void test_orders_that_are_enough(void **unused) {
    (void)unused;
    /* all of several signals are needed, from any sender: the pigeonhole */
    assert_clean(RING
                 "tma one reads a writes x[0] signals c\ntma two reads a writes x[1] signals c\n"
                 "wait c >= 2\nsimt use reads x[0], x[1]\n");
    /* reads are over earlier than writes */
    assert_clean(RING "tma copy reads x[0] writes x[1] in g\ncommit g\nwait g pending 0 reads\n"
                      "simt fill writes x[0]\nwait g pending 0\nsimt use reads x[1]\n");
    /* a phase is complete at its last arrival */
    assert_clean(RING "init m\nagent p { simt fill writes x[0]; arrive m }\n"
                      "agent q { wait m parity 0; simt use reads x[0] }\ninvalidate m\n");
    /* another life starts at phase 1 */
    assert_clean(RING "init m\narrive m\nwait m parity 0\ninvalidate m\n"
                      "init m\narrive m\nwait m parity 0\n");
    /* fork and join */
    assert_clean(RING "simt fill writes x[0]\nagent p { simt use reads x[0] }\n"
                      "agent q { simt use reads x[0] }\nsimt fill writes x[0]\n");
    /* parts that do not touch, and rows of a tile that are between those of another */
    assert_clean(
        "kernel k on sm_90\ntensor x : shared u8 (8, 16)\n"
        "agent p { simt left writes x(.., 0..8) }\nagent q { simt right writes x(.., 8..16) }\n");
    /* drains and serial units */
    assert_clean(RING "tma load reads a writes x[0]\ndrain tma\ntma load reads a writes x[2]\n"
                      "drain all\nsimt use reads x[2]\n");
    /* a drop takes part in no later phase */
    assert_clean("kernel k on sm_90\nmbarrier m count 2\nbarrier b count 2\n"
                 "tensor x : shared u8 (64)\ninit m\n"
                 "agent p { arrive m drop; sync b }\n"
                 "agent q { arrive m; sync b; wait m parity 0; simt fill writes x; arrive m; "
                 "wait m parity 1 }\n");
}

static void test_parts_that_touch(void **unused) {
    (void)unused;
    assert_finds(
        "kernel k on sm_90\ntensor x : shared u8 (8, 16)\n"
        "agent p { simt left writes x(.., 0..9) }\nagent q { simt right writes x(.., 8..16) }\n",
        SPAD_FINDING_RACE,
        "right (q) may write 'x' while left (p) still writes it: bytes [8, 121) of x", NULL, NULL);
    assert_finds("kernel k on trn2\ntensor x : sbuf u8 (128, 16)\n"
                 "agent p { vector top writes x(0..64, ..) }\n"
                 "agent q { scalar low writes x(63..128, ..) }\n",
                 SPAD_FINDING_RACE,
                 "low (q) may write 'x' while top (p) still writes it: bytes [0, 16) of x", NULL,
                 NULL);
    assert_clean("kernel k on trn2\ntensor x : sbuf u8 (128, 16)\n"
                 "agent p { vector top writes x(0..64, ..) }\n"
                 "agent q { scalar low writes x(64..128, ..) }\n");
}

/* Placed tensors share the space. */
static bool place_all(void *context, int64_t tensor, int64_t slot, spad_rect *rect) {
    (void)context;
    (void)slot;
    rect->lane = 0;
    rect->byte = tensor == 1 ? 32 : 0;
    return true;
}

static void test_placed_bytes(void **unused) {
    (void)unused;
    static const char text[] = "kernel k on sm_90\nbarrier b count 2\n"
                               "tensor x : shared u8 (64)\ntensor y : shared u8 (64)\n"
                               "agent p { simt one writes x }\nagent q { simt two writes y }\n";
    assert_clean(text);
    spad_kernel *kernel = test_parse(text);
    spad_layout *layout = test_layout_with(kernel, place_all, NULL);
    const spad_check_options options = {.layout = layout};
    spad_check *check;
    assert_int_equal(spad_check_create(&check, kernel, &options, NULL), SPAD_OK);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
    const spad_finding *finding = find(check, SPAD_FINDING_RACE);
    assert_non_null(finding);
    assert_string_equal(
        finding->message,
        "two (q) may write 'y' over 'x' while one (p) still writes it: bytes [32, 64) of shared");
    spad_check_destroy(check);
}

static void test_implicit_kernels_have_no_order(void **unused) {
    (void)unused;
    assert_clean("kernel k on trn2\ntensor x : sbuf u8 (128, 16)\n"
                 "vector one writes x\nscalar two writes x\n");
}

/* ---- limits ------------------------------------------------------------------------ */

static void test_limits(void **unused) {
    (void)unused;
    const spad_check_options few = {.event_limit = 10};
    spad_check *check = check_with("kernel k on sm_90\nparam N = 100\ncounter c\n"
                                   "for i in 0..N { signal c }\n",
                                   &few);
    assert_int_equal(spad_check_get_verdict(check), SPAD_VERDICT_UNKNOWN);
    assert_string_equal(spad_check_get_reason(check),
                        "there are more events than the limit; define a smaller parameter");
    spad_check_destroy(check);
    check = check_text("kernel k on sm_90\ncounter c[2000000]\nsignal c[0]\n");
    assert_string_equal(
        spad_check_get_reason(check),
        "there are more than 1000000 synchronisation objects; define a smaller parameter");
    spad_check_destroy(check);
    check = check_text("kernel k on sm_90\ntensor x : global u8 (3000000, 2) output\n"
                       "agent p { simt left writes x(.., 0..1) }\n"
                       "agent q { simt right writes x(.., 1..2) }\n");
    assert_string_equal(spad_check_get_reason(check), "accesses cut a tensor into too many pieces");
    spad_check_destroy(check);
    /* sums that do not fit */
    check = check_text("kernel k on sm_90\ncounter c\nfor i in 0..4 { signal c by "
                       "9223372036854775807 }\nwait c >= 9223372036854775807\n");
    assert_no_order_finding(check, "large");
    spad_check_destroy(check);
}

/* ---- memory ------------------------------------------------------------------------ */

static spad_status check_scenario(const spad_host *host, void *context) {
    const spad_kernel *kernel = context;
    const spad_check_options options = {.one_shape = true, .host = host};
    spad_check *check;
    const spad_status status = spad_check_create(&check, kernel, &options, NULL);
    spad_check_destroy(check);
    return status;
}

static void test_without_memory(void **unused) {
    (void)unused;
    static const char *const files[] = {"07_gemm_sm80",         "08_gemm_sm90",
                                        "11_add_flags",         "wrong/40_race",
                                        "wrong/54_free_in_use", "wrong/43_flipped_parity"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[128];
        snprintf(path, sizeof path, "examples/kernels/%s.spad", files[i]);
        char *text = test_read_file(path);
        spad_kernel *kernel = test_parse(text);
        test_fail_each_allocation(check_scenario, kernel);
        spad_kernel_destroy(kernel);
        free(text);
    }
    spad_kernel *kernel =
        test_parse(RING "agent p { simt fill writes x[0]; signal c relaxed }\n"
                        "agent q { tma load reads a writes x[1] signals c; wait c >= 2; "
                        "simt use reads x[0], x[1](0..8) }\n");
    test_fail_each_allocation(check_scenario, kernel);
    spad_kernel_destroy(kernel);
    kernel = test_parse(BYTES "agent p { simt op reads x delivers m by 4 }\n"
                              "agent q { simt op reads x delivers m by 4; arrive m expect 4 }\n");
    test_fail_each_allocation(check_scenario, kernel);
    spad_kernel_destroy(kernel);
    kernel = test_parse("kernel k on sm_90\nunit up on simt free proxy\n"
                        "tensor z : shared u8 (8) input\nsimt op reads z\nup op writes z\n");
    test_fail_each_allocation(check_scenario, kernel);
    spad_kernel_destroy(kernel);
}

/* Where each wait examines all before it, these take a minute without sanitizers. */
static void test_waits_are_quick(void **unused) {
    (void)unused;
    const spad_check_options options = {.timeout_ns = INT64_C(10000000000)};
    spad_check *check = check_with("kernel k on trn2\n"
                                   "counter c = 1\n"
                                   "agent a {\n"
                                   "    take c\n"
                                   "    signal c\n"
                                   "    for i in 0..200000 { wait c >= 1 }\n"
                                   "}\n",
                                   &options);
    assert_int_equal(spad_check_get_verdict(check), SPAD_VERDICT_PROVED_SHAPE);
    spad_check_destroy(check);
}

/* Sums do not depend on the order of what is added, but on when they begin and end. */
static void adds_do_not_race_with_each_other(void **state) {
    (void)state;
#define SUMS                             \
    "kernel k on sm_90\n"                \
    "unit red on copy free proxy\n"      \
    "group g\n"                          \
    "tensor a : shared u8 (64) input\n"  \
    "tensor s : global u8 (64) output\n" \
    "simt clear writes s\n"
    assert_clean(SUMS "agent p { simt add reads a adds s }\n"
                      "agent q { simt add reads a adds s }\n");
    assert_clean(SUMS "fence\nagent p { red add reads a adds s in g\ncommit g\nwait g pending 0 }\n"
                      "agent q { red add reads a adds s in g\ncommit g\nwait g pending 0 }\n");
    assert_finds(SUMS
                 "agent p { simt add reads a adds s }\nagent q { simt add reads a updates s }\n",
                 SPAD_FINDING_RACE, NULL, NULL, NULL);
    assert_finds(SUMS "agent p { simt add reads a adds s }\nagent q { simt use reads s }\n",
                 SPAD_FINDING_RACE, NULL, NULL, NULL);
    assert_finds(SUMS "agent p { simt add reads a adds s }\nagent q { simt set writes s }\n",
                 SPAD_FINDING_RACE, NULL, NULL, NULL);
    /* through two proxies */
    assert_finds(SUMS "fence\nagent p { red add reads a adds s in g\ncommit g\nwait g pending 0 }\n"
                      "agent q { simt add reads a adds s }\n",
                 SPAD_FINDING_RACE, NULL, NULL, NULL);
    /* each add comes after the read before it, and the second read only after one of them */
    assert_finds("kernel k on sm_90\ncounter c\ncounter d\n"
                 "tensor s : shared u8 (64)\nsimt clear writes s\n"
                 "agent p { simt add adds s\nsignal c }\n"
                 "agent q { simt add adds s\nsignal d }\n"
                 "agent r { wait c >= 1\nsimt use reads s }\n",
                 SPAD_FINDING_RACE, NULL, NULL, NULL);
#undef SUMS
}

/* Two warpgroups take turns, and the first one lets itself in (FlashAttention-3). */
static void an_agent_may_wait_where_it_has_arrived(void **state) {
    (void)state;
#define TURNS                                                     \
    "kernel k on sm_90\nparam N = 3\nbarrier turn[2] count 256\n" \
    "tensor s : shared u8 (64)\nsimt clear writes s\n"            \
    "agent wg[2] as w {\nif w == 0 { arrive turn[0] by 128 }\n"   \
    "for i in 0..N {\nsync turn[w] by 128\nsimt step updates s\n"
    assert_clean(TURNS "if i < N - 1 or w == 0 { arrive turn[1 - w] by 128 }\n}\n}\n");
    assert_finds(TURNS "if i < N - 1 or w == 0 { arrive turn[1 - w] by 64 }\n}\n}\n",
                 SPAD_FINDING_DEADLOCK, NULL, NULL, NULL);
    assert_finds(TURNS "if i < N - 1 or w == 0 { arrive turn[w] by 128 }\n}\n}\n",
                 SPAD_FINDING_DEADLOCK, NULL, NULL, NULL);
#undef TURNS
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_kernels),
        cmocka_unit_test(test_manual),
        cmocka_unit_test(test_classic_mistakes),
        cmocka_unit_test(test_waits_are_quick),
        cmocka_unit_test(test_orders_that_are_enough),
        cmocka_unit_test(test_parts_that_touch),
        cmocka_unit_test(test_placed_bytes),
        cmocka_unit_test(test_implicit_kernels_have_no_order),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_without_memory),
        cmocka_unit_test(adds_do_not_race_with_each_other),
        cmocka_unit_test(an_agent_may_wait_where_it_has_arrived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
