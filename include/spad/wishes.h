/* SPDX-License-Identifier: Apache-2.0
 *
 * wishes: what a plan should do if it costs no height. Buffers stay where an earlier plan had them,
 * and bytes are not used again soon (docs/planner.md, "Wishes").
 */
#ifndef SPAD_WISHES_H
#define SPAD_WISHES_H

#include "spad/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/** It costs `cost` if the two share a byte. Of buffers that are alive together, or at one offset by
 *  aliases and slices, the wish has no effect. SPAD_ERR_ARGUMENT: no such buffer, one buffer twice,
 *  or a negative cost. */
SPAD_API spad_status spad_plan_avoid(spad_plan *plan, size_t a, size_t b, int64_t cost,
                                     spad_error *error);

/** How many of these wishes there are. */
SPAD_API size_t spad_plan_avoid_count(const spad_plan *plan);

/** Wishes for all buffers; those of spad_plan_avoid count as well. Zeroed: no others. */
typedef struct spad_plan_wishes {
    int64_t slack; /**< bytes by which the height may be above that of the plan without wishes */
    const spad_plan_place *previous; /**< per buffer of the plan: where it was; offset -1: nowhere;
                                          NULL: there was no plan. Not for pins */
    int64_t move_cost;               /**< of a buffer that is not there */
    int64_t move_byte_cost;          /**< and of each of its bytes */
    int64_t reuse_steps; /**< bytes of a buffer are not wanted by one that begins less than this */
    int64_t reuse_cost;  /**< after it ended: what each such pair costs that shares a byte. Outputs
                              that may be in the place of their inputs are left out */
} spad_plan_wishes;

/** What came out. Owned by the caller. */
typedef struct spad_wishes_result {
    spad_plan_result *plan; /**< the plan; its verdict is about the height */
    int64_t cost;           /**< of the wishes that are not fulfilled; SPAD_UNBOUNDED: no plan */
    int64_t bound;          /**< no plan within `limit` costs less */
    int64_t limit;          /**< the height that was allowed */
    size_t wish_count;
    size_t denied_count;
    size_t moved_count; /**< buffers that are not where they were */
    int64_t moved_bytes;
    size_t shared_count; /**< pairs that share bytes and should not */
    int64_t nanoseconds;
    void *owned;
} spad_wishes_result;

/** Solves as spad_plan_solve does, then looks for the plan of least cost that is no higher: at most
 *  the height that was found and the slack, within the capacity; with SPAD_PLAN_DECIDE within the
 *  capacity. Exact with a proof (cost equals bound) for small problems; large ones are improved
 *  place by place. Half of the time is for each. SPAD_ERR_ARGUMENT: a negative cost, slack or
 *  number of steps, steps with vector clocks, or more than 2^22 pairs; SPAD_ERR_OVERFLOW: all costs
 *  together do not fit 64 bits. */
SPAD_API spad_status spad_plan_solve_wishes(spad_wishes_result **out, const spad_plan *plan,
                                            const spad_plan_wishes *wishes,
                                            const spad_plan_options *options, spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_wishes_result_destroy(spad_wishes_result *result);

/** Places of the buffers that the rows of a CSV text name, from its columns id and offset (and
 *  lane): `places` has one for each buffer of the plan, offset -1 for one that is not in the text.
 *  SPAD_ERR_SYNTAX: not such a text. */
SPAD_API spad_status spad_plan_read_places(spad_plan_place *places, size_t count,
                                           const spad_plan *plan, const char *text, size_t length,
                                           const char *file, spad_error *error);

/** Writes a few lines: cost, bound, what moved, what shares bytes. */
SPAD_API spad_status spad_wishes_write_text(const spad_wishes_result *result, const spad_sink *sink,
                                            spad_error *error);

/** Writes the same as JSON. */
SPAD_API spad_status spad_wishes_write_json(const spad_wishes_result *result, const spad_sink *sink,
                                            spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
