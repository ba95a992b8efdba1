/* SPDX-License-Identifier: Apache-2.0
 *
 * From buffers to items, from times to sections.
 *
 * Items. Buffers that are aliases share one offset, so they are one item: a
 * shape made of pieces. A buffer without gaps gives one piece; a gap cuts it
 * into pieces, the one inside the gap with the window as its bytes. A slice is an alias
 * at a distance: its pieces begin at its place in the item.
 *
 * Sections. Walk the ends and beginnings of all pieces in time order, ends
 * first at equal times. Whenever a piece ends after another one began since
 * the last cut, the pieces in use are a maximal clique of the overlap graph:
 * a section. A piece is in the sections closed between its beginning and its
 * end, and two pieces overlap in time exactly when they share a section
 * (interval graphs: Fulkerson and Gross 1965). There are at most as many
 * sections as pieces. O(n log n) by way of a radix sort.
 */
#include "plan/problem/model.h"

#include "base/assert.h"
#include "base/checked.h"
#include "plan/problem/clash.h"
#include "plan/problem/in_place.h"
#include "plan/problem/pieces.h"
#include "plan/problem/sort.h"

/* ---- items: union of aliases and slices -------------------------------------------- */

/* offset of i = offset of parent[i] + shift[i]; the first buffer of a group is its root. */
typedef struct forest {
    int32_t *parent;
    int64_t *shift; /* NULL: all are 0 */
    bool overflow;
} forest;

static int32_t find_root(forest *f, int32_t i) {
    while (f->parent[i] != i) {
        const int32_t up = f->parent[i];
        if (f->shift != NULL && f->parent[up] != up &&
            !spad__add(f->shift[i], f->shift[up], &f->shift[i])) {
            f->overflow = true;
            return up;
        }
        f->parent[i] = f->parent[up];
        i = f->parent[up];
    }
    return i;
}

/* The distance of i from its root, once find_root was called: one step or two. */
static int64_t shift_from_root(forest *f, int32_t i) {
    int64_t sum = 0;
    for (; f->shift != NULL && f->parent[i] != i; i = f->parent[i])
        if (!spad__add(sum, f->shift[i], &sum)) f->overflow = true;
    return sum;
}

/* Puts b at a + distance. False: they are at another distance already. */
static bool tie(forest *f, int32_t a, int32_t b, int64_t distance) {
    const int32_t x = find_root(f, a);
    const int32_t y = find_root(f, b);
    int64_t d = 0;
    if (!spad__add(shift_from_root(f, a), distance, &d) || !spad__sub(d, shift_from_root(f, b), &d))
        f->overflow = true;
    if (d == INT64_MIN) f->overflow = true;
    if (f->overflow || x == y) return f->overflow || d == 0;
    f->parent[x < y ? y : x] = x < y ? x : y;
    if (f->shift != NULL) f->shift[x < y ? y : x] = x < y ? d : -d;
    return true;
}

static void tie_all(spad__model *m, forest *f, const spad__pair *merges, size_t merge_count) {
    const spad_plan *plan = m->plan;
    for (size_t k = 0; k < plan->aliases.count; k++)
        (void)tie(f, plan->aliases.items[k].a, plan->aliases.items[k].b, 0);
    for (size_t k = 0; k < plan->slices.count; k++) {
        const spad__slice *s = &plan->slices.items[k];
        if (!tie(f, s->whole, s->slice, s->at) && m->clash.kind == SPAD_PLAN_NO_CLASH)
            m->clash =
                (spad__plan_clash){SPAD_PLAN_CLASH_SLICES, (size_t)s->whole, (size_t)s->slice};
    }
    for (size_t k = 0; k < merge_count; k++) (void)tie(f, merges[k].a, merges[k].b, 0);
}

/* Where buffers are in their items: the lowest of an item is at 0. */
static bool find_deltas(spad__model *m, forest *f) {
    const int32_t n = (int32_t)m->plan->buffers.count;
    int64_t *lowest = spad__arena_array(&m->arena, (size_t)m->item_count + 1, sizeof *lowest);
    if (lowest == NULL) return false;
    m->delta = f->shift;
    for (int32_t i = 0; i < n; i++) lowest[m->item_of[i]] = 0;
    for (int32_t i = 0; i < n; i++)
        lowest[m->item_of[i]] = spad__min(lowest[m->item_of[i]], f->shift[i]);
    for (int32_t i = 0; i < n; i++)
        if (!spad__sub(f->shift[i], lowest[m->item_of[i]], &m->delta[i])) f->overflow = true;
    return true;
}

/* Numbers the groups in the order of their first buffer. */
static spad_status number_items(spad__model *m, const spad__pair *merges, size_t merge_count) {
    const int32_t n = (int32_t)m->plan->buffers.count;
    forest f = {.parent = spad__arena_array(&m->arena, (size_t)n + 1, sizeof *f.parent)};
    m->item_of = spad__arena_array(&m->arena, (size_t)n + 1, sizeof *m->item_of);
    const bool sliced = m->plan->slices.count > 0;
    if (sliced) f.shift = spad__arena_array(&m->arena, (size_t)n + 1, sizeof *f.shift);
    if (f.parent == NULL || m->item_of == NULL || (sliced && f.shift == NULL))
        return SPAD_ERR_HOST_MEMORY;
    for (int32_t i = 0; i < n; i++) f.parent[i] = i;
    tie_all(m, &f, merges, merge_count);
    for (int32_t i = 0; i < n; i++) {
        const int32_t root = find_root(&f, i);
        if (f.overflow) return SPAD_ERR_OVERFLOW;
        spad__assert(root <= i); /* the first buffer is the root, so its item has a number */
        if (f.shift != NULL && f.parent[i] != i) {
            f.shift[i] = shift_from_root(&f, i);
            f.parent[i] = root;
        }
        m->item_of[i] = root == i ? m->item_count++ : m->item_of[root];
    }
    if (sliced && !find_deltas(m, &f)) return SPAD_ERR_HOST_MEMORY;
    return f.overflow ? SPAD_ERR_OVERFLOW : SPAD_OK;
}

/* Whether the bank of a buffer is also that of a buffer of which it is a slice: its bytes are
 * then in one bank if those of the whole are. */
static bool has_bank_of_whole(const spad_plan *plan, size_t number) {
    for (size_t k = 0; k < plan->slices.count; k++)
        if ((size_t)plan->slices.items[k].slice == number) return true;
    return false;
}

/* A buffer that is not at the beginning of its item: can its rules be those of the item? */
static spad_status check_delta(const spad__model *m, size_t number, spad_error *error) {
    const spad_plan_buffer *b = &m->plan->buffers.items[number];
    const int64_t delta = spad__delta(m, number);
    char label[SPAD_NAME_FACT_MAX + 16];
    if (delta == 0) return SPAD_OK;
    if (delta % b->alignment == 0 && (b->bank == 0 || has_bank_of_whole(m->plan, number)))
        return SPAD_OK;
    return spad__fail(error, SPAD_ERR_ALIGNMENT,
                      "buffer %s is %s B above another one by way of slices, which its "
                      "alignment %s or its bank of %s B does not allow",
                      spad__plan_label(m->plan, number, label, sizeof label),
                      spad__grouped(delta).text, spad__grouped(b->alignment).text,
                      spad__grouped(b->bank).text);
}

/* Joins the rules of a buffer at byte `delta` into its item. */
static spad_status join_rules(spad__item *item, const spad_plan_buffer *b, int64_t delta,
                              spad_error *error) {
    int64_t top;
    if (!spad__add(delta, b->size, &top))
        return spad__fail(error, SPAD_ERR_OVERFLOW,
                          "a group of slices and aliases is larger than 64 bits hold");
    if (item->alignment != b->alignment &&
        !spad__lcm(item->alignment, b->alignment, &item->alignment)) {
        return spad__fail(error, SPAD_ERR_OVERFLOW,
                          "the common alignment of an alias group does not fit 64 bits");
    }
    if (b->pinned && !item->pinned) {
        item->pinned = true;
        item->offset = b->offset - delta;
        item->lane = b->lane;
    }
    item->size = spad__max(item->size, top);
    item->lanes = spad__max(item->lanes, b->lanes);
    if (b->bank > 0 && delta == 0) item->banked = true; /* else it is that of the whole */
    return SPAD_OK;
}

static int32_t pieces_of(const spad_plan_buffer *b) {
    return b->size == 0 ? 0 : (int32_t)(2 * b->gap_count + 1);
}

static void add_piece(spad__model *m, spad__item *item, int32_t *slot, int32_t number, int64_t lo,
                      int64_t hi) {
    if (lo == hi) return;
    const spad_plan_buffer *b = &m->plan->buffers.items[number];
    const int64_t delta = spad__delta(m, (size_t)number);
    spad__assert(lo >= 0 && lo < hi && hi <= b->size && *slot < m->piece_count);
    m->pieces[*slot] =
        (spad__piece){.lo = delta + lo, .hi = delta + hi, .lanes = b->lanes, .buffer = number};
    item->piece_count++;
    (*slot)++;
}

/* When pieces begin and end: the time and the piece. */
typedef struct moment_list {
    spad__row *begins;
    spad__row *ends;
    size_t count;
} moment_list;

static void add_times(moment_list *times, int32_t piece, int64_t lower, int64_t upper) {
    spad__assert(lower < upper);
    times->begins[times->count] = (spad__row){spad__sort_key(lower), piece};
    times->ends[times->count++] = (spad__row){spad__sort_key(upper), piece};
}

/* The pieces of one buffer, with their times. */
static void cut_buffer(spad__model *m, spad__item *item, int32_t *slot, int32_t number,
                       moment_list *times) {
    const spad_plan_buffer *b = &m->plan->buffers.items[number];
    if (b->size == 0) return;
    int64_t from = b->lower;
    for (size_t k = 0; k <= b->gap_count; k++) {
        const int64_t until = k < b->gap_count ? b->gaps[k].lower : b->upper;
        if (from < until) {
            add_times(times, *slot, from, until);
            add_piece(m, item, slot, number, 0, b->size);
        }
        if (k == b->gap_count) return;
        const spad_plan_gap *gap = &b->gaps[k];
        if (gap->window_lower < gap->window_upper) {
            add_times(times, *slot, gap->lower, gap->upper);
            add_piece(m, item, slot, number, gap->window_lower, gap->window_upper);
        }
        from = gap->upper;
    }
}

/* ---- sections ---------------------------------------------------------------------- */

/* scratch: as many rows. */
static void number_sections(spad__model *m, moment_list *times, spad__row *scratch) {
    spad__sort_rows(times->begins, scratch, times->count);
    spad__sort_rows(times->ends, scratch, times->count);
    const spad__row *begin = times->begins;
    const spad__row *const last = begin + times->count;
    for (const spad__row *end = times->ends; end < times->ends + times->count; end++) {
        const spad__row *const first = begin;
        for (; begin < last && begin->key < end->key; begin++)
            m->pieces[begin->value].begin = m->section_count;
        if (begin > first) m->moment[m->section_count++] = spad__sort_value(begin[-1].key);
        spad__assert(m->pieces[end->value].begin < m->section_count); /* it begins before it ends */
        m->pieces[end->value].end = m->section_count;
    }
    spad__assert(begin == last && m->section_count <= m->piece_count);
}

/* ---- the whole --------------------------------------------------------------------- */

/* Do only the sums of the clocks order two buffers? Those that overlap in them conflict anyway. */
static bool is_ordered_by_sums_only(const spad__model *m, size_t i, size_t j) {
    const spad_plan_buffer *a = &m->plan->buffers.items[i];
    const spad_plan_buffer *b = &m->plan->buffers.items[j];
    if (a->size == 0 || b->size == 0 || m->item_of[i] == m->item_of[j]) return false;
    if (a->lower < b->upper && b->lower < a->upper) return false;
    return !spad__is_before(a, b) && !spad__is_before(b, a);
}

static void add_apart(spad__model *m, size_t i, size_t j) {
    const spad_plan_buffer *a = &m->plan->buffers.items[i];
    const spad_plan_buffer *b = &m->plan->buffers.items[j];
    const int64_t distance = spad__delta(m, i) - spad__delta(m, j);
    m->aparts[m->apart_count++] = (spad__conflict){.a = m->item_of[i],
                                                   .b = m->item_of[j],
                                                   .above = a->size + distance,
                                                   .below = b->size - distance,
                                                   .lanes_a = a->lanes,
                                                   .lanes_b = b->lanes};
}

/* Counts, or adds, the pairs that vector clocks leave unordered. O(n^2), n is limited. */
static size_t join_unordered(spad__model *m, bool add) {
    const size_t n = m->plan->buffers.count;
    size_t count = 0;
    if (n == 0 || m->plan->buffers.items[0].clock_count == 0) return 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i + 1; j < n; j++) {
            if (!is_ordered_by_sums_only(m, i, j)) continue;
            count++;
            if (add) add_apart(m, i, j);
        }
    }
    return count;
}

static spad_status join_apart(spad__model *m) {
    const spad_plan *plan = m->plan;
    const size_t room = plan->aparts.count + join_unordered(m, false) + 1;
    m->aparts = spad__arena_array(&m->arena, room, sizeof *m->aparts);
    if (m->aparts == NULL) return SPAD_ERR_HOST_MEMORY;
    for (size_t k = 0; k < plan->aparts.count; k++) {
        const spad__pair pair = plan->aparts.items[k];
        if (plan->buffers.items[pair.a].size == 0 || plan->buffers.items[pair.b].size == 0)
            continue;
        if (m->item_of[pair.a] == m->item_of[pair.b]) continue; /* decided: see clash.c */
        add_apart(m, (size_t)pair.a, (size_t)pair.b);
    }
    m->explicit_aparts = m->apart_count;
    (void)join_unordered(m, true);
    return SPAD_OK;
}

/* The alignment and the banks of one item must divide one another, so that the next
 * legal offset is found in a few steps. Such numbers form a chain in which each is at least
 * twice the one before, so few of them differ. */
static spad_status check_nesting(const spad__model *m, const spad__item *item, spad_error *error) {
    int64_t chain[64] = {item->alignment};
    int32_t length = 1;
    for (int32_t k = 0; k < item->rule_count; k++) {
        const int64_t bank = m->rules[item->rule_first + k].bank;
        if (bank == 0) continue;
        bool known = false;
        for (int32_t c = 0; c < length && !known; c++) {
            known = bank == chain[c];
            if (spad__nested(bank, chain[c])) continue;
            return spad__fail(error, SPAD_ERR_ALIGNMENT,
                              "an alias group has %s %s B and banks of %s B; one must "
                              "divide the other",
                              c == 0 ? "alignment" : "banks of", spad__grouped(chain[c]).text,
                              spad__grouped(bank).text);
        }
        if (!known) chain[length++] = bank;
        spad__assert(length <= 64); /* each is at least twice the one before, below 2^63 */
    }
    return SPAD_OK;
}

static spad_status check_nestings(const spad__model *m, spad_error *error) {
    spad_status status = SPAD_OK;
    for (int32_t i = 0; i < m->item_count && status == SPAD_OK; i++)
        if (m->items[i].banked) status = check_nesting(m, &m->items[i], error);
    return status;
}

static void find_hulls(spad__model *m) {
    for (int32_t i = 0; i < m->item_count; i++) {
        spad__item *item = &m->items[i];
        for (int32_t k = 0; k < item->piece_count; k++) {
            const spad__piece *piece = &m->pieces[item->piece_first + k];
            if (k == 0 || piece->begin < item->begin) item->begin = piece->begin;
            if (piece->end > item->end) item->end = piece->end;
        }
    }
}

static void find_grain(spad__model *m) {
    for (int32_t i = 0; i < m->item_count && m->grain != 1; i++) {
        const spad__item *item = &m->items[i];
        if (item->piece_count == 0) continue;
        m->grain = spad__gcd(item->alignment, m->grain);
        for (int32_t k = 0; k < item->piece_count; k++)
            m->grain = spad__gcd(m->grain, m->pieces[item->piece_first + k].lo);
    }
    if (m->grain == 0) m->grain = 1; /* no bytes */
}

static void classify_model(spad__model *m) {
    m->boxable = m->apart_count == 0 && m->in_place_count == 0;
    m->whole = true;
    m->common_alignment = -1;
    int64_t least_lanes = INT64_MAX;
    for (int32_t i = 0; i < m->item_count; i++) {
        const spad__item *item = &m->items[i];
        if (item->pinned) m->boxable = false;
        if (item->piece_count == 0) continue;
        if (m->common_alignment < 0) m->common_alignment = item->alignment;
        if (item->alignment != m->common_alignment) m->common_alignment = 0;
        if (item->banked) m->boxable = false;
        if (item->piece_count > 1 || m->pieces[item->piece_first].lo > 0 ||
            m->pieces[item->piece_first].hi < item->size)
            m->whole = false;
        for (int32_t k = 0; k < item->piece_count; k++)
            least_lanes = spad__min(least_lanes, m->pieces[item->piece_first + k].lanes);
    }
    if (m->common_alignment < 0) m->common_alignment = 1;
    /* two tiles that each take more than half of the lanes are never side by side */
    if (least_lanes <= m->plan->lanes / 2) m->boxable = false;
    m->plain = m->whole && m->boxable;
}

static bool needs_rule(const spad_plan *plan, const spad_plan_buffer *b) {
    return b->bank > 0 || plan->lanes > 1;
}

/* The rules of buffer `number`, as its item sees them. */
static spad_status add_rules(spad__model *m, spad__item *item, size_t number, spad_error *error) {
    const spad_plan_buffer *b = &m->plan->buffers.items[number];
    const int64_t delta = spad__delta(m, number);
    const bool clash = m->clash.kind != SPAD_PLAN_NO_CLASH; /* then distances mean nothing */
    const spad_status status = clash ? SPAD_OK : check_delta(m, number, error);
    if (status != SPAD_OK) return status;
    if (needs_rule(m->plan, b))
        m->rules[item->rule_first + item->rule_count++] =
            (spad__rule){delta == 0 ? b->bank : 0, b->size, b->lanes};
    return join_rules(item, b, delta, error);
}

static spad_status fill_items(spad__model *m, moment_list *times, spad_error *error) {
    const spad_plan *plan = m->plan;
    const int32_t n = (int32_t)plan->buffers.count;
    for (int32_t i = 0; i < m->item_count; i++) m->items[i].alignment = 1;
    /* first count, then place: pieces and bank rules of one item are together */
    for (int32_t i = 0; i < n; i++) {
        spad__item *item = &m->items[m->item_of[i]];
        item->piece_first += pieces_of(&plan->buffers.items[i]);
        item->rule_first += needs_rule(plan, &plan->buffers.items[i]);
    }
    int32_t pieces = 0;
    int32_t rules = 0;
    for (int32_t i = 0; i < m->item_count; i++) {
        const int32_t piece_room = m->items[i].piece_first;
        const int32_t rule_room = m->items[i].rule_first;
        m->items[i].piece_first = pieces;
        m->items[i].rule_first = rules;
        pieces += piece_room;
        rules += rule_room;
    }
    for (int32_t i = 0; i < n; i++) {
        spad__item *item = &m->items[m->item_of[i]];
        const spad_status status = add_rules(m, item, (size_t)i, error);
        if (status != SPAD_OK) return status;
        int32_t slot = item->piece_first + item->piece_count;
        cut_buffer(m, item, &slot, i, times);
        spad__assert(slot == item->piece_first + item->piece_count);
    }
    return SPAD_OK;
}

static spad_status build_model(spad__model *m, spad_error *error) {
    const spad_plan *plan = m->plan;
    size_t pieces = 0;
    size_t rules = 0;
    for (size_t i = 0; i < plan->buffers.count; i++) {
        pieces += (size_t)pieces_of(&plan->buffers.items[i]);
        rules += needs_rule(plan, &plan->buffers.items[i]);
    }
    if (pieces > INT32_MAX / 4) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a plan has at most %d pieces of lifetimes",
                          INT32_MAX / 4);
    }
    m->piece_count = (int32_t)pieces;
    m->items = spad__arena_array(&m->arena, (size_t)m->item_count + 1, sizeof *m->items);
    m->pieces = spad__arena_array(&m->arena, pieces + 1, sizeof *m->pieces);
    m->rules = spad__arena_array(&m->arena, rules + 1, sizeof *m->rules);
    m->moment = spad__arena_array(&m->arena, pieces + 1, sizeof *m->moment);
    const spad__arena_mark mark = spad__arena_here(&m->arena);
    spad__row *rows = spad__arena_array(&m->arena, pieces + 1, 3 * sizeof *rows);
    spad_status status = SPAD_ERR_HOST_MEMORY;
    if (m->items != NULL && m->pieces != NULL && m->rules != NULL && m->moment != NULL &&
        rows != NULL) {
        moment_list times = {.begins = rows, .ends = rows + pieces};
        status = fill_items(m, &times, error);
        if (status == SPAD_OK) number_sections(m, &times, rows + 2 * pieces);
    }
    spad__arena_rewind(&m->arena, mark);
    if (status == SPAD_OK) status = join_apart(m);
    if (status == SPAD_ERR_HOST_MEMORY) return spad__fail_host_memory(error);
    if (status == SPAD_OK) status = check_nestings(m, error);
    if (status != SPAD_OK) return status;
    spad__pieces_join(m);
    find_hulls(m);
    find_grain(m);
    classify_model(m);
    spad__assert_valid(spad__model_is_valid(m));
    return spad__clash_find(m) ? SPAD_OK : spad__fail_host_memory(error);
}

static spad_status start_model(spad__model *m, const spad_plan *plan, const spad__pair *merges,
                               size_t count, spad_error *error) {
    *m = (spad__model){.plan = plan, .arena.host = plan->host};
    const spad_status status = number_items(m, merges, count);
    if (status == SPAD_ERR_HOST_MEMORY) return spad__fail_host_memory(error);
    if (status == SPAD_OK) return SPAD_OK;
    return spad__fail(error, SPAD_ERR_OVERFLOW,
                      "a group of slices and aliases is larger than 64 bits hold");
}

spad_status spad__model_build(spad__model *m, const spad_plan *plan, spad_error *error) {
    spad_status status = start_model(m, plan, NULL, 0, error);
    if (status == SPAD_OK && !spad__in_place_list(m)) status = spad__fail_host_memory(error);
    return status == SPAD_OK ? build_model(m, error) : status;
}

spad_status spad__model_build_merged(spad__model *m, const spad_plan *plan,
                                     const spad__pair *merges, size_t count, spad_error *error) {
    const spad_status status = start_model(m, plan, merges, count, error);
    return status == SPAD_OK ? build_model(m, error) : status;
}

void spad__model_free(spad__model *m) {
    spad__arena_free(&m->arena);
}

static bool item_is_valid(const spad__model *m, const spad__item *item) {
    int32_t begin = INT32_MAX;
    int32_t end = 0;
    for (int32_t k = 0; k < item->piece_count; k++) {
        const spad__piece *piece = &m->pieces[item->piece_first + k];
        if (piece->begin >= piece->end || piece->end > m->section_count) return false;
        if (piece->lo < 0 || piece->lo >= piece->hi || piece->hi > item->size) return false;
        if (piece->lanes < 1 || piece->lanes > item->lanes) return false;
        if (piece->begin < begin) begin = piece->begin;
        if (piece->end > end) end = piece->end;
    }
    if (item->piece_count > 0 && (item->begin != begin || item->end != end)) return false;
    return item->alignment >= 1 && item->size >= 0;
}

bool spad__model_is_valid(const spad__model *m) {
    int32_t piece = 0;
    for (int32_t i = 0; i < m->item_count; i++) {
        const spad__item *item = &m->items[i];
        if (item->piece_first < piece || !item_is_valid(m, item)) return false;
        piece = item->piece_first + item->piece_count; /* those of one item are together */
    }
    for (int32_t s = 1; s < m->section_count; s++) {
        if (m->moment[s - 1] >= m->moment[s]) return false;
    }
    int32_t first = 0; /* items are numbered by their first buffer */
    for (size_t b = 0; b < m->plan->buffers.count; b++) {
        if (m->item_of[b] > first) return false;
        if (m->item_of[b] == first) first++;
    }
    return first == m->item_count && piece <= m->piece_count && (!m->plain || m->boxable);
}
