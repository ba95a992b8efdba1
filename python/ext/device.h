/* SPDX-License-Identifier: Apache-2.0
 *
 * What device.c, memory.c and stream.c share: the objects of real memory.
 */
#ifndef SPAD_PYTHON_DEVICE_H
#define SPAD_PYTHON_DEVICE_H

#include "common.h"

typedef struct py_device {
    PyObject_HEAD spad_device *device;
    PyObject *target; /* or NULL */
    PyObject *trace;  /* that is recorded now, or NULL */
} py_device;

typedef struct py_buffer {
    PyObject_HEAD spad_buffer buffer;
    PyObject *device;
    PyObject *of;        /* what it is an alias of, or NULL */
    PyObject *workspace; /* that it was taken from, or NULL */
    Py_ssize_t views;
    bool freed;
} py_buffer;

typedef struct py_workspace {
    PyObject_HEAD spad_workspace workspace;
    PyObject *device;
    Py_ssize_t views; /* of buffers that were taken from it */
    bool closed;
} py_workspace;

/** Gives a block back to its owner. */
typedef spad_status (*py_allocation_free)(PyObject *owner, const spad_allocation *block,
                                          spad_error *error);

typedef struct py_allocation {
    PyObject_HEAD spad_allocation block;
    PyObject *owner;               /* Memory, or what free_block takes */
    py_allocation_free free_block; /* NULL: of a Memory */
    bool freed;
} py_allocation;

/** An Allocation that owns the block and keeps its owner. */
PyObject *py_allocation_wrap(const spad_allocation *block, PyObject *owner,
                             py_allocation_free free_block);
/** Memories of a device: the driver's own, and the pool of a scope. */
PyObject *py_device_memory(PyObject *device);
PyObject *py_device_host_memory(PyObject *device);
PyObject *py_device_pool(PyObject *device, spad_memory_scope scope);

spad_device *py_device_in(PyObject *self);
/** A scope by name; None and NULL are global memory. */
bool py_scope(spad_memory_scope *out, PyObject *object);
/** A Buffer that owns the handle. of: what it is an alias of, or NULL. */
PyObject *py_buffer_wrap(spad_buffer buffer, PyObject *device, PyObject *of);
bool py_buffer_info(spad_buffer_info *out, PyObject *self);
/** A view of its bytes more or less (by = 1, -1): as long as there is one they are not given back.
 *  A call that works on them with the GIL released counts as one. */
void py_count_view(PyObject *buffer, Py_ssize_t by);
/** The letter of the struct module; types that it does not know are whole numbers of their size. */
const char *py_format_of(spad_dtype dtype);
int py_add_dlpack(PyObject *module);
/** Sets the exception of bytes that something has a view of; always NULL. */
PyObject *py_in_use(void);

#endif
