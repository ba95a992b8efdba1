/* SPDX-License-Identifier: Apache-2.0
 *
 * The order check of one shape: collects the events (events.c), judges them (judge.c), and looks
 * for a parity that would mend what was found (parity.c), which judges them again.
 */
#include "check/order.h"
#include "check/check.h"

spad_status spad__check_order(spad__run *run, spad_error *error) {
    if (spad_kernel_is_implicit(run->kernel)) return SPAD_OK;
    spad__events events;
    const int64_t errors = run->check->counts.errors;
    spad_status status = spad__events_collect(&events, run, error);
    if (status == SPAD_OK && events.gap != NULL) {
        run->gap = events.gap;
    } else if (status == SPAD_OK) {
        status = spad__order_judge(&events, run, error);
        if (status == SPAD_OK && run->shown && run->check->counts.errors > errors) {
            status = spad__hint_parity(&events, run, error);
        }
    }
    spad__events_free(&events);
    return status;
}
