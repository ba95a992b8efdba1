/* SPDX-License-Identifier: Apache-2.0
 *
 * Conditions while a trip count grows: in which iterations of a growing loop every `if` keeps its
 * answer. The conditions of one run are evaluated in program order, without its operations.
 */
#include "base/assert.h"
#include "base/checked.h"
#include "check/growth.h"

/* Marks a loop without conditions, which is passed by: its window is all of it. */
enum { NO_CONDITIONS = -1 };

typedef struct condition_walk {
    const spad__growth *growth;
    const spad_kernel *kernel;
    int64_t *values;
    spad__window *windows;
    size_t at; /* statement */
    int64_t loop;
    bool broke; /* a run of a growing loop ended with a break */
    bool ran;   /* one ran to its end */
} condition_walk;

/* Does a comparison of `value` with 0 keep its answer when the value changes by `shift` again
 * and again? *holds: the answer. */
static bool keeps_answer(spad_relation relation, int64_t value, int64_t shift, bool *holds) {
    switch (relation) {
    case SPAD_EQUAL:
    case SPAD_NOT_EQUAL:
        *holds = (value == 0) == (relation == SPAD_EQUAL);
        return shift == 0 || (value > 0 && shift > 0) || (value < 0 && shift < 0);
    case SPAD_LESS: *holds = value < 0; return *holds ? shift <= 0 : shift >= 0;
    case SPAD_LESS_EQUAL: *holds = value <= 0; return *holds ? shift <= 0 : shift >= 0;
    case SPAD_GREATER: *holds = value > 0; return *holds ? shift >= 0 : shift <= 0;
    default:
        spad__assert(relation == SPAD_GREATER_EQUAL);
        *holds = value >= 0;
        return *holds ? shift >= 0 : shift <= 0;
    }
}

/* The same for all comparisons of one alternative of an if, from `*at` on, when the parameter
 * grows, and the loop (-1: none) moves on: they all hold and stay, or one of them stays false. *at
 * is the next alternative then. */
static bool alternative_keeps_answer(const condition_walk *w, const spad_statement *s, int64_t loop,
                                     size_t *at, bool *holds) {
    bool all_stay = true;
    bool one_stays_false = false;
    *holds = true;
    const size_t first = *at;
    size_t i = first;
    for (; i < s->comparison_count && (i == first || !s->comparisons[i].alternative); i++) {
        const spad_comparison *c = &s->comparisons[i];
        spad__form both, other;
        int64_t left, value;
        if (!spad__growth_form(w->growth, w->kernel, c->left, true, loop, &both) ||
            !spad__growth_form(w->growth, w->kernel, c->right, true, loop, &other) ||
            !spad__form_add(&both, &other, -1) || !spad__form_value(&both, w->values, &left) ||
            !spad__sub(spad_kernel_evaluate(w->kernel, c->left, w->values),
                       spad_kernel_evaluate(w->kernel, c->right, w->values), &value)) {
            return false;
        }
        bool one_holds;
        const bool one_stays = keeps_answer(c->relation, value, left, &one_holds);
        all_stay = all_stay && one_stays;
        one_stays_false = one_stays_false || (one_stays && !one_holds);
        *holds = *holds && one_holds;
    }
    *at = i;
    return *holds ? all_stay : one_stays_false;
}

/* The same for an if: an alternative holds and stays, or none holds and all stay. */
static bool condition_keeps_answer(const condition_walk *w, const spad_statement *s, int64_t loop,
                                   bool *holds) {
    bool all_stay = true;
    bool one_stays_true = false;
    *holds = false;
    for (size_t at = 0; at < s->comparison_count;) {
        const size_t first = at;
        bool one_holds = false;
        const bool one_stays = alternative_keeps_answer(w, s, loop, &at, &one_holds);
        if (at == first) return false; /* it does not move evenly */
        all_stay = all_stay && one_stays;
        one_stays_true = one_stays_true || (one_stays && one_holds);
        *holds = *holds || one_holds;
    }
    return *holds ? one_stays_true : all_stay;
}

/* Goes into a loop, or on to its next iteration, or after it. */
static void step_loop(condition_walk *w, const spad_kernel_loop *loop, int64_t number,
                      int64_t value) {
    if (value < loop->end.value && w->windows[number].steady != NO_CONDITIONS) {
        w->values[number] = value;
        w->loop = number;
        w->at = loop->statement + 1;
    } else {
        w->ran = w->ran || w->growth->extra[number] != 0;
        w->loop = loop->outer;
        w->at = spad_kernel_get_statement(w->kernel, loop->statement)->end;
    }
}

/* Where runs get longer each by itself, the condition that ends a run goes with it, and runs that
 * stay as they are do not count. */
static bool is_passed_by(const condition_walk *w, const spad_statement *s, int64_t loop) {
    if (w->growth->rounds == NULL || loop < 0) return false;
    if ((s->flags & SPAD_IF_OF_LOOP) != 0 && s->loop == loop) return true;
    return spad__growth_run_length(w->growth, w->kernel, loop, w->values) < w->growth->keep;
}

static bool step_if(condition_walk *w, const spad_statement *s) {
    const int64_t loop = w->growth->inside[w->at];
    bool holds;
    const bool fixed = condition_keeps_answer(w, s, -1, &holds);
    if (loop < 0) {
        if (!fixed) return false;
    } else if (!is_passed_by(w, s, loop)) {
        bool same;
        spad__window *window = &w->windows[loop];
        const int64_t begin = spad_kernel_get_loop(w->kernel, (size_t)loop)->begin.value;
        const int64_t iteration = w->values[loop] - begin;
        spad__assert(iteration >= 0);
        if (!fixed) window->fixed = spad__min(window->fixed, iteration);
        if (!condition_keeps_answer(w, s, loop, &same)) {
            window->steady = spad__max(window->steady, iteration + 1);
        }
    }
    w->at = holds ? w->at + 1 : s->item >= 0 ? (size_t)s->item + 1 : s->end;
    return true;
}

/* A growing loop is left. A break of another loop is passed by: conditions of iterations that do
 * not run do no harm. */
static void step_break(condition_walk *w, const spad_statement *s) {
    const spad_kernel_loop *loop = spad_kernel_get_loop(w->kernel, (size_t)s->loop);
    w->at++;
    if (w->growth->extra[s->loop] == 0) return;
    w->broke = true;
    w->loop = loop->outer;
    w->at = spad_kernel_get_statement(w->kernel, loop->statement)->end;
}

static bool step_condition(condition_walk *w) {
    const spad_kernel *kernel = w->kernel;
    while (w->loop >= 0) { /* at the end of the body? */
        const spad_kernel_loop *loop = spad_kernel_get_loop(kernel, (size_t)w->loop);
        if (w->at < spad_kernel_get_statement(kernel, loop->statement)->end) break;
        step_loop(w, loop, w->loop, w->values[w->loop] + 1);
    }
    if (w->at >= spad_kernel_statement_count(kernel)) return true;
    const spad_statement *s = spad_kernel_get_statement(kernel, w->at);
    if (s->kind == SPAD_STATEMENT_FOR) {
        const spad_kernel_loop *loop = spad_kernel_get_loop(kernel, (size_t)s->item);
        step_loop(w, loop, s->item, loop->begin.value);
    } else if (s->kind == SPAD_STATEMENT_IF) {
        return step_if(w, s);
    } else if (s->kind == SPAD_STATEMENT_BREAK) {
        step_break(w, s);
    } else {
        w->at = s->kind == SPAD_STATEMENT_ELSE ? s->end : w->at + 1; /* the other part has run */
    }
    return true;
}

static void mark_loops(condition_walk *w) {
    const spad_kernel *kernel = w->kernel;
    for (size_t i = 0; i < spad_kernel_loop_count(kernel); i++) {
        w->windows[i] = (spad__window){NO_CONDITIONS, INT64_MAX};
    }
    for (size_t i = 0; i < spad_kernel_statement_count(kernel); i++) {
        const spad_statement *s = spad_kernel_get_statement(kernel, i);
        const bool counts = s->kind == SPAD_STATEMENT_IF || s->kind == SPAD_STATEMENT_BREAK;
        int64_t loop = counts ? s->loop : -1;
        while (loop >= 0 && w->windows[loop].steady == NO_CONDITIONS) {
            w->windows[loop].steady = 0;
            loop = spad_kernel_get_loop(kernel, (size_t)loop)->outer;
        }
    }
}

/* All runs of growing loops end with a break, in an iteration in which, as in those before it, no
 * condition changes with the parameter: the same happens with every larger value. */
static bool is_ended(const condition_walk *w) {
    if (w->ran) return false;
    for (size_t i = 0; i < spad_kernel_loop_count(w->kernel); i++) {
        if (w->growth->extra[i] != 0 && w->windows[i].fixed != INT64_MAX) return false;
    }
    return true;
}

bool spad__growth_windows(const spad__growth *growth, const spad_kernel *kernel, int64_t limit,
                          int64_t *values, spad__window *windows, bool *ended) {
    condition_walk w = {
        .growth = growth, .kernel = kernel, .values = values, .windows = windows, .loop = -1};
    mark_loops(&w);
    bool known = true;
    while (known && (w.loop >= 0 || w.at < spad_kernel_statement_count(kernel))) {
        known = limit-- > 0 && step_condition(&w);
    }
    for (size_t i = 0; i < spad_kernel_loop_count(kernel); i++) {
        if (windows[i].steady == NO_CONDITIONS) windows[i].steady = 0;
    }
    *ended = known && w.broke && is_ended(&w);
    return known && (!w.broke || *ended);
}
