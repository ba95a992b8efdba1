/* SPDX-License-Identifier: Apache-2.0
 *
 * Stream, Workspace and Pool: what is done with the memory of a device. A workspace
 * cannot go on to its next phase while somebody has a view of a buffer that was taken
 * from it.
 */
#include "device.h"

typedef struct py_stream {
    PyObject_HEAD spad_stream stream;
    PyObject *device;
    bool closed;
} py_stream;

typedef struct py_pool {
    PyObject_HEAD spad_pool *pool;
    PyObject *whole; /* the Buffer that it cuts up */
} py_pool;

static bool need_buffer(PyObject *object) {
    if (PyObject_TypeCheck(object, py.buffer)) return true;
    PyErr_SetString(PyExc_TypeError, "a Buffer is needed");
    return false;
}

/* ---- streams and copies ----------------------------------------------------------------- */

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

static void stream_dealloc(PyObject *object) {
    py_stream *self = (py_stream *)object;
    if (!self->closed) spad_stream_close(self->stream, NULL);
    Py_XDECREF(self->device);
    py_free(object);
}

static PyObject *stream_wait(PyObject *object, PyObject *unused) {
    (void)unused;
    const spad_stream stream = ((py_stream *)object)->stream;
    spad_error error;
    PyThreadState *const outside = PyEval_SaveThread();
    const spad_status status = spad_stream_wait(stream, &error);
    PyEval_RestoreThread(outside);
    return py_done(status, &error);
}

static PyObject *stream_close(PyObject *object, PyObject *unused) {
    (void)unused;
    py_stream *self = (py_stream *)object;
    spad_error error;
    PyThreadState *const outside = PyEval_SaveThread();
    const spad_status status = spad_stream_close(self->stream, &error);
    PyEval_RestoreThread(outside);
    if (status == SPAD_OK) self->closed = true;
    return py_done(status, &error);
}

static PyMethodDef stream_methods[] = {
    {"wait", stream_wait, METH_NOARGS, "Returns when everything on the stream is done."},
    {"close", stream_close, METH_NOARGS, "Waits and closes."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot stream_slots[] = {{Py_tp_doc, "Stream(device)\n\nAn order of work."},
                                     {Py_tp_new, PY_SLOT(stream_new)},
                                     {Py_tp_dealloc, PY_SLOT(stream_dealloc)},
                                     {Py_tp_methods, stream_methods},
                                     {0, NULL}};

static PyType_Spec stream_spec = {"spad._spad.Stream", sizeof(py_stream), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, stream_slots};

static PyObject *copy(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *to, *from, *stream = Py_None;
    spad_error error;
    if (!PyArg_ParseTuple(args, "OO|O:copy", &to, &from, &stream) || !need_buffer(to) ||
        !need_buffer(from))
        return NULL;
    if (stream != Py_None && !PyObject_TypeCheck(stream, py.stream)) {
        PyErr_SetString(PyExc_TypeError, "a Stream or None is needed");
        return NULL;
    }
    const spad_device_buffer a = ((py_buffer *)to)->buffer, b = ((py_buffer *)from)->buffer;
    PyThreadState *const outside = PyEval_SaveThread();
    const spad_status status = stream == Py_None
                                   ? spad_copy(a, b, &error)
                                   : spad_copy_async(a, b, ((py_stream *)stream)->stream, &error);
    PyEval_RestoreThread(outside);
    return py_done(status, &error);
}

static PyObject *copy_tile(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *to, *from;
    long long n[6];
    spad_error error;
    if (!PyArg_ParseTuple(args, "O!O!(LL)(LL)(LL):copy_tile", py.buffer, &to, py.buffer, &from,
                          &n[0], &n[1], &n[2], &n[3], &n[4], &n[5]))
        return NULL;
    const spad_copy_tile tile = {n[0], n[1], n[2], n[3], n[4], n[5]};
    return py_done(spad_copy_matrix(((py_buffer *)to)->buffer, ((py_buffer *)from)->buffer, &tile,
                                    NULL, &error),
                   &error);
}

/* ---- workspaces ---------------------------------------------------------------------------- */

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

static void workspace_dealloc(PyObject *object) {
    py_workspace *self = (py_workspace *)object;
    if (!self->closed) spad_workspace_close(&self->workspace, NULL);
    Py_XDECREF(self->device);
    py_free(object);
}

static spad_workspace *workspace_in(PyObject *self) {
    return &((py_workspace *)self)->workspace;
}

static PyObject *workspace_take(PyObject *self, PyObject *const *args, Py_ssize_t count,
                                PyObject *keywords) {
    static const char *const names[] = {"shape", "dtype", "alignment", "name", NULL};
    PyObject *given[4];
    int64_t dims[SPAD_RANK_MAX], alignment;
    spad_shape shape;
    spad_dtype dtype;
    spad_device_buffer buffer;
    spad_error error;
    const char *name = NULL;
    if (!py_take(given, "take", names, 2, args, count, keywords) ||
        !py_shape(&shape, dims, given[0]) || !py_dtype(&dtype, given[1]) ||
        !py_int_or(&alignment, given[2], 0))
        return NULL;
    if (given[3] != NULL && given[3] != Py_None) {
        name = PyUnicode_AsUTF8AndSize(given[3], NULL);
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
    if (((py_workspace *)self)->views > 0) return py_in_use();
    return py_done(spad_workspace_next(workspace_in(self), &error), &error);
}

static PyObject *workspace_close(PyObject *self, PyObject *unused) {
    (void)unused;
    spad_error error;
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
     "take(shape, dtype, alignment=0, name=None)\n\nA buffer for this phase."},
    {"next", workspace_next, METH_NOARGS, "Ends the phase: what it took is gone."},
    {"close", workspace_close, METH_NOARGS, "Gives the memory back."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef workspace_fields[] = {
    {"bytes", workspace_field, NULL, "Its size.", "b"},
    {"used", workspace_field, NULL, "Bytes that this phase has taken.", "u"},
    {"peak", workspace_field, NULL, "Most bytes of a phase so far.", "p"},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot workspace_slots[] = {
    {Py_tp_doc, "Workspace(device, bytes, scope='global', name=None)\n\nBytes that phases of a "
                "computation use in turn."},
    {Py_tp_new, PY_SLOT(workspace_new)},
    {Py_tp_dealloc, PY_SLOT(workspace_dealloc)},
    {Py_tp_methods, workspace_methods},
    {Py_tp_getset, workspace_fields},
    {0, NULL}};

static PyType_Spec workspace_spec = {"spad._spad.Workspace", sizeof(py_workspace), 0,
                                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, workspace_slots};

/* ---- pools ---------------------------------------------------------------------------------- */

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
    const spad_pool_options options = {
        .max_bytes = info.bytes, .block_bytes = block_bytes, .exact = true};
    spad_error error;
    if (spad_pool_create_over(&self->pool, 0, &options, &error) == SPAD_OK) {
        self->whole = py_keep(whole);
        return (PyObject *)self;
    }
    Py_DECREF((PyObject *)self);
    return py_raise(&error);
}

static void pool_dealloc(PyObject *object) {
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

static PyObject *pool_free(PyObject *self, PyObject *args) {
    long long address, bytes;
    unsigned long long handle;
    spad_error error;
    if (!PyArg_ParseTuple(args, "(LLK):free", &address, &bytes, &handle)) return NULL;
    const spad_allocation block = {address, bytes, handle};
    return py_done(spad_pool_free(((py_pool *)self)->pool, &block, &error), &error);
}

static PyObject *pool_stats(PyObject *self, PyObject *unused) {
    (void)unused;
    const spad_pool_stats s = spad_pool_get_stats(((py_pool *)self)->pool);
    return Py_BuildValue(
        "{s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:i}", "allocated_bytes",
        (long long)s.blocks.allocated_bytes, "peak_bytes", (long long)s.blocks.peak_bytes,
        "freed_bytes", (long long)s.blocks.freed_bytes, "capacity_bytes",
        (long long)s.capacity_bytes, "held_bytes", (long long)s.held_bytes, "free_bytes",
        (long long)s.free_bytes, "largest_hole", (long long)s.largest_hole, "live_blocks",
        (long long)s.blocks.live_blocks, "fragmentation", s.fragmentation);
}

static PyMethodDef pool_methods[] = {
    {"alloc", pool_alloc, METH_VARARGS, "alloc(bytes, align=1) -> (offset, bytes, handle)"},
    {"free", pool_free, METH_VARARGS, "free(block)"},
    {"stats", pool_stats, METH_NOARGS, "A moment's view."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot pool_slots[] = {
    {Py_tp_doc, "Pool(whole, block_bytes=0)\n\nBlocks of the bytes of a Buffer."},
    {Py_tp_new, PY_SLOT(pool_new)},
    {Py_tp_dealloc, PY_SLOT(pool_dealloc)},
    {Py_tp_methods, pool_methods},
    {0, NULL}};

static PyType_Spec pool_spec = {"spad._spad.Pool", sizeof(py_pool), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, pool_slots};

/* ------------------------------------------------------------------------------------------- */

static PyMethodDef functions[] = {
    {"copy", copy, METH_VARARGS, "copy(to, from_, stream=None)\n\nAll bytes of a buffer."},
    {"copy_tile", copy_tile, METH_VARARGS,
     "copy_tile(to, from_, (to_row, to_column), (from_row, from_column), (rows, columns))"},
    {NULL, NULL, 0, NULL}};

int py_add_stream(PyObject *module) {
    if (py_add_type(module, &py.stream, &stream_spec) != 0 ||
        py_add_type(module, &py.workspace, &workspace_spec) != 0 ||
        py_add_type(module, &py.pool, &pool_spec) != 0)
        return -1;
    return PyModule_AddFunctions(module, functions);
}
