/* SPDX-License-Identifier: Apache-2.0
 *
 * Neighbours: other values of a parameter that no proof covers.
 *
 * Where it is not known that a kernel is right for every value, some are tried: those next
 * to the given one, the smallest ones, and those around the depths of rings and the numbers that
 * indices are divided by, where a pipeline that carries something over most often breaks. An error
 * that one of them has is reported as a warning: the given shape is right. That others are right is
 * no proof, and the verdict does not call it one.
 */
#ifndef SPAD_PROVE_NEIGHBOURS_H
#define SPAD_PROVE_NEIGHBOURS_H

#include "finding/findings.h"

/* Values that are tried at most, and remembered. */
enum { SPAD__TRIES_MAX = 24 };

typedef struct spad__tries {
    size_t param;
    const spad_define *others; /* values of other parameters */
    size_t other_count;
    int64_t reach; /* above: values beyond given + reach are not tried, below: given - reach;
                      0: no limit */
    bool size;     /* it is the size of a ring or of a tile: the places of the planner do not hold,
                      and smaller values are no special case */
    int64_t work;  /* events that may still be run */
    spad_severity severity; /* of the findings */
    const char *hint;       /* NULL, or what may be the cause of an error, as a note ... */
    int64_t hint_statement; /* ... about this statement */
} spad__tries;

typedef struct spad__tried {
    int64_t right[SPAD__TRIES_MAX]; /* ascending */
    size_t right_count;
    int64_t refused[SPAD__TRIES_MAX]; /* no kernel exists with them, or no room; ascending */
    size_t refused_count;
    bool wrong; /* a value is, and it is reported */
    bool low;   /* a value is, and so are all smaller ones that were tried: not reported */
    int64_t value;
    char message[SPAD_MESSAGE_MAX]; /* of its first error */
} spad__tried;

/* Tries other values of a parameter of the kernel of `run`, which is right as it is given.
 * SPAD_ERR_HOST_MEMORY, SPAD_ERR_CANCELLED. */
spad_status spad__try_neighbours(spad__run *run, spad__tries *tries, spad__tried *out,
                                 spad_error *error);

/* Runs the values from 0 on, one after another, as far as the work goes and they are right, apart
 * from some at the beginning: [*first, *last] are right, if *first <= *last. One that is wrong
 * after them is reported as above, and goes to `out`, which spad__try_neighbours has filled in. */
spad_status spad__try_row(spad__run *run, spad__tries *tries, spad__tried *out, int64_t *first,
                          int64_t *last, spad_error *error);

#endif
