/* SPDX-License-Identifier: Apache-2.0
 *
 * Colour for people. The library writes plain text; what stands out in it is found here, line by
 * line, so that no other code knows of terminals.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

/* ---- when -------------------------------------------------------------------------- */

/* Colour on a terminal unless NO_COLOR is set, or as the user says. */
static enum { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER } when;

#define OPTION "--color"

int cli_count_color(char *const *words, int count) {
    const size_t length = sizeof OPTION - 1;
    if (strncmp(words[0], OPTION, length) != 0) return 0;
    if (words[0][length] == '=') return 1;
    if (words[0][length] != '\0') return 0;
    return count > 1 ? 2 : 1;
}

bool cli_take_color(char *const *words, int count) {
    static const char *const names[] = {"auto", "always", "never"};
    const char *equals = strchr(words[0], '=');
    const char *word = equals != NULL ? equals + 1 : count > 1 ? words[1] : "";
    for (int i = 0; i < 3; i++) {
        if (strcmp(word, names[i]) != 0) continue;
        when = i == 0 ? COLOR_AUTO : i == 1 ? COLOR_ALWAYS : COLOR_NEVER;
        return true;
    }
    cli_unknown("value of '" OPTION "'", word, names, 3, "spad --help");
    return false;
}

/* https://no-color.org: any value but the empty one turns colour off. */
static bool wants_color(FILE *out) {
    if (when != COLOR_AUTO) return when == COLOR_ALWAYS;
    const char *no = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    if (no != NULL && no[0] != '\0') return false;
    if (terminal == NULL || strcmp(terminal, "dumb") == 0) return false;
    return isatty(fileno(out)) != 0;
}

/* ---- what -------------------------------------------------------------------------- */

#define RED "\033[1;31m"
#define GREEN "\033[32m"
#define YELLOW "\033[1;33m"
#define BLUE "\033[1;34m"
#define DIM "\033[2m"
#define PLAIN "\033[0m"

/* The first of these in a line is coloured; longer ones first. */
static const struct mark {
    const char *text;
    const char *color;
} marks[] = {
    {": error: ", RED},          {": warning: ", YELLOW},
    {": note: ", BLUE},          {": advice: ", BLUE},
    {"does not fit", RED},       {"infeasible", RED},
    {"optimal (proved)", GREEN}, {"proved for all", GREEN},
    {"proved", GREEN},           {"provably the smallest layout", GREEN},
    {"optimal", GREEN},          {"fits", GREEN},
};

static bool is_caret_line(const char *line) {
    const char *bar = strchr(line, '|');
    if (bar == NULL) return false;
    for (const char *p = line; p < bar; p++) {
        if (*p != ' ') return false;
    }
    return strspn(bar + 1, " ^~") == strlen(bar + 1);
}

static void put_line(FILE *out, const char *line) {
    if (is_caret_line(line)) {
        fprintf(out, DIM "%s" PLAIN, line);
        return;
    }
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        const char *at = strstr(line, marks[i].text);
        if (at == NULL) continue;
        const size_t colon = marks[i].text[0] == ':' ? 2 : 0; /* ": " stays plain */
        const size_t length = strlen(marks[i].text) - colon;
        fwrite(line, 1, (size_t)(at - line) + colon, out);
        fprintf(out, "%s%.*s" PLAIN "%s", marks[i].color, (int)length, at + colon,
                at + colon + length);
        return;
    }
    fputs(line, out);
}

/* ---- sink -------------------------------------------------------------------------- */

enum { LINE_ROOM = 4096 };

/* The start of an unfinished line, for stdout and for stderr. A longer line goes out in pieces. */
static struct open_line {
    FILE *out;
    char text[LINE_ROOM];
    size_t length;
} lines[2];

static void flush_line(struct open_line *line) {
    line->text[line->length] = '\0';
    put_line(line->out, line->text);
    line->length = 0;
}

static int write_colored(void *context, const char *bytes, size_t count) {
    struct open_line *line = context;
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] == '\n' || line->length + 1 == LINE_ROOM) flush_line(line);
        if (bytes[i] == '\n')
            fputc('\n', line->out);
        else
            line->text[line->length++] = bytes[i];
    }
    return ferror(line->out) ? -1 : 0;
}

spad_sink cli_sink(FILE *out, bool json) {
    if (json || !wants_color(out)) return spad_sink_file(out);
    struct open_line *line = &lines[out == stderr];
    line->out = out;
    return (spad_sink){.write = write_colored, .context = line};
}
