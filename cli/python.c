/* SPDX-License-Identifier: Apache-2.0
 *
 * What Python does: programs in Python, and files of other compilers that Python packages read.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

enum { FIXED = 4 }; /* the words before the user's */

/* As 'python3 -m spad', without the current folder in sys.path, and with a message for people where
 * the package is missing. The gaps are for the mark of keep_folder_out() and for what needs it. */
#define START                                                                               \
    "import sys\n"                                                                          \
    "if sys.path[:1] == ['']: del sys.path[0]\n" /* a Python before 3.11 */                 \
    "import os\n"                                                                           \
    "if os.environ.get('PYTHONSAFEPATH') == '%s': del os.environ['PYTHONSAFEPATH']\n"       \
    "import importlib.util, runpy\n"                                                        \
    "try: found = importlib.util.find_spec('spad.__main__')\n"                              \
    "except ImportError: found = None\n"                                                    \
    "if found is None:\n"                                                                   \
    "    sys.stderr.write(\"spad: %s needs the Python package spad, which '\" +\n"          \
    "                     sys.executable + \"' does not have: 'pip install .' in the \"\n"  \
    "                     \"repository of spad installs it; SPAD_PYTHON names another \"\n" \
    "                     \"Python\\n\")\n"                                                 \
    "    sys.exit(2)\n"                                                                     \
    "runpy.run_module('spad', run_name='__main__', alter_sys=True)\n"

static const char mark[] = "spad";

/* Python looks for modules in the current folder first, unless PYTHONSAFEPATH is set; an empty
 * entry of PYTHONPATH, as in "$PYTHONPATH:/more" without a PYTHONPATH, is that folder too. What
 * lies beside a file that someone reads must not run. START takes the mark away again: programs
 * that Python starts are not ours. False: no memory. */
static bool keep_folder_out(void) {
    const char *safe = getenv("PYTHONSAFEPATH"), *path = getenv("PYTHONPATH");
    if ((safe == NULL || safe[0] == '\0') && setenv("PYTHONSAFEPATH", mark, 1) != 0) return false;
    if (path == NULL) return true;
    char *kept = malloc(strlen(path) + 1), *end = kept;
    if (kept == NULL) return false;
    for (const char *at = path; *at != '\0';) {
        const size_t length = strcspn(at, ":");
        if (length > 0 && end != kept) *end++ = ':';
        memcpy(end, at, length);
        end += length;
        at += length + (at[length] == ':');
    }
    *end = '\0';
    const bool fine = setenv("PYTHONPATH", kept, 1) == 0;
    free(kept);
    return fine;
}

/* Python's part has no colour, so words about that go no further. False: one of them is wrong. */
static bool copy_words(char **out, int count, char **words) {
    for (int i = 0; i < count; i++) {
        const int colors = cli_count_color(words + i, count - i);
        if (colors > 0 && !cli_take_color(words + i, colors)) return false;
        if (colors == 0) *out++ = words[i];
        if (colors == 2) i++;
    }
    return true;
}

cli_exit cli_run_python(const char *verb, const char *what, int count, char **words) {
    char usual[] = "python3", run[] = "-c", program[sizeof START + sizeof mark + 64];
    char *const chosen = getenv("SPAD_PYTHON");
    char *const python = chosen != NULL && chosen[0] != '\0' ? chosen : usual;
    char **all = calloc((size_t)count + FIXED + 1, sizeof *all);
    char *own = strdup(verb);
    if (all == NULL || own == NULL || !keep_folder_out()) {
        cli_message("out of memory");
        free(all);
        free(own);
        return CLI_INTERNAL;
    }
    all[0] = python;
    snprintf(program, sizeof program, START, mark, what);
    all[1] = run;
    all[2] = program;
    all[3] = own;
    if (!copy_words(all + FIXED, count, words)) {
        free(all);
        free(own);
        return CLI_USAGE;
    }
    fflush(stdout);
    execvp(python, all); /* returns only if it fails */
    cli_message("cannot run '%s': %s; %s needs Python 3.11 or later with the package spad", python,
                strerror(errno), what);
    free(all);
    free(own);
    return CLI_USAGE;
}

/* ---- files of other compilers ------------------------------------------------------ */

static bool ends_with(const char *path, const char *ending) {
    const size_t length = strlen(path), wanted = strlen(ending);
    return length > wanted && strcmp(path + length - wanted, ending) == 0;
}

bool cli_is_model_name(const char *path) {
    static const char *const endings[] = {".tflite", ".onnx", ".pickle", ".pkl"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        if (ends_with(path, endings[i])) return true;
    }
    return false;
}

/* Is a word in the first bytes of a text? */
static bool has_word(const cli_text *text, const char *word, size_t most) {
    const size_t length = strlen(word);
    const size_t end = text->length < most ? text->length : most;
    for (size_t at = 0; at + length <= end; at++) {
        if (text->bytes[at] == word[0] && memcmp(text->bytes + at, word, length) == 0) return true;
    }
    return false;
}

bool cli_is_model(const char *path, const cli_text *text) {
    static const struct mark {
        const char *word;
        size_t most; /* bytes of the file in which it has to be */
        bool csv;    /* also in a file that ends so */
    } marks[] = {{"Thread,Time,Action,Pointer,Size,Stream", 64, true},
                 {"BufferAssignment:", 64, false},
                 {"HloLiveRange", 64, false},
                 {"\"traceEvents\"", (size_t)1 << 16, false},
                 {"stream.resource.pack", SIZE_MAX, false}};
    const bool csv = ends_with(path, ".csv");
    if (!csv && text->length >= 8 && memcmp(text->bytes + 4, "TFL3", 4) == 0) return true;
    if (!csv && text->length >= 2 && memcmp(text->bytes, "\x80", 1) == 0)
        return true; /* a pickle */
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        if ((marks[i].csv || !csv) && has_word(text, marks[i].word, marks[i].most)) return true;
    }
    return false;
}
