/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops of one or two rounds. A loop is found where something repeats three times, so of a loop
 * whose bound moves (1, 2, 3, ... rounds) the first ones stay straight, and the loop around it has
 * bodies of different shapes. Here the list is gone through again, with the loops that are known
 * from before: what is once the body of a known loop, with its fixed numbers, becomes a loop of one
 * round, and gets further rounds as any other loop.
 *
 * A body may be the beginning of a longer loop, so loops are completed from the inside:
 * first those of operations alone, in the list of operations; then, in the list that this gives,
 * those of operations and such loops, at first without short ones, to know which there are. Of the
 * three lists of nodes the one with the fewest statements is kept, so short loops are there only
 * where they pay. At last, what is before and after a loop is one more round of it if it is one: so
 * the body begins where it did in the source, and the first round of a loop may be one in which a
 * loop inside has no rounds (0, 1, 2, ...). Every list stands for the same operations.
 * O(statements) for each pass, times the known loops with one last statement.
 */
#include <string.h>

#include "base/checked.h"
#include "kernel/fold/fold.h"

typedef struct short_list {
    spad__fold_node *items;
    size_t count;
} short_list;

/* ---- known loops ------------------------------------------------------------------- */

static bool is_known_loop(const spad__folder *f, uint32_t shape, const int64_t *fixed) {
    const spad__fold_shape *s = &f->shapes.items[shape];
    size_t at = f->known_by_last.items[s->children[s->child_count - 1]];
    for (; at > 0; at = f->known.items[at - 1].next) {
        const spad__fold_known *known = &f->known.items[at - 1];
        const size_t size = s->fixed * sizeof *fixed;
        if (known->shape == shape && memcmp(known->fixed, fixed, size) == 0) return true;
    }
    return false;
}

static bool add_known_loop(spad__folder *f, uint32_t shape, int64_t *fixed) {
    const spad__fold_shape *s = &f->shapes.items[shape];
    size_t *first = &f->known_by_last.items[s->children[s->child_count - 1]];
    if (is_known_loop(f, shape, fixed)) return true;
    if (!spad__array_reserve(&f->host, &f->known, 1)) return false;
    f->known.items[f->known.count++] = (spad__fold_known){shape, fixed, *first};
    *first = f->known.count;
    return true;
}

/* The loops of one height in a node. Recursion as deep as loops are nested. */
static bool note_loops(spad__folder *f, uint32_t shape, int64_t *fixed, size_t height) {
    const spad__fold_shape *s = &f->shapes.items[shape];
    if (s->height < height) return true;
    if (s->height == height) return add_known_loop(f, shape, fixed);
    for (size_t i = 0; i < s->child_count; i++) {
        if (!note_loops(f, s->children[i], fixed, height)) return false;
        fixed += f->shapes.items[s->children[i]].fixed;
    }
    return true;
}

static bool note_all_loops(spad__folder *f, size_t height) {
    f->known.count = f->known_by_last.count = 0;
    if (!spad__array_reserve(&f->host, &f->known_by_last, f->shapes.count)) return false;
    f->known_by_last.count = f->shapes.count;
    for (size_t i = 0; i < f->shapes.count; i++) f->known_by_last.items[i] = 0;
    for (size_t i = 0; i < f->nodes.count; i++) {
        if (!note_loops(f, f->nodes.items[i].shape, f->nodes.items[i].fixed, height)) return false;
    }
    return true;
}

/* ---- one round --------------------------------------------------------------------- */

/* Is the top of the stack the body of a known loop? */
static bool is_one_round(const spad__folder *f, const spad__fold_known *known) {
    const spad__fold_shape *s = &f->shapes.items[known->shape];
    if (s->child_count > f->nodes.count) return false;
    const spad__fold_node *node = &f->nodes.items[f->nodes.count - s->child_count];
    const int64_t *fixed = known->fixed;
    for (size_t i = 0; i < s->child_count; i++, node++) {
        const size_t count = f->shapes.items[s->children[i]].fixed;
        if (node->shape != s->children[i]) return false;
        if (count > 0 && memcmp(node->fixed, fixed, count * sizeof *fixed) != 0) return false;
        fixed += count;
    }
    return true;
}

/* Is what follows in the list the second round, after the body at the top of the stack? */
static bool is_followed(const spad__folder *f, const spad__fold_known *known, short_list rest) {
    const spad__fold_shape *s = &f->shapes.items[known->shape];
    if (rest.count < s->child_count) return false;
    const spad__fold_node *node = &f->nodes.items[f->nodes.count - s->child_count];
    const int64_t *step = known->fixed + s->fixed - (s->moving - 1);
    for (size_t i = 0; i < s->child_count; i++, node++) {
        if (rest.items[i].shape != node->shape) return false;
        for (size_t n = 0; n < f->shapes.items[node->shape].moving; n++) {
            int64_t next;
            if (!spad__add(node->moving[n], *step++, &next) || rest.items[i].moving[n] != next) {
                return false;
            }
        }
    }
    return true;
}

/* The known loop with the longest body at the top of the stack; of several, one that goes on in the
 * rest of the list. NULL: none exists. */
static const spad__fold_known *find_one_round(const spad__folder *f, short_list rest) {
    const spad__fold_known *best = NULL;
    const uint32_t last = f->nodes.items[f->nodes.count - 1].shape;
    size_t at = last < f->known_by_last.count ? f->known_by_last.items[last] : 0;
    for (; at > 0; at = f->known.items[at - 1].next) {
        const spad__fold_known *known = &f->known.items[at - 1];
        const size_t count = f->shapes.items[known->shape].child_count;
        const size_t most = best != NULL ? f->shapes.items[best->shape].child_count : 0;
        if (count < most || !is_one_round(f, known)) continue;
        if (count > most || is_followed(f, known, rest)) best = known;
    }
    return best;
}

static bool make_one_round(spad__folder *f, const spad__fold_known *known) {
    const spad__fold_shape *s = &f->shapes.items[known->shape];
    spad__fold_node node = {.shape = known->shape,
                            .first = f->nodes.items[f->nodes.count - s->child_count].first,
                            .fixed = known->fixed};
    node.moving = spad__arena_array(&f->arena, s->moving, sizeof *node.moving);
    if (node.moving == NULL) return false;
    size_t at = 0;
    for (size_t i = f->nodes.count - s->child_count; i < f->nodes.count; i++) {
        const size_t count = f->shapes.items[f->nodes.items[i].shape].moving;
        if (count > 0) memcpy(node.moving + at, f->nodes.items[i].moving, count * sizeof(int64_t));
        at += count;
    }
    node.moving[at] = 1;
    spad__fold_pop(f, s->child_count);
    return spad__fold_push(f, node);
}

/* ---- the passes -------------------------------------------------------------------- */

/* Rounds are counted in a node itself, so each list has numbers of its own. */
static bool push_copy(spad__folder *f, spad__fold_node node) {
    const spad__fold_shape *s = &f->shapes.items[node.shape];
    if (s->child_count > 0) {
        int64_t *moving = spad__arena_array(&f->arena, s->moving, sizeof *moving);
        if (moving == NULL) return false;
        memcpy(moving, node.moving, s->moving * sizeof *moving);
        node.moving = moving;
    }
    return spad__fold_push(f, node);
}

static bool go_through(spad__folder *f, short_list list) {
    spad__fold_start(f, list.items, list.count);
    while (f->list_at < f->list_count) {
        if (!push_copy(f, list.items[f->list_at++]) || !spad__fold_reduce(f)) return false;
        const short_list rest = {list.items + f->list_at, list.count - f->list_at};
        const spad__fold_known *known = find_one_round(f, rest);
        if (known != NULL && !(make_one_round(f, known) && spad__fold_reduce(f))) return false;
    }
    return true;
}

/* The statements that a shape is in the text. */
static size_t statements_of(const spad__folder *f, uint32_t shape) {
    const spad__fold_shape *s = &f->shapes.items[shape];
    size_t count = s->child_count == 0;
    for (size_t i = 0; i < s->child_count; i++) count += statements_of(f, s->children[i]);
    return count;
}

static bool keep_list(const spad__folder *f, short_list *list) {
    list->items = spad__new_array(&f->host, f->nodes.count + 1, sizeof *list->items);
    list->count = f->nodes.count;
    if (list->items == NULL) return false;
    if (list->count > 0) memcpy(list->items, f->nodes.items, list->count * sizeof *list->items);
    return true;
}

static void free_list(const spad__folder *f, short_list list) {
    if (list.items != NULL) {
        spad__free(&f->host, list.items, (list.count + 1) * sizeof *list.items);
    }
}

static size_t count_statements(const spad__folder *f) {
    size_t count = 0;
    for (size_t i = 0; i < f->nodes.count; i++) {
        count += statements_of(f, f->nodes.items[i].shape);
    }
    return count;
}

/* Keeps the nodes in *best if they are fewer statements. */
static bool keep_better(const spad__folder *f, short_list *best, size_t *least) {
    const size_t count = count_statements(f);
    if (best->items != NULL && count >= *least) return true;
    free_list(f, *best);
    *least = count;
    return keep_list(f, best);
}

/* Operations and loops of operations; then all loops; then short ones of these as well. */
static bool make_lists(spad__folder *f, short_list *best, short_list *inner) {
    size_t least;
    if (!keep_better(f, best, &least) || !note_all_loops(f, 1)) return false;
    if (f->known.count == 0) return true;
    f->height_most = 1;
    if (!go_through(f, (short_list){f->operations.items, f->operations.count}) ||
        !keep_list(f, inner)) {
        return false;
    }
    f->height_most = SIZE_MAX;
    f->known_by_last.count = 0;
    if (!go_through(f, *inner) || !keep_better(f, best, &least)) return false;
    return note_all_loops(f, 2) && go_through(f, *inner) && keep_better(f, best, &least);
}

/* ---- the rounds at the ends -------------------------------------------------------- */

/* A loop at a place of the list, and the numbers of its body in a round. */
typedef struct end_round {
    const spad__fold_node *loop;
    const spad__fold_shape *shape;
    int64_t *numbers;
    size_t children; /* of the body that were found next to the loop, */
    size_t nodes;    /* as so many nodes */
} end_round;

/* Numbers that are too large are -1, which nothing has. */
static void start_end_round(const spad__folder *f, end_round *end, size_t at, int64_t round) {
    end->loop = &f->nodes.items[at];
    end->shape = &f->shapes.items[end->loop->shape];
    const size_t count = end->shape->moving - 1;
    const int64_t *steps = end->loop->fixed + end->shape->fixed - count;
    for (size_t i = 0; i < count; i++) {
        int64_t moved;
        const bool fine = spad__mul(steps[i], round, &moved) &&
                          spad__add(end->loop->moving[i], moved, &end->numbers[i]);
        if (!fine) end->numbers[i] = -1;
    }
}

static bool has_numbers(const spad__fold_shape *shape, const int64_t *numbers) {
    for (size_t i = 0; i < shape->moving; i++) {
        if (numbers[i] < 0) return false;
    }
    return true;
}

/* How far numbers move in a loop of one round does not matter. */
static bool is_child_node(const end_round *end, const spad__fold_shape *child, uint32_t shape,
                          const spad__fold_node *node, size_t moving, size_t fixed) {
    const int64_t *numbers = end->numbers + moving;
    const bool once = child->child_count > 0 && numbers[child->moving - 1] == 1;
    const size_t size = child->moving * sizeof *numbers;
    const size_t fixed_size =
        (child->fixed - (once ? child->moving - 1 : 0)) * sizeof *end->loop->fixed;
    return node->shape == shape && (size == 0 || memcmp(node->moving, numbers, size) == 0) &&
           (fixed_size == 0 || memcmp(node->fixed, end->loop->fixed + fixed, fixed_size) == 0);
}

/* The last children in the nodes before the loop. A loop without iterations is not a node. */
static void look_before(const spad__folder *f, end_round *end, size_t at) {
    const spad__fold_shape *shape = end->shape;
    size_t moving = shape->moving - 1;
    size_t fixed = shape->fixed - moving;
    for (size_t i = shape->child_count; i-- > 0; end->children++) {
        const spad__fold_shape *child = &f->shapes.items[shape->children[i]];
        moving -= child->moving;
        fixed -= child->fixed;
        if (!has_numbers(child, end->numbers + moving)) return;
        if (child->child_count > 0 && end->numbers[moving + child->moving - 1] == 0) continue;
        if (end->nodes == at ||
            !is_child_node(end, child, shape->children[i], &f->nodes.items[at - end->nodes - 1],
                           moving, fixed)) {
            return;
        }
        end->nodes++;
    }
}

/* The first `most` children in the nodes from `at` on. */
static void look_after(const spad__folder *f, end_round *end, size_t at, size_t most) {
    size_t moving = 0;
    size_t fixed = 0;
    for (; end->children < most && at + end->nodes < f->nodes.count; end->children++) {
        const uint32_t number = end->shape->children[end->children];
        const spad__fold_shape *child = &f->shapes.items[number];
        if (!is_child_node(end, child, number, &f->nodes.items[at + end->nodes], moving, fixed)) {
            return;
        }
        end->nodes++;
        moving += child->moving;
        fixed += child->fixed;
    }
}

/* Numbers of the children from `split` on, then of those before it. */
static void turn_numbers(int64_t *out, const int64_t *late, const int64_t *early, size_t split,
                         size_t count) {
    if (count > split) memcpy(out, late + split, (count - split) * sizeof *out);
    if (split > 0) memcpy(out + count - split, early, split * sizeof *out);
}

/* A loop with one round more, whose body begins with child `split`: there it has the numbers of the
 * round before. False: no memory. */
static bool turn_loop(spad__folder *f, const end_round *before, size_t split,
                      spad__fold_node *out) {
    const spad__fold_shape old = *before->shape;
    const spad__fold_node loop = *before->loop;
    const size_t count = old.moving - 1;
    const size_t steps = old.fixed - count;
    int64_t *moving = spad__arena_array(&f->arena, old.moving + old.fixed + old.child_count,
                                        sizeof *moving); /* and the others after it */
    if (moving == NULL) return false;
    int64_t *fixed = moving + old.moving;
    uint32_t *children = (uint32_t *)(fixed + old.fixed);
    size_t moving_split = 0;
    size_t fixed_split = 0;
    for (size_t i = 0; i < old.child_count; i++) {
        children[i] = old.children[(i + split) % old.child_count];
        if (i < split) moving_split += f->shapes.items[old.children[i]].moving;
        if (i < split) fixed_split += f->shapes.items[old.children[i]].fixed;
    }
    turn_numbers(moving, before->numbers, loop.moving, moving_split, count);
    moving[count] = loop.moving[count] + 1;
    turn_numbers(fixed, loop.fixed, loop.fixed, fixed_split, steps);
    turn_numbers(fixed + steps, loop.fixed + steps, loop.fixed + steps, moving_split, count);
    const uint32_t shape = spad__fold_loop_shape(f, children, old.child_count);
    *out = (spad__fold_node){.shape = shape, .moving = moving, .fixed = fixed};
    return shape != UINT32_MAX;
}

/* Gives the loop at `made`, which what is from `next` on follows, the round that is around it: its
 * first children before the loop, and the others after it. */
static bool take_round(spad__folder *f, size_t *made, size_t *next) {
    const size_t at = *made;
    const spad__fold_node *loop = &f->nodes.items[at];
    const size_t count = f->shapes.items[loop->shape].moving;
    int64_t *numbers = spad__arena_array(&f->arena, 2 * count, sizeof *numbers);
    if (numbers == NULL) return false;
    end_round before = {.numbers = numbers};
    end_round after = {.numbers = numbers + count};
    start_end_round(f, &before, at, -1);
    start_end_round(f, &after, at, loop->moving[count - 1]);
    look_before(f, &before, at);
    const size_t split = before.shape->child_count - before.children;
    look_after(f, &after, *next, split);
    if (after.children < split || before.nodes == 0) return true;
    spad__fold_node turned;
    if (!turn_loop(f, &before, split, &turned)) return false;
    *made -= before.nodes;
    *next += after.nodes;
    f->nodes.items[*made] = turned;
    return true;
}

static bool take_rounds(spad__folder *f) {
    size_t made = 0;
    for (size_t next = 0; next < f->nodes.count; made++) {
        f->nodes.items[made] = f->nodes.items[next++];
        const bool is_loop = f->shapes.items[f->nodes.items[made].shape].child_count > 0;
        if (is_loop && !take_round(f, &made, &next)) return false;
    }
    f->nodes.count = made;
    return true;
}

bool spad__fold_short_loops(spad__folder *f) {
    short_list best = {0};
    short_list inner = {0};
    bool fine = make_lists(f, &best, &inner);
    if (fine) {
        f->nodes.count = best.count; /* there was room for the longest of the lists */
        if (best.count > 0) memcpy(f->nodes.items, best.items, best.count * sizeof *best.items);
        fine = take_rounds(f);
    }
    free_list(f, best);
    free_list(f, inner);
    return fine;
}
