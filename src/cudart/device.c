/* SPDX-License-Identifier: Apache-2.0
 *
 * The device that programs see: one H200, or for code of another chip one with the same sizes and
 * the compute capability of that chip.
 *
 * Reference: NVIDIA H200 data sheet; CUDA C++ Programming Guide 13.0, tables of compute
 * capabilities.
 */
#include <string.h>

#include "cudart/cudart.h"

enum {
    DEVICE_SHARED = 227 << 10, /* of one block, at most */
    DEVICE_SHARED_SM = 228 << 10,
    DEVICE_SHARED_RESERVED = 1 << 10,
    DEVICE_SMS = 132,
    DEVICE_SM_THREADS = 2048,
    DEVICE_SM_BLOCKS = 32,
    DEVICE_WARP = 32,
    DEVICE_CUDA = 13000
};

const char *spad__rt_device_name(void) {
    return spad__rt_architecture() == 90 ? "spad capture (as NVIDIA H200)" : "spad capture";
}

/* By number of cudaDeviceAttr and CUdevice_attribute. */
static const int device_attributes[] = {
    [1] = 1024, /* threads per block */
    [2] = 1024,
    [3] = 1024,
    [4] = 64,
    [5] = INT32_MAX,
    [6] = UINT16_MAX,
    [7] = UINT16_MAX,
    [8] = 48 << 10, /* shared memory per block */
    [9] = 64 << 10, /* constant memory */
    [10] = DEVICE_WARP,
    [11] = INT32_MAX, /* pitch */
    [12] = 65536,     /* registers per block */
    [13] = 1980000,   /* kHz */
    [14] = 512,       /* texture alignment */
    [15] = 1,         /* copies overlap */
    [16] = DEVICE_SMS,
    [19] = 1,        /* maps host memory */
    [31] = 1,        /* concurrent kernels */
    [32] = 1,        /* ECC */
    [36] = 3201000,  /* memory, kHz */
    [37] = 6144,     /* bus bits */
    [38] = 62914560, /* L2 */
    [39] = DEVICE_SM_THREADS,
    [40] = 3,  /* copy engines */
    [41] = 1,  /* unified addresses */
    [51] = 32, /* texture pitch alignment */
    [78] = 1,  /* stream priorities */
    [79] = 1,
    [80] = 1, /* L1 caches */
    [81] = DEVICE_SHARED_SM,
    [82] = 65536, /* registers per multiprocessor */
    [83] = 1,     /* managed memory */
    [86] = 0,
    [87] = 2,
    [89] = 1, /* concurrent managed access */
    [90] = 1, /* compute preemption */
    [91] = 1, /* host pointers of registered memory */
    [95] = 1, /* cooperative launch */
    [97] = DEVICE_SHARED,
    [99] = 1, /* registers host memory */
    [106] = DEVICE_SM_BLOCKS,
    [108] = 39321600, /* persisting L2 */
    [109] = 134213632,
    [111] = DEVICE_SHARED_RESERVED,
    [115] = 1, /* memory pools */
    [120] = 1, /* clusters */
    [126] = 4  /* memory synchronisation domains */
};

int spad__rt_device_attribute(int attribute) {
    const int count = (int)(sizeof device_attributes / sizeof *device_attributes);
    if (attribute == 75) return spad__rt_architecture() / 10;
    if (attribute == 76) return spad__rt_architecture() % 10;
    return attribute > 0 && attribute < count ? device_attributes[attribute] : 0;
}

/* ---- devices -------------------------------------------------------------------------------- */

SPAD__ENTRY(cudaGetDeviceCount, int *count) {
    spad__rt_enter();
    *count = 1;
    return spad__rt_leave(SPAD__RT_SUCCESS);
}

SPAD__ENTRY(cudaGetDevice, int *device) {
    spad__rt_enter();
    *device = 0;
    return spad__rt_leave(SPAD__RT_SUCCESS);
}

SPAD__ENTRY(cudaSetDevice, int device) {
    spad__rt_enter();
    return spad__rt_leave(device == 0 ? SPAD__RT_SUCCESS : SPAD__RT_INVALID_DEVICE);
}

SPAD__ENTRY(cudaInitDevice, int device, unsigned device_flags, unsigned flags) {
    (void)device_flags;
    (void)flags;
    return cudaSetDevice(device);
}

SPAD__ENTRY(cudaSetDeviceFlags, unsigned flags) {
    (void)flags;
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY(cudaGetDeviceFlags, unsigned *flags) {
    *flags = 0;
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY(cudaDeviceGetAttribute, int *value, int attribute, int device) {
    spad__rt_enter();
    *value = spad__rt_device_attribute(attribute);
    return spad__rt_leave(device == 0 ? SPAD__RT_SUCCESS : SPAD__RT_INVALID_DEVICE);
}

SPAD__ENTRY(cudaDriverGetVersion, int *version) {
    *version = DEVICE_CUDA;
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY(cudaRuntimeGetVersion, int *version) {
    *version = DEVICE_CUDA;
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY(cudaDeviceSynchronize, void) {
    spad__rt_enter();
    return spad__rt_leave(SPAD__RT_SUCCESS);
}

SPAD__ENTRY(cudaDeviceReset, void) {
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY(cudaDeviceSetLimit, int limit, size_t value) {
    (void)limit;
    (void)value;
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY(cudaDeviceGetLimit, size_t *value, int limit) {
    *value = limit == 2 ? 8 << 20 : 1024; /* heap; stack and others */
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY(cudaDeviceSetCacheConfig, int config) {
    (void)config;
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY(cudaDeviceCanAccessPeer, int *can, int device, int peer) {
    (void)device;
    (void)peer;
    *can = 0;
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY(cudaDeviceGetStreamPriorityRange, int *least, int *greatest) {
    if (least != NULL) *least = 0;
    if (greatest != NULL) *greatest = -5;
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY(cudaDeviceGetDefaultMemPool, void **pool, int device) {
    static char default_pool;
    *pool = &default_pool;
    return device == 0 ? SPAD__RT_SUCCESS : SPAD__RT_INVALID_DEVICE;
}

SPAD__ENTRY(cudaMemPoolSetAttribute, void *pool, int attribute, void *value) {
    (void)pool;
    (void)attribute;
    (void)value;
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY(cudaProfilerStart, void) {
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY(cudaProfilerStop, void) {
    return SPAD__RT_SUCCESS;
}

/* cudaDeviceProp of CUDA 13. */
typedef struct device_properties {
    char name[256];
    char ids[24]; /* UUID and LUID */
    unsigned node_mask;
    size_t global_bytes;
    size_t shared_bytes;
    int registers;
    int warp;
    size_t pitch;
    int threads;
    int block[3];
    int grid[3];
    size_t constant_bytes;
    int major;
    int minor;
    size_t texture_alignment;
    size_t texture_pitch_alignment;
    int multiprocessors;
    int integrated;
    int maps_host_memory;
    int textures[25];
    int surfaces[14];
    size_t surface_alignment;
    int concurrent_kernels;
    int ecc;
    int pci[3];
    int tcc;
    int copy_engines;
    int unified_addresses;
    int bus_bits;
    int l2_bytes;
    int persisting_l2_bytes;
    int sm_threads;
    int stream_priorities;
    int global_l1;
    int local_l1;
    size_t sm_shared_bytes;
    int sm_registers;
    int managed;
    int multi_gpu_board[2];
    int native_atomics;
    int pageable;
    int concurrent_managed;
    int preemption;
    int host_pointers;
    int cooperative;
    size_t shared_optin;
    int pageable_tables;
    int direct_managed;
    int sm_blocks;
    int window_bytes;
    size_t reserved_shared;
    int registers_host_memory;
    int sparse;
    int registers_read_only;
    int semaphores;
    int pools;
    int rdma[4];
    int deferred;
    int ipc_events;
    int clusters;
    int rest[64];
} device_properties;

static void fill_sizes(device_properties *p) {
    p->global_bytes = (size_t)spad__rt_device_bytes();
    p->shared_bytes = (size_t)device_attributes[8];
    p->registers = device_attributes[12];
    p->warp = DEVICE_WARP;
    p->pitch = (size_t)device_attributes[11];
    p->threads = device_attributes[1];
    for (int d = 0; d < 3; d++) {
        p->block[d] = device_attributes[2 + d];
        p->grid[d] = device_attributes[5 + d];
    }
    p->constant_bytes = (size_t)device_attributes[9];
    p->texture_alignment = (size_t)device_attributes[14];
    p->texture_pitch_alignment = (size_t)device_attributes[51];
    p->surface_alignment = (size_t)device_attributes[14];
    p->bus_bits = device_attributes[37];
    p->l2_bytes = device_attributes[38];
    p->persisting_l2_bytes = device_attributes[108];
    p->sm_threads = DEVICE_SM_THREADS;
    p->sm_shared_bytes = DEVICE_SHARED_SM;
    p->sm_registers = device_attributes[82];
    p->shared_optin = DEVICE_SHARED;
    p->sm_blocks = DEVICE_SM_BLOCKS;
    p->window_bytes = device_attributes[109];
    p->reserved_shared = DEVICE_SHARED_RESERVED;
}

SPAD__ENTRY(cudaGetDeviceProperties, void *out, int device) {
    spad__rt_enter();
    if (device != 0) return spad__rt_leave(SPAD__RT_INVALID_DEVICE);
    device_properties p = {.multiprocessors = DEVICE_SMS,
                           .major = spad__rt_device_attribute(75),
                           .minor = spad__rt_device_attribute(76),
                           .maps_host_memory = 1,
                           .concurrent_kernels = 1,
                           .ecc = 1,
                           .copy_engines = device_attributes[40],
                           .unified_addresses = 1,
                           .stream_priorities = 1,
                           .global_l1 = 1,
                           .local_l1 = 1,
                           .managed = 1,
                           .concurrent_managed = 1,
                           .preemption = 1,
                           .host_pointers = 1,
                           .cooperative = 1,
                           .registers_host_memory = 1,
                           .pools = 1,
                           .clusters = 1};
    memcpy(p.name, spad__rt_device_name(), strlen(spad__rt_device_name()));
    fill_sizes(&p);
    memcpy(out, &p, sizeof p);
    return spad__rt_leave(SPAD__RT_SUCCESS);
}

/* ---- functions ------------------------------------------------------------------------------ */

static spad_ptx_kernel kernel_of(const spad__rt_function *function) {
    size_t number;
    if (!spad__rt_read_kernel(function, &number)) return (spad_ptx_kernel){0};
    return spad_ptx_get_kernel(function->module->ptx, number);
}

int spad__rt_occupancy(const spad__rt_function *function, int threads, uint64_t dynamic_shared) {
    if (threads < 1 || threads > 1024) return 0;
    const uint64_t shared = dynamic_shared + (uint64_t)kernel_of(function).shared_bytes;
    const int rounded = (threads + DEVICE_WARP - 1) / DEVICE_WARP * DEVICE_WARP;
    const uint64_t by_shared = DEVICE_SHARED_SM / (shared + DEVICE_SHARED_RESERVED);
    int blocks = DEVICE_SM_THREADS / rounded;
    if (blocks > DEVICE_SM_BLOCKS) blocks = DEVICE_SM_BLOCKS;
    return by_shared < (uint64_t)blocks ? (int)by_shared : blocks;
}

enum {
    FUNCTION_THREADS = 0,
    FUNCTION_SHARED = 1,
    FUNCTION_REGISTERS = 4,
    FUNCTION_PTX_VERSION = 5,
    FUNCTION_BINARY_VERSION = 6,
    FUNCTION_DYNAMIC_SHARED = 8
};

int spad__rt_function_attribute(const spad__rt_function *function, int attribute) {
    const spad_ptx_kernel kernel = kernel_of(function);
    int threads = kernel.most_threads[0];
    for (int d = 1; d < 3 && threads > 0; d++) {
        if (kernel.most_threads[d] > 1) threads *= kernel.most_threads[d];
    }
    switch (attribute) {
    case FUNCTION_THREADS: return threads > 0 && threads < 1024 ? threads : 1024;
    case FUNCTION_SHARED: return (int)kernel.shared_bytes;
    case FUNCTION_REGISTERS: return threads > 512 || threads == 0 ? 64 : 128;
    case FUNCTION_PTX_VERSION:
    case FUNCTION_BINARY_VERSION: return spad__rt_architecture();
    case FUNCTION_DYNAMIC_SHARED:
        return function->most_dynamic_shared > 0 ? (int)function->most_dynamic_shared
                                                 : device_attributes[8];
    default: return 0;
    }
}

int spad__rt_set_function_attribute(spad__rt_function *function, int attribute, int value) {
    if (function == NULL) return SPAD__RT_INVALID_FUNCTION;
    if (attribute != FUNCTION_DYNAMIC_SHARED) return SPAD__RT_SUCCESS;
    if (value < 0 || value > DEVICE_SHARED - kernel_of(function).shared_bytes)
        return SPAD__RT_INVALID_VALUE;
    function->most_dynamic_shared = (uint64_t)value;
    return SPAD__RT_SUCCESS;
}
