/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernel: a program that was read. It never changes once it is made.
 */
#include "common.h"
#include "ptx.h"
#include "spad/experimental/kernel_rows.h"

static const spad_kernel *kernel_in(PyObject *self) {
    return ((py_kernel *)self)->kernel;
}

/* ---- kernels ----------------------------------------------------------------------- */

/* What options are borrowed from. */
typedef struct borrowed {
    PyObject *defines, *rings;
} borrowed;

static void free_options(spad_kernel_options *options, borrowed *from) {
    PyMem_Free((void *)options->defines);
    PyMem_Free((void *)options->rings);
    Py_XDECREF(from->defines);
    Py_XDECREF(from->rings);
}

static bool read_options(spad_kernel_options *options, borrowed *from, PyObject *defines,
                         PyObject *rings) {
    spad_define *values, *depths;
    if (!py_defines(&values, &options->define_count, &from->defines, defines)) return false;
    options->defines = values;
    if (!py_defines(&depths, &options->ring_count, &from->rings, rings)) {
        free_options(options, from);
        return false;
    }
    options->rings = depths;
    return true;
}

/* Reads a kernel from a text; `info` is for what the text says beyond it, or NULL. */
typedef spad_status text_reader(spad_kernel **out, spad_ttgir_info *info, const char *text,
                                size_t length, const char *file, const spad_kernel_options *options,
                                spad_diagnostics *diagnostics, spad_error *error);

/* What `parse` and `read_ttgir` share: their arguments, and a kernel with its source and target. */
static py_kernel *read_kernel(PyObject *type, PyObject *const *args, Py_ssize_t count,
                              PyObject *keywords, const char *call, const char *file,
                              text_reader *read, spad_ttgir_info *info) {
    static const char *const names[] = {"text", "file", "defines", "rings", "target", NULL};
    PyObject *given[5];
    if (!py_take(given, call, names, 1, args, count, keywords)) return NULL;
    const char *text = NULL;
    Py_ssize_t length;
    if (!py_utf8(&text, &length, given[0]) || !py_utf8(&file, NULL, given[1])) return NULL;
    py_kernel *self = py_new((PyTypeObject *)type);
    spad_kernel_options options = {0};
    borrowed from = {0};
    spad_diagnostics *diagnostics = NULL;
    spad_error error;
    if (self == NULL) return NULL;
    self->source = PyBytes_FromStringAndSize(text, length);
    if (self->source == NULL) goto failed;
    if (given[4] != NULL && given[4] != Py_None) {
        self->target = (PyObject *)py_target_of(given[4]);
        if (self->target == NULL) goto failed;
        options.target = ((py_target *)self->target)->target;
    }
    if (!read_options(&options, &from, given[2], given[3])) goto failed;
    spad_status status = spad_diagnostics_create(&diagnostics, NULL, &error);
    if (status == SPAD_OK)
        status =
            read(&self->kernel, info, text, (size_t)length, file, &options, diagnostics, &error);
    free_options(&options, &from);
    if (status != SPAD_OK) py_raise_diagnosed(&error, diagnostics);
    spad_diagnostics_destroy(diagnostics);
    if (self->kernel != NULL && self->target == NULL)
        self->target = py_target_wrap(spad_kernel_get_target(self->kernel));
    if (self->kernel != NULL && self->target != NULL) return self;
failed:
    Py_DECREF((PyObject *)self);
    return NULL;
}

static spad_status parse_text(spad_kernel **out, spad_ttgir_info *info, const char *text,
                              size_t length, const char *file, const spad_kernel_options *options,
                              spad_diagnostics *diagnostics, spad_error *error) {
    (void)info;
    return spad_kernel_parse(out, text, length, file, options, diagnostics, error);
}

static PyObject *kernel_parse(PyObject *type, PyObject *const *args, Py_ssize_t count,
                              PyObject *keywords) {
    return (PyObject *)read_kernel(type, args, count, keywords, "parse", "<kernel>", parse_text,
                                   NULL);
}

/* What a text of Triton says beyond the kernel. */
static PyObject *ttgir_info(const spad_ttgir_info *info) {
    return Py_BuildValue(
        "{sLsLsLsNsNsNsssssLsssssssN}", "shared_bytes", (long long)info->shared_bytes,
        "tensor_columns", (long long)info->tensor_columns, "warps", (long long)info->warps,
        "placed", PyBool_FromLong(info->placed), "barriers", PyBool_FromLong(info->barriers),
        "unrolled", PyBool_FromLong(info->unrolled), "reason", info->reason, "assumed",
        info->assumed, "blocks", (long long)info->blocks, "scratch", info->scratch, "approximated",
        info->approximated, "skipped", info->skipped, "together", PyBool_FromLong(info->together));
}

/* As kernel_parse, and a dict with what is not in the kernel. */
static PyObject *kernel_read_ttgir(PyObject *type, PyObject *const *args, Py_ssize_t count,
                                   PyObject *keywords) {
    spad_ttgir_info info;
    py_kernel *self = read_kernel(type, args, count, keywords, "read_ttgir", "<ttgir>",
                                  spad_kernel_read_ttgir, &info);
    return self != NULL ? Py_BuildValue("(NN)", self, ttgir_info(&info)) : NULL;
}

static PyObject *tile_rows(const spad_ttgir_tile *tiles, size_t count) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < count; i++)
        if (!py_append(list,
                       Py_BuildValue("{s:s,s:L,s:L,s:L}", "name", tiles[i].name, "reused",
                                     (long long)tiles[i].reused, "near", (long long)tiles[i].near,
                                     "step", (long long)tiles[i].step)))
            Py_CLEAR(list);
    return list;
}

static PyObject *kernel_ttgir_tiles(PyObject *type, PyObject *const *args, Py_ssize_t count,
                                    PyObject *keywords) {
    enum { ARGUMENTS = 64 };
    static const char *const names[] = {"text", "blocks", "defines", NULL};
    PyObject *given[3];
    spad_kernel_options options = {0};
    borrowed from = {0};
    spad_ttgir_tile tiles[ARGUMENTS];
    const char *text = NULL;
    Py_ssize_t length;
    size_t found = 0;
    spad_error error;
    (void)type;
    if (!py_take(given, "ttgir_tiles", names, 2, args, count, keywords) ||
        !py_utf8(&text, &length, given[0]))
        return NULL;
    const long long blocks = PyLong_AsLongLong(given[1]);
    if (PyErr_Occurred() || !read_options(&options, &from, given[2], NULL)) return NULL;
    const spad_status status = spad_ttgir_read_tiles(tiles, ARGUMENTS, &found, text, (size_t)length,
                                                     blocks, &options, &error);
    free_options(&options, &from);
    return status == SPAD_OK ? tile_rows(tiles, found) : py_raise(&error);
}

/* Of a kernel that was just made, and that no other thread has. */
static PyObject *kernel_set_program(PyObject *self, PyObject *args) {
    const char *file, *text;
    Py_ssize_t length;
    spad_error error;
    if (!PyArg_ParseTuple(args, "ss#:_set_program", &file, &text, &length)) return NULL;
    spad_kernel *kernel = ((py_kernel *)self)->kernel;
    if (spad_kernel_set_program(kernel, file, text, (size_t)length, &error) != SPAD_OK)
        return py_raise(&error);
    Py_RETURN_NONE;
}

static PyObject *kernel_ttgir_source(PyObject *type, PyObject *args) {
    char file[1024];
    const char *text;
    Py_ssize_t length;
    int line;
    int32_t source_line;
    spad_error error;
    (void)type;
    if (!PyArg_ParseTuple(args, "s#i:ttgir_source", &text, &length, &line)) return NULL;
    if (spad_ttgir_find_source(file, sizeof file, &source_line, text, (size_t)length, line, NULL,
                               &error) != SPAD_OK)
        return py_raise(&error);
    if (file[0] == '\0') Py_RETURN_NONE;
    return Py_BuildValue("(Ni)", py_string(file), (int)source_line);
}

typedef struct barriers {
    const char *text;
    Py_ssize_t length;
    spad_ttgir_meeting *meetings;
    Py_ssize_t count;
} barriers;

static spad_status write_barriers(const void *object, const spad_sink *sink, spad_error *error) {
    const barriers *b = object;
    return spad_ttgir_write_barriers(b->text, (size_t)b->length, b->meetings, (size_t)b->count,
                                     sink, NULL, error);
}

static PyObject *kernel_ttgir_barriers(PyObject *type, PyObject *args) {
    barriers b = {0};
    PyObject *given, *text = NULL;
    (void)type;
    if (!PyArg_ParseTuple(args, "s#O:ttgir_barriers", &b.text, &b.length, &given)) return NULL;
    PyObject *rows = PySequence_Tuple(given);
    if (rows == NULL) return NULL;
    b.count = PyTuple_Size(rows);
    b.meetings = PyMem_Calloc((size_t)b.count + 1, sizeof *b.meetings);
    bool fine = b.meetings != NULL || PyErr_NoMemory() != NULL;
    for (Py_ssize_t i = 0; i < b.count && fine; i++) {
        int line, before, inside, after;
        PyObject *row = PyTuple_GetItem(rows, i);
        fine = PyTuple_Check(row) && PyArg_ParseTuple(row, "ippp", &line, &before, &inside, &after);
        if (!fine && !PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "a tuple (line, before, inside, after) is needed");
        if (fine) b.meetings[i] = (spad_ttgir_meeting){line, before, inside, after};
    }
    if (fine) text = py_text(write_barriers, &b);
    PyMem_Free(b.meetings);
    Py_DECREF(rows);
    return text;
}

py_kernel *py_kernel_like(PyObject *object, const spad_kernel *kernel,
                          const spad_kernel_options *options) {
    const py_kernel *old = (py_kernel *)object;
    py_kernel *self = py_new(Py_TYPE(object));
    if (self == NULL) return NULL;
    spad_error error;
    spad_kernel_options given = *options;
    given.target = ((py_target *)old->target)->target;
    self->target = py_keep(old->target);
    if (old->source != NULL) self->source = py_keep(old->source);
    if (spad_kernel_reshape(&self->kernel, kernel, &given, &error) == SPAD_OK) return self;
    Py_DECREF((PyObject *)self);
    return (py_kernel *)py_raise(&error);
}

static PyObject *kernel_reshape(PyObject *self, PyObject *const *args, Py_ssize_t count,
                                PyObject *keywords) {
    static const char *const names[] = {"defines", "rings", NULL};
    PyObject *given[2];
    spad_kernel_options options = {0};
    borrowed from = {0};
    if (!py_take(given, "reshape", names, 0, args, count, keywords) ||
        !read_options(&options, &from, given[0], given[1]))
        return NULL;
    PyObject *other = (PyObject *)py_kernel_like(self, kernel_in(self), &options);
    free_options(&options, &from);
    return other;
}

static PyObject *kernel_hoist(PyObject *object, PyObject *args) {
    const py_kernel *old = (py_kernel *)object;
    const char *name;
    long long tiles;
    spad_error error;
    if (!PyArg_ParseTuple(args, "sL:hoist", &name, &tiles)) return NULL;
    const size_t count = spad_kernel_tensor_count(old->kernel);
    size_t number = 0;
    while (number < count && strcmp(spad_kernel_get_tensor(old->kernel, number)->name, name) != 0)
        number++;
    if (number == count) {
        PyErr_Format(py.errors[PY_ARGUMENT_ERROR], "the kernel has no tensor '%s'", name);
        return NULL;
    }
    py_kernel *self = py_new(Py_TYPE(object));
    if (self == NULL) return NULL;
    self->target = py_keep(old->target);
    if (spad_kernel_hoist(&self->kernel, old->kernel, (int64_t)number, tiles, NULL, &error) ==
        SPAD_OK)
        return (PyObject *)self;
    Py_DECREF((PyObject *)self);
    return py_raise(&error);
}

static PyObject *kernel_release(PyObject *object, PyObject *unused) {
    (void)unused;
    const py_kernel *old = (py_kernel *)object;
    spad_error error;
    py_kernel *self = py_new(Py_TYPE(object));
    if (self == NULL) return NULL;
    self->target = py_keep(old->target);
    if (old->source != NULL) self->source = py_keep(old->source);
    if (spad_kernel_release(&self->kernel, old->kernel, NULL, &error) == SPAD_OK)
        return (PyObject *)self;
    Py_DECREF((PyObject *)self);
    return py_raise(&error);
}

static spad_status spad_kernel_write_text_any(const void *object, const spad_sink *sink,
                                              spad_error *error) {
    return spad_kernel_write_text(object, sink, error);
}

PY_METHOD(kernel_text, py_text_outside(spad_kernel_write_text_any, kernel_in(self)))

/* The folded kernel with its own text, or None. */
static PyObject *kernel_fold(PyObject *object, PyObject *unused) {
    (void)unused;
    const py_kernel *old = (py_kernel *)object;
    spad_kernel *kernel = NULL;
    spad_error error;
    PyThreadState *const outside = PyEval_SaveThread();
    const spad_status status = spad_kernel_fold(&kernel, old->kernel, NULL, &error);
    PyEval_RestoreThread(outside);
    if (status != SPAD_OK) return py_raise(&error);
    if (kernel == NULL) Py_RETURN_NONE;
    py_kernel *self = py_new(Py_TYPE(object));
    if (self == NULL) {
        spad_kernel_destroy(kernel);
        return NULL;
    }
    self->kernel = kernel;
    self->target = py_keep(old->target);
    PyObject *text = kernel_text((PyObject *)self, NULL);
    if (text != NULL) self->source = PyUnicode_AsUTF8String(text);
    Py_XDECREF(text);
    if (self->source != NULL) return (PyObject *)self;
    Py_DECREF((PyObject *)self);
    return NULL;
}

PY_TRAVERSE(kernel_traverse, py_kernel, self->target, self->source)

static void kernel_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    py_kernel *self = (py_kernel *)object;
    spad_kernel_destroy(self->kernel);
    Py_XDECREF(self->target);
    Py_XDECREF(self->source);
    py_free(object);
}

static PyObject *kernel_trace(PyObject *self, PyObject *unused) {
    (void)unused;
    PyObject *target = ((py_kernel *)self)->target;
    PyObject *trace = PyObject_CallFunctionObjArgs((PyObject *)py.trace, target, NULL);
    if (trace == NULL) return NULL;
    spad_error error;
    PyThreadState *const outside = PyEval_SaveThread();
    const spad_status status =
        spad_kernel_write_trace(kernel_in(self), ((py_trace *)trace)->trace, NULL, &error);
    PyEval_RestoreThread(outside);
    if (status == SPAD_OK) return trace;
    Py_DECREF(trace);
    return py_raise(&error);
}

static PyObject *kernel_params(PyObject *self, void *unused) {
    (void)unused;
    const spad_kernel *kernel = kernel_in(self);
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict != NULL && i < spad_kernel_param_count(kernel); i++) {
        const spad_kernel_param *p = spad_kernel_get_param(kernel, i);
        if (!py_put(dict, p->name, PyLong_FromLongLong(p->value))) Py_CLEAR(dict);
    }
    return dict;
}

PY_GETTER(kernel_name, py_string(spad_kernel_get_name(kernel_in(self))))
PY_GETTER(kernel_about, py_string(spad_kernel_get_about(kernel_in(self))))
PY_GETTER(kernel_file, py_string(spad_kernel_get_file(kernel_in(self))))
PY_GETTER(kernel_implicit, PyBool_FromLong(spad_kernel_is_implicit(kernel_in(self))))
PY_GETTER(kernel_target, py_keep(((py_kernel *)self)->target))
static PyObject *kernel_source(PyObject *self, void *unused) {
    (void)unused;
    PyObject *source = ((py_kernel *)self)->source;
    char *text;
    Py_ssize_t length;
    if (source == NULL) Py_RETURN_NONE;
    if (PyBytes_AsStringAndSize(source, &text, &length) != 0) return NULL;
    return PyUnicode_DecodeUTF8(text, length, "replace");
}

static PyMethodDef kernel_methods[] = {
    {"parse", PY_FUNC(kernel_parse), PY_FAST | METH_CLASS,
     "parse($type, text, file='<kernel>', defines=None, rings=None, target=None)\n--\n\nReads a "
     "kernel (docs/kernel.md). TextError.diagnostics has every fault."},
    {"read_ttgir", PY_FUNC(kernel_read_ttgir), PY_FAST | METH_CLASS,
     "read_ttgir($type, text, file='<ttgir>', defines=None, rings=None, target=None)\n--\n\nReads "
     "a kernel as Triton prints it (docs/triton.md). Returns it and a dict of what is not in it."},
    {"ttgir_tiles", PY_FUNC(kernel_ttgir_tiles), PY_FAST | METH_CLASS,
     "ttgir_tiles($type, text, blocks, defines=None)\n--\n\nWhich of the first blocks of a grid "
     "load the same tiles through an argument, a dict each."},
    {"_set_program", kernel_set_program, METH_VARARGS,
     "_set_program($self, file, text, /)\n--\n\nThe text of a file of the program."},
    {"ttgir_source", kernel_ttgir_source, METH_VARARGS | METH_CLASS,
     "ttgir_source($type, text, line, /)\n--\n\n(file, line) of the program that an operation in a "
     "line of TTGIR comes from, or None."},
    {"ttgir_barriers", kernel_ttgir_barriers, METH_VARARGS | METH_CLASS,
     "ttgir_barriers($type, text, meetings, /)\n--\n\nThe text with the barriers of warps, from "
     "(line, before, inside, after) of the operations that have some."},
    {"read_ptx", PY_FUNC(py_kernel_read_ptx), PY_FAST | METH_CLASS,
     "read_ptx($type, text, file='<ptx>', kernel=None, grid=None, block=None, cluster=None, "
     "cta=None, smem=None, args=None, way=0, target=None, arch=None, launch=None, "
     "launch_name='<launch>')\n--\n\nExecutes a launch of a kernel in PTX, or in a fatbin or "
     "executable as bytes (docs/cuda.md); launch: the text of a launch file. Returns its kernel "
     "and "
     "a dict with the numbers and remarks of the run."},
    {"ptx_kernels", PY_FUNC(py_kernel_ptx_kernels), PY_FAST | METH_CLASS,
     "ptx_kernels($type, text, file='<ptx>')\n--\n\nThe kernels of a PTX text, or of a fatbin or "
     "executable as bytes, as dicts."},
    {"ptx_launch_module", PY_FUNC(py_kernel_ptx_launch_module), PY_FAST | METH_CLASS,
     "ptx_launch_module($type, text, file='<launch>')\n--\n\nThe path of the module that a launch "
     "file names, as it is written."},
    {"reshape", PY_FUNC(kernel_reshape), PY_FAST,
     "reshape($self, defines=None, rings=None)\n--\n\nThe kernel with other parameters and ring "
     "depths."},
    {"release", kernel_release, METH_NOARGS,
     "release($self, /)\n--\n\nThe kernel without the addresses of its tensors on chip."},
    {"hoist", kernel_hoist, METH_VARARGS,
     "hoist($self, tensor, tiles, /)\n--\n\nThe kernel with a tensor declared in front of the "
     "loops around it."},
    {"fold", kernel_fold, METH_NOARGS,
     "fold($self, /)\n--\n\nThe kernel with the loops of a straight one found again, or None."},
    {"text", kernel_text, METH_NOARGS, "text($self, /)\n--\n\nThe kernel as text."},
    {"trace", kernel_trace, METH_NOARGS,
     "trace($self, /)\n--\n\nWhat a run of the kernel allocates, as a Trace."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef kernel_fields[] = {
    {.name = "name", .get = kernel_name, .doc = "Its name."},
    {.name = "about", .get = kernel_about, .doc = "Its line of text."},
    {.name = "file", .get = kernel_file, .doc = "The file it was read from."},
    {.name = "source", .get = kernel_source, .doc = "The text it was read from."},
    {.name = "target", .get = kernel_target, .doc = "Its chip."},
    {.name = "params", .get = kernel_params, .doc = "Parameters and their values."},
    {.name = "tensors",
     .get = py_kernel_table,
     .doc = "Its tensors, a dict each.",
     .closure = "tensors"},
    {.name = "regions",
     .get = py_kernel_table,
     .doc = "The regions of scoped managers.",
     .closure = "regions"},
    {.name = "units",
     .get = py_kernel_table,
     .doc = "What runs operations on its own.",
     .closure = "units"},
    {.name = "syncs",
     .get = py_kernel_table,
     .doc = "Barriers, counters, mbarriers and groups.",
     .closure = "syncs"},
    {.name = "agents",
     .get = py_kernel_table,
     .doc = "The main program, then the others.",
     .closure = "agents"},
    {.name = "loops", .get = py_kernel_table, .doc = "Its loops.", .closure = "loops"},
    {.name = "unknowns",
     .get = py_kernel_table,
     .doc = "Its unknown values.",
     .closure = "unknowns"},
    {.name = "sources",
     .get = py_kernel_table,
     .doc = "Lines of the program that it was made from.",
     .closure = "sources"},
    {.name = "cursors", .get = py_kernel_table, .doc = "Its cursors.", .closure = "cursors"},
    {.name = "statements",
     .get = py_kernel_table,
     .doc = "Its statements, in the order of the text.",
     .closure = "statements"},
    {.name = "is_implicit",
     .get = kernel_implicit,
     .doc = "Are dependencies left to the compiler?"},
    {.name = NULL}};

PY_TYPE_MADE(kernel, "Kernel", "A kernel that was read; see Kernel.parse.",
             {Py_tp_methods, kernel_methods}, {Py_tp_getset, kernel_fields});

/* ----  ------------------------------------------------------------------------------ */

int py_add_kernel(PyObject *module) {
    return py_add_type(module, &py.kernel, &kernel_spec);
}
