/* SPDX-License-Identifier: Apache-2.0
 *
 * Items as boxes.
 *
 * When all items have the same alignment A, offsets are multiples of A and a
 * size may be rounded up to a multiple of A without changing which plans are
 * legal: the next box starts at a multiple anyway. Only the top of the plan
 * feels it, by less than A bytes; `trim` remembers how much. For items of
 * different alignments, with gaps or of several aliases, a box is the hull: every
 * plan of the boxes is one of the items, but not the other way round, and
 * `exact` is false. O(n) after the model.
 */
#include "plan/search/boxes.h"

#include "base/assert.h"
#include "base/checked.h"
#include "plan/problem/sort.h"

/* The alignment to round sizes to, or 0 when the largest is not a multiple of all. */
static int64_t box_rounding(const spad__model *m) {
    if (m->common_alignment != 0) return m->common_alignment;
    int64_t largest = 1;
    for (int32_t i = 0; i < m->item_count; i++)
        if (m->items[i].piece_count > 0) largest = spad__max(largest, m->items[i].alignment);
    for (int32_t i = 0; i < m->item_count; i++)
        if (m->items[i].piece_count > 0 && largest % m->items[i].alignment != 0) return 0;
    return largest;
}

/* Rows of items with bytes in the order of the boxes. */
static void sort_items(const spad__model *m, spad__row *rows, spad__row *scratch, size_t *count) {
    size_t n = 0;
    for (int32_t i = 0; i < m->item_count; i++)
        if (m->items[i].piece_count > 0) rows[n++] = (spad__row){.value = i};
    for (size_t k = 0; k < n; k++) rows[k].key = ~spad__sort_key(m->items[rows[k].value].size);
    spad__sort_rows(rows, scratch, n);
    for (size_t k = 0; k < n; k++) { /* end in the low half, begin in the high half */
        const spad__item *item = &m->items[rows[k].value];
        rows[k].key = (uint64_t)(uint32_t)item->begin << 32 | (uint32_t)item->end;
    }
    spad__sort_rows(rows, scratch, n);
    *count = n;
}

int32_t spad__boxes_over(const spad__boxes *b, int32_t begin, int32_t end) {
    int32_t count = 0;
    for (int32_t i = 0; i < b->first[end]; i++) count += b->end[i] > begin;
    return count;
}

bool spad__boxes_are_tight(const spad__boxes *b, int64_t height) {
    for (int32_t s = 0; s < b->sections; s++)
        if (b->load[s] < height) return false;
    return true;
}

bool spad__boxes_take(spad__boxes *b, size_t n, size_t sections) {
    spad__arena *arena = &b->arena;
    b->begin = spad__arena_array(arena, n + 1, sizeof *b->begin);
    b->end = spad__arena_array(arena, n + 1, sizeof *b->end);
    b->size = spad__arena_array(arena, n + 1, sizeof *b->size);
    b->first = spad__arena_array(arena, sections + 2, sizeof *b->first);
    b->load = spad__arena_array(arena, sections + 2, sizeof *b->load);
    return b->begin != NULL && b->end != NULL && b->size != NULL && b->first != NULL &&
           b->load != NULL;
}

static bool allocate_boxes(spad__boxes *b, size_t n, size_t sections) {
    spad__arena *arena = &b->arena;
    if (!spad__boxes_take(b, n, sections)) return false;
    b->trim = spad__arena_array(arena, n + 1, sizeof *b->trim);
    b->item = spad__arena_array(arena, n + 1, sizeof *b->item);
    b->twin = spad__arena_array(arena, n + 1, sizeof *b->twin);
    return b->trim != NULL && b->item != NULL && b->twin != NULL;
}

static spad_status sum_box_loads(spad__boxes *b, spad_error *error) {
    int64_t total = 0;
    for (int32_t i = 0; i < b->count; i++) {
        int64_t bytes;
        if (!spad__mul(b->size[i], b->unit, &bytes) || !spad__add(total, bytes, &total)) {
            return spad__fail(error, SPAD_ERR_OVERFLOW,
                              "the sizes of all buffers together do not fit 64 bits");
        }
        b->load[b->begin[i]] += b->size[i];
        b->load[b->end[i]] -= b->size[i];
    }
    for (int32_t s = 1; s < b->sections; s++) b->load[s] += b->load[s - 1];
    for (int32_t s = 0; s < b->sections; s++) {
        if (b->load[s] <= b->max_load) continue;
        b->max_load = b->load[s];
        b->peak = s;
    }
    spad__assert_valid(spad__boxes_is_valid(b));
    return SPAD_OK;
}

static spad_status fill(spad__boxes *b, const spad__model *m, const spad__row *rows, int64_t align,
                        spad_error *error) {
    for (int32_t k = 0; k < b->count; k++) {
        const spad__item *item = &m->items[rows[k].value];
        b->begin[k] = item->begin;
        b->end[k] = item->end;
        b->item[k] = rows[k].value;
        b->first[b->begin[k] + 1]++;
        if (!spad__align_up(item->size, align, &b->size[k])) {
            return spad__fail(error, SPAD_ERR_OVERFLOW,
                              "the sizes of all buffers together do not fit 64 bits");
        }
        b->trim[k] = b->size[k] - item->size;
        spad__assert(0 <= b->trim[k] && b->trim[k] < align);
        if (b->trim[k] > 0) b->exact = false;
        if (b->unit != 1) b->unit = spad__gcd(b->size[k], b->unit);
    }
    for (int32_t s = 0; s < b->sections; s++) b->first[s + 1] += b->first[s];
    for (int32_t k = 0; k < b->count; k++) {
        b->size[k] /= b->unit;
        spad__assert(b->size[k] > 0);
        b->twin[k] = k > 0 && b->begin[k] == b->begin[k - 1] && b->end[k] == b->end[k - 1] &&
                     b->size[k] == b->size[k - 1];
    }
    return SPAD_OK;
}

spad_status spad__boxes_build(spad__boxes *b, const spad__model *m, bool *suits,
                              spad_error *error) {
    *b = (spad__boxes){.arena.host = m->arena.host, .exact = m->plain};
    const int64_t align = box_rounding(m);
    *suits = m->boxable && align != 0;
    if (!*suits) return SPAD_OK;
    const size_t most = (size_t)m->item_count + 1;
    spad__row *rows = spad__new_array(&m->arena.host, most, 2 * sizeof *rows);
    size_t count = 0;
    spad_status status = SPAD_ERR_HOST_MEMORY;
    if (rows != NULL) {
        sort_items(m, rows, rows + most, &count);
        b->count = (int32_t)count;
        b->sections = m->section_count;
        if (allocate_boxes(b, count, (size_t)b->sections)) status = fill(b, m, rows, align, error);
    }
    spad__free(&m->arena.host, rows, most * 2 * sizeof *rows);
    if (status == SPAD_OK) status = sum_box_loads(b, error);
    return status == SPAD_ERR_HOST_MEMORY ? spad__fail_host_memory(error) : status;
}

void spad__boxes_free(spad__boxes *b) {
    spad__arena_free(&b->arena);
}

/* Sorted by (begin, end, size descending, item); a twin is like the one before it. */
static bool box_is_valid(const spad__boxes *b, int32_t i) {
    if (b->begin[i] < 0 || b->begin[i] >= b->end[i] || b->end[i] > b->sections) return false;
    if (b->size[i] <= 0 || b->first[b->begin[i]] > i || b->first[b->begin[i] + 1] <= i)
        return false;
    if (i == 0) return !b->twin[i];
    const bool same = b->begin[i - 1] == b->begin[i] && b->end[i - 1] == b->end[i];
    if (b->begin[i - 1] == b->begin[i] && b->end[i - 1] > b->end[i]) return false;
    if (b->begin[i - 1] > b->begin[i] || (same && b->size[i - 1] < b->size[i])) return false;
    if (same && b->size[i - 1] == b->size[i] && b->item[i - 1] >= b->item[i] && b->exact)
        return false;
    return b->twin[i] == (same && b->size[i - 1] == b->size[i]);
}

bool spad__boxes_is_valid(const spad__boxes *b) {
    int64_t bytes = 0; /* sizes times sections, counted both ways */
    for (int32_t i = 0; i < b->count; i++) {
        if (!box_is_valid(b, i)) return false;
        bytes =
            (int64_t)((uint64_t)bytes + (uint64_t)b->size[i] * (uint64_t)(b->end[i] - b->begin[i]));
    }
    for (int32_t s = 0; s < b->sections; s++) {
        if (b->load[s] <= 0 || b->load[s] > b->max_load) return false;
        bytes = (int64_t)((uint64_t)bytes - (uint64_t)b->load[s]);
    }
    return bytes == 0 && (b->sections == 0 || b->load[b->peak] == b->max_load);
}
