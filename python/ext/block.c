/* SPDX-License-Identifier: Apache-2.0
 *
 * Block: the buffers of one thread block, by scope.
 */
#include "common.h"

typedef struct py_block {
    PyObject_HEAD spad_block *block;
    PyObject *target;
} py_block;

static spad_block *block_in(PyObject *self) {
    return ((py_block *)self)->block;
}

static PyObject *block_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {
        "target",  "name", "tilelang_policy", "reuse", "merge_static", "barriers_in_arena",
        "threads", NULL};
    PyObject *target;
    const char *name = NULL;
    int tilelang = 0, reuse = 1, merge = 0, barriers = 0;
    long long threads = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|zppppL:Block", names, &target, &name,
                                     &tilelang, &reuse, &merge, &barriers, &threads))
        return NULL;
    const spad_block_options options = {.name = name,
                                        .policy = tilelang ? SPAD_BLOCK_TILELANG : SPAD_BLOCK_BEST,
                                        .no_reuse = reuse == 0,
                                        .merge_static = merge != 0,
                                        .barriers_in_arena = barriers != 0,
                                        .threads = threads};
    py_block *self = py_new(type);
    if (self == NULL) return NULL;
    self->target = (PyObject *)py_target_of(target);
    spad_error error;
    if (self->target != NULL && spad_block_create(&self->block, ((py_target *)self->target)->target,
                                                  &options, &error) != SPAD_OK)
        py_raise(&error);
    if (self->block == NULL) Py_CLEAR(self);
    return (PyObject *)self;
}

PY_TRAVERSE(block_traverse, py_block, self->target)

static void block_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    py_block *self = (py_block *)object;
    spad_block_destroy(self->block);
    Py_XDECREF(self->target);
    py_free(object);
}

/* ---- allocation -------------------------------------------------------------------- */

static const char *const uses[] = {"plain",       "bulk",         "tma", "swizzle_32b",
                                   "swizzle_64b", "swizzle_128b", "mma"};

static bool read_use(spad_block_use *out, const char *name) {
    for (int i = 0; i < SPAD_USE_COUNT; i++) {
        if (strcmp(uses[i], name) != 0) continue;
        *out = (spad_block_use)i;
        return true;
    }
    PyErr_Format(py.errors[PY_ARGUMENT_ERROR],
                 "'%s' is not a use; use plain, bulk, tma, swizzle_32b, swizzle_64b, "
                 "swizzle_128b and mma",
                 name);
    return false;
}

static PyObject *block_alloc(PyObject *self, PyObject *args, PyObject *keywords) {
    static char *names[] = {"scope", "shape",       "dtype",         "name", "stages",   "use",
                            "align", "at",          "begin",         "end",  "arrivals", "init",
                            "op",    "replication", "tcgen05_rules", NULL};
    const char *scope, *name = NULL, *use = "plain", *op = NULL, *replication = NULL;
    PyObject *shape = Py_None, *dtype = Py_None, *at = Py_None, *begin = Py_None, *end = Py_None,
             *arrivals = Py_None, *init = Py_None;
    long long stages = 0, align = 0;
    int rules = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s|OOzLsLOOOOOzzp:alloc", names, &scope,
                                     &shape, &dtype, &name, &stages, &use, &align, &at, &begin,
                                     &end, &arrivals, &init, &op, &replication, &rules))
        return NULL;
    int64_t dims[SPAD_RANK_MAX];
    int64_t *counts = NULL;
    spad_block_request request = {.name = name,
                                  .scope = scope,
                                  .stages = stages,
                                  .align = align,
                                  .timed = begin != Py_None,
                                  .tcgen05_rules = rules != 0,
                                  .pinned = at != Py_None};
    spad_error error;
    if ((shape != Py_None && !py_shape(&request.shape, dims, shape)) ||
        (dtype != Py_None && !py_dtype(&request.dtype, dtype)) || !read_use(&request.use, use) ||
        !py_int_or(&request.at, at, 0) || !py_int_or(&request.begin, begin, 0) ||
        !py_int_or(&request.end, end, 0))
        return NULL;
    if (init != Py_None && !py_value(&request.init, init, request.dtype)) return NULL;
    if ((op != NULL && spad_reduce_parse(&request.op, op, &error) != SPAD_OK) ||
        spad_replication_parse(&request.replication, replication, &error) != SPAD_OK)
        return py_raise(&error);
    if (arrivals != Py_None) {
        PyObject *list = PySequence_Tuple(arrivals);
        if (list == NULL) return NULL;
        request.arrival_count = (size_t)PyTuple_Size(list);
        counts = PyMem_Calloc(request.arrival_count + 1, sizeof *counts);
        bool fine = counts != NULL || PyErr_NoMemory() != NULL;
        for (size_t i = 0; fine && i < request.arrival_count; i++)
            fine = py_int(&counts[i], PyTuple_GetItem(list, (Py_ssize_t)i));
        Py_DECREF(list);
        if (!fine) {
            PyMem_Free(counts);
            return NULL;
        }
        request.arrivals = counts;
    }
    int64_t number;
    const spad_status status = spad_block_alloc(&number, block_in(self), &request, &error);
    PyMem_Free(counts);
    return status == SPAD_OK ? PyLong_FromLongLong(number) : py_raise(&error);
}

static PyObject *block_free(PyObject *self, PyObject *number) {
    int64_t n;
    spad_error error;
    if (!py_int(&n, number)) return NULL;
    return py_done(spad_block_free(block_in(self), n, &error), &error);
}

static PyObject *block_invalidate(PyObject *self, PyObject *number) {
    int64_t n;
    spad_error error;
    if (!py_int(&n, number)) return NULL;
    return py_done(spad_block_invalidate(block_in(self), n, &error), &error);
}

static PyObject *block_enter(PyObject *self, PyObject *kind) {
    static const char *const kinds[] = {"serial", "parallel", "branch", "concurrent"};
    const char *name = py_chars(kind);
    spad_error error;
    if (name == NULL) return NULL;
    for (int i = 0; i < SPAD_FLOW_COUNT; i++)
        if (strcmp(kinds[i], name) == 0)
            return py_done(spad_block_enter(block_in(self), (spad_block_flow)i, &error), &error);
    PyErr_Format(py.errors[PY_ARGUMENT_ERROR],
                 "'%s' is not a region; there are serial, parallel, branch and concurrent", name);
    return NULL;
}

static PyObject *block_leave(PyObject *self, PyObject *unused) {
    (void)unused;
    spad_error error;
    return py_done(spad_block_leave(block_in(self), &error), &error);
}

/* ---- reducers ---------------------------------------------------------------------- */

static bool read_seed(spad_value *out, PyObject *self, int64_t reducer, PyObject *object) {
    spad_block_buffer buffer;
    spad_error error;
    if (spad_block_get(&buffer, block_in(self), reducer, &error) != SPAD_OK)
        return py_raise(&error) != NULL;
    return py_value(out, object, buffer.dtype);
}

static PyObject *block_reducer_init(PyObject *self, PyObject *args) {
    long long reducer;
    PyObject *seed = Py_None;
    spad_value value;
    spad_error error;
    if (!PyArg_ParseTuple(args, "L|O:reducer_init", &reducer, &seed)) return NULL;
    if (seed != Py_None && !read_seed(&value, self, reducer, seed)) return NULL;
    return py_done(
        spad_block_reducer_init(block_in(self), reducer, seed == Py_None ? NULL : &value, &error),
        &error);
}

static PyObject *block_reducer_fill(PyObject *self, PyObject *args) {
    long long reducer;
    PyObject *seed;
    spad_value value;
    spad_error error;
    if (!PyArg_ParseTuple(args, "LO:reducer_fill", &reducer, &seed) ||
        !read_seed(&value, self, reducer, seed))
        return NULL;
    return py_done(spad_block_reducer_fill(block_in(self), reducer, value, &error), &error);
}

static PyObject *block_reducer_update(PyObject *self, PyObject *args) {
    long long reducer;
    const char *name;
    spad_reduce op;
    spad_error error;
    if (!PyArg_ParseTuple(args, "Ls:reducer_update", &reducer, &name)) return NULL;
    if (spad_reduce_parse(&op, name, &error) != SPAD_OK) return py_raise(&error);
    return py_done(spad_block_reducer_update(block_in(self), reducer, op, &error), &error);
}

static PyObject *block_reducer_finalize(PyObject *self, PyObject *args) {
    long long reducer, destination = SPAD_BLOCK_IN_PLACE, batch = 1;
    spad_error error;
    if (!PyArg_ParseTuple(args, "L|LL:reducer_finalize", &reducer, &destination, &batch))
        return NULL;
    return py_done(spad_block_reducer_finalize(block_in(self), reducer, destination, batch, &error),
                   &error);
}

/* ---- the plan ---------------------------------------------------------------------- */

static PyObject *block_plan(PyObject *self, PyObject *unused) {
    (void)unused;
    spad_error error;
    return py_done(spad_block_plan(block_in(self), &error), &error);
}

static PyObject *block_check_fit(PyObject *self, PyObject *unused) {
    (void)unused;
    spad_error error;
    return py_done(spad_block_check_fit(block_in(self), &error), &error);
}

static PyObject *block_totals(PyObject *self, PyObject *unused) {
    (void)unused;
    spad_block_totals t;
    spad_error error;
    if (spad_block_get_totals(&t, block_in(self), &error) != SPAD_OK) return py_raise(&error);
    PyObject *dict = PyDict_New();
    if (dict == NULL) return NULL;
#define NUMBER(field) py_put(dict, #field, PyLong_FromLongLong(t.field))
    if (NUMBER(static_bytes) && NUMBER(base_padding) && NUMBER(dynamic_bytes) &&
        NUMBER(reserve_bytes) && NUMBER(block_bytes) && NUMBER(limit_bytes) &&
        NUMBER(static_limit) && NUMBER(base_align) && NUMBER(buffer_bytes) &&
        NUMBER(stage_padding) && NUMBER(lower_bound) && NUMBER(peak_time) && NUMBER(tmem_columns) &&
        NUMBER(tmem_allocs) && NUMBER(tmem_available) && NUMBER(thread_bytes) &&
        NUMBER(blocks_per_unit) && py_put(dict, "limited_by", py_string(t.limited_by)) &&
        py_put(dict, "needs_opt_in", PyBool_FromLong(t.needs_opt_in)) &&
        py_put(dict, "fits", PyBool_FromLong(t.fits)))
        return dict;
#undef NUMBER
    Py_DECREF(dict);
    return NULL;
}

static PyObject *block_touch(PyObject *self, PyObject *args) {
    static const char *const touches[] = {"read", "write", "address"};
    long long buffer;
    const char *name = "read";
    spad_error error;
    if (!PyArg_ParseTuple(args, "L|s:touch", &buffer, &name)) return NULL;
    for (int i = 0; i < SPAD_TOUCH_COUNT; i++)
        if (strcmp(touches[i], name) == 0)
            return py_done(spad_block_touch(block_in(self), buffer, (spad_touch)i, &error), &error);
    PyErr_Format(py.errors[PY_ARGUMENT_ERROR],
                 "'%s' is not an access; there are read, write and address", name);
    return NULL;
}

static PyObject *block_arena(PyObject *self, PyObject *space) {
    const char *name = py_chars(space);
    int64_t bytes, limit;
    spad_error error;
    if (name == NULL) return NULL;
    if (spad_block_get_arena(&bytes, &limit, block_in(self), name, &error) != SPAD_OK)
        return py_raise(&error);
    return Py_BuildValue("(LL)", (long long)bytes, (long long)limit);
}

static PyObject *block_get(PyObject *self, Py_ssize_t number) {
    spad_block_buffer b;
    spad_error error;
    if (number < 0 || (size_t)number >= spad_block_count(block_in(self))) {
        PyErr_SetString(PyExc_IndexError, "no such buffer");
        return NULL;
    }
    if (spad_block_get(&b, block_in(self), number, &error) != SPAD_OK) return py_raise(&error);
    return Py_BuildValue(
        "{s:N,s:s,s:N,s:N,s:L,s:L,s:L,s:L,s:L,s:L,s:N,s:N,s:N,s:N,s:L,s:L,s:L,s:N,s:L}", "name",
        py_string(b.name), "scope", spad_block_scope_name(b.scope), "shape",
        py_tuple_of(b.shape.dims, b.shape.rank), "dtype",
        py_string(b.dtype == SPAD_DTYPE_NONE ? NULL : spad_dtype_name(b.dtype)), "bytes",
        (long long)b.bytes, "stages", (long long)b.stages, "stride", (long long)b.stride, "span",
        (long long)b.span, "align", (long long)b.align, "begin", (long long)b.begin, "end",
        py_fact(b.end, SPAD_OPEN_END), "is_static", PyBool_FromLong(b.is_static), "offset",
        py_fact(b.offset, SPAD_NO_BYTE), "byte", py_fact(b.byte, SPAD_NO_BYTE), "lanes",
        (long long)b.lanes, "columns", (long long)b.columns, "lane", (long long)b.lane, "alloc",
        py_fact(b.alloc, -1), "column", (long long)b.column);
}

static Py_ssize_t block_length(PyObject *self) {
    return (Py_ssize_t)spad_block_count(block_in(self));
}

PY_WRITER(spad_block, text, TEXT)
PY_WRITER(spad_block, json, JSON)

PY_METHOD(block_text, py_text(spad_block_write_text_any, block_in(self)))
PY_METHOD(block_json, py_text(spad_block_write_json_any, block_in(self)))

static PyObject *block_trace(PyObject *self, PyObject *unused) {
    (void)unused;
    PyObject *trace =
        PyObject_CallFunctionObjArgs((PyObject *)py.trace, ((py_block *)self)->target, NULL);
    spad_error error;
    if (trace == NULL) return NULL;
    if (spad_block_write_trace(block_in(self), ((py_trace *)trace)->trace, &error) == SPAD_OK)
        return trace;
    Py_DECREF(trace);
    return py_raise(&error);
}

static PyObject *block_target(PyObject *self, void *unused) {
    (void)unused;
    PyObject *target = ((py_block *)self)->target;
    Py_INCREF(target);
    return target;
}

static PyMethodDef block_methods[] = {
    {"alloc", PY_FUNC(block_alloc), METH_VARARGS | METH_KEYWORDS,
     "alloc($self, scope, shape=None, dtype=None, name=None, stages=0, use='plain', align=0, "
     "at=None, begin=None, end=None, arrivals=None, init=None, op=None, "
     "replication=None, tcgen05_rules=False)\n--\n\nAllocates by scope; the number of the "
     "buffer."},
    {"free", block_free, METH_O, "free($self, buffer, /)\n--\n\nThe buffer is not used any more."},
    {"invalidate", block_invalidate, METH_O,
     "invalidate($self, barrier, /)\n--\n\nThe bytes of the barrier can hold data from now on."},
    {"enter", block_enter, METH_O,
     "enter($self, kind, /)\n--\n\nEnters a loop or a branch: serial, parallel, branch or "
     "concurrent."},
    {"leave", block_leave, METH_NOARGS, "leave($self, /)\n--\n\nLeaves the innermost region."},
    {"reducer_init", block_reducer_init, METH_VARARGS,
     "reducer_init($self, reducer, seed=None, /)\n--\n\nGives a reducer its first value, the "
     "identity of its operation or a seed."
     "identity of its operation or a seed."},
    {"reducer_fill", block_reducer_fill, METH_VARARGS,
     "reducer_fill($self, reducer, value, /)\n--\n\nFills a reducer with a value."},
    {"reducer_update", block_reducer_update, METH_VARARGS,
     "reducer_update($self, reducer, op, /)\n--\n\nReduces more into a reducer."},
    {"reducer_finalize", block_reducer_finalize, METH_VARARGS,
     "reducer_finalize($self, reducer, destination=-1, batch=1, /)\n--\n\nEnds a reducer; its "
     "result goes to a buffer, or stays."},
    {"touch", block_touch, METH_VARARGS,
     "touch($self, buffer, access='read', /)\n--\n\nRaises StateError if the kernel may not read, "
     "write or take the address of it here."},
    {"arena", block_arena, METH_O,
     "arena($self, space, /)\n--\n\nWhat the buffers of a space need, and how much there is."},
    {"plan", block_plan, METH_NOARGS, "plan($self, /)\n--\n\nPlaces every buffer."},
    {"check_fit", block_check_fit, METH_NOARGS,
     "check_fit($self, /)\n--\n\nRaises FitError if the plan does not fit."},
    {"totals", block_totals, METH_NOARGS, "totals($self, /)\n--\n\nThe sums of the plan."},
    {"text", block_text, METH_NOARGS, "text($self, /)\n--\n\nThe plan as an itemised table."},
    {"json", block_json, METH_NOARGS, "json($self, /)\n--\n\nThe same as JSON."},
    {"trace", block_trace, METH_NOARGS,
     "trace($self, /)\n--\n\nThe walk through the block as a Trace."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef block_fields[] = {{.name = "target", .get = block_target, .doc = "The chip."},
                                     {.name = NULL}};

PY_TYPE_OPEN(block, "Block",
             "Block(target, name=None, tilelang_policy=False, reuse=True, merge_static=False, "
             "barriers_in_arena=False, threads=0)\n--\n\nThe buffers of one thread block.",
             {Py_tp_new, PY_SLOT(block_new)}, {Py_tp_methods, block_methods},
             {Py_tp_getset, block_fields}, {Py_sq_length, PY_SLOT(block_length)},
             {Py_sq_item, PY_SLOT(block_get)});

int py_add_block(PyObject *module) {
    return py_add_type(module, &py.block, &block_spec);
}
