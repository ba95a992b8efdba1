/* SPDX-License-Identifier: Apache-2.0
 *
 * The order check: every finding with its message, the classic mistakes in the kernels that
 * we ship, those kernels themselves, and what happens without memory.
 * tests/property/test_order_model.c compares it with all interleavings.
 */
#include "support/kernels.h"
#include "support/places.h"
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/order.h"
#include "spad/check.h"
#include "support/files.h"

/* ---- helpers ----------------------------------------------------------------------- */

static spad_check *check_with(const char *text, const spad_check_options *options) {
    spad_kernel *kernel = test_parse(text);
    spad_check *check;
    spad_error error;
    assert_ok(spad_check_create(&check, kernel, options, &error), &error);
    spad_kernel_destroy(kernel);
    return check;
}

static spad_check *check_text(const char *text) {
    return check_with(text, NULL);
}

static bool is_order(spad_finding_code code) {
    return code >= SPAD_FINDING_RACE && code <= SPAD_FINDING_FREE_IN_USE;
}

static const spad_finding *find(const spad_check *check, spad_finding_code code) {
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        const spad_finding *finding = spad_check_get_finding(check, i);
        if (finding->code == code) return finding;
    }
    return NULL;
}

static void print_findings(const spad_check *check) {
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        const spad_finding *f = spad_check_get_finding(check, i);
        print_error("%d: %s: %s\n", f->line, spad_finding_name(f->code), f->message);
    }
}

static void assert_no_order_finding(const spad_check *check, const char *name) {
    bool clean = true;
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        clean = clean && !is_order(spad_check_get_finding(check, i)->code);
    }
    if (!clean) print_error("%s:\n", name);
    if (!clean) print_findings(check);
    assert_true(clean);
}

static void assert_clean(const char *text) {
    spad_check *check = check_text(text);
    assert_no_order_finding(check, text);
    spad_check_destroy(check);
}

/* The first finding of a code has that message, and its notes begin with these. */
static void assert_finds(const char *text, spad_finding_code code, const char *message,
                         const char *note, const char *second) {
    spad_check *check = check_text(text);
    const spad_finding *finding = find(check, code);
    if (finding == NULL) print_findings(check);
    assert_non_null(finding);
    assert_string_equal(finding->message, message);
    assert_true(finding->line > 0);
    if (note != NULL) {
        assert_true(finding->note_count >= 1);
        assert_string_equal(finding->notes[0].message, note);
        assert_true(finding->notes[0].line > 0);
    }
    if (second != NULL) {
        assert_true(finding->note_count >= 2);
        assert_string_equal(finding->notes[1].message, second);
    }
    spad_check_destroy(check);
}

/* ---- the files --------------------------------------------------------------------- */

static void test_shipped_kernels_are_clean(void **unused) {
    (void)unused;
    test_files files;
    test_list_kernels(&files, TEST_KERNELS);
    assert_true(files.count >= 24);
    for (size_t i = 0; i < files.count; i++) {
        char path[512];
        snprintf(path, sizeof path, TEST_KERNELS "/%s", files.names[i]);
        char *text = test_read_file(path);
        spad_check *check = check_text(text);
        assert_no_order_finding(check, path);
        spad_check_destroy(check);
        free(text);
    }
}

/* Other sizes of the same kernels: laps, tails, fewer steps than slots. */
static void test_shipped_kernels_in_other_sizes(void **unused) {
    (void)unused;
    static const struct {
        const char *name;
        spad_define defines[2];
    } cases[] = {
        {"07_gemm_sm80", {{"S", 2}, {"KT", 9}}},
        {"07_gemm_sm80", {{"S", 4}, {"KT", 2}}},
        {"08_gemm_sm90", {{"S", 2}, {"KT", 5}}},
        {"08_gemm_sm90", {{"S", 3}, {"KT", 17}}},
        {"08_gemm_sm90", {{"S", 4}, {"KT", 1}}},
        {"09_flash_attention_3", {{"T", 3}, {"N", 4}}},
        {"10_gemm_sm100", {{"TILES", 5}, {"KB", 3}}},
        {"11_add_flags", {{"STEPS", 9}, {"ROWS", 16}}},
        {"11_add_queues", {{"TILES", 7}, {"DEPTH", 3}}},
        {"12_gemm_cube", {{"KB", 3}, {"R", 2}}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[128];
        snprintf(path, sizeof path, "examples/kernels/%s.spad", cases[i].name);
        char *text = test_read_file(path);
        const spad_kernel_options options = {.defines = cases[i].defines, .define_count = 2};
        spad_kernel *kernel = test_parse_with(text, &options);
        spad_check *check;
        spad_error error;
        assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
        assert_no_order_finding(check, path);
        spad_check_destroy(check);
        spad_kernel_destroy(kernel);
        free(text);
    }
}

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

/* The first block of a section of the manual gives the finding that it is about, the second
 * one nothing. */
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
        for (int block = 0; block < 2; block++) {
            char *begin = strstr(at, "```spad\n");
            assert_non_null(begin);
            begin += strlen("```spad\n");
            char *end = strstr(begin, "\n```\n");
            assert_non_null(end);
            end[1] = '\0';
            spad_check *check = check_text(begin);
            if (block == 0) {
                if (find(check, (spad_finding_code)code) == NULL) print_error("%s:\n", name);
                if (find(check, (spad_finding_code)code) == NULL) print_findings(check);
                assert_non_null(find(check, (spad_finding_code)code));
            } else {
                assert_no_order_finding(check, name);
            }
            spad_check_destroy(check);
            end[1] = '`';
            at = end + 2;
        }
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
        {"08_gemm_sm90", "\nfence\n", "\n", SPAD_FINDING_MISSING_FENCE},
        {"08_gemm_sm90", "    wait mmas pending 0\n", "", SPAD_FINDING_RACE},
        /* the store of O must have left before V is loaded; its bytes need a fence */
        {"09_flash_attention_3", "            if n == 0 { wait o_done parity (t + 1) % 2 }\n", "",
         SPAD_FINDING_RACE},
        {"09_flash_attention_3", "        fence\n", "", SPAD_FINDING_MISSING_FENCE},
        {"09_flash_attention_3", "        wait stores pending 0 reads\n", "", SPAD_FINDING_RACE},
        {"09_flash_attention_3", "        sync consumers by 128 # V is no longer read\n", "",
         SPAD_FINDING_RACE},
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

/* ---- messages ---------------------------------------------------------------------- */

#define RING                            \
    "kernel k on sm_90\n"               \
    "unit tma on copy free\n"           \
    "group g\n"                         \
    "counter c\n"                       \
    "barrier b count 2\n"               \
    "mbarrier m count 1\n"              \
    "tensor a : global u8 (64) input\n" \
    "tensor x : shared u8 [4] (64) ring 2\n"

static void test_race_messages(void **unused) {
    (void)unused;
    assert_finds(
        RING "agent p { for k in 0..2 { tma load reads a writes x[2 * k] in g; commit g; "
             "wait g pending 0; if k == 0 { arrive b } } }\n"
             "agent q { sync b; simt use reads x[0] }\n",
        SPAD_FINDING_RACE,
        "load of iteration k = 1 (p) may write 'x[2]' over 'x[0]' while use (q) still reads "
        "it: bytes [0, 64) of x slot 0",
        "use (q) reads 'x[0]' here",
        "nothing orders them: let p wait for something before it, and let q arrive or "
        "signal there after it");
    assert_finds(RING "tma load reads a writes x[0] in g\ncommit g\nwait g pending 1\n"
                      "simt use reads x[0](0..32)\nwait g pending 0\n",
                 SPAD_FINDING_RACE,
                 "use may read 'x[0]' before load has written it: bytes [0, 32) of x slot 0",
                 "load writes 'x[0]' here",
                 "nothing orders them: the second must come after a `wait g pending` that covers "
                 "it");
    assert_finds(RING "tma load reads a writes x[0]\ntma load reads a writes x[2]\ndrain all\n",
                 SPAD_FINDING_RACE,
                 "load may write 'x[2]' over 'x[0]' while load still writes it: bytes [0, 64) of x "
                 "slot 0",
                 "load writes 'x[0]' here",
                 "nothing orders them: arrive or signal on tma after the first, and wait for that "
                 "before the second"); /* no NVIDIA chip drains a unit */
    assert_finds("kernel k on 910b\nunit mte2 fifo\ntensor a : gm u8 (64) input\n"
                 "tensor x : ub u8 [4] (64) ring 2\n"
                 "mte2 load reads a writes x[0]\nmte2 load reads a writes x[2]\ndrain all\n",
                 SPAD_FINDING_RACE,
                 "load may write 'x[2]' over 'x[0]' while load still writes it: bytes [0, 64) of x "
                 "slot 0",
                 "load writes 'x[0]' here", "nothing orders them: `drain mte2` between them would");
    assert_finds(RING "tma load reads a writes x[0] signals c\nsimt use reads x[0]\n"
                      "wait c >= 1\n",
                 SPAD_FINDING_RACE,
                 "use may read 'x[0]' before load has written it: bytes [0, 64) of x slot 0", NULL,
                 "nothing orders them: the second must come after a wait for what it delivers, "
                 "arrives at or signals");
    assert_finds(RING "tma load reads a writes x[0]\nsimt use reads x[0]\ndrain all\n",
                 SPAD_FINDING_RACE,
                 "use may read 'x[0]' before load has written it: bytes [0, 64) of x slot 0", NULL,
                 "nothing orders them: arrive or signal on tma after the first, and wait for that "
                 "before the second");
    assert_finds(
        RING "agent p { simt fill writes x[0]; signal c relaxed }\n"
             "agent q { wait c >= 1; simt use reads x[0] }\n",
        SPAD_FINDING_RACE,
        "use (q) may read 'x[0]' before fill (p) has written it: bytes [0, 64) of x slot 0",
        "fill (p) writes 'x[0]' here",
        "they run one after the other, but a relaxed statement is all that orders them, "
        "and it orders no memory");
}

/* The sentence follows the tiles, whichever access is first in the run of the check. */
static void test_race_stories(void **unused) {
    (void)unused;
    /* too early: the read comes first in the run */
    assert_finds(
        RING "agent p { simt use reads x[0] }\nagent q { simt fill writes x[0] }\n",
        SPAD_FINDING_RACE,
        "use (p) may read 'x[0]' before fill (q) has written it: bytes [0, 64) of x slot 0",
        "fill (q) writes 'x[0]' here",
        "nothing orders them: let p wait for something before it, and let q arrive or "
        "signal there after it");
    /* overwriting: the write comes first in the run */
    assert_finds(
        RING "agent p { simt one writes x[0]; signal c; simt two writes x[2] }\n"
             "agent q { wait c >= 1; simt use reads x[0] }\n",
        SPAD_FINDING_RACE,
        "two (p) may write 'x[2]' over 'x[0]' while use (q) still reads it: bytes [0, 64) of "
        "x slot 0",
        "use (q) reads 'x[0]' here",
        "nothing orders them: let p wait for something before it, and let q arrive or "
        "signal there after it");
    /* a tile that is written again: a later iteration comes too early, not the read too late */
    assert_finds(RING "agent p { for k in 0..2 { simt fill writes x[0]; signal c } }\n"
                      "agent q { for k in 0..2 { wait c >= k + 1; simt use reads x[0] } }\n",
                 SPAD_FINDING_RACE,
                 "fill of iteration k = 1 (p) may write 'x[0]' while use of iteration k = 0 (q) "
                 "still reads it: bytes [0, 64) of x slot 0",
                 "use of iteration k = 0 (q) reads 'x[0]' here", NULL);
    /* two writes of one tile, and of two */
    assert_finds(
        RING "agent p { simt one writes x[0] }\nagent q { simt two writes x[0] }\n",
        SPAD_FINDING_RACE,
        "two (q) may write 'x[0]' while one (p) still writes it: bytes [0, 64) of x slot 0",
        "one (p) writes 'x[0]' here", NULL);
    assert_finds(
        RING "agent p { simt one writes x[1] }\nagent q { simt two writes x[3] }\n",
        SPAD_FINDING_RACE,
        "two (q) may write 'x[3]' over 'x[1]' while one (p) still writes it: bytes [0, 64) "
        "of x slot 1",
        NULL, NULL);
    /* an accumulator is read as well */
    assert_finds(
        RING "agent p { simt clear writes x[0] }\nagent q { simt add updates x[0] }\n",
        SPAD_FINDING_RACE,
        "add (q) may read 'x[0]' before clear (p) has written it: bytes [0, 64) of x slot 0", NULL,
        NULL);
    /* other names: a view of the tile, and a tensor of its own in its bytes */
    assert_finds(RING "tensor v : shared u8 [4] (32) alias of x\n"
                      "agent p { simt fill writes x[0] }\nagent q { simt use reads v[0] }\n",
                 SPAD_FINDING_RACE,
                 "use (q) may read 'v[0]' before fill (p) has written 'x[0]', which has the same "
                 "bytes: bytes [0, 32) of x slot 0",
                 "fill (p) writes 'x[0]' here", NULL);
    assert_finds(
        RING "tensor y : shared u8 [4] (32) alias of x\nsimt fill writes x[0]\n"
             "agent p { simt use reads x[0] }\nagent q { simt other writes y[0] }\n",
        SPAD_FINDING_RACE,
        "other (q) may write 'y[0]' over 'x[0]' while use (p) still reads it: bytes [0, 32) "
        "of x slot 0",
        "use (p) reads 'x[0]' here", NULL);
    /* lives */
    assert_finds(RING "agent p { alloc x[0] }\nagent q { simt fill writes x[0] }\nfree x[0]\n",
                 SPAD_FINDING_FREE_IN_USE,
                 "fill (q) may use 'x[0]' before alloc x (p): bytes [0, 64) of x slot 0",
                 "alloc x (p) makes alive 'x[0]' here", NULL);
    assert_finds(RING "alloc x[0]\nagent p { free x[0] }\nagent q { simt fill writes x[0] }\n",
                 SPAD_FINDING_FREE_IN_USE,
                 "free x (p) may come while fill (q) still uses 'x[0]': bytes [0, 64) of x slot 0",
                 "fill (q) uses 'x[0]' here", NULL);
}

/* What is missing at a wait that never ends. */
static void test_waits_without_end(void **unused) {
    (void)unused;
    static const char head[] = "kernel k on sm_90\nunit tma on copy free proxy\n"
                               "mbarrier m count 1\ntensor a : global u8 (64) input\n"
                               "tensor x : shared u8 (64)\ninit m\nfence\n%s"
                               "wait m parity 0\nsimt use reads x\n";
    char text[1024];
    snprintf(text, sizeof text, head, "arrive m expect 32\ntma load reads a writes x delivers m\n");
    assert_finds(text, SPAD_FINDING_DEADLOCK,
                 "wait m never ends: phase 1 of m needs 32 bytes and gets 64", NULL, NULL);
    snprintf(text, sizeof text, head, "expect m by 96\ntma load reads a writes x delivers m\n");
    assert_finds(
        text, SPAD_FINDING_DEADLOCK,
        "wait m never ends: m is in phase 1, which lacks 1 of 1 arrivals and 32 bytes; let "
        "the main program arrive at m on tma after load",
        "the main program waits for it here", NULL);
    /* the count of what is not initialised says nothing */
    spad_check *check = check_text("kernel k on sm_90\nmbarrier m count 1\narrive m\n"
                                   "wait m parity 0\n");
    assert_non_null(find(check, SPAD_FINDING_MBARRIER_LIFE));
    assert_null(find(check, SPAD_FINDING_MIXED_PHASES));
    spad_check_destroy(check);
    /* two laps too many: it is not the arrivals that lack */
    assert_finds("kernel k on sm_90\nmbarrier m count 1\nbarrier b count 2\ninit m\n"
                 "agent p { arrive m; arrive m; sync b }\n"
                 "agent q { sync b; wait m parity 0; wait m parity 1 }\n",
                 SPAD_FINDING_LAPPED_WAIT,
                 "wait m (q) comes when phase 2 of m is complete, and then waits for the one after "
                 "it; let an arrival of that phase wait for it",
                 NULL, NULL);
    assert_finds("kernel k on sm_90\nunit tma on copy free proxy\nmbarrier m count 1\n"
                 "tensor a : global u8 (64) input\ntensor x : shared u8 [2] (64)\ninit m\nfence\n"
                 "arrive m\ntma load reads a writes x[0] delivers m\nexpect m by 64\n"
                 "arrive m\ntma load reads a writes x[1] delivers m\nexpect m by 64\n",
                 SPAD_FINDING_MIXED_PHASES,
                 "load may come before phase 2 of m is complete, and would count for it; let it "
                 "wait for that first, or check the count",
                 NULL, NULL);
}

/* A ring with the parities of its two waits. */
static spad_check *check_parities(const char *empty, const char *full) {
    char text[2048];
    snprintf(
        text, sizeof text,
        "kernel k on sm_90\nparam S = 3\nparam N = 9\nunit tma on copy free proxy\n"
        "mbarrier full[S] count 1\nmbarrier empty[S] count 1\n"
        "tensor a : global u8 [N] (64) input\ntensor x : shared u8 [N] (64) ring S\n"
        "tensor o : global u8 [N] (64) output\n"
        "for s in 0..S { init full[s]; init empty[s] }\nfence\n"
        "agent p { for k in 0..N {\n"
        "wait empty[k %% S] parity %s\n"
        "arrive full[k %% S] expect 64; tma load reads a[k] writes x[k] delivers full[k %% S]\n"
        "} }\n"
        "agent q { for k in 0..N {\n"
        "wait full[k %% S] parity %s\n"
        "simt use reads x[k] writes o[k]; arrive empty[k %% S]\n"
        "} }\n",
        empty, full);
    return check_text(text);
}

/* A finding of that code has a note with that text at that line. */
static void assert_hint(const char *empty, const char *full, spad_finding_code code, int line,
                        const char *hint) {
    spad_check *check = check_parities(empty, full);
    bool found = false;
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        const spad_finding *f = spad_check_get_finding(check, i);
        for (size_t n = 0; n < f->note_count; n++) {
            found = found || (f->code == code && f->notes[n].line == line &&
                              strcmp(f->notes[n].message, hint) == 0);
        }
    }
    if (!found) print_findings(check);
    assert_true(found);
    spad_check_destroy(check);
}

static void test_parity_hints(void **unused) {
    (void)unused;
    static const char passes[] = "(k / S + 1) % 2";
    static const char waits[] = "k / S % 2";
    static const char full_hint[] = "with parity k / S % 2 here the kernel is right";
    static const char empty_hint[] =
        "with parity (k / S + 1) % 2 here the kernel is right; it passes immediately in the first "
        "round";
    spad_check *check = check_parities(passes, waits);
    assert_int_equal(spad_check_get_counts(check).errors, 0);
    spad_check_destroy(check);
    assert_hint(passes, passes, SPAD_FINDING_STALE_PARITY, 17, full_hint);
    assert_hint(waits, waits, SPAD_FINDING_DEADLOCK, 13, empty_hint);
    assert_hint(passes, "0", SPAD_FINDING_LAPPED_WAIT, 17, full_hint);
    assert_hint("1", waits, SPAD_FINDING_DEADLOCK, 13, empty_hint);
    assert_hint(passes, "k % 2", SPAD_FINDING_DEADLOCK, 17, full_hint);
    /* both: the order of the two is the other way round, so that nothing has been loaded */
    assert_hint(waits, passes, SPAD_FINDING_UNINITIALISED_READ, 17,
                "with parity k / S % 2 here and the parity of the note before the kernel is right");
    assert_hint(
        waits, passes, SPAD_FINDING_UNINITIALISED_READ, 13,
        "with parity (k / S + 1) % 2 here and the parity of the next note the kernel is right; it "
        "passes immediately in the first "
        "round");
    /* outside of loops, and in two */
    assert_finds(
        "kernel k on sm_90\nmbarrier m count 1\ntensor x : shared u8 (64)\ninit m\n"
        "agent p { simt fill writes x; arrive m }\n"
        "agent q { wait m parity 1; simt use reads x }\n",
        SPAD_FINDING_STALE_PARITY,
        "wait m (q) passes immediately if it comes before phase 1 of m is complete, and waits "
        "for phase 2 if it comes later: with parity 1 it does not wait for phase 1",
        "with parity 0 here the kernel is right", NULL);
    assert_finds(
        "kernel k on sm_90\nmbarrier m count 1\nbarrier b count 2\n"
        "tensor x : shared u8 (64)\ninit m\n"
        "agent p { for t in 0..2 { for k in 0..3 { simt fill writes x; arrive m; sync b } "
        "} }\n"
        "agent q { for t in 0..2 { for k in 0..3 { wait m parity k % 2; simt use reads x; "
        "sync b } } }\n",
        SPAD_FINDING_LAPPED_WAIT,
        "wait m of iteration t = 1, k = 0 (q) may come when phase 4 of m is complete, and "
        "then waits for the one after it; let an arrival of that phase wait for it",
        "with parity n % 2 here (n: waits on the same element before it) the kernel is right",
        NULL);
    /* two of them, in a kernel that has an n: no name twice, and no comma too many */
    check = check_text(
        "kernel k on sm_90\nparam N = 4\nmbarrier full count 1\nmbarrier empty count 1\n"
        "tensor x : shared u8 (64)\ninit full\ninit empty\n"
        "agent p { for t in 0..2 { for n in 0..N { wait empty parity n % 2; simt fill writes x; "
        "arrive full } } }\n"
        "agent q { for t in 0..2 { for n in 0..N { wait full parity (n + 1) % 2; simt use reads x; "
        "arrive empty } } }\n");
    const spad_finding *f = spad_check_get_finding(check, 0);
    assert_true(f->note_count >= 2);
    assert_string_equal(f->notes[f->note_count - 2].message,
                        "with parity (w + 1) % 2 here (w: waits on the same element before it) and "
                        "the parity of the next note the kernel is right; it passes immediately in "
                        "the first round");
    assert_string_equal(f->notes[f->note_count - 1].message,
                        "with parity w % 2 here (w: waits on the same element before it) and the "
                        "parity of the note before the kernel is right");
    spad_check_destroy(check);
}

/* A wait in a queue holds up what comes after it, and does not end what runs before it. */
static void test_waits_in_queues(void **unused) {
    (void)unused;
    static const char head[] = "kernel k on 910b\nunit mte2 %s\nunit vector %s\ncounter c\n"
                               "tensor g : gm f16 (64) input\ntensor x : ub f16 (64)\n"
                               "tensor y : ub f16 (64)\ntensor z : ub f16 (64)\n"
                               "mte2 load reads g writes y\nsignal c on mte2\n"
                               "vector fill writes x\ntake c on vector\n%s"
                               "vector add reads x, y writes z\ndrain all\n";
    char text[1024];
    snprintf(text, sizeof text, head, "fifo", "fifo", "");
    assert_finds(text, SPAD_FINDING_RACE,
                 "add may read 'x' before fill has written it: bytes [0, 128) of x",
                 "fill writes 'x' here", "nothing orders them: `drain vector` between them would");
    snprintf(text, sizeof text, head, "fifo", "fifo", "drain vector\n");
    assert_clean(text);
    snprintf(text, sizeof text, head, "fifo", "serial", "");
    assert_clean(text);
    /* what is signalled after the wait comes after it, and after what runs before it */
    assert_clean("kernel k on 910b\nunit mte2 fifo\nunit vector fifo\nunit mte3 fifo\n"
                 "counter c\ncounter d\ntensor g : gm f16 (64) input\ntensor x : ub f16 (64)\n"
                 "tensor y : ub f16 (64)\ntensor o : gm f16 [2] (64) output\n"
                 "mte2 load reads g writes y\nsignal c on mte2\n"
                 "vector fill writes x\ntake c on vector\nsignal d on vector\n"
                 "take d on mte3\nmte3 store reads x writes o[0]\nmte3 store reads y writes o[1]\n"
                 "drain all\n");
}

static void test_other_messages(void **unused) {
    (void)unused;
    assert_finds(RING "alloc x\ntma load reads a writes x[0] in g\ncommit g\nfree x\n"
                      "wait g pending 0\n",
                 SPAD_FINDING_FREE_IN_USE,
                 "free x may come while load still uses 'x[0]': bytes [0, 64) of x slot 0",
                 "load uses 'x[0]' here", NULL);
    assert_finds(RING "agent p { wait c >= 2 }\nagent q { signal c }\n", SPAD_FINDING_DEADLOCK,
                 "wait c (p) never ends: c has 1, and 2 is needed", NULL, NULL);
    assert_finds(RING "agent p { sync b }\nagent q { signal c }\n", SPAD_FINDING_DEADLOCK,
                 "sync b (p) never ends: b has 1 of 2 contributions", NULL, NULL);
    assert_finds(RING "init m\narrive m expect 64\nwait m parity 0\n", SPAD_FINDING_DEADLOCK,
                 "wait m never ends: phase 1 of m needs 64 bytes and gets 0", NULL, NULL);
    assert_finds(RING "arrive m\n", SPAD_FINDING_MBARRIER_LIFE,
                 "arrive m finds m not initialised; put its init before it, and order the two",
                 NULL, NULL);
    assert_finds(RING "init m\ninit m\n", SPAD_FINDING_MBARRIER_LIFE,
                 "init m finds m in use; invalidate it before it is initialised again", NULL, NULL);
    assert_finds(RING "init m\narrive m drop\n", SPAD_FINDING_MBARRIER_LIFE,
                 "arrive m leaves no arrivals for m", NULL, NULL);
    assert_finds(RING "init m\nagent p { arrive m }\nagent q { invalidate m }\n",
                 SPAD_FINDING_MBARRIER_LIFE, "arrive m (p) may come when m is already invalidated",
                 "invalidate m (q)", NULL);
    assert_finds(RING "agent p { arrive b; arrive b }\n", SPAD_FINDING_BARRIER_COUNT,
                 "arrive b (p) enters b a second time before it is complete", NULL, NULL);
    assert_finds(RING "agent p { sync b by 3 }\n", SPAD_FINDING_BARRIER_COUNT,
                 "sync b (p) contributes more to b than its count of 2", NULL, NULL);
    assert_finds(RING "init m\narrive m by 2 expect 4\n", SPAD_FINDING_MIXED_PHASES,
                 "m has 2 arrivals a lap, count 1; with count 2 the kernel is right",
                 "2 by arrive m", "arrive m contributes more to m than its count of 1");
    assert_finds(RING "agent p { arrive b }\n", SPAD_FINDING_LEFTOVER,
                 "b ends with 1 of 2 contributions to a round that is never completed", NULL, NULL);
    assert_finds(RING "init m\nexpect m by 8\n", SPAD_FINDING_LEFTOVER,
                 "m ends with a phase that lacks 1 of 1 arrivals and 8 bytes", NULL, NULL);
    assert_finds(
        RING "signal c by 2\ntake c\n", SPAD_FINDING_LEFTOVER,
        "c ends at 1 and started at 0; every signal needs a take, or the next kernel finds "
        "what is left",
        NULL, NULL);
    static const char *const announced[] = {
        "kernel k on sm_90\nunit tma on copy free proxy\nmbarrier full count 1\n"
        "tensor a : global f32 (64) input\ntensor x : shared f32 (64) output\ninit full\nfence\n"
        "arrive full expect 256\ntma load reads a writes x delivers full\n",
        "kernel k on 910b\nunit mte2 fifo\ncounter c\ntensor a : gm f32 (64) input\n"
        "tensor x : ub f32 (64) output\nmte2 load reads a writes x\nsignal c on mte2\n",
        "kernel k on 910b\nunit mte2 fifo\ntensor a : gm f32 (64) input\n"
        "tensor x : ub f32 (64) output\nmte2 load reads a writes x\ndrain mte2\n"};
    for (size_t i = 0; i < sizeof announced / sizeof announced[0]; i++) {
        assert_finds(announced[i], SPAD_FINDING_UNFINISHED,
                     "nothing waits until load is done with x; the kernel may end before it", NULL,
                     NULL);
    }
    assert_clean("kernel k on 910b\nunit mte2 fifo\ncounter c\ntensor a : gm f32 (64) input\n"
                 "tensor x : ub f32 (64) output\nmte2 load reads a writes x\nsignal c on mte2\n"
                 "wait c >= 1\n");
    assert_finds(RING "tma load reads a writes x[0] in g\n", SPAD_FINDING_UNFINISHED,
                 "nothing waits until load is done with x; the kernel may end before it", NULL,
                 NULL);
}

#define BYTES "kernel k on sm_90\nmbarrier m count 1\ntensor x : shared u8 (64) input\ninit m\n"

/* Bytes that are not expected: they keep a phase open forever, or find it complete. */
static void test_bytes_that_nobody_expects(void **unused) {
    (void)unused;
    static const char *const mixed[] = {
        /* all of it too much; the wait passes or never ends */
        BYTES "agent p { simt op reads x delivers m by 4 }\n"
              "agent q { arrive m; wait m parity 1 }\n",
        /* a part of it: the last four; the last twelve */
        BYTES "agent p { simt op reads x delivers m by 8; simt op reads x delivers m by 4 }\n"
              "agent q { arrive m expect 8 }\n",
        BYTES "agent p { simt op reads x delivers m by 8; simt op reads x delivers m by 4 }\n"
              "agent q { arrive m expect 4 }\n"
              "agent r { simt op reads x delivers m by 4 }\n",
        /* of an earlier life */
        BYTES "agent p { simt op reads x delivers m by 4 }\nagent q { arrive m }\n"
              "invalidate m\ninit m\narrive m\nwait m parity 0\n",
        /* the arrival and the bytes of one operation: they come one after the other */
        BYTES "agent p { simt op reads x delivers m by 4 }\n"
              "agent q { simt op reads x arrives m delivers m by 4 }\n",
        /* many */
        BYTES "agent p { for i in 0..20 { simt op reads x delivers m by 4 } }\n"
              "agent q { arrive m expect 40 }\n",
    };
    for (size_t i = 0; i < sizeof mixed / sizeof mixed[0]; i++) {
        spad_check *check = check_text(mixed[i]);
        if (find(check, SPAD_FINDING_MIXED_PHASES) == NULL) print_error("%s", mixed[i]);
        assert_non_null(find(check, SPAD_FINDING_MIXED_PHASES));
        spad_check_destroy(check);
    }
    assert_finds(mixed[0], SPAD_FINDING_MIXED_PHASES,
                 "op (p) may come before phase 1 of m is complete or after it: 4 bytes more are "
                 "delivered than expected; expect them, or check the amounts",
                 NULL, NULL);
    /* never complete, in whatever order */
    static const char *const open[] = {
        BYTES "simt op reads x delivers m by 4\narrive m\nwait m parity 1\n",
        BYTES "agent p { simt op reads x delivers m by 8 }\nagent q { arrive m expect 4 }\n",
        BYTES "agent p { simt op reads x delivers m by 4; simt op reads x delivers m by 8 }\n"
              "agent q { arrive m expect 8 }\n",
        BYTES "agent p { simt op reads x delivers m by 4; arrive m }\n"
              "agent q { simt op reads x delivers m by 2 }\n",
        "kernel k on sm_90\nmbarrier m count 2\ntensor x : shared u8 (64) input\ninit m\n"
        "agent p { simt op reads x arrives m delivers m by 4 }\n"
        "agent q { simt op reads x arrives m delivers m by 4 }\n",
    };
    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++) {
        spad_check *check = check_text(open[i]);
        if (find(check, SPAD_FINDING_MIXED_PHASES) != NULL) print_error("%s", open[i]);
        assert_null(find(check, SPAD_FINDING_MIXED_PHASES));
        assert_non_null(find(check, SPAD_FINDING_LEFTOVER));
        spad_check_destroy(check);
    }
    /* bytes may come before they are expected */
    assert_clean(BYTES "agent p { simt op reads x delivers m by 4 }\n"
                       "agent q { expect m by 4; arrive m; wait m parity 0 }\n");
}

/* Bytes may be expected when all have arrived, as long as others are missing. */
static void test_late_expectations(void **unused) {
    (void)unused;
    /* the other bytes are delivered later */
    assert_clean(BYTES
                 "agent p { arrive m expect 8; expect m by 4; simt op reads x delivers m by 8;"
                 " simt op reads x delivers m by 4; wait m parity 0 }\n");
    /* by an agent that comes later */
    assert_clean(BYTES "counter c\nagent p { arrive m expect 8; expect m by 4; signal c }\n"
                       "agent q { wait c >= 1; simt op reads x delivers m by 8 }\n"
                       "agent r { simt op reads x delivers m by 4 }\n");
    static const char *const late[] = {
        /* the others may be there already */
        BYTES "unit u on simt free\n"
              "agent p { arrive m expect 8; u op reads x delivers m by 8; expect m by 4;"
              " simt op reads x delivers m by 4 }\n",
        BYTES "agent p { arrive m expect 8; expect m by 4; simt op reads x delivers m by 4 }\n"
              "agent q { simt op reads x delivers m by 8 }\n",
        /* too many are */
        BYTES "simt op reads x delivers m by 8\narrive m expect 4\nexpect m by 8\n",
        /* one of many */
        BYTES "agent p { arrive m expect 8; for i in 0..20 { expect m by 4 };"
              " for i in 0..20 { simt op reads x delivers m by 4 } }\n"
              "agent q { simt op reads x delivers m by 8 }\n",
    };
    for (size_t i = 0; i < sizeof late / sizeof late[0]; i++) {
        spad_check *check = check_text(late[i]);
        const bool found = find(check, SPAD_FINDING_LATE_EXPECT) != NULL ||
                           find(check, SPAD_FINDING_MIXED_PHASES) != NULL;
        if (!found) print_error("%s", late[i]);
        assert_true(found);
        spad_check_destroy(check);
    }
    /* a life that ends before all have arrived */
    spad_check *check = check_text("kernel k on sm_90\nmbarrier m count 2\n"
                                   "tensor x : shared u8 (64) input\ninit m\n"
                                   "agent p { arrive m }\nagent q { expect m by 4 }\n"
                                   "invalidate m\n");
    assert_null(find(check, SPAD_FINDING_LATE_EXPECT));
    spad_check_destroy(check);
}

/* A generic read before an async write is a warning: many kernels do without the fence. */
static void test_fence_of_a_read_is_a_warning(void **unused) {
    (void)unused;
    static const char text[] =
        "kernel k on sm_90\nunit tma on copy free proxy\ngroup g\n"
        "tensor a : global u8 (64) input\ntensor x : shared u8 (64) input\n"
        "simt use reads x\ntma load reads a writes x in g\ncommit g\nwait g pending 0\n";
    spad_check *check = check_text(text);
    const spad_finding *finding = find(check, SPAD_FINDING_MISSING_FENCE);
    assert_non_null(finding);
    assert_int_equal(finding->severity, SPAD_SEVERITY_WARNING);
    assert_string_equal(
        finding->message,
        "load goes through the async proxy to bytes [0, 64) of x, and no fence comes "
        "between it and use, which does not");
    spad_check_destroy(check);
}

/* Two statements with two conflicts: the worse one is reported, wherever it is found. */
static void test_the_worse_conflict_is_told(void **unused) {
    (void)unused;
    static const char *const texts[] = {
        /* the read shares lower bytes, the write higher ones; and the reverse */
        "kernel k on sm_90\nunit up on simt free proxy\n"
        "tensor y : shared u8 (8) at 71 input\ntensor z : shared u8 (8) at 69 input\n"
        "simt op reads z writes y\nagent a { up op writes z }\n",
        "kernel k on sm_90\nunit up on simt free proxy\n"
        "tensor y : shared u8 (8) at 67 input\ntensor z : shared u8 (8) at 69 input\n"
        "simt op reads z writes y\nagent a { up op writes z }\n",
        /* an earlier iteration reads, a later one writes */
        "kernel k on sm_90\nunit up on simt free proxy\n"
        "tensor z : shared u8 [2] (8) input\ntensor y : shared u8 [2] (8) input\n"
        "barrier b count 2\n"
        "agent p { for i in 0..2 { simt op reads z[i] writes y[i]; sync b; sync b } }\n"
        "agent q { for i in 0..2 { sync b; up op reads y[1] writes z[0]; drain all; sync b } }\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        spad_check *check = check_text(texts[i]);
        const spad_finding *finding = find(check, SPAD_FINDING_MISSING_FENCE);
        if (finding == NULL) print_error("%s", texts[i]);
        assert_non_null(finding);
        assert_int_equal(finding->severity, SPAD_SEVERITY_ERROR);
        spad_check_destroy(check);
    }
    /* a race in the second iteration */
    spad_check *check =
        check_text("kernel k on sm_90\nunit up on simt free proxy\nbarrier b count 2\n"
                   "tensor z : shared u8 [2] (8) input\n"
                   "agent p { for i in 0..2 { simt op reads z[i]; if i == 0 { sync b } } }\n"
                   "agent q { sync b; for i in 0..2 { up op writes z[i] } }\n");
    assert_non_null(find(check, SPAD_FINDING_RACE));
    spad_check_destroy(check);
}

/* ---- what is right ----------------------------------------------------------------- */

static void test_orders_that_are_enough(void **unused) {
    (void)unused;
    /* all of several signals are needed, whoever sends them: the pigeonhole */
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shipped_kernels_are_clean),
        cmocka_unit_test(test_shipped_kernels_in_other_sizes),
        cmocka_unit_test(test_wrong_kernels),
        cmocka_unit_test(test_manual),
        cmocka_unit_test(test_classic_mistakes),
        cmocka_unit_test(test_race_messages),
        cmocka_unit_test(test_race_stories),
        cmocka_unit_test(test_waits_without_end),
        cmocka_unit_test(test_parity_hints),
        cmocka_unit_test(test_waits_in_queues),
        cmocka_unit_test(test_waits_are_quick),
        cmocka_unit_test(test_other_messages),
        cmocka_unit_test(test_bytes_that_nobody_expects),
        cmocka_unit_test(test_late_expectations),
        cmocka_unit_test(test_fence_of_a_read_is_a_warning),
        cmocka_unit_test(test_the_worse_conflict_is_told),
        cmocka_unit_test(test_orders_that_are_enough),
        cmocka_unit_test(test_parts_that_touch),
        cmocka_unit_test(test_placed_bytes),
        cmocka_unit_test(test_implicit_kernels_have_no_order),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
