/* SPDX-License-Identifier: Apache-2.0
 *
 * Names the element-wise work of a module: operations of threads on values in registers, that no
 * statement of the kernel stands for, so that its simulated time leaves them out.
 *
 * Counted here are element-wise operations, reductions and scans on tensors of floating-point
 * numbers, and those on integers that follow from loaded values. All other integer operations
 * compute addresses and masks; the time of copies includes these. Operations that only move or
 * rename values are no work.
 *
 * Taint goes forward through the text, once: an integer that a loop carries is an address.
 * O(tokens).
 */
#include <string.h>

#include "frontend/ttgir/ttgir.h"

enum { NAMES_MOST = 3 };

typedef struct uncounted {
    const spad__mlir *m;
    bool *loaded; /* by value: it follows from values that were loaded */
    size_t count;
    size_t in_loops;
    uint32_t names[NAMES_MOST]; /* tokens, each name once: math first, then those in loops */
    size_t name_count;          /* NAMES_MOST + 1: there are more */
} uncounted;

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

static bool follows_from_loads(const uncounted *u, const spad__mlir_op *op) {
    for (uint32_t i = 0; i < op->operand_count; i++) {
        if (u->loaded[u->m->operands.items[op->first_operand + i].value]) return true;
    }
    return loads_value(u->m, op);
}

static void keep_name(uncounted *u, uint32_t token) {
    for (size_t i = 0; i < u->name_count && i < NAMES_MOST; i++) {
        if (spad__mlir_same(u->m, u->names[i], token)) return;
    }
    const size_t kept = u->name_count < NAMES_MOST ? u->name_count : NAMES_MOST;
    if (has_prefix(u->m, token, "math.")) { /* the ones that take longest */
        const size_t moved = kept < NAMES_MOST ? kept : NAMES_MOST - 1;
        memmove(u->names + 1, u->names, moved * sizeof *u->names);
        u->names[0] = token;
    } else if (kept < NAMES_MOST) {
        u->names[kept] = token;
    }
    if (u->name_count <= NAMES_MOST) u->name_count++;
}

/* Operations in loops, or all others. They are numbered in the order of the text, each before those
 * in its regions. */
static void count_uncounted(uncounted *u, bool in_loops) {
    uint32_t loop_end = 0;
    for (size_t i = 0; i < u->m->ops.count; i++) {
        const spad__mlir_op *op = &u->m->ops.items[i];
        const bool inside = op->name < loop_end;
        bool any;
        if (spad__mlir_named(u->m, op, "scf.for") || spad__mlir_named(u->m, op, "scf.while")) {
            if (op->end > loop_end) loop_end = op->end;
            continue;
        }
        if (op->first_region >= 0 && !computes(u->m, op)) continue; /* scf.if, tt.func */
        const bool from_loads = follows_from_loads(u, op);
        for (int32_t r = 0; r < op->result_count; r++) u->loaded[op->first_result + r] = from_loads;
        if (inside != in_loops || !computes(u->m, op)) continue;
        const bool floats = has_floats(u->m, op, &any);
        if (!floats && !(any && from_loads)) continue;
        u->count++;
        u->in_loops += inside;
        keep_name(u, op->name);
    }
}

static void describe_uncounted(const uncounted *u, char *out, size_t size) {
    size_t used = spad__append(out, size, 0, "%zu element-wise operation%s of threads", u->count,
                               u->count == 1 ? "" : "s");
    if (u->in_loops > 0 && u->in_loops < u->count) {
        used = spad__append(out, size, used, ", %zu in loops", u->in_loops);
    } else if (u->in_loops > 0) {
        used = spad__append(out, size, used, " in loops");
    }
    const size_t shown = u->name_count < NAMES_MOST ? u->name_count : NAMES_MOST;
    for (size_t i = 0; i < shown; i++) {
        const spad__mlir_token *name = &u->m->tokens.items[u->names[i]];
        const int quoted = name->kind == SPAD__MLIR_STRING;
        used = spad__append(out, size, used, "%s%.*s", i == 0 ? " (" : ", ",
                            (int)name->length - 2 * quoted,
                            spad__mlir_text(u->m, u->names[i]) + quoted);
    }
    spad__append(out, size, used, "%s)", u->name_count > NAMES_MOST ? " and others" : "");
}

bool spad__ttgir_list_uncounted(const spad__ttgir *t, char *out, size_t size) {
    const size_t values = t->m->values.count;
    uncounted u = {.m = t->m, .loaded = spad__new_array(t->g->host, values + 1, sizeof(bool))};
    out[0] = '\0';
    if (u.loaded == NULL) return false;
    memset(u.loaded, 0, (values + 1) * sizeof(bool));
    count_uncounted(&u, true);
    count_uncounted(&u, false);
    if (u.count > 0) describe_uncounted(&u, out, size);
    spad__free(t->g->host, u.loaded, (values + 1) * sizeof(bool));
    return true;
}
