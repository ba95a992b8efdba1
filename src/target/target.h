/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions about targets that only the library asks.
 */
#ifndef SPAD_TARGET_TARGET_H
#define SPAD_TARGET_TARGET_H

#include "spad/target.h"

/* Where the figure of a field comes from: the last row with that name, otherwise the last one for
 *  all. NULL: no row. Borrowed. */
const spad_figure *spad__figure_find(const spad_figure *figures, size_t count, const char *field);

/* "stated", "published", "measured", "estimate". Static storage. */
const char *spad__origin_name(spad_origin origin);

/* "mac", "fma", "exp", "convert", "reduce". Static storage. */
const char *spad__work_name(spad_work work);

/* Is the struct one that the rest of the library can work with? Built-in spaces and those
 *  from files are; one made by hand may not be. SPAD_ERR_ARGUMENT. */
spad_status spad__space_check(const spad_space *space, spad_error *error);

/* The same for an engine. */
spad_status spad__target_find_engine(size_t *out, const spad_target *target, const char *name,
                                     spad_error *error);

/* The same for a kind of fence. */
spad_status spad__target_find_fence(size_t *out, const spad_target *target, const char *name,
                                    spad_error *error);

#endif
