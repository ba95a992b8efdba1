/* SPDX-License-Identifier: Apache-2.0
 *
 * Stack: the scoped manager, and Tensor: what it hands out.
 *
 * Method names and arguments are those of the NKI library's SbufManager, so that
 * spad.nki.SbufManager is this type with a constructor of its own and an allocation
 * is one call. When a call fails and a subclass has a method _translate, the exception
 * that it returns is raised.
 */
#include "common.h"
#include "spad/experimental/stack_queries.h"

typedef struct py_tensor {
    PyObject_HEAD PyObject *shape;
    PyObject *dtype;
    PyObject *name;
    PyObject *buffer;
    spad_rect rect;
} py_tensor;

typedef struct py_stack {
    PyObject_HEAD spad_stack *stack;
    PyObject *target;
    PyObject *trace;   /* or NULL */
    PyObject *tensors; /* the type of its tensors: Tensor, or a subclass */
    spad_stack_behaviour behaviour;
    bool strict;
    size_t space;
    bool notifies;      /* calls its method _outermost_closed */
    spad_error refused; /* the last allocation, if it did not fit; else its code is SPAD_OK */
} py_stack;

/* ---- tensors ----------------------------------------------------------------------- */

PY_TRAVERSE(tensor_traverse, py_tensor, self->shape, self->dtype, self->name, self->buffer)

static void tensor_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    py_tensor *self = (py_tensor *)object;
    Py_XDECREF(self->shape);
    Py_XDECREF(self->dtype);
    Py_XDECREF(self->name);
    Py_XDECREF(self->buffer);
    py_free(object);
}

static PyObject *tensor_make(PyObject *type, PyObject *given, spad_shape shape, PyObject *dtype,
                             PyObject *name, PyObject *buffer, const spad_rect *rect) {
    py_tensor *self = py_new((PyTypeObject *)type);
    if (self == NULL) return NULL;
    self->shape = PyTuple_Check(given) ? py_keep(given) : py_tuple_of(shape.dims, shape.rank);
    self->dtype = py_keep(dtype);
    self->name = py_keep(name == NULL ? Py_None : name);
    self->buffer = py_keep(buffer == NULL ? Py_None : buffer);
    self->rect = *rect;
    if (self->shape == NULL) Py_CLEAR(self);
    return (PyObject *)self;
}

#define TENSOR_OBJECT(field) PY_GETTER(tensor_##field, py_keep(((py_tensor *)self)->field))
TENSOR_OBJECT(shape)
TENSOR_OBJECT(dtype)
TENSOR_OBJECT(name)
TENSOR_OBJECT(buffer)

static PyObject *tensor_address(PyObject *self, void *unused) {
    (void)unused;
    const spad_rect *rect = &((py_tensor *)self)->rect;
    if (rect->byte == SPAD_NO_BYTE) Py_RETURN_NONE;
    return Py_BuildValue("(LL)", (long long)rect->lane, (long long)rect->byte);
}

PY_GETTER(tensor_bytes, PyLong_FromLongLong(((py_tensor *)self)->rect.bytes))

PY_GETTER(tensor_lanes, PyLong_FromLongLong(((py_tensor *)self)->rect.lanes))

static PyObject *tensor_repr(PyObject *object) {
    const py_tensor *self = (py_tensor *)object;
    PyObject *address = tensor_address(object, NULL);
    const char *dtype;
    PyObject *keep;
    if (address == NULL || !py_name(&dtype, &keep, self->dtype)) {
        Py_XDECREF(address);
        return NULL;
    }
    PyObject *text = PyUnicode_FromFormat("Tensor(name=%R, shape=%R, dtype=%s, address=%R)",
                                          self->name, self->shape, dtype, address);
    Py_DECREF(address);
    Py_XDECREF(keep);
    return text;
}

static PyGetSetDef tensor_fields[] = {
    {.name = "shape", .get = tensor_shape, .doc = "Its extents."},
    {.name = "dtype", .get = tensor_dtype, .doc = "Its element type, as it was given."},
    {.name = "name", .get = tensor_name, .doc = "Its name with the prefix; None: unnamed."},
    {.name = "buffer", .get = tensor_buffer, .doc = "Where it was asked for."},
    {.name = "address",
     .get = tensor_address,
     .doc = "(first lane, byte); None: left to the planner."},
    {.name = "bytes", .get = tensor_bytes, .doc = "Bytes per lane."},
    {.name = "lanes", .get = tensor_lanes, .doc = "Lanes (partitions)."},
    {.name = NULL}};

PY_TYPE_OF(tensor, "Tensor", Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
           "A tensor with a place.", {Py_tp_repr, PY_SLOT(tensor_repr)},
           {Py_tp_getset, tensor_fields});

/* ---- the manager ------------------------------------------------------------------- */

static const char *const behaviours[] = {"exact", "library_2026_04", "library_later"};

static bool read_behaviour(spad_stack_behaviour *out, const char *name) {
    for (int i = 0; i < 3; i++) {
        if (strcmp(name, behaviours[i]) != 0) continue;
        *out = (spad_stack_behaviour)i;
        return true;
    }
    PyErr_Format(py.errors[PY_ARGUMENT_ERROR],
                 "'%s' is not a behaviour; there are exact, library_2026_04 and library_later",
                 name);
    return false;
}

static PyObject *stack_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {
        "target",       "space",        "lower",      "upper",  "behaviour", "trace", "automatic",
        "default_heap", "use_reserved", "manual_log", "strict", "tensors",   NULL};
    PyObject *target, *upper = Py_None, *trace = Py_None, *tensors = Py_None;
    const char *space = "sbuf", *behaviour = "exact";
    long long lower = 0;
    int automatic = 0, heap = 0, reserved = 0, manual = 0, strict = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|sLOsOpppppO:Stack", names, &target, &space,
                                     &lower, &upper, &behaviour, &trace, &automatic, &heap,
                                     &reserved, &manual, &strict, &tensors))
        return NULL;
    if (tensors == Py_None) tensors = (PyObject *)py.tensor;
    if (!PyType_Check(tensors) || !PyType_IsSubtype((PyTypeObject *)tensors, py.tensor)) {
        PyErr_SetString(PyExc_TypeError, "tensors is None or a subclass of Tensor");
        return NULL;
    }
    int64_t top;
    spad_stack_options options = {.automatic = automatic != 0,
                                  .default_heap = heap != 0,
                                  .use_reserved = reserved != 0,
                                  .strict = strict != 0,
                                  .manual_log = manual != 0};
    if (!py_int_or(&top, upper, SPAD_STACK_TO_THE_TOP) ||
        !read_behaviour(&options.behaviour, behaviour))
        return NULL;
    py_stack *self = py_new(type);
    if (self == NULL) return NULL;
    self->behaviour = options.behaviour;
    self->strict = options.strict || options.behaviour == SPAD_STACK_EXACT;
    self->tensors = py_keep(tensors);
    self->target = (PyObject *)py_target_of(target);
    if (self->target != NULL && trace != Py_None) {
        self->trace = trace == Py_True
                          ? PyObject_CallFunctionObjArgs((PyObject *)py.trace, self->target, NULL)
                          : py_keep(trace);
        if (self->trace != NULL && !PyObject_TypeCheck(self->trace, py.trace)) {
            if (trace == Py_False)
                Py_CLEAR(self->trace);
            else
                PyErr_SetString(PyExc_TypeError, "trace is a Trace, True or None");
        }
        if (self->trace != NULL && !PyErr_Occurred())
            options.trace = ((py_trace *)self->trace)->trace;
    }
    spad_error error;
    if (!PyErr_Occurred() && spad_stack_create(&self->stack, ((py_target *)self->target)->target,
                                               space, lower, top, &options, &error) != SPAD_OK)
        py_raise(&error);
    if (self->stack == NULL)
        Py_CLEAR(self);
    else /* it is there: the manager is in it */
        (void)spad_target_find_space(&self->space, ((py_target *)self->target)->target, space,
                                     NULL);
    return (PyObject *)self;
}

PY_TRAVERSE(stack_traverse, py_stack, self->target, self->trace, self->tensors)

static void stack_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    py_stack *self = (py_stack *)object;
    spad_stack_destroy(self->stack);
    Py_XDECREF(self->trace);
    Py_XDECREF(self->tensors);
    Py_XDECREF(self->target);
    py_free(object);
}

static spad_stack *stack_in(PyObject *self) {
    return ((py_stack *)self)->stack;
}

/* Raises an exception that is given away, or what a subclass makes of it. dtype: that of an
 * allocation, or NULL. */
static PyObject *raise_as(PyObject *self, const char *method, PyObject *exception,
                          PyObject *dtype) {
    if (exception == NULL) return NULL;
    const int ours = PyObject_IsInstance(exception, py.errors[PY_ERROR]);
    if (ours == 1 && PyObject_HasAttrString(self, "_translate")) {
        PyObject *other = PyObject_CallMethod(self, "_translate", "sOO", method, exception,
                                              dtype == NULL ? Py_None : dtype);
        Py_DECREF(exception);
        if (other == NULL) return NULL;
        exception = other;
    }
    PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_DECREF(exception);
    return NULL;
}

static PyObject *refuse(PyObject *self, const char *method, const spad_error *error) {
    return raise_as(self, method, py_error_new(error), NULL);
}

/* The same for an unknown element type: its exception is set. */
static PyObject *refuse_dtype(PyObject *self, const char *method, PyObject *dtype) {
    PyObject *type, *exception, *traceback;
    PyErr_Fetch(&type, &exception, &traceback);
    PyErr_NormalizeException(&type, &exception, &traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return raise_as(self, method, exception, dtype);
}

static PyObject *finish(PyObject *self, const char *method, spad_status status,
                        const spad_error *error) {
    if (status != SPAD_OK) return refuse(self, method, error);
    Py_RETURN_NONE;
}

typedef spad_status (*allocate_call)(spad_rect *out, spad_stack *stack, spad_shape shape,
                                     spad_dtype dtype, const char *name,
                                     const spad_stack_place *place, spad_error *error);

/* The name with its prefix. An unnamed tensor stays so; "" is the prefix alone. */
static PyObject *full_name(PyObject *self, PyObject *name) {
    const char *prefix = spad_stack_get_prefix(stack_in(self));
    if (name == NULL || name == Py_None || prefix[0] == '\0')
        return py_keep(name == NULL ? Py_None : name);
    return PyUnicode_FromFormat("%s%U", prefix, name);
}

/* None is the default in Python, so a zero is a mistake. */
static PyObject *refuse_zero_align(PyObject *self, const char *method, PyObject *dtype) {
    const spad_error error = {.code = SPAD_ERR_ALIGNMENT,
                              .needed = SPAD_NO_FACT,
                              .available = SPAD_NO_FACT,
                              .largest_hole = SPAD_NO_FACT,
                              .time = SPAD_NO_FACT,
                              .message = "an alignment of 0 B; it must be at least 1 (None for "
                                         "that of the element type)"};
    return raise_as(self, method, py_error_new(&error), dtype);
}

static PyObject *allocate(PyObject *self, const char *method, allocate_call call,
                          PyObject *const *args, Py_ssize_t count, PyObject *keywords) {
    static const char *const names[] = {"shape",          "dtype", "buffer", "name",
                                        "base_partition", "align", NULL};
    enum { SHAPE, DTYPE, BUFFER, NAME, BASE, ALIGN, FIELDS };
    PyObject *given[FIELDS];
    if (!py_take(given, method, names, 2, args, count, keywords)) return NULL;
    int64_t dims[SPAD_RANK_MAX];
    spad_shape shape;
    spad_dtype dtype;
    spad_stack_place place = {0};
    const char *name = NULL;
    PyObject *keep_space = NULL;
    if (!py_shape(&shape, dims, given[SHAPE])) return NULL;
    if (!py_dtype(&dtype, given[DTYPE])) return refuse_dtype(self, method, given[DTYPE]);
    if (!py_int_or(&place.base_lane, given[BASE], 0) ||
        !py_int_or(&place.align, given[ALIGN], SPAD_ALIGN_DEFAULT))
        return NULL;
    if (place.align == 0 && given[ALIGN] != NULL && given[ALIGN] != Py_None)
        return refuse_zero_align(self, method, given[DTYPE]);
    if (given[NAME] != NULL && given[NAME] != Py_None) {
        name = py_chars(given[NAME]);
        if (name == NULL) return NULL;
    }
    if (!py_name(&place.space, &keep_space, given[BUFFER])) return NULL;
    place.list_shape = PyList_Check(given[SHAPE]);
    spad_rect rect;
    spad_error error;
    const spad_status status = call(&rect, stack_in(self), shape, dtype, name, &place, &error);
    Py_XDECREF(keep_space);
    if (status == SPAD_ERR_NO_FIT) ((py_stack *)self)->refused = error;
    if (status != SPAD_OK) return raise_as(self, method, py_error_new(&error), given[DTYPE]);
    ((py_stack *)self)->refused.code = SPAD_OK;
    PyObject *full = full_name(self, given[NAME]);
    if (full == NULL) return NULL;
    PyObject *tensor = tensor_make(((py_stack *)self)->tensors, given[SHAPE], shape, given[DTYPE],
                                   full, given[BUFFER], &rect);
    Py_DECREF(full);
    return tensor;
}

static PyObject *stack_alloc_stack(PyObject *self, PyObject *const *args, Py_ssize_t count,
                                   PyObject *keywords) {
    return allocate(self, "alloc_stack", spad_stack_alloc_stack, args, count, keywords);
}

static PyObject *stack_alloc_heap(PyObject *self, PyObject *const *args, Py_ssize_t count,
                                  PyObject *keywords) {
    return allocate(self, "alloc_heap", spad_stack_alloc_heap, args, count, keywords);
}

static PyObject *stack_alloc(PyObject *self, PyObject *const *args, Py_ssize_t count,
                             PyObject *keywords) {
    return allocate(self, "alloc", spad_stack_alloc, args, count, keywords);
}

static PyObject *stack_open_scope(PyObject *self, PyObject *const *args, Py_ssize_t count,
                                  PyObject *keywords) {
    static const char *const names[] = {"interleave_degree", "name", NULL};
    PyObject *given[2];
    int64_t degree = 1;
    const char *name = "";
    if (!py_take(given, "open_scope", names, 0, args, count, keywords)) return NULL;
    if (given[0] != NULL && PyUnicode_Check(given[0]) && !((py_stack *)self)->strict)
        degree = 0; /* the library takes a name for a degree that is never reached */
    else if (!py_int_or(&degree, given[0], 1))
        return NULL;
    if (given[1] != NULL && given[1] != Py_None) name = py_chars(given[1]);
    if (name == NULL) return NULL;
    spad_error error;
    return finish(self, "open_scope", spad_stack_open_scope(stack_in(self), degree, name, &error),
                  &error);
}

static PyObject *stack_close_scope(PyObject *self, PyObject *unused) {
    (void)unused;
    spad_error error;
    const spad_status status = spad_stack_close_scope(stack_in(self), &error);
    if (status == SPAD_OK && ((py_stack *)self)->notifies &&
        spad_stack_scope_count(stack_in(self)) == 0)
        return PyObject_CallMethod(self, "_outermost_closed", NULL);
    return finish(self, "close_scope", status, &error);
}

static PyObject *stack_increment_section(PyObject *self, PyObject *unused) {
    (void)unused;
    spad_error error;
    return finish(self, "increment_section", spad_stack_increment_section(stack_in(self), &error),
                  &error);
}

static PyObject *stack_pop_heap(PyObject *self, PyObject *unused) {
    (void)unused;
    spad_error error;
    return finish(self, "pop_heap", spad_stack_pop_heap(stack_in(self), &error), &error);
}

PY_METHOD(stack_total, PyLong_FromLongLong(spad_stack_get_total_space(stack_in(self))))
PY_METHOD(stack_free_space, PyLong_FromLongLong(spad_stack_get_free_space(stack_in(self))))
PY_METHOD(stack_used, PyLong_FromLongLong(spad_stack_get_used_space(stack_in(self))))

static PyObject *stack_address(PyObject *self, PyObject *unused) {
    (void)unused;
    int64_t address;
    spad_error error;
    if (spad_stack_get_address(&address, stack_in(self), &error) != SPAD_OK)
        return refuse(self, "get_stack_curr_addr", &error);
    return PyLong_FromLongLong(address);
}

static PyObject *stack_heap_address(PyObject *self, PyObject *unused) {
    (void)unused;
    int64_t address;
    spad_error error;
    if (spad_stack_get_heap_address(&address, stack_in(self), &error) != SPAD_OK)
        return refuse(self, "get_heap_curr_addr", &error);
    return PyLong_FromLongLong(address);
}

static PyObject *stack_align(PyObject *self, PyObject *const *args, Py_ssize_t count,
                             PyObject *keywords) {
    static const char *const names[] = {"align", NULL};
    PyObject *given[1];
    int64_t align;
    spad_error error;
    if (!py_take(given, "align_stack_curr_addr", names, 0, args, count, keywords) ||
        !py_int_or(&align, given[0], 32))
        return NULL;
    return finish(self, "align_stack_curr_addr", spad_stack_align(stack_in(self), align, &error),
                  &error);
}

static PyObject *stack_set_prefix(PyObject *self, PyObject *prefix) {
    const char *text = py_chars(prefix);
    spad_error error;
    if (text == NULL) return NULL;
    return finish(self, "set_name_prefix", spad_stack_set_prefix(stack_in(self), text, &error),
                  &error);
}

PY_METHOD(stack_prefix, py_string(spad_stack_get_prefix(stack_in(self))))

static PyObject *stack_set_auto(PyObject *self, PyObject *flag) {
    const int automatic = PyObject_IsTrue(flag);
    if (automatic < 0) return NULL;
    spad_stack_set_automatic(stack_in(self), automatic != 0);
    Py_RETURN_NONE;
}

PY_METHOD(stack_is_auto, PyBool_FromLong(spad_stack_is_automatic(stack_in(self))))

/* Flushing changes the manager; py_text passes it as const. */
static spad_status flush_log(const void *object, const spad_sink *sink, spad_error *error) {
    return spad_stack_flush_log(*(spad_stack *const *)object, sink, error);
}

PY_METHOD(stack_log, py_text(flush_log, &((py_stack *)self)->stack))

static spad_status spad_stack_write_stats_any(const void *object, const spad_sink *sink,
                                              spad_error *error) {
    return spad_stack_write_stats(object, sink, error);
}

static PyObject *stack_stats_line(PyObject *self, PyObject *unused) {
    (void)unused;
    if (spad_stack_get_total_space(stack_in(self)) == 0) {
        PyErr_SetString(PyExc_ZeroDivisionError, "the region has no bytes");
        return NULL;
    }
    return py_text(spad_stack_write_stats_any, stack_in(self));
}

static PyObject *stack_stats(PyObject *self, PyObject *unused) {
    (void)unused;
    const spad_stack_stats s = spad_stack_get_stats(stack_in(self));
    return Py_BuildValue(
        "{s:L,s:L,s:L,s:L,s:L}", "peak_stack", (long long)s.peak_stack, "peak_heap",
        (long long)s.peak_heap, "peak_combined", (long long)s.peak_combined, "stack_allocations",
        (long long)s.stack_allocations, "heap_allocations", (long long)s.heap_allocations);
}

static PyObject *stack_live(PyObject *self, PyObject *unused) {
    (void)unused;
    const size_t count = spad_stack_list_live(NULL, 0, stack_in(self));
    spad_stack_tensor *rows = PyMem_Calloc(count + 1, sizeof *rows);
    if (rows == NULL) return PyErr_NoMemory();
    spad_stack_list_live(rows, count, stack_in(self));
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < count; i++) {
        const spad_rect *rect = &rows[i].rect;
        if (!py_append(list,
                       Py_BuildValue("{s:L,s:N,s:L,s:L,s:N,s:L,s:s}", "number",
                                     (long long)rows[i].number, "name", py_string(rows[i].name),
                                     "lane", (long long)rect->lane, "lanes", (long long)rect->lanes,
                                     "byte", py_fact(rect->byte, SPAD_NO_BYTE), "bytes",
                                     (long long)rect->bytes, "mode", spad_mode_name(rows[i].mode))))
            Py_CLEAR(list);
    }
    PyMem_Free(rows);
    return list;
}

static PyObject *stack_overlaps(PyObject *self, PyObject *unused) {
    (void)unused;
    PyObject *list = PyList_New(0);
    const spad_stack_overlap *o;
    for (size_t i = 0; list != NULL && (o = spad_stack_get_overlap(stack_in(self), i)) != NULL;
         i++) {
        if (!py_append(list,
                       Py_BuildValue("{s:N,s:N,s:(LL),s:(LL)}", "newer", py_string(o->newer_name),
                                     "older", py_string(o->older_name), "newer_bytes",
                                     (long long)o->newer_rect.byte,
                                     (long long)(o->newer_rect.byte + o->newer_rect.bytes),
                                     "older_bytes", (long long)o->older_rect.byte,
                                     (long long)(o->older_rect.byte + o->older_rect.bytes))))
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *stack_scopes(PyObject *self, PyObject *unused) {
    (void)unused;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < spad_stack_scope_count(stack_in(self)); i++) {
        spad_stack_scope s;
        spad_error error;
        if (spad_stack_get_scope(&s, stack_in(self), i, &error) != SPAD_OK) {
            Py_DECREF(list);
            return py_raise(&error);
        }
        if (!py_append(list, Py_BuildValue("{s:N,s:L,s:L,s:L,s:L}", "name", py_string(s.name),
                                           "start", (long long)s.start, "interleave",
                                           (long long)s.interleave, "section", (long long)s.section,
                                           "high_water", (long long)s.high_water)))
            Py_CLEAR(list);
    }
    return list;
}

PY_GETTER(stack_overlap_count, PyLong_FromLongLong(spad_stack_overlap_count(stack_in(self))))

static PyObject *stack_check(PyObject *self, PyObject *unused) {
    (void)unused;
    spad_error error;
    return finish(self, "check", spad_stack_check(stack_in(self), &error), &error);
}

/* A checkpoint is plain data: bytes for Python. */
static PyObject *stack_mark(PyObject *self, PyObject *unused) {
    (void)unused;
    const spad_stack_checkpoint checkpoint = spad_stack_mark(stack_in(self));
    return PyBytes_FromStringAndSize((const char *)&checkpoint, sizeof checkpoint);
}

static PyObject *stack_rollback(PyObject *self, PyObject *mark) {
    spad_stack_checkpoint checkpoint;
    char *bytes;
    Py_ssize_t count;
    spad_error error;
    if (PyBytes_AsStringAndSize(mark, &bytes, &count) != 0) return NULL;
    if (count != sizeof checkpoint) {
        PyErr_SetString(PyExc_ValueError, "this is not what mark() returned");
        return NULL;
    }
    memcpy(&checkpoint, bytes, sizeof checkpoint);
    const spad_status status = spad_stack_rollback(stack_in(self), &checkpoint, &error);
    if (status == SPAD_OK) ((py_stack *)self)->refused.code = SPAD_OK;
    return finish(self, "rollback", status, &error);
}

static PyObject *stack_refused(PyObject *self, void *unused) {
    (void)unused;
    const py_stack *stack = (py_stack *)self;
    const spad_error *refused = &stack->refused;
    if (refused->code == SPAD_OK) Py_RETURN_NONE;
    return Py_BuildValue("(ssLs)", ((py_target *)stack->target)->target->spaces[stack->space].name,
                         refused->subject, (long long)refused->needed, refused->message);
}

PY_GETTER(stack_depth, PyLong_FromSize_t(spad_stack_scope_count(stack_in(self))))
static PyObject *stack_trace(PyObject *self, void *unused) {
    (void)unused;
    PyObject *trace = ((py_stack *)self)->trace;
    return py_keep(trace == NULL ? Py_None : trace);
}
PY_GETTER(stack_target, py_keep(((py_stack *)self)->target))
PY_GETTER(stack_notifies, PyBool_FromLong(((py_stack *)self)->notifies))
static int stack_set_notifies(PyObject *self, PyObject *flag, void *unused) {
    (void)unused;
    const int on = flag == NULL ? 0 : PyObject_IsTrue(flag);
    if (on >= 0) ((py_stack *)self)->notifies = on != 0;
    return on < 0 ? -1 : 0;
}
PY_GETTER(stack_strict, PyBool_FromLong(((py_stack *)self)->strict))
PY_GETTER(stack_behaviour, py_string(behaviours[((py_stack *)self)->behaviour]))

#define ALLOC_ARGUMENTS \
    "($self, shape, dtype, buffer=None, name=None, base_partition=0, align=None)\n--\n\n"

static PyMethodDef stack_methods[] = {
    {"open_scope", PY_FUNC(stack_open_scope), PY_FAST,
     "open_scope($self, interleave_degree=1, name='')\n--\n\nOpens a scope of that many sections."},
    {"close_scope", stack_close_scope, METH_NOARGS,
     "close_scope($self, /)\n--\n\nCloses the innermost scope."},
    {"increment_section", stack_increment_section, METH_NOARGS,
     "increment_section($self, /)\n--\n\nOn to the next section."},
    {"alloc_stack", PY_FUNC(stack_alloc_stack), PY_FAST,
     "alloc_stack" ALLOC_ARGUMENTS "A tensor of the innermost scope."},
    {"alloc_heap", PY_FUNC(stack_alloc_heap), PY_FAST,
     "alloc_heap" ALLOC_ARGUMENTS "A tensor on the heap; needs no scope."},
    {"alloc", PY_FUNC(stack_alloc), PY_FAST,
     "alloc" ALLOC_ARGUMENTS "A tensor on the stack or the heap, as default_heap says."},
    {"pop_heap", stack_pop_heap, METH_NOARGS,
     "pop_heap($self, /)\n--\n\nFrees the newest heap tensor."},
    {"get_total_space", stack_total, METH_NOARGS,
     "get_total_space($self, /)\n--\n\nBytes per lane of the region."},
    {"get_free_space", stack_free_space, METH_NOARGS,
     "get_free_space($self, /)\n--\n\nBytes between stack and heap."},
    {"get_used_space", stack_used, METH_NOARGS, "get_used_space($self, /)\n--\n\nThe rest."},
    {"get_stack_curr_addr", stack_address, METH_NOARGS,
     "get_stack_curr_addr($self, /)\n--\n\nWhere the next stack tensor would go."},
    {"get_heap_curr_addr", stack_heap_address, METH_NOARGS,
     "get_heap_curr_addr($self, /)\n--\n\nWhere the heap ends."},
    {"align_stack_curr_addr", PY_FUNC(stack_align), PY_FAST,
     "align_stack_curr_addr($self, align=32)\n--\n\nMoves the stack address up to a multiple."},
    {"set_name_prefix", stack_set_prefix, METH_O,
     "set_name_prefix($self, prefix, /)\n--\n\nPut in front of every later name."},
    {"get_name_prefix", stack_prefix, METH_NOARGS,
     "get_name_prefix($self, /)\n--\n\nThe prefix of names."},
    {"set_auto_alloc", stack_set_auto, METH_O,
     "set_auto_alloc($self, automatic, /)\n--\n\nLeaves addresses to the planner, or not."},
    {"is_auto_alloc", stack_is_auto, METH_NOARGS,
     "is_auto_alloc($self, /)\n--\n\nAre addresses left to the planner?"},
    {"log", stack_log, METH_NOARGS,
     "log($self, /)\n--\n\nWhat is new in the log, as a tree; needs a trace."},
    {"stats_line", stack_stats_line, METH_NOARGS,
     "stats_line($self, /)\n--\n\nThe library's line of statistics."},
    {"stats", stack_stats, METH_NOARGS, "stats($self, /)\n--\n\nPeaks and counts."},
    {"live", stack_live, METH_NOARGS,
     "live($self, /)\n--\n\nThe tensors that are alive, largest first."},
    {"overlaps", stack_overlaps, METH_NOARGS,
     "overlaps($self, /)\n--\n\nSections that have grown into each other."},
    {"scopes", stack_scopes, METH_NOARGS,
     "scopes($self, /)\n--\n\nThe open scopes, the outermost first."},
    {"check", stack_check, METH_NOARGS,
     "check($self, /)\n--\n\nChecks the invariants of the manager."},
    {"mark", stack_mark, METH_NOARGS, "mark($self, /)\n--\n\nA state to come back to."},
    {"rollback", stack_rollback, METH_O,
     "rollback($self, mark, /)\n--\n\nUndoes everything since the mark."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef stack_fields[] = {
    {.name = "depth", .get = stack_depth, .doc = "Number of open scopes."},
    {.name = "overlap_count",
     .get = stack_overlap_count,
     .doc = "How many overlaps there were; overlaps() keeps 4096."},
    {.name = "trace", .get = stack_trace, .doc = "The trace, or None."},
    {.name = "target", .get = stack_target, .doc = "The chip."},
    {.name = "_refused",
     .get = stack_refused,
     .doc = "(space, name, bytes, message) of the last allocation if it did not fit, or None."},
    {.name = "_notifies",
     .get = stack_notifies,
     .set = stack_set_notifies,
     .doc = "Is _outermost_closed() called?"},
    {.name = "behaviour",
     .get = stack_behaviour,
     .doc = "exact, library_2026_04 or library_later."},
    {.name = "strict",
     .get = stack_strict,
     .doc = "Is what breaks the library's documented contract an error?"},
    {.name = NULL}};

PY_TYPE_OPEN(stack, "Stack",
             "Stack(target, space='sbuf', lower=0, upper=None, behaviour='exact', trace=None, "
             "automatic=False, default_heap=False, use_reserved=False, manual_log=False, "
             "strict=False, tensors=None)\n--\n\nA manager of one region of a memory, with "
             "scopes (docs/stack.md).",
             {Py_tp_new, PY_SLOT(stack_new)}, {Py_tp_methods, stack_methods},
             {Py_tp_getset, stack_fields});

int py_add_stack(PyObject *module) {
    if (py_add_type(module, &py.tensor, &tensor_spec) != 0) return -1;
    return py_add_type(module, &py.stack, &stack_spec);
}
