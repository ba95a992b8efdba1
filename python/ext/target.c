/* SPDX-License-Identifier: Apache-2.0
 *
 * Target and Trace.
 */
#include "common.h"

PY_WRITER(spad_target_write, spad_target)
PY_WRITER(spad_target_write_json, spad_target)

/* ---- targets -------------------------------------------------------------------------- */

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

static void target_dealloc(PyObject *object) {
    spad_target_destroy(((py_target *)object)->owned);
    py_free(object);
}

static const spad_target *target_in(PyObject *self) {
    return ((py_target *)self)->target;
}

static PyObject *target_text(PyObject *self, PyObject *unused) {
    (void)unused;
    return py_text(spad_target_write_any, target_in(self));
}

static PyObject *target_json(PyObject *self, PyObject *unused) {
    (void)unused;
    return py_text(spad_target_write_json_any, target_in(self));
}

static PyObject *target_name(PyObject *self, void *unused) {
    (void)unused;
    return py_string(target_in(self)->name);
}
static PyObject *target_about(PyObject *self, void *unused) {
    (void)unused;
    return py_string(target_in(self)->about);
}
static PyObject *target_family(PyObject *self, void *unused) {
    (void)unused;
    return py_string(target_in(self)->family);
}

static PyObject *space_of(PyObject *self, PyObject *name, const spad_space **out) {
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    size_t number;
    spad_error error;
    if (text == NULL) return NULL;
    if (spad_target_space(&number, target_in(self), text, &error) != SPAD_OK)
        return py_raise(&error);
    *out = &target_in(self)->spaces[number];
    return self;
}

static PyObject *target_usable(PyObject *self, PyObject *name) {
    const spad_space *space = NULL;
    if (space_of(self, name, &space) == NULL) return NULL;
    return py_fact(spad_space_usable(space), SPAD_UNBOUNDED);
}

static PyObject *target_check_lanes(PyObject *self, PyObject *args) {
    PyObject *name;
    long long lane, lanes;
    const spad_space *space = NULL;
    spad_error error;
    if (!PyArg_ParseTuple(args, "ULL:check_lanes", &name, &lane, &lanes) ||
        space_of(self, name, &space) == NULL)
        return NULL;
    return py_done(spad_space_check_lanes(space, lane, lanes, &error), &error);
}

static PyMethodDef target_methods[] = {
    {"parse", PY_FUNC(target_parse), PY_FAST | METH_CLASS,
     "parse(text, file='<text>')\n\nA chip from the text of a target file."},
    {"text", target_text, METH_NOARGS, "The chip as a target file."},
    {"json", target_json, METH_NOARGS, "The chip as JSON."},
    {"usable", target_usable, METH_O,
     "usable(space) -> int | None\n\nBytes per lane that tensors may use; None: no limit."},
    {"check_lanes", target_check_lanes, METH_VARARGS,
     "check_lanes(space, lane, lanes)\n\nRaises ArgumentError if a tile may not start there."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef target_fields[] = {{"name", target_name, NULL, "Its name.", NULL},
                                      {"about", target_about, NULL, "One line about it.", NULL},
                                      {"family", target_family, NULL, "neuron, nvidia ...", NULL},
                                      {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot target_slots[] = {
    {Py_tp_doc, "Target(name)\n\nA chip: its memory spaces and engines."},
    {Py_tp_new, PY_SLOT(target_new)},
    {Py_tp_dealloc, PY_SLOT(target_dealloc)},
    {Py_tp_methods, target_methods},
    {Py_tp_getset, target_fields},
    {0, NULL}};

static PyType_Spec target_spec = {"spad._spad.Target", sizeof(py_target), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, target_slots};

static PyObject *target_names(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < spad_target_count(); i++) {
        PyObject *name = py_string(spad_target_at(i)->name);
        if (name == NULL || PyList_Append(list, name) != 0) Py_CLEAR(list);
        Py_XDECREF(name);
    }
    return list;
}

/* ---- traces --------------------------------------------------------------------------- */

static PyObject *trace_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"target", NULL};
    PyObject *target;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O:Trace", names, &target)) return NULL;
    py_trace *self = py_new(type);
    if (self == NULL) return NULL;
    spad_error error;
    self->target = (PyObject *)py_target_of(target);
    if (self->target != NULL &&
        spad_trace_create(&self->trace, target_in(self->target), NULL, &error) != SPAD_OK)
        py_raise(&error);
    if (self->trace == NULL) Py_CLEAR(self);
    return (PyObject *)self;
}

static void trace_dealloc(PyObject *object) {
    py_trace *self = (py_trace *)object;
    spad_trace_destroy(self->trace);
    Py_XDECREF(self->target);
    py_free(object);
}

static const char *space_name(const spad_trace *trace, size_t space) {
    return spad_trace_target(trace)->spaces[space].name;
}

static PyObject *tensor_row(const spad_trace *trace, const spad_tensor *t) {
    return Py_BuildValue("{s:N,s:N,s:N,s:s,s:s,s:L,s:L,s:N,s:L,s:L,s:L,s:N}", "name",
                         py_string(t->name), "shape", py_tuple_of(t->shape.dims, t->shape.rank),
                         "dtype",
                         py_string(t->dtype == SPAD_DTYPE_NONE ? NULL : spad_dtype_name(t->dtype)),
                         "mode", spad_mode_name(t->mode), "space", space_name(trace, t->space),
                         "lane", (long long)t->rect.lane, "lanes", (long long)t->rect.lanes, "byte",
                         py_fact(t->rect.byte, SPAD_NO_BYTE), "bytes", (long long)t->rect.bytes,
                         "section", (long long)t->section, "begin", (long long)t->t_begin, "end",
                         py_fact(t->t_end, SPAD_OPEN_END));
}

static PyObject *trace_tensors(PyObject *object, PyObject *unused) {
    (void)unused;
    const spad_trace *trace = ((py_trace *)object)->trace;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < spad_trace_tensor_count(trace); i++) {
        PyObject *row = tensor_row(trace, spad_trace_tensor(trace, i));
        if (row == NULL || PyList_Append(list, row) != 0) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

static PyObject *trace_stats(PyObject *object, PyObject *name) {
    const py_trace *self = (py_trace *)object;
    const spad_space *space = NULL;
    spad_space_stats s;
    spad_error error;
    if (space_of(self->target, name, &space) == NULL) return NULL;
    const size_t number = (size_t)(space - target_in(self->target)->spaces);
    if (spad_trace_stats(&s, self->trace, number, &error) != SPAD_OK) return py_raise(&error);
    return Py_BuildValue("{s:L,s:L,s:L,s:N,s:L,s:L,s:L}", "live_tensors", (long long)s.live_tensors,
                         "live_bytes", (long long)s.live_bytes, "peak_bytes",
                         (long long)s.peak_bytes, "peak_time", py_fact(s.peak_time, -1),
                         "peak_tensors", (long long)s.peak_tensors, "total_tensors",
                         (long long)s.total_tensors, "total_bytes", (long long)s.total_bytes);
}

static spad_status write_tree(const void *object, const spad_sink *sink, spad_error *error) {
    const spad_trace *trace = object;
    return spad_trace_write_tree(trace, SPAD_ALL_SPACES, 0, spad_trace_event_count(trace),
                                 SPAD_TREE_EXACT, sink, error);
}

static PyObject *trace_tree(PyObject *object, PyObject *unused) {
    (void)unused;
    return py_text(write_tree, ((py_trace *)object)->trace);
}

static Py_ssize_t trace_length(PyObject *object) {
    return (Py_ssize_t)spad_trace_event_count(((py_trace *)object)->trace);
}

static PyObject *trace_target(PyObject *object, void *unused) {
    (void)unused;
    PyObject *target = ((py_trace *)object)->target;
    Py_INCREF(target);
    return target;
}

static PyMethodDef trace_methods[] = {
    {"tensors", trace_tensors, METH_NOARGS, "Every tensor with its place and lifetime."},
    {"stats", trace_stats, METH_O, "stats(space) -> dict\n\nPeaks and sums of a space."},
    {"tree", trace_tree, METH_NOARGS, "Scopes, sections and allocations as a tree."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef trace_fields[] = {{"target", trace_target, NULL, "Its chip.", NULL},
                                     {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot trace_slots[] = {
    {Py_tp_doc, "Trace(target)\n\nThe log of what was allocated and freed; len() is its events."},
    {Py_tp_new, PY_SLOT(trace_new)},
    {Py_tp_dealloc, PY_SLOT(trace_dealloc)},
    {Py_tp_methods, trace_methods},
    {Py_tp_getset, trace_fields},
    {Py_sq_length, PY_SLOT(trace_length)},
    {0, NULL}};

static PyType_Spec trace_spec = {"spad._spad.Trace", sizeof(py_trace), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, trace_slots};

static PyMethodDef functions[] = {
    {"target_names", target_names, METH_NOARGS, "The names of the built-in chips."},
    {NULL, NULL, 0, NULL}};

int py_add_target(PyObject *module) {
    if (py_add_type(module, &py.target, &target_spec) != 0 ||
        py_add_type(module, &py.trace, &trace_spec) != 0)
        return -1;
    return PyModule_AddFunctions(module, functions);
}
