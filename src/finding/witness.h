/* SPDX-License-Identifier: Apache-2.0
 *
 * Witnesses: the end of an execution in which an error happens, small enough to be drawn. What
 * agents and units do last, in an order in which it may happen, which arrivals let which waits
 * go on, and the accesses or waits that the error is about.
 */
#ifndef SPAD_FINDING_WITNESS_H
#define SPAD_FINDING_WITNESS_H

#include "base/memory.h"
#include "spad/finding.h"

enum {
    SPAD__WITNESSES = 4, /* of one check */
    SPAD__WITNESS_ROWS = 12,
    SPAD__WITNESS_STEPS = 56,
    SPAD__WITNESS_ARROWS = 64,
    SPAD__WITNESS_TEXT = 64
};

typedef enum spad__step_kind {
    SPAD__STEP_OPERATION,
    SPAD__STEP_WAIT,
    SPAD__STEP_ARRIVE, /* arrive, signal, expect */
    SPAD__STEP_OTHER
} spad__step_kind;

typedef struct spad__witness_step {
    size_t row;
    int32_t column;
    int32_t line; /* of the text; 0: none */
    spad__step_kind kind;
    bool wrong;                     /* the error is about it */
    char text[SPAD__WITNESS_TEXT];  /* "wait full[0]" */
    char where[SPAD__WITNESS_TEXT]; /* "k = 4"; "": outside of loops */
} spad__witness_step;

/* From what contributes to what it lets go on. */
typedef struct spad__witness_arrow {
    size_t from;
    size_t to;
    bool in_vain; /* it has arrived, but does not release the wait */
} spad__witness_arrow;

typedef struct spad__witness {
    spad_finding_code code;
    char title[SPAD_MESSAGE_MAX];
    size_t row_count;
    char rows[SPAD__WITNESS_ROWS][SPAD__WITNESS_TEXT]; /* "producer", then "- tma" */
    size_t step_count;
    spad__witness_step steps[SPAD__WITNESS_STEPS]; /* by column, then row */
    size_t arrow_count;
    spad__witness_arrow arrows[SPAD__WITNESS_ARROWS];
    int32_t columns;
} spad__witness;

typedef SPAD_ARRAY(spad__witness) spad__witnesses;

#endif
