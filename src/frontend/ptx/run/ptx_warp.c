/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs one warp. Lanes with one program counter in one frame are a group; of the groups that can go
 * on, the one in the deepest frame and there the one with the lowest program counter runs, until it
 * reaches the program counter of another one, blocks, or ends. That reconverges where compilers
 * expect it: code is laid out so that a join lies behind its branches.
 *
 * Reference: PTX ISA 9.0, sections 3.1 (SIMT), 9.3 (predicated execution).
 */
#include "frontend/ptx/run/ptx_warp.h"

#include "frontend/ptx/run/ptx_flow.h"
#include "frontend/ptx/run/ptx_products.h"
#include "frontend/ptx/run/ptx_warp_races.h"

enum { STEPS_PER_TURN = 1 << 20, STEPS_PER_POLL = 1 << 13 };

typedef struct lane_group {
    uint32_t lanes;
    int32_t pc;
    int32_t limit; /* the next program counter with other lanes of the frame */
    int32_t end;   /* of the function */
    bool alone;    /* no other lanes are left */
} lane_group;

/* ---- groups ------------------------------------------------------------------------------------
 */

static bool lane_comes_first(const spad__ptx_warp *w, int lane, int other) {
    const int32_t depth = w->frames.items[w->frame_of[lane]].depth;
    const int32_t other_depth = w->frames.items[w->frame_of[other]].depth;
    return depth != other_depth ? depth > other_depth : w->pc[lane] < w->pc[other];
}

static bool pick_group(spad__ptx_warp *w, lane_group *g) {
    const uint32_t alive = spad__ptx_alive(w);
    uint32_t rest = alive & ~w->waiting;
    if (rest == 0) return false;
    int first = __builtin_ctz(rest);
    for (rest &= rest - 1; rest != 0; rest &= rest - 1) {
        const int l = __builtin_ctz(rest);
        if (lane_comes_first(w, l, first)) first = l;
    }
    *g = (lane_group){.pc = w->pc[first], .limit = INT32_MAX};
    w->current = w->frame_of[first];
    w->frame = &w->frames.items[w->current];
    g->end = w->frame->function->first_instruction + w->frame->function->instruction_count;
    for (rest = alive; rest != 0; rest &= rest - 1) {
        const int l = __builtin_ctz(rest);
        if (w->frame_of[l] != w->current) continue;
        if (w->pc[l] == g->pc) {
            g->lanes |= UINT32_C(1) << l;
        } else if (w->pc[l] > g->pc && w->pc[l] < g->limit) {
            g->limit = w->pc[l];
        }
    }
    w->waiting &= ~g->lanes;
    g->alone = g->lanes == alive;
    return true;
}

static void store_pc(spad__ptx_warp *w, uint32_t lanes, int32_t pc) {
    for (int l = 0; l < SPAD__PTX_LANES; l++) {
        if (lanes >> l & 1) w->pc[l] = pc;
    }
}

/* ---- guards ------------------------------------------------------------------------------------
 */

static uint32_t true_lanes(const spad__ptx_value *predicate, bool negated) {
    uint32_t lanes = 0;
    for (int l = 0; l < SPAD__PTX_LANES; l++) {
        lanes |= (uint32_t)(predicate->lanes[l] & 1) << l;
    }
    return (negated ? ~lanes : lanes) & predicate->known;
}

/* The lanes of a group by their guard. */
typedef struct split {
    uint32_t active;
    uint32_t unknown;
    uint32_t rest;
} split;

static split split_by_guard(const spad__ptx_warp *w, const spad__ptx_instruction *i,
                            uint32_t lanes) {
    if (i->guard < 0) return (split){.active = lanes};
    const spad__ptx_value *predicate = &w->frame->registers[i->guard];
    const uint32_t active = lanes & true_lanes(predicate, i->guard_negated);
    const uint32_t unknown = lanes & ~predicate->known;
    return (split){active, unknown, lanes & ~active & ~unknown};
}

/* Threads may trap, but a trap is not what anybody wants to see of a kernel. */
static bool is_trap(const spad__ptx_machine *m, const spad__ptx_instruction *i) {
    return i->op == SPAD__PTX_OP_TRAP || spad__ptx_calls_assert(m->module, i);
}

/* What becomes of lanes whose guard is not known: most instructions take them as lanes that may run
 * it, and only synchronisation needs a decision. */
static void settle_unknown(spad__ptx_machine *m, spad__ptx_warp *w, const spad__ptx_instruction *i,
                           spad__ptx_effect effect, split *s) {
    switch (effect) {
    case SPAD__PTX_PURE: spad__ptx_forget(m, w, spad__ptx_operand_at(m, i, 0), s->unknown); break;
    case SPAD__PTX_LOAD:
    case SPAD__PTX_STORE:
    case SPAD__PTX_ATOMIC_LOAD:
    case SPAD__PTX_ATOMIC_STORE:
        m->maybe |= s->unknown;
        s->active |= s->unknown;
        break;
    case SPAD__PTX_HINT: break;
    default:
        if (is_trap(m, i) || !spad__ptx_choose(m, w, s->unknown)) {
            s->rest |= s->unknown;
        } else {
            s->active |= s->unknown;
        }
        break;
    }
    s->unknown = 0;
}

/* ---- steps -------------------------------------------------------------------------------------
 */

static bool count_step(spad__ptx_machine *m) {
    const int64_t steps = ++m->result->steps;
    if (steps > m->launch->most_steps) {
        m->status = spad__fail(m->error, SPAD_ERR_TIME,
                               "the kernel runs for more than %lld instructions; run a smaller "
                               "problem, or allow more",
                               (long long)m->launch->most_steps);
        return false;
    }
    spad__limit *limit = m->launch->limit;
    if (steps % STEPS_PER_POLL != 0 || limit == NULL || !spad__limit_reached(limit)) return true;
    m->status = spad__limit_fail(limit, steps, "instructions", m->error);
    return false;
}

static spad__ptx_outcome run_instruction(spad__ptx_machine *m, spad__ptx_warp *w,
                                         const spad__ptx_instruction *i, lane_group *g, split *s) {
    spad__ptx_runs *run = spad__ptx_run_of(i->op);
    const spad__ptx_effect effect = spad__ptx_effect_of(i->op);
    if (i->op == SPAD__PTX_OP_BRA || i->op == SPAD__PTX_OP_BRX_IDX) {
        return spad__ptx_branch(m, w, i, s->active, s->unknown, s->rest);
    }
    m->maybe = w->maybe & s->active;
    if (run == NULL) return spad__ptx_unsupported(m, i, "it is not known");
    if (s->unknown != 0) settle_unknown(m, w, i, effect, s);
    if (s->active == 0) return SPAD__PTX_DONE;
    if (w->products != NULL) spad__ptx_products_see(m, w, i);
    if (effect == SPAD__PTX_OTHER_EFFECT || effect == SPAD__PTX_CONTROL) {
        store_pc(w, g->lanes, g->pc);
    }
    if (effect == SPAD__PTX_OTHER_EFFECT && i->op != SPAD__PTX_OP_ACTIVEMASK)
        spad__ptx_meet_lanes(m, w, s->active);
    if (spad__ptx_may_release(i)) spad__ptx_release_lanes(m, w, s->active);
    const spad__ptx_outcome outcome = run(m, w, i, s->active);
    m->maybe = 0;
    return outcome;
}

/* Most branches: all lanes go the same way. */
static bool branch_together(spad__ptx_machine *m, spad__ptx_warp *w, const spad__ptx_instruction *i,
                            lane_group *g, const split *s) {
    if (i->op != SPAD__PTX_OP_BRA || s->unknown != 0) return false;
    if (s->active == 0) {
        g->pc++;
        return true;
    }
    if (s->rest != 0) return false;
    const spad__ptx_function *f = w->frame->function;
    const int32_t target =
        f->first_instruction + (int32_t)m->module->operands.items[i->first].value;
    if (target <= g->pc && (!g->alone || spad__ptx_spins(m, w, g->lanes))) return false;
    g->pc = target;
    return true;
}

/* Lanes that may have been somewhere are at the join: they take the other way, or are back. False:
 * some take the other way. */
static bool settle_maybe(spad__ptx_warp *w, const lane_group *g) {
    bool moved = false;
    for (uint32_t rest = w->maybe & g->lanes; rest != 0; rest &= rest - 1) {
        const int l = __builtin_ctz(rest);
        if (w->maybe_until[l] != g->pc) continue;
        w->carry_known &= ~(UINT32_C(1) << l);
        if (w->maybe_next[l] < 0) {
            w->maybe &= ~(UINT32_C(1) << l);
            continue;
        }
        if (!moved) store_pc(w, g->lanes, g->pc);
        w->pc[l] = w->maybe_next[l];
        w->maybe_next[l] = -1;
        moved = true;
    }
    return !moved;
}

/* One step of a group. False: its lanes have to be looked at again. */
static bool step_group(spad__ptx_machine *m, spad__ptx_warp *w, lane_group *g) {
    m->at = g->pc;
    if ((w->maybe & g->lanes) != 0 && !settle_maybe(w, g)) return false;
    if (!count_step(m)) return false;
    if (g->pc >= g->end) {
        (void)spad__ptx_return(m, w, g->lanes);
        return false;
    }
    const spad__ptx_instruction *i = &m->module->instructions.items[g->pc];
    m->result->executed.items[g->pc] = 1;
    split s = split_by_guard(w, i, g->lanes);
    if (branch_together(m, w, i, g, &s)) return true;
    switch (run_instruction(m, w, i, g, &s)) {
    case SPAD__PTX_DONE: g->pc++; return true;
    case SPAD__PTX_JUMPED: store_pc(w, g->lanes & ~s.active & ~s.unknown, g->pc + 1); return false;
    case SPAD__PTX_BLOCKED:
        store_pc(w, s.active, g->pc);
        store_pc(w, g->lanes & ~s.active, g->pc + 1);
        w->waiting |= s.active;
        return false;
    default: return false;
    }
}

/* Has the turn of a warp ended? */
static bool ends_turn(const spad__ptx_machine *m, const spad__ptx_warp *w, int64_t steps,
                      int64_t events) {
    const bool gives_way = m->hurried && !w->hurries && m->result->events > events;
    return steps >= STEPS_PER_TURN || m->ended || m->yields || gives_way;
}

static void run_group(spad__ptx_machine *m, spad__ptx_warp *w, lane_group *g, int64_t *steps,
                      int64_t events) {
    do {
        ++*steps;
        if (!step_group(m, w, g)) return;
    } while (g->pc < g->limit && !ends_turn(m, w, *steps, events));
    store_pc(w, g->lanes, g->pc);
}

bool spad__ptx_run_warp(spad__ptx_machine *m, spad__ptx_warp *w) {
    lane_group g;
    int64_t steps = 0;
    const int64_t events = m->result->events;
    w->waiting = 0;
    w->spinning = false;
    m->yields = false;
    while (m->status == SPAD_OK && pick_group(w, &g)) {
        if (ends_turn(m, w, steps, events)) {
            store_pc(w, g.lanes, g.pc);
            if (m->yields) w->yielded = ++m->strong_writes;
            return true;
        }
        run_group(m, w, &g, &steps, events);
    }
    return false;
}
