/* SPDX-License-Identifier: Apache-2.0
 *
 * Trace: the log of what was allocated and freed. Managers and devices write one; a
 * front end can write its own.
 */
#include "common.h"
#include "spad/experimental/trace_queries.h"

static PyObject *trace_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"target", NULL};
    PyObject *target;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O:Trace", names, &target)) return NULL;
    py_trace *self = py_new(type);
    if (self == NULL) return NULL;
    spad_error error;
    self->target = (PyObject *)py_target_of(target);
    if (self->target != NULL && spad_trace_create(&self->trace, ((py_target *)self->target)->target,
                                                  NULL, &error) != SPAD_OK)
        py_raise(&error);
    if (self->trace == NULL) Py_CLEAR(self);
    return (PyObject *)self;
}

PY_TRAVERSE(trace_traverse, py_trace, self->target)

static void trace_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    py_trace *self = (py_trace *)object;
    spad_trace_destroy(self->trace);
    Py_XDECREF(self->target);
    py_free(object);
}

static spad_trace *trace_in(PyObject *self) {
    return ((py_trace *)self)->trace;
}

static bool space_in(size_t *out, PyObject *self, PyObject *name) {
    return py_space(out, spad_trace_get_target(trace_in(self)), name);
}

static const char *space_name(const spad_trace *trace, size_t space) {
    return spad_trace_get_target(trace)->spaces[space].name;
}

/* ---- reading ----------------------------------------------------------------------- */

static PyObject *tensor_row(const spad_trace *trace, const spad_tensor *t) {
    return Py_BuildValue("{s:N,s:N,s:N,s:s,s:s,s:L,s:L,s:N,s:L,s:N,s:L,s:L,s:N}", "name",
                         py_string(t->name), "shape", py_tuple_of(t->shape.dims, t->shape.rank),
                         "dtype",
                         py_string(t->dtype == SPAD_DTYPE_NONE ? NULL : spad_dtype_name(t->dtype)),
                         "mode", spad_mode_name(t->mode), "space", space_name(trace, t->space),
                         "lane", (long long)t->rect.lane, "lanes", (long long)t->rect.lanes, "byte",
                         py_fact(t->rect.byte, SPAD_NO_BYTE), "bytes", (long long)t->rect.bytes,
                         "scope", py_fact(t->scope, -1), "section", (long long)t->section, "begin",
                         (long long)t->t_begin, "end", py_fact(t->t_end, SPAD_OPEN_END));
}

static PyObject *trace_tensors(PyObject *self, PyObject *unused) {
    (void)unused;
    const spad_trace *trace = trace_in(self);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < spad_trace_tensor_count(trace); i++)
        if (!py_append(list, tensor_row(trace, spad_trace_get_tensor(trace, i)))) Py_CLEAR(list);
    return list;
}

static PyObject *scope_row(const spad_trace *trace, const spad_scope *s) {
    return Py_BuildValue("{s:N,s:s,s:L,s:N,s:i,s:L,s:L,s:L,s:N}", "name", py_string(s->name),
                         "space", space_name(trace, s->space), "degree", (long long)s->degree,
                         "parent", py_fact(s->parent, -1), "depth", (int)s->depth, "start",
                         (long long)s->start, "high_water", (long long)s->high_water, "begin",
                         (long long)s->t_begin, "end", py_fact(s->t_end, SPAD_OPEN_END));
}

static PyObject *trace_scopes(PyObject *self, PyObject *unused) {
    (void)unused;
    const spad_trace *trace = trace_in(self);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < spad_trace_scope_count(trace); i++)
        if (!py_append(list, scope_row(trace, spad_trace_get_scope(trace, i)))) Py_CLEAR(list);
    return list;
}

static PyObject *event_row(const spad_trace *trace, const spad_event *e) {
    static const char *const kinds[] = {[SPAD_EVENT_SCOPE_OPEN] = "scope_open",
                                        [SPAD_EVENT_SCOPE_CLOSE] = "scope_close",
                                        [SPAD_EVENT_SECTION] = "section",
                                        [SPAD_EVENT_ALLOC] = "alloc",
                                        [SPAD_EVENT_FREE] = "free",
                                        [SPAD_EVENT_ROLLBACK] = "rollback",
                                        [SPAD_EVENT_COPY] = "copy"};
    return Py_BuildValue("{s:s,s:s,s:i,s:N,s:N,s:N,s:L,s:L,s:L}", "kind", kinds[e->kind], "space",
                         space_name(trace, e->space), "depth", (int)e->depth, "tensor",
                         py_fact(e->tensor, -1), "source", py_fact(e->source, -1), "scope",
                         py_fact(e->scope, -1), "address", (long long)e->address, "bytes",
                         (long long)e->bytes, "count", (long long)e->count);
}

static PyObject *trace_events(PyObject *self, PyObject *unused) {
    (void)unused;
    const spad_trace *trace = trace_in(self);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < spad_trace_event_count(trace); i++)
        if (!py_append(list, event_row(trace, spad_trace_get_event(trace, i)))) Py_CLEAR(list);
    return list;
}

static PyObject *trace_stats(PyObject *self, PyObject *name) {
    size_t space;
    spad_space_stats s;
    spad_error error;
    if (!space_in(&space, self, name)) return NULL;
    if (spad_trace_get_stats(&s, trace_in(self), space, &error) != SPAD_OK) return py_raise(&error);
    return Py_BuildValue("{s:L,s:L,s:L,s:N,s:L,s:L,s:L}", "live_tensors", (long long)s.live_tensors,
                         "live_bytes", (long long)s.live_bytes, "peak_bytes",
                         (long long)s.peak_bytes, "peak_time", py_fact(s.peak_time, -1),
                         "peak_tensors", (long long)s.peak_tensors, "total_tensors",
                         (long long)s.total_tensors, "total_bytes", (long long)s.total_bytes);
}

static PyObject *trace_live_at(PyObject *self, PyObject *args) {
    PyObject *name;
    long long time;
    size_t space, count;
    spad_error error;
    if (!PyArg_ParseTuple(args, "UL:live_at", &name, &time) || !space_in(&space, self, name))
        return NULL;
    const spad_trace *trace = trace_in(self);
    if (spad_trace_list_live(&count, NULL, 0, trace, space, time, &error) != SPAD_OK)
        return py_raise(&error);
    int64_t *numbers = PyMem_Calloc(count + 1, sizeof *numbers);
    if (numbers == NULL) return PyErr_NoMemory();
    PyObject *list = NULL;
    if (spad_trace_list_live(&count, numbers, count, trace, space, time, &error) == SPAD_OK)
        list = PyList_New(0);
    else
        py_raise(&error);
    for (size_t i = 0; list != NULL && i < count; i++)
        if (!py_append(list, PyLong_FromLongLong(numbers[i]))) Py_CLEAR(list);
    PyMem_Free(numbers);
    return list;
}

static PyObject *trace_largest_hole(PyObject *self, PyObject *args) {
    PyObject *name, *top = Py_None;
    long long time, lower = 0;
    size_t space;
    int64_t upper, bytes, at;
    spad_error error;
    if (!PyArg_ParseTuple(args, "UL|LO:largest_hole", &name, &time, &lower, &top) ||
        !space_in(&space, self, name) ||
        !py_int_or(&upper, top,
                   spad_space_get_usable(&spad_trace_get_target(trace_in(self))->spaces[space])))
        return NULL;
    if (spad_trace_get_largest_hole(&bytes, &at, trace_in(self), space, time, lower, upper,
                                    &error) != SPAD_OK)
        return py_raise(&error);
    return Py_BuildValue("(LL)", (long long)at, (long long)bytes);
}

static spad_status write_tree(const void *object, const spad_sink *sink, spad_error *error) {
    const spad_trace *trace = object;
    return spad_trace_write_tree(trace, SPAD_ALL_SPACES, 0, spad_trace_event_count(trace),
                                 SPAD_TREE_EXACT, sink, error);
}

PY_METHOD(trace_tree, py_text(write_tree, trace_in(self)))

static Py_ssize_t trace_length(PyObject *self) {
    return (Py_ssize_t)spad_trace_event_count(trace_in(self));
}

PY_GETTER(trace_target, py_keep(((py_trace *)self)->target))

/* ---- writing ----------------------------------------------------------------------- */

static PyObject *trace_open_scope(PyObject *self, PyObject *const *args, Py_ssize_t count,
                                  PyObject *keywords) {
    static const char *const names[] = {"space", "name", "degree", "parent", "start", NULL};
    PyObject *given[5];
    size_t space;
    const char *name = NULL;
    int64_t degree, parent, start, number;
    spad_error error;
    if (!py_take(given, "open_scope", names, 1, args, count, keywords) ||
        !space_in(&space, self, given[0]) ||
        !py_utf8(&name, NULL, given[1] == Py_None ? NULL : given[1]) ||
        !py_int_or(&degree, given[2], 1) || !py_int_or(&parent, given[3], -1) ||
        !py_int_or(&start, given[4], 0))
        return NULL;
    if (spad_trace_open_scope(&number, trace_in(self), space, name, degree, parent, start,
                              &error) != SPAD_OK)
        return py_raise(&error);
    return PyLong_FromLongLong(number);
}

static PyObject *trace_close_scope(PyObject *self, PyObject *args) {
    long long scope, bytes = 0, high_water = 0;
    spad_error error;
    if (!PyArg_ParseTuple(args, "L|LL:close_scope", &scope, &bytes, &high_water)) return NULL;
    return py_done(spad_trace_close_scope(trace_in(self), scope, bytes, high_water, &error),
                   &error);
}

static PyObject *trace_section(PyObject *self, PyObject *args) {
    long long scope, section, address;
    spad_error error;
    if (!PyArg_ParseTuple(args, "LLL:section", &scope, &section, &address)) return NULL;
    return py_done(spad_trace_section(trace_in(self), scope, section, address, &error), &error);
}

static bool read_mode(spad_mode *out, const char *name) {
    for (int i = 0; i < SPAD_MODE_COUNT; i++) {
        if (strcmp(name, spad_mode_name((spad_mode)i)) != 0) continue;
        *out = (spad_mode)i;
        return true;
    }
    PyErr_Format(py.errors[PY_ARGUMENT_ERROR],
                 "'%s' is not a placement mode; there are auto, at, mod, func, stack, heap, pool "
                 "and alias",
                 name);
    return false;
}

static PyObject *trace_alloc(PyObject *self, PyObject *args, PyObject *keywords) {
    static char *names[] = {"space", "name",  "byte", "bytes", "lane",    "lanes",
                            "shape", "dtype", "mode", "scope", "section", NULL};
    PyObject *space, *byte, *shape = Py_None, *dtype = Py_None, *scope = Py_None;
    const char *mode = "at";
    long long bytes, lane = 0, lanes = 1, section = 0;
    spad_tensor tensor = {0};
    int64_t dims[SPAD_RANK_MAX], number;
    spad_error error;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "UzOL|LLOOsOL:alloc", names, &space,
                                     &tensor.name, &byte, &bytes, &lane, &lanes, &shape, &dtype,
                                     &mode, &scope, &section) ||
        !space_in(&tensor.space, self, space) ||
        !py_int_or(&tensor.rect.byte, byte, SPAD_NO_BYTE) || !read_mode(&tensor.mode, mode) ||
        !py_int_or(&tensor.scope, scope, -1) ||
        (shape != Py_None && !py_shape(&tensor.shape, dims, shape)) ||
        (dtype != Py_None && !py_dtype(&tensor.dtype, dtype)))
        return NULL;
    tensor.rect.bytes = bytes;
    tensor.rect.lane = lane;
    tensor.rect.lanes = lanes;
    tensor.section = section;
    if (spad_trace_alloc(&number, trace_in(self), &tensor, tensor.rect.byte, &error) != SPAD_OK)
        return py_raise(&error);
    return PyLong_FromLongLong(number);
}

static PyObject *trace_free(PyObject *self, PyObject *args) {
    long long tensor, heap_left = 0;
    PyObject *around = Py_None;
    int64_t scope;
    spad_error error;
    if (!PyArg_ParseTuple(args, "L|OL:free", &tensor, &around, &heap_left) ||
        !py_int_or(&scope, around, -1))
        return NULL;
    return py_done(spad_trace_free(trace_in(self), tensor, scope, heap_left, &error), &error);
}

static PyObject *trace_rollback(PyObject *self, PyObject *args) {
    PyObject *name, *around = Py_None;
    size_t space;
    int64_t scope;
    spad_error error;
    if (!PyArg_ParseTuple(args, "U|O:rollback", &name, &around) || !space_in(&space, self, name) ||
        !py_int_or(&scope, around, -1))
        return NULL;
    return py_done(spad_trace_rollback(trace_in(self), space, scope, &error), &error);
}

static PyObject *trace_copy(PyObject *self, PyObject *args) {
    PyObject *name, *to, *from;
    long long bytes;
    int on_stream = 0;
    size_t space;
    int64_t target, source;
    spad_error error;
    if (!PyArg_ParseTuple(args, "UOOL|p:copy", &name, &to, &from, &bytes, &on_stream) ||
        !space_in(&space, self, name) || !py_int_or(&target, to, -1) ||
        !py_int_or(&source, from, -1))
        return NULL;
    return py_done(
        spad_trace_copy(trace_in(self), space, target, source, bytes, on_stream != 0, &error),
        &error);
}

static PyMethodDef trace_methods[] = {
    {"tensors", trace_tensors, METH_NOARGS,
     "tensors($self, /)\n--\n\nEvery tensor with its place and lifetime."},
    {"scopes", trace_scopes, METH_NOARGS,
     "scopes($self, /)\n--\n\nEvery scope with its high-water mark."},
    {"events", trace_events, METH_NOARGS,
     "events($self, /)\n--\n\nEvery event; its time is its place in the list."},
    {"stats", trace_stats, METH_O, "stats($self, space, /)\n--\n\nPeaks and sums of a space."},
    {"live_at", trace_live_at, METH_VARARGS,
     "live_at($self, space, time, /)\n--\n\nNumbers of the tensors alive then, largest first."},
    {"largest_hole", trace_largest_hole, METH_VARARGS,
     "largest_hole($self, space, time, lower=0, upper=None, /)\n--\n\nThe largest run of bytes "
     "that is free then in every lane."},
    {"tree", trace_tree, METH_NOARGS,
     "tree($self, /)\n--\n\nScopes, sections and allocations as a tree."},
    {"open_scope", PY_FUNC(trace_open_scope), PY_FAST,
     "open_scope($self, space, name=None, degree=1, parent=None, start=0)\n--\n\nWrites: a scope "
     "opens."},
    {"close_scope", trace_close_scope, METH_VARARGS,
     "close_scope($self, scope, bytes=0, high_water=0, /)\n--\n\nWrites: a scope closes."},
    {"section", trace_section, METH_VARARGS,
     "section($self, scope, section, address, /)\n--\n\nWrites: the next section of a scope "
     "begins."},
    {"alloc", PY_FUNC(trace_alloc), METH_VARARGS | METH_KEYWORDS,
     "alloc($self, space, name, byte, bytes, lane=0, lanes=1, shape=None, dtype=None, mode='at', "
     "scope=None, section=0)\n--\n\nWrites: a tensor begins; byte None: no address."},
    {"free", trace_free, METH_VARARGS,
     "free($self, tensor, scope=None, heap_left=0, /)\n--\n\nWrites: a tensor ends."},
    {"rollback", trace_rollback, METH_VARARGS,
     "rollback($self, space, scope=None, /)\n--\n\nWrites: what follows undoes something."},
    {"copy", trace_copy, METH_VARARGS,
     "copy($self, space, to, source, bytes, on_stream=False, /)\n--\n\nWrites: bytes of a tensor "
     "are copied to another; None: a side that is not of the trace."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef trace_fields[] = {{.name = "target", .get = trace_target, .doc = "Its chip."},
                                     {.name = NULL}};

PY_TYPE_OPEN(trace, "Trace",
             "Trace(target)\n--\n\nThe log of what was allocated and freed; len() is its events.",
             {Py_tp_new, PY_SLOT(trace_new)}, {Py_tp_methods, trace_methods},
             {Py_tp_getset, trace_fields}, {Py_sq_length, PY_SLOT(trace_length)});

int py_add_trace(PyObject *module) {
    return py_add_type(module, &py.trace, &trace_spec);
}
