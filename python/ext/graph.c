/* SPDX-License-Identifier: Apache-2.0
 *
 * reorder(): the order of operations that needs the least memory.
 */
#include "common.h"

#include "spad/experimental/graph.h"

/* The number of an operation; None: no operation. */
static bool read_node(size_t *out, PyObject *object) {
    int64_t number;
    *out = SPAD_NO_NODE;
    if (object == Py_None) return true;
    if (!py_int(&number, object)) return false;
    *out = (size_t)number; /* a negative one is refused as too large */
    if (*out == SPAD_NO_NODE) *out = SPAD_NO_NODE - 1;
    return true;
}

static bool add_readers(spad_graph *graph, spad_graph_tensor *tensor, PyObject *given) {
    spad_error error;
    PyObject *rows = PySequence_Tuple(given);
    if (rows == NULL) return false;
    const size_t count = (size_t)PyTuple_Size(rows);
    size_t *readers = PyMem_Calloc(count + 1, sizeof *readers);
    bool fine = readers != NULL || PyErr_NoMemory() != NULL;
    for (size_t k = 0; fine && k < count; k++) {
        int64_t number;
        fine = py_int(&number, PyTuple_GetItem(rows, (Py_ssize_t)k));
        if (fine) readers[k] = (size_t)number;
    }
    tensor->reader_count = count;
    tensor->readers = readers;
    if (fine && spad_graph_add_tensor(NULL, graph, tensor, &error) != SPAD_OK) {
        py_raise(&error);
        fine = false;
    }
    PyMem_Free(readers);
    Py_DECREF(rows);
    return fine;
}

/* (size, producer, readers) or (size, producer, readers, kept). */
static bool add_tensor(spad_graph *graph, PyObject *row) {
    long long size;
    int kept = 0;
    PyObject *producer;
    PyObject *readers;
    if (!PyTuple_Check(row)) {
        PyErr_SetString(PyExc_TypeError, "a tensor is (size, producer, readers, kept)");
        return false;
    }
    if (!PyArg_ParseTuple(row, "LOO|p", &size, &producer, &readers, &kept)) return false;
    spad_graph_tensor tensor = {.size = size, .kept = kept != 0};
    return read_node(&tensor.producer, producer) && add_readers(graph, &tensor, readers);
}

static bool add_scratch(spad_graph *graph, PyObject *object) {
    spad_error error;
    int64_t bytes;
    if (!py_int(&bytes, object)) return false;
    if (spad_graph_add_node(NULL, graph, bytes, &error) == SPAD_OK) return true;
    py_raise(&error);
    return false;
}

/* (later, earlier). */
static bool add_after(spad_graph *graph, PyObject *row) {
    spad_error error;
    Py_ssize_t later;
    Py_ssize_t earlier;
    if (!PyTuple_Check(row)) {
        PyErr_SetString(PyExc_TypeError, "a dependency is (later, earlier)");
        return false;
    }
    if (!PyArg_ParseTuple(row, "nn", &later, &earlier)) return false;
    if (spad_graph_add_after(graph, (size_t)later, (size_t)earlier, &error) == SPAD_OK) return true;
    py_raise(&error);
    return false;
}

/* Adds every row of a sequence. */
static bool add_rows(spad_graph *graph, PyObject *given,
                     bool (*add)(spad_graph *graph, PyObject *row)) {
    PyObject *rows = PySequence_Tuple(given);
    if (rows == NULL) return false;
    bool fine = true;
    for (Py_ssize_t i = 0; fine && i < PyTuple_Size(rows); i++)
        fine = add(graph, PyTuple_GetItem(rows, i));
    Py_DECREF(rows);
    return fine;
}

static PyObject *describe(const spad_graph_result *r) {
    PyObject *order = PyList_New(0);
    for (size_t k = 0; order != NULL && k < r->count; k++)
        if (!py_append(order, PyLong_FromSize_t(r->order[k]))) Py_CLEAR(order);
    if (order == NULL) return NULL;
    PyObject *before = r->before == SPAD_UNBOUNDED ? Py_NewRef(Py_None)
                                                   : PyLong_FromLongLong((long long)r->before);
    return Py_BuildValue("{s:N,s:L,s:N,s:L,s:s,s:L,s:d}", "order", order, "peak",
                         (long long)r->peak, "before", before, "bound", (long long)r->bound,
                         "verdict", spad_plan_verdict_name(r->verdict), "nodes",
                         (long long)r->nodes, "seconds", (double)r->nanoseconds * 1e-9);
}

static PyObject *reorder(PyObject *module, PyObject *args, PyObject *keywords) {
    static char *names[] = {"operations", "tensors", "after", "timeout", "node_limit", NULL};
    (void)module;
    PyObject *operations;
    PyObject *tensors;
    PyObject *after = NULL;
    PyObject *timeout = Py_None;
    long long node_limit = 0;
    spad_plan_options options = {0};
    spad_error error;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO|OOL:reorder", names, &operations, &tensors,
                                     &after, &timeout, &node_limit) ||
        !py_seconds(&options.timeout_ns, timeout))
        return NULL;
    options.node_limit = node_limit;
    spad_graph *graph;
    spad_graph_result *result = NULL;
    if (spad_graph_create(&graph, NULL, &error) != SPAD_OK) return py_raise(&error), NULL;
    const bool fine = add_rows(graph, operations, add_scratch) &&
                      add_rows(graph, tensors, add_tensor) &&
                      (after == NULL || add_rows(graph, after, add_after));
    PyObject *out = NULL;
    if (fine) {
        PyThreadState *const outside = PyEval_SaveThread();
        const spad_status status = spad_graph_reorder(&result, graph, &options, &error);
        PyEval_RestoreThread(outside);
        if (status == SPAD_OK)
            out = describe(result);
        else
            py_raise(&error);
    }
    spad_graph_result_destroy(result);
    spad_graph_destroy(graph);
    return out;
}

static PyMethodDef functions[] = {
    {"reorder", PY_FUNC(reorder), METH_VARARGS | METH_KEYWORDS,
     "reorder($module, operations, tensors, after=(), timeout=None, node_limit=0)\n--\n\nThe order "
     "of operations that needs the least memory. operations: the scratch bytes of\neach; tensors: "
     "(size, producer or None, readers) or (..., kept to the end); after: (later,\nearlier). A "
     "dict with order, peak, before (in the given order), bound, verdict, nodes, seconds."},
    {NULL, NULL, 0, NULL}};

int py_add_graph(PyObject *module) {
    return PyModule_AddFunctions(module, functions);
}
