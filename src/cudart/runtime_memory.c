/* SPDX-License-Identifier: Apache-2.0
 *
 * Entry points of the runtime API around memory. Nothing runs, so every copy is done when it is
 * asked for, whatever its stream.
 */
#include <string.h>

#include "cudart/cudart.h"

enum { MEMORY_PITCH = 512 };

static uint64_t number_of(const void *pointer) {
    return (uint64_t)(uintptr_t)pointer;
}

/* ---- allocation ----------------------------------------------------------------------------- */

static int allocate_into(void **out, spad__rt_kind kind, size_t bytes) {
    if (out == NULL) return spad__rt_leave(SPAD__RT_INVALID_VALUE);
    *out = NULL;
    if (bytes == 0) return spad__rt_leave(SPAD__RT_SUCCESS);
    *out = (void *)(uintptr_t)spad__rt_allocate(kind, bytes);
    return spad__rt_leave(*out != NULL ? SPAD__RT_SUCCESS : SPAD__RT_OUT_OF_MEMORY);
}

SPAD__ENTRY(cudaMalloc, void **out, size_t bytes) {
    spad__rt_enter();
    return allocate_into(out, SPAD__RT_DEVICE, bytes);
}

SPAD__ENTRY_PTSZ(cudaMallocAsync, void **out, size_t bytes, void *stream) {
    (void)stream;
    return cudaMalloc(out, bytes);
}

SPAD__ENTRY_PTSZ(cudaMallocFromPoolAsync, void **out, size_t bytes, void *pool, void *stream) {
    (void)pool;
    (void)stream;
    return cudaMalloc(out, bytes);
}

SPAD__ENTRY(cudaMallocManaged, void **out, size_t bytes, unsigned flags) {
    (void)flags;
    spad__rt_enter();
    return allocate_into(out, SPAD__RT_HOST, bytes);
}

SPAD__ENTRY(cudaHostAlloc, void **out, size_t bytes, unsigned flags) {
    return cudaMallocManaged(out, bytes, flags);
}

SPAD__ENTRY(cudaMallocHost, void **out, size_t bytes) {
    return cudaMallocManaged(out, bytes, 0);
}

SPAD__ENTRY(cudaMallocPitch, void **out, size_t *pitch, size_t width, size_t height) {
    if (pitch == NULL || width > SIZE_MAX / 2 || (height > 0 && width > SIZE_MAX / 2 / height))
        return SPAD__RT_INVALID_VALUE;
    *pitch = (width + MEMORY_PITCH - 1) / MEMORY_PITCH * MEMORY_PITCH;
    return cudaMalloc(out, *pitch * height);
}

/* cudaPitchedPtr and cudaExtent. */
typedef struct pitched {
    void *pointer;
    size_t pitch, width, height;
} pitched;

typedef struct extent {
    size_t width, height, depth;
} extent;

SPAD__ENTRY(cudaMalloc3D, void *out, extent e) {
    pitched p = {.width = e.width, .height = e.height};
    if (e.depth > 0 && e.height > SIZE_MAX / e.depth) return SPAD__RT_INVALID_VALUE;
    const int code = cudaMallocPitch(&p.pointer, &p.pitch, e.width, e.height * e.depth);
    if (code == SPAD__RT_SUCCESS) memcpy(out, &p, sizeof p);
    return code;
}

SPAD__ENTRY(cudaFree, void *pointer) {
    spad__rt_enter();
    if (pointer == NULL) return spad__rt_leave(SPAD__RT_SUCCESS);
    return spad__rt_leave(spad__rt_release(number_of(pointer)));
}

SPAD__ENTRY_PTSZ(cudaFreeAsync, void *pointer, void *stream) {
    (void)stream;
    return cudaFree(pointer);
}

SPAD__ENTRY(cudaFreeHost, void *pointer) {
    return cudaFree(pointer);
}

SPAD__ENTRY(cudaHostRegister, void *pointer, size_t bytes, unsigned flags) {
    (void)flags;
    spad__rt_enter();
    return spad__rt_leave(spad__rt_register(pointer, bytes));
}

SPAD__ENTRY(cudaHostUnregister, void *pointer) {
    return cudaFree(pointer);
}

SPAD__ENTRY(cudaHostGetDevicePointer, void **out, void *host, unsigned flags) {
    (void)flags;
    spad__rt_enter();
    *out = host;
    const bool known = spad__rt_find_block(number_of(host)) != NULL;
    return spad__rt_leave(known ? SPAD__RT_SUCCESS : SPAD__RT_INVALID_VALUE);
}

SPAD__ENTRY(cudaMemGetInfo, size_t *left, size_t *total) {
    spad__rt_enter();
    *left = (size_t)spad__rt_free_bytes();
    *total = (size_t)spad__rt_device_bytes();
    return spad__rt_leave(SPAD__RT_SUCCESS);
}

/* cudaPointerAttributes: 0 not registered, 1 host, 2 device, 3 managed. */
typedef struct pointer_attributes {
    int type;
    int device;
    void *device_pointer;
    void *host_pointer;
    long rest[8];
} pointer_attributes;

SPAD__ENTRY(cudaPointerGetAttributes, void *out, const void *pointer) {
    spad__rt_enter();
    void *place = (void *)(uintptr_t)pointer;
    const spad__rt_block *block = spad__rt_find_block(number_of(pointer));
    pointer_attributes a = {.host_pointer = place};
    if (block != NULL && block->kind == SPAD__RT_DEVICE) {
        a = (pointer_attributes){.type = 2, .device_pointer = place};
    } else if (block != NULL) {
        a = (pointer_attributes){.type = block->kind == SPAD__RT_HOST ? 3 : 1,
                                 .device_pointer = place,
                                 .host_pointer = place};
    }
    memcpy(out, &a, sizeof a);
    return spad__rt_leave(SPAD__RT_SUCCESS);
}

SPAD__ENTRY(cudaMemAdvise, const void *pointer, size_t bytes, int advice, uint64_t location) {
    (void)pointer, (void)bytes, (void)advice, (void)location;
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY_PTSZ(cudaMemPrefetchAsync, const void *pointer, size_t bytes, uint64_t location,
                 unsigned flags, void *stream) {
    (void)pointer, (void)bytes, (void)location, (void)flags, (void)stream;
    return SPAD__RT_SUCCESS;
}

/* ---- copies --------------------------------------------------------------------------------- */

SPAD__ENTRY_PTDS(cudaMemcpy, void *to, const void *from, size_t bytes, int kind) {
    (void)kind;
    spad__rt_enter();
    return spad__rt_leave(spad__rt_copy(number_of(to), number_of(from), bytes));
}

SPAD__ENTRY_PTSZ(cudaMemcpyAsync, void *to, const void *from, size_t bytes, int kind,
                 void *stream) {
    (void)stream;
    return cudaMemcpy(to, from, bytes, kind);
}

SPAD__ENTRY(cudaMemcpyPeer, void *to, int to_device, const void *from, int from_device,
            size_t bytes) {
    (void)to_device;
    (void)from_device;
    return cudaMemcpy(to, from, bytes, 0);
}

SPAD__ENTRY(cudaMemcpyPeerAsync, void *to, int to_device, const void *from, int from_device,
            size_t bytes, void *stream) {
    (void)stream;
    return cudaMemcpyPeer(to, to_device, from, from_device, bytes);
}

SPAD__ENTRY_PTDS(cudaMemcpy2D, void *to, size_t to_pitch, const void *from, size_t from_pitch,
                 size_t width, size_t height, int kind) {
    (void)kind;
    spad__rt_enter();
    return spad__rt_leave(
        spad__rt_copy_rows(number_of(to), to_pitch, number_of(from), from_pitch, width, height));
}

SPAD__ENTRY_PTSZ(cudaMemcpy2DAsync, void *to, size_t to_pitch, const void *from, size_t from_pitch,
                 size_t width, size_t height, int kind, void *stream) {
    (void)stream;
    return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind);
}

/* cudaMemcpy3DParms. */
typedef struct copy_3d {
    const void *from_array;
    extent from_at; /* cudaPos: x, y, z */
    pitched from;
    const void *to_array;
    extent to_at;
    pitched to;
    extent size;
    int kind;
} copy_3d;

static uint64_t plane_of(const pitched *p, const extent *at, size_t z) {
    const uint64_t row = at->height + (at->depth + z) * p->height;
    return number_of(p->pointer) + at->width + row * p->pitch;
}

SPAD__ENTRY_PTDS(cudaMemcpy3D, const void *parameters) {
    copy_3d c;
    int code = SPAD__RT_SUCCESS;
    memcpy(&c, parameters, sizeof c);
    spad__rt_enter();
    if (c.from_array != NULL || c.to_array != NULL) return spad__rt_leave(SPAD__RT_NOT_SUPPORTED);
    for (size_t z = 0; z < c.size.depth && code == SPAD__RT_SUCCESS; z++) {
        code = spad__rt_copy_rows(plane_of(&c.to, &c.to_at, z), c.to.pitch,
                                  plane_of(&c.from, &c.from_at, z), c.from.pitch, c.size.width,
                                  c.size.height);
    }
    return spad__rt_leave(code);
}

SPAD__ENTRY_PTSZ(cudaMemcpy3DAsync, const void *parameters, void *stream) {
    (void)stream;
    return cudaMemcpy3D(parameters);
}

/* ---- memset --------------------------------------------------------------------------------- */

SPAD__ENTRY_PTDS(cudaMemset, void *to, int value, size_t bytes) {
    spad__rt_enter();
    return spad__rt_leave(spad__rt_fill(number_of(to), (uint32_t)value & 0xff, 1, bytes));
}

SPAD__ENTRY_PTSZ(cudaMemsetAsync, void *to, int value, size_t bytes, void *stream) {
    (void)stream;
    return cudaMemset(to, value, bytes);
}

SPAD__ENTRY_PTDS(cudaMemset2D, void *to, size_t pitch, int value, size_t width, size_t height) {
    int code = SPAD__RT_SUCCESS;
    spad__rt_enter();
    for (size_t row = 0; row < height && code == SPAD__RT_SUCCESS; row++)
        code = spad__rt_fill(number_of(to) + row * pitch, (uint32_t)value & 0xff, 1, width);
    return spad__rt_leave(code);
}

SPAD__ENTRY_PTSZ(cudaMemset2DAsync, void *to, size_t pitch, int value, size_t width, size_t height,
                 void *stream) {
    (void)stream;
    return cudaMemset2D(to, pitch, value, width, height);
}

/* ---- variables of modules ------------------------------------------------------------------- */

SPAD__ENTRY(cudaGetSymbolAddress, void **out, const void *symbol) {
    spad__rt_enter();
    const spad__rt_variable *variable = spad__rt_find_variable(symbol);
    if (variable == NULL) return spad__rt_leave(SPAD__RT_INVALID_SYMBOL);
    *out = (void *)(uintptr_t)spad__rt_expose(variable);
    return spad__rt_leave(SPAD__RT_SUCCESS);
}

SPAD__ENTRY(cudaGetSymbolSize, size_t *out, const void *symbol) {
    spad__rt_enter();
    const spad__rt_variable *variable = spad__rt_find_variable(symbol);
    if (variable == NULL) return spad__rt_leave(SPAD__RT_INVALID_SYMBOL);
    *out = (size_t)variable->bytes;
    return spad__rt_leave(SPAD__RT_SUCCESS);
}

SPAD__ENTRY_PTDS(cudaMemcpyToSymbol, const void *symbol, const void *from, size_t bytes,
                 size_t offset, int kind) {
    (void)kind;
    spad__rt_enter();
    const spad__rt_variable *variable = spad__rt_find_variable(symbol);
    if (variable == NULL) return spad__rt_leave(SPAD__RT_INVALID_SYMBOL);
    return spad__rt_leave(spad__rt_copy(variable->address + offset, number_of(from), bytes));
}

SPAD__ENTRY_PTSZ(cudaMemcpyToSymbolAsync, const void *symbol, const void *from, size_t bytes,
                 size_t offset, int kind, void *stream) {
    (void)stream;
    return cudaMemcpyToSymbol(symbol, from, bytes, offset, kind);
}

SPAD__ENTRY_PTDS(cudaMemcpyFromSymbol, void *to, const void *symbol, size_t bytes, size_t offset,
                 int kind) {
    (void)kind;
    spad__rt_enter();
    const spad__rt_variable *variable = spad__rt_find_variable(symbol);
    if (variable == NULL) return spad__rt_leave(SPAD__RT_INVALID_SYMBOL);
    return spad__rt_leave(spad__rt_copy(number_of(to), variable->address + offset, bytes));
}

SPAD__ENTRY_PTSZ(cudaMemcpyFromSymbolAsync, void *to, const void *symbol, size_t bytes,
                 size_t offset, int kind, void *stream) {
    (void)stream;
    return cudaMemcpyFromSymbol(to, symbol, bytes, offset, kind);
}
