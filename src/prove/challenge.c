/* SPDX-License-Identifier: Apache-2.0
 *
 * Combines values of parameters to shapes, and checks a kernel at them.
 *
 * Each parameter has a list of values (challenge_values.c, challenge_meetings.c), and one that
 * changes nothing. The shapes are the combinations that have not been checked before. First comes
 * one just beyond what was checked, then the one with the largest value of each, where all
 * conditions are beyond their thresholds, then the others from small to large, so that a budget
 * reaches as many as it can. Where they are more than a list holds, some of each size are in it.
 */
#include "prove/challenge.h"
#include "spad/experimental/kernel_rows.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/checked.h"
#include "base/compare.h"
#include "base/text.h"
#include "check/passes.h"
#include "kernel/event_bound.h"
#include "prove/prover.h"

enum {
    VALUES_SEEN = 4, /* of one parameter that have been checked, but not with all others */
    COMBINATIONS_MAX = 1 << 11 /* that are looked at; lists are cut at their ends until it holds */
};

/* ---- values -------------------------------------------------------------------------- */

typedef struct axis {
    spad__challenge_param about;
    spad__challenge_values values;
    int64_t largest; /* of `values` */
} axis;

static bool has_value(const spad__challenge_values *list, int64_t value) {
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i] == value) return true;
    }
    return false;
}

/* Adds the first values of another list in [least, most] as far as there is room. */
static void take_values(spad__challenge_values *list, const spad__challenge_values *from,
                        int64_t least, int64_t most, size_t room) {
    for (size_t i = 0; i < from->count && list->count < room; i++) {
        const int64_t value = from->items[i];
        if (value < least || value > most || has_value(list, value)) continue;
        list->items[list->count++] = value;
    }
}

/* The value in the kernel, or the closest one that is of interest and cheap. */
static int64_t quiet_value(const spad_kernel *kernel, const spad__challenge_param *p) {
    const int64_t given = spad_kernel_get_param(kernel, p->param)->value;
    const int64_t most = p->seen > p->least ? p->seen - 1 : p->most;
    return spad__max(spad__min(given, most), p->least);
}

static spad_status fill_axis(axis *a, const spad_kernel *kernel, const spad__challenge_param *p,
                             const spad_host *host, spad_error *error) {
    spad__challenge_values found;
    *a = (axis){.about = *p};
    a->values.items[a->values.count++] = quiet_value(kernel, p);
    spad_status status =
        spad__challenge_find_values(&found, kernel, p->param, p->least, host, error);
    if (status != SPAD_OK) return status;
    take_values(&a->values, &found, p->least, spad__min(p->most, p->seen - 1), VALUES_SEEN);
    status = spad__challenge_find_meetings(&found, kernel, p, host, error);
    if (status != SPAD_OK) return status;
    take_values(&a->values, &found, p->seen, p->most, SPAD__CHALLENGE_VALUES);
    status = spad__challenge_find_values(&found, kernel, p->param, p->seen, host, error);
    if (status != SPAD_OK) return status;
    take_values(&a->values, &found, p->seen, p->most, SPAD__CHALLENGE_VALUES);
    for (size_t i = 0; i < a->values.count; i++) {
        a->largest = spad__max(a->largest, a->values.items[i]);
    }
    return SPAD_OK;
}

size_t spad__challenge_trip_counts(spad__challenge_param *out, const spad_kernel *kernel,
                                   int64_t least) {
    size_t count = 0;
    for (size_t i = 0; i < spad_kernel_param_count(kernel); i++) {
        if (count == SPAD__CHALLENGE_PARAMS || !spad__trip_bounds_loop(kernel, i)) continue;
        out[count++] = (spad__challenge_param){i, least, INT64_MAX, least};
    }
    return count;
}

/* ---- shapes -------------------------------------------------------------------------- */

/* The sum of logarithms would order them alike; a product that is cut does as well. */
static int64_t size_of_listed(const spad__challenge_shape *s) {
    int64_t size = 1;
    for (size_t i = 0; i < SPAD__CHALLENGE_PARAMS; i++) {
        if (!spad__mul(size, spad__max(s->values[i], 1), &size)) return INT64_MAX;
    }
    return size;
}

static int order_of_shapes(const void *left, const void *right) {
    const spad__challenge_shape *a = left;
    const spad__challenge_shape *b = right;
    int order = spad__compare(size_of_listed(a), size_of_listed(b));
    for (size_t i = 0; i < SPAD__CHALLENGE_PARAMS && order == 0; i++) {
        order = spad__compare(a->values[i], b->values[i]);
    }
    return order;
}

/* Has the shape not been checked? */
static bool is_new(const spad__challenge *list, const spad__challenge_shape *s) {
    bool beyond = false;
    for (size_t i = 0; i < list->param_count; i++) {
        const spad__challenge_param *p = &list->params[i];
        if (s->values[i] < p->least || s->values[i] > p->most) return false;
        beyond = beyond || s->values[i] >= p->seen;
    }
    return beyond;
}

/* Adds a shape that is new and not in the list. */
static void add_shape(spad__challenge *list, const spad__challenge_shape *s) {
    if (!is_new(list, s)) return;
    for (size_t i = 0; i < list->shape_count; i++) {
        if (order_of_shapes(&list->shapes[i], s) == 0) return;
    }
    spad__assert(list->shape_count < SPAD__CHALLENGE_SHAPES);
    list->shapes[list->shape_count++] = *s;
}

/* The combinations that are new. Returns how many. */
static size_t combine_values(spad__challenge_shape *all, const spad__challenge *list,
                             const axis *axes) {
    size_t at[SPAD__CHALLENGE_PARAMS] = {0};
    size_t count = 0;
    size_t i = 0;
    while (i < list->param_count) {
        spad__challenge_shape s = {{0}};
        for (size_t p = 0; p < list->param_count; p++) s.values[p] = axes[p].values.items[at[p]];
        spad__assert(count < COMBINATIONS_MAX);
        if (is_new(list, &s)) all[count++] = s;
        for (i = 0; i < list->param_count; i++) {
            if (++at[i] < axes[i].values.count) break;
            at[i] = 0;
        }
    }
    return count;
}

/* Adds as many as there is room for, in their order: where that is not all, half of them are the
 * smallest, and the others are spread evenly. Where two parameters cross thresholds together is in
 * the middle: the smallest shapes have a small value of one of them. */
static void add_spread(spad__challenge *list, const spad__challenge_shape *all, size_t count) {
    const size_t room = SPAD__CHALLENGE_SHAPES - list->shape_count;
    const size_t small = count <= room ? count : room / 2;
    for (size_t i = 0; i < small; i++) add_shape(list, &all[i]);
    for (size_t i = small; i < room && count > room; i++) {
        add_shape(list, &all[small + (i - small) * (count - small) / (room - small)]);
    }
}

static void cut_lists(axis *axes, size_t count) {
    for (;;) {
        int64_t combinations = 1;
        size_t longest = 0;
        for (size_t i = 0; i < count; i++) {
            combinations *= (int64_t)axes[i].values.count;
            if (axes[i].values.count > axes[longest].values.count) longest = i;
        }
        if (combinations <= COMBINATIONS_MAX) return;
        axes[longest].values.count--;
    }
}

spad_status spad__challenge_list(spad__challenge *out, const spad_kernel *kernel,
                                 const spad__challenge_param *params, size_t count,
                                 const spad_host *host, spad_error *error) {
    spad__assert(count <= SPAD__CHALLENGE_PARAMS);
    axis *axes = spad__new_array(host, SPAD__CHALLENGE_PARAMS, sizeof *axes);
    spad__challenge_shape *all = spad__new_array(host, COMBINATIONS_MAX, sizeof *all);
    spad__challenge_shape beyond = {{0}};
    spad__challenge_shape largest = {{0}};
    bool seen = true;
    *out = (spad__challenge){.param_count = count};
    const bool fine = axes != NULL && all != NULL;
    spad_status status = fine ? SPAD_OK : spad__fail_host_memory(error);
    for (size_t i = 0; i < count && status == SPAD_OK; i++) {
        out->params[i] = params[i];
        status = fill_axis(&axes[i], kernel, &params[i], host, error);
        beyond.values[i] = params[i].seen + (int64_t)i;
        largest.values[i] = axes[i].largest;
        seen = seen && params[i].seen > params[i].least;
    }
    if (status == SPAD_OK && count > 0) {
        if (seen) add_shape(out, &beyond);
        add_shape(out, &largest);
        cut_lists(axes, count);
        const size_t combined = combine_values(all, out, axes);
        qsort(all, combined, sizeof *all, order_of_shapes);
        add_spread(out, all, combined);
    }
    spad__free(host, all, COMBINATIONS_MAX * sizeof *all);
    spad__free(host, axes, SPAD__CHALLENGE_PARAMS * sizeof *axes);
    return status;
}

/* ---- runs ---------------------------------------------------------------------------- */

static spad_status build_listed(spad_kernel **out, const spad__challenge *list,
                                const spad_kernel *kernel, const spad__challenge_shape *s,
                                const spad_host *host, spad_error *error) {
    spad_define defines[SPAD__CHALLENGE_PARAMS];
    for (size_t i = 0; i < list->param_count; i++) {
        const size_t param = list->params[i].param;
        defines[i] = (spad_define){spad_kernel_get_param(kernel, param)->name, s->values[i]};
    }
    const spad_kernel_options options = {
        .defines = defines, .define_count = list->param_count, .host = host};
    *out = NULL;
    return spad__attempted(spad_kernel_reshape(out, kernel, &options, NULL), error);
}

static int64_t cost_of(const spad_kernel *kernel) {
    const int64_t events = spad__min(spad__events_most(kernel), INT64_MAX / 16);
    return SPAD__CHALLENGE_SETUP +
           events * (spad_kernel_is_implicit(kernel) ? 1 : SPAD__CHALLENGE_ORDER);
}

static void keep_error(spad__challenged *out, const spad_check *check,
                       const spad__challenge_shape *s) {
    out->failed = true;
    out->shape = *s;
    for (size_t i = 0; i < check->found.count; i++) {
        const spad_finding *finding = &check->found.items[i].finding;
        if (finding->severity != SPAD_SEVERITY_ERROR) continue;
        out->code = finding->code;
        spad__copy_cut(out->message, sizeof out->message, finding->message);
        break;
    }
}

/* The parts that find errors. */
static spad_status check_errors(spad__run *run, spad_error *error) {
    spad_status status = spad__check_rules(run, error);
    if (status == SPAD_OK) status = spad__check_lifetimes(run, error);
    if (status == SPAD_OK) status = spad__check_order(run, error);
    return status;
}

static spad_status run_shape(spad__challenged *out, const spad__challenge_shape *s,
                             const spad_kernel *kernel, const spad__run *whole, spad_error *error) {
    spad_check check = {.host = whole->check->host};
    spad__run run = {
        .kernel = kernel, .options = whole->options, .check = &check, .limit = whole->limit};
    const spad_status status = check_errors(&run, error);
    if (status == SPAD_OK && check.counts.errors > 0) {
        keep_error(out, &check, s);
    } else if (status == SPAD_OK) {
        out->unknown += run.gap != NULL;
        out->right += run.gap == NULL;
    }
    spad_check_counts *counts = &whole->check->counts;
    counts->events += check.counts.events;
    counts->accesses += check.counts.accesses;
    counts->runs++;
    spad__drop_findings(&check);
    return status;
}

spad_status spad__challenge_run(spad__challenged *out, const spad__challenge *list,
                                const spad__run *run, int64_t work, spad_error *error) {
    spad_status status = SPAD_OK;
    *out = (spad__challenged){.right = 0};
    for (size_t i = 0; i < list->shape_count && status == SPAD_OK && !out->failed; i++) {
        spad_kernel *kernel;
        if (work < SPAD__CHALLENGE_SETUP || spad__is_late(run)) {
            out->skipped += list->shape_count - i;
            break;
        }
        status =
            build_listed(&kernel, list, run->kernel, &list->shapes[i], &run->check->host, error);
        const int64_t cost = kernel != NULL ? cost_of(kernel) : SPAD__CHALLENGE_SETUP;
        if (kernel == NULL) {
            out->refused++;
        } else if (cost > work) {
            out->skipped++;
        } else {
            status = run_shape(out, &list->shapes[i], kernel, run, error);
        }
        work -= kernel != NULL && cost > work ? SPAD__CHALLENGE_SETUP : cost;
        spad_kernel_destroy(kernel);
    }
    return status;
}

spad_status spad__challenge_report(spad__run *run, const spad__challenge *list,
                                   const spad__challenge_shape *shape, spad_severity severity,
                                   spad_error *error) {
    spad_check check = {.host = run->check->host};
    spad_kernel *kernel;
    char values[SPAD_MESSAGE_MAX / 4];
    spad_status status = build_listed(&kernel, list, run->kernel, shape, &check.host, error);
    if (status != SPAD_OK || kernel == NULL) return status;
    spad__run one = {
        .kernel = kernel, .options = run->options, .check = &check, .limit = run->limit};
    spad__challenge_text(list, kernel, shape, values, sizeof values);
    status = check_errors(&one, error);
    if (status == SPAD_OK) status = spad__repair_rings(&one, error);
    if (status == SPAD_OK) status = spad__add_of_shape(run, &check, values, severity, error);
    spad__drop_findings(&check);
    spad_kernel_destroy(kernel);
    return status;
}

void spad__challenge_text(const spad__challenge *list, const spad_kernel *kernel,
                          const spad__challenge_shape *shape, char *field, size_t size) {
    size_t used = 0;
    field[0] = '\0';
    for (size_t i = 0; i < list->param_count; i++) {
        used = spad__append(field, size, used, "%s%.64s = %lld", i > 0 ? ", " : "",
                            spad_kernel_get_param(kernel, list->params[i].param)->name,
                            (long long)shape->values[i]);
    }
}
