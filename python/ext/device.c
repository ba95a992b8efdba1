/* SPDX-License-Identifier: Apache-2.0
 *
 * Device and Buffer: real memory, and how others see it.
 *
 * A Buffer is freed when its object goes, or by hand before that; a view of its bytes
 * (buffer protocol, DLPack) keeps it, and freeing by hand is refused as long as there
 * is one. An alias keeps the buffer it is of. A device is closed when the last object
 * that uses it is gone.
 */
#include "device.h"

/* ---- devices ----------------------------------------------------------------------- */

static PyObject *device_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"name", "target", "max_bytes", "block_bytes", NULL};
    const char *name = "host";
    PyObject *target = Py_None;
    long long max_bytes = 0, block_bytes = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|sOLL:Device", names, &name, &target,
                                     &max_bytes, &block_bytes))
        return NULL;
    py_device *self = py_new(type);
    if (self == NULL) return NULL;
    const spad_pool_options pool = {.max_bytes = max_bytes, .block_bytes = block_bytes};
    spad_device_options options = {.pool = &pool};
    spad_error error;
    if (target != Py_None) {
        self->target = (PyObject *)py_target_of(target);
        if (self->target == NULL) goto failed;
        options.target = ((py_target *)self->target)->target;
    }
    if (spad_device_open(&self->device, name, &options, &error) == SPAD_OK) return (PyObject *)self;
    py_raise(&error);
failed:
    Py_DECREF((PyObject *)self);
    return NULL;
}

PY_TRAVERSE(device_traverse, py_device, self->target, self->trace)

static void device_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    py_device *self = (py_device *)object;
    spad_device_close(self->device, NULL);
    Py_XDECREF(self->trace);
    Py_XDECREF(self->target);
    py_free(object);
}

spad_device *py_device_in(PyObject *self) {
    return ((py_device *)self)->device;
}

static PyObject *device_target(PyObject *self, void *unused) {
    (void)unused;
    PyObject *target = ((py_device *)self)->target;
    if (target != NULL) return py_keep(target);
    return py_target_wrap(spad_device_get_target(py_device_in(self)));
}

static PyObject *device_field(PyObject *self, void *which) {
    const spad_device_info *info = spad_device_get_info(py_device_in(self));
    switch (*(const char *)which) {
    case 'n': return py_string(info->name);
    case 'a': return py_string(info->about);
    case 'd': return py_string(info->driver);
    case 'h': return PyBool_FromLong(info->host_reads);
    default: return py_fact(info->total_bytes, 0);
    }
}

bool py_scope(spad_memory_scope *out, PyObject *object) {
    *out = SPAD_GLOBAL;
    if (object == NULL || object == Py_None) return true;
    const char *name = py_chars(object);
    spad_error error;
    if (name == NULL) return false;
    return spad_memory_scope_parse(out, name, &error) == SPAD_OK || py_raise(&error) != NULL;
}

static PyObject *device_stats(PyObject *self, PyObject *const *args, Py_ssize_t count,
                              PyObject *keywords) {
    static const char *const names[] = {"scope", NULL};
    PyObject *given[1];
    spad_memory_scope scope = SPAD_SCOPE_COUNT;
    if (!py_take(given, "stats", names, 0, args, count, keywords)) return NULL;
    if (given[0] != NULL && given[0] != Py_None && !py_scope(&scope, given[0])) return NULL;
    const spad_memory_stats s = spad_device_get_stats(py_device_in(self), scope);
    return py_memory_stats(&s);
}

PY_METHOD(device_host_memory, py_device_host_memory(self))
PY_METHOD(device_memory, py_device_memory(self))

static PyObject *device_pool(PyObject *self, PyObject *const *args, Py_ssize_t count,
                             PyObject *keywords) {
    static const char *const names[] = {"scope", NULL};
    PyObject *given[1];
    spad_memory_scope scope;
    if (!py_take(given, "pool", names, 0, args, count, keywords) || !py_scope(&scope, given[0]))
        return NULL;
    return py_device_pool(self, scope);
}

PyObject *py_buffer_wrap(spad_buffer buffer, PyObject *device, PyObject *of) {
    py_buffer *self = py_new(py.buffer);
    if (self == NULL) {
        spad_buffer_free(buffer, NULL);
        return NULL;
    }
    self->buffer = buffer;
    self->device = py_keep(device);
    self->of = of == NULL ? NULL : py_keep(of);
    return (PyObject *)self;
}

/* An extent: a number, or None or "auto" for one that is not known yet. */
static bool read_extent(int64_t *out, PyObject *object) {
    *out = SPAD_AUTO;
    if (object == Py_None) return true;
    if (!PyUnicode_Check(object)) return py_int(out, object);
    if (PyUnicode_CompareWithASCIIString(object, "auto") == 0) return true;
    PyErr_Format(PyExc_TypeError, "an extent is a number or 'auto', not %.60R", object);
    return false;
}

/* A shape, or "auto". */
static bool read_auto_shape(spad_shape *out, int64_t dims[SPAD_RANK_MAX], PyObject *object) {
    const Py_ssize_t rank = PyTuple_Check(object) ? PyTuple_Size(object) : 1;
    *out = (spad_shape){(size_t)rank, dims};
    if (PyUnicode_Check(object)) return read_extent(&dims[0], object);
    if (!PyTuple_Check(object) || rank > SPAD_RANK_MAX) return py_shape(out, dims, object);
    for (Py_ssize_t i = 0; i < rank; i++)
        if (!read_extent(&dims[i], PyTuple_GetItem(object, i))) return false;
    return true;
}

static PyObject *device_alloc(PyObject *self, PyObject *const *args, Py_ssize_t count,
                              PyObject *keywords) {
    static const char *const names[] = {"shape", "dtype", "scope", "alignment", "name", NULL};
    PyObject *given[5];
    int64_t dims[SPAD_RANK_MAX];
    spad_buffer_spec spec = {0};
    spad_buffer buffer;
    spad_error error;
    if (!py_take(given, "alloc", names, 2, args, count, keywords) ||
        !read_auto_shape(&spec.shape, dims, given[0]) || !py_dtype(&spec.dtype, given[1]) ||
        !py_scope(&spec.scope, given[2]) || !py_int_or(&spec.alignment, given[3], 0))
        return NULL;
    if (given[4] != NULL && given[4] != Py_None) {
        spec.name = py_chars(given[4]);
        if (spec.name == NULL) return NULL;
    }
    if (spad_buffer_alloc(&buffer, py_device_in(self), &spec, &error) != SPAD_OK)
        return py_raise(&error);
    return py_buffer_wrap(buffer, self, NULL);
}

static PyObject *device_record(PyObject *object, PyObject *trace) {
    py_device *self = (py_device *)object;
    if (trace != Py_None && !PyObject_TypeCheck(trace, py.trace)) {
        PyErr_SetString(PyExc_TypeError, "a Trace or None is needed");
        return NULL;
    }
    spad_trace *before;
    spad_error error;
    spad_trace *next = trace == Py_None ? NULL : ((py_trace *)trace)->trace;
    if (spad_device_set_trace(&before, self->device, next, &error) != SPAD_OK)
        return py_raise(&error);
    PyObject *old = self->trace == NULL ? py_keep(Py_None) : self->trace;
    self->trace = trace == Py_None ? NULL : py_keep(trace);
    return old;
}

static PyMethodDef device_methods[] = {
    {"alloc", PY_FUNC(device_alloc), PY_FAST,
     "alloc($self, shape, dtype, scope='global', alignment=0, name=None)\n--\n\nA Buffer with a "
     "shape and a type, in a scope of the device."},
    {"stats", PY_FUNC(device_stats), PY_FAST, "stats($self, scope=None)\n--\n\nWhat buffers took."},
    {"host_memory", device_host_memory, METH_NOARGS,
     "host_memory($self, /)\n--\n\nHost memory that the driver makes for copies, such as "
     "page-locked memory."},
    {"memory", device_memory, METH_NOARGS,
     "memory($self, /)\n--\n\nThe device's own Memory, without a pool: every call is one of the "
     "driver's."},
    {"pool", PY_FUNC(device_pool), PY_FAST,
     "pool($self, scope='global')\n--\n\nThe pool that buffers of a scope come from."},
    {"record", device_record, METH_O,
     "record($self, trace, /)\n--\n\nRecords every allocation and free in a Trace, or in none; "
     "returns the one before."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef device_fields[] = {
    {.name = "name", .get = device_field, .doc = "host, cuda:0 ...", .closure = "n"},
    {.name = "target",
     .get = device_target,
     .doc = "The chip whose scratchpads shared and local memory are."},
    {.name = "about", .get = device_field, .doc = "The vendor's name for it.", .closure = "a"},
    {.name = "driver", .get = device_field, .doc = "What drives it.", .closure = "d"},
    {.name = "total_bytes",
     .get = device_field,
     .doc = "Its memory; None: not known.",
     .closure = "t"},
    {.name = "host_reads",
     .get = device_field,
     .doc = "Can the processor read its memory?",
     .closure = "h"},
    {.name = NULL}};

PY_TYPE_OPEN(device, "Device",
             "Device(name='host', target=None, max_bytes=0, block_bytes=0)\n--\n\nA device: host, "
             "cuda:N, opencl:N, ascend:N (or npu:N) or neuron:N.",
             {Py_tp_new, PY_SLOT(device_new)}, {Py_tp_methods, device_methods},
             {Py_tp_getset, device_fields});

/* ---- buffers ----------------------------------------------------------------------- */

PY_TRAVERSE(buffer_traverse, py_buffer, self->device, self->of, self->workspace)

static void buffer_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    py_buffer *self = (py_buffer *)object;
    if (!self->freed && self->device != NULL) spad_buffer_free(self->buffer, NULL);
    Py_XDECREF(self->of);
    Py_XDECREF(self->workspace);
    Py_XDECREF(self->device);
    py_free(object);
}

bool py_buffer_info(spad_buffer_info *out, PyObject *self) {
    spad_error error;
    return spad_buffer_get_info(out, ((py_buffer *)self)->buffer, &error) == SPAD_OK ||
           py_raise(&error) != NULL;
}

PyObject *py_in_use(void) {
    PyErr_SetString(PyExc_BufferError, "the bytes of the buffer are in use by a view");
    return NULL;
}

static PyObject *buffer_free(PyObject *object, PyObject *unused) {
    (void)unused;
    py_buffer *self = (py_buffer *)object;
    spad_error error;
    if (self->views > 0) return py_in_use();
    if (spad_buffer_free(self->buffer, &error) != SPAD_OK) return py_raise(&error);
    self->freed = true;
    Py_RETURN_NONE;
}

static PyObject *buffer_alias(PyObject *self, PyObject *const *args, Py_ssize_t count,
                              PyObject *keywords) {
    static const char *const names[] = {"shape", "dtype", "offset", "name", NULL};
    PyObject *given[4];
    int64_t dims[SPAD_RANK_MAX], offset;
    spad_shape shape;
    spad_buffer_info info;
    spad_buffer alias;
    spad_error error;
    const char *name = NULL;
    if (!py_take(given, "alias", names, 1, args, count, keywords) ||
        !py_shape(&shape, dims, given[0]) || !py_int_or(&offset, given[2], 0) ||
        !py_buffer_info(&info, self))
        return NULL;
    spad_dtype dtype = info.dtype;
    if (given[1] != NULL && given[1] != Py_None && !py_dtype(&dtype, given[1])) return NULL;
    if (given[3] != NULL && given[3] != Py_None) {
        name = py_chars(given[3]);
        if (name == NULL) return NULL;
    }
    if (spad_buffer_alias(&alias, ((py_buffer *)self)->buffer, offset, shape, dtype, name,
                          &error) != SPAD_OK)
        return py_raise(&error);
    return py_buffer_wrap(alias, ((py_buffer *)self)->device, self);
}

static PyObject *buffer_bind(PyObject *self, PyObject *data) {
    Py_buffer view;
    spad_error error;
    if (PyObject_GetBuffer(data, &view, PyBUF_C_CONTIGUOUS) != 0) return NULL;
    const spad_status status =
        spad_buffer_bind(((py_buffer *)self)->buffer, view.buf, view.len, &error);
    PyBuffer_Release(&view);
    return py_done(status, &error);
}

static PyObject *buffer_write(PyObject *self, PyObject *const *args, Py_ssize_t count,
                              PyObject *keywords) {
    static const char *const names[] = {"data", "offset", NULL};
    PyObject *given[2];
    int64_t offset;
    Py_buffer view;
    spad_error error;
    if (!py_take(given, "write", names, 1, args, count, keywords) ||
        !py_int_or(&offset, given[1], 0) ||
        PyObject_GetBuffer(given[0], &view, PyBUF_C_CONTIGUOUS) != 0)
        return NULL;
    const spad_buffer to = ((py_buffer *)self)->buffer;
    py_count_view(self, 1);
    PyThreadState *const outside = PyEval_SaveThread();
    const spad_status status = spad_buffer_write(to, offset, view.buf, view.len, NULL, &error);
    PyEval_RestoreThread(outside);
    py_count_view(self, -1);
    PyBuffer_Release(&view);
    return py_done(status, &error);
}

static PyObject *buffer_read(PyObject *self, PyObject *const *args, Py_ssize_t count,
                             PyObject *keywords) {
    static const char *const names[] = {"offset", "bytes", NULL};
    PyObject *given[2];
    int64_t offset, bytes;
    spad_buffer_info info;
    spad_error error;
    if (!py_take(given, "read", names, 0, args, count, keywords) ||
        !py_int_or(&offset, given[0], 0) || !py_buffer_info(&info, self) ||
        !py_int_or(&bytes, given[1], offset >= 0 && offset <= info.bytes ? info.bytes - offset : 0))
        return NULL;
    if (bytes < 0 || bytes > info.bytes) bytes = info.bytes + 1; /* refused by spad_buffer_read */
    PyObject *out = PyBytes_FromStringAndSize(NULL, bytes);
    char *at;
    Py_ssize_t length;
    if (out == NULL || PyBytes_AsStringAndSize(out, &at, &length) != 0) return NULL;
    const spad_buffer from = ((py_buffer *)self)->buffer;
    py_count_view(self, 1);
    PyThreadState *const outside = PyEval_SaveThread();
    const spad_status status = spad_buffer_read(at, from, offset, bytes, NULL, &error);
    PyEval_RestoreThread(outside);
    py_count_view(self, -1);
    if (status == SPAD_OK) return out;
    Py_DECREF(out);
    return py_raise(&error);
}

static PyObject *buffer_fill(PyObject *self, PyObject *const *args, Py_ssize_t count,
                             PyObject *keywords) {
    static const char *const names[] = {"value", "offset", "bytes", NULL};
    PyObject *given[3];
    int64_t value, offset, bytes;
    spad_buffer_info info;
    spad_error error;
    if (!py_take(given, "fill", names, 0, args, count, keywords) ||
        !py_int_or(&value, given[0], 0) || !py_int_or(&offset, given[1], 0) ||
        !py_buffer_info(&info, self) ||
        !py_int_or(&bytes, given[2], offset >= 0 && offset <= info.bytes ? info.bytes - offset : 0))
        return NULL;
    if (value < 0 || value > UINT8_MAX) {
        PyErr_Format(PyExc_ValueError, "%lld is not the value of a byte", (long long)value);
        return NULL;
    }
    const spad_buffer to = ((py_buffer *)self)->buffer;
    py_count_view(self, 1);
    PyThreadState *const outside = PyEval_SaveThread();
    const spad_status status = spad_buffer_fill(to, offset, bytes, (uint8_t)value, NULL, &error);
    PyEval_RestoreThread(outside);
    py_count_view(self, -1);
    if (status != SPAD_OK) return py_raise(&error);
    Py_RETURN_NONE;
}

const char *py_format_of(spad_dtype dtype) {
    switch (dtype) {
    case SPAD_BOOL: return "?";
    case SPAD_INT8: return "b";
    case SPAD_INT16: return "h";
    case SPAD_INT32: return "i";
    case SPAD_INT64: return "q";
    case SPAD_UINT64: return "Q";
    case SPAD_FLOAT16: return "e";
    case SPAD_FLOAT32:
    case SPAD_TFLOAT32:
    case SPAD_FLOAT32R: return "f";
    case SPAD_FLOAT64: return "d";
    default: break;
    }
    return spad_dtype_bytes(dtype) == 4 ? "I" : spad_dtype_bytes(dtype) == 2 ? "H" : "B";
}

/* Shape and strides of a view; two elements of 4 bits are one byte, in one dimension. */
typedef struct view_dims {
    Py_ssize_t rank;
    Py_ssize_t shape[SPAD_RANK_MAX];
    Py_ssize_t strides[SPAD_RANK_MAX];
} view_dims;

static void lay_out(view_dims *d, const spad_buffer_info *info) {
    Py_ssize_t stride = (Py_ssize_t)spad_dtype_bytes(info->dtype);
    d->rank = (Py_ssize_t)info->rank;
    if (spad_dtype_bits(info->dtype) < 8) {
        *d = (view_dims){1, {(Py_ssize_t)info->bytes}, {1}};
        return;
    }
    for (Py_ssize_t i = d->rank; i-- > 0;) {
        d->shape[i] = (Py_ssize_t)info->dims[i];
        d->strides[i] = stride;
        stride *= d->shape[i];
    }
}

/* Views of an alias count for everything that it is an alias of. */
void py_count_view(PyObject *object, Py_ssize_t by) {
    for (py_buffer *at = (py_buffer *)object; at != NULL; at = (py_buffer *)at->of) {
        at->views += by;
        if (at->workspace != NULL) ((py_workspace *)at->workspace)->views += by;
    }
}

static int buffer_getbuffer(PyObject *self, Py_buffer *view, int flags) {
    spad_buffer_info info;
    void *bytes;
    spad_error error;
    view->obj = NULL;
    if (!py_buffer_info(&info, self)) return -1;
    if (spad_buffer_get_pointer(&bytes, ((py_buffer *)self)->buffer, &error) != SPAD_OK) {
        PyErr_Format(PyExc_BufferError, "%s", error.message);
        return -1;
    }
    view_dims *dims = PyMem_Malloc(sizeof *dims);
    if (dims == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    lay_out(dims, &info);
    const bool shaped = (flags & PyBUF_ND) != 0;
    *view =
        (Py_buffer){.buf = bytes,
                    .obj = py_keep(self),
                    .len = (Py_ssize_t)info.bytes,
                    .itemsize = (Py_ssize_t)spad_dtype_bytes(info.dtype),
                    .ndim = shaped ? (int)dims->rank : 1,
                    .format = (flags & PyBUF_FORMAT) != 0 ? (char *)py_format_of(info.dtype) : NULL,
                    .shape = shaped ? dims->shape : NULL,
                    .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? dims->strides : NULL,
                    .internal = dims};
    py_count_view(self, 1);
    return 0;
}

static void buffer_releasebuffer(PyObject *self, Py_buffer *view) {
    PyMem_Free(view->internal);
    py_count_view(self, -1);
}

static PyObject *buffer_shape(PyObject *self, void *unused) {
    (void)unused;
    spad_buffer_info info;
    if (!py_buffer_info(&info, self)) return NULL;
    for (size_t i = 0; i < info.rank; i++)
        if (info.dims[i] == SPAD_AUTO) Py_RETURN_NONE;
    return py_tuple_of(info.dims, info.rank);
}

static PyObject *buffer_field(PyObject *self, void *which) {
    spad_buffer_info info;
    if (!py_buffer_info(&info, self)) return NULL;
    switch (*(const char *)which) {
    case 'd': return py_string(spad_dtype_name(info.dtype));
    case 's': return py_string(spad_memory_scope_name(info.scope));
    case 'a': return py_fact(info.address, SPAD_NO_BYTE);
    case 'b': return PyLong_FromLongLong(info.bytes);
    case 'l': return PyBool_FromLong(info.is_alias);
    case 'f': return py_string(py_format_of(info.dtype));
    default: return py_string(info.name[0] == '\0' ? NULL : info.name);
    }
}

PY_GETTER(buffer_device, py_keep(((py_buffer *)self)->device))

static PyObject *buffer_native(PyObject *self, void *unused) {
    (void)unused;
    void *object;
    int64_t offset;
    spad_error error;
    if (spad_buffer_get_native(&object, &offset, ((py_buffer *)self)->buffer, &error) != SPAD_OK)
        return py_raise(&error);
    return Py_BuildValue("(KL)", (unsigned long long)(uintptr_t)object, (long long)offset);
}

static PyObject *buffer_freed(PyObject *self, void *unused) {
    (void)unused;
    spad_buffer_info info;
    return PyBool_FromLong(spad_buffer_get_info(&info, ((py_buffer *)self)->buffer, NULL) !=
                           SPAD_OK);
}

static PyMethodDef buffer_methods[] = {
    {"free", buffer_free, METH_NOARGS,
     "free($self, /)\n--\n\nGives the memory back; aliases end with it."},
    {"alias", PY_FUNC(buffer_alias), PY_FAST,
     "alias($self, shape, dtype=None, offset=0, name=None)\n--\n\nAnother view of the same bytes."},
    {"bind", buffer_bind, METH_O,
     "bind($self, data, /)\n--\n\nShape and memory of an auto buffer, from data."},
    {"write", PY_FUNC(buffer_write), PY_FAST,
     "write($self, data, offset=0)\n--\n\nCopies bytes in."},
    {"fill", PY_FUNC(buffer_fill), PY_FAST,
     "fill($self, value=0, offset=0, bytes=None)\n--\n\nSets bytes to a value."},
    {"read", PY_FUNC(buffer_read), PY_FAST,
     "read($self, offset=0, bytes=None)\n--\n\nThe bytes from an offset on, as many as asked for "
     "or all."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef buffer_fields[] = {
    {.name = "shape", .get = buffer_shape, .doc = "Its extents; None: not known yet."},
    {.name = "dtype", .get = buffer_field, .doc = "Its element type.", .closure = "d"},
    {.name = "scope", .get = buffer_field, .doc = "global, shared or local.", .closure = "s"},
    {.name = "address",
     .get = buffer_field,
     .doc = "On the device, or in its scratchpad; None: no memory yet.",
     .closure = "a"},
    {.name = "nbytes", .get = buffer_field, .doc = "Bytes.", .closure = "b"},
    {.name = "is_alias",
     .get = buffer_field,
     .doc = "Does it share the bytes of another buffer?",
     .closure = "l"},
    {.name = "format",
     .get = buffer_field,
     .doc = "Its element as the struct module writes it.",
     .closure = "f"},
    {.name = "name", .get = buffer_field, .doc = "Its name, or None.", .closure = "n"},
    {.name = "device", .get = buffer_device, .doc = "Its device."},
    {.name = "native",
     .get = buffer_native,
     .doc = "The driver's object for it, and the distance from its start."},
    {.name = "freed", .get = buffer_freed, .doc = "Is it gone?"},
    {.name = NULL}};

PY_TYPE_MADE(buffer, "Buffer", "A typed, shaped piece of the memory of a device.",
             {Py_tp_methods, buffer_methods}, {Py_tp_getset, buffer_fields},
             {Py_bf_getbuffer, PY_SLOT(buffer_getbuffer)},
             {Py_bf_releasebuffer, PY_SLOT(buffer_releasebuffer)});

/* ---- the list of devices ----------------------------------------------------------- */

static spad_status write_devices(const void *object, const spad_sink *sink, spad_error *error) {
    (void)object;
    return spad_device_write_list_json(sink, NULL, error);
}

static PyObject *devices(PyObject *module, PyObject *unused) {
    (void)unused;
    return py_from_json(py_text(write_devices, module));
}

static PyMethodDef functions[] = {
    {"devices", devices, METH_NOARGS,
     "devices($module, /)\n--\n\nThe devices of this machine, and why others are absent."},
    {NULL, NULL, 0, NULL}};

int py_add_device(PyObject *module) {
    if (py_add_type(module, &py.device, &device_spec) != 0 ||
        py_add_type(module, &py.buffer, &buffer_spec) != 0 || py_add_dlpack(module) != 0)
        return -1;
    return PyModule_AddFunctions(module, functions);
}
