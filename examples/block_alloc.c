/* SPDX-License-Identifier: Apache-2.0
 *
 * Every alloc_* of tilelang.language.allocate in one kernel: a matrix multiply
 * with a row sum for a Blackwell chip. Copies land in a ring of stages, products
 * in tensor memory, and the output tile reuses the bytes of an early buffer.
 */
#include <stdio.h>

#include "spad/spad.h"

static spad_error error;

/* Ends the chain of calls at the first that fails. */
static int ok(spad_status status) {
    if (status != SPAD_OK) fprintf(stderr, "block_alloc: %s\n", error.message);
    return status == SPAD_OK;
}

static int tiles(spad_block *b) {
    int64_t a, w, out, table;
    const spad_block_request a_tile = {.name = "A",
                                       .shape = SPAD_SHAPE(128, 64),
                                       .dtype = SPAD_FLOAT16,
                                       .stages = 3,
                                       .use = SPAD_USE_SWIZZLE_128B};
    const spad_block_request w_tile = {.name = "W",
                                       .shape = SPAD_SHAPE(64, 128),
                                       .dtype = SPAD_FLOAT16,
                                       .stages = 3,
                                       .use = SPAD_USE_SWIZZLE_128B};
    return ok(spad_block_alloc(&a, b, &a_tile, &error)) &&
           ok(spad_block_alloc(&w, b, &w_tile, &error)) &&
           ok(spad_block_alloc_shared(&table, b, SPAD_SHAPE(127), SPAD_INT4, "shared", "table",
                                      &error)) &&
           ok(spad_block_free(b, a, &error)) && ok(spad_block_free(b, w, &error)) &&
           ok(spad_block_alloc_shared(&out, b, SPAD_SHAPE(128, 128), SPAD_FLOAT16, NULL, "out",
                                      &error));
}

static int barriers_and_accumulators(spad_block *b) {
    const int64_t one_each[] = {1, 1, 1};
    const int64_t all_threads[] = {128};
    int64_t full, done, acc, scale, instr, smem;
    return ok(spad_block_alloc_barrier(&full, b, one_each, 3, "full", &error)) &&
           ok(spad_block_alloc_cluster_barrier(&done, b, all_threads, 1, "done", &error)) &&
           ok(spad_block_alloc_tmem(&acc, b, SPAD_SHAPE(128, 128), SPAD_FLOAT32, "acc", &error)) &&
           ok(spad_block_alloc_tmem(&scale, b, SPAD_SHAPE(128, 128), SPAD_UINT8, "scale",
                                    &error)) &&
           ok(spad_block_alloc_descriptor(&smem, b, "tcgen05_smem", "a_desc", &error)) &&
           ok(spad_block_alloc_descriptor(&instr, b, "tcgen05_instr", "mma_desc", &error));
}

static int thread_private(spad_block *b) {
    int64_t copy, local, rows, turn, sums, workspace;
    spad_value seven;
    return ok(spad_block_alloc_local(&local, b, SPAD_SHAPE(8), SPAD_FLOAT16, "lane", &error)) &&
           ok(spad_block_alloc_fragment(&copy, b, SPAD_SHAPE(128, 128), SPAD_FLOAT32, "c",
                                        &error)) &&
           ok(spad_block_alloc_fragment(&rows, b, SPAD_SHAPE(128), SPAD_FLOAT32, "rows", &error)) &&
           ok(spad_value_from_int(&seven, SPAD_INT32, 7, &error)) &&
           ok(spad_block_alloc_var(&turn, b, SPAD_INT32, &seven, "turn", &error)) &&
           ok(spad_block_alloc_reducer(&sums, b, SPAD_SHAPE(128), SPAD_FLOAT32, SPAD_REDUCE_SUM,
                                       SPAD_REPLICATION_UNSET, "sums", &error)) &&
           ok(spad_block_reducer_init(b, sums, NULL, &error)) &&
           ok(spad_block_enter(b, SPAD_FLOW_PARALLEL, &error)) &&
           ok(spad_block_reducer_update(b, sums, SPAD_REDUCE_SUM, &error)) &&
           ok(spad_block_leave(b, &error)) &&
           ok(spad_block_reducer_finalize(b, sums, rows, 1, &error)) &&
           ok(spad_block_alloc_global(&workspace, b, SPAD_SHAPE(4, 128, 128), SPAD_FLOAT32,
                                      "split_k", &error));
}

int main(void) {
    const spad_target *chip;
    spad_block *b;
    const spad_block_options options = {.name = "matmul_rowsum", .threads = 128};
    if (!ok(spad_target_find(&chip, "sm_100", &error)) ||
        !ok(spad_block_create(&b, chip, &options, &error))) {
        return 1;
    }
    const spad_sink out = spad_sink_file(stdout);
    const int good = tiles(b) && barriers_and_accumulators(b) && thread_private(b) &&
                     ok(spad_block_plan(b, &error)) && ok(spad_block_check_fit(b, &error)) &&
                     ok(spad_block_write(b, SPAD_FORMAT_TEXT, &out, &error));
    spad_block_destroy(b);
    return good ? 0 : 1;
}
