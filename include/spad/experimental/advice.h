/* SPDX-License-Identifier: Apache-2.0
 *
 * advice: changes of a kernel that make it smaller or faster.
 *
 * Each change is made, and the changed kernel is laid out, checked and simulated (spad/analysis.h).
 * It is offered if nothing is lost: the verdict of the check is as strong as before, in the same
 * words where it covers all trip counts, there are no more warnings, the kernel fits, and it takes
 * no more time. Kinds are tried one after another, each with the kernel that the changes before it
 * gave; spad_advice_get_kernel has them all. docs/check.md describes the kinds.
 *
 * A result never changes; const functions may run concurrently.
 */
#ifndef SPAD_ADVICE_H
#define SPAD_ADVICE_H

#ifndef SPAD_EXPERIMENTAL
#error "spad/experimental/advice.h may change in any version: define SPAD_EXPERIMENTAL"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spad/experimental/kernel_rows.h"
#include "spad/experimental/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spad_advice spad_advice;

/** In the order in which they are tried. As bits, 1u << kind, they select kinds to leave out. */
typedef enum spad_advice_kind {
    SPAD_ADVICE_LOAD,    /**< a load that gives the same in every iteration goes in front of its
                              loop */
    SPAD_ADVICE_DEEPER,  /**< a ring with more slots is faster; only where times are known */
    SPAD_ADVICE_SHORTER, /**< a ring with fewer slots takes fewer bytes and no more time; only where
                              times are known, or with `steps` */
    SPAD_ADVICE_ALIAS,   /**< a tensor gets the bytes of a ring that is not needed at its time */
    SPAD_ADVICE_KINDS
} spad_advice_kind;

/** "load", "deeper", "shorter", "alias". Static storage. */
SPAD_API const char *spad_advice_kind_name(spad_advice_kind kind);

/** Zeroed is the default. */
typedef struct spad_advice_options {
    unsigned skip;       /**< bits of the kinds to leave out */
    int64_t depth_most;  /**< deepest ring that is tried; 0: SPAD_ADVICE_DEPTH */
    int64_t trials_most; /**< changed kernels that are analysed; the search ends then, with what it
                              has; 0: SPAD_ADVICE_TRIALS */
    int64_t timeout_ns;  /**< 0: none. The search ends then, with what it has */
    bool steps;          /**< shorten rings of a kernel with assumed costs, too: no more steps may
                              still be more time on the chip */
    spad_watch watch;    /**< a cancelled call has no result */
    const spad_host *host;
} spad_advice_options;

#define SPAD_ADVICE_DEPTH INT64_C(8)
#define SPAD_ADVICE_TRIALS INT64_C(64)

/** The cost of a kernel. Bytes are of all memories on chip, over all lanes. */
typedef struct spad_advice_cost {
    int64_t placed;     /**< of its layout */
    int64_t declared;   /**< if no tensors shared bytes */
    int64_t makespan;   /**< in the unit of spad_advice_totals.simulated */
    int64_t operations; /**< that a run has */
} spad_advice_cost;

typedef struct spad_advice_change {
    spad_advice_kind kind;
    const char *name;       /**< of the tensor, or of the parameter that is the depth of rings */
    const char *other;      /**< load: the loop; alias: the ring; else "" */
    const char *operation;  /**< load: its name; else "" */
    bool param;             /**< deeper, shorter: `name` is a parameter */
    int64_t from;           /**< deeper, shorter: slots before, or the value of the parameter */
    int64_t to;             /**< and after */
    spad_location location; /**< of the load or the declaration in the kernel that was given */
    spad_advice_cost before;
    spad_advice_cost after;
} spad_advice_change;

typedef struct spad_advice_totals {
    spad_advice_cost before; /**< of the kernel that was given */
    spad_advice_cost after;  /**< with all changes */
    spad_sim_totals
        simulated;  /**< of the kernel that was given; its unit is that of all times here */
    int64_t trials; /**< changed kernels that were analysed */
    int64_t shapes; /**< other shapes, where conditions change their outcome, at which the kernel
                         with all changes was found right; 0: the verdict covers all trip counts,
                         there are no such shapes, or nothing is changed */
    bool cut;       /**< the search ended at a limit */
    bool proved; /**< the kernel that was given fits, runs and is proved; else there is no advice:
                      there is no proof that a change could keep */
} spad_advice_totals;

/**
 * Searches changes. A kernel that is wrong or not proved has none. SPAD_ERR_HOST_MEMORY;
 * SPAD_ERR_ARGUMENT: bad options; SPAD_ERR_CANCELLED. The kernel is borrowed until the result is
 * destroyed.
 */
SPAD_API spad_status spad_advice_create(spad_advice **out, const spad_kernel *kernel,
                                        const spad_advice_options *options, spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_advice_destroy(spad_advice *advice);

/** Figures of the search, before and after. */
SPAD_API spad_advice_totals spad_advice_get_totals(const spad_advice *advice);

/** Number of changes. */
SPAD_API size_t spad_advice_count(const spad_advice *advice);

/** A change by number, in the order in which they were made; NULL beyond the count. Borrowed. */
SPAD_API const spad_advice_change *spad_advice_get(const spad_advice *advice, size_t number);

/** The kernel with all changes; the one that was given if there are none. Its locations are those
 * of the kernel that was given. Borrowed. */
SPAD_API const spad_kernel *spad_advice_get_kernel(const spad_advice *advice);

/** Writes the changes and what they do as TEXT or JSON. */
SPAD_API spad_status spad_advice_write(const spad_advice *advice, spad_format format,
                                       const spad_sink *sink, spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
