/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the Python module share.
 *
 * The module is written against the stable ABI of Python 3.11 and the public headers
 * of the library, nothing else. A Python object owns one C object, or borrows it from
 * another Python object that it keeps alive; C objects are never shared by two owners.
 * Results are returned to Python as dicts, or as the library's own JSON (spad/core.py reads it).
 *
 * State is one static struct: the module can be imported by one interpreter of a
 * process. The GIL guards all objects; where it is released, the object that is worked
 * on is marked as busy and refuses changes.
 */
#ifndef SPAD_PYTHON_COMMON_H
#define SPAD_PYTHON_COMMON_H

/* Python's tables hold functions as void pointers, and strings without const. */
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wcast-qual"
#endif

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <string.h>

#include "spad/device.h"
#include "spad/spad.h"

/** A class of exceptions for each group of statuses. */
enum {
    PY_ERROR,
    PY_ARGUMENT_ERROR,
    PY_STATE_ERROR,
    PY_FIT_ERROR,
    PY_TEXT_ERROR,
    PY_TIME_ERROR,
    PY_MACHINE_ERROR,
    PY_INTERNAL_ERROR,
    PY_ERRORS
};

typedef struct py_state {
    bool used;
    PyObject *errors[PY_ERRORS];
    PyObject *dtypes; /* object -> number of a dtype */
    PyTypeObject *target, *trace, *tensor, *stack, *plan, *result, *column, *kernel, *walk, *layout,
        *analysis, *advice, *check, *sim, *tune, *frontier, *report, *block, *tmem, *direct,
        *registry, *component, *allocator, *device, *buffer, *memory, *allocation, *log, *stream,
        *fence, *workspace, *pool;
} py_state;

extern py_state py;

/* ---- errors ------------------------------------------------------------------------ */

/** Sets the exception of an error, unless there is one already: that of a signal which ended the
 *  call comes first. Always NULL. */
PyObject *py_raise(const spad_error *error);
/** The exception itself, as a new reference. */
PyObject *py_error_new(const spad_error *error);
/** The same for a text that was read: `diagnostics` is the text of all its faults. */
PyObject *py_raise_diagnosed(const spad_error *error, const spad_diagnostics *diagnostics);
/** None for SPAD_OK, otherwise the exception. */
PyObject *py_done(spad_status status, const spad_error *error);

/* ---- objects at work ---------------------------------------------------------------- */

/** Guards an object on which a call works while other Python code can run: with the GIL released,
 * or in a callback. Readers share it; a change needs it alone.
 *
 *  A method first converts all of its arguments, because that can run any Python code (__index__,
 *  __bool__, __iter__ ...), and takes the guard after that: from there to the call of the library
 *  no other Python code runs. */
typedef struct py_guard {
    int readers;
    bool changing;
} py_guard;

/** False, with a RuntimeError set: a change is at work. */
bool py_read_begin(py_guard *guard);
void py_read_end(py_guard *guard);
/** False, with a RuntimeError set: a change or a reader is at work. */
bool py_change_begin(py_guard *guard);
void py_change_end(py_guard *guard);

/** A call with the GIL released that Ctrl-C ends: py_watch_of is given to the library, which asks
 * now and then whether to stop. What the call works on either never changes or is guarded: the
 * handler of a signal is Python code. */
typedef struct py_watch {
    PyThreadState *thread;
    int64_t looked; /* when, in nanoseconds */
    bool cancelled;
} py_watch;

void py_watch_begin(py_watch *watch);
/** False: the handler of a signal has set an exception. */
bool py_watch_end(py_watch *watch);
spad_watch py_watch_of(py_watch *watch);

/** A function of the caller that is called with a dict while a search runs, and may end it. */
typedef struct py_listener {
    PyObject *function; /* borrowed; NULL: none */
    py_watch *watch;
} py_listener;

/** From an argument that is a function, None or missing. False: an exception is set. */
bool py_listener_from(py_listener *out, PyObject *object, py_watch *watch);
/** Calls it, between py_listener_begin and py_listener_end; takes the reference to the facts, NULL:
 * an exception is set. Returns what the callback of the library returns. */
void py_listener_begin(const py_listener *listener);
int py_listener_end(const py_listener *listener, PyObject *facts);

/* ---- values ------------------------------------------------------------------------ */

/** An element type from a string, a numpy dtype, a class with a name. */
bool py_dtype(spad_dtype *out, PyObject *object);
/** A constant of an element type from an int or a float. */
bool py_value(spad_value *out, PyObject *object, spad_dtype dtype);
/** The extents of an int or a sequence of ints; the dims are written to `dims`. */
bool py_shape(spad_shape *out, int64_t dims[SPAD_RANK_MAX], PyObject *object);
bool py_int(int64_t *out, PyObject *object);
/** A number, or `none` for NULL and None. */
bool py_int_or(int64_t *out, PyObject *object, int64_t none);
/** The text of a str; NULL leaves `*out` as it is. length: NULL for a name, which has no zeros. */
bool py_utf8(const char **out, Py_ssize_t *length, PyObject *object);
/** The same; NULL with an exception set. */
const char *py_chars(PyObject *object);
/** A name from a string, None (NULL), or an object with a name; borrowed from `*keep`, which
 *  the caller releases. */
bool py_name(const char **out, PyObject **keep, PyObject *object);
/** The truth of an object, or `none` for NULL. */
bool py_flag(bool *out, PyObject *object, bool none);
/** Nanoseconds of a number of seconds above 0 and below 1e9; NULL and None are 0. */
bool py_seconds(int64_t *out, PyObject *seconds);
/** None for the value that means "does not apply". */
PyObject *py_fact(int64_t value, int64_t none);
PyObject *py_string(const char *text); /**< None for NULL; broken UTF-8 is replaced */
PyObject *py_tuple_of(const int64_t *numbers, size_t count);
/** A new reference to the same object. */
PyObject *py_keep(PyObject *object);
/** Adds a key and gives the value away. False: an exception is set. */
bool py_put(PyObject *dict, const char *key, PyObject *value);
/** Appends to a list and gives the value away. False: an exception is set. */
bool py_append(PyObject *list, PyObject *value);

/** Arguments of a METH_FASTCALL | METH_KEYWORDS function by position or name. `names` ends with
 *  NULL; the first `needed` must be there. Missing ones are NULL. */
bool py_take(PyObject **out, const char *function, const char *const *names, size_t needed,
             PyObject *const *args, Py_ssize_t count, PyObject *keywords);

/** The strings of an iterable, or none for None; borrowed from `*keep`, which the caller releases,
 *  after PyMem_Free of the array. */
bool py_names(const char ***out, size_t *count, PyObject **keep, PyObject *object);
/** A dict of names and numbers as defines; the names are borrowed from `*keep`, which the caller
 *  releases after PyMem_Free of the array. */
bool py_defines(spad_define **out, size_t *count, PyObject **keep, PyObject *dict);

/* ---- text -------------------------------------------------------------------------- */

/** Text that grows; a sink with it as context appends to it. Released with free(). */
typedef struct py_written {
    char *bytes;
    size_t count;
    size_t room;
} py_written;
int py_write_more(void *written, const char *bytes, size_t count);

typedef spad_status (*py_writer)(const void *object, const spad_sink *sink, spad_error *error);
/** What a writer writes as a str. */
PyObject *py_text(py_writer writer, const void *object);
/** The same, or bytes, with the GIL released, until Ctrl-C: for what does not change meanwhile. */
PyObject *py_text_outside(py_writer writer, const void *object);
/** What a text in JSON says, as dicts and lists. Takes the text; NULL stays NULL. */
PyObject *py_from_json(PyObject *text);
/** The getter `data` of an object with a method `json`. */
PyObject *py_data(PyObject *self, void *unused);

/** name_any: a writer of the library with the type that py_text takes. */
#define PY_WRITER(type, form, FORM)                                                         \
    static spad_status type##_write_##form##_any(const void *object, const spad_sink *sink, \
                                                 spad_error *error) {                       \
        return type##_write((const type *)object, SPAD_FORMAT_##FORM, sink, error);         \
    }

/* ---- types ------------------------------------------------------------------------- */

/** Casts of the tables of types and methods. */
#define PY_FUNC(function) ((PyCFunction)(void (*)(void))(function))
#define PY_SLOT(function) ((void *)(function))
#define PY_FAST (METH_FASTCALL | METH_KEYWORDS)

/** A getter and a method without arguments that are one expression of `self`. */
#define PY_GETTER(name, ...)                              \
    static PyObject *name(PyObject *self, void *unused) { \
        (void)unused;                                     \
        return __VA_ARGS__;                               \
    }
#define PY_METHOD(name, ...)                                  \
    static PyObject *name(PyObject *self, PyObject *unused) { \
        (void)unused;                                         \
        return __VA_ARGS__;                                   \
    }

/** Every type takes part in garbage collection: an object that holds another, or whose subclass has
 *  a dict, can be part of a cycle. A dealloc begins with PyObject_GC_UnTrack. */
#define PY_FLAGS (Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC)
/** x_spec: the type "spad._spad.NAME" of py_x, with x_dealloc, x_traverse and the slots that are
 *  given. It can have subclasses, or is only made by functions of the module. */
#define PY_TYPE_OF(x, title, more, about, ...)                                 \
    static PyType_Slot x##_slots[] = {{Py_tp_doc, about},                      \
                                      {Py_tp_dealloc, PY_SLOT(x##_dealloc)},   \
                                      {Py_tp_traverse, PY_SLOT(x##_traverse)}, \
                                      __VA_ARGS__,                             \
                                      {0, NULL}};                              \
    static PyType_Spec x##_spec = {.name = "spad._spad." title,                \
                                   .basicsize = sizeof(py_##x),                \
                                   .flags = PY_FLAGS | (more),                 \
                                   .slots = x##_slots}
#define PY_TYPE_OPEN(x, title, ...) PY_TYPE_OF(x, title, Py_TPFLAGS_BASETYPE, __VA_ARGS__)
#define PY_TYPE_MADE(x, title, ...) \
    PY_TYPE_OF(x, title, Py_TPFLAGS_DISALLOW_INSTANTIATION, __VA_ARGS__)

/** The tp_traverse of a type: its class and the fields of `self` that are given; NULL: none. There
 * is no tp_clear: like a tuple, an object keeps what it got when it was made, so that a cycle goes
 *  through something that can be cleared (a dict, a list, a cell), and no method ever sees an
 * object that has lost a part. */
#define PY_TRAVERSE(name, type, ...)                                         \
    static int name(PyObject *object, visitproc visit, void *arg) {          \
        const type *self = (const type *)object;                             \
        PyObject *const held[] = {(PyObject *)Py_TYPE(object), __VA_ARGS__}; \
        (void)self;                                                          \
        for (size_t i = 0; i < sizeof held / sizeof held[0]; i++) {          \
            Py_VISIT(held[i]);                                               \
        }                                                                    \
        return 0;                                                            \
    }

/** A new object with zeroed fields; NULL with an exception set. */
void *py_new(PyTypeObject *type);
/** Ends a dealloc: frees the object and lets go of its heap type. */
void py_free(PyObject *self);

/* ---- what files see of each other -------------------------------------------------- */

typedef struct py_target {
    PyObject_HEAD const spad_target *target;
    spad_target *owned;
} py_target;

typedef struct py_trace {
    PyObject_HEAD spad_trace *trace;
    PyObject *target;
} py_trace;

typedef struct py_plan {
    PyObject_HEAD spad_plan *plan;
    PyObject *target; /* of its space; NULL: none */
    py_guard guard;
} py_plan;

typedef struct py_result {
    PyObject_HEAD spad_plan_result *result;
    spad_plan_reason *reason;
    PyObject *plan;
} py_result;

typedef struct py_kernel {
    PyObject_HEAD spad_kernel *kernel;
    PyObject *target;
    PyObject *source; /* bytes of its text, or NULL */
} py_kernel;

typedef struct py_layout {
    PyObject_HEAD spad_layout *layout;
    PyObject *owner; /* the Analysis or Frontier that it is a part of, or NULL */
    PyObject *kernel;
} py_layout;

typedef struct py_check {
    PyObject_HEAD spad_check *check;
    PyObject *owner;  /* the Analysis that it is a part of, or NULL */
    PyObject *kernel; /* NULL: the text could not be read */
    PyObject *layout; /* or NULL */
} py_check;

typedef struct py_sim {
    PyObject_HEAD spad_sim *sim;
    PyObject *owner; /* the Analysis that it is a part of, or NULL */
    PyObject *kernel;
    PyObject *layout; /* or NULL */
} py_sim;

typedef struct py_log {
    PyObject_HEAD spad_log *log;
} py_log;

typedef struct py_component {
    PyObject_HEAD PyObject *registry;
    spad_component number;
} py_component;

/** The same kernel with other values. */
py_kernel *py_kernel_like(PyObject *object, const spad_kernel *kernel,
                          const spad_kernel_options *options);
/** The analysis of an Analysis; NULL with an exception set for anything else. */
const spad_analysis *py_analysis_in(PyObject *object);
/** The counts of a memory as a dict. */
PyObject *py_memory_stats(const spad_memory_stats *stats);
/** The same of a pool, and what it holds. */
PyObject *py_pool_stats(spad_pool *pool);
/** A table of a kernel as a list of dicts: a field whose closure is the name of the table. */
PyObject *py_kernel_table(PyObject *kernel, void *name);
/** Names of rows; None for a number below 0. */
PyObject *py_tensor_name(const spad_kernel *kernel, int64_t tensor);
PyObject *py_loop_name(const spad_kernel *kernel, int64_t loop);
PyObject *py_sync_name(const spad_kernel *kernel, int64_t object);
PyObject *py_agent_name(const spad_kernel *kernel, int64_t agent);
PyObject *py_engine_name(const spad_kernel *kernel, int64_t engine);
const char *py_access_word(unsigned kind);
const char *py_completion_word(spad_completion_kind kind);

/** The number of a space by name. */
bool py_space(size_t *out, const spad_target *target, PyObject *name);
/** A target from a Target or a name; a new reference. */
py_target *py_target_of(PyObject *object);
/** An object for a target that lives as long as `owner`, or forever if it is built in. */
PyObject *py_target_wrap(const spad_target *target);
/** A column of whole numbers that a caller gives. */
typedef struct py_numbers {
    bool given;
    bool viewed;
    Py_buffer view;
    char format;
    int64_t *numbers; /* of a sequence, if there is no view */
    size_t count;
} py_numbers;

/** name: for messages. none: the value for None in a sequence, if the column is not needed. False:
 * an exception is set, and there is nothing to close. */
bool py_numbers_open(py_numbers *numbers, const char *name, bool needed, int64_t none,
                     PyObject *object);
/** The i-th number, or `none` if the column was not given. */
bool py_numbers_get(int64_t *out, const py_numbers *numbers, size_t i, int64_t none);
void py_numbers_close(py_numbers *numbers);
/** A Column of `count` int64 numbers, `stride` bytes apart, that keeps `owner` alive. */
PyObject *py_column_view(PyObject *owner, const int64_t *first, size_t count, size_t stride);
PyObject *py_finding(const spad_finding *finding);

/* The code or the severity with a name; false: there is none, and an error is set. */
bool py_finding_code(spad_finding_code *out, const char *name);
bool py_severity(spad_severity *out, const char *name);

/* What a user wants to hear of; freed with py_policy_free. */
typedef struct py_policy {
    spad_check_policy policy;
    spad_rule_level *levels;
    const char **known;
    PyObject *keep;
} py_policy;

/* From the options compiler_faults, rules and baseline; NULL: not given. */
bool py_policy_take(py_policy *out, PyObject *compiler_faults, PyObject *rules, PyObject *baseline);
void py_policy_free(py_policy *policy);

/** Each adds its types and functions to the module. */
int py_add_values(PyObject *module);
int py_add_target(PyObject *module);
int py_add_trace(PyObject *module);
int py_add_stack(PyObject *module);
int py_add_column(PyObject *module);
int py_add_plan(PyObject *module);
int py_add_graph(PyObject *module);
int py_add_spaces(PyObject *module);
int py_add_events(PyObject *module);
int py_add_pickle(PyObject *module);
int py_add_kernel(PyObject *module);
int py_add_walk(PyObject *module);
int py_add_parts(PyObject *module);
int py_add_frontier(PyObject *module);
int py_add_advice(PyObject *module);
int py_add_analysis(PyObject *module);
int py_add_report(PyObject *module);
int py_add_block(PyObject *module);
int py_add_direct(PyObject *module);
int py_add_registry(PyObject *module);
int py_add_launch(PyObject *module);
int py_add_device(PyObject *module);
int py_add_memory(PyObject *module);
int py_add_stream(PyObject *module);
int py_add_torch(PyObject *module);

/** Makes a type, stores it in *place and in the module under the last part of its name. */
int py_add_type(PyObject *module, PyTypeObject **place, PyType_Spec *spec);

#endif
