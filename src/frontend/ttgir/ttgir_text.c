/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers questions of frontend/gpu about the text: names, locations, diagnostics.
 */
#include <string.h>

#include "frontend/gpu/kernel_expr.h"
#include "frontend/ttgir/ttgir.h"
#include "kernel/kernel.h"
#include "kernel/kernel_builder.h"
#include "spad/experimental/kernel_rows.h"

enum { CALLERS_DEEP = 8 };

/* The source of a location, with its callers; -1: unknown. */
static spad_status source_at(const spad__ttgir *t, spad__kernel_builder *builder, uint32_t at,
                             int64_t *out, int depth, spad_error *error) {
    const spad__ttgir_place place = spad__ttgir_place_at(t, at);
    char file[512];
    int64_t caller = -1;
    *out = -1;
    if (place.call != 0 && depth < CALLERS_DEEP) {
        SPAD__GPU_TRY(source_at(t, builder, place.call, &caller, depth + 1, error));
    }
    const size_t length = place.file != 0 ? t->m->tokens.items[place.file].length : 0;
    if (length < 3 || length - 2 >= sizeof file) {
        *out = caller;
        return SPAD_OK;
    }
    memcpy(file, spad__mlir_text(t->m, place.file) + 1, length - 2);
    file[length - 2] = '\0';
    const spad_kernel *kernel = builder->kernel;
    for (size_t i = 0; i < kernel->sources.count; i++) {
        const spad_kernel_source *row = &kernel->sources.items[i];
        if (row->line == place.line && row->column == place.column && row->caller == caller &&
            strcmp(row->file, file) == 0) {
            *out = (int64_t)i;
            return SPAD_OK;
        }
    }
    SPAD__GPU_TRY(spad__kernel_builder_source(out, builder, file, place.line, NULL, caller, error));
    kernel->sources.items[*out].column = place.column;
    return SPAD_OK;
}

static spad_status go_to_op(const void *context, spad__kernel_builder *builder, int32_t site,
                            spad_error *error) {
    const spad__ttgir *t = context;
    const spad__mlir_op *op = &t->m->ops.items[site];
    const spad__mlir_token *name = &t->m->tokens.items[op->name];
    const uint32_t at = spad__mlir_location(t->m, op);
    int64_t source = -1;
    spad__kernel_builder_at(builder, (spad_location){.line = name->line,
                                                     .column = spad__mlir_column(t->m, op->name),
                                                     .width = (int32_t)name->length});
    if (at != 0) SPAD__GPU_TRY(source_at(t, builder, at + 1, &source, 0, error));
    return spad__kernel_builder_from(builder, source, error);
}

static void name_op(const void *context, int32_t site, char *name) {
    const spad__ttgir *t = context;
    spad__ttgir_name(t, &t->m->ops.items[site], name);
    if (strcmp(name, SPAD__TTGIR_NO_NAME) == 0) name[0] = '\0';
}

static void report_at_op(const void *context, int32_t site, const char *message) {
    const spad__ttgir *t = context;
    SPAD__MLIR_FAULT(t->m, t->m->ops.items[site].name, "%s", message);
}

spad__gpu_text spad__ttgir_text(spad__ttgir *t) {
    return (spad__gpu_text){
        .context = t, .name_site = name_op, .go_to = go_to_op, .report = report_at_op};
}
