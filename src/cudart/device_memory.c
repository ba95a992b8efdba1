/* SPDX-License-Identifier: Apache-2.0
 *
 * Device memory: a table of blocks by address. A device block has an address that nothing else has
 * and, from its first write on, host memory behind it; managed and pinned blocks are host memory at
 * their own address. Blocks are far apart, so that an access beyond one of them is in none.
 *
 * A freed block stays in the table, and a new one of the same size takes its place: programs that
 * allocate in a loop see the same addresses again, and their launches are the same.
 *
 * Of small blocks each byte has an origin, so that a capture holds what the host wrote and nothing
 * that a kernel could have computed. Cost: O(log blocks) to find one, O(blocks) to add one.
 */
#define _DEFAULT_SOURCE 1
#include <string.h>
#include <sys/mman.h>

#include "base/checked.h"
#include "cudart/cudart.h"

/* Outside of everything that Linux maps by itself, and of the windows of generic addresses in
 * frontend/ptx/run/ptx_machine.h. */
#define DEVICE_FIRST UINT64_C(0x7200000000)
#define DEVICE_LAST UINT64_C(0x300000000000)
#define HOST_FIRST UINT64_C(0x480000000000)
#define BLOCK_GAP (UINT64_C(1) << 21)
#define DEVICE_BYTES UINT64_C(150754820096) /* H200 */
enum { RECORDED_BYTES = 64 << 10 };

static SPAD_ARRAY(spad__rt_block) blocks; /* by address */
static uint64_t next_device = DEVICE_FIRST;
static uint64_t next_host = HOST_FIRST;
static uint64_t used_bytes;

uint64_t spad__rt_device_bytes(void) {
    return DEVICE_BYTES;
}

uint64_t spad__rt_free_bytes(void) {
    return DEVICE_BYTES - used_bytes;
}

uint64_t spad__rt_recorded_bytes(void) {
    return spad__rt_setting("SPAD_CUDA_CAPTURE_BYTES", RECORDED_BYTES);
}

spad__rt_block *spad__rt_blocks(size_t *count) {
    *count = blocks.count;
    return blocks.items;
}

/* ---- blocks --------------------------------------------------------------------------------- */

/* The number of blocks up to an address. */
static size_t blocks_up_to(uint64_t address) {
    size_t first = 0, last = blocks.count;
    while (first < last) {
        const size_t middle = first + (last - first) / 2;
        if (blocks.items[middle].address <= address) {
            first = middle + 1;
        } else {
            last = middle;
        }
    }
    return first;
}

spad__rt_block *spad__rt_find_block(uint64_t address) {
    const size_t count = blocks_up_to(address);
    spad__rt_block *block = count > 0 ? &blocks.items[count - 1] : NULL;
    const bool found = block != NULL && block->live &&
                       (address - block->address < block->bytes ||
                        (block->bytes == 0 && address == block->address));
    return found ? block : NULL;
}

static void *map_pages(uint64_t address, uint64_t bytes, int flags) {
    void *hint = (void *)(uintptr_t)address;
    void *pages = mmap(hint, (size_t)bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

static spad__rt_block *insert_block(uint64_t address, uint64_t bytes, spad__rt_kind kind) {
    if (!spad__array_reserve(spad__rt_host(), &blocks, 1)) return NULL;
    const size_t at = blocks_up_to(address);
    memmove(blocks.items + at + 1, blocks.items + at, (blocks.count - at) * sizeof *blocks.items);
    blocks.count++;
    blocks.items[at] = (spad__rt_block){.address = address, .bytes = bytes, .kind = kind};
    return &blocks.items[at];
}

static spad__rt_block *reuse_block(spad__rt_kind kind, uint64_t bytes) {
    for (size_t i = 0; i < blocks.count; i++) {
        spad__rt_block *block = &blocks.items[i];
        if (!block->live && block->kind == kind && block->bytes == bytes) return block;
    }
    return NULL;
}

/* Takes the address range of a new block. */
static uint64_t take_addresses(spad__rt_kind kind, uint64_t bytes) {
    uint64_t *next = kind == SPAD__RT_DEVICE ? &next_device : &next_host;
    const uint64_t address = *next;
    *next += (bytes / BLOCK_GAP + 2) * BLOCK_GAP;
    return address;
}

uint64_t spad__rt_allocate(spad__rt_kind kind, uint64_t bytes) {
    if (bytes > DEVICE_BYTES - used_bytes) return 0;
    if (next_device > DEVICE_LAST) return 0;
    spad__rt_block *block = reuse_block(kind, bytes);
    if (block == NULL) block = insert_block(take_addresses(kind, bytes), bytes, kind);
    if (block == NULL) return 0;
    if (kind == SPAD__RT_HOST) {
        block->backing = map_pages(block->address, bytes, MAP_FIXED_NOREPLACE);
        if (block->backing == NULL) return 0;
    }
    block->live = true;
    block->reached = block->hidden = block->constant = false;
    used_bytes += bytes;
    return block->address;
}

int spad__rt_register(const void *host, uint64_t bytes) {
    const uint64_t address = (uint64_t)(uintptr_t)host;
    if (spad__rt_find_block(address) != NULL) return SPAD__RT_INVALID_VALUE;
    spad__rt_block *block = insert_block(address, bytes, SPAD__RT_REGISTERED);
    if (block == NULL) return SPAD__RT_OUT_OF_MEMORY;
    block->live = true;
    block->backing = (uint8_t *)(uintptr_t)address;
    return SPAD__RT_SUCCESS;
}

int spad__rt_release(uint64_t address) {
    spad__rt_block *block = spad__rt_find_block(address);
    if (block == NULL || block->address != address) return SPAD__RT_INVALID_VALUE;
    if (block->kind == SPAD__RT_REGISTERED) {
        const size_t at = (size_t)(block - blocks.items);
        blocks.count--;
        memmove(block, block + 1, (blocks.count - at) * sizeof *block);
        return SPAD__RT_SUCCESS;
    }
    if (block->backing != NULL) munmap(block->backing, (size_t)block->bytes);
    spad__free(spad__rt_host(), block->origin, (size_t)block->bytes);
    block->backing = block->origin = NULL;
    block->live = false;
    used_bytes -= block->bytes;
    return SPAD__RT_SUCCESS;
}

/* ---- bytes ---------------------------------------------------------------------------------- */

static bool is_device_address(uint64_t address) {
    return address >= DEVICE_FIRST && address < DEVICE_LAST;
}

static bool has_range(const spad__rt_block *block, uint64_t address, uint64_t bytes) {
    return bytes <= block->bytes - (address - block->address);
}

uint8_t *spad__rt_host_bytes(uint64_t address, uint64_t bytes) {
    if (!is_device_address(address)) return (uint8_t *)(uintptr_t)address;
    spad__rt_block *block = spad__rt_find_block(address);
    if (block == NULL || !has_range(block, address, bytes)) return NULL;
    if (block->backing == NULL) block->backing = map_pages(0, block->bytes, 0);
    return block->backing != NULL ? block->backing + (address - block->address) : NULL;
}

/* The origins of a range of a device block; NULL: they are not kept. */
static uint8_t *origins_of(uint64_t address) {
    spad__rt_block *block = is_device_address(address) ? spad__rt_find_block(address) : NULL;
    if (block == NULL || block->bytes > spad__rt_recorded_bytes()) return NULL;
    if (block->origin == NULL) block->origin = spad__new(spad__rt_host(), (size_t)block->bytes);
    return block->origin != NULL ? block->origin + (address - block->address) : NULL;
}

int spad__rt_copy(uint64_t to, uint64_t from, uint64_t bytes) {
    if (bytes == 0) return SPAD__RT_SUCCESS;
    uint8_t *target = spad__rt_host_bytes(to, bytes);
    const uint8_t *source = spad__rt_host_bytes(from, bytes);
    if (target == NULL || source == NULL) return SPAD__RT_INVALID_VALUE;
    memmove(target, source, (size_t)bytes);
    uint8_t *origin = origins_of(to);
    if (origin == NULL) return SPAD__RT_SUCCESS;
    const uint8_t *first = origins_of(from);
    if (first != NULL) {
        memmove(origin, first, (size_t)bytes);
    } else {
        memset(origin, is_device_address(from) ? SPAD__RT_UNWRITTEN : SPAD__RT_COPIED,
               (size_t)bytes);
    }
    return SPAD__RT_SUCCESS;
}

int spad__rt_copy_rows(uint64_t to, uint64_t to_pitch, uint64_t from, uint64_t from_pitch,
                       uint64_t width, uint64_t rows) {
    if (width > to_pitch || width > from_pitch) return SPAD__RT_INVALID_VALUE;
    for (uint64_t row = 0; row < rows; row++) {
        const int code = spad__rt_copy(to + row * to_pitch, from + row * from_pitch, width);
        if (code != SPAD__RT_SUCCESS) return code;
    }
    return SPAD__RT_SUCCESS;
}

int spad__rt_fill(uint64_t to, uint32_t value, unsigned width, uint64_t count) {
    if (count == 0) return SPAD__RT_SUCCESS;
    if (count > UINT64_MAX / 4) return SPAD__RT_INVALID_VALUE;
    const uint64_t bytes = count * width;
    const spad__rt_block *block = spad__rt_find_block(to);
    const bool blank = value == 0 && block != NULL && block->backing == NULL &&
                       block->bytes > spad__rt_recorded_bytes();
    if (!blank ||
        !has_range(block, to, bytes)) { /* else its pages are zeros, and no capture has them */
        uint8_t *target = spad__rt_host_bytes(to, bytes);
        if (target == NULL) return SPAD__RT_INVALID_VALUE;
        for (uint64_t i = 0; i < count && width > 1; i++) memcpy(target + i * width, &value, width);
        if (width == 1) memset(target, (int)(value & 0xff), (size_t)bytes);
    }
    uint8_t *origin = origins_of(to);
    if (origin != NULL) memset(origin, SPAD__RT_FILLED, (size_t)bytes);
    return SPAD__RT_SUCCESS;
}

void spad__rt_reach(spad__rt_block *block) {
    if (block->constant) return;
    block->reached = true;
    for (uint64_t i = 0; block->origin != NULL && i < block->bytes; i++) {
        if (block->origin[i] == SPAD__RT_FILLED) block->origin[i] = SPAD__RT_UNWRITTEN;
        if (block->origin[i] == SPAD__RT_COPIED) block->origin[i] = SPAD__RT_ASSUMED;
    }
}

void spad__rt_reach_all(void) {
    for (size_t i = 0; i < blocks.count; i++) spad__rt_reach(&blocks.items[i]);
}
