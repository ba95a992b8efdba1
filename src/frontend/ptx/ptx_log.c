/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps events. Warps are few (at most 32 in each of 16 CTAs), so they are found by a scan from the
 * newest: the executor runs one warp for many events in a row.
 */
#include "frontend/ptx/ptx_log.h"

#include <string.h>

#include "base/error.h"

static spad__ptx_log_warp *find_logged_warp(spad__ptx_log *log, const spad__ptx_event *event) {
    for (size_t i = log->warps.count; i-- > 0;) {
        spad__ptx_log_warp *w = &log->warps.items[i];
        if (w->cta == event->cta && w->number == event->warp) return w;
    }
    return NULL;
}

/* Keeps the list of warps in the order of CTA and number. There is capacity for one more. */
static spad__ptx_log_warp *add_logged_warp(spad__ptx_log *log, const spad__ptx_event *event) {
    size_t at = log->warps.count;
    while (at > 0) {
        const spad__ptx_log_warp *before = &log->warps.items[at - 1];
        if (before->cta < event->cta || (before->cta == event->cta && before->number < event->warp))
            break;
        log->warps.items[at] = *before;
        at--;
    }
    log->warps.count++;
    log->warps.items[at] =
        (spad__ptx_log_warp){.cta = event->cta, .number = event->warp, .first = -1, .last = -1};
    return &log->warps.items[at];
}

spad_status spad__ptx_log_add(void *context, const spad__ptx_event *event, spad_error *error) {
    spad__ptx_log *log = context;
    const size_t accesses = (size_t)event->access_count, runs = (size_t)event->run_count;
    if (!spad__array_reserve(&log->host, &log->events, 1) ||
        !spad__array_reserve(&log->host, &log->warps, 1) ||
        !spad__array_reserve(&log->host, &log->accesses, accesses) ||
        !spad__array_reserve(&log->host, &log->runs, runs)) {
        return spad__fail_host_memory(error);
    }
    const int32_t number = (int32_t)log->events.count;
    spad__ptx_logged *e = &log->events.items[log->events.count++];
    *e = (spad__ptx_logged){.event = *event,
                            .next = -1,
                            .first_access = (int32_t)log->accesses.count,
                            .first_run = (int32_t)log->runs.count};
    e->event.accesses = NULL;
    e->event.runs = NULL;
    if (accesses > 0) {
        memcpy(log->accesses.items + log->accesses.count, event->accesses,
               accesses * sizeof *event->accesses);
    }
    if (runs > 0)
        memcpy(log->runs.items + log->runs.count, event->runs, runs * sizeof *event->runs);
    log->accesses.count += accesses;
    log->runs.count += runs;
    spad__ptx_log_warp *w = find_logged_warp(log, event);
    if (w == NULL) w = add_logged_warp(log, event);
    if (w->last >= 0) log->events.items[w->last].next = number;
    if (w->first < 0) w->first = number;
    w->last = number;
    w->lanes |= event->lanes;
    return SPAD_OK;
}

void spad__ptx_log_free(spad__ptx_log *log) {
    spad__array_free(&log->host, &log->events);
    spad__array_free(&log->host, &log->accesses);
    spad__array_free(&log->host, &log->runs);
    spad__array_free(&log->host, &log->warps);
}
