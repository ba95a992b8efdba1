/* SPDX-License-Identifier: Apache-2.0
 *
 * Trip counts without a proof: some of their values are tried.
 */
#include <stdio.h>

#include "base/checked.h"
#include "check/neighbours.h"
#include "check/prover.h"
#include "check/size.h"

/* What it may cost: events, as a multiple of those of the given shape, and at least so many; and a
 * small value for other trip counts of a large shape. */
enum { TRIES_TIMES = 4, TRIES_LEAST = 20000, TRIES_MOST = 2000000, TRIES_SMALL = 4 };

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
    for (size_t i = 0; i < count && used < size; i++) {
        used += (size_t)snprintf(field + used, size - used, "%s%lld", i > 0 ? ", " : "",
                                 (long long)list[i]);
    }
}

/* What is known about a parameter without a proof. */
static void describe_left(const spad__prover *p, const spad__left_trip *left,
                          const spad__tried *tried, char *field, size_t size) {
    const spad_kernel_param *param = spad_kernel_get_param(p->kernel, left->param);
    const long long given = param->value;
    char list[SPAD_MESSAGE_MAX / 4];
    if (tried->wrong) {
        snprintf(field, size, "right at %.64s = %lld, not with %.64s = %lld: %s", param->name,
                 given, param->name, (long long)tried->value, tried->message);
        return;
    }
    int used = snprintf(field, size, "%.64s is fixed at %lld: %s", param->name, given, left->why);
    format_list(tried->right, tried->right_count, list, sizeof list);
    if (tried->right_count > 0 && used > 0 && (size_t)used < size) {
        used += snprintf(field + used, size - (size_t)used, "; %.64s = %s %s right, too",
                         param->name, list, tried->right_count == 1 ? "is" : "are");
    }
    if (tried->low && used > 0 && (size_t)used < size) {
        snprintf(field + used, size - (size_t)used, "; not with %.64s = %lld: %s", param->name,
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
        spad__tries tries = {.param = p->left[i].param, .others = others, .work = work};
        spad__tried tried;
        tries.other_count = choose_others(p, i, others);
        const spad_status status = spad__try_neighbours(p->run, &tries, &tried, error);
        if (status != SPAD_OK) return status;
        work = tries.work;
        describe_left(p, &p->left[i], &tried, text, sizeof text);
        if (i == 0 || tried.wrong) spad__copy_cut(p->why, sizeof p->why, text);
        p->seen_wrong = p->seen_wrong || tried.wrong || tried.low;
        if (tried.wrong) break;
    }
    return SPAD_OK;
}
