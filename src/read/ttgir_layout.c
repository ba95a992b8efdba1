/* SPDX-License-Identifier: Apache-2.0
 *
 * Layouts of tensors in registers: how many warps and lanes have parts of each dimension, and what
 * a block of a cluster has of it.
 *
 * All extents are powers of two. A layout that covers more than the tensor repeats it: of 4 warps
 * in a dimension only as many count as have elements of their own, and the others have the same
 * ones. This is what the size of scratch memory follows from (ttgir_scratch.c); which element is
 * where does not matter here.
 */
#include <string.h>

#include "read/ttgir.h"

enum { LAYOUTS_DEEP = 8 };

/* Tokens of an encoding, after aliases. */
typedef struct spad__ttgir_words {
    uint32_t first;
    uint32_t end;
} spad__ttgir_words;

/* The tokens of '#blocked', or of '#ttg.slice<{...}>' where it is written out. */
static spad__ttgir_words encoding_words(const spad__ttgir *t, uint32_t at) {
    const spad__mlir *m = t->m;
    const spad__mlir_alias *alias = spad__mlir_find_alias(m, at);
    if (alias != NULL) return (spad__ttgir_words){alias->first, alias->end};
    uint32_t end = at + 1;
    for (int depth = 0; m->tokens.items[end].kind != SPAD__MLIR_END; end++) {
        if (m->tokens.items[end].fresh) break; /* an operation is one line */
        if (spad__mlir_is_mark(m, end, '<')) depth++;
        if (spad__mlir_is_mark(m, end, '>') && !m->tokens.items[end].arrow && --depth <= 0) break;
    }
    return (spad__ttgir_words){at, end};
}

/* The first token after "word =", at any depth of brackets; 0: none. */
static uint32_t word_after(const spad__ttgir *t, spad__ttgir_words words, const char *word) {
    for (uint32_t at = words.first; at + 2 < words.end; at++) {
        if (spad__mlir_is(t->m, at, word) && spad__mlir_is_mark(t->m, at + 1, '=')) return at + 2;
    }
    return 0;
}

/* "word = [4, 1]": how many numbers there are, at most `limit`. */
static int list_of(const spad__ttgir *t, spad__ttgir_words words, const char *word, int64_t *out,
                   int limit) {
    const uint32_t at = word_after(t, words, word);
    int count = 0;
    if (at == 0 || !spad__mlir_is_mark(t->m, at, '[')) return 0;
    for (uint32_t i = at + 1; i < words.end && !spad__mlir_is_mark(t->m, i, ']'); i++) {
        int64_t number;
        if (!spad__mlir_number(t->m, i, &number) || number < 1) continue;
        if (count == limit) return 0;
        out[count++] = number;
    }
    return count;
}

/* "word = [[0, 1], [0, 2]]": rows of numbers, each as long as the rank. False: not there, or of
 * another rank, or too many, or without an end. */
static bool read_bases(const spad__ttgir *t, spad__ttgir_words words, const char *word, int rank,
                       spad__ttgir_bases *out) {
    uint32_t at = word_after(t, words, word);
    out->count = 0;
    if (at == 0 || !spad__mlir_is_mark(t->m, at, '[')) return false;
    at++;
    while (at < words.end && spad__mlir_is_mark(t->m, at, '[')) {
        int d = 0;
        if (out->count == SPAD__TTGIR_BASES) return false;
        for (at++; at < words.end && !spad__mlir_is_mark(t->m, at, ']'); at++) {
            int64_t by;
            if (!spad__mlir_number(t->m, at, &by)) continue;
            if (d == rank) return false;
            out->rows[out->count][d++] = by;
        }
        if (d != rank || at >= words.end) return false; /* of another rank, or cut off */
        out->count++;
        at++;
        if (!spad__mlir_is_mark(t->m, at, ',')) break;
        at++;
    }
    return true;
}

/* Each base doubles the extent of a dimension that it moves in; one that moves in none is a
 * repetition. */
static void extents_of(const spad__ttgir_bases *bases, int rank, int64_t *out, bool *repeats) {
    for (int d = 0; d < rank; d++) out[d] = 1;
    for (size_t i = 0; i < bases->count; i++) {
        bool moves = false;
        for (int d = 0; d < rank; d++) {
            if (bases->rows[i][d] == 0) continue;
            out[d] *= 2; /* at most 2^SPAD__TTGIR_BASES */
            moves = true;
        }
        if (!moves) *repeats = true;
    }
}

static bool bases_of(const spad__ttgir *t, spad__ttgir_words words, const char *word, int rank,
                     int64_t *out, bool *repeats) {
    spad__ttgir_bases bases;
    if (!read_bases(t, words, word, rank, &bases)) return false;
    extents_of(&bases, rank, out, repeats);
    return true;
}

/* ---- clusters ------------------------------------------------------------------------- */

static bool read_blocks(const spad__ttgir *t, uint32_t at, int rank, spad__ttgir_bases *out,
                        int depth) {
    const spad__ttgir_words words = encoding_words(t, at);
    const uint32_t parent = word_after(t, words, "parent");
    int64_t dim;
    out->count = 0;
    if (depth > LAYOUTS_DEEP || rank > SPAD__TTGIR_RANK) return false;
    if (parent == 0) {
        return read_bases(t, words, "CGALayout", rank, out) ||
               read_bases(t, words, "block", rank, out);
    }
    if (!spad__mlir_is(t->m, words.first, "#ttg.slice")) {
        return read_blocks(t, parent, rank, out, depth + 1);
    }
    const uint32_t which = word_after(t, words, "dim");
    if (which == 0 || !spad__mlir_number(t->m, which, &dim) || dim < 0 || dim > rank ||
        !read_blocks(t, parent, rank + 1, out, depth + 1)) {
        return false;
    }
    for (size_t i = 0; i < out->count; i++) {
        for (int d = (int)dim; d < rank; d++) out->rows[i][d] = out->rows[i][d + 1];
    }
    return true;
}

bool spad__ttgir_read_blocks(const spad__ttgir *t, uint32_t encoding, int rank,
                             spad__ttgir_bases *out) {
    out->count = 0;
    return encoding != 0 && read_blocks(t, encoding, rank, out, 0);
}

void spad__ttgir_split(const spad__ttgir *t, uint32_t encoding, int rank, int64_t *split) {
    spad__ttgir_bases bases;
    bool repeats = false;
    if (t->blocks < 2) {
        bases.count = 0;
    } else {
        spad__ttgir_read_blocks(t, encoding, rank, &bases);
    }
    extents_of(&bases, rank, split, &repeats);
}

/* ---- one dimension -------------------------------------------------------------------- */

/* At most as many as there is room for; what is left of the room after them. */
static int64_t fit_extent(int64_t count, int64_t *room, bool *repeats) {
    const int64_t taken = count < *room ? count : *room;
    if (taken < count) *repeats = true;
    *room /= taken;
    return taken;
}

/* ---- layouts -------------------------------------------------------------------------- */

static bool read_blocked(const spad__ttgir *t, spad__ttgir_words words, spad__ttgir_layout *l) {
    int64_t elements[SPAD__TTGIR_RANK], lanes[SPAD__TTGIR_RANK], warps[SPAD__TTGIR_RANK];
    if (list_of(t, words, "sizePerThread", elements, SPAD__TTGIR_RANK) != l->rank ||
        list_of(t, words, "threadsPerWarp", lanes, SPAD__TTGIR_RANK) != l->rank ||
        list_of(t, words, "warpsPerCTA", warps, SPAD__TTGIR_RANK) != l->rank) {
        return false;
    }
    for (int d = 0; d < l->rank; d++) {
        int64_t room = l->shape[d];
        bool same = false; /* registers of one thread are no repetition */
        l->elements[d] = fit_extent(elements[d], &room, &same);
        l->lanes[d] = fit_extent(lanes[d], &room, &l->repeats);
        l->warps[d] = fit_extent(warps[d], &room, &l->repeats);
    }
    l->whole = true;
    return true;
}

/* Only its warps: instructions of rows x columns, warps after them. */
static bool read_mma(const spad__ttgir *t, spad__ttgir_words words, spad__ttgir_layout *l) {
    int64_t shape[SPAD__TTGIR_RANK], warps[SPAD__TTGIR_RANK];
    const int count = list_of(t, words, "instrShape", shape, SPAD__TTGIR_RANK);
    if (l->rank != 2 || count < 2 ||
        list_of(t, words, "warpsPerCTA", warps, SPAD__TTGIR_RANK) != l->rank) {
        return false;
    }
    for (int d = 0; d < l->rank; d++) {
        int64_t room = l->shape[d];
        fit_extent(shape[d], &room, &l->repeats);
        l->warps[d] = fit_extent(warps[d], &room, &l->repeats);
    }
    return true;
}

static bool read_linear(const spad__ttgir *t, spad__ttgir_words words, spad__ttgir_layout *l) {
    bool same = false;
    return bases_of(t, words, "register", l->rank, l->elements, &same) &&
           bases_of(t, words, "lane", l->rank, l->lanes, &l->repeats) &&
           bases_of(t, words, "warp", l->rank, l->warps, &l->repeats);
}

static bool read_layout(const spad__ttgir *t, uint32_t at, spad__ttgir_layout *l, int depth);

/* A layout of one dimension more, of which all have what the first has. */
static bool read_slice(const spad__ttgir *t, spad__ttgir_words words, spad__ttgir_layout *l,
                       int depth) {
    const uint32_t parent = word_after(t, words, "parent");
    const uint32_t at = word_after(t, words, "dim");
    spad__ttgir_layout whole = {.rank = l->rank + 1};
    int64_t dim;
    if (parent == 0 || at == 0 || !spad__mlir_number(t->m, at, &dim) || dim < 0 || dim > l->rank ||
        whole.rank > SPAD__TTGIR_RANK) {
        return false;
    }
    for (int d = 0; d < whole.rank; d++) {
        whole.shape[d] = d == dim ? 1 : l->shape[d < dim ? d : d - 1];
    }
    if (!read_layout(t, parent, &whole, depth + 1)) return false;
    l->repeats = whole.repeats;
    l->whole = whole.whole;
    for (int d = 0; d < whole.rank; d++) {
        if (d == dim) {
            if (whole.lanes[d] > 1 || whole.warps[d] > 1) l->repeats = true;
            continue;
        }
        const int own = d < dim ? d : d - 1;
        l->elements[own] = whole.elements[d];
        l->lanes[own] = whole.lanes[d];
        l->warps[own] = whole.warps[d];
    }
    return true;
}

static bool read_layout(const spad__ttgir *t, uint32_t at, spad__ttgir_layout *l, int depth) {
    const spad__ttgir_words words = encoding_words(t, at);
    if (depth > LAYOUTS_DEEP) return false; /* aliases that lead in a circle */
    if (spad__mlir_is(t->m, words.first, "#ttg.blocked")) return read_blocked(t, words, l);
    if (spad__mlir_is(t->m, words.first, "#ttg.linear")) return read_linear(t, words, l);
    if (spad__mlir_is(t->m, words.first, "#ttg.nvidia_mma")) return read_mma(t, words, l);
    if (spad__mlir_is(t->m, words.first, "#ttg.slice")) return read_slice(t, words, l, depth);
    return false;
}

bool spad__ttgir_read_layout(const spad__ttgir *t, const spad__ttgir_type *type,
                             spad__ttgir_layout *out) {
    int64_t split[SPAD__TTGIR_RANK];
    *out = (spad__ttgir_layout){.rank = type->rank};
    if (type->encoding == 0) return false;
    spad__ttgir_split(t, type->encoding, type->rank, split);
    for (int d = 0; d < type->rank; d++) {
        if ((type->dims[d] & (type->dims[d] - 1)) != 0) return false;
        out->shape[d] = type->dims[d] / split[d] > 0 ? type->dims[d] / split[d] : 1;
        out->elements[d] = out->lanes[d] = out->warps[d] = 1;
    }
    return read_layout(t, type->encoding, out, 0);
}
