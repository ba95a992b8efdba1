/* SPDX-License-Identifier: Apache-2.0
 *
 * Which operations compute values of threads in registers, and which of these have no known cost:
 * the simulated time leaves those out, and the kernel names them.
 *
 * Values are tensors of floating-point numbers, and integers that follow from loaded values. All
 * other integer operations compute addresses and masks; the time of copies includes these.
 * Operations that only move or rename values are no work. Costs: ttgir_work.c.
 *
 * Taint goes forward through the text, once: an integer that a loop carries is an address.
 * O(tokens).
 */
#include <string.h>

#include "frontend/ttgir/ttgir.h"

enum { NAMES_MOST = 3 };

typedef struct uncounted {
    const spad__mlir *m;
    size_t count;
    uint32_t names[NAMES_MOST]; /* tokens, each name once */
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

static void keep_name(uncounted *u, uint32_t token) {
    for (size_t i = 0; i < u->name_count && i < NAMES_MOST; i++) {
        if (spad__mlir_same(u->m, u->names[i], token)) return;
    }
    if (u->name_count < NAMES_MOST) u->names[u->name_count] = token;
    if (u->name_count <= NAMES_MOST) u->name_count++;
}

static void describe_uncounted(const uncounted *u, char *out, size_t size) {
    size_t used = spad__append(out, size, 0, "%zu element-wise operation%s of threads", u->count,
                               u->count == 1 ? "" : "s");
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

void spad__ttgir_list_uncounted(const spad__ttgir *t, char *out, size_t size) {
    uncounted u = {.m = t->m};
    out[0] = '\0';
    for (size_t i = 0; i < t->m->ops.count; i++) {
        const spad__mlir_op *op = &t->m->ops.items[i];
        if (!spad__ttgir_computes_values(t, op) || spad__ttgir_has_known_work(t->m, op)) continue;
        u.count++;
        keep_name(&u, op->name);
    }
    if (u.count > 0) describe_uncounted(&u, out, size);
}
