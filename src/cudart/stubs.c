/* SPDX-License-Identifier: Apache-2.0
 *
 * Every other entry point: it answers "not supported", and says so once. A stub is weak:
 * a definition of its name in another file replaces it.
 *
 * The lists have the names that libcudart.so.13 and libcuda.so.1 export.
 */
#include <stdatomic.h>

#include "cudart/cudart.h"

static int refuse(const char *name, atomic_flag *noted) {
    spad__rt_enter();
    if (!atomic_flag_test_and_set(noted)) spad__rt_note("%s is not supported", name);
    return spad__rt_leave(SPAD__RT_NOT_SUPPORTED);
}

#define STUB(name)                                               \
    __attribute__((weak, visibility("default"))) int name(void); \
    int name(void) {                                             \
        static atomic_flag noted = ATOMIC_FLAG_INIT;             \
        return refuse(#name, &noted);                            \
    }
#include "cudart/runtime_names.inc"

#include "cudart/driver_names.inc"
