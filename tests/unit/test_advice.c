/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes of kernels: which are offered, what they give, and that nothing is lost by any of them.
 */
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "spad/spad.h"
#include "support/kernels.h"

/* ---- helpers ----------------------------------------------------------------------- */

typedef struct proof {
    spad_verdict verdict;
    char reason[1024];
    int64_t makespan;
    int64_t warnings;
} proof;

static proof prove(const spad_kernel *kernel) {
    spad_error error;
    spad_analysis *analysis;
    proof p = {0};
    assert_ok(spad_analysis_create(&analysis, kernel, NULL, &error), &error);
    assert_true(spad_analysis_is_fine(analysis));
    const spad_check *check = spad_analysis_get_check(analysis);
    p.verdict = spad_check_get_verdict(check);
    snprintf(p.reason, sizeof p.reason, "%s", spad_check_get_reason(check));
    p.makespan = spad_sim_get_totals(spad_analysis_get_sim(analysis)).makespan;
    p.warnings = spad_check_get_counts(check).warnings;
    spad_analysis_destroy(analysis);
    return p;
}

/* What is offered has the proof of the kernel that was given, also when its text is read again. */
static void assert_nothing_lost(const spad_advice *advice, const spad_kernel *given) {
    const proof before = prove(given);
    test_text text;
    spad_error error;
    test_text_init(&text);
    assert_ok(spad_kernel_write_text(spad_advice_get_kernel(advice), &text.sink, &error), &error);
    spad_kernel *read = test_parse(text.bytes);
    const proof after = prove(read);
    assert_true(after.verdict == before.verdict || after.verdict == SPAD_VERDICT_PROVED_ALL);
    if (before.verdict == SPAD_VERDICT_PROVED_ALL) assert_string_equal(after.reason, before.reason);
    assert_true(after.makespan <= before.makespan);
    assert_true(after.warnings <= before.warnings);
    spad_kernel_destroy(read);
    test_text_free(&text);
}

static spad_advice *advise(const spad_kernel *kernel, const spad_advice_options *options) {
    spad_advice *advice;
    spad_error error;
    assert_ok(spad_advice_create(&advice, kernel, options, &error), &error);
    if (spad_advice_get_totals(advice).proved) assert_nothing_lost(advice, kernel);
    return advice;
}

/* The changes of one kind, as "name>other" or "name:from>to", and the text of the result. */
static void expect_kind(const char *text, spad_advice_kind kind, const char *expected) {
    const unsigned others = ((1u << SPAD_ADVICE_KINDS) - 1) & ~(1u << kind);
    const spad_advice_options options = {.skip = others, .steps = true};
    spad_kernel *kernel = test_parse(text);
    spad_advice *advice = advise(kernel, &options);
    char found[512] = "";
    assert_true(spad_advice_get_totals(advice).proved); /* else nothing is tried */
    for (size_t i = 0; i < spad_advice_count(advice); i++) {
        const spad_advice_change *c = spad_advice_get(advice, i);
        char one[160];
        assert_int_equal(c->kind, kind);
        assert_true(c->location.line > 0);
        if (kind == SPAD_ADVICE_LOAD || kind == SPAD_ADVICE_ALIAS) {
            snprintf(one, sizeof one, "%s>%s ", c->name, c->other);
        } else {
            snprintf(one, sizeof one, "%s:%lld>%lld ", c->name, (long long)c->from,
                     (long long)c->to);
        }
        strcat(found, one);
    }
    assert_string_equal(found, expected);
    spad_advice_destroy(advice);
    spad_kernel_destroy(kernel);
}

/* ---- loads ------------------------------------------------------------------------- */

#define HEAD                                                                    \
    "kernel k on trn2\nparam N = 6\ntensor in : hbm bf16 [N] (128, 64) input\n" \
    "tensor w : hbm bf16 [2] (128, 64) input\n"                                 \
    "tensor out : hbm bf16 [N] (128, 64) output\n"                              \
    "tensor x : sbuf bf16 [N] (128, 64) ring 2\n"
/* The statements of a loop over i, around which everything else is the same. */
static void expect_load(const char *declare, const char *body, const char *after,
                        const char *expected) {
    char text[2000];
    snprintf(text, sizeof text, "%s%sfor i in 0..N {\n%s}\n%s", HEAD, declare, body, after);
    expect_kind(text, SPAD_ADVICE_LOAD, expected);
}

#define S "tensor s : sbuf bf16 (128, 64)\n"
#define X                                                            \
    "dma l reads in[i] writes x[i]\nvector m reads s updates x[i]\n" \
    "dma o reads x[i] writes out[i]\n"

#define Y                                                                      \
    "dma l reads in[i] writes x[i]\nvector m reads s(.., 0..8) updates x[i]\n" \
    "dma o reads x[i] writes out[i]\n"

static void loads_that_give_the_same_leave_their_loop(void **state) {
    (void)state;
    expect_load(S, "dma q reads w[0] writes s\n" X, "", "s>i ");
    expect_load("", S "dma q reads w[0] writes s\n" X, "", "s>i ");
    expect_load("tensor s : sbuf bf16 [N] (128, 64) ring 2\n",
                "dma q reads w[1] writes s[i]\ndma l reads in[i] writes x[i]\n"
                "vector m reads s[i] updates x[i]\ndma o reads x[i] writes out[i]\n",
                "", "s>i ");
    expect_load(S,
                "dma q reads w[0](.., 0..32) writes s(.., 0..32)\n"
                "dma l reads in[i] writes x[i]\nvector m reads s(.., 0..32) updates x[i]\n"
                "dma o reads x[i] writes out[i]\n",
                "", "s>i ");
}

static void loads_that_do_not_stay(void **state) {
    (void)state;
    expect_load(S, "dma q reads w[i % 2] writes s\n" X, "", ""); /* what it reads */
    expect_load(S, "dma q reads in[i] writes s\n" X, "", "");
    expect_load(S, "if i % 2 == 0 { dma q reads w[0] writes s }\n" X, "", ""); /* not always */
    expect_load(S, "dma q reads w[0] writes s cost 10 + i ns\n" X, "", "");
    expect_load(S, "dma q reads w[0] writes s\nvector e updates s\n" X, "", ""); /* changed */
    expect_load(S, "dma q reads w[0] writes s\n" X, "dma p reads in[0] writes s\n", "");
    expect_load(S, "dma q reads w[0] writes s\n" X,
                "tensor y : sbuf bf16 (128, 64)\nvector z reads s writes y\n", ""); /* read after */
    expect_load(S "dma p reads w[1] writes s\n", X "dma q reads w[0] writes s\n", "", "");
    expect_load("tensor s : sbuf bf16 (128, 64) at 4096\n", "dma q reads w[0] writes s\n" X, "",
                ""); /* a place of its own */
    expect_load(S "tensor t : sbuf bf16 (128, 32) alias of s\n",
                "dma q reads w[0] writes s\ndma l reads in[i] writes x[i]\n"
                "vector z reads t updates x[i]\ndma o reads x[i] writes out[i]\n",
                "", "");
    expect_load("tensor s : sbuf bf16 [N] (128, 64) ring 2\n",
                "dma q reads w[1] writes s[i]\ndma l reads in[i] writes x[i]\n"
                "vector m reads s[i - i % 2] updates x[i]\ndma o reads x[i] writes out[i]\n",
                "", ""); /* several tiles at once */
    expect_load(S, "alloc s\ndma q reads w[0] writes s\n" X "free s\n", "", "");
    expect_load(S, "vector q writes s\n" X, "", ""); /* no load */
    expect_load(S "tensor y : sbuf bf16 (128, 64)\nvector e writes y\n",
                "dma q reads w[0], y writes s\n" X, "", "");
}

/* Parts that depend on the loop, two results, a result off the chip, a read of the iteration
 * before, and tiles that other tiles are read beside. */
static void parts_that_depend_on_the_loop(void **state) {
    (void)state;
    expect_load(S, "dma q reads w[0](.., i * 8..i * 8 + 8) writes s(.., 0..8)\n" Y, "", "");
    expect_load(S, "dma q reads w[0](.., 0..8 + i * 8) writes s(.., 0..8 + i * 8)\n" Y, "", "");
    expect_load(S "tensor t : sbuf bf16 (128, 64)\n",
                "dma q reads w[0] writes s, t\nvector n reads t\n" X, "", "");
    expect_load("tensor copy : hbm bf16 [N] (128, 64) output\n" S,
                "dma q reads w[0] writes copy[i]\nvector e writes s\n" X, "", "");
    expect_load(S,
                "dma l reads in[i] writes x[i]\nif i > 0 { vector m reads s updates x[i] }\n"
                "dma o reads x[i] writes out[i]\ndma q reads w[0] writes s\n",
                "", "");
    expect_load("tensor s : sbuf bf16 [N] (128, 64)\n",
                "dma q reads w[1] writes s[i]\ndma l reads in[i] writes x[i]\n"
                "vector m reads s[0] updates x[i]\ndma o reads x[i] writes out[i]\n",
                "", "");
    expect_load("tensor s : sbuf bf16 [N] (128, 64)\n",
                "dma q reads w[1] writes s[i]\ndma l reads in[i] writes x[i]\n"
                "for j in 0..i + 1 { vector m reads s[j] updates x[i] }\n"
                "dma o reads x[i] writes out[i]\n",
                "", "");
    expect_load(S "tensor u : sbuf bf16 (128, 64)\n",
                "alloc u\nvector e writes u\nvector f reads u\nfree u\n"
                "dma q reads w[0] writes s\n" X,
                "", "s>i "); /* tiles of another tensor */
}

/* A kernel that writes what is loaded. */
static void sources_that_are_written_may_change(void **state) {
    (void)state;
    expect_kind("kernel k on trn2\nparam N = 6\ntensor w : hbm bf16 (128, 64) persistent\n"
                "tensor s : sbuf bf16 (128, 64)\ntensor x : sbuf bf16 (128, 64)\n"
                "for i in 0..N {\ndma l reads w writes s\nvector m reads s writes x\n"
                "dma o reads x writes w\n}\n",
                SPAD_ADVICE_LOAD, "");
}

/* One load that does not depend on the inner loop, and leaves that one only; then another. */
static void loads_leave_one_loop_after_another(void **state) {
    (void)state;
    static const char *const indices[] = {"i", "0"};
    static const char *const expected[] = {"s>j ", "s>j s>i "};
    for (int c = 0; c < 2; c++) {
        char text[1000];
        snprintf(text, sizeof text,
                 "kernel k on trn2\nparam N = 3\nparam M = 4\n"
                 "tensor in : hbm bf16 [M] (128, 64) input\n"
                 "tensor w : hbm bf16 [N] (128, 64) input\n"
                 "tensor out : hbm bf16 [N, M] (128, 64) output\n"
                 "for i in 0..N { for j in 0..M {\ntensor s : sbuf bf16 (128, 64)\n"
                 "tensor x : sbuf bf16 (128, 64)\ndma q reads w[%s] writes s\n"
                 "dma l reads in[j] writes x\nvector m reads s updates x\n"
                 "dma o reads x writes out[i, j]\n} }\n",
                 indices[c]);
        expect_kind(text, SPAD_ADVICE_LOAD, expected[c]);
    }
}

/* Weights that a producer loads for every tile, with two mbarriers of their own. */
#define WEIGHTS(head, index, before, extra)                                                   \
    "kernel k on sm_90\nparam N = 6\nunit tma on copy free proxy\n" head                      \
    "mbarrier w_full count 1\nmbarrier w_empty count 1\n"                                     \
    "mbarrier full[2] count 1\nmbarrier empty[2] count 1\n"                                   \
    "tensor w : global fp16 [N] (64, 64) input\ntensor in : global fp16 [N] (64, 64) input\n" \
    "tensor out : global f32 [N] (64, 64) output\n"                                           \
    "tensor sw : shared fp16 (64, 64) align 128\n"                                            \
    "tensor sx : shared fp16 [N] (64, 64) ring 2 align 128\n"                                 \
    "init w_full\ninit w_empty\nfor s in 0..2 { init full[s]\n init empty[s] }\nfence\n"      \
    "agent producer { for n in 0..N {\n" before "arrive w_full expect 8192\n"                 \
    "tma load_w reads w[" index "] writes sw delivers w_full\n"                               \
    "wait empty[n % 2] parity (n / 2 + 1) % 2\narrive full[n % 2] expect 8192\n"              \
    "tma load_x reads in[n] writes sx[n] delivers full[n % 2]\n} }\n"                         \
    "agent consumer {\ntensor acc : registers f32 (64, 64)\nfor n in 0..N {\n"                \
    "wait w_full parity n % 2\nwait full[n % 2] parity n / 2 % 2\n" extra                     \
    "simt mul reads sw, sx[n] writes acc\nfence\narrive w_empty\narrive empty[n % 2]\n"       \
    "simt store reads acc writes out[n]\n} }\n"
#define EMPTY "wait w_empty parity (n + 1) % 2\n"

static void what_belongs_to_a_load_comes_along(void **state) {
    (void)state;
    const char *const text = WEIGHTS("", "0", EMPTY, "");
    expect_kind(text, SPAD_ADVICE_LOAD, "sw>n ");
    spad_kernel *kernel = test_parse(text);
    const spad_advice_options options = {.skip = 1u << SPAD_ADVICE_ALIAS};
    spad_advice *advice = advise(kernel, &options);
    const spad_kernel *changed = spad_advice_get_kernel(advice);
    assert_int_equal(spad_kernel_sync_count(changed), 3); /* w_empty is not there any more */
    assert_string_equal(spad_kernel_get_sync(changed, 1)->name, "full");
    assert_int_equal(spad_kernel_get_sync(changed, 1)->location.line, 6);
    const spad_advice_change *c = spad_advice_get(advice, 0);
    assert_string_equal(c->operation, "load_w");
    assert_int_equal(c->before.operations - c->after.operations, 5);
    assert_true(c->after.makespan <= c->before.makespan);
    assert_int_equal(c->before.placed - c->after.placed, 8);
    /* every row has the line of the text that was given */
    for (size_t i = 0; i < spad_kernel_statement_count(changed); i++) {
        const spad_statement *s = spad_kernel_get_statement(changed, i);
        if (s->kind != SPAD_STATEMENT_OPERATION) continue;
        for (size_t o = 0; o < spad_kernel_statement_count(kernel); o++) {
            const spad_statement *old = spad_kernel_get_statement(kernel, o);
            if (old->kind != s->kind || strcmp(old->name, s->name) != 0) continue;
            assert_int_equal(s->location.line, old->location.line);
            assert_int_equal(spad_kernel_get_access(changed, s->first_access)->location.line,
                             old->location.line);
        }
    }
    spad_advice_destroy(advice);
    spad_kernel_destroy(kernel);
}

static void loads_of_agents_that_do_not_stay(void **state) {
    (void)state;
    expect_kind(WEIGHTS("", "n", EMPTY, ""), SPAD_ADVICE_LOAD, "");
    expect_kind(WEIGHTS("", "0", EMPTY, "wait w_full parity n % 2\n"), SPAD_ADVICE_LOAD, "sw>n ");
    /* a wait that only some iterations have, and an arrival of another agent */
    expect_kind(WEIGHTS("", "0", EMPTY, "if n > 1 { wait w_full parity n % 2 }\n"),
                SPAD_ADVICE_LOAD, "");
    /* a group, whose bundles count */
    expect_kind("kernel k on sm_80\nparam N = 4\nunit async on copy free\ngroup g\n"
                "tensor w : global fp16 (64, 64) input\n"
                "tensor out : global f32 [N] (64, 64) output\ntensor s : shared fp16 (64, 64)\n"
                "agent a { for n in 0..N {\nasync l reads w writes s in g\ncommit g\n"
                "wait g pending 0\nsimt m reads s writes out[n]\n} }\n",
                SPAD_ADVICE_LOAD, "");
}

/* As WEIGHTS, with other barriers for the weights. */
#define BARRIERS(declare, init, arrive, deliver, wait, after)                                    \
    "kernel k on sm_90\nparam N = 6\nunit tma on copy free proxy\n" declare                      \
    "mbarrier empty count 1\ntensor w : global fp16 [N] (64, 64) input\n"                        \
    "tensor out : global f32 [N] (64, 64) output\n"                                              \
    "tensor sw : shared fp16 (64, 64) align 128\ntensor sv : shared fp16 (64, 64) align 128\n"   \
    "init empty\n" init "fence\nagent producer { for n in 0..N {\n"                              \
    "wait empty parity (n + 1) % 2\n" arrive "tma load_w reads w[0] writes sw delivers " deliver \
    "\n} }\nagent consumer {\ntensor acc : registers f32 (64, 64)\nfor n in 0..N {\n" wait       \
    "simt mul reads sw writes acc\nfence\narrive empty\nsimt store reads acc writes "            \
    "out[n]\n}\n" after "}\n"

static void barriers_of_loads(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *expected;
    } cases[] = {
        {BARRIERS("mbarrier f count 1\n", "init f\n", "arrive f expect 8192\n", "f",
                  "wait f parity n % 2\n", ""),
         "sw>n "},
        /* one element of several, all of which are initialised in a loop */
        {BARRIERS("mbarrier f[2] count 1\n", "for s in 0..2 { init f[s] }\n",
                  "arrive f[0] expect 8192\n", "f[0]", "wait f[0] parity n % 2\n", ""),
         "sw>n "},
        /* an element that depends on the loop: of the load, and of the wait alone */
        {BARRIERS("mbarrier f[2] count 1\n", "for s in 0..2 { init f[s] }\n",
                  "arrive f[n % 2] expect 8192\n", "f[n % 2]", "wait f[n % 2] parity n / 2 % 2\n",
                  ""),
         ""},
        {BARRIERS("mbarrier f[2] count 1\n", "for s in 0..2 { init f[s] }\n",
                  "arrive f[0] expect 8192\n", "f[0]", "wait f[n / N] parity n % 2\n", ""),
         ""},
        /* two loads, one barrier */
        {BARRIERS("mbarrier f count 1\n", "init f\n",
                  "arrive f expect 16384\ntma load_v reads w[1] writes sv delivers f\n", "f",
                  "wait f parity n % 2\nsimt more reads sv writes acc\n", ""),
         ""},
        /* the consumer arrives too */
        {BARRIERS("mbarrier f count 2\n", "init f\n", "arrive f expect 8192\n", "f",
                  "arrive f\nwait f parity n % 2\n", ""),
         ""},
        /* the arrival is in a branch, and after the load */
        {BARRIERS("mbarrier f count 1\n", "init f\n", "if n >= 0 { arrive f expect 8192 }\n", "f",
                  "wait f parity n % 2\n", ""),
         ""},
        {BARRIERS("mbarrier f count 2\n", "init f\n", "arrive f expect 8192\n", "f\narrive f",
                  "wait f parity n % 2\n", ""),
         ""},
        /* one more wait, after the loops */
        {BARRIERS("mbarrier f count 1\n", "init f\n", "arrive f expect 8192\n", "f",
                  "wait f parity n % 2\n", "wait f parity 1\n"),
         ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_kind(cases[i].text, SPAD_ADVICE_LOAD, cases[i].expected);
    }
}

/* One agent that waits for its own loads. */
#define ALONE(before, cursor, index, phase, end)                                                  \
    "kernel k on sm_90\nparam N = 6\nunit tma on copy free proxy\nmbarrier f[2] count 1\n"        \
    "mbarrier other count 1\ntensor w : global fp16 [N] (64, 64) input\n"                         \
    "tensor out : global f32 [N] (64, 64) output\ntensor sw : shared fp16 (64, 64) align 128\n"   \
    "for s in 0..2 { init f[s] }\ninit other\nfence\nagent a {\n" cursor                          \
    "tensor acc : registers f32 (64, 64)\nfor n in 0..N {\n" before "arrive f[" index             \
    "] expect 8192\ntma load_w reads w[0] writes sw delivers f[" index "]\nwait f[" index         \
    "] parity " phase "\nsimt mul reads sw writes acc\nfence\nsimt store reads acc writes out[n]" \
    "\n" end "} }\n"

static void waits_in_front_of_loads(void **state) {
    (void)state;
    static const char *const texts[] = {
        ALONE("", "", "0", "n % 2", ""), ALONE("simt z writes acc\n", "", "0", "n % 2", ""),
        ALONE("wait f[0] parity (n + 1) % 2\n", "", "0", "n % 2", ""),
        ALONE("if n > 0 { wait f[0] parity (n + 1) % 2 }\n", "", "0", "n % 2", ""),
        ALONE("", "cursor stage, phase mod 2\n", "stage", "phase", "advance stage\n")};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        expect_kind(texts[i], SPAD_ADVICE_LOAD, i < 2 ? "sw>n " : "");
    }
}

/* Loads whose tile depends on the loop, whose tensor is of an iteration, that are in no agent, or
 * of which no barrier tells the end. */
static void loads_that_agents_keep(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *expected;
    } cases[] = {
        {"kernel k on sm_80\nparam N = 4\ntensor w : global fp16 (64, 64) input\n"
         "tensor out : global f32 [N] (64, 64) output\n"
         "tensor s : shared fp16 [N] (64, 64) ring 2\n"
         "agent a { for n in 0..N {\nsimt l reads w writes s[n]\n"
         "simt m reads s[n] writes out[n]\n} }\n",
         ""},
        {"kernel k on sm_80\nparam N = 4\ntensor w : global fp16 (64, 64) input\n"
         "tensor out : global f32 [N] (64, 64) output\nagent a { for n in 0..N {\n"
         "tensor s : registers fp16 (64, 64)\nsimt l reads w writes s\n"
         "simt m reads s writes out[n]\n} }\n",
         ""},
        {"kernel k on sm_80\nparam N = 4\nmbarrier b count 1\n"
         "tensor w : global fp16 (64, 64) input\n"
         "tensor out : global f32 [N] (64, 64) output\ntensor s : shared fp16 (64, 64)\n"
         "init b\nfor n in 0..N {\nsimt l reads w writes s\nsimt m reads s writes out[n]\n}\n",
         "s>n "},
        {"kernel k on 910b\nparam N = 4\nunit mte2 fifo\nunit mte3 fifo\ncounter full\n"
         "counter empty = 1\ntensor in : gm u8 (64) input\ntensor out : gm u8 [N] (64) output\n"
         "tensor x : ub u8 (64)\nagent a { for n in 0..N {\ntake empty on mte2\n"
         "mte2 l reads in writes x\nsignal full on mte2\ntake full on mte3\n"
         "mte3 s reads x writes out[n]\nsignal empty on mte3\n}\ndrain all\n}\n",
         ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_kind(cases[i].text, SPAD_ADVICE_LOAD, cases[i].expected);
    }
}

/* An agent that copies by itself needs no barrier. */
static void copies_of_an_agent_leave_its_loop(void **state) {
    (void)state;
    expect_kind("kernel k on sm_80\nparam N = 4\ntensor w : global fp16 (64, 64) input\n"
                "tensor out : global f32 [N] (64, 64) output\ntensor s : shared fp16 (64, 64)\n"
                "agent a { for n in 0..N {\nsimt l reads w writes s\nsimt m reads s writes out[n]\n"
                "} }\n",
                SPAD_ADVICE_LOAD, "s>n ");
}

/* ---- rings ------------------------------------------------------------------------- */

#define RING(depth, costs)                                                      \
    "kernel k on trn2\nparam N = 8\ntensor in : hbm bf16 [N] (128, 64) input\n" \
    "tensor out : hbm bf16 [N] (128, 64) output\n"                              \
    "tensor x : sbuf bf16 [N] (128, 64) ring " depth "\nfor i in 0..N {\n"      \
    "dma l reads in[i] writes x[i] " costs "\nvector m updates x[i] " costs     \
    "\ndma o reads x[i] writes out[i] " costs "\n}\n"

static void rings_are_as_deep_as_they_help(void **state) {
    (void)state;
    expect_kind(RING("1", "cost 100 ns"), SPAD_ADVICE_DEEPER, "x:1>2 ");
    expect_kind(RING("2", "cost 100 ns"), SPAD_ADVICE_DEEPER, "");
    expect_kind(RING("7", "cost 100 ns"), SPAD_ADVICE_SHORTER, "x:7>2 ");
    expect_kind(RING("2", "cost 100 ns"), SPAD_ADVICE_SHORTER, "");
    expect_kind(
        "kernel k on trn2\nparam N = 8\ntensor in : hbm bf16 [N] (128, 64) input\n"
        "tensor out : hbm bf16 [N] (128, 64) output\n"
        "tensor x : sbuf bf16 [N] (128, 64)\nfor i in 0..N {\n"
        "dma l reads in[i] writes x[i] cost 9 ns\ndma o reads x[i] writes out[i] cost 9 ns\n"
        "}\n",
        SPAD_ADVICE_SHORTER, "x:8>1 "); /* a place for every tile */
}

/* A reader that is one tile late needs two slots, whatever the time. */
static void no_ring_is_too_short(void **state) {
    (void)state;
    expect_kind("kernel k on trn2\nparam N = 8\ntensor in : hbm bf16 [N] (128, 64) input\n"
                "tensor out : hbm bf16 [N] (128, 64) output\n"
                "tensor x : sbuf bf16 [N] (128, 64) ring 3\nfor i in 0..N {\n"
                "dma l reads in[i] writes x[i] cost 100 ns\n"
                "if i > 0 { dma o reads x[i - 1] writes out[i - 1] cost 1 ns }\n}\n"
                "dma o reads x[N - 1] writes out[N - 1] cost 1 ns\n",
                SPAD_ADVICE_SHORTER, "x:3>2 ");
}

/* Without figures only on request. */
static void assumed_costs_decide_no_depth(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse("kernel k on 910b\n"
                                     "param N = 8\n"
                                     "param S = 6\n"
                                     "unit mte2 fifo\n"
                                     "unit mte3 fifo\n"
                                     "counter full\n"
                                     "counter free = S\n"
                                     "tensor in : gm u8 [N] (64) input\n"
                                     "tensor out : gm u8 [N] (64) output\n"
                                     "tensor x : ub u8 [N] (64) ring S\n"
                                     "agent a {\n"
                                     "for n in 0..N {\n"
                                     "take free on mte2\n"
                                     "mte2 l reads in[n] writes x[n]\n"
                                     "signal full on mte2\n"
                                     "take full on mte3\n"
                                     "mte3 s reads x[n] writes out[n] cost 100 ns\n"
                                     "signal free on mte3\n"
                                     "}\n"
                                     "drain all\n"
                                     "}\n");
    const spad_advice_options steps = {.steps = true};
    spad_advice *advice = advise(kernel, NULL);
    const spad_time_unit unit = spad_advice_get_totals(advice).simulated.unit;
    const bool known = unit == SPAD_TIME_REAL || unit == SPAD_TIME_CYCLES;
    assert_int_equal(spad_advice_count(advice), known ? 1 : 0);
    spad_advice_destroy(advice);
    advice = advise(kernel, &steps);
    assert_int_equal(spad_advice_count(advice), 1);
    const spad_advice_change *c = spad_advice_get(advice, 0);
    assert_true(c->param && c->from == 6 && c->to == 2);
    assert_string_equal(c->name, "S");
    spad_advice_destroy(advice);
    spad_kernel_destroy(kernel);
}

/* No figures of the chip: everything is a step. */
#define STEPS(declare, slots, free)                                                            \
    "kernel k on sm_87\nparam N = 8\n" declare "counter full\ncounter free = " free "\n"       \
    "tensor in : global u8 [N] (64) input\ntensor out : global u8 [N] (64) output\n"           \
    "tensor x : shared u8 [N] (64) ring " slots "\n"                                           \
    "agent p { for n in 0..N {\ntake free\nsimt l reads in[n] writes x[n]\nsignal full\n} }\n" \
    "agent c { for n in 0..N {\ntake full\nsimt s reads x[n] writes out[n]\nsignal free\n} }\n"

static void expect_text(const char *kernel_text, const spad_advice_options *options,
                        const char *expected) {
    spad_kernel *kernel = test_parse(kernel_text);
    spad_advice *advice = advise(kernel, options);
    test_text text;
    spad_error error;
    test_text_init(&text);
    assert_ok(spad_advice_write_text(advice, &text.sink, &error), &error);
    assert_string_equal(text.bytes, expected);
    test_text_free(&text);
    spad_advice_destroy(advice);
    spad_kernel_destroy(kernel);
}

static void steps_decide_on_request(void **state) {
    (void)state;
    const spad_advice_options steps = {.steps = true};
    const spad_advice_options skip = {.skip = 1u << SPAD_ADVICE_SHORTER};
    const spad_advice_options shallow = {.depth_most = 1};
    expect_text(STEPS("param S = 6\n", "S", "S"), NULL,
                "no changes: 16 steps as before\n16 of 16 costs assumed: steps, not time\n"
                "depths of rings stay, because of that; --steps shortens them where that takes no "
                "more steps\n");
    expect_text(STEPS("param S = 6\n", "S", "S"), &steps,
                "line 3: parameter 'S' 1 instead of 6: 16 steps as before, 320 B less placed, "
                "320 B less declared\n1 change: 16 steps as before, 320 B less placed, "
                "320 B less declared\n16 of 16 costs assumed: steps, not time\n");
    expect_text(STEPS("param S = 6\n", "S", "S"), &skip,
                "no changes: 16 steps as before\n16 of 16 costs assumed: steps, not time\n");
    expect_text(RING("2", "cost 100 ns"), NULL, "no changes: 1.600 us as before\n");
    expect_text(RING("1", "cost 100 ns"), NULL,
                "line 5: ring of 'x' 2 instead of 1: 1.600 us instead of 2.400 us, 16384 B more "
                "placed, 16384 B more declared\n1 change: 1.600 us instead of 2.400 us, 16384 B "
                "more placed, 16384 B more declared\n");
    expect_text(RING("1", "cost 100 ns"), &shallow, "no changes: 2.400 us as before\n");
}

/* Which numbers are no depths. */
static void numbers_that_stay(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *expected;
    } cases[] = {
        {STEPS("param S = 6\n", "S", "S - 1"), "S:6>2 "}, /* one slot: no free one at all */
        {STEPS("param S = 6 fixed\n", "S", "S"), ""},
        {STEPS("param S = 6\ntensor y : global u8 [S] (64)\n", "S", "S"), ""},
        {STEPS("param S = 6\ntensor y : global u8 (64, S)\n", "S", "S"), ""},
        {STEPS("", "6", "6"), ""}, /* the counter has six */
        {"kernel k on sm_87\nparam S = 4\ntensor out : global u8 [4] (64) output\n"
         "tensor x : shared u8 [S] (64)\nagent a { for n in 0..4 {\nsimt w writes x[n]\n"
         "simt r reads x[n] writes out[n]\n} }\n",
         ""}, /* fewer tiles than there are uses of them */
        {"kernel k on trn2\nparam N = 8\ntensor in : hbm bf16 [N] (128, 64) input\n"
         "tensor far : hbm bf16 [N] (128, 64)\ntensor out : hbm bf16 [N] (128, 64) output\n"
         "for i in 0..N {\ntensor x : sbuf bf16 (128, 64)\ndma l reads in[i] writes x\n"
         "dma o reads x writes far[i]\ndma p reads far[i] writes x\n"
         "dma q reads x writes out[i]\n}\n",
         ""}, /* off the chip */
        {"kernel k on trn2\nparam N = 4\ntensor in : hbm bf16 [N, 2] (128, 64) input\n"
         "tensor out : hbm bf16 [N, 2] (128, 64) output\n"
         "tensor x : sbuf bf16 [N, 2] (128, 64) ring [3, 2]\nfor i in 0..N { for j in 0..2 {\n"
         "dma l reads in[i, j] writes x[i, j]\ndma o reads x[i, j] writes out[i, j]\n} }\n",
         ""}, /* two numbers */
        {"kernel k on trn2\nparam N = 4\ntensor in : hbm bf16 [N] (128, 64) input\n"
         "tensor out : hbm bf16 [2, N] (128, 64) output\nfor a in 0..1 {\n"
         "tensor x : sbuf bf16 [N] (128, 64) ring 4\nfor i in 0..N {\n"
         "dma l reads in[i] writes x[i]\ndma o reads x[i] writes out[0, i]\n} }\nfor b in 0..1 {\n"
         "tensor x : sbuf bf16 [N] (128, 64) ring 4\nfor i in 0..N {\n"
         "dma l reads in[i] writes x[i]\ndma o reads x[i] writes out[1, i]\n} }\n",
         ""}, /* two rings with one name */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_kind(cases[i].text, SPAD_ADVICE_SHORTER, cases[i].expected);
    }
}

/* A parameter that says how much is computed is no depth, even if only slots depend on it. */
static void less_work_is_no_advice(void **state) {
    (void)state;
    expect_kind("kernel k on sm_90\nparam W = 3\ntensor out : global u8 [8] (64) output\n"
                "tensor x : shared u8 [W] (64)\n"
                "agent a { for i in 0..W {\nsimt w writes x[i] cost 5 ns\n"
                "simt r reads x[i] writes out[i] cost 5 ns\n} }\n",
                SPAD_ADVICE_SHORTER, "");
}

/* ---- aliases ----------------------------------------------------------------------- */

static void epilogues_get_the_bytes_of_rings(void **state) {
    (void)state;
    /* so is declared before the ring, after it, and is too large for a tile of it */
    static const struct {
        const char *before;
        const char *after;
        const char *expected;
    } cases[] = {
        {"tensor so : shared u8 (64)\n", "", "so>x "},
        {"", "tensor so : shared u8 (64)\n", "so>x "},
        {"", "tensor so : shared u8 (65)\n", ""},
        {"", "tensor so : shared u8 (64) at 4096\n", ""},
        {"", "tensor so : shared u8 (64)\ntensor part : shared u8 (32) alias of so\n", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1000];
        snprintf(text, sizeof text,
                 "kernel k on sm_90\nparam N = 5\ntensor out : global u8 [2] (64) output\n"
                 "tensor in : global u8 [N] (64) input\n%s"
                 "tensor x : shared u8 [N] (64) ring 2\n%s"
                 "agent a {\ntensor acc : registers u8 (64)\nsimt z writes acc\nfor n in 0..N {\n"
                 "simt l reads in[n] writes x[n]\nsimt m reads x[n] updates acc\n}\n"
                 "simt e reads acc writes so\nsimt o reads so writes out[0], out[1]\n}\n",
                 cases[i].before, cases[i].after);
        expect_kind(text, SPAD_ADVICE_ALIAS, cases[i].expected);
    }
}

/* The ring is still in use when the result of a tile is written. */
static void rings_in_use_are_no_place(void **state) {
    (void)state;
    expect_kind(
        "kernel k on sm_90\nparam N = 5\ntensor out : global u8 [N] (64) output\n"
        "tensor in : global u8 [N] (64) input\ntensor x : shared u8 [N] (64) ring 2\n"
        "tensor so : shared u8 (64)\ncounter full\ncounter free = 2\n"
        "agent p { for n in 0..N {\ntake free\nsimt l reads in[n] writes x[n]\nsignal full\n"
        "} }\nagent c { for n in 0..N {\ntake full\nsimt m reads x[n] writes so\n"
        "signal free\nsimt o reads so writes out[n]\n} }\n",
        SPAD_ADVICE_ALIAS, "");
}

/* ---- limits ------------------------------------------------------------------------ */

static void kernels_without_a_proof_have_no_advice(void **state) {
    (void)state;
    static const char *const texts[] = {
        HEAD "tensor s : sbuf bf16 (128, 64)\nfor i in 0..N {\n" X "dma q reads w[0] writes s\n}\n",
        "kernel k on trn2\ntensor x : sbuf u8 (128, 300000)\nvector m writes x\n",
        "kernel stuck on sm_90\nbarrier b count 2\nagent p { sync b }\n"};
    for (size_t i = 0; i < 3; i++) {
        spad_kernel *kernel = test_parse(texts[i]);
        spad_advice *advice = advise(kernel, NULL);
        test_text text;
        spad_error error;
        test_text_init(&text);
        assert_false(spad_advice_get_totals(advice).proved);
        assert_int_equal(spad_advice_count(advice), 0);
        assert_ptr_equal(spad_advice_get_kernel(advice), kernel);
        assert_null(spad_advice_get(advice, 0));
        assert_ok(spad_advice_write_text(advice, &text.sink, &error), &error);
        assert_string_equal(text.bytes,
                            "no changes: the kernel is not proved, and a change keeps a proof\n");
        test_text_free(&text);
        spad_advice_destroy(advice);
        spad_kernel_destroy(kernel);
    }
}

static const char both[] = HEAD S "for i in 0..N {\ndma q reads w[0] writes s\n" X "}\n";

static void searches_can_be_cut(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(both);
    const spad_advice_options one = {.trials_most = 1};
    spad_advice *advice = advise(kernel, &one);
    assert_int_equal(spad_advice_count(advice), 1);
    assert_true(spad_advice_get_totals(advice).cut);
    assert_int_equal(spad_advice_get_totals(advice).trials, 1);
    test_text text;
    spad_error error;
    test_text_init(&text);
    assert_ok(spad_advice_write_text(advice, &text.sink, &error), &error);
    assert_non_null(strstr(text.bytes, "the search ended at a limit"));
    test_text_free(&text);
    spad_advice_destroy(advice);
    const spad_advice_options soon = {.timeout_ns = 1};
    assert_ok(spad_advice_create(&advice, kernel, &soon, &error), &error);
    assert_int_equal(spad_advice_count(advice), 0);
    spad_advice_destroy(advice);
    spad_kernel_destroy(kernel);
}

static int end_it(void *context) {
    int *left = context;
    return --*left < 0;
}

static void bad_options_and_cancelled_calls(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(both);
    spad_advice *advice;
    spad_error error;
    const spad_advice_options bad[] = {{.depth_most = -1}, {.trials_most = -2}, {.timeout_ns = -3}};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(spad_advice_create(&advice, kernel, &bad[i], &error), SPAD_ERR_ARGUMENT);
        assert_null(advice);
    }
    bool done = false;
    for (int asks = 0; !done && asks < 2000; asks++) {
        int left = asks;
        const spad_advice_options watched = {.watch = {end_it, &left}};
        const spad_status status = spad_advice_create(&advice, kernel, &watched, &error);
        done = status == SPAD_OK;
        if (!done) assert_int_equal(status, SPAD_ERR_CANCELLED);
        spad_advice_destroy(advice);
    }
    assert_true(done);
    assert_string_equal(spad_advice_kind_name(SPAD_ADVICE_LOAD), "load");
    assert_string_equal(spad_advice_kind_name(SPAD_ADVICE_DEEPER), "deeper");
    assert_string_equal(spad_advice_kind_name(SPAD_ADVICE_SHORTER), "shorter");
    assert_string_equal(spad_advice_kind_name(SPAD_ADVICE_ALIAS), "alias");
    assert_string_equal(spad_advice_kind_name(SPAD_ADVICE_KINDS), "?");
    spad_advice_destroy(NULL);
    spad_kernel_destroy(kernel);
}

static spad_status advise_with(const spad_host *host, void *kernel) {
    const spad_advice_options options = {.host = host, .steps = true};
    spad_advice *advice;
    const spad_status status = spad_advice_create(&advice, kernel, &options, NULL);
    spad_advice_destroy(advice);
    return status;
}

static void failing_allocations_leak_nothing(void **state) {
    (void)state;
    static const char *const texts[] = {
        "kernel k on trn2\ntensor in : hbm bf16 [2] (128, 64) input\n"
        "tensor out : hbm bf16 [2] (128, 64) output\ntensor s : sbuf bf16 (128, 64)\n"
        "for i in 0..2 {\ndma q reads in[0] writes s\ndma o reads s writes out[i]\n}\n",
        "kernel k on sm_90\ntensor out : global u8 (64) output\n"
        "tensor in : global u8 [3] (64) input\ntensor x : shared u8 [3] (64) ring 3\n"
        "tensor so : shared u8 (64)\n"
        "agent a {\nsimt l reads in[0] writes x[0]\nsimt m reads x[0]\nsimt l reads in[1] writes "
        "x[1]\n"
        "simt m reads x[1]\nsimt e writes so\nsimt o reads so writes out\n}\n"};
    for (size_t i = 0; i < 2; i++) {
        spad_kernel *kernel = test_parse(texts[i]);
        test_fail_each_allocation(advise_with, kernel);
        spad_kernel_destroy(kernel);
    }
    spad_kernel *kernel =
        test_parse("kernel k on sm_87\nparam S = 2\ncounter full\ncounter free = S\n"
                   "tensor out : global u8 (64) output\ntensor x : shared u8 [2] (64) ring S\n"
                   "agent p {\ntake free\nsimt l writes x[0]\nsignal full\n}\n"
                   "agent c {\ntake full\nsimt s reads x[0] writes out\nsignal free\n}\n");
    test_fail_each_allocation(advise_with, kernel); /* a parameter: what is computed is compared */
    spad_kernel_destroy(kernel);
}

static void sinks_that_fail(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(both);
    spad_advice *advice = advise(kernel, NULL);
    for (int json = 0; json < 2; json++) {
        for (size_t room = 0; room < 200; room += 50) {
            test_text text;
            spad_error error;
            test_text_init(&text);
            text.fail_after = room;
            assert_int_equal(json ? spad_advice_write_json(advice, &text.sink, &error)
                                  : spad_advice_write_text(advice, &text.sink, &error),
                             SPAD_ERR_IO);
            test_text_free(&text);
        }
    }
    spad_advice_destroy(advice);
    spad_kernel_destroy(kernel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_that_give_the_same_leave_their_loop),
        cmocka_unit_test(loads_that_do_not_stay),
        cmocka_unit_test(parts_that_depend_on_the_loop),
        cmocka_unit_test(sources_that_are_written_may_change),
        cmocka_unit_test(loads_leave_one_loop_after_another),
        cmocka_unit_test(what_belongs_to_a_load_comes_along),
        cmocka_unit_test(loads_of_agents_that_do_not_stay),
        cmocka_unit_test(barriers_of_loads),
        cmocka_unit_test(waits_in_front_of_loads),
        cmocka_unit_test(loads_that_agents_keep),
        cmocka_unit_test(copies_of_an_agent_leave_its_loop),
        cmocka_unit_test(rings_are_as_deep_as_they_help),
        cmocka_unit_test(no_ring_is_too_short),
        cmocka_unit_test(assumed_costs_decide_no_depth),
        cmocka_unit_test(steps_decide_on_request),
        cmocka_unit_test(numbers_that_stay),
        cmocka_unit_test(less_work_is_no_advice),
        cmocka_unit_test(epilogues_get_the_bytes_of_rings),
        cmocka_unit_test(rings_in_use_are_no_place),
        cmocka_unit_test(kernels_without_a_proof_have_no_advice),
        cmocka_unit_test(searches_can_be_cut),
        cmocka_unit_test(bad_options_and_cancelled_calls),
        cmocka_unit_test(failing_allocations_leak_nothing),
        cmocka_unit_test(sinks_that_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
