/* SPDX-License-Identifier: Apache-2.0
 *
 * The trace as its own room sees it: four growing tables (events, tensors,
 * scopes, statistics per space) and an arena for names and shapes.
 *
 * Invariants
 *   event number == its time
 *   tensors[e.tensor].t_begin == time of its alloc event, t_end of its free event
 *   stats[s].live_bytes  == sum of rect.bytes over the tensors of s with an open end
 *   stats[s].peak_bytes  == maximum of live_bytes over time
 *   owed                 == scopes and tensors with an open end, and copies that have begun:
 *                           each will append one more event, for which events has room
 */
#ifndef SPAD_TRACE_TRACE_H
#define SPAD_TRACE_TRACE_H

#include "base/memory.h"
#include "spad/trace.h"

struct spad_trace {
    spad_host host;
    const spad_target *target;
    spad__arena texts; /* names and dims */
    SPAD_ARRAY(spad_event) events;
    SPAD_ARRAY(spad_tensor) tensors;
    SPAD_ARRAY(spad_scope) scopes;
    spad_space_stats *stats; /* target->space_count of them */
    size_t owed;
    size_t copies; /* of those owed: copies that have begun */
};

/* For calls that append several events and must append all or none: the state
 * before them, and the way back to it. What ended since must have begun since. */
typedef struct spad__trace_mark {
    size_t events;
    size_t tensors;
    size_t scopes;
    size_t owed;
    size_t copies;
    spad__arena_mark texts;
    spad_space_stats stats[SPAD_SPACES_MAX];
} spad__trace_mark;

void spad__trace_here(spad__trace_mark *out, const spad_trace *trace);
void spad__trace_take_back(spad_trace *trace, const spad__trace_mark *mark);

/* For assertions: the invariants above, but for the peaks. O(events + tensors + scopes). */
bool spad__trace_is_valid(const spad_trace *trace);

#endif
