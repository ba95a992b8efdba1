/* SPDX-License-Identifier: Apache-2.0
 *
 * Races between lanes of one warp.
 */
#ifndef SPAD_FRONTEND_PTX_WARP_RACES_H
#define SPAD_FRONTEND_PTX_WARP_RACES_H

#include "frontend/ptx/run/ptx_memory.h"

/* The lanes run an instruction that orders lanes of a warp. */
void spad__ptx_meet_lanes(const spad__ptx_machine *m, spad__ptx_warp *w, uint32_t lanes);
/* Can other warps see by an instruction that its lanes have come so far? */
bool spad__ptx_may_release(const spad__ptx_instruction *i);
void spad__ptx_release_lanes(const spad__ptx_machine *m, spad__ptx_warp *w, uint32_t lanes);
/* The event in the making, whose accesses are asynchronous: the same for what it reads or writes.
 */
void spad__ptx_compare_copy(spad__ptx_machine *m);
/* Compares the accesses of an instruction with earlier ones of other lanes. */
void spad__ptx_compare_lanes(const spad__ptx_touch *t, spad__ptx_machine *m, spad__ptx_warp *w);
void spad__ptx_words_free(const spad__ptx_machine *m, spad__ptx_cta *cta);

#endif
