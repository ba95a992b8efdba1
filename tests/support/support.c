/* SPDX-License-Identifier: Apache-2.0
 * The allocator and the sink that tests hand to the library. */
#include "support/support.h"

#include <stdlib.h>
#include <string.h>

/* ---- host allocator ---------------------------------------------------------------- */

/* In front of every block: its size, so that a wrong old_size is caught. */
typedef union block_head {
    size_t size;
    max_align_t align;
} block_head;

static void *counting_resize(void *context, void *block, size_t old_size, size_t new_size) {
    test_host *host = context;
    block_head *head = block != NULL ? (block_head *)block - 1 : NULL;
    if (head != NULL) assert_int_equal(head->size, old_size);
    if (new_size == 0) {
        if (head == NULL) return NULL;
        host->live_blocks--;
        host->live_bytes -= old_size;
        free(head);
        return NULL;
    }
    host->calls++;
    if (host->calls == host->fail_at) return NULL;
    if (host->fail_at != 0 && host->calls > host->fail_at && !host->once) return NULL;
    /* Always move, so that stale pointers show under ASan. */
    block_head *moved = malloc(sizeof *moved + new_size);
    if (moved == NULL) return NULL;
    moved->size = new_size;
    memset(moved + 1, 0xA5, new_size);
    if (head != NULL) {
        memcpy(moved + 1, block, old_size < new_size ? old_size : new_size);
        free(head);
    } else {
        host->live_blocks++;
    }
    host->live_bytes += new_size - old_size;
    return moved + 1;
}

void test_host_init(test_host *host) {
    memset(host, 0, sizeof *host);
    host->host.resize = counting_resize;
    host->host.context = host;
}

void test_host_assert_clean(const test_host *host) {
    assert_int_equal(host->live_blocks, 0);
    assert_int_equal(host->live_bytes, 0);
}

long test_effort(long runs) {
    return getenv("SPAD_THOROUGH") != NULL ? runs : runs / 12 + 1;
}

/* Alone, each of the first ones fails and then fewer and fewer, since a run goes on for longer.
 * `retries`: a run may ask again for what it did not get, and succeed. */
static void fail_each(spad_status (*scenario)(const spad_host *host, void *context), void *context,
                      bool once, bool retries) {
    for (long n = 1;; n += once ? 1 + n / 16 : 1) {
        test_host host;
        test_host_init(&host);
        host.fail_at = n;
        host.once = once;
        const spad_status status = scenario(&host.host, context);
        test_host_assert_clean(&host);
        if (host.calls < n) {
            assert_int_equal(status, SPAD_OK);
            assert_true(n > 1); /* a scenario that allocates nothing tests nothing */
            return;
        }
        if (!retries || status != SPAD_OK) assert_int_equal(status, SPAD_ERR_HOST_MEMORY);
    }
}

void test_fail_each_allocation(spad_status (*scenario)(const spad_host *host, void *context),
                               void *context) {
    fail_each(scenario, context, false, false);
    fail_each(scenario, context, true, false);
}

void test_fail_each_with_retries(spad_status (*scenario)(const spad_host *host, void *context),
                                 void *context) {
    fail_each(scenario, context, false, false);
    fail_each(scenario, context, true, true);
}

/* ---- text sink --------------------------------------------------------------------- */

static int text_write(void *context, const char *bytes, size_t count) {
    test_text *text = context;
    if (count > text->fail_after - text->count) return -1;
    if (text->capacity - text->count <= count) { /* twice as much: writers write little at a time */
        text->capacity = 2 * (text->count + count + 1);
        char *grown = realloc(text->bytes, text->capacity);
        assert_non_null(grown);
        text->bytes = grown;
    }
    memcpy(text->bytes + text->count, bytes, count);
    text->count += count;
    text->bytes[text->count] = '\0';
    return 0;
}

void test_text_init(test_text *text) {
    memset(text, 0, sizeof *text);
    text->sink.write = text_write;
    text->sink.context = text;
    text->bytes = calloc(1, 1);
    text->capacity = 1;
    assert_non_null(text->bytes);
    text->fail_after = SIZE_MAX;
}

void test_text_clear(test_text *text) {
    text->count = 0;
    text->bytes[0] = '\0';
}

void test_text_free(test_text *text) {
    free(text->bytes);
    text->bytes = NULL;
}
