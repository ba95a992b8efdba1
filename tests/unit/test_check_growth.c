/* SPDX-License-Identifier: Apache-2.0
 * What a growing parameter does to a kernel: which ones are trip counts, after how many
 * iterations indices and places come back, which iterations may be repeated; and the same
 * kernel with other numbers. */
#include "support/kernels.h"
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "induction/induction.h"
#include "spad/experimental/kernel_rows.h"

enum { LOOPS = 8 };

/* One parameter of a kernel, as text: "step 2: i+2 [0..]" or the reason against it. */
static void describe(char *line, size_t size, const char *text, size_t param) {
    spad_kernel *kernel = test_parse(text);
    const spad_host host = spad__host_or_default(NULL);
    spad__induction induction;
    spad_error error;
    assert_ok(spad__induction_init(&induction, kernel, param, 1, NULL, &host, &error), &error);
    if (induction.refusal.kind != SPAD__NOT_REFUSED) {
        char why[SPAD_MESSAGE_MAX];
        spad__induction_reason(&induction, kernel, why, sizeof why);
        snprintf(line, size, "no: %s", why);
    } else {
        spad__window windows[LOOPS];
        int64_t values[LOOPS];
        bool ended;
        spad__limit forever = {.deadline = INT64_MAX};
        spad__steps steps = {100000, &forever};
        const bool fixed =
            spad__induction_windows(&induction, kernel, &steps, values, windows, &ended);
        char *end = line + snprintf(line, size, "step %lld%s%s", (long long)induction.step,
                                    fixed ? "" : " open", ended ? " ended" : "");
        for (size_t l = 0; l < spad_kernel_loop_count(kernel); l++) {
            if (induction.extra[l] == 0) continue;
            end += sprintf(end, " %s+%lld", spad_kernel_get_loop(kernel, l)->name,
                           (long long)induction.extra[l]);
            if (windows[l].steady > 0)
                end += sprintf(end, " from %lld", (long long)windows[l].steady);
            if (windows[l].fixed < INT64_MAX)
                end += sprintf(end, " to %lld", (long long)windows[l].fixed);
        }
    }
    spad__induction_free(&induction);
    spad_kernel_destroy(kernel);
}

#define TRN2 "kernel k on trn2\nparam N = 12\n"

typedef struct row {
    const char *text;
    const char *expected;
} row;

static void check_rows(const row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char line[1024];
        describe(line, sizeof line, rows[i].text, 0);
        if (strcmp(line, rows[i].expected) != 0) print_error("%s", rows[i].text);
        assert_string_equal(line, rows[i].expected);
    }
}

static void trip_counts(void **state) {
    (void)state;
    static const row rows[] = {
        {TRN2 "tensor x : sbuf bf16 [N] (128, 8) ring 3\n"
              "for i in 0..N { vector a writes x[i]; vector b reads x[i] }\n",
         "step 3 i+3"},
        {TRN2
         "tensor x : sbuf bf16 [N] (128, 8) ring 3\ntensor y : sbuf bf16 [N] (128, 8) mod free 4\n"
         "for i in 0..N { vector a writes x[i], y[i]; vector b reads x[i], y[i] }\n",
         "step 12 i+12"},
        {TRN2 "tensor x : sbuf bf16 [4] (128, 8)\n"
              "for i in 0..N { vector a writes x[(i / 3) % 4] }\n",
         "step 12 i+12"},
        {TRN2 "tensor x : sbuf bf16 [N] (128, 8) ring 2\n"
              "for i in 0..N / 2 { vector a writes x[i * 2], x[i * 2 + 1] }\n",
         "step 2 i+1"},
        {TRN2 "tensor x : sbuf bf16 (128, 8)\n"
              "for i in 0..N { if i == 0 { vector a writes x } else { vector b updates x }\n"
              "if i < N - 1 { vector c reads x } }\n",
         "step 1 i+1 from 1 to 11"},
        {TRN2 "tensor x : sbuf bf16 (128, 8)\n"
              "if N > 20 { vector a writes x }\nfor i in 0..N { vector b writes x }\n",
         "step 1 open i+1"},
        {TRN2 "tensor x : sbuf bf16 [N] (128, 8) ring 2\n"
              "vector p writes x[0]\nfor i in 0..N - 1 { vector a writes x[i + 1]; vector b reads "
              "x[i] }\n"
              "vector q reads x[N - 1]\n",
         "step 2 i+2"},
        {TRN2 "tensor x : sbuf bf16 [N, 4] (128, 8) ring [2, 4]\n"
              "for i in 0..N { for j in 0..4 { vector a writes x[i, j] } }\n",
         "step 2 i+2"},
        {TRN2 "tensor x : sbuf bf16 [4, N] (128, 8) ring [4, 2]\n"
              "for i in 0..N { for j in 0..4 { vector a writes x[j, i] } }\n",
         "step 2 i+2"},
    };
    check_rows(rows, sizeof rows / sizeof rows[0]);
}

static void no_trip_counts(void **state) {
    (void)state;
    static const row rows[] = {
        {TRN2 "tensor x : sbuf bf16 (128, 8)\nvector a writes x\n", "no: no loop runs longer"},
        {TRN2 "tensor x : sbuf bf16 (128, N)\nfor i in 0..N { vector a writes x }\n",
         "no: 'x' changes with it"},
        {TRN2 "tensor x : sbuf bf16 [N] (128, 8) ring N\nfor i in 0..N { vector a writes x[i] }\n",
         "no: 'x' changes with it"},
        {TRN2 "param M = N + 1\ntensor x : sbuf bf16 (128, 8)\n"
              "for i in 0..N { vector a writes x }\n",
         "no: 'M' is computed from it"},
        {TRN2 "tensor x : sbuf bf16 [N] (128, 8)\nfor i in 0..N { vector a writes x[i] }\n",
         "no: 'x' has a place of its own for every tile, so its memory grows"},
        {TRN2 "tensor x : sbuf bf16 [4, N] (128, 8) ring 4\n"
              "for i in 0..N { for j in 0..4 { vector a writes x[j, i] } }\n",
         "no: 'x' changes with it"},
        {TRN2
         "tensor x : sbuf bf16 (128, 8)\nfor i in 0..N { for j in 0..N { vector a writes x } }\n",
         "no: 'j' is a loop inside another one that grows as well"},
        {TRN2 "tensor x : sbuf bf16 (128, 8)\nfor i in 0..20 - N { vector a writes x }\n",
         "no: 'i' is a loop that gets shorter"},
        {TRN2 "tensor x : sbuf bf16 [N] (128, 8) ring 2\n"
              "for i in 0..N { vector a writes x[N - 1 - i] }\n",
         "no: 'x' is used at a place that counts from the end"},
        {TRN2 "tensor x : sbuf bf16 [2 * N] (128, 8) ring 2\n"
              "for i in 0..N { vector a writes x[i]; vector b reads x[2 * i] }\n",
         "no: 'x' is used at places that move apart"},
        {TRN2 "tensor x : sbuf bf16 [4 * N] (128, 8) ring 2\n"
              "for j in 0..4 { for i in 0..N { vector a writes x[(j + j / 2) * N + i] } }\n",
         "no: an index does not advance in even steps"},
        {TRN2 "tensor x : sbuf bf16 (128, 64)\nfor i in 0..N { vector a writes x(.., i..i + 1) }\n",
         "no: an amount or a range changes along the way"},
        {TRN2
         "tensor x : sbuf bf16 [N] (128, 8) ring 4097\nfor i in 0..N { vector a writes x[i] }\n",
         "no: the kernel repeats itself only after too many iterations"},
    };
    check_rows(rows, sizeof rows / sizeof rows[0]);
}

/* Every part of a declaration that may not grow, and what else moves along. */
static void parts_that_grow(void **state) {
    (void)state;
#define SM90 "kernel k on sm_90\nparam N = 12\ntensor x : shared f32 [N] (64) ring 3\n"
#define LOOP "for i in 0..N { vector a writes x[i] }\n"
    static const row rows[] = {
        {TRN2 "tensor x : sbuf u8 [2] (128, 8) at N * 64\nfor i in 0..N { vector a writes x[0] }\n",
         "no: 'x' changes with it"},
        {TRN2 "tensor x : sbuf u8 [N] (32, 8) mod par 4\n" LOOP, "step 4 i+4"},
        {TRN2 "tensor x : psum u8 [N] (32, 8) mod banks 3\n" LOOP, "step 3 i+3"},
        {TRN2 "tensor x : psum u8 [N] (32, 8) mod free 2 par 2 banks 3\n" LOOP, "step 6 i+6"},
        {TRN2 "tensor x : sbuf u8 [N] (128, 8) mod free N\n" LOOP, "no: 'x' changes with it"},
        {TRN2 "region sbuf N..200 KiB as exact\nfor i in 0..N { vector a }\n",
         "no: 'region' changes with it"},
        {TRN2 "region sbuf 0..N * 64 as exact\nfor i in 0..N { vector a }\n",
         "no: 'region' changes with it"},
        {TRN2 "for i in N..2 * N { vector a }\n", "no: 'i' changes with it"},
        {TRN2 "tensor x : sbuf u8 [N] (128, 8) ring 2 input\n" LOOP,
         "no: 'x' is an input with more and more tiles"},
        {TRN2 "tensor x : hbm u8 [N] (128, 8) ring 2 input\n"
              "for i in 0..N { dma a reads x[i] }\n",
         "no: 'x' is an input with more and more tiles"},
        {TRN2 "tensor g : sbuf u8 (128, 8)\ntensor x : sbuf u8 [N] (128, 2) alias of g ring 4\n"
              "for i in 0..N { vector a writes x[i] }\n",
         "step 4 i+4"},
        {TRN2 "tensor x : sbuf u8 [3] (128, 8)\nfor i in 0..N { vector a writes x[(-i) % 3] }\n",
         "step 3 i+3"},
        {TRN2 "tensor x : sbuf u8 [3] (128, 8)\nfor i in 0..N { vector a writes x[(5 - i) % 3] }\n",
         "step 3 i+3"},
        {TRN2 "tensor x : sbuf u8 [8] (128, 8)\nfor i in 0..N { vector a writes x[0] }\n"
              "vector b writes x[(2 * N) % 8]\n",
         "step 4 i+4"},
        {TRN2
         "tensor x : sbuf u8 [2 * N + 2] (128, 8) ring 2\nfor i in 0..N { vector a writes x[i] "
         "}\nvector b writes x[2 * N]\n",
         "no: 'x' is used at places that move apart"},
        {SM90 "mbarrier full[N] count 1\nfor i in 0..N { simt a writes x[i] }\n",
         "no: 'full' changes with it"},
        {SM90 "mbarrier full count N\nfor i in 0..N { simt a writes x[i] }\n",
         "no: 'full' changes with it"},
        {SM90 "counter c[3]\nagent a { for i in 0..N { signal c[i % 3] by i + 1 } }\n",
         "no: an amount or a range changes along the way"},
        {SM90 "counter c[3]\nagent a { for i in 0..N { signal c[i % 3] } }\n", "step 3 i+3"},
        {SM90 "mbarrier m count 1\nagent a { for i in 0..N { arrive m expect i } }\n",
         "no: an amount or a range changes along the way"},
        {SM90 "unit u on copy free\ncounter c[20]\n"
              "agent a { for i in 0..N { u a writes x[i] signals c[i] } }\n",
         "no: an amount or a range changes along the way"},
        {SM90 "unit u on copy free\ncounter c\n"
              "agent a { for i in 0..N { u a writes x[i] signals c by i + 1 } }\n",
         "no: an amount or a range changes along the way"},
        {"kernel k on trn2\nparam N = 1\ntensor x : sbuf u8 [3] (128, 8)\n" /* the step overflows */
         "for i in 0..N { vector a writes x[(i * 4611686018427387904) % 3] }\n",
         "no: an index does not advance in even steps"},
        /* waits outside of the loops that grow: before them they stay, after them they go along */
        {SM90 "counter c\nagent a { for i in 0..N { signal c } }\n"
              "agent b { wait c >= 0\nfor i in 0..N { wait c >= i + 1 }\nwait c >= N }\n",
         "step 1 i+1 i+1"},
        {SM90 "counter c\nagent a { for i in 0..N { signal c } }\n"
              "agent b { for i in 0..N { wait c >= i + 1 }\nwait c >= 5 }\n",
         "no: 'c' is waited for at values that move apart"},
        {SM90 "counter c\nagent a { for i in 0..N { signal c } }\n"
              "agent b { wait c >= N\nfor i in 0..N { wait c >= i + 1 } }\n",
         "no: 'c' is waited for at values that move apart"},
    };
#undef SM90
#undef LOOP
    check_rows(rows, sizeof rows / sizeof rows[0]);
}

/* An index that leaves its tensor, or a cost below 0, ends a row of shapes that are right. */
static void indices_run_out(void **state) {
    (void)state;
    static const row rows[] = {
        {TRN2 "tensor g : hbm bf16 [64] (128, 8)\ntensor x : sbuf bf16 (128, 8)\n"
              "for i in 0..N { if i >= 0 { dma a reads g[i] writes x } }\n",
         "no: 'g' has 64 tiles, whatever N is"},
        {TRN2 "tensor g : hbm bf16 [64, 2] (128, 8)\ntensor x : sbuf bf16 (128, 8)\n"
              "for i in 0..N { dma a reads g[i, 0] writes x }\n",
         "no: 'g' has 64 tiles along an index, whatever N is"},
        {TRN2 "tensor g : hbm bf16 [64] (128, 8)\ntensor x : sbuf bf16 (128, 8)\n"
              "for i in 0..N { if i >= 0 { dma a reads g[63 - i] writes x } }\n",
         "no: 'g' has an index that falls towards 0"},
        {TRN2 "tensor g : hbm bf16 [N + 64] (128, 8)\ntensor x : sbuf bf16 (128, 8)\n"
              "for i in 0..N { if i >= 0 { dma a reads g[i * 2] writes x } }\n",
         "no: 'g' has an index that advances faster than it grows"},
        {TRN2 "tensor x : sbuf bf16 [64] (128, 8) ring 2\n"
              "for i in 0..N { if i >= 0 { alloc x[i]; vector a writes x[0]; free x[i] } }\n",
         "no: 'x' is used at places that move apart"},
        {TRN2 "tensor x : sbuf bf16 [64] (128, 8) ring 2\n"
              "for i in 0..N { if i >= 0 { alloc x[i]; free x[i] } }\n",
         "no: 'x' has 64 tiles, whatever N is"},
        {TRN2 "tensor x : sbuf bf16 (128, 8)\n"
              "for i in 0..N { if i >= 0 { vector a writes x cost 100 - i ns } }\n",
         "no: 'a' has a cost that falls towards 0"},
        {TRN2 "tensor g : hbm bf16 (128, 64)\ntensor x : sbuf bf16 (128, 8)\n"
              "for i in 0..N { dma a reads g(.., i..i + 8) writes x }\n",
         "no: an amount or a range changes along the way"},
        {TRN2 "tensor g : hbm bf16 [N] (128, 8)\ntensor x : sbuf bf16 (128, 8)\n"
              "for i in 0..N { if i >= 0 { dma a reads g[N - 1 - i] writes x cost i ns } }\n",
         "step 1 i+1"},
        {TRN2 "tensor g : hbm bf16 [N * 4] (128, 8)\ntensor x : sbuf bf16 (128, 8)\n"
              "for i in 0..N { for j in 0..4 { dma a reads g[j * N + i] writes x } }\n",
         "step 1 i+1"},
        {TRN2
         "tensor g : hbm bf16 [N * 4] (128, 8)\ntensor x : sbuf bf16 (128, 8)\n"
         "for i in 0..N { for j in 0..4 { if i >= 0 { dma a reads g[j * N + i] writes x } } }\n",
         "step 1 i+1"},
        {TRN2
         "tensor g : hbm bf16 [N * 3] (128, 8)\ntensor x : sbuf bf16 (128, 8)\n"
         "for i in 0..N { for j in 0..4 { if i >= 0 { dma a reads g[j * N + i] writes x } } }\n",
         "no: 'g' has an index that advances faster than it grows"},
    };
    check_rows(rows, sizeof rows / sizeof rows[0]);
}

/* Indices that go on from one run of a growing loop to the next: the step is that of the ring, and
 * all uses must move with the runs that are over. */
static void indices_carry_on(void **state) {
    (void)state;
#define X4 "tensor x : sbuf bf16 [5 * N] (128, 8) ring 3\n"
    static const row rows[] = {
        {TRN2 X4 "for j in 0..4 { for i in 0..N { vector a writes x[j * N + i] } }\n",
         "step 3 i+3"},
        {TRN2 X4 "for j in 2..4 { for i in 0..N { vector a writes x[(j - 2) * N + i] } }\n",
         "step 3 i+3"},
        {TRN2 X4 "for k in 0..2 { for j in 0..2 { for i in 0..N {\n"
                 "vector a writes x[(k * 2 + j) * N + i] } } }\n",
         "step 3 i+3"},
        {TRN2 X4 "for j in 0..4 { vector b writes x[j * N]\nfor i in 0..N {\n"
                 "vector a writes x[j * N + i] }\nvector c reads x[j * N + N - 1] }\n"
                 "vector d reads x[4 * N - 1]\n",
         "step 3 i+3"},
        {TRN2 X4 "for j in 0..2 { for i in 0..N { vector a writes x[2 * j * N + i] }\n"
                 "for k in 0..N { vector b writes x[(2 * j + 1) * N + k] } }\n",
         "step 3 i+3 k+3"},
        {TRN2 "tensor x : sbuf bf16 [32 * N] (128, 8) ring 3\n"
              "for a in 0..2 { for b in 0..2 { for c in 0..2 { for d in 0..2 { for i in 0..N {\n"
              "vector v writes x[(((a * 2 + b) * 2 + c) * 2 + d) * N + i] } } } } }\n",
         "step 3 i+3"},
        {TRN2 "tensor x : sbuf bf16 [32 * N] (128, 8) ring 3\n" /* one loop too many */
              "for a in 0..2 { for b in 0..2 { for c in 0..2 { for d in 0..2 { for e in 0..2 {\n"
              "for i in 0..N {\n"
              "vector v writes x[((((a * 2 + b) * 2 + c) * 2 + d) * 2 + e) * N + i] } } } } } }\n",
         "no: an index does not advance in even steps"},
        /* of another number of runs */
        {TRN2 X4 "for j in 0..4 { for i in 0..N { vector a writes x[j * N + i] }\n"
                 "vector c reads x[j * N] }\n",
         "no: an index does not advance in even steps"},
        {TRN2 X4 "for j in 0..4 { for i in 0..N { vector a writes x[j * N + i] } }\n"
                 "vector c reads x[3 * N]\n",
         "no: an index does not advance in even steps"},
        {TRN2 X4 "for j in 0..4 { if j > 1 { for i in 0..N { vector a writes x[j * N + i] } } }\n",
         "no: an index does not advance in even steps"},
        {TRN2 X4 "for j in 0..4 { for i in 0..N { vector a writes x[j * (N - 1) + i] } }\n",
         "step 3 i+3"},
        {TRN2 X4 "for j in 0..2 { for i in 0..N { vector a writes x[2 * j * N + i] } }\n",
         "no: an index does not advance in even steps"},
        {TRN2
         "tensor x : sbuf bf16 [4 * N] (128, 8) ring 3\n"
         "for j in 0..4 { for i in 0..N { if i >= 0 { vector a writes x[j * N + i + 1] } } }\n",
         "step 3 i+3"},
        {TRN2 "tensor x : sbuf bf16 [3 * N + 40] (128, 8) ring 3\n"
              "for j in 0..4 { for i in 0..N { if i >= 0 { vector a writes x[j * N + i] } } }\n",
         "no: 'x' has an index that advances faster than it grows"},
        {TRN2 X4 "tensor y : sbuf bf16 (128, 8)\nfor j in 0..4 { for i in 0..N {\n"
                 "if j * N + i >= 3 { vector a writes x[j * N + i] } } }\n",
         "step 3 i+3 from 3"},
    };
#undef X4
    check_rows(rows, sizeof rows / sizeof rows[0]);
}

/* What else is declared, breaks, waits for the next phase, and numbers that do not fit. */
static void other_parts_that_grow(void **state) {
    (void)state;
#define TRN4 "kernel k on trn2\nparam N = 4\n"
#define SM90 "kernel k on sm_90\nparam N = 12\ntensor x : shared f32 [N] (64) ring 3\n"
    static const row rows[] = {
        {TRN4 "tensor x : sbuf u8 [N] (32, 8) mod par N\nfor i in 0..N { vector a writes x[i] }\n",
         "no: 'x' changes with it"},
        {TRN4
         "tensor x : psum u8 [N] (32, 8) mod banks N\nfor i in 0..N { vector a writes x[i] }\n",
         "no: 'x' changes with it"},
        {TRN2 "unknown u in N..20\nfor i in 0..N { if u == 12 { vector a } }\n",
         "no: 'u' changes with it"},
        {TRN2 "unknown u in 0..N\nfor i in 0..N { if u == 2 { vector a } }\n",
         "no: 'u' changes with it"},
        {TRN2 "unknown u[N]\nfor i in 0..N { if u[0] == 0 { vector a } }\n",
         "no: 'u' changes with it"},
        /* an input that stays as it is */
        {TRN2 "tensor x : sbuf u8 [4] (128, 8) input\nfor i in 0..N { vector a reads x[i % 4] }\n",
         "step 4 i+4"},
        {TRN2 "tensor x : sbuf u8 [N / 2] (128, 8) ring 2 input\nfor i in 0..N / 2 { vector a "
              "reads x[i] }\n",
         "no: 'x' is an input with more and more tiles"},
        {TRN2 "tensor x : sbuf u8 [3 * N] (128, 8) ring 3\nfor i in 0..N { vector a }\nvector b "
              "writes x[N]\nvector c writes x[2 * N]\n",
         "no: 'x' is used at places that move apart"},
        {TRN2 "tensor x : sbuf u8 [3 * N] (128, 8) ring 3\nfor i in 0..N { vector a }\nvector b "
              "writes x[N]\nvector c writes x[N + 1]\n",
         "step 1 i+1"},
        {TRN2 "for i in 0..N { vector a; if i == 5 { break } }\n", "step 1 ended i+1 from 6"},
        {TRN2 "for i in 0..N { vector a; break }\n", "step 1 ended i+1"},
        {TRN2 "for i in 0..N { vector a; if i == 50 { break } }\n", "step 1 i+1 from 12"},
        {TRN2 "for i in 0..N { vector a; if i == N - 3 { break } }\n", "step 1 open i+1 to 9"},
        {TRN2 "for t in 0..2 { for i in 0..N { vector a; if i + t == 12 { break } } }\n",
         "step 1 open i+1 from 12"},
        {TRN2 "for i in 0..N { for j in 0..3 { if j == 1 { break } } }\n", "step 1 i+1"},
        {SM90 "mbarrier m count 1\nagent a { for i in 0..N { if i % 3 == 0 { wait m next } } }\n",
         "no: an index does not advance in even steps"},
        {SM90 "mbarrier m count 1\nagent a { for i in 0..N { wait m next } }\nagent b { for i in "
              "0..N { arrive m } }\n",
         "step 2 i+2 i+2"},
        {SM90 "counter c\nagent a { for i in 0..N { signal c } }\nagent b { for i in 0..N { wait c "
              ">= N - i } }\n",
         "no: 'c' is used at a place that counts from the end"},
        {SM90 "counter c\nagent a { for j in 0..4 { for i in 0..N { signal c } } }\nagent b { for "
              "j in 0..4 { for i in 0..N { wait c >= j * N + i + 1 } } }\n",
         "step 1 i+1 i+1"},
        {SM90 "counter c\nagent a { for j in 0..4 { for i in 0..N { signal c } } }\nagent b { for "
              "j in 0..4 { if j > 0 { for i in 0..N { wait c >= j * N + i + 1 } } } }\n",
         "no: an index does not advance in even steps"},
        {SM90 "counter c\nagent a { for j in 0..4 { for i in 0..N { signal c } } }\nagent b { for "
              "j in 0..4 { for i in 0..N { wait c >= 2 * j * N + i + 1 } } }\n",
         "no: an index does not advance in even steps"},
        {SM90 "counter c\nagent a { for j in 0..4 { for i in 0..N { signal c by j * N + 1 } } }\n",
         "no: an index does not advance in even steps"},
        {TRN2 "tensor x : psum u8 [N, N] (32, 8) mod free [1125899906842597, 1] banks [1, "
              "1048573]\nfor i in 0..N { vector a writes x[i, i] }\n",
         "no: 'x' gets too many tiles"},
        /* conditions whose sides are further apart than 64 bits, now or later */
        {TRN2 "for i in 0..N { if 9223372036854775806 - i > -9223372036854775806 { vector a } }\n",
         "step 1 i+1 from 12 to 0"},
        {"kernel k on trn2\nparam N = 1\nfor i in 0..N {\n"
         "if i * 4611686018427387904 >= 0 - i * 4611686018427387904 { vector a } }\n",
         "step 1 i+1 from 1"},
        {TRN2 "for i in 0..N { if i <= N - 3 { vector a } }\n", "step 1 i+1 to 10"},
        {TRN2 "for i in 0..N { if i != N - 3 { vector a } }\n", "step 1 i+1 to 9"},
        /* the cost is beyond 64 bits in the next shape */
        {TRN2 "tensor x : sbuf u8 [N] (128, 8) ring 4093\nfor j in 0..16 { for i in 0..N { vector "
              "a writes x[i] cost j * N * 562949953421312 ns } }\n",
         "no: an index does not advance in even steps"},
        {TRN2 "tensor g : hbm bf16 [N / 2 + 64] (128, 8)\nfor i in 0..N { if i >= 0 { dma a reads "
              "g[i / 2] } }\n",
         "step 2 i+2"},
        /* there is no kernel from N = 129 on */
        {TRN2 "tensor g : hbm bf16 [N / 2 + 64] (128, 8)\nfor i in 0..N { dma a reads g[i] }\n",
         "no: 'g' has an index that advances faster than it grows"},
    };
#undef TRN4
    check_rows(rows, sizeof rows / sizeof rows[0]);
}

/* Loops around the growing one, and agents that run it differently often: places that start anew
 * in each run need not know how many are over. */
static void runs_that_are_not_counted(void **state) {
    (void)state;
#define X3 "tensor x : sbuf bf16 [5 * N] (128, 8) ring 3\n"
    static const row rows[] = {
        /* more loops than a form has */
        {TRN2 X3 "for a in 0..2 { for b in 0..2 { for c in 0..2 { for d in 0..2 { for e in 0..2 "
                 "{\nfor i in 0..N { vector v writes x[i] } } } } } }\n",
         "step 3 i+3"},
        /* numbers of runs beyond 64 bits */
        {TRN2 X3 "for j in 4611686018427387904..4611686018427387906 { for k in 0..4 { for i in "
                 "0..N { vector a writes x[i] } } }\n",
         "step 3 i+3"},
        {TRN2 X3
         "for j in 4611686018427387904..4611686018427387906 { for k in "
         "4611686018427387904..4611686018427387906 { for i in 0..N { vector a writes x[i] } } }\n",
         "step 3 i+3"},
        {TRN2 X3 "for j in 0..1099511627776 { for k in 0..1099511627776 { for i in 0..N { vector a "
                 "writes x[i] } } }\n",
         "step 3 i+3"},
        {TRN2 X3 "for j in -9223372036854775807 - 1..-9223372036854775807 + 1 {\n"
                 "for i in 0..N { vector a writes x[i] } }\n",
         "step 3 i+3"},
        /* another number of runs in each iteration */
        {TRN2 X3 "for k in 0..3 { for j in 0..k + 1 { for i in 0..N { vector a writes x[i] } } }\n",
         "step 3 i+3"},
        {TRN2 X3
         "for k in 0..3 { for j in k..4 { for i in 0..N { vector a writes x[j * N + i] } } }\n",
         "no: an index does not advance in even steps"},
        /* no loop of its own */
        {SM90 "counter c\nagent a { for i in 0..N { signal c } }\nagent b { for i in 0..N { wait c "
              ">= i + 1 } }\nagent d { wait c >= 3 }\n",
         "step 1 i+1 i+1"},
        /* other numbers of runs */
        {SM90 "counter c\nagent a { for i in 0..N { signal c } }\nagent b { for j in 0..2 { for i "
              "in 0..N { wait c >= i + 1 } } }\nsimt op\nwait c >= N\n",
         "step 1 i+1 i+1"},
        {SM90 "counter c\nagent a { for i in 0..N { signal c } }\nagent b { if N > 3 { for i in "
              "0..N { wait c >= i + 1 } } }\nwait c >= N\n",
         "step 1 i+1 i+1"},
        {SM90 "counter c\nagent a { for i in 0..N { signal c } }\nagent b { for k in 0..3 { for j "
              "in 0..k { for i in 0..N { wait c >= i + 1 } } } }\nwait c >= N\n",
         "step 1 i+1 i+1"},
        {SM90
         "counter c\nagent a { for i in 0..N { simt p writes x[i]; signal c } }\nagent b { for j "
         "in 0..2 { for i in 0..N { take c; simt r reads x[i] } } }\nsimt q reads x[0]\n",
         "step 3 i+3 i+3"},
        {SM90 "counter c\nagent a { for i in 0..N { simt p writes x[i]; signal c } }\nagent b { "
              "for i in 0..N { take c; simt r reads x[i] } }\nsimt q reads x[N - 1]\n",
         "step 3 i+3 i+3"},
        {SM90 "counter c\nagent a { for i in 0..N { simt p writes x[i]; signal c } }\nagent b { "
              "for i in 0..N { take c; simt r reads x[i] } }\nagent d { simt q reads x[0] }\n",
         "step 3 i+3 i+3"},
    };
#undef X3
#undef SM90
    check_rows(rows, sizeof rows / sizeof rows[0]);
}

static void agents_grow_together(void **state) {
    (void)state;
    char line[1024];
    describe(line, sizeof line,
             "kernel k on sm_90\nparam N = 12\ncounter full\ncounter empty = 3\n"
             "tensor x : shared f32 [N] (64) ring 3\n"
             "agent a { for i in 0..N { take empty; simt w writes x[i]; signal full } }\n"
             "agent b { for i in 0..N { wait full >= i + 1; simt r reads x[i]; signal empty } }\n",
             0);
    assert_string_equal(line, "step 3 i+3 i+3");
    describe(line, sizeof line,
             "kernel k on sm_90\nparam N = 12\ncounter full\n"
             "tensor x : shared f32 (64)\n"
             "agent a { for i in 0..N { signal full } }\n"
             "agent b { for i in 0..N { wait full >= i + 1; wait full >= 2 * i } }\n",
             0);
    assert_string_equal(line, "no: 'full' is used at places that move apart");
}

/* ---- the same kernel with other numbers -------------------------------------------- */

static const char *const ring = "# a comment\nkernel k on trn2\nparam N = 12\n"
                                "tensor x : sbuf bf16 [N] (128, 8) ring 3\n"
                                "for i in 0..N { vector a writes x[i] }\n";

static void reshape(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(ring);
    const spad_define n = {"N", 5};
    const spad_define depth = {"x", 2};
    const spad_kernel_options options = {
        .defines = &n, .define_count = 1, .rings = &depth, .ring_count = 1};
    spad_kernel *other;
    spad_error error;
    assert_ok(spad_kernel_reshape(&other, kernel, &options, &error), &error);
    assert_int_equal(spad_kernel_get_tensor(other, 0)->tiles, 5);
    assert_int_equal(spad_kernel_get_tensor(other, 0)->slots, 2);
    assert_int_equal(spad_kernel_get_loop(other, 0)->end.value, 5);
    assert_string_equal(spad_kernel_get_file(other), "k.spad");
    assert_int_equal(spad_kernel_get_access(other, 0)->location.line, 5);
    assert_int_equal(spad_kernel_get_access(other, 0)->location.column,
                     spad_kernel_get_access(kernel, 0)->location.column);
    spad_kernel_destroy(other);

    const spad_define none = {"N", -1};
    const spad_kernel_options bad = {.defines = &none, .define_count = 1};
    assert_int_equal(spad_kernel_reshape(&other, kernel, &bad, &error), SPAD_ERR_SHAPE);
    assert_null(other);
    assert_int_equal(error.line, 0);
    const spad_define unknown = {"M", 1};
    const spad_kernel_options wrong = {.defines = &unknown, .define_count = 1};
    assert_int_equal(spad_kernel_reshape(&other, kernel, &wrong, &error), SPAD_ERR_UNKNOWN);
    spad_kernel_destroy(kernel);
}

static spad_status memory_scenario(const spad_host *host, void *context) {
    const spad_kernel *kernel = context;
    const spad_kernel_options options = {.host = host};
    spad_kernel *other;
    spad_status status = spad_kernel_reshape(&other, kernel, &options, NULL);
    if (status != SPAD_OK) return status;
    spad__induction induction;
    status = spad__induction_init(&induction, other, 0, 1, NULL, host, NULL);
    if (status == SPAD_OK) spad__induction_free(&induction);
    spad_kernel_destroy(other);
    return status;
}

static void memory(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(ring);
    test_fail_each_allocation(memory_scenario, kernel);
    spad_kernel_destroy(kernel);
    /* with more and more loops and counters, so that another table is the one without memory */
    for (int more = 1; more <= 48; more++) {
        char text[8192];
        size_t used = (size_t)snprintf(text, sizeof text, "kernel k on sm_90\nparam N = 12\n");
        for (int i = 0; i < more; i++) {
            used += (size_t)snprintf(text + used, sizeof text - used, "counter c%d\n", i);
        }
        for (int i = 0; i < more / 3 + 1; i++) {
            used += (size_t)snprintf(text + used, sizeof text - used,
                                     "for i%d in 0..N { signal c%d }\n", i, i);
        }
        kernel = test_parse(text);
        test_fail_each_allocation(memory_scenario, kernel);
        spad_kernel_destroy(kernel);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trip_counts),
        cmocka_unit_test(no_trip_counts),
        cmocka_unit_test(parts_that_grow),
        cmocka_unit_test(indices_run_out),
        cmocka_unit_test(indices_carry_on),
        cmocka_unit_test(agents_grow_together),
        cmocka_unit_test(reshape),
        cmocka_unit_test(memory),
        cmocka_unit_test(other_parts_that_grow),
        cmocka_unit_test(runs_that_are_not_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
