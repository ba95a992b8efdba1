/* SPDX-License-Identifier: Apache-2.0
 *
 * Walk: the events of a kernel, one at a time, as an iterator of dicts.
 */
#include "common.h"

#include <assert.h>

typedef struct py_walk {
    PyObject_HEAD spad_walk *walk;
    PyObject *kernel;
    PyObject *layout; /* or NULL */
    PyObject *trace;  /* or NULL */
} py_walk;

static const spad_kernel *kernel_in(PyObject *self) {
    return ((py_kernel *)((py_walk *)self)->kernel)->kernel;
}

/* A name, a number, or "all". */
static bool read_agent(int64_t *out, const spad_kernel *kernel, PyObject *object) {
    *out = SPAD_WALK_ALL;
    if (object == NULL || object == Py_None) return true;
    if (!PyUnicode_Check(object)) return py_int(out, object);
    if (PyUnicode_CompareWithASCIIString(object, "all") == 0) return true;
    for (size_t i = 0; i < spad_kernel_agent_count(kernel); i++) {
        *out = (int64_t)i;
        if (PyUnicode_CompareWithASCIIString(object, spad_kernel_get_agent(kernel, i)->name) == 0)
            return true;
    }
    PyErr_Format(py.errors[PY_ARGUMENT_ERROR], "the kernel has no agent '%U'", object);
    return false;
}

static PyObject *walk_make(PyObject *module, PyObject *const *args, Py_ssize_t count,
                           PyObject *keywords) {
    (void)module;
    static const char *const names[] = {"kernel", "agent", "layout", "trace", NULL};
    PyObject *given[4];
    if (!py_take(given, "walk", names, 1, args, count, keywords)) return NULL;
    const bool placed = given[2] != NULL && given[2] != Py_None;
    const bool traced = given[3] != NULL && given[3] != Py_None;
    if (!PyObject_TypeCheck(given[0], py.kernel) ||
        (placed && !PyObject_TypeCheck(given[2], py.layout)) ||
        (traced && !PyObject_TypeCheck(given[3], py.trace))) {
        PyErr_SetString(PyExc_TypeError, "a Kernel, and a Layout and a Trace or None, are needed");
        return NULL;
    }
    const spad_kernel *kernel = ((py_kernel *)given[0])->kernel;
    spad_walk_options options = {0};
    spad_error error;
    if (!read_agent(&options.agent, kernel, given[1])) return NULL;
    py_walk *self = py_new(py.walk);
    if (self == NULL) return NULL;
    self->kernel = py_keep(given[0]);
    if (placed) {
        self->layout = py_keep(given[2]);
        options.layout = ((py_layout *)given[2])->layout;
    }
    if (traced) {
        self->trace = py_keep(given[3]);
        options.trace = ((py_trace *)given[3])->trace;
    }
    if (spad_walk_create(&self->walk, kernel, &options, &error) == SPAD_OK) return (PyObject *)self;
    Py_DECREF((PyObject *)self);
    return py_raise(&error);
}

PY_TRAVERSE(walk_traverse, py_walk, self->kernel, self->layout, self->trace)

static void walk_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    py_walk *self = (py_walk *)object;
    spad_walk_destroy(self->walk);
    Py_XDECREF(self->trace);
    Py_XDECREF(self->layout);
    Py_XDECREF(self->kernel);
    py_free(object);
}

/* ---- events ------------------------------------------------------------------------ */

static const char *const kinds[] = {
    [SPAD_WALK_END] = "end",
    [SPAD_WALK_TENSOR] = "tensor",
    [SPAD_WALK_ALLOC] = "alloc",
    [SPAD_WALK_FREE] = "free",
    [SPAD_WALK_SCOPE_OPEN] = "scope_open",
    [SPAD_WALK_SCOPE_CLOSE] = "scope_close",
    [SPAD_WALK_SECTION] = "section",
    [SPAD_WALK_LOOP_BEGIN] = "loop_begin",
    [SPAD_WALK_ITERATION] = "iteration",
    [SPAD_WALK_LOOP_END] = "loop_end",
    [SPAD_WALK_OPERATION] = "operation",
    [SPAD_WALK_SYNC] = "sync",
    [SPAD_WALK_FORK] = "fork",
    [SPAD_WALK_AGENT_BEGIN] = "agent_begin",
    [SPAD_WALK_AGENT_END] = "agent_end",
    [SPAD_WALK_JOIN] = "join",
};

static PyObject *access_row(const spad_kernel *kernel, const spad_walk_access *a) {
    return Py_BuildValue(
        "{s:s,s:N,s:L,s:L,s:O,s:O,s:N,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L}", "kind",
        py_access_word(a->kind), "tensor", py_tensor_name(kernel, a->tensor), "tile",
        (long long)a->tile, "life", (long long)a->life, "live", a->live ? Py_True : Py_False,
        "placed", a->placed ? Py_True : Py_False, "home", py_tensor_name(kernel, a->home), "slot",
        (long long)a->slot, "lane", (long long)a->rect.lane, "lanes", (long long)a->rect.lanes,
        "byte", (long long)a->rect.byte, "bytes", (long long)a->rect.bytes, "runs",
        (long long)a->runs, "stride", (long long)a->stride, "moved", (long long)a->moved);
}

static PyObject *accesses(const spad_kernel *kernel, const spad_walk_event *e) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < e->access_count; i++)
        if (!py_append(list, access_row(kernel, &e->accesses[i]))) Py_CLEAR(list);
    return list;
}

static PyObject *completions(const spad_kernel *kernel, const spad_walk_event *e) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < e->completion_count; i++) {
        const spad_walk_completion *c = &e->completions[i];
        if (!py_append(list, Py_BuildValue("{s:s,s:N,s:L,s:L}", "kind", py_completion_word(c->kind),
                                           "object", py_sync_name(kernel, c->object), "element",
                                           (long long)c->element, "amount", (long long)c->amount)))
            Py_CLEAR(list);
    }
    return list;
}

static bool put_number(PyObject *row, const char *key, int64_t value) {
    return py_put(row, key, PyLong_FromLongLong(value));
}

/* What a kind of event has beside its time and place. */
static bool put_rest(PyObject *row, const spad_kernel *kernel, const spad_walk_event *e) {
    const spad_statement *s =
        e->statement < 0 ? NULL : spad_kernel_get_statement(kernel, (size_t)e->statement);
    switch (e->kind) {
    case SPAD_WALK_TENSOR:
    case SPAD_WALK_ALLOC:
    case SPAD_WALK_FREE:
        return py_put(row, "tensor", py_tensor_name(kernel, e->tensor)) &&
               py_put(row, "tile", py_fact(e->tile, -1)) && put_number(row, "life", e->life);
    case SPAD_WALK_SECTION: return put_number(row, "section", e->amount);
    case SPAD_WALK_LOOP_BEGIN:
    case SPAD_WALK_LOOP_END: return py_put(row, "loop", py_loop_name(kernel, e->loop));
    case SPAD_WALK_ITERATION:
        return py_put(row, "loop", py_loop_name(kernel, e->loop)) &&
               put_number(row, "value", e->value);
    case SPAD_WALK_SCOPE_OPEN:
    case SPAD_WALK_SCOPE_CLOSE: return py_put(row, "name", py_string(s == NULL ? NULL : s->name));
    case SPAD_WALK_OPERATION:
        assert(s != NULL);
        return py_put(row, "name", py_string(s->name)) &&
               py_put(row, "engine", py_engine_name(kernel, s->engine)) &&
               put_number(row, "cost", e->cost) && py_put(row, "accesses", accesses(kernel, e)) &&
               py_put(row, "completions", completions(kernel, e));
    case SPAD_WALK_SYNC:
        assert(s != NULL);
        return py_put(row, "what", py_string(spad_statement_kind_name(s->kind))) &&
               py_put(row, "object", py_sync_name(kernel, e->object)) &&
               put_number(row, "element", e->element) && put_number(row, "amount", e->amount) &&
               put_number(row, "expect", e->expect);
    default: return true;
    }
}

static PyObject *walk_next(PyObject *self) {
    const spad_kernel *kernel = kernel_in(self);
    const spad_walk_event *e;
    spad_error error;
    if (spad_walk_next(&e, ((py_walk *)self)->walk, &error) != SPAD_OK) return py_raise(&error);
    if (e->kind == SPAD_WALK_END) return NULL;
    const spad_statement *s =
        e->statement < 0 ? NULL : spad_kernel_get_statement(kernel, (size_t)e->statement);
    PyObject *row = Py_BuildValue("{s:s,s:L,s:N,s:i,s:N}", "kind", kinds[e->kind], "time",
                                  (long long)e->time, "statement", py_fact(e->statement, -1),
                                  "line", s == NULL ? 0 : (int)s->location.line, "agent",
                                  py_agent_name(kernel, e->agent));
    if (row != NULL && !put_rest(row, kernel, e)) Py_CLEAR(row);
    return row;
}

static PyObject *walk_jump(PyObject *self, PyObject *value) {
    int64_t n;
    spad_error error;
    if (!py_int(&n, value)) return NULL;
    return py_done(spad_walk_jump(((py_walk *)self)->walk, n, &error), &error);
}

static PyObject *walk_values(PyObject *self, void *unused) {
    (void)unused;
    const spad_walk *walk = ((py_walk *)self)->walk;
    const int64_t *values = spad_walk_get_values(walk);
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict != NULL && i < spad_walk_loop_count(walk); i++) {
        const int64_t loop = spad_walk_get_loop(walk, i);
        const char *name = spad_kernel_get_loop(kernel_in(self), (size_t)loop)->name;
        if (!py_put(dict, name, PyLong_FromLongLong(values[loop]))) Py_CLEAR(dict);
    }
    return dict;
}

static PyMethodDef walk_methods[] = {{"jump", walk_jump, METH_O,
                                      "jump($self, value, /)\n--\n\nStraight after an iteration: "
                                      "continues as if it were for this later value."},
                                     {NULL, NULL, 0, NULL}};

static PyGetSetDef walk_fields[] = {{.name = "values",
                                     .get = walk_values,
                                     .doc = "Variables of the open loops, the outermost first."},
                                    {.name = NULL}};

PY_TYPE_MADE(walk, "Walk", "The events of a kernel in program order, a dict each; see Kernel.walk.",
             {Py_tp_iter, PY_SLOT(PyObject_SelfIter)}, {Py_tp_iternext, PY_SLOT(walk_next)},
             {Py_tp_methods, walk_methods}, {Py_tp_getset, walk_fields});

static PyMethodDef functions[] = {
    {"walk", PY_FUNC(walk_make), PY_FAST,
     "walk($module, kernel, agent='all', layout=None, trace=None)\n--\n\nThe events of a kernel."},
    {NULL, NULL, 0, NULL}};

int py_add_walk(PyObject *module) {
    if (py_add_type(module, &py.walk, &walk_spec) != 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
