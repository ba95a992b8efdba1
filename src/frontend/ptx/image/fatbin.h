/* SPDX-License-Identifier: Apache-2.0
 *
 * Fatbins: what nvcc puts into executables, shared objects and objects, or writes with -fatbin. A
 * file has one fatbin for each translation unit, and a fatbin has entries: PTX texts and machine
 * code, each for one architecture.
 */
#ifndef SPAD_FRONTEND_PTX_FATBIN_H
#define SPAD_FRONTEND_PTX_FATBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"

typedef enum spad__fatbin_kind {
    SPAD__FATBIN_PTX = 1,
    SPAD__FATBIN_CODE = 2 /* an ELF file for the chip */
} spad__fatbin_kind;

typedef enum spad__fatbin_packing {
    SPAD__FATBIN_PLAIN,
    SPAD__FATBIN_LZ4,
    SPAD__FATBIN_ZSTD
} spad__fatbin_packing;

/* One entry; bytes and name are in the file. */
typedef struct spad__fatbin_entry {
    int32_t fatbin; /* of the file, counted from 0 */
    uint16_t kind;  /* spad__fatbin_kind, or another number, which is of no use to us */
    int32_t chip;   /* 90 */
    char family;    /* 'a', 'f'; 0: none */
    spad__fatbin_packing packing;
    const uint8_t *bytes;
    size_t length;
    size_t unpacked;  /* bytes */
    const char *name; /* of the source file; not terminated */
    size_t name_length;
} spad__fatbin_entry;

typedef struct spad__fatbin_entries {
    SPAD_ARRAY(spad__fatbin_entry) list;
    int32_t fatbins;
    bool elf;   /* the file is one */
    bool cubin; /* it is machine code of a GPU alone */
} spad__fatbin_entries;

/* Is it a fatbin or an ELF file? Looks at the first bytes only. */
bool spad__fatbin_detect(const void *bytes, size_t length);

/* Lists the entries of a file, without unpacking them. SPAD_ERR_ARGUMENT: the file is damaged, or
 * of a kind that is not read. `out` is to be freed in any case. O(file), without reading the
 * contents of entries. */
spad_status spad__fatbin_list(spad__fatbin_entries *out, const void *bytes, size_t length,
                              const spad_host *host, spad_error *error);
void spad__fatbin_entries_free(spad__fatbin_entries *entries, const spad_host *host);

#endif
