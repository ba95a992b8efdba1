/* SPDX-License-Identifier: Apache-2.0
 *
 * layout: the places of all tensors of a kernel. The planner places `auto` and
 * `ring` tensors, space by space, around the tensors that have an address.
 *
 * The lifetimes of slots come from the text of the kernel, so the cost does not
 * depend on trip counts: a time is the number of a statement, and a slot that a
 * loop touches is needed in the whole loop, unless its tensor is declared in it.
 * docs/layout-how.md shows why two tiles never have the same bytes while both are
 * needed.
 *
 * A layout is immutable; const functions may run concurrently.
 */
#ifndef SPAD_LAYOUT_H
#define SPAD_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spad/kernel.h"
#include "spad/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of experimental headers. */
typedef struct spad_tensor_order spad_tensor_order;

typedef struct spad_layout spad_layout;

/** A slot of a planned tensor is in use from `begin` to `end`, on some clock, such as a
 * simulation's (spad/frontier.h). */
typedef struct spad_layout_use {
    int64_t tensor;
    int64_t slot;
    int64_t begin; /**< 0 or later */
    int64_t end;
} spad_layout_use;

/** How far the planner has come with one memory. */
typedef struct spad_layout_progress {
    size_t space;     /**< of the target */
    const char *name; /**< of the space; borrowed from the target */
    spad_plan_progress plan;
} spad_layout_progress;

/** Zeroed is the default: one thread, seed 0, SPAD_LAYOUT_TIMEOUT. */
typedef struct spad_layout_options {
    size_t struct_size; /**< see SPAD_OPTIONS_INIT */
    int64_t timeout_ns; /**< for all spaces together; 0: SPAD_LAYOUT_TIMEOUT. Results are
                             deterministic unless it is reached; small kernels end long before */
    spad_watch watch;   /**< a cancelled call has no result */
    uint64_t seed;
    int32_t threads;
    /** Tensors that may share bytes, whatever the text says of their lives. NULL: the text alone,
     * and tiles that agents touch are all needed from fork to join. Of this kernel, or
     * SPAD_ERR_ARGUMENT. Used during the call only. A check of the layout decides whether the order
     * holds: spad_analysis makes it, and takes the layout only if so. */
    const spad_tensor_order *order;
    /** Slots share bytes only if one is over before the other both in the text and on this clock.
     * A slot that is not listed is always in use on the clock. Of several rows of a slot all count.
     * Used during the call only, and not with an order or with more buffers in a space than
     * SPAD_PLAN_CLOCK_BUFFERS. Numbers that the kernel does not have: SPAD_ERR_ARGUMENT. */
    const spad_layout_use *uses;
    size_t use_count;
    int64_t node_limit; /**< search steps for each question to the planner; 0: none */
    /** Called regularly from the calling thread while the planner searches. A value other than 0
     * ends the search as if time were up: the layout has the best places so far. */
    int (*progress)(void *context, const spad_layout_progress *progress);
    void *context;
    const spad_host *host;
} spad_layout_options;

#define SPAD_LAYOUT_TIMEOUT INT64_C(2000000000)

/** Most slots of a kernel that the planner places. */
#define SPAD_LAYOUT_SLOTS INT64_C(1000000)

/**
 * Slots of one tensor (or the elements of one mbarrier) at equal distances: the first
 * at rect, each next one `stride` bytes later. The slots of a ring are one buffer if
 * possible. Where banks or lanes separate them, or nothing else fits, each slot is a
 * buffer of its own.
 */
typedef struct spad_layout_buffer {
    const char *name; /**< of the tensor or mbarrier; borrowed from the kernel */
    int64_t tensor;   /**< number of the tensor; -1: none */
    int64_t sync;     /**< number of the mbarrier; -1: none */
    spad_mode mode;   /**< an mbarrier is AUTO, or AT */
    int64_t slot;     /**< number of the first slot; for `mod`, of the first place */
    int64_t slots;
    spad_rect rect; /**< of the first slot; byte is SPAD_NO_BYTE when it has no place */
    int64_t stride;
    int64_t taken;     /**< bytes per lane of all slots, including padding */
    int64_t padding;   /**< bytes of `taken` that are lost to rounding */
    int64_t alignment; /**< of each slot */
    int64_t begin;     /**< needed in the statements [begin, end) */
    int64_t end;
} spad_layout_buffer;

/** One space that the kernel uses. */
typedef struct spad_layout_space {
    size_t space; /**< its number in the target */
    /** Optimal: it fits, and no layout with these lifetimes [begin, end) of buffers is lower, if
     *  no mbarrier shares bytes with a tensor. Feasible: it fits. Infeasible: proved that no layout
     * fits. Unknown: no layout that fits was found. */
    spad_plan_verdict verdict;
    int64_t height;         /**< bytes per lane up to the top of the layout, even if it does not
                                 fit; SPAD_UNBOUNDED: no layout was found */
    int64_t bound;          /**< no layout with these lifetimes is lower */
    int64_t capacity;       /**< bytes per lane that tensors may use */
    int64_t reserved;       /**< bytes per lane that tensors may not use */
    int64_t peak_statement; /**< first statement at which the most bytes of a lane are needed */
    int64_t peak_bytes;     /**< the live peak: bytes needed there in the fullest lane; bytes that
                                 buffers share count once */
    int64_t peak_padding;   /**< bytes of `peak_bytes` that are lost to rounding */
    int64_t hole;           /**< largest run of bytes that is free in all lanes at the peak */
    int64_t hole_at;
    size_t first_buffer; /**< its buffers are [first_buffer, first_buffer + buffer_count) */
    size_t buffer_count;
    size_t planned_count;  /**< the first buffers are the planned ones, numbered as in `plan` */
    size_t alive_count;    /**< number of buffers needed at the peak */
    const size_t *alive;   /**< their numbers, largest buffer first */
    const spad_plan *plan; /**< planned buffers, then obstacles, for spad_plan_explain */
    const spad_plan_result *result;
    /** Tiles that agents touch are placed as if all were needed from fork to join. The order of the
     *  agents may allow some of them to share bytes, so a lower layout may exist. `verdict` and
     *  `bound` account for this; `result` and `peak_bytes` do not. */
    bool agents_apart;
    /** Agents touch tiles here, and the order of the tensors is known: a value is needed from its
     *  write to its last use, tiles whose values are ordered may share bytes, and `verdict` and
     *  `bound` are about such layouts. */
    bool agents_ordered;
    /** As `agents_ordered`, but the kernel has errors, and the layout no proof: a check finds the
     *  same errors with all tiles apart, and no others because bytes are shared. */
    bool agents_in_doubt;
    /** Slots share bytes only if they are apart on the clock of `uses`, too: `verdict` and `bound`
     *  are about such layouts. */
    bool timed;
} spad_layout_space;

/**
 * Places all tensors. A kernel that does not fit is a result and not a failure. Statuses:
 * SPAD_ERR_HOST_MEMORY; SPAD_ERR_ARGUMENT: more slots than SPAD_LAYOUT_SLOTS, or bad options;
 * SPAD_ERR_NO_FIT: a tile is larger than a bank, or a scoped manager is full; SPAD_ERR_LANES:
 * no legal start lane for a tile; SPAD_ERR_OVERFLOW; SPAD_ERR_CANCELLED; for a kernel with
 * scopes, the statuses of spad_walk_next. The kernel is borrowed until the layout is destroyed.
 */
SPAD_API spad_status spad_layout_create(spad_layout **out, const spad_kernel *kernel,
                                        const spad_layout_options *options, spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_layout_destroy(spad_layout *layout);

/** The place of a slot of a tensor. False: the kernel specifies the address, no operation touches
 *  the slot, or its space does not fit; *out is then unchanged. */
SPAD_API bool spad_layout_get_place(spad_rect *out, const spad_layout *layout, int64_t tensor,
                                    int64_t slot);

/** The place of a slot of an alias, inside the tensor that has the storage. False: it is not an
 *  alias, has no such slot, or that tensor has no place in the layout; *out is then unchanged. */
SPAD_API bool spad_layout_get_alias_place(spad_rect *out, const spad_layout *layout, int64_t tensor,
                                          int64_t slot);

/** Does every space fit? */
SPAD_API bool spad_layout_fits(const spad_layout *layout);

/** The kernel of the layout. Borrowed. */
SPAD_API const spad_kernel *spad_layout_get_kernel(const spad_layout *layout);

/** Number of spaces that the kernel uses. */
SPAD_API size_t spad_layout_space_count(const spad_layout *layout);

/** A space by number; NULL beyond the count. Borrowed. */
SPAD_API const spad_layout_space *spad_layout_get_space(const spad_layout *layout, size_t number);

/** Number of buffers of all spaces. */
SPAD_API size_t spad_layout_buffer_count(const spad_layout *layout);

/** A buffer by number; NULL beyond the count. Borrowed. */
SPAD_API const spad_layout_buffer *spad_layout_get_buffer(const spad_layout *layout, size_t number);

/* ---- output ------------------------------------------------------------------------ */

/** "fits; provably the smallest layout" and so on. Static storage. */
SPAD_API const char *spad_layout_verdict_phrase(spad_plan_verdict verdict);

/** Writes the layout as TEXT, a line per space and then the buffers needed at its peak; as a TABLE
 * per space: a line per tensor with copies, bytes, padding and place; as JSON; or as CSV, a row per
 * place: space, tensor, slot, lane, lanes, byte, bytes, begin, end, and the agent (empty: main) and
 * line that declare the tensor. */
SPAD_API spad_status spad_layout_write(const spad_layout *layout, spad_format format,
                                       const spad_sink *sink, spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
