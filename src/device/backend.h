/* SPDX-License-Identifier: Apache-2.0
 *
 * The back ends, and what those over a vendor's library share.
 */
#ifndef SPAD_DEVICE_BACKEND_H
#define SPAD_DEVICE_BACKEND_H

#include "base/error.h"
#include "spad/device/backend.h"

extern const spad_backend spad__backend_host;
extern const spad_backend spad__backend_cuda;
extern const spad_backend spad__backend_opencl;

/* A function of a library, and where its pointer goes. */
typedef struct spad__driver_symbol {
    const char *name;
    size_t offset; /* of the pointer in the table */
} spad__driver_symbol;

/* Opens a library and fills the table. SPAD_ERR_NO_DEVICE: it is not there, or lacks one
 * of the functions. */
spad_status spad__library_open(void **library, void *table, const char *file,
                               const spad__driver_symbol *symbols, size_t count, spad_error *error);
void spad__library_close(void *library);

#endif
