/* SPDX-License-Identifier: Apache-2.0
 *
 * What a launch leaves in device memory: stores, and copies of boxes of tensors in both directions
 * with their swizzles. A byte that a copy may have written is never known with its old value. */
#include <string.h>

#include "spad/experimental/ptx.h"
#include "support/support.h"

enum {
    COLUMNS = 32,
    ROWS = 16,
    TENSOR = COLUMNS * ROWS * 4,
    FROM = 0x10000,
    TO = 0x20000,
    OUT = 0x30000
};

/* One thread loads rows 4 to 11, stores a word of the tile, and stores the tile from row 12 on. */
#define HEAD                                                                                    \
    ".version 9.0\n.target sm_90a\n.address_size 64\n"                                          \
    ".visible .entry k(.param .align 64 .b8 from[128], .param .align 64 .b8 to[128],\n"         \
    "  .param .u64 out, .param .u32 n) {\n.reg .b64 %d<4>;\n.reg .b32 %r<4>;\n.reg .pred %p;\n" \
    ".shared .align 1024 .b8 tile[1024];\n.shared .align 8 .b64 full;\n"                        \
    "ld.param.u32 %r2, [n];\nld.param.u64 %d3, [out];\n"                                        \
    "mbarrier.init.shared.b64 [full], 1;\n"                                                     \
    "mbarrier.arrive.expect_tx.shared.b64 _, [full], 1024;\n"                                   \
    "mov.b64 %d1, from;\ncvta.param.u64 %d1, %d1;\nmov.b64 %d2, to;\ncvta.param.u64 %d2, %d2;\n"
#define LOAD(coordinates)                                                                        \
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile], [" \
    "%d1, {" coordinates "}], [full];\n"                                                         \
    "W: mbarrier.try_wait.parity.shared.b64 %p, [full], 0;\n@!%p bra W;\n"                       \
    "ld.shared.u32 %r3, [tile+128];\nst.global.u32 [%d3], %r3;\n"
#define STORE(kind, coordinates)                                                             \
    "cp" kind ".bulk_group [%d2, {" coordinates "}], [tile];\ncp.async.bulk.commit_group;\n" \
    "cp.async.bulk.wait_group 0;\nret;\n}\n"
#define COPIES ".async.bulk.tensor.2d.global.shared::cta.tile"
#define ADDS ".reduce.async.bulk.tensor.2d.global.shared::cta.add.tile"

typedef struct outcome {
    uint32_t to[ROWS][COLUMNS];
    uint8_t known[ROWS][COLUMNS * 4];
    uint32_t word;
    bool word_known;
} outcome;

static void run_boxes(outcome *out, const char *text) {
    static uint32_t from[ROWS][COLUMNS], to[ROWS][COLUMNS];
    uint8_t parameters[268] = {0}, parameters_known[268];
    const uint64_t address = OUT;
    for (uint32_t i = 0; i < ROWS * COLUMNS; i++) {
        from[i / COLUMNS][i % COLUMNS] = 1000 + i;
        to[i / COLUMNS][i % COLUMNS] = i;
    }
    memset(parameters_known, 1, sizeof parameters_known);
    memset(parameters_known + 264, 0, 4); /* n is not known */
    memcpy(parameters + 256, &address, 8);
    const spad_ptx_memory memory[] = {
        {.address = FROM, .bytes = TENSOR, .contents = (uint8_t *)from, .content_bytes = TENSOR},
        {.address = TO, .bytes = TENSOR, .contents = (uint8_t *)to, .content_bytes = TENSOR},
        {.address = OUT, .bytes = 8, .content_bytes = 4},
        {.address = 0x40000, .bytes = 8}};
    const spad_ptx_tensor_map maps[] = {
        {.in_parameters = true, .at = 0, .map = "i32[16,32],box[8,32],swizzle128,at[0x10000]"},
        {.in_parameters = true, .at = 128, .map = "i32[16,32],box[8,32],swizzle128,at[0x20000]"}};
    const spad_ptx_launch launch = {.parameters = parameters,
                                    .parameters_known = parameters_known,
                                    .parameter_bytes = sizeof parameters,
                                    .memory = memory,
                                    .memory_count = 4,
                                    .tensor_maps = maps,
                                    .tensor_map_count = 2};
    spad_ptx *ptx;
    spad_ptx_run *run;
    spad_error error = {0};
    assert_ok(spad_ptx_create(&ptx, text, strlen(text), "k.ptx", NULL, NULL, &error), &error);
    assert_ok(spad_ptx_run_create(&run, ptx, &launch, NULL, &error), &error);
    assert_int_equal(spad_ptx_run_memory_count(run), 4);
    const spad_ptx_memory after = spad_ptx_run_get_memory(run, 1);
    assert_true(after.address == TO && after.bytes == TENSOR && after.content_bytes == TENSOR);
    memcpy(out->to, after.contents, TENSOR);
    memcpy(out->known, after.known, TENSOR);
    const spad_ptx_memory word = spad_ptx_run_get_memory(run, 2);
    assert_int_equal(word.content_bytes, 4); /* of 8 bytes */
    memcpy(&out->word, word.contents, 4);
    out->word_known = word.known[0] != 0;
    const spad_ptx_memory none = spad_ptx_run_get_memory(run, 3);
    assert_true(none.contents == NULL && none.known == NULL && none.content_bytes == 0);
    assert_memory_equal(spad_ptx_run_get_memory(run, 0).contents, from, TENSOR);
    spad_ptx_run_destroy(run);
    spad_ptx_destroy(ptx);
}

static int64_t known_bytes(const outcome *o, int first, int last) {
    int64_t count = 0;
    for (int row = first; row < last; row++) {
        for (int i = 0; i < COLUMNS * 4; i++) count += o->known[row][i];
    }
    return count;
}

/* Rows 12 to 15 of the tensor get rows 4 to 7; the rest of the box is outside. */
static void boxes_are_moved(void **state) {
    (void)state;
    static outcome o;
    run_boxes(&o, HEAD LOAD("0, 4") STORE(COPIES, "0, 12"));
    assert_int_equal(known_bytes(&o, 0, ROWS), TENSOR);
    for (uint32_t i = 0; i < ROWS * COLUMNS; i++) {
        const uint32_t row = i / COLUMNS;
        assert_int_equal(o.to[row][i % COLUMNS], row < 12 ? i : 1000 + i - 8 * COLUMNS);
    }
    /* chunk 0 of row 1 of the tile has chunk 1 of the row */
    assert_true(o.word_known);
    assert_int_equal(o.word, 1000 + 5 * COLUMNS + 4);
}

/* Columns and rows beyond the tensor are filled, which is not relied on. */
static void what_is_outside_is_not_known(void **state) {
    (void)state;
    static outcome o;
    run_boxes(&o, HEAD LOAD("16, 12") STORE(COPIES, "0, 0"));
    assert_int_equal(known_bytes(&o, 0, 4), 4 * 16 * 4);
    assert_int_equal(o.to[0][15], 1000 + 12 * COLUMNS + 31);
    assert_int_equal(o.known[0][64], 0);
    assert_int_equal(known_bytes(&o, 4, 8), 0);
    assert_int_equal(known_bytes(&o, 8, ROWS), 8 * COLUMNS * 4);
}

static void what_is_not_computed_is_forgotten(void **state) {
    (void)state;
    static outcome o;
    run_boxes(&o, HEAD LOAD("0, 4") STORE(ADDS, "0, 12"));
    assert_int_equal(known_bytes(&o, 0, 12), 12 * COLUMNS * 4);
    assert_int_equal(known_bytes(&o, 12, ROWS), 0);
    run_boxes(&o, HEAD LOAD("0, 4") STORE(COPIES, "0, %r2"));
    assert_int_equal(known_bytes(&o, 0, ROWS), 0);
    run_boxes(&o, HEAD LOAD("%r2, 4") STORE(COPIES, "0, 12"));
    assert_false(o.word_known);
    assert_int_equal(known_bytes(&o, 0, 12), 12 * COLUMNS * 4);
    assert_int_equal(known_bytes(&o, 12, ROWS), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_are_moved),
        cmocka_unit_test(what_is_outside_is_not_known),
        cmocka_unit_test(what_is_not_computed_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
