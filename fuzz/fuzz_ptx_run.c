/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches of PTX: every kernel of a module that can be read, with a block of 40 threads and a
 * cluster of two, runs to an end or to a refusal with a message, and what it did can be checked.
 */
#include "fuzz.h"
#include "spad/check.h"
#include "spad/experimental/ptx.h"

enum { LENGTH_MAX = 1 << 15, KERNELS_MAX = 4, PARAMETERS_MAX = 16, STEPS_MAX = 3000 };

static void check_run(spad_ptx_run *run) {
    const spad_check_options options = {.one_shape = true, .no_advice = true};
    spad_check *check;
    spad_error error;
    for (size_t i = 0; i < spad_ptx_run_remark_count(run); i++) {
        const spad_ptx_remark remark = spad_ptx_run_get_remark(run, i);
        REQUIRE(remark.message[0] != '\0' && remark.line > 0 && remark.times > 0);
    }
    spad_kernel *kernel = spad_ptx_run_take_kernel(run);
    REQUIRE(kernel != NULL);
    if (spad_check_create(&check, kernel, &options, &error) == SPAD_OK) {
        spad_check_destroy(check);
    } else {
        REQUIRE(error.message[0] != '\0');
    }
    spad_kernel_destroy(kernel);
}

static void launch(const spad_ptx *ptx, size_t kernel, uint32_t cluster) {
    static const char *const words[PARAMETERS_MAX] = {
        "p=i32[64]=1,2,3", "p=unknown", "p=unknown", "p=unknown", "p=unknown", "p=unknown",
        "p=unknown",       "p=unknown", "p=unknown", "p=unknown", "p=unknown", "p=unknown",
        "p=unknown",       "p=unknown", "p=unknown", "p=unknown"};
    const spad_ptx_kernel k = spad_ptx_get_kernel(ptx, kernel);
    const spad_ptx_launch l = {.kernel = kernel,
                               .grid = {cluster, 1, 1},
                               .block = {40, 1, 1},
                               .cluster = {cluster, 1, 1},
                               .dynamic_shared_bytes = 256,
                               .arguments = words,
                               .argument_count = k.parameter_count,
                               .most_steps = STEPS_MAX,
                               .way = cluster};
    spad_ptx_run *run;
    spad_error error;
    if (k.parameter_count > PARAMETERS_MAX) return;
    if (spad_ptx_run_create(&run, ptx, &l, NULL, &error) == SPAD_OK) {
        check_run(run);
        spad_ptx_run_destroy(run);
    } else {
        REQUIRE(error.message[0] != '\0' && error.code != SPAD_ERR_INTERNAL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    spad_ptx *ptx;
    if (size > LENGTH_MAX) return 0;
    if (spad_ptx_create(&ptx, (const char *)data, size, "k.ptx", NULL, NULL, NULL) != SPAD_OK)
        return 0;
    const size_t count = spad_ptx_kernel_count(ptx);
    for (size_t i = 0; i < count && i < KERNELS_MAX; i++) {
        launch(ptx, i, 1);
        launch(ptx, i, 2);
    }
    spad_ptx_destroy(ptx);
    return 0;
}
