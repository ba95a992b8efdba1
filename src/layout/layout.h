/* SPDX-License-Identifier: Apache-2.0
 *
 * Internals of a layout. The passes, in order:
 *   slot_live_ranges.c  the live range of each slot
 *   mbarrier_bytes.c    the live range of the bytes of each mbarrier
 *   replicas.c          live ranges of tensors with the same bytes in several instances
 *   sharing.c           which buffers may share bytes by an order of the tensors
 *   pinned.c            buffers whose address is given
 *   layout_solve.c      asks the planner, one space after another
 *   claims.c            which of the planner's verdicts hold for all layouts of the kernel
 *   live_peak.c         the statement with the most live bytes
 * layout.c calls them, kernel/placement.c answers queries about the result.
 */
#ifndef SPAD_LAYOUT_LAYOUT_H
#define SPAD_LAYOUT_LAYOUT_H

#include "base/interval.h"
#include "base/text.h"
#include "kernel/placement.h"
#include "layout/tensor_order.h"

/* Buffers of a space up to which the order of the caller is used: pairs of them are compared. */
enum { SPAD__ORDERED_MAX = 4096 };

/* True if the number of tiles depends on a parameter: a layout must hold for all of its values. */
bool spad__is_open_extent(const spad_kernel *kernel, spad_amount extent);

/* Numbers the slots and fills in `lives`. */
spad_status spad__layout_lives(spad_layout *layout, spad_error *error);

/* The load of each space of the target: bytes that the planner's tensors need at the statement
 * where they need most, averaged over the lanes. No layout is lower. O(slots log slots) for a
 * space. */
spad_status spad__layout_loads(int64_t *loads, const spad_kernel *kernel, const spad_host *host,
                               spad_error *error);

/* Gives tensors with the same bytes in several instances the union of their live ranges. */
spad_status spad__layout_join_replicas(spad_layout *layout, spad_error *error);
/* How many slots of two buffers, and of their replicas, may share bytes by the order of the
 * caller. */
spad__sharing spad__layout_sharing(const spad_layout *layout, const spad_layout_buffer *a,
                                   const spad_layout_buffer *b);

/* True if the order keeps two tensors apart, even where live ranges would let them share. */
bool spad__layout_keeps_apart(const spad_layout *layout, const spad_layout_buffer *a,
                              const spad_layout_buffer *b);
/* True if they may share bytes in this layout. */
bool spad__layout_may_share(const spad_layout *layout, const spad_layout_buffer *a,
                            const spad_layout_buffer *b);
/* The first instance of a space, which is solved before it; NULL: it is the first, or that has no
 * buffers. */
const spad__layout_space *spad__layout_first_instance(const spad_layout *layout, size_t space);
/* Withdraws claims that replicas do not support. Replicas are planned with the union of their live
 * ranges and at equal addresses: a layout that treats them one by one may be lower. */
void spad__layout_weaken_replicas(const spad_layout *layout, spad_layout_space *row);

/* The statements in which the bytes of an mbarrier are needed. */
spad__slot_life spad__barrier_life(const spad_layout *layout, size_t sync);
/* Withdraws claims where a layout that puts an mbarrier over a tile, outside of the live range of
 * the mbarrier, may be lower than ours. */
spad_status spad__layout_weaken_barriers(const spad_layout *layout, spad_layout_space *row,
                                         spad_error *error);

/* Fills `given` with the buffers of a space that have addresses. */
spad_status spad__layout_given(spad_layout *layout, size_t space, spad_error *error);

/* Places the planned buffers of a space that has some, around the others; fills in the row. */
spad_status spad__layout_solve(spad_layout *layout, spad__layout_space *space, spad_error *error);

/* A pinned buffer is in every layout: one outside the space proves that none fits, whatever the
 * planner says. */
void spad__layout_claim_given(const spad_layout *layout, spad_layout_space *row);
/* Bytes that every layout needs: the largest single slot, and the end of the pinned buffers. */
int64_t spad__layout_certain_bytes(const spad_layout *layout, const spad_layout_space *row);
/* Lowers the bound, and withdraws verdicts that rest on a higher one. */
void spad__layout_lower_bound(const spad_layout *layout, spad_layout_space *row, int64_t bound);
/* Withdraws claims where agents are involved: live ranges of the text treat all agents as
 * concurrent, but their accesses may be ordered, and then a lower layout may let them share bytes.
 * An order of the tensors settles it where it is used. `loose`: it was used for single slots only.
 */
void spad__layout_weaken_agents(const spad_layout *layout, spad_layout_space *row, bool loose);

/* The live peak of a space: the most bytes of one lane that are needed at one statement, and the
 * first such statement. Unchanged where a buffer has no place, or nothing is needed. */
spad_status spad__layout_find_peak(const spad_layout *layout, const spad_layout_space *row,
                                   int64_t *bytes, int64_t *statement, spad_error *error);

/* The line in which the tensor or barrier of a buffer is declared (0: none), and the agent that
 * declares it; NULL: the main program. */
int32_t spad__buffer_origin(const spad_kernel *kernel, const spad_layout_buffer *buffer,
                            const char **agent);

/* A statement by which all that is needed at the peak of a solved space has begun. Without times
 * the peak is a set of buffers: the last of their first statements. */
int64_t spad__layout_peak_statement(const spad_layout *layout, const spad__layout_space *space);

/* Lists the buffers that are live at the peak, largest first, and the largest hole between them. */
spad_status spad__layout_describe_peak(const spad_layout *layout, spad__layout_space *space,
                                       spad_error *error);

/* "peak of SPACE: ..." without the end of the line. */
void spad__layout_write_peak(spad__out *out, const spad_layout *layout,
                             const spad_layout_space *row);
/* A layout as one value of a larger document. */
void spad__json_layout(spad__json *json, const spad_layout *layout);

#endif
