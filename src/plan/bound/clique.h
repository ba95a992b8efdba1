/* SPDX-License-Identifier: Apache-2.0
 *
 * The heaviest set of items that may not share bytes, two by two; see clique.c.
 */
#ifndef SPAD_PLAN_BOUND_CLIQUE_H
#define SPAD_PLAN_BOUND_CLIQUE_H

#include "plan/problem/model.h"
#include "plan/problem/stop.h"

typedef struct spad__clique {
    int64_t weight; /* sum of the bytes, each rounded up to `rounding` */
    int64_t trim;   /* the largest rounding of one of them */
    int64_t bytes;  /* sum of the bytes as they are */
    int32_t *items; /* in the arena of the model, ascending */
    int32_t count;  /* 0: none is heavier than `least`, or none was found */
} spad__clique;

/* Looks for a clique heavier than `least`, until it is time to stop. SPAD_ERR_HOST_MEMORY. */
spad_status spad__clique_find(spad__clique *clique, spad__model *model, spad__stop *stop,
                              int64_t rounding, int64_t least);

#endif
