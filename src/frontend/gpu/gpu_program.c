/* SPDX-License-Identifier: Apache-2.0
 *
 * A program while a front end reads it: passes, diagnostics and assumptions. See gpu_program.h.
 */
#include "frontend/gpu/gpu_program.h"
#include "kernel/kernel_builder.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- passes -------------------------------------------------------------------------- */

static void forget_names(spad__gpu *g) {
    for (size_t i = 0; i < g->emission.names.count; i++) {
        spad__free(g->host, g->emission.names.items[i], SPAD__GPU_NAME);
    }
    g->emission.names.count = 0;
}

void spad__gpu_begin_pass(spad__gpu *g, spad__gpu_mode mode) {
    spad__scalars_free(&g->scalars);
    g->scalars = (spad__scalars){.host = g->host, .run = mode == SPAD__GPU_CONCRETE};
    g->mode = mode;
    g->outcome = SPAD__GPU_GOOD;
    g->dry = false;
    forget_names(g);
    g->memory.buffers.count = 0;
    spad__index_clear(&g->memory.index);
    g->memory.register_bytes = 0;
    g->memory.retired = 0;
    g->memory.placed = false;
    g->records.all.count = g->records.accesses.count = g->records.thread_maps.count = 0;
    g->records.agents.count = 0;
    g->records.depth = g->records.partitioned = 0;
    g->records.work = (spad__gpu_work){0};
    g->unknowns.count = 0;
    for (int i = 0; i < SPAD__ASSUMPTIONS; i++) g->assumptions.sites[i] = -1;
    g->assumptions.repeated_count = 0;
    g->emission.params.count = g->emission.iterations.count = 0;
    g->emission.used_arguments = 0;
    g->emission.depth = 0;
    spad__kernel_builder_destroy(g->emission.builder);
    g->emission.builder = NULL;
}

void spad__gpu_free(spad__gpu *g) {
    spad__gpu_begin_pass(g, SPAD__GPU_SYMBOLIC);
    spad__scalars_free(&g->scalars);
    spad__array_free(g->host, &g->arguments);
    spad__array_free(g->host, &g->memory.buffers);
    spad__index_free(&g->memory.index, g->host);
    spad__array_free(g->host, &g->records.all);
    spad__array_free(g->host, &g->records.accesses);
    spad__array_free(g->host, &g->records.thread_maps);
    spad__array_free(g->host, &g->records.agents);
    spad__array_free(g->host, &g->emission.params);
    spad__array_free(g->host, &g->emission.iterations);
    spad__array_free(g->host, &g->emission.names);
}

/* ---- outcomes ------------------------------------------------------------------------ */

bool spad__gpu_no_memory(spad__gpu *g) {
    g->scalars.out_of_memory = true;
    g->outcome = SPAD__GPU_FAILED;
    return false;
}

void spad__gpu_unresolved(spad__gpu *g, const char *why) {
    if (g->dry || g->outcome != SPAD__GPU_GOOD) return;
    g->outcome = SPAD__GPU_UNRESOLVED;
    g->unresolved_site = g->site;
    snprintf(g->unresolved, sizeof g->unresolved, "%s", why);
}

void spad__gpu_fail(spad__gpu *g, const char *format, ...) {
    char message[SPAD_MESSAGE_MAX];
    va_list arguments;
    if (g->dry) return;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    g->outcome = SPAD__GPU_FAILED;
    g->text.report(g->text.context, g->site, message);
}

spad__scalar spad__gpu_resolve(spad__gpu *g, spad__scalar n, const char *why) {
    if (n < 0) return n;
    const spad__scalar solved = spad__scalar_resolve(&g->scalars, n);
    if (solved < 0 || spad__scalar_get(&g->scalars, solved)->data) spad__gpu_unresolved(g, why);
    return solved;
}

/* ---- assumptions --------------------------------------------------------------------- */

void spad__gpu_assume(spad__gpu *g, spad__gpu_assumption what, int32_t site) {
    if (!g->dry && g->assumptions.sites[what] < 0) g->assumptions.sites[what] = site;
}

void spad__gpu_assume_repeats(spad__gpu *g) {
    spad__gpu_assumptions *a = &g->assumptions;
    for (int i = 0; i < a->repeated_count && i < 2; i++) {
        if (a->repeated[i] == g->site) return;
    }
    if (a->repeated_count < 2) a->repeated[a->repeated_count] = g->site;
    if (a->repeated_count < 3) a->repeated_count++;
}
