/* SPDX-License-Identifier: Apache-2.0
 *
 * Conditions that several trip counts decide together.
 *
 * A window (condition_windows.c) says where one trip count T may grow: there every `if` keeps its
 * answer. With two trip counts that is not enough. `n < 10 or T < 20` keeps its answer while T
 * grows and N is small, and while N grows and T is small, yet it changes when both grow. So where a
 * shape stands for larger values of several trip counts, an `if` that two or more of them move has
 * to keep its answer under every combination of their changes.
 *
 * A change of a trip count is a step of its parameter alone (iterations before the period that
 * is inserted), or of its parameter and its loop (iterations after it). An expression that moves
 * evenly with each trip count is, k times along one and m times along another,
 *
 *     e + k d + m d' + k m d''        (and so on for more of them)
 *
 * where d, d' and d'' follow from its values at the corners k, m in {0, 1}. A comparison of it with
 * 0 keeps its answer for all k, m >= 0 if it does along each of these differences alone. An
 * alternative holds for good if all its comparisons do; a condition is false for good if each
 * alternative has a comparison that is.
 *
 * Where a combination fails, the windows of all its trip counts are narrowed so that it cannot
 * occur. Costs one more walk over the conditions of a shape, and only where such an `if` exists;
 * each evaluates its comparisons at 4 corners for each of at most 4 pairs of changes.
 */
#include "base/assert.h"
#include "base/checked.h"
#include "induction/induction.h"
#include "kernel/evaluate.h"

/* Trip counts in one condition; more are not worth their combinations. */
enum { MEMBERS_MAX = 4 };

/* The change of a trip count in one combination. */
typedef struct joint_change {
    size_t number; /* of the trip count */
    int64_t param; /* -1: none */
    int64_t step;
    int64_t loop; /* -1: stays where it is */
    int64_t extra;
} joint_change;

typedef struct joint_case {
    const spad_kernel *kernel;
    const spad_statement *statement;
    const int64_t *values;
    joint_change changes[MEMBERS_MAX];
    size_t count;
} joint_case;

/* ---- one trip count ------------------------------------------------------------------ */

bool spad__keeps_answer(spad_relation relation, int64_t value, int64_t shift, bool *holds) {
    switch (relation) {
    case SPAD_EQUAL:
    case SPAD_NOT_EQUAL:
        *holds = (value == 0) == (relation == SPAD_EQUAL);
        return shift == 0 || (value > 0 && shift > 0) || (value < 0 && shift < 0);
    case SPAD_LESS: *holds = value < 0; return *holds ? shift <= 0 : shift >= 0;
    case SPAD_LESS_EQUAL: *holds = value <= 0; return *holds ? shift <= 0 : shift >= 0;
    case SPAD_GREATER: *holds = value > 0; return *holds ? shift >= 0 : shift <= 0;
    default:
        spad__assert(relation == SPAD_GREATER_EQUAL);
        *holds = value >= 0;
        return *holds ? shift >= 0 : shift <= 0;
    }
}

/* Where runs get longer each by itself, the condition that ends a run goes with it, and runs that
 * stay as they are do not count. */
bool spad__window_passes_by(const spad__induction *induction, const spad_kernel *kernel,
                            const spad_statement *s, int64_t loop, const int64_t *values) {
    if (induction->cut_loops == NULL || loop < 0) return false;
    if ((s->flags & SPAD_IF_OF_LOOP) != 0 && s->loop == loop) return true;
    return spad__induction_run_length(induction, kernel, loop, values) < induction->keep;
}

/* ---- expressions that are moved ----------------------------------------------------- */

/* An expression after some changes, a set of bits. */
typedef struct moved_point {
    const joint_case *of;
    unsigned corner;
} moved_point;

/* A parameter, or a variable, there. Cursors are not known. */
static bool moved_leaf(const void *context, const spad_expr_node *node, int64_t *out) {
    const moved_point *at = context;
    const joint_case *c = at->of;
    const bool param = node->op == SPAD_EXPR_PARAM;
    if (!param && node->op != SPAD_EXPR_VARIABLE) return false;
    *out = param ? spad_kernel_get_param(c->kernel, (size_t)node->value)->value
                 : c->values[node->value];
    for (size_t i = 0; i < c->count; i++) {
        const joint_change *m = &c->changes[i];
        if ((at->corner >> i & 1) == 0 || (param ? m->param : m->loop) != node->value) continue;
        if (!spad__add(*out, param ? m->step : m->extra, out)) return false;
    }
    return true;
}

/* False: it is not known. The element of an unknown value stays where it is (affine.c). */
static bool moved_value(const joint_case *c, spad_expr expr, unsigned corner, int64_t *out) {
    const spad_expr_info info = spad_kernel_get_expr(c->kernel, expr);
    const moved_point at = {c, corner};
    return spad__evaluate_with(c->kernel, info.nodes, info.node_count, moved_leaf, &at, out);
}

/* ---- conditions --------------------------------------------------------------------- */

/* Does a comparison keep its answer under all combinations? */
static bool comparison_stays(const joint_case *c, const spad_comparison *comparison, bool *holds) {
    int64_t at[1U << MEMBERS_MAX];
    const unsigned corners = 1U << c->count;
    for (unsigned corner = 0; corner < corners; corner++) {
        int64_t left, right;
        if (!moved_value(c, comparison->left, corner, &left) ||
            !moved_value(c, comparison->right, corner, &right) ||
            !spad__sub(left, right, &at[corner])) {
            if (corner == 0) *holds = false;
            return false;
        }
    }
    for (size_t i = 0; i < c->count; i++) { /* values at corners become differences */
        for (unsigned corner = 0; corner < corners; corner++) {
            if ((corner >> i & 1) != 0 &&
                !spad__sub(at[corner], at[corner ^ 1U << i], &at[corner])) {
                return false;
            }
        }
    }
    bool stays = spad__keeps_answer(comparison->relation, at[0], 0, holds);
    for (unsigned corner = 1; corner < corners; corner++) {
        stays = stays && spad__keeps_answer(comparison->relation, at[0], at[corner], holds);
    }
    return stays;
}

/* Does the condition? An alternative holds for good, or each has a comparison that never does. */
static bool condition_stays(const joint_case *c) {
    const spad_statement *s = c->statement;
    bool all_false = true;
    for (size_t i = 0; i < s->comparison_count;) {
        bool holds_for_good = true;
        bool false_for_good = false;
        do {
            bool holds;
            const bool stays = comparison_stays(c, &s->comparisons[i], &holds);
            holds_for_good = holds_for_good && stays && holds;
            false_for_good = false_for_good || (stays && !holds);
            i++;
        } while (i < s->comparison_count && !s->comparisons[i].alternative);
        if (holds_for_good) return true;
        all_false = all_false && false_for_good;
    }
    return all_false;
}

/* ---- which trip counts -------------------------------------------------------------- */

/* Does a trip count move an expression? */
static bool moves_expr(const spad__induction *g, const spad_kernel *kernel, spad_expr expr) {
    const spad_expr_info info = spad_kernel_get_expr(kernel, expr);
    for (size_t i = 0; i < info.node_count; i++) {
        const spad_expr_node *node = &info.nodes[i];
        if (node->op == SPAD_EXPR_PARAM && (size_t)node->value == g->param) return true;
        if (node->op == SPAD_EXPR_VARIABLE && g->extra[node->value] != 0) return true;
    }
    return false;
}

static bool is_condition_moved(const spad__induction *g, const spad_kernel *kernel,
                               const spad_statement *s) {
    for (size_t i = 0; i < s->comparison_count; i++) {
        if (moves_expr(g, kernel, s->comparisons[i].left) ||
            moves_expr(g, kernel, s->comparisons[i].right)) {
            return true;
        }
    }
    return false;
}

bool spad__windows_need_join(const spad__growing *all, size_t count, const spad_kernel *kernel) {
    for (size_t i = 0; i < spad_kernel_statement_count(kernel); i++) {
        const spad_statement *s = spad_kernel_get_statement(kernel, i);
        size_t moved = 0;
        for (size_t g = 0; g < count && s->kind == SPAD_STATEMENT_IF; g++) {
            moved += is_condition_moved(all[g].induction, kernel, s);
        }
        if (moved > 1) return true;
    }
    return false;
}

/* ---- windows ------------------------------------------------------------------------ */

static int64_t iteration_of(const joint_case *c, int64_t loop) {
    return c->values[loop] - spad_kernel_get_loop(c->kernel, (size_t)loop)->begin.value;
}

/* The trip count moves in the way that bit `with_loop` says, if its window allows that here. */
static bool choose_change(const joint_case *c, const spad__growing *of, int64_t loop,
                          bool with_loop, joint_change *m) {
    const bool has_param = of->induction->param != SPAD__NO_PARAM;
    m->param = has_param ? (int64_t)of->induction->param : -1;
    m->step = of->induction->step;
    m->loop = with_loop ? loop : -1;
    m->extra = with_loop ? of->induction->extra[loop] : 0;
    if (loop < 0) return !with_loop;
    const int64_t iteration = iteration_of(c, loop);
    if (of->ended) return !with_loop;
    return with_loop ? iteration >= of->windows[loop].steady : iteration < of->windows[loop].fixed;
}

/* The combination cannot occur any more. False: no window can exclude it. */
static bool exclude(const joint_case *c, const spad__growing *all, const int64_t *loops) {
    bool excluded = false;
    for (size_t i = 0; i < c->count; i++) {
        if (loops[i] < 0) continue;
        spad__window *window = &all[c->changes[i].number].windows[loops[i]];
        const int64_t iteration = iteration_of(c, loops[i]);
        if (c->changes[i].loop >= 0) {
            window->steady = spad__max(window->steady, iteration + 1);
        } else {
            window->fixed = spad__min(window->fixed, iteration);
        }
        excluded = true;
    }
    return excluded;
}

bool spad__windows_join_at(const spad__growing *all, size_t count, const spad_kernel *kernel,
                           size_t statement, const int64_t *values) {
    joint_case c = {.kernel = kernel,
                    .statement = spad_kernel_get_statement(kernel, statement),
                    .values = values};
    size_t members[MEMBERS_MAX];
    int64_t loops[MEMBERS_MAX];
    for (size_t g = 0; g < count; g++) {
        const int64_t loop = all[g].induction->inside[statement];
        if (!is_condition_moved(all[g].induction, kernel, c.statement) ||
            spad__window_passes_by(all[g].induction, kernel, c.statement, loop, values)) {
            continue;
        }
        if (c.count == MEMBERS_MAX) return false;
        members[c.count] = g;
        loops[c.count++] = loop;
    }
    if (c.count < 2) return true;
    for (unsigned choice = 0; choice < 1U << c.count; choice++) {
        bool possible = true;
        for (size_t i = 0; i < c.count; i++) {
            c.changes[i].number = members[i];
            possible = possible && choose_change(&c, &all[members[i]], loops[i],
                                                 (choice >> i & 1) != 0, &c.changes[i]);
        }
        if (possible && !condition_stays(&c) && !exclude(&c, all, loops)) return false;
    }
    return true;
}
