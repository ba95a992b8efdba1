/* SPDX-License-Identifier: Apache-2.0
 *
 * The hash of a kernel: each change of a row gives another one, and two kernels have the same hash
 * exactly if they have the same text and the same locations.
 */
#include "spad/experimental/kernel_rows.h"
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/kernel.h"
#include "support/files.h"
#include "support/kernels.h"
#include "support/mutate.h"

/* Rows of every table of a kernel with explicit synchronisation. */
static const char agents_text[] =
    "kernel rows on sm_90 \"about\"\n"
    "param N = 4\n"
    "param M = 2 * N fixed\n"
    "param K = 6 any\n"
    "assume \"it rains\"\n"
    "uncounted \"the sun\"\n"
    "compiler \"Triton 3.6.0\"\n"
    "grid 132\n"
    "cluster 2\n"
    "threads 256 registers 40\n"
    "unit tma on copy free proxy\n"
    "unit cp on copy fifo\n"
    "unknown full[2] in 0..3 = [1, 2]\n"
    "barrier all count 2\n"
    "counter ready = 0\n"
    "mbarrier m[2] count 1\n"
    "mbarrier fixed count 1 at 4096\n"
    "mbarrier both[2] count 1 each block\n"
    "group g\n"
    "source 0 \"a.py\" 7 \"load()\"\n"
    "source 1 \"a.py\" 9 from 0\n"
    "tensor w : global u8 [8] (64) input reused 4 near 2 pieces 16\n"
    "tensor v : global u8 [8] (64) output cached 1 of 2\n"
    "tensor s : shared u8 [8] (64) ring 2 align 128\n"
    "tensor t : shared u8 [8] (64) ring 2 align 128\n"
    "tensor a : shared u8 (64) alias of s[1] from 0\n"
    "tensor p : shared u8 [2] (64) at 8192 step 128\n"
    "tensor q : shared[1] u8 [8] (64) ring 2 align 128\n"
    "init m[0]\n"
    "init m[1]\n"
    "agent load of 32 threads registers 24 {\n"
    "    cursor stage, phase mod 2\n"
    "    for n in 0..N {\n"
    "        arrive m[stage] expect 64\n"
    "        tma l reads w[n](0..64) writes s[stage] delivers m[stage] by 64\n"
    "        if full[n % 2] > 0 and n < 3 {\n"
    "            fence\n"
    "        } else {\n"
    "            break\n"
    "        }\n"
    "        advance stage by 1\n"
    "    }\n"
    "    signal ready by 2\n"
    "    sync all\n"
    "}\n"
    "agent use of 128 threads {\n"
    "    for i in 0..N step 2 {\n"
    "        wait m[i % 2] parity i / 2 % 2\n"
    "        cp c reads s[i] writes v[i] in g cost 90 cycles latency 30 ns\n"
    "        simt u may adds t[i](0..32 by 2) moves 8 spread together work 3 fma\n"
    "        commit g\n"
    "        wait g pending 1 reads\n"
    "    }\n"
    "    wait ready >= 1\n"
    "    take ready by 1\n"
    "    drain cp\n"
    "    sync all\n"
    "}\n";

static const char scopes_text[] = "kernel scopes on trn2\n"
                                  "param N = 4\n"
                                  "region sbuf 0..8 KiB as library_later\n"
                                  "tensor in : hbm bf16 [N] (128, 8) input\n"
                                  "tensor b : sbuf bf16 [4] (128, 8) mod base 4096 free [2]\n"
                                  "for i in 0..N parallel {\n"
                                  "    scope s sections 2 {\n"
                                  "        tensor x : sbuf bf16 (128, 8) stack\n"
                                  "        dma l reads in[i] writes x\n"
                                  "        next section\n"
                                  "        tensor h : sbuf bf16 (128, 8) heap\n"
                                  "        vector r reads x writes h\n"
                                  "        free h\n"
                                  "    }\n"
                                  "}\n";

/* One change of one row; "": a line or a clause is added or left out. */
typedef struct edit_of_text {
    const char *from;
    const char *to;
} edit_of_text;

static const edit_of_text agents_edits[] = {
    {"kernel rows", "kernel row2"},
    {"\"about\"", "\"About\""},
    {"\"about\"", "       "},
    {"param N = 4", "param N = 5"},
    {"M = 2 * N fixed", "M = 4 + N fixed"},
    {"M = 2 * N fixed", "M = 8     fixed"},
    {"M = 2 * N fixed", "M = 2 * N"},
    {"K = 6 any", "K = 6"},
    {"it rains", "it snows"},
    {"the sun", "the moon"},
    {"grid 132", "grid 131"},
    {"cluster 2", "cluster 2 * 1"},
    {"threads 256", "threads 288"},
    {"registers 40", "registers 48"},
    {"copy free proxy", "copy fifo proxy"},
    {"copy free proxy", "copy free"},
    {"unit cp on copy", "unit cp on simt"},
    {"0..3 = [1, 2]", "0..4 = [1, 2]"},
    {"0..3 = [1, 2]", "0..3 = [1, 1]"},
    {"full[2]", "full[3]"},
    {"barrier all count 2", "barrier all count 3"},
    {"ready = 0", "ready = 1"},
    {"m[2] count 1", "m[3] count 1"},
    {"at 4096", "at 4104"},
    {"fixed count 1 at 4096", "fixed count 1"},
    {"both[2] count 1 each block", "both[2] count 1"},
    {"source 0 \"a.py\"", "source 0 \"b.py\""},
    {"a.py\" 7", "a.py\" 8"},
    {"load()", "send()"},
    {"9 from 0", "9"},
    {"tensor w : global u8", "tensor w : global i8"},
    {"w : global u8 [8]", "w : global u8 [9]"},
    {"global u8 [8] (64) input", "global u8 [8] (96) input"},
    {"(64) input", "(64) persistent"},
    {"reused 4", "reused 8"},
    {"near 2", "near 4"},
    {"pieces 16", "pieces 8"},
    {"cached 1 of 2", "cached 2 of 2"},
    {"cached 1 of 2", "cached 1 of 4"},
    {"s : shared u8 [8] (64) ring 2", "s : shared u8 [8] (64) ring 3"},
    {"align 128", "align 256"},
    {"shared[1] u8 [8] (64) ring 2", "shared[1] u8 [8] (64) like s"},
    {"shared[1] u8 [8] (64) ring 2", "shared[1] u8 [8] (64) like t"},
    {"alias of s[1]", "alias of s[0]"},
    {"alias of s[1]", "alias of t[1]"},
    {"s[1] from 0", "s[1] from 1"},
    {"s[1] from 0", "s[1]"},
    {"at 8192", "at 8320"},
    {"step 128", "step 256"},
    {"init m[1]", "init m[1] count 2"},
    {"agent load of 32", "agent loaf of 32"},
    {"of 32 threads", "of 64 threads"},
    {"registers 24", "registers 32"},
    {"cursor stage, phase mod 2", "cursor stage, round mod 2"},
    {"cursor stage, phase mod 2", "cursor stage mod 2"},
    {"for n in 0..N", "for n in 1..N"},
    {"for n in 0..N", "for n in 0..4"},
    {"0..N step 2", "0..N step 2 parallel"},
    {"arrive m[stage]", "arrive m[0]"},
    {"expect 64", "expect 32"},
    {"expect 64", "expect 64 relaxed"},
    {"expect 64\n", "by 1\n"},
    {"tma l reads w", "tma k reads w"},
    {"reads w[n]", "reads w[0]"},
    {"(0..64)", "(1..64)"},
    {"(0..64)", "(0)"},
    {"(0..64)", ""},
    {"writes s[stage]", "updates s[stage]"},
    {"writes s[stage]", "writes t[stage]"},
    {"delivers m[stage]", "delivers m[0]"},
    {"delivers m[stage] by 64", "delivers m[stage]"},
    {"delivers m[stage] by 64", "arrives m[stage] by 64"},
    {"full[n % 2] > 0", "full[n % 2] >= 0"},
    {"> 0 and n", "> 0 or n"},
    {"n < 3", "n < 4"},
    {"            fence\n", "            fence wgmma\n"},
    {"advance stage by 1", "advance stage by 2"},
    {"signal ready by 2", "signal ready by 3"},
    {"signal ready by 2", "signal ready by 2 on cp"},
    {"step 2", "step 3"},
    {"parity i / 2 % 2", "next"},
    {"in g", "arrives m[0]"},
    {"cost 90 cycles", "cost 91 cycles"},
    {"cost 90 cycles", "cost 90 ns"},
    {"latency 30", "latency 31"},
    {"30 ns", "30 cycles"},
    {"u may adds", "u may updates"},
    {"u may adds t[i](0..32 by 2) moves 8", "u adds t[i](0..32 by 2)"},
    {"by 2) moves 8", "by 4) moves 8"},
    {"moves 8", "moves 16"},
    {"spread together", "spread all"},
    {"spread together", ""},
    {"work 3", "work 4"},
    {"pending 1 reads", "pending 1"},
    {"pending 1 reads", "pending 0 reads"},
    {"wait ready >= 1", "wait ready >= 2"},
    {"wait ready >= 1", "take ready by 1"},
    {"drain cp", "drain all"},
    {"spread together", "spread together elected"},
    {"    drain cp\n", "\n"},           /* a statement less, and the others in their lines */
    {"    drain cp", "     drain cp"},  /* a column */
    {"    drain cp", "\n    drain cp"}, /* a line */
    {"tensor p", "\ntensor p"},
    {"group g", " group g"},
};

static const edit_of_text scopes_edits[] = {
    {"0..8 KiB", "0..9 KiB"},
    {"library_later", "exact"},
    {"base 4096", "base 8192"},
    {"free [2]", "free [1]"},
    {"scope s sections 2", "scope t sections 2"},
    {"scope s sections 2", "scope s sections 3"},
    {"(128, 8) stack", "(128, 8) heap"},
    {"vector r", "gpsimd r"},
    {"        next section\n", "        \n"},
    {"        free h\n", "        \n"},
};

static char *apply_edit(const char *text, const edit_of_text *edit) {
    const char *place = strstr(text, edit->from);
    if (place == NULL) fail_msg("'%s' is not in the text", edit->from);
    const size_t before = (size_t)(place - text);
    const size_t size = strlen(text) + strlen(edit->to) + 1;
    char *changed = malloc(size);
    assert_non_null(changed);
    snprintf(changed, size, "%.*s%s%s", (int)before, text, edit->to, place + strlen(edit->from));
    return changed;
}

static uint64_t hash_of_text(const char *text) {
    spad_kernel *kernel = test_parse(text);
    const uint64_t hash = kernel->content;
    assert_true(hash == spad__kernel_hash(kernel));
    spad_kernel_destroy(kernel);
    return hash;
}

/* All changed texts and the text itself have different hashes. */
static void assert_edits_differ(const char *text, const edit_of_text *edits, size_t count) {
    uint64_t *hashes = calloc(count + 1, sizeof *hashes);
    assert_non_null(hashes);
    hashes[count] = hash_of_text(text);
    assert_true(hashes[count] == hash_of_text(text));
    for (size_t i = 0; i < count; i++) {
        char *changed = apply_edit(text, &edits[i]);
        hashes[i] = hash_of_text(changed);
        free(changed);
        for (size_t k = 0; k < i; k++) {
            if (hashes[i] != hashes[k]) continue;
            fail_msg("'%s' and '%s' have the same hash", edits[i].to, edits[k].to);
        }
        if (hashes[i] == hashes[count]) fail_msg("'%s' has the hash of no change", edits[i].to);
    }
    free(hashes);
}

static void each_change_counts(void **state) {
    (void)state;
    assert_edits_differ(agents_text, agents_edits, sizeof agents_edits / sizeof *agents_edits);
    assert_edits_differ(scopes_text, scopes_edits, sizeof scopes_edits / sizeof *scopes_edits);
}

/* ---- text and locations ------------------------------------------------------------ */

/* The text of a kernel without its comments, which the hash leaves out, and after it the locations
 * of all of its rows. */
static char *describe(const spad_kernel *k) {
    test_text text;
    spad_kernel bare = *k;
    bare.comments.count = 0;
    spad_error error;
    test_text_init(&text);
    assert_ok(spad_kernel_write_text(&bare, &text.sink, &error), &error);
#define PUT_LOCATIONS(table)                                                                \
    for (size_t i = 0; i < k->table.count; i++) {                                           \
        const spad_location at = k->table.items[i].location;                                \
        test_text_put(&text, "%s %zu %d %d %d\n", #table, i, at.line, at.column, at.width); \
    }
    PUT_LOCATIONS(params)
    PUT_LOCATIONS(regions)
    PUT_LOCATIONS(units)
    PUT_LOCATIONS(syncs)
    PUT_LOCATIONS(unknowns)
    PUT_LOCATIONS(agents)
    PUT_LOCATIONS(cursors)
    PUT_LOCATIONS(loops)
    PUT_LOCATIONS(tensors)
    PUT_LOCATIONS(statements)
    PUT_LOCATIONS(accesses)
    PUT_LOCATIONS(completions)
#undef PUT_LOCATIONS
    return text.bytes;
}

static void assert_hash_says_equal(const spad_kernel *a, const spad_kernel *b) {
    char *one = describe(a);
    char *other = describe(b);
    if ((strcmp(one, other) == 0) != (a->content == b->content)) {
        fail_msg("%s: the text is %s", a->name, strcmp(one, other) == 0 ? "equal" : "different");
    }
    free(one);
    free(other);
}

static spad_kernel *parse_below(const char *text, const spad_kernel_options *options) {
    spad_kernel *kernel;
    char *lower = malloc(strlen(text) + 2);
    spad_error error;
    assert_non_null(lower);
    sprintf(lower, "\n%s", text);
    assert_ok(spad_kernel_parse(&kernel, lower, strlen(lower), NULL, options, NULL, &error),
              &error);
    free(lower);
    return kernel;
}

/* A kernel, the same once more, below an empty line, rebuilt, and with another value of its first
 * parameter by two ways. */
static void compare_ways(const char *text) {
    enum { WAYS = 6 };
    spad_kernel *ways[WAYS] = {test_parse(text), test_parse(text), parse_below(text, NULL)};
    spad_define define = {0};
    const spad_kernel_options options = {.defines = &define, .define_count = 1};
    spad_error error;
    size_t count = 3;
    assert_ok(spad_kernel_reshape(&ways[count++], ways[0], NULL, &error), &error);
    if (ways[0]->params.count > 0) {
        const spad_kernel_param *param = &ways[0]->params.items[0];
        define = (spad_define){param->name, param->value + 1};
        if (spad_kernel_parse(&ways[count], text, strlen(text), NULL, &options, NULL, NULL) ==
            SPAD_OK) {
            count++;
        }
        if (spad_kernel_reshape(&ways[count], ways[0], &options, NULL) == SPAD_OK) count++;
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < count; k++) assert_hash_says_equal(ways[i], ways[k]);
    }
    assert_true(ways[0]->content == ways[1]->content);
    assert_true(ways[0]->content != ways[2]->content);
    assert_true(ways[0]->content == ways[3]->content);
    for (size_t i = 0; i < count; i++) spad_kernel_destroy(ways[i]);
}

/* Small mistakes in the text: the first 40 of each kernel, two and two. */
static void compare_mutants(const char *text) {
    enum { MUTANTS_MAX = 40 };
    spad_kernel *kernels[MUTANTS_MAX];
    size_t count = 0;
    mutants list = mutants_of(text);
    for (size_t i = 0; i < list.count && count < MUTANTS_MAX; i++) {
        const char *changed = list.items[i].text;
        if (spad_kernel_parse(&kernels[count], changed, strlen(changed), NULL, NULL, NULL, NULL) ==
            SPAD_OK) {
            count++;
        }
    }
    for (size_t i = 1; i < count; i++) assert_hash_says_equal(kernels[i - 1], kernels[i]);
    for (size_t i = 0; i < count; i++) spad_kernel_destroy(kernels[i]);
    mutants_free(&list);
}

static void equal_as_text_and_locations(void **state) {
    (void)state;
    static const char *const folders[] = {TEST_KERNELS, TEST_KERNELS "/wrong"};
    compare_ways(agents_text);
    compare_ways(scopes_text);
    compare_mutants(agents_text);
    for (size_t f = 0; f < 2; f++) {
        test_files files;
        test_list_kernels(&files, folders[f]);
        assert_true(files.count > 0);
        for (size_t i = 0; i < files.count; i++) {
            char path[256];
            snprintf(path, sizeof path, "%s/%s", folders[f], files.names[i]);
            char *text = test_read_file(path);
            compare_ways(text);
            compare_mutants(text);
            free(text);
        }
    }
}

/* A kernel for another target is another kernel, and so is one without its addresses. */
static void changed_copies_differ(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(agents_text);
    spad_kernel *copy;
    spad_error error;
    const spad_target *other;
    assert_ok(spad_target_find(&other, "sm_100", &error), &error);
    assert_ok(spad_kernel_release(&copy, kernel, NULL, &error), &error);
    assert_true(copy->content != kernel->content);
    spad_kernel_destroy(copy);
    const spad_kernel_options options = {.target = other};
    assert_ok(spad_kernel_reshape(&copy, kernel, &options, &error), &error);
    assert_true(copy->content != kernel->content);
    spad_kernel_destroy(copy);
    spad_kernel_destroy(kernel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_change_counts),
        cmocka_unit_test(equal_as_text_and_locations),
        cmocka_unit_test(changed_copies_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
