/* SPDX-License-Identifier: Apache-2.0
 *
 * Operation sequences on a block. Every byte string is a sequence; the plan after
 * it must keep its promises: stages aligned, nothing shared while alive, sums that
 * add up, never more than TileLang's columns and bytes.
 */
#include "fuzz.h"
#include "spad/block.h"

enum { MERGE_STATIC = 4, BARRIERS_IN_ARENA = 8, THREADS = 16, PINS = 32 }; /* in the first byte */

typedef struct input {
    const uint8_t *next;
    const uint8_t *end;
    int pins; /* may requests be pinned? */
} input;

static uint8_t take(input *in) {
    return in->next < in->end ? *in->next++ : 0;
}

/* Mostly small, sometimes at the edge of 64 bits, sometimes negative. */
static int64_t take_number(input *in) {
    const uint8_t byte = take(in);
    if (byte < 240) return byte;
    return byte < 250 ? INT64_MAX >> (byte - 240) : -(int64_t)byte;
}

static const char *const names[] = {NULL, "a", "b", "c", "d", "e", "", "f"};

static spad_block_request take_request(input *in, int64_t *numbers) {
    for (int i = 0; i < 6; i++) numbers[i] = take_number(in);
    const uint8_t scope = take(in) % (SPAD_BLOCK_SCOPE_COUNT + 1);
    const uint8_t kind = take(in);
    return (spad_block_request){
        .name = names[take(in) % 8],
        .scope = scope < SPAD_BLOCK_SCOPE_COUNT ? spad_block_scope_name((spad_block_scope)scope)
                                                : "shared.dun",
        .shape = {.rank = kind % 4, .dims = numbers},
        .dtype = (spad_dtype)(take(in) % (SPAD_DTYPE_COUNT + 1)),
        .stages = take(in) % 8 == 0 ? take_number(in) : kind >> 6,
        .use = (spad_block_use)(take(in) % 8),
        .align = (kind & 16) != 0 ? take_number(in) : 0,
        .timed = (kind & 4) != 0,
        .begin = numbers[3],
        .end = numbers[4],
        .pinned = in->pins && (kind & 8) != 0,
        .at = numbers[5] % 65536 * 16,
        .arrivals = numbers,
        .arrival_count = kind % 4,
        .init = {.dtype = (spad_dtype)(take(in) % 40), .bits = kind},
        .op = (spad_reduce)(take(in) % 7),
        .replication = (spad_replication)(take(in) % 4),
    };
}

static void operate(spad_block *block, input *in) {
    const uint8_t what = take(in);
    const int64_t number = take(in) % 16;
    int64_t numbers[6];
    switch (what % 12) {
    case 0: spad_block_free(block, number, NULL); break;
    case 1: spad_block_invalidate(block, number, NULL); break;
    case 2: spad_block_enter(block, (spad_block_flow)(what / 12 % 5), NULL); break;
    case 3: spad_block_leave(block, NULL); break;
    case 4: spad_block_reducer_init(block, number, NULL, NULL); break;
    case 5:
        spad_block_reducer_fill(block, number, (spad_value){(spad_dtype)(what / 12), take(in)},
                                NULL);
        break;
    case 6: spad_block_reducer_update(block, number, (spad_reduce)(what / 12 % 7), NULL); break;
    case 7: spad_block_reducer_finalize(block, number, (int8_t)take(in), what / 12, NULL); break;
    case 8: spad_block_touch(block, number, (spad_touch)(what / 12 % 4), NULL); break;
    default: {
        const spad_block_request request = take_request(in, numbers);
        int64_t out;
        const size_t count = spad_block_count(block);
        const spad_status status = spad_block_alloc(&out, block, &request, NULL);
        REQUIRE(spad_block_count(block) == count + (status == SPAD_OK));
        REQUIRE(out == (status == SPAD_OK ? (int64_t)count : -1));
    }
    }
}

/* Do two buffers share bytes, or cells of tensor memory, while both are alive? */
static int clash(const spad_block_buffer *a, const spad_block_buffer *b, int merged) {
    const int in_turn = a->begin >= b->end || b->begin >= a->end;
    if (a->space != b->space || (in_turn && (!a->is_static || merged))) return 0;
    if (a->scope == SPAD_BLOCK_TMEM) {
        return a->alloc == b->alloc && a->column < b->column + b->columns &&
               b->column < a->column + a->columns && a->lane < b->lane + b->lanes &&
               b->lane < a->lane + a->lanes;
    }
    return spad_rect_overlaps((spad_rect){0, 1, a->byte, a->span},
                              (spad_rect){0, 1, b->byte, b->span});
}

static void check(const spad_block *block, int merged) {
    const int64_t count = (int64_t)spad_block_count(block);
    for (int64_t i = 0; i < count; i++) {
        spad_block_buffer a, b;
        spad_block_get(&a, block, i, NULL);
        REQUIRE(a.begin < a.end);
        if (a.offset == SPAD_NO_BYTE) continue;
        REQUIRE(a.offset >= 0 && a.byte >= a.offset);
        if (a.scope != SPAD_BLOCK_TMEM) REQUIRE(a.byte % a.align == 0 && a.stride % a.align == 0);
        for (int64_t j = 0; j < i; j++) {
            spad_block_get(&b, block, j, NULL);
            if (b.offset != SPAD_NO_BYTE) REQUIRE(!clash(&a, &b, merged));
        }
    }
}

static int swallow(void *context, const char *bytes, size_t count) {
    *(size_t *)context += count;
    return bytes == NULL;
}

/* Runs the sequence; returns the totals, all zero if there is no plan. */
static spad_block_totals run(const uint8_t *data, size_t size, spad_block_policy policy) {
    static const char *const chips[] = {"sm_100", "sm_90", "sm_80", "910b"};
    input in = {data, size > 0 ? data + size : data, size > 0 && (data[0] & PINS) != 0};
    const uint8_t kind = take(&in);
    const spad_block_options options = {.policy = policy,
                                        .merge_static = (kind & MERGE_STATIC) != 0,
                                        .barriers_in_arena = (kind & BARRIERS_IN_ARENA) != 0,
                                        .threads = kind & THREADS ? 128 : 0};
    const spad_target *target;
    spad_block *block;
    spad_block_totals totals = {0};
    REQUIRE(spad_target_find(&target, chips[kind % 4], NULL) == SPAD_OK);
    if (spad_block_create(&block, target, &options, NULL) != SPAD_OK) return totals;
    while (in.next < in.end) operate(block, &in);
    while (spad_block_leave(block, NULL) == SPAD_OK) continue;
    if (spad_block_plan(block, NULL) == SPAD_OK) {
        spad_error error;
        size_t written = 0;
        const spad_sink sink = {swallow, &written};
        check(block, options.merge_static);
        REQUIRE(spad_block_get_totals(&totals, block, &error) == SPAD_OK);
        REQUIRE((spad_block_check_fit(block, &error) == SPAD_OK) == totals.fits);
        REQUIRE(spad_block_write(block, SPAD_FORMAT_TEXT, &sink, &error) == SPAD_OK);
        REQUIRE(spad_block_write(block, SPAD_FORMAT_JSON, &sink, &error) == SPAD_OK);
        spad_trace *trace;
        if (spad_trace_create(&trace, target, NULL, NULL) == SPAD_OK) {
            (void)spad_block_write_trace(block, trace, NULL); /* live bytes may not fit 64 bits */
            spad_trace_destroy(trace);
        }
    }
    spad_block_destroy(block);
    return totals;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 4096) return 0;
    const spad_block_totals ours = run(data, size, SPAD_BLOCK_BEST);
    if (size > 0 && (data[0] & PINS) != 0) return 0; /* TileLang has none */
    const spad_block_totals theirs = run(data, size, SPAD_BLOCK_TILELANG);
    if (theirs.limit_bytes == 0) return 0; /* no plan, or a core */
    REQUIRE(ours.tmem_columns <= theirs.tmem_columns);
    if (ours.buffer_bytes == theirs.buffer_bytes) { /* no bool buffers that have become static */
        REQUIRE(ours.dynamic_bytes <= theirs.dynamic_bytes);
    }
    return 0;
}
