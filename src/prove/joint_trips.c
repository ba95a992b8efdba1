/* SPDX-License-Identifier: Apache-2.0
 *
 * Trip counts that depend on each other.
 *
 * In a persistent kernel t * N + n counts the blocks of all tiles: one tile more moves it by N, and
 * one block more by t. The step of T must then make N * Q_T a multiple of the depth of each ring,
 * for all N. Whether it does depends on the rest of N by that depth only, and all rests
 * are among the values up to the step of N, so the steps are raised until no such value
 * raises them further. Every shape that is run looks at its own induction (shape.c) and
 * does not count for a proof if it finds another step.
 *
 * Why the shapes below n + Q of each are enough: take any T and N. With T beyond its part,
 * the run is one with T - Q_T and one more period of the loop over t, as for one trip count; that
 * period has runs of the loop over n which are equal to those of the period before it, so they
 * repeat themselves as well, and the same holds for N at that T. Indices are counted from where the
 * loops stand, and t * N + n moves everywhere with the runs that are over (induction.h: carry),
 * so that what a run leaves in memory is the same for the next one. No index stays where it
 * is outside of the loops (`meets`), so nothing is right by coincidence.
 *
 * Bounds that hold at these values must hold at large ones: the room of an index changes
 * with T x N, and so at an even rate with each; it is also examined at very large values.
 */
#include "base/assert.h"
#include "base/checked.h"
#include "prove/prover.h"

/* Steps beyond it make too many shapes; how often they are raised; how far away bounds are
 * examined, as powers of 2. */
enum { JOINT_STEP_MAX = 64, RAISES_MAX = 8, FAR_MOST = 40, FAR_LEAST = 16, FAR_LESS = 8 };

static bool depends(const spad__prover *p) {
    for (size_t i = 0; i < p->count; i++) {
        for (size_t j = 0; j < p->count; j++) {
            if (i != j && p->trips[i].induction.relies[p->trips[j].induction.param]) return true;
        }
    }
    return false;
}

/* The step of a trip count in a shape, a multiple of `step`; 0: no such step exists, or the step
 * is too long. -1: no such kernel exists. */
static spad_status step_in_shape(const spad__prover *p, size_t number, int64_t step,
                                 const spad__shape *s, int64_t *out, spad_error *error) {
    spad_kernel *kernel;
    spad__induction induction;
    *out = -1;
    spad_status status = spad__shape_kernel(p, s, &kernel, error);
    if (status != SPAD_OK || kernel == NULL) return status;
    status = spad__induction_init(&induction, kernel, p->trips[number].induction.param, step, NULL,
                                  &p->host, error);
    if (status == SPAD_OK) {
        const bool fine = induction.refusal.kind == SPAD__NOT_REFUSED && !induction.meets &&
                          induction.step <= JOINT_STEP_MAX;
        *out = fine ? induction.step : 0;
        spad__induction_free(&induction);
    }
    spad_kernel_destroy(kernel);
    return status;
}

/* Raises the step of one trip count for all values of another, up to its step. */
static spad_status raise_step(const spad__prover *p, size_t number, size_t other, int64_t *steps,
                              bool *fine, spad_error *error) {
    spad__shape s = {.possible = false};
    for (size_t i = 0; i < p->count; i++) s.values[i] = spad__trip_small(&p->trips[i]);
    for (int64_t v = 1; v <= steps[other] && *fine; v++) {
        int64_t step;
        s.values[other] = v;
        const spad_status status = step_in_shape(p, number, steps[number], &s, &step, error);
        if (status != SPAD_OK) return status;
        if (step > 0) steps[number] = step;
        *fine = step != 0;
    }
    return SPAD_OK;
}

static spad_status raise_steps(const spad__prover *p, int64_t *steps, bool *fine,
                               spad_error *error) {
    bool changed = true;
    for (int raises = 0; changed && *fine; raises++) {
        changed = false;
        for (size_t i = 0; i < p->count && *fine; i++) {
            for (size_t j = 0; j < p->count && *fine; j++) {
                const int64_t before = steps[i];
                if (i == j) continue;
                const spad_status status = raise_step(p, i, j, steps, fine, error);
                if (status != SPAD_OK) return status;
                changed = changed || steps[i] != before;
            }
        }
        if (raises == RAISES_MAX) *fine = false;
    }
    return SPAD_OK;
}

/* The induction of each at very large values of all, as large as there is a kernel. */
static spad_status look_far(const spad__prover *p, const int64_t *steps, bool *fine,
                            spad_error *error) {
    for (int power = FAR_MOST; power >= FAR_LEAST && *fine; power -= FAR_LESS) {
        bool possible = true;
        spad__shape s = {.possible = false};
        for (size_t i = 0; i < p->count; i++) {
            s.values[i] = spad__trip_small(&p->trips[i]) + (steps[i] << power);
        }
        for (size_t i = 0; i < p->count && possible && *fine; i++) {
            int64_t step;
            const spad_status status = step_in_shape(p, i, steps[i], &s, &step, error);
            if (status != SPAD_OK) return status;
            possible = step >= 0;
            *fine = !possible || step == steps[i];
        }
        if (possible) return SPAD_OK;
    }
    *fine = false;
    return SPAD_OK;
}

/* The induction of the given shape with the raised steps. */
static spad_status take_steps(spad__prover *p, const int64_t *steps, bool *fine,
                              spad_error *error) {
    spad__induction all[SPAD__TRIPS_MAX];
    size_t count = 0;
    spad_status status = SPAD_OK;
    while (count < p->count && *fine && status == SPAD_OK) {
        const size_t param = p->trips[count].induction.param;
        spad__induction *induction = &all[count];
        status =
            spad__induction_init(induction, p->kernel, param, steps[count], NULL, &p->host, error);
        if (status != SPAD_OK) break;
        *fine = induction->refusal.kind == SPAD__NOT_REFUSED && induction->step == steps[count];
        count++;
    }
    const bool all_fine = status == SPAD_OK && *fine;
    for (size_t i = 0; i < count; i++) {
        const spad__induction old = p->trips[i].induction;
        if (all_fine) p->trips[i].induction = all[i];
        if (all_fine) all[i] = old;
        spad__induction_free(&all[i]);
    }
    return status;
}

spad_status spad__trips_join(spad__prover *p, bool *joint, spad_error *error) {
    int64_t steps[SPAD__TRIPS_MAX] SPAD__FILLED_BY_LOOP;
    bool fine = depends(p);
    for (size_t i = 0; i < p->count; i++) {
        steps[i] = p->trips[i].induction.step;
        fine = fine && !p->trips[i].induction.meets && !p->trips[i].induction.any_late &&
               steps[i] <= JOINT_STEP_MAX;
    }
    *joint = false;
    if (!fine) return SPAD_OK;
    spad_status status = raise_steps(p, steps, &fine, error);
    if (status == SPAD_OK && fine) status = look_far(p, steps, &fine, error);
    if (status == SPAD_OK && fine) status = take_steps(p, steps, &fine, error);
    *joint = status == SPAD_OK && fine;
    return status;
}
