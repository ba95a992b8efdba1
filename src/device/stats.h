/* SPDX-License-Identifier: Apache-2.0
 *
 * Counting into spad_memory_stats.
 */
#ifndef SPAD_DEVICE_STATS_H
#define SPAD_DEVICE_STATS_H

#include "base/checked.h"
#include "spad/device/memory.h"

static inline void spad__stats_add_up(int64_t *sum, int64_t more) {
    if (!spad__add(*sum, more, sum)) *sum = INT64_MAX;
}

static inline void spad__stats_alloc(spad_memory_stats *stats, int64_t bytes) {
    stats->allocations++;
    stats->live_blocks++;
    stats->allocated_bytes += bytes;
    spad__stats_add_up(&stats->total_bytes, bytes);
    stats->peak_bytes = spad__max(stats->peak_bytes, stats->allocated_bytes);
    stats->peak_blocks = spad__max(stats->peak_blocks, stats->live_blocks);
}

static inline void spad__stats_free(spad_memory_stats *stats, int64_t bytes) {
    stats->frees++;
    stats->live_blocks--;
    stats->allocated_bytes -= bytes;
    spad__stats_add_up(&stats->freed_bytes, bytes);
}

#endif
