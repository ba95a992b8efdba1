/* SPDX-License-Identifier: Apache-2.0
 *
 * report: pictures of memory over time.
 *
 * A report is a list of boxes, each a rectangle of a space (lanes x bytes) for
 * a time, and, if there are any, bars on the rows of a timeline, findings, and the
 * text they are about. Boxes come from a trace, from a plan or one by one, so
 * everything that allocates has a picture. Boxes are drawn where they are: by offsets
 * and lanes, never by sizes.
 *
 * Writers give the same bytes for the same report. Text of the user is escaped in
 * each of them in the way of its format (docs/report.md). Externally synchronised;
 * const functions may run concurrently.
 */
#ifndef SPAD_REPORT_H
#define SPAD_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spad/analysis.h"
#include "spad/check.h"
#include "spad/finding.h"
#include "spad/layout.h"
#include "spad/plan.h"
#include "spad/target.h"
#include "spad/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of experimental headers. */
typedef struct spad_sim spad_sim;
typedef struct spad_log spad_log;

typedef struct spad_report spad_report;

/** Zeroed is the default. Strings are copied. */
typedef struct spad_report_options {
    size_t struct_size;    /**< see SPAD_OPTIONS_INIT */
    const char *title;     /**< NULL: the name of the target */
    const char *time_unit; /**< what one step of the time axis is; NULL: "event" */
    int64_t timeout_ns;    /**< from its creation on, for all that is added and written; 0: none.
                                Then calls fail with SPAD_ERR_TIME. Checked once in
                                SPAD_REPORT_LOOK boxes or events, and in 16 KiB of output */
    spad_watch watch;      /**< checked as often; a cancelled call adds nothing */
    const spad_host *host;
} spad_report_options;

#define SPAD_REPORT_LOOK 1024

/** An empty report, owned by the caller. The target is borrowed until destroy. */
SPAD_API spad_status spad_report_create(spad_report **out, const spad_target *target,
                                        const spad_report_options *options, spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_report_destroy(spad_report *report);

/* ---- what is drawn ----------------------------------------------------------------- */

/** Family of a box that shares bytes with no other. */
#define SPAD_NO_FAMILY (-1)

/** One rectangle for one time. */
typedef struct spad_report_box {
    const char *name; /**< NULL: unnamed */
    spad_shape shape; /**< rank 0: not known */
    spad_dtype dtype;
    spad_mode mode;
    size_t space;
    spad_rect rect;  /**< rect.byte SPAD_NO_BYTE: it has no address, only a size */
    int64_t padding; /**< bytes per lane at its end that hold nothing */
    int64_t begin;   /**< live in [begin, end) */
    int64_t end;
    bool open;        /**< it lives on after the end */
    int64_t slot;     /**< of a ring, or section of a scope */
    int64_t slots;    /**< copies of the ring, or sections; 0: no ring */
    int64_t family;   /**< boxes of one family (0 to 2^31 - 1) may share bytes: aliases */
    int32_t line;     /**< of the source; 0: none */
    int64_t rounding; /**< bytes per lane after its end that are lost to rounding: reserved with it,
                           but not part of `rect` */
    int64_t alignment; /**< its first byte is a multiple of it; 0: not known */
} spad_report_box;

/**
 * Adds a box; strings and dims are copied. SPAD_ERR_ARGUMENT: an empty time, no such
 * space, a negative size. SPAD_ERR_OVERFLOW: its end, or the sum of all sizes, does not fit.
 */
SPAD_API spad_status spad_report_add_box(spad_report *report, const spad_report_box *box,
                                         spad_error *error);

/** Adds the tensors of all spaces of a trace as boxes, its scopes as bars. */
SPAD_API spad_status spad_report_add_trace(spad_report *report, const spad_trace *trace,
                                           spad_error *error);

/** Adds the buffers of a problem at the places of its result, in one space of the report's target.
 *  A buffer with gaps gives several boxes, aliases are one family. Of a result without places the
 *  pins are drawn: where two of them meet is why. SPAD_ERR_STALE: the result of another problem, or
 *  of this one before it changed. */
SPAD_API spad_status spad_report_add_plan(spad_report *report, const spad_plan *plan,
                                          const spad_plan_result *result, size_t space,
                                          spad_error *error);

/** Adds the verdict of a result as a note and, with a reason (optional: NULL), why it does not fit
 *  and what would, as two more. SPAD_ERR_STALE. */
SPAD_API spad_status spad_report_add_reason(spad_report *report, const spad_plan *plan,
                                            const spad_plan_result *result,
                                            const spad_plan_reason *reason, spad_error *error);

/** Adds the allocations of a log (what a pool did, or RMM) as boxes in one space: addresses count
 *  from the lowest one, times are rows, names are "stream N[number]". */
SPAD_API spad_status spad_report_add_log(spad_report *report, const spad_log *log, size_t space,
                                         spad_error *error);

/**
 * Adds the buffers of a layout, slot by slot, over the statements in which they are needed: the
 * problem of the planner, independent of trip counts. The peak of a memory comes from the
 * layout. SPAD_ERR_ARGUMENT: another target, or the report has another kernel.
 */
SPAD_API spad_status spad_report_add_buffers(spad_report *report, const spad_layout *layout,
                                             spad_error *error);

/** Events of a kernel that are drawn by default. */
#define SPAD_REPORT_EVENTS INT64_C(20000)

/**
 * Adds all of an analysis: the tiles of its layout as spad_report_add_layout does, over the time
 * of its simulation if there is one and the kernel fits; its notes, findings and source. A report
 * that was made without a title takes the name and parameters of the kernel.
 */
SPAD_API spad_status spad_report_add_analysis(spad_report *report, const spad_analysis *analysis,
                                              spad_error *error);

/** A line under the title: a verdict, a figure. At most 16 (SPAD_ERR_ARGUMENT). Copied. */
SPAD_API spad_status spad_report_add_note(spad_report *report, const char *note, spad_error *error);

/* ---- what is in it ----------------------------------------------------------------- */

/* ---- writers ----------------------------------------------------------------------- */

/**
 * Writes a report as
 *   TEXT   a map of letters, 80 columns wide, with the largest boxes and the peak in words
 *   SVG    a picture to print
 *   LIGHT  the same for a notebook, below 100 kB whatever the number of boxes: the largest are
 * drawn, all others are shades of gray. Markup to stand in a page HTML   one file with everything
 * in it: maps, curves, timeline, findings, source JSON   everything as data;
 * docs/schema/report.schema.json TRACE  Chrome's trace format, for Perfetto: rows as threads, live
 * bytes as counters, lifetimes as asynchronous events
 */
SPAD_API spad_status spad_report_write(const spad_report *report, spad_format format,
                                       const spad_sink *sink, spad_error *error);

/* ---- comparing --------------------------------------------------------------------- */

/** What became of a box. Boxes of the two reports belong together by space, name and order. */
enum {
    SPAD_DIFF_MOVED = 1, /**< another byte or lane */
    SPAD_DIFF_SIZED = 2, /**< another size or number of lanes */
    SPAD_DIFF_TIMED = 4, /**< another lifetime */
    SPAD_DIFF_GONE = 8,  /**< only in the first */
    SPAD_DIFF_NEW = 16   /**< only in the second */
};

typedef struct spad_report_diff spad_report_diff;

/** Compares two reports, which are borrowed. Spaces belong together by name. O(n log n). Writing
 *  the comparison after boxes were added to one of them is SPAD_ERR_STALE. */
SPAD_API spad_status spad_report_diff_create(spad_report_diff **out, const spad_report *before,
                                             const spad_report *after, const spad_host *host,
                                             spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_report_diff_destroy(spad_report_diff *diff);

/** Writes what changed as TEXT, a line for each; as JSON, docs/schema/diff.schema.json; or as HTML,
 * the page of a report with both maps on one time axis. SPAD_ERR_STALE. */
SPAD_API spad_status spad_report_diff_write(const spad_report_diff *diff, spad_format format,
                                            const spad_sink *sink, spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
