/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads that can go in front of their loop.
 *
 * A load reads from memory off the chip and writes one tensor on the chip. It gives the same in all
 * iterations of a loop if what it reads is never written in the kernel, and which part of it does
 * not depend on the loop. It may leave the loop if that is the only write of its tensor:
 *
 * Without synchronisation the loop is the innermost one around it, and all reads of the tensor are
 * in the loop, after the load: every read finds what the load of the same iteration gave, and that
 * is what the load in front of the loop gives. A tensor with a tile for every iteration becomes one
 * tile.
 *
 * With synchronisation agents run at different times, so a read might find the value of an earlier
 * run of the load. The load may then depend on no loop at all: there is one value, and any read
 * that finds a value finds that one. It leaves all its loops, and so does what belongs to it: the
 * arrival that expects its bytes and the waits for them, which are then for the first phase. A wait
 * for an empty slot in front of the load, and what arrives there, are left out. Whether the rest is
 * right is for a check of the changed kernel to prove.
 *
 * O(statements + accesses) for each load.
 */
#include <string.h>

#include "analysis/advice.h"
#include "base/assert.h"

/* ---- expressions ------------------------------------------------------------------- */

/* Is an expression the same in all iterations of a loop? loop -1: of every loop. */
static bool is_invariant(const spad_kernel *k, spad_expr expr, int64_t loop) {
    const spad_expr_info info = spad_kernel_get_expr(k, expr);
    for (size_t i = 0; i < info.node_count; i++) {
        const spad_expr_node *node = &info.nodes[i];
        if (node->op == SPAD_EXPR_STAGE || node->op == SPAD_EXPR_PHASE) return false;
        if (node->op == SPAD_EXPR_VARIABLE && (loop < 0 || node->value == loop)) return false;
    }
    for (size_t i = 0; i < info.written_count; i++) {
        const spad_expr_op op = info.written[i].op;
        if (op == SPAD_EXPR_STAGE || op == SPAD_EXPR_PHASE) return false;
    }
    return true;
}

static bool are_invariant(const spad_kernel *k, const spad_expr *exprs, size_t count,
                          int64_t loop) {
    for (size_t i = 0; i < count; i++) {
        if (!is_invariant(k, exprs[i], loop)) return false;
    }
    return true;
}

static bool has_invariant_ranges(const spad_kernel *k, const spad_kernel_access *access,
                                 int64_t loop) {
    for (size_t i = 0; i < access->range_count; i++) {
        if (!is_invariant(k, access->ranges[i].from, loop)) return false;
        if (!is_invariant(k, access->ranges[i].to, loop)) return false;
    }
    return true;
}

static bool is_same_expr(const spad_kernel *k, spad_expr a, spad_expr b) {
    const spad_expr_info x = spad_kernel_get_expr(k, a);
    const spad_expr_info y = spad_kernel_get_expr(k, b);
    if (x.node_count != y.node_count) return false;
    for (size_t i = 0; i < x.node_count; i++) {
        if (x.nodes[i].op != y.nodes[i].op || x.nodes[i].value != y.nodes[i].value) return false;
    }
    return true;
}

/* ---- tensors ----------------------------------------------------------------------- */

static bool is_off_chip(const spad_kernel *k, int64_t tensor) {
    return k->target->spaces[k->tensors.items[tensor].space].off_chip;
}

/* Does an operation write bytes of the tensor, under any name? Apart from one access. */
static bool is_written_elsewhere(const spad_kernel *k, int64_t tensor, size_t except) {
    for (size_t i = 0; i < k->accesses.count; i++) {
        const spad_kernel_access *access = &k->accesses.items[i];
        const bool same = k->tensors.items[access->tensor].home == k->tensors.items[tensor].home;
        if (i != except && same && (access->kind & SPAD_ACCESS_WRITE) != 0) return true;
    }
    return false;
}

/* Is it a tensor of its own, placed by the planner, that is nothing but loaded and read? */
static bool is_plain(const spad_kernel *k, int64_t tensor) {
    const spad_kernel_tensor *t = &k->tensors.items[tensor];
    if (t->mode != SPAD_MODE_AUTO || t->flags != 0) return false;
    for (size_t i = 0; i < k->tensors.count; i++) {
        if ((int64_t)i != tensor && k->tensors.items[i].home == tensor) return false;
    }
    for (size_t i = 0; i < k->statements.count; i++) {
        const spad_statement *s = &k->statements.items[i];
        const bool tile = s->kind == SPAD_STATEMENT_ALLOC || s->kind == SPAD_STATEMENT_FREE;
        if (tile && s->item == tensor) return false;
    }
    return true;
}

/* Do all accesses of the tensor have the index of this one? */
static bool has_one_index(const spad_kernel *k, const spad_kernel_access *write) {
    for (size_t i = 0; i < k->accesses.count; i++) {
        const spad_kernel_access *access = &k->accesses.items[i];
        if (access->tensor != write->tensor) continue;
        for (size_t d = 0; d < access->index_count; d++) {
            if (!is_same_expr(k, access->index[d], write->index[d])) return false;
        }
    }
    return true;
}

/* Are all reads of the tensor in (first, end)? */
static bool is_read_only_in(const spad_kernel *k, int64_t tensor, size_t first, size_t end) {
    for (size_t i = 0; i < k->statements.count; i++) {
        const spad_statement *s = &k->statements.items[i];
        for (size_t a = 0; a < s->access_count; a++) {
            const spad_kernel_access *access = &k->accesses.items[s->first_access + a];
            if (access->tensor != tensor || i == first) continue;
            if (i < first || i >= end) return false;
        }
    }
    return true;
}

/* ---- the operation ----------------------------------------------------------------- */

/* The access that an invariant load writes; SIZE_MAX: it is no load, or its values change. */
static size_t loaded_access(const spad_kernel *k, const spad_statement *s, int64_t loop) {
    size_t write = SIZE_MAX;
    size_t reads = 0;
    if (!is_invariant(k, s->cost, loop)) return SIZE_MAX;
    for (size_t i = s->first_access; i < s->first_access + s->access_count; i++) {
        const spad_kernel_access *access = &k->accesses.items[i];
        if (!has_invariant_ranges(k, access, loop)) return SIZE_MAX;
        if (access->kind == SPAD_ACCESS_WRITE) {
            if (write != SIZE_MAX || is_off_chip(k, access->tensor)) return SIZE_MAX;
            write = i;
            continue;
        }
        if (access->kind != SPAD_ACCESS_READ || !is_off_chip(k, access->tensor) ||
            is_written_elsewhere(k, access->tensor, SIZE_MAX) ||
            !are_invariant(k, access->index, access->index_count, loop)) {
            return SIZE_MAX;
        }
        reads++;
    }
    if (write == SIZE_MAX || reads == 0) return SIZE_MAX;
    const int64_t tensor = k->accesses.items[write].tensor;
    const bool plain = is_plain(k, tensor) && !is_written_elsewhere(k, tensor, write);
    return plain ? write : SIZE_MAX;
}

/* The statement of the loop around a statement, if that is directly in it; -1: it is in an if.
 * It must be in a loop somewhere. */
static int64_t loop_around(const spad_kernel *k, size_t statement) {
    const int64_t parent = k->statements.items[statement].parent;
    spad__assert(parent >= 0);
    return k->statements.items[parent].kind == SPAD_STATEMENT_FOR ? parent : -1;
}

/* ---- without synchronisation ------------------------------------------------------- */

static bool find_implicit(const spad_kernel *k, size_t number, int64_t *to, spad__load *load) {
    const int64_t loop = loop_around(k, number);
    if (loop < 0) return false;
    const spad_statement *head = &k->statements.items[loop];
    const size_t write = loaded_access(k, &k->statements.items[number], head->item);
    if (write == SIZE_MAX) return false;
    const spad_kernel_access *access = &k->accesses.items[write];
    const spad_kernel_tensor *tensor = &k->tensors.items[access->tensor];
    if (!is_read_only_in(k, access->tensor, number, head->end)) return false;
    if (!are_invariant(k, access->index, access->index_count, head->item)) {
        if (!has_one_index(k, access)) return false;
        load->edit.flat = access->tensor;
    }
    if (tensor->statement > (size_t)loop) { /* declared where the load is: it comes along */
        spad__assert(loop_around(k, tensor->statement) == loop);
        to[tensor->statement] = loop;
    }
    to[number] = loop;
    load->loop = head->item;
    load->tensor = access->tensor;
    return true;
}

/* ---- with synchronisation ---------------------------------------------------------- */

/* The statement of the outermost loop around a statement that is in loops alone; -1: none exists,
 * or it is in an if. */
static int64_t outermost_alone(const spad_kernel *k, size_t statement) {
    int64_t found = -1;
    for (int64_t at = k->statements.items[statement].parent; at >= 0;
         at = k->statements.items[at].parent) {
        const spad_statement_kind kind = k->statements.items[at].kind;
        if (kind == SPAD_STATEMENT_AGENT) break;
        if (kind != SPAD_STATEMENT_FOR) return -1;
        found = at;
    }
    return found;
}

static bool is_about(const spad_statement *s, int64_t sync) {
    switch (s->kind) {
    case SPAD_STATEMENT_SYNC:
    case SPAD_STATEMENT_ARRIVE:
    case SPAD_STATEMENT_INIT:
    case SPAD_STATEMENT_EXPECT:
    case SPAD_STATEMENT_WAIT_PARITY:
    case SPAD_STATEMENT_INVALIDATE: return s->item == sync;
    default: return false;
    }
}

/* Do operations complete at the object, apart from one? */
static bool has_other_completions(const spad_kernel *k, int64_t sync, size_t except) {
    for (size_t i = 0; i < k->completions.count; i++) {
        if (i != except && k->completions.items[i].object == sync) return true;
    }
    return false;
}

/* What belongs to a load that completes at an mbarrier leaves the loops with it: the arrival of its
 * agent, and the waits of all. */
static bool move_full(const spad_kernel *k, size_t number, int64_t loop, int64_t *to) {
    const spad_statement *s = &k->statements.items[number];
    const spad_kernel_completion *done = &k->completions.items[s->first_completion];
    if (k->syncs.items[done->object].kind != SPAD_SYNC_MBARRIER || done->flags != 0 ||
        !are_invariant(k, done->index, done->index_count, -1) ||
        !is_invariant(k, done->amount, -1) ||
        has_other_completions(k, done->object, s->first_completion)) {
        return false;
    }
    for (size_t i = 0; i < k->statements.count; i++) {
        const spad_statement *other = &k->statements.items[i];
        if (!is_about(other, done->object)) continue;
        if (!are_invariant(k, other->index, other->index_count, -1)) {
            if (other->kind != SPAD_STATEMENT_INIT) return false; /* of all elements */
            continue;
        }
        if (other->kind == SPAD_STATEMENT_WAIT_PARITY) {
            if (other->loop < 0) continue;
            to[i] = outermost_alone(k, i);
            if (to[i] < 0) return false;
        } else if (other->kind == SPAD_STATEMENT_ARRIVE || other->kind == SPAD_STATEMENT_EXPECT) {
            if (other->agent != s->agent || other->parent != s->parent || i > number) return false;
            to[i] = loop;
        }
    }
    return true;
}

/* The mbarrier that the agent waits for directly in front of the load, in the same loop; -1. */
static int64_t waited_before(const spad_kernel *k, size_t number) {
    const spad_statement *s = &k->statements.items[number];
    for (size_t i = number; i-- > (size_t)s->parent + 1;) {
        const spad_statement *other = &k->statements.items[i];
        if (other->parent != s->parent || other->kind == SPAD_STATEMENT_OPERATION) return -1;
        if (other->kind == SPAD_STATEMENT_WAIT_PARITY) return other->item;
    }
    return -1;
}

/* The load waits for no empty slot any more: the object for it is left out. */
static void leave_out_empty(const spad_kernel *k, size_t number, int64_t *to, spad__edit *edit) {
    const spad_statement *s = &k->statements.items[number];
    const int64_t sync = waited_before(k, number);
    if (sync < 0 || sync == k->completions.items[s->first_completion].object ||
        has_other_completions(k, sync, SIZE_MAX)) {
        return;
    }
    edit->without_sync = sync;
    for (size_t i = 0; i < k->statements.count; i++) {
        if (is_about(&k->statements.items[i], sync)) to[i] = SPAD__LEFT_OUT;
    }
}

static bool find_explicit(const spad_kernel *k, size_t number, int64_t *to, spad__load *load) {
    const spad_statement *s = &k->statements.items[number];
    const int64_t loop = outermost_alone(k, number);
    if (loop < 0 || s->group >= 0 || s->completion_count > 1) return false;
    const size_t write = loaded_access(k, s, -1);
    if (write == SIZE_MAX) return false;
    const spad_kernel_access *access = &k->accesses.items[write];
    const spad_kernel_tensor *tensor = &k->tensors.items[access->tensor];
    if (!are_invariant(k, access->index, access->index_count, -1) ||
        k->statements.items[tensor->statement].loop >= 0) {
        return false;
    }
    if (s->completion_count == 0 && s->unit >= 0) return false; /* its end is not known */
    if (s->completion_count == 1) {
        if (!move_full(k, number, loop, to)) return false;
        leave_out_empty(k, number, to, &load->edit);
    }
    to[number] = loop;
    load->loop = k->statements.items[loop].item;
    load->tensor = access->tensor;
    return true;
}

bool spad__find_load(const spad_kernel *kernel, size_t statement, int64_t *to, spad__load *load) {
    const spad_statement *s = &kernel->statements.items[statement];
    if (s->kind != SPAD_STATEMENT_OPERATION || s->loop < 0) return false;
    for (size_t i = 0; i < kernel->statements.count; i++) to[i] = SPAD__STAYS;
    *load = (spad__load){.statement = statement, .edit = spad__edit_of_nothing()};
    load->edit.to = to;
    return kernel->is_explicit ? find_explicit(kernel, statement, to, load)
                               : find_implicit(kernel, statement, to, load);
}
