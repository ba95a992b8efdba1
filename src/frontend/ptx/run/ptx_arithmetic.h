/* SPDX-License-Identifier: Apache-2.0
 *
 * What integer and float arithmetic have in common.
 */
#ifndef SPAD_FRONTEND_PTX_ARITHMETIC_H
#define SPAD_FRONTEND_PTX_ARITHMETIC_H

#include "frontend/ptx/run/ptx_state.h"

/* The rest of setp and set: the results of a comparison (0 or 1), combined with the third source
 * where there is one, go to both destinations. */
spad__ptx_outcome spad__ptx_finish_compare(spad__ptx_machine *m, spad__ptx_warp *w,
                                           const spad__ptx_instruction *i, uint32_t lanes,
                                           const spad__ptx_value *compared);

#define SPAD__PTX_EACH_LANE for (int l = 0; l < SPAD__PTX_LANES; l++)

static inline int64_t spad__ptx_signed(uint64_t value, unsigned bits) {
    return (int64_t)(value << (64 - bits)) >> (64 - bits);
}

#endif
