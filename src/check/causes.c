/* SPDX-License-Identifier: Apache-2.0
 *
 * The model: building it, and runs over it.
 */
#include "check/causes.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

/* ---- building ----------------------------------------------------------------------- */

static bool add_edge(spad__causes *m, int32_t from, int32_t to) {
    if (!spad__array_reserve(&m->host, &m->edges, 1)) return false;
    m->edges.items[m->edges.count++] = (spad__edge){from, to};
    return true;
}

int32_t spad__causes_phase(const spad__causes *m, int32_t object, int64_t phase) {
    const int32_t base = m->phase_base[object];
    if (phase < 1 || phase > m->phase_base[object + 1] - base) return -1;
    return base + (int32_t)(phase - 1);
}

/* Phases of an object follow each other. */
static bool add_phases(spad__causes *m, const spad__machine *machine) {
    const size_t objects = m->net->events->objects.count;
    int32_t point = (int32_t)m->net->points.count;
    for (size_t i = 0; i < objects; i++) {
        m->phase_base[i] = point;
        const spad_sync_kind kind = m->net->events->objects.items[i].kind;
        const bool phased = kind == SPAD_SYNC_BARRIER || kind == SPAD_SYNC_MBARRIER;
        for (int64_t k = 0; phased && k < machine->objects[i].phase; k++, point++) {
            if (k > 0 && !add_edge(m, point - 1, point)) return false;
        }
    }
    m->phase_base[objects] = point;
    m->points = point;
    return true;
}

/* Contributions to phases, and waits for them. */
static bool add_phase_edges(spad__causes *m) {
    for (size_t i = 0; i < m->net->actions.count; i++) {
        const spad__action *a = &m->net->actions.items[i];
        if (m->memory && (a->flags & SPAD_SYNC_RELAXED) != 0) continue;
        bool kept = true;
        int32_t phase;
        switch (a->kind) {
        case SPAD__ACTION_ENTER:
        case SPAD__ACTION_ARRIVE:
        case SPAD__ACTION_EXPECT:
        case SPAD__ACTION_DELIVER:
            phase = spad__causes_phase(m, a->object, a->phase);
            kept = phase < 0 || add_edge(m, a->point, phase);
            break;
        case SPAD__ACTION_LEAVE:
        case SPAD__ACTION_PARITY:
            phase = spad__causes_phase(m, a->object, a->phase);
            kept = phase < 0 || add_edge(m, phase, a->point);
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

static int compare_gain_points(const void *left, const void *right) {
    const spad__gain *a = left;
    const spad__gain *b = right;
    if (a->point != b->point) return a->point < b->point ? -1 : 1;
    return compare_gains(left, right);
}

/* All signals and all waits of counters. */
static bool list_counters(spad__causes *m) {
    for (size_t i = 0; i < m->net->actions.count; i++) {
        const spad__action *a = &m->net->actions.items[i];
        const bool relaxed = m->memory && (a->flags & SPAD_SYNC_RELAXED) != 0;
        if (is_counter_wait(a) && !relaxed) {
            if (!spad__array_reserve(&m->host, &m->needs, 1)) return false;
            m->needs.items[m->needs.count++] = (spad__need){a->phase, a->point, a->object};
        } else if (a->kind == SPAD__ACTION_SIGNAL) {
            if (!spad__array_reserve(&m->host, &m->gains, 1)) return false;
            m->gains.items[m->gains.count++] =
                (spad__gain){a->amount, a->point, relaxed ? -1 - a->object : a->object};
        }
    }
    return true;
}

/* Is every one of these signals on one chain? */
static bool on_one_chain(const spad__causes *m, const spad__gain *gains, size_t count) {
    if (count == 0) return true;
    const spad__point *points = m->net->points.items;
    const int32_t chain = points[gains[0].point].chain;
    for (size_t i = 0; i < count; i++) {
        if (chain < 0 || points[gains[i].point].chain != chain) return false;
    }
    return true;
}

/* Waits for a counter whose signals come one behind another: each waits for the signal that
 * brings the sum it needs. */
static bool order_chained(spad__causes *m, int64_t sum, const spad__gain *gains, size_t gain_count,
                          const spad__need *needs, size_t need_count) {
    size_t used = 0;
    for (size_t i = 0; i < need_count; i++) {
        while (sum < needs[i].amount && used < gain_count) {
            if (!spad__add(sum, gains[used++].amount, &sum)) sum = INT64_MAX;
        }
        if (used > 0 && !add_edge(m, gains[used - 1].point, needs[i].point)) return false;
    }
    return true;
}

/* Counters: edges where they are chains, needs and gains where they are not. A relaxed signal
 * carries no memory: it counts as given from the start. */
static bool add_counters(spad__causes *m) {
    if (!list_counters(m)) return false;
    const size_t objects = m->net->events->objects.count;
    for (size_t i = 0; i < objects; i++) m->initial[i] = m->net->events->objects.items[i].count;
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
        while (gain < m->gains.count && m->gains.items[gain].object == (int32_t)i) gain++;
        while (need < m->needs.count && m->needs.items[need].object == (int32_t)i) need++;
        m->first_need[i] = (int32_t)kept_needs;
        if (on_one_chain(m, &m->gains.items[first_gain], gain - first_gain)) {
            if (!order_chained(m, m->initial[i], &m->gains.items[first_gain], gain - first_gain,
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

/* Successors by point, and gains by point. */
static bool link_points(spad__causes *m) {
    const size_t points = (size_t)m->points;
    m->first = spad__new(&m->host, (points + 1) * sizeof *m->first);
    m->successors = spad__new(&m->host, (m->edges.count + 1) * sizeof *m->successors);
    m->indegree = spad__new(&m->host, (points + 1) * sizeof *m->indegree);
    m->first_gain = spad__new(&m->host, (points + 1) * sizeof *m->first_gain);
    m->missing = spad__new(&m->host, (points + 1) * sizeof *m->missing);
    m->stack = spad__new(&m->host, (points + 1) * sizeof *m->stack);
    m->trail = spad__new(&m->host, (points + 1) * sizeof *m->trail);
    m->seen = spad__new(&m->host, (points + 1) * sizeof *m->seen);
    m->alive = spad__new(&m->host, (points + 1) * sizeof *m->alive);
    if (m->first == NULL || m->successors == NULL || m->indegree == NULL || m->first_gain == NULL ||
        m->missing == NULL || m->stack == NULL || m->trail == NULL || m->seen == NULL ||
        m->alive == NULL) {
        return false;
    }
    for (size_t i = 0; i < m->edges.count; i++) {
        m->first[m->edges.items[i].from + 1]++;
        m->indegree[m->edges.items[i].to]++;
    }
    for (size_t i = 0; i < points; i++) m->first[i + 1] += m->first[i];
    for (size_t i = m->edges.count; i-- > 0;) { /* backwards: `first` moves to the starts */
        const spad__edge edge = m->edges.items[i];
        m->successors[--m->first[edge.from + 1]] = edge.to;
    }
    for (size_t i = 0; i < points; i++) m->first[i] = m->first[i + 1];
    m->first[points] = (int32_t)m->edges.count;

    for (size_t i = 0; i < m->needs.count; i++) m->indegree[m->needs.items[i].point]++;
    if (m->gains.count > 0) {
        qsort(m->gains.items, m->gains.count, sizeof m->gains.items[0], compare_gain_points);
    }
    for (size_t i = 0; i < m->gains.count; i++) m->first_gain[m->gains.items[i].point + 1]++;
    for (size_t i = 0; i < points; i++) m->first_gain[i + 1] += m->first_gain[i];
    return true;
}

static bool build(spad__causes *m, const spad__machine *machine) {
    const size_t objects = m->net->events->objects.count + 1;
    m->phase_base = spad__new(&m->host, objects * sizeof *m->phase_base);
    m->first_need = spad__new(&m->host, objects * sizeof *m->first_need);
    m->initial = spad__new(&m->host, objects * sizeof *m->initial);
    m->values = spad__new(&m->host, objects * sizeof *m->values);
    m->reached = spad__new(&m->host, objects * sizeof *m->reached);
    m->chains = m->net->chains + (int32_t)objects - 1;
    m->clocks = spad__new(&m->host, (size_t)(m->chains + 1) * sizeof *m->clocks);
    if (m->phase_base == NULL || m->first_need == NULL || m->initial == NULL || m->values == NULL ||
        m->reached == NULL || m->clocks == NULL) {
        return false;
    }
    const size_t edges = m->net->edges.count;
    if (!spad__array_reserve(&m->host, &m->edges, edges)) return false;
    if (edges > 0) memcpy(m->edges.items, m->net->edges.items, edges * sizeof m->edges.items[0]);
    m->edges.count = edges;
    return add_phases(m, machine) && add_phase_edges(m) && add_counters(m) && link_points(m);
}

spad_status spad__causes_build(spad__causes *m, const spad__machine *machine, bool memory,
                               spad_error *error) {
    *m = (spad__causes){
        .host = machine->net->host, .net = machine->net, .memory = memory, .frozen = -1};
    return build(m, machine) ? SPAD_OK : spad__fail_host_memory(error);
}

void spad__causes_free(spad__causes *m) {
    const size_t points = (size_t)m->points + 1;
    const size_t objects = m->net->events->objects.count + 1;
    for (int32_t i = 0; m->clocks != NULL && i < m->chains; i++) {
        spad__free(&m->host, m->clocks[i], points * sizeof **m->clocks);
    }
    spad__free(&m->host, m->clocks, (size_t)(m->chains + 1) * sizeof *m->clocks);
    spad__free(&m->host, m->phase_base, objects * sizeof *m->phase_base);
    spad__free(&m->host, m->first_need, objects * sizeof *m->first_need);
    spad__free(&m->host, m->initial, objects * sizeof *m->initial);
    spad__free(&m->host, m->values, objects * sizeof *m->values);
    spad__free(&m->host, m->reached, objects * sizeof *m->reached);
    spad__free(&m->host, m->first, points * sizeof *m->first);
    spad__free(&m->host, m->successors, (m->edges.count + 1) * sizeof *m->successors);
    spad__free(&m->host, m->indegree, points * sizeof *m->indegree);
    spad__free(&m->host, m->first_gain, points * sizeof *m->first_gain);
    spad__free(&m->host, m->missing, points * sizeof *m->missing);
    spad__free(&m->host, m->stack, points * sizeof *m->stack);
    spad__free(&m->host, m->trail, points * sizeof *m->trail);
    spad__free(&m->host, m->seen, points * sizeof *m->seen);
    spad__free(&m->host, m->alive, points * sizeof *m->alive);
    spad__array_free(&m->host, &m->edges);
    spad__array_free(&m->host, &m->needs);
    spad__array_free(&m->host, &m->gains);
}

/* ---- runs --------------------------------------------------------------------------- */

/* The chain and index of a point; an object's phases are the chain behind those of the net. */
static int32_t chain_of(const spad__causes *m, int32_t point, int32_t *index) {
    if (point < (int32_t)m->net->points.count) {
        *index = m->net->points.items[point].index;
        return m->net->points.items[point].chain;
    }
    int32_t low = 0; /* the last object whose base is not behind the point */
    int32_t high = (int32_t)m->net->events->objects.count;
    while (high - low > 1) {
        const int32_t middle = low + (high - low) / 2;
        if (m->phase_base[middle] <= point) {
            low = middle;
        } else {
            high = middle;
        }
    }
    *index = point - m->phase_base[low] + 1;
    return m->net->chains + low;
}

static int32_t push(spad__causes *m, int32_t top, int32_t point) {
    if (--m->missing[point] == 0) m->stack[top++] = point;
    return top;
}

static int32_t start_run(spad__causes *m) {
    const size_t points = (size_t)m->points;
    const size_t objects = m->net->events->objects.count;
    memcpy(m->missing, m->indegree, points * sizeof *m->missing);
    int32_t top = 0;
    for (size_t i = 0; i < points; i++) {
        if (m->missing[i] == 0) m->stack[top++] = (int32_t)i;
    }
    for (size_t i = 0; i < objects; i++) {
        m->values[i] = m->initial[i];
        m->reached[i] = m->first_need[i];
        while (m->reached[i] < m->first_need[i + 1] &&
               m->needs.items[m->reached[i]].amount <= m->values[i]) {
            top = push(m, top, m->needs.items[m->reached[i]++].point);
        }
    }
    return top;
}

/* A point has happened: what it sets free. */
static int32_t release(spad__causes *m, int32_t top, int32_t point) {
    for (int32_t i = m->first[point]; i < m->first[point + 1]; i++) {
        top = push(m, top, m->successors[i]);
    }
    for (int32_t i = m->first_gain[point]; i < m->first_gain[point + 1]; i++) {
        const spad__gain *gain = &m->gains.items[i];
        int64_t *value = &m->values[gain->object];
        int32_t *reached = &m->reached[gain->object];
        if (!spad__add(*value, gain->amount, value)) *value = INT64_MAX;
        while (*reached < m->first_need[gain->object + 1] &&
               m->needs.items[*reached].amount <= *value) {
            top = push(m, top, m->needs.items[(*reached)++].point);
        }
    }
    return top;
}

/* The clocks of a chain; see model.h. */
static spad_status run_chain(spad__causes *m, int32_t chain, spad_error *error) {
    int32_t *clock = spad__new(&m->host, ((size_t)m->points + 1) * sizeof *clock);
    if (clock == NULL) return spad__fail_host_memory(error);
    m->clocks[chain] = clock;
    int32_t now = 0;
    int32_t held = -1;
    int32_t index;
    for (int32_t top = start_run(m); top > 0 || held >= 0;) {
        int32_t point;
        if (top > 0) {
            point = m->stack[--top];
            if (chain_of(m, point, &index) == chain) {
                held = point;
                continue;
            }
        } else {
            point = held;
            held = -1;
            now++;
        }
        clock[point] = now;
        top = release(m, top, point);
    }
    return SPAD_OK;
}

spad_status spad__causes_clock(spad__causes *m, int32_t chain, const int32_t **clock,
                               spad_error *error) {
    const spad_status status = m->clocks[chain] == NULL ? run_chain(m, chain, error) : SPAD_OK;
    *clock = m->clocks[chain];
    return status;
}

static void run_without(spad__causes *m, int32_t frozen) {
    memset(m->alive, 0, (size_t)m->points * sizeof *m->alive);
    for (int32_t top = start_run(m); top > 0;) {
        const int32_t point = m->stack[--top];
        if (point == frozen) continue;
        m->alive[point] = true;
        top = release(m, top, point);
    }
    m->frozen = frozen;
}

/* One point on the way: decided by its chain, or to be searched further. */
static spad_status look(spad__causes *m, int32_t e, int32_t f, bool *chained, bool *before,
                        spad_error *error) {
    int32_t index = 0;
    const int32_t chain = chain_of(m, e, &index);
    *chained = chain >= 0;
    *before = e == f;
    if (*before || chain < 0) return SPAD_OK;
    if (m->clocks[chain] == NULL) {
        const spad_status status = run_chain(m, chain, error);
        if (status != SPAD_OK) return status;
    }
    *before = m->clocks[chain][f] >= index;
    return SPAD_OK;
}

/* Whatever comes before f and behind e proves it. Without needs the search finds all there
 * is; with them a run that holds e back has the last word. */
spad_status spad__causes_before(spad__causes *m, int32_t e, int32_t f, bool *before,
                                spad_error *error) {
    bool chained = false;
    spad_status status = look(m, e, f, &chained, before, error);
    if (status != SPAD_OK || *before || chained) return status;
    if (m->search == INT32_MAX) {
        memset(m->seen, 0, (size_t)m->points * sizeof *m->seen);
        m->search = 0;
    }
    m->search++;
    int32_t top = 0;
    m->trail[top++] = e;
    m->seen[e] = m->search;
    while (top > 0) {
        const int32_t point = m->trail[--top];
        for (int32_t i = m->first[point]; i < m->first[point + 1]; i++) {
            const int32_t to = m->successors[i];
            if (m->seen[to] == m->search) continue;
            m->seen[to] = m->search;
            status = look(m, to, f, &chained, before, error);
            if (status != SPAD_OK || *before) return status;
            if (!chained) m->trail[top++] = to;
        }
    }
    if (m->needs.count == 0) return SPAD_OK;
    if (m->frozen != e) run_without(m, e);
    *before = !m->alive[f];
    return SPAD_OK;
}
