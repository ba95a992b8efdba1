/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that are nearly right: a text with every statement and clause of the language, cut off
 * after each of its words, with a word left out, with a word doubled, and with a sign instead of a
 * word. Whatever the reader makes of it, it fails with a place in the text and a message, or gives
 * a kernel; and it needs no more host memory than it is given. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "spad/spad.h"
#include "support/kernels.h"
#include "support/support.h"

static const char *const texts[] = {
    "kernel all on sm_90 \"every statement\"\n"
    "param N = 4 * 2\n"
    "unit tma on copy free proxy\n"
    "unit mma on tensor same\n"
    "unit odd on \"copy\" fifo\n"
    "barrier bar[2] count 256\n"
    "mbarrier full[2] count 1\n"
    "counter c[2] = 3\n"
    "group g\n"
    "tensor in : global bf16 [N] (64, 64) input\n"
    "tensor out : global f32 [N] (64, 64) output\n"
    "tensor keep : global u8 (64) persistent\n"
    "tensor x : shared bf16 [N] (64, 64) ring 2 align 128\n"
    "tensor r : shared bf16 [N, 2] (8, 8) ring [2, 1]\n"
    "tensor y : shared u8 (8192) at 32 KiB step 8 KiB\n"
    "tensor z : shared bf16 [3] (64) alias of y + 16 B\n"
    "tensor w : shared bf16 [3] (8) alias of x[1] + 16 ring 1\n"
    "agent p {\n"
    "for i in 0..N {\n"
    "init full[i % 2] count 1\n"
    "expect full[i % 2] by 8192\n"
    "wait c[0] >= 1 relaxed\n"
    "take c[i % 2] by 1\n"
    "tma load reads in[i] writes x[i] delivers full[i % 2] cost 100 cycles\n"
    "mma go reads x[i](0..8, ..), z[0] in g\n"
    "commit g\n"
    "wait g pending 1 reads\n"
    "arrive full[1] by 1 drop\n"
    "signal c[1] on mma\n"
    "sync bar[0] by 128\n"
    "invalidate full[0]\n"
    "drain mma; drain all; fence\n"
    "}\n"
    "}\n"
    "agent q {\n"
    "for j in 1..(N - 1) parallel {\n"
    "if j % 2 == 0 and j != 3 { wait full[0] parity 0 } else { arrive bar[1] by 128 }\n"
    "simt op reads z[j % 3] writes out[j](.., 7), r[j, j % 2] cost 5 ns\n"
    "}\n"
    "}\n",
    "kernel scoped on trn2\n"
    "param N = 6\n"
    "region sbuf 0..100 KiB as exact\n"
    "tensor in : hbm bf16 [N] (128, 64) input\n"
    "tensor m : sbuf bf16 [4] (32, 64) mod base 128 KiB lane 32 free [2] par 2\n"
    "tensor b : psum f32 [4] (128, 64) mod bank 1 banks 2\n"
    "scope s sections 2 {\n"
    "tensor h : sbuf f32 (128, 16) heap align 64\n"
    "for i in 0..N {\n"
    "tensor t : sbuf f32 [2] (128, 16) stack\n"
    "dma load reads in[i](0..128, -i + 6..8) writes t[i % 2](.., ..)\n"
    "vector add reads t[0], m[(i + 1) / 2] updates h writes b[i % 4]\n"
    "next section\n"
    "}\n"
    "free h\n"
    "}\n",
};
enum { TEXTS = sizeof texts / sizeof texts[0], TEXT_MAX = 3000 };

enum { WORDS_MAX = 600 };

typedef struct span {
    size_t begin, end;
} span;

/* The words, numbers, texts and signs. */
static size_t split(span *spans, const char *whole) {
    size_t count = 0;
    for (size_t at = 0; whole[at] != '\0';) {
        size_t end = at + 1;
        if (whole[at] == '"') {
            while (whole[end] != '"') end++;
            end++;
        } else if (isalnum((unsigned char)whole[at])) {
            while (isalnum((unsigned char)whole[end]) || whole[end] == '_') end++;
        }
        assert_true(count < WORDS_MAX);
        if (whole[at] != ' ') spans[count++] = (span){at, end};
        at = end;
    }
    return count;
}

/* Reads a text; true: it is a kernel. */
static bool is_kernel(const char *text) {
    spad_kernel *kernel = NULL;
    spad_error error = {0};
    const spad_status status =
        spad_kernel_parse(&kernel, text, strlen(text), "cut.spad", NULL, NULL, &error);
    if (status == SPAD_OK) {
        spad_kernel_destroy(kernel);
        return true;
    }
    int32_t lines = 1;
    for (const char *c = text; *c != '\0'; c++) lines += *c == '\n';
    if (kernel != NULL || error.code != status || error.message[0] == '\0' || error.line < 1 ||
        error.line > lines || error.column < 1 || strcmp(error.file, "cut.spad") != 0) {
        print_error("%s\nline %d of %d, column %d, %s\n", text, (int)error.line, (int)lines,
                    (int)error.column, error.message);
        fail();
    }
    return false;
}

/* The text with another one instead of the span. */
static void replace(char *out, const char *whole, span s, const char *other) {
    snprintf(out, TEXT_MAX, "%.*s%s%s", (int)s.begin, whole, other, whole + s.end);
}

static void a_text_that_ends_early_is_refused(void **state) {
    (void)state;
    for (size_t n = 0; n < TEXTS; n++) {
        static span spans[WORDS_MAX];
        const size_t count = split(spans, texts[n]);
        size_t kernels = 0;
        assert_true(is_kernel(texts[n]));
        for (size_t i = 0; i < count; i++) {
            char text[TEXT_MAX] = "";
            memcpy(text, texts[n], spans[i].end);
            kernels += is_kernel(text);
        }
        assert_true(kernels < count / 2); /* a cut inside a block gives no kernel */
    }
}

static void a_word_that_is_missing_or_wrong_has_a_place(void **state) {
    (void)state;
    static const char *const others[] = {"", "@", "..", "12", "\"text\"", "nowhere", "("};
    for (size_t n = 0; n < TEXTS; n++) {
        static span spans[WORDS_MAX];
        const size_t count = split(spans, texts[n]);
        for (size_t o = 0; o < sizeof others / sizeof others[0]; o++) {
            size_t kernels = 0;
            for (size_t i = 0; i < count; i++) {
                char text[TEXT_MAX];
                replace(text, texts[n], spans[i], others[o]);
                kernels += is_kernel(text);
            }
            assert_true(kernels < count / 2);
        }
    }
}

static void a_word_that_is_doubled_has_a_place(void **state) {
    (void)state;
    for (size_t n = 0; n < TEXTS; n++) {
        static span spans[WORDS_MAX];
        const size_t count = split(spans, texts[n]);
        size_t kernels = 0;
        for (size_t i = 0; i < count; i++) {
            char text[TEXT_MAX];
            char twice[100];
            const char *word = texts[n] + spans[i].begin;
            const int length = (int)(spans[i].end - spans[i].begin);
            snprintf(twice, sizeof twice, "%.*s %.*s", length, word, length, word);
            replace(text, texts[n], spans[i], twice);
            kernels += is_kernel(text);
        }
        assert_true(kernels < count / 2);
    }
}

/* What is written is read again as the same; with an allocation that fails at each place. */
static spad_status read_and_write(const spad_host *host, void *payload) {
    const char *whole = payload;
    spad_error error;
    spad_kernel *kernel;
    spad_kernel *again = NULL;
    const spad_define defines[] = {{"N", 6}};
    const spad_kernel_options options = {.host = host, .defines = defines, .define_count = 1};
    spad_status status =
        spad_kernel_parse(&kernel, whole, strlen(whole), "whole.spad", &options, NULL, &error);
    if (status != SPAD_OK) return status;
    test_text text;
    test_text other;
    test_text_init(&text);
    test_text_init(&other);
    status = spad_kernel_write_text(kernel, &text.sink, &error);
    if (status == SPAD_OK)
        status =
            spad_kernel_parse(&again, text.bytes, text.count, "again.spad", &options, NULL, &error);
    if (status == SPAD_OK) status = spad_kernel_write_text(again, &other.sink, &error);
    if (status == SPAD_OK) assert_string_equal(text.bytes, other.bytes);
    spad_kernel_destroy(again);
    spad_kernel_destroy(kernel);
    test_text_free(&text);
    test_text_free(&other);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    for (size_t n = 0; n < TEXTS; n++) {
        char text[TEXT_MAX];
        snprintf(text, sizeof text, "%s", texts[n]);
        test_fail_each_allocation(read_and_write, text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_that_ends_early_is_refused),
        cmocka_unit_test(a_word_that_is_missing_or_wrong_has_a_place),
        cmocka_unit_test(a_word_that_is_doubled_has_a_place),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
