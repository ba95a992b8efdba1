/* SPDX-License-Identifier: Apache-2.0
 *
 * Which operations on values in registers have no known cost (ttgir_work.c): the simulated time
 * leaves them out, and the kernel names them.
 */
#include "frontend/ttgir/ttgir.h"

enum { NAMES_MOST = 3 };

typedef struct uncounted {
    const spad__mlir *m;
    size_t count;
    uint32_t names[NAMES_MOST]; /* tokens, each name once */
    size_t name_count;          /* NAMES_MOST + 1: there are more */
} uncounted;

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
