/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops in a list of statements (after Ketterlin and Clauss, "Prediction and trace compression of
 * data access addresses through nested loop recognition", CGO 2008).
 *
 * Statements are put on a stack one after another. When the top of it is three times the same
 * shapes, and every number moves evenly from the first to the second and to the third, the three
 * become a loop; when a loop is followed by its body once more, with the numbers of the next
 * round, it gets one round more. A loop is a node like a statement, and its trip count is one of
 * its numbers, so loops of loops are found in the same way, also with bounds that move evenly.
 *
 * Every step keeps the list of operations that the stack stands for: numbers are compared, and a
 * hash only says where to look. Candidates for the length of a body are the distances to the
 * nearest nodes of the same shape, up to PERIODS of them, and to the nearest LOOPS loops. So the
 * cost is O(statements) while bodies match or differ early, and O(statements x body) at worst.
 */
#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "kernel/fold/fold.h"

enum { PERIODS = 256, LOOPS = 64, BODY_MOST = 8192, ROUNDS_LEAST = 3 };

#define HASH_BASE UINT64_C(0x9E3779B97F4A7C15)

/* ---- shapes ------------------------------------------------------------------------ */

/* Is there an expression? Then its value is one of the numbers. */
static void put_expr_number(spad__folder *f, spad_expr expr) {
    spad__fold_put_code(f, expr != 0);
    if (expr != 0) spad__fold_put_number(f, spad_kernel_get_expr(f->kernel, expr).least);
}

/* The tile of a member: an index for each dimension of its family. */
static void put_member(spad__folder *f, const spad__family *family, int64_t member) {
    int64_t index[SPAD__FAMILY_RANK];
    for (size_t d = family->rank; d-- > 0; member /= family->dims[d].count) {
        index[d] = member % family->dims[d].count;
    }
    for (size_t d = 0; d < family->rank; d++) spad__fold_put_number(f, index[d]);
}

static void put_access_shape(spad__folder *f, const spad_kernel_access *a) {
    const int64_t family = f->family[a->tensor];
    spad__fold_put_code(f, a->kind);
    spad__fold_put_code(f, family >= 0 ? family : -1 - a->tensor);
    spad__fold_put_code(f, (int64_t)a->range_count);
    put_expr_number(f, a->moves);
    for (const char *c = a->spread != NULL ? a->spread : ""; *c != '\0'; c++)
        spad__fold_put_code(f, *c);
    if (family >= 0) put_member(f, &f->families.items[family], f->member[a->tensor]);
    for (size_t i = 0; i < a->range_count; i++) {
        const spad_expr step = a->ranges[i].step;
        put_expr_number(f, a->ranges[i].from);
        put_expr_number(f, a->ranges[i].to);
        spad__fold_put_code(f, step != 0 ? spad_kernel_get_expr(f->kernel, step).least : 0);
    }
}

static void put_operation_shape(spad__folder *f, const spad_statement *s) {
    spad__fold_put_code(f, -1);
    spad__fold_put_code(f, s->engine);
    spad__fold_put_code(f, s->source);
    spad__fold_put_code(f, (int64_t)s->cost_kind);
    spad__fold_put_code(f, (int64_t)s->access_count);
    spad__fold_put_text(f, s->name);
    put_expr_number(f, s->cost);
    for (size_t i = 0; i < s->access_count; i++) {
        put_access_shape(f, &f->kernel->accesses.items[s->first_access + i]);
    }
}

/* The number of the shape whose code is at hand; UINT32_MAX: no memory. */
static uint32_t fold_find_shape(spad__folder *f, spad__fold_shape shape) {
    uint64_t hash = 0;
    if (f->out_of_memory) return UINT32_MAX;
    const size_t size = f->code.count * sizeof *f->code.items;
    for (size_t i = 0; i < f->code.count; i++) hash = spad__hash_add(hash, f->code.items[i]);
    spad__probe probe = spad__index_probe(&f->shape_index, hash);
    for (size_t i; (i = spad__probe_next(&probe)) != SPAD__NO_ITEM;) {
        const spad__fold_shape *known = &f->shapes.items[i];
        if (known->code_count == f->code.count && memcmp(known->code, f->code.items, size) == 0) {
            return (uint32_t)i;
        }
    }
    int64_t *code = spad__arena_array(&f->arena, f->code.count, sizeof *code);
    if (code == NULL || !spad__array_reserve(&f->host, &f->shapes, 1) ||
        !spad__array_reserve(&f->host, &f->newest, 1) ||
        !spad__index_reserve(&f->shape_index, &f->host, 1)) {
        return UINT32_MAX;
    }
    spad__index_add(&f->shape_index, hash, f->shapes.count);
    memcpy(code, f->code.items, size);
    shape.code = code;
    shape.code_count = f->code.count;
    f->newest.items[f->newest.count++] = 0;
    f->shapes.items[f->shapes.count] = shape;
    return (uint32_t)f->shapes.count++;
}

static const spad__fold_shape *fold_shape_of(const spad__folder *f, size_t node) {
    return &f->shapes.items[f->nodes.items[node].shape];
}

static bool is_loop_node(const spad__folder *f, size_t node) {
    return fold_shape_of(f, node)->child_count > 0;
}

/* ---- the stack --------------------------------------------------------------------- */

bool spad__fold_push(spad__folder *f, spad__fold_node node) {
    if (!spad__array_reserve(&f->host, &f->nodes, 1) ||
        !spad__array_reserve(&f->host, &f->powers, 2)) {
        return false;
    }
    const size_t at = f->nodes.count++;
    const uint64_t below = at > 0 ? f->nodes.items[at - 1].prefix : 0;
    while (f->powers.count <= f->nodes.count) {
        const size_t n = f->powers.count;
        spad__assert(n < f->powers.capacity); /* one more than there are nodes, and the first */
        f->powers.items[f->powers.count++] = n == 0 ? 1 : f->powers.items[n - 1] * HASH_BASE;
    }
    node.prefix = below * HASH_BASE + node.shape + 1;
    node.same = f->newest.items[node.shape];
    f->nodes.items[at] = node;
    f->nodes.items[at].loop = is_loop_node(f, at) ? at + 1
                              : at > 0            ? f->nodes.items[at - 1].loop
                                                  : 0;
    f->newest.items[node.shape] = at + 1;
    return true;
}

void spad__fold_pop(spad__folder *f, size_t count) {
    while (count-- > 0) {
        const spad__fold_node *node = &f->nodes.items[--f->nodes.count];
        f->newest.items[node->shape] = node->same;
    }
}

static uint64_t fold_window(const spad__folder *f, size_t first, size_t count) {
    const uint64_t before = first > 0 ? f->nodes.items[first - 1].prefix : 0;
    return f->nodes.items[first + count - 1].prefix - before * f->powers.items[count];
}

/* ---- one round more ---------------------------------------------------------------- */

/* Do the numbers of a node continue with the iteration after the last one? */
static bool fold_is_next(const spad__fold_node *node, const spad__fold_shape *shape,
                         const int64_t *moving, const int64_t *fixed, const int64_t *steps,
                         int64_t rounds) {
    for (size_t i = 0; i < shape->moving; i++) {
        int64_t moved;
        if (!spad__mul(steps[i], rounds, &moved) || !spad__add(moved, moving[i], &moved) ||
            moved != node->moving[i]) {
            return false;
        }
    }
    return shape->fixed == 0 || memcmp(fixed, node->fixed, shape->fixed * sizeof *fixed) == 0;
}

/* Is the body of a loop what follows it? */
static bool fold_is_followed(const spad__folder *f, size_t loop) {
    const spad__fold_node *node = &f->nodes.items[loop];
    const spad__fold_shape *shape = &f->shapes.items[node->shape];
    const int64_t rounds = node->moving[shape->moving - 1];
    const int64_t *steps = node->fixed + shape->fixed - (shape->moving - 1);
    size_t moving = 0;
    size_t fixed = 0;
    for (size_t i = 0; i < shape->child_count; i++) {
        if (f->nodes.items[loop + 1 + i].shape != shape->children[i]) return false;
    }
    for (size_t i = 0; i < shape->child_count; i++) {
        const spad__fold_shape *child = &f->shapes.items[shape->children[i]];
        if (!fold_is_next(&f->nodes.items[loop + 1 + i], child, node->moving + moving,
                          node->fixed + fixed, steps + moving, rounds)) {
            return false;
        }
        moving += child->moving;
        fixed += child->fixed;
    }
    return true;
}

static bool fold_add_round(spad__folder *f) {
    const size_t top = f->nodes.count - 1;
    size_t loop = top > 0 ? f->nodes.items[top - 1].loop : 0;
    for (int tries = 0; loop > 0 && tries < LOOPS; tries++) {
        const size_t at = loop - 1;
        const spad__fold_shape *shape = fold_shape_of(f, at);
        if (top - at > BODY_MOST) return false;
        if (shape->child_count == top - at && fold_is_followed(f, at)) {
            f->nodes.items[at].moving[shape->moving - 1]++;
            spad__fold_pop(f, shape->child_count);
            return true;
        }
        loop = at > 0 ? f->nodes.items[at - 1].loop : 0;
    }
    return false;
}

/* ---- a new loop -------------------------------------------------------------------- */

/* Do three nodes of one shape move evenly? */
static bool fold_moves_evenly(const spad__folder *f, size_t first, size_t count) {
    const spad__fold_node *a = &f->nodes.items[first];
    const spad__fold_node *b = a + count;
    const spad__fold_node *c = b + count;
    const spad__fold_shape *shape = &f->shapes.items[a->shape];
    if (a->shape != b->shape || b->shape != c->shape) return false; /* equal hashes */
    for (size_t i = 0; i < shape->moving; i++) {
        int64_t one;
        int64_t two;
        if (!spad__sub(b->moving[i], a->moving[i], &one) ||
            !spad__sub(c->moving[i], b->moving[i], &two) || one != two) {
            return false;
        }
    }
    const size_t size = shape->fixed * sizeof *a->fixed;
    return size == 0 ||
           (memcmp(a->fixed, b->fixed, size) == 0 && memcmp(b->fixed, c->fixed, size) == 0);
}

uint32_t spad__fold_loop_shape(spad__folder *f, const uint32_t *children, size_t count) {
    f->code.count = 0;
    size_t moving = 0;
    size_t fixed = 0;
    size_t height = 0;
    spad__fold_put_code(f, (int64_t)count);
    for (size_t i = 0; i < count; i++) {
        const spad__fold_shape *child = &f->shapes.items[children[i]];
        spad__fold_put_code(f, children[i]);
        moving += child->moving;
        fixed += child->fixed;
        if (child->height > height) height = child->height;
    }
    return fold_find_shape(f, (spad__fold_shape){.statement = SIZE_MAX,
                                                 .child_count = count,
                                                 .children = children,
                                                 .moving = moving + 1,
                                                 .fixed = fixed + moving,
                                                 .height = height + 1});
}

/* The shape of a loop over `count` nodes from `first` on. */
static uint32_t shape_of_nodes(spad__folder *f, size_t first, size_t count) {
    uint32_t *children = spad__arena_array(&f->arena, count, sizeof *children);
    if (children == NULL) return UINT32_MAX;
    for (size_t i = 0; i < count; i++) children[i] = f->nodes.items[first + i].shape;
    return spad__fold_loop_shape(f, children, count);
}

/* The numbers of the first round, and how far they move to the second; `before` is 1 if the first
 * round is the one before `first`. */
static void fold_fill_loop(const spad__folder *f, size_t first, size_t count, int64_t before,
                           const spad__fold_node *node) {
    const spad__fold_shape *shape = &f->shapes.items[node->shape];
    int64_t *steps = node->fixed + shape->fixed - (shape->moving - 1);
    size_t moving = 0;
    size_t fixed = 0;
    for (size_t i = 0; i < count; i++) {
        const spad__fold_node *a = &f->nodes.items[first + i];
        const spad__fold_node *b = &f->nodes.items[first + count + i];
        const spad__fold_shape *child = &f->shapes.items[a->shape];
        for (size_t n = 0; n < child->moving; n++) {
            steps[moving + n] = b->moving[n] - a->moving[n];
            node->moving[moving + n] = a->moving[n] - before * steps[moving + n];
        }
        if (child->fixed > 0) {
            memcpy(node->fixed + fixed, a->fixed, child->fixed * sizeof *a->fixed);
        }
        moving += child->moving;
        fixed += child->fixed;
    }
    node->moving[moving] = ROUNDS_LEAST;
}

/* Three rounds: of the nodes from `begin` on, those from `first` on are two of them or all. */
typedef struct fold_rounds {
    size_t begin;
    size_t first;
    size_t count; /* nodes of a round */
} fold_rounds;

/* Makes a loop of the top; *failed: no memory. */
static bool fold_make_loop(spad__folder *f, fold_rounds rounds, bool *failed) {
    const uint32_t number = shape_of_nodes(f, rounds.first, rounds.count);
    *failed = number == UINT32_MAX;
    if (*failed) return false;
    const spad__fold_shape *shape = &f->shapes.items[number];
    spad__fold_node node = {.shape = number, .first = f->nodes.items[rounds.begin].first};
    node.moving = spad__arena_array(&f->arena, shape->moving, sizeof *node.moving);
    node.fixed = spad__arena_array(&f->arena, shape->fixed + 1, sizeof *node.fixed);
    *failed = node.moving == NULL || node.fixed == NULL;
    if (*failed) return false;
    fold_fill_loop(f, rounds.first, rounds.count, rounds.begin < rounds.first, &node);
    spad__fold_pop(f, f->nodes.count - rounds.begin);
    *failed = !spad__fold_push(f, node);
    return !*failed;
}

/* Are the top nodes twice the same, and of loops that may be in another one? */
static bool fold_is_twice(const spad__folder *f, size_t count) {
    const size_t all = f->nodes.count;
    if (all < 2 * count ||
        fold_window(f, all - 2 * count, count) != fold_window(f, all - count, count)) {
        return false;
    }
    for (size_t i = all - count; i < all; i++) {
        if (fold_shape_of(f, i)->height >= f->height_most) return false;
    }
    return true;
}

static bool fold_is_repeated(const spad__folder *f, size_t count) {
    const size_t all = f->nodes.count;
    if (all < ROUNDS_LEAST * count ||
        fold_window(f, all - ROUNDS_LEAST * count, count) != fold_window(f, all - count, count)) {
        return false;
    }
    for (size_t i = count; i-- > 0;) {
        if (!fold_moves_evenly(f, all - ROUNDS_LEAST * count + i, count)) return false;
    }
    return true;
}

/* Three rounds of `count` nodes at the top of the stack: all of them nodes that are alike, or two
 * and the operations after or before them. */
static bool fold_find_rounds(spad__folder *f, size_t count, fold_rounds *rounds) {
    const size_t all = f->nodes.count;
    if (!fold_is_twice(f, count)) return false;
    *rounds = (fold_rounds){all - 2 * count, all - 2 * count, count};
    if (fold_is_repeated(f, count)) {
        rounds->begin = rounds->first = all - ROUNDS_LEAST * count;
        return true;
    }
    return spad__fold_is_after(f, count) || spad__fold_is_before(f, count, &rounds->begin);
}

static bool fold_find_loop(spad__folder *f, bool *failed) {
    const size_t top = f->nodes.count - 1;
    size_t same = f->nodes.items[top].same;
    for (int tries = 0; same > 0 && tries < PERIODS; tries++) {
        const size_t count = top - (same - 1);
        fold_rounds rounds;
        if (count > BODY_MOST) return false;
        if (fold_find_rounds(f, count, &rounds)) return fold_make_loop(f, rounds, failed);
        same = f->nodes.items[same - 1].same;
    }
    return false;
}

/* ---- all statements ---------------------------------------------------------------- */

static bool list_statement(spad__folder *f, size_t statement) {
    const spad_statement *s = &f->kernel->statements.items[statement];
    f->code.count = f->numbers.count = 0;
    if (f->by_agent) {
        spad__fold_put_statement(f, s);
    } else {
        put_operation_shape(f, s);
    }
    spad__fold_node node = {.statement = statement, .first = f->operations.count};
    const size_t count = f->numbers.count;
    node.shape = fold_find_shape(f, (spad__fold_shape){.statement = statement, .moving = count});
    node.moving = spad__arena_array(&f->arena, count + 1, sizeof *node.moving);
    if (node.shape == UINT32_MAX || node.moving == NULL) return false;
    if (count > 0) memcpy(node.moving, f->numbers.items, count * sizeof *node.moving);
    if (!spad__array_reserve(&f->host, &f->operations, 1)) return false;
    f->operations.items[f->operations.count++] = node;
    return true;
}

bool spad__fold_reduce(spad__folder *f) {
    bool failed = false;
    while (fold_add_round(f) || fold_find_loop(f, &failed) || spad__fold_run_ahead(f)) {
    }
    return !failed && !f->out_of_memory;
}

void spad__fold_start(spad__folder *f, const spad__fold_node *list, size_t count) {
    f->nodes.count = 0;
    for (size_t i = 0; i < f->newest.count; i++) f->newest.items[i] = 0;
    f->list = list;
    f->list_count = count;
    f->list_at = 0;
}

static bool is_folded_kind(const spad__folder *f, spad_statement_kind kind) {
    return f->by_agent ? kind != SPAD_STATEMENT_TENSOR : kind == SPAD_STATEMENT_OPERATION;
}

bool spad__fold_loops(spad__folder *f) {
    f->height_most = SIZE_MAX;
    const size_t end = f->by_agent ? f->end : f->kernel->statements.count;
    for (size_t i = f->by_agent ? f->first : 0; i < end; i++) {
        if (!is_folded_kind(f, f->kernel->statements.items[i].kind)) continue;
        if (!list_statement(f, i)) return false;
    }
    spad__fold_start(f, f->operations.items, f->operations.count);
    while (f->list_at < f->list_count) {
        if (!spad__fold_push(f, f->list[f->list_at++]) || !spad__fold_reduce(f)) return false;
    }
    return true;
}
