/* SPDX-License-Identifier: Apache-2.0
 *
 * Conflicts between items of any shape: two pieces in use at a common moment.
 */
#ifndef SPAD_PLAN_PROBLEM_SHAPES_H
#define SPAD_PLAN_PROBLEM_SHAPES_H

#include "plan/problem/in_place.h"
#include "plan/problem/model.h"

/* Of one piece of a and one of b. */
static inline spad__conflict spad__conflict_of(const spad__model *m, int32_t a,
                                               const spad__piece *p, int32_t b,
                                               const spad__piece *q) {
    spad__conflict c = {.a = a,
                        .b = b,
                        .above = p->hi - q->lo,
                        .below = q->hi - p->lo,
                        .lanes_a = p->lanes,
                        .lanes_b = q->lanes};
    if (m->in_place_count > 0 && spad__in_place_find(m, p->buffer, q->buffer)) {
        c.in_place = true;
        c.same = spad__delta(m, (size_t)p->buffer) - spad__delta(m, (size_t)q->buffer);
    }
    return c;
}

static inline bool spad__pieces_overlap(const spad__piece *p, const spad__piece *q) {
    return p->begin < q->end && q->begin < p->end;
}

#endif
