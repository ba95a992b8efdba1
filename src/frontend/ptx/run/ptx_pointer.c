/* SPDX-License-Identifier: Apache-2.0
 *
 * Follows arithmetic backwards from an address to the variables that it starts with. Addresses that
 * come from memory, from parameters or from other lanes have none.
 */
#include "frontend/ptx/run/ptx_pointer.h"

#include <string.h>

#include "frontend/ptx/run/ptx_warp.h"

/* Values of machine->pointers. */
enum { NOT_FOLLOWED = 0, NO_POINTER = 1, FIRST_POINTER = 2 };

typedef struct pointer_search {
    const spad__ptx_module *module;
    const spad__ptx_function *function;
    int32_t *open; /* registers that are not followed yet */
    int32_t open_count;
    bool *seen;
    int32_t variable; /* -1: none yet */
    bool several;
} pointer_search;

static void open_register(pointer_search *s, int32_t reg) {
    if (reg < 0 || s->seen[reg]) return;
    s->seen[reg] = true;
    s->open[s->open_count++] = reg;
}

static void follow_source(pointer_search *s, const spad__ptx_operand *operand) {
    if (operand->kind == SPAD__PTX_REGISTER) {
        const int32_t row = s->function->first_register + operand->reg;
        if (s->module->registers.items[row].type != SPAD__PTX_PRED) open_register(s, operand->reg);
    }
    if (operand->kind != SPAD__PTX_VARIABLE || operand->variable < 0) return;
    const spad__ptx_variable *v = spad__ptx_variable_of(s->module, s->function, operand->variable);
    if (v->space != SPAD__PTX_SHARED || operand->variable == s->variable) return;
    s->several = s->variable >= 0;
    s->variable = operand->variable;
}

static const spad__ptx_operand *items_of(const pointer_search *s, const spad__ptx_operand *operand,
                                         int32_t *count) {
    const bool vector = operand->kind == SPAD__PTX_VECTOR;
    *count = vector ? operand->count : 1;
    return vector ? &s->module->operands.items[operand->first] : operand;
}

static bool writes_register(const pointer_search *s, const spad__ptx_instruction *i, int32_t reg) {
    int32_t count;
    if (i->count == 0 || spad__ptx_effect_of(i->op) != SPAD__PTX_PURE) return false;
    const spad__ptx_operand *to = items_of(s, &s->module->operands.items[i->first], &count);
    for (int32_t n = 0; n < count; n++) {
        if (to[n].kind == SPAD__PTX_REGISTER && to[n].reg == reg) return true;
    }
    return false;
}

static void follow_register(pointer_search *s, int32_t reg) {
    const spad__ptx_function *f = s->function;
    for (int32_t k = 0; k < f->instruction_count && !s->several; k++) {
        const spad__ptx_instruction *i = &s->module->instructions.items[f->first_instruction + k];
        if (!writes_register(s, i, reg)) continue;
        for (int32_t n = 1; n < i->count; n++) {
            int32_t count;
            const spad__ptx_operand *from =
                items_of(s, &s->module->operands.items[i->first + n], &count);
            for (int32_t item = 0; item < count; item++) follow_source(s, &from[item]);
        }
    }
}

/* False: no memory. */
static bool follow_address(spad__ptx_machine *m, const spad__ptx_function *f, int32_t reg,
                           int32_t *out) {
    const size_t count = (size_t)f->register_count + 1;
    pointer_search s = {.module = m->module, .function = f, .variable = -1};
    s.open = spad__new_array(m->host, count, sizeof *s.open);
    s.seen = spad__new_array(m->host, count, sizeof *s.seen);
    const bool ok = s.open != NULL && s.seen != NULL;
    if (ok) {
        open_register(&s, reg);
        while (s.open_count > 0 && !s.several) follow_register(&s, s.open[--s.open_count]);
        *out = s.several || s.variable < 0 ? NO_POINTER : FIRST_POINTER + s.variable;
    }
    spad__free(m->host, s.open, count * sizeof *s.open);
    spad__free(m->host, s.seen, count * sizeof *s.seen);
    return ok;
}

int32_t spad__ptx_pointed_variable(spad__ptx_machine *m, const spad__ptx_warp *w, int32_t reg) {
    const size_t instructions = m->module->instructions.count;
    if (reg < 0) return -1;
    if (m->pointers == NULL) {
        m->pointers = spad__new_array(m->host, instructions, sizeof *m->pointers);
    }
    if (m->pointers == NULL || (m->pointers[m->at] == NOT_FOLLOWED &&
                                !follow_address(m, w->frame->function, reg, &m->pointers[m->at]))) {
        (void)spad__ptx_no_memory(m);
        return -1;
    }
    return m->pointers[m->at] - FIRST_POINTER;
}

void spad__ptx_pointers_free(spad__ptx_machine *m) {
    spad__free(m->host, m->pointers, m->module->instructions.count * sizeof *m->pointers);
    m->pointers = NULL;
}
