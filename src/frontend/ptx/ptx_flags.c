/* SPDX-License-Identifier: Apache-2.0
 *
 * Follows the strong accesses of the run in the order in which they happened. Every byte
 * remembers who released it: the strong writes that a read of them observes, which are the last
 * one that is no read-modify-write, and those after it. A read that observes one comes after it, if
 * its value was known and decides a branch: in an execution where the read has another value, the
 * warp goes another way, and this run says nothing about that.
 *
 *     release   st.release, an atomic with .release or .acq_rel, or the last fence of the warp
 *               before a strong write; strong writes to the same place after it pass it on
 *     acquire   ld.acquire, an atomic with .acquire or .acq_rel, or the next fence of the warp
 *               after a strong read
 *
 * A pair without both orders execution, and no memory. Pairs of different blocks need a scope
 * beyond the block on both sides.
 *
 * Invariants: numbers of one warp rise in its program order, so that a wait for a number of signals
 * is a wait for that event. What a warp has seen already is not listed again.
 *
 * Cost: O(bytes of all accesses + reads * warps).
 *
 * Reference: PTX ISA 9.0, sections 8.8 (release and acquire patterns, of which a release
 * and later strong writes to the same location are one) and 8.9.2 (observation).
 */
#include "frontend/ptx/ptx_flags.h"

/* A write that reads of a cell observe. */
typedef struct flag_writer {
    int32_t warp;
    int32_t source; /* the event that releases, or the write itself */
    bool relaxed;
    bool narrow; /* its scope is the block */
    int32_t older;
} flag_writer;

/* A warp in the walk. */
typedef struct flag_warp {
    int32_t fence;   /* its last fence; -1: none yet */
    bool narrow;     /* of it */
    int32_t pending; /* what it has seen by strong reads without acquire, in `pending` */
} flag_warp;

typedef struct flag_walk {
    const spad__ptx_log *log;
    spad__ptx_flags *out;
    int32_t *cells[SPAD__PTX_CLUSTER]; /* per byte of a block: its newest writer; -1: none */
    int64_t bytes[SPAD__PTX_CLUSTER];
    flag_warp *warps;
    int32_t *known; /* per reader and source: the newest event that it comes after */
    int32_t *known_relaxed;
    SPAD_ARRAY(flag_writer) writers;
    SPAD_ARRAY(flag_writer) pending;
} flag_walk;

static bool is_strong_access(const spad__ptx_event *e, const spad__ptx_event_access *a) {
    return e->kind == SPAD__PTX_ACCESS && e->unit == SPAD__PTX_NO_UNIT && !a->tensor_memory &&
           (a->kind & SPAD__PTX_ATOMIC) != 0 && (a->kind & SPAD__PTX_MAY) == 0;
}

/* ---- cells -------------------------------------------------------------------------------------
 */

/* Bytes up to the last strong access of each block. False: out of memory. */
static bool make_flag_cells(flag_walk *k) {
    const spad__ptx_log *log = k->log;
    for (size_t i = 0; i < log->events.count; i++) {
        const spad__ptx_logged *e = &log->events.items[i];
        for (int32_t n = 0; n < e->event.access_count; n++) {
            const spad__ptx_event_access *a = spad__ptx_log_access(log, e, n);
            if (!is_strong_access(&e->event, a) || a->run_count == 0) continue;
            const int64_t end = spad__ptx_log_run(log, e, a, a->run_count - 1)->end;
            if (end > k->bytes[a->cta]) k->bytes[a->cta] = end;
        }
    }
    for (int cta = 0; cta < SPAD__PTX_CLUSTER; cta++) {
        const size_t bytes = (size_t)k->bytes[cta];
        if (bytes == 0) continue;
        k->cells[cta] = spad__new_array(&log->host, bytes, sizeof *k->cells[cta]);
        k->out->deciding[cta] = spad__new_array(&log->host, bytes, sizeof *k->out->deciding[cta]);
        k->out->bytes[cta] = k->bytes[cta];
        if (k->cells[cta] == NULL || k->out->deciding[cta] == NULL) return false;
        for (size_t b = 0; b < bytes; b++) k->cells[cta][b] = -1;
    }
    return true;
}

/* ---- what is seen ------------------------------------------------------------------------------
 */

static bool add_seen(flag_walk *k, int32_t event, const flag_writer *from, bool relaxed) {
    const size_t warps = k->log->warps.count;
    const int32_t reader = k->out->warp_of[event];
    int32_t *known = relaxed ? k->known_relaxed : k->known;
    int32_t *newest = &known[(size_t)reader * warps + (size_t)from->warp];
    if (*newest >= from->source) return true;
    *newest = from->source;
    if (!spad__array_reserve(&k->log->host, &k->out->seen, 1)) return false;
    k->out->seen.items[k->out->seen.count] =
        (spad__ptx_seen){from->source, relaxed, k->out->first[event]};
    k->out->first[event] = (int32_t)k->out->seen.count++;
    return true;
}

/* An event has read what `from` wrote. */
static bool see_writer(flag_walk *k, int32_t event, const flag_writer *from) {
    const spad__ptx_event *e = &k->log->events.items[event].event;
    const int32_t reader = k->out->warp_of[event];
    const bool narrow = from->narrow || (e->order & SPAD__PTX_CTA_SCOPE) != 0;
    const bool apart = e->cta != k->log->warps.items[from->warp].cta;
    if (from->warp == reader) return true;
    const bool relaxed = from->relaxed || (narrow && apart);
    if (!relaxed && (e->order & SPAD__PTX_ACQUIRE) != 0) return add_seen(k, event, from, false);
    if (!relaxed) {
        if (!spad__array_reserve(&k->log->host, &k->pending, 1)) return false;
        flag_writer row = *from;
        row.older = k->warps[reader].pending;
        k->warps[reader].pending = (int32_t)k->pending.count;
        k->pending.items[k->pending.count++] = row;
    }
    return add_seen(k, event, from, true);
}

static bool read_flag(flag_walk *k, int32_t event, int32_t newest) {
    for (int32_t w = newest; w >= 0; w = k->writers.items[w].older) {
        const flag_writer from = k->writers.items[w];
        if (!see_writer(k, event, &from)) return false;
    }
    return true;
}

/* Takes the row of a warp, if there is one, out of a list that begins at *newest. -1: none. */
static int32_t take_writer(flag_walk *k, int32_t *newest, int32_t warp) {
    int32_t *link = newest;
    while (*link >= 0 && k->writers.items[*link].warp != warp)
        link = &k->writers.items[*link].older;
    const int32_t found = *link;
    if (found >= 0) *link = k->writers.items[found].older;
    return found;
}

/* What a strong write releases: its own event, or what the last fence of its warp or the warp's
 * last write to the same place did. */
static flag_writer released_by(flag_walk *k, int32_t event, int32_t before) {
    const spad__ptx_event *e = &k->log->events.items[event].event;
    const int32_t warp = k->out->warp_of[event];
    const flag_warp *own = &k->warps[warp];
    flag_writer row = {.warp = warp, .source = event, .relaxed = true, .older = -1};
    if ((e->order & SPAD__PTX_RELEASE) != 0) {
        row.relaxed = false;
    } else if (before >= 0 && !k->writers.items[before].relaxed &&
               k->writers.items[before].source > own->fence) {
        row = k->writers.items[before];
    } else if (own->fence >= 0) {
        row = (flag_writer){.warp = warp, .source = own->fence, .narrow = own->narrow, .older = -1};
    }
    row.narrow |= (e->order & SPAD__PTX_CTA_SCOPE) != 0;
    return row;
}

/* A read-modify-write keeps what other warps have released before. */
static bool write_flag(flag_walk *k, int32_t event, bool modifies, int32_t *cell) {
    if (!spad__array_reserve(&k->log->host, &k->writers, 1)) return false;
    const int32_t before = take_writer(k, cell, k->out->warp_of[event]);
    flag_writer row = released_by(k, event, before);
    row.older = modifies ? *cell : -1;
    k->writers.items[k->writers.count] = row;
    *cell = (int32_t)k->writers.count++;
    return true;
}

/* ---- the walk ----------------------------------------------------------------------------------
 */

static bool touch_flag(flag_walk *k, int32_t event, const spad__ptx_event_access *a, int64_t byte,
                       bool strong) {
    int32_t *cell = &k->cells[a->cta][byte];
    const spad__ptx_event *e = &k->log->events.items[event].event;
    const bool reads = (a->kind & SPAD__PTX_READ) != 0, writes = (a->kind & SPAD__PTX_WRITE) != 0;
    if (!strong) {
        if (writes && (a->kind & SPAD__PTX_MAY) == 0) *cell = -1;
        return true;
    }
    if (reads && (e->order & SPAD__PTX_DECIDES) != 0) {
        k->out->deciding[a->cta][byte] = true;
        if (!read_flag(k, event, *cell)) return false;
    }
    return !writes || write_flag(k, event, reads, cell);
}

static bool walk_access(flag_walk *k, int32_t event) {
    const spad__ptx_logged *e = &k->log->events.items[event];
    for (int32_t n = 0; n < e->event.access_count; n++) {
        const spad__ptx_event_access *a = spad__ptx_log_access(k->log, e, n);
        if (a->tensor_memory) continue;
        const bool strong = is_strong_access(&e->event, a);
        for (int32_t r = 0; r < a->run_count; r++) {
            const spad__ptx_bytes *run = spad__ptx_log_run(k->log, e, a, r);
            for (int64_t b = run->begin; b < run->end && b < k->bytes[a->cta]; b++)
                if (!touch_flag(k, event, a, b, strong)) return false;
        }
    }
    return true;
}

/* What was read before a fence is acquired by it. */
static bool walk_fence(flag_walk *k, int32_t event) {
    const spad__ptx_event *e = &k->log->events.items[event].event;
    const bool narrow = (e->order & SPAD__PTX_CTA_SCOPE) != 0;
    flag_warp *own = &k->warps[k->out->warp_of[event]];
    for (int32_t p = own->pending; p >= 0; p = k->pending.items[p].older) {
        const flag_writer from = k->pending.items[p];
        if (narrow && e->cta != k->log->warps.items[from.warp].cta) continue;
        if (!add_seen(k, event, &from, false)) return false;
    }
    *own = (flag_warp){.fence = event, .narrow = narrow, .pending = -1};
    return true;
}

static bool walk_flags(flag_walk *k) {
    for (size_t i = 0; i < k->log->events.count; i++) {
        const spad__ptx_event *e = &k->log->events.items[i].event;
        const bool fence = e->kind == SPAD__PTX_FENCE && e->fence == SPAD__PTX_FENCE_THREADS;
        if (fence && !walk_fence(k, (int32_t)i)) return false;
        if (e->kind == SPAD__PTX_ACCESS && !walk_access(k, (int32_t)i)) return false;
    }
    return true;
}

/* Numbers the events that others have seen. */
static void number_sources(flag_walk *k) {
    const spad__ptx_log *log = k->log;
    spad__ptx_flags *f = k->out;
    for (size_t i = 0; i < f->seen.count; i++) {
        const spad__ptx_seen *s = &f->seen.items[i];
        (s->relaxed ? f->relaxed_number : f->number)[s->source] = 1;
    }
    for (size_t w = 0; w < log->warps.count; w++) {
        int32_t number = 0, relaxed = 0;
        for (int32_t i = log->warps.items[w].first; i >= 0; i = log->events.items[i].next) {
            if (f->number[i] != 0) f->number[i] = ++number;
            if (f->relaxed_number[i] != 0) f->relaxed_number[i] = ++relaxed;
        }
    }
}

/* ---- life --------------------------------------------------------------------------------------
 */

static bool has_flags(const spad__ptx_log *log) {
    for (size_t i = 0; i < log->events.count; i++) {
        if ((log->events.items[i].event.order & SPAD__PTX_DECIDES) != 0) return true;
    }
    return false;
}

static bool make_flags(flag_walk *k) {
    const spad__ptx_log *log = k->log;
    spad__ptx_flags *f = k->out;
    const size_t events = log->events.count, warps = log->warps.count;
    f->events = events;
    f->first = spad__new_array(&log->host, events, sizeof *f->first);
    f->number = spad__new_array(&log->host, events, sizeof *f->number);
    f->relaxed_number = spad__new_array(&log->host, events, sizeof *f->relaxed_number);
    f->warp_of = spad__new_array(&log->host, events, sizeof *f->warp_of);
    k->warps = spad__new_array(&log->host, warps, sizeof *k->warps);
    k->known = spad__new_array(&log->host, warps * warps, sizeof *k->known);
    k->known_relaxed = spad__new_array(&log->host, warps * warps, sizeof *k->known_relaxed);
    if (f->first == NULL || f->number == NULL || f->relaxed_number == NULL || f->warp_of == NULL ||
        k->warps == NULL || k->known == NULL || k->known_relaxed == NULL || !make_flag_cells(k))
        return false;
    for (size_t i = 0; i < events; i++) f->first[i] = -1;
    for (size_t i = 0; i < warps * warps; i++) k->known[i] = k->known_relaxed[i] = -1;
    for (size_t w = 0; w < warps; w++) {
        k->warps[w] = (flag_warp){.fence = -1, .pending = -1};
        for (int32_t i = log->warps.items[w].first; i >= 0; i = log->events.items[i].next)
            f->warp_of[i] = (int32_t)w;
    }
    return true;
}

bool spad__ptx_find_flags(spad__ptx_flags *out, const spad__ptx_log *log) {
    *out = (spad__ptx_flags){0};
    if (!has_flags(log)) return true;
    flag_walk k = {.log = log, .out = out};
    const bool ok = make_flags(&k) && walk_flags(&k);
    if (ok) number_sources(&k);
    const size_t warps = log->warps.count;
    spad__free(&log->host, k.warps, warps * sizeof *k.warps);
    spad__free(&log->host, k.known, warps * warps * sizeof *k.known);
    spad__free(&log->host, k.known_relaxed, warps * warps * sizeof *k.known_relaxed);
    for (int cta = 0; cta < SPAD__PTX_CLUSTER; cta++)
        spad__free(&log->host, k.cells[cta], (size_t)k.bytes[cta] * sizeof *k.cells[cta]);
    spad__array_free(&log->host, &k.writers);
    spad__array_free(&log->host, &k.pending);
    return ok;
}

void spad__ptx_flags_free(spad__ptx_flags *flags, const spad_host *host) {
    spad__free(host, flags->first, flags->events * sizeof *flags->first);
    spad__free(host, flags->number, flags->events * sizeof *flags->number);
    spad__free(host, flags->relaxed_number, flags->events * sizeof *flags->relaxed_number);
    spad__free(host, flags->warp_of, flags->events * sizeof *flags->warp_of);
    for (int cta = 0; cta < SPAD__PTX_CLUSTER; cta++)
        spad__free(host, flags->deciding[cta],
                   (size_t)flags->bytes[cta] * sizeof *flags->deciding[cta]);
    spad__array_free(host, &flags->seen);
    *flags = (spad__ptx_flags){0};
}

bool spad__ptx_is_flag(const spad__ptx_flags *flags, int32_t cta, int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end && b < flags->bytes[cta]; b++)
        if (flags->deciding[cta][b]) return true;
    return false;
}
