/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs that we start: nvcc, and what it has compiled. No shell is involved.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"

extern char **environ;

enum { PATH_SIZE = 512, FLAGS_MAX = 64, FLAG_BYTES = 4096 };

/* Runs a program with its output in a file, or as ours; its exit code, or -1 with a message. */
int cli_run_program(char *const *words, const char *output) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (output != NULL) {
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output,
                                         O_WRONLY | O_CREAT | O_TRUNC, 0600);
    } else {
        posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    }
    pid_t child;
    const int failed = posix_spawnp(&child, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) {
        cli_message("cannot run '%s': %s", words[0], strerror(failed));
        return -1;
    }
    int status;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) return -1;
    }
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    cli_message("'%s' was ended by signal %d", words[0], WTERMSIG(status));
    return -1;
}

/* $NVCC, or nvcc where it is usually installed, or the one on the path. */
char *cli_find_nvcc(void) {
    static char usual[] = "/usr/local/cuda/bin/nvcc";
    static char plain[] = "nvcc";
    char *chosen = getenv("NVCC");
    if (chosen != NULL && chosen[0] != '\0') return chosen;
    return access(usual, X_OK) == 0 ? usual : plain;
}

/* The words of NVCC_FLAGS, separated by blanks. Returns how many; -1: too many. */
static int cut_flags(char *bytes, char **out) {
    const char *flags = getenv("NVCC_FLAGS");
    int count = 0;
    if (flags == NULL) return 0;
    if (strlen(flags) >= FLAG_BYTES) return -1;
    strcpy(bytes, flags);
    char *rest = NULL;
    for (char *word = strtok_r(bytes, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest)) {
        if (count == FLAGS_MAX) return -1;
        out[count++] = word;
    }
    return count;
}

/* Flags of the user come last, so that -arch of theirs wins. */
static bool compile(const char *path, const char *output) {
    char ptx[] = "-ptx", lines[] = "-lineinfo", standard[] = "-std=c++17", arch[] = "-arch=sm_90a",
         o[] = "-o", bytes[FLAG_BYTES];
    char *source = strdup(path), *result = strdup(output);
    char *words[FLAGS_MAX + 9] = {cli_find_nvcc(), ptx, lines, standard};
    int count = 4;
    const int flags = cut_flags(bytes, words + count + 1);
    if (flags < 0)
        cli_message("NVCC_FLAGS has more than %d words or %d bytes", FLAGS_MAX, FLAG_BYTES);
    bool own_arch = false;
    for (int i = 0; i < flags; i++) {
        const char *word = words[count + 1 + i];
        own_arch = own_arch || strncmp(word, "-arch", 5) == 0 || strncmp(word, "-gencode", 8) == 0;
    }
    words[count] = own_arch ? lines : arch;
    count += flags + 1;
    words[count++] = source;
    words[count++] = o;
    words[count++] = result;
    const bool fine =
        flags >= 0 && source != NULL && result != NULL && cli_run_program(words, NULL) == 0;
    free(source);
    free(result);
    return fine;
}

cli_exit cli_compile_cuda(cli_text *text, const char *path) {
    const char *dot = strrchr(path, '.');
    if (dot == NULL || strcmp(dot, ".cu") != 0) return CLI_FINE;
    const char *base = getenv("TMPDIR");
    char output[PATH_SIZE];
    const int length = snprintf(output, sizeof output, "%s/spad-cuda-XXXXXX",
                                base != NULL && base[0] != '\0' ? base : "/tmp");
    const int file = length > 0 && length < PATH_SIZE ? mkstemp(output) : -1;
    if (file < 0) {
        cli_message("cannot make a file in '%s': %s", base != NULL ? base : "/tmp",
                    strerror(errno));
        return CLI_INTERNAL;
    }
    close(file);
    cli_exit exit = CLI_USAGE;
    if (compile(path, output)) {
        cli_text compiled;
        exit = cli_read(&compiled, output, CLI_TEXT_MIB);
        if (exit == CLI_FINE) {
            free(text->bytes);
            *text = compiled;
        }
    } else {
        cli_message(
            "'%s' was not compiled: it needs nvcc of CUDA 12 or later, on the path or in NVCC; "
            "flags go into NVCC_FLAGS",
            path);
    }
    unlink(output);
    return exit;
}
