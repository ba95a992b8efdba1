/* SPDX-License-Identifier: Apache-2.0
 *
 * Conditions while a trip count grows: in which iterations of a growing loop every `if` keeps its
 * answer. The conditions of one run are evaluated in program order, without its operations.
 */
#include "base/assert.h"
#include "base/checked.h"
#include "induction/induction.h"
#include "kernel/evaluate.h"

/* Marks a loop without conditions, which is skipped: its window is all of it. */
enum { NO_CONDITIONS = -1 };

/* Remembered about a comparison: how left - right changes when the parameter grows alone,
 * and when a loop moves on with it, does not depend on where loops stand. */
typedef struct known_comparison {
    const spad_comparison *of; /* NULL: none */
    int64_t step;              /* of the walk, where left - right is `value` */
    bool evaluated;            /* false: beyond 64 bits */
    int64_t value;
    bool looked[2];
    bool even[2]; /* false: it does not change by an affine sum */
    spad__affine change[2];
} known_comparison;

/* Comparisons that are remembered; a kernel rarely has more. */
enum { KNOWN_COMPARISONS = 16 };

typedef struct condition_walk {
    const spad__induction *induction;
    const spad_kernel *kernel;
    int64_t *values;
    spad__window *windows;
    size_t at; /* statement */
    int64_t loop;
    const spad__growing *joined; /* NULL: the windows of one trip count are looked for */
    size_t joined_count;
    bool broke; /* a run of a growing loop ended with a break */
    bool ran;   /* one ran to its end */
    int64_t step;
    known_comparison known[KNOWN_COMPARISONS];
} condition_walk;

/* How an iteration of a growing loop may move: the parameter grows alone, the loop moves on with
 * it, or both any number of times, as in the iterations that a longer run has in addition. */
typedef enum window_change { PARAM_GROWS, LOOP_MOVES, BOTH_CHANGE } window_change;

/* The comparison with its value at this step of the walk. */
static known_comparison *look_up_comparison(condition_walk *w, const spad_comparison *c) {
    known_comparison *k = &w->known[(uintptr_t)c / sizeof *c % KNOWN_COMPARISONS];
    if (k->of == c && k->step == w->step) return k;
    if (k->of != c) *k = (known_comparison){.of = c};
    k->step = w->step;
    k->evaluated = spad__sub(spad__kernel_evaluate(w->kernel, c->left, w->values),
                             spad__kernel_evaluate(w->kernel, c->right, w->values), &k->value);
    return k;
}

/* Finds how left - right changes when the parameter grows, and the loop (-1: none) moves on. */
static void find_comparison_change(const condition_walk *w, known_comparison *k, int64_t loop) {
    const bool with_loop = loop >= 0;
    spad__affine *change = &k->change[with_loop];
    spad__affine right;
    k->looked[with_loop] = true;
    k->even[with_loop] =
        spad__induction_affine(w->induction, w->kernel, k->of->left, true, loop, change) &&
        spad__induction_affine(w->induction, w->kernel, k->of->right, true, loop, &right) &&
        spad__affine_add(change, &right, -1);
}

/* Does a comparison keep its answer when the parameter grows, and the loop (-1: none) moves on?
 * False: it does not move evenly. */
static bool comparison_keeps_answer(condition_walk *w, const spad_comparison *c, int64_t loop,
                                    bool *stays, bool *holds) {
    known_comparison *k = look_up_comparison(w, c);
    const bool with_loop = loop >= 0; /* always the growing loop around the statement */
    int64_t change;
    if (!k->looked[with_loop]) find_comparison_change(w, k, loop);
    if (!k->even[with_loop] || !k->evaluated ||
        !spad__affine_value(&k->change[with_loop], w->values, &change)) {
        return false;
    }
    *stays = spad__keeps_answer(c->relation, k->value, change, holds);
    return true;
}

static bool comparison_keeps_under(condition_walk *w, const spad_comparison *c, int64_t loop,
                                   window_change how, bool *stays, bool *holds) {
    bool stays_alone = true;
    if (how == BOTH_CHANGE && !comparison_keeps_answer(w, c, -1, &stays_alone, holds)) return false;
    if (!comparison_keeps_answer(w, c, how == PARAM_GROWS ? -1 : loop, stays, holds)) return false;
    *stays = *stays && stays_alone;
    return true;
}

/* Do all comparisons of one alternative of an if, from `*at` on, keep their answer under a change:
 * they all hold and stay, or one of them stays false. *at is the next alternative then. *holds: the
 * answer. */
static bool alternative_keeps_answer(condition_walk *w, const spad_statement *s, int64_t loop,
                                     window_change how, size_t *at, bool *holds) {
    bool all_stay = true;
    bool one_stays_false = false;
    *holds = true;
    const size_t first = *at;
    size_t i = first;
    for (; i < s->comparison_count && (i == first || !s->comparisons[i].alternative); i++) {
        bool one_stays, one_holds;
        if (!comparison_keeps_under(w, &s->comparisons[i], loop, how, &one_stays, &one_holds))
            return false;
        all_stay = all_stay && one_stays;
        one_stays_false = one_stays_false || (one_stays && !one_holds);
        *holds = *holds && one_holds;
    }
    *at = i;
    return *holds ? all_stay : one_stays_false;
}

/* The same for an if: an alternative holds and stays, or none holds and all stay. */
static bool condition_keeps_answer(condition_walk *w, const spad_statement *s, int64_t loop,
                                   window_change how, bool *holds) {
    bool all_stay = true;
    bool one_stays_true = false;
    *holds = false;
    for (size_t at = 0; at < s->comparison_count;) {
        const size_t first = at;
        bool one_holds = false;
        const bool one_stays = alternative_keeps_answer(w, s, loop, how, &at, &one_holds);
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
        w->ran = w->ran || w->induction->extra[number] != 0;
        w->loop = loop->outer;
        w->at = spad_kernel_get_statement(w->kernel, loop->statement)->end;
    }
}

static bool step_if(condition_walk *w, const spad_statement *s) {
    const int64_t loop = w->induction->inside[w->at];
    bool holds;
    w->step++;
    const bool fixed = condition_keeps_answer(w, s, -1, PARAM_GROWS, &holds);
    if (w->joined != NULL) {
        if (!spad__windows_join_at(w->joined, w->joined_count, w->kernel, w->at, w->values)) {
            return false;
        }
    } else if (loop < 0) {
        if (!fixed) return false;
    } else if (!spad__window_passes_by(w->induction, w->kernel, s, loop, w->values)) {
        bool same;
        spad__window *window = &w->windows[loop];
        const int64_t begin = spad_kernel_get_loop(w->kernel, (size_t)loop)->begin.value;
        const int64_t iteration = w->values[loop] - begin;
        spad__assert(iteration >= 0);
        if (!fixed) window->fixed = spad__min(window->fixed, iteration);
        /* `T - t != 17 or t < 17` stays true at t = 0 under each change, but not under both */
        if (!condition_keeps_answer(w, s, loop, LOOP_MOVES, &same) ||
            (fixed && !condition_keeps_answer(w, s, loop, BOTH_CHANGE, &same))) {
            window->steady = spad__max(window->steady, iteration + 1);
        }
    }
    w->at = holds ? w->at + 1 : s->item >= 0 ? (size_t)s->item + 1 : s->end;
    return true;
}

/* A growing loop is left. A break of another loop is ignored: conditions of iterations that do
 * not run do no harm. */
static void step_break(condition_walk *w, const spad_statement *s) {
    const spad_kernel_loop *loop = spad_kernel_get_loop(w->kernel, (size_t)s->loop);
    w->at++;
    if (w->joined == NULL && w->induction->extra[s->loop] == 0) return;
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
        if (w->induction->extra[i] != 0 && w->windows[i].fixed != INT64_MAX) return false;
    }
    return true;
}

/* Pays for the next step; false: it is not affordable, or time is up. */
static bool pay_step(const condition_walk *w, spad__steps *steps) {
    enum { A_LOOK = 4096 }; /* at the clock, in steps that are left */
    const int64_t before = steps->left;
    const spad_statement *s = spad_kernel_get_statement(w->kernel, w->at);
    steps->left -= 1 + (s != NULL ? SPAD__COMPARISON_COST * (int64_t)s->comparison_count : 0);
    if (steps->left < 0) return false;
    return before / A_LOOK == steps->left / A_LOOK || !spad__limit_reached(steps->limit);
}

bool spad__induction_windows(const spad__induction *induction, const spad_kernel *kernel,
                             spad__steps *steps, int64_t *values, spad__window *windows,
                             bool *ended) {
    condition_walk w = {
        .induction = induction, .kernel = kernel, .values = values, .windows = windows, .loop = -1};
    mark_loops(&w);
    bool known = true;
    while (known && (w.loop >= 0 || w.at < spad_kernel_statement_count(kernel))) {
        known = pay_step(&w, steps) && step_condition(&w);
    }
    for (size_t i = 0; i < spad_kernel_loop_count(kernel); i++) {
        if (windows[i].steady == NO_CONDITIONS) windows[i].steady = 0;
    }
    *ended = known && w.broke && is_ended(&w);
    return known && (!w.broke || *ended);
}

bool spad__induction_join_windows(const spad__growing *all, size_t count, const spad_kernel *kernel,
                                  spad__steps *steps, int64_t *values, spad__window *scratch) {
    condition_walk w = {.induction = all[0].induction,
                        .kernel = kernel,
                        .values = values,
                        .windows = scratch,
                        .joined = all,
                        .joined_count = count,
                        .loop = -1};
    mark_loops(&w);
    while (w.loop >= 0 || w.at < spad_kernel_statement_count(kernel)) {
        if (!pay_step(&w, steps) || !step_condition(&w)) return false;
    }
    for (size_t g = 0; g < count; g++) {
        for (size_t i = 0; all[g].ended && i < spad_kernel_loop_count(kernel); i++) {
            if (all[g].induction->extra[i] != 0 && all[g].windows[i].fixed != INT64_MAX)
                return false;
        }
    }
    return true;
}
