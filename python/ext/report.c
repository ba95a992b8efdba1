/* SPDX-License-Identifier: Apache-2.0
 *
 * Report: pictures of memory over time; diff and emit.
 */
#include "common.h"

typedef struct py_report {
    PyObject_HEAD spad_report *report;
    PyObject *target;
} py_report;

PY_WRITER(spad_report_write_text, spad_report)
PY_WRITER(spad_report_write_svg, spad_report)
PY_WRITER(spad_report_write_html, spad_report)
PY_WRITER(spad_report_write_json, spad_report)
PY_WRITER(spad_report_write_trace, spad_report)
PY_WRITER(spad_report_write_snapshot, spad_report)
PY_WRITER(spad_report_diff_write_text, spad_report_diff)
PY_WRITER(spad_report_diff_write_json, spad_report_diff)
PY_WRITER(spad_report_diff_write_html, spad_report_diff)

typedef struct format {
    const char *name;
    py_writer writer;
} format;

static const format formats[] = {{"text", spad_report_write_text_any},
                                 {"svg", spad_report_write_svg_any},
                                 {"html", spad_report_write_html_any},
                                 {"json", spad_report_write_json_any},
                                 {"trace", spad_report_write_trace_any},
                                 {"snapshot", spad_report_write_snapshot_any},
                                 {NULL, NULL}};

static const format diff_formats[] = {{"text", spad_report_diff_write_text_any},
                                      {"json", spad_report_diff_write_json_any},
                                      {"html", spad_report_diff_write_html_any},
                                      {NULL, NULL}};

static PyObject *write_as(const format *list, const char *name, const void *object) {
    for (size_t i = 0; list[i].name != NULL; i++) {
        if (strcmp(list[i].name, name) != 0) continue;
        return strcmp(name, "snapshot") == 0 ? py_bytes(list[i].writer, object)
                                             : py_text(list[i].writer, object);
    }
    PyErr_Format(py.errors[PY_ARGUMENT_ERROR], "'%s' is no format of a picture", name);
    return NULL;
}

static PyObject *report_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"target", "title", "time_unit", NULL};
    PyObject *target;
    spad_report_options options = {0};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|zz:Report", names, &target, &options.title,
                                     &options.time_unit))
        return NULL;
    py_report *self = py_new(type);
    if (self == NULL) return NULL;
    self->target = (PyObject *)py_target_of(target);
    spad_error error;
    if (self->target != NULL &&
        spad_report_create(&self->report, ((py_target *)self->target)->target, &options, &error) !=
            SPAD_OK)
        py_raise(&error);
    if (self->report == NULL) Py_CLEAR(self);
    return (PyObject *)self;
}

static void report_dealloc(PyObject *object) {
    py_report *self = (py_report *)object;
    spad_report_destroy(self->report);
    Py_XDECREF(self->target);
    py_free(object);
}

static spad_report *report_in(PyObject *self) {
    return ((py_report *)self)->report;
}

static PyObject *report_add_trace(PyObject *self, PyObject *trace) {
    spad_error error;
    if (!PyObject_TypeCheck(trace, py.trace)) {
        PyErr_SetString(PyExc_TypeError, "a Trace is needed");
        return NULL;
    }
    return py_done(spad_report_add_trace(report_in(self), ((py_trace *)trace)->trace, &error),
                   &error);
}

static bool find_space(size_t *out, PyObject *self, const char *name) {
    spad_error error;
    const spad_target *target = ((py_target *)((py_report *)self)->target)->target;
    if (name == NULL) {
        *out = 0;
        return true;
    }
    return spad_target_space(out, target, name, &error) == SPAD_OK || py_raise(&error) != NULL;
}

static PyObject *report_add_plan(PyObject *self, PyObject *args) {
    PyObject *result;
    const char *name = NULL;
    size_t space;
    spad_error error;
    if (!PyArg_ParseTuple(args, "O!|z:add_plan", py.result, &result, &name) ||
        !find_space(&space, self, name))
        return NULL;
    const py_result *r = (py_result *)result;
    if (r->result->places == NULL) Py_RETURN_NONE;
    return py_done(spad_report_add_plan(report_in(self), ((py_plan *)r->plan)->plan,
                                        r->result->places, space, &error),
                   &error);
}

static PyObject *report_add_layout(PyObject *self, PyObject *const *args, Py_ssize_t count,
                                   PyObject *keywords) {
    static const char *const names[] = {"layout", "sim", "event_limit", NULL};
    PyObject *given[3];
    int64_t limit;
    spad_error error;
    if (!py_take(given, "add_layout", names, 1, args, count, keywords) ||
        !py_int_or(&limit, given[2], 0))
        return NULL;
    const bool timed = given[1] != NULL && given[1] != Py_None;
    if (!PyObject_TypeCheck(given[0], py.layout) ||
        (timed && !PyObject_TypeCheck(given[1], py.sim))) {
        PyErr_SetString(PyExc_TypeError, "a Layout and a Sim, or None, are needed");
        return NULL;
    }
    return py_done(spad_report_add_layout(report_in(self), ((py_layout *)given[0])->layout,
                                          timed ? ((py_sim *)given[1])->sim : NULL, limit, &error),
                   &error);
}

static PyObject *report_add_findings(PyObject *self, PyObject *check) {
    spad_error error;
    if (!PyObject_TypeCheck(check, py.check)) {
        PyErr_SetString(PyExc_TypeError, "a Check is needed");
        return NULL;
    }
    const spad_check *c = ((py_check *)check)->check;
    for (size_t i = 0; i < spad_check_finding_count(c); i++)
        if (spad_report_add_finding(report_in(self), spad_check_get_finding(c, i), &error) !=
            SPAD_OK)
            return py_raise(&error);
    Py_RETURN_NONE;
}

static PyObject *report_add_box(PyObject *self, PyObject *args, PyObject *keywords) {
    static char *names[] = {"name", "begin", "end",     "byte", "bytes", "space",
                            "lane", "lanes", "padding", "line", NULL};
    const char *name, *space = NULL;
    long long begin, end, byte, bytes, lane = 0, lanes = 1, padding = 0;
    int line = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "zLLLL|zLLLi:add_box", names, &name, &begin,
                                     &end, &byte, &bytes, &space, &lane, &lanes, &padding, &line))
        return NULL;
    spad_report_box box = {.name = name,
                           .mode = SPAD_MODE_AT,
                           .rect = {lane, lanes, byte, bytes},
                           .padding = padding,
                           .begin = begin,
                           .end = end,
                           .family = SPAD_NO_FAMILY,
                           .line = line};
    spad_error error;
    if (!find_space(&box.space, self, space)) return NULL;
    return py_done(spad_report_add_box(report_in(self), &box, &error), &error);
}

static PyObject *report_add_bar(PyObject *self, PyObject *args, PyObject *keywords) {
    static char *names[] = {"row", "name", "begin", "end", "ready", "wait", "critical", NULL};
    const char *row, *name, *wait = NULL;
    long long begin, end;
    PyObject *ready = Py_None;
    int critical = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "szLL|Ozp:add_bar", names, &row, &name, &begin,
                                     &end, &ready, &wait, &critical))
        return NULL;
    spad_report_bar bar = {.row = row,
                           .name = name,
                           .begin = begin,
                           .end = end,
                           .wait = wait,
                           .critical = critical != 0};
    spad_error error;
    if (!py_int_or(&bar.ready, ready, begin)) return NULL;
    return py_done(spad_report_add_bar(report_in(self), &bar, &error), &error);
}

static PyObject *report_add_note(PyObject *self, PyObject *note) {
    const char *text = PyUnicode_AsUTF8AndSize(note, NULL);
    spad_error error;
    if (text == NULL) return NULL;
    return py_done(spad_report_add_note(report_in(self), text, &error), &error);
}

static PyObject *report_set_source(PyObject *self, PyObject *args) {
    const char *file, *text;
    Py_ssize_t length;
    spad_error error;
    if (!PyArg_ParseTuple(args, "ss#:set_source", &file, &text, &length)) return NULL;
    return py_done(spad_report_set_source(report_in(self), file, text, (size_t)length, &error),
                   &error);
}

static PyObject *report_write(PyObject *self, PyObject *name) {
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    return text == NULL ? NULL : write_as(formats, text, report_in(self));
}

static PyObject *report_stats(PyObject *self, PyObject *name) {
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    size_t space;
    spad_report_space s;
    spad_error error;
    if (text == NULL || !find_space(&space, self, text)) return NULL;
    if (spad_report_get_space(&s, report_in(self), space, &error) != SPAD_OK)
        return py_raise(&error);
    return Py_BuildValue("{s:n,s:L,s:N,s:L,s:L,s:L,s:L,s:L,s:L}", "boxes", (Py_ssize_t)s.boxes,
                         "top", (long long)s.top, "usable", py_fact(s.usable, SPAD_UNBOUNDED),
                         "peak_bytes", (long long)s.peak_bytes, "peak_time", (long long)s.peak_time,
                         "peak_free", (long long)s.peak_free, "largest_hole",
                         (long long)s.largest_hole, "padding", (long long)s.padding, "conflicts",
                         (long long)s.conflicts);
}

static Py_ssize_t report_length(PyObject *self) {
    return (Py_ssize_t)spad_report_box_count(report_in(self));
}

static PyMethodDef report_methods[] = {
    {"add_trace", report_add_trace, METH_O, "Adds the tensors of a Trace."},
    {"add_plan", report_add_plan, METH_VARARGS,
     "add_plan(result, space=None)\n\nAdds the buffers of a PlanResult."},
    {"add_layout", PY_FUNC(report_add_layout), PY_FAST,
     "add_layout(layout, sim=None, event_limit=0)\n\nAdds the tiles and operations of a kernel."},
    {"add_findings", report_add_findings, METH_O, "Adds the findings of a Check."},
    {"add_box", PY_FUNC(report_add_box), METH_VARARGS | METH_KEYWORDS,
     "add_box(name, begin, end, byte, bytes, space=None, lane=0, lanes=1, padding=0, line=0)"},
    {"add_bar", PY_FUNC(report_add_bar), METH_VARARGS | METH_KEYWORDS,
     "add_bar(row, name, begin, end, ready=None, wait=None, critical=False)"},
    {"add_note", report_add_note, METH_O, "A line under the title."},
    {"set_source", report_set_source, METH_VARARGS, "set_source(file, text)"},
    {"write", report_write, METH_O,
     "write(format) -> str | bytes\n\ntext, svg, html, json, trace (Chrome's) or snapshot "
     "(bytes)."},
    {"stats", report_stats, METH_O, "stats(space) -> dict"},
    {NULL, NULL, 0, NULL}};

static PyType_Slot report_slots[] = {
    {Py_tp_doc, "Report(target, title=None, time_unit=None)\n\nBoxes in memory over time."},
    {Py_tp_new, PY_SLOT(report_new)},
    {Py_tp_dealloc, PY_SLOT(report_dealloc)},
    {Py_tp_methods, report_methods},
    {Py_sq_length, PY_SLOT(report_length)},
    {0, NULL}};

static PyType_Spec report_spec = {"spad._spad.Report", sizeof(py_report), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, report_slots};

/* ---- diff and emit ------------------------------------------------------------------------ */

static PyObject *diff(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *before, *after;
    const char *name = "text";
    spad_report_diff *made;
    spad_error error;
    if (!PyArg_ParseTuple(args, "O!O!|s:diff", py.report, &before, py.report, &after, &name))
        return NULL;
    if (spad_report_diff_create(&made, report_in(before), report_in(after), NULL, &error) !=
        SPAD_OK)
        return py_raise(&error);
    PyObject *text = write_as(diff_formats, name, made);
    spad_report_diff_destroy(made);
    return text;
}

typedef struct table {
    spad_emit *emit;
    spad_emit_lang lang;
} table;

static spad_status write_table(const void *object, const spad_sink *sink, spad_error *error) {
    const table *t = object;
    return spad_emit_write(t->emit, t->lang, sink, error);
}

static PyObject *emit(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *what, *target = Py_None;
    const char *lang, *name = NULL, *space = NULL;
    if (!PyArg_ParseTuple(args, "Os|zOz:emit", &what, &lang, &name, &target, &space)) return NULL;
    table t = {NULL, SPAD_EMIT_C};
    while (t.lang < SPAD_EMIT_LANGS && strcmp(lang, spad_emit_lang_name(t.lang)) != 0) t.lang++;
    if (t.lang == SPAD_EMIT_LANGS) {
        PyErr_Format(py.errors[PY_ARGUMENT_ERROR],
                     "'%s' is no language; there are c, cuda, nki, json and csv", lang);
        return NULL;
    }
    py_target *chip;
    const bool is_layout = PyObject_TypeCheck(what, py.layout);
    if (is_layout) {
        chip = (py_target *)((py_kernel *)((py_layout *)what)->kernel)->target;
        Py_INCREF((PyObject *)chip);
    } else if (PyObject_TypeCheck(what, py.result)) {
        chip = py_target_of(target);
        if (chip == NULL) return NULL;
    } else {
        PyErr_SetString(PyExc_TypeError, "a Layout or a PlanResult is needed");
        return NULL;
    }
    spad_error error;
    spad_status status = spad_emit_create(&t.emit, chip->target, name, NULL, &error);
    if (status == SPAD_OK && is_layout) {
        status = spad_emit_add_layout(t.emit, ((py_layout *)what)->layout, &error);
    } else if (status == SPAD_OK) {
        const py_result *r = (py_result *)what;
        size_t number = 0;
        if (space != NULL) status = spad_target_space(&number, chip->target, space, &error);
        if (status == SPAD_OK)
            status = spad_emit_add_plan(t.emit, ((py_plan *)r->plan)->plan, r->result->places,
                                        number, &error);
    }
    PyObject *text = status == SPAD_OK ? py_text(write_table, &t) : py_raise(&error);
    spad_emit_destroy(t.emit);
    Py_DECREF((PyObject *)chip);
    return text;
}

static PyMethodDef functions[] = {
    {"diff", diff, METH_VARARGS,
     "diff(before, after, format='text') -> str\n\nWhat is different in two reports; text, json "
     "or html."},
    {"emit", emit, METH_VARARGS,
     "emit(what, lang, name=None, target=None, space=None) -> str\n\nPlaces as source text: c, "
     "cuda, nki, json or csv."},
    {NULL, NULL, 0, NULL}};

int py_add_report(PyObject *module) {
    if (py_add_type(module, &py.report, &report_spec) != 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
