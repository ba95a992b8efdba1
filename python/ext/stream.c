/* SPDX-License-Identifier: Apache-2.0
 *
 * Stream, Fence, Workspace and Pool: what is done with the memory of a device. A
 * workspace cannot move to its next phase while there is a view of a buffer that
 * was taken from it, and a stream cannot be closed while a block of it is allocated.
 */
#include "device.h"

typedef struct py_stream {
    PyObject_HEAD spad_stream stream;
    PyObject *device;
    Py_ssize_t blocks; /* that are allocated in its order */
    py_guard guard;    /* calls that use it with the GIL released are its readers */
    bool closed;
} py_stream;

typedef struct py_fence {
    PyObject_HEAD spad_fence fence;
    PyObject *device;
} py_fence;

typedef struct py_pool {
    PyObject_HEAD spad_pool *pool;
    PyObject *whole; /* the Buffer that it cuts up */
} py_pool;

static bool need_buffer(PyObject *object) {
    if (PyObject_TypeCheck(object, py.buffer)) return true;
    PyErr_SetString(PyExc_TypeError, "a Buffer is needed");
    return false;
}

/* ---- streams and copies ------------------------------------------------------------ */

static PyObject *stream_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"device", NULL};
    PyObject *device;
    spad_error error;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!:Stream", names, py.device, &device))
        return NULL;
    py_stream *self = py_new(type);
    if (self == NULL) return NULL;
    self->closed = true;
    if (spad_stream_open(&self->stream, py_device_in(device), &error) == SPAD_OK) {
        self->closed = false;
        self->device = py_keep(device);
        return (PyObject *)self;
    }
    Py_DECREF((PyObject *)self);
    return py_raise(&error);
}

/* Where the stream objects of other libraries hold the driver's handle: torch, cupy, torch_npu and
 * pyopencl. The driver follows the handle without a check, so a bare number is not accepted. */
static const struct {
    const char *device, *attribute;
} stream_handles[] = {
    {"cuda:", "cuda_stream"}, {"cuda:", "ptr"}, {"ascend:", "npu_stream"}, {"opencl:", "int_ptr"}};

/* The handle in a stream of another library; NULL for None, the default stream. */
static bool native_of(void **out, PyObject *stream, PyObject *device) {
    const char *name = spad_device_get_info(py_device_in(device))->name;
    *out = NULL;
    if (stream == Py_None) return true;
    for (size_t i = 0; i < sizeof stream_handles / sizeof *stream_handles; i++) {
        if (strncmp(name, stream_handles[i].device, strlen(stream_handles[i].device)) != 0 ||
            !PyObject_HasAttrString(stream, stream_handles[i].attribute))
            continue;
        PyObject *handle = PyObject_GetAttrString(stream, stream_handles[i].attribute);
        if (handle != NULL) *out = PyLong_AsVoidPtr(handle);
        Py_XDECREF(handle);
        return PyErr_Occurred() == NULL;
    }
    PyErr_Format(PyExc_TypeError,
                 "%.60R is not a stream of %s; pass the stream object of the other library (torch, "
                 "cupy, torch_npu, pyopencl), or None for the default stream",
                 stream, name);
    return false;
}

static PyObject *stream_wrap(PyObject *type, PyObject *args) {
    PyObject *device, *theirs = Py_None;
    void *native;
    spad_error error;
    if (!PyArg_ParseTuple(args, "O!|O:wrap", py.device, &device, &theirs) ||
        !native_of(&native, theirs, device))
        return NULL;
    py_stream *self = py_new((PyTypeObject *)type);
    if (self == NULL) return NULL;
    self->closed = true;
    if (spad_stream_wrap(&self->stream, py_device_in(device), native, &error) == SPAD_OK) {
        self->closed = false;
        self->device = py_keep(device);
        return (PyObject *)self;
    }
    Py_DECREF((PyObject *)self);
    return py_raise(&error);
}

PY_TRAVERSE(stream_traverse, py_stream, self->device)

static void stream_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    py_stream *self = (py_stream *)object;
    if (!self->closed) spad_stream_close(self->stream, NULL);
    Py_XDECREF(self->device);
    py_free(object);
}

static PyObject *stream_wait(PyObject *object, PyObject *unused) {
    (void)unused;
    py_stream *self = (py_stream *)object;
    spad_error error;
    if (!py_read_begin(&self->guard)) return NULL;
    PyThreadState *const outside = PyEval_SaveThread();
    const spad_status status = spad_stream_wait(self->stream, &error);
    PyEval_RestoreThread(outside);
    py_read_end(&self->guard);
    return py_done(status, &error);
}

static PyObject *stream_close(PyObject *object, PyObject *unused) {
    (void)unused;
    py_stream *self = (py_stream *)object;
    spad_error error;
    if (self->blocks > 0) {
        PyErr_Format(py.errors[PY_STATE_ERROR], "%zd blocks of the stream are still allocated",
                     self->blocks);
        return NULL;
    }
    if (!py_change_begin(&self->guard)) return NULL;
    PyThreadState *const outside = PyEval_SaveThread();
    const spad_status status = spad_stream_close(self->stream, &error);
    PyEval_RestoreThread(outside);
    py_change_end(&self->guard);
    if (status == SPAD_OK) self->closed = true;
    return py_done(status, &error);
}

static PyObject *stream_native(PyObject *self, void *unused) {
    (void)unused;
    void *native;
    spad_error error;
    if (spad_stream_get_native(&native, ((py_stream *)self)->stream, &error) != SPAD_OK)
        return py_raise(&error);
    return PyLong_FromVoidPtr(native);
}

PY_GETTER(stream_device, py_keep(((py_stream *)self)->device))

static spad_status stream_give_back(PyObject *owner, const spad_allocation *block,
                                    spad_error *error) {
    py_stream *self = (py_stream *)owner;
    const spad_status status = spad_stream_free(self->stream, block, error);
    if (status == SPAD_OK) self->blocks--;
    return status;
}

static PyObject *stream_alloc(PyObject *self, PyObject *args) {
    long long bytes, align = SPAD_ALIGN_ANY;
    spad_allocation block;
    spad_error error;
    if (!PyArg_ParseTuple(args, "L|L:alloc", &bytes, &align)) return NULL;
    if (spad_stream_alloc(&block, ((py_stream *)self)->stream, bytes, align, &error) != SPAD_OK)
        return py_raise(&error);
    ((py_stream *)self)->blocks++;
    return py_allocation_wrap(&block, self, stream_give_back);
}

static PyObject *stream_record(PyObject *object, PyObject *unused) {
    (void)unused;
    const py_stream *stream = (py_stream *)object;
    py_fence *self = py_new(py.fence);
    spad_error error;
    if (self == NULL) return NULL;
    if (spad_fence_record(&self->fence, stream->stream, &error) == SPAD_OK) {
        self->device = py_keep(stream->device);
        return (PyObject *)self;
    }
    Py_DECREF((PyObject *)self);
    return py_raise(&error);
}

static PyObject *stream_wait_fence(PyObject *self, PyObject *fence) {
    spad_error error;
    if (!PyObject_TypeCheck(fence, py.fence)) {
        PyErr_SetString(PyExc_TypeError, "a Fence is needed");
        return NULL;
    }
    py_stream *stream = (py_stream *)self;
    const spad_fence passed = ((py_fence *)fence)->fence;
    if (!py_read_begin(&stream->guard)) return NULL;
    PyThreadState *const outside = PyEval_SaveThread();
    const spad_status status = spad_stream_wait_fence(stream->stream, passed, &error);
    PyEval_RestoreThread(outside);
    py_read_end(&stream->guard);
    return py_done(status, &error);
}

/* ---- fences ------------------------------------------------------------------------ */

PY_TRAVERSE(fence_traverse, py_fence, self->device)

static void fence_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    py_fence *self = (py_fence *)object;
    if (self->device != NULL) spad_fence_free(self->fence, NULL);
    Py_XDECREF(self->device);
    py_free(object);
}

static PyObject *fence_wait(PyObject *self, PyObject *unused) {
    (void)unused;
    const spad_fence fence = ((py_fence *)self)->fence;
    spad_error error;
    PyThreadState *const outside = PyEval_SaveThread();
    const spad_status status = spad_fence_wait(fence, &error);
    PyEval_RestoreThread(outside);
    return py_done(status, &error);
}

static PyObject *fence_done(PyObject *self, void *unused) {
    (void)unused;
    bool done;
    spad_error error;
    if (spad_fence_done(&done, ((py_fence *)self)->fence, &error) != SPAD_OK)
        return py_raise(&error);
    return PyBool_FromLong(done);
}

static PyMethodDef fence_methods[] = {
    {"wait", fence_wait, METH_NOARGS, "wait($self, /)\n--\n\nReturns when the fence is passed."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef fence_fields[] = {{.name = "done", .get = fence_done, .doc = "Is it passed?"},
                                     {.name = NULL}};

PY_TYPE_MADE(fence, "Fence", "A point in the order of a stream; see Stream.record.",
             {Py_tp_methods, fence_methods}, {Py_tp_getset, fence_fields});

static PyGetSetDef stream_fields[] = {
    {.name = "native", .get = stream_native, .doc = "The driver's stream, as a number."},
    {.name = "device", .get = stream_device, .doc = "Its device."},
    {.name = NULL}};

static PyMethodDef stream_methods[] = {
    {"wrap", stream_wrap, METH_VARARGS | METH_CLASS,
     "wrap($type, device, stream=None, /)\n--\n\nA stream that belongs to another library, such "
     "as a torch.cuda.Stream;\nNone: the default stream."},
    {"alloc", stream_alloc, METH_VARARGS,
     "alloc($self, bytes, align=1, /)\n--\n\nMemory for work on this stream; freed in its order."},
    {"record", stream_record, METH_NOARGS,
     "record($self, /)\n--\n\nPassed when everything that is on the stream now is done."},
    {"wait_fence", stream_wait_fence, METH_O,
     "wait_fence($self, fence, /)\n--\n\nLater work on the stream waits for the Fence."},
    {"wait", stream_wait, METH_NOARGS,
     "wait($self, /)\n--\n\nReturns when everything on the stream is done."},
    {"close", stream_close, METH_NOARGS, "close($self, /)\n--\n\nWaits and closes."},
    {NULL, NULL, 0, NULL}};

PY_TYPE_OPEN(stream, "Stream", "Stream(device)\n--\n\nAn order of work.",
             {Py_tp_new, PY_SLOT(stream_new)}, {Py_tp_methods, stream_methods},
             {Py_tp_getset, stream_fields});

/* ---- copies ------------------------------------------------------------------------ */

/* A copy that runs with the GIL released: what it works on is neither freed nor closed meanwhile.
 */
typedef struct transfer {
    PyObject *to, *from, *stream; /* the last one or None */
    PyThreadState *outside;
} transfer;

static bool transfer_begin(transfer *t) {
    if (t->stream != Py_None && !PyObject_TypeCheck(t->stream, py.stream)) {
        PyErr_SetString(PyExc_TypeError, "a Stream or None is needed");
        return false;
    }
    if (t->stream != Py_None && !py_read_begin(&((py_stream *)t->stream)->guard)) return false;
    py_count_view(t->to, 1);
    py_count_view(t->from, 1);
    t->outside = PyEval_SaveThread();
    return true;
}

static PyObject *transfer_end(transfer *t, spad_status status, const spad_error *error) {
    PyEval_RestoreThread(t->outside);
    py_count_view(t->from, -1);
    py_count_view(t->to, -1);
    if (t->stream != Py_None) py_read_end(&((py_stream *)t->stream)->guard);
    return py_done(status, error);
}

static spad_buffer buffer_in(PyObject *object) {
    return ((py_buffer *)object)->buffer;
}

static const spad_stream *stream_of(const transfer *t) {
    return t->stream == Py_None ? NULL : &((py_stream *)t->stream)->stream;
}

static PyObject *copy(PyObject *module, PyObject *args, PyObject *keywords) {
    static char *names[] = {"to", "from_", "stream", NULL};
    (void)module;
    transfer t = {.stream = Py_None};
    spad_error error;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO|O:copy", names, &t.to, &t.from,
                                     &t.stream) ||
        !need_buffer(t.to) || !need_buffer(t.from) || !transfer_begin(&t))
        return NULL;
    const spad_stream *stream = stream_of(&t);
    const spad_status status =
        stream == NULL
            ? spad_buffer_copy(buffer_in(t.to), buffer_in(t.from), &error)
            : spad_buffer_copy_async(buffer_in(t.to), buffer_in(t.from), *stream, &error);
    return transfer_end(&t, status, &error);
}

static PyObject *copy_part(PyObject *module, PyObject *args, PyObject *keywords) {
    static char *names[] = {"to",       "from_",       "width",      "rows",   "to_offset",
                            "to_pitch", "from_offset", "from_pitch", "stream", NULL};
    (void)module;
    transfer t = {.stream = Py_None};
    long long width, rows = 1, to_offset = 0, to_pitch = 0, from_offset = 0, from_pitch = 0;
    spad_error error;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O!L|LLLLLO:copy_part", names, py.buffer,
                                     &t.to, py.buffer, &t.from, &width, &rows, &to_offset,
                                     &to_pitch, &from_offset, &from_pitch, &t.stream) ||
        !transfer_begin(&t))
        return NULL;
    const spad_copy_range range = {.to_offset = to_offset,
                                   .to_pitch = to_pitch,
                                   .from_offset = from_offset,
                                   .from_pitch = from_pitch,
                                   .width = width,
                                   .rows = rows};
    return transfer_end(
        &t,
        spad_buffer_copy_part(buffer_in(t.to), buffer_in(t.from), &range, stream_of(&t), &error),
        &error);
}

static PyObject *copy_tile(PyObject *module, PyObject *args, PyObject *keywords) {
    static char *names[] = {"to", "from_", "to_start", "from_start", "shape", "stream", NULL};
    (void)module;
    transfer t = {.stream = Py_None};
    long long n[6];
    spad_error error;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O!(LL)(LL)(LL)|O:copy_tile", names,
                                     py.buffer, &t.to, py.buffer, &t.from, &n[0], &n[1], &n[2],
                                     &n[3], &n[4], &n[5], &t.stream) ||
        !transfer_begin(&t))
        return NULL;
    const spad_copy_tile tile = {.to_row = n[0],
                                 .to_column = n[1],
                                 .from_row = n[2],
                                 .from_column = n[3],
                                 .rows = n[4],
                                 .columns = n[5]};
    return transfer_end(
        &t,
        spad_buffer_copy_matrix(buffer_in(t.to), buffer_in(t.from), &tile, stream_of(&t), &error),
        &error);
}

/* ---- workspaces -------------------------------------------------------------------- */

static PyObject *workspace_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"device", "bytes", "scope", "name", NULL};
    PyObject *device, *where = Py_None;
    long long bytes;
    const char *name = NULL;
    spad_memory_scope scope;
    spad_error error;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!L|Oz:Workspace", names, py.device, &device,
                                     &bytes, &where, &name) ||
        !py_scope(&scope, where))
        return NULL;
    py_workspace *self = py_new(type);
    if (self == NULL) return NULL;
    self->closed = true;
    if (spad_workspace_open(&self->workspace, py_device_in(device), bytes, scope, name, &error) ==
        SPAD_OK) {
        self->closed = false;
        self->device = py_keep(device);
        return (PyObject *)self;
    }
    Py_DECREF((PyObject *)self);
    return py_raise(&error);
}

PY_TRAVERSE(workspace_traverse, py_workspace, self->device)

static void workspace_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    py_workspace *self = (py_workspace *)object;
    if (!self->closed) spad_workspace_close(&self->workspace, NULL);
    Py_XDECREF(self->device);
    py_free(object);
}

static spad_workspace *workspace_in(PyObject *self) {
    return &((py_workspace *)self)->workspace;
}

static bool is_open(PyObject *self) {
    if (!((py_workspace *)self)->closed) return true;
    PyErr_SetString(py.errors[PY_STATE_ERROR], "the workspace was closed before");
    return false;
}

static PyObject *workspace_take(PyObject *self, PyObject *const *args, Py_ssize_t count,
                                PyObject *keywords) {
    static const char *const names[] = {"shape", "dtype", "alignment", "name", NULL};
    PyObject *given[4];
    int64_t dims[SPAD_RANK_MAX], alignment;
    spad_shape shape;
    spad_dtype dtype;
    spad_buffer buffer;
    spad_error error;
    const char *name = NULL;
    if (!py_take(given, "take", names, 2, args, count, keywords) || !is_open(self) ||
        !py_shape(&shape, dims, given[0]) || !py_dtype(&dtype, given[1]) ||
        !py_int_or(&alignment, given[2], 0))
        return NULL;
    if (given[3] != NULL && given[3] != Py_None) {
        name = py_chars(given[3]);
        if (name == NULL) return NULL;
    }
    if (spad_workspace_take(&buffer, workspace_in(self), shape, dtype, alignment, name, &error) !=
        SPAD_OK)
        return py_raise(&error);
    PyObject *taken = py_buffer_wrap(buffer, ((py_workspace *)self)->device, NULL);
    if (taken != NULL) ((py_buffer *)taken)->workspace = py_keep(self);
    return taken;
}

static PyObject *workspace_next(PyObject *self, PyObject *unused) {
    (void)unused;
    spad_error error;
    if (!is_open(self)) return NULL;
    if (((py_workspace *)self)->views > 0) return py_in_use();
    return py_done(spad_workspace_next(workspace_in(self), &error), &error);
}

static PyObject *workspace_close(PyObject *self, PyObject *unused) {
    (void)unused;
    spad_error error;
    if (!is_open(self)) return NULL;
    if (((py_workspace *)self)->views > 0) return py_in_use();
    const spad_status status = spad_workspace_close(workspace_in(self), &error);
    if (status == SPAD_OK) ((py_workspace *)self)->closed = true;
    return py_done(status, &error);
}

static PyObject *workspace_field(PyObject *self, void *which) {
    const spad_workspace *w = workspace_in(self);
    const char letter = *(const char *)which;
    return PyLong_FromLongLong(letter == 'b' ? w->bytes : letter == 'u' ? w->used : w->peak);
}

static PyMethodDef workspace_methods[] = {
    {"take", PY_FUNC(workspace_take), PY_FAST,
     "take($self, shape, dtype, alignment=0, name=None)\n--\n\nA buffer for this phase."},
    {"next", workspace_next, METH_NOARGS,
     "next($self, /)\n--\n\nEnds the phase: what it took is gone."},
    {"close", workspace_close, METH_NOARGS, "close($self, /)\n--\n\nGives the memory back."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef workspace_fields[] = {
    {.name = "bytes", .get = workspace_field, .doc = "Its size.", .closure = "b"},
    {.name = "used",
     .get = workspace_field,
     .doc = "Bytes that this phase has taken.",
     .closure = "u"},
    {.name = "peak",
     .get = workspace_field,
     .doc = "Most bytes of a phase so far.",
     .closure = "p"},
    {.name = NULL}};

PY_TYPE_OPEN(workspace, "Workspace",
             "Workspace(device, bytes, scope='global', name=None)\n--\n\nBytes that phases of a "
             "computation use in turn.",
             {Py_tp_new, PY_SLOT(workspace_new)}, {Py_tp_methods, workspace_methods},
             {Py_tp_getset, workspace_fields});

/* ---- pools ------------------------------------------------------------------------- */

static PyObject *pool_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"whole", "block_bytes", NULL};
    PyObject *whole;
    long long block_bytes = 0;
    spad_buffer_info info;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!|L:Pool", names, py.buffer, &whole,
                                     &block_bytes) ||
        !py_buffer_info(&info, whole))
        return NULL;
    py_pool *self = py_new(type);
    if (self == NULL) return NULL;
    /* Offsets, not addresses: the pool never follows them. */
    const spad_pool_options options = {.block_bytes = block_bytes, .exact = true};
    spad_error error;
    if (spad_pool_create_over(&self->pool, 0, info.bytes, &options, &error) == SPAD_OK) {
        self->whole = py_keep(whole);
        return (PyObject *)self;
    }
    Py_DECREF((PyObject *)self);
    return py_raise(&error);
}

PY_TRAVERSE(pool_traverse, py_pool, self->whole)

static void pool_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    py_pool *self = (py_pool *)object;
    spad_pool_destroy(self->pool);
    Py_XDECREF(self->whole);
    py_free(object);
}

static PyObject *pool_alloc(PyObject *self, PyObject *args) {
    long long bytes, align = SPAD_ALIGN_ANY;
    spad_allocation block;
    spad_error error;
    if (!PyArg_ParseTuple(args, "L|L:alloc", &bytes, &align)) return NULL;
    if (spad_pool_alloc(&block, ((py_pool *)self)->pool, bytes, align, &error) != SPAD_OK)
        return py_raise(&error);
    return Py_BuildValue("(LLK)", (long long)block.address, (long long)block.bytes,
                         (unsigned long long)block.handle);
}

/* An unsigned number; "K" of PyArg_ParseTuple would drop the bits above 64. */
static int to_handle(PyObject *number, void *out) {
    const unsigned long long value = PyLong_AsUnsignedLongLong(number);
    *(unsigned long long *)out = value;
    return value != ULLONG_MAX || PyErr_Occurred() == NULL;
}

static PyObject *pool_free(PyObject *self, PyObject *args) {
    long long address, bytes;
    unsigned long long handle;
    spad_error error;
    if (!PyArg_ParseTuple(args, "(LLO&):free", &address, &bytes, to_handle, &handle)) return NULL;
    const spad_allocation block = {address, bytes, handle};
    return py_done(spad_pool_free(((py_pool *)self)->pool, &block, &error), &error);
}

PY_METHOD(pool_stats, py_pool_stats(((py_pool *)self)->pool))

static PyMethodDef pool_methods[] = {
    {"alloc", pool_alloc, METH_VARARGS,
     "alloc($self, bytes, align=1, /)\n--\n\nA block of the pool: (offset, bytes, handle)."},
    {"free", pool_free, METH_VARARGS, "free($self, block, /)\n--\n\nGives a block back."},
    {"stats", pool_stats, METH_NOARGS, "stats($self, /)\n--\n\nA moment's view."},
    {NULL, NULL, 0, NULL}};

PY_TYPE_OPEN(pool, "Pool", "Pool(whole, block_bytes=0)\n--\n\nBlocks of the bytes of a Buffer.",
             {Py_tp_new, PY_SLOT(pool_new)}, {Py_tp_methods, pool_methods});

/* ----  ------------------------------------------------------------------------------ */

static PyMethodDef functions[] = {
    {"copy", PY_FUNC(copy), METH_VARARGS | METH_KEYWORDS,
     "copy($module, to, from_, stream=None)\n--\n\nAll bytes of a buffer."},
    {"copy_tile", PY_FUNC(copy_tile), METH_VARARGS | METH_KEYWORDS,
     "copy_tile($module, to, from_, to_start, from_start, shape, stream=None)\n--\n\nA tile of a "
     "matrix."},
    {"copy_part", PY_FUNC(copy_part), METH_VARARGS | METH_KEYWORDS,
     "copy_part($module, to, from_, width, rows=1, to_offset=0, to_pitch=0, from_offset=0, "
     "from_pitch=0, stream=None)\n--\n\nRows of width bytes, a pitch apart on each side; 0: the "
     "width."},
    {NULL, NULL, 0, NULL}};

int py_add_stream(PyObject *module) {
    if (py_add_type(module, &py.stream, &stream_spec) != 0 ||
        py_add_type(module, &py.fence, &fence_spec) != 0 ||
        py_add_type(module, &py.workspace, &workspace_spec) != 0 ||
        py_add_type(module, &py.pool, &pool_spec) != 0)
        return -1;
    return PyModule_AddFunctions(module, functions);
}
