/* SPDX-License-Identifier: Apache-2.0
 *
 * Fatbins and ELF files: any bytes give entries or a message, and an entry that is unpacked gives a
 * module or faults. zstd is replaced by zeros: its own damage is its library's business.
 */
#include "fuzz.h"
#include "spad/experimental/ptx.h"

enum { LENGTH_MAX = 1 << 15, ENTRIES_MAX = 8 };

static spad_status unpack_zeros(void *to, size_t to_bytes, const void *from, size_t from_bytes,
                                spad_error *error) {
    unsigned sum = 0;
    (void)error;
    for (size_t i = 0; i < from_bytes; i++) sum += ((const uint8_t *)from)[i];
    memset(to, (int)(sum & 1), to_bytes);
    return SPAD_OK;
}

/* A file of 32 KiB claims no more than a few texts of 256 MiB, one at a time. */
static void read_entry(const spad_ptx_image *image, size_t index) {
    const spad_ptx_image_entry entry = spad_ptx_image_get(image, index);
    spad_ptx *ptx = NULL;
    spad_error error = {0};
    REQUIRE(memcmp(entry.arch, "sm_", 3) == 0 && memchr(entry.source, '\0', sizeof entry.source));
    const spad_status status = spad_ptx_image_read(&ptx, image, index, "f", NULL, &error);
    REQUIRE((status == SPAD_OK) == (ptx != NULL) && (ptx != NULL || error.message[0] != '\0'));
    REQUIRE(entry.ptx || ptx == NULL);
    spad_ptx_destroy(ptx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const spad_ptx_image_options options = {.unpack_zstd = unpack_zeros};
    spad_ptx_image *image;
    spad_ptx *ptx;
    spad_error error = {0};
    if (size > LENGTH_MAX) return 0;
    if (spad_ptx_image_create(&image, data, size, &options, &error) != SPAD_OK) {
        REQUIRE(image == NULL && error.message[0] != '\0' && error.code != SPAD_ERR_INTERNAL);
        return 0;
    }
    const size_t count = spad_ptx_image_count(image);
    for (size_t i = 0; i < count && i < ENTRIES_MAX; i++) read_entry(image, i);
    const spad_ptx_image_entry last =
        count > 0 ? spad_ptx_image_get(image, count - 1) : (spad_ptx_image_entry){.arch = "90a"};
    const char *arch = last.arch;
    const char *kernel = size % 2 == 0 ? "*a*" : NULL;
    if (count <= ENTRIES_MAX &&
        spad_ptx_image_find(&ptx, image, arch, kernel, "f", NULL, &error) == SPAD_OK)
        spad_ptx_destroy(ptx);
    spad_ptx_image_destroy(image);
    return 0;
}
