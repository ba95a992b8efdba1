/* SPDX-License-Identifier: Apache-2.0
 *
 * The whole numbers of a program as expressions, and what the values that a loop carries are in its
 * i-th round. See scalar.c.
 */
#ifndef SPAD_FRONTEND_GPU_SCALAR_H
#define SPAD_FRONTEND_GPU_SCALAR_H

#include "base/index.h"

/* The number of an expression; below 0: no number, as a tensor or a pointer. */
typedef int32_t spad__scalar;
#define SPAD__NO_SCALAR (-1)

typedef enum spad__scalar_op {
    SPAD__SCALAR_NUMBER,
    SPAD__SCALAR_ARGUMENT,  /* value: which one of the function */
    SPAD__SCALAR_DATA,      /* only a run knows it */
    SPAD__SCALAR_ITERATION, /* of loop `value`, from 0 on */
    SPAD__SCALAR_CARRIED,   /* by loop `value`, its argument number b */
    SPAD__SCALAR_ADD,
    SPAD__SCALAR_MUL,
    SPAD__SCALAR_DIV, /* by a number above 0; of something below 0 it is not what we compute */
    SPAD__SCALAR_MOD,
    SPAD__SCALAR_MIN,
    SPAD__SCALAR_MAX,
    SPAD__SCALAR_EQUAL, /* 0 or 1, as the following */
    SPAD__SCALAR_LESS,
    SPAD__SCALAR_AT_MOST,
    SPAD__SCALAR_AND,
    SPAD__SCALAR_OR,
    SPAD__SCALAR_XOR,
    SPAD__SCALAR_SELECT, /* a != 0 ? b : c */
    SPAD__SCALAR_RING,   /* stage a of a ring of c stages, b stages on; a: -1 to c - 1 */
    SPAD__SCALAR_PHASE   /* phase a, 0 or 1, of the ring at stage b of d stages, c stages on */
} spad__scalar_op;

typedef struct spad__scalar_node {
    spad__scalar_op op;
    spad__scalar a, b, c, d;
    int64_t value;
    int64_t now;   /* at the given sizes, where `known` */
    int64_t least; /* a lower bound; INT64_MIN: not known */
    bool known;
    bool bit;           /* it is 0 or 1 for certain */
    bool moves;         /* it has rounds or carried values */
    bool data;          /* only a run knows it */
    bool met;           /* DATA that is loaded: by a load that was noted */
    uint64_t arguments; /* bits of those in it; the last bit is for all from 63 on */
    uint16_t depth;
    spad__scalar closed; /* CARRIED: what it is in a round; below 0: not found */
    uint32_t stamp;      /* of `memo` */
    spad__scalar memo;
} spad__scalar_node;

typedef struct spad__scalars {
    const spad_host *host;
    SPAD_ARRAY(spad__scalar_node) nodes;
    spad__index index;
    bool run; /* all that can be is a number */
    bool out_of_memory;
    int64_t data_count;
    uint32_t stamp;
    spad__scalar from; /* while something is replaced */
    spad__scalar to;
} spad__scalars;

/* Every function returns SPAD__NO_SCALAR for an operand that is not a number, and when there is no
 * memory, which sticks. O(1) expected. */
spad__scalar spad__scalar_number(spad__scalars *s, int64_t value);
spad__scalar spad__scalar_argument(spad__scalars *s, int64_t which, int64_t now);
/* New data: equal to nothing else. */
spad__scalar spad__scalar_data(spad__scalars *s);
/* What argument `from`, of memory that is not written, has at that place: the same data each time,
 * and what is computed from it as well. */
spad__scalar spad__scalar_loaded(spad__scalars *s, int64_t from, spad__scalar at);
spad__scalar spad__scalar_iteration(spad__scalars *s, int64_t loop);
spad__scalar spad__scalar_carried(spad__scalars *s, int64_t loop, int32_t which);
spad__scalar spad__scalar_make(spad__scalars *s, spad__scalar_op op, spad__scalar a,
                               spad__scalar b);
/* n + by */
spad__scalar spad__scalar_plus(spad__scalars *s, spad__scalar n, int64_t by);
spad__scalar spad__scalar_sub(spad__scalars *s, spad__scalar a, spad__scalar b);
/* (a + b - 1) / b */
spad__scalar spad__scalar_ceil_div(spad__scalars *s, spad__scalar a, spad__scalar b);
spad__scalar spad__scalar_not(spad__scalars *s, spad__scalar a);
spad__scalar spad__scalar_select(spad__scalars *s, spad__scalar a, spad__scalar b, spad__scalar c);
spad__scalar spad__scalar_ring(spad__scalars *s, spad__scalar stage, spad__scalar on,
                               spad__scalar count);
spad__scalar spad__scalar_phase(spad__scalars *s, spad__scalar phase, spad__scalar stage,
                                spad__scalar on, spad__scalar count);

static inline const spad__scalar_node *spad__scalar_get(const spad__scalars *s, spad__scalar n) {
    return &s->nodes.items[n];
}

/* Is it that number at the given sizes, whatever loop it is in? */
bool spad__scalar_known(const spad__scalars *s, spad__scalar n, int64_t *value);
/* Is it a number that no size changes? */
bool spad__scalar_is_number(const spad__scalars *s, spad__scalar n, int64_t *value);
bool spad__scalar_is(const spad__scalars *s, spad__scalar n, int64_t value);

/* The same with all carried values that are solved replaced. O(size). */
spad__scalar spad__scalar_resolve(spad__scalars *s, spad__scalar n);
/* The same with `to` in place of `from`. */
spad__scalar spad__scalar_replace(spad__scalars *s, spad__scalar n, spad__scalar from,
                                  spad__scalar to);

/* A loop of `trips` rounds carries `count` values: at first inits, after a round nexts, which are
 * expressions of the carried values and of the round. Those that have a closed form get it, and
 * lasts are their values after the loop (SPAD__NO_SCALAR: not found). `more` is the condition that
 * another round follows. */
void spad__scalar_solve(spad__scalars *s, int64_t loop, spad__scalar trips, spad__scalar more,
                        size_t count, const spad__scalar *inits, const spad__scalar *nexts,
                        spad__scalar *lasts);

void spad__scalars_free(spad__scalars *s);

#endif
