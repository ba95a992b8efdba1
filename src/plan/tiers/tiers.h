/* SPDX-License-Identifier: Apache-2.0
 *
 * Several memories as the caller gave them; see tiers.c.
 */
#ifndef SPAD_PLAN_TIERS_TIERS_H
#define SPAD_PLAN_TIERS_TIERS_H

#include "base/memory.h"
#include "spad/experimental/tiers.h"

/*
 * Invariants
 *   memories of a buffer are not 0 and only those that there were when it was added
 *   four times the size of each buffer, times its uses and 2 more, times the largest cost, all
 *   together, fit 64 bits
 */
struct spad_tiers {
    spad_host host;
    spad__arena arena; /* names and uses */
    int64_t most;      /* all that buffers could cost */
    int64_t dearest;   /* the largest cost of a byte */
    int64_t bytes;     /* of all stays of all buffers */
    SPAD_ARRAY(spad_tier) memories;
    SPAD_ARRAY(spad_tier_buffer) buffers;
};

/* A phase of a buffer: in one memory over [from, until), in numbers of moments. */
typedef struct spad__phase {
    int32_t buffer;
    int32_t from;
    int32_t until;
    uint32_t allowed; /* memories */
    int32_t memory;   /* of the cheapest way */
} spad__phase;

static inline int64_t spad__tier_move_cost(const spad_tiers *tiers, const spad_tier_buffer *b,
                                           int32_t from, int32_t to) {
    if (from == to || (b->constant && (size_t)to == b->home)) return 0;
    return b->size * (tiers->memories.items[from].cost + tiers->memories.items[to].cost);
}

/* What it costs to be in a memory in phase k of a buffer, without the way there. */
static inline int64_t spad__tier_phase_cost(const spad_tiers *tiers, const spad_tier_buffer *b,
                                            int32_t k, int32_t memory) {
    const int32_t last = 2 * (int32_t)b->use_count - 2;
    int64_t cost = k % 2 == 0 ? b->size * tiers->memories.items[memory].cost : 0;
    if (k == 0 && b->home != SPAD_NO_MEMORY)
        cost += spad__tier_move_cost(tiers, b, (int32_t)b->home, memory);
    if (k == last && b->kept) cost += spad__tier_move_cost(tiers, b, memory, (int32_t)b->home);
    return cost;
}

#endif
