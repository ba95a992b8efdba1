/* SPDX-License-Identifier: Apache-2.0
 *
 * The lower bound that needs no search: the largest load, the top of every item at its
 * lowest legal offset, and the banks that are needed.
 *
 * The load of a section is the sum of bytes x lanes of the pieces in use,
 * divided by the lanes of the space. Of an alias group the bytes of all pieces of a section
 * count once, since aliases may share bytes. The bytes that outputs save in the places of their
 * inputs are subtracted (in_place.c). When every piece begins at a multiple of A, all pieces of a
 * section but the topmost end at a multiple of A with what follows, so on one lane the sizes count
 * rounded up, less the largest rounding of the pieces in that section: whichever is the topmost
 * one, no more is lost. So the bound is never below the load of any section as it is. A is the
 * largest common divisor of all alignments and of the bytes at which windows begin; pins and banks
 * change nothing about that.
 *
 * Lanes. Where a space has several, the tiles that are on the same one whatever their start lane,
 * and the start lanes that tiles block, give more than the average (lanes.c). Banks and pairs are
 * examined on the lane in the middle, which every tile on more than half of the lanes takes.
 *
 * Banks. On one lane, buffers in use together that may not cross a multiple of B take a number
 * N of banks of B bytes: at least their bytes over B, and, since at most k pieces of more than
 * B/(k+1) bytes share a bank, at least the number of those over k (k = 1 and 2). The
 * topmost bank is then number N - 1 or higher, so the height is at least (N - 1) B and the bytes of
 * the smallest piece. Only the most frequent B is examined.
 *
 * Pairs kept apart. On a lane the bytes of buffers that may not share any, two by two, add up as in
 * one section (clique.c).
 *
 * O(sections + pieces), and O(pieces log pieces) for alias groups.
 */
#include "plan/bound/bound.h"

#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "plan/bound/clique.h"
#include "plan/bound/lanes.h"
#include "plan/bound/loads.h"
#include "plan/problem/in_place.h"

enum { ROWS_OF_SUMS = 5 };

/* Where no two pieces are side by side in the lanes, sizes may be rounded up. */
static int64_t rounding(const spad__model *m) {
    return m->boxable || m->plan->lanes == 1 ? m->grain : 1;
}

/* The bytes that a piece adds to the load of its sections, as they are, */
static bool piece_bytes(void *context, const spad__model *m, const spad__piece *piece,
                        int64_t *out) {
    (void)context;
    *out = piece->hi - piece->lo;
    return m->boxable || spad__mul(*out, piece->lanes, out);
}

/* and rounded up. */
static bool rounded_of(void *context, const spad__model *m, const spad__piece *piece,
                       int64_t *out) {
    (void)context;
    return piece_bytes(NULL, m, piece, out) && spad__align_up(*out, rounding(m), out);
}

/* The bytes that rounding adds. */
static bool trim_of(void *context, const spad__model *m, const spad__piece *piece, int64_t *out) {
    (void)context;
    const int64_t rest = (piece->hi - piece->lo) % rounding(m);
    *out = rest > 0 ? rounding(m) - rest : 0;
    return true;
}

/* trims[s] becomes the largest rounding in section s. */
static bool find_trims(const spad__model *m, spad__row *rows, int64_t *trims) {
    size_t n = 0;
    for (int32_t i = 0; i < m->item_count; i++)
        for (int32_t k = 0; k < m->items[i].piece_count; k++)
            rows[n++].value = m->items[i].piece_first + k;
    return spad__loads_largest(m, trim_of, NULL, rows, n, trims);
}

/* ---- banks ------------------------------------------------------------------------- */

typedef struct crowd {
    int64_t bytes;
    int32_t halves; /* pieces of more than half a bank */
    int32_t thirds;
} crowd;

/* The bank in which all bytes of an item are, one piece at a time; 0: none exists, or the item
 * need not take the lane in the middle. */
static int64_t bank_of(const spad__model *m, const spad__item *item) {
    if (!item->banked || item->rule_count != 1 || spad__item_is_group(m, item)) return 0;
    if (!spad__lanes_force(m->plan, item->lanes, m->plan->lanes / 2)) return 0;
    const spad__rule *rule = &m->rules[item->rule_first];
    return rule->size == item->size ? rule->bank : 0;
}

/* The bank that most items have (Boyer and Moore's vote: one that has most, if any does). */
static int64_t usual_bank(const spad__model *m) {
    int64_t bank = 0;
    int64_t votes = 0;
    for (int32_t i = 0; i < m->item_count; i++) {
        const int64_t other = bank_of(m, &m->items[i]);
        if (other == 0) continue;
        if (votes == 0) bank = other;
        votes += other == bank ? 1 : -1;
    }
    return bank;
}

static void count_piece(crowd *change, const spad__piece *piece, int64_t bank, int32_t sign) {
    spad__assert(bank > 0 && (sign == 1 || sign == -1));
    const int64_t bytes = piece->hi - piece->lo;
    change->bytes += sign * bytes;
    if (bytes > bank / 2) change->halves += sign;
    if (bytes > bank / 3) change->thirds += sign;
}

static void bound_banks(spad__bound *bound, const spad__model *m, crowd *change, int64_t bank) {
    int64_t least = INT64_MAX;
    for (int32_t i = 0; i < m->item_count; i++) {
        const spad__item *item = &m->items[i];
        if (bank_of(m, item) != bank) continue;
        for (int32_t k = 0; k < item->piece_count; k++) {
            const spad__piece *piece = &m->pieces[item->piece_first + k];
            least = spad__min(least, piece->hi - piece->lo);
            count_piece(&change[piece->begin], piece, bank, 1);
            count_piece(&change[piece->end], piece, bank, -1);
        }
    }
    crowd sum = {0};
    for (int32_t s = 0; s < m->section_count; s++) {
        sum.bytes += change[s].bytes;
        sum.halves += change[s].halves;
        sum.thirds += change[s].thirds;
        spad__assert(sum.bytes >= 0 && 0 <= sum.halves && sum.halves <= sum.thirds);
        const int64_t by_bytes = sum.bytes / bank + (sum.bytes % bank > 0);
        const int64_t banks = spad__max(by_bytes, spad__max(sum.halves, (sum.thirds + 1) / 2));
        int64_t height;
        if (banks == 0 || !spad__mul(banks - 1, bank, &height) ||
            !spad__add(height, least, &height) || height <= bound->height)
            continue;
        bound->height = height;
        bound->proof = SPAD_PLAN_BY_BANKS;
        bound->section = s;
    }
}

/* ---- the whole --------------------------------------------------------------------- */

/* Per section. */
typedef struct loads {
    int64_t *rounded;
    int64_t *bytes; /* not rounded; the same array where nothing is */
    int64_t *trims; /* the largest rounding of a piece */
    int64_t *saved; /* room for two sums of savings */
} loads;

static void find_largest(spad__bound *bound, const spad__model *m, const loads *l) {
    const int64_t lanes = m->boxable ? 1 : m->plan->lanes;
    for (int32_t s = 0; s < m->section_count; s++) {
        const int64_t load = l->bytes[s] / lanes + (l->bytes[s] % lanes > 0);
        if (load > bound->load) {
            bound->load = load;
            bound->peak = s;
        }
        /* the largest rounding may be of an alias that does not count */
        const int64_t rounded = l->rounded[s] / lanes + (l->rounded[s] % lanes > 0) - l->trims[s];
        const int64_t height = spad__max(load, rounded);
        if (height <= bound->height) continue;
        bound->height = height;
        bound->section = s;
    }
    spad__assert(bound->load <= bound->height);
    for (int32_t i = 0; i < m->item_count; i++) {
        const spad__item *item = &m->items[i];
        const int64_t top = (item->pinned ? item->offset : 0) + item->size;
        if (top <= bound->height) continue;
        bound->height = top;
        bound->proof = SPAD_PLAN_BY_BUFFER;
        bound->item = i;
    }
}

/* Rows that are needed at once: of the pieces of one group, or of all that are rounded. */
static size_t rows_needed(const spad__model *m) {
    int64_t most = rounding(m) > 1 ? m->piece_count : 0;
    most = spad__max(most, m->in_place_count);
    for (int32_t i = 0; i < m->item_count; i++) most = spad__max(most, m->items[i].piece_count);
    return 3 * ((size_t)most + 1);
}

static spad_status fail_sum(const spad__model *m, spad_error *error) {
    if (rounding(m) == 1)
        return spad__fail(error, SPAD_ERR_OVERFLOW,
                          "the sizes of all buffers together do not fit 64 bits");
    return spad__fail(
        error, SPAD_ERR_OVERFLOW,
        "the sizes of all buffers together, each rounded up to the alignment %lld, do "
        "not fit 64 bits",
        (long long)rounding(m));
}

/* By the lanes. */
static spad_status bound_by_lanes(spad__bound *bound, const spad__model *m, spad_error *error) {
    spad__lane_bound lanes;
    if (spad__lanes_bound(&lanes, m) != SPAD_OK) return spad__fail_host_memory(error);
    if (lanes.height <= bound->height) return SPAD_OK;
    bound->height = lanes.height;
    bound->section = lanes.section;
    bound->proof = SPAD_PLAN_BY_LANES;
    return SPAD_OK;
}

/* By banks, on the lane in the middle. */
static spad_status bound_by_banks(spad__bound *bound, const spad__model *m, spad_error *error) {
    const int64_t bank = usual_bank(m);
    if (bank == 0) return SPAD_OK;
    const size_t room = ((size_t)m->section_count + 1) * sizeof(crowd);
    crowd *crowds = spad__new_array(&m->arena.host, (size_t)m->section_count + 1, sizeof *crowds);
    if (crowds == NULL) return spad__fail_host_memory(error);
    bound_banks(bound, m, crowds, bank);
    spad__free(&m->arena.host, crowds, room);
    return SPAD_OK;
}

/* By pairs kept apart, on the lane in the middle. */
static spad_status bound_by_clique(spad__bound *bound, spad__model *m, spad__stop *stop,
                                   spad_error *error) {
    if (m->apart_count == 0) return SPAD_OK;
    spad__clique clique;
    if (spad__clique_find(&clique, m, stop, m->grain, bound->load) != SPAD_OK)
        return spad__fail_host_memory(error);
    const int64_t height = clique.weight - clique.trim;
    if (clique.bytes > bound->load || height > bound->height) {
        bound->clique_bytes = clique.bytes;
        bound->clique = clique.items;
        bound->clique_count = clique.count;
    }
    if (height > bound->height) {
        bound->height = height;
        bound->proof = SPAD_PLAN_BY_PAIRS;
    }
    return SPAD_OK;
}

/* Subtracts from the loads the bytes that outputs save in the places of their inputs. */
static bool take_savings(const spad__model *m, spad__row *rows, const loads *l, int64_t unit,
                         int64_t *sums) {
    const size_t sections = (size_t)m->section_count + 1;
    if (m->in_place_count == 0) return true;
    for (size_t s = 0; s < 2 * sections; s++) l->saved[s] = 0;
    const bool flat = m->boxable || m->plan->lanes == 1;
    if (!spad__in_place_save(m, unit, flat, rows, l->saved, l->saved + sections)) return false;
    for (size_t s = 0; s + 1 < sections; s++) sums[s] = spad__max(sums[s] - l->saved[s], 0);
    return true;
}

static bool sum_all(const spad__model *m, spad__row *rows, const loads *l) {
    const int64_t unit = rounding(m);
    if (!spad__loads_sum(m, rounded_of, NULL, unit, rows, l->rounded) ||
        !take_savings(m, rows, l, unit, l->rounded))
        return false;
    if (l->bytes == l->rounded) return true;
    return spad__loads_sum(m, piece_bytes, NULL, 1, rows, l->bytes) &&
           take_savings(m, rows, l, 1, l->bytes) && find_trims(m, rows, l->trims);
}

spad_status spad__bound_find(spad__bound *bound, spad__model *m, spad__stop *stop,
                             spad_error *error) {
    *bound = (spad__bound){.section = -1, .item = -1, .peak = -1};
    const bool rounded = rounding(m) > 1;
    const size_t sections = (size_t)m->section_count + 1;
    const size_t room = ROWS_OF_SUMS * sections * sizeof(int64_t);
    int64_t *numbers = spad__new_array(&m->arena.host, sections, ROWS_OF_SUMS * sizeof *numbers);
    const size_t rows_room = rows_needed(m) * sizeof(spad__row);
    spad__row *rows = spad__new_array(&m->arena.host, rows_needed(m), sizeof *rows);
    spad_status status = SPAD_OK;
    if (numbers == NULL || rows == NULL) {
        status = spad__fail_host_memory(error);
    } else {
        const loads l = {.rounded = numbers,
                         .bytes = rounded ? numbers + sections : numbers,
                         .trims = numbers + 2 * sections,
                         .saved = numbers + 3 * sections};
        bool sums = sum_all(m, rows, &l);
        if (!sums && !m->plain && m->grain > 1) { /* without rounding they may fit 64 bits */
            m->grain = 1;
            memset(numbers, 0, room);
            sums = sum_all(m, rows, &l);
        }
        if (sums) {
            find_largest(bound, m, &l);
            /* lanes and banks are counted for pieces that do not share bytes */
            if (m->in_place_count == 0) status = bound_by_lanes(bound, m, error);
            if (status == SPAD_OK && m->in_place_count == 0)
                status = bound_by_banks(bound, m, error);
            if (status == SPAD_OK) status = bound_by_clique(bound, m, stop, error);
        } else {
            status = fail_sum(m, error);
        }
    }
    spad__free(&m->arena.host, numbers, room);
    spad__free(&m->arena.host, rows, rows_room);
    return status;
}
