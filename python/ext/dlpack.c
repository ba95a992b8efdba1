/* SPDX-License-Identifier: Apache-2.0
 *
 * Buffers for other libraries, with DLPack: without a copy, and writable as the memory is.
 *
 * Consumers that know DLPack 1.0 say so and get its struct, in which a flag says whether the bytes
 * are read-only; others get that of 0.8, which has no such flag, and which numpy takes for
 * read-only. As long as a consumer has the bytes the buffer counts a view.
 */
#include <stdlib.h>

#include "device.h"

/* The structs of dmlc/dlpack, dlpack.h. Extents are ours, after what the standard has. */
typedef struct dl_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} dl_tensor;

typedef struct dl_managed {
    dl_tensor tensor;
    void *context;
    void (*deleter)(struct dl_managed *self);
    int64_t extents[2 * SPAD_RANK_MAX];
} dl_managed;

typedef struct dl_versioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct dl_versioned *self);
    uint64_t flags; /* 0: neither read-only nor a copy */
    dl_tensor tensor;
    int64_t extents[2 * SPAD_RANK_MAX];
} dl_versioned;

enum { DL_INT, DL_UINT, DL_FLOAT, DL_BFLOAT = 4, DL_BOOL = 6 };
enum { DL_CPU = 1, DL_CUDA = 2 };

static void give_back(void *buffer, void *managed) {
    const PyGILState_STATE state = PyGILState_Ensure();
    py_count_view(buffer, -1);
    Py_DECREF((PyObject *)buffer);
    free(managed);
    PyGILState_Release(state);
}

static void delete_managed(dl_managed *managed) {
    give_back(managed->context, managed);
}
static void delete_versioned(dl_versioned *managed) {
    give_back(managed->context, managed);
}

static const char *const capsule_names[] = {"dltensor", "dltensor_versioned"};

/* Capsules that were never taken. */
static void drop_managed(PyObject *capsule) {
    if (PyCapsule_IsValid(capsule, capsule_names[0]))
        delete_managed(PyCapsule_GetPointer(capsule, capsule_names[0]));
}
static void drop_versioned(PyObject *capsule) {
    if (PyCapsule_IsValid(capsule, capsule_names[1]))
        delete_versioned(PyCapsule_GetPointer(capsule, capsule_names[1]));
}

static bool set_type(dl_tensor *t, spad_dtype dtype) {
    const char letter = py_format_of(dtype)[0];
    t->bits = (uint8_t)spad_dtype_bits(dtype);
    t->lanes = 1;
    if (dtype == SPAD_BFLOAT16)
        t->code = DL_BFLOAT;
    else if (dtype == SPAD_BOOL)
        t->code = DL_BOOL;
    else if (letter == 'e' || letter == 'f' || letter == 'd')
        t->code = DL_FLOAT;
    else if (letter == 'b' || letter == 'h' || letter == 'i' || letter == 'q')
        t->code = DL_INT;
    else if (dtype == SPAD_UINT8 || dtype == SPAD_UINT16 || dtype == SPAD_UINT32 ||
             dtype == SPAD_UINT64)
        t->code = DL_UINT;
    else
        return false;
    return true;
}

static void set_extents(dl_tensor *t, int64_t extents[2 * SPAD_RANK_MAX],
                        const spad_buffer_info *info) {
    int64_t stride = 1; /* in elements */
    t->ndim = (int32_t)info->rank;
    t->shape = extents;
    t->strides = extents + SPAD_RANK_MAX;
    for (size_t i = info->rank; i-- > 0;) {
        t->shape[i] = info->dims[i];
        t->strides[i] = stride;
        stride *= info->dims[i];
    }
}

/* What is the same in both structs, but for the extents. */
static bool describe(dl_tensor *t, PyObject *object, int type, int number,
                     const spad_buffer_info *info) {
    spad_error error;
    const char *name = spad_device_get_info(py_device_in(((py_buffer *)object)->device))->name;
    if (type != (strncmp(name, "cuda:", 5) == 0 ? DL_CUDA : DL_CPU)) {
        PyErr_Format(PyExc_BufferError, "%s has no memory of DLPack's device type %d", name, type);
        return false;
    }
    if (type == DL_CUDA && info->scope != SPAD_GLOBAL) {
        PyErr_Format(PyExc_BufferError,
                     "a buffer in %s memory has no address outside of it; copy it to global memory",
                     spad_memory_scope_name(info->scope));
        return false;
    }
    *t = (dl_tensor){
        .data = (void *)(uintptr_t)info->address, .device_type = type, .device_id = number};
    if (type == DL_CPU &&
        spad_buffer_get_pointer(&t->data, ((py_buffer *)object)->buffer, &error) != SPAD_OK)
        return py_raise(&error) != NULL;
    if (info->address != SPAD_NO_BYTE && set_type(t, info->dtype)) return true;
    PyErr_Format(PyExc_BufferError, "DLPack has no such type as %s, or there is no memory yet",
                 spad_dtype_name(info->dtype));
    return false;
}

static PyObject *share_managed(const dl_tensor *tensor, PyObject *object,
                               const spad_buffer_info *info) {
    dl_managed *m = calloc(1, sizeof *m);
    if (m == NULL) return PyErr_NoMemory();
    *m = (dl_managed){.tensor = *tensor, .context = py_keep(object), .deleter = delete_managed};
    set_extents(&m->tensor, m->extents, info);
    py_count_view(object, 1);
    PyObject *capsule = PyCapsule_New(m, capsule_names[0], drop_managed);
    if (capsule == NULL) delete_managed(m);
    return capsule;
}

static PyObject *share_versioned(const dl_tensor *tensor, PyObject *object,
                                 const spad_buffer_info *info) {
    dl_versioned *m = calloc(1, sizeof *m);
    if (m == NULL) return PyErr_NoMemory();
    *m = (dl_versioned){
        .major = 1, .tensor = *tensor, .context = py_keep(object), .deleter = delete_versioned};
    set_extents(&m->tensor, m->extents, info);
    py_count_view(object, 1);
    PyObject *capsule = PyCapsule_New(m, capsule_names[1], drop_versioned);
    if (capsule == NULL) delete_versioned(m);
    return capsule;
}

static PyObject *to_dlpack(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *object;
    int type, number, versioned = 0;
    spad_buffer_info info;
    dl_tensor tensor;
    if (!PyArg_ParseTuple(args, "O!ii|p:to_dlpack", py.buffer, &object, &type, &number,
                          &versioned) ||
        !py_buffer_info(&info, object) || !describe(&tensor, object, type, number, &info))
        return NULL;
    return versioned != 0 ? share_versioned(&tensor, object, &info)
                          : share_managed(&tensor, object, &info);
}

static PyMethodDef functions[] = {
    {"to_dlpack", to_dlpack, METH_VARARGS,
     "to_dlpack($module, buffer, device_type, device_id, versioned=False, /)\n--\n\nThe capsule of "
     "a buffer, as DLPack 1.0 or as 0.8."},
    {NULL, NULL, 0, NULL}};

int py_add_dlpack(PyObject *module) {
    return PyModule_AddFunctions(module, functions);
}
