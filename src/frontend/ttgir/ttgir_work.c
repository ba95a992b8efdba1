/* SPDX-License-Identifier: Apache-2.0
 *
 * The work of threads on values in registers: element-wise operations, reductions and scans. It
 * becomes operations without accesses, which only take time.
 *
 * Work is counted in instructions of a lane, by the pipe that runs them. The counts are those of
 * the machine code that the operations become (nvdisasm, CUDA 13): exact for additions, products
 * and exp2, estimates for divisions and other functions. Integer operations on tensors count if
 * they follow from loaded values: all others compute addresses and masks, which the time of the
 * copies includes. A value that several threads have is computed by each of them.
 */
#include <string.h>

#include "base/checked.h"
#include "frontend/ttgir/ttgir.h"

enum { LANES_OF_WARP = 32, SHUFFLE_COMPARES = 2 /* 32 lanes a cycle, comparisons 64 */ };

typedef struct element_work {
    const char *name;
    int fma, exp, compare;
    int halves; /* conversions: two elements at a time count as one */
} element_work;

static const element_work element_works[] = {
    {"arith.addf", 1, 0, 0, 0},      {"arith.subf", 1, 0, 0, 0},    {"arith.mulf", 1, 0, 0, 0},
    {"math.fma", 1, 0, 0, 0},        {"arith.negf", 0, 0, 0, 0},    {"math.absf", 0, 0, 0, 0},
    {"math.exp2", 0, 1, 0, 0},       {"math.exp", 1, 1, 0, 0},      {"math.log2", 2, 1, 1, 0},
    {"math.log", 3, 1, 1, 0},        {"math.sqrt", 2, 1, 1, 0},     {"math.rsqrt", 2, 1, 1, 0},
    {"tt.precise_sqrt", 8, 1, 2, 0}, {"math.sin", 1, 1, 0, 0},      {"math.cos", 1, 1, 0, 0},
    {"math.erf", 20, 1, 3, 0},       {"arith.divf", 3, 1, 2, 0},    {"tt.precise_divf", 9, 1, 3, 0},
    {"arith.remf", 8, 1, 4, 0},      {"math.floor", 0, 1, 0, 0},    {"math.ceil", 0, 1, 0, 0},
    {"arith.maxnumf", 0, 0, 1, 0},   {"arith.minnumf", 0, 0, 1, 0}, {"arith.maximumf", 0, 0, 1, 0},
    {"arith.minimumf", 0, 0, 1, 0},  {"tt.clampf", 0, 0, 2, 0},     {"arith.cmpf", 0, 0, 1, 0},
    {"arith.select", 0, 0, 1, 0},    {"arith.truncf", 0, 0, 0, 1},  {"arith.extf", 1, 0, 0, 0},
    {"tt.fp_to_fp", 0, 0, 0, 2},     {"arith.sitofp", 0, 0, 0, 2},  {"arith.uitofp", 0, 0, 0, 2},
    {"arith.fptosi", 0, 0, 0, 2},    {"arith.fptoui", 0, 0, 0, 2},  {"arith.addi", 0, 0, 1, 0},
    {"arith.subi", 0, 0, 1, 0},      {"arith.muli", 2, 0, 0, 0},    {"arith.andi", 0, 0, 1, 0},
    {"arith.ori", 0, 0, 1, 0},       {"arith.xori", 0, 0, 1, 0},    {"arith.shli", 0, 0, 1, 0},
    {"arith.shrsi", 0, 0, 1, 0},     {"arith.shrui", 0, 0, 1, 0},   {"arith.cmpi", 0, 0, 1, 0},
    {"arith.maxsi", 0, 0, 1, 0},     {"arith.minsi", 0, 0, 1, 0},   {"arith.maxui", 0, 0, 1, 0},
    {"arith.minui", 0, 0, 1, 0},     {"arith.extsi", 0, 0, 1, 0},   {"arith.extui", 0, 0, 1, 0},
    {"arith.trunci", 0, 0, 1, 0},
};

static const element_work *find_element_work(const spad__mlir *m, const spad__mlir_op *op) {
    for (size_t i = 0; i < sizeof element_works / sizeof *element_works; i++) {
        if (spad__mlir_named(m, op, element_works[i].name)) return &element_works[i];
    }
    return NULL;
}

static bool is_reduction(const spad__mlir *m, const spad__mlir_op *op) {
    return spad__mlir_named(m, op, "tt.reduce") || spad__mlir_named(m, op, "tt.scan");
}

bool spad__ttgir_has_known_work(const spad__mlir *m, const spad__mlir_op *op) {
    return find_element_work(m, op) != NULL || is_reduction(m, op);
}

/* ---- elements ------------------------------------------------------------------------- */

/* Elements that all threads of the stream have together: as many as the tensor has, times the
 * threads that have the same ones. */
static int64_t elements_of_threads(spad__ttgir *t, const spad__ttgir_type *type) {
    const int64_t threads = spad__gpu_warps(t->g) * LANES_OF_WARP;
    spad__ttgir_layout l;
    int64_t elements = 1, distinct = 1;
    const bool known = spad__ttgir_read_layout(t, type, &l);
    for (int d = 0; d < type->rank; d++) {
        elements = spad__mul_clamped(elements, l.shape[d] > 0 ? l.shape[d] : type->dims[d]);
        if (known) distinct *= l.lanes[d] * l.warps[d];
    }
    if (known && distinct > 0 && distinct < threads)
        elements = spad__mul_clamped(elements, threads / distinct);
    return elements;
}

/* ---- operations ----------------------------------------------------------------------- */

/* A product whose only use is this sum is part of it: one fma. */
static bool is_fused(const spad__ttgir *t, const spad__mlir_op *op) {
    if (!spad__mlir_named(t->m, op, "arith.addf") && !spad__mlir_named(t->m, op, "arith.subf"))
        return false;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const int32_t value = t->m->operands.items[op->first_operand + i].value;
        const int32_t giver = t->uses.givers.items[value];
        if (giver >= 0 && t->uses.used.items[value] == 1 &&
            spad__mlir_named(t->m, &t->m->ops.items[giver], "arith.mulf"))
            return true;
    }
    return false;
}

static void add_element_work(spad__ttgir *t, const element_work *w, int64_t elements) {
    spad__gpu_add_work(t->g, SPAD_WORK_FMA, spad__mul_clamped(elements, w->fma));
    spad__gpu_add_work(t->g, SPAD_WORK_EXP, spad__mul_clamped(elements, w->exp));
    spad__gpu_add_work(t->g, SPAD_WORK_REDUCE, spad__mul_clamped(elements, w->compare));
    spad__gpu_add_work(t->g, SPAD_WORK_CONVERT, spad__mul_clamped((elements + 1) / 2, w->halves));
}

/* The operations of the region once for each element, then once for each step of a tree over the
 * lanes along the axis, with a shuffle each. */
static void add_reduction(spad__ttgir *t, const spad__mlir_op *op) {
    spad__ttgir_type type;
    spad__ttgir_layout l;
    int64_t axis, steps = 0;
    if (!spad__ttgir_nth_type(t, op, 0, false, &type)) return;
    int64_t elements = elements_of_threads(t, &type), results = 0;
    if (spad__ttgir_read_axis(t, op, &type, &l, &axis)) {
        const int64_t lanes = l.lanes[axis];
        results = elements / spad__max(l.shape[axis] / (lanes * l.warps[axis]), 1);
        for (int64_t n = 1; n < lanes; n *= 2) steps++;
    }
    const int64_t combined = spad__add_clamped(elements, spad__mul_clamped(results, steps));
    const spad__mlir_region *r = spad__ttgir_region(t, op->first_region);
    for (int32_t at = r->first_op; at >= 0; at = t->m->ops.items[at].next) {
        const element_work *w = find_element_work(t->m, &t->m->ops.items[at]);
        if (w != NULL) add_element_work(t, w, combined);
    }
    const int64_t shuffled = spad__mul_clamped(results, steps * SHUFFLE_COMPARES);
    for (uint32_t i = 0; i < op->operand_count; i++)
        spad__gpu_add_work(t->g, SPAD_WORK_REDUCE, shuffled);
}

void spad__ttgir_count_work(spad__ttgir *t, const spad__mlir_op *op) {
    spad__ttgir_type type;
    if (t->g->dry || !spad__ttgir_computes_values(t, op)) return;
    if (is_reduction(t->m, op)) {
        if (op->first_region >= 0) add_reduction(t, op);
        return;
    }
    const element_work *w = find_element_work(t->m, op);
    if (w == NULL) return;
    if (!spad__ttgir_nth_type(t, op, 0, true, &type) &&
        !spad__ttgir_nth_type(t, op, 0, false, &type))
        return;
    if (is_fused(t, op)) return;
    add_element_work(t, w, elements_of_threads(t, &type));
}
