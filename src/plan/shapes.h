/* SPDX-License-Identifier: Apache-2.0
 *
 * Conflicts between items of any shape: two pieces in use at a common moment.
 */
#ifndef SPAD_PLAN_SHAPES_H
#define SPAD_PLAN_SHAPES_H

#include "plan/model.h"

/* Of one piece of a and one of b. */
static inline spad__conflict spad__conflict_of(int32_t a, const spad__piece *p, int32_t b,
                                               const spad__piece *q) {
    return (spad__conflict){.a = a,
                            .b = b,
                            .above = p->hi - q->lo,
                            .below = q->hi - p->lo,
                            .lanes_a = p->lanes,
                            .lanes_b = q->lanes};
}

static inline bool spad__pieces_meet(const spad__piece *p, const spad__piece *q) {
    return p->begin < q->end && q->begin < p->end;
}

#endif
