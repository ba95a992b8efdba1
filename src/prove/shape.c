/* SPDX-License-Identifier: Apache-2.0
 *
 * One shape of a kernel in a proof: the kernel with its values, its run, and its watches.
 */
#include <stdio.h>

#include "base/checked.h"
#include "base/text.h"
#include "check/passes.h"
#include "kernel/event_bound.h"
#include "kernel/shorten_run.h"
#include "prove/prover.h"
#include "spad/experimental/kernel_rows.h"

const char spad__too_much_work[] = "all trip counts would take too many events";

/* Work of an event of a kernel whose order is examined. */
enum { WORK_OF_ORDER = 8 };

/* Takes the induction of this shape, where it depends on the other trip counts. */
static spad_status use_own_induction(const spad__prover *p, spad__watch *watch,
                                     const spad_kernel *kernel, spad_error *error) {
    const spad_status status = spad__induction_init(&watch->own, kernel, watch->induction->param,
                                                    watch->induction->step, NULL, &p->host, error);
    if (status == SPAD_OK) watch->induction = &watch->own;
    return status;
}

/* Is the induction of a shape the one that the proof counts on? */
static bool is_usable(const spad__prover *p, const spad__watch *watch, size_t number) {
    return watch->induction->refusal.kind == SPAD__NOT_REFUSED &&
           watch->induction->step == p->trips[number].induction.step;
}

/* Step budget for the conditions of a shape; steps count as work. */
static spad__steps steps_for_windows(const spad__prover *p) {
    const int64_t limit = p->run->options->event_limit;
    const int64_t left = spad__max(p->work_most - p->work, 0);
    return (spad__steps){p->needed ? limit : spad__min(limit, left), p->run->limit};
}

static bool find_windows(spad__prover *p, spad__watch *watch, const spad_kernel *kernel) {
    spad__steps steps = steps_for_windows(p);
    const int64_t before = steps.left;
    const bool found = spad__induction_windows(watch->induction, kernel, &steps, p->values,
                                               watch->windows, &watch->ended);
    p->work += before - steps.left;
    return found;
}

/* One more watch, for runs that are cut. */
static spad_status watch_cut_iterations(spad__prover *p, spad__watch *watch,
                                        const spad_kernel *kernel, spad_error *error) {
    const spad__induction_request of = {.param = SPAD__NO_PARAM,
                                        .step = p->cut->period,
                                        .cut_loops = p->cut->loops,
                                        .keep = p->cut->keep};
    const spad_status status = spad__induction_init_of(&watch->own, kernel, &of, &p->host, error);
    if (status != SPAD_OK) return status;
    watch->induction = &watch->own;
    watch->windows =
        spad__new_array(&p->host, spad_kernel_loop_count(kernel), sizeof(spad__window));
    if (watch->windows == NULL) return spad__fail_host_memory(error);
    watch->failed = watch->own.refusal.kind != SPAD__NOT_REFUSED ||
                    watch->own.step != p->cut->period || !find_windows(p, watch, kernel);
    return SPAD_OK;
}

/* Has every loop that grows at least one period? One that does not run in this shape is never
 * watched, and what it does in a longer run would be left out of the proof. */
static bool runs_each_period(const spad__induction *induction, const spad_kernel *kernel) {
    for (size_t i = 0; i < spad_kernel_loop_count(kernel); i++) {
        const spad_kernel_loop *loop = spad_kernel_get_loop(kernel, i);
        if (induction->extra[i] > 0 && loop->end.value - loop->begin.value < induction->extra[i]) {
            return false;
        }
    }
    return true;
}

/* Does a shape stand for larger values of a trip count? Among all shapes it does from `repeats` on,
 * and in place of the given one where it is smaller. Otherwise it is only asked about. */
static bool stands_for_larger(const spad__prover *p, const spad__shape *s, size_t number) {
    const spad__trip *t = &p->trips[number];
    return p->all ? s->values[number] >= t->repeats : p->needed && s->values[number] != t->given;
}

/* Does it count whether the run of a shape repeats itself with a trip count? */
static bool is_watched(const spad__prover *p, const spad__shape *s, size_t number) {
    return !p->unwatched && (p->asked == &p->trips[number] || stands_for_larger(p, s, number));
}

/* Conditions that several trip counts decide, where the shape stands for larger values of them. */
static spad_status join_windows(spad__prover *p, const spad__shape *s, spad__watches *watches,
                                spad_error *error) {
    const spad_kernel *kernel = watches->kernel;
    const size_t loops = spad_kernel_loop_count(kernel);
    spad__growing all[SPAD__TRIPS_MAX + 1];
    size_t count = 0;
    for (size_t i = 0; i < watches->count; i++) {
        const spad__watch *watch = &watches->items[i];
        if (i < p->count && !stands_for_larger(p, s, i)) continue;
        if (watch->failed) return SPAD_OK; /* it does not count for a proof */
        all[count++] = (spad__growing){watch->induction, watch->windows, watch->ended};
    }
    if (count < 2 || !spad__windows_need_join(all, count, kernel)) return SPAD_OK;
    spad__window *scratch = spad__new_array(&p->host, loops, sizeof *scratch);
    if (scratch == NULL) return spad__fail_host_memory(error);
    spad__steps steps = steps_for_windows(p);
    const int64_t before = steps.left;
    if (!spad__induction_join_windows(all, count, kernel, &steps, p->values, scratch)) {
        for (size_t i = 0; i < watches->count; i++) watches->items[i].failed = true;
    }
    p->work += before - steps.left;
    spad__free(&p->host, scratch, loops * sizeof *scratch);
    return SPAD_OK;
}

static spad_status watch_trip(spad__prover *p, spad__watch *watch, bool watched, size_t number,
                              const spad_kernel *kernel, spad_error *error) {
    watch->induction = &p->trips[number].induction;
    watch->failed = !watched;
    if (!watched) return SPAD_OK;
    if (p->joint) {
        const spad_status status = use_own_induction(p, watch, kernel, error);
        if (status != SPAD_OK) return status;
    }
    watch->windows =
        spad__new_array(&p->host, spad_kernel_loop_count(kernel), sizeof(spad__window));
    if (watch->windows == NULL) return spad__fail_host_memory(error);
    watch->failed = !is_usable(p, watch, number) || !runs_each_period(watch->induction, kernel) ||
                    !find_windows(p, watch, kernel);
    return SPAD_OK;
}

static spad_status prepare_watches(spad__prover *p, const spad__shape *s, spad__watches *watches,
                                   const spad_kernel *kernel, spad_error *error) {
    watches->host = p->host;
    watches->kernel = kernel;
    watches->count = p->count + (p->cut != NULL);
    watches->items = spad__new_array(&p->host, p->count + 1, sizeof *watches->items);
    if (watches->items == NULL) return spad__fail_host_memory(error);
    if (p->cut != NULL) {
        const spad_status status =
            watch_cut_iterations(p, &watches->items[p->count], kernel, error);
        if (status != SPAD_OK) return status;
    }
    for (size_t i = 0; i < p->count; i++) {
        const spad_status status =
            watch_trip(p, &watches->items[i], is_watched(p, s, i), i, kernel, error);
        if (status != SPAD_OK) return status;
    }
    return join_windows(p, s, watches, error);
}

static void free_watches(spad__prover *p, spad__watches *watches) {
    for (size_t i = 0; watches->items != NULL && i < watches->count; i++) {
        spad__watch *watch = &watches->items[i];
        if (watch->induction == &watch->own) spad__induction_free(&watch->own);
        if (watch->windows == NULL) continue;
        p->work += (int64_t)watch->states.count;
        spad__free(&p->host, watch->windows,
                   spad_kernel_loop_count(watches->kernel) * sizeof(spad__window));
        if (watch->runs != NULL) {
            spad__free(&p->host, watch->runs, watch->run_count * sizeof *watch->runs);
        }
        spad__array_free(&p->host, &watch->states);
        spad__array_free(&p->host, &watch->starts);
    }
    if (watches->items != NULL) {
        spad__free(&p->host, watches->items, (p->count + 1) * sizeof *watches->items);
    }
}

static void keep_result(const spad__prover *p, spad__shape *s, const spad__run *run,
                        const spad__watches *watches) {
    const spad_check *check = run->check;
    s->errors = check->counts.errors;
    s->gap = run->gap;
    for (size_t i = 0; i < p->count; i++) s->repeats[i] = !watches->items[i].failed;
    s->cut_iterations_repeat = p->cut != NULL && !watches->items[p->count].failed;
    for (size_t i = 0; i < check->found.count; i++) {
        if (check->found.items[i].finding.severity != SPAD_SEVERITY_ERROR) continue;
        s->first = check->found.items[i].finding;
        break;
    }
}

int64_t spad__shape_work(const spad_kernel *kernel) {
    const int64_t events = spad__min(spad__events_most(kernel), INT64_MAX / WORK_OF_ORDER);
    return events * (spad_kernel_is_implicit(kernel) ? 1 : WORK_OF_ORDER);
}

/* Is it known before the run that the trip count that is asked about does not repeat itself? */
static bool is_answered(const spad__prover *p, const spad__watches *watches) {
    return p->asked != NULL && watches->items[p->asked - p->trips].failed;
}

static spad_status run_passes(spad__run *run, spad_error *error) {
    spad_status status = spad__check_rules(run, error);
    if (status == SPAD_OK) status = spad__check_lifetimes(run, error);
    if (status == SPAD_OK) status = spad__check_order(run, error);
    if (status == SPAD_OK) status = spad__repair_rings(run, error);
    return status;
}

spad_status spad__shape_run(spad__prover *p, spad__shape *s, const spad_kernel *kernel,
                            spad_check *check, const char *about, spad_error *error) {
    spad__watches watches = {0};
    spad__run run = {.kernel = kernel,
                     .options = p->run->options,
                     .check = check,
                     .watches = &watches,
                     .shown = check == p->run->check,
                     .outputs = about != NULL,
                     .shape = about,
                     .limit = p->run->limit};
    const int64_t before = check->counts.events;
    const bool unwatched = p->unwatched;
    p->unwatched = unwatched || run.shown; /* the shown run does not count for a proof */
    spad_status status = prepare_watches(p, s, &watches, kernel, error);
    p->unwatched = unwatched;
    if (status == SPAD_OK && !is_answered(p, &watches)) status = run_passes(&run, error);
    if (status == SPAD_OK) keep_result(p, s, &run, &watches);
    check->counts.runs++;
    const bool order = !spad_kernel_is_implicit(kernel);
    p->work += (check->counts.events - before) * (order ? WORK_OF_ORDER : 1);
    free_watches(p, &watches);
    return status;
}

static spad_status cut_iterations(const spad__prover *p, spad_kernel *kernel, spad_error *error) {
    const spad__cut_iterations *r = p->cut;
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < spad_kernel_loop_count(kernel) && status == SPAD_OK; i++) {
        if (r->loops[i])
            status = spad__kernel_shorten(kernel, (int64_t)i, r->keep, r->period, error);
    }
    return status;
}

/* why: NULL, or room for a message. */
static spad_status build_shape(const spad__prover *p, const spad__shape *s, spad_kernel **out,
                               char *why, spad_error *error) {
    spad_define defines[SPAD__TRIPS_MAX];
    for (size_t i = 0; i < p->count; i++) {
        const size_t param = p->trips[i].induction.param;
        defines[i] = (spad_define){spad_kernel_get_param(p->kernel, param)->name, s->values[i]};
    }
    const spad_kernel_options options = {
        .defines = defines, .define_count = p->count, .host = &p->host};
    spad_error refusal;
    spad_status status = spad_kernel_reshape(out, p->kernel, &options, &refusal);
    if (status == SPAD_OK && p->cut != NULL) status = cut_iterations(p, *out, &refusal);
    if (status != SPAD_OK) {
        spad_kernel_destroy(*out);
        *out = NULL;
    }
    if (status != SPAD_OK && why != NULL) spad__copy_cut(why, SPAD_MESSAGE_MAX, refusal.message);
    return spad__attempted(status, error);
}

spad_status spad__shape_kernel(const spad__prover *p, const spad__shape *s, spad_kernel **out,
                               spad_error *error) {
    return build_shape(p, s, out, NULL, error);
}

spad_status spad__shape_kernel_or_why(spad__prover *p, const spad__shape *s, spad_kernel **out,
                                      spad_error *error) {
    return build_shape(p, s, out, p->refusal, error);
}

void spad__shape_text(const spad__prover *p, const spad__shape *s, char *field, size_t size) {
    size_t used = 0;
    field[0] = '\0';
    for (size_t i = 0; i < p->count; i++) {
        const size_t param = p->trips[i].induction.param;
        used = spad__append(field, size, used, "%s%.64s = %lld", i > 0 ? ", " : "",
                            spad_kernel_get_param(p->kernel, param)->name, (long long)s->values[i]);
    }
}

spad_status spad__shape_may_repeat(spad__prover *p, const spad__shape *s, bool *may,
                                   spad_error *error) {
    spad__watches watches = {0};
    spad_kernel *kernel;
    spad_status status = build_shape(p, s, &kernel, NULL, error);
    *may = true;
    if (status != SPAD_OK || kernel == NULL) return status;
    status = prepare_watches(p, s, &watches, kernel, error);
    for (size_t i = 0; i < p->count && status == SPAD_OK; i++) {
        const spad__watch *watch = &watches.items[i];
        if (!is_watched(p, s, i)) continue;
        const bool ordered = !spad_kernel_is_implicit(kernel);
        *may = *may && !watch->failed && (!ordered || spad__watch_may_repeat(watch, kernel));
    }
    free_watches(p, &watches);
    spad_kernel_destroy(kernel);
    return status;
}

/* Keeps warnings about what a kernel computes. */
static void keep_warnings(spad__prover *p, const spad__shape *s, const spad_check *check) {
    char values[SPAD_MESSAGE_MAX / 4];
    char text[SPAD_MESSAGE_MAX * 2];
    for (size_t i = 0; i < check->found.count && p->warned_count < SPAD__WARNED_MAX; i++) {
        const spad__found *found = &check->found.items[i];
        const spad_finding_code code = found->finding.code;
        bool known =
            code != SPAD_FINDING_UNWRITTEN_OUTPUT && code != SPAD_FINDING_PARALLEL_DEPENDENCE;
        for (size_t w = 0; w < p->warned_count; w++) {
            known |= p->warned[w].code == code && p->warned[w].statement == found->statement;
        }
        if (known) continue;
        spad__warned *warned = &p->warned[p->warned_count++];
        spad__shape_text(p, s, values, sizeof values);
        snprintf(text, sizeof text, "; but with %s: %s", values, found->finding.message);
        spad__copy_cut(warned->text, sizeof warned->text, text);
        warned->code = code;
        warned->statement = found->statement;
    }
}

spad_status spad__shape_try(spad__prover *p, spad__shape *s, spad_error *error) {
    spad_kernel *kernel;
    spad_status status = build_shape(p, s, &kernel, p->refusal, error);
    s->possible = kernel != NULL;
    if (status != SPAD_OK || kernel == NULL) return status;
    if (spad__is_late(p->run)) {
        s->gap = spad__time_is_up;
        for (size_t i = 0; i < p->count; i++) s->repeats[i] = false;
        spad_kernel_destroy(kernel);
        return SPAD_OK;
    }
    if (!p->needed && spad__shape_work(kernel) > p->work_most - p->work) {
        p->exhausted = true;
        s->gap = spad__too_much_work;
        for (size_t i = 0; i < p->count; i++) s->repeats[i] = false;
        spad_kernel_destroy(kernel);
        return SPAD_OK;
    }
    spad_check check = {.host = p->host};
    status = spad__shape_run(p, s, kernel, &check, p->all ? "" : NULL, error);
    if (status == SPAD_OK && p->all) {
        spad__run run = {
            .kernel = kernel, .options = p->run->options, .check = &check, .limit = p->run->limit};
        status = spad__check_parallel(&run, error);
        keep_warnings(p, s, &check);
    }
    p->run->check->counts.events += check.counts.events;
    p->run->check->counts.accesses += check.counts.accesses;
    p->run->check->counts.runs += check.counts.runs;
    spad__drop_findings(&check);
    spad_kernel_destroy(kernel);
    return status;
}
