/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers queries of happens-before: its tables, and the runs that fill in clocks.
 */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "order/happens_before.h"

/* ---- edges and phases -------------------------------------------------------------- */

bool spad__happens_before_add_edge(spad__happens_before *m, int32_t from, int32_t to) {
    spad__assert(from >= 0 && to >= 0 && from != to);
    if (!spad__array_reserve(&m->host, &m->edges, 1)) return false;
    m->edges.items[m->edges.count++] = (spad__edge){from, to};
    return true;
}

int32_t spad__happens_before_phase(const spad__happens_before *m, int32_t object, int64_t phase) {
    spad__assert(object >= 0 && (size_t)object < m->graph->events->objects.count);
    const int32_t base = m->phase_base[object];
    if (phase < 1 || phase > m->phase_base[object + 1] - base) return -1;
    return base + (int32_t)(phase - 1);
}

/* ---- tables ------------------------------------------------------------------------ */

static int compare_gains_by_point(const void *left, const void *right) {
    const spad__gain *a = left;
    const spad__gain *b = right;
    if (a->point != b->point) return a->point < b->point ? -1 : 1;
    if (a->object != b->object) return a->object < b->object ? -1 : 1;
    return (a->amount > b->amount) - (a->amount < b->amount);
}

static int32_t *take_numbers(spad__happens_before *m, size_t count, bool *failed) {
    int32_t *numbers = spad__new_array(&m->host, count, sizeof *numbers);
    *failed = *failed || numbers == NULL;
    return numbers;
}

static bool take_tables(spad__happens_before *m) {
    const size_t count = (size_t)m->points + 1;
    bool failed = false;
    m->first = take_numbers(m, count, &failed);
    m->successors = take_numbers(m, m->edges.count + 1, &failed);
    m->indegree = take_numbers(m, count, &failed);
    m->chain = take_numbers(m, count, &failed);
    m->index = take_numbers(m, count, &failed);
    m->need_at = take_numbers(m, count, &failed);
    m->first_gain = take_numbers(m, count, &failed);
    m->missing = take_numbers(m, count, &failed);
    m->stack = take_numbers(m, count, &failed);
    m->trail = take_numbers(m, count, &failed);
    m->seen = take_numbers(m, count, &failed);
    m->reachable = spad__new_array(&m->host, count, sizeof *m->reachable);
    m->linked_points = count;
    m->linked_edges = m->edges.count + 1;
    return !failed && m->reachable != NULL;
}

static void free_numbers(spad__happens_before *m, int32_t **numbers, size_t count) {
    spad__free(&m->host, *numbers, count * sizeof **numbers);
    *numbers = NULL;
}

void spad__happens_before_unlink(spad__happens_before *m) {
    const size_t count = m->linked_points;
    for (int32_t i = 0; m->clocks != NULL && i < m->chains; i++) {
        free_numbers(m, &m->clocks[i], count);
    }
    free_numbers(m, &m->first, count);
    free_numbers(m, &m->successors, m->linked_edges);
    free_numbers(m, &m->indegree, count);
    free_numbers(m, &m->chain, count);
    free_numbers(m, &m->index, count);
    free_numbers(m, &m->need_at, count);
    free_numbers(m, &m->first_gain, count);
    free_numbers(m, &m->missing, count);
    free_numbers(m, &m->stack, count);
    free_numbers(m, &m->trail, count);
    free_numbers(m, &m->seen, count);
    spad__free(&m->host, m->reachable, count * sizeof *m->reachable);
    m->reachable = NULL;
    m->clock_count = 0;
    m->search = 0;
    m->frozen = -1;
}

/* Numbers the chains: of the graph, one per object for its phases, of the non-elected threads.
 * Levels are on no chain. */
static void link_chains(spad__happens_before *m) {
    const int32_t graph_points = (int32_t)m->graph->points.count;
    for (int32_t i = 0; i < m->points; i++) {
        m->chain[i] = i < graph_points ? m->graph->points.items[i].chain : -1;
        m->index[i] = i < graph_points ? m->graph->points.items[i].index : 0;
        m->need_at[i] = -1;
    }
    for (int32_t object = 0; object < (int32_t)m->graph->events->objects.count; object++) {
        for (int32_t i = m->phase_base[object]; i < m->phase_base[object + 1]; i++) {
            m->chain[i] = m->graph->chains + object;
            m->index[i] = i - m->phase_base[object] + 1;
        }
    }
    const int32_t chains = m->graph->chains + (int32_t)m->graph->events->objects.count;
    for (size_t i = 0; m->non_elected != NULL && i < m->non_elected->points.count; i++) {
        const spad__point *p = &m->non_elected->points.items[i];
        m->chain[(size_t)m->non_elected_base + i] = p->chain >= 0 ? chains + p->chain : -1;
        m->index[(size_t)m->non_elected_base + i] = p->index;
    }
}

bool spad__happens_before_link(spad__happens_before *m) {
    const size_t points = (size_t)m->points;
    if (!take_tables(m)) return false;
    spad__edges_link(m->edges.items, m->edges.count, points, m->first, m->successors, m->indegree);
    link_chains(m);
    for (size_t i = 0; i < m->needs.count; i++) {
        m->indegree[m->needs.items[i].point]++;
        m->need_at[m->needs.items[i].point] = (int32_t)i;
    }
    if (m->gains.count > 0) {
        qsort(m->gains.items, m->gains.count, sizeof m->gains.items[0], compare_gains_by_point);
    }
    for (size_t i = 0; i < m->gains.count; i++) m->first_gain[m->gains.items[i].point + 1]++;
    for (size_t i = 0; i < points; i++) m->first_gain[i + 1] += m->first_gain[i];
    return true;
}

/* ---- runs -------------------------------------------------------------------------- */

static int32_t push(spad__happens_before *m, int32_t top, int32_t point) {
    if (--m->missing[point] == 0) m->stack[top++] = point;
    return top;
}

static int32_t start_run(spad__happens_before *m) {
    const size_t points = (size_t)m->points;
    const size_t objects = m->graph->events->objects.count;
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
static int32_t release(spad__happens_before *m, int32_t top, int32_t point) {
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

/* Numbers that all clocks together may have; more are forgotten, and run again when needed. */
#define CLOCKS_MAX ((size_t)1 << 27)

static void forget_clocks(spad__happens_before *m) {
    for (int32_t i = 0; i < m->chains; i++) free_numbers(m, &m->clocks[i], m->linked_points);
    m->clock_count = 0;
}

/* The clocks of a chain; see happens_before.h. A wait that is held back shows the most that its
 * object can have before it. */
spad_status spad__happens_before_run(spad__happens_before *m, int32_t chain, spad_error *error) {
    if (m->clocks[chain] != NULL) return SPAD_OK;
    if (m->clock_count >= CLOCKS_MAX / m->linked_points) forget_clocks(m);
    int32_t *clock = spad__new_array(&m->host, (size_t)m->points + 1, sizeof *clock);
    if (clock == NULL) return spad__fail_host_memory(error);
    m->clocks[chain] = clock;
    m->clock_count++;
    int32_t now = 0;
    int32_t held = -1;
    for (int32_t top = start_run(m); top > 0 || held >= 0;) {
        int32_t point;
        if (top > 0) {
            point = m->stack[--top];
            if (m->chain[point] == chain) {
                held = point;
                continue;
            }
        } else {
            point = held;
            held = -1;
            now++;
            if (m->need_at[point] >= 0) {
                spad__need *need = &m->needs.items[m->need_at[point]];
                need->most = m->values[need->object];
            }
        }
        clock[point] = now;
        top = release(m, top, point);
    }
    return SPAD_OK;
}

static void run_without(spad__happens_before *m, int32_t frozen) {
    memset(m->reachable, 0, (size_t)m->points * sizeof *m->reachable);
    for (int32_t top = start_run(m); top > 0;) {
        const int32_t point = m->stack[--top];
        if (point == frozen) continue;
        m->reachable[point] = true;
        top = release(m, top, point);
    }
    m->frozen = frozen;
}

/* One point on the way: decided by its chain, or to be searched further. */
static spad_status decide_by_chain(spad__happens_before *m, int32_t e, int32_t f, bool *chained,
                                   bool *before, spad_error *error) {
    const int32_t chain = m->chain[e];
    *chained = chain >= 0;
    *before = e == f;
    if (*before || chain < 0) return SPAD_OK;
    const spad_status status = spad__happens_before_run(m, chain, error);
    if (status != SPAD_OK) return status;
    *before = m->clocks[chain][f] >= m->index[e];
    return SPAD_OK;
}

/* The trail has that point only. */
static void start_search(spad__happens_before *m, int32_t point) {
    if (m->search == INT32_MAX) {
        memset(m->seen, 0, (size_t)m->points * sizeof *m->seen);
        m->search = 0;
    }
    m->search++;
    m->trail[0] = point;
    m->seen[point] = m->search;
}

/* ---- what agents wait for ------------------------------------------------------------ */

/* A point of an agent, the elected thread of it: not a phase, nor anything on a unit. What other
 * threads wait for, the elected one waits for as well. `units`: waits and operations on units
 * count. */
static bool waits_to_end(const spad__happens_before *m, int32_t point, bool units) {
    if (point >= (int32_t)m->graph->points.count) return false;
    const spad__point *p = &m->graph->points.items[point];
    if (p->kind == SPAD__POINT_STEP || p->kind == SPAD__POINT_RETURN) return true;
    if (!units || p->kind != SPAD__POINT_QUEUED) return units;
    for (int32_t i = p->first_action; i < p->first_action + p->action_count; i++) {
        if (spad__sync_waits(m->graph->actions.items[i].kind)) return true;
    }
    return false;
}

static bool is_of_others(const spad__happens_before *m, int32_t point) {
    return m->non_elected != NULL && point >= m->non_elected_base &&
           point < m->non_elected_base + (int32_t)m->non_elected->points.count;
}

/* All points in an order that their edges allow, in `trail`; how many. */
static int32_t sort_by_edges(spad__happens_before *m) {
    int32_t count = 0;
    memset(m->missing, 0, (size_t)m->points * sizeof *m->missing);
    for (size_t i = 0; i < m->edges.count; i++) m->missing[m->edges.items[i].to]++;
    for (int32_t p = 0; p < m->points; p++) {
        if (m->missing[p] == 0) m->trail[count++] = p;
    }
    for (int32_t at = 0; at < count; at++) {
        const int32_t p = m->trail[at];
        for (int32_t i = m->first[p]; i < m->first[p + 1]; i++) {
            if (--m->missing[m->successors[i]] == 0) m->trail[count++] = m->successors[i];
        }
    }
    return count;
}

/* Backwards, so that what comes after a point is known. */
void spad__happens_before_mark_awaited(spad__happens_before *m, bool units, uint8_t *marks) {
    const uint8_t summed = units ? SPAD__AWAITED_SURELY : SPAD__AWAITED_PERHAPS;
    memset(marks, SPAD__AWAITED_NEVER, (size_t)m->points);
    for (int32_t at = sort_by_edges(m); at-- > 0;) {
        const int32_t p = m->trail[at];
        uint8_t mark = SPAD__AWAITED_NEVER;
        if (m->first_gain[p] < m->first_gain[p + 1]) mark = summed;
        for (int32_t i = m->first[p]; i < m->first[p + 1]; i++) {
            const int32_t to = m->successors[i];
            if (is_of_others(m, to)) continue;
            const uint8_t next = waits_to_end(m, to, units) ? SPAD__AWAITED_SURELY : marks[to];
            if (next > mark) mark = next;
        }
        marks[p] = mark;
    }
}

/* A search is given up after a few points, or this part of all. */
enum { SEARCH_LEAST = 16, SEARCH_PART = 16 };

/* Is there a short way of edges from e to f, or to a point in front of f on its chain? It saves the
 * run of a chain where many have a few questions each, as with hundreds of agents. */
static bool has_short_way(spad__happens_before *m, int32_t e, int32_t f) {
    const int32_t chain = m->chain[e];
    if (chain < 0 || m->clocks[chain] != NULL) return false;
    if (m->spent[chain] >= m->points) return false; /* a run would have been as short */
    const int32_t most = m->points / SEARCH_PART + SEARCH_LEAST;
    start_search(m, e);
    int32_t end = 1;
    for (int32_t at = 0; at < end && end < most; at++) {
        const int32_t point = m->trail[at];
        for (int32_t i = m->first[point]; i < m->first[point + 1] && end < most; i++) {
            const int32_t to = m->successors[i];
            const bool leads = to == f || (m->chain[to] >= 0 && m->chain[to] == m->chain[f] &&
                                           m->index[to] <= m->index[f]);
            if (leads) {
                m->spent[chain] += end;
                return true;
            }
            if (m->seen[to] == m->search) continue;
            m->seen[to] = m->search;
            m->trail[end++] = to;
        }
    }
    m->spent[chain] += end;
    return false;
}

/* Any point between e and f proves the order, so a search along the edges from e asks the chains of
 * the points that it meets. Without needs every order is a path of edges, and the search is
 * complete. A need is satisfied by sums and not by one edge, so with needs a run without e decides.
 */
spad_status spad__ordered_before(spad__happens_before *m, int32_t e, int32_t f, bool *before,
                                 spad_error *error) {
    bool chained = false;
    *before = e != f && has_short_way(m, e, f);
    if (*before) return SPAD_OK;
    spad_status status = decide_by_chain(m, e, f, &chained, before, error);
    if (status != SPAD_OK || *before || chained) return status;
    start_search(m, e);
    int32_t top = 1;
    while (top > 0) {
        const int32_t point = m->trail[--top];
        for (int32_t i = m->first[point]; i < m->first[point + 1]; i++) {
            const int32_t to = m->successors[i];
            if (m->seen[to] == m->search) continue;
            m->seen[to] = m->search;
            status = decide_by_chain(m, to, f, &chained, before, error);
            if (status != SPAD_OK || *before) return status;
            if (!chained) m->trail[top++] = to;
        }
    }
    if (m->needs.count == 0) return SPAD_OK;
    if (m->frozen != e) run_without(m, e);
    *before = !m->reachable[f];
    return SPAD_OK;
}
