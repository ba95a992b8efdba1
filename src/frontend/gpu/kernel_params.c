/* SPDX-License-Identifier: Apache-2.0
 *
 * Parameters and unknown values of a kernel, and its names. See kernel_params.h.
 */
#include "frontend/gpu/kernel_params.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "frontend/gpu/data_iterations.h"
#include "frontend/gpu/kernel_expr.h"
#include "kernel/kernel_builder.h"
#include "spad/experimental/kernel_rows.h"

/* ---- names --------------------------------------------------------------------------- */

static bool is_name_taken(const spad__gpu *g, const char *name) {
    static const char *const words[] = {"cp",     "tma",    "wgmma",  "tc5",     "loads",
                                        "stores", "mmas",   "join",   "cluster", "simt",
                                        "copy",   "tensor", "agents", "shared"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(words[i], name) == 0) return true;
    }
    for (size_t i = 0; i < g->emission.names.count; i++) {
        if (strcmp(g->emission.names.items[i], name) == 0) return true;
    }
    return false;
}

bool spad__gpu_unique(spad__gpu *g, char *name, const char *suffix) {
    char plain[SPAD__GPU_NAME];
    snprintf(plain, sizeof plain, "%.24s%.10s", name, suffix);
    memcpy(name, plain, sizeof plain);
    /* of many names with one beginning, the smaller numbers are taken already: keeps this from
     * being quadratic */
    const unsigned first = g->emission.names.count < 256 ? 2 : (unsigned)g->emission.names.count;
    for (unsigned n = first; is_name_taken(g, name); n++) {
        snprintf(name, SPAD__GPU_NAME, "%.34s_%u", plain, n);
    }
    if (!spad__array_reserve(g->host, &g->emission.names, 1)) return false;
    char *kept = spad__new(g->host, SPAD__GPU_NAME);
    if (kept == NULL) return false;
    memcpy(kept, name, SPAD__GPU_NAME);
    g->emission.names.items[g->emission.names.count++] = kept;
    return true;
}

/* ---- parameters ---------------------------------------------------------------------- */

static spad_status refuse_trips(spad__gpu *g, const char *why, spad_error *error) {
    spad__gpu_unresolved(g, why);
    return spad__fail(error, SPAD_ERR_ARGUMENT, "%s", why);
}

static void param_name(const spad__gpu *g, uint64_t arguments, char *name) {
    strcpy(name, "trips");
    for (size_t i = 0; i < g->arguments.count && i < 63; i++) {
        if (arguments != UINT64_C(1) << i) continue;
        const char *size = g->arguments.items[i].name;
        snprintf(name, SPAD__GPU_NAME, "%.30s_tiles", size[0] != '\0' ? size : "size");
    }
}

/* Trips of the form (x + step - 1) / step: for an x that is a multiple of step, x is trips * step.
 */
static void find_multiple(const spad__gpu *g, spad__scalar trips, spad__gpu_param *param) {
    const spad__scalars *s = &g->scalars;
    const spad__scalar_node *node = spad__scalar_get(s, trips);
    int64_t step, now;
    param->trips = param->node = trips;
    param->step = 1;
    if (node->op != SPAD__SCALAR_DIV || spad__scalar_get(s, node->b)->arguments != 0) return;
    step = spad__scalar_get(s, node->b)->now;
    assert(spad__scalar_get(s, node->b)->known && step > 0); /* DIV is only made so */
    const spad__scalar_node *sum = spad__scalar_get(s, node->a);
    if (sum->op != SPAD__SCALAR_ADD || !spad__scalar_is(s, sum->b, step - 1)) return;
    assert(spad__scalar_get(s, sum->a)->known); /* as the trips are */
    now = spad__scalar_get(s, sum->a)->now;
    if (now % step != 0) return;
    param->node = sum->a;
    param->step = step;
    param->value = now / step;
}

/* A trip count without the constant at its end, as of K / 64 - 1. */
static spad__scalar without_number(const spad__gpu *g, spad__scalar trips, int64_t *added) {
    const spad__scalar_node *node = spad__scalar_get(&g->scalars, trips);
    *added = 0;
    if (node->op != SPAD__SCALAR_ADD || node->moves) return trips;
    return spad__scalar_is_number(&g->scalars, node->b, added) ? node->a : trips;
}

static spad_status param_for(spad__gpu *g, spad__scalar trips, const spad__gpu_param **out,
                             spad_error *error) {
    const spad__scalar_node *node = spad__scalar_get(&g->scalars, trips);
    spad__gpu_param param = {.value = node->now, .arguments = node->arguments};
    *out = NULL;
    if (node->data && g->mode < SPAD__GPU_ANY_ITERATIONS) {
        return refuse_trips(g, "how often a loop runs is decided by data", error);
    }
    if (node->data || spad__gpu_is_trip_count(g, trips)) {
        param = (spad__gpu_param){.value = node->data ? SPAD__GPU_TRIPS_OF_DATA : node->now,
                                  .any = true,
                                  .trips = trips,
                                  .node = trips,
                                  .step = 1};
    } else if (node->moves || node->arguments == 0) {
        return SPAD_OK;
    } else if (!node->known) {
        return refuse_trips(g, "how often a loop runs", error);
    } else {
        find_multiple(g, trips, &param);
    }
    for (size_t i = 0; i < g->emission.params.count; i++) {
        if (g->emission.params.items[i].node == param.node &&
            g->emission.params.items[i].step == param.step) {
            *out = &g->emission.params.items[i];
            return SPAD_OK;
        }
    }
    if (!spad__array_reserve(g->host, &g->emission.params, 1)) return spad__fail_host_memory(error);
    param_name(g, param.arguments, param.name);
    if (!spad__gpu_unique(g, param.name, "")) return spad__fail_host_memory(error);
    const spad_amount preset = {.value = param.value};
    SPAD__GPU_TRY(
        spad__kernel_builder_param(&param.expr, g->emission.builder, param.name, preset, error));
    if (param.any) SPAD__GPU_TRY(spad__kernel_builder_any(g->emission.builder, param.name, error));
    g->emission.params.items[g->emission.params.count++] = param;
    *out = &g->emission.params.items[g->emission.params.count - 1];
    return SPAD_OK;
}

spad_status spad__gpu_trips_param(spad__gpu *g, spad__scalar trips, const spad__gpu_param **out,
                                  int64_t *added, spad_error *error) {
    return param_for(g, without_number(g, trips, added), out, error);
}

static spad_status emit_unknown(spad__gpu *g, spad__gpu_unknown *unknown, spad_error *error) {
    char name[SPAD__GPU_NAME];
    const spad_amount least = {.value = 0}, end = {.value = 2};
    const int64_t taken = 1;
    int64_t number;
    spad_expr first;
    strcpy(name, unknown->name[0] != '\0' ? unknown->name : "decided");
    if (!spad__gpu_unique(g, name, "")) return spad__fail_host_memory(error);
    SPAD__GPU_TRY(spad__kernel_builder_unknown(&number, g->emission.builder, name,
                                               (spad_amounts){0}, least, end, &taken, 1, error));
    SPAD__GPU_TRY(spad__gpu_number_expr(g, 0, &first, error));
    return spad__kernel_builder_value(&unknown->expr, g->emission.builder, number, first, error);
}

spad_status spad__gpu_emit_params(spad__gpu *g, spad_error *error) {
    const spad__gpu_param *param;
    for (size_t i = 0; i < g->unknowns.count; i++)
        SPAD__GPU_TRY(emit_unknown(g, &g->unknowns.items[i], error));
    for (size_t i = 0; i < g->records.all.count; i++) {
        const spad__gpu_record *record = &g->records.all.items[i];
        if (record->kind != SPAD__RECORD_FOR) continue;
        int64_t added;
        assert(record->scalar >= 0); /* below 0 only without host memory */
        SPAD__GPU_TRY(spad__gpu_trips_param(g, record->scalar, &param, &added, error));
    }
    return SPAD_OK;
}

spad_status spad__gpu_fix_params(spad__gpu *g, spad_error *error) {
    for (size_t i = 0; i < g->emission.params.count; i++) {
        const spad__gpu_param *param = &g->emission.params.items[i];
        bool fixed = (param->arguments & g->emission.used_arguments) != 0;
        for (size_t k = 0; k < g->emission.params.count; k++) { /* both depend on one size */
            if (k != i && (g->emission.params.items[k].arguments & param->arguments) != 0)
                fixed = true;
        }
        if (fixed) SPAD__GPU_TRY(spad__kernel_builder_fix(g->emission.builder, param->name, error));
    }
    return SPAD_OK;
}
