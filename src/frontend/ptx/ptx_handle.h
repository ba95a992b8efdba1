/* SPDX-License-Identifier: Apache-2.0
 *
 * A module as the public calls know it: its text, what was read from it, and its kernels.
 */
#ifndef SPAD_FRONTEND_PTX_HANDLE_H
#define SPAD_FRONTEND_PTX_HANDLE_H

#include "frontend/ptx/text/ptx_module.h"
#include "spad/experimental/ptx.h"

struct spad_ptx {
    spad_host host;
    char *text;
    char *file;
    spad__source source;
    spad__ptx_module module;
    SPAD_ARRAY(int32_t) kernels;          /* functions of the module that are entries with a body */
    SPAD_ARRAY(const char *) plain_names; /* of the kernels, in C++ */
    SPAD_ARRAY(const char *) full_names;  /* the same with template arguments */
    spad__arena names;
};

static inline const spad__ptx_function *spad__ptx_kernel_function(const spad_ptx *ptx,
                                                                  size_t kernel) {
    return &ptx->module.functions.items[ptx->kernels.items[kernel]];
}

/* Fills plain_names. */
spad_status spad__ptx_name_kernels(spad_ptx *ptx, spad_error *error);
/* How many kernels match a pattern (NULL: all do); 1 for a kernel of that very name. *out: the
 * first of them. */
size_t spad__ptx_match_kernels(size_t *out, const spad_ptx *ptx, const char *pattern);

#endif
