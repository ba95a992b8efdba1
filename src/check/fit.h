/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes in parts, and pieces of the text of a fit, for notes about an analysis.
 */
#ifndef SPAD_CHECK_FIT_H
#define SPAD_CHECK_FIT_H

#include "base/text.h"
#include "spad/fit.h"

/* A change in parts, for what draws the layout with it. */
typedef struct spad__fit_detail {
    const spad_define *defines; /* parameters of another kernel, which is laid out again */
    size_t define_count;
    const spad_define *rings; /* and depths of its rings */
    size_t ring_count;
    /* The planner's places in the space, of the kernel or of that other one: per buffer that it
     * places. NULL: those of the layout. */
    const spad_plan_place *places;
    size_t place_count;
    const size_t *spilled; /* of those buffers: moved to another memory */
    size_t spilled_count;
} spad__fit_detail;

const spad__fit_detail *spad__fit_get_detail(const spad_fit *fit, size_t number);

bool spad__fit_is_fine(spad_plan_verdict verdict);

/* SPAD_ERR_STALE: the layout of another kernel. */
spad_status spad__fit_match(const spad_fit *fit, const spad_layout *layout, spad_error *error);

/* How much too small a space is, then every change that makes it fit after a separator. */
void spad__fit_write_space(spad__out *out, const spad_fit *fit, const spad_layout *layout,
                           const spad_layout_space *row, const char *separator);

/* One change, without the bytes that it saves. */
void spad__fit_write_change(spad__out *out, const spad_fit_change *change);

#endif
