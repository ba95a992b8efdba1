/* SPDX-License-Identifier: Apache-2.0
 *
 * Layouts of tensors in registers: how many warps and lanes have parts of each dimension, what a
 * block of a cluster has of it, and which warp has which element.
 *
 * All extents are powers of two. A layout that covers more than the tensor repeats it: of 4 warps
 * in a dimension only as many count as have elements of their own, and the others have the same
 * ones. This is what the size of scratch memory follows from (ttgir_scratch.c).
 *
 * Which warp has which element is linear in the bits of their numbers: the elements of warp 0 are a
 * space of bit vectors, and those of warp w are the same, moved by the sum (exclusive or) of one
 * vector for each bit of w. So two layouts give each element to the same warp iff these spaces are
 * equal and each pair of vectors differs by something of the space.
 */
#include <assert.h>
#include <string.h>

#include "base/checked.h"
#include "frontend/ttgir/ttgir.h"

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

static uint32_t word_after(const spad__ttgir *t, spad__ttgir_words words, const char *word) {
    return spad__mlir_after_word(t->m, words.first, words.end, word);
}

static bool number_after(const spad__ttgir *t, spad__ttgir_words words, const char *word,
                         int64_t *out) {
    return spad__mlir_number_after_word(t->m, words.first, words.end, word, out);
}

/* "word = [4, 1]": how many numbers from `least` on there are, at most `limit`. */
static int list_from(const spad__ttgir *t, spad__ttgir_words words, const char *word, int64_t least,
                     int64_t *out, int limit) {
    const uint32_t at = word_after(t, words, word);
    int count = 0;
    if (at == 0 || !spad__mlir_is_mark(t->m, at, '[')) return 0;
    for (uint32_t i = at + 1; i < words.end && !spad__mlir_is_mark(t->m, i, ']'); i++) {
        int64_t number;
        if (!spad__mlir_number(t->m, i, &number) || number < least) continue;
        if (count == limit) return 0;
        out[count++] = number;
    }
    return count;
}

static int list_of(const spad__ttgir *t, spad__ttgir_words words, const char *word, int64_t *out,
                   int limit) {
    return list_from(t, words, word, 1, out, limit);
}

/* "word = [[0, 1], [0, 2]]": rows of numbers, each as long as the rank. False: not there, or of
 * another rank, or too many, or below 0, or without an end. */
static bool read_bases(const spad__ttgir *t, spad__ttgir_words words, const char *word, int rank,
                       spad__gpu_bases *out) {
    uint32_t at = word_after(t, words, word);
    out->count = 0;
    if (at == 0 || !spad__mlir_is_mark(t->m, at, '[')) return false;
    at++;
    while (at < words.end && spad__mlir_is_mark(t->m, at, '[')) {
        int d = 0;
        if (out->count == SPAD__GPU_BASES) return false;
        for (at++; at < words.end && !spad__mlir_is_mark(t->m, at, ']'); at++) {
            int64_t by;
            if (!spad__mlir_number(t->m, at, &by)) continue;
            if (d == rank || by < 0) return false;
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
static void extents_of(const spad__gpu_bases *bases, int rank, int64_t *out, bool *repeats) {
    for (int d = 0; d < rank; d++) out[d] = 1;
    for (size_t i = 0; i < bases->count; i++) {
        bool moves = false;
        for (int d = 0; d < rank; d++) {
            if (bases->rows[i][d] == 0) continue;
            out[d] *= 2; /* at most 2^SPAD__GPU_BASES */
            moves = true;
        }
        if (!moves) *repeats = true;
    }
}

static bool bases_of(const spad__ttgir *t, spad__ttgir_words words, const char *word, int rank,
                     int64_t *out, bool *repeats) {
    spad__gpu_bases bases;
    if (!read_bases(t, words, word, rank, &bases)) return false;
    extents_of(&bases, rank, out, repeats);
    return true;
}

/* ---- slices ---------------------------------------------------------------------------- */

/* "#ttg.slice<{dim = 1, parent = #blocked}>" has `rank` dimensions, and its parent one more, of
 * which all have what the first has. Aliases that lead in a circle end at SPAD__GPU_RANK. False:
 * not known. */
static bool read_slice_words(const spad__ttgir *t, spad__ttgir_words words, int rank,
                             uint32_t *parent, int *dim) {
    int64_t number;
    *parent = word_after(t, words, "parent");
    if (*parent == 0 || rank + 1 > SPAD__GPU_RANK || !number_after(t, words, "dim", &number) ||
        number < 0 || number > rank) {
        return false;
    }
    *dim = (int)number;
    return true;
}

/* The shape of the parent of a slice. */
static void add_dimension(const int64_t *shape, int rank, int dim, int64_t *out) {
    for (int d = 0; d < rank + 1; d++) out[d] = d == dim ? 1 : shape[d < dim ? d : d - 1];
}

static void drop_dimension(spad__gpu_bases *bases, int rank, int dim) {
    for (size_t i = 0; i < bases->count; i++) {
        for (int d = dim; d < rank; d++) bases->rows[i][d] = bases->rows[i][d + 1];
    }
}

/* ---- clusters ------------------------------------------------------------------------- */

static bool read_blocks(const spad__ttgir *t, uint32_t at, int rank, spad__gpu_bases *out,
                        int depth) {
    const spad__ttgir_words words = encoding_words(t, at);
    uint32_t parent = word_after(t, words, "parent");
    int dim;
    out->count = 0;
    if (depth > LAYOUTS_DEEP || rank > SPAD__GPU_RANK) return false;
    if (parent == 0) {
        return read_bases(t, words, "CGALayout", rank, out) ||
               read_bases(t, words, "block", rank, out);
    }
    if (!spad__mlir_is(t->m, words.first, "#ttg.slice")) {
        return read_blocks(t, parent, rank, out, depth + 1);
    }
    if (!read_slice_words(t, words, rank, &parent, &dim) ||
        !read_blocks(t, parent, rank + 1, out, depth + 1)) {
        return false;
    }
    drop_dimension(out, rank, dim);
    return true;
}

bool spad__ttgir_read_blocks(const spad__ttgir *t, uint32_t encoding, int rank,
                             spad__gpu_bases *out) {
    if (encoding != 0 && read_blocks(t, encoding, rank, out, 0)) return true;
    out->count = 0; /* also of rows before one that cannot be read */
    return false;
}

void spad__ttgir_split(const spad__ttgir *t, uint32_t encoding, int rank, int64_t *split) {
    spad__gpu_bases bases;
    bool repeats = false;
    if (t->g->cluster.declared < 2) {
        bases.count = 0;
    } else {
        spad__ttgir_read_blocks(t, encoding, rank, &bases);
    }
    extents_of(&bases, rank, split, &repeats);
}

void spad__ttgir_dims_in_block(const spad__ttgir *t, const spad__ttgir_type *type, int ring,
                               int64_t *dims) {
    int64_t split[SPAD__GPU_RANK];
    spad__ttgir_split(t, type->encoding, type->rank - ring, split);
    for (int d = 0; d < type->rank; d++) {
        dims[d] = d < ring ? type->dims[d] : spad__max(type->dims[d] / split[d - ring], 1);
    }
}

void spad__ttgir_take_part(const spad__ttgir *t, spad__ttgir_type *type) {
    spad__ttgir_dims_in_block(t, type, 0, type->dims);
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
    int64_t elements[SPAD__GPU_RANK], lanes[SPAD__GPU_RANK], warps[SPAD__GPU_RANK];
    if (list_of(t, words, "sizePerThread", elements, SPAD__GPU_RANK) != l->rank ||
        list_of(t, words, "threadsPerWarp", lanes, SPAD__GPU_RANK) != l->rank ||
        list_of(t, words, "warpsPerCTA", warps, SPAD__GPU_RANK) != l->rank) {
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

/* Its warps and lanes: instructions of rows x columns, whose results 8 x 4 lanes have; warps after
 * them. */
static bool read_mma(const spad__ttgir *t, spad__ttgir_words words, spad__ttgir_layout *l) {
    int64_t shape[SPAD__GPU_RANK], warps[SPAD__GPU_RANK];
    const int count = list_of(t, words, "instrShape", shape, SPAD__GPU_RANK);
    if (l->rank != 2 || count < 2 ||
        list_of(t, words, "warpsPerCTA", warps, SPAD__GPU_RANK) != l->rank) {
        return false;
    }
    for (int d = 0; d < l->rank; d++) {
        int64_t room = l->shape[d], lanes = l->shape[d];
        bool same = false;
        l->lanes[d] = fit_extent(d == 0 ? 8 : 4, &lanes, &same);
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

static bool read_layout(const spad__ttgir *t, uint32_t at, spad__ttgir_layout *l);

static bool read_slice(const spad__ttgir *t, spad__ttgir_words words, spad__ttgir_layout *l) {
    spad__ttgir_layout whole = {.rank = l->rank + 1};
    uint32_t parent;
    int dim;
    if (!read_slice_words(t, words, l->rank, &parent, &dim)) return false;
    add_dimension(l->shape, l->rank, dim, whole.shape);
    if (!read_layout(t, parent, &whole)) return false;
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

static bool read_layout(const spad__ttgir *t, uint32_t at, spad__ttgir_layout *l) {
    const spad__ttgir_words words = encoding_words(t, at);
    if (spad__mlir_is(t->m, words.first, "#ttg.blocked")) return read_blocked(t, words, l);
    if (spad__mlir_is(t->m, words.first, "#ttg.linear")) return read_linear(t, words, l);
    if (spad__mlir_is(t->m, words.first, "#ttg.nvidia_mma")) return read_mma(t, words, l);
    if (spad__mlir_is(t->m, words.first, "#ttg.slice")) return read_slice(t, words, l);
    return false;
}

bool spad__ttgir_read_layout(const spad__ttgir *t, const spad__ttgir_type *type,
                             spad__ttgir_layout *out) {
    *out = (spad__ttgir_layout){.rank = type->rank};
    if (type->encoding == 0) return false;
    spad__ttgir_dims_in_block(t, type, 0, out->shape);
    for (int d = 0; d < type->rank; d++) {
        if (!spad__is_pow2(type->dims[d])) return false;
        out->elements[d] = out->lanes[d] = out->warps[d] = 1;
    }
    return read_layout(t, type->encoding, out);
}

bool spad__ttgir_read_axis(spad__ttgir *t, const spad__mlir_op *op, spad__ttgir_type *type,
                           spad__ttgir_layout *layout, int64_t *axis) {
    return spad__mlir_number_of(t->m, op, "axis", axis) &&
           spad__ttgir_nth_type(t, op, 0, false, type) &&
           spad__ttgir_read_layout(t, type, layout) && *axis >= 0 && *axis < layout->rank;
}

/* ---- which warp has what ---------------------------------------------------------------- */

/* The bits of `count` warps in dimension d, from `from` on; beyond the shape they move nothing. */
static bool add_warps(spad__gpu_layout *p, int d, int64_t count, int64_t from) {
    if (!spad__is_pow2(count) || !spad__is_pow2(from) || from > INT32_MAX || count > 64)
        return false;
    for (; count > 1; count /= 2, from *= 2) {
        if (p->warps.count == SPAD__GPU_WARP_BITS) return false;
        int64_t *row = p->warps.rows[p->warps.count++];
        for (int i = 0; i < p->rank; i++) row[i] = 0;
        if (from < p->shape[d]) row[d] = from;
    }
    return true;
}

static bool parts_of_blocked(const spad__ttgir *t, spad__ttgir_words words, spad__gpu_layout *p) {
    int64_t elements[SPAD__GPU_RANK], lanes[SPAD__GPU_RANK], warps[SPAD__GPU_RANK];
    int64_t order[SPAD__GPU_RANK];
    if (list_of(t, words, "sizePerThread", elements, SPAD__GPU_RANK) != p->rank ||
        list_of(t, words, "threadsPerWarp", lanes, SPAD__GPU_RANK) != p->rank ||
        list_of(t, words, "warpsPerCTA", warps, SPAD__GPU_RANK) != p->rank ||
        list_from(t, words, "order", 0, order, SPAD__GPU_RANK) != p->rank) {
        return false;
    }
    unsigned seen = 0;
    for (int i = 0; i < p->rank; i++) {
        const int64_t d = order[i];
        if (d >= p->rank || (seen >> d & 1) != 0) return false; /* no order of the dimensions */
        seen |= 1U << d;
        if (elements[d] > 1 << 15 || lanes[d] > 1 << 15) return false;
        if (!add_warps(p, (int)d, warps[d], elements[d] * lanes[d])) return false;
    }
    return true;
}

/* Results of instructions of a warp; where it is an operand, `deep` is the dimension that is summed
 * over, which all warps have (-1: none), and tile[] what one instruction takes. */
static bool parts_of_mma(const spad__ttgir *t, spad__ttgir_words words, spad__gpu_layout *p,
                         int deep, const int64_t *tile) {
    int64_t warps[SPAD__GPU_RANK], version;
    if (!number_after(t, words, "versionMajor", &version) || version < 2 || version > 3 ||
        p->rank != 2 || list_of(t, words, "warpsPerCTA", warps, SPAD__GPU_RANK) != p->rank) {
        return false;
    }
    for (int i = 0; i < 2; i++) {
        const int d = version == 3 ? i : 1 - i; /* which of them a warp's number counts first */
        if (!add_warps(p, d, warps[d], d == deep ? p->shape[d] : tile[d])) return false;
    }
    return true;
}

static bool parts_of_result(const spad__ttgir *t, spad__ttgir_words words, spad__gpu_layout *p) {
    int64_t shape[SPAD__GPU_RANK];
    return list_of(t, words, "instrShape", shape, SPAD__GPU_RANK) >= 2 &&
           parts_of_mma(t, words, p, -1, shape);
}

/* "#ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>" */
static bool parts_of_operand(const spad__ttgir *t, spad__ttgir_words words, spad__gpu_layout *p) {
    const uint32_t parent = word_after(t, words, "parent");
    int64_t shape[SPAD__GPU_RANK], number;
    if (parent == 0 || !number_after(t, words, "opIdx", &number)) return false;
    const spad__ttgir_words mma = encoding_words(t, parent);
    if (!spad__mlir_is(t->m, mma.first, "#ttg.nvidia_mma") || number < 0 || number > 1 ||
        list_of(t, mma, "instrShape", shape, SPAD__GPU_RANK) < 2) {
        return false;
    }
    if (number == 1) shape[1] = 8; /* columns of an instruction of sm_80 */
    return parts_of_mma(t, mma, p, number == 0 ? 1 : 0, shape);
}

static bool parts_of_linear(const spad__ttgir *t, spad__ttgir_words words, spad__gpu_layout *p) {
    return read_bases(t, words, "register", p->rank, &p->own[0]) &&
           read_bases(t, words, "lane", p->rank, &p->own[1]) &&
           read_bases(t, words, "warp", p->rank, &p->warps) &&
           p->warps.count <= SPAD__GPU_WARP_BITS;
}

static bool read_parts(const spad__ttgir *t, uint32_t at, spad__gpu_layout *p);

static bool parts_of_slice(const spad__ttgir *t, spad__ttgir_words words, spad__gpu_layout *p) {
    spad__gpu_layout whole = {.rank = p->rank + 1};
    uint32_t parent;
    int dim;
    if (!read_slice_words(t, words, p->rank, &parent, &dim)) return false;
    add_dimension(p->shape, p->rank, dim, whole.shape);
    if (!read_parts(t, parent, &whole)) return false;
    drop_dimension(&whole.warps, p->rank, dim);
    drop_dimension(&whole.own[0], p->rank, dim);
    drop_dimension(&whole.own[1], p->rank, dim);
    p->warps = whole.warps;
    p->own[0] = whole.own[0];
    p->own[1] = whole.own[1];
    return true;
}

static bool read_parts(const spad__ttgir *t, uint32_t at, spad__gpu_layout *p) {
    const spad__ttgir_words words = encoding_words(t, at);
    if (spad__mlir_is(t->m, words.first, "#ttg.blocked")) return parts_of_blocked(t, words, p);
    if (spad__mlir_is(t->m, words.first, "#ttg.linear")) return parts_of_linear(t, words, p);
    if (spad__mlir_is(t->m, words.first, "#ttg.nvidia_mma")) return parts_of_result(t, words, p);
    if (spad__mlir_is(t->m, words.first, "#ttg.dot_op")) return parts_of_operand(t, words, p);
    if (spad__mlir_is(t->m, words.first, "#ttg.slice")) return parts_of_slice(t, words, p);
    return false;
}

bool spad__ttgir_read_map(const spad__ttgir *t, const spad__ttgir_type *type, const int *order,
                          spad__gpu_thread_map *map) {
    spad__gpu_layout layout = {.rank = type->rank};
    if (type->encoding == 0) return false;
    spad__ttgir_dims_in_block(t, type, 0, layout.shape);
    return read_parts(t, type->encoding, &layout) && spad__gpu_map_of_layout(&layout, order, map);
}
