/* SPDX-License-Identifier: Apache-2.0
 *
 * TTGIR for tests: pieces of a module, and texts with the statements or with the fault they have.
 */
#ifndef SPAD_TEST_TTGIR_H
#define SPAD_TEST_TTGIR_H

#include <stddef.h>

#include "spad/spad.h"

#define HEAD(chip)                                                                              \
    "#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false}>\n"              \
    "#wide = #ttg.nvmma_shared<{swizzlingByteWidth = 256, transposed = false}>\n"               \
    "#bare = #ttg.nvmma_shared<{swizzlingByteWidth, transposed = false}>\n"                     \
    "#flat = #ttg.swizzled_shared<{order, order [0], order = [0]}>\n"                           \
    "#cut = #ttg.swizzled_shared<{order = [1, 0\n"                                              \
    "#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>\n"          \
    "#smem = #ttg.shared_memory\n"                                                              \
    "module attributes {\"ttg.num-warps\" = 4 : i32, ttg.target = \"cuda:" chip                 \
    "\"} {\n  tt.func public @f(%p: !tt.ptr<f16>, %d: !tt.tensordesc<64x64xf16, #shared>, %K: " \
    "i32, %c: i1, %f: f32, %L: i64, %s: i16, %t: i8) {\n"                                       \
    "    %c0 = arith.constant 0 : i32\n    %c1 = arith.constant 1 : i32\n"                      \
    "    %c2 = arith.constant 2 : i32\n    %c3 = arith.constant 3 : i32\n"                      \
    "    %m1 = arith.constant -1 : i32\n    %true = arith.constant true\n"                      \
    "    %v = tt.load %p : !tt.ptr<i32>\n    %w = tt.load %p : !tt.ptr<i1>\n"
#define CLOSE "    tt.return\n  }\n}\n"
#define S2 "!ttg.memdesc<64x64xf16, #shared, #smem, mutable>"
#define S3 "!ttg.memdesc<3x64x64xf16, #shared, #smem, mutable>"
#define B1 "!ttg.memdesc<1xi64, #flat, #smem, mutable>"
#define B2 "!ttg.memdesc<2x1xi64, #flat, #smem, mutable>"
#define T2 "!ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>"
#define ALLOC_S "    %x = ttg.local_alloc : () -> " S2 "\n"
#define ALLOC_R "    %x = ttg.local_alloc : () -> " S3 "\n"
#define ALLOC_B "    %b = ttg.local_alloc : () -> " B1 "\n    ttng.init_barrier %b, 1 : " B1 "\n"
#define ALLOC_T "    %a = ttng.tmem_alloc : () -> " T2 "\n"
#define AT(stage)                                              \
    "    %y = ttg.memdesc_index %x[" stage "] : " S3 " -> " S2 \
    "\n    ttg.local_store %p, %y : " S2 "\n"
#define LOOP "    scf.for %i = %c0 to %K step %c1  : i32 {\n"

typedef struct test_ttgir_sample {
    const char *text;
    const char *wanted[4]; /* in the text of the kernel */
} test_ttgir_sample;

typedef struct test_ttgir_fault {
    const char *text;
    const char *message;
} test_ttgir_fault;

/* Reads it, also with no host memory, and looks for what is wanted in the kernel. */
void test_ttgir_read(const test_ttgir_sample *s);
/* The message is among the faults of the text. */
void test_ttgir_refuse(const test_ttgir_fault *f);

/* The text of the kernel, freed by the caller, and the verdict on it, for K = size. */
char *test_ttgir_text(const char *text, int64_t size, spad_ttgir_info *info);
spad_verdict test_ttgir_verdict(const char *text, int64_t size);

#define CHECK_SAMPLES(list) \
    for (size_t i = 0; i < sizeof(list) / sizeof *(list); i++) test_ttgir_read(&(list)[i])
#define CHECK_FAULTS(list) \
    for (size_t i = 0; i < sizeof(list) / sizeof *(list); i++) test_ttgir_refuse(&(list)[i])

#endif
