/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls, returns and ends of threads. A call gives its lanes a frame of their own: registers, the
 * .param variables of the function, and a part of the .local memory behind the caller's.
 *
 * Reference: PTX ISA 9.0, sections 7.1 (function calls), 9.7.12 (call, ret, exit), 9.7.19 (trap).
 */
#include <string.h>

#include "base/checked.h"
#include "frontend/ptx/run/ptx_memory.h"
#include "frontend/ptx/run/ptx_shared.h"
#include "frontend/ptx/run/ptx_warp.h"

enum { DEEPEST_CALL = 128, MOST_LOCAL = 1 << 20, STACK_ALIGN = 16 };

/* ---- frames ------------------------------------------------------------------------------------
 */

static const spad__ptx_needs *needs_of(const spad__ptx_machine *m, const spad__ptx_function *f) {
    return &m->layout->needs[f - m->module->functions.items];
}

static size_t locals_size(const spad__ptx_frame *frame) {
    return (size_t)frame->local_bytes * SPAD__PTX_LANES;
}

static void frame_free(spad__ptx_machine *m, spad__ptx_frame *frame) {
    spad__free(m->host, frame->registers, (size_t)frame->register_count * sizeof *frame->registers);
    spad__free(m->host, frame->locals, locals_size(frame));
    spad__free(m->host, frame->locals_known, locals_size(frame));
    *frame = (spad__ptx_frame){.call = -1, .parent = -1};
}

/* Prepares a zeroed frame for a function. */
static bool frame_make(spad__ptx_machine *m, spad__ptx_frame *frame, const spad__ptx_function *f) {
    const spad__ptx_needs *needs = needs_of(m, f);
    frame->function = f;
    frame->register_count = needs->registers;
    frame->local_bytes = needs->parameters;
    frame->registers = spad__new_array(m->host, (size_t)spad__max(frame->register_count, 1),
                                       sizeof *frame->registers);
    frame->register_count = spad__max(frame->register_count, 1);
    frame->local_bytes = spad__max(frame->local_bytes, 1);
    frame->locals = spad__new_array(m->host, (size_t)frame->local_bytes, SPAD__PTX_LANES);
    frame->locals_known = spad__new_array(m->host, (size_t)frame->local_bytes, SPAD__PTX_LANES);
    if (frame->registers != NULL && frame->locals != NULL && frame->locals_known != NULL) {
        return true;
    }
    frame_free(m, frame);
    return false;
}

/* .local memory for `bytes` of each lane: bytes of one number are next to each other, so that it
 * grows in place. */
static bool reserve_local(spad__ptx_machine *m, spad__ptx_warp *w, int64_t bytes) {
    if (bytes <= w->local_bytes) return true;
    const int64_t grown = spad__max(bytes, 2 * w->local_bytes);
    const size_t old_size = (size_t)w->local_bytes * SPAD__PTX_LANES;
    const size_t new_size = (size_t)grown * SPAD__PTX_LANES;
    uint8_t *local = spad__new(m->host, new_size);
    uint8_t *known = spad__new(m->host, new_size);
    if (local == NULL || known == NULL) {
        spad__free(m->host, local, new_size);
        spad__free(m->host, known, new_size);
        return false;
    }
    if (old_size > 0) {
        memcpy(local, w->local, old_size);
        memcpy(known, w->local_known, old_size);
    }
    spad__free(m->host, w->local, old_size);
    spad__free(m->host, w->local_known, old_size);
    w->local = local;
    w->local_known = known;
    w->local_bytes = grown;
    return true;
}

bool spad__ptx_enter_kernel(spad__ptx_machine *m, spad__ptx_warp *w) {
    const spad__ptx_function *f = m->launch->kernel;
    if (!spad__array_reserve(m->host, &w->frames, 1)) return false;
    spad__ptx_frame frame = {.call = -1, .parent = -1, .lanes = w->threads};
    if (!frame_make(m, &frame, f)) return false;
    w->frames.items[w->frames.count++] = frame;
    w->frame = &w->frames.items[0];
    for (int l = 0; l < SPAD__PTX_LANES; l++) w->pc[l] = f->first_instruction;
    return reserve_local(m, w, needs_of(m, f)->stack);
}

void spad__ptx_frames_free(spad__ptx_machine *m, spad__ptx_warp *w) {
    for (size_t n = 0; n < w->frames.count; n++) frame_free(m, &w->frames.items[n]);
    spad__array_free(m->host, &w->frames);
    const size_t local_size = (size_t)w->local_bytes * SPAD__PTX_LANES;
    spad__free(m->host, w->local, local_size);
    spad__free(m->host, w->local_known, local_size);
}

/* An unused frame, preferably of this function: its registers are cleared. -1: no
 * memory. */
static int32_t find_frame(spad__ptx_machine *m, spad__ptx_warp *w, const spad__ptx_function *f) {
    for (size_t n = 1; n < w->frames.count; n++) {
        spad__ptx_frame *frame = &w->frames.items[n];
        if (frame->lanes != 0 || frame->function != f) continue;
        memset(frame->registers, 0, (size_t)frame->register_count * sizeof *frame->registers);
        memset(frame->locals_known, 0, locals_size(frame));
        return (int32_t)n;
    }
    if (!spad__array_reserve(m->host, &w->frames, 1)) return -1;
    spad__ptx_frame frame = {.call = -1, .parent = -1};
    if (!frame_make(m, &frame, f)) return -1;
    w->frames.items[w->frames.count] = frame;
    return (int32_t)w->frames.count++;
}

/* ---- arguments and results ----------------------------------------------------------------------
 */

/* A parameter of a function in its frame, or an operand of its caller. */
typedef struct slot {
    spad__ptx_frame *frame;
    int64_t at; /* in the frame's locals; -1: reg, or a plain operand */
    int64_t bytes;
    int32_t reg; /* of the frame; -1: none */
} slot;

static void copy_bytes(const slot *from, const slot *to, uint32_t lanes) {
    for (int64_t n = 0; n < spad__min(from->bytes, to->bytes); n++) {
        for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
            const int l = __builtin_ctz(rest);
            const int64_t source = (from->at + n) * SPAD__PTX_LANES + l;
            const int64_t target = (to->at + n) * SPAD__PTX_LANES + l;
            to->frame->locals[target] = from->frame->locals[source];
            to->frame->locals_known[target] = from->frame->locals_known[source];
        }
    }
}

static void slot_to_value(const slot *from, uint32_t lanes, spad__ptx_value *out) {
    memset(out, 0, sizeof *out);
    if (from->reg >= 0) *out = from->frame->registers[from->reg];
    if (from->at < 0) return;
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        const int l = __builtin_ctz(rest);
        const int64_t first = from->at * SPAD__PTX_LANES + l;
        const spad__ptx_storage bytes = {.bytes = from->frame->locals + first,
                                         .known = from->frame->locals_known + first,
                                         .stride = SPAD__PTX_LANES};
        const unsigned count = from->bytes < 8 ? (unsigned)from->bytes : 8;
        if (spad__ptx_fetch(&bytes, 0, count, &out->lanes[l])) out->known |= UINT32_C(1) << l;
    }
}

static void value_to_slot(spad__ptx_machine *m, const spad__ptx_value *value, uint32_t lanes,
                          const slot *to) {
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        const int l = __builtin_ctz(rest);
        const bool known = (value->known >> l & 1) != 0;
        if (to->reg >= 0) {
            spad__ptx_value *r = &to->frame->registers[to->reg];
            r->lanes[l] = value->lanes[l];
            r->known = (r->known & ~(UINT32_C(1) << l)) | (uint32_t)known << l;
        }
        if (to->at < 0) continue;
        const int64_t first = to->at * SPAD__PTX_LANES + l;
        const spad__ptx_storage bytes = {.bytes = to->frame->locals + first,
                                         .known = to->frame->locals_known + first,
                                         .stride = SPAD__PTX_LANES};
        const unsigned count = to->bytes < 8 ? (unsigned)to->bytes : 8;
        spad__ptx_store(m, &bytes, 0, count, value->lanes[l], known);
    }
}

/* Parameter n of a frame's function, results first. Those in registers are its first registers. */
static slot parameter_slot(const spad__ptx_machine *m, spad__ptx_frame *frame, int32_t n) {
    const spad__ptx_function *f = frame->function;
    slot out = {.frame = frame, .at = -1, .reg = -1};
    if (n >= f->parameter_count) return out;
    const int32_t row = f->first_variable + n;
    const spad__ptx_variable *v = &m->module->locals.items[row];
    out.bytes = v->bytes;
    if (v->space != SPAD__PTX_REG) {
        out.at = m->layout->local_at[row] - SPAD__PTX_FRAME_PARAM;
        return out;
    }
    out.reg = 0;
    for (int32_t k = 0; k < n; k++) {
        out.reg += m->module->locals.items[f->first_variable + k].space == SPAD__PTX_REG;
    }
    return out;
}

/* The operands in the parentheses of a call. */
static slot operand_slot(const spad__ptx_machine *m, spad__ptx_frame *frame,
                         const spad__ptx_operand *operand) {
    slot out = {.frame = frame, .at = -1, .reg = -1};
    if (operand->kind == SPAD__PTX_REGISTER) out.reg = operand->reg;
    if (operand->kind != SPAD__PTX_VARIABLE || operand->variable < SPAD__PTX_LOCAL) return out;
    const int32_t row = frame->function->first_variable + operand->variable - SPAD__PTX_LOCAL;
    out.bytes = m->module->locals.items[row].bytes;
    out.at = m->layout->local_at[row] - SPAD__PTX_FRAME_PARAM;
    return out;
}

static bool is_in_locals(const slot *s) {
    return s->at >= 0 && s->bytes <= s->frame->local_bytes - s->at;
}

static void pass_value(spad__ptx_machine *m, const slot *from, const slot *to, uint32_t lanes) {
    if (from->at >= 0 && to->at >= 0) {
        if (is_in_locals(from) && is_in_locals(to)) copy_bytes(from, to, lanes);
        return;
    }
    spad__ptx_value value;
    slot_to_value(from, lanes, &value);
    value_to_slot(m, &value, lanes, to);
}

static void pass_arguments(spad__ptx_machine *m, spad__ptx_warp *w, const spad__ptx_instruction *i,
                           uint32_t lanes, spad__ptx_frame *callee) {
    const spad__ptx_operand *list = spad__ptx_operand_at(m, i, 2);
    for (int32_t n = 0; list != NULL && n < list->count; n++) {
        const spad__ptx_operand *operand = spad__ptx_item(m, list, n);
        const slot to = parameter_slot(m, callee, callee->function->result_count + n);
        const slot from = operand_slot(m, w->frame, operand);
        if (from.at >= 0 || from.reg >= 0) {
            pass_value(m, &from, &to, lanes);
        } else {
            spad__ptx_value value;
            spad__ptx_get(m, w, operand, SPAD__PTX_NO_TYPE, &value);
            value_to_slot(m, &value, lanes, &to);
        }
    }
}

static void pass_results(spad__ptx_machine *m, spad__ptx_frame *callee, spad__ptx_frame *caller,
                         uint32_t lanes) {
    const spad__ptx_instruction *i = &m->module->instructions.items[callee->call];
    const spad__ptx_operand *list = spad__ptx_operand_at(m, i, 0);
    for (int32_t n = 0; list != NULL && n < list->count; n++) {
        const slot from = parameter_slot(m, callee, n);
        const slot to = operand_slot(m, caller, spad__ptx_item(m, list, n));
        pass_value(m, &from, &to, lanes);
    }
}

/* ---- functions that are not in the module
 * -------------------------------------------------------- */

static void forget_results(spad__ptx_machine *m, spad__ptx_warp *w, const spad__ptx_instruction *i,
                           uint32_t lanes) {
    const spad__ptx_operand *list = spad__ptx_operand_at(m, i, 0);
    const spad__ptx_value unknown = {{0}, 0};
    for (int32_t n = 0; list != NULL && n < list->count; n++) {
        const slot to = operand_slot(m, w->frame, spad__ptx_item(m, list, n));
        value_to_slot(m, &unknown, lanes, &to);
    }
}

static spad__ptx_outcome trap(spad__ptx_machine *m, spad__ptx_warp *w, uint32_t lanes,
                              const char *text) {
    spad__ptx_remark_at(m, w, SPAD__PTX_TRAPPED, __builtin_ctz(lanes), 0, 0, "%s", text);
    return spad__ptx_end_lanes(m, w, lanes);
}

static spad__ptx_outcome call_outside(spad__ptx_machine *m, spad__ptx_warp *w,
                                      const spad__ptx_instruction *i, uint32_t lanes,
                                      const spad__ptx_function *f) {
    static const char *const harmless[] = {"vprintf", "malloc", "free"};
    if (strcmp(f->name, "__assertfail") == 0) return trap(m, w, lanes, "an assertion fails");
    for (size_t n = 0; n < sizeof harmless / sizeof harmless[0]; n++) {
        if (strcmp(f->name, harmless[n]) != 0) continue;
        forget_results(m, w, i, lanes);
        return SPAD__PTX_DONE;
    }
    return spad__ptx_unsupported(m, i, "the function is not defined in this module");
}

/* ---- call and ret
 * -------------------------------------------------------------------------------- */

static const spad__ptx_function *defined(const spad__ptx_module *module,
                                         const spad__ptx_function *f) {
    for (size_t n = 0; f->external && n < module->functions.count; n++) {
        const spad__ptx_function *other = &module->functions.items[n];
        if (!other->external && strcmp(other->name, f->name) == 0) return other;
    }
    return f;
}

/* The function that the first lane calls; *lanes: those that call the same. NULL: not known. */
static const spad__ptx_function *find_callee(spad__ptx_machine *m, spad__ptx_warp *w,
                                             const spad__ptx_instruction *i, uint32_t *lanes) {
    const spad__ptx_operand *target = spad__ptx_operand_at(m, i, 1);
    spad__ptx_value address;
    if (target == NULL) return NULL;
    spad__ptx_get(m, w, target, SPAD__PTX_NO_TYPE, &address);
    const int first = __builtin_ctz(*lanes);
    if ((address.known >> first & 1) == 0) return NULL;
    const uint64_t number = (address.lanes[first] - SPAD__PTX_CODE_BASE) / 16;
    if (address.lanes[first] < SPAD__PTX_CODE_BASE || number >= m->module->functions.count) {
        return NULL;
    }
    for (uint32_t rest = *lanes; rest != 0; rest &= rest - 1) {
        const int l = __builtin_ctz(rest);
        const bool same = (address.known >> l & 1) && address.lanes[l] == address.lanes[first];
        if (!same) *lanes &= ~(UINT32_C(1) << l);
    }
    return defined(m->module, &m->module->functions.items[number]);
}

static spad__ptx_outcome enter_function(spad__ptx_machine *m, spad__ptx_warp *w,
                                        const spad__ptx_instruction *i, uint32_t lanes,
                                        const spad__ptx_function *f) {
    const int32_t parent = w->current;
    const int32_t number = find_frame(m, w, f);
    w->frame = &w->frames.items[parent];
    if (number < 0) return spad__ptx_no_memory(m);
    spad__ptx_frame *callee = &w->frames.items[number];
    const spad__ptx_frame *caller = w->frame;
    int64_t stack = caller->stack + needs_of(m, caller->function)->stack;
    stack = spad__align_up_fits(stack, STACK_ALIGN);
    const int64_t end = spad__add_clamped(stack, needs_of(m, f)->stack);
    if (caller->depth + 1 >= DEEPEST_CALL || end > MOST_LOCAL) {
        return spad__ptx_unsupported(m, i, "calls are nested too deeply");
    }
    if (!reserve_local(m, w, end)) return spad__ptx_no_memory(m);
    callee->stack = stack;
    callee->lanes = lanes;
    callee->parent = parent;
    callee->depth = caller->depth + 1;
    callee->call = m->at;
    pass_arguments(m, w, i, lanes, callee);
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        w->frame_of[__builtin_ctz(rest)] = number;
        w->pc[__builtin_ctz(rest)] = f->first_instruction;
    }
    return SPAD__PTX_JUMPED;
}

static spad__ptx_outcome run_call(spad__ptx_machine *m, spad__ptx_warp *w,
                                  const spad__ptx_instruction *i, uint32_t lanes) {
    uint32_t together = lanes;
    const spad__ptx_function *f = find_callee(m, w, i, &together);
    if (f == NULL) return spad__ptx_unsupported(m, i, "which function is called is not known");
    if (!f->external) return enter_function(m, w, i, together, f);
    const spad__ptx_outcome outcome = call_outside(m, w, i, together, f);
    if (outcome != SPAD__PTX_DONE || together == lanes) return outcome;
    for (uint32_t rest = together; rest != 0; rest &= rest - 1) w->pc[__builtin_ctz(rest)]++;
    return SPAD__PTX_JUMPED;
}

spad__ptx_outcome spad__ptx_return(spad__ptx_machine *m, spad__ptx_warp *w, uint32_t lanes) {
    spad__ptx_frame *frame = w->frame;
    if (frame->parent < 0) return spad__ptx_end_lanes(m, w, lanes);
    pass_results(m, frame, &w->frames.items[frame->parent], lanes);
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        w->frame_of[__builtin_ctz(rest)] = frame->parent;
        w->pc[__builtin_ctz(rest)] = frame->call + 1;
    }
    frame->lanes &= ~lanes;
    return m->status == SPAD_OK ? SPAD__PTX_JUMPED : SPAD__PTX_FAILED;
}

spad__ptx_outcome spad__ptx_end_lanes(spad__ptx_machine *m, spad__ptx_warp *w, uint32_t lanes) {
    w->exited |= lanes;
    w->waiting &= ~lanes;
    for (size_t n = 1; n < w->frames.count; n++) w->frames.items[n].lanes &= ~lanes;
    m->progress++;
    (void)spad__ptx_begin_event(m, w, lanes, SPAD__PTX_EXITED);
    if (spad__ptx_end_event(m) == SPAD__PTX_FAILED) return SPAD__PTX_FAILED;
    spad__ptx_leave_barriers(m, w);
    return m->status == SPAD_OK ? SPAD__PTX_JUMPED : SPAD__PTX_FAILED;
}

spad__ptx_outcome spad__ptx_run_call(spad__ptx_machine *m, spad__ptx_warp *w,
                                     const spad__ptx_instruction *i, uint32_t lanes) {
    switch (i->op) {
    case SPAD__PTX_OP_CALL: return run_call(m, w, i, lanes);
    case SPAD__PTX_OP_RET: return spad__ptx_return(m, w, lanes);
    case SPAD__PTX_OP_EXIT: return spad__ptx_end_lanes(m, w, lanes);
    default: return trap(m, w, lanes, "the kernel traps");
    }
}
