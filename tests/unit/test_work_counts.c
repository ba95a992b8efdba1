/* SPDX-License-Identifier: Apache-2.0
 *
 * How much work `check` and `plan` do for a kernel: its text is read once and never written, and
 * each layout is solved once: with tiles apart, and for each way in which happens-before may let
 * them share bytes.
 *
 * The linker replaces calls of library functions from other files with the functions below
 * (--wrap). */
#include <stdlib.h>
#include <string.h>

#include "kernel/kernel.h"
#include "layout/tensor_order.h"
#include "spad/experimental/ttgir.h"
#include "spad/spad.h"
#include "support/faults.h"
#include "support/files.h"
#include "support/support.h"

enum { LAYOUTS_MAX = 64 };

/* Counters of the calls since the last reset. */
static struct {
    int parses;
    int writes;
    int layouts;
    uint64_t of[LAYOUTS_MAX]; /* what each layout was of: the kernel, and what may share bytes */
} calls;

spad_status __real_spad_kernel_parse(spad_kernel **out, const char *text, size_t length,
                                     const char *file, const spad_kernel_options *options,
                                     spad_diagnostics *diagnostics, spad_error *error);
spad_status __wrap_spad_kernel_parse(spad_kernel **out, const char *text, size_t length,
                                     const char *file, const spad_kernel_options *options,
                                     spad_diagnostics *diagnostics, spad_error *error);
spad_status __real_spad_kernel_write_text(const spad_kernel *kernel, const spad_sink *sink,
                                          spad_error *error);
spad_status __wrap_spad_kernel_write_text(const spad_kernel *kernel, const spad_sink *sink,
                                          spad_error *error);
spad_status __real_spad_layout_create(spad_layout **out, const spad_kernel *kernel,
                                      const spad_layout_options *options, spad_error *error);
spad_status __wrap_spad_layout_create(spad_layout **out, const spad_kernel *kernel,
                                      const spad_layout_options *options, spad_error *error);

spad_status __wrap_spad_kernel_parse(spad_kernel **out, const char *text, size_t length,
                                     const char *file, const spad_kernel_options *options,
                                     spad_diagnostics *diagnostics, spad_error *error) {
    calls.parses++;
    return __real_spad_kernel_parse(out, text, length, file, options, diagnostics, error);
}

spad_status __wrap_spad_kernel_write_text(const spad_kernel *kernel, const spad_sink *sink,
                                          spad_error *error) {
    calls.writes++;
    return __real_spad_kernel_write_text(kernel, sink, error);
}

spad_status __wrap_spad_layout_create(spad_layout **out, const spad_kernel *kernel,
                                      const spad_layout_options *options, spad_error *error) {
    assert_true(calls.layouts < LAYOUTS_MAX);
    const spad_tensor_order *order = options != NULL ? options->order : NULL;
    const unsigned sharing = order == NULL ? 0 : 1u + 2u * order->strict + 4u * order->barriers;
    calls.of[calls.layouts++] = kernel->content * 8 + sharing;
    return __real_spad_layout_create(out, kernel, options, error);
}

/* How often the same layout was solved, at most. */
static int most_of_one_layout(void) {
    int most = 0;
    for (int i = 0; i < calls.layouts; i++) {
        int same = 0;
        for (int k = 0; k < calls.layouts; k++) same += calls.of[k] == calls.of[i];
        if (same > most) most = same;
    }
    return most;
}

static spad_kernel *read_kernel(const char *path, char **text) {
    spad_kernel *kernel = NULL;
    spad_ttgir_info info;
    *text = test_read_file(path);
    const size_t length = strlen(*text);
    const bool triton = spad_ttgir_detect(*text, length);
    const spad_status status =
        triton ? spad_kernel_read_ttgir(&kernel, &info, *text, length, path, NULL, NULL, NULL)
               : spad_kernel_parse(&kernel, *text, length, path, NULL, NULL, NULL);
    assert_int_equal(status, SPAD_OK);
    return kernel;
}

/* As the commands do: `check` leaves the simulation out, `plan` nothing. */
static void count_of(const char *path, unsigned skip, int parses) {
    char *text;
    memset(&calls, 0, sizeof calls);
    spad_kernel *kernel = read_kernel(path, &text);
    const spad_analysis_options options = {
        .skip = skip, .source = text, .source_length = strlen(text)};
    spad_analysis *analysis;
    assert_int_equal(spad_analysis_create(&analysis, kernel, &options, NULL), SPAD_OK);
    assert_int_equal(calls.parses, parses);
    assert_int_equal(calls.writes, 0);
    assert_true(calls.layouts > 0);
    assert_true(most_of_one_layout() == 1);
    spad_analysis_destroy(analysis);
    spad_kernel_destroy(kernel);
    free(text);
}

static void kernels_are_read_once(void **state) {
    (void)state;
    static const struct {
        const char *path;
        int parses;
    } files[] = {{"examples/kernels/03_attention_v10.spad", 1},
                 {"examples/kernels/08_gemm_sm90.spad", 1},
                 {"examples/kernels/10_gemm_sm100.spad", 1},
                 {"examples/kernels/12_gemm_cube.spad", 1},
                 {"tests/ttgir/matmul_sm80_s3_v36.ttgir", 0},
                 {"tests/ttgir/attention_sm90_s3_v39.ttgir", 0}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        count_of(files[i].path, 1u << SPAD_PART_SIM | 1u << SPAD_PART_FIT, files[i].parses);
        count_of(files[i].path, 0, files[i].parses);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_are_read_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
