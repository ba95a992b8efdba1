/* SPDX-License-Identifier: Apache-2.0
 *
 * layout: the places of all tensors of a kernel. What the kernel leaves to the
 * planner (`auto`, `ring`) is placed, space by space, around what has an address.
 *
 * How long a slot is needed is read from the text of the kernel, so the cost does
 * not depend on trip counts: a time is the number of a statement, and a slot that a
 * loop touches is needed in all of the loop, unless its tensor is declared in it.
 * docs/layout.md says why that never gives two tiles the same bytes while both are
 * needed.
 *
 * A layout never changes after it was made; const functions may run concurrently.
 */
#ifndef SPAD_LAYOUT_H
#define SPAD_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spad/kernel.h"
#include "spad/plan.h"
#include "spad/tensor_order.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spad_layout spad_layout;

/** Zeroed is the default: one thread, seed 0, SPAD_LAYOUT_TIMEOUT. */
typedef struct spad_layout_options {
    int64_t timeout_ns; /**< for all spaces; 0: SPAD_LAYOUT_TIMEOUT. A cut: small kernels end long
                             before it, and then the same kernel gives the same places */
    spad_watch watch;   /**< a cancelled call has no result */
    uint64_t seed;
    int32_t threads;
    /** Tensors of which one is before the other may share bytes, whatever the text says of their
     *  lives. NULL: the text alone, and tiles that agents touch are all needed from fork to join.
     *  Of this kernel, or SPAD_ERR_ARGUMENT. Used during the call only. A check of the layout
     *  decides whether the order holds: spad_analysis makes it, and takes the layout only if so. */
    const spad_tensor_order *order;
    const spad_host *host;
} spad_layout_options;

#define SPAD_LAYOUT_TIMEOUT INT64_C(2000000000)

/** Slots that a kernel may leave to the planner. */
#define SPAD_LAYOUT_SLOTS INT64_C(1000000)

/**
 * Slots of one tensor (or the elements of one mbarrier) that are together: the first
 * at rect, each next one `stride` bytes after. Slots of a ring have one buffer if
 * they can; where banks or lanes keep them apart, or nothing else fits, each has its own.
 */
typedef struct spad_layout_buffer {
    const char *name; /**< of the tensor or mbarrier; borrowed from the kernel */
    int64_t tensor;   /**< number; -1: none */
    int64_t sync;     /**< number of the mbarrier; -1: none */
    spad_mode mode;   /**< an mbarrier is SPAD_MODE_AUTO */
    int64_t slot;     /**< number of the first slot; for `mod`, of the place */
    int64_t slots;
    spad_rect rect; /**< of one slot; byte is SPAD_NO_BYTE when it has no place */
    int64_t stride;
    int64_t taken;     /**< bytes per lane of all slots, with what is lost to rounding */
    int64_t padding;   /**< the part of it that is lost */
    int64_t alignment; /**< of each slot */
    int64_t begin;     /**< needed in the statements [begin, end) */
    int64_t end;
} spad_layout_buffer;

/** One space in which the kernel has something. */
typedef struct spad_layout_space {
    size_t space; /**< its number in the target */
    /** Optimal: it fits, and no layout is lower in which buffers are needed as long as theirs say.
     *  Feasible: it fits. Infeasible: proved that it does not. Unknown: nothing that fits was
     *  found. */
    spad_plan_verdict verdict;
    int64_t height;         /**< bytes per lane up to the top of the layout, also of one that does
                                 not fit; SPAD_UNBOUNDED: none was found */
    int64_t bound;          /**< no layout is lower in which buffers are needed that long */
    int64_t capacity;       /**< bytes per lane that tensors may use */
    int64_t reserved;       /**< bytes per lane that belong to someone else */
    int64_t peak_statement; /**< statement at which most is needed */
    int64_t peak_bytes;     /**< bytes needed there in the fullest lane */
    int64_t peak_padding;   /**< the part of it that is lost to rounding */
    int64_t hole;           /**< largest run of bytes that is free in all lanes there */
    int64_t hole_at;
    size_t first_buffer; /**< its buffers are [first_buffer, first_buffer + buffer_count) */
    size_t buffer_count;
    size_t planned_count; /**< the first ones are those of the planner, numbered as in `plan` */
    size_t alive_count;   /**< buffers needed at the peak, largest first; numbers as above */
    const size_t *alive;
    const spad_plan *plan; /**< planned buffers, then obstacles; for spad_plan_explain */
    const spad_plan_result *result;
    /** Tiles that agents touch are placed as if all were needed from fork to join. Some may be
     *  ordered so that they could share bytes: a lower layout may exist, and neither `result`
     *  nor `peak_bytes` says that it does not; `verdict` and `bound` respect that. */
    bool agents_apart;
    /** Agents touch tiles here, and the order of the tensors is known: a tile is needed from its
     *  first to its last use, tiles of which one is before the other may share bytes, and `verdict`
     *  and `bound` are about such layouts. With values that come and go in turns, a tile for each
     *  might do with less. */
    bool agents_ordered;
} spad_layout_space;

/**
 * Places everything. That it does not fit is a result and not a failure. Statuses:
 * SPAD_ERR_HOST_MEMORY; SPAD_ERR_ARGUMENT: more slots than SPAD_LAYOUT_SLOTS, bad options;
 * SPAD_ERR_NO_FIT: a tile is larger than a bank, or a scoped manager is full; SPAD_ERR_LANES:
 * a tile that may start nowhere; SPAD_ERR_OVERFLOW; SPAD_ERR_CANCELLED; and what a walk of a kernel
 * with scopes gives. The kernel is borrowed until the layout is destroyed.
 */
SPAD_API spad_status spad_layout_create(spad_layout **out, const spad_kernel *kernel,
                                        const spad_layout_options *options, spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_layout_destroy(spad_layout *layout);

/** The place of a slot of a tensor. False: the kernel gives the address, nothing touches the slot,
 *  or its space does not fit; *out is then left alone. */
SPAD_API bool spad_layout_get_place(spad_rect *out, const spad_layout *layout, int64_t tensor,
                                    int64_t slot);

/** Does every space fit? */
SPAD_API bool spad_layout_fits(const spad_layout *layout);

/** The kernel it is of. Borrowed. */
SPAD_API const spad_kernel *spad_layout_get_kernel(const spad_layout *layout);

/** Number of spaces in which the kernel has something. */
SPAD_API size_t spad_layout_space_count(const spad_layout *layout);

/** A space by number; NULL beyond the count. Borrowed. */
SPAD_API const spad_layout_space *spad_layout_get_space(const spad_layout *layout, size_t number);

/** Number of buffers of all spaces. */
SPAD_API size_t spad_layout_buffer_count(const spad_layout *layout);

/** A buffer by number; NULL beyond the count. Borrowed. */
SPAD_API const spad_layout_buffer *spad_layout_get_buffer(const spad_layout *layout, size_t number);

/* ---- showing it -------------------------------------------------------------------- */

/** "fits, no layout is lower" and so on. Static storage. */
SPAD_API const char *spad_layout_verdict_phrase(spad_plan_verdict verdict);

/** Writes a line per space, then what is needed at its peak. */
SPAD_API spad_status spad_layout_write_text(const spad_layout *layout, const spad_sink *sink,
                                            spad_error *error);

/** Writes a table per space: a line per tensor with copies, bytes, padding and place. */
SPAD_API spad_status spad_layout_write_table(const spad_layout *layout, const spad_sink *sink,
                                             spad_error *error);

/** Writes everything as JSON. */
SPAD_API spad_status spad_layout_write_json(const spad_layout *layout, const spad_sink *sink,
                                            spad_error *error);

/** Writes a row per place: space, tensor, slot, lane, lanes, byte, bytes, begin, end. */
SPAD_API spad_status spad_layout_write_csv(const spad_layout *layout, const spad_sink *sink,
                                           spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
