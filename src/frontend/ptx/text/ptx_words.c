/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the words of PTX by their spellings, and splits the name of an instruction into opcode,
 * types, spaces, shape and modifiers.
 *
 * Opcodes and modifiers are in the order of their spellings, so that they are found by bisection;
 * types and special registers are few.
 *
 * Reference: PTX ISA 9.0, 4.3 (keywords), 5.1 (spaces), 5.2 (types), 10 (special registers).
 */
#include "frontend/ptx/text/ptx_words.h"

#include <string.h>

#include "frontend/ptx/text/ptx_module.h"

enum { OP_SEGMENTS = 5 }; /* of the longest opcode, cp.async.bulk.prefetch.tensor */

typedef struct ptx_spelling {
    const char *text;
    uint8_t length;
} ptx_spelling;

#define PTX_SPELLING(name, spelling) {spelling, sizeof(spelling) - 1},
static const ptx_spelling ptx_op_spellings[] = {SPAD__PTX_OPS(PTX_SPELLING)};
static const ptx_spelling ptx_word_spellings[] = {SPAD__PTX_WORDS(PTX_SPELLING)};
static const ptx_spelling ptx_special_spellings[] = {SPAD__PTX_SPECIALS(PTX_SPELLING)};
#define PTX_TYPE_SPELLING(name, spelling, bits) {spelling, sizeof(spelling) - 1},
static const ptx_spelling ptx_type_spellings[] = {{"", 0},
                                                  SPAD__PTX_NUMBER_TYPES(PTX_TYPE_SPELLING)};
#define PTX_TYPE_BITS(name, spelling, bits) bits,
static const int16_t ptx_type_sizes[] = {0, SPAD__PTX_NUMBER_TYPES(PTX_TYPE_BITS)};

static bool ptx_spelled(const ptx_spelling *s, const char *text, size_t length) {
    return s->length == length && memcmp(s->text, text, length) == 0;
}

/* The row of an ordered table with this spelling; -1: none. */
static int ptx_bisect(const ptx_spelling *rows, size_t count, const char *text, size_t length) {
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const ptx_spelling *row = &rows[middle];
        const size_t common = row->length < length ? row->length : length;
        int order = memcmp(row->text, text, common);
        if (order == 0) order = (row->length > length) - (row->length < length);
        if (order == 0) return (int)middle;
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return -1;
}

static int ptx_find_row(const ptx_spelling *rows, size_t count, const char *text, size_t length) {
    for (size_t i = 0; i < count; i++) {
        if (ptx_spelled(&rows[i], text, length)) return (int)i;
    }
    return -1;
}

#define PTX_ROWS(table) (sizeof(table) / sizeof(table)[0])

spad__ptx_type spad__ptx_find_type(const char *word, size_t length) {
    if (length < 2) return SPAD__PTX_NO_TYPE;
    const int row = ptx_find_row(ptx_type_spellings, PTX_ROWS(ptx_type_spellings), word, length);
    return row < 0 ? SPAD__PTX_NO_TYPE : (spad__ptx_type)row;
}

int spad__ptx_type_bits(spad__ptx_type type) {
    return (size_t)type < PTX_ROWS(ptx_type_sizes) ? ptx_type_sizes[type] : 0;
}

bool spad__ptx_type_is_float(spad__ptx_type type) {
    return type >= SPAD__PTX_F16 && type <= SPAD__PTX_UE4M3;
}

bool spad__ptx_type_is_signed(spad__ptx_type type) {
    return (type >= SPAD__PTX_S4 && type <= SPAD__PTX_S64) || type == SPAD__PTX_S16X2;
}

spad__ptx_special spad__ptx_find_special(const char *name, size_t length) {
    const int row =
        ptx_find_row(ptx_special_spellings, PTX_ROWS(ptx_special_spellings), name, length);
    return row < 0 ? SPAD__PTX_SPECIAL_COUNT : (spad__ptx_special)row;
}

const char *spad__ptx_op_name(spad__ptx_op op) {
    if (op <= SPAD__PTX_OP_UNKNOWN || op >= SPAD__PTX_OP_COUNT) return "unknown";
    return ptx_op_spellings[op - 1].text;
}

/* ---- the name of an instruction ----------------------------------------------------------- */

static bool ptx_is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The opcode that a name starts with, and its bytes; it ends at a dot, at "::" or with the name. */
static spad__ptx_op ptx_find_op(const char *name, size_t length, size_t *used) {
    size_t ends[OP_SEGMENTS];
    size_t count = 0;
    for (size_t at = 0; at <= length && count < OP_SEGMENTS; at++) {
        const bool ends_here = at == length || name[at] == '.' || ptx_is_blank(name[at]) ||
                               (name[at] == ':' && at + 1 < length && name[at + 1] == ':');
        if (ends_here && at > 0 && name[at - 1] != ':') ends[count++] = at;
    }
    for (; count > 0; count--) {
        *used = ends[count - 1];
        const int row = ptx_bisect(ptx_op_spellings, PTX_ROWS(ptx_op_spellings), name, *used);
        if (row >= 0) return (spad__ptx_op)(row + 1);
    }
    *used = 0;
    while (*used < length && name[*used] != '.') ++*used;
    return SPAD__PTX_OP_UNKNOWN;
}

static spad__ptx_space ptx_find_space(const char *word, size_t length) {
    static const struct {
        ptx_spelling spelling;
        uint8_t space;
    } spaces[] = {
        {{"shared", 6}, SPAD__PTX_SHARED},
        {{"global", 6}, SPAD__PTX_GLOBAL},
        {{"shared::cta", 11}, SPAD__PTX_SHARED},
        {{"shared::cluster", 15}, SPAD__PTX_SHARED_CLUSTER},
        {{"param", 5}, SPAD__PTX_PARAM},
        {{"local", 5}, SPAD__PTX_LOCAL_MEMORY},
        {{"const", 5}, SPAD__PTX_CONST},
        {{"param::entry", 12}, SPAD__PTX_PARAM},
        {{"param::func", 11}, SPAD__PTX_PARAM},
        {{"reg", 3}, SPAD__PTX_REG},
        {{"sreg", 4}, SPAD__PTX_SREG},
    };
    for (size_t i = 0; i < PTX_ROWS(spaces); i++) {
        if (ptx_spelled(&spaces[i].spelling, word, length)) return spaces[i].space;
    }
    return SPAD__PTX_NO_SPACE;
}

/* A number of at most four digits at *at, which is moved behind it; -1: none. */
static int ptx_short_number(const char *word, size_t length, size_t *at) {
    int value = -1;
    for (int digits = 0; digits < 4 && *at < length; digits++, ++*at) {
        const char c = word[*at];
        if (c < '0' || c > '9') break;
        value = (value < 0 ? 0 : value) * 10 + (c - '0');
    }
    return value;
}

/* "m64n128k16". */
static bool ptx_read_shape(spad__ptx_instruction *out, const char *word, size_t length) {
    static const char letters[3] = {'m', 'n', 'k'};
    uint16_t shape[3] = {0};
    size_t at = 0;
    for (int i = 0; i < 3; i++) {
        if (at >= length || word[at] != letters[i]) return false;
        at++;
        const int size = ptx_short_number(word, length, &at);
        if (size < 0) return false;
        shape[i] = (uint16_t)size;
    }
    if (at != length) return false;
    memcpy(out->shape, shape, sizeof shape);
    return true;
}

/* ".v4"; .v1 is a scalar. */
static bool ptx_read_vector(spad__ptx_instruction *out, const char *word, size_t length) {
    if (length != 2 || word[0] != 'v') return false;
    if (word[1] != '1' && word[1] != '2' && word[1] != '4' && word[1] != '8') return false;
    out->vector = (uint8_t)(word[1] - '0');
    return true;
}

static bool ptx_add_type(spad__ptx_instruction *out, const char *word, size_t length) {
    const spad__ptx_type type = spad__ptx_find_type(word, length);
    if (type == SPAD__PTX_NO_TYPE) return false;
    if (out->type_count < SPAD__PTX_TYPES) {
        out->types[out->type_count++] = (uint8_t)type;
    } else {
        out->unknown_word = true;
    }
    return true;
}

static bool ptx_add_space(spad__ptx_instruction *out, const char *word, size_t length) {
    const spad__ptx_space space = ptx_find_space(word, length);
    if (space == SPAD__PTX_NO_SPACE) return false;
    if (out->space == SPAD__PTX_NO_SPACE) {
        out->space = (uint8_t)space;
    } else if (out->second_space == SPAD__PTX_NO_SPACE) {
        out->second_space = (uint8_t)space;
    } else {
        out->unknown_word = true;
    }
    return true;
}

static void ptx_add_word(spad__ptx_instruction *out, int word) {
    out->words.bits[word / 64] |= UINT64_C(1) << (word % 64);
}

static void ptx_read_segment(spad__ptx_instruction *out, const char *word, size_t length) {
    const int row = ptx_bisect(ptx_word_spellings, PTX_ROWS(ptx_word_spellings), word, length);
    if (row >= 0) {
        ptx_add_word(out, row);
        return;
    }
    if (ptx_add_type(out, word, length) || ptx_add_space(out, word, length)) return;
    if (ptx_read_vector(out, word, length) || ptx_read_shape(out, word, length)) return;
    out->unknown_word = true;
}

/* fence.proxy.async.global: the space belongs to the proxy. */
static void ptx_join_async(spad__ptx_instruction *out) {
    static const uint16_t words[SPAD__PTX_SPACES] = {
        [SPAD__PTX_GLOBAL] = SPAD__PTX_WORD_ASYNC_GLOBAL,
        [SPAD__PTX_SHARED] = SPAD__PTX_WORD_ASYNC_SHARED_CTA,
        [SPAD__PTX_SHARED_CLUSTER] = SPAD__PTX_WORD_ASYNC_SHARED_CLUSTER,
    };
    if (out->op != SPAD__PTX_OP_FENCE_PROXY || words[out->space] == 0) return;
    if (spad__ptx_has(out, SPAD__PTX_WORD_ASYNC)) ptx_add_word(out, words[out->space]);
}

void spad__ptx_read_name(spad__ptx_instruction *out, const char *name, size_t length) {
    size_t at;
    out->op = ptx_find_op(name, length, &at);
    out->type_count = 0;
    out->vector = 1;
    out->space = SPAD__PTX_NO_SPACE;
    out->second_space = SPAD__PTX_NO_SPACE;
    memset(out->shape, 0, sizeof out->shape);
    memset(out->types, 0, sizeof out->types);
    memset(&out->words, 0, sizeof out->words);
    out->unknown_word = false;
    while (at < length) {
        while (at < length && (name[at] == '.' || name[at] == ':' || ptx_is_blank(name[at]))) at++;
        const size_t start = at;
        while (at < length && name[at] != '.' && !ptx_is_blank(name[at])) at++;
        if (at > start) ptx_read_segment(out, name + start, at - start);
    }
    ptx_join_async(out);
}
