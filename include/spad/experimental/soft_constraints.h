/* SPDX-License-Identifier: Apache-2.0
 *
 * Soft constraints: preferences that a plan fulfils where they cost no height. Buffers stay where
 * an earlier plan had them, pairs share no bytes, and bytes are not reused soon (docs/planner.md,
 * "Soft constraints").
 */
#ifndef SPAD_SOFT_CONSTRAINTS_H
#define SPAD_SOFT_CONSTRAINTS_H

#ifndef SPAD_EXPERIMENTAL
#error "spad/experimental/soft_constraints.h may change in any version: define SPAD_EXPERIMENTAL"
#endif

#include "spad/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Costs `cost` if the two buffers share a byte. No effect on buffers that are live at the same
 * time, or at one offset through aliases and slices. SPAD_ERR_ARGUMENT: no such buffer, the same
 * buffer twice, or a negative cost. */
SPAD_API spad_status spad_plan_avoid(spad_plan *plan, size_t a, size_t b, int64_t cost,
                                     spad_error *error);

/** The number of pairs added by spad_plan_avoid. */
SPAD_API size_t spad_plan_avoid_count(const spad_plan *plan);

/** Soft constraints on all buffers, in addition to the pairs of spad_plan_avoid. Zeroed: none. */
typedef struct spad_soft_constraints {
    int64_t slack; /**< bytes that the plan may be higher than without soft constraints */
    const spad_plan_place *previous; /**< per buffer of the plan: where it was; offset -1: nowhere;
                                          NULL: there was no plan. Not for pins */
    int64_t move_cost;               /**< of a buffer that is not there */
    int64_t move_byte_cost;          /**< and of each of its bytes */
    int64_t reuse_steps; /**< bytes of a buffer are not wanted by one that begins less than this */
    int64_t reuse_cost;  /**< after it ended: what each such pair costs that shares a byte. Outputs
                              that may be in place of their inputs are left out */
} spad_soft_constraints;

/** A plan and its violated constraints. Owned by the caller. */
typedef struct spad_soft_result {
    spad_plan_result *plan; /**< the plan; its verdict is about the height */
    int64_t cost;           /**< of the violated constraints; SPAD_UNBOUNDED: no plan */
    int64_t bound;          /**< no plan within `limit` costs less */
    int64_t limit;          /**< the height that was allowed */
    size_t constraint_count;
    size_t violated_count;
    size_t moved_count; /**< buffers that are not where they were */
    int64_t moved_bytes;
    size_t shared_count; /**< pairs that share bytes and should not */
    int64_t nanoseconds;
    void *owned;
} spad_soft_result;

/** Solves as spad_plan_solve does, then looks for the plan of least cost that is no higher: at most
 *  the height that was found and the slack, within the capacity; with SPAD_PLAN_DECIDE within the
 *  capacity. Exact with a proof (cost equals bound) for small problems; large ones are improved
 *  place by place. Half of the time is for each. SPAD_ERR_ARGUMENT: a negative cost, slack or
 *  number of steps, steps with vector clocks, or more than 2^22 pairs; SPAD_ERR_OVERFLOW: all costs
 *  together do not fit 64 bits. */
SPAD_API spad_status spad_plan_solve_soft(spad_soft_result **out, const spad_plan *plan,
                                          const spad_soft_constraints *constraints,
                                          const spad_plan_options *options, spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_soft_result_destroy(spad_soft_result *result);

/** Places of the buffers that the rows of a CSV text name, from its columns id and offset (and
 *  lane): `places` has one for each buffer of the plan, offset -1 for one that is not in the text.
 *  SPAD_ERR_SYNTAX: not such a text. */
SPAD_API spad_status spad_plan_read_places(spad_plan_place *places, size_t count,
                                           const spad_plan *plan, const char *text, size_t length,
                                           const char *file, spad_error *error);

/** Writes cost, bound and what moved as TEXT, a few lines, or as JSON. */
SPAD_API spad_status spad_soft_write(const spad_soft_result *result, spad_format format,
                                     const spad_sink *sink, spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
