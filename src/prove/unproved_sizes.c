/* SPDX-License-Identifier: Apache-2.0
 *
 * Trip counts without a proof: some of their values are tried. Sizes are never proved
 * either: those that the options name, and one that a number in the text may stand for. "kk == 3"
 * is right with R = 4 only, if the last iteration of `for kk in 0..R` is meant.
 */
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/text.h"
#include "kernel/event_bound.h"
#include "kernel/kernel.h"
#include "prove/neighbours.h"
#include "prove/prover.h"

/* Cost limit in events: a multiple of the given shape's, and a least and a most number; and a small
 * value for other trip counts of a large shape. */
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
            (spad_define){spad_kernel_get_param(p->kernel, t->induction.param)->name, small};
    }
    for (size_t i = 0; i < left_count(p); i++) {
        const spad_kernel_param *param = spad_kernel_get_param(p->kernel, p->left[i].param);
        if (i == number || param->value <= TRIES_SMALL) continue;
        others[count++] = (spad_define){param->name, TRIES_SMALL};
    }
    return count;
}

/* The same for a parameter that is not among those that are left. */
static size_t choose_others_of(const spad__prover *p, const char *name, spad_define *others) {
    size_t count = choose_others(p, SIZE_MAX, others);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(others[i].name, name) == 0) others[i--] = others[--count];
    }
    return count;
}

/* An error with a value that the kernel may have is reported as one, unless other values were
 * changed.
 */
static spad_severity severity_of_tries(const spad_kernel_param *param, size_t other_count) {
    return param->any && other_count == 0 ? SPAD_SEVERITY_ERROR : SPAD_SEVERITY_WARNING;
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

/* "; N = 1, 2 are right, too": results for a parameter without a proof. Returns the length.
 */
static size_t describe_tried(const char *name, const spad__tried *tried, const value_row *row,
                             char *field, size_t size, size_t used) {
    char list[SPAD_MESSAGE_MAX / 4];
    format_list(tried->right, tried->right_count, list, sizeof list);
    if (row->last > row->first) {
        used = spad__append(field, size, used, "; all %.64s from %lld to %lld are right", name,
                            (long long)row->first, (long long)row->last);
    } else if (tried->right_count > 0) {
        used = spad__append(field, size, used, "; %.64s = %s %s right, too", name, list,
                            tried->right_count == 1 ? "is" : "are");
    }
    used = describe_refused(name, tried, field, size, used);
    if (tried->low) {
        used = spad__append(field, size, used, "; not with %.64s = %lld: %s", name,
                            (long long)tried->value, tried->message);
    }
    return used;
}

static void describe_wrong(const spad_kernel_param *param, const spad__tried *tried, char *field,
                           size_t size) {
    snprintf(field, size, "right at %.64s = %lld, not with %.64s = %lld: %s", param->name,
             (long long)param->value, param->name, (long long)tried->value, tried->message);
}

/* The first one with its reason, one that is wrong, or one with small values that are. */
static void describe_left(spad__prover *p, size_t number, const spad__tried *tried,
                          const value_row *row) {
    const spad__left_trip *left = &p->left[number];
    const spad_kernel_param *param = spad_kernel_get_param(p->kernel, left->param);
    char text[SPAD__REASON_MAX * 2];
    if (tried->wrong) {
        describe_wrong(param, tried, text, sizeof text);
    } else if (number == 0) {
        const size_t used = spad__append(text, sizeof text, 0, "%.64s is fixed at %lld: %s",
                                         param->name, (long long)param->value, left->why);
        describe_tried(param->name, tried, row, text, sizeof text, used);
    } else if (tried->low) {
        const size_t used = spad__append(text, sizeof text, 0, "%s", p->why);
        describe_tried(param->name, tried, row, text, sizeof text, used);
    } else {
        return; /* add_right names it */
    }
    spad__copy_cut(p->why, sizeof p->why, text);
}

/* The parameters after the first one whose tried values are all right. */
static void add_right(spad__prover *p, const char *names) {
    char text[SPAD__REASON_MAX * 2];
    if (names[0] == '\0') return;
    snprintf(text, sizeof text, "%s; values of %s that were tried are right, too", p->why, names);
    spad__copy_cut(p->why, sizeof p->why, text);
}

static int64_t work_of_tries(const spad__prover *p) {
    const int64_t events = spad__min(spad__events_most(p->kernel), TRIES_MOST);
    return spad__min(spad__max(TRIES_TIMES * events, TRIES_LEAST), TRIES_MOST);
}

/* All of them together, and with the trip counts that are proved. */
static spad_status challenge_left(spad__prover *p, spad_error *error) {
    char found[SPAD_MESSAGE_MAX * 2];
    char text[SPAD__REASON_MAX * 2];
    const spad_status status = spad__challenge_open(p, false, found, sizeof found, error);
    if (status != SPAD_OK || found[0] == '\0') return status;
    snprintf(text, sizeof text, "%s; %s", found, p->why);
    spad__copy_cut(p->why, sizeof p->why, text);
    p->seen_wrong = true;
    return SPAD_OK;
}

spad_status spad__try_left(spad__prover *p, spad_error *error) {
    spad_define others[SPAD__TRIPS_MAX + SPAD__LEFT_MAX];
    int64_t work = work_of_tries(p);
    char right[SPAD_MESSAGE_MAX / 2] = "";
    size_t used = 0;
    p->why[0] = '\0';
    for (size_t i = 0; i < left_count(p); i++) {
        spad__tries tries = {.param = p->left[i].param, .others = others, .work = work};
        spad__tried tried;
        tries.other_count = choose_others(p, i, others);
        tries.severity =
            severity_of_tries(spad_kernel_get_param(p->kernel, tries.param), tries.other_count);
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
        describe_left(p, i, &tried, &row);
        p->left[i].tried = tried.right_count > 0 || tried.wrong || tried.low;
        p->seen_wrong = p->seen_wrong || tried.wrong || tried.low;
        if (tried.wrong) return SPAD_OK;
        if (i == 0 || tried.low || tried.right_count == 0) continue;
        used = spad__append(right, sizeof right, used, "%s%.64s", used > 0 ? ", " : "",
                            spad_kernel_get_param(p->kernel, tries.param)->name);
    }
    add_right(p, right);
    return challenge_left(p, error);
}

/* Adds results for other values after the reason of the verdict, errors in front of it.
 */
static void add_to_reason(spad__prover *p, const spad_kernel_param *param,
                          const spad__tried *tried) {
    static const value_row none = {0, -1};
    char text[SPAD__REASON_MAX * 2];
    spad_check *check = p->run->check;
    if (tried->wrong) {
        describe_wrong(param, tried, text, sizeof text);
        const size_t used = strlen(text);
        spad__append(text, sizeof text, used, "; %s", check->reason);
    } else {
        const size_t used = spad__append(text, sizeof text, 0, "%s", check->reason);
        const size_t end = describe_tried(param->name, tried, &none, text, sizeof text, used);
        if (end == used)
            spad__append(text, sizeof text, used, "; no other %.64s could be tried", param->name);
    }
    spad__copy_cut(check->reason, sizeof check->reason, text);
}

/* ---- trip counts of a proof that failed ------------------------------------------------ */

/* All of them together; errors come in front of the reason of the verdict. */
static spad_status challenge_reason(spad__prover *p, spad_error *error) {
    char *reason = p->run->check->reason;
    char found[SPAD_MESSAGE_MAX * 2];
    char text[SPAD__REASON_MAX * 2];
    if (p->seen_wrong) return SPAD_OK;
    const spad_status status = spad__challenge_open(p, true, found, sizeof found, error);
    if (status != SPAD_OK || found[0] == '\0') return status;
    snprintf(text, sizeof text, "but %s; %s", found, reason);
    spad__copy_cut(reason, sizeof p->run->check->reason, text);
    return SPAD_OK;
}

spad_status spad__try_open(spad__prover *p, spad_error *error) {
    spad_define others[SPAD__TRIPS_MAX + SPAD__LEFT_MAX];
    int64_t work = work_of_tries(p);
    for (size_t i = 0; i < p->count; i++) {
        const size_t number = p->trips[i].induction.param;
        const spad_kernel_param *param = spad_kernel_get_param(p->kernel, number);
        spad__tries tries = {.param = number, .others = others, .work = work};
        spad__tried tried;
        tries.other_count = choose_others_of(p, param->name, others);
        tries.severity = severity_of_tries(param, tries.other_count);
        const spad_status status = spad__try_neighbours(p->run, &tries, &tried, error);
        if (status != SPAD_OK) return status;
        work = tries.work;
        add_to_reason(p, param, &tried);
        if (tried.wrong) return SPAD_OK;
    }
    return challenge_reason(p, error);
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

/* True if the number is in the index, or the amount, of objects that the parameter counts. */
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

/* Is it proved, or without a proof? */
static bool is_known(const spad__prover *p, size_t param) {
    for (size_t i = 0; i < p->count; i++) {
        if (p->trips[i].induction.param == param) return true;
    }
    for (size_t i = 0; i < left_count(p); i++) {
        if (p->left[i].param == param) return true;
    }
    return false;
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
    tries.other_count = choose_others_of(p, param->name, others);
    spad__tried tried;
    const spad_status status = spad__try_neighbours(p->run, &tries, &tried, error);
    *work = tries.work;
    if (status == SPAD_OK && asked) add_to_reason(p, param, &tried);
    return status;
}

spad_status spad__try_sizes(spad__prover *p, spad_error *error) {
    int64_t work = work_of_tries(p);
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

/* ---- parameters in no claim -------------------------------------------------------- */

/* Is it in an expression? The first one that has it is its declaration. */
static bool is_param_used(const spad_kernel *kernel, size_t param) {
    int uses = 0;
    for (size_t i = 1; i < kernel->exprs.count && uses < 2; i++) {
        uses += has_node(kernel, (spad_expr)i, SPAD_EXPR_PARAM, (int64_t)param);
    }
    return uses == 2;
}

/* Is a parameter without a proof that was tried with no other value, and is not the one that the
 * reason is about? */
static bool is_untried_left(const spad__prover *p, size_t param) {
    for (size_t i = 1; i < left_count(p); i++) {
        if (p->left[i].param == param) return !p->left[i].tried;
    }
    return false;
}

void spad__name_untried(spad__prover *p) {
    spad_check *check = p->run->check;
    char names[SPAD_MESSAGE_MAX / 2] = "";
    char text[SPAD_MESSAGE_MAX];
    size_t used = 0;
    for (size_t i = 0; i < spad_kernel_param_count(p->kernel); i++) {
        const char *name = spad_kernel_get_param(p->kernel, i)->name;
        if (is_asked_for(p, name) || !is_param_used(p->kernel, i)) continue;
        if (is_known(p, i) && !is_untried_left(p, i)) continue;
        used = spad__append(names, sizeof names, used, "%s%.64s", used > 0 ? ", " : "", name);
    }
    if (used == 0) return;
    static const char words[] = "; other values of  were not tried";
    const size_t room = sizeof text > used + sizeof words ? sizeof text - used - sizeof words : 1;
    spad__copy_cut(text, room, check->reason); /* the names must be there */
    const size_t kept = strlen(text);
    spad__append(text, sizeof text, kept, "; other values of %s were not tried", names);
    spad__copy_cut(check->reason, sizeof check->reason, text);
}
