/* SPDX-License-Identifier: Apache-2.0
 *
 * Values that are not known: a kernel that has them is many kernels, one for each way that they can
 * be, and it is proved if all of these are. The given values come first, so that what is
 * reported is about them where they show it; the first other way that is wrong is reported with
 * its values. Ways beyond a limit are not run, and then nothing is proved. Values that no
 * expression has stay as they are.
 *
 * Cost: one check per way.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "check/passes.h"
#include "kernel/kernel.h"
#include "prove/prove.h"
#include "spad/experimental/kernel_rows.h"
#include "verify/verify.h"

enum { WAYS_MAX = 1024 };

typedef struct ways {
    spad__run *run;
    spad_kernel *kernel; /* our own, to give values to */
    int64_t number;      /* of the one that is run, from 0 */
    spad_verdict weakest;
    bool open;                    /* one of them is unknown: the reason is kept */
    bool differs;                 /* one has another reason than the given one; both are kept */
    char given[SPAD_MESSAGE_MAX]; /* the reason of the given one */
} ways;

/* ---- values ------------------------------------------------------------------------ */

/* Is a value in an expression of the kernel? Otherwise it changes nothing. */
static bool is_used(const spad_kernel *kernel, size_t unknown) {
    for (size_t i = 0; i < kernel->nodes.count; i++) {
        const spad_expr_node *node = &kernel->nodes.items[i];
        if (node->op == SPAD_EXPR_UNKNOWN && node->value == (int64_t)unknown) return true;
    }
    return false;
}

/* On to the next way, as an odometer: each value goes round from where it was given. False: all
 * are back. */
static bool next_way(spad_kernel *kernel, const spad_kernel *given) {
    for (size_t i = 0; i < kernel->unknowns.count; i++) {
        const spad_kernel_unknown *u = &kernel->unknowns.items[i];
        int64_t *values = spad__unknown_values(kernel, i);
        if (!is_used(kernel, i)) continue;
        for (int64_t k = 0; k < u->elements; k++) {
            values[k]++;
            if (values[k] == u->end.value) values[k] = u->least.value;
            if (values[k] != given->unknowns.items[i].values[k]) return true;
        }
    }
    return false;
}

/* "blocks = [2, 0], last = 1": those that are used. */
static void describe_unknowns(const spad_kernel *kernel, char *field, size_t size) {
    size_t used = 0;
    field[0] = '\0';
    for (size_t i = 0; i < kernel->unknowns.count; i++) {
        const spad_kernel_unknown *u = &kernel->unknowns.items[i];
        const bool list = u->dims.count > 0;
        if (!is_used(kernel, i)) continue;
        used = spad__append(field, size, used, "%s%.60s = %s", used > 0 ? ", " : "", u->name,
                            list ? "[" : "");
        for (int64_t k = 0; k < u->elements; k++) {
            used = spad__append(field, size, used, "%s%lld", k > 0 ? ", " : "",
                                (long long)u->values[k]);
        }
        if (list) used = spad__append(field, size, used, "]");
    }
}

/* ---- one way ----------------------------------------------------------------------- */

/* The findings of a way replace those of the check. */
static void adopt_findings(ways *w, spad_check *found) {
    spad_check *check = w->run->check;
    const spad_check_counts counts = check->counts;
    spad__drop_findings(check);
    memcpy(&check->found, &found->found, sizeof check->found);
    memcpy(&check->witnesses, &found->witnesses, sizeof check->witnesses);
    memset(&found->found, 0, sizeof found->found);
    memset(&found->witnesses, 0, sizeof found->witnesses);
    check->full = found->full;
    check->counts = found->counts;
    check->counts.events = counts.events;
    check->counts.accesses = counts.accesses;
    check->counts.runs = counts.runs;
}

static void take_verdict(ways *w, const spad_check *found) {
    spad_check *check = w->run->check;
    char values[SPAD_MESSAGE_MAX / 2];
    char reason[SPAD__REASON_MAX * 2];
    describe_unknowns(w->kernel, values, sizeof values);
    snprintf(reason, sizeof reason, "with %s%s%s", values, found->reason[0] != '\0' ? ": " : "",
             found->reason);
    if (found->verdict == SPAD_VERDICT_WRONG) {
        check->verdict = SPAD_VERDICT_WRONG;
        spad__copy_cut(check->reason, sizeof check->reason, w->number > 0 ? reason : found->reason);
    } else if (found->verdict == SPAD_VERDICT_UNKNOWN) {
        if (!w->open) spad__copy_cut(check->reason, sizeof check->reason, reason);
        w->open = true;
    } else if (w->number == 0) {
        if (!w->open) spad__copy_cut(check->reason, sizeof check->reason, found->reason);
        spad__copy_cut(w->given, sizeof w->given, found->reason);
        w->weakest = found->verdict;
    } else {
        const bool weaker = found->verdict == SPAD_VERDICT_PROVED_SHAPE;
        if (weaker) w->weakest = SPAD_VERDICT_PROVED_SHAPE;
        if (w->open || w->differs || strcmp(found->reason, w->given) == 0) return;
        w->differs = true; /* the reason of the given values does not hold for these */
        snprintf(reason, sizeof reason, "%s; with %s: %s", w->given, values, found->reason);
        spad__copy_cut(check->reason, sizeof check->reason, reason);
    }
}

/* Adds the warnings of another way, with its values. */
static spad_status add_warnings(ways *w, const spad_check *found, spad_error *error) {
    char values[SPAD_MESSAGE_MAX / 2];
    char text[SPAD_MESSAGE_MAX * 2];
    spad_status status = SPAD_OK;
    describe_unknowns(w->kernel, values, sizeof values);
    for (size_t i = 0; i < found->found.count && status == SPAD_OK; i++) {
        const spad__found *row = &found->found.items[i];
        spad_finding finding = row->finding;
        if (finding.severity != SPAD_SEVERITY_WARNING) continue;
        if (spad__has_finding(w->run, finding.code, row->statement, row->other)) continue;
        snprintf(text, sizeof text, "with %s: %s", values, row->finding.message);
        spad__copy_cut(finding.message, sizeof finding.message, text);
        status = spad__add_finding(w->run, &finding, row->statement, row->other, error);
    }
    return status;
}

static spad_status run_way(ways *w, spad_error *error) {
    spad_check *check = w->run->check;
    spad_check found = {.host = check->host};
    spad__run run = *w->run;
    run.kernel = w->kernel;
    run.check = &found;
    spad_status status = spad__prove(&run, error);
    check->counts.events += found.counts.events;
    check->counts.accesses += found.counts.accesses;
    check->counts.runs += found.counts.runs;
    if (status == SPAD_OK) {
        take_verdict(w, &found);
        if (w->number == 0 || found.verdict == SPAD_VERDICT_WRONG) {
            adopt_findings(w, &found);
        } else {
            status = add_warnings(w, &found, error);
        }
    }
    spad__drop_findings(&found);
    return status;
}

/* ---- all --------------------------------------------------------------------------- */

static void conclude(ways *w, bool all) {
    spad_check *check = w->run->check;
    char reason[SPAD__REASON_MAX * 2];
    if (check->verdict == SPAD_VERDICT_WRONG) return;
    check->verdict = SPAD_VERDICT_UNKNOWN;
    if (w->open) return;
    if (all && w->number == 1) {
        check->verdict = w->weakest;
        return;
    }
    if (!all && spad__is_late(w->run)) {
        snprintf(reason, sizeof reason, "%lld ways that unknown values can be were run; %s",
                 (long long)w->number, spad__time_is_up);
    } else if (!all) {
        snprintf(reason, sizeof reason,
                 "unknown values can be in more ways than were run, which is %lld",
                 (long long)w->number);
    } else {
        check->verdict = w->weakest;
        snprintf(reason, sizeof reason, "for all %lld ways that unknown values can be; %s",
                 (long long)w->number, check->reason);
    }
    spad__copy_cut(check->reason, sizeof check->reason, reason);
}

spad_status spad__prove_unknowns(spad__run *run, spad_error *error) {
    ways w = {.run = run};
    const spad_kernel_options options = {.host = run->options->host};
    spad_status status = spad_kernel_reshape(&w.kernel, run->kernel, &options, error);
    if (status != SPAD_OK) return status;
    bool more = true;
    run->check->verdict = SPAD_VERDICT_UNKNOWN;
    while (more && status == SPAD_OK) {
        status = run_way(&w, error);
        w.number++;
        if (run->check->verdict == SPAD_VERDICT_WRONG) break;
        more = next_way(w.kernel, run->kernel);
        w.kernel->content = spad__kernel_hash(w.kernel);
        if (w.number >= WAYS_MAX || spad__is_late(run) ||
            run->check->counts.events > run->options->event_limit) {
            break;
        }
    }
    if (status == SPAD_OK) conclude(&w, !more);
    spad_kernel_destroy(w.kernel);
    return status;
}
