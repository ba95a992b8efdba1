/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes of shared memory to which several warps store one value.
 */
#ifndef SPAD_FRONTEND_PTX_AGREED_H
#define SPAD_FRONTEND_PTX_AGREED_H

#include "frontend/ptx/ptx_log.h"
#include "frontend/ptx/run/ptx_machine.h"

typedef struct spad__ptx_agreed {
    int32_t *writers[SPAD__PTX_CLUSTER]; /* per byte of a block; see the implementation. NULL: none
                                          */
    int64_t bytes[SPAD__PTX_CLUSTER];
} spad__ptx_agreed;

/* False: out of memory. To be freed in any case. */
bool spad__ptx_find_agreed(spad__ptx_agreed *out, const spad__ptx_log *log);
/* Is the value that an event of the log stores to these bytes the one that several warps store? */
bool spad__ptx_is_agreed(const spad__ptx_agreed *agreed, const spad__ptx_log *log,
                         const spad__ptx_event *e, const spad__ptx_event_access *a,
                         const spad__ptx_bytes *run);
void spad__ptx_agreed_free(spad__ptx_agreed *agreed, const spad_host *host);

#endif
