/* SPDX-License-Identifier: Apache-2.0
 *
 * report_parts: the rest of spad/report.h: a report from single parts, and what is in one.
 */
#ifndef SPAD_REPORT_PARTS_H
#define SPAD_REPORT_PARTS_H

#ifndef SPAD_EXPERIMENTAL
#error "spad/experimental/report_parts.h may change in any version: define SPAD_EXPERIMENTAL"
#endif

#include "spad/report.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Adds the tiles of a kernel at the places of its layout, each from the operation that
 * writes it to the last that reads that value, and the operations as bars on the rows of their
 * engines. Time is that of the simulation, in nanoseconds; with sim == NULL it is the number of the
 * event in the walk, and because the order of agents is unknown, what they access is drawn slot by
 * slot, from the fork to the join. At most event_limit events are drawn (0: SPAD_REPORT_EVENTS),
 * and no periods that the simulation has skipped; a note reports it. Of a layout that does not
 * fit, buffers are drawn over the statements of the kernel, with the planner's best plan above the
 * limit; time is then the number of a statement. Statuses of spad_walk_next; SPAD_ERR_ARGUMENT:
 * another target, the simulation of another kernel, or the report has another kernel. Kernels that
 * are equal (text, parameters, lines, target) count as one.
 */
SPAD_API spad_status spad_report_add_layout(spad_report *report, const spad_layout *layout,
                                            const spad_sim *sim, int64_t event_limit,
                                            spad_error *error);

/** Something that happens on a row of the timeline: an operation on its engine, a scope. */
typedef struct spad_report_bar {
    const char *row; /**< the engine; rows stand in the order in which they are first named */
    const char *name;
    int64_t begin; /**< it runs in [begin, end) */
    int64_t end;
    int64_t ready;    /**< it could have begun then; begin: it did not wait */
    const char *wait; /**< what it waited for; NULL: nothing */
    bool critical;    /**< it is on the critical path */
    int32_t line;     /**< of the source; 0: none */
    int64_t reads;    /**< bytes that it reads, of all lanes; 0: none, or not known */
    int64_t writes;   /**< and that it writes */
} spad_report_bar;

/** Adds a bar; strings are copied. SPAD_ERR_ARGUMENT: no row, an empty time, it is ready after
 * it begins, or it reads or writes less than no bytes. */
SPAD_API spad_status spad_report_add_bar(spad_report *report, const spad_report_bar *bar,
                                         spad_error *error);

/** Adds a finding. Its subject and other are looked for among the names of boxes. */
SPAD_API spad_status spad_report_add_finding(spad_report *report, const spad_finding *finding,
                                             spad_error *error);

/** Adds the findings of a check. A report is of one kernel: SPAD_ERR_ARGUMENT if a layout or a
 *  check of another one is in it. */
SPAD_API spad_status spad_report_add_check(spad_report *report, const spad_check *check,
                                           spad_error *error);

/** The text that lines refer to. Copied. */
SPAD_API spad_status spad_report_set_source(spad_report *report, const char *file, const char *text,
                                            size_t length, spad_error *error);

/** Number of boxes. */
SPAD_API size_t spad_report_box_count(const spad_report *report);

/** A box by number; NULL beyond the count. Borrowed. */
SPAD_API const spad_report_box *spad_report_get_box(const spad_report *report, size_t number);

/** One space of a report. Bytes are per lane; "live" is what is live in the fullest lane. */
typedef struct spad_report_space {
    size_t boxes;
    int64_t low;          /**< lowest address of a box, at most 0 */
    int64_t top;          /**< highest end of a box */
    int64_t usable;       /**< bytes for tensors; SPAD_UNBOUNDED: not known */
    int64_t peak_bytes;   /**< largest sum of live bytes */
    int64_t peak_time;    /**< when it is first reached */
    int64_t peak_free;    /**< at that time, bytes of [low, usable) that no box touches; of
                               [low, top) in a space without a limit */
    int64_t largest_hole; /**< the largest run of them */
    int64_t padding;      /**< sum over all boxes */
    int64_t conflicts;    /**< boxes that share bytes with another one while both live */
    bool sampled;         /**< boxes start at so many lanes that not every lane was examined */
} spad_report_space;

/** O(n log n). SPAD_ERR_ARGUMENT: no such space. */
SPAD_API spad_status spad_report_get_space(spad_report_space *out, const spad_report *report,
                                           size_t space, spad_error *error);

typedef struct spad_report_change {
    unsigned what;  /**< SPAD_DIFF_...; 0: the same */
    int64_t before; /**< number of the box in the first report; -1: none */
    int64_t after;  /**< in the second */
} spad_report_change;

/** Number of changes, buffers that did not change included. */
SPAD_API size_t spad_report_diff_count(const spad_report_diff *diff);

/** A change by number: those of the first report in their order, then new ones; NULL beyond the
 *  count. Borrowed. */
SPAD_API const spad_report_change *spad_report_diff_get(const spad_report_diff *diff,
                                                        size_t number);

#ifdef __cplusplus
}
#endif
#endif
