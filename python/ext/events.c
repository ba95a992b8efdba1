/* SPDX-License-Identifier: Apache-2.0
 *
 * memory_events(): where the memory events are in a trace of PyTorch's profiler. Such a trace is
 * JSON of hundreds of megabytes, of which one event in ten or fewer is about memory: all of it is
 * read once, in O(bytes), and nothing is kept of it but where these events begin and end. Python
 * reads those.
 *
 * Strings are not decoded: one that is no UTF-8, or has a line break in it, is passed over.
 */
#include "common.h"

#include <stdlib.h>

enum { DEPTH_MOST = 256 }; /* lists and objects in each other */

typedef enum part {
    PART_ROOT,   /* the document */
    PART_EVENTS, /* its member traceEvents */
    PART_EVENT,  /* one of those */
    PART_NAME,   /* its name */
    PART_OTHER
} part;

typedef struct event_place {
    int64_t first, end; /* bytes */
} event_place;

typedef struct scan {
    const char *start, *at, *end;
    const char *fault; /* what is wrong at `at`; NULL: nothing yet */
    int depth;
    bool has_events;
    bool is_memory; /* the event that is read has that name */
    event_place *places;
    size_t count, most;
    size_t room; /* bytes of the places */
} scan;

static bool read_value(scan *s, part what);

static bool stop_at(scan *s, const char *fault) {
    if (s->fault == NULL) s->fault = fault;
    return false;
}

static void skip_blanks(scan *s) {
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\n' || *s->at == '\r' || *s->at == '\t'))
        s->at++;
}

/* Takes a character that may follow. */
static bool take(scan *s, char wanted) {
    skip_blanks(s);
    if (s->at == s->end || *s->at != wanted) return false;
    s->at++;
    return true;
}

static bool equals(const char *text, size_t length, const char *word) {
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

/* ---- values ------------------------------------------------------------------------ */

/* The bytes between the quotes. A quote is part of the string after an odd number of backslashes.
 */
static bool read_string(scan *s, const char **text, size_t *length) {
    if (!take(s, '"')) return stop_at(s, "a string is expected");
    const char *const first = s->at;
    for (const char *from = first;;) {
        const char *quote = memchr(from, '"', (size_t)(s->end - from));
        if (quote == NULL) return stop_at(s, "a string does not end");
        const char *before = quote;
        while (before > from && before[-1] == '\\') before--;
        from = quote + 1;
        if ((quote - before) % 2 != 0) continue;
        *text = first;
        *length = (size_t)(quote - first);
        s->at = from;
        return true;
    }
}

static bool read_digits(scan *s) {
    const char *const first = s->at;
    while (s->at < s->end && *s->at >= '0' && *s->at <= '9') s->at++;
    return s->at > first;
}

static bool take_word(scan *s, const char *word) {
    const size_t length = strlen(word);
    if ((size_t)(s->end - s->at) < length || memcmp(s->at, word, length) != 0) return false;
    s->at += length;
    return true;
}

/* A number or a word; NaN and Infinity are what Python writes. */
static bool read_scalar(scan *s) {
    static const char *const words[] = {"true", "false", "null", "NaN", "Infinity", "-Infinity"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (take_word(s, words[i])) return true;
    const char *const first = s->at;
    bool fine = (take_word(s, "-"), read_digits(s));
    if (fine && take_word(s, ".")) fine = read_digits(s);
    if (fine && (take_word(s, "e") || take_word(s, "E"))) {
        if (!take_word(s, "+")) take_word(s, "-");
        fine = read_digits(s);
    }
    if (fine) return true;
    s->at = first;
    return stop_at(s, "a value is expected");
}

/* ---- lists and objects ------------------------------------------------------------- */

/* False, without a fault: there is no memory, or there are too many and the rest does not matter.
 */
static bool keep_place(scan *s, const char *first) {
    if (s->count == s->room / sizeof(event_place)) {
        const size_t room = s->room == 0 ? 1 << 14 : 2 * s->room;
        event_place *grown = realloc(s->places, room);
        if (grown == NULL) return false;
        s->places = grown;
        s->room = room;
    }
    s->places[s->count++] = (event_place){first - s->start, s->at - s->start};
    return s->count <= s->most;
}

/* What a member of an object is. */
static part part_of(part object, const char *key, size_t length) {
    if (object == PART_ROOT && equals(key, length, "traceEvents")) return PART_EVENTS;
    if (object == PART_EVENT && equals(key, length, "name")) return PART_NAME;
    return PART_OTHER;
}

static bool read_object(scan *s, part what) {
    const char *const first = s->at++;
    const char *key;
    size_t length;
    if (what == PART_EVENT) s->is_memory = false;
    if (take(s, '}')) return true;
    do {
        if (!read_string(s, &key, &length)) return false;
        if (!take(s, ':')) return stop_at(s, "':' is expected");
        if (!read_value(s, part_of(what, key, length))) return false;
    } while (take(s, ','));
    if (!take(s, '}')) return stop_at(s, "',' or '}' is expected");
    return what != PART_EVENT || !s->is_memory || keep_place(s, first);
}

static bool read_list(scan *s, part what) {
    s->at++;
    if (what == PART_EVENTS) { /* of two members with this name the last counts, as in Python */
        s->has_events = true;
        s->count = 0;
    }
    if (take(s, ']')) return true;
    do {
        if (!read_value(s, what == PART_EVENTS ? PART_EVENT : PART_OTHER)) return false;
    } while (take(s, ','));
    return take(s, ']') || stop_at(s, "',' or ']' is expected");
}

static bool read_name(scan *s) {
    const char *text;
    size_t length;
    if (!read_string(s, &text, &length)) return false;
    s->is_memory = equals(text, length, "[memory]");
    return true;
}

static bool read_text(scan *s) {
    const char *text;
    size_t length;
    return read_string(s, &text, &length);
}

static bool read_value(scan *s, part what) {
    bool fine;
    skip_blanks(s);
    if (what == PART_NAME) s->is_memory = false;
    if (what == PART_EVENTS) s->has_events = false;
    if (s->at == s->end) return stop_at(s, "the text ends early");
    if (*s->at == '"') return what == PART_NAME ? read_name(s) : read_text(s);
    if (*s->at != '{' && *s->at != '[') return read_scalar(s);
    if (s->depth == DEPTH_MOST) return stop_at(s, "it is nested too deeply");
    s->depth++;
    if (*s->at == '{')
        fine = read_object(s, what == PART_ROOT || what == PART_EVENT ? what : PART_OTHER);
    else
        fine = read_list(s, what == PART_EVENTS ? what : PART_OTHER);
    s->depth--;
    return fine;
}

static bool read_document(scan *s) {
    if (!take_word(s, "\xef\xbb\xbf")) skip_blanks(s); /* the mark of UTF-8 */
    if (!read_value(s, PART_ROOT)) return false;
    skip_blanks(s);
    return s->at == s->end || stop_at(s, "the text goes on after its end");
}

/* ---- for Python -------------------------------------------------------------------- */

static PyObject *raise_fault(const scan *s) {
    spad_error error = {.code = SPAD_ERR_SYNTAX};
    if (s->fault == NULL) return PyErr_NoMemory();
    snprintf(error.message, sizeof error.message, "%s at byte %lld", s->fault,
             (long long)(s->at - s->start));
    return py_raise(&error);
}

static PyObject *memory_events(PyObject *module, PyObject *args, PyObject *keywords) {
    static char *names[] = {"content", "most", NULL};
    Py_buffer view;
    Py_ssize_t most;
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "y*n:memory_events", names, &view, &most))
        return NULL;
    scan s = {.start = view.buf, .at = view.buf, .most = most > 0 ? (size_t)most : 0};
    s.end = s.start + view.len;
    PyThreadState *const outside = PyEval_SaveThread();
    const bool fine = read_document(&s) || s.count > s.most;
    PyEval_RestoreThread(outside);
    PyBuffer_Release(&view);
    PyObject *out = NULL;
    if (!fine)
        raise_fault(&s);
    else if (!s.has_events)
        out = Py_NewRef(Py_None);
    else
        out = PyBytes_FromStringAndSize((const char *)s.places,
                                        (Py_ssize_t)(s.count * sizeof *s.places));
    free(s.places);
    return out;
}

static PyMethodDef functions[] = {
    {"memory_events", PY_FUNC(memory_events), METH_VARARGS | METH_KEYWORDS,
     "memory_events($module, content, most)\n--\n\nWhere the memory events of a profiler's trace "
     "are "
     "in its bytes: first byte and end of each,\n64-bit numbers as bytes; of more than `most` the "
     "first `most` + 1. None: there is no list of events."},
    {NULL, NULL, 0, NULL}};

int py_add_events(PyObject *module) {
    return PyModule_AddFunctions(module, functions);
}
