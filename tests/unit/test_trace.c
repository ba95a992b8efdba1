/* SPDX-License-Identifier: Apache-2.0
 *
 * The trace: its tables, its statistics against a recount, questions about a
 * moment, and failing host memory. */
#include "spad/experimental/trace_queries.h"
#include "support/support.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "spad/trace.h"

static const spad_space spaces[] = {
    {.name = "pad", .lanes = 4, .bytes = 1000, .alignment = 1, .granule = 1},
    {.name = "far", .lanes = 1, .bytes = SPAD_UNBOUNDED, .alignment = 1, .granule = 1},
};
static const spad_target target = {.name = "toy", .space_count = 2, .spaces = spaces};

static spad_trace *make(void) {
    spad_trace *trace;
    spad_error error;
    assert_ok(spad_trace_create(&trace, &target, NULL, &error), &error);
    return trace;
}

static int64_t put(spad_trace *trace, size_t space, int64_t byte, int64_t bytes, const char *name) {
    int64_t number;
    spad_error error;
    const spad_tensor tensor = {.name = name,
                                .shape = SPAD_SHAPE(4, bytes),
                                .dtype = SPAD_UINT8,
                                .mode = SPAD_MODE_AT,
                                .space = space,
                                .rect = {0, 4, byte, bytes},
                                .scope = -1};
    assert_ok(spad_trace_alloc(&number, trace, &tensor, byte, &error), &error);
    return number;
}

static void drop(spad_trace *trace, int64_t number) {
    spad_error error;
    assert_ok(spad_trace_free(trace, number, -1, 0, &error), &error);
}

static void tables_follow_the_events(void **state) {
    (void)state;
    spad_trace *trace = make();
    spad_error error;
    char name[] = "x";
    int64_t dims[] = {4, 7};
    int64_t scope;
    int64_t number;
    assert_ptr_equal(spad_trace_get_target(trace), &target);
    assert_ok(spad_trace_open_scope(&scope, trace, 0, name, 2, -1, 0, &error), &error);
    const spad_tensor tensor = {.name = name,
                                .shape = {2, dims},
                                .dtype = SPAD_BFLOAT16,
                                .mode = SPAD_MODE_STACK,
                                .rect = {0, 4, 0, 14},
                                .scope = scope};
    assert_ok(spad_trace_alloc(&number, trace, &tensor, 0, &error), &error);
    name[0] = '?'; /* texts and dims are copies */
    dims[1] = 0;
    assert_ok(spad_trace_section(trace, scope, 1, 14, &error), &error);
    drop(trace, number);
    assert_ok(spad_trace_rollback(trace, 0, scope, &error), &error);
    assert_ok(spad_trace_close_scope(trace, scope, 14, 20, &error), &error);

    assert_int_equal(spad_trace_event_count(trace), 6);
    assert_int_equal(spad_trace_get_event(trace, 0)->depth, 0);
    assert_int_equal(spad_trace_get_event(trace, 1)->depth, 1);
    assert_int_equal(spad_trace_get_event(trace, 1)->kind, SPAD_EVENT_ALLOC);
    assert_int_equal(spad_trace_get_event(trace, 2)->count, 1);
    assert_int_equal(spad_trace_get_event(trace, 5)->depth, 0);
    assert_int_equal(spad_trace_get_event(trace, 5)->bytes, 14);
    assert_null(spad_trace_get_event(trace, 6));
    const spad_tensor *stored = spad_trace_get_tensor(trace, 0);
    assert_string_equal(stored->name, "x");
    assert_int_equal(stored->shape.dims[1], 7);
    assert_int_equal(stored->t_begin, 1);
    assert_int_equal(stored->t_end, 3);
    assert_null(spad_trace_get_tensor(trace, 1));
    assert_int_equal(spad_trace_get_scope(trace, 0)->t_end, 5);
    assert_int_equal(spad_trace_get_scope(trace, 0)->high_water, 20);
    assert_null(spad_trace_get_scope(trace, 1));
    assert_string_equal(spad_mode_name(SPAD_MODE_POOL), "pool");
    assert_string_equal(spad_mode_name((spad_mode)77), "?");
    spad_trace_destroy(trace);
    spad_trace_destroy(NULL);
}

static void rectangles_have_lanes_and_ends(void **state) {
    (void)state;
    spad_trace *trace = make();
    spad_error error;
    int64_t number;
    static const spad_rect wrong[] = {{-5, 1, 0, 1024},     {0, -1, 0, 1},
                                      {INT64_MAX, 1, 0, 1}, {1, INT64_MAX, 0, 1},
                                      {0, 1, INT64_MAX, 1}, {-1, 1, SPAD_NO_BYTE, 1}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const spad_tensor tensor = {.name = "t", .rect = wrong[i], .scope = -1};
        assert_int_equal(spad_trace_alloc(&number, trace, &tensor, 0, &error), SPAD_ERR_ARGUMENT);
        assert_int_equal(number, -1);
        assert_string_equal(error.subject, "t");
        if (i > 0) continue;
        assert_string_equal(error.message,
                            "1 lanes from lane -5, 1024 B from byte 0 are not a rectangle of space "
                            "pad: lanes count from 0, and ends fit 64 bits");
    }
    assert_int_equal(spad_trace_event_count(trace), 0);
    /* beyond the space */
    static const spad_rect large[] = {{0, 200, 0, 1}, {0, 1, INT64_C(1) << 40, 1}, {0, 1, -12, 76}};
    for (size_t i = 0; i < 3; i++) {
        const spad_tensor tensor = {.name = "t", .rect = large[i], .scope = -1};
        assert_ok(spad_trace_alloc(&number, trace, &tensor, 0, &error), &error);
    }
    spad_trace_destroy(trace);
}

static void wrong_numbers_are_refused(void **state) {
    (void)state;
    spad_trace *trace = make();
    spad_error error;
    int64_t number = 5;
    spad_tensor tensor = {.space = 2, .rect = {0, 1, 0, 1}, .scope = -1};
    assert_int_equal(spad_trace_alloc(&number, trace, &tensor, 0, &error), SPAD_ERR_ARGUMENT);
    assert_int_equal(number, -1);
    tensor.space = 0;
    tensor.rect.bytes = -1;
    assert_int_equal(spad_trace_alloc(&number, trace, &tensor, 0, &error), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_trace_free(trace, 0, -1, 0, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "the trace has no tensor number 0");
    number = put(trace, 0, 0, 10, "twice");
    drop(trace, number);
    assert_int_equal(spad_trace_free(trace, number, -1, 0, &error), SPAD_ERR_NOT_LIVE);
    assert_string_equal(error.message, "tensor number 0 was freed before, at event 1");
    assert_string_equal(error.subject, "twice");
    assert_int_equal(spad_trace_close_scope(trace, 0, 0, 0, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "the trace has no open scope number 0");
    assert_int_equal(spad_trace_section(trace, -1, 0, 0, &error), SPAD_ERR_ARGUMENT);
    spad_space_stats stats;
    assert_int_equal(spad_trace_get_stats(&stats, trace, 2, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "target toy has no space number 2");
    put(trace, 1, 0, INT64_MAX, NULL);
    tensor = (spad_tensor){.space = 1, .rect = {0, 1, 0, 1}, .scope = -1};
    assert_int_equal(spad_trace_alloc(&number, trace, &tensor, 0, &error), SPAD_ERR_OVERFLOW);
    assert_string_equal(error.message, "the live bytes of space far do not fit 64 bits");
    assert_int_equal(spad_trace_event_count(trace), 3);
    tensor.scope = 555;
    assert_int_equal(spad_trace_alloc(&number, trace, &tensor, 0, &error), SPAD_ERR_ARGUMENT);
    tensor = (spad_tensor){.rect = {0, 1, 0, 1}, .scope = -1, .mode = (spad_mode)99};
    assert_int_equal(spad_trace_alloc(&number, trace, &tensor, 0, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "the trace cannot record a tensor of 1 bytes and 0 "
                                       "dimensions, mode 99, section 0");
    assert_int_equal(spad_trace_open_scope(&number, trace, 0, NULL, 1, 999, 0, &error),
                     SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_trace_open_scope(&number, trace, 7, NULL, 1, -1, 0, &error),
                     SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_trace_rollback(trace, 0, 3, &error), SPAD_ERR_ARGUMENT);
    int64_t at;
    assert_int_equal(
        spad_trace_get_largest_hole(&number, &at, trace, 0, 0, INT64_MIN, INT64_MAX, &error),
        SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_trace_get_largest_hole(&number, &at, trace, 0, 0, 5, 4, &error),
                     SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "[5, 4) is not a region");
    assert_int_equal(spad_trace_scope_count(trace), 0);
    spad_trace *none;
    assert_int_equal(spad_trace_create(&none, NULL, NULL, &error), SPAD_ERR_ARGUMENT);
    assert_null(none);
    spad_trace_destroy(trace);
}

/* A copy is one event about both sides; statistics and lifetimes stay as they are. */
static void copies_are_events(void **state) {
    (void)state;
    spad_trace *trace = make();
    spad_error error;
    const int64_t a = put(trace, 0, 0, 16, "a");
    const int64_t b = put(trace, 1, 0, 16, NULL);
    assert_ok(spad_trace_copy(trace, 1, b, a, 64, false, &error), &error);
    assert_ok(spad_trace_copy(trace, 0, a, -1, 8, true, &error), &error);
    assert_ok(spad_trace_copy(trace, 0, -1, -1, 0, false, &error),
              &error); /* older than the trace */
    const spad_event *event = spad_trace_get_event(trace, 2);
    assert_int_equal(event->kind, SPAD_EVENT_COPY);
    assert_int_equal(event->tensor, b);
    assert_int_equal(event->source, a);
    assert_int_equal(event->bytes, 64);
    assert_int_equal(event->space, 1);
    assert_int_equal(event->count, 0);
    event = spad_trace_get_event(trace, 3);
    assert_int_equal(event->source, -1);
    assert_int_equal(event->count, 1);
    assert_int_equal(spad_trace_get_event(trace, 0)->source, -1);
    spad_space_stats stats;
    assert_ok(spad_trace_get_stats(&stats, trace, 0, &error), &error);
    assert_int_equal(stats.live_bytes, 16);
    test_text text;
    test_text_init(&text);
    assert_ok(
        spad_trace_write_tree(trace, SPAD_ALL_SPACES, 0, 5, SPAD_TREE_EXACT, &text.sink, &error),
        &error);
    assert_non_null(strstr(text.bytes, "    COPY a -> (unnamed): 64 B\n"
                                       "    COPY (outside) -> a: 8 B, on a stream\n"));
    test_text_free(&text);
    drop(trace, b);
    assert_int_equal(spad_trace_copy(trace, 0, a, b, 1, false, &error), SPAD_ERR_NOT_LIVE);
    assert_string_equal(error.message, "a copy of tensor number 1, which was freed at event 5");
    assert_int_equal(spad_trace_copy(trace, 0, 7, a, 1, false, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "the trace has no tensor number 7");
    assert_int_equal(spad_trace_copy(trace, 0, a, -2, 1, false, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "the trace has no tensor number -2");
    assert_int_equal(spad_trace_copy(trace, 9, a, -1, 1, false, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "target toy has no space number 9");
    assert_int_equal(spad_trace_copy(trace, 0, a, -1, -1, false, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "a copy of -1 bytes");
    assert_int_equal(spad_trace_event_count(trace), 6);
    spad_trace_destroy(trace);
}

/* A place that was reserved is there, whatever is written in between. */
static void a_reserved_copy_needs_no_memory(void **state) {
    (void)state;
    test_host host;
    test_host_init(&host);
    spad_error error;
    spad_trace *trace;
    assert_ok(spad_trace_create(&trace, &target, &host.host, &error), &error);
    const int64_t a = put(trace, 0, 0, 1, "a");
    for (int i = 0; i < 40; i++) {
        assert_ok(spad_trace_reserve_copy(trace, &error), &error);
        assert_ok(spad_trace_reserve_copy(trace, &error), &error);
        spad_trace_release_copy(trace);
        for (int j = 0; j < i % 5; j++) put(trace, 0, 0, 1, NULL);
        host.fail_at = host.calls + 1;
        assert_ok(spad_trace_copy(trace, 0, a, -1, 1, false, &error), &error);
        host.fail_at = 0;
    }
    host.fail_at = host.calls + 1;
    spad_status status = SPAD_OK;
    for (int i = 0; i < 1000 && status == SPAD_OK; i++)
        status = spad_trace_copy(trace, 0, a, -1, 1, false, &error);
    assert_int_equal(status, SPAD_ERR_HOST_MEMORY);
    const size_t events = spad_trace_event_count(trace);
    assert_int_equal(spad_trace_reserve_copy(trace, &error), SPAD_ERR_HOST_MEMORY);
    assert_int_equal(spad_trace_event_count(trace), events);
    spad_trace_release_copy(trace); /* nothing is reserved: nothing happens */
    host.fail_at = 0;
    assert_ok(spad_trace_copy(trace, 0, a, -1, 1, false, &error), &error);
    spad_trace_destroy(trace);
    test_host_assert_clean(&host);
}

/* One field wrong at a time: refused, and the trace stays as it was. */
static void each_wrong_field_is_refused(void **state) {
    (void)state;
    spad_trace *trace = make();
    const spad_tensor good = {.rect = {0, 1, 0, 1}, .scope = -1};
    spad_tensor bad[3];
    for (size_t i = 0; i < 3; i++) bad[i] = good;
    bad[0].section = -1;
    bad[1].shape.rank = SPAD_RANK_MAX + 1;
    bad[2].rect.bytes = -7;
    spad_error error;
    int64_t number;
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(spad_trace_alloc(&number, trace, &bad[i], 0, &error), SPAD_ERR_ARGUMENT);
        assert_int_equal(number, -1);
    }
    assert_int_equal(spad_trace_free(trace, -1, -1, 0, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "the trace has no tensor number -1");
    assert_int_equal(spad_trace_event_count(trace), 0);
    static const spad_target nothing = {.name = "nothing"};
    spad_trace *none;
    assert_int_equal(spad_trace_create(&none, &nothing, NULL, &error), SPAD_ERR_ARGUMENT);
    assert_null(none);
    spad_trace_destroy(trace);
}

/* Sums of bytes over a whole trace end at the largest number. */
static void totals_stop_at_the_end_of_64_bits(void **state) {
    (void)state;
    spad_trace *trace = make();
    spad_space_stats stats;
    for (int i = 0; i < 3; i++) drop(trace, put(trace, 1, 0, INT64_MAX - 1, NULL));
    assert_int_equal(spad_trace_get_stats(&stats, trace, 1, NULL), SPAD_OK);
    assert_true(stats.total_bytes == INT64_MAX);
    assert_true(stats.peak_bytes == INT64_MAX - 1);
    spad_trace_destroy(trace);
}

/* Statistics, live sets and holes against a recount over all tensors. */
static void statistics_equal_a_recount(void **state) {
    (void)state;
    enum { EVENTS = 120, ROUNDS = 300 };
    for (uint64_t round = 0; round < ROUNDS; round++) {
        spad__random random = {round};
        spad_trace *trace = make();
        spad_error error;
        int64_t peak = 0;
        int64_t peak_time = -1;
        for (int e = 0; e < EVENTS; e++) {
            const int64_t tensors = (int64_t)spad_trace_tensor_count(trace);
            const int64_t victim =
                tensors > 0 ? (int64_t)spad__random_below(&random, (uint64_t)tensors) : -1;
            if (victim >= 0 &&
                spad_trace_get_tensor(trace, (size_t)victim)->t_end == SPAD_OPEN_END &&
                spad__random_below(&random, 2) == 0) {
                drop(trace, victim);
            } else {
                put(trace, 0, spad__random_in(&random, 0, 900), spad__random_in(&random, 0, 100),
                    NULL);
            }
            const int64_t now = (int64_t)spad_trace_event_count(trace) - 1;
            bool used[1000] = {false};
            int64_t live = 0;
            int64_t count = 0;
            for (size_t t = 0; t < spad_trace_tensor_count(trace); t++) {
                const spad_tensor *tensor = spad_trace_get_tensor(trace, t);
                if (tensor->t_end <= now) continue;
                live += tensor->rect.bytes;
                count++;
                for (int64_t b = 0; b < tensor->rect.bytes; b++) used[tensor->rect.byte + b] = true;
            }
            if (live > peak || peak_time < 0) {
                peak = live;
                peak_time = now;
            }
            spad_space_stats stats;
            assert_ok(spad_trace_get_stats(&stats, trace, 0, &error), &error);
            assert_int_equal(stats.live_bytes, live);
            assert_int_equal(stats.live_tensors, count);
            assert_int_equal(stats.peak_bytes, peak);
            assert_int_equal(stats.peak_time, peak_time);

            int64_t longest = 0;
            int64_t start = 0;
            for (int64_t b = 0, run = 0; b < 1000; b++) {
                run = used[b] ? 0 : run + 1;
                if (run > longest) {
                    longest = run;
                    start = b - run + 1;
                }
            }
            int64_t hole;
            int64_t at;
            assert_ok(spad_trace_get_largest_hole(&hole, &at, trace, 0, now, 0, 1000, &error),
                      &error);
            assert_int_equal(hole, longest);
            if (longest > 0) assert_int_equal(at, start);
        }

        /* the live set at the peak, in full and cut */
        int64_t all[EVENTS];
        int64_t few[5];
        size_t count;
        size_t again;
        assert_ok(spad_trace_list_live(&count, all, EVENTS, trace, 0, peak_time, &error), &error);
        assert_ok(spad_trace_list_live(&again, few, 5, trace, 0, peak_time, &error), &error);
        assert_int_equal(count, again);
        int64_t sum = 0;
        for (size_t i = 0; i < count; i++) {
            sum += spad_trace_get_tensor(trace, (size_t)all[i])->rect.bytes;
            if (i < 5) assert_int_equal(few[i], all[i]);
            if (i == 0) continue;
            const int64_t before = spad_trace_get_tensor(trace, (size_t)all[i - 1])->rect.bytes;
            const int64_t here = spad_trace_get_tensor(trace, (size_t)all[i])->rect.bytes;
            assert_true(before > here || (before == here && all[i - 1] < all[i]));
        }
        assert_int_equal(sum, peak);
        spad_trace_destroy(trace);
    }
}

static void tensors_without_an_address_leave_no_mark(void **state) {
    (void)state;
    spad_trace *trace = make();
    spad_error error;
    int64_t hole;
    int64_t at;
    put(trace, 0, SPAD_NO_BYTE, 100, "later");
    put(trace, 0, 200, 100, "now");
    put(trace, 1, 0, 1000, "elsewhere");
    assert_ok(spad_trace_get_largest_hole(&hole, &at, trace, 0, 2, 0, 1000, &error), &error);
    assert_int_equal(hole, 700);
    assert_int_equal(at, 300);
    assert_ok(spad_trace_get_largest_hole(&hole, &at, trace, 0, 0, 0, 1000, &error), &error);
    assert_int_equal(hole, 1000); /* before the second began */
    assert_ok(spad_trace_get_largest_hole(&hole, &at, trace, 0, 2, 250, 300, &error), &error);
    assert_int_equal(hole, 0);
    spad_trace_destroy(trace);
}

static spad_status scenario(const spad_host *host, void *context) {
    (void)context;
    spad_error error;
    spad_trace *trace;
    test_text text;
    test_text_init(&text);
    spad_status status = spad_trace_create(&trace, &target, host, &error);
    for (int i = 0; status == SPAD_OK && i < 40; i++) {
        int64_t scope;
        int64_t number;
        const size_t events = spad_trace_event_count(trace);
        const spad_tensor tensor = {.name = "a name that takes some room in the arena",
                                    .shape = SPAD_SHAPE(1, 2, 3, 4, 5),
                                    .rect = {0, 1, i, 1},
                                    .scope = -1};
        status = i % 4 == 0 ? spad_trace_open_scope(&scope, trace, 0, "scope", 1, -1, 0, &error)
                            : spad_trace_alloc(&number, trace, &tensor, i, &error);
        assert_int_equal(spad_trace_event_count(trace), events + (status == SPAD_OK));
    }
    /* what has begun can always be ended, whatever the memory */
    for (size_t i = 0; trace != NULL && i < spad_trace_tensor_count(trace); i += 2) {
        assert_int_equal(spad_trace_free(trace, (int64_t)i, -1, 0, &error), SPAD_OK);
    }
    for (size_t i = 0; trace != NULL && i < spad_trace_scope_count(trace); i++) {
        assert_int_equal(spad_trace_close_scope(trace, (int64_t)i, 0, 0, &error), SPAD_OK);
    }
    int64_t hole;
    int64_t at;
    if (status == SPAD_OK) {
        status = spad_trace_get_largest_hole(&hole, &at, trace, 0, 30, 0, 1000, &error);
    }
    if (status == SPAD_OK) {
        status = spad_trace_write_tree(trace, SPAD_ALL_SPACES, 0, SIZE_MAX, SPAD_TREE_EXACT,
                                       &text.sink, &error);
    }
    spad_trace_destroy(trace);
    test_text_free(&text);
    return status;
}

static void every_host_allocation_may_fail(void **state) {
    (void)state;
    test_fail_each_allocation(scenario, NULL);
}

static void the_tree_reports_a_sink_that_fails(void **state) {
    (void)state;
    spad_trace *trace = make();
    spad_error error;
    test_text text;
    test_text_init(&text);
    text.fail_after = 3;
    put(trace, 0, 0, 1, NULL);
    assert_int_equal(
        spad_trace_write_tree(trace, SPAD_ALL_SPACES, 0, 1, SPAD_TREE_EXACT, &text.sink, &error),
        SPAD_ERR_IO);
    assert_ok(
        spad_trace_write_tree(trace, SPAD_ALL_SPACES, 1, 1, SPAD_TREE_EXACT, &text.sink, &error),
        &error);
    assert_string_equal(text.bytes, "");
    test_text_free(&text);
    spad_trace_destroy(trace);
}

/* Names of any length go through the log. */
static void long_names_are_written_whole(void **state) {
    (void)state;
    spad_trace *trace = make();
    spad_error error;
    test_text text;
    test_text_init(&text);
    enum { LONG = 10000 };
    char *name = malloc(LONG + 1);
    assert_non_null(name);
    memset(name, 'n', LONG);
    name[LONG] = '\0';
    put(trace, 0, 0, 1, name);
    assert_ok(
        spad_trace_write_tree(trace, SPAD_ALL_SPACES, 0, 1, SPAD_TREE_EXACT, &text.sink, &error),
        &error);
    assert_non_null(strstr(text.bytes, name));
    free(name);
    test_text_free(&text);
    spad_trace_destroy(trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_are_events),
        cmocka_unit_test(a_reserved_copy_needs_no_memory),
        cmocka_unit_test(each_wrong_field_is_refused),
        cmocka_unit_test(totals_stop_at_the_end_of_64_bits),
        cmocka_unit_test(tables_follow_the_events),
        cmocka_unit_test(rectangles_have_lanes_and_ends),
        cmocka_unit_test(wrong_numbers_are_refused),
        cmocka_unit_test(statistics_equal_a_recount),
        cmocka_unit_test(tensors_without_an_address_leave_no_mark),
        cmocka_unit_test(every_host_allocation_may_fail),
        cmocka_unit_test(the_tree_reports_a_sink_that_fails),
        cmocka_unit_test(long_names_are_written_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
