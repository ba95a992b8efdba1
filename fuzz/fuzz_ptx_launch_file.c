/* SPDX-License-Identifier: Apache-2.0
 *
 * Launch files: any text gives a launch or faults with a message, and a launch is refused or
 * executed by a kernel with parameters and variables.
 */
#include "fuzz.h"
#include "spad/experimental/ptx.h"

enum { LENGTH_MAX = 1 << 14, STEPS_MAX = 2000, ZEROS_MAX = 1 << 20 };

static const char module[] =
    ".version 9.0\n.target sm_90a\n.address_size 64\n.global .align 4 .b8 lut[16];\n"
    ".entry k(.param .u64 a, .param .u64 b, .param .u32 n) {\n"
    ".reg .b64 %rd<3>;\n.reg .b32 %r<3>;\n"
    "ld.param.u64 %rd1, [a];\nld.global.u32 %r1, [%rd1];\nld.global.u32 %r2, [lut];\n"
    "st.global.u32 [%rd1+4], %r1;\nret;\n}\n";

static void launch_kernel(const spad_ptx_launch_file *file) {
    spad_ptx_launch launch = spad_ptx_launch_file_get(file);
    spad_ptx *ptx;
    spad_ptx_run *run;
    spad_error error;
    launch.most_steps = STEPS_MAX;
    REQUIRE(spad_ptx_create(&ptx, module, sizeof module - 1, "k", NULL, NULL, NULL) == SPAD_OK);
    if (spad_ptx_run_create(&run, ptx, &launch, NULL, &error) == SPAD_OK) {
        spad_ptx_run_destroy(run);
    } else {
        REQUIRE(error.message[0] != '\0' && error.code != SPAD_ERR_INTERNAL);
    }
    spad_ptx_destroy(ptx);
}

/* Sums up contents, so that a sanitizer sees those that are not there. */
static unsigned touch(const uint8_t *bytes, int64_t count) {
    unsigned sum = 0;
    for (int64_t i = 0; bytes != NULL && i < count; i++) sum += bytes[i];
    return sum;
}

/* False: zeros in a few words that would fill the memory. */
static bool check_launch(const spad_ptx_launch *l) {
    int64_t zeros = 0;
    touch(l->parameters, l->parameter_bytes);
    touch(l->parameters_known, l->parameter_bytes);
    for (size_t i = 0; i < l->memory_count; i++) {
        const spad_ptx_memory *m = &l->memory[i];
        REQUIRE(m->bytes > 0 && m->content_bytes <= m->bytes);
        REQUIRE(i == 0 || m[-1].address + (uint64_t)m[-1].bytes <= m->address);
        if (m->contents != NULL) touch(m->contents, m->content_bytes);
        touch(m->known, m->content_bytes);
        if (m->contents == NULL && m->content_bytes > zeros) zeros = m->content_bytes;
    }
    for (size_t i = 0; i < l->variable_count; i++)
        touch(l->variables[i].contents, l->variables[i].content_bytes);
    return zeros < ZEROS_MAX;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    spad_ptx_launch_file *file;
    spad_error error = {0};
    if (size > LENGTH_MAX) return 0;
    (void)spad_ptx_launch_file_detect((const char *)data, size);
    if (spad_ptx_launch_file_create(&file, (const char *)data, size, "f", NULL, NULL, &error) !=
        SPAD_OK) {
        REQUIRE(file == NULL && error.message[0] != '\0' && error.code == SPAD_ERR_SYNTAX);
        return 0;
    }
    const spad_ptx_launch launch = spad_ptx_launch_file_get(file);
    REQUIRE(spad_ptx_launch_file_module(file) != NULL);
    if (check_launch(&launch)) launch_kernel(file);
    spad_ptx_launch_file_destroy(file);
    return 0;
}
