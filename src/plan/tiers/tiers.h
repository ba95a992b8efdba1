/* SPDX-License-Identifier: Apache-2.0
 *
 * Several memories as the caller gave them; see tiers.c.
 */
#ifndef SPAD_PLAN_TIERS_TIERS_H
#define SPAD_PLAN_TIERS_TIERS_H

#include "base/memory.h"
#include "spad/experimental/spaces.h"

/* "No memory". */
#define SPAD__NO_MEMORY SIZE_MAX

/* A buffer that is used at some moments. Each use reads or writes all its bytes in the memory in
 *  which it is then, at `size` times the cost of that memory. Between two uses it is in one memory;
 *  to move it costs its bytes in both. Wherever it comes to be, it may have another offset. */
typedef struct spad__tier_buffer {
    const char *name;
    int64_t size;
    int64_t alignment; /* 0: 1 */
    size_t use_count;
    const int64_t *uses; /* moments, ascending; copied */
    uint32_t memories;   /* bit m: it may be in memory m; 0: in all */
    size_t home;         /* memory of its bytes before the first use; SPAD__NO_MEMORY: written by
                              its first use, wherever that is */
    bool kept;           /* its bytes are needed in `home` after the last use */
    bool constant;       /* `home` has them all the time: to go back there costs nothing */
} spad__tier_buffer;

typedef struct spad__tiers spad__tiers;

/*
 * Invariants
 *   memories of a buffer are not 0 and only those that there were when it was added
 *   four times the size of each buffer, times its uses and 2 more, times the largest cost, all
 *   together, fit 64 bits
 */
struct spad__tiers {
    spad_host host;
    spad__arena arena; /* names and uses */
    int64_t most;      /* all that buffers could cost */
    int64_t dearest;   /* the largest cost of a byte */
    int64_t bytes;     /* of all stays of all buffers */
    SPAD_ARRAY(spad_tier) memories;
    SPAD_ARRAY(spad__tier_buffer) buffers;
};

/* A phase of a buffer: in one memory over [from, until), in numbers of moments. */
typedef struct spad__phase {
    int32_t buffer;
    int32_t from;
    int32_t until;
    uint32_t allowed; /* memories */
    int32_t memory;   /* of the cheapest way */
} spad__phase;

static inline int64_t spad__tier_move_cost(const spad__tiers *tiers, const spad__tier_buffer *b,
                                           int32_t from, int32_t to) {
    if (from == to || (b->constant && (size_t)to == b->home)) return 0;
    return b->size * (tiers->memories.items[from].cost + tiers->memories.items[to].cost);
}

/* What it costs to be in a memory in phase k of a buffer, without the way there. */
static inline int64_t spad__tier_phase_cost(const spad__tiers *tiers, const spad__tier_buffer *b,
                                            int32_t k, int32_t memory) {
    const int32_t last = 2 * (int32_t)b->use_count - 2;
    int64_t cost = k % 2 == 0 ? b->size * tiers->memories.items[memory].cost : 0;
    if (k == 0 && b->home != SPAD__NO_MEMORY)
        cost += spad__tier_move_cost(tiers, b, (int32_t)b->home, memory);
    if (k == last && b->kept) cost += spad__tier_move_cost(tiers, b, memory, (int32_t)b->home);
    return cost;
}

/* An empty problem. SPAD_ERR_HOST_MEMORY. */
spad_status spad__tiers_create(spad__tiers **out, const spad_host *host, spad_error *error);

/* Frees it. NULL is fine. */
void spad__tiers_destroy(spad__tiers *tiers);

/* Adds a memory; *out (optional) is its number. SPAD_ERR_ARGUMENT: a negative capacity or cost, or
 *  too many. */
spad_status spad__tiers_add_memory(size_t *out, spad__tiers *tiers, const spad_tier *memory,
                                   spad_error *error);

/* Adds a buffer; *out (optional) is its number. SPAD_ERR_ARGUMENT: a negative size or alignment,
 * no uses, uses that do not ascend, memories that there are not, kept or constant without a home;
 *  SPAD_ERR_OVERFLOW: all that all buffers could cost does not fit 64 bits. */
spad_status spad__tiers_add(size_t *out, spad__tiers *tiers, const spad__tier_buffer *buffer,
                            spad_error *error);

/* Looks for the plan of least cost. Of the options, timeout_ns and node_limit count; node_limit 0:
 *  20000 sets of decisions. SPAD_ERR_ARGUMENT: options outside their range. */
spad_status spad__tiers_solve(spad_tiers_result **out, const spad__tiers *tiers,
                              const spad_plan_options *options, spad_error *error);

/* Frees it. NULL is fine. */
void spad__tiers_result_destroy(spad_tiers_result *result);

/* Writes a few lines: cost, bound, verdict, bytes moved, what every memory has, and the buffers
 * that are not in the cheapest memory that they may be in, the most expensive first. */
spad_status spad__tiers_write_text(const spad__tiers *tiers, const spad_tiers_result *result,
                                   const spad_sink *sink, spad_error *error);

#endif
