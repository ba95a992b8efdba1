/* SPDX-License-Identifier: Apache-2.0
 *
 * The study of messages. Every kernel of examples/kernels with one mistake at a time: a count of
 * arrivals off by one, a ring one slot short, wrong expected bytes, an arrival left out. Of those
 * that the check calls wrong: does the first error name what was changed?
 *
 *   count, ring, expect   the error or one of its notes stands at the line that was changed, or
 *                         at the declaration of its object
 *   arrive                the line is gone: the error itself stands inside the agent that should
 *                         arrive, and it or a note names the object at which it should
 *
 *   test_check_messages [NAME [all]]
 *
 * Kernels with NAME in their names; `all` prints the first error of every mutant that is not named.
 */
#include "support/kernels.h"
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spad/check.h"
#include "spad/experimental/kernel_rows.h"
#include "support/files.h"
#include "support/mutate.h"

static const char *only = "";
static bool wordy;

typedef struct score {
    long mutants;
    long refused;
    long right; /* no error: the change does no harm, or not at this shape */
    long wrong;
    long at;    /* the error stands there */
    long named; /* the error or a note of it does */
} score;

/* ---- what was changed -------------------------------------------------------------- */

/* The text of a kernel by lines. */
typedef struct page {
    char *text;
    const char *lines[4000];
    size_t count;
} page;

static void split(page *p, const char *text) {
    p->count = 0;
    p->text = strdup(text);
    assert_non_null(p->text);
    for (char *at = p->text; *at != '\0' && p->count < 4000;) {
        p->lines[p->count++] = at;
        at += strcspn(at, "\n");
        if (*at == '\n') *at++ = '\0';
    }
}

/* The word at which a changed line arrives, delivers, ...: copied. */
static void object_of(const char *line, char *name, size_t size) {
    static const char *const words[] = {" delivers ", " arrives ", " signals "};
    const char *at = line + strspn(line, " ");
    const char *after = strchr(at, ' ');
    for (size_t i = 0; i < 3; i++) {
        const char *found = strstr(line, words[i]);
        if (found != NULL) after = found + strlen(words[i]) - 1;
    }
    if (after == NULL) after = at;
    after += strspn(after, " ");
    snprintf(name, size, "%.*s", (int)strcspn(after, " [,"), after);
}

/* The lines [first, last] of the agent around a line, from 1; of the main program: all. */
static void agent_of(const page *p, size_t line, size_t *first, size_t *last) {
    *first = 1;
    *last = p->count;
    for (size_t i = line; i-- > 0;) {
        if (p->lines[i][0] == '}') return;
        if (strncmp(p->lines[i], "agent ", 6) != 0) continue;
        *first = i + 1;
        while (i < p->count && p->lines[i][0] != '}') i++;
        *last = i + 1;
        return;
    }
}

/* The line at which an object is declared, from 1; 0: none. */
static size_t declaration_of(const page *p, const char *name) {
    for (size_t i = 0; i < p->count; i++) {
        char object[64];
        const char *line = p->lines[i];
        if (strncmp(line, "barrier ", 8) != 0 && strncmp(line, "mbarrier ", 9) != 0 &&
            strncmp(line, "counter ", 8) != 0)
            continue;
        object_of(line, object, sizeof object);
        if (strcmp(object, name) == 0) return i + 1;
    }
    return 0;
}

/* ---- is it named? ------------------------------------------------------------------ */

typedef struct search {
    size_t first, last; /* lines */
    size_t declaration;
    const char *object; /* must be in a message; NULL: it need not */
} search;

static bool is_place(const search *s, int32_t line) {
    const size_t at = (size_t)line;
    return line > 0 && ((at >= s->first && at <= s->last) || at == s->declaration);
}

static bool is_named(const search *s, const spad_finding *f) {
    const bool gone = s->object != NULL;
    bool place = is_place(s, f->line);
    bool object = !gone || strstr(f->message, s->object) != NULL;
    for (size_t i = 0; i < f->note_count; i++) {
        place = place || (!gone && is_place(s, f->notes[i].line));
        object = object || strstr(f->notes[i].message, s->object) != NULL;
    }
    return place && object;
}

static search search_of(const page *p, const mutant *m, mutant_kind kind, char *name, size_t size) {
    search s = {.first = m->line, .last = m->line};
    object_of(p->lines[m->line - 1], name, size);
    if (kind == MUTANT_COUNT) s.declaration = declaration_of(p, name);
    if (kind != MUTANT_ARRIVE) return s;
    s.object = name;
    agent_of(p, m->line, &s.first, &s.last);
    if (strstr(m->about, "delete") != NULL && s.last == p->count) s.last--;
    return s;
}

static void print_first(const char *file, const mutant *m, const spad_finding *f) {
    printf("  %s, %s\n    %s line %d: %s\n", file, m->about, spad_finding_name(f->code), f->line,
           f->message);
    for (size_t i = 0; i < f->note_count; i++)
        printf("      line %d: %s\n", f->notes[i].line, f->notes[i].message);
}

static void try_mutant(const char *file, const page *p, const mutant *m, mutant_kind kind,
                       score *s) {
    spad_kernel *kernel;
    spad_check *check;
    spad_error error;
    char name[64];
    s->mutants++;
    if (spad_kernel_parse(&kernel, m->text, strlen(m->text), file, NULL, NULL, &error) != SPAD_OK) {
        s->refused++;
        return;
    }
    const spad_check_options options = {.no_advice = true};
    assert_ok(spad_check_create(&check, kernel, &options, &error), &error);
    if (spad_check_get_counts(check).errors == 0) {
        s->right++;
    } else {
        const search what = search_of(p, m, kind, name, sizeof name);
        const spad_finding *f = spad_check_get_finding(check, 0);
        const bool named = is_named(&what, f);
        s->wrong++;
        s->at += is_place(&what, f->line);
        s->named += named;
        if (!named && wordy) print_first(file, m, f);
    }
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
}

/* ---- the study --------------------------------------------------------------------- */

/* Counts are written at declarations, as the kernels have it: what `init` repeats is left out. */
static void leave_out_counts(char *text) {
    for (char *line = text; *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        const char *word = line + strspn(line, " ");
        char *count = strstr(line, " count ");
        char *next = line + length + (line[length] == '\n');
        if (strncmp(word, "init ", 5) == 0 && count != NULL && count < line + length) {
            memmove(count, line + length, strlen(line + length) + 1);
            next = count + (*count == '\n');
        }
        line = next;
    }
}

static void study(const char *file, score *scores) {
    char path[512];
    snprintf(path, sizeof path, TEST_KERNELS "/%s", file);
    char *source = test_read_file(path);
    spad_kernel *kernel = test_parse_named(source, file, NULL);
    test_text text;
    page p;
    test_text_init(&text);
    assert_int_equal(spad_kernel_write_text(kernel, &text.sink, NULL), SPAD_OK);
    leave_out_counts(text.bytes);
    split(&p, text.bytes);
    for (int kind = 0; kind < MUTANT_KINDS; kind++) {
        mutants list = mutants_of_kind(text.bytes, (mutant_kind)kind);
        for (size_t i = 0; i < list.count; i++)
            try_mutant(file, &p, &list.items[i], (mutant_kind)kind, &scores[kind]);
        mutants_free(&list);
    }
    free(p.text);
    test_text_free(&text);
    spad_kernel_destroy(kernel);
    free(source);
}

static void the_first_error_names_the_cause(void **state) {
    (void)state;
    static const char *const names[MUTANT_KINDS] = {"count", "ring", "expect", "arrive"};
    test_files files;
    score scores[MUTANT_KINDS] = {{0}};
    test_list_kernels(&files, TEST_KERNELS);
    for (size_t i = 0; i < files.count; i++) {
        if (strstr(files.names[i], only) != NULL) study(files.names[i], scores);
    }
    printf("%-8s %8s %8s %8s %8s %12s %12s\n", "mistake", "mutants", "refused", "right", "wrong",
           "error there", "named");
    for (int i = 0; i < MUTANT_KINDS; i++) {
        const score *s = &scores[i];
        const double all = s->wrong > 0 ? (double)s->wrong : 1;
        printf("%-8s %8ld %8ld %8ld %8ld %6ld %4.0f%% %6ld %4.0f%%\n", names[i], s->mutants,
               s->refused, s->right, s->wrong, s->at, 100 * (double)s->at / all, s->named,
               100 * (double)s->named / all);
    }
    for (int i = 0; i < MUTANT_KINDS; i++) {
        assert_true(only[0] != '\0' || scores[i].wrong > 0);
        assert_true(10 * scores[i].named >= 9 * scores[i].wrong);
    }
}

int main(int argc, char **argv) {
    if (argc > 1) only = argv[1];
    wordy = argc > 2;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_error_names_the_cause),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
