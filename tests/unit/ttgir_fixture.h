/* SPDX-License-Identifier: Apache-2.0
 *
 * Modules with layouts and operations on registers, for tests of scratch memory and of layouts. */
#ifndef SPAD_TEST_TTGIR_FIXTURE_H
#define SPAD_TEST_TTGIR_FIXTURE_H

#include <string.h>

#include "spad/spad.h"
#include "support/support.h"
#include "support/ttgir.h"

#undef HEAD
#undef CLOSE
#define LAYOUTS                                                                                  \
    "#row = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order " \
    "= [0]}>\n"                                                                                  \
    "#down = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, "  \
    "1], order = [1, 0]}>\n"                                                                     \
    "#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], "         \
    "instrShape = [16, 64, 16]}>\n"                                                              \
    "#mma2 = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], "        \
    "instrShape = [16, 8]}>\n"                                                                   \
    "#linear = #ttg.linear<{register = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, "   \
    "0], [0, 0]], warp = [[0, 4], [0, 8]], block = []}>\n"                                       \
    "#ring = #ttg.slice<{dim = 0, parent = #ring}>\n"                                            \
    "#odd = #ttg.linear<{register = [[1]], lane = [[0, 1, 2]], warp = [], block = []}>\n"        \
    "#flat = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>\n"         \
    "#smem = #ttg.shared_memory\n"
#define OPEN(attributes)                                                                   \
    LAYOUTS "module attributes {\"ttg.num-warps\" = 4 : i32, " attributes                  \
            "ttg.target = \"cuda:90\"} {\n  tt.func public @f(%p: !tt.ptr<f16>, %K: i32, " \
            "%x: tensor<1024xf32, #row>) {\n"
#define RAW OPEN("")
#define PLACED OPEN("ttg.shared = 4096 : i32, ")
#define END "    tt.return\n  }\n"
#define CLOSE END "}\n"
#define SUM(axis, attributes, types)                                                         \
    "    %s = \"tt.reduce\"(%x) <{axis = " axis " : i32}> ({\n    ^bb0(%a: f32, %b: f32):\n" \
    "      %c = arith.addf %a, %b : f32\n      tt.reduce.return %c : f32\n    })" attributes \
    " : (" types ") -> f32\n"
#define SCAN(axis, types)                                                                   \
    "    %s = \"tt.scan\"(%x) <{axis = " axis " : i32, reverse = false}> ({\n    ^bb0(%a: " \
    "f32, %b: f32):\n      tt.scan.return %a : f32\n    }) : (" types ") -> " types "\n"
#define TILE "!ttg.memdesc<256xf32, #flat, #smem, mutable>"

/* The kernel of a text and what is said beside it. */
static inline spad_kernel *read_with(const char *text, spad_ttgir_info *info) {
    spad_kernel *kernel;
    spad_error error;
    const spad_status status =
        spad_kernel_read_ttgir(&kernel, info, text, strlen(text), "k", NULL, NULL, &error);
    if (status != SPAD_OK) print_error("%s\n", error.message);
    assert_ok(status, &error);
    return kernel;
}

#endif
