/* SPDX-License-Identifier: Apache-2.0
 *
 * spad: finds the command and runs it. See cli.h for the exit codes.
 */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

static const cli_command *const commands[] = {
    &cli_plan,      &cli_fit,      &cli_check,   &cli_sim,        &cli_tune,
    &cli_sweep,     &cli_diff,     &cli_emit,    &cli_cuda,       &cli_nki,
    &cli_triton,    &cli_tilelang, &cli_targets, &cli_devices,    &cli_replay,
    &cli_calibrate, &cli_lsp,      &cli_man,     &cli_completion,
};

enum { COMMANDS = sizeof commands / sizeof commands[0] };

const cli_command *const *cli_list_commands(size_t *count) {
    *count = COMMANDS;
    return commands;
}

static void print_help(void) {
    fputs("spad " CLI_ABOUT ".\n"
          "\n"
          "usage: spad COMMAND ...\n"
          "       spad COMMAND --help\n"
          "       spad --version | -V\n"
          "\n"
          "commands:\n",
          stdout);
    for (size_t i = 0; i < COMMANDS; i++) {
        printf("  %-11s %s\n", commands[i]->name, commands[i]->about);
    }
    fputs("\n"
          "  --color=WHEN              colour in text: auto, always or never; for every command\n"
          "\n"
          "exit status: " CLI_STATUS "\n",
          stdout);
}

const cli_command *cli_find_command(const char *word) {
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(word, commands[i]->name) == 0) return commands[i];
    }
    return NULL;
}

cli_exit cli_unknown_command(const char *word) {
    static const char *const options[] = {"--help", "--version", "--color=WHEN"};
    const char *names[COMMANDS];
    for (size_t i = 0; i < COMMANDS; i++) names[i] = commands[i]->name;
    return word[0] == '-' ? cli_unknown("option", word, options, 3, "spad --help")
                          : cli_unknown("command", word, names, COMMANDS, "spad --help");
}

static cli_exit run(int count, char **words) {
    if (count == 0) {
        cli_message("no command; see 'spad --help'");
        return CLI_USAGE;
    }
    const char *word = words[0];
    const int colors = cli_count_color(words, count);
    if (colors > 0) {
        if (!cli_take_color(words, colors)) return CLI_USAGE;
        return run(count - colors, words + colors);
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        const cli_command *about = count > 1 ? cli_find_command(words[1]) : NULL;
        if (count > 1 && about == NULL) return cli_unknown_command(words[1]);
        if (about != NULL) {
            fputs(about->usage, stdout);
        } else {
            print_help();
        }
        return CLI_FINE;
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        printf("spad %s\n", spad_version());
        return CLI_FINE;
    }
    const cli_command *command = cli_find_command(word);
    return command != NULL ? command->run(command, count - 1, words + 1)
                           : cli_unknown_command(word);
}

int main(int argc, char **argv) {
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an output that fails */
    const cli_exit exit = argc > 0 ? run(argc - 1, argv + 1) : run(0, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        if (exit != CLI_INTERNAL)
            cli_message("writing the output failed"); /* else it has been reported */
        return CLI_INTERNAL;
    }
    return (int)exit;
}
