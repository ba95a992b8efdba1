/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of an analysis as objects: Layout, Check, Sim; and Tune.
 *
 * A kernel never changes, so all of these work on it with the GIL released, several at
 * a time.
 */
#include "common.h"

typedef struct py_tune {
    PyObject_HEAD spad_tune *tune;
    PyObject *kernel;
} py_tune;

static const spad_kernel *kernel_in(PyObject *self) {
    return ((py_kernel *)self)->kernel;
}

static bool need_kernel(PyObject *object) {
    if (PyObject_TypeCheck(object, py.kernel)) return true;
    PyErr_SetString(PyExc_TypeError, "a Kernel is needed");
    return false;
}

/* ---- layouts ----------------------------------------------------------------------- */

static int report_layout(void *context, const spad_layout_progress *p) {
    py_listener_begin(context);
    return py_listener_end(context, Py_BuildValue("{s:s,s:L,s:N,s:L,s:L,s:L}", "space", p->name,
                                                  "nanoseconds", (long long)p->plan.nanoseconds,
                                                  "height", py_fact(p->plan.height, SPAD_UNBOUNDED),
                                                  "bound", (long long)p->plan.bound, "nodes",
                                                  (long long)p->plan.nodes, "restarts",
                                                  (long long)p->plan.restarts));
}

static PyObject *layout_make(PyObject *module, PyObject *const *args, Py_ssize_t count,
                             PyObject *keywords) {
    (void)module;
    static const char *const names[] = {"kernel", "timeout", "seed", "threads", "progress", NULL};
    PyObject *given[5];
    py_watch watch;
    py_listener listener;
    int64_t seed, threads;
    spad_layout_options options = {0};
    if (!py_take(given, "layout", names, 1, args, count, keywords) || !need_kernel(given[0]) ||
        !py_seconds(&options.timeout_ns, given[1]) || !py_int_or(&seed, given[2], 0) ||
        !py_int_or(&threads, given[3], 1) || !py_listener_from(&listener, given[4], &watch))
        return NULL;
    if (threads < INT32_MIN || threads > INT32_MAX) {
        PyErr_Format(py.errors[PY_ARGUMENT_ERROR], "%lld threads are too many", (long long)threads);
        return NULL;
    }
    options.seed = (uint64_t)seed;
    options.threads = (int32_t)threads;
    py_layout *self = py_new(py.layout);
    if (self == NULL) return NULL;
    self->kernel = py_keep(given[0]);
    spad_error error;
    options.watch = py_watch_of(&watch);
    options.progress = listener.function != NULL ? report_layout : NULL;
    options.context = &listener;
    const spad_check_options checks = {.watch = options.watch};
    py_watch_begin(&watch);
    const spad_status status = spad_layout_create_checked(&self->layout, NULL, kernel_in(given[0]),
                                                          &options, &checks, &error);
    if (py_watch_end(&watch) && status == SPAD_OK) return (PyObject *)self;
    Py_DECREF((PyObject *)self);
    return py_raise(&error);
}

PY_TRAVERSE(layout_traverse, py_layout, self->kernel, self->owner)

static void layout_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    py_layout *self = (py_layout *)object;
    if (self->owner == NULL) spad_layout_destroy(self->layout);
    Py_XDECREF(self->owner);
    Py_XDECREF(self->kernel);
    py_free(object);
}

static spad_layout *layout_in(PyObject *self) {
    return ((py_layout *)self)->layout;
}

PY_WRITER(spad_layout, text, TEXT)
PY_WRITER(spad_layout, table, TABLE)
PY_WRITER(spad_layout, json, JSON)
PY_WRITER(spad_layout, csv, CSV)

#define LAYOUT_TEXT(name)                                                        \
    static PyObject *layout_##name(PyObject *self, PyObject *unused) {           \
        (void)unused;                                                            \
        return py_text_outside(spad_layout_write_##name##_any, layout_in(self)); \
    }
LAYOUT_TEXT(text)
LAYOUT_TEXT(table)
LAYOUT_TEXT(json)
LAYOUT_TEXT(csv)

static PyObject *layout_place(PyObject *self, PyObject *args) {
    const char *name;
    long long slot = 0;
    if (!PyArg_ParseTuple(args, "s|L:place", &name, &slot)) return NULL;
    const spad_layout *layout = layout_in(self);
    for (size_t i = 0; i < spad_layout_buffer_count(layout); i++) {
        const spad_layout_buffer *b = spad_layout_get_buffer(layout, i);
        if (strcmp(b->name, name) != 0 || slot < b->slot || slot >= b->slot + b->slots) continue;
        if (b->rect.byte == SPAD_NO_BYTE) Py_RETURN_NONE;
        return Py_BuildValue("(LL)", (long long)b->rect.lane,
                             (long long)(b->rect.byte + (slot - b->slot) * b->stride));
    }
    const spad_kernel *kernel = spad_layout_get_kernel(layout);
    for (size_t i = 0; i < spad_kernel_tensor_count(kernel); i++) {
        spad_rect rect;
        if (strcmp(spad_kernel_get_tensor(kernel, i)->name, name) == 0 &&
            spad_layout_get_alias_place(&rect, layout, (int64_t)i, slot))
            return Py_BuildValue("(LL)", (long long)rect.lane, (long long)rect.byte);
    }
    PyErr_Format(PyExc_KeyError, "the layout has no slot %lld of '%s'", slot, name);
    return NULL;
}

static PyObject *space_row(const spad_kernel *kernel, const spad_layout_space *s) {
    return Py_BuildValue(
        "{s:s,s:s,s:N,s:L,s:N,s:L,s:L,s:L,s:L,s:L}", "space",
        spad_kernel_get_target(kernel)->spaces[s->space].name, "verdict",
        spad_layout_verdict_phrase(s->verdict), "height", py_fact(s->height, SPAD_UNBOUNDED),
        "bound", (long long)s->bound, "capacity", py_fact(s->capacity, SPAD_UNBOUNDED), "reserved",
        (long long)s->reserved, "peak_bytes", (long long)s->peak_bytes, "peak_padding",
        (long long)s->peak_padding, "hole", (long long)s->hole, "hole_at", (long long)s->hole_at);
}

static PyObject *layout_spaces(PyObject *self, void *unused) {
    (void)unused;
    const spad_layout *layout = layout_in(self);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < spad_layout_space_count(layout); i++)
        if (!py_append(list,
                       space_row(spad_layout_get_kernel(layout), spad_layout_get_space(layout, i))))
            Py_CLEAR(list);
    return list;
}

typedef struct fit_text {
    spad_fit *fit;
    const spad_layout *layout;
} fit_text;

static spad_status write_fit(const void *object, const spad_sink *sink, spad_error *error) {
    const fit_text *f = object;
    return spad_fit_write(f->fit, f->layout, SPAD_FORMAT_TEXT, sink, error);
}
static spad_status write_fit_json(const void *object, const spad_sink *sink, spad_error *error) {
    const fit_text *f = object;
    return spad_fit_write(f->fit, f->layout, SPAD_FORMAT_JSON, sink, error);
}

static PyObject *layout_fit(PyObject *self, PyObject *const *args, Py_ssize_t count,
                            PyObject *keywords) {
    static const char *const names[] = {"timeout", "json", NULL};
    PyObject *given[2];
    spad_fit_options options = {0};
    bool json = false;
    if (!py_take(given, "fit", names, 0, args, count, keywords) ||
        !py_flag(&json, given[1], false) || !py_seconds(&options.timeout_ns, given[0]))
        return NULL;
    fit_text f = {NULL, layout_in(self)};
    spad_error error;
    py_watch watch;
    options.watch = py_watch_of(&watch);
    py_watch_begin(&watch);
    const spad_status status = spad_fit_create(&f.fit, f.layout, &options, &error);
    PyObject *text = py_watch_end(&watch) && status == SPAD_OK
                         ? py_text_outside(json ? write_fit_json : write_fit, &f)
                         : py_raise(&error);
    spad_fit_destroy(f.fit);
    return text;
}

PY_GETTER(layout_fits, PyBool_FromLong(spad_layout_fits(layout_in(self))))
PY_GETTER(layout_kernel, py_keep(((py_layout *)self)->kernel))

static PyMethodDef layout_methods[] = {
    {"text", layout_text, METH_NOARGS,
     "text($self, /)\n--\n\nA line per space, and what is needed at its peak."},
    {"table", layout_table, METH_NOARGS, "table($self, /)\n--\n\nA line per tensor."},
    {"json", layout_json, METH_NOARGS, "json($self, /)\n--\n\nEverything as JSON."},
    {"csv", layout_csv, METH_NOARGS, "csv($self, /)\n--\n\nA row per place."},
    {"place", layout_place, METH_VARARGS,
     "place($self, tensor, slot=0, /)\n--\n\nWhere a slot of a tensor is."},
    {"fit", PY_FUNC(layout_fit), PY_FAST,
     "fit($self, timeout=None, json=False)\n--\n\nChanges after which it fits; each was tried."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef layout_fields[] = {
    {.name = "data", .get = py_data, .doc = "Everything as a dict."},

    {.name = "fits", .get = layout_fits, .doc = "Does every space fit?"},
    {.name = "spaces", .get = layout_spaces, .doc = "A dict for each space."},
    {.name = "kernel", .get = layout_kernel, .doc = "The kernel."},
    {.name = NULL}};

PY_TYPE_MADE(layout, "Layout", "The places of all tensors of a kernel.",
             {Py_tp_methods, layout_methods}, {Py_tp_getset, layout_fields});

/* A Layout, or NULL for None; false with an exception set. Whether it is one of the kernel at hand
 * is for the library to find out. */
static bool read_layout(py_layout **out, PyObject *object) {
    *out = NULL;
    if (object == NULL || object == Py_None) return true;
    if (!PyObject_TypeCheck(object, py.layout)) {
        PyErr_SetString(PyExc_TypeError, "layout is a Layout, or None");
        return false;
    }
    *out = (py_layout *)object;
    return true;
}

/* ---- checks ------------------------------------------------------------------------ */

/* The check of a text that cannot be read; None: it can. */
static PyObject *check_faults(PyObject *module, PyObject *args) {
    (void)module;
    const char *text, *file = "<kernel>";
    Py_ssize_t length;
    spad_diagnostics *faults = NULL;
    spad_kernel *kernel = NULL;
    spad_error error;
    if (!PyArg_ParseTuple(args, "s#|s:check_faults", &text, &length, &file)) return NULL;
    py_check *self = py_new(py.check);
    if (self == NULL) return NULL;
    spad_status status = spad_diagnostics_create(&faults, NULL, &error);
    if (status == SPAD_OK)
        status = spad_kernel_parse(&kernel, text, (size_t)length, file, NULL, faults, &error);
    const bool readable = status == SPAD_OK;
    if (status == SPAD_ERR_SYNTAX)
        status = spad_check_create_from_faults(&self->check, faults, file, NULL, &error);
    spad_kernel_destroy(kernel);
    spad_diagnostics_destroy(faults);
    if (status == SPAD_OK && !readable) return (PyObject *)self;
    Py_DECREF((PyObject *)self);
    return py_done(status, &error);
}

PY_TRAVERSE(check_traverse, py_check, self->kernel, self->layout, self->owner)

static void check_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    py_check *self = (py_check *)object;
    if (self->owner == NULL) spad_check_destroy(self->check);
    Py_XDECREF(self->owner);
    Py_XDECREF(self->layout);
    Py_XDECREF(self->kernel);
    py_free(object);
}

static const spad_check *check_in(PyObject *self) {
    return ((py_check *)self)->check;
}

static PyObject *or_none(const char *text) {
    return py_string(text[0] == '\0' ? NULL : text);
}

/* (line, column) of the input where a finding names a line of the program first; else None. */
static PyObject *from_of(const spad_program_line *program, int32_t line, int32_t column) {
    if (program->line == 0) Py_RETURN_NONE;
    return Py_BuildValue("(NN)", py_fact(line, 0), py_fact(column, 0));
}

static PyObject *notes_of(const spad_finding *f) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < f->note_count; i++) {
        const spad_note *n = &f->notes[i];
        const spad_program_line *p = &n->program;
        const bool own = p->line > 0;
        if (!py_append(list, Py_BuildValue("{s:N,s:N,s:N,s:N,s:N,s:N}", "line",
                                           py_fact(own ? p->line : n->line, 0), "column",
                                           py_fact(own ? p->column : n->column, 0), "message",
                                           py_string(n->message), "place", or_none(n->place),
                                           "file", or_none(own ? p->file : f->file), "from_input",
                                           from_of(p, n->line, n->column))))
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *fault_of(const spad_compiler_fault *fault) {
    if (fault == NULL) return py_keep(Py_None);
    return Py_BuildValue("{s:s,s:s,s:s,s:s,s:O}", "name", fault->name, "remedy", fault->remedy,
                         "effect", fault->effect, "link", fault->link, "wrong_results",
                         fault->wrong_results ? Py_True : Py_False);
}

PyObject *py_finding(const spad_finding *f) {
    const spad_program_line *p = &f->program;
    const bool own = p->line > 0;
    static const char *const hidden[] = {"", "source", "baseline", "rule"};
    return Py_BuildValue(
        "{s:s,s:s,s:N,s:N,s:N,s:N,s:N,s:L,s:N,s:N,s:N,s:N,s:s,s:n,s:N,s:N,s:N}", "code",
        spad_finding_name(f->code), "severity", spad_severity_name(f->severity), "message",
        py_string(f->message), "subject", or_none(f->subject), "other", or_none(f->other), "line",
        py_fact(own ? p->line : f->line, 0), "column", py_fact(own ? p->column : f->column, 0),
        "count", (long long)(f->count > 1 ? f->count : 1), "file", or_none(own ? p->file : f->file),
        "notes", notes_of(f), "place", or_none(f->place), "from_input",
        from_of(p, f->line, f->column), "fingerprint", f->fingerprint, "cause",
        (Py_ssize_t)f->cause - 1, "hidden", or_none(hidden[f->hidden]), "why", or_none(f->why),
        "compiler_fault", fault_of(f->fault));
}

static PyObject *check_findings(PyObject *self, void *unused) {
    (void)unused;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < spad_check_finding_count(check_in(self)); i++) {
        if (!py_append(list, py_finding(spad_check_get_finding(check_in(self), i)))) Py_CLEAR(list);
    }
    return list;
}

static spad_status write_check(const void *object, const spad_sink *sink, spad_error *error) {
    const py_check *self = object;
    const py_kernel *kernel = (py_kernel *)self->kernel;
    char *text = NULL;
    Py_ssize_t length = 0;
    if (kernel->source != NULL && PyBytes_AsStringAndSize(kernel->source, &text, &length) != 0)
        PyErr_Clear();
    return spad_check_write_text(self->check, kernel->kernel, text, (size_t)length, sink, error);
}
static spad_status write_check_json(const void *object, const spad_sink *sink, spad_error *error) {
    const py_check *self = object;
    const spad_kernel *kernel = self->kernel == NULL ? NULL : kernel_in(self->kernel);
    return spad_check_write_json(self->check, kernel, sink, error);
}
static spad_status write_check_sarif(const void *object, const spad_sink *sink, spad_error *error) {
    const spad_check *const checks[] = {((const py_check *)object)->check};
    return spad_check_write_sarif(checks, 1, sink, error);
}

static PyObject *check_text(PyObject *self, PyObject *unused) {
    (void)unused;
    if (((py_check *)self)->kernel != NULL) return py_text(write_check, self);
    PyErr_SetString(py.errors[PY_STATE_ERROR], "the text of the kernel cannot be read");
    return NULL;
}
PY_METHOD(check_json, py_text_outside(write_check_json, self))
PY_METHOD(check_sarif, py_text_outside(write_check_sarif, self))
PY_GETTER(check_verdict, py_string(spad_verdict_name(spad_check_get_verdict(check_in(self)))))
PY_GETTER(check_passes, PyBool_FromLong(spad_check_passes(check_in(self))))
PY_GETTER(check_reason, py_string(spad_check_get_reason(check_in(self))))
static PyObject *check_kernel(PyObject *self, void *unused) {
    (void)unused;
    PyObject *kernel = ((py_check *)self)->kernel;
    return py_keep(kernel == NULL ? Py_None : kernel);
}
static PyObject *check_layout(PyObject *self, void *unused) {
    (void)unused;
    PyObject *layout = ((py_check *)self)->layout;
    return py_keep(layout == NULL ? Py_None : layout);
}
static PyObject *check_counts(PyObject *self, void *unused) {
    (void)unused;
    const spad_check_counts c = spad_check_get_counts(check_in(self));
    return Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L}", "errors", (long long)c.errors,
                         "warnings", (long long)c.warnings, "advice", (long long)c.advice, "events",
                         (long long)c.events, "accesses", (long long)c.accesses, "runs",
                         (long long)c.runs, "compiler_faults", (long long)c.compiler_faults,
                         "hidden", (long long)c.hidden);
}

static PyMethodDef check_methods[] = {
    {"text", check_text, METH_NOARGS,
     "text($self, /)\n--\n\nThe findings as a compiler shows them."},
    {"json", check_json, METH_NOARGS, "json($self, /)\n--\n\nEverything as JSON."},
    {"sarif", check_sarif, METH_NOARGS, "sarif($self, /)\n--\n\nThe findings as a SARIF log."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef check_fields[] = {
    {.name = "verdict", .get = check_verdict, .doc = "wrong, proved ..., or unknown."},
    {.name = "reason", .get = check_reason, .doc = "One sentence about the verdict."},
    {.name = "passes", .get = check_passes, .doc = "Does nothing fail the check?"},
    {.name = "counts", .get = check_counts, .doc = "What was found and examined."},
    {.name = "_findings", .get = check_findings, .doc = "Findings as dicts."},
    {.name = "kernel", .get = check_kernel, .doc = "The kernel; None: it could not be read."},
    {.name = "layout", .get = check_layout, .doc = "The layout that it was checked with, or None."},
    {.name = NULL}};

PY_TYPE_MADE(check, "Check", "What is wrong with a kernel.", {Py_tp_methods, check_methods},
             {Py_tp_getset, check_fields});

/* ---- simulation -------------------------------------------------------------------- */

static PyObject *sim_make(PyObject *module, PyObject *const *args, Py_ssize_t count,
                          PyObject *keywords) {
    (void)module;
    static const char *const names[] = {"kernel",          "layout",  "hoists", "no_repeat",
                                        "operation_limit", "timeout", "grid",   NULL};
    PyObject *given[7], *keep;
    py_layout *layout;
    spad_define *hoists;
    spad_sim_options options = {0};
    if (!py_take(given, "sim", names, 1, args, count, keywords) || !need_kernel(given[0]) ||
        !read_layout(&layout, given[1]) || !py_int_or(&options.operation_limit, given[4], 0) ||
        !py_flag(&options.no_repeat, given[3], false) ||
        !py_seconds(&options.timeout_ns, given[5]) || !py_int_or(&options.grid, given[6], 0) ||
        !py_defines(&hoists, &options.hoist_count, &keep, given[2]))
        return NULL;
    options.hoists = hoists;
    py_sim *self = py_new(py.sim);
    if (self == NULL) {
        PyMem_Free(hoists);
        Py_XDECREF(keep);
        return NULL;
    }
    self->kernel = py_keep(given[0]);
    if (layout != NULL) {
        self->layout = py_keep((PyObject *)layout);
        options.layout = layout->layout;
    }
    spad_error error;
    py_watch watch;
    options.watch = py_watch_of(&watch);
    py_watch_begin(&watch);
    const spad_status status = spad_sim_create(&self->sim, kernel_in(given[0]), &options, &error);
    const bool done = py_watch_end(&watch) && status == SPAD_OK;
    PyMem_Free(hoists);
    Py_XDECREF(keep);
    if (done) return (PyObject *)self;
    Py_DECREF((PyObject *)self);
    return py_raise(&error);
}

PY_TRAVERSE(sim_traverse, py_sim, self->kernel, self->layout, self->owner)

static void sim_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    py_sim *self = (py_sim *)object;
    if (self->owner == NULL) spad_sim_destroy(self->sim);
    Py_XDECREF(self->owner);
    Py_XDECREF(self->layout);
    Py_XDECREF(self->kernel);
    py_free(object);
}

static const spad_sim *sim_in(PyObject *self) {
    return ((py_sim *)self)->sim;
}

PY_WRITER(spad_sim, text, TEXT)
PY_WRITER(spad_sim, json, JSON)

PY_METHOD(sim_text, py_text_outside(spad_sim_write_text_any, sim_in(self)))
PY_METHOD(sim_json, py_text_outside(spad_sim_write_json_any, sim_in(self)))
PY_GETTER(sim_stuck, py_string(spad_sim_get_stuck(sim_in(self))))
PY_GETTER(sim_kernel, py_keep(((py_sim *)self)->kernel))
#define SIM_NUMBER(field) \
    PY_GETTER(sim_##field, PyLong_FromLongLong(spad_sim_get_totals(sim_in(self)).field))
SIM_NUMBER(makespan)
SIM_NUMBER(operations)
SIM_NUMBER(bound)
SIM_NUMBER(unknown)

/* The times of a result in words: for Sim and Tune, from the totals that they have. */
static PyObject *badge_of(const spad_sim_totals *totals) {
    char field[SPAD_BADGE_TEXT];
    return py_string(spad_sim_badge_text(totals, field));
}
static PyObject *unit_text_of(const spad_sim_totals *totals, PyObject *picoseconds) {
    char field[SPAD_TIME_TEXT];
    int64_t time;
    return py_int(&time, picoseconds) ? py_string(spad_time_unit_text(totals->unit, time, field))
                                      : NULL;
}
static PyObject *uncounted_of(const spad_sim_totals *totals) {
    return py_string(totals->uncounted[0] != '\0' ? totals->uncounted : NULL);
}
#define PY_UNIT(type, totals)                                                             \
    PY_GETTER(type##_unit, py_string(spad_time_unit_name((totals).unit)))                 \
    PY_GETTER(type##_assumed, PyLong_FromLongLong((totals).unknown + (totals).unclocked)) \
    static PyObject *type##_badge(PyObject *self, void *unused) {                         \
        (void)unused;                                                                     \
        const spad_sim_totals t = (totals);                                               \
        return badge_of(&t);                                                              \
    }                                                                                     \
    static PyObject *type##_uncounted(PyObject *self, void *unused) {                     \
        (void)unused;                                                                     \
        const spad_sim_totals t = (totals);                                               \
        return uncounted_of(&t);                                                          \
    }                                                                                     \
    static PyObject *type##_time_text(PyObject *self, PyObject *picoseconds) {            \
        const spad_sim_totals t = (totals);                                               \
        return unit_text_of(&t, picoseconds);                                             \
    }
PY_UNIT(sim, spad_sim_get_totals(sim_in(self)))

static PyMethodDef sim_methods[] = {
    {"text", sim_text, METH_NOARGS,
     "text($self, /)\n--\n\nEngines, timeline, causes and critical path."},
    {"json", sim_json, METH_NOARGS, "json($self, /)\n--\n\nThe same as JSON."},
    {"time_text", sim_time_text, METH_O,
     "time_text($self, picoseconds, /)\n--\n\nA time of it in words: '12.345 us', '17 steps'."},
    {NULL, NULL, 0, NULL}};

#define UNIT_FIELDS(type)                                                                       \
    {.name = "unit",                                                                            \
     .get = type##_unit,                                                                        \
     .doc = "What its times are: time, mixed, cycles, steps."},                                 \
        {.name = "assumed", .get = type##_assumed, .doc = "Operations whose time is assumed."}, \
        {.name = "uncounted",                                                                   \
         .get = type##_uncounted,                                                               \
         .doc = "Work that its times leave out, or None."},                                     \
    {                                                                                           \
        .name = "badge", .get = type##_badge,                                                   \
        .doc = "What its times are not; None: real times of all the work."                      \
    }

static PyGetSetDef sim_fields[] = {
    {.name = "data",
     .get = py_data,
     .doc = "Everything as a dict: engines, waits, repeats, path and rows."},

    {.name = "makespan", .get = sim_makespan, .doc = "Picoseconds; see unit."},
    UNIT_FIELDS(sim),
    {.name = "operations", .get = sim_operations, .doc = "Operations, repetitions included."},
    {.name = "bound", .get = sim_bound, .doc = "Work of the busiest engine."},
    {.name = "unknown", .get = sim_unknown, .doc = "Operations without a known duration."},
    {.name = "stuck", .get = sim_stuck, .doc = "Who waits for what in a deadlock, or None."},
    {.name = "kernel", .get = sim_kernel, .doc = "The kernel."},
    {.name = NULL}};

PY_TYPE_MADE(sim, "Sim", "How long a kernel takes, and why.", {Py_tp_methods, sim_methods},
             {Py_tp_getset, sim_fields});

/* ---- tuning ------------------------------------------------------------------------ */

static int report_tune(void *context, const spad_tune_progress *p) {
    py_listener_begin(context);
    return py_listener_end(context, Py_BuildValue("{s:L,s:L,s:N,s:L}", "nanoseconds",
                                                  (long long)p->nanoseconds, "simulations",
                                                  (long long)p->simulations, "makespan_ps",
                                                  py_fact(p->makespan, SPAD_UNBOUNDED), "bound_ps",
                                                  (long long)p->bound));
}

static PyObject *tune_make(PyObject *module, PyObject *const *args, Py_ssize_t count,
                           PyObject *keywords) {
    (void)module;
    static const char *const names[] = {
        "kernel", "depth_most", "exhaustive_most", "timeout", "steps", "progress", NULL};
    PyObject *given[6];
    py_watch watch;
    py_listener listener;
    spad_tune_options options = {0};
    if (!py_take(given, "tune", names, 1, args, count, keywords) || !need_kernel(given[0]) ||
        !py_int_or(&options.depth_most, given[1], 0) ||
        !py_int_or(&options.exhaustive_most, given[2], 0) ||
        !py_seconds(&options.timeout_ns, given[3]) || !py_flag(&options.steps, given[4], false) ||
        !py_listener_from(&listener, given[5], &watch))
        return NULL;
    py_tune *self = py_new(py.tune);
    if (self == NULL) return NULL;
    self->kernel = py_keep(given[0]);
    spad_error error;
    options.watch = py_watch_of(&watch);
    options.progress = listener.function != NULL ? report_tune : NULL;
    options.context = &listener;
    py_watch_begin(&watch);
    const spad_status status = spad_tune_create(&self->tune, kernel_in(given[0]), &options, &error);
    if (py_watch_end(&watch) && status == SPAD_OK) return (PyObject *)self;
    Py_DECREF((PyObject *)self);
    return py_raise(&error);
}

PY_TRAVERSE(tune_traverse, py_tune, self->kernel)

static void tune_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    py_tune *self = (py_tune *)object;
    spad_tune_destroy(self->tune);
    Py_XDECREF(self->kernel);
    py_free(object);
}

static const spad_tune *tune_in(PyObject *self) {
    return ((py_tune *)self)->tune;
}

PY_WRITER(spad_tune, text, TEXT)
PY_WRITER(spad_tune, json, JSON)

PY_METHOD(tune_text, py_text_outside(spad_tune_write_text_any, tune_in(self)))
PY_METHOD(tune_json, py_text_outside(spad_tune_write_json_any, tune_in(self)))
static PyObject *tune_chosen(PyObject *self, void *unused) {
    (void)unused;
    const spad_kernel *chosen = spad_tune_get_chosen(tune_in(self));
    const spad_kernel_options none = {0};
    if (chosen == NULL) Py_RETURN_NONE;
    return (PyObject *)py_kernel_like(((py_tune *)self)->kernel, chosen, &none);
}
static PyObject *tune_depths(PyObject *self, void *unused) {
    (void)unused;
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict != NULL && i < spad_tune_knob_count(tune_in(self)); i++) {
        const spad_tune_knob *knob = spad_tune_get_knob(tune_in(self), i);
        if (!py_put(dict, knob->name, PyLong_FromLongLong(knob->chosen))) Py_CLEAR(dict);
    }
    return dict;
}
PY_GETTER(tune_makespan, py_fact(spad_tune_get_totals(tune_in(self)).makespan, SPAD_UNBOUNDED))
PY_UNIT(tune, spad_tune_get_totals(tune_in(self)).simulated)
PY_GETTER(tune_written, PyLong_FromLongLong(spad_tune_get_totals(tune_in(self)).written))
PY_GETTER(tune_bytes, PyLong_FromLongLong(spad_tune_get_totals(tune_in(self)).bytes))
PY_GETTER(tune_placed, PyLong_FromLongLong(spad_tune_get_totals(tune_in(self)).placed))

static PyMethodDef tune_methods[] = {
    {"text", tune_text, METH_NOARGS, "text($self, /)\n--\n\nThe choice in words."},
    {"json", tune_json, METH_NOARGS, "json($self, /)\n--\n\nThe same as JSON."},
    {"time_text", tune_time_text, METH_O,
     "time_text($self, picoseconds, /)\n--\n\nA time of it in words: '12.345 us', '17 steps'."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef tune_fields[] = {
    {.name = "data", .get = py_data, .doc = "Everything as a dict: knobs, frontier and hoists."},

    {.name = "chosen",
     .get = tune_chosen,
     .doc = "The kernel with the chosen depths; None: nothing fits."},
    {.name = "depths", .get = tune_depths, .doc = "The chosen value of every knob, by name."},
    {.name = "makespan",
     .get = tune_makespan,
     .doc = "Picoseconds of the choice; None: nothing fits."},
    UNIT_FIELDS(tune),
    {.name = "written", .get = tune_written, .doc = "Picoseconds of the kernel as it was written."},
    {.name = "bytes",
     .get = tune_bytes,
     .doc = "On chip, over all lanes, if no tensors share bytes."},
    {.name = "placed",
     .get = tune_placed,
     .doc = "Bytes that the layout of the choice takes, over all lanes; 0: nothing fits."},
    {.name = NULL}};

PY_TYPE_MADE(tune, "Tune", "How deep the rings of a kernel should be.",
             {Py_tp_methods, tune_methods}, {Py_tp_getset, tune_fields});

/* ----  ------------------------------------------------------------------------------ */

static PyMethodDef functions[] = {
    {"layout", PY_FUNC(layout_make), PY_FAST,
     "layout($module, kernel, timeout=None, seed=0, threads=1, progress=None)\n--\n\nPlaces every "
     "tensor."},
    {"check_faults", check_faults, METH_VARARGS,
     "check_faults($module, text, file='<kernel>', /)\n--\n\nThe faults of a text as findings; "
     "None: it can be read."},
    {"sim", PY_FUNC(sim_make), PY_FAST,
     "sim($module, kernel, layout=None, hoists=None, no_repeat=False, operation_limit=0, "
     "timeout=None, grid=0)\n--\n\nHow long does it take? grid: the kernel is one of that many "
     "blocks."},
    {"tune", PY_FUNC(tune_make), PY_FAST,
     "tune($module, kernel, depth_most=0, exhaustive_most=0, timeout=None, steps=False, "
     "progress=None)\n--\n\n"
     "How deep should its rings be? steps: also where costs are assumed."},
    {NULL, NULL, 0, NULL}};

int py_add_parts(PyObject *module) {
    if (py_add_type(module, &py.layout, &layout_spec) != 0 ||
        py_add_type(module, &py.check, &check_spec) != 0 ||
        py_add_type(module, &py.sim, &sim_spec) != 0 ||
        py_add_type(module, &py.tune, &tune_spec) != 0)
        return -1;
    return PyModule_AddFunctions(module, functions);
}
