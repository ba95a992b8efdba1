/* SPDX-License-Identifier: Apache-2.0
 *
 * spaces(): the rows of a CSV text in several memories.
 */
#include "common.h"

#include "spad/experimental/spaces.h"

typedef struct spaces_call {
    spad_spaces *spaces;
    spad_spaces_result *result;
    const char *text;
    size_t length;
} spaces_call;

static spad_status write_words(const void *object, const spad_sink *sink, spad_error *error) {
    const spaces_call *c = object;
    return spad_spaces_write(c->spaces, c->result, SPAD_FORMAT_TEXT, sink, error);
}

static spad_status write_facts(const void *object, const spad_sink *sink, spad_error *error) {
    const spaces_call *c = object;
    return spad_spaces_write(c->spaces, c->result, SPAD_FORMAT_JSON, sink, error);
}

static spad_status write_rows(const void *object, const spad_sink *sink, spad_error *error) {
    const spaces_call *c = object;
    return spad_spaces_write_csv(c->spaces, c->result, c->text, c->length, sink, error);
}

/* (name, capacity or None, cost), or (name, capacity), which costs its number. */
static bool add_memory(spad_spaces *spaces, PyObject *row) {
    spad_error error;
    PyObject *capacity;
    spad_tier memory = {.name = NULL};
    long long cost = (long long)spad_spaces_count(spaces);
    if (!PyTuple_Check(row)) {
        PyErr_SetString(PyExc_TypeError, "a memory is (name, capacity) or (name, capacity, cost)");
        return false;
    }
    if (!PyArg_ParseTuple(row, "sO|L", &memory.name, &capacity, &cost) ||
        !py_int_or(&memory.capacity, capacity, SPAD_UNBOUNDED))
        return false;
    memory.cost = cost;
    if (spad_spaces_add_memory(NULL, spaces, &memory, &error) == SPAD_OK) return true;
    py_raise(&error);
    return false;
}

static bool add_memories(spad_spaces *spaces, PyObject *given) {
    if (given == Py_None) return true;
    PyObject *rows = PySequence_Tuple(given);
    if (rows == NULL) return false;
    bool fine = true;
    for (Py_ssize_t i = 0; fine && i < PyTuple_Size(rows); i++)
        fine = add_memory(spaces, PyTuple_GetItem(rows, i));
    Py_DECREF(rows);
    return fine;
}

/* Puts a new text under a key; NULL: an exception is set. */
static bool put_new(PyObject *facts, const char *key, PyObject *value) {
    const bool fine = value != NULL && PyDict_SetItemString(facts, key, value) == 0;
    Py_XDECREF(value);
    return fine;
}

/* The JSON as a dict, with the text and, of a plan, the rows. */
static PyObject *describe_spaces(const spaces_call *c) {
    PyObject *json = PyImport_ImportModule("json");
    PyObject *words = json != NULL ? py_text(write_facts, c) : NULL;
    PyObject *facts = words != NULL ? PyObject_CallMethod(json, "loads", "O", words) : NULL;
    Py_XDECREF(words);
    Py_XDECREF(json);
    if (facts == NULL) return NULL;
    const bool fits = c->result->verdict <= SPAD_PLAN_FEASIBLE;
    if (put_new(facts, "text", py_text(write_words, c)) &&
        put_new(facts, "csv", fits ? py_text(write_rows, c) : Py_NewRef(Py_None)))
        return facts;
    Py_DECREF(facts);
    return NULL;
}

static PyObject *run_spaces(spaces_call *c, const char *file, bool end_exclusive,
                            const spad_plan_options *options) {
    spad_error error;
    const spad_plan_csv_options csv = {.end_exclusive = end_exclusive};
    PyThreadState *const outside = PyEval_SaveThread();
    spad_status status = spad_spaces_read_csv(c->spaces, c->text, c->length, file, &csv, &error);
    if (status == SPAD_OK) status = spad_spaces_solve(&c->result, c->spaces, options, &error);
    PyEval_RestoreThread(outside);
    if (status != SPAD_OK) return py_raise(&error), NULL;
    return describe_spaces(c);
}

static PyObject *spaces_function(PyObject *module, PyObject *args, PyObject *keywords) {
    static char *names[] = {"text",       "memories",      "target", "minimize", "timeout",
                            "node_limit", "end_exclusive", "file",   NULL};
    (void)module;
    PyObject *memories = Py_None, *target = Py_None, *timeout = Py_None;
    int minimize = 0, end_exclusive = 0;
    long long node_limit = 0;
    const char *text, *file = "<csv>";
    Py_ssize_t length;
    spad_plan_options options = {.seed = 1};
    spad_error error;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s#|OOpOLps:spaces", names, &text, &length,
                                     &memories, &target, &minimize, &timeout, &node_limit,
                                     &end_exclusive, &file) ||
        !py_seconds(&options.timeout_ns, timeout))
        return NULL;
    options.node_limit = node_limit;
    options.goal = minimize ? SPAD_PLAN_MINIMIZE : SPAD_PLAN_DECIDE;
    spaces_call c = {.text = text, .length = (size_t)length};
    PyObject *chip = target != Py_None ? (PyObject *)py_target_of(target) : Py_NewRef(Py_None);
    if (chip == NULL) return NULL;
    PyObject *out = NULL;
    if (spad_spaces_create(&c.spaces, NULL, &error) != SPAD_OK) {
        py_raise(&error);
    } else {
        if (chip != Py_None) spad_spaces_set_target(c.spaces, ((py_target *)chip)->target);
        if (add_memories(c.spaces, memories))
            out = run_spaces(&c, file, end_exclusive != 0, &options);
    }
    spad_spaces_result_destroy(c.result);
    spad_spaces_destroy(c.spaces);
    Py_DECREF(chip);
    return out;
}

static PyMethodDef functions[] = {
    {"spaces", PY_FUNC(spaces_function), METH_VARARGS | METH_KEYWORDS,
     "spaces($module, text, memories=None, target=None, minimize=False, timeout=None, "
     "node_limit=0, end_exclusive=False, file='<csv>')\n--\n\nPlans the rows of a CSV text in "
     "several memories: those that the column space names, or one of several.\nmemories: (name, "
     "capacity or None) or (..., cost of a byte), fast ones first. A dict with verdict, spaces,\n"
     "text, csv (None: it does not fit); where rows may choose also cost, bound, moved, stays."},
    {NULL, NULL, 0, NULL}};

int py_add_spaces(PyObject *module) {
    return PyModule_AddFunctions(module, functions);
}
