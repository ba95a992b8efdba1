/* SPDX-License-Identifier: Apache-2.0
 *
 * The same kernel with other numbers: written as text, read again with other
 * values for parameters and rings. Rows keep their numbers, so the places in the
 * first text are carried over row by row. O(text).
 */
#include <string.h>

#include "kernel/kernel.h"

typedef struct page {
    const spad_host *host;
    SPAD_ARRAY(char) text;
} page;

static int add_to_page(void *ctx, const char *bytes, size_t count) {
    page *p = ctx;
    if (!spad__array_reserve(p->host, &p->text, count)) return 1;
    memcpy(p->text.items + p->text.count, bytes, count);
    p->text.count += count;
    return 0;
}

#define CARRY_PLACES(table)                      \
    for (size_t i = 0; i < to->table.count; i++) \
    to->table.items[i].place = from->table.items[i].place

static void carry_places(spad_kernel *to, const spad_kernel *from) {
    CARRY_PLACES(params);
    CARRY_PLACES(tensors);
    CARRY_PLACES(regions);
    CARRY_PLACES(units);
    CARRY_PLACES(syncs);
    CARRY_PLACES(agents);
    CARRY_PLACES(loops);
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

spad_status spad_kernel_reshape(spad_kernel **out, const spad_kernel *kernel,
                                const spad_kernel_options *options, spad_error *error) {
    *out = NULL;
    spad_kernel_options same = options != NULL ? *options : (spad_kernel_options){0};
    const spad_host host = spad__host_or_default(same.host);
    same.host = &host;
    if (same.target == NULL) same.target = kernel->target;

    page p = {.host = &host};
    const spad_sink sink = {add_to_page, &p};
    spad_status status = spad_kernel_write(kernel, &sink, NULL);
    if (status != SPAD_OK) {
        status = spad__fail_host_memory(error); /* the page is the only thing that can fail */
    } else {
        status = spad_kernel_parse(out, p.text.items, p.text.count, NULL, &same, NULL, error);
        if (status != SPAD_OK) spad__fact_place(error, NULL, 0, 0); /* not a place of the user */
    }
    spad__array_free(&host, &p.text);
    if (status != SPAD_OK) return status;

    carry_places(*out, kernel);
    status = carry_file(*out, kernel, error);
    if (status != SPAD_OK) {
        spad_kernel_destroy(*out);
        *out = NULL;
    }
    return status;
}
