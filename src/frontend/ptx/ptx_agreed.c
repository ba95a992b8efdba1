/* SPDX-License-Identifier: Apache-2.0
 *
 * Which stores of the run agree. A store counts if all of its lanes store one known value (the
 * executor knows). For each byte, the first value that two warps store one after the other is the
 * agreed one; stores of other values, and other writes, are compared as always.
 *
 * Two passes over the log: the bytes that such stores write, then their values. O(bytes that are
 * written).
 */
#include "frontend/ptx/ptx_agreed.h"

/* Of a byte: the event whose value is the candidate; below NEVER_WRITTEN: that of -2 - writer, and
 * several warps have stored it. */
enum { NEVER_WRITTEN = -1 };

static bool is_valued(const spad__ptx_event *e) {
    return e->kind == SPAD__PTX_ACCESS && e->value_bytes > 0;
}

static bool writes_shared(const spad__ptx_event_access *a) {
    return !a->tensor_memory && (a->kind & SPAD__PTX_WRITE) != 0;
}

static bool make_agreed(spad__ptx_agreed *out, const spad__ptx_log *log) {
    for (size_t i = 0; i < log->events.count; i++) {
        const spad__ptx_logged *e = &log->events.items[i];
        if (!is_valued(&e->event)) continue;
        for (int32_t n = 0; n < e->event.access_count; n++) {
            const spad__ptx_event_access *a = spad__ptx_log_access(log, e, n);
            if (!writes_shared(a) || a->run_count == 0) continue;
            const int64_t end = spad__ptx_log_run(log, e, a, a->run_count - 1)->end;
            if (end > out->bytes[a->cta]) out->bytes[a->cta] = end;
        }
    }
    for (int cta = 0; cta < SPAD__PTX_CLUSTER; cta++) {
        const size_t bytes = (size_t)out->bytes[cta];
        if (bytes == 0) continue;
        out->writers[cta] = spad__new_array(&log->host, bytes, sizeof *out->writers[cta]);
        if (out->writers[cta] == NULL) return false;
        for (size_t b = 0; b < bytes; b++) out->writers[cta][b] = NEVER_WRITTEN;
    }
    return true;
}

/* Values of 4 bytes at bytes 0 and 4 are the same bytes; one at byte 2 is not. Stores are aligned.
 */
static bool have_one_value(const spad__ptx_event *a, const spad__ptx_event *b) {
    return is_valued(a) && is_valued(b) && a->value_bytes == b->value_bytes && a->value == b->value;
}

static void write_agreed(const spad__ptx_agreed *out, const spad__ptx_log *log, int32_t event,
                         const spad__ptx_event_access *a, const spad__ptx_bytes *run) {
    const spad__ptx_event *e = &log->events.items[event].event;
    int32_t *writers = out->writers[a->cta];
    for (int64_t b = run->begin; b < run->end && b < out->bytes[a->cta]; b++) {
        if (writers[b] < NEVER_WRITTEN) continue;
        const spad__ptx_event *old = writers[b] >= 0 ? &log->events.items[writers[b]].event : NULL;
        const bool several =
            old != NULL && have_one_value(e, old) && (e->cta != old->cta || e->warp != old->warp);
        writers[b] = several ? -2 - event : event;
    }
}

bool spad__ptx_find_agreed(spad__ptx_agreed *out, const spad__ptx_log *log) {
    *out = (spad__ptx_agreed){0};
    if (!make_agreed(out, log)) return false;
    for (size_t i = 0; i < log->events.count; i++) {
        const spad__ptx_logged *e = &log->events.items[i];
        for (int32_t n = 0; n < e->event.access_count; n++) {
            const spad__ptx_event_access *a = spad__ptx_log_access(log, e, n);
            if (!is_valued(&e->event) || !writes_shared(a)) continue;
            for (int32_t r = 0; r < a->run_count; r++)
                write_agreed(out, log, (int32_t)i, a, spad__ptx_log_run(log, e, a, r));
        }
    }
    return true;
}

bool spad__ptx_is_agreed(const spad__ptx_agreed *agreed, const spad__ptx_log *log,
                         const spad__ptx_event *e, const spad__ptx_event_access *a,
                         const spad__ptx_bytes *run) {
    if (!is_valued(e) || !writes_shared(a) || agreed->writers[a->cta] == NULL) return false;
    for (int64_t b = run->begin; b < run->end; b++) {
        const int32_t writer = agreed->writers[a->cta][b];
        if (writer >= NEVER_WRITTEN) return false;
        if (!have_one_value(e, &log->events.items[-2 - writer].event)) return false;
    }
    return true;
}

void spad__ptx_agreed_free(spad__ptx_agreed *agreed, const spad_host *host) {
    for (int cta = 0; cta < SPAD__PTX_CLUSTER; cta++) {
        spad__free(host, agreed->writers[cta],
                   (size_t)agreed->bytes[cta] * sizeof *agreed->writers[cta]);
    }
    *agreed = (spad__ptx_agreed){0};
}
