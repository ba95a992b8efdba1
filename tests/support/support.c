/* SPDX-License-Identifier: Apache-2.0
 * The allocator and the sink that tests hand to the library. */
#include "support/support.h"

#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* ---- host allocator ---------------------------------------------------------------- */

/* Requests from one place have the same call stack, and so the same way out when they fail. */
typedef struct request {
    uint64_t place; /* hash of the return addresses */
    long number;    /* 1-based */
    long before;    /* requests from this place before it */
} request;

struct test_places {
    request *items;
    long count;
};

static void note_place(struct test_places *places) {
    enum { DEEPEST = 64, GROWN = 1024 };
    void *frames[DEEPEST];
    const int count = backtrace(frames, DEEPEST);
    if (places->count % GROWN == 0) {
        const size_t items = (size_t)(places->count + GROWN);
        places->items = realloc(places->items, items * sizeof *places->items);
        assert_non_null(places->items);
    }
    uint64_t place = 0;
    for (int i = 0; i < count; i++) place = spad__hash_add(place, (int64_t)(uintptr_t)frames[i]);
    places->items[places->count] = (request){place, places->count + 1, 0};
    places->count++;
}

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
    if (host->places != NULL) note_place(host->places);
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

/* ---- every allocation fails -------------------------------------------------------- */

static int by_place(const void *left, const void *right) {
    const request *a = left;
    const request *b = right;
    if (a->place != b->place) return a->place < b->place ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static int by_number(const void *left, const void *right) {
    const request *a = left;
    const request *b = right;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* The requests of a run in which none fails, in their order. */
static struct test_places run_whole(spad_status (*scenario)(const spad_host *host, void *context),
                                    void *context) {
    struct test_places places = {0};
    test_host host;
    test_host_init(&host);
    host.places = &places;
    assert_int_equal(scenario(&host.host, context), SPAD_OK);
    test_host_assert_clean(&host);
    assert_true(places.count > 0); /* a scenario that allocates nothing tests nothing */
    qsort(places.items, (size_t)places.count, sizeof *places.items, by_place);
    for (long i = 1; i < places.count; i++) {
        request *r = &places.items[i];
        if (r->place == r[-1].place) r->before = r[-1].before + 1;
    }
    qsort(places.items, (size_t)places.count, sizeof *places.items, by_number);
    return places;
}

static void fail_one(spad_status (*scenario)(const spad_host *host, void *context), void *context,
                     long n, bool once, bool retries) {
    test_host host;
    test_host_init(&host);
    host.fail_at = n;
    host.once = once;
    const spad_status status = scenario(&host.host, context);
    test_host_assert_clean(&host);
    if (host.calls < n || (retries && status == SPAD_OK)) {
        assert_int_equal(status, SPAD_OK);
    } else {
        assert_int_equal(status, SPAD_ERR_HOST_MEMORY);
    }
}

/* Alone, each of the first ones fails and then fewer and fewer, since a run goes on for longer;
 * with all after it, these and the first ones of each place, which are few where a loop asks often.
 * `retries`: a run may ask again for what it did not get, and succeed. */
static void fail_each(spad_status (*scenario)(const spad_host *host, void *context), void *context,
                      bool retries) {
    enum { FIRST = 2 }; /* the first block of an array, and the next one */
    const bool all = getenv("SPAD_THOROUGH") != NULL;
    struct test_places places = run_whole(scenario, context);
    long next = 1;
    for (long n = 1; n <= places.count; n++) {
        const bool sampled = n == next;
        if (sampled) next += 1 + n / 16;
        if (all || sampled || places.items[n - 1].before < FIRST) {
            fail_one(scenario, context, n, false, false);
        }
        if (sampled) fail_one(scenario, context, n, true, retries);
    }
    free(places.items);
}

void test_fail_each_allocation(spad_status (*scenario)(const spad_host *host, void *context),
                               void *context) {
    fail_each(scenario, context, false);
}

void test_fail_each_with_retries(spad_status (*scenario)(const spad_host *host, void *context),
                                 void *context) {
    fail_each(scenario, context, true);
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

void test_text_put(test_text *text, const char *format, ...) {
    char line[4000];
    va_list words;
    va_start(words, format);
    const int length = vsnprintf(line, sizeof line, format, words);
    va_end(words);
    assert_true(length >= 0 && (size_t)length < sizeof line);
    assert_int_equal(text->sink.write(text->sink.context, line, (size_t)length), 0);
}
