/* SPDX-License-Identifier: Apache-2.0
 *
 * Other values of a parameter: which ones, and what their runs give. Values above the given one
 * come first, from small to large, then those below it, from large to small. One that is wrong
 * ends it, unless it is below: many kernels ask for a few iterations at least, and then
 * all values below some number are wrong. It counts as a hole if a smaller one is right.
 */
#include "prove/neighbours.h"
#include "spad/experimental/kernel_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/compare.h"
#include "base/text.h"
#include "check/passes.h"
#include "kernel/event_bound.h"

enum {
    MODULI_MAX = 6, /* numbers that indices come round at */
    NEAR = 2,
    ROW_BEGIN = 8 /* values that need not be right before the first one that is */
};

/* ---- which values ------------------------------------------------------------------ */

typedef struct values {
    int64_t items[SPAD__TRIES_MAX];
    size_t count;
} values;

static void add_value(values *list, int64_t value) {
    if (value < 0 || list->count == SPAD__TRIES_MAX) return;
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i] == value) return;
    }
    list->items[list->count++] = value;
}

/* The smallest ones are kept. */
static void add_modulus(values *list, int64_t value) {
    if (value < 2) return;
    if (list->count < MODULI_MAX) {
        add_value(list, value);
        return;
    }
    size_t most = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i] == value) return;
        if (list->items[i] > list->items[most]) most = i;
    }
    list->items[most] = spad__min(list->items[most], value);
}

static void add_moduli(values *list, spad_amounts amounts) {
    for (size_t i = 0; i < amounts.count; i++) add_modulus(list, amounts.items[i].value);
}

/* A number or parameter that something is divided by stands in front of the operator. */
static void add_divisors(values *list, const spad_kernel *kernel, spad_expr expr) {
    const spad_expr_info info = spad_kernel_get_expr(kernel, expr);
    for (size_t n = 1; n < info.node_count; n++) {
        const spad_expr_op op = info.nodes[n].op;
        const spad_expr_node *by = &info.nodes[n - 1];
        if (op != SPAD_EXPR_DIV && op != SPAD_EXPR_MOD) continue;
        if (by->op == SPAD_EXPR_NUMBER) add_modulus(list, by->value);
        if (by->op == SPAD_EXPR_PARAM) {
            add_modulus(list, spad_kernel_get_param(kernel, (size_t)by->value)->value);
        }
    }
}

static void find_moduli(values *list, const spad_kernel *kernel) {
    for (size_t i = 0; i < spad_kernel_tensor_count(kernel); i++) {
        const spad_kernel_tensor *t = spad_kernel_get_tensor(kernel, i);
        add_moduli(list, t->ring);
        add_moduli(list, t->free);
        add_moduli(list, t->par);
        add_moduli(list, t->banks);
    }
    for (size_t i = 0; i < spad_kernel_sync_count(kernel); i++) {
        add_moduli(list, spad_kernel_get_sync(kernel, i)->dims);
    }
    for (size_t i = 0; i < spad_kernel_statement_count(kernel); i++) {
        const spad_statement *s = spad_kernel_get_statement(kernel, i);
        for (size_t d = 0; d < s->index_count; d++) add_divisors(list, kernel, s->index[d]);
        for (size_t c = 0; c < s->comparison_count; c++) {
            add_divisors(list, kernel, s->comparisons[c].left);
            add_divisors(list, kernel, s->comparisons[c].right);
        }
    }
}

static int compare_numbers(const void *left, const void *right) {
    return spad__compare(*(const int64_t *)left, *(const int64_t *)right);
}

/* All values to try, ascending. */
static void choose_values(values *list, const spad_kernel *kernel, const spad__tries *tries) {
    const int64_t given = spad_kernel_get_param(kernel, tries->param)->value;
    values moduli = {.count = 0};
    values all = {.count = 0};
    for (int64_t d = 1; d <= NEAR; d++) {
        if (given <= INT64_MAX - d) add_value(&all, given + d);
        add_value(&all, given - d);
    }
    if (!tries->size) {
        for (int64_t v = 0; v <= 2; v++) add_value(&all, v);
        find_moduli(&moduli, kernel);
        qsort(moduli.items, moduli.count, sizeof moduli.items[0], compare_numbers);
    }
    for (size_t i = 0; i < moduli.count; i++) {
        const int64_t d = moduli.items[i];
        if (d > INT64_MAX / 2 - 1) continue;
        const int64_t around[] = {d, d + 1, 2 * d, d - 1, 2 * d + 1};
        for (size_t a = 0; a < sizeof around / sizeof around[0]; a++) add_value(&all, around[a]);
    }
    list->count = 0;
    for (size_t i = 0; i < all.count; i++) {
        const int64_t v = all.items[i];
        if (v == given) continue;
        if (tries->reach > 0 && (v > given ? v - given : given - v) > tries->reach) continue;
        list->items[list->count++] = v;
    }
    qsort(list->items, list->count, sizeof list->items[0], compare_numbers);
}

/* ---- one value --------------------------------------------------------------------- */

typedef enum result { TRY_RIGHT, TRY_WRONG, TRY_REFUSED, TRY_OPEN } result;

/* Is there not so much memory? Then the value cannot be used, whatever else is wrong with it. */
static bool is_too_large(const spad_check *check) {
    for (size_t i = 0; i < check->found.count; i++) {
        const spad_finding_code code = check->found.items[i].finding.code;
        if (code == SPAD_FINDING_OUT_OF_SPACE || code == SPAD_FINDING_DOES_NOT_FIT) return true;
    }
    return false;
}

/* Runs the kernel with a value; its findings go to `check`. */
static spad_status run_value(const spad__run *run, const spad_kernel *kernel,
                             const spad__tries *tries, spad_check *check, result *out,
                             spad_error *error) {
    spad_check_options options = *run->options;
    options.event_limit = spad__min(options.event_limit, tries->work);
    if (tries->size) options.layout = NULL;
    spad__run one = {
        .kernel = kernel, .options = &options, .check = check, .shown = true, .limit = run->limit};
    spad_status status = spad__check_rules(&one, error);
    if (status == SPAD_OK) status = spad__check_lifetimes(&one, error);
    if (status == SPAD_OK) status = spad__check_order(&one, error);
    *out = check->counts.errors == 0 ? (one.gap != NULL ? TRY_OPEN : TRY_RIGHT)
           : is_too_large(check)     ? TRY_REFUSED
                                     : TRY_WRONG;
    check->counts.runs++;
    return status;
}

static spad_status try_value(spad__run *run, spad__tries *tries, int64_t value, spad_check *check,
                             result *out, spad_error *error) {
    spad_define defines[SPAD__TRIES_MAX];
    size_t count = 0;
    for (; count < tries->other_count; count++) defines[count] = tries->others[count];
    defines[count++] = (spad_define){spad_kernel_get_param(run->kernel, tries->param)->name, value};
    const spad_kernel_options options = {
        .defines = defines, .define_count = count, .host = &check->host};
    spad_kernel *kernel = NULL;
    spad_status status =
        spad__attempted(spad_kernel_reshape(&kernel, run->kernel, &options, NULL), error);
    *out = kernel == NULL ? TRY_REFUSED : TRY_OPEN;
    const int64_t events = kernel != NULL ? spad__events_most(kernel) : 0;
    if (status == SPAD_OK && kernel != NULL && events <= tries->work) {
        status = run_value(run, kernel, tries, check, out, error);
        tries->work -= events;
    }
    spad_kernel_destroy(kernel);
    spad_check_counts *counts = &run->check->counts;
    counts->events += check->counts.events;
    counts->accesses += check->counts.accesses;
    counts->runs += check->counts.runs;
    return status;
}

/* ---- reports ----------------------------------------------------------------------- */

static void describe_values(const spad__run *run, const spad__tries *tries, int64_t value,
                            char *field, size_t size) {
    size_t used = 0;
    for (size_t i = 0; i < tries->other_count; i++) {
        used = spad__append(field, size, used, "%.64s = %lld, ", tries->others[i].name,
                            (long long)tries->others[i].value);
    }
    spad__append(field, size, used, "%.64s = %lld",
                 spad_kernel_get_param(run->kernel, tries->param)->name, (long long)value);
}

static spad_status report_value(spad__run *run, const spad__tries *tries, int64_t value,
                                const spad_check *check, spad_error *error) {
    char shape[SPAD_MESSAGE_MAX / 4];
    for (size_t i = 0; tries->hint != NULL && i < check->found.count; i++) {
        const size_t statement = (size_t)tries->hint_statement;
        spad__point_note(spad__finding_add_note(&check->found.items[i].finding, "%s", tries->hint),
                         spad_kernel_get_statement(run->kernel, statement)->location);
    }
    describe_values(run, tries, value, shape, sizeof shape);
    return spad__add_of_shape(run, check, shape, tries->severity, error);
}

static void keep_wrong(spad__tried *out, int64_t value, const spad_check *check) {
    out->value = value;
    for (size_t i = 0; i < check->found.count; i++) {
        if (check->found.items[i].finding.severity != SPAD_SEVERITY_ERROR) continue;
        spad__copy_cut(out->message, sizeof out->message, check->found.items[i].finding.message);
        break;
    }
}

static void keep_value(int64_t *list, size_t *count, int64_t value) {
    list[(*count)++] = value;
    qsort(list, *count, sizeof *list, compare_numbers);
}

/* One value; *low has the findings of the largest one below the given one that is wrong. */
static spad_status check_neighbour(spad__run *run, spad__tries *tries, int64_t value, bool below,
                                   spad_check *low, spad__tried *out, spad_error *error) {
    spad_check check = {.host = run->check->host};
    result how;
    spad_status status = try_value(run, tries, value, &check, &how, error);
    if (status == SPAD_OK && how == TRY_RIGHT) {
        keep_value(out->right, &out->right_count, value);
        if (out->low) { /* a hole */
            out->low = false;
            out->wrong = true;
            status = report_value(run, tries, out->value, low, error);
        }
    } else if (status == SPAD_OK && how == TRY_REFUSED) {
        keep_value(out->refused, &out->refused_count, value);
    } else if (status == SPAD_OK && how == TRY_WRONG && (!below || tries->size)) {
        keep_wrong(out, value, &check);
        out->wrong = true;
        status = report_value(run, tries, value, &check, error);
    } else if (how == TRY_WRONG && !out->low) {
        keep_wrong(out, value, &check);
        out->low = true;
        const spad_check empty = *low;
        *low = check;
        check = empty;
    }
    spad__drop_findings(&check);
    return status;
}

spad_status spad__try_neighbours(spad__run *run, spad__tries *tries, spad__tried *out,
                                 spad_error *error) {
    const int64_t given = spad_kernel_get_param(run->kernel, tries->param)->value;
    values list;
    spad_check low = {.host = run->check->host};
    spad_status status = SPAD_OK;
    *out = (spad__tried){.wrong = false};
    choose_values(&list, run->kernel, tries);
    size_t above = 0;
    while (above < list.count && list.items[above] < given) above++;
    for (size_t i = 0; i < list.count && status == SPAD_OK && !out->wrong; i++) {
        if (spad__is_late(run)) break;
        const bool below = i >= list.count - above;
        const int64_t value = list.items[below ? list.count - 1 - i : above + i];
        status = check_neighbour(run, tries, value, below, &low, out, error);
    }
    spad__drop_findings(&low);
    return status;
}

spad_status spad__try_row(spad__run *run, spad__tries *tries, spad__tried *out, int64_t *first,
                          int64_t *last, spad_error *error) {
    const int64_t given = spad_kernel_get_param(run->kernel, tries->param)->value;
    spad_status status = SPAD_OK;
    bool goes_on = true;
    *first = 0;
    *last = -1;
    for (int64_t value = 0; goes_on && status == SPAD_OK && !spad__is_late(run); value++) {
        spad_check check = {.host = run->check->host};
        result how;
        status = try_value(run, tries, value, &check, &how, error);
        const bool before = *last < *first;
        goes_on = how == TRY_RIGHT || (before && how != TRY_OPEN && value < ROW_BEGIN);
        if (status == SPAD_OK && how == TRY_RIGHT) {
            *last = value;
            if (before) *first = value;
        } else if (status == SPAD_OK && how == TRY_WRONG && (!before || value > given)) {
            keep_wrong(out, value, &check);
            out->wrong = true;
            status = report_value(run, tries, value, &check, error);
        }
        spad__drop_findings(&check);
    }
    return status;
}
