/* SPDX-License-Identifier: Apache-2.0
 *
 * Rounds that are compared as operations. Two rounds of a loop may be the same list of operations
 * and yet different nodes: where a loop inside has no rounds, it is no node, and where it has as
 * many as the loop before it, it is one round more of that one. So what a round must be is worked
 * out from the numbers of the rounds that are known, operation by operation, and compared with the
 * list of operations: for one more round of a loop at the top of the stack, and for a third round
 * after or before two that are alike.
 *
 * A round ends where a node of the list that is gone through ends, and begins where a node of the
 * stack begins. O(operations of the round) where it matches; others mostly differ early.
 */
#include <string.h>

#include "base/checked.h"
#include "kernel/fold/fold.h"

/* numbers[i] + steps[i] * factor. False: too large, or negative, which no number is. */
static bool put_round(int64_t *out, const int64_t *numbers, const int64_t *steps, int64_t factor,
                      size_t count) {
    for (size_t i = 0; i < count; i++) {
        int64_t moved;
        if (!spad__mul(steps[i], factor, &moved) || !spad__add(moved, numbers[i], &out[i]) ||
            out[i] < 0) {
            return false;
        }
    }
    return true;
}

/* Are the operations from *at on a node with these numbers? Then *at is the one after them. `room`
 * has a place for each number of the node and of the loops inside. Recursion as deep as loops are
 * nested. */
static bool match_node(const spad__folder *f, uint32_t shape, const int64_t *moving,
                       const int64_t *fixed, int64_t *room, size_t *at) {
    const spad__fold_shape *s = &f->shapes.items[shape];
    if (s->child_count == 0) {
        if (*at == f->operations.count) return false;
        const spad__fold_node *node = &f->operations.items[*at];
        *at += 1;
        return node->shape == shape &&
               (s->moving == 0 || memcmp(node->moving, moving, s->moving * sizeof *moving) == 0);
    }
    const size_t count = s->moving - 1;
    const int64_t *steps = fixed + s->fixed - count;
    for (int64_t round = 0; round < moving[count]; round++) {
        const int64_t *numbers = room;
        const int64_t *own = fixed;
        if (!put_round(room, moving, steps, round, count)) return false;
        for (size_t i = 0; i < s->child_count; i++) {
            const spad__fold_shape *child = &f->shapes.items[s->children[i]];
            if (!match_node(f, s->children[i], numbers, own, room + count, at)) return false;
            numbers += child->moving;
            own += child->fixed;
        }
    }
    return true;
}

/* Room for the numbers of a shape at each height. NULL: no memory. */
static int64_t *make_room(spad__folder *f, const spad__fold_shape *shape) {
    const size_t wanted = (shape->moving + 1) * (shape->height + 1);
    if (f->room.capacity < wanted && !spad__array_reserve(&f->host, &f->room, wanted)) {
        f->out_of_memory = true;
        return NULL;
    }
    return f->room.items;
}

/* The operation after the top of the stack. */
static size_t next_operation(const spad__folder *f) {
    return f->list_at < f->list_count ? f->list[f->list_at].first : f->operations.count;
}

/* Goes on in the list with an operation, if a node of it begins there. */
static bool skip_to(spad__folder *f, size_t operation) {
    size_t at = f->list_at;
    while (at < f->list_count && f->list[at].first < operation) at++;
    const bool fits =
        at < f->list_count ? f->list[at].first == operation : operation == f->operations.count;
    if (fits) f->list_at = at;
    return fits;
}

bool spad__fold_run_ahead(spad__folder *f) {
    if (f->nodes.count == 0) return false;
    const spad__fold_node *loop = &f->nodes.items[f->nodes.count - 1];
    const spad__fold_shape *s = &f->shapes.items[loop->shape];
    if (s->child_count == 0) return false;
    int64_t *room = make_room(f, s);
    const size_t count = s->moving - 1;
    if (room == NULL || !put_round(room, loop->moving, loop->fixed + s->fixed - count,
                                   loop->moving[count], count)) {
        return false;
    }
    size_t at = next_operation(f);
    const int64_t *numbers = room;
    const int64_t *fixed = loop->fixed;
    for (size_t i = 0; i < s->child_count; i++) {
        const spad__fold_shape *child = &f->shapes.items[s->children[i]];
        if (!match_node(f, s->children[i], numbers, fixed, room + count, &at)) return false;
        numbers += child->moving;
        fixed += child->fixed;
    }
    if (at == next_operation(f) || !skip_to(f, at))
        return false; /* an empty round does not count */
    loop->moving[count]++;
    return true;
}

/* Are the operations from *at on the round that follows from `from` to `to`, and on? */
static bool match_third(spad__folder *f, size_t from, size_t to, size_t count, size_t *at) {
    for (size_t i = 0; i < count; i++) {
        const spad__fold_node *a = &f->nodes.items[from + i];
        const spad__fold_node *b = &f->nodes.items[to + i];
        const spad__fold_shape *s = &f->shapes.items[a->shape];
        int64_t *room = make_room(f, s);
        if (room == NULL || a->shape != b->shape) return false;
        for (size_t n = 0; n < s->moving; n++) {
            int64_t step;
            if (!spad__sub(b->moving[n], a->moving[n], &step) ||
                !put_round(room + n, b->moving + n, &step, 1, 1)) {
                return false;
            }
        }
        if (s->fixed > 0 && memcmp(a->fixed, b->fixed, s->fixed * sizeof *a->fixed) != 0) {
            return false;
        }
        if (!match_node(f, a->shape, room, a->fixed, room + s->moving, at)) return false;
    }
    return true;
}

bool spad__fold_is_before(spad__folder *f, size_t count, size_t *first) {
    const size_t a = f->nodes.count - 2 * count;
    const size_t start = f->nodes.items[a].first;
    const size_t middle = f->nodes.items[a + count].first;
    const size_t end = next_operation(f);
    const size_t less =
        middle - start; /* the two rounds grow by as much as the third to the first */
    if (end - middle > 2 * less) return false;
    const size_t size = 2 * less - (end - middle);
    if (size == 0 || size > start) return false;
    size_t at = start - size;
    size_t node = a;
    while (node > 0 && f->nodes.items[node].first > at) node--;
    if (f->nodes.items[node].first != at) return false;
    if (!match_third(f, a + count, a, count, &at) || at != start) return false;
    *first = node;
    return true;
}

bool spad__fold_is_after(spad__folder *f, size_t count) {
    const size_t a = f->nodes.count - 2 * count;
    const size_t next = next_operation(f);
    size_t at = next;
    return match_third(f, a, a + count, count, &at) && at > next && skip_to(f, at);
}
