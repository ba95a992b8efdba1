/* SPDX-License-Identifier: Apache-2.0
 *
 * Direct placement: any bytes are a list of declarations on one of the Neuron
 * chips. A tensor that was placed obeys the rules of its space, its tables agree
 * with each other, and its trace has one live entry for each physical tile; a
 * refused one changes nothing. Overlaps agree with a comparison of all pairs.
 */
#include "fuzz.h"
#include "spad/spad.h"

enum { RANK = 4, TENSORS = 12, SPOTS = 4096, LOOKED_AT = 64 };

/* Mostly small, sometimes at a border. */
static int64_t next_number(fuzz_input *in) {
    static const int64_t special[] = {
        -1,     0,      INT64_MAX,     INT64_MIN,  1000000000,    2048,
        180224, 212984, (1 << 20) + 1, 3037000500, INT64_MAX - 1, 1 << 14};
    const uint8_t byte = fuzz_next(in);
    if (byte >= 0xE0) return special[byte % (sizeof special / sizeof *special)];
    if (byte >= 0xC0) return (byte & 31) * 32;
    return byte & 7;
}

static int64_t next_extent(fuzz_input *in) {
    const int64_t number = next_number(in);
    if (number > 4096 && number <= 1 << 20) return 3; /* legal, and slow to look at */
    return number >= 0 && number < 8 ? (number + 1) % 8 : number;
}

static spad_shape next_shape(fuzz_input *in, int64_t *dims, size_t rank) {
    for (size_t d = 0; d < rank; d++) dims[d] = next_extent(in);
    return (spad_shape){.rank = rank, .dims = dims};
}

static spad_direct_spot next_spot(fuzz_input *in) {
    return (spad_direct_spot){
        .bank = next_number(in), .lane = next_number(in), .byte = next_number(in)};
}

static spad_status from_input(spad_direct_spot *out, const int64_t *index, int64_t lanes,
                              int64_t bytes, void *context, spad_error *error) {
    REQUIRE(lanes >= 1 && bytes >= 1 && error != NULL);
    fuzz_input *in = context;
    *out = next_spot(in);
    if (in->size == 0) *out = (spad_direct_spot){.byte = index[0] & 1023};
    return fuzz_next(in) == 0xFF ? SPAD_ERR_NO_FIT : SPAD_OK;
}

/* A declaration in the form the library takes; its arrays live in `room`. */
typedef struct room {
    int64_t block[RANK], tile[RANK], counts[3][RANK], ring[RANK];
    spad_direct_spot spots[SPOTS];
} room;

static spad_direct_tensor next_tensor(fuzz_input *in, room *r) {
    static const char *const spaces[] = {"sbuf", "sbuf", "psum", "psum", "hbm", "nowhere"};
    static const char *const names[] = {NULL, "x", "y", "a tensor with a rather long name", "z"};
    static const spad_dtype dtypes[] = {SPAD_UINT8, SPAD_BFLOAT16, SPAD_FLOAT32, SPAD_INT4};
    const uint8_t flags = fuzz_next(in);
    const size_t rank = fuzz_next(in) % (RANK + 1);
    spad_direct_tensor t = {
        .name = names[fuzz_next(in) % 5],
        .space = spaces[fuzz_next(in) % 6],
        .dtype = dtypes[fuzz_next(in) % 4],
        .mode = (spad_mode)(fuzz_next(in) % 5),
        .output = (flags & 1) != 0,
        .implicit_of = (flags & 6) == 6 ? "nl.softmax" : NULL,
    };
    t.block = next_shape(in, r->block, rank);
    t.tile = next_shape(in, r->tile, 1 + fuzz_next(in) % 3);
    if (t.mode == SPAD_MODE_MOD) {
        t.rings.base = next_spot(in);
        spad_shape *const tuples[] = {&t.rings.bank_tiles, &t.rings.lane_tiles,
                                      &t.rings.free_tiles};
        for (int i = 0; i < 3; i++) {
            if (flags & (8 << i)) *tuples[i] = next_shape(in, r->counts[i], rank);
        }
    } else if (t.mode == SPAD_MODE_AT) {
        t.spot_count = fuzz_next(in);
        for (size_t i = 0; i < t.spot_count; i++) r->spots[i] = next_spot(in);
        t.spots = r->spots;
    } else if (t.mode == SPAD_MODE_FUNC) {
        t.func = from_input;
        t.context = in;
    } else if (flags & 64) {
        t.ring = next_shape(in, r->ring, rank);
    }
    return t;
}

/* ---- what has to hold -------------------------------------------------------------- */

static void check_place(const spad_space *space, const spad_direct_info *info,
                        const spad_direct_tile *row) {
    const spad_rect rect = row->rect;
    REQUIRE(rect.lanes == info->lanes && rect.bytes == info->bytes);
    REQUIRE(spad_space_check_lanes(space, rect.lane, rect.lanes, NULL) == SPAD_OK);
    REQUIRE(rect.byte >= 0 && rect.byte + rect.bytes <= spad_space_get_usable(space));
    REQUIRE(rect.byte % space->alignment == 0);
    REQUIRE(row->spot.lane == rect.lane);
    REQUIRE(row->spot.bank * space->bank_bytes + row->spot.byte == rect.byte);
    if (space->banks_exclusive) {
        REQUIRE(row->spot.byte == 0 && rect.lane == 0 && rect.bytes <= space->bank_bytes);
    }
    const spad_rect all = info->footprint;
    REQUIRE(rect.lane >= all.lane && rect.lane + rect.lanes <= all.lane + all.lanes);
    REQUIRE(rect.byte >= all.byte && rect.byte + rect.bytes <= all.byte + all.bytes);
}

static void check_tile(const spad_direct *direct, size_t tensor, const spad_direct_info *info,
                       const spad_space *space, int64_t tile) {
    spad_direct_tile row, other;
    int64_t index[RANK], number;
    REQUIRE(spad_direct_get_tile(&row, direct, tensor, tile, NULL) == SPAD_OK);
    REQUIRE(spad_direct_tile_index(index, direct, tensor, tile, NULL) == SPAD_OK);
    REQUIRE(spad_direct_tile_number(&number, direct, tensor, index, NULL) == SPAD_OK);
    REQUIRE(number == tile && row.tile == tile);
    REQUIRE(row.physical >= 0 && row.physical < info->physical);
    if (info->mode == SPAD_MODE_AUTO) {
        REQUIRE(row.rect.byte == SPAD_NO_BYTE);
    } else {
        check_place(space, info, &row);
    }
    REQUIRE(spad_direct_get_physical(&other, direct, tensor, row.physical, NULL) == SPAD_OK);
    REQUIRE(other.tile <= tile && other.physical == row.physical);
    REQUIRE(memcmp(&other.rect, &row.rect, sizeof row.rect) == 0);
    if (row.next == -1) return;
    REQUIRE(row.next > tile && row.next < info->tiles);
    REQUIRE(spad_direct_get_tile(&other, direct, tensor, row.next, NULL) == SPAD_OK);
    REQUIRE(other.physical == row.physical);
    REQUIRE(memcmp(&other.rect, &row.rect, sizeof row.rect) == 0);
}

static void check_tensor(const spad_direct *direct, const spad_trace *trace, size_t tensor) {
    const spad_target *chip = spad_trace_get_target(trace);
    spad_direct_info info;
    REQUIRE(spad_direct_get(&info, direct, tensor, NULL) == SPAD_OK);
    const spad_space *space = &chip->spaces[info.space];
    REQUIRE(info.physical >= 1 && info.physical <= info.tiles);
    for (int64_t i = 0; i < LOOKED_AT && i < info.tiles; i++) {
        check_tile(direct, tensor, &info, space, i);
        check_tile(direct, tensor, &info, space, info.tiles - 1 - i);
    }
    const int64_t traced = space->off_chip ? 1 : info.physical;
    REQUIRE(info.traced >= 0);
    REQUIRE((size_t)(info.traced + traced) == spad_trace_tensor_count(trace));
    for (int64_t p = 0; p < LOOKED_AT && p < traced; p++) {
        const spad_tensor *entry = spad_trace_get_tensor(trace, (size_t)(info.traced + p));
        spad_direct_tile row;
        REQUIRE(spad_direct_get_physical(&row, direct, tensor, p, NULL) == SPAD_OK);
        REQUIRE(entry->t_end == SPAD_OPEN_END && entry->mode == info.mode);
        REQUIRE(entry->rect.byte == row.rect.byte && entry->rect.lane == row.rect.lane);
    }
}

static size_t count_pairs(const spad_trace *trace) {
    const size_t count = spad_trace_tensor_count(trace);
    size_t pairs = 0;
    for (size_t i = 0; i < count; i++) {
        const spad_tensor *a = spad_trace_get_tensor(trace, i);
        for (size_t j = i + 1; j < count && a->rect.byte != SPAD_NO_BYTE; j++) {
            const spad_tensor *b = spad_trace_get_tensor(trace, j);
            pairs += a->space == b->space && b->rect.byte != SPAD_NO_BYTE &&
                     spad_rect_overlaps(a->rect, b->rect);
        }
    }
    return pairs;
}

static void check_kernel(spad_direct *direct, const spad_trace *trace) {
    spad_direct_overlap first;
    spad_finding finding;
    size_t pairs;
    if (spad_trace_tensor_count(trace) < 1000) {
        REQUIRE(spad_direct_list_overlaps(&pairs, &first, 1, direct, NULL) == SPAD_OK);
        REQUIRE(pairs == count_pairs(trace));
        REQUIRE(pairs == 0 || (first.shared.lanes > 0 && first.shared.bytes > 0));
    }
    if (spad_direct_list_findings(&finding, 1, direct) > 0) {
        REQUIRE(finding.code != SPAD_FINDING_NONE && finding.message[0] != '\0');
    }
    spad_direct_close(direct);
    for (size_t i = 0; i < spad_trace_tensor_count(trace); i++) {
        REQUIRE(spad_trace_get_tensor(trace, i)->t_end != SPAD_OPEN_END);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const chips[] = {"trn1", "trn2", "trn3"};
    static room r;
    fuzz_input in = {.data = data, .size = size};
    const uint8_t head = fuzz_next(&in);
    const spad_target *chip;
    spad_trace *trace;
    spad_direct *direct;
    REQUIRE(spad_target_find(&chip, chips[head % 3], NULL) == SPAD_OK);
    REQUIRE(spad_trace_create(&trace, chip, NULL, NULL) == SPAD_OK);
    const spad_direct_options options = {.trace = trace, .force_auto = (head & 0xC0) == 0xC0};
    REQUIRE(spad_direct_create(&direct, chip, &options, NULL) == SPAD_OK);
    for (int i = 0; i < TENSORS && in.size > 0; i++) {
        const size_t events = spad_trace_event_count(trace);
        const size_t tensors = spad_direct_count(direct);
        const spad_direct_tensor tensor = next_tensor(&in, &r);
        spad_error error;
        size_t number;
        if (spad_direct_declare(&number, direct, &tensor, &error) == SPAD_OK) {
            REQUIRE(number == tensors && spad_direct_count(direct) == tensors + 1);
            check_tensor(direct, trace, number);
        } else {
            REQUIRE(error.message[0] != '\0' && strchr(error.message, '\n') == NULL);
            REQUIRE(spad_trace_event_count(trace) == events);
            REQUIRE(spad_direct_count(direct) == tensors);
        }
    }
    check_kernel(direct, trace);
    spad_direct_destroy(direct);
    spad_trace_destroy(trace);
    return 0;
}
