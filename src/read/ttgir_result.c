/* SPDX-License-Identifier: Apache-2.0
 *
 * Results of products that are read before they are there.
 *
 * A wgmma writes its result while the program goes on, and warp_group_dot_wait hands the result on.
 * Where the wait lets so many products stay under way that this one can be among them, and threads
 * read the result, the kernel gets that read, and the check finds out. Other results need none: a
 * product adds to the result of the one before, in order, and a wait for all of them is a wait for
 * each.
 */
#include "read/ttgir.h"

enum { RESULTS_DEEP = 8 }; /* loops and conditions that hand a result on */

static const spad__mlir_op *op_at(const spad__ttgir *t, int32_t number) {
    return &t->m->ops.items[number];
}

static int32_t operand_value(const spad__ttgir *t, const spad__mlir_op *op, uint32_t number) {
    return t->m->operands.items[op->first_operand + number].value;
}

static bool is_wgmma(const spad__ttgir *t, const spad__mlir_op *op) {
    return spad__mlir_named(t->m, op, "ttng.warp_group_dot");
}

static bool is_wgmma_wait(const spad__ttgir *t, const spad__mlir_op *op) {
    return spad__mlir_named(t->m, op, "ttng.warp_group_dot_wait");
}

/* The operation that ends a region; NULL: none does. */
static const spad__mlir_op *end_of_region(const spad__ttgir *t, int32_t region) {
    if (region < 0 || t->m->regions.items[region].last_op < 0) return NULL;
    return op_at(t, t->m->regions.items[region].last_op);
}

/* The operation that gives a value, or the loop that carries it; *which: of its results, or of what
 * it carries from round to round. NULL: neither. */
static const spad__mlir_op *giver_of(const spad__ttgir *t, int32_t value, uint32_t *which) {
    if (t->givers.items[value] >= 0) {
        const spad__mlir_op *op = op_at(t, t->givers.items[value]);
        *which = (uint32_t)(value - op->first_result);
        return op;
    }
    for (size_t i = 0; i < t->m->ops.count; i++) {
        const spad__mlir_op *op = op_at(t, (int32_t)i);
        if (op->first_region < 0 || !spad__mlir_named(t->m, op, "scf.for")) continue;
        const spad__mlir_region *region = &t->m->regions.items[op->first_region];
        for (uint32_t k = 1; k < region->argument_count; k++) {
            if (t->m->arguments.items[region->first_argument + k] != value) continue;
            *which = k - 1;
            return op;
        }
    }
    return NULL;
}

static const spad__mlir_op *product_giving(const spad__ttgir *t, int32_t value, int depth);

/* The product among operands of the operation; NULL: none. */
static const spad__mlir_op *product_among(const spad__ttgir *t, const spad__mlir_op *op,
                                          uint32_t first, uint32_t end, int depth) {
    const spad__mlir_op *product = NULL;
    for (uint32_t i = first; product == NULL && i < end && i < op->operand_count; i++) {
        product = product_giving(t, operand_value(t, op, i), depth + 1);
    }
    return product;
}

/* The product that a value is the result of; NULL: none that is known. */
static const spad__mlir_op *product_giving(const spad__ttgir *t, int32_t value, int depth) {
    uint32_t which;
    const spad__mlir_op *op = depth < RESULTS_DEEP ? giver_of(t, value, &which) : NULL;
    const spad__mlir_op *product = NULL;
    if (op == NULL || is_wgmma(t, op)) return op;
    if (is_wgmma_wait(t, op)) return product_among(t, op, which, which + 1, depth);
    if (spad__mlir_named(t->m, op, "arith.select")) return product_among(t, op, 1, 3, depth);
    if (!spad__mlir_named(t->m, op, "scf.for") && !spad__mlir_named(t->m, op, "scf.if"))
        return NULL;
    for (int32_t region = op->first_region; region >= 0 && product == NULL;
         region = t->m->regions.items[region].next) {
        const spad__mlir_op *end = end_of_region(t, region);
        if (end != NULL) product = product_among(t, end, which, which + 1, depth);
    }
    return product;
}

/* The innermost operation that has the other one in a region; NULL: none. */
static const spad__mlir_op *op_around(const spad__ttgir *t, const spad__mlir_op *inner) {
    const spad__mlir_op *found = NULL;
    for (size_t i = 0; i < t->m->ops.count; i++) {
        const spad__mlir_op *op = op_at(t, (int32_t)i);
        if (op->first_region < 0 || op->first >= inner->first || op->end < inner->end) continue;
        if (found == NULL || op->first > found->first) found = op;
    }
    return found;
}

static bool is_read_result(const spad__ttgir *t, int32_t value, int depth);

/* Is what a loop or a condition hands on read: by the next round, or after it? */
static bool is_handed_on(const spad__ttgir *t, const spad__mlir_op *op, uint32_t which, int depth) {
    if (op == NULL || op->first_region < 0) return false;
    const spad__mlir_region *region = &t->m->regions.items[op->first_region];
    if ((int32_t)which < op->result_count &&
        is_read_result(t, op->first_result + (int32_t)which, depth + 1)) {
        return true;
    }
    return spad__mlir_named(t->m, op, "scf.for") && which + 1 < region->argument_count &&
           is_read_result(t, t->m->arguments.items[region->first_argument + which + 1], depth + 1);
}

/* Does the operation read operand `number`, and not only hand it on? */
static bool reads_operand(const spad__ttgir *t, const spad__mlir_op *op, uint32_t number,
                          int depth) {
    enum { FIRST_CARRIED = 3, RESULT = 2 }; /* start, end and step; a, b and the result */
    if (is_wgmma_wait(t, op)) return false;
    if (is_wgmma(t, op)) return number != RESULT;
    /* of a number that all threads have: the compiler makes it a branch, or registers renamed */
    if (spad__mlir_named(t->m, op, "arith.select"))
        return is_read_result(t, op->first_result, depth + 1);
    if (spad__mlir_named(t->m, op, "scf.yield")) {
        return is_handed_on(t, op_around(t, op), number, depth);
    }
    if (spad__mlir_named(t->m, op, "scf.for") && number >= FIRST_CARRIED) {
        const spad__mlir_region *region = &t->m->regions.items[op->first_region];
        const uint32_t argument = number - FIRST_CARRIED + 1;
        return argument < region->argument_count &&
               is_read_result(t, t->m->arguments.items[region->first_argument + argument],
                              depth + 1);
    }
    return true;
}

/* Do threads read the value? */
static bool is_read_result(const spad__ttgir *t, int32_t value, int depth) {
    if (depth >= RESULTS_DEEP) return false;
    for (size_t i = 0; i < t->m->ops.count; i++) {
        const spad__mlir_op *op = op_at(t, (int32_t)i);
        for (uint32_t k = 0; k < op->operand_count; k++) {
            if (operand_value(t, op, k) == value && reads_operand(t, op, k, depth)) return true;
        }
    }
    return false;
}

/* Are at least `pending` products issued after this one, in front of the wait? Then it is done. */
static bool is_product_done(const spad__ttgir *t, const spad__mlir_op *product,
                            const spad__mlir_op *wait, int64_t pending) {
    for (int32_t i = product->next; i >= 0; i = op_at(t, i)->next) {
        if (op_at(t, i) == wait) return pending <= 0;
        if (is_wgmma(t, op_at(t, i))) pending--;
    }
    return false; /* in another region */
}

void spad__ttgir_note_results(spad__ttgir *t, const spad__mlir_op *wait, int64_t pending) {
    if (pending == 0 || t->dry) return;
    for (int32_t i = 0; i < wait->result_count && (uint32_t)i < wait->operand_count; i++) {
        bool fresh;
        if (spad__ttgir_operand(t, wait, (uint32_t)i)->kind == SPAD__TTGIR_VIEW) continue;
        const spad__mlir_op *product = product_giving(t, operand_value(t, wait, (uint32_t)i), 0);
        if (product == NULL || is_product_done(t, product, wait, pending)) continue;
        if (!is_read_result(t, wait->first_result + i, 0)) continue;
        const uint32_t type = spad__ttgir_tensor_type(t, product, 2);
        const int32_t buffer = type != 0 ? spad__ttgir_buffer_of(t, type, &fresh) : -1;
        if (buffer < 0 || t->buffers.items[buffer].rank == 0) continue;
        const spad__ttgir_value value = spad__ttgir_whole(t, buffer);
        spad__ttgir_note *note = spad__ttgir_note_operation(t, "use", SPAD__TTGIR_NO_UNIT);
        if (note == NULL) return;
        note->free = true;
        spad__ttgir_note_access(t, &value, SPAD_ACCESS_READ);
    }
}
