/* SPDX-License-Identifier: Apache-2.0
 *
 * The search for changes that make a kernel fit, changes in parts, and pieces of the text of a fit,
 * for notes about an analysis.
 */
#ifndef SPAD_ANALYSIS_FIT_H
#define SPAD_ANALYSIS_FIT_H

#include "base/memory.h"
#include "base/text.h"
#include "kernel/origin.h"
#include "spad/experimental/fit.h"

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

/* The change comes first: rows are compared as changes. */
typedef struct spad__fit_row {
    spad_fit_change change;
    spad__fit_detail detail;
} spad__fit_row;

struct spad_fit {
    spad_host host;
    spad__origin origin;
    SPAD_ARRAY(spad__fit_row) rows;
    spad__arena arena; /* names that are not in the kernel, and details */
};

typedef struct spad__fit_search {
    const spad_layout *layout;
    const spad_kernel *kernel;
    const spad_layout_space *row; /* the space that does not fit */
    int64_t timeout_ns;           /* of each layout */
    spad_watch watch;
    spad_fit *fit;
} spad__fit_search;

/* The row of a space in a layout; NULL: the kernel does not use it. */
const spad_layout_space *spad__fit_find_space(const spad_layout *layout, size_t space);

/* The first error of a changed kernel with the places of its layout, or at another shape that the
 * change breaks: `wrong` and `wrong_at` of the change. */
spad_status spad__fit_find_error(const spad__fit_search *search, const spad_kernel *kernel,
                                 spad_layout *layout, spad_fit_change *change, spad_error *error);

/* Lays a changed kernel out. *found: the space fits then. One that cannot be laid out does not fit.
 * `change` (optional): what it saves, and an error of the kernel with it, are filled in. */
spad_status spad__fit_try(const spad__fit_search *search, const spad_kernel *kernel,
                          spad_fit_change *change, bool *found, spad_error *error);

spad_status spad__fit_add(const spad__fit_search *search, const spad_fit_change *change,
                          const spad__fit_detail *detail, spad_error *error);

/* Tensors in the bytes of others, and addresses of the kernel given up; only what is right. */
spad_status spad__fit_share(const spad__fit_search *search, spad_error *error);

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
