/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel with some of its statements elsewhere. The caller checks the result: an edit may change
 * what the kernel computes.
 */
#ifndef SPAD_KERNEL_EDIT_H
#define SPAD_KERNEL_EDIT_H

#include "kernel/kernel.h"

/* What becomes of a statement, if it is not the number of the one that it goes in front of. */
enum { SPAD__STAYS = -1, SPAD__LEFT_OUT = -2 };

/* Blocks (loops, ifs, scopes, agents) stay. Numbers are rows of the kernel; -1: none. */
typedef struct spad__edit {
    const int64_t *to; /* per statement; NULL: all stay. A parity wait that moves is for the first
                          phase */
    int64_t flat;      /* a tensor that loses its block dimensions and its ring */
    int64_t alias;     /* a tensor that gets its bytes in the first tile of `alias_of` */
    int64_t alias_of;
    bool alias_tiles;     /* tile by tile instead: both have the same tiles */
    int64_t without_sync; /* an object whose statements are left out: its declaration, too */
} spad__edit;

/* An edit that changes nothing. */
spad__edit spad__edit_of_nothing(void);

/* Is a tensor on chip placed by the planner alone, neither input nor output? */
bool spad__has_own_place(const spad_kernel *kernel, size_t tensor);

/* Is another tensor inside it? */
bool spad__is_home(const spad_kernel *kernel, size_t tensor);

/* An edit that gives a tensor the bytes of another. `to`: room for the statements. The declaration
 * goes after that of the other where it is in front of it. */
spad__edit spad__edit_alias(const spad_kernel *kernel, size_t tensor, size_t of, int64_t *to);

/* The kernel with an edit. Locations are those of the kernel. The statuses are those of the
 * builder, for a statement that may not stand at its new place. */
spad_status spad__kernel_edit(spad_kernel **out, const spad_kernel *kernel, const spad__edit *edit,
                              const spad_host *host, spad_error *error);

#endif
