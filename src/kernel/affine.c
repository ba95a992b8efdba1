/* SPDX-License-Identifier: Apache-2.0
 *
 * Affine sums, and the steps of expressions as affine sums. They are computed on the stack of the
 * expression in postfix form, node by node; a part that is affine has its value, too. O(nodes). A
 * step by a number (kernel/affine_step.h) is an affine sum without loops.
 */
#include "kernel/affine.h"

#include "base/assert.h"
#include "base/checked.h"

/* ---- arithmetic -------------------------------------------------------------------- */

static void drop_loop(spad__affine *f, size_t at) {
    f->count--;
    for (size_t i = at; i < f->count; i++) {
        f->loops[i] = f->loops[i + 1];
        f->factors[i] = f->factors[i + 1];
    }
}

bool spad__affine_add_loop(spad__affine *sum, int64_t loop, int64_t factor) {
    if (factor == 0) return true;
    size_t at = 0;
    while (at < sum->count && sum->loops[at] < loop) at++;
    if (at < sum->count && sum->loops[at] == loop) {
        if (!spad__add(sum->factors[at], factor, &sum->factors[at])) return false;
        if (sum->factors[at] == 0) drop_loop(sum, at);
        return true;
    }
    if (sum->count == SPAD__AFFINE_LOOPS) return false;
    for (size_t i = sum->count++; i > at; i--) {
        sum->loops[i] = sum->loops[i - 1];
        sum->factors[i] = sum->factors[i - 1];
    }
    sum->loops[at] = loop;
    sum->factors[at] = factor;
    return true;
}

bool spad__affine_add(spad__affine *sum, const spad__affine *other, int64_t factor) {
    int64_t more;
    if (!spad__mul(other->constant, factor, &more) ||
        !spad__add(sum->constant, more, &sum->constant)) {
        return false;
    }
    for (size_t i = 0; i < other->count; i++) {
        if (!spad__mul(other->factors[i], factor, &more) ||
            !spad__affine_add_loop(sum, other->loops[i], more)) {
            return false;
        }
    }
    return true;
}

static bool multiply_affine(spad__affine *f, int64_t factor) {
    spad__affine product = {.constant = 0};
    if (!spad__affine_add(&product, f, factor)) return false;
    *f = product;
    return true;
}

bool spad__affine_equal(const spad__affine *left, const spad__affine *right) {
    bool same = left->constant == right->constant && left->count == right->count;
    for (size_t i = 0; same && i < left->count; i++) {
        same = left->loops[i] == right->loops[i] && left->factors[i] == right->factors[i];
    }
    return same;
}

bool spad__affine_is_zero(const spad__affine *affine) {
    return affine->constant == 0 && affine->count == 0;
}

bool spad__affine_value(const spad__affine *affine, const int64_t *values, int64_t *value) {
    *value = affine->constant;
    for (size_t i = 0; i < affine->count; i++) {
        int64_t part;
        if (!spad__mul(affine->factors[i], values[affine->loops[i]], &part) ||
            !spad__add(*value, part, value)) {
            return false;
        }
    }
    return true;
}

bool spad__affine_range(const spad__affine *affine, const spad_kernel *kernel, int64_t *least,
                        int64_t *most) {
    *least = *most = affine->constant;
    for (size_t i = 0; i < affine->count; i++) {
        const spad_kernel_loop *loop = spad_kernel_get_loop(kernel, (size_t)affine->loops[i]);
        const int64_t last = spad__max(loop->begin.value, loop->end.value - 1);
        int64_t low, high;
        if (!spad__mul(affine->factors[i], loop->begin.value, &low) ||
            !spad__mul(affine->factors[i], last, &high) ||
            !spad__add(*least, spad__min(low, high), least) ||
            !spad__add(*most, spad__max(low, high), most)) {
            return false;
        }
    }
    return true;
}

/* ---- steps ------------------------------------------------------------------------- */

/* A part of an expression. */
typedef struct form_term {
    spad__affine value; /* if it is affine */
    spad__affine step;
    int64_t period;
    bool known;   /* the value is */
    size_t first; /* its first node; the last is in front of what comes next */
} form_term;

typedef struct form_spot {
    const spad__moves *moves;
    const spad_expr_node *nodes;
    size_t node;
    bool divides;
} form_spot;

static bool moves_on(const form_term *t) {
    return !spad__affine_is_zero(&t->step);
}

static void rely_on_part(const form_spot *at, size_t from, size_t to) {
    spad__moves_rely_on(at->moves, at->nodes + from, to - from);
}

static form_term leaf_term(const form_spot *at) {
    const spad__moves *moves = at->moves;
    const spad_expr_node *node = &at->nodes[at->node];
    form_term t = {
        .value = {.constant = node->value}, .period = 1, .known = true, .first = at->node};
    if (node->op == SPAD_EXPR_PARAM) {
        t.value.constant = spad_kernel_get_param(moves->kernel, (size_t)node->value)->value;
        if (node->value == moves->param) t.step.constant = moves->param_step;
    } else if (node->op == SPAD_EXPR_VARIABLE) {
        t.value.constant = 0;
        t.known = spad__affine_add_loop(&t.value, node->value, 1);
        if (node->value == moves->loop) t.step.constant = moves->loop_step;
    }
    return t;
}

static spad__evenness stretch_term(form_term *t, int64_t factor) {
    if (factor > SPAD__PERIOD_MAX / t->period) return SPAD__TOO_LONG;
    t->period *= factor;
    return multiply_affine(&t->step, factor) ? SPAD__EVEN : SPAD__UNEVEN;
}

/* Both get the least common multiple of their periods. */
static spad__evenness align_terms(form_term *left, form_term *right) {
    if (left->period == right->period) return SPAD__EVEN;
    const int64_t common = spad__gcd(left->period, right->period);
    const int64_t factor = right->period / common;
    const int64_t other = left->period / common;
    const spad__evenness even = stretch_term(left, factor);
    return even == SPAD__EVEN ? stretch_term(right, other) : even;
}

static spad__evenness add_form_terms(form_term *a, form_term *b, int64_t sign) {
    const spad__evenness even = align_terms(a, b);
    if (even != SPAD__EVEN) return even;
    a->known = a->known && b->known && spad__affine_add(&a->value, &b->value, sign);
    return spad__affine_add(&a->step, &b->step, sign) ? SPAD__EVEN : SPAD__UNEVEN;
}

/* out = left x right. The builder sees to it that one factor of a product has no loops in it. */
static bool multiply_affines(const spad__affine *left, const spad__affine *right,
                             spad__affine *out) {
    spad__assert(left->count == 0 || right->count == 0);
    const spad__affine *affine = left->count > 0 ? left : right;
    const int64_t factor = left->count > 0 ? right->constant : left->constant;
    *out = (spad__affine){.constant = 0};
    return spad__affine_add(out, affine, factor);
}

/* One factor moves at most; the step is that of the product with the other one. */
static spad__evenness multiply_affine_terms(const form_spot *at, form_term *a, form_term *b) {
    if (moves_on(a) && moves_on(b)) return SPAD__UNEVEN;
    if (moves_on(a)) rely_on_part(at, b->first, at->node);
    if (moves_on(b)) rely_on_part(at, a->first, b->first);
    const spad__evenness even = align_terms(a, b);
    if (even != SPAD__EVEN) return even;
    spad__affine step = {.constant = 0};
    if (moves_on(a) && !(b->known && multiply_affines(&a->step, &b->value, &step))) {
        return SPAD__UNEVEN;
    }
    if (moves_on(b) && !(a->known && multiply_affines(&b->step, &a->value, &step))) {
        return SPAD__UNEVEN;
    }
    spad__affine value = {.constant = 0};
    a->known = a->known && b->known && multiply_affines(&a->value, &b->value, &value);
    a->value = value;
    a->step = step;
    return SPAD__EVEN;
}

/* Every number of the step must be divisible. The builder sees to it that a divisor is a number of
 * at least 1. */
static spad__evenness divide_form_terms(form_spot *at, form_term *a, form_term *b, bool rest) {
    if (moves_on(b)) return SPAD__UNEVEN;
    const int64_t by = b->value.constant;
    spad__assert(b->known && b->value.count == 0 && by >= 1);
    if (moves_on(a)) {
        rely_on_part(at, b->first, at->node);
        at->divides = true;
    }
    spad__evenness even = align_terms(a, b);
    if (even == SPAD__EVEN)
        even = stretch_term(a, spad__moves_until_multiple(a->step.constant, by));
    for (size_t i = 0; i < a->step.count && even == SPAD__EVEN; i++) {
        even = stretch_term(a, spad__moves_until_multiple(a->step.factors[i], by));
    }
    if (even != SPAD__EVEN) return even;
    spad__affine step = {.constant = 0};
    if (!rest) {
        step = a->step;
        step.constant /= by;
        for (size_t i = 0; i < step.count; i++) step.factors[i] /= by;
    }
    a->step = step;
    a->known = a->known && a->value.count == 0;
    if (a->known) {
        const int64_t value = a->value.constant;
        a->value.constant = rest ? spad__floor_mod(value, by) : spad__floor_div(value, by);
    }
    return SPAD__EVEN;
}

/* The smaller or larger of two is the same one after every period if both move alike. */
static spad__evenness choose_form_term(form_term *a, form_term *b, bool larger) {
    const spad__evenness even = align_terms(a, b);
    if (even != SPAD__EVEN) return even;
    if (!spad__affine_equal(&a->step, &b->step)) return SPAD__UNEVEN;
    a->known = a->known && b->known && a->value.count == 0 && b->value.count == 0;
    const int64_t left = a->value.constant;
    const int64_t right = b->value.constant;
    a->value.constant = larger ? spad__max(left, right) : spad__min(left, right);
    return SPAD__EVEN;
}

static spad__evenness apply_to_form_terms(form_spot *at, form_term *a, form_term *b) {
    switch (at->nodes[at->node].op) {
    case SPAD_EXPR_ADD: return add_form_terms(a, b, 1);
    case SPAD_EXPR_SUB: return add_form_terms(a, b, -1);
    case SPAD_EXPR_MUL: return multiply_affine_terms(at, a, b);
    case SPAD_EXPR_DIV: return divide_form_terms(at, a, b, false);
    case SPAD_EXPR_MOD: return divide_form_terms(at, a, b, true);
    case SPAD_EXPR_SMALLER: return choose_form_term(a, b, false);
    default: spad__assert(at->nodes[at->node].op == SPAD_EXPR_LARGER);
    }
    return choose_form_term(a, b, true);
}

static spad__evenness negate_term(form_term *a) {
    a->known = a->known && multiply_affine(&a->value, -1);
    return multiply_affine(&a->step, -1) ? SPAD__EVEN : SPAD__UNEVEN;
}

spad__evenness spad__affine_of(const spad__moves *moves, spad_expr expr, spad__affine *step,
                               int64_t *period, bool *divides) {
    *step = (spad__affine){.constant = 0};
    *period = 1;
    if (divides != NULL) *divides = false;
    const spad_expr_info info =
        spad_kernel_get_expr(moves->kernel, expr); /* no nodes where it is 0 */
    if (info.node_count == 0 || (info.constant && moves->param < 0)) return SPAD__EVEN;
    form_spot at = {.moves = moves, .nodes = info.nodes};
    form_term stack[SPAD_EXPR_MAX] SPAD__FILLED_BY_LOOP;
    size_t top = 0;
    for (; at.node < info.node_count; at.node++) {
        const spad_expr_op op = info.nodes[at.node].op;
        spad__evenness even = SPAD__EVEN;
        if (op == SPAD_EXPR_STAGE || op == SPAD_EXPR_PHASE) {
            stack[top] = (form_term){.period = 1, .first = at.node};
            even = spad__cursor_period(moves, info.nodes[at.node].value, &stack[top].period);
            if (even != SPAD__EVEN) return even;
            top++;
            continue;
        }
        if (op == SPAD_EXPR_UNKNOWN) { /* another element is another value */
            if (stack[top - 1].period != 1 || moves_on(&stack[top - 1])) return SPAD__UNEVEN;
            stack[top - 1].known = false;
            continue;
        }
        if (op < SPAD_EXPR_ADD) {
            stack[top++] = leaf_term(&at);
        } else if (op == SPAD_EXPR_NEGATE) {
            even = negate_term(&stack[top - 1]);
        } else {
            top--;
            even = apply_to_form_terms(&at, &stack[top - 1], &stack[top]);
        }
        if (divides != NULL) *divides = at.divides;
        if (even != SPAD__EVEN) return even;
    }
    *step = stack[0].step;
    *period = stack[0].period;
    return SPAD__EVEN;
}

spad__evenness spad__affine_step_of(const spad__moves *moves, spad_expr expr,
                                    spad__affine_step *out) {
    spad__affine step;
    const spad__evenness even = spad__affine_of(moves, expr, &step, &out->period, NULL);
    out->step = step.constant;
    return even == SPAD__EVEN && step.count > 0 ? SPAD__UNEVEN : even;
}
