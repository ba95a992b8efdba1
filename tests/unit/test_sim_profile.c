/* SPDX-License-Identifier: Apache-2.0
 *
 * The matrix products of the NKI tutorial against the profile that AWS publishes: 4096 x 8192 x
 * 8192 in fp32 on trn2 (aws-neuron-sdk, matrix multiplication tutorial), percent of the time in
 * which DMA and the tensor engine work. The kernels are the examples with fp32 instead of bf16, and
 * with rings of 4 where the compiler rotates buffers. In fp32 the block of rhs in the third kernel
 * does not fit: 262144 bytes a lane of 212984; so rhs is loaded for each row of the block here. */
#include <stdlib.h>
#include <string.h>

#include "sim/sim_report.h"
#include "spad/spad.h"
#include "support/files.h"
#include "support/kernels.h"
#include "support/support.h"
#include "target/target.h"

#define KERNELS "examples/kernels/"

/* The text with another type. */
static char *in_fp32(const char *path) {
    char *text = test_read_file(path);
    for (char *at = text; (at = strstr(at, "bf16")) != NULL;) memcpy(at, "f32 ", 4);
    return text;
}

static const char blocked[] =
    "kernel blocked on trn2\n"
    "tensor lhsT_hbm : hbm f32 [64, 16, 2] (128, 128) input\n"
    "tensor rhs_hbm  : hbm f32 [64, 16] (128, 512) input\n"
    "tensor out_hbm  : hbm f32 [32, 16] (128, 512) output\n"
    "tensor lhsT : sbuf f32 [16, 2, 64] (128, 128) ring [1, 2, 64]\n"
    "tensor rhs  : sbuf f32 [16, 8, 2, 2, 64] (128, 512) ring [1, 1, 1, 1, 64]\n"
    "tensor out  : sbuf f32 [16, 8, 2, 2] (128, 512) ring 4\n"
    "tensor acc  : psum f32 [16, 8, 2, 2] (128, 512) ring 4\n"
    "for m in 0..16 {\n"
    "    for bm in 0..2 { for k in 0..64 {\n"
    "        dma load_lhsT reads lhsT_hbm[k, m, bm] writes lhsT[m, bm, k]\n"
    "    } }\n"
    "    for n in 0..8 { for bm in 0..2 { for bn in 0..2 {\n"
    "        for k in 0..64 {\n"
    "            dma load_rhs reads rhs_hbm[k, n * 2 + bn] writes rhs[m, n, bm, bn, k]\n"
    "            if k == 0 {\n"
    "                tensor matmul reads lhsT[m, bm, k], rhs[m, n, bm, bn, k]\n"
    "                    writes acc[m, n, bm, bn]\n"
    "            } else {\n"
    "                tensor matmul reads lhsT[m, bm, k], rhs[m, n, bm, bn, k]\n"
    "                    updates acc[m, n, bm, bn]\n"
    "            }\n"
    "        }\n"
    "        vector evict reads acc[m, n, bm, bn] writes out[m, n, bm, bn]\n"
    "        dma store reads out[m, n, bm, bn] writes out_hbm[m * 2 + bm, n * 2 + bn]\n"
    "    } } }\n"
    "}\n";

static const spad_define tiled_sizes[] = {{"M", 32}, {"N", 16}, {"K", 64}};
static const spad_define tiled_rings[] = {{"lhsT", 4}, {"rhs", 4}, {"out", 4}, {"acc", 4}};
static const spad_define hoisted_rings[] = {{"out", 4}, {"acc", 4}};
static const spad_define full_sizes[] = {{"MB", 2}, {"NB", 8}, {"KB", 8}};

#define LIST(table) (table), sizeof(table) / sizeof((table)[0])

/* In percent; 0: not published. */
static const struct {
    const char *name;
    const char *file; /* NULL: `blocked` */
    const spad_define *sizes;
    size_t size_count;
    const spad_define *rings;
    size_t ring_count;
    double dma;
    double tensor;
    double vector;
} rows[] = {
    {"tiled", KERNELS "02_matmul_1_tiled.spad", LIST(tiled_sizes), LIST(tiled_rings), 99.9, 87.3,
     0},
    {"hoisted", KERNELS "02_matmul_2_hoisted.spad", LIST(tiled_sizes), LIST(hoisted_rings), 99.7,
     99.9, 0},
    {"blocked", NULL, NULL, 0, NULL, 0, 95.7, 99.5, 0},
    {"fully blocked", KERNELS "02_matmul_4_exact_fit.spad", LIST(full_sizes), NULL, 0, 21.5, 99.5,
     10.6},
};

static void check_share(const char *kernel, const char *engine, int64_t time, int64_t whole,
                        double published) {
    const double share = 100.0 * (double)time / (double)whole;
    print_message("%s, %s: %.1f %%, published %.1f %%\n", kernel, engine, share, published);
    if (published > 0 && (share < published - 10 || share > published + 10)) {
        fail_msg("%s, %s: %.1f %% and published %.1f %%", kernel, engine, share, published);
    }
}

static void shares_of_the_profile(void **state) {
    (void)state;
    const spad_target *trn2;
    assert_int_equal(spad_target_find(&trn2, "trn2", NULL), SPAD_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *text = rows[i].file != NULL ? in_fp32(rows[i].file) : NULL;
        const spad_kernel_options options = {.defines = rows[i].sizes,
                                             .define_count = rows[i].size_count,
                                             .rings = rows[i].rings,
                                             .ring_count = rows[i].ring_count,
                                             .target = trn2};
        spad_kernel *kernel = test_parse_with(text != NULL ? text : blocked, &options);
        spad_sim *sim;
        assert_int_equal(spad_sim_create(&sim, kernel, NULL, NULL), SPAD_OK);
        const spad_sim_totals totals = spad_sim_get_totals(sim);
        assert_int_equal(totals.by_origin[SPAD_ORIGIN_PUBLISHED], totals.operations);
        size_t engine;
        assert_int_equal(spad__target_find_engine(&engine, trn2, "dma", NULL), SPAD_OK);
        check_share(rows[i].name, "dma", spad__sim_get_engine(sim, engine).active, totals.makespan,
                    rows[i].dma);
        assert_int_equal(spad__target_find_engine(&engine, trn2, "tensor", NULL), SPAD_OK);
        check_share(rows[i].name, "tensor", spad__sim_get_engine(sim, engine).busy, totals.makespan,
                    rows[i].tensor);
        assert_int_equal(spad__target_find_engine(&engine, trn2, "vector", NULL), SPAD_OK);
        check_share(rows[i].name, "vector", spad__sim_get_engine(sim, engine).busy, totals.makespan,
                    rows[i].vector);
        spad_sim_destroy(sim);
        spad_kernel_destroy(kernel);
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(shares_of_the_profile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
