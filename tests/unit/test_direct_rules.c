/* SPDX-License-Identifier: Apache-2.0
 *
 * Direct placement: every rule of lanes, bytes, banks and alignment, with its message. */
#include "unit/direct_fixture.h"

#include <stdio.h>
#include <string.h>

/* ---- rules ------------------------------------------------------------------------- */

static void start_lanes_follow_the_table(void **state) {
    (void)state;
    fixture f = make();
    spad_direct_spot spots[2];
    static const struct {
        int64_t lanes, lane;
        bool right;
    } cases[] = {
        {128, 0, true},  {65, 0, true},   {65, 32, false}, {65, 64, false}, {64, 0, true},
        {64, 64, true},  {64, 32, false}, {33, 64, true},  {33, 96, false}, {32, 0, true},
        {32, 32, true},  {32, 64, true},  {32, 96, true},  {32, 16, false}, {1, 96, true},
        {1, 127, false}, {1, -32, false}, {1, 128, false}, {129, 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spad_direct_tensor t =
            second_at("sbuf", cases[i].lanes, 1, spots, (spad_direct_spot){.lane = cases[i].lane});
        t.name = NULL;
        assert_int_equal(spad_direct_declare(NULL, f.direct, &t, &f.error),
                         cases[i].right ? SPAD_OK : SPAD_ERR_LANES);
    }
    refused(&f, second_at("sbuf", 48, 1, spots, (spad_direct_spot){.lane = 32}), SPAD_ERR_LANES,
            "tensor 't', tile (1,): a tile of 48 lanes cannot start at lane 32 of 'sbuf'; 33 to 64 "
            "lanes start at 0 or 64");
    assert_string_equal(f.error.subject, "t");
    assert_string_equal(f.error.other, "sbuf");
    /* the same by modulo: P raw, not rounded to 32 */
    refused(&f,
            (spad_direct_tensor){.name = "t",
                                 .space = "sbuf",
                                 .dtype = SPAD_UINT8,
                                 .tile = SPAD_SHAPE(16, 8),
                                 .block = SPAD_SHAPE(2, 4),
                                 MOD = {.lane_tiles = SPAD_SHAPE(1, 4)}},
            SPAD_ERR_LANES,
            "tensor 't', tile (0, 1): a tile of 16 lanes cannot start at lane 16 of 'sbuf'; 1 to "
            "32 lanes start at 0, 32, 64 or 96");
    done(&f);
}

static void bytes_follow_the_chip(void **state) {
    (void)state;
    static const struct {
        const char *chip;
        int64_t usable;
    } chips[] = {{"trn1", 180224}, {"trn2", 212984}, {"trn3", 245752}};
    for (size_t i = 0; i < 3; i++) {
        fixture f = make_on(chips[i].chip, false);
        spad_direct_spot spots[2];
        spad_direct_tensor t =
            second_at("sbuf", 128, 100, spots, (spad_direct_spot){.byte = chips[i].usable - 100});
        t.name = NULL;
        declare(&f, t);
        char message[200];
        snprintf(message, sizeof message,
                 "tensor 't', tile (1,): 100 B per lane at byte %lld are outside [0, %lld), the "
                 "bytes that "
                 "'sbuf' of %s has for tensors",
                 (long long)chips[i].usable - 99, (long long)chips[i].usable, chips[i].chip);
        refused(
            &f,
            second_at("sbuf", 128, 100, spots, (spad_direct_spot){.byte = chips[i].usable - 99}),
            SPAD_ERR_BOUNDS, message);
        assert_int_equal(f.error.available, chips[i].usable);
        done(&f);
    }
    fixture f = make();
    spad_direct_spot spots[2];
    refused(&f, second_at("sbuf", 1, 1, spots, (spad_direct_spot){.byte = -1}), SPAD_ERR_BOUNDS,
            "tensor 't', tile (1,): 1 B per lane at byte -1 are outside [0, 212984), the bytes "
            "that 'sbuf' "
            "of trn2 has for tensors");
    refused(&f, second_at("sbuf", 1, 1, spots, (spad_direct_spot){.byte = INT64_MAX}),
            SPAD_ERR_BOUNDS,
            "tensor 't', tile (1,): 1 B per lane at byte 9223372036854775807 are outside [0, "
            "212984), the bytes that 'sbuf' of trn2 has for tensors");
    refused(&f, second_at("sbuf", 1, 212985, spots, (spad_direct_spot){0}), SPAD_ERR_BOUNDS,
            "tensor 't': a tile of 212985 B per lane does not fit 'sbuf' of trn2, which has 212984 "
            "B");
    refused(&f, second_at("sbuf", 1, 1, spots, (spad_direct_spot){.bank = 1}), SPAD_ERR_BOUNDS,
            "tensor 't', tile (1,): 1 banks from bank 1, but 'sbuf' has no banks; leave bank and "
            "bank_tiles out");
    done(&f);
}

static void exclusive_banks_hold_one_tile(void **state) {
    (void)state;
    fixture f = make();
    spad_direct_spot spots[2];
    spad_direct_tensor right = second_at("psum", 128, 2048, spots, (spad_direct_spot){.bank = 7});
    right.name = NULL;
    const size_t n = declare(&f, right);
    assert_int_equal(tile(&f, n, 1).rect.byte, 7 * 2048);
    refused(&f, second_at("psum", 128, 2049, spots, (spad_direct_spot){0}), SPAD_ERR_BOUNDS,
            "tensor 't': a tile of 2049 B per lane does not fit a bank of 'psum' of trn2, which "
            "has 2048 B");
    refused(&f, second_at("psum", 128, 4, spots, (spad_direct_spot){.byte = 4}), SPAD_ERR_BANK,
            "tensor 't', tile (1,): byte 4; a bank of 'psum' holds one tile, which starts at byte "
            "0 and lane 0");
    refused(&f, second_at("psum", 32, 4, spots, (spad_direct_spot){.lane = 32}), SPAD_ERR_BANK,
            "tensor 't', tile (1,): lane 32; a bank of 'psum' holds one tile, which starts at byte "
            "0 and lane 0");
    refused(&f, second_at("psum", 128, 4, spots, (spad_direct_spot){.bank = 8}), SPAD_ERR_BOUNDS,
            "tensor 't', tile (1,): 1 banks from bank 8 are outside the 8 banks of 'psum'");
    refused(&f, second_at("psum", 128, 4, spots, (spad_direct_spot){.bank = -1}), SPAD_ERR_BOUNDS,
            "tensor 't', tile (1,): 1 banks from bank -1 are outside the 8 banks of 'psum'");
    spad_direct_tensor t = {.name = "p", PSUM, .block = SPAD_SHAPE(4), .mode = SPAD_MODE_MOD};
    t.rings = (spad_direct_rings){.base = {.byte = 2048}};
    refused(&f, t, SPAD_ERR_BANK,
            "tensor 'p': base byte 2048; a bank of 'psum' holds one tile, which starts at byte 0 "
            "and lane 0");
    t.rings = (spad_direct_rings){.base = {.lane = 64}};
    refused(&f, t, SPAD_ERR_BANK,
            "tensor 'p': base lane 64; a bank of 'psum' holds one tile, which starts at byte 0 and "
            "lane 0");
    t.rings = (spad_direct_rings){.free_tiles = SPAD_SHAPE(2)};
    refused(&f, t, SPAD_ERR_BANK,
            "tensor 'p': free_tiles has a product of 2; a bank of 'psum' holds one tile, so only "
            "bank_tiles can be above 1");
    t.rings = (spad_direct_rings){.lane_tiles = SPAD_SHAPE(2)};
    refused(&f, t, SPAD_ERR_BANK,
            "tensor 'p': lane_tiles has a product of 2; a bank of 'psum' holds one tile, so only "
            "bank_tiles can be above 1");
    t.rings = (spad_direct_rings){.base = {.bank = 5}, .bank_tiles = SPAD_SHAPE(4)};
    refused(&f, t, SPAD_ERR_BOUNDS,
            "tensor 'p': 4 banks from bank 5 are outside the 8 banks of 'psum'");
    t.rings = (spad_direct_rings){.base = {.bank = 4},
                                  .bank_tiles = SPAD_SHAPE(4),
                                  .lane_tiles = SPAD_SHAPE(1),
                                  .free_tiles = SPAD_SHAPE(1)};
    declare(&f, t); /* ones are as good as none */
    done(&f);
}

/* The tensor memory of trn3 has banks that a tile may cross. */
static void other_banks_can_be_shared(void **state) {
    (void)state;
    fixture f = make_on("trn3", false);
    spad_direct_spot spots[2];
    const size_t n = declare(&f, second_at("psum", 32, 4096, spots,
                                           (spad_direct_spot){.bank = 1, .lane = 32, .byte = 8}));
    const spad_direct_tile row = tile(&f, n, 1);
    assert_int_equal(row.rect.byte, 2056);
    assert_int_equal(row.spot.bank, 1);
    assert_int_equal(row.spot.byte, 8);
    refused(&f, second_at("psum", 32, 4096, spots, (spad_direct_spot){.bank = 1, .byte = 6}),
            SPAD_ERR_ALIGNMENT,
            "tensor 't', tile (1,): byte 2054 of 'psum' is not a multiple of its alignment, 4 B");
    refused(&f, second_at("psum", 32, 4096, spots, (spad_direct_spot){.bank = 7}), SPAD_ERR_BOUNDS,
            "tensor 't', tile (1,): 4096 B per lane at byte 14336 are outside [0, 16384), the "
            "bytes that "
            "'psum' of trn3 has for tensors");
    refused(&f,
            second_at("psum", 32, 4, spots, (spad_direct_spot){.bank = 7, .byte = INT64_MAX - 3}),
            SPAD_ERR_BOUNDS,
            "tensor 't', tile (1,): 4 B per lane at byte 9223372036854775807 are outside [0, "
            "16384), the bytes that 'psum' of trn3 has for tensors");
    refused(&f,
            (spad_direct_tensor){.name = "u",
                                 .space = "psum",
                                 .dtype = SPAD_UINT8,
                                 .tile = SPAD_SHAPE(32, 6),
                                 .block = SPAD_SHAPE(2, 3),
                                 MOD = {.free_tiles = SPAD_SHAPE(2, 2)}},
            SPAD_ERR_ALIGNMENT,
            "tensor 'u', tile (0, 1): byte 6 of 'psum' is not a multiple of its alignment, 4 B");
    refused(&f,
            (spad_direct_tensor){.name = "u",
                                 .space = "psum",
                                 .dtype = SPAD_UINT8,
                                 .tile = SPAD_SHAPE(32, 6),
                                 .block = SPAD_SHAPE(2, 3),
                                 MOD = {.base = {.byte = 2}, .free_tiles = SPAD_SHAPE(1, 1)}},
            SPAD_ERR_ALIGNMENT,
            "tensor 'u', tile (0, 0): byte 2 of 'psum' is not a multiple of its alignment, 4 B");
    refused(&f,
            (spad_direct_tensor){.name = "u",
                                 PSUM,
                                 .block = SPAD_SHAPE(4),
                                 MOD = {.bank_tiles = SPAD_SHAPE(2), .free_tiles = SPAD_SHAPE(2)}},
            SPAD_ERR_BOUNDS,
            "tensor 'u': 2 x 2048 B per lane from byte 0 leave a bank of 'psum', which has 2048 B; "
            "a ring over several banks must stay in each");
    done(&f);
}

/* Banks of 5 bytes at alignment 2: a step to the next bank and the next byte is
 * even, but the two rings wrap at different tiles. */
static void alignment_holds_at_every_wrap(void **state) {
    (void)state;
    static const spad_space space = {.name = "odd",
                                     .about = "",
                                     .lanes = 1,
                                     .bytes = 25,
                                     .alignment = 2,
                                     .granule = 1,
                                     .bank_bytes = 5};
    static const spad_target chip = {
        .name = "chip", .about = "", .family = "test", .space_count = 1, .spaces = &space};
    static const struct {
        int64_t banks, frees, block;
        const char *bad; /* NULL: none */
    } cases[] = {
        {2, 3, 6, "(3,)"}, {3, 2, 6, "(3,)"}, {3, 5, 6, "(3,)"}, {3, 3, 6, NULL},
        {2, 3, 3, NULL},   {2, 4, 4, NULL},   {2, 4, 9, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spad_direct *direct;
        spad_error error;
        assert_ok(spad_direct_create(&direct, &chip, NULL, &error), &error);
        const spad_direct_tensor t = {.name = "t",
                                      .space = "odd",
                                      .dtype = SPAD_UINT8,
                                      .tile = SPAD_SHAPE(1, 1),
                                      .block = SPAD_SHAPE(cases[i].block),
                                      MOD = {.bank_tiles = SPAD_SHAPE(cases[i].banks),
                                             .free_tiles = SPAD_SHAPE(cases[i].frees)}};
        const spad_status status = spad_direct_declare(NULL, direct, &t, &error);
        assert_int_equal(status, cases[i].bad != NULL ? SPAD_ERR_ALIGNMENT : SPAD_OK);
        if (cases[i].bad != NULL) assert_non_null(strstr(error.message, cases[i].bad));
        spad_direct_destroy(direct);
    }
}

static void tuples_are_checked(void **state) {
    (void)state;
    fixture f = make();
    spad_direct_tensor t = {.name = "t", TILE, .block = SPAD_SHAPE(4, 2), .mode = SPAD_MODE_MOD};
    t.rings = (spad_direct_rings){.free_tiles = SPAD_SHAPE(2)};
    refused(&f, t, SPAD_ERR_SHAPE,
            "tensor 't': free_tiles has 1 counts for 2 block dims; give one for each, or none");
    t.rings = (spad_direct_rings){.lane_tiles = SPAD_SHAPE(1, 1, 1)};
    refused(&f, t, SPAD_ERR_SHAPE,
            "tensor 't': lane_tiles has 3 counts for 2 block dims; give one for each, or none");
    t.rings = (spad_direct_rings){.free_tiles = SPAD_SHAPE(2, 0)};
    refused(&f, t, SPAD_ERR_ARGUMENT, "tensor 't': free_tiles[1] is 0; it must be at least 1");
    t.rings = (spad_direct_rings){.bank_tiles = SPAD_SHAPE(-1, 2)};
    refused(&f, t, SPAD_ERR_ARGUMENT, "tensor 't': bank_tiles[0] is -1; it must be at least 1");
    t.rings = (spad_direct_rings){.free_tiles = SPAD_SHAPE(INT64_MAX, 2)};
    refused(&f, t, SPAD_ERR_OVERFLOW, "tensor 't': the product of free_tiles does not fit 64 bits");
    t.rings = (spad_direct_rings){.free_tiles = SPAD_SHAPE(INT64_MAX, 1)};
    refused(
        &f, t, SPAD_ERR_BOUNDS,
        "tensor 't': its footprint of 9223372036854775807 x 1024 B per lane from byte 0 is outside "
        "[0, 212984), the bytes that 'sbuf' of trn2 has for tensors");
    t.rings = (spad_direct_rings){.base = {.byte = 212984 - 2048}, .free_tiles = SPAD_SHAPE(1, 3)};
    refused(&f, t, SPAD_ERR_BOUNDS,
            "tensor 't': its footprint of 3 x 1024 B per lane from byte 210936 is outside [0, "
            "212984), the bytes that 'sbuf' of trn2 has for tensors");
    t.rings = (spad_direct_rings){.lane_tiles = SPAD_SHAPE(1, 2)};
    refused(&f, t, SPAD_ERR_BOUNDS,
            "tensor 't': its footprint of 2 x 128 lanes from lane 0 is outside the 128 lanes "
            "of 'sbuf'");
    t.rings = (spad_direct_rings){.base = {.byte = -4}};
    refused(&f, t, SPAD_ERR_BOUNDS,
            "tensor 't': its footprint of 1 x 1024 B per lane from byte -4 is outside [0, "
            "212984), the bytes that 'sbuf' of trn2 has for tensors");
    t.rings = (spad_direct_rings){.base = {.byte = INT64_MAX}};
    refused(
        &f, t, SPAD_ERR_BOUNDS,
        "tensor 't': its footprint of 1 x 1024 B per lane from byte 9223372036854775807 is outside "
        "[0, 212984), the bytes that 'sbuf' of trn2 has for tensors");
    t.rings = (spad_direct_rings){.bank_tiles = SPAD_SHAPE(2, 1)};
    refused(&f, t, SPAD_ERR_BOUNDS,
            "tensor 't': 2 banks from bank 0, but 'sbuf' has no banks; leave bank and bank_tiles "
            "out");
    done(&f);
}

static void declarations_are_checked(void **state) {
    (void)state;
    fixture f = make();
    refused(&f, (spad_direct_tensor){.name = "t", .dtype = SPAD_UINT8, .tile = SPAD_SHAPE(1, 1)},
            SPAD_ERR_ARGUMENT, "tensor 't': it has no space");
    spad_direct_tensor t = {.name = "t", TILE};
    t.space = "sram";
    refused(&f, t, SPAD_ERR_UNKNOWN,
            "tensor 't': target 'trn2' has no space 'sram'; it has sbuf, psum, hbm");
    t.space = "sbuf";
    t.mode = SPAD_MODE_HEAP;
    refused(&f, t, SPAD_ERR_ARGUMENT, "tensor 't': its mode must be auto, at, mod or func");
    t.mode = SPAD_MODE_AUTO;
    t.dtype = SPAD_DTYPE_NONE;
    assert_int_equal(spad_direct_declare(NULL, f.direct, &t, &f.error), SPAD_ERR_DTYPE);
    t.dtype = SPAD_UINT8;
    t.tile = (spad_shape){0};
    refused(&f, t, SPAD_ERR_SHAPE, "tensor 't': a tile needs at least its lane dim");
    t.tile = SPAD_SHAPE(128, 0);
    refused(&f, t, SPAD_ERR_SHAPE, "tensor 't': tile dim 1 is 0; it must be at least 1");
    t.tile = SPAD_SHAPE(128);
    t.block = SPAD_SHAPE(2, -1);
    refused(&f, t, SPAD_ERR_SHAPE, "tensor 't': block dim 1 is -1; it must be at least 1");
    t.block = SPAD_SHAPE(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1);
    refused(&f, t, SPAD_ERR_SHAPE, "tensor 't': 16 block dims and 1 tile dims; at most 16 in all");
    t.block = (spad_shape){0};
    t.output = true;
    refused(&f, t, SPAD_ERR_SPACE, "tensor 't': only a tensor off chip can be an output");
    t.output = false;
    t.tile = SPAD_SHAPE(129, 1);
    refused(&f, t, SPAD_ERR_LANES, "tensor 't': a tile of 129 lanes does not fit: 'sbuf' has 128");
    t.tile = SPAD_SHAPE(128, 300000);
    refused(&f, t, SPAD_ERR_BOUNDS,
            "tensor 't': a tile of 300000 B per lane does not fit 'sbuf' of trn2, which has 212984 "
            "B");
    t.tile = SPAD_SHAPE(128, 512);
    t.ring = SPAD_SHAPE(2);
    refused(&f, t, SPAD_ERR_SHAPE,
            "tensor 't': ring has 1 counts for 0 block dims; give one for each, or none");
    t.ring = (spad_shape){0};
    t.implicit_of = "nl.load";
    t.mode = SPAD_MODE_MOD;
    refused(&f, t, SPAD_ERR_ARGUMENT,
            "tensor 't': an implicit tensor cannot be placed, only have mode auto");
    t.implicit_of = NULL;
    t.space = "hbm";
    refused(&f, t, SPAD_ERR_SPACE,
            "tensor 't': a tensor off chip has no placement; give it mode auto");
    t.mode = SPAD_MODE_AUTO;
    t.tile = SPAD_SHAPE(1, INT64_MAX / 2);
    t.block = SPAD_SHAPE(3);
    assert_int_equal(spad_direct_declare(NULL, f.direct, &t, &f.error), SPAD_ERR_OVERFLOW);
    assert_memory_equal(f.error.message, "tensor 't': the bytes", 21);
    t.space = "sbuf";
    t.name = NULL;
    t.tile = SPAD_SHAPE(128, 512, 0);
    refused(&f, t, SPAD_ERR_SHAPE, "an unnamed tensor: tile dim 2 is 0; it must be at least 1");
    done(&f);
}

static void objects_are_checked(void **state) {
    (void)state;
    fixture f = make();
    spad_direct *other;
    assert_int_equal(spad_direct_create(&other, NULL, NULL, &f.error), SPAD_ERR_ARGUMENT);
    assert_string_equal(f.error.message, "a kernel needs a target");
    const spad_target *trn1;
    assert_ok(spad_target_find(&trn1, "trn1", &f.error), &f.error);
    const spad_direct_options options = {.trace = f.trace};
    assert_int_equal(spad_direct_create(&other, trn1, &options, &f.error), SPAD_ERR_ARGUMENT);
    assert_string_equal(f.error.message, "the trace was made for target trn2, not for trn1");
    assert_null(other);

    const size_t t = declare(
        &f,
        (spad_direct_tensor){.name = "query", TILE, .block = SPAD_SHAPE(4), MOD = {.base = {0}}});
    spad_direct_info about;
    assert_int_equal(spad_direct_get(&about, f.direct, 1, &f.error), SPAD_ERR_ARGUMENT);
    assert_string_equal(f.error.message, "the kernel has no tensor number 1, only 1");
    spad_direct_tile row;
    assert_int_equal(spad_direct_get_tile(&row, f.direct, t, 4, &f.error), SPAD_ERR_ARGUMENT);
    assert_string_equal(f.error.message, "tensor 'query': no logical tile number 4, there are 4");
    assert_int_equal(row.tile, -1);
    assert_int_equal(spad_direct_get_physical(&row, f.direct, t, 1, &f.error), SPAD_ERR_ARGUMENT);
    assert_string_equal(f.error.message, "tensor 'query': no physical tile number 1, there are 1");
    assert_int_equal(spad_direct_get_tile(&row, f.direct, t, -1, NULL), SPAD_ERR_ARGUMENT);
    int64_t number;
    assert_int_equal(spad_direct_tile_number(&number, f.direct, t, (int64_t[]){4}, &f.error),
                     SPAD_ERR_ARGUMENT);
    assert_string_equal(f.error.message, "tensor 'query': index 4 in block dim 0, which has 4");
    int64_t index[1];
    assert_ok(spad_direct_tile_index(index, f.direct, t, 3, &f.error), &f.error);
    assert_int_equal(index[0], 3);
    assert_int_equal(spad_direct_tile_index(index, f.direct, 9, 3, &f.error), SPAD_ERR_ARGUMENT);
    size_t found;
    assert_ok(spad_direct_find(&found, f.direct, "query", &f.error), &f.error);
    assert_int_equal(found, t);
    assert_int_equal(spad_direct_find(&found, f.direct, "qeury", &f.error), SPAD_ERR_UNKNOWN);
    assert_string_equal(f.error.message, "the kernel has no tensor 'qeury'; did you mean 'query'?");
    done(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start_lanes_follow_the_table),
        cmocka_unit_test(bytes_follow_the_chip),
        cmocka_unit_test(exclusive_banks_hold_one_tile),
        cmocka_unit_test(other_banks_can_be_shared),
        cmocka_unit_test(alignment_holds_at_every_wrap),
        cmocka_unit_test(tuples_are_checked),
        cmocka_unit_test(declarations_are_checked),
        cmocka_unit_test(objects_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
