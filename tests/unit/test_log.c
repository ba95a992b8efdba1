/* SPDX-License-Identifier: Apache-2.0
 * Logs of allocations: reading, the round trip through the writer, and replay. */
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "spad/device/pool.h"
#include "spad/device/replay.h"
#include "spad/experimental/log.h"
#include "support/support.h"

#define HEADER "Thread,Time,Action,Pointer,Size,Stream\n"

static spad_log *parse(const char *text) {
    spad_error error;
    spad_log *log;
    assert_ok(spad_log_parse(&log, text, strlen(text), "test.csv", NULL, &error), &error);
    return log;
}

static void rows_are_read_and_linked(void **state) {
    (void)state;
    spad_log *log = parse("# nothing here is needed,Size,Action,Stream,Pointer\r\n"
                          "x,1024,allocate,0x1f,0xABCDEF\r\n"
                          "\n"
                          "x, 64 ,allocate,,123\n"
                          "x,1024,free,0x1f,0xabcdef\n"
                          "x,5,allocate failure,0,(nil)\n"
                          "x,7,allocate,0,0xabcdef\n"
                          "x,9,free,0,99\n"
                          "x,0,free,0,nil");
    static const spad_log_row expected[] = {
        {SPAD_LOG_ALLOCATE, 0xabcdef, 1024, 31, 0, 2},
        {SPAD_LOG_ALLOCATE, 123, 64, 0, 1, 4},
        {SPAD_LOG_FREE, 0xabcdef, 1024, 31, 0, 5},
        {SPAD_LOG_FAILURE, 0, 5, 0, -1, 6},
        {SPAD_LOG_ALLOCATE, 0xabcdef, 7, 0, 2, 7},
        {SPAD_LOG_FREE, 99, 9, 0, -1, 8},
        {SPAD_LOG_FREE, 0, 0, 0, -1, 9},
    };
    assert_int_equal(spad_log_count(log), 7);
    assert_int_equal(spad_log_allocation_count(log), 3);
    for (size_t i = 0; i < 7; i++) {
        const spad_log_row *row = spad_log_get(log, i);
        assert_int_equal(row->action, expected[i].action);
        assert_int_equal(row->address, expected[i].address);
        assert_int_equal(row->bytes, expected[i].bytes);
        assert_int_equal(row->stream, expected[i].stream);
        assert_int_equal(row->allocation, expected[i].allocation);
        assert_int_equal(row->line, expected[i].line);
    }
    assert_null(spad_log_get(log, 7));
    spad_log_destroy(log);
    spad_log_destroy(NULL);
}

static void faults_have_a_place(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int line;
        const char *message;
    } cases[] = {
        {"", 0,
         "the first line has to name the columns Action, Pointer and Size, as in "
         "Thread,Time,Action,Pointer,Size,Stream, not ''"},
        {"Action,Size\n", 1,
         "the first line has to name the columns Action, Pointer and Size, as in "
         "Thread,Time,Action,Pointer,Size,Stream, not 'Action'"},
        {HEADER "0,0,alloc,0x1,1,0\n", 2,
         "the action is allocate, allocate failure or free, not 'alloc'"},
        {HEADER "0,0,allocate\n", 2, "the pointer is a number below 2^63 such as 0x7f00, not ''"},
        {HEADER "0,0,allocate,0x,1,0\n", 2,
         "the pointer is a number below 2^63 such as 0x7f00, not '0x'"},
        {HEADER "0,0,allocate,0x10000000000000000,1,0\n", 2,
         "the pointer is a number below 2^63 such as 0x7f00, not '0x10000000000000000'"},
        {HEADER "0,0,allocate,0xffffffffffffffff,1,0\n", 2,
         "the pointer is a number below 2^63 such as 0x7f00, not '0xffffffffffffffff'"},
        {HEADER "\n0,0,allocate,1,-1,0\n", 3, "the size is a number of bytes below 2^63, not '-1'"},
        {HEADER "0,0,allocate,1,1f,0\n", 2, "the size is a number of bytes below 2^63, not '1f'"},
        {HEADER "0,0,allocate,1,1,x\n", 2, "the stream is a number below 2^63, not 'x'"},
        {HEADER "0,0,allocate,0x1,1,0\n0,0,allocate,1,1,0\n", 3,
         "the address is already allocated, not '1'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_error error;
        spad_log *log;
        assert_int_equal(
            spad_log_parse(&log, cases[i].text, strlen(cases[i].text), "f.csv", NULL, &error),
            SPAD_ERR_SYNTAX);
        assert_null(log);
        assert_string_equal(error.message, cases[i].message);
        assert_int_equal(error.line, cases[i].line);
        assert_string_equal(error.file, "f.csv");
    }
}

/* What the wrapper writes the reader reads, and replaying it gives the same peaks. */
static void logs_come_back(void **state) {
    (void)state;
    enum { SLOTS = 300 };
    spad_error error;
    spad_pool *pool;
    spad_wrapper *wrapper, *counter;
    spad_allocation blocks[SLOTS] = {{0}};
    test_text text;
    test_text_init(&text);
    assert_ok(spad_pool_create_over(&pool, 0x7f0000000000, 64 * 1024, NULL, &error), &error);
    const spad_memory pooled = spad_pool_get_memory(pool);
    assert_ok(spad_wrapper_create_log(&wrapper, &pooled, &text.sink, NULL, NULL, &error), &error);
    const spad_memory memory = spad_wrapper_get_memory(wrapper);
    spad__random random = {3};
    int64_t frees = 0;
    for (int i = 0; i < 3000; i++) {
        spad_allocation *block = &blocks[spad__random_below(&random, SLOTS)];
        if (block->handle != 0) {
            assert_ok(spad_memory_free(&memory, block, &error), &error);
            *block = (spad_allocation){0};
            frees++;
        } else {
            spad_memory_alloc(block, &memory, spad__random_in(&random, 0, 800), 1, NULL);
        }
    }
    const spad_memory_stats seen = spad_wrapper_get_stats(wrapper);
    assert_true(seen.failures > 0);
    spad_log *log = parse(text.bytes);
    assert_int_equal(spad_log_count(log), seen.allocations + seen.failures + frees);
    assert_int_equal(spad_log_allocation_count(log), seen.allocations);

    spad_pool *large;
    spad_replay result;
    assert_ok(spad_pool_create_over(&large, 0, 1 << 24, NULL, &error), &error);
    const spad_memory below = spad_pool_get_memory(large);
    assert_ok(spad_wrapper_create_statistics(&counter, &below, NULL, &error), &error);
    const spad_memory counted = spad_wrapper_get_memory(counter);
    assert_ok(spad_memory_replay(&result, &counted, log, 64, NULL, &error), &error);
    assert_int_equal(result.allocations, seen.allocations);
    assert_int_equal(result.frees, frees);
    assert_int_equal(result.failures, 0); /* it is large: what was refused fits */
    assert_int_equal(result.left, seen.live_blocks);
    assert_int_equal(result.peak_bytes, spad_wrapper_get_stats(counter).peak_bytes);
    assert_true(result.peak_bytes >= seen.peak_bytes);
    assert_int_equal(spad_wrapper_get_stats(counter).live_blocks, 0);

    spad_wrapper *tight;
    assert_ok(spad_wrapper_create_limit(&tight, &below, 5000, NULL, &error), &error);
    const spad_memory limited = spad_wrapper_get_memory(tight);
    assert_ok(spad_memory_replay(&result, &limited, log, 1, NULL, &error), &error);
    assert_true(result.failures > 0);
    assert_true(result.peak_bytes <= 5000);
    assert_int_equal(spad_wrapper_get_stats(tight).live_blocks, 0);
    assert_int_equal(spad_memory_replay(&result, &limited, log, 3, NULL, &error),
                     SPAD_ERR_ALIGNMENT);

    spad_wrapper_destroy(tight);
    spad_wrapper_destroy(counter);
    spad_wrapper_destroy(wrapper);
    spad_pool_destroy(large);
    spad_pool_destroy(pool);
    spad_log_destroy(log);
    test_text_free(&text);
}

static spad_replay replay(const char *text, int64_t max_bytes) {
    spad_log *log = parse(text);
    spad_pool *pool;
    spad_replay result;
    spad_error error;
    assert_ok(spad_pool_create_over(&pool, 0, max_bytes, NULL, &error), &error);
    const spad_memory memory = spad_pool_get_memory(pool);
    assert_ok(spad_memory_replay(&result, &memory, log, 1, NULL, &error), &error);
    assert_int_equal(spad_pool_get_stats(pool).blocks.live_blocks, 0);
    spad_pool_destroy(pool);
    spad_log_destroy(log);
    return result;
}

static void nothing_may_be_allocated_twice(void **state) {
    (void)state;
    const spad_replay result = replay(HEADER "0,0,allocate,0x0,0,0\n0,0,allocate,(nil),0,0\n"
                                             "0,0,allocate,0x0,8,0\n0,0,free,0x0,0,0\n"
                                             "0,0,free,0x0,8,0\n0,0,free,0x0,0,0\n",
                                      4096);
    assert_int_equal(result.allocations, 1);
    assert_int_equal(result.frees, 1);
    assert_int_equal(result.unknown_frees, 0);
    assert_int_equal(result.resized_frees, 0);
    assert_int_equal(result.left, 0);
}

static void odd_frees_are_counted(void **state) {
    (void)state;
    const spad_replay result = replay(HEADER "0,0,allocate,0x10,8,0\n0,0,free,0x20,8,0\n"
                                             "0,0,free,0x10,9,0\n0,0,free,0x10,8,0\n"
                                             "0,0,free,0x0,5,0\n",
                                      4096);
    assert_int_equal(result.allocations, 1);
    assert_int_equal(result.frees, 1);
    assert_int_equal(result.unknown_frees, 3);
    assert_int_equal(result.resized_frees, 1);
}

static void absurd_sizes_are_refused(void **state) {
    (void)state;
    const spad_replay result = replay(HEADER "0,0,allocate,0x10,99999999999999,0\n"
                                             "0,0,allocate,0x20,9223372036854775807,0\n"
                                             "0,0,free,0x20,9223372036854775807,0\n",
                                      4096);
    assert_int_equal(result.allocations, 0);
    assert_int_equal(result.failures, 2);
    assert_int_equal(result.frees, 0);
    assert_int_equal(result.unknown_frees, 0);
}

static int64_t tick(void *context) {
    int64_t *now = context;
    return *now += 10;
}

static void logs_have_the_times_of_a_clock(void **state) {
    (void)state;
    spad_error error;
    spad_pool *pool;
    spad_wrapper *wrapper;
    spad_allocation block;
    int64_t now = 100;
    test_text text;
    test_text_init(&text);
    const spad_clock clock = {.now = tick, .context = &now};
    assert_ok(spad_pool_create_over(&pool, 0, 1024, NULL, &error), &error);
    const spad_memory pooled = spad_pool_get_memory(pool);
    assert_ok(spad_wrapper_create_log(&wrapper, &pooled, &text.sink, &clock, NULL, &error), &error);
    const spad_memory memory = spad_wrapper_get_memory(wrapper);
    assert_ok(spad_memory_alloc(&block, &memory, 5, 1, &error), &error);
    assert_ok(spad_memory_free(&memory, &block, &error), &error);
    assert_string_equal(text.bytes, HEADER "0,110,allocate,0x0,5,0x0\n0,120,free,0x0,5,0x0\n");
    spad_wrapper_destroy(wrapper);
    spad_pool_destroy(pool);
    test_text_free(&text);
}

static spad_status scenario(const spad_host *host, void *context) {
    const char *text = context;
    spad_log *log;
    spad_pool *pool;
    spad_replay result;
    spad_status status = spad_log_parse(&log, text, strlen(text), "f.csv", host, NULL);
    if (status != SPAD_OK) return status;
    const spad_pool_options options = {.host = host};
    status = spad_pool_create_over(&pool, 0, 1 << 20, &options, NULL);
    if (status == SPAD_OK) {
        const spad_memory memory = spad_pool_get_memory(pool);
        status = spad_memory_replay(&result, &memory, log, 1, host, NULL);
        spad_pool_destroy(pool);
    }
    spad_log_destroy(log);
    return status;
}

static void every_host_allocation_may_fail(void **state) {
    (void)state;
    static char text[8192] = HEADER;
    size_t used = strlen(text);
    for (int i = 1; i <= 100; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "0,0,allocate,%d,%d,0\n", i, i);
    }
    test_fail_each_allocation(scenario, text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_read_and_linked),
        cmocka_unit_test(faults_have_a_place),
        cmocka_unit_test(logs_come_back),
        cmocka_unit_test(nothing_may_be_allocated_twice),
        cmocka_unit_test(odd_frees_are_counted),
        cmocka_unit_test(absurd_sizes_are_refused),
        cmocka_unit_test(logs_have_the_times_of_a_clock),
        cmocka_unit_test(every_host_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
