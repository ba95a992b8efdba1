/* SPDX-License-Identifier: Apache-2.0
 *
 * All shapes of a proof: their runs, and for which values the kernel is right.
 *
 * A shape is right, wrong, or refused: no kernel exists with these values. Where every shape with
 * a value of a trip count below K is wrong or refused, the proof is for the values from K on. If a
 * shape far away is refused, nothing is proved.
 */
#include "base/assert.h"
#include "base/checked.h"
#include "check/passes.h"
#include "prove/prover.h"

/* The next combination; false: that was the last. */
static bool next_shape(const spad__prover *p, spad__shape *s) {
    for (size_t i = 0; i < p->count; i++) {
        if (++s->values[i] < spad__trip_shapes(p, &p->trips[i])) return true;
        s->values[i] = 0;
    }
    return false;
}

/* ---- for which values -------------------------------------------------------------- */

/* Is no shape with that value of a trip count right? */
static bool is_never_right(const spad__prover *p, const uint8_t *results, size_t number,
                           int64_t value) {
    spad__shape s = {.possible = false};
    size_t i = 0;
    do {
        if (s.values[number] == value && results[i] == SPAD__SHAPE_RIGHT) return false;
        i++;
    } while (next_shape(p, &s));
    return true;
}

static bool is_above(const spad__prover *p, const spad__shape *s) {
    for (size_t i = 0; i < p->count; i++) {
        if (s->values[i] < p->all_shapes.from[i]) return false;
    }
    return true;
}

/* Does a shape stand for larger ones? */
static bool is_beyond(const spad__prover *p, const spad__shape *s) {
    for (size_t i = 0; i < p->count; i++) {
        if (s->values[i] >= p->trips[i].repeats) return true;
    }
    return false;
}

/* Finds the least values from which the proof holds, and the exceptions above them. */
static void find_ranges(spad__prover *p, const uint8_t *results) {
    spad__all_shapes *all = &p->all_shapes;
    for (size_t i = 0; i < p->count; i++) {
        const int64_t most = spad__min(p->trips[i].repeats, spad__trip_shapes(p, &p->trips[i]) - 1);
        while (all->from[i] < most && is_never_right(p, results, i, all->from[i])) all->from[i]++;
    }
    spad__shape s = {.possible = false};
    size_t number = 0;
    do {
        const uint8_t result = results[number++];
        if (result == SPAD__SHAPE_RIGHT || !is_above(p, &s)) continue;
        if (result == SPAD__SHAPE_WRONG && !all->hole) {
            all->hole = true;
            all->wrong = s;
        }
        if (result == SPAD__SHAPE_REFUSED) {
            if (all->refused_count < SPAD__REFUSED_MAX) all->refused[all->refused_count] = s;
            all->refused_count++;
            all->refused_on = all->refused_on || is_beyond(p, &s);
        }
    } while (next_shape(p, &s));
}

/* ---- values far away --------------------------------------------------------------- */

/* How far, as a power of 2 of steps, for all trip counts together: products of extents must fit 64
 * bits. Rests of a long step that are looked at. */
enum { FAR_POWER = 20, FAR_RESTS = 32 };

/* The first shape that is right and has these values or larger ones; false: none exists. */
static bool find_right(const spad__prover *p, const uint8_t *results, const int64_t *least,
                       spad__shape *s) {
    *s = (spad__shape){.possible = false};
    size_t number = 0;
    do {
        bool large = true;
        for (size_t i = 0; i < p->count; i++) large = large && s->values[i] >= least[i];
        if (large && results[number] == SPAD__SHAPE_RIGHT) return true;
        number++;
    } while (next_shape(p, s));
    return false;
}

/* True if a kernel exists with the trip counts in `moves` increased by `steps` steps. */
static spad_status has_kernel_at(spad__prover *p, const spad__shape *s, const bool *moves,
                                 int64_t steps, bool *possible, spad_error *error) {
    spad__shape at = *s;
    spad_kernel *kernel;
    for (size_t i = 0; i < p->count; i++) {
        if (moves[i]) at.values[i] += steps * p->trips[i].induction.step;
    }
    const spad_status status = spad__shape_kernel_or_why(p, &at, &kernel, error);
    *possible = kernel != NULL;
    spad_kernel_destroy(kernel);
    if (status != SPAD_OK || *possible) return status;
    p->all_shapes.outcome = SPAD__NO_KERNEL;
    p->all_shapes.last = at;
    return SPAD_OK;
}

/* There is a kernel with a shape; is there one far away? Otherwise a near one without is kept. */
static spad_status reach_far_from(spad__prover *p, const spad__shape *s, const bool *moves,
                                  int power, spad_error *error) {
    int64_t low = 0;
    int64_t high = INT64_C(1) << power;
    bool possible;
    spad_status status = has_kernel_at(p, s, moves, high, &possible, error);
    if (possible) return status;
    while (status == SPAD_OK && high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        status = has_kernel_at(p, s, moves, middle, &possible, error);
        if (possible) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return status;
}

/* How indices move says that they stay inside (induction.c). Whatever else has no kernel with large
 * values, such as an extent that falls to 0 or a loop that only other values of another parameter
 * run, has none far away either. Each rest of each trip count is looked at, and all together. */
static spad_status reach_far(spad__prover *p, const uint8_t *results, spad_error *error) {
    const spad__all_shapes *all = &p->all_shapes;
    int64_t least[SPAD__TRIPS_MAX] = {0};
    bool moves[SPAD__TRIPS_MAX] = {false};
    spad__shape s;
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < p->count; i++) {
        const spad__trip *t = &p->trips[i];
        moves[i] = true;
        for (int64_t rest = 0; rest < spad__min(t->induction.step, FAR_RESTS); rest++) {
            least[i] = t->repeats + rest;
            if (!find_right(p, results, least, &s)) break;
            status = reach_far_from(p, &s, moves, FAR_POWER, error);
            if (status != SPAD_OK || all->outcome != SPAD__ALL_RIGHT) return status;
        }
        moves[i] = false;
        least[i] = 0;
    }
    for (size_t i = 0; i < p->count; i++) {
        least[i] = p->trips[i].repeats;
        moves[i] = true;
    }
    if (p->count < 2 || !find_right(p, results, least, &s)) return SPAD_OK;
    return reach_far_from(p, &s, moves, FAR_POWER / (int)p->count, error);
}

/* ---- runs -------------------------------------------------------------------------- */

/* One shape; false: the proof ends with it. */
static bool note_shape(spad__prover *p, const spad__shape *s, uint8_t *result) {
    spad__all_shapes *all = &p->all_shapes;
    *result = !s->possible    ? SPAD__SHAPE_REFUSED
              : s->errors > 0 ? SPAD__SHAPE_WRONG
                              : SPAD__SHAPE_RIGHT;
    if (!s->possible) return true;
    all->last = *s;
    if (s->errors > 0) {
        if (!all->seen_wrong) spad__copy_cut(all->message, sizeof all->message, s->first.message);
        if (!all->seen_wrong) all->wrong = *s;
        all->seen_wrong = true;
        return true;
    }
    all->outcome = SPAD__NOT_ALL;
    if (s->gap != NULL || p->work > p->work_most || spad__is_late(p->run)) return false;
    if (p->cut != NULL && !s->cut_iterations_repeat) return false;
    for (size_t i = 0; i < p->count; i++) {
        if (p->unwatched || s->values[i] < p->trips[i].repeats || s->repeats[i]) continue;
        all->outcome = SPAD__NO_REPEAT;
        return false;
    }
    return true;
}

/* Looks for a shape that is right and, as conditions show, does not repeat itself: it ends the
 * proof, so the others need not be run. */
static spad_status find_unrepeated(spad__prover *p, bool *found, spad_error *error) {
    spad__shape s = {.possible = false};
    *found = false;
    do {
        bool may;
        if (p->unwatched || !is_beyond(p, &s)) continue;
        if (p->work > p->work_most || spad__is_late(p->run)) return SPAD_OK;
        spad_status status = spad__shape_may_repeat(p, &s, &may, error);
        if (status == SPAD_OK && !may) status = spad__shape_try(p, &s, error);
        if (status != SPAD_OK) return status;
        *found = !may && s.possible && s.errors == 0 && s.gap == NULL;
    } while (!*found && next_shape(p, &s));
    p->all_shapes.last = s;
    return SPAD_OK;
}

static spad_status run_all(spad__prover *p, uint8_t *results, spad_error *error) {
    spad__shape s = {.possible = false};
    size_t number = 0;
    do {
        s.errors = 0;
        s.gap = NULL;
        const spad_status status = spad__shape_try(p, &s, error);
        if (status != SPAD_OK || !note_shape(p, &s, &results[number++])) return status;
    } while (next_shape(p, &s));
    p->all_shapes.outcome = SPAD__ALL_RIGHT;
    return SPAD_OK;
}

/* Runs all shapes: fills in all_shapes. There are no more than SPAD__SHAPES_MAX. */
static spad_status try_all_shapes(spad__prover *p, spad_error *error) {
    const int64_t count = spad__trips_shapes(p);
    spad__assert(count <= SPAD__SHAPES_MAX);
    p->all_shapes = (spad__all_shapes){.outcome = SPAD__NOT_ALL};
    /* with several, combinations are to be examined, and of runs that are cut each */
    p->unwatched = p->count == 1 && p->cut == NULL;
    p->all = true;
    uint8_t *results = spad__new_array(&p->host, (size_t)count, sizeof *results);
    if (results == NULL) return spad__fail_host_memory(error);
    bool unrepeated;
    spad_status status = find_unrepeated(p, &unrepeated, error);
    if (unrepeated) p->all_shapes.outcome = SPAD__NO_REPEAT;
    if (status == SPAD_OK && !unrepeated) status = run_all(p, results, error);
    if (status == SPAD_OK && p->all_shapes.outcome == SPAD__ALL_RIGHT) {
        find_ranges(p, results);
        if (p->all_shapes.hole) p->all_shapes.outcome = SPAD__ONE_WRONG;
    }
    const bool right = status == SPAD_OK && p->all_shapes.outcome == SPAD__ALL_RIGHT;
    if (right) status = reach_far(p, results, error);
    spad__free(&p->host, results, (size_t)count * sizeof *results);
    return status;
}

/* ---- again, from larger values on ------------------------------------------------- */

/* How often all shapes are run again, until all repeat themselves. */
enum { ATTEMPTS_MAX = 4 };

/* Would all shapes be within what a proof may cost? The events of a shape are about the product of
 * its values, so those of all are about the largest one by 2 for each trip count. */
static spad_status is_affordable(const spad__prover *p, bool *result, spad_error *error) {
    spad__shape s = {.possible = false};
    spad_kernel *kernel;
    for (size_t i = 0; i < p->count; i++) {
        s.values[i] = spad__trip_shapes(p, &p->trips[i]) - 1;
    }
    const spad_status status = spad__shape_kernel(p, &s, &kernel, error);
    *result = kernel != NULL;
    if (kernel == NULL) return status;
    const int64_t work = spad__shape_work(kernel) >> p->count; /* conditions leave out some of it */
    *result = work / 2 <= (p->work_most - p->work) / spad__trips_shapes(p);
    spad_kernel_destroy(kernel);
    return status;
}

/* The last shape did not repeat itself: larger ones may. */
static void raise_repeats(spad__prover *p) {
    const spad__shape *s = &p->all_shapes.last;
    for (size_t i = 0; i < p->count; i++) {
        if (s->values[i] < p->trips[i].repeats || s->repeats[i]) continue;
        p->trips[i].repeats = s->values[i] + 1 + p->trips[i].induction.least;
    }
}

/* Runs all shapes, and again from larger values on where one did not repeat itself. */
spad_status spad__shapes_prove(spad__prover *p, spad_error *error) {
    spad_status status = SPAD_OK;
    p->all_shapes = (spad__all_shapes){.outcome = SPAD__NOT_ALL};
    for (int attempt = 0; attempt < ATTEMPTS_MAX && status == SPAD_OK; attempt++) {
        bool affordable = spad__trips_shapes(p) <= SPAD__SHAPES_MAX;
        if (affordable) status = is_affordable(p, &affordable, error);
        if (status != SPAD_OK || !affordable) break;
        status = try_all_shapes(p, error);
        if (p->all_shapes.outcome != SPAD__NO_REPEAT) break;
        raise_repeats(p);
    }
    p->unwatched = p->all = false;
    return status;
}

/* ---- reports ----------------------------------------------------------------------- */

/* Does a shape differ from the given one in nothing but values that are not known? Then it is no
 * other one. */
static bool is_of_unknown_values(const spad__prover *p, const spad__shape *s) {
    for (size_t i = 0; i < p->count; i++) {
        if (s->values[i] != p->trips[i].given &&
            !spad_kernel_get_param(p->kernel, p->trips[i].induction.param)->any) {
            return false;
        }
    }
    return true;
}

/* The errors of a shape that is wrong, as warnings; of values that are not known, as errors. Their
 * first message is kept. */
spad_status spad__shape_report(spad__prover *p, const spad__shape *s, spad_error *error) {
    spad_kernel *kernel;
    spad_check check = {.host = p->host};
    spad__shape again = *s;
    char values[SPAD_MESSAGE_MAX / 4];
    spad_status status = spad__shape_kernel(p, s, &kernel, error);
    if (status != SPAD_OK || kernel == NULL) return status;
    spad__shape_text(p, s, values, sizeof values);
    status = spad__shape_run(p, &again, kernel, &check, NULL, error);
    if (status == SPAD_OK && again.errors > 0)
        spad__copy_cut(p->all_shapes.message, sizeof p->all_shapes.message, again.first.message);
    if (status == SPAD_OK)
        status = spad__add_of_shape(
            p->run, &check, values,
            is_of_unknown_values(p, s) ? SPAD_SEVERITY_ERROR : SPAD_SEVERITY_WARNING, error);
    spad__drop_findings(&check);
    spad_kernel_destroy(kernel);
    return status;
}
