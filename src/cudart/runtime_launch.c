/* SPDX-License-Identifier: Apache-2.0
 *
 * Entry points of the runtime API around kernels: what nvcc registers when a program starts, and
 * launches.
 */
#include <string.h>

#include "cudart/cudart.h"

/* ---- registration --------------------------------------------------------------------------- */

/* __fatBinC_Wrapper_t of fatbinary_section.h. */
typedef struct fatbin_wrapper {
    int mark;
    int version;
    const void *data;
    const void *file_or_fatbins;
} fatbin_wrapper;

enum { FATBIN_WRAPPER_MARK = 0x466243b1 };

__attribute__((visibility("default"))) void **__cudaRegisterFatBinary(void *wrapper);
void **__cudaRegisterFatBinary(void *wrapper) {
    const fatbin_wrapper *w = wrapper;
    spad__rt_module *module = NULL;
    spad__rt_enter();
    if (w != NULL && w->mark == FATBIN_WRAPPER_MARK) module = spad__rt_add_module(w->data, false);
    (void)spad__rt_leave_driver(SPAD__RT_SUCCESS);
    return (void **)module;
}

__attribute__((visibility("default"))) void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaRegisterFatBinaryEnd(void **handle) {
    (void)handle;
}

/* The image of a shared object is gone after this. */
__attribute__((visibility("default"))) void __cudaUnregisterFatBinary(void **handle);
void __cudaUnregisterFatBinary(void **handle) {
    spad__rt_enter();
    if (spad__rt_is_module(handle)) spad__rt_unload((spad__rt_module *)handle);
    (void)spad__rt_leave_driver(SPAD__RT_SUCCESS);
}

__attribute__((visibility("default"))) void
__cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int threads,
                       void *tid, void *bid, void *block, void *grid, int *warp);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int threads, void *tid, void *bid, void *block, void *grid, int *warp) {
    (void)device, (void)threads, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
    spad__rt_enter();
    if (spad__rt_is_module(handle) &&
        spad__rt_add_function((spad__rt_module *)handle, host, name) == NULL)
        spad__rt_note("kernel %s is not recorded: no host memory", name);
    (void)spad__rt_leave_driver(SPAD__RT_SUCCESS);
}

__attribute__((visibility("default"))) void __cudaRegisterVar(void **handle, char *host,
                                                              char *device, const char *name,
                                                              int external, size_t bytes,
                                                              int constant, int global);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
                       size_t bytes, int constant, int global) {
    (void)device, (void)external, (void)global;
    spad__rt_enter();
    if (spad__rt_is_module(handle))
        (void)spad__rt_add_variable((spad__rt_module *)handle, host, name, bytes, constant != 0);
    (void)spad__rt_leave_driver(SPAD__RT_SUCCESS);
}

/* The program reaches a managed variable through *host. */
__attribute__((visibility("default"))) void __cudaRegisterManagedVar(void **handle, void **host,
                                                                     char *device, const char *name,
                                                                     int external, size_t bytes,
                                                                     int constant, int global);
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
                              int external, size_t bytes, int constant, int global) {
    (void)device, (void)external, (void)constant, (void)global;
    spad__rt_enter();
    spad__rt_variable *variable =
        spad__rt_is_module(handle)
            ? spad__rt_add_variable((spad__rt_module *)handle, host, name, bytes, false)
            : NULL;
    if (variable != NULL) {
        variable->address = spad__rt_allocate(SPAD__RT_HOST, bytes);
        *host = (void *)(uintptr_t)variable->address;
    }
    (void)spad__rt_leave_driver(SPAD__RT_SUCCESS);
}

__attribute__((visibility("default"))) void __cudaRegisterHostVar(void **handle, const char *name,
                                                                  char *host, size_t bytes);
void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t bytes) {
    __cudaRegisterVar(handle, host, NULL, name, 0, bytes, 0, 0);
}

__attribute__((visibility("default"))) char __cudaInitModule(void **handle);
char __cudaInitModule(void **handle) {
    (void)handle;
    return 1;
}

/* ---- <<<...>>> ------------------------------------------------------------------------------ */

typedef struct call_configuration {
    spad__rt_dim3 grid;
    spad__rt_dim3 block;
    size_t shared;
    void *stream;
} call_configuration;

enum { CALLS_OPEN = 16 };

static _Thread_local call_configuration open_calls[CALLS_OPEN];
static _Thread_local unsigned open_call_count;

__attribute__((visibility("default"))) unsigned
__cudaPushCallConfiguration(spad__rt_dim3 grid, spad__rt_dim3 block, size_t shared, void *stream);
unsigned __cudaPushCallConfiguration(spad__rt_dim3 grid, spad__rt_dim3 block, size_t shared,
                                     void *stream) {
    if (open_call_count == CALLS_OPEN) return SPAD__RT_INVALID_CONFIGURATION;
    open_calls[open_call_count++] = (call_configuration){grid, block, shared, stream};
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY(__cudaPopCallConfiguration, spad__rt_dim3 *grid, spad__rt_dim3 *block, size_t *shared,
            void *stream) {
    if (open_call_count == 0) return SPAD__RT_INVALID_CONFIGURATION;
    const call_configuration *call = &open_calls[--open_call_count];
    *grid = call->grid;
    *block = call->block;
    *shared = call->shared;
    memcpy(stream, &call->stream, sizeof call->stream);
    return SPAD__RT_SUCCESS;
}

static int launch_function(const void *kernel, spad__rt_dim3 grid, spad__rt_dim3 block,
                           size_t shared, const spad__rt_attribute *attributes, unsigned count,
                           void **arguments) {
    spad__rt_enter();
    spad__rt_function *function = spad__rt_find_function(kernel);
    if (function == NULL) return spad__rt_leave(SPAD__RT_INVALID_FUNCTION);
    spad__rt_launch launch = {.function = function,
                              .grid = {grid.x, grid.y, grid.z},
                              .block = {block.x, block.y, block.z},
                              .shared_bytes = shared};
    spad__rt_take_attributes(&launch, attributes, count);
    return spad__rt_leave(spad__rt_do_launch(&launch, arguments, NULL, 0));
}

SPAD__ENTRY_PTSZ(cudaLaunchKernel, const void *kernel, spad__rt_dim3 grid, spad__rt_dim3 block,
                 void **arguments, size_t shared, void *stream) {
    (void)stream;
    return launch_function(kernel, grid, block, shared, NULL, 0, arguments);
}

SPAD__ENTRY_PTSZ(__cudaLaunchKernel, const void *kernel, spad__rt_dim3 grid, spad__rt_dim3 block,
                 void **arguments, size_t shared, void *stream) {
    (void)stream;
    return launch_function(kernel, grid, block, shared, NULL, 0, arguments);
}

SPAD__ENTRY_PTSZ(cudaLaunchCooperativeKernel, const void *kernel, spad__rt_dim3 grid,
                 spad__rt_dim3 block, void **arguments, size_t shared, void *stream) {
    (void)stream;
    return launch_function(kernel, grid, block, shared, NULL, 0, arguments);
}

/* cudaLaunchConfig_t. */
typedef struct launch_configuration {
    spad__rt_dim3 grid;
    spad__rt_dim3 block;
    size_t shared;
    void *stream;
    const spad__rt_attribute *attributes;
    unsigned count;
} launch_configuration;

SPAD__ENTRY_PTSZ(cudaLaunchKernelExC, const void *configuration, const void *kernel,
                 void **arguments) {
    const launch_configuration *c = configuration;
    if (c == NULL) return SPAD__RT_INVALID_VALUE;
    return launch_function(kernel, c->grid, c->block, c->shared, c->attributes, c->count,
                           arguments);
}

SPAD__ENTRY(__cudaGetKernel, void **out, const void *host) {
    spad__rt_enter();
    *out = spad__rt_find_function(host);
    return spad__rt_leave(*out != NULL ? SPAD__RT_SUCCESS : SPAD__RT_INVALID_FUNCTION);
}

SPAD__ENTRY(cudaGetKernel, void **out, const void *host) {
    return __cudaGetKernel(out, host);
}

SPAD__ENTRY(cudaGetFuncBySymbol, void **out, const void *host) {
    return __cudaGetKernel(out, host);
}

/* ---- attributes of functions ---------------------------------------------------------------- */

SPAD__ENTRY(cudaFuncSetAttribute, const void *kernel, int attribute, int value) {
    spad__rt_enter();
    return spad__rt_leave(
        spad__rt_set_function_attribute(spad__rt_find_function(kernel), attribute, value));
}

SPAD__ENTRY(cudaKernelSetAttributeForDevice, const void *kernel, int attribute, int value,
            int device) {
    (void)device;
    return cudaFuncSetAttribute(kernel, attribute, value);
}

SPAD__ENTRY(cudaFuncSetCacheConfig, const void *kernel, int config) {
    (void)kernel;
    (void)config;
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY(cudaFuncGetName, const char **name, const void *kernel) {
    spad__rt_enter();
    const spad__rt_function *function = spad__rt_find_function(kernel);
    *name = function != NULL ? function->name : NULL;
    return spad__rt_leave(function != NULL ? SPAD__RT_SUCCESS : SPAD__RT_INVALID_FUNCTION);
}

/* cudaFuncAttributes of CUDA 13. */
typedef struct function_attributes {
    size_t shared_bytes;
    size_t constant_bytes;
    size_t local_bytes;
    int threads;
    int registers;
    int ptx_version;
    int binary_version;
    int cache_mode;
    int dynamic_shared;
    int rest[23];
} function_attributes;

SPAD__ENTRY(cudaFuncGetAttributes, void *out, const void *kernel) {
    spad__rt_enter();
    const spad__rt_function *f = spad__rt_find_function(kernel);
    if (f == NULL) return spad__rt_leave(SPAD__RT_INVALID_FUNCTION);
    const function_attributes attributes = {.threads = spad__rt_function_attribute(f, 0),
                                            .shared_bytes =
                                                (size_t)spad__rt_function_attribute(f, 1),
                                            .registers = spad__rt_function_attribute(f, 4),
                                            .ptx_version = spad__rt_function_attribute(f, 5),
                                            .binary_version = spad__rt_function_attribute(f, 6),
                                            .dynamic_shared = spad__rt_function_attribute(f, 8)};
    memcpy(out, &attributes, sizeof attributes);
    return spad__rt_leave(SPAD__RT_SUCCESS);
}

/* ---- occupancy ------------------------------------------------------------------------------ */

SPAD__ENTRY(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int *blocks, const void *kernel,
            int threads, size_t shared, unsigned flags) {
    (void)flags;
    spad__rt_enter();
    const spad__rt_function *function = spad__rt_find_function(kernel);
    if (function == NULL) return spad__rt_leave(SPAD__RT_INVALID_FUNCTION);
    *blocks = spad__rt_occupancy(function, threads, shared);
    return spad__rt_leave(SPAD__RT_SUCCESS);
}

SPAD__ENTRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor, int *blocks, const void *kernel,
            int threads, size_t shared) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, kernel, threads, shared,
                                                                  0);
}

SPAD__ENTRY(cudaOccupancyMaxActiveClusters, int *clusters, const void *kernel,
            const void *configuration) {
    const launch_configuration *c = configuration;
    spad__rt_enter();
    const spad__rt_function *function = spad__rt_find_function(kernel);
    if (function == NULL) return spad__rt_leave(SPAD__RT_INVALID_FUNCTION);
    spad__rt_launch launch = {.cluster = {1, 1, 1}};
    spad__rt_take_attributes(&launch, c->attributes, c->count);
    const int size = (int)(launch.cluster[0] * launch.cluster[1] * launch.cluster[2]);
    const int threads = (int)(c->block.x * c->block.y * c->block.z);
    const int blocks = spad__rt_occupancy(function, threads, c->shared);
    *clusters = size > 0 ? blocks * spad__rt_device_attribute(16) / size : 0;
    return spad__rt_leave(SPAD__RT_SUCCESS);
}

SPAD__ENTRY(cudaOccupancyMaxPotentialClusterSize, int *size, const void *kernel,
            const void *configuration) {
    (void)kernel;
    (void)configuration;
    *size = 8;
    return SPAD__RT_SUCCESS;
}
