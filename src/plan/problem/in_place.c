/* SPDX-License-Identifier: Apache-2.0
 *
 * Outputs in the places of inputs. An output b and an input a that dies where b is born have one
 * moment in common, the first of b and the last of a. There the two may share bytes if b has the
 * offset and the lane of a.
 *
 * The load. Those that share a byte at a moment are pairwise such pairs, and all but at most one of
 * them are outputs of another one (at most one node of a tournament is reached by no edge). So the
 * bytes that the load counts more than once are at most the sum, over the outputs of the section,
 * of their bytes that they may share with inputs; in the same way over the inputs, with outputs.
 * The smaller of the two sums is taken from the load. Inputs that are in use from their first byte
 * on all begin where the output does: of their bytes the most that one of them shares count.
 * Others, in use with a window, are added, up to all bytes of the output. A pair has exactly one
 * section in common, since it has one moment in common.
 *
 * The choice. Groups of buffers that share a place follow each other in time: an output joins the
 * group of its input if this is the only one of the group that is live at that moment, which is
 * its last, and the output the only one of its own group, whose first it is. Then no two of a
 * group are live together but such pairs, and as aliases they have all their plans. O(pairs log
 * pairs).
 */
#include "plan/problem/in_place.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/checked.h"
#include "plan/problem/shapes.h"
#include "plan/problem/sort.h"

static uint64_t key_of(int32_t a, int32_t b) {
    return a < b ? (uint64_t)(uint32_t)a << 32 | (uint32_t)b
                 : (uint64_t)(uint32_t)b << 32 | (uint32_t)a;
}

/* ---- pairs ------------------------------------------------------------------------- */

static bool has_effect(const spad__model *m, const spad__pair *pair) {
    const spad_plan_buffer *output = &m->plan->buffers.items[pair->a];
    const spad_plan_buffer *input = &m->plan->buffers.items[pair->b];
    return output->size > 0 && input->size > 0 && output->lower < input->upper &&
           m->item_of[pair->a] != m->item_of[pair->b] && spad__dies_at(input, output);
}

static int compare_keys(const void *x, const void *y) {
    const spad__in_place *a = x;
    const spad__in_place *b = y;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return (a->output > b->output) - (a->output < b->output);
}

bool spad__in_place_list(spad__model *m) {
    const size_t pairs = m->plan->in_places.count;
    if (pairs == 0) return true;
    m->in_places = spad__arena_array(&m->arena, pairs, sizeof *m->in_places);
    m->takes_part = spad__arena_array(&m->arena, (size_t)m->item_count + 1, sizeof *m->takes_part);
    if (m->in_places == NULL || m->takes_part == NULL) return false;
    size_t n = 0;
    for (size_t k = 0; k < pairs; k++) {
        const spad__pair *pair = &m->plan->in_places.items[k];
        if (!has_effect(m, pair)) continue;
        m->in_places[n++] = (spad__in_place){key_of(pair->a, pair->b), pair->a, pair->b};
        m->takes_part[m->item_of[pair->a]] = m->takes_part[m->item_of[pair->b]] = true;
    }
    qsort(m->in_places, n, sizeof *m->in_places, compare_keys);
    for (size_t k = 0; k < n; k++)
        if (k == 0 || m->in_places[k].key != m->in_places[m->in_place_count - 1].key)
            m->in_places[m->in_place_count++] = m->in_places[k];
    return true;
}

bool spad__in_place_find(const spad__model *m, int32_t a, int32_t b) {
    const uint64_t key = key_of(a, b);
    int32_t low = 0;
    int32_t high = m->in_place_count;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (m->in_places[middle].key == key) return true;
        if (m->in_places[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

bool spad__in_place_takes_part(const spad__model *m, const spad__item *item) {
    return m->in_place_count > 0 && m->takes_part[item - m->items];
}

/* ---- the load ---------------------------------------------------------------------- */

/* What a pair saves. */
typedef struct saving {
    int32_t section;
    int64_t bytes;
    int64_t own; /* all of the buffer that is looked at */
    bool window; /* the other one is in use there, but not from its first byte on */
} saving;

/* Of the buffer `mine` with another one; no bytes: one of them is not in use there. */
static bool pair_saves(const spad__model *m, int32_t mine, int32_t other, int64_t rounding,
                       bool flat, saving *out) {
    const spad__item *a = &m->items[m->item_of[mine]];
    const spad__item *b = &m->items[m->item_of[other]];
    *out = (saving){0};
    for (int32_t k = 0; k < a->piece_count; k++) {
        const spad__piece *p = &m->pieces[a->piece_first + k];
        for (int32_t l = 0; p->buffer == mine && l < b->piece_count; l++) {
            const spad__piece *q = &m->pieces[b->piece_first + l];
            if (q->buffer != other || !spad__pieces_overlap(p, q)) continue;
            const int64_t lanes = flat ? 1 : p->lanes;
            out->section = p->begin > q->begin ? p->begin : q->begin;
            out->window = q->lo != spad__delta(m, (size_t)other) || q->lanes < p->lanes;
            return spad__align_up(p->hi - p->lo, rounding, &out->own) &&
                   spad__align_up(spad__min(p->hi - p->lo, q->hi - q->lo), rounding, &out->bytes) &&
                   spad__mul(out->own, lanes, &out->own) &&
                   spad__mul(out->bytes, flat ? 1 : spad__min(lanes, q->lanes), &out->bytes);
        }
    }
    return true;
}

/* Adds, for each output (or input), the most that all pairs of it save. */
static bool add_savings(const spad__model *m, int64_t rounding, bool flat, spad__row *rows,
                        bool outputs, int64_t *saved) {
    const size_t n = (size_t)m->in_place_count;
    for (size_t k = 0; k < n; k++) {
        const spad__in_place *pair = &m->in_places[k];
        rows[k] = (spad__row){(uint64_t)(outputs ? pair->output : pair->input), (int32_t)k};
    }
    spad__sort_rows(rows, rows + n, n);
    for (size_t k = 0; k < n;) {
        const int32_t mine = (int32_t)rows[k].key;
        int64_t most = 0;
        int64_t windows = 0;
        saving s = {0};
        saving last = {0}; /* of a pair with bytes; all have the same section and own bytes */
        for (; k < n && rows[k].key == (uint64_t)mine; k++) {
            const spad__in_place *pair = &m->in_places[rows[k].value];
            const int32_t other = outputs ? pair->input : pair->output;
            if (!pair_saves(m, mine, other, rounding, flat, &s)) return false;
            if (s.bytes > 0) last = s;
            if (!s.window)
                most = spad__max(most, s.bytes);
            else if (!spad__add(windows, s.bytes, &windows))
                return false;
        }
        if (!spad__add(most, windows, &most) ||
            !spad__add(saved[last.section], spad__min(most, last.own), &saved[last.section]))
            return false;
    }
    return true;
}

bool spad__in_place_save(const spad__model *m, int64_t rounding, bool flat, spad__row *rows,
                         int64_t *saved, int64_t *scratch) {
    if (!add_savings(m, rounding, flat, rows, true, saved) ||
        !add_savings(m, rounding, flat, rows, false, scratch))
        return false;
    for (int32_t s = 0; s < m->section_count; s++) saved[s] = spad__min(saved[s], scratch[s]);
    return true;
}

/* ---- the choice -------------------------------------------------------------------- */

/* Buffers in one place. */
typedef struct place_group {
    int32_t parent;
    bool pinned;
    int64_t first; /* moment of any of them */
    int64_t last;
    int32_t at_first; /* how many are live then */
    int32_t at_last;
} place_group;

static int32_t find_group(place_group *g, int32_t i) {
    while (g[i].parent != i) i = g[i].parent = g[g[i].parent].parent;
    return i;
}

static void fill_groups(const spad__model *m, place_group *g) {
    for (int32_t i = 0; i < m->item_count; i++)
        g[i] = (place_group){.parent = i, .pinned = m->items[i].pinned};
    for (size_t b = 0; b < m->plan->buffers.count; b++) {
        const spad_plan_buffer *buffer = &m->plan->buffers.items[b];
        place_group *mine = &g[m->item_of[b]];
        if (buffer->size == 0) continue;
        const int64_t last = buffer->upper - 1;
        if (mine->at_first == 0 || buffer->lower < mine->first) {
            mine->first = buffer->lower;
            mine->at_first = 0;
        }
        if (mine->at_last == 0 || last > mine->last) {
            mine->last = last;
            mine->at_last = 0;
        }
        mine->at_first += buffer->lower == mine->first;
        mine->at_last += last == mine->last;
    }
}

/* Joins the group of an output to that of its input, if all of both can be in one place. */
static bool join_groups_in_place(place_group *g, int32_t input, int32_t output, int64_t moment) {
    const int32_t a = find_group(g, input);
    const int32_t b = find_group(g, output);
    if (a == b || (g[a].pinned && g[b].pinned)) return false;
    if (g[a].last != moment || g[a].at_last != 1 || g[b].first != moment || g[b].at_first != 1)
        return false;
    g[b].parent = a;
    if (g[a].first == moment) g[a].at_first++;
    if (g[b].last == moment) g[b].at_last++;
    g[a].last = g[b].last;
    g[a].at_last = g[b].at_last;
    g[a].pinned = g[a].pinned || g[b].pinned;
    return true;
}

static void choose_pairs(const spad__model *m, place_group *g, spad__row *rows, spad__pair *merges,
                         size_t *count) {
    const size_t n = (size_t)m->in_place_count;
    const spad_plan_buffer *buffers = m->plan->buffers.items;
    for (size_t k = 0; k < n; k++) {
        const spad__in_place *pair = &m->in_places[k];
        const int64_t bytes = spad__min(buffers[pair->output].size, buffers[pair->input].size);
        rows[k] = (spad__row){~spad__sort_key(bytes), (int32_t)k};
    }
    spad__sort_rows(rows, rows + n, n);
    for (size_t k = 0; k < n; k++) {
        const spad__in_place *pair = &m->in_places[rows[k].value];
        if (join_groups_in_place(g, m->item_of[pair->input], m->item_of[pair->output],
                                 buffers[pair->output].lower))
            merges[(*count)++] = (spad__pair){pair->output, pair->input};
    }
}

bool spad__in_place_choose(const spad__model *m, spad__pair *merges, size_t *count) {
    const spad_host *host = &m->arena.host;
    const size_t items = (size_t)m->item_count + 1;
    const size_t pairs = (size_t)m->in_place_count + 1;
    place_group *groups = spad__new_array(host, items, sizeof *groups);
    spad__row *rows = spad__new_array(host, pairs, 2 * sizeof *rows);
    const bool ok = groups != NULL && rows != NULL;
    *count = 0;
    if (ok) {
        fill_groups(m, groups);
        choose_pairs(m, groups, rows, merges, count);
    }
    spad__free(host, groups, items * sizeof *groups);
    spad__free(host, rows, 2 * pairs * sizeof *rows);
    return ok;
}
