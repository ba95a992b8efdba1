/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks that run out of memory wherever a finding, a proof or a proposal is on its way: the
 * kernels that are wrong on purpose, and small ones for what those do not reach. A check answers
 * SPAD_ERR_HOST_MEMORY then, and gives back all that it took.
 */
#include "support/kernels.h"
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spad/check.h"
#include "support/files.h"

#define FOLDER TEST_KERNELS "/wrong"

/* One check whose n-th allocation fails, and, unless `once`, all after it. A message may leave out
 * what there is no memory for; the verdict and the errors are those of a whole check. False: there
 * were fewer allocations. */
static bool fail_at(const spad_kernel *kernel, spad_check_options options, long n, bool once,
                    const spad_check *whole) {
    test_host host;
    spad_check *check;
    test_host_init(&host);
    host.fail_at = n;
    host.once = once;
    options.host = &host.host;
    const spad_status status = spad_check_create(&check, kernel, &options, NULL);
    if (status == SPAD_OK) {
        assert_int_equal(spad_check_get_verdict(check), spad_check_get_verdict(whole));
        assert_int_equal(spad_check_get_counts(check).errors, spad_check_get_counts(whole).errors);
    } else {
        assert_int_equal(status, SPAD_ERR_HOST_MEMORY);
        assert_null(check);
    }
    spad_check_destroy(check);
    test_host_assert_clean(&host);
    return host.calls >= n;
}

/* Each of the first `dense` allocations fails, alone and with all after it, then fewer and fewer.
 */
static void fail_some(const spad_kernel *kernel, spad_check_options options, long dense) {
    spad_check *whole;
    spad_error error;
    assert_ok(spad_check_create(&whole, kernel, &options, &error), &error);
    for (long n = 1; fail_at(kernel, options, n, n % 2 == 0, whole); n += 1 + n / dense) {
    }
    for (long n = 2; fail_at(kernel, options, n, n % 2 != 0, whole); n += 1 + n / dense) {
    }
    spad_check_destroy(whole);
}

static void fail_texts(const char *const *texts, size_t count, spad_check_options options,
                       long dense) {
    for (size_t i = 0; i < count; i++) {
        spad_kernel *kernel = test_parse(texts[i]);
        fail_some(kernel, options, dense);
        spad_kernel_destroy(kernel);
    }
}

static void kernels_that_are_wrong(void **state) {
    (void)state;
    test_files files;
    test_list_kernels(&files, FOLDER);
    assert_true(files.count > 0);
    for (size_t i = 0; i < files.count; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", FOLDER, files.names[i]);
        char *text = test_read_file(path);
        spad_kernel *kernel = test_parse_named(text, files.names[i], NULL);
        fail_some(kernel, (spad_check_options){.one_shape = true}, 64);
        spad_kernel_destroy(kernel);
        free(text);
    }
}

/* Proofs: more trips than are run, counts that depend on each other, rings apart, outputs that
 * smaller shapes must show, values that are tried. */
static void proofs(void **state) {
    (void)state;
    static const char *const texts[] = {
        "kernel k on trn2\nparam N = 9000\ntensor x : sbuf u8 [N] (128, 8) ring 2\n"
        "tensor o : hbm u8 [N] (128, 8) output\n"
        "for i in 0..N { vector w writes x[i]\ndma s reads x[i] writes o[i] }\n",
        "kernel k on trn2\nparam N = 9000\nparam M = 9\ntensor x : sbuf u8 [N] (128, 8) ring 2\n"
        "tensor o : hbm u8 [N, M] (128, 8) output\nfor i in 0..N { vector w writes x[i]\n"
        "for j in 0..M { dma s reads x[i] writes o[i, j] } }\n",
        "kernel k on trn2\nparam N = 9000\ntensor x : sbuf u8 [N] (128, 8) ring 2\n"
        "vector w writes x[0]\nfor i in 0..N { vector r reads x[i] }\n",
        "kernel k on trn2\nparam T = 3\nparam N = 2\ntensor x : sbuf u8 [T * N] (128, 8) ring 2\n"
        "for t in 0..T { for i in 0..N { vector w writes x[t * N + i]\n"
        "vector r reads x[t * N + i] } }\n",
        "kernel k on trn2\nparam N = 64\ntensor x : sbuf u8 [N] (128, 8) ring 31\n"
        "tensor y : sbuf u8 [N] (128, 8) ring 29\n"
        "for i in 0..N { vector w writes x[i], y[i]\nvector r reads x[i], y[i] }\n",
        "kernel k on sm_90\nparam N = 4\nparam D = 2\ncounter full\ncounter empty = D\n"
        "tensor x : shared f32 [N] (64) ring D\n"
        "agent a { for i in 0..N { take empty\nsimt w writes x[i]\nsignal full } }\n"
        "agent b { for i in 0..N { take full\nsimt r reads x[i]\nsignal empty } }\n",
    };
    fail_texts(texts, sizeof texts / sizeof texts[0], (spad_check_options){.no_advice = true}, 20);
}

/* Neighbouring values of depths, of which some are wrong. */
static void values_that_vary(void **state) {
    (void)state;
    static const char *const texts[] = {
        "kernel k on trn2\nparam D = 2\ntensor x : sbuf u8 [6] (128, 8) ring D\n"
        "for i in 0..6 { vector w writes x[i]\nif i > 0 { vector r reads x[i - 1] } }\n",
        "kernel k on sm_90\nparam D = 2\ncounter full\ncounter empty = 2\n"
        "tensor x : shared f32 [6] (64) ring D\n"
        "agent a { for i in 0..6 { take empty\nsimt w writes x[i]\nsignal full } }\n"
        "agent b { for i in 0..6 { take full\nsimt r reads x[i]\nsignal empty } }\n",
        "kernel k on trn2\nparam D = 2\ntensor x : sbuf u8 [6] (128, 60000) at 0 step D * 30000\n"
        "for i in 0..2 { vector w writes x[i]\nvector r reads x[i] }\n",
    };
    static const char *const names[] = {"D"};
    fail_texts(texts, sizeof texts / sizeof texts[0],
               (spad_check_options){.no_advice = true, .vary = names, .vary_count = 1}, 20);
}

/* Places that break rules, operands, scopes and outputs under other names: what is reported first.
 */
static void places(void **state) {
    (void)state;
    static const char *const texts[] = {
        "kernel k on trn2\ntensor x : psum u8 [9] (128, 512) at 0 step 768\n"
        "vector a writes x[0]\nvector b reads x[0]\n",
        "kernel k on trn2\ntensor x : psum u8 [9, 2] (128, 512) at 1 step [768, 4]\n"
        "vector a writes x[0, 0]\nvector b reads x[0, 0]\n",
        "kernel k on trn2\ntensor x : sbuf u8 [4] (128, 60000) mod base 0 free 4\n"
        "vector a writes x[3]\nvector b reads x[3]\n",
        "kernel k on trn2\nscope s {\ntensor x : psum u8 [2] (128, 3000) stack\n"
        "vector a writes x[0]\nvector b reads x[0]\n}\n",
        "kernel k on trn2\ntensor x : sbuf u8 (128, 8)\nvector a writes x\n"
        "vector b reads x(5..10, ..), x(7..9, ..)\n",
        "kernel k on trn2\ntensor h : sbuf u8 (128, 64)\n"
        "tensor o : sbuf u8 (32, 16) alias of h output\nvector w writes h(.., 0..4)\n"
        "vector w writes h(.., 8..12)\nvector w writes h(.., 20..28)\n",
        "kernel k on trn2\ntensor x : sbuf u8 (128, 8)\ntensor y : sbuf u8 (128, 8)\n"
        "vector w writes x\nvector r reads x writes y\nvector s reads y writes x\n"
        "vector t reads x writes y\n",
        "kernel k on sm_90\nbarrier b count 64\nbarrier d count 64\nbarrier e count 64\n"
        "agent a of 32 threads { sync b by 64\nsync d by 64\nsync e by 64 }\n",
        "kernel k on sm_80\ntensor t : shared u8 [4] (8) persistent\n"
        "for i in 0..2 parallel { simt a writes t[0] }\n"
        "for i in 0..2 parallel { simt a writes t[1] }\n"
        "for i in 0..2 parallel { simt a writes t[2] }\n",
    };
    fail_texts(texts, sizeof texts / sizeof texts[0], (spad_check_options){.one_shape = true},
               2000);
}

/* Loops of agents, one inside of another, and scopes in loops: states that are compared. */
static void states(void **state) {
    (void)state;
    static const char *const texts[] = {
        "kernel k on sm_90\nparam N = 3\ncounter full\ncounter empty = 1\n"
        "tensor x : shared u8 (64)\ntensor y : shared u8 (64)\n"
        "agent a { for i in 0..N { for j in 0..2 { take empty\nsimt w writes x\nsignal full } } }\n"
        "agent b { for i in 0..N { for j in 0..2 { take full\nsimt r reads x writes y\n"
        "simt q reads y\nsignal empty } } }\n",
        "kernel k on trn2\nparam N = 3\nfor i in 0..N {\nscope s {\n"
        "tensor x : sbuf u8 (128, 8) stack\nvector w writes x\nvector r reads x\n} }\n",
        "kernel k on trn2\nparam N = 4\ntensor x : sbuf u8 (128, 8)\n"
        "tensor y : sbuf u8 [2] (128, 8)\nfor i in 0..N { alloc x\nvector w writes x\n"
        "vector r reads x\nfree x\nalloc y[i % 2]\nvector w writes y[i % 2]\n"
        "vector r reads y[i % 2]\nfree y[i % 2]\n}\n",
    };
    fail_texts(texts, sizeof texts / sizeof texts[0], (spad_check_options){.no_advice = true}, 200);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_that_are_wrong),
        cmocka_unit_test(proofs),
        cmocka_unit_test(values_that_vary),
        cmocka_unit_test(places),
        cmocka_unit_test(states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
