/* SPDX-License-Identifier: Apache-2.0
 *
 * Trip counts: which parameters are, and from which value on their runs repeat themselves.
 */
#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "prove/prover.h"

#include <stdio.h>

int64_t spad__trip_small(const spad__trip *t) {
    spad__assert(t->induction.step > 0);
    const int64_t step = t->induction.step;
    const int64_t most = 3 * step + 4;
    return t->given <= most ? t->given : most - spad__floor_mod(most - t->given, step);
}

bool spad__trip_bounds_loop(const spad_kernel *kernel, size_t param) {
    for (size_t i = 0; i < spad_kernel_loop_count(kernel); i++) {
        const spad_kernel_loop *loop = spad_kernel_get_loop(kernel, i);
        const spad_expr ends[] = {loop->begin.expr, loop->end.expr};
        for (size_t e = 0; e < 2; e++) {
            const spad_expr_info info = spad_kernel_get_expr(kernel, ends[e]);
            for (size_t n = 0; n < info.node_count; n++) {
                if (info.nodes[n].op == SPAD_EXPR_PARAM && info.nodes[n].value == (int64_t)param) {
                    return true;
                }
            }
        }
    }
    return false;
}

/* A parameter that stays as it is. */
static void leave_fixed(spad__prover *p, size_t param, const char *why) {
    if (p->fixed < SPAD__LEFT_MAX) {
        p->left[p->fixed].param = param;
        spad__copy_cut(p->left[p->fixed].why, sizeof p->left[0].why, why);
    }
    p->fixed++;
}

spad_status spad__trips_find(spad__prover *p, spad_error *error) {
    for (size_t i = 0; i < spad_kernel_param_count(p->kernel); i++) {
        if (!spad__trip_bounds_loop(p->kernel, i)) continue;
        if (p->count == SPAD__TRIPS_MAX) {
            leave_fixed(p, i, "there are too many of them");
            continue;
        }
        spad__trip *t = &p->trips[p->count];
        const spad_status status =
            spad__induction_init(&t->induction, p->kernel, i, 1, p->part, &p->host, error);
        if (status != SPAD_OK) return status;
        t->given = spad_kernel_get_param(p->kernel, i)->value;
        if (t->induction.refusal.kind == SPAD__NOT_REFUSED && !t->induction.skipped) {
            p->count++;
            continue;
        }
        if (t->induction.refusal.kind == SPAD__NOT_REFUSED) {
            leave_fixed(p, i, "a loop does not run with the given values");
            spad__induction_free(&t->induction);
            continue;
        }
        char why[SPAD_MESSAGE_MAX / 2];
        if (t->induction.refusal.kind == SPAD__REFUSED_TOO_LONG) p->long_step = true;
        spad__induction_reason(&t->induction, p->kernel, why, sizeof why);
        const spad__refusal_kind kind = t->induction.refusal.kind;
        if (kind != SPAD__REFUSED_SIZE) leave_fixed(p, i, why);
        if (p->fixed > 0 && p->fixed <= SPAD__LEFT_MAX && p->left[p->fixed - 1].param == i) {
            p->left[p->fixed - 1].in_row = kind == SPAD__REFUSED_NESTED;
            p->left[p->fixed - 1].nested = kind == SPAD__REFUSED_NESTED;
        }
        spad__induction_free(&t->induction);
    }
    return SPAD_OK;
}

void spad__trip_drop(spad__prover *p, size_t number, const char *why) {
    spad__assert(number < p->count);
    leave_fixed(p, p->trips[number].induction.param, why);
    spad__induction_free(&p->trips[number].induction);
    p->count--;
    memmove(&p->trips[number], &p->trips[number + 1], (p->count - number) * sizeof p->trips[0]);
}

void spad__trips_part(spad__prover *p) {
    char why[SPAD_MESSAGE_MAX / 2];
    for (size_t i = 0; i < p->count; i++) {
        for (size_t j = p->count; j-- > 0;) {
            if (j == i || !p->trips[i].induction.relies[p->trips[j].induction.param]) continue;
            const size_t param = p->trips[i].induction.param;
            snprintf(why, sizeof why, "how far %.64s moves an index depends on it",
                     spad_kernel_get_param(p->kernel, param)->name);
            spad__trip_drop(p, j, why);
            if (j < i) i--;
        }
    }
}

/* Does a run with this value of one trip count, and these or small ones of the others, repeat
 * itself? others: 0 means small. *none: no kernel exists, so nothing needs to repeat. */
static spad_status try_repeat_at(spad__prover *p, size_t number, int64_t value, int64_t others,
                                 bool *repeats, bool *none, spad_error *error) {
    spad__shape s = {.possible = false};
    *repeats = *none = false;
    if (p->work > p->work_most || spad__is_late(p->run)) return SPAD_OK;
    for (size_t i = 0; i < p->count; i++) {
        s.values[i] = others > 0 ? others : spad__trip_small(&p->trips[i]);
    }
    s.values[number] = value;
    p->asked = &p->trips[number];
    const spad_status status = spad__shape_try(p, &s, error);
    p->asked = NULL;
    *none = status == SPAD_OK && !s.possible;
    *repeats = status == SPAD_OK && s.possible && s.gap == NULL && s.repeats[number];
    return status;
}

/* Where trip counts depend on each other it is the shortest runs of the others that take longest:
 * a ring then holds tiles of many of them. */
static spad_status try_repeat(spad__prover *p, size_t number, int64_t value, bool *repeats,
                              bool *none, spad_error *error) {
    spad_status status = try_repeat_at(p, number, value, 0, repeats, none, error);
    for (int64_t others = 1; p->joint && others <= 2 && *repeats && status == SPAD_OK; others++) {
        bool left_out;
        status = try_repeat_at(p, number, value, others, repeats, &left_out, error);
        *repeats = *repeats || left_out;
    }
    return status;
}

/* The largest value that is tried at first, and later: conditions such as `i >= 40` can make a loop
 * begin to repeat itself late. */
static int64_t repeats_most(const spad__trip *t, bool later) {
    return 4 * t->induction.step + (later ? 256 : 16);
}

/* From which value on do runs repeat themselves? One that does continues to do so when the value
 * grows by steps, so the first is found by halving. *found is false: none that was tried does. */
static spad_status find_repeat(spad__prover *p, size_t number, bool *found, spad_error *error) {
    spad__trip *t = &p->trips[number];
    int64_t low = t->induction.step - 1; /* too short for two periods */
    t->repeats = repeats_most(t, false);
    bool none;
    spad_status status = try_repeat(p, number, t->repeats, found, &none, error);
    if (status == SPAD_OK && !*found && !p->exhausted && p->cut == NULL) {
        low = t->repeats;
        t->repeats = repeats_most(t, true);
        status = try_repeat(p, number, t->repeats, found, &none, error);
    }
    while (status == SPAD_OK && *found && t->repeats - low > 1) {
        const int64_t middle = low + (t->repeats - low) / 2;
        spad__assert(low < middle && middle < t->repeats);
        bool repeats;
        status = try_repeat(p, number, middle, &repeats, &none, error);
        if (repeats) {
            t->repeats = middle;
        } else {
            low = middle;
        }
    }
    return status;
}

/* Where the rest of a trip count by its step decides something, each rest must repeat itself. */
static spad_status repeat_all_rests(spad__prover *p, size_t number, bool *found,
                                    spad_error *error) {
    spad__trip *t = &p->trips[number];
    const int64_t most = repeats_most(t, true);
    spad_status status = SPAD_OK;
    for (int64_t value = t->repeats + 1;
         status == SPAD_OK && value < t->repeats + t->induction.step; value++) {
        bool repeats, none;
        status = try_repeat(p, number, value, &repeats, &none, error);
        if (!repeats && !none) t->repeats = value + 1;
        if (t->repeats > most) *found = false;
        if (!*found) break;
    }
    return status;
}

/* Where another rest of a trip count by its step moves expressions by other amounts, writes off the
 * chip may meet later: takes the latest of all rests. *fine is false: for one of them that holds
 * for a value of another trip count only. */
static spad_status look_at_rests(spad__prover *p, size_t number, bool *fine, spad_error *error) {
    spad__induction *of = &p->trips[number].induction;
    const spad__induction_request request = {
        .param = of->param, .step = of->step, .part = p->part, .holds_cursors = of->holds_cursors};
    spad__shape s = {.possible = false};
    *fine = true;
    if (!of->rests || !of->writes_off_chip || of->least > SPAD__SHAPES_MAX) return SPAD_OK;
    for (size_t i = 0; i < p->count; i++) s.values[i] = p->trips[i].given;
    for (int64_t rest = 1; rest < of->step && *fine && !spad__is_late(p->run); rest++) {
        spad__induction own;
        spad_kernel *kernel;
        s.values[number] = p->trips[number].given + rest;
        spad_status status = spad__shape_kernel(p, &s, &kernel, error);
        if (status != SPAD_OK) return status;
        if (kernel == NULL) continue;
        status = spad__induction_init_of(&own, kernel, &request, &p->host, error);
        spad_kernel_destroy(kernel);
        if (status != SPAD_OK) return status;
        of->least = spad__max(of->least, own.least);
        *fine = own.refusal.kind == SPAD__NOT_REFUSED && own.step == of->step;
        for (size_t i = 0; i < p->count; i++) {
            const size_t param = p->trips[i].induction.param;
            *fine = *fine && (of->relies[param] || !own.relies[param]);
        }
        spad__induction_free(&own);
    }
    return SPAD_OK;
}

spad_status spad__trips_repeat(spad__prover *p, spad_error *error) {
    for (size_t i = 0; i < p->count;) {
        bool found, fine;
        spad_status status = look_at_rests(p, i, &fine, error);
        if (status != SPAD_OK) return status;
        if (!fine || p->trips[i].induction.least > SPAD__SHAPES_MAX) {
            spad__trip_drop(p, i, "writes off the chip may meet after too many iterations");
            continue;
        }
        status = find_repeat(p, i, &found, error);
        if (status == SPAD_OK && found && p->trips[i].induction.rests) {
            status = repeat_all_rests(p, i, &found, error);
        }
        if (status != SPAD_OK) return status;
        p->trips[i].repeats += p->trips[i].induction.least; /* writes off the chip have met */
        if (found) {
            i++;
        } else {
            spad__trip_drop(p, i,
                            spad__is_late(p->run) ? spad__no_time_for_proof
                            : p->exhausted || p->work > p->work_most
                                ? "to find out whether its loop returns to the same state would "
                                  "take too many events"
                                : "its loop did not return to the same state");
        }
    }
    return SPAD_OK;
}

/* Trip counts that depend on each other have no index that stays outside of their loops
 * (joint_trips.c), so one step is enough. */
int64_t spad__trip_shapes(const spad__prover *p, const spad__trip *t) {
    spad__assert(t->repeats >= t->induction.step && t->induction.step > 0);
    return t->repeats + (p->joint ? 1 : 2) * t->induction.step;
}

int64_t spad__trips_shapes(const spad__prover *p) {
    int64_t shapes = 1;
    for (size_t i = 0; i < p->count; i++) {
        shapes = spad__min(shapes * spad__trip_shapes(p, &p->trips[i]), INT64_C(1) << 40);
    }
    return shapes;
}

void spad__trips_free(spad__prover *p) {
    for (size_t i = 0; i < p->count; i++) spad__induction_free(&p->trips[i].induction);
    p->count = 0;
}
