/* SPDX-License-Identifier: Apache-2.0
 *
 * A problem with changes, solved again: what changes are, and whether there is a plan with them.
 */
#include <string.h>

#include "plan/explain/why.h"

int spad__attempt_ask(void *context, const spad_plan_progress *progress) {
    (void)progress;
    return spad__limit_cancelled(context);
}

spad_status spad__attempt_goes_on(const spad__explorer *x, spad_error *error) {
    if (x->limit.status != SPAD_ERR_CANCELLED) return SPAD_OK;
    return spad__fail(error, SPAD_ERR_CANCELLED, "the call was cancelled");
}

bool spad__is_live(const spad_plan_buffer *b, int64_t time) {
    if (b->size == 0 || time < b->lower || time >= b->upper) return false;
    for (size_t k = 0; k < b->gap_count; k++)
        if (b->gaps[k].lower <= time && time < b->gaps[k].upper)
            return b->gaps[k].window_lower < b->gaps[k].window_upper;
    return true;
}

void spad__plan_apply_change(spad_plan_buffer *buffer, const spad_plan_change *change) {
    switch (change->kind) {
    case SPAD_PLAN_SHORTEN:
        *(change->late ? &buffer->lower : &buffer->upper) = change->amount;
        break;
    case SPAD_PLAN_SPILL:
        buffer->size = 0;
        buffer->bank = 0;
        buffer->gap_count = 0;
        break;
    case SPAD_PLAN_ALIGN: buffer->alignment = change->amount; break;
    }
}

/* Time for one attempt; 0: no deadline, below 0: none is left. */
static int64_t time_left_for(const spad__explorer *x) {
    const int64_t left = spad__limit_left(&x->limit);
    if (left == 0) return 0;
    return left > x->reserve ? left - x->reserve : -1;
}

spad_status spad__attempt(spad__explorer *x, spad_plan_result **found, spad_error *error) {
    *found = NULL;
    if (spad__limit_reached(&x->limit)) return spad__attempt_goes_on(x, error);
    const int64_t left = time_left_for(x);
    if (left < 0) return SPAD_OK;
    const bool watched = x->limit.watch.cancel != NULL;
    const spad_plan_options options = {.goal = SPAD_PLAN_DECIDE,
                                       .timeout_ns = left,
                                       .node_limit = SPAD__ATTEMPT_NODES,
                                       .progress = watched ? spad__attempt_ask : NULL,
                                       .context = &x->limit};
    spad_plan_result *result;
    const spad_status status = spad_plan_solve(&result, &x->changed, &options, NULL);
    /* a change that breaks a rule does not help; only a lack of memory is an error */
    if (status != SPAD_OK) return spad__attempted(status, error);
    if (result->verdict == SPAD_PLAN_OPTIMAL || result->verdict == SPAD_PLAN_FEASIBLE)
        *found = result;
    else
        spad_plan_result_destroy(result);
    const spad_status goes_on = spad__attempt_goes_on(x, error);
    if (goes_on == SPAD_OK) return SPAD_OK;
    spad_plan_result_destroy(*found);
    *found = NULL;
    return goes_on;
}

spad_status spad__keep_places(spad__explorer *x, const spad_plan_result *result,
                              spad_plan_place **out, spad_error *error) {
    const size_t n = result->count;
    *out = NULL;
    if (n == 0 || x->places_kept + n > SPAD_PLAN_PLACES_KEPT) return SPAD_OK;
    *out = spad__arena_array(&x->out->arena, n, sizeof **out);
    if (*out == NULL) return spad__fail_host_memory(error);
    memcpy(*out, result->places, n * sizeof **out);
    x->places_kept += n;
    return SPAD_OK;
}
