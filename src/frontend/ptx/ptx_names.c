/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels by name: a name, or a pattern that one kernel alone matches. Of a C++ kernel each of its
 * names counts: mangled, qualified, and without its namespaces.
 */
#include <string.h>

#include "base/text.h"
#include "frontend/ptx/ptx_handle.h"
#include "frontend/ptx/ptx_plain_name.h"

enum { MOST_PLAIN_NAME = 256 };

/* `name` as `read` gives it, or as it is. NULL: no memory. */
static const char *keep_kernel_name(spad_ptx *ptx, const char *name,
                                    bool (*read)(char *field, size_t size, const char *mangled)) {
    char text[MOST_PLAIN_NAME];
    if (!read(text, sizeof text, name)) return name;
    return spad__arena_copy(&ptx->names, text, strlen(text));
}

spad_status spad__ptx_name_kernels(spad_ptx *ptx, spad_error *error) {
    const size_t count = ptx->kernels.count;
    if (!spad__array_reserve(&ptx->host, &ptx->plain_names, count) ||
        !spad__array_reserve(&ptx->host, &ptx->full_names, count))
        return spad__fail_host_memory(error);
    for (size_t i = 0; i < count; i++) {
        const char *name = spad__ptx_kernel_function(ptx, i)->name;
        const char *plain = keep_kernel_name(ptx, name, spad__ptx_plain_name);
        const char *full = keep_kernel_name(ptx, name, spad__ptx_full_name);
        if (plain == NULL || full == NULL) return spad__fail_host_memory(error);
        ptx->plain_names.items[ptx->plain_names.count++] = plain;
        ptx->full_names.items[ptx->full_names.count++] = full == name ? plain : full;
    }
    return SPAD_OK;
}

/* Does a name match a pattern, where `*` is any text? Backtracks to the last star only. */
static bool matches_pattern(const char *name, const char *pattern) {
    const char *star = NULL, *from = NULL;
    while (*name != '\0') {
        if (*pattern == '*') {
            star = ++pattern;
            from = name;
        } else if (*pattern == *name) {
            pattern++;
            name++;
        } else if (star != NULL) {
            pattern = star;
            name = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == '*') pattern++;
    return *pattern == '\0';
}

static bool kernel_matches(const spad_ptx *ptx, size_t kernel, const char *pattern) {
    const char *plain = ptx->plain_names.items[kernel];
    return pattern == NULL ||
           matches_pattern(spad__ptx_kernel_function(ptx, kernel)->name, pattern) ||
           matches_pattern(ptx->full_names.items[kernel], pattern) ||
           matches_pattern(plain, pattern) || matches_pattern(spad__ptx_last_part(plain), pattern);
}

static spad_status fail_kernel(const spad_ptx *ptx, const char *pattern, size_t found,
                               spad_error *error) {
    char list[160] = "";
    size_t used = 0, listed = 0;
    for (size_t i = 0; i < ptx->kernels.count && listed < 3; i++) {
        const char *name =
            found > 0 ? spad__ptx_kernel_function(ptx, i)->name : ptx->plain_names.items[i];
        if (found > 0 && !kernel_matches(ptx, i, pattern)) continue;
        used = spad__append(list, sizeof list, used, "%s%.40s", listed > 0 ? ", " : "", name);
        listed++;
    }
    if (ptx->kernels.count == 0)
        return spad__fail(error, SPAD_ERR_UNKNOWN, "the text has no kernel (.entry)");
    if (found == 0) {
        return spad__fail(error, SPAD_ERR_UNKNOWN,
                          "no kernel matches '%s'; there are %zu, such as %s", pattern,
                          ptx->kernels.count, list);
    }
    return spad__fail(error, SPAD_ERR_UNKNOWN,
                      "%zu kernels match: name one with --kernel, such as %s", found, list);
}

size_t spad__ptx_match_kernels(size_t *out, const spad_ptx *ptx, const char *pattern) {
    size_t found = 0;
    for (size_t i = 0; i < ptx->kernels.count; i++) {
        const char *name = spad__ptx_kernel_function(ptx, i)->name;
        if (pattern != NULL && strcmp(name, pattern) == 0) {
            *out = i;
            return 1;
        }
        if (!kernel_matches(ptx, i, pattern)) continue;
        if (found++ == 0) *out = i;
    }
    return found;
}

spad_status spad_ptx_find_kernel(size_t *out, const spad_ptx *ptx, const char *pattern,
                                 spad_error *error) {
    size_t first;
    const size_t found = spad__ptx_match_kernels(&first, ptx, pattern);
    if (found != 1) return fail_kernel(ptx, pattern, found, error);
    *out = first;
    return SPAD_OK;
}
