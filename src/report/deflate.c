/* SPDX-License-Identifier: Apache-2.0
 *
 * DEFLATE (RFC 1951) in one block with the fixed codes, and base64 around it. Columns of numbers
 * and the lines of a straight program repeat themselves, so most of the gain is in the matches, and
 * the page needs few lines to read it (page_data.js).
 *
 * Matches are found through a table of the last place of every hash of four bytes and a chain to
 * older ones, of which CHAIN are looked at. O(bytes x CHAIN) time, 256 KiB.
 */
#include "report/deflate.h"

#include "base/assert.h"

enum {
    HASH_BITS = 15,
    WINDOW = 32768,
    MATCH_LEAST = 4,
    MATCH_MOST = 258,
    CHAIN = 16,
    SIXTY_FOUR = 6 /* bits of a base64 digit */
};

typedef struct packer {
    spad__out *out;
    const unsigned char *in;
    size_t count;
    int32_t *last;  /* per hash: the last place with it; -1: none */
    int32_t *older; /* per place modulo WINDOW: the one before it with the same hash */
    uint64_t bits;  /* not written yet, the first one lowest */
    unsigned bit_count;
    unsigned char three[3]; /* bytes of which base64 makes four digits */
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

/* A code of the tables, whose first bit is its highest. */
static void pack_code(packer *p, uint32_t code, unsigned count) {
    uint32_t turned = 0;
    for (unsigned k = 0; k < count; k++) turned |= (code >> k & 1) << (count - 1 - k);
    pack_bits(p, turned, count);
}

/* ---- symbols ------------------------------------------------------------------------ */

static void pack_symbol(packer *p, uint32_t symbol) {
    if (symbol < 144) {
        pack_code(p, 0x30 + symbol, 8);
    } else if (symbol < 256) {
        pack_code(p, 0x190 + symbol - 144, 9);
    } else if (symbol < 280) {
        pack_code(p, symbol - 256, 7);
    } else {
        pack_code(p, 0xc0 + symbol - 280, 8);
    }
}

/* Lengths are 257 + 4 per power of two, distances 2 per power of two; the rest are extra bits. */
static void pack_match(packer *p, size_t length, size_t distance) {
    spad__assert(length >= 3 && length <= MATCH_MOST && distance >= 1 && distance <= WINDOW);
    if (length == MATCH_MOST) {
        pack_symbol(p, 285);
    } else {
        const uint32_t l = (uint32_t)length - 3;
        unsigned extra = 0;
        while (l >> extra >= 8) extra++;
        pack_symbol(p, l < 8 ? 257 + l : 257 + 4 * extra + (l >> extra));
        pack_bits(p, l & ((1u << extra) - 1), extra);
    }
    const uint32_t d = (uint32_t)distance - 1;
    unsigned extra = 0;
    while (d >> extra >= 4) extra++;
    pack_code(p, d < 4 ? d : 2 * extra + (d >> extra), 5);
    pack_bits(p, d & ((1u << extra) - 1), extra);
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

static void pack(packer *p) {
    pack_bits(p, 1, 1); /* the last block, */
    pack_bits(p, 1, 2); /* with the fixed codes */
    for (size_t at = 0; at < p->count;) {
        size_t distance = 0;
        size_t length = find_match(p, at, &distance);
        if (length > 0) {
            pack_match(p, length, distance);
        } else {
            pack_symbol(p, p->in[at]);
            length = 1;
        }
        for (size_t k = 0; k < length; k++) remember_place(p, at + k);
        at += length;
    }
    pack_symbol(p, 256);
    pack_bits(p, 0, 7); /* fills the last byte */
    if (p->three_count > 0) pack_four(p);
}

bool spad__out_deflated(spad__out *out, const spad_host *host, const char *bytes, size_t count) {
    const size_t room = ((size_t)1 << HASH_BITS) + WINDOW;
    packer p = {.out = out, .in = (const unsigned char *)bytes, .count = count};
    if (count > INT32_MAX) return false;
    p.last = spad__new_array(host, room, sizeof *p.last);
    if (p.last == NULL) return false;
    p.older = p.last + ((size_t)1 << HASH_BITS);
    for (size_t i = 0; i < room; i++) p.last[i] = -1;
    pack(&p);
    spad__free(host, p.last, room * sizeof *p.last);
    return true;
}
