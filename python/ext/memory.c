/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory: something that hands out bytes, and wrappers of one that limit, count, log or
 * refuse. Wrappers go around each other in any order. Allocation: a block of one. Log:
 * what was allocated and freed, from a file.
 *
 * A Memory keeps what is below it, and a block its memory; a block that is not freed by
 * hand is freed when its object goes.
 */
#include "device.h"

#include <stdlib.h>

typedef struct py_memory {
    PyObject_HEAD spad_memory memory;
    const char *kind;
    spad_wrapper *wrapper; /* owned, or NULL */
    spad_pool *pool;       /* or NULL */
    bool owns_pool;
    PyObject *below;  /* Memory or Device */
    py_written *text; /* of a log, or NULL */
    py_guard guard;   /* replays that run over it and write the text are its readers */
} py_memory;

PY_TRAVERSE(memory_traverse, py_memory, self->below)

static void memory_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    py_memory *self = (py_memory *)object;
    spad_wrapper_destroy(self->wrapper);
    if (self->owns_pool) spad_pool_destroy(self->pool);
    if (self->text != NULL) {
        free(self->text->bytes);
        PyMem_Free(self->text);
    }
    Py_XDECREF(self->below);
    py_free(object);
}

static py_memory *memory_over(PyObject *below, const char *kind) {
    py_memory *self = py_new(py.memory);
    if (self == NULL) return NULL;
    self->kind = kind;
    self->below = py_keep(below);
    return self;
}

PyObject *py_device_memory(PyObject *device) {
    py_memory *self = memory_over(device, "device");
    if (self != NULL) self->memory = spad_device_get_memory(py_device_in(device));
    return (PyObject *)self;
}

PyObject *py_device_host_memory(PyObject *device) {
    py_memory *self = memory_over(device, "host");
    if (self != NULL) self->memory = spad_device_get_host_memory(py_device_in(device));
    return (PyObject *)self;
}

PyObject *py_device_pool(PyObject *device, spad_memory_scope scope) {
    spad_pool *pool;
    spad_error error;
    if (spad_device_get_pool(&pool, py_device_in(device), scope, &error) != SPAD_OK)
        return py_raise(&error);
    py_memory *self = memory_over(device, "pool");
    if (self == NULL) return NULL;
    self->pool = pool;
    self->memory = spad_pool_get_memory(pool);
    return (PyObject *)self;
}

/* ---- wrappers ---------------------------------------------------------------------- */

static PyObject *wrapped(py_memory *self, spad_status status, const spad_error *error) {
    if (status == SPAD_OK) {
        self->memory = spad_wrapper_get_memory(self->wrapper);
        return (PyObject *)self;
    }
    Py_DECREF((PyObject *)self);
    return py_raise(error);
}

static const spad_memory *memory_in(PyObject *self) {
    return &((py_memory *)self)->memory;
}

static PyObject *memory_limit(PyObject *below, PyObject *bytes) {
    int64_t most;
    spad_error error;
    if (!py_int(&most, bytes)) return NULL;
    py_memory *self = memory_over(below, "limit");
    if (self == NULL) return NULL;
    return wrapped(self,
                   spad_wrapper_create_limit(&self->wrapper, memory_in(below), most, NULL, &error),
                   &error);
}

static PyObject *memory_statistics(PyObject *below, PyObject *unused) {
    (void)unused;
    spad_error error;
    py_memory *self = memory_over(below, "statistics");
    if (self == NULL) return NULL;
    return wrapped(self,
                   spad_wrapper_create_statistics(&self->wrapper, memory_in(below), NULL, &error),
                   &error);
}

static PyObject *memory_log(PyObject *below, PyObject *unused) {
    (void)unused;
    spad_error error;
    py_memory *self = memory_over(below, "log");
    if (self == NULL) return NULL;
    self->text = PyMem_Calloc(1, sizeof *self->text);
    if (self->text == NULL) {
        Py_DECREF((PyObject *)self);
        return PyErr_NoMemory();
    }
    const spad_sink sink = {py_write_more, self->text};
    return wrapped(
        self, spad_wrapper_create_log(&self->wrapper, memory_in(below), &sink, NULL, NULL, &error),
        &error);
}

static PyObject *memory_fault(PyObject *below, PyObject *const *args, Py_ssize_t count,
                              PyObject *keywords) {
    static const char *const names[] = {"first", "every", NULL};
    PyObject *given[2];
    int64_t first, every;
    spad_error error;
    if (!py_take(given, "fault", names, 1, args, count, keywords) || !py_int(&first, given[0]) ||
        !py_int_or(&every, given[1], 0))
        return NULL;
    py_memory *self = memory_over(below, "fault");
    if (self == NULL) return NULL;
    return wrapped(
        self,
        spad_wrapper_create_fault(&self->wrapper, memory_in(below), first, every, NULL, &error),
        &error);
}

static PyObject *memory_pool(PyObject *below, PyObject *args, PyObject *keywords) {
    static char *names[] = {"max_bytes",  "block_bytes", "initial_bytes",
                            "grow_bytes", "exact",       NULL};
    long long most = 0, block = 0, initial = 0, grow = 0;
    int exact = 0;
    spad_error error;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|LLLLp:pool", names, &most, &block, &initial,
                                     &grow, &exact))
        return NULL;
    const spad_pool_options options = {.max_bytes = most,
                                       .block_bytes = block,
                                       .initial_bytes = initial,
                                       .grow_bytes = grow,
                                       .exact = exact != 0};
    py_memory *self = memory_over(below, "pool");
    if (self == NULL) return NULL;
    if (spad_pool_create(&self->pool, memory_in(below), &options, &error) != SPAD_OK) {
        Py_DECREF((PyObject *)self);
        return py_raise(&error);
    }
    self->owns_pool = true;
    self->memory = spad_pool_get_memory(self->pool);
    return (PyObject *)self;
}

/* ---- statistics -------------------------------------------------------------------- */

PyObject *py_memory_stats(const spad_memory_stats *s) {
    return Py_BuildValue(
        "{s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L}", "allocated_bytes", (long long)s->allocated_bytes,
        "peak_bytes", (long long)s->peak_bytes, "freed_bytes", (long long)s->freed_bytes,
        "total_bytes", (long long)s->total_bytes, "live_blocks", (long long)s->live_blocks,
        "peak_blocks", (long long)s->peak_blocks, "allocations", (long long)s->allocations, "frees",
        (long long)s->frees, "failures", (long long)s->failures);
}

PyObject *py_pool_stats(spad_pool *pool) {
    const spad_pool_stats s = spad_pool_get_stats(pool);
    PyObject *dict = py_memory_stats(&s.blocks);
#define NUMBER(field) py_put(dict, #field, PyLong_FromLongLong(s.field))
    if (dict != NULL && !(NUMBER(capacity_bytes) && NUMBER(held_bytes) && NUMBER(peak_held_bytes) &&
                          NUMBER(cached_bytes) && NUMBER(free_bytes) && NUMBER(largest_hole) &&
                          NUMBER(holes) && NUMBER(chunks) && NUMBER(fragmentation)))
        Py_CLEAR(dict);
#undef NUMBER
    return dict;
}

static PyObject *memory_stats(PyObject *object, PyObject *unused) {
    (void)unused;
    py_memory *self = (py_memory *)object;
    if (self->pool != NULL) return py_pool_stats(self->pool);
    if (self->wrapper == NULL) {
        PyErr_SetString(py.errors[PY_STATE_ERROR],
                        "the memory of a device does not count; wrap it with statistics()");
        return NULL;
    }
    const spad_memory_stats s = spad_wrapper_get_stats(self->wrapper);
    return py_memory_stats(&s);
}

static PyObject *memory_text(PyObject *object, PyObject *unused) {
    (void)unused;
    py_memory *self = (py_memory *)object;
    if (self->text == NULL) {
        PyErr_SetString(py.errors[PY_STATE_ERROR], "there is no log; wrap the memory with log()");
        return NULL;
    }
    if (!py_change_begin(&self->guard)) return NULL;
    PyObject *text = PyUnicode_DecodeUTF8(self->text->count == 0 ? "" : self->text->bytes,
                                          (Py_ssize_t)self->text->count, "replace");
    py_change_end(&self->guard);
    return text;
}

static bool need_pool(PyObject *self) {
    if (((py_memory *)self)->pool != NULL) return true;
    PyErr_SetString(py.errors[PY_STATE_ERROR], "this memory is not a pool; make one with pool()");
    return false;
}

static PyObject *memory_trim(PyObject *self, PyObject *args) {
    long long keep = 0;
    int64_t released;
    spad_error error;
    if (!PyArg_ParseTuple(args, "|L:trim", &keep) || !need_pool(self)) return NULL;
    if (spad_pool_trim(&released, ((py_memory *)self)->pool, keep, &error) != SPAD_OK)
        return py_raise(&error);
    return PyLong_FromLongLong(released);
}

static PyObject *memory_check(PyObject *self, PyObject *unused) {
    (void)unused;
    spad_error error;
    if (!need_pool(self)) return NULL;
    return py_done(spad_pool_check(((py_memory *)self)->pool, &error), &error);
}

PY_GETTER(memory_kind, py_string(((py_memory *)self)->kind))

PY_GETTER(memory_below, py_keep(((py_memory *)self)->below))

static PyObject *memory_repr(PyObject *self) {
    const py_memory *m = (py_memory *)self;
    return PyUnicode_FromFormat("<spad.Memory: %s over %R>", m->kind, m->below);
}

/* ---- blocks ------------------------------------------------------------------------ */

static spad_status give_back(PyObject *owner, py_allocation_free free_block,
                             const spad_allocation *block, spad_error *error) {
    return free_block != NULL ? free_block(owner, block, error)
                              : spad_memory_free(memory_in(owner), block, error);
}

PyObject *py_allocation_wrap(const spad_allocation *block, PyObject *owner,
                             py_allocation_free free_block) {
    py_allocation *self = py_new(py.allocation);
    if (self == NULL) {
        give_back(owner, free_block, block, NULL);
        return NULL;
    }
    self->block = *block;
    self->owner = py_keep(owner);
    self->free_block = free_block;
    return (PyObject *)self;
}

static PyObject *memory_alloc(PyObject *self, PyObject *const *args, Py_ssize_t count,
                              PyObject *keywords) {
    static const char *const names[] = {"bytes", "align", NULL};
    PyObject *given[2];
    int64_t bytes, align;
    spad_allocation block;
    spad_error error;
    if (!py_take(given, "alloc", names, 1, args, count, keywords) || !py_int(&bytes, given[0]) ||
        !py_int_or(&align, given[1], SPAD_ALIGN_ANY))
        return NULL;
    if (spad_memory_alloc(&block, memory_in(self), bytes, align, &error) != SPAD_OK)
        return py_raise(&error);
    return py_allocation_wrap(&block, self, NULL);
}

PY_TRAVERSE(allocation_traverse, py_allocation, self->owner)

static void allocation_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    py_allocation *self = (py_allocation *)object;
    if (!self->freed && self->owner != NULL)
        give_back(self->owner, self->free_block, &self->block, NULL);
    Py_XDECREF(self->owner);
    py_free(object);
}

static PyObject *allocation_free(PyObject *object, PyObject *unused) {
    (void)unused;
    py_allocation *self = (py_allocation *)object;
    spad_error error;
    if (self->freed) {
        PyErr_SetString(py.errors[PY_STATE_ERROR], "the block was freed before");
        return NULL;
    }
    if (give_back(self->owner, self->free_block, &self->block, &error) != SPAD_OK)
        return py_raise(&error);
    self->freed = true;
    Py_RETURN_NONE;
}

static PyObject *allocation_enter(PyObject *self, PyObject *unused) {
    (void)unused;
    if (!((py_allocation *)self)->freed) return py_keep(self);
    PyErr_SetString(py.errors[PY_STATE_ERROR], "the block was freed before");
    return NULL;
}

static PyObject *allocation_exit(PyObject *self, PyObject *unused) {
    if (((py_allocation *)self)->freed) Py_RETURN_NONE;
    return allocation_free(self, unused);
}

static PyObject *allocation_field(PyObject *object, void *which) {
    const py_allocation *self = (py_allocation *)object;
    switch (*(const char *)which) {
    case 'a': return PyLong_FromLongLong(self->block.address);
    case 'b': return PyLong_FromLongLong(self->block.bytes);
    default: return PyBool_FromLong(self->freed);
    }
}

static PyObject *allocation_repr(PyObject *object) {
    const py_allocation *self = (py_allocation *)object;
    return PyUnicode_FromFormat("<spad.Allocation of %lld B at %p%s>", (long long)self->block.bytes,
                                (void *)(uintptr_t)self->block.address,
                                self->freed ? ", freed" : "");
}

static PyMethodDef allocation_methods[] = {
    {"free", allocation_free, METH_NOARGS, "free($self, /)\n--\n\nGives the block back."},
    {"__enter__", allocation_enter, METH_NOARGS,
     "__enter__($self, /)\n--\n\nThe block; freed at the end."},
    {"__exit__", allocation_exit, METH_VARARGS,
     "__exit__($self, *unused)\n--\n\nFrees the block, unless that was done."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef allocation_fields[] = {
    {.name = "address", .get = allocation_field, .doc = "Where it begins.", .closure = "a"},
    {.name = "bytes", .get = allocation_field, .doc = "As asked for.", .closure = "b"},
    {.name = "freed", .get = allocation_field, .doc = "Was it given back?", .closure = "f"},
    {.name = NULL}};

PY_TYPE_MADE(allocation, "Allocation", "A block of a memory.",
             {Py_tp_repr, PY_SLOT(allocation_repr)}, {Py_tp_methods, allocation_methods},
             {Py_tp_getset, allocation_fields});

static PyMethodDef memory_methods[] = {
    {"alloc", PY_FUNC(memory_alloc), PY_FAST,
     "alloc($self, bytes, align=1)\n--\n\nA block of so many bytes, as an Allocation."},
    {"limit", memory_limit, METH_O,
     "limit($self, max_bytes, /)\n--\n\nRefuses what would bring the bytes given out above a "
     "limit."},
    {"statistics", memory_statistics, METH_NOARGS,
     "statistics($self, /)\n--\n\nCounts exactly: see stats()."},
    {"log", memory_log, METH_NOARGS,
     "log($self, /)\n--\n\nLogs every call in the format of RMM: see text()."},
    {"fault", PY_FUNC(memory_fault), PY_FAST,
     "fault($self, first, every=0)\n--\n\nRefuses allocation number first, from 1, and every so "
     "many after it."},
    {"pool", PY_FUNC(memory_pool), METH_VARARGS | METH_KEYWORDS,
     "pool($self, max_bytes=0, block_bytes=0, initial_bytes=0, grow_bytes=0, exact=False)\n--\n\nA "
     "pool over chunks of this memory."},
    {"stats", memory_stats, METH_NOARGS,
     "stats($self, /)\n--\n\nWhat went through it; of a pool, also what it holds."},
    {"text", memory_text, METH_NOARGS, "text($self, /)\n--\n\nThe log so far, as CSV."},
    {"trim", memory_trim, METH_VARARGS,
     "trim($self, keep_bytes=0, /)\n--\n\nA pool gives chunks that are free back: how many bytes."},
    {"check", memory_check, METH_NOARGS, "check($self, /)\n--\n\nChecks the invariants of a pool."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef memory_fields[] = {
    {.name = "kind", .get = memory_kind, .doc = "device, pool, limit, statistics, log or fault."},
    {.name = "below", .get = memory_below, .doc = "What it is made of."},
    {.name = NULL}};

PY_TYPE_MADE(memory, "Memory",
             "Something that hands out bytes: Device.memory(), Device.pool(), and wrappers of "
             "them that go around each other.",
             {Py_tp_repr, PY_SLOT(memory_repr)}, {Py_tp_methods, memory_methods},
             {Py_tp_getset, memory_fields});

/* ---- logs -------------------------------------------------------------------------- */

static PyObject *log_parse(PyObject *type, PyObject *args) {
    const char *text, *file = "<log>";
    Py_ssize_t length;
    spad_error error;
    if (!PyArg_ParseTuple(args, "s#|s:parse", &text, &length, &file)) return NULL;
    py_log *self = py_new((PyTypeObject *)type);
    if (self == NULL) return NULL;
    if (spad_log_parse(&self->log, text, (size_t)length, file, NULL, &error) == SPAD_OK)
        return (PyObject *)self;
    Py_DECREF((PyObject *)self);
    return py_raise(&error);
}

PY_TRAVERSE(log_traverse, py_log, NULL)

static void log_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    spad_log_destroy(((py_log *)self)->log);
    py_free(self);
}

static const spad_log *log_in(PyObject *self) {
    return ((py_log *)self)->log;
}

static Py_ssize_t log_length(PyObject *self) {
    return (Py_ssize_t)spad_log_count(log_in(self));
}

static PyObject *log_get(PyObject *self, Py_ssize_t number) {
    static const char *const actions[] = {"allocate", "failure", "free"};
    const spad_log_row *r = number < 0 ? NULL : spad_log_get(log_in(self), (size_t)number);
    if (r == NULL) {
        PyErr_SetString(PyExc_IndexError, "the log has no such row");
        return NULL;
    }
    return Py_BuildValue("{s:s,s:L,s:L,s:L,s:N,s:L}", "action", actions[r->action], "address",
                         (long long)r->address, "bytes", (long long)r->bytes, "stream",
                         (long long)r->stream, "allocation", py_fact(r->allocation, -1), "line",
                         (long long)r->line);
}

PY_GETTER(log_allocations, PyLong_FromLongLong(spad_log_allocation_count(log_in(self))))

/* Takes the guards of a memory and of what is below it, or gives them back: their logs are written
 * while the GIL is released. Nothing holds them for longer than a call, so taking them succeeds. */
static bool guard_all(PyObject *object, bool begin) {
    for (; PyObject_TypeCheck(object, py.memory); object = ((py_memory *)object)->below) {
        py_guard *guard = &((py_memory *)object)->guard;
        if (!begin)
            py_read_end(guard);
        else if (!py_read_begin(guard))
            return false;
    }
    return true;
}

static PyObject *log_replay(PyObject *self, PyObject *args) {
    PyObject *memory;
    long long align = SPAD_ALIGN_ANY;
    spad_replay r;
    spad_error error;
    if (!PyArg_ParseTuple(args, "O!|L:replay", py.memory, &memory, &align) ||
        !guard_all(memory, true))
        return NULL;
    PyThreadState *const outside = PyEval_SaveThread();
    const spad_status status =
        spad_memory_replay(&r, memory_in(memory), log_in(self), align, NULL, &error);
    PyEval_RestoreThread(outside);
    guard_all(memory, false);
    if (status != SPAD_OK) return py_raise(&error);
    return Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L}", "nanoseconds",
                         (long long)r.nanoseconds, "allocations", (long long)r.allocations, "frees",
                         (long long)r.frees, "failures", (long long)r.failures, "left",
                         (long long)r.left, "peak_bytes", (long long)r.peak_bytes, "unknown_frees",
                         (long long)r.unknown_frees, "resized_frees", (long long)r.resized_frees);
}

static PyMethodDef log_methods[] = {
    {"parse", log_parse, METH_VARARGS | METH_CLASS,
     "parse($type, text, file='<log>', /)\n--\n\nReads a log in the format of RMM."},
    {"replay", log_replay, METH_VARARGS,
     "replay($self, memory, align=1, /)\n--\n\nMakes the calls of the log again: how long they "
     "take, and what is refused."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef log_fields[] = {
    {.name = "allocations", .get = log_allocations, .doc = "Rows that allocate."}, {.name = NULL}};

static PyType_Slot log_slots[] = {{Py_tp_doc, "A log of allocations; a sequence of its rows."},
                                  {Py_tp_dealloc, PY_SLOT(log_dealloc)},
                                  {Py_tp_traverse, PY_SLOT(log_traverse)},
                                  {Py_tp_methods, log_methods},
                                  {Py_tp_getset, log_fields},
                                  {Py_sq_length, PY_SLOT(log_length)},
                                  {Py_sq_item, PY_SLOT(log_get)},
                                  {0, NULL}};

static PyType_Spec log_spec = {.name = "spad._spad.Log",
                               .basicsize = sizeof(py_log),
                               .flags = PY_FLAGS | Py_TPFLAGS_BASETYPE |
                                        Py_TPFLAGS_DISALLOW_INSTANTIATION,
                               .slots = log_slots};

int py_add_memory(PyObject *module) {
    if (py_add_type(module, &py.memory, &memory_spec) != 0 ||
        py_add_type(module, &py.allocation, &allocation_spec) != 0)
        return -1;
    return py_add_type(module, &py.log, &log_spec);
}
