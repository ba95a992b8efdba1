/* SPDX-License-Identifier: Apache-2.0
 *
 * The bound of spaces with several lanes.
 *
 * On every lane the tiles that take it at one moment are one above the other, so the height is at
 * least the bytes on any lane. Where a tile goes is not known, but which lanes it may take is.
 *
 * Points. Choose k lanes. A tile of n lanes takes at least c(n) of them, the least over all its
 * start lanes. Summed over the k lanes, the bytes of a moment are at least the sum of bytes x c(n),
 * so some of these lanes has at least a k-th of it. One lane in the middle counts the tiles on more
 * than half of the lanes, no two of them side by side, in full; the start lanes of a rule
 * count a tile of one lane as the whole quadrant that no other tile can then use.
 *
 * Stacks. Tiles that cannot be side by side are one above the other: all tiles that always take a
 * common lane, and one more that does not fit next to any of them.
 *
 * When all offsets are multiples of A and all buffers are in use as a whole, sizes count rounded
 * up, less the largest rounding in the section, on each lane as on a space of one (bound.c).
 *
 * The sums are also right for alias groups, where only the heaviest piece counts; a group
 * is never the one more of a stack, as its other pieces may be in the stack.
 *
 * O(pieces x sets of points) and O(pieces log pieces) for at most WIDTHS stacks.
 */
#include "plan/bound/lanes.h"

#include "base/assert.h"
#include "base/checked.h"
#include "plan/bound/loads.h"

enum {
    POINTS = 64, /* lanes of a set; a rule with more starts is not looked at */
    EVEN_SETS = 3,
    WIDTHS = 4 /* different numbers of lanes at which a stack is cut */
};

typedef struct lane_set {
    int32_t count;
    int64_t lane[POINTS];
} lane_set;

/* Shared by all sums; per section where it is an array. */
typedef struct survey {
    const spad__model *m;
    int64_t rounding;
    int64_t *loads;
    int64_t *largest;
    int64_t *trims;
    spad__row *rows;
    size_t row_count;
    spad__lane_bound *bound;
} survey;

/* ---- start lanes ------------------------------------------------------------------- */

static bool has_lane_rules(const spad_plan *plan) {
    return plan->space != NULL && plan->space->lane_rule_count > 0;
}

static int32_t points_in(const lane_set *set, int64_t start, int64_t lanes) {
    int32_t count = 0;
    for (int32_t k = 0; k < set->count; k++)
        count += start <= set->lane[k] && set->lane[k] - start < lanes;
    return count;
}

/* The least number of points that a tile takes. Without rules it is found at lane 0 or right after
 * a point, since it only falls where the first lane passes one. */
static int32_t least_points(const spad_plan *plan, const lane_set *set, int64_t lanes) {
    int64_t start = spad__plan_start_lane(plan, lanes, 0);
    int32_t least = start < 0 ? 0 : points_in(set, start, lanes);
    if (!has_lane_rules(plan)) {
        for (int32_t k = 0; k < set->count; k++)
            if (set->lane[k] + 1 <= plan->lanes - lanes) {
                const int32_t count = points_in(set, set->lane[k] + 1, lanes);
                if (count < least) least = count;
            }
        return least;
    }
    while (start >= 0) {
        const int32_t count = points_in(set, start, lanes);
        if (count < least) least = count;
        start = spad__plan_start_lane(plan, lanes, start + 1);
    }
    return least;
}

bool spad__lanes_force(const spad_plan *plan, int64_t lanes, int64_t lane) {
    const lane_set set = {.count = 1, .lane = {lane}};
    return least_points(plan, &set, lanes) == 1;
}

static int64_t last_start(const spad_plan *plan, int64_t lanes) {
    if (!has_lane_rules(plan)) return plan->lanes - lanes;
    int64_t last = -1;
    for (int64_t start = spad__plan_start_lane(plan, lanes, 0); start >= 0;
         start = spad__plan_start_lane(plan, lanes, start + 1))
        last = start;
    return last;
}

/* Whether a tile of a lanes can be side by side with one of b lanes. */
static bool fit_beside(const spad_plan *plan, int64_t a, int64_t b) {
    return spad__plan_start_lane(plan, a, 0) + a <= last_start(plan, b) ||
           spad__plan_start_lane(plan, b, 0) + b <= last_start(plan, a);
}

/* ---- sums over sections ------------------------------------------------------------ */

/* Sizes as they are, or rounded up. */
static bool sized(const spad__piece *piece, int64_t rounding, int64_t *out) {
    return spad__align_up(piece->hi - piece->lo, rounding, out);
}

typedef struct points_weight {
    const lane_set *set;
    int64_t rounding;
    int64_t lanes; /* of the last piece, */
    int64_t least; /* and the bytes that they take */
} points_weight;

static bool weigh_points(void *context, const spad__model *m, const spad__piece *piece,
                         int64_t *out) {
    points_weight *w = context;
    if (piece->lanes != w->lanes) {
        w->lanes = piece->lanes;
        w->least = least_points(m->plan, w->set, piece->lanes);
    }
    return sized(piece, w->rounding, out) && spad__mul(*out, w->least, out);
}

static bool weigh_trim(void *context, const spad__model *m, const spad__piece *piece,
                       int64_t *out) {
    const int64_t rounding = *(const int64_t *)context;
    (void)m;
    const int64_t rest = (piece->hi - piece->lo) % rounding;
    *out = rest > 0 ? rounding - rest : 0;
    return true;
}

static void clear_sections(const survey *v, int64_t *numbers) {
    for (int32_t s = 0; s <= v->m->section_count; s++) numbers[s] = 0;
}

static void raise_height(const survey *v, int32_t section, int64_t height) {
    if (height <= v->bound->height) return;
    v->bound->height = height;
    v->bound->section = section;
}

/* loads and largest have been filled in for sizes rounded to `rounding`. */
static void raise_all(const survey *v, int64_t parts, int64_t rounding) {
    for (int32_t s = 0; s < v->m->section_count; s++) {
        const int64_t share = v->loads[s] / parts + (v->loads[s] % parts > 0);
        int64_t height;
        if (spad__add(share, v->largest[s], &height))
            raise_height(v, s, height - (rounding > 1 ? v->trims[s] : 0));
    }
}

static void try_points(const survey *v, const lane_set *set, int64_t rounding) {
    points_weight w = {.set = set, .rounding = rounding, .lanes = -1};
    clear_sections(v, v->loads);
    clear_sections(v, v->largest);
    if (spad__loads_sum(v->m, weigh_points, &w, rounding, v->rows, v->loads))
        raise_all(v, set->count, rounding);
}

/* ---- stacks ------------------------------------------------------------------------ */

typedef struct stack_weight {
    int64_t lane; /* all tiles of the stack take it */
    int64_t from; /* and at least this many lanes */
    int64_t rounding;
    int64_t widths[WIDTHS]; /* all numbers of lanes that tiles of the stack have */
    int32_t width_count;
    int64_t lanes; /* of the last piece, and */
    bool inside;   /* whether it is in the stack */
} stack_weight;

static bool in_stack(stack_weight *w, const spad_plan *plan, int64_t lanes) {
    if (lanes != w->lanes) {
        w->lanes = lanes;
        w->inside = lanes >= w->from && spad__lanes_force(plan, lanes, w->lane);
    }
    return w->inside;
}

static bool weigh_stack(void *context, const spad__model *m, const spad__piece *piece,
                        int64_t *out) {
    stack_weight *w = context;
    *out = 0;
    return !in_stack(w, m->plan, piece->lanes) || sized(piece, w->rounding, out);
}

static bool weigh_size(void *context, const spad__model *m, const spad__piece *piece,
                       int64_t *out) {
    const stack_weight *w = context;
    (void)m;
    return sized(piece, w->rounding, out);
}

/* Beside no tile of the stack? */
static bool is_above_stack(const stack_weight *w, const spad_plan *plan, int64_t lanes) {
    for (int32_t k = 0; k < w->width_count; k++)
        if (fit_beside(plan, w->widths[k], lanes)) return false;
    return true;
}

/* Lists the pieces whose largest may be put on the stack. */
static size_t list_above(const survey *v, stack_weight *w) {
    const spad__model *m = v->m;
    size_t n = 0;
    for (int32_t i = 0; i < m->item_count; i++) {
        const spad__item *item = &m->items[i];
        if (spad__item_is_group(m, item)) continue;
        for (int32_t k = 0; k < item->piece_count; k++) {
            const int64_t lanes = m->pieces[item->piece_first + k].lanes;
            if (!in_stack(w, m->plan, lanes) && is_above_stack(w, m->plan, lanes))
                v->rows[n++].value = item->piece_first + k;
        }
    }
    return n;
}

static void try_stack(const survey *v, stack_weight w, int64_t rounding) {
    w.rounding = rounding;
    clear_sections(v, v->loads);
    clear_sections(v, v->largest);
    if (!spad__loads_sum(v->m, weigh_stack, &w, rounding, v->rows, v->loads)) return;
    const size_t n = list_above(v, &w);
    if (spad__loads_largest(v->m, weigh_size, &w, v->rows, n, v->largest))
        raise_all(v, 1, rounding);
}

/* The WIDTHS largest numbers of lanes of tiles that take the lane, in descending order. */
static void find_widths(const spad__model *m, stack_weight *w) {
    for (int32_t p = 0; p < m->piece_count; p++) {
        const int64_t lanes = m->pieces[p].lanes;
        int32_t at = 0;
        while (at < w->width_count && w->widths[at] > lanes) at++;
        if (at == WIDTHS || (at < w->width_count && w->widths[at] == lanes)) continue;
        if (!in_stack(w, m->plan, lanes)) continue;
        if (w->width_count < WIDTHS) w->width_count++;
        for (int32_t k = w->width_count - 1; k > at; k--) w->widths[k] = w->widths[k - 1];
        w->widths[at] = lanes;
    }
}

static void try_both(const survey *v, const lane_set *set) {
    try_points(v, set, 1);
    if (v->rounding > 1) try_points(v, set, v->rounding);
}

/* The stacks over a lane: of the widest tiles, of those and the next, ... */
static void try_stacks(const survey *v, int64_t lane) {
    stack_weight all = {.lane = lane, .lanes = -1};
    find_widths(v->m, &all);
    for (int32_t k = 1; k <= all.width_count; k++) {
        stack_weight w = all;
        w.width_count = k;
        w.from = all.widths[k - 1];
        w.lanes = -1;
        try_stack(v, w, 1);
        if (v->rounding > 1) try_stack(v, w, v->rounding);
    }
}

/* ---- the whole --------------------------------------------------------------------- */

static void try_sets(const survey *v) {
    const spad_plan *plan = v->m->plan;
    for (int32_t count = 1; count <= EVEN_SETS; count++) {
        lane_set set = {.count = count};
        for (int32_t k = 0; k < count; k++)
            set.lane[k] = plan->lanes / (count + 1) * (k + 1) +
                          plan->lanes % (count + 1) * (k + 1) / (count + 1);
        try_both(v, &set);
    }
    for (size_t r = 0; has_lane_rules(plan) && r < plan->space->lane_rule_count; r++) {
        const spad_lane_rule *rule = &plan->space->lane_rules[r];
        lane_set set = {.count = 0};
        if (rule->start_count == 0 || rule->start_count > POINTS) continue;
        for (size_t k = 0; k < rule->start_count; k++) set.lane[set.count++] = rule->starts[k];
        try_both(v, &set);
    }
    try_stacks(v, plan->lanes / 2);
    if (has_lane_rules(plan)) try_stacks(v, 0);
}

static void find_lane_trims(const survey *v) {
    int64_t rounding = v->rounding;
    if (rounding == 1) return;
    for (size_t k = 0; k < v->row_count; k++) v->rows[k].value = (int32_t)k;
    spad__loads_largest(v->m, weigh_trim, &rounding, v->rows, v->row_count, v->trims);
}

spad_status spad__lanes_bound(spad__lane_bound *bound, const spad__model *m) {
    *bound = (spad__lane_bound){.section = -1};
    if (m->plan->lanes == 1 || m->piece_count == 0) return SPAD_OK;
    const spad_host *host = &m->arena.host;
    const size_t sections = (size_t)m->section_count + 1;
    const size_t pieces = (size_t)m->piece_count;
    int64_t *numbers = spad__new_array(host, sections, 3 * sizeof *numbers);
    spad__row *rows = spad__new_array(host, pieces + 1, 3 * sizeof *rows);
    if (numbers != NULL && rows != NULL) {
        survey v = {.m = m,
                    .rounding = m->grain,
                    .loads = numbers,
                    .largest = numbers + sections,
                    .trims = numbers + 2 * sections,
                    .rows = rows,
                    .row_count = pieces,
                    .bound = bound};
        find_lane_trims(&v);
        try_sets(&v);
    }
    const bool done = numbers != NULL && rows != NULL;
    spad__free(host, numbers, 3 * sections * sizeof *numbers);
    spad__free(host, rows, 3 * (pieces + 1) * sizeof *rows);
    return done ? SPAD_OK : SPAD_ERR_HOST_MEMORY;
}
