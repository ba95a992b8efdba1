/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists the entries of fatbins. A fatbin is a header and entries one after the other; in ELF files
 * fatbins lie in the sections .nv_fatbin and __nv_relfatbin, aligned to 8 bytes.
 *
 *     fatbin: u32 magic, u16 version, u16 header bytes, u64 bytes of the entries
 *     entry:  u16 kind, u16 version, u32 header bytes, u64 bytes of the contents with padding, u32
 * packed bytes, u32 options, u16 minor, u16 major, u32 chip, u32 offset and u32 length of the name,
 * u64 flags, u64, u64 unpacked bytes
 *
 * NVIDIA does not document entries: the fields are those that nvcc 12 and 13 write, and tests
 * compare them with nvcc. Reference of ELF: System V gABI, chapters 4 and 5.
 *
 * Invariant: an entry that is listed lies within the file, name included.
 */
#include "frontend/ptx/image/fatbin.h"

#include <string.h>

enum {
    FATBIN_HEADER = 16,
    ENTRY_HEADER = 64,
    LZ4_MOST_RATIO = 255, /* a byte of a length is 255 bytes of output */
    MOST_ENTRIES = 1 << 16,
    ELF_HEADER = 64,
    SECTION_HEADER = 64,
    MACHINE_CUDA = 190
};
#define FATBIN_MAGIC UINT32_C(0xba55ed50)
#define MOST_UNPACKED (UINT64_C(256) << 20) /* as much as is read of a PTX text */

enum {
    FLAG_LZ4 = 0x2000,
    FLAG_ZSTD = 0x8000,
    FLAG_CHIP_ONLY = 0x100000, /* sm_90a */
    FLAG_FAMILY = 0x200000     /* sm_100f */
};

/* ---- bytes -------------------------------------------------------------------------------------
 */

typedef struct image_bytes {
    const uint8_t *bytes;
    size_t length;
} image_bytes;

/* A number of `size` bytes, little-endian; the caller has looked that they are there. */
static uint64_t image_number(const image_bytes *b, size_t at, unsigned size) {
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++) value |= (uint64_t)b->bytes[at + i] << 8 * i;
    return value;
}

/* Are bytes [at, at + count) there? */
static bool has_image_bytes(const image_bytes *b, uint64_t at, uint64_t count) {
    return at <= b->length && count <= b->length - at;
}

static image_bytes image_part(const image_bytes *b, uint64_t at, uint64_t count) {
    return (image_bytes){b->bytes + at, (size_t)count};
}

static bool image_begins_with(const image_bytes *b, const char *bytes, size_t count) {
    return b->length >= count && memcmp(b->bytes, bytes, count) == 0;
}

static bool is_fatbin_at(const image_bytes *b, size_t at) {
    return has_image_bytes(b, at, FATBIN_HEADER) && image_number(b, at, 4) == FATBIN_MAGIC;
}

bool spad__fatbin_detect(const void *bytes, size_t length) {
    const image_bytes b = {bytes, length};
    return is_fatbin_at(&b, 0) || image_begins_with(&b, "\177ELF", 4);
}

/* ---- entries -----------------------------------------------------------------------------------
 */

static spad_status fail_damaged(spad_error *error, int32_t fatbin, size_t entry,
                                const char *fault) {
    return spad__fail(error, SPAD_ERR_ARGUMENT,
                      "fatbin %d, entry %zu: %s; the file is damaged, or newer than CUDA 13",
                      (int)fatbin, entry, fault);
}

/* The contents of an entry: `body` is the header, then all bytes up to the next entry. */
static const char *read_entry(spad__fatbin_entry *e, const image_bytes *body, size_t header) {
    const uint64_t flags = image_number(body, 40, 8), packed = image_number(body, 16, 4);
    const uint64_t name = image_number(body, 32, 4), name_length = image_number(body, 36, 4);
    const uint64_t content = body->length - header, unpacked = image_number(body, 56, 8);
    e->kind = (uint16_t)image_number(body, 0, 2);
    e->chip = (int32_t)(image_number(body, 28, 4) & 0xffff);
    e->family = (flags & FLAG_CHIP_ONLY) != 0 ? 'a' : (flags & FLAG_FAMILY) != 0 ? 'f' : '\0';
    e->packing = (flags & FLAG_LZ4) != 0    ? SPAD__FATBIN_LZ4
                 : (flags & FLAG_ZSTD) != 0 ? SPAD__FATBIN_ZSTD
                                            : SPAD__FATBIN_PLAIN;
    e->bytes = body->bytes + header;
    e->length = (size_t)content;
    e->unpacked = (size_t)content;
    if (e->packing != SPAD__FATBIN_PLAIN) {
        if (packed > content) return "its packed bytes exceed it";
        if (unpacked > MOST_UNPACKED) return "it unpacks to more than 256 MiB";
        if (e->packing == SPAD__FATBIN_LZ4 && unpacked / LZ4_MOST_RATIO > packed)
            return "LZ4 cannot unpack to as many bytes";
        e->length = (size_t)packed;
        e->unpacked = (size_t)unpacked;
    }
    if (name != 0 && (name > header || name_length > header - name))
        return "its name exceeds its header";
    e->name = (const char *)body->bytes + name;
    e->name_length = name != 0 ? (size_t)name_length : 0;
    return NULL;
}

/* Lists the entries of one fatbin; `all` begins with its first entry and ends with its last one. */
static spad_status list_entries(spad__fatbin_entries *out, const image_bytes *all,
                                const spad_host *host, spad_error *error) {
    size_t at = 0;
    for (size_t n = 0; at < all->length; n++) {
        if (!has_image_bytes(all, at, ENTRY_HEADER))
            return fail_damaged(error, out->fatbins, n, "its header is cut off");
        const uint64_t header = image_number(all, at + 4, 4),
                       content = image_number(all, at + 8, 8);
        if (header < ENTRY_HEADER || !has_image_bytes(all, at, header))
            return fail_damaged(error, out->fatbins, n, "its header is cut off");
        if (!has_image_bytes(all, at + header, content))
            return fail_damaged(error, out->fatbins, n, "its contents are cut off");
        if (out->list.count == MOST_ENTRIES)
            return spad__fail(error, SPAD_ERR_ARGUMENT, "the file has more than %d entries",
                              MOST_ENTRIES);
        if (!spad__array_reserve(host, &out->list, 1)) return spad__fail_host_memory(error);
        const image_bytes body = image_part(all, at, header + content);
        spad__fatbin_entry *e = &out->list.items[out->list.count];
        *e = (spad__fatbin_entry){.fatbin = out->fatbins};
        const char *fault = read_entry(e, &body, (size_t)header);
        if (fault != NULL) return fail_damaged(error, out->fatbins, n, fault);
        out->list.count++;
        at += (size_t)(header + content);
    }
    return SPAD_OK;
}

/* Lists all fatbins of some bytes: they begin at multiples of 8. */
static spad_status list_fatbins(spad__fatbin_entries *out, const image_bytes *b,
                                const spad_host *host, spad_error *error) {
    size_t at = 0;
    while (has_image_bytes(b, at, FATBIN_HEADER)) {
        if (!is_fatbin_at(b, at)) {
            at += 8;
            continue;
        }
        const uint64_t header = image_number(b, at + 6, 2), content = image_number(b, at + 8, 8);
        if (header < FATBIN_HEADER || !has_image_bytes(b, at, header) ||
            !has_image_bytes(b, at + header, content)) {
            return spad__fail(error, SPAD_ERR_ARGUMENT,
                              "fatbin %d is cut off: the file is not complete", (int)out->fatbins);
        }
        const image_bytes all = image_part(b, at + header, content);
        const spad_status status = list_entries(out, &all, host, error);
        if (status != SPAD_OK) return status;
        if (content > 0) out->fatbins++;
        at += (size_t)(header + content + 7) & ~(size_t)7;
    }
    return SPAD_OK;
}

/* ---- ELF ----------------------------------------------------------------------------------------
 */

/* The section header with a number; false: it is not in the file. */
static bool section_at(const image_bytes *b, uint64_t number, image_bytes *out) {
    const uint64_t table = image_number(b, 40, 8), size = image_number(b, 58, 2);
    if (size < SECTION_HEADER || !has_image_bytes(b, table, 0)) return false;
    const uint64_t at = table + number * size; /* both below 2^16 */
    if (!has_image_bytes(b, at, SECTION_HEADER)) return false;
    *out = image_part(b, at, SECTION_HEADER);
    return true;
}

/* The bytes of a section; false: it has none in the file. */
static bool section_bytes(const image_bytes *b, const image_bytes *section, image_bytes *out) {
    const uint64_t at = image_number(section, 24, 8), count = image_number(section, 32, 8);
    if (!has_image_bytes(b, at, count)) return false;
    *out = image_part(b, at, count);
    return true;
}

/* Has the section a name that nvcc gives to those with fatbins? */
static bool has_fatbins(const image_bytes *section, const image_bytes *names) {
    static const char *const wanted[] = {".nv_fatbin", "__nv_relfatbin"};
    const uint64_t at = image_number(section, 0, 4);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const size_t size = strlen(wanted[i]) + 1;
        if (has_image_bytes(names, at, size) && memcmp(names->bytes + at, wanted[i], size) == 0)
            return true;
    }
    return false;
}

static spad_status list_elf(spad__fatbin_entries *out, const image_bytes *b, const spad_host *host,
                            spad_error *error) {
    image_bytes section, names, bytes;
    if (!image_begins_with(b, "\177ELF", 4))
        return spad__fail(error, SPAD_ERR_ARGUMENT, "neither a fatbin nor an ELF file");
    if (b->length < ELF_HEADER || b->bytes[4] != 2 || b->bytes[5] != 1)
        return spad__fail(error, SPAD_ERR_ARGUMENT, "only 64-bit little-endian ELF files are read");
    out->elf = true;
    out->cubin = image_number(b, 18, 2) == MACHINE_CUDA;
    if (out->cubin) return SPAD_OK;
    const uint64_t count = image_number(b, 60, 2);
    if (!section_at(b, image_number(b, 62, 2), &section) || !section_bytes(b, &section, &names)) {
        return spad__fail(
            error, SPAD_ERR_ARGUMENT,
            "the ELF file has no section headers: pass one that is not stripped of them");
    }
    for (uint64_t i = 0; i < count; i++) {
        if (!section_at(b, i, &section) || !has_fatbins(&section, &names)) continue;
        if (!section_bytes(b, &section, &bytes))
            return spad__fail(error, SPAD_ERR_ARGUMENT,
                              "the ELF file is not complete: a section with a fatbin is cut off");
        const spad_status status = list_fatbins(out, &bytes, host, error);
        if (status != SPAD_OK) return status;
    }
    return SPAD_OK;
}

spad_status spad__fatbin_list(spad__fatbin_entries *out, const void *bytes, size_t length,
                              const spad_host *host, spad_error *error) {
    const image_bytes b = {bytes, length};
    *out = (spad__fatbin_entries){0};
    return is_fatbin_at(&b, 0) ? list_fatbins(out, &b, host, error)
                               : list_elf(out, &b, host, error);
}

void spad__fatbin_entries_free(spad__fatbin_entries *entries, const spad_host *host) {
    spad__array_free(host, &entries->list);
}
