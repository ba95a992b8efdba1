/* SPDX-License-Identifier: Apache-2.0
 *
 * The module itself: exceptions, and the parts that it is put together from.
 */
#include "common.h"

py_state py;

typedef struct error_class {
    const char *name;
    const char *about;
    int base;         /* -1: Exception */
    spad_status code; /* of those that Python code raises */
} error_class;

static const error_class error_classes[PY_ERRORS] = {
    [PY_ERROR] = {"spad.Error",
                  "A call of the library failed.\n\ncode is the stable code (docs/errors.md); "
                  "subject, other, needed, available,\nlargest_hole, time, file, line and column "
                  "are its facts, None where they do not apply.",
                  -1, SPAD_OK},
    [PY_ARGUMENT_ERROR] = {"spad.ArgumentError", "What the caller gave is not accepted.", PY_ERROR,
                           SPAD_ERR_ARGUMENT},
    [PY_STATE_ERROR] = {"spad.StateError", "The object is in a state that does not allow it.",
                        PY_ERROR, SPAD_ERR_LIFE_CYCLE},
    [PY_FIT_ERROR] = {"spad.FitError", "Something does not fit, or shares bytes.", PY_ERROR,
                      SPAD_ERR_NO_FIT},
    [PY_TEXT_ERROR] =
        {"spad.TextError",
         "A text breaks the grammar or a rule of its format.\n\ndiagnostics has "
         "every fault with its line as text (None: only the first is known), faults as dicts.",
         PY_ERROR, SPAD_ERR_SYNTAX},
    [PY_TIME_ERROR] = {"spad.TimeError", "Time was up before there was a result.", PY_ERROR,
                       SPAD_ERR_TIME},
    [PY_MACHINE_ERROR] = {"spad.MachineError", "Memory, files or devices of this machine failed.",
                          PY_ERROR, SPAD_ERR_DEVICE},
    [PY_INTERNAL_ERROR] = {"spad.InternalError", "A fault of the library.", PY_ERROR,
                           SPAD_ERR_INTERNAL},
};

/* A class is also one of Python's own where there is one that means the same. */
static PyObject *builtin_of(int number) {
    switch (number) {
    case PY_ARGUMENT_ERROR: return PyExc_ValueError;
    case PY_STATE_ERROR: return PyExc_RuntimeError;
    case PY_FIT_ERROR: return PyExc_MemoryError;
    case PY_TEXT_ERROR: return PyExc_ValueError;
    case PY_TIME_ERROR: return PyExc_TimeoutError;
    case PY_MACHINE_ERROR: return PyExc_RuntimeError;
    default: return NULL;
    }
}

/* What an exception has by default: no facts, and the code of its class. */
static PyObject *facts(const error_class *c) {
    static const char *const names[] = {"code",      "subject",      "other", "file", "needed",
                                        "available", "largest_hole", "time",  "line", "column"};
    PyObject *dict = PyDict_New();
    if (dict != NULL && c->base >= 0 && !py_put(dict, "code", py_string(spad_status_code(c->code))))
        Py_CLEAR(dict);
    if (dict != NULL && c->code == SPAD_ERR_SYNTAX &&
        !(py_put(dict, "diagnostics", py_string(NULL)) && py_put(dict, "faults", PyTuple_New(0))))
        Py_CLEAR(dict);
    for (size_t i = 0; dict != NULL && c->base < 0 && i < sizeof names / sizeof names[0]; i++)
        if (PyDict_SetItemString(dict, names[i], Py_None) != 0) Py_CLEAR(dict);
    return dict;
}

/* Python's own class comes first: its __new__ is then the one of ours, and code that unpickles
 * an exception with it (as Dask does) may call it. */
static PyObject *bases_of(int number) {
    PyObject *base = py.errors[error_classes[number].base], *builtin = builtin_of(number);
    return builtin == NULL ? PyTuple_Pack(1, base) : PyTuple_Pack(2, builtin, base);
}

/* The text that a class is made with begins with its signature; what help shows does not. */
static PyObject *error_new(int number, PyObject *bases, PyObject *dict) {
    const error_class *c = &error_classes[number];
    char text[512];
    snprintf(text, sizeof text, "%s(*args)\n--\n\n", strrchr(c->name, '.') + 1);
    PyObject *made = PyErr_NewExceptionWithDoc(c->name, text, bases, dict);
    PyObject *about = made == NULL ? NULL : py_string(c->about);
    if (about == NULL || PyObject_SetAttrString(made, "__doc__", about) != 0) Py_CLEAR(made);
    Py_XDECREF(about);
    return made;
}

static int add_errors(PyObject *module) {
    for (int i = 0; i < PY_ERRORS; i++) {
        const error_class *c = &error_classes[i];
        PyObject *dict = facts(c);
        PyObject *bases = dict == NULL || c->base < 0 ? NULL : bases_of(i);
        if (dict != NULL && (bases != NULL || c->base < 0))
            py.errors[i] = error_new(i, bases, dict);
        Py_XDECREF(bases);
        Py_XDECREF(dict);
        if (py.errors[i] == NULL ||
            PyModule_AddObjectRef(module, strrchr(c->name, '.') + 1, py.errors[i]) != 0)
            return -1;
    }
    return 0;
}

/* ---- the module -------------------------------------------------------------------- */

static int (*const parts[])(PyObject *module) = {
    py_add_values, py_add_target, py_add_trace,    py_add_stack,    py_add_plan,   py_add_kernel,
    py_add_walk,   py_add_parts,  py_add_frontier, py_add_analysis, py_add_advice, py_add_report,
    py_add_block,  py_add_direct, py_add_registry, py_add_launch,   py_add_device, py_add_memory,
    py_add_stream, py_add_torch,  py_add_graph,    py_add_spaces,   py_add_events, py_add_pickle,
};

static int fill(PyObject *module) {
    if (py.used) {
        PyErr_SetString(PyExc_ImportError,
                        "spad can be imported once, by one interpreter of a process");
        return -1;
    }
    py.dtypes = PyDict_New();
    if (py.dtypes == NULL || add_errors(module) != 0) return -1;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (parts[i](module) != 0) return -1;
    if (PyModule_AddStringConstant(module, "version", spad_version()) != 0) return -1;
    py.used = true;
    return 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, PY_SLOT(fill)}, {0, NULL}};

static struct PyModuleDef definition = {.m_base = PyModuleDef_HEAD_INIT,
                                        .m_name = "spad._spad",
                                        .m_doc = "The C part of the package; use spad.",
                                        .m_slots = slots};

PyMODINIT_FUNC PyInit__spad(void);
PyMODINIT_FUNC PyInit__spad(void) {
    return PyModuleDef_Init(&definition);
}
