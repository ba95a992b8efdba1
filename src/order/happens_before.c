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

/* By object, then in the order of the points, which is that of a chain. */
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

/* Is every one of these signals on one chain? */
static bool on_one_chain(const spad__happens_before *m, const spad__gain *gains, size_t count) {
    if (count == 0) return true;
    const spad__point *points = m->graph->points.items;
    const int32_t chain = points[gains[0].point].chain;
    for (size_t i = 0; i < count; i++) {
        if (chain < 0 || points[gains[i].point].chain != chain) return false;
    }
    return true;
}

/* Waits for a counter whose signals come one after another: each waits for the signal that
 * brings the sum it needs. */
static bool order_chained(spad__happens_before *m, int64_t sum, const spad__gain *gains,
                          size_t gain_count, const spad__need *needs, size_t need_count) {
    size_t used = 0;
    for (size_t i = 0; i < need_count; i++) {
        while (sum < needs[i].amount && used < gain_count) {
            if (!spad__add(sum, gains[used++].amount, &sum)) sum = INT64_MAX;
        }
        if (used > 0 && !spad__happens_before_add_edge(m, gains[used - 1].point, needs[i].point))
            return false;
    }
    return true;
}

/* Counters: edges where they are chains, needs and gains where they are not. A relaxed signal
 * carries no memory: it counts as given from the start. */
static bool add_counters(spad__happens_before *m) {
    if (!list_counters(m)) return false;
    const size_t objects = m->graph->events->objects.count;
    for (size_t i = 0; i < objects; i++) m->initial[i] = m->graph->events->objects.items[i].count;
    for (size_t i = 0; i < m->gains.count; i++) {
        spad__gain *gain = &m->gains.items[i];
        if (gain->object >= 0) continue;
        gain->object = -1 - gain->object;
        if (!spad__add(m->initial[gain->object], gain->amount, &m->initial[gain->object])) {
            m->initial[gain->object] = INT64_MAX;
        }
        *gain = m->gains.items[--m->gains.count];
        i--;
    }
    if (m->gains.count > 0) {
        qsort(m->gains.items, m->gains.count, sizeof m->gains.items[0], compare_gains);
    }
    if (m->needs.count > 0) {
        qsort(m->needs.items, m->needs.count, sizeof m->needs.items[0], compare_needs);
    }
    size_t gain = 0;
    size_t need = 0;
    size_t kept_gains = 0;
    size_t kept_needs = 0;
    for (size_t i = 0; i < objects; i++) {
        const size_t first_gain = gain;
        const size_t first_need = need;
        spad__assert(kept_gains <= first_gain && kept_needs <= first_need); /* moved to the front */
        while (gain < m->gains.count && m->gains.items[gain].object == (int32_t)i) gain++;
        while (need < m->needs.count && m->needs.items[need].object == (int32_t)i) need++;
        spad__assert(need == m->needs.count || m->needs.items[need].object > (int32_t)i);
        spad__assert(gain == m->gains.count || m->gains.items[gain].object > (int32_t)i);
        m->first_need[i] = (int32_t)kept_needs;
        if (need == first_need) continue; /* nothing waits */
        const spad__gain *gains = gain > first_gain ? &m->gains.items[first_gain] : NULL;
        if (on_one_chain(m, gains, gain - first_gain)) {
            if (!order_chained(m, m->initial[i], gains, gain - first_gain,
                               &m->needs.items[first_need], need - first_need)) {
                return false;
            }
            continue;
        }
        for (size_t g = first_gain; g < gain; g++) m->gains.items[kept_gains++] = m->gains.items[g];
        for (size_t n = first_need; n < need; n++) m->needs.items[kept_needs++] = m->needs.items[n];
    }
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

/* The waits of one chain. Those for one object see more and more signals; a level is a point
 * after all that are new to a wait, and after the level before. */
static bool settle_chain(tightener *t, size_t first, size_t last) {
    const spad__happens_before *m = t->hb;
    spad__assert(first < last && t->waits[first].chain >= 0);
    const int32_t *clock = m->clocks[t->waits[first].chain];
    spad__assert(clock != NULL); /* the chain was run */
    for (size_t i = 0; i < m->gains.count; i++) {
        const spad__gain *gain = &m->gains.items[i];
        t->signals[i] = (timed){gain->object, clock[gain->point], gain->point};
    }
    qsort(t->signals, m->gains.count, sizeof *t->signals, compare_timed);
    size_t at = 0;
    int32_t level = -1;
    for (size_t i = first; i < last; i++) {
        const tight *wait = &t->waits[i];
        const spad__need *need = &m->needs.items[wait->need];
        spad__assert(i == first || compare_tight(&t->waits[i - 1], wait) <= 0);
        if (i == first || wait->object != t->waits[i - 1].object) level = -1;
        while (at < m->gains.count && t->signals[at].object < wait->object) at++;
        /* a sum at its limit may be a larger one, of which some signals can be left out */
        if (need->most != need->amount || need->most == INT64_MAX) continue;
        const int32_t next = m->points + t->levels++;
        if (level >= 0 && !add_tight_edge(t, level, next)) return false;
        for (; at < m->gains.count && t->signals[at].object == wait->object &&
               t->signals[at].clock < wait->index;
             at++) {
            if (!add_tight_edge(t, t->signals[at].point, next)) return false;
        }
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

static bool build(spad__happens_before *m, const spad__executor *executor,
                  const spad__event_graph *non_elected) {
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
    if (m->phase_base == NULL || m->first_need == NULL || m->initial == NULL || m->values == NULL ||
        m->reached == NULL || m->clocks == NULL || m->spent == NULL) {
        return false;
    }
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
