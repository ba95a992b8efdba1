/* SPDX-License-Identifier: Apache-2.0
 *
 * Mutation over TTGIR: in the recorded kernels every wait, commit, count, expectation, phase, fence
 * and ring size is changed in turn. A mutant is refused, reported by the check, or harmless: the
 * executor visits all of its executions and finds nothing wrong. Anything else survives.
 *
 *   test_ttgir_mutants [STATES]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spad/spad.h"
#include "support/executor.h"
#include "support/files.h"
#include "support/support.h"

typedef struct subject {
    const char *file;
    spad_define sizes[3];
    size_t size_count;
} subject;

static const subject subjects[] = {
    {"matmul_sm80_s3_v36", {{"K", 320}}, 1},
    {"matmul_tma_sm90_s3_v39", {{"K", 320}}, 1},
    {"attention_sm90_s3_v39", {{"N", 256}}, 1},
    {"matmul_tma_ws_sm100_s3_v39", {{"K", 320}}, 1},
    {"softmax_sm80_s3_v39", {{"rows", 512}}, 1},
    {"softmax_sm80_s3_v39_placed", {{"rows", 512}}, 1},
    {"gluon_multicast_cluster2_sm90_s2_v39_placed", {{"tiles", 3}}, 1},
    {"gluon_pair_cluster2_sm100_v39_placed", {{"tiles", 2}}, 1},
    {"gluon_gathered_cluster2_sm90_v39_placed", {{"", 0}}, 0},
    {"gluon_softmax_cluster2_sm90_v39_placed", {{"", 0}}, 0},
};

typedef struct score {
    long mutants, refused, reported, harmless, survive, undecided, false_alarms;
} score;

/* What is done to a line. */
typedef enum change { LEAVE_OUT, FLIP_PHASE, MORE, LESS, ZERO } change;

typedef struct mistake {
    const char *op;     /* a line with this word */
    const char *number; /* the number after this text; NULL: the line as a whole */
    change change;
} mistake;

static const mistake mistakes[] = {
    {"ttng.wait_barrier", NULL, LEAVE_OUT},
    {"ttng.wait_barrier", NULL, FLIP_PHASE},
    {"ttng.arrive_barrier", NULL, LEAVE_OUT},
    {"ttng.barrier_expect", NULL, LEAVE_OUT},
    {"ttng.barrier_expect", ", ", MORE},
    {"ttng.barrier_expect", ", ", LESS},
    {"ttng.init_barrier", NULL, LEAVE_OUT},
    {"ttng.init_barrier", ", ", MORE},
    {"ttng.fence_async_shared", NULL, LEAVE_OUT},
    {"ttng.fence_mbarrier_init", NULL, LEAVE_OUT},
    {"ttng.cluster_barrier", NULL, LEAVE_OUT},
    {"ttng.async_tma_store_wait", NULL, LEAVE_OUT},
    {"ttng.tc_gen5_commit", NULL, LEAVE_OUT},
    {"ttg.async_commit_group", NULL, LEAVE_OUT},
    {"ttg.async_wait", NULL, LEAVE_OUT},
    {"ttg.async_wait", "num = ", MORE},
    {"ttg.async_wait", "num = ", LESS},
    {"ttng.warp_group_dot_wait", "pendings = ", MORE},
    {"ttng.warp_group_dot_wait", "pendings = ", LESS},
    {"allocation.size", "allocation.offset = ", ZERO}, /* scratch over the first buffer */
    {"allocation.size", "allocation.size = ", MORE},
    {"arith.cmpi sge", "%c", MORE}, /* the size of a ring */
    {"arith.cmpi sge", "%c", LESS},
    {"arith.cmpi eq", "%c", MORE},
    {"arith.cmpi eq", "%c", LESS},
};

static void put(test_text *out, const char *bytes, size_t count) {
    assert_int_equal(out->sink.write(out->sink.context, bytes, count), 0);
}

static void put_word(test_text *out, const char *word) {
    put(out, word, strlen(word));
}

/* The line with another number, or with a constant of its own for a value %cN_i32. */
static bool put_number(test_text *out, const char *line, size_t length, const mistake *m) {
    const char *at = strstr(line, m->number);
    char text[64];
    const bool value = m->number[0] == '%';
    if (at == NULL || at >= line + length) return false;
    char *end;
    const char *digits = at + strlen(m->number);
    const long number = strtol(digits, &end, 10);
    const long other = m->change == MORE ? number + 1 : m->change == ZERO ? 0 : number - 1;
    if (end == digits || other == number || other < 0 || (value && (number < 2 || other < 1)))
        return false;
    if (value) {
        snprintf(text, sizeof text, "%%mutant = arith.constant %ld : i32\n", other);
        put_word(out, text);
        while (*end != ' ' && *end != ',') end++; /* the rest of its name */
        put(out, line, (size_t)(at - line));
        put_word(out, "%mutant");
    } else {
        put(out, line, (size_t)(digits - line));
        snprintf(text, sizeof text, "%ld", other);
        put_word(out, text);
    }
    put(out, end, (size_t)(line + length - end));
    return true;
}

/* "wait_barrier %b, %phase" waits for the other phase. */
static bool put_flipped(test_text *out, const char *line, size_t length) {
    const char *comma = strchr(line, ',');
    if (comma == NULL || comma >= line + length) return false;
    const char *end = comma + 2;
    while (*end != ' ' && *end != ',') end++;
    put_word(out, "%mutant_one = arith.constant 1 : i32\n%mutant = arith.xori ");
    put(out, comma + 2, (size_t)(end - comma - 2));
    put_word(out, ", %mutant_one : i32\n");
    put(out, line, (size_t)(comma + 2 - line));
    put_word(out, "%mutant");
    put(out, end, (size_t)(line + length - end));
    return true;
}

/* A line that gives a value stays, as an operation that does nothing. */
static bool put_without(test_text *out, const char *line, size_t length, const mistake *m) {
    const char *op = strstr(line, m->op);
    const char *sign = strstr(line, " = ");
    if (sign == NULL || sign > op) return true;
    put(out, line, (size_t)(op - line));
    put_word(out, "tt.nothing");
    op += strlen(m->op);
    put(out, op, (size_t)(line + length - op));
    return true;
}

/* The text with mistake m in its line from `line` on. */
static bool mutate(test_text *out, const char *text, const char *line, const mistake *m) {
    const size_t length = (size_t)(strchr(line, '\n') - line);
    bool good;
    test_text_clear(out);
    put(out, text, (size_t)(line - text));
    if (m->number != NULL) {
        good = put_number(out, line, length, m);
    } else if (m->change == FLIP_PHASE) {
        good = put_flipped(out, line, length);
    } else {
        good = put_without(out, line, length, m);
    }
    put_word(out, line + length);
    return good;
}

static spad_kernel *read_subject(const char *text, const subject *s) {
    const spad_kernel_options options = {.defines = s->sizes, .define_count = s->size_count};
    spad_kernel *kernel;
    spad_error error;
    spad_kernel_read_ttgir(&kernel, NULL, text, strlen(text), "mutant", &options, NULL, &error);
    return kernel;
}

/* -1: refused */
static int errors_of(const spad_kernel *kernel) {
    const spad_check_options options = {.no_advice = true, .one_shape = true};
    spad_check *check;
    spad_error error;
    if (spad_check_create(&check, kernel, &options, &error) != SPAD_OK) return -1;
    const int errors = (int)spad_check_get_counts(check).errors;
    spad_check_destroy(check);
    return errors;
}

static void judge(const char *text, const subject *s, const mistake *m, int line, long states,
                  score *all) {
    spad_kernel *kernel = read_subject(text, s);
    all->mutants++;
    const int errors = kernel != NULL ? errors_of(kernel) : -1;
    if (errors < 0) {
        all->refused++;
    } else {
        const executor_options options = {.states_max = states};
        const executor_result run = executor_run(kernel, &options);
        if (errors > 0) all->reported++;
        if (errors > 0 && run.decided && run.wrong == 0) {
            all->false_alarms++;
            print_error("false alarm: %s:%d %s\n", s->file, line, m->op);
        }
        if (errors == 0 && run.decided && run.wrong == 0) all->harmless++;
        if (errors == 0 && run.decided && run.wrong != 0) {
            all->survive++;
            print_error("survives: %s:%d %s (%u)\n", s->file, line, m->op, run.wrong);
        }
        if (errors == 0 && !run.decided) {
            all->undecided++;
            print_error("not decided: %s:%d %s\n", s->file, line, m->op);
        }
    }
    spad_kernel_destroy(kernel);
}

static void run_subject(const subject *s, long states, score *all) {
    char path[128];
    test_text mutant;
    snprintf(path, sizeof path, "tests/ttgir/%s.ttgir", s->file);
    char *text = test_read_file(path);
    test_text_init(&mutant);
    spad_kernel *kernel = read_subject(text, s);
    assert_non_null(kernel);
    assert_int_equal(errors_of(kernel), 0);
    spad_kernel_destroy(kernel);
    for (size_t k = 0; k < sizeof mistakes / sizeof *mistakes; k++) {
        int number = 1;
        for (const char *line = text; *line != '\0'; line = strchr(line, '\n') + 1, number++) {
            const char *found = strstr(line, mistakes[k].op);
            const char *end = strchr(line, '\n');
            if (found == NULL || found > end || found[strlen(mistakes[k].op)] == '_') continue;
            if (mutate(&mutant, text, line, &mistakes[k])) {
                judge(mutant.bytes, s, &mistakes[k], number, states, all);
            }
        }
    }
    test_text_free(&mutant);
    free(text);
}

static long states_given = 20000;

static void every_mutant_is_found_or_harmless(void **state) {
    (void)state;
    score all = {0};
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        score one = {0};
        run_subject(&subjects[i], states_given, &one);
        printf("%-28s %4ld mutants, %3ld refused, %3ld reported, %3ld harmless, %3ld survive, %3ld "
               "not decided, %3ld false alarms\n",
               subjects[i].file, one.mutants, one.refused, one.reported, one.harmless, one.survive,
               one.undecided, one.false_alarms);
        all.survive += one.survive;
        all.undecided += one.undecided;
        all.false_alarms += one.false_alarms;
        all.reported += one.reported;
    }
    assert_int_equal(all.survive, 0);
    assert_int_equal(all.undecided, 0);
    assert_int_equal(all.false_alarms, 0);
    assert_true(all.reported > 60);
}

int main(int count, char **words) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_mutant_is_found_or_harmless)};
    if (count > 1) states_given = atol(words[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
