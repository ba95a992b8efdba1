/* SPDX-License-Identifier: Apache-2.0
 *
 * Target: a chip.
 */
#include "common.h"

PY_WRITER(spad_target, text, TEXT)
PY_WRITER(spad_target, json, JSON)

/* ---- targets ----------------------------------------------------------------------- */

PyObject *py_target_wrap(const spad_target *target) {
    py_target *self = py_new(py.target);
    if (self != NULL) self->target = target;
    return (PyObject *)self;
}

py_target *py_target_of(PyObject *object) {
    if (PyObject_TypeCheck(object, py.target)) {
        Py_INCREF(object);
        return (py_target *)object;
    }
    const char *name;
    PyObject *keep;
    if (!py_name(&name, &keep, object)) return NULL;
    const spad_target *found;
    spad_error error;
    const spad_status status = spad_target_find(&found, name == NULL ? "None" : name, &error);
    Py_XDECREF(keep);
    if (status != SPAD_OK) return (py_target *)py_raise(&error);
    return (py_target *)py_target_wrap(found);
}

static PyObject *target_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"name", NULL};
    const char *name;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s:Target", names, &name)) return NULL;
    py_target *self = py_new(type);
    if (self == NULL) return NULL;
    spad_error error;
    if (spad_target_find(&self->target, name, &error) == SPAD_OK) return (PyObject *)self;
    Py_DECREF((PyObject *)self);
    return py_raise(&error);
}

static PyObject *target_parse(PyObject *type, PyObject *const *args, Py_ssize_t count,
                              PyObject *keywords) {
    static const char *const names[] = {"text", "file", NULL};
    PyObject *given[2];
    if (!py_take(given, "parse", names, 1, args, count, keywords)) return NULL;
    Py_ssize_t length;
    const char *text = NULL, *file = "<text>";
    if (!py_utf8(&text, &length, given[0]) || !py_utf8(&file, NULL, given[1])) return NULL;
    py_target *self = py_new((PyTypeObject *)type);
    if (self == NULL) return NULL;
    spad_diagnostics *diagnostics = NULL;
    spad_error error;
    spad_status status = spad_diagnostics_create(&diagnostics, NULL, &error);
    if (status == SPAD_OK)
        status =
            spad_target_parse(&self->owned, text, (size_t)length, file, diagnostics, NULL, &error);
    self->target = self->owned;
    if (status != SPAD_OK) {
        py_raise_diagnosed(&error, diagnostics);
        Py_CLEAR(self);
    }
    spad_diagnostics_destroy(diagnostics);
    return (PyObject *)self;
}

PY_TRAVERSE(target_traverse, py_target, NULL)

static void target_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    spad_target_destroy(((py_target *)object)->owned);
    py_free(object);
}

static const spad_target *target_in(PyObject *self) {
    return ((py_target *)self)->target;
}

PY_METHOD(target_text, py_text(spad_target_write_text_any, target_in(self)))

PY_METHOD(target_json, py_text(spad_target_write_json_any, target_in(self)))

PY_GETTER(target_name, py_string(target_in(self)->name))
PY_GETTER(target_about, py_string(target_in(self)->about))
PY_GETTER(target_family, py_string(target_in(self)->family))

bool py_space(size_t *out, const spad_target *target, PyObject *name) {
    const char *text = py_chars(name);
    spad_error error;
    if (text == NULL) return false;
    return spad_target_find_space(out, target, text, &error) == SPAD_OK || py_raise(&error) != NULL;
}

static const spad_space *space_of(PyObject *self, PyObject *name) {
    size_t number;
    if (!py_space(&number, target_in(self), name)) return NULL;
    return &target_in(self)->spaces[number];
}

static PyObject *target_usable(PyObject *self, PyObject *name) {
    const spad_space *space = space_of(self, name);
    if (space == NULL) return NULL;
    return py_fact(spad_space_get_usable(space), SPAD_UNBOUNDED);
}

static PyObject *target_check_lanes(PyObject *self, PyObject *args) {
    PyObject *name;
    long long lane, lanes;
    spad_error error;
    if (!PyArg_ParseTuple(args, "ULL:check_lanes", &name, &lane, &lanes)) return NULL;
    const spad_space *space = space_of(self, name);
    if (space == NULL) return NULL;
    return py_done(spad_space_check_lanes(space, lane, lanes, &error), &error);
}

static PyObject *target_round(PyObject *self, PyObject *args) {
    PyObject *name;
    long long bytes;
    int64_t rounded;
    spad_error error;
    if (!PyArg_ParseTuple(args, "UL:round", &name, &bytes)) return NULL;
    const spad_space *space = space_of(self, name);
    if (space == NULL) return NULL;
    if (spad_space_round(&rounded, space, bytes, &error) != SPAD_OK) return py_raise(&error);
    return PyLong_FromLongLong(rounded);
}

static PyMethodDef target_methods[] = {
    {"parse", PY_FUNC(target_parse), PY_FAST | METH_CLASS,
     "parse($type, text, file='<text>')\n--\n\nA chip from the text of a target file."},
    {"text", target_text, METH_NOARGS, "text($self, /)\n--\n\nThe chip as a target file."},
    {"json", target_json, METH_NOARGS, "json($self, /)\n--\n\nThe chip as JSON."},
    {"usable", target_usable, METH_O,
     "usable($self, space, /)\n--\n\nBytes per lane that tensors may use; None: no limit."},
    {"check_lanes", target_check_lanes, METH_VARARGS,
     "check_lanes($self, space, lane, lanes, /)\n--\n\nRaises ArgumentError if a tile may not "
     "start there."},
    {"round", target_round, METH_VARARGS,
     "round($self, space, bytes, /)\n--\n\nBytes per lane that a tile really takes there."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef target_fields[] = {
    {.name = "data", .get = py_data, .doc = "Everything about the chip as a dict."},

    {.name = "name", .get = target_name, .doc = "Its name."},
    {.name = "about", .get = target_about, .doc = "One line about it."},
    {.name = "family", .get = target_family, .doc = "neuron, nvidia ..."},
    {.name = NULL}};

PY_TYPE_OPEN(target, "Target", "Target(name)\n--\n\nA chip: its memory spaces and engines.",
             {Py_tp_new, PY_SLOT(target_new)}, {Py_tp_methods, target_methods},
             {Py_tp_getset, target_fields});

static PyObject *target_names(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < spad_target_count(); i++) {
        if (!py_append(list, py_string(spad_target_get(i)->name))) Py_CLEAR(list);
    }
    return list;
}

static PyMethodDef functions[] = {
    {"target_names", target_names, METH_NOARGS,
     "target_names($module, /)\n--\n\nThe names of the built-in chips."},
    {NULL, NULL, 0, NULL}};

int py_add_target(PyObject *module) {
    if (py_add_type(module, &py.target, &target_spec) != 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
