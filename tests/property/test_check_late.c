/* SPDX-License-Identifier: Apache-2.0
 *
 * The study of late errors: mistakes that show only at larger shapes.
 *
 * Every kernel of examples/kernels is changed so that it behaves as before in the first iterations
 * and differently in later ones: a statement is skipped or repeated from some iteration on, an
 * index stops growing or jumps. The thresholds reach 30, and may depend on two trip counts at
 * once. The check then runs with the default values of the parameters, where most of these kernels
 * are right. What it claims "for all" values is compared with its own verdict at single larger
 * shapes (which test_check_brute and test_check_mutants compare with brute force).
 *
 *   test_check_late [MUTANTS [SEED [SHAPES [NAME]]]]
 *
 * MUTANTS of each kernel, each compared at SHAPES shapes; kernels with NAME in their names.
 */
#include "support/kernels.h"
#include "support/support.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "support/claims.h"
#include "support/files.h"

enum { LINES = 400, SCOPE = 8, NAME_SIZE = 32, PARAMS = 16, EVENTS = 60000, VALUE_MAX = 45 };

static long mutants_per_kernel = 6;
static long shapes_per_mutant = 12;
static uint64_t first_seed = 1;
static const char *only = "";

/* ---- the kernel as lines --------------------------------------------------------- */

typedef struct param {
    char name[NAME_SIZE];
    int64_t value;
    bool is_trip_count; /* a loop ends at it */
} param;

typedef struct source {
    char *copy;
    char *lines[LINES];
    size_t count;
    param params[PARAMS];
    size_t param_count;
    char scope[LINES][SCOPE][NAME_SIZE]; /* the loop variables around each line */
    size_t depth[LINES];
} source;

static const char *skip_spaces(const char *line) {
    while (*line == ' ') line++;
    return line;
}

static bool is_name_byte(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* Finds a whole word; NULL: it is not there. */
static const char *find_word(const char *text, const char *word) {
    const size_t length = strlen(word);
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
        if ((at == text || !is_name_byte(at[-1])) && !is_name_byte(at[length])) return at;
    }
    return NULL;
}

static void read_line(source *s, char open[SCOPE][NAME_SIZE], size_t *depth, size_t levels[SCOPE],
                      size_t *level) {
    char *line = s->lines[s->count - 1];
    const char *text = skip_spaces(line);
    param *p = &s->params[s->param_count];
    if (s->param_count < PARAMS &&
        sscanf(text, "param %31[A-Za-z0-9_] = %ld", p->name, &p->value) == 2) {
        s->param_count++;
    }
    for (size_t i = 0; strncmp(text, "for ", 4) == 0 && i < s->param_count; i++) {
        if (find_word(strstr(line, ".."), s->params[i].name) != NULL)
            s->params[i].is_trip_count = true;
    }
    if (text[0] == '}') {
        --*level;
        if (*depth > 0 && levels[*depth - 1] > *level) --*depth;
    }
    memcpy(s->scope[s->count - 1], open, SCOPE * NAME_SIZE);
    s->depth[s->count - 1] = *depth;
    const size_t length = strlen(line);
    if (length == 0 || line[length - 1] != '{') return;
    ++*level;
    if (*depth < SCOPE && sscanf(text, "for %31[A-Za-z0-9_] in", open[*depth]) == 1) {
        levels[(*depth)++] = *level;
    }
}

static void read_source(source *s, const char *text) {
    char open[SCOPE][NAME_SIZE] = {0};
    size_t levels[SCOPE] = {0};
    size_t depth = 0, level = 0;
    *s = (source){.copy = strdup(text)};
    assert_non_null(s->copy);
    for (char *line = strtok(s->copy, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        assert_true(s->count < LINES);
        s->lines[s->count++] = line;
        read_line(s, open, &depth, levels, &level);
    }
}

/* ---- late mistakes --------------------------------------------------------------- */

typedef struct maker {
    const source *source;
    spad__random random;
    size_t line;
} maker;

static int64_t pick(maker *m, int64_t count) {
    return spad__random_in(&m->random, 0, count - 1);
}

/* A loop variable around the line, or a trip count. */
static const char *pick_number(maker *m) {
    const source *s = m->source;
    const size_t depth = s->depth[m->line];
    if (pick(m, 3) > 0) return s->scope[m->line][pick(m, (int64_t)depth)];
    const size_t number = (size_t)pick(m, (int64_t)s->param_count);
    return s->params[number].is_trip_count ? s->params[number].name
                                           : s->scope[m->line][pick(m, (int64_t)depth)];
}

/* True in early iterations. */
static void put_early(maker *m, char *out, size_t size) {
    const char *a = pick_number(m), *b = pick_number(m);
    for (int i = 0; i < 4 && strcmp(a, b) == 0; i++) b = pick_number(m);
    const long c = (long)pick(m, 27) + 4, d = (long)pick(m, 27) + 4;
    switch (pick(m, 8)) {
    case 0: snprintf(out, size, "%s < %ld", a, c); break;
    case 1: snprintf(out, size, "%s != %ld", a, c); break;
    case 2: snprintf(out, size, "%s + %s < %ld", a, b, c + d); break;
    case 3: snprintf(out, size, "%s != %ld or %s != %ld", a, c, b, d); break;
    case 4: snprintf(out, size, "%s < %ld or %s < %ld and %s != %ld", a, c, b, d, a, c + 2); break;
    default: snprintf(out, size, "%s < %ld or %s < %ld", a, c, b, d); break;
    }
}

/* An expression that is the variable itself in early iterations. */
static void put_index(maker *m, const char *name, char *out, size_t size) {
    const char *other = pick_number(m);
    const long c = (long)pick(m, 27) + 4, d = (long)pick(m, 27) + 4;
    switch (pick(m, 4)) {
    case 0: snprintf(out, size, "(%s + %s / %ld)", name, name, c); break;
    case 1: snprintf(out, size, "min(%s, %ld)", name, c); break;
    case 2: snprintf(out, size, "(%s + (%s / %ld) * (%s / %ld))", name, name, c, other, d); break;
    default: snprintf(out, size, "min(%s, max(%s - 3, %ld))", name, name, c); break;
    }
}

static bool is_statement(const source *s, size_t line) {
    static const char *const not [] = {"for ",  "if ",   "}",     "tensor ", "agent ", "alloc ",
                                       "free ", "scope", "break", "any ",    "while "};
    const char *text = skip_spaces(s->lines[line]);
    if (s->depth[line] == 0 || strchr(text, '{') != NULL) return false;
    for (size_t i = 0; i < sizeof not / sizeof not [0]; i++) {
        if (strncmp(text, not [i], strlen(not [i])) == 0) return false;
    }
    return true;
}

/* The line with one mistake; false: it has no place for it. */
static bool put_line(maker *m, char *out, size_t size) {
    char early[160];
    char *line = m->source->lines[m->line];
    const int64_t kind = pick(m, 3);
    if (kind < 2) {
        put_early(m, early, sizeof early);
        if (kind == 0) {
            snprintf(out, size, "if %s {\n%s\n}", early, line);
        } else {
            snprintf(out, size, "%s\nif %s {\n} else {\n%s\n}", line, early, line);
        }
        return true;
    }
    const char *name = m->source->scope[m->line][pick(m, (int64_t)m->source->depth[m->line])];
    char *index = strchr(line, '[');
    const char *at = index != NULL ? find_word(index, name) : NULL;
    if (at == NULL) return false;
    put_index(m, name, early, sizeof early);
    snprintf(out, size, "%.*s%s%s", (int)(at - line), line, early, at + strlen(name));
    return true;
}

/* The text of a mutant; NULL after many tries. Freed by the caller. */
static char *make_mutant(const source *s, uint64_t seed) {
    maker m = {.source = s, .random = {seed}};
    char changed[4096];
    for (int tries = 0; tries < 1000; tries++) {
        m.line = (size_t)pick(&m, (int64_t)s->count);
        if (!is_statement(s, m.line) || !put_line(&m, changed, sizeof changed)) continue;
        size_t length = strlen(changed) + 2;
        for (size_t i = 0; i < s->count; i++) length += strlen(s->lines[i]) + 1;
        char *text = malloc(length), *end = text;
        assert_non_null(text);
        for (size_t i = 0; i < s->count; i++) {
            end += sprintf(end, "%s\n", i == m.line ? changed : s->lines[i]);
        }
        return text;
    }
    return NULL;
}

/* ---- comparison ------------------------------------------------------------------ */

typedef struct score {
    long mutants;
    long refused;  /* by the reader, or too large */
    long early;    /* wrong with the default values */
    long late;     /* right there, wrong at a larger shape */
    long reported; /* of these: the check names a wrong shape, given the default values only */
    long limited;  /* of these: it claims the shape alone, or decides nothing */
    long missed;   /* of these: it claims the larger shape */
    long claimed;  /* claims about all values, none of which is wrong */
    long alarms;   /* errors that none of the shapes shows */
    long shapes;
} score;

/* The claim about other values in the reason of a verdict; NULL: there is none. */
static const char *claim_in(const answer *a) {
    static const char words[] = "for all ";
    if (a->verdict != SPAD_VERDICT_PROVED_ALL) return NULL;
    const char *claim = strstr(a->reason, words);
    /* "for all 9 ways that unknown values can be; for all N" */
    while (claim != NULL && isdigit((unsigned char)claim[strlen(words)]))
        claim = strstr(claim + 1, words);
    return claim;
}

/* Are these values in the claim "for all A, B >= L and all C"? */
static bool is_claimed(const source *s, const char *claim, const spad_define *values) {
    char list[256];
    if (claim == NULL) return false;
    snprintf(list, sizeof list, "%s", claim);
    list[strcspn(list, ";(")] = '\0';
    for (size_t i = 0; i < s->param_count; i++) {
        const char *named = find_word(list, s->params[i].name);
        long long least = 0;
        if (named == NULL && values[i].value != s->params[i].value) return false;
        const char *from = named != NULL ? strstr(named, " >= ") : NULL;
        if (from != NULL && sscanf(from, " >= %lld", &least) == 1 && values[i].value < least) {
            return false;
        }
    }
    return true;
}

/* Larger values of the trip counts; the others stay as they are. Where there is a claim, most
 * shapes stay inside it. */
static void pick_values(const source *s, const char *claim, spad__random *random,
                        spad_define *values) {
    const bool inside = claim != NULL && spad__random_below(random, 4) > 0;
    for (size_t i = 0; i < s->param_count; i++) {
        const param *p = &s->params[i];
        const bool fixed = inside ? find_word(claim, p->name) == NULL : !p->is_trip_count;
        values[i] = (spad_define){p->name, p->value};
        if (fixed || spad__random_below(random, 8) == 0) continue;
        values[i].value = spad__random_in(random, 1, VALUE_MAX);
    }
}

static answer ask(const char *text, const spad_define *values, size_t count, bool one_shape) {
    const spad_kernel_options options = {.defines = values, .define_count = count};
    const spad_check_options how = {
        .one_shape = one_shape, .no_advice = true, .event_limit = one_shape ? EVENTS : 0};
    spad_error error;
    spad_kernel *kernel;
    spad_check *check;
    answer a = {.possible = false};
    if (spad_kernel_parse(&kernel, text, strlen(text), "k", &options, NULL, &error) != SPAD_OK) {
        return a;
    }
    assert_ok(spad_check_create(&check, kernel, &how, &error), &error);
    a.possible = true;
    a.verdict = spad_check_get_verdict(check);
    snprintf(a.reason, sizeof a.reason, "%s", spad_check_get_reason(check));
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
    return a;
}

static void add_late(score *sum, const char *file, const char *text, const answer *all,
                     bool claimed) {
    sum->late++;
    if (claimed) {
        sum->missed++;
        printf("missed: %s, %s:\n%s\n", file, all->reason, text);
    } else if (all->verdict == SPAD_VERDICT_WRONG || strstr(all->reason, "not with ") != NULL) {
        sum->reported++;
    } else {
        sum->limited++;
    }
}

static void compare(const source *s, const char *file, const char *text, uint64_t seed,
                    score *sum) {
    spad__random random = {seed ^ 0x5bd1e995};
    spad_define values[PARAMS];
    bool late = false, claimed_wrong = false;
    sum->mutants++;
    const answer here = ask(text, NULL, 0, true);
    if (!here.possible || here.verdict == SPAD_VERDICT_UNKNOWN) {
        sum->refused++;
        return;
    }
    if (here.verdict == SPAD_VERDICT_WRONG) {
        sum->early++;
        return;
    }
    const answer all = ask(text, NULL, 0, false);
    const char *claim = claim_in(&all);
    for (long i = 0; i < shapes_per_mutant; i++) {
        pick_values(s, claim, &random, values);
        const answer one = ask(text, values, s->param_count, true);
        sum->shapes += one.possible;
        if (!one.possible || one.verdict != SPAD_VERDICT_WRONG) continue;
        late = true;
        claimed_wrong |= is_claimed(s, claim, values);
    }
    if (late) {
        add_late(sum, file, text, &all, claimed_wrong);
    } else if (all.verdict == SPAD_VERDICT_WRONG) {
        sum->alarms++;
        printf("error that no shape shows? %s, %s:\n%s\n", file, all.reason, text);
    } else {
        sum->claimed += all.verdict == SPAD_VERDICT_PROVED_ALL;
    }
}

static void print_score(const char *name, const score *s) {
    printf("%-30s %5ld mutants: %4ld refused, %4ld wrong at once, %4ld late (%ld reported, %ld not "
           "claimed, %ld missed), %4ld right and claimed, %ld unconfirmed; %ld shapes\n",
           name, s->mutants, s->refused, s->early, s->late, s->reported, s->limited, s->missed,
           s->claimed, s->alarms, s->shapes);
}

static void study(const char *file, score *sum) {
    char path[512];
    test_text text;
    score one = {0};
    source s;
    snprintf(path, sizeof path, TEST_KERNELS "/%s", file);
    char *bytes = test_read_file(path);
    spad_kernel *kernel = test_parse_named(bytes, file, NULL);
    free(bytes);
    test_text_init(&text);
    assert_int_equal(spad_kernel_write_text(kernel, &text.sink, NULL), SPAD_OK);
    spad_kernel_destroy(kernel);
    read_source(&s, text.bytes);
    for (long i = 0; i < mutants_per_kernel; i++) {
        const uint64_t seed = spad__hash_finish(first_seed * 1000003 + (uint64_t)i);
        char *mutant = make_mutant(&s, seed);
        if (mutant == NULL) break;
        compare(&s, file, mutant, seed, &one);
        free(mutant);
    }
    print_score(file, &one);
    for (size_t i = 0; i < sizeof one / sizeof(long); i++) ((long *)sum)[i] += ((long *)&one)[i];
    free(s.copy);
    test_text_free(&text);
}

static void no_late_error_is_claimed_right(void **state) {
    (void)state;
    test_files files;
    score sum = {0};
    test_list_kernels(&files, TEST_KERNELS);
    for (size_t i = 0; i < files.count; i++) {
        if (strstr(files.names[i], only) != NULL) study(files.names[i], &sum);
    }
    print_score("all", &sum);
    assert_true(only[0] != '\0' || (sum.late > 0 && sum.claimed > 0));
    assert_int_equal(sum.missed, 0);
}

int main(int argc, char **argv) {
    if (argc > 1) mutants_per_kernel = atol(argv[1]);
    if (argc > 2) first_seed = (uint64_t)atoll(argv[2]);
    if (argc > 3) shapes_per_mutant = atol(argv[3]);
    if (argc > 4) only = argv[4];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_late_error_is_claimed_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
