/* SPDX-License-Identifier: Apache-2.0
 *
 * Unpacks LZ4 blocks: sequences of literals, then a copy of earlier output. Every length is
 * compared with what is left of input and output before bytes move.
 *
 * Reference: LZ4 block format description, lz4.org.
 */
#include "frontend/ptx/image/lz4.h"

#include <string.h>

enum { LEAST_MATCH = 4, LONG_LENGTH = 15 };

typedef struct lz4_reader {
    const uint8_t *at;
    const uint8_t *end;
} lz4_reader;

/* A length of four bits; 15 continues in bytes up to one below 255. */
static bool take_lz4_length(lz4_reader *r, size_t bits, size_t most, size_t *out) {
    size_t length = bits;
    uint8_t next = 255;
    while (bits == LONG_LENGTH && next == 255) {
        if (r->at == r->end || length > most) return false;
        next = *r->at++;
        length += next;
    }
    *out = length;
    return length <= most;
}

/* A copy may overlap the output that it makes: byte after byte. */
static void repeat_output(uint8_t *to, size_t distance, size_t length) {
    const uint8_t *from = to - distance;
    for (size_t i = 0; i < length; i++) to[i] = from[i];
}

bool spad__lz4_unpack(uint8_t *to, size_t to_bytes, const uint8_t *from, size_t from_bytes) {
    lz4_reader r = {from, from + from_bytes};
    size_t used = 0, length;
    while (r.at < r.end) {
        const uint8_t token = *r.at++;
        if (!take_lz4_length(&r, token >> 4, to_bytes - used, &length)) return false;
        if (length > (size_t)(r.end - r.at)) return false;
        memcpy(to + used, r.at, length);
        r.at += length;
        used += length;
        if (r.at == r.end) break; /* the last sequence has literals only */
        if (r.end - r.at < 2) return false;
        const size_t distance = (size_t)r.at[0] | (size_t)r.at[1] << 8;
        r.at += 2;
        if (distance == 0 || distance > used) return false;
        if (!take_lz4_length(&r, token & LONG_LENGTH, to_bytes - used, &length)) return false;
        if (length + LEAST_MATCH > to_bytes - used) return false;
        repeat_output(to + used, distance, length + LEAST_MATCH);
        used += length + LEAST_MATCH;
    }
    return used == to_bytes;
}
