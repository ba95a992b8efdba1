/* SPDX-License-Identifier: Apache-2.0
 *
 * The lower bound that needs no search: the largest load, and the top of
 * every item at its lowest legal offset.
 *
 * The load of a section is the sum of bytes x lanes of the pieces in use,
 * divided by the lanes of the space. Of an alias group only the largest piece in a
 * section counts, since aliases may share bytes. When every offset is a multiple
 * of A, all pieces of a section but the topmost end at a multiple of A with what
 * follows, so on one lane the sizes count rounded up, less the largest rounding
 * in the problem. O(pieces + sections) without aliases.
 */
#include "plan/bound.h"

#include "base/checked.h"

static bool is_group(const spad__model *m, const spad__item *item) {
    for (int32_t k = 1; k < item->piece_count; k++) {
        const spad__piece *before = &m->pieces[item->piece_first + k - 1];
        if (m->pieces[item->piece_first + k].begin < before->end) return true;
    }
    return false;
}

/* Whole boxes of one alignment on one lane: sizes may be rounded up. */
static int64_t rounding(const spad__model *m) {
    return m->plain && m->common_alignment != 0 ? m->common_alignment : 1;
}

static bool weight(const spad__model *m, const spad__piece *piece, int64_t *out) {
    int64_t bytes;
    if (m->boxable) return spad__align_up(piece->hi - piece->lo, rounding(m), out);
    return spad__sub(piece->hi, piece->lo, &bytes) && spad__mul(bytes, piece->lanes, out);
}

/* Adds the largest piece of a group in every section. */
static bool add_group(const spad__model *m, const spad__item *item, int64_t *largest,
                      int64_t *change) {
    for (int32_t pass = 0; pass < 2; pass++) {
        for (int32_t k = 0; k < item->piece_count; k++) {
            const spad__piece *piece = &m->pieces[item->piece_first + k];
            int64_t bytes;
            if (!weight(m, piece, &bytes)) return false;
            for (int32_t s = piece->begin; s < piece->end; s++) {
                if (pass == 0) {
                    largest[s] = spad__max(largest[s], bytes);
                    continue;
                }
                change[s] += largest[s];
                change[s + 1] -= largest[s];
                largest[s] = 0;
            }
        }
    }
    return true;
}

static bool sum_loads(const spad__model *m, int64_t *change, int64_t *largest) {
    int64_t total = 0;
    for (int32_t i = 0; i < m->item_count; i++) {
        const spad__item *item = &m->items[i];
        for (int32_t k = 0; k < item->piece_count; k++) {
            int64_t bytes;
            if (!weight(m, &m->pieces[item->piece_first + k], &bytes)) return false;
            if (!spad__add(total, bytes, &total)) return false;
        }
        if (is_group(m, item)) {
            if (!add_group(m, item, largest, change)) return false;
            continue;
        }
        for (int32_t k = 0; k < item->piece_count; k++) {
            const spad__piece *piece = &m->pieces[item->piece_first + k];
            int64_t bytes;
            if (!weight(m, piece, &bytes)) return false;
            change[piece->begin] += bytes;
            change[piece->end] -= bytes;
        }
    }
    return true;
}

static int64_t largest_trim(const spad__model *m) {
    const int64_t align = rounding(m);
    int64_t trim = 0;
    for (int32_t i = 0; i < m->item_count; i++) {
        const int64_t rest = m->items[i].size % align;
        if (rest > 0) trim = spad__max(trim, align - rest);
    }
    return trim;
}

static void find_largest(spad__bound *bound, const spad__model *m, const int64_t *change) {
    const int64_t lanes = m->boxable ? 1 : m->plan->lanes;
    int64_t load = 0;
    for (int32_t s = 0; s < m->section_count; s++) {
        load += change[s];
        const int64_t height = load / lanes + (load % lanes > 0);
        if (height <= bound->load) continue;
        bound->load = height;
        bound->section = s;
    }
    bound->height = bound->load - (m->boxable ? largest_trim(m) : 0);
    for (int32_t i = 0; i < m->item_count; i++) {
        const spad__item *item = &m->items[i];
        const int64_t lowest = item->pinned ? item->offset : 0;
        bound->height = spad__max(bound->height, lowest + item->size);
    }
}

spad_status spad__bound_find(spad__bound *bound, const spad__model *m, spad_error *error) {
    *bound = (spad__bound){.section = -1};
    const size_t room = ((size_t)m->section_count + 1) * sizeof(int64_t);
    int64_t *change = spad__new(&m->arena.host, room);
    int64_t *largest = spad__new(&m->arena.host, room);
    spad_status status = SPAD_OK;
    if (change == NULL || largest == NULL) {
        status = spad__fail_host_memory(error);
    } else if (!sum_loads(m, change, largest)) {
        status = spad__fail(error, SPAD_ERR_OVERFLOW,
                            "the sizes of all buffers together do not fit 64 bits");
    } else {
        find_largest(bound, m, change);
    }
    spad__free(&m->arena.host, change, room);
    spad__free(&m->arena.host, largest, room);
    return status;
}
