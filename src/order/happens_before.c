/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds happens-before. Edges for phases, and for counters where that is exact: signals
 * of one chain, and waits that need every signal there can be before them. What is left
 * are waits with a choice.
 */
#include "order/happens_before.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "order/non_elected.h"

/* ---- building ---------------------------------------------------------------------- */

/* Phases of an object follow each other. */
static bool add_phases(spad__happens_before *m, const spad__executor *executor) {
    const size_t objects = m->graph->events->objects.count;
    int32_t point = (int32_t)m->graph->points.count;
    for (size_t i = 0; i < objects; i++) {
        m->phase_base[i] = point;
        const spad_sync_kind kind = m->graph->events->objects.items[i].kind;
        const bool phased = kind == SPAD_SYNC_BARRIER || kind == SPAD_SYNC_MBARRIER;
        for (int64_t k = 0; phased && k < executor->objects[i].sync.phase; k++, point++) {
            if (k > 0 && !spad__happens_before_add_edge(m, point - 1, point)) return false;
        }
    }
    m->phase_base[objects] = point;
    m->points = point;
    return true;
}

/* Contributions to phases, and waits for them. */
static bool add_phase_edges(spad__happens_before *m) {
    for (size_t i = 0; i < m->graph->actions.count; i++) {
        const spad__action *a = &m->graph->actions.items[i];
        if (m->memory && (a->flags & SPAD_SYNC_RELAXED) != 0) continue;
        bool kept = true;
        int32_t phase;
        switch (a->kind) {
        case SPAD__ACTION_ENTER:
        case SPAD__ACTION_ARRIVE:
        case SPAD__ACTION_EXPECT:
        case SPAD__ACTION_DELIVER:
            phase = spad__happens_before_phase(m, a->object, a->phase);
            kept = phase < 0 || spad__happens_before_add_edge(m, a->point, phase);
            break;
        case SPAD__ACTION_LEAVE:
        case SPAD__ACTION_PARITY:
            phase = spad__happens_before_phase(m, a->object, a->phase);
            kept = phase < 0 || spad__happens_before_add_edge(m, phase, a->point);
            break;
        default: break;
        }
        if (!kept) return false;
    }
    return true;
}

static bool is_counter_wait(const spad__action *a) {
    return a->kind == SPAD__ACTION_WAIT || a->kind == SPAD__ACTION_TAKE;
}

static int compare_needs(const void *left, const void *right) {
    const spad__need *a = left;
    const spad__need *b = right;
    if (a->object != b->object) return a->object < b->object ? -1 : 1;
    if (a->amount != b->amount) return a->amount < b->amount ? -1 : 1;
    return (a->point > b->point) - (a->point < b->point);
}

/* By object, then by point, which is the order of a chain. */
static int compare_gains(const void *left, const void *right) {
    const spad__gain *a = left;
    const spad__gain *b = right;
    if (a->object != b->object) return a->object < b->object ? -1 : 1;
    if (a->point != b->point) return a->point < b->point ? -1 : 1;
    return (a->amount > b->amount) - (a->amount < b->amount);
}

/* All signals and all waits of counters. */
static bool list_counters(spad__happens_before *m) {
    for (size_t i = 0; i < m->graph->actions.count; i++) {
        const spad__action *a = &m->graph->actions.items[i];
        const bool relaxed = m->memory && (a->flags & SPAD_SYNC_RELAXED) != 0;
        if (is_counter_wait(a) && !relaxed) {
            if (!spad__array_reserve(&m->host, &m->needs, 1)) return false;
            m->needs.items[m->needs.count++] = (spad__need){a->phase, 0, a->point, a->object};
        } else if (a->kind == SPAD__ACTION_SIGNAL) {
            if (!spad__array_reserve(&m->host, &m->gains, 1)) return false;
            m->gains.items[m->gains.count++] =
                (spad__gain){a->amount, a->point, relaxed ? -1 - a->object : a->object};
        }
    }
    return true;
}

/* The rows of one object in the sorted gains and needs. */
typedef struct counter_rows {
    size_t first_gain;
    size_t end_gain;
    size_t first_need;
    size_t end_need;
} counter_rows;

/* Is every signal of an object on one chain? */
static bool on_one_chain(const spad__happens_before *m, const counter_rows *rows) {
    const spad__point *points = m->graph->points.items;
    for (size_t i = rows->first_gain; i < rows->end_gain; i++) {
        const int32_t chain = points[m->gains.items[i].point].chain;
        if (chain < 0 || chain != points[m->gains.items[rows->first_gain].point].chain)
            return false;
    }
    return true;
}

/* Edges for a counter whose signals come one after another, in the order of their chain: a wait
 * passes exactly when the signal has come that brings the sum it needs. Waits are sorted by amount,
 * so each goes on from the signal of the one before. */
static bool order_chained(spad__happens_before *m, const counter_rows *rows, int64_t sum) {
    size_t used = rows->first_gain;
    for (size_t i = rows->first_need; i < rows->end_need; i++) {
        const spad__need *need = &m->needs.items[i];
        while (sum < need->amount && used < rows->end_gain) {
            if (!spad__add(sum, m->gains.items[used++].amount, &sum)) sum = INT64_MAX;
        }
        if (used > rows->first_gain &&
            !spad__happens_before_add_edge(m, m->gains.items[used - 1].point, need->point))
            return false;
    }
    return true;
}

/* A relaxed signal carries no memory, so memory has nothing to wait for: its amount counts as there
 * from the start. list_counters marks these by a negative object. */
static void take_out_relaxed(spad__happens_before *m) {
    size_t kept = 0;
    for (size_t i = 0; i < m->gains.count; i++) {
        const spad__gain *gain = &m->gains.items[i];
        if (gain->object >= 0) {
            m->gains.items[kept++] = *gain;
            continue;
        }
        int64_t *initial = &m->initial[-1 - gain->object];
        if (!spad__add(*initial, gain->amount, initial)) *initial = INT64_MAX;
    }
    m->gains.count = kept;
}

static void sort_counters(spad__happens_before *m) {
    if (m->gains.count > 0) {
        qsort(m->gains.items, m->gains.count, sizeof m->gains.items[0], compare_gains);
    }
    if (m->needs.count > 0) {
        qsort(m->needs.items, m->needs.count, sizeof m->needs.items[0], compare_needs);
    }
}

static void keep_rows(spad__happens_before *m, const counter_rows *rows, size_t *kept_gains,
                      size_t *kept_needs) {
    for (size_t g = rows->first_gain; g < rows->end_gain; g++)
        m->gains.items[(*kept_gains)++] = m->gains.items[g];
    for (size_t n = rows->first_need; n < rows->end_need; n++)
        m->needs.items[(*kept_needs)++] = m->needs.items[n];
}

/* Counters become edges where their signals are on one chain. The needs and gains of the others
 * move to the front of the lists, which stay sorted by object. */
static bool add_counters(spad__happens_before *m) {
    if (!list_counters(m)) return false;
    const size_t objects = m->graph->events->objects.count;
    for (size_t i = 0; i < objects; i++) m->initial[i] = m->graph->events->objects.items[i].count;
    take_out_relaxed(m);
    sort_counters(m);
    const spad__gain *gains = m->gains.items;
    const spad__need *needs = m->needs.items;
    counter_rows rows = {0};
    size_t kept_gains = 0;
    size_t kept_needs = 0;
    for (size_t i = 0; i < objects; i++) {
        rows.first_gain = rows.end_gain;
        rows.first_need = rows.end_need;
        spad__assert(kept_gains <= rows.first_gain && kept_needs <= rows.first_need);
        while (rows.end_gain < m->gains.count && gains[rows.end_gain].object == (int32_t)i)
            rows.end_gain++;
        while (rows.end_need < m->needs.count && needs[rows.end_need].object == (int32_t)i)
            rows.end_need++;
        m->first_need[i] = (int32_t)kept_needs;
        if (rows.end_need == rows.first_need) continue; /* nothing waits */
        if (!on_one_chain(m, &rows)) {
            keep_rows(m, &rows, &kept_gains, &kept_needs);
        } else if (!order_chained(m, &rows, m->initial[i])) {
            return false;
        }
    }
    spad__assert(rows.end_gain == m->gains.count && rows.end_need == m->needs.count);
    m->first_need[objects] = (int32_t)kept_needs;
    m->gains.count = kept_gains;
    m->needs.count = kept_needs;
    return true;
}

/* ---- waits without a choice -------------------------------------------------------- */

/* A wait that needs all there can be: in front of it, on its chain, stand older ones. */
typedef struct tight {
    int32_t chain;
    int32_t object;
    int32_t index;
    int32_t need;
} tight;

static int compare_tight(const void *left, const void *right) {
    const tight *a = left;
    const tight *b = right;
    if (a->chain != b->chain) return a->chain < b->chain ? -1 : 1;
    if (a->object != b->object) return a->object < b->object ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

/* A signal and when it happens in the run of a chain. */
typedef struct timed {
    int32_t object;
    int32_t clock;
    int32_t point;
} timed;

static int compare_timed(const void *left, const void *right) {
    const timed *a = left;
    const timed *b = right;
    if (a->object != b->object) return a->object < b->object ? -1 : 1;
    if (a->clock != b->clock) return a->clock < b->clock ? -1 : 1;
    return (a->point > b->point) - (a->point < b->point);
}

typedef struct tightener {
    spad__happens_before *hb;
    tight *waits;
    timed *signals;
    bool *settled; /* per need */
    SPAD_ARRAY(spad__edge) edges;
    int32_t levels;
} tightener;

static bool add_tight_edge(tightener *t, int32_t from, int32_t to) {
    if (!spad__array_reserve(&t->hb->host, &t->edges, 1)) return false;
    t->edges.items[t->edges.count++] = (spad__edge){from, to};
    return true;
}

/* A sum at its limit may be a larger one, of which some signals can be left out. */
static bool needs_all_before(const spad__need *need) {
    return need->most == need->amount && need->most != INT64_MAX;
}

/* The signals of the gains by object and by when they happen in the run of a chain. */
static void time_signals(tightener *t, const int32_t *clock) {
    const spad__happens_before *m = t->hb;
    for (size_t i = 0; i < m->gains.count; i++) {
        const spad__gain *gain = &m->gains.items[i];
        t->signals[i] = (timed){gain->object, clock[gain->point], gain->point};
    }
    qsort(t->signals, m->gains.count, sizeof *t->signals, compare_timed);
}

/* Edges to a level from the signals that come before a wait and not before the one in front. */
static bool add_new_signals(tightener *t, const tight *wait, int32_t level, size_t *at) {
    for (; *at < t->hb->gains.count; (*at)++) {
        const timed *signal = &t->signals[*at];
        if (signal->object != wait->object || signal->clock >= wait->index) break;
        if (!add_tight_edge(t, signal->point, level)) return false;
    }
    return true;
}

/* The waits of one chain. Those for one object see more and more signals; a level is a point
 * after all that are new to a wait, and after the level before. So each signal has one edge,
 * however many waits come after it. */
static bool settle_chain(tightener *t, size_t first, size_t last) {
    const spad__happens_before *m = t->hb;
    spad__assert(first < last && t->waits[first].chain >= 0);
    spad__assert(m->clocks[t->waits[first].chain] != NULL); /* the chain was run */
    time_signals(t, m->clocks[t->waits[first].chain]);
    size_t at = 0;
    int32_t level = -1;
    for (size_t i = first; i < last; i++) {
        const tight *wait = &t->waits[i];
        const spad__need *need = &m->needs.items[wait->need];
        spad__assert(i == first || compare_tight(&t->waits[i - 1], wait) <= 0);
        if (i == first || wait->object != t->waits[i - 1].object) level = -1;
        while (at < m->gains.count && t->signals[at].object < wait->object) at++;
        if (!needs_all_before(need)) continue;
        const int32_t next = m->points + t->levels++;
        if (level >= 0 && !add_tight_edge(t, level, next)) return false;
        if (!add_new_signals(t, wait, next, &at)) return false;
        if (!add_tight_edge(t, next, need->point)) return false;
        t->settled[wait->need] = true;
        level = next;
    }
    return true;
}

static spad_status settle(tightener *t, spad_error *error) {
    spad__happens_before *m = t->hb;
    const size_t count = m->needs.count;
    for (size_t i = 0; i < count; i++) {
        const spad__need *need = &m->needs.items[i];
        t->waits[i] =
            (tight){m->chain[need->point], need->object, m->index[need->point], (int32_t)i};
    }
    qsort(t->waits, count, sizeof *t->waits, compare_tight);
    for (size_t first = 0; first < count;) {
        size_t last = first + 1;
        while (last < count && t->waits[last].chain == t->waits[first].chain) last++;
        const spad_status status = spad__happens_before_run(m, t->waits[first].chain, error);
        if (status != SPAD_OK) return status;
        if (!settle_chain(t, first, last)) return spad__fail_host_memory(error);
        first = last;
    }
    return SPAD_OK;
}

/* Needs that are edges now go, and signals that are not needed any more. */
static bool replace_settled(tightener *t) {
    spad__happens_before *m = t->hb;
    const int32_t objects = (int32_t)m->graph->events->objects.count;
    if (!spad__array_reserve(&m->host, &m->edges, t->edges.count)) return false;
    for (size_t i = 0; i < t->edges.count; i++) {
        m->edges.items[m->edges.count++] = t->edges.items[i];
    }
    m->points += t->levels;
    int32_t kept = 0;
    for (int32_t object = 0, i = 0; object < objects; object++) {
        const int32_t end = m->first_need[object + 1];
        m->first_need[object] = kept;
        for (; i < end; i++) {
            if (!t->settled[i]) m->needs.items[kept++] = m->needs.items[i];
        }
    }
    spad__assert((size_t)kept <= m->needs.count);
    m->first_need[objects] = kept;
    m->needs.count = (size_t)kept;
    size_t gains = 0;
    for (size_t i = 0; i < m->gains.count; i++) {
        const int32_t object = m->gains.items[i].object;
        const bool needed = m->first_need[object] < m->first_need[object + 1];
        if (needed) m->gains.items[gains++] = m->gains.items[i];
    }
    m->gains.count = gains;
    return true;
}

/* Makes edges of all waits that need every signal that can come before them. */
static spad_status tighten(spad__happens_before *m, spad_error *error) {
    const size_t needs = m->needs.count + 1;
    const size_t gains = m->gains.count + 1;
    tightener t = {.hb = m};
    t.waits = spad__new_array(&m->host, needs, sizeof *t.waits);
    t.signals = spad__new_array(&m->host, gains, sizeof *t.signals);
    t.settled = spad__new_array(&m->host, needs, sizeof *t.settled);
    spad_status status = SPAD_OK;
    if (t.waits == NULL || t.signals == NULL || t.settled == NULL) {
        status = spad__fail_host_memory(error);
    }
    if (status == SPAD_OK) status = settle(&t, error);
    if (status == SPAD_OK) {
        spad__happens_before_unlink(m);
        status = replace_settled(&t) && spad__happens_before_link(m)
                     ? SPAD_OK
                     : spad__fail_host_memory(error);
    }
    spad__free(&m->host, t.waits, needs * sizeof *t.waits);
    spad__free(&m->host, t.signals, gains * sizeof *t.signals);
    spad__free(&m->host, t.settled, needs * sizeof *t.settled);
    spad__array_free(&m->host, &t.edges);
    return status;
}

/* ---- create and free -------------------------------------------------------------- */

/* Tables per object and per chain. */
static bool take_objects(spad__happens_before *m, const spad__event_graph *non_elected) {
    const size_t objects = m->graph->events->objects.count + 1;
    m->phase_base = spad__new_array(&m->host, objects, sizeof *m->phase_base);
    m->first_need = spad__new_array(&m->host, objects, sizeof *m->first_need);
    m->initial = spad__new_array(&m->host, objects, sizeof *m->initial);
    m->values = spad__new_array(&m->host, objects, sizeof *m->values);
    m->reached = spad__new_array(&m->host, objects, sizeof *m->reached);
    m->chains =
        m->graph->chains + (int32_t)objects - 1 + (non_elected != NULL ? non_elected->chains : 0);
    m->clocks = spad__new_array(&m->host, (size_t)(m->chains + 1), sizeof *m->clocks);
    m->spent = spad__new_array(&m->host, (size_t)(m->chains + 1), sizeof *m->spent);
    return m->phase_base != NULL && m->first_need != NULL && m->initial != NULL &&
           m->values != NULL && m->reached != NULL && m->clocks != NULL && m->spent != NULL;
}

static bool build(spad__happens_before *m, const spad__executor *executor,
                  const spad__event_graph *non_elected) {
    if (!take_objects(m, non_elected)) return false;
    const size_t edges = m->graph->edges.count;
    if (!spad__array_reserve(&m->host, &m->edges, edges)) return false;
    if (edges > 0) memcpy(m->edges.items, m->graph->edges.items, edges * sizeof m->edges.items[0]);
    m->edges.count = edges;
    return add_phases(m, executor) && add_phase_edges(m) && add_counters(m) &&
           (non_elected == NULL || spad__non_elected_add(m, non_elected)) &&
           spad__happens_before_link(m);
}

spad_status spad__happens_before_build(spad__happens_before *m, const spad__executor *executor,
                                       const spad__event_graph *non_elected, bool memory,
                                       spad_error *error) {
    *m = (spad__happens_before){
        .host = executor->graph->host, .graph = executor->graph, .memory = memory, .frozen = -1};
    if (!build(m, executor, non_elected)) return spad__fail_host_memory(error);
    return m->needs.count > 0 || m->gains.count > 0 ? tighten(m, error) : SPAD_OK;
}

void spad__happens_before_free(spad__happens_before *m) {
    const size_t objects = m->graph->events->objects.count + 1;
    spad__happens_before_unlink(m);
    spad__free(&m->host, m->clocks, (size_t)(m->chains + 1) * sizeof *m->clocks);
    spad__free(&m->host, m->spent, (size_t)(m->chains + 1) * sizeof *m->spent);
    spad__free(&m->host, m->phase_base, objects * sizeof *m->phase_base);
    spad__free(&m->host, m->first_need, objects * sizeof *m->first_need);
    spad__free(&m->host, m->initial, objects * sizeof *m->initial);
    spad__free(&m->host, m->values, objects * sizeof *m->values);
    spad__free(&m->host, m->reached, objects * sizeof *m->reached);
    spad__array_free(&m->host, &m->edges);
    spad__array_free(&m->host, &m->needs);
    spad__array_free(&m->host, &m->gains);
}
