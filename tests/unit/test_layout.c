/* SPDX-License-Identifier: Apache-2.0
 *
 * Layouts: which slots may share bytes, where they may be, what is counted, and how it
 * is shown.
 */
#include "support/kernels.h"
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/random.h"
#include "spad/layout.h"

static spad_layout *lay_out(const spad_kernel *kernel) {
    spad_layout *layout;
    spad_error error;
    assert_ok(spad_layout_create(&layout, kernel, NULL, &error), &error);
    return layout;
}

static int64_t number_of(const spad_kernel *kernel, const char *name) {
    for (size_t i = 0; i < spad_kernel_tensor_count(kernel); i++) {
        if (strcmp(spad_kernel_get_tensor(kernel, i)->name, name) == 0) return (int64_t)i;
    }
    fail_msg("no tensor %s", name);
    return -1;
}

/* Do the first slots of two tensors share bytes? */
static bool share(const char *text, const char *a, const char *b) {
    spad_kernel *kernel = test_parse(text);
    spad_layout *layout = lay_out(kernel);
    spad_rect x;
    spad_rect y;
    assert_true(spad_layout_get_place(&x, layout, number_of(kernel, a), 0));
    assert_true(spad_layout_get_place(&y, layout, number_of(kernel, b), 0));
    const bool shared = spad_rect_overlaps(x, y);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
    return shared;
}

static const spad_layout_space *find_space(const spad_layout *layout, const char *name) {
    const spad_target *target = spad_kernel_get_target(spad_layout_get_kernel(layout));
    for (size_t i = 0; i < spad_layout_space_count(layout); i++) {
        const spad_layout_space *row = spad_layout_get_space(layout, i);
        if (strcmp(target->spaces[row->space].name, name) == 0) return row;
    }
    return NULL;
}

/* ---- who may share bytes ----------------------------------------------------------- */

#define TWO                                \
    "kernel k on trn2\n"                   \
    "tensor a : sbuf bf16 [4] (128, 64)\n" \
    "tensor b : sbuf bf16 [4] (128, 64)\n"

static void phases_share_bytes(void **state) {
    (void)state;
    assert_true(
        share(TWO "vector p writes a[0]\nvector q reads a[0]\nvector r writes b[0]\n", "a", "b"));
    /* one operation needs both */
    assert_false(share(TWO "vector p writes a[0]\nvector q reads a[0] writes b[0]\n", "a", "b"));
    /* the first is needed again */
    assert_false(
        share(TWO "vector p writes a[0]\nvector r writes b[0]\nvector q reads a[0]\n", "a", "b"));
    /* loops one after the other */
    assert_true(share(TWO "for i in 0..4 { vector p writes a[i] }\n"
                          "for i in 0..4 { vector p writes b[i] }\n",
                      "a", "b"));
}

static void a_loop_needs_all_that_it_touches(void **state) {
    (void)state;
    assert_false(
        share(TWO "for i in 0..4 {\nvector p writes a[i]\nvector q writes b[i]\n}\n", "a", "b"));
    /* one iteration carries nothing */
    assert_true(
        share(TWO "for i in 0..1 {\nvector p writes a[i]\nvector q writes b[i]\n}\n", "a", "b"));
    /* an inner loop that runs once, in one that runs twice */
    assert_false(share(TWO "for j in 0..2 { for i in 0..1 {\nvector p writes a[i]\n"
                           "vector q writes b[j]\n} }\n",
                       "a", "b"));
    /* a loop that does not run touches nothing */
    assert_true(share(TWO "vector p writes a[0]\nvector q writes b[0]\n"
                          "for i in 0..0 { vector p reads a[i] }\n",
                      "a", "b"));
}

static void a_declaration_in_a_loop_carries_nothing(void **state) {
    (void)state;
    assert_true(share("kernel k on trn2\n"
                      "for i in 0..4 {\n"
                      "tensor a : sbuf bf16 (128, 64)\nvector p writes a\nvector p reads a\n"
                      "tensor b : sbuf bf16 (128, 64)\nvector p writes b\n"
                      "}\n",
                      "a", "b"));
    /* but an inner loop does */
    assert_false(share("kernel k on trn2\n"
                       "for i in 0..4 {\n"
                       "tensor a : sbuf bf16 (128, 64)\n"
                       "tensor b : sbuf bf16 (128, 64)\n"
                       "for j in 0..2 {\nvector p writes a\nvector p writes b\n}\n"
                       "}\n",
                       "a", "b"));
}

static void inputs_and_outputs_are_kept(void **state) {
    (void)state;
    assert_false(share("kernel k on trn2\n"
                       "tensor a : sbuf bf16 (128, 64) input\ntensor b : sbuf bf16 (128, 64)\n"
                       "vector p writes b\nvector q reads a\n",
                       "a", "b"));
    assert_false(share("kernel k on trn2\n"
                       "tensor a : sbuf bf16 (128, 64) output\ntensor b : sbuf bf16 (128, 64)\n"
                       "vector q writes a\nvector p writes b\n",
                       "a", "b"));
    /* an input that is read and then over */
    assert_true(share("kernel k on trn2\n"
                      "tensor a : sbuf bf16 (128, 64) input\ntensor b : sbuf bf16 (128, 64)\n"
                      "vector q reads a\nvector p writes b\n",
                      "a", "b"));
}

static void aliases_keep_their_home(void **state) {
    (void)state;
    assert_false(share(TWO "tensor c : sbuf u8 [4] (128, 1) alias of a\n"
                           "vector p writes a[0]\nvector r writes b[0]\nvector q reads c[0]\n",
                       "a", "b"));
    assert_true(share(TWO "tensor c : sbuf u8 [4] (128, 1) alias of a\n"
                          "vector p writes a[0]\nvector r writes b[0]\nvector q reads c[1]\n",
                      "a", "b"));
    assert_false(share(TWO "tensor c : sbuf u8 [9] (128, 1) alias of a[0] ring 3\n"
                           "vector p writes a[0]\nvector r writes b[0]\nvector q reads c[8]\n",
                       "a", "b"));
}

static void aliases_have_places(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse("kernel k on sm_90\ntensor a : shared u8 (1, 4096)\n"
                                     "tensor b : shared u8 [2] (1, 512) alias of a + 1024\n"
                                     "tensor c : shared u8 (1, 256)\n"
                                     "simt p writes a\nsimt q reads a\nsimt p writes b[0], b[1], "
                                     "c\nsimt q reads b[0], b[1], c\n");
    spad_layout *layout = lay_out(kernel);
    spad_rect home, rect = {9, 9, 9, 9};
    assert_true(spad_layout_get_place(&home, layout, 0, 0));
    for (int64_t slot = 0; slot < 2; slot++) {
        assert_true(spad_layout_get_alias_place(&rect, layout, 1, slot));
        assert_int_equal(rect.byte, home.byte + 1024 + slot * 512);
        assert_int_equal(rect.bytes, 512);
    }
    static const int64_t none[][2] = {{1, 2}, {1, -1}, {0, 0}, {2, 0}, {-1, 0}, {3, 0}};
    rect = (spad_rect){9, 9, 9, 9};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        assert_false(spad_layout_get_alias_place(&rect, layout, none[i][0], none[i][1]));
    assert_int_equal(rect.byte, 9);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
}

static void every_slot_of_an_alias_has_a_row_in_the_table(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse("kernel k on sm_90\ntensor a : shared u8 (1, 4096)\n"
                                     "tensor b : shared u8 [2] (1, 512) alias of a + 1024\n"
                                     "simt p writes a\nsimt q reads a\n"
                                     "simt p writes b[0], b[1]\nsimt q reads b[0], b[1]\n");
    spad_layout *layout = lay_out(kernel);
    test_text text;
    spad_error error;
    test_text_init(&text);
    assert_ok(spad_layout_write(layout, SPAD_FORMAT_CSV, &text.sink, &error), &error);
    assert_non_null(strstr(text.bytes, "\nshared,b,0,0,1,1024,512,,,,3\n"
                                       "shared,b,1,0,1,1536,512,,,,3\n"));
    test_text_free(&text);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
}

static void aliases_give_what_they_are_to_their_home(void **state) {
    (void)state;
    assert_false(
        share("kernel k on trn2\n"
              "tensor a : sbuf u8 (128, 64)\ntensor c : sbuf u8 (128, 64) alias of a input\n"
              "tensor b : sbuf u8 (128, 64)\nvector p writes b\nvector q reads c\n",
              "a", "b"));
    assert_false(
        share("kernel k on trn2\n"
              "tensor a : sbuf u8 (128, 64)\ntensor c : sbuf u8 (128, 64) alias of a output\n"
              "tensor b : sbuf u8 (128, 64)\nvector q writes a\nvector p writes b\n",
              "a", "b"));
    /* only the tile that the alias is in */
    assert_true(share(TWO "tensor c : sbuf u8 (128, 1) alias of a[1] output\n"
                          "vector q writes a[0], a[1]\nvector p writes b[0]\n",
                      "a", "b"));
    assert_false(share(TWO "tensor c : sbuf u8 (128, 1) alias of a[0] output\n"
                           "vector q writes a[0], a[1]\nvector p writes b[0]\n",
                       "a", "b"));
}

/* After a condition an index may be anything, as long as the condition never holds. */
static void what_is_outside_needs_nothing(void **state) {
    (void)state;
    assert_true(share(TWO "vector p writes a[0]\nvector q reads a[0]\n"
                          "for i in 0..4 { if i > 7 { vector r reads a[i + 1000000000] } }\n"
                          "vector s writes b[0]\n",
                      "a", "b"));
    assert_true(share(TWO "vector p writes a[0]\nvector q reads a[0]\n"
                          "for i in 0..4 { if i > 7 { vector r reads a[i - 9] } }\n"
                          "vector s writes b[0]\n",
                      "a", "b"));
}

static void alloc_and_free_are_touches(void **state) {
    (void)state;
    assert_false(share(TWO "vector p writes a[0]\nvector r writes b[0]\nfree a[0]\n", "a", "b"));
    assert_true(share(TWO "vector p writes a[0]\nfree a[0]\nvector r writes b[0]\n", "a", "b"));
    assert_false(share(TWO "vector p writes a[0]\nvector r writes b[0]\nfree a\n", "a", "b"));
}

#define ASYNC                                                      \
    "kernel k on sm_90\nunit cp on copy free\ngroup g\n"           \
    "tensor x : global u8 (64) input\ntensor a : shared u8 (64)\n" \
    "tensor b : shared u8 (64)\n"

static void operations_in_flight_are_waited_for(void **state) {
    (void)state;
    /* nothing says that the copy is over */
    assert_false(share(ASYNC "cp load reads x writes a\nsimt w writes b\n", "a", "b"));
    assert_false(
        share(ASYNC "cp load reads x writes a in g\ncommit g\nsimt w writes b\n", "a", "b"));
    assert_true(share(ASYNC "cp load reads x writes a in g\ncommit g\nwait g pending 0\n"
                            "simt w writes b\n",
                      "a", "b"));
    /* too weak, too early, for reads only, or not for certain */
    assert_false(share(ASYNC "cp load reads x writes a in g\ncommit g\nwait g pending 1\n"
                             "simt w writes b\n",
                       "a", "b"));
    assert_false(share(ASYNC "cp load reads x writes a in g\nwait g pending 0\ncommit g\n"
                             "simt w writes b\n",
                       "a", "b"));
    assert_false(share(ASYNC "cp load reads x writes a in g\ncommit g\nwait g pending 0 reads\n"
                             "simt w writes b\n",
                       "a", "b"));
    assert_false(share(ASYNC "for i in 0..2 {\nif i == 0 { cp load reads x writes a in g }\n"
                             "if i == 1 {\ncommit g\nwait g pending 0\n}\n}\nsimt w writes b\n",
                       "a", "b"));
    /* a wait after the loop, and one for the next iteration only */
    assert_true(share(ASYNC "for i in 0..2 {\ncp load reads x writes a in g\ncommit g\n}\n"
                            "wait g pending 0\nsimt w writes b\n",
                      "a", "b"));
    assert_false(share(ASYNC "for i in 0..2 {\nwait g pending 0\n"
                             "cp load reads x writes a in g\ncommit g\n}\nsimt w writes b\n",
                       "a", "b"));
}

static void agents_are_needed_from_fork_to_join(void **state) {
    (void)state;
    assert_false(
        share(ASYNC "agent one { simt w writes a }\nagent two { simt w writes b }\n", "a", "b"));
    assert_true(share(ASYNC "simt w writes a\nagent one { simt w writes b }\n", "a", "b"));
    assert_true(share(ASYNC "agent one { simt w writes a }\nsimt w writes b\n", "a", "b"));
    assert_false(
        share(ASYNC "agent one { cp load reads x writes a }\nsimt w writes b\n", "a", "b"));
}

/* ---- where slots are --------------------------------------------------------------- */

static void rings_lie_together(void **state) {
    (void)state;
    spad_kernel *k = test_parse("kernel k on sm_90\nparam N = 8\n"
                                "tensor a : shared fp16 [N] (100) ring 3 align 128\n"
                                "for i in 0..N { simt w writes a[i] }\n");
    spad_layout *layout = lay_out(k);
    const spad_layout_space *row = find_space(layout, "shared");
    assert_int_equal(row->buffer_count, 1);
    const spad_layout_buffer *buffer = spad_layout_get_buffer(layout, row->first_buffer);
    assert_int_equal(buffer->slots, 3);
    assert_int_equal(buffer->stride, 256);
    assert_int_equal(buffer->taken, 2 * 256 + 200 + (buffer->taken - 712)); /* granules */
    assert_int_equal(buffer->padding, buffer->taken - 600);
    assert_int_equal(row->peak_padding, buffer->padding);
    assert_int_equal(row->verdict, SPAD_PLAN_OPTIMAL);
    spad_rect rect;
    for (int64_t s = 0; s < 3; s++) {
        assert_true(spad_layout_get_place(&rect, layout, 0, s));
        assert_int_equal(rect.byte, s * 256);
        assert_int_equal(rect.bytes, 200);
    }
    assert_false(spad_layout_get_place(&rect, layout, 0, 3));
    assert_false(spad_layout_get_place(&rect, layout, 0, -1));
    assert_false(spad_layout_get_place(&rect, layout, 1, 0));
    assert_false(spad_layout_get_place(&rect, layout, -1, 0));
    assert_null(spad_layout_get_buffer(layout, 1));
    assert_null(spad_layout_get_space(layout, 1));
    spad_layout_destroy(layout);
    spad_kernel_destroy(k);
}

/* A ring of 2 x 64 around a life that leaves room for 64 at both ends: slot by slot it is lower. */
static void rings_are_taken_apart_where_that_is_lower(void **state) {
    (void)state;
    spad_kernel *k = test_parse("kernel k on sm_90\n"
                                "tensor low  : shared u8 (64) at 64\n"
                                "tensor ring2 : shared u8 [2] (64) ring 2\n"
                                "simt w writes low\n"
                                "for i in 0..2 { simt w writes ring2[i] }\n"
                                "simt w reads low\n");
    spad_layout *layout = lay_out(k);
    const spad_layout_space *row = find_space(layout, "shared");
    assert_int_equal(row->planned_count, 2);
    assert_int_equal(row->height, 192);
    assert_int_equal(row->verdict, SPAD_PLAN_OPTIMAL);
    spad_layout_destroy(layout);
    spad_kernel_destroy(k);
}

/* Between two tiles of 100 at multiples of 128 there are 28 bytes for a tensor of 20. The load of
 * the ring as a whole counts them as its own: it proves nothing about all layouts. */
static void room_between_slots_is_for_others(void **state) {
    (void)state;
    spad_kernel *k = test_parse("kernel k on sm_90\n"
                                "tensor x : shared u8 [3] (100) ring 2 align 128\n"
                                "tensor y : shared u8 (20) input\n"
                                "for i in 0..3 { simt w reads y writes x[i] }\n");
    spad_layout *layout = lay_out(k);
    const spad_layout_space *row = find_space(layout, "shared");
    assert_int_equal(row->height, 228);
    assert_int_equal(row->verdict, SPAD_PLAN_OPTIMAL);
    spad_layout_destroy(layout);
    spad_kernel_destroy(k);
}

static void rings_with_room_between_their_slots_share_it(void **state) {
    (void)state;
    spad_kernel *k =
        test_parse("kernel k on sm_90\n"
                   "tensor x : shared u8 [3] (100) ring 2 align 128\n"
                   "tensor y : shared u8 [3] (26) ring 2 align 4\n"
                   "for i in 0..3 { simt w writes x[i], y[i]\nsimt r reads x[i], y[i] }\n");
    spad_layout *layout = lay_out(k);
    const spad_layout_space *row = find_space(layout, "shared");
    assert_int_equal(row->height, 254); /* x 0, y 100, x 128, y 228; whole rings take 282 */
    assert_int_equal(row->verdict, SPAD_PLAN_OPTIMAL);
    spad_layout_destroy(layout);
    spad_kernel_destroy(k);
}

static void banks_and_lanes_are_obeyed(void **state) {
    (void)state;
    spad_kernel *k =
        test_parse("kernel k on trn2\n"
                   "tensor a : psum f32 [3] (128, 300) ring 3\n"
                   "tensor b : sbuf u8 (32, 64)\ntensor c : sbuf u8 (32, 64)\n"
                   "tensor d : sbuf u8 (32, 64) lane 64\n"
                   "for i in 0..3 {\nvector w writes a[i]\nvector w writes b, c, d\n}\n");
    spad_layout *layout = lay_out(k);
    spad_rect rect;
    for (int64_t s = 0; s < 3; s++) {
        assert_true(spad_layout_get_place(&rect, layout, 0, s));
        assert_int_equal(rect.byte / 2048, (rect.byte + rect.bytes - 1) / 2048);
    }
    assert_int_equal(find_space(layout, "psum")->buffer_count, 3);
    spad_rect b;
    spad_rect c;
    assert_true(spad_layout_get_place(&b, layout, 1, 0));
    assert_true(spad_layout_get_place(&c, layout, 2, 0));
    assert_true(spad_layout_get_place(&rect, layout, 3, 0));
    assert_int_equal(rect.lane, 64);
    assert_int_equal(b.byte, c.byte); /* side by side in the lanes */
    assert_int_not_equal(b.lane, c.lane);
    assert_int_equal(find_space(layout, "sbuf")->height, 128);
    spad_layout_destroy(layout);
    spad_kernel_destroy(k);
}

static void barriers_take_shared_memory(void **state) {
    (void)state;
    spad_kernel *k =
        test_parse("kernel k on sm_90\nmbarrier full[4] count 1\nmbarrier one count 2\n"
                   "barrier all count 2\ncounter c[9]\ninit full[0]\n");
    spad_layout *layout = lay_out(k);
    const spad_layout_space *row = find_space(layout, "shared");
    assert_int_equal(row->height, 40);
    assert_int_equal(row->planned_count, 2);
    const spad_layout_buffer *full = spad_layout_get_buffer(layout, row->first_buffer);
    assert_string_equal(full->name, "full");
    assert_int_equal(full->tensor, -1);
    assert_int_equal(full->sync, 0);
    assert_int_equal(full->slots, 4);
    assert_int_equal(full->rect.byte % 8, 0);
    spad_layout_destroy(layout);
    spad_kernel_destroy(k);
    /* nowhere else */
    k = test_parse("kernel k on trn2\nmbarrier full[4] count 1\ninit full[0]\n");
    layout = lay_out(k);
    assert_int_equal(spad_layout_space_count(layout), 0);
    assert_true(spad_layout_fits(layout));
    spad_layout_destroy(layout);
    spad_kernel_destroy(k);
}

static void fixed_places_are_obstacles(void **state) {
    (void)state;
    spad_kernel *k =
        test_parse("kernel k on sm_90\n"
                   "tensor x : shared u8 [4] (64) at 0 step 32\n"        /* 0..160, overlapping */
                   "tensor y : shared u8 [9] (64) mod base 160 free 3\n" /* ..352 */
                   "tensor a : shared u8 (64)\n"
                   "for i in 0..4 {\nsimt w writes x[i]\nsimt w writes y[i], a\n}\n");
    spad_layout *layout = lay_out(k);
    spad_rect rect;
    assert_true(spad_layout_get_place(&rect, layout, 2, 0));
    assert_int_equal(rect.byte, 352);
    assert_false(spad_layout_get_place(&rect, layout, 0, 0)); /* it has an address */
    const spad_layout_space *row = find_space(layout, "shared");
    assert_int_equal(row->buffer_count, 1 + 1 + 3);
    assert_int_equal(row->alive_count, 5);
    assert_int_equal(row->peak_bytes, 416);
    assert_int_equal(row->hole_at, 416);
    spad_layout_destroy(layout);
    spad_kernel_destroy(k);
}

static void managers_are_obstacles(void **state) {
    (void)state;
    const char *text = "kernel k on trn2\nparam N = 3\nregion sbuf 0..4096\n"
                       "tensor a : sbuf u8 (128, 64)\n"
                       "scope s sections 2 {\nfor i in 0..N {\n"
                       "tensor t : sbuf u8 (128, 100) stack\nvector w writes t, a\n"
                       "next section\n}\n}\n";
    spad_kernel *k = test_parse(text);
    spad_layout *layout = lay_out(k);
    const spad_layout_space *row = find_space(layout, "sbuf");
    spad_rect rect;
    assert_true(spad_layout_get_place(&rect, layout, 0, 0));
    assert_int_equal(rect.byte, 200); /* after the two sections */
    assert_int_equal(row->buffer_count, 3);
    spad_layout_destroy(layout);
    spad_kernel_destroy(k);
    /* too long to walk: all of the region */
    const spad_define many = {"N", INT64_C(1) << 40};
    const spad_kernel_options options = {.defines = &many, .define_count = 1};
    k = test_parse_with(text, &options);
    layout = lay_out(k);
    assert_true(spad_layout_get_place(&rect, layout, 0, 0));
    assert_int_equal(rect.byte, 4096);
    spad_layout_destroy(layout);
    spad_kernel_destroy(k);
}

/* Modulo tensors with too many places to tell them apart take one rectangle around all of them. */
static void many_places_are_one(void **state) {
    (void)state;
    static const struct {
        const char *text;
        spad_rect x;
        int64_t a; /* where the planned tensor begins */
    } cases[] = {
        {"kernel k on trn2\ntensor x : sbuf u8 [5000] (128, 4) mod base 64 free 5000\n"
         "tensor a : sbuf u8 (128, 100)\nvector w writes x[0], a\nvector r reads x[0], a\n",
         {.lane = 0, .byte = 64, .lanes = 128, .bytes = 20000},
         20064},
        {"kernel k on trn2\n"
         "tensor x : psum u8 [256, 7, 4] (32, 4) mod base 0 free [256, 1, 1] banks [1, 7, 1] "
         "par [1, 1, 4]\n"
         "tensor a : psum u8 (128, 1024)\nvector w writes x[0, 0, 0], a\n"
         "vector r reads x[0, 0, 0], a\n",
         {.lane = 0, .byte = 0, .lanes = 128, .bytes = 1024 + 6 * 2048},
         1024 + 6 * 2048},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_kernel *k = test_parse(cases[i].text);
        spad_layout *layout = lay_out(k);
        assert_true(spad_layout_fits(layout));
        assert_int_equal(spad_layout_buffer_count(layout), 2);
        for (size_t b = 0; b < 2; b++) {
            const spad_layout_buffer *buffer = spad_layout_get_buffer(layout, b);
            const spad_rect x = cases[i].x;
            if (buffer->tensor == 1) {
                assert_int_equal(buffer->rect.byte, cases[i].a);
                continue;
            }
            assert_int_equal(buffer->mode, SPAD_MODE_MOD);
            assert_int_equal(buffer->slots, 1);
            assert_int_equal(buffer->taken, x.bytes);
            assert_true(buffer->rect.lane == x.lane && buffer->rect.lanes == x.lanes);
            assert_true(buffer->rect.byte == x.byte && buffer->rect.bytes == x.bytes);
        }
        spad_layout_destroy(layout);
        spad_kernel_destroy(k);
    }
}

/* ---- what does not fit ------------------------------------------------------------- */

static void what_does_not_fit_is_a_result(void **state) {
    (void)state;
    spad_kernel *k = test_parse("kernel k on sm_90\ntensor a : shared u8 (200000)\n"
                                "tensor b : shared u8 (60000)\nsimt w writes a, b\n");
    spad_layout *layout = lay_out(k);
    const spad_layout_space *row = find_space(layout, "shared");
    spad_rect rect;
    assert_int_equal(row->verdict, SPAD_PLAN_INFEASIBLE);
    assert_int_equal(row->peak_bytes, 260000);
    assert_int_equal(row->capacity, 232448);
    assert_int_equal(row->reserved, 1024);
    assert_false(spad_layout_fits(layout));
    assert_false(spad_layout_get_place(&rect, layout, 0, 0));
    spad_layout_destroy(layout);
    spad_kernel_destroy(k);
    /* what the kernel puts outside does not fit, either */
    k = test_parse("kernel k on trn2\ntensor a : sbuf u8 (128, 64) at 212970\nvector w writes a\n");
    layout = lay_out(k);
    row = find_space(layout, "sbuf");
    assert_int_equal(row->verdict, SPAD_PLAN_INFEASIBLE);
    assert_int_equal(row->height, 213034);
    spad_layout_destroy(layout);
    spad_kernel_destroy(k);
}

static void expect_failure(const char *text, spad_status wanted, int line, const char *message) {
    spad_kernel *k = test_parse(text);
    spad_layout *layout;
    spad_error error;
    assert_int_equal(spad_layout_create(&layout, k, NULL, &error), wanted);
    assert_null(layout);
    assert_string_equal(error.message, message);
    assert_int_equal(error.line, line);
    spad_kernel_destroy(k);
}

static void failures_have_messages(void **state) {
    (void)state;
    expect_failure("kernel k on trn2\ntensor a : psum u8 (128, 2049)\nvector w writes a\n",
                   SPAD_ERR_NO_FIT, 2,
                   "a tile of 'a' takes 2,049 B a lane, and a bank of 'psum' has 2,048");
    expect_failure(
        "kernel k on trn2\ntensor a : sbuf u8 [1000001] (128, 1)\nvector w writes a[0]\n",
        SPAD_ERR_ARGUMENT, 2,
        "'a' has 1,000,001 places on chip, and all tensors together may have 1,000,000; give it a "
        "ring");
    expect_failure("kernel k on trn2\ntensor a : sbuf u8 [9] (128, 1) ring 1000000\n"
                   "tensor b : sbuf u8 [9] (128, 1) ring 2\nvector w writes a[0], b[0]\n",
                   SPAD_ERR_ARGUMENT, 2,
                   "'a' has 1,000,000 places on chip, and all tensors together may have 1,000,000; "
                   "give it a shallower ring");
    expect_failure("kernel k on trn2\n"
                   "tensor a : psum u8 (128, 9) align 9223372036854775807\nvector w writes a\n",
                   SPAD_ERR_OVERFLOW, 2,
                   "the alignments 9223372036854775807 and 4 have no common multiple in 64 bits");
    expect_failure(
        "kernel k on trn2\nscope s {\ntensor t : sbuf u8 (128, 300000) stack\n}\n", SPAD_ERR_NO_FIT,
        3,
        "stack: t needs 300,000 B per lane at alignment 1, 212,984 of 212,984 B are free; close "
        "a scope, pop the heap or use smaller tiles");
    spad_kernel *k = test_parse("kernel k on trn2\n");
    spad_layout *layout;
    spad_error error;
    const spad_layout_options negative = {.timeout_ns = -1};
    assert_int_equal(spad_layout_create(&layout, k, &negative, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "a timeout of -1 ns is negative");
    spad_kernel_destroy(k);
    spad_layout_destroy(NULL);
}

/* ---- trip counts ------------------------------------------------------------------- */

static void places_do_not_depend_on_trip_counts(void **state) {
    (void)state;
    static const char text[] = "kernel k on trn2\nparam N = 5\n"
                               "tensor x : sbuf bf16 [N] (128, 512) ring 3\n"
                               "tensor y : sbuf bf16 [N] (128, 200) ring 2\n"
                               "tensor z : sbuf f32 (128, 100)\n"
                               "for i in 0..N {\nscalar w writes x[i]\nscalar w reads x[i] writes "
                               "y[i]\nscalar w reads y[i] updates z\n}\n";
    static const int64_t counts[] = {5, 2, 1, 64, 1000000000, INT64_C(1) << 44};
    spad_rect first[6];
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        const spad_define n = {"N", counts[c]};
        const spad_kernel_options options = {.defines = &n, .define_count = 1};
        spad_kernel *k = test_parse_with(text, &options);
        spad_layout *layout = lay_out(k);
        for (int s = 0; s < 6; s++) {
            spad_rect rect;
            const int64_t tensor = s < 3 ? 0 : s < 5 ? 1 : 2;
            assert_true(spad_layout_get_place(&rect, layout, tensor,
                                              s < 3   ? s
                                              : s < 5 ? s - 3
                                                      : 0));
            if (c == 0) first[s] = rect;
            assert_memory_equal(&first[s], &rect, sizeof rect);
        }
        spad_layout_destroy(layout);
        spad_kernel_destroy(k);
    }
    /* bounds at both ends of the numbers */
    assert_false(share(TWO "for i in -1..9223372036854775806 {\n"
                           "vector p writes a[0]\nvector q writes b[0]\n}\n",
                       "a", "b"));
    assert_false(share(TWO "for i in 9223372036854775805..9223372036854775807 {\n"
                           "vector p writes a[0]\nvector q writes b[0]\n}\n",
                       "a", "b"));
}

/* ---- showing it -------------------------------------------------------------------- */

#define SHOWN                                           \
    "kernel shown on sm_90\nparam N = 4\n"              \
    "mbarrier full[2] count 1\n"                        \
    "tensor x : shared u8 [N] (100) ring 2 align 128\n" \
    "tensor y : shared u8 (64) at 1024\n"               \
    "for i in 0..N { simt w writes x[i], y }\n"

/* Tiles of agents may be ordered and could share bytes: only what is certain is claimed. */
static void nothing_is_claimed_about_agents(void **state) {
    (void)state;
#define WORK(size)                                                                          \
    "kernel k on sm_90\ntensor a : shared u8 (" size ")\ntensor b : shared u8 (" size ")\n" \
    "tensor o : global u8 (" size ") output\n"
#define ORDERED \
    "simt w writes a\n simt r reads a writes o\n simt w writes b\n simt r reads b writes o\n"
    static const struct {
        const char *text;
        spad_plan_verdict verdict;
        bool apart;
        int64_t bound;
        const char *phrase;
    } cases[] = {{WORK("4096") ORDERED, SPAD_PLAN_OPTIMAL, false, 4096,
                  "fits; provably the smallest layout"},
                 {WORK("4096") "agent one {\n" ORDERED "}\n", SPAD_PLAN_FEASIBLE, true, 4096,
                  "fits with all tiles of agents apart; a lower layout may exist"},
                 {WORK("200000") "agent one {\n" ORDERED "}\n", SPAD_PLAN_UNKNOWN, true, 200000,
                  "does not fit with all tiles of agents apart; a lower layout may exist"},
                 {WORK("300000") "agent one {\n" ORDERED "}\n", SPAD_PLAN_INFEASIBLE, true, 300000,
                  "does not fit"},
                 {WORK("4096") "agent one { simt w writes a }\n", SPAD_PLAN_OPTIMAL, false, 4096,
                  "fits; provably the smallest layout"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spad_kernel *k = test_parse(cases[i].text);
        spad_layout *layout = lay_out(k);
        const spad_layout_space *row = find_space(layout, "shared");
        spad_error error;
        test_text text;
        test_text_init(&text);
        assert_int_equal(row->verdict, cases[i].verdict);
        assert_int_equal(row->agents_apart, cases[i].apart);
        assert_int_equal(row->bound, cases[i].bound);
        assert_ok(spad_layout_write(layout, SPAD_FORMAT_TEXT, &text.sink, &error), &error);
        assert_non_null(strstr(text.bytes, cases[i].phrase));
        test_text_clear(&text);
        assert_ok(spad_layout_write(layout, SPAD_FORMAT_JSON, &text.sink, &error), &error);
        assert_true((strstr(text.bytes, "agents_apart") != NULL) == cases[i].apart);
        test_text_free(&text);
        spad_layout_destroy(layout);
        spad_kernel_destroy(k);
    }
#undef WORK
#undef ORDERED
}

/* ---- the live peak ------------------------------------------------------------------- */

enum { PEAK_TENSORS = 9, PEAK_BYTES = 64, PEAK_STATEMENTS = 64, PEAK_KERNELS = 300 };

/* A straight program with tensors at random addresses, lanes and times, and some without. */
static void random_straight(char *text, size_t size, spad__random *random) {
    size_t used = (size_t)snprintf(text, size, "kernel straight on trn2\n");
    for (int i = 0; i < PEAK_TENSORS; i++) {
        const int64_t lanes = INT64_C(32) << spad__random_below(random, 3);
        const int64_t lane = lanes < 128 ? (int64_t)spad__random_below(random, 2) * 64 : 0;
        const int64_t bytes = spad__random_in(random, 1, 8) * 4;
        used += (size_t)snprintf(text + used, size - used, "tensor t%d : sbuf u8 (%d, %d)", i,
                                 (int)lanes, (int)bytes);
        if (spad__random_below(random, 4) > 0) /* may share bytes with others */
            used += (size_t)snprintf(text + used, size - used, " at %d lane %d",
                                     (int)spad__random_below(random, 8) * 4, (int)lane);
        used += (size_t)snprintf(text + used, size - used, "\n");
    }
    for (int i = 0; i < 2 * PEAK_TENSORS; i++) {
        const int t = (int)spad__random_below(random, PEAK_TENSORS);
        used += (size_t)snprintf(text + used, size - used, "vector set%d writes t%d\n", i, t);
    }
    assert_true(used < size);
}

/* Bytes of a lane that are needed at a statement, one by one. */
static int64_t count_needed(const spad_layout *layout, int64_t statement, int64_t lane) {
    bool taken[4 * PEAK_BYTES * PEAK_TENSORS] = {false};
    int64_t count = 0;
    for (size_t i = 0; i < spad_layout_buffer_count(layout); i++) {
        const spad_layout_buffer *b = spad_layout_get_buffer(layout, i);
        if (statement < b->begin || statement >= b->end) continue;
        if (lane < b->rect.lane || lane >= b->rect.lane + b->rect.lanes) continue;
        for (int64_t k = b->rect.byte; k < b->rect.byte + b->taken; k++) taken[k] = true;
    }
    for (size_t k = 0; k < sizeof taken / sizeof *taken; k++) count += taken[k];
    return count;
}

static void the_live_peak_is_the_fullest_moment(void **state) {
    (void)state;
    spad__random random = {17};
    int64_t shared = 0;
    for (int n = 0; n < PEAK_KERNELS; n++) {
        char text[4096];
        random_straight(text, sizeof text, &random);
        spad_kernel *k = test_parse(text);
        spad_layout *layout = lay_out(k);
        const spad_layout_space *row = spad_layout_get_space(layout, 0);
        int64_t most = 0;
        int64_t at = 0;
        for (int64_t statement = 0; statement < PEAK_STATEMENTS; statement++)
            for (int64_t lane = 0; lane < 128; lane += 32) {
                const int64_t needed = count_needed(layout, statement, lane);
                if (needed > most) at = statement;
                most = spad__max(most, needed);
            }
        if (row->peak_bytes != most || row->peak_statement != at)
            fail_msg("%lld B at %lld, but %lld B at %lld:\n%s", (long long)row->peak_bytes,
                     (long long)row->peak_statement, (long long)most, (long long)at, text);
        shared += row->height > most;
        spad_layout_destroy(layout);
        spad_kernel_destroy(k);
    }
    assert_true(shared > PEAK_KERNELS / 10); /* the top alone does not say it */
}

static void layouts_are_shown(void **state) {
    (void)state;
    spad_kernel *k = test_parse(SHOWN);
    spad_layout *layout = lay_out(k);
    spad_error error;
    test_text text;
    test_text_init(&text);
    assert_ok(spad_layout_write(layout, SPAD_FORMAT_TEXT, &text.sink, &error), &error);
    assert_string_equal(
        text.bytes, "space         used   live peak       bound    capacity  (bytes)\n"
                    "shared       1,088         308       1,088     232,448  fits; provably the "
                    "smallest layout\n"
                    "live peak of shared: 308 B at line 6 (for i): x 2 x 100, y 64, full 2 x 8\n");
    test_text_clear(&text);
    assert_ok(spad_layout_write(layout, SPAD_FORMAT_TABLE, &text.sink, &error), &error);
    assert_string_equal(
        text.bytes, "shared: 1,088 of 232,448 B, fits; provably the smallest layout\n"
                    "  buffer    placed    copies      tile  padding     total        at  lines\n"
                    "  x         planned        2       100       28       228         0  6 to 6\n"
                    "  full      mbarrier       2         8        0        16       232  4 to 6\n"
                    "  y         at             1        64        0        64     1,024  6 to 6\n"
                    "  reserved                                          1,024   232,448\n"
                    "  live peak: 308 B, 28 B of it padding, at line 6 (for i); largest hole then: "
                    "231,360 B at 1,088\n");
    test_text_clear(&text);
    assert_ok(spad_layout_write(layout, SPAD_FORMAT_CSV, &text.sink, &error), &error);
    assert_string_equal(text.bytes, "space,tensor,slot,lane,lanes,byte,bytes,begin,end,agent,line\n"
                                    "shared,x,0,0,1,0,100,2,4,,4\n"
                                    "shared,x,1,0,1,128,100,2,4,,4\n"
                                    "shared,full,0,0,1,232,8,0,5,,3\n"
                                    "shared,full,1,0,1,240,8,0,5,,3\n"
                                    "shared,y,0,0,1,1024,64,2,4,,5\n");
    test_text_clear(&text);
    assert_ok(spad_layout_write(layout, SPAD_FORMAT_JSON, &text.sink, &error), &error);
    static const char *const members[] = {"\"kernel\": \"shown\"", "\"fits\": true",
                                          "\"space\": \"shared\"", "\"verdict\": \"optimal\"",
                                          "\"used\": 1088",        "\"placed\": \"mbarrier\"",
                                          "\"stride\": 128",       "\"hole\": 231360"};
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (strstr(text.bytes, members[i]) == NULL) print_error("%s\n%s", members[i], text.bytes);
        assert_non_null(strstr(text.bytes, members[i]));
    }
    test_text_clear(&text);
    text.fail_after = 20;
    assert_int_equal(spad_layout_write(layout, SPAD_FORMAT_TEXT, &text.sink, &error), SPAD_ERR_IO);
    assert_int_equal(spad_layout_write(layout, SPAD_FORMAT_TABLE, &text.sink, &error), SPAD_ERR_IO);
    assert_int_equal(spad_layout_write(layout, SPAD_FORMAT_CSV, &text.sink, &error), SPAD_ERR_IO);
    assert_int_equal(spad_layout_write(layout, SPAD_FORMAT_JSON, &text.sink, &error), SPAD_ERR_IO);
    test_text_free(&text);
    spad_layout_destroy(layout);
    spad_kernel_destroy(k);
}

/* ---- memory ------------------------------------------------------------------------ */

static spad_status scenario(const spad_host *host, void *context) {
    const spad_layout_options options = {.host = host};
    spad_layout *layout;
    const spad_status status = spad_layout_create(&layout, context, &options, NULL);
    spad_layout_destroy(layout);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    static const char *const texts[] = {
        SHOWN,
        "kernel k on trn2\nregion sbuf 0..4096\ntensor a : psum u8 [3] (128, 2000) ring 3\n"
        "tensor m : psum f32 [9, 9] (128, 1) mod banks [1, 2]\n"
        "scope s sections 2 {\nfor i in 0..3 {\ntensor t : sbuf u8 (128, 100) stack\n"
        "vector w writes t, a[i], m[i, i]\nnext section\n}\n}\n",
        "kernel k on sm_90\ntensor low : shared u8 (64) at 64\n"
        "tensor ring2 : shared u8 [2] (64) ring 2\nsimt w writes low\n"
        "for i in 0..2 { simt w writes ring2[i] }\nsimt w reads low\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        spad_kernel *k = test_parse(texts[i]);
        test_fail_each_allocation(scenario, k);
        spad_kernel_destroy(k);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_places_are_one),
        cmocka_unit_test(phases_share_bytes),
        cmocka_unit_test(a_loop_needs_all_that_it_touches),
        cmocka_unit_test(a_declaration_in_a_loop_carries_nothing),
        cmocka_unit_test(inputs_and_outputs_are_kept),
        cmocka_unit_test(aliases_keep_their_home),
        cmocka_unit_test(aliases_have_places),
        cmocka_unit_test(every_slot_of_an_alias_has_a_row_in_the_table),
        cmocka_unit_test(aliases_give_what_they_are_to_their_home),
        cmocka_unit_test(what_is_outside_needs_nothing),
        cmocka_unit_test(alloc_and_free_are_touches),
        cmocka_unit_test(operations_in_flight_are_waited_for),
        cmocka_unit_test(agents_are_needed_from_fork_to_join),
        cmocka_unit_test(nothing_is_claimed_about_agents),
        cmocka_unit_test(rings_lie_together),
        cmocka_unit_test(rings_are_taken_apart_where_that_is_lower),
        cmocka_unit_test(room_between_slots_is_for_others),
        cmocka_unit_test(rings_with_room_between_their_slots_share_it),
        cmocka_unit_test(banks_and_lanes_are_obeyed),
        cmocka_unit_test(barriers_take_shared_memory),
        cmocka_unit_test(fixed_places_are_obstacles),
        cmocka_unit_test(managers_are_obstacles),
        cmocka_unit_test(what_does_not_fit_is_a_result),
        cmocka_unit_test(failures_have_messages),
        cmocka_unit_test(places_do_not_depend_on_trip_counts),
        cmocka_unit_test(the_live_peak_is_the_fullest_moment),
        cmocka_unit_test(layouts_are_shown),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
