/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernel.read_ptx, Kernel.ptx_kernels and Kernel.ptx_launch_module: launches of CUDA kernels, what
 * is in a module, and launch files.
 */
#include "ptx.h"

#include "spad/device/zstd.h"
#include "spad/experimental/ptx.h"

/* ---- modules ------------------------------------------------------------------------------ */

/* A file that has modules: a text, or the bytes of a fatbin or an executable. */
typedef struct module_source {
    const char *file;
    const char *text;
    Py_ssize_t length;
    spad_ptx_image *image; /* NULL: a text */
    spad_diagnostics *diagnostics;
} module_source;

static void close_source(module_source *source) {
    spad_ptx_image_destroy(source->image);
    spad_diagnostics_destroy(source->diagnostics);
}

/* False: with an exception set. To be closed in any case. */
static bool open_source(module_source *out, PyObject *content, PyObject *file) {
    const spad_ptx_image_options options = {.unpack_zstd = spad_zstd_unpack};
    spad_error error;
    *out = (module_source){.file = "<ptx>"};
    if (!py_utf8(&out->file, NULL, file)) return false;
    spad_status status = spad_diagnostics_create(&out->diagnostics, NULL, &error);
    if (status == SPAD_OK && !PyBytes_Check(content))
        return py_utf8(&out->text, &out->length, content);
    if (status == SPAD_OK) {
        char *bytes;
        if (PyBytes_AsStringAndSize(content, &bytes, &out->length) != 0) return false;
        status = spad_ptx_image_create(&out->image, bytes, (size_t)out->length, &options, &error);
    }
    if (status != SPAD_OK) py_raise(&error);
    return status == SPAD_OK;
}

/* The module with a kernel; NULL with an exception set. */
static spad_ptx *find_module(const module_source *source, const char *arch, const char *kernel) {
    spad_ptx *ptx = NULL;
    spad_error error;
    const spad_status status =
        source->image != NULL ? spad_ptx_image_find(&ptx, source->image, arch, kernel, source->file,
                                                    source->diagnostics, &error)
                              : spad_ptx_create(&ptx, source->text, (size_t)source->length,
                                                source->file, NULL, source->diagnostics, &error);
    if (status != SPAD_OK) py_raise_diagnosed(&error, source->diagnostics);
    return ptx;
}

/* ---- what is in a module ------------------------------------------------------------------ */

static PyObject *extents_of(const int32_t extents[3]) {
    if (extents[0] <= 0) Py_RETURN_NONE;
    return Py_BuildValue("(iii)", extents[0], extents[1] > 0 ? extents[1] : 1,
                         extents[2] > 0 ? extents[2] : 1);
}

static PyObject *parameters_of(const spad_ptx *ptx, size_t kernel, size_t count) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; i < count && list != NULL; i++) {
        const spad_ptx_parameter p = spad_ptx_get_parameter(ptx, kernel, i);
        PyObject *row = Py_BuildValue("{sNsNsLsLsN}", "name", py_string(p.name), "type",
                                      py_string(p.type), "bytes", (long long)p.bytes, "align",
                                      (long long)p.align, "pointer", PyBool_FromLong(p.pointer));
        if (row == NULL || !py_append(list, row)) Py_CLEAR(list);
    }
    return list;
}

/* Appends the kernels of a module to a list; false: with an exception set. */
static bool list_kernels(PyObject *list, const spad_ptx *ptx) {
    bool fine = true;
    for (size_t i = 0; fine && i < spad_ptx_kernel_count(ptx); i++) {
        const spad_ptx_kernel k = spad_ptx_get_kernel(ptx, i);
        PyObject *row = Py_BuildValue(
            "{sNsNsNsNsisLsNsLsNsNsNsN}", "name", py_string(k.name), "plain_name",
            py_string(k.plain_name), "full_name", py_string(k.full_name), "target",
            py_string(spad_ptx_target(ptx)), "line", (int)k.line, "instructions",
            (long long)k.instructions, "parameters", parameters_of(ptx, i, k.parameter_count),
            "shared_bytes", (long long)k.shared_bytes, "dynamic_shared",
            PyBool_FromLong(k.dynamic_shared), "required_threads", extents_of(k.required_threads),
            "most_threads", extents_of(k.most_threads), "cluster", extents_of(k.cluster));
        fine = row != NULL && py_append(list, row);
    }
    return fine;
}

static bool list_image(PyObject *list, const module_source *source) {
    bool any = false, fine = true;
    for (size_t i = 0; fine && i < spad_ptx_image_count(source->image); i++) {
        spad_ptx *ptx;
        spad_error error;
        if (!spad_ptx_image_get(source->image, i).ptx) continue;
        any = true;
        fine = spad_ptx_image_read(&ptx, source->image, i, source->file, source->diagnostics,
                                   &error) == SPAD_OK;
        if (!fine) py_raise_diagnosed(&error, source->diagnostics);
        fine = fine && list_kernels(list, ptx);
        spad_ptx_destroy(ptx);
    }
    if (any || !fine) return fine;
    spad_ptx_destroy(find_module(source, NULL, NULL)); /* it raises the reason */
    return false;
}

PyObject *py_kernel_ptx_kernels(PyObject *type, PyObject *const *args, Py_ssize_t count,
                                PyObject *keywords) {
    static const char *const names[] = {"text", "file", NULL};
    PyObject *given[2], *list = NULL;
    module_source source;
    (void)type;
    if (!py_take(given, "ptx_kernels", names, 1, args, count, keywords)) return NULL;
    if (open_source(&source, given[0], given[1])) list = PyList_New(0);
    if (list != NULL && source.image != NULL) {
        if (!list_image(list, &source)) Py_CLEAR(list);
    } else if (list != NULL) {
        spad_ptx *ptx = find_module(&source, NULL, NULL);
        if (ptx == NULL || !list_kernels(list, ptx)) Py_CLEAR(list);
        spad_ptx_destroy(ptx);
    }
    close_source(&source);
    return list;
}

/* ---- launch files -------------------------------------------------------------------------- */

/* NULL with an exception set. */
static spad_ptx_launch_file *read_launch_file(PyObject *text_object, PyObject *file_object) {
    const char *text, *file = "<launch>";
    Py_ssize_t length;
    spad_ptx_launch_file *out = NULL;
    spad_diagnostics *diagnostics = NULL;
    spad_error error;
    if (!py_utf8(&text, &length, text_object) || !py_utf8(&file, NULL, file_object)) return NULL;
    spad_status status = spad_diagnostics_create(&diagnostics, NULL, &error);
    if (status == SPAD_OK)
        status = spad_ptx_launch_file_create(&out, text, (size_t)length, file, NULL, diagnostics,
                                             &error);
    if (status != SPAD_OK) py_raise_diagnosed(&error, diagnostics);
    spad_diagnostics_destroy(diagnostics);
    return out;
}

PyObject *py_kernel_ptx_launch_module(PyObject *type, PyObject *const *args, Py_ssize_t count,
                                      PyObject *keywords) {
    static const char *const names[] = {"text", "file", NULL};
    PyObject *given[2];
    (void)type;
    if (!py_take(given, "ptx_launch_module", names, 1, args, count, keywords)) return NULL;
    spad_ptx_launch_file *file = read_launch_file(given[0], given[1]);
    if (file == NULL) return NULL;
    PyObject *module = py_string(spad_ptx_launch_file_module(file));
    spad_ptx_launch_file_destroy(file);
    return module;
}

/* ---- launches ------------------------------------------------------------------------------ */

/* A whole number, or up to three. */
static bool take_extents(uint32_t out[3], const char *name, PyObject *object) {
    int64_t dims[SPAD_RANK_MAX];
    spad_shape shape;
    if (object == NULL || object == Py_None) return true;
    if (!py_shape(&shape, dims, object)) return false;
    memset(out, 0, 3 * sizeof *out);
    for (size_t i = 0; i < shape.rank; i++) {
        if (i > 2 || dims[i] < 0 || dims[i] > INT32_MAX) {
            PyErr_Format(PyExc_ValueError, "%s: up to three extents of at most 2^31 - 1", name);
            return false;
        }
        out[i] = (uint32_t)dims[i];
    }
    return true;
}

static PyObject *remarks_of(const spad_ptx_run *run) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; i < spad_ptx_run_remark_count(run) && list != NULL; i++) {
        const spad_ptx_remark r = spad_ptx_run_get_remark(run, i);
        PyObject *row = Py_BuildValue("{sNsNsisNsisLsN}", "wrong", PyBool_FromLong(r.wrong),
                                      "choice", PyBool_FromLong(r.choice), "line", (int)r.line,
                                      "file", py_string(r.file), "source_line", (int)r.source_line,
                                      "times", (long long)r.times, "message", py_string(r.message));
        if (row == NULL || !py_append(list, row)) Py_CLEAR(list);
    }
    return list;
}

/* Bytes of contents, None where there are none. */
static PyObject *memory_of(const spad_ptx_run *run) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; i < spad_ptx_run_memory_count(run) && list != NULL; i++) {
        const spad_ptx_memory m = spad_ptx_run_get_memory(run, i);
        const Py_ssize_t count = (Py_ssize_t)m.content_bytes;
        PyObject *row = Py_BuildValue("{sKsLsy#sy#}", "address", (unsigned long long)m.address,
                                      "bytes", (long long)m.bytes, "contents", m.contents, count,
                                      "known", m.known, count);
        if (row == NULL || !py_append(list, row)) Py_CLEAR(list);
    }
    return list;
}

static PyObject *info_of(const spad_ptx_run *run) {
    const spad_ptx_counts c = spad_ptx_run_get_counts(run);
    return Py_BuildValue("{sLsLsisisisLsssNsN}", "instructions", (long long)c.instructions,
                         "events", (long long)c.events, "ctas", (int)c.ctas, "warps", (int)c.warps,
                         "choices", (int)c.choices, "not_executed", (long long)c.not_executed,
                         "loops", spad_ptx_run_get_folding(run), "remarks", remarks_of(run),
                         "memory", memory_of(run));
}

/* Executes the launch; the kernel goes into `self`. Returns the facts of the run. */
static PyObject *run_launch(py_kernel *self, const spad_ptx *ptx, spad_ptx_launch *launch,
                            const char *kernel) {
    spad_kernel_options options = {0};
    spad_ptx_run *run = NULL;
    spad_error error;
    if (self->target != NULL) options.target = ((py_target *)self->target)->target;
    spad_status status = spad_ptx_find_kernel(&launch->kernel, ptx, kernel, &error);
    if (status != SPAD_OK) return py_raise(&error);
    py_watch watch;
    launch->watch = py_watch_of(&watch);
    py_watch_begin(&watch);
    status = spad_ptx_run_create(&run, ptx, launch, &options, &error);
    const bool goes_on = py_watch_end(&watch);
    if (!goes_on || status != SPAD_OK) {
        spad_ptx_run_destroy(run);
        return py_raise(&error);
    }
    self->kernel = spad_ptx_run_take_kernel(run);
    if (self->target == NULL) self->target = py_target_wrap(spad_kernel_get_target(self->kernel));
    PyObject *info = self->target != NULL ? info_of(run) : NULL;
    spad_ptx_run_destroy(run);
    return info;
}

/* The places of the arguments of read_ptx. */
enum {
    TEXT,
    FILE_NAME,
    KERNEL,
    GRID,
    BLOCK,
    CLUSTER,
    CTA,
    SMEM,
    ARGS,
    WAY,
    TARGET,
    ARCH,
    LAUNCH,
    LAUNCH_NAME,
    READ_PTX_ARGUMENTS
};

static bool was_given(PyObject *object) {
    return object != NULL && object != Py_None;
}

/* A text that may be None. */
static bool take_optional(const char **out, PyObject *object) {
    return !was_given(object) || py_utf8(out, NULL, object);
}

/* Arguments of the call replace what a launch file says. */
static bool take_launch(spad_ptx_launch *launch, PyObject *const *given) {
    int64_t smem, way;
    if (!take_extents(launch->grid, "grid", given[GRID]) ||
        !take_extents(launch->block, "block", given[BLOCK]) ||
        !take_extents(launch->cluster, "cluster", given[CLUSTER]) ||
        !take_extents(launch->cta, "cta", given[CTA]) || !py_int_or(&way, given[WAY], 0))
        return false;
    launch->way = (uint32_t)way;
    if (!was_given(given[SMEM])) return true;
    if (!py_int_or(&smem, given[SMEM], 0)) return false;
    launch->dynamic_shared_bytes = smem;
    return true;
}

/* Reads the module and executes the launch, whose words are converted. NULL: with an exception. */
static PyObject *read_and_run(py_kernel *self, PyObject *const *given, spad_ptx_launch *launch,
                              const char *kernel) {
    const char *arch = NULL;
    module_source source;
    spad_ptx *ptx = NULL;
    PyObject *info = NULL;
    size_t length;
    if (!take_optional(&arch, given[ARCH])) return NULL;
    if (open_source(&source, given[TEXT], given[FILE_NAME]))
        ptx = find_module(&source, arch, kernel);
    if (ptx != NULL) {
        const char *text = spad_ptx_text(ptx, &length);
        self->source = PyBytes_FromStringAndSize(text, (Py_ssize_t)length);
        if (self->source != NULL) info = run_launch(self, ptx, launch, kernel);
    }
    spad_ptx_destroy(ptx);
    close_source(&source);
    return info;
}

/* The launch of the arguments, and of a launch file if there is one. */
static PyObject *take_and_run(py_kernel *self, PyObject *const *given,
                              const spad_ptx_launch_file *file) {
    const char *kernel = file != NULL ? spad_ptx_launch_file_kernel(file) : NULL;
    const char **arguments = NULL;
    size_t count = 0;
    PyObject *keep = NULL, *info = NULL;
    spad_ptx_launch launch = {0};
    if (file != NULL) launch = spad_ptx_launch_file_get(file);
    if (take_optional(&kernel, given[KERNEL]) && take_launch(&launch, given) &&
        (!was_given(given[ARGS]) || py_names(&arguments, &count, &keep, given[ARGS]))) {
        if (count > 0) {
            launch.arguments = arguments;
            launch.argument_count = count;
            launch.parameters = NULL;
        }
        info = read_and_run(self, given, &launch, kernel);
    }
    PyMem_Free((void *)arguments);
    Py_XDECREF(keep);
    return info;
}

PyObject *py_kernel_read_ptx(PyObject *type, PyObject *const *args, Py_ssize_t count,
                             PyObject *keywords) {
    static const char *const names[] = {"text",    "file", "kernel", "grid",        "block",
                                        "cluster", "cta",  "smem",   "args",        "way",
                                        "target",  "arch", "launch", "launch_name", NULL};
    PyObject *given[READ_PTX_ARGUMENTS], *info = NULL;
    spad_ptx_launch_file *file = NULL;
    if (!py_take(given, "read_ptx", names, 1, args, count, keywords)) return NULL;
    py_kernel *self = py_new((PyTypeObject *)type);
    if (self == NULL) return NULL;
    bool fine = true;
    if (was_given(given[TARGET])) {
        self->target = (PyObject *)py_target_of(given[TARGET]);
        fine = self->target != NULL;
    }
    if (fine && was_given(given[LAUNCH])) {
        file = read_launch_file(given[LAUNCH], given[LAUNCH_NAME]);
        fine = file != NULL;
    }
    if (fine) info = take_and_run(self, given, file);
    spad_ptx_launch_file_destroy(file);
    if (info != NULL) return Py_BuildValue("(NN)", self, info);
    Py_DECREF((PyObject *)self);
    return NULL;
}
