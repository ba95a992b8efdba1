/* SPDX-License-Identifier: Apache-2.0
 *
 * What every part of the check stands on: a look at a kernel of one shape, and the findings that it
 * adds. Knows no part. Findings about the same statements are one finding with a count.
 */
#ifndef SPAD_FINDING_FINDINGS_H
#define SPAD_FINDING_FINDINGS_H

#include "base/finding.h"
#include "base/limit.h"
#include "base/memory.h"
#include "base/text.h"
#include "finding/witness.h"
#include "kernel/origin.h"
#include "spad/check.h"
#include "spad/experimental/walk.h"

/* A finding and the statements that make it the same as another one. */
typedef struct spad__found {
    spad_finding finding;
    int64_t statement;
    int64_t other;  /* -1: none */
    int64_t cause;  /* findings with the same one, which is not 0, are of one cause */
    uint64_t hash;  /* of what its fingerprint is made of */
    uint64_t pairs; /* a sum of hashes: differs where other statements were counted */
} spad__found;

enum { SPAD__REASON_MAX = 4 * SPAD_MESSAGE_MAX };

struct spad_check {
    spad_host host;
    spad__origin origin; /* unknown: of a text that cannot be read */
    SPAD_ARRAY(spad__found) found;
    spad__witnesses witnesses;
    bool full;  /* findings were left out */
    bool every; /* its text shows each finding, not one for each cause */
    spad_verdict verdict;
    char reason[SPAD__REASON_MAX]; /* with all assumptions, which must not be cut */
    spad_check_counts counts;
};

typedef struct spad__watches spad__watches;

typedef struct spad__run {
    const spad_kernel *kernel;
    const spad_check_options *options; /* limits are filled in */
    spad_check *check;
    /* Set by a part that could not look at everything: why. The verdict is then unknown. */
    const char *gap;
    spad__watches *watches; /* records states of loops: recurrence.h; NULL: nothing */
    bool shown;             /* its findings are shown: messages are worth some work */
    bool anyway;           /* look for races although phases may differ: for causes, not verdicts */
    bool in_cycle;         /* set: all that is stuck waits for something else that is stuck */
    bool outputs;          /* say what is missing of outputs */
    const char *shape;     /* then: " (with N = 7)" where that is not the given shape; else "" */
    int64_t parallel_left; /* > 0: iterations of parallel loops were compared up to this event */
    spad__limit *limit;    /* of the whole check */
} spad__run;

/* Is time up? For loops, once in many turns. */
bool spad__is_late(const spad__run *run);
extern const char spad__time_is_up[];        /* the gap of a part that stopped for it */
extern const char spad__no_time_for_proof[]; /* the reason of a verdict about one shape */

/* Adds a finding about a statement (-1: none) and another one. Fills in place of the
 * finding, and that of the first note from `other`, where they have none. The same code about
 * the same statements again only counts. SPAD_ERR_HOST_MEMORY. */
spad_status spad__add_finding(spad__run *run, spad_finding *finding, int64_t statement,
                              int64_t other, spad_error *error);

/* The same about a tensor, at its declaration. */
spad_status spad__add_about(spad__run *run, spad_finding *finding, int64_t tensor,
                            spad_error *error);

/* The same about a synchronisation object. Declarations of these have no statement: -2 - sync
 * stands for one, so that two objects give two findings. */
spad_status spad__add_about_sync(spad__run *run, spad_finding *finding, size_t sync,
                                 spad_error *error);

/* The errors that the program of the kernel has shown already. They make the verdict wrong. */
spad_status spad__add_faults(spad__run *run, spad_error *error);

/* Fills in the file, the locations that are missing, and the lines of the program. */
void spad__locate_finding(spad_finding *finding, const spad_kernel *kernel, int64_t statement,
                          int64_t other);

/* Sets the place of a finding or of a note. */
void spad__point_finding(spad_finding *finding, spad_location location);
/* The user's line, and the line of the input under "from"; the input's alone where there is no
 * other. Below 0: a number is left out. */
void spad__json_lines(spad__json *json, const spad_program_line *program, spad_location location);
void spad__point_note(spad_note *note, spad_location location);

/* Is there an error or a warning of that kind about these statements? */
bool spad__has_finding(const spad__run *run, spad_finding_code code, int64_t statement,
                       int64_t other);

/* Was that found before, as that severity? Then it is counted. For parts that would have to
 * describe it first. */
bool spad__count_finding(spad__run *run, spad_finding_code code, spad_severity severity,
                         int64_t statement, int64_t other);

/* Makes an error a warning that leaves the verdict unknown: it rests on an access that may touch
 * bytes, and only the device knows which ones. */
void spad__leave_open(spad__run *run, spad_finding *finding);

/* The first errors of another shape of the kernel, "N = 4", as warnings or advice about this one.
 * An index outside of its tensor does not count: such values are not meant, as 9 is not where a
 * tensor has N / 8 tiles. The verdict names it. */
spad_status spad__add_of_shape(spad__run *run, const spad_check *other, const char *shape,
                               spad_severity severity, spad_error *error);

/* Frees the findings and witnesses of a check that belongs to a part. */
void spad__drop_findings(spad_check *check);

/* Counts `more` findings of a severity. */
void spad__count_severity(spad_check_counts *counts, spad_severity severity, int64_t more);

/* Errors first, then in the order of the text. */
void spad__sort_findings(spad_check *check);

#endif
