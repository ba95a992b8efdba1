/* SPDX-License-Identifier: Apache-2.0
 *
 * Conditions and loops of a function: what their regions do is noted between the beginning and the
 * end of a block.
 *
 * A loop is looked at twice: dry, with names for what it carries, which shows what one round does
 * to them; and again, when it is known what they are in round i, to note its statements. A loop in
 * a loop is looked at dry once for each loop around it, so the cost is O(operations x depth).
 */
#include <assert.h>
#include <string.h>

#include "frontend/ttgir/ttgir.h"

/* ---- conditions ---------------------------------------------------------------------- */

/* Views of one buffer that differ in their stage only. */
static bool same_part(const spad__ttgir_value *a, const spad__ttgir_value *b) {
    return a->kind == b->kind && a->buffer == b->buffer &&
           (a->view.stage < 0) == (b->view.stage < 0) &&
           memcmp(a->view.order, b->view.order, sizeof a->view.order) == 0 &&
           memcmp(a->view.from, b->view.from, sizeof a->view.from) == 0 &&
           memcmp(a->view.length, b->view.length, sizeof a->view.length) == 0 &&
           a->view.reshaped == b->view.reshaped && a->view.bits == b->view.bits;
}

spad__ttgir_value spad__ttgir_either(spad__ttgir *t, spad__scalar condition, spad__ttgir_value a,
                                     spad__ttgir_value b) {
    spad__scalars *s = &t->g->scalars;
    if (spad__scalar_get(s, condition)->op == SPAD__SCALAR_NUMBER) {
        return spad__scalar_is(s, condition, 0) ? b : a;
    }
    if (a.kind != b.kind) return spad__ttgir_nothing;
    if (a.kind == SPAD__TTGIR_SCALAR || a.kind == SPAD__TTGIR_MASK) {
        const spad__scalar result = spad__scalar_select(s, condition, a.scalar, b.scalar);
        a.scalar = result < 0 ? spad__scalar_data(s) : result;
    }
    if (a.kind == SPAD__TTGIR_POINTER && a.place != b.place) a.place = SPAD__NO_SCALAR;
    if (a.kind != SPAD__TTGIR_VIEW) return a; /* pointers: to global memory */
    if (same_part(&a, &b)) {
        if (a.view.stage != b.view.stage) {
            a.view.stage = spad__scalar_select(s, condition, a.view.stage, b.view.stage);
        }
        return a;
    }
    a.view.stage = spad__scalar_data(s);
    return a;
}

spad__scalar spad__ttgir_condition(spad__ttgir *t, const spad__mlir_op *op) {
    if (op->operand_count == 0) return spad__scalar_data(&t->g->scalars);
    spad__ttgir_value *value = &t->values.items[t->m->operands.items[op->first_operand].value];
    if (value->kind == SPAD__TTGIR_SCALAR && value->scalar >= 0) return value->scalar;
    if (value->decided <= 0) value->decided = spad__scalar_data(&t->g->scalars) + 1;
    return value->decided - 1;
}

/* Loops that stay loops begin with the operation that is looked at, unless there are some. */
static uint32_t begin_steady(spad__ttgir *t) {
    const uint32_t before = t->loops.steady_end;
    if (!t->g->dry && before == 0) {
        t->loops.steady_end = t->m->ops.items[t->g->site].name;
        t->loops.steady_call = t->calls.current;
    }
    return before;
}

/* True if the first operand of the operation is the same in all iterations of the loops that stay
 * loops. */
static bool is_steady(const spad__ttgir *t, const spad__mlir_op *op) {
    if (t->loops.steady_end == 0) return true;
    const int32_t value = t->m->operands.items[op->first_operand].value;
    return t->calls.current == t->loops.steady_call &&
           t->m->values.items[value].token < t->loops.steady_end;
}

void spad__ttgir_open_branch(spad__ttgir *t, spad__gpu_branch *branch, spad__scalar condition) {
    const spad__mlir_op *op = &t->m->ops.items[t->g->site];
    spad__gpu_decision decision = {.key = -1};
    if (op->operand_count > 0) {
        const uint32_t token = t->m->operands.items[op->first_operand].token;
        decision.key = token;
        decision.steady = is_steady(t, op);
        spad__ttgir_word_name(t, token, decision.name);
    }
    spad__gpu_open_branch(t->g, branch, condition, &decision);
}

void spad__ttgir_if(spad__ttgir *t, const spad__mlir_op *op) {
    const spad__scalar condition = spad__ttgir_condition(t, op);
    if (condition < 0) return; /* no memory */
    const spad__mlir_op *yes = NULL, *no = NULL;
    const int32_t other = spad__ttgir_region(t, op->first_region)->next;
    spad__gpu_branch branch;
    if (spad__scalar_get(&t->g->scalars, condition)->op == SPAD__SCALAR_NUMBER) {
        const bool taken = !spad__scalar_is(&t->g->scalars, condition, 0);
        const int32_t region = taken ? op->first_region : other;
        if (region >= 0 && t->run_region(t, region, &yes)) spad__ttgir_set_results(t, op, yes);
        return;
    }
    spad__ttgir_open_branch(t, &branch, condition);
    if (!t->run_region(t, op->first_region, &yes)) return;
    if (other >= 0) {
        spad__gpu_else_branch(t->g, &branch);
        if (!t->run_region(t, other, &no)) return;
    }
    for (int32_t i = 0; i < op->result_count && yes != NULL && no != NULL; i++) {
        spad__ttgir_set(t, op, i,
                        spad__ttgir_either(t, condition, *spad__ttgir_operand(t, yes, (uint32_t)i),
                                           *spad__ttgir_operand(t, no, (uint32_t)i)));
    }
    spad__gpu_close_branch(t->g, &branch);
}

/* ---- loops --------------------------------------------------------------------------- */

typedef struct spad__ttgir_loop {
    const spad__mlir_op *op;
    int64_t number;
    int32_t region; /* has what is carried as its arguments */
    int32_t body;   /* the same; of a `while` the region after that of its condition */
    uint32_t first; /* argument of the region that is carried */
    size_t count;   /* of carried values */
    spad__scalar trips;
    spad__scalar start, step;
    spad__scalar more; /* another round follows */
    SPAD_ARRAY(spad__ttgir_value) inits;
    SPAD_ARRAY(spad__scalar) scalars; /* inits, nexts, lasts */
} spad__ttgir_loop;

/* The number that a loop carries in a value: itself, or the stage of a view. */
static spad__scalar carried_part(const spad__ttgir_value *value) {
    if (value->kind == SPAD__TTGIR_SCALAR || value->kind == SPAD__TTGIR_MASK) return value->scalar;
    return value->kind == SPAD__TTGIR_VIEW ? value->view.stage : SPAD__NO_SCALAR;
}

static spad__ttgir_value with_part(spad__ttgir_value value, spad__scalar part) {
    if (value.kind == SPAD__TTGIR_SCALAR || value.kind == SPAD__TTGIR_MASK) value.scalar = part;
    if (value.kind == SPAD__TTGIR_VIEW && value.view.stage >= 0) value.view.stage = part;
    if (value.kind == SPAD__TTGIR_POINTER) value.place = SPAD__NO_SCALAR; /* it may move */
    return value;
}

static bool begin_loop(spad__ttgir *t, spad__ttgir_loop *l) {
    if (!spad__array_reserve(t->g->host, &l->inits, l->count) ||
        !spad__array_reserve(t->g->host, &l->scalars, 3 * l->count + 1)) {
        return spad__gpu_no_memory(t->g);
    }
    l->inits.count = l->count;
    l->scalars.count = 3 * l->count;
    return true;
}

static void free_loop(spad__ttgir *t, spad__ttgir_loop *l) {
    spad__array_free(t->g->host, &l->inits);
    spad__array_free(t->g->host, &l->scalars);
}

/* A round begins with the operands of an operation from `first` on. */
static void carry(spad__ttgir *t, spad__ttgir_loop *l, const spad__mlir_op *op, uint32_t first) {
    for (size_t k = 0; k < l->count; k++) {
        l->inits.items[k] = *spad__ttgir_operand(t, op, first + (uint32_t)k);
    }
}

/* The value of the variable of a `for` in an iteration. */
static spad__scalar variable_in(spad__ttgir *t, const spad__ttgir_loop *l, spad__scalar round) {
    const spad__scalar moved = spad__scalar_make(&t->g->scalars, SPAD__SCALAR_MUL, round, l->step);
    return spad__scalar_make(&t->g->scalars, SPAD__SCALAR_ADD, l->start, moved);
}

/* The names that the body sees: the iteration, and the carried values. */
static void enter_round(spad__ttgir *t, const spad__ttgir_loop *l) {
    spad__scalars *s = &t->g->scalars;
    if (l->first > 0) {
        const spad__scalar now = variable_in(t, l, spad__scalar_iteration(s, l->number));
        spad__ttgir_set_argument(t, l->region, 0, spad__ttgir_of_scalar(now));
    }
    for (size_t k = 0; k < l->count; k++) {
        const spad__scalar name = spad__scalar_carried(s, l->number, (int32_t)k);
        spad__ttgir_set_argument(t, l->region, l->first + (uint32_t)k,
                                 with_part(l->inits.items[k], name));
    }
}

/* After a dry round: what is carried in round i, and after the last one. */
static void solve_loop(spad__ttgir *t, spad__ttgir_loop *l, const spad__mlir_op *end) {
    spad__scalar *inits = l->scalars.items;
    spad__scalar *nexts = inits + l->count;
    spad__scalar *lasts = nexts + l->count;
    for (size_t k = 0; k < l->count; k++) {
        const spad__ttgir_value *next = spad__ttgir_operand(t, end, (uint32_t)k);
        spad__ttgir_value *init = &l->inits.items[k];
        if (init->kind == SPAD__TTGIR_VIEW && !same_part(init, next)) {
            init->view.stage = spad__scalar_data(&t->g->scalars);
        }
        inits[k] = carried_part(init);
        nexts[k] = init->kind == next->kind ? carried_part(next) : SPAD__NO_SCALAR;
    }
    /* start may be above stop, also at other sizes and in other rounds of loops around it */
    const spad__scalar rounds = spad__scalar_make(&t->g->scalars, SPAD__SCALAR_MAX, l->trips,
                                                  spad__scalar_number(&t->g->scalars, 0));
    spad__scalar_solve(&t->g->scalars, l->number, rounds, l->more, l->count, inits, nexts, lasts);
    for (size_t k = 0; k < l->count; k++) {
        spad__ttgir_value value = l->inits.items[k];
        if (value.kind != SPAD__TTGIR_VIEW || value.view.stage >= 0) {
            value = with_part(value, lasts[k] < 0 ? spad__scalar_data(&t->g->scalars) : lasts[k]);
        }
        spad__ttgir_set(t, l->op, (int32_t)k, value);
    }
}

/* A `while` up to its condition, which hands values to the body, and to what follows the loop. */
static bool run_condition(spad__ttgir *t, const spad__ttgir_loop *l,
                          const spad__mlir_op **condition) {
    if (!t->run_region(t, l->region, condition)) return false;
    assert(*condition != NULL); /* it is the last one of the region */
    for (uint32_t k = 0; k + 1 < (*condition)->operand_count; k++) {
        const spad__ttgir_value value = *spad__ttgir_operand(t, *condition, k + 1);
        spad__ttgir_set_argument(t, l->body, k, value);
        spad__ttgir_set(t, l->op, (int32_t)k, value);
    }
    return true;
}

/* One round, dry, for what is carried. False: stop. */
static bool look_at_round(spad__ttgir *t, spad__ttgir_loop *l) {
    const int32_t self = t->g->site;
    const bool dry = t->g->dry;
    const spad__mlir_op *condition, *end = NULL;
    t->g->dry = true;
    enter_round(t, l);
    const bool good = (l->body == l->region || run_condition(t, l, &condition)) &&
                      t->run_region(t, l->body, &end);
    t->g->dry = dry;
    t->g->site = self;
    if (!good && (dry || t->g->outcome == SPAD__GPU_FAILED))
        return false;                       /* else the fault is reported by the next run */
    if (end != NULL) solve_loop(t, l, end); /* without one, nothing is carried */
    return true;
}

static void keep_loop(spad__ttgir *t, spad__ttgir_loop *l) {
    const int32_t self = t->g->site;
    const uint32_t steady = begin_steady(t);
    const spad__mlir_op *end;
    if (!look_at_round(t, l) || t->g->dry) return;
    if (t->g->records.depth > 0 && spad__gpu_is_data(t->g, l->trips)) {
        spad__gpu_assume(t->g, SPAD__ASSUME_TRIPS, self);
    }
    t->g->records.depth++;
    spad__gpu_end_work(t->g);
    const size_t before = t->g->records.all.count;
    spad__gpu_record *record = spad__gpu_add_record(t->g, SPAD__RECORD_FOR);
    if (record != NULL) {
        record->loop = l->number;
        record->scalar = spad__scalar_resolve(&t->g->scalars, l->trips);
    }
    enter_round(t, l);
    if (!t->run_region(t, l->region, &end)) return;
    spad__gpu_end_work(t->g);
    t->g->records.depth--;
    t->loops.steady_end = steady;
    t->g->site = self;
    if (spad__gpu_drop_barriers(t->g,
                                before + 1)) { /* it may have no iterations, and no barriers */
        t->g->records.all.count = before;
    } else {
        spad__gpu_add_record(t->g, SPAD__RECORD_END);
    }
}

/* One round more is run. False: they are too many. */
static bool count_round(spad__ttgir *t) {
    if (t->loops.iterations_run++ < SPAD__TTGIR_ITERATIONS_RUN) return true;
    spad__gpu_fail(t->g,
                   "more than %d rounds of loops that are run with numbers: give smaller sizes",
                   SPAD__TTGIR_ITERATIONS_RUN);
    return false;
}

static void unroll_loop(spad__ttgir *t, spad__ttgir_loop *l) {
    const int32_t self = t->g->site;
    const spad__mlir_op *end = NULL;
    int64_t trips = 0;
    if (!spad__scalar_known(&t->g->scalars, l->trips, &trips)) {
        for (size_t k = 0; k < l->count; k++) {
            spad__ttgir_set(t, l->op, (int32_t)k, spad__ttgir_nothing);
        }
        spad__gpu_unresolved(t->g, "how often a loop runs is decided by data");
        return;
    }
    for (int64_t i = 0; i < trips; i++) {
        const spad__scalar now = variable_in(t, l, spad__scalar_number(&t->g->scalars, i));
        spad__ttgir_set_argument(t, l->region, 0, spad__ttgir_of_scalar(now));
        for (size_t k = 0; k < l->count; k++) {
            spad__ttgir_set_argument(t, l->region, l->first + (uint32_t)k, l->inits.items[k]);
        }
        if (!count_round(t) || !t->run_region(t, l->region, &end)) return;
        if (end != NULL) carry(t, l, end, 0);
        t->g->site = self;
    }
    for (size_t k = 0; k < l->count; k++) spad__ttgir_set(t, l->op, (int32_t)k, l->inits.items[k]);
}

/* Its variable is below the stop by more than a step: the form in which programs ask for it. */
static spad__scalar more_rounds(spad__ttgir *t, const spad__ttgir_loop *l, spad__scalar stop) {
    spad__scalars *s = &t->g->scalars;
    const spad__scalar now = variable_in(t, l, spad__scalar_iteration(s, l->number));
    return spad__gpu_in_steps(
        t->g, spad__scalar_make(s, SPAD__SCALAR_LESS, now, spad__scalar_sub(s, stop, l->step)));
}

void spad__ttgir_for(spad__ttgir *t, const spad__mlir_op *op) {
    spad__ttgir_loop l = {.op = op,
                          .number = t->g->site,
                          .region = op->first_region,
                          .body = op->first_region,
                          .first = 1};
    int64_t trips;
    if (spad__ttgir_region(t, l.region)->argument_count == 0 || op->operand_count < 3) {
        spad__gpu_fail(t->g, "a loop without a variable and bounds");
        return;
    }
    l.count = op->operand_count - 3;
    l.start = spad__ttgir_scalar(t, op, 0);
    l.step = spad__ttgir_scalar(t, op, 2);
    const spad__scalar stop = spad__ttgir_scalar(t, op, 1);
    l.trips = spad__gpu_count_trips(t->g, l.start, stop, l.step);
    l.more = more_rounds(t, &l, stop);
    if (l.start < 0 || l.step < 0 || l.trips < 0 || !begin_loop(t, &l)) {
        free_loop(t, &l);
        return;
    }
    carry(t, &l, op, 3);
    if (spad__scalar_known(&t->g->scalars, l.trips, &trips) && trips <= 0) {
        spad__gpu_assume(t->g, SPAD__ASSUME_NO_ITERATIONS, t->g->site);
    }
    if (spad__gpu_is_concrete(t->g)) {
        unroll_loop(t, &l);
    } else {
        keep_loop(t, &l);
    }
    free_loop(t, &l);
}

/* ---- while ----------------------------------------------------------------------------- */

/* Does the loop go on while cluster launch control hands out work? */
static bool is_handed_out(const spad__ttgir *t, const spad__mlir_op *op) {
    return spad__mlir_mentions(t->m, op, "ttng.clc_is_canceled");
}

/* Rounds that data ends: any number of them, and the condition once more. */
static void keep_while(spad__ttgir *t, spad__ttgir_loop *l) {
    spad__scalars *s = &t->g->scalars;
    const int32_t self = t->g->site;
    const uint32_t steady = begin_steady(t);
    const spad__mlir_op *condition, *end;
    if (!look_at_round(t, l)) return;
    for (int32_t k = 0; k < l->op->result_count; k++) { /* of the last condition */
        spad__ttgir_set(t, l->op, k, spad__ttgir_of_scalar(spad__scalar_data(s)));
    }
    if (t->g->dry) return;
    if (t->g->records.depth > 0) spad__gpu_assume(t->g, SPAD__ASSUME_TRIPS, self);
    t->g->records.depth++;
    spad__gpu_record *record = spad__gpu_add_record(t->g, SPAD__RECORD_FOR);
    if (record == NULL) return;
    record->loop = l->number;
    record->scalar = spad__scalar_plus(s, l->trips, 1);
    enter_round(t, l);
    if (!run_condition(t, l, &condition)) return;
    bool open;
    t->g->site = self;
    spad__gpu_open_if(
        t->g,
        spad__scalar_make(s, SPAD__SCALAR_LESS, spad__scalar_iteration(s, l->number), l->trips),
        &open);
    if (!t->run_region(t, l->body, &end)) return;
    t->g->site = self;
    spad__gpu_close_if(t->g, open);
    spad__gpu_add_record(t->g, SPAD__RECORD_END);
    t->g->records.depth--;
    t->loops.steady_end = steady;
}

static void unroll_while(spad__ttgir *t, spad__ttgir_loop *l) {
    const int32_t self = t->g->site;
    const spad__mlir_op *condition, *end = NULL;
    for (int64_t i = 0;; i++) {
        int64_t again;
        for (size_t k = 0; k < l->count; k++) {
            spad__ttgir_set_argument(t, l->region, (uint32_t)k, l->inits.items[k]);
        }
        if (!count_round(t) || !run_condition(t, l, &condition)) return;
        t->g->site = self;
        const bool known =
            spad__scalar_known(&t->g->scalars, spad__ttgir_scalar(t, condition, 0), &again);
        if (!known && is_handed_out(t, l->op)) {
            again = i < t->g->grid.tiles;
            spad__gpu_assume(t->g, SPAD__ASSUME_TILES, self);
        } else if (!known) {
            spad__gpu_unresolved(t->g, "how often a loop runs is decided by data");
            return;
        }
        if (again == 0 || !t->run_region(t, l->body, &end)) return;
        t->g->site = self;
        if (end != NULL) carry(t, l, end, 0);
    }
}

/* Is a run with numbers tried before any number of rounds? Where the caller has them for what data
 * decides; and where there are partitions, whose loops have numbers of rounds that depend on one
 * another, which is lost if each has any number. */
static bool is_run_first(const spad__ttgir *t, const spad__mlir_op *op) {
    return t->loads.any || (t->g->records.has_partitions && !is_handed_out(t, op));
}

void spad__ttgir_while(spad__ttgir *t, const spad__mlir_op *op) {
    spad__ttgir_loop l = {.op = op, .number = t->g->site, .region = op->first_region};
    l.body = spad__ttgir_region(t, l.region)->next;
    if (l.body < 0) {
        spad__gpu_fail(t->g, "a loop without a body");
        return;
    }
    const int32_t last = spad__ttgir_region(t, l.region)->last_op;
    if (last < 0 || !spad__mlir_named(t->m, &t->m->ops.items[last], "scf.condition")) {
        spad__gpu_fail(t->g, "a loop without a condition");
        return;
    }
    l.count = op->operand_count;
    l.more = SPAD__NO_SCALAR;
    /* such loops have the same number of rounds: all of them read the same answers */
    const int32_t whose = is_handed_out(t, op) ? t->function : t->g->site;
    l.trips =
        spad__scalar_argument(&t->g->scalars, SPAD__GPU_TRIPS + whose, SPAD__GPU_TRIPS_OF_DATA);
    if (begin_loop(t, &l)) {
        carry(t, &l, op, 0);
        if (spad__gpu_is_concrete(t->g)) {
            unroll_while(t, &l);
        } else if (is_run_first(t, op) && t->g->mode < SPAD__GPU_ANY_ITERATIONS) {
            spad__gpu_unresolved(t->g, "a loop with a condition instead of a number of rounds");
        } else {
            keep_while(t, &l);
        }
    }
    free_loop(t, &l);
}
