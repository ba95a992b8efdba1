/* SPDX-License-Identifier: Apache-2.0
 *
 * Launch arithmetic after CuBIE: shared memory of a run, size of a block, chunks of runs.
 */
#include "common.h"

/* ---- sizes ------------------------------------------------------------------------- */

static PyObject *run_shared(PyObject *module, PyObject *args) {
    (void)module;
    long long elements;
    PyObject *precision;
    spad_dtype dtype;
    spad_run_shared s;
    spad_error error;
    if (!PyArg_ParseTuple(args, "LO:run_shared", &elements, &precision) ||
        !py_dtype(&dtype, precision))
        return NULL;
    if (spad_run_shared_of(&s, elements, dtype, &error) != SPAD_OK) return py_raise(&error);
    return Py_BuildValue("{s:L,s:L,s:L,s:L,s:L}", "elements", (long long)s.elements, "pad",
                         (long long)s.pad, "bytes", (long long)s.bytes, "stride_words",
                         (long long)s.stride_words, "short_bytes", (long long)s.short_bytes);
}

static PyObject *launch_size(const spad_launch_size *size) {
    return Py_BuildValue("(LLi)", (long long)size->threads, (long long)size->shared_bytes,
                         (int)size->warnings);
}

static PyObject *launch_limit(PyObject *module, PyObject *args) {
    (void)module;
    long long threads, shared, run, runs, limit = SPAD_LAUNCH_DEFAULT_LIMIT;
    spad_launch_size size;
    spad_error error;
    if (!PyArg_ParseTuple(args, "LLLL|L:launch_limit", &threads, &shared, &run, &runs, &limit))
        return NULL;
    if (spad_launch_limit(&size, threads, shared, run, runs, limit, &error) != SPAD_OK)
        return py_raise(&error);
    return launch_size(&size);
}

static PyObject *launch_fit(PyObject *module, PyObject *args) {
    (void)module;
    long long elements, threads, runs, limit = SPAD_LAUNCH_DEFAULT_LIMIT;
    PyObject *precision;
    spad_dtype dtype;
    spad_launch_size size;
    spad_error error;
    if (!PyArg_ParseTuple(args, "LOLL|L:launch_fit", &elements, &precision, &threads, &runs,
                          &limit) ||
        !py_dtype(&dtype, precision))
        return NULL;
    if (spad_launch_fit(&size, elements, dtype, threads, runs, limit, &error) != SPAD_OK)
        return py_raise(&error);
    return launch_size(&size);
}

static PyObject *launch_fit_budget(PyObject *module, PyObject *args) {
    (void)module;
    long long threads, run, runs, budget = SPAD_LAUNCH_DEFAULT_LIMIT;
    spad_launch_size size;
    spad_error error;
    if (!PyArg_ParseTuple(args, "LLL|L:launch_fit_budget", &threads, &run, &runs, &budget))
        return NULL;
    if (spad_launch_fit_budget(&size, threads, run, runs, budget, &error) != SPAD_OK)
        return py_raise(&error);
    return launch_size(&size);
}

static PyObject *chunks(PyObject *module, PyObject *args) {
    (void)module;
    long long runs, chunkable, unchunkable, available, free_bytes = 0;
    spad_chunks c;
    spad_error error;
    if (!PyArg_ParseTuple(args, "LLLL|L:chunks", &runs, &chunkable, &unchunkable, &available,
                          &free_bytes))
        return NULL;
    if (spad_chunks_of(&c, runs, chunkable, unchunkable, available, free_bytes, &error) != SPAD_OK)
        return py_raise(&error);
    return Py_BuildValue("(LLO)", (long long)c.runs, (long long)c.count,
                         c.far_over_limit ? Py_True : Py_False);
}

/* ----  ------------------------------------------------------------------------------ */

static PyMethodDef functions[] = {
    {"run_shared", run_shared, METH_VARARGS,
     "run_shared($module, elements, precision, /)\n--\n\nThe shared memory of one run, as a dict."},
    {"launch_limit", launch_limit, METH_VARARGS,
     "launch_limit($module, threads, shared_bytes, run_bytes, runs, limit=49152, /)\n--\n\nThe "
     "threads and runs of a block that stay within a limit, and its bytes."},
    {"launch_fit", launch_fit, METH_VARARGS,
     "launch_fit($module, elements, precision, threads, runs, limit=49152, /)\n--\n\nThe threads "
     "and runs of a block for so many elements a run, and its bytes."},
    {"launch_fit_budget", launch_fit_budget, METH_VARARGS,
     "launch_fit_budget($module, threads, run_bytes, runs, budget=49152, /)\n--\n\nThe largest "
     "block within a budget: threads, runs and bytes."},
    {"chunks", chunks, METH_VARARGS,
     "chunks($module, runs, chunkable, unchunkable, available, free_bytes=0, /)\n--\n\nHow runs "
     "are cut into chunks that fit: (runs, count, far_over)."},
    {NULL, NULL, 0, NULL}};

int py_add_launch(PyObject *module) {
    return PyModule_AddFunctions(module, functions);
}
