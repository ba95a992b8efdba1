/* SPDX-License-Identifier: Apache-2.0
 *
 * The libraries that stand in for a driver's (fake/): what they have beside the driver's functions.
 */
#ifndef SPAD_TEST_STAND_IN_H
#define SPAD_TEST_STAND_IN_H

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

/* See fake/fake.h. */
typedef struct stand_in {
    void *library;
    void (*fail_at)(long call);
    void (*set_code)(int code);
    long (*calls)(void);
    long (*live)(void);
} stand_in;

/* dlsym's pointer to data as one to a function; false: there is no such function. */
static inline bool stand_in_find(void *out, void *library, const char *name) {
    void *symbol = dlsym(library, name);
    memcpy(out, &symbol, sizeof symbol);
    return symbol != NULL;
}

/* False: the library is not there, or is a driver's own. */
static inline bool stand_in_open(stand_in *out, const char *file) {
    out->library = dlopen(file, RTLD_NOW);
    if (out->library == NULL) return false;
    if (stand_in_find(&out->fail_at, out->library, "fake_fail_at") &&
        stand_in_find(&out->set_code, out->library, "fake_set_code") &&
        stand_in_find(&out->calls, out->library, "fake_calls") &&
        stand_in_find(&out->live, out->library, "fake_live")) {
        return true;
    }
    dlclose(out->library);
    return false;
}

#endif
