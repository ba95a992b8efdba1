/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs the check passes in order and collects their results.
 */
#include "check/passes.h"
#include "kernel/kernel.h"

#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "check/dead_work.h"
#include "plan/problem/stop.h"
#include "prove/prove.h"
#include "verify/verify.h"

const char *spad_verdict_name(spad_verdict verdict) {
    switch (verdict) {
    case SPAD_VERDICT_WRONG: return "wrong";
    case SPAD_VERDICT_PROVED_SHAPE: return "proved for this shape";
    case SPAD_VERDICT_PROVED_ALL: return "proved for all trip counts";
    case SPAD_VERDICT_UNKNOWN: return "unknown";
    }
    return "?";
}

void spad__verdict_text(char *text, size_t size, spad_verdict verdict, const char *reason) {
    const bool names_values =
        verdict == SPAD_VERDICT_PROVED_ALL && strncmp(reason, "for all ", 8) == 0;
    snprintf(text, size, "%s%s%s", names_values ? "proved" : spad_verdict_name(verdict),
             names_values        ? " "
             : reason[0] == '\0' ? ""
                                 : ": ",
             reason);
}

/* ---- the whole check --------------------------------------------------------------- */

/* True if all names are parameters. */
static spad_status check_vary(const spad_kernel *kernel, const spad_check_options *options,
                              spad_error *error) {
    for (size_t v = 0; v < options->vary_count; v++) {
        bool found = false;
        for (size_t i = 0; i < spad_kernel_param_count(kernel); i++) {
            found = found || strcmp(spad_kernel_get_param(kernel, i)->name, options->vary[v]) == 0;
        }
        if (found) continue;
        spad__fail(error, SPAD_ERR_UNKNOWN, "kernel '%s' has no parameter '%s' to vary",
                   spad_kernel_get_name(kernel), options->vary[v]);
        spad__fact_names(error, options->vary[v], NULL);
        return SPAD_ERR_UNKNOWN;
    }
    return SPAD_OK;
}

static spad_status fill_options(spad_check_options *options, spad_error *error) {
    if (options->event_limit < 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "event limit %lld is negative",
                          (long long)options->event_limit);
    }
    if (options->event_limit == 0) options->event_limit = SPAD_CHECK_EVENTS;
    if (options->timeout_ns == 0) options->timeout_ns = SPAD_CHECK_TIMEOUT;
    if (options->finding_limit == 0) options->finding_limit = SPAD_CHECK_FINDINGS;
    return SPAD_OK;
}

/* A proof is about the executions of the kernel; its program may have more. */
static void say_assumption(spad_check *check, const spad_kernel *kernel) {
    char reason[SPAD__REASON_MAX * 2];
    const char *assumption = spad__kernel_get_assumption(kernel);
    if (check->verdict != SPAD_VERDICT_PROVED_ALL && check->verdict != SPAD_VERDICT_PROVED_SHAPE) {
        return;
    }
    if (kernel->undecided[0] != '\0') {
        check->verdict = SPAD_VERDICT_UNKNOWN;
        spad__copy_cut(check->reason, sizeof check->reason, kernel->undecided);
        return;
    }
    if (assumption[0] == '\0') return;
    snprintf(reason, sizeof reason, "assuming that %s: %s", assumption, check->reason);
    spad__copy_cut(check->reason, sizeof check->reason, reason);
}

/* Adds to the reason that parallel loops were only examined in part. */
static void say_parallel_part(spad_check *check, int64_t events) {
    char reason[SPAD__REASON_MAX * 2];
    if (events == 0 || check->verdict == SPAD_VERDICT_WRONG) return;
    snprintf(reason, sizeof reason,
             "%s; iterations of parallel loops were compared in the first %lld events",
             check->reason, (long long)events);
    spad__copy_cut(check->reason, sizeof check->reason, reason);
}

/* All passes and proofs, in the order of the findings that they may add. */
static spad_status check_and_prove(spad__run *run, spad_error *error) {
    const spad_kernel *kernel = run->kernel;
    spad_status status = spad__check_parallel(run, error);
    if (status == SPAD_OK) {
        status = spad_kernel_unknown_count(kernel) > 0 ? spad__prove_unknowns(run, error)
                                                       : spad__prove(run, error);
    }
    if (status == SPAD_OK) status = spad__add_faults(run, error);
    if (status != SPAD_OK) return status;
    say_assumption(run->check, kernel);
    say_parallel_part(run->check, run->parallel_left);
    if (!run->options->no_advice) status = spad__check_advice(run, error);
    if (status == SPAD_OK && !run->options->no_advice) status = spad__check_wasted(run, error);
    if (status == SPAD_OK && run->limit->status == SPAD_ERR_CANCELLED) {
        status = spad__limit_fail(run->limit, run->check->counts.events, "events", error);
    }
    return status;
}

spad_status spad_check_create(spad_check **out, const spad_kernel *kernel,
                              const spad_check_options *options, spad_error *error) {
    *out = NULL;
    spad_check_options filled;
    spad_status status = SPAD__COPY_OPTIONS(&filled, options, error);
    if (status == SPAD_OK) status = fill_options(&filled, error);
    if (status == SPAD_OK) status = spad__match_layout(kernel, filled.layout, error);
    if (status == SPAD_OK) status = check_vary(kernel, &filled, error);
    spad__limit limit;
    if (status == SPAD_OK) {
        status = spad__limit_start(&limit, filled.timeout_ns, filled.watch, error);
    }
    if (status != SPAD_OK) return status;
    const spad_host host = spad__host_or_default(filled.host);
    filled.host = &host;
    spad_check *check = spad__new(&host, sizeof *check);
    if (check == NULL) return spad__fail_host_memory(error);
    check->host = host;
    check->origin = spad__origin_of(kernel);

    spad__run run = {.kernel = kernel, .options = &filled, .check = check, .limit = &limit};
    status = check_and_prove(&run, error);
    if (status != SPAD_OK) {
        spad_check_destroy(check);
        return status;
    }
    check->every = filled.finding_limit == SIZE_MAX;
    spad__settle(check, kernel, filled.policy);
    *out = check;
    return SPAD_OK;
}

void spad_check_destroy(spad_check *check) {
    if (check == NULL) return;
    const spad_host host = check->host;
    spad__drop_findings(check);
    spad__free(&host, check, sizeof *check);
}

spad_verdict spad_check_get_verdict(const spad_check *check) {
    return check->verdict;
}

const char *spad_check_get_reason(const spad_check *check) {
    return check->reason;
}

spad_check_counts spad_check_get_counts(const spad_check *check) {
    return check->counts;
}

size_t spad_check_finding_count(const spad_check *check) {
    return check->found.count;
}

const spad_finding *spad_check_get_finding(const spad_check *check, size_t number) {
    return number < check->found.count ? &check->found.items[number].finding : NULL;
}
