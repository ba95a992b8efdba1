/* SPDX-License-Identifier: Apache-2.0
 *
 * Exact search by valleys: is there a plan of at most this height?
 *
 * State. For every section its floor: everything below is used or given up.
 * The rest of a section, slack = capacity - floor - sizes still to be placed in
 * it, must stay >= 0; placing a box leaves it as it is, giving up bytes lowers
 * it. Sections of one floor form runs; a run lower than both neighbours is a
 * valley. Borders of a part (below) count as infinitely high walls.
 *
 * Branching. Take one section s of a valley with floor f. In every completion
 * in which no box can be moved down ("settled"; every plan can be settled
 * without growing), one of these holds:
 *   (a) a box that covers s rests at f. Its other sections have floors <= f,
 *       so it is inside the valley.
 *   (b) no box that covers s rests at f. Let j be the lowest box over s, at
 *       h > f. It rests on the floor of one of its sections, which is then
 *       beyond a wall, so h >= that wall; or on a box k that does not cover s.
 *       Then k is inside the valley and h >= f + size(k), or k reaches over a
 *       wall and h > that wall. So raising the floor of s to
 *         min(lower wall, f + least size of a box inside that does not cover s)
 *       loses no completion. It costs slack and is impossible without enough.
 * The options (a) and (b) are exhaustive and exclude each other, so a search
 * that runs out of options is a proof. Which s to branch on is free: the one
 * with the fewest options, so that dead ends (none) and forced moves (one) show
 * at once. Before that, two bounds: a valley into which no box fits is filled
 * up to its lower wall; and boxes inside a valley that cover s must fill s up
 * to that wall, or the missing bytes are given up: if that is more than the
 * slack of s, the state is dead.
 *
 * Parts. Where no unplaced box crosses from one section to the next, the rest
 * falls apart into independent parts; one part that fails makes the choice that
 * cut it off fail, whatever the other parts did. A box that spans a whole part
 * may be moved to the top of it (boxes above it slide down), so it is removed
 * from the search; that may cut the part further.
 *
 * Memory of failures. What happens in a part depends only on its unplaced boxes
 * and the slack of its sections (floors follow from both), so a part that
 * failed once fails always (failures.h). What is known survives restarts.
 *
 * Cost. A node examines the runs of its part and recounts the changed run and
 * its neighbours: O(runs + boxes and sections of those runs), typically under
 * a microsecond. No memory is allocated once the arrays have grown.
 */
#include "plan/valley.h"

#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "base/random.h"
#include "plan/failures.h"

#define INFINITE INT64_MAX

enum { NOT_A_VALLEY = INT32_MAX, NODES_PER_CLOCK_CHECK = 512 };

/* A maximal run [l, r) of sections with one floor, kept at its two ends:
 *   runs[l].end = r,  runs[r - 1].begin = l;
 *   floor, section and rank are those of runs[l]. */
typedef struct valley_run {
    int64_t floor;
    int32_t end;
    int32_t begin;
    int32_t section; /* where to branch */
    int32_t rank;    /* low: branch here first; NOT_A_VALLEY: a neighbour is lower */
} valley_run;

typedef struct saved_run {
    int32_t at;
    valley_run value;
} saved_run;

/* Sections [lo, hi) that only `left` unplaced boxes cover, connected by them.
 * Boxes at or above `top` are placed. */
typedef struct valley_part {
    int32_t lo;
    int32_t hi;
    int32_t left;
    int32_t next;    /* the part to solve afterwards, or -1 */
    int32_t creator; /* the frame whose choice made it, or -1 */
    int64_t top;
    spad__search_key key;
} valley_part;

/* `by` bytes given up in each of the sections [begin, end). */
typedef struct raise {
    int32_t begin;
    int32_t end;
    int64_t by;
} raise;

typedef struct option {
    int32_t box;
    int32_t score;
} option;

/* A choice: the options are tried in turn, then the raise. */
typedef struct frame {
    spad__search_key key; /* of the part before the choice */
    int64_t raise_by;     /* 0: not possible, or done */
    int32_t part;
    int32_t left;
    int32_t back; /* the frame to continue with when this one fails */
    int32_t valley;
    int32_t section;
    int32_t run_mark; /* lengths of the trails before the choice */
    int32_t placed_mark;
    int32_t raise_mark;
    int32_t part_mark;
    int32_t option_first;
    int32_t option_next;
    int32_t option_end;
} frame;

/* Sums over the boxes inside a valley, as differences by section. */
typedef struct tally {
    int64_t sum;         /* sizes of boxes that begin here, less those that end here */
    int64_t least_begin; /* least size of those that begin here (later: or further right) */
    int64_t least_end;   /* least size of those that end here */
    int32_t count;       /* like sum; twins count once */
} tally;

/*
 * Invariants
 *   crossing[s] = number of unplaced boxes with begin < s < end
 *   bit i of unplaced is set exactly when box i is in no part's past
 *   slack[s] = top of the part - floor of s - sizes of unplaced boxes over s >= 0
 *   slack_key[s] = hash of (s, slack[s])
 *   key of a part = sum of box_key over its unplaced boxes and of slack_key over its sections
 */
struct spad__valley {
    spad_host host;
    spad__arena arena;
    const spad__boxes *boxes;
    int64_t capacity;
    spad__taste taste;
    valley_run *runs;
    int64_t *slack;
    spad__search_key *slack_key;
    int32_t *crossing;
    uint64_t *unplaced;
    spad__search_key *box_key;
    int32_t *weight; /* static part of the score of an option */
    int64_t *offset;
    int64_t *guide; /* offset of a box in a known plan, or -1 */
    tally *tallies;
    /* trails, undone from the end */
    SPAD_ARRAY(saved_run) saved;
    SPAD_ARRAY(int32_t) placed;
    SPAD_ARRAY(raise) raises;
    SPAD_ARRAY(valley_part) parts;
    SPAD_ARRAY(frame) frames;
    SPAD_ARRAY(option) options;
    /* the state at hand */
    int32_t part; /* -1: nothing is left */
    int32_t left;
    int32_t back;
    spad__search_key key;
    bool hollow; /* the run just counted is a valley that no box fits into */
    spad__failures failures;
    int64_t nodes;
    int64_t deepest;
};

/* ---- runs -------------------------------------------------------------------------- */

static void save_run(spad__valley *v, int32_t at) {
    spad__assert(v->saved.count < v->saved.capacity && at >= 0 && at < v->boxes->sections);
    v->saved.items[v->saved.count++] = (saved_run){at, v->runs[at]};
}

static void set_valley_run(spad__valley *v, int32_t l, int32_t r, int64_t floor) {
    spad__assert(0 <= l && l < r && r <= v->boxes->sections && floor >= 0);
    save_run(v, l);
    v->runs[l].floor = floor;
    v->runs[l].end = r;
    v->runs[l].rank = NOT_A_VALLEY;
    if (r - 1 != l) save_run(v, r - 1);
    v->runs[r - 1].begin = l;
}

static int64_t left_wall(const spad__valley *v, const valley_part *p, int32_t l) {
    spad__assert(p->lo <= l && l < p->hi);
    return l > p->lo ? v->runs[v->runs[l - 1].begin].floor : INFINITE;
}

static int64_t right_wall(const spad__valley *v, const valley_part *p, int32_t r) {
    spad__assert(p->lo < r && r <= p->hi);
    return r < p->hi ? v->runs[r].floor : INFINITE;
}

/* Lifts the sections [a, b) of the run at l to a new floor and joins them with
 * a neighbour of that floor. Returns the begin of the new run. */
static int32_t carve(spad__valley *v, const valley_part *p, int32_t l, int32_t a, int32_t b,
                     int64_t floor) {
    const int32_t r = v->runs[l].end;
    const int64_t old = v->runs[l].floor;
    spad__assert(l <= a && a < b && b <= r && floor > old);
    const bool join_left = a == l && left_wall(v, p, l) == floor;
    const bool join_right = b == r && right_wall(v, p, r) == floor;
    const int32_t begin = join_left ? v->runs[l - 1].begin : a;
    const int32_t end = join_right ? v->runs[r].end : b;
    if (a > l) set_valley_run(v, l, a, old);
    if (b < r) set_valley_run(v, b, r, old);
    set_valley_run(v, begin, end, floor);
    return begin;
}

/* ---- boxes ------------------------------------------------------------------------- */

/* The first unplaced box in [i, end), or end. */
static inline int32_t next_unplaced(const spad__valley *v, int32_t i, int32_t end) {
    if (i >= end) return end;
    const int32_t last = (end - 1) >> 6;
    int32_t word = i >> 6;
    uint64_t bits = v->unplaced[word] & (~UINT64_C(0) << (i & 63));
    while (bits == 0) {
        if (word == last) return end;
        bits = v->unplaced[++word];
    }
    const int32_t found = word * 64 + __builtin_ctzll(bits);
    return found < end ? found : end;
}

#define EACH_UNPLACED(v, i, from, until) \
    (int32_t i = next_unplaced(v, from, until); i < (until); i = next_unplaced(v, i + 1, until))

/* Marks a box as placed; true if some border is no longer crossed. */
static bool take_box(spad__valley *v, int32_t i, int64_t offset) {
    spad__assert((v->unplaced[i >> 6] >> (i & 63) & 1) != 0 && offset >= 0);
    spad__assert(v->placed.count < v->placed.capacity && offset + v->boxes->size[i] <= v->capacity);
    v->unplaced[i >> 6] &= ~(UINT64_C(1) << (i & 63));
    v->offset[i] = offset;
    v->placed.items[v->placed.count++] = i;
    bool cut = false;
    for (int32_t s = v->boxes->begin[i] + 1; s < v->boxes->end[i]; s++)
        cut |= --v->crossing[s] == 0;
    return cut;
}

static void untake_box(spad__valley *v, int32_t i) {
    spad__assert((v->unplaced[i >> 6] >> (i & 63) & 1) == 0);
    v->unplaced[i >> 6] |= UINT64_C(1) << (i & 63);
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

/* Gives up `by` bytes over [begin, end); false: not enough slack, nothing done. */
static bool give_up(spad__valley *v, int32_t begin, int32_t end, int64_t by) {
    spad__assert(begin < end && by > 0 && v->raises.count < v->raises.capacity);
    for (int32_t s = begin; s < end; s++)
        if (v->slack[s] < by) return false;
    v->raises.items[v->raises.count++] = (raise){begin, end, by};
    for (int32_t s = begin; s < end; s++) change_slack(v, s, -by);
    return true;
}

/* ---- counting the options of a valley ---------------------------------------------- */

/* Tallies the unplaced boxes inside [l, r); false: there are none. */
static bool tally_boxes(spad__valley *v, int32_t l, int32_t r) {
    const spad__boxes *b = v->boxes;
    tally *const t = v->tallies;
    for (int32_t s = l; s <= r; s++) t[s] = (tally){0, INFINITE, INFINITE, 0};
    int32_t before = -1;
    const int32_t stop = b->first[r];
    for
        EACH_UNPLACED(v, i, b->first[l], stop) {
            const int32_t end = b->end[i];
            if (end > r) continue;
            const int32_t begin = b->begin[i];
            const int64_t size = b->size[i];
            const int32_t kinds = !(b->twin[i] && before == i - 1);
            before = i;
            t[begin].sum += size;
            t[end].sum -= size;
            t[begin].count += kinds;
            t[end].count -= kinds;
            if (size < t[begin].least_begin) t[begin].least_begin = size;
            if (size < t[end].least_end) t[end].least_end = size;
        }
    return before >= 0;
}

/* Recounts the run at l and picks its section to branch on; false: a dead end. */
static bool count_options(spad__valley *v, const valley_part *p, int32_t l) {
    spad__assert(v->runs[l].end <= p->hi);
    valley_run *const valley = &v->runs[l];
    const int32_t r = valley->end;
    const int64_t wall = spad__min(left_wall(v, p, l), right_wall(v, p, r));
    save_run(v, l);
    valley->rank = NOT_A_VALLEY;
    v->hollow = false;
    if (wall < valley->floor) return true;
    tally *const t = v->tallies;
    if (!tally_boxes(v, l, r)) {
        v->hollow = true;
        return true;
    }
    for (int32_t s = r - 1; s > l; s--)
        t[s - 1].least_begin = spad__min(t[s - 1].least_begin, t[s].least_begin);
    /* up to the lower wall, only boxes inside can fill a section */
    const int64_t depth = wall == INFINITE ? 0 : wall - valley->floor;
    int64_t least_left = wall == INFINITE ? INFINITE : depth; /* of boxes left of s, and the wall */
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
        const int32_t rank = spad__taste_rank(&v->taste, options, slack);
        if (rank >= valley->rank) continue;
        valley->rank = rank;
        valley->section = s;
    }
    return true;
}

static int32_t begin_before(const spad__valley *v, const valley_part *p, int32_t l) {
    return l > p->lo ? v->runs[l - 1].begin : l;
}

static int32_t end_beyond(const spad__valley *v, const valley_part *p, int32_t l) {
    const int32_t r = v->runs[l].end;
    return r < p->hi ? v->runs[r].end : r;
}

/* Recounts the runs from l to `stop`, fills hollow valleys and continues with what
 * that changes; false: a dead end. Every filled valley removes a run. */
static bool recount(spad__valley *v, const valley_part *p, int32_t l, int32_t stop) {
    while (l < stop) {
        if (!count_options(v, p, l)) return false;
        const int32_t r = v->runs[l].end;
        if (!v->hollow) {
            l = r;
            continue;
        }
        const int64_t wall = spad__min(left_wall(v, p, l), right_wall(v, p, r));
        /* A part has boxes that cross every border inside it: a run without any of its own has a
         * neighbour, and that is no part with a single run. */
        spad__assert(wall != INFINITE);
        if (!give_up(v, l, r, wall - v->runs[l].floor)) return false;
        l = carve(v, p, l, l, r, wall);
        const int32_t beyond = end_beyond(v, p, l);
        if (stop < beyond) stop = beyond;
        l = begin_before(v, p, l);
    }
    return true;
}

static bool recount_around(spad__valley *v, const valley_part *p, int32_t l) {
    return recount(v, p, begin_before(v, p, l), end_beyond(v, p, l));
}

/* ---- parts ------------------------------------------------------------------------- */

/* Moves the boxes that span [lo, hi) to its top. */
static void lift_spanning(spad__valley *v, int32_t lo, int32_t hi, int64_t *top) {
    const spad__boxes *b = v->boxes;
    const int32_t stop = b->first[lo + 1];
    for
        EACH_UNPLACED(v, i, b->first[lo], stop) {
            if (b->end[i] != hi) continue;
            *top -= b->size[i];
            spad__assert(*top >= 0);
            take_box(v, i, *top);
        }
}

static void add_part(spad__valley *v, int32_t lo, int32_t hi, int64_t top, int32_t creator,
                     int32_t *chain) {
    valley_part p = {.lo = lo, .hi = hi, .next = *chain, .creator = creator, .top = top};
    const int32_t stop = v->boxes->first[hi];
    for
        EACH_UNPLACED(v, i, v->boxes->first[lo], stop) {
            p.left++;
            p.key = spad__keys_sum(p.key, v->box_key[i]);
        }
    if (p.left == 0) return;
    for (int32_t s = lo; s < hi; s++) p.key = spad__keys_sum(p.key, v->slack_key[s]);
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

/* Cuts [lo, hi) into parts in front of `chain`. A stretch that falls apart once its
 * spanning boxes are lifted is cut again, with a lower top; each level of this
 * recursion lifts a box, so it is at most as deep as there are boxes, which the
 * driver limits (SPAD__EXACT_BOXES). */
static int32_t cut_parts(spad__valley *v, int32_t lo, int32_t hi, int64_t top, int32_t creator,
                         int32_t chain) {
    for (int32_t begin = lo; begin < hi;) {
        const int32_t end = connected_end(v, begin, hi);
        int64_t lifted = top;
        lift_spanning(v, begin, end, &lifted);
        if (lifted < top && connected_end(v, begin, end) < end)
            chain = cut_parts(v, begin, end, lifted, creator, chain);
        else
            add_part(v, begin, end, lifted, creator, &chain);
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

/* Cuts the sections of a part; the first of the new parts comes next. False: dead. */
static bool split(spad__valley *v, const valley_part *p, int32_t creator) {
    const size_t before = v->parts.count;
    v->part = cut_parts(v, p->lo, p->hi, p->top, creator, p->next);
    cut_runs(v, p->lo, p->hi);
    for (size_t k = before; k < v->parts.count; k++) {
        valley_part *const piece = &v->parts.items[k];
        v->key = piece->key;
        if (!recount(v, piece, piece->lo, piece->hi)) return false;
        piece->key = v->key;
    }
    return true;
}

static void enter_part(spad__valley *v, int32_t number) {
    v->part = number;
    if (number < 0) return;
    const valley_part *p = &v->parts.items[number];
    spad__assert((size_t)number < v->parts.count && p->left > 0);
    v->left = p->left;
    v->key = p->key;
    v->back = p->creator;
}

/* ---- moves ------------------------------------------------------------------------- */

/* Puts a box on the floor of the valley of a frame; false: a dead end. */
static bool place_box(spad__valley *v, int32_t at, int32_t i) {
    const spad__boxes *b = v->boxes;
    const frame *f = &v->frames.items[at];
    const valley_part p = v->parts.items[f->part];
    const int64_t floor = v->runs[f->valley].floor;
    v->part = f->part;
    v->back = at;
    v->left = f->left - 1;
    v->key = spad__keys_less(f->key, v->box_key[i]);
    spad__assert(f->left > 0 && f->valley <= b->begin[i] && b->end[i] <= v->runs[f->valley].end);
    const bool cut = take_box(v, i, floor);
    if (v->left == 0) {
        enter_part(v, p.next);
        return true;
    }
    const int32_t l = carve(v, &p, f->valley, b->begin[i], b->end[i], floor + b->size[i]);
    if (!cut) return recount_around(v, &p, l);
    if (!split(v, &p, at)) return false;
    enter_part(v, v->part);
    return true;
}

/* Gives up bytes of the section of a frame; false: a dead end. */
static bool raise_section(spad__valley *v, int32_t at, int64_t by) {
    spad__assert(by > 0);
    const frame *f = &v->frames.items[at];
    const valley_part p = v->parts.items[f->part];
    const int32_t s = f->section;
    v->part = f->part;
    v->back = at;
    v->left = f->left;
    v->key = f->key;
    if (!give_up(v, s, s + 1, by)) return false;
    const int32_t l = carve(v, &p, f->valley, s, s + 1, v->runs[f->valley].floor + by);
    return recount_around(v, &p, l);
}

/* Takes back everything since a frame. */
static void undo_frame(spad__valley *v, const frame *f) {
    while (v->saved.count > (size_t)f->run_mark) {
        const saved_run *saved = &v->saved.items[--v->saved.count];
        v->runs[saved->at] = saved->value;
    }
    while (v->placed.count > (size_t)f->placed_mark)
        untake_box(v, v->placed.items[--v->placed.count]);
    while (v->raises.count > (size_t)f->raise_mark) {
        const raise *r = &v->raises.items[--v->raises.count];
        for (int32_t s = r->begin; s < r->end; s++) change_slack(v, s, r->by);
    }
    v->parts.count = (size_t)f->part_mark;
}

/* ---- frames ------------------------------------------------------------------------ */

static void add_option(spad__valley *v, const frame *f, int32_t box, int32_t score) {
    spad__assert(v->options.count < v->options.capacity);
    size_t k = v->options.count++;
    for (; k > (size_t)f->option_first && v->options.items[k - 1].score < score; k--)
        v->options.items[k] = v->options.items[k - 1];
    v->options.items[k] = (option){box, score};
}

/* Lists the options of a frame, best first, and how far its section can be raised. */
static void list_options(spad__valley *v, frame *f, const valley_part *p) {
    const spad__boxes *b = v->boxes;
    const int32_t l = f->valley;
    const int32_t r = v->runs[l].end;
    const int64_t floor = v->runs[l].floor;
    const int64_t left = left_wall(v, p, l);
    const int64_t right = right_wall(v, p, r);
    const int64_t wall = spad__min(left, right);
    int64_t by = wall == INFINITE ? INFINITE : wall - floor;
    f->option_first = f->option_next = (int32_t)v->options.count;
    int32_t before = -1;
    const int32_t stop = b->first[r];
    for
        EACH_UNPLACED(v, i, b->first[l], stop) {
            if (b->end[i] > r) continue;
            if (b->begin[i] > f->section || b->end[i] <= f->section) {
                by = spad__min(by, b->size[i]);
                continue;
            }
            const bool seen = b->twin[i] && before == i - 1;
            before = i;
            if (seen) continue;
            const int64_t top = floor + b->size[i];
            int32_t score = v->weight[i];
            if (v->taste.guide > 0 && v->guide[i] == floor) score += v->taste.guide;
            if (b->begin[i] == l) score += v->taste.edge + (top == left ? v->taste.flush : 0);
            if (b->end[i] == r) score += v->taste.edge + (top == right ? v->taste.flush : 0);
            add_option(v, f, i, score);
        }
    f->option_end = (int32_t)v->options.count;
    f->raise_by = by <= v->slack[f->section] ? by : 0;
}

static void push_frame(spad__valley *v) {
    frame f = {.key = v->key,
               .part = v->part,
               .left = v->left,
               .back = v->back,
               .run_mark = (int32_t)v->saved.count,
               .placed_mark = (int32_t)v->placed.count,
               .raise_mark = (int32_t)v->raises.count,
               .part_mark = (int32_t)v->parts.count};
    const valley_part *p = &v->parts.items[v->part];
    int32_t rank = NOT_A_VALLEY;
    for (int32_t l = p->lo; l < p->hi; l = v->runs[l].end) {
        if (v->runs[l].rank >= rank) continue;
        rank = v->runs[l].rank;
        f.valley = l;
    }
    f.section = v->runs[f.valley].section;
    spad__assert(rank != NOT_A_VALLEY); /* the lowest run is a valley, and hollow ones are filled */
    spad__assert(f.valley <= f.section && f.section < v->runs[f.valley].end);
    list_options(v, &f, p);
    spad__assert(v->frames.count < v->frames.capacity);
    v->frames.items[v->frames.count++] = f;
}

/* Tries the next option of frame `at`, or of those it falls back to. False: none left. */
static bool advance_frontier(spad__valley *v, int32_t at) {
    while (at >= 0) {
        frame *const f = &v->frames.items[at];
        undo_frame(v, f);
        v->frames.count = (size_t)at + 1;
        v->options.count = (size_t)f->option_end;
        if (f->option_next < f->option_end) {
            if (place_box(v, at, v->options.items[f->option_next++].box)) return true;
        } else if (f->raise_by > 0) {
            const int64_t by = f->raise_by;
            f->raise_by = 0;
            if (raise_section(v, at, by)) return true;
        } else {
            spad__failures_add(&v->failures, &v->host, f->key);
            spad__assert(f->back < at); /* choices are undone from the newest to the oldest */
            at = f->back;
        }
    }
    return false;
}

/* ---- a run ------------------------------------------------------------------------- */

/* Room for what one node can add: a move and the filling after it touch every run a
 * bounded number of times, and splitting sets every run again. */
static bool reserve_memo(spad__valley *v) {
    const size_t n = (size_t)v->boxes->count;
    const size_t s = (size_t)v->boxes->sections;
    return spad__array_reserve(&v->host, &v->saved, 16 * s + 64) &&
           spad__array_reserve(&v->host, &v->placed, n) &&
           spad__array_reserve(&v->host, &v->raises, 2 * s + 2) &&
           spad__array_reserve(&v->host, &v->parts, s + 1) &&
           spad__array_reserve(&v->host, &v->frames, 1) &&
           spad__array_reserve(&v->host, &v->options, n);
}

static bool start_valley(spad__valley *v) {
    static const frame beginning = {.part = -1};
    undo_frame(v, &beginning);
    v->frames.count = 0;
    v->options.count = 0;
    v->deepest = 0;
    const valley_part all = {
        .lo = 0, .hi = v->boxes->sections, .next = -1, .creator = -1, .top = v->capacity};
    if (!split(v, &all, -1)) return false;
    enter_part(v, v->part);
    return true;
}

/* The key of the part at hand, from nothing but its unplaced boxes and its slack. */
static bool key_is_valid(const spad__valley *v, const valley_part *p) {
    spad__search_key sum = {0};
    for (int32_t i = v->boxes->first[p->lo]; i < v->boxes->first[p->hi]; i++) {
        if ((v->unplaced[i >> 6] >> (i & 63) & 1) == 0) continue;
        sum = spad__keys_sum(sum, v->box_key[i]);
    }
    for (int32_t s = p->lo; s < p->hi; s++)
        sum = spad__keys_sum(sum, spad__slack_key(s, v->slack[s]));
    return sum.slot == v->key.slot && sum.tag == v->key.tag;
}

/* Runs, crossings, slack and key of the part at hand hold the invariants. O(boxes x sections). */
static bool part_is_valid(const spad__valley *v, const valley_part *p) {
    int32_t left = 0;
    for (int32_t l = p->lo; l < p->hi; l = v->runs[l].end) {
        const int32_t r = v->runs[l].end;
        if (r <= l || r > p->hi || v->runs[r - 1].begin != l) return false;
        for (int32_t s = l; s < r; s++) {
            int64_t sizes = 0;
            int32_t crossing = 0;
            for (int32_t i = 0; i < v->boxes->count; i++) {
                if ((v->unplaced[i >> 6] >> (i & 63) & 1) == 0) continue;
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

spad__verdict spad__valley_run(spad__valley *v, const spad__taste *taste, uint64_t seed,
                               int64_t node_limit, spad__stop *stop, int64_t *offset) {
    v->taste = *taste;
    v->taste.slack_step = v->capacity / 10 + 1;
    spad__taste_weigh(&v->taste, v->boxes, seed, v->weight);
    if (!reserve_memo(v)) return SPAD__NO_MEMORY;
    if (!start_valley(v)) return SPAD__NONE;
    for (const int64_t limit = v->nodes + node_limit; v->part >= 0;) {
        if (v->nodes >= limit) return SPAD__CUT;
        if (++v->nodes % NODES_PER_CLOCK_CHECK == 0 && spad__stopped(stop)) return SPAD__CUT;
        if (!reserve_memo(v)) return SPAD__NO_MEMORY;
        v->deepest = spad__max(v->deepest, (int64_t)v->placed.count);
        spad__assert_valid(v->nodes % SPAD__FEW != 0 || v->boxes->count > SPAD__FEW ||
                           part_is_valid(v, &v->parts.items[v->part]));
        int32_t at = v->back;
        if (!spad__failures_has(&v->failures, v->key)) {
            at = (int32_t)v->frames.count;
            push_frame(v);
        }
        if (!advance_frontier(v, at)) return SPAD__NONE;
    }
    spad__assert(v->placed.count == (size_t)v->boxes->count);
    memcpy(offset, v->offset, (size_t)v->boxes->count * sizeof *offset);
    return SPAD__FOUND;
}

/* ---- life -------------------------------------------------------------------------- */

static bool allocate_valley(spad__valley *v) {
    const size_t n = (size_t)v->boxes->count;
    const size_t s = (size_t)v->boxes->sections + 1;
    v->runs = spad__arena_array(&v->arena, s, sizeof *v->runs);
    v->slack = spad__arena_array(&v->arena, s, sizeof *v->slack);
    v->slack_key = spad__arena_array(&v->arena, s, sizeof *v->slack_key);
    v->crossing = spad__arena_array(&v->arena, s, sizeof *v->crossing);
    v->tallies = spad__arena_array(&v->arena, s + 1, sizeof *v->tallies);
    v->unplaced = spad__arena_array(&v->arena, n / 64 + 1, sizeof *v->unplaced);
    v->box_key = spad__arena_array(&v->arena, n, sizeof *v->box_key);
    v->weight = spad__arena_array(&v->arena, n, sizeof *v->weight);
    v->offset = spad__arena_array(&v->arena, n, sizeof *v->offset);
    v->guide = spad__arena_array(&v->arena, n, sizeof *v->guide);
    return v->runs != NULL && v->slack != NULL && v->slack_key != NULL && v->crossing != NULL &&
           v->tallies != NULL && v->unplaced != NULL && v->box_key != NULL && v->weight != NULL &&
           v->offset != NULL && v->guide != NULL && spad__failures_init(&v->failures, &v->host);
}

spad__valley *spad__valley_create(const spad__boxes *boxes, const spad_host *host) {
    spad__valley *v = spad__new(host, sizeof *v);
    if (v == NULL) return NULL;
    v->host = *host;
    v->arena.host = *host;
    v->boxes = boxes;
    if (!allocate_valley(v)) {
        spad__valley_destroy(v);
        return NULL;
    }
    spad__random random = {UINT64_C(0x5AD0)};
    for (int32_t i = 0; i < boxes->count; i++) {
        v->unplaced[i >> 6] |= UINT64_C(1) << (i & 63);
        v->guide[i] = -1;
        v->box_key[i].slot = spad__random_next(&random);
        v->box_key[i].tag = spad__random_next(&random);
        for (int32_t s = boxes->begin[i] + 1; s < boxes->end[i]; s++) v->crossing[s]++;
    }
    return v;
}

void spad__valley_destroy(spad__valley *v) {
    if (v == NULL) return;
    const spad_host host = v->host;
    spad__array_free(&host, &v->saved);
    spad__array_free(&host, &v->placed);
    spad__array_free(&host, &v->raises);
    spad__array_free(&host, &v->parts);
    spad__array_free(&host, &v->frames);
    spad__array_free(&host, &v->options);
    spad__failures_free(&v->failures, &host);
    spad__arena_free(&v->arena);
    spad__free(&host, v, sizeof *v);
}

void spad__valley_capacity(spad__valley *v, int64_t capacity) {
    static const frame beginning = {.part = -1};
    undo_frame(v, &beginning);
    v->capacity = capacity;
    const int32_t sections = v->boxes->sections;
    for (int32_t s = 0; s < sections; s++) {
        v->runs[s] = (valley_run){.rank = NOT_A_VALLEY};
        v->slack[s] = capacity - v->boxes->load[s];
        v->slack_key[s] = spad__slack_key(s, v->slack[s]);
    }
    v->runs[0].end = sections;
    v->runs[sections - 1].begin = 0;
}

void spad__valley_guide(spad__valley *v, const int64_t *offset) {
    memcpy(v->guide, offset, (size_t)v->boxes->count * sizeof *v->guide);
}

int64_t spad__valley_nodes(const spad__valley *v) {
    return v->nodes;
}

int64_t spad__valley_depth(const spad__valley *v) {
    return v->deepest;
}
