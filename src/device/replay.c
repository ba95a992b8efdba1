/* SPDX-License-Identifier: Apache-2.0
 *
 * The replay of a memory log (spad/log.h) against a memory: O(rows), one array of the blocks that
 * the log numbers.
 */
#include "spad/device/replay.h"
#include "spad/experimental/log.h"

#include <time.h>

#include "base/checked.h"
#include "base/memory.h"

/* An allocation of the log. */
typedef struct replayed {
    spad_allocation block; /* handle 0: refused, or freed */
    int64_t asked;         /* bytes in the log */
} replayed;

static int64_t now_ns(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static spad_status replay_alloc(spad_replay *out, int64_t *live, spad_allocation *block,
                                const spad_log_row *row, const spad_memory *memory, int64_t align,
                                spad_error *error) {
    spad_error refusal; /* only an error that ends the replay is the caller's */
    const spad_status status = spad_memory_alloc(block, memory, row->bytes, align, &refusal);
    if (status == SPAD_ERR_NO_FIT || status == SPAD_ERR_OVERFLOW) { /* an absurd size is one too */
        out->failures++;
        return SPAD_OK;
    }
    if (status != SPAD_OK) {
        if (error != NULL) *error = refusal;
        return status;
    }
    out->allocations++;
    *live += row->bytes;
    out->peak_bytes = spad__max(out->peak_bytes, *live);
    return SPAD_OK;
}

/* A row that allocates. One that was refused in the log has no number: where it fits here, it is
 * freed at once, because the log does not free it. */
static spad_status replay_request(spad_replay *out, int64_t *live, replayed *items,
                                  const spad_log_row *row, const spad_memory *memory, int64_t align,
                                  spad_error *error) {
    if (row->allocation >= 0) {
        replayed *item = &items[row->allocation];
        item->asked = row->bytes;
        return replay_alloc(out, live, &item->block, row, memory, align, error);
    }
    spad_allocation refused = {0};
    const spad_status status = replay_alloc(out, live, &refused, row, memory, align, error);
    if (status != SPAD_OK || refused.handle == 0) return status;
    *live -= refused.bytes;
    out->allocations--;
    return spad_memory_free(memory, &refused, error);
}

static spad_status replay_free(spad_replay *out, int64_t *live, replayed *items,
                               const spad_log_row *row, const spad_memory *memory,
                               spad_error *error) {
    if (row->allocation < 0) {
        out->unknown_frees++;
        return SPAD_OK;
    }
    replayed *item = &items[row->allocation];
    out->resized_frees += row->bytes != item->asked;
    if (item->block.handle == 0) return SPAD_OK;
    const spad_status status = spad_memory_free(memory, &item->block, error);
    *live -= item->block.bytes;
    item->block = (spad_allocation){0};
    out->frees++;
    return status;
}

static spad_status replay_rows(spad_replay *out, const spad_log *log, replayed *items,
                               const spad_memory *memory, int64_t align, spad_error *error) {
    int64_t live = 0;
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < spad_log_count(log) && status == SPAD_OK; i++) {
        const spad_log_row *row = spad_log_get(log, i);
        const bool frees = row->action == SPAD_LOG_FREE;
        if (row->action != SPAD_LOG_FAILURE && row->address == 0 && row->bytes == 0) continue;
        status = frees ? replay_free(out, &live, items, row, memory, error)
                       : replay_request(out, &live, items, row, memory, align, error);
    }
    return status;
}

spad_status spad_memory_replay(spad_replay *out, const spad_memory *memory, const spad_log *log,
                               int64_t align, const spad_host *host, spad_error *error) {
    const spad_host h = spad__host_or_default(host);
    const size_t count = (size_t)spad_log_allocation_count(log) + 1;
    *out = (spad_replay){0};
    replayed *items = spad__new_array(&h, count, sizeof *items);
    if (items == NULL) return spad__fail_host_memory(error);
    const int64_t start = now_ns();
    spad_status status = replay_rows(out, log, items, memory, align, error);
    out->nanoseconds = now_ns() - start;
    for (size_t i = 0; i < count; i++) {
        if (items[i].block.handle == 0) continue;
        const spad_status freed =
            spad_memory_free(memory, &items[i].block, status == SPAD_OK ? error : NULL);
        if (status == SPAD_OK) status = freed;
        out->left++;
    }
    spad__free(&h, items, count * sizeof *items);
    if (status != SPAD_OK) *out = (spad_replay){0};
    return status;
}
