/* SPDX-License-Identifier: Apache-2.0
 *
 * The events of a run, for the sink. Only one is in the making at a time; its arrays are used again
 * for the next.
 */
#include <stdlib.h>
#include <string.h>

#include "frontend/ptx/run/ptx_state.h"
#include "frontend/ptx/run/ptx_warp_races.h"

enum { SORT_BY_INSERTION = 32 };

/* ---- events ------------------------------------------------------------------------------------
 */

spad__ptx_event *spad__ptx_begin_event(spad__ptx_machine *m, const spad__ptx_warp *w,
                                       uint32_t lanes, spad__ptx_event_kind kind) {
    m->accesses.count = 0;
    m->runs.count = 0;
    m->event = (spad__ptx_event){
        .kind = kind,
        .cta = w->cta,
        .warp = w->number,
        .lanes = lanes,
        .instruction = m->at,
        .object = {.cta = -1},
    };
    return &m->event;
}

void spad__ptx_add_access(spad__ptx_machine *m, unsigned kind, bool tensor_memory, int32_t cta) {
    if (!spad__array_reserve(m->host, &m->accesses, 1)) {
        (void)spad__ptx_no_memory(m);
        return;
    }
    m->accesses.items[m->accesses.count++] = (spad__ptx_event_access){
        .kind = (uint8_t)kind,
        .tensor_memory = tensor_memory,
        .cta = cta,
        .first_run = (int32_t)m->runs.count,
    };
}

/* Can b be part of a, which begins at most where b begins? */
static bool joins(const spad__ptx_bytes *a, const spad__ptx_bytes *b) {
    return a->lane == b->lane && a->lanes == b->lanes && b->begin >= a->begin && b->begin <= a->end;
}

void spad__ptx_add_lanes_run(spad__ptx_machine *m, int64_t begin, int64_t end, int32_t lane,
                             int32_t lanes) {
    if (m->accesses.count == 0 || begin >= end) return;
    spad__ptx_event_access *access = &m->accesses.items[m->accesses.count - 1];
    const spad__ptx_bytes run = {.begin = begin, .end = end, .lane = lane, .lanes = lanes};
    if (access->run_count > 0) {
        spad__ptx_bytes *last = &m->runs.items[m->runs.count - 1];
        if (joins(last, &run)) {
            if (last->end < end) last->end = end;
            return;
        }
    }
    if (!spad__array_reserve(m->host, &m->runs, 1)) {
        (void)spad__ptx_no_memory(m);
        return;
    }
    m->runs.items[m->runs.count++] = run;
    access->run_count++;
}

void spad__ptx_add_run(spad__ptx_machine *m, int64_t begin, int64_t end) {
    spad__ptx_add_lanes_run(m, begin, end, 0, 0);
}

static int compare_runs(const void *left, const void *right) {
    const spad__ptx_bytes *a = left;
    const spad__ptx_bytes *b = right;
    if (a->lane != b->lane) return a->lane < b->lane ? -1 : 1;
    if (a->lanes != b->lanes) return a->lanes < b->lanes ? -1 : 1;
    if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end);
}

static void sort_runs(spad__ptx_bytes *runs, int32_t count) {
    if (count > SORT_BY_INSERTION) {
        qsort(runs, (size_t)count, sizeof *runs, compare_runs);
        return;
    }
    for (int32_t n = 1; n < count; n++) {
        const spad__ptx_bytes run = runs[n];
        int32_t at = n;
        for (; at > 0 && compare_runs(&runs[at - 1], &run) > 0; at--) runs[at] = runs[at - 1];
        runs[at] = run;
    }
}

/* Sorts and merges the runs of one access, and moves them to `to`. */
static int32_t merge_runs(spad__ptx_machine *m, spad__ptx_event_access *access, int32_t to) {
    if (access->run_count == 0) {
        access->first_run = to;
        return to;
    }
    spad__ptx_bytes *runs = &m->runs.items[access->first_run];
    sort_runs(runs, access->run_count);
    spad__ptx_bytes *out = &m->runs.items[to];
    int32_t count = 0;
    for (int32_t n = 0; n < access->run_count; n++) {
        if (count > 0 && joins(&out[count - 1], &runs[n])) {
            if (out[count - 1].end < runs[n].end) out[count - 1].end = runs[n].end;
        } else {
            out[count++] = runs[n];
        }
    }
    access->first_run = to;
    access->run_count = count;
    return to + count;
}

spad__ptx_outcome spad__ptx_end_event(spad__ptx_machine *m) {
    if (m->status != SPAD_OK) return SPAD__PTX_FAILED;
    if (m->result->events >= m->launch->most_events) {
        m->status = spad__fail(m->error, SPAD_ERR_TIME,
                               "the kernel makes more than %lld accesses and synchronisations; run "
                               "a smaller problem, or allow more",
                               (long long)m->launch->most_events);
        return SPAD__PTX_FAILED;
    }
    int32_t end = 0;
    for (size_t n = 0; n < m->accesses.count; n++) end = merge_runs(m, &m->accesses.items[n], end);
    m->event.access_count = (int32_t)m->accesses.count;
    m->event.run_count = end;
    m->event.accesses = m->accesses.items;
    m->event.runs = m->runs.items;
    if (m->event.unit != SPAD__PTX_NO_UNIT) spad__ptx_compare_copy(m);
    m->result->events++;
    if (m->event.endless) {
        m->result->stuck = true;
        m->ended = true;
    }
    if (m->sink->add != NULL) m->status = m->sink->add(m->sink->context, &m->event, m->error);
    return m->status == SPAD_OK ? SPAD__PTX_DONE : SPAD__PTX_FAILED;
}
