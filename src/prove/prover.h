/* SPDX-License-Identifier: Apache-2.0
 *
 * A proof for all trip counts from the inside: prove.c says what it is, trip_counts.c finds the
 * trip counts, joint_trips.c those that depend on each other, shape.c runs one shape,
 * per_tensor.c proves tensors one by one, unproved_sizes.c tries values of parameters without a
 * proof, challenge_claim.c runs the shapes at which a claim would fail first.
 */
#ifndef SPAD_PROVE_PROVER_H
#define SPAD_PROVE_PROVER_H

#include "induction/recurrence.h"

/* Shapes that a proof may have, apart from the given shape. */
enum { SPAD__SHAPES_MAX = 4096 };

/* Shapes without a kernel that are named. */
enum { SPAD__REFUSED_MAX = 6 };

/* Warnings of other shapes that are kept. */
enum { SPAD__WARNED_MAX = 4 };

/* Parameters without a proof whose other values are tried. */
enum { SPAD__LEFT_MAX = 8 };

/* A parameter that is not proved. */
typedef struct spad__left_trip {
    size_t param;
    bool in_row; /* its loops have no steps: all values up to some number are tried */
    bool nested; /* one of its loops is inside of another one */
    bool tried;  /* with another value */
    char why[SPAD_MESSAGE_MAX / 2];
} spad__left_trip;

/* A parameter that is a trip count. */
typedef struct spad__trip {
    spad__induction induction;
    int64_t given;
    int64_t repeats; /* from this value on runs repeat themselves */
} spad__trip;

/* One shape: a value per trip count, and what its run gave. */
typedef struct spad__shape {
    int64_t values[SPAD__TRIPS_MAX];
    bool possible; /* the kernel can be built */
    bool repeats[SPAD__TRIPS_MAX];
    bool cut_iterations_repeat; /* runs that are cut do, each by itself */
    int64_t errors;
    const char *gap;
    spad_finding first; /* error */
} spad__shape;

enum { SPAD__SHAPE_RIGHT, SPAD__SHAPE_WRONG, SPAD__SHAPE_REFUSED };

typedef enum spad__outcome {
    SPAD__ALL_RIGHT, /* from some values on */
    SPAD__ONE_WRONG,
    SPAD__NO_REPEAT,
    SPAD__NO_KERNEL, /* with larger values */
    SPAD__NOT_ALL
} spad__outcome;

/* Results of the runs of all shapes. */
typedef struct spad__all_shapes {
    spad__outcome outcome;
    int64_t from[SPAD__TRIPS_MAX];          /* per trip count: no smaller value is right */
    spad__shape last;                       /* that was run */
    bool seen_wrong;                        /* one is, maybe below `from` */
    bool hole;                              /* one is, not below `from` */
    spad__shape wrong;                      /* the first of them */
    char message[SPAD_MESSAGE_MAX];         /* of the first that is wrong */
    spad__shape refused[SPAD__REFUSED_MAX]; /* not below `from` */
    size_t refused_count;                   /* of all */
    bool refused_on;                        /* larger ones may also be */
} spad__all_shapes;

/* A warning that a shape has: it counts if the given one has not. */
typedef struct spad__warned {
    spad_finding_code code;
    int64_t statement;
    char text[SPAD_MESSAGE_MAX];
} spad__warned;

/* Loops whose runs are cut in all shapes (nested_induction.c). */
typedef struct spad__cut_iterations {
    const bool *loops; /* per loop */
    int64_t keep;
    int64_t period;
} spad__cut_iterations;

/* Cost limit of a proof, in the measure of `work`, for trip counts that depend on each other, or on
 * themselves. */
enum { SPAD__JOINT_WORK_MAX = 16000000 };

typedef struct spad__prover {
    spad__run *run;    /* of the given shape; its check gets the findings */
    bool search_cut;   /* time was up in the search for a proof */
    bool given_run;    /* the given shape is short, and was run first */
    spad__shape given; /* how that went */
    const spad_kernel *kernel;
    spad_host host;
    spad__trip trips[SPAD__TRIPS_MAX];
    size_t count;
    const bool *part; /* per tensor: the proof covers it; NULL: it covers all */
    bool long_step; /* of a trip count, or of a parameter that is not a trip count because of it */
    bool joint;     /* steps depend on other trip counts: each shape looks at its own induction */
    const spad__cut_iterations *cut;      /* NULL: nothing is cut */
    size_t fixed;                         /* trip counts that are not proved */
    spad__left_trip left[SPAD__LEFT_MAX]; /* the first of them */
    char why[SPAD_MESSAGE_MAX];           /* about them, when other values were tried */
    bool seen_wrong;                      /* one of those is wrong */
    int64_t work;                         /* events, and numbers of states, of all shapes so far */
    int64_t work_most;                    /* that they may be */
    bool needed;                          /* shapes are run whatever they cost */
    bool exhausted;                       /* a shape was not run because of that */
    bool unwatched;                       /* it is known that runs repeat themselves */
    const spad__trip *asked; /* shapes are run to see whether this one repeats itself; NULL: none */
    bool unsettled;          /* small shapes do not show what the given one leaves out */
    bool all;                /* shapes are run for all of them: warnings count as well */
    spad__warned warned[SPAD__WARNED_MAX];
    size_t warned_count;
    char refusal[SPAD_MESSAGE_MAX]; /* why the last shape that has no kernel has none */
    spad__all_shapes all_shapes;
    bool done;       /* all shapes were run */
    bool in_parts;   /* with parts of the tensors, or cut runs: no shape was run as it is */
    bool proved;     /* for all values of the trip counts that are left */
    int64_t *values; /* per loop: scratch */
} spad__prover;

/* ---- one shape --------------------------------------------------------------------- */

/* The kernel with the values of a shape. SPAD_OK and NULL: none exists. */
spad_status spad__shape_kernel(const spad__prover *p, const spad__shape *s, spad_kernel **out,
                               spad_error *error);

/* The same; `refusal` gets the reason why none exists. */
spad_status spad__shape_kernel_or_why(spad__prover *p, const spad__shape *s, spad_kernel **out,
                                      spad_error *error);

/* "T = 2, N = 3" */
void spad__shape_text(const spad__prover *p, const spad__shape *s, char *field, size_t size);

/* Runs the parts that find errors over a kernel of a shape; findings go to `check`. `about`: NULL,
 * or the name of the shape in messages about outputs. */
spad_status spad__shape_run(spad__prover *p, spad__shape *s, const spad_kernel *kernel,
                            spad_check *check, const char *about, spad_error *error);

/* Upper bound of the cost of a run, in the measure of `work`. */
int64_t spad__shape_work(const spad_kernel *kernel);

/* The gap of a shape that would be too much work. */
extern const char spad__too_much_work[];

/* False: conditions alone show, without a run, that a shape which stands for larger ones does not
 * repeat itself. */
spad_status spad__shape_may_repeat(spad__prover *p, const spad__shape *s, bool *may,
                                   spad_error *error);

/* Runs a shape, unless it is too much work; its findings are only counted. */
spad_status spad__shape_try(spad__prover *p, spad__shape *s, spad_error *error);

/* The errors of a shape that is wrong, as warnings about the given one. */
spad_status spad__shape_report(spad__prover *p, const spad__shape *s, spad_error *error);

/* The same, and again from larger values on where one did not repeat itself; nothing is run if that
 * would be too much work. */
spad_status spad__shapes_prove(spad__prover *p, spad_error *error);

/* A proof with each tensor that shares no bytes with others alone (per_tensor.c). *proved is
 * false: none exists, and nothing has changed. Else the trip counts are all that there are, and
 * all_shapes says for which values it holds. */
spad_status spad__prove_per_tensor(spad__prover *p, bool *proved, spad_error *error);

/* A proof for the one trip count that is left, where its loops are inside of each other
 * (nested_induction.c). *proved is true: it is no longer left, and all_shapes says for which values
 * it holds; its induction belongs to a kernel with shorter runs. */
spad_status spad__prove_nested(spad__prover *p, bool *proved, spad_error *error);

/* Challenges the claim that the kernel is right from all_shapes.from on (challenge_claim.c). A
 * shape that is wrong becomes all_shapes.wrong, and the outcome SPAD__ONE_WRONG. */
spad_status spad__challenge_claim(spad__prover *p, spad_error *error);

/* The same for the claim that the given shape is right since a smaller one is: shapes in between
 * are run. *holds is false: one is wrong, as above. */
spad_status spad__challenge_given(spad__prover *p, const spad__shape *s, bool *holds,
                                  spad_error *error);

/* The same without a claim: all trip counts and parameters that are not proved, from the given
 * values on. A shape that is wrong is reported, and `field` is "not with T = 20, N = 11: ...", else
 * "". trips_alone: also where there are trip counts only, because no claim about them comes. */
spad_status spad__challenge_open(spad__prover *p, bool trips_alone, char *field, size_t size,
                                 spad_error *error);

/* ---- trip counts ------------------------------------------------------------------- */

/* Is a parameter in the bounds of a loop? */
bool spad__trip_bounds_loop(const spad_kernel *kernel, size_t param);

spad_status spad__trips_find(spad__prover *p, spad_error *error);
void spad__trips_free(spad__prover *p);

/* A value to leave a parameter at while another one is examined: small, the same modulo its
 * step. */
int64_t spad__trip_small(const spad__trip *t);

/* Leaves one out, and says why. */
void spad__trip_drop(spad__prover *p, size_t number, const char *why);

/* Where the steps of one trip count hold for one value of another only, that one is left there. */
void spad__trips_part(spad__prover *p);

/* From which values on runs repeat themselves; trip counts whose runs do not are left out. */
spad_status spad__trips_repeat(spad__prover *p, spad_error *error);

/* Values from 0 that are run. */
int64_t spad__trip_shapes(const spad__prover *p, const spad__trip *t);

/* All combinations of them; at most 2^40. */
int64_t spad__trips_shapes(const spad__prover *p);

/* Trip counts whose steps depend on each other: raises the steps until they are the same for all
 * values. *joint is false: there are none, or it cannot be done, and nothing has changed. */
spad_status spad__trips_join(spad__prover *p, bool *joint, spad_error *error);

/* ---- values without a proof -------------------------------------------------------- */

/* Tries other values of parameters without a proof; fills in `why`. */
spad_status spad__try_left(spad__prover *p, spad_error *error);

/* The same for the trip counts of a proof that failed, after the reason of the verdict: each of
 * them alone, then together where conditions change. */
spad_status spad__try_open(spad__prover *p, spad_error *error);

/* The same for parameters that are sizes, such as ring depths: those that the options name, which
 * the reason of the verdict then tells, and those that a number in the text seems to stand for, as
 * advice. */
spad_status spad__try_sizes(spad__prover *p, spad_error *error);

/* Adds the parameters to the reason of the verdict that are in no claim, and have been tried with
 * no other value. */
void spad__name_untried(spad__prover *p);

#endif
