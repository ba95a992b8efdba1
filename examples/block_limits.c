/* SPDX-License-Identifier: Apache-2.0
 *
 * When it does not fit, or is not allowed: what the library says. A ring that is
 * one stage too deep, a chip without barriers, a reducer that is read too early,
 * tensor memory that is freed by the wrong warp, and one core of an Ascend.
 */
#include <stdio.h>

#include "spad/spad.h"

static spad_error error;

/* Shows how a call ended. */
static void show(const char *what, spad_status status) {
    printf("%-22s %s%s%s\n", what, spad_status_code(status), status == SPAD_OK ? "" : ": ",
           status == SPAD_OK ? "" : error.message);
}

static spad_block *block_on(const char *chip_name, const char *name) {
    const spad_target *chip;
    spad_block *block;
    const spad_block_options options = {.name = name};
    if (spad_target_find(&chip, chip_name, &error) != SPAD_OK ||
        spad_block_create(&block, chip, &options, &error) != SPAD_OK) {
        fprintf(stderr, "block_limits: %s\n", error.message);
        return NULL;
    }
    return block;
}

static void ring_of(spad_block *b, const char *name, int64_t stages) {
    int64_t number;
    const spad_block_request tile = {.name = name,
                                     .shape = SPAD_SHAPE(128, 128),
                                     .dtype = SPAD_FLOAT16,
                                     .stages = stages,
                                     .use = SPAD_USE_SWIZZLE_128B};
    show("alloc", spad_block_alloc(&number, b, &tile, &error));
}

static void too_deep(const spad_sink *out) {
    spad_block *b = block_on("sm_90", "deep");
    const int64_t arrivals[] = {1, 1, 1, 1};
    int64_t number;
    if (b == NULL) return;
    ring_of(b, "A", 4);
    ring_of(b, "B", 4);
    show("barrier", spad_block_alloc_barrier(&number, b, arrivals, 4, "full", &error));
    show("plan", spad_block_plan(b, &error));
    show("check_fit", spad_block_check_fit(b, &error));
    spad_block_write(b, SPAD_FORMAT_TEXT, out, &error);
    spad_block_destroy(b);
}

static void not_allowed(void) {
    spad_block *b = block_on("sm_80", "old");
    const int64_t arrivals[] = {128};
    int64_t number, sums;
    if (b == NULL) return;
    show("barrier on sm_80", spad_block_alloc_barrier(&number, b, arrivals, 1, "full", &error));
    show("misspelt scope",
         spad_block_alloc_shared(&number, b, SPAD_SHAPE(8), SPAD_INT8, "shared.dny", "x", &error));
    show("reducer", spad_block_alloc_reducer(&sums, b, SPAD_SHAPE(16), SPAD_FLOAT32,
                                             SPAD_REDUCE_SUM, SPAD_REPLICATION_ALL, "s", &error));
    show("read before finalize", spad_block_touch(b, sums, SPAD_TOUCH_READ, &error));
    spad_value one;
    spad_value_from_real(&one, SPAD_FLOAT32, 1.0, &error);
    show("fill a sum with 1", spad_block_reducer_fill(b, sums, one, &error));
    show("plan", spad_block_plan(b, &error));
    spad_block_destroy(b);
}

static void tensor_memory(void) {
    const spad_target *chip;
    spad_tmem tmem;
    int64_t first, second;
    if (spad_target_find(&chip, "sm_100", &error) != SPAD_OK) return;
    show("tensor memory", spad_tmem_init(&tmem, chip, &error));
    show("alloc 128 columns", spad_tmem_alloc(&first, &tmem, 128, 0, &error));
    show("alloc 96 columns", spad_tmem_alloc(&second, &tmem, 96, 0, &error));
    show("alloc 256 columns", spad_tmem_alloc(&second, &tmem, 256, 0, &error));
    show("free by warp 1", spad_tmem_free(&tmem, first, 128, 1, &error));
    show("end of the block", spad_tmem_finish(&tmem, &error));
}

static void one_core(const spad_sink *out) {
    spad_block *b = block_on("910b", "cube_tile");
    int64_t number;
    if (b == NULL) return;
    const struct {
        const char *name;
        const char *scope;
        spad_dtype dtype;
    } buffers[] = {
        {"a_l1", "shared.dyn", SPAD_FLOAT16},       {"b_l1", "shared.l1", SPAD_FLOAT16},
        {"a_l0", "wmma.matrix_a", SPAD_FLOAT16},    {"b_l0", "wmma.matrix_b", SPAD_FLOAT16},
        {"c_l0", "wmma.accumulator", SPAD_FLOAT32}, {"c_ub", "shared", SPAD_FLOAT32},
    };
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++) {
        show(buffers[i].name,
             spad_block_alloc_shared(&number, b, SPAD_SHAPE(128, 128), buffers[i].dtype,
                                     buffers[i].scope, buffers[i].name, &error));
    }
    show("plan", spad_block_plan(b, &error));
    spad_block_write(b, SPAD_FORMAT_TEXT, out, &error);
    spad_block_destroy(b);
}

int main(void) {
    const spad_sink out = spad_sink_file(stdout);
    too_deep(&out);
    not_allowed();
    tensor_memory();
    one_core(&out);
    return 0;
}
