/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads that leave their loop: which ones, what comes along, and what keeps others in it.
 */
#include "advice_fixture.h"

/* ---- loads ------------------------------------------------------------------------- */

/* The statements of a loop over i, around which everything else is the same. */
static void expect_load(const char *declare, const char *body, const char *after,
                        const char *expected) {
    char text[2000];
    snprintf(text, sizeof text, "%s%sfor i in 0..N {\n%s}\n%s", HEAD, declare, body, after);
    expect_kind(text, SPAD_ADVICE_LOAD, expected);
}

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
/* Ends that a load reports in another way: a counter, after its reads alone, a number of bytes that
 * depends on the loop, and two ends at once. */
static void other_ends_of_loads(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *expected;
    } cases[] = {
        {"kernel k on sm_90\nparam N = 4\nunit copy on copy fifo\ncounter done\n"
         "tensor w : global u8 (64) input\ntensor out : global u8 [N] (64) output\n"
         "tensor s : shared u8 (64)\nagent a { for n in 0..N {\n"
         "copy l reads w writes s signals done\ntake done\nsimt m reads s writes out[n]\n} }\n",
         ""},
        {BARRIERS("mbarrier f count 1\n", "init f\n", "arrive f expect 8192\n", "f by 8192 + n / N",
                  "wait f parity n % 2\n", ""),
         ""},
        {BARRIERS("mbarrier f count 1\ncounter c\n", "init f\n", "arrive f expect 8192\n",
                  "f signals c", "wait f parity n % 2\ntake c\n", ""),
         ""},
        /* the bytes to expect, and the arrival, are two statements: both come along */
        {BARRIERS("mbarrier f count 1\n", "init f\n", "expect f by 8192\narrive f\n", "f",
                  "wait f parity n % 2\n", ""),
         "sw>n "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_kind(cases[i].text, SPAD_ADVICE_LOAD, cases[i].expected);
    }
}

/* What an agent does in front of its load: in a branch of its own, or a wait for another load. */
static void what_is_in_front_of_loads(void **state) {
    (void)state;
    expect_kind(ALONE("if n >= 0 { simt z writes acc }\n", "", "0", "n % 2", ""), SPAD_ADVICE_LOAD,
                "sw>n ");
    expect_kind(ALONE("tensor sv : shared fp16 (64, 64) align 128\narrive other expect 8192\n"
                      "tma load_v reads w[n] writes sv delivers other\nwait other parity n % 2\n",
                      "", "0", "n % 2", "simt use reads sv writes acc\n"),
                SPAD_ADVICE_LOAD, "sw>n "); /* `other` is for load_v, and stays */
    expect_kind("kernel k on sm_80\nparam N = 4\ntensor w : global fp16 (64, 64) input\n"
                "tensor out : global f32 [N] (64, 64) output\ntensor s : shared fp16 (64, 64)\n"
                "agent a { for n in 0..N {\nif n >= 0 { simt l reads w writes s }\n"
                "simt m reads s writes out[n]\n} }\n",
                SPAD_ADVICE_LOAD, ""); /* not in the loop itself */
}

/* A position that a cursor gives may change in a loop that does not mention it. */
static void cursors_keep_loads(void **state) {
    (void)state;
    static const char *const advance[] = {"advance stage", "if i % 3 == 0 { advance stage }"};
    static const char *const names[] = {"stage", "phase"};
    for (int c = 0; c < 4; c++) {
        char text[1000];
        snprintf(text, sizeof text,
                 "kernel k on trn2\nparam N = 3\nparam M = 4\n"
                 "tensor w : hbm bf16 [2] (128, 64) input\n"
                 "tensor out : hbm bf16 [N, M] (128, 64) output\ncursor stage, phase mod 2\n"
                 "for i in 0..N { for j in 0..M {\ntensor s : sbuf bf16 (128, 64)\n"
                 "dma q reads w[%s] writes s\ndma o reads s writes out[i, j]\n}\n%s\n}\n",
                 names[c / 2], advance[c % 2]);
        expect_kind(text, SPAD_ADVICE_LOAD, "");
    }
}

/* A result on the chip, and a transfer that gives nothing. */
static void results_and_reads_stay(void **state) {
    (void)state;
    expect_load("tensor s : sbuf bf16 (128, 64) output\n", "dma q reads w[0] writes s\n" X, "", "");
    expect_load(S "dma p reads w[1] writes s\n", "dma q reads w[0]\n" X, "", "");
}

/* Declarations that a change has nothing to do with are the same in the changed kernel. */
static void other_declarations_stay(void **state) {
    (void)state;
    static const char text[] =
        "kernel k on sm_90\nparam N = 4\nunknown full[2] in 0..3 = [1, 1]\n"
        "tensor w : global fp16 (64, 64) input\ntensor out : global f32 [N] (64, 64) output\n"
        "tensor s : shared fp16 (64, 64)\ntensor t : shared u8 [N] (8) ring 2\n"
        "agent a {\ncursor stage mod 2\nfor n in 0..N {\nsimt l reads w writes s\n"
        "simt z writes t[stage]\nsimt y reads t[stage]\nif full[n % 2] > 0 { fence }\n"
        "simt m reads s writes out[n]\nadvance stage\n} }\n";
    spad_kernel *kernel = test_parse(text);
    const spad_advice_options options = {.skip = ~(1u << SPAD_ADVICE_LOAD)};
    spad_advice *advice;
    spad_error error;
    test_text before;
    test_text after;
    assert_ok(spad_advice_create(&advice, kernel, &options, &error), &error);
    test_text_init(&before);
    test_text_init(&after);
    assert_ok(spad_kernel_write_text(kernel, &before.sink, &error), &error);
    assert_ok(spad_kernel_write_text(spad_advice_get_kernel(advice), &after.sink, &error), &error);
    for (char *line = strtok(before.bytes, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (strstr(line, "simt l ") == NULL) assert_non_null(strstr(after.bytes, line));
    }
    assert_int_equal(spad_advice_count(advice), 1);
    test_text_free(&before);
    test_text_free(&after);
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
        cmocka_unit_test(other_ends_of_loads),
        cmocka_unit_test(what_is_in_front_of_loads),
        cmocka_unit_test(cursors_keep_loads),
        cmocka_unit_test(results_and_reads_stay),
        cmocka_unit_test(other_declarations_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
