/* SPDX-License-Identifier: Apache-2.0
 *
 * An order of tensors: the matrix and the questions to it. O(members^2) bytes, and time for what is
 * asked about all of them.
 */
#include "layout/tensor_order.h"

#include "base/assert.h"
#include "kernel/kernel.h"

/* Slots of a kernel that are distinguished. */
enum { DISTINGUISHED_MAX = 1024 };

/* ---- members --------------------------------------------------------------------------- */

static bool is_fixed_expr(const spad_kernel *kernel, spad_expr expr);

/* Is a number the same in all shapes? */
static bool is_fixed_amount(const spad_kernel *kernel, spad_amount amount) {
    return amount.expr == 0 || is_fixed_expr(kernel, amount.expr);
}

/* Does an expression have the same values in all shapes? Those of a loop, if its bounds have. As
 * deep as loops are. */
static bool is_fixed_expr(const spad_kernel *kernel, spad_expr expr) {
    const spad_expr_info info = spad_kernel_get_expr(kernel, expr);
    for (size_t i = 0; i < info.node_count; i++) {
        const spad_expr_node node = info.nodes[i];
        if (node.op == SPAD_EXPR_VARIABLE) {
            const spad_kernel_loop *loop = &kernel->loops.items[node.value];
            if (!is_fixed_amount(kernel, loop->begin) || !is_fixed_amount(kernel, loop->end))
                return false;
        } else if (node.op == SPAD_EXPR_PARAM) {
            const spad_kernel_param *param = spad_kernel_get_param(kernel, (size_t)node.value);
            if (!param->fixed || param->any) return false;
        } else if (node.op == SPAD_EXPR_UNKNOWN || node.op == SPAD_EXPR_STAGE ||
                   node.op == SPAD_EXPR_PHASE) {
            return false;
        }
    }
    return true;
}

static bool is_fixed_index(const spad_kernel *kernel, const spad_expr *index, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!is_fixed_expr(kernel, index[i])) return false;
    return true;
}

static int64_t home_of_tensor(const spad_kernel *kernel, int64_t tensor) {
    const int64_t home = kernel->tensors.items[tensor].home;
    return home >= 0 ? home : tensor;
}

/* Marks the tensors with slots of their own: 1. */
static void mark_slots(const spad_kernel *kernel, size_t *marks) {
    const spad_kernel_tensor *tensors = kernel->tensors.items;
    for (size_t i = 0; i < kernel->tensors.count; i++) {
        marks[i] = tensors[i].mode != SPAD_MODE_ALIAS && tensors[i].slots > 1 &&
                   !kernel->target->spaces[tensors[i].space].off_chip;
    }
    for (size_t i = 0; i < kernel->accesses.count; i++) {
        const spad_kernel_access *access = &kernel->accesses.items[i];
        if (!is_fixed_index(kernel, access->index, tensors[access->tensor].blocks.count))
            marks[home_of_tensor(kernel, access->tensor)] = 0;
    }
    for (size_t i = 0; i < kernel->statements.count; i++) {
        const spad_statement *s = &kernel->statements.items[i];
        const bool tile = s->kind == SPAD_STATEMENT_ALLOC || s->kind == SPAD_STATEMENT_FREE;
        if (tile && !is_fixed_index(kernel, s->index, s->index_count))
            marks[home_of_tensor(kernel, s->item)] = 0;
    }
}

/* Are there cursors in a kernel that has one shape? What their stages are is not followed. */
static bool has_fixed_cursors(const spad_kernel *kernel) {
    for (size_t i = 0; i < spad_kernel_param_count(kernel); i++) {
        const spad_kernel_param *param = spad_kernel_get_param(kernel, i);
        if (!param->fixed || param->any) return false;
    }
    return kernel->cursors.count > 0;
}

/* True if the kernel has too many slots for a member each. */
static bool has_many_slots(const spad_kernel *kernel, const size_t *marks) {
    int64_t sum = 0;
    for (size_t i = 0; i < kernel->tensors.count; i++) {
        const int64_t slots = kernel->tensors.items[i].slots;
        if (marks[i] == 0) continue;
        if (slots > DISTINGUISHED_MAX - sum) return true;
        sum += slots;
    }
    return false;
}

static bool number_members(spad_tensor_order *order, const spad_kernel *kernel) {
    size_t members = 0;
    order->first =
        spad__new_array(&order->host, order->count + order->syncs + 1, sizeof *order->first);
    if (order->first == NULL) return false;
    mark_slots(kernel, order->first);
    const bool many = has_many_slots(kernel, order->first);
    order->coarse = many || has_fixed_cursors(kernel);
    for (size_t i = 0; i < order->count; i++) {
        const bool apart = !many && order->first[i] != 0;
        order->first[i] = members;
        members += apart ? (size_t)kernel->tensors.items[i].slots : 1;
    }
    for (size_t i = 0; i <= order->syncs; i++) order->first[order->count + i] = members + i;
    order->members = members + order->syncs;
    return true;
}

spad_status spad__tensor_order_new(spad_tensor_order **out, const spad_kernel *kernel,
                                   const spad_host *host, spad_error *error) {
    spad_tensor_order *order = spad__new(host, sizeof *order);
    *out = NULL;
    if (order == NULL) return spad__fail_host_memory(error);
    order->host = *host;
    order->count = kernel->tensors.count;
    order->syncs = kernel->syncs.count;
    order->origin = spad__origin_of(kernel);
    if (number_members(order, kernel)) {
        const size_t members = order->members;
        order->home = spad__new_array(host, order->count + 1, sizeof *order->home);
        order->shared = spad__new_array(host, members + 1, members + 1);
        order->used = spad__new_array(host, members + 1, sizeof *order->used);
        order->uneven = spad__new_array(host, members + 1, sizeof *order->uneven);
    }
    if (order->home == NULL || order->shared == NULL || order->used == NULL ||
        order->uneven == NULL) {
        spad_tensor_order_destroy(order);
        return spad__fail_host_memory(error);
    }
    for (size_t i = 0; i < order->count; i++) order->home[i] = home_of_tensor(kernel, (int64_t)i);
    *out = order;
    return SPAD_OK;
}

void spad_tensor_order_destroy(spad_tensor_order *order) {
    if (order == NULL) return;
    const spad_host host = order->host;
    spad__free(&host, order->first, (order->count + order->syncs + 1) * sizeof *order->first);
    spad__free(&host, order->home, (order->count + 1) * sizeof *order->home);
    spad__free(&host, order->shared, (order->members + 1) * (order->members + 1));
    spad__free(&host, order->used, (order->members + 1) * sizeof *order->used);
    spad__free(&host, order->uneven, (order->members + 1) * sizeof *order->uneven);
    spad__free(&host, order, sizeof *order);
}

size_t spad__tensor_order_slot(const spad_tensor_order *order, int64_t tensor, int64_t slot) {
    const size_t home = (size_t)order->home[tensor];
    const size_t parts = order->first[home + 1] - order->first[home];
    if (parts == 1) return order->first[home];
    spad__assert(slot >= 0 && (size_t)slot < parts);
    return order->first[home] + (size_t)slot;
}

spad__order_range spad__tensor_order_slots(const spad_tensor_order *order, int64_t tensor,
                                           int64_t slot, int64_t slots) {
    const size_t home = (size_t)order->home[tensor];
    const spad__order_range all = {order->first[home], order->first[home + 1]};
    if (slots == 0 || all.end - all.first == 1) return all;
    const size_t from = spad__tensor_order_slot(order, tensor, slot);
    spad__assert(from + (size_t)slots <= all.end);
    return (spad__order_range){from, from + (size_t)slots};
}

spad__order_range spad__tensor_order_sync(const spad_tensor_order *order, int64_t sync) {
    const size_t number = order->count + (size_t)sync;
    return (spad__order_range){order->first[number], order->first[number + 1]};
}

/* ---- questions ------------------------------------------------------------------------- */

bool spad__tensor_order_uses(const spad_tensor_order *order, spad__order_range members) {
    for (size_t i = members.first; i < members.end; i++)
        if (order->used[i]) return true;
    return false;
}

spad__sharing spad__tensor_order_sharing(const spad_tensor_order *order, spad__order_range a,
                                         spad__order_range b) {
    size_t shared = 0;
    size_t pairs = 0;
    spad__assert(a.end <= order->members && b.end <= order->members);
    for (size_t i = a.first; i < a.end; i++) {
        for (size_t j = b.first; j < b.end; j++) {
            if (i == j) continue;
            shared += order->shared[i * order->members + j];
            pairs++;
        }
    }
    if (shared == 0) return SPAD__SHARE_NONE;
    return shared == pairs ? SPAD__SHARE_ALL : SPAD__SHARE_SOME;
}

bool spad_tensor_order_may_share(const spad_tensor_order *order, int64_t a, int64_t b) {
    const int64_t count = (int64_t)order->count;
    if (a < 0 || b < 0 || a >= count || b >= count || order->home[a] == order->home[b])
        return false;
    return spad__tensor_order_sharing(order, spad__tensor_order_slots(order, a, 0, 0),
                                      spad__tensor_order_slots(order, b, 0, 0)) == SPAD__SHARE_ALL;
}

size_t spad__tensor_order_pair_count(const spad_tensor_order *order) {
    size_t count = 0;
    for (size_t a = 0; a < order->count; a++) {
        for (size_t b = a + 1; b < order->count; b++) {
            const bool own = order->home[a] == (int64_t)a && order->home[b] == (int64_t)b;
            count += own && spad_tensor_order_may_share(order, (int64_t)a, (int64_t)b);
        }
    }
    return count;
}

/* ---- other shapes ---------------------------------------------------------------------- */

/* A tensor, or a synchronisation object, and what the members of another shape say of it: slot by
 * slot where both have as many, else all of them together. */
typedef struct shape_map {
    const spad_tensor_order *order;
    const spad_tensor_order *other;
} shape_map;

static spad__order_range in_other(const shape_map *m, size_t owner, size_t member) {
    const size_t *own = &m->order->first[owner];
    const size_t *their = &m->other->first[owner];
    if (own[1] - own[0] != their[1] - their[0]) return (spad__order_range){their[0], their[1]};
    const size_t at = their[0] + (member - own[0]);
    return (spad__order_range){at, at + 1};
}

static bool are_two_shapes(const shape_map *m) {
    return m->other->known && m->other->count == m->order->count &&
           m->other->syncs == m->order->syncs;
}

/* Slots of one tensor whose number differs between the shapes are not compared. */
static bool shares_in_other(const shape_map *m, size_t owner, size_t a, size_t with, size_t b) {
    const spad__order_range one = in_other(m, owner, a);
    const spad__order_range two = in_other(m, with, b);
    if (owner == with && one.end - one.first > 1) return false;
    return spad__tensor_order_sharing(m->other, one, two) == SPAD__SHARE_ALL;
}

/* Do both have values in the other shape? */
static bool are_used_in_other(const shape_map *m, size_t owner, size_t a, size_t with, size_t b) {
    return spad__tensor_order_uses(m->other, in_other(m, owner, a)) &&
           spad__tensor_order_uses(m->other, in_other(m, with, b));
}

/* Clears, or copies, the pairs of two tensors or objects. Returns the number that were cleared. */
static size_t map_pairs(spad_tensor_order *order, const shape_map *m, size_t owner, size_t with,
                        bool over) {
    const size_t n = order->members;
    size_t gone = 0;
    for (size_t a = order->first[owner]; a < order->first[owner + 1]; a++) {
        for (size_t b = order->first[with]; b < order->first[with + 1]; b++) {
            if (a >= b) continue;
            const bool shared = shares_in_other(m, owner, a, with, b);
            if (!over && (shared || order->shared[a * n + b] == 0 ||
                          !are_used_in_other(m, owner, a, with, b)))
                continue;
            gone += order->shared[a * n + b] != 0 && !shared;
            order->shared[a * n + b] = order->shared[b * n + a] = shared;
        }
    }
    return gone;
}

static size_t map_all(spad_tensor_order *order, const shape_map *m, bool over) {
    const size_t owners = order->count + order->syncs;
    size_t gone = 0;
    for (size_t a = 0; a < owners; a++)
        for (size_t b = a; b < owners; b++) gone += map_pairs(order, m, a, b, over);
    return gone;
}

size_t spad__tensor_order_narrow(spad_tensor_order *order, const spad_tensor_order *other) {
    const shape_map m = {order, other};
    return are_two_shapes(&m) ? map_all(order, &m, false) : 0;
}

bool spad__tensor_order_take(spad_tensor_order *order, const spad_tensor_order *other) {
    const shape_map m = {order, other};
    if (!are_two_shapes(&m)) return false;
    map_all(order, &m, true);
    for (size_t i = 0; i < order->count + order->syncs; i++) {
        for (size_t k = order->first[i]; k < order->first[i + 1]; k++) {
            const spad__order_range one = in_other(&m, i, k);
            order->used[k] = spad__tensor_order_uses(other, one);
            order->uneven[k] = other->uneven[one.first];
        }
    }
    order->known = true;
    return true;
}
