/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts that look like TTGIR and are something else: TTIR, which has neither layouts nor shared
 * memory yet, and the dialects of Triton before 3.3, whose operations have other names. Nothing
 * that they do to memory would be seen, so that everything about it would be true.
 *
 * O(tokens).
 */
#include <string.h>

#include "frontend/ttgir/ttgir.h"

/* A string that is the name of an attribute, or of an operation in the generic form. Others are
 * names of files and of variables. */
static bool is_quoted_name(const spad__mlir *m, uint32_t at) {
    if (spad__mlir_is_mark(m, at + 1, '=')) return true;
    return spad__mlir_is_mark(m, at + 1, '(') &&
           (m->tokens.items[at].fresh || spad__mlir_is_mark(m, at - 1, '='));
}

/* Does a token begin with a dialect, as "ttg." in "ttg.local_alloc", "#ttg.blocked",
 * "!ttg.memdesc" and "\"ttg.num-warps\"" do? */
static bool is_of_dialect(const spad__mlir *m, uint32_t at, const char *dialect) {
    const spad__mlir_token *token = &m->tokens.items[at];
    const char *text = spad__mlir_text(m, at);
    size_t skip = 0;
    switch ((spad__mlir_kind)token->kind) {
    case SPAD__MLIR_WORD: break;
    case SPAD__MLIR_ALIAS:
    case SPAD__MLIR_TYPE: skip = 1; break;
    case SPAD__MLIR_STRING:
        if (!is_quoted_name(m, at)) return false;
        skip = 1;
        break;
    default: return false;
    }
    const size_t length = strlen(dialect);
    return token->length > skip + length && memcmp(text + skip, dialect, length) == 0;
}

/* What Triton before 3.3 has, and no later one. */
static bool is_old(const spad__mlir *m, uint32_t at) {
    return is_of_dialect(m, at, "triton_gpu.") || is_of_dialect(m, at, "triton_nvidia_gpu.") ||
           spad__mlir_is(m, at, "!tt.memdesc");
}

bool spad__ttgir_is_new_dialect(const spad__ttgir *t) {
    for (uint32_t at = 0; at < t->m->tokens.count; at++) {
        if (!is_old(t->m, at)) continue;
        const size_t length = t->m->tokens.items[at].length;
        SPAD__MLIR_FAULT(t->m, at,
                         "%.*s: a text of Triton before 3.3, whose operations are not known; "
                         "compile with 3.3 or a later version",
                         (int)(length < 60 ? length : 60), spad__mlir_text(t->m, at));
        return false;
    }
    return true;
}

/* The layout of a tensor: ", #blocked>". */
static bool is_encoding(const spad__mlir *m, uint32_t at) {
    return m->tokens.items[at].kind == SPAD__MLIR_ALIAS && at > 0 &&
           spad__mlir_is_mark(m, at - 1, ',') && spad__mlir_is_mark(m, at + 1, '>');
}

/* TTGIR has attributes of the module ("ttg.num-warps"), and where it has tensors, also layouts or
 * operations of its own. */
bool spad__ttgir_is_not_ttir(const spad__ttgir *t) {
    const spad__mlir *m = t->m;
    bool attributes = false, tensors = false;
    for (uint32_t at = 0; at < m->tokens.count; at++) {
        if (is_encoding(m, at)) return true;
        tensors = tensors || spad__mlir_is(m, at, "tensor");
        if (!is_of_dialect(m, at, "ttg.") && !is_of_dialect(m, at, "ttng.")) continue;
        attributes = true;
        const bool named = m->tokens.items[at].kind == SPAD__MLIR_WORD ||
                           m->tokens.items[at].kind == SPAD__MLIR_STRING;
        if (!named || !spad__mlir_is_mark(m, at + 1, '=')) return true;
    }
    if (attributes && !tensors) return true;
    SPAD__MLIR_FAULT(m, m->ops.items[t->function].name,
                     "this is TTIR, in which no layout and no shared memory is decided: give the "
                     "TTGIR that Triton makes of it (kernel.asm[\"ttgir\"])");
    return false;
}
