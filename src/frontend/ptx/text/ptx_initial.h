/* SPDX-License-Identifier: Apache-2.0
 *
 * Initial values of variables.
 *
 * Reference: PTX ISA 9.0, 5.4.4 (initialisers).
 */
#ifndef SPAD_FRONTEND_PTX_INITIAL_H
#define SPAD_FRONTEND_PTX_INITIAL_H

#include "frontend/ptx/text/ptx_parse.h"

enum { SPAD__PTX_RANK = 8 };                  /* sizes of an array, and the items of a vector */
#define SPAD__PTX_LARGEST (INT64_C(1) << 40)  /* bytes of a variable */
#define SPAD__PTX_INITIAL (INT64_C(64) << 20) /* bytes of all initial values */

typedef struct spad__ptx_extent {
    int rank;
    bool open; /* the first size is not given */
    int64_t sizes[SPAD__PTX_RANK];
    int64_t strides[SPAD__PTX_RANK]; /* bytes of an item of that rank */
} spad__ptx_extent;

/* After '=': fills in the bytes, and how many there are where the extent is open. */
bool spad__ptx_take_initial(spad__ptx_parser *p, spad__span name, const spad__ptx_extent *extent,
                            spad__ptx_variable *v);

#endif
