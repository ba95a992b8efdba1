/* SPDX-License-Identifier: Apache-2.0
 *
 * The tuner from the inside. tune.c searches; knobs.c finds what can be chosen; same_work.c sees
 * that it changes nothing else; tune_progress.c reports how far it has come; tune_report.c shows
 * the result.
 */
#ifndef SPAD_SIM_TUNE_H
#define SPAD_SIM_TUNE_H

#include "base/memory.h"
#include "sim/same_work.h"
#include "sim/sim.h"
#include "spad/experimental/tune.h"
#include "spad/layout.h"

/* One choice of all knobs. */
typedef struct spad__tune_point {
    int64_t makespan;      /* picoseconds; as if no tensors shared bytes */
    int64_t planned;       /* with the places that the planner gives; SPAD_UNBOUNDED: none */
    int64_t bytes;         /* of all tensors on chip, over all lanes, if none shared bytes */
    int64_t placed;        /* bytes that its layout takes of all memories on chip, over all lanes,
                                as spad_layout_create_checked gives it; 0: none exists */
    const int64_t *spaces; /* the same for each space of the target; NULL: no layout exists */
    bool fits;             /* a layout was found */
    const int64_t *values; /* per knob */
} spad__tune_point;

/* A tensor that is declared in a loop, and what it would give to declare it in front of it. */
typedef struct spad__tune_hoist {
    int64_t tensor;
    int64_t tiles;    /* of the chosen kernel; for advice, the fewest that give that makespan */
    int64_t makespan; /* with this change and those before it; with places where applied */
    int64_t bytes;    /* on top */
    bool applied;     /* the chosen kernel has it; else it is advice: it does not fit, or has
                           to be done by hand */
} spad__tune_hoist;

struct spad_tune {
    spad_host host;
    const spad_kernel *kernel; /* as it was given */
    const spad_kernel *base;   /* what the round starts with: `kernel`, or `owned` */
    spad_kernel *owned;
    spad__tune_point start;    /* `base` as it is */
    spad_tune_options options; /* limits are filled in */
    spad__limit limit;         /* its watch is spad__tune_watch */
    int64_t started;           /* of spad__clock; with progress only */
    int64_t reports;           /* progress is reported from then on */
    SPAD_ARRAY(spad_tune_knob) knobs;
    SPAD_ARRAY(spad__tune_point) looked; /* at, in that order */
    SPAD_ARRAY(spad__tune_point) points; /* the frontier */
    SPAD_ARRAY(spad__tune_hoist) hoists;
    spad__arena arena; /* values of knobs and points */
    spad_kernel *chosen;
    const char *claim; /* of the proof of `kernel`: "for all N"; NULL: not yet known */
    spad_tune_totals totals;
};

/* Checks the limits. *late: time is up; then the search is cut, and ends with what it has.
 * SPAD_ERR_CANCELLED. */
spad_status spad__tune_check_limit(spad_tune *tune, bool *late, spad_error *error);

/* Asks the caller's watch, and reports progress. Zeroed where the caller wants neither. */
spad_watch spad__tune_watch(spad_tune *tune);

/* Bytes of all tensors on chip, over all lanes, if none shared bytes. */
int64_t spad__tune_bytes(const spad_kernel *kernel);

/* Bytes that a layout takes of all memories on chip, over all lanes. */
int64_t spad__tune_placed(const spad_layout *layout);

/* Fills in the knobs with values that keep the kernel right. */
spad_status spad__tune_find_knobs(spad_tune *tune, spad_error *error);

/* The number of tiles to look at after `tiles`: each one where they are few, then some of them. */
int64_t spad__tune_next(int64_t tiles);

/* As many tiles of a tensor as its space can hold at all. */
int64_t spad__tune_room(const spad_kernel *kernel, const spad_kernel_tensor *tensor);

/* Does the checker find no error, at this shape and where the kernel could break first? If time is
 * up while it looks: no. `deep`: a ring is deeper than usual. */
spad_status spad__tune_is_right(spad_tune *tune, const spad_kernel *kernel, bool deep, bool *right,
                                spad_error *error);

/* The kernel with those values of the knobs. */
spad_status spad__tune_shape(spad_kernel **out, const spad_tune *tune, const int64_t *values,
                             spad_error *error);

#endif
