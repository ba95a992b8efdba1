/* SPDX-License-Identifier: Apache-2.0
 *
 * Ways in which a kernel can be made to fit: what is offered, in which order, and what is not.
 */
#include "fit_fixture.h"

#include <stdio.h>
#include <string.h>

static void rings_and_parameters(void **state) {
    (void)state;
    /* a shallow ring stays as it is */
    expect("kernel k on sm_90\n"
           "param N = 500\n"
           "tensor in : global u8 [N] (1000) input\n"
           "tensor out : global u8 [N] (1000) output\n"
           "tensor x : shared u8 [N] (1000) ring 250\n"
           "tensor y : shared u8 [N] (1000) ring 240\n"
           "tensor z : shared u8 [N] (1000) ring 2\n"
           "for i in 0..N {\n"
           "simt l reads in[i] writes x[i]\n"
           "simt e reads x[i] writes y[i]\n"
           "simt f reads y[i] writes z[i]\n"
           "simt s reads z[i] writes out[i]\n"
           "}\n",
           "shared is 259,552 B (253.5 KiB) too small: 492,000 B are needed together (proved)\n"
           "  fits with --ring x=115 --ring y=115, which saves 260,000 B\n");
    /* a parameter and a ring that save the same: the parameter first */
    expect("kernel k on sm_90\n"
           "param N = 9\n"
           "param S = 4\n"
           "tensor in : global u8 [N] (30000) input\n"
           "tensor out : global u8 [N] (30000) output\n"
           "tensor x : shared u8 [N] (30000) ring S\n"
           "tensor y : shared u8 [N] (30000) ring 4\n"
           "for i in 0..N {\n"
           "simt l reads in[i] writes x[i]\n"
           "simt e reads x[i] writes y[i]\n"
           "simt s reads y[i] writes out[i]\n"
           "}\n",
           "shared is 7,552 B (7.4 KiB) too small: 240,000 B are needed together (proved)\n"
           "  fits with -D S=3 instead of 4, which saves 30,000 B\n"
           "  fits with --ring y=3 instead of 4, which saves 30,000 B\n"
           "  fits with -D S=3 --ring y=3, which saves 60,000 B\n"
           "  fits if 'x' is moved to another memory, which saves 120,000 B\n"
           "  fits if 'y' is moved to another memory, which saves 120,000 B\n");
    expect("kernel k on sm_90\n"
           "param N = 9\n"
           "param S = 4\n"
           "tensor in : global u8 [N] (30000) input\n"
           "tensor out : global u8 [N] (30000) output\n"
           "tensor x : shared u8 [N] (30000) ring 4\n"
           "tensor y : shared u8 [N] (30000) ring S\n"
           "for i in 0..N {\n"
           "simt l reads in[i] writes x[i]\n"
           "simt e reads x[i] writes y[i]\n"
           "simt s reads y[i] writes out[i]\n"
           "}\n",
           "shared is 7,552 B (7.4 KiB) too small: 240,000 B are needed together (proved)\n"
           "  fits with -D S=3 instead of 4, which saves 30,000 B\n"
           "  fits with --ring x=3 instead of 4, which saves 30,000 B\n"
           "  fits with --ring x=3 -D S=3, which saves 60,000 B\n"
           "  fits if 'x' is moved to another memory, which saves 120,000 B\n"
           "  fits if 'y' is moved to another memory, which saves 120,000 B\n");
    /* one parameter of several rings, one of them in two dimensions */
    expect("kernel k on sm_90\n"
           "param N = 9\n"
           "param S = 3\n"
           "tensor in : global u8 [N] (30000) input\n"
           "tensor out : global u8 [N] (30000) output\n"
           "tensor x : shared u8 [N] (30000) ring S\n"
           "tensor y : shared u8 [N] (30000) ring S\n"
           "tensor z : shared u8 [2, N] (30000) ring [2, S]\n"
           "for i in 0..N {\n"
           "simt l reads in[i] writes x[i]\n"
           "simt e reads x[i] writes y[i]\n"
           "simt s reads y[i] writes z[1, i]\n"
           "simt s reads z[1, i] writes out[i]\n"
           "}\n",
           "shared is 127,552 B (124.6 KiB) too small: 360,000 B are needed together (proved)\n"
           "  fits with -D S=1 instead of 3, which saves 240,000 B\n"
           "  fits if 'z' is moved to another memory, which saves 180,000 B\n");
}

static void rings_that_would_be_wrong(void **state) {
    (void)state;
    expect("kernel k on sm_90\nparam N = 500\ntensor in : global u8 [N] (1000) input\n"
           "tensor out : global u8 [N] (1000) output\ntensor x : shared u8 [N] (1000)\n"
           "for i in 0..N {\nsimt l reads in[i] writes x[i]\n"
           "simt s reads x[i] writes out[i]\n}\n",
           "shared is 267,552 B (261.3 KiB) too small: 500,000 B are needed together (proved)\n"
           "  fits with --ring x=232 instead of 500, which saves 268,000 B\n"
           "  fits if 'x' is moved to another memory, which saves 500,000 B\n");
    /* a ring for a tensor without one is offered only if it is right */
    expect("kernel k on sm_90\n"
           "param N = 6\n"
           "tensor in : global u8 [N] (60000) input\n"
           "tensor out : global u8 [N] (60000) output\n"
           "tensor x : shared u8 [N] (60000)\n"
           "for i in 0..N { simt l reads in[i] writes x[i] }\n"
           "for i in 0..N { simt e reads x[i] writes out[i] }\n",
           "shared is 127,552 B (124.6 KiB) too small: 360,000 B are needed together (proved)\n"
           "  fits if 'x' is moved to another memory, which saves 360,000 B\n");
    expect("kernel k on sm_90\n"
           "param N = 6\n"
           "tensor in : global u8 [N] (30000) input\n"
           "tensor out : global u8 [N] (30000) output\n"
           "tensor x : shared u8 [N] (30000)\n"
           "tensor y : shared u8 [N] (30000) ring 6\n"
           "for i in 0..N {\n"
           "simt l reads in[i] writes x[i], y[i] }\n"
           "for i in 0..N { simt e reads x[i], y[i] writes out[i] }\n",
           "shared is 127,552 B (124.6 KiB) too small: 360,000 B are needed together (proved)\n"
           "  fits if 'x' is moved to another memory, which saves 180,000 B\n"
           "  fits if 'y' is moved to another memory, which saves 180,000 B\n"
           "  fits with --ring y=1 instead of 6, which saves 150,000 B, but is wrong then: "
           "SPAD-LIFETIME-CONFLICT\n");
    /* right ones come first */
    expect("kernel k on sm_90\n"
           "param N = 9\n"
           "tensor in : global u8 [N] (40000) input\n"
           "tensor out : global u8 [N] (40000) output\n"
           "tensor x : shared u8 [N] (40000) ring 3\n"
           "tensor y : shared u8 [N] (40000) ring 3\n"
           "simt w reads in[0] writes x[0]\n"
           "simt w reads in[0] writes x[1]\n"
           "for i in 2..N {\n"
           "simt w reads in[i] writes x[i]\n"
           "simt r reads x[i - 2] writes y[i - 2]\n"
           "simt r reads y[i - 2] writes out[i - 2]\n"
           "}\n"
           "simt r reads x[N - 2] writes out[N - 2]\n"
           "simt r reads x[N - 1] writes out[N - 1]\n",
           "shared is 7,552 B (7.4 KiB) too small: 240,000 B are needed together (proved)\n"
           "  fits with --ring y=2 instead of 3, which saves 40,000 B\n"
           "  fits if 'x' is moved to another memory, which saves 40,000 B\n"
           "  fits if 'y' is moved to another memory, which saves 120,000 B\n"
           "  fits with --ring x=2 instead of 3, which saves 40,000 B, but is wrong then: "
           "SPAD-LIFETIME-CONFLICT\n"
           "  fits with --ring x=2 --ring y=2, which saves 80,000 B, but is wrong then: "
           "SPAD-LIFETIME-CONFLICT\n");
}

static void sets_of_tensors(void **state) {
    (void)state;
    /* three names */
    expect("kernel k on sm_90\n"
           "tensor a : shared u8 (100000) input\n"
           "tensor b : shared u8 (100000) input\n"
           "tensor c : shared u8 (100000) input\n"
           "tensor d : shared u8 (100000) input\n"
           "tensor e : shared u8 (100000) input\n"
           "tensor w : shared u8 (1000)\n"
           "simt w reads a, b, c, d, e writes w\n",
           "shared is 268,552 B (262.3 KiB) too small: 501,000 B are needed together (proved)\n"
           "  fits if 'a', 'b' and 'c' are moved to another memory, which saves 300,000 B\n");
    /* alignments that are too high even with the shallowest ring */
    expect("kernel k on sm_90\n"
           "param N = 9\n"
           "tensor y : shared u8 (150000) input\n"
           "tensor p : shared u8 (100) align 131072 input\n"
           "tensor q : shared u8 (100) align 131072 input\n"
           "tensor x : shared u8 [N] (60000) ring 4\n"
           "tensor v : shared u8 (8)\n"
           "tensor in : global u8 [N] (60000) input\n"
           "tensor out : global u8 [N] (60000) output\n"
           "for i in 0..N {\n"
           "simt w reads in[i] writes x[i]\n"
           "simt r reads x[i], y writes out[i]\n"
           "}\n"
           "simt end reads y, p, q writes v\n",
           "shared is 160,868 B (157.1 KiB) too small: 390,200 B are needed together (proved)\n"
           "  fits with --ring x=1 if 'p' is moved to another memory, which saves 131,172 B\n"
           "  fits with --ring x=1 if 'q' is moved to another memory, which saves 131,172 B\n"
           "  fits if 'x' and 'p' are moved to another memory, which saves 240,100 B\n"
           "  fits with --ring x=1 if 'y' is moved to another memory, which saves 281,072 B\n");
    expect("kernel k on sm_90\n"
           "tensor a : shared u8 [4] (80000)\n"
           "for i in 0..4 { alloc a[i]\n"
           "simt w writes a[i] }\n"
           "for i in 0..4 { \n"
           "simt w reads a[i]\n"
           "free a[i] }\n",
           "shared is 87,552 B (85.5 KiB) too small: 320,000 B are needed together (proved)\n"
           "  fits if 'a' is moved to another memory, which saves 320,000 B\n");
}

static void aliases_of_several(void **state) {
    (void)state;
    /* one tensor in the bytes of either of two */
    expect("kernel k on sm_90\n"
           "tensor x : shared u8 (60000)\n"
           "tensor y : shared u8 (60000)\n"
           "tensor z : shared u8 (60000)\n"
           "tensor w : shared u8 (60000)\n"
           "for i in 0..2 {\n"
           "simt a writes x\n"
           "simt b reads x writes y\n"
           "simt b reads y writes w\n"
           "simt c reads w writes z\n"
           "simt d reads z\n"
           "}\n",
           "shared is 7,552 B (7.4 KiB) too small: 240,000 B are needed together (proved)\n"
           "  fits if 'w' is an alias of 'x' (they are not needed together), which saves 60,000 B\n"
           "  fits if 'z' is an alias of 'x' (they are not needed together), which saves 60,000 B\n"
           "  fits if 'z' is an alias of 'y' (they are not needed together), which saves 60,000 B\n"
           "  fits if 'w' is moved to another memory, which saves 60,000 B\n"
           "  fits if 'x' is moved to another memory, which saves 60,000 B\n"
           "  fits if 'y' is moved to another memory, which saves 60,000 B\n"
           "  fits if 'z' is moved to another memory, which saves 60,000 B\n");
    /* fewer lanes in the bytes of more, not the other way round */
    expect("kernel k on trn2\n"
           "tensor x : sbuf u8 (64, 80000)\n"
           "tensor y : sbuf u8 (128, 80000)\n"
           "tensor z : sbuf u8 (128, 80000)\n"
           "for i in 0..2 {\n"
           "vector a writes x\n"
           "vector b reads x writes y\n"
           "vector c reads y writes z\n"
           "vector d reads z\n"
           "}\n",
           "sbuf is 27,016 B (26.4 KiB) too small: 240,000 B are needed together (proved)\n"
           "  fits if 'x' is an alias of 'z' (they are not needed together), which saves 80,000 B\n"
           "  fits if 'x' is moved to another memory, which saves 80,000 B\n"
           "  fits if 'y' is moved to another memory, which saves 80,000 B\n"
           "  fits if 'z' is moved to another memory, which saves 80,000 B\n");
    /* not the same number of tiles */
    expect("kernel k on sm_90\n"
           "tensor x : shared u8 [2] (50000)\n"
           "tensor y : shared u8 [2] (50000)\n"
           "tensor z : shared u8 [3] (30000)\n"
           "for i in 0..2 {\n"
           "for j in 0..2 { simt a writes x[j] }\n"
           "for j in 0..2 { simt a reads x[j] writes y[j] }\n"
           "simt c reads y[0], y[1] writes z[0], z[1], z[2]\n"
           "simt d reads z[0], z[1], z[2]\n"
           "}\n",
           "shared is 57,552 B (56.2 KiB) too small: 290,000 B are needed together (proved)\n"
           "  fits if 'z' is moved to another memory, which saves 90,000 B\n"
           "  fits if 'x' is moved to another memory, which saves 100,000 B\n"
           "  fits if 'y' is moved to another memory, which saves 100,000 B\n");
    /* all are needed together: every trial is wrong */
    expect("kernel k on sm_90\n"
           "tensor t0 : shared u8 (40000)\n"
           "tensor t1 : shared u8 (40000)\n"
           "tensor t2 : shared u8 (40000)\n"
           "tensor t3 : shared u8 (40000)\n"
           "tensor t4 : shared u8 (40000)\n"
           "tensor t5 : shared u8 (40000)\n"
           "for i in 0..2 {\n"
           "simt a writes t0\n"
           "simt a writes t1\n"
           "simt a writes t2\n"
           "simt a writes t3\n"
           "simt a writes t4\n"
           "simt a writes t5\n"
           "simt a reads t0\n"
           "simt a reads t1\n"
           "simt a reads t2\n"
           "simt a reads t3\n"
           "simt a reads t4\n"
           "simt a reads t5\n"
           "}\n",
           "shared is 7,552 B (7.4 KiB) too small: 240,000 B are needed together (proved)\n"
           "  fits if 't0' is moved to another memory, which saves 40,000 B\n"
           "  fits if 't1' is moved to another memory, which saves 40,000 B\n"
           "  fits if 't2' is moved to another memory, which saves 40,000 B\n"
           "  fits if 't3' is moved to another memory, which saves 40,000 B\n"
           "  fits if 't4' is moved to another memory, which saves 40,000 B\n"
           "  fits if 't5' is moved to another memory, which saves 40,000 B\n");
    /* names of the same bytes move together */
    expect("kernel k on sm_90\n"
           "tensor h : shared u8 (80000)\n"
           "tensor g : shared u8 (80000) alias of h\n"
           "tensor y : shared u8 (80000)\n"
           "tensor z : shared u8 (80000)\n"
           "for i in 0..2 {\n"
           "simt a writes h\n"
           "simt b reads g writes y\n"
           "simt c reads y writes z\n"
           "simt d reads z\n"
           "}\n",
           "shared is 7,552 B (7.4 KiB) too small: 240,000 B are needed together (proved)\n"
           "  fits if 'z' is an alias of 'h' (they are not needed together), which saves 80,000 B\n"
           "  fits if 'h' is moved to another memory, which saves 80,000 B\n"
           "  fits if 'y' is moved to another memory, which saves 80,000 B\n"
           "  fits if 'z' is moved to another memory, which saves 80,000 B\n");
}

static void spaces_and_agents(void **state) {
    (void)state;
    /* two spaces; tiles of one tensor are named once */
    expect("kernel k on trn2\n"
           "tensor x : sbuf u8 (128, 120000)\n"
           "tensor y : sbuf u8 (128, 120000)\n"
           "tensor p : psum u8 [7] (128, 2048)\n"
           "tensor q : psum u8 [7] (128, 2048)\n"
           "for i in 0..2 {\n"
           "vector a writes x\n"
           "vector b reads x writes y\n"
           "vector d reads y\n"
           "}\n"
           "for i in 0..7 { vector a writes p[i], q[i] }\n"
           "for i in 0..7 { vector a reads p[i], q[i] }\n",
           "sbuf is 27,016 B (26.4 KiB) too small: 240,000 B are needed together (proved)\n"
           "  fits if 'x' is moved to another memory, which saves 120,000 B\n"
           "  fits if 'y' is moved to another memory, which saves 120,000 B\n"
           "psum is 12,288 B (12 KiB) too small: 28,672 B are needed together (proved)\n"
           "  fits if 'p' is moved to another memory, which saves 12,288 B\n");
    /* agents whose values are ordered: no proof */
    expect("kernel k on sm_90\n"
           "counter c\n"
           "counter d\n"
           "tensor x : shared u8 (120000)\n"
           "tensor y : shared u8 (120000)\n"
           "agent a { simt w writes x\n"
           "simt r reads x\n"
           "signal c\n"
           "take d\n"
           "simt w writes x\n"
           "simt r reads x }\n"
           "agent b { take c\n"
           "simt w writes y\n"
           "simt r reads y\n"
           "signal d\n"
           "simt r reads y }\n",
           "shared is 7,552 B (7.4 KiB) too small: 240,000 B are needed together\n"
           "  fits if 'x' is moved to another memory, which saves 120,000 B\n"
           "  fits if 'y' is moved to another memory, which saves 120,000 B\n");
    /* given places that fit */
    expect("kernel k on sm_90\n"
           "tensor a : shared u8 (80000) at 0\n"
           "tensor b : shared u8 (80000) at 80000\n"
           "tensor c : shared u8 (90000)\n"
           "for i in 0..2 {\n"
           "simt w writes a\n"
           "simt w reads a, b writes c\n"
           "simt w reads c writes b\n"
           "}\n",
           "shared is 17,552 B (17.1 KiB) too small: 250,000 B are needed together (proved)\n"
           "  fits if 'c' is moved to another memory, which saves 90,000 B\n");
}

/* A chain of tensors, each of which is read into the next one. */
static void no_more_than_a_few_aliases(void **state) {
    (void)state;
    char text[4096] = "kernel k on sm_90\n";
    char line[64];
    for (int i = 0; i < 22; i++) {
        snprintf(line, sizeof line, "tensor t%d : shared u8 (11000)\n", i);
        strcat(text, line);
    }
    strcat(text, "for i in 0..2 {\nsimt a writes t0\n");
    for (int i = 1; i < 22; i++) {
        snprintf(line, sizeof line, "simt a reads t%d writes t%d\n", i - 1, i);
        strcat(text, line);
    }
    strcat(text, "simt a reads t21\n}\n");
    fixture f;
    set_up(&f, text);
    static const char *const with[] = {"t0", "t1", "t2", "t3"};
    assert_true(spad_fit_count(f.fit) > 4);
    for (size_t i = 0; i < spad_fit_count(f.fit); i++) {
        const spad_fit_change *change = spad_fit_get(f.fit, i);
        assert_int_equal(change->kind, i < 4 ? SPAD_FIT_ALIAS : SPAD_FIT_SPILL);
        assert_int_equal(change->saved, 11000);
        if (i >= 4) continue;
        assert_string_equal(change->name, "t21");
        assert_string_equal(change->with, with[i]);
    }
    tear_down(&f);
}

/* Moving other tensors is not enough where the kernel places one outside. */
static void given_places_outside(void **state) {
    (void)state;
#define OUTSIDE(ring, n)                                                                         \
    "kernel k on sm_90\nparam N = 9\ntensor a : shared u8 (120000) at 0\n"                       \
    "tensor b : shared u8 (120000) at 120000\ntensor c : shared u8 [N] (20000) ring " ring       \
    "\nfor i in 0..N {\nsimt w writes a\nsimt w reads a writes c[" n "]\nsimt w reads c[" n "] " \
    "writes b\nsimt w reads b\n}\n"
    expect(OUTSIDE("1", "i"),
           "shared is 20,000 B (19.5 KiB) too small: 252,448 B are needed together (proved)\n"
           "  no change was found that makes it fit\n");
    expect(OUTSIDE("3", "i"),
           "shared is 60,000 B (58.6 KiB) too small: 292,448 B are needed together (proved)\n"
           "  no change was found that makes it fit\n");
#undef OUTSIDE
}

/* An mbarrier is part of what is needed, and nothing that can be moved, alone or with others. */
static void mbarriers_stay(void **state) {
    (void)state;
    expect("kernel k on sm_90\nmbarrier m[2000] count 1\ntensor x : shared u8 (220000)\n"
           "init m[0]\nsimt w writes x\narrive m[0]\nwait m[0] parity 0\nsimt r reads x\n",
           "shared is 3,552 B (3.5 KiB) too small: 236,000 B are needed together (proved)\n"
           "  fits if 'x' is moved to another memory, which saves 220,000 B\n");
}

static void json_names_what_is_wrong(void **state) {
    (void)state;
    fixture f;
    spad_error error;
    set_up(&f, "kernel k on sm_90\nparam N = 6\ntensor x : shared u8 [N] (60000) ring 6\n"
               "for i in 0..N { simt l writes x[i] }\nfor i in 0..N { simt e reads x[i] }\n");
    test_text_clear(&f.text);
    assert_ok(spad_fit_write(f.fit, f.layout, SPAD_FORMAT_JSON, &f.text.sink, &error), &error);
    assert_non_null(strstr(f.text.bytes,
                           "\"kind\": \"ring\",\n    \"name\": \"x\",\n    \"from\": 6,\n"
                           "    \"to\": 3,\n    \"saved\": 180000,\n"
                           "    \"wrong\": \"SPAD-LIFETIME-CONFLICT\",\n"));
    tear_down(&f);
    assert_string_equal(spad_fit_kind_name(SPAD_FIT_PARAM), "param");
    assert_string_equal(spad_fit_kind_name(SPAD_FIT_RINGS), "rings");
    assert_string_equal(spad_fit_kind_name(SPAD_FIT_SPILL), "spill");
}

static spad_status scenario(const spad_host *host, void *context) {
    const spad_fit_options options = {.host = host};
    spad_fit *fit;
    const spad_status status = spad_fit_create(&fit, context, &options, NULL);
    spad_fit_destroy(fit);
    return status;
}

/* A parameter, aliases, a set of three, and tensors with a shallower ring. */
static void every_allocation_may_fail(void **state) {
    (void)state;
    static const char *const kernels[] = {
        "kernel k on sm_90\nparam N = 3\nparam S = 2\ntensor x : shared u8 [N] (60000) ring S\n"
        "tensor y : shared u8 [2, N] (60000) ring [1, S]\n"
        "for i in 0..N { simt w writes x[i]\nsimt r reads x[i] writes y[1, i]\n"
        "simt r reads y[1, i] }\n",
        "kernel k on sm_90\ntensor a : shared u8 (100000) input\ntensor b : shared u8 (100000) "
        "input\ntensor c : shared u8 (100000) input\ntensor d : shared u8 (100000) input\n"
        "tensor e : shared u8 (100000) input\nsimt w reads a, b, c, d, e\n",
    };
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        fixture f;
        set_up(&f, kernels[i]);
        assert_true(spad_fit_count(f.fit) > 0);
        test_fail_each_allocation(scenario, f.layout);
        tear_down(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rings_and_parameters),     cmocka_unit_test(rings_that_would_be_wrong),
        cmocka_unit_test(sets_of_tensors),          cmocka_unit_test(aliases_of_several),
        cmocka_unit_test(spaces_and_agents),        cmocka_unit_test(no_more_than_a_few_aliases),
        cmocka_unit_test(given_places_outside),     cmocka_unit_test(mbarriers_stay),
        cmocka_unit_test(json_names_what_is_wrong), cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
