/* SPDX-License-Identifier: Apache-2.0
 *
 * TTGIR: what a compiler printed for the kernels of tests/ttgir becomes a kernel with loops, rings
 * and phases that has the events of the program run with numbers; its verdict; faults of texts; and
 * no host memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/ttgir/ttgir.h"
#include "spad/spad.h"
#include "support/faults.h"
#include "support/files.h"
#include "support/kernels.h"
#include "support/support.h"

#define FOLDER "tests/ttgir/"

typedef struct recorded {
    const char *file;
    spad_verdict verdict; /* with the sizes below */
    bool unrolled;
    size_t agents;
    spad_finding_code code; /* WRONG: of the first error */
} recorded;

#define ALL SPAD_VERDICT_PROVED_ALL
#define SHAPE SPAD_VERDICT_PROVED_SHAPE
#define WRONG SPAD_VERDICT_WRONG

static const recorded files[] = {
    {"matmul_sm80_s3_v36", ALL, false, 1, 0},
    {"matmul_sm90_s3_v36", WRONG, false, 1, SPAD_FINDING_MISSING_FENCE},
    {"matmul_tma_sm90_s3_v39", ALL, false, 1, 0},
    {"matmul_tma_sm100_s2_v39", ALL, false, 1, 0},
    {"matmul_tma_ws_sm100_s3_v39", ALL, false, 4, 0},
    {"matmul_tma_ws_sm100_s2_v36", WRONG, false, 4, SPAD_FINDING_MBARRIER_LIFE},
    {"persistent_sm90_s3_v39", ALL, false, 1, 0},
    {"persistent_flat_sm90_s3_v39", SHAPE, true, 1, 0},
    {"persistent_ws_sm100_s2_v39", SHAPE, false, 4, 0},
    {"attention_sm90_s3_v39", ALL, false, 1, 0},
    {"attention_ws_sm100_s2_v39", SHAPE, true, 5, 0},
    {"softmax_sm80_s3_v39", ALL, false, 1, 0},
    {"softmax_sm80_s3_v39_placed", ALL, false, 1, 0},
    {"layer_norm_sm80_v39_placed", ALL, false, 1, 0},
    {"scratch_sm90_v36_placed", SHAPE, false, 1, 0},
    {"scratch_sm90_v39", SHAPE, false, 1, 0},
    {"calls_sm80_v36_placed", ALL, false, 1, 0},
    {"calls_sm90_v39_placed", ALL, false, 1, 0},
    {"matmul_tma_ws_sm100_s2_v39_placed", ALL, false, 5, 0},
    {"matmul_tma_cluster2_sm90_s3_v39_placed", ALL, false, 1, 0},
    {"along_sm90_v39_placed", SHAPE, false, 1, 0},
    {"scratch_sm90_v39_placed", SHAPE, false, 1, 0},
    {"attention_sm100_s1_v39_placed", ALL, false, 1, 0},
    {"matmul_described_ws_sm90_s2_v36_placed", WRONG, false, 4, SPAD_FINDING_MBARRIER_LIFE},
    {"gluon_multicast_cluster2_sm90_s2_v39_placed", ALL, false, 3, 0},
    {"gluon_pair_cluster2_sm100_v39", SHAPE, false, 3, 0},
    {"gluon_pair_cluster2_sm100_v39_placed", SHAPE, false, 3, 0},
    {"gluon_pair_ws_cluster2_sm100_s2_v39_placed", SHAPE, false, 9, 0},
    {"gluon_pair_ws_cluster4_sm100_s2_v39_placed", SHAPE, false, 17, 0},
    {"gluon_softmax_cluster2_sm90_v39_placed", SHAPE, false, 3, 0},
    {"gluon_gathered_cluster2_sm90_v39_placed", SHAPE, false, 3, 0},
    {"experts_sm80_s3_v39_placed", ALL, false, 1, 0},
    {"experts_sm90_s3_v39_placed", ALL, false, 1, 0},
    /* examples/triton/dot_and_sum.py: as Triton compiles it, and with a slot more for x */
    {"dot_and_sum_sm90_s3_v39", WRONG, false, 1, SPAD_FINDING_RACE},
    {"dot_and_sum_mended_sm90_s3_v39", ALL, false, 1, 0},
};
enum { FILE_COUNT = sizeof files / sizeof *files };

static char *text_of(const char *name) {
    char path[128];
    snprintf(path, sizeof path, FOLDER "%s.ttgir", name);
    return test_read_file(path);
}

/* Sizes that a kernel has none of are not given. */
static size_t sizes_of(const char *text, spad_define *defines, int64_t scale) {
    const spad_define sizes[] = {{"K", 64 * scale},
                                 {"N", 128 * scale},
                                 {"M", 128 * scale * 132},
                                 {"rows", 128 * scale},
                                 {"tiles", scale}};
    size_t count = 0;
    for (size_t i = 0; i < 5; i++) {
        char word[16];
        snprintf(word, sizeof word, "%%%s: i32", sizes[i].name);
        if (strstr(text, word) != NULL) defines[count++] = sizes[i];
    }
    return count;
}

static spad_kernel *read_text(const char *text, int64_t scale, bool numbers,
                              spad_ttgir_info *info) {
    spad_define defines[5];
    const spad_kernel_options options = {.defines = defines,
                                         .define_count = sizes_of(text, defines, scale)};
    const spad__source source = {"k.ttgir", text, strlen(text)};
    const spad_sink out = spad_sink_file(stderr);
    spad_diagnostics *faults;
    spad_error error;
    spad_kernel *kernel;
    assert_ok(spad_diagnostics_create(&faults, NULL, &error), &error);
    *info = (spad_ttgir_info){.shared_bytes = -1, .tensor_columns = -1};
    const spad_status status =
        spad__ttgir_read(&kernel, info, &source, &options, numbers, faults, &error);
    if (status == SPAD_ERR_SYNTAX) spad_diagnostics_write(faults, SPAD_FORMAT_TEXT, &out, NULL);
    spad_diagnostics_destroy(faults);
    assert_ok(status, &error);
    return kernel;
}

/* ---- the same events ------------------------------------------------------------------ */

/* The next operation or synchronisation. */
static const spad_walk_event *next_act(spad_walk *walk) {
    const spad_walk_event *event;
    spad_error error;
    do {
        assert_ok(spad_walk_next(&event, walk, &error), &error);
    } while (event->kind != SPAD_WALK_OPERATION && event->kind != SPAD_WALK_SYNC &&
             event->kind != SPAD_WALK_END);
    return event;
}

static const char *sync_name(const spad_kernel *kernel, int64_t object) {
    return object < 0 ? "" : spad_kernel_get_sync(kernel, (size_t)object)->name;
}

/* Without the number of a life: what a loop allocates in each round has one name in the loop, and
 * names left, left_2, ... where there is none. */
static void same_name(const char *loops, const char *numbers) {
    size_t length = strlen(numbers);
    if (strcmp(loops, numbers) == 0) return;
    while (length > 0 && numbers[length - 1] >= '0' && numbers[length - 1] <= '9') length--;
    if (length > 0 && numbers[length - 1] == '_') length--;
    if (strncmp(loops, numbers, length) != 0) print_error("%s is not %s\n", loops, numbers);
    assert_int_equal(strncmp(loops, numbers, length), 0);
}

static void same_acts(const spad_kernel *a, const spad_walk_event *x, const spad_kernel *b,
                      const spad_walk_event *y) {
    assert_int_equal(x->kind, y->kind);
    if (x->kind == SPAD_WALK_END) return;
    const spad_statement *s = spad_kernel_get_statement(a, (size_t)x->statement);
    const spad_statement *u = spad_kernel_get_statement(b, (size_t)y->statement);
    assert_int_equal(s->location.line, u->location.line);
    assert_int_equal(s->kind, u->kind);
    assert_string_equal(sync_name(a, x->object), sync_name(b, y->object));
    assert_int_equal(x->element, y->element);
    assert_int_equal(x->amount, y->amount);
    assert_int_equal(x->expect, y->expect);
    assert_int_equal(x->access_count, y->access_count);
    for (size_t i = 0; i < x->access_count; i++) {
        assert_int_equal(x->accesses[i].tile, y->accesses[i].tile);
        assert_int_equal(x->accesses[i].kind, y->accesses[i].kind);
        assert_memory_equal(&x->accesses[i].rect, &y->accesses[i].rect, sizeof(spad_rect));
        same_name(spad_kernel_get_tensor(a, (size_t)x->accesses[i].tensor)->name,
                  spad_kernel_get_tensor(b, (size_t)y->accesses[i].tensor)->name);
    }
    assert_int_equal(x->completion_count, y->completion_count);
    for (size_t i = 0; i < x->completion_count; i++) {
        assert_int_equal(x->completions[i].element, y->completions[i].element);
        assert_int_equal(x->completions[i].amount, y->completions[i].amount);
    }
}

static int64_t compare_walks(const spad_kernel *a, const spad_kernel *b) {
    const spad_walk_options options = {.agent = SPAD_WALK_ALL};
    spad_walk *one, *other;
    spad_error error;
    int64_t acts = 0;
    assert_ok(spad_walk_create(&one, a, &options, &error), &error);
    assert_ok(spad_walk_create(&other, b, &options, &error), &error);
    for (;; acts++) {
        const spad_walk_event *x = next_act(one);
        same_acts(a, x, b, next_act(other));
        if (x->kind == SPAD_WALK_END) break;
    }
    spad_walk_destroy(one);
    spad_walk_destroy(other);
    return acts;
}

static void loops_do_what_the_program_does(void **state) {
    (void)state;
    for (size_t i = 0; i < FILE_COUNT; i++) {
        char *text = text_of(files[i].file);
        for (int64_t scale = 1; scale <= 7; scale += 2) {
            spad_ttgir_info info;
            spad_kernel *loops = read_text(text, scale, false, &info);
            assert_int_equal(info.unrolled, files[i].unrolled);
            spad_kernel *numbers = read_text(text, scale, true, &info);
            assert_true(info.unrolled);
            assert_int_equal(spad_kernel_loop_count(numbers), 0);
            const int64_t rounds = spad_kernel_loop_count(loops) > 0 ? 2 * scale : 2;
            assert_true(compare_walks(loops, numbers) > rounds);
            spad_kernel_destroy(loops);
            spad_kernel_destroy(numbers);
        }
        free(text);
    }
}

/* ---- verdicts ------------------------------------------------------------------------- */

static void verdicts_of_recorded_kernels(void **state) {
    (void)state;
    const spad_check_options options = {.no_advice = true};
    for (size_t i = 0; i < FILE_COUNT; i++) {
        char *text = text_of(files[i].file);
        spad_ttgir_info info;
        spad_error error;
        spad_check *check;
        spad_kernel *kernel = read_text(text, 3, false, &info);
        assert_int_equal(spad_kernel_agent_count(kernel), files[i].agents);
        assert_ok(spad_check_create(&check, kernel, &options, &error), &error);
        const spad_verdict verdict = spad_check_get_verdict(check);
        if (verdict != files[i].verdict) print_error("%s\n", files[i].file);
        assert_int_equal(verdict, files[i].verdict);
        if (verdict == WRONG) {
            const spad_finding *first = spad_check_get_finding(check, 0);
            assert_int_equal(first->code, files[i].code);
            const char *own = strstr(files[i].file, "tma") != NULL         ? "kernels.py:38"
                              : strstr(files[i].file, "described") != NULL ? "kernels.py:194"
                              : strstr(files[i].file, "sum") != NULL       ? "dot_and_sum.py:41"
                                                                           : "kernels.py:20";
            assert_string_equal(first->place, own);
        }
        spad_check_destroy(check);
        spad_kernel_destroy(kernel);
        free(text);
    }
}

static void kernels_can_be_written_and_read_again(void **state) {
    (void)state;
    for (size_t i = 0; i < FILE_COUNT; i++) {
        char *text = text_of(files[i].file);
        spad_ttgir_info info;
        test_text first, second;
        test_text_init(&first);
        test_text_init(&second);
        spad_kernel *kernel = read_text(text, 1, false, &info);
        assert_int_equal(spad_kernel_write_text(kernel, &first.sink, NULL), SPAD_OK);
        spad_kernel *again = test_parse(first.bytes);
        assert_int_equal(spad_kernel_write_text(again, &second.sink, NULL), SPAD_OK);
        assert_string_equal(first.bytes, second.bytes);
        spad_kernel_destroy(kernel);
        spad_kernel_destroy(again);
        test_text_free(&first);
        test_text_free(&second);
        free(text);
    }
}

/* ---- texts ---------------------------------------------------------------------------- */

#define MODULE                                                                                \
    "#shared = #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>\n" \
    "#one = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>\n"       \
    "#smem = #ttg.shared_memory\n"                                                            \
    "module attributes {\"ttg.num-warps\" = 4 : i32, ttg.target = \"cuda:90\"} {\n"           \
    "  tt.func public @f(%p: !tt.ptr<f16>, %K: i32) {\n"
#define CLOSE "    tt.return\n  }\n}\n"
#define X "!ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>"
#define Y "!ttg.memdesc<64x64xf16, #shared, #smem, mutable>"

static spad_status read_faulty(const char *text, const char *file, spad_diagnostics *diagnostics,
                               spad_error *error) {
    spad_kernel *kernel;
    const spad_status status =
        spad_kernel_read_ttgir(&kernel, NULL, text, strlen(text), file, NULL, diagnostics, error);
    assert_int_equal(status == SPAD_OK, kernel != NULL);
    spad_kernel_destroy(kernel);
    return status;
}

static void faults_are_named(void **state) {
    (void)state;
    static const test_fault cases[] = {
        {"    %0 = ttg.local_alloc : () -> " X "\n    ttg.local_secret %0 : " X "\n", 2, 5, 16,
         "'ttg.local_secret' is not known, and memory on chip may depend on it"},
        {"    tt.call @g() : () -> ()\n", 1, 5, 7,
         "'tt.call' of a function that the module does not have"},
        {"    ttg.local_load %9 : " Y " -> tensor<64x64xf16>\n", 1, 20, 2,
         "a value that no operation before it defines"},
        {"    %0 = ttg.local_alloc : () -> !ttg.memdesc<0xf16>\n", 1, 10, 15,
         "a type of memory that is not known"},
        {"    %0 = ttg.local_alloc : () -> !ttg.memdesc<4xf99, #one, #smem>\n", 1, 10, 15,
         "a type of memory that is not known"},
        {"    %0:0 = foo.bar\n", 1, 8, 1, "expected a number of results"},
        {"    %0 foo.bar\n", 1, 8, 7, "expected '=' after the results of an operation"},
        {"    , foo\n", 1, 5, 1, "expected the name of an operation"},
        {"    \"foo\n", 1, 5, 4, "a string that does not end on its line"},
        {"    ttng.init_barrier %K, 1 : i32\n", 1, 5, 17,
         "a barrier that is not in allocated memory"},
        {"    %0 = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #one, #smem, mutable>\n"
         "    ttng.barrier_expect %0, %K : i32\n",
         2, 5, 19, "expected a number of bytes"},
        {"    %0 = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #one, #smem, mutable>\n"
         "    ttng.async_copy_mbarrier_arrive %0 : i32\n",
         2, 5, 31, "an arrival after copies without 'noIncrement' is not known"},
        {"    scf.if %K {\n    ^bb0:\n      cf.br ^bb1\n    ^bb1:\n      scf.yield\n    }\n", 5, 7,
         9, "a block that ends with neither 'tt.return', 'cf.br' nor 'cf.cond_br'"},
        {"    %0 = ttg.local_alloc : () -> " X "\n    %1 = tt.load %p : !tt.ptr<i32>\n"
         "    %2 = arith.divsi %1, %1 : i32\n    %3 = arith.addi %2, %K : i32\n"
         "    %4 = ttg.memdesc_index %0[%3] : " X " -> " Y "\n"
         "    ttg.local_store %p, %4 : " Y "\n",
         6, 5, 15, "a stage of a ring: only a run on the device knows it"},
        /* an index beyond a ring */
        {"    %0 = ttg.local_alloc : () -> " X "\n    %1 = arith.constant 2 : i32\n"
         "    %2 = ttg.memdesc_index %0[%1] : " X " -> " Y "\n"
         "    ttg.local_store %p, %2 : " Y "\n",
         4, 5, 15, "index 2 is outside 'buffer', which has 2"},
        {"    ttng.tc_gen5_mma %p, %p : i32\n", 1, 5, 16,
         "operands of a product that are not known"},
    };
    TEST_FAULTS(read_faulty, MODULE, CLOSE, cases);
}

static void other_texts_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"", "no module: expected TTGIR, as Triton prints it"},
        {"hello world\n", "no module: expected TTGIR, as Triton prints it"},
        {"module {\n}\n", "a module without a function of Triton ('tt.func')"},
        {"module {\n  llvm.func @f() {\n  }\n}\n",
         "a module without a function of Triton ('tt.func')"},
        {"module attributes {\"ttg.num-warps\" = 4 : i32} {\n  tt.func @f() {\n  }\n}\n",
         "no chip: 'ttg.target' is missing; name one"},
        {"module attributes {ttg.target = \"hip:gfx942\"} {\n  tt.func @f() {\n  }\n}\n",
         "a target of another vendor: only those of NVIDIA are known"},
        {"module attributes {ttg.target = \"cuda:90\"} {\n  tt.func @f() {\n",
         "this '{' has no '}': the text ends inside of it"},
        {"module {\n}\n}\n", "a '}' without a '{'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spad_error error;
        assert_int_equal(read_faulty(cases[i].text, "k.ttgir", NULL, &error), SPAD_ERR_SYNTAX);
        if (strstr(error.message, cases[i].message) == NULL) print_error("%s\n", error.message);
        assert_non_null(strstr(error.message, cases[i].message));
    }
    spad_kernel *kernel;
    spad_error error;
    const char *text = "module attributes {ttg.target = \"cuda:33\"} {\n  tt.func @f() {\n  }\n}\n";
    assert_int_equal(read_faulty(text, "k.ttgir", NULL, &error), SPAD_ERR_UNKNOWN);
    assert_int_equal(
        spad_kernel_read_ttgir(&kernel, NULL, text, (size_t)100 << 20, NULL, NULL, NULL, &error),
        SPAD_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "100 MiB of TTGIR: at most 64 are read"));
    assert_null(kernel);
}

/* A recorded file that ends anywhere is refused, or was at its end. */
static void cut_texts_are_refused(void **state) {
    (void)state;
    char *text = text_of("softmax_sm80_s3_v39");
    const size_t end = (size_t)(strstr(text, "\n} loc") - text);
    for (size_t length = 0; length < end; length += 1 + (size_t)test_effort(60) % 61) {
        spad_kernel *kernel;
        spad_error error;
        assert_int_not_equal(
            spad_kernel_read_ttgir(&kernel, NULL, text, length, "k", NULL, NULL, &error), SPAD_OK);
        assert_null(kernel);
    }
    free(text);
}

static void texts_are_recognised(void **state) {
    (void)state;
    static const char *const yes[] = {"module {", "#loc = loc(unknown)\n#a = #b\n module {",
                                      "// text\n\nmodule attributes {} {", "  tt.func @f() {",
                                      "\"builtin.module\"() ({"};
    static const char *const no[] = {
        "", "kernel k on sm_90\n", "# a comment = 1\nkernel k on x\n", "id,lower\n", "mod", "\n\n"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
        assert_true(spad_ttgir_detect(yes[i], strlen(yes[i])));
    }
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        assert_false(spad_ttgir_detect(no[i], strlen(no[i])));
    }
}

static void regions_have_a_depth(void **state) {
    (void)state;
    test_text text;
    spad_error error;
    test_text_init(&text);
    for (int i = 0; i < 64; i++) text.sink.write(text.sink.context, "a.b {\n", 6);
    for (int i = 0; i < 64; i++) text.sink.write(text.sink.context, "}\n", 2);
    assert_int_equal(read_faulty(text.bytes, "k", NULL, &error), SPAD_ERR_SYNTAX);
    assert_non_null(strstr(error.message, "no module"));
    test_text_clear(&text);
    text.sink.write(text.sink.context, "a.b {\n", 6);
    for (int i = 0; i < 99; i++) text.sink.write(text.sink.context, "  a.b {\n", 8);
    assert_int_equal(read_faulty(text.bytes, "k", NULL, &error), SPAD_ERR_SYNTAX);
    spad_diagnostics *faults;
    assert_ok(spad_diagnostics_create(&faults, NULL, &error), &error);
    assert_int_equal(read_faulty(text.bytes, "k", faults, &error), SPAD_ERR_SYNTAX);
    bool found = false;
    for (size_t i = 0; i < spad_diagnostics_count(faults); i++) {
        const char *message = spad_diagnostics_get(faults, i)->message;
        if (strstr(message, "regions are nested too deep: at most 64") != NULL) found = true;
        assert_null(strstr(message, "has no '}'")); /* those that are left out have one */
    }
    assert_true(found);
    spad_diagnostics_destroy(faults);
    test_text_free(&text);
}

/* ---- sizes ---------------------------------------------------------------------------- */

static void sizes_that_are_not_given_are_named(void **state) {
    (void)state;
    char *text = text_of("matmul_sm80_s3_v36");
    const spad_define good = {"K", 640}, bad = {"Q", 1};
    const spad_kernel_options given = {.defines = &good, .define_count = 1};
    const spad_kernel_options wrong = {.defines = &bad, .define_count = 1};
    spad_kernel *kernel;
    spad_ttgir_info info;
    spad_error error;
    assert_ok(spad_kernel_read_ttgir(&kernel, &info, text, strlen(text), "k", NULL, NULL, &error),
              &error);
    assert_string_equal(info.assumed, "K = 4096");
    assert_int_equal(info.shared_bytes, -1);
    assert_int_equal(info.warps, 4);
    assert_false(info.placed);
    assert_string_equal(spad_kernel_get_param(kernel, 0)->name, "K_tiles");
    assert_int_equal(spad_kernel_get_param(kernel, 0)->value, 64);
    assert_false(spad_kernel_get_param(kernel, 0)->fixed);
    spad_kernel_destroy(kernel);
    assert_ok(spad_kernel_read_ttgir(&kernel, &info, text, strlen(text), "k", &given, NULL, &error),
              &error);
    assert_string_equal(info.assumed, "");
    assert_int_equal(spad_kernel_get_param(kernel, 0)->value, 10);
    assert_string_equal(spad_kernel_get_file(kernel), "k");
    spad_kernel_destroy(kernel);
    assert_int_equal(
        spad_kernel_read_ttgir(&kernel, &info, text, strlen(text), "k", &wrong, NULL, &error),
        SPAD_ERR_UNKNOWN);
    free(text);
}

/* A size that is used by itself, too, is no trip count: nothing is said of other values. */
static void sizes_of_two_uses_are_fixed(void **state) {
    (void)state;
    static const char text[] =
        MODULE "    %c0 = arith.constant 0 : i32\n    %c1 = arith.constant 1 : i32\n"
               "    %c63 = arith.constant 63 : i32\n    %c64 = arith.constant 64 : i32\n"
               "    %a = arith.addi %K, %c63 : i32\n    %n = arith.divsi %a, %c64 : i32\n"
               "    %q = arith.remsi %K, %c64 : i32\n"
               "    %x = ttg.local_alloc : () -> " X "\n"
               "    scf.for %i = %c0 to %n step %c1  : i32 {\n"
               "      %b = arith.cmpi slt, %i, %q : i32\n"
               "      %s = ttg.memdesc_index %x[%c0] : " X " -> " Y "\n"
               "      scf.if %b {\n        ttg.local_store %p, %s : tensor<64x64xf16> -> " Y "\n"
               "      }\n    }\n" CLOSE;
    const spad_define size = {"K", 100};
    const spad_kernel_options options = {.defines = &size, .define_count = 1};
    spad_kernel *kernel;
    spad_error error;
    assert_ok(
        spad_kernel_read_ttgir(&kernel, NULL, text, strlen(text), "k", &options, NULL, &error),
        &error);
    assert_int_equal(spad_kernel_get_param(kernel, 0)->value, 2);
    assert_true(spad_kernel_get_param(kernel, 0)->fixed);
    spad_kernel_destroy(kernel);
}

#define RING                                                                          \
    "      %y = ttg.memdesc_index %x[%s] : " X " -> " Y "\n"                          \
    "      ttg.local_store %p, %y : tensor<64x64xf16> -> " Y "\n"                     \
    "      ttg.local_load %y : " Y " -> tensor<64x64xf16>\n"                          \
    "      %a = arith.addi %s, %c1 : i32\n      %b = arith.cmpi sge, %a, %c2 : i32\n" \
    "      %n = arith.select %b, %c0, %a : i32\n"
#define NUMBERS                                                            \
    "    %c0 = arith.constant 0 : i32\n    %c1 = arith.constant 1 : i32\n" \
    "    %c2 = arith.constant 2 : i32\n    %x = ttg.local_alloc : () -> " X "\n"

/* Which block it is decides how often its loops run. */
static void blocks_of_a_grid(void **state) {
    (void)state;
    static const char text[] = MODULE NUMBERS
        "    %q = tt.get_program_id x : i32\n    %w = tt.get_program_id y : i32\n"
        "    %z = tt.get_program_id z : i32\n    %g = tt.get_num_programs x : i32\n"
        "    %d = arith.muli %q, %g : i32\n    %e = arith.addi %d, %w : i32\n"
        "    %f = arith.addi %e, %z : i32\n"
        "    %r = scf.for %i = %c0 to %f step %c1 iter_args(%s = %c0) -> (i32)  : i32 "
        "{\n" RING "      scf.yield %n : i32\n    }\n" CLOSE;
    static const spad_define given[] = {
        {"program_id", 3}, {"program_id_y", 2}, {"program_id_z", 1}, {"num_programs", 10}};
    static const struct {
        size_t count;
        const char *wanted;
    } cases[] = {{0, "for i in 0..0 {\n"}, {1, "for i in 0..384 {\n"}, {4, "for i in 0..33 {\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const spad_kernel_options options = {.defines = given, .define_count = cases[i].count};
        spad_kernel *kernel;
        spad_error error;
        test_text shown;
        test_text_init(&shown);
        assert_ok(
            spad_kernel_read_ttgir(&kernel, NULL, text, strlen(text), "k", &options, NULL, &error),
            &error);
        assert_int_equal(spad_kernel_write_text(kernel, &shown.sink, NULL), SPAD_OK);
        assert_non_null(strstr(shown.bytes, cases[i].wanted));
        spad_kernel_destroy(kernel);
        test_text_free(&shown);
    }
    const spad_define below = {"program_id", -1}; /* no such block */
    const spad_kernel_options options = {.defines = &below, .define_count = 1};
    spad_kernel *kernel;
    assert_int_not_equal(
        spad_kernel_read_ttgir(&kernel, NULL, text, strlen(text), "k", &options, NULL, NULL),
        SPAD_OK);
}

/* The rounds of a loop that data ends are any number. */
static void loops_that_data_ends(void **state) {
    (void)state;
    static const char text[] =
        MODULE NUMBERS "    %r = scf.while (%s = %c0) : (i32) -> i32 {\n"
                       "      %d = tt.load %p : !tt.ptr<i1>\n"
                       "      scf.condition(%d) %s : i32\n    } do {\n    ^bb0(%s: i32):\n" RING
                       "      scf.yield %n : i32\n    }\n" CLOSE;
    spad_kernel *kernel;
    spad_check *check;
    spad_error error;
    test_text shown;
    test_text_init(&shown);
    assert_ok(spad_kernel_read_ttgir(&kernel, NULL, text, strlen(text), "k", NULL, NULL, &error),
              &error);
    assert_int_equal(spad_kernel_write_text(kernel, &shown.sink, NULL), SPAD_OK);
    assert_non_null(strstr(shown.bytes, "param trips = 3 any\n"));
    assert_non_null(strstr(shown.bytes, "for i in 0..trips + 1 {\n    if i < trips {\n"));
    assert_non_null(strstr(shown.bytes, "simt store writes x[i % 2]"));
    assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
    assert_int_equal(spad_check_get_verdict(check), SPAD_VERDICT_PROVED_ALL);
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
    test_text_free(&shown);
}

/* A bound that is loaded is any number, too. */
static void loops_with_a_loaded_bound(void **state) {
    (void)state;
    static const char text[] = MODULE NUMBERS
        "    %d = tt.load %p : !tt.ptr<i32>\n"
        "    %r = scf.for %i = %c0 to %d step %c1 iter_args(%s = %c0) -> (i32)  : i32 "
        "{\n" RING "      scf.yield %n : i32\n    }\n" CLOSE;
    spad_kernel *kernel;
    spad_error error;
    assert_ok(spad_kernel_read_ttgir(&kernel, NULL, text, strlen(text), "k", NULL, NULL, &error),
              &error);
    assert_int_equal(spad_kernel_param_count(kernel), 1);
    assert_true(spad_kernel_get_param(kernel, 0)->any);
    spad_kernel_destroy(kernel);
}

/* One that the sizes end is run where its stages have no expression. */
static void loops_that_sizes_end(void **state) {
    (void)state;
    static const char text[] =
        MODULE NUMBERS "    %r:2 = scf.while (%s = %c0, %i = %c0) : (i32, i32) -> (i32, i32) {\n"
                       "      %d = arith.cmpi slt, %i, %K : i32\n"
                       "      scf.condition(%d) %s, %i : i32, i32\n    } do {\n"
                       "    ^bb0(%s: i32, %i: i32):\n" RING
                       "      %j = arith.addi %i, %c1 : i32\n      %q = arith.remsi %i, %c2 : i32\n"
                       "      %o = arith.muli %q, %n : i32\n"
                       "      scf.yield %o, %j : i32, i32\n    }\n" CLOSE;
    const spad_define size = {"K", 5};
    const spad_kernel_options options = {.defines = &size, .define_count = 1};
    spad_kernel *kernel;
    spad_ttgir_info info;
    spad_error error;
    assert_ok(
        spad_kernel_read_ttgir(&kernel, &info, text, strlen(text), "k", &options, NULL, &error),
        &error);
    assert_true(info.unrolled);
    size_t operations = 0;
    for (size_t i = 0; i < spad_kernel_statement_count(kernel); i++) {
        const spad_statement *s = spad_kernel_get_statement(kernel, i);
        if (s->kind == SPAD_STATEMENT_OPERATION) operations++;
    }
    assert_int_equal(operations, 10);
    spad_kernel_destroy(kernel);
}

/* After a region, a name is again what it was before. Names that are given several times, which
 * only regions that see nothing of what is around them may do, are found as quickly as others. */
static void names_are_those_of_their_region(void **state) {
    (void)state;
    static const char text[] = MODULE NUMBERS
        "    %e = arith.constant 3 : i32\n"
        "    scf.for %i = %c0 to %c2 step %c1 : i32 {\n"
        "      %e = arith.constant 7 : i32\n      %e = arith.addi %e, %c1 : i32\n"
        "      scf.yield\n    }\n"
        "    %r = scf.for %i = %c0 to %e step %c1 iter_args(%s = %c0) -> (i32)  : i32 "
        "{\n" RING "      scf.yield %n : i32\n    }\n" CLOSE;
    spad_kernel *kernel;
    spad_walk *walk;
    spad_error error;
    int operations = 0;
    assert_ok(spad_kernel_read_ttgir(&kernel, NULL, text, strlen(text), "k", NULL, NULL, &error),
              &error);
    assert_ok(spad_walk_create(&walk, kernel, NULL, &error), &error);
    for (const spad_walk_event *e; (e = next_act(walk))->kind != SPAD_WALK_END;)
        operations += e->kind == SPAD_WALK_OPERATION;
    assert_int_equal(operations, 6);
    spad_walk_destroy(walk);
    spad_kernel_destroy(kernel);
}

/* ---- host memory ----------------------------------------------------------------------- */

static spad_status read_scenario(const spad_host *host, void *context) {
    const char *text = context;
    const spad_kernel_options options = {.host = host};
    spad_diagnostics *faults;
    spad_kernel *kernel = NULL;
    spad_status status = spad_diagnostics_create(&faults, host, NULL);
    if (status != SPAD_OK) return status;
    status = spad_kernel_read_ttgir(&kernel, NULL, text, strlen(text), "k", &options, faults, NULL);
    spad_kernel_destroy(kernel);
    spad_diagnostics_destroy(faults);
    return status;
}

static void no_host_memory(void **state) {
    (void)state;
    static const char *const names[] = {"softmax_sm80_s3_v39", "matmul_tma_ws_sm100_s3_v39"};
    const size_t count = test_effort(6) > 1 ? 2 : 1;
    for (size_t i = 0; i < count; i++) {
        char *text = text_of(names[i]);
        test_fail_each_allocation(read_scenario, text);
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_do_what_the_program_does),
        cmocka_unit_test(verdicts_of_recorded_kernels),
        cmocka_unit_test(kernels_can_be_written_and_read_again),
        cmocka_unit_test(faults_are_named),
        cmocka_unit_test(other_texts_are_refused),
        cmocka_unit_test(cut_texts_are_refused),
        cmocka_unit_test(texts_are_recognised),
        cmocka_unit_test(regions_have_a_depth),
        cmocka_unit_test(sizes_that_are_not_given_are_named),
        cmocka_unit_test(sizes_of_two_uses_are_fixed),
        cmocka_unit_test(blocks_of_a_grid),
        cmocka_unit_test(loops_that_data_ends),
        cmocka_unit_test(loops_with_a_loaded_bound),
        cmocka_unit_test(loops_that_sizes_end),
        cmocka_unit_test(names_are_those_of_their_region),
        cmocka_unit_test(no_host_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
