/* SPDX-License-Identifier: Apache-2.0
 *
 * Trip counts without a proof: some of their values are tried. And sizes, of which there is never a
 * proof: those that the options name, and one that a number in the text may stand for. "kk == 3"
 * is right with R = 4 only, if the last iteration of `for kk in 0..R` is meant.
 */
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/text.h"
#include "check/neighbours.h"
#include "check/prover.h"
#include "check/size.h"

/* What it may cost: events, as a multiple of those of the given shape, and at least so many; and a
 * small value for other trip counts of a large shape. */
enum { TRIES_TIMES = 4, TRIES_LEAST = 20000, TRIES_MOST = 2000000, TRIES_SMALL = 4 };

/* The same for all values from 0 on. */
enum { ROW_WORK = 400000 };

static size_t left_count(const spad__prover *p) {
    return p->fixed < SPAD__LEFT_MAX ? p->fixed : SPAD__LEFT_MAX;
}

/* Small values for all other trip counts, if the given shape is large. */
static size_t choose_others(const spad__prover *p, size_t number, spad_define *others) {
    size_t count = 0;
    if (spad__events_most(p->kernel) <= TRIES_LEAST) return 0;
    for (size_t i = 0; i < p->count; i++) {
        const spad__trip *t = &p->trips[i];
        const int64_t small = spad__trip_small(t);
        if (small == t->given) continue;
        others[count++] =
            (spad_define){spad_kernel_get_param(p->kernel, t->growth.param)->name, small};
    }
    for (size_t i = 0; i < left_count(p); i++) {
        const spad_kernel_param *param = spad_kernel_get_param(p->kernel, p->left[i].param);
        if (i == number || param->value <= TRIES_SMALL) continue;
        others[count++] = (spad_define){param->name, TRIES_SMALL};
    }
    return count;
}

/* "1, 2, 4" */
static void format_list(const int64_t *list, size_t count, char *field, size_t size) {
    size_t used = 0;
    field[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        used = spad__append(field, size, used, "%s%lld", i > 0 ? ", " : "", (long long)list[i]);
    }
}

/* Values that cannot be, unless it is only that nothing is left at 0. Returns the length. */
static size_t describe_refused(const char *name, const spad__tried *tried, char *field, size_t size,
                               size_t used) {
    char list[SPAD_MESSAGE_MAX / 4];
    size_t first = 0;
    while (first < tried->refused_count && tried->refused[first] == 0) first++;
    if (first == tried->refused_count) return used;
    format_list(tried->refused + first, tried->refused_count - first, list, sizeof list);
    return spad__append(field, size, used, "; there is no kernel with %.64s = %s", name, list);
}

/* Values that are all right. */
typedef struct value_row {
    int64_t first;
    int64_t last; /* below first: none */
} value_row;

/* What is known about a parameter without a proof. */
static void describe_left(const spad__prover *p, const spad__left_trip *left,
                          const spad__tried *tried, const value_row *row, char *field,
                          size_t size) {
    const spad_kernel_param *param = spad_kernel_get_param(p->kernel, left->param);
    const long long given = param->value;
    char list[SPAD_MESSAGE_MAX / 4];
    if (tried->wrong) {
        snprintf(field, size, "right at %.64s = %lld, not with %.64s = %lld: %s", param->name,
                 given, param->name, (long long)tried->value, tried->message);
        return;
    }
    size_t used =
        spad__append(field, size, 0, "%.64s is fixed at %lld: %s", param->name, given, left->why);
    format_list(tried->right, tried->right_count, list, sizeof list);
    if (row->last > row->first) {
        used = spad__append(field, size, used, "; every %.64s from %lld to %lld is right",
                            param->name, (long long)row->first, (long long)row->last);
    } else if (tried->right_count > 0) {
        used = spad__append(field, size, used, "; %.64s = %s %s right, too", param->name, list,
                            tried->right_count == 1 ? "is" : "are");
    }
    used = describe_refused(param->name, tried, field, size, used);
    if (tried->low) {
        spad__append(field, size, used, "; not with %.64s = %lld: %s", param->name,
                     (long long)tried->value, tried->message);
    }
}

spad_status spad__try_left(spad__prover *p, spad_error *error) {
    char text[SPAD_MESSAGE_MAX * 2];
    spad_define others[SPAD__TRIPS_MAX + SPAD__LEFT_MAX];
    const int64_t events = spad__min(spad__events_most(p->kernel), TRIES_MOST);
    int64_t work = spad__min(spad__max(TRIES_TIMES * events, TRIES_LEAST), TRIES_MOST);
    p->why[0] = '\0';
    for (size_t i = 0; i < left_count(p); i++) {
        spad__tries tries = {.param = p->left[i].param,
                             .others = others,
                             .work = work,
                             .severity = SPAD_SEVERITY_WARNING};
        spad__tried tried;
        tries.other_count = choose_others(p, i, others);
        const spad_status status = spad__try_neighbours(p->run, &tries, &tried, error);
        if (status != SPAD_OK) return status;
        work = tries.work;
        value_row row = {0, -1};
        if (p->left[i].in_row && !tried.wrong) {
            tries.work = ROW_WORK;
            const spad_status done =
                spad__try_row(p->run, &tries, &tried, &row.first, &row.last, error);
            if (done != SPAD_OK) return done;
        }
        describe_left(p, &p->left[i], &tried, &row, text, sizeof text);
        if (i == 0 || tried.wrong) spad__copy_cut(p->why, sizeof p->why, text);
        p->seen_wrong = p->seen_wrong || tried.wrong || tried.low;
        if (tried.wrong) break;
    }
    return SPAD_OK;
}

/* ---- sizes ------------------------------------------------------------------------- */

/* How far from the given value: where it is asked for, and where it is not. */
enum { REACH = 2, REACH_UNASKED = 1 };

static bool has_node(const spad_kernel *kernel, spad_expr expr, spad_expr_op op, int64_t value) {
    const spad_expr_info info = spad_kernel_get_expr(kernel, expr);
    for (size_t n = 0; n < info.node_count; n++) {
        if (info.nodes[n].op == op && info.nodes[n].value == value) return true;
    }
    return false;
}

/* Has an expression the variable of a loop that runs up to the parameter? */
static bool runs_up_to(const spad_kernel *kernel, spad_expr expr, size_t param) {
    for (size_t i = 0; i < spad_kernel_loop_count(kernel); i++) {
        const spad_kernel_loop *loop = spad_kernel_get_loop(kernel, i);
        if (has_node(kernel, loop->end.expr, SPAD_EXPR_PARAM, (int64_t)param) &&
            has_node(kernel, expr, SPAD_EXPR_VARIABLE, (int64_t)i)) {
            return true;
        }
    }
    return false;
}

/* Is the number compared with such a variable? */
static bool compares(const spad_kernel *kernel, const spad_statement *s, size_t param,
                     int64_t number) {
    for (size_t c = 0; c < s->comparison_count; c++) {
        const spad_expr left = s->comparisons[c].left;
        const spad_expr right = s->comparisons[c].right;
        if ((has_node(kernel, right, SPAD_EXPR_NUMBER, number) &&
             runs_up_to(kernel, left, param)) ||
            (has_node(kernel, left, SPAD_EXPR_NUMBER, number) &&
             runs_up_to(kernel, right, param))) {
            return true;
        }
    }
    return false;
}

/* Is the number in the index, or the amount, of objects of which there are as many as the parameter
 * says? */
static bool counts_objects(const spad_kernel *kernel, const spad_statement *s, size_t param,
                           int64_t number) {
    const bool tile = s->kind == SPAD_STATEMENT_ALLOC || s->kind == SPAD_STATEMENT_FREE;
    if (s->index_count == 0 || tile) return false;
    if (s->item < 0 || (size_t)s->item >= spad_kernel_sync_count(kernel)) return false;
    const spad_kernel_sync *sync = spad_kernel_get_sync(kernel, (size_t)s->item);
    bool as_many = false;
    for (size_t d = 0; d < sync->dims.count; d++) {
        as_many =
            as_many || has_node(kernel, sync->dims.items[d].expr, SPAD_EXPR_PARAM, (int64_t)param);
    }
    bool found = has_node(kernel, s->amount, SPAD_EXPR_NUMBER, number);
    for (size_t d = 0; d < s->index_count; d++) {
        found = found || has_node(kernel, s->index[d], SPAD_EXPR_NUMBER, number);
    }
    return as_many && found;
}

/* A statement with a number that may stand for the parameter, or for one less; -1: none. */
static int64_t find_number(const spad_kernel *kernel, size_t param, bool less) {
    const int64_t value = spad_kernel_get_param(kernel, param)->value;
    for (size_t i = 0; i < spad_kernel_statement_count(kernel); i++) {
        const spad_statement *s = spad_kernel_get_statement(kernel, i);
        if (compares(kernel, s, param, value - less)) return (int64_t)i;
        if (!less && counts_objects(kernel, s, param, value)) return (int64_t)i;
    }
    return -1;
}

static bool is_asked_for(const spad__prover *p, const char *name) {
    const spad_check_options *options = p->run->options;
    for (size_t i = 0; i < options->vary_count; i++) {
        if (strcmp(options->vary[i], name) == 0) return true;
    }
    return false;
}

/* Is it proved, or have other values been tried? */
static bool is_known(const spad__prover *p, size_t param) {
    for (size_t i = 0; i < p->count; i++) {
        if (p->trips[i].growth.param == param) return true;
    }
    for (size_t i = 0; i < left_count(p); i++) {
        if (p->left[i].param == param) return true;
    }
    return false;
}

/* What came of a size, after the reason of the verdict. */
static void add_to_reason(spad__prover *p, const spad_kernel_param *param,
                          const spad__tried *tried) {
    char text[SPAD_MESSAGE_MAX * 3];
    char list[SPAD_MESSAGE_MAX / 4];
    spad_check *check = p->run->check;
    if (tried->wrong) {
        snprintf(text, sizeof text, "right at %.64s = %lld, not with %.64s = %lld: %s; %s",
                 param->name, (long long)param->value, param->name, (long long)tried->value,
                 tried->message, check->reason);
    } else if (tried->right_count > 0) {
        format_list(tried->right, tried->right_count, list, sizeof list);
        snprintf(text, sizeof text, "%s; %.64s = %s %s right, too", check->reason, param->name,
                 list, tried->right_count == 1 ? "is" : "are");
    } else {
        snprintf(text, sizeof text, "%s; no other %.64s could be tried", check->reason,
                 param->name);
    }
    spad__copy_cut(check->reason, sizeof check->reason, text);
}

/* Tries the neighbours of one size. */
static spad_status try_size(spad__prover *p, size_t number, bool asked, int64_t *work,
                            spad_error *error) {
    const spad_kernel_param *param = spad_kernel_get_param(p->kernel, number);
    spad_define others[SPAD__TRIPS_MAX + SPAD__LEFT_MAX];
    char hint[SPAD_MESSAGE_MAX / 2];
    spad__tries tries = {.param = number,
                         .others = others,
                         .reach = asked ? REACH : REACH_UNASKED,
                         .size = true,
                         .severity = asked ? SPAD_SEVERITY_WARNING : SPAD_SEVERITY_ADVICE,
                         .work = *work};
    const int64_t last = find_number(p->kernel, number, true);
    const int64_t whole = find_number(p->kernel, number, false);
    const int64_t statement = last >= 0 ? last : whole;
    const int64_t value = last >= 0 ? param->value - 1 : param->value;
    if (statement < 0 && !asked) return SPAD_OK;
    if (statement >= 0) {
        snprintf(
            hint, sizeof hint, "%lld is written here, and %.64s%s is %lld: should it follow %.64s?",
            (long long)value, param->name, last >= 0 ? " - 1" : "", (long long)value, param->name);
        tries.hint = hint;
        tries.hint_statement = statement;
    }
    tries.other_count = choose_others(p, SIZE_MAX, others);
    for (size_t i = 0; i < tries.other_count; i++) {
        if (strcmp(others[i].name, param->name) == 0) others[i--] = others[--tries.other_count];
    }
    spad__tried tried;
    const spad_status status = spad__try_neighbours(p->run, &tries, &tried, error);
    *work = tries.work;
    if (status == SPAD_OK && asked) add_to_reason(p, param, &tried);
    return status;
}

spad_status spad__try_sizes(spad__prover *p, spad_error *error) {
    const int64_t events = spad__min(spad__events_most(p->kernel), TRIES_MOST);
    int64_t work = spad__min(spad__max(TRIES_TIMES * events, TRIES_LEAST), TRIES_MOST);
    for (size_t i = 0; i < spad_kernel_param_count(p->kernel); i++) {
        const spad_kernel_param *param = spad_kernel_get_param(p->kernel, i);
        const bool asked = is_asked_for(p, param->name);
        const bool quiet = p->run->options->one_shape || p->run->options->no_advice;
        const bool unasked = !quiet && !is_known(p, i) && param->value > 2;
        if (!asked && !unasked) continue;
        const spad_status status = try_size(p, i, asked, &work, error);
        if (status != SPAD_OK) return status;
    }
    return SPAD_OK;
}
