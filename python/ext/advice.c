/* SPDX-License-Identifier: Apache-2.0
 *
 * Advice: changes of a kernel that keep its proof. Made with the GIL released; a kernel never
 * changes.
 */
#include "common.h"

typedef struct py_advice {
    PyObject_HEAD spad_advice *advice;
    PyObject *kernel;
} py_advice;

static const spad_advice *advice_in(PyObject *self) {
    return ((py_advice *)self)->advice;
}

/* ---- making ------------------------------------------------------------------------ */

/* The kind of a name; SPAD_ADVICE_KINDS with an exception: there is none. */
static int read_kind(PyObject *object) {
    PyObject *bytes = PyUnicode_AsUTF8String(object);
    const char *name = bytes != NULL ? PyBytes_AsString(bytes) : NULL;
    int kind = name != NULL ? 0 : SPAD_ADVICE_KINDS;
    while (kind < SPAD_ADVICE_KINDS &&
           strcmp(name, spad_advice_kind_name((spad_advice_kind)kind)) != 0)
        kind++;
    if (name != NULL && kind == SPAD_ADVICE_KINDS)
        PyErr_Format(py.errors[PY_ARGUMENT_ERROR],
                     "'%s' is no kind of change: load, deeper, shorter, alias", name);
    Py_XDECREF(bytes);
    return kind;
}

/* Bits of the kinds that a sequence of names leaves out; None: none. */
static bool read_kinds(unsigned *out, PyObject *names) {
    *out = 0;
    if (names == NULL || names == Py_None) return true;
    PyObject *list = PySequence_List(names);
    for (Py_ssize_t i = 0; list != NULL && i < PyList_Size(list); i++) {
        const int kind = read_kind(PyList_GetItem(list, i));
        if (kind == SPAD_ADVICE_KINDS)
            Py_CLEAR(list);
        else
            *out |= 1u << kind;
    }
    Py_XDECREF(list);
    return list != NULL;
}

static PyObject *advice_make(PyObject *module, PyObject *const *args, Py_ssize_t count,
                             PyObject *keywords) {
    (void)module;
    static const char *const names[] = {"kernel",  "skip",  "depth_most", "trials_most",
                                        "timeout", "steps", NULL};
    PyObject *given[6];
    spad_advice_options options = {0};
    if (!py_take(given, "advise", names, 1, args, count, keywords) ||
        !read_kinds(&options.skip, given[1]) || !py_int_or(&options.depth_most, given[2], 0) ||
        !py_int_or(&options.trials_most, given[3], 0) ||
        !py_seconds(&options.timeout_ns, given[4]) || !py_flag(&options.steps, given[5], false))
        return NULL;
    if (!PyObject_TypeCheck(given[0], py.kernel)) {
        PyErr_SetString(PyExc_TypeError, "a Kernel is needed");
        return NULL;
    }
    py_advice *self = py_new(py.advice);
    if (self == NULL) return NULL;
    self->kernel = py_keep(given[0]);
    spad_error error;
    py_watch watch;
    options.watch = py_watch_of(&watch);
    py_watch_begin(&watch);
    const spad_status status =
        spad_advice_create(&self->advice, ((py_kernel *)given[0])->kernel, &options, &error);
    if (py_watch_end(&watch) && status == SPAD_OK) return (PyObject *)self;
    Py_DECREF((PyObject *)self);
    return py_raise(&error);
}

PY_TRAVERSE(advice_traverse, py_advice, self->kernel)

static void advice_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    py_advice *self = (py_advice *)object;
    spad_advice_destroy(self->advice);
    Py_XDECREF(self->kernel);
    py_free(object);
}

/* ---- fields ------------------------------------------------------------------------ */

PY_WRITER(spad_advice, text, TEXT)
PY_WRITER(spad_advice, json, JSON)

PY_METHOD(advice_text, py_text_outside(spad_advice_write_text_any, advice_in(self)))
PY_METHOD(advice_json, py_text_outside(spad_advice_write_json_any, advice_in(self)))

static PyObject *advice_kernel(PyObject *self, void *unused) {
    (void)unused;
    PyObject *given = ((py_advice *)self)->kernel;
    const spad_kernel_options none = {0};
    if (spad_advice_count(advice_in(self)) == 0) return py_keep(given);
    return (PyObject *)py_kernel_like(given, spad_advice_get_kernel(advice_in(self)), &none);
}

static PyObject *advice_changes(PyObject *self, void *unused) {
    (void)unused;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < spad_advice_count(advice_in(self)); i++) {
        const spad_advice_change *c = spad_advice_get(advice_in(self), i);
        if (!py_append(list,
                       Py_BuildValue("{s:s,s:N,s:N,s:N,s:L,s:L,s:l,s:L,s:L,s:L}", "kind",
                                     spad_advice_kind_name(c->kind), "name", py_string(c->name),
                                     "other", py_string(c->other), "operation",
                                     py_string(c->operation), "from", (long long)c->from, "to",
                                     (long long)c->to, "line", (long)c->location.line, "placed",
                                     (long long)(c->after.placed - c->before.placed), "declared",
                                     (long long)(c->after.declared - c->before.declared), "time",
                                     (long long)(c->after.makespan - c->before.makespan))))
            Py_CLEAR(list);
    }
    return list;
}

PY_GETTER(advice_proved, PyBool_FromLong(spad_advice_get_totals(advice_in(self)).proved))
PY_GETTER(advice_cut, PyBool_FromLong(spad_advice_get_totals(advice_in(self)).cut))

static PyMethodDef advice_methods[] = {
    {"text", advice_text, METH_NOARGS, "text($self, /)\n--\n\nThe changes in words."},
    {"json", advice_json, METH_NOARGS, "json($self, /)\n--\n\nThe same as JSON."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef advice_fields[] = {
    {.name = "data", .get = py_data, .doc = "Everything as a dict."},

    {.name = "kernel", .get = advice_kernel, .doc = "The kernel with all changes."},
    {.name = "changes",
     .get = advice_changes,
     .doc = "A dict per change; placed, declared and time are what it adds."},
    {.name = "proved",
     .get = advice_proved,
     .doc = "The kernel fits, runs and is proved; without that there is no advice."},
    {.name = "cut", .get = advice_cut, .doc = "The search ended at a limit."},
    {.name = NULL}};

PY_TYPE_MADE(advice, "Advice", "Changes of a kernel that keep its proof.",
             {Py_tp_methods, advice_methods}, {Py_tp_getset, advice_fields});

static PyMethodDef functions[] = {
    {"advise", PY_FUNC(advice_make), PY_FAST,
     "advise($module, kernel, skip=None, depth_most=0, trials_most=0, timeout=None, steps=False)\n"
     "--\n\nChanges that make a kernel smaller or faster and keep its proof."},
    {NULL, NULL, 0, NULL}};

int py_add_advice(PyObject *module) {
    if (py_add_type(module, &py.advice, &advice_spec) != 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
