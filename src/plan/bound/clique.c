/* SPDX-License-Identifier: Apache-2.0
 *
 * The heaviest clique: items that may not share bytes, two by two, because they are in use at a
 * common moment or are kept apart; with several lanes, of those that always take the lane in the
 * middle. There their bytes lie one above the other, so their sum is a
 * lower bound on the height, like the load of a section, which is the clique of one moment. With
 * lives that are only partly ordered the largest antichain of the order is such a clique, and no
 * moment of any one time axis need show it.
 *
 * Branch and bound over sets of candidates (bitsets). Candidates are painted with colours, so that
 * two of one colour may share bytes: a clique has at most one of each colour, and the sum of the
 * heaviest of each colour bounds the bytes that candidates can add. Every clique found is a valid
 * bound, so the search may stop at any time: after WORK_LIMIT words of bitsets the best one so far
 * is taken.
 *
 * Items of several pieces or with windows (gaps, alias groups) are left out, which only weakens the
 * bound.
 */
#include "plan/bound/clique.h"

#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "plan/bound/lanes.h"
#include "plan/problem/shapes.h"
#include "plan/problem/sort.h"

enum {
    NODES_MAX = 512, /* items that are looked at; beyond, the largest of them */
    WORD_BITS = 64,
    WORK_LIMIT = 1 << 23,
    CLIQUE_WORK_PER_CLOCK_CHECK = 1 << 14
};

typedef struct seeker {
    const spad__model *m;
    spad__arena arena;
    int32_t count; /* of nodes: items with bytes, the heaviest first */
    size_t words;
    int32_t *item;      /* per node */
    int64_t *weight;    /* per node */
    int32_t *node_of;   /* per item; -1: none */
    uint64_t *adjacent; /* per node: a set of nodes */
    uint64_t *sets;     /* per depth: candidates, and scratch for two more */
    int32_t *chosen;
    int32_t chosen_count;
    int64_t best;
    int32_t *best_nodes;
    int32_t best_count;
    spad__stop *stop;
    int64_t work;
    int64_t checked; /* work at the last look at the clock */
    bool cut;
} seeker;

static uint64_t *row_of(const seeker *s, uint64_t *sets, int32_t number) {
    return sets + (size_t)number * s->words;
}

static void put_node(uint64_t *set, int32_t node) {
    set[node / WORD_BITS] |= UINT64_C(1) << (node % WORD_BITS);
}

static void take_node(uint64_t *set, int32_t node) {
    set[node / WORD_BITS] &= ~(UINT64_C(1) << (node % WORD_BITS));
}

/* The first node of a set, or -1. */
static int32_t first_in(const seeker *s, const uint64_t *set) {
    for (size_t w = 0; w < s->words; w++)
        if (set[w] != 0) return (int32_t)(w * WORD_BITS) + __builtin_ctzll(set[w]);
    return -1;
}

/* ---- the search -------------------------------------------------------------------- */

/* The most bytes that the candidates can add: the heaviest of every colour. A class is filled
 * greedily with nodes that pairwise may share bytes; nodes are in the order of their weight, so the
 * first of a class is its heaviest. */
static int64_t colour_bound(seeker *s, const uint64_t *candidates, uint64_t *left,
                            uint64_t *class) {
    int64_t sum = 0;
    memcpy(left, candidates, s->words * sizeof *left);
    for (int32_t first; (first = first_in(s, left)) >= 0;) {
        sum += s->weight[first];
        memcpy(class, left, s->words * sizeof *class);
        for (int32_t node; (node = first_in(s, class)) >= 0;) {
            const uint64_t *adjacent = row_of(s, s->adjacent, node);
            take_node(left, node);
            take_node(class, node);
            for (size_t w = 0; w < s->words; w++) class[w] &= ~adjacent[w];
            s->work += (int64_t)s->words;
        }
    }
    return sum;
}

/* Is it time to stop? */
static bool is_cut(seeker *s) {
    if (s->work > WORK_LIMIT) s->cut = true;
    if (s->work - s->checked > CLIQUE_WORK_PER_CLOCK_CHECK) {
        s->checked = s->work;
        if (spad__stopped(s->stop)) s->cut = true;
    }
    return s->cut;
}

static void keep_clique(seeker *s, int64_t weight) {
    s->best = weight;
    s->best_count = s->chosen_count;
    memcpy(s->best_nodes, s->chosen, (size_t)s->chosen_count * sizeof *s->chosen);
}

/* Candidates of depth d are at row 3d of `sets`; they are adjacent to all chosen nodes. Recursion
 * is as deep as the largest clique. */
static void seek_clique(seeker *s, int64_t weight) {
    const int32_t depth = s->chosen_count;
    uint64_t *candidates = row_of(s, s->sets, 3 * depth);
    if (weight > s->best) keep_clique(s, weight);
    for (int32_t node; (node = first_in(s, candidates)) >= 0;) {
        const int64_t more = colour_bound(s, candidates, row_of(s, s->sets, 3 * depth + 1),
                                          row_of(s, s->sets, 3 * depth + 2));
        if (weight + more <= s->best || is_cut(s)) return;
        uint64_t *inner = row_of(s, s->sets, 3 * (depth + 1));
        const uint64_t *adjacent = row_of(s, s->adjacent, node);
        for (size_t w = 0; w < s->words; w++) inner[w] = candidates[w] & adjacent[w];
        s->chosen[s->chosen_count++] = node;
        seek_clique(s, weight + s->weight[node]);
        s->chosen_count--;
        take_node(candidates, node);
    }
}

/* ---- set-up ------------------------------------------------------------------------ */

/* One piece with all the bytes: it begins at an aligned offset, and its size may be rounded up. */
static bool is_whole(const spad__model *m, const spad__item *item) {
    if (item->piece_count != 1) return false;
    const spad__piece *piece = &m->pieces[item->piece_first];
    return piece->lo == 0 && piece->hi == item->size;
}

/* Does it take the lane in the middle, wherever it starts? */
static bool takes_middle(const spad__model *m, const spad__item *item) {
    return spad__lanes_force(m->plan, m->pieces[item->piece_first].lanes, m->plan->lanes / 2);
}

static bool list_nodes(seeker *s, int64_t rounding) {
    const size_t n = (size_t)s->m->item_count;
    spad__row *rows = spad__arena_array(&s->arena, n + 1, 2 * sizeof *rows);
    s->node_of = spad__arena_array(&s->arena, n + 1, sizeof *s->node_of);
    if (rows == NULL || s->node_of == NULL) return false;
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const spad__item *item = &s->m->items[i];
        s->node_of[i] = -1;
        if (is_whole(s->m, item) && takes_middle(s->m, item))
            rows[count++] = (spad__row){~spad__sort_key(item->size), (int32_t)i};
    }
    spad__sort_rows(rows, rows + n + 1, count);
    if (count > NODES_MAX) count = NODES_MAX;
    s->count = (int32_t)count;
    s->words = (count + WORD_BITS - 1) / WORD_BITS + 1;
    s->item = spad__arena_array(&s->arena, count + 1, sizeof *s->item);
    s->weight = spad__arena_array(&s->arena, count + 1, sizeof *s->weight);
    if (s->item == NULL || s->weight == NULL) return false;
    int64_t total = 0;
    for (size_t k = 0; k < count; k++) {
        const spad__item *item = &s->m->items[rows[k].value];
        const spad__piece *piece = &s->m->pieces[item->piece_first];
        s->item[k] = rows[k].value;
        s->node_of[rows[k].value] = (int32_t)k;
        if (!spad__align_up(piece->hi - piece->lo, rounding, &s->weight[k]) ||
            !spad__add(total, s->weight[k], &total))
            s->count = 0; /* sums that do not fit 64 bits bound nothing */
    }
    return true;
}

static void join_nodes(seeker *s, int32_t a, int32_t b) {
    if (a < 0 || b < 0 || a == b) return;
    put_node(row_of(s, s->adjacent, a), b);
    put_node(row_of(s, s->adjacent, b), a);
}

/* A pair is of two buffers. One that is smaller than its item, because it has an alias, keeps only
 * its own bytes away from the other. */
static bool is_apart_as_a_whole(const spad__model *m, const spad__conflict *pair) {
    const spad__item *a = &m->items[pair->a];
    const spad__item *b = &m->items[pair->b];
    return pair->above >= a->size && pair->below >= b->size && pair->lanes_a >= a->lanes &&
           pair->lanes_b >= b->lanes;
}

static bool exclude_each_other(const spad__model *m, const spad__piece *p, const spad__piece *q) {
    return spad__pieces_overlap(p, q) &&
           !(m->in_place_count > 0 && spad__in_place_find(m, p->buffer, q->buffer));
}

static void find_edges(seeker *s) {
    const spad__model *m = s->m;
    for (int32_t a = 0; a < s->count; a++) {
        const spad__piece *p = &m->pieces[m->items[s->item[a]].piece_first];
        for (int32_t b = a + 1; b < s->count; b++)
            if (exclude_each_other(m, p, &m->pieces[m->items[s->item[b]].piece_first]))
                join_nodes(s, a, b);
    }
    for (int32_t k = 0; k < m->apart_count; k++)
        if (is_apart_as_a_whole(m, &m->aparts[k]))
            join_nodes(s, s->node_of[m->aparts[k].a], s->node_of[m->aparts[k].b]);
}

/* A clique has at most as many nodes as the busiest one has neighbours, and itself. */
static int32_t largest_degree(const seeker *s) {
    int32_t most = 0;
    for (int32_t a = 0; a < s->count; a++) {
        int32_t count = 1;
        for (size_t w = 0; w < s->words; w++)
            count += __builtin_popcountll(row_of(s, s->adjacent, a)[w]);
        if (count > most) most = count;
    }
    return most;
}

static bool seeker_start(seeker *s, int64_t rounding) {
    if (!list_nodes(s, rounding)) return false;
    const size_t nodes = (size_t)s->count + 1;
    s->adjacent = spad__arena_array(&s->arena, nodes, s->words * sizeof *s->adjacent);
    s->chosen = spad__arena_array(&s->arena, nodes, sizeof *s->chosen);
    s->best_nodes = spad__arena_array(&s->arena, nodes, sizeof *s->best_nodes);
    if (s->adjacent == NULL || s->chosen == NULL || s->best_nodes == NULL) return false;
    find_edges(s);
    s->sets = spad__arena_array(&s->arena, 3 * ((size_t)largest_degree(s) + 2),
                                s->words * sizeof *s->sets);
    return s->sets != NULL;
}

static bool take_clique(spad__clique *clique, spad__model *m, const seeker *s, int64_t rounding) {
    clique->items = spad__arena_array(&m->arena, (size_t)s->best_count + 1, sizeof *clique->items);
    if (clique->items == NULL) return false;
    clique->count = s->best_count;
    clique->weight = s->best;
    for (int32_t k = 0; k < s->best_count; k++) {
        const spad__item *item = &m->items[s->item[s->best_nodes[k]]];
        const spad__piece *piece = &m->pieces[item->piece_first];
        const int64_t rest = (piece->hi - piece->lo) % rounding;
        clique->items[k] = s->item[s->best_nodes[k]];
        clique->bytes += piece->hi - piece->lo;
        if (rest > 0) clique->trim = spad__max(clique->trim, rounding - rest);
    }
    return true;
}

spad_status spad__clique_find(spad__clique *clique, spad__model *m, spad__stop *stop,
                              int64_t rounding, int64_t least) {
    spad__assert(rounding > 0);
    seeker s = {.m = m, .arena.host = m->arena.host, .stop = stop, .best = least};
    *clique = (spad__clique){0};
    if (spad__stopped(stop)) return SPAD_OK;
    bool fine = seeker_start(&s, rounding);
    if (fine && s.count > 0) {
        for (int32_t a = 0; a < s.count; a++) put_node(s.sets, a);
        seek_clique(&s, 0);
        if (s.best_count > 0) fine = take_clique(clique, m, &s, rounding);
    }
    spad__arena_free(&s.arena);
    return fine ? SPAD_OK : SPAD_ERR_HOST_MEMORY;
}
