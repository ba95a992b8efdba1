/* SPDX-License-Identifier: Apache-2.0
 *
 * The work of threads on values in registers: element-wise operations, reductions and scans. It
 * becomes operations without accesses, which only take time.
 *
 * Values are tensors of floating-point numbers, and integers that follow from loaded values. All
 * other integer operations compute addresses and masks, which the time of copies includes; taint
 * goes forward through the text once, so an integer that a loop carries is an address. Operations
 * that only move or rename values are no work.
 *
 * Work is counted in instructions of a lane, by the pipe that runs them: exact for additions,
 * products and exp2, estimates for divisions and other functions. A value that several threads have
 * is computed by each of them.
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

/* ---- what computes values -------------------------------------------------------------- */

static bool has_prefix(const spad__mlir *m, uint32_t token, const char *prefix) {
    const size_t length = strlen(prefix);
    const bool quoted = m->tokens.items[token].kind == SPAD__MLIR_STRING;
    return m->tokens.items[token].length >= length + quoted &&
           memcmp(spad__mlir_text(m, token) + quoted, prefix, length) == 0;
}

static bool has_name_among(const spad__mlir *m, const spad__mlir_op *op, const char *const *names,
                           size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (spad__mlir_named(m, op, names[i])) return true;
    }
    return false;
}

#define HAS_NAME_AMONG(m, op, names) has_name_among(m, op, names, sizeof(names) / sizeof *(names))

/* Does an operation compute elements, if its tensors have values? */
static bool computes(const spad__mlir *m, const spad__mlir_op *op) {
    static const char *const none[] = {"arith.constant", "arith.bitcast"};
    static const char *const others[] = {"tt.reduce",
                                         "tt.scan",
                                         "tt.fp_to_fp",
                                         "tt.clampf",
                                         "tt.precise_sqrt",
                                         "tt.precise_divf",
                                         "tt.mulhiui",
                                         "tt.extern_elementwise",
                                         "tt.elementwise_inline_asm",
                                         "tt.map_elementwise",
                                         "ttg.fp4_to_fp"};
    if (has_prefix(m, op->name, "math.")) return true;
    if (has_prefix(m, op->name, "arith.")) return !HAS_NAME_AMONG(m, op, none);
    return HAS_NAME_AMONG(m, op, others);
}

static bool loads_value(const spad__mlir *m, const spad__mlir_op *op) {
    static const char *const names[] = {
        "tt.load",          "tt.descriptor_load", "tt.descriptor_gather", "ttg.local_load",
        "ttg.local_gather", "ttng.tmem_load",     "tt.atomic_rmw",        "tt.atomic_cas"};
    return HAS_NAME_AMONG(m, op, names);
}

/* Is there "tensor<64x64xf32" or "tensor<64xbf16" among its types? *any: a tensor of any kind. */
static bool has_floats(const spad__mlir *m, const spad__mlir_op *op, bool *any) {
    bool floats = false;
    *any = false;
    for (uint32_t at = op->name + 1; at + 2 < op->end; at = spad__mlir_after(m, op, at)) {
        if (!spad__mlir_is(m, at, "tensor") || !spad__mlir_is_mark(m, at + 1, '<')) continue;
        const spad__mlir_token *shape = &m->tokens.items[at + 2];
        const char *text = spad__mlir_text(m, at + 2), *end = text + shape->length;
        *any = true;
        while (end > text && end[-1] != 'x') end--;
        const size_t left = shape->length - (size_t)(end - text);
        floats = floats || (left > 0 && (end[0] == 'f' || end[0] == 'b'));
    }
    return floats;
}

static bool follows_from_loads(const spad__ttgir *t, const spad__mlir_op *op) {
    for (uint32_t i = 0; i < op->operand_count; i++) {
        if (t->uses.loaded.items[t->m->operands.items[op->first_operand + i].value]) return true;
    }
    return loads_value(t->m, op);
}

bool spad__ttgir_find_loaded(spad__ttgir *t) {
    const size_t count = t->m->values.count;
    if (!spad__array_reserve(t->g->host, &t->uses.loaded, count)) return false;
    for (size_t i = 0; i < count; i++) t->uses.loaded.items[i] = false;
    for (size_t i = 0; i < t->m->ops.count; i++) {
        const spad__mlir_op *op = &t->m->ops.items[i];
        if (op->first_region >= 0 && !computes(t->m, op)) continue; /* scf.if, tt.func */
        const bool loaded = follows_from_loads(t, op);
        for (int32_t r = 0; r < op->result_count; r++)
            t->uses.loaded.items[op->first_result + r] = loaded;
    }
    t->uses.loaded.count = count;
    return true;
}

bool spad__ttgir_computes_values(const spad__ttgir *t, const spad__mlir_op *op) {
    bool any;
    if (!computes(t->m, op)) return false;
    return has_floats(t->m, op, &any) || (any && follows_from_loads(t, op));
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
