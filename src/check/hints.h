/* SPDX-License-Identifier: Apache-2.0
 *
 * Statements that would correct a kernel, in the language that its user writes: that of spad, CUDA,
 * Triton or TileLang.
 */
#ifndef SPAD_CHECK_HINTS_H
#define SPAD_CHECK_HINTS_H

#include "kernel/kernel.h"

typedef enum spad__speech {
    SPAD__SPEECH_SPAD,
    SPAD__SPEECH_CUDA, /* also Gluon and PTX: its users name instructions */
    SPAD__SPEECH_TRITON,
    SPAD__SPEECH_TILELANG
} spad__speech;

spad__speech spad__speech_of(const spad_kernel *kernel);

/* The user cannot write copies, waits and fences: the compiler has to. */
static inline bool spad__is_up_to_compiler(const spad_kernel *kernel) {
    return spad__speech_of(kernel) == SPAD__SPEECH_TRITON;
}

enum { SPAD__HINT_MAX = 160 };

/* A fence of the target (NULL: the proxy fence for all memories) with its quotes; when:
 * SPAD_FENCE_BEFORE, SPAD_FENCE_AFTER or 0. */
void spad__hint_fence(char field[SPAD__HINT_MAX], const spad_kernel *kernel, const char *fence,
                      unsigned when);

/* A wait for the operations of a unit that are in a group; `group` is its name, pending < 0: for as
 * many as needed. */
void spad__hint_group_wait(char field[SPAD__HINT_MAX], const spad_kernel *kernel, int64_t unit,
                           const char *group, int64_t pending);

/* What the user of Triton can do about its lowering. */
extern const char spad__hint_lowering[];

#endif
