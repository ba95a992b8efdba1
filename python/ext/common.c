/* SPDX-License-Identifier: Apache-2.0
 *
 * Errors, values and text between Python and the library.
 */
#include "common.h"

#include <stdlib.h>
#include <time.h>

/* ---- errors ------------------------------------------------------------------------ */

static int group_of(spad_status status) {
    switch (status) {
    case SPAD_ERR_NO_SCOPE:
    case SPAD_ERR_HEAP_EMPTY:
    case SPAD_ERR_NO_ADDRESS:
    case SPAD_ERR_STALE:
    case SPAD_ERR_NOT_LIVE:
    case SPAD_ERR_CYCLE:
    case SPAD_ERR_LIFE_CYCLE: return PY_STATE_ERROR;
    case SPAD_ERR_NO_FIT:
    case SPAD_ERR_OVERLAP: return PY_FIT_ERROR;
    case SPAD_ERR_SYNTAX: return PY_TEXT_ERROR;
    case SPAD_ERR_TIME:
    case SPAD_ERR_CANCELLED: return PY_TIME_ERROR;
    case SPAD_ERR_HOST_MEMORY:
    case SPAD_ERR_IO:
    case SPAD_ERR_NO_DEVICE:
    case SPAD_ERR_DEVICE: return PY_MACHINE_ERROR;
    case SPAD_ERR_INTERNAL: return PY_INTERNAL_ERROR;
    default: return PY_ARGUMENT_ERROR;
    }
}

/* Sets an attribute and gives the value away. */
static bool set(PyObject *object, const char *name, PyObject *value) {
    const bool done = value != NULL && PyObject_SetAttrString(object, name, value) == 0;
    Py_XDECREF(value);
    return done;
}

static PyObject *text_or_none(const char *text) {
    return py_string(text[0] == '\0' ? NULL : text);
}

/* The message; of an error in a text with its place in front. */
static PyObject *message_of(const spad_error *error) {
    char place[sizeof error->file + 64] = "";
    if (error->file[0] != '\0' && error->line > 0)
        snprintf(place, sizeof place, "%s:%lld:%lld: ", error->file, (long long)error->line,
                 (long long)error->column);
    char text[sizeof place + SPAD_MESSAGE_MAX];
    snprintf(text, sizeof text, "%s%s", place, error->message);
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

PyObject *py_error_new(const spad_error *error) {
    PyObject *message = message_of(error);
    PyObject *exception =
        message == NULL
            ? NULL
            : PyObject_CallFunctionObjArgs(py.errors[group_of(error->code)], message, NULL);
    Py_XDECREF(message);
    if (exception == NULL) return NULL;
    if (set(exception, "code", py_string(spad_status_code(error->code))) &&
        set(exception, "subject", text_or_none(error->subject)) &&
        set(exception, "other", text_or_none(error->other)) &&
        set(exception, "file", text_or_none(error->file)) &&
        set(exception, "needed", py_fact(error->needed, SPAD_NO_FACT)) &&
        set(exception, "available", py_fact(error->available, SPAD_NO_FACT)) &&
        set(exception, "largest_hole", py_fact(error->largest_hole, SPAD_NO_FACT)) &&
        set(exception, "time", py_fact(error->time, SPAD_NO_FACT)) &&
        set(exception, "line", py_fact(error->line, 0)) &&
        set(exception, "column", py_fact(error->column, 0)))
        return exception;
    Py_DECREF(exception);
    return NULL;
}

PyObject *py_raise(const spad_error *error) {
    if (PyErr_Occurred() != NULL) return NULL;
    PyObject *exception = py_error_new(error);
    if (exception != NULL) {
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
        Py_DECREF(exception);
    }
    return NULL;
}

PyObject *py_done(spad_status status, const spad_error *error) {
    if (status != SPAD_OK) return py_raise(error);
    Py_RETURN_NONE;
}

/* ---- objects at work ---------------------------------------------------------------- */

static bool busy(void) {
    PyErr_SetString(PyExc_RuntimeError,
                    "the object is in use, in another thread or in the call that called this one; "
                    "it can be changed when that is done");
    return false;
}

bool py_read_begin(py_guard *guard) {
    if (guard->changing) return busy();
    guard->readers++;
    return true;
}

void py_read_end(py_guard *guard) {
    guard->readers--;
}

bool py_change_begin(py_guard *guard) {
    if (guard->changing || guard->readers > 0) return busy();
    guard->changing = true;
    return true;
}

void py_change_end(py_guard *guard) {
    guard->changing = false;
}

/* The GIL is taken only so often: another thread that computes keeps it for some milliseconds. */
#define LOOK_EVERY INT64_C(20000000)

static int64_t nanoseconds(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void py_watch_begin(py_watch *watch) {
    *watch = (py_watch){.looked = nanoseconds()};
    watch->thread = PyEval_SaveThread();
}

bool py_watch_end(py_watch *watch) {
    PyEval_RestoreThread(watch->thread);
    return !watch->cancelled;
}

static int cancel(void *context) {
    py_watch *watch = context;
    const int64_t now = nanoseconds();
    if (watch->cancelled || (now >= watch->looked && now - watch->looked < LOOK_EVERY))
        return watch->cancelled;
    PyEval_RestoreThread(watch->thread);
    watch->cancelled = PyErr_CheckSignals() != 0;
    watch->thread = PyEval_SaveThread();
    watch->looked = now;
    return watch->cancelled;
}

spad_watch py_watch_of(py_watch *watch) {
    return (spad_watch){cancel, watch};
}

bool py_listener_from(py_listener *out, PyObject *object, py_watch *watch) {
    *out = (py_listener){.watch = watch};
    if (object == NULL || object == Py_None) return true;
    out->function = object;
    if (PyCallable_Check(object)) return true;
    PyErr_SetString(PyExc_TypeError, "progress is a function or None");
    return false;
}

void py_listener_begin(const py_listener *listener) {
    PyEval_RestoreThread(listener->watch->thread);
}

int py_listener_end(const py_listener *listener, PyObject *facts) {
    PyObject *answer =
        facts == NULL ? NULL : PyObject_CallFunctionObjArgs(listener->function, facts, NULL);
    const int ends = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    Py_XDECREF(facts);
    if (ends < 0) listener->watch->cancelled = true; /* an exception is set */
    listener->watch->thread = PyEval_SaveThread();
    return ends != 0;
}

/* ---- values ------------------------------------------------------------------------ */

static bool read_int(int64_t *out, PyObject *object) {
    *out = PyLong_AsLongLong(object);
    if (*out != -1 || !PyErr_Occurred()) return true;
    if (PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear(); /* numbers of other libraries */
        PyObject *number = PyNumber_Index(object);
        if (number == NULL) return false;
        *out = PyLong_AsLongLong(number);
        Py_DECREF(number);
        if (*out != -1 || !PyErr_Occurred()) return true;
    }
    if (PyErr_ExceptionMatches(PyExc_OverflowError))
        PyErr_Format(PyExc_OverflowError, "%R does not fit 64 bits", object);
    return false;
}

bool py_int(int64_t *out, PyObject *object) {
    Py_INCREF(object); /* its __index__ can take it out of where the caller has it from */
    const bool read = read_int(out, object);
    Py_DECREF(object);
    return read;
}

bool py_int_or(int64_t *out, PyObject *object, int64_t none) {
    if (object != NULL && object != Py_None) return py_int(out, object);
    *out = none;
    return true;
}

PyObject *py_string(const char *text) {
    if (text == NULL) Py_RETURN_NONE;
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

PyObject *py_fact(int64_t value, int64_t none) {
    if (value == none) Py_RETURN_NONE;
    return PyLong_FromLongLong(value);
}

PyObject *py_tuple_of(const int64_t *numbers, size_t count) {
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; tuple != NULL && i < count; i++) {
        PyObject *number = PyLong_FromLongLong(numbers[i]);
        if (number == NULL || PyTuple_SetItem(tuple, (Py_ssize_t)i, number) != 0) Py_CLEAR(tuple);
    }
    return tuple;
}

PyObject *py_keep(PyObject *object) {
    Py_INCREF(object);
    return object;
}

bool py_flag(bool *out, PyObject *object, bool none) {
    const int truth = object == NULL ? none : PyObject_IsTrue(object);
    *out = truth > 0;
    return truth >= 0;
}

bool py_seconds(int64_t *out, PyObject *seconds) {
    *out = 0;
    if (seconds == NULL || seconds == Py_None) return true;
    const double number = PyFloat_AsDouble(seconds);
    if (PyErr_Occurred()) return false;
    if (!(number > 0 && number < 1e9)) {
        PyErr_Format(py.errors[PY_ARGUMENT_ERROR],
                     "a timeout of %R seconds: it has to be above 0 and below 1e9, or None",
                     seconds);
        return false;
    }
    *out = (int64_t)(number * 1e9);
    if (*out < 1) *out = 1;
    return true;
}

bool py_put(PyObject *dict, const char *key, PyObject *value) {
    const bool done = value != NULL && PyDict_SetItemString(dict, key, value) == 0;
    Py_XDECREF(value);
    return done;
}

bool py_append(PyObject *list, PyObject *value) {
    const bool done = value != NULL && PyList_Append(list, value) == 0;
    Py_XDECREF(value);
    return done;
}

bool py_utf8(const char **out, Py_ssize_t *length, PyObject *object) {
    if (object == NULL) return true;
    if (!PyUnicode_Check(object)) {
        PyObject *type = PyType_GetName(Py_TYPE(object));
        if (type != NULL) PyErr_Format(PyExc_TypeError, "a str is needed, not %U", type);
        Py_XDECREF(type);
        return false;
    }
    Py_ssize_t count;
    *out = PyUnicode_AsUTF8AndSize(object, &count);
    if (*out == NULL) return false;
    if (length != NULL) {
        *length = count;
    } else if (strlen(*out) != (size_t)count) {
        PyErr_SetString(PyExc_ValueError, "a name cannot hold the character 0");
        return false;
    }
    return true;
}

const char *py_chars(PyObject *object) {
    const char *text = NULL;
    return py_utf8(&text, NULL, object) ? text : NULL;
}

bool py_name(const char **out, PyObject **keep, PyObject *object) {
    *out = NULL;
    *keep = NULL;
    if (object == NULL || object == Py_None) return true;
    PyObject *name = object;
    Py_INCREF(name);
    const char *const attributes[] = {"name", "__name__"};
    for (size_t i = 0; i < 2 && !PyUnicode_Check(name); i++) {
        PyObject *next = PyObject_GetAttrString(object, attributes[i]);
        if (next == NULL) {
            PyErr_Clear();
            continue;
        }
        Py_DECREF(name);
        name = next;
    }
    if (!PyUnicode_Check(name)) {
        Py_DECREF(name);
        name = PyObject_Str(object);
        if (name == NULL) return false;
    }
    *out = py_chars(name);
    *keep = name;
    if (*out != NULL) return true;
    Py_CLEAR(*keep);
    return false;
}

/* Types are few and their objects live long, so what was found is kept. */
#define DTYPES_KEPT 256

bool py_dtype(spad_dtype *out, PyObject *object) {
    PyObject *known = PyDict_GetItemWithError(py.dtypes, object);
    if (known != NULL) {
        *out = (spad_dtype)PyLong_AsLong(known);
        return true;
    }
    PyErr_Clear(); /* not hashable: no type is kept for it */
    const char *name;
    PyObject *keep;
    if (!py_name(&name, &keep, object)) return false;
    spad_error error;
    const spad_status status = spad_dtype_parse(out, name == NULL ? "None" : name, &error);
    Py_XDECREF(keep);
    if (status != SPAD_OK) return py_raise(&error) != NULL;
    if (PyDict_Size(py.dtypes) < DTYPES_KEPT) {
        PyObject *number = PyLong_FromLong(*out);
        if (number == NULL || PyDict_SetItem(py.dtypes, object, number) != 0) PyErr_Clear();
        Py_XDECREF(number);
    }
    return true;
}

static bool too_many_dims(Py_ssize_t rank) {
    PyErr_Format(py.errors[PY_ARGUMENT_ERROR],
                 "a shape has %zd dimensions; at most %d are possible", rank, SPAD_RANK_MAX);
    return false;
}

bool py_shape(spad_shape *out, int64_t dims[SPAD_RANK_MAX], PyObject *object) {
    out->dims = dims;
    out->rank = 1;
    if (PyTuple_Check(object)) {
        const Py_ssize_t rank = PyTuple_Size(object);
        if (rank > SPAD_RANK_MAX) return too_many_dims(rank);
        for (Py_ssize_t i = 0; i < rank; i++)
            if (!py_int(&dims[i], PyTuple_GetItem(object, i))) return false;
        out->rank = (size_t)rank;
        return true;
    }
    if (PyLong_Check(object)) return py_int(&dims[0], object);
    PyObject *tuple = PySequence_Tuple(object);
    if (tuple == NULL) return false;
    const bool read = py_shape(out, dims, tuple);
    Py_DECREF(tuple);
    return read;
}

static bool matches(PyObject *keyword, const char *name) {
    return PyUnicode_CompareWithASCIIString(keyword, name) == 0;
}

bool py_take(PyObject **out, const char *function, const char *const *names, size_t needed,
             PyObject *const *args, Py_ssize_t count, PyObject *keywords) {
    size_t most = 0;
    while (names[most] != NULL) {
        out[most] = (Py_ssize_t)most < count ? args[most] : NULL;
        most++;
    }
    if (count > (Py_ssize_t)most) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %zu arguments (%zd given)", function,
                     most, count);
        return false;
    }
    const Py_ssize_t named = keywords == NULL ? 0 : PyTuple_Size(keywords);
    for (Py_ssize_t k = 0; k < named; k++) {
        PyObject *keyword = PyTuple_GetItem(keywords, k);
        size_t i = 0;
        while (i < most && !matches(keyword, names[i])) i++;
        if (i == most || out[i] != NULL) {
            PyErr_Format(PyExc_TypeError, "%s() got %s argument '%U'", function,
                         i == most ? "an unexpected keyword" : "multiple values for", keyword);
            return false;
        }
        out[i] = args[count + k];
    }
    for (size_t i = 0; i < needed; i++) {
        if (out[i] != NULL) continue;
        PyErr_Format(PyExc_TypeError, "%s() missing required argument: '%s'", function, names[i]);
        return false;
    }
    return true;
}

bool py_names(const char ***out, size_t *count, PyObject **keep, PyObject *object) {
    *keep = object == Py_None ? PyTuple_New(0) : PySequence_Tuple(object);
    if (*keep == NULL) return false;
    *count = (size_t)PyTuple_Size(*keep);
    *out = PyMem_Calloc(*count + 1, sizeof **out);
    bool fine = *out != NULL || PyErr_NoMemory() != NULL;
    for (size_t i = 0; fine && i < *count; i++) {
        (*out)[i] = py_chars(PyTuple_GetItem(*keep, (Py_ssize_t)i));
        fine = (*out)[i] != NULL;
    }
    if (fine) return true;
    PyMem_Free((void *)*out);
    *out = NULL;
    Py_CLEAR(*keep);
    return false;
}

/* The number of a name; what is no number is an error that says of which name. */
static bool define_value(int64_t *out, const char *name, PyObject *value) {
    if (PyIndex_Check(value)) return py_int(out, value);
    PyErr_Format(PyExc_TypeError, "a whole number is needed for '%s', not %R", name, value);
    return false;
}

/* From a copy: while a number is converted, its __index__ can change the dict. */
bool py_defines(spad_define **out, size_t *count, PyObject **keep, PyObject *dict) {
    *out = NULL;
    *count = 0;
    *keep = NULL;
    if (dict == NULL || dict == Py_None) return true;
    if (!PyDict_Check(dict)) {
        PyErr_SetString(PyExc_TypeError, "a dict of names and numbers is needed");
        return false;
    }
    *keep = PyDict_Copy(dict);
    if (*keep == NULL) return false;
    *out = PyMem_Calloc((size_t)PyDict_Size(*keep) + 1, sizeof **out);
    bool fine = *out != NULL || PyErr_NoMemory() != NULL;
    PyObject *key, *value;
    for (Py_ssize_t at = 0; fine && PyDict_Next(*keep, &at, &key, &value); *count += 1) {
        (*out)[*count].name = py_chars(key);
        fine = (*out)[*count].name != NULL &&
               define_value(&(*out)[*count].value, (*out)[*count].name, value);
    }
    if (fine) return true;
    PyMem_Free(*out);
    Py_CLEAR(*keep);
    *out = NULL;
    return false;
}

/* ---- text -------------------------------------------------------------------------- */

int py_write_more(void *context, const char *bytes, size_t count) {
    py_written *t = context;
    if (count > t->room - t->count) {
        const size_t room = (t->count + count) * 2;
        char *grown = realloc(t->bytes, room);
        if (grown == NULL) return 1;
        t->bytes = grown;
        t->room = room;
    }
    memcpy(t->bytes + t->count, bytes, count);
    t->count += count;
    return 0;
}

/* Text that is written with the GIL released. */
typedef struct outside_text {
    py_written text;
    py_watch watch;
} outside_text;

static int write_watched(void *context, const char *bytes, size_t count) {
    outside_text *t = context;
    return cancel(&t->watch) != 0 ? 1 : py_write_more(&t->text, bytes, count);
}

/* What was written, which is released. */
static PyObject *finish_text(py_written *t, bool written, const spad_error *error, bool as_bytes) {
    PyObject *out = NULL;
    if (!written)
        py_raise(error);
    else if (as_bytes)
        out = PyBytes_FromStringAndSize(t->bytes, (Py_ssize_t)t->count);
    else
        out = PyUnicode_DecodeUTF8(t->count == 0 ? "" : t->bytes, (Py_ssize_t)t->count, "replace");
    free(t->bytes);
    return out;
}

PyObject *py_text(py_writer writer, const void *object) {
    py_written t = {0};
    const spad_sink sink = {py_write_more, &t};
    spad_error error;
    const spad_status status = writer(object, &sink, &error);
    return finish_text(&t, status == SPAD_OK, &error, false);
}

PyObject *py_text_outside(py_writer writer, const void *object) {
    outside_text t = {0};
    const spad_sink sink = {write_watched, &t};
    spad_error error;
    py_watch_begin(&t.watch);
    const spad_status status = writer(object, &sink, &error);
    const bool written = py_watch_end(&t.watch) && status == SPAD_OK;
    return finish_text(&t.text, written, &error, false);
}

PyObject *py_from_json(PyObject *text) {
    if (text == NULL) return NULL;
    PyObject *module = PyImport_ImportModule("json"); /* a program that plans needs none of it */
    PyObject *made = module != NULL ? PyObject_CallMethod(module, "loads", "O", text) : NULL;
    Py_XDECREF(module);
    Py_DECREF(text);
    return made;
}

PyObject *py_data(PyObject *self, void *unused) {
    (void)unused;
    return py_from_json(PyObject_CallMethod(self, "json", NULL));
}

/* ---- faults of a text -------------------------------------------------------------- */

static spad_status diagnostics_write(const void *object, const spad_sink *sink, spad_error *error) {
    return spad_diagnostics_write(object, SPAD_FORMAT_TEXT, sink, error);
}

static PyObject *faults_of(const spad_diagnostics *diagnostics) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < spad_diagnostics_count(diagnostics); i++) {
        const spad_diagnostic *d = spad_diagnostics_get(diagnostics, i);
        if (!py_append(list,
                       Py_BuildValue("{s:s,s:i,s:i,s:i,s:N}", "code", spad_status_code(d->code),
                                     "line", (int)d->line, "column", (int)d->column, "width",
                                     (int)d->width, "message", py_string(d->message))))
            Py_CLEAR(list);
    }
    return list;
}

PyObject *py_raise_diagnosed(const spad_error *error, const spad_diagnostics *diagnostics) {
    PyObject *exception = py_error_new(error);
    if (exception == NULL) return NULL;
    if (diagnostics != NULL &&
        (!set(exception, "diagnostics", py_text(diagnostics_write, diagnostics)) ||
         !set(exception, "faults", faults_of(diagnostics))))
        PyErr_Clear();
    PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_DECREF(exception);
    return NULL;
}

/* ---- types ------------------------------------------------------------------------- */

void *py_new(PyTypeObject *type) {
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    return alloc(type, 0);
}

void py_free(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

int py_add_type(PyObject *module, PyTypeObject **place, PyType_Spec *spec) {
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
    if (type == NULL) return -1;
    *place = (PyTypeObject *)type;
    return PyModule_AddType(module, *place);
}
