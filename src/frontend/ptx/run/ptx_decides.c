/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the value that an instruction loads decides what its warp does: follows registers forward
 * from its result, through arithmetic and lanes, to the guard of an instruction or to a call.
 *
 * Every instruction of the function counts wherever it stands, so a register that is used again for
 * something else may say yes where no is right. O(registers that are reached * instructions), once
 * for each instruction that asks.
 */
#include "frontend/ptx/run/ptx_decides.h"

/* Values of machine->decides. */
enum { DECISION_NOT_ASKED = 0, DECIDES_NOTHING = 1, DECIDES = 2 };

typedef struct decision_search {
    const spad__ptx_machine *m;
    const spad__ptx_function *function;
    int32_t *open;
    int32_t open_count;
    bool *seen;
} decision_search;

static void open_result(decision_search *s, int32_t reg) {
    if (reg < 0 || s->seen[reg]) return;
    s->seen[reg] = true;
    s->open[s->open_count++] = reg;
}

static void open_results(decision_search *s, const spad__ptx_operand *operand) {
    const spad__ptx_operand *item;
    for (int32_t n = 0; (item = spad__ptx_item(s->m, operand, n)) != NULL; n++) {
        if (item->kind == SPAD__PTX_REGISTER) open_result(s, item->reg);
        open_result(s, item->also);
    }
}

static bool decision_reads(const decision_search *s, const spad__ptx_instruction *i, int32_t reg) {
    for (int32_t n = 0; n < i->count; n++) {
        const spad__ptx_operand *operand = spad__ptx_operand_at(s->m, i, n), *item;
        for (int32_t k = 0; (item = spad__ptx_item(s->m, operand, k)) != NULL; k++) {
            if (item->reg == reg && (n > 0 || item->kind != SPAD__PTX_REGISTER)) return true;
        }
    }
    return false;
}

static bool decides_in_function(decision_search *s) {
    const spad__ptx_function *f = s->function;
    while (s->open_count > 0) {
        const int32_t reg = s->open[--s->open_count];
        for (int32_t k = 0; k < f->instruction_count; k++) {
            const spad__ptx_instruction *i =
                &s->m->module->instructions.items[f->first_instruction + k];
            if (i->guard == reg) return true;
            if (!decision_reads(s, i, reg)) continue;
            if (i->op == SPAD__PTX_OP_BRX_IDX || i->op == SPAD__PTX_OP_CALL) return true;
            if (i->op == SPAD__PTX_OP_ST && i->space == SPAD__PTX_PARAM) return true;
            if (i->op != SPAD__PTX_OP_ST && i->op != SPAD__PTX_OP_RED)
                open_results(s, spad__ptx_operand_at(s->m, i, 0));
        }
    }
    return false;
}

/* False: out of memory. */
static bool find_decision(spad__ptx_machine *m, const spad__ptx_warp *w,
                          const spad__ptx_instruction *i, uint8_t *out) {
    const size_t count = (size_t)w->frame->function->register_count + 1;
    decision_search s = {.m = m, .function = w->frame->function};
    s.open = spad__new_array(m->host, count, sizeof *s.open);
    s.seen = spad__new_array(m->host, count, sizeof *s.seen);
    const bool ok = s.open != NULL && s.seen != NULL;
    if (ok) {
        open_results(&s, spad__ptx_operand_at(m, i, 0));
        *out = decides_in_function(&s) ? DECIDES : DECIDES_NOTHING;
    }
    spad__free(m->host, s.open, count * sizeof *s.open);
    spad__free(m->host, s.seen, count * sizeof *s.seen);
    return ok;
}

bool spad__ptx_decides(spad__ptx_machine *m, const spad__ptx_warp *w,
                       const spad__ptx_instruction *i) {
    if (m->decides == NULL)
        m->decides = spad__new_array(m->host, m->module->instructions.count, sizeof *m->decides);
    if (m->decides == NULL ||
        (m->decides[m->at] == DECISION_NOT_ASKED && !find_decision(m, w, i, &m->decides[m->at]))) {
        (void)spad__ptx_no_memory(m);
        return false;
    }
    return m->decides[m->at] == DECIDES;
}

unsigned spad__ptx_order_of(const spad__ptx_instruction *i) {
    const bool both = spad__ptx_has(i, SPAD__PTX_WORD_ACQ_REL);
    unsigned order = 0;
    if (both || spad__ptx_has(i, SPAD__PTX_WORD_ACQUIRE)) order |= SPAD__PTX_ACQUIRE;
    if (both || spad__ptx_has(i, SPAD__PTX_WORD_RELEASE)) order |= SPAD__PTX_RELEASE;
    if (spad__ptx_has(i, SPAD__PTX_WORD_CTA)) order |= SPAD__PTX_CTA_SCOPE;
    return order;
}
