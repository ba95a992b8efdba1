/* SPDX-License-Identifier: Apache-2.0
 *
 * Report: pictures of memory over time; diff and emit.
 */
#include "common.h"
#include "spad/experimental/report_parts.h"

typedef struct py_report {
    PyObject_HEAD spad_report *report;
    PyObject *target;
    py_guard guard;
} py_report;

PY_WRITER(spad_report, text, TEXT)
PY_WRITER(spad_report, svg, SVG)
PY_WRITER(spad_report, light, LIGHT)
PY_WRITER(spad_report, html, HTML)
PY_WRITER(spad_report, json, JSON)
PY_WRITER(spad_report, trace, TRACE)
PY_WRITER(spad_report_diff, text, TEXT)
PY_WRITER(spad_report_diff, json, JSON)
PY_WRITER(spad_report_diff, html, HTML)

typedef struct format {
    const char *name;
    py_writer writer;
} format;

static const format formats[] = {{"text", spad_report_write_text_any},
                                 {"svg", spad_report_write_svg_any},
                                 {"light", spad_report_write_light_any},
                                 {"html", spad_report_write_html_any},
                                 {"json", spad_report_write_json_any},
                                 {"trace", spad_report_write_trace_any},
                                 {NULL, NULL}};

static const format diff_formats[] = {{"text", spad_report_diff_write_text_any},
                                      {"json", spad_report_diff_write_json_any},
                                      {"html", spad_report_diff_write_html_any},
                                      {NULL, NULL}};

static PyObject *write_as(const format *list, const char *name, const void *object) {
    for (size_t i = 0; list[i].name != NULL; i++) {
        if (strcmp(list[i].name, name) != 0) continue;
        return py_text_outside(list[i].writer, object);
    }
    PyErr_Format(py.errors[PY_ARGUMENT_ERROR], "'%s' is not a picture format", name);
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

PY_TRAVERSE(report_traverse, py_report, self->target)

static void report_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    py_report *self = (py_report *)object;
    spad_report_destroy(self->report);
    Py_XDECREF(self->target);
    py_free(object);
}

static spad_report *report_in(PyObject *self) {
    return ((py_report *)self)->report;
}

static py_guard *guard_of(PyObject *self) {
    return &((py_report *)self)->guard;
}

/* Ends a change that was begun. */
static PyObject *changed(PyObject *self, spad_status status, const spad_error *error) {
    py_change_end(guard_of(self));
    return py_done(status, error);
}

static PyObject *report_add_trace(PyObject *self, PyObject *trace) {
    spad_error error;
    if (!PyObject_TypeCheck(trace, py.trace)) {
        PyErr_SetString(PyExc_TypeError, "a Trace is needed");
        return NULL;
    }
    if (!py_change_begin(guard_of(self))) return NULL;
    return changed(self, spad_report_add_trace(report_in(self), ((py_trace *)trace)->trace, &error),
                   &error);
}

static bool find_space(size_t *out, PyObject *self, const char *name) {
    spad_error error;
    const spad_target *target = ((py_target *)((py_report *)self)->target)->target;
    if (name == NULL) {
        *out = 0;
        return true;
    }
    return spad_target_find_space(out, target, name, &error) == SPAD_OK || py_raise(&error) != NULL;
}

static PyObject *report_add_log(PyObject *self, PyObject *args) {
    PyObject *log;
    const char *name = NULL;
    size_t space;
    spad_error error;
    if (!PyArg_ParseTuple(args, "O!|z:add_log", py.log, &log, &name) ||
        !find_space(&space, self, name) || !py_change_begin(guard_of(self)))
        return NULL;
    return changed(self, spad_report_add_log(report_in(self), ((py_log *)log)->log, space, &error),
                   &error);
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
    const spad_plan *plan = ((py_plan *)r->plan)->plan;
    if (!py_change_begin(guard_of(self))) return NULL;
    return changed(self, spad_report_add_plan(report_in(self), plan, r->result, space, &error),
                   &error);
}

static PyObject *report_add_reason(PyObject *self, PyObject *result) {
    spad_error error;
    if (!PyObject_TypeCheck(result, py.result)) {
        PyErr_SetString(PyExc_TypeError, "a PlanResult is needed");
        return NULL;
    }
    const py_result *r = (py_result *)result;
    const spad_plan *plan = ((py_plan *)r->plan)->plan;
    if (!py_change_begin(guard_of(self))) return NULL;
    return changed(
        self, spad_report_add_reason(report_in(self), plan, r->result, r->reason, &error), &error);
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
    const spad_layout *layout = ((py_layout *)given[0])->layout;
    const spad_sim *sim = timed ? ((py_sim *)given[1])->sim : NULL;
    if (!py_change_begin(guard_of(self))) return NULL;
    PyThreadState *const outside = PyEval_SaveThread();
    const spad_status status = spad_report_add_layout(report_in(self), layout, sim, limit, &error);
    PyEval_RestoreThread(outside);
    return changed(self, status, &error);
}

static PyObject *report_add_analysis(PyObject *self, PyObject *object) {
    const spad_analysis *analysis = py_analysis_in(object);
    spad_error error;
    if (analysis == NULL || !py_change_begin(guard_of(self))) return NULL;
    PyThreadState *const outside = PyEval_SaveThread();
    const spad_status status = spad_report_add_analysis(report_in(self), analysis, &error);
    PyEval_RestoreThread(outside);
    return changed(self, status, &error);
}

static PyObject *report_add_buffers(PyObject *self, PyObject *layout) {
    spad_error error;
    if (!PyObject_TypeCheck(layout, py.layout)) {
        PyErr_SetString(PyExc_TypeError, "a Layout is needed");
        return NULL;
    }
    if (!py_change_begin(guard_of(self))) return NULL;
    return changed(self,
                   spad_report_add_buffers(report_in(self), ((py_layout *)layout)->layout, &error),
                   &error);
}

static PyObject *report_add_findings(PyObject *self, PyObject *check) {
    spad_error error;
    if (!PyObject_TypeCheck(check, py.check)) {
        PyErr_SetString(PyExc_TypeError, "a Check is needed");
        return NULL;
    }
    if (!py_change_begin(guard_of(self))) return NULL;
    const spad_status status =
        spad_report_add_check(report_in(self), ((py_check *)check)->check, &error);
    return changed(self, status, &error);
}

static PyObject *report_add_box(PyObject *self, PyObject *args, PyObject *keywords) {
    static char *names[] = {"name",  "begin",   "end",  "byte",     "bytes",     "space", "lane",
                            "lanes", "padding", "line", "rounding", "alignment", NULL};
    const char *name, *space = NULL;
    long long begin, end, bytes, lane = 0, lanes = 1, padding = 0, rounding = 0, alignment = 0;
    PyObject *byte;
    int line = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "zLLOL|zLLLiLL:add_box", names, &name, &begin,
                                     &end, &byte, &bytes, &space, &lane, &lanes, &padding, &line,
                                     &rounding, &alignment))
        return NULL;
    spad_report_box box = {.name = name,
                           .mode = SPAD_MODE_AT,
                           .rect = {.lane = lane, .lanes = lanes, .bytes = bytes},
                           .padding = padding,
                           .begin = begin,
                           .end = end,
                           .family = SPAD_NO_FAMILY,
                           .line = line,
                           .rounding = rounding,
                           .alignment = alignment};
    spad_error error;
    if (!py_int_or(&box.rect.byte, byte, SPAD_NO_BYTE) || !find_space(&box.space, self, space) ||
        !py_change_begin(guard_of(self)))
        return NULL;
    return changed(self, spad_report_add_box(report_in(self), &box, &error), &error);
}

static PyObject *report_add_bar(PyObject *self, PyObject *args, PyObject *keywords) {
    static char *names[] = {"row",  "name",     "begin", "end",    "ready",
                            "wait", "critical", "reads", "writes", NULL};
    const char *row, *name, *wait = NULL;
    long long begin, end, reads = 0, writes = 0;
    PyObject *ready = Py_None;
    int critical = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "szLL|OzpLL:add_bar", names, &row, &name,
                                     &begin, &end, &ready, &wait, &critical, &reads, &writes))
        return NULL;
    spad_report_bar bar = {.row = row,
                           .name = name,
                           .begin = begin,
                           .end = end,
                           .wait = wait,
                           .critical = critical != 0,
                           .reads = reads,
                           .writes = writes};
    spad_error error;
    if (!py_int_or(&bar.ready, ready, begin) || !py_change_begin(guard_of(self))) return NULL;
    return changed(self, spad_report_add_bar(report_in(self), &bar, &error), &error);
}

/* As much of a text as fits, in whole characters. */
static void copy_text(char *field, size_t size, const char *text) {
    size_t count = strlen(text);
    if (count >= size) {
        count = size - 1;
        while (count > 0 && ((unsigned char)text[count] & 0xC0) == 0x80) count--;
    }
    memcpy(field, text, count);
    field[count] = '\0';
}

static PyObject *report_add_finding(PyObject *self, PyObject *args, PyObject *keywords) {
    static char *names[] = {"code", "message", "severity", "subject", "line", NULL};
    const char *code, *message, *severity = "error", *subject = "";
    int line = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "ss|ssi:add_finding", names, &code, &message,
                                     &severity, &subject, &line))
        return NULL;
    spad_finding finding = {.line = line, .count = 1, .number = SPAD_NO_FACT, .time = SPAD_NO_FACT};
    spad_error error;
    if (!py_finding_code(&finding.code, code) || !py_severity(&finding.severity, severity))
        return NULL;
    copy_text(finding.message, sizeof finding.message, message);
    copy_text(finding.subject, sizeof finding.subject, subject);
    if (!py_change_begin(guard_of(self))) return NULL;
    return changed(self, spad_report_add_finding(report_in(self), &finding, &error), &error);
}

static PyObject *report_add_note(PyObject *self, PyObject *note) {
    const char *text = py_chars(note);
    spad_error error;
    if (text == NULL || !py_change_begin(guard_of(self))) return NULL;
    return changed(self, spad_report_add_note(report_in(self), text, &error), &error);
}

static PyObject *report_set_source(PyObject *self, PyObject *args) {
    const char *file, *text;
    Py_ssize_t length;
    spad_error error;
    if (!PyArg_ParseTuple(args, "ss#:set_source", &file, &text, &length) ||
        !py_change_begin(guard_of(self)))
        return NULL;
    return changed(
        self, spad_report_set_source(report_in(self), file, text, (size_t)length, &error), &error);
}

static PyObject *report_write(PyObject *self, PyObject *name) {
    const char *text = py_chars(name);
    if (text == NULL || !py_read_begin(guard_of(self))) return NULL;
    PyObject *out = write_as(formats, text, report_in(self));
    py_read_end(guard_of(self));
    return out;
}

static PyObject *report_stats(PyObject *self, PyObject *name) {
    const char *text = py_chars(name);
    size_t space;
    spad_report_space s;
    spad_error error;
    if (text == NULL || !find_space(&space, self, text) || !py_read_begin(guard_of(self)))
        return NULL;
    const spad_status status = spad_report_get_space(&s, report_in(self), space, &error);
    py_read_end(guard_of(self));
    if (status != SPAD_OK) return py_raise(&error);
    return Py_BuildValue("{s:n,s:L,s:N,s:L,s:L,s:L,s:L,s:L,s:L}", "boxes", (Py_ssize_t)s.boxes,
                         "top", (long long)s.top, "usable", py_fact(s.usable, SPAD_UNBOUNDED),
                         "peak_bytes", (long long)s.peak_bytes, "peak_time", (long long)s.peak_time,
                         "peak_free", (long long)s.peak_free, "largest_hole",
                         (long long)s.largest_hole, "padding", (long long)s.padding, "conflicts",
                         (long long)s.conflicts);
}

static PyObject *box_row(const spad_target *target, const spad_report_box *b) {
    return Py_BuildValue("{s:N,s:s,s:s,s:L,s:L,s:N,s:L,s:L,s:L,s:L,s:O,s:L,s:L,s:N,s:L,s:L}",
                         "name", py_string(b->name), "space", target->spaces[b->space].name, "mode",
                         spad_mode_name(b->mode), "lane", (long long)b->rect.lane, "lanes",
                         (long long)b->rect.lanes, "byte", py_fact(b->rect.byte, SPAD_NO_BYTE),
                         "bytes", (long long)b->rect.bytes, "padding", (long long)b->padding,
                         "begin", (long long)b->begin, "end", (long long)b->end, "open",
                         b->open ? Py_True : Py_False, "slot", (long long)b->slot, "slots",
                         (long long)b->slots, "line", py_fact(b->line, 0), "rounding",
                         (long long)b->rounding, "alignment", (long long)b->alignment);
}

static PyObject *report_boxes(PyObject *self, PyObject *unused) {
    (void)unused;
    const spad_target *target = ((py_target *)((py_report *)self)->target)->target;
    if (!py_read_begin(guard_of(self))) return NULL;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < spad_report_box_count(report_in(self)); i++)
        if (!py_append(list, box_row(target, spad_report_get_box(report_in(self), i))))
            Py_CLEAR(list);
    py_read_end(guard_of(self));
    return list;
}

static Py_ssize_t report_length(PyObject *self) {
    if (!py_read_begin(guard_of(self))) return -1;
    const size_t count = spad_report_box_count(report_in(self));
    py_read_end(guard_of(self));
    return (Py_ssize_t)count;
}

/* By the method of the class that it is, which answers to an interrupt. */
PY_GETTER(report_data, py_from_json(PyObject_CallMethod(self, "write", "s", "json")))

static PyGetSetDef report_fields[] = {
    {.name = "data", .get = report_data, .doc = "Everything as a dict."}, {.name = NULL}};

static PyMethodDef report_methods[] = {
    {"add_trace", report_add_trace, METH_O,
     "add_trace($self, trace, /)\n--\n\nAdds the tensors of a Trace."},
    {"add_plan", report_add_plan, METH_VARARGS,
     "add_plan($self, result, space=None, /)\n--\n\nAdds the buffers of a PlanResult."},
    {"add_log", report_add_log, METH_VARARGS,
     "add_log($self, log, space=None, /)\n--\n\nAdds the allocations of a Log."},
    {"add_reason", report_add_reason, METH_O,
     "add_reason($self, result, /)\n--\n\nAdds the verdict of a PlanResult and, once it was "
     "explained, why it does not fit."},
    {"add_layout", PY_FUNC(report_add_layout), PY_FAST,
     "add_layout($self, layout, sim=None, event_limit=0)\n--\n\nAdds the tiles and operations of a "
     "kernel."},
    {"add_analysis", report_add_analysis, METH_O,
     "add_analysis($self, analysis, /)\n--\n\nAdds all of an Analysis: tiles, operations, notes, "
     "findings and source."},
    {"add_buffers", report_add_buffers, METH_O,
     "add_buffers($self, layout, /)\n--\n\nAdds the buffers of a Layout over the statements in "
     "which they are needed."},
    {"add_findings", report_add_findings, METH_O,
     "add_findings($self, check, /)\n--\n\nAdds the findings of a Check."},
    {"add_box", PY_FUNC(report_add_box), METH_VARARGS | METH_KEYWORDS,
     "add_box($self, name, begin, end, byte, bytes, space=None, lane=0, lanes=1, padding=0, "
     "line=0, rounding=0, alignment=0)\n--\n\nAdds bytes of a memory over a time; byte None: "
     "without an address."},
    {"add_bar", PY_FUNC(report_add_bar), METH_VARARGS | METH_KEYWORDS,
     "add_bar($self, row, name, begin, end, ready=None, wait=None, critical=False, "
     "reads=0, writes=0)\n--\n\nAdds "
     "something that happens on a row of the timeline."},
    {"add_finding", PY_FUNC(report_add_finding), METH_VARARGS | METH_KEYWORDS,
     "add_finding($self, code, message, severity='error', subject='', line=0)\n--\n\nAdds a "
     "finding; "
     "line: of the source."},
    {"add_note", report_add_note, METH_O,
     "add_note($self, note, /)\n--\n\nA line under the title."},
    {"set_source", report_set_source, METH_VARARGS,
     "set_source($self, file, text, /)\n--\n\nThe text that lines refer to."},
    {"write", report_write, METH_O,
     "write($self, format, /)\n--\n\ntext, svg, light, html, json, trace "
     "(Chrome's)."},
    {"stats", report_stats, METH_O,
     "stats($self, space, /)\n--\n\nThe figures of a space as a dict."},
    {"boxes", report_boxes, METH_NOARGS, "boxes($self, /)\n--\n\nWhat is drawn, a dict each."},
    {NULL, NULL, 0, NULL}};

PY_TYPE_OPEN(report, "Report",
             "Report(target, title=None, time_unit=None)\n--\n\nBoxes in memory over time.",
             {Py_tp_new, PY_SLOT(report_new)}, {Py_tp_methods, report_methods},
             {Py_tp_getset, report_fields}, {Py_sq_length, PY_SLOT(report_length)});

/* ---- diff and emit ----------------------------------------------------------------- */

/* What became of each box: (words, number before, number after). */
static PyObject *changes(const spad_report_diff *made) {
    static const char *const words[] = {"moved", "sized", "timed", "gone", "new"};
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < spad_report_diff_count(made); i++) {
        const spad_report_change *c = spad_report_diff_get(made, i);
        PyObject *what = PyList_New(0);
        for (unsigned bit = 0; what != NULL && bit < 5; bit++)
            if ((c->what & 1u << bit) != 0 && !py_append(what, py_string(words[bit])))
                Py_CLEAR(what);
        if (what == NULL ||
            !py_append(list, Py_BuildValue("{s:N,s:N,s:N}", "what", what, "before",
                                           py_fact(c->before, -1), "after", py_fact(c->after, -1))))
            Py_CLEAR(list);
    }
    return list;
}

/* Both reports are read meanwhile. */
static PyObject *write_diff(PyObject *before, PyObject *after, const char *name) {
    spad_report_diff *made;
    spad_error error;
    if (spad_report_diff_create(&made, report_in(before), report_in(after), NULL, &error) !=
        SPAD_OK)
        return py_raise(&error);
    PyObject *text =
        strcmp(name, "changes") == 0 ? changes(made) : write_as(diff_formats, name, made);
    spad_report_diff_destroy(made);
    return text;
}

static PyObject *diff(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *before, *after;
    const char *name = "text";
    if (!PyArg_ParseTuple(args, "O!O!|s:diff", py.report, &before, py.report, &after, &name) ||
        !py_read_begin(guard_of(before)))
        return NULL;
    PyObject *text = NULL;
    if (py_read_begin(guard_of(after))) {
        text = write_diff(before, after, name);
        py_read_end(guard_of(after));
    }
    py_read_end(guard_of(before));
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

static bool read_lang(spad_emit_lang *out, const char *lang) {
    for (int i = 0; i < SPAD_EMIT_LANGS; i++) {
        *out = (spad_emit_lang)i;
        if (strcmp(lang, spad_emit_lang_name(*out)) == 0) return true;
    }
    PyErr_Format(py.errors[PY_ARGUMENT_ERROR],
                 "'%s' is not a language; there are c, cuda, nki, json and csv", lang);
    return false;
}

static bool read_places(spad_emit_place **out, size_t *count, PyObject *object) {
    PyObject *list = PySequence_Tuple(object);
    if (list == NULL) return false;
    *count = (size_t)PyTuple_Size(list);
    *out = PyMem_Calloc(*count + 1, sizeof **out);
    bool fine = *out != NULL || PyErr_NoMemory() != NULL;
    for (size_t i = 0; fine && i < *count; i++) {
        int64_t pair[SPAD_RANK_MAX];
        spad_shape place;
        fine = py_shape(&place, pair, PyTuple_GetItem(list, (Py_ssize_t)i));
        if (fine && place.rank != 2) {
            PyErr_SetString(PyExc_TypeError, "a place is (lane, byte)");
            fine = false;
        }
        if (fine) (*out)[i] = (spad_emit_place){pair[0], pair[1]};
    }
    Py_DECREF(list);
    if (fine) return true;
    PyMem_Free(*out);
    return false;
}

/* A row is (name, space, lanes, bytes, alignment, places, shape, dtype). */
static bool add_row(const table *t, const spad_target *target, PyObject *row) {
    PyObject *space, *places, *shape, *dtype;
    long long lanes, bytes, alignment;
    int64_t dims[SPAD_RANK_MAX];
    spad_emit_buffer buffer = {0};
    spad_emit_place *list;
    spad_error error;
    if (!PyTuple_Check(row)) {
        PyErr_SetString(PyExc_TypeError, "a row is a tuple");
        return false;
    }
    if (!PyArg_ParseTuple(row, "zULLLOOO", &buffer.name, &space, &lanes, &bytes, &alignment,
                          &places, &shape, &dtype) ||
        !py_space(&buffer.space, target, space) ||
        (shape != Py_None && !py_shape(&buffer.shape, dims, shape)) ||
        (dtype != Py_None && !py_dtype(&buffer.dtype, dtype)) ||
        !read_places(&list, &buffer.count, places))
        return false;
    buffer.lanes = lanes;
    buffer.bytes = bytes;
    buffer.alignment = alignment;
    buffer.places = list;
    const spad_status status = spad_emit_add(t->emit, &buffer, &error);
    PyMem_Free(list);
    return status == SPAD_OK || py_raise(&error) != NULL;
}

static bool add_rows(const table *t, const spad_target *target, PyObject *rows) {
    PyObject *list = PySequence_Tuple(rows);
    bool fine = list != NULL;
    for (Py_ssize_t i = 0; fine && i < PyTuple_Size(list); i++)
        fine = add_row(t, target, PyTuple_GetItem(list, i));
    Py_XDECREF(list);
    return fine;
}

static bool add_result(const table *t, const spad_target *target, PyObject *result,
                       const char *space) {
    const py_result *r = (py_result *)result;
    size_t number = 0;
    spad_error error;
    if ((space != NULL && spad_target_find_space(&number, target, space, &error) != SPAD_OK) ||
        spad_emit_add_plan(t->emit, ((py_plan *)r->plan)->plan, r->result, number, &error) !=
            SPAD_OK)
        return py_raise(&error) != NULL;
    return true;
}

static PyObject *emit(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *what, *chip = Py_None;
    const char *lang, *name = NULL, *space = NULL;
    table t = {0};
    spad_error error;
    if (!PyArg_ParseTuple(args, "Os|zOz:emit", &what, &lang, &name, &chip, &space) ||
        !read_lang(&t.lang, lang))
        return NULL;
    const bool is_layout = PyObject_TypeCheck(what, py.layout);
    py_target *target =
        is_layout ? (py_target *)py_keep(((py_kernel *)((py_layout *)what)->kernel)->target)
                  : py_target_of(chip);
    if (target == NULL) return NULL;
    bool fine = spad_emit_create(&t.emit, target->target, name, NULL, &error) == SPAD_OK ||
                py_raise(&error) != NULL;
    if (fine && is_layout)
        fine = spad_emit_add_layout(t.emit, ((py_layout *)what)->layout, &error) == SPAD_OK ||
               py_raise(&error) != NULL;
    else if (fine && PyObject_TypeCheck(what, py.result))
        fine = add_result(&t, target->target, what, space);
    else if (fine)
        fine = add_rows(&t, target->target, what);
    PyObject *text = fine ? py_text(write_table, &t) : NULL;
    spad_emit_destroy(t.emit);
    Py_DECREF((PyObject *)target);
    return text;
}

static PyMethodDef functions[] = {
    {"diff", diff, METH_VARARGS,
     "diff($module, before, after, format='text', /)\n--\n\nWhat is different in two reports: "
     "text, json or html, or changes as a list of dicts."},
    {"emit", emit, METH_VARARGS,
     "emit($module, what, lang, name=None, target=None, space=None, /)\n--\n\nPlaces as source "
     "text: c, cuda, nki, json or csv. what: a Layout, a PlanResult, or\nrows (name, space, lanes, "
     "bytes, alignment, places, shape, dtype)."},
    {NULL, NULL, 0, NULL}};

int py_add_report(PyObject *module) {
    if (py_add_type(module, &py.report, &report_spec) != 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
