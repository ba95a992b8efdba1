/* SPDX-License-Identifier: Apache-2.0
 *
 * check: finds memory errors in a kernel, or proves that there are none.
 *
 * Rules of the chip; lifetimes (every read sees what was last written as that
 * tile); order (races, deadlocks and misused synchronisation, for kernels that state
 * how their agents synchronise); hygiene and advice. docs/check-how.md explains what is
 * proved; docs/findings.md has a wrong and a corrected kernel for every finding.
 *
 * The result owns its findings. Externally synchronised; several checks may run
 * over one kernel.
 */
#ifndef SPAD_CHECK_H
#define SPAD_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spad/finding.h"
#include "spad/kernel.h"
#include "spad/layout.h"
#include "spad/source.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spad_check spad_check;

typedef enum spad_verdict {
    SPAD_VERDICT_WRONG,        /**< there are findings that are errors */
    SPAD_VERDICT_PROVED_SHAPE, /**< right for these values of the parameters */
    SPAD_VERDICT_PROVED_ALL,   /**< right for these and for every other trip count */
    SPAD_VERDICT_UNKNOWN       /**< no error was found, and not everything was examined */
} spad_verdict;

/** "wrong", "proved for this shape" and so on. Static storage. */
SPAD_API const char *spad_verdict_name(spad_verdict verdict);

/** What known faults of compilers do to a check. */
typedef enum spad_compiler_policy {
    SPAD_COMPILER_FAULTS_KNOWN, /**< one with known wrong results fails it */
    SPAD_COMPILER_FAULTS_ERROR, /**< each fails it */
    SPAD_COMPILER_FAULTS_WARNING,
    SPAD_COMPILER_FAULTS_IGNORE /**< they are hidden */
} spad_compiler_policy;

/** Another severity for findings of a code, or none of them. */
typedef struct spad_rule_level {
    spad_finding_code code;
    spad_severity severity;
    bool hide;
} spad_rule_level;

/** Which findings are reported, and how severe they are. It never changes a verdict. Zeroed is the
 *  default. */
typedef struct spad_check_policy {
    spad_compiler_policy compiler_faults;
    const spad_rule_level *levels;
    size_t level_count;
    const char *const *baseline; /**< fingerprints of findings that are known */
    size_t baseline_count;
} spad_check_policy;

/** Zeroed is the default. */
typedef struct spad_check_options {
    size_t struct_size;        /**< see SPAD_OPTIONS_INIT */
    const spad_layout *layout; /**< of the kernel that is checked: places of auto tensors; NULL:
                                    nothing is planned, and auto tensors do not share bytes with
                                    others */
    bool no_advice;
    bool one_shape;          /**< no attempt to prove it for all trip counts */
    const char *const *vary; /**< parameters, such as ring depths, whose neighbouring values are
                                  tried, too: an error there is a warning */
    size_t vary_count;
    int64_t event_limit;  /**< events of one run at most; 0: SPAD_CHECK_EVENTS */
    size_t finding_limit; /**< different findings at most; 0: SPAD_CHECK_FINDINGS. SIZE_MAX: all,
                               and the text shows each of them, not one for each cause */
    int64_t timeout_ns;   /**< 0: SPAD_CHECK_TIMEOUT; INT64_MAX: none. A cut: what was not examined
                               makes the verdict unknown, or leaves it at this shape */
    spad_watch watch;     /**< a cancelled check has no result */
    const spad_host *host;
    const spad_check_policy *policy; /**< NULL: the default */
} spad_check_options;

#define SPAD_CHECK_EVENTS INT64_C(20000000)
#define SPAD_CHECK_FINDINGS 100
#define SPAD_CHECK_TIMEOUT INT64_C(60000000000) /* a minute; half of it for a proof */

/** How much was examined, and what was found. */
typedef struct spad_check_counts {
    int64_t errors;
    int64_t warnings;
    int64_t advice;
    int64_t events;          /**< of all runs */
    int64_t accesses;        /**< of all runs */
    int64_t runs;            /**< of the kernel, or of smaller shapes of it */
    int64_t compiler_faults; /**< known faults of the compiler; they are no errors of the user */
    int64_t hidden;          /**< findings that are not counted above: spad_hidden */
} spad_check_counts;

/**
 * Checks a kernel. Findings are a result, not a failure: the status is about the call.
 * SPAD_ERR_HOST_MEMORY; SPAD_ERR_ARGUMENT: bad options, or the layout of another kernel;
 * SPAD_ERR_UNKNOWN: no parameter of a name in `vary`; SPAD_ERR_CANCELLED.
 */
SPAD_API spad_status spad_check_create(spad_check **out, const spad_kernel *kernel,
                                       const spad_check_options *options, spad_error *error);

/**
 * Lays a kernel out, with tensors that synchronisation orders on the same bytes where that is
 * proved. Without agents it is spad_layout_create. With agents the order of the tensors
 * (spad_tensor_order_create) proposes a layout, and a check of it decides: the layout is taken if
 * that check is a proof, and as strong as the one without the shared bytes. *check (optional)
 * is the check of the layout that was taken, with the options of `check_options`, or NULL if none
 * was needed; `layout` of the latter is not used.
 */
SPAD_API spad_status spad_layout_create_checked(spad_layout **out, spad_check **check,
                                                const spad_kernel *kernel,
                                                const spad_layout_options *layout_options,
                                                const spad_check_options *check_options,
                                                spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_check_destroy(spad_check *check);

/** The check of a text that cannot be read: its faults as findings SPAD-SYNTAX, and the verdict is
 *  wrong. `file` is its name (optional: NULL). SPAD_ERR_HOST_MEMORY. */
SPAD_API spad_status spad_check_create_from_faults(spad_check **out, const spad_diagnostics *faults,
                                                   const char *file, const spad_host *host,
                                                   spad_error *error);

/** The verdict of the check. */
SPAD_API spad_verdict spad_check_get_verdict(const spad_check *check);

/** One sentence about the verdict: what was proved, or why it is unknown. Borrowed. */
SPAD_API const char *spad_check_get_reason(const spad_check *check);

/** Findings by severity, and how much was checked. */
SPAD_API spad_check_counts spad_check_get_counts(const spad_check *check);

/** Is there no finding that fails a check: no error that is shown, and no fault of the compiler
 * that its policy takes for one? A check that passes may still have the verdict wrong, or unknown.
 */
SPAD_API bool spad_check_passes(const spad_check *check);

/** Number of findings. */
SPAD_API size_t spad_check_finding_count(const spad_check *check);

/** A finding by number, errors first, then in the order of the text; NULL beyond the count.
 *  Borrowed. */
SPAD_API const spad_finding *spad_check_get_finding(const spad_check *check, size_t number);

/* ---- showing it -------------------------------------------------------------------- */

/**
 * Writes the findings as a compiler does, the locations they have in common with the lines of
 * `text` (optional: NULL), and the verdict in the last line:
 *
 *     k.spad:7:5: error: 'x' is read after ... [SPAD-LIFETIME-CONFLICT]
 *         7 |     scalar exp reads x[i] writes y[i]
 *           |     ^~~~~~~~~~
 *     k.spad:6:5: note: it was written here
 *         6 |     dma load writes z[i]
 *           |     ^~~~~~~~
 *     exp_rows: 1 error
 *
 * `kernel` is the one that was checked (SPAD_ERR_ARGUMENT: another one); NULL for a text that
 * cannot be read (spad_check_create_from_faults), whose verdict begins with the name of its file.
 */
SPAD_API spad_status spad_check_write_text(const spad_check *check, const spad_kernel *kernel,
                                           const char *text, size_t length, const spad_sink *sink,
                                           spad_error *error);

/** Writes verdict, counts, the parameters it holds for, and every finding with its facts; kernel
 *  NULL: of spad_check_create_from_faults. SPAD_ERR_ARGUMENT: another kernel than the one that was
 * checked. */
SPAD_API spad_status spad_check_write_json(const spad_check *check, const spad_kernel *kernel,
                                           const spad_sink *sink, spad_error *error);

/** Writes the findings of several checks as one SARIF 2.1.0 log, for code-review tools: the codes
 *  that occur are its rules, notes are related locations, columns count characters. */
SPAD_API spad_status spad_check_write_sarif(const spad_check *const *checks, size_t count,
                                            const spad_sink *sink, spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
