/* SPDX-License-Identifier: Apache-2.0
 *
 * The mutation study. Every kernel of examples/kernels, at a small shape, with one mistake at a
 * time (see support/mutate.h). A mutant is refused by the reader or the walk, reported by
 * the check, or shown to be harmless by the executor, which visits all its executions. What is none
 * of these is a survivor. A mutant that the check reports and the executor finds right is a false
 * alarm.
 *
 *   test_check_mutants [PAIRS [STATES [NAME]]]
 *
 * PAIRS mutants of each kernel with two mistakes are tried as well; executions are visited up to
 * STATES states; kernels with NAME in their names.
 *
 * The score of each kernel is printed, and every survivor and false alarm by name.
 */
#include "support/kernels.h"
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "spad/check.h"
#include "spad/experimental/kernel_rows.h"
#include "support/executor.h"
#include "support/files.h"
#include "support/mutate.h"

/* Small trip counts. A ring pipeline needs two laps and one step to show all of it. */
typedef struct shape {
    const char *file;
    spad_define defines[6];
} shape;

static const shape shapes[] = {
    {"01_exp_rows.spad", {{"N", 5}}},
    {"01_tensor_add.spad", {{"TILES", 5}}},
    {"02_matmul_1_tiled.spad", {{"M", 3}, {"N", 2}, {"K", 3}}},
    {"02_matmul_2_hoisted.spad", {{"M", 3}, {"N", 2}, {"K", 3}}},
    {"02_matmul_3_blocked.spad", {{"MB", 2}, {"NB", 2}, {"BM", 2}, {"BN", 2}, {"K", 2}}},
    {"02_matmul_4_exact_fit.spad", {{"MB", 2}, {"NB", 2}, {"KB", 1}, {"BM", 2}, {"BK", 2}}},
    {"03_attention_v10.spad", {{"S", 1024}}},
    {"03_attention_v9.spad", {{"S", 1024}}},
    {"04_allocated_attention.spad", {{"S", 1024}}},
    {"04_fused_linear.spad", {{"DIM", 512}, {"PAIRS", 2}}},
    {"04_pipelined_attention.spad", {{"SECTIONS", 1}, {"G", 3}}},
    {"05_mlp_cte.spad", {{"TILES", 2}, {"SUB", 2}, {"HB", 2}, {"DB", 4}}},
    {"06_attention_cte.spad", {{"G", 8}}},
    {"07_gemm_sm80.spad", {{"S", 3}, {"KT", 4}}},
    {"08_gemm_sm90.spad", {{"S", 2}, {"KT", 5}}},
    {"09_flash_attention_2.spad", {{"N", 3}}},
    {"09_flash_attention_3.spad", {{"T", 2}, {"N", 2}}},
    {"10_attention_sm100.spad", {{"N", 3}}},
    {"10_gemm_mxfp8.spad", {{"S", 4}, {"KB", 8}}},
    {"10_gemm_sm100.spad", {{"S", 2}, {"TILES", 3}, {"KB", 2}}},
    {"11_add_flags.spad", {{"STEPS", 4}}},
    {"11_add_queues.spad", {{"TILES", 4}}},
    {"12_flash_attention.spad", {{"T", 2}, {"B", 2}}},
    {"12_flash_attention_cores.spad", {{"T", 2}, {"B", 2}}},
    {"12_gemm_cube.spad", {{"TILES", 2}, {"KB", 2}, {"R", 2}}},
    {"14_flash_attention_3_causal.spad", {{"T", 2}}},
    {"15_split_k.spad", {{"F", 2}, {"KT", 3}, {"S", 1}}},
    {"16_gemm_grouped.spad", {{"R", 1}, {"KB", 2}, {"S", 2}}},
    {"17_gemm_clc.spad", {{"S", 1}, {"C", 1}, {"KB", 1}, {"T", 3}}},
};

typedef struct score {
    long mutants;
    long refused;
    long reported;
    long harmless;
    long survivors;
    long undecided; /* of the survivors: too large for the executor */
    long alarms;
    long wrong; /* kernels that are not right as they are */
} score;

static long states_max = 100000;
static long pairs = 10; /* of each kernel */
static const char *only = "";

static const spad_define *defines_of(const char *file, size_t *count) {
    *count = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        if (strcmp(shapes[i].file, file) != 0) continue;
        while (*count < 6 && shapes[i].defines[*count].name != NULL) (*count)++;
        return shapes[i].defines;
    }
    return NULL;
}

/* The kernel of a file at its small shape, as the library writes it. */
static void write_kernel(const char *file, test_text *out) {
    char path[512];
    snprintf(path, sizeof path, TEST_KERNELS "/%s", file);
    char *text = test_read_file(path);
    spad_kernel_options options = {0};
    options.defines = defines_of(file, &options.define_count);
    spad_kernel *kernel = test_parse_named(text, file, &options);
    free(text);
    assert_int_equal(spad_kernel_write_text(kernel, &out->sink, NULL), SPAD_OK);
    spad_kernel_destroy(kernel);
}

static int64_t count_errors(const spad_kernel *kernel, char *first, size_t size) {
    const spad_check_options options = {.one_shape = true, .no_advice = true};
    spad_check *check;
    spad_error error;
    assert_ok(spad_check_create(&check, kernel, &options, &error), &error);
    const int64_t errors = spad_check_get_counts(check).errors;
    const spad_finding *finding = spad_check_get_finding(check, 0);
    if (errors > 0) {
        snprintf(first, size, "%s line %d", spad_finding_name(finding->code), finding->line);
    } else {
        snprintf(first, size, "%s", spad_verdict_name(spad_check_get_verdict(check)));
    }
    spad_check_destroy(check);
    return errors;
}

static void try_mutant(const char *file, const mutant *m, score *s) {
    spad_kernel *kernel;
    spad_error error;
    char first[128];
    s->mutants++;
    if (spad_kernel_parse(&kernel, m->text, strlen(m->text), file, NULL, NULL, &error) != SPAD_OK) {
        s->refused++;
        return;
    }
    const executor_options options = {.states_max = states_max};
    const bool reported = count_errors(kernel, first, sizeof first) > 0;
    const executor_result run = executor_run_all_values(kernel, &options);
    const bool right = run.decided && run.wrong == 0;
    const bool listed = strncmp(m->about, "pair", 4) != 0;
    if (run.walk_failed) { /* an amount of 0 in some iteration and the like: it cannot be run */
        s->refused++;
    } else if (reported) {
        s->reported++;
        if (right && !run.unmodelled && !run.takers) {
            s->alarms++;
            printf("  false alarm? %s, %s: %s\n%s", file, m->about, first, listed ? "" : m->text);
        }
    } else if (right && !run.unmodelled) {
        s->harmless++;
    } else {
        s->survivors++;
        s->undecided += !run.decided;
        printf("  survivor: %s, %s: %s; %s\n%s", file, m->about, first,
               run.about[0] != '\0' ? run.about : "too large to decide", listed ? "" : m->text);
    }
    spad_kernel_destroy(kernel);
}

/* A sample of mutants with two mistakes, which may hide each other. */
static void try_pairs(const char *file, const char *text, score *s) {
    spad__random random = {strlen(text)};
    const size_t count = mutants_count(text);
    for (long i = 0; count > 0 && i < pairs; i++) {
        char *first = mutants_one(text, (size_t)spad__random_below(&random, count));
        const size_t more = mutants_count(first);
        const size_t second = (size_t)spad__random_below(&random, more > 0 ? more : 1);
        mutant m = {.text = more > 0 ? mutants_one(first, second) : NULL};
        snprintf(m.about, sizeof m.about, "pair %ld", i);
        if (m.text != NULL) try_mutant(file, &m, s);
        free(m.text);
        free(first);
    }
}

static void add_score(score *sum, const score *s) {
    sum->mutants += s->mutants;
    sum->refused += s->refused;
    sum->reported += s->reported;
    sum->harmless += s->harmless;
    sum->survivors += s->survivors;
    sum->undecided += s->undecided;
    sum->alarms += s->alarms;
    sum->wrong += s->wrong;
}

static void print_score(const char *name, const score *s) {
    printf("%-28s %5ld mutants: %4ld refused, %5ld reported, %4ld harmless, %3ld survive "
           "(%ld too large), %3ld false alarms\n",
           name, s->mutants, s->refused, s->reported, s->harmless, s->survivors, s->undecided,
           s->alarms);
}

static void study(const char *file, score *sum) {
    test_text text;
    score s = {0};
    test_text_init(&text);
    write_kernel(file, &text);
    const mutant whole = {.text = text.bytes, .about = "as it is"};
    try_mutant(file, &whole, &s);
    const long wrong = s.harmless == 1 ? 0 : 1; /* the kernel itself must be right */
    if (wrong != 0) printf("  %s is not right as it is\n", file);
    s = (score){.wrong = wrong};
    mutants list = mutants_of(text.bytes);
    for (size_t i = 0; i < list.count; i++) try_mutant(file, &list.items[i], &s);
    try_pairs(file, text.bytes, &s);
    print_score(file, &s);
    add_score(sum, &s);
    mutants_free(&list);
    test_text_free(&text);
}

static void every_mutant_is_reported_or_harmless(void **state) {
    (void)state;
    test_files files;
    score sum = {0};
    test_list_kernels(&files, TEST_KERNELS);
    for (size_t i = 0; i < files.count; i++) {
        if (strstr(files.names[i], only) != NULL) study(files.names[i], &sum);
    }
    print_score("all", &sum);
    assert_true(sum.mutants > 0);
    assert_int_equal(sum.wrong, 0);
    assert_int_equal(sum.survivors, 0);
    assert_int_equal(sum.alarms, 0);
}

int main(int argc, char **argv) {
    if (argc > 1) pairs = atol(argv[1]);
    if (argc > 2) states_max = atol(argv[2]);
    if (argc > 3) only = argv[3];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mutant_is_reported_or_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
