/* SPDX-License-Identifier: Apache-2.0
 *
 * The model: what the solvers see of a problem. Times have become sections,
 * alias groups one item, gaps and windows pieces; see model.c.
 */
#ifndef SPAD_PLAN_PROBLEM_MODEL_H
#define SPAD_PLAN_PROBLEM_MODEL_H

#include "plan/problem/problem.h"

/* Bytes [lo, hi) above the offset of its item, in sections [begin, end). */
typedef struct spad__piece {
    int32_t begin;
    int32_t end;
    int64_t lo;
    int64_t hi;
    int64_t lanes;
    int32_t buffer; /* whose it is; of joined pieces, that of the first */
} spad__piece;

/* A rule of one member of an item: it starts at a lane that suits its lanes and does
 * not cross a multiple of bank (0: no banks). */
typedef struct spad__rule {
    int64_t bank;
    int64_t size;
    int64_t lanes;
} spad__rule;

/* Items a and b share no byte if, with d = offset of b - offset of a,
 *   d >= above, or d <= -below, or lane of b >= lane of a + lanes_a,
 *   or lane of a >= lane of b + lanes_b.
 * With in_place they may share bytes if d == same and their lanes are equal. */
typedef struct spad__conflict {
    int32_t a;
    int32_t b;
    int64_t above;
    int64_t below;
    int64_t lanes_a;
    int64_t lanes_b;
    int64_t same;
    bool in_place;
} spad__conflict;

typedef struct spad__item {
    int32_t piece_first;
    int32_t piece_count; /* 0: an item without bytes */
    int32_t rule_first;  /* rules: only on several lanes or with banks */
    int32_t rule_count;
    int32_t begin; /* hull: from the first to the last section of any piece; empty without one */
    int32_t end;
    int64_t size; /* largest hi */
    int64_t alignment;
    int64_t offset; /* of a pin */
    int64_t lane;
    int64_t lanes; /* most lanes of a member */
    bool banked;   /* some rule has a bank */
    bool pinned;
} spad__item;

/* Two buffers whose rules no plan can obey, whatever the capacity; see clash.c. */
typedef struct spad__plan_clash {
    spad_plan_clash kind;
    size_t a;
    size_t b;
} spad__plan_clash;

/* An output that may be in place of its input, which dies where it is born. */
typedef struct spad__in_place {
    uint64_t key; /* both buffers: the lower number in the high half */
    int32_t output;
    int32_t input;
} spad__in_place;

/*
 * Invariants
 *   two pieces are in use at a common moment exactly when their sections overlap
 *   moment[s] is a time at which every piece with begin <= s < end is in use
 *   item_of[b] is the item of buffer b; items are numbered by their first buffer
 *   buffer b is at byte delta[b] of its item; some buffer of every item is at 0
 *   in_places are sorted by key, each once, of buffers with bytes in two items
 */
typedef struct spad__model {
    const spad_plan *plan;
    spad__arena arena;
    int32_t item_count;
    int32_t piece_count;
    int32_t section_count;
    int32_t apart_count;     /* pairs kept apart, first those that the caller asked for, then */
    int32_t explicit_aparts; /* those that vector clocks do not order although their times do */
    spad__plan_clash clash;
    bool whole;   /* every item with bytes is one piece that has all of them */
    bool boxable; /* no pins, banks, aparts; no two tiles fit side by side in the lanes */
    bool plain;   /* boxable and whole */
    int64_t common_alignment; /* of all items with bytes, if it is the same; else 0 */
    int64_t grain; /* divides the first byte of every piece, wherever its item is: the largest
                      common divisor of all alignments and of all `lo` */
    spad__item *items;
    spad__piece *pieces;
    spad__rule *rules;
    spad__conflict *aparts; /* see apart_count */
    int32_t *item_of;
    int64_t *delta; /* NULL: all are 0 */
    int64_t *moment;
    spad__in_place *in_places;
    int32_t in_place_count;
    bool *takes_part; /* per item: a buffer of it is in one of them; NULL: no pairs */
} spad__model;

static inline int64_t spad__delta(const spad__model *m, size_t buffer) {
    return m->delta != NULL ? m->delta[buffer] : 0;
}

/* SPAD_ERR_HOST_MEMORY, SPAD_ERR_ALIGNMENT (alignments and banks of an alias group that do not
 * divide one another), SPAD_ERR_OVERFLOW. Free the model in every case. */
spad_status spad__model_build(spad__model *model, const spad_plan *plan, spad_error *error);
void spad__model_free(spad__model *model);

/* The same with the buffers of every pair at one offset, and no other outputs in the places of
 * inputs: a problem all of whose plans are plans of the whole problem, if `merges` come from
 * spad__in_place_choose. */
spad_status spad__model_build_merged(spad__model *model, const spad_plan *plan,
                                     const spad__pair *merges, size_t count, spad_error *error);

/* The lowest legal offset of an item at or above `from`; false: none below 2^63. */
bool spad__item_next_offset(const spad__model *model, const spad__item *item, int64_t from,
                            int64_t *out);

/* The highest top of all items, also of those without bytes in use. */
int64_t spad__items_height(const spad__model *model, const spad_plan_place *place);

/* The lowest legal start lane of an item at or above `from`, or -1. */
int64_t spad__item_next_lane(const spad__model *model, const spad__item *item, int64_t from);

/* For assertions: the invariants above, and that pieces, hulls and sizes of the items agree.
 * O(items + pieces). */
bool spad__model_is_valid(const spad__model *model);

#endif
