/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of operations with the lowest peak.
 *
 * The bytes live after some operations depend only on which ones have run, not on their order. So
 * an order is a way through the sets of operations that are closed under dependencies, and its peak
 * is the largest step of that way. A search in the manner of Dijkstra, by the largest step so
 * far, takes up every set at most once, with its lowest peak: the first time that the set of
 * all operations is taken up, its peak is optimal. Sets come up in the order of their peaks, so
 * whenever the search is ended, the peak of the next one is a lower bound. Of equal peaks the
 * larger set comes first.
 *
 * One operation is enough. Say operation v can run in set S with a step of at most the peak so far,
 * and after it no more bytes are live than before. Then some best way from S begins with v: take
 * any way from S and move v to its front. What v writes is live earlier. What v is the last to
 * read in S is dead earlier; what has other readers yet is live to the last of these, no longer
 * than in the old way, in which v kept it too. So between the old place of v and the front every
 * step has at most as many bytes as before.
 *
 * The first order takes the best step each time; then a search in levels keeps the best sets of
 * each size (beam search), for widths 4, 32 and 256. Their peak limits the search above. Work for a
 * set is O(graph); memory is limited to SET_WORDS words of sets.
 */
#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "base/hash.h"
#include "base/heap.h"
#include "base/index.h"
#include "base/limit.h"
#include "base/options.h"
#include "plan/graph/graph.h"
#include "plan/problem/sort.h"
#include "plan/problem/stop.h"

enum {
    SET_WORDS = 1 << 24,
    SETS_DEFAULT = 1000000,
    SETS_PER_CLOCK_CHECK = 16,
    BITS = 64,
    MOST_FOR_SETS = 4096 /* operations; above, the first order is the answer */
};

/* Operations that have run. */
typedef struct op_set {
    int64_t live;   /* bytes, after them */
    int64_t peak;   /* of the way here */
    int32_t parent; /* the set before, or -1 */
    int32_t node;   /* the operation after that one */
    int32_t size;
    bool done; /* taken up */
} op_set;

typedef struct queued {
    int64_t peak;
    int32_t size;
    int32_t set;
} queued;

typedef struct order_search {
    spad__deps deps;
    spad_host host;
    spad__limit limit;
    size_t words;      /* of a set */
    int64_t set_limit; /* sets to look at */
    int64_t looked;
    SPAD_ARRAY(op_set) sets;
    SPAD_ARRAY(uint64_t) bits; /* `words` for each set */
    SPAD_ARRAY(queued) queue;
    spad__index index;
    int32_t *left_readers; /* per tensor, of the set that is expanded */
    bool *ready;
    int32_t *list; /* room for two numbers of each operation */
    size_t *steps; /* room for an order */
    size_t *best;  /* order */
    int64_t best_peak;
    int64_t bound;
    bool no_memory;
} order_search;

/* ---- sets -------------------------------------------------------------------------- */

static uint64_t *set_bits(const order_search *o, int32_t set) {
    return o->bits.items + (size_t)set * o->words;
}

static bool has_operation(const uint64_t *bits, int32_t node) {
    return bits[node / BITS] >> (node % BITS) & 1;
}

static uint64_t hash_set(const order_search *o, const uint64_t *bits) {
    uint64_t hash = 0;
    for (size_t w = 0; w < o->words; w++) hash = spad__hash_add(hash, (int64_t)bits[w]);
    return hash;
}

/* A set with the bits at `bits`, or -1. */
static int32_t find_set(const order_search *o, uint64_t hash, const uint64_t *bits) {
    spad__probe probe = spad__index_probe(&o->index, hash);
    for (size_t i; (i = spad__probe_next(&probe)) != SPAD__NO_ITEM;)
        if (memcmp(set_bits(o, (int32_t)i), bits, o->words * sizeof *bits) == 0) return (int32_t)i;
    return -1;
}

/* Finds the operations that can run in a set, and how many readers of each tensor are left. */
static void open_set(order_search *o, const uint64_t *bits) {
    const spad__deps *d = &o->deps;
    for (size_t i = 0; i < d->graph->tensors.count; i++)
        o->left_readers[i] = (int32_t)d->graph->tensors.items[i].reader_count;
    for (int32_t v = 0; v < d->count; v++) {
        o->ready[v] = !has_operation(bits, v);
        for (int32_t k = d->earlier.first[v]; o->ready[v] && k < d->earlier.first[v + 1]; k++)
            o->ready[v] = has_operation(bits, d->earlier.numbers[k]);
        if (!has_operation(bits, v)) continue;
        for (int32_t k = d->inputs.first[v]; k < d->inputs.first[v + 1]; k++)
            o->left_readers[d->inputs.numbers[k]]--;
    }
}

/* Bytes live after v has run in the set that is open, in which `live` are. */
static int64_t live_after(const order_search *o, int32_t v, int64_t live) {
    const spad__deps *d = &o->deps;
    int64_t bytes = live + d->left[v];
    for (int32_t k = d->inputs.first[v]; k < d->inputs.first[v + 1]; k++) {
        const spad_graph_tensor *t = &d->graph->tensors.items[d->inputs.numbers[k]];
        spad__assert(o->left_readers[d->inputs.numbers[k]] > 0);
        if (o->left_readers[d->inputs.numbers[k]] == 1 && !t->kept) bytes -= t->size;
    }
    return bytes;
}

/* An operation that may run at once; -1: all that are ready must be tried. */
static int32_t forced_node(const order_search *o, const op_set *set) {
    for (int32_t v = 0; v < o->deps.count; v++)
        if (o->ready[v] && set->live + o->deps.during[v] <= set->peak &&
            live_after(o, v, set->live) <= set->live)
            return v;
    return -1;
}

static bool ran_out(order_search *o) {
    return o->looked >= o->set_limit ||
           (o->looked % SETS_PER_CLOCK_CHECK == 0 && spad__limit_reached(&o->limit));
}

static void forget_sets(order_search *o) {
    o->sets.count = o->bits.count = o->queue.count = 0;
    spad__index_free(&o->index, &o->host);
    o->index = (spad__index){0};
}

/* Room for one more set. */
static bool reserve_set(order_search *o) {
    if (spad__array_reserve(&o->host, &o->sets, 1) &&
        spad__array_reserve(&o->host, &o->bits, o->words) &&
        spad__array_reserve(&o->host, &o->queue, 1) && spad__index_reserve(&o->index, &o->host, 1))
        return true;
    return o->no_memory = true, false;
}

/* The set after v, which is not known yet, in room that was reserved; its bits are there. */
static int32_t add_set(order_search *o, uint64_t hash, op_set set) {
    const int32_t number = (int32_t)o->sets.count;
    o->sets.items[o->sets.count++] = set;
    o->bits.count += o->words;
    spad__index_add(&o->index, hash, (size_t)number);
    o->looked++;
    return number;
}

static bool add_empty_set(order_search *o) {
    if (!reserve_set(o)) return false;
    memset(set_bits(o, (int32_t)o->sets.count), 0, o->words * sizeof(uint64_t));
    const int64_t initial = o->deps.initial;
    add_set(o, hash_set(o, set_bits(o, 0)),
            (op_set){.live = initial, .peak = initial, .parent = -1});
    return true;
}

/* Takes the way to a set of all operations as the best order. */
static void keep_order(order_search *o, int32_t set) {
    o->best_peak = o->sets.items[set].peak;
    for (size_t at = (size_t)o->deps.count; at-- > 0; set = o->sets.items[set].parent) {
        spad__assert(set >= 0);
        o->best[at] = (size_t)o->sets.items[set].node;
    }
}

/* ---- step by step ------------------------------------------------------------------ */

/* Of the operations that are ready, the one after which the peak is lowest, then the bytes live.
 */
static size_t best_step(const order_search *o, const int32_t *list, size_t count,
                        const op_set *now) {
    size_t best = 0;
    int64_t best_peak = INT64_MAX;
    int64_t best_live = INT64_MAX;
    for (size_t k = 0; k < count; k++) {
        const int64_t peak = spad__max(now->peak, now->live + o->deps.during[list[k]]);
        if (peak > best_peak) continue;
        const int64_t live = live_after(o, list[k], now->live);
        if (peak == best_peak && live >= best_live) continue;
        best = k;
        best_peak = peak;
        best_live = live;
    }
    return best;
}

static void start_steps(order_search *o, int32_t *list, int32_t *missing, size_t *count) {
    const spad__deps *d = &o->deps;
    for (size_t i = 0; i < d->graph->tensors.count; i++)
        o->left_readers[i] = (int32_t)d->graph->tensors.items[i].reader_count;
    *count = 0;
    for (int32_t v = 0; v < d->count; v++) {
        missing[v] = d->earlier.first[v + 1] - d->earlier.first[v];
        if (missing[v] == 0) list[(*count)++] = v;
    }
}

/* An order, each time with the step that is best then. False: dependencies form a circle. O(graph x
 * operations that are ready). */
static bool search_steps(order_search *o) {
    const spad__deps *d = &o->deps;
    int32_t *list = o->list;
    int32_t *missing = o->list + d->count;
    size_t count;
    op_set now = {.live = d->initial, .peak = d->initial};
    start_steps(o, list, missing, &count);
    for (; count > 0; now.size++) {
        const size_t k = best_step(o, list, count, &now);
        const int32_t v = list[k];
        now.peak = spad__max(now.peak, now.live + d->during[v]);
        now.live = live_after(o, v, now.live);
        o->steps[now.size] = (size_t)v;
        list[k] = list[--count];
        for (int32_t e = d->inputs.first[v]; e < d->inputs.first[v + 1]; e++)
            o->left_readers[d->inputs.numbers[e]]--;
        for (int32_t e = d->later.first[v]; e < d->later.first[v + 1]; e++)
            if (--missing[d->later.numbers[e]] == 0) list[count++] = d->later.numbers[e];
    }
    if (now.size < d->count) return false;
    if (now.peak < o->best_peak) {
        o->best_peak = now.peak;
        memcpy(o->best, o->steps, (size_t)d->count * sizeof *o->best);
    }
    return true;
}

/* ---- level by level ---------------------------------------------------------------- */

/* Adds the set after v to the next level, or improves it there. */
static bool reach_in_level(order_search *o, int32_t from, int32_t v) {
    if (!reserve_set(o)) return false;
    const op_set *set = &o->sets.items[from];
    uint64_t *bits = o->bits.items + o->bits.count;
    memcpy(bits, set_bits(o, from), o->words * sizeof *bits);
    bits[v / BITS] |= UINT64_C(1) << (v % BITS);
    const op_set next = {.live = live_after(o, v, set->live),
                         .peak = spad__max(set->peak, set->live + o->deps.during[v]),
                         .parent = from,
                         .node = v,
                         .size = set->size + 1};
    const uint64_t hash = hash_set(o, bits);
    const int32_t known = find_set(o, hash, bits);
    if (known < 0)
        add_set(o, hash, next);
    else if (next.peak < o->sets.items[known].peak)
        o->sets.items[known] = next;
    return true;
}

static bool expand_in_level(order_search *o, int32_t set) {
    open_set(o, set_bits(o, set));
    const int32_t forced = forced_node(o, &o->sets.items[set]);
    for (int32_t v = 0; v < o->deps.count; v++)
        if (forced < 0 ? o->ready[v] : v == forced)
            if (!reach_in_level(o, set, v)) return false;
    return true;
}

static bool is_better_set(const queued *items, queued a, queued b) {
    (void)items;
    if (a.peak != b.peak) return a.peak < b.peak;
    return a.size != b.size ? a.size < b.size : a.set < b.set;
}

SPAD__HEAP(level_heap, const queued *, queued, is_better_set, SPAD__HEAP_PUT)

/* The best sets of the level that begins at `first`, in the queue; their number. size: of bytes
 * live, in units that fit. */
static bool rank_level(order_search *o, size_t first) {
    o->queue.count = 0;
    if (!spad__array_reserve(&o->host, &o->queue, o->sets.count - first))
        return o->no_memory = true, false;
    for (size_t s = first; s < o->sets.count; s++) {
        const op_set *set = &o->sets.items[s];
        /* 2^-20 of all bytes is fine enough to compare what is live */
        const int64_t unit = o->deps.graph->total / (1 << 20) + 1;
        o->queue.items[o->queue.count] =
            (queued){set->peak, (int32_t)(set->live / unit), (int32_t)s};
        level_heap_up(o->queue.items, o->queue.items, o->queue.count++);
    }
    return true;
}

/* A better order, if `width` sets on each level find one before time, sets or memory are spent. */
static void search_levels(order_search *o, size_t width) {
    forget_sets(o);
    if (!add_empty_set(o)) return;
    size_t first = 0;
    for (int32_t level = 0; level < o->deps.count; level++) {
        if (!rank_level(o, first)) return;
        first = o->sets.count;
        for (size_t k = 0; k < width && o->queue.count > 0; k++) {
            const int32_t set = o->queue.items[0].set;
            o->queue.items[0] = o->queue.items[--o->queue.count];
            level_heap_down(o->queue.items, o->queue.items, o->queue.count, 0);
            if (ran_out(o)) return;
            if (o->sets.items[set].peak < o->best_peak && !expand_in_level(o, set)) return;
        }
    }
    for (size_t s = first; s < o->sets.count; s++)
        if (o->sets.items[s].peak < o->best_peak) keep_order(o, (int32_t)s);
}

/* ---- by the largest step ----------------------------------------------------------- */

static bool comes_first(const queued *items, queued a, queued b) {
    (void)items;
    if (a.peak != b.peak) return a.peak < b.peak;
    return a.size != b.size ? a.size > b.size : a.set < b.set;
}

SPAD__HEAP(set_heap, const queued *, queued, comes_first, SPAD__HEAP_PUT)

static void enqueue_set(order_search *o, int32_t set) {
    const op_set *s = &o->sets.items[set];
    o->queue.items[o->queue.count] = (queued){s->peak, s->size, set};
    set_heap_up(o->queue.items, o->queue.items, o->queue.count++);
}

/* The set after v, if the way there is better than what is known. */
static bool reach_set(order_search *o, int32_t from, int32_t v) {
    const int64_t peak =
        spad__max(o->sets.items[from].peak, o->sets.items[from].live + o->deps.during[v]);
    if (peak >= o->best_peak) return true;
    if (!reserve_set(o)) return false;
    uint64_t *bits = o->bits.items + o->bits.count;
    memcpy(bits, set_bits(o, from), o->words * sizeof *bits);
    bits[v / BITS] |= UINT64_C(1) << (v % BITS);
    const uint64_t hash = hash_set(o, bits);
    int32_t known = find_set(o, hash, bits);
    const op_set *set = &o->sets.items[from];
    const op_set next = {.live = live_after(o, v, set->live),
                         .peak = peak,
                         .parent = from,
                         .node = v,
                         .size = set->size + 1};
    if (known < 0)
        known = add_set(o, hash, next);
    else if (!o->sets.items[known].done && peak < o->sets.items[known].peak)
        o->sets.items[known] = next;
    else
        return true;
    enqueue_set(o, known);
    return true;
}

static bool expand_set(order_search *o, int32_t set) {
    o->sets.items[set].done = true;
    open_set(o, set_bits(o, set));
    const int32_t forced = forced_node(o, &o->sets.items[set]);
    for (int32_t v = 0; v < o->deps.count; v++)
        if (forced < 0 ? o->ready[v] : v == forced)
            if (!reach_set(o, set, v)) return false;
    return true;
}

/* Ends with the bound at the best peak, or when time, sets or memory are spent. */
static void search_sets(order_search *o) {
    forget_sets(o);
    if (!add_empty_set(o)) return;
    if (o->sets.items[0].peak < o->best_peak) enqueue_set(o, 0);
    while (o->queue.count > 0) {
        const queued next = o->queue.items[0];
        o->queue.items[0] = o->queue.items[--o->queue.count];
        set_heap_down(o->queue.items, o->queue.items, o->queue.count, 0);
        if (o->sets.items[next.set].done) continue;
        if (next.peak >= o->best_peak) break;
        o->bound = spad__max(o->bound, next.peak);
        if (next.size == o->deps.count) {
            keep_order(o, next.set);
            return;
        }
        if (ran_out(o) || !expand_set(o, next.set)) return;
    }
    o->bound = o->best_peak; /* nothing is below it */
}

/* ---- the whole --------------------------------------------------------------------- */

/* What every order needs: one operation with its inputs, and what is there at the ends. */
static int64_t simple_bound(const order_search *o) {
    const spad__deps *d = &o->deps;
    int64_t kept = 0;
    for (size_t i = 0; i < d->graph->tensors.count; i++)
        if (d->graph->tensors.items[i].kept) kept += d->graph->tensors.items[i].size;
    int64_t most = d->count > 0 ? spad__max(kept, d->initial) : 0;
    for (int32_t v = 0; v < d->count; v++) {
        int64_t need = d->during[v];
        for (int32_t k = d->inputs.first[v]; k < d->inputs.first[v + 1]; k++)
            need += d->graph->tensors.items[d->inputs.numbers[k]].size;
        most = spad__max(most, need);
    }
    return most;
}

static spad_status start_orderer(order_search *o, const spad_graph *graph, int64_t node_limit,
                                 spad_error *error) {
    o->best_peak = INT64_MAX;
    if (spad__deps_build(&o->deps, graph) != SPAD_OK) return spad__fail_host_memory(error);
    const size_t n = (size_t)o->deps.count;
    o->words = n / BITS + 1;
    o->set_limit = node_limit > 0 ? node_limit : SETS_DEFAULT;
    o->set_limit = spad__min(o->set_limit, SET_WORDS / (int64_t)o->words);
    o->left_readers =
        spad__arena_array(&o->deps.arena, graph->tensors.count + 1, sizeof *o->left_readers);
    o->ready = spad__arena_array(&o->deps.arena, n + 1, sizeof *o->ready);
    o->list = spad__arena_array(&o->deps.arena, n + 1, 2 * sizeof *o->list);
    o->steps = spad__arena_array(&o->deps.arena, n + 1, sizeof *o->steps);
    if (o->left_readers == NULL || o->ready == NULL || o->list == NULL || o->steps == NULL)
        return spad__fail_host_memory(error);
    return SPAD_OK;
}

static spad_status search_orders_of(order_search *o, spad_error *error) {
    static const size_t widths[] = {4, 32, 256};
    int64_t looked = 0;
    o->bound = simple_bound(o);
    if (!search_steps(o))
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "the dependencies of the operations form a circle: no order obeys them");
    for (size_t k = 0; k < 4 && o->best_peak > o->bound && !o->no_memory; k++) {
        if (o->deps.count > MOST_FOR_SETS || spad__limit_reached(&o->limit)) break;
        o->looked = 0;
        if (k < 3)
            search_levels(o, widths[k]);
        else
            search_sets(o);
        looked += o->looked;
    }
    o->looked = looked;
    return o->no_memory ? spad__fail_host_memory(error) : SPAD_OK;
}

static spad_status find_before(int64_t *out, const spad_graph *graph, size_t *order,
                               spad_error *error) {
    for (size_t i = 0; i < graph->scratch.count; i++) order[i] = i;
    *out = SPAD_UNBOUNDED;
    const spad_status status = spad__graph_get_peak(out, graph, order, graph->scratch.count, NULL);
    return status == SPAD_ERR_HOST_MEMORY ? spad__fail_host_memory(error) : SPAD_OK;
}

void spad_graph_result_destroy(spad_graph_result *result) {
    if (result == NULL) return;
    const spad_host host = *(const spad_host *)result->owned;
    spad__free(&host, result->owned, sizeof(spad_host));
    spad__free(&host, result->order, (result->count + 1) * sizeof *result->order);
    spad__free(&host, result, sizeof *result);
}

static spad_graph_result *new_result(const spad_graph *graph) {
    spad_graph_result *result = spad__new(&graph->host, sizeof *result);
    spad_host *host = spad__new(&graph->host, sizeof *host);
    size_t *order = spad__new_array(&graph->host, graph->scratch.count + 1, sizeof *order);
    if (result == NULL || host == NULL || order == NULL) {
        spad__free(&graph->host, result, sizeof *result);
        spad__free(&graph->host, host, sizeof *host);
        spad__free(&graph->host, order, (graph->scratch.count + 1) * sizeof *order);
        return NULL;
    }
    *host = graph->host;
    result->owned = host;
    result->order = order;
    result->count = graph->scratch.count;
    return result;
}

spad_status spad_graph_reorder(spad_graph_result **out, const spad_graph *graph,
                               const spad_plan_options *options, spad_error *error) {
    const int64_t started = spad__clock();
    spad_plan_options effort;
    *out = NULL;
    spad_status status = SPAD__COPY_OPTIONS(&effort, options, error);
    if (status == SPAD_OK) status = spad__check_effort(effort.timeout_ns, effort.node_limit, error);
    if (status != SPAD_OK) return status;
    order_search o = {.host = graph->host, .deps.arena.host = graph->host};
    status = spad__limit_start(&o.limit, effort.timeout_ns, (spad_watch){0}, error);
    if (status != SPAD_OK) return status;
    spad_graph_result *result = new_result(graph);
    if (result == NULL) return spad__fail_host_memory(error);
    status = start_orderer(&o, graph, effort.node_limit, error);
    if (status == SPAD_OK) status = find_before(&result->before, graph, result->order, error);
    if (status == SPAD_OK) {
        o.best = result->order;
        if (result->before < o.best_peak) o.best_peak = result->before;
        status = search_orders_of(&o, error);
    }
    if (status == SPAD_OK) {
        result->peak = o.best_peak;
        result->bound = o.bound;
        result->verdict = o.best_peak <= o.bound ? SPAD_PLAN_OPTIMAL : SPAD_PLAN_FEASIBLE;
        result->nodes = o.looked;
        result->nanoseconds = spad__clock() - started;
        *out = result;
    } else {
        spad_graph_result_destroy(result);
    }
    forget_sets(&o);
    spad__array_free(&o.host, &o.sets);
    spad__array_free(&o.host, &o.bits);
    spad__array_free(&o.host, &o.queue);
    spad__deps_free(&o.deps);
    return status;
}
