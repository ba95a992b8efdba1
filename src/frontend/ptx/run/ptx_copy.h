/* SPDX-License-Identifier: Apache-2.0
 *
 * What bulk copies and copies of tensors share: the mbarrier that gets their bytes, and the CTAs
 * that a multicast copy writes to.
 *
 * Reference: PTX ISA 9.0, section 9.7.9.25 (asynchronous copies).
 */
#ifndef SPAD_FRONTEND_PTX_COPY_H
#define SPAD_FRONTEND_PTX_COPY_H

#include "frontend/ptx/run/ptx_async.h"

spad__ptx_runs spad__ptx_run_tensor_copy; /* ptx_tensor_copy.c */

/* One copy to shared memory, of one lane. */
typedef struct spad__ptx_delivery {
    int lane;
    uint32_t ctas; /* that it writes to */
    spad__ptx_place to;
    spad__ptx_place barrier; /* as the instruction names it */
    bool pair;     /* .cta_group::2: of the CTAs of a pair, the barrier's address says which */
    int64_t bytes; /* that the barrier gets */
    int64_t there; /* of them, those that shared memory has a place for */
} spad__ptx_delivery;

/* Copies `bytes`: `from_source` of them from the source, then zeros. */
void spad__ptx_move_bytes(spad__ptx_machine *m, spad__ptx_warp *w, spad__ptx_place from,
                          spad__ptx_place to, int64_t bytes, int64_t from_source);
/* The CTAs of a copy: its mask, or the one of its destination. */
uint32_t spad__ptx_copy_ctas(spad__ptx_machine *m, spad__ptx_warp *w,
                             const spad__ptx_instruction *i, const spad__ptx_operand *mask,
                             int lane, int32_t own);
/* The place of the barrier that a copy to a CTA signals. */
spad__ptx_place spad__ptx_signalled(const spad__ptx_delivery *d, int32_t cta);
/* Bytes that the barrier of a copy still waits for: what a copy of unknown size is taken to have.
 */
int64_t spad__ptx_outstanding(spad__ptx_machine *m, const spad__ptx_delivery *d);
/* Ends the event of a copy to a CTA, and delivers its bytes. */
spad__ptx_outcome spad__ptx_end_delivery(spad__ptx_machine *m, const spad__ptx_delivery *d,
                                         int32_t cta);
/* Bytes of a copy from or to a place of shared memory that are there; a remark says where others
 * would be, or that the place is not a multiple of `align`. */
int64_t spad__ptx_check_copy(spad__ptx_machine *m, spad__ptx_warp *w, int lane,
                             spad__ptx_place place, int64_t align, int64_t bytes);

#endif
