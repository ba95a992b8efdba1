/* SPDX-License-Identifier: Apache-2.0
 *
 * Lowering a plan: ejection of boxes, steered by weights.
 *
 * All boxes above a target height are taken out. Then, again and again, the heaviest box that
 * is out is put back where it costs least: at the offset where the boxes in its way weigh
 * least together, and those are taken out in their turn. A box that found no free place
 * becomes heavier, so boxes that are hard to place get their way in time, and those that fit
 * anywhere move aside. When none is out the target is reached. (The scheme is the guided ejection
 * search of Nagata and Braysy, 2009, made for vehicle routing.) Free places are taken where they
 * are tightest.
 *
 * That is the steady style, which lowers a given plan. The roaming style looks for a plan at a
 * height that is hard to reach, from nothing and for many steps: it takes the heaviest of three
 * boxes that are out, and adds noise to costs. Otherwise the same few heavy boxes throw each
 * other out without end.
 *
 * Only boxes near the target are ever touched, however large the plan is. Finding a place
 * examines the boxes that live together with one: boxes are kept by class of width and then by
 * begin, so they are in a few runs of memory; their bottoms and tops are sorted and swept.
 * O(k log k) for k of them.
 *
 * Targets form a ladder between the plan and the bound, much as in portfolio.c: half of the way, an
 * eighth of it, and the bound itself. A search that has taken out far more than it began with is
 * lost and starts from the plan again, with the weights it has learned; they are forgotten when a
 * target was out of reach. All is steered by the number of boxes examined, so the outcome does not
 * depend on the machine.
 */
#include "plan/search/eject.h"

#include "base/assert.h"
#include "base/checked.h"
#include "base/heap.h"
#include "plan/problem/sort.h"
#include "plan/problem/units.h"

enum {
    CLASSES = 31,   /* of width: [2^c, 2^(c+1)) sections */
    MOST_OUT = 400, /* boxes, and four times as many as at first */
    OUT_SAMPLES = 3,
    MOST_WITH_PEERS = 1024,    /* boxes: at most 4 MiB of peers */
    LOG_MOST_FIRST = 24 * 256, /* of a first weight */
    STEPS_PER_CLOCK_CHECK = 64
};

static const int64_t most_weight = INT32_MAX; /* so that no sum of weights overflows */

typedef struct eject_box {
    int32_t begin;
    int32_t end;
    int64_t size;
    int64_t offset; /* -1: it is out */
    int64_t weight;
    int64_t first_weight;
} eject_box;

struct spad__ejector {
    spad_host host;
    spad__arena arena;
    spad__random *random;
    spad__stop *stop;
    spad__eject_style style;
    int32_t count;
    eject_box *boxes;           /* by class, then by begin */
    int32_t *origin;            /* number of the caller */
    int32_t first[CLASSES + 1]; /* box of a class */
    int32_t *out;               /* a heap of the boxes that are out, the heaviest first */
    int32_t out_count;
    int32_t *near; /* boxes in place that live together with the one at hand */
    int32_t near_count;
    int32_t *peers;      /* of few boxes: those that live together with box i are */
    int32_t *peer_first; /* peers[peer_first[i]] up to peers[peer_first[i + 1]]; or NULL */
    spad__row *rows;     /* where the cost of an offset changes, and by how much */
    int64_t looks;
    int64_t steps;
};

/* ---- building ---------------------------------------------------------------------- */

static int32_t class_of(int32_t width) {
    spad__assert(width > 0);
    return 31 - __builtin_clz((unsigned)width);
}

/* In 1/256: the logarithm of the area. */
static int32_t log_area(const eject_box *b) {
    return spad__log2(b->size) + spad__log2(b->end - b->begin);
}

/* A power of the area: large and long boxes are hard to place. Steady: its square root; roaming:
 * area^0.7, in proportion where that would be too large. */
static int64_t weight_of(const spad__ejector *e, const eject_box *b, int32_t largest) {
    int32_t log = 1024 + log_area(b) / 2;
    if (e->style == SPAD__EJECT_ROAMING) {
        const int32_t top = (int32_t)spad__min(1024 + largest * 7 / 10, LOG_MOST_FIRST);
        log = (int32_t)spad__max(top - (largest - log_area(b)) * 7 / 10, 0);
    }
    const int32_t whole = log / 256;
    return whole < 30 ? (INT64_C(256) + log % 256) << whole >> 8 : most_weight;
}

static bool allocate_ejector(spad__ejector *e) {
    const size_t n = (size_t)e->count;
    e->boxes = spad__arena_array(&e->arena, n, sizeof *e->boxes);
    e->origin = spad__arena_array(&e->arena, n, sizeof *e->origin);
    e->out = spad__arena_array(&e->arena, n, sizeof *e->out);
    e->near = spad__arena_array(&e->arena, n, sizeof *e->near);
    e->rows = spad__arena_array(&e->arena, n, 4 * sizeof *e->rows);
    return e->boxes != NULL && e->origin != NULL && e->out != NULL && e->near != NULL &&
           e->rows != NULL;
}

static void sort_boxes(spad__ejector *e, const spad__boxes *b) {
    int32_t next[CLASSES] = {0};
    for (int32_t i = 0; i < b->count; i++) next[class_of(b->end[i] - b->begin[i])]++;
    for (int32_t c = 0; c < CLASSES; c++) {
        e->first[c + 1] = e->first[c] + next[c];
        next[c] = e->first[c];
    }
    for (int32_t i = 0; i < b->count; i++) {
        const int32_t k = next[class_of(b->end[i] - b->begin[i])]++;
        e->boxes[k] = (eject_box){.begin = b->begin[i], .end = b->end[i], .size = b->size[i]};
        e->origin[k] = i;
    }
    int32_t largest = 0;
    for (int32_t k = 0; k < e->count; k++)
        largest = (int32_t)spad__max(largest, log_area(&e->boxes[k]));
    for (int32_t k = 0; k < e->count; k++) {
        e->boxes[k].first_weight = weight_of(e, &e->boxes[k], largest);
        spad__assert(e->boxes[k].first_weight > 0 && e->boxes[k].first_weight <= most_weight);
    }
}

static bool live_together(const eject_box *a, const eject_box *b) {
    return a->begin < b->end && b->begin < a->end;
}

/* Of few boxes, lists for each of them the others that live together with it. */
static bool list_peers(spad__ejector *e) {
    size_t pairs = 0;
    if (e->count > MOST_WITH_PEERS) return true;
    for (int32_t i = 0; i < e->count; i++)
        for (int32_t j = 0; j < i; j++) pairs += live_together(&e->boxes[i], &e->boxes[j]);
    e->peers = spad__arena_array(&e->arena, 2 * pairs + 1, sizeof *e->peers);
    e->peer_first = spad__arena_array(&e->arena, (size_t)e->count + 1, sizeof *e->peer_first);
    if (e->peers == NULL || e->peer_first == NULL) return false;
    int32_t count = 0;
    for (int32_t i = 0; i < e->count; i++) {
        e->peer_first[i] = count;
        for (int32_t j = 0; j < e->count; j++)
            if (j != i && live_together(&e->boxes[i], &e->boxes[j])) e->peers[count++] = j;
    }
    e->peer_first[e->count] = count;
    return true;
}

/* ---- boxes that are out ------------------------------------------------------------ */

static bool heavier(const spad__ejector *e, int32_t i, int32_t j) {
    const int64_t x = e->boxes[i].weight;
    const int64_t y = e->boxes[j].weight;
    return x != y ? x > y : i < j;
}

SPAD__HEAP(out_heap, const spad__ejector *, int32_t, heavier, SPAD__HEAP_PUT)

static void take_out(spad__ejector *e, int32_t i) {
    spad__assert(i >= 0 && i < e->count && e->out_count < e->count);
    e->boxes[i].offset = -1;
    e->out[e->out_count] = i;
    out_heap_up(e, e->out, (size_t)e->out_count++);
}

/* The heaviest box; when roaming, the heaviest of a random few, so that the same boxes do not take
 * turns. */
static int32_t next_to_place(spad__ejector *e) {
    spad__assert(e->out_count > 0);
    size_t best = 0;
    if (e->style == SPAD__EJECT_ROAMING) {
        best = spad__random_below(e->random, (uint64_t)e->out_count);
        for (int32_t k = 1; k < OUT_SAMPLES; k++) {
            const size_t at = spad__random_below(e->random, (uint64_t)e->out_count);
            if (heavier(e, e->out[at], e->out[best])) best = at;
        }
    }
    const int32_t box = e->out[best];
    const size_t last = (size_t)--e->out_count;
    if (best == last) return box;
    e->out[best] = e->out[last];
    out_heap_down(e, e->out, last, best);
    out_heap_up(e, e->out, best);
    return box;
}

/* ---- a place for a box ------------------------------------------------------------- */

/* The first box of a class that begins at `begin` or later. */
static int32_t first_from(const spad__ejector *e, int32_t class_number, int64_t begin) {
    int32_t low = e->first[class_number];
    int32_t high = e->first[class_number + 1];
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (e->boxes[middle].begin < begin)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void list_near_peers(spad__ejector *e, int32_t i) {
    const int32_t *const peers = e->peers;
    const int32_t stop = e->peer_first[i + 1];
    int32_t count = 0;
    for (int32_t k = e->peer_first[i]; k < stop; k++) {
        e->near[count] = peers[k];
        count += e->boxes[peers[k]].offset >= 0;
    }
    e->near_count = count;
    e->looks += count + CLASSES;
}

/* Lists the boxes in place that live together with box i, which is out. */
static void list_near(spad__ejector *e, int32_t i) {
    if (e->peers != NULL) {
        list_near_peers(e, i);
        return;
    }
    const int32_t begin = e->boxes[i].begin;
    const int32_t end = e->boxes[i].end;
    e->near_count = 0;
    for (int32_t c = 0; c < CLASSES; c++) {
        const int32_t stop = e->first[c + 1];
        if (e->first[c] == stop) continue;
        int32_t j = first_from(e, c, begin - (INT64_C(2) << c) + 1);
        for (; j < stop && e->boxes[j].begin < end; j++)
            if (e->boxes[j].end > begin && e->boxes[j].offset >= 0) e->near[e->near_count++] = j;
    }
    e->looks += e->near_count + CLASSES;
}

/* Offsets of box i where its cost changes: a neighbour is in its way from just above
 * offset - size of i up to its top. Returns the cost at offset 0. */
static int64_t list_changes(spad__ejector *e, int64_t size, int64_t highest, size_t *count) {
    int64_t cost = 0;
    *count = 0;
    for (int32_t k = 0; k < e->near_count; k++) {
        const eject_box *near = &e->boxes[e->near[k]];
        const int64_t from = near->offset - size + 1;
        const int64_t until = near->offset + near->size;
        const int32_t weight = (int32_t)near->weight;
        if (from <= 0)
            cost += weight;
        else if (from <= highest)
            e->rows[(*count)++] = (spad__row){(uint64_t)from, weight};
        if (until <= highest) e->rows[(*count)++] = (spad__row){(uint64_t)until, -weight};
    }
    spad__sort_rows(e->rows, e->rows + 2 * (size_t)e->count, *count);
    return cost;
}

/* Roaming, a cost with noise: up to three quarters as much again. */
static int64_t noisy(spad__ejector *e, int64_t cost) {
    if (e->style != SPAD__EJECT_ROAMING || cost == 0) return cost;
    const int64_t part = (int64_t)spad__random_below(e->random, 192);
    return cost + (cost >> 8) * part + ((cost & 255) * part >> 8);
}

/* The cheapest offset of box i at most `highest`, of equal ones the one in the
 * shortest stretch of that cost, at either end of it. *free: nothing is in the way there. */
static int64_t find_place(spad__ejector *e, int32_t i, int64_t highest, bool *free) {
    spad__assert(e->boxes[i].offset < 0 && highest >= 0);
    size_t count;
    int64_t cost = list_changes(e, e->boxes[i].size, highest, &count);
    int64_t offset = 0;
    int64_t shortest = INT64_MAX;
    int64_t least = INT64_MAX;
    int64_t from = 0;
    for (size_t k = 0; from <= highest;) {
        const int64_t until = k < count ? (int64_t)e->rows[k].key : highest + 1;
        if (until > from && cost <= least) {
            const int64_t here = noisy(e, cost);
            if (here < least || (here == least && until - from < shortest)) {
                least = here;
                shortest = until - from;
                offset = spad__random_next(e->random) & 1 ? from : until - 1;
            }
        }
        spad__assert(until >= from); /* changes are sorted */
        from = until;
        if (k == count) break;
        cost += e->rows[k++].value;
        spad__assert(cost >= 0);
    }
    *free = least == 0;
    return offset;
}

/* Places box i at an offset and takes out the boxes in its way. */
static void put_in(spad__ejector *e, int32_t i, int64_t offset) {
    spad__assert(e->boxes[i].offset < 0 && offset >= 0);
    const int64_t top = offset + e->boxes[i].size;
    for (int32_t k = 0; k < e->near_count; k++) {
        const eject_box *near = &e->boxes[e->near[k]];
        if (near->offset < top && offset < near->offset + near->size) take_out(e, e->near[k]);
    }
    e->boxes[i].offset = offset;
}

/* ---- one target --------------------------------------------------------------------- */

void spad__ejector_forget(spad__ejector *e) {
    for (int32_t k = 0; k < e->count; k++) e->boxes[k].weight = e->boxes[k].first_weight;
}

/* All boxes are in place below the target, and no two collide. */
static bool boxes_are_valid(const spad__ejector *e, int64_t target) {
    for (int32_t i = 0; i < e->count; i++) {
        const eject_box *a = &e->boxes[i];
        if (a->offset < 0 || a->offset + a->size > target) return false;
        for (int32_t j = 0; j < i; j++) {
            const eject_box *b = &e->boxes[j];
            if (a->begin < b->end && b->begin < a->end && a->offset < b->offset + b->size &&
                b->offset < a->offset + a->size)
                return false;
        }
    }
    return true;
}

void spad__ejector_start(spad__ejector *e, const int64_t *offset, int64_t target) {
    e->out_count = 0;
    for (int32_t k = 0; k < e->count; k++) {
        eject_box *b = &e->boxes[k];
        b->offset = offset != NULL ? offset[e->origin[k]] : target;
        if (b->offset + b->size > target) take_out(e, k);
    }
}

/* Puts the next box in. */
static void eject_step(spad__ejector *e, int64_t target) {
    const int32_t i = next_to_place(e);
    eject_box *b = &e->boxes[i];
    spad__assert(b->size <= target);
    list_near(e, i);
    bool free;
    const int64_t offset = find_place(e, i, target - b->size, &free);
    if (!free) b->weight = spad__min(b->weight + 2 * b->first_weight, most_weight);
    put_in(e, i, offset);
}

bool spad__ejector_run(spad__ejector *e, int64_t target, const spad__eject_limits *limits) {
    const int64_t until = e->looks + limits->looks;
    for (int64_t step = 0; e->out_count > 0; step++) {
        if (e->looks > until || step >= limits->steps || e->out_count > limits->out) return false;
        if (step % STEPS_PER_CLOCK_CHECK == 0 && spad__stopped(e->stop)) return false;
        eject_step(e, target);
        e->steps++;
    }
    spad__assert_valid(e->count > SPAD__FEW || boxes_are_valid(e, target));
    return true;
}

int64_t spad__ejector_plan(const spad__ejector *e, int64_t *offset) {
    int64_t height = 0;
    for (int32_t k = 0; k < e->count; k++) {
        spad__assert(e->boxes[k].offset >= 0); /* none is out */
        offset[e->origin[k]] = e->boxes[k].offset;
        height = spad__max(height, e->boxes[k].offset + e->boxes[k].size);
    }
    return height;
}

int64_t spad__ejector_steps(const spad__ejector *e) {
    return e->steps;
}

/* ---- life --------------------------------------------------------------------------- */

spad__ejector *spad__ejector_create(const spad__boxes *boxes, const spad_host *host,
                                    spad__eject_style style, spad__random *random,
                                    spad__stop *stop) {
    spad__ejector *e = spad__new(host, sizeof *e);
    if (e == NULL) return NULL;
    *e = (spad__ejector){.host = *host,
                         .arena.host = *host,
                         .random = random,
                         .stop = stop,
                         .style = style,
                         .count = boxes->count};
    if (!allocate_ejector(e)) {
        spad__ejector_destroy(e);
        return NULL;
    }
    sort_boxes(e, boxes);
    if (!list_peers(e)) {
        spad__ejector_destroy(e);
        return NULL;
    }
    spad__ejector_forget(e);
    return e;
}

void spad__ejector_destroy(spad__ejector *e) {
    if (e == NULL) return;
    const spad_host host = e->host;
    spad__arena_free(&e->arena);
    spad__free(&host, e, sizeof *e);
}

/* ---- the ladder --------------------------------------------------------------------- */

/* From the plan of a pack; whether the target was reached. */
static bool reach(spad__ejector *e, const spad__pack *p, int64_t target, int64_t looks) {
    spad__ejector_start(e, p->offset, target);
    const int32_t most_out = 4 * e->out_count + MOST_OUT;
    for (const int64_t until = e->looks + looks; e->looks <= until;) {
        const spad__eject_limits limits = {until - e->looks, INT64_MAX, most_out};
        if (spad__ejector_run(e, target, &limits)) return true;
        if (spad__stopped(e->stop)) return false;
        if (e->out_count > most_out) spad__ejector_start(e, p->offset, target);
    }
    return false;
}

/* Half of the way to the bound, as often as that works; an eighth; then all of it, which is the
 * hardest by far. */
static void climb(spad__ejector *e, spad__pack *p, int64_t looks) {
    static const int64_t eighths[] = {4, 7, 0}; /* of the way from the bound to the plan */
    for (int32_t rung = 0; rung < 3;) {
        if (p->height <= p->enough || spad__stopped(p->stop)) return;
        const int64_t target = p->enough + (p->height - p->enough) * eighths[rung] / 8;
        if (reach(e, p, target, looks)) {
            p->height = spad__ejector_plan(e, p->offset);
        } else {
            spad__ejector_forget(e);
            rung++;
        }
    }
}

bool spad__eject(spad__pack *pack, int64_t looks) {
    spad__ejector *e =
        spad__ejector_create(pack->boxes, pack->host, SPAD__EJECT_STEADY, pack->random, pack->stop);
    if (e == NULL) return false;
    climb(e, pack, looks);
    spad__ejector_destroy(e);
    return true;
}
