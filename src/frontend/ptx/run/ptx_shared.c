/* SPDX-License-Identifier: Apache-2.0
 *
 * The layout of variables: which ones a kernel reaches, and where they lie.
 *
 * Reference: PTX ISA 9.0, sections 5.1 (state spaces) and 5.4 (variables).
 */
#include "frontend/ptx/run/ptx_shared.h"

#include "base/checked.h"

/* ---- reachable functions and variables --------------------------------------------------------
 */

typedef struct module_reach {
    const spad__ptx_module *module;
    bool *functions;
    bool *variables; /* of the module */
    bool reserved;   /* the system's own shared memory */
    int32_t *open;   /* functions whose body is not read yet */
    size_t open_count;
} module_reach;

static void reach_function(module_reach *r, int64_t function) {
    if (function < 0 || (size_t)function >= r->module->functions.count) return;
    if (r->functions[function]) return;
    r->functions[function] = true;
    r->open[r->open_count++] = (int32_t)function;
}

/* Initial values may hold addresses of functions: tables of virtual functions. */
static void reach_variable(module_reach *r, int32_t variable) {
    if (variable < 0 || (size_t)variable >= r->module->variables.count) return;
    if (r->variables[variable]) return;
    r->variables[variable] = true;
    const spad__ptx_variable *v = &r->module->variables.items[variable];
    for (int32_t k = 0; k < v->relocation_count; k++) {
        const spad__ptx_relocation *at = &r->module->relocations.items[v->first_relocation + k];
        if (at->variable < 0) reach_function(r, at->function);
    }
}

static bool is_of_reserved_memory(int32_t special) {
    return special >= SPAD__PTX_SPECIAL_RESERVED_BEGIN && special <= SPAD__PTX_SPECIAL_RESERVED_1;
}

static void reach_operand(module_reach *r, const spad__ptx_operand *operand) {
    if (operand->kind == SPAD__PTX_SPECIAL) {
        r->reserved |= is_of_reserved_memory(operand->special);
    } else if (operand->kind == SPAD__PTX_FUNCTION) {
        reach_function(r, operand->value);
    } else if (operand->variable >= 0 && operand->variable < SPAD__PTX_LOCAL) {
        reach_variable(r, operand->variable);
    }
}

static void reach_instruction(module_reach *r, const spad__ptx_instruction *i) {
    for (int32_t k = 0; k < i->count; k++) {
        const spad__ptx_operand *operand = &r->module->operands.items[i->first + k];
        reach_operand(r, operand);
        for (int32_t n = 0; n < operand->count; n++) {
            reach_operand(r, &r->module->operands.items[operand->first + n]);
        }
    }
}

/* All functions whose address a variable holds count as reached: which one is called is not known
 * before the run. */
static void reach_all(module_reach *r, const spad__ptx_function *kernel) {
    reach_function(r, kernel - r->module->functions.items);
    while (r->open_count > 0) {
        const spad__ptx_function *f = &r->module->functions.items[r->open[--r->open_count]];
        for (int32_t k = 0; k < f->instruction_count; k++) {
            reach_instruction(r, &r->module->instructions.items[f->first_instruction + k]);
        }
    }
}

/* ---- places ------------------------------------------------------------------------------------
 */

static int64_t align_of(const spad__ptx_variable *v) {
    return spad__is_pow2(v->align) ? v->align : 1;
}

/* Places `v` behind *end. Sizes are the parser's, and their sum is clamped. */
static int64_t place_after(int64_t *end, const spad__ptx_variable *v) {
    int64_t at;
    if (!spad__align_up(*end, align_of(v), &at)) at = *end;
    *end = spad__add_clamped(at, v->bytes);
    return at;
}

static bool is_dynamic(const spad__ptx_variable *v) {
    return v->space == SPAD__PTX_SHARED && v->external && v->bytes == 0;
}

static int64_t place_shared(spad__ptx_layout *out, const spad__ptx_variable *v) {
    if (!is_dynamic(v)) return place_after(&out->static_shared, v);
    out->dynamic_align = spad__max(out->dynamic_align, align_of(v));
    return 0;
}

/* .const and .global variables are always placed, so that their addresses do not depend on the
 * kernel. */
static void place_module(spad__ptx_layout *out, const spad__ptx_module *module, const bool *used) {
    for (size_t n = 0; n < module->variables.count; n++) {
        const spad__ptx_variable *v = &module->variables.items[n];
        out->module_at[n] = -1;
        if (v->space == SPAD__PTX_CONST) {
            out->module_at[n] = place_after(&out->const_bytes, v);
        } else if (v->space == SPAD__PTX_GLOBAL) {
            out->module_at[n] = place_after(&out->global_bytes, v);
        } else if (v->space == SPAD__PTX_SHARED && used != NULL && used[n]) {
            out->module_at[n] = place_shared(out, v);
        }
    }
}

static int64_t place_local(spad__ptx_layout *out, spad__ptx_needs *needs,
                           const spad__ptx_variable *v, int64_t *kernel_end) {
    if (v->space == SPAD__PTX_SHARED) return needs->used ? place_shared(out, v) : -1;
    if (v->space == SPAD__PTX_LOCAL_MEMORY) return place_after(&needs->stack, v);
    if (v->space != SPAD__PTX_PARAM) return -1;
    if (kernel_end != NULL) return place_after(kernel_end, v);
    return spad__add_clamped(SPAD__PTX_FRAME_PARAM, place_after(&needs->parameters, v));
}

static void place_function(spad__ptx_layout *out, const spad__ptx_module *module, size_t function) {
    const spad__ptx_function *f = &module->functions.items[function];
    spad__ptx_needs *needs = &out->needs[function];
    int64_t kernel_end = 0;
    for (int32_t k = 0; k < f->variable_count; k++) {
        const int32_t row = f->first_variable + k;
        const bool of_kernel = f->entry && k < f->parameter_count;
        out->local_at[row] =
            place_local(out, needs, &module->locals.items[row], of_kernel ? &kernel_end : NULL);
    }
    needs->registers = f->register_count;
    for (int32_t k = 0; k < f->register_count; k++) {
        const int32_t row = f->first_register + k;
        const bool wide = module->registers.items[row].type == SPAD__PTX_B128;
        out->high_at[row] = wide ? (int32_t)needs->registers++ : -1;
    }
}

/* Dynamic variables all lie where static ones end. */
static void place_dynamic(spad__ptx_layout *out, const spad__ptx_module *module) {
    if (!spad__align_up(out->static_shared, out->dynamic_align, &out->dynamic_at)) {
        out->dynamic_at = out->static_shared;
    }
    for (size_t n = 0; n < module->variables.count; n++) {
        if (is_dynamic(&module->variables.items[n]) && out->module_at[n] >= 0) {
            out->module_at[n] = out->dynamic_at;
        }
    }
    for (size_t n = 0; n < module->locals.count; n++) {
        if (is_dynamic(&module->locals.items[n]) && out->local_at[n] >= 0) {
            out->local_at[n] = out->dynamic_at;
        }
    }
}

static bool allocate_layout(spad__ptx_layout *out, module_reach *r, const spad__ptx_module *module,
                            const spad_host *host) {
    const size_t functions = module->functions.count + 1;
    const size_t variables = module->variables.count + 1;
    out->module_at = spad__new_array(host, variables, sizeof *out->module_at);
    out->local_at = spad__new_array(host, module->locals.count + 1, sizeof *out->local_at);
    out->high_at = spad__new_array(host, module->registers.count + 1, sizeof *out->high_at);
    out->needs = spad__new_array(host, functions, sizeof *out->needs);
    r->functions = spad__new_array(host, functions, sizeof *r->functions);
    r->variables = spad__new_array(host, variables, sizeof *r->variables);
    r->open = spad__new_array(host, functions, sizeof *r->open);
    return out->module_at != NULL && out->local_at != NULL && out->high_at != NULL &&
           out->needs != NULL && r->functions != NULL && r->variables != NULL && r->open != NULL;
}

static void reach_free(module_reach *r, const spad_host *host) {
    const size_t functions = r->module->functions.count + 1;
    spad__free(host, r->functions, functions * sizeof *r->functions);
    spad__free(host, r->variables, (r->module->variables.count + 1) * sizeof *r->variables);
    spad__free(host, r->open, functions * sizeof *r->open);
}

bool spad__ptx_lay_out(spad__ptx_layout *out, const spad__ptx_module *module,
                       const spad__ptx_function *kernel, const spad_host *host) {
    *out = (spad__ptx_layout){.dynamic_align = 16};
    module_reach r = {.module = module};
    const bool ok = allocate_layout(out, &r, module, host);
    if (ok) {
        if (kernel != NULL) reach_all(&r, kernel);
        place_module(out, module, kernel != NULL ? r.variables : NULL);
        for (size_t n = 0; n < module->functions.count; n++) {
            out->needs[n].used = r.functions[n];
            place_function(out, module, n);
        }
        place_dynamic(out, module);
        out->asks_reserved = r.reserved;
    } else {
        spad__ptx_layout_free(out, module, host);
    }
    reach_free(&r, host);
    return ok;
}

void spad__ptx_layout_free(spad__ptx_layout *layout, const spad__ptx_module *module,
                           const spad_host *host) {
    spad__free(host, layout->module_at, (module->variables.count + 1) * sizeof *layout->module_at);
    spad__free(host, layout->local_at, (module->locals.count + 1) * sizeof *layout->local_at);
    spad__free(host, layout->high_at, (module->registers.count + 1) * sizeof *layout->high_at);
    spad__free(host, layout->needs, (module->functions.count + 1) * sizeof *layout->needs);
    *layout = (spad__ptx_layout){0};
}

/* ---- questions of callers ----------------------------------------------------------------------
 */

int64_t spad__ptx_shared_bytes(const spad__ptx_layout *layout, int64_t dynamic_bytes) {
    return dynamic_bytes > 0 ? spad__add_clamped(layout->dynamic_at, dynamic_bytes)
                             : layout->static_shared;
}

int64_t spad__ptx_system_at(const spad__ptx_layout *layout, int64_t dynamic_bytes) {
    const int64_t bytes = spad__ptx_shared_bytes(layout, dynamic_bytes);
    return bytes / SPAD__PTX_SYSTEM_SHARED * SPAD__PTX_SYSTEM_SHARED + SPAD__PTX_SYSTEM_SHARED;
}

static const spad__ptx_variable *find_shared_variable(const spad__ptx_variable *variables,
                                                      size_t count, const int64_t *at, int64_t byte,
                                                      int64_t *offset) {
    for (size_t n = 0; n < count; n++) {
        const spad__ptx_variable *v = &variables[n];
        if (v->space != SPAD__PTX_SHARED || at[n] < 0 || is_dynamic(v)) continue;
        if (byte < at[n] || byte - at[n] >= v->bytes) continue;
        *offset = byte - at[n];
        return v;
    }
    return NULL;
}

const spad__ptx_variable *spad__ptx_shared_variable(const spad__ptx_layout *layout,
                                                    const spad__ptx_module *module, int64_t byte,
                                                    int64_t *offset) {
    const spad__ptx_variable *found = find_shared_variable(
        module->variables.items, module->variables.count, layout->module_at, byte, offset);
    if (found != NULL) return found;
    return find_shared_variable(module->locals.items, module->locals.count, layout->local_at, byte,
                                offset);
}

uint64_t spad__ptx_variable_address(const spad__ptx_module *module, int32_t variable) {
    spad__ptx_layout layout;
    if (variable < 0 || (size_t)variable >= module->variables.count) return 0;
    const uint8_t space = module->variables.items[variable].space;
    if (space != SPAD__PTX_CONST && space != SPAD__PTX_GLOBAL) return 0;
    if (!spad__ptx_lay_out(&layout, module, NULL, &module->arena.host)) return 0;
    const int64_t at = layout.module_at[variable];
    spad__ptx_layout_free(&layout, module, &module->arena.host);
    return (uint64_t)at + (space == SPAD__PTX_CONST ? SPAD__PTX_CONST_BASE : SPAD__PTX_GLOBAL_BASE);
}
