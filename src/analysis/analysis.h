/* SPDX-License-Identifier: Apache-2.0
 *
 * An analysis from the inside: analysis.c makes it, write.c shows it.
 *
 * Invariants
 *   a part that is not NULL has no fault
 *   fit is there only if the layout is; it has changes only if something does not fit
 */
#ifndef SPAD_ANALYSIS_ANALYSIS_H
#define SPAD_ANALYSIS_ANALYSIS_H

#include "base/memory.h"
#include "spad/analysis.h"

struct spad_analysis {
    spad_host host;
    const spad_kernel *kernel;
    const char *source; /* NULL: none */
    size_t source_length;
    const spad_layout *layout; /* those of the caller, or our own */
    const spad_check *check;
    const spad_sim *sim;
    spad_layout *own_layout;
    spad_check *own_check;
    spad_sim *own_sim;
    spad_fit *fit;
    int64_t apart; /* makespan if no tensors shared bytes; SPAD_UNBOUNDED: not known */
    spad_error faults[SPAD_PARTS]; /* code SPAD_OK: none */
    SPAD_ARRAY(spad_analysis_note) notes;
};

/* Does a space of a layout have a plan within its capacity? */
static inline bool spad__space_fits(const spad_layout_space *row) {
    return row->verdict == SPAD_PLAN_OPTIMAL || row->verdict == SPAD_PLAN_FEASIBLE;
}

#endif
