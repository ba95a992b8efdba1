/* SPDX-License-Identifier: Apache-2.0
 *
 * Devices and pools at their ends: sums beyond 64 bits, handles that another call ended, and leaks
 * that are reported without memory. On the host device, and on addresses that nothing touches. */
#include <stdio.h>
#include <string.h>

#include "spad/device/stream.h"
#include "support/support.h"

static spad_device *open_on(const spad_host *host) {
    const spad_device_options options = {.host = host};
    spad_device *device;
    spad_error error;
    assert_ok(spad_device_open(&device, "host", &options, &error), &error);
    return device;
}

static spad_buffer alloc_named(spad_device *device, int64_t bytes, const char *name) {
    const spad_buffer_spec spec = {.shape = SPAD_SHAPE(bytes), .dtype = SPAD_UINT8, .name = name};
    spad_buffer buffer;
    spad_error error;
    assert_ok(spad_buffer_alloc(&buffer, device, &spec, &error), &error);
    return buffer;
}

/* ---- leaks ------------------------------------------------------------------------- */

#define LEAK(name, bytes) "leak: '" name "' of " bytes " B in global memory, (" bytes ",) uint8\n"

/* The largest first; without memory for that, as they were made. */
static void leaks_are_reported_without_memory(void **state) {
    (void)state;
    static const char *const expected[] = {LEAK("b", "64") LEAK("c", "64") LEAK("a", "8"),
                                           LEAK("a", "8") LEAK("b", "64") LEAK("c", "64")};
    for (int without = 0; without < 2; without++) {
        test_host host;
        test_text text;
        test_host_init(&host);
        test_text_init(&text);
        spad_device *device = open_on(&host.host);
        alloc_named(device, 8, "a");
        alloc_named(device, 64, "b");
        alloc_named(device, 64, "c");
        if (without != 0) host.fail_at = host.calls + 1;
        assert_int_equal(spad_device_close(device, &text.sink), 3);
        assert_string_equal(text.bytes, expected[without]);
        test_host_assert_clean(&host);
        test_text_free(&text);
    }
}

/* ---- workspaces -------------------------------------------------------------------- */

static void a_workspace_whose_buffer_is_gone_is_stale(void **state) {
    (void)state;
    spad_device *device = open_on(NULL);
    spad_workspace workspace;
    spad_buffer part;
    spad_error error = {0};
    assert_ok(spad_workspace_open(&workspace, device, 4096, SPAD_GLOBAL, "w", &error), &error);
    assert_ok(spad_workspace_take(&part, &workspace, SPAD_SHAPE(8), SPAD_UINT8, 0, "p", &error),
              &error);
    assert_int_equal(
        spad_workspace_take(&part, &workspace, SPAD_SHAPE(INT64_MAX), SPAD_UINT8, 0, "far", &error),
        SPAD_ERR_NO_FIT);
    assert_string_equal(error.message, "9223372036854775807 B do not fit in the workspace: 4088 of "
                                       "4096 B are left in this phase");
    assert_ok(spad_workspace_next(&workspace, &error), &error);
    assert_ok(spad_buffer_free(workspace.whole, &error), &error);
    assert_int_equal(spad_workspace_next(&workspace, &error), SPAD_ERR_STALE);
    assert_int_equal(
        spad_workspace_take(&part, &workspace, SPAD_SHAPE(8), SPAD_UINT8, 0, "p", &error),
        SPAD_ERR_STALE);
    assert_int_equal(spad_workspace_close(&workspace, &error), SPAD_ERR_STALE);
    assert_int_equal(workspace.bytes, 4096); /* a failed call changes nothing */
    assert_int_equal(spad_device_close(device, NULL), 0);
}

/* ---- matrices ---------------------------------------------------------------------- */

static void rows_that_do_not_fit_are_refused(void **state) {
    (void)state;
    const int64_t far = INT64_C(1) << 40;
    spad_device *device = open_on(NULL);
    const spad_buffer_spec spec = {.shape = SPAD_SHAPE(0, far, far, 2), .dtype = SPAD_UINT8};
    const spad_copy_tile tile = {.rows = 0, .columns = 1};
    spad_buffer none;
    spad_error error = {0};
    assert_ok(spad_buffer_alloc(&none, device, &spec, &error), &error);
    assert_int_equal(spad_buffer_copy_matrix(none, none, &tile, NULL, &error), SPAD_ERR_OVERFLOW);
    assert_string_equal(error.message, "the bytes of a row do not fit 64 bits");
    assert_ok(spad_buffer_free(none, &error), &error);
    assert_int_equal(spad_device_close(device, NULL), 0);
}

/* ---- pools ------------------------------------------------------------------------- */

static void a_pool_ends_within_64_bits(void **state) {
    (void)state;
    static const struct {
        int64_t base;
        int64_t bytes;
        spad_status status;
    } cases[] = {
        {INT64_MAX - 1000, 2000, SPAD_ERR_OVERFLOW}, /* its end */
        {INT64_MAX - 10, 10, SPAD_ERR_OVERFLOW},     /* its first block */
        {INT64_MAX - 1000, 1000, SPAD_OK},
        {INT64_MAX - 1000, 20, SPAD_ERR_ARGUMENT}, /* no block */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_pool *pool;
        spad_error error = {0};
        assert_int_equal(spad_pool_create_over(&pool, cases[i].base, cases[i].bytes, NULL, &error),
                         cases[i].status);
        assert_int_equal(pool != NULL, cases[i].status == SPAD_OK);
        if (pool != NULL) assert_ok(spad_pool_check(pool, &error), &error);
        spad_pool_destroy(pool);
    }
}

/* Totals stay at the limit. Nothing touches the addresses of such a pool. */
static void totals_of_a_pool_do_not_wrap(void **state) {
    (void)state;
    const int64_t bytes = INT64_C(1) << 62;
    spad_pool *pool;
    spad_error error = {0};
    assert_ok(spad_pool_create_over(&pool, 0, bytes, NULL, &error), &error);
    spad_allocation block;
    for (int64_t i = 1; i <= 3; i++) {
        assert_ok(spad_pool_alloc(&block, pool, bytes, 1, &error), &error);
        assert_ok(spad_pool_free(pool, &block, &error), &error);
        const spad_memory_stats stats = spad_pool_get_stats(pool).blocks;
        assert_int_equal(stats.frees, i);
        assert_int_equal(stats.freed_bytes, i == 1 ? bytes : INT64_MAX);
        assert_int_equal(stats.total_bytes, i == 1 ? bytes : INT64_MAX);
        assert_int_equal(stats.allocated_bytes, 0);
    }
    assert_ok(spad_pool_alloc(&block, pool, bytes, 1, &error), &error);
    const spad_memory_stats stats = spad_pool_get_stats(pool).blocks;
    assert_int_equal(stats.total_bytes, INT64_MAX);
    assert_int_equal(stats.allocated_bytes, bytes);
    assert_ok(spad_pool_free(pool, &block, &error), &error);
    assert_ok(spad_pool_check(pool, &error), &error);
    spad_pool_destroy(pool);
}

/* A block and what its alignment needs beside it are more than 64 bits. */
static void a_pool_that_grows_refuses_what_cannot_be(void **state) {
    (void)state;
    spad_device *device = open_on(NULL);
    spad_pool *pool;
    spad_allocation block;
    spad_error error = {0};
    assert_ok(spad_device_get_pool(&pool, device, SPAD_GLOBAL, &error), &error);
    assert_int_equal(spad_pool_alloc(&block, pool, INT64_MAX - 4096, INT64_C(1) << 20, &error),
                     SPAD_ERR_NO_FIT);
    assert_int_equal(spad_pool_alloc(&block, pool, INT64_MAX - 4096, 1, &error), SPAD_ERR_NO_FIT);
    assert_int_equal(spad_pool_get_stats(pool).blocks.failures, 2);
    assert_int_equal(spad_device_close(device, NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaks_are_reported_without_memory),
        cmocka_unit_test(a_workspace_whose_buffer_is_gone_is_stale),
        cmocka_unit_test(rows_that_do_not_fit_are_refused),
        cmocka_unit_test(a_pool_ends_within_64_bits),
        cmocka_unit_test(totals_of_a_pool_do_not_wrap),
        cmocka_unit_test(a_pool_that_grows_refuses_what_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
