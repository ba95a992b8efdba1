/* SPDX-License-Identifier: Apache-2.0
 *
 * tiers(): several memories at once.
 */
#include "common.h"

#include "spad/experimental/tiers.h"

/* (name, capacity or None, cost). */
static bool add_memory(spad_tiers *tiers, PyObject *row) {
    spad_error error;
    PyObject *capacity;
    long long cost;
    spad_tier memory = {.capacity = SPAD_UNBOUNDED};
    if (!PyTuple_Check(row)) {
        PyErr_SetString(PyExc_TypeError, "a memory is (name, capacity, cost)");
        return false;
    }
    if (!PyArg_ParseTuple(row, "zOL", &memory.name, &capacity, &cost) ||
        !py_int_or(&memory.capacity, capacity, SPAD_UNBOUNDED))
        return false;
    memory.cost = cost;
    if (spad_tiers_add_memory(NULL, tiers, &memory, &error) == SPAD_OK) return true;
    py_raise(&error);
    return false;
}

static bool add_uses(spad_tiers *tiers, spad_tier_buffer *buffer, PyObject *given) {
    spad_error error;
    PyObject *rows = PySequence_Tuple(given);
    if (rows == NULL) return false;
    const size_t count = (size_t)PyTuple_Size(rows);
    int64_t *uses = PyMem_Calloc(count + 1, sizeof *uses);
    bool fine = uses != NULL || PyErr_NoMemory() != NULL;
    for (size_t k = 0; fine && k < count; k++)
        fine = py_int(&uses[k], PyTuple_GetItem(rows, (Py_ssize_t)k));
    buffer->use_count = count;
    buffer->uses = uses;
    if (fine && spad_tiers_add(NULL, tiers, buffer, &error) != SPAD_OK) {
        py_raise(&error);
        fine = false;
    }
    PyMem_Free(uses);
    Py_DECREF(rows);
    return fine;
}

/* (name, size, uses) or also (..., memories or None, home or None, kept, constant, alignment). */
static bool add_tier_buffer(spad_tiers *tiers, PyObject *row) {
    long long size;
    long long alignment = 1;
    int kept = 0;
    int constant = 0;
    PyObject *uses;
    PyObject *memories = Py_None;
    PyObject *home = Py_None;
    int64_t mask;
    int64_t where;
    spad_tier_buffer buffer = {.name = NULL};
    if (!PyTuple_Check(row)) {
        PyErr_SetString(PyExc_TypeError, "a buffer is (name, size, uses, memories, home, kept, "
                                         "constant, alignment)");
        return false;
    }
    if (!PyArg_ParseTuple(row, "zLO|OOppL", &buffer.name, &size, &uses, &memories, &home, &kept,
                          &constant, &alignment) ||
        !py_int_or(&mask, memories, 0) || !py_int_or(&where, home, -1))
        return false;
    if (mask < 0 || mask > UINT32_MAX || where < -1) {
        PyErr_SetString(PyExc_ValueError, "memories is a mask of bits, home the number of one");
        return false;
    }
    buffer.size = size;
    buffer.alignment = alignment;
    buffer.kept = kept != 0;
    buffer.constant = constant != 0;
    buffer.memories = (uint32_t)mask;
    buffer.home = where < 0 ? SPAD_NO_MEMORY : (size_t)where;
    return add_uses(tiers, &buffer, uses);
}

static bool add_each(spad_tiers *tiers, PyObject *given,
                     bool (*add)(spad_tiers *tiers, PyObject *row)) {
    PyObject *rows = PySequence_Tuple(given);
    if (rows == NULL) return false;
    bool fine = true;
    for (Py_ssize_t i = 0; fine && i < PyTuple_Size(rows); i++)
        fine = add(tiers, PyTuple_GetItem(rows, i));
    Py_DECREF(rows);
    return fine;
}

static PyObject *cost_or_none(int64_t cost) {
    return cost == SPAD_UNBOUNDED ? Py_NewRef(Py_None) : PyLong_FromLongLong((long long)cost);
}

static PyObject *describe_tiers(const spad_tiers_result *r) {
    PyObject *stays = PyList_New(0);
    for (size_t k = 0; stays != NULL && k < r->stay_count; k++) {
        const spad_tier_stay *s = &r->stays[k];
        if (!py_append(stays,
                       Py_BuildValue("{s:n,s:n,s:L,s:L,s:L}", "buffer", (Py_ssize_t)s->buffer,
                                     "memory", (Py_ssize_t)s->memory, "lower", (long long)s->lower,
                                     "upper", (long long)s->upper, "offset", (long long)s->offset)))
            Py_CLEAR(stays);
    }
    if (stays == NULL) return NULL;
    return Py_BuildValue("{s:s,s:N,s:N,s:L,s:N,s:L,s:d}", "verdict",
                         spad_plan_verdict_name(r->verdict), "cost", cost_or_none(r->cost), "bound",
                         cost_or_none(r->bound), "moved", (long long)r->moved, "stays", stays,
                         "nodes", (long long)r->nodes, "seconds", (double)r->nanoseconds * 1e-9);
}

static PyObject *tiers_function(PyObject *module, PyObject *args, PyObject *keywords) {
    static char *names[] = {"memories", "buffers", "timeout", "node_limit", NULL};
    (void)module;
    PyObject *memories;
    PyObject *buffers;
    PyObject *timeout = Py_None;
    long long node_limit = 0;
    spad_plan_options options = {0};
    spad_error error;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO|OL:tiers", names, &memories, &buffers,
                                     &timeout, &node_limit) ||
        !py_seconds(&options.timeout_ns, timeout))
        return NULL;
    options.node_limit = node_limit;
    spad_tiers *tiers;
    spad_tiers_result *result = NULL;
    if (spad_tiers_create(&tiers, NULL, &error) != SPAD_OK) return py_raise(&error), NULL;
    PyObject *out = NULL;
    if (add_each(tiers, memories, add_memory) && add_each(tiers, buffers, add_tier_buffer)) {
        PyThreadState *const outside = PyEval_SaveThread();
        const spad_status status = spad_tiers_solve(&result, tiers, &options, &error);
        PyEval_RestoreThread(outside);
        if (status == SPAD_OK)
            out = describe_tiers(result);
        else
            py_raise(&error);
    }
    spad_tiers_result_destroy(result);
    spad_tiers_destroy(tiers);
    return out;
}

static PyMethodDef functions[] = {
    {"tiers", PY_FUNC(tiers_function), METH_VARARGS | METH_KEYWORDS,
     "tiers($module, memories, buffers, timeout=None, node_limit=0)\n--\n\nWhich buffer is in "
     "which "
     "memory at which of its uses, at the least cost. memories:\n(name, capacity or None, cost of "
     "a "
     "byte); buffers: (name, size, uses) or also (..., memories\nas a mask, home, kept, constant, "
     "alignment). A dict with verdict, cost, bound, moved, stays."},
    {NULL, NULL, 0, NULL}};

int py_add_tiers(PyObject *module) {
    return PyModule_AddFunctions(module, functions);
}
