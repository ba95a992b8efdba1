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
#include "spad/experimental/tensor_order.h"
#include "spad/layout.h"
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

/* Some of the last allocations of a check fail. */
static void fail_last(const char *text, spad_check_options options, long count) {
    spad_kernel *kernel = test_parse(text);
    spad_check *whole;
    test_host host;
    spad_error error;
    test_host_init(&host);
    options.host = &host.host;
    assert_ok(spad_check_create(&whole, kernel, &options, &error), &error);
    const long calls = host.calls;
    assert_true(calls > count);
    for (long n = calls - count; n <= calls; n += 7) {
        assert_true(fail_at(kernel, options, n, n % 2 == 0, whole));
    }
    spad_check_destroy(whole);
    spad_kernel_destroy(kernel);
    test_host_assert_clean(&host);
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
        fail_some(kernel, (spad_check_options){.one_shape = true}, 20);
        spad_kernel_destroy(kernel);
        free(text);
    }
}

/* Proofs: more trips than are run, counts that depend on each other, rings apart, outputs that
 * smaller shapes must show, values that are tried. */
static void proofs(void **state) {
    (void)state;
    static const char *const large[] = {
        "kernel k on trn2\nparam N = 9000\ntensor x : sbuf u8 [N] (128, 8) ring 2\n"
        "tensor o : hbm u8 [N] (128, 8) output\n"
        "for i in 0..N { vector w writes x[i]\ndma s reads x[i] writes o[i] }\n",
        "kernel k on trn2\nparam N = 9000\nparam M = 9\ntensor x : sbuf u8 [N] (128, 8) ring 2\n"
        "tensor o : hbm u8 [N, M] (128, 8) output\nfor i in 0..N { vector w writes x[i]\n"
        "for j in 0..M { dma s reads x[i] writes o[i, j] } }\n",
        ("kernel k on trn2\nparam N = 9000\ntensor x : sbuf u8 [N] (128, 8) ring 2\n"
         "vector w writes x[0]\nfor i in 0..N { vector r reads x[i] }\n"),
    };
    static const char *const texts[] = {
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
    const spad_check_options options = {.no_advice = true};
    fail_texts(large, sizeof large / sizeof large[0], options, 2);
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) fail_last(large[i], options, 100);
    fail_texts(texts, sizeof texts / sizeof texts[0], options, 3);
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
        "kernel k on trn2\nparam D = 2\ntensor x : sbuf u8 [2] (128, 60000) at 0 step D * 70000\n"
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
    fail_texts(texts, sizeof texts / sizeof texts[0], (spad_check_options){.no_advice = true}, 20);
}

/* Questions about the order of threads, of which each may be the first that needs memory. */
static void threads(void **state) {
    (void)state;
#define THREADS(body)                                              \
    "kernel k on sm_90\nbarrier b count 64\nmbarrier m count 64\n" \
    "tensor x : shared f32 (64)\ntensor y : shared f32 (64)\n"     \
    "tensor z : shared f32 (64)\ninit m\nagent a of 64 threads {\n" body "}\n"
#define SYNC "sync b by 64\n"
    static const char *const texts[] = {
        THREADS("simt v writes x elected\nsimt w writes y elected\n" SYNC SYNC SYNC
                "simt r reads x, y\n"),
        THREADS("simt v writes x\nsimt w writes y\n" SYNC SYNC SYNC "simt r reads x, y elected\n"),
        THREADS("simt v writes x\nsimt w writes y\narrive m by 64\nwait m parity 0\n"
                "arrive m by 64\nwait m parity 1\nsimt r reads x, y elected\n"),
        THREADS("simt v writes x elected\nsimt w writes y elected\narrive m by 64\n"
                "wait m parity 0\narrive m by 64\nwait m parity 1\nsimt r reads x, y\n"),
        THREADS("simt v writes x elected\nsimt w writes y elected\nsimt r reads x, y\n"),
    };
#undef SYNC
#undef THREADS
    fail_texts(texts, sizeof texts / sizeof texts[0], (spad_check_options){.one_shape = true}, 400);
}

/* Agents whose tiles may take turns in the same bytes. */
static const char *const turns =
    "kernel k on sm_90\ncounter c\ncounter d\ntensor o : global u8 [4] (64) output\n"
    "tensor x : shared u8 (64)\ntensor y : shared u8 (8, 8)\ntensor z : shared u8 (64)\n"
    "tensor v : shared u8 (64) alias of z\n"
    "agent a { simt w writes x\nsimt r reads x\nsimt r reads x writes o[0]\nsignal c\ntake d\n"
    "simt w writes v\nsimt r reads v\nsimt w writes z\nsimt r reads z writes o[1] }\n"
    "agent b { take c\nsimt w writes y(.., 0..4)\nsimt u updates y(.., 0..4)\nsimt w writes "
    "y\nsimt r "
    "reads y\nsimt r reads y writes o[2]\nsignal d }\n";

typedef struct calls {
    long left; /* until the caller gives up */
} calls;

static int give_up(void *context) {
    calls *c = context;
    return --c->left < 0;
}

static void callers_that_give_up(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(turns);
    spad_status status = SPAD_ERR_CANCELLED;
    for (long n = 0; status == SPAD_ERR_CANCELLED; n++) {
        calls c = {n};
        const spad_tensor_order_options options = {.watch = {.cancel = give_up, .context = &c}};
        spad_tensor_order *order;
        status = spad_tensor_order_create(&order, kernel, &options, NULL);
        assert_true((order == NULL) == (status != SPAD_OK));
        spad_tensor_order_destroy(order);
        assert_true(n > 0 || status == SPAD_ERR_CANCELLED);
    }
    assert_int_equal(status, SPAD_OK);
    status = SPAD_ERR_CANCELLED;
    for (long n = 0; status == SPAD_ERR_CANCELLED; n++) {
        calls c = {n};
        const spad_watch watch = {.cancel = give_up, .context = &c};
        const spad_layout_options options = {.watch = watch};
        const spad_check_options checks = {.watch = watch};
        spad_layout *layout;
        spad_check *check;
        spad_error error;
        status = spad_layout_create_checked(&layout, &check, kernel, &options, &checks, &error);
        assert_true((layout == NULL) == (status != SPAD_OK));
        spad_check_destroy(check);
        spad_layout_destroy(layout);
        assert_true(n > 0 || status == SPAD_ERR_CANCELLED);
    }
    assert_int_equal(status, SPAD_OK);
    spad_kernel_destroy(kernel);
}

static spad_status order_and_lay_out(const spad_host *host, void *context) {
    const spad_layout_options options = {.host = host};
    const spad_check_options checks = {.host = host, .one_shape = true};
    spad_layout *layout;
    const spad_status status =
        spad_layout_create_checked(&layout, NULL, context, &options, &checks, NULL);
    spad_layout_destroy(layout);
    return status;
}

/* Limits that are no limits, kernels without agents, and no memory. */
static void orders_of_tensors(void **state) {
    (void)state;
    spad_tensor_order *order;
    spad_layout *layout;
    spad_error error;
    spad_kernel *kernel = test_parse(turns);
    const spad_tensor_order_options below = {.timeout_ns = -1};
    assert_int_equal(spad_tensor_order_create(&order, kernel, &below, &error), SPAD_ERR_ARGUMENT);
    assert_null(order);
    const spad_check_options checks = {.timeout_ns = -1};
    assert_int_equal(spad_layout_create_checked(&layout, NULL, kernel, NULL, &checks, &error),
                     SPAD_ERR_ARGUMENT);
    assert_null(layout);
    const spad_tensor_order_options soon = {.timeout_ns = 1}; /* nothing is known then */
    assert_ok(spad_tensor_order_create(&order, kernel, &soon, &error), &error);
    spad_tensor_order_destroy(order);
    test_fail_each_allocation(order_and_lay_out, kernel);
    spad_kernel_destroy(kernel);
    kernel = test_parse("kernel k on trn2\ntensor x : sbuf u8 (128, 8)\nvector w writes x\n"
                        "vector r reads x\n");
    assert_ok(spad_tensor_order_create(&order, kernel, NULL, &error), &error);
    spad_tensor_order_destroy(order);
    spad_kernel_destroy(kernel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_that_are_wrong),
        cmocka_unit_test(proofs),
        cmocka_unit_test(values_that_vary),
        cmocka_unit_test(places),
        cmocka_unit_test(states),
        cmocka_unit_test(threads),
        cmocka_unit_test(callers_that_give_up),
        cmocka_unit_test(orders_of_tensors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
