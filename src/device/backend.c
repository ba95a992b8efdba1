/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of back ends, and the loading of a vendor's library at run time, so that
 * one build runs with and without it.
 */
#include "device/backend.h"

#include <dlfcn.h>
#include <string.h>

static const spad_backend *const backends[] = {
    &spad__backend_host,
    &spad__backend_cuda,
    &spad__backend_opencl,
};

size_t spad_backend_count(void) {
    return sizeof backends / sizeof backends[0];
}

const spad_backend *spad_backend_get(size_t index) {
    return index < spad_backend_count() ? backends[index] : NULL;
}

spad_status spad__library_open(void **library, void *table, const char *file,
                               const spad__driver_symbol *symbols, size_t count,
                               spad_error *error) {
    /* Vendors' libraries have threads and exit handlers of their own: once loaded they stay. */
    *library = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (*library == NULL) {
        return spad__fail(error, SPAD_ERR_NO_DEVICE,
                          "%s cannot be opened; is the driver installed?", file);
    }
    for (size_t i = 0; i < count; i++) {
        void *symbol = dlsym(*library, symbols[i].name);
        if (symbol == NULL) {
            dlclose(*library);
            *library = NULL;
            return spad__fail(error, SPAD_ERR_NO_DEVICE,
                              "%s has no function %s; a newer driver is needed", file,
                              symbols[i].name);
        }
        /* a pointer to data becomes one to a function: POSIX promises that the bits do */
        memcpy((char *)table + symbols[i].offset, &symbol, sizeof symbol);
    }
    return SPAD_OK;
}

void spad__library_close(void *library) {
    if (library != NULL) dlclose(library);
}
