/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts about each opcode, and the parts of a step that several files share.
 */
#ifndef SPAD_FRONTEND_PTX_WARP_H
#define SPAD_FRONTEND_PTX_WARP_H

#include "frontend/ptx/run/ptx_state.h"

/* The effects of an instruction beyond its own lane's registers. */
typedef enum spad__ptx_effect {
    SPAD__PTX_OTHER_EFFECT, /* of synchronisation, asynchronous work or several lanes */
    SPAD__PTX_PURE,         /* writes operand 0 (and what is after "|") */
    SPAD__PTX_LOAD,
    SPAD__PTX_STORE,
    SPAD__PTX_ATOMIC_LOAD, /* atom: operand 0 and memory */
    SPAD__PTX_ATOMIC_STORE,
    SPAD__PTX_HINT,   /* nothing that we see */
    SPAD__PTX_CONTROL /* branches, calls, ends */
} spad__ptx_effect;

spad__ptx_effect spad__ptx_effect_of(spad__ptx_op op); /* ptx_effect.c */
/* What executes an opcode; NULL: nothing does (ptx_dispatch.c). */
spad__ptx_runs *spad__ptx_run_of(spad__ptx_op op);

/* A remark about lanes that execute an instruction whose mask leaves them out. */
void spad__ptx_check_mask(spad__ptx_machine *m, const spad__ptx_warp *w,
                          const spad__ptx_value *masks, uint32_t lanes);

static inline uint32_t spad__ptx_alive(const spad__ptx_warp *w) {
    return w->threads & ~w->exited;
}

/* Runs a warp until none of its lanes can go on, or for many steps (then true is returned, and it
 * can go on). */
bool spad__ptx_run_warp(spad__ptx_machine *m, spad__ptx_warp *w);

/* Ends lanes: an event, and barriers do not wait for them. Program counters stay. */
spad__ptx_outcome spad__ptx_end_lanes(spad__ptx_machine *m, spad__ptx_warp *w, uint32_t lanes);

/* bra and brx.idx (ptx_branch.c): `lanes` are those whose guard holds, `unknown` those for which it
 * is not known, and `rest` those for which it does not. Sets all of their program counters. */
spad__ptx_outcome spad__ptx_branch(spad__ptx_machine *m, spad__ptx_warp *w,
                                   const spad__ptx_instruction *i, uint32_t lanes, uint32_t unknown,
                                   uint32_t rest);
/* True: the loop that this branch back closes repeats itself, and only others can change that. */
bool spad__ptx_spins(spad__ptx_machine *m, spad__ptx_warp *w, uint32_t lanes);
/* The decision for lanes whose guard is not known; makes the remark. */
bool spad__ptx_choose(spad__ptx_machine *m, spad__ptx_warp *w, uint32_t unknown);

/* The first frame of a warp (ptx_call.c). False: no memory. */
bool spad__ptx_enter_kernel(spad__ptx_machine *m, spad__ptx_warp *w);
/* The lanes return from their frame. */
spad__ptx_outcome spad__ptx_return(spad__ptx_machine *m, spad__ptx_warp *w, uint32_t lanes);
void spad__ptx_frames_free(spad__ptx_machine *m, spad__ptx_warp *w);

#endif
