/* SPDX-License-Identifier: Apache-2.0
 *
 * Class methods of Kernel that are about PTX (ptx.c).
 */
#ifndef SPAD_PYTHON_PTX_H
#define SPAD_PYTHON_PTX_H

#include "common.h"

PyObject *py_kernel_read_ptx(PyObject *type, PyObject *const *args, Py_ssize_t count,
                             PyObject *keywords);
PyObject *py_kernel_ptx_kernels(PyObject *type, PyObject *const *args, Py_ssize_t count,
                                PyObject *keywords);
PyObject *py_kernel_ptx_launch_module(PyObject *type, PyObject *const *args, Py_ssize_t count,
                                      PyObject *keywords);

#endif
