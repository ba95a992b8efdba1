/* SPDX-License-Identifier: Apache-2.0
 *
 * A change of a kernel tried: laid out, and checked if it fits; and the list of those that are
 * kept.
 */
#include <string.h>

#include "analysis/fit.h"
#include "base/error.h"
#include "kernel/kernel.h"
#include "prove/compare_shapes.h"
#include "spad/check.h"

#define CHECK_EVENTS INT64_C(1000000)

bool spad__fit_is_fine(spad_plan_verdict verdict) {
    return verdict == SPAD_PLAN_OPTIMAL || verdict == SPAD_PLAN_FEASIBLE;
}

const spad_layout_space *spad__fit_find_space(const spad_layout *layout, size_t space) {
    for (size_t i = 0; i < spad_layout_space_count(layout); i++) {
        const spad_layout_space *row = spad_layout_get_space(layout, i);
        if (row->space == space) return row;
    }
    return NULL;
}

/* Of shapes where the changed kernel could break first. */
static spad_status find_error_elsewhere(const spad__fit_search *s, const spad_kernel *kernel,
                                        spad_fit_change *change, spad_error *error) {
    spad__limit limit;
    spad__agreement agreement;
    spad_status status = spad__limit_start(&limit, 0, s->watch, error);
    if (status == SPAD_OK) {
        status = spad__compare_shapes(&agreement, s->kernel, kernel, &limit, &s->fit->host, error);
    }
    if (status != SPAD_OK || agreement.agrees) return status;
    change->wrong = agreement.wrong;
    change->wrong_at = spad__arena_copy(&s->fit->arena, agreement.at, strlen(agreement.at));
    return change->wrong_at != NULL ? SPAD_OK : spad__fail_host_memory(error);
}

spad_status spad__fit_find_error(const spad__fit_search *s, const spad_kernel *kernel,
                                 spad_layout *layout, spad_fit_change *change, spad_error *error) {
    const spad_check_options options = {.layout = layout,
                                        .no_advice = true,
                                        .one_shape = true,
                                        .event_limit = CHECK_EVENTS,
                                        .watch = s->watch,
                                        .host = &s->fit->host};
    spad_check *check;
    const spad_status status = spad_check_create(&check, kernel, &options, error);
    change->wrong = SPAD_FINDING_NONE;
    change->wrong_at = NULL;
    if (status != SPAD_OK) return status;
    if (spad_check_get_verdict(check) == SPAD_VERDICT_WRONG) {
        change->wrong = spad_check_get_finding(check, 0)->code;
    }
    spad_check_destroy(check);
    if (change->wrong != SPAD_FINDING_NONE) return SPAD_OK;
    return find_error_elsewhere(s, kernel, change, error);
}

spad_status spad__fit_try(const spad__fit_search *s, const spad_kernel *kernel,
                          spad_fit_change *change, bool *found, spad_error *error) {
    const spad_layout_options options = {
        .timeout_ns = s->timeout_ns, .watch = s->watch, .host = &s->fit->host};
    const spad_check_options checks = {.no_advice = true, .watch = s->watch, .host = &s->fit->host};
    spad_layout *layout = NULL;
    *found = false;
    spad_status status = spad_layout_create_checked(&layout, NULL, kernel, &options, &checks, NULL);
    if (status == SPAD_OK) {
        const spad_layout_space *row = spad__fit_find_space(layout, s->row->space);
        *found = row == NULL || spad__fit_is_fine(row->verdict);
        if (*found && change != NULL) {
            if (s->row->height != SPAD_UNBOUNDED) {
                change->saved = s->row->height - (row != NULL ? row->height : 0);
            }
            status = spad__fit_find_error(s, kernel, layout, change, error);
        }
    } else {
        status = spad__attempted(status, error);
    }
    spad_layout_destroy(layout);
    return status;
}

spad_status spad__fit_add(const spad__fit_search *s, const spad_fit_change *change,
                          const spad__fit_detail *detail, spad_error *error) {
    if (!spad__array_reserve(&s->fit->host, &s->fit->rows, 1)) return spad__fail_host_memory(error);
    s->fit->rows.items[s->fit->rows.count++] = (spad__fit_row){*change, *detail};
    return SPAD_OK;
}

size_t spad_fit_count(const spad_fit *fit) {
    return fit->rows.count;
}

const spad_fit_change *spad_fit_get(const spad_fit *fit, size_t number) {
    return number < fit->rows.count ? &fit->rows.items[number].change : NULL;
}
