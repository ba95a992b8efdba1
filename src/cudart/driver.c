/* SPDX-License-Identifier: Apache-2.0
 *
 * Entry points of the driver API, and entry points of the runtime API that lead to it: devices,
 * contexts, modules, launches, memory, entry points by name. A context is a handle without
 * contents.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cudart/cudart.h"

enum { DRIVER_CUDA = 13000, DRIVER_IMAGE = 1 << 30 };

static char driver_context;

/* ---- devices and contexts ------------------------------------------------------------------- */

SPAD__ENTRY(cuInit, unsigned flags) {
    (void)flags;
    spad__rt_enter();
    return spad__rt_leave_driver(SPAD__RT_SUCCESS);
}

SPAD__ENTRY(cuDriverGetVersion, int *version) {
    *version = DRIVER_CUDA;
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY(cuDeviceGetCount, int *count) {
    *count = 1;
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY(cuDeviceGet, int *device, int ordinal) {
    *device = 0;
    return ordinal == 0 ? SPAD__RT_SUCCESS : SPAD__RT_INVALID_DEVICE;
}

SPAD__ENTRY(cuDeviceGetName, char *name, int length, int device) {
    (void)device;
    spad__rt_enter();
    if (length > 0) snprintf(name, (size_t)length, "%s", spad__rt_device_name());
    return spad__rt_leave_driver(SPAD__RT_SUCCESS);
}

SPAD__ENTRY(cuDeviceGetAttribute, int *value, int attribute, int device) {
    spad__rt_enter();
    *value = spad__rt_device_attribute(attribute);
    return spad__rt_leave_driver(device == 0 ? SPAD__RT_SUCCESS : SPAD__RT_INVALID_DEVICE);
}

SPAD__ENTRY(cuDeviceComputeCapability, int *major, int *minor, int device) {
    (void)cuDeviceGetAttribute(major, 75, device);
    return cuDeviceGetAttribute(minor, 76, device);
}

SPAD__ENTRY(cuDeviceTotalMem_v2, size_t *bytes, int device) {
    (void)device;
    *bytes = (size_t)spad__rt_device_bytes();
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY(cuDeviceGetUuid_v2, void *uuid, int device) {
    memset(uuid, 0, 16);
    return device == 0 ? SPAD__RT_SUCCESS : SPAD__RT_INVALID_DEVICE;
}

SPAD__ENTRY(cuDevicePrimaryCtxRetain, void **context, int device) {
    *context = &driver_context;
    return device == 0 ? SPAD__RT_SUCCESS : SPAD__RT_INVALID_DEVICE;
}

SPAD__ENTRY(cuDevicePrimaryCtxRelease_v2, int device) {
    (void)device;
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY(cuDevicePrimaryCtxGetState, int device, unsigned *flags, int *active) {
    (void)device;
    *flags = 0;
    *active = 1;
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY(cuCtxCreate_v2, void **context, unsigned flags, int device) {
    (void)flags;
    return cuDevicePrimaryCtxRetain(context, device);
}

SPAD__ENTRY(cuCtxCreate_v4, void **context, void *parameters, unsigned flags, int device) {
    (void)parameters;
    (void)flags;
    return cuDevicePrimaryCtxRetain(context, device);
}

SPAD__ENTRY(cuCtxDestroy_v2, void *context) {
    (void)context;
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY(cuCtxGetCurrent, void **context) {
    *context = &driver_context;
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY(cuCtxSetCurrent, void *context) {
    (void)context;
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY(cuCtxPushCurrent_v2, void *context) {
    (void)context;
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY(cuCtxPopCurrent_v2, void **context) {
    if (context != NULL) *context = &driver_context;
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY(cuCtxGetDevice, int *device) {
    *device = 0;
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY(cuCtxSynchronize, void) {
    return SPAD__RT_SUCCESS;
}

/* ---- modules -------------------------------------------------------------------------------- */

static int load_image(void **out, const void *image) {
    spad__rt_module *module = image != NULL ? spad__rt_add_module(image, true) : NULL;
    *out = module;
    if (image == NULL) return SPAD__RT_INVALID_VALUE;
    if (module == NULL) return SPAD__RT_OUT_OF_MEMORY;
    return module->bytes > 0 ? SPAD__RT_SUCCESS : SPAD__RT_INVALID_IMAGE;
}

/* The whole of a file, with a NUL after it; NULL: it cannot be read. */
static char *read_image_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) return NULL;
    char *bytes = NULL;
    const bool sized = fseek(file, 0, SEEK_END) == 0;
    const long length = sized ? ftell(file) : -1;
    if (length >= 0 && length < DRIVER_IMAGE && fseek(file, 0, SEEK_SET) == 0)
        bytes = malloc((size_t)length + 1);
    if (bytes != NULL && fread(bytes, 1, (size_t)length, file) != (size_t)length) {
        free(bytes);
        bytes = NULL;
    }
    if (bytes != NULL) bytes[length] = '\0';
    fclose(file);
    return bytes;
}

SPAD__ENTRY(cuModuleLoadData, void **module, const void *image) {
    spad__rt_enter();
    return spad__rt_leave_driver(load_image(module, image));
}

SPAD__ENTRY(cuModuleLoadDataEx, void **module, const void *image, unsigned count, void *options,
            void **values) {
    (void)count, (void)options, (void)values;
    return cuModuleLoadData(module, image);
}

SPAD__ENTRY(cuModuleLoadFatBinary, void **module, const void *image) {
    return cuModuleLoadData(module, image);
}

SPAD__ENTRY(cuModuleLoad, void **module, const char *path) {
    char *image = read_image_file(path);
    const int code = cuModuleLoadData(module, image);
    free(image);
    return code;
}

SPAD__ENTRY(cuModuleUnload, void *module) {
    spad__rt_enter();
    if (!spad__rt_is_module(module)) return spad__rt_leave_driver(SPAD__RT_INVALID_HANDLE);
    spad__rt_unload(module);
    return spad__rt_leave_driver(SPAD__RT_SUCCESS);
}

SPAD__ENTRY(cuModuleGetFunction, void **function, void *module, const char *name) {
    spad__rt_enter();
    if (!spad__rt_is_module(module)) return spad__rt_leave_driver(SPAD__RT_INVALID_HANDLE);
    *function = spad__rt_named_function(module, name);
    return spad__rt_leave_driver(*function != NULL ? SPAD__RT_SUCCESS : SPAD__RT_NOT_FOUND);
}

SPAD__ENTRY(cuModuleGetGlobal_v2, uint64_t *address, size_t *bytes, void *module,
            const char *name) {
    spad__rt_enter();
    if (!spad__rt_is_module(module)) return spad__rt_leave_driver(SPAD__RT_INVALID_HANDLE);
    const spad__rt_variable *variable = spad__rt_named_variable(module, name);
    if (variable == NULL) return spad__rt_leave_driver(SPAD__RT_NOT_FOUND);
    if (address != NULL) *address = spad__rt_expose(variable);
    if (bytes != NULL) *bytes = (size_t)variable->bytes;
    return spad__rt_leave_driver(SPAD__RT_SUCCESS);
}

/* Libraries are modules, kernels are functions. */
SPAD__ENTRY(cuLibraryLoadData, void **library, const void *image, void *options, void **values,
            unsigned count, void *own, void **own_values, unsigned own_count) {
    (void)options, (void)values, (void)count, (void)own, (void)own_values, (void)own_count;
    return cuModuleLoadData(library, image);
}

SPAD__ENTRY(cuLibraryLoadFromFile, void **library, const char *path, void *options, void **values,
            unsigned count, void *own, void **own_values, unsigned own_count) {
    (void)options, (void)values, (void)count, (void)own, (void)own_values, (void)own_count;
    return cuModuleLoad(library, path);
}

SPAD__ENTRY(cuLibraryUnload, void *library) {
    return cuModuleUnload(library);
}

SPAD__ENTRY(cuLibraryGetKernel, void **kernel, void *library, const char *name) {
    return cuModuleGetFunction(kernel, library, name);
}

SPAD__ENTRY(cuLibraryGetModule, void **module, void *library) {
    *module = library;
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY(cuLibraryGetGlobal, uint64_t *address, size_t *bytes, void *library, const char *name) {
    return cuModuleGetGlobal_v2(address, bytes, library, name);
}

SPAD__ENTRY(cuKernelGetFunction, void **function, void *kernel) {
    *function = kernel;
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY(cudaLibraryLoadData, void **library, const void *image, void *options, void **values,
            unsigned count, void *own, void **own_values, unsigned own_count) {
    (void)options, (void)values, (void)count, (void)own, (void)own_values, (void)own_count;
    spad__rt_enter();
    return spad__rt_leave(load_image(library, image));
}

SPAD__ENTRY(cudaLibraryLoadFromFile, void **library, const char *path, void *options, void **values,
            unsigned count, void *own, void **own_values, unsigned own_count) {
    (void)options, (void)values, (void)count, (void)own, (void)own_values, (void)own_count;
    return cuModuleLoad(library, path);
}

SPAD__ENTRY(cudaLibraryUnload, void *library) {
    return cuModuleUnload(library);
}

SPAD__ENTRY(cudaLibraryGetKernel, void **kernel, void *library, const char *name) {
    return cuModuleGetFunction(kernel, library, name);
}

SPAD__ENTRY(cudaLibraryGetGlobal, void **address, size_t *bytes, void *library, const char *name) {
    uint64_t place = 0;
    const int code = cuModuleGetGlobal_v2(&place, bytes, library, name);
    if (address != NULL) *address = (void *)(uintptr_t)place;
    return code;
}

/* ---- functions and launches ----------------------------------------------------------------- */

SPAD__ENTRY(cuFuncSetAttribute, void *function, int attribute, int value) {
    spad__rt_enter();
    return spad__rt_leave_driver(
        spad__rt_set_function_attribute(spad__rt_find_function(function), attribute, value));
}

SPAD__ENTRY(cuFuncGetAttribute, int *value, int attribute, void *handle) {
    spad__rt_enter();
    const spad__rt_function *function = spad__rt_find_function(handle);
    if (function == NULL) return spad__rt_leave_driver(SPAD__RT_INVALID_HANDLE);
    *value = spad__rt_function_attribute(function, attribute);
    return spad__rt_leave_driver(SPAD__RT_SUCCESS);
}

SPAD__ENTRY(cuKernelSetAttribute, int attribute, int value, void *kernel, int device) {
    (void)device;
    return cuFuncSetAttribute(kernel, attribute, value);
}

SPAD__ENTRY(cuKernelGetAttribute, int *value, int attribute, void *kernel, int device) {
    (void)device;
    return cuFuncGetAttribute(value, attribute, kernel);
}

SPAD__ENTRY(cuFuncSetCacheConfig, void *function, int config) {
    (void)function;
    (void)config;
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY(cuFuncGetName, const char **name, void *handle) {
    spad__rt_enter();
    const spad__rt_function *function = spad__rt_find_function(handle);
    *name = function != NULL ? function->name : NULL;
    return spad__rt_leave_driver(function != NULL ? SPAD__RT_SUCCESS : SPAD__RT_INVALID_HANDLE);
}

SPAD__ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int *blocks, void *handle,
            int threads, size_t shared, unsigned flags) {
    (void)flags;
    spad__rt_enter();
    const spad__rt_function *function = spad__rt_find_function(handle);
    if (function == NULL) return spad__rt_leave_driver(SPAD__RT_INVALID_HANDLE);
    *blocks = spad__rt_occupancy(function, threads, shared);
    return spad__rt_leave_driver(SPAD__RT_SUCCESS);
}

SPAD__ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessor, int *blocks, void *handle, int threads,
            size_t shared) {
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, handle, threads, shared, 0);
}

/* CUlaunchConfig. */
typedef struct driver_configuration {
    unsigned grid[3];
    unsigned block[3];
    unsigned shared;
    void *stream;
    const spad__rt_attribute *attributes;
    unsigned count;
} driver_configuration;

/* The parameters as one buffer: pairs of a key and a value, ended by 0. */
static void take_extra(void *const *extra, const void **buffer, size_t *bytes) {
    for (; extra != NULL && extra[0] != NULL; extra += 2) {
        if (extra[0] == (void *)1) *buffer = extra[1];
        if (extra[0] == (void *)2) memcpy(bytes, extra[1], sizeof *bytes);
    }
}

SPAD__ENTRY_PTSZ(cuLaunchKernelEx, const void *configuration, void *handle, void **arguments,
                 void **extra) {
    const driver_configuration *c = configuration;
    const void *buffer = NULL;
    size_t bytes = 0;
    spad__rt_enter();
    spad__rt_launch launch = {.function = spad__rt_find_function(handle)};
    if (launch.function == NULL) return spad__rt_leave_driver(SPAD__RT_INVALID_HANDLE);
    launch.shared_bytes = c->shared;
    memcpy(launch.grid, c->grid, sizeof launch.grid);
    memcpy(launch.block, c->block, sizeof launch.block);
    spad__rt_take_attributes(&launch, c->attributes, c->count);
    take_extra(extra, &buffer, &bytes);
    return spad__rt_leave_driver(spad__rt_do_launch(&launch, arguments, buffer, bytes));
}

SPAD__ENTRY_PTSZ(cuLaunchKernel, void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                 unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                 void *stream, void **arguments, void **extra) {
    const driver_configuration c = {.grid = {grid_x, grid_y, grid_z},
                                    .block = {block_x, block_y, block_z},
                                    .shared = shared,
                                    .stream = stream};
    return cuLaunchKernelEx(&c, function, arguments, extra);
}

SPAD__ENTRY_PTSZ(cuLaunchCooperativeKernel, void *function, unsigned grid_x, unsigned grid_y,
                 unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                 unsigned shared, void *stream, void **arguments) {
    return cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared,
                          stream, arguments, NULL);
}

/* ---- entry points by name ------------------------------------------------------------------- */

/* NVIDIA's runtime asks for tables of the driver that are not public, and cannot go on without. */
SPAD__ENTRY(cuGetExportTable, const void **table, const void *id) {
    static bool noted; /* under the lock */
    (void)id;
    spad__rt_enter();
    *table = NULL;
    if (!noted)
        spad__rt_note(
            "NVIDIA's CUDA runtime, in the program or in a library such as cuBLAS, calls our "
            "driver, which does not work: build the program with 'nvcc -cudart shared', or "
            "use --preload where it finds another libcudart");
    noted = true;
    return spad__rt_leave_driver(SPAD__RT_NOT_SUPPORTED);
}

enum { QUERY_FOUND, QUERY_NO_SYMBOL };

static int find_entry(const char *name, void **out, int *status) {
    *out = name != NULL ? spad__rt_entry_point(name) : NULL;
    if (status != NULL) *status = *out != NULL ? QUERY_FOUND : QUERY_NO_SYMBOL;
    return *out != NULL ? SPAD__RT_SUCCESS : SPAD__RT_NOT_FOUND;
}

/* The runtime reports a missing symbol in *status alone. */
SPAD__ENTRY_PTSZ(cudaGetDriverEntryPointByVersion, const char *name, void **out, unsigned version,
                 unsigned long long flags, int *status) {
    (void)version;
    (void)flags;
    (void)find_entry(name, out, status);
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY_PTSZ(cudaGetDriverEntryPoint, const char *name, void **out, unsigned long long flags,
                 int *status) {
    return cudaGetDriverEntryPointByVersion(name, out, DRIVER_CUDA, flags, status);
}

SPAD__ENTRY(cuGetProcAddress_v2, const char *name, void **out, int version, uint64_t flags,
            int *status) {
    (void)version;
    (void)flags;
    return find_entry(name, out, status);
}

SPAD__ENTRY(cuGetProcAddress, const char *name, void **out, int version, uint64_t flags) {
    return cuGetProcAddress_v2(name, out, version, flags, NULL);
}
