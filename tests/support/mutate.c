/* SPDX-License-Identifier: Apache-2.0
 *
 * Mutants of a kernel, by lines. What the reader refuses is for the caller to drop.
 */
#include "support/mutate.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"

enum { LINES_MAX = 2000, LINE_MAX = 1024 };

typedef struct source {
    char *copy;
    char *lines[LINES_MAX];
    size_t count;
    size_t found; /* mutants so far */
    size_t only;  /* the one that is wanted; ALL, or NONE: they are counted */
    mutants out;
} source;

#define ALL ((size_t)-1)
#define NONE ((size_t)-2)

/* ---- composing --------------------------------------------------------------------- */

/* The text with lines in another order (NULL: as they are), and one of them replaced. */
static void put_mutant(source *s, const char *what, size_t line, const size_t *order,
                       const char *replacement) {
    const size_t number = s->found++;
    if (s->only != ALL && s->only != number) return;
    size_t length = 1;
    for (size_t i = 0; i < s->count; i++) length += strlen(s->lines[i]) + 1;
    if (replacement != NULL) length += strlen(replacement) + 1;
    mutant m = {.text = malloc(length), .line = line + 1};
    assert_non_null(m.text);
    char *at = m.text;
    for (size_t i = 0; i < s->count; i++) {
        const size_t here = order != NULL ? order[i] : i;
        const bool replaced = here == line && order == NULL;
        const char *text = replaced ? replacement : s->lines[here];
        if (text != NULL) at += sprintf(at, "%s\n", text);
    }
    *at = '\0';
    const char *shown = replacement != NULL ? replacement : s->lines[line];
    while (*shown == ' ') shown++;
    snprintf(m.about, sizeof m.about, "line %zu, %s: %.180s", line + 1, what, shown);
    mutants *list = &s->out;
    if (list->count == list->reserve) {
        list->reserve = list->reserve == 0 ? 64 : list->reserve * 2;
        list->items = realloc(list->items, list->reserve * sizeof list->items[0]);
        assert_non_null(list->items);
    }
    list->items[list->count++] = m;
}

static const char *skip_spaces(const char *line) {
    while (*line == ' ') line++;
    return line;
}

static bool starts(const char *line, const char *word) {
    const size_t length = strlen(word);
    line = skip_spaces(line);
    return strncmp(line, word, length) == 0 && (line[length] == ' ' || line[length] == '\0');
}

static bool is_sync(const char *line) {
    static const char *const words[] = {"sync",  "arrive", "signal", "wait",  "take",
                                        "init",  "expect", "commit", "drain", "invalidate",
                                        "fence", "alloc",  "free"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (!starts(line, words[i])) continue;
        /* engines may be called like statements: `sync name` has a clause then */
        return strstr(line, " writes ") == NULL;
    }
    return false;
}

static bool opens(const char *line) {
    const size_t length = strlen(line);
    return length > 0 && line[length - 1] == '{';
}

static bool closes(const char *line) {
    return skip_spaces(line)[0] == '}';
}

/* ---- order ------------------------------------------------------------------------- */

/* Moves a line after `to`, or in front of it if that is before. */
static void put_moved(source *s, const char *what, size_t line, size_t to) {
    size_t order[LINES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++) {
        if (i == line) continue;
        if (i == to && to < line) order[count++] = line;
        order[count++] = i;
        if (i == to && to > line) order[count++] = line;
    }
    put_mutant(s, what, line, order, NULL);
}

/* The last line of the statement that begins at a line. */
static size_t end_of(const source *s, size_t line) {
    if (!opens(s->lines[line])) return line;
    int depth = 0;
    for (size_t i = line; i < s->count; i++) {
        if (closes(s->lines[i])) depth--;
        if (opens(s->lines[i])) depth++;
        if (depth == 0) return i;
    }
    return line;
}

static size_t begin_of(const source *s, size_t line) {
    if (!closes(s->lines[line])) return line;
    int depth = 0;
    for (size_t i = line;; i--) {
        if (closes(s->lines[i])) depth++;
        if (opens(s->lines[i])) depth--;
        if (depth == 0 || i == 0) return i;
    }
}

static bool is_agent(const char *line) {
    return starts(line, "agent");
}

static void move(source *s, size_t line) {
    if (line + 1 < s->count && !closes(s->lines[line + 1]) && !is_agent(s->lines[line + 1])) {
        put_moved(s, "move down", line, end_of(s, line + 1));
    }
    if (line == 0 || opens(s->lines[line - 1])) return;
    const size_t before = begin_of(s, line - 1);
    if (!is_agent(s->lines[before])) put_moved(s, "move up", line, before);
}

/* ---- clauses ----------------------------------------------------------------------- */

/* Where a clause begins (at the space in front of it), and where the text after its word
 * ends: at the next clause. NULL: there is none. */
static const char *find_clause(const char *line, const char *word, const char **end) {
    static const char *const all[] = {
        " by ",   " count ",   " expect ",    " on ",    " >= ",     " parity ",  " pending ",
        " reads", " relaxed",  " drop",       " in ",    " writes ", " updates ", " delivers ",
        " cost ", " arrives ", " signals ",   " after ", " ring ",   " at ",      " base ",
        " lane ", " bank ",    " step ",      " free ",  " par ",    " banks ",   " align ",
        " input", " output",   " persistent", " alias ", " mod ",    " auto",     " = "};
    const char *begin = strstr(line, word);
    if (begin == NULL) return NULL;
    *end = begin + strlen(begin);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        const char *next = strstr(begin + strlen(word) - 1, all[i]);
        if (next != NULL && next < *end) *end = next;
    }
    return begin;
}

/* Replaces the text after the word of a clause; @ in the format is replaced by it. */
static void edit(source *s, const char *what, size_t line, const char *word, const char *format) {
    const char *end;
    const char *text = s->lines[line];
    const char *begin = find_clause(text, word, &end);
    if (begin == NULL || strlen(text) > LINE_MAX / 2) return;
    char out[LINE_MAX];
    const char *value = begin + strlen(word);
    int at = snprintf(out, sizeof out, "%.*s", (int)(value - text), text);
    for (const char *f = format; *f != '\0'; f++) {
        if (*f == '@') {
            at += snprintf(out + at, sizeof out - (size_t)at, "%.*s", (int)(end - value), value);
        } else {
            out[at++] = *f;
        }
    }
    snprintf(out + at, sizeof out - (size_t)at, "%s", end);
    put_mutant(s, what, line, NULL, out);
}

/* Drops a clause with all its options. */
static void drop(source *s, const char *what, size_t line, const char *word) {
    const char *end;
    const char *text = s->lines[line];
    const char *begin = find_clause(text, word, &end);
    if (begin == NULL || strlen(text) > LINE_MAX / 2) return;
    if (strncmp(end, " by ", 4) == 0) find_clause(end, " by ", &end);
    if (strncmp(end, " after reads", 12) == 0) end += 12;
    char out[LINE_MAX];
    snprintf(out, sizeof out, "%.*s%s", (int)(begin - text), text, end);
    put_mutant(s, what, line, NULL, out);
}

static void append(source *s, const char *what, size_t line, const char *more) {
    char out[LINE_MAX];
    if (strlen(s->lines[line]) > LINE_MAX / 2) return;
    snprintf(out, sizeof out, "%s%s", s->lines[line], more);
    put_mutant(s, what, line, NULL, out);
}

static void replace_word(source *s, const char *what, size_t line, const char *from,
                         const char *to) {
    const char *text = s->lines[line];
    const char *begin = strstr(text, from);
    if (begin == NULL || strlen(text) > LINE_MAX / 2) return;
    char out[LINE_MAX];
    snprintf(out, sizeof out, "%.*s%s%s", (int)(begin - text), text, to, begin + strlen(from));
    put_mutant(s, what, line, NULL, out);
}

/* ---- what can be wrong ------------------------------------------------------------- */

static void weaken_sync(source *s, size_t line) {
    const char *text = s->lines[line];
    edit(s, "one less", line, " >= ", "@ - 1");
    edit(s, "other parity", line, " parity ", "(@ + 1) % 2");
    edit(s, "one more pending", line, " pending ", "@ + 1");
    if (strstr(text, " pending ") != NULL && strstr(text, " reads") == NULL) {
        append(s, "wait for reads only", line, " reads");
    }
    if (starts(text, "signal")) edit(s, "one more", line, " by ", "@ + 1");
    if (starts(text, "take")) edit(s, "one less", line, " by ", "@ - 1");
    if (starts(text, "init")) {
        edit(s, "one less", line, " count ", "@ - 1");
        edit(s, "one more", line, " count ", "@ + 1");
    }
    drop(s, "not on the unit", line, " on ");
    drop(s, "expect nothing", line, " expect ");
    edit(s, "expect less", line, " expect ", "@ / 2");
    if (starts(text, "sync")) replace_word(s, "do not wait", line, "sync ", "arrive ");
}

static void weaken_operation(source *s, size_t line) {
    static const char *const completions[] = {" delivers ", " arrives ", " signals "};
    drop(s, "in no group", line, " in ");
    for (size_t i = 0; i < 3; i++) {
        const char *end;
        drop(s, "says nothing when done", line, completions[i]);
        if (find_clause(s->lines[line], completions[i], &end) != NULL &&
            strstr(s->lines[line], " after reads") == NULL) {
            append(s, "too early", line, " after reads");
        }
    }
}

static void weaken_declaration(source *s, size_t line) {
    const char *text = s->lines[line];
    if (starts(text, "unit")) {
        replace_word(s, "weaker order", line, " serial", " fifo");
        replace_word(s, "no order", line, " serial", " free");
        replace_word(s, "no order", line, " fifo", " free");
        replace_word(s, "no order", line, " same", " free");
    }
    if (starts(text, "barrier")) edit(s, "one less", line, " count ", "@ - 1");
    if (starts(text, "counter")) {
        if (strstr(text, " = ") != NULL) {
            edit(s, "one more", line, " = ", "@ + 1");
        } else {
            append(s, "one more", line, " = 1");
        }
    }
}

/* ring R, ring [R, S] and the counts of mod: one less each. */
static void shrink(source *s, size_t line, const char *word) {
    const char *end;
    const char *text = s->lines[line];
    const char *begin = find_clause(text, word, &end);
    if (begin == NULL) return;
    const char *value = begin + strlen(word);
    if (*value != '[') {
        edit(s, "shrink", line, word, "@ - 1");
        return;
    }
    for (const char *item = value + 1; item < end; item++) {
        const char *stop = item;
        while (*stop != ',' && *stop != ']') stop++;
        char out[LINE_MAX];
        snprintf(out, sizeof out, "%.*s%.*s - 1%s", (int)(item - text), text, (int)(stop - item),
                 item, stop);
        put_mutant(s, "shrink", line, NULL, out);
        item = stop;
    }
}

/* The space of a tensor's line: what stands after the colon. */
static bool same_space(const char *a, const char *b) {
    a = strstr(a, " : ");
    b = strstr(b, " : ");
    if (a == NULL || b == NULL) return false;
    const size_t length = strcspn(a + 3, " ");
    return length == strcspn(b + 3, " ") && strncmp(a + 3, b + 3, length) == 0;
}

static const char *first_of(const char *line, const char *a, const char *b, const char **end) {
    const char *found = find_clause(line, a, end);
    return found != NULL ? found : find_clause(line, b, end);
}

/* A directly placed tensor onto the next one of its space. */
static void move_place(source *s, size_t line) {
    const char *end;
    const char *text = s->lines[line];
    if (first_of(text, " base ", " at ", &end) == NULL) return;
    for (size_t k = 1; k < s->count; k++) {
        const size_t other = (line + k) % s->count;
        const char *there = s->lines[other];
        if (!starts(there, "tensor") || !same_space(text, there)) continue;
        const char *base = first_of(there, " base ", " at ", &end);
        if (base == NULL) continue;
        const char *value = strchr(base + 1, ' ') + 1;
        char format[LINE_MAX];
        snprintf(format, sizeof format, "%.*s", (int)(end - value), value);
        edit(s, "onto its neighbour", line, strstr(text, " base ") != NULL ? " base " : " at ",
             format);
        return;
    }
}

/* A tensor that the planner places: in the bytes of the one before it in its space. */
static void share_place(source *s, size_t line) {
    static const char *const placed[] = {" at ",    " mod",   " stack",  " heap",
                                         " alias ", " input", " output", " persistent"};
    const char *text = s->lines[line];
    for (size_t i = 0; i < sizeof placed / sizeof placed[0]; i++) {
        if (strstr(text, placed[i]) != NULL) return;
    }
    for (size_t other = line; other-- > 0;) {
        const char *there = s->lines[other];
        if (!starts(there, "tensor") || !same_space(text, there)) continue;
        if (strstr(there, " stack") != NULL || strstr(there, " heap") != NULL) continue;
        const char *name = skip_spaces(there) + strlen("tensor ");
        const char *shape = strrchr(text, ')');
        if (shape == NULL) return;
        char out[LINE_MAX];
        snprintf(out, sizeof out, "%.*s alias of %.*s", (int)(shape + 1 - text), text,
                 (int)strcspn(name, " "), name);
        put_mutant(s, "in its neighbour", line, NULL, out);
        return;
    }
}

static void mutate_line(source *s, size_t line) {
    const char *text = s->lines[line];
    if (starts(text, "tensor") && strstr(text, " : ") != NULL) {
        shrink(s, line, " ring ");
        if (strstr(text, " mod") != NULL) {
            shrink(s, line, " free ");
            shrink(s, line, " par ");
            shrink(s, line, " banks ");
        }
        move_place(s, line);
        share_place(s, line);
    } else if (is_sync(text)) {
        put_mutant(s, "delete", line, NULL, NULL);
        move(s, line);
        weaken_sync(s, line);
    } else if (strstr(text, " reads ") != NULL || strstr(text, " writes ") != NULL ||
               strstr(text, " updates ") != NULL) {
        weaken_operation(s, line);
    } else {
        weaken_declaration(s, line);
    }
}

/* ---- one kind ---------------------------------------------------------------------- */

static void mutate_count(source *s, size_t line) {
    const char *text = s->lines[line];
    if (!starts(text, "barrier") && !starts(text, "mbarrier") && !starts(text, "init")) return;
    edit(s, "one less", line, " count ", "@ - 1");
    edit(s, "one more", line, " count ", "@ + 1");
    if (!starts(text, "mbarrier")) return;
    edit(s, "moved", line, " at ", "@ - 8");
    edit(s, "moved", line, " at ", "@ + 8");
}

static void mutate_ring(source *s, size_t line) {
    const char *text = s->lines[line];
    if (!starts(text, "tensor") || strstr(text, " : ") == NULL) return;
    shrink(s, line, " ring ");
    if (strstr(text, " mod") == NULL) return;
    shrink(s, line, " free ");
    shrink(s, line, " par ");
    shrink(s, line, " banks ");
}

static void mutate_expect(source *s, size_t line) {
    if (!is_sync(s->lines[line])) return;
    const bool alone = starts(s->lines[line], "expect");
    const char *word = alone ? " by " : " expect ";
    if (!alone) drop(s, "expect nothing", line, word);
    edit(s, "expect less", line, word, "@ / 2");
    edit(s, "expect more", line, word, "@ + 16");
    edit(s, "expect twice", line, word, "@ * 2");
}

static void mutate_arrive(source *s, size_t line) {
    const char *text = s->lines[line];
    if (is_sync(text)) {
        if (starts(text, "arrive") || starts(text, "signal"))
            put_mutant(s, "delete", line, NULL, NULL);
    } else if (!starts(text, "tensor")) {
        drop(s, "delivers nothing", line, " delivers ");
        drop(s, "arrives nowhere", line, " arrives ");
        drop(s, "signals nothing", line, " signals ");
    }
}

typedef void (*mutator)(source *s, size_t line);

static source mutate(const char *text, size_t only, mutator change) {
    source s = {.copy = malloc(strlen(text) + 1), .only = only};
    assert_non_null(s.copy);
    strcpy(s.copy, text);
    for (char *at = s.copy; *at != '\0';) {
        assert_true(s.count < LINES_MAX);
        s.lines[s.count++] = at;
        at += strcspn(at, "\n");
        if (*at == '\n') *at++ = '\0';
    }
    for (size_t i = 0; i < s.count; i++) change(&s, i);
    free(s.copy);
    return s;
}

mutants mutants_of(const char *text) {
    return mutate(text, ALL, mutate_line).out;
}

mutants mutants_of_kind(const char *text, mutant_kind kind) {
    static const mutator mutators[MUTANT_KINDS] = {mutate_count, mutate_ring, mutate_expect,
                                                   mutate_arrive};
    return mutate(text, ALL, mutators[kind]).out;
}

size_t mutants_count(const char *text) {
    return mutate(text, NONE, mutate_line).found;
}

char *mutants_one(const char *text, size_t number) {
    source s = mutate(text, number, mutate_line);
    assert_int_equal(s.out.count, 1);
    char *one = s.out.items[0].text;
    free(s.out.items);
    return one;
}

void mutants_free(mutants *list) {
    for (size_t i = 0; i < list->count; i++) free(list->items[i].text);
    free(list->items);
    *list = (mutants){0};
}
