/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix descriptors: chunks against layouts written as in CUTLASS, element by element, and against
 * figures of CUTLASS itself (make_gmma_desc on layouts of tile_to_shape). Boxes of tensor maps.
 */
#include "support/support.h"

#include <string.h>

#include "frontend/ptx/run/ptx_descriptor.h"
#include "frontend/ptx/run/tensor_map.h"

enum { MEMORY = 1 << 18 };

/* ---- layouts as CUTLASS writes them -----------------------------------------------------------
 */

/* A mode: a coordinate is split into digits of the shape, each with a stride. */
typedef struct mode {
    int64_t shape[3];
    int64_t stride[3];
} mode;

static int64_t at_mode(const mode *m, int64_t coordinate) {
    int64_t offset = 0;
    for (int n = 0; n < 3; n++) {
        const int64_t digit = n == 2 ? coordinate : coordinate % m->shape[n];
        offset += digit * m->stride[n];
        if (n < 2) coordinate /= m->shape[n];
    }
    return offset;
}

/* Swizzle<bits, 4, 3> on an address in bytes. */
static int64_t swizzle(int64_t address, int bits) {
    const int64_t mask = (INT64_C(1) << bits) - 1;
    return address ^ ((address >> 7 & mask) << 4);
}

/* The canonical layouts of make_gmma_desc, with offsets in elements. */
static void canonical(bool mn_major, int64_t w, int64_t t, int64_t lbo, int64_t sbo, mode *mn,
                      mode *k) {
    if (mn_major && w == 1) {
        *mn = (mode){{t, 1, 0}, {1, t, sbo}};
        *k = (mode){{8, INT64_MAX, 0}, {t, lbo, 0}};
    } else if (mn_major) {
        *mn = (mode){{t, w, 0}, {1, t, lbo}};
        *k = (mode){{8, INT64_MAX, 0}, {w * t, sbo, 0}};
    } else {
        *mn = (mode){{8, INT64_MAX, 0}, {w * t, sbo, 0}};
        *k = (mode){{t, INT64_MAX, 0}, {1, w == 1 ? lbo : t, 0}};
    }
}

static void mark_elements(const spad__ptx_descriptor *d, const spad__ptx_operand_shape *s,
                          uint8_t *used) {
    mode mn;
    mode k;
    const int64_t bytes = s->bits / 8;
    const int64_t w = d->row_bytes / 16;
    const int bits = w == 8 ? 3 : w == 4 ? 2 : w == 2 ? 1 : 0;
    canonical(s->mn_major, w, 16 / bytes, d->leading / bytes, d->stride / bytes, &mn, &k);
    for (int64_t i = 0; i < s->mn; i++) {
        for (int64_t j = 0; j < s->k; j++) {
            const int64_t offset = (at_mode(&mn, i) + at_mode(&k, j)) * bytes;
            memset(used + swizzle(d->start + offset, bits), 1, (size_t)bytes);
        }
    }
}

static void mark_chunks(const spad__ptx_chunks *chunks, uint8_t *used) {
    int64_t begin;
    int64_t end = 0;
    while (spad__ptx_next_run(chunks, end, &begin, &end)) {
        assert_true(begin < end && end <= MEMORY);
        memset(used + begin, 1, (size_t)(end - begin));
    }
}

static uint8_t expected_bytes[MEMORY];
static uint8_t found_bytes[MEMORY];

static void check_layout(const spad__ptx_descriptor *d, const spad__ptx_operand_shape *shape) {
    spad__ptx_chunks chunks = {0};
    memset(expected_bytes, 0, sizeof expected_bytes);
    memset(found_bytes, 0, sizeof found_bytes);
    mark_elements(d, shape, expected_bytes);
    spad__ptx_descriptor_chunks(d, shape, &chunks);
    mark_chunks(&chunks, found_bytes);
    assert_memory_equal(found_bytes, expected_bytes, MEMORY);
}

static void chunks_are_those_of_the_layouts(void **state) {
    static const int widths[] = {16, 32, 64, 128};
    static const int64_t rows[] = {8, 64, 96, 256};
    static const int bits[] = {8, 16, 32};
    (void)state;
    for (int n = 0; n < 4 * 4 * 3 * 2 * 2; n++) {
        const int width = widths[n % 4];
        const int size = bits[n / 16 % 3];
        const bool mn_major = n / 48 % 2 != 0;
        spad__ptx_operand_shape shape = {
            .mn = rows[n / 4 % 4], .k = 256 / size, .bits = size, .mn_major = mn_major};
        if (mn_major && size != 16) continue;
        if (n / 96 != 0 && (width >= 64 || mn_major)) shape.k *= 2; /* B of a sparse product */
        const spad__ptx_descriptor d = {.start = 1024 + (n / 96) * (mn_major ? 2048 : 32),
                                        .leading = 4096 + 128,
                                        .stride = 8 * width + (n % 2) * 1024,
                                        .row_bytes = width,
                                        .moved_bytes = 16};
        if (mn_major && shape.mn > 64) continue; /* leading offsets would be beyond memory */
        check_layout(&d, &shape);
    }
}

/* ---- figures of CUTLASS -----------------------------------------------------------------------
 */

/* make_gmma_desc of the blocks along K of tile_to_shape(atom, (mn, K)) at byte 0; the bytes of the
 * elements, their runs, and FNV-1a over the runs' bounds. Made once by a program with CUTLASS 4.2.
 * Layouts: K-major without swizzle and with 32, 64, 128 bytes (16 bits), 128 (32 bits), 128 and 64
 * (8 bits), MN-major in the same order (16 bits), and two operands B of sparse products. */
typedef struct figure {
    uint64_t descriptor;
    int64_t mn;
    int64_t k;
    int bits;
    bool mn_major;
    int64_t bytes;
    size_t runs;
    uint64_t hash;
} figure;

static const figure figures[] = {
    {UINT64_C(0x0000000800800000), 128, 16, 16, false, 4096, 1, UINT64_C(0x4df66e7af8b3fe93)},
    {UINT64_C(0x0000000800800100), 128, 16, 16, false, 4096, 1, UINT64_C(0xda7b1302e00f0d33)},
    {UINT64_C(0x0000000800800300), 128, 16, 16, false, 4096, 1, UINT64_C(0x6cd2e75e9c643933)},
    {UINT64_C(0xc000001000010000), 128, 16, 16, false, 4096, 1, UINT64_C(0x4df66e7af8b3fe93)},
    {UINT64_C(0xc000001000010100), 128, 16, 16, false, 4096, 1, UINT64_C(0xda7b1302e00f0d33)},
    {UINT64_C(0xc000001000010300), 128, 16, 16, false, 4096, 1, UINT64_C(0x6cd2e75e9c643933)},
    {UINT64_C(0x8000002000010000), 128, 16, 16, false, 4096, 113, UINT64_C(0x810611e9879c60e3)},
    {UINT64_C(0x8000002000010002), 128, 16, 16, false, 4096, 112, UINT64_C(0xf3780403c2545b83)},
    {UINT64_C(0x8000002000010202), 128, 16, 16, false, 4096, 112, UINT64_C(0x9bf23cd0482af783)},
    {UINT64_C(0x4000004000010000), 128, 16, 16, false, 4096, 113, UINT64_C(0xed4697d1888d0403)},
    {UINT64_C(0x4000004000010002), 128, 16, 16, false, 4096, 128, UINT64_C(0xd4807d40b3cd1783)},
    {UINT64_C(0x4000004000010406), 128, 16, 16, false, 4096, 128, UINT64_C(0x6649c080901d2783)},
    {UINT64_C(0x4000004000010000), 64, 16, 16, false, 2048, 57, UINT64_C(0x06a5799c94caea63)},
    {UINT64_C(0x4000004000010002), 64, 16, 16, false, 2048, 64, UINT64_C(0x17b3dc8611aa0983)},
    {UINT64_C(0x4000004000010000), 64, 8, 32, false, 2048, 57, UINT64_C(0x06a5799c94caea63)},
    {UINT64_C(0x4000004000010002), 64, 8, 32, false, 2048, 64, UINT64_C(0x17b3dc8611aa0983)},
    {UINT64_C(0x4000004000010006), 64, 8, 32, false, 2048, 64, UINT64_C(0xfcc4ba5116c37903)},
    {UINT64_C(0x4000004000010000), 256, 32, 8, false, 8192, 225, UINT64_C(0x12b385c71b4e22c3)},
    {UINT64_C(0x4000004000010002), 256, 32, 8, false, 8192, 256, UINT64_C(0xed99515828ab8983)},
    {UINT64_C(0x4000004000010006), 256, 32, 8, false, 8192, 256, UINT64_C(0xc95e2c9cf963dc83)},
    {UINT64_C(0x8000000000010000), 8, 32, 8, false, 256, 8, UINT64_C(0xa5e4e5d3f2d3e65e)},
    {UINT64_C(0x8000000000010002), 8, 32, 8, false, 256, 7, UINT64_C(0x5ac53bc151b16948)},
    {UINT64_C(0x0000000800800000), 128, 16, 16, true, 4096, 1, UINT64_C(0x4df66e7af8b3fe93)},
    {UINT64_C(0x0000000800800100), 128, 16, 16, true, 4096, 1, UINT64_C(0xda7b1302e00f0d33)},
    {UINT64_C(0x0000000800800300), 128, 16, 16, true, 4096, 1, UINT64_C(0x6cd2e75e9c643933)},
    {UINT64_C(0xc000008000100000), 128, 16, 16, true, 4096, 1, UINT64_C(0x4df66e7af8b3fe93)},
    {UINT64_C(0xc000008000100100), 128, 16, 16, true, 4096, 1, UINT64_C(0xda7b1302e00f0d33)},
    {UINT64_C(0xc000008000100300), 128, 16, 16, true, 4096, 1, UINT64_C(0x6cd2e75e9c643933)},
    {UINT64_C(0x8000008000200000), 128, 16, 16, true, 4096, 1, UINT64_C(0x4df66e7af8b3fe93)},
    {UINT64_C(0x8000008000200100), 128, 16, 16, true, 4096, 1, UINT64_C(0xda7b1302e00f0d33)},
    {UINT64_C(0x8000008000200300), 128, 16, 16, true, 4096, 1, UINT64_C(0x6cd2e75e9c643933)},
    {UINT64_C(0x4000010000400000), 256, 16, 16, true, 8192, 1, UINT64_C(0xf8ceb5d5db76d0e3)},
    {UINT64_C(0x4000010000400200), 256, 16, 16, true, 8192, 1, UINT64_C(0x8b268a3197cbfce3)},
    {UINT64_C(0x4000010000400600), 256, 16, 16, true, 8192, 1, UINT64_C(0x0251bd3ae4492fe3)},
    {UINT64_C(0x4000004000000000), 64, 16, 16, true, 2048, 1, UINT64_C(0x788a4acd8752956b)},
    {UINT64_C(0x4000004000000080), 64, 16, 16, true, 2048, 1, UINT64_C(0x3ecc9d117b001cbb)},
    {UINT64_C(0x4000004000000180), 64, 16, 16, true, 2048, 1, UINT64_C(0xcb514199625b2b5b)},
    {UINT64_C(0x4000004000010000), 64, 32, 16, false, 4096, 57, UINT64_C(0x0e543a71759fa9e3)},
    {UINT64_C(0x4000004000010004), 64, 32, 16, false, 4096, 56, UINT64_C(0xab5781f9dc991b83)},
    {UINT64_C(0x4000008000400000), 128, 32, 16, true, 8192, 1, UINT64_C(0xf8ceb5d5db76d0e3)},
    {UINT64_C(0x4000008000400200), 128, 32, 16, true, 8192, 1, UINT64_C(0x8b268a3197cbfce3)},
};

static uint64_t hash_number(uint64_t hash, int64_t number) {
    for (int n = 0; n < 8; n++) {
        hash ^= (uint64_t)number >> 8 * n & 255;
        hash *= UINT64_C(1099511628211);
    }
    return hash;
}

static void descriptors_of_cutlass(void **state) {
    (void)state;
    for (size_t n = 0; n < sizeof figures / sizeof *figures; n++) {
        const figure *f = &figures[n];
        const spad__ptx_operand_shape shape = {
            .mn = f->mn, .k = f->k, .bits = f->bits, .mn_major = f->mn_major};
        spad__ptx_descriptor d;
        spad__ptx_chunks chunks = {0};
        uint64_t hash = UINT64_C(1469598103934665603);
        int64_t bytes = 0;
        size_t runs = 0;
        int64_t begin;
        int64_t end = 0;
        assert_true(spad__ptx_decode_wgmma(f->descriptor, &d));
        spad__ptx_descriptor_chunks(&d, &shape, &chunks);
        while (spad__ptx_next_run(&chunks, end, &begin, &end)) {
            hash = hash_number(hash_number(hash, begin), end);
            bytes += end - begin;
            runs++;
        }
        assert_int_equal(bytes, f->bytes);
        assert_int_equal(runs, f->runs);
        assert_true(hash == f->hash);
    }
}

/* The blocks along K of a tile cover it, and share no byte. */
static void blocks_cover_a_tile(void **state) {
    (void)state;
    const uint64_t first = UINT64_C(0x4000004000010000) | 0x8000 >> 4; /* 128 bytes, K-major */
    spad__ptx_chunks all = {0};
    for (uint64_t block = 0; block < 4; block++) {
        const spad__ptx_operand_shape shape = {.mn = 64, .k = 16, .bits = 16};
        spad__ptx_descriptor d;
        spad__ptx_chunks chunks = {0};
        assert_true(spad__ptx_decode_wgmma(first + block * 2, &d));
        spad__ptx_descriptor_chunks(&d, &shape, &chunks);
        for (int n = 0; n < SPAD__PTX_CHUNKS / 64; n++) {
            assert_true((all.bits[n] & chunks.bits[n]) == 0);
            all.bits[n] |= chunks.bits[n];
        }
    }
    int64_t begin;
    int64_t end;
    assert_true(spad__ptx_next_run(&all, 0, &begin, &end));
    assert_int_equal(begin, 0x8000);
    assert_int_equal(end, 0x8000 + 64 * 128);
    assert_false(spad__ptx_next_run(&all, end, &begin, &end));
}

static void modes_of_tcgen05(void **state) {
    static const int rows[8] = {16, 128, 128, 0, 64, 0, 32, 0};
    (void)state;
    for (uint64_t number = 0; number < 8; number++) {
        spad__ptx_descriptor d;
        const bool exists = spad__ptx_decode_tcgen05(number << 61 | UINT64_C(1) << 46 | 0x123, &d);
        assert_int_equal(exists, rows[number] != 0);
        assert_int_equal(d.start, 0x1230);
        if (exists) assert_int_equal(d.row_bytes, rows[number]);
        if (exists) assert_int_equal(d.moved_bytes, number == 1 ? 32 : 16);
    }
}

/* ---- boxes ------------------------------------------------------------------------------------
 */

typedef struct found_runs {
    int count;
    int64_t bytes;
    int64_t first;
    int64_t last;
} found_runs;

static void add_run(void *context, int64_t begin, int64_t end) {
    found_runs *f = context;
    if (f->count == 0 || begin < f->first) f->first = begin;
    if (f->count == 0 || end > f->last) f->last = end;
    f->count++;
    f->bytes += end - begin;
}

static void boxes(void **state) {
    (void)state;
    spad__tensor_map map = {.dims = 2,
                            .element_bits = 16,
                            .size = {100, 50},
                            .box = {64, 32},
                            .swizzle = SPAD__SWIZZLE_128};
    found_runs f = {0};
    assert_null(spad__tensor_map_fault(&map));
    assert_int_equal(spad__tensor_map_box_bytes(&map), 64 * 32 * 2);
    spad__tensor_map_runs(&map, 1024, NULL, add_run, &f);
    assert_int_equal(f.count, 1);
    assert_int_equal(f.bytes, 4096);
    assert_int_equal(f.first, 1024);
    /* the part within the tensor: 36 of 64 columns, 18 of 32 rows */
    f = (found_runs){0};
    spad__tensor_map_runs(&map, 1024, (const int64_t[]){64, 32}, add_run, &f);
    assert_int_equal(f.bytes, 36 * 18 * 2);
    /* before the tensor, and beyond it */
    f = (found_runs){0};
    spad__tensor_map_runs(&map, 0, (const int64_t[]){-60, 0}, add_run, &f);
    assert_int_equal(f.bytes, 4 * 32 * 2);
    f = (found_runs){0};
    spad__tensor_map_runs(&map, 0, (const int64_t[]){0, 50}, add_run, &f);
    assert_int_equal(f.count, 0);
    /* rows shorter than the swizzle leave gaps; their bytes do not count */
    map.box[0] = 32;
    f = (found_runs){0};
    spad__tensor_map_runs(&map, 0, NULL, add_run, &f);
    assert_int_equal(f.bytes, 32 * 32 * 2);
    assert_int_equal(f.last, 32 * 128);
    /* 32 bytes of the second row: the next 32 of the pattern, or two chunks that change places */
    spad__tensor_map two_rows = {.dims = 2,
                                 .element_bits = 16,
                                 .size = {16, 2},
                                 .box = {64, 2},
                                 .swizzle = SPAD__SWIZZLE_128_ATOM_32};
    f = (found_runs){0};
    spad__tensor_map_runs(&two_rows, 0, (const int64_t[]){0, 0}, add_run, &f);
    assert_int_equal(f.last, 128 + 64);
    two_rows.swizzle = SPAD__SWIZZLE_128;
    f = (found_runs){0};
    spad__tensor_map_runs(&two_rows, 0, (const int64_t[]){0, 0}, add_run, &f);
    assert_int_equal(f.last, 128 + 32);
    map.box[0] = 128;
    assert_string_equal(spad__tensor_map_fault(&map),
                        "has a box whose rows are longer than the swizzle");
    map.swizzle = SPAD__SWIZZLE_NONE;
    assert_null(spad__tensor_map_fault(&map));
    map.box[1] = 0;
    assert_string_equal(spad__tensor_map_fault(&map), "has a box of no 1 to 256 elements");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_are_those_of_the_layouts),
        cmocka_unit_test(descriptors_of_cutlass),
        cmocka_unit_test(blocks_cover_a_tile),
        cmocka_unit_test(modes_of_tcgen05),
        cmocka_unit_test(boxes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
