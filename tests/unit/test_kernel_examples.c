/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels that we ship: every file of examples/kernels is read, written, read again
 * and walked to its end; the numbers that their comments give are those of their traces.
 * The blocks of the manual marked "spad" are kernels, too: whole ones, or statements
 * after the block that is marked "spad prelude".
 */
#include "spad/experimental/trace_queries.h"
#include "support/kernels.h"
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spad/experimental/kernel_rows.h"
#include "spad/experimental/walk.h"
#include "support/files.h"

enum { TEXT_MAX = 1 << 16, EVENTS_MAX = 1000000 };

/* Walks to the end, all accesses live. Returns the number of events. */
static int64_t walk_all(const spad_kernel *k) {
    const spad_walk_options options = {.agent = SPAD_WALK_ALL};
    spad_walk *walk;
    spad_error error;
    const spad_walk_event *event;
    assert_ok(spad_walk_create(&walk, k, &options, &error), &error);
    do {
        assert_ok(spad_walk_next(&event, walk, &error), &error);
        for (size_t i = 0; i < event->access_count; i++) assert_true(event->accesses[i].live);
        assert_true(event->time < EVENTS_MAX);
    } while (event->kind != SPAD_WALK_END);
    const int64_t events = event->time;
    spad_walk_destroy(walk);
    return events;
}

static void check_kernel(const char *text, const char *name) {
    test_text first;
    test_text second;
    test_text_init(&first);
    test_text_init(&second);
    spad_kernel *k = test_parse_named(text, name, NULL);
    assert_int_equal(spad_kernel_write_text(k, &first.sink, NULL), SPAD_OK);
    spad_kernel *again = test_parse_named(first.bytes, name, NULL);
    assert_int_equal(spad_kernel_write_text(again, &second.sink, NULL), SPAD_OK);
    assert_string_equal(first.bytes, second.bytes);
    assert_int_equal(walk_all(k), walk_all(again));
    spad_kernel_destroy(k);
    spad_kernel_destroy(again);
    test_text_free(&first);
    test_text_free(&second);
}

static void all_examples_can_be_walked(void **state) {
    (void)state;
    test_files files;
    test_list_kernels(&files, TEST_KERNELS);
    assert_true(files.count >= 24);
    for (size_t i = 0; i < files.count; i++) {
        char name[512];
        snprintf(name, sizeof name, TEST_KERNELS "/%s", files.names[i]);
        char *text = test_read_file(name);
        check_kernel(text, name);
        free(text);
    }
}

/* Peak bytes a lane of what is alive together. */
static void the_numbers_of_the_comments_hold(void **state) {
    (void)state;
    static const struct {
        const char *file;
        const char *space;
        int64_t peak;
        spad_define define; /* name NULL: none */
    } cases[] = {
        {"01_tensor_add", "sbuf", 6144, {0}},
        {"02_matmul_1_tiled", "sbuf", 4608, {0}},
        {"02_matmul_2_hoisted", "sbuf", 12288, {0}},
        {"02_matmul_3_blocked", "sbuf", 21504, {0}},
        {"02_matmul_4_exact_fit", "sbuf", 180224, {0}},
        {"02_matmul_4_exact_fit", "sbuf", 212992, {"LHST", 2}},
        {"05_attention_tkg", "sbuf", 20434, {0}}, /* and two bytes of alignment */
        {"05_mlp_cte", "sbuf", 73798, {0}},       /* and two bytes of alignment */
        {"07_gemm_sm80", "shared", 98304, {0}},
        {"07_gemm_sm80", "shared", 131072, {"S", 4}},
        {"08_gemm_sm90", "shared", 131072, {0}},
        {"09_flash_attention_2", "shared", 65536, {0}},
        {"09_flash_attention_3", "shared", 163840, {0}},
        {"14_flash_attention_3_causal", "shared", 163840, {0}},
        {"16_gemm_grouped", "shared", 165888, {0}},
        {"17_gemm_clc", "shared", 229408, {0}},
        {"17_gemm_clc", "tmem", 2048, {0}},
        {"10_gemm_sm100", "shared", 212992, {0}},
        {"10_gemm_sm100", "tmem", 2048, {0}},
        {"10_attention_sm100", "tmem", 2048, {0}},
        {"11_add_flags", "ub", 49152, {0}},
        {"11_add_flags", "ub", 196608, {"ROWS", 64}},
        {"11_add_queues", "ub", 1536, {0}},
        {"11_online_softmax", "ub", 4 * 32768 + 128, {0}},
        {"12_gemm_cube", "l1", 393216, {0}},
        {"12_gemm_cube", "l0a", 32768, {0}},
        {"12_gemm_cube", "l0b", 65536, {0}},
        {"12_gemm_cube", "l0c", 131072, {0}},
        {"13_dirk_step", "shared", 84, {0}},
        {"13_dirk_step", "shared", 280, {"N", 10}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char name[512];
        snprintf(name, sizeof name, "examples/kernels/%s.spad", cases[i].file);
        char *text = test_read_file(name);
        const spad_kernel_options options = {.defines = &cases[i].define,
                                             .define_count = cases[i].define.name != NULL};
        spad_kernel *k = test_parse_named(text, name, &options);
        spad_trace *trace;
        spad_error error;
        size_t space;
        spad_space_stats stats;
        assert_ok(spad_trace_create(&trace, spad_kernel_get_target(k), NULL, &error), &error);
        assert_ok(spad_kernel_write_trace(k, trace, NULL, &error), &error);
        assert_ok(spad_target_find_space(&space, spad_kernel_get_target(k), cases[i].space, &error),
                  &error);
        assert_ok(spad_trace_get_stats(&stats, trace, space, &error), &error);
        if (stats.peak_bytes != cases[i].peak) print_error("%s\n", cases[i].file);
        assert_int_equal(stats.peak_bytes, cases[i].peak);
        spad_trace_destroy(trace);
        spad_kernel_destroy(k);
        free(text);
    }
}

/* Bytes after the highest tile that has an address. */
static void hand_placed_kernels_end_where_they_say(void **state) {
    (void)state;
    static const struct {
        const char *file;
        int64_t top;
        spad_define define;
    } cases[] = {
        {"03_attention_v9", 108396, {0}}, {"03_attention_v10", 108396, {0}},
        {"04_fused_linear", 148744, {0}}, {"04_fused_linear", 38152, {"DIM", 2048}},
        {"06_attention_cte", 53600, {0}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        char name[512];
        snprintf(name, sizeof name, "examples/kernels/%s.spad", cases[c].file);
        char *text = test_read_file(name);
        const spad_kernel_options options = {.defines = &cases[c].define,
                                             .define_count = cases[c].define.name != NULL};
        spad_kernel *k = test_parse_named(text, name, &options);
        spad_walk *walk;
        const spad_walk_event *event;
        int64_t top = 0;
        assert_int_equal(spad_walk_create(&walk, k, NULL, NULL), SPAD_OK);
        do {
            assert_int_equal(spad_walk_next(&event, walk, NULL), SPAD_OK);
            for (size_t i = 0; i < event->access_count; i++) {
                const spad_walk_access *a = &event->accesses[i];
                const int64_t end = a->tile_rect.byte + a->tile_rect.bytes;
                const size_t space = spad_kernel_get_tensor(k, (size_t)a->tensor)->space;
                if (a->placed && space == 0 && end > top) top = end;
            }
        } while (event->kind != SPAD_WALK_END);
        if (top != cases[c].top) print_error("%s\n", cases[c].file);
        assert_int_equal(top, cases[c].top);
        spad_walk_destroy(walk);
        spad_kernel_destroy(k);
        free(text);
    }
}

/* The addresses that the nki-library itself gave to these tensors. */
static void scoped_kernels_have_the_addresses_of_the_library(void **state) {
    (void)state;
    static const struct {
        const char *file;
        const char *tensor;
        int64_t tile;
        int64_t life;
        int64_t byte;
    } cases[] = {
        {"05_mlp_cte", "zero", 0, 0, 212724},       {"05_mlp_cte", "eps", 0, 0, 212722},
        {"05_mlp_cte", "gamma", 0, 0, 212656},      {"05_mlp_cte", "hidden", 0, 0, 208560},
        {"05_mlp_cte", "hidden", 3, 0, 196272},     {"05_mlp_cte", "hidden", 3, 1, 196272},
        {"05_mlp_cte", "squares", 0, 0, 188080},    {"05_mlp_cte", "row_sum", 0, 0, 188076},
        {"05_mlp_cte", "weights", 0, 0, 188080},    {"05_mlp_cte", "weights", 3, 1, 163504},
        {"05_mlp_cte", "src", 3, 0, 3072},          {"05_mlp_cte", "src", 0, 1, 20480},
        {"05_mlp_cte", "down", 0, 0, 4096},         {"05_mlp_cte", "down", 0, 1, 24576},
        {"05_attention_tkg", "qk", 0, 0, 76},       {"05_attention_tkg", "exps", 0, 0, 2124},
        {"05_attention_tkg", "k", 0, 0, 3680},      {"05_attention_tkg", "k", 0, 3, 15968},
        {"05_attention_tkg", "output", 0, 0, 3924}, {"05_attention_tkg", "v", 0, 0, 4052},
        {"05_attention_tkg", "v", 0, 3, 16340},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        char name[512];
        snprintf(name, sizeof name, "examples/kernels/%s.spad", cases[c].file);
        char *text = test_read_file(name);
        spad_kernel *k = test_parse_named(text, name, NULL);
        spad_walk *walk;
        const spad_walk_event *event;
        bool met = false;
        assert_int_equal(spad_walk_create(&walk, k, NULL, NULL), SPAD_OK);
        do {
            assert_int_equal(spad_walk_next(&event, walk, NULL), SPAD_OK);
            for (size_t i = 0; i < event->access_count; i++) {
                const spad_walk_access *a = &event->accesses[i];
                const char *tensor = spad_kernel_get_tensor(k, (size_t)a->tensor)->name;
                if (strcmp(tensor, cases[c].tensor) != 0 || a->tile != cases[c].tile ||
                    a->life != cases[c].life) {
                    continue;
                }
                assert_int_equal(a->tile_rect.byte, cases[c].byte);
                met = true;
            }
        } while (event->kind != SPAD_WALK_END);
        assert_true(met);
        spad_walk_destroy(walk);
        spad_kernel_destroy(k);
        free(text);
    }
}

/* The next block marked "spad" after *at: its text, and whether it is the prelude. */
static bool next_block(const char **at, char *block, size_t size, bool *prelude) {
    const char *fence = strstr(*at, "```spad");
    if (fence == NULL) return false;
    *prelude = strncmp(fence, "```spad prelude\n", 16) == 0;
    const char *begin = strchr(fence, '\n') + 1;
    const char *end = strstr(begin, "```");
    assert_non_null(end);
    const size_t length = (size_t)(end - begin);
    assert_true(length < size);
    memcpy(block, begin, length);
    block[length] = '\0';
    *at = end + 3;
    return true;
}

static void walk_blocks(const char *name, int least) {
    static char prelude[TEXT_MAX];
    static char block[TEXT_MAX];
    static char whole[2 * TEXT_MAX];
    char *page = test_read_file(name);
    const char *at = page;
    bool is_prelude;
    int count = 0;
    while (next_block(&at, block, sizeof block, &is_prelude)) {
        if (is_prelude) memcpy(prelude, block, sizeof prelude);
        const bool fragment = strncmp(block, "kernel ", 7) != 0;
        snprintf(whole, sizeof whole, "%s%s", fragment ? prelude : "", block);
        check_kernel(whole, name);
        count++;
    }
    assert_true(count >= least);
    free(page);
}

static void blocks_of_the_manual_can_be_walked(void **state) {
    (void)state;
    walk_blocks("docs/kernel.md", 3);
    walk_blocks("docs/kernel-reference.md", 9);
    walk_blocks("docs/kernel-sync.md", 2);
    walk_blocks("docs/layout.md", 1);
    walk_blocks("docs/layout-how.md", 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_examples_can_be_walked),
        cmocka_unit_test(the_numbers_of_the_comments_hold),
        cmocka_unit_test(hand_placed_kernels_end_where_they_say),
        cmocka_unit_test(scoped_kernels_have_the_addresses_of_the_library),
        cmocka_unit_test(blocks_of_the_manual_can_be_walked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
