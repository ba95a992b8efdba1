/* SPDX-License-Identifier: Apache-2.0
 *
 * Several memories as the caller gave them; see tiers.c.
 */
#ifndef SPAD_PLAN_TIERS_H
#define SPAD_PLAN_TIERS_H

#include "base/memory.h"
#include "spad/tiers.h"

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

#endif
