/* SPDX-License-Identifier: Apache-2.0
 *
 * Compares a changed kernel with the one that it was made from, at other shapes than the given one.
 *
 * A proof for one shape says nothing of others, where a ring that is shorter or a tensor that
 * shares bytes may be wrong. So before a change is proposed, the changed kernel is checked at its
 * challenge shapes (challenge.h): where a condition, quotient, minimum or ring end changes its
 * outcome. At each of them it must be right, or the kernel before the change wrong as well. This
 * proves nothing; it finds what breaks first.
 */
#ifndef SPAD_PROVE_COMPARE_SHAPES_H
#define SPAD_PROVE_COMPARE_SHAPES_H

#include "base/limit.h"
#include "spad/experimental/kernel_rows.h"
#include "spad/finding.h"

enum { SPAD__AGREE_SHAPE_TEXT = 160 };

typedef struct spad__agreement {
    bool agrees;
    bool covers;   /* each value of each parameter was in a shape that was compared */
    size_t shapes; /* other shapes at which the changed kernel is right */
    char least[SPAD__AGREE_SHAPE_TEXT]; /* the least and the largest values among them: "N = 0" */
    char most[SPAD__AGREE_SHAPE_TEXT];
    char at[SPAD__AGREE_SHAPE_TEXT]; /* the shape that the change breaks: "N = 43" */
    spad_finding_code wrong;         /* and the first error there */
} spad__agreement;

/* The kernels have the same parameters in the same order. Those with other values are what was
 * changed: they stay. A shape that takes too many events is left out, and all that are left when
 * the time of the limit is up.
 * O(SPAD__CHALLENGE_WORK). SPAD_ERR_HOST_MEMORY, SPAD_ERR_CANCELLED. */
spad_status spad__compare_shapes(spad__agreement *out, const spad_kernel *from,
                                 const spad_kernel *changed, spad__limit *limit,
                                 const spad_host *host, spad_error *error);

#endif
