/* SPDX-License-Identifier: Apache-2.0
 *
 * Plan: buffers with lifetimes, and PlanResult: their offsets.
 *
 * Columns of numbers come in through the buffer protocol (numpy arrays, array.array,
 * memoryviews) or as sequences, and offsets go out as a Column of the result (column.c), so
 * that no Python object is made for a buffer.
 */
#include "common.h"

#include "spad/experimental/soft_constraints.h"

/* ---- the problem ------------------------------------------------------------------- */

static PyObject *plan_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"target", "space", "capacity", NULL};
    PyObject *target = Py_None, *capacity = Py_None;
    const char *space = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|OzO:Plan", names, &target, &space,
                                     &capacity))
        return NULL;
    if ((target == Py_None) != (space == NULL)) {
        PyErr_SetString(PyExc_TypeError, "a plan on a chip needs both target and space");
        return NULL;
    }
    py_plan *self = py_new(type);
    if (self == NULL) return NULL;
    spad_error error;
    spad_status status = spad_plan_create(&self->plan, NULL, &error);
    if (status == SPAD_OK && space != NULL) {
        self->target = (PyObject *)py_target_of(target);
        if (self->target == NULL) goto failed;
        const spad_target *chip = ((py_target *)self->target)->target;
        size_t number;
        status = spad_target_find_space(&number, chip, space, &error);
        if (status == SPAD_OK)
            status = spad_plan_set_space(self->plan, &chip->spaces[number], &error);
    }
    if (status == SPAD_OK && capacity != Py_None) {
        int64_t bytes;
        if (!py_int(&bytes, capacity)) goto failed;
        status = spad_plan_set_capacity(self->plan, bytes, &error);
    }
    if (status == SPAD_OK) return (PyObject *)self;
    py_raise(&error);
failed:
    Py_DECREF((PyObject *)self);
    return NULL;
}

PY_TRAVERSE(plan_traverse, py_plan, self->target)

static void plan_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    py_plan *self = (py_plan *)object;
    spad_plan_destroy(self->plan);
    Py_XDECREF(self->target);
    py_free(object);
}

/* Gaps: a sequence of (lower, upper) or (lower, upper, window_lower, window_upper). */
static bool read_gaps(spad_plan_gap **out, size_t *count, PyObject *object) {
    *out = NULL;
    *count = 0;
    if (object == NULL || object == Py_None) return true;
    PyObject *all = PySequence_Tuple(object);
    if (all == NULL) return false;
    const size_t number = (size_t)PyTuple_Size(all);
    *out = PyMem_Calloc(number + 1, sizeof **out);
    bool fine = *out != NULL || PyErr_NoMemory() != NULL;
    for (size_t i = 0; fine && i < number; i++) {
        long long n[4] = {0};
        PyObject *row = PySequence_Tuple(PyTuple_GetItem(all, (Py_ssize_t)i));
        fine =
            row != NULL &&
            PyArg_ParseTuple(
                row, "LL|LL;a gap is (lower, upper) or (lower, upper, window_lower, window_upper)",
                &n[0], &n[1], &n[2], &n[3]) != 0;
        Py_XDECREF(row);
        (*out)[i] = (spad_plan_gap){n[0], n[1], n[2], n[3]};
    }
    *count = number;
    Py_DECREF(all);
    if (fine) return true;
    PyMem_Free(*out);
    *out = NULL;
    return false;
}

/* A vector clock: a tuple or list of numbers. */
static bool read_clock(int64_t *out, size_t *count, PyObject *clock) {
    PyObject *all = PySequence_Tuple(clock); /* a copy: __index__ of a number may change a list */
    if (all == NULL) return false;
    const Py_ssize_t length = PyTuple_Size(all);
    bool fine = length > 0 && length <= SPAD_PLAN_CLOCKS;
    if (!fine)
        PyErr_Format(py.errors[PY_ARGUMENT_ERROR], "a vector clock has 1 to %d numbers, not %zd",
                     SPAD_PLAN_CLOCKS, length);
    for (Py_ssize_t i = 0; fine && i < length; i++) fine = py_int(&out[i], PyTuple_GetItem(all, i));
    *count = (size_t)length;
    Py_DECREF(all);
    return fine;
}

/* Both ends of a life: two numbers, or two vector clocks, which go to `clocks`. */
static bool read_life(spad_plan_buffer *buffer, int64_t clocks[2][SPAD_PLAN_CLOCKS],
                      PyObject *lower, PyObject *upper) {
    size_t count;
    if (!PyTuple_Check(lower) && !PyList_Check(lower))
        return py_int(&buffer->lower, lower) && py_int(&buffer->upper, upper);
    if (!read_clock(clocks[0], &buffer->clock_count, lower) ||
        !read_clock(clocks[1], &count, upper))
        return false;
    if (count != buffer->clock_count) {
        PyErr_Format(py.errors[PY_ARGUMENT_ERROR], "lower has %zu numbers and upper has %zu",
                     buffer->clock_count, count);
        return false;
    }
    buffer->lower_clock = clocks[0];
    buffer->upper_clock = clocks[1];
    return true;
}

static PyObject *plan_add(PyObject *object, PyObject *args, PyObject *keywords) {
    static char *names[] = {"lower", "upper",  "size", "name", "alignment", "lanes",
                            "bank",  "offset", "lane", "hint", "gaps",      NULL};
    py_plan *self = (py_plan *)object;
    long long size, alignment = 0, lanes = 0, bank = 0, lane = 0;
    PyObject *lower, *upper, *offset = Py_None, *hint = Py_None, *gaps = Py_None;
    const char *name = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOL|zLLLOLOO:add", names, &lower, &upper,
                                     &size, &name, &alignment, &lanes, &bank, &offset, &lane, &hint,
                                     &gaps))
        return NULL;
    spad_plan_buffer buffer = {.name = name,
                               .size = size,
                               .alignment = alignment,
                               .lanes = lanes,
                               .bank = bank,
                               .lane = lane,
                               .pinned = offset != Py_None,
                               .hinted = hint != Py_None};
    spad_plan_gap *rows;
    int64_t clocks[2][SPAD_PLAN_CLOCKS];
    if (!read_life(&buffer, clocks, lower, upper) || !py_int_or(&buffer.offset, offset, 0) ||
        !py_int_or(&buffer.hint, hint, 0) || !read_gaps(&rows, &buffer.gap_count, gaps))
        return NULL;
    buffer.gaps = rows;
    size_t number;
    spad_error error;
    if (!py_change_begin(&self->guard)) {
        PyMem_Free(rows);
        return NULL;
    }
    const spad_status status = spad_plan_add(&number, self->plan, &buffer, &error);
    py_change_end(&self->guard);
    PyMem_Free(rows);
    return status == SPAD_OK ? PyLong_FromSize_t(number) : py_raise(&error);
}

enum { LOWER, UPPER, SIZE, ALIGNMENT, LANES, BANK, OFFSET, LANE, HINT, COLUMNS };
static char *column_names[] = {"lower",  "upper", "size", "alignment", "lanes", "bank",
                               "offset", "lane",  "hint", "names",     NULL};

/* What a column has where nothing is given. */
static int64_t none_of(int column_number) {
    return column_number == OFFSET || column_number == HINT ? -1 : 0;
}

static bool read_row(spad_plan_buffer *buffer, const py_numbers *columns, size_t i) {
    int64_t n[COLUMNS];
    for (int k = 0; k < COLUMNS; k++)
        if (!py_numbers_get(&n[k], &columns[k], i, none_of(k))) return false;
    *buffer = (spad_plan_buffer){.lower = n[LOWER],
                                 .upper = n[UPPER],
                                 .size = n[SIZE],
                                 .alignment = n[ALIGNMENT],
                                 .lanes = n[LANES],
                                 .bank = n[BANK],
                                 .pinned = n[OFFSET] >= 0,
                                 .offset = n[OFFSET] >= 0 ? n[OFFSET] : 0,
                                 .lane = n[LANE],
                                 .hinted = n[HINT] >= 0,
                                 .hint = n[HINT] >= 0 ? n[HINT] : 0};
    return true;
}

/* Numbers that cannot be read are found before anything is added. */
static bool can_read(const py_numbers *columns, size_t count) {
    bool surely = true;
    for (int k = 0; k < COLUMNS; k++)
        surely = surely &&
                 (!columns[k].viewed || columns[k].view.itemsize < 8 || columns[k].format >= 'a');
    spad_plan_buffer buffer;
    for (size_t i = 0; !surely && i < count; i++)
        if (!read_row(&buffer, columns, i)) return false;
    return true;
}

/* names: NULL, or one for each row, which may be NULL. */
static bool add_rows(py_plan *self, const py_numbers *columns, const char *const *names,
                     size_t count) {
    for (size_t i = 0; i < count; i++) {
        spad_plan_buffer buffer;
        spad_error error;
        if (!read_row(&buffer, columns, i)) return false;
        if (names != NULL) buffer.name = names[i];
        if (spad_plan_add(NULL, self->plan, &buffer, &error) != SPAD_OK)
            return py_raise(&error) != NULL;
    }
    return true;
}

/* A name or None for each row; borrowed from *keep. */
static bool read_names(const char ***out, size_t *count, PyObject **keep, PyObject *object) {
    *out = NULL;
    *keep = NULL;
    *count = 0;
    if (object == NULL || object == Py_None) return true;
    *keep = PySequence_Tuple(object);
    if (*keep == NULL) return false;
    *count = (size_t)PyTuple_Size(*keep);
    *out = PyMem_Calloc(*count + 1, sizeof **out);
    bool fine = *out != NULL || PyErr_NoMemory() != NULL;
    for (size_t i = 0; fine && i < *count; i++) {
        PyObject *name = PyTuple_GetItem(*keep, (Py_ssize_t)i);
        fine = name == Py_None || py_utf8(&(*out)[i], NULL, name);
    }
    if (!fine) {
        PyMem_Free((void *)*out);
        Py_CLEAR(*keep);
    }
    return fine;
}

static PyObject *plan_add_many(PyObject *object, PyObject *args, PyObject *keywords) {
    py_plan *self = (py_plan *)object;
    PyObject *given[COLUMNS] = {0}, *given_names = NULL, *keep;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOO|OOOOOOO:add_many", column_names,
                                     &given[0], &given[1], &given[2], &given[3], &given[4],
                                     &given[5], &given[6], &given[7], &given[8], &given_names))
        return NULL;
    py_numbers columns[COLUMNS];
    int opened = 0;
    const char **names;
    size_t name_count;
    bool fine = read_names(&names, &name_count, &keep, given_names);
    if (!fine) return NULL;
    while (fine && opened < COLUMNS) {
        fine = py_numbers_open(&columns[opened], column_names[opened], opened <= SIZE,
                               none_of(opened), given[opened]);
        if (fine) opened++;
    }
    for (int k = 0; fine && k < COLUMNS; k++) {
        if (!columns[k].given || columns[k].count == columns[LOWER].count) continue;
        PyErr_Format(py.errors[PY_ARGUMENT_ERROR], "%s has %zu numbers and lower has %zu",
                     column_names[k], columns[k].count, columns[LOWER].count);
        fine = false;
    }
    if (fine && names != NULL && name_count != columns[LOWER].count) {
        PyErr_Format(py.errors[PY_ARGUMENT_ERROR], "names has %zu names and lower has %zu numbers",
                     name_count, columns[LOWER].count);
        fine = false;
    }
    fine = fine && can_read(columns, columns[LOWER].count) && py_change_begin(&self->guard);
    const size_t first = spad_plan_count(self->plan);
    if (fine) {
        fine = add_rows(self, columns, names, columns[LOWER].count);
        py_change_end(&self->guard);
    }
    for (int k = 0; k < opened; k++) py_numbers_close(&columns[k]);
    PyMem_Free((void *)names);
    Py_XDECREF(keep);
    return fine ? PyLong_FromSize_t(first) : NULL;
}

static PyObject *plan_read_csv(PyObject *object, PyObject *const *args, Py_ssize_t count,
                               PyObject *keywords) {
    static const char *const names[] = {"text", "file", NULL};
    py_plan *self = (py_plan *)object;
    PyObject *given[2];
    Py_ssize_t length;
    spad_error error;
    if (!py_take(given, "read_csv", names, 1, args, count, keywords)) return NULL;
    const char *text = NULL, *file = "<csv>";
    if (!py_utf8(&text, &length, given[0]) || !py_utf8(&file, NULL, given[1]) ||
        !py_change_begin(&self->guard))
        return NULL;
    const spad_status status =
        spad_plan_read_csv(self->plan, text, (size_t)length, file, NULL, &error);
    py_change_end(&self->guard);
    return py_done(status, &error);
}

typedef spad_status (*pair_call)(spad_plan *plan, size_t a, size_t b, spad_error *error);

static PyObject *pair(PyObject *object, PyObject *args, pair_call call) {
    py_plan *self = (py_plan *)object;
    Py_ssize_t a, b;
    spad_error error;
    if (!PyArg_ParseTuple(args, "nn", &a, &b) || !py_change_begin(&self->guard)) return NULL;
    const spad_status status = call(self->plan, (size_t)a, (size_t)b, &error);
    py_change_end(&self->guard);
    return py_done(status, &error);
}

static PyObject *plan_alias(PyObject *self, PyObject *args) {
    return pair(self, args, spad_plan_alias);
}
static PyObject *plan_apart(PyObject *self, PyObject *args) {
    return pair(self, args, spad_plan_apart);
}

static PyObject *plan_in_place(PyObject *self, PyObject *args) {
    return pair(self, args, spad_plan_in_place);
}

static PyObject *plan_slice(PyObject *object, PyObject *args) {
    py_plan *self = (py_plan *)object;
    Py_ssize_t slice, whole;
    long long at;
    spad_error error;
    if (!PyArg_ParseTuple(args, "nnL", &slice, &whole, &at) || !py_change_begin(&self->guard))
        return NULL;
    const spad_status status =
        spad_plan_slice(self->plan, (size_t)slice, (size_t)whole, at, &error);
    py_change_end(&self->guard);
    return py_done(status, &error);
}

static PyObject *plan_add_trace(PyObject *object, PyObject *args) {
    py_plan *self = (py_plan *)object;
    PyObject *trace;
    const char *name;
    size_t space, first;
    spad_error error;
    if (!PyArg_ParseTuple(args, "O!s:add_trace", py.trace, &trace, &name)) return NULL;
    if (!py_change_begin(&self->guard)) return NULL;
    const spad_trace *log = ((py_trace *)trace)->trace;
    spad_status status = spad_target_find_space(&space, spad_trace_get_target(log), name, &error);
    if (status == SPAD_OK) status = spad_plan_add_trace(&first, self->plan, log, space, &error);
    py_change_end(&self->guard);
    return status == SPAD_OK ? PyLong_FromSize_t(first) : py_raise(&error);
}

/* ---- solving ----------------------------------------------------------------------- */

typedef struct watcher {
    PyObject *callback; /* or NULL */
    bool keeps;         /* after Ctrl-C the best plan so far is the result */
    PyThreadState *thread;
} watcher;

/* Handles interrupts from the keyboard, and reports progress to the caller. */
static int watch(void *context, const spad_plan_progress *p) {
    watcher *w = context;
    PyEval_RestoreThread(w->thread);
    int cancel = PyErr_CheckSignals();
    if (cancel != 0 && w->keeps && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) PyErr_Clear();
    if (cancel == 0 && w->callback != NULL) {
        PyObject *facts = Py_BuildValue(
            "{s:L,s:N,s:L,s:L,s:L}", "nanoseconds", (long long)p->nanoseconds, "height",
            py_fact(p->height, SPAD_UNBOUNDED), "bound", (long long)p->bound, "nodes",
            (long long)p->nodes, "restarts", (long long)p->restarts);
        PyObject *answer =
            facts == NULL ? NULL : PyObject_CallFunctionObjArgs(w->callback, facts, NULL);
        cancel = answer == NULL ? 1 : PyObject_IsTrue(answer);
        Py_XDECREF(answer);
        Py_XDECREF(facts);
    }
    w->thread = PyEval_SaveThread();
    return cancel;
}

static PyObject *plan_solve(PyObject *object, PyObject *args, PyObject *keywords) {
    static char *names[] = {"minimize", "timeout",  "node_limit", "seed",
                            "threads",  "progress", "interrupt",  NULL};
    py_plan *self = (py_plan *)object;
    PyObject *minimize = Py_None, *timeout = Py_None, *progress = Py_None;
    long long node_limit = 0;
    unsigned long long seed = 1;
    int threads = 1;
    const char *interrupt = "raise";
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|OOLKiOs:solve", names, &minimize, &timeout,
                                     &node_limit, &seed, &threads, &progress, &interrupt))
        return NULL;
    const bool keeps = strcmp(interrupt, "best") == 0;
    if (!keeps && strcmp(interrupt, "raise") != 0) {
        PyErr_Format(py.errors[PY_ARGUMENT_ERROR],
                     "interrupt is 'raise' or 'best', the plan so far, not '%s'", interrupt);
        return NULL;
    }
    if (progress != Py_None && !PyCallable_Check(progress)) {
        PyErr_SetString(PyExc_TypeError, "progress is a function or None");
        return NULL;
    }
    watcher w = {.callback = progress == Py_None ? NULL : progress, .keeps = keeps};
    spad_plan_options options = {.node_limit = node_limit,
                                 .seed = seed,
                                 .threads = threads,
                                 .progress = watch,
                                 .context = &w};
    if (!py_seconds(&options.timeout_ns, timeout)) return NULL;
    const int lowest = minimize == Py_None ? spad_plan_get_capacity(self->plan) == SPAD_UNBOUNDED
                                           : PyObject_IsTrue(minimize);
    if (lowest < 0) return NULL;
    options.goal = lowest != 0 ? SPAD_PLAN_MINIMIZE : SPAD_PLAN_DECIDE;
    py_result *result = py_new(py.result);
    if (result == NULL) return NULL;
    Py_INCREF(object);
    result->plan = object;
    spad_error error;
    if (!py_read_begin(&self->guard)) {
        Py_DECREF((PyObject *)result);
        return NULL;
    }
    w.thread = PyEval_SaveThread();
    const spad_status status = spad_plan_solve(&result->result, self->plan, &options, &error);
    PyEval_RestoreThread(w.thread);
    py_read_end(&self->guard);
    if (PyErr_Occurred() || status != SPAD_OK) {
        if (!PyErr_Occurred()) py_raise(&error);
        Py_CLEAR(result);
    }
    return (PyObject *)result;
}

static PyObject *plan_avoid(PyObject *object, PyObject *args) {
    py_plan *self = (py_plan *)object;
    Py_ssize_t a, b;
    long long cost = 1;
    spad_error error;
    if (!PyArg_ParseTuple(args, "nn|L", &a, &b, &cost) || !py_change_begin(&self->guard))
        return NULL;
    const spad_status status = spad_plan_avoid(self->plan, (size_t)a, (size_t)b, cost, &error);
    py_change_end(&self->guard);
    return py_done(status, &error);
}

/* One earlier place: None, an offset, or (offset, lane). */
static bool take_previous(spad_plan_place *place, PyObject *given) {
    *place = (spad_plan_place){.offset = -1};
    if (given == Py_None) return true;
    if (!PyTuple_Check(given)) return py_int(&place->offset, given);
    long long offset, lane;
    if (!PyArg_ParseTuple(given, "LL", &offset, &lane)) return false;
    *place = (spad_plan_place){.offset = offset, .lane = lane};
    return true;
}

/* The earlier places of all buffers, freed with PyMem_Free; NULL: an exception is set. */
static spad_plan_place *take_all_previous(const spad_plan *plan, PyObject *given) {
    PyObject *rows = PySequence_Tuple(given);
    if (rows == NULL) return NULL;
    const size_t count = spad_plan_count(plan);
    spad_plan_place *places = NULL;
    if ((size_t)PyTuple_Size(rows) != count)
        PyErr_Format(PyExc_ValueError, "previous has %zd places, the plan %zu buffers",
                     PyTuple_Size(rows), count);
    else if ((places = PyMem_Calloc(count + 1, sizeof *places)) == NULL)
        PyErr_NoMemory();
    for (size_t k = 0; places != NULL && k < count; k++) {
        if (take_previous(&places[k], PyTuple_GetItem(rows, (Py_ssize_t)k))) continue;
        PyMem_Free(places);
        places = NULL;
    }
    Py_DECREF(rows);
    return places;
}

/* (PlanResult, facts); the result takes the plan. */
static PyObject *describe_soft_constraints(PyObject *plan, spad_soft_result *r) {
    py_result *result = py_new(py.result);
    if (result == NULL) return NULL;
    Py_INCREF(plan);
    result->plan = plan;
    result->result = r->plan;
    r->plan = NULL;
    return Py_BuildValue("(N{s:n,s:N,s:L,s:L,s:n,s:n,s:L,s:n,s:L})", (PyObject *)result,
                         "constraints", (Py_ssize_t)r->constraint_count, "cost",
                         py_fact(r->cost, SPAD_UNBOUNDED), "bound", (long long)r->bound, "limit",
                         (long long)r->limit, "violated", (Py_ssize_t)r->violated_count, "moved",
                         (Py_ssize_t)r->moved_count, "moved_bytes", (long long)r->moved_bytes,
                         "shared", (Py_ssize_t)r->shared_count, "nanoseconds",
                         (long long)r->nanoseconds);
}

static PyObject *plan_solve_soft(PyObject *object, PyObject *args, PyObject *keywords) {
    static char *names[] = {"previous", "move_cost", "move_byte_cost", "reuse_steps", "reuse_cost",
                            "slack",    "minimize",  "timeout",        "node_limit",  "seed",
                            NULL};
    py_plan *self = (py_plan *)object;
    PyObject *previous = Py_None, *minimize = Py_None, *timeout = Py_None;
    long long move = 0, byte = 1, steps = 0, reuse = 1, slack = 0, node_limit = 0;
    unsigned long long seed = 1;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|OLLLLLOOLK:solve_soft", names, &previous,
                                     &move, &byte, &steps, &reuse, &slack, &minimize, &timeout,
                                     &node_limit, &seed))
        return NULL;
    spad_plan_options options = {.node_limit = node_limit, .seed = seed};
    if (!py_seconds(&options.timeout_ns, timeout)) return NULL;
    const int lowest = minimize == Py_None ? spad_plan_get_capacity(self->plan) == SPAD_UNBOUNDED
                                           : PyObject_IsTrue(minimize);
    if (lowest < 0) return NULL;
    options.goal = lowest != 0 ? SPAD_PLAN_MINIMIZE : SPAD_PLAN_DECIDE;
    spad_plan_place *places = NULL;
    if (previous != Py_None && (places = take_all_previous(self->plan, previous)) == NULL)
        return NULL;
    const spad_soft_constraints constraints = {slack, places, move, byte, steps, reuse};
    spad_soft_result *r = NULL;
    spad_error error;
    PyObject *out = NULL;
    if (py_read_begin(&self->guard)) {
        PyThreadState *const outside = PyEval_SaveThread();
        const spad_status status =
            spad_plan_solve_soft(&r, self->plan, &constraints, &options, &error);
        PyEval_RestoreThread(outside);
        py_read_end(&self->guard);
        if (status == SPAD_OK)
            out = describe_soft_constraints(object, r);
        else
            py_raise(&error);
    }
    spad_soft_result_destroy(r);
    PyMem_Free(places);
    return out;
}

static PyObject *plan_check(PyObject *object, PyObject *result) {
    py_plan *self = (py_plan *)object;
    if (!PyObject_TypeCheck(result, py.result)) {
        PyErr_SetString(PyExc_TypeError, "a PlanResult is needed");
        return NULL;
    }
    const spad_plan_result *r = ((py_result *)result)->result;
    int64_t height;
    spad_error error;
    if (!py_read_begin(&self->guard)) return NULL;
    PyThreadState *const outside = PyEval_SaveThread();
    spad_status status = spad_plan_match(self->plan, r, &error);
    if (status == SPAD_OK)
        status = spad_plan_check(&height, self->plan, r->places, r->places == NULL ? 0 : r->count,
                                 &error);
    PyEval_RestoreThread(outside);
    py_read_end(&self->guard);
    return status == SPAD_OK ? PyLong_FromLongLong(height) : py_raise(&error);
}

static Py_ssize_t plan_length(PyObject *self) {
    return (Py_ssize_t)spad_plan_count(((py_plan *)self)->plan);
}

PY_GETTER(plan_capacity, py_fact(spad_plan_get_capacity(((py_plan *)self)->plan), SPAD_UNBOUNDED))
PY_GETTER(plan_lanes, PyLong_FromLongLong(spad_plan_get_lanes(((py_plan *)self)->plan)))
PY_GETTER(plan_target,
          py_keep(((py_plan *)self)->target == NULL ? Py_None : ((py_plan *)self)->target))

static PyObject *plan_get(PyObject *self, Py_ssize_t number) {
    const spad_plan_buffer *b =
        number < 0 ? NULL : spad_plan_get(((py_plan *)self)->plan, (size_t)number);
    if (b == NULL) {
        PyErr_SetString(PyExc_IndexError, "no such buffer");
        return NULL;
    }
    return Py_BuildValue("{s:N,s:L,s:L,s:L,s:L,s:L,s:N}", "name", py_string(b->name), "lower",
                         (long long)b->lower, "upper", (long long)b->upper, "size",
                         (long long)b->size, "alignment", (long long)b->alignment, "lanes",
                         (long long)b->lanes, "offset", py_fact(b->pinned ? b->offset : -1, -1));
}

static PyMethodDef plan_methods[] = {
    {"add", PY_FUNC(plan_add), METH_VARARGS | METH_KEYWORDS,
     "add($self, lower, upper, size, name=None, alignment=0, lanes=0, bank=0, offset=None, lane=0, "
     "hint=None, gaps=None)\n--\n\nAdds a buffer that lives in [lower, upper), two numbers or two "
     "vector clocks (tuples); an offset is a pin."},
    {"add_many", PY_FUNC(plan_add_many), METH_VARARGS | METH_KEYWORDS,
     "add_many($self, lower, upper, size, alignment=None, lanes=None, bank=None, offset=None, "
     "lane=None, hint=None, names=None)\n--\n\nAdds a buffer for each row of the columns: arrays "
     "of whole numbers or sequences, and names\nor None. An offset or hint of -1 means none. "
     "Returns the number of the first. If a row is refused\nthe rows before it have been added."},
    {"read_csv", PY_FUNC(plan_read_csv), PY_FAST,
     "read_csv($self, text, file='<csv>')\n--\n\nAdds the buffers of a CSV text "
     "(docs/planner.md)."},
    {"alias", plan_alias, METH_VARARGS, "alias($self, a, b, /)\n--\n\nBoth get the same offset."},
    {"apart", plan_apart, METH_VARARGS, "apart($self, a, b, /)\n--\n\nThe two never share a byte."},
    {"slice", plan_slice, METH_VARARGS,
     "slice($self, slice, whole, at, /)\n--\n\nMakes a buffer the bytes from `at` on of another "
     "one; they may share bytes at any time."},
    {"in_place", plan_in_place, METH_VARARGS,
     "in_place($self, output, input, /)\n--\n\nThe output may be where the input is, if the input "
     "is not alive after\nthe first moment of the output."},
    {"add_trace", plan_add_trace, METH_VARARGS,
     "add_trace($self, trace, space, /)\n--\n\nAdds the tensors of one space of a trace."},
    {"solve", PY_FUNC(plan_solve), METH_VARARGS | METH_KEYWORDS,
     "solve($self, minimize=None, timeout=None, node_limit=0, seed=1, threads=1, progress=None, "
     "interrupt='raise')\n--\n\nPlaces the buffers. minimize: the lowest height (default without a "
     "capacity) instead of\nany plan within the capacity. progress(facts) is called now and then; "
     "true ends it with the best\nplan so far. interrupt='best': so does Ctrl-C, which otherwise "
     "is a KeyboardInterrupt."},
    {"avoid", plan_avoid, METH_VARARGS,
     "avoid($self, a, b, cost=1, /)\n--\n\nA soft constraint: costs something if the two share a "
     "byte; "
     "for solve_soft."},
    {"solve_soft", PY_FUNC(plan_solve_soft), METH_VARARGS | METH_KEYWORDS,
     "solve_soft($self, previous=None, move_cost=0, move_byte_cost=1, reuse_steps=0, "
     "reuse_cost=1, slack=0, minimize=None, timeout=None, node_limit=0, seed=1)\n--\n\nPlaces "
     "the buffers as solve does, then at no more height (and slack) at the least cost of soft "
     "constraints: buffers stay\nat previous (per buffer an offset, (offset, lane) or None), bytes "
     "are not used "
     "again within reuse_steps,\nand what avoid says. (PlanResult, facts)."},
    {"check", plan_check, METH_O,
     "check($self, result, /)\n--\n\nChecks a plan without any part of the solver; its height. A "
     "result of the plan before it\nchanged is a StateError, here and everywhere."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef plan_fields[] = {
    {.name = "capacity", .get = plan_capacity, .doc = "Bytes per lane; None: no limit."},
    {.name = "lanes", .get = plan_lanes, .doc = "Lanes of the space."},
    {.name = "target", .get = plan_target, .doc = "The chip, or None."},
    {.name = NULL}};

PY_TYPE_OPEN(plan, "Plan",
             "Plan(target=None, space=None, capacity=None)\n--\n\nBuffers that need offsets.",
             {Py_tp_new, PY_SLOT(plan_new)}, {Py_tp_methods, plan_methods},
             {Py_tp_getset, plan_fields}, {Py_sq_length, PY_SLOT(plan_length)},
             {Py_sq_item, PY_SLOT(plan_get)});

/* ---- the result -------------------------------------------------------------------- */

PY_TRAVERSE(result_traverse, py_result, self->plan)

static void result_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    py_result *self = (py_result *)object;
    spad_plan_reason_destroy(self->reason);
    spad_plan_result_destroy(self->result);
    Py_XDECREF(self->plan);
    py_free(object);
}

static spad_status result_write_text(const void *object, const spad_sink *sink, spad_error *error) {
    const py_result *self = object;
    return spad_plan_write(((py_plan *)self->plan)->plan, self->result, self->reason,
                           SPAD_FORMAT_TEXT, sink, error);
}

static spad_status result_write_json(const void *object, const spad_sink *sink, spad_error *error) {
    const py_result *self = object;
    return spad_plan_write(((py_plan *)self->plan)->plan, self->result, self->reason,
                           SPAD_FORMAT_JSON, sink, error);
}

PY_METHOD(result_text, py_text(result_write_text, self))
PY_METHOD(result_json, py_text(result_write_json, self))

static PyObject *result_explain(PyObject *object, PyObject *const *args, Py_ssize_t count,
                                PyObject *keywords) {
    static const char *const names[] = {"timeout", NULL};
    py_result *self = (py_result *)object;
    py_plan *plan = (py_plan *)self->plan;
    PyObject *given[1];
    int64_t deadline;
    spad_error error;
    if (!py_take(given, "explain", names, 0, args, count, keywords) ||
        !py_seconds(&deadline, given[0]))
        return NULL;
    spad_plan_reason *reason = NULL;
    if (!py_read_begin(&plan->guard)) return NULL;
    py_watch watch;
    py_watch_begin(&watch);
    const spad_watch asked = py_watch_of(&watch);
    const spad_status status =
        spad_plan_explain(&reason, plan->plan, self->result, deadline, &asked, &error);
    const bool finished = py_watch_end(&watch);
    py_read_end(&plan->guard);
    if (!finished || status != SPAD_OK) {
        spad_plan_reason_destroy(reason);
        return py_raise(&error);
    }
    spad_plan_reason_destroy(self->reason);
    self->reason = reason;
    return py_text(result_write_text, self);
}

typedef struct csv_text {
    const py_result *result;
    const char *text;
    size_t length;
} csv_text;

static spad_status write_csv(const void *object, const spad_sink *sink, spad_error *error) {
    const csv_text *c = object;
    return spad_plan_write_csv(((py_plan *)c->result->plan)->plan, 0, c->result->result, c->text,
                               c->length, sink, error);
}

static PyObject *result_csv(PyObject *self, PyObject *text) {
    Py_ssize_t length;
    const char *bytes = NULL;
    if (!py_utf8(&bytes, &length, text)) return NULL;
    const csv_text c = {(const py_result *)self, bytes, (size_t)length};
    return py_text(write_csv, &c);
}

static const spad_plan_result *result_in(PyObject *self) {
    return ((py_result *)self)->result;
}

static PyObject *places_view(PyObject *self, bool lanes) {
    const spad_plan_result *r = result_in(self);
    if (r->places == NULL) Py_RETURN_NONE;
    return py_column_view(self, lanes ? &r->places[0].lane : &r->places[0].offset, r->count,
                          sizeof r->places[0]);
}

PY_GETTER(result_offsets, places_view(self, false))
PY_GETTER(result_lanes, places_view(self, true))
PY_GETTER(result_verdict, py_string(spad_plan_verdict_name(result_in(self)->verdict)))
static PyObject *result_fits(PyObject *self, void *unused) {
    (void)unused;
    const spad_plan_verdict v = result_in(self)->verdict;
    return PyBool_FromLong(v == SPAD_PLAN_OPTIMAL || v == SPAD_PLAN_FEASIBLE);
}
PY_GETTER(result_height, py_fact(result_in(self)->height, SPAD_UNBOUNDED))
PY_GETTER(result_plan, py_keep(((py_result *)self)->plan))

#define RESULT_NUMBER(field) \
    PY_GETTER(result_##field, PyLong_FromLongLong((long long)result_in(self)->field))
RESULT_NUMBER(bound)
RESULT_NUMBER(peak_time)
RESULT_NUMBER(peak_load)

static PyObject *result_together(PyObject *object, void *unused) {
    const spad_plan_result *result = result_in(object);
    (void)unused;
    PyObject *list = PyTuple_New((Py_ssize_t)result->together_count);
    for (size_t k = 0; list != NULL && k < result->together_count; k++) {
        PyObject *number = PyLong_FromSize_t(result->together[k]);
        if (number == NULL)
            Py_CLEAR(list);
        else
            (void)PyTuple_SetItem(list, (Py_ssize_t)k, number);
    }
    return list;
}
RESULT_NUMBER(together_bytes)
RESULT_NUMBER(nodes)
RESULT_NUMBER(restarts)
RESULT_NUMBER(nanoseconds)

static Py_ssize_t result_length(PyObject *self) {
    const spad_plan_result *r = result_in(self);
    return r->places == NULL ? 0 : (Py_ssize_t)r->count;
}

static PyMethodDef result_methods[] = {
    {"text", result_text, METH_NOARGS, "text($self, /)\n--\n\nA few lines about it."},
    {"json", result_json, METH_NOARGS, "json($self, /)\n--\n\nEverything as JSON."},
    {"csv", result_csv, METH_O,
     "csv($self, text, /)\n--\n\nThe rows of the CSV text that was read, with offsets."},
    {"explain", PY_FUNC(result_explain), PY_FAST,
     "explain($self, timeout=1)\n--\n\nWhy it does not fit, and what would help; text() and json() "
     "have it from then on."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef result_fields[] = {
    {.name = "verdict", .get = result_verdict, .doc = "optimal, feasible, infeasible or unknown."},
    {.name = "fits", .get = result_fits, .doc = "Is there a plan within the capacity?"},
    {.name = "height", .get = result_height, .doc = "Bytes up to the top; None: no plan."},
    {.name = "bound", .get = result_bound, .doc = "No plan is lower."},
    {.name = "offsets",
     .get = result_offsets,
     .doc = "The offsets, by number, as a Column; None: no plan."},
    {.name = "lanes", .get = result_lanes, .doc = "The first lanes, as a Column."},
    {.name = "peak_time", .get = result_peak_time, .doc = "When most bytes are alive."},
    {.name = "peak_load", .get = result_peak_load, .doc = "How many."},
    {.name = "together_bytes", .get = result_together_bytes, .doc = "Bytes of `together`."},
    {.name = "together",
     .get = result_together,
     .doc = "Numbers of buffers of which no two may share bytes and that need more than any"
            " moment, or ()."},
    {.name = "nodes", .get = result_nodes, .doc = "Steps of the search."},
    {.name = "restarts", .get = result_restarts, .doc = "Restarts of the search."},
    {.name = "nanoseconds", .get = result_nanoseconds, .doc = "Time that solving took."},
    {.name = "plan", .get = result_plan, .doc = "The problem."},
    {.name = NULL}};

PY_TYPE_MADE(result, "PlanResult", "What came out of Plan.solve().",
             {Py_tp_methods, result_methods}, {Py_tp_getset, result_fields},
             {Py_sq_length, PY_SLOT(result_length)});

int py_add_plan(PyObject *module) {
    if (py_add_column(module) != 0 || py_add_type(module, &py.plan, &plan_spec) != 0) return -1;
    return py_add_type(module, &py.result, &result_spec);
}
