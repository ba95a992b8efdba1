/* SPDX-License-Identifier: Apache-2.0
 *
 * The comparison of a changed kernel: one run of it for each of its challenge shapes, and one of
 * the kernel before the change where it is wrong.
 */
#include "prove/compare_shapes.h"
#include "spad/experimental/kernel_rows.h"

#include "base/checked.h"
#include "kernel/kernel.h"
#include "prove/challenge.h"

typedef struct comparison {
    const spad_kernel *from;
    const spad_kernel *changed;
    spad__limit *limit;
    spad_check rest; /* takes the counts of all runs */
    spad_check_options options;
    int64_t work; /* that is left, in events as challenge.h counts them */
    spad__challenge list;
    spad__challenge one;                   /* of the shapes */
    bool compared[SPAD__CHALLENGE_SHAPES]; /* which of them */
    spad__challenge_shape least;
    spad__challenge_shape most;
    spad__agreement *out;
} comparison;

/* Trip counts that both kernels have with one value. */
static size_t list_compared(const comparison *c, spad__challenge_param *params) {
    const size_t count = spad__challenge_trip_counts(params, c->changed, 0);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t param = params[i].param;
        if (c->from->params.items[param].value != c->changed->params.items[param].value) continue;
        params[kept++] = params[i];
    }
    return kept;
}

/* Checks a kernel at the shape in `one`. */
static spad_status run_one(comparison *c, const spad_kernel *kernel, spad__challenged *found,
                           spad_error *error) {
    const spad__run run = {
        .kernel = kernel, .options = &c->options, .check = &c->rest, .limit = c->limit};
    const int64_t before = c->rest.counts.events;
    const spad_status status = spad__challenge_run(found, &c->one, &run, c->work, error);
    const int64_t events = c->rest.counts.events - before;
    c->work -= SPAD__CHALLENGE_SETUP +
               events * (spad_kernel_is_implicit(kernel) ? 1 : SPAD__CHALLENGE_ORDER);
    return status;
}

static void note_values(comparison *c) {
    for (size_t i = 0; i < c->list.param_count; i++) {
        const int64_t value = c->one.shapes[0].values[i];
        const bool first = c->out->shapes == 0;
        c->least.values[i] = first ? value : spad__min(c->least.values[i], value);
        c->most.values[i] = first ? value : spad__max(c->most.values[i], value);
    }
    c->out->shapes++;
}

static spad_status compare_shape(comparison *c, bool *compared, spad_error *error) {
    spad__challenged changed;
    spad__challenged from;
    spad_status status = run_one(c, c->changed, &changed, error);
    *compared = status == SPAD_OK && changed.skipped == 0;
    if (status != SPAD_OK || changed.right > 0) {
        if (status == SPAD_OK) note_values(c);
        return status;
    }
    if (!changed.failed) return SPAD_OK;
    c->work = spad__max(c->work, SPAD__CHALLENGE_WORK); /* an error is worth a second run */
    status = run_one(c, c->from, &from, error);
    if (status != SPAD_OK || from.failed || from.refused > 0) return status;
    c->out->agrees = false;
    c->out->wrong = changed.code;
    spad__challenge_text(&c->list, c->changed, &c->one.shapes[0], c->out->at, sizeof c->out->at);
    return SPAD_OK;
}

static spad_status compare_all(comparison *c, spad_error *error) {
    spad_status status = SPAD_OK;
    c->one = c->list;
    c->one.shape_count = 1;
    for (size_t i = 0; i < c->list.shape_count && status == SPAD_OK && c->out->agrees; i++) {
        if (c->work < SPAD__CHALLENGE_SETUP || spad__limit_reached(c->limit)) break;
        c->one.shapes[0] = c->list.shapes[i];
        status = compare_shape(c, &c->compared[i], error);
    }
    return status;
}

/* Has a shape that was compared this value of a parameter? */
static bool is_value_covered(const comparison *c, size_t param, int64_t value) {
    for (size_t i = 0; i < c->list.shape_count; i++) {
        if (c->compared[i] && c->list.shapes[i].values[param] == value) return true;
    }
    return false;
}

/* Values beyond a threshold that takes too many events to reach, for example, are not. */
static bool covers_all(const comparison *c) {
    for (size_t i = 0; i < c->list.shape_count; i++) {
        for (size_t p = 0; p < c->list.param_count && !c->compared[i]; p++) {
            if (!is_value_covered(c, p, c->list.shapes[i].values[p])) return false;
        }
    }
    return true;
}

spad_status spad__compare_shapes(spad__agreement *out, const spad_kernel *from,
                                 const spad_kernel *changed, spad__limit *limit,
                                 const spad_host *host, spad_error *error) {
    spad__challenge_param params[SPAD__CHALLENGE_PARAMS];
    *out = (spad__agreement){.agrees = true};
    comparison *c = spad__new(host, sizeof *c);
    if (c == NULL) return spad__fail_host_memory(error);
    c->from = from;
    c->changed = changed;
    c->limit = limit;
    c->out = out;
    c->work = SPAD__CHALLENGE_WORK;
    c->rest.host = *host;
    c->options = (spad_check_options){.one_shape = true,
                                      .no_advice = true,
                                      .event_limit = SPAD_CHECK_EVENTS,
                                      .finding_limit = SPAD_CHECK_FINDINGS,
                                      .host = host};
    spad_status status =
        spad__challenge_list(&c->list, changed, params, list_compared(c, params), host, error);
    if (status == SPAD_OK) status = compare_all(c, error);
    out->covers = covers_all(c);
    if (status == SPAD_OK && limit->status == SPAD_ERR_CANCELLED) {
        status = spad__limit_fail(limit, (int64_t)out->shapes, "other shapes", error);
    }
    if (status == SPAD_OK && out->shapes > 0) {
        spad__challenge_text(&c->list, changed, &c->least, out->least, sizeof out->least);
        spad__challenge_text(&c->list, changed, &c->most, out->most, sizeof out->most);
    }
    spad__free(host, c, sizeof *c);
    return status;
}
