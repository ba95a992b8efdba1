/* SPDX-License-Identifier: Apache-2.0
 * The allocator for PyTorch, on the CUDA device that is there (in ./test, the stand-in). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "spad/stream.h"
#include "spad/torch.h"
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
    assert_non_null(spad_torch_device(0));
    assert_null(spad_torch_device(1));
    assert_null(spad_torch_device(-1));
}

/* Streams do not get each other's memory, unless the first is waited for. */
static void streams_keep_their_memory(void **state) {
    (void)state;
    spad_error error;
    spad_stream streams[6];
    void *natives[6];
    spad_device *device = spad_torch_device(0);
    for (int i = 0; i < 6; i++) {
        assert_ok(spad_stream_open(&streams[i], device, &error), &error);
        assert_ok(spad_stream_native(&natives[i], streams[i], &error), &error);
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
