/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows in several memories; see spaces.c.
 */
#ifndef SPAD_PLAN_TIERS_SPACES_H
#define SPAD_PLAN_TIERS_SPACES_H

#include "plan/problem/problem.h"
#include "plan/tiers/tiers.h"
#include "spad/experimental/spaces.h"

/* Where a row of the text went. */
typedef struct spad__space_row {
    uint32_t memory; /* its plan; where rows may choose: 0 */
    uint32_t number; /* the buffer of that plan */
} spad__space_row;

/*
 * Invariants
 *   plans has a plan for each memory once the rows are read and none may choose, else nothing
 *   where rows may choose, row k is buffer k of both `rows` and `tiers`
 */
struct spad_spaces {
    spad_host host;
    spad__arena arena; /* names */
    const spad_target *target;
    size_t memory_count;
    spad_tier memories[SPAD_TIERS_MEMORIES];
    const spad_space *rules[SPAD_TIERS_MEMORIES]; /* NULL: none */
    bool named;                                   /* the text makes the memories */
    bool read;                                    /* rows are there */
    size_t longest;                               /* bytes of the longest id */
    bool inclusive;                               /* the text has a column of last times */
    spad_plan *plans[SPAD_TIERS_MEMORIES];
    spad__tiers *tiers; /* NULL: no row may choose */
    spad_plan *all;     /* then: the rows, for their lives and names */
    SPAD_ARRAY(spad__space_row) rows;
};

/* The memory of a name, one of the target included, which is then added; SPAD__NO_MEMORY: none.
 * *status: no memory of the host, or too many. */
size_t spad__spaces_find(spad_spaces *spaces, const char *name, size_t length, spad_status *status,
                         spad_error *error);

/* The name of stay `stay` (from 1) of a row, "" if it has none; in `field`, which has
 * spad__stay_room bytes. */
size_t spad__stay_room(const spad_spaces *spaces);
void spad__stay_name(char *field, const spad_spaces *spaces, size_t row, size_t stay);

#endif
