/* SPDX-License-Identifier: Apache-2.0
 *
 * The same kernel with other parameter values or ring depths, without addresses, or with a tensor
 * declared before the loops around it. rebuild.c does the work.
 *
 * A declaration in a loop begins a new live range in every iteration. Hoisted, the tensor has a
 * tile for each iteration, so each iteration reads what it read before.
 */
#include "base/options.h"
#include "kernel/rebuild.h"
#include "spad/experimental/kernel_rows.h"

spad_status spad_kernel_reshape(spad_kernel **out, const spad_kernel *kernel,
                                const spad_kernel_options *options, spad_error *error) {
    const spad__rebuild change = {.hoisted = -1};
    spad_kernel_options o;
    *out = NULL;
    const spad_status status = SPAD__COPY_OPTIONS(&o, options, error);
    if (status != SPAD_OK) return status;
    return spad__kernel_rebuild(out, kernel, &change, &o, error);
}

spad_status spad_kernel_release(spad_kernel **out, const spad_kernel *kernel, const spad_host *host,
                                spad_error *error) {
    const spad_kernel_options options = {.host = host};
    const spad__rebuild change = {.released = true, .hoisted = -1};
    return spad__kernel_rebuild(out, kernel, &change, &options, error);
}

static bool can_hoist_tensor(const spad_kernel *kernel, int64_t tensor) {
    const spad_kernel_tensor *t = &kernel->tensors.items[tensor];
    if (t->mode != SPAD_MODE_AUTO || kernel->statements.items[t->statement].loop < 0) return false;
    if (t->ring.count > 0 && t->ring.count != t->blocks.count) return false;
    for (size_t i = 0; i < kernel->tensors.count; i++) {
        if (kernel->tensors.items[i].mode == SPAD_MODE_ALIAS &&
            kernel->tensors.items[i].alias_of == tensor) {
            return false;
        }
    }
    int64_t loop = kernel->statements.items[t->statement].loop;
    for (; loop >= 0; loop = kernel->loops.items[loop].outer) { /* its counter has no name */
        if (kernel->loops.items[loop].value != 0) return false;
    }
    for (size_t i = 0; i < kernel->statements.count; i++) {
        const spad_statement *s = &kernel->statements.items[i];
        const bool tile = s->kind == SPAD_STATEMENT_ALLOC || s->kind == SPAD_STATEMENT_FREE;
        if (tile && s->item == tensor) return false;
    }
    return true;
}

spad_status spad_kernel_hoist(spad_kernel **out, const spad_kernel *kernel, int64_t tensor,
                              int64_t tiles, const spad_host *host, spad_error *error) {
    const spad_kernel_options options = {.host = host};
    const spad__rebuild change = {.hoisted = tensor, .tiles = tiles};
    *out = NULL;
    if (tensor < 0 || (size_t)tensor >= kernel->tensors.count || tiles < 1 ||
        !can_hoist_tensor(kernel, tensor)) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "only an auto tensor that is declared in a loop, without aliases, alloc "
                          "and free, can be hoisted");
    }
    return spad__kernel_rebuild(out, kernel, &change, &options, error);
}
