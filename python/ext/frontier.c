/* SPDX-License-Identifier: Apache-2.0
 *
 * Frontier: layouts of a kernel between the fewest bytes and the least time.
 */
#include "common.h"

#include <string.h>

typedef struct py_frontier {
    PyObject_HEAD spad_frontier *frontier;
    PyObject *given;  /* the kernel that it is of */
    PyObject *kernel; /* the one of its layouts: `given`, or without its addresses */
} py_frontier;

static const spad_frontier *frontier_in(PyObject *self) {
    return ((py_frontier *)self)->frontier;
}

/* The kernel of the layouts. */
static bool take_kernel(py_frontier *self) {
    const spad_kernel *kernel = spad_frontier_get_kernel(self->frontier);
    const spad_kernel_options none = {0};
    if (kernel == ((py_kernel *)self->given)->kernel) {
        self->kernel = py_keep(self->given);
    } else {
        self->kernel = (PyObject *)py_kernel_like(self->given, kernel, &none);
    }
    return self->kernel != NULL;
}

static PyObject *frontier_make(PyObject *module, PyObject *const *args, Py_ssize_t count,
                               PyObject *keywords) {
    (void)module;
    static const char *const names[] = {"kernel", "release", "timeout", "steps", "seed", NULL};
    PyObject *given[5];
    int64_t seed;
    spad_frontier_options options = {0};
    if (!py_take(given, "frontier", names, 1, args, count, keywords)) return NULL;
    if (!PyObject_TypeCheck(given[0], py.kernel)) {
        PyErr_SetString(PyExc_TypeError, "a Kernel is needed");
        return NULL;
    }
    if (!py_flag(&options.release, given[1], false) || !py_seconds(&options.timeout_ns, given[2]) ||
        !py_flag(&options.steps, given[3], false) || !py_int_or(&seed, given[4], 0))
        return NULL;
    options.seed = (uint64_t)seed;
    py_frontier *self = py_new(py.frontier);
    if (self == NULL) return NULL;
    self->given = py_keep(given[0]);
    spad_error error;
    py_watch watch;
    options.watch = py_watch_of(&watch);
    py_watch_begin(&watch);
    const spad_status status =
        spad_frontier_create(&self->frontier, ((py_kernel *)given[0])->kernel, &options, &error);
    if (py_watch_end(&watch) && status == SPAD_OK) {
        if (take_kernel(self)) return (PyObject *)self;
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    Py_DECREF((PyObject *)self);
    return py_raise(&error);
}

PY_TRAVERSE(frontier_traverse, py_frontier, self->given, self->kernel)

static void frontier_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    py_frontier *self = (py_frontier *)object;
    spad_frontier_destroy(self->frontier);
    Py_XDECREF(self->given);
    Py_XDECREF(self->kernel);
    py_free(object);
}

PY_WRITER(spad_frontier, text, TEXT)
PY_WRITER(spad_frontier, json, JSON)
PY_METHOD(frontier_text, py_text_outside(spad_frontier_write_text_any, frontier_in(self)))
PY_METHOD(frontier_json, py_text_outside(spad_frontier_write_json_any, frontier_in(self)))

static PyObject *frontier_points(PyObject *self, void *unused) {
    (void)unused;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < spad_frontier_point_count(frontier_in(self)); i++) {
        const spad_frontier_point *p = spad_frontier_get_point(frontier_in(self), i);
        if (!py_append(list, Py_BuildValue("{s:L,s:L}", "bytes", (long long)p->bytes, "makespan",
                                           (long long)p->makespan)))
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *frontier_layout(PyObject *object, PyObject *args) {
    const char *goal = "time";
    if (!PyArg_ParseTuple(args, "|s:layout", &goal)) return NULL;
    const bool time = strcmp(goal, "time") == 0;
    if (!time && strcmp(goal, "bytes") != 0) {
        PyErr_Format(py.errors[PY_ARGUMENT_ERROR], "a layout is for 'time' or 'bytes', not '%s'",
                     goal);
        return NULL;
    }
    const spad_frontier_point *point =
        spad_frontier_choose(frontier_in(object), time ? SPAD_FOR_TIME : SPAD_FOR_BYTES);
    if (point == NULL) Py_RETURN_NONE;
    py_layout *made = py_new(py.layout);
    if (made == NULL) return NULL;
    made->layout = (spad_layout *)(uintptr_t)point->layout; /* only read */
    made->owner = py_keep(object);
    made->kernel = py_keep(((py_frontier *)object)->kernel);
    return (PyObject *)made;
}

PY_GETTER(frontier_kernel, py_keep(((py_frontier *)self)->kernel))
PY_GETTER(frontier_apart,
          py_fact(spad_frontier_get_totals(frontier_in(self)).apart, SPAD_UNBOUNDED))
PY_GETTER(frontier_written,
          py_fact(spad_frontier_get_totals(frontier_in(self)).written, SPAD_UNBOUNDED))
PY_GETTER(frontier_written_bytes,
          PyLong_FromLongLong(spad_frontier_get_totals(frontier_in(self)).written_bytes))

static PyMethodDef frontier_methods[] = {
    {"text", frontier_text, METH_NOARGS, "text($self, /)\n--\n\nA line per layout."},
    {"json", frontier_json, METH_NOARGS, "json($self, /)\n--\n\nThe same as JSON."},
    {"layout", frontier_layout, METH_VARARGS,
     "layout($self, goal='time', /)\n--\n\nThe fastest layout, or the one with the fewest 'bytes'; "
     "None: nothing fits."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef frontier_fields[] = {
    {.name = "data", .get = py_data, .doc = "Everything as a dict."},

    {.name = "points",
     .get = frontier_points,
     .doc = "bytes and makespan of every layout, the fewest bytes first."},
    {.name = "kernel", .get = frontier_kernel, .doc = "The kernel of the layouts."},
    {.name = "apart",
     .get = frontier_apart,
     .doc = "Picoseconds if no planned tensors shared bytes."},
    {.name = "written",
     .get = frontier_written,
     .doc = "Picoseconds as the kernel is; None: it does not fit."},
    {.name = "written_bytes",
     .get = frontier_written_bytes,
     .doc = "Bytes as the kernel is, over all lanes; 0: it does not fit."},
    {.name = NULL}};

PY_TYPE_MADE(frontier, "Frontier", "Layouts between the fewest bytes and the least time.",
             {Py_tp_methods, frontier_methods}, {Py_tp_getset, frontier_fields});

static PyMethodDef functions[] = {
    {"frontier", PY_FUNC(frontier_make), PY_FAST,
     "frontier($module, kernel, release=False, timeout=None, steps=False, seed=0)\n--\n\nLayouts "
     "between the fewest bytes and the least time."},
    {NULL, NULL, 0, NULL}};

int py_add_frontier(PyObject *module) {
    if (py_add_type(module, &py.frontier, &frontier_spec) != 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
