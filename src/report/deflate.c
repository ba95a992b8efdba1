/* SPDX-License-Identifier: Apache-2.0
 *
 * DEFLATE (RFC 1951) in blocks with codes of their own, and base64 around it. Columns of numbers
 * and the lines of a straight program repeat themselves, so most of the gain is in the matches; the
 * bytes that are left are of few kinds, which their codes use. page_data.js reads it.
 *
 * Matches are found through a table of the last place of every hash of four bytes and a chain to
 * older ones, of which CHAIN are looked at; a match gives way to a longer one a byte later.
 * O(bytes x CHAIN) time, 400 KiB.
 */
#include "report/deflate.h"

#include <string.h>

#include "base/assert.h"

enum {
    HASH_BITS = 15,
    WINDOW = 32768,
    MATCH_LEAST = 4,
    MATCH_MOST = 258,
    MATCH_ENOUGH = 32, /* no look at the next byte for a longer one */
    CHAIN = 24,
    TOKENS = 32768,   /* literals and matches of a block */
    SYMBOLS = 286,    /* literals, the end and lengths */
    DISTANCES = 30,   /* codes of distances */
    CODE_WIDTHS = 19, /* codes of the widths of codes */
    WIDTH_MOST = 15,  /* bits of a code */
    WIDTH_LEAST = 7,  /* the most bits of a code of a width */
    BLOCK_END = 256,
    SIXTY_FOUR = 6 /* bits of a base64 digit */
};

/* A code: how often each symbol is used, and its bits. */
typedef struct prefix_code {
    size_t count;
    uint32_t uses[SYMBOLS];
    uint8_t widths[SYMBOLS]; /* 0: not used */
    uint16_t bits[SYMBOLS];  /* the first one lowest */
} prefix_code;

typedef struct packer {
    spad__out *out;
    const unsigned char *in;
    size_t count;
    int32_t *last;    /* per hash: the last place with it; -1: none */
    int32_t *older;   /* per place modulo WINDOW: the one before it with the same hash */
    uint32_t *tokens; /* of this block: a byte, or length << 16 | distance - 1 */
    size_t token_count;
    prefix_code symbols;
    prefix_code distances;
    uint64_t bits; /* not written yet, the first one lowest */
    unsigned bit_count;
    unsigned char three[3]; /* bytes that base64 turns into four digits */
    size_t three_count;
} packer;

/* ---- bytes out ---------------------------------------------------------------------- */

static void pack_four(packer *p) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char four[4] = {'=', '=', '=', '='};
    uint32_t all = 0;
    for (size_t k = 0; k < 3; k++) all = all << 8 | (k < p->three_count ? p->three[k] : 0u);
    for (size_t k = 0; k <= p->three_count; k++)
        four[k] = digits[all >> (SIXTY_FOUR * (3 - k)) & 63];
    spad__out_bytes(p->out, four, sizeof four);
    p->three_count = 0;
}

static void pack_bits(packer *p, uint32_t value, unsigned count) {
    p->bits |= (uint64_t)value << p->bit_count;
    p->bit_count += count;
    while (p->bit_count >= 8) {
        p->three[p->three_count++] = (unsigned char)(p->bits & 255);
        p->bits >>= 8;
        p->bit_count -= 8;
        if (p->three_count == 3) pack_four(p);
    }
}

/* ---- codes -------------------------------------------------------------------------- */

/* The least used of the roots of a forest, which is then removed; -1: no root is left. */
static int take_least(uint64_t *weights, size_t count) {
    int least = -1;
    for (size_t i = 0; i < count; i++) {
        if (weights[i] > 0 && (least < 0 || weights[i] < weights[least])) least = (int)i;
    }
    return least;
}

/* Widths by Huffman's method. The widest of them. */
static unsigned choose_widths(prefix_code *code) {
    uint64_t weights[2 * SYMBOLS] = {0};
    int parents[2 * SYMBOLS] = {0};
    size_t nodes = code->count;
    unsigned widest = 0;
    for (size_t i = 0; i < nodes; i++) weights[i] = code->uses[i];
    for (;;) {
        const int a = take_least(weights, nodes);
        spad__assert(a >= 0);
        const uint64_t weight = weights[a];
        weights[a] = 0;
        const int b = take_least(weights, nodes);
        parents[a] = b < 0 ? -1 : (int)nodes;
        if (b < 0) break;
        weights[nodes] = weight + weights[b];
        weights[b] = 0;
        parents[b] = (int)nodes++;
    }
    for (size_t i = 0; i < code->count; i++) {
        unsigned width = 0;
        for (int at = (int)i; code->uses[i] > 0 && parents[at] >= 0; at = parents[at]) width++;
        code->widths[i] = (uint8_t)width;
        widest = width > widest ? width : widest;
    }
    return widest;
}

/* Bits of the symbols in the order of widths, then of symbols: the reader needs the widths alone.
 */
static void choose_bits(prefix_code *code) {
    unsigned next = 0;
    for (unsigned width = 1; width <= WIDTH_MOST; width++, next <<= 1) {
        for (size_t i = 0; i < code->count; i++) {
            if (code->widths[i] != width) continue;
            unsigned turned = 0;
            for (unsigned k = 0; k < width; k++) turned |= (next >> k & 1u) << (width - 1 - k);
            code->bits[i] = (uint16_t)turned;
            next++;
        }
    }
}

/* A code of at most `most` bits. At least two symbols are in it, so that no reader finds a gap. */
static void make_code(prefix_code *code, unsigned most) {
    for (size_t i = 0; i < 2; i++) code->uses[i] += code->uses[i] == 0;
    while (choose_widths(code) > most) { /* evens the weights out: all become 1 in the end */
        for (size_t i = 0; i < code->count; i++) {
            code->uses[i] = code->uses[i] / 2 + (code->uses[i] & 1u);
        }
    }
    choose_bits(code);
}

static void pack_symbol(packer *p, const prefix_code *code, size_t symbol) {
    spad__assert(symbol < code->count && code->widths[symbol] > 0);
    pack_bits(p, code->bits[symbol], code->widths[symbol]);
}

/* ---- the head of a block: widths, with runs of equal ones as one ---------------------- */

typedef struct width_run {
    uint8_t symbol; /* a width, or 16: the one before again, 17 and 18: zeros */
    uint8_t extra;  /* how many, less the least */
} width_run;

static size_t equal_run(const uint8_t *widths, size_t at, size_t count) {
    size_t n = 1;
    while (at + n < count && widths[at + n] == widths[at]) n++;
    return n;
}

static size_t find_runs(const uint8_t *widths, size_t count, width_run *runs) {
    size_t found = 0;
    for (size_t at = 0; at < count;) {
        size_t n = equal_run(widths, at, count);
        if (widths[at] == 0 && n >= 11) {
            n = n < 138 ? n : 138;
            runs[found++] = (width_run){18, (uint8_t)(n - 11)};
        } else if (widths[at] == 0 && n >= 3) {
            runs[found++] = (width_run){17, (uint8_t)(n - 3)};
        } else if (at > 0 && widths[at] == widths[at - 1] && n >= 3) {
            n = n < 6 ? n : 6;
            runs[found++] = (width_run){16, (uint8_t)(n - 3)};
        } else {
            n = 1;
            runs[found++] = (width_run){widths[at], 0};
        }
        at += n;
    }
    return found;
}

static void pack_head(packer *p, bool last) {
    static const uint8_t order[CODE_WIDTHS] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                               11, 4,  12, 3, 13, 2, 14, 1, 15};
    uint8_t widths[SYMBOLS + DISTANCES];
    width_run runs[SYMBOLS + DISTANCES];
    prefix_code code = {.count = CODE_WIDTHS};
    memcpy(widths, p->symbols.widths, SYMBOLS);
    memcpy(widths + SYMBOLS, p->distances.widths, DISTANCES);
    const size_t count = find_runs(widths, SYMBOLS + DISTANCES, runs);
    for (size_t i = 0; i < count; i++) code.uses[runs[i].symbol]++;
    make_code(&code, WIDTH_LEAST);
    pack_bits(p, last, 1);
    pack_bits(p, 2, 2); /* with codes of its own */
    pack_bits(p, SYMBOLS - 257, 5);
    pack_bits(p, DISTANCES - 1, 5);
    pack_bits(p, CODE_WIDTHS - 4, 4);
    for (size_t i = 0; i < CODE_WIDTHS; i++) pack_bits(p, code.widths[order[i]], 3);
    for (size_t i = 0; i < count; i++) {
        static const uint8_t extra[] = {2, 3, 7};
        pack_symbol(p, &code, runs[i].symbol);
        if (runs[i].symbol >= 16) pack_bits(p, runs[i].extra, extra[runs[i].symbol - 16]);
    }
}

/* ---- tokens ------------------------------------------------------------------------- */

/* A symbol with extra bits. Lengths are 257 + 4 per power of two, distances 2 per power of two. */
typedef struct symbol_parts {
    size_t symbol;
    unsigned extra;
    uint32_t rest;
} symbol_parts;

static symbol_parts length_parts(size_t length) {
    spad__assert(length >= 3 && length <= MATCH_MOST);
    const uint32_t l = (uint32_t)length - 3;
    symbol_parts out = {285, 0, 0};
    if (length == MATCH_MOST) return out;
    while (l >> out.extra >= 8) out.extra++;
    out.symbol = l < 8 ? 257 + l : 257 + 4 * out.extra + (l >> out.extra);
    out.rest = l & ((1u << out.extra) - 1);
    return out;
}

static symbol_parts distance_parts(uint32_t d) {
    symbol_parts out = {0, 0, 0};
    while (d >> out.extra >= 4) out.extra++;
    out.symbol = d < 4 ? d : 2 * out.extra + (d >> out.extra);
    out.rest = d & ((1u << out.extra) - 1);
    return out;
}

static void pack_block(packer *p, bool last) {
    p->symbols = (prefix_code){.count = SYMBOLS};
    p->distances = (prefix_code){.count = DISTANCES};
    p->symbols.uses[BLOCK_END] = 1;
    for (size_t i = 0; i < p->token_count; i++) {
        const uint32_t token = p->tokens[i], length = token >> 16;
        p->symbols.uses[length > 0 ? length_parts(length).symbol : token]++;
        if (length > 0) p->distances.uses[distance_parts(token & 0xffff).symbol]++;
    }
    make_code(&p->symbols, WIDTH_MOST);
    make_code(&p->distances, WIDTH_MOST);
    pack_head(p, last);
    for (size_t i = 0; i < p->token_count; i++) {
        const uint32_t token = p->tokens[i];
        if (token >> 16 == 0) {
            pack_symbol(p, &p->symbols, token);
            continue;
        }
        const symbol_parts length = length_parts(token >> 16),
                           distance = distance_parts(token & 0xffff);
        pack_symbol(p, &p->symbols, length.symbol);
        pack_bits(p, length.rest, length.extra);
        pack_symbol(p, &p->distances, distance.symbol);
        pack_bits(p, distance.rest, distance.extra);
    }
    pack_symbol(p, &p->symbols, BLOCK_END);
    p->token_count = 0;
}

static void add_token(packer *p, uint32_t token) {
    if (p->token_count == TOKENS) pack_block(p, false);
    p->tokens[p->token_count++] = token;
}

/* ---- matches ------------------------------------------------------------------------ */

static uint32_t hash_at(const packer *p, size_t at) {
    const unsigned char *b = p->in + at;
    const uint32_t word = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 |
                          (uint32_t)b[3] << 24; /* the same on every machine */
    return word * 2654435761u >> (32 - HASH_BITS);
}

static void remember_place(packer *p, size_t at) {
    if (at + MATCH_LEAST > p->count) return;
    const uint32_t hash = hash_at(p, at);
    p->older[at % WINDOW] = p->last[hash];
    p->last[hash] = (int32_t)at;
}

static size_t match_length(const packer *p, size_t from, size_t at) {
    const size_t most = p->count - at < MATCH_MOST ? p->count - at : MATCH_MOST;
    size_t n = 0;
    while (n < most && p->in[from + n] == p->in[at + n]) n++;
    return n;
}

/* The longest match of those looked at; 0: none. */
static size_t find_match(const packer *p, size_t at, size_t *distance) {
    size_t best = 0;
    if (at + MATCH_LEAST > p->count) return 0;
    int64_t from = p->last[hash_at(p, at)];
    for (int k = 0; k < CHAIN && from >= 0 && at - (size_t)from <= WINDOW - 1; k++) {
        const size_t length = match_length(p, (size_t)from, at);
        if (length > best) {
            best = length;
            *distance = at - (size_t)from;
        }
        const int64_t next = p->older[(size_t)from % WINDOW];
        if (next >= from) break; /* the place was used again */
        from = next;
    }
    return best >= MATCH_LEAST ? best : 0;
}

/* A match, unless there is a longer one a byte later. */
static size_t choose_match(const packer *p, size_t at, size_t *distance) {
    size_t next;
    const size_t length = find_match(p, at, distance);
    if (length == 0 || length >= MATCH_ENOUGH || at + 1 >= p->count) return length;
    return find_match(p, at + 1, &next) > length + 1 ? 0 : length;
}

static void pack(packer *p) {
    for (size_t at = 0; at < p->count;) {
        size_t distance = 0;
        size_t length = choose_match(p, at, &distance);
        add_token(p, length > 0 ? (uint32_t)(length << 16 | (distance - 1)) : p->in[at]);
        length += length == 0;
        for (size_t k = 0; k < length; k++) remember_place(p, at + k);
        at += length;
    }
    pack_block(p, true);
    pack_bits(p, 0, 7); /* fills the last byte */
    if (p->three_count > 0) pack_four(p);
}

bool spad__out_deflated(spad__out *out, const spad_host *host, const char *bytes, size_t count) {
    const size_t places = ((size_t)1 << HASH_BITS) + WINDOW;
    packer p = {.out = out, .in = (const unsigned char *)bytes, .count = count};
    if (count > INT32_MAX) return false;
    p.last = spad__new_array(host, places, sizeof *p.last);
    p.tokens = spad__new_array(host, TOKENS, sizeof *p.tokens);
    const bool fine = p.last != NULL && p.tokens != NULL;
    if (fine) {
        p.older = p.last + ((size_t)1 << HASH_BITS);
        for (size_t i = 0; i < places; i++) p.last[i] = -1;
        pack(&p);
    }
    if (p.last != NULL) spad__free(host, p.last, places * sizeof *p.last);
    if (p.tokens != NULL) spad__free(host, p.tokens, TOKENS * sizeof *p.tokens);
    return fine;
}
