/* SPDX-License-Identifier: Apache-2.0
 *
 * Branches. A condition that is not known leaves four ways: to skip what only computes, up to
 * where both ways join; not to enter code that always traps; to run both ways as accesses that may
 * happen, if they have neither loops nor synchronisation; and otherwise to ask the caller.
 *
 * A loop whose end depends on data is left after MOST_STAYS turns. A loop that repeats itself waits
 * for what other threads write, like a barrier: it blocks, and is left if no thread writes it.
 *
 * Reference: PTX ISA 9.0, section 9.7.12 (control flow).
 */
#include <string.h>

#include "frontend/ptx/run/ptx_flow.h"
#include "frontend/ptx/run/ptx_warp.h"

enum { MOST_STAYS = 8, FIRST_COPY = 64 };

static void jump(spad__ptx_warp *w, uint32_t lanes, int32_t pc) {
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) w->pc[__builtin_ctz(rest)] = pc;
}

/* ---- loops that repeat themselves ---------------------------------------------------------------
 */

static void copy_registers(spad__ptx_machine *m, spad__ptx_warp *w) {
    spad__ptx_spin *spin = &w->spin;
    const int64_t count = w->frame->register_count;
    spin->count = 0;
    spin->next_copy = 2 * spin->turns;
    if (count > spin->capacity) {
        spad__free(m->host, spin->copy, (size_t)spin->capacity * sizeof *spin->copy);
        spin->capacity = 0;
        spin->copy = spad__new_array(m->host, (size_t)count, sizeof *spin->copy);
        if (spin->copy == NULL) {
            (void)spad__ptx_no_memory(m);
            return;
        }
        spin->capacity = count;
    }
    memcpy(spin->copy, w->frame->registers, (size_t)count * sizeof *spin->copy);
    spin->count = count;
    spin->stores = w->stores + m->progress;
}

/* Copies are made at turns that are powers of 2, so that a period of any length is found (Brent).
 */
bool spad__ptx_spins(spad__ptx_machine *m, spad__ptx_warp *w, uint32_t lanes) {
    spad__ptx_spin *spin = &w->spin;
    if (spin->instruction != m->at || spin->frame != w->current || spin->lanes != lanes) {
        spin->instruction = m->at;
        spin->frame = w->current;
        spin->lanes = lanes;
        spin->turns = 0;
        spin->next_copy = FIRST_COPY;
        spin->count = 0;
    }
    spin->turns++;
    if (spin->count > 0 && spin->stores == w->stores + m->progress &&
        memcmp(spin->copy, w->frame->registers, (size_t)spin->count * sizeof *spin->copy) == 0) {
        return true;
    }
    if (spin->turns >= spin->next_copy) copy_registers(m, w);
    return false;
}

/* The lanes spin at a branch back. */
static spad__ptx_outcome settle_spin(spad__ptx_machine *m, spad__ptx_warp *w,
                                     const spad__ptx_instruction *i, uint32_t lanes) {
    w->spin.instruction = -1;
    if (!m->leave_spins) {
        w->spinning = true;
        return SPAD__PTX_BLOCKED;
    }
    m->left_spin = true;
    m->progress++;
    if (i->guard >= 0) {
        spad__ptx_remark_at(m, w, SPAD__PTX_SPIN, __builtin_ctz(lanes), 0, 0, "%s",
                            "nothing that runs ends this loop: it was left");
    } else {
        spad__ptx_remark_at(m, w, SPAD__PTX_ENDLESS, __builtin_ctz(lanes), 0, 0, "%s",
                            "this loop has no end, and its threads were ended");
        m->result->stuck = true;
        return spad__ptx_end_lanes(m, w, lanes);
    }
    jump(w, lanes, m->at + 1);
    return SPAD__PTX_JUMPED;
}

/* ---- decisions ----------------------------------------------------------------------------------
 */

bool spad__ptx_choose(spad__ptx_machine *m, spad__ptx_warp *w, uint32_t unknown) {
    spad__ptx_remark_at(m, w, SPAD__PTX_BRANCH_ON_DATA, __builtin_ctz(unknown), 0, 0, "%s",
                        "its condition is not known, and the run went one way");
    const spad__ptx_choices *c = m->choices;
    if (c == NULL || c->choose == NULL) return false;
    return c->choose(c->context, SPAD__PTX_BRANCH_ON_DATA, m->at, w->cta, w->number);
}

/* True: the warp has chosen to stay often enough. */
static bool has_stayed(spad__ptx_machine *m, spad__ptx_warp *w, bool stays) {
    spad__ptx_stay *found = NULL;
    for (size_t n = 0; n < w->stays.count && found == NULL; n++) {
        if (w->stays.items[n].instruction == m->at) found = &w->stays.items[n];
    }
    if (found == NULL) {
        if (!spad__array_reserve(m->host, &w->stays, 1)) {
            (void)spad__ptx_no_memory(m);
            return true;
        }
        found = &w->stays.items[w->stays.count++];
        *found = (spad__ptx_stay){.instruction = m->at};
    }
    if (stays && found->times < MOST_STAYS) {
        found->times++;
        return false;
    }
    found->times = 0;
    return stays;
}

static bool choose_way(spad__ptx_machine *m, spad__ptx_warp *w, spad__ptx_flow *flow,
                       spad__ptx_block *block, uint32_t unknown) {
    const spad__ptx_stays stays = spad__ptx_which_stays(flow, block);
    const bool taken = spad__ptx_choose(m, w, unknown);
    if (stays == SPAD__PTX_STAYS_NEITHER) return taken;
    const bool in_loop = taken == (stays == SPAD__PTX_STAYS_TAKEN);
    return has_stayed(m, w, in_loop) ? !taken : taken;
}

/* ---- what is skipped
 * ----------------------------------------------------------------------------- */

static void forget_written(spad__ptx_machine *m, spad__ptx_warp *w, const spad__ptx_block *block,
                           uint32_t lanes) {
    for (int32_t k = block->first; k <= block->last; k++) {
        const spad__ptx_instruction *i = &m->module->instructions.items[k];
        const spad__ptx_effect effect = spad__ptx_effect_of(i->op);
        const bool writes = effect == SPAD__PTX_PURE || effect == SPAD__PTX_LOAD ||
                            effect == SPAD__PTX_ATOMIC_LOAD || i->op == SPAD__PTX_OP_ACTIVEMASK;
        if (writes) spad__ptx_forget(m, w, spad__ptx_operand_at(m, i, 0), lanes);
    }
}

static void forget_local(const spad__ptx_warp *w, uint32_t lanes) {
    for (int64_t n = 0; n < w->local_bytes; n++) {
        for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
            w->local_known[n * SPAD__PTX_LANES + __builtin_ctz(rest)] = 0;
        }
    }
}

/* The lanes go on where the ways join; what was computed on the way is not known. */
static void skip_to_join(spad__ptx_machine *m, spad__ptx_warp *w, const spad__ptx_flow *flow,
                         const spad__ptx_block *branch, uint32_t lanes) {
    for (int32_t n = 0; n < flow->between_count; n++) {
        forget_written(m, w, &flow->blocks[flow->between[n]], lanes);
    }
    w->carry_known &= ~lanes;
    if (branch->stores) {
        forget_local(w, lanes);
        (void)spad__ptx_forget_global(m);
        w->stores++;
    }
    jump(w, lanes, flow->blocks[branch->join].first);
}

static bool is_doomed(const spad__ptx_flow *flow, const spad__ptx_block *block, int32_t edge) {
    const int32_t next = flow->edges[block->first_edge + edge];
    return next < flow->block_count && flow->blocks[next].doomed;
}

/* Runs what lies between a branch and its join for lanes that may go there: both ways, one after
 * the other. Within such a part, only branches over one way can be followed so. */
static bool go_both_ways(spad__ptx_machine *m, spad__ptx_warp *w, spad__ptx_flow *flow,
                         spad__ptx_block *branch, uint32_t lanes, int32_t target) {
    if (!spad__ptx_can_guard(m, flow, branch)) return false;
    const int32_t join = flow->blocks[branch->join].first;
    const int32_t next = m->at + 1;
    const bool both = target != join && next != join;
    if (both && (w->maybe & lanes) != 0) return false;
    for (uint32_t rest = lanes & ~w->maybe; rest != 0; rest &= rest - 1) {
        const int l = __builtin_ctz(rest);
        w->maybe_until[l] = join;
        w->maybe_next[l] = both ? next : -1;
    }
    w->maybe |= lanes;
    jump(w, lanes, target != join ? target : next);
    return true;
}

/* Lanes whose way is not known, at a bra with a guard. */
static void branch_unknown(spad__ptx_machine *m, spad__ptx_warp *w, uint32_t lanes,
                           int32_t target) {
    spad__ptx_flow *flow = spad__ptx_flow_of(m, w->frame->function);
    if (flow == NULL) return;
    spad__ptx_block *block = spad__ptx_block_of(flow, m->at);
    if (spad__ptx_can_skip(m, flow, block)) {
        skip_to_join(m, w, flow, block, lanes);
        return;
    }
    if (spad__ptx_awaits_blocks(m, flow, block)) {
        const bool stays_taken = spad__ptx_which_stays(flow, block) == SPAD__PTX_STAYS_TAKEN;
        spad__ptx_remark_at(m, w, SPAD__PTX_AWAITS_BLOCKS, __builtin_ctz(lanes), 0, 0, "%s",
                            "it was left");
        jump(w, lanes, stays_taken ? m->at + 1 : target);
        return;
    }
    const bool doomed_taken = is_doomed(flow, block, 0);
    const bool doomed_next = block->edge_count > 1 && is_doomed(flow, block, 1);
    const bool decided = doomed_taken != doomed_next;
    if (!decided && go_both_ways(m, w, flow, block, lanes, target)) return;
    const bool taken = decided ? doomed_next : choose_way(m, w, flow, block, lanes);
    jump(w, lanes, taken ? target : m->at + 1);
}

/* ---- instructions
 * -------------------------------------------------------------------------------- */

static spad__ptx_outcome run_bra(spad__ptx_machine *m, spad__ptx_warp *w,
                                 const spad__ptx_instruction *i, uint32_t lanes, uint32_t unknown,
                                 uint32_t rest) {
    const spad__ptx_operand *label = spad__ptx_operand_at(m, i, 0);
    if (label == NULL || label->kind != SPAD__PTX_LABEL) {
        return spad__ptx_unsupported(m, i, "it has no label");
    }
    const int32_t target = w->frame->function->first_instruction + (int32_t)label->value;
    if (unknown != 0) branch_unknown(m, w, unknown, target);
    if (m->status != SPAD_OK) return SPAD__PTX_FAILED;
    if (unknown == 0 && lanes != 0 && target <= m->at && spad__ptx_spins(m, w, lanes)) {
        jump(w, rest, m->at + 1);
        return settle_spin(m, w, i, lanes);
    }
    jump(w, lanes, target);
    jump(w, rest, m->at + 1);
    return SPAD__PTX_JUMPED;
}

/* Lanes whose index is not known all take one entry: the caller answers for one after the other. */
static int32_t choose_entry(spad__ptx_machine *m, spad__ptx_warp *w, uint32_t lanes,
                            const int32_t *targets, int32_t count) {
    spad__ptx_flow *flow = spad__ptx_flow_of(m, w->frame->function);
    if (flow == NULL) return -1;
    spad__ptx_block *block = spad__ptx_block_of(flow, m->at);
    if (spad__ptx_can_skip(m, flow, block)) {
        skip_to_join(m, w, flow, block, lanes);
        return -1;
    }
    for (int32_t n = 0; n + 1 < count; n++) {
        if (spad__ptx_choose(m, w, lanes)) return targets[n];
    }
    return targets[count - 1];
}

static spad__ptx_outcome run_brx(spad__ptx_machine *m, spad__ptx_warp *w,
                                 const spad__ptx_instruction *i, uint32_t lanes, uint32_t rest) {
    const spad__ptx_operand *list = spad__ptx_operand_at(m, i, 1);
    const spad__ptx_function *f = w->frame->function;
    if (list == NULL || list->kind != SPAD__PTX_TABLE || list->value < 0) {
        return spad__ptx_unsupported(m, i, "it has no list of targets");
    }
    const spad__ptx_branch_table *table = &m->module->tables.items[f->first_table + list->value];
    const int32_t *targets = &m->module->targets.items[table->first];
    if (table->count == 0) return spad__ptx_unsupported(m, i, "its list of targets is empty");
    spad__ptx_value index;
    spad__ptx_get(m, w, spad__ptx_operand_at(m, i, 0), SPAD__PTX_U32, &index);
    const uint32_t unknown = lanes & ~index.known;
    for (uint32_t l = lanes & index.known; l != 0; l &= l - 1) {
        const int lane = __builtin_ctz(l);
        const uint64_t n = index.lanes[lane];
        const int32_t last = table->count - 1;
        w->pc[lane] = f->first_instruction + targets[n < (uint64_t)last ? (int32_t)n : last];
    }
    if (unknown != 0) {
        const int32_t target = choose_entry(m, w, unknown, targets, table->count);
        if (target >= 0) jump(w, unknown, f->first_instruction + target);
    }
    jump(w, rest, m->at + 1);
    return m->status == SPAD_OK ? SPAD__PTX_JUMPED : SPAD__PTX_FAILED;
}

spad__ptx_outcome spad__ptx_branch(spad__ptx_machine *m, spad__ptx_warp *w,
                                   const spad__ptx_instruction *i, uint32_t lanes, uint32_t unknown,
                                   uint32_t rest) {
    if (i->op == SPAD__PTX_OP_BRA) return run_bra(m, w, i, lanes, unknown, rest);
    if (unknown != 0) {
        if (spad__ptx_choose(m, w, unknown)) {
            lanes |= unknown;
        } else {
            rest |= unknown;
        }
    }
    if (lanes == 0) {
        jump(w, rest, m->at + 1);
        return SPAD__PTX_JUMPED;
    }
    return run_brx(m, w, i, lanes, rest);
}
