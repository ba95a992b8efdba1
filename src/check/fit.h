/* SPDX-License-Identifier: Apache-2.0
 *
 * The search for changes that make a kernel fit, and pieces of its text for notes about an
 * analysis.
 */
#ifndef SPAD_CHECK_FIT_H
#define SPAD_CHECK_FIT_H

#include "base/memory.h"
#include "base/text.h"
#include "kernel/origin.h"
#include "spad/fit.h"

struct spad_fit {
    spad_host host;
    spad__origin origin;
    SPAD_ARRAY(spad_fit_change) changes;
    spad__arena arena; /* names that are not in the kernel */
};

typedef struct spad__fit_search {
    const spad_layout *layout;
    const spad_kernel *kernel;
    const spad_layout_space *row; /* the space that does not fit */
    int64_t timeout_ns;           /* of each layout */
    spad_watch watch;
    spad_fit *fit;
} spad__fit_search;

/* Lays a changed kernel out. *found: the space fits then. One that cannot be laid out does not fit.
 * `change` (optional): what it saves, and an error of the kernel with it, are filled in. */
spad_status spad__fit_try(const spad__fit_search *search, const spad_kernel *kernel,
                          spad_fit_change *change, bool *found, spad_error *error);

spad_status spad__fit_add(const spad__fit_search *search, const spad_fit_change *change,
                          spad_error *error);

/* Tensors in the bytes of others, and addresses of the kernel given up; only what is right. */
spad_status spad__fit_share(const spad__fit_search *search, spad_error *error);

/* How much too small a space is, then every change that makes it fit after a separator. */
void spad__fit_write_space(spad__out *out, const spad_fit *fit, const spad_layout *layout,
                           const spad_layout_space *row, const char *separator);

/* One change, without the bytes that it saves. */
void spad__fit_write_change(spad__out *out, const spad_fit_change *change);

#endif
