/* SPDX-License-Identifier: Apache-2.0
 *
 * The greedy skyline: first answers at any scale, and all there is beyond the
 * reach of the exact search.
 *
 * The skyline is a list of runs of sections with one floor. Take the lowest
 * run; it is a valley, since its neighbours are higher. Put the unplaced box
 * of highest priority that is inside it on its floor; if none fits, raise
 * the run to its lower neighbour and join the two. Priorities are a mixture of size and lifetime
 * with noise, so that passes with other mixtures give other plans.
 *
 * "The best box inside [l, r)" is a search in a tree over the boxes in order
 * of begin: every node knows the least end and the best priority of the
 * unplaced boxes below it. A node whose least end is at most r has a box
 * inside, so the first descent always finds one when there is one; further
 * descents look for a better one, within a fixed number of steps. Every box
 * is placed once and every raise removes a run, so a pass is O(n log n) time
 * and O(n) memory. The conflict graph is never built.
 *
 * Some boxes may have a pinned offset: they wait in a queue, lowest first. No other
 * box is put where it would reach above the offset of a waiting box over it, no run is
 * raised above it, and when the lowest run reaches that offset the box is put down.
 * That examines the waiting boxes up to the top of every box that is tried; a pass that
 * examines too many is given up.
 */
#include "plan/search/skyline.h"

#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "base/heap.h"
#include "base/random.h"
#include "plan/problem/sort.h"
#include "plan/problem/units.h"

enum {
    LEAF = 8,               /* boxes per leaf of the tree */
    SEARCH_STEPS = 4096,    /* nodes examined to improve on the first box found */
    EXAMINED_PER_BOX = 300, /* waiting boxes, on average */
    STOP_BOXES = 1024,      /* placed between two readings of the clock */
    GONE = INT32_MAX,       /* end of a placed box */
    WORST = INT32_MIN
};

/* A run [l, r) is kept at its two ends: runs[l].end = r, runs[r - 1].begin = l;
 * runs[l] has its floor. heap[runs[l].heap] is its place in the heap. */
typedef struct skyline_run {
    int64_t floor;
    int32_t end;
    int32_t begin;
    int32_t heap;
} skyline_run;

typedef struct node {
    int32_t least_end;
    int32_t best;
} node;

/* tree[1] is the root, tree[k] has the children tree[2k] and tree[2k + 1];
 * leaf j of `leaves` covers boxes [LEAF * j, LEAF * (j + 1)). */
struct spad__skyline {
    spad__arena arena;
    const spad__boxes *boxes;
    int32_t leaves; /* a power of two */
    node *tree;
    int32_t *end; /* GONE once placed */
    int32_t *priority;
    skyline_run *runs;
    int32_t *heap; /* begins of runs, lowest floor first */
    int32_t heap_count;
    /* boxes with a pinned offset, lowest first; -1 once placed */
    const int64_t *fixed; /* per box; -1: free */
    int32_t *queue;
    int32_t queue_next; /* all before it are placed */
    int32_t queue_count;
    int32_t fixed_begin; /* they all live in these sections */
    int32_t fixed_end;
    spad__row *rows; /* room to sort them: a pass has no memory to ask for */
    int64_t looked;  /* waiting boxes examined in this pass; it is given up beyond a limit */
};

static size_t box_room(const spad__skyline *s) {
    return (size_t)s->leaves * LEAF;
}

spad__skyline *spad__skyline_create(const spad__boxes *boxes, const spad_host *host) {
    spad__arena arena = {.host = *host};
    spad__skyline *s = spad__arena_new(&arena, sizeof *s);
    if (s == NULL) return NULL;
    s->boxes = boxes;
    s->leaves = 1;
    while (s->leaves * LEAF < boxes->count) s->leaves *= 2;
    const size_t sections = (size_t)boxes->sections + 1;
    s->tree = spad__arena_array(&arena, (size_t)s->leaves, 2 * sizeof *s->tree);
    s->end = spad__arena_array(&arena, box_room(s), sizeof *s->end);
    s->priority = spad__arena_array(&arena, box_room(s), sizeof *s->priority);
    s->runs = spad__arena_array(&arena, sections, sizeof *s->runs);
    s->heap = spad__arena_array(&arena, sections, sizeof *s->heap);
    s->queue = spad__arena_array(&arena, box_room(s), sizeof *s->queue);
    s->rows = spad__arena_array(&arena, box_room(s), 2 * sizeof *s->rows);
    s->arena = arena;
    if (s->tree != NULL && s->end != NULL && s->priority != NULL && s->runs != NULL &&
        s->heap != NULL && s->queue != NULL && s->rows != NULL)
        return s;
    spad__skyline_destroy(s);
    return NULL;
}

void spad__skyline_destroy(spad__skyline *s) {
    if (s == NULL) return;
    spad__arena arena = s->arena; /* has the skyline itself */
    spad__arena_free(&arena);
}

/* ---- boxes with a pinned offset ----------------------------------------------------- */

static bool overlaps_section(const spad__boxes *b, int32_t i, int32_t begin, int32_t end) {
    return b->begin[i] < end && begin < b->end[i];
}

/* The offset of the lowest waiting box over [begin, end), if it is below `limit`. */
static int64_t lowest_fixed(spad__skyline *s, int32_t begin, int32_t end, int64_t limit) {
    if (end <= s->fixed_begin || begin >= s->fixed_end) return limit;
    for (int32_t k = s->queue_next; k < s->queue_count; k++) {
        const int32_t i = s->queue[k];
        if (i < 0) continue;
        if (s->fixed[i] >= limit) break;
        s->looked++;
        if (overlaps_section(s->boxes, i, begin, end)) return s->fixed[i];
    }
    return limit;
}

/* A waiting box whose offset is the floor of the run [l, r), or -1. No floor under a
 * waiting box is above its offset, and none is below the lowest run: so it is inside. */
static int32_t take_due(spad__skyline *s, int32_t l, int32_t r, int64_t floor) {
    while (s->queue_next < s->queue_count && s->queue[s->queue_next] < 0) s->queue_next++;
    for (int32_t k = s->queue_next; k < s->queue_count; k++) {
        const int32_t i = s->queue[k];
        if (i < 0) continue;
        if (s->fixed[i] > floor) break;
        if (s->boxes->begin[i] < l || s->boxes->begin[i] >= r) continue;
        s->queue[k] = -1;
        return i;
    }
    return -1;
}

/* ---- the tree ---------------------------------------------------------------------- */

static node leaf_summary(const spad__skyline *s, int32_t leaf) {
    node sum = {GONE, WORST};
    for (int32_t i = leaf * LEAF; i < (leaf + 1) * LEAF; i++) {
        if (s->end[i] == GONE) continue;
        if (s->end[i] < sum.least_end) sum.least_end = s->end[i];
        if (s->priority[i] > sum.best) sum.best = s->priority[i];
    }
    return sum;
}

static node join(node a, node b) {
    return (node){a.least_end < b.least_end ? a.least_end : b.least_end,
                  a.best > b.best ? a.best : b.best};
}

static void build_tree(spad__skyline *s) {
    for (int32_t j = 0; j < s->leaves; j++) s->tree[s->leaves + j] = leaf_summary(s, j);
    for (int32_t k = s->leaves - 1; k >= 1; k--)
        s->tree[k] = join(s->tree[2 * k], s->tree[2 * k + 1]);
}

static void remove_box(spad__skyline *s, int32_t box) {
    spad__assert(s->end[box] != GONE || (s->fixed != NULL && s->fixed[box] >= 0)); /* once only */
    s->end[box] = GONE;
    int32_t k = s->leaves + box / LEAF;
    s->tree[k] = leaf_summary(s, box / LEAF);
    while (k > 1) {
        k /= 2;
        const node sum = join(s->tree[2 * k], s->tree[2 * k + 1]);
        if (sum.least_end == s->tree[k].least_end && sum.best == s->tree[k].best) return;
        s->tree[k] = sum;
    }
}

typedef struct box_search {
    int32_t from; /* boxes [from, until) begin inside the valley */
    int32_t until;
    int32_t end; /* and must end by here */
    int32_t best;
    int32_t box; /* -1: none yet */
    int32_t steps;
    int64_t floor;
} box_search;

/* Whether no box below a node is inside and better than the one that was found. */
static bool is_useless(const box_search *q, node below) {
    return below.least_end > q->end || (q->box >= 0 && below.best <= q->best);
}

static void search_leaf(spad__skyline *s, box_search *q, int32_t leaf) {
    if (is_useless(q, s->tree[s->leaves + leaf])) return;
    const int32_t stop = (leaf + 1) * LEAF < q->until ? (leaf + 1) * LEAF : q->until;
    for (int32_t i = leaf * LEAF > q->from ? leaf * LEAF : q->from; i < stop; i++) {
        if (s->end[i] > q->end || (q->box >= 0 && s->priority[i] <= q->best)) continue;
        const int64_t top = q->floor + s->boxes->size[i];
        if (lowest_fixed(s, s->boxes->begin[i], s->boxes->end[i], top) < top) continue;
        q->box = i;
        q->best = s->priority[i];
    }
}

/* Looks below one node whose boxes all begin inside, better child first. */
static void search_below(spad__skyline *s, box_search *q, int32_t top) {
    int32_t stack[64];
    int32_t depth = 0;
    stack[depth++] = top;
    while (depth > 0) {
        const int32_t k = stack[--depth];
        if (is_useless(q, s->tree[k]) || (q->box >= 0 && q->steps <= 0)) continue;
        if (s->looked > s->boxes->count * (int64_t)EXAMINED_PER_BOX) return;
        q->steps--;
        if (k >= s->leaves) {
            search_leaf(s, q, k - s->leaves);
            continue;
        }
        const int32_t left_first = s->tree[2 * k].best >= s->tree[2 * k + 1].best;
        stack[depth++] = 2 * k + left_first;
        stack[depth++] = 2 * k + !left_first;
        spad__assert(depth < 64); /* one more per level, and there are at most 31 */
    }
}

/* The box of high priority inside [l, r), or -1 when none exists. */
static int32_t find_box(spad__skyline *s, int32_t l, int32_t r) {
    box_search q = {.from = s->boxes->first[l],
                    .until = s->boxes->first[r],
                    .end = r,
                    .floor = s->runs[l].floor,
                    .box = -1,
                    .steps = SEARCH_STEPS};
    if (q.from == q.until) return -1;
    const int32_t first_leaf = q.from / LEAF;
    const int32_t last_leaf = (q.until - 1) / LEAF;
    search_leaf(s, &q, first_leaf);
    if (last_leaf != first_leaf) search_leaf(s, &q, last_leaf);
    /* the leaves between them, as O(log n) whole subtrees */
    int32_t a = s->leaves + first_leaf + 1;
    int32_t b = s->leaves + last_leaf;
    for (; a < b; a /= 2, b /= 2) {
        if (a & 1) search_below(s, &q, a++);
        if (b & 1) search_below(s, &q, --b);
    }
    return q.box;
}

/* ---- the heap of runs -------------------------------------------------------------- */

static bool is_lower_run(const spad__skyline *s, int32_t a, int32_t b) {
    const int64_t x = s->runs[a].floor;
    const int64_t y = s->runs[b].floor;
    return x != y ? x < y : a < b;
}

static void heap_put(spad__skyline *s, int32_t *heap, size_t at, int32_t l) {
    spad__assert(at < (size_t)s->boxes->sections && l >= 0 && l < s->boxes->sections);
    heap[at] = l;
    s->runs[l].heap = (int32_t)at;
}

SPAD__HEAP(run_heap, spad__skyline *, int32_t, is_lower_run, heap_put)

static void heap_add(spad__skyline *s, int32_t l) {
    s->heap[s->heap_count] = l;
    run_heap_up(s, s->heap, (size_t)s->heap_count++);
}

static void heap_remove(spad__skyline *s, int32_t l) {
    spad__assert(s->heap_count > 0 && s->heap[s->runs[l].heap] == l);
    const int32_t at = s->runs[l].heap;
    const int32_t last = s->heap[--s->heap_count];
    if (last == l) return;
    s->heap[at] = last;
    run_heap_up(s, s->heap, (size_t)at);
    run_heap_down(s, s->heap, (size_t)s->heap_count, (size_t)s->runs[last].heap);
}

/* ---- runs -------------------------------------------------------------------------- */

static void set_run(spad__skyline *s, int32_t l, int32_t r, int64_t floor) {
    spad__assert(0 <= l && l < r && r <= s->boxes->sections && floor >= 0);
    s->runs[l].floor = floor;
    s->runs[l].end = r;
    s->runs[r - 1].begin = l;
}

/* Joins the run at l with neighbours of the same floor; it is in the heap. */
static void join_level(spad__skyline *s, int32_t l) {
    const int64_t floor = s->runs[l].floor;
    const int32_t r = s->runs[l].end;
    if (r < s->boxes->sections && s->runs[r].floor == floor) {
        heap_remove(s, r);
        set_run(s, l, s->runs[r].end, floor);
    }
    if (l == 0) return;
    const int32_t left = s->runs[l - 1].begin;
    if (s->runs[left].floor != floor) return;
    heap_remove(s, l);
    set_run(s, left, s->runs[l].end, floor);
}

/* Raises the lowest run to its lower neighbour, or to a waiting box over it. False: neither
 * exists, or the waiting box can no longer be placed: it begins left of the run, where another box
 * with a pinned offset already has its bytes. */
static bool raise_run(spad__skyline *s, int32_t l) {
    const int32_t r = s->runs[l].end;
    int64_t wall = INT64_MAX;
    if (l > 0) wall = s->runs[s->runs[l - 1].begin].floor;
    if (r < s->boxes->sections) wall = spad__min(wall, s->runs[r].floor);
    wall = lowest_fixed(s, l, r, wall);
    if (wall == INT64_MAX) return false;
    if (wall <= s->runs[l].floor) return false;
    /* Neighbours of one floor are joined: the variant of a pass that places nothing is the number
     * of runs and of floors that a waiting box has. */
    s->runs[l].floor = wall;
    run_heap_down(s, s->heap, (size_t)s->heap_count, (size_t)s->runs[l].heap);
    join_level(s, l);
    return true;
}

/* Puts a box on the run at l and cuts the run. */
static void put_box(spad__skyline *s, int32_t l, int32_t box) {
    const int32_t a = s->boxes->begin[box];
    const int32_t b = s->boxes->end[box];
    const int32_t r = s->runs[l].end;
    const int64_t floor = s->runs[l].floor;
    spad__assert(l <= a && a < b && b <= r); /* it is inside */
    if (b < r) {
        set_run(s, b, r, floor);
        heap_add(s, b);
    }
    if (a > l) {
        set_run(s, l, a, floor);
        set_run(s, a, b, floor + s->boxes->size[box]);
        heap_add(s, a);
    } else {
        set_run(s, l, b, floor + s->boxes->size[box]);
        run_heap_down(s, s->heap, (size_t)s->heap_count, (size_t)s->runs[l].heap);
    }
    join_level(s, a);
}

/* ---- a pass ------------------------------------------------------------------------ */

static void start_skyline(spad__skyline *s, const spad__preference *preference, uint64_t seed) {
    const spad__boxes *b = s->boxes;
    spad__random random = {seed};
    for (int32_t i = 0; i < b->count; i++) {
        int64_t priority = (int64_t)preference->size * spad__log2(b->size[i]) +
                           (int64_t)preference->width * spad__log2(b->end[i] - b->begin[i]);
        priority /= 256;
        if (preference->noise > 0) priority += spad__random_in(&random, 0, preference->noise);
        s->priority[i] = (int32_t)priority;
        s->end[i] = b->end[i];
    }
    for (size_t i = (size_t)b->count; i < box_room(s); i++) s->end[i] = GONE;
    for (int32_t k = 0; k < s->queue_count; k++) s->end[s->queue[k]] = GONE;
    build_tree(s);
    s->heap_count = 0;
    set_run(s, 0, b->sections, 0);
    heap_add(s, 0);
}

/* Lists the boxes with a pinned offset, lowest first. */
static void queue_fixed(spad__skyline *s, const int64_t *fixed) {
    const int32_t n = s->boxes->count;
    s->fixed = fixed;
    s->queue_next = s->queue_count = 0;
    s->looked = 0;
    s->fixed_begin = INT32_MAX;
    s->fixed_end = 0;
    if (fixed == NULL) return;
    spad__row *rows = s->rows;
    for (int32_t i = 0; i < n; i++)
        if (fixed[i] >= 0) rows[s->queue_count++] = (spad__row){(uint64_t)fixed[i], i};
    spad__sort_rows(rows, rows + n, (size_t)s->queue_count);
    for (int32_t k = 0; k < s->queue_count; k++) {
        const int32_t i = rows[k].value;
        s->queue[k] = i;
        if (s->boxes->begin[i] < s->fixed_begin) s->fixed_begin = s->boxes->begin[i];
        if (s->boxes->end[i] > s->fixed_end) s->fixed_end = s->boxes->end[i];
    }
}

/* The runs cover the sections, neighbours have different floors, each knows its place in the heap,
 * and the heap is one. */
static bool skyline_is_valid(const spad__skyline *s) {
    int32_t runs = 0;
    for (int32_t l = 0; l < s->boxes->sections; l = s->runs[l].end) {
        const int32_t r = s->runs[l].end;
        if (r <= l || r > s->boxes->sections || s->runs[r - 1].begin != l) return false;
        if (s->runs[l].heap >= s->heap_count || s->heap[s->runs[l].heap] != l) return false;
        if (r < s->boxes->sections && s->runs[r].floor == s->runs[l].floor) return false;
        runs++;
    }
    for (int32_t at = 1; at < s->heap_count; at++) {
        if (is_lower_run(s, s->heap[at], s->heap[(at - 1) / 2])) return false;
    }
    return runs == s->heap_count;
}
int64_t spad__skyline_pass(spad__skyline *s, const spad__preference *preference, uint64_t seed,
                           const int64_t *fixed, int64_t limit, spad__stop *stop, int64_t *offset) {
    queue_fixed(s, fixed);
    start_skyline(s, preference, seed);
    int64_t height = 0;
    for (int32_t left = s->boxes->count; left > 0;) {
        spad__assert(s->heap_count > 0); /* the runs cover all sections */
        const int32_t l = s->heap[0];
        const int32_t r = s->runs[l].end;
        if (s->looked > s->boxes->count * (int64_t)EXAMINED_PER_BOX) return -1;
        if (left % STOP_BOXES == 0 && stop != NULL && spad__stopped(stop)) return -1;
        int32_t box = take_due(s, l, r, s->runs[l].floor);
        if (box < 0) box = find_box(s, l, r);
        if (box < 0) {
            if (!raise_run(s, l)) return -1;
            continue;
        }
        const int64_t floor = s->runs[l].floor;
        const bool pinned = fixed != NULL && fixed[box] >= 0;
        if (pinned && (fixed[box] != floor || s->boxes->end[box] > r)) return -1; /* no plan */
        offset[box] = floor;
        height = spad__max(height, floor + s->boxes->size[box]);
        if (height > limit) return -1;
        put_box(s, l, box);
        remove_box(s, box);
        left--;
        spad__assert_valid(s->boxes->count > SPAD__FEW || skyline_is_valid(s));
    }
    return height;
}
