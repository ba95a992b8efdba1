/* SPDX-License-Identifier: Apache-2.0
 *
 * The layout of a group of buffers by the rules of CuBIE, and its launch arithmetic.
 *
 * spad.cubie keeps the entries of a group, because users look at them; a layout is one
 * call with all of them.
 */
#include "common.h"

/* One row: (name, size, location, persistent, aliases, precision) and, if known, the steps
 * (begin, end) in which it holds values. */
static bool read_row(spad_buffer *out, PyObject *row) {
    PyObject *precision;
    const char *location;
    long long size, begin = 0, end = 0;
    int persistent;
    spad_error error;
    if (!PyTuple_Check(row)) {
        PyErr_SetString(PyExc_TypeError, "a row is a tuple");
        return false;
    }
    if (!PyArg_ParseTuple(row, "sLspzO|LL", &out->name, &size, &location, &persistent,
                          &out->aliases, &precision, &begin, &end))
        return false;
    out->t_begin = begin;
    out->t_end = end;
    out->size = size;
    out->persistent = persistent != 0;
    if (spad_location_parse(&out->location, location, &error) != SPAD_OK)
        return py_raise(&error) != NULL;
    return py_dtype(&out->precision, precision);
}

/* Aliases are set when all names are there: an entry may alias a later one. */
static bool fill(spad_registry *registry, spad_component component, PyObject *rows) {
    const Py_ssize_t count = PyTuple_Size(rows);
    spad_error error;
    for (int pass = 0; pass < 2; pass++) {
        for (Py_ssize_t i = 0; i < count; i++) {
            spad_buffer buffer = {0};
            if (!read_row(&buffer, PyTuple_GetItem(rows, i))) return false;
            spad_status status = SPAD_OK;
            if (pass == 0) {
                buffer.aliases = NULL;
                status = spad_registry_register(registry, component, &buffer, &error);
            } else if (buffer.aliases != NULL) {
                status = spad_registry_update_buffer(NULL, registry, component, SPAD_BUFFER_ALIASES,
                                                     &buffer, &error);
            }
            if (status != SPAD_OK) return py_raise(&error) != NULL;
        }
    }
    return true;
}

static PyObject *slices(spad_registry *registry, spad_component component, spad_unit unit) {
    const spad_slice *out;
    size_t count;
    spad_error error;
    if (spad_registry_layout(&out, &count, registry, component, unit, &error) != SPAD_OK)
        return py_raise(&error);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < count; i++) {
        PyObject *row =
            Py_BuildValue("(sLLL)", spad_region_name(out[i].region), (long long)out[i].offset,
                          (long long)out[i].length, (long long)out[i].consumed);
        if (row == NULL || PyList_Append(list, row) != 0) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

static PyObject *registry_layout(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *given;
    int bytes = 0, automatic = 0;
    if (!PyArg_ParseTuple(args, "O|pp:registry_layout", &given, &bytes, &automatic)) return NULL;
    PyObject *rows = PySequence_Tuple(given);
    if (rows == NULL) return NULL;
    spad_registry *registry = NULL;
    spad_component component;
    spad_error error;
    PyObject *list = NULL;
    if (spad_registry_create(&registry, NULL, &error) != SPAD_OK ||
        spad_registry_add(&component, registry, "group", SPAD_FLOAT32, &error) != SPAD_OK ||
        spad_registry_set_automatic(registry, component, automatic != 0, &error) != SPAD_OK)
        py_raise(&error);
    else if (fill(registry, component, rows))
        list = slices(registry, component, bytes ? SPAD_UNIT_BYTE : SPAD_UNIT_ELEMENT);
    spad_registry_destroy(registry);
    Py_DECREF(rows);
    return list;
}

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

static PyMethodDef functions[] = {
    {"registry_layout", registry_layout, METH_VARARGS,
     "registry_layout(rows, bytes=False, automatic=False)\n\n(region, offset, length, consumed) of "
     "every (name, "
     "size, location, persistent, aliases,\nprecision), in elements or bytes."},
    {"run_shared", run_shared, METH_VARARGS, "run_shared(elements, precision) -> dict"},
    {"launch_limit", launch_limit, METH_VARARGS,
     "launch_limit(threads, shared_bytes, run_bytes, runs, limit=49152)"},
    {"launch_fit", launch_fit, METH_VARARGS,
     "launch_fit(elements, precision, threads, runs, limit=49152)"},
    {"chunks", chunks, METH_VARARGS,
     "chunks(runs, chunkable, unchunkable, available, free_bytes=0) -> (runs, count, far_over)"},
    {NULL, NULL, 0, NULL}};

int py_add_registry(PyObject *module) {
    return PyModule_AddFunctions(module, functions);
}
