/* SPDX-License-Identifier: Apache-2.0
 * The pool against a map of bytes: the model is the fuzz target, fuzz/fuzz_pool.c, and
 * stops the program where pool and map differ; here it gets random calls. */
#include "base/random.h"
#include "support/support.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROUNDS = 128, CALLS = 400 };

static void random_calls_agree_with_a_map_of_bytes(void **state) {
    (void)state;
    static uint8_t input[3 + 4 * CALLS];
    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
        spad__random random = {seed};
        for (size_t i = 0; i < sizeof input; i++) input[i] = (uint8_t)spad__random_next(&random);
        input[0] = (uint8_t)seed; /* every configuration equally often */
        assert_int_equal(LLVMFuzzerTestOneInput(input, sizeof input), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_calls_agree_with_a_map_of_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
