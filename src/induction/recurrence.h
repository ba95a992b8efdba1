/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs that are watched, to find out whether they repeat themselves.
 *
 * A watch follows one growing parameter through one run. At the head of each
 * iteration of a growing loop it takes the state, with every index counted from
 * where the loop stands; when the state is the same as one period before, and the
 * conditions allow it, the loop repeats itself.
 */
#ifndef SPAD_INDUCTION_RECURRENCE_H
#define SPAD_INDUCTION_RECURRENCE_H

#include "finding/findings.h"
#include "induction/induction.h"

/* Trip counts that are examined together. */
enum { SPAD__TRIPS_MAX = 6 };

/* A state as numbers. */
typedef SPAD_ARRAY(int64_t) spad__state;

/* Writes a state down, number by number. A lack of memory sticks. */
typedef struct spad__state_out {
    const spad_host *host;
    spad__state *state;
    bool failed;
} spad__state_out;

void spad__state_put(spad__state_out *out, int64_t number);

typedef struct spad__watch {
    const spad__induction *induction;
    spad__induction own;   /* what `induction` is where it holds for this shape only */
    spad__window *windows; /* per loop, of this run */
    bool failed;           /* a run of a growing loop did not repeat itself */
    bool ended;            /* larger values change nothing: there is nothing to watch */
    bool repeats;          /* the loop that is open does */
    int64_t last;       /* iteration of it, from 0, that can be repeated; below 0: none need be */
    spad__state states; /* of its iterations, one after another */
    SPAD_ARRAY(size_t) starts;
    /* of kernels with an order: runs of growing loops with events, counted as they come */
    int32_t *runs;     /* per event: its run among those of its agent, from 1 on; -1: in none */
    size_t run_count;  /* of events */
    bool counted;      /* all runs have numbers, as forms of the loops around them */
    bool same_lengths; /* runs of one number are as long for every agent, where each grows by itself
                        */
} spad__watch;

/* Writes the state down, with indices counted from `periods` periods on. */
typedef struct spad__state_of {
    spad_status (*write)(void *context, const spad__watch *watch, size_t group, int64_t periods,
                         spad__state *state, spad_error *error);
    void *context;
} spad__state_of;

struct spad__watches {
    spad_host host;
    const spad_kernel *kernel;
    spad__watch *items;
    size_t count;
};

/* Has every run of a growing loop an iteration that may be repeated, as far as conditions say? */
bool spad__watch_may_repeat(const spad__watch *watch, const spad_kernel *kernel);

/* A loop begins (values: of the loops around it, per loop), is at the head of an iteration, or
 * ends. Growing loops of one parameter are not inside each other, so one is open at a time. */
void spad__watch_begin(spad__watches *watches, int64_t loop, const int64_t *values);
spad_status spad__watch_iteration(spad__watches *watches, int64_t loop, int64_t iteration,
                                  spad__state_of state, spad_error *error);
spad_status spad__watch_end(spad__watches *watches, int64_t loop, int64_t iterations,
                            spad__state_of state, spad_error *error);

#endif
