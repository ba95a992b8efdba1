/* SPDX-License-Identifier: Apache-2.0
 *
 * Edits of recorded TTGIR as a faulty pass would make them: statements exchanged, moved and
 * doubled, another barrier, another slot of a ring, another first stage or phase, values of a loop
 * exchanged, a comparison that is off by one, other places, an operation that is left out by its
 * predicate.
 *
 * Each is compared with the executor, which visits all executions: what the check reports is wrong,
 * what it proves is right, and what it proves for all trip counts is right for other sizes too.
 *
 *   test_ttgir_edits [EVERY [STATES [SUBJECT]]]    every N-th edit; states of the executor
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "spad/spad.h"
#include "support/executor.h"
#include "support/files.h"
#include "support/support.h"

typedef struct subject {
    const char *file;
    const char *size; /* its name */
    int64_t given;
    int64_t others[4]; /* below 0: none */
    bool warps;        /* it has barriers between warps, which the executor does not know */
} subject;

static const subject subjects[] = {
    {"matmul_sm80_s3_v36", "K", 320, {0, 64, 128, 448}, false},
    {"matmul_tma_sm90_s3_v39", "K", 320, {0, 64, 128, 448}, false},
    {"attention_sm90_s3_v39", "N", 256, {0, 64, 128, 320}, false},
    {"matmul_tma_ws_sm100_s3_v39", "K", 256, {0, 64, 128, 320}, false},
    {"softmax_sm80_s3_v39", "rows", 512, {128, 256, 384, 640}, false},
    {"softmax_sm80_s3_v39_placed", "rows", 512, {128, 256, 384, 640}, true},
    {"matmul_tma_sm100_s2_v39", "K", 320, {0, 64, 128, 192}, false},
    {"persistent_sm90_s3_v39", "K", 192, {-1, -1, -1, -1}, false},
};

/* ---- edits --------------------------------------------------------------------------------- */

typedef struct text_line {
    const char *from;
    size_t length; /* with its end */
} text_line;

typedef struct editor {
    const char *text;
    text_line *lines;
    size_t count;
    test_text out;
    char what[80];
} editor;

static void put(editor *e, const char *bytes, size_t count) {
    if (count > 0) assert_int_equal(e->out.sink.write(e->out.sink.context, bytes, count), 0);
}

static void put_words(editor *e, const char *words) {
    put(e, words, strlen(words));
}

static void put_lines(editor *e, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) put(e, e->lines[i].from, e->lines[i].length);
}

/* The place of a word in a line; NULL: it is not there. */
static const char *find(const editor *e, size_t line, const char *word) {
    const char *at = strstr(e->lines[line].from, word);
    return at != NULL && at < e->lines[line].from + e->lines[line].length ? at : NULL;
}

static const char *end_of(const editor *e, size_t line) {
    return e->lines[line].from + e->lines[line].length;
}

/* A statement that touches memory or synchronises, in one line. */
static bool is_act(const editor *e, size_t line) {
    if (find(e, line, " {\n") != NULL || find(e, line, "^bb") != NULL) return false;
    return find(e, line, " ttg.") != NULL || find(e, line, " ttng.") != NULL;
}

/* May a statement be moved over this line? */
static bool is_plain(const editor *e, size_t line) {
    const char *last = end_of(e, line);
    if (find(e, line, " {\n") != NULL || find(e, line, "^bb") != NULL) return false;
    if (find(e, line, "scf.") != NULL || find(e, line, "tt.return") != NULL) return false;
    if (find(e, line, "ttg.warp_") != NULL || last == e->lines[line].from) return false;
    for (const char *at = e->lines[line].from; at < last; at++) {
        if (*at != ' ') return *at != '}';
    }
    return false;
}

static bool move_down(editor *e, size_t line, size_t by) {
    if (!is_act(e, line) || line + by >= e->count) return false;
    for (size_t i = 1; i <= by; i++) {
        if (!is_plain(e, line + i)) return false;
    }
    put_lines(e, 0, line);
    put_lines(e, line + 1, line + by + 1);
    put_lines(e, line, line + 1);
    put_lines(e, line + by + 1, e->count);
    snprintf(e->what, sizeof e->what, "moved down by %zu", by);
    return true;
}

static bool do_twice(editor *e, size_t line) {
    const char *name = find(e, line, " = ");
    const char *op = find(e, line, " ttg.");
    if (!is_act(e, line) || find(e, line, "alloc") != NULL || find(e, line, "memdesc_") != NULL)
        return false;
    if (op == NULL) op = find(e, line, " ttng.");
    put_lines(e, 0, line + 1);
    if (name != NULL && name < op) put_words(e, "%again = ");
    put(e, op, (size_t)(end_of(e, line) - op));
    put_lines(e, line + 1, e->count);
    snprintf(e->what, sizeof e->what, "done twice");
    return true;
}

/* Puts `text` in the place of [from, to), with a line before that defines something for it. */
static bool replace(editor *e, size_t line, const char *from, const char *to, const char *before,
                    const char *text) {
    put_lines(e, 0, line);
    put_words(e, before);
    put(e, e->lines[line].from, (size_t)(from - e->lines[line].from));
    put_words(e, text);
    put(e, to, (size_t)(end_of(e, line) - to));
    put_lines(e, line + 1, e->count);
    return true;
}

static const char *name_end(const char *name) {
    while (*name == '%' || isalnum((unsigned char)*name) || *name == '_' || *name == '-' ||
           *name == '#') {
        name++;
    }
    return name;
}

/* A wait or arrival at the barrier of the next one. */
static bool other_barrier(editor *e, size_t line) {
    static const char *const words[] = {"ttng.wait_barrier ", "ttng.arrive_barrier ",
                                        "ttng.tc_gen5_commit "};
    char other[64];
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
        const char *at = find(e, line, words[w]);
        if (at == NULL) continue;
        at += strlen(words[w]);
        for (size_t i = line + 1; i < e->count; i++) {
            const char *next = find(e, i, words[w]);
            if (next == NULL) continue;
            next += strlen(words[w]);
            snprintf(other, sizeof other, "%.*s", (int)(name_end(next) - next), next);
            snprintf(e->what, sizeof e->what, "at the barrier of line %zu", i + 1);
            return replace(e, line, at, name_end(at), "", other);
        }
    }
    return false;
}

static bool other_slot(editor *e, size_t line, int slot) {
    char before[64];
    const char *op = find(e, line, "ttg.memdesc_index ");
    const char *at = op != NULL ? strchr(op, '[') : NULL;
    if (at == NULL) return false;
    snprintf(before, sizeof before, "%%mutant = arith.constant %d : i32\n", slot);
    snprintf(e->what, sizeof e->what, "slot %d", slot);
    return replace(e, line, at + 1, strchr(at, ']'), before, "%mutant");
}

/* What a loop carries begins with one more, if it begins with a constant. */
static bool other_start(editor *e, size_t line, int which) {
    char before[64];
    if (find(e, line, "scf.for") == NULL) return false;
    const char *at = find(e, line, "iter_args(");
    for (; at != NULL && at < end_of(e, line); at++) {
        char *end;
        if (memcmp(at, " = %c", 5) != 0) continue;
        const long value = strtol(at + 5, &end, 10);
        if (end == at + 5 || memcmp(end, "_i32", 4) != 0 || which-- > 0) continue;
        snprintf(before, sizeof before, "%%mutant = arith.constant %ld : i32\n", value + 1);
        snprintf(e->what, sizeof e->what, "begins with %ld", value + 1);
        return replace(e, line, at + 3, name_end(at + 3), before, "%mutant");
    }
    return false;
}

/* Two of the words in a list after `word` are exchanged. */
static bool exchange(editor *e, size_t line, const char *word, int which) {
    char text[200];
    const char *at = find(e, line, word);
    if (at == NULL) return false;
    for (at += strlen(word); which > 0; which--) {
        at = name_end(at);
        if (memcmp(at, ", ", 2) != 0) return false;
        at += 2;
    }
    const char *first_end = name_end(at);
    if (memcmp(first_end, ", ", 2) != 0) return false;
    const char *second_end = name_end(first_end + 2);
    if (second_end == first_end + 2 || second_end - at > 190) return false;
    snprintf(text, sizeof text, "%.*s, %.*s", (int)(second_end - first_end - 2), first_end + 2,
             (int)(first_end - at), at);
    snprintf(e->what, sizeof e->what, "exchanged");
    return replace(e, line, at, second_end, "", text);
}

static bool other_relation(editor *e, size_t line) {
    static const char *const pairs[][2] = {
        {"cmpi sge,", "cmpi sgt,"}, {"cmpi slt,", "cmpi sle,"}, {"cmpi eq,", "cmpi ne,"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const char *at = find(e, line, pairs[i][0]);
        if (at == NULL) continue;
        snprintf(e->what, sizeof e->what, "%s", pairs[i][1]);
        return replace(e, line, at, at + strlen(pairs[i][0]), "", pairs[i][1]);
    }
    return false;
}

/* A buffer 1 KiB earlier, or at the begin. */
static bool other_place(editor *e, size_t line, bool zero) {
    static const char word[] = "allocation.offset = ";
    char text[64];
    char *end;
    const char *at = find(e, line, word);
    if (at == NULL) return false;
    const long offset = strtol(at + strlen(word), &end, 10);
    if (offset < (zero ? 2048 : 1024)) return false;
    snprintf(text, sizeof text, "%s%ld", word, zero ? 0 : offset - 1024);
    snprintf(e->what, sizeof e->what, "%s", text);
    return replace(e, line, at, end, "", text);
}

static bool never(editor *e, size_t line) {
    const char *at = find(e, line, ", %true");
    if (at == NULL || !is_act(e, line)) return false;
    snprintf(e->what, sizeof e->what, "never");
    return replace(e, line, at + 2, name_end(at + 2), "%mutant = arith.constant false\n",
                   "%mutant");
}

enum { EDITS = 25 };

/* Edit `kind` of a line; false: it has none. */
static bool edit(editor *e, size_t line, int kind) {
    test_text_clear(&e->out);
    switch (kind) {
    case 0: return move_down(e, line, 1);
    case 1: return move_down(e, line, 2);
    case 2: return move_down(e, line, 4);
    case 3: return do_twice(e, line);
    case 4: return other_barrier(e, line);
    case 5: return other_slot(e, line, 0);
    case 6: return other_slot(e, line, 1);
    case 7: return exchange(e, line, "arith.select %", 1);
    case 8: return other_relation(e, line);
    case 9: return other_place(e, line, true);
    case 10: return other_place(e, line, false);
    case 11: return never(e, line);
    case 12: return exchange(e, line, "ttng.wait_barrier ", 0);
    default:
        return kind < 19 ? other_start(e, line, kind - 13)
                         : exchange(e, line, "scf.yield ", kind - 19);
    }
}

/* ---- judgement ------------------------------------------------------------------------------ */

typedef struct score {
    long edits, refused, reported, proved, all, unknown, survive, false_claims, undecided, alarms;
} score;

static spad_kernel *read_edit(const char *text, const subject *s, int64_t size) {
    const spad_define define = {s->size, size};
    const spad_kernel_options options = {.defines = &define, .define_count = 1};
    spad_kernel *kernel;
    spad_error error;
    spad_kernel_read_ttgir(&kernel, NULL, text, strlen(text), "edit", &options, NULL, &error);
    return kernel;
}

/* 1: an execution is wrong, 0: none is, -1: not decided. */
static int run_all(const spad_kernel *kernel, long states) {
    const executor_options options = {.states_max = states};
    const executor_result run = executor_run(kernel, &options);
    if (run.wrong != 0) return 1;
    return run.decided && !run.unmodelled ? 0 : -1;
}

static void check_claim(const editor *e, const subject *s, size_t line, long states, score *all) {
    for (size_t i = 0; i < 4; i++) {
        spad_kernel *kernel = s->others[i] >= 0 ? read_edit(e->out.bytes, s, s->others[i]) : NULL;
        if (kernel != NULL && run_all(kernel, states) == 1) {
            all->false_claims++;
            print_error("false claim: %s:%zu %s, %s = %lld\n", s->file, line + 1, e->what, s->size,
                        (long long)s->others[i]);
        }
        spad_kernel_destroy(kernel);
    }
}

static void judge(const editor *e, const subject *s, size_t line, long states, score *all) {
    const spad_check_options options = {.no_advice = true};
    spad_kernel *kernel = read_edit(e->out.bytes, s, s->given);
    spad_check *check = NULL;
    spad_error error;
    all->edits++;
    if (kernel == NULL || spad_check_create(&check, kernel, &options, &error) != SPAD_OK) {
        all->refused++;
        spad_kernel_destroy(kernel);
        return;
    }
    const spad_verdict verdict = spad_check_get_verdict(check);
    const int wrong = run_all(kernel, states);
    if (wrong < 0) all->undecided++;
    if (verdict == SPAD_VERDICT_WRONG) {
        all->reported++;
        if (wrong == 0 && !s->warps) all->alarms++;
        if (wrong == 0 && !s->warps)
            print_error("false alarm: %s:%zu %s\n", s->file, line + 1, e->what);
    } else if (verdict == SPAD_VERDICT_UNKNOWN) {
        all->unknown++;
    } else {
        all->proved++;
        if (wrong == 1) all->survive++;
        if (wrong == 1) print_error("survives: %s:%zu %s\n", s->file, line + 1, e->what);
        if (verdict == SPAD_VERDICT_PROVED_ALL) {
            all->all++;
            check_claim(e, s, line, states, all);
        }
    }
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
}

static long every = 0, states_given = 4000;
static const char *only;

static void edit_subject(const subject *s, long *number, score *all) {
    char path[128];
    editor e = {0};
    snprintf(path, sizeof path, "tests/ttgir/%s.ttgir", s->file);
    char *text = test_read_file(path);
    e.text = text;
    test_text_init(&e.out);
    for (const char *at = text; *at != '\0'; at = strchr(at, '\n') + 1) e.count++;
    e.lines = malloc(e.count * sizeof *e.lines);
    assert_non_null(e.lines);
    size_t i = 0;
    for (const char *at = text; *at != '\0'; i++) {
        const char *end = strchr(at, '\n') + 1;
        e.lines[i] = (text_line){at, (size_t)(end - at)};
        at = end;
    }
    for (int kind = 0; kind < EDITS; kind++) {
        for (size_t line = 0; line < e.count; line++) {
            if (edit(&e, line, kind) && (*number)++ % every == 0) {
                judge(&e, s, line, states_given, all);
            }
        }
    }
    free(e.lines);
    test_text_free(&e.out);
    free(text);
}

static void edits_are_judged_as_the_executor_does(void **state) {
    (void)state;
    score all = {0};
    long number = 0;
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        score one = {0};
        if (only != NULL && strcmp(only, subjects[i].file) != 0) continue;
        edit_subject(&subjects[i], &number, &one);
        printf("%-28s %4ld edits, %3ld refused, %3ld reported, %3ld proved (%3ld for all trip "
               "counts), %2ld unknown, %3ld not decided by the executor; %ld survive, %ld false "
               "claims, %ld false alarms\n",
               subjects[i].file, one.edits, one.refused, one.reported, one.proved, one.all,
               one.unknown, one.undecided, one.survive, one.false_claims, one.alarms);
        fflush(stdout);
        all.survive += one.survive;
        all.false_claims += one.false_claims;
        all.alarms += one.alarms;
        all.reported += one.reported;
        all.proved += one.proved;
    }
    assert_int_equal(all.survive, 0);
    assert_int_equal(all.false_claims, 0);
    assert_int_equal(all.alarms, 0);
    assert_true(all.reported > 0 && all.proved > 0);
}

int main(int count, char **words) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(edits_are_judged_as_the_executor_does)};
    every = count > 1 ? atol(words[1]) : test_effort(12) > 2 ? 1 : 23;
    if (count > 2) states_given = atol(words[2]);
    if (count > 3) only = words[3];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
