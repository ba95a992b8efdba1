/* SPDX-License-Identifier: Apache-2.0
 *
 * Analysis: everything about one kernel, each part computed once. Its parts are shown as Layout,
 * Check and Sim objects that keep the analysis alive; those that the caller brought are the
 * caller's own objects.
 */
#include "common.h"
#include "spad/experimental/analysis_notes.h"

typedef struct py_analysis {
    PyObject_HEAD spad_analysis *analysis;
    PyObject *kernel;
    PyObject *layout; /* of the caller, or NULL; likewise the others */
    PyObject *check;
    PyObject *sim;
} py_analysis;

static const spad_analysis *analysis_in(PyObject *self) {
    return ((py_analysis *)self)->analysis;
}

/* ---- making ------------------------------------------------------------------------ */

static const char *const part_names[SPAD_PARTS] = {"layout", "check", "sim", "fit"};

/* Bits of the parts that a sequence of names leaves out; None: none. */
static bool read_skip(unsigned *out, PyObject *names) {
    *out = 0;
    if (names == NULL || names == Py_None) return true;
    PyObject *list = PySequence_List(names);
    for (Py_ssize_t i = 0; list != NULL && i < PyList_Size(list); i++) {
        PyObject *bytes = PyUnicode_AsUTF8String(PyList_GetItem(list, i));
        const char *name = bytes != NULL ? PyBytes_AsString(bytes) : NULL;
        int part = 0;
        while (name != NULL && part < SPAD_PARTS && strcmp(name, part_names[part]) != 0) part++;
        if (name != NULL && part == SPAD_PARTS)
            PyErr_Format(py.errors[PY_ARGUMENT_ERROR],
                         "'%s' is no part of an analysis: layout, check, sim, fit", name);
        Py_XDECREF(bytes);
        if (name == NULL || part == SPAD_PARTS)
            Py_CLEAR(list);
        else
            *out |= 1u << part;
    }
    Py_XDECREF(list);
    return list != NULL;
}

/* An object of a type, or NULL for None; false with an exception set. */
static bool read_part(PyObject **out, PyObject *object, PyTypeObject *type, const char *words) {
    *out = NULL;
    if (object == NULL || object == Py_None) return true;
    if (!PyObject_TypeCheck(object, type)) {
        PyErr_SetString(PyExc_TypeError, words);
        return false;
    }
    *out = object;
    return true;
}

/* The parts of the caller, kept in self. */
static bool keep_parts(py_analysis *self, spad_analysis_options *options, PyObject *const *parts) {
    PyObject *layout, *check, *sim;
    if (!read_part(&layout, parts[0], py.layout, "layout is a Layout, or None") ||
        !read_part(&check, parts[1], py.check, "check is a Check, or None") ||
        !read_part(&sim, parts[2], py.sim, "sim is a Sim, or None"))
        return false;
    if (layout != NULL) {
        self->layout = py_keep(layout);
        options->made_layout = ((py_layout *)layout)->layout;
    }
    if (check != NULL) {
        self->check = py_keep(check);
        options->made_check = ((py_check *)check)->check;
    }
    if (sim != NULL) {
        self->sim = py_keep(sim);
        options->made_sim = ((py_sim *)sim)->sim;
    }
    return true;
}

/* Names of parameters; not given: none. A text is a sequence, too, but not of names. */
static bool read_vary(const char ***out, size_t *count, PyObject **keep, PyObject *names) {
    if (names != NULL && PyUnicode_Check(names)) {
        PyErr_SetString(PyExc_TypeError, "vary is a list of names of parameters");
        return false;
    }
    return py_names(out, count, keep, names != NULL ? names : Py_None);
}

static PyObject *analyse(PyObject *module, PyObject *const *args, Py_ssize_t count,
                         PyObject *keywords) {
    (void)module;
    static const char *const names[] = {"kernel",        "skip",        "layout", "check",
                                        "sim",           "timeout",     "advice", "one_shape",
                                        "finding_limit", "event_limit", "vary",   "compiler_faults",
                                        "rules",         "baseline",    NULL};
    PyObject *given[14];
    py_policy policy = {0};
    spad_check_options checks = {0};
    spad_analysis_options options = {.check = &checks};
    int64_t finding_limit;
    bool advice;
    if (!py_take(given, "analyse", names, 1, args, count, keywords) ||
        !read_skip(&options.skip, given[1]) || !py_seconds(&options.timeout_ns, given[5]) ||
        !py_flag(&advice, given[6], true) || !py_flag(&checks.one_shape, given[7], false) ||
        !py_int_or(&finding_limit, given[8], 0) || !py_int_or(&checks.event_limit, given[9], 0))
        return NULL;
    if (!PyObject_TypeCheck(given[0], py.kernel)) {
        PyErr_SetString(PyExc_TypeError, "a Kernel is needed");
        return NULL;
    }
    checks.finding_limit = (size_t)finding_limit;
    checks.no_advice = !advice;
    py_analysis *self = py_new(py.analysis);
    if (self == NULL) return NULL;
    self->kernel = py_keep(given[0]);
    const py_kernel *kernel = (py_kernel *)given[0];
    char *text = NULL;
    Py_ssize_t length = 0;
    const char **vary = NULL;
    PyObject *keep = NULL;
    if (!keep_parts(self, &options, given + 2) ||
        (kernel->source != NULL && PyBytes_AsStringAndSize(kernel->source, &text, &length) != 0) ||
        !read_vary(&vary, &checks.vary_count, &keep, given[10]) ||
        !py_policy_take(&policy, given[11], given[12], given[13])) {
        PyMem_Free((void *)vary);
        Py_XDECREF(keep);
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    checks.vary = vary;
    checks.policy = &policy.policy;
    options.source = text;
    options.source_length = (size_t)length;
    spad_error error;
    py_watch watch;
    options.watch = py_watch_of(&watch);
    py_watch_begin(&watch);
    const spad_status status =
        spad_analysis_create(&self->analysis, kernel->kernel, &options, &error);
    const bool goes_on = py_watch_end(&watch);
    py_policy_free(&policy);
    PyMem_Free((void *)vary);
    Py_XDECREF(keep);
    if (goes_on && status == SPAD_OK) return (PyObject *)self;
    Py_DECREF((PyObject *)self);
    return py_raise(&error);
}

PY_TRAVERSE(analysis_traverse, py_analysis, self->kernel, self->layout, self->check, self->sim)

static void analysis_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    py_analysis *self = (py_analysis *)object;
    spad_analysis_destroy(self->analysis);
    Py_XDECREF(self->sim);
    Py_XDECREF(self->check);
    Py_XDECREF(self->layout);
    Py_XDECREF(self->kernel);
    py_free(object);
}

const spad_analysis *py_analysis_in(PyObject *object) {
    if (PyObject_TypeCheck(object, py.analysis)) return analysis_in(object);
    PyErr_SetString(PyExc_TypeError, "an Analysis is needed");
    return NULL;
}

/* ---- parts ------------------------------------------------------------------------- */

PY_GETTER(analysis_kernel, py_keep(((py_analysis *)self)->kernel))

static PyObject *analysis_layout(PyObject *object, void *unused) {
    (void)unused;
    const py_analysis *self = (py_analysis *)object;
    const spad_layout *layout = spad_analysis_get_layout(self->analysis);
    if (self->layout != NULL) return py_keep(self->layout);
    if (layout == NULL) Py_RETURN_NONE;
    py_layout *made = py_new(py.layout);
    if (made == NULL) return NULL;
    made->layout = (spad_layout *)(uintptr_t)layout;
    made->owner = py_keep(object);
    made->kernel = py_keep(self->kernel);
    return (PyObject *)made;
}

static PyObject *analysis_check(PyObject *object, void *unused) {
    (void)unused;
    const py_analysis *self = (py_analysis *)object;
    const spad_check *check = spad_analysis_get_check(self->analysis);
    if (self->check != NULL) return py_keep(self->check);
    if (check == NULL) Py_RETURN_NONE;
    PyObject *layout = analysis_layout(object, NULL);
    py_check *made = layout != NULL ? py_new(py.check) : NULL;
    if (made == NULL) {
        Py_XDECREF(layout);
        return NULL;
    }
    made->check = (spad_check *)(uintptr_t)check;
    made->owner = py_keep(object);
    made->kernel = py_keep(self->kernel);
    if (layout == Py_None)
        Py_DECREF(layout);
    else
        made->layout = layout;
    return (PyObject *)made;
}

static PyObject *analysis_sim(PyObject *object, void *unused) {
    (void)unused;
    const py_analysis *self = (py_analysis *)object;
    const spad_sim *sim = spad_analysis_get_sim(self->analysis);
    if (self->sim != NULL) return py_keep(self->sim);
    if (sim == NULL) Py_RETURN_NONE;
    py_sim *made = py_new(py.sim);
    if (made == NULL) return NULL;
    made->sim = (spad_sim *)(uintptr_t)sim;
    made->owner = py_keep(object);
    made->kernel = py_keep(self->kernel);
    return (PyObject *)made;
}

PY_GETTER(analysis_apart, py_fact(spad_analysis_get_apart(analysis_in(self)), SPAD_UNBOUNDED))

static PyObject *analysis_changes(PyObject *self, void *unused) {
    (void)unused;
    const spad_fit *fit = spad_analysis_get_fit(analysis_in(self));
    const spad_target *target = spad_kernel_get_target(spad_analysis_get_kernel(analysis_in(self)));
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && fit != NULL && i < spad_fit_count(fit); i++) {
        const spad_fit_change *c = spad_fit_get(fit, i);
        if (!py_append(
                list,
                Py_BuildValue(
                    "{s:s,s:s,s:N,s:L,s:L,s:L,s:N,s:N}", "space", target->spaces[c->space].name,
                    "kind", spad_fit_kind_name(c->kind), "name", py_string(c->name), "from",
                    (long long)c->from, "to", (long long)c->to, "saved", (long long)c->saved,
                    "wrong",
                    py_string(c->wrong != SPAD_FINDING_NONE ? spad_finding_name(c->wrong) : NULL),
                    "wrong_at", py_string(c->wrong_at))))
            Py_CLEAR(list);
    }
    return list;
}

typedef struct note_of {
    const spad_analysis *analysis;
    size_t number;
} note_of;

static spad_status write_note(const void *object, const spad_sink *sink, spad_error *error) {
    const note_of *note = object;
    return spad_analysis_write_note(note->analysis, note->number, sink, error);
}

static PyObject *analysis_notes(PyObject *self, void *unused) {
    (void)unused;
    const spad_analysis *analysis = analysis_in(self);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < spad_analysis_note_count(analysis); i++) {
        const note_of note = {analysis, i};
        const char *code = spad_analysis_note_name(spad_analysis_get_note(analysis, i)->code);
        PyObject *text = py_text(write_note, &note);
        if (text == NULL || !py_append(list, Py_BuildValue("(sN)", code, text))) Py_CLEAR(list);
    }
    return list;
}

static PyObject *analysis_faults(PyObject *self, void *unused) {
    (void)unused;
    PyObject *dict = PyDict_New();
    for (int part = 0; dict != NULL && part < SPAD_PARTS; part++) {
        const spad_error *fault =
            spad_analysis_get_fault(analysis_in(self), (spad_analysis_part)part);
        if (fault != NULL && !py_put(dict, part_names[part], py_string(fault->message)))
            Py_CLEAR(dict);
    }
    return dict;
}

PY_GETTER(analysis_is_fine, PyBool_FromLong(spad_analysis_is_fine(analysis_in(self))))

PY_WRITER(spad_analysis, text, TEXT)
PY_WRITER(spad_analysis, json, JSON)

PY_METHOD(analysis_text, py_text_outside(spad_analysis_write_text_any, analysis_in(self)))
PY_METHOD(analysis_json, py_text_outside(spad_analysis_write_json_any, analysis_in(self)))

/* ---- type -------------------------------------------------------------------------- */

static PyMethodDef analysis_methods[] = {
    {"text", analysis_text, METH_NOARGS,
     "text($self, /)\n--\n\nSummary, spaces, engines, findings and verdict."},
    {"json", analysis_json, METH_NOARGS,
     "json($self, /)\n--\n\nLayout, check and engines as JSON."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef analysis_fields[] = {
    {.name = "data", .get = py_data, .doc = "Layout, check and engines as a dict."},

    {.name = "kernel", .get = analysis_kernel, .doc = "The kernel."},
    {.name = "layout", .get = analysis_layout, .doc = "The Layout; None: left out, or see faults."},
    {.name = "_check", .get = analysis_check, .doc = "The check, or None."},
    {.name = "sim", .get = analysis_sim, .doc = "The Sim; None: left out, or see faults."},
    {.name = "apart",
     .get = analysis_apart,
     .doc = "Picoseconds if no tensors shared bytes; None: not known."},
    {.name = "changes",
     .get = analysis_changes,
     .doc = "Changes after which it fits, a dict each."},
    {.name = "notes", .get = analysis_notes, .doc = "(code, text) of what there is to report."},
    {.name = "faults", .get = analysis_faults, .doc = "Why parts are missing, by their names."},
    {.name = "is_fine", .get = analysis_is_fine, .doc = "It fits, is right and runs to its end."},
    {.name = NULL}};

PY_TYPE_MADE(analysis, "Analysis", "Everything about a kernel.", {Py_tp_methods, analysis_methods},
             {Py_tp_getset, analysis_fields});

static PyMethodDef functions[] = {
    {"analyse", PY_FUNC(analyse), PY_FAST,
     "analyse($module, kernel, skip=(), layout=None, check=None, sim=None, timeout=None, "
     "advice=True, one_shape=False, finding_limit=0, event_limit=0, vary=(), "
     "compiler_faults=None, rules=None, baseline=None)\n--\n\nLayout, "
     "check, simulation and what would make it fit."},
    {NULL, NULL, 0, NULL}};

int py_add_analysis(PyObject *module) {
    if (py_add_type(module, &py.analysis, &analysis_spec) != 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
