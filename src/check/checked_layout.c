/* SPDX-License-Identifier: Apache-2.0
 *
 * A layout in which tensors that synchronisation orders share bytes, and the check that proves it.
 *
 * The text alone keeps all tiles of agents apart. Where that may cost bytes, the order of the
 * tensors (tensor_order.c) proposes another layout, and a check of that layout judges: it looks at
 * bytes, so tensors that share bytes and are not ordered are a race, at this shape or at another
 * trip count. The proposal is taken if its check is a proof, and proves as much as a check of the
 * layout from the text would: an unknown verdict is no reason to share bytes. A layout in which
 * nothing is shared needs no check.
 *
 * A kernel that has errors with all tiles apart can have no proof. Then the proposal is taken if
 * its check finds these errors and no others: none of them is about the bytes that are shared. The
 * layout says that it is in doubt.
 */
#include <string.h>

#include "check/check.h"
#include "kernel/layout.h"
#include "kernel/tensor_order.h"

typedef struct proposal {
    const spad_kernel *kernel;
    spad_layout_options layout_options;
    spad_check_options check_options;
    spad__limit limit;
    spad_layout *plain;  /* from the text alone */
    spad_layout *shared; /* from the order; NULL: none */
    spad_check *check;   /* of `shared`, or NULL */
    spad_check *plain_check;
    bool in_doubt; /* the kernel has errors, shared or not */
} proposal;

/* Might agents' tiles be ordered, so that a lower layout exists? */
static bool has_agents_apart(const spad_layout *layout) {
    for (size_t i = 0; i < layout->space_count; i++)
        if (layout->spaces[i].row.agents_apart) return true;
    return false;
}

/* Do buffers share bytes because of the order? */
static bool uses_order(const spad_layout *layout) {
    for (size_t i = 0; i < layout->space_count; i++)
        if (layout->spaces[i].ordered) return true;
    return false;
}

/* The layout from the order. Only a lack of memory or the caller's wish is a failure. */
static spad_status propose(proposal *p, spad_error *error) {
    const spad_tensor_order_options options = {.timeout_ns = spad__limit_left(&p->limit),
                                               .watch = p->layout_options.watch,
                                               .host = p->layout_options.host};
    spad_tensor_order *order;
    spad_status status = spad_tensor_order_create(&order, p->kernel, &options, error);
    if (status != SPAD_OK) return status;
    p->layout_options.order = order;
    if (order->known) {
        spad_error failure;
        status = spad_layout_create(&p->shared, p->kernel, &p->layout_options, &failure);
        if (status != SPAD_OK && status != SPAD_ERR_HOST_MEMORY && status != SPAD_ERR_CANCELLED) {
            status = SPAD_OK; /* it had a layout without the order */
        } else if (status != SPAD_OK && error != NULL) {
            *error = failure;
        }
    }
    spad_tensor_order_destroy(order);
    return status;
}

static spad_status check_with(proposal *p, spad_check **out, const spad_layout *layout,
                              spad_error *error) {
    p->check_options.layout = layout;
    return spad_check_create(out, p->kernel, &p->check_options, error);
}

/* Proved for all trip counts > proved for the shape > unknown. */
static int strength_of(const spad_check *check) {
    static const int strengths[] = {[SPAD_VERDICT_PROVED_ALL] = 3,
                                    [SPAD_VERDICT_PROVED_SHAPE] = 2,
                                    [SPAD_VERDICT_UNKNOWN] = 1,
                                    [SPAD_VERDICT_WRONG] = 0};
    return strengths[spad_check_get_verdict(check)];
}

/* The next error from number *at on; NULL: none exists. */
static const spad__found *next_error(const spad_check *check, size_t *at) {
    while (*at < check->found.count) {
        const spad__found *found = &check->found.items[(*at)++];
        if (found->finding.severity == SPAD_SEVERITY_ERROR) return found;
    }
    return NULL;
}

/* Bytes may differ, and messages with them. */
static bool is_same_error(const spad__found *a, const spad__found *b) {
    return a->finding.code == b->finding.code && a->statement == b->statement &&
           a->other == b->other && a->finding.count == b->finding.count &&
           strcmp(a->finding.subject, b->finding.subject) == 0;
}

/* Are the errors of two checks the same, as far as is known? Findings are sorted. */
static bool have_same_errors(const spad_check *a, const spad_check *b) {
    size_t i = 0;
    size_t j = 0;
    if (a->full || b->full) return false;
    for (;;) {
        const spad__found *one = next_error(a, &i);
        const spad__found *other = next_error(b, &j);
        if (one == NULL || other == NULL) return one == other;
        if (!is_same_error(one, other)) return false;
    }
}

/* Is the proposal as good as proved? */
static spad_status judge_proposal(proposal *p, bool *taken, spad_error *error) {
    *taken = !uses_order(p->shared);
    if (*taken) return SPAD_OK;
    spad_status status = check_with(p, &p->check, p->shared, error);
    if (status != SPAD_OK) return status;
    const int strength = strength_of(p->check);
    *taken = strength == 3;
    if (*taken || strength == 1) return SPAD_OK;
    status = check_with(p, &p->plain_check, p->plain, error);
    if (status != SPAD_OK) return status;
    p->in_doubt = strength == 0;
    *taken = p->in_doubt ? have_same_errors(p->check, p->plain_check)
                         : strength >= strength_of(p->plain_check);
    return SPAD_OK;
}

/* Nothing is claimed about the order of a kernel that has errors. */
static void mark_doubt(spad_layout *layout) {
    for (size_t i = 0; i < layout->space_count; i++) {
        spad_layout_space *row = &layout->spaces[i].row;
        if (!layout->spaces[i].ordered) continue;
        row->agents_in_doubt = true;
        if (row->verdict == SPAD_PLAN_OPTIMAL) row->verdict = SPAD_PLAN_FEASIBLE;
        if (row->verdict == SPAD_PLAN_INFEASIBLE) row->verdict = SPAD_PLAN_UNKNOWN;
    }
}

static void keep_proposal(proposal *p) {
    spad_layout_destroy(p->plain);
    spad_check_destroy(p->plain_check);
    p->plain = p->shared;
    p->plain_check = p->check;
    p->shared = NULL;
    p->check = NULL;
    if (p->in_doubt) mark_doubt(p->plain);
}

spad_status spad_layout_create_checked(spad_layout **out, spad_check **check,
                                       const spad_kernel *kernel,
                                       const spad_layout_options *layout_options,
                                       const spad_check_options *check_options, spad_error *error) {
    proposal p = {.kernel = kernel};
    if (layout_options != NULL) p.layout_options = *layout_options;
    if (check_options != NULL) p.check_options = *check_options;
    *out = NULL;
    if (check != NULL) *check = NULL;
    spad_status status =
        spad__limit_start(&p.limit, p.check_options.timeout_ns, p.check_options.watch, error);
    if (status == SPAD_OK) status = spad_layout_create(&p.plain, kernel, &p.layout_options, error);
    const bool wanted =
        status == SPAD_OK && p.layout_options.order == NULL && has_agents_apart(p.plain);
    if (wanted) status = propose(&p, error);
    bool taken = false;
    if (status == SPAD_OK && p.shared != NULL) status = judge_proposal(&p, &taken, error);
    if (taken) keep_proposal(&p);
    spad_layout_destroy(p.shared);
    spad_check_destroy(p.check);
    if (status != SPAD_OK || check == NULL) {
        spad_check_destroy(p.plain_check);
        p.plain_check = NULL;
    }
    if (status != SPAD_OK) {
        spad_layout_destroy(p.plain);
        return status;
    }
    *out = p.plain;
    if (check != NULL) *check = p.plain_check;
    return SPAD_OK;
}
