/* SPDX-License-Identifier: Apache-2.0
 *
 * Entry points of the driver API around memory.
 */
#include <string.h>

#include "cudart/cudart.h"

static int driver_allocate(uint64_t *out, spad__rt_kind kind, size_t bytes) {
    spad__rt_enter();
    *out = bytes > 0 ? spad__rt_allocate(kind, bytes) : 0;
    if (bytes == 0) return spad__rt_leave_driver(SPAD__RT_INVALID_VALUE);
    return spad__rt_leave_driver(*out != 0 ? SPAD__RT_SUCCESS : SPAD__RT_OUT_OF_MEMORY);
}

SPAD__ENTRY(cuMemAlloc_v2, uint64_t *out, size_t bytes) {
    return driver_allocate(out, SPAD__RT_DEVICE, bytes);
}

SPAD__ENTRY_PTSZ(cuMemAllocAsync, uint64_t *out, size_t bytes, void *stream) {
    (void)stream;
    return driver_allocate(out, SPAD__RT_DEVICE, bytes);
}

SPAD__ENTRY(cuMemAllocManaged, uint64_t *out, size_t bytes, unsigned flags) {
    (void)flags;
    return driver_allocate(out, SPAD__RT_HOST, bytes);
}

SPAD__ENTRY(cuMemHostAlloc, void **out, size_t bytes, unsigned flags) {
    uint64_t address = 0;
    (void)flags;
    const int code = driver_allocate(&address, SPAD__RT_HOST, bytes);
    *out = (void *)(uintptr_t)address;
    return code;
}

SPAD__ENTRY(cuMemAllocHost_v2, void **out, size_t bytes) {
    return cuMemHostAlloc(out, bytes, 0);
}

SPAD__ENTRY(cuMemFree_v2, uint64_t address) {
    spad__rt_enter();
    const int code = address != 0 ? spad__rt_release(address) : SPAD__RT_SUCCESS;
    return spad__rt_leave_driver(code);
}

SPAD__ENTRY_PTSZ(cuMemFreeAsync, uint64_t address, void *stream) {
    (void)stream;
    return cuMemFree_v2(address);
}

SPAD__ENTRY(cuMemFreeHost, void *pointer) {
    return cuMemFree_v2((uint64_t)(uintptr_t)pointer);
}

SPAD__ENTRY(cuMemGetInfo_v2, size_t *left, size_t *total) {
    spad__rt_enter();
    *left = (size_t)spad__rt_free_bytes();
    *total = (size_t)spad__rt_device_bytes();
    return spad__rt_leave_driver(SPAD__RT_SUCCESS);
}

SPAD__ENTRY(cuMemGetAddressRange_v2, uint64_t *base, size_t *bytes, uint64_t address) {
    spad__rt_enter();
    const spad__rt_block *block = spad__rt_find_block(address);
    if (block == NULL) return spad__rt_leave_driver(SPAD__RT_NOT_FOUND);
    if (base != NULL) *base = block->address;
    if (bytes != NULL) *bytes = (size_t)block->bytes;
    return spad__rt_leave_driver(SPAD__RT_SUCCESS);
}

enum {
    POINTER_CONTEXT = 1,
    POINTER_MEMORY_TYPE = 2,
    POINTER_DEVICE_POINTER = 3,
    POINTER_HOST_POINTER = 4,
    POINTER_IS_MANAGED = 8,
    POINTER_DEVICE_ORDINAL = 9
};

SPAD__ENTRY(cuPointerGetAttribute, void *out, int attribute, uint64_t address) {
    spad__rt_enter();
    const spad__rt_block *block = spad__rt_find_block(address);
    if (block == NULL) return spad__rt_leave_driver(SPAD__RT_INVALID_VALUE);
    const bool device = block->kind == SPAD__RT_DEVICE;
    int code = SPAD__RT_SUCCESS;
    switch (attribute) {
    case POINTER_MEMORY_TYPE: memcpy(out, &(unsigned){device ? 2 : 1}, sizeof(unsigned)); break;
    case POINTER_DEVICE_POINTER:
    case POINTER_HOST_POINTER: memcpy(out, &address, sizeof address); break;
    case POINTER_IS_MANAGED: memcpy(out, &(unsigned){!device}, sizeof(unsigned)); break;
    case POINTER_DEVICE_ORDINAL: memcpy(out, &(int){0}, sizeof(int)); break;
    default: code = SPAD__RT_NOT_SUPPORTED;
    }
    return spad__rt_leave_driver(code);
}

/* ---- copies --------------------------------------------------------------------------------- */

static int driver_copy(uint64_t to, uint64_t from, size_t bytes) {
    spad__rt_enter();
    return spad__rt_leave_driver(spad__rt_copy(to, from, bytes));
}

SPAD__ENTRY_PTDS(cuMemcpy, uint64_t to, uint64_t from, size_t bytes) {
    return driver_copy(to, from, bytes);
}

SPAD__ENTRY_PTSZ(cuMemcpyAsync, uint64_t to, uint64_t from, size_t bytes, void *stream) {
    (void)stream;
    return driver_copy(to, from, bytes);
}

SPAD__ENTRY_PTDS(cuMemcpyHtoD_v2, uint64_t to, const void *from, size_t bytes) {
    return driver_copy(to, (uint64_t)(uintptr_t)from, bytes);
}

SPAD__ENTRY_PTSZ(cuMemcpyHtoDAsync_v2, uint64_t to, const void *from, size_t bytes, void *stream) {
    (void)stream;
    return driver_copy(to, (uint64_t)(uintptr_t)from, bytes);
}

SPAD__ENTRY_PTDS(cuMemcpyDtoH_v2, void *to, uint64_t from, size_t bytes) {
    return driver_copy((uint64_t)(uintptr_t)to, from, bytes);
}

SPAD__ENTRY_PTSZ(cuMemcpyDtoHAsync_v2, void *to, uint64_t from, size_t bytes, void *stream) {
    (void)stream;
    return driver_copy((uint64_t)(uintptr_t)to, from, bytes);
}

SPAD__ENTRY_PTDS(cuMemcpyDtoD_v2, uint64_t to, uint64_t from, size_t bytes) {
    return driver_copy(to, from, bytes);
}

SPAD__ENTRY_PTSZ(cuMemcpyDtoDAsync_v2, uint64_t to, uint64_t from, size_t bytes, void *stream) {
    (void)stream;
    return driver_copy(to, from, bytes);
}

/* ---- memset --------------------------------------------------------------------------------- */

static int driver_fill(uint64_t to, uint32_t value, unsigned width, size_t count) {
    spad__rt_enter();
    return spad__rt_leave_driver(spad__rt_fill(to, value, width, count));
}

SPAD__ENTRY_PTDS(cuMemsetD8_v2, uint64_t to, unsigned char value, size_t count) {
    return driver_fill(to, value, 1, count);
}

SPAD__ENTRY_PTSZ(cuMemsetD8Async, uint64_t to, unsigned char value, size_t count, void *stream) {
    (void)stream;
    return driver_fill(to, value, 1, count);
}

SPAD__ENTRY_PTDS(cuMemsetD16_v2, uint64_t to, unsigned short value, size_t count) {
    return driver_fill(to, value, 2, count);
}

SPAD__ENTRY_PTSZ(cuMemsetD16Async, uint64_t to, unsigned short value, size_t count, void *stream) {
    (void)stream;
    return driver_fill(to, value, 2, count);
}

SPAD__ENTRY_PTDS(cuMemsetD32_v2, uint64_t to, unsigned value, size_t count) {
    return driver_fill(to, value, 4, count);
}

SPAD__ENTRY_PTSZ(cuMemsetD32Async, uint64_t to, unsigned value, size_t count, void *stream) {
    (void)stream;
    return driver_fill(to, value, 4, count);
}
