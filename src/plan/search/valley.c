/* SPDX-License-Identifier: Apache-2.0
 *
 * Exact search by valleys: is there a plan of at most this height?
 *
 * The search branches on a section of a valley, never on a box: as in exact cover (Knuth 2000), the
 * choice with the fewest options comes first, so that dead ends (none) and forced moves (one) show
 * at once. valley_state.c has the state and its bounds.
 *
 * Branching. Take one section s of a valley with floor f. In every completion in which no box can
 * be moved down ("settled"; every plan can be settled without growing), one of these holds: (a) a
 * box that covers s rests at f. Its other sections have floors <= f, so it is inside the valley.
 *   (b) no box that covers s rests at f. Let j be the lowest box over s, at h > f. It rests on the
 *       floor of one of its sections, which is then beyond a wall, so h >= that wall; or on a box k
 *       that does not cover s. Then k is inside the valley and h >= f + size(k), or k reaches over
 * a wall and h > that wall. So raising the floor of s to min(lower wall, f + least size of a box
 * inside that does not cover s) loses no completion. It costs slack and is impossible without
 * enough. The options (a) and (b) are exhaustive and exclude each other, so a search that runs out
 * of options is a proof, whichever s it branches on.
 *
 * Pruning, and why it loses no plan:
 *   - Twins. Of boxes with equal sections and size only the first unplaced one is an option:
 * exchanging two of them changes no floor, so the subtrees are the same.
 *   - Failures (failures.h). The outcome of a part depends only on its unplaced boxes and the
 * slack of its sections (floors follow from both), so a part that failed once fails always. The
 * table survives restarts.
 *   - Backjumping (conflict-directed, Prosser 1993). A dead end depends on few sections: the run
 * that shows it and the two next to it. Their state depends only on the choices that changed
 * one of these sections (a choice changes the sections of its box and of the valleys that filled up
 *     afterwards). All other choices in the same part may change and the dead end stays, so the
 * search jumps over them. A choice that runs out of options depends on its valley and on all dead
 * ends below it, a part on the stretch that was cut off.
 *
 * Cost. A node examines the runs of its part and recounts the changed run and its neighbours:
 * O(runs + boxes and sections of those runs), typically under a microsecond. No memory is allocated
 * once the arrays have grown.
 */
#include "plan/search/valley_state.h"

#include <string.h>

#include "base/random.h"

enum { NODES_PER_CLOCK_CHECK = 64 };

/* ---- backjumping -------------------------------------------------------------------- */

/* The choice to change after a dead end: the last one in the same part that changed something the
 * dead end depends on, else the one that made the part. */
static int32_t choice_to_change(spad__valley *v, int32_t at, int32_t part) {
    while (at >= 0) {
        spad__valley_frame *const f = &v->frames.items[at];
        if (f->part != part) {
            spad__dead_end(v, v->parts.items[part].origin.lo, v->parts.items[part].origin.hi);
            part = f->part;
        }
        if (v->cause.lo < f->changed.hi && f->changed.lo < v->cause.hi) {
            f->cause = spad__span_hull(f->cause, spad__span_hull(v->cause, f->changed));
            return at;
        }
        at = f->back;
    }
    return -1;
}

static void enter_part(spad__valley *v, int32_t number) {
    v->part = number;
    if (number < 0) return;
    const spad__valley_part *p = &v->parts.items[number];
    spad__assert((size_t)number < v->parts.count && p->left > 0);
    v->left = p->left;
    v->key = p->key;
    v->back = p->creator;
}

/* ---- moves ------------------------------------------------------------------------- */

/* Puts a box on the floor of the valley of a frame; false: a dead end. */
static bool place_box(spad__valley *v, int32_t at, int32_t i) {
    const spad__boxes *b = v->boxes;
    const spad__valley_frame *f = &v->frames.items[at];
    const spad__valley_part p = v->parts.items[f->part];
    const int64_t floor = v->runs[f->valley].floor;
    v->part = f->part;
    v->back = at;
    v->left = f->left - 1;
    v->key = spad__keys_less(f->key, v->box_key[i]);
    spad__assert(f->left > 0 && f->valley <= b->begin[i] && b->end[i] <= v->runs[f->valley].end);
    v->changed = (spad__section_span){b->begin[i], b->end[i]};
    const bool cut = spad__valley_take(v, i, floor);
    if (v->left == 0) {
        enter_part(v, p.next);
        return true;
    }
    const int32_t l =
        spad__valley_carve(v, &p, f->valley, b->begin[i], b->end[i], floor + b->size[i]);
    if (!cut) return spad__valley_recount(v, &p, l);
    if (!spad__valley_split(v, &p, at)) return false;
    enter_part(v, v->part);
    return true;
}

/* Gives up bytes of the section of a frame; false: a dead end. */
static bool raise_section(spad__valley *v, int32_t at) {
    spad__valley_frame *f = &v->frames.items[at];
    const int64_t by = f->raise_by;
    const spad__valley_part p = v->parts.items[f->part];
    const int32_t s = f->section;
    spad__assert(by > 0 && by <= v->slack[s]);
    f->raise_by = 0; /* it is the last option */
    v->part = f->part;
    v->back = at;
    v->left = f->left;
    v->key = f->key;
    v->changed = (spad__section_span){s, s + 1};
    spad__valley_give_up(v, s, s + 1, by);
    const int32_t l = spad__valley_carve(v, &p, f->valley, s, s + 1, v->runs[f->valley].floor + by);
    return spad__valley_recount(v, &p, l);
}

/* ---- frames ------------------------------------------------------------------------ */

static void add_option(spad__valley *v, const spad__valley_frame *f, int32_t box, int32_t score) {
    spad__assert(v->options.count < v->options.capacity);
    size_t k = v->options.count++;
    for (; k > (size_t)f->option_first && v->options.items[k - 1].score < score; k--)
        v->options.items[k] = v->options.items[k - 1];
    v->options.items[k] = (spad__valley_option){box, score};
}

/* Lists the options of a frame, best first, and how far its section can be raised. */
static void list_options(spad__valley *v, spad__valley_frame *f, const spad__valley_part *p) {
    const spad__boxes *b = v->boxes;
    const int32_t l = f->valley;
    const int32_t r = v->runs[l].end;
    const int64_t floor = v->runs[l].floor;
    const int64_t left = spad__left_wall(v, p, l);
    const int64_t right = spad__right_wall(v, p, r);
    const int64_t wall = spad__min(left, right);
    int64_t by = wall == SPAD__NO_WALL ? SPAD__NO_WALL : wall - floor;
    f->option_first = f->option_next = (int32_t)v->options.count;
    if (v->tallies.tight) spad__tally_boxes(&v->tallies, l, r); /* another run may be newer */
    int32_t before = -1;
    const int32_t stop = b->first[r];
    for
        SPAD__EACH_UNPLACED(&v->tallies, i, b->first[l], stop) {
            if (b->end[i] > r) continue;
            if (b->begin[i] > f->section || b->end[i] <= f->section) {
                by = spad__min(by, b->size[i]);
                continue;
            }
            const bool seen = b->twin[i] && before == i - 1;
            before = i;
            if (seen || !spad__may_rest(&v->tallies, b->begin[i], b->end[i])) continue;
            const int64_t top = floor + b->size[i];
            int32_t score = v->weight[i];
            if (v->profile.guide > 0 && v->guide[i] == floor) score += v->profile.guide;
            if (b->begin[i] == l) score += v->profile.edge + (top == left ? v->profile.flush : 0);
            if (b->end[i] == r) score += v->profile.edge + (top == right ? v->profile.flush : 0);
            add_option(v, f, i, score);
        }
    f->option_end = (int32_t)v->options.count;
    f->raise_by = by <= v->slack[f->section] ? by : 0;
}

static void push_frame(spad__valley *v) {
    spad__valley_frame f = {.key = v->key,
                            .part = v->part,
                            .left = v->left,
                            .back = v->back,
                            .run_mark = (int32_t)v->saved.count,
                            .placed_mark = (int32_t)v->placed.count,
                            .raise_mark = (int32_t)v->raises.count,
                            .part_mark = (int32_t)v->parts.count};
    const spad__valley_part *p = &v->parts.items[v->part];
    int32_t rank = SPAD__NOT_A_VALLEY;
    for (int32_t l = p->lo; l < p->hi; l = v->runs[l].end) {
        if (v->runs[l].rank >= rank) continue;
        rank = v->runs[l].rank;
        f.valley = l;
    }
    f.section = v->runs[f.valley].section;
    spad__assert(rank !=
                 SPAD__NOT_A_VALLEY); /* the lowest run is a valley, and hollow ones are filled */
    spad__assert(f.valley <= f.section && f.section < v->runs[f.valley].end);
    f.cause = spad__one_wider(f.valley, v->runs[f.valley].end);
    list_options(v, &f, p);
    spad__assert(v->frames.count < v->frames.capacity);
    v->frames.items[v->frames.count++] = f;
}

/* Tries the next option of frame `at`, or of those it falls back to. False: none left. */
static bool advance_frontier(spad__valley *v, int32_t at) {
    while (at >= 0) {
        spad__valley_frame *const f = &v->frames.items[at];
        spad__valley_undo(v, f);
        v->frames.count = (size_t)at + 1;
        v->options.count = (size_t)f->option_end;
        if (f->option_next == f->option_end && f->raise_by == 0) {
            spad__failures_add(&v->failures, &v->host, f->key);
            spad__assert(f->back < at); /* choices are undone from the newest to the oldest */
            v->cause = f->cause;
            at = choice_to_change(v, f->back, f->part);
            continue;
        }
        const bool live = f->option_next < f->option_end
                              ? place_box(v, at, v->options.items[f->option_next++].box)
                              : raise_section(v, at);
        f->changed = v->changed;
        if (live) return true;
        at = choice_to_change(v, at, f->part);
    }
    return false;
}

/* ---- a run ------------------------------------------------------------------------- */

/* Reserves memory for all that one node can add: a move and the filling after it touch every run a
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
    static const spad__valley_frame beginning = {.part = -1};
    spad__valley_undo(v, &beginning);
    v->frames.count = 0;
    v->options.count = 0;
    v->deepest = 0;
    const spad__valley_part all = {
        .lo = 0, .hi = v->boxes->sections, .next = -1, .creator = -1, .top = v->capacity};
    if (!spad__valley_split(v, &all, -1)) return false;
    enter_part(v, v->part);
    return true;
}

spad__verdict spad__valley_run(spad__valley *v, const spad__profile *profile, uint64_t seed,
                               int64_t node_limit, spad__stop *stop, int64_t *offset) {
    v->profile = *profile;
    v->profile.slack_step = v->capacity / 10 + 1;
    spad__profile_weigh(&v->profile, v->boxes, seed, v->weight);
    if (!reserve_memo(v)) return SPAD__NO_MEMORY;
    if (!start_valley(v)) return SPAD__NONE;
    for (const int64_t limit = v->nodes + node_limit; v->part >= 0;) {
        if (v->nodes >= limit) return SPAD__CUT;
        if (++v->nodes % NODES_PER_CLOCK_CHECK == 0 && spad__stopped(stop)) return SPAD__CUT;
        if (!reserve_memo(v)) return SPAD__NO_MEMORY;
        v->deepest = spad__max(v->deepest, (int64_t)v->placed.count);
        spad__assert_valid(v->nodes % SPAD__FEW != 0 || v->boxes->count > SPAD__FEW ||
                           spad__valley_part_is_valid(v, &v->parts.items[v->part]));
        int32_t at = (int32_t)v->frames.count;
        if (spad__failures_has(&v->failures, v->key)) {
            const spad__valley_part *p = &v->parts.items[v->part];
            v->cause = (spad__section_span){p->lo, p->hi};
            at = choice_to_change(v, v->back, v->part);
        } else {
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
    v->box_key = spad__arena_array(&v->arena, n, sizeof *v->box_key);
    v->weight = spad__arena_array(&v->arena, n, sizeof *v->weight);
    v->offset = spad__arena_array(&v->arena, n, sizeof *v->offset);
    v->guide = spad__arena_array(&v->arena, n, sizeof *v->guide);
    v->levels = spad__arena_array(&v->arena, s, sizeof *v->levels);
    return v->runs != NULL && v->slack != NULL && v->slack_key != NULL && v->crossing != NULL &&
           v->box_key != NULL && v->weight != NULL && v->offset != NULL && v->guide != NULL &&
           v->levels != NULL && spad__tallies_allocate(&v->tallies, &v->arena, v->boxes) &&
           spad__failures_init(&v->failures, &v->host);
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
        spad__flip_unplaced(&v->tallies, i);
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
    static const spad__valley_frame beginning = {.part = -1};
    spad__valley_undo(v, &beginning);
    v->capacity = capacity;
    const int32_t sections = v->boxes->sections;
    for (int32_t s = 0; s < sections; s++) {
        v->runs[s] = (spad__floor_run){.rank = SPAD__NOT_A_VALLEY};
        v->slack[s] = capacity - v->boxes->load[s];
        v->slack_key[s] = spad__slack_key(s, v->slack[s]);
    }
    v->tallies.tight = spad__boxes_are_tight(v->boxes, capacity);
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
