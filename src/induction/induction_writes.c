/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes off the chip that meet late.
 *
 * A tensor off the chip that is only written is no part of the state, since its tiles come one
 * after another. Where the order is examined, two writes of one tile can still be a race: those of
 * `out[i]` and `out[i + 60]` meet once the loop has 61 iterations. Let runs repeat themselves from
 * n iterations on. Two writes that may come in any order are then at most n iterations apart, or
 * one of their agents waits for nothing that the other does; and what is true of a pair of them
 * that are d iterations apart is true of all such pairs from iteration n on. So it is enough that
 * the shapes that are run have n + d iterations (trip_counts.c) for every d at which two writes
 * meet, or for d up to a bound.
 *
 * The bound. A window is a number of steps of the parameter, in which an index changes by `rate`,
 * wherever it starts; inside a window, and with the other loops around the write, it strays by at
 * most `reach` from where it was at the begin of the window. Let two indices be D apart in their
 * first windows, with the reach of both added. If both change by the same rate r, they can only
 * meet in windows that are at most D / |r| apart: `out[i / 7, i % 7]` and `out[i / 7 + 60, i % 7]`
 * meet 60 windows of 7 iterations apart. All indices of a tile must meet, so one such pair of
 * indices bounds how far apart two writes meet. The window after which all uneven indices return is
 * added: `out[i, i % 70]` and `out[i, 69]` meet in the same iteration, but first in iteration 69.
 *
 * The other indices say where such writes meet. If their rates differ by `rate`, and a window of
 * the parameter itself moves them apart by `drift`, they meet in window (drift x windows + D) /
 * rate. Without drift that is near the begin: `out[100 * i + 60, i]` and `out[101 * i, i]` meet in
 * iteration 60 alone. With a drift of the rate it is near the end; with a drift that is larger, or
 * the other way, there are no such windows when the parameter is large, and neither if only the
 * drift is not 0: `out[i + N, i]` and `out[60, i]` have met when N is 60. Nothing is proved if it
 * is anywhere between: `out[100 * i, i]` and `out[N - i, i]` meet whenever N can be divided by 101.
 * A loop that is longer than the parameter, as `0..N + 40` is, comes closer to what moves away: its
 * iterations beyond N are part of D. One index may say how far from the begin and another one how
 * far from the end, so these distances are added: `out[i, N - i]` and `out[36, 30]` meet with N =
 * 66 alone.
 *
 * An index with a drift bounds how far apart two writes meet if the drift is a multiple of r: they
 * meet further and further apart then. `out[10 * i + N]` and `out[10 * i + 60]` meet in the same
 * iteration with N = 60, although they are 6 iterations apart at most with small N.
 *
 * Without a pair that bounds it, places return: an index of rate 0 has all of its values in each
 * window, as `out[i % 70]` does. Pairs that are several windows apart are then ordered through the
 * writes of the same tile in the windows between them, so that one window is enough. If one index
 * moves and the other returns, the rule above says in which windows of the one that moves they
 * meet.
 *
 * D and the rates may hold for given values of other parameters only, as where these end the loops
 * around a write. No claim is made for larger values of them then (`late`). They may also hold for
 * one rest of the parameter by its step only: `(i + N) / 7` strays in a window unless N is a
 * multiple of 7. So all rests are looked at (trip_counts.c).
 *
 * Places that move at different rates meet in ever different pairs: `out[100 * i]` and
 * `out[101 * i + 1]` first at iterations 100 and 99. Nothing is proved for these.
 */
#include "base/checked.h"
#include "induction/induction.h"
#include "kernel/evaluate.h"
#include "kernel/kernel.h"
#include "spad/experimental/kernel_rows.h"

/* Off-chip tensors that are only read or only written, and share their bytes with none, have no
 * index at which a read is wrong. */
void spad__induction_find_tracked(spad__induction *induction, const spad_kernel *kernel) {
    const spad_target *target = spad_kernel_get_target(kernel);
    bool *tracked = induction->tracked;
    uint8_t *kinds = induction->kinds;
    for (size_t i = 0; i < spad_kernel_tensor_count(kernel); i++) kinds[i] = 0;
    for (size_t a = 0; a < spad__kernel_access_count(kernel); a++) {
        const spad_kernel_access *access = spad_kernel_get_access(kernel, a);
        kinds[access->tensor] |= (uint8_t)(access->kind & SPAD_ACCESS_UPDATE);
    }
    for (size_t i = 0; i < spad_kernel_tensor_count(kernel); i++) {
        const spad_kernel_tensor *t = spad_kernel_get_tensor(kernel, i);
        tracked[i] = kinds[i] == SPAD_ACCESS_UPDATE || t->mode != SPAD_MODE_AUTO ||
                     !target->spaces[t->space].off_chip;
    }
    for (size_t i = 0; i < spad_kernel_tensor_count(kernel); i++) {
        const spad_kernel_tensor *t = spad_kernel_get_tensor(kernel, i);
        if (t->mode == SPAD_MODE_ALIAS) tracked[t->home] = true;
    }
    for (size_t i = 0; i < spad_kernel_tensor_count(kernel); i++) {
        tracked[i] = tracked[i] && !induction->left_out[i];
    }
}

/* Does a row count as a write? Reads, and tensors that are part of the state, do not. */
static bool counts_as_write(const spad__induction *induction, const spad_kernel_access *access,
                            int64_t tensor) {
    return access->tensor == tensor && (access->kind & SPAD_ACCESS_WRITE) != 0 &&
           !induction->tracked[tensor] && !induction->left_out[tensor];
}

static bool is_same_index(const spad_kernel *kernel, spad_expr left, spad_expr right) {
    const spad_expr_info one = spad_kernel_get_expr(kernel, left);
    const spad_expr_info two = spad_kernel_get_expr(kernel, right);
    if (one.node_count != two.node_count) return false;
    for (size_t i = 0; i < one.node_count; i++) {
        if (one.nodes[i].op != two.nodes[i].op || one.nodes[i].value != two.nodes[i].value) {
            return false;
        }
    }
    return true;
}

/* No value of the parameter is large enough. */
static const int64_t never = INT64_C(1) << 40;

static void raise_least(spad__induction *induction, int64_t least) {
    induction->least = spad__max(induction->least, spad__min(least, never));
}

/* The part of an index that does not move: its value in the first iterations, without the part
 * that comes from the parameter. False: that is not known. */
static bool still_part(const spad__induction *induction, const spad_kernel *kernel, spad_expr index,
                       const int64_t *begins, int64_t *out, int64_t *shift) {
    const int64_t value = spad_kernel_get_param(kernel, induction->param)->value;
    spad__affine affine;
    int64_t moved;
    *out = *shift = 0;
    if (index == 0) return true;
    if (!spad__induction_affine(induction, kernel, index, true, -1, &affine) ||
        !spad__affine_value(&affine, begins, shift)) {
        return false;
    }
    *out = spad__kernel_evaluate(kernel, index, begins);
    return spad__mul(*shift, value / induction->step, &moved) && spad__sub(*out, moved, out);
}

/* The multiple of a loop variable in an affine sum. */
static int64_t loop_factor(const spad__affine *affine, int64_t loop) {
    for (size_t i = 0; i < affine->count; i++) {
        if (affine->loops[i] == loop) return affine->factors[i];
    }
    return 0;
}

/* How late writes meet holds for these values of the parameters of an expression only. */
static void rely_on(const spad__induction *induction, const spad_kernel *kernel, spad_expr expr) {
    const spad__moves late = {.kernel = kernel, .param = -1, .relies = induction->late};
    spad__moves_rely(&late, expr);
}

/* The same for the ends of a loop, and of the loops that these are computed from. */
static void rely_on_loop(const spad__induction *induction, const spad_kernel *kernel,
                         int64_t number) {
    for (; number >= 0; number = spad_kernel_get_loop(kernel, (size_t)number)->outer) {
        const spad_kernel_loop *loop = spad_kernel_get_loop(kernel, (size_t)number);
        const spad_expr ends[] = {loop->begin.expr, loop->end.expr};
        bool nested = false;
        for (size_t e = 0; e < 2; e++) {
            const spad_expr_info info = spad_kernel_get_expr(kernel, ends[e]);
            for (size_t i = 0; i < info.node_count; i++) {
                nested = nested || info.nodes[i].op == SPAD_EXPR_VARIABLE;
            }
            rely_on(induction, kernel, ends[e]);
        }
        if (!nested) return;
    }
}

/* How far one loop that does not grow moves an index. With the part of the parameter, as in
 * t * N + i, only its part of a step counts: the rest grows with N. False: not evenly. */
static bool reach_of_loop(const spad__induction *induction, const spad_kernel *kernel,
                          spad_expr index, int64_t number, int64_t *reach) {
    const spad_kernel_loop *loop = spad_kernel_get_loop(kernel, (size_t)number);
    const spad__moves moves = {.kernel = kernel, .param = -1, .loop = number, .loop_step = 1};
    const int64_t steps = spad_kernel_get_param(kernel, induction->param)->value / induction->step;
    spad__affine step, shift;
    int64_t period, moved, still, most;
    if (spad__affine_of(&moves, index, &step, &period, NULL) != SPAD__EVEN || period != 1 ||
        step.count > 0 || !spad__induction_affine(induction, kernel, index, true, -1, &shift)) {
        return false;
    }
    const int64_t with_param = loop_factor(&shift, number);
    if (!spad__mul(with_param, steps, &moved) || !spad__sub(step.constant, moved, &still) ||
        still == INT64_MIN || with_param == INT64_MIN ||
        !spad__add(still < 0 ? -still : still, with_param < 0 ? -with_param : with_param, &most) ||
        !spad__mul(most, spad__max(loop->end.value - loop->begin.value - 1, 0), reach)) {
        return false;
    }
    if (most > 0) rely_on_loop(induction, kernel, number);
    return true;
}

/* How far the loops around a statement move an index, without the growing one. */
static bool reach_of_loops(const spad__induction *induction, const spad_kernel *kernel,
                           size_t statement, spad_expr index, int64_t *reach) {
    int64_t number = spad_kernel_get_statement(kernel, statement)->loop;
    *reach = 0;
    for (; number >= 0; number = spad_kernel_get_loop(kernel, (size_t)number)->outer) {
        int64_t more;
        if (number == induction->inside[statement]) continue;
        if (!reach_of_loop(induction, kernel, index, number, &more) ||
            !spad__add(*reach, more, reach)) {
            return false;
        }
    }
    return true;
}

/* One index of an access, and its statement. */
typedef struct written_place {
    size_t statement;
    spad_expr index;
} written_place;

/* How an index moves with the growing loop around its statement. Without one it stays. */
typedef struct motion {
    int64_t steps;     /* of the parameter: a window */
    spad__affine rate; /* of a window */
    bool linear;       /* it moves by the same amount in each iteration of the window */
} motion;

/* False: it moves unevenly with the loop or the parameter. */
static bool motion_of(const spad__induction *induction, const spad_kernel *kernel,
                      written_place place, motion *m) {
    const int32_t loop = induction->inside[place.statement];
    *m = (motion){.steps = 1, .linear = true};
    spad__affine any;
    int64_t period;
    if (!spad__induction_period(induction, kernel, place.index, true, loop, &any, &period)) {
        return false;
    }
    if (loop < 0) return true;
    const spad__moves one = {.kernel = kernel, .param = -1, .loop = loop, .loop_step = 1};
    m->linear =
        spad__affine_of(&one, place.index, &any, &period, NULL) == SPAD__EVEN && period == 1;
    return spad__induction_period(induction, kernel, place.index, false, loop, &m->rate, &m->steps);
}

/* Are the values of an index known from the values of the loops alone? */
static bool is_of_loops(const spad_kernel *kernel, spad_expr index) {
    const spad_expr_info info = spad_kernel_get_expr(kernel, index);
    for (size_t i = 0; i < info.node_count; i++) {
        const spad_expr_op op = info.nodes[i].op;
        if (op == SPAD_EXPR_STAGE || op == SPAD_EXPR_PHASE || op == SPAD_EXPR_UNKNOWN) return false;
    }
    return true;
}

/* Iterations of a window whose values are computed. */
enum { WINDOW_MAX = 1024 };

/* How far an index strays in a window. False: not known. */
static bool window_reach(const spad__induction *induction, const spad_kernel *kernel,
                         written_place place, const motion *m, int64_t *begins, int64_t *reach) {
    if (!reach_of_loops(induction, kernel, place.statement, place.index, reach)) return false;
    if (m->linear) return true;
    const int32_t loop = induction->inside[place.statement];
    const int64_t begin = begins[loop];
    int64_t iterations, range;
    if (!is_of_loops(kernel, place.index) ||
        !spad__mul(m->steps, induction->extra[loop], &iterations) || iterations > WINDOW_MAX) {
        return false;
    }
    int64_t low = INT64_MAX;
    int64_t high = INT64_MIN;
    for (; begins[loop] < begin + iterations; begins[loop]++) {
        const int64_t value = spad__kernel_evaluate(kernel, place.index, begins);
        low = spad__min(low, value);
        high = spad__max(high, value);
    }
    begins[loop] = begin;
    return spad__sub(high, low, &range) && spad__add(*reach, range, reach);
}

/* D of the head of this file. What a step moves one more than the other is added for the part of a
 * step. False: not known. */
static bool distance_of(const spad__induction *induction, const spad_kernel *kernel,
                        const written_place *places, const motion *motions, int64_t *begins,
                        int64_t *distance) {
    int64_t one, two, shift, other, apart;
    if (!window_reach(induction, kernel, places[0], &motions[0], begins, distance)) return false;
    if (is_same_index(kernel, places[0].index, places[1].index)) return true;
    return window_reach(induction, kernel, places[1], &motions[1], begins, &apart) &&
           spad__add(*distance, apart, distance) &&
           still_part(induction, kernel, places[0].index, begins, &one, &shift) &&
           still_part(induction, kernel, places[1].index, begins, &two, &other) &&
           spad__sub(spad__max(one, two), spad__min(one, two), &apart) &&
           spad__add(*distance, apart, distance) &&
           spad__sub(spad__max(shift, other), spad__min(shift, other), &apart) &&
           spad__add(*distance, apart, distance);
}

/* By how much the parameter grows in the windows that two indices may be apart. What moves by the
 * same amount in each iteration is that far apart at most; anything else may also be anywhere in
 * its window: `out[i / 7, 100 * i]` and `out[i / 7, 101 * i + 1]` meet in iterations 100 and 99. */
static int64_t growth_apart(int64_t distance, int64_t rate, int64_t window, bool linear) {
    int64_t growth;
    if (linear) return spad__scale_up(distance, window, rate, &growth) ? growth : never;
    return spad__mul(distance / rate, window, &growth) && spad__add(growth, window - 1, &growth)
               ? growth
               : never;
}

/* Both windows as one, with the rates of that. */
static bool align_motions(motion *motions) {
    int64_t steps = motions[0].steps;
    if (!spad__lcm(steps, motions[1].steps, &steps)) return false;
    for (size_t i = 0; i < 2; i++) {
        const spad__affine rate = motions[i].rate;
        motions[i].rate = (spad__affine){.constant = 0};
        if (!spad__affine_add(&motions[i].rate, &rate, steps / motions[i].steps)) return false;
        motions[i].steps = steps;
    }
    return true;
}

/* How two indices of one dimension move. */
typedef struct index_pair {
    bool known;
    bool same; /* one index, which only the growing loop moves */
    bool linear;
    bool alike; /* by the same rate */
    motion motions[2];
    int64_t window;   /* of both, in the parameter */
    int64_t distance; /* D */
    int64_t beyond;   /* by how much loops move them that run longer than the parameter says */
    int64_t drift;    /* by how much the parameter moves them apart in a window */
    int64_t spread;   /* a divisor of what it moves them apart with the loops around; 0: nothing */
} index_pair;

/* How two indices move, in windows of both. False: unevenly. */
static bool motions_of(const spad__induction *induction, const spad_kernel *kernel,
                       const written_place *places, index_pair *pair) {
    motion *motions = pair->motions;
    return motion_of(induction, kernel, places[0], &motions[0]) &&
           motion_of(induction, kernel, places[1], &motions[1]) && align_motions(motions) &&
           spad__mul(motions[0].steps, induction->step, &pair->window);
}

/* `drift` and `spread`. False: the parameter moves them unevenly. */
static bool find_pair_drift(const spad__induction *induction, const spad_kernel *kernel,
                            const written_place *places, index_pair *pair) {
    spad__affine apart = {.constant = 0};
    int64_t steps = 0;
    for (size_t i = 0; i < 2; i++) {
        spad__affine shift;
        if (places[i].index == 0) continue;
        if (!spad__induction_affine(induction, kernel, places[i].index, true, -1, &shift)) {
            int64_t reach;
            return is_same_index(kernel, places[0].index, places[1].index) &&
                   reach_of_loops(induction, kernel, places[i].statement, places[i].index, &reach);
        }
        for (size_t f = 0; f < shift.count; f++) {
            if (shift.factors[f] == INT64_MIN) return false;
            const int64_t factor = shift.factors[f] < 0 ? -shift.factors[f] : shift.factors[f];
            steps = spad__gcd(steps, factor);
        }
        shift.count = 0;
        if (!spad__affine_add(&apart, &shift, i == 0 ? -1 : 1)) return false;
    }
    return spad__mul(steps, pair->motions[0].steps, &pair->spread) &&
           spad__mul(apart.constant, pair->motions[0].steps, &pair->drift) &&
           pair->drift != INT64_MIN;
}

/* Does the parameter leave them where they are to each other? */
static bool param_keeps_pair(const index_pair *pair) {
    return pair->drift == 0 && pair->spread == 0;
}

static bool both_stay(const index_pair *pair) {
    return spad__affine_is_zero(&pair->motions[0].rate) &&
           spad__affine_is_zero(&pair->motions[1].rate);
}

static int64_t magnitude(int64_t value) {
    return value < 0 ? -value : value;
}

/* |rate|, or as little as it can be. */
static int64_t speed_of(const spad__affine *rate) {
    if (rate->count > 0 || rate->constant == INT64_MIN) return 1;
    return magnitude(rate->constant);
}

/* Adds how far an index moves in the iterations that its loop has beyond those of the parameter. */
static bool add_beyond(const spad__induction *induction, const spad_kernel *kernel,
                       written_place place, const motion *m, int64_t *beyond) {
    const int32_t number = induction->inside[place.statement];
    if (number < 0 || spad__affine_is_zero(&m->rate)) return true;
    const spad_kernel_loop *loop = spad_kernel_get_loop(kernel, (size_t)number);
    const int64_t steps = spad_kernel_get_param(kernel, induction->param)->value / induction->step;
    const int64_t extra = induction->extra[number];
    int64_t iterations, window, more;
    rely_on_loop(induction, kernel, number);
    if (!spad__mul(extra, steps, &iterations) || !spad__mul(extra, m->steps, &window) ||
        !spad__sub(loop->end.value - loop->begin.value, iterations, &more)) {
        return false;
    }
    if (induction->step > 1 && !spad__add(more, extra, &more))
        return false; /* all values modulo it */
    more = more > 0 ? (more - 1) / window + 1 : 0;
    return spad__mul(more, speed_of(&m->rate), &more) && spad__add(*beyond, more, beyond);
}

static void measure_pair(const spad__induction *induction, const spad_kernel *kernel,
                         const written_place *places, int64_t *begins, index_pair *pair) {
    *pair = (index_pair){.known = false};
    const int64_t loop = spad_kernel_get_statement(kernel, places[0].statement)->loop;
    pair->same = loop == induction->inside[places[0].statement] &&
                 loop == spad_kernel_get_statement(kernel, places[1].statement)->loop &&
                 (loop < 0 || spad_kernel_get_loop(kernel, (size_t)loop)->outer < 0) &&
                 is_same_index(kernel, places[0].index, places[1].index);
    if (!motions_of(induction, kernel, places, pair) ||
        !find_pair_drift(induction, kernel, places, pair)) {
        return;
    }
    pair->linear = pair->motions[0].linear && pair->motions[1].linear;
    pair->alike = spad__affine_equal(&pair->motions[0].rate, &pair->motions[1].rate);
    pair->known = both_stay(pair) && param_keeps_pair(pair);
    if (pair->known) return;
    pair->known = distance_of(induction, kernel, places, pair->motions, begins, &pair->distance);
    for (size_t i = 0; pair->known && pair->drift != 0 && i < 2; i++) {
        pair->known = add_beyond(induction, kernel, places[i], &pair->motions[i], &pair->beyond);
    }
    if (pair->distance == 0 && is_same_index(kernel, places[0].index, places[1].index)) return;
    rely_on(induction, kernel, places[0].index);
    rely_on(induction, kernel, places[1].index);
}

/* Does it bound how far apart two writes meet? What the parameter moves has to be a whole number of
 * windows, so that no value of it is the only one at which they meet. */
static bool bounds_pair(const index_pair *pair) {
    const spad__affine *rate = &pair->motions[0].rate;
    if (!pair->alike || both_stay(pair)) return false;
    if (param_keeps_pair(pair)) return true;
    const int64_t speed = speed_of(rate);
    return rate->count == 0 && pair->drift % speed == 0 && pair->spread % speed == 0;
}

/* The least of the amounts that move two indices towards each other: at the begin, at the end, and
 * with the parameter. 0: they meet anywhere. */
static int64_t speed_of_drift(const index_pair *pair, int64_t rate) {
    const int64_t drift = pair->drift;
    int64_t past;
    if (!spad__sub(drift, rate, &past) || past == INT64_MIN || rate == INT64_MIN) return 0;
    const bool same_way = (rate < 0) == (drift < 0);
    if (rate != 0 && drift != 0 && same_way && magnitude(drift) < magnitude(rate)) return 0;
    int64_t speed = pair->spread > 0 ? 1 : INT64_MAX;
    const int64_t speeds[] = {rate, drift, past};
    for (size_t i = 0; i < 3; i++) {
        if (speeds[i] != 0) speed = spad__min(speed, magnitude(speeds[i]));
    }
    return speed;
}

/* Two writes whose other indices keep them at most `apart` windows apart: until when these indices
 * can meet, in the iterations or in the values of the parameter. */
static int64_t growth_of_drift(const index_pair *pair, int64_t apart) {
    const spad__affine *one = &pair->motions[0].rate;
    const spad__affine *two = &pair->motions[1].rate;
    int64_t rate = 0;
    int64_t distance;
    if (pair->alike && param_keeps_pair(pair)) return 0;
    if (!pair->alike && (one->count > 0 || two->count > 0 || pair->spread > 0 ||
                         !spad__sub(one->constant, two->constant, &rate))) {
        return never;
    }
    const int64_t speed = speed_of_drift(pair, rate);
    if (speed == 0 || !spad__mul(spad__max(speed_of(one), speed_of(two)), apart, &distance) ||
        !spad__add(distance, pair->distance, &distance) ||
        !spad__add(distance, pair->beyond, &distance)) {
        return never;
    }
    return growth_apart(distance, speed, pair->window, pair->linear);
}

/* The dimension that bounds best how far apart they meet, and by how much; -1: none does. One that
 * the parameter does not move comes first, since the others can rely on it. */
static int64_t best_bound(const index_pair *pairs, size_t count, int64_t *growth) {
    int64_t best = -1;
    *growth = 0;
    for (size_t d = 0; d < count; d++) {
        if (!pairs[d].known || !bounds_pair(&pairs[d])) continue;
        const int64_t more = growth_apart(pairs[d].distance, speed_of(&pairs[d].motions[0].rate),
                                          pairs[d].window, pairs[d].linear);
        const bool better =
            best < 0 || (param_keeps_pair(&pairs[d]) == param_keeps_pair(&pairs[best])
                             ? more < *growth
                             : param_keeps_pair(&pairs[d]));
        if (!better) continue;
        best = (int64_t)d;
        *growth = more;
    }
    return best;
}

/* By how much the parameter grows until two writes have met. */
static int64_t late_meeting(const index_pair *pairs, size_t count) {
    int64_t apart, growth, all;
    int64_t others = 0;
    int64_t window = 1; /* after which all places return that do not move evenly */
    const int64_t best = best_bound(pairs, count, &apart);
    for (size_t d = 0; d < count; d++) {
        const index_pair *pair = &pairs[d];
        const bool keeps = best < 0 || param_keeps_pair(&pairs[best]);
        if (!pair->known && pair->same && best >= 0 && keeps && apart == 0) continue;
        if (!pair->known) return never;
        if (!pair->linear && !spad__lcm(window, pair->window, &window)) return never;
        if ((int64_t)d == best) continue;
        const bool one_stays = spad__affine_is_zero(&pair->motions[0].rate) ||
                               spad__affine_is_zero(&pair->motions[1].rate);
        if (best < 0 && !one_stays) return never;
        growth = growth_of_drift(pair, apart / pair->window + (apart > 0));
        if (growth > 0 && !keeps) return never;
        if (!spad__add(others, growth, &others)) return never;
    }
    if (!spad__add(apart, others, &all) || !spad__add(all, window - 1, &all)) return never;
    return best < 0 ? spad__max(all, window) : all;
}

/* The operation with an access: at or after statement `from`. */
static size_t statement_of_access(const spad_kernel *kernel, size_t access, size_t from) {
    for (size_t i = from;; i++) {
        const spad_statement *s = spad_kernel_get_statement(kernel, i);
        if (s->kind == SPAD_STATEMENT_OPERATION && access >= s->first_access &&
            access < s->first_access + s->access_count) {
            return i;
        }
    }
}

/* A row with itself and the rows before it. */
static void add_row(spad__induction *induction, const spad_kernel *kernel, size_t statement,
                    size_t row, int64_t *begins) {
    const spad_kernel_access *access = spad_kernel_get_access(kernel, row);
    size_t before = 0; /* statement of the other row */
    for (size_t i = 0; i <= row; i++) {
        const spad_kernel_access *other = spad_kernel_get_access(kernel, i);
        if (!counts_as_write(induction, other, access->tensor)) continue;
        before = statement_of_access(kernel, i, before);
        if (i < row && spad__induction_never_same(kernel, access, other)) continue;
        index_pair pairs[SPAD_RANK_MAX];
        size_t count = 0;
        for (; count < access->index_count && count < other->index_count; count++) {
            const written_place places[] = {{statement, access->index[count]},
                                            {before, other->index[count]}};
            measure_pair(induction, kernel, places, begins, &pairs[count]);
        }
        raise_least(induction, late_meeting(pairs, count));
    }
}

/* What holds for some values of other parameters only: they do not grow with this one. */
static void rely_on_late(spad__induction *induction, const spad_kernel *kernel) {
    for (size_t i = spad_kernel_param_count(kernel); i-- > 0;) {
        if (!induction->late[i]) continue;
        rely_on(induction, kernel, spad_kernel_get_param(kernel, i)->preset.expr);
        if (i != induction->param) induction->relies[i] = induction->any_late = true;
    }
}

void spad__induction_find_write_collisions(spad__induction *induction, const spad_kernel *kernel,
                                           int64_t *begins) {
    if (spad_kernel_is_implicit(kernel)) return;
    for (size_t i = 0; i < spad_kernel_loop_count(kernel); i++) {
        begins[i] = spad_kernel_get_loop(kernel, i)->begin.value;
    }
    for (size_t i = 0; i < spad_kernel_cursor_count(kernel); i++) {
        begins[spad_kernel_loop_count(kernel) + i] = 0;
    }
    for (size_t s = 0; s < spad_kernel_statement_count(kernel); s++) {
        const spad_statement *row = spad_kernel_get_statement(kernel, s);
        if (row->kind != SPAD_STATEMENT_OPERATION) continue;
        for (size_t a = row->first_access; a < row->first_access + row->access_count; a++) {
            const spad_kernel_access *access = spad_kernel_get_access(kernel, a);
            if (!counts_as_write(induction, access, access->tensor)) continue;
            induction->writes_off_chip = true;
            add_row(induction, kernel, s, a, begins);
        }
    }
    rely_on_late(induction, kernel);
}
