/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis: one call over a kernel. The layout places what the kernel leaves to the
 * planner; the check and the simulation run with those places; where something does not
 * fit, changes are searched that make it fit. Each part is computed once and kept as
 * data; text, JSON and reports are written from it.
 *
 *     spad_analysis *analysis;
 *     if (spad_analysis_create(&analysis, kernel, NULL, &error) == SPAD_OK) {
 *         spad_analysis_write(analysis, SPAD_FORMAT_TEXT, &sink, &error);
 *         spad_analysis_destroy(analysis);
 *     }
 *
 * An analysis never changes after it was made; const functions may run concurrently. The
 * kernel is borrowed until destroy.
 */
#ifndef SPAD_ANALYSIS_H
#define SPAD_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spad/check.h"
#include "spad/kernel.h"
#include "spad/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of experimental headers. */
typedef struct spad_sim spad_sim;
typedef struct spad_sim_options spad_sim_options;
typedef struct spad_fit spad_fit;
typedef struct spad_fit_options spad_fit_options;

typedef struct spad_analysis spad_analysis;

/** Parts of an analysis. As bits, 1u << part, they select parts to leave out. */
typedef enum spad_analysis_part {
    SPAD_PART_LAYOUT, /**< left out: slots without an address share no bytes with others */
    SPAD_PART_CHECK,
    SPAD_PART_SIM,
    SPAD_PART_FIT, /**< empty where everything fits */
    SPAD_PARTS
} spad_analysis_part;

/**
 * Zeroed is the default: all parts, each with its own defaults.
 *
 * Hosts, watches and layouts inside the options of the parts are not used: all parts use `host`,
 * `watch` and the layout of the analysis.
 */
typedef struct spad_analysis_options {
    size_t struct_size; /**< see SPAD_OPTIONS_INIT */
    unsigned skip;      /**< bits of the parts to leave out */
    int64_t timeout_ns; /**< for layout, check and simulation together; 0: none but theirs */
    spad_watch watch;   /**< of all parts; a cancelled call has no result */
    const char *source; /**< text of the kernel, quoted in messages and shown in reports;
                             NULL: none. Borrowed until destroy */
    size_t source_length;
    /** Parts that are there already, of this kernel (or SPAD_ERR_ARGUMENT): they are used instead
     * of new ones. Borrowed until destroy. */
    const spad_layout *made_layout;
    const spad_check *made_check;
    const spad_sim *made_sim;
    /** Options of the parts, for this call only; NULL: the defaults. Their host, watch and layout
     * come from the analysis. */
    const spad_layout_options *layout;
    const spad_check_options *check;
    const spad_sim_options *sim;
    const spad_fit_options *fit;
    const spad_host *host;
} spad_analysis_options;

/** Operations that the simulation of an analysis runs before it skips repetitions, so that a
 *  report shows the whole run of most kernels. sim.repeat_after replaces it. */
#define SPAD_ANALYSIS_REPEAT_AFTER INT64_C(16000)

/**
 * Analyses a kernel. A kernel that does not fit, is wrong or deadlocks is a result and not a
 * failure. SPAD_ERR_HOST_MEMORY; SPAD_ERR_ARGUMENT: bad options; SPAD_ERR_CANCELLED. A part that
 * fails for another reason is missing from the analysis, and spad_analysis_get_fault has the
 * reason.
 */
SPAD_API spad_status spad_analysis_create(spad_analysis **out, const spad_kernel *kernel,
                                          const spad_analysis_options *options, spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_analysis_destroy(spad_analysis *analysis);

/** The kernel it is of. Borrowed. */
SPAD_API const spad_kernel *spad_analysis_get_kernel(const spad_analysis *analysis);

/** The layout; borrowed. NULL: left out, or failed. */
SPAD_API const spad_layout *spad_analysis_get_layout(const spad_analysis *analysis);

/** The check; borrowed. NULL: left out, or failed. */
SPAD_API const spad_check *spad_analysis_get_check(const spad_analysis *analysis);

/** The simulation; borrowed. NULL: left out, or failed. */
SPAD_API const spad_sim *spad_analysis_get_sim(const spad_analysis *analysis);

/** The makespan if no tensors shared bytes, in the unit of the simulation. Without synchronisation
 *  tensors that share bytes wait for each other, so the difference from the makespan is the time
 *  that the layout costs; with synchronisation none exists. SPAD_UNBOUNDED: layout or simulation
 *  are missing or were given, or it could not be simulated. */
SPAD_API int64_t spad_analysis_get_apart(const spad_analysis *analysis);

/** The changes that make it fit; borrowed. NULL: left out, failed, or there is no layout. */
SPAD_API const spad_fit *spad_analysis_get_fit(const spad_analysis *analysis);

/** Why a part is missing; NULL: it is there, or was not wanted. Borrowed. */
SPAD_API const spad_error *spad_analysis_get_fault(const spad_analysis *analysis,
                                                   spad_analysis_part part);

/** Nothing is wrong: the kernel fits, the check has no error, the simulation ran to its end. A
 *  part that was left out has nothing wrong; one that failed has. */
SPAD_API bool spad_analysis_is_fine(const spad_analysis *analysis);

/* ---- notes ------------------------------------------------------------------------- */

/** What there is to report about an analysis beside its tables, in the order of this list. */
typedef enum spad_analysis_note_code {
    SPAD_ANALYSIS_DOES_NOT_FIT, /**< at least one space is too small */
    SPAD_ANALYSIS_TOO_SMALL,    /**< this space is, with the changes that make it fit */
    SPAD_ANALYSIS_PEAK,         /**< what the too small space holds at its peak */
    SPAD_ANALYSIS_VERDICT       /**< of the check */
} spad_analysis_note_code;

typedef struct spad_analysis_note {
    spad_analysis_note_code code;
    const spad_layout_space *space; /**< too-small, peak; NULL for others */
} spad_analysis_note;

/* ---- writers ----------------------------------------------------------------------- */

/** Writes the parts that are there as TEXT (a summary, a line per space and its peak, the engines,
 * the findings and the verdict) or as JSON, docs/schema/plan_kernel.schema.json. */
SPAD_API spad_status spad_analysis_write(const spad_analysis *analysis, spad_format format,
                                         const spad_sink *sink, spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
