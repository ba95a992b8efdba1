/* SPDX-License-Identifier: Apache-2.0
 *
 * fit: what would make a kernel fit that does not. Every change that is named was
 * tried: the kernel with it was laid out, and it fits; and it was checked.
 */
#ifndef SPAD_FIT_H
#define SPAD_FIT_H

#ifndef SPAD_EXPERIMENTAL
#error "spad/experimental/fit.h may change in any version: define SPAD_EXPERIMENTAL"
#endif

#include <stddef.h>
#include <stdint.h>

#include "spad/finding.h"
#include "spad/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum spad_fit_kind {
    SPAD_FIT_PARAM,  /**< another value for a parameter that is the depth of a ring */
    SPAD_FIT_RING,   /**< another depth for the ring of a tensor */
    SPAD_FIT_RINGS,  /**< a largest depth for all rings of the space */
    SPAD_FIT_ALIGN,  /**< a lower alignment for a tensor */
    SPAD_FIT_SPILL,  /**< keep the tensor in another space */
    SPAD_FIT_SPILLS, /**< keep several tensors in another space, or one with shallower rings: only
                          where no single change is enough */
    SPAD_FIT_ALIAS,  /**< give a tensor the bytes of another that is not needed at its time */
    SPAD_FIT_RELEASE /**< let the planner choose the addresses that the kernel gives */
} spad_fit_kind;

/** "param", "ring", "rings", "align", "spill", "spills", "alias", "release". Static storage. */
SPAD_API const char *spad_fit_kind_name(spad_fit_kind kind);

/** One change after which the space fits. */
typedef struct spad_fit_change {
    spad_fit_kind kind;
    size_t space;     /**< number of the space in the target */
    const char *name; /**< of the parameter or tensor; rings and
                           release: as options of the command; spills: the tensors, in quotes.
                           Borrowed */
    const char *with; /**< spills: options for shallower rings that are needed, too; alias: the
                           other tensor; NULL: none */
    int64_t from;     /**< value, depth or alignment before; spill, alias: bytes of the tensor */
    int64_t to;       /**< and after; spill, alias, release: 0 */
    int64_t saved;    /**< bytes per lane by which the layout becomes lower */
    /** An error that the check finds in the kernel with the change; NONE: none. */
    spad_finding_code wrong;
    const char
        *wrong_at; /**< the shape at which that is, "N = 43"; NULL: the given one. Borrowed */
} spad_fit_change;

typedef struct spad_fit spad_fit;

/** Zeroed is the default. */
typedef struct spad_fit_options {
    int64_t timeout_ns; /**< for each layout that is tried; 0: SPAD_FIT_TIMEOUT */
    spad_watch watch;   /**< a cancelled call has no result */
    const spad_host *host;
} spad_fit_options;

#define SPAD_FIT_TIMEOUT INT64_C(200000000)

/** Looks for changes, space by space; right ones first, those that save least first. A layout that
 *  fits has none. SPAD_ERR_HOST_MEMORY, SPAD_ERR_ARGUMENT: bad options;
 *  SPAD_ERR_CANCELLED. */
SPAD_API spad_status spad_fit_create(spad_fit **out, const spad_layout *layout,
                                     const spad_fit_options *options, spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_fit_destroy(spad_fit *fit);

/** Number of changes. */
SPAD_API size_t spad_fit_count(const spad_fit *fit);

/** A change by number; NULL beyond the count. Borrowed. */
SPAD_API const spad_fit_change *spad_fit_get(const spad_fit *fit, size_t number);

/** Writes the spaces that are too small, with what would help, as TEXT, or all changes as a list in
 * JSON. SPAD_ERR_ARGUMENT: the layout is of another kernel. */
SPAD_API spad_status spad_fit_write(const spad_fit *fit, const spad_layout *layout,
                                    spad_format format, const spad_sink *sink, spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
