/* SPDX-License-Identifier: Apache-2.0
 *
 * Computes the live range of each slot from the text alone. Time is the number of a statement.
 *
 * A touch is an access, an alloc or a free of a slot. It needs the slot
 *   - at its own statement;
 *   - in all of the outermost loop around it that runs twice or more and does not
 *     contain the declaration of the tensor: values may be carried from one iteration
 *     to the next, and a ring is there to let iterations overlap. A declaration in the
 *     loop begins a new life in every iteration, so nothing is carried;
 *   - from fork to join if an agent does it: the order of agents is unknown;
 *   - and, on a unit, until `wait G pending 0` after a commit of its group that its
 *     agent must pass, else to the end.
 * A slot is needed from its first touch to its last, an input from the start, an
 * output to the end, under whatever name it is one. Inside one life nothing is left out, so two
 * slots whose lives do not meet are never needed together; this holds in program order for every
 * trip count, because loops and not iterations were examined. A statement in a loop without
 * iterations, or in the half of an `if` that no value of a parameter leads to, needs nothing.
 * A parameter can be any number, unless it is fixed. A loop that it bounds counts as one that runs
 * twice or more, and an index that it moves touches all slots of a ring: places that
 * are good for one value are good for all.
 *
 * Which slots an access touches otherwise: the tiles between the bounds of its index, or
 * all if those are many. Cost: O(statements x depth + accesses + slots), with the constants
 * TILES_MAX and SCAN_MAX, after which the answer is the safe one.
 */
#include "base/checked.h"
#include "kernel/expr_range.h"
#include "kernel/kernel.h"
#include "kernel/place.h"
#include "layout/layout.h"

enum {
    FOLLOWED_TILES_MAX = 1024, /* that one access is followed to */
    SCAN_MAX = 4096            /* statements that are searched for the end of an operation */
};

/* ---- slots ------------------------------------------------------------------------- */

/* The tensor with the most slots is to blame. */
static spad_status fail_slots(const spad_kernel *kernel, spad_error *error) {
    const spad_kernel_tensor *tensor = NULL;
    for (size_t i = 0; i < kernel->tensors.count; i++) {
        const spad_kernel_tensor *other = &kernel->tensors.items[i];
        if (!spad__is_planned(kernel, other)) continue;
        if (tensor == NULL || other->slots > tensor->slots) tensor = other;
    }
    if (tensor == NULL) { /* a million tensors with one place each */
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a layout has at most %lld places",
                          (long long)SPAD_LAYOUT_SLOTS);
    }
    spad__fail(error, SPAD_ERR_ARGUMENT,
               "'%s' has %s places on chip, and all tensors together may have %s; give it a "
               "%s",
               tensor->name, spad__grouped(tensor->slots).text,
               spad__grouped(SPAD_LAYOUT_SLOTS).text,
               tensor->ring.count > 0 ? "shallower ring" : "ring");
    spad__fact_names(error, tensor->name, NULL);
    spad__fact_amounts(error, tensor->slots, SPAD_LAYOUT_SLOTS, SPAD_NO_FACT);
    spad__fact_kernel(kernel, tensor->location, error);
    return SPAD_ERR_ARGUMENT;
}

static spad_status number_slots(spad_layout *layout, spad_error *error) {
    const spad_kernel *k = layout->kernel;
    int64_t total = 0;
    layout->first_slots = spad__new_array(&layout->host, k->tensors.count + 1, sizeof(size_t));
    if (layout->first_slots == NULL) return spad__fail_host_memory(error);
    for (size_t i = 0; i < k->tensors.count; i++) {
        const spad_kernel_tensor *tensor = &k->tensors.items[i];
        layout->first_slots[i] = (size_t)total;
        const int64_t more = spad__is_planned(k, tensor) ? tensor->slots : 1;
        if (more > SPAD_LAYOUT_SLOTS - total) return fail_slots(k, error);
        total += more;
    }
    layout->slot_count = layout->first_slots[k->tensors.count] = (size_t)total;
    if (total == 0) return SPAD_OK;
    layout->lives = spad__new_array(&layout->host, layout->slot_count, sizeof *layout->lives);
    layout->bytes = spad__new_array(&layout->host, layout->slot_count, sizeof *layout->bytes);
    layout->lanes = spad__new_array(&layout->host, layout->slot_count, sizeof *layout->lanes);
    layout->all = spad__new_array(&layout->host, k->tensors.count, sizeof *layout->all);
    if (layout->lives == NULL || layout->bytes == NULL || layout->lanes == NULL ||
        layout->all == NULL) {
        return spad__fail_host_memory(error);
    }
    for (size_t i = 0; i < layout->slot_count; i++) layout->bytes[i] = SPAD_NO_BYTE;
    return SPAD_OK;
}

/* ---- parameters -------------------------------------------------------------------- */

/* True if its number of iterations depends on a parameter that may change. */
static bool is_open(const spad_kernel *k, const spad_kernel_loop *loop) {
    return spad__expr_has(k, loop->begin.expr, SPAD_EXPR_PARAM, -1) ||
           spad__expr_has(k, loop->end.expr, SPAD_EXPR_PARAM, -1);
}

/* May an index take values outside its bounds when parameters change? The rest of a division
 * that has all of its values may not. */
static bool moves(const spad_kernel *k, spad_expr expr) {
    const spad_expr_info info = spad_kernel_get_expr(k, expr);
    if (info.node_count > 2 && info.nodes[info.node_count - 1].op == SPAD_EXPR_MOD) {
        const spad_expr_node by = info.nodes[info.node_count - 2]; /* a constant */
        const int64_t values =
            by.op == SPAD_EXPR_PARAM ? k->params.items[by.value].value : by.value;
        if (info.most - info.least == values - 1) return false;
    }
    for (size_t i = 0; i < info.node_count; i++) {
        const spad_expr_node node = info.nodes[i];
        if (node.op == SPAD_EXPR_PARAM) return true;
        if (node.op == SPAD_EXPR_VARIABLE && is_open(k, &k->loops.items[node.value])) return true;
    }
    return false;
}

bool spad__is_open_extent(const spad_kernel *kernel, spad_amount extent) {
    return spad__expr_has(kernel, extent.expr, SPAD_EXPR_PARAM, -1);
}

/* ---- how long one touch needs its slot --------------------------------------------- */

static bool holds(const spad_kernel *k, size_t block, size_t statement) {
    return block < statement && statement < k->statements.items[block].end;
}

static int64_t trips(const spad_kernel *k, const spad_kernel_loop *loop) { /* 2: or more */
    if (is_open(k, loop)) return 2;
    const int64_t most = loop->begin.value <= INT64_MAX - 2 ? loop->begin.value + 2 : INT64_MAX;
    return spad__min(loop->end.value, most) - loop->begin.value;
}

typedef enum outcome { NEVER, MAYBE, ALWAYS } outcome;

static outcome opposite(outcome of) {
    return of == MAYBE ? MAYBE : of == ALWAYS ? NEVER : ALWAYS;
}

static outcome is_less(spad__expr_range a, spad__expr_range b) {
    if (a.most < b.least) return ALWAYS;
    return a.least >= b.most ? NEVER : MAYBE;
}

static outcome is_equal(spad__expr_range a, spad__expr_range b) {
    if (a.most < b.least || b.most < a.least) return NEVER;
    return a.least == a.most && b.least == b.most ? ALWAYS : MAYBE;
}

static outcome comparison_outcome(const spad_kernel *k, const spad_comparison *comparison) {
    const spad__expr_range a = spad__expr_range_of(k, comparison->left);
    const spad__expr_range b = spad__expr_range_of(k, comparison->right);
    switch (comparison->relation) {
    case SPAD_EQUAL: return is_equal(a, b);
    case SPAD_NOT_EQUAL: return opposite(is_equal(a, b));
    case SPAD_LESS: return is_less(a, b);
    case SPAD_LESS_EQUAL: return opposite(is_less(b, a));
    case SPAD_GREATER: return is_less(b, a);
    default: return opposite(is_less(a, b));
    }
}

/* All comparisons of one alternative must hold, and one alternative is sufficient. */
static outcome condition_outcome(const spad_kernel *k, const spad_statement *s) {
    outcome any = NEVER;
    outcome all = ALWAYS;
    for (size_t i = 0; i < s->comparison_count; i++) {
        if (s->comparisons[i].alternative) {
            if (all > any) any = all;
            all = ALWAYS;
        }
        const outcome one = comparison_outcome(k, &s->comparisons[i]);
        if (one < all) all = one;
    }
    return all > any ? all : any;
}

/* True if a statement is in a branch that no parameter value takes. */
static bool is_skipped(const spad_kernel *k, size_t statement, size_t block) {
    const spad_statement *s = &k->statements.items[block];
    if (s->kind != SPAD_STATEMENT_IF || s->comparison_count == 0) return false;
    const bool other = s->item >= 0 && statement > (size_t)s->item;
    return condition_outcome(k, s) == (other ? ALWAYS : NEVER);
}

static bool runs(const spad_kernel *k, size_t statement) {
    const spad_statement *s = &k->statements.items[statement];
    for (int64_t l = s->loop; l >= 0; l = k->loops.items[l].outer) {
        if (trips(k, &k->loops.items[l]) == 0) return false;
    }
    for (int64_t b = s->parent; b >= 0; b = k->statements.items[b].parent) {
        if (is_skipped(k, statement, (size_t)b)) return false;
    }
    return true;
}

/* The statement itself, or the outermost loop around it that runs twice or more and does
 * not hold `other`. */
static spad__slot_life widened(const spad_kernel *k, size_t statement, size_t other) {
    size_t widest = statement;
    for (int64_t l = k->statements.items[statement].loop; l >= 0; l = k->loops.items[l].outer) {
        const spad_kernel_loop *loop = &k->loops.items[l];
        if (trips(k, loop) > 1 && !holds(k, loop->statement, other)) widest = loop->statement;
    }
    const spad_statement *s = &k->statements.items[widest];
    return (spad__slot_life){(int64_t)widest,
                             s->kind == SPAD_STATEMENT_FOR ? (int64_t)s->end : (int64_t)widest + 1};
}

/* True if control that has passed `statement` always reaches `later`. */
static bool is_passed(const spad_kernel *k, size_t statement, size_t later) {
    const int64_t block = k->statements.items[later].parent;
    if (block < 0) return true;
    if (k->statements.items[block].kind == SPAD_STATEMENT_IF) {
        /* the other half of the if, perhaps */
        const int64_t other = k->statements.items[block].item;
        if (other >= 0 && statement < (size_t)other && later > (size_t)other) return false;
    }
    return holds(k, (size_t)block, statement);
}

/* The statement after which an operation on a unit is over for certain; the number of
 * statements: none. */
static size_t find_group_wait(const spad_kernel *k, size_t operation) {
    const spad_statement *op = &k->statements.items[operation];
    bool committed = false;
    if (op->group < 0) return k->statements.count;
    for (size_t i = operation + 1; i < k->statements.count && i - operation < SCAN_MAX; i++) {
        const spad_statement *s = &k->statements.items[i];
        if (s->agent != op->agent || s->kind == SPAD_STATEMENT_BREAK) break;
        if (s->item != op->group || !is_passed(k, operation, i)) continue;
        if (s->kind == SPAD_STATEMENT_COMMIT) committed = true;
        if (s->kind != SPAD_STATEMENT_WAIT_GROUP || !committed) continue;
        if ((s->flags & SPAD_SYNC_READS) != 0) continue;
        if (s->amount != 0 && k->exprs.items[s->amount].most == 0) return i;
    }
    return k->statements.count;
}

static void add_flight(const spad_layout *layout, size_t operation, spad__slot_life *life) {
    const spad_kernel *k = layout->kernel;
    const size_t wait = find_group_wait(k, operation);
    const bool ends = wait < k->statements.count;
    spad__slot_need(life, widened(k, operation, wait));
    life->end = spad__max(life->end, ends ? (int64_t)wait + 1 : layout->end);
}

static void widen_to_agents(const spad_layout *layout, spad__slot_life *life) {
    const spad_kernel *k = layout->kernel;
    const size_t last = k->agents.items[k->agents.count - 1].statement;
    spad__slot_need(life, (spad__slot_life){(int64_t)k->agents.items[1].statement,
                                            (int64_t)k->statements.items[last].end});
}

static spad__slot_life life_of_touch(const spad_layout *layout, size_t statement,
                                     const spad_kernel_tensor *home) {
    const spad_kernel *k = layout->kernel;
    const spad_statement *s = &k->statements.items[statement];
    spad__slot_life life = widened(k, statement, home->statement);
    if (s->kind == SPAD_STATEMENT_OPERATION && s->unit >= 0) add_flight(layout, statement, &life);
    if (s->agent > 0) widen_to_agents(layout, &life);
    return life;
}

/* ---- which slots a touch is about -------------------------------------------------- */

static size_t slot_of_tile(const spad_layout *layout, int64_t home, int64_t tile) {
    const spad_kernel_tensor *tensor = &layout->kernel->tensors.items[home];
    int64_t index[SPAD_RANK_MAX];
    spad__tile_index(tensor, tile, index);
    return layout->first_slots[home] + (size_t)spad__tile_slot(tensor, tile, index);
}

static void need_tile(spad_layout *layout, int64_t home, int64_t tile, spad__slot_life life) {
    spad__slot_need(&layout->lives[slot_of_tile(layout, home, tile)], life);
}

/* The bounds of an index; *count: tiles in the box, cut at `most`. An index that is always
 * outside, after a condition that never holds, has none. */
static void bound_index(const spad_kernel *k, const spad_kernel_tensor *tensor,
                        const spad_expr *index, int64_t *low, int64_t *high, int64_t most,
                        int64_t *count) {
    *count = 1;
    for (size_t i = 0; i < tensor->blocks.count; i++) {
        const spad__expr *expr = &k->exprs.items[index[i]];
        low[i] = spad__max(expr->least, 0);
        high[i] = spad__min(expr->most, tensor->blocks.items[i].value - 1);
        if (high[i] < low[i]) {
            *count = 0;
            return;
        }
        const int64_t wide = high[i] - low[i] + 1;
        *count = wide > most / *count ? most + 1 : *count * wide;
    }
}

/* True if an index names another slot of its ring when parameters change. */
static bool moves_in_ring(const spad_kernel *k, const spad_kernel_tensor *tensor,
                          const spad_kernel_tensor *home, const spad_expr *index) {
    for (size_t i = 0; home->ring.count > 0 && i < tensor->blocks.count; i++) {
        if (moves(k, index[i])) return true;
    }
    return false;
}

/* Goes to the next index of a box; false: it was the last. */
static bool next_index(int64_t *index, const int64_t *low, const int64_t *high, size_t count) {
    for (size_t i = count; i-- > 0;) {
        if (index[i]++ < high[i]) return true;
        index[i] = low[i];
    }
    return false;
}

/* A tile of a tensor by its index, or all of them (index NULL). An alias that is inside
 * one tile touches that one, others the tiles of the same numbers. */
static void touch_slots(spad_layout *layout, size_t statement, const spad_kernel_tensor *tensor,
                        const spad_expr *index) {
    const spad_kernel *k = layout->kernel;
    const spad_kernel_tensor *home = &k->tensors.items[tensor->home];
    const spad__slot_life life = life_of_touch(layout, statement, home);
    int64_t low[SPAD_RANK_MAX];
    int64_t high[SPAD_RANK_MAX];
    int64_t at[SPAD_RANK_MAX];
    int64_t count = home->slots;
    if (spad__is_planned(k, home) && tensor->home_tile >= 0) {
        need_tile(layout, tensor->home, tensor->home_tile, life);
    } else {
        if (index != NULL && !moves_in_ring(k, tensor, home, index)) {
            bound_index(k, tensor, index, low, high, home->slots, &count);
        }
        if (!spad__is_planned(k, home) || count >= home->slots || count > FOLLOWED_TILES_MAX) {
            spad__slot_need(&layout->all[tensor->home], life);
            return;
        }
        if (count == 0) return;
        for (size_t i = 0; i < tensor->blocks.count; i++) at[i] = low[i];
        do {
            int64_t tile = 0;
            for (size_t i = 0; i < tensor->blocks.count; i++) {
                tile = tile * tensor->blocks.items[i].value + at[i];
            }
            need_tile(layout, tensor->home, tile, life);
        } while (next_index(at, low, high, tensor->blocks.count));
    }
}

static void touch_statement(spad_layout *layout, size_t number) {
    const spad_kernel *k = layout->kernel;
    const spad_statement *s = &k->statements.items[number];
    if (s->kind == SPAD_STATEMENT_OPERATION) {
        for (size_t i = 0; i < s->access_count; i++) {
            const spad_kernel_access *access = &k->accesses.items[s->first_access + i];
            touch_slots(layout, number, &k->tensors.items[access->tensor], access->index);
        }
    } else if (s->kind == SPAD_STATEMENT_ALLOC || s->kind == SPAD_STATEMENT_FREE) {
        touch_slots(layout, number, &k->tensors.items[s->item],
                    s->index_count > 0 ? s->index : NULL);
    }
}

/* The slots that a name refers to: all of its home, or the one that an alias is in. */
static void slots_of(const spad_layout *layout, size_t number, size_t *first, size_t *end) {
    const spad_kernel *k = layout->kernel;
    const spad_kernel_tensor *tensor = &k->tensors.items[number];
    *first = layout->first_slots[tensor->home];
    *end = layout->first_slots[tensor->home + 1];
    if (!spad__is_planned(k, &k->tensors.items[tensor->home]) || tensor->home_tile < 0) return;
    *first = slot_of_tile(layout, tensor->home, tensor->home_tile);
    *end = *first + 1;
}

/* Inputs have something in them from the start. */
static void begin_tensor(spad_layout *layout, size_t number) {
    size_t first;
    size_t end;
    slots_of(layout, number, &first, &end);
    const spad__slot_life all = layout->all[number];
    for (size_t i = first; i < end; i++) {
        spad__slot_need(&layout->lives[i], all);
        if ((layout->kernel->tensors.items[number].flags & SPAD_TENSOR_INPUT) != 0) {
            spad__slot_need(&layout->lives[i], (spad__slot_life){0, 1});
        }
    }
}

/* Outputs, no matter which agent wrote them, are live at the end. */
static void end_tensor(spad_layout *layout, size_t number) {
    size_t first;
    size_t end;
    if ((layout->kernel->tensors.items[number].flags & SPAD_TENSOR_OUTPUT) == 0) return;
    slots_of(layout, number, &first, &end);
    for (size_t i = first; i < end; i++) {
        spad__slot_life *life = &layout->lives[i];
        if (life->begin < life->end) life->end = layout->end;
    }
}

spad_status spad__layout_lives(spad_layout *layout, spad_error *error) {
    const spad_kernel *k = layout->kernel;
    layout->end = (int64_t)k->statements.count + 1;
    const spad_status status = number_slots(layout, error);
    if (status != SPAD_OK) return status;
    for (size_t i = 0; i < k->statements.count; i++) {
        if (runs(k, i)) touch_statement(layout, i);
    }
    for (size_t i = 0; i < k->tensors.count; i++) begin_tensor(layout, i);
    for (size_t i = 0; i < k->tensors.count; i++) end_tensor(layout, i);
    return SPAD_OK;
}
