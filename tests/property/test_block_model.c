/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks against byte maps, 10^5 random cases for each question.
 *
 * The oracles know bytes and moments only: TileLang's walk is done again on an
 * array with one flag per byte, and a plan is checked by painting, at every
 * moment, the bytes of every stage of every live buffer. */
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "alloc/block/block.h"
#include "base/random.h"

enum { CASES = TEST_RUNS(100000), ITEMS = 10, MOMENTS = 12, SPAN = 4096 };

/* ---- offsets ----------------------------------------------------------------------- */

static int64_t random_alignment(spad__random *random) {
    return INT64_C(1) << spad__random_below(random, 7);
}

static size_t random_items(spad__random *random, block_item *items, char names[ITEMS][4]) {
    const size_t count = (size_t)spad__random_in(random, 1, ITEMS);
    for (size_t i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "%c%d", 'a' + (int)spad__random_below(random, 3),
                 (int)i);
        const int64_t begin = spad__random_in(random, 0, MOMENTS - 2);
        items[i] = (block_item){.begin = begin,
                                .end = spad__random_in(random, begin + 1, MOMENTS),
                                .bytes = spad__random_in(random, 1, 90),
                                .align = random_alignment(random),
                                .at = -1,
                                .name = names[i],
                                .buffer = (int64_t)i};
    }
    return count;
}

/* TileLang's walk with a flag per byte: 'u' used, 'f' free, 0 above the top. */
typedef struct bytes_map {
    char flags[SPAN];
    int64_t top;
} bytes_map;

static bool comes_first(const block_item *a, const block_item *b) {
    if (a->begin != b->begin) return a->begin < b->begin;
    if (a->bytes != b->bytes) return a->bytes > b->bytes;
    return strcmp(a->name, b->name) < 0;
}

/* The end of the free run that begins at `from`. */
static int64_t run_end(const bytes_map *map, int64_t from) {
    while (from < map->top && map->flags[from] == 'f') from++;
    return from;
}

static int64_t count_up(int64_t value, int64_t align) {
    while (value % align != 0) value++;
    return value;
}

static int64_t choose(const bytes_map *map, const block_item *item) {
    int64_t best = -1;
    int64_t best_rest = INT64_MAX;
    int64_t last_run = -1; /* the one that ends at the top */
    for (int64_t b = 0; b < map->top; b++) {
        if (map->flags[b] != 'f' || (b > 0 && map->flags[b - 1] == 'f')) continue;
        const int64_t end = run_end(map, b);
        const int64_t at = count_up(b, item->align);
        if (at + item->bytes <= end && end - b - item->bytes < best_rest) {
            best = at;
            best_rest = end - b - item->bytes;
        }
        if (end == map->top) last_run = b;
    }
    if (best >= 0) return best;
    if (last_run >= 0 && count_up(last_run, item->align) < map->top) {
        return count_up(last_run, item->align);
    }
    return count_up(map->top, item->align);
}

static void walk_as_tilelang(int64_t *offsets, const block_item *items, size_t count) {
    static bytes_map map;
    memset(&map, 0, sizeof map);
    bool placed[ITEMS] = {false};
    bool gone[ITEMS] = {false};
    for (size_t n = 0; n < count; n++) {
        size_t next = count;
        for (size_t i = 0; i < count; i++) {
            if (!placed[i] && (next == count || comes_first(&items[i], &items[next]))) next = i;
        }
        for (size_t i = 0; i < count; i++) {
            if (!placed[i] || gone[i] || items[i].end > items[next].begin) continue;
            gone[i] = true;
            memset(&map.flags[offsets[i]], 'f', (size_t)items[i].bytes);
        }
        const int64_t at = choose(&map, &items[next]);
        for (int64_t b = map.top; b < at; b++) map.flags[b] = 'f';
        memset(&map.flags[at], 'u', (size_t)items[next].bytes);
        if (at + items[next].bytes > map.top) map.top = at + items[next].bytes;
        offsets[next] = at;
        placed[next] = true;
    }
}

static void assert_no_sharing(const block_item *items, size_t count) {
    for (int64_t moment = 0; moment < MOMENTS; moment++) {
        char painted[SPAN] = {0};
        for (size_t i = 0; i < count; i++) {
            if (moment < items[i].begin || moment >= items[i].end) continue;
            for (int64_t b = items[i].at; b < items[i].at + items[i].bytes; b++) {
                if (painted[b] != 0) fail_msg("byte %d is shared", (int)b);
                painted[b] = 1;
            }
        }
    }
}

/* Most bytes alive at one moment, by counting. */
static int64_t most_alive(const block_item *items, size_t count) {
    int64_t most = 0;
    for (int64_t moment = 0; moment < MOMENTS; moment++) {
        int64_t sum = 0;
        for (size_t i = 0; i < count; i++) {
            if (moment >= items[i].begin && moment < items[i].end) sum += items[i].bytes;
        }
        most = sum > most ? sum : most;
    }
    return most;
}

static void offsets_agree_with_the_byte_map(void **state) {
    (void)state;
    const spad_host host = spad__host_or_default(NULL);
    int64_t better = 0;
    for (uint64_t seed = 0; seed < CASES; seed++) {
        spad__random random = {seed};
        block_item items[ITEMS];
        char names[ITEMS][4];
        int64_t offsets[ITEMS];
        int64_t top_tilelang, top, peak, time;
        spad_error e;
        const size_t count = random_items(&random, items, names);
        walk_as_tilelang(offsets, items, count);
        assert_ok(spad__block_place(&top_tilelang, items, count, BLOCK_PLACE_TILELANG, &host, &e),
                  &e);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(items[i].at, offsets[i]);
            items[i].at = -1;
        }
        assert_ok(spad__block_place(&top, items, count, BLOCK_PLACE_BEST, &host, &e), &e);
        assert_no_sharing(items, count);
        for (size_t i = 0; i < count; i++) assert_int_equal(items[i].at % items[i].align, 0);
        assert_true(top <= top_tilelang);
        better += top < top_tilelang;
        assert_ok(spad__block_peak(&peak, &time, items, count, &host, &e), &e);
        assert_int_equal(peak, most_alive(items, count));
        assert_true(peak <= top);
    }
    assert_true(better > CASES / 10); /* it is worth having */
}

static void pins_stay_where_they_are(void **state) {
    (void)state;
    const spad_host host = spad__host_or_default(NULL);
    for (uint64_t seed = 0; seed < CASES; seed++) {
        spad__random random = {seed ^ UINT64_C(0x5151)};
        block_item items[ITEMS];
        char names[ITEMS][4];
        int64_t pins[ITEMS];
        int64_t top;
        int64_t shelf = 0; /* pinned ones are one after the other */
        spad_error e;
        const size_t count = random_items(&random, items, names);
        for (size_t i = 0; i < count; i++) {
            pins[i] = -1;
            if (spad__random_below(&random, 3) != 0) continue;
            pins[i] = items[i].at =
                count_up(shelf + spad__random_in(&random, 0, 100), items[i].align);
            shelf = pins[i] + items[i].bytes;
        }
        assert_ok(spad__block_place(&top, items, count, BLOCK_PLACE_BEST, &host, &e), &e);
        assert_no_sharing(items, count);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(items[i].at % items[i].align, 0);
            if (pins[i] >= 0) assert_int_equal(items[i].at, pins[i]);
        }
    }
}

/* ---- whole blocks ------------------------------------------------------------------ */

static const char *const gpu_scopes[] = {"shared.dyn",     "shared.dyn", "shared",
                                         "shared.barrier", "local",      "local.var"};
static const char *const core_scopes[] = {"shared.dyn", "shared", "wmma.matrix_a",
                                          "wmma.accumulator"};

/* One random call; the state must not change if it is refused. */
static void step(spad__random *random, spad_block *block, bool core) {
    static const int64_t arrivals[] = {1, 2, 3};
    const size_t count = spad_block_count(block);
    const int64_t clock = block->clock;
    spad_status status = SPAD_OK;
    int64_t n;
    const uint64_t what = spad__random_below(random, 10);
    if (what < 6) {
        const int64_t begin = spad__random_in(random, 0, 8);
        const char *scope = core ? core_scopes[spad__random_below(random, 4)]
                                 : gpu_scopes[spad__random_below(random, 6)];
        const bool barrier = strcmp(scope, "shared.barrier") == 0;
        const spad_block_request r = {
            .scope = scope,
            .shape = SPAD_SHAPE(spad__random_in(random, 0, 90)),
            .dtype = barrier                         ? SPAD_DTYPE_NONE
                     : spad__random_below(random, 2) ? SPAD_INT4
                                                     : SPAD_UINT16,
            .stages = spad__random_in(random, 0, 3),
            .use = (spad_block_use)(core ? 0 : spad__random_below(random, 4)),
            .align = spad__random_below(random, 2) ? 0 : random_alignment(random),
            .timed = spad__random_below(random, 2) != 0,
            .begin = begin,
            .end = spad__random_in(random, begin, 12),
            .pinned = spad__random_below(random, 6) == 0,
            .at = 16 * spad__random_in(random, 0, 20),
            .arrivals = arrivals,
            .arrival_count = barrier ? (size_t)spad__random_in(random, 1, 3) : 0,
        };
        status = spad_block_alloc(&n, block, &r, NULL);
        if (status != SPAD_OK) assert_int_equal(spad_block_count(block), count);
    } else if (what < 8) {
        n = spad__random_in(random, 0, (int64_t)count);
        status = spad__random_below(random, 2) ? spad_block_free(block, n, NULL)
                                               : spad_block_invalidate(block, n, NULL);
    } else if (what == 8) {
        status = spad_block_enter(
            block, spad__random_below(random, 2) ? SPAD_FLOW_SERIAL : SPAD_FLOW_CONCURRENT, NULL);
    } else {
        status = spad_block_leave(block, NULL);
    }
    assert_int_equal(block->clock, clock + (status == SPAD_OK));
}

/* Paints the stages of what is alive at a moment in one space. Returns the top. */
static int64_t paint(const spad_block *block, size_t space, bool is_static, int64_t moment) {
    static char painted[1 << 15];
    static int64_t dirty = sizeof painted; /* up to where an earlier call has painted */
    int64_t top = 0;
    memset(painted, 0, (size_t)dirty);
    dirty = 0;
    for (size_t i = 0; i < spad_block_count(block); i++) {
        spad_block_buffer b;
        spad_error e;
        assert_ok(spad_block_get(&b, block, (int64_t)i, &e), &e);
        if (b.offset == SPAD_NO_BYTE || b.space != space || b.is_static != is_static) continue;
        /* static buffers do not take turns unless they are merged */
        if (!is_static && (moment < b.begin || moment >= b.end)) continue;
        for (int64_t s = 0; s < b.stages; s++) {
            const int64_t start = b.offset + s * b.stride;
            assert_int_equal((b.byte + s * b.stride) % b.align, 0);
            assert_true(start >= 0 && start + b.bytes <= (int64_t)sizeof painted);
            assert_null(memchr(painted + start, 1, (size_t)b.bytes));
            memset(painted + start, 1, (size_t)b.bytes);
            top = start + b.bytes > top ? start + b.bytes : top;
        }
    }
    dirty = top;
    return top;
}

/* One buffer alone keeps its size; several are rounded on a GPU. */
static int64_t arena_granule(const spad_block *block, size_t space) {
    size_t count = 0;
    for (size_t i = 0; i < spad_block_count(block); i++) {
        const block_buffer *b = &block->buffers.items[i];
        count += b->kind == BLOCK_ARENA && b->info.space == space;
    }
    return block->is_core || count == 1 ? 1 : 16;
}

static void check_plan(const spad_block *block, spad_block_totals *t) {
    int64_t tops[SPAD_SPACES_MAX] = {0};
    for (int64_t moment = 0; moment < 20; moment++) {
        for (size_t s = 0; s < block->target->space_count; s++) {
            if (block->target->spaces[s].off_chip) continue;
            const int64_t top = paint(block, s, false, moment);
            tops[s] = top > tops[s] ? top : tops[s];
        }
    }
    const int64_t static_top = paint(block, 0, true, 0);
    for (size_t s = 0; s < block->target->space_count; s++) {
        assert_int_equal(block->arena_bytes[s], count_up(tops[s], arena_granule(block, s)));
    }
    if (block->is_core) return;
    assert_int_equal(t->static_bytes, static_top);
    assert_int_equal(t->block_bytes,
                     t->static_bytes + t->base_padding + t->dynamic_bytes + t->reserve_bytes);
    assert_int_equal(
        (t->static_bytes + t->base_padding) % (t->dynamic_bytes > 0 ? t->base_align : 1), 0);
    assert_int_equal(t->fits, t->static_bytes <= 49152 && t->block_bytes <= t->limit_bytes);
    assert_int_equal(t->blocks_per_unit > 0, t->fits);
    assert_true(t->lower_bound <= t->dynamic_bytes);
}

/* Ends of lives, for comparing the trace. */
static void check_trace(const spad_block *block, spad_trace *trace) {
    const size_t count = spad_trace_tensor_count(trace);
    for (size_t i = 0; i < count; i++) {
        const spad_tensor *a = spad_trace_get_tensor(trace, i);
        assert_true(a->t_begin < a->t_end);
        assert_true(a->t_end != SPAD_OPEN_END);
        for (size_t j = 0; j < i && a->rect.byte != SPAD_NO_BYTE; j++) {
            const spad_tensor *b = spad_trace_get_tensor(trace, j);
            if (b->space != a->space || b->rect.byte == SPAD_NO_BYTE) continue;
            if (b->t_begin >= a->t_end || a->t_begin >= b->t_end) continue;
            assert_false(spad_rect_overlaps(a->rect, b->rect));
        }
    }
    assert_true(count <= spad_block_count(block));
}

static void random_block(uint64_t seed) {
    spad__random random = {seed};
    static const char *const chips[] = {"sm_90", "sm_100", "sm_80", "910b"};
    const char *chip = chips[spad__random_below(&random, 4)];
    const bool core = strcmp(chip, "910b") == 0;
    const spad_target *target;
    spad_block *block;
    spad_trace *trace;
    spad_block_totals t;
    spad_error e;
    const spad_block_options options = {.barriers_in_arena = spad__random_below(&random, 2) != 0};
    assert_ok(spad_target_find(&target, chip, &e), &e);
    assert_ok(spad_block_create(&block, target, &options, &e), &e);
    const int64_t steps = spad__random_in(&random, 1, 16);
    for (int64_t i = 0; i < steps; i++) step(&random, block, core);
    while (spad_block_leave(block, NULL) == SPAD_OK) continue;
    assert_ok(spad_block_plan(block, &e), &e);
    assert_ok(spad_block_get_totals(&t, block, &e), &e);
    check_plan(block, &t);
    assert_ok(spad_trace_create(&trace, target, NULL, &e), &e);
    assert_ok(spad_block_write_trace(block, trace, &e), &e);
    check_trace(block, trace);
    spad_trace_destroy(trace);
    spad_block_destroy(block);
}

static void plans_agree_with_the_byte_map(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < CASES; seed++) random_block(seed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offsets_agree_with_the_byte_map),
        cmocka_unit_test(pins_stay_where_they_are),
        cmocka_unit_test(plans_agree_with_the_byte_map),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
