/* SPDX-License-Identifier: Apache-2.0
 *
 * Unpacks zstd with the library of the system. It is here because this library opens others at run
 * time, which libspad does not.
 */
#include "spad/device/zstd.h"

#include <dlfcn.h>
#include <string.h>

#include "base/error.h"

static const char zstd_file[] = "libzstd.so.1";

typedef size_t zstd_decompress(void *to, size_t to_bytes, const void *from, size_t from_bytes);

spad_status spad_zstd_unpack(void *to, size_t to_bytes, const void *from, size_t from_bytes,
                             spad_error *error) {
    void *library = dlopen(zstd_file, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library != NULL ? dlsym(library, "ZSTD_decompress") : NULL;
    zstd_decompress *decompress;
    if (symbol == NULL) {
        if (library != NULL) dlclose(library);
        return spad__fail(error, SPAD_ERR_CAPABILITY,
                          "%s cannot be opened: install zstd's library, or compile with 'nvcc "
                          "--compress-mode=speed'",
                          zstd_file);
    }
    /* a pointer to data becomes one to a function: POSIX promises that the bits do */
    memcpy(&decompress, &symbol, sizeof symbol);
    const size_t count = decompress(to, to_bytes, from, from_bytes);
    dlclose(library);
    if (count == to_bytes) return SPAD_OK;
    return spad__fail(error, SPAD_ERR_ARGUMENT,
                      "a PTX text cannot be unpacked (zstd): the file is damaged");
}
