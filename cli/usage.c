/* SPDX-License-Identifier: Apache-2.0
 *
 * Takes a usage text apart. See usage.h.
 */
#include <string.h>

#include "usage.h"

enum { ROW_INDENT = 2, ABOUT_INDENT = 20 }; /* rows; the lines that go on from them, at least */

bool cli_usage_line(const char **text, cli_piece *line) {
    if (**text == '\0') return false;
    const size_t length = strcspn(*text, "\n");
    *line = (cli_piece){*text, length};
    *text += length + ((*text)[length] == '\n');
    return true;
}

static size_t count_blanks(cli_piece line) {
    size_t count = 0;
    while (count < line.length && line.start[count] == ' ') count++;
    return count;
}

/* Where two blanks in a row end the options of a row. */
static size_t options_end(cli_piece line, size_t from) {
    size_t at = from;
    while (at + 1 < line.length && (line.start[at] != ' ' || line.start[at + 1] != ' ')) at++;
    return at + 1 < line.length ? at : line.length;
}

bool cli_usage_row_at(cli_piece line, const char **text, cli_usage_row *row) {
    if (count_blanks(line) != ROW_INDENT || line.length <= ROW_INDENT || line.start[2] != '-')
        return false;
    const size_t end = options_end(line, ROW_INDENT);
    row->options = (cli_piece){line.start + ROW_INDENT, end - ROW_INDENT};
    cli_piece rest = {line.start + end, line.length - end};
    const size_t blanks = count_blanks(rest);
    row->about = (cli_piece){rest.start + blanks, rest.length - blanks};
    for (const char *next = *text; cli_usage_line(&next, &line); *text = next) {
        if (count_blanks(line) < ABOUT_INDENT) break;
        row->about.length = (size_t)(line.start + line.length - row->about.start);
    }
    return true;
}

/* The next word of the options of a row; commas and blanks are between words. */
static bool next_word(cli_piece *options, cli_piece *word) {
    while (options->length > 0 && (*options->start == ' ' || *options->start == ',')) {
        options->start++;
        options->length--;
    }
    size_t length = 0;
    while (length < options->length && options->start[length] != ' ' &&
           options->start[length] != ',')
        length++;
    *word = (cli_piece){options->start, length};
    return length > 0;
}

static void skip(cli_piece *options, cli_piece word) {
    const size_t used = (size_t)(word.start + word.length - options->start);
    options->start += used;
    options->length -= used;
}

bool cli_usage_next(cli_piece *options, cli_usage_option *option) {
    cli_piece word;
    do {
        if (!next_word(options, &word)) return false;
        skip(options, word);
    } while (word.start[0] != '-');
    const char *bracket = memchr(word.start, '[', word.length); /* --progress[=json] */
    if (bracket != NULL) word.length = (size_t)(bracket - word.start);
    *option = (cli_usage_option){.name = word, .value = {word.start, 0}};
    cli_piece rest = *options;
    if (rest.length > 0 && *rest.start == ',') { /* "-o, --output OUT.csv" */
        cli_usage_option other;
        if (cli_usage_next(&rest, &other)) option->value = other.value;
    } else if (next_word(&rest, &word) && word.start[0] != '-') {
        option->value = word;
        skip(options, word);
    }
    return true;
}
