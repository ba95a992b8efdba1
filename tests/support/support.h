/* SPDX-License-Identifier: Apache-2.0
 *
 * What tests share: cmocka in the right order, a host allocator that counts
 * and fails on request, and a sink that collects text.
 */
#ifndef SPAD_TEST_SUPPORT_H
#define SPAD_TEST_SUPPORT_H

/* cmocka wants these four in front of it */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "spad/host.h"
#include "spad/status.h"

/* ---- host allocator ---------------------------------------------------------
 * Counts calls and live bytes, checks the sizes it is given back, and returns
 * NULL at the call with number fail_at (1-based; 0: never) and, unless `once`, after it. */
typedef struct test_host {
    spad_host host; /* pass &test->host; valid until the struct moves */
    long calls;     /* requests for memory so far */
    long fail_at;
    bool once;
    long live_blocks;
    size_t live_bytes;
    struct test_places *places; /* where each request came from; NULL: not recorded */
} test_host;

void test_host_init(test_host *host);
void test_host_assert_clean(const test_host *host); /* nothing live */

/* Runs scenario(host, context) with the 1st, 2nd, 3rd ... allocation failing: first with all that
 * come after it failing, too, then with that one alone, each of the first ones and some of the
 * later ones. Of requests with the same call stack, as in a loop, the first few fail and then some,
 * or all where SPAD_THOROUGH is set. The scenario returns the status of its first failed call
 * (SPAD_OK if none) and frees all it made. Asserts that every failing run ends in
 * SPAD_ERR_HOST_MEMORY and leaks nothing. */
void test_fail_each_allocation(spad_status (*scenario)(const spad_host *host, void *context),
                               void *context);

/* The same for a scenario that may ask again where one request alone fails, and then ends well. */
void test_fail_each_with_retries(spad_status (*scenario)(const spad_host *host, void *context),
                                 void *context);

/* How often a random comparison with a model runs: `./test` does all of it in the optimised build,
 * and an eighth under AddressSanitizer, which is much slower. */
#if defined(__SANITIZE_ADDRESS__)
#define TEST_RUNS(count) ((count) / 8)
#else
#define TEST_RUNS(count) (count)
#endif

/* Leaves a test out where ThreadSanitizer has nothing to find: it has one thread, and takes long.
 */
#ifdef __SANITIZE_THREAD__
#define TEST_HAS_ONE_THREAD() skip()
#else
#define TEST_HAS_ONE_THREAD() (void)0
#endif

/* How many of `runs` are run: all of them where SPAD_THOROUGH is set, as ./coverage sets it, a
 * twelfth otherwise. */
long test_effort(long runs);

/* ---- text sink --------------------------------------------------------------------- */
typedef struct test_text {
    spad_sink sink;
    char *bytes; /* NUL-terminated, never NULL after init */
    size_t count;
    size_t capacity;
    size_t fail_after; /* writes beyond this many bytes fail */
} test_text;

void test_text_init(test_text *text);
void test_text_clear(test_text *text);
void test_text_free(test_text *text);
/* Adds a text of less than 4000 bytes. */
void test_text_put(test_text *text, const char *format, ...) SPAD_PRINTF(2, 3);

/* Asserts on a status, printing the message of the error when it is wrong. */
#define assert_ok(status, error)                                                \
    do {                                                                        \
        const spad_status assert_ok_status = (status);                          \
        if (assert_ok_status != SPAD_OK) print_error("%s\n", (error)->message); \
        assert_int_equal(assert_ok_status, SPAD_OK);                            \
    } while (0)

#endif
