/* SPDX-License-Identifier: Apache-2.0
 *
 * A layout in which tensors that synchronisation orders share bytes, and the check that proves it.
 *
 * The text alone keeps all tiles of agents apart. Where that may cost bytes, the order of the
 * tensors (tensor_order.c) proposes another layout, and a check of that layout judges: it looks at
 * bytes, so tensors that share bytes and are not ordered are a race, at this shape or at another
 * trip count. The proposal is taken if its check is a proof, and proves as much as a check of the
 * layout from the text would: bytes are not shared on an unknown verdict. A layout in which
 * nothing is shared needs no check.
 *
 * The order belongs to one shape, in which many rounds of a loop may order what one round does
 * not. If the layout from the text is proved for all trip counts and the proposal is not, a second
 * one has the pairs alone that are also ordered where trip counts are 0 and 1. A shape that is too
 * long for an order has the order of fewer rounds.
 *
 * Mbarriers have bytes of their own in all of these. Where a layout with some of them over tiles,
 * before an init or after an invalidate, may be lower, the order proposes that too. It is taken if
 * it is lower, and proved as the others are.
 *
 * The text lets tiles share bytes that are used one after another, although a proxy fence or a
 * barrier of threads that the same bytes would need may be missing. Where the order says so, and a
 * check finds errors, a layout that keeps these tiles apart is taken if it has none: in place of
 * the one from the text, and of a proposal.
 *
 * A kernel that has errors with all tiles apart can have no proof. Then the proposal is taken if
 * its check finds these errors and no others: none of them is about the bytes that are shared. The
 * layout says that it is in doubt.
 */
#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "base/options.h"
#include "check/passes.h"
#include "layout/layout.h"
#include "layout/tensor_order.h"
#include "spad/experimental/kernel_rows.h"

typedef struct proposal {
    const spad_kernel *kernel;
    spad_layout_options layout_options;
    spad_check_options check_options;
    spad__limit limit;
    spad_tensor_order *order;
    spad_layout *plain;  /* from the text alone */
    spad_layout *shared; /* from the order; NULL: none */
    spad_layout *first;  /* the first proposal, if it is not taken; NULL: none */
    spad_check *check;   /* of `shared`, or NULL */
    spad_check *plain_check;
    bool in_doubt; /* the kernel has errors, shared or not */
    bool shorter;  /* the order has fewer rounds */
    bool narrowed; /* it has only pairs that few rounds also order */
    bool too_weak; /* the proposal is proved for less than the layout from the text */
} proposal;

/* Might agents' tiles be ordered, so that a lower layout exists? */
static bool has_agents_apart(const spad_layout *layout) {
    for (size_t i = 0; i < layout->space_count; i++)
        if (layout->spaces[i].row.agents_apart) return true;
    return false;
}

/* Might mbarriers have bytes of tiles, so that a lower layout exists? */
static bool has_barriers_apart(const spad_layout *layout) {
    for (size_t i = 0; i < layout->space_count; i++) {
        const spad_layout_space *row = &layout->spaces[i].row;
        if (row->bound >= row->height) continue;
        for (size_t b = 0; b < row->buffer_count; b++)
            if (layout->buffers.items[row->first_buffer + b].sync >= 0) return true;
    }
    return false;
}

/* Do buffers share bytes because of the order? */
static bool uses_order(const spad_layout *layout) {
    for (size_t i = 0; i < layout->space_count; i++)
        if (layout->spaces[i].ordered) return true;
    return false;
}

static spad_status order_of(proposal *p, const spad_kernel *kernel, spad_tensor_order **out,
                            spad_error *error) {
    const spad_tensor_order_options options = {.timeout_ns = spad__limit_left(&p->limit),
                                               .watch = p->layout_options.watch,
                                               .host = p->layout_options.host};
    return spad_tensor_order_create(out, kernel, &options, error);
}

/* The layout from the order. Only a lack of memory or a cancellation is a failure. */
static spad_status propose(proposal *p, spad_error *error) {
    if (!p->order->known) return SPAD_OK;
    spad_error failure;
    spad_layout_options options = p->layout_options;
    options.order = p->order;
    const spad_status status = spad_layout_create(&p->shared, p->kernel, &options, &failure);
    if (status != SPAD_ERR_HOST_MEMORY && status != SPAD_ERR_CANCELLED) {
        return SPAD_OK; /* it had a layout without the order */
    }
    if (error != NULL) *error = failure;
    return status;
}

/* ---- few rounds ------------------------------------------------------------------------ */

/* Parameters that are set one by one. */
enum { PARAMS_MAX = 8 };

/* The order with other values; NULL: the text refuses them. */
static spad_status order_with(proposal *p, const spad_define *defines, size_t count,
                              spad_tensor_order **out, spad_error *error) {
    const spad_kernel_options options = {
        .defines = defines, .define_count = count, .host = p->layout_options.host};
    spad_kernel *kernel;
    spad_error refusal;
    *out = NULL;
    spad_status status = spad_kernel_reshape(&kernel, p->kernel, &options, &refusal);
    if (status == SPAD_ERR_HOST_MEMORY && error != NULL) *error = refusal;
    if (status != SPAD_OK) return status == SPAD_ERR_HOST_MEMORY ? status : SPAD_OK;
    status = order_of(p, kernel, out, error);
    spad_kernel_destroy(kernel);
    return status;
}

/* Takes away pairs that are not ordered with other values. *taken: their number. */
static spad_status narrow_by(proposal *p, const spad_define *defines, size_t count, size_t *taken,
                             spad_error *error) {
    spad_tensor_order *order;
    const spad_status status = order_with(p, defines, count, &order, error);
    if (order != NULL) *taken += spad__tensor_order_narrow(p->order, order);
    spad_tensor_order_destroy(order);
    return status;
}

/* Parameters above a value, set to it. */
static size_t list_longer_params(const proposal *p, int64_t most, spad_define *defines) {
    size_t count = 0;
    for (size_t i = 0; i < spad_kernel_param_count(p->kernel) && count < PARAMS_MAX; i++) {
        const spad_kernel_param *param = spad_kernel_get_param(p->kernel, i);
        if (!param->fixed && param->value > most)
            defines[count++] = (spad_define){param->name, most};
    }
    return count;
}

/* The order where each trip count alone is 0 or 1, and where all are. */
static spad_status narrow_order(proposal *p, size_t *taken, spad_error *error) {
    spad_define defines[PARAMS_MAX];
    spad_status status = SPAD_OK;
    for (int64_t value = 0; value <= 1; value++) {
        const size_t count = list_longer_params(p, value, defines);
        for (size_t i = 0; i < count && status == SPAD_OK; i++)
            status = narrow_by(p, &defines[i], 1, taken, error);
        if (status == SPAD_OK && count > 1) status = narrow_by(p, defines, count, taken, error);
    }
    return status;
}

/* The order of the kernel, or of one with fewer rounds where that is too long. */
static spad_status order_of_iterations(proposal *p, spad_error *error) {
    static const int64_t fewer[] = {8, 3};
    const size_t tries = sizeof fewer / sizeof fewer[0];
    spad_status status = order_of(p, p->kernel, &p->order, error);
    for (size_t i = 0; i < tries && status == SPAD_OK && !p->order->known; i++) {
        spad_define defines[PARAMS_MAX];
        spad_tensor_order *order;
        const size_t count = list_longer_params(p, fewer[i], defines);
        if (count == 0) continue;
        status = order_with(p, defines, count, &order, error);
        if (order != NULL) p->shorter = spad__tensor_order_take(p->order, order);
        spad_tensor_order_destroy(order);
    }
    return status;
}

/* ---- judgement ------------------------------------------------------------------------- */

static spad_status check_with(proposal *p, spad_check **out, const spad_layout *layout,
                              spad_error *error) {
    p->check_options.layout = layout;
    return spad_check_create(out, p->kernel, &p->check_options, error);
}

static spad_status check_plain(proposal *p, spad_error *error) {
    return p->plain_check != NULL ? SPAD_OK : check_with(p, &p->plain_check, p->plain, error);
}

/* The result of a check with a layout, the weakest first. */
typedef enum proof_strength { HAS_ERRORS, NOT_PROVED, PROVED_SHAPE, PROVED_ALL } proof_strength;

static proof_strength strength_of(const spad_check *check) {
    static const proof_strength strengths[] = {[SPAD_VERDICT_PROVED_ALL] = PROVED_ALL,
                                               [SPAD_VERDICT_PROVED_SHAPE] = PROVED_SHAPE,
                                               [SPAD_VERDICT_UNKNOWN] = NOT_PROVED,
                                               [SPAD_VERDICT_WRONG] = HAS_ERRORS};
    return strengths[spad_check_get_verdict(check)];
}

/* The next error from number *at on; NULL: none exists. */
static const spad__found *next_error(const spad_check *check, size_t *at) {
    while (*at < check->found.count) {
        const spad__found *found = &check->found.items[(*at)++];
        const spad_severity severity = found->finding.severity;
        if (severity == SPAD_SEVERITY_ERROR || severity == SPAD_SEVERITY_COMPILER) return found;
    }
    return NULL;
}

/* Bytes may differ, and messages with them. */
static bool is_same_error(const spad__found *a, const spad__found *b) {
    return a->finding.code == b->finding.code && a->pairs == b->pairs &&
           a->finding.count == b->finding.count &&
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

/* A kernel that is run without loops has an error in each round: more than a check shows. */
enum { ERRORS_MAX = 1 << 14 };

/* Do the proposal and the layout from the text have the same errors? */
static spad_status compare_errors(proposal *p, bool *same, spad_error *error) {
    const spad_check_options shown = p->check_options;
    spad_check *ours = NULL;
    spad_check *plain = NULL;
    *same = have_same_errors(p->check, p->plain_check);
    if (*same || (!p->check->full && !p->plain_check->full)) return SPAD_OK;
    p->check_options.finding_limit = ERRORS_MAX;
    spad_status status = check_with(p, &ours, p->shared, error);
    if (status == SPAD_OK) status = check_with(p, &plain, p->plain, error);
    if (status == SPAD_OK) *same = have_same_errors(ours, plain);
    spad_check_destroy(ours);
    spad_check_destroy(plain);
    p->check_options = shown;
    return status;
}

/* Is the proposal as good as proved? */
static spad_status check_proposal(proposal *p, bool *taken, spad_error *error) {
    *taken = !uses_order(p->shared);
    if (*taken) return SPAD_OK;
    spad_status status = check_with(p, &p->check, p->shared, error);
    if (status != SPAD_OK) return status;
    const proof_strength strength = strength_of(p->check);
    *taken = strength == PROVED_ALL;
    if (*taken || strength == NOT_PROVED) return SPAD_OK;
    status = check_plain(p, error);
    if (status != SPAD_OK) return status;
    p->in_doubt = strength == HAS_ERRORS;
    p->too_weak = !p->in_doubt && strength < strength_of(p->plain_check);
    *taken = !p->too_weak;
    return p->in_doubt ? compare_errors(p, taken, error) : SPAD_OK;
}

static void drop_proposal(proposal *p) {
    spad_layout_destroy(p->shared);
    spad_check_destroy(p->check);
    p->shared = NULL;
    p->check = NULL;
}

/* True if its places come from the order, directly or from the first instance. */
static bool rests_on_order(const spad_layout *layout, const spad__layout_space *space) {
    const spad__layout_space *first = spad__layout_first_instance(layout, space->row.space);
    return space->ordered || (first != NULL && first->ordered);
}

/* Nothing is claimed about the order of a kernel that has errors. */
static void mark_doubt(spad_layout *layout) {
    for (size_t i = 0; i < layout->space_count; i++) {
        spad_layout_space *row = &layout->spaces[i].row;
        if (!rests_on_order(layout, &layout->spaces[i])) continue;
        row->agents_in_doubt = true;
        if (row->verdict == SPAD_PLAN_OPTIMAL) row->verdict = SPAD_PLAN_FEASIBLE;
        if (row->verdict == SPAD_PLAN_INFEASIBLE) row->verdict = SPAD_PLAN_UNKNOWN;
    }
}

/* Layouts that are right for all trip counts are right for the given one, so the bound of its order
 * holds. The one from pairs that few rounds have left does not. */
static void weaken_claims(spad_layout *layout, const spad_layout *sure) {
    for (size_t i = 0; i < layout->space_count; i++) {
        spad_layout_space *row = &layout->spaces[i].row;
        const spad_layout_space *own = &sure->spaces[i].row;
        row->bound = spad__min(row->bound, own->bound);
        if (row->verdict == SPAD_PLAN_OPTIMAL && row->height > row->bound)
            row->verdict = SPAD_PLAN_FEASIBLE;
        if (row->verdict == SPAD_PLAN_INFEASIBLE && own->verdict != SPAD_PLAN_INFEASIBLE)
            row->verdict = SPAD_PLAN_UNKNOWN;
    }
}

/* The order of mbarriers says more about all layouts than one that keeps them apart. */
static void raise_bounds(spad_layout *layout, const spad_layout *other) {
    for (size_t i = 0; i < layout->space_count; i++) {
        spad_layout_space *row = &layout->spaces[i].row;
        const int64_t bound = spad__max(row->bound, other->spaces[i].row.bound);
        if (row->agents_apart || row->agents_in_doubt) continue;
        row->bound = spad__min(bound, row->height);
        if (row->verdict == SPAD_PLAN_FEASIBLE && row->bound == row->height)
            row->verdict = SPAD_PLAN_OPTIMAL;
    }
}

/* A strict order keeps whole buffers apart, of which single tiles may need it: that proves nothing
 * about lower layouts. */
static void keep_proposal(proposal *p) {
    const bool unsure = p->shorter || p->order->strict || (p->narrowed && p->order->barriers);
    const spad_layout *sure = unsure ? p->plain : p->first;
    if (p->in_doubt) mark_doubt(p->shared);
    if (sure != NULL) weaken_claims(p->shared, sure);
    spad_layout_destroy(p->plain);
    spad_check_destroy(p->plain_check);
    p->plain = p->shared;
    p->plain_check = p->check;
    p->shared = NULL;
    p->check = NULL;
}

/* A second proposal, with what few rounds order as well; none, if that is all. */
static spad_status propose_again(proposal *p, spad_error *error) {
    size_t pairs = 0;
    drop_proposal(p);
    const spad_status status = narrow_order(p, &pairs, error);
    p->narrowed = true;
    return status == SPAD_OK && pairs > 0 ? propose(p, error) : status;
}

/* The first one still holds. */
static spad_status try_few_iterations(proposal *p, bool *taken, spad_error *error) {
    p->first = p->shared;
    p->shared = NULL;
    const spad_status status = propose_again(p, error);
    if (status != SPAD_OK || p->shared == NULL) return status;
    return check_proposal(p, taken, error);
}

static void end_try(proposal *p, bool taken) {
    if (taken) keep_proposal(p);
    drop_proposal(p);
    spad_layout_destroy(p->first);
    p->first = NULL;
    p->in_doubt = p->too_weak = false;
}

/* A proposal that is wrong where the layout from the text is not: it let tiles share bytes that the
 * text has one after another, without the fence that this needs. The next one keeps them apart. */
static spad_status try_strict(proposal *p, bool *taken, spad_error *error) {
    drop_proposal(p);
    p->order->strict = true;
    const spad_status status = propose(p, error);
    if (status != SPAD_OK || p->shared == NULL) return status;
    return check_proposal(p, taken, error);
}

static spad_status try_tiles(proposal *p, spad_error *error) {
    bool taken = false;
    spad_status status = propose(p, error);
    if (status == SPAD_OK && p->shared != NULL) status = check_proposal(p, &taken, error);
    if (status == SPAD_OK && p->in_doubt && !taken) status = try_strict(p, &taken, error);
    if (status == SPAD_OK && p->too_weak) status = try_few_iterations(p, &taken, error);
    end_try(p, taken);
    p->order->strict = p->order->strict && taken;
    return status;
}

/* Is it lower in a space, and higher in no space? */
static bool is_lower(const spad_layout *layout, const spad_layout *other) {
    bool lower = false;
    spad__assert(layout->space_count == other->space_count);
    for (size_t i = 0; i < layout->space_count; i++) {
        const int64_t height = layout->spaces[i].row.height;
        if (height > other->spaces[i].row.height) return false;
        lower = lower || height < other->spaces[i].row.height;
    }
    return lower;
}

/* Is an error about an mbarrier? What still reaches it after its end would then be in a tile. */
static bool has_barrier_errors(const spad_check *check) {
    size_t at = 0;
    for (const spad__found *found; (found = next_error(check, &at)) != NULL;) {
        const spad_finding_code code = found->finding.code;
        if (code == SPAD_FINDING_MBARRIER_LIFE || code == SPAD_FINDING_MBARRIER_BYTES ||
            code == SPAD_FINDING_MBARRIER_LIMIT)
            return true;
    }
    return false;
}

static spad_status check_lower_layout(proposal *p, bool *taken, spad_error *error) {
    *taken = false;
    if (p->shared == NULL || !is_lower(p->shared, p->plain)) return SPAD_OK;
    const spad_status status = check_proposal(p, taken, error);
    if (*taken && p->in_doubt) *taken = !has_barrier_errors(p->check);
    return status;
}

/* Mbarriers over tiles. */
static spad_status try_barriers(proposal *p, spad_error *error) {
    bool taken = false;
    if (!p->order->known || !has_barriers_apart(p->plain)) return SPAD_OK;
    p->order->barriers = true;
    spad_status status = propose(p, error);
    const bool sure = p->shared != NULL && !p->shorter && !p->narrowed && !p->order->strict;
    if (sure) raise_bounds(p->plain, p->shared);
    if (status == SPAD_OK) status = check_lower_layout(p, &taken, error);
    if (status == SPAD_OK && p->too_weak) {
        status = propose_again(p, error);
        if (status == SPAD_OK) status = check_lower_layout(p, &taken, error);
    }
    if (taken) raise_bounds(p->shared, p->plain);
    end_try(p, taken);
    return status;
}

/* ---- apart ----------------------------------------------------------------------------- */

/* Buffers of a space that are compared with each other. */
enum { SHARED_MAX = 1024 };

/* Has the kernel units that need proxy fences? */
static bool has_proxies(const spad_kernel *kernel) {
    for (size_t i = 0; i < kernel->units.count; i++)
        if (kernel->units.items[i].proxy) return true;
    return false;
}

static spad__order_range members_of_tiles(const spad_tensor_order *order,
                                          const spad_layout_buffer *buffer) {
    const bool planned = buffer->mode == SPAD_MODE_AUTO;
    return spad__tensor_order_slots(order, buffer->tensor, buffer->slot,
                                    planned ? buffer->slots : 0);
}

static bool keeps_apart(const spad_tensor_order *order, const spad_layout_buffer *a,
                        const spad_layout_buffer *b) {
    const spad__order_range one = members_of_tiles(order, a);
    const spad__order_range two = members_of_tiles(order, b);
    return spad__tensor_order_uses(order, one) && spad__tensor_order_uses(order, two) &&
           spad__tensor_order_sharing(order, one, two) != SPAD__SHARE_ALL;
}

/* Have two buffers of which the planner has placed one bytes in common? */
static bool have_bytes_in_common(const spad_layout_buffer *a, const spad_layout_buffer *b) {
    const spad_rect left = {a->rect.lane, a->rect.lanes, a->rect.byte, a->taken};
    const spad_rect right = {b->rect.lane, b->rect.lanes, b->rect.byte, b->taken};
    if (a->tensor < 0 || b->tensor < 0 || a->tensor == b->tensor) return false;
    return (a->mode == SPAD_MODE_AUTO || b->mode == SPAD_MODE_AUTO) &&
           spad_rect_overlaps(left, right);
}

/* Do tiles share bytes, but not those that the order keeps apart? NULL: any tiles. */
static bool shares_bytes(const spad_layout *layout, const spad_tensor_order *order) {
    for (size_t s = 0; s < layout->space_count; s++) {
        const spad_layout_space *row = &layout->spaces[s].row;
        const spad_layout_buffer *buffers = &layout->buffers.items[row->first_buffer];
        if (row->buffer_count > SHARED_MAX) continue;
        for (size_t i = 0; i < row->buffer_count; i++) {
            for (size_t j = 0; j < i; j++) {
                if (!have_bytes_in_common(&buffers[i], &buffers[j])) continue;
                if (order == NULL || keeps_apart(order, &buffers[i], &buffers[j])) return true;
            }
        }
    }
    return false;
}

/* A layout from the text that is wrong for want of a fence, where one with tiles apart is right. */
static spad_status try_apart(proposal *p, spad_error *error) {
    if (!p->order->known || !shares_bytes(p->plain, p->order)) return SPAD_OK;
    spad_status status = check_plain(p, error);
    if (status != SPAD_OK || strength_of(p->plain_check) > HAS_ERRORS) return status;
    p->order->strict = true;
    p->order->barriers = false;
    status = propose(p, error);
    if (status == SPAD_OK && p->shared != NULL) status = check_with(p, &p->check, p->shared, error);
    const bool taken = status == SPAD_OK && p->shared != NULL && strength_of(p->check) > NOT_PROVED;
    end_try(p, taken);
    return status;
}

/* ---- all ------------------------------------------------------------------------------- */

static spad_status try_order(proposal *p, spad_error *error) {
    spad_status status = order_of_iterations(p, error);
    if (status == SPAD_OK && has_agents_apart(p->plain)) status = try_tiles(p, error);
    if (status == SPAD_OK) status = try_barriers(p, error);
    if (status == SPAD_OK) status = try_apart(p, error);
    spad_tensor_order_destroy(p->order);
    return status;
}

spad_status spad_layout_create_checked(spad_layout **out, spad_check **check,
                                       const spad_kernel *kernel,
                                       const spad_layout_options *layout_options,
                                       const spad_check_options *check_options, spad_error *error) {
    proposal p = {.kernel = kernel};
    *out = NULL;
    if (check != NULL) *check = NULL;
    spad_status status = SPAD__COPY_OPTIONS(&p.layout_options, layout_options, error);
    if (status == SPAD_OK) status = SPAD__COPY_OPTIONS(&p.check_options, check_options, error);
    if (status != SPAD_OK) return status;
    status = spad__limit_start(&p.limit, p.check_options.timeout_ns, p.check_options.watch, error);
    if (status == SPAD_OK) status = spad_layout_create(&p.plain, kernel, &p.layout_options, error);
    const bool wanted = status == SPAD_OK && p.layout_options.order == NULL &&
                        (has_agents_apart(p.plain) || has_barriers_apart(p.plain) ||
                         (has_proxies(kernel) && shares_bytes(p.plain, NULL)));
    if (wanted) status = try_order(&p, error);
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
