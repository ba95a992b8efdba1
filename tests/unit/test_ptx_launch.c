/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches of PTX kernels through the public calls: arguments as bytes, buffers and tensor maps,
 * the kernels that come out with their verdicts, and all of it without host memory. What is
 * refused, and how, is in tests/cli/cuda_wrong.cmd. */
#include <stdlib.h>
#include <string.h>

#include "frontend/ptx/ptx_arguments.h"
#include "frontend/ptx/ptx_log.h"
#include "frontend/ptx/ptx_plain_name.h"
#include "frontend/ptx/ptx_transactions.h"
#include "spad/check.h"
#include "spad/experimental/ptx.h"
#include "support/faults.h"
#include "support/files.h"
#include "support/support.h"

/* ---- arguments ---------------------------------------------------------------------------- */

#define PARAMETERS                                                                         \
    ".version 9.0\n.target sm_90a\n.address_size 64\n"                                     \
    ".entry k(.param .u32 a, .param .u64 b, .param .f32 c, .param .align 64 .b8 d[128],\n" \
    ".param .align 4 .b8 e[6], .param .f64 f, .param .u8 g) { ret; }\n"

enum { A, B = 8, C = 16, D = 64, E = 192, F = 200, G = 208, END = 209 };

static spad__ptx_module parameters(void) {
    const spad__source source = {"k.ptx", PARAMETERS, sizeof PARAMETERS - 1};
    spad__ptx_module m;
    assert_int_equal(spad__ptx_parse(&m, NULL, &source, NULL, NULL), SPAD_OK);
    return m;
}

static const char *const all[] = {"rows=-2",
                                  "x=bf16[64,128]",
                                  "scale=1.5",
                                  "map=tensormap:f16[256,64],box[32,64],swizzle128",
                                  "e=bytes:01ff..10",
                                  "f=-0.25",
                                  "g=0xff"};

static const spad_ptx_launch launch_of_all = {.arguments = all, .argument_count = 7};

static void arguments_become_bytes(void **state) {
    (void)state;
    spad__ptx_module m = parameters();
    spad__ptx_arguments a;
    assert_int_equal(
        spad__ptx_read_arguments(&a, NULL, &m, &m.functions.items[0], &launch_of_all, NULL),
        SPAD_OK);
    assert_int_equal(a.bytes.count, END);
    int32_t rows;
    uint64_t pointer;
    float scale;
    double f;
    memcpy(&rows, a.bytes.items + A, sizeof rows);
    memcpy(&pointer, a.bytes.items + B, sizeof pointer);
    memcpy(&scale, a.bytes.items + C, sizeof scale);
    memcpy(&f, a.bytes.items + F, sizeof f);
    assert_int_equal(rows, -2);
    assert_true(scale == 1.5f && f == -0.25);
    assert_int_equal(a.bytes.items[G], 255);
    assert_int_equal(a.bytes.items[E + 1], 255);
    assert_int_equal(a.known.items[E + 1], 1);
    assert_int_equal(a.known.items[E + 2], 0); /* ".." */
    assert_int_equal(a.bytes.items[E + 3], 16);
    assert_int_equal(a.known.items[E + 4], 0); /* not given */
    assert_int_equal(a.known.items[D], 0);     /* a map has no bytes to read */
    assert_int_equal(a.buffers.count, 2);
    assert_int_equal(a.buffers.items[0].bytes, 64 * 128 * 2);
    assert_true(a.buffers.items[0].address == pointer && a.buffers.items[0].data == NULL);
    spad__ptx_arguments_free(&a);
    spad__ptx_module_free(&m);
}

static void maps_are_innermost_first(void **state) {
    (void)state;
    spad__ptx_module m = parameters();
    spad__ptx_arguments a;
    assert_int_equal(
        spad__ptx_read_arguments(&a, NULL, &m, &m.functions.items[0], &launch_of_all, NULL),
        SPAD_OK);
    assert_int_equal(a.maps.count, 1);
    assert_true(a.maps.items[0].address == SPAD__PTX_PARAM_BASE + D);
    const spad__tensor_map *map = &a.maps.items[0].map;
    assert_int_equal(map->dims, 2);
    assert_int_equal(map->element_bits, 16);
    assert_int_equal(map->size[0], 64);
    assert_int_equal(map->size[1], 256);
    assert_int_equal(map->box[0], 64);
    assert_int_equal(map->box[1], 32);
    assert_int_equal(map->stride[1], 128);
    assert_int_equal(map->swizzle, SPAD__SWIZZLE_128);
    spad__ptx_arguments_free(&a);
    spad__ptx_module_free(&m);
}

static void contents_can_be_given(void **state) {
    (void)state;
    static const char *const words[] = {"1=i32[3]=7,-1", "0=1", "2=2",      "3=unknown",
                                        "4=unknown",     "5=3", "6=unknown"};
    const spad_ptx_launch launch = {.arguments = words, .argument_count = 7};
    spad__ptx_module m = parameters();
    spad__ptx_arguments a;
    assert_int_equal(spad__ptx_read_arguments(&a, NULL, &m, &m.functions.items[0], &launch, NULL),
                     SPAD_OK);
    int32_t items[3];
    assert_int_equal(a.buffers.items[0].bytes, sizeof items);
    memcpy(items, a.buffers.items[0].data, sizeof items);
    assert_int_equal(items[0], 7);
    assert_int_equal(items[1], -1);
    assert_int_equal(items[2], 0);
    assert_int_equal(a.known.items[G], 0);
    spad__ptx_arguments_free(&a);
    spad__ptx_module_free(&m);
}

/* ---- launches ------------------------------------------------------------------------------ */

static spad_status module_of(spad_ptx **out, const char *file, const spad_host *host) {
    char path[128];
    snprintf(path, sizeof path, "tests/ptx/%s", file);
    char *text = test_read_file(path);
    const spad_status status = spad_ptx_create(out, text, strlen(text), file, host, NULL, NULL);
    free(text);
    return status;
}

static spad_status run_of(spad_ptx_run **out, const spad_ptx *ptx, const spad_host *host,
                          const char *kernel, uint32_t threads, const char *const *arguments,
                          size_t count) {
    const spad_kernel_options options = {.host = host};
    spad_ptx_launch launch = {
        .block = {threads, 1, 1}, .arguments = arguments, .argument_count = count};
    *out = NULL;
    const spad_status status = spad_ptx_find_kernel(&launch.kernel, ptx, kernel, NULL);
    return status == SPAD_OK ? spad_ptx_run_create(out, ptx, &launch, &options, NULL) : status;
}

static int64_t errors_of(const char *file, const char *kernel, uint32_t threads,
                         const char *const *arguments, size_t count) {
    spad_ptx *ptx;
    spad_ptx_run *run;
    spad_check *check;
    assert_int_equal(module_of(&ptx, file, NULL), SPAD_OK);
    assert_int_equal(run_of(&run, ptx, NULL, kernel, threads, arguments, count), SPAD_OK);
    spad_kernel *taken = spad_ptx_run_take_kernel(run);
    assert_non_null(taken);
    assert_null(spad_ptx_run_take_kernel(run));
    assert_int_equal(spad_check_create(&check, taken, NULL, NULL), SPAD_OK);
    const int64_t errors = spad_check_get_counts(check).errors;
    spad_check_destroy(check);
    spad_kernel_destroy(taken);
    spad_ptx_run_destroy(run);
    spad_ptx_destroy(ptx);
    return errors;
}

static void verdicts_do_not_depend_on_how_long_a_loop_is(void **state) {
    (void)state;
    static const char *const tiles[] = {"t=1", "t=2", "t=3", "t=4", "t=5", "t=9", "t=64"};
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
        const char *const words[] = {"in=f32[64,256]", "out=f32[128]", tiles[i]};
        assert_int_equal(errors_of("copies.ptx", "ring_sum", 160, words, 3), 0);
        /* a stage is used again in the third tile */
        assert_int_equal(errors_of("copies.ptx", "ring_sum_early", 160, words, 3), i > 1);
    }
}

static void runs_have_numbers_and_remarks(void **state) {
    (void)state;
    static const char *const words[] = {"in=f32[128]", "wanted=i32[1]", "out=f32[128]"};
    spad_ptx *ptx;
    spad_ptx_run *run;
    assert_int_equal(module_of(&ptx, "reduce.ptx", NULL), SPAD_OK);
    assert_int_equal(run_of(&run, ptx, NULL, "sums_some", 128, words, 3), SPAD_OK);
    const spad_ptx_counts counts = spad_ptx_run_get_counts(run);
    assert_int_equal(counts.warps, 4);
    assert_int_equal(counts.ctas, 1);
    assert_int_equal(counts.choices, 1);
    assert_true(counts.instructions > 300 && counts.events > 60);
    assert_int_equal(spad_ptx_run_remark_count(run), 1);
    const spad_ptx_remark remark = spad_ptx_run_get_remark(run, 0);
    assert_true(remark.choice && !remark.wrong);
    assert_string_equal(remark.file, "reduce.cu");
    assert_int_equal(remark.source_line, 53);
    spad_ptx_frame frame = {.line = -1};
    assert_false(spad_ptx_run_get_frame(&frame, run, 0, 0)); /* a line of the kernel itself */
    assert_int_equal(frame.line, -1);
    spad_ptx_run_destroy(run);
    spad_ptx_destroy(ptx);
}

static void kernels_are_found_by_pattern(void **state) {
    (void)state;
    static const struct {
        const char *pattern;
        spad_status status;
        size_t kernel;
    } rows[] = {{"sums", SPAD_OK, 0},           {"*stuck", SPAD_OK, 2},
                {"sum*r*d", SPAD_OK, 1},        {"**", SPAD_ERR_UNKNOWN, 0},
                {NULL, SPAD_ERR_UNKNOWN, 0},    {"", SPAD_ERR_UNKNOWN, 0},
                {"sums*x", SPAD_ERR_UNKNOWN, 0}};
    spad_ptx *ptx;
    assert_int_equal(module_of(&ptx, "reduce.ptx", NULL), SPAD_OK);
    assert_int_equal(spad_ptx_kernel_count(ptx), 5);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t found = 99;
        assert_int_equal(spad_ptx_find_kernel(&found, ptx, rows[i].pattern, NULL), rows[i].status);
        if (rows[i].status == SPAD_OK) assert_int_equal(found, rows[i].kernel);
    }
    spad_ptx_destroy(ptx);
}

static void kernels_are_found_by_their_names_in_cpp(void **state) {
    (void)state;
    static const char text[] = ".version 9.0\n.target sm_90a\n.address_size 64\n"
                               ".entry _ZN2ns4gemmIfEEvPT_() { ret; }\n"
                               ".entry _ZN2ns4gemmIdEEvPT_() { ret; }\n"
                               ".entry _ZN12_GLOBAL__N_15clearEv() { ret; }\n"
                               ".entry plain() { ret; }\n";
    static const struct {
        const char *pattern;
        spad_status status;
        size_t kernel;
    } rows[] = {{"_ZN2ns4gemmIdEEvPT_", SPAD_OK, 1},
                {"gemm", SPAD_ERR_UNKNOWN, 0},
                {"clear", SPAD_OK, 2},
                {"c*r", SPAD_OK, 2},
                {"*ns::clear", SPAD_ERR_UNKNOWN, 0},
                {"ns::*", SPAD_ERR_UNKNOWN, 0},
                {"*EvPT_", SPAD_ERR_UNKNOWN, 0},
                {"*IdE*", SPAD_OK, 1},
                {"pl*", SPAD_OK, 3}};
    spad_ptx *ptx;
    assert_int_equal(spad_ptx_create(&ptx, text, sizeof text - 1, "k", NULL, NULL, NULL), SPAD_OK);
    assert_string_equal(spad_ptx_get_kernel(ptx, 0).plain_name, "ns::gemm");
    assert_string_equal(spad_ptx_get_kernel(ptx, 2).plain_name, "(anonymous namespace)::clear");
    assert_string_equal(spad_ptx_get_kernel(ptx, 3).plain_name, "plain");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t found = 99;
        assert_int_equal(spad_ptx_find_kernel(&found, ptx, rows[i].pattern, NULL), rows[i].status);
        if (rows[i].status == SPAD_OK) assert_int_equal(found, rows[i].kernel);
    }
    spad_ptx_destroy(ptx);
}

/* Of each form of the ABI that is read, and of those that are not; compared with c++filt. */
static void plain_names_are_exact_or_absent(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"_Z4gemmPf", "gemm"},
        {"_ZL4gemmPf", "gemm"},
        {"_Z5scaleIfEvPT_S0_", "scale"},
        {"_ZN1n2v12ivEv", "n::v1::iv"},
        {"_ZNSt3abcEv", "std::abc"},
        {"_ZSt3abcv", "std::abc"},
        {"_ZN1n2pkILNS_1S1KE1EJiPfA3_dEEEvDpT0_", "n::pk"},
        {"_ZN1n2tvIlLln5EEEvPNS_1S1PIT_EE", "n::tv"},
        {"_ZN1nIiE1mIXadL_ZNS_1gEvEEEEvv", NULL}, /* an expression */
        {"_ZN1aIiE1bE", "a::b"},
        {"_ZN1a1bIDF16_EE", "a::b"},
        {"_ZN1aplERKS_", NULL}, /* an operator */
        {"_ZN1aC1Ev", NULL},    /* a constructor */
        {"_ZZ4mainENKUlvE_clEv", NULL},
        {"_ZNK1a1bEv", NULL},
        {"_Z", NULL},
        {"_Z4gem", NULL},
        {"_Z0", NULL},
        {"_ZN1a1b", NULL},
        {"_ZN1aI", NULL},
        {"_ZN1aIE", NULL},
        {"_Z99999999999999999999a", NULL},
        {"gemm", NULL},
        {"", NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char field[32];
        const bool fine = spad__ptx_plain_name(field, sizeof field, rows[i][0]);
        assert_int_equal(fine, rows[i][1] != NULL);
        if (fine) assert_string_equal(field, rows[i][1]);
    }
    char small[5], exact[6];
    assert_false(spad__ptx_plain_name(small, sizeof small, "_Z5scalePf"));
    assert_true(spad__ptx_plain_name(exact, sizeof exact, "_Z4gemmPf"));
}

/* Template arguments, with what names refer to again; compared with c++filt. */
static void full_names_have_template_arguments(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"_Z4gemmPf", "gemm"},
        {"_Z5scaleIfEvPT_S0_", "scale<float>"},
        {"_Z4ringILi4ELb1ELb0EEvPf", "ring<4, true, false>"},
        {"_ZN2ns4gemmI13__nv_bfloat16S1_Lin3EEEvv", "ns::gemm<__nv_bfloat16, __nv_bfloat16, -3>"},
        {"_Z1kI1AI1BIiEEEvv", "k<A<B<int>>>"},
        {"_Z1kIN2ns1AEE", "k<ns::A>"},
        {"_Z1kIN2ns1AENS0_1BEE", "k<ns::A, ns::B>"},
        {"_Z1kIPKfRiEvv", "k<float const *, int &>"},
        {"_Z1kIJifdEEvv", "k<int, float, double>"},
        {"_Z1kIL4Mode1EEvv", "k<(Mode)1>"},
        {"_Z1kISt4pairIjlEEvv", "k<std::pair<unsigned int, long>>"},
        {"_ZN1nIiE1mIXadL_ZNS_1gEvEEEEvv", NULL}, /* an expression */
        {"_Z1kIA3_dEvv", NULL},                   /* an array */
        {"_Z1kIS9_Evv", NULL},
        {"_Z1kI", NULL},
        {"_Z1kIL", NULL},
        {"_Z1kILi", NULL},
        {"_ZN1aI", NULL},
        {"_Z", NULL},
        {"gemm", NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char field[64];
        const bool fine = spad__ptx_full_name(field, sizeof field, rows[i][0]);
        if (fine != (rows[i][1] != NULL)) print_error("%s: %s\n", rows[i][0], field);
        assert_int_equal(fine, rows[i][1] != NULL);
        if (fine) assert_string_equal(field, rows[i][1]);
    }
    char small[12];
    assert_false(spad__ptx_full_name(small, sizeof small, "_Z5scaleIfEvPT_S0_"));
}

/* ---- transactions ---------------------------------------------------------------------------- */

/* A phase of `count` arrivals: one of them expects 1024 bytes, copies bring `bytes`, and the wait
 * never ends. Returns the number of remarks. */
static size_t compare_phase(int64_t count, int64_t bytes, char text[120]) {
    const spad__ptx_event events[] = {
        {.kind = SPAD__PTX_MBARRIER_INIT, .object = {0, 8}, .count = count},
        {.kind = SPAD__PTX_MBARRIER_INIT, .object = {0, 16}, .count = 1},
        {.kind = SPAD__PTX_MBARRIER_ARRIVE, .object = {0, 8}, .amount = 1, .bytes = 1024},
        {.kind = SPAD__PTX_ACCESS, .object = {0, 16}, .bytes = 64},
        {.kind = SPAD__PTX_ACCESS, .object = {0, 8}, .bytes = bytes},
        {.kind = SPAD__PTX_MBARRIER_WAIT, .object = {0, 8}, .endless = true},
        {.kind = SPAD__PTX_MBARRIER_WAIT, .object = {0, 8}, .endless = true}};
    spad__ptx_module m = parameters();
    spad__ptx_launch launch = {0};
    spad__ptx_result result = {0};
    spad__ptx_log log = {.host = spad__host_or_default(NULL)};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        assert_int_equal(spad__ptx_log_add(&log, &events[i], NULL), SPAD_OK);
    assert_int_equal(spad__ptx_compare_transactions(&result, &log, &m, &launch, &log.host, NULL),
                     SPAD_OK);
    const size_t found = result.remarks.count;
    if (found > 0) memcpy(text, result.remarks.items[0].text, 120);
    spad__ptx_result_free(&result, &log.host);
    spad__ptx_log_free(&log);
    spad__ptx_module_free(&m);
    return found;
}

static void bytes_of_a_phase_are_compared_once_all_have_arrived(void **state) {
    (void)state;
    char text[120];
    assert_int_equal(compare_phase(1, 512, text), 1);
    assert_string_equal(text, "it expects 1024 B, and copies bring 512 B: 512 B in PTX line 5");
    assert_int_equal(compare_phase(1, 2048, text), 1);
    assert_int_equal(compare_phase(2, 512, text), 0);  /* an arrival is missing as well */
    assert_int_equal(compare_phase(1, 1024, text), 0); /* complete: the wait is for another phase */
}

/* ---- without memory -------------------------------------------------------------------------- */

static spad_status one_run(const spad_host *host, void *context) {
    static const char *const words[] = {"in=f32[2,256]=zeros", "out=f32[128]", "t=2"};
    spad_ptx *ptx = NULL;
    spad_ptx_run *run = NULL;
    (void)context;
    spad_status status = module_of(&ptx, "copies.ptx", host);
    if (status == SPAD_OK) status = run_of(&run, ptx, host, "ring_sum", 160, words, 3);
    spad_ptx_run_destroy(run);
    spad_ptx_destroy(ptx);
    return status;
}

/* A box with half of the bytes that the mbarrier expects. */
static spad_status stuck_run(const spad_host *host, void *context) {
    static const char *const words[] = {"map=tensormap:f32[16,256],box[1,128]", "out=f32[32]",
                                        "t=1"};
    const spad_kernel_options options = {.host = host};
    const spad_ptx_launch launch = {.grid = {2, 1, 1},
                                    .block = {64, 1, 1},
                                    .dynamic_shared_bytes = 4096,
                                    .arguments = words,
                                    .argument_count = 3};
    spad_ptx *ptx = NULL;
    spad_ptx_run *run = NULL;
    int *wrong = context;
    spad_status status = module_of(&ptx, "ring.ptx", host);
    if (status == SPAD_OK) status = spad_ptx_run_create(&run, ptx, &launch, &options, NULL);
    if (status == SPAD_OK) *wrong = spad_ptx_run_get_remark(run, 0).wrong;
    spad_ptx_run_destroy(run);
    spad_ptx_destroy(ptx);
    return status;
}

/* A kernel of tests/ptx with `in` and `out`. */
typedef struct small_run {
    const char *file;
    const char *kernel;
    uint32_t threads;
    size_t first; /* of its arguments: 1 has `out` only */
} small_run;

static spad_status run_small(const spad_host *host, void *context) {
    static const char *const words[] = {"in=i32[64]=1,2,3", "out=i32[512]"};
    const small_run *r = context;
    spad_ptx *ptx = NULL;
    spad_ptx_run *run = NULL;
    spad_status status = module_of(&ptx, r->file, host);
    if (status == SPAD_OK)
        status = run_of(&run, ptx, host, r->kernel, r->threads, words + r->first, 2 - r->first);
    spad_ptx_run_destroy(run);
    spad_ptx_destroy(ptx);
    return status;
}

static void every_allocation_can_fail(void **state) {
    (void)state;
    static const small_run runs[] = {{"flags.ptx", "flag", 64, 0},
                                     {"flags.ptx", "same_value", 64, 0},
                                     {"products.ptx", "right", 128, 1},
                                     {"lanes.ptx", "shifted", 32, 0}};
    int wrong = 0;
    test_fail_each_allocation(one_run, NULL);
    test_fail_each_allocation(stuck_run, &wrong);
    assert_int_equal(wrong, 1);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        small_run run = runs[i];
        test_fail_each_allocation(run_small, &run);
    }
}

/* What CUTLASS encodes: a dim of extent 1 has no stride. */
static void maps_are_read(void **state) {
    (void)state;
    spad__ptx_arguments a = {.host = spad__host_or_default(NULL)};
    spad__tensor_map map;
    assert_int_equal(spad__ptx_read_tensor_map(&map, &a,
                                               "f32[1,64,128],box[1,16,32],stride[0,1024],"
                                               "swizzle128atom32,at[0x7200000000]",
                                               NULL),
                     SPAD_OK);
    assert_int_equal(map.stride[1], 1024);
    assert_int_equal(map.stride[2], 0);
    assert_int_equal(map.box[0], 32);
    assert_int_equal(map.swizzle, SPAD__SWIZZLE_128_ATOM_32);
    assert_int_equal(map.address, 0x7200000000);
    spad_error error;
    assert_int_equal(spad__ptx_read_tensor_map(&map, &a, "f32[64,128],box[0,32]", &error),
                     SPAD_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "expected an extent of at least 1"));
    assert_int_equal(spad__ptx_read_tensor_map(&map, &a, "f32[64,128],box[1,32],stride[x]", &error),
                     SPAD_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "expected a stride in bytes"));
    spad__ptx_arguments_free(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_are_read),
        cmocka_unit_test(arguments_become_bytes),
        cmocka_unit_test(maps_are_innermost_first),
        cmocka_unit_test(contents_can_be_given),
        cmocka_unit_test(verdicts_do_not_depend_on_how_long_a_loop_is),
        cmocka_unit_test(runs_have_numbers_and_remarks),
        cmocka_unit_test(kernels_are_found_by_pattern),
        cmocka_unit_test(kernels_are_found_by_their_names_in_cpp),
        cmocka_unit_test(plain_names_are_exact_or_absent),
        cmocka_unit_test(full_names_have_template_arguments),
        cmocka_unit_test(bytes_of_a_phase_are_compared_once_all_have_arrived),
        cmocka_unit_test(every_allocation_can_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
