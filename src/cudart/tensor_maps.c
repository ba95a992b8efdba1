/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensor maps: the arguments of the encoding calls, stored in the 128 bytes of a CUtensorMap with a
 * mark in front, so that a map is found again in the parameters and the memory of a launch.
 *
 * Reference: CUDA Driver API 13.0, section "Tensor Map Object Management".
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cudart/cudart.h"

enum { MAP_MOST_DIMS = 5, MAP_MARK_BYTES = 16 };

/* CUTLASS clears bit 21 of the second word, which a driver sets by mistake: it is clear here. */
static const uint8_t map_mark[MAP_MARK_BYTES] = {0x53, 0x70, 0x61, 0x64, 0x93, 0x1f, 0xc7, 0x5a,
                                                 0x74, 0x6d, 0x41, 0x70, 0xe5, 0x08, 0xb2, 0x01};

/* 128 bytes without padding. */
typedef struct encoded_map {
    uint8_t mark[MAP_MARK_BYTES];
    uint64_t address;
    uint64_t strides[MAP_MOST_DIMS - 1]; /* bytes */
    uint32_t last[MAP_MOST_DIMS];        /* extents - 1: they reach 2^32 */
    uint16_t box[MAP_MOST_DIMS];
    uint8_t steps[MAP_MOST_DIMS]; /* element strides */
    uint8_t type;
    uint8_t dims;
    uint8_t interleave;
    uint8_t swizzle;
    uint8_t im2col;
    int16_t lower[3];
    int16_t upper[3];
    uint16_t channels;
    uint16_t pixels;
    uint8_t rest[16];
} encoded_map;

_Static_assert(sizeof(encoded_map) == SPAD__RT_MAP_BYTES, "a CUtensorMap");

typedef struct map_type {
    const char *name;
    int bits;
} map_type;

/* By CUtensorMapDataType. The last two unpack 16 elements into 16 bytes of shared memory. */
static const map_type map_types[] = {
    {"uint8", 8},    {"uint16", 16},   {"uint32", 32},  {"int32", 32},
    {"uint64", 64},  {"int64", 64},    {"float16", 16}, {"float32", 32},
    {"float64", 64}, {"bfloat16", 16}, {"float32", 32}, {"tfloat32", 32},
    {"float32", 32}, {"uint4", 4},     {"uint8", 8},    {"uint8", 8}};

enum { MAP_TYPES = sizeof map_types / sizeof *map_types };

/* ---- encoding ------------------------------------------------------------------------------- */

/* The part that all kinds of maps share. */
static bool encode_common(encoded_map *map, unsigned type, unsigned dims, const void *address,
                          const uint64_t *extents, const uint64_t *strides, const uint32_t *steps,
                          unsigned interleave, unsigned swizzle) {
    const uint64_t place = (uint64_t)(uintptr_t)address;
    if (type >= MAP_TYPES || dims < 1 || dims > MAP_MOST_DIMS || place % 16 != 0) return false;
    if (interleave > 2 || swizzle > 6 || (interleave != 0 && dims < 3)) return false;
    *map = (encoded_map){.address = place,
                         .type = (uint8_t)type,
                         .dims = (uint8_t)dims,
                         .interleave = (uint8_t)interleave,
                         .swizzle = (uint8_t)swizzle};
    memcpy(map->mark, map_mark, sizeof map_mark);
    for (unsigned d = 0; d < dims; d++) {
        if (extents[d] < 1 || extents[d] > UINT64_C(1) << 32) return false;
        map->last[d] = (uint32_t)(extents[d] - 1);
        if (d > 0) {
            if (strides[d - 1] % 16 != 0 || strides[d - 1] >= UINT64_C(1) << 40) return false;
            map->strides[d - 1] = strides[d - 1];
        }
        if (steps[d] < 1 || steps[d] > 8) return false;
        map->steps[d] = (uint8_t)steps[d];
    }
    return true;
}

SPAD__ENTRY(cuTensorMapEncodeTiled, void *out, unsigned type, unsigned dims, void *address,
            const uint64_t *extents, const uint64_t *strides, const uint32_t *box,
            const uint32_t *steps, unsigned interleave, unsigned swizzle, unsigned promotion,
            unsigned fill) {
    encoded_map map;
    (void)promotion;
    (void)fill;
    spad__rt_enter();
    bool fine =
        out != NULL && extents != NULL && box != NULL && steps != NULL &&
        (strides != NULL || dims == 1) &&
        encode_common(&map, type, dims, address, extents, strides, steps, interleave, swizzle);
    for (unsigned d = 0; fine && d < dims; d++) {
        fine = box[d] >= 1 && box[d] <= 256;
        map.box[d] = (uint16_t)box[d];
    }
    if (fine) memcpy(out, &map, sizeof map);
    return spad__rt_leave_driver(fine ? SPAD__RT_SUCCESS : SPAD__RT_INVALID_VALUE);
}

SPAD__ENTRY(cuTensorMapEncodeIm2col, void *out, unsigned type, unsigned dims, void *address,
            const uint64_t *extents, const uint64_t *strides, const int *lower, const int *upper,
            uint32_t channels, uint32_t pixels, const uint32_t *steps, unsigned interleave,
            unsigned swizzle, unsigned promotion, unsigned fill) {
    encoded_map map;
    (void)promotion;
    (void)fill;
    spad__rt_enter();
    const bool fine =
        out != NULL && extents != NULL && strides != NULL && lower != NULL && upper != NULL &&
        steps != NULL && dims >= 3 && channels <= 256 && pixels <= 1024 &&
        encode_common(&map, type, dims, address, extents, strides, steps, interleave, swizzle);
    if (fine) {
        map.im2col = 1;
        map.channels = (uint16_t)channels;
        map.pixels = (uint16_t)pixels;
        for (unsigned d = 0; d + 2 < dims; d++) {
            map.lower[d] = (int16_t)lower[d];
            map.upper[d] = (int16_t)upper[d];
        }
        memcpy(out, &map, sizeof map);
    }
    return spad__rt_leave_driver(fine ? SPAD__RT_SUCCESS : SPAD__RT_INVALID_VALUE);
}

SPAD__ENTRY(cuTensorMapReplaceAddress, void *map, void *address) {
    const uint64_t place = (uint64_t)(uintptr_t)address;
    spad__rt_enter();
    const bool fine = map != NULL && place % 16 == 0 && spad__rt_is_map(map);
    if (fine) memcpy((uint8_t *)map + offsetof(encoded_map, address), &place, sizeof place);
    return spad__rt_leave_driver(fine ? SPAD__RT_SUCCESS : SPAD__RT_INVALID_VALUE);
}

/* ---- reading -------------------------------------------------------------------------------- */

bool spad__rt_is_map(const uint8_t *bytes) {
    return memcmp(bytes, map_mark, sizeof map_mark) == 0;
}

uint64_t spad__rt_map_address(const uint8_t *bytes) {
    encoded_map map;
    memcpy(&map, bytes, sizeof map);
    return map.address;
}

/* Names the field that the tensormap: grammar cannot express; NULL: it can express them all. */
static const char *map_obstacle(const encoded_map *map) {
    if (map->im2col != 0) return "an im2col tensor map";
    if (map->interleave != 0) return "an interleaved tensor map";
    if (map->swizzle > 4) return "a tensor map with a swizzle of 64-byte atoms or flipped halves";
    for (int d = 0; d < map->dims; d++) {
        if (map->steps[d] != 1) return "a tensor map with element strides";
    }
    return NULL;
}

bool spad__rt_describe_map(const uint8_t *bytes, char field[SPAD__RT_MAP_TEXT]) {
    static const char *const swizzles[] = {"0", "32", "64", "128", "128atom32"};
    encoded_map map;
    memcpy(&map, bytes, sizeof map);
    const char *obstacle = map_obstacle(&map);
    if (obstacle != NULL) {
        snprintf(field, SPAD__RT_MAP_TEXT, "%s", obstacle);
        return false;
    }
    const size_t room = SPAD__RT_MAP_TEXT;
    size_t used = spad__append(field, room, 0, "%s[", map_types[map.type].name);
    for (int d = map.dims - 1; d >= 0; d--)
        used = spad__append(field, room, used, "%" PRIu64 "%s", (uint64_t)map.last[d] + 1,
                            d > 0 ? "," : "],box[");
    for (int d = map.dims - 1; d >= 0; d--)
        used = spad__append(field, room, used, "%u%s", (unsigned)map.box[d], d > 0 ? "," : "]");
    for (int d = map.dims - 1; d > 0; d--)
        used =
            spad__append(field, room, used, "%s%" PRIu64 "%s", d == map.dims - 1 ? ",stride[" : "",
                         map.strides[d - 1], d > 1 ? "," : "]");
    used = spad__append(field, room, used, ",swizzle%s,at[0x%" PRIx64 "]", swizzles[map.swizzle],
                        map.address);
    return used + 1 < room;
}
