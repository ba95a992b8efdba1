/* SPDX-License-Identifier: Apache-2.0
 *
 * Words of TTGIR: types with their encodings, locations, and names for what a kernel declares.
 */
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/text.h"
#include "frontend/ttgir/ttgir.h"

/* ---- types -------------------------------------------------------------------------- */

static bool read_dtype(const char *text, size_t length, spad_dtype *out) {
    static const struct {
        const char *name;
        const char *dtype;
    } others[] = {{"i1", "u8"},         {"f8E5M2", "float8_e5m2"}, {"f8E4M3FN", "float8_e4m3fn"},
                  {"f8E4M3FNUZ", "u8"}, {"f8E5M2FNUZ", "u8"},      {"f8E4M3B11FNUZ", "u8"},
                  {"f8E8M0FNU", "u8"},  {"index", "i64"}};
    char name[32];
    if (length == 0 || length >= sizeof name) return false;
    memcpy(name, text, length);
    name[length] = '\0';
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strcmp(name, others[i].name) == 0) {
            return spad_dtype_parse(out, others[i].dtype, NULL) == SPAD_OK;
        }
    }
    return spad_dtype_parse(out, name, NULL) == SPAD_OK;
}

int spad__ttgir_integer_bits(const spad__mlir *m, uint32_t at) {
    static const struct {
        const char *name;
        int bits;
    } types[] = {{"i32", 32}, {"i64", 64}, {"i16", 16}, {"i8", 8}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (spad__mlir_is(m, at, types[i].name)) return types[i].bits;
    }
    return 0;
}

/* The extents of "3x128x64xf16" or "128x64x"; *after: what follows the last 'x'. */
static bool read_extents(const char *text, size_t length, spad__ttgir_type *out, size_t *after) {
    size_t at = 0;
    while (at < length && text[at] >= '0' && text[at] <= '9') {
        int64_t extent = 0;
        while (at < length && text[at] >= '0' && text[at] <= '9') {
            if (!spad__mul(extent, 10, &extent) || !spad__add(extent, text[at] - '0', &extent)) {
                return false;
            }
            at++;
        }
        if (out->rank == SPAD__GPU_RANK || extent < 1) return false;
        out->dims[out->rank++] = extent;
        if (at == length || text[at] != 'x') return false;
        at++;
    }
    *after = at;
    return out->rank > 0;
}

bool spad__ttgir_read_pointers(const spad__ttgir *t, const spad__mlir_op *op,
                               spad__ttgir_type *out) {
    const spad__mlir *m = t->m;
    *out = (spad__ttgir_type){0};
    for (uint32_t at = op->name + 1; at + 5 < op->end; at++) {
        size_t after;
        if (!spad__mlir_is(m, at, "tensor")) continue;
        if (at + 8 < op->end && m->tokens.items[at + 8].kind == SPAD__MLIR_ALIAS) {
            out->encoding = at + 8; /* "tensor<64x!tt.ptr<f16>, #blocked>" */
        }
        return read_extents(spad__mlir_text(m, at + 2), m->tokens.items[at + 2].length, out,
                            &after) &&
               read_dtype(spad__mlir_text(m, at + 5), m->tokens.items[at + 5].length, &out->dtype);
    }
    return false;
}

bool spad__ttgir_read_type(spad__ttgir *t, uint32_t at, uint32_t end, spad__ttgir_type *out) {
    const spad__mlir *m = t->m;
    *out = (spad__ttgir_type){0};
    while (at < end && m->tokens.items[at].kind != SPAD__MLIR_NUMBER) at++;
    if (at >= end) return false;
    const char *text = spad__mlir_text(m, at);
    const size_t length = m->tokens.items[at].length;
    size_t after;
    if (!read_extents(text, length, out, &after) ||
        !read_dtype(text + after, length - after, &out->dtype)) {
        return false;
    }
    if (at + 2 < end && m->tokens.items[at + 2].kind == SPAD__MLIR_ALIAS) out->encoding = at + 2;
    for (int depth = 1; at < end && depth > 0; at++) {
        if (spad__mlir_is_mark(m, at, '<')) depth++;
        if (spad__mlir_is_mark(m, at, '>')) depth--;
        if (spad__mlir_is(m, at, "#ttng.tensor_memory")) out->tensor_memory = true;
    }
    return true;
}

uint32_t spad__ttgir_last_memdesc(const spad__ttgir *t, const spad__mlir_op *op) {
    uint32_t found = 0;
    for (uint32_t at = op->name + 1; at < op->end; at = spad__mlir_after(t->m, op, at)) {
        if (spad__mlir_is(t->m, at, "!ttg.memdesc")) found = at;
    }
    return found;
}

/* Operands are in front of the "->", with '*' between them. */
uint32_t spad__ttgir_tensor_type(const spad__ttgir *t, const spad__mlir_op *op, int which) {
    const spad__mlir *m = t->m;
    bool types = false, result = false;
    int operand = 0;
    for (uint32_t at = op->name + 1; at < op->end; at = spad__mlir_after(m, op, at)) {
        if (!types && spad__mlir_is_mark(m, at, ':') &&
            m->tokens.items[at + 1].kind != SPAD__MLIR_NUMBER) {
            types = spad__mlir_is(m, at + 1, "tensor") || spad__mlir_is(m, at + 1, "!ttg.memdesc");
        }
        if (types && spad__mlir_is_mark(m, at, '*')) operand = 1;
        if (m->tokens.items[at].arrow) result = true;
        if (!types || !spad__mlir_is(m, at, "tensor")) continue;
        if (result ? which == 2 : which == operand) return at;
    }
    return 0;
}

uint32_t spad__ttgir_nth_tensor(const spad__ttgir *t, const spad__mlir_op *op, int n, bool result) {
    bool after = false;
    for (uint32_t at = op->name + 1; at < op->end; at = spad__mlir_after(t->m, op, at)) {
        if (t->m->tokens.items[at].arrow) after = true;
        if (after == result && spad__mlir_is(t->m, at, "tensor") && n-- == 0) return at;
    }
    return 0;
}

bool spad__ttgir_nth_type(spad__ttgir *t, const spad__mlir_op *op, int n, bool result,
                          spad__ttgir_type *out) {
    const uint32_t at = spad__ttgir_nth_tensor(t, op, n, result);
    return at != 0 && spad__ttgir_read_type(t, at, op->end, out);
}

bool spad__ttgir_number_after(const spad__ttgir *t, const spad__mlir_op *op, uint32_t operand,
                              int64_t *out) {
    if (operand >= op->operand_count) return false;
    const uint32_t at = t->m->operands.items[op->first_operand + operand].token;
    return at + 2 < op->end && spad__mlir_is_mark(t->m, at + 1, ',') &&
           spad__mlir_number(t->m, at + 2, out);
}

/* How many numbers "order = [1, 0]" has. */
static int count_order(const spad__mlir *m, const spad__mlir_alias *alias) {
    int count = 0;
    uint32_t at = spad__mlir_after_word(m, alias->first, alias->end, "order");
    for (; at != 0 && at < alias->end && !spad__mlir_is_mark(m, at, ']'); at++) {
        if (m->tokens.items[at].kind == SPAD__MLIR_NUMBER) count++;
    }
    return count;
}

/* What wgmma and TMA need with a swizzle of 32, 64 or 128 bytes: 8 rows of it. */
void spad__ttgir_read_encoding(const spad__ttgir *t, const spad__ttgir_type *type, int *rank,
                               int64_t *align) {
    const spad__mlir *m = t->m;
    int64_t bytes;
    *rank = 0;
    *align = 0;
    if (type->encoding == 0) return;
    const spad__mlir_alias *alias = spad__mlir_find_alias(m, type->encoding);
    if (alias == NULL) return;
    if (spad__mlir_is(m, alias->first, "#ttg.nvmma_shared")) {
        if (spad__mlir_number_after_word(m, alias->first, alias->end, "swizzlingByteWidth",
                                         &bytes) &&
            bytes <= 128) {
            *align = bytes < 16 ? 128 : bytes * 8;
        }
        int64_t stated = 2; /* where it is not written */
        spad__mlir_number_after_word(m, alias->first, alias->end, "rank", &stated);
        *rank = stated >= type->rank ? type->rank : type->rank > 2 ? type->rank - 1 : type->rank;
        return;
    }
    *rank = count_order(m, alias);
}

int spad__ttgir_stage_dims(const spad__ttgir *t, const spad__ttgir_type *type) {
    int rank;
    int64_t align;
    spad__ttgir_read_encoding(t, type, &rank, &align);
    if (type->tensor_memory || rank == 0) return type->rank > 2 ? 1 : 0;
    return type->rank > rank ? 1 : 0;
}

int64_t spad__ttgir_column_stride(const spad__ttgir *t, const spad__ttgir_type *type) {
    enum { LANES = 128 };
    const spad__mlir *m = t->m;
    const spad__mlir_alias *alias =
        type->encoding != 0 ? spad__mlir_find_alias(m, type->encoding) : NULL;
    int64_t lanes, stride;
    if (alias == NULL || !spad__mlir_is(m, alias->first, "#ttng.tensor_memory_encoding")) return 0;
    if (!spad__mlir_number_after_word(m, alias->first, alias->end, "blockM", &lanes) ||
        !spad__mlir_number_after_word(m, alias->first, alias->end, "colStride", &stride)) {
        return 0;
    }
    return lanes == LANES ? stride : 0;
}

bool spad__ttgir_has_scales(const spad__ttgir *t, const spad__ttgir_type *type) {
    if (type->encoding == 0) return false;
    const spad__mlir_alias *alias = spad__mlir_find_alias(t->m, type->encoding);
    return spad__mlir_is(t->m, alias != NULL ? alias->first : type->encoding,
                         "#ttng.tensor_memory_scales_encoding");
}

bool spad__ttgir_fold_scales(int64_t *dims) {
    enum { LANES = 128, ROWS = 32 };
    const int64_t groups = dims[0] > ROWS ? dims[0] / ROWS : 1;
    dims[0] = LANES;
    return spad__mul(groups, dims[1], &dims[1]);
}

/* ---- locations ------------------------------------------------------------------------ */

enum { LOCATIONS_DEEP = 16 };

static spad__ttgir_place place_in(const spad__ttgir *t, uint32_t at, int depth);

/* "callsite(#loc1 at #loc2)" */
static spad__ttgir_place place_of_call(const spad__ttgir *t, uint32_t at, int depth) {
    const spad__mlir *m = t->m;
    const uint32_t callee = at + 2 < m->tokens.count ? at + 2 : at + 1;
    spad__ttgir_place place = place_in(t, callee, depth + 1);
    for (uint32_t i = callee; m->tokens.items[i].kind != SPAD__MLIR_END; i++) {
        if (m->tokens.items[i].fresh && i > callee) break;
        if (!spad__mlir_is(m, i, "at")) continue;
        place.call = i + 1;
        break;
    }
    return place;
}

/* After the '(' of loc( or of a name; `depth` bounds aliases that lead in a circle. */
static spad__ttgir_place place_in(const spad__ttgir *t, uint32_t at, int depth) {
    const spad__mlir *m = t->m;
    spad__ttgir_place place = {0};
    int64_t line;
    int64_t column;
    if (depth > LOCATIONS_DEEP) return place;
    if (m->tokens.items[at].kind == SPAD__MLIR_ALIAS) {
        const spad__mlir_alias *alias = spad__mlir_find_alias(m, at);
        if (alias == NULL || alias->end - alias->first < 3) return place;
        return place_in(t, alias->first + 2, depth + 1);
    }
    if (spad__mlir_is(m, at, "callsite")) return place_of_call(t, at, depth);
    if (spad__mlir_is(m, at, "fused")) {
        uint32_t first = at;
        while (m->tokens.items[first].kind != SPAD__MLIR_END &&
               !spad__mlir_is_mark(m, first, '[')) {
            first++;
        }
        return place_in(t, first + 1 < m->tokens.count ? first + 1 : first, depth + 1);
    }
    if (m->tokens.items[at].kind != SPAD__MLIR_STRING) return place;
    if (spad__mlir_is_mark(m, at + 1, ':')) {
        place.file = at;
        if (spad__mlir_number(m, at + 2, &line) && line >= 0 && line < INT32_MAX) {
            place.line = (int32_t)line;
        }
        if (spad__mlir_is_mark(m, at + 3, ':') && spad__mlir_number(m, at + 4, &column) &&
            column >= 0 && column < INT32_MAX) {
            place.column = (int32_t)column;
        }
    } else if (spad__mlir_is_mark(m, at + 1, '(')) {
        place = place_in(t, at + 2, depth + 1);
        place.name = at;
    }
    return place;
}

spad__ttgir_place spad__ttgir_place_at(const spad__ttgir *t, uint32_t at) {
    return place_in(t, at, 0);
}

/* ---- names ----------------------------------------------------------------------------- */

/* The location of an argument whose type begins at a token: the '(' of its loc(...); 0: none. */
static uint32_t location_of_argument(const spad__ttgir *t, uint32_t type) {
    const spad__mlir *m = t->m;
    int depth = 0;
    for (uint32_t at = type; at != 0 && at + 1 < m->tokens.count; at++) {
        const spad__mlir_token *token = &m->tokens.items[at];
        if (token->kind == SPAD__MLIR_END || token->fresh) return 0;
        if (depth == 0 && spad__mlir_is(m, at, "loc") && spad__mlir_is_mark(m, at + 1, '(')) {
            return at + 1;
        }
        if (token->kind != SPAD__MLIR_MARK || token->arrow) continue;
        if (strchr("([{<", token->mark) != NULL) depth++;
        if (strchr(")]}>", token->mark) != NULL) depth--;
        if (depth < 0 || (depth == 0 && token->mark == ',')) return 0;
    }
    return 0;
}

uint32_t spad__ttgir_argument_name(const spad__ttgir *t, const spad__mlir_value *value) {
    const spad__mlir *m = t->m;
    uint32_t at = location_of_argument(t, value->type), name = value->token;
    for (int level = 0; at != 0 && level < 16; level++) {
        const spad__mlir_token *inner = &m->tokens.items[at + 1];
        if (inner->kind == SPAD__MLIR_STRING && spad__mlir_is_mark(m, at + 2, '(')) {
            name = at + 1;
            at += 2;
        } else if (inner->kind == SPAD__MLIR_ALIAS) {
            const spad__mlir_alias *alias = spad__mlir_find_alias(m, at + 1);
            at = alias != NULL && alias->first + 1 < alias->end ? alias->first + 1 : 0;
        } else {
            break;
        }
    }
    return name;
}

/* Letters, digits and '_'; the number that a printer adds to a name is left out. */
static void clean_name(char *name, const char *text, size_t length) {
    size_t count = 0;
    for (size_t i = 0; i < length && count < SPAD__GPU_NAME - 12; i++) {
        const char c = text[i];
        const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9' && count > 0) || c == '_';
        if (good) name[count++] = c;
    }
    name[count] = '\0';
}

void spad__ttgir_word_name(const spad__ttgir *t, uint32_t token, char *name) {
    clean_name(name, spad__mlir_text(t->m, token), t->m->tokens.items[token].length);
}

/* Is the location in a file of Triton itself, as that of `allocate_mbarrier` is? */
static bool is_of_library(const spad__ttgir *t, const spad__ttgir_place *place) {
    static const char folder[] = "/triton/experimental/";
    const char *text = spad__mlir_text(t->m, place->file);
    const size_t length = t->m->tokens.items[place->file].length;
    for (size_t i = 0; place->file != 0 && i + sizeof folder <= length; i++) {
        if (memcmp(text + i, folder, sizeof folder - 1) == 0) return true;
    }
    return false;
}

/* The name of what the caller makes with it; 0: none. */
static uint32_t caller_name(const spad__ttgir *t, const spad__ttgir_place *place) {
    return place->call != 0 ? spad__ttgir_place_at(t, place->call).name : 0;
}

void spad__ttgir_name(const spad__ttgir *t, const spad__mlir_op *op, char *name) {
    const uint32_t at = spad__mlir_location(t->m, op);
    name[0] = '\0';
    if (at != 0) {
        const spad__ttgir_place place = spad__ttgir_place_at(t, at + 1);
        const uint32_t caller = is_of_library(t, &place) ? caller_name(t, &place) : 0;
        if (place.name != 0 || caller != 0) {
            spad__ttgir_word_name(t, caller != 0 ? caller : place.name, name);
        }
    }
    if (name[0] == '\0' && op->result_count > 0) {
        spad__ttgir_word_name(t, t->m->values.items[op->first_result].token, name);
    }
    if (name[0] == '\0') strcpy(name, SPAD__TTGIR_NO_NAME);
}

uint32_t spad__ttgir_constant(const spad__ttgir *t, const spad__mlir_op *op) {
    uint32_t at = op->name + 1;
    if (at >= op->end || !spad__mlir_is_mark(t->m, at, '{')) return at;
    for (int depth = 0; at + 1 < op->end; at++) {
        if (spad__mlir_is_mark(t->m, at, '{')) depth++;
        if (spad__mlir_is_mark(t->m, at, '}') && --depth == 0) return at + 1;
    }
    return at;
}
