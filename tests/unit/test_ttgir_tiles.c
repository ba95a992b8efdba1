/* SPDX-License-Identifier: Apache-2.0
 *
 * Which blocks of a grid load the same tiles: by pointers, by corners of descriptors, and where
 * data decides.
 */
#include <stdio.h>
#include <string.h>

#include "spad/spad.h"
#include "support/support.h"

#define HEAD                                                                                \
    "#smem = #ttg.shared_memory\n"                                                          \
    "module attributes {\"ttg.num-warps\" = 4 : i32, ttg.target = \"cuda:90\"} {\n"         \
    "  tt.func public @f(%x: !tt.ptr<f16>, %d: !tt.tensordesc<tensor<8xf16>>, %n: i32) {\n" \
    "    %c0 = arith.constant 0 : i32\n    %c1 = arith.constant 1 : i32\n"                  \
    "    %c4 = arith.constant 4 : i32\n    %pid = tt.get_program_id x : i32\n"
#define CLOSE "    tt.return\n  }\n}\n"
#define LOADED(at) \
    "    %p = tt.addptr %x, " at " : !tt.ptr<f16>, i32\n    %v = tt.load %p : !tt.ptr<f16>\n"
#define CORNER(list)                                                             \
    "    %m = ttg.local_alloc : () -> !ttg.memdesc<8xf16, #a, #smem, mutable>\n" \
    "    %b = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #a, #smem, mutable>\n" \
    "    ttng.async_tma_copy_global_to_local %d[" list "] %m, %b, %true : "      \
    "!tt.tensordesc<tensor<8xf16>>, !ttg.memdesc<1xi64, #a, #smem, mutable> -> " \
    "!ttg.memdesc<8xf16, #a, #smem, mutable>\n"

typedef struct sample {
    const char *text;
    int64_t blocks;
    const char *found; /* "name reused near step;" each */
} sample;

static spad_status read_tiles(const char *text, int64_t blocks, const spad_host *host, char *found,
                              size_t size, spad_error *error) {
    const spad_define define = {"n", 12};
    const spad_kernel_options options = {.defines = &define, .define_count = 1, .host = host};
    spad_ttgir_tile tiles[4];
    size_t count, used = 0;
    const spad_status status =
        spad_ttgir_read_tiles(tiles, 4, &count, text, strlen(text), blocks, &options, error);
    found[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        used += (size_t)snprintf(found + used, size - used, "%s %d %d %d;", tiles[i].name,
                                 (int)tiles[i].reused, (int)tiles[i].near, (int)tiles[i].step);
    }
    return status;
}

static const sample samples[] = {
    {HEAD LOADED("%pid") CLOSE, 5, "x 1 1 0;"},
    {HEAD "    %q = arith.divsi %pid, %c4 : i32\n" LOADED("%q") CLOSE, 8, "x 4 4 0;"},
    {HEAD "    %q = arith.remsi %pid, %c4 : i32\n" LOADED("%q") CLOSE, 8, "x 2 1 0;"},
    {HEAD "    %q = arith.divsi %pid, %n : i32\n" LOADED("%q") CLOSE, 24,
     "x 12 12 0;"}, /* n = 12 */
    /* half of a block is left out where the number is even: 5 blocks have 2 tiles */
    {HEAD "    %q = arith.divsi %pid, %c4 : i32\n" LOADED("%q") CLOSE, 5, "x 2 4 0;"},
    /* tensors stand for their first elements */
    {HEAD "    %r = tt.make_range {end = 24 : i32, start = 16 : i32} : tensor<8xi32>\n"
          "    %s = tt.splat %pid : i32 -> tensor<8xi32>\n"
          "    %o = arith.constant dense<2> : tensor<8xi32>\n"
          "    %t = arith.minsi %s, %o : tensor<8xi32>\n"
          "    %u = arith.addi %t, %r : tensor<8xi32>\n"
          "    %xs = tt.splat %x : !tt.ptr<f16> -> tensor<8x!tt.ptr<f16>>\n"
          "    %p = tt.addptr %xs, %u : tensor<8x!tt.ptr<f16>>, tensor<8xi32>\n"
          "    %v = tt.load %p : tensor<8x!tt.ptr<f16>>\n"
          "    %p2 = tt.addptr %p, %o : tensor<8x!tt.ptr<f16>>, tensor<8xi32>\n"
          "    %v2 = tt.load %p2 : tensor<8x!tt.ptr<f16>>\n" CLOSE,
     4, "x 1 2 2;"},
    /* a loop that carries its pointer */
    {HEAD "    %e = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (!tt.ptr<f16>)  : i32 {\n"
          "      %v = tt.load %a : !tt.ptr<f16>\n"
          "      %a2 = tt.addptr %a, %c4 : !tt.ptr<f16>, i32\n"
          "      scf.yield %a2 : !tt.ptr<f16>\n    }\n" CLOSE,
     3, "x 3 3 4;"},
    {HEAD "    %true = arith.constant true\n    %q = arith.divsi %pid, %c4 : i32\n" CORNER("%q")
         CLOSE,
     8, "d 4 4 0;"},
    {HEAD "    %true = arith.constant true\n" CORNER("%pid, %c4") CLOSE, 3, "d 1 1 0;"},
    /* a function that is called loads what its caller gives it */
    {HEAD
     "    %q = arith.divsi %pid, %c4 : i32\n    tt.call @g(%x, %q) : (!tt.ptr<f16>, i32) -> ()\n"
     "    tt.return\n  }\n  tt.func private @g(%p: !tt.ptr<f16>, %k: i32) {\n"
     "    %a = tt.addptr %p, %k : !tt.ptr<f16>, i32\n    %v = tt.load %a : !tt.ptr<f16>\n"
     "    tt.call @g(%p, %k) : (!tt.ptr<f16>, i32) -> ()\n" CLOSE,
     8, "x 4 4 0;"},
    /* data decides: nothing is known */
    {HEAD "    %w = tt.load %x : !tt.ptr<i32>\n    %p = tt.addptr %x, %w : !tt.ptr<f16>, i32\n"
          "    %true = arith.constant true\n" CORNER("%w") CLOSE,
     8, "x 8 8 0;"},
    {HEAD "    %q = arith.divsi %pid, %c0 : i32\n" LOADED("%q") CLOSE, 8, ""},
};

static void places_of_blocks_are_compared(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        char found[160];
        spad_error error;
        assert_ok(read_tiles(samples[i].text, samples[i].blocks, NULL, found, sizeof found, &error),
                  &error);
        if (strcmp(found, samples[i].found) != 0) print_error("sample %zu\n", i);
        assert_string_equal(found, samples[i].found);
    }
}

static void no_more_tiles_than_room(void **state) {
    (void)state;
    spad_ttgir_tile tiles[1] = {{.name = "same"}};
    size_t count = 7;
    spad_error error;
    const char *text = samples[0].text;
    assert_ok(spad_ttgir_read_tiles(tiles, 0, &count, text, strlen(text), 2, NULL, &error), &error);
    assert_int_equal(count, 0);
    assert_string_equal(tiles[0].name, "same");
}

static void faults(void **state) {
    (void)state;
    char found[160];
    spad_error error;
    assert_int_equal(read_tiles(samples[0].text, 0, NULL, found, sizeof found, &error),
                     SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "0 blocks: 1 to 4096 are compared");
    assert_int_equal(read_tiles(samples[0].text, 4097, NULL, found, sizeof found, &error),
                     SPAD_ERR_ARGUMENT);
    assert_int_equal(read_tiles("module {", 2, NULL, found, sizeof found, &error), SPAD_ERR_SYNTAX);
    assert_int_equal(read_tiles("", 2, NULL, found, sizeof found, &error), SPAD_ERR_SYNTAX);
    assert_string_equal(error.message, "no module: expected TTGIR, as Triton prints it");
}

static spad_status scenario(const spad_host *host, void *context) {
    char found[160];
    spad_error error;
    return read_tiles(context, 4, host, found, sizeof found, &error);
}

static void memory(void **state) {
    (void)state;
    char text[2048];
    snprintf(text, sizeof text, "%s", samples[5].text);
    test_fail_each_allocation(scenario, text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_of_blocks_are_compared),
        cmocka_unit_test(no_more_tiles_than_room),
        cmocka_unit_test(faults),
        cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
