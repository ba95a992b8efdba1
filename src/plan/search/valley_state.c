/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of the valley search, its bounds, and the moves that change it.
 *
 * State. For every section its floor: everything below is used or given up. The rest of a section,
 * slack = capacity - floor - sizes still to be placed in it, must stay >= 0; placing a box leaves
 * it as it is, giving up bytes lowers it. Sections of one floor form runs; a run lower than both
 * neighbours is a valley. Borders of a part count as infinitely high walls.
 *
 * Bounds, before any branching.
 *   - Hollow valleys: where no unplaced box fits between the walls, every box above rests at least
 * as high as the lower wall, so the valley is filled up to it at the cost of slack.
 *   - Fill: up to the lower wall only boxes inside the valley can cover a section s. The bytes that
 * they cannot fill are lost; more than the slack of s is a dead end.
 *
 * Parts. Where no unplaced box crosses from one section to the next, the rest falls apart into
 * independent parts; one part that fails makes the choice that cut it off fail, whatever the other
 * parts did. A box that spans a whole part may be moved to the top of it: the boxes above it are
 * inside the part and move down by its size. So it leaves the search, and that may cut the part
 * further.
 */
#include "plan/search/valley_state.h"

/* ---- runs -------------------------------------------------------------------------- */

static void save_run(spad__valley *v, int32_t at) {
    spad__assert(v->saved.count < v->saved.capacity && at >= 0 && at < v->boxes->sections);
    v->saved.items[v->saved.count++] = (spad__saved_run){at, v->runs[at]};
}

static void set_valley_run(spad__valley *v, int32_t l, int32_t r, int64_t floor) {
    spad__assert(0 <= l && l < r && r <= v->boxes->sections && floor >= 0);
    save_run(v, l);
    v->runs[l].floor = floor;
    v->runs[l].end = r;
    v->runs[l].rank = SPAD__NOT_A_VALLEY;
    if (r - 1 != l) save_run(v, r - 1);
    v->runs[r - 1].begin = l;
}

int32_t spad__valley_carve(spad__valley *v, const spad__valley_part *p, int32_t l, int32_t a,
                           int32_t b, int64_t floor) {
    const int32_t r = v->runs[l].end;
    const int64_t old = v->runs[l].floor;
    spad__assert(l <= a && a < b && b <= r && floor > old);
    const bool join_left = a == l && spad__left_wall(v, p, l) == floor;
    const bool join_right = b == r && spad__right_wall(v, p, r) == floor;
    const int32_t begin = join_left ? v->runs[l - 1].begin : a;
    const int32_t end = join_right ? v->runs[r].end : b;
    if (a > l) set_valley_run(v, l, a, old);
    if (b < r) set_valley_run(v, b, r, old);
    set_valley_run(v, begin, end, floor);
    return begin;
}

/* ---- boxes ------------------------------------------------------------------------- */

bool spad__valley_take(spad__valley *v, int32_t i, int64_t offset) {
    spad__assert(spad__is_unplaced(&v->tallies, i) && offset >= 0);
    spad__assert(v->placed.count < v->placed.capacity && offset + v->boxes->size[i] <= v->capacity);
    spad__flip_unplaced(&v->tallies, i);
    v->offset[i] = offset;
    v->placed.items[v->placed.count++] = i;
    bool cut = false;
    for (int32_t s = v->boxes->begin[i] + 1; s < v->boxes->end[i]; s++)
        cut |= --v->crossing[s] == 0;
    return cut;
}

static void untake_box(spad__valley *v, int32_t i) {
    spad__assert(!spad__is_unplaced(&v->tallies, i));
    spad__flip_unplaced(&v->tallies, i);
    for (int32_t s = v->boxes->begin[i] + 1; s < v->boxes->end[i]; s++) v->crossing[s]++;
}

/* ---- giving up bytes --------------------------------------------------------------- */

static void change_slack(spad__valley *v, int32_t s, int64_t by) {
    v->slack[s] += by;
    spad__assert(v->slack[s] >= 0);
    const spad__search_key others = spad__keys_less(v->key, v->slack_key[s]);
    v->slack_key[s] = spad__slack_key(s, v->slack[s]);
    v->key = spad__keys_sum(others, v->slack_key[s]);
}

bool spad__valley_give_up(spad__valley *v, int32_t begin, int32_t end, int64_t by) {
    spad__assert(begin < end && by > 0 && v->raises.count < v->raises.capacity);
    for (int32_t s = begin; s < end; s++)
        if (v->slack[s] < by) return false;
    v->raises.items[v->raises.count++] = (spad__valley_raise){begin, end, by};
    for (int32_t s = begin; s < end; s++) change_slack(v, s, -by);
    return true;
}

/* ---- counting the options of a valley ---------------------------------------------- */

/* Recounts the run at l and picks its section to branch on; false: a dead end. */
static bool count_options(spad__valley *v, const spad__valley_part *p, int32_t l) {
    spad__assert(v->runs[l].end <= p->hi);
    spad__floor_run *const valley = &v->runs[l];
    const int32_t r = valley->end;
    const int64_t wall = spad__min(spad__left_wall(v, p, l), spad__right_wall(v, p, r));
    save_run(v, l);
    valley->rank = SPAD__NOT_A_VALLEY;
    v->hollow = false;
    if (wall < valley->floor) return true;
    spad__tally *const t = v->tallies.at;
    if (!spad__tally_boxes(&v->tallies, l, r)) {
        v->hollow = true;
        return true;
    }
    for (int32_t s = r - 1; s > l; s--)
        t[s - 1].least_begin = spad__min(t[s - 1].least_begin, t[s].least_begin);
    /* up to the lower wall, only boxes inside can fill a section */
    const int64_t depth = wall == SPAD__NO_WALL ? 0 : wall - valley->floor;
    int64_t least_left =
        wall == SPAD__NO_WALL ? SPAD__NO_WALL : depth; /* of boxes left of s, and the wall */
    int64_t fill = 0;
    int32_t count = 0;
    for (int32_t s = l; s < r; s++) {
        fill += t[s].sum;
        count += t[s].count;
        least_left = spad__min(least_left, t[s].least_end);
        const int64_t least = spad__min(least_left, t[s + 1].least_begin);
        const int64_t slack = v->slack[s];
        const int32_t options = count + (least <= slack);
        if (options == 0 || depth - fill > slack) return false;
        const int32_t rank = spad__profile_rank(&v->profile, options, slack);
        if (rank >= valley->rank) continue;
        valley->rank = rank;
        valley->section = s;
    }
    return true;
}

static int32_t begin_before(const spad__valley *v, const spad__valley_part *p, int32_t l) {
    return l > p->lo ? v->runs[l - 1].begin : l;
}

static int32_t end_beyond(const spad__valley *v, const spad__valley_part *p, int32_t l) {
    const int32_t r = v->runs[l].end;
    return r < p->hi ? v->runs[r].end : r;
}

/* Recounts the runs from l to `stop`, fills hollow valleys and continues with what
 * that changes; false: a dead end. Every filled valley removes a run. */
static bool recount(spad__valley *v, const spad__valley_part *p, int32_t l, int32_t stop) {
    while (l < stop) {
        const int32_t r = v->runs[l].end;
        if (!count_options(v, p, l)) return spad__dead_end(v, l, r);
        if (!v->hollow) {
            l = r;
            continue;
        }
        const int64_t wall = spad__min(spad__left_wall(v, p, l), spad__right_wall(v, p, r));
        /* A part has boxes that cross every border inside it: a run without any of its own has a
         * neighbour, so the part has more than one run. */
        spad__assert(wall != SPAD__NO_WALL);
        if (!spad__valley_give_up(v, l, r, wall - v->runs[l].floor)) return spad__dead_end(v, l, r);
        v->changed = spad__span_hull(v->changed, spad__one_wider(l, r));
        l = spad__valley_carve(v, p, l, l, r, wall);
        const int32_t beyond = end_beyond(v, p, l);
        if (stop < beyond) stop = beyond;
        l = begin_before(v, p, l);
    }
    return true;
}

bool spad__valley_recount(spad__valley *v, const spad__valley_part *p, int32_t l) {
    return recount(v, p, begin_before(v, p, l), end_beyond(v, p, l));
}

/* ---- parts ------------------------------------------------------------------------- */

/* Moves the boxes that span [lo, hi) to its top. */
static void lift_spanning(spad__valley *v, int32_t lo, int32_t hi, int64_t *top) {
    const spad__boxes *b = v->boxes;
    const int32_t stop = b->first[lo + 1];
    for
        SPAD__EACH_UNPLACED(&v->tallies, i, b->first[lo], stop) {
            if (b->end[i] != hi) continue;
            *top -= b->size[i];
            spad__assert(*top >= 0);
            spad__valley_take(v, i, *top);
        }
}

/* Adds a part in front of the chain, if it has unplaced boxes. */
static void add_part(spad__valley *v, const spad__valley_part *piece, int32_t *chain) {
    spad__valley_part p = *piece;
    const int32_t stop = v->boxes->first[p.hi];
    for
        SPAD__EACH_UNPLACED(&v->tallies, i, v->boxes->first[p.lo], stop) {
            p.left++;
            p.key = spad__keys_sum(p.key, v->box_key[i]);
        }
    if (p.left == 0) return;
    for (int32_t s = p.lo; s < p.hi; s++) p.key = spad__keys_sum(p.key, v->slack_key[s]);
    *chain = (int32_t)v->parts.count;
    spad__assert(v->parts.count < v->parts.capacity);
    v->parts.items[v->parts.count++] = p;
}

/* The end of the connected sections that begin at `begin`. */
static int32_t connected_end(const spad__valley *v, int32_t begin, int32_t hi) {
    int32_t end = begin + 1;
    while (end < hi && v->crossing[end] > 0) end++;
    return end;
}

/* Cuts a part into new ones in front of those that come after it. A stretch that falls
 * apart once its spanning boxes are lifted is cut again, with a lower top: the levels of that are
 * nested, so there are at most as many as sections. */
static int32_t cut_parts(spad__valley *v, const spad__valley_part *p, int32_t creator) {
    int32_t chain = p->next;
    int32_t level = 0;
    spad__section_span origin = {p->lo, p->hi};
    v->levels[0] = (spad__valley_level){p->hi, p->top};
    for (int32_t begin = p->lo; begin < p->hi;) {
        while (begin == v->levels[level].end) level--;
        const spad__valley_level outer = v->levels[level];
        const int32_t end = connected_end(v, begin, outer.end);
        if (level == 0) origin = (spad__section_span){begin, end};
        int64_t top = outer.top;
        lift_spanning(v, begin, end, &top);
        if (top < outer.top && connected_end(v, begin, end) < end) {
            v->levels[++level] = (spad__valley_level){end, top};
            continue;
        }
        const spad__valley_part piece = {.lo = begin,
                                         .hi = end,
                                         .next = chain,
                                         .creator = creator,
                                         .top = top,
                                         .origin = origin};
        add_part(v, &piece, &chain);
        begin = end;
    }
    return chain;
}

/* Cuts runs where nothing crosses any more. */
static void cut_runs(spad__valley *v, int32_t lo, int32_t hi) {
    for (int32_t l = lo; l < hi;) {
        const int32_t r = v->runs[l].end;
        const int64_t floor = v->runs[l].floor;
        int32_t from = l;
        for (int32_t s = l + 1; s < r; s++) {
            if (v->crossing[s] > 0) continue;
            set_valley_run(v, from, s, floor);
            from = s;
        }
        if (from != l) set_valley_run(v, from, r, floor);
        l = r;
    }
}

bool spad__valley_split(spad__valley *v, const spad__valley_part *p, int32_t creator) {
    const size_t before = v->parts.count;
    v->part = cut_parts(v, p, creator);
    cut_runs(v, p->lo, p->hi);
    for (size_t k = before; k < v->parts.count; k++) {
        spad__valley_part *const piece = &v->parts.items[k];
        v->key = piece->key;
        if (!recount(v, piece, piece->lo, piece->hi))
            return spad__dead_end(v, piece->origin.lo, piece->origin.hi);
        piece->key = v->key;
    }
    return true;
}

void spad__valley_undo(spad__valley *v, const spad__valley_frame *f) {
    while (v->saved.count > (size_t)f->run_mark) {
        const spad__saved_run *saved = &v->saved.items[--v->saved.count];
        v->runs[saved->at] = saved->value;
    }
    while (v->placed.count > (size_t)f->placed_mark)
        untake_box(v, v->placed.items[--v->placed.count]);
    while (v->raises.count > (size_t)f->raise_mark) {
        const spad__valley_raise *r = &v->raises.items[--v->raises.count];
        for (int32_t s = r->begin; s < r->end; s++) change_slack(v, s, r->by);
    }
    v->parts.count = (size_t)f->part_mark;
}

/* The key of the part at hand, from nothing but its unplaced boxes and its slack. */
static bool key_is_valid(const spad__valley *v, const spad__valley_part *p) {
    spad__search_key sum = {0};
    for (int32_t i = v->boxes->first[p->lo]; i < v->boxes->first[p->hi]; i++) {
        if (!spad__is_unplaced(&v->tallies, i)) continue;
        sum = spad__keys_sum(sum, v->box_key[i]);
    }
    for (int32_t s = p->lo; s < p->hi; s++)
        sum = spad__keys_sum(sum, spad__slack_key(s, v->slack[s]));
    return sum.slot == v->key.slot && sum.tag == v->key.tag;
}

bool spad__valley_part_is_valid(const spad__valley *v, const spad__valley_part *p) {
    int32_t left = 0;
    for (int32_t l = p->lo; l < p->hi; l = v->runs[l].end) {
        const int32_t r = v->runs[l].end;
        if (r <= l || r > p->hi || v->runs[r - 1].begin != l) return false;
        for (int32_t s = l; s < r; s++) {
            int64_t sizes = 0;
            int32_t crossing = 0;
            for (int32_t i = 0; i < v->boxes->count; i++) {
                if (!spad__is_unplaced(&v->tallies, i)) continue;
                const int32_t begin = v->boxes->begin[i];
                left += begin == s;
                crossing += begin < s && s < v->boxes->end[i];
                if (begin <= s && s < v->boxes->end[i]) sizes += v->boxes->size[i];
            }
            if (v->slack[s] < 0 || v->runs[l].floor + sizes + v->slack[s] != p->top) return false;
            if (v->crossing[s] != crossing || (crossing == 0 && s > p->lo)) return false;
        }
    }
    return left == v->left && key_is_valid(v, p);
}
