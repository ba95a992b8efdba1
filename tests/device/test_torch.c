/* SPDX-License-Identifier: Apache-2.0
 * The allocator for PyTorch, on the CUDA device that is there (in ./test, the stand-in). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "device/stand_in.h"
#include "spad/device/stream.h"
#include "spad/device/torch.h"
#include "support/support.h"

static void memory_is_given_and_taken_by_address(void **state) {
    (void)state;
    char *a = spad_torch_alloc(1000, 0, NULL);
    char *b = spad_torch_alloc(5000000, 0, NULL);
    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal((uintptr_t)a % 512, 0);
    assert_true(a + 1000 <= b || b + 5000000 <= a);
    spad_torch_free(a, 1000, 0, NULL);
    assert_ptr_equal(spad_torch_alloc(900, 0, NULL), a); /* at once, on the same stream */
    spad_torch_free(a, 900, 0, NULL);
    spad_torch_free(a, 900, 0, NULL); /* twice: left alone */
    spad_torch_free(b, 5000000, 0, NULL);
    spad_torch_free(NULL, 0, 0, NULL);
    spad_torch_free(b, 1, 7, NULL); /* a device that was never used */
    spad_torch_free(b, 1, -1, NULL);
    assert_null(spad_torch_alloc(-1, 0, NULL));
    assert_null(spad_torch_alloc(1, -1, NULL));
    assert_null(spad_torch_alloc(1, 16, NULL));
    assert_null(spad_torch_alloc(PTRDIFF_MAX, 0, NULL));
    assert_non_null(spad_torch_get_device(0));
    assert_null(spad_torch_get_device(1));
    assert_null(spad_torch_get_device(-1));
}

/* Streams do not get each other's memory, unless the first is waited for. */
static void streams_keep_their_memory(void **state) {
    (void)state;
    spad_error error;
    spad_stream streams[6];
    void *natives[6];
    spad_device *device = spad_torch_get_device(0);
    for (int i = 0; i < 6; i++) {
        assert_ok(spad_stream_open(&streams[i], device, &error), &error);
        assert_ok(spad_stream_get_native(&natives[i], streams[i], &error), &error);
    }
    char *a = spad_torch_alloc(100000, 0, natives[0]);
    spad_torch_free(a, 100000, 0, natives[0]);
    char *b = spad_torch_alloc(100000, 0, natives[1]);
    assert_ptr_not_equal(a, b);
    assert_ptr_equal(spad_torch_alloc(100000, 0, natives[0]), a);
    for (int i = 1; i < 6; i++) { /* more than are remembered */
        spad_torch_record_stream(a, natives[i]);
        spad_torch_record_stream(a, natives[i]);
    }
    spad_torch_record_stream(NULL, natives[1]);
    spad_torch_free(a, 100000, 0, natives[0]);
    spad_torch_free(b, 100000, 0, natives[1]);
}

typedef int (*copy_from)(void *to, uint64_t from, size_t bytes, void *stream);
typedef int (*copy_to)(uint64_t to, const void *from, size_t bytes, void *stream);

/* A stream reads memory that is freed and used again on another: it reads what was there, however
 * many streams use the memory and whenever its work came. On the stand-in, which puts work off. */
static void work_on_recorded_streams_comes_first(void **state) {
    (void)state;
    enum { STREAMS = 6, BYTES = 200000 };
    static char old[BYTES], new[BYTES], seen[BYTES];
    stand_in fake;
    if (!stand_in_open(&fake, "libcuda.so.1")) skip();
    copy_from from_device;
    copy_to to_device;
    assert_true(stand_in_find(&from_device, fake.library, "cuMemcpyDtoHAsync_v2"));
    assert_true(stand_in_find(&to_device, fake.library, "cuMemcpyHtoDAsync_v2"));
    memset(old, 1, sizeof old);
    memset(new, 2, sizeof new);
    for (int late = 0; late < STREAMS - 1; late++) {
        spad_error error;
        spad_stream streams[STREAMS];
        void *natives[STREAMS];
        for (int i = 0; i < STREAMS; i++) {
            assert_ok(spad_stream_open(&streams[i], spad_torch_get_device(0), &error), &error);
            assert_ok(spad_stream_get_native(&natives[i], streams[i], &error), &error);
        }
        void *own = natives[STREAMS - 1]; /* the newest, whose work the stand-in does first */
        char *a = spad_torch_alloc(BYTES, 0, own);
        assert_int_equal(to_device((uintptr_t)a, old, BYTES, own), 0);
        assert_ok(spad_stream_wait(streams[STREAMS - 1], &error), &error);
        for (int i = 0; i < STREAMS - 1; i++) spad_torch_record_stream(a, natives[i]);
        for (int i = 0; i < 2 * STREAMS; i++) { /* streams take turns: the last one comes late */
            assert_int_equal(from_device(seen, (uintptr_t)a, BYTES, natives[late]), 0);
        }
        spad_torch_free(a, BYTES, 0, own);
        char *b = spad_torch_alloc(BYTES, 0, own);
        assert_ptr_equal(b, a);
        assert_int_equal(to_device((uintptr_t)b, new, BYTES, own), 0);
        assert_ok(spad_stream_wait(streams[STREAMS - 1], &error), &error);
        assert_ok(spad_stream_wait(streams[late], &error), &error);
        assert_memory_equal(seen, old, BYTES);
        spad_torch_free(b, BYTES, 0, own);
        for (int i = 0; i < STREAMS; i++) assert_ok(spad_stream_wait(streams[i], &error), &error);
        /* they stay open: PyTorch's streams are never closed either */
    }
    dlclose(fake.library);
}

/* When the table of streams is full, memory that one more uses is not used again. */
static void memory_of_a_stream_without_room_stays(void **state) {
    (void)state;
    static spad_stream streams[SPAD_STREAMS_MAX];
    spad_error error;
    int count = 0;
    void *native;
    char *a = spad_torch_alloc(300000, 0, NULL);
    char *b = spad_torch_alloc(300000, 0, NULL);
    while (spad_stream_open(&streams[count], spad_torch_get_device(0), &error) == SPAD_OK) count++;
    assert_int_equal(error.code, SPAD_ERR_NO_FIT);
    assert_true(count > 0);
    assert_ok(spad_stream_get_native(&native, streams[0], &error), &error);
    spad_torch_record_stream(a, native);
    spad_torch_free(a, 300000, 0, NULL);
    spad_torch_free(b, 300000, 0, NULL);
    assert_ptr_equal(spad_torch_alloc(300000, 0, NULL), b);
    char *other = spad_torch_alloc(300000, 0, NULL);
    assert_ptr_not_equal(other, a);
    assert_null(spad_torch_alloc(1, 0, native)); /* nor is there memory for such a stream */
    spad_torch_free(b, 300000, 0, native);       /* or a place in its order */
    assert_ptr_not_equal(spad_torch_alloc(300000, 0, NULL), b);
    spad_torch_free(b, 300000, 0, NULL);
    spad_torch_free(other, 300000, 0, NULL);
    while (count > 0) assert_ok(spad_stream_close(streams[--count], &error), &error);
}

/* Many addresses come and go: the table against an array. */
static void addresses_are_found(void **state) {
    (void)state;
    enum { SLOTS = 3000, ROUNDS = 60000 };
    static char *slots[SLOTS];
    static int64_t sizes[SLOTS];
    spad__random random = {7};
    for (int i = 0; i < ROUNDS; i++) {
        const uint64_t k = spad__random_below(&random, SLOTS);
        if (slots[k] != NULL) {
            spad_torch_free(slots[k], sizes[k], 0, NULL);
            slots[k] = NULL;
        } else {
            sizes[k] = spad__random_in(&random, 1, 4000);
            slots[k] = spad_torch_alloc(sizes[k], 0, NULL);
            assert_non_null(slots[k]);
        }
    }
    for (int k = 0; k < SLOTS; k++) {
        for (int other = 0; other < k % 7; other++) { /* live blocks share nothing */
            if (slots[k] == NULL || slots[other] == NULL || other == k) continue;
            assert_true(slots[k] + sizes[k] <= slots[other] ||
                        slots[other] + sizes[other] <= slots[k]);
        }
    }
    for (int k = 0; k < SLOTS; k++) spad_torch_free(slots[k], sizes[k], 0, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_given_and_taken_by_address),
        cmocka_unit_test(streams_keep_their_memory),
        cmocka_unit_test(work_on_recorded_streams_comes_first),
        cmocka_unit_test(memory_of_a_stream_without_room_stays),
        cmocka_unit_test(addresses_are_found),
    };
    void *probe = spad_torch_alloc(1, 0, NULL);
    if (probe == NULL) {
        fprintf(stderr, "skipped: there is no CUDA device\n");
        return 77;
    }
    spad_torch_free(probe, 1, 0, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
