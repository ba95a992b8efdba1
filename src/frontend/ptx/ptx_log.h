/* SPDX-License-Identifier: Apache-2.0
 *
 * The events of one run, kept in the order of each warp.
 */
#ifndef SPAD_FRONTEND_PTX_LOG_H
#define SPAD_FRONTEND_PTX_LOG_H

#include "base/memory.h"
#include "frontend/ptx/run/ptx_event.h"
#include "spad/status.h"

typedef struct spad__ptx_logged {
    spad__ptx_event event; /* its lists are in the log: see below */
    int32_t next;          /* the next event of the same warp; -1: none */
    int32_t first_access;
    int32_t first_run;
} spad__ptx_logged;

/* One warp: its CTA, its number there, its events. */
typedef struct spad__ptx_log_warp {
    int32_t cta;
    int32_t number;
    uint32_t lanes; /* that took part in any event */
    int32_t first;
    int32_t last;
} spad__ptx_log_warp;

typedef struct spad__ptx_log {
    spad_host host;
    SPAD_ARRAY(spad__ptx_logged) events;
    SPAD_ARRAY(spad__ptx_event_access) accesses;
    SPAD_ARRAY(spad__ptx_bytes) runs;
    SPAD_ARRAY(spad__ptx_log_warp) warps; /* by CTA and number */
} spad__ptx_log;

/* A sink for the executor (spad__ptx_sink.add); context: the log. */
spad_status spad__ptx_log_add(void *log, const spad__ptx_event *event, spad_error *error);
void spad__ptx_log_free(spad__ptx_log *log);

static inline const spad__ptx_event_access *
spad__ptx_log_access(const spad__ptx_log *log, const spad__ptx_logged *e, int32_t n) {
    return &log->accesses.items[e->first_access + n];
}

static inline const spad__ptx_bytes *spad__ptx_log_run(const spad__ptx_log *log,
                                                       const spad__ptx_logged *e,
                                                       const spad__ptx_event_access *a, int32_t n) {
    return &log->runs.items[e->first_run + a->first_run + n];
}

#endif
