/* SPDX-License-Identifier: Apache-2.0
 *
 * Order by flags and locks in shared memory: which strong writes a warp has seen.
 */
#ifndef SPAD_FRONTEND_PTX_FLAGS_H
#define SPAD_FRONTEND_PTX_FLAGS_H

#include "frontend/ptx/ptx_log.h"
#include "frontend/ptx/run/ptx_machine.h"

/* An event comes after another one, because it has read what that one wrote. */
typedef struct spad__ptx_seen {
    int32_t source;  /* event */
    bool relaxed;    /* orders execution, and no memory */
    int32_t earlier; /* of the same event, in `seen`; -1: none */
} spad__ptx_seen;

typedef struct spad__ptx_flags {
    size_t events;
    int32_t *first;  /* per event: its newest row of `seen`; -1: none. NULL: no event has one */
    int32_t *number; /* per event: the how manieth of its warp that others have seen, from 1; 0:
                        nobody has */
    int32_t *relaxed_number; /* the same of those seen without acquire and release */
    int32_t *warp_of;        /* per event: row of the log's warps */
    SPAD_ARRAY(spad__ptx_seen) seen;
    bool *
        deciding[SPAD__PTX_CLUSTER]; /* per byte of a block: a strong read of it decides a branch */
    int64_t bytes[SPAD__PTX_CLUSTER];
} spad__ptx_flags;

/* False: out of memory. To be freed in any case. */
bool spad__ptx_find_flags(spad__ptx_flags *out, const spad__ptx_log *log);
/* Does any of the bytes of a block decide a branch, as flags and locks do? */
bool spad__ptx_is_flag(const spad__ptx_flags *flags, int32_t cta, int64_t begin, int64_t end);
void spad__ptx_flags_free(spad__ptx_flags *flags, const spad_host *host);

#endif
