/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches: checks one as the driver does, gathers its parameters, and hands it to the capture.
 *
 * A program gives a pointer for each parameter; sizes and offsets come from the PTX of the kernel.
 * A launch that cannot be recorded succeeds all the same, with a note, so that the program goes on
 * to those that can.
 */
#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "cudart/cudart.h"

enum {
    LAUNCH_PARAMETER_BYTES = 32764,
    LAUNCH_DEFAULT_SHARED = 48 << 10,
    LAUNCH_THREADS = 1024,
    LAUNCH_BLOCK_Z = 64,
    LAUNCH_STACK = 8 << 20
};

/* Of the launch under way, which holds the lock. Not on the stack: see find_left_over. */
static uint8_t launch_parameters[LAUNCH_PARAMETER_BYTES];
static uint8_t launch_origin[LAUNCH_PARAMETER_BYTES];

void spad__rt_take_attributes(spad__rt_launch *launch, const spad__rt_attribute *attributes,
                              unsigned count) {
    for (unsigned i = 0; attributes != NULL && i < count; i++) {
        if (attributes[i].id != SPAD__RT_ATTRIBUTE_CLUSTER) continue;
        memcpy(launch->cluster, attributes[i].value.extents, sizeof launch->cluster);
    }
}

static bool is_possible_block(const spad__rt_launch *launch) {
    const unsigned *b = launch->block;
    if (b[0] > LAUNCH_THREADS || b[1] > LAUNCH_THREADS || b[2] > LAUNCH_BLOCK_Z) return false;
    return b[0] > 0 && b[1] > 0 && b[2] > 0 && (uint64_t)b[0] * b[1] * b[2] <= LAUNCH_THREADS;
}

static bool is_possible_grid(const spad__rt_launch *launch) {
    const unsigned *g = launch->grid;
    if (g[0] == 0 || g[1] == 0 || g[2] == 0) return false;
    if (g[0] > INT32_MAX || g[1] > UINT16_MAX || g[2] > UINT16_MAX) return false;
    for (int d = 0; d < 3; d++) {
        if (launch->cluster[d] > 0 && g[d] % launch->cluster[d] != 0) return false;
    }
    return true;
}

/* Lays out the parameters as the kernel declares them. Returns their bytes; 0 with *fine false:
 * they cannot be had. */
static uint64_t gather(const spad__rt_launch *launch, uint8_t *out, void *const *arguments,
                       bool *fine) {
    const spad_ptx *ptx = launch->function->module->ptx;
    const size_t count = spad_ptx_get_kernel(ptx, launch->kernel).parameter_count;
    int64_t end = 0;
    for (size_t i = 0; i < count && *fine; i++) {
        const spad_ptx_parameter p = spad_ptx_get_parameter(ptx, launch->kernel, i);
        const int64_t align = spad__max(p.align, 1);
        const int64_t at = (end + align - 1) / align * align;
        *fine = p.bytes >= 0 && at + p.bytes <= LAUNCH_PARAMETER_BYTES &&
                (arguments == NULL || arguments[i] != NULL);
        if (*fine && arguments != NULL) memcpy(out + at, arguments[i], (size_t)p.bytes);
        end = at + p.bytes;
    }
    return *fine ? (uint64_t)end : 0;
}

/* Padding of structs holds what the host's stack had there before. Such bytes would make equal
 * launches differ, so they are unknown: a word that is an address near the stack, and the upper
 * half of one that is an address of the host's code or stack, whose lower half may be a number. */
static void find_left_over(const uint8_t *parameters, uint8_t *origin, uint64_t bytes) {
    const uint64_t stack = (uint64_t)(uintptr_t)__builtin_frame_address(0),
                   code = (uint64_t)(uintptr_t)&memcpy, data = (uint64_t)(uintptr_t)spad__rt_host();
    memset(origin, SPAD__RT_COPIED, (size_t)bytes);
    for (uint64_t at = 0; at + 8 <= bytes; at += 8) {
        uint64_t word;
        memcpy(&word, parameters + at, sizeof word);
        if (spad__rt_find_block(word) != NULL) continue;
        const bool upper =
            word >> 32 == stack >> 32 || word >> 32 == code >> 32 || word >> 32 == data >> 32;
        const uint64_t distance = word > stack ? word - stack : stack - word;
        if (upper) memset(origin + at + 4, SPAD__RT_UNWRITTEN, 4);
        if (distance < LAUNCH_STACK) memset(origin + at, SPAD__RT_UNWRITTEN, 8);
    }
}

/* Refuses the launches that a driver refuses. */
static int check_launch(const spad__rt_launch *launch) {
    const spad__rt_function *function = launch->function;
    if (!is_possible_block(launch) || !is_possible_grid(launch))
        return SPAD__RT_INVALID_CONFIGURATION;
    const uint64_t allowed = function->most_dynamic_shared > LAUNCH_DEFAULT_SHARED
                                 ? function->most_dynamic_shared
                                 : LAUNCH_DEFAULT_SHARED;
    if (launch->shared_bytes <= allowed) return SPAD__RT_SUCCESS;
    spad__rt_note("kernel %s: the launch fails as on a GPU: %" PRIu64
                  " B of dynamic shared memory, and cudaFuncSetAttribute allows %" PRIu64 " B",
                  function->name, launch->shared_bytes, allowed);
    return SPAD__RT_INVALID_VALUE;
}

/* A kernel that cannot be read may write anywhere. */
static int skip_launch(spad__rt_function *function) {
    if (!function->noted)
        spad__rt_note("kernel %s is not recorded: %s", function->name, function->module->why);
    function->noted = true;
    spad__rt_reach_all();
    return SPAD__RT_SUCCESS;
}

int spad__rt_do_launch(spad__rt_launch *launch, void *const *arguments, const void *buffer,
                       size_t buffer_bytes) {
    const int code = check_launch(launch);
    bool fine = true;
    if (code != SPAD__RT_SUCCESS || spad__rt_folder() == NULL) return code;
    if (!spad__rt_read_kernel(launch->function, &launch->kernel))
        return skip_launch(launch->function);
    memset(launch_parameters, 0, sizeof launch_parameters);
    launch->parameters = launch_parameters;
    launch->parameter_bytes = gather(launch, launch_parameters, arguments, &fine);
    if (fine && arguments == NULL && launch->parameter_bytes > 0) {
        fine = buffer != NULL && buffer_bytes >= launch->parameter_bytes;
        if (fine) memcpy(launch_parameters, buffer, (size_t)launch->parameter_bytes);
    }
    if (!fine) return SPAD__RT_INVALID_VALUE;
    find_left_over(launch_parameters, launch_origin, launch->parameter_bytes);
    launch->origin = launch_origin;
    spad__rt_capture(launch);
    return SPAD__RT_SUCCESS;
}
