/* SPDX-License-Identifier: Apache-2.0
 *
 * Columns of whole numbers. What a caller gives is read through the buffer protocol, or as a
 * sequence. What a caller gets is a Column: numbers of another object, read-only and without a
 * copy, as a sequence that prints its numbers and that numpy.asarray and memoryview take as it is.
 */
#include "common.h"

/* ---- columns in -------------------------------------------------------------------- */

void py_numbers_close(py_numbers *c) {
    if (c->viewed) PyBuffer_Release(&c->view);
    PyMem_Free(c->numbers);
}

/* Reads a sequence whole: what its items do when they are converted is done then. */
static bool read_sequence(py_numbers *c, PyObject *object, bool needed, int64_t none) {
    PyObject *items = PySequence_Tuple(object);
    if (items == NULL) return false;
    c->count = (size_t)PyTuple_Size(items);
    c->numbers = PyMem_Calloc(c->count + 1, sizeof *c->numbers);
    bool fine = c->numbers != NULL || PyErr_NoMemory() != NULL;
    for (size_t i = 0; fine && i < c->count; i++) {
        PyObject *item = PyTuple_GetItem(items, (Py_ssize_t)i);
        fine = needed ? py_int(&c->numbers[i], item) : py_int_or(&c->numbers[i], item, none);
    }
    Py_DECREF(items);
    if (!fine) py_numbers_close(c);
    return fine;
}

/* The one letter of a format of whole numbers in native order; 0: another one. */
static char integer_format(const char *format) {
    if (format == NULL) return 'B';
    if (format[0] == '@' || format[0] == '=' || format[0] == '<') format++;
    return format[0] != '\0' && format[1] == '\0' && strchr("bBhHiIlLqQ", format[0]) != NULL
               ? format[0]
               : '\0';
}

bool py_numbers_open(py_numbers *c, const char *name, bool needed, int64_t none, PyObject *object) {
    *c = (py_numbers){0};
    if (object == NULL || object == Py_None) {
        if (needed) PyErr_Format(PyExc_TypeError, "%s is needed", name);
        return !needed;
    }
    c->given = true;
    if (PyObject_CheckBuffer(object)) {
        if (PyObject_GetBuffer(object, &c->view, PyBUF_STRIDES | PyBUF_FORMAT) != 0) return false;
        c->viewed = true;
        c->format = integer_format(c->view.format);
        if (c->view.ndim == 1 && c->format != '\0') {
            c->count = (size_t)c->view.shape[0];
            return true;
        }
        PyErr_Format(PyExc_TypeError,
                     "%s has to be a one-dimensional array of whole numbers in native order; this "
                     "one has %d dimensions and the format '%s'",
                     name, c->view.ndim, c->view.format == NULL ? "B" : c->view.format);
        py_numbers_close(c);
        return false;
    }
    return read_sequence(c, object, needed, none);
}

static int64_t number_at(const char *at, char format, Py_ssize_t size) {
    const bool is_signed = format >= 'a';
    if (size == 8) {
        int64_t n;
        memcpy(&n, at, 8);
        return n;
    }
    if (size == 4) {
        int32_t n;
        memcpy(&n, at, 4);
        return is_signed ? n : (int64_t)(uint32_t)n;
    }
    if (size == 2) {
        int16_t n;
        memcpy(&n, at, 2);
        return is_signed ? n : (int64_t)(uint16_t)n;
    }
    return is_signed ? (int64_t)(signed char)*at : (int64_t)(unsigned char)*at;
}

bool py_numbers_get(int64_t *out, const py_numbers *c, size_t i, int64_t none) {
    *out = none;
    if (!c->given) return true;
    if (c->viewed) {
        const char *at = (const char *)c->view.buf + (Py_ssize_t)i * c->view.strides[0];
        *out = number_at(at, c->format, c->view.itemsize);
        if (*out >= 0 || c->view.itemsize < 8 || c->format >= 'a') return true;
        PyErr_Format(PyExc_OverflowError, "%llu does not fit 64 bits with a sign",
                     (unsigned long long)*out);
        return false;
    }
    *out = c->numbers[i];
    return true;
}

/* ---- columns out ------------------------------------------------------------------- */

typedef struct py_column {
    PyObject_HEAD PyObject *owner;
    const int64_t *first;
    Py_ssize_t count;
    Py_ssize_t stride; /* in bytes; below 0 in a slice that runs backwards */
} py_column;

/* Longer ones print this many numbers of each end. */
enum { SHOWN = 8 };

PY_TRAVERSE(column_traverse, py_column, self->owner)

static void column_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    Py_XDECREF(((py_column *)object)->owner);
    py_free(object);
}

static int column_getbuffer(PyObject *object, Py_buffer *view, int flags) {
    py_column *self = (py_column *)object;
    if ((flags & PyBUF_WRITABLE) != 0 || (flags & PyBUF_STRIDES) != PyBUF_STRIDES) {
        PyErr_SetString(PyExc_BufferError, "the numbers are read-only and have a stride");
        view->obj = NULL;
        return -1;
    }
    *view = (Py_buffer){.buf = (void *)self->first,
                        .obj = object,
                        .len = self->count * (Py_ssize_t)sizeof(int64_t),
                        .itemsize = sizeof(int64_t),
                        .readonly = 1,
                        .ndim = 1,
                        .format = (flags & PyBUF_FORMAT) != 0 ? "q" : NULL,
                        .shape = &self->count,
                        .strides = &self->stride};
    Py_INCREF(object);
    return 0;
}

PyObject *py_column_view(PyObject *owner, const int64_t *first, size_t count, size_t stride) {
    py_column *made = py_new(py.column);
    if (made == NULL) return NULL;
    made->owner = py_keep(owner);
    made->first = first;
    made->count = (Py_ssize_t)count;
    made->stride = (Py_ssize_t)stride;
    return (PyObject *)made;
}

static PyObject *row_at(const py_column *self, Py_ssize_t i) {
    const char *at = (const char *)self->first + i * self->stride;
    int64_t number;
    memcpy(&number, at, sizeof number);
    return PyLong_FromLongLong(number);
}

static Py_ssize_t column_length(PyObject *self) {
    return ((py_column *)self)->count;
}

static PyObject *column_item(PyObject *object, Py_ssize_t i) {
    const py_column *self = (py_column *)object;
    if (i >= 0 && i < self->count) return row_at(self, i);
    PyErr_SetString(PyExc_IndexError, "the column has no such row");
    return NULL;
}

static PyObject *column_slice(const py_column *self, PyObject *slice) {
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(slice, &start, &stop, &step) != 0) return NULL;
    const Py_ssize_t count = PySlice_AdjustIndices(self->count, &start, &stop, step);
    py_column *made = py_new(py.column);
    if (made == NULL) return NULL;
    made->owner = py_keep(self->owner);
    made->count = count;
    made->stride = count > 1 ? self->stride * step : self->stride;
    made->first =
        count == 0
            ? self->first
            : (const int64_t *)(const void *)((const char *)self->first + start * self->stride);
    return (PyObject *)made;
}

static PyObject *column_subscript(PyObject *object, PyObject *key) {
    if (PySlice_Check(key)) return column_slice((py_column *)object, key);
    const Py_ssize_t i = PyNumber_AsSsize_t(key, PyExc_IndexError);
    if (i == -1 && PyErr_Occurred()) return NULL;
    return column_item(object, i < 0 ? i + ((py_column *)object)->count : i);
}

static PyObject *column_tolist(PyObject *object, PyObject *unused) {
    const py_column *self = (py_column *)object;
    (void)unused;
    PyObject *list = PyList_New(0);
    for (Py_ssize_t i = 0; list != NULL && i < self->count; i++)
        if (!py_append(list, row_at(self, i))) Py_CLEAR(list);
    return list;
}

/* Equal to lists, tuples and columns of the same numbers. */
static PyObject *column_compare(PyObject *object, PyObject *other, int operation) {
    const bool column = PyObject_TypeCheck(other, py.column);
    if ((operation != Py_EQ && operation != Py_NE) ||
        !(column || PyList_Check(other) || PyTuple_Check(other)))
        return py_keep(Py_NotImplemented);
    PyObject *left = column_tolist(object, NULL);
    PyObject *right = column ? column_tolist(other, NULL) : PySequence_List(other);
    PyObject *answer =
        left == NULL || right == NULL ? NULL : PyObject_RichCompare(left, right, operation);
    Py_XDECREF(left);
    Py_XDECREF(right);
    return answer;
}

static bool append_shown(PyObject *words, const py_column *self, Py_ssize_t from, Py_ssize_t to) {
    for (Py_ssize_t i = from; i < to; i++) {
        PyObject *number = row_at(self, i);
        PyObject *word = number == NULL ? NULL : PyObject_Str(number);
        Py_XDECREF(number);
        if (!py_append(words, word)) return false;
    }
    return true;
}

static PyObject *column_repr(PyObject *object) {
    const py_column *self = (py_column *)object;
    const bool whole = self->count <= 2 * SHOWN;
    PyObject *words = PyList_New(0), *comma = PyUnicode_FromString(", "), *out = NULL;
    if (words != NULL && comma != NULL &&
        append_shown(words, self, 0, whole ? self->count : SHOWN) &&
        (whole || (py_append(words, PyUnicode_FromString("...")) &&
                   append_shown(words, self, self->count - SHOWN, self->count)))) {
        PyObject *text = PyUnicode_Join(comma, words);
        if (text != NULL)
            out = whole ? PyUnicode_FromFormat("[%U]", text)
                        : PyUnicode_FromFormat("[%U] (%zd numbers)", text, self->count);
        Py_XDECREF(text);
    }
    Py_XDECREF(words);
    Py_XDECREF(comma);
    return out;
}

static PyObject *column_format(PyObject *self, void *unused) {
    (void)self;
    (void)unused;
    return PyUnicode_FromString("q");
}

static PyObject *column_readonly(PyObject *self, void *unused) {
    (void)self;
    (void)unused;
    return PyBool_FromLong(1);
}

static PyMethodDef column_methods[] = {
    {"tolist", column_tolist, METH_NOARGS, "tolist($self, /)\n--\n\nThe numbers."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef column_fields[] = {
    {.name = "format", .get = column_format, .doc = "'q', as the struct module writes it."},
    {.name = "readonly", .get = column_readonly, .doc = "True: the numbers belong to a result."},
    {.name = NULL}};

static PyType_Slot column_slots[] = {
    {Py_tp_doc, "Numbers of another object: a sequence, and a buffer for numpy.asarray."},
    {Py_tp_dealloc, PY_SLOT(column_dealloc)},
    {Py_tp_traverse, PY_SLOT(column_traverse)},
    {Py_tp_repr, PY_SLOT(column_repr)},
    {Py_tp_iter, PY_SLOT(PySeqIter_New)},
    {Py_tp_richcompare, PY_SLOT(column_compare)},
    {Py_tp_methods, column_methods},
    {Py_tp_getset, column_fields},
    {Py_sq_length, PY_SLOT(column_length)},
    {Py_sq_item, PY_SLOT(column_item)},
    {Py_mp_length, PY_SLOT(column_length)},
    {Py_mp_subscript, PY_SLOT(column_subscript)},
    {Py_bf_getbuffer, PY_SLOT(column_getbuffer)},
    {0, NULL}};

static PyType_Spec column_spec = {.name = "spad._spad.Column",
                                  .basicsize = sizeof(py_column),
                                  .flags = PY_FLAGS | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                  .slots = column_slots};

int py_add_column(PyObject *module) {
    return py_add_type(module, &py.column, &column_spec);
}
