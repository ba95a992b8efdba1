/* SPDX-License-Identifier: Apache-2.0
 *
 * Results of products that are read before they are there.
 *
 * A wgmma writes its result while the program goes on, and warp_group_dot_wait hands the result on.
 * Where the wait lets so many products stay under way that this one can be among them, and threads
 * read the result, the kernel gets that read, and the check finds out. It also gets the reads of a
 * result that no wait has handed on. Other results need none: a product adds to the result of the
 * one before, in order, and a wait for all of them is a wait for each.
 */
#include "frontend/ttgir/ttgir.h"

enum { RESULTS_SEEN = 256, FIRST_CARRIED = 3 }; /* values; of a loop: after start, end and step */

/* A search among the values that loops, conditions and selects hand on. */
typedef struct result_search {
    const spad__ttgir *t;
    const spad__mlir_op *wait; /* NULL: no wait may come between */
    int64_t pending;
    int32_t seen[RESULTS_SEEN];
    size_t count;
} result_search;

/* Is a value a new one? More than fit are not followed. */
static bool is_unseen(result_search *s, int32_t value) {
    for (size_t i = 0; i < s->count; i++)
        if (s->seen[i] == value) return false;
    if (s->count == RESULTS_SEEN) return false;
    s->seen[s->count++] = value;
    return true;
}

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

/* Is the value an argument of a region of a loop? *which: of what it carries from round to round.
 */
static bool is_carried(const spad__ttgir *t, const spad__mlir_op *op, int32_t value,
                       uint32_t *which) {
    const bool rounds = spad__mlir_named(t->m, op, "scf.for");
    if (!rounds && !spad__mlir_named(t->m, op, "scf.while")) return false;
    for (int32_t r = op->first_region; r >= 0; r = t->m->regions.items[r].next) {
        const spad__mlir_region *region = &t->m->regions.items[r];
        for (uint32_t k = rounds ? 1 : 0; k < region->argument_count; k++) {
            if (t->m->arguments.items[region->first_argument + k] != value) continue;
            *which = rounds ? k - 1 : k;
            return true;
        }
    }
    return false;
}

/* The operation that gives a value, or whose region has it as an argument; *which: of its results,
 * or of what it carries from round to round. NULL: there is none. */
static const spad__mlir_op *giver_of(const spad__ttgir *t, int32_t value, uint32_t *which) {
    if (t->uses.givers.items[value] >= 0) {
        const spad__mlir_op *op = op_at(t, t->uses.givers.items[value]);
        *which = (uint32_t)(value - op->first_result);
        return op;
    }
    for (size_t i = 0; i < t->m->ops.count; i++) {
        const spad__mlir_op *op = op_at(t, (int32_t)i);
        if (op->first_region >= 0 && is_carried(t, op, value, which)) return op;
    }
    return NULL;
}

/* Does the product go on while the program does? */
static bool is_async_product(const spad__ttgir *t, const spad__mlir_op *op) {
    const uint32_t at = spad__mlir_attribute(t->m, op, "isAsync");
    return is_wgmma(t, op) && at != 0 && spad__mlir_is(t->m, at, "true");
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

static const spad__mlir_op *product_behind(result_search *s, int32_t value);

/* The product behind operands of the operation; NULL: none. */
static const spad__mlir_op *product_among(result_search *s, const spad__mlir_op *op, uint32_t first,
                                          uint32_t end) {
    const spad__mlir_op *product = NULL;
    for (uint32_t i = first; product == NULL && i < end && i < op->operand_count; i++)
        product = product_behind(s, operand_value(s->t, op, i));
    return product;
}

/* The product behind what a loop or a condition gives: what it begins with, and what its regions
 * hand on. */
static const spad__mlir_op *product_of_regions(result_search *s, const spad__mlir_op *op,
                                               uint32_t which) {
    const spad__mlir_op *product = NULL;
    const bool rounds = spad__mlir_named(s->t->m, op, "scf.for");
    const uint32_t first = which + (rounds ? FIRST_CARRIED : 0);
    if (!spad__mlir_named(s->t->m, op, "scf.if")) product = product_among(s, op, first, first + 1);
    for (int32_t region = op->first_region; region >= 0 && product == NULL;
         region = s->t->m->regions.items[region].next) {
        const spad__mlir_op *end = end_of_region(s->t, region);
        if (end == NULL) continue;
        const uint32_t at = which + (spad__mlir_named(s->t->m, end, "scf.condition") ? 1 : 0);
        product = product_among(s, end, at, at + 1);
    }
    return product;
}

/* A product that a value may be the result of, and that may be under way; NULL: none is known. */
static const spad__mlir_op *product_behind(result_search *s, int32_t value) {
    const spad__ttgir *t = s->t;
    uint32_t which;
    const spad__mlir_op *op = is_unseen(s, value) ? giver_of(t, value, &which) : NULL;
    if (op == NULL) return NULL;
    if (is_wgmma(t, op)) {
        const bool done = s->wait != NULL && is_product_done(t, op, s->wait, s->pending);
        return is_async_product(t, op) && !done ? op : NULL;
    }
    if (is_wgmma_wait(t, op))
        return s->wait != NULL ? product_among(s, op, which, which + 1) : NULL;
    if (spad__mlir_named(t->m, op, "arith.select")) return product_among(s, op, 1, 3);
    const bool regions = spad__mlir_named(t->m, op, "scf.for") ||
                         spad__mlir_named(t->m, op, "scf.if") ||
                         spad__mlir_named(t->m, op, "scf.while");
    return regions ? product_of_regions(s, op, which) : NULL;
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

static bool is_read_result(result_search *s, int32_t value);

/* Is what a loop or a condition hands on read: by the next round, or after it? */
static bool is_handed_on(result_search *s, const spad__mlir_op *op, uint32_t which) {
    const spad__ttgir *t = s->t;
    if (op == NULL || op->first_region < 0) return false;
    const spad__mlir_region *region = &t->m->regions.items[op->first_region];
    if ((int32_t)which < op->result_count && is_read_result(s, op->first_result + (int32_t)which)) {
        return true;
    }
    return spad__mlir_named(t->m, op, "scf.for") && which + 1 < region->argument_count &&
           is_read_result(s, t->m->arguments.items[region->first_argument + which + 1]);
}

/* Does the operation read operand `number`, and not only hand it on? */
static bool reads_operand(const spad__ttgir *t, const spad__mlir_op *op, uint32_t number) {
    enum { RESULT = 2 }; /* after a and b */
    if (is_wgmma_wait(t, op)) return false;
    if (is_wgmma(t, op)) return number != RESULT;
    /* of a number that all threads have: the compiler makes it a branch, or registers renamed */
    if (spad__mlir_named(t->m, op, "arith.select") || spad__mlir_named(t->m, op, "scf.yield") ||
        spad__mlir_named(t->m, op, "scf.while"))
        return false;
    return !spad__mlir_named(t->m, op, "scf.for") || number < FIRST_CARRIED;
}

/* Does an operation read operand `number`, or what it hands it on to? */
static bool leads_to_read(result_search *s, const spad__mlir_op *op, uint32_t number) {
    const spad__ttgir *t = s->t;
    if (reads_operand(t, op, number)) return true;
    if (spad__mlir_named(t->m, op, "arith.select")) return is_read_result(s, op->first_result);
    if (spad__mlir_named(t->m, op, "scf.yield")) return is_handed_on(s, op_around(t, op), number);
    if (spad__mlir_named(t->m, op, "scf.while")) return true; /* perhaps: it is not followed */
    if (!spad__mlir_named(t->m, op, "scf.for")) return false;
    const spad__mlir_region *region = &t->m->regions.items[op->first_region];
    const uint32_t argument = number - FIRST_CARRIED + 1;
    return argument < region->argument_count &&
           is_read_result(s, t->m->arguments.items[region->first_argument + argument]);
}

/* Do threads read the value? */
static bool is_read_result(result_search *s, int32_t value) {
    if (!is_unseen(s, value)) return false;
    for (size_t i = 0; i < s->t->m->ops.count; i++) {
        const spad__mlir_op *op = op_at(s->t, (int32_t)i);
        for (uint32_t k = 0; k < op->operand_count; k++) {
            if (operand_value(s->t, op, k) == value && leads_to_read(s, op, k)) return true;
        }
    }
    return false;
}

/* ---- notes ------------------------------------------------------------------------------- */

/* Threads read the result of a product here. */
static void note_result_use(spad__ttgir *t, const spad__mlir_op *product) {
    bool fresh;
    const uint32_t type = spad__ttgir_tensor_type(t, product, 2);
    const int32_t buffer = type != 0 ? spad__ttgir_buffer_of(t, type, &fresh) : -1;
    if (buffer < 0 || t->g->memory.buffers.items[buffer].rank == 0) return;
    const spad__ttgir_value value = spad__ttgir_whole(t, buffer);
    spad__gpu_record *record = spad__gpu_add_operation(t->g, "use", SPAD__GPU_NO_UNIT);
    if (record == NULL) return;
    record->no_time = true;
    spad__ttgir_add_access(t, &value, SPAD_ACCESS_READ);
}

void spad__ttgir_record_results(spad__ttgir *t, const spad__mlir_op *wait, int64_t pending) {
    if (pending == 0 || t->g->dry) return;
    for (int32_t i = 0; i < wait->result_count && (uint32_t)i < wait->operand_count; i++) {
        if (spad__ttgir_operand(t, wait, (uint32_t)i)->kind == SPAD__TTGIR_VIEW) continue;
        result_search behind = {.t = t, .wait = wait, .pending = pending};
        result_search reads = {.t = t};
        const spad__mlir_op *product = product_behind(&behind, operand_value(t, wait, (uint32_t)i));
        if (product != NULL && is_read_result(&reads, wait->first_result + i))
            note_result_use(t, product);
    }
}

static bool has_products(const spad__ttgir *t) {
    for (size_t i = 0; i < t->m->ops.count; i++)
        if (is_async_product(t, op_at(t, (int32_t)i))) return true;
    return false;
}

void spad__ttgir_record_reads(spad__ttgir *t, const spad__mlir_op *op) {
    if (t->g->dry) return;
    if (t->async_products == SPAD__PRODUCTS_UNKNOWN)
        t->async_products = has_products(t) ? SPAD__PRODUCTS_SOME : SPAD__PRODUCTS_NONE;
    if (t->async_products == SPAD__PRODUCTS_NONE) return;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        if (!reads_operand(t, op, i)) continue;
        result_search behind = {.t = t};
        const spad__mlir_op *product = product_behind(&behind, operand_value(t, op, i));
        if (product != NULL) note_result_use(t, product);
    }
}
