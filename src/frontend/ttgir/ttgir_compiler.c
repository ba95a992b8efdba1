/* SPDX-License-Identifier: Apache-2.0
 *
 * Who made the copies, barriers and fences of a text: Triton's lowering, or the user in Gluon.
 *
 * The reader in Python knows, and says so with its version: spad.compiler = "Triton 3.6.0". Of a
 * text without it there is evidence: of one expression of the user, as tl.load, Triton makes a copy
 * and its commit, or the init and the invalidate of an mbarrier, or
 * an init that is at no expression but at the function; in Gluon these are expressions of
 * their own, at other places. Without evidence no compiler is named..
 */
#include <string.h>

#include "frontend/ttgir/ttgir.h"

static bool are_at_one_place(const spad__ttgir *t, const spad__mlir_op *a, const spad__mlir_op *b) {
    const uint32_t at = spad__mlir_location(t->m, a);
    const uint32_t other = spad__mlir_location(t->m, b);
    if (at == 0 || other == 0) return false;
    const spad__ttgir_place x = spad__ttgir_place_at(t, at + 1);
    const spad__ttgir_place y = spad__ttgir_place_at(t, other + 1);
    if (x.file == 0 || y.file == 0 || x.line != y.line || x.column != y.column) return false;
    const uint32_t length = t->m->tokens.items[x.file].length;
    return length == t->m->tokens.items[y.file].length &&
           memcmp(spad__mlir_text(t->m, x.file), spad__mlir_text(t->m, y.file), length) == 0;
}

/* Are two operations of these names made of one expression? */
static bool are_of_one(const spad__ttgir *t, const char *first, const char *second) {
    for (size_t i = 0; i < t->m->ops.count; i++) {
        const spad__mlir_op *a = &t->m->ops.items[i];
        if (!spad__mlir_named(t->m, a, first)) continue;
        for (size_t k = 0; k < t->m->ops.count; k++) {
            const spad__mlir_op *b = &t->m->ops.items[k];
            if (spad__mlir_named(t->m, b, second) && are_at_one_place(t, a, b)) return true;
        }
        return false; /* the first one decides: all of a text are by one of the two */
    }
    return false;
}

void spad__ttgir_find_compiler(const spad__ttgir *t, const spad__mlir_op *module, char *field,
                               size_t size) {
    const uint32_t at = spad__mlir_attribute(t->m, module, "spad.compiler");
    field[0] = '\0';
    if (at != 0 && t->m->tokens.items[at].kind == SPAD__MLIR_STRING) {
        const size_t length = t->m->tokens.items[at].length - 2;
        if (length >= size) return;
        memcpy(field, spad__mlir_text(t->m, at) + 1, length);
        field[length] = '\0';
    } else if (are_of_one(t, "ttg.async_copy_global_to_local", "ttg.async_commit_group") ||
               are_of_one(t, "ttng.init_barrier", "ttng.inval_barrier") ||
               are_of_one(t, "tt.func", "ttng.init_barrier")) {
        spad__copy_cut(field, size, "Triton");
    }
}
