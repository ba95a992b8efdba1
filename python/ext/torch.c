/* SPDX-License-Identifier: Apache-2.0
 *
 * What PyTorch's pluggable CUDA allocator needs is in this module: it loads the file by its path
 * (spad.torch_library()) and takes spad_torch_alloc and spad_torch_free from it by name. Python
 * only asks for the figures. The names are exported because this file uses one of that library
 * file.
 */
#include "spad/device/torch.h"
#include "common.h"

static PyObject *torch_stats(PyObject *module, PyObject *const *args, Py_ssize_t count,
                             PyObject *keywords) {
    static const char *const names[] = {"device", NULL};
    PyObject *given[1];
    int64_t number;
    (void)module;
    if (!py_take(given, "torch_stats", names, 0, args, count, keywords) ||
        !py_int_or(&number, given[0], 0))
        return NULL;
    spad_device *device =
        number < 0 || number > INT32_MAX ? NULL : spad_torch_get_device((int)number);
    if (device == NULL) Py_RETURN_NONE;
    spad_pool *pool;
    spad_error error;
    if (spad_device_get_pool(&pool, device, SPAD_GLOBAL, &error) != SPAD_OK)
        return py_raise(&error);
    return py_pool_stats(pool);
}

static PyMethodDef functions[] = {{"torch_stats", PY_FUNC(torch_stats), PY_FAST,
                                   "torch_stats($module, device=0)\n--\n\nWhat PyTorch took "
                                   "through torch_library() on a CUDA device; None: nothing yet."},
                                  {NULL, NULL, 0, NULL}};

int py_add_torch(PyObject *module) {
    return PyModule_AddFunctions(module, functions);
}
