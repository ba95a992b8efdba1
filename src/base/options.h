/* SPDX-License-Identifier: Apache-2.0
 *
 * Option structs of callers that were compiled against another version of the library. Every stable
 * option struct begins with `struct_size` and grows at its end only, so its size says which fields
 * the caller knows. The rule is that of extensible system calls (copy_struct_from_user in Linux):
 * fields that the caller does not know are zero, which means the default, and fields that this
 * library does not know must be zero, because it could not honour them.
 */
#ifndef SPAD_BASE_OPTIONS_H
#define SPAD_BASE_OPTIONS_H

#include <stddef.h>

#include "spad/status.h"

/* Fills *out, `size` bytes, from the caller's struct. NULL is a zeroed struct. A struct_size of 0
 * means `first` bytes: the struct as its first version had it. SPAD_ERR_ARGUMENT: a size that is no
 * struct's, or a field set that this library does not know; *out is zeroed then. */
spad_status spad__copy_options(void *out, size_t size, size_t first, const void *options,
                               spad_error *error);

/* For a struct that has not grown yet. One that has names the first field that was added:
 * spad__copy_options(&o, sizeof o, offsetof(spad_plan_options, added), options, error). */
#define SPAD__COPY_OPTIONS(out, options, error) \
    spad__copy_options(out, sizeof *(out), sizeof *(out), 1 ? (options) : (out), error)

#endif
