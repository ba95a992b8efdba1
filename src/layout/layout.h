/* SPDX-License-Identifier: Apache-2.0
 *
 * A layout from the inside. slot_live_ranges.c finds how long each slot is needed,
 * mbarrier_bytes.c the same for mbarriers, replicas.c for tensors in several instances,
 * sharing.c which may share bytes by an order, pinned.c what has an address already,
 * layout_solve.c asks the planner for one space, claims.c says what that proves,
 * live_peak.c finds the peak, layout.c joins them, placement.c answers.
 */
#ifndef SPAD_LAYOUT_LAYOUT_H
#define SPAD_LAYOUT_LAYOUT_H

#include "base/interval.h"
#include "base/text.h"
#include "kernel/placement.h"
#include "layout/tensor_order.h"

/* Buffers of a space, beyond which an order of the caller is left out. */
enum { SPAD__ORDERED_MAX = 4096 };

/* Does the number of tiles depend on a parameter? A layout is for all of its values. */
bool spad__is_open_extent(const spad_kernel *kernel, spad_amount extent);

/* Numbers the slots and fills in `lives`. */
spad_status spad__layout_lives(spad_layout *layout, spad_error *error);

/* The load of each space of the target: bytes that the planner's tensors need at the statement
 * where they need most, averaged over the lanes. No layout is lower. O(slots log slots) for a
 * space. */
spad_status spad__layout_loads(int64_t *loads, const spad_kernel *kernel, const spad_host *host,
                               spad_error *error);

/* What tensors that have the same bytes in several instances need together. */
spad_status spad__layout_join_replicas(spad_layout *layout, spad_error *error);
/* How many slots of two buffers, and of their replicas, may share bytes by the order of the
 * caller. */
spad__sharing spad__layout_sharing(const spad_layout *layout, const spad_layout_buffer *a,
                                   const spad_layout_buffer *b);

/* Does the order keep two tensors apart, whatever the text says? */
bool spad__layout_keeps_apart(const spad_layout *layout, const spad_layout_buffer *a,
                              const spad_layout_buffer *b);
/* May they share bytes in this layout? */
bool spad__layout_may_share(const spad_layout *layout, const spad_layout_buffer *a,
                            const spad_layout_buffer *b);
/* The first instance of a space, which is solved before it; NULL: it is the first, or that has no
 * buffers. */
const spad__layout_space *spad__layout_first_instance(const spad_layout *layout, size_t space);
/* Tensors like others are kept apart where any of them needs its bytes at the same time: where
 * their times differ, another layout may be lower. And the bytes that a tensor has because another
 * one has them may be others in another layout. */
void spad__layout_weaken_likes(const spad_layout *layout, spad_layout_space *row);

/* The statements in which the bytes of an mbarrier are needed. */
spad__slot_life spad__barrier_life(const spad_layout *layout, size_t sync);
/* A layout that puts an mbarrier over a tile outside of its life may be lower than ours. */
spad_status spad__layout_weaken_barriers(const spad_layout *layout, spad_layout_space *row,
                                         spad_error *error);

/* Fills `given` with the buffers of a space that have addresses. */
spad_status spad__layout_given(spad_layout *layout, size_t space, spad_error *error);

/* Places the planned buffers of a space that has some, around the others; fills in the row. */
spad_status spad__layout_solve(spad_layout *layout, spad__layout_space *space, spad_error *error);

/* What the kernel has placed is in every layout, and outside the space it does not fit, whatever
 * the planner says. */
void spad__layout_claim_given(const spad_layout *layout, spad_layout_space *row);
/* Bytes that every layout has: those of each slot alone, and what the kernel has placed itself. */
int64_t spad__layout_certain_bytes(const spad_layout *layout, const spad_layout_space *row);
/* Claims no more than a bound says: takes back verdicts that rest on a higher one. */
void spad__layout_lower_bound(const spad_layout *layout, spad_layout_space *row, int64_t bound);
/* A buffer of an agent and another one may be ordered, and then a layout may let them share bytes.
 * An order of the tensors settles it, where it is not left out. `loose`: it was for slots. */
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

/* Fills in who is needed at the peak, largest first, and the largest room that is left then. */
spad_status spad__layout_describe_peak(const spad_layout *layout, spad__layout_space *space,
                                       spad_error *error);

/* "peak of SPACE: ..." without the end of the line. */
void spad__layout_write_peak(spad__out *out, const spad_layout *layout,
                             const spad_layout_space *row);
/* A layout as one value of a larger document. */
void spad__json_layout(spad__json *json, const spad_layout *layout);

#endif
