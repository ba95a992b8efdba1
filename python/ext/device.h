/* SPDX-License-Identifier: Apache-2.0
 *
 * What device.c and stream.c share: the objects of real memory.
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
    PyObject_HEAD spad_device_buffer buffer;
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

spad_device *py_device_in(PyObject *self);
/** A scope by name; None and NULL are global memory. */
bool py_scope(spad_memory_scope *out, PyObject *object);
/** A Buffer that owns the handle. of: what it is an alias of, or NULL. */
PyObject *py_buffer_wrap(spad_device_buffer buffer, PyObject *device, PyObject *of);
bool py_buffer_info(spad_buffer_info *out, PyObject *self);
/** Sets the exception of bytes that somebody has a view of; always NULL. */
PyObject *py_in_use(void);

#endif
