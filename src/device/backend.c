/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of back ends, and the loading of a vendor's library at run time, so that
 * one build runs with and without it; and the table of a driver's objects.
 */
#include "device/backend.h"

#include <dlfcn.h>
#include <string.h>

#include "base/checked.h"

static const spad_backend *const backends[] = {
    &spad__backend_host,   &spad__backend_cuda,   &spad__backend_opencl,
    &spad__backend_ascend, &spad__backend_neuron,
};

size_t spad__backend_count(void) {
    return sizeof backends / sizeof backends[0];
}

const spad_backend *spad__backend_get(size_t index) {
    return index < spad__backend_count() ? backends[index] : NULL;
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
        if (symbol == NULL && !symbols[i].optional) {
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

spad_status spad__fail_device_memory(spad_error *error, const char *backend, int64_t bytes) {
    spad__fail(error, SPAD_ERR_NO_FIT, "the %s device has no %lld B left; request less", backend,
               (long long)bytes);
    spad__fact_amounts(error, bytes, SPAD_NO_FACT, SPAD_NO_FACT);
    return SPAD_ERR_NO_FIT;
}

spad_status spad__fail_pinned_memory(spad_error *error, const char *backend, int64_t bytes) {
    spad__fail(error, SPAD_ERR_NO_FIT, "%s has no %lld B of host memory left; request less",
               backend, (long long)bytes);
    spad__fact_amounts(error, bytes, SPAD_NO_FACT, SPAD_NO_FACT);
    return SPAD_ERR_NO_FIT;
}

/* ---- objects ----------------------------------------------------------------------- */

static const int64_t FIRST_ADDRESS = INT64_C(1) << 32;
static const int64_t ADDRESS_UNIT = 1 << 21;

/* Where the next range begins, given the present one. */
static bool end_of_range(int64_t *end, int64_t address, int64_t bytes) {
    if (!spad__add(address, bytes, end) || !spad__add(*end, 2 * ADDRESS_UNIT, end)) return false;
    *end &= -ADDRESS_UNIT;
    return true;
}

spad_status spad__objects_reserve(int64_t *address, spad__objects *objects, const spad_host *host,
                                  int64_t bytes, spad_error *error) {
    int64_t end;
    *address = objects->next_address != 0 ? objects->next_address : FIRST_ADDRESS;
    if (!end_of_range(&end, *address, bytes)) {
        spad__fail(error, SPAD_ERR_NO_FIT, "%lld B do not fit the numbers for addresses",
                   (long long)bytes);
        spad__fact_amounts(error, bytes, SPAD_NO_FACT, SPAD_NO_FACT);
        return SPAD_ERR_NO_FIT;
    }
    if (!spad__array_reserve(host, &objects->items, 1)) return spad__fail_host_memory(error);
    return SPAD_OK;
}

void spad__objects_add(spad__objects *objects, int64_t bytes, void *native) {
    if (objects->next_address == 0) objects->next_address = FIRST_ADDRESS;
    /* the highest address so far, so the table stays sorted */
    objects->items.items[objects->items.count++] =
        (spad__object){.address = objects->next_address, .bytes = bytes, .native = native};
    end_of_range(&objects->next_address, objects->next_address, bytes);
}

const spad__object *spad__objects_find(const spad__objects *objects, int64_t address) {
    size_t low = 0;
    size_t high = objects->items.count;
    while (low <
           high) { /* low: the place after the last object that begins at or below the address */
        const size_t middle = low + (high - low) / 2;
        if (objects->items.items[middle].address <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) return NULL;
    const spad__object *found = &objects->items.items[low - 1];
    return address - found->address < found->bytes ? found : NULL;
}

void spad__objects_remove(spad__objects *objects, const spad__object *object) {
    spad__object *items = objects->items.items;
    const size_t index = (size_t)(object - items);
    objects->items.count--;
    memmove(items + index, items + index + 1, (objects->items.count - index) * sizeof *items);
}
