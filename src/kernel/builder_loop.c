/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops whose bounds change with the loops around them, and loops with a step.
 *
 * The tables of a kernel have one kind of loop: it counts up by one between two constants. So
 * that nothing but the text needs to know another kind, such a loop counts rounds, as many as its
 * longest run has, and its body stands in an IF that lets the rounds of this run pass. Its
 * variable is an expression of the round:
 *
 *     for n in a..b step 2    ->  for r in 0..(most of b - a, halved)
 *                                     if 2 * r < b - a, with n = a + 2 * r
 *     for n in a..b step -1   ->  the same with n = b - 1 - r
 *
 * Where a is a constant and the step is 1, the loop counts n itself. The most that b - a can be is
 * found from the bounds of the loops around, as an expression of parameters, so that it is
 * known how the loop grows with them. O(nodes) per loop.
 */
#include "base/checked.h"
#include "kernel/kernel.h"

/* ---- the most that an expression can be -------------------------------------------- */

/* Constant expressions for the least and the most of a part. */
typedef struct limits {
    spad_expr least;
    spad_expr most;
} limits;

typedef struct limiter {
    spad__kernel_builder *builder;
    spad_error *error;
    spad_status status;
} limiter;

static spad_expr bound_apply(limiter *l, spad_expr_op op, spad_expr left, spad_expr right) {
    spad_expr out = 0;
    if (l->status == SPAD_OK) {
        l->status = spad__kernel_builder_apply(&out, l->builder, op, left, right, l->error);
    }
    return out;
}

static spad_expr bound_number(limiter *l, int64_t value) {
    spad_expr out = 0;
    if (l->status == SPAD_OK) {
        l->status = spad__kernel_builder_number(&out, l->builder, value, l->error);
    }
    return out;
}

static spad_expr bound_amount(limiter *l, spad_amount amount) {
    return amount.expr != 0 ? amount.expr : bound_number(l, amount.value);
}

static int64_t bound_value(const limiter *l, spad_expr expr) {
    return spad_kernel_get_expr(l->builder->kernel, expr).least;
}

static limits limits_of_leaf(limiter *l, spad_expr_node node) {
    const spad_kernel *kernel = l->builder->kernel;
    limits both = {0, 0};
    if (node.op == SPAD_EXPR_VARIABLE) {
        const spad_kernel_loop loop = kernel->loops.items[node.value];
        both.least = both.most = bound_amount(l, loop.begin);
        if (loop.begin.value < loop.end.value) {
            both.most =
                bound_apply(l, SPAD_EXPR_SUB, bound_amount(l, loop.end), bound_number(l, 1));
        }
    } else if (node.op == SPAD_EXPR_PARAM) {
        if (l->status == SPAD_OK) {
            l->status = spad__kernel_builder_name(&both.least, l->builder,
                                                  kernel->params.items[node.value].name, l->error);
        }
        both.most = both.least;
    } else {
        both.least = both.most = bound_number(l, node.value);
    }
    return both;
}

static limits limits_of_product(limiter *l, limits a, limits b) {
    const bool right = b.least == b.most; /* one side is a constant */
    const limits moves = right ? a : b;
    const spad_expr factor = right ? b.least : a.least;
    const bool falls = l->status == SPAD_OK && bound_value(l, factor) < 0;
    return (limits){bound_apply(l, SPAD_EXPR_MUL, falls ? moves.most : moves.least, factor),
                    bound_apply(l, SPAD_EXPR_MUL, falls ? moves.least : moves.most, factor)};
}

static limits limits_of_sign(limiter *l, spad_expr_op op, limits a, limits b) {
    switch (op) {
    case SPAD_EXPR_MUL: return limits_of_product(l, a, b);
    case SPAD_EXPR_SUB:
        return (limits){bound_apply(l, op, a.least, b.most), bound_apply(l, op, a.most, b.least)};
    case SPAD_EXPR_MOD:
        return (limits){bound_number(l, 0),
                        bound_apply(l, SPAD_EXPR_SUB, b.most, bound_number(l, 1))};
    default: break;
    }
    return (limits){bound_apply(l, op, a.least, b.least), bound_apply(l, op, a.most, b.most)};
}

/* A constant stays one: its least and its most are one expression. */
static limits limits_of_two(limiter *l, spad_expr_op op, limits a, limits b) {
    if (a.least != a.most || b.least != b.most) return limits_of_sign(l, op, a, b);
    const spad_expr value = bound_apply(l, op, a.least, b.least);
    return (limits){value, value};
}

/* The most of an expression as a constant one. */
static spad_expr most_of(limiter *l, spad_expr expr) {
    spad_expr_node nodes[SPAD_EXPR_MAX];
    const spad_expr_info info = spad_kernel_get_expr(l->builder->kernel, expr);
    if (info.constant) return expr;
    for (size_t i = 0; i < info.node_count; i++) nodes[i] = info.nodes[i]; /* the table moves */
    limits stack[SPAD_EXPR_MAX];
    size_t top = 0;
    for (size_t i = 0; i < info.node_count && l->status == SPAD_OK; i++) {
        if (nodes[i].op < SPAD_EXPR_ADD) {
            stack[top++] = limits_of_leaf(l, nodes[i]);
        } else if (nodes[i].op == SPAD_EXPR_UNKNOWN) {
            const spad_kernel_unknown row = l->builder->kernel->unknowns.items[nodes[i].value];
            stack[top - 1].least = bound_amount(l, row.least);
            stack[top - 1].most =
                bound_apply(l, SPAD_EXPR_SUB, bound_amount(l, row.end), bound_number(l, 1));
        } else if (nodes[i].op == SPAD_EXPR_NEGATE) {
            const limits a = stack[top - 1];
            stack[top - 1].least = bound_apply(l, SPAD_EXPR_NEGATE, a.most, 0);
            stack[top - 1].most = a.least == a.most ? stack[top - 1].least
                                                    : bound_apply(l, SPAD_EXPR_NEGATE, a.least, 0);
        } else {
            top--;
            stack[top - 1] = limits_of_two(l, nodes[i].op, stack[top - 1], stack[top]);
        }
    }
    return l->status == SPAD_OK ? stack[0].most : 0;
}

/* ---- the loop ---------------------------------------------------------------------- */

/* A loop while it is made. */
typedef struct loop_range {
    spad_expr from;
    spad_expr to;
    spad_amount step;
    bool changes;   /* its bounds change with loops around it */
    bool rounds;    /* it counts rounds, not its variable */
    spad_expr span; /* to - from */
} loop_range;

static spad_status check_loop_range(const spad__kernel_builder *builder, const loop_range *r,
                                    spad_error *error) {
    spad_status status = spad__check_expr(builder, r->from, error);
    if (status == SPAD_OK) status = spad__check_expr(builder, r->to, error);
    if (status != SPAD_OK) return status;
    if (r->step.value == 0 || r->step.value == INT64_MIN) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "a step of %lld; a loop needs one that moves on",
                          (long long)r->step.value);
    }
    const spad_kernel *kernel = builder->kernel;
    const spad_expr both[] = {r->from, r->to};
    for (size_t i = 0; i < 2; i++) {
        if (!spad__expr_has(kernel, both[i], SPAD_EXPR_STAGE, -1) &&
            !spad__expr_has(kernel, both[i], SPAD_EXPR_PHASE, -1)) {
            continue;
        }
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "the bounds of a loop do not change with a cursor, which moves while "
                          "it runs");
    }
    return SPAD_OK;
}

/* The distance of two values, which is positive. */
static spad_expr stride_of(limiter *l, const loop_range *r) {
    const spad_expr step = bound_amount(l, r->step);
    return r->step.value > 0 ? step : bound_apply(l, SPAD_EXPR_NEGATE, step, 0);
}

static bool is_single(const loop_range *r) {
    return r->step.value == 1 || r->step.value == -1;
}

/* How far the counter goes. No run of it may have a round: then it ends where it begins. */
static spad_amount end_of(limiter *l, const loop_range *r, spad_amount begin) {
    spad_amount end = {.expr = most_of(l, r->rounds ? r->span : r->to)};
    if (r->rounds && !is_single(r)) {
        const spad_expr stride = stride_of(l, r);
        const spad_expr more = bound_apply(l, SPAD_EXPR_SUB, stride, bound_number(l, 1));
        end.expr =
            bound_apply(l, SPAD_EXPR_DIV, bound_apply(l, SPAD_EXPR_ADD, end.expr, more), stride);
    }
    if (l->status == SPAD_OK && bound_value(l, end.expr) < begin.value) {
        end.expr = bound_apply(l, SPAD_EXPR_LARGER, bound_amount(l, begin), end.expr);
    }
    if (l->status == SPAD_OK) end.value = bound_value(l, end.expr);
    return end;
}

/* The value of the variable in a round, and how far that is from the first. */
static spad_expr variable_of(limiter *l, const loop_range *r, spad_expr round,
                             spad_expr *distance) {
    *distance = is_single(r) ? round : bound_apply(l, SPAD_EXPR_MUL, stride_of(l, r), round);
    if (r->step.value > 0) return bound_apply(l, SPAD_EXPR_ADD, r->from, *distance);
    const spad_expr last = bound_apply(l, SPAD_EXPR_SUB, r->to, bound_number(l, 1));
    return bound_apply(l, SPAD_EXPR_SUB, last, *distance);
}

/* The IF around the body. */
static spad_status open_guard(spad__kernel_builder *builder, spad_expr left, spad_expr right,
                              spad_error *error) {
    spad_comparison *kept = spad__arena_array(&builder->kernel->arena, 1, sizeof *kept);
    if (kept == NULL) return spad__fail_host_memory(error);
    spad_statement *statement;
    const spad_status status = spad__new_block(&statement, builder, SPAD_STATEMENT_IF, error);
    if (status != SPAD_OK) return status;
    *kept = (spad_comparison){.left = left, .relation = SPAD_LESS, .right = right};
    statement->comparisons = kept;
    statement->comparison_count = 1;
    statement->flags = SPAD_IF_OF_LOOP;
    spad__open_block(builder, builder->symbols.count);
    builder->blocks.items[builder->blocks.count - 1].of_loop = true;
    builder->guarded = true;
    return SPAD_OK;
}

/* The loop is open: gives its variable the value, and opens the guard. */
static spad_status finish_range(spad_expr *variable, spad__kernel_builder *builder,
                                const loop_range *r, spad_error *error) {
    limiter l = {.builder = builder, .error = error};
    const int64_t loop = builder->loop;
    spad_expr distance = *variable;
    spad_expr value = 0;
    if (r->rounds) value = variable_of(&l, r, *variable, &distance);
    if (l.status != SPAD_OK) return l.status;
    spad_kernel_loop *row = &builder->kernel->loops.items[loop];
    row->from = r->from;
    row->to = r->to;
    row->step = r->step;
    row->value = value;
    spad_status status = SPAD_OK;
    if (value != 0) {
        status =
            spad__expr_as_leaf(variable, builder->kernel, value, SPAD_EXPR_VARIABLE, loop, error);
    }
    if (status == SPAD_OK && r->changes) {
        status = open_guard(builder, distance, r->rounds ? r->span : r->to, error);
    }
    return status;
}

/* Takes back a loop that was just opened and has nothing in it. */
static void take_back_loop(spad__kernel_builder *builder, size_t loops, size_t statements,
                           bool agents_over) {
    (void)spad__kernel_builder_end(builder, NULL);
    builder->kernel->loops.count = loops;
    builder->kernel->statements.count = statements;
    builder->agents_over = agents_over;
}

static spad_status add_range(spad_expr *variable, spad__kernel_builder *builder, const char *name,
                             loop_range *r, bool parallel, spad_error *error) {
    limiter l = {.builder = builder, .error = error};
    spad_amount begin = {.value = 0};
    if (r->rounds) {
        r->span = bound_apply(&l, SPAD_EXPR_SUB, r->to, r->from);
    } else {
        begin = (spad_amount){.value = bound_value(&l, r->from), .expr = r->from};
    }
    const spad_amount end = end_of(&l, r, begin);
    if (l.status != SPAD_OK) return l.status;
    const size_t loops = builder->kernel->loops.count;
    const size_t statements = builder->kernel->statements.count;
    const bool agents_over = builder->agents_over;
    spad_status status =
        spad__kernel_builder_for(variable, builder, name, begin, end, parallel, error);
    if (status != SPAD_OK) return status;
    status = finish_range(variable, builder, r, error);
    if (status != SPAD_OK) take_back_loop(builder, loops, statements, agents_over);
    return status;
}

spad_status spad__kernel_builder_range(spad_expr *variable, spad__kernel_builder *builder,
                                       const char *name, spad_expr from, spad_expr to,
                                       spad_amount step, bool parallel, spad_error *error) {
    *variable = 0;
    spad_kernel *kernel = builder->kernel;
    spad_status status = spad__fold_amount(builder, &step, error);
    if (status != SPAD_OK) return status;
    loop_range r = {.from = from, .to = to, .step = step};
    status = check_loop_range(builder, &r, error);
    if (status != SPAD_OK) return status;
    const spad_expr_info first = spad_kernel_get_expr(kernel, from);
    const spad_expr_info last = spad_kernel_get_expr(kernel, to);
    r.changes = !first.constant || !last.constant;
    r.rounds = !first.constant || r.step.value != 1;
    if (!r.changes && r.step.value == 1) {
        return spad__kernel_builder_for(variable, builder, name, (spad_amount){first.least, from},
                                        (spad_amount){last.least, to}, parallel, error);
    }
    if (!r.changes && last.least < first.least) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "the range runs from %lld down to %lld; a negative step runs the range "
                          "%lld..%lld from its end",
                          (long long)first.least, (long long)last.least, (long long)last.least,
                          (long long)first.least);
    }
    const spad__expr_mark mark = spad__mark_exprs(kernel);
    status = add_range(variable, builder, name, &r, parallel, error);
    if (status != SPAD_OK) {
        spad__drop_exprs(kernel, mark);
        *variable = 0;
    }
    return status;
}
