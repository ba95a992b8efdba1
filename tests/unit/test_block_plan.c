/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks, planned: TileLang's offsets, pins, barriers, time and limits. Every error with its
 * message. */
#include <string.h>

#include "unit/block_fixture.h"

/* ---- TileLang's offsets ------------------------------------------------------------ */

typedef struct life {
    const char *name;
    int64_t begin, end, size, align, offset;
} life;

static spad_block_totals place(fixture *f, const life *lives, size_t count,
                               spad_block_policy policy) {
    *f = make_with("sm_90", (spad_block_options){.policy = policy});
    for (size_t i = 0; i < count; i++) {
        put(f, (spad_block_request){.name = lives[i].name,
                                    .shape = SPAD_SHAPE(lives[i].size),
                                    .dtype = SPAD_UINT8,
                                    .align = lives[i].align,
                                    .timed = true,
                                    .begin = lives[i].begin,
                                    .end = lives[i].end});
    }
    return plan(f);
}

static void offsets_as_tilelang(void **state) {
    (void)state;
    static const life gap[] = {{"s", 0, 9, 4, 16, 0},
                               {"A", 1, 5, 4096, 1024, 1024},
                               {"B", 1, 5, 4096, 1024, 5120},
                               {"t", 2, 5, 512, 16, 16}};
    static const life tail[] = {{"Q", 0, 4, 1000, 16, 2000},
                                {"K", 0, 2, 2000, 16, 0},
                                {"V", 2, 6, 1500, 16, 0},
                                {"O", 4, 6, 3000, 16, 1504}};
    static const life chain[] = {{"a", 0, 2, 1024, 16, 0},
                                 {"b", 1, 4, 512, 16, 1024},
                                 {"c", 2, 4, 768, 16, 0},
                                 {"d", 4, 6, 2048, 16, 0}};
    const struct {
        const life *lives;
        int64_t total;
    } cases[] = {{gap, 9216}, {tail, 4512}, {chain, 2048}};
    for (size_t c = 0; c < 3; c++) {
        fixture f;
        assert_int_equal(place(&f, cases[c].lives, 4, SPAD_BLOCK_TILELANG).dynamic_bytes,
                         cases[c].total);
        for (int64_t i = 0; i < 4; i++) {
            assert_int_equal(get(&f, i).offset, cases[c].lives[i].offset);
        }
        assert_int_equal(spad_block_check_fit(f.block, &f.error), SPAD_OK);
        done(&f);
        assert_true(place(&f, cases[c].lives, 4, SPAD_BLOCK_BEST).dynamic_bytes <= cases[c].total);
        done(&f);
    }
}

static void reuse_can_be_switched_off(void **state) {
    (void)state;
    for (int policy = SPAD_BLOCK_BEST; policy <= SPAD_BLOCK_TILELANG; policy++) {
        for (int no_reuse = 0; no_reuse < 2; no_reuse++) {
            fixture f = make_with("sm_90", (spad_block_options){.policy = (spad_block_policy)policy,
                                                                .no_reuse = no_reuse != 0});
            const int64_t b = bytes(&f, "b", NULL, 100);
            assert_ok(spad_block_free(f.block, b, &f.error), &f.error);
            const int64_t a = bytes(&f, "a", NULL, 100);
            assert_ok(spad_block_free(f.block, a, &f.error), &f.error);
            assert_int_equal(plan(&f).dynamic_bytes, no_reuse ? 224 : 112);
            assert_int_equal(get(&f, a).offset == get(&f, b).offset, no_reuse == 0);
            if (policy == SPAD_BLOCK_TILELANG && no_reuse) { /* in order of names */
                assert_int_equal(get(&f, a).offset, 0);
                assert_int_equal(get(&f, b).offset, 112);
            }
            done(&f);
        }
    }
}

static void habits_of_tilelang(void **state) {
    (void)state;
    /* one buffer alone keeps its size; bool is static; the base is aligned to 1024 */
    fixture f = make_with("sm_90", (spad_block_options){.policy = SPAD_BLOCK_TILELANG});
    bytes(&f, "a", NULL, 100);
    const int64_t mask =
        put(&f, (spad_block_request){.shape = SPAD_SHAPE(100), .dtype = SPAD_BOOL});
    const spad_block_totals t = plan(&f);
    assert_int_equal(t.dynamic_bytes, 100);
    assert_true(get(&f, mask).is_static);
    assert_int_equal(get(&f, mask).scope, SPAD_BLOCK_SHARED);
    assert_int_equal(t.static_bytes, 100);
    assert_int_equal(t.base_padding, 924);
    done(&f);
    f = make("sm_90");
    bytes(&f, "a", NULL, 100);
    const int64_t ours =
        put(&f, (spad_block_request){.shape = SPAD_SHAPE(100), .dtype = SPAD_BOOL});
    assert_int_equal(plan(&f).dynamic_bytes, 224);
    assert_false(get(&f, ours).is_static);
    done(&f);
    /* one buffer alone keeps its size in our plan too */
    f = make("sm_90");
    bytes(&f, "a", NULL, 20);
    assert_int_equal(plan(&f).dynamic_bytes, 20);
    done(&f);
    /* merged static buffers go where TileLang's walk puts them */
    f = make_with("sm_90",
                  (spad_block_options){.policy = SPAD_BLOCK_TILELANG, .merge_static = true});
    static const struct {
        const char *name;
        int64_t begin, end, size, offset;
    } tail[] = {{"Q", 0, 4, 1000, 2000},
                {"K", 0, 2, 2000, 0},
                {"V", 2, 6, 1500, 0},
                {"O", 4, 6, 3000, 1504}};
    for (int64_t i = 0; i < 4; i++) {
        put(&f, (spad_block_request){.name = tail[i].name,
                                     .scope = "shared",
                                     .shape = SPAD_SHAPE(tail[i].size),
                                     .dtype = SPAD_UINT8,
                                     .timed = true,
                                     .begin = tail[i].begin,
                                     .end = tail[i].end});
    }
    assert_int_equal(plan(&f).static_bytes, 4504);
    for (int64_t i = 0; i < 4; i++) assert_int_equal(get(&f, i).offset, tail[i].offset);
    done(&f);
}

/* ---- pins and barriers ------------------------------------------------------------- */

static void pins(void **state) {
    (void)state;
    fixture f = make("sm_90");
    spad_block_request pin = {
        .name = "p", .shape = SPAD_SHAPE(64), .dtype = SPAD_UINT8, .pinned = true, .at = 64};
    const int64_t p = put(&f, pin);
    const int64_t q = bytes(&f, "q", NULL, 64);
    const int64_t r = bytes(&f, "r", NULL, 80);
    plan(&f);
    assert_int_equal(get(&f, p).offset, 64);
    assert_int_equal(get(&f, q).offset, 0);
    assert_int_equal(get(&f, r).offset, 128);
    pin.name = "p2";
    pin.at = 112;
    assert_int_equal(refused(&f, pin), SPAD_ERR_OVERLAP);
    assert_string_equal(f.error.message,
                        "'p2' is pinned to bytes [112, 176), where buffer 'p' is at "
                        "[64, 128) at the same time; free it first, or pin elsewhere");
    assert_string_equal(f.error.other, "p");
    pin.at = 8;
    assert_int_equal(refused(&f, pin), SPAD_ERR_ALIGNMENT);
    assert_string_equal(f.error.message, "'p2' is pinned to byte 8, which is not a multiple of 16");
    pin.at = -16;
    assert_int_equal(refused(&f, pin), SPAD_ERR_BOUNDS);
    pin.scope = "shared";
    assert_int_equal(refused(&f, pin), SPAD_ERR_SPACE);
    assert_string_equal(f.error.message,
                        "shared 'p2': only buffers of an arena can be pinned, such as "
                        "'shared.dyn'");
    assert_ok(spad_block_free(f.block, p, &f.error), &f.error);
    pin.scope = NULL;
    pin.at = 112;
    put(&f, pin); /* after its end */
    plan(&f);
    done(&f);
    /* what ends when another begins leaves it its bytes, around pins too */
    f = make("sm_90");
    put(&f, (spad_block_request){.name = "first",
                                 .shape = SPAD_SHAPE(64),
                                 .dtype = SPAD_UINT8,
                                 .timed = true,
                                 .end = 5,
                                 .pinned = true});
    put(&f, (spad_block_request){.name = "then",
                                 .shape = SPAD_SHAPE(64),
                                 .dtype = SPAD_UINT8,
                                 .timed = true,
                                 .begin = 5,
                                 .end = 9});
    assert_int_equal(plan(&f).dynamic_bytes, 64);
    done(&f);
    f = make_with("sm_90", (spad_block_options){.policy = SPAD_BLOCK_TILELANG});
    assert_int_equal(refused(&f, pin), SPAD_ERR_ARGUMENT);
    assert_string_equal(f.error.message,
                        "shared.dyn 'p2': TileLang takes no addresses; use SPAD_BLOCK_BEST to pin");
    done(&f);
}

static void barrier_bytes_are_no_data(void **state) {
    (void)state;
    fixture f = make("sm_90");
    const int64_t bar = put(&f, (spad_block_request){.name = "bar",
                                                     .scope = "shared.barrier",
                                                     .arrivals = two_arrivals,
                                                     .arrival_count = 2,
                                                     .pinned = true,
                                                     .at = 8});
    spad_block_request data = {
        .name = "data", .shape = SPAD_SHAPE(64), .dtype = SPAD_UINT8, .pinned = true};
    assert_int_equal(refused(&f, data), SPAD_ERR_OVERLAP);
    assert_string_equal(
        f.error.message,
        "'data' is pinned to bytes [0, 64), where buffer 'bar' is at [8, 24) at the "
        "same time; barrier bytes are data only after spad_block_invalidate");
    assert_int_equal(spad_block_free(f.block, bar, &f.error), SPAD_ERR_LIFE_CYCLE);
    assert_string_equal(f.error.message, "buffer 'bar' is a barrier; its bytes are free once "
                                         "spad_block_invalidate is called");
    assert_int_equal(spad_block_touch(f.block, bar, SPAD_TOUCH_WRITE, &f.error),
                     SPAD_ERR_LIFE_CYCLE);
    assert_string_equal(f.error.message,
                        "buffer 'bar' is a barrier and used as data; its bytes are "
                        "data only after spad_block_invalidate");
    assert_ok(spad_block_touch(f.block, bar, SPAD_TOUCH_ADDRESS, &f.error), &f.error);
    assert_ok(spad_block_invalidate(f.block, bar, &f.error), &f.error);
    assert_int_equal(spad_block_invalidate(f.block, bar, &f.error), SPAD_ERR_LIFE_CYCLE);
    assert_string_equal(f.error.message, "buffer 'bar' was invalidated before");
    const int64_t d = put(&f, data);
    assert_int_equal(spad_block_invalidate(f.block, d, &f.error), SPAD_ERR_SPACE);
    assert_string_equal(f.error.message, "buffer 'data' is not a barrier; free it instead");
    assert_int_equal(plan(&f).dynamic_bytes, 64);
    done(&f);
}

/* A lifetime does not end a barrier; only invalidate does. */
static void timed_barriers_in_the_arena(void **state) {
    (void)state;
    for (int invalidated = 0; invalidated < 2; invalidated++) {
        fixture f = make_with("sm_90", (spad_block_options){.barriers_in_arena = true});
        const int64_t bar = put(&f, (spad_block_request){.name = "bar",
                                                         .scope = "shared.cluster_barrier",
                                                         .arrivals = two_arrivals,
                                                         .arrival_count = 2,
                                                         .timed = true,
                                                         .begin = 0,
                                                         .end = 5});
        if (invalidated) assert_ok(spad_block_invalidate(f.block, bar, &f.error), &f.error);
        put(&f, (spad_block_request){.name = "d",
                                     .shape = SPAD_SHAPE(16),
                                     .dtype = SPAD_UINT8,
                                     .timed = true,
                                     .begin = 5,
                                     .end = 9});
        const spad_block_totals t = plan(&f);
        assert_int_equal(t.dynamic_bytes, invalidated ? 16 : 32);
        assert_int_equal(t.static_bytes, 0);
        assert_int_equal(get(&f, bar).align, 8);
        done(&f);
    }
}

/* Nor does the end of the loop that it was allocated in. */
static void barriers_outlive_their_loop(void **state) {
    (void)state;
    fixture f = make_with("sm_90", (spad_block_options){.barriers_in_arena = true});
    assert_ok(spad_block_enter(f.block, SPAD_FLOW_SERIAL, &f.error), &f.error);
    const int64_t bar = put(&f, (spad_block_request){.name = "bar",
                                                     .scope = "shared.barrier",
                                                     .arrivals = two_arrivals,
                                                     .arrival_count = 2});
    assert_ok(spad_block_leave(f.block, &f.error), &f.error);
    assert_int_equal(get(&f, bar).end, SPAD_OPEN_END);
    bytes(&f, "d", NULL, 16);
    assert_int_equal(plan(&f).dynamic_bytes, 32);
    done(&f);
}

/* A barrier of a loop can be invalidated after it, but not in another loop. */
static void barriers_are_invalidated_behind_their_loop(void **state) {
    (void)state;
    fixture f = make_with("sm_90", (spad_block_options){.barriers_in_arena = true});
    assert_ok(spad_block_enter(f.block, SPAD_FLOW_SERIAL, &f.error), &f.error);
    assert_ok(spad_block_enter(f.block, SPAD_FLOW_BRANCH, &f.error), &f.error);
    const int64_t bar = put(&f, (spad_block_request){.name = "bar",
                                                     .scope = "shared.barrier",
                                                     .arrivals = two_arrivals,
                                                     .arrival_count = 2});
    assert_ok(spad_block_leave(f.block, &f.error), &f.error);
    assert_ok(spad_block_enter(f.block, SPAD_FLOW_SERIAL, &f.error), &f.error);
    assert_int_equal(spad_block_invalidate(f.block, bar, &f.error), SPAD_ERR_LIFE_CYCLE);
    assert_string_equal(f.error.message,
                        "buffer 'bar' is invalidated inside a loop or branch that was entered "
                        "after it was allocated; do it where it was allocated");
    assert_ok(spad_block_leave(f.block, &f.error), &f.error);
    assert_ok(spad_block_invalidate(f.block, bar, &f.error), &f.error);
    assert_ok(spad_block_leave(f.block, &f.error), &f.error);
    bytes(&f, "d", NULL, 16);
    assert_int_equal(plan(&f).dynamic_bytes, 16);
    done(&f);
}

static void barrier_counts(void **state) {
    (void)state;
    fixture f = make("sm_90");
    int64_t n;
    static const int64_t bad[] = {1, 0};
    static const int64_t large[] = {1 << 20};
    assert_int_equal(spad_block_alloc_barrier(&n, f.block, NULL, 0, "b", &f.error),
                     SPAD_ERR_ARGUMENT);
    assert_string_equal(f.error.message,
                        "shared.barrier 'b': a barrier needs the number of arrivals "
                        "that complete it");
    assert_int_equal(spad_block_alloc_barrier(&n, f.block, bad, 2, "b", &f.error),
                     SPAD_ERR_ARGUMENT);
    assert_string_equal(f.error.message,
                        "shared.barrier 'b': 0 arrivals for barrier 1; it must be 1 to 1048575");
    assert_int_equal(spad_block_alloc_barrier(&n, f.block, large, 1, "b", &f.error),
                     SPAD_ERR_ARGUMENT);
    assert_int_equal(refused(&f, (spad_block_request){.name = "b",
                                                      .scope = "shared.barrier",
                                                      .arrivals = two_arrivals,
                                                      .arrival_count = 2,
                                                      .dtype = SPAD_INT32}),
                     SPAD_ERR_DTYPE);
    assert_string_equal(f.error.message, "shared.barrier 'b': a barrier is a uint64");
    spad_block_request staged = {.name = "b",
                                 .scope = "shared.barrier",
                                 .arrivals = two_arrivals,
                                 .arrival_count = 2,
                                 .stages = 3};
    assert_int_equal(refused(&f, staged), SPAD_ERR_ARGUMENT);
    assert_string_equal(f.error.message,
                        "shared.barrier 'b': a barrier has no stages; give the arrivals of the "
                        "barriers of all stages");
    staged.stages = 1;
    n = put(&f, staged); /* outside the arena */
    const spad_block_totals t = plan(&f);
    assert_int_equal(t.static_bytes, 16);
    assert_int_equal(t.dynamic_bytes, 0);
    assert_int_equal(t.base_padding, 0);
    assert_int_equal(get(&f, n).arrivals[1], 128);
    assert_int_equal(get(&f, n).byte % 8, 0);
    done(&f);
}

/* ---- time -------------------------------------------------------------------------- */

static void lives_and_regions(void **state) {
    (void)state;
    fixture f = make("sm_90");
    const int64_t outer = bytes(&f, "outer", NULL, 64);
    assert_ok(spad_block_enter(f.block, SPAD_FLOW_SERIAL, &f.error), &f.error);
    const int64_t inner = bytes(&f, "inner", NULL, 64);
    assert_int_equal(spad_block_free(f.block, outer, &f.error), SPAD_ERR_LIFE_CYCLE);
    assert_string_equal(f.error.message,
                        "buffer 'outer' is freed inside a loop or branch that was "
                        "entered after it was allocated; do it where it was allocated");
    assert_int_equal(spad_block_plan(f.block, &f.error), SPAD_ERR_LIFE_CYCLE);
    assert_string_equal(f.error.message,
                        "1 loops or branches of block k are still open; leave them first");
    assert_ok(spad_block_touch(f.block, inner, SPAD_TOUCH_READ, &f.error), &f.error);
    assert_ok(spad_block_leave(f.block, &f.error), &f.error);
    assert_int_equal(spad_block_leave(f.block, &f.error), SPAD_ERR_NO_SCOPE);
    assert_int_equal(spad_block_touch(f.block, inner, SPAD_TOUCH_READ, &f.error),
                     SPAD_ERR_NOT_LIVE);
    assert_string_equal(f.error.message,
                        "buffer 'inner' is accessed at time 4, after its end at 3");
    assert_int_equal(spad_block_free(f.block, inner, &f.error), SPAD_ERR_NOT_LIVE);
    assert_string_equal(f.error.message, "buffer 'inner' has ended already, at time 3");
    const int64_t later = bytes(&f, NULL, NULL, 64);
    plan(&f);
    assert_int_equal(get(&f, later).offset, get(&f, inner).offset);
    assert_int_equal(spad_block_touch(f.block, later, SPAD_TOUCH_COUNT, &f.error),
                     SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_block_enter(f.block, SPAD_FLOW_COUNT, &f.error), SPAD_ERR_ARGUMENT);
    const int64_t timed = put(
        &f, (spad_block_request){
                .shape = SPAD_SHAPE(4), .dtype = SPAD_INT8, .timed = true, .begin = 1, .end = 2});
    assert_int_equal(spad_block_free(f.block, timed, &f.error), SPAD_ERR_ARGUMENT);
    assert_string_equal(f.error.message, "buffer number 3 was given its end when it was allocated");
    spad_block_totals t;
    assert_int_equal(spad_block_get_totals(&t, f.block, &f.error), SPAD_ERR_STALE);
    assert_string_equal(f.error.message,
                        "the block has no plan, or has changed since; call spad_block_plan");
    assert_int_equal(spad_block_check_fit(f.block, &f.error), SPAD_ERR_STALE);
    done(&f);
}

/* Two sides of an if take turns; sides that run side by side do not. */
static void sides_side_by_side(void **state) {
    (void)state;
    for (int concurrent = 0; concurrent < 2; concurrent++) {
        fixture f = make("sm_90");
        const int64_t before = bytes(&f, "before", NULL, 64);
        assert_ok(spad_block_free(f.block, before, &f.error), &f.error);
        assert_ok(spad_block_enter(f.block, concurrent ? SPAD_FLOW_CONCURRENT : SPAD_FLOW_BRANCH,
                                   &f.error),
                  &f.error);
        assert_ok(spad_block_enter(f.block, SPAD_FLOW_BRANCH, &f.error), &f.error);
        const int64_t producer = put(&f, (spad_block_request){.name = "producer",
                                                              .shape = SPAD_SHAPE(64),
                                                              .dtype = SPAD_UINT8,
                                                              .pinned = true});
        assert_ok(spad_block_free(f.block, producer, &f.error), &f.error);
        assert_int_equal(spad_block_touch(f.block, producer, SPAD_TOUCH_READ, &f.error),
                         SPAD_ERR_NOT_LIVE);
        assert_ok(spad_block_leave(f.block, &f.error), &f.error);
        assert_ok(spad_block_enter(f.block, SPAD_FLOW_BRANCH, &f.error), &f.error);
        bytes(&f, "consumer", NULL, 64);
        if (concurrent) {
            spad_block_request pin = {
                .name = "pin", .shape = SPAD_SHAPE(16), .dtype = SPAD_UINT8, .pinned = true};
            assert_int_equal(refused(&f, pin), SPAD_ERR_OVERLAP);
            pin.timed = true; /* after the free of the producer, whose bytes are still its own */
            pin.begin = 6;
            pin.end = 8;
            assert_int_equal(refused(&f, pin), SPAD_ERR_OVERLAP);
        }
        assert_ok(spad_block_leave(f.block, &f.error), &f.error);
        assert_ok(spad_block_leave(f.block, &f.error), &f.error);
        bytes(&f, "after", NULL, 128);
        assert_int_equal(plan(&f).dynamic_bytes, 128);
        assert_int_equal(plan(&f).lower_bound, 128);
        assert_int_equal(get(&f, 1).offset == get(&f, 2).offset, !concurrent);
        assert_int_equal(get(&f, 2).begin, concurrent ? 2 : 8); /* the enter, its alloc */
        assert_int_equal(get(&f, 1).end, concurrent ? 10 : 5);  /* the leave, its free */
        done(&f);
    }
}

static void given_lives_are_checked(void **state) {
    (void)state;
    fixture f = make("sm_90");
    const spad_block_request timed = {.name = "t",
                                      .shape = SPAD_SHAPE(4),
                                      .dtype = SPAD_INT8,
                                      .timed = true,
                                      .begin = 2,
                                      .end = 3};
    const int64_t t = put(&f, timed); /* event 0 */
    bytes(&f, "1", NULL, 4);
    assert_int_equal(spad_block_touch(f.block, t, SPAD_TOUCH_READ, &f.error), SPAD_ERR_NOT_LIVE);
    assert_string_equal(f.error.message,
                        "buffer 't' is accessed at time 1, before its beginning at 2");
    bytes(&f, "2", NULL, 4);
    assert_ok(spad_block_touch(f.block, t, SPAD_TOUCH_READ, &f.error), &f.error);
    bytes(&f, "3", NULL, 4);
    assert_int_equal(spad_block_touch(f.block, t, SPAD_TOUCH_READ, &f.error), SPAD_ERR_NOT_LIVE);
    assert_string_equal(f.error.message, "buffer 't' is accessed at time 4, after its end at 3");
    done(&f);
}

static void registers_are_counted_at_their_peak(void **state) {
    (void)state;
    fixture f = make_with("sm_90", (spad_block_options){.threads = 128});
    const int64_t first = bytes(&f, "first", "local.fragment", 128 * 8);
    bytes(&f, "i", "local", 4);
    assert_ok(spad_block_free(f.block, first, &f.error), &f.error);
    bytes(&f, "second", "local.fragment", 128 * 8);
    assert_int_equal(plan(&f).thread_bytes, 12);
    bytes(&f, "huge", "local", INT64_MAX);
    assert_int_equal(spad_block_plan(f.block, &f.error), SPAD_ERR_OVERFLOW);
    assert_string_equal(f.error.message, "the registers of a thread do not fit 64 bits");
    done(&f);
}

/* ---- limits ------------------------------------------------------------------------ */

static void the_limit_counts_everything(void **state) {
    (void)state;
    /* NVIDIA/warp issue 1701: static bytes count too. sm_90: 232448 B for a block. */
    fixture f = make("sm_90");
    bytes(&f, "arena", NULL, 232448 - 16);
    bytes(&f, "s", "shared", 16);
    spad_block_totals t = plan(&f);
    assert_true(t.fits);
    assert_true(t.needs_opt_in);
    assert_int_equal(t.block_bytes, 233472);
    assert_int_equal(t.limit_bytes, 233472);
    assert_int_equal(t.blocks_per_unit, 1);
    bytes(&f, "one more", "shared", 1);
    t = plan(&f);
    assert_false(t.fits);
    assert_int_equal(t.blocks_per_unit, 0);
    assert_int_equal(spad_block_check_fit(f.block, &f.error), SPAD_ERR_NO_FIT);
    assert_string_equal(
        f.error.message,
        "k needs 233488 B of shared memory, sm_90 has 233472 B: dynamic 232432, static "
        "17, base padding 15, reserve 1024; largest: arena 232432 B; use fewer stages "
        "or smaller tiles");
    assert_int_equal(f.error.needed, 233488);
    assert_int_equal(f.error.available, 233472);
    done(&f);
}

static void static_memory_has_a_limit_of_its_own(void **state) {
    (void)state;
    fixture f = make("sm_90");
    bytes(&f, "s", "shared", 49152);
    assert_true(plan(&f).fits);
    bytes(&f, "t", "shared", 1);
    assert_false(plan(&f).fits);
    assert_int_equal(spad_block_check_fit(f.block, &f.error), SPAD_ERR_NO_FIT);
    assert_string_equal(f.error.message,
                        "k has 49153 B of static shared memory, 49152 B are allowed "
                        "on every chip; largest: s 49152 B, t 1 B; use 'shared.dyn'");
    done(&f);
    /* merged, the two share bytes over time */
    f = make_with("sm_90", (spad_block_options){.merge_static = true});
    const int64_t s = bytes(&f, "s", "shared", 49152);
    assert_ok(spad_block_free(f.block, s, &f.error), &f.error);
    bytes(&f, "t", "shared", 1);
    assert_int_equal(plan(&f).static_bytes, 49152);
    done(&f);
}

/* Measured on an H200: which launches succeed without opting in. */
static void static_and_dynamic_share_the_plain_limit(void **state) {
    (void)state;
    const struct {
        int64_t static_bytes, dynamic_bytes;
        bool opt_in;
    } cases[] = {{40960, 20480, true}, {16, 49136, false}, {16, 49152, true},
                 {0, 49152, false},    {49152, 0, false},  {49152, 16, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture f = make("sm_90");
        if (cases[i].static_bytes > 0) bytes(&f, "s", "shared", cases[i].static_bytes);
        if (cases[i].dynamic_bytes > 0) bytes(&f, "d", NULL, cases[i].dynamic_bytes);
        const spad_block_totals t = plan(&f);
        assert_int_equal(t.dynamic_bytes, cases[i].dynamic_bytes);
        assert_int_equal(t.needs_opt_in, cases[i].opt_in);
        done(&f);
    }
    /* the padding before the arena counts as well */
    fixture f = make("sm_90");
    bytes(&f, "s", "shared", 16);
    put(&f, (spad_block_request){
                .shape = SPAD_SHAPE(48640), .dtype = SPAD_UINT8, .use = SPAD_USE_SWIZZLE_128B});
    const spad_block_totals t = plan(&f);
    assert_int_equal(t.static_bytes + t.base_padding, 1024);
    assert_true(t.needs_opt_in);
    done(&f);
}

static void blocks_per_unit(void **state) {
    (void)state;
    const struct {
        const char *target;
        int64_t dynamic, blocks;
        bool opt_in;
    } cases[] = {
        {"sm_90", 49152, 4, false}, {"sm_90", 49168, 4, true},  {"sm_90", 16, 32, false},
        {"sm_90", 115712, 2, true}, {"sm_75", 32768, 2, false}, {"sm_75", 16, 16, false},
        {"sm_86", 101376, 1, true}, {"sm_86", 50176, 2, true},  {"sm_70", 98304, 1, true},
        {"sm_80", 166912, 1, true}, {"sm_89", 3072, 24, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture f = make(cases[i].target);
        bytes(&f, "a", NULL, cases[i].dynamic);
        const spad_block_totals t = plan(&f);
        assert_true(t.fits);
        assert_int_equal(t.blocks_per_unit, cases[i].blocks);
        assert_int_equal(t.needs_opt_in, cases[i].opt_in);
        done(&f);
    }
}

static void tensor_memory(void **state) {
    (void)state;
    fixture f = make("sm_100");
    int64_t a, b, c;
    spad_error *e = &f.error;
    assert_ok(spad_block_alloc_tmem(&a, f.block, SPAD_SHAPE(128, 128), SPAD_FLOAT32, "a", e), e);
    assert_ok(spad_block_alloc_tmem(&b, f.block, SPAD_SHAPE(2, 64, 128), SPAD_FLOAT16, "b", e), e);
    assert_ok(spad_block_alloc_shared(&c, f.block, SPAD_SHAPE(64, 1), SPAD_FLOAT8_E4M3FN,
                                      "shared.tmem", "c", e),
              e); /* of any width, to be packed */
    assert_int_equal(get(&f, a).columns, 128);
    assert_int_equal(get(&f, b).columns, 128);
    assert_int_equal(get(&f, b).lanes, 64);
    assert_int_equal(get(&f, c).columns, 1);
    spad_block_totals t = plan(&f);
    assert_int_equal(t.tmem_columns, 256); /* c next to b in the other lanes */
    assert_int_equal(get(&f, b).column, get(&f, c).column);
    assert_int_equal(t.tmem_available, 512);
    assert_int_equal(t.static_bytes, 4 * t.tmem_allocs);
    assert_int_equal(t.blocks_per_unit, 2);
    assert_string_equal(t.limited_by, "tensor memory");
    assert_int_equal(spad_block_alloc_tmem(&a, f.block, SPAD_SHAPE(64), SPAD_FLOAT32, "x", e),
                     SPAD_ERR_SHAPE);
    assert_string_equal(e->message,
                        "shared.tmem 'x': tensor memory has two dimensions, give (lanes, columns)");
    assert_int_equal(spad_block_alloc_tmem(&a, f.block, SPAD_SHAPE(129, 32), SPAD_FLOAT32, "x", e),
                     SPAD_ERR_SHAPE);
    assert_string_equal(
        e->message,
        "shared.tmem 'x': 129 lanes x 32 columns of 4 bytes; tensor memory has 128 x 512");
    assert_int_equal(spad_block_alloc_shared(&a, f.block, SPAD_SHAPE(128, 513), SPAD_FLOAT32,
                                             "shared.tmem", "x", e),
                     SPAD_ERR_SHAPE);
    done(&f);

    f = make("sm_100");
    assert_ok(spad_block_alloc_tmem(&a, f.block, SPAD_SHAPE(128, 512), SPAD_FLOAT32, "a", &f.error),
              &f.error);
    assert_ok(spad_block_alloc_tmem(&b, f.block, SPAD_SHAPE(128, 512), SPAD_FLOAT32, "b", &f.error),
              &f.error);
    assert_false(plan(&f).fits);
    assert_int_equal(spad_block_check_fit(f.block, &f.error), SPAD_ERR_NO_FIT);
    assert_string_equal(f.error.message,
                        "k needs 1024 columns of tensor memory in 2 allocations, 512 "
                        "are available on sm_100; end tensors earlier or make them "
                        "narrower");
    assert_int_equal(f.error.needed, 1024);
    done(&f);

    /* an explicit deallocate keeps a tensor to itself in TileLang */
    f = make_with("sm_100", (spad_block_options){.policy = SPAD_BLOCK_TILELANG});
    assert_ok(spad_block_alloc_tmem(&a, f.block, SPAD_SHAPE(128, 384), SPAD_FLOAT32, "a", &f.error),
              &f.error);
    assert_ok(spad_block_alloc_tmem(&b, f.block, SPAD_SHAPE(128, 4), SPAD_FLOAT32, "b", &f.error),
              &f.error);
    assert_int_equal(plan(&f).tmem_columns, 512);
    assert_ok(spad_block_free(f.block, b, &f.error), &f.error);
    t = plan(&f);
    assert_int_equal(t.tmem_columns, 544);
    assert_int_equal(t.tmem_allocs, 2);
    done(&f);
}

/* What T.alloc_tmem accepts is what tcgen05.alloc does. A refused call changes nothing. */
static void tensor_memory_follows_its_instruction(void **state) {
    static const struct {
        int64_t columns;
        const char *message;
    } cases[] = {
        {1, "an allocation of 1 columns of tensor memory; it must be a power of two from 32 to "
            "512; ask for 32"},
        {16, "an allocation of 16 columns of tensor memory; it must be a power of two from 32 to "
             "512; ask for 32"},
        {48, "an allocation of 48 columns of tensor memory; it must be a power of two from 32 to "
             "512; ask for 64"},
        {513, "an allocation of 513 columns of tensor memory; it must be a power of two from 32 "
              "to 512"},
        {64, NULL},
        {128, "128 columns of tensor memory after an allocation of 64; later ones may not be "
              "larger, so allocate the largest first"},
        {64, NULL},
        {32, NULL},
        {64, "64 columns of tensor memory after an allocation of 32; later ones may not be "
             "larger, so allocate the largest first"},
    };
    (void)state;
    fixture f = make("sm_100");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t number;
        const int64_t dims[] = {128, cases[i].columns};
        const spad_shape shape = {.dims = dims, .rank = 2};
        const spad_status status =
            spad_block_alloc_tmem(&number, f.block, shape, SPAD_FLOAT32, NULL, &f.error);
        assert_int_equal(status == SPAD_OK, cases[i].message == NULL);
        if (cases[i].message == NULL) continue;
        assert_int_equal(number, -1);
        assert_non_null(strstr(f.error.message, cases[i].message));
    }
    int64_t number;
    assert_int_equal(
        spad_block_alloc_tmem(&number, f.block, SPAD_SHAPE(128, -64), SPAD_FLOAT32, "x", &f.error),
        SPAD_ERR_SHAPE);
    assert_null(strstr(f.error.message, "ask for"));
    assert_int_equal(spad_block_count(f.block), 3);
    done(&f);
}

/* As in TileLang, everything that is allocated has a shape. */
static void single_things_have_a_shape(void **state) {
    (void)state;
    fixture f = make("sm_90");
    const int64_t arrivals[] = {1, 128};
    int64_t var, barriers, descriptor;
    assert_ok(spad_block_alloc_var(&var, f.block, SPAD_INT32, NULL, "v", &f.error), &f.error);
    assert_ok(spad_block_alloc_barrier(&barriers, f.block, arrivals, 2, "b", &f.error), &f.error);
    assert_ok(spad_block_alloc_descriptor(&descriptor, f.block, "wgmma", "d", &f.error), &f.error);
    assert_int_equal(get(&f, var).shape.rank, 1);
    assert_int_equal(get(&f, var).shape.dims[0], 1);
    assert_int_equal(get(&f, barriers).shape.rank, 1);
    assert_int_equal(get(&f, barriers).shape.dims[0], 2);
    assert_int_equal(get(&f, descriptor).shape.dims[0], 1);
    done(&f);
}

static void levels_of_a_core(void **state) {
    (void)state;
    fixture f = make("910b");
    const struct {
        const char *scope, *space;
        int64_t align, rounded;
    } cases[] = {
        {"shared.dyn", "l1", 32, 128},      {"shared.l1", "l1", 32, 128},
        {"shared", "ub", 32, 128},          {"wmma.matrix_a", "l0a", 512, 512},
        {"wmma.matrix_b", "l0b", 512, 512}, {"wmma.accumulator", "l0c", 64, 100},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int64_t n = bytes(&f, cases[i].scope, cases[i].scope, 100);
        const spad_block_buffer info = get(&f, n);
        assert_string_equal(f.target->spaces[info.space].name, cases[i].space);
        assert_int_equal(info.align, cases[i].align);
        assert_int_equal(info.bytes, cases[i].rounded);
    }
    int64_t used, limit;
    assert_int_equal(spad_block_get_arena(&used, &limit, f.block, "l1", &f.error), SPAD_ERR_STALE);
    assert_true(plan(&f).fits);
    assert_ok(spad_block_get_arena(&used, &limit, f.block, "l1", &f.error), &f.error);
    assert_int_equal(used, 256);
    assert_int_equal(limit, 524288);
    assert_int_equal(spad_block_get_arena(&used, &limit, f.block, "l2", &f.error),
                     SPAD_ERR_UNKNOWN);
    int64_t var;
    assert_ok(spad_block_alloc_var(&var, f.block, SPAD_INT32, NULL, "i", &f.error), &f.error);
    assert_true(get(&f, var).space == SPAD_NO_SPACE);
    put(&f, (spad_block_request){.name = "ring",
                                 .scope = "wmma.matrix_a",
                                 .shape = SPAD_SHAPE(64, 256),
                                 .dtype = SPAD_FLOAT16,
                                 .stages = 2});
    assert_false(plan(&f).fits);
    assert_int_equal(spad_block_check_fit(f.block, &f.error), SPAD_ERR_NO_FIT);
    assert_string_equal(
        f.error.message,
        "k needs 66048 B of l0a, 910b has 65536 B; largest: ring 65536 B in 2 stages, "
        "wmma.matrix_a 512 B; free buffers earlier or make tiles smaller");
    done(&f);
}

static void sums_that_do_not_fit(void **state) {
    (void)state;
    fixture f = make("sm_90");
    bytes(&f, "a", NULL, INT64_MAX / 2);
    bytes(&f, "b", NULL, INT64_MAX / 2);
    assert_int_equal(spad_block_plan(f.block, &f.error), SPAD_ERR_OVERFLOW);
    assert_string_equal(f.error.message, "the bytes of 2 buffers together do not fit 64 bits");
    done(&f);
    f = make("sm_90");
    bytes(&f, "a", NULL, INT64_MAX - 64);
    bytes(&f, "b", "shared", 64);
    assert_int_equal(spad_block_plan(f.block, &f.error), SPAD_ERR_OVERFLOW);
    done(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offsets_as_tilelang),
        cmocka_unit_test(reuse_can_be_switched_off),
        cmocka_unit_test(habits_of_tilelang),
        cmocka_unit_test(pins),
        cmocka_unit_test(barrier_bytes_are_no_data),
        cmocka_unit_test(timed_barriers_in_the_arena),
        cmocka_unit_test(barriers_outlive_their_loop),
        cmocka_unit_test(barriers_are_invalidated_behind_their_loop),
        cmocka_unit_test(barrier_counts),
        cmocka_unit_test(lives_and_regions),
        cmocka_unit_test(sides_side_by_side),
        cmocka_unit_test(given_lives_are_checked),
        cmocka_unit_test(registers_are_counted_at_their_peak),
        cmocka_unit_test(the_limit_counts_everything),
        cmocka_unit_test(static_memory_has_a_limit_of_its_own),
        cmocka_unit_test(static_and_dynamic_share_the_plain_limit),
        cmocka_unit_test(blocks_per_unit),
        cmocka_unit_test(tensor_memory),
        cmocka_unit_test(tensor_memory_follows_its_instruction),
        cmocka_unit_test(single_things_have_a_shape),
        cmocka_unit_test(levels_of_a_core),
        cmocka_unit_test(sums_that_do_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
