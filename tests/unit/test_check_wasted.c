/* SPDX-License-Identifier: Apache-2.0
 *
 * Advice about work of which nothing is used.
 */
#include "support/kernels.h"
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "spad/check.h"

#define HEAD                                        \
    "kernel k on trn2\n"                            \
    "tensor in  : hbm bf16 [8] (128, 512) input\n"  \
    "tensor out : hbm bf16 [8] (128, 512) output\n" \
    "tensor x   : sbuf bf16 [8] (128, 512)\n"       \
    "tensor y   : sbuf bf16 (128, 512)\n"           \
    "tensor sum : psum f32 (128, 512)\n"

/* Lines with the finding, " 7 8", and how often each was seen. */
static void wasted_lines(char *out, size_t size, const char *text, int64_t *seen) {
    spad_kernel *k = test_parse(text);
    spad_error error;
    spad_check *check;
    assert_ok(spad_check_create(&check, k, NULL, &error), &error);
    *out = '\0';
    *seen = 0;
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        const spad_finding *f = spad_check_get_finding(check, i);
        char number[16];
        if (f->code != SPAD_FINDING_WASTED_WORK) continue;
        snprintf(number, sizeof number, " %d", (int)f->line);
        assert_true(strlen(out) + strlen(number) < size);
        strcat(out, number);
        *seen += f->count;
    }
    spad_check_destroy(check);
    spad_kernel_destroy(k);
}

static void chains_that_end_nowhere_are_found(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *lines;
        int64_t seen;
    } cases[] = {
        /* a sum that is never copied out: the load, the first of the sum; the last is a dead write
         */
        {HEAD "dma load reads in[0] writes x[0]\ntensor one reads x[0] writes sum\n"
              "tensor two reads x[0] updates sum\ndma copy reads in[0] writes out[0]\n",
         " 7 8", 2},
        /* all of it is used */
        {HEAD "dma load reads in[0] writes x[0]\ntensor one reads x[0] writes sum\n"
              "vector copy reads sum writes y\ndma store reads y writes out[0]\n",
         "", 0},
        /* what was overwritten is not what is copied out */
        {HEAD "dma load reads in[0] writes x[0]\ntensor one reads x[0] writes sum\n"
              "tensor two reads x[0] updates sum\nvector clear writes sum\n"
              "vector copy reads sum writes y\ndma store reads y writes out[0]\n",
         " 7 8", 2},
        /* a part that is left of it is */
        {HEAD "dma load reads in[0] writes x[0]\ntensor one reads x[0] writes sum\n"
              "vector clear writes sum(.., 0..256)\nvector copy reads sum writes y\n"
              "dma store reads y writes out[0]\n",
         "", 0},
        /* some executions: the last two tiles are summed up and not stored */
        {HEAD "for i in 0..8 { dma load reads in[i] writes x[i] }\n"
              "for i in 6..8 { vector add reads x[i] writes y }\n"
              "for i in 0..6 { dma store reads x[i] writes out[i] }\n",
         " 7", 2},
        /* results that stay: written off chip, through an alias, without a write */
        {HEAD "tensor v : hbm bf16 (128, 512) alias of out[1]\n"
              "dma load reads in[0] writes x[0]\ndma store reads x[0] writes v\n"
              "dma load reads in[1] writes x[1]\nvector look reads x[1]\n",
         "", 0},
        /* with synchronisation nothing is said */
        {HEAD "counter c\nagent a { dma load reads in[0] writes x[0]\n"
              "tensor one reads x[0] writes sum\ntensor two reads x[0] updates sum }\n"
              "agent b { signal c }\n",
         "", 0},
        /* nor of a kernel that is wrong */
        {HEAD "tensor one reads x[0] writes sum\ntensor two reads x[0] updates sum\n", "", 0},
        /* nor where there are too many slots */
        {"kernel k on trn2\ntensor a : hbm bf16 [4000000] (128, 512) input\n"
         "tensor y : sbuf bf16 (128, 512)\ntensor z : sbuf bf16 (128, 512)\n"
         "dma load reads a[0] writes y\nvector one reads y writes z\nvector two updates z\n",
         "", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char lines[128];
        int64_t seen;
        wasted_lines(lines, sizeof lines, cases[i].text, &seen);
        if (strcmp(lines, cases[i].lines) != 0) print_error("case %zu\n", i);
        assert_string_equal(lines, cases[i].lines);
        assert_int_equal(seen, cases[i].seen);
    }
}

static void long_walks_are_left_out(void **state) {
    (void)state;
    char lines[128];
    int64_t seen;
    wasted_lines(lines, sizeof lines,
                 "kernel k on trn2\nparam N = 2000000\ntensor in : hbm bf16 (128, 512) input\n"
                 "tensor y : sbuf bf16 (128, 512)\ntensor z : sbuf bf16 (128, 512)\n"
                 "for i in 0..N { dma load reads in writes y\nvector one reads y writes z\n"
                 "vector two updates z }\n",
                 &seen);
    assert_string_equal(lines, "");
}

static spad_status check_once(const spad_host *host, void *kernel) {
    const spad_check_options options = {.host = host};
    spad_error error;
    spad_check *check;
    const spad_status status = spad_check_create(&check, kernel, &options, &error);
    if (status == SPAD_OK) assert_int_equal(spad_check_get_counts(check).advice, 2);
    spad_check_destroy(check);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    spad_kernel *k = test_parse(HEAD "dma load reads in[0] writes x[0]\n"
                                     "tensor one reads x[0] writes sum\n"
                                     "tensor two reads x[0] updates sum\n"
                                     "for i in 0..8 { dma copy reads in[i] writes out[i] }\n");
    test_fail_each_allocation(check_once, k);
    spad_kernel_destroy(k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_that_end_nowhere_are_found),
        cmocka_unit_test(long_walks_are_left_out),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
