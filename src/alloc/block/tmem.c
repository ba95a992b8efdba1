/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensor memory: the allocation protocol, and packing.
 *
 * TileLang's packing (lower_shared_tmem.cc): widest first; each tensor joins the
 * allocation whose power-of-two size grows least, or opens one if none is
 * strictly cheaper. Cost O(n x allocations).
 *
 * Our packing looks for the smallest total T. Any set of powers of two with sum T
 * comes from the binary digits of T by halving, and a packing into the halves is
 * a packing into the whole, so the digits of T are the best sizes for T: only T
 * has to be searched, in steps of 32 from a lower bound up. For each T a few
 * orders are tried with first fit over (columns, lane half, time). TileLang's
 * answer is the last resort, hence never a worse one. Totals beyond the chip are
 * for reports: a few of them do. Cost O(n^2) for each of at most 21 x 5 tries.
 *
 * References: PTX ISA, tcgen05.alloc; triton-lang/triton TensorMemoryAllocation.cpp
 * for the two groups of 64 lanes.
 */
#include "spad/experimental/tmem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/block/block.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/memory.h"

/* ---- the protocol ------------------------------------------------------------------ */

spad_status spad_tmem_init(spad_tmem *out, const spad_target *target, spad_error *error) {
    memset(out, 0, sizeof *out);
    size_t number;
    if (spad_target_find_space(&number, target, "tmem", NULL) != SPAD_OK) {
        return spad__fail(error, SPAD_ERR_CAPABILITY,
                          "%s has no tensor memory; sm_100, sm_103 and sm_110 have it",
                          target->name);
    }
    const int64_t columns = target->spaces[number].bytes / SPAD_TMEM_COLUMN_BYTES;
    if (columns > SPAD_TMEM_LIVE_MAX * SPAD_TMEM_COLUMNS_MIN) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "%s has %lld columns of tensor memory; up to %d can be followed",
                          target->name, (long long)columns,
                          SPAD_TMEM_LIVE_MAX * SPAD_TMEM_COLUMNS_MIN);
    }
    out->target_name = target->name;
    out->available = columns;
    return SPAD_OK;
}

/* The lowest run of free columns: its first column, and where in the sorted
 * list it belongs; false if none exists. *largest: columns of the largest run. */
static bool find_run(const spad_tmem *tmem, int64_t columns, int64_t *column, size_t *place,
                     int64_t *largest) {
    bool found = false;
    int64_t cursor = 0;
    *largest = 0;
    for (size_t i = 0; i <= tmem->live_count; i++) {
        const int64_t end = i < tmem->live_count ? tmem->live[i].column : tmem->available;
        *largest = spad__max(*largest, end - cursor);
        if (!found && end - cursor >= columns) {
            found = true;
            *column = cursor;
            *place = i;
        }
        if (i < tmem->live_count) cursor = tmem->live[i].column + tmem->live[i].columns;
    }
    return found;
}

static int64_t live_columns(const spad_tmem *tmem) {
    int64_t sum = 0;
    for (size_t i = 0; i < tmem->live_count; i++) sum += tmem->live[i].columns;
    return sum;
}

spad_status spad__tmem_check_columns(int64_t columns, int64_t last, spad_error *error) {
    if (!spad__is_pow2(columns) || columns < SPAD_TMEM_COLUMNS_MIN ||
        columns > SPAD_TMEM_COLUMNS_MAX) {
        int64_t instead = SPAD_TMEM_COLUMNS_MIN;
        char advice[32] = "";
        while (instead < columns && instead < SPAD_TMEM_COLUMNS_MAX) instead *= 2;
        if (columns > 0 && columns <= instead)
            snprintf(advice, sizeof advice, "; ask for %d", (int)instead);
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "an allocation of %lld columns of tensor memory; it must be a power of "
                          "two from %d to %d%s",
                          (long long)columns, SPAD_TMEM_COLUMNS_MIN, SPAD_TMEM_COLUMNS_MAX, advice);
    }
    if (last == 0 || columns <= last) return SPAD_OK;
    spad__fail(error, SPAD_ERR_LIFE_CYCLE,
               "%lld columns of tensor memory after an allocation of %lld; later ones may not be "
               "larger, so allocate the largest first",
               (long long)columns, (long long)last);
    spad__fact_amounts(error, columns, last, SPAD_NO_FACT);
    return SPAD_ERR_LIFE_CYCLE;
}

static spad_status check_alloc(const spad_tmem *tmem, int64_t columns, spad_error *error) {
    const spad_status status = spad__tmem_check_columns(columns, tmem->last_columns, error);
    if (status != SPAD_OK || !tmem->relinquished) return status;
    return spad__fail(error, SPAD_ERR_LIFE_CYCLE,
                      "%lld columns of tensor memory are requested after the permit to allocate "
                      "was relinquished; allocate first",
                      (long long)columns);
}

spad_status spad_tmem_alloc(int64_t *column, spad_tmem *tmem, int64_t columns, int64_t warp,
                            spad_error *error) {
    *column = -1;
    const spad_status status = check_alloc(tmem, columns, error);
    if (status != SPAD_OK) return status;
    size_t place = 0;
    int64_t largest;
    if (!find_run(tmem, columns, column, &place, &largest)) {
        const int64_t left = tmem->available - live_columns(tmem);
        spad__fail(error, SPAD_ERR_NO_FIT,
                   "%lld columns of tensor memory do not fit: %lld of %lld are free on %s, the "
                   "largest run has %lld; free some first, the hardware would wait forever",
                   (long long)columns, (long long)left, (long long)tmem->available,
                   tmem->target_name, (long long)largest);
        spad__fact_amounts(error, columns, left, largest);
        return SPAD_ERR_NO_FIT;
    }
    memmove(&tmem->live[place + 1], &tmem->live[place],
            (tmem->live_count - place) * sizeof tmem->live[0]);
    tmem->live[place].column = *column;
    tmem->live[place].columns = columns;
    tmem->live[place].warp = warp;
    tmem->live_count++;
    tmem->last_columns = columns;
    return SPAD_OK;
}

spad_status spad_tmem_free(spad_tmem *tmem, int64_t column, int64_t columns, int64_t warp,
                           spad_error *error) {
    size_t i = 0;
    while (i < tmem->live_count && tmem->live[i].column != column) i++;
    if (i == tmem->live_count) {
        return spad__fail(error, SPAD_ERR_NOT_LIVE,
                          "no allocation of tensor memory begins at column %lld",
                          (long long)column);
    }
    if (tmem->live[i].columns != columns) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "%lld columns of tensor memory are freed at column %lld, %lld were "
                          "allocated there",
                          (long long)columns, (long long)column, (long long)tmem->live[i].columns);
    }
    if (tmem->live[i].warp != warp) {
        return spad__fail(error, SPAD_ERR_LIFE_CYCLE,
                          "warp %lld frees the tensor memory at column %lld that warp %lld "
                          "allocated; the same warp must do both",
                          (long long)warp, (long long)column, (long long)tmem->live[i].warp);
    }
    tmem->live_count--;
    memmove(&tmem->live[i], &tmem->live[i + 1], (tmem->live_count - i) * sizeof tmem->live[0]);
    return SPAD_OK;
}

void spad_tmem_relinquish(spad_tmem *tmem) {
    tmem->relinquished = true;
}

spad_status spad_tmem_finish(const spad_tmem *tmem, spad_error *error) {
    if (tmem->live_count == 0) return SPAD_OK;
    spad__fail(error, SPAD_ERR_LIFE_CYCLE,
               "the block ends with %lld columns of tensor memory not freed, the first at column "
               "%lld by warp %lld; free every allocation",
               (long long)live_columns(tmem), (long long)tmem->live[0].column,
               (long long)tmem->live[0].warp);
    spad__fact_amounts(error, live_columns(tmem), tmem->available, SPAD_NO_FACT);
    return SPAD_ERR_LIFE_CYCLE;
}

/* ---- packing: what both ways share ------------------------------------------------- */

int64_t spad_tmem_alignment(int64_t columns) {
    return columns >= SPAD_TMEM_COLUMNS_MIN ? 32 : 4;
}

/* The smallest allocation that holds `columns` <= 512. */
static int64_t alloc_size(int64_t columns) {
    int64_t size = SPAD_TMEM_COLUMNS_MIN;
    while (size < columns) size *= 2;
    return size;
}

typedef struct answer {
    spad_tmem_place *places;
    int64_t *sizes; /* of the allocations */
    size_t allocs;
    int64_t columns;
} answer;

/* A tensor in some order of packing: higher keys first, then lower numbers. */
typedef struct ranked_tensor {
    int64_t key;
    int64_t second_key;
    size_t tensor;
} ranked_tensor;

static int by_tensor_rank(const void *a, const void *b) {
    const ranked_tensor *x = a;
    const ranked_tensor *y = b;
    if (x->key != y->key) return x->key > y->key ? -1 : 1;
    if (x->second_key != y->second_key) return x->second_key > y->second_key ? -1 : 1;
    return x->tensor < y->tensor ? -1 : x->tensor > y->tensor;
}

static spad_status check_tmem_tensor(const spad_tmem_tensor *t, size_t number, spad_error *error) {
    const char *what = NULL;
    if (t->lanes < 1 || t->lanes > SPAD_TMEM_LANES) what = "lanes; 1 to 128 exist";
    if (t->columns < 1 || t->columns > SPAD_TMEM_COLUMNS_MAX)
        what = "columns; 1 to 512 are possible";
    if (what == NULL && t->begin < t->end) return SPAD_OK;
    char shown[SPAD_NAME_FACT_MAX];
    spad__copy_cut(shown, sizeof shown, t->name != NULL ? t->name : "unnamed");
    if (what == NULL) {
        spad__fail(error, SPAD_ERR_ARGUMENT,
                   "tensor %s (number %zu) lives in [%lld, %lld), which is empty", shown, number,
                   (long long)t->begin, (long long)t->end);
    } else {
        spad__fail(error, SPAD_ERR_ARGUMENT, "tensor %s (number %zu) has %lld %s", shown, number,
                   (long long)(t->columns < 1 || t->columns > SPAD_TMEM_COLUMNS_MAX ? t->columns
                                                                                    : t->lanes),
                   what);
    }
    spad__fact_names(error, t->name, NULL);
    return SPAD_ERR_ARGUMENT;
}

/* ---- packing: TileLang's ----------------------------------------------------------- */

/* Puts the allocations in the order of issue, larger ones first. */
static void issue_largest_first(answer *a, size_t count, ranked_tensor *order, size_t *new_number) {
    for (size_t i = 0; i < a->allocs; i++) order[i] = (ranked_tensor){a->sizes[i], 0, i};
    if (a->allocs > 1) qsort(order, a->allocs, sizeof *order, by_tensor_rank);
    for (size_t i = 0; i < a->allocs; i++) {
        new_number[order[i].tensor] = i;
        a->sizes[i] = order[i].key;
    }
    for (size_t t = 0; t < count; t++) a->places[t].alloc = new_number[a->places[t].alloc];
}

/* used: columns taken in each allocation, -1: closed. */
static void join_cheapest(answer *a, int64_t *used, const spad_tmem_tensor *t, size_t number) {
    const int64_t alignment = spad_tmem_alignment(t->columns);
    int64_t best_cost = alloc_size(t->columns); /* of a new one */
    size_t best = a->allocs;
    int64_t best_column = 0;
    for (size_t i = 0; i < a->allocs && !t->freed_by_hand; i++) {
        if (used[i] < 0) continue;
        const int64_t column = spad__align_up_fits(used[i], alignment);
        if (column + t->columns > SPAD_TMEM_COLUMNS_MAX) continue;
        const int64_t cost = alloc_size(column + t->columns) - a->sizes[i];
        if (cost >= best_cost) continue;
        best_cost = cost;
        best = i;
        best_column = column;
    }
    if (best == a->allocs) a->sizes[a->allocs++] = 0;
    a->places[number] = (spad_tmem_place){.alloc = best, .column = best_column, .lane = 0};
    a->sizes[best] += best_cost;
    used[best] = t->freed_by_hand ? -1 : best_column + t->columns;
}

/* used and numbers: room for `count` items each. */
static void pack_as_tilelang(answer *a, const spad_tmem_tensor *tensors, size_t count,
                             ranked_tensor *order, int64_t *used, size_t *numbers) {
    for (size_t t = 0; t < count; t++) order[t] = (ranked_tensor){tensors[t].columns, 0, t};
    qsort(order, count, sizeof *order, by_tensor_rank);
    a->allocs = 0;
    for (size_t i = 0; i < count; i++) {
        join_cheapest(a, used, &tensors[order[i].tensor], order[i].tensor);
    }
    a->columns = 0;
    for (size_t i = 0; i < a->allocs; i++) a->columns += a->sizes[i];
    issue_largest_first(a, count, order, numbers);
}

/* ---- packing: ours ---------------------------------------------------------------------------
 * The allocations of a total T are one after the other on an axis of T columns,
 * larger ones first: 512s, then the binary digits of the rest. Then the one that
 * holds a column, and where it begins, follow from T alone. */

static void grid_piece_at(int64_t total, int64_t column, int64_t *begin, int64_t *size) {
    const int64_t whole = spad__min(column, total - 1) / SPAD_TMEM_COLUMNS_MAX;
    *begin = whole * SPAD_TMEM_COLUMNS_MAX;
    *size = SPAD_TMEM_COLUMNS_MAX;
    while (*begin + *size > total) *size /= 2;
    while (column >= *begin + *size) { /* at most the four digits below 512 */
        *begin += *size;
        while (*begin + *size > total) *size /= 2;
    }
}

typedef struct placed {
    const spad_tmem_tensor *tensor;
    int64_t column; /* on the axis */
    int64_t lane;
} placed;

typedef struct grid {
    placed *items; /* sorted by column */
    size_t count;
    int64_t total;
} grid;

static bool share_lanes(const spad_tmem_tensor *a, int64_t a_lane, const spad_tmem_tensor *b,
                        int64_t b_lane) {
    return a_lane < b_lane + b->lanes && b_lane < a_lane + a->lanes;
}

/* Moves a column up until the tensor is within one allocation; -1: none holds it. */
static int64_t within_a_piece(int64_t total, int64_t column, const spad_tmem_tensor *t) {
    column = spad__align_up_fits(column, spad_tmem_alignment(t->columns));
    while (column + t->columns <= total) {
        int64_t begin;
        int64_t size;
        grid_piece_at(total, column, &begin, &size);
        if (column + t->columns <= begin + size) return column;
        column = begin + size; /* a multiple of 32 */
    }
    return -1;
}

/* The lowest column at which the tensor fits in lanes from `lane`, or -1. */
static int64_t first_fit(const grid *g, const spad_tmem_tensor *t, int64_t lane) {
    int64_t column = within_a_piece(g->total, 0, t);
    for (size_t i = 0; i < g->count && column >= 0; i++) {
        const placed *p = &g->items[i];
        if (t->begin >= p->tensor->end || p->tensor->begin >= t->end) continue;
        if (!share_lanes(t, lane, p->tensor, p->lane)) continue;
        if (column + t->columns <= p->column) break; /* the rest is after it */
        if (column < p->column + p->tensor->columns) {
            column = within_a_piece(g->total, p->column + p->tensor->columns, t);
        }
    }
    return column;
}

static bool add_to_grid(grid *g, const spad_tmem_tensor *t, spad_tmem_place *place) {
    int64_t lane = 0;
    int64_t column = first_fit(g, t, 0);
    const int64_t half = SPAD_TMEM_LANES / 2;
    if (t->lanes <= half) {
        const int64_t upper = first_fit(g, t, half);
        if (upper >= 0 && (column < 0 || upper < column)) {
            column = upper;
            lane = half;
        }
    }
    if (column < 0) return false;
    size_t at = g->count++;
    for (; at > 0 && g->items[at - 1].column > column; at--) g->items[at] = g->items[at - 1];
    g->items[at] = (placed){t, column, lane};
    *place = (spad_tmem_place){.alloc = 0, .column = column, .lane = lane};
    return true;
}

enum { TENSOR_ORDERS = 5 };

/* By what tensors are taken in turn: wide ones, tall and wide, long-lived, in
 * order of time, wide and long-lived. */
static ranked_tensor rank_tensor(const spad_tmem_tensor *t, size_t number, int order) {
    int64_t life;
    if (!spad__sub(t->end, t->begin, &life)) life = INT64_MAX;
    int64_t volume;
    if (!spad__mul(t->columns * t->lanes, life, &volume)) volume = INT64_MAX;
    switch (order) {
    case 0: return (ranked_tensor){t->columns, life, number};
    case 1: return (ranked_tensor){t->lanes > SPAD_TMEM_LANES / 2, t->columns, number};
    case 2: return (ranked_tensor){life, t->columns, number};
    case 3:
        return (ranked_tensor){t->begin > INT64_MIN ? -t->begin : INT64_MAX, t->columns, number};
    default: return (ranked_tensor){volume, t->columns, number};
    }
}

static bool pack_in_order(grid *g, spad_tmem_place *places, const spad_tmem_tensor *tensors,
                          const ranked_tensor *order, size_t count) {
    g->count = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t t = order[i].tensor;
        if (!add_to_grid(g, &tensors[t], &places[t])) return false;
    }
    return true;
}

/* From columns on the axis to (allocation, column); allocations that hold
 * nothing are left out. */
static void name_pieces(answer *a, int64_t total, size_t count, size_t *numbers) {
    int64_t begin = 0;
    int64_t size;
    a->allocs = 0;
    a->columns = 0;
    for (; begin < total; begin += size) {
        grid_piece_at(total, begin, &begin, &size);
        bool used = false;
        for (size_t t = 0; t < count; t++) {
            const int64_t column = a->places[t].column;
            used |= column >= begin && column < begin + size;
        }
        if (!used) continue;
        for (size_t t = 0; t < count; t++) {
            const int64_t column = a->places[t].column;
            if (column >= begin && column < begin + size) numbers[t] = a->allocs;
        }
        a->sizes[a->allocs++] = size;
        a->columns += size;
    }
    for (size_t t = 0; t < count; t++) {
        grid_piece_at(total, a->places[t].column, &begin, &size);
        a->places[t].column -= begin;
        a->places[t].alloc = numbers[t];
    }
}

/* No total below this holds what is live at one time. Starts are enough: the
 * sum is largest at one of them. */
static int64_t lower_bound(const spad_tmem_tensor *tensors, size_t count) {
    int64_t bound = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t cells = 0; /* columns of one half */
        for (size_t j = 0; j < count; j++) {
            const spad_tmem_tensor *t = &tensors[j];
            if (t->begin > tensors[i].begin || t->end <= tensors[i].begin) continue;
            cells += t->columns * (t->lanes > SPAD_TMEM_LANES / 2 ? 2 : 1);
        }
        bound = spad__max(bound, (cells + 1) / 2);
        bound = spad__max(bound, alloc_size(tensors[i].columns));
    }
    return spad__align_up_fits(bound, SPAD_TMEM_COLUMNS_MIN);
}

/* Room for the work on `count` tensors, in one block. */
typedef struct tmem_workspace {
    ranked_tensor *order;
    placed *items;
    size_t *numbers;
    int64_t *used;
} tmem_workspace;

static size_t workspace_item(void) {
    return sizeof(ranked_tensor) + sizeof(placed) + sizeof(size_t) + sizeof(int64_t);
}

/* Looks for a total below a->columns. False: none can be found, and the
 * places are spoilt. */
static bool pack_better(answer *a, const spad_tmem_tensor *tensors, size_t count,
                        tmem_workspace *w) {
    enum { TRIES = 4 };
    const int64_t low = lower_bound(tensors, count);
    /* every total that the chip has; beyond that, for the report, a few */
    const int64_t long_step =
        spad__align_up_fits((a->columns - low) / TRIES + 1, SPAD_TMEM_COLUMNS_MIN);
    int64_t step;
    for (int64_t total = low; total < a->columns; total += step) {
        step = total < SPAD_TMEM_COLUMNS_MAX ? SPAD_TMEM_COLUMNS_MIN : long_step;
        for (int order = 0; order < TENSOR_ORDERS; order++) {
            for (size_t t = 0; t < count; t++) w->order[t] = rank_tensor(&tensors[t], t, order);
            qsort(w->order, count, sizeof *w->order, by_tensor_rank);
            grid g = {.items = w->items, .total = total};
            if (!pack_in_order(&g, a->places, tensors, w->order, count)) continue;
            name_pieces(a, total, count, w->numbers);
            return true;
        }
    }
    return false;
}

spad_status spad_tmem_pack(spad_tmem_totals *totals, spad_tmem_place *places,
                           int64_t *alloc_columns, const spad_tmem_tensor *tensors, size_t count,
                           spad_tmem_packing packing, const spad_host *host_hook,
                           spad_error *error) {
    *totals = (spad_tmem_totals){0, 0};
    for (size_t t = 0; t < count; t++) {
        const spad_status status = check_tmem_tensor(&tensors[t], t, error);
        if (status != SPAD_OK) return status;
    }
    if (count == 0) return SPAD_OK;
    const spad_host host = spad__host_or_default(host_hook);
    char *room = spad__new_array(&host, count, workspace_item());
    if (room == NULL) return spad__fail_host_memory(error);
    tmem_workspace w = {.order = (ranked_tensor *)(void *)room};
    w.items = (placed *)(void *)(w.order + count);
    w.numbers = (size_t *)(void *)(w.items + count);
    w.used = (int64_t *)(void *)(w.numbers + count);

    answer a = {.places = places, .sizes = alloc_columns};
    pack_as_tilelang(&a, tensors, count, w.order, w.used, w.numbers);
    if (packing == SPAD_TMEM_BEST && !pack_better(&a, tensors, count, &w)) {
        pack_as_tilelang(&a, tensors, count, w.order, w.used, w.numbers);
    }
    spad__free(&host, room, count * workspace_item());
    *totals = (spad_tmem_totals){a.allocs, a.columns};
    return SPAD_OK;
}
