/* SPDX-License-Identifier: Apache-2.0
 *
 * The same kernel with other numbers: written as text, read again with other
 * values for parameters and rings. Rows keep their numbers, so the places in the
 * first text are carried over row by row. O(text).
 *
 * The same kernel without addresses, in the same way.
 *
 * And the same kernel with a tensor in front of the loops around it, written and read in
 * the same way. A declaration in a loop begins a new life in every iteration, so nothing
 * is carried over, and a tile per iteration reads what the one tile read.
 */
#include <string.h>

#include "base/text.h"
#include "kernel/kernel.h"

#define CARRY_PLACES(table)                      \
    for (size_t i = 0; i < to->table.count; i++) \
    to->table.items[i].location = from->table.items[i].location

static void carry_places(spad_kernel *to, const spad_kernel *from) {
    CARRY_PLACES(params);
    CARRY_PLACES(tensors);
    CARRY_PLACES(regions);
    CARRY_PLACES(units);
    CARRY_PLACES(syncs);
    CARRY_PLACES(agents);
    CARRY_PLACES(loops);
    CARRY_PLACES(cursors);
    CARRY_PLACES(unknowns);
    CARRY_PLACES(statements);
    CARRY_PLACES(accesses);
    CARRY_PLACES(completions);
}

/* Takes over the name of the file; a kernel that was built has none. */
static spad_status carry_file(spad_kernel *to, const spad_kernel *from, spad_error *error) {
    to->file = NULL;
    if (from->file == NULL) return SPAD_OK;
    to->file = spad__arena_copy(&to->arena, from->file, strlen(from->file));
    return to->file != NULL ? SPAD_OK : spad__fail_host_memory(error);
}

typedef spad_status kernel_write(const spad_kernel *kernel, const spad_sink *sink,
                                 spad_error *error);

/* A text of the kernel with the same rows, read with the options, which name a host. */
static spad_status write_and_read(spad_kernel **out, const spad_kernel *kernel, kernel_write *write,
                                  const spad_kernel_options *options, spad_error *error) {
    spad__memo p = {.host = options->host};
    const spad_sink sink = spad__memo_sink(&p);
    spad_status status = write(kernel, &sink, NULL);
    if (status != SPAD_OK) {
        status = spad__fail_host_memory(error); /* the page is the only thing that can fail */
    } else {
        status = spad_kernel_parse(out, p.text.items, p.text.count, NULL, options, NULL, error);
        if (status != SPAD_OK) spad__fact_location(error, NULL, 0, 0); /* not a place of the user */
    }
    spad__memo_free(&p);
    if (status != SPAD_OK) return status;

    carry_places(*out, kernel);
    (*out)->main_threads = kernel->main_threads;
    status = carry_file(*out, kernel, error);
    if (status != SPAD_OK) {
        spad_kernel_destroy(*out);
        *out = NULL;
    }
    return status;
}

spad_status spad_kernel_reshape(spad_kernel **out, const spad_kernel *kernel,
                                const spad_kernel_options *options, spad_error *error) {
    *out = NULL;
    spad_kernel_options same = options != NULL ? *options : (spad_kernel_options){0};
    const spad_host host = spad__host_or_default(same.host);
    same.host = &host;
    if (same.target == NULL) same.target = kernel->target;

    return write_and_read(out, kernel, spad_kernel_write_text, &same, error);
}

spad_status spad_kernel_release(spad_kernel **out, const spad_kernel *kernel, const spad_host *host,
                                spad_error *error) {
    const spad_host memory = spad__host_or_default(host);
    const spad_kernel_options options = {.target = kernel->target, .host = &memory};
    *out = NULL;
    return write_and_read(out, kernel, spad__kernel_write_released, &options, error);
}

/* ---- hoisting ---------------------------------------------------------------------- */

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
    for (; loop >= 0; loop = kernel->loops.items[loop].outer) { /* no name for what it counts */
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
    const spad_host memory = spad__host_or_default(host);
    const spad_kernel_options options = {.target = kernel->target, .host = &memory};
    spad__memo p = {.host = &memory};
    const spad_sink sink = spad__memo_sink(&p);
    *out = NULL;
    if (tensor < 0 || (size_t)tensor >= kernel->tensors.count || tiles < 1 ||
        !can_hoist_tensor(kernel, tensor)) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "only an auto tensor that is declared in a loop, without aliases, alloc "
                          "and free, can be hoisted");
    }
    spad_status status = spad__kernel_write_hoisted(kernel, tensor, tiles, &sink, NULL);
    if (status != SPAD_OK) {
        status = spad__fail_host_memory(error);
    } else {
        status = spad_kernel_parse(out, p.text.items, p.text.count, NULL, &options, NULL, error);
        if (status != SPAD_OK) spad__fact_location(error, NULL, 0, 0);
    }
    spad__memo_free(&p);
    if (status == SPAD_OK) (*out)->main_threads = kernel->main_threads;
    return status;
}
