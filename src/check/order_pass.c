/* SPDX-License-Identifier: Apache-2.0
 *
 * The order check of one shape: collects the events (events.c), judges them (check_order.c), and
 * looks for a number (repair.c, repair_waits.c) or a parity (parity.c) that would mend what was
 * found: both judge them again.
 */
#include "check/order_pass.h"
#include "check/passes.h"
#include "spad/experimental/kernel_rows.h"

/* Looks for the cause of errors: a parity, a number, or an arrival that is missing. */
static spad_status explain(spad__events *events, const spad__run *run, size_t before,
                           spad_error *error) {
    bool done;
    spad_status status = spad__repair_numbers(events, run, before, &done, error);
    if (status == SPAD_OK && !done) status = spad__repair_waits(events, run, before, &done, error);
    if (status == SPAD_OK && !done) status = spad__hint_parity(events, run, &done, error);
    if (status == SPAD_OK && !done) status = spad__repair_arrivals(events, run, before, error);
    return status;
}

spad_status spad__check_order(spad__run *run, spad_error *error) {
    if (spad_kernel_is_implicit(run->kernel)) return SPAD_OK;
    spad__events events;
    const int64_t errors = run->check->counts.errors;
    const size_t before = run->check->found.count;
    spad_status status = spad__events_collect(&events, run, error);
    if (status == SPAD_OK && events.gap != NULL) {
        run->gap = events.gap;
    } else if (status == SPAD_OK) {
        status = spad__check_events(&events, run, error);
        if (status == SPAD_OK && run->shown && run->check->counts.errors > errors) {
            status = explain(&events, run, before, error);
        }
    }
    spad__events_free(&events);
    return status;
}
