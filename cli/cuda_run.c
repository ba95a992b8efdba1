/* SPDX-License-Identifier: Apache-2.0
 *
 * spad cuda run: runs a program on the capture runtime, and checks every launch that it recorded.
 *
 * The program finds our libcudart.so.13 and libcuda.so.1 through LD_LIBRARY_PATH; they write launch
 * files into a folder (docs/cuda-capture.md), each of which goes to `spad check` afterwards. The
 * output of the program is not a result of ours, so it goes to stderr.
 */
#define _XOPEN_SOURCE 700
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

enum { RUN_PATH = 4096 }; /* realpath() needs PATH_MAX */

typedef struct cuda_run {
    const char *keep; /* a folder of the user, or NULL */
    bool preload;
    bool together;  /* one document about all launches */
    char **options; /* of check */
    char **words;   /* these and a file, for one check, which may put them into another order */
    int option_count;
    char **program; /* ended by NULL */
    char folder[RUN_PATH];
    char runtime[RUN_PATH];
    char **launches; /* names of files, sorted */
    size_t launch_count;
} cuda_run;

/* ---- folders -------------------------------------------------------------------------------- */

/* Joins two parts; false with a message: too long. */
static bool join_path(char out[RUN_PATH], const char *folder, const char *name) {
    const int length = snprintf(out, RUN_PATH, "%s/%s", folder, name);
    if (length > 0 && length < RUN_PATH) return true;
    cli_message("the path '%.80s...' is too long", folder);
    return false;
}

static bool is_runtime(const char *folder) {
    char path[RUN_PATH];
    return join_path(path, folder, "libspad_cudart.so") && access(path, R_OK) == 0;
}

/* The folder of the runtime: SPAD_CUDART, or where it is installed or built, seen from the command.
 */
static bool find_runtime(cuda_run *run) {
    static const char *const places[] = {SPAD_CUDART_INSTALLED, "cudart"};
    const char *chosen = getenv("SPAD_CUDART");
    char own[RUN_PATH], place[RUN_PATH];
    if (chosen != NULL && chosen[0] != '\0') {
        if (realpath(chosen, run->runtime) != NULL && is_runtime(run->runtime)) return true;
        cli_message("SPAD_CUDART is '%s', which has no libspad_cudart.so", chosen);
        return false;
    }
    const ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    own[length > 0 ? length : 0] = '\0';
    char *name = strrchr(own, '/');
    for (size_t i = 0; name != NULL && i < sizeof places / sizeof *places; i++) {
        *name = '\0';
        if (!join_path(place, own, places[i])) return false;
        if (is_runtime(place) && realpath(place, run->runtime) != NULL) return true;
    }
    cli_message("the capture runtime (libspad_cudart.so) is not installed with the command; "
                "SPAD_CUDART names its folder");
    return false;
}

static bool is_launch_name(const char *name) {
    const char *dot = strrchr(name, '.');
    return strncmp(name, "launch-", 7) == 0 && dot != NULL && strcmp(dot, ".toml") == 0;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The launch files of the folder, sorted. False with a message: it cannot be read. */
static bool list_launches(cuda_run *run) {
    DIR *folder = opendir(run->folder);
    bool fine = folder != NULL;
    for (const struct dirent *entry; fine && (entry = readdir(folder)) != NULL;) {
        if (!is_launch_name(entry->d_name)) continue;
        const size_t size = (run->launch_count + 1) * sizeof *run->launches; /* a few hundred */
        char **grown = realloc(run->launches, size);
        if (grown != NULL) run->launches = grown;
        char *name = grown != NULL ? strdup(entry->d_name) : NULL;
        fine = name != NULL;
        if (fine) run->launches[run->launch_count++] = name;
    }
    if (!fine) cli_message("cannot list '%s': %s", run->folder, strerror(errno));
    if (folder != NULL) closedir(folder);
    if (run->launch_count > 1)
        qsort(run->launches, run->launch_count, sizeof *run->launches, compare_names);
    return fine;
}

/* The folder of the user, which must not have launches of another run, or one of our own. */
static cli_exit open_folder(cuda_run *run) {
    const char *base = getenv("TMPDIR");
    if (run->keep == NULL) {
        if (!join_path(run->folder, base != NULL && base[0] != '\0' ? base : "/tmp",
                       "spad-cuda-run-XXXXXX"))
            return CLI_USAGE;
        if (mkdtemp(run->folder) != NULL) return CLI_FINE;
        cli_message("cannot make a folder '%s': %s", run->folder, strerror(errno));
        return CLI_INTERNAL;
    }
    if ((mkdir(run->keep, 0755) != 0 && errno != EEXIST) ||
        realpath(run->keep, run->folder) == NULL) {
        cli_message("cannot make the folder '%s': %s", run->keep, strerror(errno));
        return CLI_USAGE;
    }
    if (!list_launches(run)) return CLI_USAGE;
    if (run->launch_count == 0) return CLI_FINE;
    cli_message("'%s' has launches of an earlier run: --keep needs a new folder", run->keep);
    return CLI_USAGE;
}

/* Removes a folder of our own, with all files in it. */
static void close_folder(const cuda_run *run) {
    DIR *folder = run->keep == NULL && run->folder[0] != '\0' ? opendir(run->folder) : NULL;
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] != '.') unlinkat(dirfd(folder), entry->d_name, 0);
    }
    if (folder == NULL) return;
    closedir(folder);
    rmdir(run->folder);
}

/* ---- the program ---------------------------------------------------------------------------- */

/* Puts a word in front of a variable that is a list. */
static bool set_first(const char *name, const char *word) {
    const char *old = getenv(name);
    const size_t size = strlen(word) + (old != NULL ? strlen(old) : 0) + 2;
    char *whole = malloc(size);
    if (whole == NULL) return false;
    snprintf(whole, size, "%s%s%s", word, old != NULL && old[0] != '\0' ? ":" : "",
             old != NULL ? old : "");
    const bool fine = setenv(name, whole, 1) == 0;
    free(whole);
    return fine;
}

/* *ended: by itself, and not by a signal or because it could not be started. */
static cli_exit run_program(const cuda_run *run, bool *ended) {
    char library[RUN_PATH];
    if (!join_path(library, run->runtime, "libspad_cudart.so")) return CLI_USAGE;
    if (!set_first("LD_LIBRARY_PATH", run->runtime) ||
        setenv("SPAD_CUDA_CAPTURE", run->folder, 1) != 0 ||
        (run->preload && !set_first("LD_PRELOAD", library))) {
        cli_message("out of memory");
        return CLI_INTERNAL;
    }
    const int status = cli_run_program(run->program, NULL);
    *ended = status >= 0;
    unsetenv("SPAD_CUDA_CAPTURE");
    if (run->preload) unsetenv("LD_PRELOAD");
    if (status > 0)
        cli_message("'%s' ended with status %d, which means nothing on the capture runtime",
                    run->program[0], status);
    return CLI_FINE;
}

/* Does a file contain these bytes? */
static bool file_has(const char *path, const char *bytes) {
    const int file = open(path, O_RDONLY);
    struct stat about;
    bool found = false;
    if (file < 0) return false;
    if (fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0) {
        void *all = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        const size_t length = strlen(bytes);
        const char *at = all != MAP_FAILED ? all : NULL;
        size_t left = at != NULL ? (size_t)about.st_size : 0;
        while (!found && left >= length && (at = memchr(at, bytes[0], left - length + 1)) != NULL) {
            found = memcmp(at, bytes, length) == 0;
            at++;
            left = (size_t)about.st_size - (size_t)(at - (const char *)all);
        }
        if (all != MAP_FAILED) munmap(all, (size_t)about.st_size);
    }
    close(file);
    return found;
}

/* The file of a program, as the shell would find it. */
static bool find_program(char out[RUN_PATH], const char *name) {
    const char *path = getenv("PATH");
    if (strchr(name, '/') != NULL) return snprintf(out, RUN_PATH, "%s", name) < RUN_PATH;
    while (path != NULL && *path != '\0') {
        const size_t length = strcspn(path, ":");
        snprintf(out, RUN_PATH, "%.*s/%s", (int)length, path, name);
        if (access(out, X_OK) == 0) return true;
        path += length + (path[length] == ':');
    }
    return false;
}

/* Why nothing was recorded. The runtime makes notes.txt when the program first calls it. */
static void tell_why_nothing(const cuda_run *run) {
    char notes[RUN_PATH];
    if (!join_path(notes, run->folder, "notes.txt")) return;
    if (access(notes, R_OK) == 0) {
        cli_message("'%s' called the CUDA runtime, but no launch was recorded; if a kernel is "
                    "named above, compile it with PTX: -gencode "
                    "arch=compute_90a,code=compute_90a",
                    run->program[0]);
        return;
    }
    cli_message("'%s' never called our CUDA runtime: it needs libcudart.so.13 (nvcc -cudart "
                "shared) or libcuda.so.1; --preload helps where a library brings its own",
                run->program[0]);
}

/* NVIDIA's runtime inside of a program needs more of the driver than we have, and would crash. */
static bool refuse_static(const char *program) {
    char path[RUN_PATH];
    if (!find_program(path, program) || file_has(path, "libcudart.so.") ||
        !file_has(path, "cudaErrorCudartUnloading"))
        return false;
    cli_message("'%s' has NVIDIA's CUDA runtime inside, which cannot be replaced: build it with "
                "'nvcc -cudart shared'",
                program);
    return true;
}

/* ---- the launches --------------------------------------------------------------------------- */

static cli_exit check_launch(cuda_run *run, const char *name) {
    const cli_command *check = cli_find_command("check");
    char path[RUN_PATH];
    if (!join_path(path, run->folder, name)) return CLI_INTERNAL;
    memcpy(run->words, run->options, (size_t)run->option_count * sizeof *run->words);
    run->words[run->option_count] = path;
    run->words[run->option_count + 1] = NULL;
    cli_message("%s", name);
    const cli_exit exit = check->run(check, run->option_count + 1, run->words);
    fflush(stdout);
    return exit;
}

/* All launches in one call of check, so that it writes one document. */
static cli_exit check_together(cuda_run *run) {
    const cli_command *check = cli_find_command("check");
    const size_t options = (size_t)run->option_count, count = options + run->launch_count;
    char **words = calloc(count + 1, sizeof *words);
    char(*paths)[RUN_PATH] = calloc(run->launch_count, sizeof *paths);
    cli_exit exit = words != NULL && paths != NULL ? CLI_FINE : CLI_INTERNAL;
    if (exit != CLI_FINE) cli_message("out of memory");
    for (size_t i = 0; i < options && exit == CLI_FINE; i++) words[i] = run->options[i];
    for (size_t i = 0; i < run->launch_count && exit == CLI_FINE; i++) {
        words[options + i] = paths[i];
        if (!join_path(paths[i], run->folder, run->launches[i])) exit = CLI_INTERNAL;
    }
    if (exit == CLI_FINE) exit = check->run(check, (int)count, words);
    free(words);
    free(paths);
    return exit;
}

/* The worst of all verdicts. */
static cli_exit check_launches(cuda_run *run) {
    size_t fine = 0, wrong = 0;
    cli_exit worst = CLI_FINE;
    for (size_t i = 0; i < run->launch_count; i++) {
        const cli_exit exit = check_launch(run, run->launches[i]);
        if (exit == CLI_FINE) fine++;
        if (exit == CLI_FINDINGS) wrong++;
        if (exit > worst) worst = exit;
    }
    const size_t others = run->launch_count - fine - wrong;
    cli_message("%zu launch%s checked: %zu without errors, %zu with errors%s", run->launch_count,
                run->launch_count == 1 ? "" : "es", fine, wrong,
                others > 0 ? ", others that could not be checked" : "");
    if (worst != CLI_FINE && run->keep == NULL)
        cli_message("--keep FOLDER keeps the launch files and the PTX that the messages point to");
    return worst;
}

static cli_exit run_and_check(cuda_run *run) {
    if (!find_runtime(run) || refuse_static(run->program[0])) return CLI_USAGE;
    bool ended = false;
    cli_exit exit = open_folder(run);
    if (exit == CLI_FINE) exit = run_program(run, &ended);
    if (exit == CLI_FINE && !list_launches(run)) exit = CLI_INTERNAL;
    if (exit != CLI_FINE) return exit;
    if (run->launch_count == 0) {
        if (ended) tell_why_nothing(run);
        return CLI_USAGE;
    }
    exit = run->together ? check_together(run) : check_launches(run);
    if (ended) return exit;
    cli_message("'%s' did not end by itself: launches after that were not seen", run->program[0]);
    return exit > CLI_USAGE ? exit : CLI_USAGE;
}

/* ---- the command line ----------------------------------------------------------------------- */

/* Options of check that write one document about all launches. */
static bool joins_launches(const char *word) {
    return strcmp(word, "--json") == 0 || strncmp(word, "--sarif", 7) == 0;
}

/* Options of check that draw one kernel. */
static bool writes_document(const char *word) {
    static const char *const options[] = {"--report", "--svg", "--text", "--trace", "-o"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        const size_t length = strlen(options[i]);
        if (strncmp(word, options[i], length) == 0 && (word[length] == '\0' || word[length] == '='))
            return true;
    }
    return false;
}

/* Takes our own options; others are for check. The program is after "--". */
static bool take_run_words(cuda_run *run, int count, char **words) {
    for (int i = 0; i < count; i++) {
        if (strcmp(words[i], "--") == 0 && i + 1 < count) {
            run->program = words + i + 1;
            return true;
        }
        if (strcmp(words[i], "--keep") == 0 && i + 1 < count) {
            run->keep = words[++i];
        } else if (strcmp(words[i], "--preload") == 0) {
            run->preload = true;
        } else if (writes_document(words[i])) {
            cli_message("'%s' is about one launch: keep the launches with --keep FOLDER, then use "
                        "it with 'spad check FOLDER/launch-0001.toml'",
                        words[i]);
            return false;
        } else {
            run->together |= joins_launches(words[i]);
            run->options[run->option_count++] = words[i];
        }
    }
    cli_message("put -- before the program: spad cuda run [options] -- PROGRAM ARGS...");
    return false;
}

cli_exit cli_cuda_run(int count, char **words) {
    cuda_run run = {.options = calloc((size_t)count + 1, sizeof *run.options),
                    .words = calloc((size_t)count + 2, sizeof *run.words)};
    cli_exit exit = CLI_INTERNAL;
    if (run.options == NULL || run.words == NULL) {
        cli_message("out of memory");
    } else {
        exit = take_run_words(&run, count, words) ? run_and_check(&run) : CLI_USAGE;
    }
    close_folder(&run);
    for (size_t i = 0; i < run.launch_count; i++) free(run.launches[i]);
    free(run.launches);
    free(run.options);
    free(run.words);
    return exit;
}
