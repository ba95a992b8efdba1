/* SPDX-License-Identifier: Apache-2.0
 *
 * spad man: manual pages, made from the usage texts that --help prints.
 */
#include <stdio.h>
#include <string.h>

#include "usage.h"

/* ---- roff -------------------------------------------------------------------------- */

/* Text as roff: dashes that are to be typed, backslashes, and no line that is a request. */
static void put_text(cli_piece text, bool line_start) {
    if (line_start && text.length > 0 && strchr(".'", text.start[0]) != NULL) fputs("\\&", stdout);
    for (size_t i = 0; i < text.length; i++) {
        if (text.start[i] == '-')
            fputs("\\-", stdout);
        else if (text.start[i] == '\\')
            fputs("\\e", stdout);
        else
            putchar(text.start[i]);
    }
}

/* Lines, without the blanks in front of each. */
static void put_lines(cli_piece text) {
    const char *end = text.start + text.length;
    for (const char *at = text.start; at < end;) {
        while (at < end && *at == ' ') at++;
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (stop == NULL) stop = end;
        put_text((cli_piece){at, (size_t)(stop - at)}, true);
        putchar('\n');
        at = stop + 1;
    }
}

/* The names of options in bold, the words for values in italics. */
static void put_options(cli_piece options) {
    for (size_t i = 0; i < options.length;) {
        size_t end = i;
        const bool blank = options.start[i] == ' ' || options.start[i] == ',';
        while (end < options.length &&
               (options.start[end] == ' ' || options.start[end] == ',') == blank)
            end++;
        if (!blank) fputs(options.start[i] == '-' ? "\\fB" : "\\fI", stdout);
        put_text((cli_piece){options.start + i, end - i}, false);
        if (!blank) fputs("\\fR", stdout);
        i = end;
    }
    putchar('\n');
}

/* ---- pages ------------------------------------------------------------------------- */

static void put_title(const char *dash, const char *name, const char *about) {
    printf(".TH SPAD%s", dash);
    for (const char *p = name; *p != '\0'; p++)
        putchar(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);
    printf(" 1 \"\" \"spad %s\" \"User Commands\"\n.SH NAME\nspad%s%s \\- ", spad_version(),
           dash[0] != '\0' ? "\\-" : "", name);
    put_text((cli_piece){about, strlen(about)}, false);
    putchar('\n');
}

static bool starts_with(cli_piece line, const char *word) {
    const size_t length = strlen(word);
    return line.length >= length && memcmp(line.start, word, length) == 0;
}

/* "usage: spad plan KERNEL" and the lines below it, up to the first that is empty. */
static const char *put_synopsis(const char *text) {
    cli_piece line;
    fputs(".SH SYNOPSIS\n.nf\n", stdout);
    while (cli_usage_line(&text, &line) && line.length > 0) {
        const size_t skipped = strlen("usage: ");
        const size_t cut = line.length > skipped ? skipped : line.length;
        put_text((cli_piece){line.start + cut, line.length - cut}, true);
        putchar('\n');
    }
    fputs(".fi\n", stdout);
    return text;
}

static void put_body(const char *text) {
    static const char status[] = "exit status: ";
    cli_piece line;
    cli_usage_row row;
    bool paragraph = false;
    fputs(".SH DESCRIPTION\n", stdout);
    while (cli_usage_line(&text, &line)) {
        if (cli_usage_row_at(line, &text, &row)) {
            fputs(".TP\n", stdout);
            put_options(row.options);
            put_lines(row.about);
            paragraph = true;
        } else if (starts_with(line, status)) {
            fputs(".SH EXIT STATUS\n", stdout);
            const size_t skipped = sizeof status - 1;
            put_lines((cli_piece){line.start + skipped, line.length - skipped});
            paragraph = false;
        } else if (line.length == 0) {
            paragraph = true;
        } else {
            if (paragraph) fputs(".PP\n", stdout);
            put_lines(line);
            paragraph = false;
        }
    }
}

static void put_command(const cli_command *command) {
    put_title("-", command->name, command->about);
    put_body(put_synopsis(command->usage));
    fputs(".SH SEE ALSO\n.BR spad (1)\n", stdout);
}

static void put_all(void) {
    size_t count;
    const cli_command *const *commands = cli_list_commands(&count);
    put_title("", "", CLI_ABOUT);
    fputs(".SH SYNOPSIS\n.B spad\n.I COMMAND\n[options]\n.SH COMMANDS\n", stdout);
    for (size_t i = 0; i < count; i++) {
        printf(".TP\n.BR spad\\-%s (1)\n", commands[i]->name);
        put_lines((cli_piece){commands[i]->about, strlen(commands[i]->about)});
    }
    fputs(".SH ENVIRONMENT\n"
          ".TP\n\\fBNO_COLOR\\fR\nif set and not empty: no colour, as with \\-\\-color=never\n"
          ".TP\n\\fBSPAD_PYTHON\\fR\nthe Python that runs kernels in Python\n"
          ".SH FILES\n"
          "A file that is written takes its name when it is complete, and keeps the owner, group "
          "and mode of\nthe file that had it. Where these cannot be kept, where that file has an "
          "access control list, and\nin a folder that takes no new files, it is written in "
          "place.\n"
          ".SH EXIT STATUS\n" CLI_STATUS "\n",
          stdout);
}

static cli_exit run_man(const cli_command *command, int count, char **words) {
    const cli_option options[] = {{.name = NULL}};
    cli_exit exit;
    if (!cli_take_options(command, options, &count, words, &exit)) return exit;
    if (count > 1) {
        cli_message("one command is needed; see 'spad man --help'");
        return CLI_USAGE;
    }
    if (count == 0) {
        put_all();
        return CLI_FINE;
    }
    const cli_command *about = cli_find_command(words[0]);
    if (about == NULL) return cli_unknown_command(words[0]);
    put_command(about);
    return CLI_FINE;
}

const cli_command cli_man = {.name = "man",
                             .about = "print a manual page: spad man plan | man -l -",
                             .usage = "usage: spad man [COMMAND]\n"
                                      "\n"
                                      "Prints the manual page of spad or of one of its commands, "
                                      "for 'man -l -'. 'cmake\n"
                                      "--install' installs all of them.\n",
                             .run = run_man};
