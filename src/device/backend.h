/* SPDX-License-Identifier: Apache-2.0
 *
 * The back ends, and the code that back ends over a vendor's library share.
 */
#ifndef SPAD_DEVICE_BACKEND_H
#define SPAD_DEVICE_BACKEND_H

#include "base/error.h"
#include "base/memory.h"
#include "spad/device/backend.h"

extern const spad_backend spad__backend_host;
extern const spad_backend spad__backend_cuda;
extern const spad_backend spad__backend_opencl;
extern const spad_backend spad__backend_ascend;
extern const spad_backend spad__backend_neuron;

/* A function of a library, and where its pointer goes. */
typedef struct spad__driver_symbol {
    const char *name;
    size_t offset; /* of the pointer in the table */
    bool optional; /* absent: the pointer is NULL */
} spad__driver_symbol;

/* Opens a library and fills the table. SPAD_ERR_NO_DEVICE: it is not there, or lacks one
 * of the functions. */
spad_status spad__library_open(void **library, void *table, const char *file,
                               const spad__driver_symbol *symbols, size_t count, spad_error *error);
void spad__library_close(void *library);

/* "the cuda device has no 100 B left; request less", with the facts. */
spad_status spad__fail_device_memory(spad_error *error, const char *backend, int64_t bytes);
/* "cuda has no 100 B of host memory left; request less", with the facts. */
spad_status spad__fail_pinned_memory(spad_error *error, const char *backend, int64_t bytes);

/* ---- objects ----------------------------------------------------------------------- */

/* Where a driver has objects for memory and no addresses: each object is given a range of made-up
 * addresses, a multiple of 2 MiB, that is never used again, and a sorted table finds the object
 * of an address in O(log n). A pool makes few of them. Ranges do not touch. Under a lock of the
 * user's. */
typedef struct spad__object {
    int64_t address;
    int64_t bytes;
    void *native;
} spad__object;

typedef struct spad__objects {
    SPAD_ARRAY(spad__object) items; /* by address */
    int64_t next_address;           /* 0: none was given out yet */
} spad__objects;

/* Makes room for one more and says which address it will have, without giving it out.
 * SPAD_ERR_HOST_MEMORY; SPAD_ERR_NO_FIT: the numbers are at their end. */
spad_status spad__objects_reserve(int64_t *address, spad__objects *objects, const spad_host *host,
                                  int64_t bytes, spad_error *error);
/* After spad__objects_reserve, with the same bytes: cannot fail. */
void spad__objects_add(spad__objects *objects, int64_t bytes, void *native);
/* The object that an address is in, or NULL. The pointer holds until the table changes. */
const spad__object *spad__objects_find(const spad__objects *objects, int64_t address);
/* Takes one out, of spad__objects_find. */
void spad__objects_remove(spad__objects *objects, const spad__object *object);

/* Number of built-in back ends. */
size_t spad__backend_count(void);

/* A built-in back end by number: host, cuda, opencl, ascend, neuron;
 *  NULL beyond the count. Static storage. */
const spad_backend *spad__backend_get(size_t index);

#endif
