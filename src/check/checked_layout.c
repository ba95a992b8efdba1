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
 */
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

static bool is_error_free(const spad_check *check) {
    return spad_check_get_counts(check).errors == 0;
}

/* Proved for all trip counts > proved for the shape > unknown. */
static int strength_of(const spad_check *check) {
    static const int strengths[] = {[SPAD_VERDICT_PROVED_ALL] = 3,
                                    [SPAD_VERDICT_PROVED_SHAPE] = 2,
                                    [SPAD_VERDICT_UNKNOWN] = 1,
                                    [SPAD_VERDICT_WRONG] = 0};
    return strengths[spad_check_get_verdict(check)];
}

/* Is the proposal as good as proved? */
static spad_status judge_proposal(proposal *p, bool *taken, spad_error *error) {
    *taken = !uses_order(p->shared);
    if (*taken) return SPAD_OK;
    spad_status status = check_with(p, &p->check, p->shared, error);
    if (status != SPAD_OK || !is_error_free(p->check)) return status;
    *taken = strength_of(p->check) == 3;
    if (*taken || strength_of(p->check) < 2) return SPAD_OK;
    status = check_with(p, &p->plain_check, p->plain, error);
    *taken = status == SPAD_OK && strength_of(p->check) >= strength_of(p->plain_check);
    return status;
}

static void keep_proposal(proposal *p) {
    spad_layout_destroy(p->plain);
    spad_check_destroy(p->plain_check);
    p->plain = p->shared;
    p->plain_check = p->check;
    p->shared = NULL;
    p->check = NULL;
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
