/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of several blocks of a cluster: what one block may have counts for each of them, and one
 * program has the same bytes in all of them.
 */
#include <stdio.h>
#include <string.h>

#include "kernel/kernel.h"
#include "kernel/kernel_builder.h"
#include "layout/occupancy.h"
#include "spad/spad.h"
#include "support/kernels.h"
#include "support/support.h"

#define HEAD "kernel k on sm_90\ncluster 2\n"
#define TILE " fp16 [4] (64, 64)"

static int64_t number_of(const spad_kernel *kernel, const char *name) {
    for (size_t i = 0; i < spad_kernel_tensor_count(kernel); i++) {
        if (strcmp(spad_kernel_get_tensor(kernel, i)->name, name) == 0) return (int64_t)i;
    }
    fail_msg("no tensor %s", name);
    return -1;
}

static spad_layout *lay_out(const spad_kernel *kernel, const spad_layout_options *options) {
    spad_layout *layout;
    spad_error error;
    assert_ok(spad_layout_create(&layout, kernel, options, &error), &error);
    return layout;
}

static const spad_layout_space *row_of(const spad_layout *layout, const char *name) {
    const spad_target *target = spad_kernel_get_target(spad_layout_get_kernel(layout));
    for (size_t i = 0; i < spad_layout_space_count(layout); i++) {
        const spad_layout_space *row = spad_layout_get_space(layout, i);
        if (strcmp(target->spaces[row->space].name, name) == 0) return row;
    }
    return NULL;
}

static int64_t byte_of(const spad_layout *layout, const char *name, int64_t slot) {
    spad_rect place;
    const int64_t number = number_of(spad_layout_get_kernel(layout), name);
    assert_true(spad_layout_get_place(&place, layout, number, slot));
    return place.byte;
}

/* ---- words ---------------------------------------------------------------------------- */

static void words_are_written_as_they_were_read(void **state) {
    (void)state;
    static const char text[] =
        HEAD "mbarrier full[2, 3] count 1 each block\nmbarrier other count 1\n"
             "tensor a : shared float16 [4] (64, 64) ring 2 align 1024\n"
             "tensor b : shared[1] float16 [4] (64, 64) like a align 1024\n"
             "simt fill writes a[0]\nsimt fill writes b[0]\n";
    spad_kernel *kernel = test_parse(text);
    spad_error error;
    test_text out;
    test_text_init(&out);
    assert_ok(spad_kernel_write_text(kernel, &out.sink, &error), &error);
    assert_string_equal(out.bytes, text);
    assert_int_equal(spad__kernel_get_cluster(kernel), 2);
    assert_int_equal(spad_kernel_get_tensor(kernel, 1)->slots, 2);
    assert_true(spad_kernel_get_sync(kernel, 0)->each_block);
    assert_false(spad_kernel_get_sync(kernel, 1)->each_block);
    test_text_free(&out);
    spad_kernel_destroy(kernel);
    kernel = test_parse("kernel k on sm_90\n");
    assert_int_equal(spad__kernel_get_cluster(kernel), 1);
    spad_kernel_destroy(kernel);
}

static void what_makes_no_sense_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {HEAD "cluster 2\n", "a second cluster: a kernel has one"},
        {"kernel k on sm_90\ncluster 0\n", "a cluster of 0 blocks: it has 1 to 64"},
        {"kernel k on sm_90\ncluster 65\n", "a cluster of 65 blocks"},
        {"kernel k on sm_90\nagent a {\ncluster 2\n}\n", "a cluster"},
        {HEAD "mbarrier b[3] count 1 each block\n", "'each block' needs a cluster"},
        {HEAD "mbarrier b count 1 each block\n", "the first extent of 'b'"},
        {"kernel k on sm_90\nmbarrier b[2] count 1 each block\n", "'each block' needs a cluster"},
        {HEAD "mbarrier b[2] count 1 each tile\n", "expected 'block'"},
        {HEAD "barrier b[2] count 1 each block\n", "expected"},
        {HEAD "tensor b : shared[1]" TILE " like a\n", "'a'"},
        {HEAD "tensor a : shared" TILE "\ntensor b : shared" TILE " like a\n",
         "'a' is in 'shared'; a tensor like it is in a later instance of that space"},
        {HEAD "tensor a : shared[2]" TILE "\ntensor b : shared[1]" TILE " like a\n",
         "a later instance"},
        {"kernel k on sm_100\ntensor a : tmem f32 (128, 64)\ntensor b : shared[1] f32 (128, 64) "
         "like "
         "a\n",
         "a later instance"},
        {HEAD "tensor a : shared" TILE " at 0\ntensor b : shared[1]" TILE " like a\n",
         "the bytes of 'a' are not chosen by the planner"},
        {HEAD "tensor a : shared" TILE "\ntensor b : shared[1]" TILE
              " like a\ntensor c : shared[2]" TILE " like b\n",
         "the bytes of 'b' are not chosen by the planner"},
        {HEAD "tensor a : shared" TILE "\ntensor b : shared[1]" TILE " at 0 like a\n",
         "'like' does not go with 'at'"},
        {HEAD "tensor a : shared" TILE "\ntensor b : shared[1]" TILE " ring 2 like a\n",
         "has the same tiles, 'lane' and 'align', and no ring of its own"},
        {HEAD "tensor a : shared" TILE "\ntensor b : shared[1] fp16 [3] (64, 64) like a\n",
         "has the same tiles"},
        {HEAD "tensor a : shared" TILE "\ntensor b : shared[1] fp16 [4] (64, 32) like a\n",
         "has the same tiles"},
        {HEAD "tensor a : shared" TILE "\ntensor b : shared[1]" TILE " like a align 64\n",
         "has the same tiles"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spad_kernel *kernel;
        spad_error error;
        const spad_status status = spad_kernel_parse(&kernel, cases[i].text, strlen(cases[i].text),
                                                     "k", NULL, NULL, &error);
        if (status == SPAD_OK || strstr(error.message, cases[i].message) == NULL) {
            print_error("%s: '%s', not '%s'\n", cases[i].text,
                        status == SPAD_OK ? "read" : error.message, cases[i].message);
        }
        assert_int_not_equal(status, SPAD_OK);
        assert_non_null(strstr(error.message, cases[i].message));
    }
    spad__kernel_builder *builder;
    const spad_target *target;
    spad_error error;
    assert_ok(spad_target_find(&target, "sm_90", &error), &error);
    assert_ok(spad__kernel_builder_create(&builder, "k", "", target, NULL, &error), &error);
    assert_int_equal(spad__kernel_builder_each_block(builder, &error), SPAD_ERR_ARGUMENT);
    spad__kernel_builder_destroy(builder);
}

/* ---- the same bytes -------------------------------------------------------------------- */

#define BLOCKS                                                                                     \
    HEAD "mbarrier full[2, 2] count 1 each block\nbarrier both count 2\n"                          \
         "tensor a_0 : shared fp16 [4] (64, 64) ring 2\ntensor a_1 : shared[1] fp16 [4] (64, 64) " \
         "like "                                                                                   \
         "a_0\ntensor only : shared fp16 (64, 64)\n"                                               \
         "tensor z_0 : shared fp16 (64, 64)\ntensor z_1 : shared[1] fp16 (64, 64) like z_0\n"      \
         "agent block0 {\nfor i in 0..4 {\nsimt put writes only\nsimt get reads only\nsimt put "   \
         "writes a_0[i]\nsimt get reads a_0[i]\n}\n"
#define LAST(n, more) "simt put writes z_" n "\nsimt get reads z_" n "\n" more "}\n"
#define OTHER "agent block1 {\nfor i in 0..4 {\nsimt put writes a_1[i]\nsimt get reads a_1[i]\n}\n"

static void one_program_has_one_set_of_bytes(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(BLOCKS LAST("0", "") OTHER LAST("1", ""));
    spad_layout *layout = lay_out(kernel, NULL);
    for (int64_t s = 0; s < 2; s++)
        assert_int_equal(byte_of(layout, "a_0", s), byte_of(layout, "a_1", s));
    assert_int_equal(byte_of(layout, "z_0", 0), byte_of(layout, "z_1", 0));
    const spad_layout_space *first = row_of(layout, "shared"),
                            *second = row_of(layout, "shared[1]");
    assert_int_equal(first->height, 4 * 8192 + 2 * 8); /* the mbarriers of one block */
    assert_int_equal(second->planned_count, 0);
    bool found = false;
    for (size_t i = 0; i < second->buffer_count; i++) {
        const spad_layout_buffer *b = spad_layout_get_buffer(layout, second->first_buffer + i);
        if (b->sync < 0) continue;
        found = true;
        assert_int_equal(b->slots, 2);
        assert_int_equal(b->rect.byte + 16, first->height);
    }
    assert_true(found);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
}

/* z may share bytes with a if it may in both blocks: in block 1 both tiles of a are read once more.
 */
static void order_counts_in_all_blocks(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool shares;
    } cases[] = {
        {BLOCKS LAST("0", "") OTHER LAST("1", ""), true},
        {BLOCKS LAST("0", "") OTHER LAST("1", "simt again reads a_1[2], a_1[3]\n"), false},
        {BLOCKS LAST("0", "simt again reads a_0[2], a_0[3]\n") OTHER LAST("1", ""), false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spad_kernel *kernel = test_parse(cases[i].text);
        spad_tensor_order *order;
        spad_error error;
        assert_ok(spad_tensor_order_create(&order, kernel, NULL, &error), &error);
        const spad_layout_options options = {.order = order};
        spad_layout *layout = lay_out(kernel, &options);
        assert_int_equal(byte_of(layout, "a_0", 0), byte_of(layout, "a_1", 0));
        assert_int_equal(byte_of(layout, "z_0", 0), byte_of(layout, "z_1", 0));
        const int64_t height = row_of(layout, "shared")->height;
        assert_int_equal(height, (cases[i].shares ? 2 : 3) * 8192 + 16);
        spad_layout_destroy(layout);
        spad_tensor_order_destroy(order);
        spad_kernel_destroy(kernel);
    }
}

/* Where the instances need a tensor at other times, nothing is said of lower layouts. */
static void other_times_prove_nothing(void **state) {
    (void)state;
#define PAIR                                                                                      \
    "kernel k on sm_90\ntensor a_0 : shared fp16 (64, 64)\ntensor a_1 : shared[1] fp16 (64, 64) " \
    "like "                                                                                       \
    "a_0\ntensor b_0 : shared fp16 (64, 64)\ntensor b_1 : shared[1] fp16 (64, 64) like b_0\n"     \
    "simt x writes a_0\nsimt x reads a_0\nsimt x writes b_0\nsimt x reads b_0\n"
    static const struct {
        const char *text;
        int64_t height;
        spad_plan_verdict verdict;
    } cases[] = {
        {PAIR, 8192, SPAD_PLAN_OPTIMAL},
        {PAIR "simt x writes b_1\nsimt x reads b_1\nsimt x writes a_1\nsimt x reads a_1\n", 16384,
         SPAD_PLAN_FEASIBLE},
        {PAIR "tensor own : shared fp16 (64, 64)\nsimt x writes own\nsimt x reads own\n"
              "simt x writes a_1\nsimt x reads a_1\n",
         16384, SPAD_PLAN_FEASIBLE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spad_kernel *kernel = test_parse(cases[i].text);
        spad_layout *layout = lay_out(kernel, NULL);
        const spad_layout_space *row = row_of(layout, "shared");
        assert_int_equal(row->height, cases[i].height);
        assert_int_equal(row->verdict, cases[i].verdict);
        assert_int_equal(row->bound, 8192);
        spad_layout_destroy(layout);
        spad_kernel_destroy(kernel);
    }
}

/* Bytes of the second block that the first one has chosen are no proof: in another layout these may
 * be lower. If it has all that the first block has, it is as high as that one. */
static void copies_prove_what_the_first_block_does(void **state) {
    (void)state;
#define TILES                                                  \
    "tensor a : shared u8 (64)\ntensor b : shared u8 (4096)\n" \
    "tensor a_1 : shared[1] u8 (64) like a\n"
#define SMALL HEAD TILES
#define BOTH_TILES                                                                  \
    TILES "tensor b_1 : shared[1] u8 (4096) like b\nsimt x writes a, a_1, b, b_1\n" \
          "simt x reads a, a_1, b, b_1\n"
#define BOTH HEAD BOTH_TILES
    static const struct {
        const char *text;
        int64_t height; /* of the last block */
        int64_t bound;
        spad_plan_verdict verdict;
        const char *block;
    } cases[] = {
        {PAIR "simt x writes b_1\nsimt x reads b_1\nsimt x writes a_1\nsimt x reads a_1\n", 16384,
         8192, SPAD_PLAN_FEASIBLE, "shared[1]"},
        /* a could be at byte 0: it is needed before b, or below it */
        {SMALL "simt x writes a\nsimt x reads a\nsimt x writes b\nsimt x reads b\n"
               "simt x writes a_1\nsimt x reads a_1\n",
         4160, 64, SPAD_PLAN_FEASIBLE, "shared[1]"},
        {SMALL "simt x writes a, a_1, b\nsimt x reads a, a_1, b\n", 4160, 64, SPAD_PLAN_FEASIBLE,
         "shared[1]"},
        {BOTH, 4160, 4160, SPAD_PLAN_OPTIMAL, "shared[1]"},
        {BOTH "tensor o : shared[1] u8 (128)\nsimt x writes o\nsimt x reads o\n", 4160, 4160,
         SPAD_PLAN_OPTIMAL, "shared[1]"},
        /* of a ring all slots, and of mbarriers those of each block */
        {HEAD "tensor a : shared u8 [4] (64) ring 2\ntensor a_1 : shared[1] u8 [4] (64) like a\n"
              "for i in 0..4 {\nsimt x writes a[i], a_1[i]\nsimt x reads a[i], a_1[i]\n}\n",
         128, 128, SPAD_PLAN_OPTIMAL, "shared[1]"},
        {HEAD "tensor a : shared u8 [2] (64)\ntensor a_1 : shared[1] u8 [2] (64) like a\n"
              "tensor b : shared u8 (64)\nsimt x writes a[0], a[1], a_1[1], b\n"
              "simt x reads a[0], a[1], a_1[1], b\n",
         128, 64, SPAD_PLAN_FEASIBLE, "shared[1]"},
        {HEAD "mbarrier m[2, 2] count 1 each block\n" BOTH_TILES, 4176, 4176, SPAD_PLAN_OPTIMAL,
         "shared[1]"},
        {HEAD "mbarrier m[2] count 1\n" BOTH_TILES, 4160, 4096, SPAD_PLAN_FEASIBLE, "shared[1]"},
        /* a third block, with what the first one has, and with less */
        {"kernel k on sm_90\ncluster 3\nmbarrier m[3] count 1 each block\n" TILES
         "tensor b_1 : shared[1] u8 (4096) like b\ntensor b_2 : shared[2] u8 (4096) like b\n"
         "tensor a_2 : shared[2] u8 (64) like a\nsimt x writes a, a_2, b, b_2\n"
         "simt x reads a, a_2, b, b_2\n",
         4168, 4168, SPAD_PLAN_OPTIMAL, "shared[2]"},
        {HEAD "mbarrier m[2] count 1 each block\n" TILES "tensor a_2 : shared[2] u8 (64) like a\n"
              "simt x writes a, a_2, b\nsimt x reads a, a_2, b\n",
         4160, 64, SPAD_PLAN_FEASIBLE, "shared[2]"},
        /* the first block has nothing */
        {"kernel k on sm_90\ncluster 3\ntensor a : shared[1] u8 (64)\n"
         "tensor b : shared[1] u8 (4096)\ntensor a_2 : shared[2] u8 (64) like a\n"
         "simt x writes a, a_2, b\nsimt x reads a, a_2, b\n",
         4160, 64, SPAD_PLAN_FEASIBLE, "shared[2]"},
        {"kernel k on sm_90\ncluster 2\ntensor a : shared[1] u8 (64)\nsimt x writes a\n"
         "simt x reads a\n",
         64, 64, SPAD_PLAN_OPTIMAL, "shared[1]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spad_kernel *kernel = test_parse(cases[i].text);
        spad_layout *layout = lay_out(kernel, NULL);
        const spad_layout_space *row = row_of(layout, cases[i].block);
        print_message("case %zu: %lld, at least %lld\n", i, (long long)row->height,
                      (long long)row->bound);
        assert_int_equal(row->height, cases[i].height);
        assert_int_equal(row->bound, cases[i].bound);
        assert_int_equal(row->verdict, cases[i].verdict);
        spad_layout_destroy(layout);
        spad_kernel_destroy(kernel);
    }
}

/* x could have the bytes of y, which is over by then; the copy of the second block needs a fence.
 */
static void blocks_without_a_fence_keep_tiles_apart(void **state) {
    (void)state;
    static const struct {
        const char *fence;
        int64_t height;
    } cases[] = {{"", 128}, {"fence\n", 64}};
    for (size_t i = 0; i < 2; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 HEAD "unit tma on copy free proxy\ngroup g\ntensor in : global u8 (64) input\n"
                      "tensor o : global u8 [4] (64) output\ntensor idle : shared u8 (64)\n"
                      "tensor y : shared u8 (64)\ntensor y_1 : shared[1] u8 (64) like y\n"
                      "tensor x : shared u8 (64)\ntensor x_1 : shared[1] u8 (64) like x\n"
                      "simt w reads in writes y, y_1\nsimt r reads y, y_1 writes o[0], o[1]\n"
                      "%ssimt w reads in writes x\ntma load reads in writes x_1 in g\ncommit g\n"
                      "wait g pending 0\nsimt r reads x, x_1 writes o[2], o[3]\n",
                 cases[i].fence);
        test_laid_out placed = test_lay_out(text);
        if (placed.check != NULL)
            assert_int_not_equal(spad_check_get_verdict(placed.check), SPAD_VERDICT_WRONG);
        assert_int_equal(placed.row->height, cases[i].height);
        assert_int_equal(row_of(placed.layout, "shared[1]")->height, cases[i].height);
        test_laid_out_free(&placed);
    }
}

/* Nothing is claimed about the order of a kernel with errors, nor of a block that has its bytes
 * from there: here p may arrive after the end of m. */
static void errors_put_all_blocks_in_doubt(void **state) {
    (void)state;
    test_laid_out placed = test_lay_out(
        HEAD "mbarrier m[2, 1] count 1 each block\ntensor o : global u8 [4] (64) output\n"
             "tensor a : shared u8 (64)\ntensor a_1 : shared[1] u8 (64) like a\n"
             "tensor b : shared u8 (64)\ntensor b_1 : shared[1] u8 (64) like b\n"
             "init m[0, 0]\ninit m[1, 0]\nagent p { arrive m[0, 0] }\nagent q {\n"
             "invalidate m[0, 0]\nsimt x writes a\nsimt x reads a writes o[0]\nsimt x writes b\n"
             "simt x reads b writes o[1]\n}\nagent r {\nsimt x writes a_1\n"
             "simt x reads a_1 writes o[2]\nsimt x writes b_1\nsimt x reads b_1 writes o[3]\n}\n");
    static const char *const spaces[] = {"shared", "shared[1]"};
    for (size_t i = 0; i < 2; i++) {
        const spad_layout_space *row = row_of(placed.layout, spaces[i]);
        assert_int_equal(row->height, 64 + 8);
        assert_true(row->agents_in_doubt);
        assert_int_equal(row->verdict, SPAD_PLAN_FEASIBLE);
    }
    test_laid_out_free(&placed);
}

/* What does not fit has no place in any block. */
static void too_much_has_no_place(void **state) {
    (void)state;
    spad_kernel *kernel =
        test_parse("kernel k on sm_90\ntensor a : shared fp16 [40] (64, 64)\ntensor b "
                   ": shared[1] fp16 [40] (64, 64) like a\nfor i in 0..40 {\nsimt x "
                   "writes a[i]\nsimt x writes b[i]\n}\nsimt x reads a[0], b[0]\n");
    spad_layout *layout = lay_out(kernel, NULL);
    spad_rect place;
    assert_false(spad_layout_get_place(&place, layout, 1, 0));
    assert_false(spad_layout_fits(layout));
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
}

/* ---- what a block has ------------------------------------------------------------------ */

static size_t count_of(const char *text, spad_finding_code code) {
    spad_kernel *kernel = test_parse(text);
    spad_check *check;
    spad_error error;
    size_t count = 0;
    assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
    for (size_t i = 0; i < spad_check_finding_count(check); i++)
        count += spad_check_get_finding(check, i)->code == code;
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
    return count;
}

#define AGENTS(more)                                                                             \
    "agent a of 1024 threads registers 64 {\nfence\n}\nagent b of 1024 threads registers 64 {\n" \
    "fence\n}\n" more
static void limits_are_those_of_each_block(void **state) {
    (void)state;
    assert_int_equal(count_of("kernel k on sm_90\n" AGENTS(""), SPAD_FINDING_THREAD_LIMIT), 1);
    assert_int_equal(count_of("kernel k on sm_90\n" AGENTS(""), SPAD_FINDING_REGISTER_LIMIT), 1);
    assert_int_equal(count_of(HEAD AGENTS(""), SPAD_FINDING_THREAD_LIMIT), 0);
    assert_int_equal(count_of(HEAD AGENTS(""), SPAD_FINDING_REGISTER_LIMIT), 0);
    static const char more[] = HEAD AGENTS("agent c of 32 threads registers 64 {\nfence\n}\n");
    assert_int_equal(count_of(more, SPAD_FINDING_THREAD_LIMIT), 1);
    assert_int_equal(count_of(more, SPAD_FINDING_REGISTER_LIMIT), 1);
    static const char barriers[] = "barrier x[20] count 1\nfor i in 0..20 { sync x[i] }\n";
    char text[256];
    snprintf(text, sizeof text, "kernel k on sm_90\n%s", barriers);
    assert_int_equal(count_of(text, SPAD_FINDING_BARRIER_LIMIT), 1);
    snprintf(text, sizeof text, HEAD "%s", barriers);
    assert_int_equal(count_of(text, SPAD_FINDING_BARRIER_LIMIT), 0);
    spad_kernel *kernel = test_parse(HEAD AGENTS(""));
    const spad__occupancy occupancy = spad__occupancy_get(kernel, NULL);
    assert_int_equal(occupancy.threads, 1024);
    assert_int_equal(occupancy.registers, 65536);
    spad_kernel_destroy(kernel);
}

/* ---- bytes of mbarriers ---------------------------------------------------------------- */

#define HELD(space, byte)                                                                        \
    HEAD "mbarrier b[2, 2] count 1 at 64 each block\nbarrier both count 2\n"                     \
         "tensor x : " space " u8 (8) at " byte                                                  \
         "\nagent one {\ninit b[0, 0]; init b[0, 1]\nfence\n"                                    \
         "sync both\nsimt put writes x\nsimt get reads x\nsync both\n}\nagent two {\ninit b[1, " \
         "0]; "                                                                                  \
         "init b[1, 1]\nfence\nsync both\nsync both\n}\n"

static void bytes_are_held_in_each_block(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t found;
    } cases[] = {
        {HELD("shared", "64"), 1},    {HELD("shared", "72"), 1},    {HELD("shared", "80"), 0},
        {HELD("shared", "56"), 0},    {HELD("shared[1]", "64"), 1}, {HELD("shared[1]", "72"), 1},
        {HELD("shared[1]", "80"), 0}, {HELD("shared[2]", "64"), 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t count = count_of(cases[i].text, SPAD_FINDING_MBARRIER_BYTES);
        if ((count > 0) != (cases[i].found > 0)) print_error("case %zu: %zu\n", i, count);
        assert_int_equal(count > 0, cases[i].found > 0);
    }
    spad_kernel *kernel = test_parse(HELD("shared", "80"));
    spad_layout *layout = lay_out(kernel, NULL);
    assert_int_equal(row_of(layout, "shared")->height, 88);
    assert_int_equal(row_of(layout, "shared[1]")->height, 80); /* two of 8 bytes from 64 on */
    assert_null(row_of(layout, "shared[2]"));
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
}

/* ---- no host memory -------------------------------------------------------------------- */

static void no_host_memory(void **state) {
    (void)state;
    test_read_without_memory(
        HEAD "mbarrier full[2, 2] count 1 each block\ntensor a : shared fp16 [2] (64, 64)\n"
             "tensor b : shared[1] fp16 [2] (64, 64) like a\nsimt x writes a[0], b[0], b[1]\n"
             "simt x reads a[0], b[0], b[1]\n",
        test_use_layout);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_written_as_they_were_read),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(one_program_has_one_set_of_bytes),
        cmocka_unit_test(order_counts_in_all_blocks),
        cmocka_unit_test(other_times_prove_nothing),
        cmocka_unit_test(copies_prove_what_the_first_block_does),
        cmocka_unit_test(blocks_without_a_fence_keep_tiles_apart),
        cmocka_unit_test(errors_put_all_blocks_in_doubt),
        cmocka_unit_test(too_much_has_no_place),
        cmocka_unit_test(limits_are_those_of_each_block),
        cmocka_unit_test(bytes_are_held_in_each_block),
        cmocka_unit_test(no_host_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
