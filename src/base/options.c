/* SPDX-License-Identifier: Apache-2.0 */
#include "base/options.h"

#include <stdbool.h>
#include <string.h>

#include "base/error.h"

static bool are_bytes_zero(const char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] != 0) return false;
    }
    return true;
}

spad_status spad__copy_options(void *out, size_t size, size_t first, const void *options,
                               spad_error *error) {
    memset(out, 0, size);
    if (options == NULL) return SPAD_OK;
    size_t given;
    memcpy(&given, options, sizeof given);
    if (given == 0) given = first;
    if (given < sizeof given) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "struct_size is %zu: set it to sizeof the option struct, or to 0", given);
    }
    if (given > size && !are_bytes_zero((const char *)options + size, given - size)) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "options of a newer version: %zu bytes, of which this library knows %zu; "
                          "leave the newer fields 0 or update the library",
                          given, size);
    }
    memcpy(out, options, given < size ? given : size);
    memcpy(out, &size, sizeof size);
    return SPAD_OK;
}
