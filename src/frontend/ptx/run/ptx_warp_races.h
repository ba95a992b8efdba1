/* SPDX-License-Identifier: Apache-2.0
 *
 * Races between lanes of one warp.
 */
#ifndef SPAD_FRONTEND_PTX_WARP_RACES_H
#define SPAD_FRONTEND_PTX_WARP_RACES_H

#include "frontend/ptx/run/ptx_memory.h"

/* The lanes run an instruction that orders lanes of a warp. */
void spad__ptx_meet_lanes(const spad__ptx_machine *m, spad__ptx_warp *w, uint32_t lanes);
/* Compares the accesses of an instruction with earlier ones of other lanes. */
void spad__ptx_compare_lanes(const spad__ptx_touch *t, spad__ptx_machine *m, spad__ptx_warp *w);
void spad__ptx_words_free(const spad__ptx_machine *m, spad__ptx_cta *cta);

#endif
