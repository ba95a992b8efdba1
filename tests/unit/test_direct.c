/* SPDX-License-Identifier: Apache-2.0
 *
 * Direct placement: the tables of the NKI guide, callbacks, findings, overlaps, the trace, and
 * failing host memory. */
#include "spad/experimental/trace_queries.h"
#include "unit/direct_fixture.h"

#include <stdio.h>
#include <string.h>

#include "spad/experimental/modular.h"

/* ---- the modulo scheme ------------------------------------------------------------- */

static void modulo_doubles_buffers(void **state) {
    (void)state;
    fixture f = make();
    const size_t t = declare(
        &f, (spad_direct_tensor){
                .name = "t", TILE, .block = SPAD_SHAPE(4), MOD = {.free_tiles = SPAD_SHAPE(2)}});
    static const int64_t bytes[] = {0, 1024, 0, 1024};
    for (int64_t i = 0; i < 4; i++) {
        const spad_direct_tile row = tile(&f, t, i);
        assert_int_equal(row.rect.lane, 0);
        assert_int_equal(row.rect.lanes, 128);
        assert_int_equal(row.rect.byte, bytes[i]);
        assert_int_equal(row.rect.bytes, 1024);
        assert_int_equal(row.physical, i % 2);
        assert_int_equal(row.next, i < 2 ? i + 2 : -1);
    }
    const spad_direct_info about = info(&f, t);
    assert_int_equal(about.tiles, 4);
    assert_int_equal(about.physical, 2);
    assert_int_equal(about.footprint.bytes, 2048);
    assert_int_equal(about.footprint.lanes, 128);
    done(&f);
}

static void modulo_runs_over_banks(void **state) {
    (void)state;
    fixture f = make();
    const size_t one = declare(
        &f, (spad_direct_tensor){
                .name = "one", PSUM, .block = SPAD_SHAPE(4), MOD = {.bank_tiles = SPAD_SHAPE(2)}});
    for (int64_t i = 0; i < 4; i++) assert_int_equal(tile(&f, one, i).spot.bank, i % 2);
    const size_t two = declare(&f, (spad_direct_tensor){.name = "two",
                                                        PSUM,
                                                        .block = SPAD_SHAPE(3, 5),
                                                        MOD = {.bank_tiles = SPAD_SHAPE(2, 4)}});
    for (int64_t g = 0; g < 3; g++) {
        for (int64_t k = 0; k < 5; k++) {
            int64_t number;
            assert_ok(spad_direct_tile_number(&number, f.direct, two, (int64_t[]){g, k}, &f.error),
                      &f.error);
            const spad_direct_tile row = tile(&f, two, number);
            assert_int_equal(row.spot.bank, g % 2 * 4 + k % 4);
            assert_int_equal(row.spot.byte, 0);
            assert_int_equal(row.rect.byte, row.spot.bank * 2048);
        }
    }
    assert_int_equal(info(&f, two).physical, 8);
    assert_int_equal(info(&f, two).footprint.bytes, 8 * 2048);
    done(&f);
}

/* Lane and byte take different turns from the same index: 2 and 3 give 6 places. */
static void coordinates_are_independent(void **state) {
    (void)state;
    fixture f = make();
    const size_t t = declare(&f, (spad_direct_tensor){.name = "t",
                                                      .space = "sbuf",
                                                      .dtype = SPAD_UINT8,
                                                      .tile = SPAD_SHAPE(32, 10),
                                                      .block = SPAD_SHAPE(20),
                                                      MOD = {.base = {.byte = 100},
                                                             .lane_tiles = SPAD_SHAPE(2),
                                                             .free_tiles = SPAD_SHAPE(3)}});
    for (int64_t i = 0; i < 20; i++) {
        const spad_direct_tile row = tile(&f, t, i);
        assert_int_equal(row.spot.lane, i % 2 * 32);
        assert_int_equal(row.spot.byte, 100 + i % 3 * 10);
        assert_int_equal(row.physical, i % 6);
        assert_int_equal(row.next, i + 6 < 20 ? i + 6 : -1);
    }
    assert_int_equal(info(&f, t).physical, 6);
    assert_rect(info(&f, t).footprint, 0, 64, 100, 30);
    done(&f);
}

static void empty_tuples_are_constant(void **state) {
    (void)state;
    fixture f = make();
    const size_t t =
        declare(&f, (spad_direct_tensor){
                        .name = "t", TILE, .block = SPAD_SHAPE(3, 2), MOD = {.base = {.byte = 7}}});
    for (int64_t i = 0; i < 6; i++) assert_int_equal(tile(&f, t, i).rect.byte, 7);
    assert_int_equal(info(&f, t).physical, 1);
    int64_t shared = 0;
    spad_direct_tile row;
    assert_ok(spad_direct_get_physical(&row, f.direct, t, 0, &f.error), &f.error);
    for (int64_t i = row.tile; i != -1; i = tile(&f, t, i).next) assert_int_equal(i, shared++);
    assert_int_equal(shared, 6);
    const size_t flat =
        declare(&f, (spad_direct_tensor){.name = "flat", TILE, MOD = {.base = {0}}});
    assert_int_equal(info(&f, flat).tiles, 1);
    assert_int_equal(tile(&f, flat, 0).rect.byte, 0);
    done(&f);
}

static void larger_counts_leave_holes(void **state) {
    (void)state;
    fixture f = make();
    const size_t t = declare(&f, (spad_direct_tensor){.name = "t",
                                                      TILE,
                                                      .block = SPAD_SHAPE(2, 2),
                                                      MOD = {.free_tiles = SPAD_SHAPE(2, 5)}});
    assert_int_equal(tile(&f, t, 2).rect.byte, 5 * 1024);
    assert_int_equal(info(&f, t).physical, 4);
    assert_int_equal(info(&f, t).footprint.bytes, 10 * 1024);
    done(&f);
}

static void huge_block_dims_cost_nothing(void **state) {
    (void)state;
    fixture f = make();
    const int64_t huge = 3000000000;
    const size_t t = declare(&f, (spad_direct_tensor){.name = "t",
                                                      TILE,
                                                      .block = SPAD_SHAPE(huge, huge),
                                                      MOD = {.free_tiles = SPAD_SHAPE(2, 3)}});
    assert_int_equal(info(&f, t).physical, 6);
    const spad_direct_tile row = tile(&f, t, huge * huge - 1);
    assert_int_equal(row.rect.byte, 5 * 1024);
    assert_int_equal(row.next, -1);
    assert_int_equal(spad_trace_event_count(f.trace), 6);
    refused(&f,
            (spad_direct_tensor){
                .name = "u", TILE, .block = SPAD_SHAPE(huge, huge, huge), MOD = {.base = {0}}},
            SPAD_ERR_OVERFLOW, "tensor 'u': the tiles do not fit 64 bits");
    refused(&f, (spad_direct_tensor){.name = "u", TILE, .block = SPAD_SHAPE(huge)},
            SPAD_ERR_ARGUMENT,
            "tensor 'u': 3000000000 physical tiles, more than the 1048576 that one tensor can "
            "have; use rings with smaller counts");
    done(&f);
}

/* ---- callbacks and tables ---------------------------------------------------------- */

/* simple_1d_alloc_func of the guide. */
static spad_status one_behind_the_other(spad_direct_spot *out, const int64_t *index, int64_t lanes,
                                        int64_t bytes, void *context, spad_error *error) {
    (void)error;
    assert_int_equal(lanes, 128);
    assert_int_equal(bytes, 1024);
    assert_int_equal(index[0], *(int *)context);
    ++*(int *)context;
    out->byte = index[0] * bytes;
    return SPAD_OK;
}

static void callbacks_run_once_per_tile(void **state) {
    (void)state;
    fixture f = make();
    int calls = 0;
    const size_t t = declare(&f, (spad_direct_tensor){.name = "t",
                                                      TILE,
                                                      .block = SPAD_SHAPE(4),
                                                      .mode = SPAD_MODE_FUNC,
                                                      .func = one_behind_the_other,
                                                      .context = &calls});
    assert_int_equal(calls, 4);
    for (int64_t i = 0; i < 4; i++) assert_int_equal(tile(&f, t, i).rect.byte, i * 1024);
    assert_int_equal(info(&f, t).physical, 4);
    assert_int_equal(info(&f, t).footprint.bytes, 4096);
    done(&f);
}

static spad_status fails_at_two(spad_direct_spot *out, const int64_t *index, int64_t lanes,
                                int64_t bytes, void *context, spad_error *error) {
    (void)lanes;
    out->byte = index[0] * bytes;
    if (index[0] < 2) return SPAD_OK;
    if (context != NULL) snprintf(error->message, sizeof error->message, "%s", (char *)context);
    return SPAD_ERR_NO_FIT;
}

static spad_status returns_one(spad_direct_spot *out, const int64_t *index, int64_t lanes,
                               int64_t bytes, void *context, spad_error *error) {
    (void)out;
    (void)index;
    (void)lanes;
    (void)bytes;
    (void)context;
    (void)error;
    return (spad_status)1;
}

static void callbacks_can_refuse(void **state) {
    (void)state;
    fixture f = make();
    spad_direct_tensor t = {.name = "t", TILE, .block = SPAD_SHAPE(4)};
    t.mode = SPAD_MODE_FUNC;
    refused(&f, t, SPAD_ERR_ARGUMENT, "tensor 't': mode func without a function");
    t.func = fails_at_two;
    refused(&f, t, SPAD_ERR_NO_FIT, "tensor 't', tile (2,): its placement function failed");
    t.context = "the pool is empty";
    refused(&f, t, SPAD_ERR_NO_FIT, "tensor 't', tile (2,): the pool is empty");
    t.func = returns_one;
    refused(&f, t, SPAD_ERR_ARGUMENT,
            "tensor 't', tile (0,): its placement function returned 1, which is not a status");
    done(&f);
}

static spad_status never_called(spad_direct_spot *out, const int64_t *index, int64_t lanes,
                                int64_t bytes, void *context, spad_error *error) {
    (void)out;
    (void)index;
    (void)lanes;
    (void)bytes;
    (void)context;
    (void)error;
    fail_msg("the callback ran");
    return SPAD_ERR_INTERNAL;
}

static void fields_go_with_a_mode(void **state) {
    (void)state;
    fixture f = make();
    static const spad_direct_spot spot = {0};
    const struct {
        spad_direct_tensor tensor;
        const char *message;
    } cases[] = {
        {{.name = "t", TILE, .block = SPAD_SHAPE(4), .rings = {.free_tiles = SPAD_SHAPE(2)}},
         "tensor 't': its mode is auto, but rings is given, which goes with mode mod"},
        {{.name = "t", TILE, .rings = {.base = {.byte = 64}}},
         "tensor 't': its mode is auto, but rings is given, which goes with mode mod"},
        {{.name = "t", TILE, .func = never_called},
         "tensor 't': its mode is auto, but func or context is given, which goes with mode func"},
        {{.name = "t", TILE, .mode = SPAD_MODE_MOD, .spots = &spot, .spot_count = 1},
         "tensor 't': its mode is mod, but spots is given, which goes with mode at"},
        {{.name = "t",
          TILE,
          .block = SPAD_SHAPE(4),
          .mode = SPAD_MODE_FUNC,
          .func = never_called,
          .ring = SPAD_SHAPE(2)},
         "tensor 't': its mode is func, but ring is given, which goes with mode auto"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        refused(&f, cases[i].tensor, SPAD_ERR_ARGUMENT, cases[i].message);
    }
    size_t number;
    assert_int_equal(spad_direct_find(&number, f.direct, NULL, &f.error), SPAD_ERR_ARGUMENT);
    done(&f);
}

/* A tile that no lane can hold is the same fault however it is placed. */
static void too_many_lanes(void **state) {
    (void)state;
    fixture f = make();
    static const spad_direct_spot spot = {0};
    spad_direct_tensor t = {
        .name = "t", .space = "sbuf", .dtype = SPAD_UINT8, .tile = SPAD_SHAPE(129, 4)};
    static const char message[] = "tensor 't': a tile of 129 lanes does not fit: 'sbuf' has 128";
    refused(&f, t, SPAD_ERR_LANES, message);
    t.mode = SPAD_MODE_MOD;
    refused(&f, t, SPAD_ERR_LANES, message);
    t.mode = SPAD_MODE_AT;
    t.spots = &spot;
    t.spot_count = 1;
    assert_int_equal(spad_direct_declare(NULL, f.direct, &t, &f.error), SPAD_ERR_LANES);
    done(&f);
}

typedef struct nested {
    fixture *f;
    spad_status status;
} nested;

/* A callback that declares another tensor of the same name. */
static spad_status declares_inside(spad_direct_spot *out, const int64_t *index, int64_t lanes,
                                   int64_t bytes, void *context, spad_error *error) {
    (void)out;
    (void)index;
    (void)lanes;
    (void)bytes;
    nested *n = context;
    const spad_direct_tensor inner = {.name = "t", TILE, MOD = {.base = {0}}};
    n->status = spad_direct_declare(NULL, n->f->direct, &inner, error);
    return SPAD_OK;
}

static void callbacks_may_declare(void **state) {
    (void)state;
    fixture f = make();
    nested n = {.f = &f, .status = SPAD_ERR_INTERNAL};
    const spad_direct_tensor outer = {
        .name = "t", TILE, .mode = SPAD_MODE_FUNC, .func = declares_inside, .context = &n};
    assert_int_equal(spad_direct_declare(NULL, f.direct, &outer, &f.error), SPAD_ERR_NAME);
    assert_string_equal(f.error.message,
                        "tensor 't' is declared already; names are unique in a kernel");
    assert_int_equal(n.status, SPAD_OK);
    assert_int_equal(spad_direct_count(f.direct), 1);
    done(&f);
}

static void given_places_are_kept(void **state) {
    (void)state;
    fixture f = make();
    const spad_direct_spot spots[] = {{.lane = 64, .byte = 50}, {0}, {.lane = 64, .byte = 50}};
    spad_direct_tensor t = {.name = "t",
                            .space = "sbuf",
                            .dtype = SPAD_UINT8,
                            .tile = SPAD_SHAPE(64, 10),
                            .block = SPAD_SHAPE(3),
                            .mode = SPAD_MODE_AT,
                            .spots = spots,
                            .spot_count = 3};
    const size_t n = declare(&f, t);
    assert_int_equal(info(&f, n).physical, 2);
    assert_int_equal(tile(&f, n, 0).next, 2);
    assert_int_equal(tile(&f, n, 2).physical, 0);
    assert_int_equal(tile(&f, n, 1).physical, 1);
    assert_rect(info(&f, n).footprint, 0, 128, 0, 60);
    t.name = "u";
    t.spot_count = 2;
    refused(&f, t, SPAD_ERR_ARGUMENT,
            "tensor 'u': 2 spots for 3 tiles; mode at needs one for each");
    t.spots = NULL;
    t.spot_count = 3;
    refused(&f, t, SPAD_ERR_ARGUMENT,
            "tensor 'u': 3 spots for 3 tiles; mode at needs one for each");
    done(&f);
}

static void tables_have_a_limit(void **state) {
    (void)state;
    fixture f = make();
    refused(&f,
            (spad_direct_tensor){.name = "t",
                                 TILE,
                                 .block = SPAD_SHAPE(1000, 1000000),
                                 .mode = SPAD_MODE_FUNC,
                                 .func = never_called},
            SPAD_ERR_ARGUMENT,
            "tensor 't': 1000000000 logical tiles, more than the 1048576 that one tensor can "
            "have; use rings with smaller counts");
    done(&f);
}

/* ---- automatic placement and findings ---------------------------------------------- */

static void automatic_tensors_have_no_address(void **state) {
    (void)state;
    fixture f = make();
    const size_t all =
        declare(&f, (spad_direct_tensor){.name = "all", TILE, .block = SPAD_SHAPE(4)});
    const size_t ring = declare(
        &f,
        (spad_direct_tensor){.name = "ring", TILE, .block = SPAD_SHAPE(4), .ring = SPAD_SHAPE(3)});
    assert_int_equal(info(&f, all).physical, 4);
    assert_int_equal(info(&f, ring).physical, 3);
    assert_int_equal(info(&f, ring).footprint.byte, SPAD_NO_BYTE);
    assert_int_equal(tile(&f, ring, 3).physical, 0);
    assert_int_equal(tile(&f, ring, 0).next, 3);
    assert_int_equal(tile(&f, ring, 0).rect.byte, SPAD_NO_BYTE);
    assert_int_equal(tile(&f, ring, 0).spot.byte, SPAD_NO_BYTE);
    assert_int_equal(spad_direct_list_findings(NULL, 0, f.direct), 0);
    done(&f);
}

static void declare_faulty_kernel(fixture *f) {
    declare(f, (spad_direct_tensor){.name = "auto", TILE});
    declare(f, (spad_direct_tensor){.name = "mod", TILE, MOD = {.base = {0}}});
    declare(f, (spad_direct_tensor){.name = "load", TILE, .implicit_of = "nl.load"});
    declare(f,
            (spad_direct_tensor){
                .name = "scratch", .space = "hbm", .dtype = SPAD_FLOAT32, .tile = SPAD_SHAPE(64)});
    declare(f, (spad_direct_tensor){.name = "result",
                                    .space = "hbm",
                                    .dtype = SPAD_FLOAT32,
                                    .tile = SPAD_SHAPE(64),
                                    .output = true});
}

static void mistakes_are_findings(void **state) {
    (void)state;
    fixture f = make();
    declare_faulty_kernel(&f);
    spad_finding found[4];
    assert_int_equal(spad_direct_list_findings(found, 4, f.direct), 3);
    assert_int_equal(found[0].code, SPAD_FINDING_MIXED_PLACEMENT);
    for (size_t i = 0; i < 3; i++) { /* as in a check of a kernel */
        assert_int_equal(found[i].severity, SPAD_SEVERITY_WARNING);
    }
    assert_string_equal(found[0].message,
                        "tensor 'auto' in 'sbuf' is placed automatically, while tensor 'mod' is "
                        "placed directly; place all tensors or none");
    assert_string_equal(found[0].subject, "auto");
    assert_string_equal(found[0].other, "mod");
    assert_int_equal(found[0].number, 0);
    assert_int_equal(found[0].time, 0);
    assert_int_equal(found[1].code, SPAD_FINDING_IMPLICIT_TENSOR);
    assert_string_equal(found[1].message,
                        "tensor 'load' in 'sbuf' is made by nl.load, so it cannot be placed, while "
                        "tensor 'mod' is placed directly; declare and place a tensor for it, or "
                        "use another operation");
    assert_int_equal(found[1].time, 2);
    assert_int_equal(found[2].code, SPAD_FINDING_OFF_CHIP_NOT_OUTPUT);
    assert_string_equal(found[2].message,
                        "tensor 'scratch' in 'hbm' is not an output, while tensor 'mod' is placed "
                        "directly; return it from the kernel, or keep it on chip");
    assert_int_equal(found[2].number, 3);
    memset(found, 0, sizeof found);
    assert_int_equal(spad_direct_list_findings(found, 1, f.direct), 3);
    assert_int_equal(found[1].code, SPAD_FINDING_NONE);
    done(&f);
}

static void codes_have_texts(void **state) {
    (void)state;
    assert_string_equal(spad_finding_name(SPAD_FINDING_MIXED_PLACEMENT), "SPAD-MIXED-PLACEMENT");
    assert_string_equal(spad_finding_name(SPAD_FINDING_IMPLICIT_TENSOR), "SPAD-IMPLICIT-TENSOR");
    assert_string_equal(spad_finding_name(SPAD_FINDING_OFF_CHIP_NOT_OUTPUT),
                        "SPAD-OFF-CHIP-NOT-OUTPUT");
    assert_string_equal(spad_finding_name(SPAD_FINDING_NONE), "?");
    assert_string_equal(spad_finding_sentence(SPAD_FINDING_MIXED_PLACEMENT),
                        "a tensor is placed automatically in a kernel that places others directly");
    assert_string_equal(spad_finding_sentence(SPAD_FINDING_NONE), "not a finding of this library");
    assert_string_equal(spad_severity_name(SPAD_SEVERITY_ERROR), "error");
    assert_string_equal(spad_severity_name(SPAD_SEVERITY_WARNING), "warning");
    assert_string_equal(spad_severity_name(SPAD_SEVERITY_ADVICE), "advice");
    assert_string_equal(spad_severity_name((spad_severity)9), "?");
}

static void force_auto_places_nothing(void **state) {
    (void)state;
    fixture f = make_on("trn2", true);
    declare_faulty_kernel(&f);
    /* not even a wrong placement is examined */
    const size_t t = declare(
        &f, (spad_direct_tensor){.name = "t",
                                 TILE,
                                 .block = SPAD_SHAPE(4),
                                 MOD = {.base = {.byte = -1}, .free_tiles = SPAD_SHAPE(2)}});
    const size_t g = declare(&f, (spad_direct_tensor){.name = "g",
                                                      TILE,
                                                      .block = SPAD_SHAPE(4),
                                                      .mode = SPAD_MODE_FUNC,
                                                      .func = never_called});
    assert_int_equal(info(&f, t).mode, SPAD_MODE_AUTO);
    assert_int_equal(info(&f, t).physical, 2); /* it is double buffering still */
    assert_int_equal(tile(&f, t, 3).physical, 1);
    assert_int_equal(tile(&f, t, 3).rect.byte, SPAD_NO_BYTE);
    /* a ring over more tiles than can be kept one by one */
    const size_t large = declare(&f, (spad_direct_tensor){.name = "large",
                                                          TILE,
                                                          .block = SPAD_SHAPE(1 << 20, 1 << 20),
                                                          MOD = {.free_tiles = SPAD_SHAPE(2, 3)}});
    assert_int_equal(info(&f, large).physical, 6);
    const size_t odd = declare(&f, (spad_direct_tensor){.name = "odd",
                                                        TILE,
                                                        .block = SPAD_SHAPE(4),
                                                        MOD = {.free_tiles = SPAD_SHAPE(2, 3)}});
    assert_int_equal(info(&f, odd).physical, 4);
    assert_int_equal(info(&f, g).mode, SPAD_MODE_AUTO);
    assert_int_equal(spad_direct_list_findings(NULL, 0, f.direct), 0);
    done(&f);
}

/* ---- overlaps ---------------------------------------------------------------------- */

static void overlaps_name_the_tiles(void **state) {
    (void)state;
    fixture f = make();
    declare(&f,
            (spad_direct_tensor){
                .name = "t0", TILE, .block = SPAD_SHAPE(4), MOD = {.free_tiles = SPAD_SHAPE(2)}});
    declare(&f, (spad_direct_tensor){.name = "t1",
                                     TILE,
                                     .block = SPAD_SHAPE(4),
                                     MOD = {.base = {.byte = 1024}, .free_tiles = SPAD_SHAPE(2)}});
    declare(&f, (spad_direct_tensor){.name = "free", TILE, .block = SPAD_SHAPE(4)});
    declare(&f, (spad_direct_tensor){.name = "psum", PSUM, MOD = {.base = {0}}});
    spad_direct_overlap pairs[4];
    size_t count;
    assert_ok(spad_direct_list_overlaps(&count, pairs, 4, f.direct, &f.error), &f.error);
    assert_int_equal(count, 1);
    assert_int_equal(pairs[0].tensor_a, 0);
    assert_int_equal(pairs[0].tile_a, 1);
    assert_int_equal(pairs[0].tensor_b, 1);
    assert_int_equal(pairs[0].tile_b, 0);
    assert_int_equal(pairs[0].space, 0);
    assert_rect(pairs[0].shared, 0, 128, 1024, 1024);
    /* a callback can lay the tiles of one tensor over each other */
    spad_direct_spot spots[2];
    declare(&f, second_at("sbuf", 32, 100, spots, (spad_direct_spot){.byte = 60}));
    assert_ok(spad_direct_list_overlaps(&count, pairs, 4, f.direct, &f.error), &f.error);
    assert_int_equal(count, 4); /* and over t0 */
    assert_int_equal(pairs[3].tensor_a, 4);
    assert_int_equal(pairs[3].tensor_b, 4);
    assert_rect(pairs[3].shared, 0, 32, 60, 40);
    assert_ok(spad_direct_list_overlaps(&count, pairs, 1, f.direct, &f.error), &f.error);
    assert_int_equal(count, 4);
    assert_int_equal(pairs[0].tensor_b, 4);
    assert_int_equal(pairs[0].tile_a, 0);
    assert_ok(spad_direct_list_overlaps(&count, NULL, 0, f.direct, &f.error), &f.error);
    assert_int_equal(count, 4);
    done(&f);
}

/* 2 x 10^5 tiles, each of which meets two others. */
static void overlaps_are_found_by_a_sweep(void **state) {
    (void)state;
    fixture f = make();
    const int64_t n = 100000;
    for (int64_t base = 0; base < 2; base++) {
        declare(&f,
                (spad_direct_tensor){.space = "sbuf",
                                     .dtype = SPAD_UINT16,
                                     .tile = SPAD_SHAPE(32, 1),
                                     .block = SPAD_SHAPE(n),
                                     MOD = {.base = {.byte = base}, .free_tiles = SPAD_SHAPE(n)}});
    }
    size_t count;
    spad_direct_overlap first[2];
    assert_ok(spad_direct_list_overlaps(&count, first, 2, f.direct, &f.error), &f.error);
    assert_int_equal(count, 2 * n - 1);
    assert_int_equal(first[1].tile_a, 1);
    assert_int_equal(first[1].tile_b, 0);
    done(&f);
}

/* ---- the trace --------------------------------------------------------------------- */

static void the_trace_has_physical_tiles(void **state) {
    (void)state;
    fixture f = make();
    const size_t x = declare(&f, (spad_direct_tensor){.name = "x",
                                                      TILE,
                                                      .block = SPAD_SHAPE(4, 3),
                                                      MOD = {.free_tiles = SPAD_SHAPE(2, 1)}});
    const size_t y = declare(&f, (spad_direct_tensor){.name = "y", TILE, MOD = {.base = {0}}});
    const size_t h = declare(&f, (spad_direct_tensor){.name = "h",
                                                      .space = "hbm",
                                                      .dtype = SPAD_FLOAT32,
                                                      .block = SPAD_SHAPE(1000000000),
                                                      .tile = SPAD_SHAPE(128, 4),
                                                      .output = true});
    declare(&f, (spad_direct_tensor){TILE, .block = SPAD_SHAPE(1), MOD = {.base = {0}}});
    assert_int_equal(info(&f, x).traced, 0);
    assert_int_equal(info(&f, y).traced, 2);
    assert_int_equal(info(&f, h).traced, 3);
    assert_int_equal(spad_trace_tensor_count(f.trace), 5);
    const spad_tensor *tiles = spad_trace_get_tensor(f.trace, 0);
    assert_string_equal(tiles[0].name, "x[0,0]");
    assert_string_equal(tiles[1].name, "x[1,0]");
    assert_int_equal(tiles[1].mode, SPAD_MODE_MOD);
    assert_int_equal(tiles[1].rect.byte, 1024);
    assert_int_equal(tiles[1].shape.rank, 2);
    assert_int_equal(tiles[1].shape.dims[1], 512);
    assert_string_equal(tiles[2].name, "y");
    assert_string_equal(tiles[3].name, "h");
    assert_int_equal(tiles[3].mode, SPAD_MODE_AUTO);
    assert_int_equal(tiles[3].rect.byte, SPAD_NO_BYTE);
    assert_int_equal(tiles[3].rect.bytes, 1000000000LL * 128 * 4 * 4);
    assert_int_equal(tiles[3].shape.rank, 3);
    assert_null(tiles[4].name);
    spad_space_stats stats;
    assert_ok(spad_trace_get_stats(&stats, f.trace, 0, &f.error), &f.error);
    assert_int_equal(stats.peak_bytes, 4 * 1024);

    spad_direct_close(f.direct);
    assert_int_equal(spad_trace_event_count(f.trace), 10);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(spad_trace_get_tensor(f.trace, i)->t_end, 5 + i);
    }
    refused(&f, (spad_direct_tensor){.name = "z", TILE}, SPAD_ERR_NOT_LIVE,
            "the kernel is closed; declare its tensors before that");
    spad_direct_close(f.direct);
    assert_int_equal(spad_trace_event_count(f.trace), 10);
    assert_int_equal(tile(&f, x, 3).rect.byte, 1024);
    done(&f);
}

/* ---- the bump allocator of rings --------------------------------------------------- */

static void modular_rings_can_be_declared(void **state) {
    (void)state;
    fixture f = make();
    spad_modular m = {.cursor = 100};
    spad_modular_tensor ring;
    const spad_modular_request request = {.shape = SPAD_SHAPE(128, 512),
                                          .dtype = SPAD_BFLOAT16,
                                          .block = SPAD_SHAPE(4, 3),
                                          .free_tiles = SPAD_SHAPE(2, 3),
                                          .align_to = 32};
    assert_ok(spad_modular_alloc(&ring, &m, &request, &f.error), &f.error);
    const size_t t = declare(
        &f, (spad_direct_tensor){
                .name = "k", TILE, .block = request.block, MOD = spad_modular_get_rings(&ring)});
    for (int64_t i = 0; i < 12; i++) {
        int64_t index[2], address;
        assert_ok(spad_direct_tile_index(index, f.direct, t, i, &f.error), &f.error);
        assert_ok(spad_modular_get_address(&address, &ring, index, &f.error), &f.error);
        assert_int_equal(tile(&f, t, i).rect.byte, address);
    }
    assert_int_equal(info(&f, t).footprint.bytes, ring.bytes);
    done(&f);
}

/* ---- host memory ------------------------------------------------------------------- */

/* Every kind of tensor, with a trace; a failed declaration must leave no event. */
static spad_status scenario(const spad_host *host, void *context) {
    (void)context;
    const spad_target *target;
    spad_trace *trace = NULL;
    spad_direct *direct = NULL;
    spad_status status = spad_target_find(&target, "trn2", NULL);
    assert_int_equal(status, SPAD_OK);
    status = spad_trace_create(&trace, target, host, NULL);
    if (status == SPAD_OK) {
        const spad_direct_options options = {.trace = trace, .host = host};
        status = spad_direct_create(&direct, target, &options, NULL);
    }
    static spad_direct_spot spots[3] = {{.byte = 9}, {.byte = 10}, {.byte = 9}};
    const spad_direct_tensor tensors[] = {
        {.name = "mod", TILE, .block = SPAD_SHAPE(40), MOD = {.free_tiles = SPAD_SHAPE(20)}},
        {.name = "at",
         TILE,
         .block = SPAD_SHAPE(3),
         .mode = SPAD_MODE_AT,
         .spots = spots,
         .spot_count = 3},
        {.name = "implicit", TILE, .implicit_of = "nl.load"},
        {.name = "h", .space = "hbm", .dtype = SPAD_INT8, .tile = SPAD_SHAPE(4), .output = true},
    };
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors && status == SPAD_OK; i++) {
        const size_t events = spad_trace_event_count(trace);
        status = spad_direct_declare(NULL, direct, &tensors[i], NULL);
        if (status == SPAD_OK) continue;
        assert_int_equal(spad_trace_event_count(trace), events);
        assert_int_equal(spad_trace_tensor_count(trace), events);
        assert_int_equal(spad_direct_count(direct), i);
        size_t found;
        assert_int_equal(spad_direct_find(&found, direct, tensors[i].name, NULL), SPAD_ERR_UNKNOWN);
        spad_space_stats stats;
        spad_trace_get_stats(&stats, trace, 0, NULL);
        assert_int_equal(stats.live_tensors, events); /* all before the last are in sbuf */
    }
    size_t count;
    if (status == SPAD_OK) status = spad_direct_list_overlaps(&count, NULL, 0, direct, NULL);
    if (status == SPAD_OK) spad_direct_close(direct);
    spad_direct_destroy(direct);
    spad_trace_destroy(trace);
    return status;
}

static void survives_failing_memory(void **state) {
    (void)state;
    test_fail_each_allocation(scenario, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modulo_doubles_buffers),
        cmocka_unit_test(modulo_runs_over_banks),
        cmocka_unit_test(coordinates_are_independent),
        cmocka_unit_test(empty_tuples_are_constant),
        cmocka_unit_test(larger_counts_leave_holes),
        cmocka_unit_test(huge_block_dims_cost_nothing),
        cmocka_unit_test(callbacks_run_once_per_tile),
        cmocka_unit_test(callbacks_can_refuse),
        cmocka_unit_test(fields_go_with_a_mode),
        cmocka_unit_test(too_many_lanes),
        cmocka_unit_test(callbacks_may_declare),
        cmocka_unit_test(given_places_are_kept),
        cmocka_unit_test(tables_have_a_limit),
        cmocka_unit_test(automatic_tensors_have_no_address),
        cmocka_unit_test(mistakes_are_findings),
        cmocka_unit_test(codes_have_texts),
        cmocka_unit_test(force_auto_places_nothing),
        cmocka_unit_test(overlaps_name_the_tiles),
        cmocka_unit_test(overlaps_are_found_by_a_sweep),
        cmocka_unit_test(the_trace_has_physical_tiles),
        cmocka_unit_test(modular_rings_can_be_declared),
        cmocka_unit_test(survives_failing_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
