/* SPDX-License-Identifier: Apache-2.0
 *
 * Boxes of tensor maps in shared memory.
 *
 * A box is stored densely, innermost dimension first. With a swizzle each of its rows starts a row
 * of the pattern (32, 64 or 128 bytes), also where it is shorter, and chunks of 16 bytes, or of 32
 * bytes, change places by the address.
 *
 * Reference: CUDA driver API, cuTensorMapEncodeTiled; PTX ISA 9.0, section 5.5 (tensors).
 */
#include "frontend/ptx/run/tensor_map.h"

#include "base/checked.h"

enum { MAP_CHUNK = 16, MAP_MOST_BYTES = 256 << 10 };

int64_t spad__tensor_map_span(const spad__tensor_map *map) {
    static const int64_t spans[] = {0, 32, 64, 128, 128};
    return spans[map->swizzle];
}

/* Bytes that a swizzle moves together. */
static int64_t map_atom(const spad__tensor_map *map) {
    return map->swizzle == SPAD__SWIZZLE_128_ATOM_32 ? 2 * MAP_CHUNK : MAP_CHUNK;
}

static int64_t map_bytes_of(const spad__tensor_map *map, int64_t elements) {
    return (elements * map->element_bits + 7) / 8;
}

int64_t spad__tensor_map_box_bytes(const spad__tensor_map *map) {
    int64_t elements = 1;
    int64_t bits = 0;
    for (int d = 0; d < map->dims; d++) {
        if (!spad__mul(elements, map->box[d], &elements)) return 0;
    }
    if (!spad__mul(elements, map->element_bits, &bits)) return 0;
    return bits / 8;
}

const char *spad__tensor_map_fault(const spad__tensor_map *map) {
    if (map->dims < 1 || map->dims > SPAD__TENSOR_MAP_DIMS) return "has no 1 to 5 dimensions";
    for (int d = 0; d < map->dims; d++) {
        if (map->box[d] < 1 || map->box[d] > 256) return "has a box of no 1 to 256 elements";
    }
    const int64_t inner = map_bytes_of(map, map->box[0]);
    if (!map->interleaved && inner % MAP_CHUNK != 0) {
        return "has a box whose rows are no multiple of 16 bytes";
    }
    const int64_t span = spad__tensor_map_span(map);
    if (span > 0 && inner > span) return "has a box whose rows are longer than the swizzle";
    const int64_t bytes = spad__tensor_map_box_bytes(map);
    if (bytes > MAP_MOST_BYTES) return "has a box larger than shared memory";
    return bytes == 0 ? "has an empty box" : NULL;
}

/* Bytes [first, last) of a row that starts at `at`; byte 0 of it has the address. */
static void map_add_row(const spad__tensor_map *map, int64_t at, int64_t first, int64_t last,
                        uint64_t address, spad__tensor_map_add_piece *add, void *context) {
    const int64_t span = spad__tensor_map_span(map);
    if (span == 0) {
        add(context, at + first, at + last, address + (uint64_t)first);
        return;
    }
    const int64_t atom = map_atom(map);
    for (int64_t from = first; from < last; from = (from / atom + 1) * atom) {
        const int64_t until = spad__min(last, (from / atom + 1) * atom);
        const int64_t place = at + from;
        const int64_t moved = place ^ ((place >> 7 & (span / atom - 1)) * atom);
        add(context, moved, moved + until - from, address + (uint64_t)from);
    }
}

/* The part of a box, from a coordinate on, that is within the tensor. */
static int64_t map_clip(const spad__tensor_map *map, int d, const int64_t *from, int64_t *first) {
    *first = from == NULL ? 0 : spad__min(spad__max(0, -from[d]), map->box[d]);
    if (from == NULL) return map->box[d];
    return spad__max(*first, spad__min(map->box[d], map->size[d] - from[d]));
}

/* What of a box is within the tensor, in each dimension. True: all of it is. */
static bool map_clip_all(const spad__tensor_map *map, const int64_t *from, int64_t *first,
                         int64_t *last) {
    bool whole = true;
    for (int d = 0; d < map->dims; d++) {
        last[d] = map_clip(map, d, from, &first[d]);
        whole = whole && first[d] == 0 && last[d] == map->box[d];
    }
    return whole;
}

/* Bytes from one row of a box to the next one. */
static int64_t map_pitch(const spad__tensor_map *map) {
    const int64_t span = spad__tensor_map_span(map);
    return span > 0 ? span : map_bytes_of(map, map->box[0]);
}

static int64_t map_rows(const spad__tensor_map *map) {
    int64_t rows = 1;
    for (int d = 1; d < map->dims; d++) rows *= map->box[d];
    return rows;
}

/* from NULL: the whole box, and no addresses. */
static void map_walk(const spad__tensor_map *map, int64_t at, const int64_t *from,
                     spad__tensor_map_add_piece *add, void *context) {
    int64_t first[SPAD__TENSOR_MAP_DIMS] = {0};
    int64_t last[SPAD__TENSOR_MAP_DIMS] = {0};
    (void)map_clip_all(map, from, first, last);
    for (int64_t row = 0; row < map_rows(map); row++) {
        uint64_t address = map->address;
        if (from != NULL) address += (uint64_t)from[0] * (uint64_t)map_bytes_of(map, 1);
        int64_t rest = row;
        bool inside = first[0] < last[0];
        for (int d = 1; d < map->dims; d++) {
            const int64_t place = rest % map->box[d];
            inside = inside && place >= first[d] && place < last[d];
            rest /= map->box[d];
            if (from != NULL) address += (uint64_t)(from[d] + place) * (uint64_t)map->stride[d];
        }
        if (!inside) continue;
        map_add_row(map, at + row * map_pitch(map), map_bytes_of(map, first[0]),
                    map_bytes_of(map, last[0]), address, add, context);
    }
}

/* What takes runs, as what takes pieces. */
typedef struct map_runs {
    spad__tensor_map_add *add;
    void *context;
} map_runs;

static void map_add_run(void *context, int64_t begin, int64_t end, uint64_t address) {
    const map_runs *runs = context;
    (void)address;
    runs->add(runs->context, begin, end);
}

void spad__tensor_map_runs(const spad__tensor_map *map, int64_t at, const int64_t *from,
                           spad__tensor_map_add *add, void *context) {
    int64_t first[SPAD__TENSOR_MAP_DIMS], last[SPAD__TENSOR_MAP_DIMS];
    const int64_t span = spad__tensor_map_span(map);
    const int64_t inner = map_bytes_of(map, map->box[0]);
    map_runs runs = {add, context};
    if (map_clip_all(map, from, first, last) && map_pitch(map) == inner &&
        (span == 0 || at % span == 0)) {
        add(context, at, at + map_rows(map) * inner);
        return;
    }
    map_walk(map, at, from, map_add_run, &runs);
}

void spad__tensor_map_pieces(const spad__tensor_map *map, int64_t at, const int64_t *from,
                             spad__tensor_map_add_piece *add, void *context) {
    map_walk(map, at, from, add, context);
}
