/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of building a kernel: what the caller asked for was used, all blocks are closed, and
 * cursors become expressions (cursor.c). From then on nothing changes, so the hash of the content
 * is computed here.
 */
#include <string.h>

#include "kernel/kernel.h"

static bool has_tensor(const spad_kernel *kernel, const char *name) {
    size_t i = 0;
    while (i < kernel->tensors.count && strcmp(kernel->tensors.items[i].name, name) != 0) i++;
    return i < kernel->tensors.count;
}

/* A define that no parameter took, or a ring that no tensor took. */
static spad_status check_defines(const spad__kernel_builder *builder, spad_error *error) {
    for (size_t i = 0; i < builder->defines.count; i++) {
        if (builder->defines.items[i].used) continue;
        return spad__fail_unknown(builder, "parameter", builder->defines.items[i].name,
                                  SPAD__SYMBOL_PARAM, error);
    }
    for (size_t i = 0; i < builder->rings.count; i++) {
        const char *name = builder->rings.items[i].name;
        if (builder->rings.items[i].used) continue;
        if (has_tensor(builder->kernel, name)) {
            return spad__fail(error, SPAD_ERR_ARGUMENT,
                              "'%s' cannot have a ring: it is not auto, or has no block dimensions",
                              name);
        }
        return spad__fail_unknown(builder, "tensor", name, SPAD__SYMBOL_TENSOR, error);
    }
    return SPAD_OK;
}

spad_status spad__kernel_builder_finish(spad_kernel **out, spad__kernel_builder *builder,
                                        spad_error *error) {
    *out = NULL;
    if (builder->kernel == NULL) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "the builder was already finished");
    }
    if (builder->blocks.count > 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "blocks that are still open: %zu",
                          builder->blocks.count);
    }
    spad_status status = check_defines(builder, error);
    if (status == SPAD_OK) status = spad__resolve_cursors(builder, error);
    if (status != SPAD_OK) return status;
    builder->kernel->content = spad__kernel_hash(builder->kernel);
    *out = builder->kernel;
    builder->kernel = NULL;
    return SPAD_OK;
}
