/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of tensors in kernels with agents, and layouts that use it: what shares bytes, what
 * does not, what is claimed, and that a proposal which the check refutes is not taken.
 */
#include "sim/tune.h"
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "layout/tensor_order.h"
#include "spad/analysis.h"
#include "spad/experimental/fit.h"
#include "spad/experimental/kernel_rows.h"
#include "spad/experimental/tensor_order.h"
#include "spad/experimental/tune.h"
#include "support/kernels.h"

static int64_t number_of(const spad_kernel *kernel, const char *name) {
    for (size_t i = 0; i < spad_kernel_tensor_count(kernel); i++)
        if (strcmp(spad_kernel_get_tensor(kernel, i)->name, name) == 0) return (int64_t)i;
    fail_msg("no tensor '%s'", name);
    return -1;
}

/* Q is read in the loop, O is written after it by the agent that read Q. */
#define ATTENTION(wait_for_q)                                                            \
    "kernel attention on sm_90\nparam N = 4\n"                                           \
    "unit tma on copy free proxy\ngroup stores\n"                                        \
    "mbarrier q_full count 1\nmbarrier k_full[2] count 1\nmbarrier k_empty[2] count 1\n" \
    "tensor q : global fp16 (64, 64) input\ntensor k : global fp16 [N] (64, 64) input\n" \
    "tensor out : global fp16 (64, 64) output\n"                                         \
    "tensor sq : shared fp16 (64, 64) align 128\n"                                       \
    "tensor sk : shared fp16 [N] (64, 64) ring 2 align 128\n"                            \
    "tensor so : shared fp16 (64, 64) align 128\n"                                       \
    "init q_full\nfor s in 0..2 { init k_full[s]\n init k_empty[s] }\nfence\n"           \
    "agent producer {\n arrive q_full expect 8192\n"                                     \
    " tma load_q reads q writes sq delivers q_full\n for n in 0..N {\n"                  \
    "  wait k_empty[n % 2] parity (n / 2 + 1) % 2\n  arrive k_full[n % 2] expect 8192\n" \
    "  tma load_k reads k[n] writes sk[n] delivers k_full[n % 2]\n }\n}\n"               \
    "agent consumer {\n tensor acc : registers f32 (64, 64)\n " wait_for_q "\n"          \
    " simt zero writes acc\n for n in 0..N {\n"                                          \
    "  wait k_full[n % 2] parity n / 2 % 2\n"

#define REST                                                                         \
    "  simt mma reads sq, sk[n] updates acc\n  fence\n  arrive k_empty[n % 2]\n }\n" \
    " simt write_o reads acc writes so\n fence\n"                                    \
    " tma store reads so writes out in stores\n commit stores\n wait stores pending 0\n}\n"

static void epilogues_lie_over_what_is_over(void **state) {
    (void)state;
    spad_error error;
    spad_kernel *k = test_parse(ATTENTION("wait q_full parity 0") REST);
    spad_tensor_order *order;
    assert_ok(spad_tensor_order_create(&order, k, NULL, &error), &error);
    const int64_t sq = number_of(k, "sq");
    const int64_t sk = number_of(k, "sk");
    const int64_t so = number_of(k, "so");
    assert_true(spad_tensor_order_may_share(order, sq, so));
    assert_true(spad_tensor_order_may_share(order, so, sq));
    assert_true(spad_tensor_order_may_share(order, sk, so));
    assert_false(spad_tensor_order_may_share(order, sq, sk));
    assert_false(spad_tensor_order_may_share(order, sq, sq));
    assert_false(spad_tensor_order_may_share(order, sq, number_of(k, "q"))); /* an input */
    assert_false(spad_tensor_order_may_share(order, -1, so));
    assert_false(spad_tensor_order_may_share(order, sq, 1000));
    assert_true(spad__tensor_order_pair_count(order) >= 2);
    spad_tensor_order_destroy(order);

    spad_analysis *analysis;
    assert_ok(spad_analysis_create(&analysis, k, NULL, &error), &error);
    const spad_layout_space *row = spad_layout_get_space(spad_analysis_get_layout(analysis), 0);
    assert_int_equal(row->height, 3 * 8192 + 5 * 8); /* Q or O, K twice, mbarriers */
    assert_int_equal(row->verdict, SPAD_PLAN_OPTIMAL);
    assert_true(row->agents_ordered && !row->agents_apart);
    assert_int_equal(spad_check_get_verdict(spad_analysis_get_check(analysis)),
                     SPAD_VERDICT_PROVED_ALL);
    spad_analysis_destroy(analysis);
    spad_kernel_destroy(k);
}

/* Without the text's own order nothing is taken that the check does not prove. */
static void unordered_tensors_stay_apart(void **state) {
    (void)state;
    test_laid_out placed = test_lay_out("kernel k on sm_90\ntensor o : global u8 (64) output\n"
                                        "tensor a : shared u8 (64)\ntensor b : shared u8 (64)\n"
                                        "agent one { simt w writes a\n simt r reads a writes o }\n"
                                        "agent two { simt w writes b\n simt r reads b }\n");
    assert_int_equal(placed.row->height, 128);
    assert_int_equal(placed.row->verdict, SPAD_PLAN_OPTIMAL);
    assert_null(placed.check); /* nothing is shared: none was needed */
    test_laid_out_free(&placed);
}

#define ONE_AGENT                                                \
    "kernel k on sm_90\ntensor o : global u8 [2] (64) output\n"  \
    "tensor a : shared u8 (64)\ntensor b : shared u8 (64)\n"     \
    "agent one { simt w writes a\n simt r reads a writes o[0]\n" \
    " simt w writes b\n simt r reads b writes o[1] }\n"

static void tensors_of_one_agent_share_bytes(void **state) {
    (void)state;
    test_laid_out placed = test_lay_out(ONE_AGENT);
    assert_int_equal(placed.row->height, 64);
    assert_non_null(placed.check);
    assert_int_equal(spad_check_get_counts(placed.check).errors, 0);
    test_laid_out_free(&placed);
}

/* In a loop the two take turns; what is carried to the next iteration does not. */
static void loops_let_tensors_take_turns(void **state) {
    (void)state;
    static const struct {
        const char *first; /* what happens to a at the start of an iteration */
        int64_t height;
    } cases[] = {{"writes a", 64}, {"updates a", 128}};
    for (size_t i = 0; i < 2; i++) {
        char text[600];
        snprintf(text, sizeof text,
                 "kernel k on sm_90\nparam N = 5\ntensor o : global u8 [2, N] (64) output\n"
                 "tensor a : shared u8 (64)\ntensor b : shared u8 (64)\n"
                 "agent one { simt z writes a\n for i in 0..N {\n"
                 " simt w %s\n simt r reads a writes o[0, i]\n"
                 " simt w writes b\n simt r reads b writes o[1, i] } }\n",
                 cases[i].first);
        spad_error error;
        spad_kernel *k = test_parse(text);
        spad_analysis *analysis;
        assert_ok(spad_analysis_create(&analysis, k, NULL, &error), &error);
        const spad_layout *layout = spad_analysis_get_layout(analysis);
        assert_int_equal(spad_layout_get_space(layout, 0)->height, cases[i].height);
        assert_int_equal(spad_check_get_verdict(spad_analysis_get_check(analysis)),
                         SPAD_VERDICT_PROVED_ALL);
        spad_analysis_destroy(analysis);
        spad_kernel_destroy(k);
    }
}

/* An order of another kernel is refused, and a run that is too long has none. */
static void orders_belong_to_their_kernel(void **state) {
    (void)state;
    spad_error error;
    spad_kernel *k = test_parse(ATTENTION("wait q_full parity 0") REST);
    spad_kernel *other = test_parse("kernel k on sm_90\ntensor a : shared u8 (64)\n"
                                    "agent one { simt w writes a }\n");
    spad_tensor_order *order;
    spad_layout *layout;
    assert_ok(spad_tensor_order_create(&order, k, NULL, &error), &error);
    const spad_layout_options options = {.order = order};
    assert_int_equal(spad_layout_create(&layout, other, &options, &error), SPAD_ERR_ARGUMENT);
    spad_tensor_order_destroy(order);
    const spad_tensor_order_options few = {.event_limit = 3};
    assert_ok(spad_tensor_order_create(&order, k, &few, &error), &error);
    assert_int_equal(spad__tensor_order_pair_count(order), 0);
    spad_tensor_order_destroy(order);
    const spad_tensor_order_options bad = {.event_limit = -1};
    assert_int_equal(spad_tensor_order_create(&order, k, &bad, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "event limit -1 is negative");
    spad_kernel_destroy(k);
    spad_kernel_destroy(other);
}

/* No agent waits for Q: a race, with or without shared bytes. O shares those of K, which is in
 * order, and not those of Q. */
static void a_wrong_kernel_shares_what_is_in_order(void **state) {
    (void)state;
    test_laid_out placed = test_lay_out(ATTENTION("simt idle") REST);
    assert_int_equal(placed.row->height, 3 * 8192 + 5 * 8);
    assert_true(placed.row->agents_in_doubt);
    spad_rect q;
    spad_rect o;
    assert_true(spad_layout_get_place(&q, placed.layout, number_of(placed.kernel, "sq"), 0));
    assert_true(spad_layout_get_place(&o, placed.layout, number_of(placed.kernel, "so"), 0));
    assert_false(spad_rect_overlaps(q, o));
    test_laid_out_free(&placed);
}

/* In the bytes of x, y would hold what x was, and not be read before a write: another error. It has
 * bytes of its own, and a and b share theirs. */
static void a_tile_that_is_not_written_has_its_own_bytes(void **state) {
    (void)state;
    spad_error error;
    spad_kernel *k = test_parse(
        "kernel k on sm_100\nmbarrier done count 1\n"
        "tensor x : tmem f32 (128, 32)\ntensor y : tmem f32 (128, 32)\n"
        "tensor a : shared u8 (1024)\ntensor b : shared u8 (1024)\n"
        "init done\nagent one {\n simt w writes x, a\n simt r reads x, a\n arrive done\n}\n"
        "agent two {\n wait done parity 0\n simt early reads y\n simt w2 writes b, y\n"
        " simt r2 reads b, y\n}\n");
    spad_layout *layout;
    spad_check *check;
    assert_ok(spad_layout_create_checked(&layout, &check, k, NULL, NULL, &error), &error);
    assert_int_equal(spad_check_get_verdict(check), SPAD_VERDICT_WRONG);
    assert_int_equal(spad_check_get_finding(check, 0)->code, SPAD_FINDING_UNINITIALISED_READ);
    spad_rect x;
    spad_rect y;
    assert_true(spad_layout_get_place(&x, layout, number_of(k, "x"), 0));
    assert_true(spad_layout_get_place(&y, layout, number_of(k, "y"), 0));
    assert_false(spad_rect_overlaps(x, y));
    assert_true(spad_layout_get_place(&x, layout, number_of(k, "a"), 0));
    assert_true(spad_layout_get_place(&y, layout, number_of(k, "b"), 0));
    assert_true(spad_rect_overlaps(x, y));
    spad_check_destroy(check);
    spad_layout_destroy(layout);
    spad_kernel_destroy(k);
}

/* A result that lies over what is over, and a ring whose depth a parameter gives. The output tile
 * is as large as the input, so with S = 3 it fits only where the two share bytes. */
#define STAGED                                                                                     \
    "kernel staged on sm_90\nparam N = 6\nparam S = 3\nunit tma on copy free proxy\n"              \
    "group stores\nmbarrier q_full count 1\nmbarrier full[S] count 1\nmbarrier empty[S] count 1\n" \
    "tensor q : global u8 (49152) input\ntensor k : global u8 [N] (49152) input\n"                 \
    "tensor out : global u8 (49152) output\ntensor sq : shared u8 (49152) align 128\n"             \
    "tensor sk : shared u8 [N] (49152) ring S align 128\n"                                         \
    "tensor so : shared u8 (49152) align 128\n"                                                    \
    "init q_full\nfor s in 0..S { init full[s]\n init empty[s] }\nfence\n"                         \
    "agent producer {\n arrive q_full expect 49152\n"                                              \
    " tma load_q reads q writes sq delivers q_full\n for n in 0..N {\n"                            \
    "  wait empty[n % S] parity (n / S + 1) % 2\n  arrive full[n % S] expect 49152\n"              \
    "  tma load_k reads k[n] writes sk[n] delivers full[n % S]\n }\n}\n"                           \
    "agent consumer {\n tensor acc : registers f32 (64, 64)\n wait q_full parity 0\n"              \
    " simt zero writes acc\n for n in 0..N {\n  wait full[n % S] parity n / S % 2\n"               \
    "  simt mma reads sq, sk[n] updates acc\n  fence\n  arrive empty[n % S]\n }\n"                 \
    " simt write_o reads acc writes so\n fence\n"                                                  \
    " tma store reads so writes out in stores\n commit stores\n wait stores pending 0\n}\n"

/* Bytes of all memories on chip in the layout of an analysis. */
static int64_t analysed_bytes(const spad_kernel *kernel) {
    spad_error error;
    spad_analysis *analysis;
    assert_ok(spad_analysis_create(&analysis, kernel, NULL, &error), &error);
    const spad_layout *layout = spad_analysis_get_layout(analysis);
    const spad_target *target = spad_kernel_get_target(kernel);
    int64_t bytes = 0;
    for (size_t i = 0; i < spad_layout_space_count(layout); i++) {
        const spad_layout_space *row = spad_layout_get_space(layout, i);
        if (!target->spaces[row->space].off_chip)
            bytes += row->height * target->spaces[row->space].lanes;
    }
    spad_analysis_destroy(analysis);
    return bytes;
}

static void the_tuner_has_the_layouts_of_the_analysis(void **state) {
    (void)state;
    spad_error error;
    spad_kernel *k = test_parse(STAGED);
    const spad_tune_options options = {.steps = true, .depth_most = 4};
    spad_tune *tune;
    assert_ok(spad_tune_create(&tune, k, &options, &error), &error);
    const spad_tune_totals totals = spad_tune_get_totals(tune);
    assert_true(totals.written_fits); /* with so beside sq it would not */
    assert_int_equal(totals.written_placed, analysed_bytes(k));
    assert_int_equal(totals.written_placed, 4 * 49152 + 7 * 8 + 16384);
    assert_non_null(spad_tune_get_chosen(tune));
    assert_int_equal(totals.placed, analysed_bytes(spad_tune_get_chosen(tune)));
    assert_int_equal(spad_tune_get_knob(tune, 0)->value_count, 4);
    size_t fitting = 0;
    for (size_t i = 0; i < tune->points.count; i++) {
        const spad__tune_point *point = &tune->points.items[i];
        const spad_define depth = {"S", point->values[0]};
        const spad_kernel_options depths = {.defines = &depth, .define_count = 1};
        spad_kernel *other;
        assert_ok(spad_kernel_reshape(&other, k, &depths, &error), &error);
        if (point->fits) assert_int_equal(point->placed, analysed_bytes(other));
        if (!point->fits) assert_int_equal(point->placed, 0);
        fitting += point->fits;
        spad_kernel_destroy(other);
    }
    assert_true(fitting > 0);
    spad_tune_destroy(tune);
    spad_kernel_destroy(k);
}

/* With S = 5 it does not fit. Placed by the text alone, S = 2 would be the largest that does. */
static void changes_that_fit_use_the_order(void **state) {
    (void)state;
    spad_error error;
    const spad_define depth = {"S", 5};
    const spad_kernel_options depths = {.defines = &depth, .define_count = 1};
    spad_kernel *staged = test_parse(STAGED);
    spad_kernel *k;
    assert_ok(spad_kernel_reshape(&k, staged, &depths, &error), &error);
    spad_analysis *analysis;
    assert_ok(spad_analysis_create(&analysis, k, NULL, &error), &error);
    const spad_fit_change *change = spad_fit_get(spad_analysis_get_fit(analysis), 0);
    assert_non_null(change);
    assert_int_equal(change->kind, SPAD_FIT_PARAM);
    assert_int_equal(change->to, 3);
    assert_int_equal(change->wrong, SPAD_FINDING_NONE);
    assert_int_equal(change->saved, 2 * (49152 + 2 * 8)); /* the height of both is that of a plan */
    assert_int_equal(analysed_bytes(k) - analysed_bytes(staged), change->saved);
    spad_analysis_destroy(analysis);
    spad_kernel_destroy(k);
    spad_kernel_destroy(staged);
}

static spad_status tune_staged(const spad_host *host, void *context) {
    const spad_tune_options options = {.steps = true, .depth_most = 1, .host = host};
    spad_tune *tune;
    const spad_status status = spad_tune_create(&tune, context, &options, NULL);
    spad_tune_destroy(tune);
    return status;
}

static void failing_allocations_of_the_tuner_leak_nothing(void **state) {
    (void)state;
    spad_kernel *k = test_parse("kernel k on sm_90\ntensor o : global u8 [2] (64) output\n"
                                "tensor a : shared u8 (64)\ntensor b : shared u8 (64)\n"
                                "agent one { simt w writes a\n simt r reads a writes o[0]\n"
                                " simt w writes b\n simt r reads b writes o[1] }\n");
    test_fail_each_allocation(tune_staged, k);
    spad_kernel_destroy(k);
}

/* Right at T = 3, and no proof for all T: what shares bytes would be unproved, too. */
static void without_a_proof_nothing_is_shared(void **state) {
    (void)state;
    static const char *const ends[] = {"any", ""};
    for (size_t i = 0; i < 2; i++) {
        char text[500];
        snprintf(text, sizeof text,
                 "kernel k on sm_90\nparam T = 3 %s\ntensor o : global u8 [2] (64) output\n"
                 "tensor a : shared u8 (64)\ntensor b : shared u8 (64)\n"
                 "agent one { for t in 0..T { for i in 0..T - t step 2 { fence }\n"
                 " simt w writes a\n simt r reads a writes o[0]\n"
                 " simt w writes b\n simt r reads b writes o[1] } }\n",
                 ends[i]);
        test_laid_out placed = test_lay_out(text);
        assert_int_equal(placed.row->height, i == 0 ? 128 : 64);
        test_laid_out_free(&placed);
    }
}

/* A tensor whose place is given is used to the end; `a` is over before `b`. */
#define GIVEN(place)                                                               \
    "kernel k on sm_90\ntensor o : global u8 [3] (64) output\n"                    \
    "tensor g : shared u8 (64) " place "\ntensor a : shared u8 (64)\n"             \
    "tensor b : shared u8 (64)\nagent one { simt w writes g\n simt w writes a\n"   \
    " simt r reads a writes o[0]\n simt w writes b\n simt r reads b writes o[1]\n" \
    " simt r reads g writes o[2] }\n"

static void given_places_stay_free(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t height;
        int64_t given;
    } cases[] = {{GIVEN("at 0"), 128, 0}, {GIVEN("at 32"), 160, 32}, {GIVEN("at 128"), 192, 128}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        test_laid_out placed = test_lay_out(cases[i].text);
        assert_int_equal(placed.row->height, cases[i].height);
        for (size_t b = 0; b < spad_layout_buffer_count(placed.layout); b++) {
            const spad_layout_buffer *buffer = spad_layout_get_buffer(placed.layout, b);
            const int64_t byte = buffer->rect.byte;
            if (buffer->tensor == 1) continue; /* the given one */
            assert_true(byte + 64 <= cases[i].given || byte >= cases[i].given + 64);
        }
        if (placed.check != NULL) assert_int_equal(spad_check_get_counts(placed.check).errors, 0);
        test_laid_out_free(&placed);
    }
}

/* What threads write, what a copy brings after that, and what threads write last. */
#define COPIED(between)                                                            \
    "kernel copied on sm_90\nunit tma on copy free proxy\nmbarrier full count 1\n" \
    "tensor in : global u8 (128) input\ntensor out : global u8 [2] (128) output\n" \
    "tensor note : shared u8 (128)\ntensor tile : shared u8 (128)\n"               \
    "tensor late : shared u8 (128)\ninit full\nfence\n"                            \
    "agent one {\n simt w writes note\n simt r reads note writes out[0]\n" between \
    " arrive full expect 128\n tma load reads in writes tile delivers full\n"      \
    " wait full parity 0\n simt use reads tile\n simt w2 writes late\n"            \
    " simt r2 reads late writes out[1]\n}\n"

/* One pair that lacks a proxy fence does not keep the other pairs apart. */
static void bytes_of_threads_are_no_place_for_a_copy(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool share; /* the first two */
        int64_t height;
    } cases[] = {{COPIED(""), false, 256 + 8}, {COPIED(" fence\n"), true, 128 + 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spad_error error;
        spad_kernel *k = test_parse(cases[i].text);
        spad_tensor_order *order;
        assert_ok(spad_tensor_order_create(&order, k, NULL, &error), &error);
        const int64_t note = number_of(k, "note");
        const int64_t tile = number_of(k, "tile");
        const int64_t late = number_of(k, "late");
        assert_int_equal(spad_tensor_order_may_share(order, note, tile), cases[i].share);
        assert_true(spad_tensor_order_may_share(order, note, late));
        assert_true(spad_tensor_order_may_share(order, tile, late));
        spad_tensor_order_destroy(order);
        spad_layout *layout;
        spad_check *check;
        assert_ok(spad_layout_create_checked(&layout, &check, k, NULL, NULL, &error), &error);
        assert_int_equal(spad_layout_get_space(layout, 0)->height, cases[i].height);
        assert_int_equal(spad_layout_get_space(layout, 0)->verdict, SPAD_PLAN_OPTIMAL);
        assert_int_equal(spad_check_get_counts(check).errors, 0);
        spad_check_destroy(check);
        spad_layout_destroy(layout);
        spad_kernel_destroy(k);
    }
}

/* Threads of two agents that use tensor memory need fences of both. */
static void tensor_memory_is_shared_with_fences(void **state) {
    (void)state;
    static const struct {
        const char *before;
        const char *after;
        bool share;
    } cases[] = {{"", "", false},
                 {" fence tcgen05 before\n", "", false},
                 {"", " fence tcgen05 after\n", false},
                 {" fence tcgen05 before\n", " fence tcgen05 after\n", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[700];
        spad_error error;
        snprintf(
            text, sizeof text,
            "kernel k on sm_100\nunit mma on tensor same fence tcgen05\nmbarrier done count 1\n"
            "tensor x : tmem f32 (128, 32)\ntensor y : tmem f32 (128, 32)\n"
            "init done\nagent one {\n simt w writes x\n simt r reads x\n%s arrive done\n}\n"
            "agent two {\n wait done parity 0\n%s simt w writes y\n simt r reads y\n}\n",
            cases[i].before, cases[i].after);
        spad_kernel *k = test_parse(text);
        spad_tensor_order *order;
        assert_ok(spad_tensor_order_create(&order, k, NULL, &error), &error);
        assert_int_equal(spad_tensor_order_may_share(order, number_of(k, "x"), number_of(k, "y")),
                         cases[i].share);
        spad_tensor_order_destroy(order);
        spad_kernel_destroy(k);
    }
}

/* The end of agent one is after the start of agent two if there are rounds, and after its own start
 * in any case. `last` is large enough for both. */
#define ROUNDS(params)                                                                            \
    "kernel rounds on trn2\n" params                                                              \
    "counter c\ntensor own : sbuf u8 (128, 128)\ntensor other : sbuf u8 (128, 128)\n"             \
    "tensor last : sbuf u8 (128, 256)\n"                                                          \
    "agent one {\n vector w writes own\n vector r reads own\n for i in 0..N { take c }\n"         \
    " vector w2 writes last\n vector r2 reads last\n}\n"                                          \
    "agent two {\n scalar w3 writes other\n scalar r3 reads other\n for i in 0..N { signal c }\n" \
    "}\n"

static void what_many_rounds_order_is_not_shared_for_all(void **state) {
    (void)state;
    spad_error error;
    spad_kernel *k = test_parse(ROUNDS("param N = 4\n"));
    spad_tensor_order *order;
    assert_ok(spad_tensor_order_create(&order, k, NULL, &error), &error);
    assert_true(spad_tensor_order_may_share(order, number_of(k, "other"), number_of(k, "last")));
    spad_tensor_order_destroy(order);
    spad_layout *layout;
    spad_check *check;
    assert_ok(spad_layout_create_checked(&layout, &check, k, NULL, NULL, &error), &error);
    const spad_layout_space *row = spad_layout_get_space(layout, 0);
    assert_int_equal(row->height, 384); /* own and last share bytes */
    assert_int_equal(row->verdict, SPAD_PLAN_FEASIBLE);
    assert_int_equal(row->bound, 256); /* what is right with N = 4 */
    assert_true(row->agents_ordered && !row->agents_apart && !row->agents_in_doubt);
    assert_int_equal(spad_check_get_verdict(check), SPAD_VERDICT_PROVED_ALL);
    spad_check_destroy(check);
    spad_layout_destroy(layout);
    spad_kernel_destroy(k);
}

/* Values that the text refuses order nothing; of a number no other value exists; what is too long
 * for an order has that of fewer rounds. */
static void few_rounds_are_those_that_the_text_allows(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t height;
        spad_plan_verdict verdict;
    } cases[] = {{ROUNDS("param N = 4\nparam W = 2\ntensor pad : hbm u8 (128, 8 / W)\n"), 384,
                  SPAD_PLAN_FEASIBLE},
                 {ROUNDS("param N = 4 fixed\n"), 256, SPAD_PLAN_OPTIMAL},
                 {ROUNDS("param N = 1000000\n"), 384, SPAD_PLAN_FEASIBLE},
                 {ROUNDS("param N = 1000000 fixed\n"), 512, SPAD_PLAN_FEASIBLE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_laid_out placed = test_lay_out(cases[i].text);
        assert_int_equal(placed.row->height, cases[i].height);
        assert_int_equal(placed.row->verdict, cases[i].verdict);
        assert_int_equal(placed.row->bound, 256);
        test_laid_out_free(&placed);
    }
}

static void failing_allocations_leak_nothing(void **state) {
    (void)state;
    test_read_without_memory(ONE_AGENT, test_use_checked_layout);
    test_read_without_memory(GIVEN("at 0"), test_use_checked_layout);
}

/* Three checks for all trip counts take many allocations: one of every few fails, each time with
 * all that come after it. */
static void failing_allocations_of_few_rounds_leak_nothing(void **state) {
    (void)state;
    const long step = 2000 / test_effort(96);
    spad_kernel *k = test_parse(ROUNDS("param N = 100000\n"));
    spad_status status = SPAD_ERR_HOST_MEMORY;
    for (long n = 1; status != SPAD_OK; n += step) {
        test_host host;
        test_host_init(&host);
        host.fail_at = n;
        status = test_use_checked_layout(k, &host.host);
        test_host_assert_clean(&host);
        if (status != SPAD_OK) assert_int_equal(status, SPAD_ERR_HOST_MEMORY);
        if (status == SPAD_OK) assert_true(host.calls < n && n > 1000);
    }
    spad_kernel_destroy(k);
}

/* A value begins with a write of all of the tile, under its own name; else it may be older. */
static void values_begin_with_whole_writes(void **state) {
    (void)state;
    static const struct {
        const char *write; /* of y, after all of x is over */
        bool share;
    } cases[] = {
        {"vector w writes y\nvector r reads y\n", true},
        {"vector w writes y(.., 0..8)\nvector r reads y(.., 0..8)\n", true},
        {"vector w writes y(.., 0..16 by 2)\nvector r reads y(.., 0..16 by 2)\n", true},
        {"vector w writes y(0..64, ..)\nvector r reads y(0..64, ..)\n", true},
        {"vector w writes v\nvector r reads y\n", true},
        {"vector w writes v\nvector r reads v\n", true},
        {"vector w may writes y\nvector r may reads y\n", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int late = 0; late < 2; late++) {
            char text[800];
            /* or the first agent still reads x then */
            snprintf(text, sizeof text,
                     "kernel k on trn2\ncounter c\ntensor x : sbuf u8 (128, 16)\n"
                     "tensor y : sbuf u8 (128, 16)\ntensor v : sbuf u8 (128, 16) alias of y\n"
                     "agent a {\nvector w writes x\n%svector r reads x\n%s}\n"
                     "agent b {\ntake c\n%s}\n",
                     late != 0 ? "signal c\n" : "", late != 0 ? "" : "signal c\n", cases[i].write);
            spad_kernel *k = test_parse(text);
            spad_tensor_order *order;
            spad_error error;
            assert_ok(spad_tensor_order_create(&order, k, NULL, &error), &error);
            assert_int_equal(
                spad_tensor_order_may_share(order, number_of(k, "x"), number_of(k, "y")),
                cases[i].share && late == 0);
            spad_tensor_order_destroy(order);
            spad_kernel_destroy(k);
        }
    }
}

/* An order of too many buffers is left out, and says nothing about other layouts. */
static void many_buffers_are_not_called_ordered(void **state) {
    (void)state;
    enum { TENSORS = 4097 };
    test_text text;
    test_text_init(&text);
    test_text_put(&text, "kernel k on sm_90\n");
    for (int i = 0; i < TENSORS; i++) test_text_put(&text, "tensor t%d : shared u8 (16)\n", i);
    test_text_put(&text, "agent p {\n");
    for (int i = 0; i < TENSORS; i++) test_text_put(&text, "simt w writes t%d\n", i);
    test_text_put(&text, "}\n");
    spad_kernel *k = test_parse(text.bytes);
    spad_layout *layout;
    spad_error error;
    assert_ok(spad_layout_create_checked(&layout, NULL, k, NULL, NULL, &error), &error);
    const spad_layout_space *row = spad_layout_get_space(layout, 0);
    assert_int_equal(row->height, TENSORS * 16);
    assert_int_equal(row->verdict, SPAD_PLAN_FEASIBLE);
    assert_int_equal(row->bound, 16);
    assert_true(row->agents_apart && !row->agents_ordered);
    spad_layout_destroy(layout);
    spad_kernel_destroy(k);
    test_text_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_buffers_are_not_called_ordered),
        cmocka_unit_test(values_begin_with_whole_writes),
        cmocka_unit_test(bytes_of_threads_are_no_place_for_a_copy),
        cmocka_unit_test(tensor_memory_is_shared_with_fences),
        cmocka_unit_test(what_many_rounds_order_is_not_shared_for_all),
        cmocka_unit_test(few_rounds_are_those_that_the_text_allows),
        cmocka_unit_test(failing_allocations_of_few_rounds_leak_nothing),
        cmocka_unit_test(epilogues_lie_over_what_is_over),
        cmocka_unit_test(unordered_tensors_stay_apart),
        cmocka_unit_test(tensors_of_one_agent_share_bytes),
        cmocka_unit_test(loops_let_tensors_take_turns),
        cmocka_unit_test(orders_belong_to_their_kernel),
        cmocka_unit_test(a_wrong_kernel_shares_what_is_in_order),
        cmocka_unit_test(a_tile_that_is_not_written_has_its_own_bytes),
        cmocka_unit_test(the_tuner_has_the_layouts_of_the_analysis),
        cmocka_unit_test(changes_that_fit_use_the_order),
        cmocka_unit_test(without_a_proof_nothing_is_shared),
        cmocka_unit_test(given_places_stay_free),
        cmocka_unit_test(failing_allocations_of_the_tuner_leak_nothing),
        cmocka_unit_test(failing_allocations_leak_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
