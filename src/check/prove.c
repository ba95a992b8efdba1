/* SPDX-License-Identifier: Apache-2.0
 *
 * From one shape to all of them.
 *
 * Let a parameter N grow in steps of Q (growth.h). If in a run with N = n the state
 * at the head of some iteration is the same as one period before, with indices
 * counted from where the loop stands, then the run with n + Q is the run with n and
 * that period put in once more: what comes after cannot observe the difference. So
 * nothing new happens for larger N, and
 *
 *     the shapes 0 <= N < n + 2 Q are a proof for all N,
 *
 * where the second Q is for what an index outside of the loop meets by coincidence.
 * Such an index moves with the tiles of the loop, and then it meets the same ones at
 * every N of a rest, or it stays where it is (growth.c refuses others: "places that
 * move apart"). If it stays, the tiles that the loop has left in memory have moved by
 * at least the depth of their ring from n to n + Q, so none that was there at n is
 * there at n + Q: a read that is right at n .. n + Q - 1 only by coincidence is wrong
 * at n + Q .. n + 2 Q - 1 (test_check_prove.c has such kernels). With several such
 * parameters all combinations are run. A given N beyond that is replaced by the
 * smallest one that is the same modulo Q, so the cost does not depend on it.
 *
 * The state comes from the parts of the check: bytes and who wrote them, positions
 * and synchronisation objects.
 */
#include "check/prove.h"
#include "check/check.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "check/outputs.h"

/* Shapes and events that a proof may cost beside the given shape itself. */
enum { SHAPES_MAX = 4096, PROOF_WORK_MAX = 4000000, WORK_OF_ORDER = 8 };

/* Up to here a trip count, or a kernel of so many events, is run as it is given, so that findings
 * are about what the user has. */
enum { GIVEN_MAX = 64, GIVEN_SHORT = 8192, GIVEN_EVENTS = 1000000 };

/* Steps that a shape may be larger than needed for errors, so that outputs are known, too. */
enum { MORE_MAX = 64 };

/* A parameter that is a trip count. */
typedef struct trip {
    spad__growth growth;
    int64_t given;
    int64_t repeats; /* from this value on runs repeat themselves */
} trip;

typedef struct prover {
    spad__run *run; /* of the given shape; its check gets the findings */
    const spad_kernel *kernel;
    spad_host host;
    trip trips[SPAD__TRIPS_MAX];
    size_t count;
    size_t fixed;               /* trip counts that are not proved */
    char why[SPAD_MESSAGE_MAX]; /* about the first of them */
    int64_t work;               /* events, and numbers of states, of all shapes so far */
    bool unwatched;             /* it is known that runs repeat themselves */
    bool unsettled;             /* small shapes do not show what the given one leaves out */
    bool all;                   /* shapes are run for all of them: warnings count, too */
    char but[SPAD_MESSAGE_MAX]; /* the first warning that the given shape does not have, or "" */
    int64_t *values;            /* per loop: scratch */
} prover;

/* One shape: a value per trip count, and what its run gave. */
typedef struct shape {
    int64_t values[SPAD__TRIPS_MAX];
    bool possible; /* the kernel can be built */
    bool repeats[SPAD__TRIPS_MAX];
    int64_t errors;
    const char *gap;
    spad_finding first; /* error */
} shape;

/* ---- one shape --------------------------------------------------------------------- */

static spad_status prepare_watches(prover *p, spad__watches *watches, const spad_kernel *kernel,
                                   spad_error *error) {
    watches->host = p->host;
    watches->kernel = kernel;
    watches->count = p->count;
    watches->items = spad__new_array(&p->host, p->count + 1, sizeof *watches->items);
    if (watches->items == NULL) return spad__fail_host_memory(error);
    for (size_t i = 0; i < p->count; i++) {
        spad__watch *watch = &watches->items[i];
        watch->growth = &p->trips[i].growth;
        watch->windows =
            spad__new_array(&p->host, spad_kernel_loop_count(kernel), sizeof(spad__window));
        if (watch->windows == NULL) return spad__fail_host_memory(error);
        watch->failed = p->unwatched ||
                        !spad__growth_windows(watch->growth, kernel, p->run->options->event_limit,
                                              p->values, watch->windows);
    }
    return SPAD_OK;
}

static void free_watches(prover *p, spad__watches *watches) {
    for (size_t i = 0; watches->items != NULL && i < p->count; i++) {
        spad__watch *watch = &watches->items[i];
        if (watch->windows == NULL) continue;
        p->work += (int64_t)watch->states.count;
        spad__free(&p->host, watch->windows,
                   spad_kernel_loop_count(watches->kernel) * sizeof(spad__window));
        spad__array_free(&p->host, &watch->states);
        spad__array_free(&p->host, &watch->starts);
    }
    if (watches->items != NULL) {
        spad__free(&p->host, watches->items, (p->count + 1) * sizeof *watches->items);
    }
}

static void keep_result(const prover *p, shape *s, const spad__run *run,
                        const spad__watches *watches) {
    const spad_check *check = run->check;
    s->errors = check->counts.errors;
    s->gap = run->gap;
    for (size_t i = 0; i < p->count; i++) s->repeats[i] = !watches->items[i].failed;
    for (size_t i = 0; i < check->found.count; i++) {
        if (check->found.items[i].finding.severity != SPAD_SEVERITY_ERROR) continue;
        s->first = check->found.items[i].finding;
        break;
    }
}

/* Runs the parts that find errors over a kernel of a shape; findings go to `check`. `about`: NULL,
 * or the name of the shape in messages about outputs. */
static spad_status run_kernel(prover *p, shape *s, const spad_kernel *kernel, spad_check *check,
                              const char *about, spad_error *error) {
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
    spad_status status = prepare_watches(p, &watches, kernel, error);
    if (status == SPAD_OK) status = spad__check_rules(&run, error);
    if (status == SPAD_OK) status = spad__check_lifetimes(&run, error);
    if (status == SPAD_OK) status = spad__check_order(&run, error);
    if (status == SPAD_OK) status = spad__mend_rings(&run, error);
    if (status == SPAD_OK) keep_result(p, s, &run, &watches);
    check->counts.runs++;
    const bool order = !spad_kernel_is_implicit(kernel);
    p->work += (check->counts.events - before) * (order ? WORK_OF_ORDER : 1);
    free_watches(p, &watches);
    return status;
}

/* The kernel with the values of a shape. SPAD_OK and NULL: there is none. */
static spad_status make_kernel(const prover *p, const shape *s, spad_kernel **out,
                               spad_error *error) {
    spad_define defines[SPAD__TRIPS_MAX];
    for (size_t i = 0; i < p->count; i++) {
        const size_t param = p->trips[i].growth.param;
        defines[i] = (spad_define){spad_kernel_get_param(p->kernel, param)->name, s->values[i]};
    }
    const spad_kernel_options options = {
        .defines = defines, .define_count = p->count, .host = &p->host};
    const spad_status status = spad_kernel_reshape(out, p->kernel, &options, NULL);
    return spad__attempted(status, error);
}

static void format_values(const prover *p, const shape *s, char *field, size_t size) {
    size_t used = 0;
    field[0] = '\0';
    for (size_t i = 0; i < p->count && used < size; i++) {
        const size_t param = p->trips[i].growth.param;
        used += (size_t)snprintf(field + used, size - used, "%s%.64s = %lld", i > 0 ? ", " : "",
                                 spad_kernel_get_param(p->kernel, param)->name,
                                 (long long)s->values[i]);
    }
}

/* Is it a warning about what a kernel computes, and new? */
static bool is_new(const prover *p, const spad__found *found) {
    const spad_finding_code code = found->finding.code;
    if (code != SPAD_FINDING_UNWRITTEN_OUTPUT && code != SPAD_FINDING_PARALLEL_DEPENDENCE) {
        return false;
    }
    const spad_check *given = p->run->check;
    for (size_t i = 0; i < given->found.count; i++) {
        const spad__found *known = &given->found.items[i];
        if (known->finding.code == code && known->statement == found->statement) return false;
    }
    return true;
}

/* Keeps the first warning that only other shapes than the given one have. */
static void keep_warning(prover *p, const shape *s, const spad_check *check) {
    char values[SPAD_MESSAGE_MAX / 4];
    for (size_t i = 0; i < check->found.count && p->but[0] == '\0'; i++) {
        if (!is_new(p, &check->found.items[i])) continue;
        format_values(p, s, values, sizeof values);
        char text[SPAD_MESSAGE_MAX * 2];
        snprintf(text, sizeof text, "; but with %s: %s", values,
                 check->found.items[i].finding.message);
        spad__copy_cut(p->but, sizeof p->but, text);
    }
}

/* Runs a shape; its findings are only counted. */
static spad_status try_shape(prover *p, shape *s, spad_error *error) {
    spad_kernel *kernel;
    spad_status status = make_kernel(p, s, &kernel, error);
    s->possible = kernel != NULL;
    if (status != SPAD_OK || kernel == NULL) return status;
    spad_check check = {.host = p->host};
    status = run_kernel(p, s, kernel, &check, p->all ? "" : NULL, error);
    if (status == SPAD_OK && p->all) {
        spad__run run = {
            .kernel = kernel, .options = p->run->options, .check = &check, .limit = p->run->limit};
        status = spad__check_parallel(&run, error);
        keep_warning(p, s, &check);
    }
    p->run->check->counts.events += check.counts.events;
    p->run->check->counts.accesses += check.counts.accesses;
    p->run->check->counts.runs += check.counts.runs;
    spad__array_free(&p->host, &check.found);
    spad_kernel_destroy(kernel);
    return status;
}

/* ---- trip counts ------------------------------------------------------------------- */

/* A value to leave a parameter at while another one is examined: small, the same modulo its
 * step. */
static int64_t small_value(const trip *t) {
    spad__assert(t->growth.step > 0);
    const int64_t step = t->growth.step;
    const int64_t most = 3 * step + 4;
    return t->given <= most ? t->given : most - spad__floor_mod(most - t->given, step);
}

static bool bounds_a_loop(const spad_kernel *kernel, size_t param) {
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

/* A parameter that stays as it is; the first one is reported. */
static void leave_fixed(prover *p, size_t param, const char *why) {
    if (p->fixed++ > 0) return;
    snprintf(p->why, sizeof p->why, "%.64s is fixed at %lld: %s",
             spad_kernel_get_param(p->kernel, param)->name,
             (long long)spad_kernel_get_param(p->kernel, param)->value, why);
}

static spad_status find_trips(prover *p, spad_error *error) {
    for (size_t i = 0; i < spad_kernel_param_count(p->kernel); i++) {
        if (!bounds_a_loop(p->kernel, i)) continue;
        if (p->count == SPAD__TRIPS_MAX) {
            leave_fixed(p, i, "there are too many of them");
            continue;
        }
        trip *t = &p->trips[p->count];
        const spad_status status = spad__growth_init(&t->growth, p->kernel, i, &p->host, error);
        if (status != SPAD_OK) return status;
        t->given = spad_kernel_get_param(p->kernel, i)->value;
        if (t->growth.refusal.kind == SPAD__NOT_REFUSED) {
            p->count++;
            continue;
        }
        char why[SPAD_MESSAGE_MAX / 2];
        spad__growth_reason(&t->growth, p->kernel, why, sizeof why);
        if (t->growth.refusal.kind != SPAD__REFUSED_SIZE) leave_fixed(p, i, why);
        spad__growth_free(&t->growth);
    }
    return SPAD_OK;
}

static void drop_trip(prover *p, size_t number, const char *why) {
    spad__assert(number < p->count);
    leave_fixed(p, p->trips[number].growth.param, why);
    spad__growth_free(&p->trips[number].growth);
    p->count--;
    memmove(&p->trips[number], &p->trips[number + 1], (p->count - number) * sizeof p->trips[0]);
}

/* Where the steps of one trip count hold for one value of another only, that one is left there. */
static void part_trips(prover *p) {
    char why[SPAD_MESSAGE_MAX / 2];
    for (size_t i = 0; i < p->count; i++) {
        for (size_t j = p->count; j-- > 0;) {
            if (j == i || !p->trips[i].growth.relies[p->trips[j].growth.param]) continue;
            const size_t param = p->trips[i].growth.param;
            snprintf(why, sizeof why, "how far %.64s moves an index depends on it",
                     spad_kernel_get_param(p->kernel, param)->name);
            drop_trip(p, j, why);
            if (j < i) i--;
        }
    }
}

/* Does a run with this value of one trip count, and small ones of the others, repeat itself? */
static spad_status try_repeat(prover *p, size_t number, int64_t value, bool *repeats,
                              spad_error *error) {
    shape s = {.possible = false};
    *repeats = false;
    if (p->work > PROOF_WORK_MAX || spad__is_late(p->run)) return SPAD_OK;
    for (size_t i = 0; i < p->count; i++) s.values[i] = small_value(&p->trips[i]);
    s.values[number] = value;
    const spad_status status = try_shape(p, &s, error);
    *repeats = status == SPAD_OK && s.possible && s.gap == NULL && s.repeats[number];
    return status;
}

/* The largest value that is tried. */
static int64_t repeats_most(const trip *t) {
    return 4 * t->growth.step + 16;
}

/* From which value on do runs repeat themselves? One that does continues to do so when the value
 * grows by steps, so the first is found by halving. *found is false: none that was tried does. */
static spad_status find_repeat(prover *p, size_t number, bool *found, spad_error *error) {
    trip *t = &p->trips[number];
    int64_t low = t->growth.step - 1; /* too short for two periods */
    t->repeats = repeats_most(t);
    spad_status status = try_repeat(p, number, t->repeats, found, error);
    while (status == SPAD_OK && *found && t->repeats - low > 1) {
        const int64_t middle = low + (t->repeats - low) / 2;
        spad__assert(low < middle && middle < t->repeats);
        bool repeats;
        status = try_repeat(p, number, middle, &repeats, error);
        if (repeats) {
            t->repeats = middle;
        } else {
            low = middle;
        }
    }
    return status;
}

/* Where the rest of a trip count by its step decides something, each rest has to repeat itself. */
static spad_status repeat_all_rests(prover *p, size_t number, bool *found, spad_error *error) {
    trip *t = &p->trips[number];
    const int64_t most = repeats_most(t);
    spad_status status = SPAD_OK;
    for (int64_t value = t->repeats + 1; status == SPAD_OK && value < t->repeats + t->growth.step;
         value++) {
        bool repeats;
        status = try_repeat(p, number, value, &repeats, error);
        if (!repeats) t->repeats = value + 1;
        if (t->repeats > most) *found = false;
        if (!*found) break;
    }
    return status;
}

static spad_status find_repeats(prover *p, spad_error *error) {
    for (size_t i = 0; i < p->count;) {
        bool found;
        spad_status status = find_repeat(p, i, &found, error);
        if (status == SPAD_OK && found && p->trips[i].growth.rests) {
            status = repeat_all_rests(p, i, &found, error);
        }
        if (status != SPAD_OK) return status;
        if (found) {
            i++;
        } else {
            drop_trip(p, i, "its loop did not return to the same state");
        }
    }
    return SPAD_OK;
}

static int64_t shapes_of(const trip *t) {
    spad__assert(t->repeats >= t->growth.step && t->growth.step > 0);
    return t->repeats + 2 * t->growth.step;
}

/* ---- all shapes -------------------------------------------------------------------- */

/* The next combination; false: that was the last. */
static bool next_shape(const prover *p, shape *s) {
    for (size_t i = 0; i < p->count; i++) {
        if (++s->values[i] < shapes_of(&p->trips[i])) return true;
        s->values[i] = 0;
    }
    return false;
}

/* Leaves out parameters until the combinations are few enough. */
static void limit_shapes(prover *p) {
    for (;;) {
        int64_t shapes = 1;
        size_t most = 0;
        for (size_t i = 0; i < p->count; i++) {
            shapes = spad__min(shapes * shapes_of(&p->trips[i]), INT64_C(1) << 40);
            if (shapes_of(&p->trips[i]) > shapes_of(&p->trips[most])) most = i;
        }
        if (shapes <= SHAPES_MAX) return;
        drop_trip(p, most, "too many combinations of trip counts");
    }
}

typedef enum outcome { ALL_RIGHT, ONE_WRONG, NO_REPEAT, NOT_ALL } outcome;

static spad_status try_all(prover *p, outcome *out, shape *s, spad_error *error) {
    *s = (shape){.possible = false};
    do {
        s->errors = 0;
        s->gap = NULL;
        const spad_status status = try_shape(p, s, error);
        if (status != SPAD_OK) return status;
        if (!s->possible) continue;
        *out = s->errors > 0 ? ONE_WRONG : NOT_ALL;
        if (s->errors > 0 || s->gap != NULL || p->work > PROOF_WORK_MAX || spad__is_late(p->run))
            return SPAD_OK;
        for (size_t i = 0; i < p->count; i++) {
            if (p->unwatched || s->values[i] < p->trips[i].repeats || s->repeats[i]) continue;
            *out = NO_REPEAT;
            return SPAD_OK;
        }
    } while (next_shape(p, s));
    *out = ALL_RIGHT;
    return SPAD_OK;
}

/* ---- the verdict ------------------------------------------------------------------- */

static void set_verdict(prover *p, spad_verdict verdict, const char *reason) {
    spad_check *check = p->run->check;
    check->verdict = verdict;
    spad__copy_cut(check->reason, sizeof check->reason, reason);
}

static void set_proved(prover *p) {
    spad__assert(p->run->check->counts.errors == 0 && p->count > 0); /* a claim is made */
    char names[SPAD_MESSAGE_MAX / 2] = "";
    char reason[SPAD_MESSAGE_MAX * 3];
    size_t used = 0;
    for (size_t i = 0; i < p->count && used < sizeof names; i++) {
        const size_t param = p->trips[i].growth.param;
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%.64s", i > 0 ? ", " : "",
                                 spad_kernel_get_param(p->kernel, param)->name);
    }
    const char *seen = p->unsettled ? "; outputs were checked with small values only" : "";
    snprintf(reason, sizeof reason, "for every %s%s%s%s", names, p->fixed > 0 ? "; " : "", p->why,
             p->but[0] != '\0' ? p->but : seen);
    set_verdict(p, p->fixed == 0 ? SPAD_VERDICT_PROVED_ALL : SPAD_VERDICT_PROVED_SHAPE, reason);
}

static spad_status judge_all(prover *p, spad_error *error) {
    outcome result = NOT_ALL;
    shape s;
    p->unwatched = p->count == 1; /* with several, combinations are to be examined */
    p->all = true;
    const spad_status status = try_all(p, &result, &s, error);
    if (status != SPAD_OK) return status;
    char values[SPAD_MESSAGE_MAX / 2];
    char reason[SPAD_MESSAGE_MAX * 2];
    format_values(p, &s, values, sizeof values);
    if (result == ALL_RIGHT) {
        set_proved(p);
    } else if (result == ONE_WRONG) {
        snprintf(reason, sizeof reason, "but not with %s: %s", values, s.first.message);
        set_verdict(p, SPAD_VERDICT_PROVED_SHAPE, reason);
    } else if (result == NO_REPEAT) {
        snprintf(reason, sizeof reason, "with %s it does not return to the same state", values);
        set_verdict(p, SPAD_VERDICT_PROVED_SHAPE, reason);
    } else {
        set_verdict(p, SPAD_VERDICT_PROVED_SHAPE,
                    spad__is_late(p->run) ? spad__time_is_up
                    : s.gap != NULL       ? s.gap
                                          : "all trip counts would take too many events");
    }
    return SPAD_OK;
}

/* A small shape that represents the given one, `more` steps above the smallest. False: the
 * given one is small itself. */
static bool choose_representative(const prover *p, int64_t more, shape *s) {
    bool smaller = false;
    *s = (shape){.possible = false};
    for (size_t i = 0; i < p->count; i++) {
        const trip *t = &p->trips[i];
        const int64_t step = t->growth.step;
        s->values[i] = t->given;
        if (t->given < spad__max(shapes_of(t), GIVEN_MAX)) continue;
        spad__assert(t->given >= t->repeats);
        s->values[i] = t->repeats + (t->given - t->repeats) % step + more * step;
        spad__assert(spad__floor_mod(s->values[i] - t->given, step) == 0);
        smaller = true;
    }
    return smaller;
}

/* The given shape as it is; *s says how it went. */
static spad_status run_given(prover *p, shape *s, spad_error *error) {
    for (size_t i = 0; i < p->count; i++) s->values[i] = p->trips[i].given;
    return run_kernel(p, s, p->kernel, p->run->check, "", error);
}

/* The findings of a shape that represents the given one. `outputs`: also of what it writes. */
static spad_status run_representative(prover *p, shape *s, bool outputs, spad_error *error) {
    spad_kernel *kernel;
    char values[SPAD_MESSAGE_MAX / 4];
    char about[SPAD_MESSAGE_MAX / 4 + 16];
    format_values(p, s, values, sizeof values);
    snprintf(about, sizeof about, " (with %s)", values);
    spad_status status = make_kernel(p, s, &kernel, error);
    if (status == SPAD_OK) {
        status = run_kernel(p, s, kernel, p->run->check, outputs ? about : NULL, error);
    }
    spad_kernel_destroy(kernel);
    return status;
}

/* Is a shape large enough to show what larger ones leave out of their outputs? */
static spad_status is_shape_settled(prover *p, const shape *s, bool *settled, spad_error *error) {
    spad_kernel *kernel;
    spad_status status = make_kernel(p, s, &kernel, error);
    *settled = false;
    if (status != SPAD_OK || kernel == NULL) return status;
    const size_t loops = spad_kernel_loop_count(kernel) + 1;
    const spad__growth *growths[SPAD__TRIPS_MAX];
    spad__window *windows[SPAD__TRIPS_MAX];
    size_t count = 0;
    bool known = true;
    for (size_t i = 0; i < p->count && status == SPAD_OK; i++) {
        if (s->values[i] == p->trips[i].given) continue;
        growths[count] = &p->trips[i].growth;
        windows[count] = spad__new_array(&p->host, loops, sizeof(spad__window));
        if (windows[count] == NULL) {
            status = spad__fail_host_memory(error);
        } else {
            known = spad__growth_windows(growths[count], kernel, p->run->options->event_limit,
                                         p->values, windows[count]) &&
                    known;
            count++;
        }
    }
    *settled = status == SPAD_OK && known && spad__outputs_settled(kernel, growths, windows, count);
    for (size_t i = 0; i < count; i++) {
        spad__free(&p->host, windows[i], loops * sizeof(spad__window));
    }
    spad_kernel_destroy(kernel);
    return status;
}

/* The shape that represents the given one and is right; its warnings are reported. One that is a
 * little larger can be needed to see what is missing of outputs. */
static spad_status run_right(prover *p, shape *s, spad_error *error) {
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

/* Can it be seen without the given shape that it is right? Two shapes that represent it are
 * asked, so that nothing is right by coincidence. Otherwise the given shape is run as far as that
 * is quick, and then one that is wrong is reported instead. */
static spad_status judge_large(prover *p, shape *s, bool *right, bool *instead, spad_error *error) {
    *right = true;
    for (int64_t more = 0; more < 2 && *right; more++) {
        choose_representative(p, more, s);
        const spad_status status = try_shape(p, s, error);
        if (status != SPAD_OK) return status;
        *right = s->possible && s->errors == 0 && s->gap == NULL;
    }
    if (*right) return run_right(p, s, error);
    const shape wrong = *s;
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
static spad_status is_short(const prover *p, bool *result, spad_error *error) {
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

static spad_status judge_given(prover *p, spad_error *error) {
    shape s;
    bool given = true;
    bool right = false;
    bool instead = false;
    spad_status status = SPAD_OK;
    if (choose_representative(p, 0, &s)) status = is_short(p, &given, error);
    if (status == SPAD_OK) {
        status = given ? run_given(p, &s, error) : judge_large(p, &s, &right, &instead, error);
    }
    if (status != SPAD_OK) return status;
    if (p->run->check->counts.errors > 0) {
        char values[SPAD_MESSAGE_MAX / 2];
        char reason[SPAD_MESSAGE_MAX];
        format_values(p, &s, values, sizeof values);
        snprintf(reason, sizeof reason, "seen with %s, which represents the given shape", values);
        set_verdict(p, SPAD_VERDICT_WRONG, instead ? reason : "there are errors");
    } else if (!right && s.gap != NULL) {
        set_verdict(p, SPAD_VERDICT_UNKNOWN, s.gap);
    } else if (p->count == 0) {
        set_verdict(p, SPAD_VERDICT_PROVED_SHAPE,
                    p->fixed > 0 ? p->why : "every event of the kernel was checked");
    } else {
        return judge_all(p, error);
    }
    return SPAD_OK;
}

spad_status spad__prove(spad__run *run, spad_error *error) {
    prover p = {.run = run, .kernel = run->kernel, .host = run->check->host};
    const size_t loops = spad_kernel_loop_count(run->kernel) + 1;
    p.values = spad__new_array(&p.host, loops, sizeof *p.values);
    if (p.values == NULL) return spad__fail_host_memory(error);
    spad_status status = SPAD_OK;
    if (!run->options->one_shape) status = find_trips(&p, error);
    if (status == SPAD_OK) part_trips(&p);
    if (status == SPAD_OK) status = find_repeats(&p, error);
    if (status == SPAD_OK) {
        limit_shapes(&p);
        status = judge_given(&p, error);
    }
    for (size_t i = 0; i < p.count; i++) spad__growth_free(&p.trips[i].growth);
    spad__free(&p.host, p.values, loops * sizeof *p.values);
    return status;
}
