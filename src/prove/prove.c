/* SPDX-License-Identifier: Apache-2.0
 *
 * From one shape to all of them.
 *
 * Let a parameter N grow in steps of Q (induction.h). If in a run with N = n the state
 * at the head of some iteration is the same as one period before, with indices
 * counted from where the loop stands, then the run with n + Q is the run with n and
 * that period put in once more: what comes after cannot observe the difference. So
 * nothing new happens for larger N, and
 *
 *     the shapes 0 <= N < n + 2 Q are a proof for all N,
 *
 * where the second Q is for what an index outside of the loop meets by coincidence.
 * Such an index moves with the tiles of the loop, and then it meets the same ones at
 * every N of a rest, or it stays where it is (induction.c refuses others: "places that
 * move apart"). If it stays, the tiles that the loop has left in memory have moved by
 * at least the depth of their ring from n to n + Q, so none that was there at n is
 * there at n + Q: a read that is right at n .. n + Q - 1 only by coincidence is wrong
 * at n + Q .. n + 2 Q - 1 (test_check_prove.c has such kernels). With several such
 * parameters all combinations are run, and a condition that several of them decide has to keep its
 * answer when all of them grow (joint_conditions.c). A given N beyond that is replaced by the
 * smallest one that is the same modulo Q, so the cost does not depend on it.
 *
 * The state comes from the parts of the check: bytes and who wrote them, positions
 * and synchronisation objects.
 */
#include "prove/prove.h"
#include "check/passes.h"
#include "induction/recurrence.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "base/text.h"
#include "check/outputs.h"
#include "prove/prover.h"

/* Cost limit of a proof in events; events of kernels with an order count more. Twice the cost of
 * the given shape, within these bounds (the upper one where a parameter may have any value: without
 * a proof nothing is known). A proof for trip counts that depend on each other comes before, with a
 * limit of its own. About 7 million events take a second. */
enum { PROOF_WORK_LEAST = 4000000, PROOF_WORK_MOST = 24000000 };

/* Up to here a trip count, or a kernel of so many events, is run as it is given, so that findings
 * are about what the user has. */
enum { GIVEN_MAX = 64, GIVEN_SHORT = 8192, GIVEN_EVENTS = 1000000 };

/* Steps that a shape may be larger than needed for errors, so that outputs are known, too. */
enum { MORE_MAX = 64 };

/* True if a parameter may have any value, so that the kernel needs a proof. */
static bool has_open_param(const spad_kernel *kernel) {
    for (size_t i = 0; i < spad_kernel_param_count(kernel); i++) {
        if (spad_kernel_get_param(kernel, i)->any) return true;
    }
    return false;
}

/* Leaves out parameters until the combinations are few enough. */
static void limit_shapes(spad__prover *p) {
    while (spad__trips_shapes(p) > SPAD__SHAPES_MAX) {
        size_t most = 0;
        for (size_t i = 1; i < p->count; i++) {
            if (spad__trip_shapes(p, &p->trips[i]) > spad__trip_shapes(p, &p->trips[most]))
                most = i;
        }
        spad__trip_drop(p, most, "too many combinations of trip counts");
    }
}

/* ---- the verdict ------------------------------------------------------------------- */

static void set_verdict(spad__prover *p, spad_verdict verdict, const char *reason) {
    spad_check *check = p->run->check;
    check->verdict = verdict;
    spad__copy_cut(check->reason, sizeof check->reason, reason);
}

/* Reports the gap, and errors seen with other values. */
static spad_status set_unknown(spad__prover *p, const char *gap, spad_error *error) {
    const spad__all_shapes *all = &p->all_shapes;
    char reason[SPAD_MESSAGE_MAX * 2];
    char values[SPAD_MESSAGE_MAX / 2];
    if (all->outcome == SPAD__ONE_WRONG) { /* a smaller shape is */
        spad__shape_text(p, &all->wrong, values, sizeof values);
        snprintf(reason, sizeof reason, "%s; it is wrong with %s: %s", gap, values, all->message);
        set_verdict(p, SPAD_VERDICT_UNKNOWN, reason);
        return spad__shape_report(p, &all->wrong, error);
    }
    snprintf(reason, sizeof reason, "%s%s%s", gap, p->seen_wrong ? "; " : "",
             p->seen_wrong ? p->why : "");
    set_verdict(p, SPAD_VERDICT_UNKNOWN, reason);
    return SPAD_OK;
}

/* "M, N", "M and all N >= 2": those with a smallest value come last. */
static void format_names(const spad__prover *p, char *field, size_t size) {
    size_t used = 0;
    size_t written = 0;
    field[0] = '\0';
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < p->count; i++) {
            const int64_t from = p->all_shapes.from[i];
            const size_t param = p->trips[i].induction.param;
            if ((from > 0) != (pass == 1)) continue;
            const char *between = written == 0 ? "" : pass == 0 ? ", " : " and all ";
            used = spad__append(field, size, used, "%s%.64s", between,
                                spad_kernel_get_param(p->kernel, param)->name);
            if (from > 0) {
                used = spad__append(field, size, used, " >= %lld", (long long)from);
            }
            written++;
        }
    }
}

/* Exceptions of the proof: values that are wrong, or have no kernel. */
static void format_exceptions(const spad__prover *p, char *field, size_t size) {
    const spad__all_shapes *all = &p->all_shapes;
    char values[SPAD_MESSAGE_MAX / 4];
    size_t used = 0;
    bool low = false; /* some iterations are needed */
    field[0] = '\0';
    for (size_t i = 0; i < p->count; i++) low = low || all->from[i] > 1;
    if (all->seen_wrong) {
        spad__shape_text(p, &all->wrong, values, sizeof values);
        used = spad__append(field, size, 0, "; not with %s: %s", values, all->message);
    } else if (low) {
        used = spad__append(field, size, 0, "; smaller ones are refused: %s", p->refusal);
    }
    for (size_t i = 0; i < all->refused_count && i < SPAD__REFUSED_MAX; i++) {
        spad__shape_text(p, &all->refused[i], values, sizeof values);
        used = spad__append(field, size, used, "%s%s",
                            i == 0 ? "; there is no kernel with " : " or ", values);
    }
    if (all->refused_on || all->refused_count > SPAD__REFUSED_MAX)
        spad__append(field, size, used, ", and so on");
}

/* A warning that the given shape does not have, or "". */
static const char *find_warning(const spad__prover *p) {
    const spad_check *given = p->run->check;
    for (size_t w = 0; w < p->warned_count; w++) {
        bool known = false;
        for (size_t i = 0; i < given->found.count; i++) {
            const spad__found *found = &given->found.items[i];
            known |= found->finding.code == p->warned[w].code &&
                     found->statement == p->warned[w].statement;
        }
        if (!known) return p->warned[w].text;
    }
    return "";
}

static void set_proved(spad__prover *p) {
    spad__assert(p->run->check->counts.errors == 0 && p->count > 0); /* a claim is made */
    char names[SPAD_MESSAGE_MAX / 2];
    char exceptions[SPAD_MESSAGE_MAX];
    char reason[SPAD_MESSAGE_MAX * 4];
    format_names(p, names, sizeof names);
    format_exceptions(p, exceptions, sizeof exceptions);
    const char *seen = p->unsettled ? "; outputs were checked with small values only" : "";
    const char *but = find_warning(p);
    snprintf(reason, sizeof reason, "for all %s%s%s%s%s", names, p->fixed > 0 ? "; " : "", p->why,
             exceptions, but[0] != '\0' ? but : seen);
    p->proved = true;
    const bool all = p->fixed == 0 && !p->all_shapes.seen_wrong;
    set_verdict(p, all ? SPAD_VERDICT_PROVED_ALL : SPAD_VERDICT_PROVED_SHAPE, reason);
}

/* The given shape alone; then the trip counts that were left out of the search for a proof. */
static void set_proved_shape(spad__prover *p, const char *why) {
    char reason[SPAD_MESSAGE_MAX * 4];
    snprintf(reason, sizeof reason, "%s%s%s", why, p->fixed > 0 ? "; " : "", p->why);
    set_verdict(p, SPAD_VERDICT_PROVED_SHAPE, reason);
}

/* All trip counts would be too much; the longest step is the reason. */
static void set_too_much_work(spad__prover *p) {
    char reason[SPAD_MESSAGE_MAX];
    size_t most = 0;
    for (size_t i = 1; i < p->count; i++) {
        if (p->trips[i].induction.step > p->trips[most].induction.step) most = i;
    }
    snprintf(reason, sizeof reason, "%s: the kernel repeats itself when %.64s grows by %lld",
             spad__too_much_work,
             spad_kernel_get_param(p->kernel, p->trips[most].induction.param)->name,
             (long long)p->trips[most].induction.step);
    set_proved_shape(p, reason);
}

/* A shape is wrong: the claim is about the given one, with a witness. */
static spad_status set_one_wrong(spad__prover *p, spad_error *error) {
    const spad__all_shapes *all = &p->all_shapes;
    char values[SPAD_MESSAGE_MAX / 2];
    char reason[SPAD_MESSAGE_MAX * 2];
    const spad_status status = spad__shape_report(p, &all->wrong, error); /* sets the message */
    spad__shape_text(p, &all->wrong, values, sizeof values);
    snprintf(reason, sizeof reason, "but not with %s: %s", values, all->message);
    set_proved_shape(p, reason);
    return status;
}

/* All shapes are right, as far as the proof knows. */
static spad_status claim_all(spad__prover *p, spad_error *error) {
    const spad_status status = spad__challenge_claim(p, error);
    if (status != SPAD_OK) return status;
    if (p->all_shapes.outcome == SPAD__ONE_WRONG) return set_one_wrong(p, error);
    set_proved(p);
    return SPAD_OK;
}

/* The proof ended before all shapes were run. */
static spad_status decide_remaining(spad__prover *p, spad_error *error) {
    const spad__shape *last = &p->all_shapes.last;
    char values[SPAD_MESSAGE_MAX / 2];
    char reason[SPAD_MESSAGE_MAX * 2];
    bool proved = false;
    if (spad__is_late(p->run)) {
        set_proved_shape(p, spad__no_time_for_proof);
        return SPAD_OK;
    }
    if (last->gap != NULL && last->gap != spad__too_much_work) {
        spad__shape_text(p, last, values, sizeof values);
        snprintf(reason, sizeof reason, "it is unknown with %s: %s", values, last->gap);
        set_proved_shape(p, reason);
        return spad__try_open(p, error);
    }
    if (!p->long_step) {
        const spad_status status = spad__prove_per_tensor(p, &proved, error);
        if (status != SPAD_OK) return status;
    }
    if (proved) return claim_all(p, error);
    set_too_much_work(p);
    return spad__try_open(p, error);
}

static spad_status decide_all_shapes(spad__prover *p, spad_error *error) {
    const spad__all_shapes *all = &p->all_shapes;
    spad_status status = SPAD_OK;
    if (!p->done) status = spad__shapes_prove(p, error);
    if (status != SPAD_OK) return status;
    char values[SPAD_MESSAGE_MAX / 2];
    char reason[SPAD_MESSAGE_MAX * 2];
    spad__shape_text(p, &all->last, values, sizeof values);
    switch (all->outcome) {
    case SPAD__ALL_RIGHT: return claim_all(p, error);
    case SPAD__ONE_WRONG: return set_one_wrong(p, error);
    case SPAD__NO_REPEAT:
        snprintf(reason, sizeof reason, "with %s it does not return to the same state", values);
        break;
    case SPAD__NO_KERNEL:
        snprintf(reason, sizeof reason, "there is no kernel with %s: %s", values, p->refusal);
        break;
    case SPAD__NOT_ALL: return decide_remaining(p, error);
    }
    set_proved_shape(p, reason);
    return spad__try_open(p, error);
}

/* A small shape that represents the given one, `more` steps above the smallest. False: the
 * given one is small itself. */
static bool choose_representative(const spad__prover *p, int64_t more, spad__shape *s) {
    bool smaller = false;
    *s = (spad__shape){.possible = false};
    for (size_t i = 0; i < p->count; i++) {
        const spad__trip *t = &p->trips[i];
        const int64_t step = t->induction.step;
        s->values[i] = t->given;
        if (t->given < spad__max(spad__trip_shapes(p, t), GIVEN_MAX)) continue;
        spad__assert(t->given >= t->repeats);
        s->values[i] = t->repeats + (t->given - t->repeats) % step + more * step;
        spad__assert(spad__floor_mod(s->values[i] - t->given, step) == 0);
        smaller = true;
    }
    return smaller;
}

/* The given shape as it is; *s says how it went. */
static spad_status run_given(spad__prover *p, spad__shape *s, spad_error *error) {
    for (size_t i = 0; i < p->count; i++) s->values[i] = p->trips[i].given;
    return spad__shape_run(p, s, p->kernel, p->run->check, "", error);
}

/* The findings of a shape that represents the given one. `outputs`: also of what it writes. */
static spad_status run_representative(spad__prover *p, spad__shape *s, bool outputs,
                                      spad_error *error) {
    spad_kernel *kernel;
    char values[SPAD_MESSAGE_MAX / 4];
    char about[SPAD_MESSAGE_MAX / 4 + 16];
    spad__shape_text(p, s, values, sizeof values);
    snprintf(about, sizeof about, " (with %s)", values);
    spad_status status = spad__shape_kernel(p, s, &kernel, error);
    if (status == SPAD_OK) {
        status = spad__shape_run(p, s, kernel, p->run->check, outputs ? about : NULL, error);
    }
    spad_kernel_destroy(kernel);
    return status;
}

/* Is a shape large enough to show what larger ones leave out of their outputs? */
static spad_status is_shape_settled(spad__prover *p, const spad__shape *s, bool *settled,
                                    spad_error *error) {
    spad_kernel *kernel;
    spad_status status = spad__shape_kernel(p, s, &kernel, error);
    *settled = false;
    if (status != SPAD_OK || kernel == NULL) return status;
    const size_t loops = spad_kernel_loop_count(kernel) + 1;
    const spad__induction *growths[SPAD__TRIPS_MAX];
    spad__window *windows[SPAD__TRIPS_MAX];
    size_t count = 0;
    bool known = true;
    for (size_t i = 0; i < p->count && status == SPAD_OK; i++) {
        if (s->values[i] == p->trips[i].given) continue;
        growths[count] = &p->trips[i].induction;
        windows[count] = spad__new_array(&p->host, loops, sizeof(spad__window));
        if (windows[count] == NULL) {
            status = spad__fail_host_memory(error);
        } else {
            bool ended;
            spad__steps steps = {p->run->options->event_limit, p->run->limit};
            known = spad__induction_windows(growths[count], kernel, &steps, p->values,
                                            windows[count], &ended) &&
                    !ended && known;
            count++;
        }
    }
    *settled = status == SPAD_OK && known &&
               spad__outputs_settled(kernel, p->kernel, growths, windows, count);
    for (size_t i = 0; i < count; i++) {
        spad__free(&p->host, windows[i], loops * sizeof(spad__window));
    }
    spad_kernel_destroy(kernel);
    return status;
}

/* The shape that represents the given one and is right; its warnings are reported. One that is a
 * little larger may be needed to see missing outputs. */
static spad_status run_right(spad__prover *p, spad__shape *s, spad_error *error) {
    bool settled = false;
    for (int64_t more = 1; more <= MORE_MAX && !settled; more *= 2) {
        choose_representative(p, more, s);
        const spad_status status = is_shape_settled(p, s, &settled, error);
        if (status != SPAD_OK) return status;
    }
    p->unsettled = !settled;
    if (!settled) choose_representative(p, 1, s);
    return run_representative(p, s, settled, error);
}

/* Do all trip counts repeat themselves whose value is smaller than the given one? */
static bool repeats_itself(const spad__prover *p, const spad__shape *s) {
    for (size_t i = 0; i < p->count; i++) {
        if (s->values[i] != p->trips[i].given && !s->repeats[i]) return false;
    }
    return true;
}

/* Can it be seen without the given shape that it is right? Two shapes that represent it are
 * asked, so that nothing is right by coincidence. Otherwise the given shape is run as far as that
 * is quick, and then one that is wrong is reported instead. */
static spad_status check_large_shape(spad__prover *p, spad__shape *s, bool *right, bool *instead,
                                     spad_error *error) {
    *right = true;
    p->needed = true;
    for (int64_t more = 0; more < 2 && *right; more++) {
        choose_representative(p, more, s);
        const spad_status status = spad__shape_try(p, s, error);
        if (status != SPAD_OK) return status;
        *right = s->possible && s->errors == 0 && s->gap == NULL && repeats_itself(p, s);
    }
    p->needed = false;
    if (*right) {
        const spad_status status = spad__challenge_given(p, s, right, error);
        if (status != SPAD_OK) return status;
    }
    if (*right) return run_right(p, s, error);
    const spad__shape wrong = *s;
    spad_check_options quick = *p->run->options;
    const spad_check_options *options = p->run->options;
    quick.event_limit = spad__min(quick.event_limit, GIVEN_EVENTS);
    p->run->options = &quick;
    spad_status status = run_given(p, s, error);
    p->run->options = options;
    if (status != SPAD_OK || s->gap == NULL || p->run->check->counts.errors > 0) return status;
    *s = wrong;
    *instead = wrong.errors > 0;
    return *instead ? run_representative(p, s, false, error) : run_given(p, s, error);
}

/* Has the given shape few events? */
static spad_status is_short(const spad__prover *p, bool *result, spad_error *error) {
    const spad_walk_options options = {
        .agent = SPAD_WALK_ALL, .layout = p->run->options->layout, .host = &p->host};
    spad_walk *walk;
    spad_error failure;
    const spad_walk_event *event = NULL;
    spad_status status = spad__walk_create(&walk, p->kernel, &options, &failure);
    const int64_t limit = spad__min(GIVEN_SHORT, p->run->options->event_limit);
    int64_t events = 0;
    while (status == SPAD_OK && events < limit && (event == NULL || event->kind != SPAD_WALK_END)) {
        status = spad_walk_next(&event, walk, &failure);
        events++;
    }
    *result = events < limit; /* also where it cannot be run further */
    spad_walk_destroy(walk);
    return spad__attempted(status, error);
}

/* A given shape that is short is run before the search for a proof: where it is wrong, none is
 * needed. */
static spad_status run_short(spad__prover *p, spad_error *error) {
    spad_status status = is_short(p, &p->given_run, error);
    if (status == SPAD_OK && p->given_run) status = run_given(p, &p->given, error);
    p->work = 0;
    return status;
}

static spad_status check_requested_shape(spad__prover *p, spad_error *error) {
    spad__shape s;
    bool right = false;
    bool instead = false;
    spad_status status = SPAD_OK;
    const bool small = !choose_representative(p, 0, &s);
    if (p->given_run) {
        s = p->given;
    } else if (small) {
        status = run_given(p, &s, error);
    } else {
        status = check_large_shape(p, &s, &right, &instead, error);
    }
    const bool fine = status == SPAD_OK && p->run->check->counts.errors == 0;
    bool nested = false;
    if (fine) status = spad__try_left(p, error);
    if (fine && status == SPAD_OK) status = spad__prove_nested(p, &nested, error);
    if (status != SPAD_OK) return status;
    if (p->run->check->counts.errors > 0) {
        char values[SPAD_MESSAGE_MAX / 2];
        char reason[SPAD_MESSAGE_MAX];
        spad__shape_text(p, &s, values, sizeof values);
        snprintf(reason, sizeof reason, "seen with %s, which represents the given shape", values);
        set_verdict(p, SPAD_VERDICT_WRONG, instead ? reason : "");
    } else if (nested) {
        p->unsettled = s.gap != NULL;
        return claim_all(p, error);
    } else if (!right && s.gap != NULL) {
        return set_unknown(p, s.gap, error);
    } else if (p->count == 0) {
        set_verdict(p, SPAD_VERDICT_PROVED_SHAPE,
                    p->fixed > 0 ? p->why : "every event of the kernel was checked");
    } else {
        return decide_all_shapes(p, error);
    }
    return SPAD_OK;
}

/* ---- values that are not known ----------------------------------------------------- */

/* The first parameter that may have any value and is not among those that are proved; -1: none. */
static int64_t find_unproved(const spad__prover *p) {
    const bool proved = p->proved && !p->all_shapes.seen_wrong;
    for (size_t i = 0; i < spad_kernel_param_count(p->kernel); i++) {
        bool covered = !spad_kernel_get_param(p->kernel, i)->any;
        for (size_t t = 0; proved && t < p->count; t++) {
            covered = covered || p->trips[t].induction.param == i;
        }
        if (!covered) return (int64_t)i;
    }
    return -1;
}

/* Where a value is not known, a proof for one value is not enough, and an error for
 * another one is wrong. */
static void weaken_verdict(spad__prover *p) {
    spad_check *check = p->run->check;
    char reason[SPAD__REASON_MAX * 2];
    char values[SPAD_MESSAGE_MAX / 2];
    if (check->verdict != SPAD_VERDICT_PROVED_SHAPE && check->verdict != SPAD_VERDICT_PROVED_ALL) {
        return;
    }
    const int64_t param = find_unproved(p);
    if (param < 0) return;
    if (check->counts.errors > 0) {
        const spad__all_shapes *all = &p->all_shapes;
        const bool known = all->seen_wrong || all->outcome == SPAD__ONE_WRONG;
        spad__shape_text(p, &all->wrong, values, sizeof values);
        snprintf(reason, sizeof reason, "seen with %s", known ? values : "other values");
        set_verdict(p, SPAD_VERDICT_WRONG, reason);
        return;
    }
    const spad_kernel_param *row = spad_kernel_get_param(p->kernel, (size_t)param);
    snprintf(reason, sizeof reason, "%.64s may be any number, and only %lld is proved: %s",
             row->name, (long long)row->value, check->reason);
    set_verdict(p, SPAD_VERDICT_UNKNOWN, reason);
}

/* ---- the whole proof --------------------------------------------------------------- */

/* Forgets all trip counts, and finds them again. */
static spad_status start_again(spad__prover *p, spad_error *error) {
    spad__trips_free(p);
    p->fixed = 0;
    p->warned_count = 0;
    p->joint = p->unwatched = p->all = p->done = p->exhausted = p->long_step = false;
    p->work = 0;
    return spad__trips_find(p, error);
}

/* A proof for trip counts that depend on each other, if it is not too much work. *proved is false:
 * each of them is then tried alone. */
static spad_status prove_jointly(spad__prover *p, bool *proved, spad_error *error) {
    const size_t count = p->count;
    *proved = false;
    p->work_most = SPAD__JOINT_WORK_MAX;
    spad_status status = spad__trips_join(p, &p->joint, error);
    if (status == SPAD_OK && p->joint) status = spad__trips_repeat(p, error);
    if (status != SPAD_OK || !p->joint || p->count < count) return status;
    status = spad__shapes_prove(p, error);
    p->done = true;
    *proved = p->all_shapes.outcome == SPAD__ALL_RIGHT;
    return status;
}

/* Steps from which on a proof with each tensor alone is tried first. */
enum { LONG_STEP = 64 };

/* Is the step of a trip count long, or longer than is worth it? */
static bool has_long_step(const spad__prover *p) {
    bool found = p->long_step;
    for (size_t i = 0; i < p->count; i++) found = found || p->trips[i].induction.step >= LONG_STEP;
    return found;
}

/* Trip counts with a long step whose shapes, at least three steps of them, would be too much work
 * are left out at once; unless the given value is so large that a smaller one must represent
 * it. */
static spad_status drop_long_steps(spad__prover *p, spad_error *error) {
    for (size_t i = p->count; i-- > 0;) {
        const int64_t step = p->trips[i].induction.step;
        spad__shape s = {.possible = false};
        spad_kernel *kernel;
        char why[SPAD_MESSAGE_MAX / 2];
        if (step < LONG_STEP || p->trips[i].given > 4 * step) continue;
        for (size_t t = 0; t < p->count; t++) s.values[t] = spad__trip_small(&p->trips[t]);
        s.values[i] = 3 * step;
        const spad_status status = spad__shape_kernel(p, &s, &kernel, error);
        if (status != SPAD_OK) return status;
        const int64_t work = kernel != NULL ? spad__shape_work(kernel) / 2 : 0;
        spad_kernel_destroy(kernel);
        if (3 * step <= SPAD__SHAPES_MAX && work / 2 <= p->work_most / (3 * step)) continue;
        snprintf(why, sizeof why,
                 "the kernel repeats itself only when it grows by %lld, which would take too many "
                 "events",
                 (long long)step);
        spad__trip_drop(p, i, why);
    }
    return SPAD_OK;
}

static spad_status find_proof(spad__prover *p, spad_error *error) {
    bool proved = false;
    spad_status status = spad__trips_find(p, error);
    if (status == SPAD_OK) status = prove_jointly(p, &proved, error);
    p->long_step = has_long_step(p);
    if (status == SPAD_OK && !proved && p->long_step)
        status = spad__prove_per_tensor(p, &proved, error);
    if (status != SPAD_OK || proved) return status;
    p->work_most = spad__min(spad__shape_work(p->kernel), PROOF_WORK_MOST / 2) * 2;
    p->work_most =
        spad__max(p->work_most, has_open_param(p->kernel) ? PROOF_WORK_MOST : PROOF_WORK_LEAST);
    if (p->joint) status = start_again(p, error);
    if (status == SPAD_OK) spad__trips_part(p);
    if (status == SPAD_OK) status = drop_long_steps(p, error);
    if (status == SPAD_OK) status = spad__trips_repeat(p, error);
    if (status == SPAD_OK) limit_shapes(p);
    return status;
}

/* The search for a proof gets half of the time: the rest is for the given shape. */
static spad_status find_proof_in_time(spad__prover *p, spad_error *error) {
    spad__limit *whole = p->run->limit;
    spad__limit part = *whole;
    const int64_t left = spad__limit_left(whole);
    if (left > 0) part.deadline = spad__deadline(left / 2 + 1);
    p->run->limit = &part;
    const spad_status status = find_proof(p, error);
    p->run->limit = whole;
    p->search_cut = part.status == SPAD_ERR_TIME;
    if (part.status == SPAD_ERR_CANCELLED) whole->status = part.status;
    return status;
}

/* A verdict that is weaker than it would be with more time says so. The rest of the reason comes
 * after that: a reason that is long is cut at its end. */
static void name_time(spad__prover *p) {
    spad_check *check = p->run->check;
    char reason[SPAD__REASON_MAX * 2];
    const bool cut = p->search_cut || p->run->limit->status == SPAD_ERR_TIME;
    const bool weak =
        check->verdict == SPAD_VERDICT_UNKNOWN || check->verdict == SPAD_VERDICT_PROVED_SHAPE;
    if (!cut || !weak || strstr(check->reason, spad__no_time_for_proof) != NULL ||
        strstr(check->reason, spad__time_is_up) != NULL) {
        return;
    }
    snprintf(reason, sizeof reason, "%s; %s", spad__no_time_for_proof, check->reason);
    spad__copy_cut(check->reason, sizeof check->reason, reason);
}

spad_status spad__prove(spad__run *run, spad_error *error) {
    spad__prover *p = spad__new(&run->check->host, sizeof *p);
    const size_t loops = spad_kernel_loop_count(run->kernel) + 1;
    if (p == NULL) return spad__fail_host_memory(error);
    p->run = run;
    p->kernel = run->kernel;
    p->host = run->check->host;
    p->values = spad__new_array(&p->host, loops, sizeof *p->values);
    spad_status status = p->values != NULL ? SPAD_OK : spad__fail_host_memory(error);
    if (status == SPAD_OK) status = run_short(p, error);
    if (status == SPAD_OK && !run->options->one_shape && run->check->counts.errors == 0) {
        status = find_proof_in_time(p, error);
    }
    if (status == SPAD_OK) status = check_requested_shape(p, error);
    if (status == SPAD_OK) weaken_verdict(p);
    if (status == SPAD_OK && run->check->counts.errors == 0) status = spad__try_sizes(p, error);
    const bool proved = run->check->verdict == SPAD_VERDICT_PROVED_SHAPE ||
                        run->check->verdict == SPAD_VERDICT_PROVED_ALL;
    if (status == SPAD_OK && proved && !run->options->one_shape) spad__name_untried(p);
    if (status == SPAD_OK) name_time(p);
    spad__trips_free(p);
    const spad_host host = p->host;
    spad__free(&host, p->values, loops * sizeof *p->values);
    spad__free(&host, p, sizeof *p);
    return status;
}
