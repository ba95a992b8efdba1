/* SPDX-License-Identifier: Apache-2.0
 *
 * spad completion: what bash, zsh and fish need to complete commands, options and their values,
 * made from the usage texts that --help prints.
 */
#include <stdio.h>
#include <string.h>

#include "usage.h"

/* ---- values ------------------------------------------------------------------------ */

static bool piece_is(cli_piece piece, const char *word) {
    return piece.length == strlen(word) && memcmp(piece.start, word, piece.length) == 0;
}

static bool is_target(cli_piece value) {
    return piece_is(value, "TARGET") || piece_is(value, "T") || piece_is(value, "CHIP");
}

/* A file: a word with an ending, or one for any file. */
static bool is_file(cli_piece value) {
    return memchr(value.start, '.', value.length) != NULL || piece_is(value, "OUT") ||
           piece_is(value, "FILE") || piece_is(value, "LOG");
}

/* The words that a value can be, with a blank after each: "time|bytes", or the names of chips. */
static void put_choices(cli_piece value) {
    if (is_target(value)) {
        for (size_t i = 0; i < spad_target_count(); i++) printf("%s ", spad_target_get(i)->name);
    } else if (memchr(value.start, '|', value.length) != NULL) {
        for (size_t i = 0; i < value.length; i++)
            putchar(value.start[i] == '|' ? ' ' : value.start[i]);
        putchar(' ');
    }
}

static bool has_choices(cli_piece value) {
    return is_target(value) || memchr(value.start, '|', value.length) != NULL;
}

/* ---- options ----------------------------------------------------------------------- */

/* A walk over the options of a command. */
typedef struct walk {
    const char *text;
    cli_usage_row row;
    cli_piece left; /* of the options of the row */
    cli_usage_option option;
} walk;

static bool next_option(walk *w) {
    cli_piece line;
    while (!cli_usage_next(&w->left, &w->option)) {
        do {
            if (!cli_usage_line(&w->text, &line)) return false;
        } while (!cli_usage_row_at(line, &w->text, &w->row));
        w->left = w->row.options;
    }
    return true;
}

static walk start_walk(const cli_command *command) {
    return (walk){.text = command->usage, .left = {"", 0}};
}

/* Was the option of a walk there before? Texts for two kinds of input name some twice. */
static bool is_repeated(const cli_command *command, const walk *w) {
    for (walk other = start_walk(command); next_option(&other);) {
        if (other.option.name.start == w->option.name.start) return false;
        if (other.option.name.length == w->option.name.length &&
            memcmp(other.option.name.start, w->option.name.start, w->option.name.length) == 0)
            return true;
    }
    return false;
}

static void put_piece(cli_piece piece) {
    fwrite(piece.start, 1, piece.length, stdout);
}

/* The first line of what a row says, for a string of a shell in single quotes: those in it become
 * typographic ones. */
static void put_about(cli_piece about) {
    for (size_t i = 0; i < about.length && about.start[i] != '\n'; i++) {
        if (about.start[i] == '\'')
            fputs("\xe2\x80\x99", stdout);
        else if (strchr("[]:", about.start[i]) != NULL)
            putchar(' '); /* they divide fields in zsh */
        else
            putchar(about.start[i]);
    }
}

static void put_quoted(cli_piece about) {
    putchar('\'');
    put_about(about);
    putchar('\'');
}

/* ---- bash -------------------------------------------------------------------------- */

static void bash_values(const cli_command *command) {
    for (walk w = start_walk(command); next_option(&w);) {
        if (w.option.value.length == 0 || is_repeated(command, &w)) continue;
        printf("        %s,", command->name);
        put_piece(w.option.name);
        if (has_choices(w.option.value)) {
            fputs(") choices='", stdout);
            put_choices(w.option.value);
            printf("'; files=%d ;;\n", is_target(w.option.value));
        } else {
            printf(") files=%d; value=1 ;;\n", is_file(w.option.value));
        }
    }
}

static void bash_options(const cli_command *command) {
    printf("        %s) choices='", command->name);
    for (walk w = start_walk(command); next_option(&w);) {
        if (is_repeated(command, &w)) continue;
        put_piece(w.option.name);
        putchar(' ');
    }
    fputs("--color --help' ;;\n", stdout);
}

static void put_bash(const cli_command *const *commands, size_t count) {
    fputs("# bash completion for spad; made by 'spad completion bash'\n"
          "_spad() {\n"
          "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local command=${COMP_WORDS[1]} choices= files=1 value=0\n"
          "    COMPREPLY=()\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        COMPREPLY=($(compgen -W '",
          stdout);
    for (size_t i = 0; i < count; i++) printf("%s ", commands[i]->name);
    fputs("--help --version' -- \"$current\"))\n"
          "        return\n"
          "    fi\n"
          "    case $command,$before in\n",
          stdout);
    for (size_t i = 0; i < count; i++) bash_values(commands[i]);
    fputs("    esac\n"
          "    if [ -z \"$choices\" ] && [ $value -eq 0 ] && [[ $current == -* ]]; then\n"
          "        files=0\n"
          "        case $command in\n",
          stdout);
    for (size_t i = 0; i < count; i++) bash_options(commands[i]);
    fputs("        esac\n"
          "    fi\n"
          "    [ -n \"$choices\" ] && COMPREPLY=($(compgen -W \"$choices\" -- \"$current\"))\n"
          "    [ $files -eq 1 ] && COMPREPLY+=($(compgen -f -- \"$current\"))\n"
          "}\n"
          "complete -o filenames -F _spad spad\n",
          stdout);
}

/* ---- zsh --------------------------------------------------------------------------- */

static void zsh_command(const cli_command *command) {
    printf("        %s) _arguments", command->name);
    for (walk w = start_walk(command); next_option(&w);) {
        if (is_repeated(command, &w)) continue;
        fputs(" \\\n            '*", stdout);
        put_piece(w.option.name);
        putchar('[');
        put_about(w.row.about);
        putchar(']');
        if (w.option.value.length > 0) fputs(":value:", stdout);
        if (w.option.value.length > 0 && has_choices(w.option.value)) {
            putchar('(');
            put_choices(w.option.value);
            putchar(')');
        } else if (w.option.value.length > 0 && is_file(w.option.value)) {
            fputs("_files", stdout);
        }
        putchar('\'');
    }
    fputs(" \\\n            '--color[when to use colour]:when:(auto always never)'"
          " '--help[the options]' '*:file:_files' ;;\n",
          stdout);
}

static void put_zsh(const cli_command *const *commands, size_t count) {
    fputs("#compdef spad\n"
          "# zsh completion for spad; made by 'spad completion zsh'\n"
          "_spad() {\n"
          "    local -a commands\n"
          "    commands=(\n",
          stdout);
    for (size_t i = 0; i < count; i++) {
        printf("        %s:", commands[i]->name);
        put_quoted((cli_piece){commands[i]->about, strlen(commands[i]->about)});
        putchar('\n');
    }
    fputs("    )\n"
          "    if (( CURRENT == 2 )); then\n"
          "        _describe command commands\n"
          "        return\n"
          "    fi\n"
          "    local command=$words[2]\n"
          "    shift words\n"
          "    (( CURRENT-- ))\n"
          "    case $command in\n",
          stdout);
    for (size_t i = 0; i < count; i++) zsh_command(commands[i]);
    fputs("    esac\n"
          "}\n"
          "_spad \"$@\"\n",
          stdout);
}

/* ---- fish -------------------------------------------------------------------------- */

static void fish_command(const cli_command *command) {
    for (walk w = start_walk(command); next_option(&w);) {
        if (is_repeated(command, &w)) continue;
        printf("complete -c spad -n '__fish_seen_subcommand_from %s'", command->name);
        const size_t dashes = w.option.name.start[1] == '-' ? 2 : 1;
        fputs(dashes == 2 ? " -l " : " -s ", stdout);
        put_piece((cli_piece){w.option.name.start + dashes, w.option.name.length - dashes});
        fputs(" -d ", stdout);
        put_quoted(w.row.about);
        if (w.option.value.length > 0) {
            fputs(is_file(w.option.value) || is_target(w.option.value) ? " -r" : " -x", stdout);
        }
        if (w.option.value.length > 0 && has_choices(w.option.value)) {
            fputs(" -a '", stdout);
            put_choices(w.option.value);
            putchar('\'');
        }
        putchar('\n');
    }
}

static void put_fish(const cli_command *const *commands, size_t count) {
    fputs("# fish completion for spad; made by 'spad completion fish'\n", stdout);
    for (size_t i = 0; i < count; i++) {
        printf("complete -c spad -n __fish_use_subcommand -x -a %s -d ", commands[i]->name);
        put_quoted((cli_piece){commands[i]->about, strlen(commands[i]->about)});
        putchar('\n');
    }
    fputs("complete -c spad -l color -x -a 'auto always never' -d 'when to use colour'\n", stdout);
    for (size_t i = 0; i < count; i++) fish_command(commands[i]);
}

/* ---- command ----------------------------------------------------------------------- */

static cli_exit run_completion(const cli_command *command, int count, char **words) {
    static const char *const names[] = {"bash", "zsh", "fish"};
    static void (*const put[])(const cli_command *const *, size_t) = {put_bash, put_zsh, put_fish};
    const cli_option options[] = {{.name = NULL}};
    cli_exit exit;
    if (!cli_take_options(command, options, &count, words, &exit)) return exit;
    if (count != 1) {
        cli_message("one shell is needed: bash, zsh or fish; see 'spad completion --help'");
        return CLI_USAGE;
    }
    size_t commands;
    const cli_command *const *all = cli_list_commands(&commands);
    for (size_t i = 0; i < 3; i++) {
        if (strcmp(words[0], names[i]) != 0) continue;
        put[i](all, commands);
        return CLI_FINE;
    }
    return cli_unknown("shell", words[0], names, 3, "spad completion --help");
}

const cli_command cli_completion = {
    .name = "completion",
    .about = "print what a shell needs to complete spad's words",
    .usage = "usage: spad completion bash|zsh|fish\n"
             "\n"
             "Prints a script for the shell. For this session of bash:\n"
             "\n"
             "    . <(spad completion bash)\n"
             "\n"
             "'cmake --install' installs all three where shells look for them.\n",
    .run = run_completion};
