/* SPDX-License-Identifier: Apache-2.0
 *
 * From buffers to items, from times to sections.
 *
 * Items. Buffers that are aliases share one offset, so they are one item: a
 * shape made of pieces. A buffer without gaps gives one piece; a gap cuts it
 * into pieces, the one inside the gap with the window as its bytes.
 *
 * Sections. Walk the ends and beginnings of all pieces in time order, ends
 * first at equal times. Whenever a piece ends after another one began since
 * the last cut, the pieces in use are a maximal clique of the overlap graph:
 * a section. A piece is in the sections closed between its beginning and its
 * end, and two pieces overlap in time exactly when they share a section
 * (interval graphs: Fulkerson and Gross 1965). There are at most as many
 * sections as pieces. O(n log n) by way of a radix sort.
 */
#include "plan/model.h"

#include "base/assert.h"
#include "base/checked.h"
#include "plan/clash.h"
#include "plan/sort.h"

/* ---- items: union of aliases ------------------------------------------------------- */

static int32_t find_root(int32_t *parent, int32_t i) {
    while (parent[i] != i) {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}

/* Numbers the alias groups in the order of their first buffer. */
static bool number_items(spad__model *m) {
    const spad_plan *plan = m->plan;
    const int32_t n = (int32_t)plan->buffers.count;
    int32_t *parent = spad__arena_array(&m->arena, (size_t)n + 1, sizeof *parent);
    m->item_of = spad__arena_array(&m->arena, (size_t)n + 1, sizeof *m->item_of);
    if (parent == NULL || m->item_of == NULL) return false;
    for (int32_t i = 0; i < n; i++) parent[i] = i;
    for (size_t k = 0; k < plan->aliases.count; k++) {
        const int32_t a = find_root(parent, plan->aliases.items[k].a);
        const int32_t b = find_root(parent, plan->aliases.items[k].b);
        parent[a < b ? b : a] = a < b ? a : b; /* the first buffer is the root */
    }
    for (int32_t i = 0; i < n; i++) {
        const int32_t root = find_root(parent, i);
        spad__assert(root <= i); /* the first buffer is the root, so its item has a number */
        m->item_of[i] = root == i ? m->item_count++ : m->item_of[root];
    }
    return true;
}

/* Joins the rules of a buffer into its item. */
static spad_status join_rules(spad__item *item, const spad_plan_buffer *b, spad_error *error) {
    if (!spad__lcm(item->alignment, b->alignment, &item->alignment)) {
        return spad__fail(error, SPAD_ERR_OVERFLOW,
                          "the common alignment of an alias group does not fit 64 bits");
    }
    if (b->pinned && !item->pinned) {
        item->pinned = true;
        item->offset = b->offset;
        item->lane = b->lane;
    }
    item->size = spad__max(item->size, b->size);
    item->lanes = spad__max(item->lanes, b->lanes);
    if (b->bank > 0) item->banked = true;
    return SPAD_OK;
}

static int32_t pieces_of(const spad_plan_buffer *b) {
    return b->size == 0 ? 0 : (int32_t)(2 * b->gap_count + 1);
}

static void add_piece(spad__model *m, spad__item *item, int32_t *slot, const spad_plan_buffer *b,
                      int64_t lo, int64_t hi) {
    if (lo == hi) return;
    spad__assert(lo >= 0 && lo < hi && hi <= b->size && *slot < m->piece_count);
    m->pieces[*slot] = (spad__piece){.lo = lo, .hi = hi, .lanes = b->lanes};
    item->piece_count++;
    (*slot)++;
}

typedef struct moment_list {
    spad__row *rows; /* two per piece: value = 2 * piece + (1 for a beginning) */
    size_t count;
} moment_list;

static void add_times(moment_list *times, int32_t piece, int64_t lower, int64_t upper) {
    spad__assert(lower < upper);
    times->rows[times->count++] = (spad__row){spad__sort_key(lower), 2 * piece + 1};
    times->rows[times->count++] = (spad__row){spad__sort_key(upper), 2 * piece};
}

/* The pieces of one buffer, with their times. */
static void cut_buffer(spad__model *m, spad__item *item, int32_t *slot, const spad_plan_buffer *b,
                       moment_list *times) {
    if (b->size == 0) return;
    int64_t from = b->lower;
    for (size_t k = 0; k <= b->gap_count; k++) {
        const int64_t until = k < b->gap_count ? b->gaps[k].lower : b->upper;
        if (from < until) {
            add_times(times, *slot, from, until);
            add_piece(m, item, slot, b, 0, b->size);
        }
        if (k == b->gap_count) return;
        const spad_plan_gap *gap = &b->gaps[k];
        if (gap->window_lower < gap->window_upper) {
            add_times(times, *slot, gap->lower, gap->upper);
            add_piece(m, item, slot, b, gap->window_lower, gap->window_upper);
        }
        from = gap->upper;
    }
}

/* ---- sections ---------------------------------------------------------------------- */

static bool number_sections(spad__model *m, moment_list *times) {
    spad__row *scratch = spad__new_array(&m->arena.host, times->count + 1, sizeof *scratch);
    m->moment = spad__arena_array(&m->arena, (size_t)m->piece_count + 1, sizeof *m->moment);
    if (scratch == NULL || m->moment == NULL) {
        spad__free(&m->arena.host, scratch, (times->count + 1) * sizeof *scratch);
        return false;
    }
    /* ends before beginnings: they come first in the stable order */
    size_t ends = 0;
    for (size_t i = 0; i < times->count; i++)
        if ((times->rows[i].value & 1) == 0) scratch[ends++] = times->rows[i];
    for (size_t i = 0; i < times->count; i++)
        if ((times->rows[i].value & 1) == 1) scratch[ends++] = times->rows[i];
    spad__sort_rows(scratch, times->rows, times->count);
    bool begun = false;
    int64_t last = 0;
    for (size_t i = 0; i < times->count; i++) {
        spad__assert(i == 0 || scratch[i - 1].key <= scratch[i].key);
        spad__piece *piece = &m->pieces[scratch[i].value / 2];
        if (scratch[i].value & 1) {
            piece->begin = m->section_count;
            last = (int64_t)(scratch[i].key ^ (UINT64_C(1) << 63));
            begun = true;
            continue;
        }
        if (begun) m->moment[m->section_count++] = last;
        begun = false;
        piece->end = m->section_count;
        spad__assert(piece->begin < piece->end); /* its beginning was in a section by now */
    }
    spad__assert(!begun && m->section_count <= m->piece_count);
    spad__free(&m->arena.host, scratch, (times->count + 1) * sizeof *scratch);
    return true;
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
    m->aparts[m->apart_count++] = (spad__conflict){.a = m->item_of[i],
                                                   .b = m->item_of[j],
                                                   .above = a->size,
                                                   .below = b->size,
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
    for (int32_t k = 0; item->banked && k < item->rule_count; k++) {
        const int64_t bank = m->rules[item->rule_first + k].bank;
        if (bank == 0) continue;
        bool known = false;
        for (int32_t c = 0; c < length && !known; c++) {
            known = bank == chain[c];
            if (spad__nested(bank, chain[c])) continue;
            return spad__fail(error, SPAD_ERR_ALIGNMENT,
                              "an alias group has %s %lld B and banks of %lld B; one must "
                              "divide the other",
                              c == 0 ? "alignment" : "banks of", (long long)chain[c],
                              (long long)bank);
        }
        if (!known) chain[length++] = bank;
        spad__assert(length <= 64); /* each is at least twice the one before, below 2^63 */
    }
    return SPAD_OK;
}

static spad_status check_nestings(const spad__model *m, spad_error *error) {
    spad_status status = SPAD_OK;
    for (int32_t i = 0; i < m->item_count && status == SPAD_OK; i++)
        status = check_nesting(m, &m->items[i], error);
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

static int64_t common_divisor(int64_t a, int64_t b) {
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void find_grain(spad__model *m) {
    for (int32_t i = 0; i < m->item_count && m->grain != 1; i++) {
        const spad__item *item = &m->items[i];
        if (item->piece_count == 0) continue;
        m->grain = common_divisor(item->alignment, m->grain);
        for (int32_t k = 0; k < item->piece_count; k++)
            m->grain = common_divisor(m->grain, m->pieces[item->piece_first + k].lo);
    }
    if (m->grain == 0) m->grain = 1; /* no bytes */
}

static void classify_model(spad__model *m) {
    m->boxable = m->apart_count == 0;
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
        const spad_plan_buffer *b = &plan->buffers.items[i];
        spad__item *item = &m->items[m->item_of[i]];
        int32_t slot = item->piece_first + item->piece_count;
        cut_buffer(m, item, &slot, b, times);
        if (needs_rule(plan, b))
            m->rules[item->rule_first + item->rule_count++] =
                (spad__rule){b->bank, b->size, b->lanes};
        spad__assert(slot == item->piece_first + item->piece_count);
        const spad_status status = join_rules(item, b, error);
        if (status != SPAD_OK) return status;
    }
    return SPAD_OK;
}

spad_status spad__model_build(spad__model *m, const spad_plan *plan, spad_error *error) {
    *m = (spad__model){.plan = plan, .arena.host = plan->host};
    if (!number_items(m)) return spad__fail_host_memory(error);
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
    moment_list times = {.rows = spad__new_array(&plan->host, 2 * pieces + 1, sizeof *times.rows)};
    spad_status status = SPAD_ERR_HOST_MEMORY;
    if (m->items != NULL && m->pieces != NULL && m->rules != NULL && times.rows != NULL) {
        status = fill_items(m, &times, error);
        if (status == SPAD_OK && !number_sections(m, &times)) status = SPAD_ERR_HOST_MEMORY;
    }
    spad__free(&plan->host, times.rows, (2 * pieces + 1) * sizeof *times.rows);
    if (status == SPAD_OK) status = join_apart(m);
    if (status == SPAD_ERR_HOST_MEMORY) return spad__fail_host_memory(error);
    if (status == SPAD_OK) status = check_nestings(m, error);
    if (status != SPAD_OK) return status;
    find_hulls(m);
    find_grain(m);
    classify_model(m);
    spad__assert_valid(spad__model_is_valid(m));
    return spad__clash_find(m) ? SPAD_OK : spad__fail_host_memory(error);
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
