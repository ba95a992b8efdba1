/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs through a function: scalars become expressions, loops and conditions are noted, partitions
 * of warps are agents.
 *
 * A loop is looked at twice: dry, with names for what it carries, which shows what one round does
 * to them; and again, when it is known what they are in round i, to note its statements. A loop in
 * a loop is looked at dry once for each loop around it, so the cost is O(operations x depth).
 */
#include <stdio.h>
#include <string.h>

#include "read/ttgir.h"

static bool run_region(spad__ttgir *t, int32_t region, const spad__mlir_op **end);

/* ---- values -------------------------------------------------------------------------- */

static const spad__ttgir_value nothing = {.kind = SPAD__TTGIR_NOTHING, .scalar = -1, .buffer = -1};

/* ---- arithmetic ---------------------------------------------------------------------- */

/* The type of the operation is that one: "arith.andi %a, %b : i1". */
static bool is_typed(const spad__ttgir *t, const spad__mlir_op *op, const char *type) {
    for (uint32_t at = op->name + 1; at + 1 < op->end; at++) {
        if (spad__mlir_is_mark(t->m, at, ':')) return spad__mlir_is(t->m, at + 1, type);
    }
    return false;
}

static spad__scalar ttgir_compare(spad__ttgir *t, const spad__mlir_op *op) {
    static const struct {
        const char *word;
        spad__scalar_op op;
        bool swap;
        bool negate;
    } relations[] = {
        {"eq", SPAD__SCALAR_EQUAL, false, false},    {"ne", SPAD__SCALAR_EQUAL, false, true},
        {"slt", SPAD__SCALAR_LESS, false, false},    {"ult", SPAD__SCALAR_LESS, false, false},
        {"sle", SPAD__SCALAR_AT_MOST, false, false}, {"ule", SPAD__SCALAR_AT_MOST, false, false},
        {"sgt", SPAD__SCALAR_LESS, true, false},     {"ugt", SPAD__SCALAR_LESS, true, false},
        {"sge", SPAD__SCALAR_AT_MOST, true, false},  {"uge", SPAD__SCALAR_AT_MOST, true, false}};
    const spad__scalar a = spad__ttgir_operand(t, op, 0)->scalar;
    const spad__scalar b = spad__ttgir_operand(t, op, 1)->scalar;
    for (size_t i = 0; i < sizeof relations / sizeof *relations; i++) {
        if (!spad__mlir_is(t->m, op->name + 1, relations[i].word)) continue;
        const bool swap = relations[i].swap;
        const spad__scalar result =
            spad__scalar_make(&t->scalars, relations[i].op, swap ? b : a, swap ? a : b);
        return relations[i].negate ? spad__scalar_not(&t->scalars, result) : result;
    }
    return SPAD__NO_SCALAR;
}

/* Bits of whole numbers: only a mask of ones at the low end has an expression. */
static spad__scalar and_bits(spad__ttgir *t, spad__scalar a, spad__scalar b) {
    int64_t mask;
    if (a < 0 || b < 0) return SPAD__NO_SCALAR;
    if (spad__scalar_known(&t->scalars, b, &mask) && mask > 0 && mask < INT64_MAX &&
        (mask & (mask + 1)) == 0) {
        return spad__scalar_make(&t->scalars, SPAD__SCALAR_MOD, a,
                                 spad__scalar_number(&t->scalars, mask + 1));
    }
    return spad__scalar_data(&t->scalars);
}

static spad__scalar shift(spad__ttgir *t, spad__scalar_op op, spad__scalar a, spad__scalar b) {
    int64_t by;
    if (!spad__scalar_known(&t->scalars, b, &by) || by < 0 || by > 40) {
        return spad__scalar_data(&t->scalars);
    }
    return spad__scalar_make(&t->scalars, op, a,
                             spad__scalar_number(&t->scalars, INT64_C(1) << by));
}

static spad__scalar ceil_div(spad__ttgir *t, spad__scalar a, spad__scalar b) {
    const spad__scalar less =
        spad__scalar_make(&t->scalars, SPAD__SCALAR_ADD, b, spad__scalar_number(&t->scalars, -1));
    const spad__scalar sum = spad__scalar_make(&t->scalars, SPAD__SCALAR_ADD, a, less);
    return spad__scalar_make(&t->scalars, SPAD__SCALAR_DIV, sum, b);
}

static const struct {
    const char *name;
    spad__scalar_op op;
} plain_arithmetic[] = {{"arith.addi", SPAD__SCALAR_ADD},      {"arith.muli", SPAD__SCALAR_MUL},
                        {"arith.divsi", SPAD__SCALAR_DIV},     {"arith.divui", SPAD__SCALAR_DIV},
                        {"arith.remsi", SPAD__SCALAR_MOD},     {"arith.remui", SPAD__SCALAR_MOD},
                        {"arith.minsi", SPAD__SCALAR_MIN},     {"arith.minui", SPAD__SCALAR_MIN},
                        {"arith.maxsi", SPAD__SCALAR_MAX},     {"arith.maxui", SPAD__SCALAR_MAX},
                        {"arith.floordivsi", SPAD__SCALAR_DIV}};

/* False: no arithmetic. *out is SPAD__NO_SCALAR for tensors and floats. */
static bool arithmetic(spad__ttgir *t, const spad__mlir_op *op, spad__scalar *out) {
    const spad__mlir *m = t->m;
    const char *name = spad__mlir_text(m, op->name);
    const spad__scalar a = spad__ttgir_operand(t, op, 0)->scalar;
    const spad__scalar b = spad__ttgir_operand(t, op, 1)->scalar;
    const spad__scalar c = spad__ttgir_operand(t, op, 2)->scalar;
    *out = SPAD__NO_SCALAR;
    if (m->tokens.items[op->name].length < 6 || memcmp(name, "arith.", 6) != 0) return false;
    for (size_t i = 0; i < sizeof plain_arithmetic / sizeof *plain_arithmetic; i++) {
        if (!spad__mlir_named(m, op, plain_arithmetic[i].name)) continue;
        *out = spad__scalar_make(&t->scalars, plain_arithmetic[i].op, a, b);
        return true;
    }
    if (spad__mlir_named(m, op, "arith.constant")) {
        int64_t value;
        if (spad__mlir_number(m, spad__ttgir_constant(t, op), &value)) {
            *out = spad__scalar_number(&t->scalars, value);
        }
    } else if (spad__mlir_named(m, op, "arith.subi")) {
        *out = spad__scalar_sub(&t->scalars, a, b);
    } else if (spad__mlir_named(m, op, "arith.cmpi")) {
        *out = ttgir_compare(t, op);
    } else if (spad__mlir_named(m, op, "arith.select")) {
        *out = spad__scalar_select(&t->scalars, a, b, c);
    } else if (spad__mlir_named(m, op, "arith.ceildivsi") ||
               spad__mlir_named(m, op, "arith.ceildivui")) {
        *out = a < 0 || b < 0 ? SPAD__NO_SCALAR : ceil_div(t, a, b);
    } else if (spad__mlir_named(m, op, "arith.andi")) {
        *out = is_typed(t, op, "i1") ? spad__scalar_make(&t->scalars, SPAD__SCALAR_AND, a, b)
                                     : and_bits(t, a, b);
    } else if (spad__mlir_named(m, op, "arith.ori") && is_typed(t, op, "i1")) {
        *out = spad__scalar_make(&t->scalars, SPAD__SCALAR_OR, a, b);
    } else if (spad__mlir_named(m, op, "arith.xori")) {
        *out = spad__scalar_make(&t->scalars, SPAD__SCALAR_XOR, a, b);
    } else if (spad__mlir_named(m, op, "arith.shli")) {
        *out = a < 0 ? SPAD__NO_SCALAR : shift(t, SPAD__SCALAR_MUL, a, b);
    } else if (spad__mlir_named(m, op, "arith.shrsi") || spad__mlir_named(m, op, "arith.shrui")) {
        *out = a < 0 ? SPAD__NO_SCALAR : shift(t, SPAD__SCALAR_DIV, a, b);
    } else if (spad__mlir_named(m, op, "arith.extsi") || spad__mlir_named(m, op, "arith.extui") ||
               spad__mlir_named(m, op, "arith.trunci") ||
               spad__mlir_named(m, op, "arith.index_cast")) {
        *out = a;
    } else if (a >= 0 && op->result_count == 1 && !is_typed(t, op, "f32")) {
        *out = spad__scalar_data(&t->scalars);
    }
    return true;
}

/* ---- blocks -------------------------------------------------------------------------- */

static const spad__mlir_region *region_at(const spad__ttgir *t, int32_t region) {
    return &t->m->regions.items[region];
}

/* Views of one buffer that differ in their stage only. */
static bool same_part(const spad__ttgir_value *a, const spad__ttgir_value *b) {
    return a->kind == b->kind && a->buffer == b->buffer &&
           (a->view.stage < 0) == (b->view.stage < 0) && a->view.rank == b->view.rank &&
           memcmp(a->view.order, b->view.order, sizeof a->view.order) == 0 &&
           memcmp(a->view.from, b->view.from, sizeof a->view.from) == 0 &&
           memcmp(a->view.length, b->view.length, sizeof a->view.length) == 0;
}

/* Two values that may be meant: the same buffer at one stage or the other. */
static spad__ttgir_value either(spad__ttgir *t, spad__scalar condition, spad__ttgir_value a,
                                spad__ttgir_value b) {
    spad__scalars *s = &t->scalars;
    if (a.kind == SPAD__TTGIR_SCALAR && b.kind == SPAD__TTGIR_SCALAR) {
        const spad__scalar result = spad__scalar_select(s, condition, a.scalar, b.scalar);
        return spad__ttgir_of_scalar(result < 0 ? spad__scalar_data(s) : result);
    }
    if (a.kind != SPAD__TTGIR_VIEW || b.kind != SPAD__TTGIR_VIEW) return a;
    if (same_part(&a, &b)) {
        if (a.view.stage != b.view.stage) {
            a.view.stage = spad__scalar_select(s, condition, a.view.stage, b.view.stage);
        }
        return a;
    }
    a.view.stage = spad__scalar_data(s);
    return a;
}

static bool is_data(spad__ttgir *t, spad__scalar n) {
    const spad__scalar solved = spad__scalar_resolve(&t->scalars, n);
    return solved < 0 || spad__scalar_get(&t->scalars, solved)->data;
}

/* Is one of the notes from `first` up to `end` a meeting of warps? */
static bool notes_meet(const spad__ttgir *t, size_t first, size_t end) {
    for (size_t i = first; i < end; i++) {
        if (t->notes.items[i].kind == SPAD__NOTE_MEET) return true;
    }
    return false;
}

/* Are the notes from `first` on nothing but meetings? */
static bool notes_only_meet(const spad__ttgir *t, size_t first) {
    for (size_t i = first; i < t->notes.count; i++) {
        if (t->notes.items[i].kind != SPAD__NOTE_MEET) return false;
    }
    return true;
}

/* Do the notes from `first` on nothing but load and store global memory, and let warps meet? Only
 * their time is of interest then, and that is not known where data decides whether they happen. */
static bool notes_are_off_chip(const spad__ttgir *t, size_t first) {
    for (size_t i = first; i < t->notes.count; i++) {
        const spad__ttgir_note *note = &t->notes.items[i];
        if (note->kind == SPAD__NOTE_ELSE || note->kind == SPAD__NOTE_MEET) continue;
        if (note->kind != SPAD__NOTE_OPERATION || note->unit != SPAD__TTGIR_NO_UNIT) return false;
        for (uint32_t k = 0; k < note->access_count; k++) {
            const int32_t buffer = t->accesses.items[note->first_access + k].buffer;
            const spad__ttgir_space space = t->buffers.items[buffer].space;
            if (space != SPAD__TTGIR_GLOBAL && space != SPAD__TTGIR_REGISTERS) return false;
        }
    }
    return true;
}

static void do_if(spad__ttgir *t, const spad__mlir_op *op) {
    const int32_t self = t->op;
    const spad__scalar condition = spad__ttgir_scalar(t, op, 0);
    if (condition < 0) return; /* no memory */
    const spad__mlir_op *yes = NULL, *no = NULL;
    const int32_t other = region_at(t, op->first_region)->next;
    const bool fixed = spad__scalar_get(&t->scalars, condition)->op == SPAD__SCALAR_NUMBER;
    const bool taken = !spad__scalar_is(&t->scalars, condition, 0);
    const size_t before = t->notes.count;
    if (fixed) {
        const int32_t region = taken ? op->first_region : other;
        if (region >= 0 && run_region(t, region, &yes) && yes != NULL) {
            for (int32_t i = 0; i < op->result_count; i++) {
                spad__ttgir_set(t, op, i, *spad__ttgir_operand(t, yes, (uint32_t)i));
            }
        }
        return;
    }
    t->loops++;
    spad__ttgir_note *note = spad__ttgir_note_add(t, SPAD__NOTE_IF);
    if (note != NULL) note->scalar = condition;
    const size_t opened = t->notes.count;
    if (!run_region(t, op->first_region, &yes)) return;
    const size_t middle = t->notes.count;
    if (other >= 0) {
        t->op = self;
        spad__ttgir_note_add(t, SPAD__NOTE_ELSE);
        if (!run_region(t, other, &no)) return;
        if (!t->dry && t->notes.count == middle + 1) t->notes.count = middle;
    }
    t->loops--;
    t->op = self;
    for (int32_t i = 0; i < op->result_count && yes != NULL && no != NULL; i++) {
        spad__ttgir_set(t, op, i,
                        either(t, condition, *spad__ttgir_operand(t, yes, (uint32_t)i),
                               *spad__ttgir_operand(t, no, (uint32_t)i)));
    }
    if (t->dry || t->failed) return;
    if (t->notes.count == opened || (is_data(t, condition) && notes_are_off_chip(t, opened))) {
        const bool both = notes_meet(t, opened, middle) && notes_meet(t, middle, t->notes.count);
        t->notes.count = before; /* nothing happens in it that matters */
        if (both) spad__ttgir_note_meet(t);
        return;
    }
    t->notes.items[before].scalar = spad__ttgir_clear(t, condition, "a condition");
    spad__ttgir_note_add(t, SPAD__NOTE_END);
}

/* ---- loops --------------------------------------------------------------------------- */

typedef struct spad__ttgir_loop {
    const spad__mlir_op *op;
    int64_t number;
    int32_t region;
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
    if (value->kind == SPAD__TTGIR_SCALAR) return value->scalar;
    return value->kind == SPAD__TTGIR_VIEW ? value->view.stage : SPAD__NO_SCALAR;
}

static spad__ttgir_value with_part(spad__ttgir_value value, spad__scalar part) {
    if (value.kind == SPAD__TTGIR_SCALAR) value.scalar = part;
    if (value.kind == SPAD__TTGIR_VIEW && value.view.stage >= 0) value.view.stage = part;
    return value;
}

static bool begin_loop(spad__ttgir *t, spad__ttgir_loop *l) {
    if (!spad__array_reserve(t->host, &l->inits, l->count) ||
        !spad__array_reserve(t->host, &l->scalars, 3 * l->count + 1)) {
        t->m->out_of_memory = t->failed = true;
        return false;
    }
    l->inits.count = l->count;
    l->scalars.count = 3 * l->count;
    return true;
}

static void free_loop(spad__ttgir *t, spad__ttgir_loop *l) {
    spad__array_free(t->host, &l->inits);
    spad__array_free(t->host, &l->scalars);
}

/* What the body sees: the round, and names for what is carried. */
static void enter_round(spad__ttgir *t, const spad__ttgir_loop *l) {
    spad__scalars *s = &t->scalars;
    if (l->first > 0) {
        const spad__scalar moved =
            spad__scalar_make(s, SPAD__SCALAR_MUL, spad__scalar_round(s, l->number), l->step);
        spad__ttgir_set_argument(
            t, l->region, 0,
            spad__ttgir_of_scalar(spad__scalar_make(s, SPAD__SCALAR_ADD, l->start, moved)));
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
            init->view.stage = spad__scalar_data(&t->scalars);
        }
        inits[k] = carried_part(init);
        nexts[k] = init->kind == next->kind ? carried_part(next) : SPAD__NO_SCALAR;
    }
    spad__scalar_solve(&t->scalars, l->number, l->trips, l->more, l->count, inits, nexts, lasts);
    for (size_t k = 0; k < l->count; k++) {
        spad__ttgir_value value = l->inits.items[k];
        if (value.kind == SPAD__TTGIR_SCALAR || value.view.stage >= 0) {
            value = with_part(value, lasts[k] < 0 ? spad__scalar_data(&t->scalars) : lasts[k]);
        }
        spad__ttgir_set(t, l->op, (int32_t)k, value);
    }
}

static void keep_loop(spad__ttgir *t, spad__ttgir_loop *l) {
    const int32_t self = t->op;
    const bool dry = t->dry;
    const spad__mlir_op *end = NULL;
    t->dry = true;
    enter_round(t, l);
    const bool good = run_region(t, l->region, &end);
    t->dry = dry;
    t->op = self;
    if (!good && (dry || t->failed)) return; /* else the fault is reported below */
    if (end != NULL) solve_loop(t, l, end);  /* without one, nothing is carried */
    if (dry) return;
    if (t->loops > 0 && t->inner_op < 0 && is_data(t, l->trips)) t->inner_op = self;
    t->loops++;
    const size_t before = t->notes.count;
    spad__ttgir_note *note = spad__ttgir_note_add(t, SPAD__NOTE_FOR);
    if (note != NULL) {
        note->loop = l->number;
        note->scalar = spad__scalar_resolve(&t->scalars, l->trips);
    }
    enter_round(t, l);
    if (!run_region(t, l->region, &end)) return;
    t->loops--;
    t->op = self;
    if (notes_only_meet(t, before + 1)) { /* perhaps they do not: it may have no rounds */
        t->notes.count = before;
    } else {
        spad__ttgir_note_add(t, SPAD__NOTE_END);
    }
}

static void unroll_loop(spad__ttgir *t, spad__ttgir_loop *l) {
    const int32_t self = t->op;
    const spad__mlir_op *end = NULL;
    int64_t trips = 0;
    if (!spad__scalar_known(&t->scalars, l->trips, &trips)) {
        for (size_t k = 0; k < l->count; k++) {
            spad__ttgir_set(t, l->op, (int32_t)k, nothing);
        }
        spad__ttgir_unclear(t, "how often a loop runs is decided by data");
        return;
    }
    for (int64_t i = 0; i < trips && !t->failed; i++) {
        if (l->first > 0) {
            spad__scalar now = spad__scalar_make(&t->scalars, SPAD__SCALAR_MUL, l->step,
                                                 spad__scalar_number(&t->scalars, i));
            now = spad__scalar_make(&t->scalars, SPAD__SCALAR_ADD, l->start, now);
            spad__ttgir_set_argument(t, l->region, 0, spad__ttgir_of_scalar(now));
        }
        for (size_t k = 0; k < l->count; k++) {
            spad__ttgir_set_argument(t, l->region, l->first + (uint32_t)k, l->inits.items[k]);
        }
        if (!run_region(t, l->region, &end)) return;
        for (size_t k = 0; k < l->count && end != NULL; k++) {
            l->inits.items[k] = *spad__ttgir_operand(t, end, (uint32_t)k);
        }
        t->op = self;
    }
    for (size_t k = 0; k < l->count; k++) spad__ttgir_set(t, l->op, (int32_t)k, l->inits.items[k]);
}

/* Rounds from `start` below `stop`: data if the step is not known to be positive, 0 if `stop` is
 * below `start`. */
static spad__scalar count_trips(spad__ttgir *t, spad__scalar start, spad__scalar stop,
                                spad__scalar step) {
    spad__scalars *s = &t->scalars;
    int64_t value;
    if (!spad__scalar_known(s, step, &value) || value < 1) return spad__scalar_data(s);
    spad__scalar trips = spad__scalar_sub(s, stop, start);
    int64_t distance;
    if (spad__scalar_known(s, trips, &distance) && distance < 0) return spad__scalar_number(s, 0);
    return value != 1 ? ceil_div(t, trips, step) : trips;
}

/* Its variable is below the stop by more than a step: the form in which programs ask for it. */
static spad__scalar more_rounds(spad__ttgir *t, const spad__ttgir_loop *l, spad__scalar stop) {
    spad__scalars *s = &t->scalars;
    const spad__scalar moved =
        spad__scalar_make(s, SPAD__SCALAR_MUL, spad__scalar_round(s, l->number), l->step);
    const spad__scalar now = spad__scalar_make(s, SPAD__SCALAR_ADD, l->start, moved);
    return spad__scalar_make(s, SPAD__SCALAR_LESS, now, spad__scalar_sub(s, stop, l->step));
}

static void do_for(spad__ttgir *t, const spad__mlir_op *op) {
    spad__ttgir_loop l = {.op = op, .number = t->op, .region = op->first_region, .first = 1};
    if (region_at(t, l.region)->argument_count == 0 || op->operand_count < 3) {
        SPAD__TTGIR_FAULT(t, "a loop without a variable and bounds");
        return;
    }
    l.count = op->operand_count - 3;
    l.start = spad__ttgir_scalar(t, op, 0);
    l.step = spad__ttgir_scalar(t, op, 2);
    l.trips = count_trips(t, l.start, spad__ttgir_scalar(t, op, 1), l.step);
    l.more = more_rounds(t, &l, spad__ttgir_scalar(t, op, 1));
    if (l.start < 0 || l.step < 0 || l.trips < 0 || !begin_loop(t, &l)) {
        free_loop(t, &l);
        return;
    }
    for (size_t k = 0; k < l.count; k++) {
        l.inits.items[k] = *spad__ttgir_operand(t, op, (uint32_t)k + 3);
    }
    if (t->run) {
        unroll_loop(t, &l);
    } else {
        keep_loop(t, &l);
    }
    free_loop(t, &l);
}

/* ---- while ----------------------------------------------------------------------------- */

enum { ROUNDS_OF_DATA = 3, TTGIR_ROUNDS_MAX = 1 << 20 };

/* One round, up to the condition and, with `both`, to the end. */
static bool while_round(spad__ttgir *t, const spad__ttgir_loop *l, bool both,
                        const spad__mlir_op **condition, const spad__mlir_op **end) {
    const int32_t body = region_at(t, l->region)->next;
    if (!run_region(t, l->region, condition) || *condition == NULL) return false;
    for (uint32_t k = 0; k + 1 < (*condition)->operand_count; k++) {
        const spad__ttgir_value value = *spad__ttgir_operand(t, *condition, k + 1);
        spad__ttgir_set_argument(t, body, k, value);
        spad__ttgir_set(t, l->op, (int32_t)k, value);
    }
    return !both || run_region(t, body, end);
}

/* Rounds that data ends: any number of them, and the condition once more. */
static void keep_while(spad__ttgir *t, spad__ttgir_loop *l) {
    spad__scalars *s = &t->scalars;
    const int32_t self = t->op;
    const bool dry = t->dry;
    const spad__mlir_op *condition = NULL, *end = NULL;
    t->dry = true;
    enter_round(t, l);
    const bool good = while_round(t, l, true, &condition, &end);
    t->dry = dry;
    t->op = self;
    if (!good && (dry || t->failed)) return; /* else the fault is reported below */
    if (end != NULL) solve_loop(t, l, end);
    for (int32_t k = 0; k < l->op->result_count; k++) { /* of the last condition */
        spad__ttgir_set(t, l->op, k, spad__ttgir_of_scalar(spad__scalar_data(s)));
    }
    if (dry) return;
    if (t->loops > 0 && t->inner_op < 0) t->inner_op = self;
    t->loops++;
    spad__ttgir_note *note = spad__ttgir_note_add(t, SPAD__NOTE_FOR);
    if (note == NULL) return;
    note->loop = l->number;
    note->scalar = spad__scalar_make(s, SPAD__SCALAR_ADD, l->trips, spad__scalar_number(s, 1));
    enter_round(t, l);
    if (!while_round(t, l, false, &condition, &end)) return;
    bool open;
    t->op = self;
    spad__ttgir_note_if(
        t, spad__scalar_make(s, SPAD__SCALAR_LESS, spad__scalar_round(s, l->number), l->trips),
        &open);
    if (!run_region(t, region_at(t, l->region)->next, &end)) return;
    t->op = self;
    spad__ttgir_note_end(t, open);
    spad__ttgir_note_add(t, SPAD__NOTE_END);
    t->loops--;
}

static void unroll_while(spad__ttgir *t, spad__ttgir_loop *l) {
    const int32_t self = t->op;
    const spad__mlir_op *condition, *end = NULL;
    int64_t again = 1;
    for (int64_t i = 0; again != 0 && !t->failed; i++) {
        for (size_t k = 0; k < l->count; k++) {
            spad__ttgir_set_argument(t, l->region, (uint32_t)k, l->inits.items[k]);
        }
        if (!while_round(t, l, false, &condition, &end)) return;
        t->op = self;
        if (i == TTGIR_ROUNDS_MAX ||
            !spad__scalar_known(&t->scalars, spad__ttgir_scalar(t, condition, 0), &again)) {
            spad__ttgir_unclear(t, "how often a loop runs is decided by data");
            return;
        }
        if (again == 0 || !run_region(t, region_at(t, l->region)->next, &end)) return;
        t->op = self;
        for (size_t k = 0; k < l->count && end != NULL; k++) {
            l->inits.items[k] = *spad__ttgir_operand(t, end, (uint32_t)k);
        }
    }
}

static void do_while(spad__ttgir *t, const spad__mlir_op *op) {
    spad__ttgir_loop l = {.op = op, .number = t->op, .region = op->first_region};
    if (region_at(t, l.region)->next < 0) {
        SPAD__TTGIR_FAULT(t, "a loop without a body");
        return;
    }
    const int32_t last = region_at(t, l.region)->last_op;
    if (last < 0 || !spad__mlir_named(t->m, &t->m->ops.items[last], "scf.condition")) {
        SPAD__TTGIR_FAULT(t, "a loop without a condition");
        return;
    }
    l.count = op->operand_count;
    l.more = SPAD__NO_SCALAR;
    l.trips = spad__scalar_argument(&t->scalars, SPAD__TTGIR_ARGUMENTS + t->op, ROUNDS_OF_DATA);
    if (begin_loop(t, &l)) {
        for (size_t k = 0; k < l.count; k++) {
            l.inits.items[k] = *spad__ttgir_operand(t, op, (uint32_t)k);
        }
        if (t->run) {
            unroll_while(t, &l);
        } else {
            keep_while(t, &l);
        }
    }
    free_loop(t, &l);
}

/* ---- partitions ---------------------------------------------------------------------- */

static bool ttgir_add_agent(spad__ttgir *t, int64_t warps, int64_t registers) {
    if (!spad__array_reserve(t->host, &t->agents, 1)) {
        t->m->out_of_memory = t->failed = true;
        return false;
    }
    t->agents.items[t->agents.count++] = (spad__ttgir_agent){warps, registers, -1};
    return true;
}

/* All agents meet: between two warp_specialize, the first one runs alone. */
static void note_join(spad__ttgir *t) {
    const int stream = t->stream;
    for (size_t i = 0; i < t->agents.count; i++) {
        t->stream = SPAD__STREAM_DEFAULT + (int)i;
        spad__ttgir_note_add(t, SPAD__NOTE_JOIN);
    }
    t->stream = stream;
}

/* The number in "num_warps(4)" of partition `which`. */
static int64_t warps_of(const spad__ttgir *t, const spad__mlir_op *op, size_t which) {
    int64_t warps = 1, value;
    size_t seen = 0;
    for (uint32_t at = op->name + 1; at + 2 < op->end; at = spad__mlir_after(t->m, op, at)) {
        if (!spad__mlir_is(t->m, at, "num_warps") || seen++ != which) continue;
        if (spad__mlir_number(t->m, at + 2, &value) && value > 0 && value <= 64) warps = value;
    }
    return warps;
}

/* Number `which` of "requestedRegisters = array<i32: 24, 24>", or what a later pass made of it:
 * "actualRegisters = array<i32: 200, 24, 24>", those of the default warps first. */
static int64_t registers_of(const spad__ttgir *t, const spad__mlir_op *op, size_t which) {
    uint32_t at = spad__mlir_attribute(t->m, op, "actualRegisters");
    size_t seen = 0;
    int64_t value = 0;
    if (at != 0) {
        which++;
    } else {
        at = spad__mlir_attribute(t->m, op, "requestedRegisters");
    }
    for (; at != 0 && at < op->end && !spad__mlir_is_mark(t->m, at, '>'); at++) {
        if (spad__mlir_number(t->m, at, &value) && seen++ == which) return value;
    }
    return 0;
}

static bool run_partition(spad__ttgir *t, const spad__mlir_op *op, int32_t region, size_t which) {
    const spad__mlir_op *end;
    t->stream = SPAD__STREAM_PARTITION + (int)which;
    if (which + 1 >= t->agents.count) {
        if (!ttgir_add_agent(t, warps_of(t, op, which), registers_of(t, op, which))) return false;
        for (int i = 0; i < 2 * t->regions; i++) spad__ttgir_note_add(t, SPAD__NOTE_JOIN);
    }
    for (uint32_t i = 0; i < op->operand_count; i++) {
        spad__ttgir_set_argument(t, region, i, *spad__ttgir_operand(t, op, i));
    }
    return run_region(t, region, &end);
}

static void do_warp_specialize(spad__ttgir *t, const spad__mlir_op *op) {
    const int32_t self = t->op;
    const spad__mlir_op *end = NULL;
    size_t which = 0;
    if (!t->dry && t->loops > 0) spad__ttgir_unclear(t, "partitions of warps inside of a block");
    if (!t->dry) {
        spad__ttgir_hand_over(t, op);
        if (t->agents.count == 0 && !ttgir_add_agent(t, t->warps, 0)) return;
        if (t->regions > 0) {
            for (size_t i = 0; i < t->notes.count; i++) {
                if (t->notes.items[i].stream == SPAD__STREAM_AFTER) {
                    t->notes.items[i].stream = SPAD__STREAM_DEFAULT;
                }
            }
            note_join(t);
        }
        t->stream = SPAD__STREAM_DEFAULT;
    }
    if (!run_region(t, op->first_region, &end)) return;
    for (int32_t i = 0; i < op->result_count && end != NULL; i++) {
        spad__ttgir_set(t, op, i, *spad__ttgir_operand(t, end, (uint32_t)i));
    }
    if (t->dry) return;
    for (int32_t region = region_at(t, op->first_region)->next; region >= 0;
         region = region_at(t, region)->next) {
        t->op = self;
        if (!run_partition(t, op, region, which++)) return;
    }
    t->op = self;
    note_join(t);
    t->regions++;
    t->stream = SPAD__STREAM_AFTER;
}

/* ---- operations ---------------------------------------------------------------------- */

/* "tt.load" and "tt.store" of threads. */
static void do_global(spad__ttgir *t, const spad__mlir_op *op, bool writes) {
    const spad__ttgir_value *pointer = spad__ttgir_operand(t, op, 0);
    spad__ttgir_type type;
    if (pointer->kind != SPAD__TTGIR_POINTER || pointer->buffer < 0 || t->dry) return;
    spad__ttgir_buffer *b = &t->buffers.items[pointer->buffer];
    if (b->rank == 0) {
        if (!spad__ttgir_read_pointers(t, op, &type)) return;
        b->rank = type.rank;
        b->dtype = type.dtype;
        memcpy(b->dims, type.dims, sizeof b->dims);
    }
    spad__ttgir_note_operation(t, writes ? "store" : "load", SPAD__TTGIR_NO_UNIT);
    if (writes) spad__ttgir_note_moved(t, pointer, SPAD_ACCESS_READ);
    spad__ttgir_note_access(t, pointer, writes ? SPAD_ACCESS_ADD : SPAD_ACCESS_READ);
    if (!writes) spad__ttgir_note_moved(t, pointer, SPAD_ACCESS_WRITE);
}

/* A mask is what a condition for the whole tensor was made into: "tt.splat", and "arith.andi" with
 * other masks. False: no mask. */
static bool do_mask(spad__ttgir *t, const spad__mlir_op *op) {
    const spad__ttgir_value a = *spad__ttgir_operand(t, op, 0);
    const spad__ttgir_value b = *spad__ttgir_operand(t, op, 1);
    spad__ttgir_value mask = nothing;
    mask.kind = SPAD__TTGIR_MASK;
    if (spad__mlir_named(t->m, op, "tt.splat") && is_typed(t, op, "i1")) {
        mask.scalar = a.kind == SPAD__TTGIR_SCALAR ? a.scalar : SPAD__NO_SCALAR;
    } else if (spad__mlir_named(t->m, op, "arith.andi") &&
               (a.kind == SPAD__TTGIR_MASK || b.kind == SPAD__TTGIR_MASK)) {
        mask.scalar = a.kind != SPAD__TTGIR_MASK ? b.scalar
                      : b.kind != SPAD__TTGIR_MASK
                          ? a.scalar
                          : spad__scalar_make(&t->scalars, SPAD__SCALAR_AND, a.scalar, b.scalar);
    } else if ((spad__mlir_named(t->m, op, "ttg.convert_layout") ||
                spad__mlir_named(t->m, op, "tt.broadcast")) &&
               a.kind == SPAD__TTGIR_MASK) {
        mask.scalar = a.scalar;
    } else {
        return false;
    }
    spad__ttgir_set(t, op, 0, mask);
    return true;
}

/* Is there memory on chip, or a synchronisation, in what is not known? */
static bool ttgir_matters(const spad__ttgir *t, const spad__mlir_op *op) {
    for (uint32_t i = 0; i < op->operand_count; i++) {
        if (spad__ttgir_operand(t, op, i)->kind == SPAD__TTGIR_VIEW) return true;
    }
    for (uint32_t at = op->first; at < op->end; at++) { /* with its regions */
        if (spad__mlir_is(t->m, at, "!ttg.memdesc")) return true;
    }
    return false;
}

/* "tt.get_program_id y" */
static int axis_of(const spad__ttgir *t, const spad__mlir_op *op) {
    const uint32_t at = op->name + 1 < op->end ? op->name + 1 : op->name;
    return spad__mlir_is(t->m, at, "y") ? 1 : spad__mlir_is(t->m, at, "z") ? 2 : 0;
}

static void refuse_op(spad__ttgir *t, const spad__mlir_op *op, const char *why) {
    const spad__mlir_token *name = &t->m->tokens.items[op->name];
    SPAD__TTGIR_FAULT(t, "'%.*s' %s", (int)(name->length < 60 ? name->length : 60),
                      spad__mlir_text(t->m, op->name), why);
}

/* Blocks of a cluster are read as blocks on their own. */
static bool is_remote(spad__ttgir *t, const spad__mlir_op *op) {
    char why[160];
    const char *does = spad__ttgir_remote(t, op);
    if (does == NULL) return false;
    snprintf(why, sizeof why, "%s: only kernels whose blocks use their own memory are read; %s",
             does, "compile with num_ctas=1");
    refuse_op(t, op, why);
    return true;
}

static void run_op(spad__ttgir *t, const spad__mlir_op *op) {
    spad__scalar scalar;
    for (int32_t i = 0; i < op->result_count; i++) spad__ttgir_set(t, op, i, nothing);
    if (is_remote(t, op)) return;
    spad__ttgir_scratch(t, op);
    if (do_mask(t, op)) return;
    if (arithmetic(t, op, &scalar)) {
        if (scalar >= 0) spad__ttgir_set(t, op, 0, spad__ttgir_of_scalar(scalar));
        return;
    }
    const spad__ttgir_value first = *spad__ttgir_operand(t, op, 0);
    if (first.kind == SPAD__TTGIR_POINTER && op->result_count == 1) {
        spad__ttgir_set(t, op, 0, first);
    }
    if (spad__ttgir_memory(t, op)) return;
    if (spad__mlir_named(t->m, op, "scf.for") && op->first_region >= 0) {
        do_for(t, op);
    } else if (spad__mlir_named(t->m, op, "scf.while") && op->first_region >= 0) {
        do_while(t, op);
    } else if (spad__mlir_named(t->m, op, "scf.if") && op->first_region >= 0) {
        do_if(t, op);
    } else if (spad__mlir_named(t->m, op, "ttg.warp_specialize") && op->first_region >= 0) {
        do_warp_specialize(t, op);
    } else if (spad__mlir_named(t->m, op, "tt.call")) {
        spad__ttgir_call(t, op, run_region);
    } else if (spad__mlir_named(t->m, op, "tt.get_program_id")) {
        const int64_t number = t->program[axis_of(t, op)];
        spad__ttgir_set(t, op, 0, spad__ttgir_of_scalar(spad__scalar_number(&t->scalars, number)));
    } else if (spad__mlir_named(t->m, op, "tt.get_num_programs")) {
        spad__ttgir_set(t, op, 0,
                        spad__ttgir_of_scalar(spad__scalar_number(&t->scalars, t->programs)));
    } else if (spad__mlir_named(t->m, op, "tt.load")) {
        do_global(t, op, false);
        spad__ttgir_set(t, op, 0, nothing);
    } else if (spad__mlir_named(t->m, op, "tt.store")) {
        do_global(t, op, true);
    } else if (ttgir_matters(t, op)) {
        refuse_op(t, op, "is not known, and memory on chip may depend on it");
    }
}

static bool is_end(const spad__ttgir *t, const spad__mlir_op *op) {
    return spad__mlir_named(t->m, op, "scf.yield") || spad__mlir_named(t->m, op, "tt.return") ||
           spad__mlir_named(t->m, op, "ttg.warp_yield") ||
           spad__mlir_named(t->m, op, "ttg.warp_return") ||
           spad__mlir_named(t->m, op, "scf.condition");
}

/* False: stop. *end: the operation that ends the region; NULL: none does. */
static bool run_region(spad__ttgir *t, int32_t region, const spad__mlir_op **end) {
    *end = NULL;
    if (region_at(t, region)->blocks > 0) {
        SPAD__TTGIR_FAULT(t,
                          "blocks with branches are not known: only loops and conditions of scf");
        return false;
    }
    for (int32_t number = region_at(t, region)->first_op; number >= 0;
         number = t->m->ops.items[number].next) {
        const spad__mlir_op *op = &t->m->ops.items[number];
        t->op = number;
        if (is_end(t, op)) {
            *end = op;
            break;
        }
        run_op(t, op);
        if (t->scalars.out_of_memory) t->m->out_of_memory = t->failed = true;
        if (t->failed || (t->unclear && !t->dry)) return false;
    }
    return true;
}

/* ---- the function -------------------------------------------------------------------- */

static bool set_arguments(spad__ttgir *t, int32_t region) {
    const spad__mlir_region *r = region_at(t, region);
    for (uint32_t i = 0; i < r->argument_count; i++) {
        const int32_t number = t->m->arguments.items[r->first_argument + i];
        const spad__mlir_value *value = &t->m->values.items[number];
        const spad__ttgir_argument *argument = &t->arguments.items[i];
        t->values.items[number] = nothing;
        if (argument->integer) {
            t->values.items[number] =
                spad__ttgir_of_scalar(spad__scalar_argument(&t->scalars, i, argument->value));
        } else if (spad__mlir_is(t->m, value->type, "!tt.ptr") ||
                   spad__mlir_is(t->m, value->type, "!tt.tensordesc")) {
            bool fresh;
            const int32_t buffer = spad__ttgir_buffer_of(t, value->token, &fresh);
            if (buffer < 0) return false;
            t->buffers.items[buffer].space = SPAD__TTGIR_GLOBAL;
            spad__ttgir_word_name(t, value->token, t->buffers.items[buffer].name);
            t->values.items[number].kind = SPAD__TTGIR_POINTER;
            t->values.items[number].buffer = buffer;
        }
    }
    return true;
}

/* No value is known; which ones are used is. */
static bool reset_values(spad__ttgir *t) {
    const size_t count = t->m->values.count;
    t->values.count = t->used.count = 0;
    if (!spad__array_reserve(t->host, &t->values, count) ||
        !spad__array_reserve(t->host, &t->used, count)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        t->values.items[i] = nothing;
        t->used.items[i] = false;
    }
    for (size_t i = 0; i < t->m->operands.count; i++) {
        t->used.items[t->m->operands.items[i].value] = true;
    }
    t->values.count = t->used.count = count;
    t->specialised = false;
    for (size_t i = 0; i < t->m->ops.count && !t->specialised; i++) {
        t->specialised = spad__mlir_named(t->m, &t->m->ops.items[i], "ttg.warp_specialize");
    }
    return true;
}

bool spad__ttgir_run(spad__ttgir *t) {
    const spad__mlir_op *function = &t->m->ops.items[t->function];
    const spad__mlir_op *end;
    t->op = t->function;
    t->stream = SPAD__STREAM_BEFORE;
    if (!reset_values(t)) {
        t->m->out_of_memory = true;
        return false;
    }
    if (!set_arguments(t, function->first_region)) return false;
    if (!run_region(t, function->first_region, &end)) return false;
    t->op = t->function;
    if (t->regions > 0) spad__ttgir_end_partitions(t);
    return !t->failed && !t->unclear;
}
