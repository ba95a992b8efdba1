/* SPDX-License-Identifier: Apache-2.0
 *
 * Challenges: shapes at which a claim about all shapes would fail first if it were false.
 *
 * A claim for every value of some parameters rests on a proof from small shapes. Whatever the proof
 * may have overlooked shows where the kernel starts to behave in another way: where a comparison, a
 * quotient, a `min` or a `max`, or the end of a ring changes its outcome, or where accesses off the
 * chip meet for the first time. So before a claim is made the kernel is checked at such shapes,
 * with each of these values alone and in combination. A shape that is wrong is a witness against
 * the claim; shapes that are right prove nothing, and no verdict rests on them.
 *
 * Bounds: SPAD__CHALLENGE_SHAPES shapes, and `work` for all of them together. A shape costs
 * SPAD__CHALLENGE_SETUP plus the most events that its loops allow, those of kernels whose order is
 * examined SPAD__CHALLENGE_ORDER times; one that costs more than what is left is skipped. The same
 * kernel gives the same shapes in the same order.
 */
#ifndef SPAD_PROVE_CHALLENGE_H
#define SPAD_PROVE_CHALLENGE_H

#include "finding/findings.h"

enum {
    SPAD__CHALLENGE_PARAMS = 8,  /* that a list varies */
    SPAD__CHALLENGE_VALUES = 24, /* of one parameter */
    SPAD__CHALLENGE_SHAPES = 128,
    SPAD__CHALLENGE_SETUP = 500, /* in events */
    SPAD__CHALLENGE_ORDER = 8,
    SPAD__CHALLENGE_WORK = 800000 /* for a claim; about 0.1 seconds */
};

/* A parameter, and which of its values are of interest. */
typedef struct spad__challenge_param {
    size_t param;
    int64_t least;
    int64_t most;
    int64_t seen; /* shapes whose values are all below these have been checked; least: none has */
} spad__challenge_param;

typedef struct spad__challenge_shape {
    int64_t values[SPAD__CHALLENGE_PARAMS];
} spad__challenge_shape;

typedef struct spad__challenge {
    spad__challenge_param params[SPAD__CHALLENGE_PARAMS];
    size_t param_count;
    spad__challenge_shape shapes[SPAD__CHALLENGE_SHAPES]; /* in the order of their runs */
    size_t shape_count;
} spad__challenge;

/* Values of a parameter, without repetition. */
typedef struct spad__challenge_values {
    int64_t items[SPAD__CHALLENGE_VALUES]; /* those of conditions first */
    size_t count;
} spad__challenge_values;

/* Values of one parameter, at least `from`, around which something in the kernel changes its
 * outcome. Other parameters stay as they are, or, in the same comparison, change with it. */
spad_status spad__challenge_find_values(spad__challenge_values *out, const spad_kernel *kernel,
                                        size_t param, int64_t from, const spad_host *host,
                                        spad_error *error);

/* Values of a parameter, from p->seen on, with which accesses of one tensor off the chip meet that
 * did not meet before. Other parameters stay as they are. */
spad_status spad__challenge_find_meetings(spad__challenge_values *out, const spad_kernel *kernel,
                                          const spad__challenge_param *p, const spad_host *host,
                                          spad_error *error);

/* Every parameter in the bounds of a loop, from `least` on; the first SPAD__CHALLENGE_PARAMS of
 * them. Returns how many. */
size_t spad__challenge_trip_counts(spad__challenge_param *out, const spad_kernel *kernel,
                                   int64_t least);

/* The shapes of a kernel: combinations of such values of `params`, at most SPAD__CHALLENGE_PARAMS;
 * others keep theirs. Empty where nothing changes outside of the shapes already checked. */
spad_status spad__challenge_list(spad__challenge *out, const spad_kernel *kernel,
                                 const spad__challenge_param *params, size_t count,
                                 const spad_host *host, spad_error *error);

/* Results of the runs. */
typedef struct spad__challenged {
    size_t right;
    size_t refused;              /* no kernel exists with these values */
    size_t unknown;              /* a run could not decide */
    size_t skipped;              /* too costly, or time was up */
    bool failed;                 /* one is wrong: the last that was run */
    spad__challenge_shape shape; /* that one */
    spad_finding_code code;      /* its first error */
    char message[SPAD_MESSAGE_MAX];
} spad__challenged;

/* Checks the kernel of `run` at the shapes, one by one, until one is wrong, with the options and
 * the limit of `run`. Adds to the counts of its check what was examined, and no findings. The
 * kernel may differ from that of the list as long as it has the same parameters.
 * SPAD_ERR_HOST_MEMORY. */
spad_status spad__challenge_run(spad__challenged *out, const spad__challenge *list,
                                const spad__run *run, int64_t work, spad_error *error);

/* Adds the errors of a shape to the findings of the check of `run`, as warnings or errors. */
spad_status spad__challenge_report(spad__run *run, const spad__challenge *list,
                                   const spad__challenge_shape *shape, spad_severity severity,
                                   spad_error *error);

/* "T = 20, N = 11" */
void spad__challenge_text(const spad__challenge *list, const spad_kernel *kernel,
                          const spad__challenge_shape *shape, char *field, size_t size);

#endif
