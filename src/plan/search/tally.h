/* SPDX-License-Identifier: Apache-2.0
 *
 * The unplaced boxes inside a valley, summed up by section; see tally.c.
 */
#ifndef SPAD_PLAN_SEARCH_TALLY_H
#define SPAD_PLAN_SEARCH_TALLY_H

#include "plan/search/boxes.h"

/* Sums over the boxes inside a valley, as differences by section. */
typedef struct spad__tally {
    int64_t sum;         /* sizes of boxes that begin here, less those that end here */
    int64_t least_begin; /* least size of those that begin here; INT64_MAX: none */
    int64_t least_end;   /* least size of those that end here */
    int32_t count;       /* like sum, of boxes that may rest on the floor; twins count once */
    bool from_left;      /* the floor left of this section can be covered without a gap */
    bool to_right;       /* the same for the floor from this section on */
} spad__tally;

typedef struct spad__tallies {
    const spad__boxes *boxes;
    spad__tally *at;    /* per section, and one more */
    uint64_t *unplaced; /* a bit per box */
    int32_t *inside;    /* boxes inside the valley, twins once */
    bool tight;         /* no section has slack */
} spad__tallies;

/* False: no memory. Everything is 0. */
bool spad__tallies_allocate(spad__tallies *tallies, spad__arena *arena, const spad__boxes *boxes);

/* Sums up the unplaced boxes inside [l, r). False: there are none. */
bool spad__tally_boxes(spad__tallies *tallies, int32_t l, int32_t r);

/* After that: may a box with these sections rest on the floor? */
static inline bool spad__may_rest(const spad__tallies *tallies, int32_t begin, int32_t end) {
    return !tallies->tight || (tallies->at[begin].from_left && tallies->at[end].to_right);
}

static inline bool spad__is_unplaced(const spad__tallies *tallies, int32_t i) {
    return (tallies->unplaced[i >> 6] >> (i & 63) & 1) != 0;
}

static inline void spad__flip_unplaced(spad__tallies *tallies, int32_t i) {
    tallies->unplaced[i >> 6] ^= UINT64_C(1) << (i & 63);
}

/* The first unplaced box in [i, end), or end. */
static inline int32_t spad__next_unplaced(const uint64_t *unplaced, int32_t i, int32_t end) {
    if (i >= end) return end;
    const int32_t last = (end - 1) >> 6;
    int32_t word = i >> 6;
    uint64_t bits = unplaced[word] & (~UINT64_C(0) << (i & 63));
    while (bits == 0) {
        if (word == last) return end;
        bits = unplaced[++word];
    }
    const int32_t found = word * 64 + __builtin_ctzll(bits);
    return found < end ? found : end;
}

#define SPAD__EACH_UNPLACED(tallies, i, from, until)                                 \
    (int32_t i = spad__next_unplaced((tallies)->unplaced, from, until); i < (until); \
     i = spad__next_unplaced((tallies)->unplaced, i + 1, until))

#endif
