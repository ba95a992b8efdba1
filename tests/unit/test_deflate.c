/* SPDX-License-Identifier: Apache-2.0
 *
 * The packed data of large pages, against a reader of DEFLATE written for this test alone.
 */
#include "support/support.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "report/deflate.h"

/* ---- a reader ----------------------------------------------------------------------- */

typedef struct bit_reader {
    unsigned char *bytes;
    size_t count;
    size_t at; /* bits */
} bit_reader;

static int digit_of(char c) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = strchr(digits, c);
    assert_non_null(found);
    return (int)(found - digits);
}

static bit_reader read_base64(const char *text, size_t length) {
    assert_int_equal(length % 4, 0);
    bit_reader r = {.bytes = malloc(length + 1)};
    assert_non_null(r.bytes);
    for (size_t i = 0; i < length; i += 4) {
        const size_t digits = text[i + 2] == '=' ? 2 : text[i + 3] == '=' ? 3 : 4;
        unsigned all = 0;
        for (size_t k = 0; k < 4; k++)
            all = all << 6 | (k < digits ? (unsigned)digit_of(text[i + k]) : 0u);
        for (size_t k = 0; k + 1 < digits; k++)
            r.bytes[r.count++] = (unsigned char)(all >> (16 - 8 * k) & 255u);
    }
    return r;
}

static unsigned bit(bit_reader *r) {
    assert_true(r->at < 8 * r->count);
    const unsigned byte = r->bytes[r->at / 8];
    const unsigned value = byte >> (r->at % 8) & 1u;
    r->at++;
    return value;
}

static unsigned low_first(bit_reader *r, unsigned count) {
    unsigned value = 0;
    for (unsigned k = 0; k < count; k++) value |= bit(r) << k;
    return value;
}

/* A code by the widths of its symbols (RFC 1951, section 3.2.2), read bit by bit. It has no gap. */
typedef struct code_book {
    unsigned widths[320];
    size_t count;
    unsigned many[16]; /* per width: its codes */
} code_book;

static unsigned symbol(bit_reader *r, const code_book *book) {
    unsigned code = 0;
    unsigned first = 0;
    for (unsigned width = 1; width <= 15; width++) {
        code = code << 1 | bit(r);
        first <<= 1;
        unsigned turn = code - first;
        for (size_t i = 0; code >= first && turn < book->many[width] && i < book->count; i++) {
            if (book->widths[i] == width && turn-- == 0) return (unsigned)i;
        }
        first += book->many[width];
    }
    fail_msg("no such code");
    return 0;
}

static void assert_complete(code_book *book, unsigned most) {
    for (unsigned width = 0; width < 16; width++) book->many[width] = 0;
    unsigned sum = 0; /* of the shares of all codes, in 2^-15 */
    for (size_t i = 0; i < book->count; i++) {
        assert_true(book->widths[i] <= most);
        book->many[book->widths[i]]++;
        if (book->widths[i] > 0) sum += 1u << (15 - book->widths[i]);
    }
    assert_int_equal(sum, 1u << 15);
}

static void read_books(bit_reader *r, code_book *symbols, code_book *distances) {
    static const unsigned order[] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                     11, 4,  12, 3, 13, 2, 14, 1, 15};
    code_book head = {.count = 19};
    unsigned all[320];
    symbols->count = low_first(r, 5) + 257;
    distances->count = low_first(r, 5) + 1;
    const size_t many = low_first(r, 4) + 4;
    for (size_t i = 0; i < many; i++) head.widths[order[i]] = low_first(r, 3);
    assert_complete(&head, 7);
    for (size_t i = 0; i < symbols->count + distances->count;) {
        const unsigned s = symbol(r, &head);
        size_t times = s == 16 ? 3 + low_first(r, 2) : s == 17 ? 3 + low_first(r, 3) : 1;
        if (s == 18) times = 11 + low_first(r, 7);
        assert_true(s != 16 || i > 0);
        assert_true(i + times <= symbols->count + distances->count);
        for (; times > 0; times--, i++) all[i] = s < 16 ? s : s == 16 ? all[i - 1] : 0;
    }
    for (size_t i = 0; i < symbols->count; i++) symbols->widths[i] = all[i];
    for (size_t i = 0; i < distances->count; i++) distances->widths[i] = all[symbols->count + i];
    assert_complete(symbols, 15);
    assert_complete(distances, 15);
}

/* Tables of RFC 1951, section 3.2.5. */
static const unsigned length_base[] = {3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
                                       15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
                                       67, 83, 99, 115, 131, 163, 195, 227, 258};
static const unsigned length_extra[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                        2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
static const unsigned distance_base[] = {
    1,   2,   3,   4,   5,   7,    9,    13,   17,   25,   33,   49,   65,    97,    129,
    193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
static const unsigned distance_extra[] = {0, 0, 0, 0, 1, 1, 2, 2,  3,  3,  4,  4,  5,  5,  6,
                                          6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};

static size_t read_block(bit_reader *r, char *out, size_t to, size_t count) {
    code_book symbols;
    code_book distances;
    read_books(r, &symbols, &distances);
    for (unsigned s; (s = symbol(r, &symbols)) != 256;) {
        if (s < 256) {
            assert_true(to < count);
            out[to++] = (char)s;
            continue;
        }
        assert_in_range(s, 257, 285);
        const size_t many = length_base[s - 257] + low_first(r, length_extra[s - 257]);
        const unsigned d = symbol(r, &distances);
        assert_true(d < 30);
        const size_t back = distance_base[d] + low_first(r, distance_extra[d]);
        assert_true(back <= to && many <= count - to);
        for (size_t k = 0; k < many; k++, to++) out[to] = out[to - back];
    }
    return to;
}

static void assert_unpacks(const char *packed, size_t length, const char *bytes, size_t count) {
    bit_reader r = read_base64(packed, length);
    char *out = malloc(count + 1);
    size_t to = 0;
    assert_non_null(out);
    for (bool last = false; !last;) {
        last = low_first(&r, 1) == 1;
        assert_int_equal(low_first(&r, 2), 2);
        to = read_block(&r, out, to, count);
    }
    assert_int_equal(to, count);
    assert_memory_equal(out, bytes, count);
    assert_true(8 * r.count - r.at < 8);
    free(out);
    free(r.bytes);
}

/* ---- the tests ---------------------------------------------------------------------- */

static size_t pack_and_compare(const char *bytes, size_t count) {
    const spad_host host = spad__host_or_default(NULL);
    test_text text;
    spad__out out;
    spad_error error;
    test_text_init(&text);
    spad__out_start(&out, &text.sink);
    assert_true(spad__out_deflated(&out, &host, bytes, count));
    assert_ok(spad__out_finish(&out, &error), &error);
    assert_unpacks(text.bytes, text.count, bytes, count);
    const size_t length = text.count;
    test_text_free(&text);
    return length;
}

static void every_length_comes_back(void **state) {
    (void)state;
    enum { MOST = 560 };
    char bytes[MOST];
    for (size_t i = 0; i < MOST; i++) bytes[i] = (char)("abc"[i % 3]);
    for (size_t count = 0; count < MOST; count += count < 300 ? 1 : 7)
        pack_and_compare(bytes, count);
    for (size_t i = 0; i < MOST; i++) bytes[i] = (char)(255 - i % 256);
    for (size_t count = 0; count < 300; count += 3) pack_and_compare(bytes, count);
}

static void random_bytes_come_back(void **state) {
    (void)state;
    enum { MOST = 120000 };
    char *bytes = malloc(MOST);
    assert_non_null(bytes);
    spad__random random = {3};
    for (int turn = 0; turn < 6; turn++) {
        const uint64_t kinds = (uint64_t)1 << spad__random_below(&random, 9);
        const size_t period =
            (size_t)spad__random_in(&random, 1, 70000); /* also out of the window */
        for (size_t i = 0; i < MOST; i++)
            bytes[i] = i >= period && spad__random_below(&random, 50) > 0
                           ? bytes[i - period]
                           : (char)spad__random_below(&random, kinds);
        pack_and_compare(bytes, MOST);
    }
    free(bytes);
}

static void repeated_text_becomes_short(void **state) {
    (void)state;
    enum { MOST = 100000 };
    char *bytes = malloc(MOST);
    assert_non_null(bytes);
    for (size_t i = 0; i < MOST; i++) bytes[i] = "dma load reads a writes x\n"[i % 26];
    assert_true(pack_and_compare(bytes, MOST) < MOST / 50);
    free(bytes);
}

/* Symbols of which each is used as often as the two before it together would have codes of more
 * than fifteen bits; and numbers of few kinds become shorter than a byte. */
static void uneven_bytes_come_back(void **state) {
    (void)state;
    enum { KINDS = 22 };
    size_t count = 0;
    char *bytes = malloc(100000);
    assert_non_null(bytes);
    size_t before = 1;
    size_t now = 1;
    for (int kind = 0; kind < KINDS; kind++) {
        for (size_t i = 0; i < now; i++) bytes[count++] = (char)(kind * 7);
        const size_t next = before + now;
        before = now;
        now = next;
    }
    spad__random random = {5};
    for (size_t i = count - 1; i > 0; i--) { /* in any order, so that there are few matches */
        const size_t j = (size_t)spad__random_below(&random, i + 1);
        const char kept = bytes[i];
        bytes[i] = bytes[j];
        bytes[j] = kept;
    }
    assert_true(pack_and_compare(bytes, count) < count * 4 / 3 / 2);
    free(bytes);
}

static spad_status pack_once(const spad_host *host, void *context) {
    test_text *text = context;
    spad__out out;
    spad__out_start(&out, &text->sink);
    return spad__out_deflated(&out, host, "abc", 3) ? SPAD_OK : SPAD_ERR_HOST_MEMORY;
}

static void memory_may_fail(void **state) {
    (void)state;
    test_text text;
    test_text_init(&text);
    test_fail_each_allocation(pack_once, &text);
    test_text_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_length_comes_back), cmocka_unit_test(random_bytes_come_back),
        cmocka_unit_test(uneven_bytes_come_back),  cmocka_unit_test(repeated_text_becomes_short),
        cmocka_unit_test(memory_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
