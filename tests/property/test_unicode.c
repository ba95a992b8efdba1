/* SPDX-License-Identifier: Apache-2.0
 * Characters: every code point there is, encoded by the book, and every sequence of two or three
 * bytes and many of four against a literal reading of the table of well-formed sequences (Unicode,
 * table 3-7). */
#include "support/support.h"

#include <string.h>

#include "base/diagnostics.h"
#include "base/text.h"

/* Returns the bytes written. */
static size_t encode(uint32_t code, char *to) {
    unsigned char *b = (unsigned char *)to;
    if (code < 0x80) {
        b[0] = (unsigned char)code;
        return 1;
    }
    const size_t size = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char heads[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = size; i-- > 1; code >>= 6) b[i] = (unsigned char)(0x80 | (code & 0x3F));
    b[0] = (unsigned char)(heads[size] | code);
    return size;
}

typedef struct range {
    uint32_t first;
    uint32_t last;
} range;

static bool is_in(const range *ranges, size_t count, uint32_t code) {
    for (size_t i = 0; i < count; i++) {
        if (code >= ranges[i].first && code <= ranges[i].last) return true;
    }
    return false;
}

static void every_code_point(void **state) {
    (void)state;
    /* controls, soft hyphen, Arabic letter mark, zero widths and marks, separators and embeddings,
     * invisible operators and isolates, byte order mark, noncharacters, tags */
    static const range hidden[] = {
        {0, 0x1F},        {0x7F, 0x9F},     {0xAD, 0xAD},     {0x61C, 0x61C},   {0x200B, 0x200F},
        {0x2028, 0x202E}, {0x2060, 0x206F}, {0xFEFF, 0xFEFF}, {0xFFFE, 0xFFFF}, {0xE0000, 0xE0FFF}};
    for (uint32_t code = 0; code <= 0x10FFFF; code++) {
        char text[8] = "";
        const size_t size = encode(code, text);
        const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
        assert_int_equal(spad__utf8_length(text, size), surrogate ? 0 : size);
        if (size > 1) assert_int_equal(spad__utf8_length(text, size - 1), 0);
        if (surrogate) continue;
        assert_int_equal(spad__utf8_decode(text, size), code);
        const bool unseen = is_in(hidden, sizeof hidden / sizeof hidden[0], code);
        assert_int_equal(spad__is_hidden(code), unseen);
        assert_int_equal(spad__is_harmful(text, size), unseen);
    }
}

/* Shorter forms exist, it is a surrogate, or beyond the last code point: not well formed. */
static size_t size_by_table(const unsigned char *b, size_t length) {
    static const struct {
        unsigned char first[2];
        unsigned char second[2];
        size_t size;
    } rows[] = {
        {{0x00, 0x7F}, {0, 0}, 1},       {{0xC2, 0xDF}, {0x80, 0xBF}, 2},
        {{0xE0, 0xE0}, {0xA0, 0xBF}, 3}, {{0xE1, 0xEC}, {0x80, 0xBF}, 3},
        {{0xED, 0xED}, {0x80, 0x9F}, 3}, {{0xEE, 0xEF}, {0x80, 0xBF}, 3},
        {{0xF0, 0xF0}, {0x90, 0xBF}, 4}, {{0xF1, 0xF3}, {0x80, 0xBF}, 4},
        {{0xF4, 0xF4}, {0x80, 0x8F}, 4},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (b[0] < rows[i].first[0] || b[0] > rows[i].first[1]) continue;
        bool fine = rows[i].size <= length;
        if (fine && rows[i].size > 1) fine = b[1] >= rows[i].second[0] && b[1] <= rows[i].second[1];
        for (size_t k = 2; fine && k < rows[i].size; k++) fine = b[k] >= 0x80 && b[k] <= 0xBF;
        return fine ? rows[i].size : 0;
    }
    return 0;
}

static void every_sequence(void **state) {
    (void)state;
    static const unsigned char ends[] = {0x00, 0x7F, 0x80, 0xBF, 0xC0, 0xFF};
    for (uint32_t n = 0; n < UINT32_C(1) << 16; n++) {
        for (size_t third = 0; third < sizeof ends * sizeof ends; third++) {
            const unsigned char b[] = {(unsigned char)(n >> 8), (unsigned char)n,
                                       ends[third / sizeof ends], ends[third % sizeof ends]};
            char text[4];
            memcpy(text, b, sizeof text);
            for (size_t length = 1; length <= 4; length++) {
                if (spad__utf8_length(text, length) != size_by_table(b, length)) {
                    print_error("%02x %02x %02x %02x, %zu bytes\n", b[0], b[1], b[2], b[3], length);
                    fail();
                }
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_code_point),
                                       cmocka_unit_test(every_sequence)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
