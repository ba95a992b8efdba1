/* SPDX-License-Identifier: Apache-2.0
 *
 * Which waits for an mbarrier are loops: follows the program from a wait that answers false, with
 * what is known of registers then, until it comes to a wait for the same object again.
 *
 * Compilers print such a loop in many forms: a branch back to the wait, a number made of the
 * predicate that is compared again, a first wait in front of the loop with a copy of it inside, a
 * limit of time that ends in a trap. A path with any other effect is not a wait loop.
 * O(MOST_STEPS).
 */
#include "frontend/ptx/run/ptx_async.h"

enum {
    WAIT_LOOP_MOST_STEPS = 128,
    WAIT_LOOP_MOST_FACTS = 12,
    WAIT_LOOP_MOST_WAITS = 4,
    WAIT_LOOP_DEEPEST = 6
};

typedef struct wait_loop_fact {
    int32_t reg;
    uint64_t value;
} wait_loop_fact;

/* Waits for one phase of one object: from each of them the walk has to lead to one of them. */
typedef struct wait_loop_waits {
    int32_t at[WAIT_LOOP_MOST_WAITS];
    int count;
} wait_loop_waits;

typedef struct wait_loop_walk {
    const spad__ptx_machine *m;
    const spad__ptx_warp *w;
    const spad__ptx_function *function;
    const spad__ptx_instruction *wait;
    wait_loop_waits *waits;
    wait_loop_fact facts[WAIT_LOOP_MOST_FACTS];
    int fact_count;
    int32_t at;
} wait_loop_walk;

/* The effect of an instruction on such a walk. */
typedef enum wait_loop_effect {
    WAIT_LOOP_EFFECT_OTHER, /* more than registers: no loop */
    WAIT_LOOP_EFFECT_NONE,
    WAIT_LOOP_EFFECT_UNKNOWN, /* its destination has some value */
    WAIT_LOOP_EFFECT_COPY,
    WAIT_LOOP_EFFECT_SELECT,
    WAIT_LOOP_EFFECT_COMPARE,
    WAIT_LOOP_EFFECT_LOGIC,
    WAIT_LOOP_EFFECT_BRANCH,
    WAIT_LOOP_EFFECT_WAIT,
    WAIT_LOOP_EFFECT_TRAP
} wait_loop_effect;

static wait_loop_effect wait_loop_effect_of(spad__ptx_op op) {
    switch (op) {
    case SPAD__PTX_OP_NANOSLEEP: return WAIT_LOOP_EFFECT_NONE;
    case SPAD__PTX_OP_MOV:
    case SPAD__PTX_OP_CVT: return WAIT_LOOP_EFFECT_COPY;
    case SPAD__PTX_OP_SELP: return WAIT_LOOP_EFFECT_SELECT;
    case SPAD__PTX_OP_SETP: return WAIT_LOOP_EFFECT_COMPARE;
    case SPAD__PTX_OP_AND:
    case SPAD__PTX_OP_OR:
    case SPAD__PTX_OP_XOR:
    case SPAD__PTX_OP_NOT: return WAIT_LOOP_EFFECT_LOGIC;
    case SPAD__PTX_OP_BRA: return WAIT_LOOP_EFFECT_BRANCH;
    case SPAD__PTX_OP_MBARRIER_TEST_WAIT:
    case SPAD__PTX_OP_MBARRIER_TRY_WAIT: return WAIT_LOOP_EFFECT_WAIT;
    case SPAD__PTX_OP_TRAP: return WAIT_LOOP_EFFECT_TRAP;
    case SPAD__PTX_OP_ADD:
    case SPAD__PTX_OP_SUB:
    case SPAD__PTX_OP_MUL:
    case SPAD__PTX_OP_MAD:
    case SPAD__PTX_OP_MIN:
    case SPAD__PTX_OP_MAX:
    case SPAD__PTX_OP_SHL:
    case SPAD__PTX_OP_SHR:
    case SPAD__PTX_OP_LOP3:
    case SPAD__PTX_OP_CVTA: return WAIT_LOOP_EFFECT_UNKNOWN;
    default: return WAIT_LOOP_EFFECT_OTHER;
    }
}

/* ---- what is known of registers ----------------------------------------------------------------
 */

static void wait_loop_forget(wait_loop_walk *k, int32_t reg) {
    for (int n = 0; n < k->fact_count; n++) {
        if (k->facts[n].reg != reg) continue;
        k->facts[n] = k->facts[--k->fact_count];
        return;
    }
}

static void wait_loop_learn(wait_loop_walk *k, int32_t reg, uint64_t value) {
    wait_loop_forget(k, reg);
    if (k->fact_count < WAIT_LOOP_MOST_FACTS)
        k->facts[k->fact_count++] = (wait_loop_fact){reg, value};
}

static bool wait_loop_known(const wait_loop_walk *k, int32_t reg, uint64_t *out) {
    for (int n = 0; n < k->fact_count; n++) {
        if (k->facts[n].reg != reg) continue;
        *out = k->facts[n].value;
        return true;
    }
    return false;
}

static bool wait_loop_value_of(const wait_loop_walk *k, const spad__ptx_operand *operand,
                               uint64_t *out) {
    if (operand == NULL) return false;
    if (operand->kind == SPAD__PTX_IMMEDIATE) {
        *out = (uint64_t)operand->value;
        return true;
    }
    if (operand->kind != SPAD__PTX_REGISTER || !wait_loop_known(k, operand->reg, out)) return false;
    if (operand->negated) *out = *out == 0;
    return true;
}

static bool wait_loop_select(const wait_loop_walk *k, const spad__ptx_instruction *i,
                             uint64_t *out) {
    uint64_t which;
    if (!wait_loop_value_of(k, spad__ptx_operand_at(k->m, i, 3), &which)) return false;
    return wait_loop_value_of(k, spad__ptx_operand_at(k->m, i, which != 0 ? 1 : 2), out);
}

static bool wait_loop_compare(const wait_loop_walk *k, const spad__ptx_instruction *i,
                              uint64_t *out) {
    uint64_t a;
    uint64_t b;
    const bool equal = spad__ptx_has(i, SPAD__PTX_WORD_EQ);
    if (i->count != 3 || (!equal && !spad__ptx_has(i, SPAD__PTX_WORD_NE))) return false;
    if (!wait_loop_value_of(k, spad__ptx_operand_at(k->m, i, 1), &a) ||
        !wait_loop_value_of(k, spad__ptx_operand_at(k->m, i, 2), &b)) {
        return false;
    }
    *out = (a == b) == equal;
    return true;
}

static bool wait_loop_combine(const wait_loop_walk *k, const spad__ptx_instruction *i,
                              uint64_t *out) {
    uint64_t a = 0;
    uint64_t b = 0;
    const bool has_a = wait_loop_value_of(k, spad__ptx_operand_at(k->m, i, 1), &a);
    const bool has_b = wait_loop_value_of(k, spad__ptx_operand_at(k->m, i, 2), &b);
    if (i->op == SPAD__PTX_OP_NOT) {
        *out = a == 0;
        return has_a && i->types[0] == SPAD__PTX_PRED;
    }
    if (i->op == SPAD__PTX_OP_AND && ((has_a && a == 0) || (has_b && b == 0))) {
        *out = 0;
        return true;
    }
    *out = i->op == SPAD__PTX_OP_AND ? a & b : i->op == SPAD__PTX_OP_OR ? a | b : a ^ b;
    return has_a && has_b;
}

static bool wait_loop_result_of(const wait_loop_walk *k, const spad__ptx_instruction *i,
                                uint64_t *out) {
    switch (wait_loop_effect_of(i->op)) {
    case WAIT_LOOP_EFFECT_COPY: return wait_loop_value_of(k, spad__ptx_operand_at(k->m, i, 1), out);
    case WAIT_LOOP_EFFECT_SELECT: return wait_loop_select(k, i, out);
    case WAIT_LOOP_EFFECT_COMPARE: return wait_loop_compare(k, i, out);
    case WAIT_LOOP_EFFECT_LOGIC: return wait_loop_combine(k, i, out);
    default: return false;
    }
}

/* ---- the walk ----------------------------------------------------------------------------------
 */

static bool wait_loop_is_same_operand(const spad__ptx_operand *a, const spad__ptx_operand *b) {
    if (a == NULL || b == NULL) return a == b;
    return a->kind == b->kind && a->reg == b->reg && a->variable == b->variable &&
           a->value == b->value && a->special == b->special && a->negated == b->negated;
}

/* Do two waits wait for the same phase of the same object? */
static bool wait_loop_is_same_wait(const wait_loop_walk *k, const spad__ptx_instruction *i) {
    return i->space == k->wait->space &&
           spad__ptx_has(i, SPAD__PTX_WORD_PARITY) ==
               spad__ptx_has(k->wait, SPAD__PTX_WORD_PARITY) &&
           wait_loop_is_same_operand(spad__ptx_operand_at(k->m, i, 1),
                                     spad__ptx_operand_at(k->m, k->wait, 1)) &&
           wait_loop_is_same_operand(spad__ptx_operand_at(k->m, i, 2),
                                     spad__ptx_operand_at(k->m, k->wait, 2));
}

/* Does the register say what the wait is for? */
static bool wait_loop_is_of_wait(const wait_loop_walk *k, int32_t reg) {
    for (int32_t n = 1; n <= 2; n++) {
        const spad__ptx_operand *operand = spad__ptx_operand_at(k->m, k->wait, n);
        if (operand != NULL && operand->reg == reg && reg >= 0) return true;
    }
    return false;
}

/* Compilers set operands of inline assembly in each turn, to the constant that they have. */
static bool wait_loop_is_same_constant(const wait_loop_walk *k, const spad__ptx_instruction *i) {
    const spad__ptx_operand *from = spad__ptx_operand_at(k->m, i, 1);
    spad__ptx_value now;
    spad__ptx_value next;
    uint64_t a;
    uint64_t b;
    if (i->op != SPAD__PTX_OP_MOV || from == NULL) return false;
    if (from->kind != SPAD__PTX_IMMEDIATE && from->kind != SPAD__PTX_VARIABLE) return false;
    const uint32_t lanes = k->w->threads & ~k->w->exited;
    spad__ptx_get(k->m, k->w, spad__ptx_operand_at(k->m, i, 0), i->types[0], &now);
    spad__ptx_get(k->m, k->w, from, i->types[0], &next);
    return spad__ptx_same(&now, lanes, &a) && spad__ptx_same(&next, lanes, &b) && a == b;
}

/* The destination of an instruction gets a value, or an unknown one. False: no loop. */
static bool wait_loop_assign(wait_loop_walk *k, const spad__ptx_instruction *i, bool certain) {
    const spad__ptx_operand *result = spad__ptx_operand_at(k->m, i, 0);
    uint64_t value;
    if (result == NULL || result->kind == SPAD__PTX_SINK) return true;
    if (result->kind != SPAD__PTX_REGISTER) return false;
    if (wait_loop_is_of_wait(k, result->reg)) return wait_loop_is_same_constant(k, i);
    const bool has_value = certain && wait_loop_result_of(k, i, &value);
    if (result->also >= 0) wait_loop_forget(k, result->also);
    wait_loop_forget(k, result->reg);
    if (has_value) wait_loop_learn(k, result->reg, value);
    return true;
}

/* The walk has come to a wait. False: for something else. */
static bool wait_loop_closes(const wait_loop_walk *k, const spad__ptx_instruction *i) {
    wait_loop_waits *waits = k->waits;
    for (int n = 0; n < waits->count; n++) {
        if (waits->at[n] == k->at) return true;
    }
    if (!wait_loop_is_same_wait(k, i) || waits->count == WAIT_LOOP_MOST_WAITS) return false;
    waits->at[waits->count++] = k->at;
    return true;
}

static int32_t wait_loop_target_of(const wait_loop_walk *k, const spad__ptx_instruction *i) {
    const spad__ptx_operand *label = spad__ptx_operand_at(k->m, i, 0);
    if (label == NULL || label->kind != SPAD__PTX_LABEL) return -1;
    return k->function->first_instruction + (int32_t)label->value;
}

static bool wait_loop_is_in_function(const wait_loop_walk *k) {
    const int32_t first = k->function->first_instruction;
    return k->at >= first && k->at < first + k->function->instruction_count;
}

/* Is the guard true (1), false (0) or not known (-1)? */
static int wait_loop_guard_of(const wait_loop_walk *k, const spad__ptx_instruction *i) {
    uint64_t value;
    if (i->guard < 0) return 1;
    if (!wait_loop_known(k, i->guard, &value)) return -1;
    return (value != 0) != i->guard_negated;
}

static bool wait_loop_leads_back(wait_loop_walk *k, int *steps, int depth);

/* Takes a branch; where it is not known whether it is taken, the other way must lead back as well.
 */
static bool wait_loop_take_branch(wait_loop_walk *k, const spad__ptx_instruction *i, int guard,
                                  int *steps, int depth) { /* NOLINT(misc-no-recursion): DEEPEST */
    if (guard < 0) {
        wait_loop_walk other = *k;
        other.at++;
        if (depth == WAIT_LOOP_DEEPEST || !wait_loop_leads_back(&other, steps, depth + 1))
            return false;
    }
    k->at = wait_loop_target_of(k, i);
    return true;
}

/* Do all ways from here lead back to the wait, or to a trap? `steps` bounds all of them. */
static bool wait_loop_leads_back(wait_loop_walk *k, int *steps,
                                 int depth) { /* NOLINT(misc-no-recursion): DEEPEST */
    while (wait_loop_is_in_function(k) && (*steps)-- > 0) {
        const spad__ptx_instruction *i = &k->m->module->instructions.items[k->at];
        const wait_loop_effect kind = wait_loop_effect_of(i->op);
        const int guard = wait_loop_guard_of(k, i);
        if (guard == 0) {
            k->at++;
            continue;
        }
        if (kind == WAIT_LOOP_EFFECT_OTHER) return false;
        if (kind == WAIT_LOOP_EFFECT_TRAP) {
            if (guard > 0) return true;
        } else if (kind == WAIT_LOOP_EFFECT_BRANCH) {
            if (!wait_loop_take_branch(k, i, guard, steps, depth)) return false;
            continue;
        } else if (kind == WAIT_LOOP_EFFECT_WAIT) {
            return guard > 0 && wait_loop_closes(k, i);
        } else if (kind != WAIT_LOOP_EFFECT_NONE && !wait_loop_assign(k, i, guard > 0)) {
            return false;
        }
        k->at++;
    }
    return false;
}

/* Does the walk from one of the waits lead back, if it answers false? */
static bool wait_loop_repeats(const spad__ptx_machine *m, const spad__ptx_warp *w,
                              wait_loop_waits *waits, int32_t at) {
    const spad__ptx_instruction *i = &m->module->instructions.items[at];
    const spad__ptx_operand *result = spad__ptx_operand_at(m, i, 0);
    int steps = WAIT_LOOP_MOST_STEPS;
    if (result == NULL || result->kind != SPAD__PTX_REGISTER) return false;
    wait_loop_walk k = {
        .m = m, .w = w, .function = w->frame->function, .wait = i, .waits = waits, .at = at + 1};
    wait_loop_learn(&k, result->reg, 0);
    return wait_loop_leads_back(&k, &steps, 0);
}

bool spad__ptx_is_wait_loop(const spad__ptx_machine *m, const spad__ptx_warp *w) {
    wait_loop_waits waits = {.at = {m->at}, .count = 1};
    for (int n = 0; n < waits.count; n++) {
        if (!wait_loop_repeats(m, w, &waits, waits.at[n])) return false;
    }
    return true;
}
