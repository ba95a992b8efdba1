/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files for synchronisation and asynchronous work: places of lanes, waiting for a
 * whole warp, marks of blocked lanes.
 */
#ifndef SPAD_FRONTEND_PTX_ASYNC_H
#define SPAD_FRONTEND_PTX_ASYNC_H

#include "frontend/ptx/run/ptx_state.h"

/* ---- marks of blocked lanes --------------------------------------------------------------------
 * A lane with its bit in warp->arrived has a ticket: what it waits for in the high bits. */
typedef enum spad__ptx_mark {
    SPAD__PTX_MARK_NONE,
    SPAD__PTX_MARK_ARRIVED,  /* at a barrier of the CTA */
    SPAD__PTX_MARK_RELEASED, /* from it; the event is still to be made */
    SPAD__PTX_MARK_REPORTED, /* the event was made for it by another group of its warp */
    SPAD__PTX_MARK_WARP,     /* at bar.warp.sync; low bits: mask */
    SPAD__PTX_MARK_PEEK      /* at a peek that is to answer true */
} spad__ptx_mark;

enum { SPAD__PTX_MARK_SHIFT = 60 };

static inline uint64_t spad__ptx_ticket(spad__ptx_mark mark, uint64_t low) {
    return (uint64_t)mark << SPAD__PTX_MARK_SHIFT |
           (low & ((UINT64_C(1) << SPAD__PTX_MARK_SHIFT) - 1));
}

static inline uint64_t spad__ptx_ticket_low(uint64_t ticket) {
    return ticket & ((UINT64_C(1) << SPAD__PTX_MARK_SHIFT) - 1);
}

static inline spad__ptx_mark spad__ptx_mark_of(const spad__ptx_warp *w, int lane) {
    if ((w->arrived >> lane & 1) == 0) return SPAD__PTX_MARK_NONE;
    return (spad__ptx_mark)(w->ticket[lane] >> SPAD__PTX_MARK_SHIFT);
}

static inline uint32_t spad__ptx_live(const spad__ptx_warp *w) {
    return w->threads & ~w->exited;
}

static inline int spad__ptx_first_lane(uint32_t lanes) {
    return __builtin_ctz(lanes);
}

static inline int64_t spad__ptx_lane_count(uint32_t lanes) {
    return __builtin_popcount(lanes);
}

void spad__ptx_mark_lanes(spad__ptx_warp *w, uint32_t lanes, uint64_t ticket);
/* For .aligned: BLOCKED while other lanes of the warp may still come. When nothing else happens,
 * they do not come: DONE with a remark, and the lanes go on alone. */
spad__ptx_outcome spad__ptx_gather(spad__ptx_machine *m, spad__ptx_warp *w, uint32_t lanes);
/* `released` of `lanes` are over the instruction, the others stay where they are. */
spad__ptx_outcome spad__ptx_release(const spad__ptx_machine *m, spad__ptx_warp *w, uint32_t lanes,
                                    uint32_t released);
/* May a lane that waits without need go on now? Only one does for each stall. */
bool spad__ptx_gives_up(spad__ptx_machine *m);

/* ---- operands ---------------------------------------------------------------------------------
 */

/* Where an address operand leads, lane by lane. */
typedef struct spad__ptx_places {
    spad__ptx_place at[SPAD__PTX_LANES];
    uint32_t known;
} spad__ptx_places;

/* Lanes whose address is not known are left out, with a remark; get_shared leaves out those as well
 * whose `bytes` are not in shared memory. space: of the address; NO_SPACE: generic. */
void spad__ptx_get_places(spad__ptx_machine *m, spad__ptx_warp *w, const spad__ptx_operand *operand,
                          spad__ptx_space space, uint32_t lanes, spad__ptx_places *out);
void spad__ptx_get_shared(spad__ptx_machine *m, spad__ptx_warp *w, const spad__ptx_operand *operand,
                          spad__ptx_space space, uint32_t lanes, int64_t bytes,
                          spad__ptx_places *out);
/* Are the bytes from a place on in the shared memory of a CTA? */
bool spad__ptx_is_shared(const spad__ptx_machine *m, spad__ptx_place place, int64_t bytes);
/* The lanes of *left with the place of the first one; they are taken from *left. */
uint32_t spad__ptx_take_same(const spad__ptx_places *places, uint32_t *left);

/* The number of 32 bits that an operand has in all lanes. Where it is not known, or lanes differ,
 * `assumed` with a remark; `what` is its name there. */
int64_t spad__ptx_number(spad__ptx_machine *m, spad__ptx_warp *w, const spad__ptx_operand *operand,
                         uint32_t lanes, int64_t assumed, const char *what);
/* The first operand of a kind; -1: none. */
int32_t spad__ptx_find_operand(const spad__ptx_machine *m, const spad__ptx_instruction *i,
                               spad__ptx_operand_kind kind, int32_t from);

/* ---- events -----------------------------------------------------------------------------------
 */

spad__ptx_outcome spad__ptx_fence_event(spad__ptx_machine *m, const spad__ptx_warp *w,
                                        uint32_t lanes, spad__ptx_fence fence);
spad__ptx_outcome spad__ptx_commit_event(spad__ptx_machine *m, const spad__ptx_warp *w,
                                         uint32_t lanes, spad__ptx_group group);
spad__ptx_outcome spad__ptx_wait_event(spad__ptx_machine *m, const spad__ptx_warp *w,
                                       uint32_t lanes, spad__ptx_group group, int64_t pending,
                                       bool reads);
/* Threads that have not exited. */
int64_t spad__ptx_live_threads(const spad__ptx_machine *m, int32_t cta);

/* ---- mbarriers (ptx_mbarrier.c) ---------------------------------------------------------------
 */

/* Raises the bytes that the phase waits for. */
void spad__ptx_expect(spad__ptx_machine *m, spad__ptx_mbarrier *b, int64_t bytes);
/* Is the try_wait or test_wait that runs repeated until it is true, with nothing else happening
 * (ptx_wait_loop.c)? */
bool spad__ptx_is_wait_loop(const spad__ptx_machine *m, const spad__ptx_warp *w);

/* ---- accesses ---------------------------------------------------------------------------------
 */

/* Bytes of shared memory from a place on are read or written: adds the run to the event. */
void spad__ptx_add_place(spad__ptx_machine *m, spad__ptx_place place, int64_t bytes);
/* The object of the event: the mbarrier at a place. */
spad__ptx_object spad__ptx_object_at(spad__ptx_place place);

#endif
