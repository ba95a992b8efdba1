/* SPDX-License-Identifier: Apache-2.0
 *
 * Any text as a log of allocations: it is refused with a place, or its rows are consistent
 * and replay without an error on a small pool, which is empty afterwards.
 */
#include "fuzz.h"
#include "spad/device/pool.h"
#include "spad/device/replay.h"
#include "spad/experimental/log.h"

static void check_rows(const spad_log *log) {
    const int64_t allocations = spad_log_allocation_count(log);
    int64_t next = 0;
    for (size_t i = 0; i < spad_log_count(log); i++) {
        const spad_log_row *row = spad_log_get(log, i);
        REQUIRE(row->bytes >= 0 && row->address >= 0 && row->line > 1);
        const bool nothing = row->address == 0 && row->bytes == 0;
        if (nothing) REQUIRE(row->allocation == -1);
        if (row->action == SPAD_LOG_ALLOCATE && !nothing) REQUIRE(row->allocation == next++);
        if (row->action == SPAD_LOG_FREE) REQUIRE(row->allocation < next);
    }
    REQUIRE(next == allocations);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    spad_log *log;
    spad_pool *pool;
    spad_replay result;
    spad_error error;
    const spad_status status = spad_log_parse(&log, (const char *)data, size, "fuzz", NULL, &error);
    if (status != SPAD_OK) {
        REQUIRE(status == SPAD_ERR_SYNTAX && error.message[0] != '\0');
        return 0;
    }
    check_rows(log);
    REQUIRE(spad_pool_create_over(&pool, 0, 1 << 16, NULL, NULL) == SPAD_OK);
    const spad_memory memory = spad_pool_get_memory(pool);
    REQUIRE(spad_memory_replay(&result, &memory, log, 64, NULL, &error) == SPAD_OK);
    REQUIRE(result.frees + result.unknown_frees <= (int64_t)spad_log_count(log));
    REQUIRE(spad_pool_get_stats(pool).blocks.live_blocks == 0);
    spad_pool_destroy(pool);
    spad_log_destroy(log);
    return 0;
}
