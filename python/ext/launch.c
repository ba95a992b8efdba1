/* SPDX-License-Identifier: Apache-2.0
 *
 * Launch arithmetic after CuBIE: shared memory of a run, size of a block, chunks of runs,
 * and which buffers of a registry are worth moving to shared memory.
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

/* ---- placement --------------------------------------------------------------------- */

static const char *const methods[] = {"erk", "dirk", "firk", "backward_euler", "other"};
static const char *const groups[] = {"none", "state_pair", "work", "params"};

static bool read_word(int *out, const char *const *words, size_t count, const char *word,
                      const char *what) {
    for (size_t i = 0; i < count; i++) {
        *out = (int)i;
        if (strcmp(words[i], word) == 0) return true;
    }
    char hint[SPAD_MESSAGE_MAX];
    spad_close_names(hint, sizeof hint, word, words, count);
    PyErr_Format(py.errors[PY_ARGUMENT_ERROR], "'%s' is no %s%s", word, what, hint);
    return false;
}

static PyObject *thresholds_dict(const spad_placement_thresholds *t) {
    return Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:L}", "heavy_spill", (long long)t->heavy_spill,
                         "spill_floor", (long long)t->spill_floor, "state_pair_max",
                         (long long)t->state_pair_max, "work_max", (long long)t->work_max,
                         "explicit_work_max", (long long)t->explicit_work_max, "params_min",
                         (long long)t->params_min);
}

static PyObject *placement_thresholds(PyObject *module, PyObject *args) {
    (void)module;
    const char *capability = NULL;
    if (!PyArg_ParseTuple(args, "|z:placement_thresholds", &capability)) return NULL;
    const spad_placement_thresholds t = spad_placement_thresholds_of(capability);
    return thresholds_dict(&t);
}

/* A number of a dict; what is not there stays as it is. */
static bool get_number(int64_t *out, PyObject *dict, const char *key) {
    PyObject *value = PyDict_GetItemString(dict, key);
    return value == NULL || py_int(out, value);
}

static bool need_dict(PyObject *object, const char *what) {
    if (PyDict_Check(object)) return true;
    PyErr_Format(PyExc_TypeError, "%s are a dict", what);
    return false;
}

static bool read_thresholds(spad_placement_thresholds *t, PyObject *dict) {
    *t = spad_placement_thresholds_of(NULL);
    if (dict == Py_None) return true;
    return need_dict(dict, "thresholds") && get_number(&t->heavy_spill, dict, "heavy_spill") &&
           get_number(&t->spill_floor, dict, "spill_floor") &&
           get_number(&t->state_pair_max, dict, "state_pair_max") &&
           get_number(&t->work_max, dict, "work_max") &&
           get_number(&t->explicit_work_max, dict, "explicit_work_max") &&
           get_number(&t->params_min, dict, "params_min");
}

static bool read_sizes(spad_placement_sizes *s, PyObject *dict) {
    *s = (spad_placement_sizes){.method = SPAD_METHOD_OTHER, .item = 4};
    if (!need_dict(dict, "sizes")) return false;
    PyObject *name = PyDict_GetItemString(dict, "method");
    if (name != NULL) {
        const char *word = py_chars(name);
        int method;
        if (word == NULL || !read_word(&method, methods, 5, word, "method")) return false;
        s->method = (spad_method)method;
    }
    return get_number(&s->item, dict, "item") && get_number(&s->footprint, dict, "footprint") &&
           get_number(&s->state_pair, dict, "state_pair") && get_number(&s->work, dict, "work") &&
           get_number(&s->params, dict, "params");
}

static PyObject *placement_candidates(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *given, *limits = Py_None;
    spad_placement_sizes sizes;
    spad_placement_thresholds thresholds;
    spad_placement_group found[SPAD_PLACEMENT_CANDIDATES_MAX];
    if (!PyArg_ParseTuple(args, "O|O:placement_candidates", &given, &limits) ||
        !read_sizes(&sizes, given) || !read_thresholds(&thresholds, limits))
        return NULL;
    const size_t count = spad_placement_list_candidates(found, &sizes, &thresholds);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < count; i++)
        if (!py_append(list, py_string(groups[found[i]]))) Py_CLEAR(list);
    return list;
}

/* The registry of two components, which have to have the same one. */
static spad_registry *registry_of(PyObject *a, PyObject *b) {
    spad_registry *registry = py_component_registry(a);
    if (registry == NULL) return NULL;
    const spad_registry *other = py_component_registry(b);
    if (other == registry) return registry;
    if (other != NULL)
        PyErr_SetString(py.errors[PY_ARGUMENT_ERROR], "the components are of different registries");
    return NULL;
}

static spad_component number_of(PyObject *component) {
    return ((py_component *)component)->number;
}

static PyObject *placement_measure(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *loop, *step;
    const char *word;
    long long states, parameters;
    int method;
    spad_placement_sizes s;
    spad_error error;
    if (!PyArg_ParseTuple(args, "OOsLL:placement_measure", &loop, &step, &word, &states,
                          &parameters) ||
        !read_word(&method, methods, 5, word, "method"))
        return NULL;
    spad_registry *registry = registry_of(loop, step);
    if (registry == NULL) return NULL;
    if (spad_placement_measure(&s, registry, number_of(loop), number_of(step), (spad_method)method,
                               states, parameters, &error) != SPAD_OK)
        return py_raise(&error);
    return Py_BuildValue("{s:s,s:L,s:L,s:L,s:L,s:L}", "method", methods[s.method], "item",
                         (long long)s.item, "footprint", (long long)s.footprint, "state_pair",
                         (long long)s.state_pair, "work", (long long)s.work, "params",
                         (long long)s.params);
}

static PyObject *placement_choose(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *given, *step, *set = Py_None, *limits = Py_None;
    spad_placement_sizes sizes;
    spad_placement_thresholds thresholds;
    if (!PyArg_ParseTuple(args, "OO|OO:placement_choose", &given, &step, &set, &limits) ||
        !read_sizes(&sizes, given) || !read_thresholds(&thresholds, limits))
        return NULL;
    const spad_registry *registry = py_component_registry(step);
    if (registry == NULL) return NULL;
    const char **keys;
    size_t count;
    PyObject *keep;
    if (!py_names(&keys, &count, &keep, set)) return NULL;
    const spad_placement_group group =
        spad_placement_choose(&sizes, &thresholds, registry, number_of(step), keys, count);
    PyMem_Free((void *)keys);
    Py_XDECREF(keep);
    return py_string(groups[group]);
}

static PyObject *placement_apply(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *loop, *step;
    const char *word;
    int group;
    if (!PyArg_ParseTuple(args, "OOs:placement_apply", &loop, &step, &word) ||
        !read_word(&group, groups, 4, word, "group"))
        return NULL;
    spad_registry *registry = registry_of(loop, step);
    if (registry == NULL) return NULL;
    return PyLong_FromSize_t(spad_placement_apply(registry, number_of(loop), number_of(step),
                                                  (spad_placement_group)group));
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
    {"placement_thresholds", placement_thresholds, METH_VARARGS,
     "placement_thresholds($module, capability=None, /)\n--\n\nBounds in bytes per run."},
    {"placement_candidates", placement_candidates, METH_VARARGS,
     "placement_candidates($module, sizes, thresholds=None, /)\n--\n\nThe groups of buffers worth "
     "moving, best first:\nstate_pair, work, params."},
    {"placement_measure", placement_measure, METH_VARARGS,
     "placement_measure($module, loop, step, method, states, parameters, /)\n--\n\nThe sizes that "
     "the choice depends on, from the registry."},
    {"placement_choose", placement_choose, METH_VARARGS,
     "placement_choose($module, sizes, step, user_keys=None, thresholds=None, /)\n--\n\nThe first "
     "candidate that holds no buffer which the user has placed."},
    {"placement_apply", placement_apply, METH_VARARGS,
     "placement_apply($module, loop, step, group, /)\n--\n\nMoves the buffers of a group to shared "
     "memory: how many there were."},
    {NULL, NULL, 0, NULL}};

int py_add_launch(PyObject *module) {
    return PyModule_AddFunctions(module, functions);
}
