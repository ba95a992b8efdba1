/* SPDX-License-Identifier: Apache-2.0
 *
 * The usage text of a command, taken apart: the one table behind --help, the manual pages and the
 * completions of shells.
 */
#ifndef SPAD_CLI_USAGE_H
#define SPAD_CLI_USAGE_H

#include "cli.h"

/* A piece of a text that is not copied. */
typedef struct cli_piece {
    const char *start;
    size_t length;
} cli_piece;

/* A row for options: "  -o, --output OUT.csv      the places". What it says may go on in the lines
 * after it, which start with more blanks. */
typedef struct cli_usage_row {
    cli_piece options; /* "-o, --output OUT.csv" */
    cli_piece about;   /* first line to last, with the blanks and line ends between them */
} cli_usage_row;

/* An option of a row, and the word for its value; its length is 0 if it takes none. Two names with
 * a comma between them are one option. */
typedef struct cli_usage_option {
    cli_piece name;  /* "--output" */
    cli_piece value; /* "OUT.csv" */
} cli_usage_option;

/* The next line of a text, without its end. False: no line is left. */
bool cli_usage_line(const char **text, cli_piece *line);
/* Is a line the first of a row? *text is what follows that line, and is moved past the row. */
bool cli_usage_row_at(cli_piece line, const char **text, cli_usage_row *row);
/* The next option of a row; *options is the rest. False: no option is left. */
bool cli_usage_next(cli_piece *options, cli_usage_option *option);

#endif
